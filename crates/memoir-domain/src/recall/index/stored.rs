//! The form of an index outside of memory, which a store keeps sealed (SPEC 5.3).
//!
//! Numbers are in variable length, seven bits a byte, the low ones first; keys are 8 bytes; a vector is a byte a
//! dimension. The form is read whole, in two halves at the same time, and only by the version that wrote it.

use std::thread;

use super::{
    ChainLink, Compound, IndexSlot, IndexVectors, LANGUAGES, NO_GROUP, RecallIndex, TIMES,
    TIMES_BITS, Unit, Wiped, WipedLists, WipedTable,
};
use crate::{
    memory::{Kind, Number, origin::Origin},
    parallel::begin,
    time::Timestamp,
};

/// The version of the form, and of the rules by which words become terms. An index of another one is built anew.
// Raised with every change that makes another index of the same memories: a test holds its bytes.
const FORM: u64 = 5;

const IS_SUMMARY: u64 = 1;
const IS_ACTIVE: u64 = 1 << 1;
const IS_CONSTITUTIONAL: u64 = 1 << 2;
const CORRECTS: u64 = 1 << 3;
const LIVES: u64 = 1 << 4;

impl RecallIndex {
    /// The whole index, with its vectors where `has_vectors`; wiped when dropped.
    pub fn to_bytes(&self, has_vectors: bool) -> Wiped<u8> {
        let mut bytes = Bytes(Wiped::default());
        bytes.0.make_room(self.bytes() / 2);
        bytes.count(FORM);
        let start = bytes.0.len();
        // The length of the words, which is known behind them.
        bytes.key(0);
        let unit_keys = self.unit_of.keys_by_value(self.units.len());
        bytes.count(self.units.len() as u64);
        for (unit, at) in self.units.as_slice().iter().zip(unit_keys.as_slice()) {
            bytes.key(*at);
            bytes.key(unit.key);
            // No group is 0.
            bytes.count(u64::from(unit.group.wrapping_add(1)));
            bytes.count(u64::from(unit.letters));
            bytes.count(u64::from(unit.length));
        }
        bytes.count(self.letters.len() as u64);
        bytes.0.extend(self.letters.as_slice());
        bytes.count(self.compounds.len() as u64);
        for compound in self.compounds.as_slice() {
            bytes.count(u64::from(compound.group));
            bytes.count(u64::from(compound.letters));
            bytes.count(u64::from(compound.length));
        }
        let group_keys = self.group_of.keys_by_value(self.postings.len());
        bytes.count(self.postings.len() as u64);
        bytes.count(self.postings.count() as u64);
        let groups = self.postings.iter().zip(&self.subjects);
        for ((list, is_subject), key) in groups.zip(group_keys.as_slice()) {
            bytes.key(*key);
            bytes.count((list.len() as u64) << 1 | u64::from(*is_subject));
            let mut last = 0;
            for posting in list {
                let (slot, times) = (posting >> TIMES_BITS, posting & TIMES);
                // Most memories have a word once.
                bytes.count(u64::from(slot - last) << 1 | u64::from(times != 1));
                if times != 1 {
                    bytes.count(u64::from(times));
                }
                last = slot;
            }
        }
        let words = (bytes.0.len() - start - size_of::<u64>()) as u64;
        bytes.0.as_mut_slice()[start..][..size_of::<u64>()].copy_from_slice(&words.to_le_bytes());
        bytes.count(self.sequence.len() as u64);
        for term in self.sequence.as_slice() {
            bytes.count(u64::from(*term));
        }
        bytes.count(self.slots.len() as u64);
        self.slots.iter().for_each(|slot| bytes.slot(slot));
        bytes.count(self.vectors.count() as u64);
        match has_vectors {
            true => bytes.vectors(&self.vector_model, &self.vectors),
            false => bytes.vectors("", &IndexVectors::default()),
        }
        bytes.0
    }

