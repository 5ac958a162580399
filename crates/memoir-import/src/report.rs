//! The result of the reading, in numbers.

use std::collections::BTreeMap;

use memoir_domain::PrivateText;

use crate::{EntryPosition, NoMemoryClass, NoMemoryReason};

/// Most positions that a report names.
// Enough to find the cause; a wholly broken file has one for each entry.
pub(crate) const PLACES: usize = 20;
/// Most files of other kinds that a report names.
// A folder of notes may have hundreds of pictures.
const OTHER_FILES: usize = 5;

/// A notice to the user about the file as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// A stable name for programs.
    pub code: &'static str,
    /// The notice and its hint; may hold names from the file.
    pub text: PrivateText,
}

/// Why a date of the file is not the origin date of its memory, which is imported all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
pub enum DateProblem {
    /// It cannot be read.
    #[display("its date cannot be read")]
    Unreadable,
    /// It lies ahead, where a journal entry may not lie. A tag keeps it.
    #[display("its date lies ahead, and is kept as a tag")]
    Ahead,
}

impl DateProblem {
    /// A stable name for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Ahead => "ahead",
        }
    }
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
    /// Memories whose date in the file is not their origin date, by reason.
    pub dates: BTreeMap<DateProblem, u64>,
    /// The first positions of these.
    pub date_places: Vec<(EntryPosition, DateProblem)>,
    /// Tags that were omitted since they are over the limits.
    pub tags_left_out: u64,
    /// Parts that are no memories, by reason.
    pub passed: BTreeMap<NoMemoryReason, u64>,
    /// The first positions of parts that could not be parsed.
    pub places: Vec<(EntryPosition, NoMemoryReason)>,
    /// The first files of other kinds.
    pub other_files: Vec<(EntryPosition, NoMemoryReason)>,
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
        } else if reason == NoMemoryReason::OtherFile && self.other_files.len() < OTHER_FILES {
            self.other_files.push((place, reason));
        }
    }

    /// Records a date of the file that is not the origin date of its memory.
    pub fn note_date(&mut self, place: EntryPosition, problem: DateProblem) {
        *self.dates.entry(problem).or_default() += 1;
        if self.date_places.len() < PLACES {
            self.date_places.push((place, problem));
        }
    }

    /// The number of parts of one class that are no memories.
    pub fn count(&self, class: NoMemoryClass) -> u64 {
        let of_class = self.passed.iter();
        let of_class = of_class.filter(|(reason, _)| reason.class() == class);
        of_class.map(|(_, count)| count).sum()
    }
}
