//! Addresses (e-mail, web, file paths), handles, tags and identifiers.
//!
//! Owns everything that is one piece because no space divides it. Street addresses are not here:
//! their number is a number and their street is a name.

use crate::DetailKind;
use crate::lexicon::Flag;
use crate::reading::{Draft, Facts};
use crate::tokens::{Case, Doc, Kind};

/// Finds addresses and identifiers and claims their tokens.
pub(crate) fn read(reading: &mut Draft<'_>) {
    let mut at = 0;
    while at < reading.doc.tokens.len() {
        let end = chunk_end(&reading.doc, at);
        if is_coded(&reading.doc, at) {
            let key = identifier_key(&reading.doc, at, at + 2);
            reading.add(at, at + 2, DetailKind::Handle, key.into(), Facts::Plain);
            at += 2;
            continue;
        }
        if end - at > 1 {
            read_chunk(reading, at, end);
        }
        at = end;
    }
}

/// `BA 117`, `GPT 4`: a short code in capitals and a number after a space.
fn is_coded(doc: &Doc<'_>, i: usize) -> bool {
    let Some((code, number)) = doc.get(i).zip(doc.get(i + 1)) else {
        return false;
    };
    let fits = code.kind == Kind::Word
        && code.case == Case::Upper
        && (2..=4).contains(&code.fold.len())
        && code.fold.is_ascii();
    if !fits {
        return false;
    }
    let plain = code.is(Flag::Common)
        || doc.is_function(code)
        || code.is(Flag::Title)
        || code.entry.unit().is_some()
        || code.entry.month > 0
        || code.entry.weekday > 0
        || code.entry.negates != 0;
    let numbered = number.kind == Kind::Number
        && number.gap == crate::tokens::Gap::Space
        && number.fold.len() <= 5;
    let ends = doc.get(i + 2).is_none_or(|t| {
        !t.glued()
            || t.kind == Kind::Symbol
                && matches!(t.fold.as_ref(), "." | "," | ";" | ")" | "!" | "?")
                && !doc.get(i + 3).is_some_and(|n| n.glued())
    });
    let measured = doc
        .get(i + 2)
        .is_some_and(|t| t.entry.unit().is_some() || t.entry.month > 0);
    let year =
        number.fold.len() == 4 && (number.fold.starts_with("19") || number.fold.starts_with("20"));
    numbered && ends && !plain && !measured && !year && !doc.shouting
}

/// Where the run of tokens without a space or a CJK character ends.
fn chunk_end(doc: &Doc<'_>, from: usize) -> usize {
    let mut at = from + 1;
    while doc
        .get(at)
        .is_some_and(|t| t.glued() && !breaks_chunk(doc, at))
        && !breaks_chunk(doc, at - 1)
    {
        at += 1;
    }
    at
}

fn breaks_chunk(doc: &Doc<'_>, i: usize) -> bool {
    doc.get(i).is_some_and(|t| match t.kind {
        Kind::Han | Kind::Kana => true,
        Kind::Symbol => !t.fold.is_ascii() || matches!(t.fold.as_ref(), "\"" | "<" | ">" | "|"),
        _ => false,
    })
}

fn read_chunk(reading: &mut Draft<'_>, from: usize, to: usize) {
    let (from, to) = trim(&reading.doc, from, to);
    if to - from < 2 {
        return;
    }
    let text = reading.doc.surface(from, to);
    if let Some(key) = address_key(text) {
        return reading.add(from, to, DetailKind::Address, key.into(), Facts::Plain);
    }
    if let Some(key) = handle_key(text) {
        let mut end = from + 1;
        while end < to
            && !matches!(
                reading.doc.tokens[end].fold.as_ref(),
                "'" | "’" | "," | "/" | ")" | ":"
            )
        {
            end += 1;
        }
        let cut = reading.doc.surface(from, end);
        let key = if end < to {
            handle_key(cut).unwrap_or(key)
        } else {
            key
        };
        return reading.add(from, end, DetailKind::Handle, key.into(), Facts::Plain);
    }
    read_identifiers(reading, from, to);
}

/// Cuts brackets, quotation marks and the punctuation of the sentence off a chunk.
fn trim(doc: &Doc<'_>, mut from: usize, mut to: usize) -> (usize, usize) {
    let is = |i: usize, marks: &str| {
        doc.get(i)
            .is_some_and(|t| t.kind == Kind::Symbol && marks.contains(t.fold.as_ref()))
    };
    while from < to && is(from, "([{'`*,;:") {
        from += 1;
    }
    while from < to && is(to - 1, ")]}'`*.,;:!?") {
        to -= 1;
    }
    (from, to)
}

