//! Points in time, in whole microseconds, so that every store keeps and hashes the same (SPEC 4.1).

use std::{str::FromStr, time::Duration};

use jiff::{civil, tz::TimeZone};

/// Microseconds in one day of 24 hours.
const DAY: i64 = 86_400 * 1_000_000;

/// Days by which a plausible time may be ahead of now: clocks differ, and so do people's dates.
pub const AHEAD_DAYS: i64 = 1;

/// A point in time, in microseconds since 1970-01-01T00:00:00Z, between the years 1 and 9999.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display, derive_more::Debug,
)]
#[debug("{self}")]
#[display("{}", self.to_jiff())]
pub struct Timestamp(i64);

/// A text that is no point in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a time: expected a date such as `2026-03-01` or a time such as `2026-03-01T04:00:00Z`, in the years 1 to 9999"
)]
pub struct InvalidTimestamp;

impl Timestamp {
    /// 0001-01-01T00:00:00Z.
    pub const MIN: Self = Self(-62_135_596_800_000_000);
    /// 9999-12-30T22:00:00Z, the last instant that every time zone can write with four digits of year.
    pub const MAX: Self = Self(253_402_207_200_000_000);

    /// `None` outside of [`Timestamp::MIN`] to [`Timestamp::MAX`].
    pub fn from_microseconds(microseconds: i64) -> Option<Self> {
        let time = Self(microseconds);
        (Self::MIN..=Self::MAX).contains(&time).then_some(time)
    }

    /// Microseconds since 1970-01-01T00:00:00Z, negative before.
    pub fn microseconds(self) -> i64 {
        self.0
    }

    /// This time plus `microseconds`, kept within the range.
    pub fn plus_microseconds(self, microseconds: i64) -> Self {
        Self(
            self.0
                .saturating_add(microseconds)
                .clamp(Self::MIN.0, Self::MAX.0),
        )
    }

    /// This time plus `duration`, kept within the range.
    pub fn plus(self, duration: Duration) -> Self {
        self.plus_microseconds(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX))
    }

    /// This time plus `seconds`, kept within the range.
    pub fn plus_seconds(self, seconds: i64) -> Self {
        self.plus_microseconds(seconds.saturating_mul(1_000_000))
    }

    /// This time plus `days` of 24 hours, kept within the range.
    pub fn plus_days(self, days: i64) -> Self {
        self.plus_microseconds(days.saturating_mul(DAY))
    }

    /// Whole seconds from `earlier` to this time, negative when it is the later one.
    pub fn seconds_since(self, earlier: Self) -> i64 {
        // Cannot overflow: both are within the years 1 to 9999.
        (self.0 - earlier.0).div_euclid(1_000_000)
    }

    /// The time from `earlier` to this time; zero when it is the later one.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }

    /// Whether a recorded time is plausible at `now`. One that is more than [`AHEAD_DAYS`] ahead comes from a clock
    /// that was set back since, and is ignored.
    pub fn is_plausible_at(self, now: Self) -> bool {
        self <= now.plus_days(AHEAD_DAYS)
    }

    /// Reads the end of a range: a date alone means the whole of that day in UTC.
    ///
    /// # Errors
    /// As for reading any time.
    pub fn parse_until(text: &str) -> Result<Self, InvalidTimestamp> {
        Self::parse_until_in(text, &TimeZone::UTC)
    }

    /// As [`Timestamp::parse_until`], with days and times of day of that zone.
    ///
    /// # Errors
    /// As for reading any time.
    pub fn parse_until_in(text: &str, zone: &TimeZone) -> Result<Self, InvalidTimestamp> {
        let time = Self::parse_in(text, zone)?;
        // `civil::Date` also reads the date of a text that has a time of day.
        let date = text.trim().parse::<civil::Date>().ok();
        let Some(date) = date.filter(|_| !text.contains([':', 'T', 't'])) else {
            return Ok(time);
        };
        // The last microsecond of the day: both ends of a range are included.
        let end = date.at(23, 59, 59, 999_999_000).to_zoned(zone.clone());
        let end = end.ok().and_then(|end| Self::from_jiff(end.timestamp()));
        Ok(end.unwrap_or(Self::MAX))
    }

    /// Reads a time as `FromStr` does, but a date, or a date with a time of day, in that zone. A time that a change of
    /// clocks skips is read as if the clocks had not changed, and one that comes twice as the first.
    ///
    /// # Errors
    /// The text is no time.
    pub fn parse_in(text: &str, zone: &TimeZone) -> Result<Self, InvalidTimestamp> {
        let text = text.trim();
        // Other readings pass over the name of a zone.
        if text.contains('[') {
            let zoned: jiff::Zoned = text.parse().map_err(|_| InvalidTimestamp)?;
            return Self::from_jiff(zoned.timestamp()).ok_or(InvalidTimestamp);
        }
        let time = text
            .parse::<jiff::Timestamp>()
            .or_else(|_| {
                text.parse::<civil::DateTime>()
                    .and_then(|civil| civil.to_zoned(zone.clone()))
                    .map(|zoned| zoned.timestamp())
            })
            .map_err(|_| InvalidTimestamp)?;
        Self::from_jiff(time).ok_or(InvalidTimestamp)
    }

    /// Whole days from 1970-01-01 in UTC, negative before.
    pub fn day_number(self) -> i64 {
        self.0.div_euclid(DAY)
    }

    /// The calendar date in UTC, as `2026-03-01`.
    pub fn date(self) -> String {
        self.to_jiff().to_zoned(TimeZone::UTC).date().to_string()
    }

    /// Year, month and day in UTC.
    pub fn calendar_date(self) -> (i32, u8, u8) {
        let date = self.to_jiff().to_zoned(TimeZone::UTC).date();
        // Months and days are never negative.
        let part = |part: i8| part.unsigned_abs();
        (date.year().into(), part(date.month()), part(date.day()))
    }

    /// The calendar quarter in UTC: year, and quarter from 1 to 4.
    pub fn quarter(self) -> (i32, u8) {
        let (year, month, _) = self.calendar_date();
        (year, month.div_ceil(3))
    }

    /// The same point in time for calendar arithmetic.
    pub fn to_jiff(self) -> jiff::Timestamp {
        // The range of this type lies within that of `jiff::Timestamp`, so the fallback is never taken.
        jiff::Timestamp::from_microsecond(self.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
    }

    /// Cut to whole microseconds; `None` outside of the range.
    pub fn from_jiff(time: jiff::Timestamp) -> Option<Self> {
        Self::from_microseconds(time.as_microsecond())
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    /// Takes RFC 3339 with an offset, a time with the name of its zone (`2026-03-01T10:00:00[Europe/Berlin]`), or a date
    /// or a date with a time of day, both read as UTC.
    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        Self::parse_in(text, &TimeZone::UTC)
    }
}

serde_as_text!(Timestamp);
