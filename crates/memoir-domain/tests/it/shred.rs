//! SPEC 4.4: text that must not exist is taken out of a memory, its history and the audit.

use std::collections::BTreeSet;

use data_encoding::HEXLOWER;
use memoir_domain::{
    audit::{Action, Change},
    manage::ChangeRefusal,
    mark::TextMark,
    memory::{Archived, ArchivedBy, Kind, NewMemory, Number},
    rollback::plan_undo,
    session::Mode,
    shred::{Derived, ShredTargets, check_wish, derived_from, shred},
};
use serde_json::json;

use crate::world::{World, admin, core, wren};

/// All text that is stored.
fn everything(world: &World) -> String {
    let bodies: Vec<_> = world.log.iter().map(|record| &record.body).collect();
    let memories: Vec<_> = world.memories.values().collect();
    let summaries: Vec<_> = world
        .sessions
        .iter()
        .map(|session| &session.summary)
        .collect();
    json!({"bodies": bodies, "memories": memories, "summaries": summaries}).to_string()
}

fn secret() -> NewMemory {
    NewMemory {
        source: Some("secret letter".into()),
        constitutional: true,
        ..core("the secret is 4711", "2026-01-01", &["secret-tag"])
    }
}

#[test]
fn spec_4_4_nothing_is_left_of_a_memory_but_when_and_why() {
    let mut world = World::over(&["tea at dawn"]);
    world.complete();
    let number = world.save(secret()).0;
    world.unprotect(number);
    world.open(Mode::Full);
    let summary = world.summarise(&[2, number], "tea");
    world.complete();
    // By its mark a guess at a text could be tried.
    let mark = TextMark::of_text(secret().content.expose());
    let mark = HEXLOWER.encode(mark.as_bytes());
    assert!(everything(&world).contains("4711"));
    world.shred(number).unwrap();
    let stored = everything(&world);
    assert!(
        !stored.contains("the secret") && !stored.contains("4711"),
        "{stored}"
    );
    assert!(!stored.contains(&mark), "{stored}");
    let memory = world.memory(number);
    assert_eq!(memory.shredded_at, Some(world.now));
    assert!(memory.source.is_none() && memory.tags.is_empty() && !memory.is_active());
    // The summary is another memory, with the tags that it took.
    assert_eq!(
        (world.text(summary), world.memory(summary).tags.iter().len()),
        ("tea", 1)
    );
    assert_eq!(world.archive(), [(2, Some(summary))]);
    let record = world.last_record();
    assert_eq!(record.action, Action::MemoryShredded);
    assert_eq!(record.memory, Some(Number(number)));
    let reason = record.body.reason.as_ref().map(|words| words.expose());
    assert_eq!(reason, Some("it should not be there"));
    assert_eq!(record.facts.count_of("redacted"), Some(3));
    assert_eq!(record.facts.count_of("tokens_before"), Some(5));
    let tally = world.agent.tally;
    assert_eq!((tally.shredded_count, tally.discarded_count), (1, 0));
    world.check_replay();
}

#[test]
fn spec_4_4_summaries_and_reports_that_were_ever_written_over_a_text_are_named() {
    let mut world = World::over(&["tea at dawn", "warm wool", "linen", "ink"]);
    let first = world.summarise(&[2, 3], "tea, wool");
    let second = world.summarise(&[first, 4], "tea");
    world.complete();
    let report = world.active(Kind::Journal).pop().unwrap().0;
    world.open(Mode::Full);
    world.delete(5);
    world.complete();
    let later = world.active(Kind::Journal).pop().unwrap().0;
    let derived = |number: u64| derived_from(Number(number), &world.log);
    let set = |numbers: &[u64]| numbers.iter().copied().map(Number).collect();
    let expected = Derived {
        summaries: set(&[first, second]),
        reports: set(&[report]),
    };
    assert_eq!((derived(2), derived(3)), (expected.clone(), expected));
    assert_eq!(derived(4).summaries, set(&[second]));
    assert_eq!(
        derived(5),
        Derived {
            summaries: set(&[]),
            reports: set(&[later])
        }
    );
    assert_eq!(derived(1), Derived::default());
}

