//! Which entries a bounded context omits (SPEC 2.3). It owns the order of omission and the stable cuts, and knows no
//! text: entries are sizes with a class and a day.
//!
//! Nothing is stored between two contexts. The entries are gone through in the order in which they were recorded, as if
//! a context had been made after each of them. Where their sum exceeds a bound, it is cut to four fifths of the bound,
//! and what was cut stays omitted. So a context only gains entries at its end until the bound is reached again, and a
//! save rarely changes the beginning of its text.

use std::collections::{HashMap, VecDeque};

use serde::Serialize;

use crate::time::Timestamp;

/// A cut leaves this many fifths of a bound.
const KEPT_FIFTHS: u64 = 4;
/// The oldest memories of a class get one part of its room in so many.
const OLDEST_PART: u64 = 4;
/// An entry that takes more than one part of a bound in so many is omitted before all others.
const LARGEST_PART: u64 = 4;
pub(super) const DAY_HEADING: u64 = "### 2026-03-01\n".len() as u64;

/// The order in which entries leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Journal,
    /// A core memory without a flag of the others.
    Plain,
    Summary,
    /// A core memory with an immutable tag.
    Immutable,
    Constitutional,
}

impl Class {
    fn is_core(self) -> bool {
        self != Self::Journal
    }
}

/// What is counted of one entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sized {
    pub(super) class: Class,
    /// Its size in tokens, as counted for the bounds of core and of the journal.
    pub(super) tokens: u64,
    /// Characters of its line, without the heading of its day, as counted for the bound of the whole.
    pub(super) characters: u64,
    /// Its origin date. One heading is counted for each day of it, in core and in the journal.
    pub(super) created_at: Timestamp,
}

wire_names! {
    /// Why an entry is not in a context (SPEC 2.3).
    #[derive(PartialOrd, Ord)]
    pub enum OmissionRule {
        /// It alone takes more than a fourth of the bound.
        TooLarge = "too_large",
        /// A journal entry: the oldest are omitted first.
        Journal = "journal",
        /// A core memory that is neither among the oldest nor among the newest that fit.
        Core = "core",
        /// A summary: the oldest are omitted first.
        Summary = "summary",
        /// It has an immutable tag, and is neither among the oldest nor among the newest of these that fit.
        Immutable = "immutable",
        /// A constitutional memory beyond the limit of a client that takes no more.
        Constitutional = "constitutional",
        /// A report of Memoir's: a newer one is of its kind, or newer ones or constitutional memories take its room.
        Report = "report",
    }
}

wire_names! {
    /// The bound that an entry was omitted for, by the name of the setting or parameter.
    #[derive(PartialOrd, Ord)]
    pub enum Bound {
        /// `max_tokens`: the whole context.
        Total = "max_tokens",
        Core = "context_core_tokens",
        Journal = "context_journal_tokens",
        Reports = "reports",
    }
}

/// Why an entry is not in a context, and by which bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Omission {
    /// The rule.
    pub rule: OmissionRule,
    /// The bound.
    pub bound: Bound,
}

/// A bound: of the whole in characters, of core and of the journal in tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    /// As set; an entry is too large by it.
    pub(super) bound: u64,
    /// What of it the entries and the headings of their days can take.
    pub(super) room: u64,
}

/// The bounds; `None` for no bound.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Limits {
    pub(super) total: Option<Limit>,
    pub(super) core: Option<Limit>,
    pub(super) journal: Option<Limit>,
    /// Whether constitutional memories are omitted too where they alone exceed `total`.
    pub(super) is_hard: bool,
}

/// For each of `entries`, which are in the order of their records, why it is omitted; `None` for a shown one.
pub(super) fn omissions(entries: &[Sized], limits: &Limits) -> Vec<Option<Omission>> {
    let mut shown = Shown::new(entries);
    if let Some(limit) = limits.total.filter(|_| limits.is_hard) {
        shown.omitted = constitutional(entries, Some(limit)).omitted;
    }
    for (index, entry) in entries.iter().enumerate() {
        if shown.omitted[index].is_some() {
            continue;
        }
        shown.append(index);
        let part = match entry.class.is_core() {
            true => (limits.core, Bound::Core),
            false => (limits.journal, Bound::Journal),
        };
        for (limit, bound) in [part, (limits.total, Bound::Total)] {
            if let Some(limit) = limit {
                shown.keep_within(limit, bound);
            }
        }
    }
    shown.omitted
}

