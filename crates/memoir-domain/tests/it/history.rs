//! SPEC 4.1: how memories came to be, told from the log.

use memoir_domain::{
    audit::{Action, Actor, Change, Facts, Record, RecordBody},
    history::{EventMeaning, history},
    memory::{Memory, Number},
    session::Mode,
};
use serde_json::json;

use crate::world::{World, core};

/// What happened to that memory, each in a word, and in brackets where it was taken back.
fn told(world: &World, number: u64) -> Vec<String> {
    let history = history(&world.log, None);
    let story = &history.memories[&Number(number)];
    let words = story.events.iter().map(|event| {
        let what = match &event.what {
            EventMeaning::Saved { content, .. } => format!("saved {}", content.expose()),
            EventMeaning::Merged { from, .. } => format!("merged from {from:?}"),
            EventMeaning::MergedInto { number } => format!("merged into {number}"),
            EventMeaning::TookDoubles { numbers } => format!("took {numbers:?}"),
            EventMeaning::DeduplicatedInto { number } => format!("double of {number}"),
            EventMeaning::Reworded { from, to } => format!("{} → {}", from.expose(), to.expose()),
            EventMeaning::WentBack { to } => {
                format!("{} to {}", event.action.as_str(), to.content.expose())
            }
            other => format!("{other:?}").to_lowercase(),
        };
        if event.in_force {
            what
        } else {
            format!("[{what}]")
        }
    });
    words.collect()
}

fn world() -> World {
    World::with(&["tea", "wool", "linen", "ink", "ink", &"calm ".repeat(400)])
}

#[test]
fn spec_4_1_each_memory_tells_what_happened_to_it() {
    let mut world = world();
    let start = world.now;
    world.open(Mode::Full);
    world.update(1, "tea early");
    world.consolidate(&[2, 3], "wool and linen");
    world.call("protect_memory", json!({"id": 4}));
    world.complete();
    assert_eq!(world.undo(0, false), Ok(()));
    world.protect(1);
    world.unprotect(1);
    world.discard(1);
    world.restore(1);
    world.open(Mode::Full);
    world.delete(2);
    world.complete();
    assert_eq!(
        told(&world, 1),
        [
            "saved tea",
            "[tea → tea early]",
            "session_undone to tea",
            "protected",
            "unprotected",
            "discarded",
            "restored"
        ]
    );
    assert_eq!(
        told(&world, 2),
        [
            "saved wool",
            "[merged into #7]",
            "session_undone to wool",
            "deleted"
        ]
    );
    assert_eq!(
        told(&world, 4),
        [
            "saved ink",
            "took [#5]",
            "[protected]",
            "session_undone to ink"
        ]
    );
    assert_eq!(told(&world, 5), ["saved ink", "double of #4"]);
    assert_eq!(
        told(&world, 7),
        ["[merged from [#2, #3]]", "session_undone to wool and linen"]
    );
    assert!(world.rewind(start));
    world.shred(2).unwrap();
    assert_eq!(
        told(&world, 2),
        [
            "saved ",
            "[merged into #7]",
            "[session_undone to ]",
            "[deleted]",
            "agent_rewound to ",
            "shredded"
        ]
    );
    assert_eq!(
        world.memories.len(),
        history(&world.log, None).memories.len()
    );
}

#[test]
fn spec_4_1_one_memory_is_told_with_all_that_went_into_it_and_what_it_went_into() {
    let mut world = world();
    world.open(Mode::Full);
    world.consolidate(&[1, 2], "tea and wool");
    world.consolidate(&[7, 3], "tea, wool and linen");
    world.consolidate(&[8, 4], "tea, wool, linen and ink");
    world.complete();
    let numbers = |only| {
        let history = history(&world.log, Some(Number(only)));
        let numbers = history.memories.keys().map(|number| number.0);
        numbers.collect::<Vec<_>>()
    };
    assert_eq!(numbers(8), [1, 2, 3, 7, 8, 9]);
    assert_eq!(numbers(1), [1, 7, 8, 9]);
    assert_eq!(numbers(9), [1, 2, 3, 4, 5, 7, 8, 9]);
    assert_eq!(numbers(6), [6]);
    assert!(numbers(40).is_empty());
    let history = history(&world.log, Some(Number(8)));
    let story = &history.memories[&Number(8)];
    assert_eq!(story.parents, [Number(7), Number(3)]);
    assert_eq!(story.went_into, [Number(9)]);
    assert_eq!(history.memories[&Number(7)].events.len(), 2);
    assert!(!format!("{history:?}").contains("wool"));
}

#[test]
fn spec_4_1_two_memories_that_were_each_others_double_do_not_lead_in_circles() {
    let mut world = World::with(&["ink", "ink", &"calm ".repeat(400)]);
    world.open(Mode::Full);
    world.complete();
    world.restore(2);
    world.alter(1, Action::MemoryDiscarded, |memory| {
        memory.created_at = memory.created_at.plus_days(30);
    });
    world.open(Mode::Full);
    assert!(!world.memory(1).is_kept());
    let history = history(&world.log, Some(Number(1)));
    let doubles = |number| &history.memories[&Number(number)].doubles;
    assert_eq!(
        (doubles(1), doubles(2)),
        (&vec![Number(2)], &vec![Number(1)])
    );
}

#[test]
fn spec_4_1_a_chain_of_ten_thousand_merges_is_told() {
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
    let merge = |number: u64| {
        let before = numbered(number - 1);
        let after = Memory {
            discarded_at: Some(world.now),
            ..before.clone()
        };
        let discarded = Change::between(before, &after).unwrap();
        record(number, vec![Change::Created(numbered(number)), discarded])
    };
    let log: Vec<Record> = std::iter::once(record(1, vec![Change::Created(numbered(1))]))
        .chain((2..=10_000).map(merge))
        .collect();
    for only in [1, 5_000, 10_000] {
        let history = history(&log, Some(Number(only)));
        assert_eq!(history.memories.len(), 10_000);
    }
}
