//! Memories and sessions as every door shows them.

use memoir_domain::{
    PrivateText, SessionId, Timestamp,
    agent::Agent,
    memory::{Kind, Memory, Number, Tags},
    schedule::{self, LeftAlone},
    session::{Driver, Mode, Session, State, Stats, Trigger, Usage},
    wording::Origin,
};
use serde::Serialize;

use crate::{Eyes, Memoir};

/// A memory as it is shown to whoever may read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are those of the wire")]
pub struct MemoryView {
    pub number: Number,
    pub kind: Kind,
    pub content: PrivateText,
    pub tokens: u64,
    pub tags: Tags,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<PrivateText>,
    pub constitutional: bool,
    pub origin: Origin,
    /// How many wordings it stands for.
    pub wordings: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// When a journal entry leaves the prompt, or has left it; `None` for a core memory.
    pub fades_at: Option<Timestamp>,
    pub discarded_at: Option<Timestamp>,
    /// When its words were taken out for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shredded_at: Option<Timestamp>,
}

impl From<Memory> for MemoryView {
    fn from(memory: Memory) -> Self {
        Self {
            number: memory.number,
            kind: memory.kind,
            tokens: memory.tokens(),
            constitutional: memory.is_constitutional(),
            origin: memory.origin(),
            wordings: memory.wordings.len() as u64,
            sources: memory.sources().into_iter().cloned().collect(),
            fades_at: memory.fades_at(),
            content: memory.content,
            tags: memory.tags,
            created_at: memory.created_at,
            updated_at: memory.updated_at,
            discarded_at: memory.discarded_at,
            shredded_at: memory.shredded_at,
        }
    }
}

/// A session as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the names are those of the wire")]
pub struct SessionView {
    pub id: SessionId,
    pub agent: String,
    pub state: State,
    pub mode: Mode,
    pub driver: Driver,
    pub trigger: Trigger,
    pub rehearsal: bool,
    pub model: Option<String>,
    pub pre_session_tokens: Option<u64>,
    pub post_session_tokens: Option<u64>,
    pub threshold: Option<f64>,
    pub edits: u32,
    pub stats: Stats,
    pub removed_tokens: u64,
    pub lost_words: u64,
    /// Calls of its tools that were refused.
    pub refused_calls: u32,
    pub summary: Option<PrivateText>,
    /// The agent's own words where there are any, else the coded reason.
    pub reason: Option<PrivateText>,
    /// Why it ended, in a word.
    pub end_reason: Option<&'static str>,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub undone_at: Option<Timestamp>,
    pub usage: Usage,
}

impl SessionView {
    pub(crate) fn new(agent: &str, session: Session) -> Self {
        let end_reason = session
            .end_reason
            .map(memoir_domain::session::EndReason::as_str);
        Self {
            id: session.id,
            agent: agent.to_owned(),
            state: session.state,
            mode: session.mode,
            driver: session.driver,
            trigger: session.trigger,
            rehearsal: session.rehearsal,
            model: session.model,
            pre_session_tokens: session.pre_session_tokens,
            post_session_tokens: session.post_session_tokens,
            threshold: session
                .threshold
                .map(memoir_domain::agent::Threshold::share),
            edits: session.edits,
            stats: session.stats,
            removed_tokens: session.removed_tokens,
            lost_words: session.lost_words,
            refused_calls: session.refused_calls,
            summary: session.summary,
            reason: session.reason.or_else(|| end_reason.map(PrivateText::from)),
            end_reason,
            started_at: session.started_at,
            ended_at: session.ended_at,
            undone_at: session.undone_at,
            usage: session.usage,
        }
    }
}

impl SessionView {
    /// As whoever looks may see it: an administrator gets the coded reason only.
    #[must_use]
    pub fn seen_by(self, eyes: Eyes) -> Self {
        match eyes {
            Eyes::Agent => self,
            Eyes::Administrator => Self {
                summary: None,
                reason: self.end_reason.map(PrivateText::from),
                ..self
            },
        }
    }
}

/// That an agent is due for a session, and why (SPEC 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RefinementDue {
    /// `weekly` or `budget`.
    pub reason: Trigger,
}

/// When the schedule asks agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScheduleView {
    /// Whether the service asks those that are due.
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
    pub(crate) fn left_alone(&self, agent: &Agent) -> Option<LeftAlone> {
        let no_model = || self.effective_model(&agent.settings).is_none();
        schedule::left_alone(agent).or_else(|| no_model().then_some(LeftAlone::NoModel))
    }

    /// Whether `agent` is due now; `None` where it is not.
    pub(crate) fn refinement_due(&self, agent: &Agent) -> Option<RefinementDue> {
        schedule::due(agent, &self.settings.weekly_slot, self.now())
            .map(|reason| RefinementDue { reason })
    }
}
