//! When an agent is due for a session (SPEC 3.1).
//!
//! The next session of an agent depends on the agent alone, so it is computed with every decision ([`prospect`]) and
//! stored in its row. After `weekly_after`, any weekly slot makes it due. From `due_at` on it is due whatever the slot:
//! for budget pressure, in a slot of its own, or for a retry ([`Attempt`]). Both are empty where the schedule skips the
//! agent; [`left_alone`] returns the reason.
//!
//! A time ahead of now comes from a clock that was set back since, and is ignored ([`Timestamp::is_plausible_at`]).

use std::{fmt, str::FromStr};

use jiff::{ToSpan, civil, tz::TimeZone};
use serde::{Deserialize, Serialize};

use crate::{
    agent::{Agent, Attempt, LossGuard},
    memory::Invalid,
    time::Timestamp,
};

/// The growth since the last attempt that makes budget pressure due, in percent.
pub const GROWTH_PERCENT: u64 = 5;
/// Seconds between two sessions for budget pressure.
pub const BUDGET_INTERVAL_SECONDS: i64 = 24 * 60 * 60;
/// Hours until a scheduled session that failed without an edit is retried: after the first, second and third failure.
/// After the fourth the schedule waits for its next reason (SPEC 3.16).
pub const RETRY_HOURS: [i64; 3] = [1, 4, 12];

wire_names! {
    /// Why a session was begun (SPEC 3.1).
    #[derive(Default)]
    pub enum Trigger {
        /// An agent or an administrator requested it.
        #[default]
        Request = "request" => "asked for",
        Weekly = "weekly" => "weekly slot",
        /// The core size is over the trigger and has grown.
        Budget = "budget" => "over budget",
    }
}

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
    /// The latest slot at or before `now`. A slot within the gap of a clock change is taken after the gap; a repeated
    /// one is taken once, at the first.
    pub fn latest(&self, now: Timestamp) -> Option<Timestamp> {
        let local = now.to_jiff().to_zoned(self.time_zone.clone());
        let back = i64::from(local.weekday().since(self.weekday));
        // A clock change around midnight can move a slot to the day after its name.
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
        let zoned = date.to_datetime(self.time).to_zoned(self.time_zone.clone());
        Timestamp::from_jiff(zoned.ok()?.timestamp())
    }
}

/// When the schedule begins an agent's sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RefinementSchedule {
    /// In the installation's weekly slot, and for budget pressure.
    #[default]
    Weekly,
    /// Never. Unlike a paused agent, it still reflects and absorbs conversations.
    Off,
    /// In a weekly slot of its own, in the installation's time zone, and for budget pressure.
    Own {
        /// The day.
        weekday: civil::Weekday,
        /// The time of day, in whole minutes.
        time: civil::Time,
    },
}

impl RefinementSchedule {
    /// The weekly slot of an agent with this setting; `None` where it has none.
    pub fn slot(self, installation: &WeeklySlot) -> Option<WeeklySlot> {
        match self {
            Self::Weekly => Some(installation.clone()),
            Self::Off => None,
            Self::Own { weekday, time } => Some(WeeklySlot {
                weekday,
                time,
                time_zone: installation.time_zone.clone(),
            }),
        }
    }
}

impl FromStr for RefinementSchedule {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text.trim().to_lowercase().as_str() {
            "weekly" => return Ok(Self::Weekly),
            "off" => return Ok(Self::Off),
            _ => {}
        }
        let (weekday, time) = weekday_and_time(text).ok_or_else(|| {
            Invalid::new(
                "refinement_schedule",
                "must be `weekly`, `off`, or a weekday and a time of day, such as `Thu 03:30`",
            )
        })?;
        Ok(Self::Own { weekday, time })
    }
}

serde_as_text!(RefinementSchedule);

impl fmt::Display for RefinementSchedule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Weekly => formatter.write_str("weekly"),
            Self::Off => formatter.write_str("off"),
            Self::Own { weekday, time } => {
                let day = format!("{weekday:?}");
                let (hour, minute) = (time.hour(), time.minute());
                // Names of weekdays are ASCII: three bytes are three letters.
                write!(formatter, "{} {hour:02}:{minute:02}", &day[..3])
            }
        }
    }
}

/// Reads `Mon 04:00` or `monday 4:00`.
pub fn weekday_and_time(text: &str) -> Option<(civil::Weekday, civil::Time)> {
    let (day, time) = text.trim().split_once(char::is_whitespace)?;
    Some((weekday(day)?, time_of_day(time)?))
}

