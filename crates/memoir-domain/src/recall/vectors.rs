//! Vectors of memories, for finding memories by meaning, in memory with the index that they belong to.
//!
//! A vector reveals much of its text, so it is text in the sense of SPEC 5.1: its holder prints only its length and
//! wipes it when dropped. Only directions are compared, so 255 steps per dimension suffice: a quarter of the model's
//! own size, and the same order among the nearest.
//!
//! All are searched in three passes, each over the remainder of the one before: the side of the middle of all vectors
//! in each dimension, one bit each; the sum of the differences; and the angle. The first pass alone touches every
//! vector, so that a question does not read all data.

use std::{cmp::Ordering, collections::HashMap};

use crate::text::wiped::Wiped;

/// Most dimensions of a vector.
pub const DIMENSIONS_LIMIT: usize = 8_192;

/// The number of nearest memories that count as found by meaning.
// Everything has some nearness: without a limit, each memory would be found by meaning.
pub(super) const NEAREST: usize = 50;

/// The number of vectors whose differences are compared; among more, sides are compared first. Of very many it is one
/// in [`ONE_IN`], since the nearest are within that share.
// Measured: 99% of the nearest ten are within the remainder (docs/recall.md), and a test requires 95%.
const SIDED: usize = 4_096;
const ONE_IN: usize = 25;

/// The most vectors whose angles are compared.
// Five times `NEAREST`: the order by sums of differences differs slightly from that by angles.
const COMPARED: usize = 256;

/// Steps are kept as numbers from 0: this is the middle.
const MIDDLE: u8 = 128;

/// How far a step may be from the middle.
const FAR: f32 = 127.0;

/// The largest stored multiple of the average dimension. Some models have a larger dimension in all texts, which does
/// not distinguish them.
const LARGEST: f32 = 5.0;

/// The embedding of a text: a direction.
#[derive(derive_more::Debug)]
#[debug("Vector({} dimensions)", self.dimensions())]
pub struct Vector(Wiped<i8>);

impl Vector {
    /// From a model's numbers; `None` where they are no direction: none, more than [`DIMENSIONS_LIMIT`], all of them 0,
    /// or one that is no number.
    pub fn of(values: &[f32]) -> Option<Self> {
        let most = values.iter().fold(0.0_f32, |most, one| most.max(one.abs()));
        let is_direction = (1..=DIMENSIONS_LIMIT).contains(&values.len())
            && values.iter().all(|value| value.is_finite())
            && most > 0.0;
        if !is_direction {
            return None;
        }
        // Within -127 to 127, since `most` is the largest of them.
        let step = |value: &f32| (value / most * 127.0).round() as i8;
        Some(Self(Wiped::of(values.iter().map(step))))
    }

    /// From the output of [`Vector::to_bytes`]; `None` where that is no direction.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let is_direction =
            (1..=DIMENSIONS_LIMIT).contains(&bytes.len()) && bytes.iter().any(|byte| *byte != 0);
        let steps = bytes.iter().map(|byte| byte.cast_signed());
        is_direction.then(|| Self(Wiped::of(steps)))
    }

    /// A byte a dimension.
    pub fn to_bytes(&self) -> Vec<u8> {
        let steps = self.0.as_slice().iter();
        steps.map(|step| step.cast_unsigned()).collect()
    }

    /// The number of its dimensions, at least 1.
    pub fn dimensions(&self) -> usize {
        self.0.len()
    }
}

/// The vectors of one index, all of one model and so of one number of dimensions.
#[derive(Default)]
pub(super) struct IndexVectors {
    dimensions: usize,
    /// Above and below [`MIDDLE`].
    steps: Wiped<u8>,
    /// The stored length of each, by its place; 0 where the place is empty.
    lengths: Wiped<f32>,
    /// By the slot of the memory.
    place_of: HashMap<u32, u32>,
    /// The slot of each, by its place, so that all are read in storage order; those of empty places are meaningless.
    slots: Vec<u32>,
    /// Places that are empty again.
    free: Vec<u32>,
    sides: Sides,
}

/// The side of the middle of all vectors on which each one is, in each dimension. The sides of 0 would distinguish few,
/// as a model's vectors have much in common. Empty for few vectors.
#[derive(Default)]
struct Sides {
    /// A bit a dimension, the same number of words for each place.
    bits: Wiped<u64>,
    /// The middle of each dimension, when it was last computed.
    middles: Wiped<u8>,
    /// The number of places at that time.
    counted_at: usize,
}

