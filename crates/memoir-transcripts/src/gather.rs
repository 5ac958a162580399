//! Common to all formats: a message is checked once, returned once, and has an identifier.

use std::collections::HashSet;

use memoir_domain::{PrivateText, Timestamp};
use sha2::{Digest, Sha256};

use crate::{
    FilePosition, Item, NoMessageReason, TranscriptLimits, TranscriptMessage,
    raw::{BrokenJson, Raw},
};

/// Longest identifier of a file that is used unchanged, in bytes.
const ID_BYTES: usize = 200;
/// Longest name of a speaker, in bytes: a longer text is no name.
const SPEAKER_BYTES: usize = 400;
/// What a held message takes beside its text, about: its identifier, speaker, time and place.
const HELD_BYTES: usize = 256;

/// A message as a format's reader found it.
#[derive(Debug, Clone, Default)]
pub(crate) struct FoundMessage {
    /// The file's own identifier.
    pub(crate) id: Option<String>,
    pub(crate) at: Option<Timestamp>,
    pub(crate) speaker: String,
    pub(crate) text: String,
    pub(crate) left_out: u32,
}

/// The items that were found and not passed on yet.
#[derive(derive_more::Debug)]
pub(crate) struct Gathered {
    pub(crate) limits: TranscriptLimits,
    pub(crate) items: Vec<Item>,
    /// Messages of a file whose newest ones come first, until [`Gathered::release`], and the bytes that they take.
    #[debug(skip)]
    held: Vec<(FoundMessage, FilePosition)>,
    held_bytes: usize,
    /// Digests of the returned identifiers: 16 bytes a message, whatever the file's identifiers are.
    seen: HashSet<u128>,
    /// Messages without an identifier so far.
    nameless: u64,
}

impl Gathered {
    pub(crate) fn new(limits: TranscriptLimits) -> Self {
        Self {
            limits,
            items: Vec::new(),
            held: Vec::new(),
            held_bytes: 0,
            seen: HashSet::new(),
            nameless: 0,
        }
    }

    pub(crate) fn skip(&mut self, place: FilePosition, reason: NoMessageReason) {
        self.items.push(Item::Skipped { place, reason });
    }

    /// Holds the messages of an entry, or reports why it has none.
    pub(crate) fn hold(
        &mut self,
        said: Result<Vec<FoundMessage>, NoMessageReason>,
        place: FilePosition,
    ) {
        match said {
            Err(reason) => self.skip(place, reason),
            Ok(said) => {
                let bytes = said.iter().map(|said| HELD_BYTES + said.text.len());
                self.held_bytes += bytes.sum::<usize>();
                let said = said.into_iter().rev();
                self.held.extend(said.map(|said| (said, place.clone())));
            }
        }
        // Of more than that, the later half comes before the earlier one.
        if self.held_bytes > self.limits.conversation_bytes {
            self.release();
        }
    }

    /// Returns the held messages, the oldest first.
    pub(crate) fn release(&mut self) {
        self.held_bytes = 0;
        for (said, place) in std::mem::take(&mut self.held).into_iter().rev() {
            self.take(Ok(said), place);
        }
    }

    /// Returns `said` as a message, or reports it.
    pub(crate) fn take(
        &mut self,
        said: Result<FoundMessage, NoMessageReason>,
        place: FilePosition,
    ) {
        match said.and_then(|said| self.message(said, &place)) {
            Ok(message) => self.items.push(Item::Message(message)),
            Err(reason) => self.skip(place, reason),
        }
    }

    fn message(
        &mut self,
        said: FoundMessage,
        place: &FilePosition,
    ) -> Result<TranscriptMessage, NoMessageReason> {
        // Before it is cleaned, which copies it.
        if said.text.len() > self.limits.message_bytes {
            return Err(NoMessageReason::TooLarge);
        }
        if said.speaker.len() > SPEAKER_BYTES {
            return Err(NoMessageReason::InvalidField("speaker"));
        }
        let text = clean(&said.text);
        // Before it counts as returned: Gemini's messages are written again under their identifier, and may have no
        // text the first time.
        if text.is_empty() {
            return Err(if said.left_out > 0 {
                NoMessageReason::NotText
            } else {
                NoMessageReason::Empty
            });
        }
        let id = PrivateText::from(self.identifier(&said));
        let mut place = place.clone();
        place.id.get_or_insert_with(|| id.clone());
        // With its text: identifiers may begin anew within a file, as where several exports were joined.
        if !self.seen.insert(digest(&[id.expose(), &text])) {
            return Err(NoMessageReason::DuplicateId);
        }
        Ok(TranscriptMessage {
            id,
            at: said.at,
            speaker: clean(&said.speaker).into(),
            text: text.into(),
            left_out: said.left_out,
            place,
        })
    }

    fn identifier(&mut self, said: &FoundMessage) -> String {
        match said.id.as_deref().unwrap_or_default() {
            "" => {
                // Included, so that a repeated text is two messages; in the file's order, so that a second reading
                // gives the same identifiers.
                self.nameless += 1;
                let position = self.nameless.to_string();
                let at = said.at.map_or(String::new(), |at| at.to_string());
                hex(&[&position, &said.speaker, &at, &said.text])
            }
            id if id.len() <= ID_BYTES && !id.contains(char::is_control) => id.to_owned(),
            unsuitable => hex(&[unsuitable]),
        }
    }
}

