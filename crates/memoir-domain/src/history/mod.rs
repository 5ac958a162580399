//! The past of an agent, from its log: memories' histories as a tree, replay, rewind, and shredding (SPEC 4.1 to 4.4).
//! The records themselves, and which of them are effective, are not here, but in `log`.

pub mod replay;
pub mod rewind;
pub mod shred;
pub mod summary;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::{
    change::replace::REPLACED_BY,
    ids::SessionId,
    log::{
        audit::{Action, Actor, Change, Record},
        effective::EffectiveRecords,
    },
    memory::{Kind, Memory, Number, Place},
    text::private::PrivateText,
    time::Timestamp,
};

/// The histories of some memories, or of all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct MemoryHistory {
    /// By number.
    pub memories: BTreeMap<Number, MemoryStory>,
}

/// The history of one memory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct MemoryStory {
    /// What happened to it, oldest first.
    pub events: Vec<MemoryEvent>,
    /// The memories whose place it took, in their order. Their numbers are lower than its own, so that the tree has
    /// no circles.
    pub parents: Vec<Number>,
    /// The duplicates that were joined with it, and others of a higher number whose place it took. Two memories can
    /// each be the other's duplicate, one after the other, so that these do not make a tree.
    #[serde(rename = "doubles")]
    pub duplicates: Vec<Number>,
    /// The memories that took its place, oldest first: usually one, and more where that was undone and done again.
    pub went_into: Vec<Number>,
}

view! {
    /// One thing that happened to a memory.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
    pub struct MemoryEvent from record: &Record, is_effective: bool, meaning: EventMeaning;
    /// The record's place in the log.
    pub seq: u64 = record.seq,
    /// When.
    pub recorded_at: Timestamp = record.recorded_at,
    /// Who did it.
    pub actor: Actor = record.actor.clone(),
    /// What was done, by its name in the log.
    pub action: Action = record.action,
    /// The session that it belongs to.
    pub session: Option<SessionId> = record.session,
    /// Whether it is effective: not undone since.
    #[serde(rename = "in_force")]
    pub effective: bool = is_effective,
    /// Its effect on the memory.
    pub what: EventMeaning = meaning,
}

/// The effect of an event on a memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventMeaning {
    /// It was saved, or Memoir wrote it.
    Saved {
        /// Its kind.
        kind: Kind,
        /// Its text.
        content: PrivateText,
    },
    /// It was written in place of others.
    Merged {
        /// The others.
        from: Vec<Number>,
        /// Its text.
        content: PrivateText,
    },
    /// Another one took its place.
    MergedInto {
        /// The other one.
        number: Number,
    },
    /// Duplicates were merged into it; it took their tags and the earliest date.
    TookDoubles {
        /// The duplicates.
        numbers: Vec<Number>,
    },
    /// It was merged into another one as its duplicate.
    DeduplicatedInto {
        /// The other one.
        number: Number,
    },
    /// Its text was rewritten.
    Reworded {
        /// The text before.
        from: PrivateText,
        /// The text afterwards.
        to: PrivateText,
    },
    /// A session deleted it.
    Deleted,
    /// It was made constitutional.
    Protected,
    /// The constitutional flag was taken from it.
    Unprotected,
    /// It was discarded outside of a session.
    Discarded,
    /// It was restored.
    Restored,
    /// A rollback, an undo or a rewind returned it to an earlier state; the event's action says which.
    WentBack {
        /// As it was then.
        to: Box<Memory>,
    },
    /// Its text was shredded.
    Shredded,
    /// Something else was changed about it.
    Changed {
        /// As it was then.
        to: Box<Memory>,
    },
}

