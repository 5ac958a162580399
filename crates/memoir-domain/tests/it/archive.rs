//! SPEC 3.12, 2.4 and 1: nothing is lost; replacing and promoting; what is under what.

use memoir_domain::{
    PrivateText,
    absorption::{self, CoreNote},
    audit::{Action, Actor, ActorKind},
    draft::Decision,
    manage::{self, ChangeRefusal, Saving},
    memory::{ArchivedBy, Kind, NewMemory, Number},
    origin::Origin,
    replace::{NotReplaced, Unreplaced, WEEK_LIMIT},
    rollback,
    session::Mode,
};
use serde_json::json;

use crate::world::{BALLAST, World, core, of_origin, padding, wren};

fn fact(content: &str) -> NewMemory {
    core(content, "2026-02-01", &[])
}

/// The reasons why memories were not replaced, by number.
fn reasons(not_replaced: &[Unreplaced]) -> Vec<(u64, NotReplaced)> {
    not_replaced
        .iter()
        .map(|one| (one.number.0, one.reason))
        .collect()
}

#[test]
fn spec_3_12_every_original_is_in_the_prompt_or_in_the_archive() {
    let mut world = World::over(&[
        "tea at dawn",
        "tea at noon",
        "tea at night",
        "^seeds",
        "~walk",
    ]);
    assert_eq!(
        world.check_replay().to_string(),
        "5 originals: 4 in the prompt, 1 in the archive, 0 lost"
    );
    let summary = world.summarise(&[2, 3], "tea, tea");
    world.summarise(&[summary, 4], "tea");
    world.complete();
    let originals = world.check_replay();
    assert_eq!(
        (originals.in_prompt, originals.archived, originals.total),
        (1, 4, 5)
    );
    // What is discarded outside of sessions is not counted, and neither is what a summary said.
    world.discard(5);
    assert_eq!(world.check_replay().total, 4);
    world.promote(3).unwrap();
    let originals = world.check_replay();
    assert_eq!((originals.in_prompt, originals.archived), (2, 2));
    for (number, text) in [(2, "tea at dawn"), (3, "tea at noon"), (4, "tea at night")] {
        assert_eq!(world.text(number), text);
    }
}

#[test]
fn spec_3_12_copies_that_a_cleanup_discarded_are_counted_once() {
    let mut world = World::with(&["tea", "tea", "Tea", &padding(40)]);
    world.open(Mode::Full);
    assert_eq!(
        world.check_replay().to_string(),
        "3 originals: 3 in the prompt, 0 in the archive, 0 lost"
    );
}

/// An edit by the owner.
fn edit(world: &World, number: u64, text: &str) -> Result<Option<Decision>, ChangeRefusal> {
    let sources: Vec<_> = world.all().sources(Number(number)).cloned().collect();
    let text = PrivateText::from(text);
    let (agent, memory) = (world.agent.clone(), world.memory(number));
    manage::edit(
        agent,
        None,
        memory,
        &text,
        &sources,
        &Actor::owner(),
        world.now,
    )
}

#[test]
fn spec_3_12_an_edit_by_the_owner_is_a_new_original_that_replaces_the_old_one() {
    let mut world = World::with(&["Mira lives in Bremen.", "!a vow", "~day", "wool"]);
    // The same text is on the record, and nothing else (SPEC 4.3).
    let same = edit(&world, 1, "Mira lives in Bremen.").unwrap().unwrap();
    assert_eq!((same.changes.len(), same.records.len()), (0, 1));
    world.apply(same);
    world.tick();
    let edited = edit(&world, 1, "Mira lives in Kiel.").unwrap();
    world.apply(edited.unwrap());
    assert_eq!(
        (world.text(1), world.text(5)),
        ("Mira lives in Bremen.", "Mira lives in Kiel.")
    );
    assert_eq!(world.archive(), [(1, Some(5))]);
    assert_eq!(world.memory(5).created_at, world.memory(1).created_at);
    assert_eq!(world.memory(5).origin(), Origin::Administrator);
    let actions = world.actions_from(world.log.len() - 2);
    assert_eq!(actions, [Action::MemoryEdited, Action::MemorySaved]);
    assert!(world.last_entry().contains("#1") && world.last_entry().contains("#5"));
    let refused = |number: u64| edit(&world, number, "silk").unwrap_err();
    assert_eq!(refused(1), ChangeRefusal::NotCore(Number(1)));
    assert_eq!(refused(2), ChangeRefusal::Constitutional(Number(2)));
    assert_eq!(refused(3), ChangeRefusal::NotCore(Number(3)));
    world.check_replay();
}

