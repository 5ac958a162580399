//! The coarse form of a text: its words without case, accents, numbers, negations and endings.

use std::{borrow::Cow, collections::HashMap, thread};

use foldhash::fast::RandomState;
use unicode_normalization::UnicodeNormalization;

use crate::{
    parallel::begin,
    text::{fold, is_unspaced},
};

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
        // Where the word begins and ends: signs within one belong to it.
        let (mut from, mut to) = (None, 0);
        for (at, byte) in text.bytes().enumerate() {
            if byte.is_ascii_alphanumeric() {
                from.get_or_insert(at);
                to = at + 1;
            } else if byte.is_ascii_whitespace()
                && let Some(from) = from.take()
            {
                found(&text[from..to]);
            }
        }
        if let Some(from) = from {
            found(&text[from..to]);
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

/// Texts from which on two threads read them: below, starting one takes longer.
const WORTHWHILE: usize = 1_000;

/// The looks of texts, each read from its word once: most words of a memory come again in others. An occurrence is a
/// look with how often it came before in the same text.
#[derive(Default)]
struct Vocabulary<'t> {
    /// The first occurrence by a word as it is written; `None` for a word that has no look.
    words: HashMap<&'t str, Option<u32>, RandomState>,
    /// The first occurrence by its look.
    by_look: HashMap<String, u32, RandomState>,
    occurrences: Vec<Occurrence>,
}

#[derive(Default)]
struct Occurrence {
    /// In how many texts it comes.
    texts: u32,
    /// That of the same look after this one; 0, which is always a first one, where no text has one.
    next: u32,
    /// Of a first one: the text that had it last, counted from 1, and the last occurrence in that text.
    seen: (u32, u32),
}

impl<'t> Vocabulary<'t> {
    /// The vocabulary of these texts, and the occurrences of each text in the order of its words.
    fn of(texts: &[&'t str]) -> (Self, Looks) {
        let (mut vocabulary, mut looks) = (Self::default(), Looks::default());
        for (text, number) in texts.iter().zip(1..) {
            let from = looks.numbers.len();
            each_word(text, |word| {
                if let Some(look) = vocabulary.look_of(word) {
                    looks.numbers.push(vocabulary.occurrence(look, number));
                }
            });
            // A text of negations alone still looks like itself; a set to be joined must not be empty.
            if looks.numbers.len() == from {
                for word in words(text) {
                    let look = vocabulary.entry(&word.key);
                    looks.numbers.push(vocabulary.occurrence(look, number));
                }
            }
            looks.ends.push(looks.numbers.len());
        }
        (vocabulary, looks)
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
        let entry = self.add();
        self.by_look.insert(look.to_owned(), entry);
        entry
    }

    fn add(&mut self) -> u32 {
        self.occurrences.push(Occurrence::default());
        self.occurrences.len() as u32 - 1
    }

    /// Counts one more occurrence of a look in a text. Texts come in the order of their numbers.
    fn occurrence(&mut self, look: u32, text: u32) -> u32 {
        let found = match self.occurrences[look as usize].seen {
            (seen_in, last) if seen_in == text => self.after(last),
            _ => look,
        };
        self.occurrences[look as usize].seen = (text, found);
        self.occurrences[found as usize].texts += 1;
        found
    }

    fn after(&mut self, occurrence: u32) -> u32 {
        if self.occurrences[occurrence as usize].next == 0 {
            self.occurrences[occurrence as usize].next = self.add();
        }
        self.occurrences[occurrence as usize].next
    }

    /// Adds what another one counted; returns this one's occurrence for each of the other's.
    fn add_all(&mut self, other: Self) -> Vec<u32> {
        let mut looks: Vec<(String, u32)> = other.by_look.into_iter().collect();
        // A map has no order, and equally rare occurrences are ordered by their numbers.
        looks.sort_unstable_by_key(|(_, entry)| *entry);
        let mut here = vec![0; other.occurrences.len()];
        for (look, mut there) in looks {
            let mut own = self.entry(&look);
            loop {
                let counted = &other.occurrences[there as usize];
                here[there as usize] = own;
                self.occurrences[own as usize].texts += counted.texts;
                there = counted.next;
                if there == 0 {
                    break;
                }
                own = self.after(own);
            }
        }
        here
    }

    /// The place of each occurrence in the order of all, the rarest first. By number among equally rare ones, so that
    /// all texts have one order: a join by prefixes rests on that.
    fn ranks(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.occurrences.len() as u32).collect();
        order.sort_by_key(|number| self.occurrences[*number as usize].texts);
        let mut ranks = vec![0; order.len()];
        for (rank, number) in (0..).zip(order) {
            ranks[number as usize] = rank;
        }
        ranks
    }
}

