//! Storage for text: memory that is overwritten before it is freed, also when it grows.

use std::ops::Index;

use zeroize::{DefaultIsZeroes, ZeroizeOnDrop, optimization_barrier};

/// The bytes from which on a list counts as large.
// Below it, doubling costs little room and few copies.
const LARGE: usize = 1 << 20;

/// Overwrites the places all at once: an index has millions, and `zeroize` writes one after the other.
pub fn wipe<T: DefaultIsZeroes>(places: &mut [T]) {
    places.fill(T::default());
    // The compiler would leave out a write that is never read.
    optimization_barrier(places);
}

/// A list whose places are wiped when it grows and when it is dropped. `Debug` prints its type only.
#[derive(Default, derive_more::Debug, derive_more::Deref, derive_more::From)]
#[debug("Wiped")]
#[deref(forward)]
pub struct Wiped<T: DefaultIsZeroes>(Vec<T>);

impl<T: DefaultIsZeroes> Wiped<T> {
    /// A list of these values, in a place of its size: one that grew would take more, and be moved several times.
    pub(crate) fn of(values: impl ExactSizeIterator<Item = T>) -> Self {
        Self(values.collect())
    }

    pub(crate) fn push(&mut self, value: T) {
        self.make_room(1);
        self.0.push(value);
    }

    pub(crate) fn extend(&mut self, values: &[T]) {
        self.make_room(values.len());
        self.0.extend_from_slice(values);
    }

    /// Adds so many values; `None` where one of them is missing.
    pub(crate) fn fill(&mut self, values: usize, next: impl FnMut() -> Option<T>) -> Option<()> {
        self.make_room(values);
        let before = self.0.len();
        // The room is asked for once: at each value it would cost as much as reading the value.
        let added = std::iter::repeat_with(next).map_while(|value| value);
        self.0.extend(added.take(values));
        (self.0.len() - before == values).then_some(())
    }

    /// Moves to a larger place explicitly: a reallocation would leave a copy. A large one grows by a quarter, so that
    /// little of it stays empty.
    pub(crate) fn make_room(&mut self, more: usize) {
        let needed = self.0.len() + more;
        if needed > self.0.capacity() {
            let grown = match self.bytes() {
                0..LARGE => self.0.capacity() * 2,
                _ => self.0.capacity() / 4 * 5,
            };
            let mut larger = Vec::with_capacity(needed.max(grown).max(64));
            larger.extend_from_slice(&self.0);
            wipe(&mut self.0);
            self.0 = larger;
        }
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        &self.0
    }

    /// Its places.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.0
    }

    pub(crate) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<T>()
    }
}

impl Wiped<u8> {
    /// So many bytes, for the caller to fill.
    pub fn of_zeros(bytes: usize) -> Self {
        Self(vec![0; bytes])
    }
}

impl<T: DefaultIsZeroes> ZeroizeOnDrop for Wiped<T> {}

impl<T: DefaultIsZeroes> Drop for Wiped<T> {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

/// Numbers by keys that are hashes already. An own table, since a map of the standard library cannot be wiped.
#[derive(Default)]
pub(crate) struct WipedTable {
    /// 0 where the place is free.
    keys: Wiped<u64>,
    values: Wiped<u32>,
    used: usize,
}

impl WipedTable {
    /// An empty one with room for so many numbers.
    pub(crate) fn with_room(numbers: usize) -> Self {
        // A power of two, since places are found with a mask.
        let room = ((numbers + 1) * 4 / 3 + 1).next_power_of_two().max(256);
        Self {
            keys: Wiped(vec![0; room]),
            values: Wiped(vec![0; room]),
            used: 0,
        }
    }

    /// The key of each number below `numbers`; 0 for a number without a key.
    pub(crate) fn keys_by_value(&self, numbers: usize) -> Wiped<u64> {
        let mut keys = Wiped(vec![0; numbers]);
        let places = self.keys.as_slice().iter().zip(self.values.as_slice());
        for (key, number) in places.filter(|(key, _)| **key != 0) {
            keys.0[*number as usize] = *key;
        }
        keys
    }

    fn place(&self, key: u64) -> Option<usize> {
        let keys = self.keys.as_slice();
        let mask = keys.len().checked_sub(1)?;
        // Hashes all the same: the keys may be mixed of several.
        let mut at = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) as usize & mask;
        while keys[at] != 0 && keys[at] != key {
            at = (at + 1) & mask;
        }
        Some(at)
    }

    pub(crate) fn get(&self, key: u64) -> Option<u32> {
        // 0 says that a place is free, so that a key of 0 is kept as 1.
        let at = self.place(key.max(1))?;
        (self.keys.as_slice()[at] != 0).then(|| self.values.as_slice()[at])
    }

    /// The number of a key; `new` where it had none.
    pub(crate) fn get_or_put(&mut self, key: u64, new: u32) -> u32 {
        let key = key.max(1);
        // A place is always free, so that looking for one ends.
        if (self.used + 1) * 4 > self.keys.len() * 3 {
            self.grow();
        }
        // Not reached: a table always has free places after `grow`.
        let Some(at) = self.place(key) else {
            return new;
        };
        if self.keys.as_slice()[at] == 0 {
            self.keys.as_mut_slice()[at] = key;
            self.values.as_mut_slice()[at] = new;
            self.used += 1;
        }
        self.values.as_slice()[at]
    }