fn address_key(text: &str) -> Option<String> {
    let known = is_url(text) || is_email(text) || is_domain(text) || is_path(text);
    known.then(|| canonical_address(text))
}

fn canonical_address(text: &str) -> String {
    let lower = text.to_lowercase();
    let bare = lower
        .split_once("://")
        .map_or(lower.as_str(), |(_, rest)| rest);
    let bare = bare.strip_prefix("mailto:").unwrap_or(bare);
    let bare = bare.strip_prefix("www.").unwrap_or(bare);
    bare.trim_end_matches('/').to_owned()
}

fn is_url(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, rest)| {
        !rest.is_empty()
            && !scheme.is_empty()
            && scheme
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'+')
    }) || text
        .get(..4)
        .is_some_and(|w| w.eq_ignore_ascii_case("www."))
}

fn is_email(text: &str) -> bool {
    text.split_once('@').is_some_and(|(user, host)| {
        user.chars().next_back().is_some_and(char::is_alphanumeric)
            && host.contains('.')
            && host.chars().next().is_some_and(char::is_alphanumeric)
            && !host.contains('@')
    })
}

fn is_domain(text: &str) -> bool {
    const ENDINGS: [&str; 40] = [
        "com", "org", "net", "io", "dev", "app", "ai", "co", "edu", "gov", "info", "de", "fr",
        "es", "it", "pt", "nl", "ru", "uk", "eu", "ch", "at", "be", "pl", "se", "no", "dk", "fi",
        "jp", "cn", "kr", "in", "br", "us", "ca", "au", "tr", "il", "me", "local",
    ];
    let host = text.split(['/', ':', '?']).next().unwrap_or("");
    let Some((name, ending)) = host.rsplit_once('.') else {
        return false;
    };
    let lower = !ending.bytes().any(|b| b.is_ascii_uppercase());
    name.len() >= 2
        && lower
        && ENDINGS.contains(&ending)
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || c == '-' || c == '.')
        && name.chars().any(char::is_alphabetic)
}

fn is_path(text: &str) -> bool {
    if text.contains(char::is_whitespace) || text.contains("//") {
        return false;
    }
    let slashes = text.matches(['/', '\\']).count();
    let rooted = text.starts_with("~/") || text.starts_with("./") || text.starts_with("../");
    let drive = text.get(1..3) == Some(":\\");
    let absolute = text.starts_with('/') && text.chars().nth(1).is_some_and(char::is_alphabetic);
    rooted
        || drive
        || absolute
        || (slashes >= 1 && has_extension(text))
        || (slashes == 0 && has_extension(text))
        || (slashes >= 2
            && text
                .chars()
                .all(|c| c.is_ascii_lowercase() || matches!(c, '/' | '_' | '-'))
            && text.contains(['_', '-']))
}

fn has_extension(text: &str) -> bool {
    const EXTENSIONS: [&str; 46] = [
        "pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "txt", "md", "csv", "json", "jsonl",
        "yaml", "yml", "toml", "xml", "html", "css", "js", "ts", "tsx", "jsx", "py", "rs", "go",
        "java", "rb", "php", "sh", "sql", "ini", "cfg", "conf", "log", "zip", "tar", "gz", "png",
        "jpg", "jpeg", "gif", "svg", "mp3", "mp4", "env", "lock",
    ];
    text.rsplit_once('.').is_some_and(|(name, ext)| {
        !name.is_empty()
            && EXTENSIONS.iter().any(|e| ext.eq_ignore_ascii_case(e))
            && name.chars().any(char::is_alphanumeric)
    })
}

fn handle_key(text: &str) -> Option<String> {
    let rest = text.strip_prefix(['@', '#'])?;
    let first = rest.chars().next()?;
    let named =
        first.is_alphabetic() || first == '_' || (text.starts_with('@') && first.is_alphanumeric());
    if !named {
        return None;
    }
    let cut = rest
        .split(['\'', '’', ',', ')', ':', ';', '!', '?'])
        .next()
        .unwrap_or(rest);
    Some(format!("@{}", cut.to_lowercase()))
}

/// Finds identifiers such as `TKT-100` within a chunk.
fn read_identifiers(reading: &mut Draft<'_>, from: usize, to: usize) {
    let mut at = from;
    while at < to {
        let end = identifier_end(&reading.doc, at, to);
        if end > at + 1 && is_identifier(&reading.doc, at, end) {
            let key = identifier_key(&reading.doc, at, end);
            reading.add(at, end, DetailKind::Handle, key.into(), Facts::Plain);
        }
        at = end.max(at + 1);
    }
}

