//! One refinement session: its state, its limits, its prompts, its tools and its ends (SPEC 3).
//! Changes of memories outside of a session are not here, but in `change`.

pub mod breaker;
mod health;
pub mod ledger;
pub mod lifecycle;
pub mod prompt;
pub mod rollback;
pub mod session_entry;
pub mod tools;

use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    agent::{DuplicateMatch, LossGuard, Threshold},
    ids::SessionId,
    log::audit::{Action, Actor, Facts},
    text::private::PrivateText,
    time::Timestamp,
    wire_names::{stored_name, stored_or_none, stored_or_strictest},
};

pub use self::health::Health;
pub use crate::{
    agent::{Mode, schedule::Trigger},
    text::answer::Usage,
};

/// Most successful edits of a session: consolidate, update, delete (SPEC 3.11).
pub const EDIT_CAP: u32 = 10;
/// Most characters of the summary that completes a session (SPEC 3.15).
pub const SUMMARY_LIMIT: usize = 2_000;

/// The fact of a record with the class of a model's failure.
pub const FAILURE: &str = "failure";

wire_names! {
    /// The state of a session: waiting, running, or ended in exactly one way (SPEC 3.16).
    pub enum State {
        /// Waiting for a worker.
        Queued = "queued" => "queued",
        Asking = "asking" => "asking the agent",
        /// The agent has the session tools.
        Open = "open" => "running",
        Completed = "completed" => "completed",
        /// The breaker, or an administrator while it ran, undid all of it.
        RolledBack = "rolled_back" => "rolled back",
        Declined = "declined" => "declined",
        /// It stopped without completing, or a limit was reached; its edits stay.
        Abandoned = "abandoned" => "abandoned",
        /// The provider failed permanently; its edits stay.
        Failed = "failed" => "failed",
    }
}

impl State {
    /// Whether it has not ended.
    pub fn is_running(self) -> bool {
        matches!(self, Self::Queued | Self::Asking | Self::Open)
    }

    /// The action of the record of this end; `None` while it has not ended.
    pub(crate) fn end_action(self) -> Option<Action> {
        match self {
            Self::Queued | Self::Asking | Self::Open => None,
            Self::Completed => Some(Action::MemoryRefinementComplete),
            Self::RolledBack => Some(Action::MemoryRefinementRollback),
            Self::Declined => Some(Action::MemoryRefinementDeclined),
            Self::Abandoned => Some(Action::MemoryRefinementAbandoned),
            Self::Failed => Some(Action::MemoryRefinementFailed),
        }
    }
}

/// Whether a model, as `provider:name`, is code of Memoir's own, which must reveal no text by guessing (SPEC 3.4).
pub fn is_builtin(model: &str) -> bool {
    model.starts_with("builtin:")
}

wire_names! {
    /// Who runs the loop (SPEC 3.18).
    pub enum Driver {
        /// The agent, on its own runtime.
        Agent = "agent",
        /// Memoir, calling the agent's configured model.
        Model = "model",
    }
}

wire_names! {
    /// Why a session ended, without any of its text.
    pub enum EndReason {
        /// The agent answered something other than YES.
        Refused = "refused" => "the agent did not consent",
        BreakerCoreSize = "breaker_mass" => "the breaker tripped: too few tokens were left",
        BreakerRemoved = "breaker_removed" => "the breaker tripped: too much was removed",
        /// An administrator, or the agent, undid it while it ran.
        RolledBackOnRequest = "rolled_back_on_request" => "a rollback was requested",
        /// The model stopped without completing, after one reminder.
        Stopped = "stopped" => "the model stopped without completing",
        /// As `stopped`: the model wrote its calls as text, which its server did not read as calls.
        CallsAsText = "calls_as_text" => "the model wrote its calls as text",
        /// As `refused` or `stopped`: the model answered nothing.
        NoAnswer = "no_answer" => "the model answered nothing",
        TurnLimit = "turn_limit" => "the limit of turns was reached",
        TimeLimit = "time_limit" => "the limit of time was reached",
        TokenLimit = "token_limit" => "the limit of tokens was reached",
        CostLimit = "cost_limit" => "the limit of cost was reached",
        Idle = "idle" => "the agent made no call for too long",
        /// Its worker died, and another closed it.
        LeaseExpired = "lease_expired" => "its worker died",
        /// The agent or an administrator cancelled it.
        Cancelled = "cancelled" => "it was cancelled",
        /// The provider refused permanently, or stayed unavailable.
        Provider = "provider" => "the model's provider failed",
    }
}

