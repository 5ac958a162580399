//! A look at all that an agent's core memories say and stand for, kept in memory while a session goes on:
//! which other memory says what a delete would take away, and how much of every age was let go
//! (SPEC 3.12, 3.14). Nothing of it is ever stored: who can plant texts could read a stolen index of
//! words by them (SPEC 5.3).
//!
//! It is built at a session's first delete, or first edit that would lose something, and follows what is written
//! from then on. Of few memories a carrier is found by looking through their texts; of many, or where somebody asks
//! which one says most, by the words under which they are filed: each text once, and again only where it changed. The
//! memories are those that the process reads elsewhere too, and readings are wiped when they leave.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
    fmt,
    sync::{Arc, OnceLock},
};

use memoir_details::{Loss, Reading, RequiredWords, SentenceKeys, TextKeys, unsaid, unsaid_words};
use zeroize::Zeroize;

use crate::{
    audit::Change,
    memory::{Memory, Number, SharedMemory},
    merging::{Joining, apart},
    wording::{Wording, WordingId},
};

/// Memories that are read to find one that says all. Each shares a rare word with what is looked for, and
/// the first ones share the most.
// To hold a text against another one takes some microseconds; so many are still less than a commit.
const READ: usize = 48;
/// Places of words that are looked up, the rarest word first and that one's always: whatever says all has
/// all words, the rarest among them, and where thousands of memories share a common one it tells nothing.
const LOOKED_UP: usize = 2_000;

/// What memories may take in a look, in bytes, up to which they are filed under their words only where somebody asks
/// which of them says most: some 500 memories of 300 characters, or 23 of 10,000.
// To look through so many texts for some words takes 0.1 ms, and to file them two or three: what a commit takes.
const FEW_BYTES: usize = 1 << 20;

/// One kept core memory.
struct Surveyed {
    memory: SharedMemory,
    /// Its text, read once somebody asks whether it says something: most are never asked, and take no room for it.
    reading: OnceLock<Box<Reading>>,
}

/// One wording that counts.
struct CountedWording {
    id: WordingId,
    /// The memory that stands for it, and its place among that one's wordings.
    number: Number,
    memory: SharedMemory,
    place: u32,
}

/// About how much memory one takes in a look, and will take once it is filed.
fn bytes(memory: &Memory) -> usize {
    let wordings = memory.wordings.len() * 2 * size_of::<Wording>();
    let text = memory.content.expose().len();
    // Words of six letters and what stands between them.
    let filed = text.div_ceil(7) * (size_of::<u64>() + size_of::<Filed>());
    size_of::<Surveyed>() + size_of::<Memory>() + text + filed + wordings
}

impl Surveyed {
    fn reading(&self) -> &Reading {
        let read = || Box::new(Reading::of(self.memory.content.expose()));
        self.reading.get_or_init(read)
    }
}

/// A word, and the place of a memory that has it.
type Filed = (u64, u32);

/// Which memories have which words: sorted once, since a session's edits change few of them. What changed since
/// stands apart.
struct ByWord {
    /// What each memory is filed under, by its place.
    keys: Vec<TextKeys>,
    sorted: Vec<Filed>,
    added: Vec<Filed>,
    removed: Vec<Filed>,
}

impl ByWord {
    fn of(memories: &[Option<Surveyed>]) -> Self {
        let text = |one: &Option<Surveyed>| {
            let memory = one.as_ref().map(|one| &one.memory);
            TextKeys::of(memory.map_or("", |memory| memory.content.expose()))
        };
        let keys: Vec<TextKeys> = memories.iter().map(text).collect();
        let filed = (0..).zip(&keys);
        let filed = filed.flat_map(|(place, keys)| keys.iter().map(move |key| (key, place)));
        // In one piece of memory: a list that grows leaves keys behind where it was.
        let mut sorted: Vec<Filed> =
            Vec::with_capacity(keys.iter().map(|keys| keys.iter().len()).sum());
        sorted.extend(filed);
        // Sorted once at the end: an insertion for each word of ten thousand memories would move the whole list each
        // time.
        sorted.sort_unstable();
        Self {
            keys,
            sorted,
            added: Vec::new(),
            removed: Vec::new(),
        }
    }

