"""Memoir for Hermes: a memory provider.

`$HERMES_HOME/plugins/memoir/__init__.py` is one line, and `memory.provider: memoir` in the
`config.yaml` there chooses it:

    from memoir_client.hermes import MemoirMemoryProvider, register
"""

from __future__ import annotations

import json
import os
import uuid
from typing import Any

from agent.memory_provider import MemoryProvider  # type: ignore[import-not-found]

from .agent import AgentMemory
from .errors import MemoirError
from .models import Message

_UNREACHED = (
    "Memoir cannot be reached: this session runs without the long-term memory. Say so once."
)
_TOOLS = [
    {
        "name": "memoir_remember",
        "description": "Saves one thing for good, in a sentence that is understood on its own.",
        "parameters": {
            "type": "object",
            "properties": {"content": {"type": "string"}},
            "required": ["content"],
        },
    },
    {
        "name": "memoir_recall",
        "description": "Finds memories by words or a whole question, old journal entries too.",
        "parameters": {
            "type": "object",
            "properties": {"query": {"type": "string"}},
            "required": ["query"],
        },
    },
]


class MemoirMemoryProvider(MemoryProvider):  # type: ignore[misc]
    """The memory of the agent that `MEMOIR_AGENT` and `MEMOIR_TOKEN` name.

    The context is in the system prompt when a session begins. What was said is handed over after
    each turn of the main agent, for the agent's model to read. What Hermes adds to its own notes is
    saved too; what it replaces or removes there stays here.
    """

    def __init__(self) -> None:
        self._memory: AgentMemory | None = None
        self._block = ""
        self._is_main = True

    @property
    def name(self) -> str:
        """What `memory.provider` is set to."""
        return "memoir"

    def is_available(self) -> bool:
        """Whether agent and token are named; nothing is asked for over the network."""
        return bool(os.environ.get("MEMOIR_AGENT") and os.environ.get("MEMOIR_TOKEN"))

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        """Reads the context; subagents and timers read, and hand nothing over."""
        # A person waits: little is tried again.
        self._memory = AgentMemory(timeout=5.0, attempts=2)
        self._is_main = kwargs.get("agent_context", "primary") == "primary"
        try:
            self._block = self._memory.context().text
        except MemoirError:
            self._block = _UNREACHED

    def system_prompt_block(self) -> str:
        """What the agent remembers."""
        return self._block

    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",
        messages: list[dict[str, Any]] | None = None,
    ) -> None:
        """Hands a turn over; Hermes waits for it on a thread of its own, and logs what fails."""
        if self._memory is None or not self._is_main:
            return
        turn = f"{session_id}/{uuid.uuid4()}"
        said = {"user": user_content, "assistant": assistant_content}
        new = [
            Message(id=f"{turn}/{speaker}", speaker=speaker, text=text)
            for speaker, text in said.items()
            if text
        ]
        if new:
            self._memory.hand_over(new)

    def on_memory_write(
        self, action: str, target: str, content: str, metadata: dict[str, Any] | None = None
    ) -> None:
        """Saves what is added to Hermes' own notes."""
        if self._memory is not None and self._is_main and action == "add":
            self._memory.remember(content, source=f"hermes:{target}")

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """To remember, and to recall."""
        return _TOOLS

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **_: Any) -> str:
        """The result of a call, as JSON; the model gets a refusal as text."""
        try:
            return json.dumps(self._called(tool_name, args), ensure_ascii=False)
        except (MemoirError, KeyError) as error:
            return json.dumps({"error": str(error)})

    def shutdown(self) -> None:
        """Closes the connections."""
        if self._memory is not None:
            self._memory.close()

    def _called(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if self._memory is None:
            return {"error": "the session has not begun"}
        if tool == "memoir_remember":
            return {"saved": self._memory.remember(str(arguments["content"])).number}
        if tool == "memoir_recall":
            found = self._memory.recall(str(arguments["query"]), limit=10)
            return {
                "memories": [{"number": each.number, "content": each.content} for each in found]
            }
        return {"error": f"{tool} is no tool of Memoir's"}


def register(context: Any) -> None:
    """Called by Hermes when it loads the plugin."""
    context.register_memory_provider(MemoirMemoryProvider())
