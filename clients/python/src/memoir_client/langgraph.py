"""Memoir for LangGraph: a store, on which LangMem runs too, and a prompt with the memory in it.

store = MemoirStore(memory)
graph = create_react_agent(model, tools, store=store, prompt=memoir_prompt(memory, "You are…"))
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from langchain_core.messages import AnyMessage, SystemMessage
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    validate_op_namespace,
)

from ._named import Named, after
from .agent import AgentMemory
from .errors import Refused
from .models import Memory

# The most that one request finds.
_MOST = 200

# The mark of a key that was deleted. No kind has it: kinds are names of classes.
_GONE = "-"
_GONE_TEXT = (
    "A program deleted a key of its store here. What was saved under it stays in this memory."
)
# What can be a mark.
_KIND = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,14}").fullmatch


def memoir_prompt(
    memory: AgentMemory, instructions: str = "", *, max_tokens: int | None = None
) -> Callable[[Mapping[str, Any]], list[AnyMessage]]:
    """A `prompt` for `create_react_agent`: the memory is read anew for each call of the model."""

    def prompt(state: Mapping[str, Any]) -> list[AnyMessage]:
        text = after(instructions, memory.context(max_tokens=max_tokens).text)
        before: list[AnyMessage] = [SystemMessage(text)] if text else []
        return [*before, *state["messages"]]

    return prompt


class MemoirStore(BaseStore):
    """The memory of one agent as a store: each value becomes a core memory.

    A value `{"content": text}` is stored as the text, and so is LangMem's own
    `{"kind": name, "content": {"content": text}}`; any other is stored as JSON. Putting another
    value under a key replaces what was there: the store returns the newest, and the older one moves
    to the agent's archive, or stays in its prompt where it cannot be replaced. A search with query
    ranks by words, among the 200 that match best; one without it reads all memories.

    Deleting a key deletes no memory: the store has the key no longer, a line in the agent's archive
    says so, and what was saved stays with the agent until a refinement session of its own.

    Raises:
        Refused: for names over 190 characters.
    """

    __slots__ = ("_named",)

    def __init__(self, memory: AgentMemory) -> None:
        self._named = Named(memory, "langgraph")

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carries operations out: what reads first, then what is put, all or nothing of it."""
        wanted = list(ops)
        puts: dict[str, PutOp] = {}
        for op in wanted:
            validate_op_namespace(op)
            if isinstance(op, PutOp):
                puts[_name(op.namespace, op.key)] = op
        answers = [None if isinstance(op, PutOp) else self._read(op) for op in wanted]
        new = []
        for name, op in puts.items():
            kept = self._named.under(name)
            held = self._value(name, kept[-1]) if kept else None
            if held == (None if op.value is None else dict(op.value)):
                continue
            if op.value is None:
                new.append(self._named.new(name, _GONE_TEXT, mark=_GONE, kind="archival"))
                continue
            replaces = tuple(each.number for each in kept if each.kind == "core")
            content, mark = _content(op.value)
            new.append(self._named.new(name, content, replaces, mark=mark))
        if new:
            self._named.memory.remember_all(new)
        return answers

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch`, waited for on a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            name = _name(op.namespace, op.key)
            kept = self._named.under(name)
            value = self._value(name, kept[-1]) if kept else None
            return None if value is None else _item(op.namespace, op.key, kept, value)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        raise Refused(f"{type(op).__name__} is no operation that this store knows")

    def _search(self, op: SearchOp) -> list[SearchItem]:
        held = self._by_name()
        if op.query is None:
            order: list[tuple[str, float | None]] = [
                (name, None) for name in sorted(held, key=lambda name: -held[name][-1].number)
            ]
        else:
            # Scores fall with the rank; what an older value of a name matched does not count.
            found = self._named.memory.recall(op.query, limit=_MOST)
            order = [
                (name, 1.0 / rank)
                for rank, each in enumerate(found, 1)
                for name in self._named.names(each)
                if name in held and held[name][-1].number == each.number
            ]
        items = []
        for name, score in order:
            namespace, key = _address(name)
            if namespace[: len(op.namespace_prefix)] != op.namespace_prefix:
                continue
            item = _item(namespace, key, held[name], self._value(name, held[name][-1]) or {})
            if all(_fits(item.value.get(of), like) for of, like in (op.filter or {}).items()):
                items.append(SearchItem(**_fields(item), score=score))
        return items[op.offset : op.offset + op.limit]

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        namespaces = {_address(name)[0] for name in self._by_name()}
        matching = [
            each
            for each in namespaces
            if all(_matches(each, condition) for condition in op.match_conditions or ())
        ]
        cut = sorted({each[: op.max_depth] for each in matching})
        return cut[op.offset : op.offset + op.limit]

    def _by_name(self) -> dict[str, list[Memory]]:
        held: dict[str, list[Memory]] = {}
        for name, memory in self._named.all():
            held.setdefault(name, []).append(memory)
        return {name: kept for name, kept in held.items() if not self._is_gone(name, kept[-1])}

    def _is_gone(self, name: str, newest: Memory) -> bool:
        return self._named.mark(name, newest) == _GONE

    def _value(self, name: str, newest: Memory) -> dict[str, Any] | None:
        """The value of a key; none where the key was deleted."""
        if self._is_gone(name, newest):
            return None
        value = _value(newest)
        kind = self._named.mark(name, newest)
        return {"kind": kind, "content": value} if kind else value


def _name(namespace: tuple[str, ...], key: str) -> str:
    return json.dumps([*namespace, key], ensure_ascii=False, separators=(",", ":"))


def _address(name: str) -> tuple[tuple[str, ...], str]:
    *namespace, key = json.loads(name)
    return tuple(namespace), key


def _content(value: Mapping[str, Any]) -> tuple[str, str]:
    """The text of a memory for a value, and the kind that LangMem gave it, as its mark."""
    text = _plain(value)
    if text is not None:
        return text, ""
    kind, inner = value.get("kind"), value.get("content")
    if len(value) == 2 and isinstance(inner, Mapping) and isinstance(kind, str) and _KIND(kind):
        text = _plain(inner)
        if text is not None:
            return text, kind
    return json.dumps(value, ensure_ascii=False), ""


def _plain(value: Mapping[str, Any]) -> str | None:
    """The text of a value that has nothing else and would be read back as it is."""
    text = value.get("content")
    if len(value) == 1 and isinstance(text, str) and text == text.strip() and _is_plain(text):
        return text
    return None


def _is_plain(text: str) -> bool:
    """Whether a text would not be read back as another value."""
    return bool(text) and not text.startswith("{")


def _value(memory: Memory) -> dict[str, Any]:
    content = memory.content or ""
    if content.startswith("{"):
        try:
            read = json.loads(content)
        except ValueError:
            read = None
        if isinstance(read, dict):
            return read
    return {"content": content}


def _item(namespace: tuple[str, ...], key: str, kept: list[Memory], value: dict[str, Any]) -> Item:
    newest = kept[-1]
    return Item(
        value=value,
        key=key,
        namespace=namespace,
        created_at=kept[0].created_at,
        updated_at=newest.updated_at,
    )


def _fields(item: Item) -> dict[str, Any]:
    return {of: getattr(item, of) for of in Item.__slots__}


def _matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if len(path) > len(namespace):
        return False
    at = 0 if condition.match_type == "prefix" else len(namespace) - len(path)
    part = namespace[at : at + len(path)]
    return all(like in ("*", label) for label, like in zip(part, path, strict=True))


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda value, like: bool(value == like),
    "$ne": lambda value, like: bool(value != like),
    "$gt": lambda value, like: float(value) > float(like),
    "$gte": lambda value, like: float(value) >= float(like),
    "$lt": lambda value, like: float(value) < float(like),
    "$lte": lambda value, like: float(value) <= float(like),
}


def _fits(value: Any, like: Any) -> bool:
    if not isinstance(like, dict):
        return bool(value == like)
    if not any(of.startswith("$") for of in like):
        return isinstance(value, dict) and all(
            _fits(value.get(of), each) for of, each in like.items()
        )
    unknown = [of for of in like if of not in _OPERATORS]
    if unknown:
        known = ", ".join(_OPERATORS)
        raise Refused(f"{unknown[0]} is no operator of a filter; there are {known}")
    return value is not None and all(_OPERATORS[of](value, each) for of, each in like.items())
