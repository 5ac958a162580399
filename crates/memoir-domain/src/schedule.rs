//! When an agent is due for a session (SPEC 3.1).

use jiff::{ToSpan, civil, tz::TimeZone};

use crate::{Timestamp, agent::Agent, session::Trigger};

/// Growth since the last attempt that budget pressure takes, in percent.
pub const GROWTH_PERCENT: u64 = 5;
/// Seconds between two sessions for budget pressure.
pub const BUDGET_INTERVAL_SECONDS: i64 = 24 * 60 * 60;

/// The weekly slot: a weekday and a time of day in a time zone.
#[derive(Debug, Clone, PartialEq)]
pub struct WeeklySlot {
    /// The day.
    pub weekday: civil::Weekday,
    /// The time of day.
    pub time: civil::Time,
    /// Where.
    pub time_zone: TimeZone,
}

impl Default for WeeklySlot {
    /// Monday 04:00 in UTC.
    fn default() -> Self {
        Self {
            weekday: civil::Weekday::Monday,
            time: civil::time(4, 0, 0, 0),
            time_zone: TimeZone::UTC,
        }
    }
}

impl WeeklySlot {
    /// The latest slot at or before `now`. A slot that a change of clocks skips is taken after the gap,
    /// one that it doubles is taken once, at the first.
    pub fn latest(&self, now: Timestamp) -> Option<Timestamp> {
        let local = now.to_jiff().to_zoned(self.time_zone.clone());
        let back = i64::from(local.weekday().since(self.weekday));
        // A change of clocks around midnight can put a slot on the day after the one that it is named for.
        [back - 7, back, back + 7]
            .into_iter()
            .filter_map(|days| self.slot_on(local.date().checked_sub(days.days()).ok()?))
            .find(|slot| *slot <= now)
    }

    /// The first slot after `now`.
    pub fn next(&self, now: Timestamp) -> Option<Timestamp> {
        let local = now.to_jiff().to_zoned(self.time_zone.clone());
        let ahead = i64::from(self.weekday.since(local.weekday()));
        [ahead - 7, ahead, ahead + 7]
            .into_iter()
            .filter_map(|days| self.slot_on(local.date().checked_add(days.days()).ok()?))
            .find(|slot| *slot > now)
    }

    fn slot_on(&self, date: civil::Date) -> Option<Timestamp> {
        let zoned = date
            .to_datetime(self.time)
            .to_zoned(self.time_zone.clone())
            .ok()?;
        Timestamp::from_jiff(zoned.timestamp())
    }
}

/// Why a session is due at `now`; `None` where none is.
pub fn due(agent: &Agent, slot: &WeeklySlot, now: Timestamp) -> Option<Trigger> {
    if agent.settings.inactive || agent.settings.paused || agent.tally.core_count == 0 {
        return None;
    }
    if under_pressure(agent, now) {
        return Some(Trigger::Budget);
    }
    let since = agent
        .last_attempt
        .map_or(agent.created_at, |attempt| attempt.at);
    slot.latest(now)
        .filter(|slot| *slot > since)
        .map(|_| Trigger::Weekly)
}

fn under_pressure(agent: &Agent, now: Timestamp) -> bool {
    let grown = agent.last_attempt.is_none_or(|attempt| {
        let needed = attempt.core_tokens.saturating_mul(100 + GROWTH_PERCENT);
        agent.tally.core_tokens.saturating_mul(100) >= needed
            && now.seconds_since(attempt.at) >= BUDGET_INTERVAL_SECONDS
    });
    agent.needs_refinement() && grown
}
