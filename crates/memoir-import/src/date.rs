//! Points in time as programs write them.

use jiff::{civil::Time, fmt::strtime, tz::TimeZone};
use memoir_domain::Timestamp;
use memoir_transcripts::raw::Raw;

/// Forms of dates besides those of [`Timestamp`]. None of them has a day and a month that can be exchanged.
const FORMS: [&str; 8] = [
    "%Y/%m/%d",
    "%Y/%m/%d %H:%M",
    "%Y/%m/%d %H:%M:%S",
    "%Y.%m.%d",
    "%B %d, %Y",
    "%b %d, %Y",
    "%d %B %Y",
    "%d %b %Y",
];
/// 1990-01-01 in seconds. No program had memories before, so that a smaller number is no time.
const EARLIEST: i64 = 631_152_000;

/// The time that a file has for an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FoundDate {
    /// `None` where the file has none, or none that can be read.
    pub(crate) at: Option<Timestamp>,
    /// Whether the file has a time that cannot be read, and no other one.
    pub(crate) is_unreadable: bool,
}

impl FoundDate {
    /// This one, else the other one.
    pub(crate) fn or(self, other: Self) -> Self {
        let at = self.at.or(other.at);
        Self {
            at,
            is_unreadable: at.is_none() && (self.is_unreadable || other.is_unreadable),
        }
    }

    /// This one, else a time that is not of the entry itself, such as that of the file. An unreadable time of the entry
    /// is still reported.
    pub(crate) fn or_beside(self, at: impl FnOnce() -> Option<Timestamp>) -> Self {
        Self {
            at: self.at.or_else(at),
            ..self
        }
    }
}

impl From<Option<Timestamp>> for FoundDate {
    fn from(at: Option<Timestamp>) -> Self {
        Self {
            at,
            is_unreadable: false,
        }
    }
}

/// A value that holds a time. A text without an offset is UTC. The unit follows from the size of a number: seconds,
/// milliseconds, microseconds, nanoseconds.
pub(crate) fn of_value(value: Option<Raw<'_>>) -> FoundDate {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return FoundDate::default();
    };
    match (value.string(), value.number()) {
        (Ok(Some(text)), _) => of_text(&text),
        (_, Some(number)) => of_number(number),
        _ => found(None),
    }
}

pub(crate) fn of_text(text: &str) -> FoundDate {
    let text = text.trim();
    // As YAML, SQL and programs print a missing value, some of these as their first possible time.
    if matches!(text, "" | "null" | "None" | "NULL") || text.starts_with("0001-01-01") {
        return FoundDate::default();
    }
    if let Ok(number) = text.parse() {
        return of_number(number);
    }
    // ` +00:00`, ` -0700` and ` UTC` behind a space are not standard, but programs print them.
    let spaced = || {
        text.replacen(" +", "+", 1)
            .replacen(" -", "-", 1)
            .replacen(" UTC", "Z", 1)
            .parse()
            .ok()
    };
    let mail = || Timestamp::from_jiff(jiff::fmt::rfc2822::parse(text).ok()?.timestamp());
    let in_form = || FORMS.iter().find_map(|form| in_form(form, text));
    let at = text.parse().ok();
    let at = at.or_else(spaced).or_else(mail).or_else(in_form);
    match at.is_some_and(|at: Timestamp| at.microseconds() == 0) {
        // The first possible time in another form or zone.
        true => FoundDate::default(),
        false => found(at),
    }
}

