//! Sessions that the agent drives itself, on its own runtime (SPEC 3.1, 3.18).

use std::time::Duration;

use memoir_domain::{
    SessionId, Timestamp,
    lifecycle::{self, Start},
    memories::AllMemories,
    session::{Driver, Lease, Mode, Session, State, Trigger},
};
use memoir_store::{AgentQuery, Selection};

use super::{OpenedSession, begin::as_it_stands, recent::KnownMemories};
use crate::{
    core::{
        Error, Loaded, Result, codec::Writing, rehearsal::RehearsalCopy,
        settings::InstallationSettings,
    },
    sessions::Sessions,
    shown::{OwnAgent, SessionFacts},
};

/// The agent's lease is renewed by a call that comes so long after the last renewal. It lasts so much longer than an
/// agent may be idle, which is counted from its last call and not from the last renewal.
const RENEWED_AFTER_SECONDS: i64 = 10;
/// A commit renews the lease on a session that Memoir drives once that share of it has passed. Without commits it is
/// renewed after a third.
const PROLONGED_AFTER_SHARE: u32 = 16;

impl OwnAgent {
    /// Opens a session that the agent drives: opening it is its consent. Merges duplicates, fixes core size and
    /// threshold, and builds the prompt, in one step.
    ///
    /// # Errors
    /// No session can be begun (SPEC 3.1, 3.2); a daily quota of the agent is used up.
    pub async fn open_own(&self, mode: Mode) -> Result<(SessionFacts, OpenedSession)> {
        self.open_by_itself(mode, false).await
    }

    /// As [`OwnAgent::open_own`], on a copy: nothing but the copy changes (SPEC 3.17).
    ///
    /// # Errors
    /// As [`OwnAgent::open_own`].
    pub async fn rehearse_own(&self, mode: Mode) -> Result<(SessionFacts, OpenedSession)> {
        self.open_by_itself(mode, true).await
    }

    async fn open_by_itself(
        &self,
        mode: Mode,
        rehearsal: bool,
    ) -> Result<(SessionFacts, OpenedSession)> {
        // Sessions write without a check of their own.
        self.check_daily_quota(1).await?;
        let own = self.clone();
        let opening = async move { own.attempt_opening(mode, rehearsal).await };
        self.by_size(&AgentQuery::of_memories(Selection::All), opening)
            .await
    }

    async fn attempt_opening(
        &self,
        mode: Mode,
        rehearsal: bool,
    ) -> Result<(SessionFacts, OpenedSession)> {
        let ids = self.memoir.ids();
        let (id, holder) = (ids.draw(SessionId::from_bytes)?, ids.holder()?);
        // Its calls are decided on these reads.
        self.memoir.opened.expect(self.scope);
        let query = AgentQuery::of_memories(Selection::All).with_prompts();
        let begun = self.decide(&query, |loaded, now| {
            let start = Start {
                id,
                mode,
                driver: Driver::Agent,
                trigger: Trigger::Request,
                rehearsal,
                model: None,
                lease: Some(self.sessions().own_lease(holder, now)),
                started_by: self.as_actor(),
            };
            let (writing, opened, known) = self.decide_opening(loaded, start, now)?;
            let session = writing.decision.sessions.first();
            // The decision that begins a session always contains it.
            let session = session.ok_or(Error::SessionLost(id))?;
            let session = SessionFacts::new(&self.name, session);
            Ok((Some(writing), (session, opened, known)))
        });
        let (session, opened, known) = self.sessions().begun(begun.await).await?;
        self.sessions().keep_opened(id, known);
        Ok((session, opened))
    }

    fn decide_opening(
        &self,
        loaded: Loaded,
        start: Start,
        now: Timestamp,
    ) -> Result<(Writing, OpenedSession, Option<KnownMemories>)> {
        let (id, rehearsal) = (start.id, start.rehearsal);
        let digester = loaded.digester();
        let memories = AllMemories::new(loaded.memories.shared());
        let nothing = lifecycle::nothing_to_refine(&loaded.agent, start.mode, &memories, &digester);
        let running = loaded.running_session;
        let begun = lifecycle::begin(loaded.agent, running, start, nothing, now)?;
        let session = begun.sessions.first().cloned();
        let session = session.ok_or(Error::SessionLost(id))?;
        let budget = self.sessions().ledger_room(&begun.agent, None, None);
        let agent = begun.agent.clone();
        let opening = lifecycle::open(agent, session, memories, &digester, budget, None, now);
        let known = KnownMemories::of_opening(&opening.decision, opening.memories);
        let writing = if rehearsal {
            RehearsalCopy::opening(begun.agent, opening.decision)
        } else {
            begun.then(opening.decision).into()
        };
        Ok((writing, opening.opened, known))
    }

