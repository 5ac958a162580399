//! All memories of an agent, for decisions that remove text from the prompt: by number, by the memory above, and the
//! originals by age (SPEC 3.9 to 3.14, 2.4).
//!
//! It is built once and follows the written changes. Free copies (SPEC 3.14) are found by comparing texts; a hash of
//! each text, in memory only, selects the texts to compare.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    hash::{BuildHasher, RandomState},
    sync::{LazyLock, OnceLock},
};

use memoir_text::same_text_key_ignoring_case;

use crate::{
    change::{
        age_rule::{self, AgeRow, AgeShare, AgeState, EXEMPT},
        draft::Draft,
    },
    log::audit::Change,
    memory::{Memory, Number, SharedMemory, core_above},
};

/// Distinguishes texts; equal for the same text up to case.
type TextHash = u64;

/// Identifies an original in the order of ages: the record that first made it core, then its number.
type Age = (u64, Number);

/// All memories of an agent.
#[derive(Debug, Clone, Default)]
pub struct AllMemories {
    by_number: BTreeMap<Number, SharedMemory>,
    /// The active archival memories under each.
    under: BTreeMap<Number, BTreeSet<Number>>,
    /// Made when first needed: they take a hash of each text.
    originals: OnceLock<Originals>,
    bytes: usize,
}

/// The originals that the age rule counts: in the prompt, or gone.
#[derive(Debug, Clone, Default)]
struct Originals {
    ages: BTreeMap<Age, TextHash>,
    /// The ages of those in the prompt, by their texts. What is gone covers nothing.
    alike: HashMap<TextHash, BTreeSet<Age>>,
}

impl Originals {
    fn insert(&mut self, memory: &Memory) {
        if let Some(age) = counted_age(memory) {
            let hash = text_hash(memory.content.expose());
            self.ages.insert(age, hash);
            if memory.is_active_core() {
                self.alike.entry(hash).or_default().insert(age);
            }
        }
    }

    fn remove(&mut self, memory: &Memory) {
        if let Some(age) = counted_age(memory)
            && let Some(hash) = self.ages.remove(&age)
            && let Some(alike) = self.alike.get_mut(&hash)
        {
            alike.remove(&age);
        }
    }
}

/// The originals that the age rule counts at an edit, in the order of their ages, and which they are.
#[derive(Debug, Clone, Default)]
pub struct AgeRows {
    /// As the rule counts them.
    pub rows: Vec<AgeRow>,
    /// Their numbers, at the same places.
    pub numbers: Vec<Number>,
}

impl AllMemories {
    /// Of an agent's memories, each once.
    pub fn new(memories: impl IntoIterator<Item = SharedMemory>) -> Self {
        let memories = memories.into_iter();
        // At once: where their numbers ascend, as those of most agents do, no place is looked up.
        let by_number: BTreeMap<Number, SharedMemory> =
            memories.map(|memory| (memory.number, memory)).collect();
        let mut all = Self::default();
        by_number.values().for_each(|memory| all.note(memory));
        Self { by_number, ..all }
    }

