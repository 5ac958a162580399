//! Cutting a text into tokens, in every script and without knowing the language.
//!
//! Owns where words, numbers, names and signs begin and end, and which of them begin a sentence.

use std::ops::Range;

use crate::fold::{fold_into, hash, is_invisible};
use crate::lexicon::{self, LexiconEntry};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Word,
    Number,
    /// An address, path, handle or identifier: one word, and a name.
    Name,
    Sign,
}

/// The scripts that say something about the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    Latin,
    Cyrillic,
    Han,
    Kana,
    Hangul,
    Arabic,
    Other,
}

impl Script {
    #[rustfmt::skip]
    pub(crate) const ALL: [Script; 7] = {
        use Script::*;
        [Latin, Cyrillic, Han, Kana, Hangul, Arabic, Other]
    };
    pub(crate) const COUNT: usize = Self::ALL.len();

    fn of(c: char) -> Self {
        match c as u32 {
            0..=0x24F | 0x1E00..=0x1EFF => Script::Latin,
            0x400..=0x52F => Script::Cyrillic,
            0x600..=0x6FF | 0x750..=0x77F => Script::Arabic,
            0x3040..=0x30FF | 0x31F0..=0x31FF | 0xFF66..=0xFF9D => Script::Kana,
            0x3400..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF | 0x3005 | 0x3007 => Script::Han,
            0x1100..=0x11FF | 0xAC00..=0xD7AF => Script::Hangul,
            _ => Script::Other,
        }
    }
}

/// One word, number or sign as it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) hash: u64,
    /// What the tables know of it.
    pub(crate) entry: Option<LexiconEntry>,
    pub(crate) kind: TokenKind,
    pub(crate) script: Option<Script>,
    pub(crate) capital: bool,
    /// First of a sentence, a line, or what follows a colon: any word is capitalised there.
    pub(crate) begins: bool,
    pub(crate) apostrophe: bool,
}

impl Token {
    pub(crate) fn place(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    pub(crate) fn of<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.place()).unwrap_or("")
    }
}

pub(crate) fn scan(text: &str) -> Vec<Token> {
    let mut scanner = Scanner {
        text,
        at: 0,
        // About what ordinary text has; a wrong guess costs a copy and nothing else.
        tokens: Vec::with_capacity(8 + text.len() / 5),
        from: 0,
        begins: true,
        scratch: String::with_capacity(32),
    };
    scanner.line_start();
    scanner.run();
    scanner.tokens
}

