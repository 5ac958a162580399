//! Memories imported from elsewhere as one act, and undoing that act (SPEC 2.4).
//!
//! Each memory is a record of its own, so that its text has a place in the log; one record more reports the import as
//! a whole: which numbers it gave, and which records. An import may come in several decisions, each on top of the one
//! before, which are written together.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{
    agent::Agent,
    change::{
        draft::{Decision, Draft},
        manage,
    },
    log::audit::{Action, Actor, Facts, Record},
    memory::{ArchivedBy, Kind, Memory, NewMemory, Number, Place},
    time::Timestamp,
};

/// A memory to import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    /// The memory.
    pub memory: NewMemory,
    /// That it comes for its history only; `None`: it is active.
    pub gone: Option<ForeignGone>,
}

/// The obsolescence of a memory that is imported for its history only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForeignGone {
    /// The reason.
    pub why: DeletionReason,
    /// Since when; `None` where that is unknown, which means now.
    pub at: Option<Timestamp>,
}

impl ForeignGone {
    /// That it was deleted, at that time where it is known.
    pub fn deleted(at: Option<Timestamp>) -> Self {
        let why = DeletionReason::Deleted;
        Self { why, at }
    }
}

wire_names! {
    /// Why a memory is obsolete in the other program.
    #[derive(PartialOrd, Ord)]
    pub enum DeletionReason {
        Deleted = "deleted",
        Expired = "expired",
        /// It turned out to be wrong or outdated.
        Invalidated = "invalidated",
        /// Another one took its place.
        Superseded = "superseded",
    }
}

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// The record that reports it.
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

/// Imports memories, in their order.
pub fn take(agent: Agent, memories: Vec<Incoming>, actor: &Actor, now: Timestamp) -> Decision {
    let mut draft = Draft::for_agent(agent, now);
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
        let facts = Facts::default().code("gone", gone.why.as_str());
        let (action, changes) = (Action::MemorySaved, vec![created]);
        draft.record(actor, action, Some(number), facts, changes);
    }
    draft.finish()
}

/// The content of an import's record.
#[derive(Debug, Clone, Copy)]
pub struct Taken<'a> {
    /// The format of what was imported.
    pub format: &'static str,
    /// The number that its first memory got; the last one is that before the agent's next number.
    pub first: Number,
    /// Memories that are active.
    pub memories: u64,
    /// Memories that came for their history only.
    pub discarded: u64,
    /// The memories in whose place some of them were put.
    pub replaced: &'a [Number],
}

/// Reports an import that is over.
pub fn taken(agent: Agent, taken: &Taken<'_>, actor: &Actor, now: Timestamp) -> Decision {
    let facts = Facts::default()
        .code("format", taken.format)
        .count("memories", taken.memories)
        .count("discarded", taken.discarded)
        .count(FIRST, taken.first.0)
        .count(LAST, agent.next_number.0.saturating_sub(1));
    let facts = match taken.replaced {
        [] => facts,
        replaced => facts.numbers(REPLACED, replaced.iter().copied()),
    };
    Decision::of_record(agent, actor, Action::MemoriesImported, facts, now)
}

/// The imports that were not undone, and those that were, the oldest first. `records` are those that report imports
/// and their undoing.
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
}

/// The result of undoing an import.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UndoPlan {
    /// Memories that conflict with it, by number. Of the import: those that are constitutional since, that were
    /// replaced by a memory of elsewhere, or are under a summary with other sources too. Of elsewhere: those that are
    /// under a memory of the import. Copies that a cleanup put there are none (SPEC 3.4).
    pub conflicts: BTreeSet<Number>,
    /// Summaries of elsewhere that lose their last source, and are discarded with it.
    pub summaries: BTreeSet<Number>,
    /// Active memories that the import gave.
    pub given: u64,
    /// Copies of elsewhere that a cleanup discarded for an active memory of the import: when, and the place of that
    /// one, to which they return.
    pub copies: BTreeMap<Number, (Timestamp, Place)>,
    /// Copies of elsewhere that a cleanup moved to the archive, under a core memory of the import with another case.
    pub joined: BTreeSet<Number>,
    /// Memories with a recorded discard since the import: that outlasts the undo (SPEC 4.3).
    pub discarded: BTreeSet<Number>,
}

