//! Memories taken over from elsewhere as one act, and taking that act back (SPEC 2.4).
//!
//! Each memory is a record of its own, so that its wording has a place in the log; one record more tells of
//! the import as a whole: which numbers it gave, and which records. An import may come in several decisions,
//! each on top of the one before, which are written together.

use std::collections::BTreeSet;

use crate::{
    SessionId, Timestamp,
    agent::Agent,
    audit::{Action, Actor, Facts, Record, RecordBody},
    draft::{Decision, Draft},
    manage::{self, ChangeRefusal},
    memory::{Memory, NewMemory, Number},
};

/// A memory to take over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    /// The memory.
    pub memory: NewMemory,
    /// That it comes for its history only; `None`: it is kept.
    pub gone: Option<ForeignGone>,
}

/// That a memory did not hold any more where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForeignGone {
    /// Why, as a code: `deleted`, `expired`, `invalidated`, `superseded`.
    pub why: &'static str,
    /// Since when; `None` where nobody knows, which means now.
    pub at: Option<Timestamp>,
}

/// What an import gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// The record that tells of it.
    pub seq: u64,
    /// The number of its first memory.
    pub first: Number,
    /// That of its last one.
    pub last: Number,
    /// The memories in whose place it put others.
    pub replaced: Vec<Number>,
}

const FIRST: &str = "first_number";
const LAST: &str = "last_number";
const IMPORT: &str = "import_seq";
const REPLACED: &str = "in_place_of";

/// Takes memories over, in their order.
pub fn take(agent: Agent, memories: Vec<Incoming>, actor: &Actor, now: Timestamp) -> Decision {
    let mut draft = Draft::new(agent, None, now);
    for Incoming { memory, gone } in memories {
        let Some(gone) = gone else {
            manage::save_one(&mut draft, memory, actor);
            continue;
        };
        // A file may say any time, and nothing was discarded in the future.
        let at = gone.at.unwrap_or(now).min(now);
        let memory = NewMemory {
            // Without a date of its own the memory gets the time at which it was discarded: with the default, which is
            // now, it would begin after its end.
            created_at: Some(memory.created_at.unwrap_or(at)),
            constitutional: false,
            ..memory
        };
        let (number, created) = draft.create_discarded(memory, at);
        let body = RecordBody {
            changes: vec![created],
            ..RecordBody::default()
        };
        let facts = Facts::default().code("gone", gone.why);
        draft.record(
            actor.clone(),
            Action::MemorySaved,
            Some(number),
            facts,
            body,
        );
    }
    draft.finish()
}

/// Tells of an import that is over: all memories and records that the agent got since `before`, its state
/// before the first of them. `format` is the form that they came in, `replaced` the memories in whose place some
/// of them stand.
pub fn taken(
    agent: Agent,
    before: &Agent,
    format: &'static str,
    replaced: &[Number],
    actor: &Actor,
    now: Timestamp,
) -> Decision {
    let tally = |agent: &Agent| {
        let tally = agent.tally;
        (
            tally.core_count + tally.journal_count,
            tally.discarded_count,
        )
    };
    let ((kept, discarded), (kept_before, discarded_before)) = (tally(&agent), tally(before));
    let facts = Facts::default()
        .code("format", format)
        .count("memories", kept.saturating_sub(kept_before))
        .count("discarded", discarded.saturating_sub(discarded_before))
        .count(FIRST, before.next_number.0)
        .count(LAST, agent.next_number.0.saturating_sub(1));
    let facts = match replaced {
        [] => facts,
        replaced => facts.numbers(REPLACED, replaced.iter().copied()),
    };
    let mut draft = Draft::new(agent, None, now);
    draft.record(
        actor.clone(),
        Action::MemoriesImported,
        None,
        facts,
        RecordBody::default(),
    );
    draft.finish()
}

/// The imports that nobody took back, and those that somebody did, the oldest first. `records` are those that
/// tell of imports and of their undoing.
pub fn kept_and_undone(records: &[Record]) -> (Vec<Extent>, Vec<Extent>) {
    let undone = records
        .iter()
        .filter(|record| record.action == Action::ImportUndone);
    let undone: BTreeSet<u64> = undone
        .filter_map(|record| record.facts.count_of(IMPORT))
        .collect();
    let imports = records
        .iter()
        .filter(|record| record.action == Action::MemoriesImported);
    let extents = imports.filter_map(|record| {
        let count = |name| record.facts.count_of(name);
        Some(Extent {
            seq: record.seq,
            first: Number(count(FIRST)?),
            last: Number(count(LAST)?),
            replaced: record.facts.places_of(REPLACED).map(Number).collect(),
        })
    });
    extents.partition(|extent| !undone.contains(&extent.seq))
}