/// Reads `Mon` or `monday`, in any case.
pub fn weekday(name: &str) -> Option<civil::Weekday> {
    let wanted = name.to_lowercase();
    let mut days = civil::Weekday::Monday.cycle_forward().take(7);
    days.find(|day| {
        let day = format!("{day:?}").to_lowercase();
        wanted == day || wanted == day[..3]
    })
}

/// Reads `03:00` or `3:00`.
pub fn time_of_day(text: &str) -> Option<civil::Time> {
    let (hour, minute) = text.trim().split_once(':')?;
    let part = |text: &str| -> Option<i8> {
        // Digits alone: the parser would take a sign, too.
        let digits = matches!(text.len(), 1 | 2) && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().ok()).flatten()
    };
    civil::Time::new(part(hour)?, part(minute)?, 0, 0).ok()
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
    /// The latest slot at or before `now`. A slot within the gap of a clock change is taken after the gap; a repeated
    /// one is taken once, at the first.
    pub fn latest(&self, now: Timestamp) -> Option<Timestamp> {
        let today = now.to_jiff().to_zoned(self.time_zone.clone()).date();
        // A clock change around midnight can move a slot to the day after its name.
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

/// Whether a reflection is due at `now` (SPEC 2.5): there are unreflected entries, and a daily slot has passed since.
pub fn reflection_due(agent: &Agent, slot: &DailySlot, now: Timestamp) -> bool {
    let after = reflect_after(agent, now);
    after.is_some() && after < slot.latest(now)
}

/// The schedule of one agent; it changes with the agent only, not with time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NextDue {
    /// The installation's weekly slot after this time makes it due; `None` where the schedule skips it, or it has a
    /// slot of its own.
    pub weekly_after: Option<Timestamp>,
    /// From this time on it is due whatever the weekly slot: for budget pressure, in a slot of its own, or for a retry.
    /// `None` where there is no such reason, or the schedule skips it.
    pub due_at: Option<Timestamp>,
    /// A daily slot after this time brings a reflection (SPEC 2.5); `None` where there is nothing to reflect on, or the
    /// schedule skips it.
    pub reflect_after: Option<Timestamp>,
}

/// The schedule for `agent`, while it does not change. Agents' own slots are in `time_zone`: after a change of the
/// installation's zone, the old one applies until the agent changes.
pub fn prospect(agent: &Agent, time_zone: &TimeZone) -> NextDue {
    // The row is judged again when the time has come: here no time is ahead.
    let now = Timestamp::MAX;
    let reflect_after = reflect_after(agent, now);
    if left_alone(agent).is_some() {
        return NextDue {
            reflect_after,
            ..NextDue::default()
        };
    }
    let attempted_at = attempted_at(agent, now);
    let (weekly_after, own_slot) = match agent.settings.effective_refinement_schedule() {
        RefinementSchedule::Weekly => (Some(attempted_at), None),
        RefinementSchedule::Off => (None, None),
        RefinementSchedule::Own { weekday, time } => {
            let slot = WeeklySlot {
                weekday,
                time,
                time_zone: time_zone.clone(),
            };
            (None, slot.next(attempted_at))
        }
    };
    // The earliest makes the store propose the agent, and `due` judges the reason.
    let times = [own_slot, pressure_at(agent, now), retry_at(agent, now)];
    NextDue {
        weekly_after,
        due_at: times.into_iter().flatten().min(),
        reflect_after,
    }
}

wire_names! {
    /// Why the schedule never begins a session of an agent, while it does not change.
    pub enum SkipReason {
        /// It is out of service, or erased.
        Inactive = "inactive" => "it is not active",
        Paused = "paused" => "it is paused",
        /// Its `refinement_schedule` is `off`, or the installation's schedule is.
        ScheduleOff = "schedule_off" => "the schedule is off",
        /// A session could do nothing (SPEC 3.5).
        NothingToRefine = "nothing_to_refine" => "there is nothing to refine",
        /// It has no model. An agent that opens its sessions itself needs none.
        NoModel = "no_model" => "it has no model",
    }
}

/// Why the schedule skips `agent`; `None` where it does not. Only callers that know the installation's settings can
/// judge whether its schedule is off and whether there is a model.
pub fn left_alone(agent: &Agent) -> Option<SkipReason> {
    let settings = &agent.settings;
    let schedule = settings.effective_refinement_schedule();
    if settings.inactive || agent.erased_at.is_some() {
        Some(SkipReason::Inactive)
    } else if settings.paused {
        Some(SkipReason::Paused)
    } else if schedule == RefinementSchedule::Off {
        Some(SkipReason::ScheduleOff)
    } else if has_nothing_to_refine(agent) {
        Some(SkipReason::NothingToRefine)
    } else {
        None
    }
}

