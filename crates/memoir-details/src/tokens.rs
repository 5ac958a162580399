//! Cutting a text into tokens: words, numbers, single ideographs and symbols.
//!
//! Owns where a word begins and ends, how it is written (case), and whether it opens a sentence.
//! It does not own what any word means; that is looked up in [`crate::lexicon`].

use std::borrow::Cow;

use crate::fold::{digit_value, fold};
use crate::lexicon::{self, Entry, Flag, Langs};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A run of letters; Korean words and katakana runs are words too.
    Word,
    /// A run of decimal digits of any script; its fold is in ASCII digits.
    Number,
    /// One Chinese character.
    Han,
    /// One hiragana.
    Kana,
    /// Any other visible character.
    Symbol,
}

/// How a word is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    Lower,
    Title,
    Upper,
    /// Capitals inside the word, as in `GitHub`.
    Mixed,
    /// The script has no case.
    None,
}

/// What stands between a token and the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Gap {
    Glued,
    Space,
    Line,
}

#[derive(Clone, Debug)]
pub(crate) struct Token<'t> {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) kind: Kind,
    pub(crate) case: Case,
    pub(crate) gap: Gap,
    /// Folded, without a possessive or contracted ending.
    pub(crate) fold: Cow<'t, str>,
    /// Whether such an ending was cut off.
    pub(crate) possessive: bool,
    pub(crate) opens: bool,
    /// Whether a finding stands on it, so that it is part of no other.
    pub(crate) claimed: bool,
    pub(crate) entry: &'static Entry,
}

impl Token<'_> {
    pub(crate) fn is(&self, flag: Flag) -> bool {
        self.entry.is(flag)
    }

    pub(crate) fn symbol(&self, c: &str) -> bool {
        self.kind == Kind::Symbol && self.fold == c
    }

    pub(crate) fn glued(&self) -> bool {
        self.gap == Gap::Glued
    }

    pub(crate) fn capital(&self) -> bool {
        matches!(self.case, Case::Title | Case::Upper | Case::Mixed)
    }
}

/// A text and its tokens.
#[derive(Debug)]
pub(crate) struct Doc<'t> {
    pub(crate) text: &'t str,
    pub(crate) tokens: Vec<Token<'t>>,
    /// The one language the function words speak for; never empty.
    pub(crate) lang: Langs,
    /// Whether most letters are capitals, so that capitals say nothing.
    pub(crate) shouting: bool,
}

impl<'t> Doc<'t> {
    /// Reads `text`; `lower` is the same text with its ASCII letters in lower case, in which most
    /// words find their folded form without one of their own.
    pub(crate) fn read(text: &'t str, lower: &'t str) -> Self {
        let mut tokens = cut(text, lower);
        mark_openers(&mut tokens);
        let lang = detect(text, &tokens);
        let shouting = is_shouting(&tokens);
        Doc {
            text,
            tokens,
            lang,
            shouting,
        }
    }

    pub(crate) fn get(&self, i: usize) -> Option<&Token<'t>> {
        self.tokens.get(i)
    }

    pub(crate) fn before(&self, i: usize) -> Option<&Token<'t>> {
        i.checked_sub(1).and_then(|j| self.tokens.get(j))
    }

    pub(crate) fn symbol(&self, i: usize, c: &str) -> bool {
        self.get(i).is_some_and(|t| t.symbol(c))
    }

    pub(crate) fn word(&self, i: usize, words: &[&str]) -> bool {
        self.get(i)
            .is_some_and(|t| t.kind != Kind::Symbol && words.contains(&t.fold.as_ref()))
    }

    /// Whether the tokens from `i` on are these words or symbols.
    pub(crate) fn phrase(&self, i: usize, words: &[&str]) -> bool {
        words
            .iter()
            .enumerate()
            .all(|(n, w)| self.get(i + n).is_some_and(|t| t.fold == *w))
    }

    pub(crate) fn surface(&self, from: usize, to: usize) -> &'t str {
        let start = self.tokens.get(from).map_or(0, |t| t.start);
        let end = to
            .checked_sub(1)
            .and_then(|last| self.tokens.get(last))
            .map_or(start, |t| t.end);
        self.text.get(start..end).unwrap_or("")
    }

    /// Whether the word is a closed-class word in the language of the text.
    pub(crate) fn is_function(&self, token: &Token<'_>) -> bool {
        token.entry.functions & self.lang != 0
    }

    pub(crate) fn speaks(&self, langs: Langs) -> bool {
        langs & self.lang != 0
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Katakana,
    Digit,
    Han,
    Kana,
    Space,
    Symbol,
    Ignored,
}

