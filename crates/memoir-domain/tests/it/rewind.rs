//! SPEC 4.3: returning an agent to a point in time.

use memoir_domain::{
    Timestamp,
    agent::Field,
    audit::Action,
    manage::ChangeRefusal,
    memory::{Kind, Number},
    rewind::{RewindPreview, plan_rewind, preview, rewind},
    session::Mode,
};
use serde_json::json;

use crate::world::{World, admin, core};

const TEXTS: &[&str] = &["tea at dawn", "wool", "!a vow that stays", "linen", "ink"];

/// #2 to #6, over the budget.
fn session() -> World {
    World::over(TEXTS)
}

#[test]
fn spec_4_3_the_active_memories_are_exactly_those_of_the_time() {
    let mut world = World::with(TEXTS);
    let (then, before) = (world.now, world.memories.clone());
    world.tick();
    world.discard(1);
    world.protect(2);
    world.unprotect(3);
    world.save(core("silk", "2026-02-01", &["t"]));
    world.set(Field::SystemPrompt, "You are wren.");
    let records = world.log.len();
    let plan = plan_rewind(&world.log, then);
    let at_hand = preview(&world.agent, &world.memories, &plan, world.now);
    assert_eq!(
        at_hand,
        RewindPreview {
            changed: 4,
            returning: 1,
            // Without the two reports on acts of an administrator.
            discarded: 1,
            reworded: 0,
            archived: 0,
            promoted: 0,
            core_tokens_before: world.agent.tally.core_tokens,
            core_tokens_after: 3 + 1 + 4 + 2 + 1,
        }
    );
    assert!(world.rewind(then));
    world.check_has(&before);
    assert_eq!(world.core_numbers(), [1, 2, 3, 4, 5]);
    assert_eq!(world.active(Kind::Journal).len(), 2, "the reports stay");
    assert_eq!(world.log.len(), records + 1);
    let record = world.last_record();
    assert_eq!(
        (record.action, &record.actor.name[..], record.session),
        (Action::AgentRewound, "root", None)
    );
    assert_eq!(
        json!(record.facts),
        json!({
            "to_seq": plan.to_seq, "to": then.to_string(), "memories": 4, "returning": 1,
            "discarded": 1, "reworded": 0, "archived": 0, "promoted": 0,
            "core_tokens_before": 9, "unprotected": 1,
            "core_tokens_after": 11,
            "core_tokens": 11,
        })
    );
    // Prompts and settings are not memories.
    let prompt = world.agent.settings.system_prompt.as_ref();
    assert_eq!(prompt.map(|words| words.expose()), Some("You are wren."));
    world.check_replay();
    assert!(!world.rewind(then), "nothing is different any more");
}

#[test]
fn spec_5_5_a_rewind_hides_no_report_on_an_act_of_an_administrator() {
    let mut world = session();
    world.complete();
    let (then, session) = (world.now, world.last_entry().to_owned());
    world.tick();
    world.set(Field::SystemPrompt, "You are wren.");
    let settings = world.last_entry().to_owned();
    world.open(Mode::Full);
    world.complete();
    world.unprotect(4);
    let reports = [session, settings, world.last_entry().to_owned()];
    let all = world.memories.clone();
    let journal = |world: &World| -> Vec<String> {
        let entries = world.active(Kind::Journal).into_iter();
        entries.map(|(_, text)| text.to_owned()).collect()
    };
    assert_eq!(journal(&world).len(), 4);
    let at = world.now;
    // `World::rewind` compares what was foreseen with what is done.
    assert!(world.rewind(then));
    // The report on the later session goes with that session, which is undone.
    assert_eq!(journal(&world), reports);
    world.check_replay();
    assert!(world.rewind(at));
    assert_eq!(world.memories, all);
    assert!(world.rewind(Timestamp::MIN));
    assert_eq!(journal(&world), reports[1..]);
    world.check_replay();
}

#[test]
fn spec_4_3_before_the_first_record_there_was_nothing() {
    let mut world = World::with(TEXTS);
    world.tick();
    assert_eq!(plan_rewind(&world.log, Timestamp::MIN).to_seq, 0);
    assert!(world.rewind(Timestamp::MIN));
    assert!(world.core_numbers().is_empty());
    assert_eq!(world.agent.tally.discarded_count, 5);
    world.check_replay();
}

