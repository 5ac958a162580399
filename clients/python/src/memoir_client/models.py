"""What the service answers with, as plain data.

Fields are named as on the wire. Nothing here prints an agent's words, or a token, by itself: a
`repr` shows how long they are.
"""

from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

Kind = Literal["core", "journal", "archival"]
Mode = Literal["full", "dedup_only"]
Driver = Literal["agent", "model"]
Meaning = Literal["merged", "partial", "unavailable", "not_allowed"]
State = Literal[
    "queued", "asking", "open", "completed", "rolled_back", "declined", "abandoned", "failed"
]
OwnField = Literal[
    "name",
    "system_prompt",
    "reflection_prompt",
    "memory_reflection_prompt",
    "refinement_prompt",
    "refinement_threshold",
    "loss_guard",
]


def private(**options: Any) -> Any:
    """A field that may hold words or a secret."""
    return field(metadata={"private": True}, **options)


def lengths(value: Any) -> str:
    """What may be shown of something private."""
    if value is None:
        return "None"
    if isinstance(value, str):
        return f"<{len(value)} characters>"
    if isinstance(value, Mapping):
        return f"<{len(value)} fields>"
    if isinstance(value, (list, tuple)):
        return f"<{len(value)} items>"
    return f"<{type(value).__name__}>"


@dataclass(frozen=True, repr=False)
class Shown:
    """Something that prints the lengths of what is private in it."""

    def __repr__(self) -> str:
        shown = (
            f"{of.name}="
            + (lengths if of.metadata.get("private") else repr)(getattr(self, of.name))
            for of in dataclasses.fields(self)
        )
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(frozen=True, kw_only=True, repr=False)
class Due(Shown):
    """That a refinement session is due: `weekly`, or `budget` where the memory outgrew it."""

    reason: str


@dataclass(frozen=True, kw_only=True, repr=False)
class OriginalCounts(Shown):
    """Where an agent's originals are: texts as their authors saved them."""

    total: int
    in_prompt: int
    archived: int


@dataclass(frozen=True, kw_only=True, repr=False)
class MatchedTerm(Shown):
    """What of a question a memory was found by.

    Attributes:
        term: as the question has it, folded.
        found: `word`, `phrase`, `part` of a longer word, `slip`, `literal` or `meaning`.
        weight: how much it adds to the score.
    """

    term: str = private()
    found: str
    weight: float


@dataclass(frozen=True, kw_only=True, repr=False)
class Match(Shown):
    """By what a memory was found, the weightiest term first.

    Attributes:
        corrects: the older memory that it seems to correct, and therefore comes before.
        by_stop_words: whether it was found by words such as "is" and "the" alone.
        near: its rank among what is near the question in meaning, from 1; None where it is not.
    """

    rank: int
    score: float
    terms: tuple[MatchedTerm, ...]
    corrects: int | None = None
    by_stop_words: bool = False
    near: int | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Memory(Shown):
    """One memory. `content`, `tags` and `source` are None for an administrator.

    Attributes:
        is_summary: whether a session wrote its text in place of others.
        sources: the archival memories directly under it.
        under: the memory that took its place; None where there is none.
        origin: `agent`, `administrator`, `conversation`, `import` or `external`.
        fades_at: when a journal entry expires from the prompt, or has expired; else None.
        archived_at: when it became archival; None for other kinds.
        source: a free-text reference to where its text came from.
        until: the date until which a memory held that was replaced; only where recall found it.
        now: the core memory that says what is so now; likewise.
        match: why it was found, where `explain` requested it.
    """

    number: int
    kind: Kind
    tokens: int
    constitutional: bool
    is_summary: bool
    sources: tuple[int, ...]
    under: int | None = None
    origin: str
    created_at: datetime
    updated_at: datetime
    fades_at: datetime | None = None
    archived_at: datetime | None = None
    discarded_at: datetime | None = None
    shredded_at: datetime | None = None
    content: str | None = private(default=None)
    tags: tuple[str, ...] | None = private(default=None)
    source: str | None = private(default=None)
    until: datetime | None = None
    now: int | None = None
    match: Match | None = None

    def __str__(self) -> str:
        """The text, for `print(memory)`; without access to it, as `repr`, which never shows it."""
        return repr(self) if self.content is None else self.content


