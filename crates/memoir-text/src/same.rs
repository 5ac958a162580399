//! Whether two texts are the same text (SPEC 1).
//!
//! Owns the form in which equal texts are equal. It needs no words and no language.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// The form of `text` that is equal for the same text and for nothing else: NFC, white space folded, one shape
/// for each kind of quotation mark, apostrophe and dash, and without one final `.` or `!` (SPEC 1).
pub fn same_text_key(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        let text = without_end(text.trim());
        return match has_plain_spaces(text) {
            true => Cow::Borrowed(text),
            false => Cow::Owned(text.split_whitespace().collect::<Vec<_>>().join(" ")),
        };
    }
    let folded = fold_marks(text);
    Cow::Owned(without_end(&folded).to_owned())
}

/// [`same_text_key`] in lower case. No two letters are made equal that differ otherwise: `ß` stays apart from
/// `ss`, and the dotless `ı` from `i`.
pub fn same_text_key_ignoring_case(text: &str) -> String {
    lower(&same_text_key(text))
}

/// `text` in NFC and lower case, without further folding.
pub fn lower(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfc()
        .flat_map(char::to_lowercase)
        // Upper case has one sigma, lower case writes it in another form at the end of a word.
        .map(|c| if c == 'ς' { 'σ' } else { c })
        .nfc()
        .collect()
}

/// Whether two texts are the same text (SPEC 1).
pub fn is_same_text(one: &str, other: &str) -> bool {
    one == other || same_text_key(one) == same_text_key(other)
}

/// `text` in NFC, trimmed, with one space for each run of white space and one shape for each kind of mark.
pub(crate) fn fold_marks(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let mut put = |c: char| match c {
        c if c.is_whitespace() => {
            if !folded.is_empty() && !folded.ends_with(' ') {
                folded.push(' ');
            }
        }
        c => folded.push(mark(c)),
    };
    match is_nfc_quick(text.chars()) {
        IsNormalized::Yes => text.chars().for_each(&mut put),
        _ => text.nfc().for_each(&mut put),
    }
    folded.truncate(folded.trim_end().len());
    folded
}

/// The one shape of a mark that has several. The minus sign is a sign and no dash.
fn mark(c: char) -> char {
    match c {
        '«' | '»' | '“' | '”' | '„' | '‟' | '〝' | '〞' | '〟' | '＂' => '"',
        '‘' | '’' | '‚' | '‛' | '‹' | '›' | '′' | 'ʼ' | '＇' => '\'',
        '\u{2010}'..='\u{2015}' => '-',
        c => c,
    }
}

/// Without one final `.` or `!`, and the white space that may stand before it.
fn without_end(text: &str) -> &str {
    text.strip_suffix(['.', '!']).unwrap_or(text).trim_end()
}

/// Whether all white space of a trimmed ASCII text is single spaces.
fn has_plain_spaces(text: &str) -> bool {
    let mut before = b'x';
    text.bytes().all(|byte| {
        let is_plain = !(matches!(byte, b'\t'..=b'\r') || byte == b' ' && before == b' ');
        before = byte;
        is_plain
    })
}
