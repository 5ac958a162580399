"""The agent's memory for asyncio: the same methods, each waited for on a thread."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

from .agent import AgentMemory, NewMemory
from .live import LiveEvent
from .models import (
    AccessRequest,
    Agent,
    Context,
    HandedOver,
    Kind,
    MadeToken,
    Memory,
    Message,
    Mode,
    OpenSession,
    OwnField,
    Recalled,
    Record,
    Reflection,
    SavedMemory,
    Session,
    Setting,
    SettingVersion,
    ShreddedMemory,
    Transcripts,
    Verified,
)
from .refine import Reply, Turn, advance, turns

T = TypeVar("T")


class AsyncAgentMemory:
    """`AgentMemory` for asyncio, with the same arguments. `sync` is what it rests on.

    A request whose task is cancelled is finished on its thread before the task ends.
    """

    def __init__(
        self,
        url: str | None = None,
        agent: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 30.0,
        attempts: int = 4,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self.sync = AgentMemory(
            url, agent, token, timeout=timeout, attempts=attempts, ssl_context=ssl_context
        )

    def __repr__(self) -> str:
        return f"Async{self.sync!r}"

    async def __aenter__(self) -> AsyncAgentMemory:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.sync.close()

    async def remember(
        self,
        content: str,
        *,
        kind: Kind = "core",
        tags: Iterable[str] = (),
        source: str | None = None,
        origin: str | None = None,
        created_at: datetime | str | None = None,
        replaces: Iterable[int] = (),
        idempotency_key: str | None = None,
    ) -> SavedMemory:
        """See `AgentMemory.remember`."""
        return await _thread(
            lambda: self.sync.remember(
                content,
                kind=kind,
                tags=tags,
                source=source,
                origin=origin,
                created_at=created_at,
                replaces=replaces,
                idempotency_key=idempotency_key,
            )
        )

    async def remember_all(
        self, memories: Iterable[NewMemory | str], *, idempotency_key: str | None = None
    ) -> list[SavedMemory]:
        """See `AgentMemory.remember_all`."""
        return await _thread(
            lambda: self.sync.remember_all(memories, idempotency_key=idempotency_key)
        )

    async def context(
        self, *, max_tokens: int | None = None, hard: bool = False, explain: bool = False
    ) -> Context:
        """See `AgentMemory.context`."""
        return await _thread(
            lambda: self.sync.context(max_tokens=max_tokens, hard=hard, explain=explain)
        )

    async def recall(self, query: str, *, limit: int = 20, **filters: Any) -> Recalled:
        """See `AgentMemory.recall`."""
        return await _thread(lambda: self.sync.recall(query, limit=limit, **filters))

    def memories(self, query: str | None = None, **filters: Any) -> AsyncIterator[Memory]:
        """See `AgentMemory.memories`."""
        return _each(self.sync.memories(query, **filters))

    async def memory(self, number: int) -> Memory:
        """See `AgentMemory.memory`."""
        return await _thread(lambda: self.sync.memory(number))

    async def promote(self, number: int) -> Memory:
        """See `AgentMemory.promote`."""
        return await _thread(lambda: self.sync.promote(number))

    async def hand_over(
        self,
        messages: Iterable[Message],
        *,
        now: bool = False,
        idempotency_key: str | None = None,
    ) -> HandedOver:
        """See `AgentMemory.hand_over`."""
        return await _thread(
            lambda: self.sync.hand_over(messages, now=now, idempotency_key=idempotency_key)
        )

    async def transcripts(self) -> Transcripts:
        """See `AgentMemory.transcripts`."""
        return await _thread(self.sync.transcripts)

    async def reflect(self) -> Reflection:
        """See `AgentMemory.reflect`."""
        return await _thread(self.sync.reflect)

    async def about(self) -> Agent:
        """See `AgentMemory.about`."""
        return await _thread(self.sync.about)

    async def setting(self, field: OwnField) -> Setting:
        """See `AgentMemory.setting`."""
        return await _thread(lambda: self.sync.setting(field))

    async def change_setting(self, field: OwnField, value: str | None) -> Setting:
        """See `AgentMemory.change_setting`."""
        return await _thread(lambda: self.sync.change_setting(field, value))

    async def setting_history(self, field: OwnField) -> list[SettingVersion]:
        """See `AgentMemory.setting_history`."""
        return await _thread(lambda: self.sync.setting_history(field))

    async def undo_setting(self, field: OwnField) -> Setting:
        """See `AgentMemory.undo_setting`."""
        return await _thread(lambda: self.sync.undo_setting(field))

    async def refine(
        self,
        step: Callable[[Turn], Awaitable[Reply]],
        *,
        mode: Mode = "full",
        rehearsal: bool = False,
        max_turns: int = 40,
    ) -> Session:
        """See `AgentMemory.refine`; `step` is a coroutine function."""
        run = turns(self.sync, mode, rehearsal, max_turns)
        try:
            at = await _thread(partial(advance, run, None))
            while isinstance(at, Turn):
                at = await _thread(partial(advance, run, await step(at)))
            return at
        finally:
            await _thread(run.close)

    async def open_session(
        self, *, mode: Mode = "full", rehearsal: bool = False, resume: bool = True
    ) -> OpenSession:
        """See `AgentMemory.open_session`."""
        return await _thread(
            lambda: self.sync.open_session(mode=mode, rehearsal=rehearsal, resume=resume)
        )

    async def queue_session(
        self, *, mode: Mode = "full", rehearsal: bool = False, model: str | None = None
    ) -> Session:
        """See `AgentMemory.queue_session`."""
        return await _thread(
            lambda: self.sync.queue_session(mode=mode, rehearsal=rehearsal, model=model)
        )

    async def apply(self, session_id: str) -> Session:
        """See `AgentMemory.apply`."""
        return await _thread(lambda: self.sync.apply(session_id))

    async def call_tool(self, session_id: str, tool: str, arguments: Any) -> Mapping[str, Any]:
        """See `AgentMemory.call_tool`."""
        return await _thread(lambda: self.sync.call_tool(session_id, tool, arguments))

    async def session(self, session_id: str) -> Session:
        """See `AgentMemory.session`."""
        return await _thread(lambda: self.sync.session(session_id))

    async def watch(
        self, session_id: str, *, last_event_id: str | None = None
    ) -> AsyncIterator[LiveEvent]:
        """See `AgentMemory.watch`. Cancelling the task ends it immediately."""
        # It may wait for long, and is not to keep others from a thread.
        with (
            ThreadPoolExecutor(1) as thread,
            self.sync.watch(session_id, last_event_id=last_event_id) as watch,
        ):
            while event := await _thread(lambda: next(watch, None), thread, watch.close):
                yield event

    async def cancel(self, session_id: str) -> Session:
        """See `AgentMemory.cancel`."""
        return await _thread(lambda: self.sync.cancel(session_id))

    async def rollback(self, session_id: str, *, cascade: bool = False) -> Session:
        """See `AgentMemory.rollback`."""
        return await _thread(lambda: self.sync.rollback(session_id, cascade=cascade))

    def sessions(self, *, page_size: int = 100) -> AsyncIterator[Session]:
        """See `AgentMemory.sessions`."""
        return _each(self.sync.sessions(page_size=page_size))

    async def shred(self, number: int, *, reason: str, derived: bool = False) -> ShreddedMemory:
        """See `AgentMemory.shred`."""
        return await _thread(lambda: self.sync.shred(number, reason=reason, derived=derived))

    def audit(self, **filters: Any) -> AsyncIterator[Record]:
        """See `AgentMemory.audit`."""
        return _each(self.sync.audit(**filters))

    def access_requests(self, *, page_size: int = 100) -> AsyncIterator[AccessRequest]:
        """See `AgentMemory.access_requests`."""
        return _each(self.sync.access_requests(page_size=page_size))

    async def access_request(self, request_id: str) -> AccessRequest:
        """See `AgentMemory.access_request`."""
        return await _thread(lambda: self.sync.access_request(request_id))

    async def revoke_access(self, request_id: str) -> AccessRequest:
        """See `AgentMemory.revoke_access`."""
        return await _thread(lambda: self.sync.revoke_access(request_id))

    async def answer_access_request(
        self, request_id: str, *, granted: bool, reason: str | None = None
    ) -> AccessRequest:
        """See `AgentMemory.answer_access_request`."""
        return await _thread(
            lambda: self.sync.answer_access_request(request_id, granted=granted, reason=reason)
        )

    async def create_token(self, *, expires_at: datetime | str | None = None) -> MadeToken:
        """See `AgentMemory.create_token`."""
        return await _thread(lambda: self.sync.create_token(expires_at=expires_at))

    async def verify(self) -> Verified:
        """See `AgentMemory.verify`."""
        return await _thread(self.sync.verify)


async def _thread(
    work: Callable[[], T],
    thread: ThreadPoolExecutor | None = None,
    stop: Callable[[], None] | None = None,
) -> T:
    running = asyncio.get_running_loop().run_in_executor(thread, work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        if stop is not None:
            stop()
        # The thread goes on in any case; what follows is not to meet it half-way.
        await asyncio.wait([running])
        if not running.cancelled():
            running.exception()
        raise


async def _each(items: Iterator[T]) -> AsyncIterator[T]:
    end = object()
    while True:
        item = await _thread(lambda: next(items, end))
        if item is end:
            return
        yield item  # type: ignore[misc]
