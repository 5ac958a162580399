//! The folded form of a word: lower case, compatibility forms resolved, accents removed.
//!
//! Owns what makes two spellings of a word the same word. It does not own inflection except for
//! [`stem`], which is deliberately coarse and only used to compare what negations negate.

use std::borrow::Cow;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;

/// The folded form of `word`; borrowed where the word already is its own folded form.
pub(crate) fn fold(word: &str) -> Cow<'_, str> {
    let plain = |b: u8| b.is_ascii() && !b.is_ascii_uppercase();
    if word.bytes().all(plain) {
        return Cow::Borrowed(word);
    }
    if word.is_ascii() {
        return Cow::Owned(word.to_ascii_lowercase());
    }
    if word.chars().all(is_stable) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(fold_simply(word).unwrap_or_else(|| fold_fully(word)))
}

/// Whether the character is its own folded form, whatever stands next to it.
fn is_stable(c: char) -> bool {
    matches!(c as u32,
        0x0061..=0x007A | 0x0430..=0x0438 | 0x043A..=0x044F | 0x05D0..=0x05EA | 0x0621
        | 0x0627..=0x0628 | 0x062A..=0x063A | 0x0641..=0x0648 | 0x064A | 0x3041..=0x3096
        | 0x30A1..=0x30FA | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xAC00..=0xD7A3)
}

/// The folded form of a word all of whose characters fold for themselves, by a table.
fn fold_simply(word: &str) -> Option<String> {
    let mut folded = String::with_capacity(word.len() + 4);
    for c in word.chars() {
        if is_stable(c) {
            folded.push(c);
        } else {
            let single = SINGLE.get(c as usize).filter(|s| !s.is_empty())?;
            folded.push_str(single);
        }
    }
    Some(folded)
}

/// What single characters of the European scripts fold to; empty where the neighbours matter. Only
/// marks have such neighbours, so letters fold alike alone and in a word.
static SINGLE: LazyLock<Vec<String>> = LazyLock::new(|| {
    let letters =
        (0..0x0530).map(|code| char::from_u32(code).filter(|c| c.is_ascii() || c.is_alphabetic()));
    letters
        .map(|letter| letter.map_or_else(String::new, |c| fold_fully(c.encode_utf8(&mut [0; 4]))))
        .collect()
});

fn fold_fully(word: &str) -> String {
    let mut bare = String::with_capacity(word.len());
    for c in word.nfkd() {
        for lower in c.to_lowercase().filter(|c| !is_mark(*c)) {
            push_simplified(&mut bare, lower);
        }
    }
    if bare.is_ascii() {
        bare
    } else {
        bare.nfc().collect()
    }
}

/// Accents and vowel points that spellings of one word differ in. Marks which make another letter
/// (the Japanese voicing mark, the Indic vowel signs) are not among them.
fn is_mark(c: char) -> bool {
    matches!(c as u32,
        0x0300..=0x036F | 0x0591..=0x05BD | 0x05BF..=0x05C7 | 0x0610..=0x061A
        | 0x064B..=0x065F | 0x0670 | 0x0640 | 0x200C | 0x200D | 0xFE00..=0xFE0F)
}

fn push_simplified(out: &mut String, c: char) {
    match c {
        'ß' => out.push_str("ss"),
        'æ' => out.push_str("ae"),
        'œ' => out.push_str("oe"),
        'ø' => out.push('o'),
        'ł' => out.push('l'),
        'đ' | 'ð' => out.push('d'),
        'þ' => out.push_str("th"),
        'ı' => out.push('i'),
        'ς' => out.push('σ'),
        'ى' => out.push('ي'),
        'ة' => out.push('ه'),
        '\u{2019}' | '\u{2018}' | '\u{02BC}' => out.push('\''),
        other => out.push(other),
    }
}

/// The value of a decimal digit of any script.
pub(crate) fn digit_value(c: char) -> Option<u8> {
    const ZEROES: [u32; 22] = [
        0x0030, 0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66,
        0x0CE6, 0x0D66, 0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x17E0, 0x1810, 0xFF10, 0x1D7CE, 0x1D7EC,
    ];
    let code = c as u32;
    if code < 0x0660 {
        return c.to_digit(10).map(|d| d as u8);
    }
    let zero = ZEROES.iter().find(|z| (**z..**z + 10).contains(&code))?;
    Some((code - zero) as u8)
}

