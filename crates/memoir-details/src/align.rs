//! Which words of one sequence stand, in their order, in another.
//!
//! Owns finding the places and nothing of what they mean. Work is bounded by the product of the
//! lengths over 64, and nothing recurs.

use crate::lexicon::ByHash;
use crate::words::Word;

/// No place.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// How many places in a sentence are tried; a text that repeats itself more often is not said to
/// say more for it.
const WINDOWS: usize = 8;

/// Calls `found` with the places of all words of `s` in `n`, for one narrow window after another,
/// until it answers true.
pub(crate) fn windows(s: &[Word], n: &[Word], mut found: impl FnMut(&[u32]) -> bool) -> bool {
    if s.is_empty() || s.len() > n.len() {
        return false;
    }
    let mut places = vec![0_u32; s.len()];
    let mut from = 0;
    for _ in 0..WINDOWS {
        // The earliest end of all words from here on, each at its earliest place.
        let mut at = from;
        for (word, place) in s.iter().zip(&mut places) {
            let Some(step) = n[at..].iter().position(|other| other.key == word.key) else {
                return false;
            };
            *place = (at + step) as u32;
            at += step + 1;
        }
        if found(&places) {
            return true;
        }
        // The same end, each word at its latest place.
        let early = places.clone();
        let mut end = at;
        for (word, place) in s.iter().zip(&mut places).rev() {
            // It is there: the forward search found it no later than here.
            let Some(step) = n[..end].iter().rposition(|other| other.key == word.key) else {
                return false;
            };
            *place = step as u32;
            end = step;
        }
        // Where no word could be moved, these places were tried already.
        if places != early && found(&places) {
            return true;
        }
        // A window that begins here or before would hold the one that was just tried.
        from = places[0] as usize + 1;
        if n.len() - from.min(n.len()) < s.len() {
            return false;
        }
    }
    false
}

/// The places in `n` of as many words of `s` as stand there in their order; [`NOWHERE`] for the
/// others. Bit-parallel (Hyyrö 2004), because texts may have thousands of words in one sentence.
pub(crate) fn common(s: &[Word], n: &[Word]) -> Vec<u32> {
    let mut places = vec![NOWHERE; s.len()];
    if s.is_empty() || n.is_empty() {
        return places;
    }
    let blocks = s.len().div_ceil(64);
    let masks = Masks::new(s, blocks);
    // All rows are kept: the way back from the last one leads through them.
    let mut rows = vec![!0_u64; blocks * (n.len() + 1)];
    for (j, word) in n.iter().enumerate() {
        let mut carry = false;
        let few;
        let masks = match masks.of(word.key) {
            Mask::One(mask) => {
                few = [mask];
                &few[..]
            }
            Mask::Many(masks) => masks,
        };
        for (block, mask) in masks.iter().enumerate() {
            let before = rows[j * blocks + block];
            let hits = before & mask;
            // The blocks are one long number: what one of them carries goes into the next.
            let (sum, one) = before.overflowing_add(hits);
            let (sum, two) = sum.overflowing_add(u64::from(carry));
            carry = one || two;
            rows[(j + 1) * blocks + block] = sum | (before & !hits);
        }
    }
    let grows = |i: usize, j: usize| rows[j * blocks + i / 64] >> (i % 64) & 1 == 0;
    let (mut i, mut j) = (s.len(), n.len());
    while i > 0 && j > 0 {
        if !grows(i - 1, j) {
            i -= 1;
        } else if grows(i - 1, j - 1) {
            j -= 1;
        } else {
            places[i - 1] = (j - 1) as u32;
            i -= 1;
            j -= 1;
        }
    }
    places
}

/// At which places of a sequence each of its words stands, one bit for each place.
enum Masks<'s> {
    /// Up to 64 words are looked through faster than they are filed.
    Few(&'s [Word]),
    Many {
        starts: ByHash<usize>,
        /// As many blocks for each word; the first are those of a word that does not occur.
        bits: Vec<u64>,
        blocks: usize,
    },
}

enum Mask<'m> {
    One(u64),
    Many(&'m [u64]),
}

impl<'s> Masks<'s> {
    fn new(s: &'s [Word], blocks: usize) -> Self {
        if blocks == 1 {
            return Masks::Few(s);
        }
        let mut starts = ByHash::default();
        let mut bits = vec![0; blocks];
        for (i, word) in s.iter().enumerate() {
            let start = *starts.entry(word.key).or_insert_with(|| {
                bits.resize(bits.len() + blocks, 0);
                bits.len() - blocks
            });
            bits[start + i / 64] |= 1 << (i % 64);
        }
        Masks::Many {
            starts,
            bits,
            blocks,
        }
    }

    fn of(&self, key: u64) -> Mask<'_> {
        match self {
            Masks::Few(s) => Mask::One(
                s.iter()
                    .enumerate()
                    .fold(0, |mask, (i, word)| mask | u64::from(word.key == key) << i),
            ),
            Masks::Many {
                starts,
                bits,
                blocks,
            } => {
                let start = starts.get(&key).copied().unwrap_or(0);
                Mask::Many(&bits[start..start + blocks])
            }
        }
    }
}