/// Whether a session could do nothing, as far as the agent's row shows it (SPEC 3.5): it has no core memories; it was
/// found so, and nothing was recorded since; or all core memories are constitutional, unless under `off`.
fn has_nothing_to_refine(agent: &Agent) -> bool {
    let tally = &agent.tally;
    let is_found = agent.nothing_to_refine_seq == Some(agent.next_seq);
    let is_protected = agent.settings.effective_loss_guard() != LossGuard::Off
        && tally.constitutional_count >= tally.core_count;
    tally.core_count == 0 || is_found || is_protected
}

/// Why a session is due at `now`; `None` where none is. `slot` is the installation's.
pub fn due(agent: &Agent, slot: &WeeklySlot, now: Timestamp) -> Option<Trigger> {
    if left_alone(agent).is_some() {
        return None;
    }
    let has_come = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
    // Pressure before the slot: one session serves both, and its record names the less regular reason.
    if has_come(pressure_at(agent, now)) {
        return Some(Trigger::Budget);
    }
    let slot = agent.settings.effective_refinement_schedule().slot(slot)?;
    if slot.latest(now) > Some(attempted_at(agent, now)) {
        return Some(Trigger::Weekly);
    }
    // A retry is begun for the reason that still exists.
    has_come(retry_at(agent, now)).then(|| match agent.needs_refinement() {
        true => Trigger::Budget,
        false => Trigger::Weekly,
    })
}

/// When the next session is due: `now` where one is; `None` where the schedule skips the agent.
pub fn next(agent: &Agent, slot: &WeeklySlot, now: Timestamp) -> Option<Timestamp> {
    if due(agent, slot, now).is_some() {
        return Some(now);
    }
    if left_alone(agent).is_some() {
        return None;
    }
    let slot = agent.settings.effective_refinement_schedule().slot(slot);
    let times = [
        slot.and_then(|slot| slot.next(now)),
        pressure_at(agent, now),
        retry_at(agent, now),
    ];
    times.into_iter().flatten().min()
}

/// Seconds until the retry after so many failures; `None` where there is none.
pub fn retry_seconds(failures: u32) -> Option<i64> {
    let place = usize::try_from(failures.checked_sub(1)?).ok()?;
    // There is none after the last one, so that the schedule stops retrying.
    RETRY_HOURS.get(place).map(|hours| hours * 60 * 60)
}

/// The last attempt, where its time is plausible at `now`.
fn last_attempt(agent: &Agent, now: Timestamp) -> Option<Attempt> {
    let attempt = agent.last_attempt;
    attempt.filter(|attempt| attempt.at.is_plausible_at(now))
}

/// When the last attempt was made; no slot before it counts.
fn attempted_at(agent: &Agent, now: Timestamp) -> Timestamp {
    last_attempt(agent, now).map_or_else(|| made_at(agent, now), |attempt| attempt.at)
}

/// When the agent was created; long ago, where that is ahead.
fn made_at(agent: &Agent, now: Timestamp) -> Timestamp {
    let made = Some(agent.created_at).filter(|at| at.is_plausible_at(now));
    made.unwrap_or(Timestamp::MIN)
}

fn retry_at(agent: &Agent, now: Timestamp) -> Option<Timestamp> {
    last_attempt(agent, now)?.retry_at
}

fn reflect_after(agent: &Agent, now: Timestamp) -> Option<Timestamp> {
    let settings = &agent.settings;
    if settings.inactive || settings.paused || agent.erased_at.is_some() {
        return None;
    }
    let believed = |at: Option<Timestamp>| at.filter(|at| at.is_plausible_at(now));
    agent.unreflected_since.map(|since| {
        let since = believed(Some(since)).unwrap_or(Timestamp::MIN);
        believed(agent.last_reflection_at).map_or(since, |last| last.max(since))
    })
}

fn pressure_at(agent: &Agent, now: Timestamp) -> Option<Timestamp> {
    if !agent.needs_refinement() {
        return None;
    }
    let Some(attempt) = last_attempt(agent, now) else {
        return Some(made_at(agent, now));
    };
    // In whole numbers: a share would lose 5% of a small core size.
    let needed = attempt.core_tokens.saturating_mul(100 + GROWTH_PERCENT);
    let has_grown = agent.tally.core_tokens.saturating_mul(100) >= needed;
    has_grown.then(|| attempt.at.plus_seconds(BUDGET_INTERVAL_SECONDS))
}