wire_names! {
    /// Why a model's provider gave no usable response, so that a session failed (SPEC 3.16). Holds nothing that a
    /// provider sent.
    pub enum FailureClass {
        /// The key is missing, unusable, or not accepted by the provider.
        KeyRefused = "key_refused" => "the key for its model is missing or refused",
        /// The account with the provider has no credit left, or the provider limits the rate of requests.
        Quota = "quota" => "its model's provider has no credit left, or limits the rate",
        /// No connection to the provider was made, or it ended too early.
        Unreachable = "unreachable" => "its model's provider cannot be reached",
        /// There was no complete response in time.
        Timeout = "timeout" => "its model did not respond in time",
        /// The provider reported any other error.
        ServerError = "server_error" => "its model's provider reported an error",
        UnreadableResponse = "unreadable_response" => "its model's response could not be read",
    }
}

/// The edits of a session by kind. `consolidated` counts the merged memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stats {
    /// Memories merged into others.
    pub consolidated: u32,
    /// Memories rewritten.
    pub updated: u32,
    /// Memories taken out of the prompt.
    pub deleted: u32,
    /// Memories made constitutional.
    pub protected: u32,
}

impl std::fmt::Display for Stats {
    /// As in `2 taken out of the prompt, 1 updated`, or `no edits`.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts: Vec<String> = [
            (self.consolidated, "consolidated"),
            (self.deleted, "taken out of the prompt"),
            (self.updated, "updated"),
            (self.protected, "protected"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
        formatter.write_str(if parts.is_empty() { "no edits" } else { "" })?;
        formatter.write_str(&parts.join(", "))
    }
}

impl Facts {
    /// The configured name of the model that ran a session; none where the agent ran it itself.
    pub fn model(self, session: &Session) -> Self {
        match &session.model {
            Some(model) => self.configured_model(model.as_str()),
            None => self,
        }
    }

    /// Why the model of a session gave no usable response, where it failed.
    pub fn failure(self, failure: Option<FailureClass>) -> Self {
        match failure {
            Some(failure) => self.code(FAILURE, failure.as_str()),
            None => self,
        }
    }

    /// The edits of a session, and what came of them.
    pub(crate) fn outcome(self, session: &Session) -> Self {
        let stats = session.stats;
        let counts = [
            ("consolidated", stats.consolidated),
            ("updated", stats.updated),
            ("deleted", stats.deleted),
            ("protected", stats.protected),
        ];
        self.count("archived", session.archived)
            .count("summaries", session.summaries)
            .counts("stats", counts)
    }
}

/// Most seconds for which a lease is believed: twice the longest setting. One with a later expiry was acquired by a clock
/// that has been set back since, and would block the agent's sessions until then: it counts as expired.
pub const LONGEST_LEASE_SECONDS: i64 = 2 * 3_600;

/// The lease of one worker on a running session (SPEC 3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// When the lease expires unless it is renewed.
    pub until: Timestamp,
    /// A random number of the worker. A worker with another number has lost the session.
    pub holder: u64,
}

/// What the workers of a session have used of its limits (SPEC 3.16), besides its [`Usage`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Driven {
    /// Responses of the model since the session was open.
    pub turns: u32,
    /// Time that a worker had it, in milliseconds by that worker's monotonic clock: a wait in the queue does not count,
    /// nor does a clock that was set.
    pub milliseconds: u64,
}

