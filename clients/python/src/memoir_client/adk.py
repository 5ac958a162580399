"""Memoir for Google's Agent Development Kit: a memory service, and a plugin for the context.

service = MemoirMemoryService(lambda app, user: memories[user])
runner = Runner(…, memory_service=service, plugins=[MemoirPlugin(service)])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types

from ._named import WHAT_GOES
from .agent import NewMemory
from .aio import AsyncAgentMemory
from .errors import Refused
from .models import Message

if TYPE_CHECKING:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.events.event import Event
    from google.adk.models.llm_request import LlmRequest
    from google.adk.models.llm_response import LlmResponse
    from google.adk.sessions.session import Session


class MemoirMemoryService(BaseMemoryService):
    """Memories by user: sessions are handed over for the agent's model to read, searches recall.

    Args:
        memory_of: the memory for an application and a user. Two users that are given one memory
            read each other's.
        limit: how many memories a search finds at most, up to 200.
    """

    def __init__(
        self, memory_of: Callable[[str, str], AsyncAgentMemory], *, limit: int = 20
    ) -> None:
        self.memory_of = memory_of
        self._limit = limit

    async def add_session_to_memory(self, session: Session) -> None:
        """Hands a session over; what was handed over before is passed over."""
        await self.add_events_to_memory(
            app_name=session.app_name,
            user_id=session.user_id,
            events=session.events,
            session_id=session.id,
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Hands what was said in some events over."""
        said = [
            Message(
                id=event.id,
                speaker=event.author,
                text=text,
                at=datetime.fromtimestamp(event.timestamp, timezone.utc),
            )
            for event in events
            if not event.partial and (text := _text(event.content))
        ]
        if said:
            await self.memory_of(app_name, user_id).hand_over(said)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Saves memories, all or none."""
        new = [
            NewMemory(content=_text(each.content), created_at=each.timestamp) for each in memories
        ]
        await self.memory_of(app_name, user_id).remember_all(new)

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """The memories that match best."""
        found = await self.memory_of(app_name, user_id).recall(query, limit=self._limit)
        entries = [
            MemoryEntry(
                id=str(each.number),
                content=types.Content(role="user", parts=[types.Part(text=each.content or "")]),
                timestamp=each.created_at.isoformat(),
            )
            for each in found
        ]
        return SearchMemoryResponse(memories=entries)

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Refused."""
        raise Refused(f"the memory service deletes nothing: {WHAT_GOES}")


class MemoirPlugin(BasePlugin):
    """Gives each call of the model what is remembered for its user, behind the instructions."""

    def __init__(self, service: MemoirMemoryService, *, max_tokens: int | None = None) -> None:
        super().__init__("memoir")
        self._service = service
        self._max_tokens = max_tokens

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Adds the memory to the request."""
        session = callback_context.session
        memory = self._service.memory_of(session.app_name, session.user_id)
        text = (await memory.context(max_tokens=self._max_tokens)).text
        if text:
            llm_request.append_instructions([text])
        return None


def _text(content: types.Content | None) -> str:
    parts = content.parts if content and content.parts else []
    return "\n".join(part.text for part in parts if part.text and not part.thought)
