//! What the reading came to, in numbers.

use std::collections::BTreeMap;

use memoir_domain::PrivateText;

use crate::{EntryPosition, NoMemoryClass, NoMemoryReason};

/// Most places that a report names.
// Enough to find the cause by; a file that is broken all through has one for each entry.
const PLACES: usize = 20;

/// Something that the user should know of the file as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// A stable name for programs.
    pub code: &'static str,
    /// What it is, and what to do; may hold names from the file.
    pub text: PrivateText,
}

/// What a file held.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImportReport {
    /// Entries that the file has as memories.
    pub read: u64,
    /// Memories that were given.
    pub given: u64,
    /// Those of them that are gone, and come for their history.
    pub gone: u64,
    /// Entries that were given as several.
    pub split: u64,
    /// Memories that were given without a date, since the file tells none.
    pub undated: u64,
    /// Tags that were left out since they are over the limits.
    pub tags_left_out: u64,
    /// What was not given, by reason.
    pub passed: BTreeMap<NoMemoryReason, u64>,
    /// The first places of what was not understood.
    pub places: Vec<(EntryPosition, NoMemoryReason)>,
    /// Whether the reading ended before the end of the file.
    pub is_broken: bool,
    /// What the user should know.
    pub notices: Vec<Notice>,
    /// What is offered as the agent's system prompt; `None` where there is nothing of the kind.
    pub system_prompt: Option<PrivateText>,
}

impl ImportReport {
    pub(crate) fn pass(&mut self, place: EntryPosition, reason: NoMemoryReason) {
        *self.passed.entry(reason).or_default() += 1;
        // Junk and what is left out by design would use up the places, and there is nothing for anybody to mend
        // there.
        if reason.class() == NoMemoryClass::NotUnderstood && self.places.len() < PLACES {
            self.places.push((place, reason));
        }
    }

    /// How many were not given, of one class.
    pub fn count(&self, class: NoMemoryClass) -> u64 {
        let of_class = self.passed.iter();
        of_class
            .filter(|(reason, _)| reason.class() == class)
            .map(|(_, count)| count)
            .sum()
    }
}
