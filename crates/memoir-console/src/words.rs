//! Numbers, times and codes in readable form.

use memoir_app::Error;
use std::time::Duration;

use memoir_domain::Timestamp;
pub(crate) use memoir_domain::text::{counted, thousands as number};

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
    format!("{:.0} %", share * 100.0)
}

/// To the minute, in UTC: `2026-03-04 12:00`.
pub(crate) fn minute(at: Timestamp) -> String {
    at.to_jiff().strftime("%Y-%m-%d %H:%M").to_string()
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

/// To the minute, in a time zone by its IANA name; in UTC where there is none.
pub(crate) fn minute_in(at: Timestamp, zone: Option<&str>) -> String {
    let zoned = zone.and_then(|zone| at.to_jiff().in_tz(zone).ok().zip(Some(zone)));
    match zoned {
        Some((zoned, zone)) => format!("{} {zone}", zoned.strftime("%Y-%m-%d %H:%M")),
        None => format!("{} UTC", minute(at)),
    }
}

/// To the second, in UTC.
pub(crate) fn second(at: Timestamp) -> String {
    at.to_jiff().strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// The time of day to the second, in UTC: `12:00:59`.
pub(crate) fn time_of_day(at: Timestamp) -> String {
    at.to_jiff().strftime("%H:%M:%S").to_string()
}

/// The remaining time, in minutes and seconds: `12:34`.
pub(crate) fn clock(left: Duration) -> String {
    // Seconds are rounded down, so that the page never shows more time than is left.
    let seconds = left.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// The message of an error, which is a sentence without its capital and its full stop.
pub(crate) fn message(error: &Error) -> String {
    match error.public_message() {
        text if text.is_empty() => text,
        text => capital(&text) + ".",
    }
}

/// With a capital letter.
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
    fn shares_are_rounded_and_nothing_has_none() {
        assert_eq!((percent(1, 3), percent(2, 3), percent(5, 0)), (33, 67, 0));
        assert_eq!(percent(u64::MAX, 1), u64::MAX);
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
        let in_berlin = minute_in(at, Some("Europe/Berlin"));
        assert_eq!(in_berlin, "2026-03-04 13:00 Europe/Berlin");
        assert_eq!(minute_in(at, None), "2026-03-04 12:00 UTC");
    }
}