    /// Files a memory at the next place.
    fn add(&mut self, content: &str) {
        // There are not as many memories in any memory.
        let place = self.keys.len() as u32;
        let keys = TextKeys::of(content);
        for key in keys.iter() {
            insert(&mut self.added, (key, place));
        }
        self.keys.push(keys);
    }

    /// Takes away the memory that is filed at that place.
    fn remove(&mut self, place: u32) {
        for key in self.keys[place as usize].iter() {
            let one = (key, place);
            match self.added.binary_search(&one) {
                Ok(at) => drop(self.added.remove(at)),
                Err(_) => insert(&mut self.removed, one),
            }
        }
    }

    /// How many memories have the word.
    fn count(&self, key: u64) -> usize {
        let count = |list| with_key(list, key).len();
        // Only entries of `sorted` are noted as removed, so the difference is never below 0.
        count(&self.sorted) + count(&self.added) - count(&self.removed)
    }

    /// Their places.
    fn places(&self, key: u64) -> impl Iterator<Item = u32> {
        let removed = with_key(&self.removed, key);
        let sorted = with_key(&self.sorted, key).iter();
        let there = sorted.filter(move |one| removed.binary_search(one).is_err());
        there
            .chain(with_key(&self.added, key))
            .map(|(_, place)| *place)
    }
}

impl Drop for ByWord {
    /// As readings are wiped: who knows the keys can try texts on them.
    fn drop(&mut self) {
        self.sorted.zeroize();
        self.added.zeroize();
        self.removed.zeroize();
    }
}

fn insert(list: &mut Vec<Filed>, one: Filed) {
    if let Err(at) = list.binary_search(&one) {
        list.insert(at, one);
    }
}

fn with_key(list: &[Filed], key: u64) -> &[Filed] {
    let from = list.partition_point(|(other, _)| *other < key);
    let to = list[from..].partition_point(|(other, _)| *other == key);
    &list[from..from + to]
}

/// All kept core memories by what they say, and all wordings by age.
#[derive(Default)]
pub struct Survey {
    /// `None` where one went, or changed and has another place.
    memories: Vec<Option<Surveyed>>,
    places: HashMap<Number, u32>,
    /// Filed where there are many, or once it is asked for.
    by_word: OnceLock<ByWord>,
    /// By age.
    wordings: Vec<CountedWording>,
    bytes: usize,
}

impl fmt::Debug for Survey {
    /// Prints counts only: it is made of words.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = (self.places.len(), self.wordings.len());
        write!(
            formatter,
            "Survey({} memories, {} wordings)",
            counts.0, counts.1
        )
    }
}