fn class(c: char) -> Class {
    if c.is_ascii() {
        return match c {
            'a'..='z' | 'A'..='Z' => Class::Letter,
            '0'..='9' => Class::Digit,
            c if c.is_whitespace() || c.is_control() => Class::Space,
            _ => Class::Symbol,
        };
    }
    match c as u32 {
        // The letters of the scripts most written, known without a look into the Unicode tables.
        0x00C0..=0x00D6
        | 0x00D8..=0x00F6
        | 0x00F8..=0x024F
        | 0x0391..=0x03A1
        | 0x03A3..=0x03CE
        | 0x0400..=0x0481
        | 0x048A..=0x052F
        | 0x05D0..=0x05EA
        | 0x0620..=0x064A
        | 0xAC00..=0xD7A3 => Class::Letter,
        0x200B..=0x200F | 0x202A..=0x202E | 0x2060..=0x2069 | 0xFEFF | 0x00AD => Class::Ignored,
        0x30A1..=0x30FA | 0x30FC..=0x30FE | 0xFF66..=0xFF9F => Class::Katakana,
        0x3041..=0x309F => Class::Kana,
        0x3005..=0x3007
        | 0x3400..=0x4DBF
        | 0x4E00..=0x9FFF
        | 0xF900..=0xFAFF
        | 0x20000..=0x3FFFF => Class::Han,
        0x0300..=0x036F | 0x0591..=0x05BD | 0x05BF..=0x05C7 | 0x064B..=0x065F | 0x0E47..=0x0E4E => {
            Class::Letter
        }
        0x00BA | 0x00AA => Class::Symbol,
        _ if digit_value(c).is_some() => Class::Digit,
        0x0964 | 0x0965 | 0x0970 => Class::Symbol,
        0x0900..=0x0DFF => Class::Letter,
        _ if c.is_whitespace() => Class::Space,
        _ if c.is_alphabetic() => Class::Letter,
        _ => Class::Symbol,
    }
}

/// The tokens of `text`, without what only their neighbours tell; `lower` as for [`Doc::read`].
pub(crate) fn cut<'t>(text: &'t str, lower: &'t str) -> Vec<Token<'t>> {
    Scanner::new(text, lower).run()
}

struct Scanner<'t> {
    text: &'t str,
    lower: &'t str,
    at: usize,
    gap: Gap,
    tokens: Vec<Token<'t>>,
}

impl<'t> Scanner<'t> {
    fn new(text: &'t str, lower: &'t str) -> Self {
        Scanner {
            text,
            lower,
            at: 0,
            gap: Gap::Line,
            tokens: Vec::with_capacity(text.len() / if text.is_ascii() { 5 } else { 3 } + 8),
        }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    fn peek(&self, at: usize) -> Option<char> {
        match self.byte(at)? {
            b if b.is_ascii() => Some(char::from(b)),
            _ => self.text.get(at..).and_then(|rest| rest.chars().next()),
        }
    }

    fn run(mut self) -> Vec<Token<'t>> {
        while let Some(c) = self.peek(self.at) {
            match class(c) {
                Class::Letter => self.letters(),
                Class::Space if c == ' ' => {
                    self.gap = self.gap.max(Gap::Space);
                    self.at += 1;
                }
                Class::Space => self.space(c),
                Class::Ignored => self.at += c.len_utf8(),
                Class::Digit => self.take(Kind::Number, |k| k == Class::Digit),
                Class::Katakana => self.take(Kind::Word, |k| k == Class::Katakana),
                Class::Han => self.single(Kind::Han, c),
                Class::Kana => self.single(Kind::Kana, c),
                Class::Symbol => self.single(Kind::Symbol, c),
            }
        }
        self.tokens
    }

