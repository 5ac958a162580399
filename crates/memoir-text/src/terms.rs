//! A text cut into search terms: its words as they are looked for, in their order.
//!
//! The words are those of the one scanner; what is done with them here only widens the results. Case, width, accents
//! and forms make no difference. A name (an address, a path, an identifier) is cut at its signs and where capitals
//! begin a word. A script without spaces is cut into characters, Korean too, whose words carry their particles: the
//! index pairs them.

use std::sync::LazyLock;

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use crate::{
    fold::{fold_into, hash},
    language::Language,
    lexicon::{self, ByHash, Languages},
    scan::{self, Token, is_unspaced},
    stem::stem_into,
};

/// What a term is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermKind {
    /// A word, a number, or a part of a name.
    Word,
    /// One character of a script that is looked for by pairs; `follows` where the one before stands right before it.
    Character {
        /// Whether the term before is the character before.
        follows: bool,
    },
    /// A sign that is looked for: "%", "€", an emoji.
    Sign,
    /// A sign inside of a name, which distinguishes "a_b" from "a b" and is not looked for by itself.
    Mark,
    /// Several words of a name with no sign between them, as a whole beside its parts: it has no place of its own.
    Whole,
}

/// One term, as a text has it.
#[derive(Clone, Copy)]
pub struct Term<'t> {
    /// Folded, without accents.
    pub word: &'t str,
    /// Equal for equal words, of any case and with any accents.
    pub key: u64,
    /// Its kind.
    pub kind: TermKind,
    /// Of which name of the text it is a part, counted from 1; 0 where it is none.
    pub name: u32,
}

/// Words and forms of one text: its terms, and the meaning of its words in its language.
pub struct Cut<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    language: Option<Language>,
}

impl<'t> Cut<'t> {
    /// Of a text in the language that it is in.
    pub fn of(text: &'t str) -> Self {
        let tokens = scan::scan(text);
        let language = Language::of_tokens(text, &tokens);
        Self {
            text,
            tokens,
            language,
        }
    }

    /// The language of the text, where that is sure.
    pub fn language(&self) -> Option<Language> {
        self.language
    }

