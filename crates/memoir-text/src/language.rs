//! The languages that there are tables for, and which of them a text is in.

use crate::languages::{LanguageTable, TABLES};
use crate::lexicon::{Languages, LexiconEntry};
use crate::scan::{Script, Token};

macro_rules! languages {
    ($($language:ident),* $(,)?) => {
        /// A language that Memoir has a table of words for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Language {
            $(#[doc = stringify!($language)] $language,)*
        }

        impl Language {
            /// Every language, in the order of the tables.
            pub const ALL: [Language; 15] = [$(Language::$language),*];
        }
    };
}

languages! {
    English, German, French, Spanish, Italian, Portuguese, Dutch, Swedish, Polish, Russian, Turkish, Chinese, Japanese,
    Korean, Arabic,
}

pub(crate) const LANGUAGES: usize = Language::ALL.len();

impl Language {
    pub(crate) fn bit(self) -> Languages {
        1 << self as u16
    }

    /// The language that these tokens of `text` are in; `None` where that is not sure.
    pub(crate) fn of_tokens(text: &str, tokens: &[Token]) -> Option<Self> {
        Evidence::of(tokens).language(text)
    }

    /// The language that has most evidence, however little, its letters included.
    pub(crate) fn likeliest(text: &str, tokens: &[Token]) -> Option<Self> {
        let mut evidence = Evidence::of(tokens);
        evidence.language(text).or_else(|| {
            for (language, letters) in LETTERS {
                evidence.scores[language as usize] += text.matches(letters).count() as u32;
            }
            let (best, second, language) = evidence.best()?;
            (best > second).then_some(language)
        })
    }

    pub(crate) fn table(self) -> &'static LanguageTable {
        TABLES[self as usize]
    }
}

/// What speaks for the language of a text.
struct Evidence {
    /// Bytes of words in each script, not letters: a script whose letters have more bytes weighs more.
    letters: [u32; Script::COUNT],
    scores: [u32; LANGUAGES],
    words: u32,
}

impl Evidence {
    fn of(tokens: &[Token]) -> Self {
        let mut evidence = Evidence {
            letters: [0; Script::COUNT],
            scores: [0; LANGUAGES],
            words: 0,
        };
        for token in tokens {
            let Some(script) = token.script else { continue };
            evidence.letters[script as usize] += token.end - token.start;
            evidence.words += 1;
            if let Some(entry) = token.entry {
                count_evidence(entry, &mut evidence.scores);
            }
        }
        evidence
    }

    fn language(&self, text: &str) -> Option<Language> {
        let all: u32 = self.letters.iter().sum();
        let of = |script: Script| self.letters[script as usize];
        let script = Script::ALL.into_iter().max_by_key(|script| of(*script))?;
        // A text in two scripts is in no single language, but for kana and Han, which are one.
        let together = match script {
            Script::Han | Script::Kana => of(Script::Han) + of(Script::Kana),
            _ => of(script),
        };
        if all == 0 || together * 4 < all * 3 {
            return None;
        }
        match script {
            Script::Han | Script::Kana if of(Script::Kana) > 0 => Some(Language::Japanese),
            Script::Han | Script::Kana => Some(Language::Chinese),
            Script::Hangul => Some(Language::Korean),
            Script::Arabic => (!text.contains(NOT_ARABIC)).then_some(Language::Arabic),
            Script::Cyrillic if text.contains(NOT_RUSSIAN) => None,
            // The letters of the languages beside Russian may not occur in a short text, so that its words must
            // be Russian, too.
            Script::Cyrillic => self.decide().filter(|l| *l == Language::Russian),
            Script::Latin => self.decide(),
            Script::Other => None,
        }
    }

    /// The language with the most evidence, if it has clearly more than any other.
    fn decide(&self) -> Option<Language> {
        let (best, second, language) = self.best()?;
        // One word of one language alone is enough in a short sentence only: a long one in that
        // language would have more of them.
        let enough = best >= 3 || best >= 2 && second == 0 && self.words <= 8;
        // Half as much again as the next: neighbours such as Spanish and Portuguese share many words.
        (enough && best > second + second / 2).then_some(language)
    }

    /// The most evidence of a language, the second most, and the language.
    fn best(&self) -> Option<(u32, u32, Language)> {
        let scored = || self.scores.iter().copied().zip(Language::ALL);
        let (best, language) = scored().max_by_key(|(score, _)| *score)?;
        let others = scored().filter(|(_, other)| *other != language);
        let second = others.map(|(score, _)| score).max().unwrap_or(0);
        Some((best, second, language))
    }
}

/// Letters that hardly any other language with a table has.
const LETTERS: [(Language, &[char]); 5] = [
    (Language::German, &['ß']),
    (Language::Spanish, &['ñ', '¿', '¡']),
    (Language::Portuguese, &['ã', 'õ']),
    (Language::Polish, &['ą', 'ę', 'ł', 'ż', 'ź', 'ś', 'ń', 'ć']),
    (Language::Turkish, &['ğ', 'ı', 'ş', 'İ']),
];
/// Letters that Persian and Urdu have and Arabic has not.
const NOT_ARABIC: [char; 7] = ['پ', 'چ', 'ژ', 'گ', 'ک', 'ی', 'ٹ'];
/// Letters that Ukrainian, Belarusian, Serbian and Macedonian have and Russian has not.
const NOT_RUSSIAN: [char; 12] = ['і', 'ї', 'є', 'ґ', 'ў', 'ј', 'љ', 'њ', 'ћ', 'ђ', 'І', 'Ї'];

fn count_evidence(entry: LexiconEntry, scores: &mut [u32; LANGUAGES]) {
    let mut languages = entry.evidence;
    // A word that only one language has says more than one that several share.
    let worth = if languages.count_ones() == 1 { 2 } else { 1 };
    if entry.common.count_ones() == 1 && languages & entry.common == 0 {
        scores[entry.common.trailing_zeros() as usize] += 1;
    }
    while languages != 0 {
        scores[languages.trailing_zeros() as usize] += worth;
        languages &= languages - 1;
    }
}
