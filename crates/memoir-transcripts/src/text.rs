//! Plain text.
//!
//! A line begins a message where it begins with a speaker and a colon, with a time in brackets before the
//! name or behind it if there is one, or with a time in brackets alone:
//!
//! ```text
//! Ann: I moved to Lisbon.
//! [2026-03-01 10:00] Ben: Since when?
//! Ann [2026-03-01T10:02:00Z]: Since February.
//!
//! It rains a lot.
//! ```
//!
//! The other lines belong to the message above them, blank lines between them included. Before the first
//! such line, or in a text without any, each paragraph is a message, of a speaker who is not named. A name
//! has up to three words and 40 characters, and neither its first word nor its last begins with a small
//! letter, unless it is a role such as `user`; bold type (`**Ann:**`) is skipped. A heading such as
//! `Ingredients:` in the middle of a message looks the same, and begins a message; nothing is lost by it.
//!
//! Every line that is not blank belongs to exactly one message, or is reported: one that is too long. A long message
//! ends at the next blank line, and the lines after it are another one of the same speaker.

use std::io::Read;

use memoir_domain::{Timestamp, mend};
use unicode_normalization::char::is_combining_mark;

use crate::{
    Error, FilePosition, NoMessageReason,
    gather::{FoundMessage, Gathered},
    source::{FileSource, PieceRead},
};

/// A message of so many bytes ends at the next blank line: as many as a chunk of 100k tokens has characters (SPEC 2.6).
const LONG_BYTES: usize = 400_000;
// Most names are shorter, such as `Jan de Vries`. A longer beginning is a sentence with a colon. The line of an
// unrecognised name stays in the message, so that nothing is lost.
const NAME_CHARACTERS: usize = 40;
const NAME_WORDS: usize = 3;
/// Names that are written with a small letter.
const ROLES: [&str; 6] = ["user", "assistant", "human", "system", "me", "you"];

/// Plain text while it is read.
#[derive(Debug, Default)]
pub(crate) struct PlainText {
    message: Option<(FilePosition, FoundMessage)>,
    /// The header of the last line that began a message: that message without its text.
    header: Option<FoundMessage>,
}

impl PlainText {
    /// Reads one line. Returns whether there may be more.
    pub(crate) fn read<R: Read>(
        &mut self,
        source: &mut FileSource<R>,
        gathered: &mut Gathered,
    ) -> Result<bool, Error> {
        let place = source.place();
        let limit = gathered.limits.message_bytes;
        let taken = source.take_line(limit);
        if taken == Ok(PieceRead::Whole) {
            let line = mend::text(&source.piece);
            self.line(line.trim_end(), place, limit, gathered);
            return Ok(true);
        }
        // The readable part of the message is returned first, so that the items are in the file's order.
        self.finish(gathered);
        let is_too_large = taken? == PieceRead::TooLarge;
        if is_too_large {
            gathered.skip(place, NoMessageReason::TooLarge);
        }
        Ok(is_too_large)
    }

    fn line(&mut self, line: &str, place: FilePosition, limit: usize, gathered: &mut Gathered) {
        if line.is_empty() {
            let length = self.message.as_ref().map_or(0, |(_, said)| said.text.len());
            if self.header.is_none() || length >= LONG_BYTES.min(limit) {
                self.finish(gathered);
            } else if let Some((_, said)) = &mut self.message {
                said.text.push('\n');
            }
            return;
        }
        if let Some((header, rest)) = header(line) {
            self.finish(gathered);
            self.begin(header.clone(), rest, place);
            self.header = Some(header);
            return;
        }
        if let Some((_, said)) = &mut self.message
            // Less than, since the line break takes a byte.
            && said.text.len() + line.len() < limit
        {
            said.text.push('\n');
            said.text.push_str(line);
            return;
        }
        self.finish(gathered);
        // The last speaker continues, where a message was ended for its length.
        let header = self.header.clone().unwrap_or_default();
        self.begin(header, line, place);
    }

