//! The tables of all languages as one look-up by the hash of a folded word.
//!
//! Owns the classes that the engine asks for. It knows that there are languages, but none of them.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;

use crate::fold::{fold_into, hash};
use crate::language::{LANGUAGES, Language};
use crate::languages::{LanguageTable, WordRow};
use crate::scan::is_unspaced;

/// What a word is in one language: bits.
pub(crate) type WordClass = u16;

pub(crate) const FREE: WordClass = 1;
pub(crate) const TURN: WordClass = 1 << 1;
pub(crate) const PRONOUN: WordClass = 1 << 2;
pub(crate) const NUMBER: WordClass = 1 << 3;
/// A name wherever it stands.
pub(crate) const NAME: WordClass = 1 << 4;
/// Capitalised where every word may be: a name if it is one elsewhere.
pub(crate) const CAPITAL: WordClass = 1 << 5;
pub(crate) const QUOTED: WordClass = 1 << 6;
pub(crate) const JOIN: WordClass = 1 << 7;
/// Turns also what stands before it.
pub(crate) const FOLLOWING: WordClass = 1 << 8;
pub(crate) const RELATIVE: WordClass = 1 << 9;
pub(crate) const QUESTION: WordClass = 1 << 10;
pub(crate) const ATTACH: WordClass = 1 << 11;
pub(crate) const POSSESSIVE: WordClass = 1 << 12;
pub(crate) const COMMON: WordClass = 1 << 13;
/// The language's table has another form of the word, or its digits.
pub(crate) const FORM: WordClass = 1 << 14;
/// A phrase of the language begins with the word.
pub(crate) const PHRASE: WordClass = 1 << 15;

/// Free words of one language, one bit each.
pub(crate) type FreeWords = u64;

/// The place of "no language" among the languages: nothing is free there, and what turns in any
/// language turns.
pub(crate) const NONE: usize = LANGUAGES;

/// The place of a language in an [`LexiconEntry`].
pub(crate) fn place(language: Option<Language>) -> usize {
    language.map_or(NONE, |language| language as usize)
}

/// What the tables say of one word.
#[derive(Clone)]
pub(crate) struct LexiconEntry {
    classes: [WordClass; LANGUAGES + 1],
    /// One more than the number of the word among the free words of a language; 0 where it is none of them.
    free: [u8; LANGUAGES + 1],
    /// The languages that the word is evidence of, one bit each.
    pub(crate) evidence: u16,
    /// The languages that it is a word of every day in, weaker evidence.
    pub(crate) common: u16,
    pub(crate) abbreviation: bool,
    /// A number with a full stop before this word is an ordinal.
    pub(crate) after_ordinal: bool,
    /// Some language writes the word out as others: "cannot".
    pub(crate) contracted: bool,
    /// For a character of a script without spaces: the characters of the longest listed word that
    /// begins with it.
    pub(crate) reach: u8,
    /// One value for all forms of the word in all languages; `None` where the word is free, or
    /// written otherwise, in any of them, so that nothing may be concluded from its absence.
    index: Option<u64>,
}

impl LexiconEntry {
    fn new(key: u64) -> Self {
        LexiconEntry {
            classes: [0; LANGUAGES + 1],
            free: [0; LANGUAGES + 1],
            evidence: 0,
            common: 0,
            abbreviation: false,
            after_ordinal: false,
            contracted: false,
            reach: 0,
            index: Some(key),
        }
    }

    pub(crate) fn class(&self, place: usize) -> WordClass {
        self.classes[place]
    }

    /// The word among the free words of a language, in which no two share a bit: then one could be exchanged
    /// for the other without being seen. None where it is no free word there.
    pub(crate) fn free_word(&self, place: usize) -> FreeWords {
        match self.free[place] {
            0 => 0,
            // That there are bits enough is held where the tables are (`languages`).
            number => 1 << (number - 1),
        }
    }
}

/// Several words that together are of a class.
pub(crate) struct Phrase {
    pub(crate) words: Vec<u64>,
    pub(crate) class: WordClass,
    /// Free at the beginning of a sentence only.
    pub(crate) frame: bool,
}

