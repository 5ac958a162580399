//! SPEC 3.19 and 4.3: a rollback while the session runs, and an undo after its end.

use memoir_domain::{
    agent::Field,
    audit::{Action, ActorKind},
    lifecycle::{self, SessionEnding},
    memory::Number,
    rollback,
    schedule::{WeeklySlot, due},
    session::{EndReason, Mode, State, Trigger},
};
use serde_json::json;

use crate::world::{BALLAST, World, admin, core, padding};

const TEXTS: &[&str] = &[
    "tea at dawn",
    "warm wool",
    "!a vow that stays",
    "linen",
    "ink",
];

/// #2 to #6, over the budget.
fn session() -> World {
    World::over(TEXTS)
}

#[test]
fn spec_3_19_a_rollback_undoes_exactly_what_the_session_did() {
    let mut world = session();
    let before = world.memories.clone();
    world.call("protect_memory", json!({"id": 6}));
    world.call("protect_memory", json!({"id": 4}));
    let first = world.summarise(&[2, 3], "tea, wool");
    let second = world.summarise(&[first], "tea,wool");
    let third = world.summarise(&[second, 5], "tea");
    world.update(1, &format!("{}!", world.text(1)));
    world.roll_back();
    world.check_has(&before);
    for summary in [first, second, third] {
        assert!(!world.memory(summary).is_active());
    }
    let session = world.last_session();
    assert_eq!(session.state, State::RolledBack);
    assert_eq!(session.end_reason, Some(EndReason::RolledBackOnRequest));
    let record = world.last_record();
    assert_eq!(
        (record.action, &record.actor.name[..]),
        (Action::MemoryRefinementRollback, "root")
    );
    assert_eq!(record.facts.as_map()["limit"], "rolled_back_on_request");
    assert!(
        world
            .last_entry()
            .contains("4 consolidated, 2 updated, 1 protected"),
        "{}",
        world.last_entry()
    );
    assert_eq!(world.replayed(), world.memories);
    world.check_replay();
}

#[test]
fn spec_3_19_a_flag_returns_to_what_it_was() {
    let mut world = session();
    world.call("protect_memory", json!({"id": 4}));
    world.call("protect_memory", json!({"id": 3}));
    world.roll_back();
    assert!(world.memory(4).is_constitutional());
    assert!(!world.memory(3).is_constitutional());
}

#[test]
fn spec_3_19_what_others_changed_meanwhile_is_not_touched() {
    let mut world = session();
    let summary = world.summarise(&[2, 3], "tea, wool");
    world.delete(5);
    // Others promote, protect, discard, replace and save.
    world.promote(2).unwrap();
    world.protect(2);
    world.discard(6);
    let saved = world.save_replacing(core("all new", "2026-02-01", &["t"]), &[summary]);
    let new = saved.number.0;
    assert_eq!(world.archive(), [(3, Some(new)), (5, None)]);
    let kept = [2, 3, 6, new].map(|number| world.memory(number).clone());
    world.roll_back();
    for memory in &kept {
        assert_eq!(world.memory(memory.number.0), memory);
    }
    assert!(world.memory(5).is_active_core() && !world.memory(summary).is_active());
    world.check_replay();
}

#[test]
fn spec_3_19_a_summary_does_not_return_without_a_source() {
    let mut world = session();
    let summary = world.summarise(&[2, 3], "tea, wool");
    world.complete();
    world.open(Mode::Full);
    world.delete(summary);
    // Nothing is under it any more when the rollback comes.
    world.promote(2).unwrap();
    world.discard(3);
    world.roll_back();
    assert!(!world.memory(summary).is_active());
    assert!(world.memory(2).is_active_core());
    world.check_replay();
}

/// A summary in a session under `off`, which rewrote it.
fn rewritten() -> (World, u64) {
    let mut world = session();
    let summary = world.summarise(&[2, 3], "tea, wool");
    world.complete();
    world.set(Field::LossGuard, "off");
    world.open(Mode::Full);
    assert_eq!(world.update(summary, &padding(600))["type"], "updated");
    (world, summary)
}