/// The identifier of a message in a file that has none: by the time as written, which does not depend on its parsing, and
/// by the text, since two messages may have one time. `None` without a time.
pub(crate) fn identifier_of(written_at: &str, speaker: &str, text: &str) -> Option<String> {
    // Sixteen digits of the digest suffice: it distinguishes only one speaker's messages of one time.
    (!written_at.is_empty()).then(|| format!("{written_at} {speaker} {}", &hex(&[text])[..16]))
}

/// Line breaks as `\n`, other control characters but the tab as U+FFFD, nothing blank at the ends.
pub fn clean(text: &str) -> String {
    let replace = |character: char| match character {
        '\n' | '\t' => character,
        '\r' => '\n',
        control if control.is_control() => '\u{FFFD}',
        other => other,
    };
    // First, so that the two characters of one line break do not become two.
    let text = text.trim().replace("\r\n", "\n");
    if text.contains(char::is_control) {
        text.chars().map(replace).collect()
    } else {
        text
    }
}

/// Each part is digested with its length, so that different lists of parts have different digests.
fn digest(parts: &[&str]) -> u128 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let mut short = [0; 16];
    short.copy_from_slice(&hash.finalize()[..16]);
    u128::from_be_bytes(short)
}

/// The digest in hexadecimal, of 32 digits.
pub(crate) fn hex(parts: &[&str]) -> String {
    format!("{:032x}", digest(parts))
}

/// A field that must be there.
pub(crate) fn needed<'a>(
    value: Option<Raw<'a>>,
    name: &'static str,
) -> Result<Raw<'a>, NoMessageReason> {
    // Programs write `null` for a missing value.
    let value = value.filter(|value| !value.is_null());
    value.ok_or(NoMessageReason::MissingField(name))
}

pub(crate) fn string(
    value: Option<Raw<'_>>,
    name: &'static str,
) -> Result<String, NoMessageReason> {
    match needed(value, name)?.string() {
        Ok(Some(text)) => Ok(text),
        Ok(None) => Err(NoMessageReason::InvalidField(name)),
        Err(broken) => Err(broken.into()),
    }
}

/// A string that may be missing, or be something else: empty then.
pub(crate) fn optional(value: Option<Raw<'_>>) -> String {
    value
        .and_then(|value| value.string().ok().flatten())
        .unwrap_or_default()
}

/// A time as text; `None` where there is none that can be read.
pub(crate) fn time(value: Option<Raw<'_>>) -> Option<Timestamp> {
    // A message without a readable time is still a message.
    optional(value).parse().ok()
}

/// The time that is so many microseconds after the beginning of 1970; `None` outside of the range of times.
pub fn since_1970(microseconds: f64) -> Option<Timestamp> {
    if !microseconds.is_finite() {
        return None;
    }
    // A double holds few decimal fractions exactly, and without rounding many times would be a microsecond early.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a number outside of the range becomes its end, which is no time"
    )]
    let microseconds = microseconds.round() as i64;
    Timestamp::from_microseconds(microseconds)
}

impl From<BrokenJson> for NoMessageReason {
    fn from(_: BrokenJson) -> Self {
        Self::Malformed
    }
}

/// Where a conversation breaks off, and why.
pub(crate) type ConversationBreak = (usize, NoMessageReason);

impl From<BrokenJson> for ConversationBreak {
    fn from(broken: BrokenJson) -> Self {
        (broken.0, broken.into())
    }
}

/// The parts of a list, and why it breaks off: what is before the break is read, and the break is reported after it.
pub(crate) fn up_to_break<T>(
    parts: impl Iterator<Item = Result<T, BrokenJson>>,
) -> (Vec<T>, Result<(), ConversationBreak>) {
    let mut end = Ok(());
    let parts = parts.map_while(|part| part.map_err(|broken| end = Err(broken.into())).ok());
    (parts.collect(), end)
}

/// One conversation of an export while it is read.
#[derive(Debug)]
pub(crate) struct ExportedConversation<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) place: FilePosition,
    counted: usize,
    line: u64,
}

impl<'a> ExportedConversation<'a> {
    pub(crate) fn new(bytes: &'a [u8], place: FilePosition) -> Self {
        let line = place.line;
        Self {
            bytes,
            place,
            counted: 0,
            line,
        }
    }

    /// The position of its byte `at`. Ascending positions are cheapest, since lines are counted once.
    pub(crate) fn place_of(&mut self, at: usize, id: Option<String>) -> FilePosition {
        // An earlier position is counted again from the beginning, and is right as well.
        if at < self.counted {
            self.counted = 0;
            self.line = self.place.line;
        }
        let between = self.bytes.get(self.counted..at).unwrap_or_default();
        self.line += between.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.counted = at;
        FilePosition {
            byte: self.place.byte + at as u64,
            line: self.line,
            conversation: self.place.conversation,
            id: id.map(PrivateText::from),
        }
    }
}