#[test]
fn spec_4_3_a_rewind_before_an_undo_makes_the_session_effective_again() {
    let mut world = session();
    let summary = world.summarise(&[2, 3], "tea, wool");
    world.complete();
    let (done, after) = (world.now, world.memories.clone());
    assert_eq!(world.undo(0, false), Ok(()));
    let undone_at = world.now;
    assert!(world.rewind(done));
    assert_eq!(world.last_session().undone_at, None);
    world.check_has(&after);
    world.check_replay();
    // Back again: it is undone, since now.
    assert!(world.rewind(undone_at));
    assert_eq!(world.last_session().undone_at, Some(world.now));
    assert!(world.memory(2).is_active_core() && !world.memory(summary).is_active());
    world.check_replay();
    // And effective once more, and undone in the ordinary way.
    assert!(world.rewind(done));
    assert_eq!(world.undo(0, false), Ok(()));
    assert!(world.memory(2).is_active_core() && world.memory(3).is_active_core());
    world.check_replay();
}

#[test]
fn spec_4_3_a_session_without_edits_is_undone_while_its_undo_is_effective() {
    let mut world = session();
    world.complete();
    let done = world.now;
    assert_eq!(world.undo(0, false), Ok(()));
    let undone = world.now;
    assert!(world.rewind(done));
    assert_eq!(world.last_session().undone_at, None);
    assert!(world.rewind(undone));
    assert_eq!(world.last_session().undone_at, Some(world.now));
    world.check_replay();
}

#[test]
fn spec_4_3_a_session_of_which_no_edit_is_effective_is_undone() {
    let mut world = session();
    let opened = world.now;
    world.delete(2);
    let edited = world.now;
    world.summarise(&[5, 6], "flax");
    world.complete();
    let ended = world.now;
    assert!(world.rewind(edited));
    assert_eq!(
        world.last_session().undone_at,
        None,
        "one edit is effective"
    );
    assert_eq!(
        (world.archive(), world.memory(5).is_active_core()),
        (vec![(2, None)], true)
    );
    assert!(world.rewind(opened));
    assert_eq!(world.last_session().undone_at, Some(world.now));
    assert!(world.rewind(edited));
    assert_eq!(world.last_session().undone_at, None);
    // What is left of it is undone like any session.
    assert_eq!(world.undo(0, false), Ok(()));
    assert!(world.memory(2).is_active_core());
    assert!(world.rewind(ended));
    assert_eq!(world.archive(), [(2, None), (5, Some(7)), (6, Some(7))]);
    world.check_replay();
}

#[test]
fn spec_4_3_what_a_rewind_undid_does_not_conflict_with_an_undo() {
    let mut world = session();
    let summary = world.summarise(&[2, 3], "tea, wool");
    world.complete();
    let done = world.now;
    world.open(Mode::Full);
    world.delete(summary);
    world.complete();
    world.discard(2);
    assert!(world.rewind(done));
    assert_eq!(world.undo(0, false), Ok(()));
    assert!(world.memory(2).is_active_core() && !world.memory(summary).is_active());
}

#[test]
fn spec_4_3_a_rewind_undoes_a_rollback_too() {
    let mut world = session();
    let summary = world.summarise(&[2, 3], "tea, wool");
    let edited = world.now;
    world.roll_back();
    assert!(world.rewind(edited));
    assert_eq!(world.archive(), [(2, Some(summary)), (3, Some(summary))]);
    assert_eq!(world.last_session().undone_at, None);
    world.check_replay();
}

#[test]
fn spec_4_3_promoting_and_replacing_are_undone_by_a_rewind() {
    let mut world = World::with(&["^seeds", "tea", "wool", "linen"]);
    let (then, before) = (world.now, world.memories.clone());
    world.tick();
    world.promote(1).unwrap();
    world.save_replacing(core("green tea", "2026-02-01", &[]), &[3]);
    assert!(world.rewind(then));
    world.check_has(&before);
    world.check_replay();
}

#[test]
fn spec_4_3_a_clock_that_went_back_does_not_hide_the_later_records() {
    let mut world = World::with(&["tea"]);
    world.tick();
    let then = world.now;
    world.now = then.plus_days(30);
    world.save(core("written in the future", "2026-01-01", &[]));
    world.now = then;
    world.save(core("written now", "2026-01-01", &[]));
    assert!(!world.rewind(then), "the last record is of then");
}

#[test]
fn spec_4_3_no_rewind_while_a_session_runs() {
    let world = session();
    let plan = plan_rewind(&world.log, Timestamp::MIN);
    let refused = rewind(
        world.agent.clone(),
        world.sessions.clone(),
        &world.log,
        &world.memories,
        &plan,
        &admin(),
        world.now,
    );
    let running = ChangeRefusal::SessionRunning(world.last_session().id);
    assert_eq!(refused, Err(running));
}