    /// Of copies.
    pub fn of<'a>(memories: impl IntoIterator<Item = &'a Memory>) -> Self {
        let memories = memories.into_iter();
        Self::new(memories.map(|memory| memory.clone().into_shared()))
    }

    /// Follows changes that are drafted or written.
    pub fn follow(&mut self, changes: &[Change]) {
        for change in changes {
            self.remove(change.number());
            self.insert(change.after().into_shared());
        }
    }

    /// Makes `before` into `after` in a draft, and follows that.
    pub(crate) fn alter(
        &mut self,
        draft: &mut Draft,
        before: &Memory,
        after: &Memory,
    ) -> Option<Change> {
        let change = draft.alter(before.clone(), after)?;
        self.follow(std::slice::from_ref(&change));
        Some(change)
    }

    /// About how many bytes they take.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn insert(&mut self, memory: SharedMemory) {
        self.note(&memory);
        self.by_number.insert(memory.number, memory);
    }

    /// Notes a memory wherever it is found by something other than its number.
    fn note(&mut self, memory: &Memory) {
        self.bytes += bytes_of(memory);
        if memory.is_active_archival()
            && let Some(under) = memory.under()
        {
            let sources = self.under.entry(under).or_default();
            sources.insert(memory.number);
        }
        if let Some(originals) = self.originals.get_mut() {
            originals.insert(memory);
        }
    }

    fn remove(&mut self, number: Number) {
        let Some(memory) = self.by_number.remove(&number) else {
            return;
        };
        self.bytes -= bytes_of(&memory);
        if let Some(under) = memory.under()
            && let Some(sources) = self.under.get_mut(&under)
        {
            sources.remove(&number);
        }
        if let Some(originals) = self.originals.get_mut() {
            originals.remove(&memory);
        }
    }

    fn originals(&self) -> &Originals {
        self.originals.get_or_init(|| {
            let mut originals = Originals::default();
            self.iter().for_each(|memory| originals.insert(memory));
            originals
        })
    }

    /// All of them, by number.
    pub fn iter(&self) -> impl Iterator<Item = &Memory> {
        self.by_number.values().map(|memory| -> &Memory { memory })
    }

    /// The memory of that number, active or not.
    pub fn get(&self, number: Number) -> Option<&Memory> {
        Some(self.by_number.get(&number)?)
    }

    /// The active memory of that number.
    pub fn active(&self, number: Number) -> Option<&Memory> {
        self.get(number).filter(|memory| memory.is_active())
    }

    /// The active core memories, by number.
    pub fn core(&self) -> impl Iterator<Item = &Memory> {
        self.iter().filter(|memory| memory.is_active_core())
    }

    /// The memory that took a memory's place, as it reads: none where that one is discarded (SPEC 1).
    pub fn read_under(&self, memory: &Memory) -> Option<Number> {
        let under = memory.under()?;
        self.active(under).map(|memory| memory.number)
    }

    /// The active archival memories directly under that one, by number (SPEC 1).
    pub fn sources(&self, number: Number) -> impl Iterator<Item = &Memory> {
        let numbers = self.under.get(&number).into_iter().flatten();
        numbers.filter_map(|number| self.get(*number))
    }

    /// The summary that loses its last source where `memory` leaves the place under it; `None` where it is under no
    /// active summary, or others are (SPEC 2.4).
    pub fn summary_left_bare(&self, memory: &Memory) -> Option<&Memory> {
        let summary = self.active(memory.under()?)?;
        let is_bare = self
            .sources(summary.number)
            .all(|source| source.number == memory.number);
        (summary.is_summary && is_bare).then_some(summary)
    }

    /// The core memory at the end of the chain of memories that took a memory's place; `None` where there is none.
    pub fn now_at(&self, memory: &Memory) -> Option<&Memory> {
        let place = |number| {
            let next = self.active(number)?;
            Some((next.kind(), next.under()))
        };
        self.get(core_above(memory.under(), self.by_number.len(), place)?)
    }

    /// The earliest memory that makes it free to take the original out: another active core original of its side,
    /// with the same text up to case, recorded before it, of no weaker origin, and not among `leaving` (SPEC 3.14).
    pub fn cover(&self, memory: &Memory, leaving: &BTreeSet<Number>) -> Option<&Memory> {
        let own = counted_age(memory)?;
        let Originals { ages, alike } = self.originals();
        let earlier = alike.get(ages.get(&own)?)?.range(..own);
        let mut text = None;
        earlier
            .filter(|(_, number)| !leaving.contains(number))
            .filter_map(|(_, number)| self.get(*number))
            .find(|other| {
                let text = text
                    .get_or_insert_with(|| same_text_key_ignoring_case(memory.content.expose()));
                other.side() == memory.side()
                    && other.origin().weakness() <= memory.origin().weakness()
                    && same_text_key_ignoring_case(other.content.expose()) == *text
            })
    }

    /// The core memories that are free to leave while all others stay: those that [`AllMemories::cover`] covers.
    pub fn free(&self) -> impl Iterator<Item = &Memory> {
        // A text that is there once has no earlier one: only the others are looked up.
        let repeated = self.originals().alike.values();
        let repeated = repeated.filter(|ages| ages.len() > 1).flatten();
        repeated
            .filter_map(|(_, number)| self.get(*number))
            .filter(|memory| self.cover(memory, &BTreeSet::new()).is_some())
    }

    /// The originals that the age rule counts where those of `leaving` leave; without those that are free to leave,
    /// and without those gone whose text an earlier one in the prompt still has.
    pub fn age_rows(&self, leaving: &BTreeSet<Number>) -> AgeRows {
        let Originals { ages, alike } = self.originals();
        let mut rows = AgeRows::default();
        rows.rows.reserve(ages.len());
        rows.numbers.reserve(ages.len());
        for (age, hash) in ages {
            let number = &age.1;
            let Some(memory) = self.get(*number) else {
                continue;
            };
            let row = age_row(memory, leaving.contains(number));
            let may_be_covered = row.state != AgeState::Stays
                && alike
                    .get(hash)
                    .and_then(BTreeSet::first)
                    .is_some_and(|first| first < age);
            if may_be_covered && self.cover(memory, leaving).is_some() {
                continue;
            }
            rows.rows.push(row);
            rows.numbers.push(*number);
        }
        rows
    }

    /// The core memories that the age rule holds because of copies that are gone: these count once the only memory
    /// that makes them free leaves too (SPEC 3.14).
    pub(crate) fn held_by_copies(&self, share: AgeShare) -> BTreeSet<Number> {
        let none = BTreeSet::new();
        let (mut rows, mut numbers) = (Vec::new(), Vec::new());
        // The copies that count where this memory leaves, each with its place.
        let mut copies: BTreeMap<Number, Vec<(usize, AgeRow)>> = BTreeMap::new();
        let ages = self.originals().ages.keys();
        for memory in ages.filter_map(|age| self.get(age.1)) {
            let row = age_row(memory, false);
            let is_gone = row.state == AgeState::Gone;
            let first = is_gone.then(|| self.cover(memory, &none)).flatten();
            if let Some(first) = first.map(|first| first.number) {
                if self.cover(memory, &BTreeSet::from([first])).is_none() {
                    let copies = copies.entry(first).or_default();
                    copies.push((rows.len(), row));
                }
                rows.push(exempt(row));
            } else {
                rows.push(row);
            }
            numbers.push(memory.number);
        }
        let mut held = BTreeSet::new();
        let most = HELD_STEPS / rows.len().max(1);
        let numbers = numbers.into_iter().enumerate();
        let firsts = numbers.filter_map(|(place, number)| {
            let copies = copies.get(&number)?;
            Some((place, number, copies))
        });
        for (place, number, copies) in firsts.take(most) {
            rows[place].state = AgeState::Leaves;
            copies.iter().for_each(|(at, row)| rows[*at] = *row);
            if age_rule::check(&rows, share).is_err() {
                held.insert(number);
            }
            rows[place].state = AgeState::Stays;
            copies.iter().for_each(|(at, row)| rows[*at] = exempt(*row));
        }
        held
    }

    /// Moves what is under a memory under another one.
    pub(crate) fn move_sources(
        &mut self,
        draft: &mut Draft,
        from: Number,
        to: Option<Number>,
    ) -> Vec<Change> {
        let sources: Vec<Memory> = self.sources(from).cloned().collect();
        sources
            .iter()
            .filter_map(|source| self.alter(draft, source, &source.moved_under(to)))
            .collect()
    }
}

