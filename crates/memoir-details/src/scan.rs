//! Cutting a text into sentences and tokens, in every script and without knowing the language.
//!
//! A cut never depends on letter case but at a line break (SPEC 3.12: case makes no difference).

use crate::fold::{fold_into, hash, is_invisible};
use crate::lexicon;

/// What a token is.
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
    pub(crate) const ALL: [Script; 7] = [
        Script::Latin,
        Script::Cyrillic,
        Script::Han,
        Script::Kana,
        Script::Hangul,
        Script::Arabic,
        Script::Other,
    ];
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

/// Marks inside a sentence, that stand before a token: bits.
pub(crate) type Marks = u8;

pub(crate) const COMMA: Marks = 1;
pub(crate) const COLON: Marks = 1 << 1;
pub(crate) const DASH: Marks = 1 << 2;
pub(crate) const OPEN: Marks = 1 << 3;
pub(crate) const CLOSE: Marks = 1 << 4;
pub(crate) const QUOTE: Marks = 1 << 5;
pub(crate) const SLASH: Marks = 1 << 6;
/// Not a mark: a free joining word stands before the word.
pub(crate) const JOINED: Marks = 1 << 7;

/// One word, number or sign as it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) hash: u64,
    /// What the tables know of it.
    pub(crate) entry: Option<u32>,
    pub(crate) kind: TokenKind,
    pub(crate) script: Option<Script>,
    pub(crate) marks: Marks,
    pub(crate) capital: bool,
    /// Stands where any word is capitalised.
    pub(crate) begins: bool,
    pub(crate) apostrophe: bool,
    pub(crate) quoted: bool,
}

/// One sentence: its place in the text, trimmed, and its tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) from: u32,
    pub(crate) to: u32,
}

/// A text cut up.
#[derive(Debug)]
pub(crate) struct Scanned {
    pub(crate) tokens: Vec<Token>,
    pub(crate) sentences: Vec<Span>,
}

/// Cuts a text into sentences and tokens.
pub(crate) fn scan(text: &str) -> Scanned {
    let mut scanner = Scanner {
        text,
        at: 0,
        // About what ordinary text has; a wrong guess costs a copy and nothing else.
        tokens: Vec::with_capacity(8 + text.len() / 5),
        sentences: Vec::with_capacity(2 + text.len() / 60),
        from: 0,
        start: None,
        last: 0,
        marks: 0,
        begins: true,
        quote_end: 0,
        quote_closed: usize::MAX,
        unclosed: Vec::new(),
        scratch: String::with_capacity(32),
    };
    scanner.line_start();
    scanner.run();
    Scanned {
        tokens: scanner.tokens,
        sentences: scanner.sentences,
    }
}

/// Whether words of the character's script are written without spaces between them.
pub(crate) fn is_unspaced(c: char) -> bool {
    let code = c as u32;
    // First, since most characters of most texts are told by it.
    code >= 0xE00
        && (matches!(code, 0xE00..=0xEFF | 0x1000..=0x109F | 0x1780..=0x17FF)
            || matches!(Script::of(c), Script::Han | Script::Kana))
}

/// How far a closing quotation mark is looked for, in bytes: a passage longer than this is not
/// treated as one quotation, and a stray mark does not make one of the rest of the text.
const LONGEST_QUOTATION: usize = 600;

