//! Dates: in digits, with the month in words, and days in words.
//!
//! Owns what counts as a date and its canonical form. Times of day are in [`crate::clock`].

use crate::DetailKind;
use crate::lexicon::{self, DE, EN, ES, FR, IT, Langs, PT};
use crate::reading::{Amount, Date, Draft, Facts};
use crate::short::Short;
use crate::tokens::{Case, Doc, Gap, Kind};

/// Reads a date that begins at token `i`; returns where it ends.
pub(crate) fn read(reading: &mut Draft<'_>, i: usize) -> Option<usize> {
    let doc = &reading.doc;
    if let Some((end, date)) = numeric(doc, i).or_else(|| east_asian(doc, i)) {
        return Some(add(reading, i, end, date));
    }
    if let Some((split, first, end, second)) = day_range(doc, i) {
        add(reading, i, split, first);
        return Some(add(reading, split, end, second));
    }
    if let Some((end, date)) = day_first(doc, i).or_else(|| month_first(doc, i)) {
        return Some(add(reading, i, end, date));
    }
    if let Some((end, key)) = decade(doc, i) {
        reading.add(i, end, DetailKind::Date, key.into(), Facts::Plain);
        return Some(end);
    }
    if let Some((end, year)) = lone_year(doc, i) {
        let date = Date {
            year: Some(year),
            ..Date::default()
        };
        return Some(add(reading, i, end, date));
    }
    read_named(reading, i)
}

fn add(reading: &mut Draft<'_>, from: usize, to: usize, date: Date) -> usize {
    if let Some(year) = date.year {
        reading.implied.push(Amount::bare(format_args!("{year}")));
    }
    reading.add(from, to, DetailKind::Date, key(date), Facts::Date(date));
    to
}

fn key(date: Date) -> Short {
    let mut key: Short = match date.year {
        Some(year) => format_args!("{year}").into(),
        None => "-".into(),
    };
    for part in [date.month, date.month.and(date.day)].into_iter().flatten() {
        key.push_str(Short::from(format_args!("-{part:02}")).as_str());
    }
    key
}

fn digits(doc: &Doc<'_>, i: usize, lengths: std::ops::RangeInclusive<usize>) -> Option<u16> {
    let token = doc.get(i).filter(|t| t.kind == Kind::Number)?;
    let fits = lengths.contains(&token.fold.len());
    fits.then(|| token.fold.parse().ok()).flatten()
}

fn glued_symbol<'d>(doc: &'d Doc<'_>, i: usize) -> Option<&'d str> {
    let token = doc.get(i).filter(|t| t.kind == Kind::Symbol && t.glued())?;
    let next_glued = doc.get(i + 1).is_some_and(|t| t.glued());
    (next_glued && matches!(token.fold.as_ref(), "-" | "." | "/" | "‑"))
        .then_some(token.fold.as_ref())
}

/// `2024-05-03`, `03.05.2024`, `3/5/24`, `am 3.5.`, `on 5/3`.
fn numeric(doc: &Doc<'_>, i: usize) -> Option<(usize, Date)> {
    let first = digits(doc, i, 1..=4)?;
    let separator = glued_symbol(doc, i + 1).or_else(|| spaced_dot(doc, i))?;
    let second = digits(doc, i + 2, 1..=2)?;
    let third_follows = if separator == "." {
        doc.symbol(i + 3, ".")
            && doc.get(i + 3).is_some_and(|t| t.glued())
            && doc.get(i + 4).is_some_and(|t| t.gap < Gap::Line)
    } else {
        glued_symbol(doc, i + 3) == Some(separator)
    };
    let third = third_follows.then(|| digits(doc, i + 4, 1..=4)).flatten();
    let glued_third = doc.get(i + 4).is_some_and(|t| t.glued());
    let length = doc.get(i + 4).map_or(0, |t| t.fold.len());
    if doc.get(i)?.fold.len() == 4 {
        let third = third.filter(|_| length <= 2)?;
        return Some((i + 5, valid(Some(first), second, third)?));
    }
    if let Some(third) = third.filter(|_| length == 4 || (length == 2 && glued_third)) {
        let year = if length == 4 { third } else { full_year(third) };
        return order(doc, first, second, separator).and_then(|(day, month, ambiguous)| {
            let date = valid(Some(year), month, day)?;
            Some((i + 5, Date { ambiguous, ..date }))
        });
    }
    day_and_month(doc, i, first, second, separator)
}