    fn grow(&mut self) {
        // Room for as many numbers as there are places makes twice as many places.
        let mut larger = Self::with_room(self.keys.len());
        let old = self.keys.as_slice().iter().zip(self.values.as_slice());
        for (key, value) in old.filter(|(key, _)| **key != 0) {
            larger.get_or_put(*key, *value);
        }
        // The old table is wiped as it is dropped.
        *self = larger;
    }

    pub(crate) fn bytes(&self) -> usize {
        self.keys.bytes() + self.values.bytes()
    }
}

/// Lists of numbers in one place, which is wiped as a [`Wiped`] is. An index has a list for each of its words, most of
/// them short: a place of its own for each would take several times as much, and leave gaps where it was.
#[derive(Default)]
pub(crate) struct WipedLists {
    numbers: Wiped<u32>,
    runs: Vec<Run>,
    /// The numbers in all lists.
    count: usize,
}

/// The part of a list in the one place.
// In 32 bits, which the words of no agent's memory fill.
#[derive(Clone, Copy, Default)]
struct Run {
    from: u32,
    length: u32,
    room: u32,
}

impl WipedLists {
    /// No lists, with room for so many, and for so many numbers and some that are added later.
    pub(crate) fn with_room(lists: usize, numbers: usize) -> Self {
        Self {
            numbers: Wiped(Vec::with_capacity(numbers + numbers / 4)),
            runs: Vec::with_capacity(lists),
            count: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.runs.len()
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.runs.len()).map(|list| &self[list])
    }

    pub(crate) fn bytes(&self) -> usize {
        self.numbers.bytes() + self.runs.capacity() * size_of::<Run>()
    }

    /// Adds an empty list behind the others.
    pub(crate) fn begin(&mut self) {
        self.runs.push(Run {
            from: self.numbers.len() as u32,
            ..Run::default()
        });
    }

    /// Adds a list of so many numbers behind the others; `None` where one of them is missing.
    pub(crate) fn add(&mut self, length: usize, next: impl FnMut() -> Option<u32>) -> Option<()> {
        self.begin();
        self.numbers.fill(length, next)?;
        let last = self.runs.last_mut()?;
        (last.length, last.room) = (length as u32, length as u32);
        self.count += length;
        Some(())
    }

    pub(crate) fn push(&mut self, list: usize, number: u32) {
        let Run { from, length, room } = self.runs[list];
        let end = (from + length) as usize;
        if length < room {
            self.numbers.as_mut_slice()[end] = number;
        } else if end == self.numbers.len() && end < self.numbers.0.capacity() {
            // The last one in its place, as all are that are read: it grows there.
            self.numbers.0.push(number);
            self.runs[list].room += 1;
        } else {
            self.give_room(list);
            return self.push(list, number);
        }
        self.runs[list].length += 1;
        self.count += 1;
    }

    pub(crate) fn remove(&mut self, list: usize, at: usize) {
        let run = &mut self.runs[list];
        let numbers = &mut self.numbers.as_mut_slice()[run.from as usize..][..run.length as usize];
        numbers.copy_within(at + 1.., at);
        numbers[run.length as usize - 1] = 0;
        run.length -= 1;
        self.count -= 1;
    }

    /// Moves a full list behind the others, where it has more room.
    fn give_room(&mut self, list: usize) {
        let Run { from, length, .. } = self.runs[list];
        let (old, to) = (from as usize..(from + length) as usize, self.numbers.len());
        let room = roomy(length);
        if to + room as usize > self.numbers.0.capacity() {
            return self.move_all();
        }
        self.numbers.0.resize(to + room as usize, 0);
        self.numbers.as_mut_slice().copy_within(old.clone(), to);
        // A number that is removed later must not stay here.
        self.numbers.as_mut_slice()[old].fill(0);
        self.runs[list] = Run {
            from: to as u32,
            length,
            room,
        };
    }

    /// Moves all lists to a larger place, without the gaps that moved ones have left.
    fn move_all(&mut self) {
        let rooms = self.runs.iter().map(|run| roomy(run.length) as usize);
        let needed: usize = rooms.sum();
        let mut larger = Wiped(Vec::with_capacity(needed + needed / 4));
        for run in &mut self.runs {
            let from = larger.len() as u32;
            larger.extend(&self.numbers.as_slice()[run.from as usize..][..run.length as usize]);
            run.room = roomy(run.length);
            run.from = from;
            larger.0.resize((from + run.room) as usize, 0);
        }
        // The old place is wiped as it is dropped.
        self.numbers = larger;
    }
}

/// The room of a list of that length that has grown, so that it is seldom moved again.
fn roomy(length: u32) -> u32 {
    length + length / 4 + 1
}

impl Index<usize> for WipedLists {
    type Output = [u32];

    fn index(&self, list: usize) -> &[u32] {
        let run = self.runs[list];
        &self.numbers.as_slice()[run.from as usize..][..run.length as usize]
    }
}