    fn space(&mut self, c: char) {
        let gap = if matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}') {
            Gap::Line
        } else {
            Gap::Space
        };
        self.gap = self.gap.max(gap);
        self.at += c.len_utf8();
    }

    fn single(&mut self, kind: Kind, c: char) {
        let end = self.at + c.len_utf8();
        self.push(kind, end, end, Case::None);
    }

    fn take(&mut self, kind: Kind, wanted: impl Fn(Class) -> bool) {
        let end = self.run_end(self.at, wanted);
        self.push(kind, end, end, Case::None);
    }

    fn run_end(&self, from: usize, wanted: impl Fn(Class) -> bool) -> usize {
        let mut at = from;
        while let Some(c) = self.peek(at).filter(|c| wanted(class(*c))) {
            at += c.len_utf8();
        }
        at
    }

    /// Where the ASCII letters from `from` on end, and how many of them are capitals.
    fn plain_end(&self, from: usize) -> (usize, usize) {
        let rest = self.text.as_bytes().get(from..).unwrap_or(&[]);
        let (mut end, mut capitals) = (from, 0);
        for byte in rest {
            if byte.is_ascii_uppercase() {
                capitals += 1;
            } else if !byte.is_ascii_lowercase() {
                break;
            }
            end += 1;
        }
        (end, capitals)
    }

    fn letters(&mut self) {
        if let Some(end) = self.dotted_acronym() {
            let case = case_of(self.text.get(self.at..end).unwrap_or(""));
            return self.push(Kind::Word, end, end, case);
        }
        let (mut end, capitals) = self.plain_end(self.at);
        if !self.byte(end).is_some_and(|b| b == b'\'' || !b.is_ascii()) {
            let first = self.byte(self.at).is_some_and(|b| b.is_ascii_uppercase());
            let case = case_of_plain(first, capitals, end - self.at);
            let fold = Cow::Borrowed(self.lower.get(self.at..end).unwrap_or(""));
            return self.push_folded(Kind::Word, end, end, case, fold);
        }
        if self.byte(end).is_some_and(|b| !b.is_ascii()) {
            end = self.run_end(end, |k| k == Class::Letter || k == Class::Ignored);
        }
        let mut base = end;
        while let Some(mark) = self.peek(end).filter(|c| is_apostrophe(*c)) {
            let after = end + mark.len_utf8();
            if !self.peek(after).is_some_and(|c| class(c) == Class::Letter) {
                break;
            }
            let so_far = self.text.get(self.at..end).unwrap_or("");
            if is_elision(so_far) {
                return self.push(Kind::Word, end, after, case_of(so_far));
            }
            let tail_end = self.run_end(after, |k| k == Class::Letter);
            let tail = self.text.get(after..tail_end).unwrap_or("");
            base = if is_cut_off(so_far, tail) {
                end
            } else {
                tail_end
            };
            end = tail_end;
        }
        let case = case_of(self.text.get(self.at..base).unwrap_or(""));
        self.push(Kind::Word, base, end, case);
    }

    /// Where `U.S.` or `p.m.` ends, if that is what stands here.
    fn dotted_acronym(&self) -> Option<usize> {
        if self.byte(self.at)?.is_ascii() && self.byte(self.at + 1) != Some(b'.') {
            return None;
        }
        let mut at = self.at;
        let mut letters = 0;
        loop {
            let letter = self.peek(at).filter(|c| class(*c) == Class::Letter)?;
            let dot = at + letter.len_utf8();
            if self.peek(dot) != Some('.') {
                return None;
            }
            letters += 1;
            at = dot + 1;
            if !self.peek(at).is_some_and(|c| class(c) == Class::Letter) {
                return (letters >= 2).then_some(at);
            }
        }
    }

    /// Pushes the token that ends at `end` and whose folded form is of what ends at `base`.
    fn push(&mut self, kind: Kind, base: usize, end: usize, case: Case) {
        let text: &'t str = self.text;
        let word = text.get(self.at..base).unwrap_or("");
        let plain = word.is_ascii();
        let fold = match kind {
            Kind::Number => fold_digits(word),
            Kind::Word if word.as_bytes().get(1) == Some(&b'.') || !plain && word.contains('.') => {
                Cow::Owned(fold(word).replace('.', ""))
            }
            _ if plain => Cow::Borrowed(self.lower.get(self.at..base).unwrap_or("")),
            _ => fold(word),
        };
        self.push_folded(kind, base, end, case, fold);
    }

    fn push_folded(&mut self, kind: Kind, base: usize, end: usize, case: Case, fold: Cow<'t, str>) {
        let entry = match kind {
            Kind::Number => &lexicon::NOTHING,
            _ => lexicon::look_up(&fold),
        };
        self.tokens.push(Token {
            start: self.at,
            end,
            kind,
            case,
            gap: self.gap,
            fold,
            possessive: end > base,
            opens: false,
            claimed: false,
            entry,
        });
        self.at = end;
        self.gap = Gap::Glued;
    }
}