/// A memory whose text another memory may say.
pub struct SoughtMemory<'a> {
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
    /// Of memories, each once, among which are all kept core ones, and all that a session deleted with a loss.
    pub fn of(memories: impl IntoIterator<Item = SharedMemory>) -> Self {
        let mut survey = Self::default();
        let memories = memories.into_iter();
        // A list that grows is copied again and again.
        let (count, _) = memories.size_hint();
        survey.memories.reserve(count);
        survey.places.reserve(count);
        survey.wordings.reserve(count);
        for memory in memories {
            let memory = looked_at(memory);
            // Also those of memories that a session deleted with a loss: they are discarded, and
            // yet count as what was let go.
            survey.wordings.extend(counted(&memory));
            survey.settle(memory);
        }
        survey.wordings.sort_unstable_by_key(age);
        if survey.bytes > FEW_BYTES {
            survey.by_word();
        }
        survey
    }

    /// Whether a look at these memories holds up a thread no longer than a commit does.
    pub fn is_short<'m>(memories: impl IntoIterator<Item = &'m Memory>) -> bool {
        let sizes = memories.into_iter().map(bytes);
        sizes.sum::<usize>() <= FEW_BYTES
    }

    /// Follows changes that were written.
    pub fn follow(&mut self, changes: &[Change]) {
        for change in changes {
            // First out, then in: a memory that became another one must not stand under its old words.
            self.take(change.number());
            let memory = looked_at(change.after().into_shared());
            for one in counted(&memory) {
                match self.place_by_age(age(&one)) {
                    Ok(at) => self.wordings[at] = one,
                    Err(at) => self.wordings.insert(at, one),
                }
            }
            // What it no longer stands for is still what it was before.
            let before = change.before().into_iter();
            for wording in before.flat_map(Memory::counted_wordings) {
                match self.place_by_age((wording.id(), memory.number)) {
                    Ok(at) if !Arc::ptr_eq(&self.wordings[at].memory, &memory) => {
                        self.wordings.remove(at);
                    }
                    _ => {}
                }
            }
            self.settle(memory);
        }
    }

    /// All wordings that count, the oldest first.
    pub fn wordings(&self) -> impl Iterator<Item = &Wording> + Clone {
        let wordings = self.wordings.iter();
        wordings.filter_map(|one| one.memory.wordings.get(one.place as usize))
    }

    fn place_by_age(&self, key: (WordingId, Number)) -> Result<usize, usize> {
        self.wordings.binary_search_by_key(&key, age)
    }

    /// About how many bytes it takes in memory.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The kept core memory of that number, as the look found it.
    pub fn memory(&self, number: Number) -> Option<&Memory> {
        let place = self.places.get(&number)?;
        self.at(*place).map(|one| -> &Memory { &one.memory })
    }

    fn at(&self, place: u32) -> Option<&Surveyed> {
        self.memories.get(place as usize)?.as_ref()
    }

    fn by_word(&self) -> &ByWord {
        self.by_word.get_or_init(|| ByWord::of(&self.memories))
    }

    /// Gives a kept core memory a place.
    fn settle(&mut self, memory: SharedMemory) {
        if !memory.is_kept_core() {
            return;
        }
        // There are not as many memories in any memory.
        let place = self.memories.len() as u32;
        self.places.insert(memory.number, place);
        if let Some(by_word) = self.by_word.get_mut() {
            by_word.add(memory.content.expose());
        }
        self.bytes += bytes(&memory);
        self.memories.push(Some(Surveyed {
            reading: OnceLock::new(),
            memory,
        }));
    }

    fn take(&mut self, number: Number) {
        let Some(place) = self.places.remove(&number) else {
            return;
        };
        if let Some(by_word) = self.by_word.get_mut() {
            by_word.remove(place);
        }
        // The place stays empty, since the index refers to the other memories by their places.
        if let Some(surveyed) = self.memories[place as usize].take() {
            self.bytes -= bytes(&surveyed.memory);
        }
    }

    /// The other memory that says all wordings of the one sought; `None` where none does. Only those that it could be
    /// merged into count (SPEC 3.4, 3.12). Of several it is the first, or, where they are found by the words under which
    /// they are filed, the one that shares the most of them.
    pub fn carrier(&self, sought: &SoughtMemory<'_>) -> Option<&Memory> {
        let Some(others) = self.candidates_by_text(sought) else {
            let nearest = self.nearest(sought)?;
            return self
                .memory(nearest.number)
                .filter(|_| nearest.unsaid.is_empty());
        };
        let mut others = others.into_iter().filter(|other| may_carry(other, sought));
        let carrier = others.find(|other| unsaid_words(sought.wordings, other.reading()) == 0)?;
        Some(&carrier.memory)
    }

    /// The other memories whose texts may say all of the one sought, by number; `None` where their texts tell too few
    /// of them apart, or where there are too many to look through.
    fn candidates_by_text(&self, sought: &SoughtMemory<'_>) -> Option<Vec<&Surveyed>> {
        if self.bytes > FEW_BYTES {
            return None;
        }
        let required = RequiredWords::of(sought.wordings);
        let may_say_all = |other: &&Surveyed| {
            let is_other = other.memory.number != sought.memory.number;
            is_other && required.may_stand_in(other.memory.content.expose())
        };
        if required.is_empty() {
            return None;
        }
        let others = self.memories.iter().flatten().filter(may_say_all);
        let mut others: Vec<&Surveyed> = others.collect();
        others.sort_unstable_by_key(|other| other.memory.number);
        (others.len() <= READ).then_some(others)
    }

    /// The other memory that says most of all wordings of the one sought; `None` where none says any
    /// sentence of it. Only those that it could be merged into count (SPEC 3.4, 3.12).
    pub fn nearest(&self, sought: &SoughtMemory<'_>) -> Option<Nearest> {
        let mut least: Option<(u64, &Surveyed)> = None;
        let sentences: Vec<SentenceKeys> = sought
            .wordings
            .iter()
            .flat_map(|one| SentenceKeys::of(one))
            .collect();
        for (place, other) in self.sharing(sought, &sentences).take(READ) {
            // A look at the words that it lacks: most others cannot say more than the best so far, and need
            // not be read.
            let at_least = || self.by_word().keys[place as usize].unsaid_at_least(&sentences);
            if least.is_some_and(|(least, _)| at_least() >= least) {
                continue;
            }
            let missing = unsaid_words(sought.wordings, other.reading());
            if least.is_none_or(|(least, _)| missing < least) {
                least = Some((missing, other));
                // The first that says all will do: others that say it too change nothing but the
                // number that is told.
                if missing == 0 {
                    break;
                }
            }
        }
        let (_, other) = least?;
        Some(Nearest {
            number: other.memory.number,
            unsaid: unsaid(sought.wordings, other.reading()),
        })
    }

    /// The others that may carry it, by how many of its rare words they have.
    fn sharing<'a, 's>(
        &'a self,
        sought: &'a SoughtMemory<'s>,
        sentences: &[SentenceKeys],
    ) -> impl Iterator<Item = (u32, &'a Surveyed)> + use<'a, 's> {
        let by_word = self.by_word();
        let own = self.places.get(&sought.memory.number).copied();
        let keys = each_once(sentences.iter().flat_map(SentenceKeys::iter));
        let is_elsewhere = |key: u64| {
            let mut places = by_word.places(key);
            places.any(|place| Some(place) != own)
        };
        // A word that only the memory itself has leads to no other one; that it is then not said, the
        // reading tells.
        let mut rare: Vec<(usize, u64)> = keys
            .into_iter()
            .filter(|key| is_elsewhere(*key))
            .map(|key| (by_word.count(key), key))
            .collect();
        rare.sort_unstable();
        // How many words the memory at each place shares.
        let mut shared = vec![0_u32; self.memories.len()];
        let mut looked_up = 0;
        for (count, key) in rare {
            if looked_up + count > LOOKED_UP && looked_up > 0 {
                break;
            }
            looked_up += count;
            for place in by_word.places(key) {
                shared[place as usize] += 1;
            }
        }
        let shared = (0..).zip(shared);
        let mut others: Vec<(Reverse<u32>, Number, u32)> = shared
            .filter(|(place, words)| *words > 0 && Some(*place) != own)
            .filter_map(|(place, words)| {
                let number = self.at(place)?.memory.number;
                Some((Reverse(words), number, place))
            })
            .collect();
        // By number among those that share as much, so that the answer does not depend on the order of a
        // hash map.
        others.sort_unstable();
        let others = others.into_iter();
        others
            .filter_map(|(_, _, place)| Some((place, self.at(place)?)))
            .filter(|(_, other)| may_carry(other, sought))
    }
}

