//! Texts that do not say who they are about.
//!
//! Owns when a pronoun is surely the subject of a text that names no person. The words are those of the tables in
//! `languages`.

use std::sync::LazyLock;

use crate::language::Language;
use crate::lexicon::{self, ByHash, Languages};
use crate::names::plain;
use crate::reading::Reading;
use crate::scan::TokenKind;
use crate::terms::is_function_word;

static SUBJECTS: LazyLock<ByHash<Languages>> =
    LazyLock::new(|| lexicon::listed(|table| table.subjects));

static DEFINING: LazyLock<ByHash<Languages>> =
    LazyLock::new(|| lexicon::listed(|table| table.defining));

static PARTIES: LazyLock<ByHash<Languages>> =
    LazyLock::new(|| lexicon::listed(|table| table.parties));

/// The pronoun with which a text begins as its subject, as in "She moved there", where nothing in the text can be who is
/// meant. `None` where that is not sure: the text has a word with a capital that may be a name, an address, or a word
/// for a party of the conversation; the pronoun is explained behind it ("She, the landlady,", "He who"); the text is
/// written without capitals, or in a language that is not recognised or has no such row.
pub fn unnamed_subject(text: &str) -> Option<&str> {
    let reading = Reading::of(text);
    let language = Language::of_tokens(text, &reading.tokens)?;
    let [first, second, ..] = reading.tokens.as_slice() else {
        return None;
    };
    let is = |at, row: &ByHash<Languages>| reading.is(at, row, language.bit());
    let behind = text.get(first.end as usize..second.start as usize)?;
    if !first.capital || !is(0, &SUBJECTS) || is(1, &DEFINING) || !behind.trim().is_empty() {
        return None;
    }
    let is_known = |at: usize| {
        let word = reading.text_of(at);
        let may_be_name = || {
            let has_capital = word.contains(char::is_uppercase);
            has_capital && !is_function_word(&plain(word), language)
        };
        reading.tokens[at].kind == TokenKind::Name || is(at, &PARTIES) || may_be_name()
    };
    if (1..reading.tokens.len()).any(is_known) {
        return None;
    }
    // "She's" begins with the pronoun.
    reading.text_of(0).split(['\'', '’']).next()
}