/// A map from hashes, which need not be hashed again.
pub(crate) type ByHash<T> = HashMap<u64, T, BuildHasherDefault<HashAsKey>>;

/// Takes a value that is a hash already.
#[derive(Default)]
pub(crate) struct HashAsKey(u64);

impl Hasher for HashAsKey {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// How a contraction is written out.
pub(crate) struct Contraction {
    pub(crate) long: Vec<u64>,
}

/// The contractions of one language.
#[derive(Default)]
pub(crate) struct Contractions {
    pub(crate) whole: HashMap<String, Contraction>,
    pub(crate) endings: Vec<(String, Contraction)>,
    pub(crate) beginnings: Vec<(String, Contraction)>,
}

struct Lexicon {
    ids: ByHash<u32>,
    entries: Vec<LexiconEntry>,
    keys: Vec<ByHash<u64>>,
    phrases: Vec<ByHash<Vec<Phrase>>>,
    contractions: Vec<Contractions>,
    parts: Vec<Vec<String>>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(Builder::build);

/// The entry's number for the hash of a folded word.
pub(crate) fn find(key: u64) -> Option<u32> {
    LEXICON.ids.get(&key).copied()
}

pub(crate) fn entry(id: u32) -> &'static LexiconEntry {
    &LEXICON.entries[id as usize]
}

/// The key that all forms of a word share in a language.
pub(crate) fn form(key: u64, place: usize) -> u64 {
    LEXICON.keys[place].get(&key).copied().unwrap_or(key)
}

/// The phrases that begin with a word.
pub(crate) fn phrases(key: u64, place: usize) -> &'static [Phrase] {
    LEXICON.phrases[place].get(&key).map_or(&[], Vec::as_slice)
}

pub(crate) fn contractions(place: usize) -> &'static Contractions {
    &LEXICON.contractions[place]
}

/// Parts of a word by which it turns.
pub(crate) fn turning_parts(place: usize) -> &'static [String] {
    &LEXICON.parts[place]
}

/// The value under which an index files a word, the same for all forms of it in any language.
pub(crate) fn index_key(key: u64) -> Option<u64> {
    match find(key) {
        Some(id) => entry(id).index,
        None => Some(key),
    }
}

#[derive(Default)]
struct Builder {
    ids: ByHash<u32>,
    entries: Vec<LexiconEntry>,
    keys: Vec<ByHash<u64>>,
    phrases: Vec<ByHash<Vec<Phrase>>>,
    contractions: Vec<Contractions>,
    parts: Vec<Vec<String>>,
    /// Words from whose absence nothing follows.
    elusive: HashSet<u64>,
    /// Words that share a key in some language.
    same: Vec<(u64, u64)>,
    scratch: String,
}

impl Builder {
    fn build() -> Lexicon {
        let mut b = Builder::default();
        // There is one place more than languages: it serves texts whose language is not sure.
        for _ in 0..=LANGUAGES {
            b.keys.push(ByHash::default());
            b.phrases.push(ByHash::default());
            b.contractions.push(Contractions::default());
            b.parts.push(Vec::new());
        }
        for language in Language::ALL {
            b.language(language as usize, language.table());
        }
        // "don't" is written out where no language is sure, since English short forms are
        // unmistakable and a hidden "not" must turn.
        b.contract(NONE, Language::English.table());
        // Where no language is sure, an article of one is no pronoun of another: French "le", Spanish "y".
        for entry in &mut b.entries {
            if entry.classes[..NONE].iter().any(|class| class & FREE != 0) {
                entry.classes[NONE] &= !(PRONOUN | ATTACH);
            }
        }
        b.index();
        Lexicon {
            ids: b.ids,
            entries: b.entries,
            keys: b.keys,
            phrases: b.phrases,
            contractions: b.contractions,
            parts: b.parts,
        }
    }