    /// The index of [`RecallIndex::to_bytes`], with any zeros behind it; `None` where the bytes are not in the present
    /// form.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut bytes = StoredBytes(bytes);
        (bytes.count()? == FORM).then_some(())?;
        let words = usize::try_from(bytes.key()?).ok()?;
        let words = bytes.part(words)?;
        let (words, index) = thread::scope(|scope| {
            // Both in threads that end: another one takes over what the allocator keeps for them, and not what it keeps
            // for those that wait for work.
            let words = begin(scope, move || Self::words_from(StoredBytes(words)));
            let index = begin(scope, move || Self::memories_from(bytes));
            (words(), index())
        });
        let (mut words, mut index) = (words?, index?);
        index.units = std::mem::take(&mut words.units);
        index.letters = std::mem::take(&mut words.letters);
        index.compounds = std::mem::take(&mut words.compounds);
        index.unit_of = std::mem::take(&mut words.unit_of);
        index.group_of = std::mem::take(&mut words.group_of);
        index.postings = std::mem::take(&mut words.postings);
        index.subjects = std::mem::take(&mut words.subjects);
        index.is_whole().then_some(index)
    }

    fn words_from(mut bytes: StoredBytes<'_>) -> Option<Self> {
        let mut index = Self::default();
        let units = bytes.length()?;
        index.unit_of = WipedTable::with_room(units);
        let mut at = 0;
        let unit = || {
            index.unit_of.get_or_put(bytes.key()?, at);
            at += 1;
            Some(Unit {
                key: bytes.key()?,
                group: bytes.number()?.wrapping_sub(1),
                letters: bytes.number()?,
                length: bytes.number()?,
            })
        };
        index.units.fill(units, unit)?;
        let letters = bytes.length()?;
        let letters = bytes.part(letters)?;
        index.letters.extend(letters);
        let compounds = bytes.length()?;
        let compound = || {
            Some(Compound {
                group: bytes.number()?,
                letters: bytes.number()?,
                length: bytes.number()?,
            })
        };
        index.compounds.fill(compounds, compound)?;
        index.read_groups(&mut bytes)?;
        bytes.0.is_empty().then_some(index)
    }

    /// An index of the memories and vectors alone.
    fn memories_from(mut bytes: StoredBytes<'_>) -> Option<Self> {
        let mut index = Self::default();
        let terms = bytes.length()?;
        index.sequence.fill(terms, || bytes.number())?;
        index.read_slots(&mut bytes)?;
        index.read_vectors(&mut bytes)?;
        let is_end = bytes.0.iter().all(|byte| *byte == 0);
        is_end.then_some(index)
    }

    fn read_groups(&mut self, bytes: &mut StoredBytes<'_>) -> Option<()> {
        let groups = bytes.length()?;
        let postings = bytes.length()?;
        self.group_of = WipedTable::with_room(groups);
        self.postings = WipedLists::with_room(groups, postings);
        self.subjects.reserve_exact(groups);
        for group in 0..groups {
            self.group_of.get_or_put(bytes.key()?, group as u32);
            let head = bytes.count()?;
            self.subjects.push(head & 1 == 1);
            let length = usize::try_from(head >> 1).ok()?;
            // Each takes a byte at least, so that a wrong length takes no memory.
            (length <= bytes.0.len()).then_some(())?;
            let mut last = 0_u32;
            let posting = || {
                let one = bytes.number()?;
                last = u32::checked_add(last, one >> 1)?;
                let times = match one & 1 {
                    0 => 1,
                    _ => bytes.number()?,
                };
                Some(last << TIMES_BITS | times & TIMES)
            };
            self.postings.add(length, posting)?;
        }
        Some(())
    }

    fn read_slots(&mut self, bytes: &mut StoredBytes<'_>) -> Option<()> {
        let slots = bytes.length()?;
        self.slots.reserve_exact(slots);
        self.slot_of.reserve(slots);
        let mut from = 0;
        for at in 0..slots {
            let slot = bytes.slot(from)?;
            from = slot.end;
            if slot.lives {
                self.languages[usize::from(slot.language)] += 1;
                self.length += u64::from(slot.length);
                self.slot_of.insert(slot.number, at as u32);
            }
            self.tagged += slot.tags.len();
            self.slots.push(slot);
        }
        Some(())
    }

    fn read_vectors(&mut self, bytes: &mut StoredBytes<'_>) -> Option<()> {
        self.stored_vectors = usize::try_from(bytes.count()?).ok()?;
        let model = bytes.length()?;
        self.vector_model = str::from_utf8(bytes.part(model)?).ok()?.to_owned();
        let (count, dimensions) = (bytes.length()?, bytes.length()?);
        // So that wrong counts take no memory.
        (count.checked_mul(dimensions)? <= bytes.0.len()).then_some(())?;
        self.vectors.make_room(count, dimensions);
        let mut at = 0_u32;
        for _ in 0..count {
            at = at.checked_add(bytes.number()?)?;
            let lives = self.slots.get(at as usize)?.lives;
            (lives && self.vectors.put_steps(at, bytes.part(dimensions)?)).then_some(())?;
        }
        Some(())
    }

    /// Whether every place that a part names is in the part that it names, so that a search finds each.
    fn is_whole(&self) -> bool {
        let (units, groups) = (self.units.len() as u32, self.postings.len() as u32);
        let letters = self.letters.len();
        let has_letters = |from: u32, length: u32| from as usize + length as usize <= letters;
        let has_group = |group: u32| group < groups || group == NO_GROUP;
        let (all_units, all_compounds) = (self.units.as_slice(), self.compounds.as_slice());
        let slots = self.slots.len() as u32;
        let sequence = self.sequence.as_slice();
        all_units
            .iter()
            .all(|unit| has_group(unit.group) && has_letters(unit.letters, unit.length))
            && all_compounds
                .iter()
                .all(|one| one.group < groups && has_letters(one.letters, one.length))
            // They ascend.
            && self.postings.iter().all(|list| list.last().is_none_or(|last| last >> TIMES_BITS < slots))
            && self.slots.last().map_or(0, |slot| slot.end as usize) == sequence.len()
            && self.slots.iter().all(|slot| {
                let run = &sequence[slot.from as usize..slot.end as usize];
                let (words, apart) = run.split_at((slot.to - slot.from) as usize);
                words.iter().all(|unit| *unit < units) && apart.iter().all(|group| *group < groups)
            })
    }
}

