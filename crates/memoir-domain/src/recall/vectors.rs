//! Vectors of memories, by which what is near in meaning is found, in memory alone like the index that they
//! belong to.
//!
//! A vector tells much of the text that it is of, so that it is text in the sense of SPEC 5.1: what holds one prints
//! its length alone and is wiped when it goes. Only directions are compared, so that a number a dimension in 255
//! steps is enough: a quarter of the room of a model's own numbers, and the same order among the nearest.

use std::{collections::HashMap, fmt};

use super::wiped::Wiped;

/// Most dimensions of a vector.
pub const DIMENSIONS_LIMIT: usize = 8_192;

/// How many of the nearest count as found by meaning.
pub(super) const NEAREST: usize = 50;

/// Of how many at most the angles are compared.
const COMPARED: usize = 1_024;

/// Steps are kept as numbers from 0: this is the middle.
const MIDDLE: u8 = 128;

/// How far a step may be from the middle.
const FAR: f32 = 127.0;

/// How many times as large as a dimension is on average it may be; what is larger is kept as that. It is that with all
/// texts where a model has such a dimension, and tells none apart.
const LARGEST: f32 = 5.0;

/// What a model of embeddings makes of a text: a direction.
pub struct Vector(Wiped<i8>);

impl Vector {
    /// Of a model's numbers; `None` where they are no direction: none, more than [`DIMENSIONS_LIMIT`], all of them
    /// 0, or one that is no number.
    pub fn of(values: &[f32]) -> Option<Self> {
        let most = values.iter().fold(0.0_f32, |most, one| most.max(one.abs()));
        let is_direction = (1..=DIMENSIONS_LIMIT).contains(&values.len())
            && values.iter().all(|value| value.is_finite())
            && most > 0.0;
        if !is_direction {
            return None;
        }
        let mut steps = Wiped::default();
        for value in values {
            // Within -127 to 127, since `most` is the largest of them.
            steps.push((value / most * 127.0).round() as i8);
        }
        Some(Self(steps))
    }

    /// Of what [`Vector::to_bytes`] gave; `None` where that is no direction.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let is_direction =
            (1..=DIMENSIONS_LIMIT).contains(&bytes.len()) && bytes.iter().any(|byte| *byte != 0);
        if !is_direction {
            return None;
        }
        let mut steps = Wiped::default();
        for byte in bytes {
            steps.push(byte.cast_signed());
        }
        Some(Self(steps))
    }

    /// A byte a dimension.
    pub fn to_bytes(&self) -> Vec<u8> {
        let steps = self.0.as_slice().iter();
        steps.map(|step| step.cast_unsigned()).collect()
    }

    /// How many numbers it has, at least 1.
    pub fn dimensions(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Debug for Vector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Vector({} dimensions)", self.dimensions())
    }
}

/// The vectors of one index, all of one model and so of one number of dimensions.
#[derive(Default)]
pub(super) struct Vectors {
    dimensions: usize,
    /// Above and below [`MIDDLE`].
    steps: Wiped<u8>,
    /// The length of each as it is kept, by its place; 0 where the place is empty.
    lengths: Wiped<f32>,
    /// By the slot of the memory.
    place_of: HashMap<u32, u32>,
    /// The slot of each, by its place, so that all are looked at as they lie; those of empty places say nothing.
    slots: Vec<u32>,
    /// Places that are empty again.
    free: Vec<u32>,
}

impl Vectors {
    pub(super) fn count(&self) -> usize {
        self.place_of.len()
    }

    pub(super) fn dimensions(&self) -> Option<usize> {
        (self.count() > 0).then_some(self.dimensions)
    }

    pub(super) fn has(&self, slot: u32) -> bool {
        self.place_of.contains_key(&slot)
    }

    pub(super) fn bytes(&self) -> usize {
        let places =
            self.place_of.capacity() * 8 + (self.slots.capacity() + self.free.capacity()) * 4;
        self.steps.bytes() + self.lengths.bytes() + places
    }

