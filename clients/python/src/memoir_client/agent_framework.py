"""Memoir for Microsoft's Agent Framework: a context provider.

agent = Agent(client, "You are…", context_providers=[MemoirContextProvider(memory)])
"""

from __future__ import annotations

from typing import Any

from agent_framework import AgentSession, ContextProvider, Message, SessionContext, SupportsAgentRun

from .aio import AsyncAgentMemory
from .models import Message as Said

# In the state that the framework keeps for a provider with its session.
_NUMBER = "handed_over"


class MemoirContextProvider(ContextProvider):
    """Gives each run what the agent remembers, before its first call of the model.

    Args:
        memory: the agent's.
        max_tokens: the most that it takes of the prompt.
        hand_over: whether what was said in a run is handed over behind it, for the agent's model
            to read when nothing was added for six hours.
    """

    def __init__(
        self,
        memory: AsyncAgentMemory,
        *,
        max_tokens: int | None = None,
        hand_over: bool = False,
    ) -> None:
        super().__init__("memoir")
        self._memory = memory
        self._max_tokens = max_tokens
        self._hand_over = hand_over

    async def before_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Adds the memory to the run's instructions."""
        text = (await self._memory.context(max_tokens=self._max_tokens)).text
        if text:
            context.extend_instructions(self.source_id, text)

    async def after_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Hands over what was said."""
        if not self._hand_over:
            return
        answered = context.response.messages if context.response else []
        said: list[Message] = [
            message
            for message in (*context.input_messages, *answered)
            if message.role in ("user", "assistant") and message.text
        ]
        first = int(state.get(_NUMBER, 0))
        if said:
            await self._memory.hand_over(
                Said(
                    id=f"{session.session_id}/{number}",
                    speaker=message.author_name or str(message.role),
                    text=message.text,
                )
                for number, message in enumerate(said, first)
            )
        state[_NUMBER] = first + len(said)
