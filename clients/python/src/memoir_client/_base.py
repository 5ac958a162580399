"""What agents and administrators have in common."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone
from types import TracebackType
from typing import Any, TypeVar

from ._transport import Transport, segment
from .live import Watch
from .models import (
    AccessRequest,
    HandedOver,
    Memory,
    Message,
    Record,
    Reflection,
    Session,
    Shown,
    Transcripts,
    Verified,
    read,
)

Self = TypeVar("Self", bound="Base")
T = TypeVar("T", bound=Shown)

# Seconds: the agent's model reads and thinks meanwhile.
_REFLECTING = 600.0


class Base:
    """Requests with one token. Threads may share it; leaving a `with` block closes it."""

    def __init__(
        self,
        url: str | None,
        token: str | None,
        *,
        timeout: float = 30.0,
        attempts: int = 4,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        token = token or os.environ.get("MEMOIR_TOKEN")
        if not token:
            raise ValueError("there is no token: give one, or set MEMOIR_TOKEN")
        self._transport = Transport(
            url, token, timeout=timeout, attempts=attempts, ssl_context=ssl_context
        )

    def close(self) -> None:
        """Closes the connections."""
        self._transport.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def session(self, session_id: str) -> Session:
        """One session."""
        return self._get(Session, f"/v1/sessions/{segment(session_id)}")

    def watch(self, session_id: str, *, last_event_id: str | None = None) -> Watch:
        """A session's events as they happen, from its beginning until it has ended.

        Every record comes once, in its order; of the states in between, some may be passed over. A
        broken stream resumes where it was, in as many attempts as a request has.

        Args:
            last_event_id: the `id` of the last event that was seen; what came after it follows.
        """
        return Watch(self._transport, f"/v1/sessions/{segment(session_id)}/events", last_event_id)

    def cancel(self, session_id: str) -> Session:
        """Ends a running session; its edits stay."""
        return self._post(Session, f"/v1/sessions/{segment(session_id)}/cancel")

    def apply(self, session_id: str) -> Session:
        """Applies the edits of a rehearsal that still hold; the session that it made."""
        return self._post(Session, f"/v1/sessions/{segment(session_id)}/apply")

    def rollback(self, session_id: str, *, cascade: bool = False) -> Session:
        """Undoes an ended session: any, for an administrator; its last one, for an agent.

        Raises:
            Problem: with the code `in_the_way` and its `obstacles` where memories were changed
                again since; `cascade` undoes these changes too.
        """
        path = f"/v1/sessions/{segment(session_id)}/rollback"
        return self._post(Session, path, {"cascade": cascade})

    def access_request(self, request_id: str) -> AccessRequest:
        """One access request to an agent."""
        return self._get(AccessRequest, f"/v1/access-requests/{segment(request_id)}")

    def revoke_access(self, request_id: str) -> AccessRequest:
        """Revokes a request, answered or not: what it granted ends immediately."""
        return self._post(AccessRequest, f"/v1/access-requests/{segment(request_id)}/revoke")

    def _hand_over(
        self, agent: str, messages: Iterable[Message], now: bool, key: str | None
    ) -> HandedOver:
        body = {"messages": [_message(message) for message in messages], "now": now}
        return self._post(HandedOver, f"{of(agent)}/transcripts", body, key)

    def _transcripts(self, agent: str) -> Transcripts:
        return self._get(Transcripts, f"{of(agent)}/transcripts")

    def _reflect(self, agent: str) -> Reflection:
        path = f"{of(agent)}/reflections"
        return read(Reflection, self._transport.send("POST", path, timeout=_REFLECTING))

    def _memories(
        self, agent: str, query: Mapping[str, Any], *, page_size: int
    ) -> Iterator[Memory]:
        return self._pages(Memory, f"{of(agent)}/memories", query, page_size)

    def _promote(self, agent: str, number: int) -> Memory:
        return self._post(Memory, f"{of(agent)}/memories/{int(number)}/promote")

    def _audit(self, agent: str, query: Mapping[str, Any], *, page_size: int) -> Iterator[Record]:
        return self._pages(Record, f"{of(agent)}/audit", query, page_size)

    def _verify(self, agent: str) -> Verified:
        return self._get(Verified, f"{of(agent)}/audit/verify")

    def _get(self, kind: type[T], path: str, query: Mapping[str, Any] | None = None) -> T:
        return read(kind, self._transport.send("GET", path, query=query))

    def _post(self, kind: type[T], path: str, body: Any = None, key: str | None = None) -> T:
        return read(kind, self._transport.send("POST", path, body=body, key=key))

    def _pages(
        self, kind: type[T], path: str, query: Mapping[str, Any], page_size: int
    ) -> Iterator[T]:
        cursor: str | None = None
        while True:
            wanted = {**query, "limit": page_size, "cursor": cursor}
            page = self._transport.send("GET", path, query=wanted)
            for item in page["items"]:
                yield read(kind, item)
            cursor = page["next_cursor"]
            if cursor is None:
                return


def _message(message: Message) -> dict[str, Any]:
    fields = {
        "id": message.id,
        "at": moment(message.at),
        "speaker": message.speaker,
        "text": message.text,
    }
    return {name: value for name, value in fields.items() if value is not None}


def of(agent: str) -> str:
    """The path of an agent."""
    return f"/v1/agents/{segment(agent)}"


def moment(time: datetime | str | None) -> str | None:
    """A time for the wire.

    Raises:
        ValueError: it has no time zone: what it means would depend on the machine.
    """
    if time is None or isinstance(time, str):
        return time
    if time.tzinfo is None:
        raise ValueError("a time needs a time zone, such as datetime.now(timezone.utc)")
    return time.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def listed(
    protected: bool | None, faded: bool | None, under: int | None, include_discarded: bool
) -> dict[str, Any]:
    """What a list of memories is narrowed or widened by, for the wire."""
    return {
        "under": under,
        "protected": None if protected is None else str(protected).lower(),
        "faded": None if faded is None else str(faded).lower(),
        "include": "discarded" if include_discarded else None,
    }


def recorded(
    session_id: str | None,
    action: str | None,
    actor: str | None,
    actor_name: str | None,
    memory: int | None,
    since: datetime | str | None,
    until: datetime | str | None,
) -> dict[str, Any]:
    """What a list of records is narrowed by, for the wire."""
    return {
        "session": session_id,
        "action": action,
        "actor": actor,
        "actor_name": actor_name,
        "memory": memory,
        "since": moment(since),
        "until": moment(until),
    }
