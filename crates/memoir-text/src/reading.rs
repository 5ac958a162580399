//! A text in its words, and the languages whose tables are asked about it.
//!
//! Owns the forms under which a word is looked up. What a word is, is decided where it is asked.

use std::ops::Range;

use crate::fold::{fold_into, hash};
use crate::language::Language;
use crate::languages::LanguageTable;
use crate::lexicon::{ByHash, Languages};
use crate::scan::{Token, scan};

pub(crate) struct Reading<'t> {
    pub(crate) text: &'t str,
    pub(crate) tokens: Vec<Token>,
    /// Of each token the hashes under which it is looked up: its own, and those of its parts where an apostrophe
    /// parts it.
    pub(crate) forms: Vec<Vec<u64>>,
}

impl<'t> Reading<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        let tokens = scan(text);
        let mut folded = String::new();
        let forms = tokens.iter().map(|token| {
            let mut forms = vec![token.hash];
            if token.apostrophe {
                fold_into(token.of(text), &mut folded);
                forms.extend(folded.split('\'').map(hash));
                // The English "not" has no apostrophe before it: "isn't".
                if folded.ends_with("n't") {
                    forms.push(hash("n't"));
                }
            }
            forms
        });
        Reading {
            text,
            forms: forms.collect(),
            tokens,
        }
    }

    /// A token as it stands in the text.
    pub(crate) fn text_of(&self, at: usize) -> &'t str {
        let token = self.tokens.get(at);
        token.map_or("", |token| token.of(self.text))
    }

    pub(crate) fn place(&self, at: usize) -> Range<usize> {
        self.tokens[at].place()
    }

    /// Whether some of these languages list the word at `at`.
    pub(crate) fn is(&self, at: usize, listed: &ByHash<Languages>, languages: Languages) -> bool {
        let forms = self.forms.get(at).map_or(&[][..], Vec::as_slice);
        let is = |form: &u64| listed.get(form).is_some_and(|of| of & languages != 0);
        forms.iter().any(is)
    }

    /// Whether a word is so long, or of such letters, that it is hardly a word of another language.
    pub(crate) fn is_distinct(&self, at: usize) -> bool {
        let word = self.text_of(at);
        word.len() >= 6 || !word.is_ascii()
    }

    /// The places of the listed parts of a text, in the languages that list parts, but in the words `except`.
    pub(crate) fn parts(
        &self,
        tongues: Tongues,
        row: impl Fn(&LanguageTable) -> &'static str,
        except: impl Fn(&LanguageTable) -> &'static str,
    ) -> Vec<Range<usize>> {
        let mut places = Vec::new();
        for language in [Language::Chinese, Language::Japanese, Language::Korean] {
            if language.bit() & (tongues.sure | tongues.unsure) == 0 {
                continue;
            }
            let but: Vec<Range<usize>> = except(language.table())
                .split_ascii_whitespace()
                .flat_map(|word| places_of(self.text, word))
                .collect();
            for part in row(language.table()).split_ascii_whitespace() {
                let part = part.replace('_', " ");
                let found = places_of(self.text, &part);
                places.extend(found.filter(|place| {
                    !but.iter()
                        .any(|but| but.start < place.end && place.start < but.end)
                }));
            }
        }
        places
    }
}

fn places_of(text: &str, part: &str) -> impl Iterator<Item = Range<usize>> {
    let length = part.len();
    text.match_indices(part).map(move |(at, _)| at..at + length)
}

/// The languages that a text is read in.
#[derive(Clone, Copy)]
pub(crate) struct Tongues {
    /// The language that it is recognised to be in, or those that it is most likely in.
    pub(crate) sure: Languages,
    /// All others, where none is recognised: asked only about words that are hardly words of another language.
    pub(crate) unsure: Languages,
    /// The recognised or most likely language.
    pub(crate) language: Option<Language>,
}

impl Tongues {
    /// Of a text. `beside`: a longer text that is probably in the same language, for where its own is not recognised.
    pub(crate) fn of(reading: &Reading<'_>, beside: Option<&Reading<'_>>) -> Self {
        let beside = beside.unwrap_or(reading);
        let known = Language::of_tokens(reading.text, &reading.tokens)
            .or_else(|| Language::of_tokens(beside.text, &beside.tokens));
        if let Some(language) = known {
            return Tongues {
                sure: language.bit(),
                unsure: 0,
                language: Some(language),
            };
        }
        let language = Language::likeliest(beside.text, &beside.tokens);
        let sure = language.unwrap_or(Language::English).bit();
        Tongues {
            sure,
            unsure: Languages::MAX & !sure,
            language,
        }
    }
}
