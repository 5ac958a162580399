//! SPEC 3.13: the breaker.

use memoir_domain::{
    agent::{Field, Threshold},
    audit::Action,
    breaker::Gauge,
    session::{EndReason, Mode, State},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::{World, core, padding};

/// Ten memories of ten tokens each, all different.
fn texts() -> Vec<String> {
    (b'a'..=b'j')
        .map(|letter| char::from(letter).to_string().repeat(40))
        .collect()
}

/// A session over them, in which the age rule binds less than the breaker: the newest leave first.
fn session() -> World {
    let texts = texts();
    let mut world = World::with(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    world.open(Mode::Full);
    world
}

#[track_caller]
fn check_tripped(world: &World, result: &Value, limit: EndReason) {
    assert_eq!(result["type"], "refinement_rolled_back", "{result}");
    assert_eq!(world.last_session().state, State::RolledBack);
    assert_eq!(world.last_session().end_reason, Some(limit));
    for (number, text) in (1..).zip(texts()) {
        assert_eq!(world.text(number), text);
        assert!(world.memory(number).is_active());
    }
}

#[test]
fn spec_3_13_a_core_size_below_the_threshold_rolls_the_whole_session_back() {
    let mut world = session();
    assert_eq!(world.update(10, "j")["number"], 11);
    world.call("protect_memory", json!({"id": 1}));
    let result = world.delete(9);
    assert_eq!(
        (&result["core_tokens"], &result["removable_tokens"]),
        (&json!(81), &json!(6))
    );
    let before = world.log.len();
    let result = world.delete(8);
    check_tripped(&world, &result, EndReason::BreakerCoreSize);
    assert!(!world.memory(1).is_constitutional() && !world.memory(11).is_active());
    assert!(world.archive().is_empty());
    assert_eq!(world.agent.tally.core_tokens, 100);
    assert_eq!(
        (
            &result["pre_session_tokens"],
            &result["post_session_tokens"]
        ),
        (&json!(100), &json!(100))
    );
    assert_eq!(
        result["stats"],
        json!({"consolidated": 0, "updated": 1, "deleted": 2, "protected": 1})
    );
    // The edit, the rollback with its measures, and the journal entry are one decision.
    assert_eq!(
        world.actions_from(before),
        [
            Action::MemoryRefinementDelete,
            Action::MemoryRefinementRollback
        ]
    );
    let facts = world.last_record().facts.as_map();
    for (name, value) in [
        ("pre_session_tokens", json!(100)),
        ("core_tokens_before", json!(71)),
        ("post_session_tokens", json!(100)),
        ("tokens_removed", json!(29)),
        ("threshold", json!(0.75)),
        ("limit", json!("breaker_mass")),
        ("stats", result["stats"].clone()),
    ] {
        assert_eq!(facts[name], value, "{name}");
    }
    let entry = world.last_entry();
    assert_eq!(result["reason"], entry);
    for part in [
        "from 100 to 71",
        "at least 75",
        "0.75",
        "yours to set",
        "100 tokens again",
    ] {
        assert!(entry.contains(part), "{entry} lacks {part}");
    }
    assert_eq!(
        world.agent.last_refinement_at,
        Some(world.now),
        "no immediate retry"
    );
    assert_eq!(world.last_session().post_session_tokens, Some(100));
    // Nothing can change any more.
    let after = (world.memories.clone(), world.log.len());
    for tool in [
        "delete_memory",
        "protect_memory",
        "complete_refinement",
        "search_memories",
    ] {
        assert_eq!(
            world.call(tool, json!({"id": 1, "summary": "x"}))["code"],
            "session_over"
        );
    }
    assert_eq!((world.memories.clone(), world.log.len()), after);
    world.check_replay();
}

#[test]
fn spec_3_13_neither_padding_nor_saving_hides_what_was_removed() {
    let mut world = session();
    world.delete(10);
    world.delete(9);
    // White space belongs to the form of a text, and pads none.
    let spaced = format!("{}{}!", texts()[0], " ".repeat(4_000));
    assert_eq!(world.update(1, &spaced)["code"], "not_shorter");
    let saved = world.save(core(&padding(401), "2026-02-01", &[]));
    let result = world.delete(8);
    check_tripped(&world, &result, EndReason::BreakerRemoved);
    assert!(
        world
            .last_entry()
            .contains("together took away 30 of 100 tokens")
    );
    assert!(world.memories[&saved].is_active(), "changes by others stay");
}

#[test]
fn spec_3_13_an_edit_that_adds_offsets_none_that_removes() {
    let spaced = format!("a{}gate", " ".repeat(30));
    let mut world = World::with(&["bees", &spaced, &padding(10)]);
    world.open(Mode::Full);
    assert_eq!(world.update(1, "bees.")["number"], 1);
    world.update(2, "a gate");
    // 1 token to 2 adds one, and 9 tokens to 2 are 7.
    let session = world.last_session();
    assert_eq!(
        (session.state, session.removed_tokens),
        (State::RolledBack, 7)
    );
}

#[test]
fn spec_3_13_a_stricter_threshold_counts_immediately_and_a_laxer_one_from_the_next_session_on() {
    let mut world = session();
    world.delete(10);
    world.set(Field::RefinementThreshold, "0.85");
    let result = world.delete(9);
    check_tripped(&world, &result, EndReason::BreakerCoreSize);

    let mut world = session();
    world.set(Field::RefinementThreshold, "0.1");
    world.delete(10);
    world.delete(9);
    let result = world.delete(8);
    check_tripped(&world, &result, EndReason::BreakerCoreSize);
    world.open(Mode::Full);
    for number in [10, 9, 8] {
        assert_eq!(world.delete(number)["type"], "deleted");
    }
}

#[test]
fn spec_3_13_the_breaker_is_checked_again_at_completion() {
    let mut world = session();
    world.delete(10);
    world.set(Field::RefinementThreshold, "0.95");
    let result = world.call("complete_refinement", json!({"summary": "Removed one."}));
    check_tripped(&world, &result, EndReason::BreakerCoreSize);
    assert_eq!(result["summary"], "Removed one.");
    assert_eq!(world.last_record().action, Action::MemoryRefinementRollback);
    assert_eq!(world.complete()["code"], "session_over");
}

#[test]
fn spec_3_13_a_loss_from_outside_of_the_session_is_reported_as_that() {
    let mut world = session();
    world.delete(10);
    world.discard(2);
    world.discard(3);
    let result = world.complete();
    assert_eq!(result["type"], "refinement_rolled_back");
    let (first, second) = world.last_entry().split_once('\n').unwrap();
    assert_eq!(
        first,
        "Refinement session undone, because your core memories went from 100 to 70 tokens, 30% less, and at least \
         75 of 100 must be left. All that it did is undone: 1 taken out of the prompt. Your core memories are at \
         80 tokens: the 20 that are missing since the session began went outside of it, and undoing it did not bring them back."
    );
    assert_eq!(
        second,
        "The limit is your `refinement_threshold`, 0.75; it is yours to set. The session is over."
    );
    assert_eq!(world.agent.tally.core_tokens, 80);

    let mut world = session();
    for number in 1..=3 {
        world.discard(number);
    }
    world.complete();
    let entry = world.last_entry();
    assert!(
        entry.contains("It had changed nothing that was to be undone."),
        "{entry}"
    );
    assert!(
        entry.contains("at 70 tokens: the 30 that are missing"),
        "{entry}"
    );
}

#[test]
fn spec_3_13_the_breaker_never_trips_on_a_core_size_of_zero() {
    let mut world = World::with(&["tea"]);
    world.begin(Mode::Full).unwrap();
    world.discard(1);
    world.open_begun();
    assert_eq!(world.last_session().pre_session_tokens, Some(0));
    world.save(core("first", "2026-01-01", &[]));
    assert_eq!(world.delete(2)["type"], "deleted");
    assert_eq!(world.complete()["type"], "refinement_complete");
}

#[test]
fn spec_3_13_one_token_of_ten_thousand_counts_at_a_threshold_of_one() {
    let mut world = World::with(&["tea", &padding(2_500)]);
    world.set(Field::RefinementThreshold, "1");
    world.open(Mode::Full);
    assert_eq!(
        world.update(1, "tea!")["type"],
        "updated",
        "nothing is removed"
    );
    assert_eq!(world.delete(1)["type"], "refinement_rolled_back");
}

#[test]
fn spec_3_19_a_summary_that_the_tripping_edit_took_returns_over_its_sources() {
    for guard in ["archive", "off"] {
        let mut world = World::session(&["Ada keeps bees."]);
        let summary = world.summarise(&[2], "Ada: bees.");
        world.complete();
        world.set(Field::LossGuard, guard);
        world.set(Field::CoreTokenBudget, "1000");
        world.set(Field::RefinementThreshold, "1");
        world.open(Mode::Full);
        let result = world.delete(summary);
        assert_eq!(result["type"], "refinement_rolled_back", "{guard}");
        assert!(world.memory(summary).is_active(), "{guard}");
        assert_eq!(world.archive(), [(2, Some(summary))]);
    }
}

#[test]
fn spec_4_3_a_rollback_leaves_an_administrators_protection_of_what_the_session_protected() {
    let mut world = World::with(&["a vow", "b", &padding(100)]);
    world.open(Mode::Full);
    world.call("protect_memory", json!({"id": 1}));
    world.protect(1);
    world.set(Field::RefinementThreshold, "1");
    world.delete(2);
    assert!(!world.last_session().state.is_running());
    assert!(world.memory(1).is_constitutional());
    world.check_replay();
}

/// One of these core sizes, before and now, of so many removed tokens.
fn gauge(pre: u64, now: u64, removed: u64, threshold: f64) -> Gauge {
    Gauge {
        pre_session_tokens: pre,
        core_tokens: now,
        removed_tokens: removed,
        threshold: Threshold::new(threshold).unwrap(),
    }
}

#[test]
fn spec_3_13_the_breaker_trips_below_the_threshold_and_not_at_it() {
    for (pre, now, removed, threshold, expected) in [
        (100, 75, 25, 0.75, None),
        (100, 74, 26, 0.75, Some(EndReason::BreakerCoreSize)),
        (10, 7, 3, 0.7, None),
        (1_000, 999, 1, 1.0, Some(EndReason::BreakerCoreSize)),
        // Memories saved meanwhile do not mask what was removed.
        (100, 500, 26, 0.75, Some(EndReason::BreakerRemoved)),
        (0, 0, 0, 1.0, None),
        (0, 0, 50, 1.0, None),
    ] {
        assert_eq!(
            gauge(pre, now, removed, threshold).trip(),
            expected,
            "{pre} {now} {removed}"
        );
    }
}

#[test]
fn spec_3_5_the_smallest_limit_that_binds_is_named_as_a_consequence() {
    for (reading, expected) in [
        (
            gauge(100, 100, 0, 0.75),
            "if more than 25 tokens go, everything is undone (75 of 100 tokens must be left)",
        ),
        (
            gauge(100, 300, 24, 0.75),
            "if more than 1 token goes, everything is undone (75 of 100 tokens must be left, \
             counting all that the edits removed together)",
        ),
        (
            gauge(100, 80, 5, 0.75),
            "if more than 5 tokens go, everything is undone (75 of 100 tokens must be left)",
        ),
        (
            gauge(3, 3, 0, 1.0),
            "if more than 0 tokens go, everything is undone (3 of 3 tokens must be left)",
        ),
    ] {
        assert_eq!(reading.allowance().to_string(), expected);
    }
}

proptest! {
    #[test]
    fn spec_3_5_what_may_be_removed_is_exactly_what_the_breaker_allows(
        pre in 1u64..1_000_000, removed in 0u64..1_000_000, percent in 1u32..=100,
    ) {
        let removed = removed.min(pre);
        let now = gauge(pre, pre - removed, removed, f64::from(percent) / 100.0);
        prop_assume!(now.trip().is_none());
        let more = now.removable_tokens();
        let after = |by: u64| gauge(pre, now.core_tokens - by, removed + by, f64::from(percent) / 100.0);
        prop_assert_eq!(after(more).trip(), None);
        if more < now.core_tokens {
            prop_assert!(after(more + 1).trip().is_some());
        }
    }
}