impl Sides {
    fn words(&self) -> usize {
        self.middles.len().div_ceil(64)
    }

    /// A bit for each dimension: the predicate of its step and the middle.
    fn where_so(&self, steps: &[u8], is_so: impl Fn(u8, u8) -> bool) -> Wiped<u64> {
        let pairs = steps.chunks(64).zip(self.middles.as_slice().chunks(64));
        Wiped::of(pairs.map(|(steps, middles)| {
            let sides = steps.iter().zip(middles).enumerate();
            let word = sides.map(|(at, (step, middle))| u64::from(is_so(*step, *middle)) << at);
            word.sum::<u64>()
        }))
    }

    fn of(&self, steps: &[u8]) -> Wiped<u64> {
        self.where_so(steps, |step, middle| step > middle)
    }

    /// The half of the dimensions in which steps are furthest from the middle: near it, a side says little.
    fn telling(&self, steps: &[u8]) -> Wiped<u64> {
        let pairs = steps.iter().zip(self.middles.as_slice());
        let mut far = Wiped::of(pairs.map(|(step, middle)| step.abs_diff(*middle)));
        let half = far.len() / 2;
        let (_, least, _) = far.as_mut_slice().select_nth_unstable(half);
        let least = *least;
        self.where_so(steps, |step, middle| step.abs_diff(middle) >= least)
    }

    /// The number of significant dimensions in which a place is on another side than the question.
    fn differing(&self, question_bits: &[u64], telling: &[u64], place: u32) -> u32 {
        let words = question_bits.len();
        let own = &self.bits.as_slice()[place as usize * words..][..words];
        let pairs = own.iter().zip(question_bits).zip(telling);
        pairs
            .map(|((own, question), telling)| ((own ^ question) & telling).count_ones())
            .sum()
    }
}

impl IndexVectors {
    pub(super) fn count(&self) -> usize {
        self.place_of.len()
    }

    pub(super) fn dimensions(&self) -> Option<usize> {
        (self.count() > 0).then_some(self.dimensions)
    }

    /// The slots with a vector, ascending, each with its steps.
    pub(super) fn by_slot(&self) -> impl ExactSizeIterator<Item = (u32, &[u8])> {
        let slots = self.place_of.iter().map(|(at, place)| (*at, *place));
        let mut slots: Vec<(u32, u32)> = slots.collect();
        slots.sort_unstable();
        slots
            .into_iter()
            .map(|(slot, place)| (slot, self.steps_at(place)))
    }

    pub(super) fn has(&self, slot: u32) -> bool {
        self.place_of.contains_key(&slot)
    }

    pub(super) fn bytes(&self) -> usize {
        let places =
            self.place_of.capacity() * 8 + (self.slots.capacity() + self.free.capacity()) * 4;
        let sides = self.sides.bits.bytes() + self.sides.middles.bytes();
        self.steps.bytes() + self.lengths.bytes() + sides + places
    }

    /// Reserves room for more vectors of that number of dimensions, so that none is moved while they are added.
    pub(super) fn make_room(&mut self, more: usize, dimensions: usize) {
        if self.count() == 0 {
            *self = Self {
                dimensions,
                ..Self::default()
            };
        }
        self.steps
            .make_room(more.saturating_sub(self.free.len()) * self.dimensions);
    }

    /// Adds one; `false` where it has another number of dimensions than the present ones.
    pub(super) fn put(&mut self, slot: u32, vector: &Vector) -> bool {
        self.put_steps(slot, at_one_length(vector.0.as_slice()).as_slice())
    }

    /// As [`IndexVectors::put`], by the steps of [`IndexVectors::by_slot`]; `false` also where they are no direction.
    pub(super) fn put_steps(&mut self, slot: u32, steps: &[u8]) -> bool {
        let length = length_of(steps);
        if length <= 0.0 {
            return false;
        }
        if self.count() == 0 && self.dimensions != steps.len() {
            *self = Self {
                dimensions: steps.len(),
                ..Self::default()
            };
        } else if self.dimensions != steps.len() {
            return false;
        }
        self.take(slot);
        let place = match self.free.pop() {
            Some(place) => {
                self.lengths.as_mut_slice()[place as usize] = length;
                self.slots[place as usize] = slot;
                place
            }
            None => {
                self.steps.extend(steps);
                self.lengths.push(length);
                self.slots.push(slot);
                // As many as there are slots at most.
                self.lengths.len() as u32 - 1
            }
        };
        self.steps_at_mut(place).copy_from_slice(steps);
        self.place_of.insert(slot, place);
        self.tell_side(place);
        true
    }

