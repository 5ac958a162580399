//! A running session as it is watched: its state, and its records as they are written.
//!
//! It reads the store only, so it also shows sessions that another process drives, and continues after a restart.
//!
//! The agent's version is read first, since every change increases it; refused calls and the usage of this process's
//! model calls count before they are written. An event's identifier holds the last record's place and the session's
//! state, so that a client resumes there with any process.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use memoir_domain::{
    SessionId,
    agent::Agent,
    breaker::Gauge,
    session::{EDIT_CAP, Session},
    tools::session_gauge,
};
use memoir_store::{AgentQuery, AgentRow, RecordFilter, SessionRow};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    core::{AgentHandle, Error, Result, codec},
    sessions::{Sessions, Unwritten, UnwrittenCounts},
    shown::{AccessLevel, AgentLens, SessionFacts, ShownRecord, ShownSession, Viewer},
};

/// How often the store is read.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Most records per read.
const AT_ONCE: u32 = 100;

/// How far a watcher has read a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SeenUpTo {
    /// The place of the last record in the agent's log that was read; 0 for none.
    pub seq: u64,
    /// A hash of what distinguishes the last shown view of the session from others; `None` where none was shown.
    pub progress: Option<u64>,
}

/// A session as it is watched, with the figures of the breaker.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = LiveSession)]
pub struct LiveSession<S = ShownSession> {
    /// The session; [`SessionFacts`] for viewers without access to text.
    #[serde(flatten)]
    pub session: S,
    /// The core size now; at the end, that of the end. Null where the session ended without session tools, and of a
    /// running rehearsal.
    #[schema(required)]
    pub core_tokens: Option<u64>,
    /// The breaker line: the smallest core size that the breaker accepts. Null before the session tools are given.
    #[schema(required)]
    pub breaker_tokens: Option<u64>,
    /// How many more tokens edits may remove; null before the session tools are given, and at the end.
    #[schema(required)]
    pub removable_tokens: Option<u64>,
    /// Edits that are left.
    pub edits_left: u32,
}

/// A record of a session that is watched.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct LiveRecord {
    /// The record.
    #[serde(flatten)]
    pub record: ShownRecord,
    /// The core size after it; null where the record does not measure it.
    #[schema(required)]
    pub core_tokens: Option<u64>,
}

/// An event for watchers.
#[derive(Debug, Clone, PartialEq)]
pub enum LiveEvent {
    /// A record was written.
    Record(Box<LiveRecord>),
    /// The session changed, as after the records shown so far.
    Session(Box<LiveSession>),
    /// It has ended so: the last event.
    Ended(Box<LiveSession>),
}

/// A session that is watched.
pub struct Live {
    agent: AgentHandle,
    id: SessionId,
    access_level: AccessLevel,
    seen: SeenUpTo,
    /// The agent's version at the last read that returned everything, and the session's unwritten counts.
    looked_at: Option<(u64, UnwrittenCounts)>,
    has_ended: bool,
}

impl AgentLens<'_> {
    /// Watches a session of the agent from there on. An administrator gets no text, whatever the agent has granted: no
    /// grant is checked while watching.
    pub fn watch(&self, id: SessionId, seen: SeenUpTo) -> Live {
        Live {
            agent: self.agent.clone(),
            id,
            access_level: match self.viewer {
                Viewer::Agent => AccessLevel::Words,
                Viewer::Administrator(_) => AccessLevel::NoWords,
            },
            seen,
            looked_at: None,
            has_ended: false,
        }
    }
}

impl Sessions<'_> {
    /// A session as it is now, with the figures of the breaker; without text.
    ///
    /// # Errors
    /// There is no such session; the agent was erased; the store fails.
    pub async fn live_session(self, id: SessionId) -> Result<LiveSession<SessionFacts>> {
        let (agent, row) = self.watched(id).await?;
        // The key is only read in order to fail for an erased agent; nothing is opened with it.
        self.key_of(&agent).await?;
        let session = self.with_unwritten(codec::session(None, row)?.0);
        let facts = SessionFacts::new(&self.name, &session);
        Ok(live(codec::listed_agent(&agent)?, &session, facts))
    }

    /// The agent with one of its sessions, read together.
    async fn watched(self, id: SessionId) -> Result<(AgentRow, SessionRow)> {
        let snapshot = self.snapshot(&AgentQuery::of_session(id)).await?;
        let row = snapshot.session;
        let row = row.ok_or_else(|| Error::NoSession(id.to_string()))?;
        Ok((snapshot.agent, row))
    }

    async fn live_with_progress(
        self,
        agent: &AgentRow,
        row: SessionRow,
        access_level: AccessLevel,
    ) -> Result<(LiveSession, u64)> {
        // Also finds an erased agent.
        let key = self.key_of(agent).await?;
        let version = row.document.version;
        let key = (access_level == AccessLevel::Words).then_some(&key);
        let session = self.with_unwritten(codec::session(key, row)?.0);
        let shown = ShownSession::with_words(&self.name, session.clone(), None);
        let live = live(codec::listed_agent(agent)?, &session, shown);
        // The same in every process, which a hash of the standard library's maps is not.
        let mut progress = DefaultHasher::new();
        (version, live.core_tokens, live.breaker_tokens).hash(&mut progress);
        (session.refused_calls, session.usage.calls).hash(&mut progress);
        Ok((live, progress.finish()))
    }

    fn with_unwritten(self, session: Session) -> Session {
        self.memoir.state::<Unwritten>().added_to(session)
    }
}

