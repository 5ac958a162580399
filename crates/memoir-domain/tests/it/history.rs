//! SPEC 4.1: how memories came to be, from the log.

use memoir_domain::{
    audit::{Action, Actor, Change, Facts, Record, RecordBody},
    history::{EventMeaning, history},
    memory::{Memory, Number},
    session::Mode,
};
use serde_json::json;

use crate::world::{World, core};

/// What happened to that memory, each in a word, and in brackets where it was undone.
fn events(world: &World, number: u64) -> Vec<String> {
    let history = history(&world.log, None);
    let story = &history.memories[&Number(number)];
    let words = story.events.iter().map(|event| {
        let what = match &event.what {
            EventMeaning::Saved { content, .. } => format!("saved {}", content.expose()),
            EventMeaning::Merged { from, .. } => format!("over {from:?}"),
            EventMeaning::MergedInto { number } => format!("under {number}"),
            EventMeaning::TookDoubles { numbers } => format!("joined {numbers:?}"),
            EventMeaning::DeduplicatedInto { number } => format!("duplicate of {number}"),
            EventMeaning::Reworded { from, to } => format!("{} → {}", from.expose(), to.expose()),
            EventMeaning::WentBack { to } => {
                format!("{} to {}", event.action.as_str(), to.content.expose())
            }
            EventMeaning::Changed { to } => format!("{} {:?}", event.action.as_str(), to.kind()),
            other => format!("{other:?}").to_lowercase(),
        };
        match event.effective {
            true => what,
            false => format!("[{what}]"),
        }
    });
    words.collect()
}

/// #2 to #6, over the budget; the cleanup joined #6 with #5.
fn world() -> World {
    World::over(&["tea at dawn", "warm wool", "linen", "ink", "ink"])
}

#[test]
fn spec_4_1_each_memory_has_the_story_of_what_happened_to_it() {
    let mut world = world();
    let start = world.now;
    let tea = world.summarise(&[2], "tea");
    let cloth = world.summarise(&[3, 4], "cloth");
    world.summarise(&[cloth], "flax");
    world.update(5, "ink!");
    world.call("protect_memory", json!({"id": 5}));
    world.complete();
    assert_eq!(world.undo(0, false), Ok(()));
    world.protect(2);
    world.unprotect(2);
    world.discard(2);
    world.restore(2);
    world.open(Mode::Full);
    world.delete(3);
    world.complete();
    world.promote(3).unwrap();
    let saved = world
        .save_replacing(core("flax", "2026-02-01", &[]), &[4])
        .number;
    for (number, expected) in [
        (
            2,
            json!([
                "saved tea at dawn",
                "[under #7]",
                "session_undone to tea at dawn",
                "protected",
                "unprotected",
                "discarded",
                "restored"
            ]),
        ),
        (
            3,
            json!([
                "saved warm wool",
                "[under #8]",
                "[memory_refinement_update Archival]",
                "session_undone to warm wool",
                "deleted",
                "memory_promoted Core"
            ]),
        ),
        (
            5,
            json!([
                "saved ink",
                "joined [#6]",
                "[ink → ink!]",
                "[protected]",
                "session_undone to ink"
            ]),
        ),
        (6, json!(["saved ink", "duplicate of #5"])),
        (tea, json!(["[over [#2]]", "session_undone to tea"])),
        (
            cloth,
            json!(["[over [#3, #4]]", "[under #9]", "session_undone to cloth"]),
        ),
    ] {
        assert_eq!(json!(events(&world, number)), expected, "{number}");
    }
    assert_eq!(events(&world, 4).last(), Some(&format!("under {saved}")));
    assert!(world.rewind(start));
    world.shred(4).unwrap();
    let last: Vec<String> = events(&world, 4).into_iter().rev().take(2).collect();
    assert_eq!(last, ["shredded", "agent_rewound to "]);
    assert_eq!(
        world.memories.len(),
        history(&world.log, None).memories.len()
    );
}

#[test]
fn spec_4_1_one_memory_is_shown_with_all_that_it_came_from_and_what_took_its_place() {
    let mut world = world();
    let first = world.summarise(&[2, 3], "tea, wool");
    let second = world.summarise(&[first, 4], "tea");
    world.complete();
    let third = world
        .save_replacing(core("all new", "2026-02-01", &[]), &[second])
        .number
        .0;
    let numbers = |only| {
        let history = history(&world.log, Some(Number(only)));
        let numbers = history.memories.keys().map(|number| number.0);
        numbers.collect::<Vec<_>>()
    };
    assert_eq!(numbers(second), [2, 3, 4, first, second, third]);
    assert_eq!(numbers(2), [2, first, second, third]);
    assert_eq!(numbers(5), [5, 6]);
    assert_eq!(numbers(1), [1]);
    assert!(numbers(40).is_empty());
    let history = history(&world.log, Some(Number(second)));
    let story = &history.memories[&Number(second)];
    assert_eq!(story.parents, [Number(first), Number(4)]);
    assert_eq!(story.went_into, [Number(third)]);
    assert!(!format!("{history:?}").contains("wool"));
}

#[test]
fn spec_4_1_two_memories_that_were_each_kept_for_the_other_do_not_lead_in_circles() {
    let mut world = World::session(&["The gate is green.", "The gate is painted green."]);
    world.consolidate(&[2, 3], "The gate is green.");
    world.roll_back();
    world.open(Mode::Full);
    world.consolidate(&[2, 3], "The gate is painted green.");
    let history = history(&world.log, Some(Number(2)));
    let (one, other) = (&history.memories[&Number(2)], &history.memories[&Number(3)]);
    assert_eq!(
        (&one.parents[..], &one.duplicates[..]),
        (&[][..], &[Number(3)][..])
    );
    assert_eq!(
        (&other.parents[..], &other.duplicates[..]),
        (&[Number(2)][..], &[][..])
    );
}

#[test]
fn spec_4_1_a_chain_of_ten_thousand_consolidations_is_shown() {
    let world = World::new();
    let first = core("tea", "2026-01-01", &[]).into_memory(Number(1), 1, world.now);
    let record = |seq: u64, changes| Record {
        seq,
        recorded_at: world.now,
        actor: Actor::system(),
        action: Action::MemoryRefinementConsolidate,
        session: None,
        memory: Some(Number(seq)),
        facts: Facts::default(),
        body: RecordBody {
            changes,
            ..RecordBody::default()
        },
    };
    let numbered = |number| Memory {
        number: Number(number),
        ..first.clone()
    };
    let consolidation = |number: u64| {
        let before = numbered(number - 1);
        let after = before.discarded(world.now);
        let discarded = Change::between(before, &after).unwrap();
        record(number, vec![Change::Created(numbered(number)), discarded])
    };
    let log: Vec<Record> = std::iter::once(record(1, vec![Change::Created(numbered(1))]))
        .chain((2..=10_000).map(consolidation))
        .collect();
    for only in [1, 5_000, 10_000] {
        let history = history(&log, Some(Number(only)));
        assert_eq!(history.memories.len(), 10_000);
    }
}