#[test]
fn spec_3_19_a_rewritten_summary_does_not_return_without_a_source_where_the_breaker_trips() {
    let (mut world, summary) = rewritten();
    world.promote(2).unwrap();
    world.promote(3).unwrap();
    world.update(summary, "tea");
    let session = world.last_session();
    assert_eq!(session.end_reason, Some(EndReason::BreakerRemoved));
    assert!(!world.memory(summary).is_active());
    assert!(world.memory(2).is_active_core() && world.memory(3).is_active_core());
    world.check_replay();
}

#[test]
fn spec_3_12_what_a_rolled_back_session_took_under_off_is_not_counted() {
    let (mut world, summary) = rewritten();
    let rewritten = world.now;
    world.update(summary, &padding(500));
    assert_eq!(world.check_replay().removed_off, 1);
    let taken = world.now;
    world.roll_back();
    assert!(world.memory(summary).is_summary);
    assert_eq!(world.check_replay().removed_off, 0);
    for (time, removed_off) in [(taken, 1), (rewritten, 0), (taken, 1)] {
        assert!(world.rewind(time));
        assert_eq!(world.check_replay().removed_off, removed_off);
    }
}

#[test]
fn spec_3_15_an_undo_after_the_end_is_followed_by_no_immediate_session() {
    let settings = [
        (Field::CoreTokenBudget, Some("1000")),
        // No weekly slot lies between the session and its undo.
        (Field::RefinementSchedule, Some("Sat 04:00")),
    ];
    let due = |world: &World| due(&world.agent, &WeeklySlot::default(), world.now);
    for has_grown in [false, true] {
        let texts = [padding(BALLAST), "wool".repeat(100)];
        let mut world = World::of(&settings).saving(&[&texts[0], &texts[1]]);
        world.open(Mode::Full);
        assert_eq!(world.delete(2)["type"], "deleted");
        world.complete();
        world.now = world.now.plus_seconds(25 * 60 * 60);
        assert_eq!(due(&world), None);
        let growth = has_grown.then_some(Trigger::Budget);
        if has_grown {
            world.save(core(&"linen".repeat(100), "2026-02-01", &[]));
            assert_eq!(due(&world), growth);
        }
        assert_eq!(world.undo(0, false), Ok(()));
        assert_eq!(world.agent.last_refinement_at, Some(world.now));
        assert_eq!(due(&world), growth, "what returned is no growth");
        world.save(core(&"cotton".repeat(100), "2026-02-02", &[]));
        assert_eq!(due(&world), Some(Trigger::Budget));
    }
}