    /// Enters one; `false` where it has another number of dimensions than those that are there.
    pub(super) fn put(&mut self, slot: u32, vector: &Vector) -> bool {
        let given = vector.0.as_slice();
        if self.count() == 0 {
            *self = Self {
                dimensions: given.len(),
                ..Self::default()
            };
        } else if self.dimensions != given.len() {
            return false;
        }
        self.take(slot);
        let steps = at_one_length(given);
        let length = length_of(steps.as_slice());
        let place = match self.free.pop() {
            Some(place) => {
                self.lengths.as_mut_slice()[place as usize] = length;
                self.slots[place as usize] = slot;
                place
            }
            None => {
                self.steps.extend(steps.as_slice());
                self.lengths.push(length);
                self.slots.push(slot);
                // As many as there are slots at most.
                self.lengths.len() as u32 - 1
            }
        };
        self.steps_at_mut(place).copy_from_slice(steps.as_slice());
        self.place_of.insert(slot, place);
        true
    }

    fn steps_at(&self, place: u32) -> &[u8] {
        &self.steps.as_slice()[place as usize * self.dimensions..][..self.dimensions]
    }

    fn steps_at_mut(&mut self, place: u32) -> &mut [u8] {
        &mut self.steps.as_mut_slice()[place as usize * self.dimensions..][..self.dimensions]
    }

    /// Wipes a slot's.
    pub(super) fn take(&mut self, slot: u32) {
        if let Some(place) = self.place_of.remove(&slot) {
            self.steps_at_mut(place).fill(0);
            self.lengths.as_mut_slice()[place as usize] = 0.0;
            self.free.push(place);
        }
    }

    /// How near two memories are to each other; `None` where either has no vector.
    pub(super) fn between(&self, one: u32, other: u32) -> Option<f32> {
        let place = |slot| self.place_of.get(&slot).copied();
        let (one, other) = (place(one)?, place(other)?);
        Some(self.cosine(
            self.steps_at(one),
            self.lengths.as_slice()[one as usize],
            other,
        ))
    }

    /// Of the angle between steps of that length and those of a place.
    fn cosine(&self, steps: &[u8], length: f32, place: u32) -> f32 {
        let own = self.lengths.as_slice()[place as usize];
        dot(steps, self.steps_at(place)) as f32 / (length * own)
    }

    /// The nearest of those slots that are admitted, each with the cosine of the angle between the two; nothing
    /// where `vector` has another number of dimensions.
    pub(super) fn nearest(&self, vector: &Vector, admits: impl Fn(u32) -> bool) -> Vec<(u32, f32)> {
        let given = vector.0.as_slice();
        if self.count() == 0 || given.len() != self.dimensions {
            return Vec::new();
        }
        let asked = at_one_length(given);
        let asked = asked.as_slice();
        let length = length_of(asked);
        let is_wanted = |place: &u32| {
            let own = self.lengths.as_slice()[*place as usize];
            own > 0.0 && admits(self.slots[*place as usize])
        };
        // As many as there are slots at most.
        let mut compared: Vec<u32> = (0..self.slots.len() as u32).filter(is_wanted).collect();
        if compared.len() > COMPARED {
            let differing = compared.iter();
            let mut differing: Vec<(u32, u32)> = differing
                .map(|place| (difference(asked, self.steps_at(*place)), *place))
                .collect();
            differing.select_nth_unstable(COMPARED - 1);
            differing.truncate(COMPARED);
            compared = differing.into_iter().map(|(_, place)| place).collect();
        }
        let compared = compared.into_iter();
        let mut near: Vec<(u32, f32)> = compared
            .map(|place| {
                let slot = self.slots[place as usize];
                (slot, self.cosine(asked, length, place))
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
}

/// The steps at the length that all vectors of so many dimensions are kept at.
fn at_one_length(steps: &[i8]) -> Wiped<u8> {
    let squares = steps.iter().map(|step| i32::from(*step) * i32::from(*step));
    let own = (squares.sum::<i32>() as f32).sqrt();
    let length = FAR * ((steps.len() as f32).sqrt() / LARGEST).max(1.0);
    let mut kept = Wiped::default();
    for step in steps {
        let value = (f32::from(*step) * length / own).round();
        // Within 1 to 255.
        kept.push((value.clamp(-FAR, FAR) + f32::from(MIDDLE)) as u8);
    }
    kept
}

/// Never 0: of a direction the largest step is kept as at least 25.
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
