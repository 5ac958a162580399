//! The age rule of SPEC 3.14, computed anew from the views: the records give the order, the memories the rest. No code
//! of the implementation is used.

use std::collections::{BTreeMap, BTreeSet};

use memoir_app::{ShownMemory, ShownRecord};
use memoir_domain::{Timestamp, audit::Action, memory::Kind};
use memoir_text::same_text_key_ignoring_case;
use serde_json::Value;

/// Origins of this weakness are exempt.
const EXEMPT: u8 = 3;

/// An original that counts.
struct Original {
    number: u64,
    tokens: u64,
    weakness: u8,
    is_in: bool,
}

/// The sums at one original.
pub struct Age {
    /// Its number.
    pub number: u64,
    /// Whether it is gone.
    pub is_gone: bool,
    /// The tokens of the originals that are in or gone, are not later and have no weaker origin.
    pub all: u64,
    /// Those of them that are in.
    pub stays: u64,
    /// The tokens of the original itself.
    pub own: u64,
}

/// The share that must stay of every age.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Floor {
    /// Of sessions within their budget: three quarters.
    Within,
    /// Of sessions over it: half, or a third of the budget.
    Over,
    /// Of replacing: a sixth, or a ninth of the budget.
    Replacing,
}

impl Floor {
    /// Whether that many tokens are enough.
    pub fn is_met(self, stays: u64, all: u64, budget: u64) -> bool {
        match self {
            Self::Within => 4 * stays >= 3 * all,
            Self::Over => 2 * stays >= all || 3 * stays >= budget,
            Self::Replacing => 6 * stays >= all || 9 * stays >= budget,
        }
    }

    /// As the tables name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Within => "3/4",
            Self::Over => "1/2",
            Self::Replacing => "1/6",
        }
    }
}

/// Every age, in the order of the records.
pub struct Ages {
    /// One for each original that counts and is not exempt.
    pub ages: Vec<Age>,
    /// The tokens of the largest original.
    pub largest: u64,
}

impl Ages {
    /// Of all memories and all records of an agent.
    pub fn new(memories: &[ShownMemory], records: &[ShownRecord]) -> Self {
        let order = order(records);
        let by_number: BTreeMap<u64, &ShownMemory> = memories
            .iter()
            .map(|memory| (memory.number.0, memory))
            .collect();
        let joined = joined(records);
        let mut rows: Vec<Original> = Vec::new();
        let mut texts: Vec<(String, bool, u8)> = Vec::new();
        let mut places: Vec<(u64, u64)> =
            order.iter().map(|(number, seq)| (*seq, *number)).collect();
        places.sort_unstable();
        for (_, number) in places {
            let memory = by_number[&number];
            let is_in = memory.kind == Kind::Core && memory.discarded_at.is_none();
            // A cleanup makes nothing gone.
            let is_joined = !is_in
                && joined
                    .get(&number)
                    .is_some_and(|at| memory.archived_at == Some(*at));
            if memory.is_summary || is_joined || !(is_in || memory.kind == Kind::Archival) {
                continue;
            }
            let weakness = memory.origin.weakness();
            let text = same_text_key_ignoring_case(memory.content());
            // It left free: an earlier one in the prompt has the text. All of these agents' texts are of one side. The
            // rule counts it in neither sum. Here it counts as in, since its text is: where it left after another one,
            // the sums of the rule are no longer those of the time of that edit.
            let is_free = !is_in
                && texts.iter().any(|(other, other_in, weak)| {
                    *other_in && *weak <= weakness && *other == text
                });
            let row = Original {
                number,
                tokens: memory.tokens,
                weakness,
                is_in: is_in || is_free,
            };
            rows.push(row);
            texts.push((text, is_in, weakness));
        }
        let mut ages = Vec::new();
        let checked = rows.iter().enumerate();
        for (place, x) in checked.filter(|(_, x)| x.weakness < EXEMPT) {
            let counted = rows[..=place].iter();
            let counted = counted.filter(|row| row.weakness <= x.weakness);
            let (mut all, mut stays) = (0, 0);
            for row in counted {
                all += row.tokens;
                stays += if row.is_in { row.tokens } else { 0 };
            }
            ages.push(Age {
                number: x.number,
                is_gone: !x.is_in,
                all,
                stays,
                own: x.tokens,
            });
        }
        let largest = rows.iter().map(|row| row.tokens).max();
        Self {
            ages,
            largest: largest.unwrap_or(0),
        }
    }

    /// The ages that break the floor, less one original: at one that is gone itself, else the largest one. By number.
    pub fn below(&self, floor: Floor, budget: u64) -> Vec<u64> {
        let is_below = |age: &&Age| {
            let less = if age.is_gone { age.own } else { self.largest };
            !floor.is_met(age.stays + less, age.all, budget)
        };
        self.ages
            .iter()
            .filter(is_below)
            .map(|age| age.number)
            .collect()
    }
}

/// When a cleanup last moved an original to the archive.
fn joined(records: &[ShownRecord]) -> BTreeMap<u64, Timestamp> {
    let cleanups = records.iter();
    let cleanups = cleanups.filter(|record| record.action == Action::MemoryDeduplicated);
    cleanups
        .flat_map(|record| {
            let archived = numbers(&record.words.data.expose()["archived"]);
            archived
                .into_iter()
                .map(|number| (number, record.recorded_at))
        })
        .collect()
}

/// For each original that was ever core, the record that first made it so.
fn order(records: &[ShownRecord]) -> BTreeMap<u64, u64> {
    let mut order: BTreeMap<u64, u64> = BTreeMap::new();
    for record in records {
        let Some(number) = record.memory.map(|number| number.0) else {
            continue;
        };
        let after = record.words.after.as_ref();
        let is_core = after.is_some_and(|after| after.expose()["kind"] == "core");
        match record.action {
            Action::MemorySaved if is_core => {
                order.entry(number).or_insert(record.seq);
            }
            Action::MemoryPromoted => {
                order.entry(number).or_insert(record.seq);
            }
            Action::MemoryDeduplicated => {
                let data = record.words.data.expose();
                let copies = numbers(&data["discarded"]);
                let firsts = copies.iter().filter_map(|copy| order.get(copy)).copied();
                let first = firsts.chain(order.get(&number).copied()).min();
                order.extend(first.map(|first| (number, first)));
            }
            _ => {}
        }
    }
    order
}

/// The numbers of a list of numbers, or of objects with one.
pub fn numbers(value: &Value) -> BTreeSet<u64> {
    let all = value.as_array().into_iter().flatten();
    all.filter_map(|one| one.as_u64().or_else(|| one["number"].as_u64()))
        .collect()
}