    fn begin(&mut self, header: FoundMessage, text: &str, place: FilePosition) {
        let text = text.to_owned();
        self.message = Some((place, FoundMessage { text, ..header }));
    }

    fn finish(&mut self, gathered: &mut Gathered) {
        if let Some((place, said)) = self.message.take() {
            gathered.take(Ok(said), place);
        }
    }
}

/// The header of a message if `line` begins one, and the rest of the line.
fn header(line: &str) -> Option<(FoundMessage, &str)> {
    // Chats that were written from left and from right have marks of their direction before a time and a name.
    let line = line.trim_start_matches(['\u{200E}', '\u{200F}', '\u{FEFF}']);
    let (before, rest) = bracketed(line).unwrap_or((None, line));
    let Some((name, rest)) = name(rest) else {
        let header = FoundMessage {
            at: before,
            ..FoundMessage::default()
        };
        // A time alone begins a message, of an unnamed speaker.
        return before.map(|_| (header, rest));
    };
    let (speaker, behind) = match name.find('[') {
        Some(at) => (
            name[..at].trim_end(),
            bracketed(&name[at..]).and_then(|(at, _)| at),
        ),
        None => (name, None),
    };
    let header = FoundMessage {
        speaker: speaker.to_owned(),
        at: before.or(behind),
        ..FoundMessage::default()
    };
    Some((header, rest))
}

/// A time in brackets at the beginning of `text`, and the text after it; `None` for the time where it is written in a
/// form in which the day and the month can be exchanged, or has no day.
fn bracketed(text: &str) -> Option<(Option<Timestamp>, &str)> {
    let (time, rest) = text.trim_start().strip_prefix('[')?.split_once(']')?;
    let at = time.parse().ok().or_else(|| day_first(time));
    (at.is_some() || is_time(time)).then(|| (at, rest.trim_start()))
}

/// A time that begins with the day, as it is written with dots: `01.03.2026 10:00`.
fn day_first(text: &str) -> Option<Timestamp> {
    let (date, time) = text.split_once([' ', ',']).unwrap_or((text, ""));
    let (day, rest) = date.split_once('.')?;
    let (month, year) = rest.split_once('.')?;
    let time = match time.trim() {
        "" => String::new(),
        time => format!("T{time}"),
    };
    format!("{year}-{month:0>2}-{day:0>2}{time}").parse().ok()
}

/// Whether a text is a time in a form of any country: digits with the marks between them.
fn is_time(text: &str) -> bool {
    let text = text.trim_end_matches(|last: char| last.is_whitespace() || "AaPpMm.".contains(last));
    let marks = text.matches(['/', '.', '-']).count();
    text.starts_with(|first: char| first.is_ascii_digit())
        && text
            .chars()
            .all(|one| one.is_ascii_digit() || one.is_whitespace() || "/.-:,".contains(one))
        && (marks >= 2 || text.contains(':'))
}

/// A name and the text after its colon. The name may end with a time in brackets.
fn name(text: &str) -> Option<(&str, &str)> {
    let bold = text.strip_prefix("**");
    let text = bold.unwrap_or(text);
    // The colons of a time in brackets are skipped.
    let bracket = text
        .find(['[', ':', '：'])
        .filter(|at| text[*at..].starts_with('['));
    let from = bracket.map_or(Some(0), |at| text[at..].find(']').map(|end| at + end))?;
    let colon = from + text[from..].find([':', '：'])?;
    let (name, rest) = text.split_at(colon);
    // In scripts without capital letters, such as those of Chinese and Hebrew, many leave out the white space behind it.
    let has_case = |last: char| last.is_lowercase() || last.is_uppercase() || !last.is_alphabetic();
    let is_wide = rest.starts_with('：') || !name.ends_with(has_case);
    let rest = rest.trim_start_matches([':', '：']);
    let (name, rest) = match bold {
        Some(_) => (
            name.strip_suffix("**").unwrap_or(name),
            rest.strip_prefix("**").unwrap_or(rest),
        ),
        None => (name, rest),
    };
    // `https://…` has a colon too.
    let ends = rest.is_empty() || is_wide || rest.starts_with(char::is_whitespace);
    // Brackets without a time are no part of a name: `Ann [later]: …` is a line like others.
    let is_time_good =
        bracket.is_none_or(|at| name.get(at..).is_some_and(|time| bracketed(time).is_some()));
    let bare = bracket.map_or(name, |at| name.get(..at).unwrap_or(name));
    (ends && is_time_good && is_name(bare)).then(|| (name.trim(), rest.trim_start()))
}