/// Characters of the constitutional memories that `limit` leaves, with the headings of their days.
pub(super) fn constitutional_size(entries: &[Sized], limit: Option<Limit>) -> u64 {
    constitutional(entries, limit).characters
}

/// The constitutional memories alone, without those that a client's limit omits: none where they fit. First those that
/// fit alone in no context, then those that take more than a fourth of the bound, then all others; of each the last
/// recorded first. The room that they leave is for entries of all classes.
fn constitutional(entries: &[Sized], limit: Option<Limit>) -> Shown<'_> {
    let (rule, bound) = (OmissionRule::Constitutional, Bound::Total);
    let mut shown = Shown::new(entries);
    let is_constitutional = |index: &usize| entries[*index].class == Class::Constitutional;
    let mut order: Vec<usize> = (0..entries.len()).filter(is_constitutional).collect();
    order.iter().for_each(|index| shown.append(*index));
    let Some(limit) = limit else { return shown };
    order.sort_by_key(|index| {
        let size = entries[*index].characters;
        (size > limit.room, size > limit.bound / LARGEST_PART, *index)
    });
    while shown.characters > limit.room
        && let Some(next) = order.pop()
    {
        shown.count_out(next, Omission { rule, bound });
    }
    shown
}

/// The entries that are shown after those gone through so far.
struct Shown<'a> {
    entries: &'a [Sized],
    omitted: Vec<Option<Omission>>,
    /// The shown entries of each class, in the order of their records.
    classes: [VecDeque<usize>; 5],
    /// How many shown entries are of a day, in the journal and in core.
    days: [HashMap<i64, u32>; 2],
    /// Characters of the shown entries with the headings of their days.
    characters: u64,
    /// Tokens of the shown entries of the journal, and of core.
    tokens: [u64; 2],
    /// Characters and tokens of the shown constitutional memories, without headings.
    constitutional: (u64, u64),
}

impl<'a> Shown<'a> {
    fn new(entries: &'a [Sized]) -> Self {
        Self {
            entries,
            omitted: vec![None; entries.len()],
            classes: Default::default(),
            days: Default::default(),
            characters: 0,
            tokens: [0; 2],
            constitutional: (0, 0),
        }
    }

    /// Shows one more entry, the last one of its class.
    fn append(&mut self, index: usize) {
        self.classes[self.entries[index].class as usize].push_back(index);
        self.count_in(index);
    }

    fn count_in(&mut self, index: usize) {
        let entry = self.entries[index];
        let part = usize::from(entry.class.is_core());
        let of_day = self.days[part]
            .entry(entry.created_at.day_number())
            .or_default();
        *of_day += 1;
        let heading = if *of_day == 1 { DAY_HEADING } else { 0 };
        self.characters += entry.characters + heading;
        self.tokens[part] += entry.tokens;
        if entry.class == Class::Constitutional {
            self.constitutional.0 += entry.characters;
            self.constitutional.1 += entry.tokens;
        }
        self.omitted[index] = None;
    }

    /// Omits an entry that was taken out of its class.
    fn count_out(&mut self, index: usize, omission: Omission) {
        let entry = self.entries[index];
        let part = usize::from(entry.class.is_core());
        let day = entry.created_at.day_number();
        let mut heading = 0;
        if let Some(of_day) = self.days[part].get_mut(&day) {
            *of_day -= 1;
            if *of_day == 0 {
                self.days[part].remove(&day);
                heading = DAY_HEADING;
            }
        }
        self.characters -= entry.characters + heading;
        self.tokens[part] -= entry.tokens;
        if entry.class == Class::Constitutional {
            self.constitutional.0 -= entry.characters;
            self.constitutional.1 -= entry.tokens;
        }
        self.omitted[index] = Some(omission);
    }

    /// The size of the entries that `bound` is about, in its unit.
    fn size(&self, bound: Bound) -> u64 {
        let [journal, core] = self.tokens;
        match bound {
            Bound::Core => core,
            Bound::Journal => journal,
            Bound::Total | Bound::Reports => self.characters,
        }
    }

