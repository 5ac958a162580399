"""Memoir for OpenAI's Agents SDK: instructions with the memory in them, and a session.

agent = Agent("Wren", instructions=memoir_instructions(memory, "You are…"))
session = MemoirSession(SQLiteSession("42"), memory)
await Runner.run(agent, "Which thread?", session=session)
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from agents import Agent, RunContextWrapper, SessionABC, SessionSettings, TResponseInputItem

from ._named import after
from .aio import AsyncAgentMemory
from .models import Message


def memoir_instructions(
    memory: AsyncAgentMemory, instructions: str = "", *, max_tokens: int | None = None
) -> Callable[[RunContextWrapper[Any], Agent[Any]], Awaitable[str]]:
    """The `instructions` of an agent: the memory is read anew before each call of the model."""

    async def given(context: RunContextWrapper[Any], agent: Agent[Any]) -> str:
        return after(instructions, (await memory.context(max_tokens=max_tokens)).text)

    return given


class MemoirSession(SessionABC):
    """Another session, whose words are handed over too, for the agent's model to read.

    They are read when nothing was added for six hours. Taking an item back, or clearing the
    session, is about the other session alone: what was said stays said.
    """

    def __init__(self, session: SessionABC, memory: AsyncAgentMemory) -> None:
        self._session = session
        self._memory = memory
        self.session_id = session.session_id
        self.session_settings: SessionSettings | None = session.session_settings

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The other session's items."""
        return await self._session.get_items(limit)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Adds items to the other session, and hands over what was said in them."""
        await self._session.add_items(items)
        said = [
            Message(id=f"{self.session_id}/{uuid.uuid4()}", speaker=speaker, text=text)
            for speaker, text in map(_said, items)
            if text
        ]
        if said:
            await self._memory.hand_over(said)

    async def pop_item(self) -> TResponseInputItem | None:
        """Takes the last item of the other session."""
        return await self._session.pop_item()

    async def clear_session(self) -> None:
        """Clears the other session."""
        await self._session.clear_session()


def _said(item: Any) -> tuple[str, str]:
    """Who spoke and what was said; nothing for what is no message."""
    speaker = item.get("role")
    if speaker not in ("user", "assistant"):
        return "", ""
    content = item.get("content") or ""
    if isinstance(content, str):
        return speaker, content
    return speaker, "\n".join(part["text"] for part in content if part.get("text"))
