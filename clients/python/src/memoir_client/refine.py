"""A refinement session that the agent drives with its own model.

`AgentMemory.refine` opens the session and calls a function of the author's, the *step*, turn after
turn. The step asks any model, in any way, and says which tools the model wants to call; they are
carried out by the service, under its rules, and what came of them goes to the next step.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import MemoirError, Problem
from .models import Mode, OpenSession, Session, Shown, Tool, private

if TYPE_CHECKING:
    from .agent import AgentMemory

REMINDER = (
    "The session is still open. Call `complete_refinement` with a summary when you are done; "
    "finishing with zero edits is a good outcome."
)

# Ends a session: nothing after it can change anything.
_ENDS = ("refinement_complete", "refinement_rolled_back")


@dataclass(frozen=True, repr=False)
class ToolCall(Shown):
    """A call that the model wants.

    Attributes:
        name: the tool's name, as the model gave it.
        arguments: an object, or its JSON text as some models give it; whatever it is, the service
            answers it with an ordinary refusal where it is wrong.
        id: the model's own name for the call, for matching the outcome; nothing here needs it.
    """

    name: str
    arguments: Mapping[str, Any] | str = private(default="{}")
    id: str | None = None


@dataclass(frozen=True, repr=False)
class Outcome(Shown):
    """What came of a call, refusals included."""

    call: ToolCall
    result: Mapping[str, Any] = private()

    @property
    def type(self) -> str:
        """`search_results`, `updated`, `deleted`, ..., or `error` for a refusal."""
        return str(self.result.get("type"))

    @property
    def code(self) -> str | None:
        """Why it was refused, such as `constitutional`; None where it was carried out."""
        return self.result.get("code") if self.type == "error" else None

    @property
    def text(self) -> str:
        """The result for the model to read, quoted so that no memory passes for anything else."""
        return quote(self.result)


@dataclass(frozen=True, kw_only=True, repr=False)
class Turn(Shown):
    """What a step is given.

    Attributes:
        number: 1 for the first turn.
        session: the session as it was opened.
        prompt: the whole text for the model, the same in every turn: who it is, the rules, and its
            memories.
        tools: the tools, with JSON schemas; `Tool.openai()` and `Tool.anthropic()` put them in the
            form of these interfaces.
        outcomes: what came of the calls that the step before asked for, in their order.
        reminder: a message for a model that called nothing; else None.
    """

    number: int
    session: OpenSession
    prompt: str = private()
    tools: tuple[Tool, ...]
    outcomes: tuple[Outcome, ...] = ()
    reminder: str | None = None


Reply = Sequence[ToolCall] | str | None
"""What a step answers: the calls that the model wants; or a text, the summary to complete with; or
nothing, after which the model is reminded once and the session then left as it is."""

Step = Callable[[Turn], Reply]


def turns(
    memory: AgentMemory, mode: Mode, rehearsal: bool, most: int
) -> Generator[Turn, Reply, Session]:
    """Runs a session: hands turns out, takes replies in, ends with the session.

    However it is left, the session is not left open: unless it has ended, it is cancelled, and
    what was edited stays.
    """
    opened = memory.open_session(mode=mode, rehearsal=rehearsal)
    over = False
    try:
        outcomes: tuple[Outcome, ...] = ()
        reminder: str | None = None
        for number in range(1, most + 1):
            reply = yield Turn(
                number=number,
                session=opened,
                prompt=opened.prompt,
                tools=opened.tools,
                outcomes=outcomes,
                reminder=reminder,
            )
            calls = _calls(reply)
            if not calls and reminder is not None:
                break
            reminder = None if calls else REMINDER
            done: list[Outcome] = []
            for call in calls:
                outcome = _carry_out(memory, opened.id, call)
                done.append(outcome)
                over = outcome.type in _ENDS or outcome.code == "session_over"
                if over:
                    return memory.session(opened.id)
            outcomes = tuple(done)
        over = True
        return memory.cancel(opened.id)
    finally:
        if not over:
            try:
                memory.cancel(opened.id)
            except MemoirError:
                # What brought us here is what the author needs to see.
                pass


def advance(run: Generator[Turn, Reply, Session], reply: Reply) -> Turn | Session:
    """The next turn, or the session where there is none.

    What a generator ends with would be mixed up with what a step raises, and cannot pass from one
    thread to another.
    """
    try:
        return run.send(reply)
    except StopIteration as end:
        session: Session = end.value
        return session


def _calls(reply: Reply) -> Sequence[ToolCall]:
    if isinstance(reply, str):
        return [ToolCall("complete_refinement", {"summary": reply})] if reply.strip() else []
    return reply or []


def _carry_out(memory: AgentMemory, session_id: str, call: ToolCall) -> Outcome:
    # No name of a tool may lead to another path.
    name = call.name if re.fullmatch(r"[A-Za-z0-9_-]{1,100}", call.name) else "-"
    try:
        return Outcome(call, memory.call_tool(session_id, name, _arguments(call.arguments)))
    except Problem as problem:
        # Nothing that a model sends ends its session: what cannot be read is refused as well.
        if problem.status not in (400, 413):
            raise
        code = "too_long" if problem.status == 413 else "invalid_argument"
        return Outcome(call, {"type": "error", "code": code, "error": problem.detail})


def _arguments(arguments: Mapping[str, Any] | str) -> Any:
    """As JSON has it; a text that is no JSON goes as the text that it is, and is refused."""
    if not isinstance(arguments, str):
        try:
            json.dumps(arguments, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            return "not JSON"
        return dict(arguments)
    try:
        parsed = json.loads(arguments or "{}")
        json.dumps(parsed, allow_nan=False)
    except (ValueError, RecursionError):
        return "not JSON"
    return parsed


# `<`, control characters, line breaks of every script, and characters that are invisible or turn
# the direction of writing.
_DECEPTIVE = re.compile(
    "[<\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)


def quote(value: Any) -> str:
    """`value` as one line of JSON in which no text can pass for a tag, a line or a rule."""
    return _DECEPTIVE.sub(
        lambda found: json.dumps(found[0])[1:-1] if found[0] != "<" else "\\u003c",
        json.dumps(value, ensure_ascii=False, separators=(",", ":")),
    )
