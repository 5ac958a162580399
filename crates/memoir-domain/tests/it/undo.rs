//! SPEC 3.19 and 4.3: a rollback while the session runs, and an undo after its end.

use memoir_domain::{
    audit::Action,
    memory::{Kind, Number},
    session::{EndReason, Mode, State},
};
use serde_json::json;

use crate::world::{World, core};

const TEXTS: &[&str] = &["tea at dawn", "wool", "!a vow that stays", "linen", "ink"];

/// A session over [`TEXTS`] and padding.
fn session() -> World {
    let ballast = "calm ".repeat(800);
    let mut texts = TEXTS.to_vec();
    texts.push(ballast.trim());
    World::in_session(&texts)
}

#[test]
fn spec_3_19_a_rollback_undoes_exactly_what_the_session_did() {
    let mut world = session();
    let before = world.memories.clone();
    world.update(1, "tea at first light");
    world.update(1, "tea early");
    world.call("protect_memory", json!({"id": 1}));
    world.call("protect_memory", json!({"id": 3}));
    world.consolidate(&[2, 4], "wool and linen");
    world.update(7, "linen and wool");
    world.consolidate(&[7, 5], "linen, wool and ink");
    world.roll_back();
    for (number, memory) in &before {
        assert_eq!(&world.memories[number], memory);
    }
    for merged in [7, 8] {
        assert_eq!(world.memory(merged).discarded_at, Some(world.now));
    }
    assert_eq!(world.memory(7).content.expose(), "wool and linen");
    let session = world.session();
    assert_eq!(session.state, State::RolledBack);
    assert_eq!(session.end_reason, Some(EndReason::RolledBackOnRequest));
    let record = world.last_record();
    assert_eq!(
        (record.action, &record.actor.name[..]),
        (Action::MemoryRefinementRollback, "root")
    );
    assert_eq!(record.facts.as_map()["limit"], "rolled_back_on_request");
    assert!(
        world.kept(Kind::Journal)[0]
            .1
            .contains("4 merged, 3 updated, 1 protected")
    );
    assert_eq!(world.replayed(), world.memories);
}

#[test]
fn spec_3_19_a_flag_returns_to_what_it_was() {
    let mut world = session();
    world.call("protect_memory", json!({"id": 3}));
    world.call("protect_memory", json!({"id": 2}));
    world.roll_back();
    assert!(world.memory(3).is_constitutional());
    assert!(!world.memory(2).is_constitutional());
}

#[test]
fn spec_3_19_what_others_changed_meanwhile_is_not_touched() {
    let mut world = session();
    world.update(1, "tea early");
    world.delete(2);
    world.delete(4);
    // Others protect, discard, restore and save.
    world.tick();
    world.protect(1);
    world.restore(2);
    world.discard(5);
    world.restore(4);
    world.tick();
    world.discard(4);
    let discarded = world.memory(4).clone();
    let saved = world.save(core("new", "2026-02-01", &["t"]));
    let (five, new) = (world.memory(5).clone(), world.memories[&saved].clone());
    world.delete(saved.0);
    world.roll_back();
    assert_eq!(world.text(1), "tea at dawn");
    assert!(world.memory(1).is_constitutional());
    assert!(world.memory(2).is_kept());
    assert_eq!(world.memory(4), &discarded);
    assert_eq!(world.memory(5), &five);
    assert_eq!(world.memories[&saved], new);
}

/// The actions, sessions and memories that stand in the way.
fn in_the_way(world: &mut World, session: usize) -> Vec<(Action, bool, Vec<u64>)> {
    let obstacles = world.undo(session, false).unwrap_err();
    obstacles
        .into_iter()
        .map(|obstacle| {
            let numbers = obstacle.memories.iter().map(|number| number.0).collect();
            (obstacle.action, obstacle.session_id.is_some(), numbers)
        })
        .collect()
}

#[test]
fn spec_4_3_an_undo_takes_an_ended_session_back() {
    let mut world = session();
    let before = world.memories.clone();
    world.update(1, "tea early");
    world.consolidate(&[2, 4], "wool and linen");
    world.call("protect_memory", json!({"id": 5}));
    world.complete();
    assert_eq!(world.undo(0, false), Ok(()));
    for (number, memory) in &before {
        assert_eq!(&world.memories[number], memory);
    }
    assert!(!world.memory(7).is_kept());
    let session = world.session();
    assert_eq!(
        (session.state, session.undone_at),
        (State::Completed, Some(world.now))
    );
    let record = world.last_record();
    assert_eq!(
        (record.action, record.session),
        (Action::SessionUndone, Some(session.id))
    );
    let entry = world.kept(Kind::Journal).pop().unwrap().1.to_owned();
    assert!(
        entry.contains("was undone (2 merged, 1 updated, 1 protected; "),
        "{entry}"
    );
    assert!(!entry.contains("Later changes"));
}

#[test]
fn spec_4_3_an_abandoned_session_can_be_undone_too() {
    let mut world = session();
    world.delete(1);
    let (agent, last) = (world.agent.clone(), world.session().clone());
    let why = EndReason::TimeLimit;
    let actor = crate::world::admin();
    let decision = memoir_domain::lifecycle::abandon(agent, last, why, &actor, world.now);
    world.apply(decision);
    assert_eq!(world.undo(0, false), Ok(()));
    assert!(world.memory(1).is_kept());
}