/// A session in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Its identifier.
    pub id: SessionId,
    /// Its state.
    pub state: State,
    /// Which tools it has; the fewest where another version of Memoir stored a mode that this one does not know.
    #[serde(deserialize_with = "stored_mode")]
    pub mode: Mode,
    /// Who runs the loop.
    pub driver: Driver,
    /// Why it was begun; one that this version does not know reads as a request.
    #[serde(deserialize_with = "stored_trigger")]
    pub trigger: Trigger,
    /// Whether it works on a copy (SPEC 3.17).
    pub rehearsal: bool,
    /// The model that runs it; `None` where the agent runs it itself.
    pub model: Option<String>,
    /// The core size when it was opened; `None` before.
    pub pre_session_tokens: Option<u64>,
    /// The core size when it ended; `None` before, and where it was never opened.
    pub post_session_tokens: Option<u64>,
    /// The breaker's threshold, fixed when it was opened; once it ended, the stricter one that held. `None` before.
    #[serde(default, deserialize_with = "stored_threshold")]
    pub threshold: Option<Threshold>,
    /// Successful edits.
    pub edits: u32,
    /// The sum of each edit's removals, in tokens, never offset (SPEC 3.13).
    pub removed_tokens: u64,
    /// Memories that it moved to the archive.
    #[serde(default)]
    pub archived: u32,
    /// Of these, those that came under a summary.
    #[serde(default)]
    pub archived_under_summaries: u32,
    /// Summaries that it wrote.
    #[serde(default)]
    pub summaries: u32,
    /// The agent's `core_token_budget` when it was asked, or opened the session itself; `None` until it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_token_budget: Option<u64>,
    /// Whether the agent was asked within its budget: then the session is within it, whatever was saved until it opened.
    #[serde(default)]
    pub asked_within_budget: bool,
    /// The loss guard when it was opened, or the stricter one that the agent consented to: the stricter of it and the
    /// present one holds. `None` before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "stored_guard")]
    pub loss_guard: Option<LossGuard>,
    /// The immutable tags at its beginning, which apply together with the present ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub immutable_tags: Option<Vec<String>>,
    /// Of a rehearsal: which copies were joined when it was opened, so that applying it joins no others. `None` before,
    /// and of any other session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "stored_match")]
    pub duplicate_match: Option<DuplicateMatch>,
    /// Its edits by kind.
    pub stats: Stats,
    /// Refused calls of its tools. A refusal alone writes nothing: the session's next write includes it.
    #[serde(default)]
    pub refused_calls: u32,
    /// The agent's report, where it completed.
    pub summary: Option<PrivateText>,
    /// Why it ended; `None` while it runs, where it completed, and where this version does not know the reason.
    #[serde(default, deserialize_with = "stored_or_none")]
    pub end_reason: Option<EndReason>,
    /// Why its model gave no usable response, where it failed; `None` otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureClass>,
    /// The agent's own words for declining.
    pub reason: Option<PrivateText>,
    /// When it was begun.
    pub started_at: Timestamp,
    /// The actor that began it; `None` where that is not stored, or is of a role that this version does not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "stored_or_none")]
    pub started_by: Option<Actor>,
    /// The place in the log of its first record, which names who began it; `None` before. Always `None` of a rehearsal,
    /// whose only record is its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_seq: Option<u64>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// When it was undone after its end (SPEC 4.3).
    pub undone_at: Option<Timestamp>,
    /// The usage of its model calls.
    pub usage: Usage,
    /// What its workers used until the last one released it; `None` where none has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driven: Option<Driven>,
    /// Its lease; `None` once it ended.
    pub lease: Option<Lease>,
}

fn stored_mode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Mode, D::Error> {
    Ok(stored_name(Mode::from_name, deserializer)?.unwrap_or(Mode::DedupOnly))
}

fn stored_trigger<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Trigger, D::Error> {
    Ok(stored_name(Trigger::from_name, deserializer)?.unwrap_or(Trigger::Request))
}

fn stored_threshold<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Threshold>, D::Error> {
    stored_or_strictest(Threshold::STRICTEST, deserializer)
}

fn stored_guard<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<LossGuard>, D::Error> {
    stored_or_strictest(LossGuard::Refuse, deserializer)
}

fn stored_match<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<DuplicateMatch>, D::Error> {
    stored_or_strictest(DuplicateMatch::Exact, deserializer)
}

impl Session {
    /// Marks the end.
    pub fn end(&mut self, state: State, reason: Option<EndReason>, now: Timestamp) {
        self.state = state;
        self.end_reason = reason;
        self.ended_at = Some(now);
        self.lease = None;
    }
}