    fn language(&mut self, place: usize, table: &'static LanguageTable) {
        self.equal(place, table);
        self.contract(place, table);
        self.class(place, table.free, FREE);
        self.number_free_words(place, table);
        self.class(place, table.turning, TURN);
        self.class(place, table.following, TURN | FOLLOWING);
        self.class(place, table.pronouns, PRONOUN);
        self.class(place, table.joining, JOIN);
        self.class(place, table.attaching, ATTACH);
        self.class(place, table.relative, RELATIVE);
        self.class(place, table.common, COMMON);
        self.frames(place, table.frames);
        for part in words(table.turning_parts) {
            let part = self.fold(part);
            self.parts[place].push(part.clone());
            self.parts[NONE].push(part);
        }
        for word in words(table.abbreviations) {
            self.entry(word).abbreviation = true;
        }
        for word in words(table.after_ordinals) {
            self.entry(word).after_ordinal = true;
        }
        for word in words(table.common) {
            self.entry(word).common |= 1 << place;
        }
        for word in words(table.evidence) {
            self.entry(word).evidence |= 1 << place;
            // The words that a language is recognised by are common words: at the start of a sentence their capital
            // letter does not make them a name.
            self.entry(word).classes[place] |= COMMON;
            self.entry(word).classes[NONE] |= COMMON;
        }
    }

    /// Forms and number words, first, because phrases are kept in shared keys.
    fn equal(&mut self, place: usize, table: &'static LanguageTable) {
        for row in table.forms {
            for group in row.0.split_whitespace() {
                let mut forms = group.split('/');
                let Some(first) = forms.next() else { continue };
                for other in forms {
                    self.same(place, first, other, FORM);
                }
            }
        }
        for row in table.numbers {
            let mut words = row.0.split_whitespace();
            while let (Some(word), Some(digits)) = (words.next(), words.next()) {
                self.same(place, digits, word, FORM | NUMBER);
                self.entry(word).classes[place] |= NUMBER;
                self.entry(word).classes[NONE] |= NUMBER;
            }
        }
    }

    fn same(&mut self, place: usize, first: &str, other: &str, class: WordClass) {
        let (key, hidden) = (self.hash(first), self.hash(other));
        // The first form is itself the key, so it does not get `FORM`, which asks for a look-up.
        self.entry(first).classes[place] |= class & NUMBER;
        self.entry(other).classes[place] |= class;
        self.keys[place].insert(hidden, key);
        self.same.push((key, hidden));
    }

    fn class(&mut self, place: usize, rows: &'static [WordRow], class: WordClass) {
        for word in words(rows) {
            if word.contains('_') {
                self.phrase(place, word, class, false);
                continue;
            }
            if class & FREE != 0 {
                let key = self.hash(word);
                self.elusive.insert(key);
            }
            let sequence = word.chars().next().is_some_and(is_unspaced);
            let entry = self.entry(word);
            entry.classes[place] |= class;
            // Where the language is not sure, nothing is free, and the turning words of all languages count (SPEC
            // 3.12).
            entry.classes[NONE] |= class & !FREE;
            if sequence {
                let length = word.chars().count().min(16) as u8;
                let mut head = [0; 4];
                let head = word
                    .chars()
                    .next()
                    .map_or("", |c| &*c.encode_utf8(&mut head));
                let entry = self.entry(head);
                entry.reach = entry.reach.max(length);
            }
        }
    }

    /// All forms of a word are one free word: it is by their shared key that words are asked for.
    fn number_free_words(&mut self, place: usize, table: &'static LanguageTable) {
        let mut numbered = 0;
        for word in words(table.free).flat_map(|words| words.split('_')) {
            let hidden = self.hash(word);
            let key = self.keys[place].get(&hidden).copied().unwrap_or(hidden);
            let number = &mut self.entry_of(key).free[place];
            if *number == 0 {
                numbered += 1;
                *number = numbered;
            }
        }
    }

    fn frames(&mut self, place: usize, rows: &'static [WordRow]) {
        for phrase in words(rows) {
            for word in phrase.split('_') {
                let key = self.hash(word);
                self.elusive.insert(key);
            }
            self.phrase(place, phrase, FREE, true);
        }
    }