class Recalled(list[Memory]):
    """What was found, the best match first.

    Attributes:
        meaning: whether memories were looked for by their meaning too: `merged` with what was
            found by words; `partial`, where some have no vector yet; `unavailable`, where the
            model of embeddings did not answer as it should, and `not_allowed`, where the agent
            has not agreed to it: by words alone. None where no such server is configured.
    """

    def __init__(self, found: Iterable[Memory], meaning: Meaning | None) -> None:
        super().__init__(found)
        self.meaning = meaning


@dataclass(frozen=True, kw_only=True, repr=False)
class NotReplaced(Shown):
    """A memory that was named in `replaces`, and stays where it is.

    Attributes:
        reason: `not_found`, `not_core`, `constitutional`, `immutable`, `origin`, `side`,
            `week_limit` or `age_limit`.
    """

    number: int
    reason: str


@dataclass(frozen=True, kw_only=True, repr=False)
class SavedMemory(Memory):
    """A memory that was saved, and whether a session is due now.

    Attributes:
        same_as: an active memory with the same text; only for the agent itself.
        replaced: the memories that it replaced, which are archival now; None without `replaces`.
        not_replaced: those that stay where they are, with the reason; likewise.
        note: one line on how to word the text better, where it names no person; None where it is
            clear or that is not sure.
    """

    refinement_due: Due | None = None
    same_as: int | None = None
    replaced: tuple[int, ...] | None = None
    not_replaced: tuple[NotReplaced, ...] | None = None
    note: str | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class StoredTranscript(Shown):
    """Messages of an agent's conversations whose words are stored, sealed.

    Attributes:
        waiting: messages that wait to be read, or could not be.
        absorbed: absorbed messages.
        absorbed_until: until when the words of the last absorbed ones are kept.
    """

    waiting: int
    absorbed: int
    absorbed_until: datetime | None


@dataclass(frozen=True, kw_only=True, repr=False)
class ShreddedMemory(Memory):
    """What is left of a memory that was shredded.

    Attributes:
        redacted_records: how many earlier records its text was removed from.
        summaries: summaries, active or discarded, that a session wrote over it, and copies of it.
        derived: summaries, copies and reports that were shredded with it.
        transcript: conversations whose words are stored, and that may hold the text.
    """

    redacted_records: int
    summaries: tuple[int, ...]
    derived: tuple[int, ...]
    transcript: StoredTranscript | None


@dataclass(frozen=True, kw_only=True, repr=False)
class Context(Shown):
    """What goes into the prompt after the system prompt; empty where there are no memories.

    `left_out` are the numbers of memories for which the limits left no room. `explained` has the
    size of each part, and why memories are omitted, where that was requested.
    """

    text: str = private()
    core_tokens: int
    journal_tokens: int
    left_out: tuple[int, ...]
    refinement_due: Due | None = None
    explained: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Setting(Shown):
    """One of the agent's own settings: the effective value, and whether it is the default.

    `warnings` say where a prompt that was just set is not what it seems.
    """

    field: OwnField
    value: str | float | None = private(default=None)
    is_default: bool
    agent: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class Actor(Shown):
    """Who did something: `administrator`, `agent`, `system` or `owner`, and a name to show."""

    kind: str
    name: str


@dataclass(frozen=True, kw_only=True, repr=False)
class SettingVersion(Shown):
    """A value that a setting had; None is the default. `seq` is the record that set it."""

    seq: int
    at: datetime
    actor: Actor
    value: str | float | None = private(default=None)


