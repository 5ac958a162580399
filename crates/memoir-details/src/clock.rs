//! Times of day, in digits and in words.
//!
//! Owns what counts as a time and its 24-hour form. Dates are in [`crate::dates`].

use crate::DetailKind;
use crate::lexicon::{EN, ES, FR, IT, PT};
use crate::reading::{Draft, Facts};
use crate::tokens::{Doc, Gap, Kind};

/// A time as read, before its half of the day is settled.
#[derive(Clone, Copy)]
struct Clock {
    end: usize,
    hour: u16,
    minute: u16,
    /// Whether the way it is written leaves the half of the day open.
    loose: bool,
}

/// Reads a time that begins at token `i`; returns where it ends.
pub(crate) fn read(reading: &mut Draft<'_>, i: usize) -> Option<usize> {
    if let Some(end) = read_range(reading, i) {
        return Some(end);
    }
    if let Some(clock) = clock(&reading.doc, i) {
        add(reading, i, clock);
        return Some(clock.end);
    }
    read_named(reading, i)
}

fn add(reading: &mut Draft<'_>, from: usize, clock: Clock) {
    let minutes = (clock.hour % 24) * 60 + clock.minute;
    let key = format_args!("t{:02}:{:02}", minutes / 60, minutes % 60).into();
    let facts = Facts::Time {
        minutes,
        loose: clock.loose,
    };
    reading.add(from, clock.end, DetailKind::Time, key, facts);
}

/// `5-7 pm`: the first hour borrows its half of the day from the second.
fn read_range(reading: &mut Draft<'_>, i: usize) -> Option<usize> {
    let doc = &reading.doc;
    let first = bare_hour(doc, i)?;
    let joined = doc.word(
        first.end,
        &["to", "and", "until", "till", "bis", "or", "à", "a"],
    ) || ["-", "–", "—", "~", "〜"]
        .iter()
        .any(|s| doc.symbol(first.end, s));
    if !joined || doc.get(first.end + 1)?.kind == Kind::Word {
        return None;
    }
    let second = clock(doc, first.end + 1)?;
    let explicit = clock(doc, i).is_some_and(|c| !c.loose && c.end == first.end);
    if explicit || clock(doc, i).is_some_and(|c| c.end > first.end) {
        return None;
    }
    let mut start = Clock {
        loose: second.loose,
        ..first
    };
    if second.hour >= 12 && first.hour < 12 && first.hour + 12 < second.hour {
        start.hour += 12;
    }
    add(reading, i, start);
    add(reading, first.end + 1, second);
    Some(second.end)
}

fn bare_hour(doc: &Doc<'_>, i: usize) -> Option<Clock> {
    let hour = number(doc, i, 24)?;
    if doc.get(i)?.kind != Kind::Number {
        return None;
    }
    match minutes_after(doc, i + 1, ":") {
        Some(minute) => Some(Clock {
            end: i + 3,
            hour,
            minute,
            loose: true,
        }),
        None => Some(Clock {
            end: i + 1,
            hour,
            minute: 0,
            loose: true,
        }),
    }
}

fn clock(doc: &Doc<'_>, i: usize) -> Option<Clock> {
    words_for_half(doc, i)
        .or_else(|| east_asian(doc, i))
        .or_else(|| digits(doc, i))
}

/// The value of a number up to `most` in at most two digits, or in words.
fn number(doc: &Doc<'_>, i: usize, most: u16) -> Option<u16> {
    let token = doc.get(i)?;
    let value = match token.kind {
        Kind::Number if token.fold.len() <= 2 => token.fold.parse().ok()?,
        Kind::Word
            if doc.speaks(token.entry.number_langs) || token.entry.number_langs == u16::MAX =>
        {
            u16::try_from(token.entry.number).ok()?
        }
        Kind::Word if token.fold == "one" || token.fold == "eins" => 1,
        _ => return None,
    };
    (value <= most).then_some(value)
}