fn spaced_dot<'d>(doc: &'d Doc<'_>, i: usize) -> Option<&'d str> {
    let dot = doc.get(i + 1).filter(|t| t.symbol(".") && t.glued())?;
    let spaced = doc
        .get(i + 2)
        .is_some_and(|t| t.gap == Gap::Space && t.kind == Kind::Number);
    let closed = doc.symbol(i + 3, ".");
    (spaced && closed && doc.speaks(DE)).then_some(dot.fold.as_ref())
}

fn day_and_month(
    doc: &Doc<'_>,
    i: usize,
    first: u16,
    second: u16,
    separator: &str,
) -> Option<(usize, Date)> {
    const BEFORE: [&str; 22] = [
        "am", "vom", "bis", "zum", "ab", "der", "den", "dem", "on", "by", "until", "since", "due",
        "le", "el", "il", "dia", "before", "em", "op", "du", "au",
    ];
    let announced = doc
        .before(i)
        .is_some_and(|t| BEFORE.contains(&t.fold.as_ref()));
    let dotted = separator == "." && doc.symbol(i + 3, ".") && doc.get(i + 3)?.glued();
    if !(announced && (separator == "/" || dotted)) && !(dotted && doc.speaks(DE)) {
        return None;
    }
    let (day, month, ambiguous) = order(doc, first, second, separator)?;
    let date = valid(None, month, day)?;
    Some((i + 3 + usize::from(dotted), Date { ambiguous, ..date }))
}

/// Day, month, and whether it could be the other way round. English without dots puts the month
/// first, as there is no telling; the comparison accepts both.
fn order(doc: &Doc<'_>, first: u16, second: u16, separator: &str) -> Option<(u16, u16, bool)> {
    match (first, second) {
        (13.., 13..) => None,
        (13.., _) => Some((first, second, false)),
        (_, 13..) => Some((second, first, false)),
        _ if separator == "." => Some((first, second, false)),
        _ if doc.speaks(EN) => Some((second, first, first != second)),
        _ => Some((first, second, first != second)),
    }
}

fn full_year(short: u16) -> u16 {
    if short < 70 {
        2000 + short
    } else {
        1900 + short
    }
}

fn valid(year: Option<u16>, month: u16, day: u16) -> Option<Date> {
    let fits = (1..=12).contains(&month) && (1..=31).contains(&day);
    fits.then_some(Date {
        year,
        month: Some(month as u8),
        day: Some(day as u8),
        ambiguous: false,
    })
}

/// `2024年5月3日`, `5월 3일`, `五月`.
fn east_asian(doc: &Doc<'_>, i: usize) -> Option<(usize, Date)> {
    let mut date = Date::default();
    let mut at = i;
    if let Some(year) = digits(doc, at, 4..=4)
        && starts(doc, at + 1, &["年", "년"])
    {
        date.year = Some(year);
        at += 2;
    }
    if let Some((month, end)) = crate::cjk::small_number(doc, at)
        && (1..=12).contains(&month)
        && starts(doc, end, &["月", "월"])
    {
        date.month = Some(month as u8);
        at = end + 1;
    }
    if date.month.is_some()
        && let Some((day, end)) = crate::cjk::small_number(doc, at)
        && (1..=31).contains(&day)
        && starts(doc, end, &["日", "号", "號", "일"])
    {
        date.day = Some(day as u8);
        at = end + 1;
    }
    (at > i).then_some((at, date))
}

fn starts(doc: &Doc<'_>, i: usize, units: &[&str]) -> bool {
    doc.get(i)
        .is_some_and(|t| units.iter().any(|u| t.fold.starts_with(u)))
}

