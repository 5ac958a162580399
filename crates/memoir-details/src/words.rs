//! The words of a sentence in one language: forms, contractions, phrases, and what is free.
//!
//! Owns what a token counts as. It knows no language: all it asks are classes and look-ups.

use crate::fold::{fold_into, hash};
use crate::lexicon::{
    self, ATTACH, CAPITAL, COMMON, FORM, FREE, FreeWords, JOIN, NAME, NUMBER, PHRASE, POSSESSIVE,
    PRONOUN, QUESTION, QUOTED, RELATIVE, TURN, WordClass,
};
use crate::scan::{JOINED, Marks, Token, TokenKind};

/// One word that counts.
#[derive(Clone, Copy, Default)]
pub(crate) struct Word {
    /// Equal for all forms of the word in the language.
    pub(crate) key: u64,
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) class: WordClass,
    /// The marks between it and the counting word before it.
    pub(crate) marks: Marks,
    /// The free words between it and the counting word before it, but for joining ones, of which `marks`
    /// tells. They may be left out or put in, but not exchanged: "der Hund beißt den Mann", "den Hund
    /// beißt der Mann".
    pub(crate) lead: FreeWords,
}

impl zeroize::DefaultIsZeroes for Word {}

impl Word {
    pub(crate) fn is(&self, class: WordClass) -> bool {
        self.class & class != 0
    }

    /// Whether the free words before it in `other` are others than before it here, both at the beginning of
    /// their sentences: there a joining word comes and goes as sentences are put together and parted.
    pub(crate) fn is_exchanged_first(&self, other: &Word) -> bool {
        is_exchanged(self.lead, other.lead)
    }

    /// Whether they are others, where both follow the same word: "says that", "says and".
    pub(crate) fn is_exchanged(&self, other: &Word) -> bool {
        let is_joined = (self.marks & JOINED != 0, other.marks & JOINED != 0);
        is_exchanged(self.lead, other.lead)
            || is_joined == (true, false) && other.lead & !self.lead != 0
            || is_joined == (false, true) && self.lead & !other.lead != 0
    }
}

/// Whether others stand where these free words stood. To leave some out is no exchange, nor to put some in where there
/// were none.
pub(crate) fn is_exchanged(words: FreeWords, others: FreeWords) -> bool {
    words != 0 && others & !words != 0
}

/// The same where some of the others may belong to the sentence beside this one: only where some went and others came.
pub(crate) fn is_exchanged_beside(words: FreeWords, others: FreeWords) -> bool {
    words & !others != 0 && others & !words != 0
}

/// Reads tokens in one language.
pub(crate) struct TokenReader<'t> {
    pub(crate) text: &'t str,
    pub(crate) place: usize,
    pub(crate) decimal_comma: bool,
    pub(crate) capital_nouns: bool,
    /// All words of the sentence under way, free ones too.
    all: Vec<Word>,
    scratch: String,
    pub(crate) relative: bool,
    /// Words that stand capitalised where not every word does.
    pub(crate) names: Vec<u64>,
    /// The free words of all sentences so far.
    pub(crate) free: Vec<Word>,
}

/// What is known of a sentence beside its words.
pub(crate) struct Outline {
    /// The frame that it begins with, as one value.
    pub(crate) frame: Option<u64>,
    /// The free words behind its last counting word.
    pub(crate) tail: FreeWords,
}

