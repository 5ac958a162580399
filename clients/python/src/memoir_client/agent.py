"""An agent's own memory."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ._base import Base, listed, moment, of, recorded
from ._transport import segment
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
    Shown,
    ShreddedMemory,
    Transcripts,
    Verified,
    private,
    read,
    read_all,
)
from .refine import Step, Turn, advance, turns


@dataclass(frozen=True, kw_only=True, repr=False)
class NewMemory(Shown):
    """A memory to save.

    Attributes:
        content: 1 to 10,000 characters.
        kind: `core` stays in the prompt; `journal` expires from it a week after `created_at`;
            `archival` is never in it, and is found by recall.
        tags: up to 16, each up to 50 characters.
        source: where it came from, up to 200 characters.
        origin: `external` for what quotes a page, a file, a tool's output or another person.
        created_at: the time that its content dates from; now where it is left out.
        replaces: core memories that it replaces, itself core. They become archival under it.
    """

    content: str = private()
    kind: Kind = "core"
    tags: tuple[str, ...] = private(default=())
    source: str | None = private(default=None)
    origin: str | None = None
    created_at: datetime | str | None = None
    replaces: tuple[int, ...] = ()

    def wire(self) -> dict[str, Any]:
        """As the service takes it."""
        fields = {
            "content": self.content,
            "kind": self.kind,
            "tags": list(self.tags),
            "source": self.source,
            "origin": self.origin,
            "created_at": moment(self.created_at),
            "replaces": [int(number) for number in self.replaces] or None,
        }
        return {name: value for name, value in fields.items() if value is not None}


class AgentMemory(Base):
    """The memory of one agent, with that agent's token.

    Args:
        url: the service; `MEMOIR_URL`, else `http://127.0.0.1:8750`, where it is left out.
        agent: the agent's name or identifier; `MEMOIR_AGENT` where it is left out.
        token: the agent's token; `MEMOIR_TOKEN` where it is left out.
        timeout: seconds to wait for the connection, and for each piece of an answer.
        attempts: how often a request is sent at most. What changes something carries an
            idempotency key, so that it is carried out once, however often it is sent.
        ssl_context: for certificates of your own.

    Threads may share one. Every method can raise `Problem` and `ConnectionFailed`.
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
        super().__init__(url, token, timeout=timeout, attempts=attempts, ssl_context=ssl_context)
        name = agent or os.environ.get("MEMOIR_AGENT")
        if not name:
            raise ValueError("there is no agent: give its name, or set MEMOIR_AGENT")
        self.agent = name

    def __repr__(self) -> str:
        return f"AgentMemory({self._transport!r}, agent={self.agent!r})"

    def remember(
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
        """Saves one memory, in place of the core memories that it `replaces`.

        What cannot be replaced stays where it is, and `not_replaced` names it with the reason.

        A program that may be killed between the request and its answer gives an `idempotency_key`
        of its own, and the same one when it tries again.
        """
        memory = NewMemory(
            content=content,
            kind=kind,
            tags=tuple(tags),
            source=source,
            origin=origin,
            created_at=created_at,
            replaces=tuple(replaces),
        )
        path = f"{of(self.agent)}/memories"
        return self._post(SavedMemory, path, memory.wire(), idempotency_key)

    def remember_all(
        self, memories: Iterable[NewMemory | str], *, idempotency_key: str | None = None
    ) -> list[SavedMemory]:
        """Saves up to 1,000 memories, all or none."""
        each = (NewMemory(content=of) if isinstance(of, str) else of for of in memories)
        body = {"memories": [memory.wire() for memory in each]}
        path = f"{of(self.agent)}/memories/batch"
        saved = self._transport.send("POST", path, body=body, key=idempotency_key)
        return read_all(SavedMemory, saved["memories"])

    def context(
        self, *, max_tokens: int | None = None, hard: bool = False, explain: bool = False
    ) -> Context:
        """The text for the prompt, after the system prompt; whole entries are left out to fit.

        With `hard`, `max_tokens` is a limit that constitutional memories do not exceed either.
        `explain` adds what each part costs, and what is left out and why.
        """
        asked = {
            "max_tokens": max_tokens,
            "hard": "true" if hard else None,
            "explain": "true" if explain else None,
        }
        return self._get(Context, f"{of(self.agent)}/context", asked)

    def recall(
        self,
        query: str,
        *,
        limit: int = 20,
        kind: Kind | None = None,
        tag: str | None = None,
        origin: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        explain: bool = False,
    ) -> Recalled:
        """The memories that match best: words or a whole question, what must occur in quotes.

        Archival memories are found like others. One that was replaced comes directly after the one
        that replaced it, with `until` and `now`. With `explain` each has a `match`, which reports
        why it was found. The result is a list; its `meaning` reports whether they were searched by
        their meaning too.
        """
        wanted = _filters(query, kind, tag, origin, since, until) | {"limit": limit}
        wanted["explain"] = "true" if explain else None
        page = self._transport.send("GET", f"{of(self.agent)}/memories", query=wanted)
        return Recalled(read_all(Memory, page["items"]), page.get("meaning"))

    def memories(
        self,
        query: str | None = None,
        *,
        kind: Kind | None = None,
        tag: str | None = None,
        origin: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        protected: bool | None = None,
        faded: bool | None = None,
        under: int | None = None,
        include_discarded: bool = False,
        page_size: int = 100,
    ) -> Iterator[Memory]:
        """Every active memory that fits, page after page as they are requested.

        Args:
            protected: constitutional ones only, or others only; not beside a query or a tag.
            faded: journal entries only that have expired from the prompt, or all others; likewise.
            under: the archival memories directly under that one only.
        """
        wanted = _filters(query, kind, tag, origin, since, until)
        wanted |= listed(protected, faded, under, include_discarded)
        return self._memories(self.agent, wanted, page_size=page_size)

    def memory(self, number: int) -> Memory:
        """One memory, also a discarded one."""
        return self._get(Memory, f"{of(self.agent)}/memories/{int(number)}")

    def promote(self, number: int) -> Memory:
        """Moves an archival memory back into the prompt, at any time and without limit.

        Raises:
            Problem: with the code `not_archival` where it is of another kind.
        """
        return self._promote(self.agent, number)

    def hand_over(
        self,
        messages: Iterable[Message],
        *,
        now: bool = False,
        idempotency_key: str | None = None,
    ) -> HandedOver:
        """Hands a conversation over, up to 10,000 messages, for the agent's model to read.

        It is read when nothing was added for six hours, or immediately with `now`. Known messages
        are ignored.
        """
        return self._hand_over(self.agent, messages, now, idempotency_key)

    def transcripts(self) -> Transcripts:
        """The state of the conversations that were handed over."""
        return self._transcripts(self.agent)

    def reflect(self) -> Reflection:
        """Lets the agent's model read its last week's journal, and name what becomes core."""
        return self._reflect(self.agent)

    def about(self) -> Agent:
        """The agent: settings and counts."""
        return self._get(Agent, of(self.agent))

    def setting(self, field: OwnField) -> Setting:
        """One of the agent's own settings."""
        return self._get(Setting, f"{of(self.agent)}/self/{segment(field)}")

    def change_setting(self, field: OwnField, value: str | None) -> Setting:
        """Sets one of the agent's own settings; None returns to the default.

        Raises:
            Problem: with the code `confirmation_required` where a prompt looks like a mistake; the
                same text given again sets it.
        """
        path = f"{of(self.agent)}/self/{segment(field)}"
        return read(Setting, self._transport.send("PUT", path, body={"value": value}))

    def setting_history(self, field: OwnField) -> list[SettingVersion]:
        """The values that one of the agent's own settings had, newest first."""
        path = f"{of(self.agent)}/self/{segment(field)}/history"
        return read_all(SettingVersion, self._transport.send("GET", path)["items"])

    def undo_setting(self, field: OwnField) -> Setting:
        """Gives a setting the value back that it had before its last change."""
        return self._post(Setting, f"{of(self.agent)}/self/{segment(field)}/undo")

    def refine(
        self, step: Step, *, mode: Mode = "full", rehearsal: bool = False, max_turns: int = 40
    ) -> Session:
        """Runs a refinement session with the agent's own model, and gives the session as it ended.

        Each turn calls `step` with a `Turn`. It returns the `ToolCall`s that the model wants; or a
        text, the summary to complete with; or nothing, after which the model is reminded once. The
        calls are carried out by the service; a refusal is an ordinary outcome for the model to
        read. An open session of its own is resumed. A rehearsal runs on a copy: its
        `changes` say what it came to, and `apply` does it.

        The session ends `completed`; `rolled_back` where too much was gone; or `abandoned`, with
        the edits that were made, where the model stopped, `max_turns` were reached, or `step`
        raised, which is then raised here.
        """
        run = turns(self, mode, rehearsal, max_turns)
        try:
            at = advance(run, None)
            while isinstance(at, Turn):
                at = advance(run, step(at))
            return at
        finally:
            run.close()

    def open_session(
        self, *, mode: Mode = "full", rehearsal: bool = False, resume: bool = True
    ) -> OpenSession:
        """Opens a session that the agent drives, or takes its own open one up again."""
        body = {"driver": "agent", "mode": mode, "rehearsal": rehearsal, "resume": resume}
        return self._post(OpenSession, f"{of(self.agent)}/sessions", body)

    def call_tool(self, session_id: str, tool: str, arguments: Any) -> Mapping[str, Any]:
        """Calls a tool of an open session; refusals are results like any other."""
        path = f"/v1/sessions/{segment(session_id)}/tools/{segment(tool)}"
        result: Mapping[str, Any] = self._transport.send("POST", path, body=arguments)
        return result

    def queue_session(
        self, *, mode: Mode = "full", rehearsal: bool = False, model: str | None = None
    ) -> Session:
        """Has Memoir ask the agent's model and drive the session; it is queued."""
        body = {"driver": "model", "mode": mode, "rehearsal": rehearsal, "model": model}
        return self._post(Session, f"{of(self.agent)}/sessions", body)

    def sessions(self, *, page_size: int = 100) -> Iterator[Session]:
        """The agent's sessions, newest first."""
        return self._pages(Session, f"{of(self.agent)}/sessions", {}, page_size)

    def shred(self, number: int, *, reason: str, derived: bool = False) -> ShreddedMemory:
        """Removes the text of one memory from everywhere, permanently.

        With `derived`, also its copies, the summaries that were written over it, and the session
        reports that rest on it.
        """
        path = f"{of(self.agent)}/memories/{int(number)}/shred"
        return self._post(ShreddedMemory, path, {"reason": reason, "derived": derived})

    def audit(
        self,
        *,
        session_id: str | None = None,
        action: str | None = None,
        actor: str | None = None,
        actor_name: str | None = None,
        memory: int | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        page_size: int = 100,
    ) -> Iterator[Record]:
        """The records of what was changed, by whom, oldest first.

        Args:
            action: one, or several with commas between them.
            actor: what kind of actor, such as `agent`; `actor_name` is a part of its name.
        """
        wanted = recorded(session_id, action, actor, actor_name, memory, since, until)
        return self._audit(self.agent, wanted, page_size=page_size)

    def verify(self) -> Verified:
        """Recomputes the audit and compares it with what is stored."""
        return self._verify(self.agent)

    def access_requests(self, *, page_size: int = 100) -> Iterator[AccessRequest]:
        """The access requests to the agent, newest first."""
        return self._pages(AccessRequest, f"{of(self.agent)}/access-requests", {}, page_size)

    def answer_access_request(
        self, request_id: str, *, granted: bool, reason: str | None = None
    ) -> AccessRequest:
        """The agent's own answer to a request; not to answer is no."""
        path = f"/v1/access-requests/{segment(request_id)}/answer"
        return self._post(AccessRequest, path, {"granted": granted, "reason": reason})

    def create_token(self, *, expires_at: datetime | str | None = None) -> MadeToken:
        """Makes another token for this agent."""
        body = {"expires_at": moment(expires_at)}
        return self._post(MadeToken, f"{of(self.agent)}/tokens", body)


def _filters(
    query: str | None,
    kind: Kind | None,
    tag: str | None,
    origin: str | None,
    since: datetime | str | None,
    until: datetime | str | None,
) -> dict[str, Any]:
    return {
        "q": query,
        "kind": kind,
        "tag": tag,
        "origin": origin,
        "since": moment(since),
        "until": moment(until),
    }
