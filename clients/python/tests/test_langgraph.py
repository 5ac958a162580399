"""LangGraph and LangMem with their own packages, and a script in the place of the model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langgraph.prebuilt import create_react_agent
from langgraph.store.base import GetOp, PutOp
from langmem import (  # type: ignore[import-untyped]
    create_manage_memory_tool,
    create_search_memory_tool,
)
from memoir_client import Administrator, AgentMemory, Refused, ToolCall
from memoir_client.langgraph import MemoirStore, memoir_prompt

AT = ("memories", "marta")


class Scripted(GenericFakeChatModel):
    """A model with scripted answers, which keeps what it was sent."""

    sent: list[list[BaseMessage]] = []

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> BaseChatModel:
        return self

    def _generate(self, messages: list[BaseMessage], *rest: Any, **named: Any) -> Any:
        self.sent.append(messages)
        return super()._generate(messages, *rest, **named)


def scripted(*messages: AIMessage) -> Scripted:
    return Scripted(messages=iter(messages), sent=[])


def calls(tool: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": tool, "args": arguments, "id": "1"}])


def run(graph: Any, question: str) -> list[BaseMessage]:
    done: list[BaseMessage] = graph.invoke({"messages": [("user", question)]})["messages"]
    return done


def test_the_memory_is_in_the_first_request(memory: AgentMemory) -> None:
    memory.remember("Marta prefers linen thread.")
    model = scripted(AIMessage("Linen."))
    run(create_react_agent(model, [], prompt=memoir_prompt(memory, "You are Wren.")), "Which?")
    system = model.sent[0][0]
    assert isinstance(system, SystemMessage)
    assert str(system.content).startswith("You are Wren.\n\n# Your memory")
    assert "Marta prefers linen thread." in str(system.content)


def test_langmem_saves_finds_and_updates(memory: AgentMemory) -> None:
    store = MemoirStore(memory)
    tools = [create_manage_memory_tool(AT, store=store), create_search_memory_tool(AT, store=store)]
    model = scripted(
        calls("manage_memory", content="Marta prefers linen thread.", action="create"),
        AIMessage("I will."),
    )
    run(create_react_agent(model, tools), "Marta prefers linen thread.")
    (item,) = store.search(AT)
    assert item.value == {"content": "Marta prefers linen thread."}
    assert "Marta prefers linen thread." in memory.context().text

    changed = "Since May, Marta prefers silk thread."
    model = scripted(
        calls("manage_memory", content=changed, action="update", id=item.key),
        calls("search_memory", query="silk thread"),
        AIMessage("Silk."),
    )
    done = run(create_react_agent(model, tools), "Silk, since May.")
    assert changed in str(done[-2].content)
    newest = store.get(AT, item.key)
    assert newest is not None and newest.value == {"content": changed}
    assert len(store.search(AT)) == 1
    # What was there is not lost.
    (old,) = memory.memories(kind="archival")
    assert old.content == "Marta prefers linen thread."


def test_langmems_delete_ends_no_run_and_deletes_no_memory(memory: AgentMemory) -> None:
    store = MemoirStore(memory)
    key = "0b6f1d1e-0000-4000-8000-000000000000"
    store.put(AT, key, {"content": "Ilse binds."})
    store.put(AT, "other", {"content": "Marta sews."})
    tools = [create_manage_memory_tool(AT, store=store), create_search_memory_tool(AT, store=store)]
    model = scripted(
        calls("manage_memory", action="delete", id=key),
        calls("search_memory", query="who binds?"),
        AIMessage("Done."),
    )
    done = run(create_react_agent(model, tools), "Forget Ilse.")
    assert done[-1].content == "Done."
    assert "Ilse" not in str(done[-2].content)
    assert store.get(AT, key) is None
    assert [each.key for each in store.search(AT)] == ["other"]
    # Nothing is lost: it stays with the agent.
    assert "Ilse binds." in memory.context().text
    assert len(list(memory.memories(kind="core"))) == 2
    # Again, and of a key that was never there: nothing more is saved.
    count = len(list(memory.memories()))
    store.delete(AT, key)
    store.delete(AT, "never")
    assert len(list(memory.memories())) == count
    store.put(AT, key, {"content": "Ilse binds books."})
    item = store.get(AT, key)
    assert item is not None and item.value == {"content": "Ilse binds books."}


def test_langmems_wrapper_is_no_part_of_a_memory(memory: AgentMemory) -> None:
    store = MemoirStore(memory)
    wrapped = {"kind": "Memory", "content": {"content": "Marta prefers linen thread."}}
    store.put(AT, "one", wrapped)
    assert [each.content for each in memory.memories()] == ["Marta prefers linen thread."]
    item = store.get(AT, "one")
    assert item is not None and item.value == wrapped
    store.put(AT, "one", wrapped)
    assert len(list(memory.memories())) == 1
    (found,) = store.search(AT, query="linen thread", filter={"kind": "Memory"})
    assert found.value == wrapped
    # What is not of that form is kept as it is.
    others: list[dict[str, Any]] = [
        {"kind": "A kind of a longer name", "content": {"content": "Text."}},
        {"kind": "Memory", "content": {"content": "{}"}},
        {"kind": "Memory", "content": {"content": "Text.", "more": 1}},
        {"kind": "-", "content": {"content": "Text."}},
    ]
    for number, value in enumerate(others):
        store.put(AT, f"odd {number}", value)
        item = store.get(AT, f"odd {number}")
        assert item is not None and item.value == value


def test_a_batch_is_put_whole_or_not_at_all(memory: AgentMemory) -> None:
    store = MemoirStore(memory)
    puts = [PutOp(AT, "one", {"content": "One."}), PutOp(AT, "k" * 200, {"content": "Two."})]
    with pytest.raises(Refused):
        store.batch(puts)
    assert store.get(AT, "one") is None
    answers = asyncio.run(store.abatch([puts[0], puts[0], GetOp(AT, "one")]))
    assert answers == [None, None, None]
    store.batch([puts[0]])
    assert [each.content for each in memory.memories()] == ["One."]


def test_values_namespaces_and_filters_are_kept(memory: AgentMemory) -> None:
    store = MemoirStore(memory)
    values: list[dict[str, Any]] = [
        {"content": "Plain."},
        {"content": '{"quoted": 1}'},
        {"content": " spaced "},
        {"content": {"name": "Marta", "age": 61}, "kind": "Profile"},
        {"count": 3, "names": ["Ä", "ß"]},
    ]
    for number, value in enumerate(values):
        store.put(("a", str(number % 2)), f"key/{number}", value)
    for number, value in enumerate(values):
        item = store.get(("a", str(number % 2)), f"key/{number}")
        assert item is not None and item.value == value
    assert [each.key for each in store.search(("a", "1"))] == ["key/3", "key/1"]
    assert [each.key for each in store.search(("a",), limit=2, offset=1)] == ["key/3", "key/2"]
    assert [each.key for each in store.search(("a",), filter={"count": {"$gt": 2}})] == ["key/4"]
    assert [each.key for each in store.search((), filter={"kind": "Profile"})] == ["key/3"]
    assert store.list_namespaces() == [("a", "0"), ("a", "1")]
    assert store.list_namespaces(suffix=("1",)) == [("a", "1")]
    assert store.list_namespaces(max_depth=1) == [("a",)]
    with pytest.raises(Refused, match=r"\$in is no operator"):
        store.search(("a",), filter={"count": {"$in": [3]}})
    with pytest.raises(Refused, match="190 fit"):
        store.put(("a",), "k" * 200, {"content": "Too long a name."})
    # What others saved is not the store's.
    memory.remember("Of no key.")
    assert len(store.search(())) == len(values)


def test_what_a_session_archived_is_still_the_value_of_its_key(
    memory: AgentMemory, administrator: Administrator
) -> None:
    store = MemoirStore(memory)
    store.put(AT, "one", {"content": "Marta prefers linen thread."})
    store.put(AT, "two", {"content": "Marta prefers linen thread. She is fond of tea."})
    both = "Marta prefers linen thread. She is fond of tea."
    administrator.update_agent(memory.agent, loss_guard="archive")
    # Core size, for the breaker.
    memory.remember_all([f"Customer {number} ordered blue notebooks." for number in range(8)])

    def step(turn: Any) -> Any:
        if turn.number == 1:
            return [ToolCall("consolidate_memories", json.dumps({"ids": [1, 2], "content": both}))]
        return "One line was there twice."

    session = memory.refine(step)
    assert (session.state, session.edits) == ("completed", 1)
    assert memory.memory(1).under == 2
    for key, value in (("one", "Marta prefers linen thread."), ("two", both)):
        item = store.get(AT, key)
        assert item is not None and item.value == {"content": value}
