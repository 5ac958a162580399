//! The languages that there are tables for, and which of them a text is in.

use crate::languages::{LanguageTable, table};
use crate::lexicon::{self, LexiconEntry};
use crate::scan::{Script, Token};

macro_rules! languages {
    ($($variant:ident $code:literal $doc:literal),* $(,)?) => {
        /// A language that Memoir has a table of words for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Language {
            $(#[doc = $doc] $variant,)*
        }

        impl Language {
            /// Every language, in the order of the tables.
            pub(crate) const ALL: [Language; 15] = [$(Language::$variant),*];

            /// The ISO 639-1 code, as it is stored with a wording: `en`.
            pub fn code(self) -> &'static str {
                match self { $(Language::$variant => $code,)* }
            }
        }
    };
}

languages! {
    English "en" "English.",
    German "de" "German.",
    French "fr" "French.",
    Spanish "es" "Spanish.",
    Italian "it" "Italian.",
    Portuguese "pt" "Portuguese.",
    Dutch "nl" "Dutch.",
    Swedish "sv" "Swedish.",
    Polish "pl" "Polish.",
    Russian "ru" "Russian.",
    Turkish "tr" "Turkish.",
    Chinese "zh" "Chinese.",
    Japanese "ja" "Japanese.",
    Korean "ko" "Korean.",
    Arabic "ar" "Arabic.",
}

/// How many languages there are.
pub(crate) const LANGUAGES: usize = Language::ALL.len();

impl Language {
    /// Every language that there is a table for.
    pub fn every() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter()
    }

    /// The language of a stored code; `None` where there is no table for it.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|language| language.code() == code)
    }

    /// The language that `text` is in; `None` where that is not sure. Then nothing is free, and
    /// the turning words of all languages turn (SPEC 3.12).
    pub fn of(text: &str) -> Option<Self> {
        let scanned = crate::scan::scan(text);
        Self::of_tokens(text, &scanned.tokens)
    }

    pub(crate) fn of_tokens(text: &str, tokens: &[Token]) -> Option<Self> {
        let mut letters = [0_u32; Script::COUNT];
        let mut scores = [0_u32; LANGUAGES];
        let mut words = 0_u32;
        for token in tokens {
            let Some(script) = token.script else { continue };
            // Bytes, not letters: scripts differ in how many bytes a letter has, and the one of more bytes
            // weighs more.
            letters[script as usize] += token.end - token.start;
            words += 1;
            if let Some(entry) = token.entry {
                count_evidence(lexicon::entry(entry), &mut scores);
            }
        }
        let all: u32 = letters.iter().sum();
        let (most, script) = Script::ALL
            .into_iter()
            .map(|script| (letters[script as usize], script))
            .max_by_key(|(count, _)| *count)?;
        // A text in two scripts is in no one language, but for kana and Han, which are one.
        let japanese = letters[Script::Kana as usize] > 0;
        let together = match script {
            Script::Han | Script::Kana => {
                letters[Script::Han as usize] + letters[Script::Kana as usize]
            }
            _ => most,
        };
        if all == 0 || together * 4 < all * 3 {
            return None;
        }
        match script {
            Script::Han | Script::Kana if japanese => Some(Language::Japanese),
            Script::Han | Script::Kana => Some(Language::Chinese),
            Script::Hangul => Some(Language::Korean),
            Script::Arabic => (!text.contains(NOT_ARABIC)).then_some(Language::Arabic),
            Script::Cyrillic if text.contains(NOT_RUSSIAN) => None,
            // The letters of the languages beside Russian may not occur in a short text, so that its words must
            // be Russian, too.
            Script::Cyrillic => decide(&scores, words).filter(|l| *l == Language::Russian),
            Script::Latin => decide(&scores, words),
            Script::Other => None,
        }
    }

    pub(crate) fn table(self) -> &'static LanguageTable {
        table(self)
    }
}

/// Letters that Persian and Urdu have and Arabic has not.
const NOT_ARABIC: [char; 7] = ['پ', 'چ', 'ژ', 'گ', 'ک', 'ی', 'ٹ'];
/// Letters that Ukrainian, Belarusian, Serbian and Macedonian have and Russian has not.
const NOT_RUSSIAN: [char; 12] = ['і', 'ї', 'є', 'ґ', 'ў', 'ј', 'љ', 'њ', 'ћ', 'ђ', 'І', 'Ї'];

fn count_evidence(entry: &LexiconEntry, scores: &mut [u32; LANGUAGES]) {
    let mut languages = entry.evidence;
    // A word that only one language has says more than one that several share.
    let worth = if languages.count_ones() == 1 { 2 } else { 1 };
    // A word of every day in one language only is weak evidence, and none beside a word that is listed as
    // evidence.
    if entry.common.count_ones() == 1 && languages & entry.common == 0 {
        scores[entry.common.trailing_zeros() as usize] += 1;
    }
    while languages != 0 {
        scores[languages.trailing_zeros() as usize] += worth;
        languages &= languages - 1;
    }
}

/// The language with the most evidence, if it has clearly more than any other.
fn decide(scores: &[u32; LANGUAGES], words: u32) -> Option<Language> {
    let (best, language) = scores
        .iter()
        .copied()
        .zip(Language::ALL)
        .max_by_key(|(score, _)| *score)?;
    let second = scores
        .iter()
        .copied()
        .zip(Language::ALL)
        .filter(|(_, other)| *other != language)
        .map(|(score, _)| score)
        .max()
        .unwrap_or(0);
    // One word of one language alone is enough in a short sentence only: a long one in that
    // language would have more of them.
    let enough = best >= 3 || best >= 2 && second == 0 && words <= 8;
    // Half as much again as the next: neighbours such as Spanish and Portuguese share many words.
    (enough && best > second + second / 2).then_some(language)
}
