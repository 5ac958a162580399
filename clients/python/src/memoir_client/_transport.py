"""Requests over HTTP: connections that are used again, attempts, waits, and errors."""

from __future__ import annotations

import json
import os
import random
import ssl
import time
import uuid
from collections import deque
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from .errors import ConnectionFailed, Problem

# Connections that wait to be used again.
_MOST_IDLE = 8
# Seconds before the second attempt; it doubles from then on, up to the longest.
_FIRST_WAIT = 0.2
_LONGEST_WAIT = 5.0
# A service that asks for more patience than this is not waited for.
_MOST_PATIENCE = 30.0
# What another attempt may mend: too many requests, and services or proxies that are away.
_TRANSIENT = {429, 502, 503, 504}


class Transport:
    """Sends requests for one token. Threads may share it."""

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
        token = token or os.environ.get("MEMOIR_TOKEN")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
            raise ValueError("the URL must be like https://memoir.example.org")
        if not token:
            raise ValueError("there is no token: give one, or set MEMOIR_TOKEN")
        if attempts < 1:
            raise ValueError("there must be at least one attempt")
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port
        self._base = parts.path.rstrip("/")
        self._token = token
        self._timeout = timeout
        self._attempts = attempts
        self._ssl = ssl_context or (ssl.create_default_context() if self._secure else None)
        self._idle: deque[HTTPConnection] = deque()

    def __repr__(self) -> str:
        scheme = "https" if self._secure else "http"
        port = "" if self._port is None else f":{self._port}"
        return f"<{scheme}://{self._host}{port}{self._base}>"

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
    ) -> Any:
        """The answer's JSON.

        What changes something carries an idempotency key, `key` or one of its own, and is therefore
        carried out once, however often it is sent.

        Raises:
            Problem: the service refused, or was still away at the last attempt.
            ConnectionFailed: no answer came.
        """
        target = self._base + path
        wanted = {name: value for name, value in (query or {}).items() if value is not None}
        if wanted:
            target += "?" + urlencode(wanted, quote_via=quote)
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        payload = None
        if body is not None:
            payload = json.dumps(body, allow_nan=False).encode("ascii")
            headers["Content-Type"] = "application/json"
        if method != "GET":
            headers["Idempotency-Key"] = key or uuid.uuid4().hex
        attempt = 1
        while True:
            last = attempt >= self._attempts
            wait = min(_FIRST_WAIT * 2 ** (attempt - 1), _LONGEST_WAIT) * random.uniform(0.5, 1)
            try:
                status, head, raw = self._exchange(method, target, payload, headers)
            except ssl.SSLCertVerificationError as error:
                raise ConnectionFailed(f"the certificate is not good: {error.reason}") from None
            except (OSError, HTTPException) as error:
                # What they say can hold a piece of an answer.
                if last:
                    what = type(error).__name__
                    raise ConnectionFailed(f"no answer after {attempt} attempts: {what}") from None
            else:
                if 200 <= status < 300:
                    return _parsed(raw)
                problem = _problem(status, head, raw)
                patience = problem.retry_after or 0.0
                if last or not _is_transient(problem) or patience > _MOST_PATIENCE:
                    raise problem
                wait = max(wait, patience)
            time.sleep(wait)
            attempt += 1

    def _exchange(
        self, method: str, target: str, payload: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, HTTPMessage, bytes]:
        connection, used = self._connection()
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
        if answer.will_close or len(self._idle) >= _MOST_IDLE:
            connection.close()
        else:
            self._idle.append(connection)
        return answer.status, answer.headers, raw

    def _connection(self) -> tuple[HTTPConnection, bool]:
        try:
            return self._idle.pop(), True
        except IndexError:
            return self._fresh(), False

    def _fresh(self) -> HTTPConnection:
        if self._secure:
            return HTTPSConnection(self._host, self._port, timeout=self._timeout, context=self._ssl)
        return HTTPConnection(self._host, self._port, timeout=self._timeout)


def _answer(
    connection: HTTPConnection,
    method: str,
    target: str,
    payload: bytes | None,
    headers: Mapping[str, str],
) -> HTTPResponse:
    connection.request(method, target, body=payload, headers=dict(headers))
    return connection.getresponse()


def _parsed(raw: bytes) -> Any:
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


def segment(text: str) -> str:
    """One segment of a path."""
    return quote(text, safe="")