/// The month a word names, where it is one in this language and this spelling.
fn month(doc: &Doc<'_>, i: usize) -> Option<u8> {
    let token = doc
        .get(i)
        .filter(|t| t.entry.month > 0 && doc.speaks_of(t.entry.month_langs))?;
    const SHORT: [&str; 12] = [
        "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec",
    ];
    let known_lower =
        token.case != Case::Lower || !doc.speaks(EN) || !SHORT.contains(&token.fold.as_ref());
    let homograph = matches!(
        token.fold.as_ref(),
        "may" | "march" | "mar" | "mai" | "dec" | "jan" | "august"
    );
    let capital = token.capital() || doc.shouting;
    (known_lower || capital).then_some(())?;
    (!homograph || capital || !doc.speaks(EN | DE)).then_some(token.entry.month)
}

/// Whether a month that is another word as well stands where a month stands.
fn alone_as_month(doc: &Doc<'_>, i: usize) -> bool {
    const BEFORE: [&str; 17] = [
        "in", "of", "since", "until", "till", "by", "last", "next", "early", "late", "mid",
        "every", "from", "to", "and", "this", "during",
    ];
    let token = &doc.tokens[i];
    if matches!(
        token.fold.as_ref(),
        "jan"
            | "april"
            | "june"
            | "mar"
            | "may"
            | "march"
            | "august"
            | "juni"
            | "julia"
            | "sept"
            | "dec"
    ) && doc.speaks(EN | DE)
    {
        let announced = doc.before(i).is_some_and(|t| {
            BEFORE.contains(&t.fold.as_ref())
                || matches!(
                    t.fold.as_ref(),
                    "im" | "ab" | "seit" | "bis" | "ende" | "anfang" | "mitte" | "-"
                )
        });
        let verb = token.opens
            && token.fold == "march"
            && doc
                .get(i + 1)
                .is_some_and(|t| matches!(t.fold.as_ref(), "is" | "was"));
        return announced
            || verb
            || (!token.opens && !matches!(token.fold.as_ref(), "jan" | "may"));
    }
    true
}

/// A day of the month at `i`: its number and where it ends.
fn day(doc: &Doc<'_>, i: usize) -> Option<(u16, usize)> {
    let token = doc.get(i)?;
    if token.kind == Kind::Number {
        let day = digits(doc, i, 1..=2).filter(|d| (1..=31).contains(d))?;
        let suffix = doc.get(i + 1).is_some_and(|t| {
            t.glued()
                && matches!(
                    t.fold.as_ref(),
                    "st" | "nd" | "rd" | "th" | "er" | "." | "º" | "°" | "o" | "го"
                )
                && !(t.symbol(".") && doc.get(i + 2).is_some_and(|n| n.glued()))
        });
        return Some((day, i + 1 + usize::from(suffix)));
    }
    let ordinal = |t: &crate::tokens::Token<'_>| {
        (t.is(crate::lexicon::Flag::Ordinal) && t.entry.number < 31)
            .then_some(t.entry.number as u16)
    };
    if let Some(tens) =
        matches!(token.fold.as_ref(), "twenty" | "thirty").then_some(token.entry.number as u16)
    {
        let next = i + 1 + usize::from(doc.symbol(i + 1, "-"));
        let unit = doc.get(next).and_then(ordinal).filter(|u| *u < 10)?;
        return Some((tens + unit, next + 1));
    }
    if token.fold == "thirtieth" {
        return Some((30, i + 1));
    }
    Some((ordinal(token)?, i + 1))
}

/// A year at `i`, after an optional comma or preposition.
fn year(doc: &Doc<'_>, i: usize) -> Option<(u16, usize)> {
    let linked = doc.symbol(i, ",") || doc.word(i, &["de", "del", "of", "do"]);
    let at = i + usize::from(linked);
    if doc.get(at).is_none_or(|t| t.gap == Gap::Line) {
        return None;
    }
    let year = digits(doc, at, 4..=4).filter(|y| (1000..2200).contains(y))?;
    let time = doc.symbol(at + 1, ":");
    (!time).then_some((year, at + 1))
}