    fn phrase(&mut self, place: usize, phrase: &str, class: WordClass, frame: bool) {
        let bare: Vec<u64> = phrase.split('_').map(|word| self.hash(word)).collect();
        let Some(first) = phrase.split('_').next() else {
            return;
        };
        let keys: Vec<u64> = bare
            .iter()
            .map(|key| self.keys[place].get(key).copied().unwrap_or(*key))
            .collect();
        if class & FREE != 0 {
            self.elusive.extend(&bare);
        }
        self.entry(first).classes[place] |= PHRASE;
        // Where the language is not sure, nothing is free, and forms share no key, so the phrase is kept by its bare
        // words.
        if class & FREE == 0 {
            self.entry(first).classes[NONE] |= PHRASE;
            self.phrases[NONE].entry(bare[0]).or_default().push(Phrase {
                words: bare.clone(),
                class,
                frame,
            });
        }
        // The other forms of the first word begin the phrase too.
        let forms: Vec<u64> = self.keys[place]
            .iter()
            .filter(|(_, shared)| **shared == keys[0])
            .map(|(form, _)| *form)
            .collect();
        for form in forms.into_iter().chain([keys[0]]) {
            self.entry_of(form).classes[place] |= PHRASE;
        }
        self.phrases[place]
            .entry(keys[0])
            .or_default()
            .push(Phrase {
                words: keys,
                class,
                frame,
            });
    }

    fn contract(&mut self, place: usize, table: &'static LanguageTable) {
        for word in words(table.contractions) {
            let Some((short, long)) = word.split_once('=') else {
                continue;
            };
            let long: Vec<u64> = long.split('_').map(|word| self.hash(word)).collect();
            // A word that may hide in a short form is not missing where it does not stand by itself.
            self.elusive.extend(&long);
            let short = self.fold(short);
            self.elusive.insert(hash(&short));
            let contraction = Contraction { long };
            let of = &mut self.contractions[place];
            if short.ends_with('\'') {
                of.beginnings.push((short, contraction));
            } else if short.starts_with('\'') || short == "n't" {
                // `n't` is the only ending that does not begin with its apostrophe.
                of.endings.push((short, contraction));
            } else {
                of.whole.insert(short.clone(), contraction);
                self.entry(&short).contracted = true;
            }
        }
    }

    /// Gives all words that are one word in some language, through however many steps, one key for
    /// the index.
    fn index(&mut self) {
        let mut leader: HashMap<u64, u64> = HashMap::new();
        fn lead(leader: &HashMap<u64, u64>, mut key: u64) -> u64 {
            while let Some(next) = leader.get(&key) {
                key = *next;
            }
            key
        }
        for (one, other) in std::mem::take(&mut self.same) {
            let (one, other) = (lead(&leader, one), lead(&leader, other));
            if one != other {
                // The smaller one leads, so that no two lead each other.
                leader.insert(one.max(other), one.min(other));
            }
        }
        let elusive: HashSet<u64> = self.elusive.iter().map(|key| lead(&leader, *key)).collect();
        let keys: Vec<u64> = self
            .ids
            .keys()
            .copied()
            // Elusive words that stand in no table are added: a word without an entry would be filed under itself.
            .chain(self.elusive.clone())
            .collect();
        for key in keys {
            let lead = lead(&leader, key);
            self.entry_of(key).index = (!elusive.contains(&lead)).then_some(lead);
        }
    }

    fn fold(&mut self, word: &str) -> String {
        fold_into(word, &mut self.scratch);
        self.scratch.clone()
    }

    fn hash(&mut self, word: &str) -> u64 {
        fold_into(word, &mut self.scratch);
        hash(&self.scratch)
    }

    fn entry(&mut self, word: &str) -> &mut LexiconEntry {
        let key = self.hash(word);
        self.entry_of(key)
    }

    fn entry_of(&mut self, key: u64) -> &mut LexiconEntry {
        let id = *self.ids.entry(key).or_insert_with(|| {
            self.entries.push(LexiconEntry::new(key));
            (self.entries.len() - 1) as u32
        });
        &mut self.entries[id as usize]
    }
}

fn words(rows: &'static [WordRow]) -> impl Iterator<Item = &'static str> {
    rows.iter().flat_map(|row| row.0.split_whitespace())
}
