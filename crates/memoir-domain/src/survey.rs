//! A look at all that an agent's core memories say and stand for, kept in memory while a session goes on:
//! which other memory says what a delete would take away, and how much of every age was let go
//! (SPEC 3.12, 3.14). Nothing of it is ever stored: who can plant texts could read a stolen index of
//! words by them (SPEC 5.3).
//!
//! It is built at a session's first delete, or first edit that would lose something, and follows what is written
//! from then on: a text is read once, and again only where it changed. Texts and readings are wiped when they
//! leave it.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
};

use memoir_details::{Loss, Reading, unsaid, unsaid_words};
use zeroize::Zeroize;

use crate::{
    audit::Change,
    memory::{Memory, Number},
    merging::{Joining, apart},
    wording::{Wording, WordingId},
};

/// Memories that are read to find one that says all. Each shares a rare word with what is looked for, and
/// the first ones share the most.
const READ: usize = 48;
/// Places of words that are looked up, the rarest word first and that one's always: whatever says all has
/// all words, the rarest among them, and where thousands of memories share a common one it tells nothing.
const LOOKED_UP: usize = 2_000;

/// One kept core memory, and its text read: as long as it stays what it is, it is read once.
struct Surveyed {
    memory: Memory,
    reading: Reading,
}

impl Surveyed {
    /// Under what it is filed.
    fn keys(&self) -> Vec<u64> {
        each_once(self.reading.keys())
    }

    /// About how much memory it takes, what it is filed under included.
    fn bytes(&self) -> usize {
        let filed = self.reading.words() as usize * size_of::<(u64, Number)>();
        let wordings = self.memory.wordings.len() * 2 * size_of::<Wording>();
        let text = self.memory.content.expose().len();
        size_of::<Self>() + text + self.reading.bytes() + filed + wordings
    }
}

impl Drop for Surveyed {
    fn drop(&mut self) {
        self.memory.zeroize();
    }
}

/// All kept core memories by what they say, and all wordings by age.
#[derive(Default)]
pub struct Survey {
    memories: BTreeMap<Number, Surveyed>,
    by_key: HashMap<u64, Vec<Number>>,
    wordings: BTreeMap<(WordingId, Number), Wording>,
    held: BTreeMap<Number, Vec<WordingId>>,
    bytes: usize,
}

impl fmt::Debug for Survey {
    /// Prints counts only: it is made of words.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = (self.memories.len(), self.wordings.len());
        write!(
            formatter,
            "Survey({} memories, {} wordings)",
            counts.0, counts.1
        )
    }
}

/// A memory whose text another memory may say.
pub struct Sought<'a> {
    /// The memory.
    pub memory: &'a Memory,
    /// The wordings that it stands for, read.
    pub wordings: &'a [&'a Reading],
    /// Its present text, read.
    pub present: &'a Reading,
    /// The immutable tags, folded.
    pub immutable_tags: &'a BTreeSet<String>,
}

/// The memory that says most of another one.
#[derive(Debug, Clone)]
pub struct Nearest {
    /// Its number.
    pub number: Number,
    /// What it does not say; empty where it says all.
    pub unsaid: Vec<Loss>,
}