fn in_form(form: &str, text: &str) -> Option<Timestamp> {
    let parsed = strtime::parse(form, text).ok()?;
    let time = parsed.to_time().unwrap_or(Time::midnight());
    let civil = parsed.to_date().ok()?.to_datetime(time);
    Timestamp::from_jiff(civil.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

pub(crate) fn of_number(number: f64) -> FoundDate {
    // Programs write zero for an unknown time.
    if number == 0.0 {
        return FoundDate::default();
    }
    let digits = of_digits(&number.to_string());
    found(digits.or_else(|| since_1970(number)))
}

fn found(at: Option<Timestamp>) -> FoundDate {
    FoundDate {
        at,
        is_unreadable: at.is_none(),
    }
}

/// The time of day at the beginning of `text` behind a `T`, as digits without marks, and the text after it: `T10-15 call`.
pub(crate) fn time_of_day(text: &str) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix(['T', 't'])?;
    let mut digits = String::new();
    while digits.len() < 6 {
        let next = rest.trim_start_matches(['-', ':', '.', '_', ' ']);
        let next = if digits.is_empty() { rest } else { next };
        let Some((pair, after)) = next
            .split_at_checked(2)
            .filter(|(pair, _)| pair.bytes().all(|byte| byte.is_ascii_digit()))
        else {
            break;
        };
        digits.push_str(pair);
        rest = after;
    }
    (digits.len() >= 4 && !rest.starts_with(|next: char| next.is_ascii_digit()))
        .then_some((digits, rest))
}

/// A date in digits alone, with or without the time of day: `20260301`, `2026030110` to `20260301101530123`.
pub(crate) fn of_digits(digits: &str) -> Option<Timestamp> {
    // The years 1900 to 2099. As a number since 1970, so many digits would be a time before 1990; with ten of them, one
    // after 2033 for the years from 2000 on, and before that for the others.
    let is_year = digits.starts_with("20") || digits.starts_with("19") && digits.len() != 10;
    let is_date = is_year
        && matches!(digits.len(), 8 | 10 | 12 | 14 | 17)
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    let (day, time) = digits.split_at_checked(8).filter(|_| is_date)?;
    let time = format!("{time:0<6}");
    format!("{day}T{}", &time[..6]).parse().ok()
}

fn since_1970(number: f64) -> Option<Timestamp> {
    // 2·10^10 seconds is the year 2603, and the other bounds are the same day in finer units.
    let per_microsecond = match number.abs() {
        size if size > 2e16 => 1e-3,
        size if size > 2e13 => 1.0,
        size if size > 2e10 => 1e3,
        _ => 1e6,
    };
    let at = memoir_transcripts::since_1970(number * per_microsecond);
    at.filter(|at| at.microseconds() >= EARLIEST * 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> FoundDate {
        of_value(Some(Raw::whole(json.as_bytes()).unwrap()))
    }

    #[test]
    fn times_are_read_in_every_unit_and_offset() {
        for json in [
            r#""2026-03-01T03:00:00-07:00""#,
            r#""2026-03-01T10:00:00""#,
            r#""2026-03-01 10:00:00""#,
            r#""2026-03-01 10:00:00 +00:00""#,
            r#""2026-03-01 03:00:00 -07:00""#,
            r#""2026-03-01 03:00:00 -0700""#,
            r#""2026-03-01 10:00:00 UTC""#,
            r#""2026-03-01T11:00:00[Europe/Berlin]""#,
            r#""Sun, 01 Mar 2026 10:00:00 +0000""#,
            r#""2026/03/01 10:00""#,
            "1772359200",
            "1772359200.0",
            "1772359200000",
            "1772359200000000",
            "1772359200000000000",
            r#""1772359200""#,
            "2026030110",
            "202603011000",
            "20260301100000",
            r#""202603011000""#,
        ] {
            let found = read(json).at.map(|time| time.to_string());
            assert_eq!(found.as_deref(), Some("2026-03-01T10:00:00Z"), "{json}");
        }
    }

    #[test]
    fn days_are_read_in_every_form_whose_day_and_month_are_certain() {
        for text in [
            "2026-03-01",
            "20260301",
            "2026/03/01",
            "2026.03.01",
            "March 1, 2026",
            "Mar 1, 2026",
            "1 March 2026",
            "01 Mar 2026",
        ] {
            let found = of_text(text).at.map(|time| time.to_string());
            assert_eq!(found.as_deref(), Some("2026-03-01T00:00:00Z"), "{text}");
        }
    }

    #[test]
    fn a_missing_time_differs_from_one_that_cannot_be_read() {
        for json in [
            "null",
            "0",
            r#""""#,
            r#""null""#,
            r#""0001-01-01""#,
            r#""0001-01-01T00:00:00Z""#,
            r#""1970-01-01T00:00:00.000Z""#,
            r#""1970-01-01 00:00:00""#,
            r#""1970-01-01 00:00:00+00:00""#,
            r#""1969-12-31T16:00:00-08:00""#,
            r#""1970-01-01""#,
        ] {
            assert_eq!(read(json), FoundDate::default(), "{json}");
        }
        for json in [
            "1e300",
            "-5",
            "2026",
            "20261301",
            r#""soon""#,
            r#""03/04/2026""#,
            r#""2026-13-01""#,
            "{}",
            "true",
        ] {
            assert_eq!(read(json), found(None), "{json}");
        }
        let day = of_text("2026-03-01");
        assert_eq!(of_text("soon").or(day), day);
        assert!(of_text("soon").or_beside(|| day.at).is_unreadable);
    }
}