    /// Stores the sides of the vector of a place; those of all, once the number has doubled since the middles were
    /// computed.
    fn tell_side(&mut self, place: u32) {
        let places = self.slots.len();
        if places > SIDED.max(self.sides.counted_at * 2) {
            self.tell_sides();
        } else if self.sides.counted_at > 0 {
            let bits = self.sides.of(self.steps_at(place));
            let from = place as usize * self.sides.words();
            if from == self.sides.bits.len() {
                self.sides.bits.extend(bits.as_slice());
            } else {
                let own = &mut self.sides.bits.as_mut_slice()[from..];
                own[..bits.len()].copy_from_slice(bits.as_slice());
            }
        }
    }

    fn tell_sides(&mut self) {
        let mut sums = vec![0_u64; self.dimensions];
        let steps = self.steps.as_slice().chunks(self.dimensions);
        for (steps, _) in steps.zip(self.lengths.as_slice()).filter(is_taken) {
            for (sum, step) in sums.iter_mut().zip(steps) {
                *sum += u64::from(*step);
            }
        }
        let mut sides = Sides {
            counted_at: self.slots.len(),
            ..Sides::default()
        };
        for sum in &mut sums {
            // A step is a byte, and so is the middle of some.
            sides.middles.push((*sum / self.count() as u64) as u8);
            *sum = 0;
        }
        sides.bits.make_room(sides.words() * self.slots.capacity());
        for steps in self.steps.as_slice().chunks(self.dimensions) {
            let bits = sides.of(steps);
            sides.bits.extend(bits.as_slice());
        }
        self.sides = sides;
    }

    fn steps_at(&self, place: u32) -> &[u8] {
        &self.steps.as_slice()[place as usize * self.dimensions..][..self.dimensions]
    }

    fn steps_at_mut(&mut self, place: u32) -> &mut [u8] {
        &mut self.steps.as_mut_slice()[place as usize * self.dimensions..][..self.dimensions]
    }

    pub(super) fn take(&mut self, slot: u32) {
        if let Some(place) = self.place_of.remove(&slot) {
            self.steps_at_mut(place).fill(0);
            self.lengths.as_mut_slice()[place as usize] = 0.0;
            let words = self.sides.words();
            if words > 0 {
                self.sides.bits.as_mut_slice()[place as usize * words..][..words].fill(0);
            }
            self.free.push(place);
        }
    }

    /// The nearness of two memories; `None` where either has no vector.
    pub(super) fn between(&self, one: u32, other: u32) -> Option<f32> {
        let place = |slot| self.place_of.get(&slot).copied();
        let (one, other) = (place(one)?, place(other)?);
        Some(self.cosine(self.steps_at(one), self.lengths[one as usize], other))
    }

    /// The cosine of the angle between steps of that length and those of a place.
    fn cosine(&self, steps: &[u8], length: f32, place: u32) -> f32 {
        let own = self.lengths.as_slice()[place as usize];
        dot(steps, self.steps_at(place)) as f32 / (length * own)
    }

    /// The nearest of the admitted slots, each with the cosine of the angle; empty where `vector` has another number of
    /// dimensions.
    pub(super) fn nearest(&self, vector: &Vector, admits: impl Fn(u32) -> bool) -> Vec<(u32, f32)> {
        self.nearest_among(vector, admits, SIDED)
    }