#[test]
fn spec_4_4_a_summary_that_came_with_an_import_is_named_after_what_became_of_it() {
    let mut world = World::over(&["warm wool"]);
    let summary = Number(5);
    for content in ["tea at dawn", "ink"] {
        let archived = Archived {
            under: Some(summary),
            at: world.now,
            by: ArchivedBy::Saved,
        };
        world.save(NewMemory {
            kind: Kind::Archival,
            archived: Some(archived),
            ..core(content, "2026-01-01", &[])
        });
    }
    let imported = world.save(NewMemory {
        is_summary: true,
        ..core("tea, ink", "2026-01-01", &[])
    });
    assert_eq!(imported, summary);
    let named = |world: &World, number: u64| derived_from(Number(number), &world.log).summaries;
    // Its source is under no memory any more, and its words still rest on it.
    world.promote(3).unwrap();
    assert_eq!(named(&world, 3), BTreeSet::from([summary]));
    // Written anew, it is discarded with its words.
    let renewed = world.summarise(&[5, 2], "wool");
    assert!(!world.memory(5).is_active());
    let both = BTreeSet::from([summary, Number(renewed)]);
    assert_eq!((named(&world, 3), named(&world, 4)), (both.clone(), both));
    assert_eq!(named(&world, 2), BTreeSet::from([Number(renewed)]));
}

#[test]
fn spec_4_4_copies_that_a_cleanup_joined_with_a_memory_are_named() {
    let mut world = World::new();
    let mut save = |text: &str, date: &str| world.save(core(text, date, &[])).0;
    let stays = save("the secret is 4711", "2026-01-01");
    let copy = save("the secret is 4711", "2026-01-02");
    save("warm wool", "2026-01-03");
    let start = world.now;
    world.open(Mode::Full);
    world.complete();
    let done = world.now;
    assert!(!world.memory(copy).is_active());
    let named = |world: &World, number: u64| derived_from(Number(number), &world.log).summaries;
    let nothing: BTreeSet<Number> = BTreeSet::new();
    let copies = BTreeSet::from([Number(copy)]);
    assert_eq!(named(&world, stays), copies);
    assert_eq!(named(&world, copy), nothing);
    // A cleanup that was undone joined nothing.
    world.rewind(start);
    assert_eq!(named(&world, stays), nothing);
    world.rewind(done);
    assert_eq!(named(&world, stays), copies);
    world.shred_together(&[stays, copy]).unwrap();
    world.rewind(start);
    let stored = everything(&world);
    assert!(!stored.contains("4711"), "{stored}");
    world.check_replay();
}

#[test]
fn spec_4_4_memories_that_are_shredded_together_go_in_one_decision() {
    let mut world = World::over(&["the secret is 4711", "warm wool", "linen", "!a vow"]);
    let first = world.summarise(&[2, 3], "secret 4711, wool");
    let second = world.summarise(&[first, 4], "secret 4711");
    world.call(
        "complete_refinement",
        json!({"summary": "joined the secret 4711"}),
    );
    let report = world.active(Kind::Journal).pop().unwrap().0;
    let before = world.log.len();
    // Where one of them must stay, all do.
    let kept = world.shred_together(&[2, 5]);
    assert_eq!(kept, Err(ChangeRefusal::ConstitutionalWish(Number(5))));
    assert_eq!(
        (world.log.len(), world.text(2)),
        (before, "the secret is 4711")
    );
    let numbers = [2, first, second, report];
    world.shred_together(&numbers).unwrap();
    assert_eq!(world.actions_from(before), [Action::MemoryShredded; 4]);
    let stored = everything(&world);
    assert!(!stored.contains("4711"), "{stored}");
    assert_eq!(world.last_session().summary, None);
    let recorded = world.log[before..].iter().map(|record| record.memory);
    assert!(recorded.eq(numbers.map(|number| Some(Number(number)))));
    for number in numbers {
        assert_eq!(world.memory(number).shredded_at, Some(world.now));
    }
    // The other sources stay.
    assert_eq!(world.text(3), "warm wool");
    world.check_replay();
}

#[test]
fn spec_4_4_a_summary_that_loses_its_sources_together_is_discarded_with_its_text() {
    let mut world = World::over(&["tea at dawn", "warm wool"]);
    let summary = world.summarise(&[2, 3], "tea, wool");
    world.complete();
    world.shred_together(&[2, 3]).unwrap();
    assert_eq!(world.text(summary), "tea, wool");
    assert!(!world.memory(summary).is_active() && world.archive().is_empty());
    world.check_replay();
}

