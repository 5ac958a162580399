//! How an agent's memory has fared, in counts and dates (SPEC 5.1): the mass over time, what changed it,
//! how sessions ended, and how much of what was said is still said. Nothing here opens an agent's words but the
//! settings of its own row, and a log of any length is read page by page.

use std::collections::BTreeMap;

use memoir_domain::{
    SessionId, Timestamp,
    agent::{Agent, YEAR_DAYS},
    audit::{Action, CORE_TOKENS},
    mass::{Cause, Curve, Flow, MassPoint},
    memory::Tally,
    session::{Session, State, Trigger},
};
use memoir_store::{AgentQuery, RecordFilter};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{AgentHandle, Loaded, Result, codec};

/// Rows that are in memory at a time.
const PAGE: u32 = 500;
/// The ends that a session can have (SPEC 3.16).
const ENDS: [State; 5] = [
    State::Completed,
    State::RolledBack,
    State::Declined,
    State::Abandoned,
    State::Failed,
];

/// The mass over a stretch of time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MassHistory {
    /// Its beginning.
    pub since: Timestamp,
    /// Its end.
    pub until: Timestamp,
    /// The mass at the beginning, and at the end of each of as many equal parts as were wanted.
    pub points: Vec<MassPoint>,
    /// The sessions begun in it, oldest first.
    pub sessions: Vec<SessionMark>,
    /// When memories were put back to what they had been, oldest first.
    pub returns: Vec<Return>,
}

/// A session on a curve.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(
    missing_docs,
    reason = "the names are those of a session's on the wire"
)]
pub struct SessionMark {
    pub id: SessionId,
    pub state: State,
    pub trigger: Trigger,
    pub rehearsal: bool,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub undone_at: Option<Timestamp>,
    pub pre_session_tokens: Option<u64>,
    pub post_session_tokens: Option<u64>,
    pub edits: u32,
    pub removed_tokens: u64,
    pub lost_words: u64,
}

impl From<Session> for SessionMark {
    fn from(session: Session) -> Self {
        Self {
            id: session.id,
            state: session.state,
            trigger: session.trigger,
            rehearsal: session.rehearsal,
            started_at: session.started_at,
            ended_at: session.ended_at,
            undone_at: session.undone_at,
            pre_session_tokens: session.pre_session_tokens,
            post_session_tokens: session.post_session_tokens,
            edits: session.edits,
            removed_tokens: session.removed_tokens,
            lost_words: session.lost_words,
        }
    }
}

impl SessionMark {
    /// Whether what it did stands.
    fn is_in_force(&self) -> bool {
        self.undone_at.is_none() && !self.rehearsal && self.state != State::RolledBack
    }
}

/// A rollback, an undo or a rewind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Return {
    /// When.
    pub at: Timestamp,
    /// Which of them, by its name in the log.
    pub action: Action,
    /// The session that was taken back; `None` for a rewind.
    pub session_id: Option<SessionId>,
    /// What it gave back to the mass, in tokens; negative where it took something away.
    pub tokens: i64,
}

/// What is counted of sessions, rehearsals left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct SessionCounts {
    /// Sessions by how they ended; each end is there.
    pub ends: BTreeMap<&'static str, u64>,
    /// Those that run.
    pub running: u64,
    /// Those that ended and were undone since.
    pub undone: u64,
    /// Rehearsals, however they ended.
    pub rehearsals: u64,
    /// Edits that stand.
    pub edits: u64,
    /// What these took away, in tokens.
    pub removed_tokens: u64,
    /// Words that they let go.
    pub lost_words: u64,
}

/// How much of what was ever said is still said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Kept)]
pub struct KeptView {
    /// Wordings that kept core memories stand for, and those that sessions let go by deleting.
    pub wordings: u64,
    /// Those of which everything is still said.
    pub carried: u64,
    /// The words of all of them, but for the free ones.
    pub words: u64,
    /// Those of them that sessions let go.
    pub lost_words: u64,
    /// Those of them that sessions of the last 365 days let go.
    pub lost_words_year: u64,
}

