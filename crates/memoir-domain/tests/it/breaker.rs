//! SPEC 3.13 and 3.14: the breaker, and what a year of sessions may let go.

use memoir_domain::{
    agent::Field,
    audit::Action,
    memory::Kind,
    session::{EndReason, Mode, State},
};
use serde_json::{Value, json};

use crate::world::{World, core};

/// Ten memories of ten tokens each, all different.
fn texts() -> Vec<String> {
    (b'a'..=b'j')
        .map(|letter| char::from(letter).to_string().repeat(40))
        .collect()
}

fn session() -> World {
    let texts = texts();
    World::in_session(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}

#[track_caller]
fn check_tripped(world: &World, result: &Value, limit: EndReason) {
    assert_eq!(result["type"], "refinement_rolled_back", "{result}");
    assert_eq!(world.session().state, State::RolledBack);
    assert_eq!(world.session().end_reason, Some(limit));
    for (number, text) in (1..).zip(texts()) {
        assert_eq!(world.text(number), text);
        assert!(world.memory(number).is_kept());
    }
}

#[test]
fn spec_3_13_mass_below_the_threshold_rolls_the_whole_session_back() {
    let mut world = session();
    assert_eq!(world.delete(1)["type"], "deleted");
    assert_eq!(world.update(2, &"b".repeat(20))["type"], "updated");
    world.call("protect_memory", json!({"id": 9}));
    assert_eq!(
        world.consolidate(&[3, 4], &"c".repeat(40))["type"],
        "consolidated"
    );
    // 75 of 100 tokens are left, which is not below 0.75.
    assert_eq!(world.agent.tally.core_tokens, 75);
    let before = world.log.len();
    let result = world.update(5, &"e".repeat(36));
    check_tripped(&world, &result, EndReason::BreakerMass);
    assert!(!world.memory(9).is_constitutional());
    assert_eq!(world.agent.tally.core_tokens, 100);
    assert_eq!(result["pre_session_tokens"], 100);
    assert_eq!(result["post_session_tokens"], 100);
    assert_eq!(
        result["stats"],
        json!({"consolidated": 2, "updated": 2, "deleted": 1, "protected": 1})
    );
    // The edit, the rollback with its measures, and the journal entry came as one decision.
    let actions: Vec<Action> = world.log[before..]
        .iter()
        .map(|record| record.action)
        .collect();
    assert_eq!(
        actions,
        [
            Action::MemoryRefinementUpdate,
            Action::MemoryRefinementRollback
        ]
    );
    let facts = world.last_record().facts.as_map();
    for (name, value) in [
        ("pre_session_tokens", json!(100)),
        ("core_tokens_before", json!(74)),
        ("post_session_tokens", json!(100)),
        ("tokens_removed", json!(26)),
        ("threshold", json!(0.75)),
        ("limit", json!("breaker_mass")),
        ("stats", result["stats"].clone()),
    ] {
        assert_eq!(facts[name], value, "{name}");
    }
    let journal = world.kept(Kind::Journal);
    let [(number, entry)] = journal[..] else {
        panic!("one entry")
    };
    assert_eq!(world.last_record().memory.unwrap().0, number);
    assert_eq!(result["reason"], entry);
    for part in [
        "from 100 to 74",
        "at least 75",
        "0.75",
        "2 merged, 1 deleted, 2 updated, 1 protected",
        "100 tokens again",
    ] {
        assert!(entry.contains(part), "{entry} lacks {part}");
    }
    assert_eq!(
        world.agent.last_refinement_at,
        Some(world.now),
        "no immediate retry"
    );
    assert_eq!(world.session().post_session_tokens, Some(100));
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
}

#[test]
fn spec_3_13_padding_does_not_mask_what_was_removed() {
    let mut world = session();
    assert_eq!(world.update(1, &"padding ".repeat(100))["type"], "updated");
    assert_eq!(world.session().removed_tokens, 0);
    world.delete(2);
    world.delete(3);
    assert_eq!(world.session().removed_tokens, 20);
    let result = world.delete(4);
    check_tripped(&world, &result, EndReason::BreakerRemoved);
    assert!(
        world.kept(Kind::Journal)[0]
            .1
            .contains("together took away 30 of 100 tokens")
    );
}

#[test]
fn spec_3_13_memories_saved_meanwhile_do_not_mask_what_was_removed() {
    let mut world = session();
    world.delete(1);
    world.delete(2);
    let saved = world.save(core(&"new ".repeat(400), "2026-02-01", &[]));
    let result = world.delete(3);
    check_tripped(&world, &result, EndReason::BreakerRemoved);
    assert!(world.memories[&saved].is_kept(), "what others did stays");
}

#[test]
fn spec_3_13_shrinking_and_growing_again_adds_up() {
    let mut world = session();
    for _ in 0..2 {
        assert_eq!(world.update(1, "a")["type"], "updated");
        assert_eq!(world.update(1, &"a".repeat(40))["type"], "updated");
    }
    assert_eq!(world.session().removed_tokens, 18);
    let result = world.update(1, "a");
    check_tripped(&world, &result, EndReason::BreakerRemoved);
}

#[test]
fn spec_3_13_a_stricter_setting_of_the_agent_counts_at_once_and_a_laxer_one_does_not() {
    let mut world = session();
    world.delete(1);
    world.set(Field::RefinementThreshold, "0.85");
    let result = world.delete(2);
    check_tripped(&world, &result, EndReason::BreakerMass);

    let mut world = session();
    world.set(Field::RefinementThreshold, "0.1");
    world.delete(1);
    world.delete(2);
    let result = world.delete(3);
    check_tripped(&world, &result, EndReason::BreakerMass);
    // From the next session on it counts.
    world.open(Mode::Full);
    for number in 1..=9 {
        assert_eq!(world.delete(number)["type"], "deleted");
    }
    assert_eq!(world.agent.tally.core_tokens, 10);
}

#[test]
fn spec_3_13_the_breaker_is_asked_again_at_completion() {
    let mut world = session();
    world.delete(1);
    world.set(Field::RefinementThreshold, "0.95");
    let result = world.call("complete_refinement", json!({"summary": "Removed one."}));
    check_tripped(&world, &result, EndReason::BreakerMass);
    assert_eq!(result["summary"], "Removed one.");
    assert_eq!(world.last_record().action, Action::MemoryRefinementRollback);
    assert_eq!(world.complete()["code"], "session_over");
}

#[test]
fn spec_3_13_a_loss_from_outside_of_the_session_is_told_as_what_it_is() {
    let mut world = session();
    world.delete(1);
    world.discard(2);
    world.discard(3);
    let result = world.complete();
    assert_eq!(result["type"], "refinement_rolled_back");
    assert_eq!(
        world.kept(Kind::Journal)[0].1,
        "Refinement session undone, because your core memories went from 100 to 70 tokens, 30% less, and at least \
         75 of 100 must be left. The limit is your `refinement_threshold`, 0.75; it is yours to set. All that it \
         did is undone: 1 deleted. Your core memories are at 80 tokens: the 20 that are missing since the session \
         began went outside of it, and undoing it did not bring them back. The session is over."
    );
    assert_eq!(world.agent.tally.core_tokens, 80);

    let mut world = session();
    for number in 1..=3 {
        world.discard(number);
    }
    world.complete();
    let told = world.kept(Kind::Journal)[0].1;
    assert!(
        told.contains("It had changed nothing that was to be undone."),
        "{told}"
    );
    assert!(
        told.contains("at 70 tokens: the 30 that are missing"),
        "{told}"
    );
}

#[test]
fn spec_3_13_the_breaker_never_trips_on_a_mass_of_zero() {
    let mut world = World::with(&["tea"]);
    world.begin(Mode::Full);
    world.discard(1);
    let opened = memoir_domain::lifecycle::open(
        world.agent.clone(),
        world.session().clone(),
        &[],
        &memoir_domain::text::Digester::new(&[1; 32]),
        memoir_domain::ledger::LedgerRoom {
            tokens: 1_000,
            near_doubles: false,
            leaves_out_administrators: false,
        },
        world.now,
    );
    world.apply(opened.decision);
    assert_eq!(world.session().pre_session_tokens, Some(0));
    let number = world.save(core(&"x".repeat(400), "2026-01-01", &[]));
    assert_eq!(world.delete(number.0)["type"], "deleted");
    assert_eq!(world.complete()["type"], "refinement_complete");
}

#[test]
fn spec_3_13_one_token_of_ten_thousand_counts_at_a_threshold_of_one() {
    let mut world = World::with(&["a".repeat(10_000).as_str(), "tea"]);
    world.set(Field::RefinementThreshold, "1");
    world.open(Mode::Full);
    assert_eq!(
        world.update(2, "tee")["type"],
        "updated",
        "nothing is removed"
    );
    assert_eq!(world.delete(2)["type"], "refinement_rolled_back");
}

#[test]
fn spec_4_3_a_rollback_leaves_an_administrators_protection_of_what_the_session_protected() {
    let mut world = World::in_session(&["a vow", &"x".repeat(400)]);
    world.call("protect_memory", json!({"id": 1}));
    world.protect(1);
    world.delete(2);
    assert!(!world.session().state.is_running());
    assert!(world.memory(1).is_constitutional());
    world.check_replay();
}
