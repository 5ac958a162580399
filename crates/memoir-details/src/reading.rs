//! A text that has been read: its sentences and the words of them that count.

use std::fmt;

use zeroize::{DefaultIsZeroes, Zeroize};

use crate::language::Language;
use crate::lexicon::{CAPITAL, FreeWords, NAME, place};
use crate::scan::{Scanned, scan};
use crate::words::{TokenReader, Word, is_exchanged};

/// A text, its sentences and the words that count. Wiped when it goes.
#[derive(Clone)]
pub struct Reading {
    text: Box<str>,
    language: Option<Language>,
    words: Vec<Word>,
    sentences: Vec<Sentence>,
    /// Words that stand capitalised inside a sentence, sorted.
    names: Vec<u64>,
    /// The free words, in their order.
    free: Box<[Word]>,
    relative: bool,
}

/// One sentence of a reading.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sentence {
    start: u32,
    end: u32,
    from: u32,
    to: u32,
    /// Equal for sentences with equal words.
    pub(crate) same: u64,
    /// One bit for each word: a sentence that lacks a bit lacks a word.
    pub(crate) signature: u64,
    pub(crate) frame: Option<u64>,
    /// The free words behind its last counting word.
    pub(crate) tail: FreeWords,
}

impl Reading {
    /// Reads a text in the language that it is in.
    pub fn of(text: &str) -> Self {
        let scanned = scan(text);
        let language = Language::of_tokens(text, &scanned.tokens);
        Self::build(text, &scanned, language)
    }

    /// Reads a text in the language that was decided when its wording was saved. `None`: nothing is
    /// free, and the turning words of all languages turn.
    pub fn in_language(text: &str, language: Option<Language>) -> Self {
        Self::build(text, &scan(text), language)
    }

    fn build(text: &str, scanned: &Scanned, language: Option<Language>) -> Self {
        let mut words = Vec::with_capacity(scanned.tokens.len());
        let mut sentences = Vec::with_capacity(scanned.sentences.len());
        let table = language.map(Language::table);
        let mut reader = TokenReader::new(
            text,
            place(language),
            table.is_some_and(|table| table.decimal_comma),
            table.is_some_and(|table| table.capital_nouns),
        );
        for span in &scanned.sentences {
            let from = words.len();
            let tokens = &scanned.tokens[span.from as usize..span.to as usize];
            let outline = reader.sentence(tokens, &mut words);
            let own = &words[from..];
            sentences.push(Sentence {
                start: span.start,
                end: span.end,
                from: from as u32,
                to: words.len() as u32,
                // In their order, which a sum of the keys would forget; equal values are compared word by word
                // (`same`).
                same: own.iter().fold(own.len() as u64, |mixed, word| {
                    (mixed.rotate_left(5) ^ word.key).wrapping_mul(0x9E37_79B9_7F4A_7C15)
                }),
                signature: own.iter().fold(0, |bits, word| bits | bit(word.key)),
                frame: outline.frame,
                tail: outline.tail,
            });
        }
        let mut names = reader.names;
        names.sort_unstable();
        names.dedup();
        Reading {
            text: text.into(),
            language,
            free: reader.free.into(),
            relative: reader.relative,
            words,
            sentences,
            names,
        }
    }

    /// The language it was read in.
    pub fn language(&self) -> Option<Language> {
        self.language
    }

    /// How many words count: all that are not free.
    pub fn words(&self) -> u32 {
        self.words.len() as u32
    }

    /// How many sentences it has.
    pub fn sentences(&self) -> usize {
        self.sentences.len()
    }

    /// A sentence as it stands in the text, trimmed; empty where there is no such sentence.
    pub fn sentence(&self, n: usize) -> &str {
        self.sentences
            .get(n)
            .map_or("", |s| self.slice(s.start, s.end))
    }

    /// About how many bytes it takes in memory.
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.text.len()
            + (self.words.len() + self.free.len()) * size_of::<Word>()
            + self.sentences.len() * size_of::<Sentence>()
            + self.names.len() * size_of::<u64>()
    }

    /// Whether its meaning depends on the day on which it was said: "yesterday", "last", "ago".
    pub fn has_relative_time(&self) -> bool {
        self.relative
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn slice(&self, start: u32, end: u32) -> &str {
        self.text.get(start as usize..end as usize).unwrap_or("")
    }

    pub(crate) fn outline(&self, n: usize) -> &Sentence {
        &self.sentences[n]
    }

    pub(crate) fn outlines(&self) -> &[Sentence] {
        &self.sentences
    }

    /// The counting words of a sentence.
    pub(crate) fn of_sentence(&self, n: usize) -> &[Word] {
        let sentence = &self.sentences[n];
        &self.words[sentence.from as usize..sentence.to as usize]
    }

    pub(crate) fn free_words(&self) -> &[Word] {
        &self.free
    }

    pub(crate) fn all_words(&self) -> &[Word] {
        &self.words
    }

    /// A word as its author wrote it.
    pub(crate) fn form(&self, word: &Word) -> &str {
        self.slice(word.start, word.end)
    }

    /// Whether a word is a name, here or in `other`.
    pub(crate) fn is_name(&self, word: &Word, other: &Reading) -> bool {
        word.is(NAME)
            || word.is(CAPITAL)
                && (self.names.binary_search(&word.key).is_ok()
                    || other.names.binary_search(&word.key).is_ok())
    }

    /// Whether two sentences have the same words in the same order, and no free word of this one is
    /// exchanged for another.
    pub(crate) fn same(&self, s: usize, other: &Reading, n: usize) -> bool {
        let (one, two) = (self.outline(s), other.outline(n));
        one.same == two.same && !is_exchanged(one.tail, two.tail) && {
            let (one, two) = (self.of_sentence(s), other.of_sentence(n));
            let equal = |(i, (a, b)): (usize, (&Word, &Word))| {
                let exchanged = if i == 0 {
                    Word::is_exchanged_first
                } else {
                    Word::is_exchanged
                };
                a.key == b.key && !exchanged(a, b)
            };
            one.len() == two.len() && one.iter().zip(two).enumerate().all(equal)
        }
    }
}

impl DefaultIsZeroes for Sentence {}

impl Drop for Reading {
    /// Words are wiped as their text is: who knows the hashes can try texts on them.
    fn drop(&mut self) {
        self.text.zeroize();
        self.words.zeroize();
        self.sentences.zeroize();
        self.names.zeroize();
        self.free.zeroize();
    }
}

/// The bit of a word in a signature.
pub(crate) fn bit(key: u64) -> u64 {
    // The upper six bits of the hash; any six are as good.
    1 << (key >> 58)
}

impl fmt::Debug for Reading {
    /// Prints counts only, because text is never printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading")
            .field("language", &self.language)
            .field("sentences", &self.sentences.len())
            .field("words", &self.words.len())
            .finish_non_exhaustive()
    }
}