fn minutes_after(doc: &Doc<'_>, i: usize, separator: &str) -> Option<u16> {
    let minute = doc.get(i + 1)?;
    let fits = doc.symbol(i, separator) && minute.glued() && doc.get(i)?.glued();
    if !fits || minute.kind != Kind::Number || minute.fold.len() != 2 {
        return None;
    }
    minute.fold.parse().ok().filter(|m| *m < 60)
}

fn digits(doc: &Doc<'_>, i: usize) -> Option<Clock> {
    let hour = number(doc, i, 24)?;
    let token = doc.get(i)?;
    let digits = token.kind == Kind::Number;
    let padded = token.fold.starts_with('0') && token.fold.len() == 2;
    let mut time = Clock {
        end: i + 1,
        hour,
        minute: 0,
        loose: !padded && (1..=12).contains(&hour),
    };
    let mut certain = false;
    if digits && let Some(minute) = minutes_after(doc, i + 1, ":") {
        time = Clock {
            end: i + 3,
            minute,
            ..time
        };
        certain = true;
        if minutes_after(doc, i + 3, ":").is_some() {
            time.end += 2;
        }
    } else if digits
        && let Some(minute) = minutes_after(doc, i + 1, ".")
        && is_clock_word(doc, i + 3)
    {
        time = Clock {
            end: i + 3,
            minute,
            ..time
        };
    } else if digits
        && doc.word(i + 1, &["h"])
        && let Some(next) = doc.get(i + 2).filter(|t| {
            t.kind == Kind::Number
                && t.fold.len() == 2
                && (t.glued() || doc.speaks(FR) && t.gap < Gap::Line)
        })
    {
        time = Clock {
            end: i + 3,
            minute: next.fold.parse().ok()?,
            loose: false,
            ..time
        };
        certain = true;
    }
    let settled = settle(doc, time);
    if let Some(settled) = settled {
        return Some(settled);
    }
    if after_hour_preposition(doc, i, time.end) {
        let unit = doc.word(
            time.end,
            &["h", "heures", "heure", "uur", "horas", "ore", "часов"],
        );
        return Some(Clock {
            end: time.end + usize::from(unit),
            ..time
        });
    }
    certain.then_some(time)
}

fn is_clock_word(doc: &Doc<'_>, i: usize) -> bool {
    doc.word(i, &["am", "pm", "uhr", "uur", "h"])
        || settle(
            doc,
            Clock {
                end: i,
                hour: 1,
                minute: 0,
                loose: true,
            },
        )
        .is_some()
}

/// Reads what follows a time and settles its half of the day: `pm`, `Uhr`, `in the evening`.
fn settle(doc: &Doc<'_>, time: Clock) -> Option<Clock> {
    let Clock { end, hour, .. } = time;
    let at = |end: usize, hour: u16| Clock {
        end,
        hour,
        loose: false,
        ..time
    };
    if doc.word(end, &["pm", "p.m"]) && hour <= 12 {
        return Some(at(end + 1, hour % 12 + 12));
    }
    if doc.word(end, &["am"]) && hour <= 12 && !doc.word(end + 1, &["a"]) && time_like_am(doc, end)
    {
        return Some(at(end + 1, hour % 12));
    }
    if doc.word(end, &["uhr"]) {
        let minute = doc
            .get(end + 1)
            .filter(|t| t.kind == Kind::Number && t.fold.len() == 2);
        let minute = minute
            .and_then(|t| t.fold.parse().ok())
            .filter(|m: &u16| *m < 60 && time.minute == 0);
        let base = Clock {
            end: end + 1 + usize::from(minute.is_some()),
            minute: minute.unwrap_or(time.minute),
            ..time
        };
        return Some(part_of_day(doc, base.end).map_or(base, |(e, late)| Clock {
            end: e,
            ..shift(base, late)
        }));
    }
    let clock_word = doc.word(end, &["o'clock", "часов", "часа", "час", "heures", "uur"]);
    let after = end + usize::from(clock_word);
    if let Some((end, late)) = part_of_day(doc, after) {
        return Some(Clock {
            end,
            ..shift(time, late)
        });
    }
    doc.word(end, &["o'clock"]).then_some(Clock {
        end: end + 1,
        ..time
    })
}

