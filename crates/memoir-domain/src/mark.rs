//! A memory without its words, by what two states of it are compared: in little room, so that a whole history
//! can be followed without holding its texts.

use std::fmt;

use data_encoding::HEXLOWER;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Visitor},
};
use sha2::{Digest as _, Sha256};

use crate::{
    Timestamp,
    memory::{Kind, Memory},
    wording::SavedBy,
};

/// Of words: equal where these are. It never leaves the process but sealed (SPEC 5.3): whoever has it can find out
/// whether a guess at the words is right.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct WordsMark([u8; 16]);

impl WordsMark {
    /// Of one text.
    pub fn of_text(text: &str) -> Self {
        Self::of([text.as_bytes()])
    }

    /// Of parts in their order.
    fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            // The length before each part, so that no text can move the border between two of them.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let mut mark = [0; 16];
        // Half a digest: two texts of one mark take about 2^64 attempts, and one is kept for every wording.
        mark.copy_from_slice(&hash.finalize()[..16]);
        Self(mark)
    }

    /// What [`WordsMark::as_bytes`] gave.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// As bytes, to be sealed.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// As the 32 hexadecimal digits of its bytes.
impl Serialize for WordsMark {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut digits = [0; 32];
        HEXLOWER.encode_mut(&self.0, &mut digits);
        // Hexadecimal digits are ASCII.
        serializer.serialize_str(str::from_utf8(&digits).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for WordsMark {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Digits)
    }
}

/// Reads a mark where its digits lie: one comes with each wording that is opened.
struct Digits;

impl Visitor<'_> for Digits {
    type Value = WordsMark;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("32 hexadecimal digits")
    }

    fn visit_str<E: de::Error>(self, digits: &str) -> Result<WordsMark, E> {
        let mut mark = [0; 16];
        let is_whole = digits.len() == 2 * mark.len()
            && HEXLOWER.decode_mut(digits.as_bytes(), &mut mark).is_ok();
        // The digits themselves tell of words, and stand in no error.
        is_whole
            .then_some(WordsMark(mark))
            .ok_or_else(|| E::custom("is no mark: 32 hexadecimal digits are expected"))
    }
}

impl fmt::Debug for WordsMark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WordsMark")
    }
}

/// Of one state of a memory: equal where the states are, but for the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryMark {
    kind: Kind,
    content: WordsMark,
    tags: WordsMark,
    source: WordsMark,
    door: SavedBy,
    wordings: WordsMark,
    protected_seq: Option<u64>,
    created_at: Timestamp,
    updated_at: Timestamp,
    discarded_at: Option<Timestamp>,
    shredded_at: Option<Timestamp>,
}

impl MemoryMark {
    /// Of a memory as it is.
    pub fn of(memory: &Memory) -> Self {
        let tags = memory.tags.iter().map(str::as_bytes);
        let source = memory
            .source
            .iter()
            .map(|source| source.expose().as_bytes());
        // What is known of a wording always is JSON: every field of it is text, a number or a list.
        let wordings = serde_json::to_vec(&memory.wordings).unwrap_or_default();
        Self {
            kind: memory.kind,
            content: WordsMark::of_text(memory.content.expose()),
            tags: WordsMark::of(tags),
            source: WordsMark::of(source),
            door: memory.door,
            wordings: WordsMark::of([wordings.as_slice()]),
            protected_seq: memory.protected_seq,
            created_at: memory.created_at,
            updated_at: memory.updated_at,
            discarded_at: memory.discarded_at,
            shredded_at: memory.shredded_at,
        }
    }

    /// All of it as one: equal where the states are.
    pub fn as_one(&self) -> WordsMark {
        // No time and no place of a record is negative like this, so that "none" is a value of its own.
        let time = |time: Option<Timestamp>| time.map_or(i64::MIN, Timestamp::microseconds);
        let numbers = [
            self.protected_seq.map_or(-1, |seq| seq as i64),
            self.created_at.microseconds(),
            self.updated_at.microseconds(),
            time(self.discarded_at),
            time(self.shredded_at),
        ];
        let numbers: Vec<u8> = numbers.into_iter().flat_map(i64::to_le_bytes).collect();
        let names = [
            self.kind.as_str(),
            self.door.origin.as_str(),
            self.door.added_by.as_str(),
        ];
        let words = [self.content, self.tags, self.source, self.wordings];
        let names = names.iter().map(|name| name.as_bytes());
        let words = words.iter().map(|mark| &mark.0[..]);
        WordsMark::of(names.chain(words).chain([numbers.as_slice()]))
    }

    /// Of its text.
    pub fn content(&self) -> WordsMark {
        self.content
    }

    /// Whether its words were taken out for good.
    pub fn is_shredded(&self) -> bool {
        self.shredded_at.is_some()
    }

    /// The fields in which two states differ, by name.
    pub fn differing(&self, other: &Self) -> Vec<&'static str> {
        let fields = [
            ("kind", self.kind != other.kind),
            ("content", self.content != other.content),
            ("tags", self.tags != other.tags),
            ("source", self.source != other.source),
            ("door", self.door != other.door),
            ("wordings", self.wordings != other.wordings),
            ("protected_seq", self.protected_seq != other.protected_seq),
            ("created_at", self.created_at != other.created_at),
            ("updated_at", self.updated_at != other.updated_at),
            ("discarded_at", self.discarded_at != other.discarded_at),
            ("shredded_at", self.shredded_at != other.shredded_at),
        ];
        let different = fields.into_iter().filter(|(_, differs)| *differs);
        different.map(|(name, _)| name).collect()
    }
}
