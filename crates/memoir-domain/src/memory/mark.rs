//! A memory without its text, for comparing two states of it: compact, so that a whole history can be followed without
//! its texts.

use sha2::{Digest as _, Sha256};

use crate::{
    memory::{Memory, Place, origin::SavedBy},
    time::Timestamp,
};

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

view! {
    /// A digest of one state of a memory: equal for equal states, but for the number.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct MemoryMark from memory: &Memory;
    place: Place = memory.place,
    content: TextMark = TextMark::of_text(memory.content.expose()),
    tags: TextMark = TextMark::of(memory.tags.iter().map(str::as_bytes)),
    source: TextMark = TextMark::of(memory.source.iter().map(|source| source.expose().as_bytes())),
    saved_by: SavedBy = memory.saved_by,
    is_summary: bool = memory.is_summary,
    protected_seq: Option<u64> = memory.protected_seq,
    core_seq: Option<u64> = memory.core_seq,
    recorded_at: Timestamp = memory.recorded_at,
    created_at: Timestamp = memory.created_at,
    updated_at: Timestamp = memory.updated_at,
    discarded_at: Option<Timestamp> = memory.discarded_at,
    shredded_at: Option<Timestamp> = memory.shredded_at,
}

impl MemoryMark {
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

    /// Whether its text was shredded.
    pub fn is_shredded(&self) -> bool {
        self.shredded_at.is_some()
    }

    /// Whether it is an active original in the prompt (SPEC 3.12).
    pub fn is_original_in_prompt(&self) -> bool {
        self.place == Place::Core && !self.is_summary && self.discarded_at.is_none()
    }

    /// Whether it is an active original in the archive (SPEC 3.12).
    pub fn is_original_in_archive(&self) -> bool {
        self.place.archived().is_some() && self.discarded_at.is_none()
    }

    /// Whether it is a discarded original whose text can be restored.
    pub fn is_discarded_original(&self) -> bool {
        let is_original = !self.is_summary && self.place != Place::Journal;
        is_original && self.discarded_at.is_some() && self.shredded_at.is_none()
    }

    /// The fields in which two states differ, by name.
    pub fn differing(&self, other: &Self) -> Vec<&'static str> {
        differing!(self, other; place, content, tags, source, saved_by, is_summary, protected_seq, core_seq,
            recorded_at, created_at, updated_at, discarded_at, shredded_at)
    }
}
