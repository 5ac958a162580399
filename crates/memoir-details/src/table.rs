//! Tables of words: one that is filled once and then only read, and an index of keys.
//!
//! Owns hashing and probing. It does not own what a table says about a word.

use std::collections::HashMap;

/// Words and what belongs to each. The words lie in one string and the slots are small, so that a
/// look-up touches little memory.
#[derive(Debug)]
pub(crate) struct Table<T> {
    words: String,
    rows: Vec<(u32, u32, T)>,
    slots: Vec<Slot>,
}

/// The upper half of a word's hash, and one more than its row; zero is free.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    tag: u32,
    row: u32,
}

impl<T> Table<T> {
    pub(crate) fn of(map: HashMap<String, T>) -> Self {
        let size = (map.len() * 2).next_power_of_two();
        let mut table = Table {
            words: String::new(),
            rows: Vec::with_capacity(map.len()),
            slots: vec![Slot::default(); size],
        };
        for (word, value) in map {
            let start = table.words.len() as u32;
            table.words.push_str(&word);
            table.rows.push((start, table.words.len() as u32, value));
            let hash = hash(word.as_bytes());
            let mut at = table.first(hash);
            while table.slots[at].row != 0 {
                at = (at + 1) % size;
            }
            table.slots[at] = Slot {
                tag: (hash >> 32) as u32,
                row: table.rows.len() as u32,
            };
        }
        table
    }

    fn first(&self, hash: u64) -> usize {
        hash as usize & (self.slots.len() - 1)
    }

    pub(crate) fn get(&self, word: &str) -> Option<&T> {
        let hash = hash(word.as_bytes());
        let mut at = self.first(hash);
        loop {
            let slot = self.slots[at];
            let (start, end, value) = self.rows.get((slot.row as usize).checked_sub(1)?)?;
            if slot.tag == (hash >> 32) as u32
                && self.words.as_bytes().get(*start as usize..*end as usize)
                    == Some(word.as_bytes())
            {
                return Some(value);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }
}

/// Where the keys of a list are, each once.
#[derive(Debug)]
pub(crate) struct Index {
    /// One more than the place in the list; zero is free.
    slots: Vec<u32>,
}

impl Index {
    /// An index with room for `most` keys.
    pub(crate) fn with_room(most: usize) -> Self {
        Index {
            slots: vec![0; (most * 2).max(2).next_power_of_two()],
        }
    }

    /// Notes that `key` is at `place`, unless it is noted already; returns whether it was not. What
    /// is at a place, `key_at` tells.
    pub(crate) fn insert<'k>(
        &mut self,
        key: &[u8],
        place: usize,
        key_at: impl Fn(usize) -> &'k [u8],
    ) -> bool {
        let (slot, known) = self.probe(key, key_at);
        if !known {
            self.slots[slot] = place as u32 + 1;
        }
        !known
    }

    /// Whether `key` is noted.
    pub(crate) fn contains<'k>(&self, key: &[u8], key_at: impl Fn(usize) -> &'k [u8]) -> bool {
        self.probe(key, key_at).1
    }

    /// The slot of `key` or the one where it belongs, and whether it is there. There is a free slot,
    /// as there are twice as many as keys.
    fn probe<'k>(&self, key: &[u8], key_at: impl Fn(usize) -> &'k [u8]) -> (usize, bool) {
        let last = self.slots.len() - 1;
        let mut at = hash(key) as usize & last;
        while self.slots[at] != 0 {
            if key_at(self.slots[at] as usize - 1) == key {
                return (at, true);
            }
            at = (at + 1) & last;
        }
        (at, false)
    }
}

/// Multiplies the two ends of the word; longer words are mixed in from the front. The words are the
/// program's own, so no one can choose them to collide.
fn hash(word: &[u8]) -> u64 {
    let mut seed = 0x9E37_79B9_7F4A_7C15 ^ word.len() as u64;
    let mut rest = word;
    while let Some((chunk, after)) = rest.split_first_chunk::<16>() {
        let [a, b] = [&chunk[..8], &chunk[8..]].map(eight);
        seed = fold(seed ^ a, b ^ 0xD6E8_FEB8_6659_FD93);
        rest = after;
    }
    let (a, b) = match rest {
        [] => (0, 0),
        [a] => (u64::from(*a), 0),
        [a, b] => (u64::from(*a), u64::from(*b)),
        [a, b, c] => (u64::from(*a) << 8 | u64::from(*b), u64::from(*c)),
        _ if rest.len() < 8 => (four(rest), four(&rest[rest.len() - 4..])),
        _ => (eight(rest), eight(&rest[rest.len() - 8..])),
    };
    fold(seed ^ a, b ^ 0xA076_1D64_78BD_642F)
}

fn eight(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |b| u64::from_le_bytes(*b))
}

fn four(bytes: &[u8]) -> u64 {
    let four = bytes.first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
    u64::from(four)
}

fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}