impl KeptView {
    pub(crate) fn new(agent: &Agent, now: Timestamp) -> Self {
        let tally = agent.tally;
        Self {
            wordings: tally.wording_count,
            carried: tally.carried_count(),
            words: tally.words,
            lost_words: tally.lost_words,
            lost_words_year: agent.lost_words.since(YEAR_DAYS, now),
        }
    }

    /// The share of all words that is still said, 0 to 1; 1 where there are none.
    pub fn share(&self) -> f64 {
        if self.words == 0 {
            return 1.0;
        }
        1.0 - self.lost_words as f64 / self.words as f64
    }
}

/// How an agent's memory has fared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentStats {
    /// The agent's name.
    pub agent: String,
    /// What is counted of its memories now.
    #[serde(flatten)]
    pub tally: Tally,
    /// What its core memories should come to at most, in tokens.
    pub effective_core_token_budget: u64,
    /// The mass over time.
    pub history: MassHistory,
    /// What changed the mass in that time. All that was added less all that was removed is what the mass
    /// grew by.
    pub causes: BTreeMap<Cause, Flow>,
    /// The sessions of that time.
    pub sessions: SessionCounts,
    /// How much of what was ever said is still said, now.
    pub kept: KeptView,
}

impl AgentHandle {
    /// How much of what was ever said is still said. Content-blind.
    ///
    /// # Errors
    /// The agent is erased; the store fails.
    pub async fn kept(&self) -> Result<KeptView> {
        let loaded = self.load(&AgentQuery::default()).await?;
        Ok(KeptView::new(&loaded.agent, self.memoir.now()))
    }

    /// The mass between two moments, in `points` equal parts (see [`memoir_domain::mass::POINTS_LIMIT`]),
    /// with the sessions and what was taken back. Content-blind.
    ///
    /// # Errors
    /// The agent is erased; the store fails.
    pub async fn mass_history(
        &self,
        since: Timestamp,
        until: Timestamp,
        points: usize,
    ) -> Result<MassHistory> {
        let loaded = self.load(&AgentQuery::default()).await?;
        let (history, _) = self.history_from_log(&loaded, since, until, points).await?;
        Ok(history)
    }

    /// How the agent's memory has fared between two moments; `None` means from its first record on, and
    /// until now. Content-blind.
    ///
    /// # Errors
    /// The agent is erased; the store fails.
    pub async fn stats(
        &self,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
        points: usize,
    ) -> Result<AgentStats> {
        let now = self.memoir.now();
        let loaded = self.load(&AgentQuery::default()).await?;
        let since = match since {
            Some(since) => since,
            None => self.first_recorded_at(&loaded).await?,
        };
        let until = until.unwrap_or(now);
        let (history, causes) = self.history_from_log(&loaded, since, until, points).await?;
        let agent = loaded.agent;
        let kept = KeptView::new(&agent, now);
        Ok(AgentStats {
            agent: agent.name,
            tally: agent.tally,
            effective_core_token_budget: agent.settings.effective_core_token_budget(),
            sessions: counts(&history.sessions),
            history,
            causes,
            kept,
        })
    }

    async fn history_from_log(
        &self,
        loaded: &Loaded,
        since: Timestamp,
        until: Timestamp,
        points: usize,
    ) -> Result<(MassHistory, BTreeMap<Cause, Flow>)> {
        let first = self.first_record_since(since).await?;
        let before = match first {
            Some(seq) => self.mass_before(seq).await?,
            // Nothing changed since.
            None => loaded.agent.tally.core_tokens,
        };
        let mut curve = Curve::new(since, until, points, before);
        let mut returns = Vec::new();
        let mut next = first;
        while let Some(from_seq) = next {
            let page = self.page_of_facts(from_seq, PAGE).await?;
            next = page
                .last()
                .filter(|_| page.len() == PAGE as usize)
                .map(|row| row.seq + 1);
            // Not ended at the first that is later: a clock may have been put back behind it.
            for row in page.into_iter().filter(|row| row.at <= until) {
                let Some(core_tokens) = row.core_tokens else {
                    continue;
                };
                let tokens = curve.note(row.at, row.action, core_tokens);
                if row.action.takes_back() {
                    returns.push(Return {
                        at: row.at,
                        action: row.action,
                        session_id: row.session,
                        tokens,
                    });
                }
            }
        }
        let history = MassHistory {
            since,
            until,
            points: curve.points(),
            sessions: self.sessions_between(since, until).await?,
            returns,
        };
        Ok((history, curve.flows().clone()))
    }

