"""The agents of an account, for an administrator.

An administrator reads numbers, dates and codes, and text only while an agent allows it.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from ._base import Base, listed, moment, of, recorded
from ._transport import Transport
from .models import (
    AccessRequest,
    Agent,
    Checkpoint,
    ErasedAgent,
    HandedOver,
    Kind,
    MadeToken,
    Memory,
    Message,
    Mode,
    Record,
    Reflection,
    Rewound,
    SavedMemory,
    Session,
    SignedIn,
    Transcripts,
    Verified,
    read,
)


class Administrator(Base):
    """An account's administrator.

    Agents are named by their name or identifier. The arguments are those of `AgentMemory`.

    Attributes:
        signed_in_until: when the token of `sign_in` ends; None for one that was given.
    """

    signed_in_until: datetime | None = None

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 30.0,
        attempts: int = 4,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(url, token, timeout=timeout, attempts=attempts, ssl_context=ssl_context)

    def __repr__(self) -> str:
        return f"Administrator({self._transport!r})"

    @classmethod
    def sign_in(
        cls,
        url: str | None = None,
        *,
        name: str,
        password: str,
        account: str | None = None,
        timeout: float = 30.0,
        attempts: int = 4,
        ssl_context: ssl.SSLContext | None = None,
    ) -> Administrator:
        """Signs in with a name and a password, for twelve hours.

        Args:
            account: the administrator's account; `default` where it is left out.

        Raises:
            ValueError: the password would travel over a network in the open.
            Problem: with the code `unauthorized` where name and password do not fit.
        """
        transport = Transport(
            url, None, timeout=timeout, attempts=attempts, ssl_context=ssl_context
        )
        if not transport.is_private:
            raise ValueError("a password goes over https only, or to this machine")
        body = {"name": name, "password": password, "account": account}
        try:
            made = read(SignedIn, transport.send("POST", "/v1/sign-in", body=body))
        finally:
            transport.close()
        client = cls(url, made.token, timeout=timeout, attempts=attempts, ssl_context=ssl_context)
        client.signed_in_until = made.expires_at
        return client

    def create_agent(self, name: str, **settings: Any) -> Agent:
        """Makes an agent; settings are those of `Agent`, such as `model` and `system_prompt`."""
        return self._post(Agent, "/v1/agents", {"name": name, **settings})

    def agents(self, *, page_size: int = 100) -> Iterator[Agent]:
        """Every agent of the account, without prompts."""
        return self._pages(Agent, "/v1/agents", {}, page_size)

    def agent(self, agent: str) -> Agent:
        """One agent, without the prompts that it has set itself."""
        return self._get(Agent, of(agent))

    def update_agent(self, agent: str, **settings: Any) -> Agent:
        """Changes settings; None returns one to its default."""
        return read(Agent, self._transport.send("PATCH", of(agent), body=settings))

    def erase_agent(self, agent: str) -> ErasedAgent:
        """Destroys the agent's key: nothing of it can ever be read again."""
        return read(ErasedAgent, self._transport.send("DELETE", of(agent)))

    def create_token(self, agent: str, *, expires_at: datetime | str | None = None) -> MadeToken:
        """Makes an agent's first token, while it is not in use; later ones, where it lets you."""
        return self._post(MadeToken, f"{of(agent)}/tokens", {"expires_at": moment(expires_at)})

    def remember(
        self,
        agent: str,
        content: str,
        *,
        kind: Kind = "core",
        tags: Iterable[str] = (),
        source: str | None = None,
        origin: str | None = None,
        created_at: datetime | str | None = None,
        replaces: Iterable[int] = (),
        constitutional: bool = False,
        idempotency_key: str | None = None,
    ) -> SavedMemory:
        """Saves a memory for an agent; no session deletes, merges or archives a constitutional one.

        It replaces only memories that administrators saved, too.
        """
        fields = {
            "content": content,
            "kind": kind,
            "tags": list(tags),
            "source": source,
            "origin": origin,
            "created_at": moment(created_at),
            "replaces": [int(number) for number in replaces] or None,
            "constitutional": constitutional,
        }
        body = {name: value for name, value in fields.items() if value is not None}
        return self._post(SavedMemory, f"{of(agent)}/memories", body, idempotency_key)

    def memories(
        self,
        agent: str,
        *,
        kind: Kind | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        protected: bool | None = None,
        faded: bool | None = None,
        under: int | None = None,
        include_discarded: bool = False,
        page_size: int = 100,
    ) -> Iterator[Memory]:
        """An agent's memories, without their text but under an access grant."""
        wanted = {
            "kind": kind,
            "since": moment(since),
            "until": moment(until),
            **listed(protected, faded, under, include_discarded),
        }
        return self._memories(agent, wanted, page_size=page_size)

    def protect(self, agent: str, number: int) -> Memory:
        """Makes a memory constitutional."""
        return self._protection("PUT", agent, number)

    def unprotect(self, agent: str, number: int) -> Memory:
        """Lifts that again."""
        return self._protection("DELETE", agent, number)

    def promote(self, agent: str, number: int) -> Memory:
        """Moves an archival memory back into the prompt."""
        return self._promote(agent, number)

    def restore(self, agent: str, number: int) -> Memory:
        """Restores one discarded memory to where it was; not a summary."""
        return self._post(Memory, f"{of(agent)}/memories/{int(number)}/restore")

    def discard(self, agent: str, number: int) -> Memory:
        """Discards one memory; it can be restored. What it replaced stays in the archive."""
        return self._post(Memory, f"{of(agent)}/memories/{int(number)}/discard")

    def sessions(self, agent: str, *, page_size: int = 100) -> Iterator[Session]:
        """An agent's sessions, newest first."""
        return self._pages(Session, f"{of(agent)}/sessions", {}, page_size)

    def queue_session(
        self,
        agent: str,
        *,
        mode: Mode = "full",
        rehearsal: bool = False,
        model: str | None = None,
    ) -> Session:
        """Has Memoir ask the agent's model and drive a session; it is queued."""
        body = {"driver": "model", "mode": mode, "rehearsal": rehearsal, "model": model}
        return self._post(Session, f"{of(agent)}/sessions", body)

    def request_access(
        self, agent: str, *, purpose: str, scope: str, minutes: int
    ) -> AccessRequest:
        """Sends an agent an access request, which its model or its own client answers.

        Args:
            purpose: why, for the agent to judge.
            scope: `core`, `all`, or `session:` and the identifier of a session.
            minutes: for how long from its answer on, 1 to 60.
        """
        body = {"kind": "read", "purpose": purpose, "scope": scope, "minutes": minutes}
        return self._post(AccessRequest, f"{of(agent)}/access-requests", body)

    def request_token(
        self, agent: str, *, purpose: str, expires_at: datetime | str | None = None
    ) -> AccessRequest:
        """Asks an agent for one more token of it; once granted, `create_token` makes it."""
        body = {"kind": "token", "purpose": purpose, "expires_at": moment(expires_at)}
        return self._post(AccessRequest, f"{of(agent)}/access-requests", body)

    def request_embeddings(self, agent: str, *, purpose: str) -> AccessRequest:
        """Asks an agent whether its words may go to the server of embeddings that is configured."""
        body = {"kind": "embeddings", "purpose": purpose}
        return self._post(AccessRequest, f"{of(agent)}/access-requests", body)

    def access_requests(self, agent: str, *, page_size: int = 100) -> Iterator[AccessRequest]:
        """The requests to an agent, newest first."""
        return self._pages(AccessRequest, f"{of(agent)}/access-requests", {}, page_size)

    def request_shredding(
        self, agent: str, number: int, *, reason: str, derived: bool = False
    ) -> AccessRequest:
        """Asks an agent to have one memory shredded; with its consent that is done immediately.

        With `derived`, also its copies, and the summaries and session reports that rest on it.
        """
        path = f"{of(agent)}/memories/{int(number)}/shred"
        return self._post(AccessRequest, path, {"reason": reason, "derived": derived})

    def hand_over(
        self,
        agent: str,
        messages: Iterable[Message],
        *,
        now: bool = False,
        idempotency_key: str | None = None,
    ) -> HandedOver:
        """Hands a conversation over, up to 10,000 messages; see `AgentMemory.hand_over`."""
        return self._hand_over(agent, messages, now, idempotency_key)

    def transcripts(self, agent: str) -> Transcripts:
        """The state of the conversations that were handed over."""
        return self._transcripts(agent)

    def reflect(self, agent: str) -> Reflection:
        """Lets the agent's model read its last week's journal, and name what becomes core."""
        return self._reflect(agent)

    def rewind(self, agent: str, to: datetime | str) -> Rewound:
        """Returns all of an agent's memories to that moment."""
        return self._post(Rewound, f"{of(agent)}/rewind", {"to": moment(to)})

    def audit(
        self,
        agent: str,
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
        """The records of what was changed, by whom, oldest first, without words."""
        wanted = recorded(session_id, action, actor, actor_name, memory, since, until)
        return self._audit(agent, wanted, page_size=page_size)

    def account_audit(
        self,
        *,
        action: str | None = None,
        actor: str | None = None,
        actor_name: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        page_size: int = 100,
    ) -> Iterator[Record]:
        """The records of the account itself: its users and their tokens, oldest first."""
        wanted = recorded(None, action, actor, actor_name, None, since, until)
        return self._pages(Record, "/v1/audit", wanted, page_size)

    def verify(self, agent: str) -> Verified:
        """Recomputes an agent's audit and compares it with what is stored."""
        return self._verify(agent)

    def checkpoint(self) -> Checkpoint:
        """Signs what all audits come to now; keep it elsewhere."""
        return self._get(Checkpoint, "/v1/audit/checkpoint")

    def _protection(self, method: str, agent: str, number: int) -> Memory:
        path = f"{of(agent)}/memories/{int(number)}/protection"
        return read(Memory, self._transport.send(method, path))
