//! A memory without its text, for comparing two states of it: so a whole history can be followed without its texts.

use sha2::{Digest as _, Sha256};

use crate::{memory::Memory, time::Timestamp};

/// A digest of a text, half of a SHA-256: equal where the texts are. It leaves the process only sealed (SPEC 5.3): with
/// it, a guess at the text can be tested.
#[derive(Clone, Copy, PartialEq, Eq, derive_more::Debug)]
#[debug("TextMark")]
pub struct TextMark([u8; 16]);

impl TextMark {
    /// The digest of one text.
    pub fn of_text(text: &str) -> Self {
        Self::of([text.as_bytes()])
    }

    /// The digest of parts in their order.
    fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            // The length before each part, so that no text can move the border between two of them.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let mut mark = [0; 16];
        // Half a digest: a collision takes about 2^64 attempts, and one digest is kept for every original.
        mark.copy_from_slice(&hash.finalize()[..16]);
        Self(mark)
    }

    /// From the output of [`TextMark::as_bytes`].
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// As bytes, to be sealed.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// A memory with digests in place of its text: equal for equal states.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Deref)]
pub struct MemoryMark {
    #[deref]
    rest: Memory,
    content: TextMark,
    tags: TextMark,
    source: TextMark,
}

impl MemoryMark {
    /// That of this state.
    pub fn new(memory: &Memory) -> Self {
        let source = memory.source.iter();
        Self {
            rest: memory.without_text(),
            content: TextMark::of_text(memory.content.expose()),
            tags: TextMark::of(memory.tags.iter().map(str::as_bytes)),
            source: TextMark::of(source.map(|source| source.expose().as_bytes())),
        }
    }

    /// All of it as one digest: equal for equal states.
    pub fn as_one(&self) -> TextMark {
        // No time and no place of a record is negative like this, so that "none" is a distinct value.
        let time = |time: Option<Timestamp>| time.map_or(i64::MIN, Timestamp::microseconds);
        let seq = |seq: Option<u64>| seq.map_or(-1, |seq| seq as i64);
        let archived = self.place.archived();
        let numbers = [
            archived
                .and_then(|archived| archived.under)
                .map_or(-1, |number| number.0 as i64),
            time(archived.map(|archived| archived.at)),
            i64::from(self.is_summary),
            seq(self.protected_seq),
            seq(self.core_seq),
            self.recorded_at.microseconds(),
            self.created_at.microseconds(),
            self.updated_at.microseconds(),
            time(self.discarded_at),
            time(self.shredded_at),
        ];
        let numbers: Vec<u8> = numbers.into_iter().flat_map(i64::to_le_bytes).collect();
        let names = [
            self.place.kind().as_str(),
            archived.map_or("", |archived| archived.by.as_str()),
            self.saved_by.origin.as_str(),
            self.saved_by.added_by.as_str(),
        ];
        let texts = [self.content, self.tags, self.source];
        let names = names.iter().map(|name| name.as_bytes());
        let texts = texts.iter().map(|mark| &mark.0[..]);
        TextMark::of(names.chain(texts).chain([numbers.as_slice()]))
    }

    /// The mark of its text.
    pub fn content(&self) -> TextMark {
        self.content
    }

    /// The fields in which two states differ, by name.
    pub fn differing(&self, other: &Self) -> Vec<&'static str> {
        differing!(self, other; place, content, tags, source, saved_by, is_summary, protected_seq, core_seq,
            recorded_at, created_at, updated_at, discarded_at, shredded_at)
    }
}