    /// Cuts the entries that `bound` is about, where they exceed it.
    fn keep_within(&mut self, limit: Limit, bound: Bound) {
        if self.size(bound) <= limit.room {
            return;
        }
        // Where constitutional memories take most of the bound, half of the rest stays: four fifths of the bound would
        // leave nothing beside them.
        let fixed = match bound {
            Bound::Journal => 0,
            Bound::Core => self.constitutional.1.min(limit.room),
            Bound::Total | Bound::Reports => self.constitutional.0.min(limit.room),
        };
        let most = (limit.room * KEPT_FIFTHS / 5).max(fixed + (limit.room - fixed) / 2);
        self.omit_largest(limit, bound);
        // Without what is too large the others fit, so that it makes none of them leave.
        if self.size(bound) <= limit.room {
            return;
        }
        if bound != Bound::Core {
            self.omit_oldest(Class::Journal, OmissionRule::Journal, most, bound);
        }
        if bound != Bound::Journal {
            self.divide(Class::Plain, OmissionRule::Core, most, bound);
            self.omit_oldest(Class::Summary, OmissionRule::Summary, most, bound);
            self.divide(Class::Immutable, OmissionRule::Immutable, most, bound);
        }
    }

    /// Omits entries that are too large until the others fit: first those that fit alone in no context, then the journal's
    /// oldest, then core memories from the last recorded one on. So a core memory that is added makes no other leave.
    fn omit_largest(&mut self, limit: Limit, bound: Bound) {
        let classes: &[Class] = match bound {
            Bound::Journal => &[Class::Journal],
            Bound::Core => &[Class::Plain, Class::Summary, Class::Immutable],
            Bound::Total | Bound::Reports => &[
                Class::Journal,
                Class::Plain,
                Class::Summary,
                Class::Immutable,
            ],
        };
        let entries = self.entries;
        let size = |index: usize| match bound {
            Bound::Core | Bound::Journal => entries[index].tokens,
            Bound::Total | Bound::Reports => entries[index].characters,
        };
        let shown = classes
            .iter()
            .flat_map(|class| &self.classes[*class as usize]);
        let is_too_large = |index: &usize| size(*index) > limit.bound / LARGEST_PART;
        let mut largest: Vec<usize> = shown.copied().filter(is_too_large).collect();
        largest.sort_by_key(|index| {
            let entry = &entries[*index];
            let is_core = entry.class.is_core();
            let date = (!is_core).then_some(entry.created_at);
            let place = if is_core { usize::MAX - index } else { *index };
            (size(*index) <= limit.room, is_core, date, place)
        });
        for index in largest {
            if self.size(bound) <= limit.room {
                return;
            }
            let class = entries[index].class as usize;
            self.classes[class].retain(|other| *other != index);
            let rule = OmissionRule::TooLarge;
            self.count_out(index, Omission { rule, bound });
        }
    }

    /// Omits entries of a class, the oldest first, until at most `most` is left or none of them.
    fn omit_oldest(&mut self, class: Class, rule: OmissionRule, most: u64, bound: Bound) {
        if self.size(bound) <= most {
            return;
        }
        if class == Class::Journal {
            // The journal by its origin dates, by which it expires. One of them may be recorded late.
            let entries = self.entries;
            let journal = self.classes[class as usize].make_contiguous();
            journal.sort_by_key(|index| (entries[*index].created_at, *index));
        }
        while self.size(bound) > most
            && let Some(oldest) = self.classes[class as usize].pop_front()
        {
            self.count_out(oldest, Omission { rule, bound });
        }
    }

    /// Omits the middle of a class where more than `most` is shown: of the room that the other classes leave,
    /// a fourth goes to the memories recorded first and the rest to those recorded last.
    fn divide(&mut self, class: Class, rule: OmissionRule, most: u64, bound: Bound) {
        if self.size(bound) <= most {
            return;
        }
        let all = std::mem::take(&mut self.classes[class as usize]);
        for index in &all {
            self.count_out(*index, Omission { rule, bound });
        }
        let others = self.size(bound);
        let room = most.saturating_sub(others);
        let fits = |shown: &mut Self, index: usize, room: u64| {
            shown.count_in(index);
            let is_within = shown.size(bound) <= others + room;
            if !is_within {
                shown.count_out(index, Omission { rule, bound });
            }
            is_within
        };
        let oldest = all
            .iter()
            .take_while(|index| fits(self, **index, room / OLDEST_PART))
            .count();
        let rest = all.range(oldest..).rev();
        let newest = rest.take_while(|index| fits(self, **index, room)).count();
        let first_newest = all.len() - newest;
        let is_kept = |(place, _): &(usize, &usize)| *place < oldest || *place >= first_newest;
        let kept = all.iter().enumerate().filter(is_kept);
        self.classes[class as usize] = kept.map(|(_, index)| *index).collect();
    }
}
