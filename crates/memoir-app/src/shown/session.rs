//! Sessions as they are shown, one and by pages.

use memoir_domain::{
    PrivateText, SessionId, Timestamp,
    access::{AccessScope, ShownAmount},
    agent::{LossGuard, Threshold},
    audit::Actor,
    session::{Driver, EndReason, FailureClass, Mode, Session, State, Stats, Trigger, Usage},
    view,
};
use memoir_store::{AgentQuery, SessionRow};
use serde::Serialize;
use utoipa::ToSchema;

use super::{AccessLevel, AgentLens, Shown, ShowsWords, Viewer, schema, schemas, total, words};
use crate::{
    core::{Error, Result, codec, rehearsal::Rehearsal},
    sessions::{Observer, Progress, RefineOptions, RehearsedMemory, Unwritten},
    shown::Views,
};

view! {
    /// A session without text.
    #[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
    pub struct SessionFacts from agent: &str, session: &Session;
    /// Its identifier.
    #[schema(value_type = String, format = Uuid)]
    pub id: SessionId = session.id,
    /// The agent's name.
    pub agent: String = agent.to_owned(),
    /// `queued`, `asking`, `open`, or how it ended: `completed`, `rolled_back`, `declined`, `abandoned`,
    /// `failed`.
    #[schema(value_type = schemas::State)]
    pub state: State = session.state,
    /// Its tools.
    #[schema(value_type = schemas::Mode)]
    pub mode: Mode = session.mode,
    /// What calls the model: Memoir, or the agent itself.
    #[schema(value_type = schemas::Driver)]
    pub driver: Driver = session.driver,
    /// Why it was begun.
    #[schema(value_type = schemas::Trigger)]
    pub trigger: Trigger = session.trigger,
    /// Whether it works on a copy.
    pub rehearsal: bool = session.rehearsal,
    /// The model that runs it, by its configured name; null where the agent runs it itself.
    #[schema(required)]
    pub model: Option<String> = session.model.clone(),
    /// The core size when it was opened; null before.
    #[schema(required)]
    pub pre_session_tokens: Option<u64> = session.pre_session_tokens,
    /// The core size at the end; null before.
    #[schema(required)]
    pub post_session_tokens: Option<u64> = session.post_session_tokens,
    /// The share of the core size that it must leave; once ended, the stricter one that held; null before it is opened.
    #[schema(required)]
    pub threshold: Option<f64> = session.threshold.map(Threshold::share),
    /// Its edits so far.
    pub edits: u32 = session.edits,
    /// The edits, counted in memories.
    #[schema(value_type = schemas::Stats)]
    pub stats: Stats = session.stats,
    /// Tokens that its edits removed.
    pub removed_tokens: u64 = session.removed_tokens,
    /// Memories that it moved to the archive.
    pub archived: u32 = session.archived,
    /// Those of them that came under a summary.
    pub archived_under_summaries: u32 = session.archived_under_summaries,
    /// Summaries that it wrote.
    pub summaries: u32 = session.summaries,
    /// The loss guard when it was opened; null before.
    #[schema(required, value_type = Option<schemas::LossGuard>)]
    pub loss_guard: Option<LossGuard> = session.loss_guard,
    /// Calls of its tools that were refused.
    pub refused_calls: u32 = session.refused_calls,
    /// How many edits of a completed rehearsal can be applied now; where one session is requested, until it is applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edits_holding: Option<u64> = None,
    /// Why it ended, as a code.
    #[schema(required, value_type = Option<schemas::EndReason>)]
    pub end_reason: Option<&'static str> = session.end_reason.map(EndReason::as_str),
    /// Why its model gave no usable response, where it failed; null otherwise.
    #[schema(required, value_type = Option<schemas::FailureClass>)]
    pub failure: Option<FailureClass> = session.failure,
    /// When it was begun.
    pub started_at: Timestamp = session.started_at,
    /// The actor that began it; null of sessions of versions that did not record it.
    #[schema(value_type = Option<schemas::Actor>, required)]
    pub started_by: Option<Actor> = session.started_by.clone(),
    /// When it ended; null while it runs.
    #[schema(required)]
    pub ended_at: Option<Timestamp> = session.ended_at,
    /// When it was undone; null where it was not.
    #[schema(required)]
    pub undone_at: Option<Timestamp> = session.undone_at,
    /// The usage of its model calls.
    #[schema(value_type = schemas::Usage)]
    pub usage: Usage = session.usage,
}

