"""Saving, reading, settings and administration, against the real service."""

from __future__ import annotations

import traceback
from datetime import datetime, timedelta, timezone

import pytest
from memoir_client import Administrator, AgentMemory, ConnectionFailed, NewMemory, Problem
from memoir_service import Service

SECRET = "Marta's canary is called Pim."


def test_three_lines(memory: AgentMemory) -> None:
    saved = memory.remember("Marta prefers linen thread.", tags=["craft"])
    assert (saved.number, saved.kind, saved.tags) == (1, "core", ("craft",))
    assert "Marta prefers linen thread." in memory.context().text
    session = memory.refine(lambda turn: "Nothing to do.")
    assert (session.state, session.edits) == ("completed", 0)
    assert session.summary == "Nothing to do."


def test_a_memory_prints_as_its_text_and_its_repr_does_not_show_it(memory: AgentMemory) -> None:
    saved = memory.remember(SECRET)
    assert str(saved) == f"{saved}" == SECRET
    assert "canary" not in repr(saved) and "canary" not in repr([saved])


def test_journal_entries_say_when_they_fade(memory: AgentMemory) -> None:
    day = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
    entry = memory.remember("A long day.", kind="journal", created_at=day)
    assert (entry.created_at, entry.fades_at) == (day, day + timedelta(days=7))


def test_a_time_without_a_zone_is_refused_here(memory: AgentMemory) -> None:
    with pytest.raises(ValueError, match="time zone"):
        memory.remember("A day.", created_at=datetime(2026, 3, 1))


def test_a_batch_is_saved_whole_or_not_at_all(memory: AgentMemory) -> None:
    with pytest.raises(Problem) as refused:
        memory.remember_all(["One.", NewMemory(content=" ")])
    assert refused.value.status == 400
    assert list(memory.memories()) == []
    saved = memory.remember_all(["One.", NewMemory(content="Two.", kind="journal", tags=("x",))])
    assert [(each.number, each.kind) for each in saved] == [(1, "core"), (2, "journal")]


def test_spec_2_4_a_replaced_memory_is_in_the_archive_and_comes_back(memory: AgentMemory) -> None:
    memory.remember_all(["Marta prefers linen thread.", "Marta binds on Mondays."])
    saved = memory.remember("Marta prefers silk thread now.", replaces=[1, 9])
    assert saved.replaced == (1,)
    assert saved.not_replaced is not None
    assert [(each.number, each.reason) for each in saved.not_replaced] == [(9, "not_found")]
    assert "linen" not in memory.context().text
    (old,) = memory.memories(under=saved.number)
    assert (old.number, old.kind, old.under) == (1, "archival", saved.number)
    assert old.content == "Marta prefers linen thread." and old.archived_at is not None
    assert memory.memory(saved.number).sources == (1,)
    found = {each.number: each for each in memory.recall("Which thread does Marta prefer?")}
    assert (found[1].now, found[1].until is not None) == (saved.number, True)
    originals = memory.about().originals
    assert (originals.total, originals.in_prompt, originals.archived) == (3, 2, 1)
    promoted = memory.promote(1)
    assert (promoted.kind, promoted.under, promoted.archived_at) == ("core", None, None)
    with pytest.raises(Problem) as refused:
        memory.promote(1)
    assert (refused.value.status, refused.value.code) == (409, "not_archival")
    verified = memory.verify()
    assert verified.originals is not None and verified.originals.lost == 0


def test_an_archival_memory_and_a_same_text(memory: AgentMemory) -> None:
    saved = memory.remember("Old orders are in the loft.", kind="archival")
    assert (saved.kind, saved.same_as) == ("archival", None)
    assert memory.remember("Old orders are in the loft").same_as == 1


def test_lists_are_read_page_after_page(memory: AgentMemory) -> None:
    memory.remember_all([f"Entry {number}." for number in range(1, 24)])
    read = [each.number for each in memory.memories(page_size=5)]
    assert sorted(read) == list(range(1, 24))
    assert [each.number for each in memory.recall('"Entry 17."')] == [17]
    actions = [record.action for record in memory.audit(page_size=2, action="memory_saved")]
    assert actions and set(actions) == {"memory_saved"}


def test_a_recall_tells_whether_it_looked_for_meaning(memory: AgentMemory) -> None:
    assert memory.recall("linen").meaning is None
    # No server listens there.
    config = """
        [recall]
        embeddings = "lab:small"
        [providers.lab]
        base_url = "http://127.0.0.1:9/v1"
    """
    with Service(config) as service:
        other = AgentMemory(service.url, "wren", service.agent("wren"))
        other.remember("Marta prefers linen thread.")
        found = other.recall("linen")
        assert ([each.number for each in found], found.meaning) == ([1], "unavailable")


def test_an_agent_sets_its_own(memory: AgentMemory) -> None:
    assert memory.setting("refinement_threshold").value == 0.75
    changed = memory.change_setting("refinement_threshold", "0.85")
    assert (changed.value, changed.is_default) == (0.85, False)
    assert memory.change_setting("refinement_threshold", None).is_default
    assert memory.undo_setting("refinement_threshold").value == 0.85
    assert [each.value for each in memory.setting_history("refinement_threshold")][0] == 0.85
    assert memory.about().name == memory.agent


