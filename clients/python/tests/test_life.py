"""Conversations that are handed over, reflections on the journal, and signing in."""

from __future__ import annotations

import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from memoir_client import Administrator, AgentMemory, Message, Problem
from memoir_service import Service

SAID = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


def test_spec_2_5_a_conversation_is_handed_over_once(
    memory: AgentMemory, administrator: Administrator
) -> None:
    messages = [
        Message(id="canary-1", speaker="Ann", text="My canary is called Pim.", at=SAID),
        Message(id="canary-2", speaker="Wren", text="A fine name."),
    ]
    assert "anary" not in repr(messages) and "Ann" not in repr(messages)
    handed = memory.hand_over(messages)
    assert (handed.received, handed.known) == (2, 0)
    standing = memory.transcripts()
    assert (standing.pending, standing.absorbed, standing.failed) == (2, 0, 0)
    assert standing.due_at is not None
    assert standing.due_at > datetime.now(timezone.utc) + timedelta(hours=5)

    later = Message(id="canary-3", speaker="Ann", text="He sings.")
    again = memory.hand_over([*messages, later])
    assert (again.received, again.known) == (1, 2)
    # What an administrator hands over is apart: its counts tell nothing of the agent's messages.
    apart = administrator.hand_over(memory.agent, messages)
    assert (apart.received, apart.known) == (2, 0)
    assert administrator.transcripts(memory.agent).pending == 5


def test_a_message_beyond_the_limits_is_refused(memory: AgentMemory) -> None:
    with pytest.raises(Problem) as refused:
        memory.hand_over([Message(id="1", speaker="Ann" * 100, text="Hm.")])
    assert refused.value.status == 400
    assert memory.transcripts().pending == 0
    with pytest.raises(ValueError, match="time zone"):
        memory.hand_over([Message(id="1", speaker="Ann", text="Hm.", at=datetime(2026, 3, 1))])


def test_spec_2_6_a_reflection_names_what_becomes_core(memory: AgentMemory) -> None:
    nothing = memory.reflect()
    assert (nothing.considered, nothing.promoted, nothing.failure) == (0, (), None)
    memory.remember("A long day.", kind="journal")
    considered = memory.reflect()
    assert considered.considered == 1
    assert considered.promoted == ()


def test_an_administrator_asks_for_a_shredding(
    memory: AgentMemory, administrator: Administrator
) -> None:
    memory.remember("A key was pasted here.")
    asked = administrator.request_shredding(memory.agent, 1, reason="a pasted key")
    assert (asked.kind, asked.memory, asked.state) == ("shred", 1, "asked")
    assert memory.answer_access_request(asked.id, granted=True).state == "done"
    assert memory.memory(1).shredded_at is not None


def test_an_administrator_signs_in() -> None:
    password = "correct horse battery"
    with Service() as closed, tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "password"
        file.write_text(password)
        closed.memoir("user", "add", "Ada", "--password-file", str(file))
        with Administrator.sign_in(closed.url, name="ada", password=password) as ada:
            assert ada.create_agent("wren").name == "wren"
            assert ada.signed_in_until is not None
            assert ada.signed_in_until > datetime.now(timezone.utc) + timedelta(hours=11)
            assert "memoir_" not in repr(ada) + repr(vars(ada))
        with pytest.raises(Problem) as refused:
            Administrator.sign_in(closed.url, name="ada", password="another battery")
        assert (refused.value.status, refused.value.code) == (401, "unauthorized")
        assert "battery" not in str(refused.value)


def test_a_password_does_not_travel_in_the_open() -> None:
    with pytest.raises(ValueError, match="https"):
        Administrator.sign_in("http://memoir.example.org", name="ada", password="correct horse")