impl UndoPlan {
    /// A copy that returns, as it is to be; `None` of others, and where it was restored, shredded or discarded since.
    /// `seq` is the place of the record that makes one core.
    fn returning(&self, memory: &Memory, seq: u64) -> Option<Memory> {
        if self.joined.contains(&memory.number) {
            return memory.is_active_archival().then(|| memory.promoted(seq));
        }
        let (discarded_at, place) = *self.copies.get(&memory.number)?;
        let is_by_cleanup = memory.discarded_at == Some(discarded_at);
        (is_by_cleanup && memory.shredded_at.is_none()).then(|| Memory {
            place,
            discarded_at: None,
            ..memory.clone()
        })
    }
}

/// Works out an [`UndoPlan`] from all memories of the agent, which come one by one.
#[derive(Debug)]
pub struct UndoSurvey<'a> {
    extent: &'a Extent,
    plan: UndoPlan,
    /// The active memories.
    active: HashMap<Number, Standing>,
    /// The copies of elsewhere that a cleanup moved under a memory of the import, and that one.
    joined: Vec<(Number, Number)>,
    /// The active archival memories under each.
    under: BTreeMap<Number, Vec<Number>>,
    /// The cleanups in which a memory of the import stayed, by that memory.
    cleanups: HashMap<Number, Vec<&'a Record>>,
}

/// What an [`UndoSurvey`] keeps of each active memory.
#[derive(Debug)]
struct Standing {
    is_summary: bool,
    is_core: bool,
}

impl<'a> UndoSurvey<'a> {
    /// For the undoing of that import. `since` are the records of discards and of cleanups since.
    pub fn new(extent: &'a Extent, since: &'a [Record]) -> Self {
        let mut by_survivor: HashMap<Number, Vec<&'a Record>> = HashMap::new();
        let mut plan = UndoPlan::default();
        for record in since {
            match record.memory {
                Some(number) if record.action == Action::MemoryDiscarded => {
                    plan.discarded.insert(number);
                }
                Some(survivor) if extent.holds(survivor) => {
                    by_survivor.entry(survivor).or_default().push(record);
                }
                _ => {}
            }
        }
        Self {
            extent,
            plan,
            active: HashMap::new(),
            joined: Vec::new(),
            under: BTreeMap::new(),
            cleanups: by_survivor,
        }
    }

    /// Adds one memory of the agent.
    pub fn add(&mut self, memory: &Memory) {
        if !memory.is_active() {
            return;
        }
        let number = memory.number;
        let standing = Standing {
            is_summary: memory.is_summary,
            is_core: memory.kind() == Kind::Core,
        };
        self.active.insert(number, standing);
        let archived = memory.place.archived();
        let is_joined = archived.is_some_and(|archived| archived.by == ArchivedBy::Duplicate);
        if let Some(under) = memory.under() {
            if !is_joined {
                self.under.entry(under).or_default().push(number);
            } else if self.extent.holds(under) && !self.extent.holds(number) {
                // A joined copy of the import itself goes with it and conflicts with nothing: the memory that stays has
                // the same text up to case.
                self.joined.push((number, under));
            }
        }
        if self.extent.holds(number) {
            self.plan.given += 1;
            if memory
                .protected_seq
                .is_some_and(|seq| seq > self.extent.seq)
            {
                self.plan.conflicts.insert(number);
            }
            let extent = self.extent;
            for record in self.cleanups.remove(&number).into_iter().flatten() {
                let copies = record.facts.places_of("discarded").map(Number);
                let copies = copies.filter(|copy| !extent.holds(*copy));
                let returns = (record.recorded_at, memory.place);
                self.plan.copies.extend(copies.map(|copy| (copy, returns)));
            }
        }
    }