    /// As [`IndexVectors::nearest`]; among more than so many, and one in [`ONE_IN`], sides are compared first.
    fn nearest_among(
        &self,
        vector: &Vector,
        admits: impl Fn(u32) -> bool,
        sided: usize,
    ) -> Vec<(u32, f32)> {
        let given = vector.0.as_slice();
        if self.count() == 0 || given.len() != self.dimensions {
            return Vec::new();
        }
        let question = at_one_length(given);
        let question = question.as_slice();
        let length = length_of(question);
        let is_wanted = |place: &u32| {
            let own = self.lengths.as_slice()[*place as usize];
            own > 0.0 && admits(self.slots[*place as usize])
        };
        // As many as there are slots at most.
        let mut compared: Vec<u32> = (0..self.slots.len() as u32).filter(is_wanted).collect();
        let sided = sided.max(compared.len() / ONE_IN);
        // The sides are stored by then: there are more places than `SIDED`, and `tell_side` begins with the first one
        // above it.
        if compared.len() > sided {
            compared = self.on_the_same_side(question, compared, sided);
        }
        if compared.len() > COMPARED {
            let differing = compared.iter();
            let mut differing: Vec<(u32, u32)> = differing
                .map(|place| (difference(question, self.steps_at(*place)), *place))
                .collect();
            differing.select_nth_unstable(COMPARED - 1);
            differing.truncate(COMPARED);
            compared = differing.into_iter().map(|(_, place)| place).collect();
        }
        let compared = compared.into_iter();
        let mut near: Vec<(u32, f32)> = compared
            .map(|place| {
                let slot = self.slots[place as usize];
                (slot, self.cosine(question, length, place))
            })
            .collect();
        // Of two that are as near, the newer slot.
        let order = |one: &(u32, f32), other: &(u32, f32)| {
            other.1.total_cmp(&one.1).then(other.0.cmp(&one.0))
        };
        if near.len() > NEAREST {
            near.select_nth_unstable_by(NEAREST - 1, order);
            near.truncate(NEAREST);
        }
        near.sort_unstable_by(order);
        near
    }

    /// This many of the places: those on the other side than the question in the fewest dimensions.
    fn on_the_same_side(&self, question: &[u8], places: Vec<u32>, most_places: usize) -> Vec<u32> {
        let (sides, telling) = (self.sides.of(question), self.sides.telling(question));
        let (sides, telling) = (sides.as_slice(), telling.as_slice());
        let differing = places.iter();
        let differing: Vec<u32> = differing
            .map(|place| self.sides.differing(sides, telling, *place))
            .collect();
        let mut with = vec![0_usize; self.dimensions + 1];
        for dimensions in &differing {
            with[*dimensions as usize] += 1;
        }
        let (mut room, mut most) = (most_places, 0);
        // Ends within the dimensions: there are more places than room.
        while with[most] <= room {
            room -= with[most];
            most += 1;
        }
        // Of those with the limit's number of differences, as many as fit.
        let mut is_among = |dimensions: usize| match dimensions.cmp(&most) {
            Ordering::Less => true,
            Ordering::Equal if room > 0 => {
                room -= 1;
                true
            }
            Ordering::Equal | Ordering::Greater => false,
        };
        let places = places.into_iter().zip(differing);
        let among = places.filter(|(_, dimensions)| is_among(*dimensions as usize));
        among.map(|(place, _)| place).collect()
    }
}

/// Whether a place has a vector.
fn is_taken((_, length): &(&[u8], &f32)) -> bool {
    **length > 0.0
}

/// The steps at the common length of all vectors of as many dimensions.
fn at_one_length(steps: &[i8]) -> Wiped<u8> {
    let squares = steps.iter().map(|step| i32::from(*step) * i32::from(*step));
    let own = (squares.sum::<i32>() as f32).sqrt();
    let length = FAR * ((steps.len() as f32).sqrt() / LARGEST).max(1.0);
    Wiped::of(steps.iter().map(|step| {
        let value = (f32::from(*step) * length / own).round();
        // Within 1 to 255.
        (value.clamp(-FAR, FAR) + f32::from(MIDDLE)) as u8
    }))
}

/// Never 0: the largest step of a direction is stored as at least 25.
fn length_of(steps: &[u8]) -> f32 {
    (dot(steps, steps) as f32).sqrt()
}

/// The sum of the products. At most 8,192 of at most 127 × 127: it fits.
fn dot(one: &[u8], other: &[u8]) -> i32 {
    let middle = i32::from(MIDDLE);
    let products = one.iter().zip(other);
    products
        .map(|(a, b)| (i32::from(*a) - middle) * (i32::from(*b) - middle))
        .sum()
}