struct Scanner<'t> {
    text: &'t str,
    at: usize,
    tokens: Vec<Token>,
    sentences: Vec<Span>,
    /// First token of the sentence under way.
    from: usize,
    /// Where the sentence under way starts.
    start: Option<usize>,
    /// Where its last character that is no white space ends.
    last: usize,
    marks: Marks,
    begins: bool,
    /// Tokens before this place are quoted.
    quote_end: usize,
    /// The place of a closing mark found by the last opening one, so that it does not open.
    quote_closed: usize,
    /// For each closing mark that was looked for in vain, up to where.
    unclosed: Vec<(char, usize)>,
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
                self.start.get_or_insert(self.at);
                self.visible(c);
                self.last = self.at;
            }
        }
        self.cut();
    }

    fn visible(&mut self, c: char) {
        match c {
            '.' | '!' | '?' | ';' | '。' | '！' | '？' | '；' | '．' | '｡' | '؟' | '؛' | '۔'
            | '।' | '…' => self.end_mark(c),
            '"' | '“' | '”' | '„' | '«' | '»' | '‹' | '›' | '「' | '」' | '『' | '』' | '《'
            | '》' | '〈' | '〉' | '`' | '‟' | '＂' => self.quotation(c),
            '\'' | '’' | '‘' | '‚' => self.single_quote(c),
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
            ',' | '،' | '、' | '，' | '|' | '・' => self.mark(c, COMMA),
            ':' | '：' => {
                self.mark(c, COLON);
                self.begins = true;
            }
            '(' | '[' | '{' | '（' | '［' | '【' | '〔' => {
                self.mark(c, OPEN);
                self.begins = true;
            }
            ')' | ']' | '}' | '）' | '］' | '】' | '〕' => self.mark(c, CLOSE),
            '/' | '／' => self.mark(c, SLASH),
            // Emphasis and headings of Markdown, and marks that open a Spanish sentence.
            '*' | '_' | '#' | '\\' | '¿' | '¡' | '•' | '·' | '‣' | '▪' | '^' => {
                self.at += c.len_utf8();
            }
            _ => self.sign(c),
        }
    }

    fn mark(&mut self, c: char, mark: Marks) {
        self.marks |= mark;
        self.at += c.len_utf8();
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
        let hash = hash(&self.scratch);
        let first = slice.chars().next();
        self.put(Token {
            start: start as u32,
            end: self.at as u32,
            hash,
            entry: lexicon::find(hash),
            kind,
            script: match (kind, first) {
                (TokenKind::Word, Some(c)) => Some(Script::of(c)),
                _ => None,
            },
            marks: self.marks,
            capital: kind == TokenKind::Word && first.is_some_and(char::is_uppercase),
            begins: self.begins,
            apostrophe: false,
            quoted: start < self.quote_end,
        });
    }

    /// One character of a script without spaces, or a listed word of several.
    fn character(&mut self) {
        let start = self.at;
        self.at = self.cluster_end(start);
        self.push(start, TokenKind::Word);
        let Some(reach) = self
            .tokens
            .last()
            .and_then(|token| token.entry)
            .map(|id| lexicon::entry(id).reach)
            .filter(|reach| *reach > 1)
        else {
            return;
        };
        let mut ends = Vec::with_capacity(reach as usize);
        let mut end = self.at;
        for _ in 1..reach {
            match self.after(end) {
                Some(c) if is_unspaced(c) => end = self.cluster_end(end),
                _ => break,
            }
            ends.push(end);
        }
        // The longest first: it may begin with a shorter one that is listed too.
        for end in ends.into_iter().rev() {
            fold_into(self.text.get(start..end).unwrap_or(""), &mut self.scratch);
            let whole = hash(&self.scratch);
            if let (Some(id), Some(token)) = (lexicon::find(whole), self.tokens.last_mut()) {
                token.hash = whole;
                token.entry = Some(id);
                token.end = end as u32;
                self.at = end;
                return;
            }
        }
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
        self.put(Token {
            start: start as u32,
            end: self.at as u32,
            hash,
            entry: lexicon::find(hash),
            kind: TokenKind::Word,
            script: Some(Script::Latin),
            marks: self.marks,
            capital: !lower,
            begins: self.begins,
            apostrophe: false,
            quoted: start < self.quote_end,
        });
        true
    }

    fn put(&mut self, token: Token) {
        self.tokens.push(token);
        self.marks = 0;
        self.begins = false;
    }

    fn word_or_name(&mut self) {
        if self.plain_word() {
            return;
        }
        if self.begins_chunk() && self.name_ahead() {
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
            let here = self
                .text
                .get(self.at..end)
                .is_some_and(|s| s.eq_ignore_ascii_case(suffix));
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
            // A minus. Written in one way, so that a typographical one is no other.
            let start = self.at;
            self.at += c.len_utf8();
            self.push(start, TokenKind::Sign);
            return;
        }
        let inside =
            before.is_some_and(char::is_alphanumeric) && next.is_some_and(char::is_alphanumeric);
        self.mark(
            c,
            if inside && matches!(c, '-' | '‐' | '‑') {
                0
            } else {
                DASH
            },
        );
    }

    fn quotation(&mut self, c: char) {
        let here = self.at;
        self.mark(c, QUOTE);
        if here < self.quote_end || here == self.quote_closed {
            return;
        }
        let closer = match c {
            '"' | '`' => c,
            '＂' => '＂',
            '“' | '‟' => '”',
            '„' => '“',
            '«' => '»',
            '»' => '«',
            '‹' => '›',
            '「' => '」',
            '『' => '』',
            '《' => '》',
            '〈' => '〉',
            _ => return,
        };
        self.open_quotation(closer);
    }

    fn open_quotation(&mut self, closer: char) {
        self.begins = true;
        let mut end = (self.at + LONGEST_QUOTATION).min(self.text.len());
        // The limit is in bytes and may fall within a character.
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        // What was looked through in vain is not looked through again.
        let known = self.unclosed.iter().position(|(mark, _)| *mark == closer);
        let from = known
            .map_or(self.at, |i| self.unclosed[i].1.max(self.at))
            .min(end);
        let rest = self.text.get(from..end).unwrap_or("");
        // A quotation ends at an empty line at the latest.
        let rest = rest.split("\n\n").next().unwrap_or("");
        let found = match closer {
            '“' => rest.find(['“', '”']),
            '\'' => rest
                .match_indices(['\'', '’'])
                .map(|(at, _)| at)
                .find(|at| {
                    let after = rest.get(*at..).and_then(|r| r.chars().nth(1));
                    let before = self.before(from + at);
                    after.is_none_or(|c| !c.is_alphanumeric())
                        && before.is_some_and(|c| !c.is_whitespace())
                }),
            closer => rest.find(closer),
        };
        if let Some(found) = found {
            self.quote_end = from + found;
            self.quote_closed = self.quote_end;
        } else if from + rest.len() == end && end < self.text.len() {
            // The end is noted only where the limit ended the search: a search that ended at an empty line or at the
            // end of the text was short.
            match known {
                Some(i) => self.unclosed[i].1 = end,
                None => self.unclosed.push((closer, end)),
            }
        }
    }

    fn single_quote(&mut self, c: char) {
        let here = self.at;
        self.at += c.len_utf8();
        if here == self.quote_closed {
            self.marks |= QUOTE;
            return;
        }
        let opens = self.before(here).is_none_or(|c| !c.is_alphanumeric())
            && self.peek().is_some_and(char::is_alphanumeric)
            && here >= self.quote_end;
        if opens {
            let before = self.quote_end;
            self.open_quotation('\'');
            if self.quote_end > before {
                self.marks |= QUOTE;
            }
        }
    }

    fn end_mark(&mut self, c: char) {
        let start = self.at;
        self.at += c.len_utf8();
        if matches!(c, '?' | '？' | '؟') {
            // Kept as a sign, one for any number of them.
            if self.tokens.len() > self.from {
                self.at = start;
                self.question(c);
            }
        } else if c == '…' {
            return;
        }
        // "..." and ".5" end nothing.
        let mut dots = usize::from(c == '.');
        let mut wide = matches!(
            c,
            '。' | '！' | '？' | '；' | '．' | '｡' | '؟' | '؛' | '۔' | '।'
        );
        while let Some(next) = self.peek() {
            match next {
                '.' => dots += 1,
                '!' | '?' | '…' => dots += usize::from(next == '…') * 3,
                '！' | '？' | '。' => wide = true,
                _ => break,
            }
            if matches!(next, '?' | '？') && self.tokens.len() > self.from {
                self.question(next);
            } else {
                self.at += next.len_utf8();
            }
        }
        let ellipsis = dots > 1;
        if ellipsis {
            return;
        }
        let closed = self.at;
        while let Some(c) = self.peek() {
            if !matches!(
                c,
                '"' | '”'
                    | '“'
                    | '»'
                    | '›'
                    | '\''
                    | '’'
                    | ')'
                    | ']'
                    | '」'
                    | '』'
                    | '）'
                    | '*'
                    | '_'
                    | '`'
            ) {
                break;
            }
            // A mark that opens the next sentence closes nothing.
            if c == '"' && self.at != self.quote_closed && self.at != closed {
                break;
            }
            self.at += c.len_utf8();
        }
        let ends = wide || self.peek().is_none_or(|c| c.is_whitespace());
        if !ends || c == '.' && dots == 1 && self.stop_is_no_end() {
            // What closes behind the mark is an ordinary mark of the sentence.
            self.at = closed;
            return;
        }
        self.last = self.at;
        self.cut();
    }

    fn question(&mut self, c: char) {
        let start = self.at;
        self.at += c.len_utf8();
        let asked = self.tokens.last().is_some_and(|token| {
            token.kind == TokenKind::Sign
                && self
                    .text
                    .get(token.start as usize..token.end as usize)
                    .is_some_and(|sign| matches!(sign, "?" | "？" | "؟"))
        });
        if !asked {
            self.push(start, TokenKind::Sign);
            fold_into("?", &mut self.scratch);
            if let Some(token) = self.tokens.last_mut() {
                token.hash = hash(&self.scratch);
            }
        }
    }

    /// Whether the full stop before this place belongs to an abbreviation, an initial or an ordinal.
    fn stop_is_no_end(&self) -> bool {
        let Some(token) = self.tokens.get(self.from..).and_then(<[Token]>::last) else {
            return false;
        };
        let slice = self
            .text
            .get(token.start as usize..token.end as usize)
            .unwrap_or("");
        // Something stands between the word and the stop.
        if token.end as usize + 1 < self.at
            && !self
                .text
                .get(token.end as usize..self.at)
                .is_some_and(|s| s.starts_with('.'))
        {
            return false;
        }
        match token.kind {
            TokenKind::Word => {
                let mut letters = slice.chars();
                let initial = slice.contains('.')
                    || letters
                        .next()
                        .is_some_and(|c| c.is_alphabetic() && !is_unspaced(c))
                        && letters.next().is_none();
                let first = self.tokens.len() == self.from + 1;
                initial && (first || !self.known_word_ahead())
                    || token
                        .entry
                        .is_some_and(|id| lexicon::entry(id).abbreviation)
            }
            TokenKind::Number => {
                // Ordinals that are written with a stop are of days and places, which have two digits at most.
                slice.len() <= 2 && (self.tokens.len() == self.from + 1 || self.ordinal_ahead())
            }
            _ => false,
        }
    }

    fn ordinal_ahead(&self) -> bool {
        self.ahead()
            .is_some_and(|id| lexicon::entry(id).after_ordinal)
    }

    /// Whether a word of some table follows: "of lab B. The door" ends a sentence, "John F. Kennedy"
    /// does not.
    fn known_word_ahead(&self) -> bool {
        self.ahead()
            .is_some_and(|id| lexicon::entry(id).evidence != 0)
    }

    /// What the tables know of the next word.
    fn ahead(&self) -> Option<u32> {
        let rest = self.text.get(self.at..)?.trim_start();
        let word: String = rest
            .chars()
            .take_while(|c| c.is_alphabetic())
            // Longer than the listed words: what is cut off is in no table.
            .take(24)
            .collect();
        let mut folded = String::new();
        fold_into(&word, &mut folded);
        lexicon::find(hash(&folded))
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
        if let (Some(start), true) = (self.start, self.tokens.len() > self.from) {
            self.sentences.push(Span {
                start: start as u32,
                end: self.last.max(start) as u32,
                from: self.from as u32,
                to: self.tokens.len() as u32,
            });
        }
        self.from = self.tokens.len();
        self.start = None;
        self.marks = 0;
        self.begins = true;
    }
}

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
    let at = |i: usize, b: u8| {
        chunk[i] == b && i > 0 && alnum(chunk.get(i - 1)) && alnum(chunk.get(i + 1))
    };
    let mut slashes = 0;
    let mut dotted = false;
    for (i, byte) in chunk.iter().enumerate() {
        match byte {
            b'_' if at(i, b'_') => return true,
            b'@' if at(i, b'@') => return true,
            b'\\' => return true,
            b'/' => slashes += 1,
            // "memory.rs", "example.org"; not "U.S.", and not "tea.Bob's".
            b'.' if at(i, b'.') => {
                let left = chunk[..i]
                    .iter()
                    .rev()
                    .take_while(|b| b.is_ascii_alphanumeric() || **b == b'-')
                    .count();
                let right = chunk[i + 1..]
                    .iter()
                    .take_while(|b| b.is_ascii_alphanumeric())
                    .count();
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
