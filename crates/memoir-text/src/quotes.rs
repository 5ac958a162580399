//! The quotations of a text.
//!
//! Owns where a quotation begins and ends, and whether a text has its words.

use std::ops::Range;

use crate::same::fold_marks;
use crate::scan::is_unspaced;

/// The places of a quotation, with its marks, and of what stands between them.
pub(crate) struct Quotation {
    pub(crate) whole: Range<usize>,
    pub(crate) inner: Range<usize>,
}

/// The quotations of a text, in their order; none within another.
pub(crate) fn quotations(text: &str) -> Vec<Quotation> {
    let mut quotations = Vec::new();
    // Closing marks that were looked for in vain: they do not stand further on either.
    let mut missing: Vec<&[char]> = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let from = at + c.len_utf8();
        let found = closers(c)
            .filter(|closers| !missing.contains(closers) && opens(text, at, c))
            .and_then(|closers| {
                let end = closing(text, from, closers);
                if end.is_none() {
                    missing.push(closers);
                }
                end
            });
        at = match found {
            Some(end) => {
                quotations.push(Quotation {
                    whole: at..end.end,
                    inner: from..end.start,
                });
                end.end
            }
            None => from,
        };
    }
    // What has no words quotes nothing.
    quotations.retain(|quotation| {
        let inner = &text[quotation.inner.clone()];
        inner.contains(|c: char| c.is_alphanumeric())
    });
    quotations
}

/// The marks that end a single quotation; an apostrophe is one of them.
const SINGLE: &[char] = &['\'', '’', '‘'];

/// What closes a quotation that this mark opens.
fn closers(c: char) -> Option<&'static [char]> {
    Some(match c {
        '"' | '＂' => &['"', '＂'],
        '“' | '‟' => &['”', '"'],
        '”' => &['”'],
        '„' => &['“', '”', '"'],
        '«' => &['»'],
        '»' => &['«', '»'],
        '‹' => &['›'],
        '「' => &['」'],
        '『' => &['』'],
        '〝' => &['〞', '〟'],
        '\'' | '‘' | '’' | '‚' => SINGLE,
        _ => return None,
    })
}

/// The place of the mark that closes a quotation whose text begins at `from`.
fn closing(text: &str, from: usize, closers: &[char]) -> Option<Range<usize>> {
    let mut marks = text[from..].match_indices(closers);
    marks.find_map(|(place, mark)| {
        let place = from + place;
        let end = place + mark.len();
        let closes = closers != SINGLE
            || text[..place].ends_with(|c: char| !c.is_whitespace())
                && !text[end..].starts_with(char::is_alphanumeric);
        closes.then_some(place..end)
    })
}

/// Whether a mark that may open a quotation does so where it stands.
fn opens(text: &str, at: usize, mark: char) -> bool {
    let rest = &text[at + mark.len_utf8()..];
    let before = text[..at].chars().next_back();
    let is_single = matches!(mark, '\'' | '‘' | '’' | '‚');
    if !is_single && !matches!(mark, '"' | '＂' | '”' | '»') {
        return true;
    }
    let begins = before
        .is_none_or(|c| c.is_whitespace() || is_unspaced(c) || "([{¿¡—–-:/«„“‘‚\"'「".contains(c));
    let is_apostrophe = || {
        let mut letters = rest.chars();
        let (first, second) = (letters.next(), letters.next());
        // "'90s", "rock 'n roll", Dutch "'s avonds".
        first.is_some_and(|c| c.is_ascii_digit())
            && second.is_some_and(|c| c.is_ascii_digit())
            && letters.next().is_none_or(|c| !c.is_ascii_digit())
            || first.is_some_and(|c| "stnkmr".contains(c)) && second.is_none_or(char::is_whitespace)
    };
    begins && rest.starts_with(|c: char| !c.is_whitespace()) && !(is_single && is_apostrophe())
}

/// A text in the form in which quotations are looked for in it.
pub(crate) fn quotable(text: &str) -> String {
    // A quotation within another changes its marks.
    fold_marks(text).replace('"', "'")
}

/// Whether a quotation stands word for word in a text, both [`quotable`]. Its first letter may be of another
/// case, and a final comma or stop is no part of it.
pub(crate) fn has_quotation(text: &str, quotation: &str) -> bool {
    let quotation = quotation
        .trim_end_matches([',', '.', '，', '。', '、'])
        .trim();
    let Some(first) = quotation.chars().next() else {
        return true;
    };
    let rest = &quotation[first.len_utf8()..];
    let cases: [String; 3] = [
        quotation.to_owned(),
        first.to_lowercase().chain(rest.chars()).collect(),
        first.to_uppercase().chain(rest.chars()).collect(),
    ];
    let joins = |one: Option<char>, other: Option<char>| {
        let is_joined = |c: char| c.is_alphanumeric() && !is_unspaced(c);
        one.is_some_and(is_joined) && other.is_some_and(is_joined)
    };
    cases.iter().any(|words| {
        text.match_indices(words.as_str()).any(|(at, _)| {
            let (before, behind) = (&text[..at], &text[at + words.len()..]);
            !joins(before.chars().next_back(), words.chars().next())
                && !joins(words.chars().next_back(), behind.chars().next())
        })
    })
}