/// The actions, sessions and memories that conflict.
fn conflicts(world: &mut World, session: usize) -> Vec<(Action, bool, Vec<u64>)> {
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
fn spec_4_3_an_ended_session_is_undone_and_keeps_its_end() {
    for is_abandoned in [false, true] {
        let mut world = session();
        let before = world.memories.clone();
        world.delete(5);
        let summary = world.summarise(&[2, 3], "tea, wool");
        world.call("protect_memory", json!({"id": 6}));
        match is_abandoned {
            false => drop(world.complete()),
            true => {
                let (agent, last) = (world.agent.clone(), world.last_session().clone());
                let ending = SessionEnding::Abandoned(EndReason::TimeLimit);
                let decision = lifecycle::end(agent, last, ending, &admin(), world.now);
                world.apply(decision);
            }
        }
        let state = world.last_session().state;
        assert_eq!(world.undo(0, false), Ok(()));
        world.check_has(&before);
        assert!(!world.memory(summary).is_active());
        let session = world.last_session();
        assert_eq!((session.state, session.undone_at), (state, Some(world.now)));
        let record = world.last_record();
        assert_eq!(
            (record.action, record.session),
            (Action::SessionUndone, Some(session.id))
        );
        let entry = world.last_entry();
        assert!(
            entry.contains("was undone (2 consolidated, 1 taken out of the prompt, 1 protected; "),
            "{entry}"
        );
        assert!(!entry.contains("Later changes"));
        world.check_replay();
        // A second time, nothing is left to undo.
        let again = world.memories.clone();
        assert_eq!(world.undo(0, true), Ok(()));
        world.check_has(&again);
    }
}

/// What a session under the guard `off` discarded, merged and left, and what an administrator did then though it was
/// so already: discarded #5, restored the merged memory and unprotected #4.
fn confirmed() -> (World, u64) {
    let mut world = World::off(&["tea at dawn", "wool", "linen", "ink", "oak"]);
    world.delete(5);
    let merged = world.consolidate(&[2, 3], "tea at dawn, wool, linen")["number"].clone();
    let merged = merged.as_u64().unwrap();
    let records = world.log.len();
    world.tick();
    world.discard(5);
    world.restore(merged);
    world.unprotect(4);
    assert_eq!(
        world.actions_from(records),
        [
            Action::MemoryDiscarded,
            Action::MemoryRestored,
            Action::MemoryUnprotected
        ]
    );
    world.check_replay();
    (world, merged)
}

#[test]
fn spec_4_3_what_an_administrator_confirmed_stays_when_the_session_is_rolled_back() {
    let (mut world, merged) = confirmed();
    world.roll_back();
    assert!(!world.memory(5).is_active(), "discarded once more");
    assert!(world.memory(merged).is_active_core(), "restored once more");
    assert!(world.memory(2).is_active_core() && world.memory(3).is_active_core());
    world.check_replay();
}

#[test]
fn spec_4_3_what_an_administrator_confirmed_conflicts_with_an_undo_by_the_agent() {
    let (mut world, merged) = confirmed();
    world.complete();
    let plan = rollback::plan_undo(world.last_session().id, &world.log);
    assert!(!plan.is_allowed_to(ActorKind::Agent));
    assert_eq!(
        conflicts(&mut world, 0),
        [
            (Action::MemoryDiscarded, false, vec![5]),
            (Action::MemoryRestored, false, vec![merged]),
        ]
    );
    // An administrator can undo acts of administrators.
    assert_eq!(world.undo(0, true), Ok(()));
    assert!(world.memory(5).is_active_core() && !world.memory(merged).is_active());
    world.check_replay();
}

#[test]
fn spec_4_3_what_was_changed_again_later_conflicts() {
    let mut world = session();
    let before = world.memories.clone();
    let summary = world.summarise(&[2, 3], "tea, wool");
    world.delete(5);
    world.complete();
    let saved = world.save_replacing(core("all new", "2026-02-01", &[]), &[summary]);
    world.discard(5);
    world.discard(6);
    assert_eq!(
        conflicts(&mut world, 0),
        [
            (Action::MemoryReplaced, false, vec![2, 3, summary]),
            (Action::MemoryDiscarded, false, vec![5]),
        ]
    );
    assert_eq!(world.undo(0, true), Ok(()));
    for number in [2, 3, 5] {
        assert_eq!(world.memory(number), &before[&Number(number)]);
    }
    assert!(!world.memory(6).is_active(), "it did not conflict");
    assert!(
        world.memories[&saved.number].is_active_core(),
        "the new memory stays"
    );
    assert!(world.last_entry().contains("Later changes"));
    world.check_replay();
}

#[test]
fn spec_4_3_a_promotion_neither_conflicts_nor_is_undone() {
    let mut world = session();
    world.delete(2);
    world.summarise(&[3, 5], "wool");
    world.complete();
    world.promote(2).unwrap();
    let promoted = world.memory(2).clone();
    assert_eq!(world.undo(0, false), Ok(()));
    assert_eq!(world.memory(2), &promoted);
    assert!(world.memory(3).is_active_core() && world.memory(5).is_active_core());
    world.check_replay();
}

#[test]
fn spec_4_3_what_happened_before_a_memory_was_touched_does_not_conflict() {
    let mut world = session();
    world.delete(2);
    // While the session runs, before it touches these.
    let saved = world.save(core("silk", "2026-02-01", &[]));
    world.protect(5);
    let new = world.memories[&saved].clone();
    world.delete(saved.0);
    world.complete();
    assert_eq!(world.undo(0, false), Ok(()));
    assert_eq!(world.memories[&saved], new);
    assert!(world.memory(5).is_constitutional());
}

#[test]
fn spec_4_3_a_later_session_is_undone_as_a_whole() {
    let mut world = session();
    let before = world.memories.clone();
    let first = world.summarise(&[2, 3], "tea, wool");
    world.complete();
    world.open(Mode::Full);
    // It consolidates what the first one wrote, and touches another memory.
    let second = world.summarise(&[first, 5], "tea");
    world.delete(6);
    world.complete();
    assert_eq!(
        conflicts(&mut world, 0),
        [
            (
                Action::MemoryRefinementConsolidate,
                true,
                vec![2, 3, 5, first, second]
            ),
            (Action::MemoryRefinementDelete, true, vec![6]),
        ]
    );
    assert_eq!(world.undo(0, true), Ok(()));
    world.check_has(&before);
    assert!(!world.memory(first).is_active() && !world.memory(second).is_active());
    let undone_at =
        |session: &memoir_domain::session::Session| session.undone_at == Some(world.now);
    assert!(world.sessions.iter().all(undone_at));
    world.check_replay();
}

#[test]
fn spec_4_3_sessions_that_were_undone_do_not_conflict() {
    let mut world = session();
    let summary = world.summarise(&[2, 3], "tea, wool");
    world.complete();
    for by_rollback in [true, false] {
        world.open(Mode::Full);
        world.delete(summary);
        if by_rollback {
            world.roll_back();
        } else {
            world.complete();
            assert_eq!(world.undo(2, false), Ok(()));
        }
        assert!(world.memory(summary).is_active());
    }
    assert_eq!(world.undo(0, false), Ok(()));
    assert!(world.memory(2).is_active_core() && !world.memory(summary).is_active());
}

#[test]
fn spec_4_3_what_was_undone_with_another_session_does_not_conflict() {
    let mut world = session();
    world.delete(2);
    world.complete();
    world.open(Mode::Full);
    world.delete(3);
    world.complete();
    world.discard(2);
    world.discard(3);
    // Undoes the discarding of #3 with the second session.
    assert_eq!(world.undo(1, true), Ok(()));
    assert_eq!(
        conflicts(&mut world, 0),
        [(Action::MemoryDiscarded, false, vec![2])]
    );
    assert_eq!(world.undo(0, true), Ok(()));
    assert!(world.memory(2).is_active_core() && world.memory(3).is_active_core());
}

#[test]
fn spec_4_3_duplicates_that_a_later_session_joined_conflict() {
    let mut world = session();
    world.update(4, "a vow that stays!");
    world.delete(5);
    world.complete();
    world.promote(5).unwrap();
    world.save(core("linen", "2026-02-01", &["t"]));
    world.open(Mode::Full);
    world.roll_back();
    let copy = *conflicts(&mut world, 0)[0].2.last().unwrap();
    assert_eq!(
        conflicts(&mut world, 0),
        [(Action::MemoryDeduplicated, true, vec![5, copy])]
    );
    assert_eq!(world.undo(0, true), Ok(()));
    assert!(world.memory(copy).is_active());
    world.check_replay();
}

#[test]
fn spec_4_3_an_agent_undoes_nothing_that_an_administrator_did() {
    use memoir_domain::{audit::ActorKind, rollback::plan_undo};
    let mut world = session();
    world.delete(2);
    world.complete();
    let session = world.last_session().id;
    let agent = ActorKind::Agent;
    assert!(plan_undo(session, &world.log).is_allowed_to(agent));
    world.discard(2);
    let plan = plan_undo(session, &world.log);
    assert!(!plan.is_allowed_to(agent) && plan.is_allowed_to(ActorKind::Administrator));
}

#[test]
fn spec_4_3_a_rewind_by_an_administrator_outlasts_an_agents_undo_of_an_earlier_session() {
    let mut world = session();
    world.delete(2);
    world.complete();
    let (done, session) = (world.now, world.last_session().id);
    world.tick();
    world.discard(2);
    world.discard(6);
    assert!(world.rewind(done));
    let plan = rollback::plan_undo(session, &world.log);
    assert!(!plan.is_allowed_to(ActorKind::Agent));
    assert_eq!((plan.obstacles, plan.rewinds.len()), (vec![], 1));
    // Of all memories, those of the session are named.
    assert_eq!(plan.rewinds[0].memories, [Number(2)]);
    // An administrator can, and a rewind before a session says nothing of it.
    assert_eq!(world.undo(0, false), Ok(()));
    world.open(Mode::Full);
    world.delete(3);
    world.complete();
    let later = world.last_session().id;
    assert!(rollback::plan_undo(later, &world.log).is_allowed_to(ActorKind::Agent));
    // One that finds the memories of the session as they are to be outlasts its undo too, and names them.
    let done = world.now;
    world.tick();
    world.discard(2);
    assert!(world.rewind(done));
    let plan = rollback::plan_undo(later, &world.log);
    assert!(!plan.is_allowed_to(ActorKind::Agent));
    assert_eq!(plan.rewinds[0].memories, [Number(3)]);
}
