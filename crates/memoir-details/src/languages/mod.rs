//! One table a language: what its words are, each row with an example.
//!
//! Owns the words and nothing else: what follows from a word's being free or turning is the
//! engine's. Rows hold words separated by white space; `_` joins the words of a phrase.

mod arabic;
mod chinese;
mod dutch;
mod english;
mod french;
mod german;
mod italian;
mod japanese;
mod korean;
mod polish;
mod portuguese;
mod russian;
mod spanish;
mod swedish;
mod turkish;

use crate::language::Language;
use crate::lexicon::FreeWords;

/// Words, and a sentence in which one of them stands in the meaning that the row gives it.
pub(crate) type WordRow = (&'static str, &'static str);

/// What is known of one language.
pub(crate) struct LanguageTable {
    /// May be left out without a loss: articles, "and", "that", "very", the present of "be" and
    /// "have", plain prepositions of place, fillers.
    pub(crate) free: &'static [WordRow],
    /// Turn what a sentence says: negation, doubt, modals, quantifiers, conditions.
    pub(crate) turning: &'static [WordRow],
    /// Turn also where they follow what they negate.
    pub(crate) following: &'static [WordRow],
    /// Parts of a word by which it turns: Turkish "-miyor", Korean "않".
    pub(crate) turning_parts: &'static [WordRow],
    /// Words that stand for somebody.
    pub(crate) pronouns: &'static [WordRow],
    /// Join two sentences or parts: no addition where they join.
    pub(crate) joining: &'static [WordRow],
    /// Tie what follows to what precedes: "of", "with", "for".
    pub(crate) attaching: &'static [WordRow],
    /// Their meaning depends on the day they were said.
    pub(crate) relative: &'static [WordRow],
    /// Pairs of a number word and its digits.
    pub(crate) numbers: &'static [WordRow],
    /// Groups of forms of one word, separated by `/`.
    pub(crate) forms: &'static [WordRow],
    /// Pairs `short=long words`; `n't=not` for an ending, `l'=le` for a beginning, `won't=will_not`
    /// for a whole word. `_` joins the words of the long form.
    pub(crate) contractions: &'static [WordRow],
    /// Do not end a sentence though a full stop follows.
    pub(crate) abbreviations: &'static [WordRow],
    /// After which a number with a full stop does not end a sentence: German "3. Mai".
    pub(crate) after_ordinals: &'static [WordRow],
    /// Beginnings of a sentence that weaken nothing and are free as a whole.
    pub(crate) frames: &'static [WordRow],
    /// Words by which a text in this language is known.
    pub(crate) evidence: &'static [WordRow],
    /// Words of every day, which are no names where they stand first in a sentence, and in German
    /// capitalised nouns.
    pub(crate) common: &'static [WordRow],
    /// What questions begin with and are put together with, which says nothing of what is asked for: no weight
    /// where memories are looked for.
    pub(crate) asking: &'static [WordRow],
    /// By which a text says that something is no longer as it was: where memories are looked for, the newer of two
    /// that are much alike comes first if it has one. Of a script without spaces, and in Korean, parts of words.
    pub(crate) correcting: &'static [WordRow],
    /// Whether a comma is the decimal point, and a full stop parts the thousands.
    pub(crate) decimal_comma: bool,
    /// Whether nouns are capitalised.
    pub(crate) capital_nouns: bool,
}

impl LanguageTable {
    /// A table without words.
    pub(crate) const EMPTY: LanguageTable = LanguageTable {
        free: &[],
        turning: &[],
        following: &[],
        turning_parts: &[],
        pronouns: &[],
        joining: &[],
        attaching: &[],
        relative: &[],
        numbers: &[],
        forms: &[],
        contractions: &[],
        abbreviations: &[],
        after_ordinals: &[],
        frames: &[],
        evidence: &[],
        common: &[],
        asking: &[],
        correcting: &[],
        decimal_comma: false,
        capital_nouns: false,
    };
}

/// The table of `language`.
pub(crate) const fn table(language: Language) -> &'static LanguageTable {
    match language {
        Language::English => &english::TABLE,
        Language::German => &german::TABLE,
        Language::French => &french::TABLE,
        Language::Spanish => &spanish::TABLE,
        Language::Italian => &italian::TABLE,
        Language::Portuguese => &portuguese::TABLE,
        Language::Dutch => &dutch::TABLE,
        Language::Swedish => &swedish::TABLE,
        Language::Polish => &polish::TABLE,
        Language::Russian => &russian::TABLE,
        Language::Turkish => &turkish::TABLE,
        Language::Chinese => &chinese::TABLE,
        Language::Japanese => &japanese::TABLE,
        Language::Korean => &korean::TABLE,
        Language::Arabic => &arabic::TABLE,
    }
}

/// Each free word of a language has a bit of its own.
const _: () = {
    let mut at = 0;
    while at < Language::ALL.len() {
        assert!(count_words(table(Language::ALL[at]).free) <= FreeWords::BITS);
        at += 1;
    }
};