/// Whether words of the character's script are written without spaces between them.
pub(crate) fn is_unspaced(c: char) -> bool {
    let code = c as u32;
    // First, since it decides most characters of most texts.
    code >= 0xE00
        && (matches!(code, 0xE00..=0xEFF | 0x1000..=0x109F | 0x1780..=0x17FF)
            || matches!(Script::of(c), Script::Han | Script::Kana))
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
    tokens: Vec<Token>,
    /// First token of the sentence under way.
    from: usize,
    begins: bool,
    scratch: String,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<char> {
        self.after(self.at)
    }

    fn after(&self, at: usize) -> Option<char> {
        match *self.text.as_bytes().get(at)? {
            byte if byte < 0x80 => Some(byte as char),
            _ => self.text.get(at..)?.chars().next(),
        }
    }

    fn before(&self, at: usize) -> Option<char> {
        self.text.get(..at)?.chars().next_back()
    }

    fn run(&mut self) {
        // Each branch moves `at` on by one character at least, so that the loop ends.
        while let Some(c) = self.peek() {
            if c == '\n' || c == '\r' || c == '\u{2028}' || c == '\u{2029}' || c == '\u{85}' {
                self.line_break();
            } else if c.is_whitespace() || is_invisible(c) {
                self.at += c.len_utf8();
            } else {
                self.visible(c);
            }
        }
    }

    fn visible(&mut self, c: char) {
        match c {
            '.' | '!' | '?' | '。' | '！' | '？' | '．' | '｡' | '؟' | '۔' | '।' | '…' => {
                self.end_mark(c)
            }
            _ if c.is_ascii_digit() || !c.is_ascii() && c.is_numeric() && !is_unspaced(c) => {
                self.number_or_name()
            }
            // This comes before the letters, because these characters are alphabetic too.
            _ if is_unspaced(c) => self.character(),
            _ if c.is_alphabetic() => self.word_or_name(),
            '@' | '#' | '/' | '~' if self.begins_chunk() && self.name_ahead() => {}
            '-' | '‐' | '‑' | '–' | '—' | '―' | '−' | '‒' | '－' | '〜' => {
                self.dash(c)
            }
            ':' | '：' => {
                self.at += c.len_utf8();
                self.begins = true;
            }
            ')' => {
                self.at += 1;
                // "2) Paint": the number of a list, with which its line begins.
                let last = self.tokens.last();
                self.begins |= last.is_some_and(|token| {
                    token.begins
                        && token.kind == TokenKind::Number
                        && token.end as usize + 1 == self.at
                });
            }
            _ if PASSED.contains(c) => self.at += c.len_utf8(),
            _ => self.sign(c),
        }
    }

    fn sign(&mut self, c: char) {
        let start = self.at;
        self.at += c.len_utf8();
        // Control characters and combining marks are no signs, since they say nothing by themselves.
        if c.is_control() || unicode_normalization::char::is_combining_mark(c) {
            return;
        }
        self.push(start, TokenKind::Sign);
    }

    fn push(&mut self, start: usize, kind: TokenKind) {
        let slice = self.text.get(start..self.at).unwrap_or("");
        fold_into(slice, &mut self.scratch);
        // Folding leaves nothing of characters that are not seen.
        if self.scratch.is_empty() {
            return;
        }
        self.put(start, kind, hash(&self.scratch));
    }

    /// One character of a script without spaces.
    fn character(&mut self) {
        let start = self.at;
        self.at = self.cluster_end(start);
        self.push(start, TokenKind::Word);
    }

    /// Where the character ends, with the marks written above and below it.
    fn cluster_end(&self, at: usize) -> usize {
        let mut end = at + self.after(at).map_or(0, char::len_utf8);
        while let Some(c) = self.after(end) {
            let joins = unicode_normalization::char::is_combining_mark(c) || is_invisible(c);
            if !joins && !matches!(c, '\u{FF9E}' | '\u{FF9F}') {
                break;
            }
            end += c.len_utf8();
        }
        end
    }

    /// Takes an address, path, handle or identifier that begins here.
    fn name_ahead(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        let rest = &bytes[self.at..];
        // Such names are ASCII. Any other character ends them, so that text in a script without spaces does not become
        // part of a name.
        let length = rest
            .iter()
            .position(|b| {
                char::from(*b).is_whitespace()
                    || *b >= 0x80
                    || matches!(b, b'"' | b'`' | b'<' | b'>' | b'|')
            })
            .unwrap_or(rest.len());
        let mut chunk = &rest[..length];
        // Marks behind an address are the sentence's; a bracket is so only where the address does not open it.
        while let [head @ .., last] = chunk {
            let closes = match last {
                b')' => !head.contains(&b'('),
                b']' => !head.contains(&b'['),
                b'}' => !head.contains(&b'{'),
                _ => matches!(
                    last,
                    b'.' | b',' | b';' | b':' | b'!' | b'?' | b'\'' | b'*' | b'-'
                ),
            };
            if !closes {
                break;
            }
            chunk = head;
        }
        if !is_name(chunk) {
            return false;
        }
        let start = self.at;
        self.at += chunk.len();
        self.push(start, TokenKind::Name);
        true
    }

    fn begins_chunk(&self) -> bool {
        self.before(self.at)
            .is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '-' | '.' | '/' | '@' | '_'))
    }

    /// Takes a word of plain letters with white space or a comma behind it, as most are.
    fn plain_word(&mut self) -> bool {
        let rest = &self.text.as_bytes()[self.at..];
        // A quick way and no rule: what it gives is what the longer one would.
        let Some((first, more)) = rest
            .split_first()
            .filter(|(first, _)| first.is_ascii_alphabetic())
        else {
            return false;
        };
        let length = 1 + more.iter().take_while(|b| b.is_ascii_lowercase()).count();
        let ends = match rest.get(length) {
            Some(b' ' | b'\n' | b',') | None => true,
            // One letter with a stop may be an initial, or begin an abbreviation.
            Some(b'.') => length > 1 && matches!(rest.get(length + 1), Some(b' ' | b'\n') | None),
            _ => false,
        };
        if !ends || !self.begins_chunk() {
            return false;
        }
        let start = self.at;
        self.at += length;
        let lower = first.is_ascii_lowercase();
        let slice = self.text.get(start..self.at).unwrap_or("");
        if !lower {
            self.scratch.clear();
            self.scratch.push_str(slice);
            self.scratch.make_ascii_lowercase();
        }
        let hash = hash(if lower { slice } else { &self.scratch });
        self.put(start, TokenKind::Word, hash);
        true
    }

    fn put(&mut self, start: usize, kind: TokenKind, hash: u64) {
        let first = self.after(start).filter(|_| kind == TokenKind::Word);
        self.tokens.push(Token {
            start: start as u32,
            end: self.at as u32,
            hash,
            entry: lexicon::find(hash),
            kind,
            script: first.map(Script::of),
            capital: first.is_some_and(char::is_uppercase),
            begins: self.begins,
            apostrophe: false,
        });
        // A sign before a word is not the first word.
        self.begins &= kind == TokenKind::Sign;
    }

    fn word_or_name(&mut self) {
        if self.plain_word() || self.begins_chunk() && self.name_ahead() {
            return;
        }
        let start = self.at;
        let (mut letters, mut apostrophe) = (0, false);
        while let Some(c) = self.peek() {
            if c.is_alphanumeric() && !is_unspaced(c) {
                letters += 1;
            } else if unicode_normalization::char::is_combining_mark(c) || is_invisible(c) {
            } else if matches!(c, '\'' | '’' | 'ʼ')
                && self
                    .after(self.at + c.len_utf8())
                    .is_some_and(char::is_alphanumeric)
            {
                apostrophe = true;
            } else if c == '.'
                && letters > 1
                && self.before(self.at).is_some_and(|c| c.is_ascii_digit())
                && self.after(self.at + 1).is_some_and(|c| c.is_ascii_digit())
            {
                // "v1.2.3"
            } else if c == '.'
                && (letters == 1)
                && self.after(self.at + 1).is_some_and(char::is_alphabetic)
                && self.single_letter(self.at + 1)
            {
                // "U.S.", "z.B.", "p.m."
                letters = 0;
            } else {
                break;
            }
            self.at += c.len_utf8();
        }
        let slice = self.text.get(start..self.at).unwrap_or("");
        let digits = slice.bytes().any(|b| b.is_ascii_digit());
        let inner = slice
            .chars()
            .zip(slice.chars().skip(1))
            .any(|(one, next)| one.is_lowercase() && next.is_uppercase());
        let kind = if digits || inner && !apostrophe {
            TokenKind::Name
        } else {
            TokenKind::Word
        };
        self.push(start, kind);
        if let Some(token) = self.tokens.last_mut() {
            token.apostrophe = apostrophe;
        }
        // Blood groups and marks: "A+" has its sign anyway, "A-" would lose it as a dash.
        if letters <= 2
            && self.peek() == Some('-')
            && self
                .after(self.at + 1)
                .is_none_or(|c| !c.is_alphanumeric() && c != '-')
        {
            self.sign('-');
        }
    }

    /// Whether only one letter stands at `at`.
    fn single_letter(&self, at: usize) -> bool {
        let end = at + self.after(at).map_or(0, char::len_utf8);
        self.after(end).is_none_or(|c| !c.is_alphanumeric())
    }

    fn number_or_name(&mut self) {
        let start = self.at;
        if self.begins_chunk() && self.digits_of_name() {
            return;
        }
        while let Some(c) = self.peek() {
            let next = self.after(self.at + c.len_utf8());
            let part = matches!(c, '.' | ',' | ':' | '/' | '-' | '–' | '\'' | '’');
            if !(c.is_numeric() || part && next.is_some_and(|c| c.is_ascii_digit()))
                || is_unspaced(c)
            {
                break;
            }
            self.at += c.len_utf8();
        }
        // Always on by one character, or `run` would have no end.
        if self.at == start {
            self.at += self.peek().map_or(1, char::len_utf8);
        }
        // "3rd" is one word, "64GB" is a number and a unit.
        for suffix in ["st", "nd", "rd", "th"] {
            let end = self.at + suffix.len();
            let here = self.text.get(self.at..end);
            let here = here.is_some_and(|s| s.eq_ignore_ascii_case(suffix));
            if here && self.after(end).is_none_or(|c| !c.is_alphanumeric()) {
                self.at = end;
                break;
            }
        }
        self.push(start, TokenKind::Number);
    }

    /// Takes an identifier that begins with a digit: letters and digits mixed, "4f2a9c".
    fn digits_of_name(&mut self) -> bool {
        let rest = &self.text.as_bytes()[self.at..];
        let length = rest
            .iter()
            .position(|b| !b.is_ascii_alphanumeric() && *b != b'_')
            .unwrap_or(rest.len());
        let run = &rest[..length];
        let changes = run
            .windows(2)
            .filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit())
            .count();
        // "14b" is another house than "14".
        let lettered = changes == 1
            && run.last().is_some_and(u8::is_ascii_alphabetic)
            && run.len() > 1
            && run[run.len() - 2].is_ascii_digit();
        if changes < 2 && !lettered && !run.contains(&b'_') {
            // "12/24 at example.org/x" is no name, "2025_report.md" is one.
            return rest.get(length).is_some_and(|b| *b == b'@') && self.name_ahead();
        }
        let start = self.at;
        self.at += length;
        self.push(start, TokenKind::Name);
        true
    }

    fn dash(&mut self, c: char) {
        let next = self.after(self.at + c.len_utf8());
        let before = self.before(self.at);
        if next.is_some_and(|c| c.is_ascii_digit() || c == '$' || c == '€' || c == '£')
            && before.is_none_or(|c| !c.is_alphanumeric() && c != ')')
            && matches!(c, '-' | '−' | '–' | '－')
        {
            // A minus.
            self.sign(c);
        } else {
            self.at += c.len_utf8();
        }
    }

    fn end_mark(&mut self, c: char) {
        self.at += c.len_utf8();
        if c == '…' {
            return;
        }
        // "..." and ".5" end nothing.
        let mut dots = usize::from(c == '.');
        let mut wide = matches!(c, '。' | '！' | '？' | '．' | '｡' | '؟' | '۔' | '।');
        while let Some(next) = self.peek() {
            match next {
                '.' => dots += 1,
                '!' | '?' | '…' => dots += usize::from(next == '…') * 3,
                '！' | '？' | '。' => wide = true,
                _ => break,
            }
            self.at += next.len_utf8();
        }
        if dots > 1 {
            return;
        }
        let mut closed = self.at;
        while let Some(c) = self.after(closed).filter(|c| CLOSING.contains(*c)) {
            closed += c.len_utf8();
        }
        let ends = wide || self.after(closed).is_none_or(char::is_whitespace);
        if ends && !(c == '.' && dots == 1 && self.stop_is_no_end()) {
            self.cut();
        }
    }

    /// Whether the full stop before this place belongs to an abbreviation or an initial.
    fn stop_is_no_end(&self) -> bool {
        let Some(token) = self.tokens.get(self.from..).and_then(<[Token]>::last) else {
            return false;
        };
        let range = token.place();
        // Nothing stands between the word and the stop.
        let is_of_word = token.kind == TokenKind::Word && range.end + 1 == self.at;
        let slice = self.text.get(range).filter(|_| is_of_word).unwrap_or("");
        let mut letters = slice.chars();
        let is_letter = |c: char| c.is_alphabetic() && !is_unspaced(c);
        let is_one = letters.next().is_some_and(is_letter) && letters.next().is_none();
        let is_initial = slice.contains('.') || is_one;
        let is_first = self.tokens.len() == self.from + 1;
        is_initial && (is_first || !self.known_word_ahead())
            || is_of_word && token.entry.is_some_and(|entry| entry.abbreviation)
    }

    /// Whether a word of some table follows: "of lab B. The lamp" ends a sentence, "John F. Kennedy" does not.
    fn known_word_ahead(&self) -> bool {
        let rest = self.text.get(self.at..).unwrap_or("").trim_start().chars();
        // Longer than the listed words: what is cut off is in no table.
        let word = rest.take_while(|c| c.is_alphabetic()).take(24);
        let entry = lexicon::find(lexicon::hash_of(&word.collect::<String>()));
        entry.is_some_and(|entry| entry.evidence != 0)
    }

    fn line_break(&mut self) {
        let mut breaks = 0;
        while let Some(c) = self.peek() {
            match c {
                '\r' if self.after(self.at + 1) == Some('\n') => {}
                '\n' | '\r' | '\u{2028}' | '\u{2029}' | '\u{85}' => breaks += 1,
                c if c.is_whitespace() || is_invisible(c) => {}
                _ => break,
            }
            self.at += c.len_utf8();
        }
        let next = self.peek();
        let bullet = self.bullet();
        let cuts = breaks > 1
            || bullet > 0
            || next.is_some_and(|c| {
                c == '#' || c == '>' || c == '|' || c.is_numeric() || c.is_uppercase()
            });
        if cuts {
            self.cut();
            self.line_start();
        }
    }

    /// Skips the bullets and marks with which a line begins; they are no words.
    fn line_start(&mut self) {
        while let Some(c) = self.peek() {
            if c.is_whitespace() && c != '\n' || c == '>' && self.after(self.at + 1) == Some(' ') {
                self.at += c.len_utf8();
            } else {
                match self.bullet() {
                    0 => break,
                    length => self.at += length,
                }
            }
        }
    }

    /// The length of a bullet that stands here, with the white space behind it.
    fn bullet(&self) -> usize {
        let Some(c) = self.peek() else { return 0 };
        let length = c.len_utf8();
        let bullet = matches!(
            c,
            '-' | '*' | '•' | '·' | '‣' | '▪' | '–' | '—' | '+' | '○' | '●' | '◦'
        );
        let spaced = self
            .after(self.at + length)
            .is_some_and(|c| c == ' ' || c == '\t');
        if bullet && spaced { length + 1 } else { 0 }
    }

    fn cut(&mut self) {
        self.from = self.tokens.len();
        self.begins = true;
    }
}

