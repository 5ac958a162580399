//! Quoted passages.
//!
//! Owns which marks open and close a quotation. What else a passage states is found by the other
//! readers as well, as a passage is read like any text.

use crate::DetailKind;
use crate::reading::{Draft, Facts};
use crate::tokens::{Doc, Gap, Kind};

/// How deeply quotations may nest; deeper ones are read as text.
const DEEPEST: usize = 8;

/// Finds the quoted passages.
pub(crate) fn read(reading: &mut Draft<'_>) {
    let mut open: Vec<(usize, &'static str)> = Vec::new();
    for i in 0..reading.doc.tokens.len() {
        let token = &reading.doc.tokens[i];
        if token.gap == Gap::Line {
            open.clear();
        }
        if token.kind != Kind::Symbol || is_plain(&token.fold) {
            continue;
        }
        if let Some(depth) = closes(&reading.doc, i, &open) {
            let (from, _) = open[depth];
            open.truncate(depth);
            add(reading, from, i + 1);
        } else if let Some(closing) = opens(&reading.doc, i)
            && open.len() < DEEPEST
        {
            open.push((i, closing));
        }
    }
}

/// Whether the symbol surely is no quotation mark.
fn is_plain(symbol: &str) -> bool {
    matches!(symbol.as_bytes(), [0..=127] if !matches!(symbol, "\"" | "'" | "`"))
}

fn add(reading: &mut Draft<'_>, from: usize, to: usize) {
    let key = passage(&reading.doc, from + 1, to - 1);
    if key.chars().count() > 1 {
        reading.note(from, to, DetailKind::Quote, key.into(), Facts::Quote);
    }
}

/// The words of a passage, without what divides them.
pub(crate) fn passage(doc: &Doc<'_>, from: usize, to: usize) -> String {
    let mut words = String::new();
    for token in doc.tokens.get(from..to).unwrap_or(&[]) {
        if token.kind != Kind::Symbol {
            if !words.is_empty() {
                words.push(' ');
            }
            words.push_str(&token.fold);
        }
    }
    words
}

/// The marks that close what the mark at `i` opens, if it opens a quotation.
fn opens(doc: &Doc<'_>, i: usize) -> Option<&'static str> {
    let token = &doc.tokens[i];
    let next_glued = doc.get(i + 1).is_some_and(|t| t.glued());
    let free = !token.glued()
        || doc
            .before(i)
            .is_none_or(|t| t.kind == Kind::Symbol || matches!(t.kind, Kind::Han | Kind::Kana));
    match token.fold.as_ref() {
        "“" => Some("”“\""),
        "„" | "‚" => Some("“”\"‘’"),
        "«" => Some("»"),
        "‹" => Some("›"),
        "»" if free => Some("«»"),
        "「" => Some("」"),
        "『" => Some("』"),
        "《" => Some("》"),
        "〈" => Some("〉"),
        "”" if free && next_glued => Some("”"),
        "\"" | "＂" if free && next_glued => Some("\"＂”"),
        "`" if free && next_glued => Some("`"),
        "‘" if free => Some("’'"),
        "'" if free && next_glued && closes_later(doc, i) => Some("'’"),
        _ => None,
    }
}

/// Whether a straight single quotation mark is closed before long; else it is an apostrophe.
fn closes_later(doc: &Doc<'_>, i: usize) -> bool {
    doc.tokens
        .iter()
        .skip(i + 2)
        .take(80)
        .take_while(|t| t.gap != Gap::Line)
        .any(|t| t.symbol("'") && t.glued())
}

/// Which open quotation the mark at `i` closes.
fn closes(doc: &Doc<'_>, i: usize, open: &[(usize, &'static str)]) -> Option<usize> {
    let token = &doc.tokens[i];
    let single = matches!(token.fold.as_ref(), "'" | "’");
    if single {
        let inside_word = doc
            .get(i + 1)
            .is_some_and(|t| t.glued() && t.kind == Kind::Word);
        if inside_word || !token.glued() {
            return None;
        }
    }
    let mark = token.fold.as_ref();
    let straight = mark == "\"" && !token.glued() && doc.get(i + 1).is_some_and(|t| t.glued());
    if straight
        && open
            .last()
            .is_none_or(|(_, closing)| !closing.starts_with('"'))
    {
        return None;
    }
    open.iter()
        .rposition(|(from, closing)| closing.contains(mark) && i > from + 1)
}
