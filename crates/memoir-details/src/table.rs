//! Tables of words: one that is filled once and then only read, and an index of keys.
//!
//! Owns hashing and probing. It does not own what a table says about a word.

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

impl<T: Default> Table<T> {
    /// An empty table with room for `most` words; it grows where there are more.
    pub(crate) fn with_room(most: usize) -> Self {
        Table {
            words: String::with_capacity(most * 8),
            rows: Vec::with_capacity(most),
            slots: vec![Slot::default(); (most * 2).max(2).next_power_of_two()],
        }
    }

    /// What belongs to `word`, which is added if it is new.
    pub(crate) fn entry(&mut self, word: &str) -> &mut T {
        let hash = hash(word.as_bytes());
        let row = match self.row(word, hash) {
            Some(row) => row,
            None => self.add(word, hash),
        };
        &mut self.rows[row].2
    }

    fn add(&mut self, word: &str, hash: u64) -> usize {
        if self.slots.len() < 2 * (self.rows.len() + 1) {
            self.slots = vec![Slot::default(); self.slots.len() * 2];
            for row in 0..self.rows.len() {
                self.place(self::hash(self.word(row)), row);
            }
        }
        let row = self.rows.len();
        let start = self.words.len() as u32;
        self.words.push_str(word);
        let end = self.words.len() as u32;
        self.rows.push((start, end, T::default()));
        self.place(hash, row);
        row
    }

    /// Puts a row that is in no slot yet into one; there always is a free one.
    fn place(&mut self, hash: u64, row: usize) {
        let last = self.slots.len() - 1;
        let mut at = hash as usize & last;
        while self.slots[at].row != 0 {
            at = (at + 1) & last;
        }
        self.slots[at] = Slot {
            tag: (hash >> 32) as u32,
            row: row as u32 + 1,
        };
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.rows.iter_mut().map(|(_, _, value)| value)
    }
}

impl<T> Table<T> {
    pub(crate) fn get(&self, word: &str) -> Option<&T> {
        let row = self.row(word, hash(word.as_bytes()))?;
        Some(&self.rows.get(row)?.2)
    }

    /// All words, in the order in which they were added.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        let range = |(start, end, _): &(u32, u32, T)| *start as usize..*end as usize;
        self.rows.iter().map(move |row| &self.words[range(row)])
    }

    fn word(&self, row: usize) -> &[u8] {
        let (start, end, _) = &self.rows[row];
        &self.words.as_bytes()[*start as usize..*end as usize]
    }

    fn row(&self, word: &str, hash: u64) -> Option<usize> {
        let last = self.slots.len() - 1;
        let mut at = hash as usize & last;
        loop {
            let slot = self.slots[at];
            let row = (slot.row as usize).checked_sub(1)?;
            if slot.tag == (hash >> 32) as u32 && self.word(row) == word.as_bytes() {
                return Some(row);
            }
            at = (at + 1) & last;
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

    /// Where `key` is.
    pub(crate) fn find<'k>(&self, key: &[u8], key_at: impl Fn(usize) -> &'k [u8]) -> Option<usize> {
        let (slot, known) = self.probe(key, key_at);
        known.then(|| self.slots[slot] as usize - 1)
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

/// Multiplies the two ends of the word; longer words are mixed in from the front. Nothing protects
/// against words chosen to collide: they would be in a text, and slow nothing but its own reading.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_3_12_a_table_holds_what_a_map_holds() {
        let word = |n: u32| format!("{:x}", n.wrapping_mul(n) ^ (n << 3)).repeat(n as usize % 5);
        let mut table: Table<u32> = Table::with_room(3);
        let mut map = std::collections::HashMap::new();
        for n in 0..3000 {
            *table.entry(&word(n)) = n;
            map.insert(word(n), n);
        }
        assert_eq!(table.words().count(), map.len());
        for n in 0..6000 {
            assert_eq!(table.get(&word(n)), map.get(&word(n)));
        }
    }

    #[test]
    fn spec_3_12_an_index_knows_every_key_once() {
        let keys: Vec<String> = (0..900).map(|n| (n % 600).to_string()).collect();
        let at = |n: usize| keys[n].as_bytes();
        let mut index = Index::with_room(keys.len());
        for (n, key) in keys.iter().enumerate() {
            assert!(!index.contains(key.as_bytes(), at) || n >= 600);
            assert_eq!(index.insert(key.as_bytes(), n, at), n < 600);
            assert!(index.contains(key.as_bytes(), at));
        }
        assert!(!Index::with_room(0).contains(b"", |_| b""));
    }
}
