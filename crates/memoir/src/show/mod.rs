//! Text for people: numbers, times, tables, memories, sessions, records, differences.

pub(crate) mod access;
pub(crate) mod archive;
pub(crate) mod context;
pub(crate) mod diff;
pub(crate) mod examination;
pub(crate) mod history;
pub(crate) mod memories;
pub(crate) mod originals;
pub(crate) mod records;
pub(crate) mod session;
pub(crate) mod stats;
mod table;
pub(crate) mod verified;
mod wrap;

use jiff::tz::TimeZone;
use memoir_app::{Clock, SystemClock};
use memoir_domain::{Timestamp, memory::Number};
use serde::Serialize;

pub(crate) use memoir_domain::text::{counted, thousands};
pub(crate) use table::TextTable;
pub(crate) use wrap::wrap;

/// A list as every interface returns it.
#[derive(Debug, Serialize)]
pub(crate) struct List<T> {
    items: Vec<T>,
    /// The command line shows whole lists.
    next_cursor: Option<String>,
}

impl<T> List<T> {
    pub(crate) fn whole(items: Vec<T>) -> Self {
        Self {
            items,
            next_cursor: None,
        }
    }
}

/// `2026-03-01 04:00:00Z`
pub(crate) fn moment(time: Timestamp) -> String {
    let text = time.to_string();
    let seconds = text.get(..19).unwrap_or(&text).trim_end_matches('Z');
    format!("{}Z", seconds.replace('T', " "))
}

/// Relative: `2 hours ago`, `in 7 days`, and beyond a week the day and the local time.
pub(crate) fn when(time: Timestamp) -> String {
    said(time, SystemClock.now(), &TimeZone::system())
}

fn said(time: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    let passed = now.seconds_since(time);
    let away = passed.unsigned_abs();
    let about = |unit: u64, one: &str, many: &str| match passed < 0 {
        // A future time is rounded up: 6 days and 23 hours are about 7 days.
        true => format!("in {}", counted(away.div_ceil(unit), one, many)),
        false => format!("{} ago", counted(away / unit, one, many)),
    };
    if away < MINUTE {
        "just now".to_owned()
    } else if away < HOUR {
        about(MINUTE, "minute", "minutes")
    } else if away < DAY {
        about(HOUR, "hour", "hours")
    } else if away <= 7 * DAY {
        about(DAY, "day", "days")
    } else {
        let there = time.to_jiff().to_zoned(zone.clone());
        there.strftime("%Y-%m-%d %H:%M").to_string()
    }
}

/// `#1 #2`
pub(crate) fn numbers(numbers: &[Number]) -> String {
    joined(numbers, " ")
}

/// The items as one text, with `between` each two of them.
pub(crate) fn joined(items: impl IntoIterator<Item: ToString>, between: &str) -> String {
    let texts: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    texts.join(between)
}

pub(crate) fn or_blank(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

pub(crate) fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| value.to_string())
}

/// A share as `75%`.
pub(crate) fn percent(share: f64) -> String {
    let percent = (share * 1000.0).round() / 10.0;
    format!("{percent}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_read_well() {
        let time = |text: &str| moment(text.parse().unwrap());
        assert_eq!(time("2026-03-01T04:05:06.123456Z"), "2026-03-01 04:05:06Z");
        assert_eq!(time("2026-03-01"), "2026-03-01 00:00:00Z");
        let now = "2026-03-01T12:00:00Z".parse().unwrap();
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        for (time, expected) in [
            ("2026-03-01T11:59:30Z", "just now"),
            ("2026-03-01T11:59:00Z", "1 minute ago"),
            ("2026-03-01T09:59:00Z", "2 hours ago"),
            ("2026-02-27T11:00:00Z", "2 days ago"),
            ("2026-03-08T11:00:00Z", "in 7 days"),
            ("2026-02-20T23:30:00Z", "2026-02-21 00:30"),
            ("2026-07-01T10:00:00Z", "2026-07-01 12:00"),
        ] {
            let found = said(time.parse().unwrap(), now, &berlin);
            assert_eq!(found, expected, "{time}");
        }
        assert_eq!(percent(0.75), "75%");
        assert_eq!(percent(0.333), "33.3%");
    }
}