/// `3 May 2024`, `the third of May`, `3. Mai`, `3 de mayo de 2024`.
fn day_first(doc: &Doc<'_>, i: usize) -> Option<(usize, Date)> {
    let (day, mut at) = day(doc, i)?;
    if doc.word(at, &["of", "de", "di", "d'", "-"]) || doc.symbol(at, "-") {
        at += 1;
    }
    let token = doc.get(at)?;
    let month = month(doc, at)
        .or_else(|| (token.entry.month > 0 && token.capital()).then_some(token.entry.month))?;
    at += 1;
    if doc.symbol(at, ".") && year(doc, at + 1).is_some() {
        at += 1;
    }
    let year = year(doc, at);
    let end = year.map_or(at, |(_, end)| end);
    Some((
        end,
        Date {
            year: year.map(|(y, _)| y),
            ..valid(None, u16::from(month), day)?
        },
    ))
}

/// `3-5 May 2024`: two days sharing their month. Where the first ends, it, where all ends, the second.
fn day_range(doc: &Doc<'_>, i: usize) -> Option<(usize, Date, usize, Date)> {
    let (first, at) = day(doc, i)?;
    let joined = ["-", "–", "—"].iter().any(|s| doc.symbol(at, s))
        || doc.word(
            at,
            &[
                "to", "and", "bis", "und", "al", "au", "a", "until", "et", "y", "и", "e",
            ],
        );
    if !joined {
        return None;
    }
    let (end, second) = day_first(doc, at + 1)?;
    Some((
        at,
        Date {
            day: Some(first as u8),
            ..second
        },
        end,
        second,
    ))
}

/// `May 3rd, 2024`, `May 2024`, `in May`.
fn month_first(doc: &Doc<'_>, i: usize) -> Option<(usize, Date)> {
    let month = month(doc, i)?;
    let mut at = i + 1;
    if doc.symbol(at, ".")
        && doc.get(i)?.fold.len() <= 4
        && doc.get(at + 1).is_some_and(|t| t.kind == Kind::Number)
    {
        at += 1;
    }
    let the = usize::from(
        doc.word(at, &["the"])
            && doc
                .get(at + 1)
                .is_some_and(|t| t.kind == Kind::Number || t.is(crate::lexicon::Flag::Ordinal)),
    );
    let day = day(doc, at + the)
        .filter(|(_, end)| !doc.symbol(*end, ":") && !doc.word(*end, &["am", "pm", "uhr"]))
        .filter(|_| doc.speaks(EN) && doc.get(at + the).is_some_and(|t| t.gap < Gap::Line));
    if let Some((day, end)) = day {
        let range_end = same_month_range(doc, end).unwrap_or(end);
        let year = year(doc, range_end);
        let date = Date {
            year: year.map(|(y, _)| y),
            ..valid(None, u16::from(month), day)?
        };
        return Some((
            year.filter(|_| range_end == end)
                .map_or(end, |(_, end)| end),
            date,
        ));
    }
    if let Some((year, end)) = year(doc, at) {
        return Some((
            end,
            Date {
                year: Some(year),
                month: Some(month),
                ..Date::default()
            },
        ));
    }
    alone_as_month(doc, i).then_some((
        i + 1,
        Date {
            month: Some(month),
            ..Date::default()
        },
    ))
}

fn same_month_range(doc: &Doc<'_>, i: usize) -> Option<usize> {
    let dash = ["-", "–"].iter().any(|s| doc.symbol(i, s));
    dash.then(|| day(doc, i + 1)).flatten().map(|(_, end)| end)
}

/// `1990s`, `the 90s`, `1990er`, `nineties`.
fn decade(doc: &Doc<'_>, i: usize) -> Option<(usize, String)> {
    const WORDS: [&str; 8] = [
        "twenties",
        "thirties",
        "forties",
        "fifties",
        "sixties",
        "seventies",
        "eighties",
        "nineties",
    ];
    let token = doc.get(i)?;
    if let Some(n) = WORDS.iter().position(|w| token.fold == *w) {
        return Some((i + 1, decade_key((n as u16 + 2) * 10)));
    }
    let number = digits(doc, i, 2..=4).filter(|n| n % 10 == 0)?;
    let mut at = i + 1;
    if doc.symbol(at, "'") || doc.symbol(at, "’") {
        at += 1;
    }
    let suffix = doc
        .get(at)
        .is_some_and(|t| t.glued() && matches!(t.fold.as_ref(), "s" | "er" | "ern"));
    suffix.then(|| (at + 1, decade_key(number)))
}

