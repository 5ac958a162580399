//! The history of the core size, from the log's open facts alone (SPEC 5.1): as a curve over time, and by cause.
//!
//! Every record that changes memories has the core size after it among its facts. A curve of years is read from those
//! page by page, without a key. Shredding does not change it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{log::audit::Action, time::Timestamp};

/// Most points of a curve.
pub const POINTS_LIMIT: usize = 10_000;

wire_names! {
    /// Why the core size changed.
    #[derive(PartialOrd, Ord)]
    pub enum Cause {
        Saved = "saved" => "saved",
        /// Journal entries and archival memories became core.
        Promoted = "promoted" => "promoted",
        /// A new memory took their place, or the owner edited them.
        Replaced = "replaced" => "replaced",
        /// Sessions edited; edits that were undone later are included.
        Refined = "refined" => "edited in sessions",
        Deduplicated = "deduplicated" => "duplicates joined",
        Undone = "taken_back" => "rolled back or undone",
        Rewound = "rewound" => "rewound",
        /// Memories were discarded outside of sessions.
        Discarded = "discarded" => "discarded",
        Restored = "restored" => "restored",
        Shredded = "shredded" => "shredded",
        Other = "other" => "other",
    }
}

impl Cause {
    /// The cause of a record of that action.
    pub fn of(action: Action) -> Self {
        match action {
            Action::MemorySaved => Self::Saved,
            Action::MemoryReplaced | Action::MemoryEdited => Self::Replaced,
            Action::MemoryPromoted => Self::Promoted,
            Action::MemoryDeduplicated => Self::Deduplicated,
            Action::AgentRewound => Self::Rewound,
            Action::MemoryDiscarded => Self::Discarded,
            Action::MemoryRestored => Self::Restored,
            Action::MemoryShredded => Self::Shredded,
            action if action.is_capped_edit() => Self::Refined,
            action if action.undoes() => Self::Undone,
            _ => Self::Other,
        }
    }
}

/// The effect of one cause on the core size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Flow {
    /// Records that changed memories.
    pub records: u64,
    /// The sum of the increases, in tokens.
    pub tokens_added: u64,
    /// The sum of the decreases, in tokens.
    pub tokens_removed: u64,
}

/// The core size at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CoreSizePoint {
    /// The moment.
    pub at: Timestamp,
    /// The core size then, in tokens.
    pub core_tokens: u64,
    /// The smallest since the point before.
    pub lowest_core_tokens: u64,
    /// The largest since the point before.
    pub highest_core_tokens: u64,
}

/// The core size over time, added record by record. Its memory use depends on the points, not on the records.
#[derive(Debug, Clone)]
pub struct Curve {
    since: Timestamp,
    until: Timestamp,
    before: u64,
    now: u64,
    /// Smallest, largest and last core size of each interval; `None` where nothing was recorded.
    stretches: Vec<Option<(u64, u64, u64)>>,
    flows: BTreeMap<Cause, Flow>,
}

impl Curve {
    /// Begins at `since` with that core size and ends at `until`, with 1 to [`POINTS_LIMIT`] points.
    pub fn new(since: Timestamp, until: Timestamp, points: usize, core_tokens: u64) -> Self {
        Self {
            since,
            // A clock that was set back must not make a curve of negative length.
            until: until.max(since),
            before: core_tokens,
            now: core_tokens,
            stretches: vec![None; points.clamp(1, POINTS_LIMIT)],
            flows: BTreeMap::new(),
        }
    }

    /// Adds the next record that changed memories, with the core size after it. Returns the change in tokens.
    pub fn note(&mut self, at: Timestamp, action: Action, core_tokens: u64) -> i64 {
        let added = core_tokens.saturating_sub(self.now);
        let removed = self.now.saturating_sub(core_tokens);
        let cause = Cause::of(action);
        // Memoir's own journal entries are memories too: without a change of the core size they are no other cause.
        if cause != Cause::Other || added + removed > 0 {
            let flow = self.flows.entry(cause).or_default();
            flow.records += 1;
            flow.tokens_added += added;
            flow.tokens_removed += removed;
        }
        self.now = core_tokens;
        let place = self.place(at);
        let (lowest, highest, last) =
            // The last of the three is set below in any case.
            self.stretches[place].get_or_insert((core_tokens, core_tokens, 0));
        *lowest = core_tokens.min(*lowest);
        *highest = core_tokens.max(*highest);
        *last = core_tokens;
        added as i64 - removed as i64
    }

    /// The interval of a moment; a wrong clock does not lead out of the curve.
    fn place(&self, at: Timestamp) -> usize {
        let count = self.stretches.len() as i128;
        // In 128 bits: microseconds of centuries times ten thousand points are more than 64 hold.
        let length = i128::from(self.until.microseconds()) - i128::from(self.since.microseconds());
        let passed = i128::from(at.microseconds()) - i128::from(self.since.microseconds());
        let place = passed * count / length.max(1);
        usize::try_from(place.clamp(0, count - 1)).unwrap_or(0)
    }

    /// The curve: the beginning, and the end of each interval.
    pub fn points(&self) -> Vec<CoreSizePoint> {
        let mut core_tokens = self.before;
        let mut points = vec![CoreSizePoint {
            at: self.since,
            core_tokens,
            lowest_core_tokens: core_tokens,
            highest_core_tokens: core_tokens,
        }];
        let count = self.stretches.len() as i128;
        let length = i128::from(self.until.microseconds()) - i128::from(self.since.microseconds());
        for (place, stretch) in (1..).zip(&self.stretches) {
            let (lowest, highest, last) =
                stretch.unwrap_or((core_tokens, core_tokens, core_tokens));
            core_tokens = last;
            let passed = i64::try_from(length * place / count).unwrap_or(i64::MAX);
            points.push(CoreSizePoint {
                at: self.since.plus_microseconds(passed),
                core_tokens,
                lowest_core_tokens: lowest,
                highest_core_tokens: highest,
            });
        }
        points
    }

    /// The effect of each cause on the core size, without causes that changed nothing.
    pub fn flows(&self) -> &BTreeMap<Cause, Flow> {
        &self.flows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_microseconds(seconds * 1_000_000).unwrap()
    }

    proptest! {
        #[test]
        fn the_flows_come_to_what_the_core_size_changed(
            sizes in prop::collection::vec((0i64..1_000, 0u64..500), 0..50), points in 1usize..20, length in 0i64..900,
        ) {
            let mut curve = Curve::new(at(50), at(50 + length), points, 77);
            for (place, (when, size)) in sizes.iter().enumerate() {
                curve.note(at(*when), Action::ALL[place % Action::ALL.len()], *size);
            }
            let added: u64 = curve.flows().values().map(|flow| flow.tokens_added).sum();
            let removed: u64 = curve.flows().values().map(|flow| flow.tokens_removed).sum();
            prop_assert_eq!(77 + added, curve.now + removed);
            let curve_points = curve.points();
            prop_assert_eq!(curve_points.len(), points + 1);
            prop_assert_eq!((curve_points[0].at, curve_points[points].at), (at(50), at(50 + length)));
        }
    }
}
