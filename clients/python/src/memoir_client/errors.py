"""What can go wrong. None of it holds an agent's words."""

from __future__ import annotations

from typing import Any

from .models import Obstacle, read_all


class MemoirError(Exception):
    """Anything that this package raises by itself."""


class ConnectionFailed(MemoirError):
    """No answer came, after every attempt. Whether the request was carried out is not known."""


class Problem(MemoirError):
    """The service did not carry a request out.

    Attributes:
        status: the HTTP status.
        code: a stable code, such as `session_open`; `unexpected` where the answer is not Memoir's.
        detail: what was wrong, the limit, and what to do.
        hint: what to do about it, or None.
        instance: what the service's log names this failure by, or None where it is none
            of the service's.
        retry_after: seconds to wait before another attempt, or None where it did not say.
        session_id: the session in question, or None.
        obstacles: the changes that conflict with an undo.
    """

    def __init__(self, status: int, problem: dict[str, Any], retry_after: float | None) -> None:
        self.status = status
        self.code = str(problem.get("code") or "unexpected")
        self.detail = str(problem.get("detail") or "the answer is not one of Memoir's")
        self.hint: str | None = problem.get("hint")
        self.instance: str | None = problem.get("instance")
        self.retry_after = retry_after
        self.session_id: str | None = problem.get("session_id")
        self.obstacles: list[Obstacle] = read_all(Obstacle, problem.get("obstacles") or [])
        super().__init__(f"{status} {self.code}: {self.detail}")


class Refused(MemoirError):
    """What a framework asked for and Memoir does not do; the text says what to do instead."""
