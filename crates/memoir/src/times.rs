//! Times as a person types them: words such as `yesterday` and `10 minutes ago`, and dates and times of ISO 8601.

use jiff::{
    Span, Zoned,
    civil::{Time, Weekday},
    tz::TimeZone,
};
use memoir_app::{Clock, SystemClock};
use memoir_domain::{
    Timestamp,
    schedule::{time_of_day, weekday},
};

/// What is reported of a text that is no time.
pub(crate) const FORMS: &str = "not a time; give a date (`2026-03-01`), a time (`2026-03-01T04:00:00Z`), `now`, `today`, \
    `yesterday`, `tomorrow`, `last monday`, a day with a time of day (`yesterday 14:00`), `10 minutes ago` or `in 30 days`";

/// A time; a day means its beginning.
///
/// # Errors
/// It is none of [`FORMS`], which the message lists.
pub(crate) fn time(text: &str) -> Result<Timestamp, &'static str> {
    let read = || text.parse().ok().or_else(|| said(text, &now(), false));
    read().ok_or(FORMS)
}

/// The end of a range; a day means all of it.
pub(crate) fn until(text: &str) -> Result<Timestamp, &'static str> {
    let read = || {
        let iso = Timestamp::parse_until(text).ok();
        iso.or_else(|| said(text, &now(), true))
    };
    read().ok_or(FORMS)
}

fn now() -> Zoned {
    SystemClock.now().to_jiff().to_zoned(TimeZone::system())
}

/// A time in words, at `now` and in its zone. `is_end` makes a day mean its last instant.
fn said(text: &str, now: &Zoned, is_end: bool) -> Option<Timestamp> {
    let text = text.to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    let time = match words.as_slice() {
        ["now"] => now.clone(),
        ["in", amount @ ..] => now.checked_add(span(amount)?).ok()?,
        [amount @ .., "ago"] => now.checked_sub(span(amount)?).ok()?,
        [day @ .., last] => match (day.strip_suffix(&["at"]).unwrap_or(day), time_of_day(last)) {
            ([], Some(at)) => on_day(now, at)?,
            (day, Some(at)) => on_day(&day_of(day, now)?, at)?,
            (_, None) => {
                let begin = on_day(&day_of(&words, now)?, Time::midnight())?;
                let instant = Span::new().microseconds(1);
                match is_end {
                    false => begin,
                    true => begin.tomorrow().ok()?.checked_sub(instant).ok()?,
                }
            }
        },
        [] => return None,
    };
    Timestamp::from_jiff(time.timestamp())
}

fn on_day(day: &Zoned, at: Time) -> Option<Zoned> {
    day.date()
        .to_datetime(at)
        .to_zoned(day.time_zone().clone())
        .ok()
}

/// `today`, `yesterday`, `tomorrow`, or the last weekday of a name before today.
fn day_of(words: &[&str], now: &Zoned) -> Option<Zoned> {
    let name = match words {
        ["today"] => return Some(now.clone()),
        ["yesterday"] => return now.yesterday().ok(),
        ["tomorrow"] => return now.tomorrow().ok(),
        ["last", name] | [name] => name,
        _ => return None,
    };
    let wanted: Weekday = weekday(name)?;
    now.nth_weekday(-1, wanted).ok()
}

/// An amount of time: `10 minutes`, `an hour`, `2h`.
fn span(words: &[&str]) -> Option<Span> {
    let amount = match words {
        ["a" | "an" | "one", unit] => format!("1 {unit}"),
        words => words.join(" "),
    };
    let span: Span = amount.parse().ok()?;
    // A sign, or a second `ago`, would turn it around.
    (!span.is_negative()).then_some(span)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thursday afternoon, an hour before UTC.
    fn read(text: &str, is_end: bool) -> Option<String> {
        let now: Zoned = "2026-11-26T15:30:00+01:00[Europe/Berlin]".parse().unwrap();
        said(text, &now, is_end).map(|time| time.to_string())
    }

    #[test]
    fn a_time_in_words_is_one_of_the_local_day() {
        for (text, expected) in [
            ("now", "2026-11-26T14:30:00Z"),
            ("today", "2026-11-25T23:00:00Z"),
            ("Yesterday", "2026-11-24T23:00:00Z"),
            ("tomorrow", "2026-11-26T23:00:00Z"),
            ("yesterday 14:00", "2026-11-25T13:00:00Z"),
            ("last monday", "2026-11-22T23:00:00Z"),
            ("last monday at 9:05", "2026-11-23T08:05:00Z"),
            // Not today, which is one.
            ("thursday", "2026-11-18T23:00:00Z"),
            ("14:00", "2026-11-26T13:00:00Z"),
            ("10 minutes ago", "2026-11-26T14:20:00Z"),
            ("an hour ago", "2026-11-26T13:30:00Z"),
            ("2h ago", "2026-11-26T12:30:00Z"),
            ("3 days ago", "2026-11-23T14:30:00Z"),
            // Across the end of summer time, the time of day stays.
            ("6 weeks ago", "2026-10-15T13:30:00Z"),
            ("1 month ago", "2026-10-26T14:30:00Z"),
            ("2 years ago", "2024-11-26T14:30:00Z"),
            ("in 30 days", "2026-12-26T14:30:00Z"),
        ] {
            assert_eq!(read(text, false).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "",
            "soon",
            "ago",
            "in",
            "last",
            "next monday",
            "10 ago",
            "minutes ago",
            "-1 days ago",
            "10 minutes",
            "yesterday 25:00",
            "99999999999 years ago",
            "at",
            "at 14:00 today",
        ] {
            assert_eq!(read(text, false), None, "{text}");
        }
    }

    #[test]
    fn a_day_that_ends_a_range_counts_whole() {
        for (text, expected) in [
            ("yesterday", "2026-11-25T22:59:59.999999Z"),
            ("last monday", "2026-11-23T22:59:59.999999Z"),
            ("yesterday 14:00", "2026-11-25T13:00:00Z"),
            ("10 minutes ago", "2026-11-26T14:20:00Z"),
        ] {
            assert_eq!(read(text, true).as_deref(), Some(expected), "{text}");
        }
        let begin = time("2026-03-01").unwrap().to_string();
        assert_eq!(begin, "2026-03-01T00:00:00Z");
        let end = until("2026-03-01").unwrap().to_string();
        assert_eq!(end, "2026-03-01T23:59:59.999999Z");
        assert_eq!((time("soon"), until("soon")), (Err(FORMS), Err(FORMS)));
    }
}