/// How many words these rows have, each part of a phrase for one. A loop over bytes, which a constant can do; that no
/// other spaces than ASCII's part them, a test holds.
const fn count_words(rows: &[WordRow]) -> u32 {
    let (mut count, mut row) = (0, 0);
    while row < rows.len() {
        let (bytes, mut at) = (rows[row].0.as_bytes(), 0);
        let mut is_between = true;
        while at < bytes.len() {
            let is_word = !bytes[at].is_ascii_whitespace() && bytes[at] != b'_';
            if is_word && is_between {
                count += 1;
            }
            is_between = !is_word;
            at += 1;
        }
        row += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::fold::{fold_into, hash};
    use crate::judge::{Replaced, judge, unsaid};
    use crate::lexicon::{self, FREE, JOIN, TURN};
    use crate::reading::Reading;

    /// The rows of a table that hold words, but for those of which an example would show nothing.
    fn rows(table: &'static LanguageTable) -> impl Iterator<Item = &'static WordRow> {
        [
            table.free,
            table.turning,
            table.following,
            table.pronouns,
            table.joining,
            table.attaching,
            table.relative,
            table.numbers,
            table.forms,
            table.contractions,
            table.abbreviations,
            table.after_ordinals,
            table.frames,
            table.asking,
            table.correcting,
        ]
        .into_iter()
        .flatten()
    }

    #[test]
    fn every_row_has_an_example_with_one_of_its_words() {
        let mut without = Vec::new();
        for language in Language::ALL {
            for (words, example) in rows(table(language)) {
                let mut example = example.to_lowercase();
                example.insert(0, ' ');
                let found = words
                    .split_whitespace()
                    .flat_map(|word| word.split(['/', '=']))
                    .any(|word| {
                        let word = word.to_lowercase().replace('_', " ");
                        example.replace(',', "").contains(&word) || example.contains(&word)
                    });
                if !found {
                    without.push((language, words, example));
                }
            }
        }
        assert!(without.is_empty(), "{without:#?}");
    }

    #[test]
    fn a_free_word_may_go_from_its_example_and_a_turning_word_may_not() {
        let mut wrong = Vec::new();
        for language in Language::ALL {
            let table = table(language);
            for (rows, free) in [
                (table.free, true),
                (table.turning, false),
                (table.following, false),
            ] {
                for (words, example) in rows {
                    let listed: Vec<&str> = words
                        .split_whitespace()
                        .filter(|word| !word.contains('_'))
                        .collect();
                    let kept: Vec<&str> = example
                        .split(' ')
                        .filter(|word| {
                            let bare = word.trim_end_matches(['.', ',', '?', '。']).to_lowercase();
                            !listed.iter().any(|listed| listed.to_lowercase() == bare)
                        })
                        .collect();
                    if kept.len() == example.split(' ').count() || kept.is_empty() {
                        continue;
                    }
                    let whole = Reading::in_language(example, Some(language));
                    let rest = Reading::in_language(&kept.join(" "), Some(language));
                    let says = crate::judge::unsaid(&[&whole], &rest).is_empty();
                    if says != free {
                        wrong.push((language, words));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn no_word_is_both_free_and_turning() {
        for language in Language::ALL {
            for (words, _) in table(language).free {
                for word in words.split_whitespace() {
                    // Tables are written in lower case, in the folded form.
                    let class = lexicon::find(crate::fold::hash(word))
                        .map_or(0, |id| lexicon::entry(id).class(language as usize));
                    assert!(
                        class & FREE == 0 || class & TURN == 0,
                        "{language:?}: {word}"
                    );
                }
            }
        }
    }

    #[test]
    fn spec_3_12_no_free_word_is_exchanged_for_another() {
        let mut unseen = String::new();
        for language in Language::ALL {
            let place = language as usize;
            // Each word by the key that it shares with its other forms, and whether it joins.
            let mut free: Vec<(&str, u64, bool)> = Vec::new();
            for (words, _) in table(language).free {
                assert!(words.split_whitespace().eq(words.split_ascii_whitespace()));
                for word in words.split_whitespace() {
                    let mut folded = String::new();
                    fold_into(word, &mut folded);
                    let class = lexicon::find(hash(&folded))
                        .map_or(0, |id| lexicon::entry(id).class(place));
                    let key = lexicon::form(hash(&folded), place);
                    free.push((word, key, class & JOIN != 0));
                }
            }
            let ordered = free
                .iter()
                .flat_map(|one| free.iter().map(move |other| (one, other)))
                .filter(|(one, other)| one.1 != other.1);
            for (one, other) in ordered {
                let joins = one.2 || other.2;
                // One that stands beside them, so that at a sentence's end there are two.
                let beside = free
                    .iter()
                    .find(|free| !free.2 && free.1 != one.1 && free.1 != other.1)
                    .map_or("", |free| free.0);
                let end = format!("zorp krat {beside}");
                for (before, behind) in [
                    ("", " zorp krat blim."),
                    ("zorp", " krat blim."),
                    ("zorp krat blim", "."),
                    (&*end, ". Blim sorg."),
                    ("Zorp krat.", " blim sorg."),
                ] {
                    // At an end a joining word comes and goes as sentences are put together.
                    if joins && before != "zorp" {
                        continue;
                    }
                    let text = |word: &str| format!("{before} {word}{behind}").replace('_', " ");
                    let read = |text: &str| Reading::in_language(text, Some(language));
                    let present = read(&text(one.0));
                    let written = read(&text(other.0).replace(". Blim", ", blim"));
                    let replaced = [Replaced {
                        present: &present,
                        wordings: &[],
                    }];
                    if unsaid(&[&present], &written).is_empty()
                        || judge(&replaced, &written).is_free()
                    {
                        let (one, other) = (one.0, other.0);
                        let _ = write!(unseen, "\n{language:?}: {before} [{one}/{other}] {behind}");
                    }
                }
            }
        }
        assert!(unseen.is_empty(), "{unseen}");
    }
}