#[test]
fn spec_4_3_a_text_that_the_owner_left_as_it_is_conflicts_with_an_undo_by_the_agent() {
    let mut world = World::over(&["Ann likes tea.", "Ann sings."]);
    let summary = world.summarise(&[2, 3], "Ann: tea.");
    world.complete();
    world.tick();
    let same = edit(&world, summary, "Ann: tea.").unwrap().unwrap();
    assert_eq!((same.changes.len(), same.records.len()), (0, 1));
    world.apply(same);
    let plan = rollback::plan_undo(world.last_session().id, &world.log);
    assert!(!plan.is_allowed_to(ActorKind::Agent));
    let conflicts = plan.obstacles.iter().map(|obstacle| obstacle.action);
    assert_eq!(conflicts.collect::<Vec<_>>(), [Action::MemoryEdited]);
    world.check_replay();
}

#[test]
fn spec_3_12_the_sources_of_a_summary_that_the_owner_edits_come_under_the_new_text() {
    let mut world = World::over(&["Ann likes tea.", "Ann sings."]);
    let summary = world.summarise(&[2, 3], "Ann: tea.");
    world.complete();
    let edited = edit(&world, summary, "Ann has moved.").unwrap().unwrap();
    world.apply(edited);
    assert!(!world.memory(summary).is_active());
    let new = world.core_numbers().pop();
    assert_eq!(world.archive(), [(2, new), (3, new)]);
    world.check_replay();
}

#[test]
fn spec_2_4_an_edit_by_the_owner_makes_no_origin_stronger() {
    let mut world = World::new();
    world.save(of_origin(Origin::External, fact("Ann likes tea.")));
    let edited = edit(&world, 1, "Ann likes milk.").unwrap();
    world.apply(edited.unwrap());
    assert_eq!(world.memory(2).origin(), Origin::External);
}

#[test]
fn spec_2_4_replacing_is_a_record_of_its_own_after_that_of_the_save() {
    let mut world = World::with(&[&padding(BALLAST), "Ann lives in Bonn.", "Ann is in Bonn."]);
    world.tick();
    let saved = world.save_replacing(fact("Ann lives in Oslo."), &[2, 3, 2]);
    assert_eq!(saved.replacements.replaced, [Number(2), Number(3)]);
    assert_eq!(world.archive(), [(2, Some(4)), (3, Some(4))]);
    let archived = world.memory(2).place.archived().unwrap();
    assert_eq!(
        (archived.by, archived.at),
        (ArchivedBy::Replaced, world.now)
    );
    let records: Vec<_> = world.log.iter().rev().take(3).rev().collect();
    let told: Vec<_> = records
        .iter()
        .map(|record| (record.action, record.memory.unwrap().0))
        .collect();
    assert_eq!(
        told,
        [
            (Action::MemorySaved, 4),
            (Action::MemoryReplaced, 2),
            (Action::MemoryReplaced, 3)
        ]
    );
    assert_eq!(records[1].facts.count_of("replaced_by"), Some(4));
    assert_eq!(world.agent.tally.replaced_count, 2);
    // Discarding what replaced others does not bring them back; they read as under none.
    world.discard(4);
    assert_eq!(world.archive(), [(2, None), (3, None)]);
    world.check_replay();
}