impl<'t> TokenReader<'t> {
    pub(crate) fn new(
        text: &'t str,
        place: usize,
        decimal_comma: bool,
        capital_nouns: bool,
    ) -> Self {
        TokenReader {
            text,
            place,
            decimal_comma,
            capital_nouns,
            all: Vec::with_capacity(32),
            scratch: String::with_capacity(32),
            relative: false,
            names: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Appends the counting words of a sentence to `words`.
    pub(crate) fn sentence(&mut self, tokens: &[Token], words: &mut Vec<Word>) -> Outline {
        self.all.clear();
        for token in tokens {
            self.token(token);
        }
        let frame = self.phrases();
        let (mut marks, mut lead) = (0, 0);
        for word in &self.all {
            self.relative |= word.is(RELATIVE);
            if word.is(FREE) {
                self.free.push(*word);
                marks |= word.marks | if word.is(JOIN) { JOINED } else { 0 };
                if !word.is(JOIN) {
                    lead |= lexicon::find(word.key)
                        .map_or(0, |id| lexicon::entry(id).free_word(self.place));
                }
            } else {
                words.push(Word {
                    marks: word.marks | marks,
                    lead,
                    ..*word
                });
                (marks, lead) = (0, 0);
            }
        }
        Outline { frame, tail: lead }
    }

    fn token(&mut self, token: &Token) {
        let contracted = token.entry.is_some_and(|id| lexicon::entry(id).contracted);
        if (token.apostrophe || contracted) && self.contraction(token) {
            return;
        }
        let class = self.class_of(token.hash, token.entry);
        let word = match token.kind {
            TokenKind::Number => Word {
                key: self.number(token),
                class: NUMBER | class & FORM,
                ..plain(token)
            },
            TokenKind::Name => Word {
                class: NAME,
                ..plain(token)
            },
            TokenKind::Sign => Word {
                class: class | self.sign_class(token),
                ..plain(token)
            },
            TokenKind::Word => Word {
                class: class | self.name_class(token, class),
                ..plain(token)
            },
        };
        self.push(word, token.quoted);
    }

    fn push(&mut self, mut word: Word, quoted: bool) {
        if word.is(FORM) {
            word.key = lexicon::form(word.key, self.place);
        }
        if quoted {
            word.class |= QUOTED;
        }
        self.all.push(word);
    }

    fn class_of(&mut self, key: u64, entry: Option<u32>) -> WordClass {
        entry.map_or(0, |id| lexicon::entry(id).class(self.place)) & !(NAME | CAPITAL | QUOTED)
            | if key == 0 { FREE } else { 0 }
    }

    /// Numbers and the signs that say something of a number are as strict as numbers; emoji are
    /// ordinary words.
    fn sign_class(&self, token: &Token) -> WordClass {
        let sign = self.slice(token).chars().next().unwrap_or(' ');
        match sign {
            '?' | '？' | '؟' => TURN | QUESTION,
            '\u{2600}'..='\u{27BF}' | '\u{1F000}'.. => 0,
            _ => NUMBER,
        }
    }

    fn name_class(&mut self, token: &Token, class: WordClass) -> WordClass {
        let mut turns = 0;
        for part in lexicon::turning_parts(self.place) {
            // Where no language is sure, letters that many languages share would make words turn by chance.
            let applies = self.place != lexicon::NONE || !part.is_ascii();
            if applies {
                fold_into(self.slice(token), &mut self.scratch);
                if self.scratch.contains(part.as_str()) {
                    turns = TURN | lexicon::FOLLOWING;
                    break;
                }
            }
        }
        // Such a word with a capital begins a sentence or stands in a title, and names nobody.
        let function = FREE | TURN | PRONOUN | JOIN | NUMBER | ATTACH;
        if !token.capital || class & function != 0 {
            return turns;
        }
        turns
            | if class & COMMON != 0 && (token.begins || self.capital_nouns) {
                CAPITAL
            } else {
                if !token.begins {
                    self.names.push(token.hash);
                }
                NAME
            }
    }

    fn slice(&self, token: &Token) -> &'t str {
        self.text
            .get(token.start as usize..token.end as usize)
            .unwrap_or("")
    }

    /// The key of a number: "1,000" is "1000", and in languages with a decimal comma "1.000" is.
    fn number(&mut self, token: &Token) -> u64 {
        let slice = self.slice(token);
        if !slice.contains(['.', ',', '\'', '’']) {
            return token.hash;
        }
        fold_into(slice, &mut self.scratch);
        let (group, point) = if self.decimal_comma {
            ('.', ',')
        } else {
            (',', '.')
        };
        let mut parts = self.scratch.split(point);
        // Two points are a date or a version.
        let (Some(whole), fraction, None) = (parts.next(), parts.next(), parts.next()) else {
            return token.hash;
        };
        // The apostrophe of Swiss numbers parts thousands in every language.
        let separator = if whole.contains('\'') { '\'' } else { group };
        let mut groups = whole.split(separator);
        let first = groups.next().unwrap_or("");
        let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        let grouped = (1..=3).contains(&first.len())
            && digits(first)
            && whole.contains(separator)
            && groups.all(|group| group.len() == 3 && digits(group));
        if !grouped && (whole.contains(separator) || !digits(whole)) {
            return token.hash;
        }
        let mut canonical: String = whole.chars().filter(|c| *c != separator).collect();
        if let Some(fraction) = fraction {
            if !digits(fraction) {
                return token.hash;
            }
            canonical.push('.');
            canonical.push_str(fraction);
        }
        hash(&canonical)
    }

    /// Writes a contraction out, if the language has it.
    fn contraction(&mut self, token: &Token) -> bool {
        let known = lexicon::contractions(self.place);
        fold_into(self.slice(token), &mut self.scratch);
        if let Some(whole) = known.whole.get(&self.scratch) {
            for (at, key) in whole.long.iter().enumerate() {
                self.part(token, *key, at == 0, 0);
            }
            return true;
        }
        for (ending, contraction) in &known.endings {
            if let Some(stem) = self
                .scratch
                .strip_suffix(ending.as_str())
                .filter(|s| !s.is_empty())
            {
                let stem = hash(stem);
                self.part(token, stem, true, 0);
                for key in &contraction.long {
                    let kept = if ending.starts_with('\'') {
                        POSSESSIVE
                    } else {
                        0
                    };
                    self.part(token, *key, false, kept);
                }
                return true;
            }
        }
        for (beginning, contraction) in &known.beginnings {
            if let Some(rest) = self
                .scratch
                .strip_prefix(beginning.as_str())
                .filter(|s| !s.is_empty())
            {
                let rest = hash(rest);
                for (at, key) in contraction.long.iter().enumerate() {
                    self.part(token, *key, at == 0, 0);
                }
                self.part(token, rest, false, 0);
                return true;
            }
        }
        false
    }

    /// One word of a contraction. All of them have the place of the whole.
    fn part(&mut self, token: &Token, key: u64, first: bool, kept: WordClass) {
        let mut class = self.class_of(key, lexicon::find(key));
        // Only an ending that ties, like the English "'s", is kept as a word of its own.
        if kept != 0 && class & ATTACH != 0 {
            class |= kept;
        }
        // The capital is the whole's; which of its words it belongs to cannot be told.
        if token.capital || self.slice(token).chars().any(char::is_uppercase) {
            let part = Token {
                capital: true,
                hash: key,
                begins: token.begins,
                ..*token
            };
            if class & (POSSESSIVE | FREE) == 0 {
                class |= self.name_class(&part, class);
            }
        }
        let word = Word {
            key,
            class,
            marks: if first { token.marks } else { 0 },
            ..plain(token)
        };
        self.push(word, token.quoted);
    }

    /// Applies the language's phrases; returns the frame with which the sentence begins.
    fn phrases(&mut self) -> Option<u64> {
        let mut frame = None;
        let mut at = 0;
        while at < self.all.len() {
            if !self.all[at].is(PHRASE) {
                at += 1;
                continue;
            }
            let longest = lexicon::phrases(self.all[at].key, self.place)
                .iter()
                .filter(|phrase| {
                    let length = phrase.words.len();
                    let here = self.all.get(at..at + length);
                    let fits = here.is_some_and(|here| {
                        here.iter()
                            .zip(&phrase.words)
                            .all(|(word, key)| word.key == *key)
                    });
                    // A frame counts only where words follow it: otherwise nothing of the sentence would be left.
                    fits && (!phrase.frame || at == 0 && length < self.all.len())
                })
                .max_by_key(|phrase| phrase.words.len());
            let Some(phrase) = longest else {
                at += 1;
                continue;
            };
            for word in &mut self.all[at..at + phrase.words.len()] {
                // A turning phrase is never free, even where each of its words is free by itself.
                if phrase.class & TURN != 0 {
                    word.class &= !FREE;
                }
                word.class |= phrase.class;
            }
            if phrase.frame {
                // Order matters in a frame, and equal frames are equal word by word.
                let mixed = phrase
                    .words
                    .iter()
                    .fold(0_u64, |mixed, key| mixed.rotate_left(7) ^ key);
                frame = Some(mixed);
            }
            at += phrase.words.len();
        }
        frame
    }
}

fn plain(token: &Token) -> Word {
    Word {
        key: token.hash,
        start: token.start,
        end: token.end,
        class: 0,
        marks: token.marks,
        lead: 0,
    }
}