impl Extent {
    /// Whether it gave that memory.
    pub fn holds(&self, number: Number) -> bool {
        (self.first..=self.last).contains(&number)
    }

    /// Whether something was done with a memory since that would have to be taken back first: it and a
    /// memory that the import did not give stand for each other, or somebody protected it since. Any memory
    /// of the agent may stand in the way.
    pub fn is_obstructed_by(&self, memory: &Memory) -> bool {
        if !memory.is_kept() {
            return false;
        }
        let is_own = self.holds(memory.number);
        let mut wordings = memory.wordings.iter();
        // A session has merged a memory of this import with one that is not of it, and neither can be taken back
        // without the other.
        let is_tied = wordings.any(|wording| self.holds(wording.number) != is_own);
        let protected_since = memory.protected_seq.is_some_and(|seq| seq > self.seq);
        is_tied || is_own && protected_since
    }
}

/// Whether the agent's imports can be taken back now.
///
/// # Errors
/// A session is running, or the agent was erased.
pub fn check_undo(agent: &Agent, running: Option<SessionId>) -> Result<(), ChangeRefusal> {
    manage::check_idle(agent, running)
}

/// Whether another text can take a memory's place: it is kept, nobody protected it, and it says its own words
/// alone.
pub fn can_replace(memory: &Memory) -> bool {
    let mut wordings = memory.wordings.iter();
    memory.is_kept()
        && !memory.is_constitutional()
        && wordings.all(|wording| wording.number == memory.number)
}

/// Discards memories in whose place others are taken over, each with a record of its own.
pub fn replace(agent: Agent, memories: Vec<Memory>, actor: &Actor, now: Timestamp) -> Decision {
    let mut draft = Draft::new(agent, None, now);
    for memory in memories {
        let after = Memory {
            discarded_at: Some(now),
            ..memory.clone()
        };
        let action = Action::MemoryDiscarded;
        record(&mut draft, memory, &after, action, Facts::default(), actor);
    }
    draft.finish()
}

fn record(
    draft: &mut Draft,
    before: Memory,
    after: &Memory,
    action: Action,
    facts: Facts,
    actor: &Actor,
) {
    let number = before.number;
    let body = RecordBody {
        changes: draft.alter(before, after).into_iter().collect(),
        ..RecordBody::default()
    };
    draft.record(actor.clone(), action, Some(number), facts, body);
}

/// Discards those of `memories` that the import gave and that are kept, and brings those back that it replaced,
/// each with a record of its own. What it gave as constitutional goes too: that was given by the import alone.
pub fn take_back(
    agent: Agent,
    extent: &Extent,
    memories: Vec<Memory>,
    actor: &Actor,
    now: Timestamp,
) -> Decision {
    let mut draft = Draft::new(agent, None, now);
    for memory in memories {
        let is_given = memory.is_kept() && extent.holds(memory.number);
        let is_replaced = !memory.is_kept()
            && memory.shredded_at.is_none()
            && extent.replaced.contains(&memory.number);
        if !is_given && !is_replaced {
            continue;
        }
        let after = Memory {
            discarded_at: is_given.then_some(now),
            ..memory.clone()
        };
        let action = if is_given {
            Action::MemoryDiscarded
        } else {
            Action::MemoryRestored
        };
        let facts = Facts::default().count(IMPORT, extent.seq);
        record(&mut draft, memory, &after, action, facts, actor);
    }
    draft.finish()
}

/// Tells of an import that was taken back, and how many memories were discarded for it.
pub fn taken_back(
    agent: Agent,
    extent: &Extent,
    discarded: u64,
    actor: &Actor,
    now: Timestamp,
) -> Decision {
    let facts = Facts::default()
        .count(IMPORT, extent.seq)
        .count("memories", discarded);
    let mut draft = Draft::new(agent, None, now);
    draft.record(
        actor.clone(),
        Action::ImportUndone,
        None,
        facts,
        RecordBody::default(),
    );
    draft.finish()
}
