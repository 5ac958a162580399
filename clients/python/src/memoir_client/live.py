"""Watching a session as it happens."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from types import TracebackType
from typing import Any, Literal, cast

from ._transport import Transport, parsed
from .errors import Problem
from .models import LiveRecord, LiveSession, Shown, read

# Seconds before a stream that broke off is asked for again, unless the service says another time.
_WAIT = 2.0
_LONGEST_WAIT = 30.0

EventType = Literal["record", "session", "ended"]


@dataclass(frozen=True, kw_only=True, repr=False)
class LiveEvent(Shown):
    """Something that happened in a session.

    Attributes:
        type: `record`, something was written in the audit; `session`, it stands differently;
            `ended`, it has ended, the last event.
        id: for `watch(last_event_id=...)`, to go on after this event.
        record: the record; None but for `record`.
        session: how it stands, as after the records so far; None for `record`.
    """

    type: EventType
    id: str
    record: LiveRecord | None = None
    session: LiveSession | None = None


class Watch(Iterator[LiveEvent]):
    """The events of one session, until it has ended. Any thread may close it, and so end it."""

    def __init__(self, transport: Transport, path: str, last_event_id: str | None) -> None:
        self._transport = transport
        self._path = path
        self._last_id = last_event_id
        self._wait = _WAIT
        self._closed = threading.Event()
        self._socket: socket.socket | None = None
        self._events = self._all()

    def __next__(self) -> LiveEvent:
        return next(self._events)

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends it; for a thread that waits for an event, the events end."""
        self._closed.set()
        if self._socket is not None:
            try:
                # Wakes a thread that reads, which closing does not.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
            except OSError:
                pass
        try:
            self._events.close()
        except ValueError:
            # Another thread is in it, and leaves it now.
            pass

    def _all(self) -> Generator[LiveEvent, None, None]:
        attempt = 1
        while not self._closed.is_set():
            broken: Problem | OSError | HTTPException = ConnectionResetError()
            answer: HTTPResponse | None = None
            try:
                answer = self._transport.stream(self._path, self._last_id, self._opened)
                if answer is None:
                    return
                for event in self._read(answer):
                    # Something came, be it a sign of life: the service is there.
                    attempt = 1
                    if event is not None:
                        yield event
                        if event.type == "ended":
                            return
            except (Problem, OSError, HTTPException) as error:
                broken = error
            finally:
                if answer is not None:
                    answer.close()
                if self._socket is not None:
                    self._socket.close()
            if self._closed.is_set():
                return
            wait = self._transport.wait_after(broken, attempt)
            self._closed.wait(max(wait, self._wait))
            attempt += 1

    def _opened(self, opened: socket.socket) -> None:
        self._socket = opened

    def _read(self, answer: HTTPResponse) -> Iterator[LiveEvent | None]:
        """The events of one stream, and None for signs of life between them."""
        fields: dict[str, bytes] = {}
        while line := answer.readline():
            if not line.endswith(b"\n"):
                # Half a line: it broke off.
                return
            name, _, value = line.rstrip(b"\r\n").partition(b":")
            if name:
                fields[name.decode("ascii", "replace")] = value.removeprefix(b" ")
                continue
            if line.startswith(b":"):
                yield None
                continue
            event = self._event(fields)
            fields = {}
            if event is not None:
                yield event

    def _event(self, fields: dict[str, bytes]) -> LiveEvent | None:
        retry = fields.get("retry", b"")
        if re.fullmatch(rb"\d{1,9}", retry):
            self._wait = min(int(retry) / 1000, _LONGEST_WAIT)
        if "data" not in fields:
            return None
        kind = fields.get("event", b"").decode("ascii", "replace")
        name = fields.get("id", b"").decode("ascii", "replace")
        data: Any = parsed(fields["data"])
        self._last_id = name or self._last_id
        if kind == "record":
            return LiveEvent(type="record", id=name, record=read(LiveRecord, data))
        if kind in ("session", "ended"):
            of = cast(EventType, kind)
            return LiveEvent(type=of, id=name, session=read(LiveSession, data))
        # One of a newer service.
        return None
