//! Repairs text from a client that is partly invalid: the one way in which every interface reads it, before the limits
//! of SPEC 2.1. A memory with one wrong character is worth more than no memory.

use std::borrow::Cow;

/// The character in the place of invalid ones.
pub const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// The text of `bytes`, with U+FFFD in the place of bytes that are not UTF-8.
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// The encoding in which [`file()`] read a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, derive_more::Display)]
pub enum Encoding {
    /// UTF-8.
    #[display("UTF-8")]
    Utf8,
    /// UTF-8 with invalid parts, in whose place is U+FFFD.
    #[display("UTF-8 with replaced invalid parts")]
    DamagedUtf8,
    /// UTF-16, after a byte order mark.
    #[display("UTF-16")]
    Utf16,
    /// Windows-1252, of which Latin-1 is a part.
    #[display("Windows-1252")]
    Windows1252,
}

/// The characters of the bytes 0x80 to 0x9F in Windows-1252; each other byte is the character of its number.
// By the WHATWG Encoding Standard, where the five unassigned bytes are control characters.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8D}', 'Ž', '\u{8F}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9D}', 'ž', 'Ÿ',
];

/// The text of a file that a person brings, without its byte order mark: in the encoding of the mark, else UTF-8, else
/// Windows-1252. UTF-8 with at most as many invalid places as letters beyond ASCII stays UTF-8. `None` where it is no text,
/// since a byte, or a character of UTF-16, is zero.
pub fn file(bytes: &[u8]) -> Option<(Cow<'_, str>, Encoding)> {
    let of_units = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let pairs = bytes.chunks(2).map(|pair| match pair {
            [first, second] => unit([*first, *second]),
            // Half a unit, which is no character.
            _ => 0xD800,
        });
        let characters = char::decode_utf16(pairs);
        let text = characters.map(|character| character.unwrap_or(REPLACEMENT));
        let text: String = text.collect();
        (!text.contains('\0')).then_some((Cow::Owned(text), Encoding::Utf16))
    };
    if let Some(rest) = bytes.strip_prefix(&[0xFF, 0xFE]) {
        return of_units(rest, u16::from_le_bytes);
    }
    if let Some(rest) = bytes.strip_prefix(&[0xFE, 0xFF]) {
        return of_units(rest, u16::from_be_bytes);
    }
    let mark = bytes.strip_prefix("\u{feff}".as_bytes());
    let bytes = mark.unwrap_or(bytes);
    if bytes.contains(&0) {
        return None;
    }
    if let Ok(text) = str::from_utf8(bytes) {
        return Some((Cow::Borrowed(text), Encoding::Utf8));
    }
    // Two letters of Windows-1252 seldom look like one character of UTF-8.
    let chunks = || bytes.utf8_chunks();
    let letters = chunks().flat_map(|chunk| chunk.valid().chars());
    let valid = letters.filter(|letter| !letter.is_ascii()).count();
    let invalid = chunks().filter(|chunk| !chunk.invalid().is_empty());
    if mark.is_some() || valid > 0 && valid >= invalid.count() {
        return Some((text(bytes), Encoding::DamagedUtf8));
    }
    let character = |byte: &u8| match byte {
        0x80..=0x9F => WINDOWS_1252[usize::from(byte - 0x80)],
        byte => char::from(*byte),
    };
    let text = bytes.iter().map(character).collect();
    Some((Cow::Owned(text), Encoding::Windows1252))
}

/// JSON without byte order marks before it, with U+FFFD in the place of bytes that are not UTF-8 and of each escaped half
/// of a surrogate pair without the other: programs that cut a text within an emoji leave one. Invalid JSON stays invalid.
pub fn json(mut bytes: &[u8]) -> Cow<'_, str> {
    while let Some(rest) = bytes.strip_prefix("\u{feff}".as_bytes()) {
        bytes = rest;
    }
    let text = text(bytes);
    // Half pairs are rare, and repairing them copies the text.
    let has_lone_half = pieces(&text).any(|piece| piece.is_none());
    if !has_lone_half {
        return text;
    }
    let mended = pieces(&text).map(|piece| piece.unwrap_or("\u{fffd}"));
    Cow::Owned(mended.collect())
}

/// JSON without what models write into it and its grammar does not have: comments, commas behind the last item, and line
/// breaks and other control characters within a text.
pub(crate) fn lenient(json: &str) -> String {
    let mut mended = String::with_capacity(json.len());
    let mut rest = json;
    let mut is_text = false;
    while let Some(character) = rest.chars().next() {
        let mut taken = character.len_utf8();
        match (is_text, character) {
            (true, '\\') => {
                let escaped = rest[taken..].chars().next();
                taken += escaped.map_or(0, char::len_utf8);
                mended.push_str(&rest[..taken]);
            }
            (_, '"') => {
                is_text = !is_text;
                mended.push('"');
            }
            (true, _) if character.is_control() => {
                mended.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            (false, '/') if rest.starts_with("//") => {
                taken = rest.find('\n').unwrap_or(rest.len());
            }
            (false, '/') if rest.starts_with("/*") => {
                taken = rest.find("*/").map_or(rest.len(), |end| end + 2);
            }
            (false, '}' | ']') => {
                let kept = mended.trim_end().strip_suffix(',').map(str::len);
                mended.truncate(kept.unwrap_or(mended.len()));
                mended.push(character);
            }
            _ => mended.push(character),
        }
        rest = &rest[taken..];
    }
    mended
}

/// The pieces of JSON as it is written; `None` for the escape of one half of a pair, without the other half.
fn pieces(json: &str) -> impl Iterator<Item = Option<&str>> {
    /// The length of one escape; a pair has two.
    const ESCAPE: usize = "\\uD83D".len();
    let mut rest = json;
    std::iter::from_fn(move || {
        let taken = match unit(rest) {
            Some(0xD800..=0xDBFF)
                if matches!(rest.get(ESCAPE..).and_then(unit), Some(0xDC00..=0xDFFF)) =>
            {
                2 * ESCAPE
            }
            Some(0xD800..=0xDFFF) => {
                rest = &rest[ESCAPE..];
                return Some(None);
            }
            _ => match rest.strip_prefix('\\') {
                // The backslash and the escaped character, so that an escaped backslash begins no escape.
                Some(escaped) => 1 + escaped.chars().next().map_or(0, char::len_utf8),
                None => rest.find('\\').unwrap_or(rest.len()),
            },
        };
        let (piece, after) = rest.split_at(taken);
        rest = after;
        (!piece.is_empty()).then_some(Some(piece))
    })
}

/// The UTF-16 unit that `text` begins with as an escape.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    // `from_str_radix` takes a sign, which no escape has.
    let is_written = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| is_written)
}
