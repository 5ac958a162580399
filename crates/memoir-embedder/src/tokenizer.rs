//! From a text to tokens: the file's normalisation, then the most probable sequence of pieces (Unigram, by Viterbi).

use zeroize::Zeroizing;

const SPACE: char = '\u{2581}';

/// How much less probable than the least probable piece a character is that no piece has.
const UNKNOWN: f32 = 10.0;

/// The tokens around a text, and the one of an unknown character.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marks {
    pub(crate) begin: u32,
    pub(crate) end: u32,
    pub(crate) unknown: u32,
}

/// The pieces of a file, as read and not yet checked.
pub(crate) struct Pieces {
    /// Where each begins, and where the last ends.
    pub(crate) bounds: Vec<u32>,
    /// The logarithm of each one's probability; 0 for marks, which no text has.
    pub(crate) scores: Vec<f32>,
    /// All of them, one after the other.
    pub(crate) bytes: Vec<u8>,
}

/// The characters that are replaced by others, as read and not yet checked.
pub(crate) struct Replaced {
    /// In ascending order, each with the end of its replacement.
    pub(crate) characters: Vec<(char, usize)>,
    /// All replacements, one after the other.
    pub(crate) by: Vec<char>,
}

#[derive(Debug)]
pub(crate) struct Tokenizer {
    marks: Marks,
    bounds: Vec<u32>,
    scores: Vec<f32>,
    bytes: Vec<u8>,
    /// The bytes of the longest piece.
    longest: usize,
    unknown: f32,
    /// Pieces by the hash of their bytes, or [`NONE`]; one that is taken is followed by the next place.
    places: Vec<u32>,
    replaced: Vec<(char, usize)>,
    by: Vec<char>,
}

const NONE: u32 = u32::MAX;

/// A hash that takes one byte after the other (FNV-1a), so that a longer piece needs only its further bytes.
#[derive(Clone, Copy)]
struct Hash(u64);

impl Hash {
    const NEW: Self = Self(0xCBF2_9CE4_8422_2325);

    fn with(self, bytes: &[u8]) -> Self {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
        Self(bytes.iter().fold(self.0, step))
    }

    /// Its place among so many, a power of two.
    fn place(self, places: usize) -> usize {
        (self.0 ^ (self.0 >> 32)) as usize & (places - 1)
    }
}

impl Tokenizer {
    /// `None` where the pieces or the marks are none.
    pub(crate) fn new(marks: Marks, pieces: Pieces, replaced: Replaced) -> Option<Self> {
        let Pieces {
            bounds,
            scores,
            bytes,
        } = pieces;
        let count = scores.len();
        let is_there = |mark: u32| (mark as usize) < count;
        let is_sound = bounds.len() == count + 1
            && bounds.is_sorted()
            && bounds
                .last()
                .is_some_and(|end| *end as usize <= bytes.len())
            && scores.iter().all(|score| score.is_finite())
            && [marks.begin, marks.end, marks.unknown]
                .into_iter()
                .all(is_there)
            && replaced.characters.is_sorted_by(|one, other| one < other)
            && replaced.characters.is_sorted_by_key(|(_, end)| *end)
            && replaced
                .characters
                .iter()
                .all(|(_, end)| *end <= replaced.by.len());
        if !is_sound {
            return None;
        }
        let lengths = bounds.windows(2).map(|pair| (pair[1] - pair[0]) as usize);
        let least = scores.iter().copied().fold(0.0, f32::min);
        let mut tokenizer = Self {
            marks,
            longest: lengths.max()?,
            unknown: least - UNKNOWN,
            // At most half of the places are taken, so that the next free one is near.
            places: vec![NONE; (2 * count).next_power_of_two()],
            bounds,
            scores,
            bytes,
            replaced: replaced.characters,
            by: replaced.by,
        };
        tokenizer.enter_pieces();
        Some(tokenizer)
    }

    pub(crate) fn marks(&self) -> Marks {
        self.marks
    }