#[test]
fn spec_4_4_the_change_begins_with_the_words_and_the_record_does_not() {
    let mut world = World::new();
    let number = world.save(secret());
    let decision = shred(
        world.agent.clone(),
        &[],
        ShredTargets {
            numbers: &[number],
            memories: world.all(),
            rehearsals: &BTreeSet::new(),
        },
        &world.log,
        &"why".into(),
        &admin(),
        world.now,
    )
    .unwrap();
    let before = decision.changes[0].before();
    assert_eq!(before, Some(&world.memories[&number]));
    let after = decision.changes[0].after();
    assert_eq!(after, after.without_text());
    assert!(!after.is_constitutional());
    assert_eq!(
        decision.records[0].body.changes[0].before(),
        Some(&world.memories[&number].without_text())
    );
    assert!(!format!("{decision:?}").contains("4711"));
    assert_eq!(decision.redactions.len(), 1);
    let body = &decision.redactions[0].body;
    let Change::Created(created) = &body.changes[0] else {
        panic!("it stays what it was");
    };
    assert!(created.is_constitutional());
}

#[test]
fn spec_4_4_a_constitutional_and_a_discarded_memory_can_be_shredded_once() {
    let mut world = World::with(&["!a vow", "wool"]);
    world.discard(2);
    let discarded_at = world.memory(2).discarded_at;
    let alone = check_wish(world.memory(1), &wren());
    assert_eq!(alone, Err(ChangeRefusal::ConstitutionalWish(Number(1))));
    for number in [1, 2] {
        world.shred(number).unwrap();
        assert_eq!(
            world.shred(number),
            Err(ChangeRefusal::Shredded(Number(number)))
        );
    }
    assert_eq!(world.memory(2).discarded_at, discarded_at);
    assert_eq!(world.agent.tally.shredded_count, 2);
    world.check_replay();
}

#[test]
fn spec_4_4_tags_that_a_memory_took_from_a_duplicate_go_with_that_memory() {
    let mut world = World::new();
    let stays = world.save(core("ink", "2026-01-01", &["plain"]));
    let copy = world.save(core("ink", "2026-01-02", &["secret-tag"]));
    world.open(Mode::Full);
    world.complete();
    assert_eq!(world.memories[&stays].tags.iter().len(), 2);
    world.shred(copy.0).unwrap();
    assert!(
        everything(&world).contains("secret"),
        "the one that stays has it"
    );
    world.shred(stays.0).unwrap();
    assert!(!everything(&world).contains("secret"));
    world.check_replay();
}

#[test]
fn spec_4_4_not_while_a_session_runs() {
    let mut world = World::session(&["tea", "wool"]);
    let running = ChangeRefusal::SessionRunning(world.last_session().id);
    assert_eq!(running.code(), "session_open");
    assert_eq!(world.shred(1), Err(running));
}

#[test]
fn spec_4_4_an_undo_and_a_rewind_leave_a_shredded_memory_shredded() {
    let mut world = World::over(&["tea at dawn", "warm wool"]);
    let start = world.now;
    let summary = world.summarise(&[2, 3], "tea, wool");
    world.complete();
    let done = world.now;
    world.shred(2).unwrap();
    let shredded = world.memory(2).clone();
    let plan = plan_undo(world.last_session().id, &world.log);
    assert!(
        plan.obstacles.is_empty(),
        "shredding conflicts with nothing"
    );
    assert_eq!(world.undo(0, false), Ok(()));
    assert_eq!(world.memory(2), &shredded);
    assert!(world.memory(3).is_active_core() && !world.memory(summary).is_active());
    for to in [done, start] {
        assert!(world.rewind(to));
        assert_eq!(world.memory(2), &shredded);
        world.check_replay();
    }
}

#[test]
fn spec_4_4_the_report_goes_with_the_entry_that_quotes_it() {
    let mut world = World::session(&["tea", "wool"]);
    world.call("complete_refinement", json!({"summary": "a secret slip"}));
    let (number, _) = world.active(Kind::Journal)[0];
    assert!(world.last_session().summary.is_some());
    world.shred(number).unwrap();
    assert_eq!(world.last_session().summary, None);
    assert!(!everything(&world).contains("secret"));
    world.check_replay();
}
