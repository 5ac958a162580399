//! Replacing: a new core memory takes the place of outdated ones, which become archival under it (SPEC 2.4).

use std::collections::BTreeSet;

use serde::Serialize;

use crate::{
    change::{
        age_rule::{self, AgeShare},
        draft::Draft,
        memories::AllMemories,
    },
    log::audit::{Action, Actor, Facts},
    memory::{ArchivedBy, Kind, Memory, Number, origin::Side},
    time::Timestamp,
};

/// The most memories of an agent that may be replaced in any [`WEEK_DAYS`] days, by all interfaces together.
pub const WEEK_LIMIT: u32 = 10;
/// The days over which replacements are counted.
pub const WEEK_DAYS: i64 = 7;
/// The most numbers that one response of a model names for replacing.
// Those that are not replaced are listed in a record, and need not exist.
pub const NAMED_LIMIT: usize = 1_000;
/// The fact of a `memory_replaced` record: the memory that replaces.
pub const REPLACED_BY: &str = "replaced_by";

wire_names! {
    /// Why a memory was not replaced. It stays where it is.
    pub enum NotReplaced {
        /// There is no active memory of that number.
        NotFound = "not_found",
        /// It is a journal or an archival memory, or the new memory is not core.
        NotCore = "not_core",
        Constitutional = "constitutional",
        Immutable = "immutable",
        /// Its origin is stronger than that of the new memory.
        Origin = "origin",
        /// The new memory came by an administrator's interface, and it did not.
        Side = "side",
        /// Ten memories were replaced within seven days.
        WeekLimit = "week_limit",
        /// The age rule holds it in the prompt (SPEC 3.14).
        AgeLimit = "age_limit",
    }
}

/// A memory that was not replaced.
// Serialized as it is: the names of the fields are part of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Unreplaced {
    /// The named number.
    pub number: Number,
    /// The reason.
    pub reason: NotReplaced,
}

impl Facts {
    /// Memories that were not replaced, each with the reason; empty where there are none.
    pub fn unreplaced(self, unreplaced: impl IntoIterator<Item = Unreplaced>) -> Self {
        let mut list = unreplaced.into_iter().peekable();
        if list.peek().is_none() {
            return self;
        }
        let coded = list.map(|one| (one.number, one.reason.as_str()));
        self.coded_numbers("not_replaced", coded)
    }
}

/// The outcome for the memories that a new one was to replace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Replacements {
    /// Those that are archival now, in the order in which they were named.
    pub replaced: Vec<Number>,
    /// Those that stay where they are.
    pub not_replaced: Vec<Unreplaced>,
}

/// The data of an agent that replacing needs.
#[derive(Debug)]
pub struct Replacing {
    /// All its memories; it follows what is drafted.
    pub memories: AllMemories,
    /// How many memories were replaced in the last seven days.
    pub replaced_in_week: u32,
    /// Those that the age rule holds in the prompt, as long as nothing else changes; `None` before one was refused.
    // Each is refused without going over all memories again, however many a request names.
    stuck: Option<BTreeSet<Number>>,
}

impl Replacing {
    /// Over all memories of an agent, of which so many were replaced in the last seven days.
    pub fn new(memories: AllMemories, replaced_in_week: u32) -> Self {
        Self {
            memories,
            replaced_in_week,
            stuck: None,
        }
    }

    /// Replaces memories by the new one, which is drafted already, each with a record of its own. What cannot be
    /// replaced stays.
    pub(crate) fn replace(
        &mut self,
        draft: &mut Draft,
        new: &Memory,
        numbers: &[Number],
        actor: &Actor,
    ) -> Replacements {
        self.stuck = None;
        let mut done = Replacements::default();
        let mut seen = BTreeSet::new();
        for &number in numbers.iter().filter(|number| seen.insert(**number)) {
            match self.check(draft, new, number) {
                Ok(memory) => {
                    self.write(draft, new, &memory, actor);
                    done.replaced.push(number);
                }
                Err(reason) => done.not_replaced.push(Unreplaced { number, reason }),
            }
        }
        done
    }

    fn check(
        &mut self,
        draft: &Draft,
        new: &Memory,
        number: Number,
    ) -> Result<Memory, NotReplaced> {
        let settings = &draft.agent().settings;
        let memory = self.memories.active(number).ok_or(NotReplaced::NotFound)?;
        if memory.kind() != Kind::Core || new.kind() != Kind::Core || number == new.number {
            return Err(NotReplaced::NotCore);
        }
        if memory.is_constitutional() {
            return Err(NotReplaced::Constitutional);
        }
        // Before the tags: an administrator, who sets the immutable ones, could otherwise guess the agent's (SPEC 5.1).
        if new.side() == Side::Administrator && memory.side() != Side::Administrator {
            return Err(NotReplaced::Side);
        }
        if memory.tags.contains_any(&settings.immutable_tag_set()) {
            return Err(NotReplaced::Immutable);
        }
        if memory.origin().weakness() < new.origin().weakness() {
            return Err(NotReplaced::Origin);
        }
        if self.replaced_in_week >= WEEK_LIMIT {
            return Err(NotReplaced::WeekLimit);
        }
        // The sources of a summary are gone already, and its own text is no original.
        let leaving = BTreeSet::from([number]);
        let share = AgeShare::Replacing {
            budget: settings.effective_core_token_budget(),
        };
        let stuck = self.stuck.as_ref();
        if stuck.is_some_and(|stuck| stuck.contains(&number)) {
            return Err(NotReplaced::AgeLimit);
        }
        if age_rule::check(&self.memories.age_rows(&leaving).rows, share).is_ok() {
            return Ok(memory.clone());
        }
        let none = BTreeSet::new();
        let ages = self.memories.age_rows(&none);
        let stuck = age_rule::outlook(&ages.rows, share, |_| false).stuck;
        let is_free = |number: &Number| {
            let memory = self.memories.get(*number);
            memory.is_some_and(|memory| self.memories.cover(memory, &none).is_some())
        };
        let stuck = stuck.into_iter().map(|place| ages.numbers[place]);
        let stuck = stuck.filter(|number| !is_free(number));
        let held = self.memories.held_by_copies(share);
        self.stuck = Some(stuck.chain(held).collect());
        Err(NotReplaced::AgeLimit)
    }

    fn write(&mut self, draft: &mut Draft, new: &Memory, memory: &Memory, actor: &Actor) {
        let now: Timestamp = draft.now();
        let (memories, under) = (&mut self.memories, Some(new.number));
        let mut changes = Vec::new();
        if memory.is_summary {
            changes.extend(memories.alter(draft, memory, &memory.discarded(now)));
            changes.extend(memories.move_sources(draft, memory.number, under));
        } else {
            let archived = memory.archived(under, ArchivedBy::Replaced, now);
            changes.extend(memories.alter(draft, memory, &archived));
        }
        self.replaced_in_week += 1;
        self.stuck = None;
        let facts = Facts::default().count(REPLACED_BY, new.number.0);
        let action = Action::MemoryReplaced;
        draft.record(actor, action, Some(memory.number), facts, changes);
    }
}
