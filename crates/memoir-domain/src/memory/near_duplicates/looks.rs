//! The coarse form of a text: its words without case, accents, numbers, negations and endings.

use std::{borrow::Cow, collections::HashMap};

use foldhash::fast::RandomState;
use unicode_normalization::UnicodeNormalization;

use crate::text::{fold, is_unspaced};

/// A word of a text. In scripts that put no spaces between words every character is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word<'t> {
    pub(super) surface: &'t str,
    /// The same for all spellings of the word.
    pub(super) key: Cow<'t, str>,
}

/// The words of `text`, in their order. A text without a letter or a digit has its signs instead.
pub(super) fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::with_capacity(text.len() / 6 + 1);
    each_word(text, |surface| {
        let key = key(surface);
        words.push(Word { surface, key });
    });
    if words.is_empty() {
        let signs = text.split("").filter(|sign| !sign.trim().is_empty());
        words.extend(signs.map(|sign| Word {
            surface: sign,
            key: Cow::Borrowed(sign),
        }));
    }
    words
}

/// Calls `found` with each word of `text`, in their order.
fn each_word<'t>(text: &'t str, mut found: impl FnMut(&'t str)) {
    // No script without spaces is ASCII.
    if text.is_ascii() {
        for piece in text.split_ascii_whitespace() {
            let is_sign = |character: char| !character.is_ascii_alphanumeric();
            let word = piece.trim_matches(is_sign);
            if !word.is_empty() {
                found(word);
            }
        }
        return;
    }
    let mut push = |piece: &'t str| {
        let word = piece.trim_matches(|character: char| !character.is_alphanumeric());
        if !word.is_empty() {
            found(word);
        }
    };
    for piece in text.split_whitespace() {
        let mut from = 0;
        for (at, character) in piece.char_indices() {
            if is_unspaced(character) {
                let after = at + character.len_utf8();
                push(&piece[from..at]);
                push(&piece[at..after]);
                from = after;
            }
        }
        push(&piece[from..]);
    }
}

/// `word` without case, accents, and the forms of an apostrophe.
fn key(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        // Most words are ASCII without capitals: they are borrowed from the text.
        return match word.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => Cow::Owned(word.to_ascii_lowercase()),
            false => Cow::Borrowed(word),
        };
    }
    let is_accent = |character: &char| matches!(*character as u32, 0x300..=0x36F);
    let folded = fold(word);
    let bare = folded.nfd().filter(|character| !is_accent(character));
    let bare = bare.map(|character| match character {
        '\u{2019}' | '\u{2018}' | '\u{2BC}' => '\'',
        other => other,
    });
    Cow::Owned(bare.nfc().collect())
}

/// The coarse form of a word: numbers are equal, and a final `s` is ignored. `None` for a negation or an auxiliary
/// word.
fn look(key: &str) -> Option<Cow<'_, str>> {
    const NEGATING: [&str; 20] = [
        "not", "no", "never", "cannot", "nor", "do", "does", "did", "nicht", "nie", "kein",
        "keine", "keinen", "ne", "pas", "jamais", "nunca", "non", "niet", "geen",
    ];
    let stem = match key.strip_suffix("n't") {
        // "can't" and "won't" lose a letter of their word.
        Some("ca") => "can",
        Some("wo") => "will",
        Some(helping) => helping,
        None => key.strip_suffix("'s").unwrap_or(key),
    };
    if NEGATING.contains(&stem) {
        return None;
    }
    let stem = match stem.strip_suffix('s') {
        // Short words and a double `s` ("is", "gas", "glass") are no plurals.
        Some(stem) if stem.len() >= 3 && !stem.ends_with('s') => stem,
        _ => stem,
    };
    if !stem.contains(char::is_numeric) {
        return Some(Cow::Borrowed(stem));
    }
    let mut look = String::with_capacity(stem.len());
    let mut in_number = false;
    for character in stem.chars() {
        let is_digit = character.is_numeric();
        // `1,000` and `1.5` are one number, and look like any other.
        let goes_on = in_number && (is_digit || matches!(character, ',' | '.'));
        if !goes_on {
            look.push(if is_digit { '0' } else { character });
        }
        in_number = is_digit || goes_on;
    }
    Some(Cow::Owned(look))
}

/// The looks of all texts, each read from its word once: most words of a memory come again in others.
#[derive(Default)]
struct Vocabulary<'t> {
    /// By a word as it is written; `None` for a word that has no look.
    words: HashMap<&'t str, Option<u32>, RandomState>,
    by_look: HashMap<String, u32, RandomState>,
    /// The numbers of each look, by how often it came before in the same text.
    numbers: Vec<Vec<u32>>,
}

