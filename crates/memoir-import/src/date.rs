//! Points in time as programs write them.

use memoir_domain::Timestamp;
use memoir_transcripts::raw::Raw;

/// A value that holds a time; `None` where it is missing or cannot be read. A text without an offset is UTC. The unit
/// follows from the size of a number: seconds, milliseconds, microseconds, nanoseconds.
pub(crate) fn of_value(value: Option<Raw<'_>>) -> Option<Timestamp> {
    let value = value?;
    match value.string() {
        Ok(Some(text)) => of_text(&text),
        _ => of_number(value.number()?),
    }
}

/// The same for a text.
pub(crate) fn of_text(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let written = text.parse().ok();
    let number = || text.parse().ok().and_then(of_number);
    // ` +00:00` and ` UTC` behind a space are not standard, but programs print them.
    let spaced = || {
        text.replacen(" +", "+", 1)
            .replacen(" UTC", "Z", 1)
            .parse()
            .ok()
    };
    written.or_else(number).or_else(spaced)
}

/// The same for a number.
pub(crate) fn of_number(number: f64) -> Option<Timestamp> {
    // 2·10^10 seconds is the year 2603, and the other bounds are the same day in finer units. So milliseconds before
    // August 1970 are read as seconds: no program had memories then.
    let per_microsecond = match number.abs() {
        size if size > 2e16 => 1e-3,
        size if size > 2e13 => 1.0,
        size if size > 2e10 => 1e3,
        _ => 1e6,
    };
    let microseconds = (number * per_microsecond).round();
    // Programs write zero for an unknown time.
    if !microseconds.is_finite() || microseconds == 0.0 {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a number outside of the range becomes its end, which is no time"
    )]
    let microseconds = microseconds as i64;
    Timestamp::from_microseconds(microseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_unit_and_offset() {
        let day = "2026-03-01T10:00:00Z";
        for json in [
            r#""2026-03-01T03:00:00-07:00""#,
            r#""2026-03-01T10:00:00""#,
            r#""2026-03-01 10:00:00""#,
            r#""2026-03-01 10:00:00 +00:00""#,
            r#""2026-03-01 10:00:00 UTC""#,
            "1772359200",
            "1772359200.0",
            "1772359200000",
            "1772359200000000",
            "1772359200000000000",
            r#""1772359200""#,
        ] {
            let raw = Raw::whole(json.as_bytes()).unwrap();
            let read = of_value(Some(raw)).map(|time| time.to_string());
            assert_eq!(read.as_deref(), Some(day), "{json}");
        }
        for json in ["null", "0", "1e300", r#""soon""#, r#""""#, "{}"] {
            let raw = Raw::whole(json.as_bytes()).unwrap();
            assert_eq!(of_value(Some(raw)), None, "{json}");
        }
    }
}