    /// The agent's own open session: its prompt is rebuilt, with the current memories (SPEC 3.2). `None` where the
    /// agent drives no running session.
    ///
    /// # Errors
    /// The store fails.
    pub async fn take_up_own(&self) -> Result<Option<(SessionFacts, OpenedSession)>> {
        let own = self.clone();
        let taking_up = async move { own.attempt_taking_up().await };
        self.by_size(&AgentQuery::of_memories(Selection::All), taking_up)
            .await
    }

    async fn attempt_taking_up(&self) -> Result<Option<(SessionFacts, OpenedSession)>> {
        // An expired session is closed first, so that it is not resumed.
        self.sessions().close_if_lapsed().await?;
        let Some(id) = self.load(&AgentQuery::default()).await?.running_session else {
            return Ok(None);
        };
        let loaded = self.load(&as_it_stands(id)).await?;
        let own =
            |session: &Session| session.driver == Driver::Agent && session.state == State::Open;
        let running = loaded.session.as_ref();
        if !running.is_some_and(|(session, _)| own(session)) {
            return Ok(None);
        }
        let (session, opened) = self.sessions().resume(loaded, id, None)?;
        self.sessions()
            .renew_own(&session, self.memoir.now())
            .await?;
        Ok(Some((SessionFacts::new(&self.name, &session), opened)))
    }
}

impl Sessions<'_> {
    /// The open session that the agent drives itself; `None` where there is none, or Memoir drives the running one.
    ///
    /// # Errors
    /// The store fails.
    pub async fn own_session(self) -> Result<Option<SessionId>> {
        let Some(id) = self.load(&AgentQuery::default()).await?.running_session else {
            return Ok(None);
        };
        let row = self.snapshot(&AgentQuery::of_session(id)).await?.session;
        let own = row.filter(|row| row.columns.driver == Driver::Agent);
        Ok(own.map(|row| row.id))
    }

    fn own_lease(self, holder: u64, now: Timestamp) -> Lease {
        let until = now.plus(own_lease_time(&self.memoir.settings));
        Lease { until, holder }
    }

    /// Renews the lease on a session that is about to be written, not at each of many edits: it is in an index, whose
    /// pages then stay unchanged. A lease of a session that Memoir drives may have been renewed since it was read.
    /// Writing the read value shortens it at most so little that it is renewed long before it lapses.
    pub(super) fn prolong(self, session: &mut Session, now: Timestamp) {
        let Some(lease) = session.lease else { return };
        let (until, least) = match session.driver {
            Driver::Agent => (
                self.own_lease(lease.holder, now).until,
                Duration::from_secs(RENEWED_AFTER_SECONDS.unsigned_abs()),
            ),
            Driver::Model => (
                lease.until.max(self.memoir.lease_until()),
                self.memoir.settings.lease / PROLONGED_AFTER_SHARE,
            ),
        };
        let gained = until.microseconds() - lease.until.microseconds();
        // A clock that was set back shortens an agent's lease immediately.
        if gained < 0 || gained.unsigned_abs() as u128 >= least.as_micros() {
            session.lease = Some(Lease { until, ..lease });
        }
    }

    /// Renews the agent's lease, not at each of many calls. Does nothing for a session that Memoir drives.
    pub(super) async fn renew_own(self, session: &Session, now: Timestamp) -> Result<()> {
        let Some(lease) = session.lease.filter(|_| session.driver == Driver::Agent) else {
            return Ok(());
        };
        let renewed = self.own_lease(lease.holder, now);
        // Either way: a clock that was set back shortens the lease.
        if renewed.until.seconds_since(lease.until).abs() < RENEWED_AFTER_SECONDS {
            return Ok(());
        }
        let store = &self.memoir.store;
        let (holder, until) = (lease.holder, renewed.until);
        store
            .renew_lease(self.scope, session.id, holder, until)
            .await?;
        Ok(())
    }
}

/// How long an agent's lease on a session of its own lasts unless it is renewed.
pub(crate) fn own_lease_time(settings: &InstallationSettings) -> Duration {
    settings
        .idle
        .saturating_add(Duration::from_secs(RENEWED_AFTER_SECONDS.unsigned_abs()))
}
