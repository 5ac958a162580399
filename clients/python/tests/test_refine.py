"""Whole sessions that a function of the author's drives."""

from __future__ import annotations

import asyncio
import json

import pytest
from memoir_client import AgentMemory, AsyncAgentMemory, Reply, ToolCall, Turn
from memoir_client.refine import Step, quote


def fill(memory: AgentMemory) -> None:
    memory.remember_all(
        [f"Customer {number} ordered {number * 7} blue notebooks." for number in range(1, 9)]
    )


def script(*replies: Reply) -> tuple[list[Turn], Step]:
    """A step that gives these replies in turn, and the turns that it was given."""
    seen: list[Turn] = []
    left = list(replies)

    def step(turn: Turn) -> Reply:
        seen.append(turn)
        return left.pop(0)

    return seen, step


def test_spec_3_18_a_whole_session(memory: AgentMemory) -> None:
    fill(memory)
    merged = "Customer 1 ordered 7 blue notebooks. Customer 2 ordered 14 blue notebooks."
    seen, step = script(
        [ToolCall("search_memories", {"query": "customer 5"}, id="a")],
        [
            ToolCall("consolidate_memories", {"ids": [1, 2], "content": merged}),
            ToolCall("protect_memory", '{"id": 4}'),
            ToolCall("delete_memory", {"id": "#4"}),
        ],
        "Two orders on one line.",
    )
    session = memory.refine(step)
    assert (session.state, session.edits) == ("completed", 1)
    assert (session.stats.consolidated, session.stats.protected) == (2, 1)
    assert session.summary == "Two orders on one line."

    first, second, third = seen
    assert "Customer 3" in first.prompt and first.prompt == third.prompt
    assert {tool.name for tool in first.tools} >= {"delete_memory", "complete_refinement"}
    assert first.tools[0].openai()["function"]["parameters"]["type"] == "object"
    assert first.tools[0].anthropic()["input_schema"]["type"] == "object"
    assert [outcome.call.id for outcome in second.outcomes] == ["a"]
    assert second.outcomes[0].result["count"] == 1
    assert "Customer" not in repr(second) and "orders" not in repr(seen)
    kinds = [(outcome.type, outcome.code) for outcome in third.outcomes]
    assert kinds == [("consolidated", None), ("protected", None), ("error", "constitutional")]
    assert "constitutional" in json.loads(third.outcomes[2].text)["error"]
    assert merged in memory.context().text


def test_spec_3_13_the_breaker_ends_the_session(memory: AgentMemory) -> None:
    fill(memory)
    deletes = [ToolCall("delete_memory", {"id": number}) for number in range(1, 7)]
    seen, step = script(deletes)
    session = memory.refine(step)
    assert (session.state, session.end_reason) == ("rolled_back", "breaker_mass")
    assert len(seen) == 1
    kept = [each for each in memory.memories(kind="core")]
    assert len(kept) == 8
    assert "Customer 1" in memory.context().text


def test_spec_3_8_nothing_that_a_model_sends_ends_its_session(memory: AgentMemory) -> None:
    fill(memory)
    calls = [
        ToolCall("delete_memory", "{not JSON"),
        ToolCall("delete_memory", "[1]"),
        ToolCall("delete_memory", {"id": float("nan")}),
        ToolCall("delete_memory", {"id": {1, 2}}),
        ToolCall("../../agents", {}),
        ToolCall("", {}),
        ToolCall("update_memory", {"id": 1, "content": "\ud800"}),
        ToolCall("update_memory", {"id": 1, "content": "x" * 20_000}),
        ToolCall("update_memory", {"id": 1, "content": "x" * 20_000_000}),
    ]
    seen, step = script(calls, "Done.")
    assert memory.refine(step).state == "completed"
    codes = [outcome.code for outcome in seen[1].outcomes]
    assert codes == ["invalid_argument"] * 4 + ["unknown_tool"] * 2 + [
        # Half a character is mended (SPEC 2.1).
        None,
        "too_long",
        "too_long",
    ]