@dataclass(frozen=True, kw_only=True, repr=False)
class Agent(Shown):
    """An agent: its settings as set (None where unset), the effective ones, and its counts.

    Attributes:
        journal_tokens: tokens of the journal entries, expired ones included.
        replaced_count: archival memories that a new memory replaced.
        health: `failed`, `over_budget`, `rolled_back` or `in_order`: what needs attention most.
        next_refinement_reason: why the schedule never asks it; None where it does.
        warnings: where a prompt that was just set is not what it seems.
    """

    id: str
    name: str
    active: bool
    paused: bool
    model: str | None = None
    refinement_threshold: float | None = None
    core_token_budget: int | None = None
    refinement_trigger_tokens: int | None = None
    immutable_tags: tuple[str, ...] | None = None
    duplicate_match: str | None = None
    loss_guard: str | None = None
    refinement_schedule: str | None = None
    refinement_mode: Mode | None = None
    reasoning_effort: str | None = None
    answer_tokens: int | None = None
    context_journal_tokens: int | None = None
    context_core_tokens: int | None = None
    near_duplicates: bool | None = None
    system_prompt: str | None = private(default=None)
    reflection_prompt: str | None = private(default=None)
    memory_reflection_prompt: str | None = private(default=None)
    refinement_prompt: str | None = private(default=None)
    effective_model: str | None = None
    effective_refinement_threshold: float
    effective_core_token_budget: int
    effective_refinement_trigger_tokens: int
    effective_immutable_tags: tuple[str, ...]
    effective_duplicate_match: str
    effective_loss_guard: str
    effective_refinement_schedule: str
    effective_refinement_mode: Mode
    effective_answer_tokens: int
    effective_context_journal_tokens: int
    effective_near_duplicates: bool
    effective_system_prompt: str | None = private(default=None)
    effective_reflection_prompt: str | None = private(default=None)
    effective_memory_reflection_prompt: str | None = private(default=None)
    effective_refinement_prompt: str | None = private(default=None)
    core_tokens: int
    core_count: int
    summary_count: int
    summary_tokens: int
    constitutional_count: int
    journal_count: int
    journal_tokens: int
    archival_count: int
    archival_tokens: int
    replaced_count: int
    discarded_count: int
    shredded_count: int
    originals: OriginalCounts
    health: str
    needs_refinement: bool
    refinement_due: Due | None = None
    last_refinement_at: datetime | None = None
    next_refinement_at: datetime | None = None
    next_refinement_reason: str | None = None
    created_at: datetime
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class ErasedAgent(Shown):
    """What is left of an agent that was erased."""

    id: str
    name: str
    erased_at: datetime
    core_tokens: int
    core_count: int
    summary_count: int
    summary_tokens: int
    constitutional_count: int
    journal_count: int
    journal_tokens: int
    archival_count: int
    archival_tokens: int
    replaced_count: int
    discarded_count: int
    shredded_count: int
    originals: OriginalCounts


@dataclass(frozen=True, kw_only=True, repr=False)
class Stats(Shown):
    """What a session did; `consolidated` counts the memories that were merged."""

    consolidated: int
    updated: int
    deleted: int
    protected: int


@dataclass(frozen=True, kw_only=True, repr=False)
class Usage(Shown):
    """What a session's calls of the model used."""

    calls: int
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, kw_only=True, repr=False)
class RehearsedChange(Shown):
    """What a rehearsal would do to one memory; `before` is None for one that is new."""

    number: int
    before: Memory | None = None
    after: Memory


@dataclass(frozen=True, kw_only=True, repr=False)
class Session(Shown):
    """A refinement session. `summary` and a `reason` as text are for the agent only.

    Attributes:
        loss_guard: the guard when it was opened; None before.
        archived: memories that it moved to the archive.
        archived_under_summaries: of these, those that came under a summary.
        summaries: summaries that it wrote.
        edits_holding: how many edits of a completed rehearsal can be applied now; None in lists,
            once it was applied, and of any other session.
        failure: why its model gave no usable response, where it failed, such as `key_refused`;
            None otherwise.
        summary: the agent's report.
    """

    id: str
    agent: str
    state: State
    mode: Mode
    driver: Driver
    trigger: str
    rehearsal: bool
    model: str | None = None
    pre_session_tokens: int | None = None
    post_session_tokens: int | None = None
    threshold: float | None = None
    edits: int
    stats: Stats
    loss_guard: str | None = None
    removed_tokens: int
    archived: int
    archived_under_summaries: int
    summaries: int
    refused_calls: int
    edits_holding: int | None = None
    end_reason: str | None = None
    failure: str | None = None
    summary: str | None = private(default=None)
    reason: str | None = private(default=None)
    changes: tuple[RehearsedChange, ...] | None = private(default=None)
    started_at: datetime
    started_by: Actor | None = None
    ended_at: datetime | None = None
    undone_at: datetime | None = None
    usage: Usage

    @property
    def is_over(self) -> bool:
        """Whether it has ended, however it did."""
        return self.state not in ("queued", "asking", "open")