    /// The plan, once all memories were added.
    pub fn finish(self) -> UndoPlan {
        let (mut plan, extent) = (self.plan, self.extent);
        let is_core = |number: &Number| self.active.get(number).is_some_and(|one| one.is_core);
        let joined = self.joined.into_iter();
        let joined = joined.filter(|(_, survivor)| is_core(survivor));
        plan.joined.extend(joined.map(|(copy, _)| copy));
        for (under, sources) in self.under {
            // One that is discarded reads as none.
            let Some(Standing { is_summary, .. }) = self.active.get(&under) else {
                continue;
            };
            let (own, others): (Vec<Number>, Vec<Number>) = sources
                .into_iter()
                .partition(|number| extent.holds(*number));
            match (extent.holds(under), own.is_empty()) {
                (true, _) => {
                    let is_put_back = |number: &Number| extent.replaced.contains(number);
                    let others = others.into_iter().filter(|number| !is_put_back(number));
                    plan.conflicts.extend(others);
                }
                (false, true) => {}
                (false, false) if *is_summary && others.is_empty() => {
                    plan.summaries.insert(under);
                }
                (false, false) => plan.conflicts.extend(own),
            }
        }
        plan
    }
}

/// Whether an import may put a text of that kind in a memory's place. The memory is active, not constitutional and no
/// summary. No original is lost by it (SPEC 3.12): a core memory makes place for a core one only, and an archival one
/// for none.
pub fn can_replace(memory: &Memory, kind: Kind) -> bool {
    let fits = match memory.kind() {
        Kind::Core => kind == Kind::Core,
        Kind::Journal => kind != Kind::Archival,
        Kind::Archival => false,
    };
    fits && memory.is_active() && !memory.is_constitutional() && !memory.is_summary
}

/// Imports texts in the place of memories, each pair as one record: the text is a new original (SPEC 3.12). A core
/// memory becomes archival under it, and a journal entry is discarded. Each pair is one that [`can_replace`] permits.
pub fn take_edits(
    agent: Agent,
    edits: Vec<(NewMemory, Memory)>,
    actor: &Actor,
    now: Timestamp,
) -> Decision {
    let mut draft = Draft::for_agent(agent, now);
    for (memory, old) in edits {
        let (number, created) = draft.create(memory);
        let after = match old.kind() {
            Kind::Journal => old.discarded(now),
            Kind::Core | Kind::Archival => old.archived(Some(number), ArchivedBy::Replaced, now),
        };
        let facts = Facts::default().count("edited", old.number.0);
        let mut changes = vec![created];
        changes.extend(draft.alter(old, &after));
        draft.record(actor, Action::MemoryEdited, Some(number), facts, changes);
    }
    draft.finish()
}

/// Of `memories`, discards those that the import gave and the summaries of the plan, and brings those back in whose
/// place it put others, or a cleanup left one of its own, each with a record of its own. What it gave as constitutional
/// goes too: that was given by the import alone.
pub fn undo(
    agent: Agent,
    extent: &Extent,
    plan: &UndoPlan,
    memories: Vec<Memory>,
    actor: &Actor,
    now: Timestamp,
) -> Decision {
    let mut draft = Draft::for_agent(agent, now);
    for memory in memories {
        let number = memory.number;
        let goes = extent.holds(number) || plan.summaries.contains(&number);
        let (after, action) = if memory.is_active() && goes {
            (memory.discarded(now), Action::MemoryDiscarded)
        } else if let Some(before) = put_back(extent, plan, &memory, draft.agent().next_seq) {
            (before, Action::MemoryRestored)
        } else if let Some(copy) = plan.returning(&memory, draft.agent().next_seq) {
            (copy, Action::MemoryRestored)
        } else {
            continue;
        };
        let facts = Facts::default().count(IMPORT, extent.seq);
        let changes: Vec<_> = draft.alter(memory, &after).into_iter().collect();
        draft.record(actor, action, Some(number), facts, changes);
    }
    draft.finish()
}

/// A memory in whose place the import put another one, as it was before; `None` of others, and where it was brought
/// back, shredded or discarded since.
fn put_back(extent: &Extent, plan: &UndoPlan, memory: &Memory, seq: u64) -> Option<Memory> {
    if !extent.replaced.contains(&memory.number) || memory.shredded_at.is_some() {
        return None;
    }
    if !memory.is_active() {
        // The import discarded journal entries only.
        let is_by_import =
            memory.kind() == Kind::Journal && !plan.discarded.contains(&memory.number);
        return is_by_import.then(|| Memory {
            discarded_at: None,
            ..memory.clone()
        });
    }
    let under = memory.under().filter(|under| extent.holds(*under));
    under.map(|_| memory.promoted(seq))
}

