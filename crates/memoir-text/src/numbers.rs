//! The numbers and signs of a text.
//!
//! Owns where a number begins and ends and how it is written; whether another text supports it is decided in `summary`.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

/// A number as it stands, or several that marks join: a range, a time, a date, a version.
pub(crate) struct Figure {
    pub(crate) place: Range<usize>,
    /// The values of its numbers, without group separators: one number, or the ends of a range.
    pub(crate) values: Vec<String>,
    /// All its runs of digits, in their order.
    pub(crate) runs: Vec<Run>,
    /// What stands between the runs.
    pub(crate) marks: Vec<char>,
    /// Whether it may as well be read as several numbers, each by itself: a range, a list.
    pub(crate) is_loose: bool,
}

pub(crate) struct Run {
    /// Without leading zeros.
    pub(crate) value: String,
    pub(crate) digits: usize,
}

impl Run {
    /// As a small number, such as a part of a date.
    pub(crate) fn small(&self) -> Option<u16> {
        self.value.parse().ok()
    }
}

/// The figures of a text. `spaced`: a space parts thousands in its language, so that "12 300" is one number; else
/// it may be one or two.
pub(crate) fn figures(text: &str, spaced: bool) -> Vec<Figure> {
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let mut figures = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        match read(&chars, at, spaced) {
            Some((mut figure, next)) => {
                let place = |at: usize| chars.get(at).map_or(text.len(), |(place, _)| *place);
                figure.place = place(at)..place(next);
                figures.push(figure);
                at = next;
            }
            None => at += 1,
        }
    }
    figures
}

/// Reads the digits that stand at a place and what belongs to them, and where they end.
fn read(chars: &[(usize, char)], at: usize, spaced: bool) -> Option<(Figure, usize)> {
    let char_at = |at: usize| chars.get(at).map(|(_, c)| *c);
    let digits = |from: usize| -> String {
        let digits = chars.get(from..).unwrap_or(&[]).iter();
        digits.map_while(|(_, c)| digit(*c)).collect()
    };
    let first = char_at(at)?;
    if let Some(runs) = fraction(first) {
        return Some((figure(runs, vec!['/'], spaced), at + 1));
    }
    if let Some(run) = symbol(first) {
        return Some((figure(vec![run], Vec::new(), spaced), at + 1));
    }
    let (mut runs, mut marks, mut next) = (Vec::new(), Vec::new(), at);
    // ".5", but not the end of "a.5".
    let before = at.checked_sub(1).and_then(char_at);
    let is_open = before.is_none_or(|c| !c.is_alphanumeric() && c != '.');
    if first == '.' && is_open && !digits(at + 1).is_empty() {
        runs.push("0".to_owned());
        marks.push('.');
        next += 1;
    } else if digit(first).is_none() {
        return None;
    }
    loop {
        let run = digits(next);
        let end = next + run.chars().count();
        let parts_thousands = marks.iter().all(|mark| is_space(*mark))
            && match marks.is_empty() {
                true => run.len() <= 3 && !run.starts_with('0'),
                false => run.len() == 3,
            };
        runs.push(run);
        let follows = digits(end + 1);
        let joins = char_at(end).is_some_and(|mark| match mark {
            // A space parts thousands only.
            mark if is_space(mark) => parts_thousands && follows.len() == 3,
            'h' | 'H' => follows.len() == 2,
            mark => (JOINING.contains(&mark) || INNER.contains(&mark)) && !follows.is_empty(),
        });
        match chars.get(end) {
            Some((_, mark)) if joins => marks.push(*mark),
            _ => return Some((figure(runs, marks, spaced), end)),
        }
        next = end + 1;
    }
}

/// Marks within one number.
const INNER: [char; 6] = ['.', ',', '\'', '’', '٫', '٬'];
/// Marks between several numbers.
const JOINING: [char; 7] = [':', '/', '⁄', '-', '‐', '‑', '–'];

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}')
}

fn figure(runs: Vec<String>, marks: Vec<char>, spaced: bool) -> Figure {
    let is_range = |mark: &char| matches!(mark, '-' | '‐' | '‑' | '–');
    let (mut values, mut from) = (Vec::new(), 0);
    for to in 1..=runs.len() {
        if to == runs.len() || !(INNER.contains(&marks[to - 1]) || is_space(marks[to - 1])) {
            values.push(value(&runs[from..to], &marks[from..to - 1]));
            from = to;
        }
    }
    let is_date = runs.len() == 3 && (runs[0].len() == 4 || runs[2].len() == 4);
    let is_list = values == [None] && marks.iter().all(|mark| *mark == ',');
    let is_spaced = !spaced && !marks.is_empty() && marks.iter().all(|mark| *mark == ' ');
    let is_loose =
        is_list || is_spaced || !marks.is_empty() && marks.iter().any(is_range) && !is_date;
    let run = |digits: &String| Run {
        value: without_zeros(digits),
        digits: digits.len(),
    };
    Figure {
        place: 0..0,
        is_loose,
        // A number that is several runs, such as a version, has no value of its own.
        values: values
            .into_iter()
            .collect::<Option<_>>()
            .unwrap_or_default(),
        runs: runs.iter().map(run).collect(),
        marks,
    }
}

