//! The result of the reading, in numbers.

use std::collections::BTreeMap;

use memoir_domain::PrivateText;

use crate::{EntryPosition, NoMemoryClass, NoMemoryReason};

/// Most positions that a report names.
// Enough to find the cause; a wholly broken file has one for each entry.
const PLACES: usize = 20;

/// A notice to the user about the file as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// A stable name for programs.
    pub code: &'static str,
    /// The notice and its hint; may hold names from the file.
    pub text: PrivateText,
}

/// The counts of a reading.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImportReport {
    /// Entries that the file has as memories.
    pub read: u64,
    /// Memories that were passed on.
    pub given: u64,
    /// Those of them that are obsolete, and are imported for their history.
    pub gone: u64,
    /// Entries that were split.
    pub split: u64,
    /// Memories without a date in the file.
    pub undated: u64,
    /// Tags that were omitted since they are over the limits.
    pub tags_left_out: u64,
    /// Parts that are no memories, by reason.
    pub passed: BTreeMap<NoMemoryReason, u64>,
    /// The first positions of parts that could not be parsed.
    pub places: Vec<(EntryPosition, NoMemoryReason)>,
    /// Whether the reading ended before the end of the file.
    pub is_broken: bool,
    /// Notices to the user.
    pub notices: Vec<Notice>,
    /// The text that is offered as the agent's system prompt; `None` where the file has none.
    pub system_prompt: Option<PrivateText>,
}

impl ImportReport {
    pub(crate) fn pass(&mut self, place: EntryPosition, reason: NoMemoryReason) {
        *self.passed.entry(reason).or_default() += 1;
        // Junk and parts omitted by design would use up the positions, and need no correction.
        if reason.class() == NoMemoryClass::NotUnderstood && self.places.len() < PLACES {
            self.places.push((place, reason));
        }
    }

    /// The number of parts of one class that are no memories.
    pub fn count(&self, class: NoMemoryClass) -> u64 {
        let of_class = self.passed.iter();
        of_class
            .filter(|(reason, _)| reason.class() == class)
            .map(|(_, count)| count)
            .sum()
    }
}