/// Reports an import that was undone, and how many memories were discarded for it.
pub fn undone(
    agent: Agent,
    extent: &Extent,
    discarded: u64,
    actor: &Actor,
    now: Timestamp,
) -> Decision {
    let facts = Facts::default()
        .count(IMPORT, extent.seq)
        .count("memories", discarded);
    Decision::of_record(agent, actor, Action::ImportUndone, facts, now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{log::audit::Change, memory::test_memory};

    /// An import of the numbers 3 to 5.
    fn extent(replaced: &[u64]) -> Extent {
        Extent {
            seq: 10,
            first: Number(3),
            last: Number(5),
            replaced: replaced.iter().copied().map(Number).collect(),
        }
    }

    fn under(number: u64, under: u64) -> Memory {
        let memory = test_memory(number, "tea");
        let at = memory.created_at;
        memory.archived(Some(Number(under)), ArchivedBy::Session, at)
    }

    fn summary(number: u64) -> Memory {
        Memory {
            is_summary: true,
            core_seq: None,
            ..test_memory(number, "tea and more")
        }
    }

    fn plan(extent: &Extent, memories: &[Memory]) -> (Vec<u64>, Vec<u64>) {
        let mut survey = UndoSurvey::new(extent, &[]);
        memories.iter().for_each(|memory| survey.add(memory));
        let plan = survey.finish();
        let numbers = |set: &BTreeSet<Number>| set.iter().map(|number| number.0).collect();
        (numbers(&plan.conflicts), numbers(&plan.summaries))
    }

    #[test]
    fn spec_2_4_a_summary_that_rests_on_the_import_alone_goes_with_it() {
        let extent = extent(&[]);
        let memories = [under(3, 6), under(4, 6), summary(6)];
        assert_eq!(plan(&extent, &memories), (vec![], vec![6]));
        let mixed = [under(2, 6), under(3, 6), summary(6)];
        assert_eq!(plan(&extent, &mixed), (vec![3], vec![]));
        let own = [under(3, 5), summary(5)];
        assert_eq!(plan(&extent, &own), (vec![], vec![]));
        let gone = [
            under(2, 6),
            under(3, 6),
            summary(6).discarded(under(3, 6).created_at),
        ];
        assert_eq!(plan(&extent, &gone), (vec![], vec![]), "it reads as none");
    }

    #[test]
    fn spec_2_4_what_others_put_under_the_import_or_protected_conflicts() {
        let mut protected = test_memory(4, "tea");
        protected.protected_seq = Some(11);
        let memories = [
            under(2, 3),
            test_memory(3, "tea"),
            protected,
            under(5, 7),
            test_memory(7, "x"),
        ];
        assert_eq!(plan(&extent(&[]), &memories), (vec![2, 4, 5], vec![]));
        assert_eq!(
            plan(&extent(&[2]), &memories).0,
            [4, 5],
            "the import itself put that one there"
        );
    }

    #[test]
    fn spec_3_4_a_copy_that_a_cleanup_joined_up_to_case_conflicts_with_no_undo() {
        let extent = extent(&[]);
        let joined = |number: u64, under: u64| {
            let memory = test_memory(number, "Tea");
            let at = memory.created_at;
            memory.archived(Some(Number(under)), ArchivedBy::Duplicate, at)
        };
        let (agents, imported) = (test_memory(2, "tea"), test_memory(3, "tea"));
        let memories = vec![joined(1, 3), agents, imported, joined(4, 2)];
        let mut survey = UndoSurvey::new(&extent, &[]);
        memories.iter().for_each(|memory| survey.add(memory));
        let plan = survey.finish();
        assert_eq!((plan.conflicts.len(), plan.given), (0, 2));
        let agent = manage::blank(crate::ids::AgentId::from_bytes([1; 16]), Timestamp::MIN);
        let (owner, now) = (Actor::owner(), memories[0].created_at.plus_days(9));
        let undone = undo(agent, &extent, &plan, memories, &owner, now);
        let after = undone.changes.iter().map(Change::after);
        let after = after.map(|memory| (memory.number.0, memory.is_active(), memory.kind()));
        assert_eq!(
            after.collect::<Vec<_>>(),
            [
                (1, true, Kind::Core),
                (3, false, Kind::Core),
                (4, false, Kind::Archival)
            ]
        );
    }
}
