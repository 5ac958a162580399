//! A parsed question: words, phrases and names, and pairs of characters.

use std::collections::HashSet;

use memoir_text::{Cut, Language, TermKind, is_function_pair, is_function_word};

use super::QUOTES;

/// Most terms of a question that is searched as a whole too.
// Longer ones hardly occur in a memory literally; the search reads every place of the terms.
const WHOLE: usize = 24;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct QueryElement {
    /// As in the question, folded.
    pub(super) text: String,
    pub(super) sought: SoughtForm,
    /// Whether it says nothing of what is asked for: a function word, or a whole question of function words.
    pub(super) is_stop: bool,
    /// Whether it is a function word, beside others that are not.
    pub(super) is_function: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum SoughtForm {
    /// A word or a sign, by its key.
    Word(u64),
    /// Two characters, by their keys.
    Pair([u64; 2]),
    /// One character that is alone in the question.
    Character(u64),
    /// Consecutive terms.
    Sequence {
        keys: Vec<u64>,
        /// Its words, which are searched where the sequence has no match.
        words: Vec<(String, u64)>,
        /// Whether nothing is found without it.
        must: bool,
    },
    /// The question as a whole, of several terms.
    Whole(Vec<u64>),
}

pub(super) struct RecallQuestion {
    pub(super) language: Option<Language>,
    /// Each once.
    pub(super) elements: Vec<QueryElement>,
    known: HashSet<SoughtForm>,
}

impl RecallQuestion {
    pub(super) fn of(text: &str) -> Self {
        let mut question = Self {
            language: Cut::of(text).language(),
            elements: Vec::new(),
            known: HashSet::new(),
        };
        let parts = parts_of(text);
        for (part, is_phrase) in &parts {
            if *is_phrase {
                question.phrase(part);
            } else {
                question.words(part);
            }
        }
        // Beside a phrase the rest is no sentence, and a single element is the whole already.
        if parts.len() < 3 && question.elements.len() > 1 {
            question.whole(text);
        }
        question
    }

    /// A literal occurrence in a memory is a better match than separate words.
    fn whole(&mut self, text: &str) {
        let keys = keys_of(text);
        if keys.len() <= WHOLE {
            let sought = SoughtForm::Whole(keys);
            self.put(crate::text::fold(text.trim()), sought);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// Marks function words, unless there are no others. `fallback` is the language where the question's own is not
    /// certain.
    pub(super) fn mark_function_words(&mut self, fallback: Language) {
        let language = self.language.unwrap_or(fallback);
        let says_nothing = |element: &QueryElement| match &element.sought {
            SoughtForm::Word(_) | SoughtForm::Character(_) => {
                is_function_word(&element.text, language)
            }
            SoughtForm::Pair(_) => {
                let mut parts = [String::new(), String::new()];
                for (at, character) in element.text.chars().enumerate() {
                    parts[at.min(1)].push(character);
                }
                is_function_word(&element.text, language)
                    || is_function_pair(&parts[0], &parts[1], language)
            }
            SoughtForm::Sequence { .. } | SoughtForm::Whole(_) => false,
        };
        // The whole is counted by its words: of function words alone, it says nothing either.
        let is_whole = |element: &QueryElement| matches!(element.sought, SoughtForm::Whole(_));
        let all_stop = {
            let mut parts = self.elements.iter().filter(|element| !is_whole(element));
            parts.all(says_nothing)
        };
        for element in &mut self.elements {
            element.is_stop = all_stop || says_nothing(element);
            element.is_function = element.is_stop && !all_stop;
        }
    }

    fn put(&mut self, text: String, sought: SoughtForm) {
        if self.known.insert(sought.clone()) {
            self.elements.push(QueryElement {
                text,
                sought,
                is_stop: false,
                is_function: false,
            });
        }
    }

    fn phrase(&mut self, text: &str) {
        let keys = keys_of(text);
        if !keys.is_empty() {
            let sought = SoughtForm::Sequence {
                keys,
                words: Vec::new(),
                must: true,
            };
            self.put(crate::text::fold(text.trim()), sought);
        }
    }

    fn words(&mut self, text: &str) {
        let mut name = QuestionName::default();
        let mut before: Option<Character> = None;
        let mut found: Vec<(String, SoughtForm)> = Vec::new();
        // A character is looked for by itself only where no pair holds it.
        let ends = |character: Option<Character>, found: &mut Vec<_>| {
            if let Some(Character { key, text, alone }) = character
                && alone
            {
                found.push((text, SoughtForm::Character(key)));
            }
        };
        Cut::of(text).each(|term| {
            if term.name != name.number {
                found.extend(std::mem::take(&mut name).sought());
                name.number = term.name;
            }
            if term.name != 0 {
                ends(before.take(), &mut found);
                name.put(term.word, term.key, term.kind);
                return;
            }
            match term.kind {
                TermKind::Character { follows } => {
                    let mut alone = true;
                    match before.take() {
                        Some(first) if follows => {
                            let text = format!("{}{}", first.text, term.word);
                            found.push((text, SoughtForm::Pair([first.key, term.key])));
                            alone = false;
                        }
                        other => ends(other, &mut found),
                    }
                    before = Some(Character {
                        key: term.key,
                        text: term.word.to_owned(),
                        alone,
                    });
                }
                _ => {
                    ends(before.take(), &mut found);
                    found.push((term.word.to_owned(), SoughtForm::Word(term.key)));
                }
            }
        });
        ends(before, &mut found);
        found.extend(name.sought());
        for (text, sought) in found {
            self.put(text, sought);
        }
    }
}

/// The parts of a question between quotes, and for each whether it is a phrase.
fn parts_of(text: &str) -> Vec<(&str, bool)> {
    let mut parts: Vec<(&str, bool)> = Vec::new();
    for part in text.split(QUOTES) {
        parts.push((part, parts.len() % 2 == 1));
    }
    // A quote that nothing closes is none.
    if let Some((_, is_phrase)) = parts.last_mut() {
        *is_phrase = false;
    }
    parts
}

/// The phrases of a question that have no term, such as "_", folded: only the texts of the memories have them.
pub(super) fn literal_phrases(text: &str) -> Vec<String> {
    let phrases = parts_of(text).into_iter();
    let phrases = phrases.filter(|(part, is_phrase)| *is_phrase && !part.trim().is_empty());
    let literal = phrases.filter(|(part, _)| keys_of(part).is_empty());
    literal
        .map(|(part, _)| crate::text::fold(part.trim()))
        .collect()
}

/// The keys of the terms of a text, in their order.
fn keys_of(text: &str) -> Vec<u64> {
    let mut keys = Vec::new();
    Cut::of(text).each(|term| {
        if term.kind != TermKind::Whole {
            keys.push(term.key);
        }
    });
    keys
}

/// The character before.
struct Character {
    key: u64,
    text: String,
    /// Whether no pair has it.
    alone: bool,
}

/// A name of the question, as far as it was read.
#[derive(Default)]
struct QuestionName {
    number: u32,
    text: String,
    keys: Vec<u64>,
    words: Vec<(String, u64)>,
}

impl QuestionName {
    fn put(&mut self, word: &str, key: u64, kind: TermKind) {
        match kind {
            TermKind::Whole => self.words.push((word.to_owned(), key)),
            kind => {
                self.text.push_str(word);
                self.keys.push(key);
                if kind != TermKind::Mark {
                    self.words.push((word.to_owned(), key));
                }
            }
        }
    }

    fn sought(self) -> Option<(String, SoughtForm)> {
        match self.keys.as_slice() {
            [] => None,
            [key] => Some((self.text, SoughtForm::Word(*key))),
            _ => {
                let sought = SoughtForm::Sequence {
                    keys: self.keys,
                    words: self.words,
                    must: false,
                };
                Some((self.text, sought))
            }
        }
    }
}