/// Rows that [`AllMemories::held_by_copies`] looks at: with thousands of copies, each of another text, marks of the newest
/// are missing, and their edits are refused all the same.
const HELD_STEPS: usize = 20_000_000;

/// An original as the age rule counts it, where no other makes it free.
fn age_row(memory: &Memory, leaves: bool) -> AgeRow {
    AgeRow {
        tokens: memory.tokens(),
        weakness: memory.origin().weakness(),
        state: match (memory.is_active_core(), leaves) {
            (true, false) => AgeState::Stays,
            (true, true) => AgeState::Leaves,
            (false, _) => AgeState::Gone,
        },
    }
}

/// The row in the same place, as one that does not count.
fn exempt(row: AgeRow) -> AgeRow {
    AgeRow {
        weakness: EXEMPT,
        ..row
    }
}

fn bytes_of(memory: &Memory) -> usize {
    /// What the entries of the maps take, with their nodes.
    const ENTRIES: usize = 200;
    size_of::<Memory>() + ENTRIES + memory.content.expose().len()
}

/// The age of an original that the age rule counts; `None` of others.
fn counted_age(memory: &Memory) -> Option<Age> {
    let is_counted = memory.shredded_at.is_none()
        && !memory.is_summary
        && (memory.is_active_core() || memory.has_left_prompt());
    let seq = memory.core_seq.filter(|_| is_counted);
    seq.map(|seq| (seq, memory.number))
}

/// The hash of a text's form that is equal where two texts are the same up to case.
fn text_hash(text: &str) -> TextHash {
    /// Chosen anew in each process, so that no text can be made to collide with others.
    static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    HASHER.hash_one(same_text_key_ignoring_case(text))
}