@dataclass(frozen=True, kw_only=True, repr=False)
class Tool(Shown):
    """A tool of the session; `parameters` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any]

    def openai(self) -> dict[str, Any]:
        """As an entry of `tools` in a request for OpenAI chat completions."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
        }
        return {"type": "function", "function": function}

    def anthropic(self) -> dict[str, Any]:
        """As an entry of `tools` in a request for Anthropic messages."""
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": self.parameters,
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class OpenSession(Session):
    """A session that the agent drives: what the model is to read, and its tools."""

    prompt: str = private()
    tools: tuple[Tool, ...]


@dataclass(frozen=True, kw_only=True, repr=False)
class Record(Shown):
    """One record of the audit. `before`, `after` and texts in `data` are for the agent only."""

    seq: int
    recorded_at: datetime
    agent: str
    actor: Actor
    action: str
    session_id: str | None = None
    memory: int | None = None
    before: dict[str, Any] | None = private(default=None)
    after: dict[str, Any] | None = private(default=None)
    data: dict[str, Any] = private(default_factory=dict)
    hash: str
    previous_hash: str


@dataclass(frozen=True, kw_only=True, repr=False)
class LiveSession(Session):
    """A session as it is watched, with the breaker's figures.

    Attributes:
        core_tokens: the core size now, or at the end; None where the session was never opened,
            and of a rehearsal that runs.
        breaker_tokens: the smallest core size at which the breaker holds; None before the session
            is open.
        removable_tokens: how many more tokens edits may take away; likewise, and None at the end.
        edits_left: edits that are left.
    """

    core_tokens: int | None = None
    breaker_tokens: int | None = None
    removable_tokens: int | None = None
    edits_left: int


@dataclass(frozen=True, kw_only=True, repr=False)
class LiveRecord(Record):
    """A record of a session that is watched; `core_tokens` is the core size after it, if known."""

    core_tokens: int | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Message(Shown):
    """A message of a conversation, for the agent's model to read.

    Attributes:
        id: what it is known by; a message of the same id, speaker and text is read once.
        speaker: who said it, up to 200 characters.
        text: what was said.
        at: when it was said, where that is known.
    """

    id: str = private()
    speaker: str = private()
    text: str = private()
    at: datetime | str | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class HandedOver(Shown):
    """What became of messages: new ones, which wait to be read, and ones that were known."""

    received: int
    known: int


@dataclass(frozen=True, kw_only=True, repr=False)
class Transcripts(Shown):
    """The state of an agent's conversations.

    Attributes:
        pending: messages that wait to be read.
        absorbed: messages that were read.
        failed: messages that failed permanently after several attempts.
        due_at: from when on those that wait are read; None where none waits.
    """

    pending: int
    absorbed: int
    failed: int
    due_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Reflection(Shown):
    """What a reflection came to.

    Attributes:
        considered: journal entries that the agent saw.
        promoted: the numbers of those that are core memories now.
        replaced: the core memories that they replaced.
        not_replaced: how many were named to be replaced and stay where they are.
        failure: why nothing was promoted, where something went wrong.
    """

    considered: int
    promoted: tuple[int, ...]
    replaced: tuple[int, ...]
    not_replaced: int
    failure: str | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Misfit(Shown):
    """Something that is not as it was written; `seq` is None where it has no record."""

    seq: int | None = None
    problem: str


@dataclass(frozen=True, kw_only=True, repr=False)
class Originals(Shown):
    """Where the originals are, by the log and the stored memories.

    Attributes:
        total: the sum of the other four.
        removed_off: those that sessions under the loss guard `off` discarded or rewrote.
        lost: those that are missing, or not word for word as recorded.
    """

    total: int
    in_prompt: int
    archived: int
    removed_off: int
    lost: int


