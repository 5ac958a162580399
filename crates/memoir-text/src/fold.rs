//! The folded form of a word, and its hash: two words with one hash are one word.
//!
//! Case, full-width forms, composed and decomposed letters, and the shapes of apostrophes never
//! make a difference. Accents do: Spanish "papa" and "papá" are two words.

use std::hash::Hasher;

use unicode_normalization::UnicodeNormalization;

/// The hash of a word or character. SipHash, so that no second word with the same value can be computed.
/// Its keys are fixed, so that results are the same everywhere; the value is never stored.
pub(crate) fn hash(folded: &str) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(folded.as_bytes());
    hasher.finish()
}

pub(crate) fn fold_into(word: &str, out: &mut String) {
    out.clear();
    // Of ASCII nothing below changes more than the case, and most words are ASCII.
    if word.is_ascii() {
        out.push_str(word);
        out.make_ascii_lowercase();
        return;
    }
    for c in word.nfc() {
        match c {
            // Full-width and half-width forms and the ligatures, but not superscripts: 10² is not 102.
            '\u{FF01}'..='\u{FFEE}' | '\u{FB00}'..='\u{FB06}' => {
                for plain in std::iter::once(c).nfkc() {
                    push_lower(plain, out);
                }
            }
            c => push_lower(c, out),
        }
    }
    // Half-width kana take their voicing mark as a second character, Turkish İ becomes i and a dot.
    if out.contains(['\u{3099}', '\u{309A}']) {
        *out = out.nfc().collect();
    }
}

fn push_lower(c: char, out: &mut String) {
    for lower in c.to_lowercase() {
        match lower {
            // In capitals it is written so: STRASSE.
            'ß' => out.push_str("ss"),
            // One letter in Turkish writing of any case; elsewhere there is no ı.
            'ı' => out.push('i'),
            // Only the end of a word has this form, and capitals do not show it.
            'ς' => out.push('σ'),
            '\u{2019}' | '\u{2018}' | '\u{02BC}' | '\u{FF07}' => out.push('\''),
            '\u{2010}' | '\u{2011}' | '\u{2013}' | '\u{2212}' => out.push('-'),
            // The dot that İ leaves behind, and what is not seen at all.
            '\u{0307}' if out.ends_with('i') => {}
            c if is_invisible(c) => {}
            c => out.push(c),
        }
    }
}

/// Characters that are not seen and make no other word.
pub(crate) fn is_invisible(c: char) -> bool {
    // U+0640 is the Arabic stroke that only makes a word longer on the page.
    matches!(
        c,
        '\u{00AD}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2064}'
            | '\u{2066}'..='\u{2069}' | '\u{FEFF}' | '\u{FE00}'..='\u{FE0F}' | '\u{0640}'
    )
}