/// A coarse stem of a folded word: one or two layers of common inflection endings cut off, and at
/// most seven letters kept.
pub(crate) fn stem(folded: &str) -> &str {
    const ENDINGS: [&str; 12] = [
        "ing", "ed", "es", "en", "er", "s", "e", "a", "o", "n", "i", "y",
    ];
    let mut word = folded;
    if word.len() >= 6 && word.starts_with("ge") && (word.ends_with('t') || word.ends_with("en")) {
        word = &word[2..];
    }
    if !word.is_ascii() {
        return shorten(strip_endings(word), 5);
    }
    for _ in 0..2 {
        let cut = ENDINGS.iter().find_map(|e| {
            word.strip_suffix(e)
                .filter(|rest| rest.len() >= shortest(e))
        });
        match cut {
            Some(rest) => word = rest,
            None => break,
        }
    }
    let bytes = word.as_bytes();
    let n = bytes.len();
    let doubled = n > 3 && bytes[n - 1] == bytes[n - 2];
    if doubled || n > 3 && bytes[n - 1] == b't' && !b"aeiou".contains(&bytes[n - 2]) {
        word = &word[..n - 1];
    }
    shorten(word, 7)
}

/// `fly`, `flies` and `flying` only meet where two letters are left.
fn shortest(ending: &str) -> usize {
    if matches!(ending, "i" | "y") { 2 } else { 3 }
}

/// Case endings and particles of the scripts where a word shows its role at its end.
pub(crate) fn strip_endings(word: &str) -> &str {
    let endings: &[&str] = match word.chars().next_back().map(|c| c as u32) {
        Some(0x0400..=0x052F) => CYRILLIC_ENDINGS,
        Some(0xAC00..=0xD7A3) => HANGUL_PARTICLES,
        Some(0x0370..=0x03FF) => GREEK_ENDINGS,
        _ => return word,
    };
    let shortest = if endings.len() == HANGUL_PARTICLES.len() {
        3
    } else {
        4
    };
    endings
        .iter()
        .find_map(|e| word.strip_suffix(e).filter(|rest| rest.len() >= shortest))
        .unwrap_or(word)
}

const CYRILLIC_ENDINGS: &[&str] = &[
    "ами", "ями", "ого", "его", "ому", "ему", "ыми", "ими", "иеи", "иям", "иях", "ает", "яет",
    "ать", "ять", "ить", "еть", "ают", "яют", "ои", "еи", "ою", "ею", "ом", "ем", "ам", "ям", "ах",
    "ях", "ов", "ев", "ия", "ии", "ию", "ие", "ая", "ую", "ые", "ых", "ет", "ит", "ут", "ют", "ат",
    "ят", "ал", "ил", "ла", "ло", "ли", "а", "я", "ы", "и", "у", "ю", "е", "о", "ь",
];

const GREEK_ENDINGS: &[&str] = &[
    "ους", "ων", "ος", "ου", "ον", "ησ", "ασ", "οσ", "η", "α", "ο", "ε", "ι", "σ",
];

/// Longest first, so that a compound particle is not cut in half.
const HANGUL_PARTICLES: &[&str] = &[
    "에게서",
    "으로는",
    "에서는",
    "이라고",
    "한테서",
    "까지",
    "부터",
    "에서",
    "에게",
    "한테",
    "으로",
    "이나",
    "이랑",
    "처럼",
    "보다",
    "라고",
    "께서",
    "이는",
    "이가",
    "씨는",
    "씨가",
    "씨의",
    "씨와",
    "씨",
    "님",
    "은",
    "는",
    "이",
    "가",
    "을",
    "를",
    "의",
    "에",
    "도",
    "와",
    "과",
    "로",
    "만",
    "랑",
    "야",
];

fn shorten(word: &str, chars: usize) -> &str {
    word.char_indices()
        .nth(chars)
        .map_or(word, |(end, _)| &word[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_3_12_every_short_way_of_folding_folds_as_the_long_one_does() {
        let chars = (0..0x3_0000).filter_map(char::from_u32);
        for c in chars.filter(|c| !c.is_ascii_punctuation()) {
            for word in [
                format!("{c}"),
                format!("k{c}"),
                format!("{c}и"),
                format!("か{c}"),
            ] {
                assert_eq!(fold(&word), fold_fully(&word), "{:#x}", c as u32);
            }
        }
    }
}