    /// Gives each term, in their order.
    pub fn each(&self, mut give: impl FnMut(Term<'_>)) {
        let mut scratch = Scratch::default();
        let (mut last_end, mut names) = (u32::MAX, 0);
        for token in &self.tokens {
            let slice = token.of(self.text);
            let follows = token.start == last_end;
            // Only a character right behind another one follows it: pairs go over nothing.
            last_end = u32::MAX;
            match token.kind {
                scan::TokenKind::Word if slice.starts_with(is_paired) => {
                    characters(slice, follows, &mut scratch, &mut give);
                    last_end = token.end;
                }
                scan::TokenKind::Sign => scratch.give(slice, TermKind::Sign, 0, &mut give),
                scan::TokenKind::Word => word(slice, token, &mut scratch, &mut give),
                scan::TokenKind::Number | scan::TokenKind::Name => {
                    names += 1;
                    name(slice, names, &mut scratch, &mut give);
                }
            }
        }
    }
}

/// The key of a text that is searched unchanged, such as a folded tag.
pub fn key(folded: &str) -> u64 {
    hash(folded)
}

/// A key that all forms of a word share in a language, of a term's word.
pub fn stem_key(word: &str, language: Option<Language>, scratch: &mut String) -> u64 {
    // What begins with a digit is a number or an identifier, the same in all languages.
    let of_numbers = language.filter(|_| !word.starts_with(|c: char| c.is_ascii_digit()));
    if let Some(key) = lexicon::number(hash(word), of_numbers) {
        return key;
    }
    stem_into(word, language, scratch);
    hash(scratch)
}

/// Whether the stem of a word differs from language to language.
pub fn is_stemmed(word: &str) -> bool {
    word.chars().next().is_some_and(|first| {
        first.is_alphabetic() && matches!(first as u32, 0..=0x24F | 0x400..=0x52F | 0x1E00..=0x1EFF)
    })
}

/// Whether a term's word has no meaning for a question in that language: articles, pronouns, plain prepositions, and
/// question words.
pub fn is_function_word(word: &str, language: Language) -> bool {
    let languages = FUNCTION_WORDS.get(&hash(word)).copied().unwrap_or(0);
    languages & language.bit() != 0
}

/// Of each function word, without its accents, the languages that it is one in.
static FUNCTION_WORDS: LazyLock<ByHash<Languages>> = LazyLock::new(|| {
    let mut words = ByHash::<Languages>::default();
    let (mut folded, mut plain) = (String::new(), String::new());
    for language in Language::ALL {
        for row in [language.table().function, language.table().asking] {
            for word in row.split_ascii_whitespace() {
                fold_into(word, &mut folded);
                plain_into(&folded, &mut plain);
                *words.entry(hash(&plain)).or_default() |= language.bit();
            }
        }
    }
    words
});

/// Whether a pair of characters has little meaning for a question: one of them is a particle, or an ending that is
/// written in the letters of particles.
pub fn is_function_pair(one: &str, other: &str, language: Language) -> bool {
    let is_particle = |character: &str| is_function_word(character, language);
    let is_hiragana = |character: &str| matches!(character.chars().next(), Some('ぁ'..='ゟ'));
    match language {
        Language::Japanese => is_hiragana(one) || is_hiragana(other),
        // Particles stand behind their word.
        Language::Korean => is_particle(other),
        _ => is_particle(one) || is_particle(other),
    }
}

/// Whether a text says that something has changed: "now", "instead", "moved to".
pub fn corrects(cut: &Cut<'_>) -> bool {
    // A short text may be in any language.
    let among = cut.language.map_or(Languages::MAX, Language::bit);
    if let Some(language @ (Language::Chinese | Language::Japanese | Language::Korean)) =
        cut.language
    {
        let mut parts = language.table().correcting.split_ascii_whitespace();
        return parts.any(|part| cut.text.contains(part));
    }
    let mut tokens = cut.tokens.iter();
    tokens.any(|token| CORRECTING.get(&token.hash).copied().unwrap_or(0) & among != 0)
}

/// Of each folded word by which a text corrects, the languages that it does so in.
static CORRECTING: LazyLock<ByHash<Languages>> =
    LazyLock::new(|| lexicon::listed(|table| table.correcting));

/// Whether the language writes several words as one.
pub fn has_compounds(language: Option<Language>) -> bool {
    matches!(
        language,
        Some(Language::German | Language::Dutch | Language::Swedish)
    )
}

#[derive(Default)]
struct Scratch {
    folded: String,
    plain: String,
}

impl Scratch {
    fn give(&mut self, slice: &str, kind: TermKind, name: u32, give: &mut impl FnMut(Term<'_>)) {
        fold_into(slice, &mut self.folded);
        let word = if self.folded.is_ascii() {
            &self.folded
        } else {
            plain_into(&self.folded, &mut self.plain);
            &self.plain
        };
        if !word.is_empty() {
            let key = hash(word);
            give(Term {
                word,
                key,
                kind,
                name,
            });
        }
    }
}

/// Takes the accents off, of letters that are the same ones without them.
pub(crate) fn plain_into(folded: &str, out: &mut String) {
    out.clear();
    let mut base = ' ';
    for c in folded.chars() {
        match c as u32 {
            // Latin, Greek and Cyrillic letters that are composed of a letter and marks.
            0xC0..=0x24F | 0x370..=0x3FF | 0x1E00..=0x1FFF | 0x451 => match c {
                'ø' => out.push('o'),
                'ł' => out.push('l'),
                'đ' | 'ð' => out.push('d'),
                'æ' => out.push_str("ae"),
                'œ' => out.push_str("oe"),
                'þ' => out.push_str("th"),
                c => out.extend(std::iter::once(c).nfd().filter(|c| !is_combining_mark(*c))),
            },
            // Marks that no composed letter has; and the vowel signs of Arabic, which most leave out.
            0x300..=0x36F if matches!(base as u32, 0x61..=0x7A | 0xC0..=0x3FF | 0x1E00..=0x1FFF) => {
            }
            0x64B..=0x65F | 0x670 => {}
            _ => out.push(match c {
                'أ' | 'إ' | 'آ' => 'ا',
                'ى' => 'ي',
                'ة' => 'ه',
                c => c,
            }),
        }
        base = c;
    }
}

fn is_paired(c: char) -> bool {
    is_unspaced(c) || matches!(c as u32, 0x1100..=0x11FF | 0x3130..=0x318F | 0xAC00..=0xD7AF)
}

fn characters(
    slice: &str,
    mut follows: bool,
    scratch: &mut Scratch,
    give: &mut impl FnMut(Term<'_>),
) {
    let mut from = 0;
    let mut places = slice.char_indices().skip(1).peekable();
    loop {
        // Marks above and below belong to the character, and the letters of a decomposed syllable together.
        let mut to = slice.len();
        for (at, c) in places.by_ref() {
            let joins = is_combining_mark(c)
                || matches!(c as u32, 0x1160..=0x11FF | 0xFF9E | 0xFF9F)
                || crate::fold::is_invisible(c);
            if !joins {
                to = at;
                break;
            }
        }
        let cluster = slice.get(from..to).unwrap_or("");
        // A digit or a letter may stand in a word that begins with a character.
        scratch.give(cluster, TermKind::Character { follows }, 0, give);
        if to == slice.len() {
            break;
        }
        (from, follows) = (to, true);
    }
}

fn word(slice: &str, token: &Token, scratch: &mut Scratch, give: &mut impl FnMut(Term<'_>)) {
    if token.apostrophe {
        // "l'ami" is found by "ami", "Anna's" by "Anna"; "don't" stays what it is.
        let mut parts = slice.split(['\'', '’', 'ʼ']);
        let (first, second) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let is_elided = first.chars().count() <= 2 && second.chars().count() > 2;
        let is_possessive = second.eq_ignore_ascii_case("s");
        if is_elided {
            return scratch.give(second, TermKind::Word, 0, give);
        } else if is_possessive {
            return scratch.give(first, TermKind::Word, 0, give);
        }
    }
    scratch.give(slice, TermKind::Word, 0, give);
}

/// A name or a number, cut at its signs and where a capital begins a word.
fn name(slice: &str, number: u32, scratch: &mut Scratch, give: &mut impl FnMut(Term<'_>)) {
    let plain = |c: char| c.is_alphanumeric() || is_combining_mark(c);
    // A decimal point and the mark of thousands are a part of their number.
    let is_figure = |before: Option<char>, c: char, after: Option<char>| {
        matches!(c, '.' | ',' | '\'' | '’')
            && slice.chars().all(|c| !c.is_alphabetic())
            && before.is_some_and(|c| c.is_numeric())
            && after.is_some_and(|c| c.is_numeric())
    };
    let (mut from, mut whole, mut before, mut parts) = (0, 0, None, 0);
    // Its end is as a mark of no text.
    let end = [(slice.len(), '\0')];
    let mut characters = slice.char_indices().chain(end).peekable();
    while let Some((at, c)) = characters.next() {
        let after = characters.peek().map(|(_, after)| *after);
        let begins_word = before.is_some_and(|before: char| {
            before.is_lowercase() && c.is_uppercase()
                || before.is_uppercase()
                    && c.is_uppercase()
                    && after.is_some_and(char::is_lowercase)
        });
        let is_mark = !plain(c) && !is_figure(before, c, after);
        if (is_mark || begins_word) && from < at {
            let part = slice.get(from..at).unwrap_or("");
            scratch.give(part, TermKind::Word, number, give);
            parts += 1;
            from = at;
        }
        if is_mark {
            if parts > 1 {
                let whole = slice.get(whole..at).unwrap_or("");
                scratch.give(whole, TermKind::Whole, number, give);
            }
            let end = at + c.len_utf8();
            let mark = slice.get(at..end).unwrap_or("");
            scratch.give(mark, TermKind::Mark, number, give);
            (from, whole, parts) = (end, end, 0);
        }
        before = Some(c);
    }
}
