//! One table of words for each language.
//!
//! Owns the words and nothing else. Words of a row are separated by white space; `_` joins the words of a
//! phrase. Words of scripts without spaces, and Korean ones where it says so, are parts of a text.

mod arabic;
mod chinese;
mod dutch;
pub(crate) mod english;
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

macro_rules! language_table {
    ($($(#[$doc:meta])* $row:ident),* $(,)?) => {
        pub(crate) struct LanguageTable {
            $($(#[$doc])* pub(crate) $row: &'static str,)*
            /// Whether within a sentence only names are written with a capital.
            pub(crate) marks_names: bool,
        }

        impl LanguageTable {
            /// A table without words.
            pub(crate) const EMPTY: LanguageTable = LanguageTable { $($row: "",)* marks_names: false };
        }
    };
}

language_table! {
    /// Words by which a text in this language is known, and that say nothing of what is asked for.
    function,
    /// Further words that say nothing of what is asked for, and are no evidence of the language.
    asking,
    /// Further words by which a text in this language is known, and that say something.
    telling,
    /// Words of every day that no other language has, weak evidence.
    common,
    /// Pairs of a number word and its digits.
    numbers,
    /// Words by which a text says that something has changed. In Chinese, Japanese and Korean parts of a text.
    correcting,
    /// Do not end a sentence though a full stop follows.
    abbreviations,
    /// Words that negate.
    negations,
    /// Parts by which a word negates; in Chinese and Japanese parts of a text.
    negation_parts,
    /// Words with such a part that do not negate.
    not_negations,
    /// Words and phrases whose meaning depends on the day on which they were said. In Chinese, Japanese and
    /// Korean parts of a text.
    relative,
    /// Such words but behind others: `morgen=am_jeden`, "tomorrow" and "in the morning".
    unless,
    /// Make a span of time that follows relative: "last".
    shifts,
    /// Make a span of time that stands before them relative: French "dernier".
    shifts_behind,
    /// Spans of time, besides months and days of the week.
    spans,
    /// Before an amount and a span: German "vor zwei Wochen".
    ago_before,
    /// Behind an amount and a span: Dutch "twee weken geleden".
    ago_behind,
    /// Words for amounts beside the number words.
    amounts,
    /// The twelve months, the forms of each separated by `/`.
    months,
    /// The seven days of the week from Monday on, likewise.
    weekdays,
    /// Beside which a number of four digits is a year.
    years,
    /// Endings in which two forms of one name may differ, without accents.
    name_endings,
    /// Pronouns that name no one and are always the subject where a sentence begins with them. None in scripts without
    /// capitals, where no names are known.
    subjects,
    /// Behind such a pronoun, tell who it is: "she who".
    defining,
    /// The parties of a conversation, who are known: the first person, and the user.
    parties,
}

/// The tables, in the order of the languages.
#[rustfmt::skip]
pub(crate) const TABLES: [&LanguageTable; Language::ALL.len()] = [
    &english::TABLE, &german::TABLE, &french::TABLE, &spanish::TABLE, &italian::TABLE, &portuguese::TABLE,
    &dutch::TABLE, &swedish::TABLE, &polish::TABLE, &russian::TABLE, &turkish::TABLE, &chinese::TABLE,
    &japanese::TABLE, &korean::TABLE, &arabic::TABLE,
];