@dataclass(frozen=True, kw_only=True, repr=False)
class Verified(Shown):
    """The result of verifying an agent's audit; `originals` is None where something is wrong."""

    valid: bool
    records: int
    head: str
    originals: Originals | None = None
    first_bad: Misfit | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Checkpoint(Shown):
    """A signed checkpoint of all audits: keep it, and the key that verifies it, elsewhere."""

    checkpoint: str
    origin: str
    size: int
    public_key: str


@dataclass(frozen=True, kw_only=True, repr=False)
class AccessRequest(Shown):
    """An access request to an agent, and its outcome.

    Attributes:
        kind: `read`, to look for a while; `token`, to make one more token; `shred`, to have a
            memory shredded; `embeddings`, to send words to a server of embeddings.
        scope: what may be seen: `core`, `all` or `session`; None where it is not to look.
        minutes: for how long from the answer on; None where it is not to look.
        memory: the memory to be shredded.
        derived: whether the summaries and reports that rest on it go, too.
        purpose: why, in the requester's words.
        state: `asked`, `granted`, `refused`, `revoked` or `expired`; `done` where the token was
            made or the memory shredded.
        expires_at: until when it waits for its answer; once granted, until when it can be used.
        reason: the agent's words about it: for the agent, and for the requester.
        reads, memories_read, tokens_read: what was seen under it.
        summaries: summaries that were written over what was shredded; only in the response to the
            agent's consent.
        transcript: conversations whose words are stored, and that may hold it; likewise.
    """

    id: str
    agent: str
    kind: str
    scope: str | None = None
    session_id: str | None = None
    minutes: int | None = None
    memory: int | None = None
    derived: bool = False
    token_expires_at: datetime | None = None
    purpose: str = private()
    asked_by: Actor
    state: str
    requested_at: datetime
    expires_at: datetime
    answered_at: datetime | None = None
    reason: str | None = private(default=None)
    ended_at: datetime | None = None
    reads: int
    memories_read: int
    tokens_read: int
    summaries: tuple[int, ...] | None = None
    transcript: StoredTranscript | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class MadeToken(Shown):
    """A token that was made: the only time that its secret is there to be read."""

    id: str
    token: str = private()
    expires_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class SignedIn(Shown):
    """A token of an administrator who signed in."""

    token: str = private()
    expires_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Rewound(Shown):
    """What a rewind did; `seq` is its record, None where nothing had to change."""

    to: datetime
    to_seq: int
    seq: int | None = None
    changed: int
    returning: int
    discarded: int
    reworded: int
    archived: int
    promoted: int
    core_tokens_before: int
    core_tokens_after: int


@dataclass(frozen=True, kw_only=True, repr=False)
class Obstacle(Shown):
    """A later change that conflicts with an undo."""

    seq: int
    recorded_at: datetime
    action: str
    session_id: str | None = None
    memories: tuple[int, ...] = ()


T = TypeVar("T", bound=Shown)


def read(kind: type[T], wire: Mapping[str, Any]) -> T:
    """What the service sent, as `kind`; fields that `kind` does not have are passed over."""
    hints = _hints(cast(Any, kind))
    return kind(**{name: _value(hints[name], of) for name, of in wire.items() if name in hints})


def read_all(kind: type[T], wire: Iterable[Mapping[str, Any]]) -> list[T]:
    """Several of them."""
    return [read(kind, each) for each in wire]


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _value(hint: Any, wire: Any) -> Any:
    if wire is None:
        return None
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        # `X | None`, or plain values only.
        inner = [each for each in arguments if each is not type(None)]
        return _value(inner[0], wire) if len(inner) == 1 else wire
    if origin is tuple:
        return tuple(_value(arguments[0], each) for each in wire)
    if hint is datetime:
        return _time(wire)
    if isinstance(hint, type) and issubclass(hint, Shown):
        return read(hint, wire)
    return wire


_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6})\d*)?Z")


def _time(text: str) -> datetime:
    """A time of the wire. Python before 3.11 reads neither `Z` nor every length of fraction."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError("a time of the service's is not in RFC 3339 UTC")
    seconds, fraction = match.groups()
    time = datetime.fromisoformat(seconds).replace(tzinfo=timezone.utc)
    return time.replace(microsecond=int((fraction or "").ljust(6, "0")))