fn identifier_end(doc: &Doc<'_>, from: usize, to: usize) -> usize {
    let solid = |i: usize| {
        i < to
            && doc
                .get(i)
                .is_some_and(|t| matches!(t.kind, Kind::Word | Kind::Number))
    };
    if !solid(from) {
        return from;
    }
    let mut at = from + 1;
    loop {
        if solid(at) {
            at += 1;
        } else if (doc.symbol(at, "-") || doc.symbol(at, "_") || doc.symbol(at, "‑"))
            && at < to
            && solid(at + 1)
        {
            at += 2;
        } else {
            return at;
        }
    }
}

pub(crate) fn identifier_key(doc: &Doc<'_>, from: usize, to: usize) -> String {
    let solid = doc.tokens[from..to]
        .iter()
        .filter(|t| t.kind != Kind::Symbol);
    solid.map(|t| t.fold.as_ref()).collect()
}

fn is_identifier(doc: &Doc<'_>, from: usize, to: usize) -> bool {
    let tokens = &doc.tokens[from..to];
    let numbers = tokens.iter().filter(|t| t.kind == Kind::Number).count();
    let words = tokens.iter().filter(|t| t.kind == Kind::Word).count();
    let length: usize = tokens.iter().map(|t| t.fold.len()).sum();
    if numbers == 0 || words == 0 {
        // Names joined by an underscore are code.
        return words > 1 && tokens.iter().any(|t| t.symbol("_"));
    }
    if tokens.iter().any(|t| t.symbol("_"))
        || (numbers + words >= 4 && length >= 7 && is_dense(doc, from, to))
    {
        return true;
    }
    (from..to - 1).any(|i| binds(doc, i, to))
}

/// Whether letters and digits alternate without a separator, as in a hash.
fn is_dense(doc: &Doc<'_>, from: usize, to: usize) -> bool {
    (from..to.saturating_sub(2)).any(|i| {
        let kinds = [i, i + 1, i + 2].map(|n| doc.tokens[n].kind);
        kinds == [Kind::Number, Kind::Word, Kind::Number] && doc.tokens[i + 1].fold != "h"
            || kinds == [Kind::Word, Kind::Number, Kind::Word] && !doc.tokens[i].is(Flag::Common)
    })
}

/// Whether the word and the number at `i` belong together as an identifier.
fn binds(doc: &Doc<'_>, i: usize, to: usize) -> bool {
    let hyphened = doc.symbol(i + 1, "-") || doc.symbol(i + 1, "‑");
    let second = if hyphened { i + 2 } else { i + 1 };
    if second >= to {
        return false;
    }
    let (a, b) = (&doc.tokens[i], &doc.tokens[second]);
    match (a.kind, b.kind) {
        (Kind::Word, Kind::Number) => {
            let plain = a.is(Flag::Common)
                || doc.is_function(a)
                || a.entry.month > 0
                || a.entry.weekday > 0;
            let version =
                a.fold == "v" || a.fold == "x" || a.entry.unit().is_some() && a.case == Case::Lower;
            !version
                && a.case != Case::None
                && if hyphened {
                    a.capital() && !(plain && a.case == Case::Title)
                } else {
                    !plain || a.case == Case::Upper
                }
        }
        (Kind::Number, Kind::Word) => !is_number_suffix(doc, second, hyphened),
        _ => false,
    }
}

/// Whether the letters after a number are its unit, its ending or its half of the day.
fn is_number_suffix(doc: &Doc<'_>, i: usize, hyphened: bool) -> bool {
    let word = &doc.tokens[i];
    if word.case == Case::None || (hyphened && word.case != Case::Upper) || word.fold.len() > 4 {
        return true;
    }
    const ENDINGS: [&str; 31] = [
        "st", "nd", "rd", "th", "er", "ers", "ere", "eme", "e", "re", "s", "am", "pm", "a", "p",
        "k", "m", "bn", "mn", "mio", "x", "h", "uhr", "er", "ter", "ten", "te", "de", "го", "й",
        "х",
    ];
    if ENDINGS.contains(&word.fold.as_ref()) {
        return !(word.case == Case::Upper && word.fold == "a");
    }
    let unit = word.entry.unit().is_some() || matches!(word.fold.as_ref(), "c" | "f");
    unit && !(word.case == Case::Upper && matches!(word.fold.as_ref(), "g" | "t" | "s" | "d" | "b"))
}
