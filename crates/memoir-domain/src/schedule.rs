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

/// The daily slot: a time of day in a time zone.
#[derive(Debug, Clone, PartialEq)]
pub struct DailySlot {
    /// The time of day.
    pub time: civil::Time,
    /// Where.
    pub time_zone: TimeZone,
}

impl Default for DailySlot {
    /// 03:00 in UTC.
    fn default() -> Self {
        Self {
            time: civil::time(3, 0, 0, 0),
            time_zone: TimeZone::UTC,
        }
    }
}

impl DailySlot {
    /// The latest slot at or before `now`. A slot that a change of clocks skips is taken after the gap,
    /// one that it doubles is taken once, at the first.
    pub fn latest(&self, now: Timestamp) -> Option<Timestamp> {
        let today = now.to_jiff().to_zoned(self.time_zone.clone()).date();
        // A change of clocks around midnight can put a slot on the day after the one that it is named for.
        [1_i64, 0, -1, -2]
            .into_iter()
            .filter_map(|days| {
                let date = today.checked_add(days.days()).ok()?;
                let zoned = date.to_datetime(self.time).to_zoned(self.time_zone.clone());
                Timestamp::from_jiff(zoned.ok()?.timestamp())
            })
            .find(|slot| *slot <= now)
    }
}

/// Whether a reflection is due at `now` (SPEC 2.5): entries have come that none has seen, and a daily slot
/// has passed since.
pub fn reflection_due(agent: &Agent, slot: &DailySlot, now: Timestamp) -> bool {
    let after = prospect(agent).reflect_after;
    after
        .zip(slot.latest(now))
        .is_some_and(|(after, slot)| after < slot)
}

/// What the schedule has in view for an agent; it changes with the agent only, not with time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Prospect {
    /// A weekly slot after this time makes it due; `None` where the schedule leaves it alone.
    pub weekly_after: Option<Timestamp>,
    /// From this time on budget pressure makes it due; `None` where there is none, or the schedule leaves
    /// it alone.
    pub pressure_at: Option<Timestamp>,
    /// A daily slot after this time brings a reflection (SPEC 2.5); `None` where there is nothing to
    /// reflect on, or the schedule leaves it alone.
    pub reflect_after: Option<Timestamp>,
}

/// What the schedule has in view for `agent`, as long as nothing of it changes.
pub fn prospect(agent: &Agent) -> Prospect {
    let settings = &agent.settings;
    let is_left_alone = settings.inactive || settings.paused || agent.erased_at.is_some();
    if is_left_alone {
        return Prospect::default();
    }
    let reflect_after = agent.unreflected_since.map(|since| {
        agent
            .last_reflection_at
            .map_or(since, |last| last.max(since))
    });
    if agent.tally.core_count == 0 {
        return Prospect {
            reflect_after,
            ..Prospect::default()
        };
    }
    let since = agent.last_attempt.map(|attempt| attempt.at);
    Prospect {
        weekly_after: Some(since.unwrap_or(agent.created_at)),
        pressure_at: pressure_at(agent),
        reflect_after,
    }
}

/// Why a session is due at `now`; `None` where none is.
pub fn due(agent: &Agent, slot: &WeeklySlot, now: Timestamp) -> Option<Trigger> {
    let prospect = prospect(agent);
    if prospect.pressure_at.is_some_and(|at| at <= now) {
        return Some(Trigger::Budget);
    }
    let since = prospect.weekly_after?;
    slot.latest(now)
        .filter(|slot| *slot > since)
        .map(|_| Trigger::Weekly)
}

fn pressure_at(agent: &Agent) -> Option<Timestamp> {
    if !agent.needs_refinement() {
        return None;
    }
    let Some(attempt) = agent.last_attempt else {
        return Some(agent.created_at);
    };
    let needed = attempt.core_tokens.saturating_mul(100 + GROWTH_PERCENT);
    let has_grown = agent.tally.core_tokens.saturating_mul(100) >= needed;
    has_grown.then(|| attempt.at.plus_seconds(BUDGET_INTERVAL_SECONDS))
}