/// The value of one number; `None` where it is a date, a version or a list.
fn value(runs: &[String], marks: &[char]) -> Option<String> {
    let [first, rest @ ..] = runs else {
        return None;
    };
    let Some((last, _)) = marks.split_last() else {
        return Some(without_zeros(first));
    };
    let one = |marks: &[char]| marks.windows(2).all(|pair| pair[0] == pair[1]);
    let starts = |most: usize| first.len() <= most && !first.starts_with('0');
    let grouped = |rest: &[String]| starts(3) && rest.iter().all(|run| run.len() == 3);
    if one(marks) && *last != '٫' && grouped(rest) {
        return Some(runs.concat());
    }
    let (end, middle) = rest.split_last()?;
    // Indian groups: "1,20,000".
    if one(marks)
        && *last == ','
        && starts(2)
        && end.len() == 3
        && middle.iter().all(|run| run.len() == 2)
    {
        return Some(runs.concat());
    }
    let whole = &marks[..marks.len() - 1];
    let is_decimal = matches!(last, '.' | ',' | '٫')
        && !whole.contains(last)
        && one(whole)
        && (middle.is_empty() || grouped(middle));
    is_decimal.then(|| {
        let whole = without_zeros(&runs[..runs.len() - 1].concat());
        match end.trim_end_matches('0') {
            "" => whole,
            fraction => format!("{whole}.{fraction}"),
        }
    })
}

fn without_zeros(digits: &str) -> String {
    match digits.trim_start_matches('0') {
        "" => "0".to_owned(),
        digits => digits.to_owned(),
    }
}

/// Numerator and denominator of a fraction that is one character.
fn fraction(c: char) -> Option<Vec<String>> {
    if !matches!(c, '¼'..='¾' | '⅐'..='⅞' | '↉') {
        return None;
    }
    let written: String = std::iter::once(c).nfkc().collect();
    Some(written.split('⁄').map(str::to_owned).collect())
}

/// The digits of a number that is one character, such as `③` or `²`; the character itself where it has none, such as a
/// Roman numeral.
fn symbol(c: char) -> Option<String> {
    if c.is_ascii() || !c.is_numeric() || digit(c).is_some() {
        return None;
    }
    let digits = std::iter::once(c).nfkc().filter(char::is_ascii_digit);
    let digits: String = digits.collect();
    Some(if digits.is_empty() {
        c.to_string()
    } else {
        digits
    })
}

/// The first digit of each run of ten decimal digits (Unicode category Nd) beyond ASCII.
#[rustfmt::skip]
const ZEROS: [u32; 69] = [
    0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xDE6, 0xE50, 0xED0, 0xF20,
    0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0,
    0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10, 0x104A0, 0x10D30, 0x11066, 0x110F0, 0x11136, 0x111D0, 0x112F0,
    0x11450, 0x114D0, 0x11650, 0x116C0, 0x11730, 0x118E0, 0x11950, 0x11C50, 0x11D50, 0x11DA0, 0x11F50, 0x16A60,
    0x16AC0, 0x16B50, 0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6, 0x1E140, 0x1E2F0, 0x1E4F0, 0x1E950, 0x1FBF0,
    0x10D40, 0x1E5F1,
];

/// The ASCII digit of the same value.
fn digit(c: char) -> Option<char> {
    if c.is_ascii() || !c.is_numeric() {
        return c.is_ascii_digit().then_some(c);
    }
    let zero = ZEROS
        .iter()
        .find(|zero| (**zero..**zero + 10).contains(&(c as u32)))?;
    char::from_digit(c as u32 - zero, 10)
}

/// The signs of a text that say something of a number or an amount, each with its place, in one shape each (SPEC 3.9).
pub(crate) fn signs(text: &str) -> Vec<(Range<usize>, char)> {
    let mut signs = Vec::new();
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let sign = match c {
            '%' | '％' | '﹪' | '٪' => '%',
            '+' | '＋' | '﹢' if !is_bullet(text, at, end) => '+',
            '°' | '℃' | '℉' => '°',
            '−' | '‰' => c,
            '-' | '－' | '–' | '﹣' if is_minus(text, at, end) => '−',
            '＄' | '﹩' => '$',
            '￠' => '¢',
            '￡' => '£',
            '￥' => '¥',
            '￦' => '₩',
            '$'
            | '¢'..='¥'
            | '֏'
            | '؋'
            | '߾'
            | '߿'
            | '৲'
            | '৳'
            | '৻'
            | '૱'
            | '௹'
            | '฿'
            | '៛'
            | '\u{20A0}'..='\u{20CF}'
            | '\u{A838}'
            | '﷼'
            | '\u{11FDD}'..='\u{11FE0}'
            | '\u{1E2FF}'
            | '\u{1ECB0}' => c,
            _ => continue,
        };
        signs.push((at..end, sign));
    }
    signs
}

/// Whether a dash is the minus of a number, and no range, date or hyphen.
fn is_minus(text: &str, at: usize, end: usize) -> bool {
    let next = text[end..].chars().next();
    let before = text[..at].chars().next_back();
    next.is_some_and(|c| digit(c).is_some() || c == '.' || matches!(c, '$' | '£' | '€' | '¥'))
        && before.is_none_or(|c| !c.is_alphanumeric() && c != ')')
        // "10 -12" is a range.
        && !text[..at].trim_end().ends_with(|c: char| digit(c).is_some())
}

fn is_bullet(text: &str, at: usize, end: usize) -> bool {
    let line = text[..at].rsplit('\n').next().unwrap_or("");
    line.trim().is_empty() && text[end..].starts_with([' ', '\t'])
}