    /// When the log began; where it is empty, when the agent was made.
    async fn first_recorded_at(&self, loaded: &Loaded) -> Result<Timestamp> {
        let first = self.page_of_facts(1, 1).await?;
        let made = loaded.agent.created_at;
        Ok(first.first().map_or(made, |record| record.at.min(made)))
    }

    async fn first_record_since(&self, since: Timestamp) -> Result<Option<u64>> {
        let filter = RecordFilter {
            since: Some(since),
            first: Some(1),
            ..RecordFilter::default()
        };
        let rows = self.memoir.store.records(self.scope, &filter).await?;
        Ok(rows.first().map(|row| row.seq))
    }

    /// The mass before the record at that place: what the last one before it that changed memories says.
    async fn mass_before(&self, seq: u64) -> Result<u64> {
        let mut end = seq;
        // Backwards by pages: a record that changes no memory has no mass, and there may be many of them.
        while end > 1 {
            let from = end.saturating_sub(u64::from(PAGE)).max(1);
            let count = u32::try_from(end - from).unwrap_or(PAGE);
            let page = self.page_of_facts(from, count).await?;
            if let Some(mass) = page.iter().rev().find_map(|record| record.core_tokens) {
                return Ok(mass);
            }
            end = from;
        }
        Ok(0)
    }

    async fn page_of_facts(&self, from_seq: u64, count: u32) -> Result<Vec<Fact>> {
        let filter = RecordFilter {
            from_seq,
            first: Some(count),
            ..RecordFilter::default()
        };
        let rows = self.memoir.store.records(self.scope, &filter).await?;
        rows.into_iter()
            .map(|row| {
                Ok(Fact {
                    core_tokens: match row.action {
                        // What an erased agent had is on its last record; that changes no memory.
                        Action::AgentErased => None,
                        _ => codec::facts(&row)?.count_of(CORE_TOKENS),
                    },
                    seq: row.seq,
                    at: row.recorded_at,
                    action: row.action,
                    session: row.session,
                })
            })
            .collect()
    }

    /// Oldest first.
    async fn sessions_between(
        &self,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<SessionMark>> {
        let mut marks = Vec::new();
        let mut before = None;
        loop {
            let store = &self.memoir.store;
            let page = store.session_page(self.scope, before, PAGE).await?;
            let last = page.last().map(|row| (row.columns.started_at, row.id));
            let is_whole = page.len() == PAGE as usize;
            let sessions = page
                .into_iter()
                .filter(|row| row.columns.started_at <= until);
            // The pages are newest first, so the first session that began before `since` ends the search.
            for row in sessions.take_while(|row| row.columns.started_at >= since) {
                marks.push(codec::session(None, row)?.0.into());
            }
            match last {
                Some((started_at, _)) if is_whole && started_at >= since => before = last,
                _ => break,
            }
        }
        marks.reverse();
        Ok(marks)
    }
}

/// What is read of a record.
struct Fact {
    seq: u64,
    at: Timestamp,
    action: Action,
    session: Option<SessionId>,
    /// The mass after it; `None` where it changed no memory.
    core_tokens: Option<u64>,
}

fn counts(sessions: &[SessionMark]) -> SessionCounts {
    let mut counts = SessionCounts {
        ends: ENDS.into_iter().map(|end| (end.as_str(), 0)).collect(),
        ..SessionCounts::default()
    };
    for session in sessions {
        if session.rehearsal {
            counts.rehearsals += 1;
            continue;
        }
        match counts.ends.get_mut(session.state.as_str()) {
            Some(count) => *count += 1,
            None => counts.running += 1,
        }
        counts.undone += u64::from(session.undone_at.is_some());
        if session.is_in_force() {
            counts.edits += u64::from(session.edits);
            counts.removed_tokens += session.removed_tokens;
            counts.lost_words += session.lost_words;
        }
    }
    counts
}