impl Live {
    /// The new events, each with how far the watcher has then read the session; empty where there are none. After the
    /// session's end nothing follows.
    ///
    /// # Errors
    /// There is no such session; the agent was erased; the store fails.
    pub async fn look(&mut self) -> Result<Vec<(LiveEvent, SeenUpTo)>> {
        if self.has_ended {
            return Ok(Vec::new());
        }
        let unwritten = self.agent.memoir.state::<Unwritten>().of(self.id);
        let (agent, row) = self.agent.sessions().watched(self.id).await?;
        let looked_at = Some((agent.document.version, unwritten));
        if self.looked_at == looked_at {
            return Ok(Vec::new());
        }
        let mut news = Vec::new();
        for record in self.records(&agent).await? {
            self.seen.seq = record.record.seq;
            news.push((LiveEvent::Record(Box::new(record)), self.seen));
        }
        if news.len() as u32 == AT_ONCE {
            // There may be more, which is available without waiting.
            self.looked_at = None;
            return Ok(news);
        }
        let sessions = self.agent.sessions();
        let live = sessions.live_with_progress(&agent, row, self.access_level);
        let (session, progress) = live.await?;
        self.looked_at = looked_at;
        self.has_ended = !session.session.state.is_running();
        if self.seen.progress != Some(progress) {
            self.seen.progress = Some(progress);
            let session = Box::new(session);
            let event = if self.has_ended {
                LiveEvent::Ended(session)
            } else {
                LiveEvent::Session(session)
            };
            news.push((event, self.seen));
        }
        Ok(news)
    }

    /// Whether the session has ended, and everything of it was returned.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Waits until another read is useful.
    pub async fn changed(&mut self) {
        if self.looked_at.is_some() {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// The session's records that were not read, up to this read of the agent.
    async fn records(&self, agent: &AgentRow) -> Result<Vec<LiveRecord>> {
        if agent.columns.next_seq <= self.seen.seq + 1 {
            return Ok(Vec::new());
        }
        let filter = RecordFilter {
            from_seq: self.seen.seq + 1,
            first: Some(AT_ONCE),
            ..RecordFilter::of_session(self.id)
        };
        let key = match self.access_level {
            AccessLevel::Words => self.agent.key().await?,
            _ => None,
        };
        let views = self.agent.views();
        let records = views.shown_records(&filter, self.access_level, key.as_ref());
        let records = records.await?;
        let known = records
            .into_iter()
            // Records between the two reads belong to the next one, with the session as it is then.
            .filter(|record| record.seq < agent.columns.next_seq);
        Ok(known
            .map(|record| LiveRecord {
                core_tokens: record.core_size_after(),
                record,
            })
            .collect())
    }
}

/// The session with the figures of the breaker; `agent` is the current one.
fn live<S>(mut agent: Agent, session: &Session, shown: S) -> LiveSession<S> {
    let is_running = session.state.is_running();
    let mut core_tokens = Some(agent.tally.core_tokens).filter(|_| !session.rehearsal);
    if !is_running {
        // Settings and memories from after its end do not count.
        core_tokens = session.post_session_tokens;
        agent.tally.core_tokens = core_tokens.unwrap_or(0);
        agent.settings.refinement_threshold = session.threshold;
        agent.settings.unknown.clear();
    }
    let has_tools = session.pre_session_tokens.is_some();
    let gauge = has_tools.then(|| session_gauge(&agent, Some(session)));
    LiveSession {
        core_tokens,
        breaker_tokens: gauge.as_ref().map(Gauge::least_allowed),
        removable_tokens: gauge
            .as_ref()
            .filter(|_| is_running && !session.rehearsal)
            .map(|gauge| gauge.allowance().tokens),
        edits_left: EDIT_CAP.saturating_sub(session.edits),
        session: shown,
    }
}
