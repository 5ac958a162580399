//! Names, in languages that write only names with a capital.
//!
//! Owns which words of a text are names, and whether two words are forms of one name.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use unicode_normalization::char::is_combining_mark;

use crate::fold::fold_into;
use crate::language::Language;
use crate::reading::Reading;
use crate::scan::TokenKind;
use crate::terms::{is_function_word, plain_into};

/// The words among which names are looked for.
#[derive(Default)]
pub(crate) struct NameWords {
    words: HashSet<String>,
    /// The same by their first two letters, with which all forms of a name begin.
    by_start: HashMap<String, Vec<String>>,
}

impl NameWords {
    /// Adds the words of a text, whatever their case.
    pub(crate) fn add(&mut self, reading: &Reading<'_>) {
        self.add_where(reading, |_| true);
    }

    /// Adds the words of a text that are written with a capital.
    pub(crate) fn add_capitalised(&mut self, reading: &Reading<'_>) {
        self.add_where(reading, |word| word.starts_with(char::is_uppercase));
    }

    fn add_where(&mut self, reading: &Reading<'_>, is_added: impl Fn(&str) -> bool) {
        for at in 0..reading.tokens.len() {
            let token = reading.text_of(at);
            let parts = parts(token).map(|(_, part)| part);
            for word in parts
                .chain([token])
                .filter(|word| is_added(word))
                .map(plain)
                .filter(|word| !word.is_empty())
            {
                if self.words.insert(word.clone()) {
                    let start = word.chars().take(2).collect();
                    self.by_start.entry(start).or_default().push(word);
                }
            }
        }
    }

    /// Whether a form of the name is among the words.
    pub(crate) fn has(&self, name: &str, language: Option<Language>) -> bool {
        let name = plain(name);
        let start: String = name.chars().take(2).collect();
        let alike = self.by_start.get(&start).map_or(&[][..], Vec::as_slice);
        self.words.contains(&name) || alike.iter().any(|word| is_form(&name, word, language))
    }
}

/// A word folded, without accents and stops.
pub(crate) fn plain(word: &str) -> String {
    let (mut folded, mut plain) = (String::new(), String::new());
    fold_into(word, &mut folded);
    plain_into(&folded, &mut plain);
    plain.retain(|c| c.is_alphanumeric());
    plain
}

/// The parts of a word that apostrophes and other signs part, each with its place in the word.
fn parts(word: &str) -> impl Iterator<Item = (usize, &str)> {
    // "U.S." is one word.
    let is_short = word.split('.').all(|part| part.chars().count() < 2);
    let is_sign =
        move |c: char| !(c.is_alphanumeric() || is_combining_mark(c) || is_short && c == '.');
    let parts = word.split(is_sign).filter(|part| !part.is_empty());
    parts.map(|part| (part.as_ptr() as usize - word.as_ptr() as usize, part))
}

/// The words of a text that are written as names are, each with the number of its token.
pub(crate) fn names<'r>(
    reading: &'r Reading<'_>,
    language: Option<Language>,
) -> impl Iterator<Item = (usize, Range<usize>)> + 'r {
    // There a short word may stand before the name: "L'Italie", "dell'Anna".
    let elides = matches!(language, Some(Language::French | Language::Italian));
    let tokens = reading.tokens.iter().enumerate();
    let words = tokens.filter(|(_, token)| matches!(token.kind, TokenKind::Word | TokenKind::Name));
    words.flat_map(move |(at, token)| {
        let word = reading.text_of(at);
        let is_open =
            move |n: usize| !token.begins || elides && n > 0 && token.kind == TokenKind::Word;
        let parts = parts(word).enumerate().filter(move |(n, (_, part))| {
            is_open(*n) && part.starts_with(char::is_uppercase) && !is_no_name(part, language)
        });
        let start = token.start as usize;
        parts.map(move |(_, (from, part))| (at, start + from..start + from + part.len()))
    })
}