/// `am` is a time only right after digits; elsewhere it is a verb or a German preposition.
fn time_like_am(doc: &Doc<'_>, am: usize) -> bool {
    doc.before(am).is_some_and(|t| t.kind == Kind::Number)
        && (doc.lang == EN || doc.get(am).is_some_and(|t| t.glued()))
        || doc.get(am).is_some_and(|t| t.end - t.start > 2)
        || doc.lang == EN && !doc.word(am.wrapping_sub(2), &["i"])
}

fn shift(time: Clock, late: bool) -> Clock {
    let hour = match (late, time.hour) {
        (true, 0..=11) => time.hour + 12,
        (false, 12) => 0,
        _ => time.hour,
    };
    Clock {
        hour,
        loose: false,
        ..time
    }
}

/// The end of `in the evening` and the like at `i`, and whether it is after noon.
fn part_of_day(doc: &Doc<'_>, i: usize) -> Option<(usize, bool)> {
    let mut at = i;
    for _ in 0..2 {
        if doc.word(
            at,
            &[
                "in", "at", "the", "de", "la", "du", "da", "del", "di", "am", "'s", "s", "dell'",
            ],
        ) {
            at += 1;
        }
    }
    let token = doc.get(at)?;
    if token.fold == "tarde" && doc.speaks(ES | PT) {
        return Some((at + 1, true));
    }
    if token.fold == "manana" && at > i {
        return Some((at + 1, false));
    }
    // `Today at 5, evening` is no such phrase, English needs its preposition.
    if doc.lang == EN && at == i {
        return None;
    }
    match token.entry.named_time(doc.lang)? {
        "morning" => Some((at + 1, false)),
        "afternoon" | "evening" | "night" => Some((at + 1, true)),
        _ => None,
    }
}

/// Whether the words before a bare hour say that it is one.
fn after_hour_preposition(doc: &Doc<'_>, i: usize, end: usize) -> bool {
    let before = |n: usize, words: &[&str]| i >= n && doc.word(i - n, words);
    let spanish =
        doc.speaks(ES) && before(1, &["las", "la"]) && before(2, &["a", "hasta", "desde", "sobre"]);
    let italian = doc.speaks(IT) && (before(1, &["alle"]) || before(1, &["ore"]));
    let portuguese = doc.speaks(PT) && doc.word(end, &["h", "horas"]) && before(1, &["as", "às"]);
    let french = doc.speaks(FR)
        && before(1, &["a", "vers", "des", "jusqu'a", "avant", "apres"])
        && doc.word(end, &["h", "heures", "heure"]);
    let dutch = doc.word(end, &["uur"]) && before(1, &["om"]);
    spanish || italian || portuguese || french || dutch
}

/// `half past six`, `quarter to five`, `halb sieben`, `Viertel nach drei`.
fn words_for_half(doc: &Doc<'_>, i: usize) -> Option<Clock> {
    let quarter = doc.word(i, &["quarter", "viertel"]);
    let done = |hour: u16, minute: u16, end: usize| {
        let base = Clock {
            end,
            hour,
            minute,
            loose: (1..=12).contains(&hour),
        };
        settle(doc, base).unwrap_or(base)
    };
    if doc.word(i, &["half"]) && doc.word(i + 1, &["past"]) {
        return number(doc, i + 2, 12).map(|h| done(h, 30, i + 3));
    }
    if quarter && doc.word(i + 1, &["past", "nach", "after"]) {
        return number(doc, i + 2, 12).map(|h| done(h, 15, i + 3));
    }
    if quarter && doc.word(i + 1, &["to", "vor"]) {
        return number(doc, i + 2, 12).map(|h| done((h + 11) % 12, 45, i + 3));
    }
    if doc.word(i, &["halb", "half"]) && !doc.speaks(EN) {
        return number(doc, i + 1, 12).map(|h| done((h + 11) % 12, 30, i + 2));
    }
    let hour = number(doc, i, 12)?;
    const HALF: [&[&str]; 4] = [
        &["y", "media"],
        &["e", "mezza"],
        &["e", "meia"],
        &["heures", "et", "demie"],
    ];
    HALF.iter().find_map(|words| {
        doc.phrase(i + 1, words)
            .then(|| done(hour, 30, i + 1 + words.len()))
    })
}

