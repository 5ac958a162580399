"""Requests over HTTP: connections that are used again, attempts, waits, and errors."""

from __future__ import annotations

import json
import os
import random
import socket
import ssl
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPResponse, HTTPSConnection
from ipaddress import ip_address
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from .errors import ConnectionFailed, Problem

# Connections that wait to be used again.
_MOST_IDLE = 8
# Seconds before the second attempt; each wait is twice the last, up to the longest.
_FIRST_WAIT = 0.2
_LONGEST_WAIT = 5.0
# A service that asks for more patience than this is not waited for.
_MOST_PATIENCE = 30.0
# A stream says something every 15 seconds: one that is silent for longer is dead.
_LONGEST_SILENCE = 45.0
# What another attempt may mend: too many requests, and services or proxies that are away.
_TRANSIENT = {429, 502, 503, 504}


class Transport:
    """Sends requests for one token, or for none. Threads may share it."""

    def __init__(
        self,
        url: str | None,
        token: str | None,
        *,
        timeout: float,
        attempts: int,
        ssl_context: ssl.SSLContext | None,
    ) -> None:
        url = url or os.environ.get("MEMOIR_URL") or "http://127.0.0.1:8750"
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
            raise ValueError("the URL must be like https://memoir.example.org")
        if attempts < 1:
            raise ValueError("there must be at least one attempt")
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port
        self._base = parts.path.rstrip("/")
        self._token = token
        self._timeout = timeout
        self.attempts = attempts
        self._ssl = ssl_context or (ssl.create_default_context() if self._secure else None)
        self._idle: deque[HTTPConnection] = deque()

    def __repr__(self) -> str:
        scheme = "https" if self._secure else "http"
        port = "" if self._port is None else f":{self._port}"
        return f"<{scheme}://{self._host}{port}{self._base}>"

    @property
    def is_private(self) -> bool:
        """Whether it is encrypted, or does not leave this machine."""
        return self._secure or _is_loopback(self._host)

    def close(self) -> None:
        """Closes the connections that wait; the next request opens another."""
        while self._idle:
            self._idle.pop().close()

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        key: str | None = None,
        timeout: float | None = None,
    ) -> Any:
        """The answer's JSON.

        What changes something carries an idempotency key, `key` or one of its own, and is therefore
        carried out once, however often it is sent. A `timeout` counts where it is longer than what
        requests have otherwise.

        Raises:
            Problem: the service refused, or was still away at the last attempt.
            ConnectionFailed: no answer came.
        """
        target = self._base + path
        wanted = {name: value for name, value in (query or {}).items() if value is not None}
        if wanted:
            target += "?" + urlencode(wanted, quote_via=quote)
        headers = self._headers("application/json")
        payload = None
        if body is not None:
            payload = json.dumps(body, allow_nan=False).encode("ascii")
            headers["Content-Type"] = "application/json"
        if method != "GET":
            headers["Idempotency-Key"] = key or uuid.uuid4().hex
        attempt = 1
        while True:
            try:
                status, head, raw = self._exchange(method, target, payload, headers, timeout)
            except (OSError, HTTPException) as error:
                wait = self.wait_after(error, attempt)
            else:
                if 200 <= status < 300:
                    return parsed(raw)
                wait = self.wait_after(_problem(status, head, raw), attempt)
            time.sleep(wait)
            attempt += 1

    def wait_after(self, error: Problem | OSError | HTTPException, attempt: int) -> float:
        """Seconds to wait before the attempt that follows this one, which `error` ended.

        Raises:
            Problem: another attempt mends nothing, or this was the last.
            ConnectionFailed: likewise.
        """
        last = attempt >= self.attempts
        growing: float = min(_FIRST_WAIT * 2 ** (attempt - 1), _LONGEST_WAIT)
        wait = growing * random.uniform(0.5, 1)
        if isinstance(error, Problem):
            patience = error.retry_after or 0.0
            if last or not _is_transient(error) or patience > _MOST_PATIENCE:
                raise error
            return max(wait, patience)
        # What the others say can hold a piece of an answer.
        if isinstance(error, ssl.SSLCertVerificationError):
            raise ConnectionFailed(f"the certificate is not good: {error.reason}") from None
        if last:
            what = type(error).__name__
            raise ConnectionFailed(f"no answer after {attempt} attempts: {what}") from None
        return wait

    def stream(
        self, path: str, last_id: str | None, opened: Callable[[socket.socket], object]
    ) -> HTTPResponse | None:
        """A stream of events, from what follows `last_id` on; None where nothing follows.

        `opened` is given its socket before anything is sent; it is the reader's to close.

        Raises:
            Problem: the service refused.
            OSError, HTTPException: no answer came.
        """
        headers = self._headers("text/event-stream")
        if last_id is not None:
            headers["Last-Event-ID"] = last_id
        connection = self._fresh()
        connection.connect()
        # An answer may take it away from the connection.
        sock = connection.sock
        opened(sock)
        answer = _answer(connection, "GET", self._base + path, None, headers)
        if answer.status == 204:
            return None
        if answer.status != 200:
            raise _problem(answer.status, answer.headers, answer.read())
        if not answer.headers.get("Content-Type", "").startswith("text/event-stream"):
            raise Problem(200, {"detail": "the answer is no stream of events"}, None)
        sock.settimeout(max(self._timeout, _LONGEST_SILENCE))
        return answer

    def _headers(self, accept: str) -> dict[str, str]:
        headers = {"Accept": accept}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        return headers

    def _exchange(
        self,
        method: str,
        target: str,
        payload: bytes | None,
        headers: Mapping[str, str],
        timeout: float | None,
    ) -> tuple[int, HTTPMessage, bytes]:
        connection, used = self._connection() if timeout is None else (self._fresh(timeout), False)
        try:
            try:
                answer = _answer(connection, method, target, payload, headers)
            except (ConnectionError, HTTPException):
                # The service may have closed a connection while it waited here: that says nothing
                # about the service, and is no attempt.
                if not used:
                    raise
                connection.close()
                connection = self._fresh()
                answer = _answer(connection, method, target, payload, headers)
            raw = answer.read()
        except BaseException:
            connection.close()
            raise
        if answer.will_close or timeout is not None or len(self._idle) >= _MOST_IDLE:
            connection.close()
        else:
            self._idle.append(connection)
        return answer.status, answer.headers, raw

    def _connection(self) -> tuple[HTTPConnection, bool]:
        try:
            return self._idle.pop(), True
        except IndexError:
            return self._fresh(), False

    def _fresh(self, timeout: float = 0.0) -> HTTPConnection:
        timeout = max(timeout, self._timeout)
        if self._secure:
            return HTTPSConnection(self._host, self._port, timeout=timeout, context=self._ssl)
        return HTTPConnection(self._host, self._port, timeout=timeout)


