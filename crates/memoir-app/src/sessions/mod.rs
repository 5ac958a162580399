//! Refinement sessions: beginning, opening, the tools, the ends, undoing, rehearsing, and the loop that
//! drives a model through one (SPEC 3).

mod begin;
pub mod drive;
mod end;
mod knife;
mod live;
mod own;
mod queue;
mod recent;
mod refusals;
mod rehearse;
mod slate;
mod sweep;
mod turns;
mod undo;

use memoir_domain::{PrivateText, SessionId, knife::Tool};
use memoir_model::ToolDefinition;
use memoir_store::AgentQuery;

use crate::{AgentHandle, Result, SessionView};

pub(crate) use begin::room;
pub use begin::{OpenedSession, RefineOptions};
pub use drive::{Driven, Progress};
pub(crate) use live::Changes;
pub use live::{Live, LiveEvent, LiveRecord, LiveSession, Seen, SessionProgress};
pub(crate) use own::own_lease_time;
pub use queue::TakenUp;
pub(crate) use recent::Recent;
pub(crate) use refusals::Refusals;
pub use rehearse::{AppliedMass, BlindChange, BlindRehearsal, Rehearsal, RehearsedMemory};
pub use sweep::{Scheduled, Scheduler};
pub use turns::Turns;
pub use undo::RollBackPreview;

/// The tools of a session as they are offered to a model.
pub fn tool_definitions(mode: memoir_domain::session::Mode) -> Vec<ToolDefinition> {
    Tool::ALL
        .into_iter()
        .filter(|tool| tool.is_in(mode))
        .map(|tool| ToolDefinition {
            name: tool.as_str().to_owned(),
            description: tool.description().to_owned(),
            parameters: tool.parameters(),
        })
        .collect()
}

/// A session with what it came to, where it was a rehearsal.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct SessionDetail {
    /// The session.
    #[serde(flatten)]
    pub session: SessionView,
    /// What a rehearsal came to; `None` for any other session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<RehearsedMemory>>,
}

impl AgentHandle {
    /// The agent's sessions, newest first, at most `limit` of them.
    ///
    /// # Errors
    /// The store fails.
    pub async fn sessions(&self, limit: u32) -> Result<Vec<SessionView>> {
        let rows = self.memoir.store.sessions(self.scope, limit).await?;
        let key = self.key().await?;
        rows.into_iter()
            .map(|row| {
                let (session, _) = crate::codec::session(key.as_ref(), row)?;
                Ok(SessionView::new(&self.name, session))
            })
            .collect()
    }

    /// One session.
    ///
    /// # Errors
    /// The agent has none of that identifier.
    pub async fn session(&self, id: SessionId) -> Result<SessionDetail> {
        let mut loaded = self
            .load(&AgentQuery {
                session: Some(id),
                ..AgentQuery::default()
            })
            .await?;
        let rehearsal = loaded
            .session
            .as_mut()
            .and_then(|(_, rehearsal)| rehearsal.take());
        let mut session = loaded.take_session(id)?;
        session.refused_calls = session
            .refused_calls
            .saturating_add(self.memoir.refusals.of(id));
        Ok(SessionDetail {
            session: SessionView::new(&self.name, session),
            changes: rehearsal.map(|rehearsal| rehearsal.memories()),
        })
    }
}

/// What a refusal to consent is kept as, at most so many characters (SPEC 2.1: nothing is cut silently).
const WORDS_LIMIT: usize = 2_000;

/// An answer in the agent's words, cut where it is far too long, with a mark that says so.
fn bounded(words: &PrivateText) -> PrivateText {
    if words.chars() <= WORDS_LIMIT {
        return words.clone();
    }
    let kept: String = words.expose().chars().take(WORDS_LIMIT).collect();
    format!("{kept} […{} more characters]", words.chars() - WORDS_LIMIT).into()
}