fn fold_digits(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        return Cow::Borrowed(word);
    }
    let digits = word.chars().filter_map(digit_value);
    Cow::Owned(digits.map(|d| char::from(b'0' + d)).collect())
}

pub(crate) fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}' | '\u{02BC}')
}

/// French, Italian and Catalan words that lose their vowel before the next word.
fn is_elision(word: &str) -> bool {
    const ELIDED: [&str; 22] = [
        "l", "d", "j", "n", "s", "c", "m", "t", "qu", "dell", "all", "nell", "un", "dall", "sull",
        "quell", "jusqu", "lorsqu", "puisqu", "quest", "c\u{fc}", "anch",
    ];
    word.len() <= 6 && ELIDED.iter().any(|e| word.eq_ignore_ascii_case(e))
}

/// Whether the letters after the apostrophe are an ending and not a part of the word: `Anna's`,
/// `they're`, `Ankara'da`; not `don't`, not `O'Brien`.
fn is_cut_off(word: &str, tail: &str) -> bool {
    if tail == "t" || tail == "T" {
        return false;
    }
    let contracted = ["s", "re", "ll", "ve", "d", "m", "S", "RE", "LL", "VE"].contains(&tail);
    let suffix = tail.chars().next().is_some_and(char::is_lowercase)
        && tail.len() <= 6
        && word.len() >= 2
        && word.chars().next().is_some_and(char::is_uppercase);
    contracted || suffix
}

fn case_of(word: &str) -> Case {
    if word.chars().all(has_no_case) {
        return Case::None;
    }
    let mut chars = word.chars().filter(|c| c.is_alphabetic());
    let Some(first) = chars.next() else {
        return Case::None;
    };
    let (mut uppers, mut lowers) = (0, 0);
    for c in chars {
        if is_lower(c) {
            lowers += 1;
        } else if c.is_uppercase() {
            uppers += 1;
        }
    }
    match (first.is_uppercase(), uppers, lowers) {
        (true, 0, 0) => Case::Upper,
        (true, 0, _) => Case::Title,
        (true, _, 0) => Case::Upper,
        (_, 1.., _) => Case::Mixed,
        (false, 0, _) if is_lower(first) => Case::Lower,
        _ => Case::None,
    }
}

/// The case of a word in ASCII letters, as [`case_of`] finds it: whether the first is a capital, how
/// many are, and how many letters there are.
fn case_of_plain(first: bool, capitals: usize, letters: usize) -> Case {
    match (first, capitals) {
        (true, n) if n == letters => Case::Upper,
        (true, 1) => Case::Title,
        (false, 0) => Case::Lower,
        _ => Case::Mixed,
    }
}

/// The scripts that know no capitals, in which a look into the Unicode tables is spared.
fn has_no_case(c: char) -> bool {
    matches!(c as u32, 0x0590..=0x109F | 0x2E80..=0xA63F | 0xAC00..=0xD7FF)
}

fn is_lower(c: char) -> bool {
    matches!(c, 'a'..='z' | 'а'..='я') || c.is_lowercase()
}