def _answer(
    connection: HTTPConnection,
    method: str,
    target: str,
    payload: bytes | None,
    headers: Mapping[str, str],
) -> HTTPResponse:
    connection.request(method, target, body=payload, headers=dict(headers))
    return connection.getresponse()


def parsed(raw: bytes) -> Any:
    """What the service sent, as JSON."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        pass
    # Outside of the handler: the error of the parser holds the answer.
    raise Problem(200, {"detail": "the answer is not JSON"}, None)


def _problem(status: int, head: HTTPMessage, raw: bytes) -> Problem:
    problem: Any = {}
    if head.get("Content-Type", "").startswith("application/problem+json"):
        try:
            problem = json.loads(raw)
        except (ValueError, RecursionError):
            problem = {}
    known = problem if isinstance(problem, dict) else {}
    return Problem(status, known, _seconds(head.get("Retry-After")))


def _seconds(retry_after: str | None) -> float | None:
    if retry_after is None:
        return None
    try:
        return max(float(int(retry_after)), 0.0)
    except ValueError:
        pass
    try:
        return max(parsedate_to_datetime(retry_after).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError):
        return None


def _is_transient(problem: Problem) -> bool:
    return problem.status in _TRANSIENT or problem.code == "idempotency_in_progress"


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def segment(text: str) -> str:
    """One segment of a path."""
    return quote(text, safe="")
