//! The tables of all languages as look-ups by the hash of a folded word.
//!
//! Owns which languages list a word, and for what. What follows from that is decided elsewhere.

use std::collections::HashMap;
use std::sync::LazyLock;

use foldhash::fast::FixedState;

use crate::fold::{fold_into, hash};
use crate::language::Language;
use crate::languages::LanguageTable;

/// Languages, one bit each, by their place in [`Language::ALL`].
pub(crate) type Languages = u16;

/// What the tables say of one word for telling languages and sentences.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LexiconEntry {
    pub(crate) evidence: Languages,
    /// The language that it is a word of every day in, weaker evidence.
    pub(crate) common: Languages,
    pub(crate) abbreviation: bool,
}

/// A map by the hashes of words.
pub(crate) type ByHash<T> = HashMap<u64, T, FixedState>;

/// The entries of the word with this hash.
pub(crate) fn find(key: u64) -> Option<LexiconEntry> {
    ENTRIES.get(&key).copied()
}

static ENTRIES: LazyLock<ByHash<LexiconEntry>> = LazyLock::new(|| {
    let mut entries = ByHash::<LexiconEntry>::default();
    for language in Language::ALL {
        let table = language.table();
        for word in words(table.function).chain(words(table.telling)) {
            entries.entry(word).or_default().evidence |= language.bit();
        }
        for word in words(table.common) {
            entries.entry(word).or_default().common |= language.bit();
        }
        for word in words(table.abbreviations) {
            entries.entry(word).or_default().abbreviation = true;
        }
    }
    entries
});

pub(crate) fn words(row: &'static str) -> impl Iterator<Item = u64> {
    row.split_ascii_whitespace().map(hash_of)
}

/// The hash of a word of a table, folded.
pub(crate) fn hash_of(word: &str) -> u64 {
    let mut folded = String::new();
    fold_into(word, &mut folded);
    hash(&folded)
}

/// Of each word that a row of the tables lists, the languages that list it there.
pub(crate) fn listed(row: impl Fn(&LanguageTable) -> &'static str) -> ByHash<Languages> {
    let mut listed = ByHash::<Languages>::default();
    for language in Language::ALL {
        for word in words(row(language.table())) {
            *listed.entry(word).or_default() |= language.bit();
        }
    }
    listed
}

/// The key that a number word shares with its digits in a language; `None` where it is no number word there.
/// Without a language a number word of any language is its own key.
pub(crate) fn number(key: u64, language: Option<Language>) -> Option<u64> {
    match language {
        Some(language) => NUMBERS[language as usize].get(&key).copied(),
        None => (NUMBERS.iter().any(|words| words.contains_key(&key))).then_some(key),
    }
}

static NUMBERS: LazyLock<Vec<ByHash<u64>>> = LazyLock::new(|| {
    let tables = Language::ALL.into_iter().map(Language::table);
    let numbers = tables.map(|table| {
        let mut pairs = words(table.numbers);
        let mut keys = ByHash::default();
        while let (Some(word), Some(digits)) = (pairs.next(), pairs.next()) {
            keys.insert(word, digits);
        }
        keys
    });
    numbers.collect()
});