struct Bytes(Wiped<u8>);

impl Bytes {
    fn key(&mut self, key: u64) {
        self.0.extend(&key.to_le_bytes());
    }

    fn count(&mut self, mut count: u64) {
        while count >= 0x80 {
            self.0.push(count as u8 | 0x80);
            count >>= 7;
        }
        self.0.push(count as u8);
    }

    fn vectors(&mut self, model: &str, vectors: &IndexVectors) {
        self.count(model.len() as u64);
        self.0.extend(model.as_bytes());
        self.count(vectors.count() as u64);
        self.count(vectors.dimensions().unwrap_or(0) as u64);
        self.0.make_room(vectors.bytes());
        let mut last = 0;
        for (slot, steps) in vectors.by_slot() {
            self.count(u64::from(slot - last));
            self.0.extend(steps);
            last = slot;
        }
    }

    fn slot(&mut self, slot: &IndexSlot) {
        let flag = |is: bool, flag: u64| if is { flag } else { 0 };
        let flags = flag(slot.is_summary, IS_SUMMARY)
            | flag(slot.is_active, IS_ACTIVE)
            | flag(slot.is_constitutional, IS_CONSTITUTIONAL)
            | flag(slot.corrects, CORRECTS)
            | flag(slot.lives, LIVES);
        self.count(flags);
        self.count(slot.number.0);
        self.key(slot.created_at.microseconds() as u64);
        self.count(slot.kind as u64);
        self.count(slot.origin as u64);
        // No memory has the number 0.
        self.count(slot.under.map_or(0, |under| under.0));
        self.key(slot.text);
        self.count(slot.tags.len() as u64);
        slot.tags.iter().for_each(|tag| self.key(*tag));
        self.count(u64::from(slot.to - slot.from));
        self.count(u64::from(slot.end - slot.to));
        self.count(u64::from(slot.length));
        self.count(u64::from(slot.language));
    }
}

/// What is left to read.
#[derive(Clone, Copy)]
struct StoredBytes<'bytes>(&'bytes [u8]);

impl<'bytes> StoredBytes<'bytes> {
    fn part(&mut self, length: usize) -> Option<&'bytes [u8]> {
        self.0.split_off(..length)
    }

    fn key(&mut self) -> Option<u64> {
        let (key, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*key))
    }

    #[inline]
    fn count(&mut self) -> Option<u64> {
        match self.0.split_first() {
            // Most are short.
            Some((short, rest)) if *short < 0x80 => {
                self.0 = rest;
                Some(u64::from(*short))
            }
            _ => self.long_count(),
        }
    }

    fn long_count(&mut self) -> Option<u64> {
        let mut count = 0;
        for (at, byte) in self.0.iter().enumerate().take(10) {
            count |= u64::from(byte & 0x7F) << (7 * at);
            if byte & 0x80 == 0 {
                self.0 = &self.0[at + 1..];
                return Some(count);
            }
        }
        None
    }

    #[inline]
    fn number(&mut self) -> Option<u32> {
        u32::try_from(self.count()?).ok()
    }

    /// The length of a list, each item of which takes a byte at least.
    fn length(&mut self) -> Option<usize> {
        let length = usize::try_from(self.count()?).ok()?;
        (length <= self.0.len()).then_some(length)
    }

    /// A slot whose run begins there.
    fn slot(&mut self, from: u32) -> Option<IndexSlot> {
        let flags = self.count()?;
        let number = Number(self.count()?);
        let created_at = Timestamp::from_microseconds(self.key()? as i64)?;
        let kind = *Kind::ALL.get(usize::try_from(self.count()?).ok()?)?;
        let origin = *Origin::ALL.get(usize::try_from(self.count()?).ok()?)?;
        let under = Some(self.count()?).filter(|under| *under > 0);
        let text = self.key()?;
        let tags = self.length()?;
        let (tags, _) = self.part(tags.checked_mul(8)?)?.as_chunks();
        let tags = tags.iter().map(|tag| u64::from_le_bytes(*tag)).collect();
        let to = from.checked_add(self.number()?)?;
        let end = to.checked_add(self.number()?)?;
        let length = self.number()?;
        let language = u8::try_from(self.count()?).ok()?;
        (usize::from(language) < LANGUAGES).then_some(IndexSlot {
            number,
            link: ChainLink {
                created_at,
                kind,
                is_summary: flags & IS_SUMMARY != 0,
                under: under.map(Number),
                text,
            },
            is_active: flags & IS_ACTIVE != 0,
            is_constitutional: flags & IS_CONSTITUTIONAL != 0,
            origin,
            tags,
            from,
            to,
            end,
            length,
            language,
            corrects: flags & CORRECTS != 0,
            lives: flags & LIVES != 0,
        })
    }
}