#[test]
fn spec_5_1_a_plan_prints_no_words() {
    let world = World::with(&["tea at dawn"]);
    let plan = plan_rewind(&world.log, world.now);
    let printed = format!("{plan:?}");
    assert!(printed.contains("PrivateText(11 characters)"), "{printed}");
    assert!(world.memories.contains_key(&Number(1)) && !printed.contains("dawn"));
}

#[test]
fn spec_4_3_a_rewind_reports_how_many_constitutional_memories_it_takes() {
    let mut world = World::with(TEXTS);
    let then = world.now;
    world.tick();
    world.protect(2);
    world.tick();
    let later = world.now;
    let told = |world: &World| world.last_record().facts.count_of("unprotected");
    assert!(world.rewind(then));
    assert_eq!(told(&world), Some(1));
    // Nothing is taken by what brings it back.
    assert!(world.rewind(later));
    assert_eq!(told(&world), None);
}

#[test]
fn spec_4_3_a_summary_whose_sources_were_shredded_does_not_return() {
    let mut world = session();
    let summary = world.summarise(&[2, 3], "tea");
    world.complete();
    world.tick();
    let then = world.now;
    world.tick();
    world.shred(2).unwrap();
    assert!(world.memory(summary).is_active());
    world.shred(3).unwrap();
    assert!(!world.memory(summary).is_active());
    // `World::rewind` compares what was foreseen with what is done.
    world.rewind(then);
    assert!(!world.memory(summary).is_active());
    let core: u64 = world
        .active(Kind::Core)
        .iter()
        .map(|(number, _)| number)
        .sum();
    assert_eq!(core, 1 + 4 + 5 + 6);
    world.check_replay();
}

#[test]
fn spec_4_3_a_rewind_tells_what_moves_between_prompt_and_archive() {
    let mut world = session();
    world.delete(2);
    world.complete();
    world.tick();
    let then = world.now;
    world.tick();
    world.promote(2).unwrap();
    let preview = |world: &World, to| {
        let plan = plan_rewind(&world.log, to);
        let preview = preview(&world.agent, &world.memories, &plan, world.now);
        (preview.archived, preview.promoted)
    };
    assert_eq!(preview(&world, then), (1, 0));
    let promoted = world.now;
    assert!(world.rewind(then));
    assert_eq!(preview(&world, promoted), (0, 1));
}

#[test]
fn spec_2_4_a_rewind_leaves_no_summary_without_a_source() {
    let mut world = session();
    let summary = world.summarise(&[2, 3], "tea");
    world.complete();
    world.tick();
    let before = world.now;
    world.tick();
    world.promote(2).unwrap();
    world.tick();
    let promoted = world.now;
    assert!(world.rewind(before));
    world.shred(3).unwrap();
    assert!(world.memory(summary).is_active(), "it rests on #2");
    // #2 is core again, and #3 is shredded.
    assert!(world.rewind(promoted));
    assert!(!world.memory(summary).is_active());
    world.check_replay();
}

#[test]
fn spec_3_19_a_summary_that_was_rewritten_under_off_is_one_again() {
    let mut world = session();
    let summary = world.summarise(&[2, 3], "tea");
    world.complete();
    world.set(Field::LossGuard, "off");
    world.open(Mode::Full);
    assert_eq!(world.update(summary, "other words")["type"], "updated");
    assert!(!world.memory(summary).is_summary);
    world.roll_back();
    assert!(world.memory(summary).is_summary);
    assert_eq!(world.text(summary), "tea");
    world.check_replay();
}

#[test]
fn spec_3_19_a_rewritten_summary_does_not_return_without_a_source() {
    for is_protected in [false, true] {
        let mut world = session();
        let summary = world.summarise(&[2, 3], "tea");
        world.complete();
        world.set(Field::LossGuard, "off");
        world.open(Mode::Full);
        world.update(summary, "other words");
        // No summary any more, so it stays as its sources leave it.
        world.promote(2).unwrap();
        world.promote(3).unwrap();
        assert!(world.memory(summary).is_active());
        if is_protected {
            world.protect(summary);
        }
        world.roll_back();
        assert_eq!(world.memory(summary).is_active(), is_protected);
        assert!(world.memory(2).is_active_core() && world.memory(3).is_active_core());
        world.check_replay();
    }
}
