//! What a text is found by, for an index in memory that looks for texts which may say a sentence: hashes that are the
//! same for all forms of a word in any language, so that a text is filed without its language being known.
//!
//! A text that says a sentence has all keys of that sentence, whatever languages the two are read in, but for words
//! that it writes as a part of a short form ("l'ami") or with a decimal mark. A text of free words alone has none.

use std::cmp::Reverse;

use zeroize::{Zeroize, Zeroizing};

use crate::fold::{fold_into, hash, may_fold_to_ascii};
use crate::lexicon::{self, NAME, WordClass};
use crate::reading::Reading;
use crate::says::STRICT;
use crate::scan::scan;

/// The keys of a text. Wiped when they go, as a [`Reading`] is: who knows them can try texts on them.
pub struct TextKeys {
    /// Each once.
    sorted: Vec<u64>,
    /// Whether no word of it may be read otherwise than by its key.
    is_complete: bool,
}

/// What one sentence is looked for by.
/// Wiped when it goes.
pub struct SentenceKeys {
    /// How many words count in it.
    words: u64,
    /// Those of the words that have one, and whether nothing of the sentence is said without the word.
    keys: Vec<(u64, bool)>,
}

impl TextKeys {
    /// The keys of a text, which need not be read for them.
    pub fn of(text: &str) -> Self {
        let scanned = scan(text);
        let mut sorted = Vec::with_capacity(scanned.tokens.len());
        let mut is_complete = true;
        for token in scanned.tokens {
            let slice = text.get(token.start as usize..token.end as usize);
            match slice.is_some_and(is_plain) {
                true => sorted.extend(lexicon::index_key(token.hash)),
                false => is_complete = false,
            }
        }
        sorted.sort_unstable();
        sorted.dedup();
        Self {
            sorted,
            is_complete,
        }
    }

    /// Each key once.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u64> {
        self.sorted.iter().copied()
    }

    /// How many words of these sentences the text does not say at the least: never more than
    /// [`unsaid_words`](crate::unsaid_words), and told without reading it.
    pub fn unsaid_at_least(&self, sentences: &[SentenceKeys]) -> u64 {
        if !self.is_complete {
            return 0;
        }
        let unsaid = |sentence: &SentenceKeys| {
            let lacks = |key| self.sorted.binary_search(key).is_err();
            let lost = sentence.keys.iter().filter(|(key, _)| lacks(key));
            // As where sentences are laid beside each other: without a name, a number, a turning or a quoted word
            // nothing of one is said.
            let counts = lost.map(|(_, is_strict)| if *is_strict { sentence.words } else { 1 });
            counts.sum::<u64>().min(sentence.words)
        };
        sentences.iter().map(unsaid).sum()
    }
}

impl Drop for TextKeys {
    fn drop(&mut self) {
        self.sorted.zeroize();
    }
}

impl Drop for SentenceKeys {
    fn drop(&mut self) {
        self.keys.zeroize();
    }
}

impl SentenceKeys {
    /// What the sentences of a text are looked for by.
    pub fn of(reading: &Reading) -> impl Iterator<Item = Self> {
        const ALONE: WordClass = STRICT | NAME;
        (0..reading.sentences()).map(|n| {
            let words = reading.of_sentence(n);
            let plain = words.iter().filter(|word| is_plain(reading.form(word)));
            Self {
                words: words.len() as u64,
                keys: plain
                    .filter_map(|word| Some((lexicon::index_key(word.key)?, word.is(ALONE))))
                    .collect(),
            }
        })
    }

    /// Its keys.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        self.keys.iter().map(|(key, _)| *key)
    }
}

/// Words that stand letter by letter, whatever its language, in a text that says all sentences of some others. Wiped
/// when they go.
pub struct RequiredWords(Vec<Zeroizing<String>>);

/// So many words tell texts apart, numbers first and then the longest; more would cost more than reading what is left.
const REQUIRED: usize = 8;

impl RequiredWords {
    /// Of the words of these texts those that no table knows, so that nothing else is a form of them.
    pub fn of(texts: &[&Reading]) -> Self {
        // As long as words are: a buffer that grows leaves some behind.
        let mut folded = String::with_capacity(64);
        let mut words: Vec<Zeroizing<String>> = Vec::new();
        for text in texts {
            for word in text.all_words() {
                let form = text.form(word);
                // A number of four digits may stand with a mark between its thousands.
                let is_short_number = form.len() <= 3 && is_number(form);
                let is_word = form.bytes().all(|byte| byte.is_ascii_alphabetic());
                fold_into(form, &mut folded);
                // The parts of a short form stand at the place of the whole, and are not what it says there.
                let is_itself = hash(&folded) == word.key && lexicon::find(word.key).is_none();
                if is_itself && (is_short_number || is_word) {
                    words.push(Zeroizing::new(folded.clone()));
                }
            }
        }
        folded.zeroize();
        // Texts that are made after one pattern differ in their numbers.
        words.sort_unstable_by(|one, other| {
            let key = |word: &str| (!is_number(word), Reverse(word.len()));
            key(one).cmp(&key(other)).then_with(|| one.cmp(other))
        });
        words.dedup();
        words.truncate(REQUIRED);
        Self(words)
    }

    /// Whether there are none, and so nothing is told by them.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a text may say all of the sentences; `false` is certain, and told without reading it.
    pub fn may_stand_in(&self, text: &str) -> bool {
        self.0.iter().all(|word| stands_in(word, text))
            // A word may stand there in letters of another shape.
            || !text.is_ascii() && text.contains(may_fold_to_ascii)
    }
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether these lower-case letters or digits stand in `text`, in any case.
fn stands_in(word: &str, text: &str) -> bool {
    let in_other_case = || {
        let (text, word) = (text.as_bytes(), word.as_bytes());
        let mut places = text.windows(word.len());
        places.any(|here| here.eq_ignore_ascii_case(word))
    };
    // The first is many times as fast, and settles it for numbers.
    text.contains(word) || !is_number(word) && in_other_case()
}

/// Whether a word is read alike in every language: short forms and decimal marks are not.
fn is_plain(form: &str) -> bool {
    // Most words have no byte of any of them.
    let may_be = |byte: u8| matches!(byte, b'\'' | b'.' | b',') || !byte.is_ascii();
    !(form.bytes().any(may_be) && form.contains(['\'', '’', 'ʼ', '.', ',']))
}