impl<'t> Vocabulary<'t> {
    /// Puts the looks of the words of `text` into `found`.
    fn looks_of(&mut self, text: &'t str, found: &mut Vec<u32>) {
        found.clear();
        each_word(text, |word| found.extend(self.look_of(word)));
        if !found.is_empty() {
            return;
        }
        // A text of negations alone still looks like itself; a set to be joined must not be empty.
        for word in words(text) {
            found.push(self.entry(&word.key));
        }
    }

    fn look_of(&mut self, word: &'t str) -> Option<u32> {
        if let Some(known) = self.words.get(word) {
            return *known;
        }
        let found = look(&key(word)).map(|look| self.entry(&look));
        self.words.insert(word, found);
        found
    }

    fn entry(&mut self, look: &str) -> u32 {
        if let Some(known) = self.by_look.get(look) {
            return *known;
        }
        let entry = self.numbers.len() as u32;
        self.by_look.insert(look.to_owned(), entry);
        self.numbers.push(Vec::new());
        entry
    }

    /// The number of a look that came `times` before in the same text.
    fn number(&mut self, look: u32, times: usize, counts: &mut Vec<u32>) -> u32 {
        let known = &mut self.numbers[look as usize];
        // The occurrences of one text are counted upwards, so that at most one is missing.
        if known.len() == times {
            known.push(counts.len() as u32);
            counts.push(0);
        }
        known[times]
    }
}

/// How each text looks: a set of numbers that mean the same in all of them, ascending, the rarest first. A look that
/// comes again in a text is another one.
pub(super) fn looks<'t>(texts: impl IntoIterator<Item = &'t str>) -> Vec<Vec<u32>> {
    let mut vocabulary = Vocabulary::default();
    let mut counts: Vec<u32> = Vec::new();
    let mut of_text = Vec::new();
    let mut sets: Vec<Vec<u32>> = texts
        .into_iter()
        .map(|text| {
            vocabulary.looks_of(text, &mut of_text);
            of_text.sort_unstable();
            let same = of_text.chunk_by(|one, other| one == other);
            let numbered = same.flat_map(|same| same.iter().enumerate());
            let mut set = Vec::with_capacity(of_text.len());
            set.extend(numbered.map(|(times, look)| {
                let number = vocabulary.number(*look, times, &mut counts);
                counts[number as usize] += 1;
                number
            }));
            set
        })
        .collect();
    // By number among equally rare ones, so that all texts have one order: a join by prefixes rests on that.
    let mut order: Vec<u32> = (0..counts.len() as u32).collect();
    order.sort_by_key(|number| (counts[*number as usize], *number));
    let mut ranks = vec![0; counts.len()];
    for (rank, number) in (0..).zip(order) {
        ranks[number as usize] = rank;
    }
    for set in &mut sets {
        set.iter_mut()
            .for_each(|number| *number = ranks[*number as usize]);
        set.sort_unstable();
    }
    sets
}

/// How many of two ascending lists' entries are in both.
pub(super) fn shared(one: &[u32], other: &[u32]) -> usize {
    let (mut at, mut in_other, mut shared) = (0, 0, 0);
    while at < one.len() && in_other < other.len() {
        let (left, right) = (one[at], other[in_other]);
        shared += usize::from(left == right);
        // Without a branch, which no processor could foresee: this runs for each pair.
        at += usize::from(left <= right);
        in_other += usize::from(right <= left);
    }
    shared
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<String> {
        let words = words(text).into_iter();
        words.map(|word| word.key.into_owned()).collect()
    }

    #[test]
    fn words_are_found_in_every_script() {
        assert_eq!(keys("Évan’s  café, (Tea)."), ["evan's", "cafe", "tea"]);
        assert_eq!(
            keys("会议在3月5日"),
            ["会", "议", "在", "3", "月", "5", "日"]
        );
        assert_eq!(keys("! ?"), ["!", "?"]);
        assert_eq!(
            words("„Tea“, Ben").first().map(|word| word.surface),
            Some("Tea")
        );
    }

    #[test]
    fn numbers_negations_and_endings_are_passed_over() {
        let looks = |text: &str| -> Vec<String> {
            let keys = keys(text);
            keys.iter()
                .filter_map(|key| look(key))
                .map(Cow::into_owned)
                .collect()
        };
        assert_eq!(looks("TKT-100 at 7:00"), ["tkt-0", "at", "0:0"]);
        assert_eq!(looks("1,000.5 g"), looks("7 g"));
        assert_eq!(looks("Sam doesn't like tea"), looks("Sam likes teas"));
        assert_eq!(looks("glass as is"), ["glass", "as", "is"]);
    }

    #[test]
    fn a_word_that_comes_again_counts_again_and_the_rarest_stands_first() {
        let sets = looks(["tea tea tea", "tea", "Tea TEA", "not"]);
        assert_eq!(sets, [vec![0, 2, 3], vec![3], vec![2, 3], vec![1]]);
        assert_eq!(shared(&sets[0], &sets[2]), 2);
    }
}