#[test]
fn spec_4_3_what_was_changed_again_later_stands_in_the_way() {
    let mut world = session();
    let before = world.memories.clone();
    world.update(1, "tea early");
    world.delete(2);
    world.complete();
    world.protect(1);
    world.restore(2);
    world.discard(4);
    assert_eq!(
        in_the_way(&mut world, 0),
        [
            (Action::MemoryProtected, false, vec![1]),
            (Action::MemoryRestored, false, vec![2]),
        ]
    );
    assert_eq!(world.undo(0, true), Ok(()));
    assert_eq!(world.memory(1), &before[&Number(1)]);
    assert_eq!(world.memory(2), &before[&Number(2)]);
    assert!(!world.memory(4).is_kept(), "it was not in the way");
    assert!(
        world
            .kept(Kind::Journal)
            .pop()
            .unwrap()
            .1
            .contains("Later changes")
    );
}

#[test]
fn spec_4_3_what_happened_before_a_memory_was_touched_is_not_in_the_way() {
    let mut world = session();
    world.update(1, "tea early");
    // While the session runs, before it touches these.
    let saved = world.save(core("silk", "2026-02-01", &[]));
    world.protect(4);
    let new = world.memories[&saved].clone();
    world.delete(saved.0);
    world.complete();
    assert_eq!(world.undo(0, false), Ok(()));
    assert_eq!(world.memories[&saved], new);
    assert!(world.memory(4).is_constitutional());
}

#[test]
fn spec_4_3_a_later_session_is_taken_back_as_a_whole() {
    let mut world = session();
    let before = world.memories.clone();
    world.consolidate(&[1, 2], "tea and wool");
    world.complete();
    let merged = 7;
    world.open(Mode::Full);
    // It merges what the first one made, and touches something else.
    world.consolidate(&[merged, 4], "tea, wool and linen");
    world.update(5, "black ink");
    world.complete();
    let obstacles = in_the_way(&mut world, 0);
    assert_eq!(
        obstacles,
        [
            (Action::MemoryRefinementConsolidate, true, vec![4, 7, 9]),
            (Action::MemoryRefinementUpdate, true, vec![5]),
        ]
    );
    assert_eq!(world.undo(0, true), Ok(()));
    for (number, memory) in &before {
        assert_eq!(&world.memories[number], memory);
    }
    assert!(!world.memory(merged).is_kept() && !world.memory(9).is_kept());
    assert!(
        world
            .sessions
            .iter()
            .all(|session| session.undone_at == Some(world.now))
    );
}

#[test]
fn spec_4_3_sessions_that_were_taken_back_are_not_in_the_way() {
    let mut world = session();
    world.update(1, "tea early");
    world.complete();
    for by_breaker in [true, false] {
        world.open(Mode::Full);
        world.update(1, "tea");
        if by_breaker {
            assert_eq!(world.delete(6)["type"], "refinement_rolled_back");
        } else {
            world.complete();
            assert_eq!(world.undo(2, false), Ok(()));
        }
        assert_eq!(world.text(1), "tea early");
    }
    assert_eq!(world.undo(0, false), Ok(()));
    assert_eq!(world.text(1), "tea at dawn");
}

#[test]
fn spec_4_3_what_was_undone_with_another_session_is_not_in_the_way() {
    let mut world = session();
    world.update(1, "tea early");
    world.complete();
    world.open(Mode::Full);
    world.update(2, "soft wool");
    world.complete();
    world.open(Mode::Full);
    world.update(1, "tea");
    world.update(2, "wool!");
    world.complete();
    world.protect(2);
    // Takes the third session and the protection with it.
    assert_eq!(world.undo(1, true), Ok(()));
    assert_eq!((world.text(1), world.text(2)), ("tea early", "wool"));
    assert!(!world.memory(2).is_constitutional());
    assert_eq!(world.undo(0, false), Ok(()));
    assert_eq!(world.text(1), "tea at dawn");
}

#[test]
fn spec_4_3_a_session_is_undone_once() {
    let mut world = session();
    world.update(1, "tea early");
    world.complete();
    assert_eq!(world.undo(0, false), Ok(()));
    let after: Vec<_> = world
        .kept_core()
        .iter()
        .map(|number| world.memory(*number).clone())
        .collect();
    assert_eq!(world.undo(0, true), Ok(()));
    let again: Vec<_> = world
        .kept_core()
        .iter()
        .map(|number| world.memory(*number).clone())
        .collect();
    assert_eq!(again, after);
}

#[test]
fn spec_4_3_a_restore_into_a_session_taken_back_leaves_nothing_discarded_behind() {
    let mut world = session();
    world.update(1, "tea early");
    world.complete();
    world.open(Mode::Full);
    world.delete(1);
    world.restore(1);
    world.roll_back();
    assert_eq!(
        in_the_way(&mut world, 0),
        [(Action::MemoryRestored, false, vec![1])]
    );
    assert_eq!(world.undo(0, true), Ok(()));
    assert_eq!(world.text(1), "tea at dawn");
    assert!(world.memory(1).is_kept());
}

#[test]
fn spec_4_3_cleaned_doubles_of_a_later_session_are_in_the_way() {
    let mut world = session();
    world.update(2, "ink");
    world.complete();
    // #2 and #5 are the same text now.
    world.open(Mode::Full);
    world.roll_back();
    assert!(!world.memory(5).is_kept());
    assert_eq!(
        in_the_way(&mut world, 0),
        [(Action::MemoryDeduplicated, true, vec![2, 5])]
    );
    assert_eq!(world.undo(0, true), Ok(()));
    assert_eq!((world.text(2), world.memory(5).is_kept()), ("wool", true));
}