impl MemoryEvent {
    /// What happened, in words for people, and the memories that these words end with.
    pub fn words(&self) -> (String, Vec<Number>) {
        let (what, numbers) = match &self.what {
            EventMeaning::Saved { kind, .. } => match kind {
                Kind::Core => ("saved", Vec::new()),
                Kind::Journal => ("saved as a journal entry", Vec::new()),
                Kind::Archival => ("saved as an archival memory", Vec::new()),
            },
            EventMeaning::Merged { from, .. } => ("merged from", from.clone()),
            EventMeaning::MergedInto { number } => match self.action {
                Action::MemoryRefinementConsolidate => ("consolidated into", vec![*number]),
                _ => ("replaced by", vec![*number]),
            },
            EventMeaning::TookDoubles { numbers } => {
                ("joined with its duplicates", numbers.clone())
            }
            EventMeaning::DeduplicatedInto { number } => {
                ("joined as a duplicate of", vec![*number])
            }
            // The original moved to the archive, and its rewritten text has a number of its own.
            EventMeaning::Reworded { from, to } if from == to => {
                ("moved to the archive, in favour of a new text", Vec::new())
            }
            EventMeaning::Reworded { .. } => ("reworded", Vec::new()),
            EventMeaning::Deleted => (self.action.label(), Vec::new()),
            EventMeaning::Protected => ("made constitutional", Vec::new()),
            EventMeaning::Unprotected => ("no longer constitutional", Vec::new()),
            EventMeaning::Discarded => ("discarded", Vec::new()),
            EventMeaning::Restored => ("restored", Vec::new()),
            EventMeaning::Shredded => ("shredded: its text is removed", Vec::new()),
            EventMeaning::WentBack { to } | EventMeaning::Changed { to } => return self.became(to),
        };
        (what.to_owned(), numbers)
    }

    fn became(&self, to: &Memory) -> (String, Vec<Number>) {
        let how = match self.action {
            Action::MemoryRefinementRollback => "rolled back",
            Action::SessionUndone => "undone",
            Action::AgentRewound => "rewound",
            other => other.label(),
        };
        let (state, under) = match to.place {
            _ if !to.is_active() => ("discarded", None),
            Place::Archival(archived) => match archived.under {
                Some(under) => ("in the archive, under", Some(under)),
                None => ("in the archive", None),
            },
            Place::Journal => ("in the journal", None),
            Place::Core if to.is_constitutional() => ("core, constitutional", None),
            Place::Core => ("core", None),
        };
        (format!("{how}: {state}"), under.into_iter().collect())
    }

    /// The text that the memory got, after the one that it had where that was rewritten; `None` where it got none.
    pub fn texts(&self) -> Option<(Option<&PrivateText>, &PrivateText)> {
        match &self.what {
            EventMeaning::Saved { content, .. } | EventMeaning::Merged { content, .. } => {
                Some((None, content))
            }
            EventMeaning::Reworded { from, to } if from != to => Some((Some(from), to)),
            EventMeaning::WentBack { to } if to.is_active() => Some((None, &to.content)),
            _ => None,
        }
    }
}

/// Builds the histories of all memories from `log`, the agent's whole log, oldest first. With `only`, those of this
/// memory, of all its direct and indirect sources, and of its successors.
pub fn history(log: &[Record], only: Option<Number>) -> MemoryHistory {
    // All of them first: relations are only known once the whole log was read.
    let mut memories = kinship(log);
    if let Some(number) = only {
        let wanted = related(&memories, number);
        memories.retain(|number, _| wanted.contains(number));
    }
    let effective_records = EffectiveRecords::of(log);
    for record in log {
        for (number, what) in events_of(record, &memories) {
            if let Some(story) = memories.get_mut(&number) {
                // Shredded text does not come back, whatever is undone (SPEC 4.4).
                let effective = record.action == Action::MemoryShredded
                    || effective_records.is_effective(record.seq);
                story.events.push(MemoryEvent::new(record, effective, what));
            }
        }
    }
    MemoryHistory { memories }
}

/// Every memory of the log with its relations, without events.
fn kinship(log: &[Record]) -> BTreeMap<Number, MemoryStory> {
    let mut stories: BTreeMap<Number, MemoryStory> = BTreeMap::new();
    for record in log {
        for change in &record.body.changes {
            stories.entry(change.number()).or_default();
        }
        let Some(target) = successor(record) else {
            continue;
        };
        let sources: Vec<Number> = sources(record, target).collect();
        for source in &sources {
            let into = &mut stories.entry(*source).or_default().went_into;
            add(into, target);
        }
        let Some(story) = stories.get_mut(&target) else {
            continue;
        };
        for source in sources {
            // The tree goes to lower numbers only, and so has no circles.
            let is_parent = record.action != Action::MemoryDeduplicated && source < target;
            let list = match is_parent {
                true => &mut story.parents,
                false => &mut story.duplicates,
            };
            add(list, source);
        }
    }
    stories
}

fn add(list: &mut Vec<Number>, number: Number) {
    if !list.contains(&number) {
        list.push(number);
    }
}

