"""Connections that are cut, services that are busy, and that nothing is done twice."""

from __future__ import annotations

import pytest
from faulty import Faulty
from memoir_client import AgentMemory, ConnectionFailed, Problem
from memoir_service import Service


def through(proxy: Faulty, memory: AgentMemory, attempts: int = 4) -> AgentMemory:
    """The same agent, by way of the proxy."""
    return AgentMemory(proxy.url, memory.agent, memory.create_token().token, attempts=attempts)


def test_what_was_cut_off_is_done_once(service: Service, memory: AgentMemory) -> None:
    with Faulty(service.url, ["drop"]) as proxy:
        saved = through(proxy, memory).remember("Once.")
        assert saved.number == 1
        first, again = proxy.keys
        assert first and first == again
    assert len(list(memory.memories())) == 1


def test_an_edit_that_was_cut_off_counts_once(service: Service, memory: AgentMemory) -> None:
    memory.remember_all([f"Customer {number} pays on time." for number in range(8)])
    opened = memory.open_session()
    with Faulty(service.url, ["drop"]) as proxy:
        deleted = through(proxy, memory).call_tool(opened.id, "delete_memory", {"id": 1})
    assert (deleted["type"], deleted["number"]) == ("deleted", 1)
    assert memory.session(opened.id).edits == 1


def test_attempts_come_to_an_end(service: Service, memory: AgentMemory) -> None:
    with Faulty(service.url, ["drop"] * 9) as proxy:
        with pytest.raises(ConnectionFailed, match="after 3 attempts"):
            through(proxy, memory, attempts=3).context()
        assert len(proxy.keys) == 3


def test_a_busy_service_is_asked_again_after_the_wait_it_names(
    service: Service, memory: AgentMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("memoir_client._transport.time.sleep", waits.append)
    with Faulty(service.url, ["busy 7", "page"]) as proxy:
        assert through(proxy, memory).remember("Later.").number == 1
    assert waits[0] == 7 and waits[1] < 1


def test_more_patience_than_is_sensible_is_left_to_the_caller(
    service: Service, memory: AgentMemory
) -> None:
    with Faulty(service.url, ["busy 3600"]) as proxy:
        with pytest.raises(Problem) as refused:
            through(proxy, memory).context()
        assert (refused.value.status, refused.value.retry_after) == (429, 3600)
        assert len(proxy.keys) == 1


def test_an_answer_that_is_not_memoirs_is_not_shown(service: Service, memory: AgentMemory) -> None:
    with Faulty(service.url, ["page"]) as proxy:
        with pytest.raises(Problem) as refused:
            through(proxy, memory, attempts=1).context()
    assert (refused.value.status, refused.value.code) == (502, "unexpected")
    assert "secret" not in str(refused.value)


def test_a_key_of_ones_own_gives_the_same_answer_again(memory: AgentMemory) -> None:
    first = memory.remember("Once.", idempotency_key="morning")
    assert memory.remember("Once.", idempotency_key="morning") == first
    with pytest.raises(Problem) as refused:
        memory.remember("Twice.", idempotency_key="morning")
    assert refused.value.code == "idempotency_mismatch"


def test_a_waiting_connection_that_was_closed_costs_no_attempt(service: Service) -> None:
    with Service() as passing:
        token = passing.agent("wren")
        memory = AgentMemory(passing.url, "wren", token, attempts=1)
        memory.remember("Before.")
        waiting = memory._transport._idle[0]
        assert waiting.sock is not None
        # As a service does that has waited long enough.
        waiting.sock.shutdown(2)
        assert memory.remember("After.").number == 2