impl Survey {
    /// Of memories among which are all kept core ones, and all that a session deleted with a loss.
    pub fn of<'a>(memories: impl IntoIterator<Item = &'a Memory>) -> Self {
        let mut survey = Self::default();
        for memory in memories {
            survey.put(memory);
        }
        survey
    }

    /// Follows changes that were written.
    pub fn follow(&mut self, changes: &[Change]) {
        for change in changes {
            self.put(&change.after());
        }
    }

    /// All wordings that count, the oldest first.
    pub fn wordings(&self) -> impl Iterator<Item = &Wording> + Clone {
        self.wordings.values()
    }

    /// About how many bytes it takes in memory.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The kept core memory of that number, as the look found it.
    pub fn memory(&self, number: Number) -> Option<&Memory> {
        self.memories.get(&number).map(|surveyed| &surveyed.memory)
    }

    fn put(&mut self, memory: &Memory) {
        self.take(memory.number);
        let counted: Vec<Wording> = memory.counted_wordings().cloned().collect();
        let ids = counted.iter().map(Wording::id).collect();
        for wording in counted {
            self.wordings.insert((wording.id(), memory.number), wording);
        }
        self.held.insert(memory.number, ids);
        if !memory.is_kept_core() {
            return;
        }
        let surveyed = Surveyed {
            reading: Reading::of(memory.content.expose()),
            memory: memory.clone(),
        };
        for key in surveyed.keys() {
            self.by_key.entry(key).or_default().push(memory.number);
        }
        self.bytes += surveyed.bytes();
        self.memories.insert(memory.number, surveyed);
    }

    fn take(&mut self, number: Number) {
        for id in self.held.remove(&number).unwrap_or_default() {
            self.wordings.remove(&(id, number));
        }
        let Some(surveyed) = self.memories.remove(&number) else {
            return;
        };
        self.bytes -= surveyed.bytes();
        for key in surveyed.keys() {
            if let Some(numbers) = self.by_key.get_mut(&key) {
                numbers.retain(|other| *other != number);
            }
        }
    }

    /// The other memory that says most of all wordings of the one sought; `None` where none says any
    /// sentence of it. Only those that it could be merged into count (SPEC 3.4, 3.12).
    pub fn nearest(&self, sought: &Sought<'_>) -> Option<Nearest> {
        let mut least: Option<(u64, Number)> = None;
        for number in self.sharing(sought).take(READ) {
            let Some(other) = self.memories.get(&number) else {
                continue;
            };
            let missing = unsaid_words(sought.wordings, &other.reading);
            if least.is_none_or(|(least, _)| missing < least) {
                least = Some((missing, number));
                if missing == 0 {
                    break;
                }
            }
        }
        let (_, number) = least?;
        let other = self.memories.get(&number)?;
        Some(Nearest {
            number,
            unsaid: unsaid(sought.wordings, &other.reading),
        })
    }

    /// The others that may carry it, by how many of its rare words they have.
    fn sharing(&self, sought: &Sought<'_>) -> impl Iterator<Item = Number> {
        let own = sought.memory.number;
        let keys = each_once(sought.wordings.iter().flat_map(|read| read.keys()));
        let is_elsewhere = |numbers: &&Vec<Number>| numbers.iter().any(|number| *number != own);
        let mut places: Vec<&Vec<Number>> = keys
            .iter()
            .filter_map(|key| self.by_key.get(key).filter(is_elsewhere))
            .collect();
        places.sort_by_key(|numbers| numbers.len());
        // Each number as often as it shares a word.
        let mut shared: Vec<Number> = Vec::new();
        for numbers in places {
            if shared.len() + numbers.len() > LOOKED_UP && !shared.is_empty() {
                break;
            }
            shared.extend(numbers);
        }
        shared.sort_unstable();
        let mut others: Vec<(Reverse<usize>, Number)> = shared
            .chunk_by(Number::eq)
            .map(|same| (Reverse(same.len()), same[0]))
            .filter(|(_, number)| *number != own)
            .filter(|(_, number)| {
                let other = self.memories.get(number);
                other.is_some_and(|other| may_carry(other, sought))
            })
            .collect();
        others.sort_unstable();
        others.into_iter().map(|(_, number)| number)
    }
}

fn each_once(keys: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut keys: Vec<u64> = keys.collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Whether `other` may take over what the one sought stands for: what forbids a merge of the two forbids
/// this, and code never lets a text that an administrator added carry another, or be carried.
fn may_carry(other: &Surveyed, sought: &Sought<'_>) -> bool {
    let carrier = &other.memory;
    let joining = [
        Joining {
            memory: carrier,
            is_relative: other.reading.has_relative_time(),
        },
        Joining {
            memory: sought.memory,
            is_relative: sought.present.has_relative_time(),
        },
    ];
    let is_planted = joining
        .iter()
        .any(|one| one.memory.is_added_by_administrator());
    // A merge would change its tags, its date and what it stands for.
    let is_beyond_reach =
        carrier.is_constitutional() || carrier.tags.contains_any(sought.immutable_tags);
    !is_planted && !is_beyond_reach && apart(&joining, true).is_none()
}