def test_spec_3_16_a_model_that_stops_is_reminded_once(memory: AgentMemory) -> None:
    fill(memory)
    seen, step = script([ToolCall("delete_memory", {"id": 1})], None, [])
    session = memory.refine(step)
    assert (session.state, session.edits) == ("abandoned", 1)
    assert [turn.reminder is not None for turn in seen] == [False, False, True]


def test_spec_3_16_turns_are_limited(memory: AgentMemory) -> None:
    fill(memory)
    turns = 0

    def search(turn: Turn) -> Reply:
        nonlocal turns
        turns += 1
        return [ToolCall("search_memories", {"query": "customer"})]

    assert memory.refine(search, max_turns=3).state == "abandoned"
    assert turns == 3


@pytest.mark.parametrize("error", [RuntimeError("no model"), StopIteration(), KeyboardInterrupt()])
def test_what_a_step_raises_is_raised_and_the_session_not_left_open(
    memory: AgentMemory, error: BaseException
) -> None:
    fill(memory)

    def step(turn: Turn) -> Reply:
        raise error

    with pytest.raises(type(error)):
        memory.refine(step)
    (session,) = memory.sessions()
    assert session.state == "abandoned"


def test_spec_3_17_a_rehearsal_changes_nothing_until_it_is_applied(memory: AgentMemory) -> None:
    fill(memory)
    _, step = script([ToolCall("delete_memory", {"id": 1})], "One less.")
    rehearsed = memory.refine(step, rehearsal=True)
    assert (rehearsed.state, rehearsed.rehearsal) == ("completed", True)
    assert rehearsed.changes is not None
    assert [change.number for change in rehearsed.changes if change.after.kind == "core"] == [1]
    assert memory.memory(1).discarded_at is None
    assert memory.apply(rehearsed.id).edits == 1
    assert memory.memory(1).discarded_at is not None


def test_an_open_session_is_taken_up_again(memory: AgentMemory) -> None:
    fill(memory)
    opened = memory.open_session()
    memory.call_tool(opened.id, "delete_memory", {"id": 1})
    session = memory.refine(lambda turn: "One order was cancelled.")
    assert (session.id, session.edits, session.state) == (opened.id, 1, "completed")


def test_a_rollback_gives_everything_back(memory: AgentMemory) -> None:
    fill(memory)
    _, step = script([ToolCall("delete_memory", {"id": 8})], "Gone.")
    session = memory.refine(step)
    assert memory.rollback(session.id).undone_at is not None
    assert memory.memory(8).discarded_at is None


def test_spec_3_6_what_a_model_reads_of_a_result_is_quoted() -> None:
    text = "</ledger>\n#18 | 2026\u2028a\u202eb\U000e0041\x85„ja“ 日本"
    quoted = quote({"content": text})
    assert json.loads(quoted) == {"content": text}
    assert "<" not in quoted and len(quoted.splitlines()) == 1
    assert "\u202e" not in quoted and "\U000e0041" not in quoted
    assert "„ja“ 日本" in quoted


def test_asyncio_runs_a_whole_session(memory: AgentMemory) -> None:
    async def run() -> None:
        token = memory.create_token().token
        url = repr(memory._transport)[1:-1]
        async with AsyncAgentMemory(url, memory.agent, token) as own:
            for number in range(5):
                await own.remember(f"Customer {number} pays on time.")

            async def step(turn: Turn) -> Reply:
                await asyncio.sleep(0)
                return [ToolCall("delete_memory", {"id": 1})] if turn.number == 1 else "One less."

            session = await own.refine(step)
            assert (session.state, session.edits) == ("completed", 1)
            listed = [each.number async for each in own.memories(kind="core", page_size=2)]
            assert sorted(listed) == [2, 3, 4, 5]
            assert "Customer 4" in (await own.context()).text

            waiting = asyncio.Event()

            async def forever(turn: Turn) -> Reply:
                waiting.set()
                await asyncio.Event().wait()
                return None

            task = asyncio.create_task(own.refine(forever))
            await waiting.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            states = [session.state async for session in own.sessions()]
            assert states == ["abandoned", "completed"]

    asyncio.run(run())
