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

/// The vectors of one index, all of one model and so of one length.
#[derive(Default)]
pub(super) struct Vectors {
    dimensions: usize,
    steps: Wiped<i8>,
    /// The length of each, by its place.
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

    /// Enters one; `false` where it has another length than those that are there.
    pub(super) fn put(&mut self, slot: u32, vector: &Vector) -> bool {
        let steps = vector.0.as_slice();
        if self.count() == 0 {
            *self = Self {
                dimensions: steps.len(),
                ..Self::default()
            };
        } else if self.dimensions != steps.len() {
            return false;
        }
        self.take(slot);
        let length = (dot(steps, steps) as f32).sqrt();
        let place = match self.free.pop() {
            Some(place) => {
                let from = place as usize * self.dimensions;
                let room = &mut self.steps.as_mut_slice()[from..from + steps.len()];
                room.copy_from_slice(steps);
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
        self.place_of.insert(slot, place);
        true
    }

    /// Wipes a slot's.
    pub(super) fn take(&mut self, slot: u32) {
        if let Some(place) = self.place_of.remove(&slot) {
            let from = place as usize * self.dimensions;
            let room = &mut self.steps.as_mut_slice()[from..from + self.dimensions];
            room.fill(0);
            self.lengths.as_mut_slice()[place as usize] = 0.0;
            self.free.push(place);
        }
    }

    /// How near two memories are to each other; `None` where either has no vector.
    pub(super) fn between(&self, one: u32, other: u32) -> Option<f32> {
        let vector = |slot: u32| {
            let place = *self.place_of.get(&slot)? as usize;
            let steps = &self.steps.as_slice()[place * self.dimensions..][..self.dimensions];
            Some((steps, self.lengths.as_slice()[place]))
        };
        let ((one, length), (other, other_length)) = (vector(one)?, vector(other)?);
        Some(dot(one, other) as f32 / (length * other_length))
    }

    /// The nearest of those slots that are admitted, each with the cosine of the angle between the two; nothing
    /// where `vector` has another length.
    pub(super) fn nearest(&self, vector: &Vector, admits: impl Fn(u32) -> bool) -> Vec<(u32, f32)> {
        let asked = vector.0.as_slice();
        if asked.len() != self.dimensions {
            return Vec::new();
        }
        let length = (dot(asked, asked) as f32).sqrt();
        let places = self.slots.iter().zip(self.lengths.as_slice());
        let all = places.zip(self.steps.as_slice().chunks_exact(self.dimensions));
        let mut near: Vec<(u32, f32)> = all
            // An empty place has no length.
            .filter(|((slot, own), _)| **own > 0.0 && admits(**slot))
            .map(|((slot, own), steps)| (*slot, dot(asked, steps) as f32 / (length * own)))
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

/// The sum of the products. At most 8,192 of at most 127 × 127: it fits.
fn dot(one: &[i8], other: &[i8]) -> i32 {
    let products = one.iter().zip(other);
    products.map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}