/// Whether a word with a capital is none for its kind: "I", "NOT", Spanish "Usted".
fn is_no_name(word: &str, language: Option<Language>) -> bool {
    let language = language.unwrap_or(Language::English);
    let is_emphasis = !word.contains(char::is_lowercase) && word.chars().count() > 1;
    word == "I" && language == Language::English
        || is_emphasis && is_function_word(&plain(word), language)
        || POLITE.split(' ').any(|polite| polite == plain(word))
}

/// Polite forms of address, written with a capital.
const POLITE: &str =
    "usted ustedes ud uds lei u uw pan pani pana panu panstwo вы вас вам вами ваш ваша ваше ваши";

/// Whether two words, both plain, are forms of one name in a language.
fn is_form(one: &str, other: &str, language: Option<Language>) -> bool {
    let Some(language) = language else {
        // A language without a table may inflect names: they share a long beginning.
        let (start, rests) = apart(one, other);
        return start >= 4 && rests.iter().all(|rest| rest.chars().count() <= 3);
    };
    let endings = language.table().name_endings;
    let is_ending = |rest: &str| {
        let mut endings = endings.split(' ').map(plain);
        rest.is_empty() || endings.any(|ending| ending == rest)
    };
    let differs_by_ending = |one: &str, other: &str| {
        let (start, rests) = apart(one, other);
        let is_short = one.chars().count().max(other.chars().count()) <= 4;
        (start >= 3 || start == 2 && is_short) && rests.iter().all(|rest| is_ending(rest))
    };
    if differs_by_ending(one, other) {
        return true;
    }
    match language {
        Language::English => is_people(one, other),
        Language::Polish | Language::Russian => {
            let (one, other) = (without_vowel(one), without_vowel(other));
            differs_by_ending(&one, &other) || is_softened(&one, &other)
        }
        _ => false,
    }
}

/// How many characters two words share at their beginning, and what follows in each.
fn apart<'w>(one: &'w str, other: &'w str) -> (usize, [&'w str; 2]) {
    let shared = one.chars().zip(other.chars());
    let shared = shared.take_while(|(one, other)| one == other);
    let (count, bytes) = shared.fold((0, 0), |(count, bytes), (c, _)| {
        (count + 1, bytes + c.len_utf8())
    });
    (count, [&one[bytes..], &other[bytes..]])
}

/// English names of countries and of their people: "Italy" and "Italian", "America" and "American".
fn is_people(one: &str, other: &str) -> bool {
    let (start, mut rests) = apart(one, other);
    rests.sort_unstable_by_key(|rest| rest.len());
    match rests {
        ["y", "ian"] => start >= 4,
        // Shorter ones are mostly names of persons: "Julia" and "Julian".
        ["", "n"] => {
            start >= 6
                && one
                    .get(..one.len().min(other.len()))
                    .is_some_and(|word| word.ends_with('a'))
        }
        ["" | "a", "ese"] | ["en" | "ey" | "and" | "land", "ish"] | ["ish", "land"] => start >= 3,
        _ => false,
    }
}

/// Without a vowel before the last consonant, which other forms of a Slavic name lack: "Marek", "Markiem".
fn without_vowel(name: &str) -> String {
    let mut letters: Vec<char> = name.chars().collect();
    if let [_, _, .., vowel, last] = letters.as_slice()
        && matches!(vowel, 'e' | 'е' | 'о')
        && !"aeiouyаеиоуыюя".contains(*last)
    {
        letters.remove(letters.len() - 2);
    }
    letters.into_iter().collect()
}

/// Polish consonants that change before an ending: "Olga" and "Oldze", "Marta" and "Marcie".
fn is_softened(one: &str, other: &str) -> bool {
    let (start, mut rests) = apart(one, other);
    rests.sort_unstable_by_key(|rest| rest.len());
    let is_pair = matches!(
        rests,
        ["ka", "ce"]
            | ["ce", "ka"]
            | ["ga", "dze"]
            | ["ta", "cie"]
            | ["da", "dzie"]
            | ["ra", "rze"]
            | ["t", "cie"]
            | ["d", "dzie"]
            | ["", "zie"]
            | ["a", "zie"]
            | ["", "ze"]
            | ["a", "ze"]
            | ["ha", "sze"]
    );
    start >= 2 && is_pair
}
