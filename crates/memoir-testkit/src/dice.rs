//! Numbers that look random and are the same in each run.

use memoir_app::{Error, Random};
use parking_lot::Mutex;

/// Numbers of one seed (xorshift).
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Those of that seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Those of one of many steps of a seed, whatever the other steps draw.
    pub fn of_step(seed: u64, step: u64) -> Self {
        let mut dice = Self::new(seed ^ (step + 1).wrapping_mul(0xD1B5_4A32_D192_ED03));
        // The first numbers of neighbouring seeds are alike.
        for _ in 0..4 {
            dice.roll(2);
        }
        dice
    }

    /// A number under `sides`, which is not 0.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    /// One of `all`; `None` where there are none.
    pub fn one_of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        let at = self.roll(all.len().max(1) as u64);
        all.get(at as usize)
    }
}

/// Random bytes of a seed, for an installation that is the same in each run.
pub struct SeededRandom(Mutex<Dice>);

impl SeededRandom {
    /// Those of that seed.
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(Dice::of_step(seed, u64::MAX - 1)))
    }
}

impl Random for SeededRandom {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), Error> {
        // A panic elsewhere says nothing about the numbers.
        let mut dice = self.0.lock();
        bytes.fill_with(|| (dice.roll(1 << 16) >> 4) as u8);
        Ok(())
    }
}