/// `下午5点半`, `午後5時`, `오후 5시 30분`.
fn east_asian(doc: &Doc<'_>, i: usize) -> Option<Clock> {
    let (mut at, late) = match east_asian_half(doc, i) {
        Some((end, late)) => (end, Some(late)),
        None => (i, None),
    };
    let (hour, end) = crate::cjk::small_number(doc, at)?;
    let unit = doc.get(end)?;
    let korean = unit.fold.starts_with('시') && !unit.fold.starts_with("시간");
    let chinese = doc.word(end, &["点", "點"])
        || (doc.word(end, &["時", "时"]) && !doc.word(end + 1, &["間", "间"]));
    if !(korean || chinese) || hour > 24 {
        return None;
    }
    at = end + 1;
    let mut time = Clock {
        end: at,
        hour: hour as u16,
        minute: 0,
        loose: late.is_none() && (1..=12).contains(&hour),
    };
    if doc.word(at, &["半", "반"]) {
        time = Clock {
            minute: 30,
            end: at + 1,
            ..time
        };
    } else if let Some((minute, end)) = crate::cjk::small_number(doc, at)
        && minute < 60
        && doc
            .get(end)
            .is_some_and(|t| t.fold.starts_with('分') || t.fold.starts_with('분'))
    {
        time = Clock {
            minute: minute as u16,
            end: end + 1,
            ..time
        };
    }
    Some(late.map_or(time, |late| shift(time, late)))
}

fn east_asian_half(doc: &Doc<'_>, i: usize) -> Option<(usize, bool)> {
    if let Some(token) = doc.get(i).filter(|t| t.kind == Kind::Word) {
        return match token.fold.as_ref() {
            "오후" | "저녁" | "밤" => Some((i + 1, true)),
            "오전" | "아침" | "새벽" => Some((i + 1, false)),
            _ => None,
        };
    }
    doc.get(i).filter(|t| t.kind == Kind::Han)?;
    let halves: [(&[&str], bool); 8] = [
        (&["下", "午"], true),
        (&["上", "午"], false),
        (&["午", "後"], true),
        (&["午", "前"], false),
        (&["晚", "上"], true),
        (&["早", "上"], false),
        (&["凌", "晨"], false),
        (&["傍", "晚"], true),
    ];
    let (words, late) = halves.iter().find(|(words, _)| doc.phrase(i, words))?;
    Some((i + words.len(), *late))
}

/// Times that have a name: noon, in the evening.
fn read_named(reading: &mut Draft<'_>, i: usize) -> Option<usize> {
    let doc = &reading.doc;
    let (end, key) = crate::cjk::dictionary(doc, i, |e| e.named_time(doc.lang))?;
    let greeting = doc
        .before(i)
        .is_some_and(|t| matches!(t.fold.as_ref(), "good" | "guten" | "gute"));
    if greeting || is_idle_time(doc, i) {
        return None;
    }
    let facts = match key {
        "t12:00" => Facts::Time {
            minutes: 720,
            loose: false,
        },
        "t00:00" => Facts::Time {
            minutes: 0,
            loose: false,
        },
        _ => Facts::Plain,
    };
    reading.add(i, end, DetailKind::Time, key.into(), facts);
    Some(end)
}

/// `one evening`, `last night` are read elsewhere or say nothing.
fn is_idle_time(doc: &Doc<'_>, i: usize) -> bool {
    let relative = doc.before(i).is_some_and(|t| t.entry.relative().is_some());
    relative && doc.get(i).is_some_and(|t| t.entry.span().is_some())
}