/// The text of a session.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct SessionWords {
    /// The agent's report: what was done and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub summary: Option<PrivateText>,
    /// The agent's own text where there is any and it may be read, else the coded reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub reason: Option<PrivateText>,
    /// The diff of a rehearsal, for the agent itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<RehearsedMemory>>,
}

/// A refinement session. Its words are the coded reason alone for a viewer that may not read text.
pub type ShownSession = Shown<SessionFacts, SessionWords>;

schema::one_object!(
    ShownSession,
    "Session",
    [SessionFacts, SessionWords],
    "A refinement session. `summary`, and a `reason` as text, are for the agent itself, and for an\n\
     administrator under an access grant."
);

impl SessionFacts {
    /// Why it ended, as closely as that is known without its text; `None` where it completed or runs.
    pub fn why_ended(&self) -> Option<&'static str> {
        let reason = self.end_reason.and_then(EndReason::from_name);
        let failure = self.failure.map(FailureClass::label);
        failure.or(reason.map(EndReason::label))
    }
}

impl From<SessionFacts> for ShownSession {
    fn from(facts: SessionFacts) -> Self {
        let words = SessionWords {
            summary: None,
            reason: facts.end_reason.map(PrivateText::from),
            changes: None,
        };
        Self { facts, words }
    }
}

impl ShownSession {
    pub(crate) fn with_words(agent: &str, session: Session, of: Option<&Rehearsal>) -> Self {
        let coded = Self::from(SessionFacts::new(agent, &session));
        let words = SessionWords {
            summary: session.summary,
            reason: session.reason.or(coded.words.reason),
            changes: of.map(Rehearsal::memories),
        };
        Self { words, ..coded }
    }

    /// In the response to a change, for the actor who made it.
    pub(crate) fn answered(agent: &str, session: Session, actor: &Actor) -> Self {
        match AccessLevel::of_answer(actor) {
            AccessLevel::Words => Self::with_words(agent, session, None),
            _ => SessionFacts::new(agent, &session).into(),
        }
    }
}

impl ShowsWords for RehearsedMemory {
    fn words_shown(&self) -> ShownAmount {
        let sides = self.before.iter().chain([&self.after]);
        ShownAmount {
            memories: 1,
            tokens: total(sides.map(ShowsWords::words_shown)).tokens,
        }
    }
}

impl ShowsWords for ShownSession {
    fn words_shown(&self) -> ShownAmount {
        // Each is named, so that none that is shown is left out of what is counted.
        let SessionWords {
            summary,
            reason,
            changes,
        } = &self.words;
        // The coded one is no text of the agent.
        let is_said = |reason: &&PrivateText| Some(reason.expose()) != self.end_reason;
        let said = summary.iter().chain(reason.iter().filter(is_said));
        let changes = changes.iter().flatten().map(ShowsWords::words_shown);
        words(said).and(total(changes))
    }
}

/// The end of the last page: the beginning of its last session, and that session.
type SessionPlace = (Timestamp, SessionId);

