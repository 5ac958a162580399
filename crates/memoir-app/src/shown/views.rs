//! When agents are due for a session, the same for every interface.

use memoir_domain::{
    Timestamp,
    agent::Agent,
    schedule::{self, SkipReason},
    session::Trigger,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{core::Memoir, shown::schemas};

/// That a session is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Due)]
pub struct RefinementDue {
    /// `weekly` or `budget`.
    #[schema(value_type = schemas::DueReason)]
    pub reason: Trigger,
}

/// When the schedule asks agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScheduleView {
    /// Whether the service begins the sessions that are due.
    pub enabled: bool,
    /// The weekly slot, such as `Monday 04:00`.
    pub weekly: String,
    /// When agents reflect on their journal each day, such as `03:00`.
    pub daily: String,
    /// The time zone of both, by its IANA name.
    pub time_zone: Option<String>,
    /// The next weekly slot.
    pub next: Option<Timestamp>,
}

impl Memoir {
    /// When the schedule asks agents.
    pub fn schedule(&self) -> ScheduleView {
        let slot = &self.settings.weekly_slot;
        let (hour, minute) = (slot.time.hour(), slot.time.minute());
        let daily = self.settings.daily_slot.time;
        ScheduleView {
            daily: format!("{:02}:{:02}", daily.hour(), daily.minute()),
            enabled: self.settings.schedule,
            weekly: format!("{:?} {hour:02}:{minute:02}", slot.weekday),
            time_zone: slot.time_zone.iana_name().map(str::to_owned),
            next: slot.next(self.now()),
        }
    }

    /// Why the schedule never begins a session of `agent`; `None` where it does.
    pub(crate) fn left_alone(&self, agent: &Agent) -> Option<SkipReason> {
        let own = schedule::left_alone(agent);
        // In the order of the domain, where the agent's own schedule has this place.
        if !self.settings.schedule
            && !matches!(own, Some(SkipReason::Inactive | SkipReason::Paused))
        {
            return Some(SkipReason::ScheduleOff);
        }
        let no_model = || {
            let model = self.effective_model(&agent.settings);
            model.is_none().then_some(SkipReason::NoModel)
        };
        own.or_else(no_model)
    }

    /// Whether a session of `agent` is due now; `None` where none is.
    pub(crate) fn refinement_due(&self, agent: &Agent) -> Option<RefinementDue> {
        schedule::due(agent, &self.settings.weekly_slot, self.now())
            .map(|reason| RefinementDue { reason })
    }
}
