//! Numbers, times and codes in readable form.

use std::time::Duration;

use jiff::tz::TimeZone;
use memoir_app::{Error, Memoir};
pub(crate) use memoir_domain::text::{counted, thousands as number};
use memoir_domain::{Timestamp, TokenId};

tokio::task_local! {
    /// The time zone of the page that is made.
    static ZONE: TimeZone;
}

/// Makes a page. Its times are shown, and read from its forms, in the time zone of the schedule, which its foot names.
pub(crate) async fn in_zone_of<T>(memoir: &Memoir, making: impl Future<Output = T>) -> T {
    let zone = memoir.settings().weekly_slot.time_zone.clone();
    ZONE.scope(zone, making).await
}

/// The time zone of the page; UTC outside of one.
fn zone() -> TimeZone {
    ZONE.try_with(TimeZone::clone).unwrap_or(TimeZone::UTC)
}

pub(crate) fn zone_name() -> String {
    // A zone of the configuration has a name.
    zone().iana_name().unwrap_or("UTC").to_owned()
}

fn written(at: Timestamp, form: &str) -> String {
    at.to_jiff().to_zoned(zone()).strftime(form).to_string()
}

pub(crate) fn read_time(text: &str) -> Option<Timestamp> {
    Timestamp::parse_in(text, &zone()).ok()
}

/// Reads the end of a range of a form: a date alone means all of that day.
pub(crate) fn read_until(text: &str) -> Option<Timestamp> {
    Timestamp::parse_until_in(text, &zone()).ok()
}

/// A share of a whole in percent, rounded; 0 of nothing.
pub(crate) fn percent(part: u64, whole: u64) -> u64 {
    if whole == 0 {
        return 0;
    }
    // In 128 bits, since a hundred times a number of 64 may be more than they hold.
    let share = u128::from(part) * 100 + u128::from(whole) / 2;
    u64::try_from(share / u128::from(whole)).unwrap_or(u64::MAX)
}

/// A share from 0 to 1 in percent, rounded.
pub(crate) fn share(share: f64) -> String {
    // A line never ends before the sign.
    format!("{:.0}\u{a0}%", share * 100.0)
}

/// To the minute: `2026-03-04 12:00`.
pub(crate) fn minute(at: Timestamp) -> String {
    written(at, "%Y-%m-%d %H:%M")
}

/// To the minute, as the field of a browser holds it: `2026-03-04T12:00`.
pub(crate) fn field_minute(at: Timestamp) -> String {
    written(at, "%Y-%m-%dT%H:%M")
}

/// How far from `now`, in the largest whole unit: `3 hours ago`, `in 2 days`.
pub(crate) fn relative(at: Timestamp, now: Timestamp) -> String {
    let seconds = at.seconds_since(now);
    let (count, unit) = match seconds.unsigned_abs() {
        0..60 => return "now".to_owned(),
        ago @ 60..3_600 => (ago / 60, "minute"),
        ago @ 3_600..86_400 => (ago / 3_600, "hour"),
        ago => (ago / 86_400, "day"),
    };
    let distance = counted(count, unit, &format!("{unit}s"));
    match seconds < 0 {
        true => format!("{distance} ago"),
        false => format!("in {distance}"),
    }
}

pub(crate) fn second(at: Timestamp) -> String {
    written(at, "%Y-%m-%d %H:%M:%S")
}

/// The time of day to the second: `12:00:59`.
pub(crate) fn time_of_day(at: Timestamp) -> String {
    written(at, "%H:%M:%S")
}

/// The remaining time, in minutes and seconds: `12:34`.
pub(crate) fn clock(left: Duration) -> String {
    // Seconds are rounded down, so that the page never shows more time than is left.
    let seconds = left.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// A text with each identifier in it by its last digits: `token …9c1e4b7a`. The first ones are a time.
pub(crate) fn shortened(text: &str) -> String {
    let is_between = |letter: char| !letter.is_ascii_hexdigit() && letter != '-';
    let shorter = |part: &str| {
        let id = part.trim_end_matches(is_between);
        // Identifiers are 36 characters of ASCII.
        match id.len() == 36 && id.parse::<TokenId>().is_ok() {
            true => format!("…{}", &part[28..]),
            false => part.to_owned(),
        }
    };
    text.split_inclusive(is_between).map(shorter).collect()
}

/// The message of an error, which is a sentence without its capital and its full stop.
pub(crate) fn message(error: &Error) -> String {
    match error.public_message() {
        text if text.is_empty() => text,
        text => capital(&shortened(&text)) + ".",
    }
}

pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        format!("{}{}", first.to_uppercase(), letters.as_str())
    })
}

/// A fault as a sentence: `must be a number` is `It must be a number.`
pub(crate) fn sentence(problem: &str) -> String {
    let about = match problem.chars().next() {
        Some(first) if first.is_ascii_lowercase() => "It ",
        _ => "",
    };
    let end = if problem.ends_with(['.', '!', '?']) {
        ""
    } else {
        "."
    };
    format!("{about}{problem}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_a_sentence() {
        for (problem, expected) in [
            ("must be a number", "It must be a number."),
            ("`x` names no provider", "`x` names no provider."),
            ("Another one has it.", "Another one has it."),
        ] {
            assert_eq!(sentence(problem), expected);
        }
    }

    #[test]
    fn identifiers_are_shown_by_their_ends() {
        let id = "01890c5e-0000-7000-8000-00009c1e4b7a";
        for text in ["ID", "token ID", "`ID`, or éID: both"] {
            let expected = text.replace("ID", "…9c1e4b7a");
            assert_eq!(shortened(&text.replace("ID", id)), expected);
        }
        assert_eq!(shortened("user Zoë-Ada"), "user Zoë-Ada");
    }

    #[test]
    fn shares_are_rounded_and_nothing_has_none() {
        assert_eq!((percent(1, 3), percent(2, 3), percent(5, 0)), (33, 67, 0));
        assert_eq!(percent(u64::MAX, 1), u64::MAX);
        assert_eq!(share(0.846), "85\u{a0}%");
    }

    #[test]
    fn times_are_exact_to_the_minute() {
        let at: Timestamp = "2026-03-04T12:00:59Z".parse().unwrap();
        assert_eq!(minute(at), "2026-03-04 12:00");
        assert_eq!(second(at), "2026-03-04 12:00:59");
        for (seconds, text) in [
            (-59, "now"),
            (-60, "1 minute ago"),
            (7_200, "in 2 hours"),
            (-86_400 * 400, "400 days ago"),
        ] {
            assert_eq!(relative(at.plus_seconds(seconds), at), text);
        }
        assert_eq!(zone_name(), "UTC");
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        ZONE.sync_scope(berlin, || {
            assert_eq!(second(at), "2026-03-04 13:00:59");
            assert_eq!(read_time(&field_minute(at)), read_time(&minute(at)));
            assert_eq!(zone_name(), "Europe/Berlin");
        });
    }
}