/// What of a memory is looked at: of a discarded one its wordings alone.
fn looked_at(memory: SharedMemory) -> SharedMemory {
    if memory.is_kept_core() || memory.content.expose().is_empty() {
        return memory;
    }
    let mut wordings = Memory::clone(&memory);
    wordings.content.zeroize();
    wordings.into_shared()
}

/// A memory's wordings that count.
fn counted(memory: &SharedMemory) -> impl Iterator<Item = CountedWording> {
    let all = (0..).zip(&memory.wordings);
    let counted = all.filter(|(_, wording)| memory.counts(wording));
    counted.map(|(place, wording)| CountedWording {
        id: wording.id(),
        number: memory.number,
        memory: memory.clone(),
        place,
    })
}

/// By what wordings are sorted.
fn age(one: &CountedWording) -> (WordingId, Number) {
    (one.id, one.number)
}

fn each_once(keys: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut keys: Vec<u64> = keys.collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Whether `other` may take over what the one sought stands for: what forbids a merge of the two forbids
/// this, and code never lets a text that an administrator added carry another, or be carried.
fn may_carry(other: &Surveyed, sought: &SoughtMemory<'_>) -> bool {
    let carrier = &other.memory;
    // Only of memories of different days does this make a difference: not read for nothing.
    let day = |memory: &Memory| memory.created_at.day_number();
    let is_one_day = day(carrier) == day(sought.memory);
    let joining = [
        Joining {
            memory: carrier,
            is_relative: !is_one_day && other.reading().has_relative_time(),
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
    // `true`, since the carrier is chosen by code, whoever drives the session.
    !is_planted && !is_beyond_reach && apart(&joining, true).is_none()
}
