"""What agents and administrators have in common."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from types import TracebackType
from typing import Any, TypeVar

from ._transport import Transport, segment
from .models import AccessRequest, Memory, Record, Session, Shown, Verified, read

Self = TypeVar("Self", bound="Door")
T = TypeVar("T", bound=Shown)


class Door:
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

    def cancel(self, session_id: str) -> Session:
        """Ends a running session; its edits stay."""
        return self._post(Session, f"/v1/sessions/{segment(session_id)}/cancel")

    def apply(self, session_id: str) -> Session:
        """Does what a rehearsal came to; the session that this became."""
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
        """One request to an agent to let somebody in."""
        return self._get(AccessRequest, f"/v1/access-requests/{segment(request_id)}")

    def revoke_access(self, request_id: str) -> AccessRequest:
        """Takes a request back, answered or not: what it granted ends at once."""
        return self._post(AccessRequest, f"/v1/access-requests/{segment(request_id)}/revoke")

    def _memories(
        self, agent: str, query: Mapping[str, Any], *, page_size: int
    ) -> Iterator[Memory]:
        return self._pages(Memory, f"{of(agent)}/memories", query, page_size)

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