/// Marks that are no words and begin nothing: of quotations, which are read apart, within sentences, of Markdown,
/// and those that open a Spanish sentence.
const PASSED: &str =
    "\"“”„«»‹›「」『』《》〈〉`‟＂'’‘‚,،、，|・;；؛([{（［【〔]}）］】〕/／*_#\\¿¡•·‣▪^";

/// Marks that may stand between the end of a sentence and the white space behind it.
const CLOSING: &str = "\"”“»›'’)]」』）*_`";

/// Whether a run of visible ASCII characters is an address, a path, a handle or an identifier.
fn is_name(chunk: &[u8]) -> bool {
    let Some(first) = chunk.first() else {
        return false;
    };
    let alnum = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    if matches!(first, b'@' | b'#') {
        return alnum(chunk.get(1));
    }
    if chunk.windows(3).any(|w| w == b"://") || chunk.starts_with(b"www.") {
        return true;
    }
    let is_inside = |i: usize| i > 0 && alnum(chunk.get(i - 1)) && alnum(chunk.get(i + 1));
    let mut slashes = 0;
    let mut dotted = false;
    for (i, byte) in chunk.iter().enumerate() {
        match byte {
            b'_' | b'@' if is_inside(i) => return true,
            b'\\' => return true,
            b'/' => slashes += 1,
            // "memory.rs", "example.org"; not "U.S.", and not "tea.Bob's".
            b'.' if is_inside(i) => {
                let left = chunk[..i]
                    .iter()
                    .rev()
                    .take_while(|b| b.is_ascii_alphanumeric() || **b == b'-')
                    .count();
                let right = chunk[i + 1..].iter();
                let right = right.take_while(|b| b.is_ascii_alphanumeric()).count();
                let letters =
                    chunk[i + 1].is_ascii_alphabetic() && chunk[i - 1].is_ascii_alphabetic();
                dotted |= left >= 2 && right >= 2 && letters;
            }
            _ => {}
        }
    }
    let rooted = matches!(first, b'/' | b'~')
        && chunk.len() > 1
        && chunk[1..].iter().any(u8::is_ascii_alphanumeric)
        && (*first == b'/' && alnum(chunk.get(1)) || *first == b'~' && chunk.get(1) == Some(&b'/'));
    let path = slashes >= 2 && !chunk.ends_with(b"/") && chunk.iter().all(|b| b.is_ascii_graphic());
    rooted || path && !chunk.windows(2).any(|w| w == b"//") || dotted
}