    fn enter_pieces(&mut self) {
        for piece in 0..self.scores.len() {
            // A text that has a mark's name has these characters, and not the mark.
            if self.scores[piece] == 0.0 || self.piece(piece as u32).is_empty() {
                continue;
            }
            let mut place = Hash::NEW
                .with(self.piece(piece as u32))
                .place(self.places.len());
            while self.places[place] != NONE {
                place = (place + 1) % self.places.len();
            }
            self.places[place] = piece as u32;
        }
    }

    /// The bytes of a piece that there is.
    fn piece(&self, piece: u32) -> &[u8] {
        let piece = piece as usize;
        &self.bytes[self.bounds[piece] as usize..self.bounds[piece + 1] as usize]
    }

    fn find(&self, hash: Hash, bytes: &[u8]) -> Option<u32> {
        let mut place = hash.place(self.places.len());
        while self.places[place] != NONE {
            if self.piece(self.places[place]) == bytes {
                return Some(self.places[place]);
            }
            place = (place + 1) % self.places.len();
        }
        None
    }

    /// The characters of a text as the pieces have them: replaced, with one mark for spaces that follow each other, and
    /// one before the text.
    fn normalised(&self, text: &str) -> Zeroizing<String> {
        // Most texts become no longer; where one does, what it was in before is not wiped twice.
        let mut normalised = Zeroizing::new(String::with_capacity(2 * text.len() + 8));
        let mut enter = |character: char| match character {
            ' ' if normalised.ends_with(SPACE) => {}
            ' ' => normalised.push(SPACE),
            _ => {
                if normalised.is_empty() {
                    normalised.push(SPACE);
                }
                normalised.push(character);
            }
        };
        for character in text.chars() {
            match self
                .replaced
                .binary_search_by_key(&character, |(from, _)| *from)
            {
                Err(_) => enter(character),
                Ok(at) => {
                    let begin = at
                        .checked_sub(1)
                        .map_or(0, |before| self.replaced[before].1);
                    self.by[begin..self.replaced[at].1]
                        .iter()
                        .for_each(|to| enter(*to));
                }
            }
        }
        if normalised.is_empty() {
            normalised.push(SPACE);
        }
        normalised
    }

    /// The tokens of a text, without the marks around it.
    pub(crate) fn tokens(&self, text: &str) -> Zeroizing<Vec<u32>> {
        let text = self.normalised(text);
        let text = text.as_bytes();
        let is_start = |at: usize| text.get(at).is_none_or(|byte| byte & 0xC0 != 0x80);
        // Of the best sequence of pieces up to each byte: its score, its last piece, and where that begins.
        let unreached = (f32::NEG_INFINITY, self.marks.unknown, 0_usize);
        let mut best = Zeroizing::new(vec![unreached; text.len() + 1]);
        best[0].0 = 0.0;
        for begin in (0..text.len()).filter(|at| is_start(*at)) {
            let so_far = best[begin].0;
            let mut hash = Hash::NEW;
            let mut is_first = true;
            let mut from = begin;
            for end in begin + 1..=text.len().min(begin + self.longest.max(4)) {
                if !is_start(end) {
                    continue;
                }
                hash = hash.with(&text[from..end]);
                from = end;
                let piece = self.find(hash, &text[begin..end]);
                let known = piece.map(|piece| (so_far + self.scores[piece as usize], piece));
                let unknown = is_first.then_some((so_far + self.unknown, self.marks.unknown));
                is_first = false;
                for (score, piece) in known.into_iter().chain(unknown) {
                    if score > best[end].0 {
                        best[end] = (score, piece, begin);
                    }
                }
            }
        }
        let mut tokens = Zeroizing::new(Vec::with_capacity(text.len()));
        let mut end = text.len();
        // Every character is reached by itself at least, so that this goes back to the beginning.
        while end > 0 {
            let (_, piece, begin) = best[end];
            tokens.push(piece);
            end = begin;
        }
        tokens.reverse();
        tokens
    }
}
