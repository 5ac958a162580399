//! The folded form of a word, and its hash: two words with one hash are one word.
//!
//! Case, full-width forms, composed and decomposed letters, and the shapes of apostrophes never
//! make a difference. Accents do: Spanish "papa" and "papá" are two words.

use std::hash::Hasher;

use unicode_normalization::UnicodeNormalization;

/// The hash of a word or character. SipHash, because texts can be hostile: a hash for which a second
/// word with the same value can be computed would let one word pass for another. Its keys are fixed,
/// so that a judgement is the same everywhere; the value is never stored.
pub(crate) fn hash(folded: &str) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(folded.as_bytes());
    hasher.finish()
}

/// The folded form of `word`, written into `out`.
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
            // Only the end of a word has this form, and capitals do not tell it.
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

/// Whether a character beyond ASCII may stand in a word whose folded form is ASCII.
pub(crate) fn may_fold_to_ascii(c: char) -> bool {
    matches!(
        c,
        // The capital İ and its dot where it stands alone, the small ı, ß, and the sign of the kelvin.
        '\u{0130}' | '\u{0131}' | '\u{0307}' | 'ß' | 'ẞ' | '\u{212A}'
            | '\u{FB00}'..='\u{FB06}' | '\u{FF01}'..='\u{FFEE}'
    ) || is_invisible(c)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(word: &str) -> String {
        let mut out = String::new();
        fold_into(word, &mut out);
        out
    }

    #[test]
    fn case_width_and_normal_form_make_no_other_word() {
        for (one, other) in [
            ("Ann", "ANN"),
            ("Zoé", "Zoe\u{301}"),
            ("ＡＢＣ１", "abc1"),
            ("ｶﾞ", "ガ"),
            ("STRASSE", "straße"),
            ("İstanbul", "istanbul"),
            ("IŞIK", "ışık"),
            ("don’t", "DON'T"),
            ("ﬁn", "fin"),
            ("ΟΔΟΣ", "οδος"),
        ] {
            assert_eq!(fold(one), fold(other), "{one}");
        }
    }

    #[test]
    fn every_character_that_may_fold_to_ascii_is_known() {
        for c in ('\u{80}'..=char::MAX).filter(|c| !may_fold_to_ascii(*c)) {
            // Behind a letter too: some go with it into one character, or vanish behind it.
            for word in [c.to_string(), format!("i{c}"), format!("I{c}")] {
                let folded = fold(&word);
                let shape = folded.strip_prefix('i').unwrap_or(&folded);
                let has_letters = shape.bytes().any(|byte| byte.is_ascii_alphanumeric());
                assert!(!has_letters && !shape.is_empty(), "{:X}", u32::from(c));
            }
        }
    }

    #[test]
    fn accents_and_powers_make_another_word() {
        for (one, other) in [("papa", "papá"), ("10²", "102"), ("schon", "schön")] {
            assert_ne!(fold(one), fold(other), "{one}");
        }
    }
}
