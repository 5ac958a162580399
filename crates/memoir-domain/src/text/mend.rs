//! Repairs text from a client that is partly invalid: the one way in which every interface reads it, before the limits
//! of SPEC 2.1. A memory with one wrong character is worth more than no memory.

use std::borrow::Cow;

/// The character in the place of invalid ones.
pub const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// The text of `bytes`, with U+FFFD in the place of bytes that are not UTF-8.
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// JSON without byte order marks before it, with U+FFFD in the place of bytes that are not UTF-8 and of each escaped half
/// of a surrogate pair without the other: programs that cut a text within an emoji leave one. Invalid JSON stays invalid.
pub fn json(mut bytes: &[u8]) -> Cow<'_, str> {
    while let Some(rest) = bytes.strip_prefix("\u{feff}".as_bytes()) {
        bytes = rest;
    }
    let text = text(bytes);
    // Half pairs are rare, and repairing them copies the text.
    match has_lone_half(&text) {
        true => Cow::Owned(without_lone_halves(&text)),
        false => text,
    }
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

fn has_lone_half(json: &str) -> bool {
    pieces(json).any(|piece| piece == Piece::LoneHalf)
}

fn without_lone_halves(json: &str) -> String {
    let mut mended = String::with_capacity(json.len());
    for piece in pieces(json) {
        match piece {
            Piece::Other(text) => mended.push_str(text),
            Piece::LoneHalf => mended.push(REPLACEMENT),
        }
    }
    mended
}

/// A piece of JSON as it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece<'a> {
    Other(&'a str),
    /// The escape of one half of a pair, without the other half.
    LoneHalf,
}

fn pieces(json: &str) -> impl Iterator<Item = Piece<'_>> {
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
                return Some(Piece::LoneHalf);
            }
            _ => match rest.strip_prefix('\\') {
                // The backslash and the escaped character, so that an escaped backslash begins no escape.
                Some(escaped) => 1 + escaped.chars().next().map_or(0, char::len_utf8),
                None => rest.find('\\').unwrap_or(rest.len()),
            },
        };
        let (piece, after) = rest.split_at(taken);
        rest = after;
        (!piece.is_empty()).then_some(Piece::Other(piece))
    })
}

/// The UTF-16 unit that `text` begins with as an escape.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    // `from_str_radix` takes a sign, which no escape has.
    let is_written = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| is_written)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spec_2_1_what_is_no_character_is_mended_and_all_else_stays() {
        for (sent, read) in [
            (r#""cut \ud83d""#, Some("cut \u{fffd}")),
            (r#""\ude00 cut""#, Some("\u{fffd} cut")),
            (
                r#""\ud83d\ud83d\ude00\ude00""#,
                Some("\u{fffd}\u{1f600}\u{fffd}"),
            ),
            (r#""\uD83D\uDE00""#, Some("\u{1f600}")),
            (r#""a \\ud83d path""#, Some("a \\ud83d path")),
            (r#""\ud83d\n\\""#, Some("\u{fffd}\n\\")),
            (r#""\ud83""#, None),
            (r#""\u+83d""#, None),
            ("\"\\", None),
            ("\u{feff}\u{feff}\"marked\"", Some("marked")),
        ] {
            let read_by_json: Option<String> = serde_json::from_str(&json(sent.as_bytes())).ok();
            assert_eq!(read_by_json.as_deref(), read, "{sent}");
        }
        let latin = b"\"Gr\xfc\xdfe\"";
        assert_eq!(json(latin), "\"Gr\u{fffd}\u{fffd}e\"");
        assert_eq!(text(b"a\xffb"), "a\u{fffd}b");
    }

    proptest! {
        #[test]
        fn spec_2_1_what_can_be_read_is_not_changed(text in any::<String>()) {
            let written = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(json(written.as_bytes()), written.as_str());
        }

        #[test]
        fn spec_2_1_mending_takes_any_bytes(bytes in any::<Vec<u8>>()) {
            let _ = json(&bytes);
        }
    }
}