fn decade_key(number: u16) -> String {
    match number {
        50..=99 => format!("{}s", 1900 + number),
        other => format!("{other}s"),
    }
}

/// A year that stands alone.
fn lone_year(doc: &Doc<'_>, i: usize) -> Option<(usize, u16)> {
    let year = digits(doc, i, 4..=4).filter(|y| (1800..2100).contains(y))?;
    const AFTER: [&str; 4] = [",", ".", ":", "/"];
    let number_goes_on = AFTER.iter().any(|s| doc.symbol(i + 1, s))
        && doc.get(i + 1).is_some_and(|t| t.glued())
        && doc
            .get(i + 2)
            .is_some_and(|t| t.kind == Kind::Number && t.glued());
    let counted = doc
        .get(i + 1)
        .is_some_and(|t| t.entry.unit().is_some() && !doc.is_function(t))
        || doc.before(i).is_some_and(|t| {
            t.kind == Kind::Symbol && matches!(t.fold.as_ref(), "$" | "€" | "£" | "#" | "+")
        });
    let phone = doc
        .get(i + 1)
        .is_some_and(|t| t.kind == Kind::Number && t.gap == Gap::Space);
    (!number_goes_on && !counted && !phone).then_some((i + 1, year))
}

/// Weekdays, seasons, holidays, `last week`, `every day`.
fn read_named(reading: &mut Draft<'_>, i: usize) -> Option<usize> {
    let (from, end, key) = {
        let doc = &reading.doc;
        phrase(doc, i)
            .or_else(|| hebrew_weekday(doc, i))
            .or_else(|| weekday(doc, i).map(|(end, day)| (i, end, day)))
            .or_else(|| named(doc, i))
            .or_else(|| span(doc, i))?
    };
    reading.add(from, end, DetailKind::Date, key.into(), Facts::Plain);
    Some(end)
}

