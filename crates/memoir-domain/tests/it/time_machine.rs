//! SPEC 4.2 to 4.4 after any history: replaying the log, returning to a point in time, and shredding.

use std::collections::{BTreeMap, BTreeSet};

use memoir_domain::{
    Timestamp,
    agent::Field,
    audit::{Action, Change, Record, RecordBody},
    effective::EffectiveRecords,
    memory::{Kind, Memory, NewMemory, Number},
    session::{Mode, State},
};
use proptest::{prelude::*, sample::Index};
use serde_json::json;

use crate::{
    properties::{
        Act, Pick, Step, Text, finish, first, is_bare, memories, number, open, pick, play, put_on,
        step, text, world_of,
    },
    world::{World, core},
};

/// Something that happens to an agent while no session runs, or a whole session.
#[derive(Debug, Clone)]
enum Event {
    Session(Vec<Step>, u8),
    Undo(Index),
    Rewind(Index),
    Act(Act, u64),
    Save(String, bool, Vec<Pick>),
    Guard(&'static str),
}

fn event() -> impl Strategy<Value = Event> {
    let steps = prop::collection::vec(step(), 0..7);
    let act = prop::sample::select(vec![Act::Promote, Act::Discard, Act::Restore, Act::Protect]);
    let replaces = prop::collection::vec(pick(), 0..2);
    prop_oneof![
        5 => (steps, 0u8..4).prop_map(|(steps, end)| Event::Session(steps, end)),
        3 => any::<Index>().prop_map(Event::Undo),
        3 => any::<Index>().prop_map(Event::Rewind),
        3 => (act, number()).prop_map(|(act, number)| Event::Act(act, number)),
        2 => (text(), any::<bool>(), replaces).prop_map(|(text, core, replaces)| Event::Save(text, core, replaces)),
        1 => prop::sample::select(vec!["off", "archive"]).prop_map(Event::Guard),
    ]
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec(event(), 1..10)
}

/// Plays the events, each with words of its own in every text, so that each word has one memory.
fn happen(world: &mut World, events: &[Event], first: usize) {
    for (place, event) in (first..).zip(events) {
        world.tick();
        match event {
            Event::Session(steps, end) => {
                if open(world, Mode::Full) {
                    for (n, step) in steps.iter().enumerate() {
                        play(world, &mark(step, place, n));
                    }
                    finish(world, *end);
                }
            }
            Event::Undo(which) => undo(world, *which),
            Event::Rewind(which) => {
                world.rewind(point(world, *which));
            }
            Event::Act(act, number) => play(world, &Step::Act(*act, *number)),
            Event::Save(text, is_core, replaces) => {
                let kind = if *is_core { Kind::Core } else { Kind::Journal };
                let content = format!("{text} {}", word(place * 100 + 99));
                let memory = NewMemory {
                    kind,
                    ..core(&content, "2026-02-01", &[])
                };
                play(world, &Step::Save(memory, replaces.clone()));
            }
            Event::Guard(value) => world.set(Field::LossGuard, value),
        }
    }
}

/// The step with a word of its own, but for every third one, so that there are duplicates too.
fn mark(step: &Step, place: usize, n: usize) -> Step {
    let mut step = step.clone();
    match &mut step {
        Step::Update(_, Text::Other(text)) | Step::Consolidate(_, Text::Other(text))
            if !n.is_multiple_of(3) =>
        {
            text.push_str(&format!(" {}", word(place * 100 + n)));
        }
        _ => {}
    }
    step
}

/// A word for a number without a digit, which no summary may add.
fn word(number: usize) -> String {
    let letters = number
        .to_string()
        .bytes()
        .map(|digit| char::from(digit - b'0' + b'a'))
        .collect::<String>();
    format!("mark{letters}")
}

fn undo(world: &mut World, which: Index) {
    if world.sessions.is_empty() {
        return;
    }
    let place = which.index(world.sessions.len());
    let session = &world.sessions[place];
    if session.undone_at.is_none() && session.state != State::RolledBack {
        assert_eq!(world.undo(place, true), Ok(()));
    }
}

/// Some time at which something happened, or one before all.
fn point(world: &World, which: Index) -> Timestamp {
    match which.index(world.past.len() + 1) {
        0 => Timestamp::MIN,
        place => world.past[place - 1].0,
    }
}

/// All memories as they stood then.
fn as_of(world: &World, to: Timestamp) -> BTreeMap<Number, Memory> {
    let then = world.past.iter().rfind(|(at, _)| *at <= to);
    then.map(|(_, memories)| memories.clone())
        .unwrap_or_default()
}

fn undone(world: &World) -> Vec<bool> {
    let sessions = world.sessions.iter();
    sessions
        .map(|session| session.undone_at.is_some())
        .collect()
}

fn has_source(world: &World, summary: Number) -> bool {
    let mut memories = world.memories.values();
    memories.any(|memory| memory.is_active_archival() && memory.under() == Some(summary))
}

/// Every memory is exactly as it was then, and every later one is discarded; shredded ones stay so, and reports on acts.
fn assert_is_as_of(world: &World, then: &BTreeMap<Number, Memory>) {
    for (number, memory) in &world.memories {
        match then.get(number) {
            _ if memory.shredded_at.is_some() => assert!(!memory.is_active()),
            _ if memory.stays_on_rewind() => {}
            // Its sources were shredded since.
            Some(before)
                if before.is_summary && before.is_active() && !has_source(world, *number) =>
            {
                assert!(!memory.is_active());
            }
            Some(before) => assert_eq!(memory, before),
            None => assert!(!memory.is_active(), "{number} is of later"),
        }
    }
}

/// Which records are effective, with all earlier sets in memory.
fn effective(log: &[Record]) -> BTreeSet<u64> {
    let mut answers = vec![BTreeSet::new()];
    for record in log {
        let facts = record.facts.as_map();
        let mut answer = match record.action {
            Action::AgentRewound => answers[facts["to_seq"].as_u64().unwrap() as usize].clone(),
            _ => answers.last().unwrap().clone(),
        };
        for seq in facts
            .get("taken_back")
            .and_then(|seqs| seqs.as_array())
            .into_iter()
            .flatten()
        {
            answer.remove(&seq.as_u64().unwrap());
        }
        answer.insert(record.seq);
        answers.push(answer);
    }
    answers.pop().unwrap()
}

/// The memories as the effective records alone describe them.
fn told(log: &[Record], effective: &BTreeSet<u64>) -> BTreeMap<Number, Memory> {
    let mut memories: BTreeMap<Number, Memory> = BTreeMap::new();
    for record in log.iter().filter(|record| effective.contains(&record.seq)) {
        for change in &record.body.changes {
            match change {
                Change::Created(memory) => {
                    memories.insert(memory.number, memory.clone());
                }
                // A restored memory whose beginning had been undone begins there.
                Change::Altered { before, patch } if !record.action.undoes() => {
                    let unmade = || before.clone();
                    put_on(memories.entry(before.number).or_insert_with(unmade), patch);
                }
                Change::Altered { .. } => {}
            }
        }
    }
    memories
}

/// The words that stand in texts of this memory in the log, and of no other one.
fn own_marks(log: &[Record], number: Number) -> BTreeSet<String> {
    let (mut own, mut others) = (BTreeSet::new(), BTreeSet::new());
    for change in log.iter().flat_map(|record| &record.body.changes) {
        let marks = if change.number() == number {
            &mut own
        } else {
            &mut others
        };
        let text = serde_json::to_string(change).unwrap();
        let words = text.split(|character: char| !character.is_alphanumeric());
        marks.extend(
            words
                .filter(|word| word.starts_with("mark"))
                .map(str::to_owned),
        );
    }
    own.difference(&others).cloned().collect()
}

/// The record's changes of other memories than this one.
fn of_others(body: &RecordBody, number: Number) -> Vec<Change> {
    let changes = body.changes.iter();
    let others = changes.filter(|change| change.number() != number);
    others.cloned().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    #[test]
    fn spec_4_3_any_history_can_be_returned_to_any_point_and_back(
        first in first(),
        memories in memories(),
        events in events(),
        to in any::<Index>(),
    ) {
        let mut world = world_of(first, memories);
        happen(&mut world, &events, 0);
        world.check_replay();
        let (before, at, undone_before) = (world.memories.clone(), world.now, undone(&world));
        let to = point(&world, to);
        let then = as_of(&world, to);
        let has_changed = world.rewind(to);
        assert_is_as_of(&world, &then);
        world.check_replay();
        if has_changed {
            prop_assert!(world.rewind(at));
            prop_assert_eq!(&world.memories, &before);
            prop_assert_eq!(undone(&world), undone_before);
            world.check_replay();
        }
        prop_assert!(!world.rewind(at), "there is nothing left to return");
    }

    #[test]
    fn spec_4_3_the_effective_records_lead_to_the_memories(
        first in first(),
        memories in memories(),
        events in events(),
    ) {
        let mut world = world_of(first, memories);
        happen(&mut world, &events, 0);
        let standing = effective(&world.log);
        let all = EffectiveRecords::of(&world.log);
        let standing_in = |of: &EffectiveRecords| -> BTreeSet<u64> {
            let seqs = world.log.iter().map(|record| record.seq);
            seqs.filter(|seq| of.is_effective(*seq)).collect()
        };
        prop_assert_eq!(&standing_in(&all), &standing);
        // The last records alone determine which of them are effective.
        for from in [world.log.len() / 3, world.log.len() * 2 / 3] {
            let first = world.log.get(from).map_or(u64::MAX, |record| record.seq);
            let expected: BTreeSet<u64> = standing.range(first..).copied().collect();
            let part = EffectiveRecords::of(&world.log[from..]);
            prop_assert_eq!(standing_in(&part), expected);
        }
        let told = told(&world.log, &standing);
        for (number, memory) in &world.memories {
            match told.get(number) {
                Some(told) if is_bare(&world, memory) => {
                    let discarded_at = memory.discarded_at;
                    prop_assert_eq!(memory, &Memory { discarded_at, ..told.clone() });
                }
                Some(told) => prop_assert_eq!(memory, told),
                None => prop_assert!(!memory.is_active() || memory.stays_on_rewind()),
            }
        }
    }

    #[test]
    fn spec_4_4_any_memory_of_any_history_can_be_shredded(
        first in first(),
        memories in memories(),
        events in events(),
        later in events(),
        which in any::<Index>(),
        to in any::<Index>(),
    ) {
        let mut world = world_of(first, memories);
        happen(&mut world, &events, 0);
        let number = Number(which.index(world.memories.len()) as u64 + 1);
        let (log, before, to) = (world.log.clone(), world.memories.clone(), point(&world, to));
        let marks = own_marks(&log, number);
        world.shred(number.0).unwrap();
        for (old, new) in log.iter().zip(&world.log) {
            prop_assert_eq!(of_others(&old.body, number), of_others(&new.body, number));
            prop_assert_eq!(Record { body: RecordBody::default(), ..old.clone() }, Record { body: RecordBody::default(), ..new.clone() });
        }
        for (other, memory) in before.iter().filter(|(other, _)| **other != number) {
            // But for a summary that loses its last source with it.
            if !is_bare(&world, &world.memories[other]) {
                prop_assert_eq!(&world.memories[other], memory);
            }
        }
        let shredded = world.memories[&number].clone();
        prop_assert!(!shredded.is_active() && shredded.shredded_at == Some(world.now));
        prop_assert_eq!(shredded.tokens(), 0);
        assert_is_gone(&world, number, &marks);
        world.check_replay();
        let then = as_of(&world, to);
        world.rewind(to);
        assert_is_as_of(&world, &then);
        happen(&mut world, &later, 100);
        prop_assert_eq!(&world.memories[&number], &shredded);
        assert_is_gone(&world, number, &marks);
        world.check_replay();
    }
}

/// No record and no memory holds a word that was this memory's alone.
fn assert_is_gone(world: &World, number: Number, marks: &BTreeSet<String>) {
    let bodies: Vec<&RecordBody> = world.log.iter().map(|record| &record.body).collect();
    for change in bodies.iter().flat_map(|body| &body.changes) {
        if change.number() == number {
            assert_eq!(*change, change.without_text());
            assert_eq!(change.after(), change.after().without_text());
        }
    }
    let memories: Vec<&Memory> = world.memories.values().collect();
    let everything = json!({"bodies": bodies, "memories": memories}).to_string();
    let mut words = everything.split(|character: char| !character.is_alphanumeric());
    assert!(words.all(|word| !marks.contains(word)));
}