/// The sum of the differences. At most 8,192 of at most 254: it fits.
fn difference(one: &[u8], other: &[u8]) -> u32 {
    let pairs = one.iter().zip(other);
    pairs.map(|(a, b)| u32::from(a.abs_diff(*b))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of about a normal distribution, the same ones for each seed.
    struct Draw(u64);

    impl Draw {
        fn next(&mut self) -> f32 {
            let mut sum = 0.0;
            for _ in 0..4 {
                self.0 = self
                    .0
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                sum += (self.0 >> 40) as f32 / (1_u32 << 24) as f32 - 0.5;
            }
            sum
        }

        fn place(&mut self, most: usize) -> usize {
            self.next();
            (self.0 >> 33) as usize % most
        }

        fn many(&mut self, count: usize) -> Vec<f32> {
            (0..count).map(|_| self.next()).collect()
        }
    }

    /// The hits among the nearest ten and fifty of 6,000 typical vectors, of which the sides leave one in 25.
    #[test]
    fn spec_2_8_among_the_nearest_by_sides_are_the_nearest_by_angles() {
        const COUNT: usize = 6_000;
        const DIMENSIONS: usize = 384;
        const THINGS: usize = 200;
        const ABOUT: usize = 5;
        let mut draw = Draw(19);
        let common = draw.many(DIMENSIONS);
        let things: Vec<Vec<f32>> = (0..THINGS).map(|_| draw.many(DIMENSIONS)).collect();
        let mut make = || {
            let mut values = draw.many(DIMENSIONS);
            for (value, common) in values.iter_mut().zip(&common) {
                *value += 4.0 * common;
            }
            for _ in 0..ABOUT {
                let (thing, share) = (draw.place(THINGS), 2.0 + draw.next());
                for (value, said) in values.iter_mut().zip(&things[thing]) {
                    *value += share * said;
                }
            }
            let length = values.iter().map(|one| one * one).sum::<f32>().sqrt();
            values.iter_mut().for_each(|value| *value /= length);
            values
        };
        let all: Vec<Vec<f32>> = (0..COUNT).map(|_| make()).collect();
        let mut vectors = IndexVectors::default();
        for (slot, values) in all.iter().enumerate() {
            assert!(vectors.put(slot as u32, &Vector::of(values).unwrap()));
        }
        let (mut ten, mut fifty) = (0, 0);
        const QUESTIONS: usize = 20;
        for _ in 0..QUESTIONS {
            let question = make();
            let cosine = |slot: u32| -> f32 {
                let pairs = all[slot as usize].iter().zip(&question);
                pairs.map(|(one, other)| one * other).sum()
            };
            let mut exact: Vec<(u32, f32)> =
                (0..COUNT as u32).map(|slot| (slot, cosine(slot))).collect();
            exact.sort_by(|one, other| other.1.total_cmp(&one.1));
            let found = vectors.nearest_among(&Vector::of(&question).unwrap(), |_| true, 0);
            let within = |most: usize| {
                let found: Vec<u32> = found.iter().take(most).map(|(slot, _)| *slot).collect();
                let exact = exact.iter().take(most);
                exact.filter(|(slot, _)| found.contains(slot)).count()
            };
            ten += within(10);
            fifty += within(NEAREST);
        }
        assert!(ten * 100 >= QUESTIONS * 10 * 95, "{ten}");
        assert!(fifty * 100 >= QUESTIONS * NEAREST * 85, "{fifty}");
    }

    #[test]
    fn spec_2_8_vectors_take_room_for_what_is_there() {
        let vector = |one: f32| Vector::of(&[vec![one; 300], vec![1.0; 84]].concat()).unwrap();
        let mut vectors = IndexVectors::default();
        assert!(vectors.put(9_999, &vector(0.5)));
        assert!(vectors.bytes() < 2 * 384, "{}", vectors.bytes());
        for slot in 0..8_000 {
            assert!(vectors.put(slot, &vector(slot as f32)));
        }
        let each = vectors.bytes() / 8_001;
        assert!(each < 384 * 3 / 2 + 100, "{each}");
        // A caller that announces the number gets exactly that room.
        let mut reserved = IndexVectors::default();
        reserved.make_room(8_000, 384);
        for slot in 0..8_000 {
            assert!(reserved.put(slot, &vector(slot as f32)));
        }
        assert_eq!(reserved.steps.bytes(), 8_000 * 384);
    }
}
