//! The words in which two near duplicates differ.

use super::looks::words;
use crate::text::{gaps, is_unspaced, private::PrivateText};

/// Characters of a value.
// Enough to recognize it: both texts are in the ledger.
pub(super) const VALUE_LIMIT: usize = 60;
/// The most differences named of one pair.
// Texts with more differences are similar by chance, and further ones add nothing.
const NAMED: usize = 4;

/// One difference between two texts.
#[derive(Debug, PartialEq)]
pub(super) struct Difference {
    /// The words that the memory with the lower number has here, at most [`VALUE_LIMIT`] characters; `None` where it
    /// has none.
    pub(super) left: Option<PrivateText>,
    pub(super) right: Option<PrivateText>,
}

/// A value that is not too long, with a mark where it was cut.
fn cut(text: &str) -> String {
    match text.char_indices().nth(VALUE_LIMIT) {
        None => text.to_owned(),
        Some(_) => {
            let kept: String = text.chars().take(VALUE_LIMIT - 1).collect();
            format!("{kept}…")
        }
    }
}

/// The differences of two texts in their order, whatever the case, the accents and the punctuation, and how many are
/// not named. Where the words are the same, how they are written; none where only the white space differs.
pub(super) fn between(left: &str, right: &str) -> (Vec<Difference>, usize) {
    let words = [words(left), words(right)];
    let [left_keys, right_keys] = words.each_ref().map(|words| {
        let keys = words.iter().map(|word| word.key.as_ref());
        keys.collect::<Vec<&str>>()
    });
    let mut found = gaps(&left_keys, &right_keys);
    let mut pieces = words
        .each_ref()
        .map(|words| words.iter().map(|word| word.surface).collect());
    if found.is_empty() {
        pieces = [left, right].map(|text| text.split_whitespace().collect::<Vec<&str>>());
        found = gaps(&pieces[0], &pieces[1]);
    }
    let value = |pieces: &[&str]| {
        let joined = joined(pieces);
        (!joined.is_empty()).then(|| PrivateText::new(cut(&joined)))
    };
    let named = found.iter().take(NAMED).map(|[left, right]| Difference {
        left: value(&pieces[0][left.clone()]),
        right: value(&pieces[1][right.clone()]),
    });
    (named.collect(), found.len().saturating_sub(NAMED))
}

/// Words one after the other, as their script writes them.
fn joined(words: &[&str]) -> String {
    let mut text = String::new();
    for word in words {
        let touches = text.ends_with(is_unspaced) && word.starts_with(is_unspaced);
        if !text.is_empty() && !touches {
            text.push(' ');
        }
        text.push_str(word);
    }
    text
}