/// The memory that took the place of others by this record; `None` where none did.
fn successor(record: &Record) -> Option<Number> {
    match record.action {
        Action::MemoryRefinementConsolidate
        | Action::MemoryRefinementUpdate
        | Action::MemoryDeduplicated
        | Action::MemoryEdited => record.memory,
        Action::MemoryReplaced => record.facts.count_of(REPLACED_BY).map(Number),
        _ => None,
    }
}

/// The memories whose place `target` took by this record.
fn sources(record: &Record, target: Number) -> impl Iterator<Item = Number> {
    let leaving = record.body.changes.iter().filter(|change| leaves(change));
    leaving
        .map(Change::number)
        .filter(move |number| *number != target)
}

/// Whether a change takes its memory out of core.
fn leaves(change: &Change) -> bool {
    change.before().is_some_and(Memory::is_active_core) && !change.after().is_active_core()
}

/// This memory, its sources and its successors. A chain can be as long as the log, so the walk is not recursive.
fn related(stories: &BTreeMap<Number, MemoryStory>, number: Number) -> BTreeSet<Number> {
    let up = reach(stories, number, |story| {
        story.parents.iter().chain(&story.duplicates)
    });
    let down = reach(stories, number, |story| story.went_into.iter());
    up.union(&down).copied().collect()
}

fn reach<'a, I: Iterator<Item = &'a Number>>(
    stories: &'a BTreeMap<Number, MemoryStory>,
    from: Number,
    next: impl Fn(&'a MemoryStory) -> I,
) -> BTreeSet<Number> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![from];
    while let Some(number) = waiting.pop() {
        if reached.insert(number) {
            let further = stories.get(&number).map(&next);
            waiting.extend(further.into_iter().flatten());
        }
    }
    reached
}

fn events_of(
    record: &Record,
    wanted: &BTreeMap<Number, MemoryStory>,
) -> Vec<(Number, EventMeaning)> {
    let changes = &record.body.changes;
    let is_survivor = |number: Number| {
        record.action == Action::MemoryDeduplicated && record.memory == Some(number)
    };
    let mut events: Vec<(Number, EventMeaning)> = changes
        .iter()
        .filter(|change| wanted.contains_key(&change.number()) && !is_survivor(change.number()))
        .map(|change| (change.number(), what(record, change)))
        .collect();
    // The survivor of duplicates may have had all their tags and dates, and is then unchanged.
    let survivor = record.memory.filter(|number| is_survivor(*number));
    events.extend(
        survivor
            .filter(|number| wanted.contains_key(number))
            .map(|number| {
                let numbers = sources(record, number).collect();
                (number, EventMeaning::TookDoubles { numbers })
            }),
    );
    events
}

fn what(record: &Record, change: &Change) -> EventMeaning {
    match change {
        Change::Created(memory) => made(record, memory),
        Change::Altered { before, .. } => {
            let number = successor(record).filter(|number| *number != before.number);
            match number.filter(|_| leaves(change)) {
                Some(number) if record.action == Action::MemoryDeduplicated => {
                    EventMeaning::DeduplicatedInto { number }
                }
                Some(number) => EventMeaning::MergedInto { number },
                None => altered(record, before, change.after()),
            }
        }
    }
}

fn made(record: &Record, memory: &Memory) -> EventMeaning {
    let content = memory.content.clone();
    match record.action {
        Action::MemoryRefinementConsolidate | Action::MemoryRefinementUpdate => {
            EventMeaning::Merged {
                from: sources(record, memory.number).collect(),
                content,
            }
        }
        _ => EventMeaning::Saved {
            kind: memory.kind(),
            content,
        },
    }
}

fn altered(record: &Record, before: &Memory, after: Memory) -> EventMeaning {
    match (record.action, record.memory) {
        (Action::MemoryRefinementUpdate, Some(number)) if number == after.number => {
            EventMeaning::Reworded {
                from: before.content.clone(),
                to: after.content,
            }
        }
        (Action::MemoryRefinementDelete, _) => EventMeaning::Deleted,
        (Action::MemoryRefinementProtect | Action::MemoryProtected, _) => EventMeaning::Protected,
        (Action::MemoryUnprotected, _) => EventMeaning::Unprotected,
        (Action::MemoryDiscarded, _) => EventMeaning::Discarded,
        (Action::MemoryRestored, _) => EventMeaning::Restored,
        (Action::MemoryShredded, _) => EventMeaning::Shredded,
        (action, _) if action.undoes() => EventMeaning::WentBack {
            to: Box::new(after),
        },
        _ => EventMeaning::Changed {
            to: Box::new(after),
        },
    }
}