/// How each text looks: a set of numbers, those of its vocabulary until they are arranged by the ranks of all texts. A
/// look that comes again in a text is another one.
#[derive(Default)]
pub(super) struct Looks {
    /// Those of all texts.
    numbers: Vec<u32>,
    /// Where those of each text end.
    ends: Vec<usize>,
}

impl Looks {
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u32]> {
        let mut from = 0;
        self.ends.iter().map(move |to| {
            let set = &self.numbers[from..*to];
            from = *to;
            set
        })
    }

    /// By the ranks of the occurrences, ascending.
    fn arranged(&self, ranks: &[u32]) -> Self {
        let mut numbers = Vec::with_capacity(self.numbers.len());
        for set in self.iter() {
            let from = numbers.len();
            numbers.extend(set.iter().map(|number| ranks[*number as usize]));
            numbers[from..].sort_unstable();
        }
        let ends = self.ends.clone();
        Self { numbers, ends }
    }

    fn append(&mut self, other: &Self) {
        let before = self.numbers.len();
        self.numbers.extend_from_slice(&other.numbers);
        self.ends.extend(other.ends.iter().map(|end| before + end));
    }
}

/// The looks of texts, each ascending, the rarest first.
pub(super) fn looks(texts: &[&str]) -> Looks {
    if texts.len() < WORTHWHILE {
        let (vocabulary, looks) = Vocabulary::of(texts);
        return looks.arranged(&vocabulary.ranks());
    }
    let halves = texts.split_at(texts.len() / 2);
    thread::scope(|scope| {
        let other = begin(scope, move || Vocabulary::of(halves.1));
        let (mut vocabulary, looks) = Vocabulary::of(halves.0);
        let (other, other_looks) = other();
        let here = vocabulary.add_all(other);
        let ranks = vocabulary.ranks();
        let other_ranks: Vec<u32> = here.iter().map(|number| ranks[*number as usize]).collect();
        thread::scope(|scope| {
            let other = begin(scope, || other_looks.arranged(&other_ranks));
            let mut arranged = looks.arranged(&ranks);
            arranged.append(&other());
            arranged
        })
    })
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
    use std::collections::BTreeMap;

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
        let looks = looks(&["tea tea tea", "tea", "Tea TEA", "not"]);
        let sets: Vec<&[u32]> = looks.iter().collect();
        assert_eq!(sets, [vec![0, 2, 3], vec![3], vec![2, 3], vec![1]]);
        assert_eq!(shared(sets[0], sets[2]), 2);
    }

    #[test]
    fn two_threads_find_the_looks_that_one_finds() {
        // Some words come in one half alone, and some more often in one text of the other.
        let text = |number: usize| match number % 500 {
            3 => "not".to_owned(),
            4 => "会议在3月5日 tea".to_owned(),
            _ => {
                let own = ["a", "b", "c"][number / 500];
                let tea = "tea ".repeat(number / 300);
                format!("{tea}a cup of word{}ish own{own}", number % 90)
            }
        };
        let texts: Vec<String> = (0..1_500).map(text).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        assert!(texts.len() >= WORTHWHILE);
        let (vocabulary, one) = Vocabulary::of(&texts);
        let (one, two) = (one.arranged(&vocabulary.ranks()), looks(&texts));
        // In how many texts each rank is: the rarest first.
        let counts = |looks: &Looks| {
            let mut counts = BTreeMap::<u32, usize>::new();
            let ranks = looks.iter().flatten();
            ranks.for_each(|rank| *counts.entry(*rank).or_default() += 1);
            counts.into_values().collect::<Vec<_>>()
        };
        assert_eq!(counts(&one), counts(&two));
        assert!(counts(&two).is_sorted());
        let [one, two] = [&one, &two].map(|looks| looks.iter().collect::<Vec<&[u32]>>());
        for left in (0..texts.len()).step_by(7) {
            assert_eq!(one[left].len(), two[left].len());
            for right in (0..texts.len()).step_by(11) {
                let [one, two] = [&one, &two].map(|sets| shared(sets[left], sets[right]));
                assert_eq!(one, two, "{left} {right}");
            }
        }
    }
}