#[test]
fn spec_2_4_at_most_ten_memories_are_replaced_in_any_seven_days() {
    let texts: Vec<String> = (0..12).map(|number| format!("fact {number}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut world = World::with(&[&padding(BALLAST)]).saving(&texts);
    let numbers: Vec<u64> = (2..=13).collect();
    let saved = world.save_replacing(fact("new facts"), &numbers);
    assert_eq!(saved.replacements.replaced.len(), WEEK_LIMIT as usize);
    let limited = NotReplaced::WeekLimit;
    assert_eq!(
        reasons(&saved.replacements.not_replaced),
        [(12, limited), (13, limited)]
    );
    world.now = world.now.plus_days(7);
    let saved = world.save_replacing(fact("newer facts"), &[12, 13]);
    assert_eq!(saved.replacements.replaced.len(), 2);
}

#[test]
fn spec_2_4_entries_of_a_batch_are_decided_in_order() {
    let mut world = World::with(&[&padding(BALLAST), "Ann lives in Bonn."]);
    let batch = [
        ("Ann lives in Oslo.", 2),
        ("Ann lives in Rome.", 3),
        ("Ann lives in Kiel.", 2),
    ];
    let batch = batch.map(|(content, replaces)| Saving {
        memory: fact(content),
        replaces: vec![Number(replaces)],
    });
    let agent = world.agent.clone();
    let (decision, saved) = manage::save(
        agent,
        batch.into(),
        &mut world.replacing(),
        &wren(),
        world.now,
    );
    world.apply(decision);
    assert_eq!(
        reasons(&saved[2].replacements.not_replaced),
        [(2, NotReplaced::NotCore)]
    );
    assert_eq!(world.archive(), [(2, Some(3)), (3, Some(4))]);
    assert_eq!(
        world.all().now_at(world.memory(2)).unwrap().number,
        Number(4)
    );
}

#[test]
fn spec_2_4_replacing_keeps_a_sixth_of_every_age() {
    let texts: Vec<String> = (b'a'..=b'g')
        .map(|letter| char::from(letter).to_string().repeat(40))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut world = World::with(&texts);
    // 6 in >= all: with the memory itself, two of seven stay.
    let saved = world.save_replacing(fact("new"), &[7, 6, 5, 4, 3, 2]);
    assert_eq!(reasons(&saved.replacements.not_replaced), []);
    let saved = world.save_replacing(fact("newer"), &[1]);
    assert_eq!(
        reasons(&saved.replacements.not_replaced),
        [(1, NotReplaced::AgeLimit)]
    );
}

#[test]
fn spec_2_6_what_is_absorbed_replaces_what_it_names_but_not_the_agents_own_word() {
    let mut world = World::with(&[&padding(BALLAST), "Ann lives in Bonn."]);
    let note = |content: &str, replaces: &[u64]| CoreNote::Replacing {
        content: content.into(),
        replaces: replaces
            .iter()
            .map(|number| json!(format!("#{number}")))
            .collect(),
    };
    let mut absorb = |note: CoreNote| {
        let notes = absorption::noted(&[], &[note], world.now, ActorKind::Agent).unwrap();
        let agent = world.agent.clone();
        let (decision, saved) =
            absorption::absorb(agent, notes, &mut world.replacing(), 3, world.now);
        world.apply(decision);
        let facts = world.last_record().facts.as_map().clone();
        (saved[0].number.0, saved[0].replacements.clone(), facts)
    };
    let (first, done, facts) = absorb(note("Ann lives in Oslo.", &[2]));
    assert_eq!(reasons(&done.not_replaced), [(2, NotReplaced::Origin)]);
    assert_eq!(
        facts["not_replaced"],
        json!([{"number": 2, "reason": "origin"}])
    );
    let (second, done, facts) = absorb(note("Ann lives in Rome.", &[first]));
    assert_eq!(
        (done.replaced, &facts["replaced"]),
        (vec![Number(first)], &json!(1))
    );
    assert_eq!(world.archive(), [(first, Some(second))]);
}

#[test]
fn spec_2_4_a_memory_saved_as_archival_is_under_none_and_can_be_promoted() {
    let mut world = World::with(&["^an old list of seeds", "tea", "~walk"]);
    let archived = world.memory(1).place.archived().unwrap();
    assert_eq!((archived.under, archived.by), (None, ArchivedBy::Saved));
    assert_eq!(world.memory(1).core_seq, None);
    world.tick();
    world.promote(1).unwrap();
    let memory = world.memory(1);
    assert_eq!(
        (memory.kind(), memory.core_seq),
        (Kind::Core, Some(world.log.len() as u64))
    );
    assert_eq!(world.last_record().action, Action::MemoryPromoted);
    for number in [1, 2, 3] {
        let refused = world.promote(number).unwrap_err();
        assert_eq!(refused, ChangeRefusal::NotArchival(Number(number)));
    }
    world.discard(2);
    assert_eq!(world.promote(2), Err(ChangeRefusal::Discarded(Number(2))));
    world.check_replay();
}

#[test]
fn spec_2_4_a_promoted_memory_keeps_its_age_origin_tags_and_date() {
    let mut world = World::session(&["@hum", "tea"]);
    let before = world.memory(3).clone();
    world.delete(3);
    world.complete();
    world.promote(3).unwrap();
    let expected = memoir_domain::memory::Memory {
        updated_at: world.memory(3).updated_at,
        ..before
    };
    assert_eq!(*world.memory(3), expected);
}

#[test]
fn spec_2_4_a_summary_goes_with_its_last_source_by_promotion_discard_and_shredding() {
    type Act = fn(&mut World, u64);
    let acts: [Act; 3] = [
        |world, number| world.promote(number).unwrap(),
        |world, number| world.discard(number),
        |world, number| world.shred(number).unwrap(),
    ];
    for act in acts {
        let mut world = World::over(&["Ann likes tea.", "Ann sings."]);
        let summary = world.summarise(&[2, 3], "Ann: tea.");
        world.complete();
        act(&mut world, 2);
        assert!(world.memory(summary).is_active(), "one source is left");
        act(&mut world, 3);
        assert!(!world.memory(summary).is_active());
        world.check_replay();
    }
}

#[test]
fn spec_4_3_a_discarded_summary_is_not_restored_by_itself() {
    let mut world = World::over(&["Ann likes tea.", "Ann sings."]);
    let summary = world.summarise(&[2, 3], "Ann: tea.");
    world.summarise(&[summary], "Ann.");
    world.complete();
    let memory = world.memory(summary);
    let refused = manage::restore(world.agent.clone(), memory, &wren(), world.now).unwrap_err();
    assert_eq!(refused.code(), "not_applicable");
}
