//! What holds after any sequence of calls.

use std::collections::{BTreeMap, BTreeSet};

use memoir_domain::{
    Timestamp,
    agent::Field,
    audit::{Action, Change, Record, Setting},
    knife::session_gauge,
    lifecycle,
    memory::{Kind, Memory, NewMemory, Number},
    session::{EDIT_CAP, EndReason, Mode, State},
    wording::Wording,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::{World, admin, core};

#[derive(Debug, Clone)]
pub(crate) enum Step {
    Call(&'static str, Value),
    Threshold(&'static str),
    Guard(&'static str),
    Save(String),
}

pub(crate) fn number() -> impl Strategy<Value = u64> {
    prop_oneof![12 => 1u64..14, 1 => 14u64..40]
}

/// Texts that are often equal, often parts of each other, and carry details.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        6 => prop::sample::select(vec!["calm", "river", "under", "green", "trees", "moves", "slowly"]),
        2 => prop::sample::select(vec!["not", "4711", "Ana", "07:30", "\"so be it\"", "❤️", "本を"]),
    ];
    prop::collection::vec(word, 1..9).prop_map(|words| words.join(" "))
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let call = |tool: &'static str, arguments: BoxedStrategy<Value>| {
        arguments.prop_map(move |arguments| Step::Call(tool, arguments))
    };
    let one = || number().prop_map(|id| json!({"id": id})).boxed();
    let rewrite =
        (number(), text()).prop_map(|(id, content)| json!({"id": id, "content": content}));
    let merge = (prop::collection::vec(number(), 2..4), text())
        .prop_map(|(ids, content)| json!({"ids": ids, "content": content}));
    let broken = prop_oneof![
        Just(json!({})),
        Just(json!(null)),
        Just(json!({"id": "#0", "ids": "1 2", "content": ""})),
        Just(json!({"id": 1, "content": "x".repeat(10_001)})),
    ];
    let tool = prop::sample::select(vec![
        "update_memory",
        "delete_memory",
        "consolidate_memories",
        "protect_memory",
        "drop_table",
    ]);
    prop_oneof![
        4 => call("delete_memory", one()),
        6 => call("update_memory", rewrite.boxed()),
        4 => call("consolidate_memories", merge.boxed()),
        2 => call("protect_memory", one()),
        1 => Just(Step::Call("search_memories", json!({"query": "river"}))),
        1 => (tool, broken).prop_map(|(tool, arguments)| Step::Call(tool, arguments)),
        1 => prop::sample::select(vec!["0.2", "0.9", "1"]).prop_map(Step::Threshold),
        1 => prop::sample::select(vec!["limit", "refuse", "off"]).prop_map(Step::Guard),
        1 => text().prop_map(Step::Save),
    ]
}

pub(crate) fn memory() -> impl Strategy<Value = NewMemory> {
    let tag = prop::sample::select(vec![&[][..], &["tea"], &["voice"], &["Somatic", "tea"]]);
    let kind = prop_oneof![8 => Just(Kind::Core), 1 => Just(Kind::Journal)];
    (text(), 1u8..28, tag, kind, prop::bool::weighted(0.2)).prop_map(
        |(content, day, tags, kind, constitutional)| NewMemory {
            kind,
            constitutional,
            ..core(&content, &format!("2026-01-{day:02}"), tags)
        },
    )
}

pub(crate) fn world_of(memories: Vec<NewMemory>) -> World {
    let mut world = World::new();
    // A session has something to refine, and the breaker leaves room for some edits.
    world.save(core(&"ballast ".repeat(12), "2025-12-01", &[]));
    for memory in memories {
        world.save(memory);
    }
    world.set(Field::RefinementThreshold, "0.6");
    world
}

/// Plays the steps in the open session, holding what must hold after each; `seen` is every memory
/// outside of the session as it stood when it was saved.
pub(crate) fn play(world: &mut World, steps: &[Step], seen: &mut BTreeMap<Number, Memory>) {
    let immutable = world.agent.settings.immutable_tag_set();
    let mut edits = world.session().edits;
    for step in steps {
        let before = world.memories.clone();
        let log = world.log.len();
        match step {
            Step::Threshold(value) => world.set(Field::RefinementThreshold, value),
            Step::Guard(value) => world.set(Field::LossGuard, value),
            Step::Save(text) => {
                let number = world.save(core(text, "2026-02-01", &[]));
                seen.insert(number, world.memories[&number].clone());
            }
            Step::Call(tool, arguments) => {
                let result = world.call(tool, arguments.clone());
                let kind = result["type"].as_str().unwrap();
                if kind == "error" || kind == "search_results" {
                    assert_eq!(world.memories, before, "nothing changes");
                    assert_eq!(world.log.len(), log, "nothing is recorded");
                }
                if ["consolidated", "updated", "deleted"].contains(&kind) {
                    edits += 1;
                    check_mass(world);
                }
                if world.session().state == State::Open {
                    check_protected(world, &before, &immutable);
                    assert_eq!(world.session().edits, edits);
                }
                assert!(
                    world.session().edits <= EDIT_CAP + u32::from(kind == "refinement_rolled_back")
                );
            }
        }
    }
}

/// SPEC 3.13, in integers of its own: thresholds here have two decimals at most.
fn check_mass(world: &World) {
    let reading = session_gauge(&world.agent, world.session());
    let hundredths = (reading.threshold.share() * 100.0).round() as u64;
    let least = hundredths * reading.pre_session_tokens;
    assert!(world.agent.tally.core_tokens * 100 >= least);
    let left = reading
        .pre_session_tokens
        .saturating_sub(reading.removed_tokens);
    assert!(left * 100 >= least);
}

fn check_protected(world: &World, before: &BTreeMap<Number, Memory>, immutable: &BTreeSet<String>) {
    for (number, memory) in before.iter().filter(|(_, memory)| memory.is_kept_core()) {
        let now = &world.memories[number];
        if memory.tags.contains_any(immutable) && !memory.is_constitutional() {
            assert_eq!((&now.content, &now.tags), (&memory.content, &memory.tags));
            assert!(now.is_kept());
        }
        if let Some(seq) = memory.protected_seq {
            assert_eq!(now.protected_seq, Some(seq));
            assert!(now.is_kept());
            let protected = &world.log[seq as usize - 1];
            let protected = memoir_domain::wording::text_in(protected, *number).unwrap();
            let read = memoir_details::Reading::of(protected.expose());
            let written = memoir_details::Reading::of(now.content.expose());
            assert!(memoir_details::unsaid(&[&read], &written).is_empty());
        }
    }
}

/// Every memory of `seen` is as it was, and every other one is gone but for Memoir's own entries.
fn check_restored(world: &World, seen: &BTreeMap<Number, Memory>) {
    for (number, memory) in &world.memories {
        match seen.get(number) {
            Some(before) => assert_eq!(memory, before, "every byte, flag, tag and date"),
            None => assert!(
                !memory.is_kept() || memory.kind == Kind::Journal,
                "{number} was made by the session"
            ),
        }
    }
    assert_eq!(world.replayed(), world.memories, "the log is complete");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn spec_3_19_any_calls_and_then_a_rollback_give_every_byte_back(
        memories in prop::collection::vec(memory(), 2..10),
        steps in prop::collection::vec(step(), 0..24),
        by_undo in any::<bool>(),
    ) {
        let mut world = world_of(memories);
        world.open(Mode::Full);
        let mut seen = world.memories.clone();
        play(&mut world, &steps, &mut seen);
        if world.session().state == State::Open && by_undo {
            world.complete();
        }
        match world.session().state {
            State::Open => world.roll_back(),
            State::Completed => prop_assert_eq!(world.undo(0, false), Ok(())),
            _ => {}
        }
        check_restored(&world, &seen);
    }

    #[test]
    fn spec_4_3_an_undo_with_all_that_is_in_the_way_leaves_what_the_rest_of_the_log_tells(
        memories in prop::collection::vec(memory(), 2..8),
        sessions in prop::collection::vec((prop::collection::vec(step(), 0..6), 0u8..4, number()), 1..5),
        undone in prop::collection::vec(0usize..5, 1..4),
    ) {
        let mut world = world_of(memories);
        for (steps, end, number) in sessions {
            world.set(Field::RefinementThreshold, "0.3");
            world.open(Mode::Full);
            play(&mut world, &steps, &mut BTreeMap::new());
            finish(&mut world, end);
            meddle(&mut world, number);
        }
        for place in undone {
            let place = place % world.sessions.len();
            let is_undoable = world.sessions[place].undone_at.is_none()
                && world.sessions[place].state != State::RolledBack;
            if is_undoable {
                prop_assert_eq!(world.undo(place, true), Ok(()));
            }
        }
        prop_assert_eq!(world.replayed(), world.memories.clone());
        let standing = standing(&world.log);
        for (number, memory) in &world.memories {
            let mut memory = memory.clone();
            if standing[number].discarded_at == UNMADE && !memory.is_kept() {
                memory.discarded_at = UNMADE;
            }
            prop_assert_eq!(&memory, &standing[number]);
        }
    }
}

/// Ends the session in one of the ways in which its edits stay, or rolls it back.
pub(crate) fn finish(world: &mut World, end: u8) {
    if world.session().state != State::Open {
        return;
    }
    match end {
        0 => world.roll_back(),
        1 => {
            let (agent, session) = (world.agent.clone(), world.session().clone());
            let why = EndReason::TurnLimit;
            let decision = lifecycle::abandon(agent, session, why, &admin(), world.now);
            world.apply(decision);
        }
        _ => {
            world.complete();
        }
    }
}

/// Whether sessions let words go of the wording that was given to the memory.
fn has_lost_words(memory: &Memory) -> bool {
    let mut own = memory.wordings.iter();
    let is_own = |own: &&Wording| own.number == memory.number;
    own.find(is_own).is_some_and(|own| !own.let_go.is_empty())
}

/// An administrator restores, or else protects, that memory between two sessions.
pub(crate) fn meddle(world: &mut World, number: u64) {
    world.tick();
    match world.memories.get(&Number(number)) {
        Some(memory) if !memory.is_kept() || has_lost_words(memory) => world.restore(number),
        Some(memory) if memory.is_kept_core() && !memory.is_constitutional() => {
            world.protect(number)
        }
        _ => {}
    }
}

/// The date of discarding of what was made by a record that was taken back.
const UNMADE: Option<Timestamp> = Some(Timestamp::MIN);

/// The memories as the log tells them without the records that were taken back, and without those
/// that took them back.
fn standing(log: &[Record]) -> BTreeMap<Number, Memory> {
    let taken_back: BTreeSet<u64> = log
        .iter()
        .filter_map(|record| record.facts.as_map().get("taken_back")?.as_array())
        .flatten()
        .filter_map(Value::as_u64)
        .collect();
    let mut memories: BTreeMap<Number, Memory> = BTreeMap::new();
    for record in log {
        let stands = !taken_back.contains(&record.seq);
        let takes_back = matches!(
            record.action,
            Action::MemoryRefinementRollback | Action::SessionUndone
        );
        for change in &record.body.changes {
            match change {
                Change::Created(memory) => {
                    let mut memory = memory.clone();
                    memory.discarded_at = if stands { None } else { UNMADE };
                    memories.insert(memory.number, memory);
                }
                Change::Altered { before, patch } if stands && !takes_back => {
                    let memory = memories.get_mut(&before.number).unwrap();
                    let patch = patch.clone();
                    memory.content = patch.content.unwrap_or(memory.content.clone());
                    memory.tags = patch.tags.unwrap_or(memory.tags.clone());
                    memory.created_at = patch.created_at.unwrap_or(memory.created_at);
                    memory.updated_at = patch.updated_at.unwrap_or(memory.updated_at);
                    set(&mut memory.protected_seq, patch.protected_seq);
                    if let Some(wordings) = patch.wordings {
                        memory.wordings = wordings;
                    }
                    set(&mut memory.discarded_at, patch.discarded_at);
                }
                Change::Altered { .. } => {}
            }
        }
    }
    memories
}

fn set<T>(property: &mut Option<T>, setting: Option<Setting<T>>) {
    match setting {
        Some(Setting::Set(value)) => *property = Some(value),
        Some(Setting::Clear) => *property = None,
        None => {}
    }
}