fn is_name(name: &str) -> bool {
    let name = name.trim_end();
    let is_short =
        name.chars().count() <= NAME_CHARACTERS && name.split_whitespace().count() <= NAME_WORDS;
    // Not "is a capital letter": most scripts have none.
    let begins = name.starts_with(|first: char| first.is_alphabetic() && !first.is_lowercase());
    // Only the first and the last word: names have small words between them, as in `Jan de Vries`.
    let last = name.rsplit(' ').next().unwrap_or_default();
    let is_sentence = last.starts_with(char::is_lowercase);
    let plain = |character: char| {
        // Accents that are characters of their own are no letters by themselves.
        character.is_alphanumeric()
            || is_combining_mark(character)
            || " .'’-_()&@".contains(character)
    };
    is_short && (begins && !is_sentence || ROLES.contains(&name)) && name.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_begin_a_message_are_recognised() {
        // The speaker, the time and the text; none where a line begins no message.
        for (line, expected) in [
            ("Ann: hello: you", "Ann|-|hello: you"),
            ("Ann Lee-Smith (work):", "Ann Lee-Smith (work)|-|"),
            ("user: hi", "user|-|hi"),
            ("**Ann:** hi", "Ann|-|hi"),
            ("**Ann**: hi", "Ann|-|hi"),
            ("小明：你好", "小明|-|你好"),
            ("[2026-03-01 10:00] Ben: hi", "Ben|2026-03-01T10:00:00Z|hi"),
            (
                "Ben [2026-03-01T10:00:00+01:00]: hi",
                "Ben|2026-03-01T09:00:00Z|hi",
            ),
            ("[2026-03-01] it rained", "|2026-03-01T00:00:00Z|it rained"),
            ("[01.03.2026 10:00] Ed: hi", "Ed|2026-03-01T10:00:00Z|hi"),
            ("[1.3.2026, 10:00:05] Ed: hi", "Ed|2026-03-01T10:00:05Z|hi"),
            ("[3/1/26, 10:00:12 PM] Ed: hi", "Ed|-|hi"),
            ("\u{200E}[3/1/26, 10:00] Ed: hi", "Ed|-|hi"),
            ("[10:30] Ed: hi", "Ed|-|hi"),
            ("[10:30] it rained", ""),
            ("老王:你好", "老王|-|你好"),
            ("דנה:שלום", "דנה|-|שלום"),
            ("Jose\u{301}: hola", "Jose\u{301}|-|hola"),
            ("अंकित्: नमस्ते", "अंकित्|-|नमस्ते"),
            ("[1] Ann: hi", ""),
            ("then: nothing", ""),
            ("I read: nothing", ""),
            ("Jan de Vries: hi", "Jan de Vries|-|hi"),
            ("https://example.org", ""),
            ("Https://example.org", ""),
            ("10:30 we met", ""),
            ("Ann [later]: hi", ""),
            ("[note] Ann: hi", ""),
            ("Ann [2026-03-01: hi", ""),
            ("This is a long sentence: it goes on", ""),
            ("", ""),
            (":", ""),
            ("**", ""),
        ] {
            let found = header(line).map(|(header, rest)| {
                let at = header.at.map_or("-".to_owned(), |at| at.to_string());
                format!("{}|{at}|{rest}", header.speaker)
            });
            assert_eq!(found.unwrap_or_default(), expected, "{line}");
        }
    }
}