/// Marks the words which are capitalised because a sentence, a quotation or a list item begins.
fn mark_openers(tokens: &mut [Token<'_>]) {
    let mut opening = true;
    for i in 0..tokens.len() {
        if tokens[i].gap == Gap::Line {
            opening = true;
        }
        if tokens[i].kind != Kind::Symbol {
            tokens[i].opens = opening;
            opening = false;
            continue;
        }
        opening = match tokens[i].fold.as_bytes() {
            b"." => !after_abbreviation(tokens, i) && !tokens.get(i + 1).is_some_and(|t| t.glued()),
            b"!" | b"?" | b":" | b"!?" => true,
            b"\"" | b"(" | b"[" | b"*" | b"-" => opening || opens_quote(tokens, i),
            b")" if i > 0 && tokens[i - 1].kind == Kind::Number && tokens[i - 1].opens => true,
            b")" | b"'" | b"_" | b"#" | b">" => opening,
            [0..=127, ..] => false,
            _ => match tokens[i].fold.as_ref() {
                "…" | "。" | "؟" | "।" | "¿" | "¡" | "•" | "·" | "→" => true,
                "“" | "«" | "„" | "‘" | "»" | "‹" | "「" | "–" | "—" => {
                    opening || opens_quote(tokens, i)
                }
                "”" | "☐" | "✓" => opening,
                _ => false,
            },
        };
    }
}

fn opens_quote(tokens: &[Token<'_>], i: usize) -> bool {
    let next_glued = tokens.get(i + 1).is_some_and(|t| t.glued());
    let mark = matches!(
        tokens[i].fold.as_ref(),
        "\"" | "“" | "«" | "„" | "‘" | "»" | "「" | "(" | "["
    );
    mark && next_glued && !tokens[i].glued()
}

fn after_abbreviation(tokens: &[Token<'_>], dot: usize) -> bool {
    let Some(word) = dot.checked_sub(1).map(|i| &tokens[i]) else {
        return false;
    };
    let initial = word.kind == Kind::Word && word.case == Case::Upper && word.end - word.start <= 2;
    tokens[dot].glued() && (word.is(Flag::Title) || word.is(Flag::Abbreviation) || initial)
}

/// The language with the most function words. English where nothing speaks, because English text
/// without function words reads the same in every other language.
fn detect(text: &str, tokens: &[Token<'_>]) -> Langs {
    let mut votes = [0u32; lexicon::LANGS];
    let mut cyrillic = 0u32;
    for token in tokens.iter().filter(|t| t.kind == Kind::Word) {
        let mut bits = token.entry.votes;
        while bits != 0 {
            let lang = bits.trailing_zeros() as usize;
            if let Some(count) = votes.get_mut(lang) {
                *count += 1;
            }
            bits &= bits - 1;
        }
        if is_cyrillic(&token.fold) {
            cyrillic += 1;
        }
    }
    if !text.is_ascii() {
        vote_by_letters(text, &mut votes);
    }
    let (best, count) =
        votes.iter().enumerate().fold(
            (0, 0),
            |best, (lang, n)| if *n > best.1 { (lang, *n) } else { best },
        );
    if cyrillic > count {
        return lexicon::RU;
    }
    1 << best
}

fn is_cyrillic(word: &str) -> bool {
    let plain = word.as_bytes().first().is_none_or(u8::is_ascii);
    !plain && word.starts_with(|c| ('\u{400}'..='\u{52f}').contains(&c))
}

/// Letters that few languages write speak for them.
fn vote_by_letters(text: &str, votes: &mut [u32; lexicon::LANGS]) {
    for c in text.chars().filter(|c| !c.is_ascii()).take(200) {
        let (langs, weight) = match c {
            'ã' | 'õ' => (lexicon::PT, 2),
            'ñ' | '¿' | '¡' => (lexicon::ES, 2),
            'ß' => (lexicon::DE, 2),
            'ä' | 'ö' => (lexicon::DE | lexicon::SV, 1),
            'ü' => (lexicon::DE, 1),
            'å' => (lexicon::SV, 2),
            'ł' | 'ą' | 'ę' | 'ś' | 'ż' | 'ź' | 'ń' => (lexicon::PL, 2),
            'ş' | 'ğ' | 'ı' => (lexicon::TR, 2),
            'ê' => (lexicon::FR | lexicon::PT, 1),
            'ç' => (lexicon::FR | lexicon::PT | lexicon::TR, 1),
            'œ' | 'û' | 'î' => (lexicon::FR, 1),
            'ò' | 'ì' => (lexicon::IT, 2),
            'è' => (lexicon::IT | lexicon::FR, 1),
            'í' | 'ó' | 'ú' => (lexicon::ES | lexicon::PT, 1),
            _ => continue,
        };
        for (lang, count) in votes.iter_mut().enumerate() {
            *count += if langs & (1 << lang) != 0 { weight } else { 0 };
        }
    }
}

fn is_shouting(tokens: &[Token<'_>]) -> bool {
    let (mut upper, mut other) = (0, 0);
    for token in tokens.iter().filter(|t| t.end - t.start > 1) {
        match token.case {
            Case::Upper => upper += 1,
            Case::Lower | Case::Title => other += 1,
            _ => {}
        }
    }
    upper > 3 && upper > 2 * other
}