impl Views<'_> {
    /// One session, without text.
    ///
    /// # Errors
    /// The agent has none of that identifier; the store fails.
    pub async fn session(self, id: SessionId) -> Result<SessionFacts> {
        let snapshot = self.snapshot(&AgentQuery::of_session(id)).await?;
        self.key_of(&snapshot.agent).await?;
        let row = snapshot.session;
        self.facts(row.ok_or_else(|| Error::NoSession(id.to_string()))?)
    }

    /// One page of sessions, newest first: those begun before that one; without text.
    ///
    /// # Errors
    /// The store fails.
    pub async fn session_page(
        self,
        before: Option<SessionPlace>,
        limit: u32,
    ) -> Result<Vec<SessionFacts>> {
        let query = self.counting(AgentQuery::default());
        let snapshot = self.snapshot(&query).await?;
        self.key_of(&snapshot.agent).await?;
        let open = |row| self.facts(row);
        self.open_sessions(before, limit, open).await
    }

    /// With the counts that are not written yet.
    fn facts(self, row: SessionRow) -> Result<SessionFacts> {
        let (session, _) = codec::session(None, row)?;
        let session = self.memoir.state::<Unwritten>().added_to(session);
        Ok(SessionFacts::new(&self.name, &session))
    }
}

impl AgentLens<'_> {
    /// One session, with its diff where it was a rehearsal.
    ///
    /// # Errors
    /// The agent has none of that identifier; the store fails.
    pub async fn session(&self, id: SessionId) -> Result<ShownSession> {
        let covers = |scope: AccessScope| scope.shows_session(Some(id));
        let query = &AgentQuery::of_session(id);
        let look = self.look(query, covers, |mut look| async move {
            let agent = look.agent;
            if look.access_level == AccessLevel::NoWords {
                return Ok(agent.views().session(id).await?.into());
            }
            let found = look.load(query).await?.session;
            let (session, rehearsal) = found.ok_or_else(|| Error::NoSession(id.to_string()))?;
            let session = agent.memoir.state::<Unwritten>().added_to(session);
            let rehearsal = rehearsal.as_ref();
            Ok(ShownSession::with_words(&agent.name, session, rehearsal))
        });
        let mut session: ShownSession = look.await?;
        if session.rehearsal && session.state == State::Completed {
            let actor = match &self.viewer {
                Viewer::Agent => self.agent.as_actor(),
                Viewer::Administrator(who) => who.actor.clone(),
            };
            let facts = Box::pin(self.agent.sessions().rehearsal_facts(id, &actor)).await?;
            let facts = facts.filter(|facts| facts.applied_by.is_none());
            session.facts.edits_holding = facts.map(|facts| facts.edits_holding());
        }
        Ok(session)
    }

    /// One page of sessions, newest first: those begun before that one.
    ///
    /// # Errors
    /// The store fails.
    pub async fn session_page(
        &self,
        before: Option<SessionPlace>,
        limit: u32,
    ) -> Result<Vec<ShownSession>> {
        let covers_some = |scope| scope != AccessScope::Core;
        self.look(&AgentQuery::default(), covers_some, |look| async move {
            let key = look.key().await?;
            let (agent, access_level) = (look.agent, look.access_level);
            let seen = |row: SessionRow| {
                let is_shown = access_level.covers(|scope| scope.shows_session(Some(row.id)));
                let (session, _) = codec::session(is_shown.then_some(&key), row)?;
                Ok(ShownSession::with_words(&agent.name, session, None))
            };
            agent.open_sessions(before, limit, seen).await
        })
        .await
    }

    /// Runs one whole session with the agent's model, now. An administrator is not shown the text with which the agent
    /// declined.
    ///
    /// # Errors
    /// No session can be begun, no model can be used, or the store fails. A model that fails is no
    /// error: the session ends as `failed`.
    pub async fn refine(
        &self,
        options: &RefineOptions,
        observer: &mut Observer<'_>,
    ) -> Result<ShownSession> {
        let mut viewer_observer = |progress: &Progress| match self.viewer {
            Viewer::Agent => observer(progress),
            Viewer::Administrator(_) => observer(&progress.wordless()),
        };
        let sessions = self.agent.sessions();
        let driven = sessions.refine(options, &mut viewer_observer).await?;
        let mut session = match self.session(driven.id).await {
            // The session has ended, which the error would deny. A rehearsal has changed nothing.
            Err(_) if !driven.rehearsal => driven.into(),
            session => session?,
        };
        if session.rehearsal && self.viewer == Viewer::Agent {
            // One that was never opened has an empty diff.
            session.words.changes.get_or_insert_default();
        }
        Ok(session)
    }
}
