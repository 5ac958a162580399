"""Sessions that are watched, and streams that break off."""

from __future__ import annotations

import asyncio
import threading

import memoir_client.live
import pytest
from faulty import Faulty
from memoir_client import (
    Administrator,
    AgentMemory,
    AsyncAgentMemory,
    ConnectionFailed,
    LiveEvent,
    Problem,
    Turn,
)
from memoir_client.refine import Reply, ToolCall
from memoir_service import Service


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memoir_client.live, "_WAIT", 0.01)
    monkeypatch.setattr(memoir_client.live, "_LONGEST_WAIT", 0.01)


def fill(memory: AgentMemory) -> None:
    memory.remember_all([f"Customer {number} ordered blue notebooks." for number in range(1, 9)])


def one_edit(turn: Turn) -> Reply:
    return [ToolCall("delete_memory", {"id": 1})] if turn.number == 1 else "One canary less."


def test_a_session_is_watched_to_its_end(memory: AgentMemory) -> None:
    lines = "Customer 1:\u2028a canary,\n\nevent: ended"
    memory.remember(lines)
    fill(memory)
    opened = memory.open_session()
    seen: list[LiveEvent] = []
    standing = threading.Event()

    def follow() -> None:
        for event in memory.watch(opened.id):
            seen.append(event)
            standing.set()

    watching = threading.Thread(target=follow)
    watching.start()
    assert standing.wait(60)
    assert seen[0].type in ("record", "session")
    assert memory.refine(one_edit).id == opened.id
    watching.join(60)
    assert not watching.is_alive()

    assert [event.type for event in seen].count("ended") == 1
    last = seen[-1].session
    assert last is not None and (last.state, last.edits, last.edits_left) == ("completed", 1, 9)
    assert last.core_tokens is not None and last.breaker_tokens is not None
    assert last.breaker_tokens <= last.core_tokens
    records = [event.record for event in seen if event.record is not None]
    assert [record.seq for record in records] == sorted({record.seq for record in records})
    (edit,) = [of for of in records if of.action == "memory_refinement_delete"]
    assert (edit.memory, edit.core_tokens) == (1, last.core_tokens)
    assert edit.before is not None and edit.before["content"] == lines
    assert "Customer" not in repr(seen) and "canary" not in repr(seen)
    assert last.summary == "One canary less."


def test_an_administrator_watches_without_words(
    memory: AgentMemory, administrator: Administrator
) -> None:
    fill(memory)
    session = memory.refine(one_edit)
    seen = list(administrator.watch(session.id))
    last = seen[-1].session
    assert last is not None and (last.state, last.summary) == ("completed", None)
    assert [event.record.before for event in seen if event.record] == [None] * (len(seen) - 1)


def test_a_stream_that_breaks_off_goes_on_where_it_was(
    service: Service, memory: AgentMemory
) -> None:
    fill(memory)
    session = memory.refine(one_edit)
    whole = list(memory.watch(session.id))
    assert len(whole) == 3
    token = memory.create_token().token
    # The first part of a stream says when to come back, and is no event.
    with Faulty(service.url, ["page", "cut 2", "drop", "busy 0", "cut 2", "drop"]) as proxy:
        through = AgentMemory(proxy.url, memory.agent, token)
        assert list(through.watch(session.id)) == whole
        first, second = whole[0].id, whole[1].id
        assert proxy.last_ids == [None, None, first, first, first, second, second]
    later = list(memory.watch(session.id, last_event_id=whole[1].id))
    assert later == whole[2:]
    assert list(memory.watch(session.id, last_event_id=whole[-1].id)) == []


def test_attempts_that_bring_nothing_come_to_an_end(service: Service, memory: AgentMemory) -> None:
    fill(memory)
    session = memory.refine(lambda turn: "Nothing to do.")
    token = memory.create_token().token
    with Faulty(service.url, ["cut 1"] * 9) as proxy:
        with pytest.raises(ConnectionFailed, match="after 3 attempts"):
            list(AgentMemory(proxy.url, memory.agent, token, attempts=3).watch(session.id))
        assert len(proxy.last_ids) == 3
    with pytest.raises(Problem) as refused:
        list(memory.watch("01a02b3c-0000-7000-8000-000000000000"))
    assert refused.value.status == 404
    with pytest.raises(Problem) as refused:
        list(memory.watch(session.id, last_event_id="none of these"))
    assert refused.value.status == 400


def test_a_watch_is_closed_from_another_thread(memory: AgentMemory) -> None:
    fill(memory)
    opened = memory.open_session()
    watch = memory.watch(opened.id)
    started = threading.Event()

    def follow() -> None:
        for _ in watch:
            started.set()

    watching = threading.Thread(target=follow)
    watching.start()
    assert started.wait(60)
    watch.close()
    watching.join(60)
    assert not watching.is_alive()
    assert list(watch) == []
    memory.cancel(opened.id)


def test_asyncio_watches_and_a_cancelled_task_ends_at_once(memory: AgentMemory) -> None:
    fill(memory)

    async def run() -> None:
        token = memory.create_token().token
        url = repr(memory._transport)[1:-1]
        async with AsyncAgentMemory(url, memory.agent, token) as own:
            opened = await own.open_session()
            seen: list[str] = []
            started = asyncio.Event()

            async def follow() -> None:
                async for event in own.watch(opened.id):
                    seen.append(event.type)
                    started.set()

            cancelled, followed = (asyncio.create_task(follow()) for _ in range(2))
            await started.wait()
            cancelled.cancel()
            with pytest.raises(asyncio.CancelledError):
                await cancelled
            await own.call_tool(opened.id, "complete_refinement", {"summary": "Nothing to do."})
            await followed
            assert seen[-1] == "ended"

    asyncio.run(run())