/// The word before or after `i` that says "last" or "next".
fn relative(doc: &Doc<'_>, from: usize, end: usize) -> Option<&'static str> {
    let before = doc.before(from).and_then(|t| t.entry.relative());
    let after = || {
        doc.get(end)
            .filter(|t| t.gap == Gap::Space)
            .and_then(|t| t.entry.relative())
    };
    before.or_else(|| {
        if doc.speaks(FR | ES | IT | PT) {
            after()
        } else {
            None
        }
    })
}

fn weekday(doc: &Doc<'_>, i: usize) -> Option<(usize, String)> {
    let (end, day) = crate::cjk::dictionary(doc, i, |e| {
        (e.weekday > 0 && doc.speaks_of(e.weekday_langs)).then_some(e.weekday)
    })?;
    let token = doc.get(i)?;
    let short = token.fold.len() <= 4 && token.fold.is_ascii();
    if short
        && token.kind == Kind::Word
        && doc.speaks(EN)
        && (!token.capital() || (token.opens && matches!(token.fold.as_ref(), "sun" | "sat")))
    {
        return None;
    }
    const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let name = DAYS.get(usize::from(day).checked_sub(1)?)?;
    Some((
        end,
        match relative(doc, i, end) {
            Some(relative) => format!("{relative} {name}"),
            None => (*name).to_owned(),
        },
    ))
}

/// Hebrew names its weekdays by ordinals after the word for day.
fn hebrew_weekday(doc: &Doc<'_>, i: usize) -> Option<(usize, usize, String)> {
    const DAYS: [(&str, &str); 7] = [
        ("ראשון", "sun"),
        ("שני", "mon"),
        ("שלישי", "tue"),
        ("רביעי", "wed"),
        ("חמישי", "thu"),
        ("שישי", "fri"),
        ("שבת", "sat"),
    ];
    let day = doc.get(i)?;
    let introduced = doc
        .before(i)
        .is_some_and(|t| matches!(t.fold.as_ref(), "יום" | "ביום" | "בימי" | "ימי"));
    let (_, key) = DAYS
        .iter()
        .find(|(name, _)| day.fold == *name && (introduced || *name == "שבת"))?;
    Some((i, i + 1, (*key).to_owned()))
}

fn named(doc: &Doc<'_>, i: usize) -> Option<(usize, usize, String)> {
    let (end, key) = crate::cjk::dictionary(doc, i, |e| e.named_day(doc.lang))?;
    let token = doc.get(i)?;
    if matches!(token.fold.as_ref(), "每" | "毎") && weekday(doc, i + 1).is_some() {
        return None;
    }
    if token.fold == "morgen" && token.capital() {
        return None;
    }
    if token.fold == "spring"
        && doc.word(
            i + 1,
            &[
                "to", "up", "from", "water", "onion", "onions", "roll", "rolls",
            ],
        )
    {
        return None;
    }
    let season = matches!(
        key,
        "spring" | "summer" | "autumn" | "winter" | "weekend" | "christmas" | "easter"
    );
    Some((
        i,
        end,
        match relative(doc, i, end).filter(|_| season) {
            Some(relative) => format!("{relative} {key}"),
            None => key.to_owned(),
        },
    ))
}

fn span(doc: &Doc<'_>, i: usize) -> Option<(usize, usize, String)> {
    let span = doc.get(i)?.entry.span()?;
    if let Some(relative) = relative(doc, i, i + 1) {
        let pointless = doc.word(i + 1, &["of"]);
        return (!pointless).then(|| (i, i + 1, format!("{relative} {span}")));
    }
    let this = doc.before(i).is_some_and(|t| {
        matches!(
            t.fold.as_ref(),
            "this" | "diese" | "dieses" | "diesen" | "cette" | "questa"
        )
    });
    (this && span != "night").then(|| (i, i + 1, format!("this {span}")))
}

/// Reads a phrase of several words for a day or a frequency; returns where it ends.
pub(crate) fn read_phrase(reading: &mut Draft<'_>, i: usize) -> Option<usize> {
    let (from, end, key) = phrase(&reading.doc, i)?;
    reading.add(from, end, DetailKind::Date, key.into(), Facts::Plain);
    Some(end)
}

fn phrase(doc: &Doc<'_>, i: usize) -> Option<(usize, usize, String)> {
    let first = doc.get(i).filter(|t| t.is(lexicon::Flag::PhraseHead))?;
    let (words, key) = lexicon::day_phrases(&first.fold)
        .iter()
        .find(|(words, _)| doc.phrase(i, words))?;
    Some((i, i + words.len(), (*key).to_owned()))
}

/// 1 is Monday. Zeller's congruence.
pub(crate) fn weekday_of(date: Date) -> Option<u8> {
    let (mut year, mut month, day) = (
        i32::from(date.year?),
        i32::from(date.month?),
        i32::from(date.day?),
    );
    if month < 3 {
        month += 12;
        year -= 1;
    }
    let h = (day + 13 * (month + 1) / 5 + year + year / 4 - year / 100 + year / 400) % 7;
    Some(((h + 5) % 7) as u8 + 1)
}

/// Whether `written` says at least what `stated` says.
pub(crate) fn covers(written: Date, stated: Date) -> bool {
    let part = |w: Option<u16>, s: Option<u16>| s.is_none() || w == s;
    let wide = |v: Option<u8>| v.map(u16::from);
    let straight =
        part(wide(written.month), wide(stated.month)) && part(wide(written.day), wide(stated.day));
    let swapped = (written.ambiguous || stated.ambiguous)
        && wide(written.month) == wide(stated.day)
        && wide(written.day) == wide(stated.month);
    part(written.year, stated.year) && (straight || swapped)
}

/// Languages are only asked for where a word needs one.
impl Doc<'_> {
    pub(crate) fn speaks_of(&self, langs: Langs) -> bool {
        langs == crate::lexicon::ALL || self.speaks(langs)
    }
}