def test_an_administrator_sees_no_words(memory: AgentMemory, administrator: Administrator) -> None:
    memory.remember(SECRET, tags=["bird"])
    (seen,) = administrator.memories(memory.agent)
    assert (seen.tokens, seen.content, seen.tags) == (8, None, None)
    assert administrator.protect(memory.agent, 1).constitutional
    with pytest.raises(Problem) as refused:
        administrator.discard(memory.agent, 1)
    assert (refused.value.status, refused.value.code) == (409, "constitutional")
    assert not administrator.unprotect(memory.agent, 1).constitutional
    assert administrator.discard(memory.agent, 1).discarded_at is not None
    before = datetime.now(timezone.utc)
    assert administrator.restore(memory.agent, 1).discarded_at is None
    assert administrator.rewind(memory.agent, before).discarded == 1
    assert administrator.verify(memory.agent).valid
    assert administrator.checkpoint().public_key
    assert memory.agent in [agent.name for agent in administrator.agents(page_size=2)]
    assert administrator.update_agent(memory.agent, loss_guard="refuse").loss_guard == "refuse"
    assert administrator.erase_agent(memory.agent).name == memory.agent


def test_spec_5_2_an_administrator_looks_while_the_agent_lets_it(
    memory: AgentMemory, administrator: Administrator
) -> None:
    memory.remember(SECRET)
    asked = administrator.request_access(
        memory.agent, purpose="to see a canary", scope="core", minutes=5
    )
    assert (asked.state, asked.minutes) == ("asked", 5) and "canary" not in repr(asked)
    assert [each.id for each in memory.access_requests()] == [asked.id]
    granted = memory.answer_access_request(asked.id, granted=True, reason="For a canary.")
    assert granted.state == "granted" and "canary" not in repr(granted)
    (seen,) = administrator.memories(memory.agent)
    assert str(seen) == SECRET
    assert administrator.access_request(asked.id).reads == 1
    assert memory.revoke_access(asked.id).state == "revoked"
    assert [each.content for each in administrator.memories(memory.agent, kind="core")] == [None]
    assert "to see a canary" in memory.context().text, "a journal entry says who read, and why"

    refused = administrator.request_token(memory.agent, purpose="a second client")
    assert memory.answer_access_request(refused.id, granted=False).state == "refused"
    with pytest.raises(Problem) as problem:
        administrator.create_token(memory.agent)
    assert problem.value.code == "consent_required"


def test_shredded_words_are_gone(memory: AgentMemory) -> None:
    memory.remember(SECRET)
    assert memory.shred(1, reason="a test").shredded_at is not None
    assert memory.memory(1).content == ""
    assert memory.verify().valid


@pytest.mark.parametrize("token", ["memoir_none", "nothing"])
def test_a_bad_token_opens_nothing(service: Service, memory: AgentMemory, token: str) -> None:
    with pytest.raises(Problem) as refused:
        AgentMemory(service.url, memory.agent, token).context()
    assert (refused.value.status, refused.value.code) == (401, "unauthorized")
    assert refused.value.hint and token not in str(refused.value)


def test_another_agent_is_not_there(
    service: Service, memory: AgentMemory, administrator: Administrator
) -> None:
    other = f"{memory.agent}-other"
    administrator.create_agent(other)
    token = administrator.create_token(other).token
    with pytest.raises(Problem) as refused:
        AgentMemory(service.url, memory.agent, token).context()
    assert refused.value.status == 404


def test_nothing_prints_words_or_secrets(memory: AgentMemory, service: Service) -> None:
    tag, source = "canary-tag", "canary-source"
    saved = memory.remember(SECRET, tags=[tag], source=source)
    token = memory.create_token()
    opened = memory.open_session()
    shown = [
        repr(of)
        for of in (
            saved,
            NewMemory(content=SECRET, tags=(tag,), source=source),
            memory.context(),
            memory.recall("canary"),
            opened,
            memory.cancel(opened.id),
            list(memory.audit()),
            token,
            memory,
            memory.change_setting("system_prompt", SECRET),
            memory.about(),
        )
    ]
    for text in shown:
        assert "canary" not in text and "memoir_" not in text
    assert "content=<29 characters>" in shown[0] and "tags=<1 items>" in shown[0]
    with pytest.raises(Problem) as refused:
        memory.remember(SECRET * 1000)
    assert (refused.value.status, refused.value.code) == (400, "too_long")
    assert "canary" not in "".join(traceback.format_exception(refused.value))


def test_an_unreachable_service_is_named(memory: AgentMemory) -> None:
    unreachable = AgentMemory("http://127.0.0.1:1", "wren", "memoir_x", attempts=2)
    with pytest.raises(ConnectionFailed, match="after 2 attempts"):
        unreachable.remember(SECRET)


def test_what_is_needed_can_come_from_the_environment(
    service: Service, memory: AgentMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMOIR_TOKEN", raising=False)
    with pytest.raises(ValueError, match="MEMOIR_TOKEN"):
        AgentMemory(service.url, "wren")
    monkeypatch.setenv("MEMOIR_URL", service.url)
    monkeypatch.setenv("MEMOIR_AGENT", memory.agent)
    monkeypatch.setenv("MEMOIR_TOKEN", memory.create_token().token)
    assert AgentMemory().context().text == ""
