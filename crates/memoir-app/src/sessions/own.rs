//! Sessions that the agent drives itself, on its own runtime (SPEC 3.1, 3.18).

use memoir_domain::{
    SessionId, Timestamp,
    lifecycle::{self, Start, StartRefusal},
    session::{Driver, Lease, Mode, Session, State, Trigger},
};
use memoir_store::{Selection, Wanted};

use super::begin::OpenedSession;
use crate::{AgentHandle, Error, Result, SessionView};

/// Once a call came so long after the last renewal, the hold of the agent is renewed; and a hold lasts so
/// much longer than an agent may be away, which is counted from its last call and not from the last
/// renewal.
const RENEWED_AFTER_SECONDS: i64 = 10;

impl AgentHandle {
    /// Opens a session that the agent drives: opening it is its consent. Duplicates are put together,
    /// mass and threshold fixed, and the prompt built, in one step.
    ///
    /// # Errors
    /// No session can be begun (SPEC 3.1, 3.2).
    pub async fn open_own(&self, mode: Mode) -> Result<(SessionView, OpenedSession)> {
        self.close_if_lapsed().await?;
        let ids = self.memoir.ids();
        let (id, holder) = (ids.session()?, ids.holder()?);
        let wanted = Wanted {
            memories: Selection::KeptCore,
            ..Wanted::default()
        };
        let opened = self
            .decide(&wanted, |loaded, now| {
                let start = Start {
                    id,
                    mode,
                    driver: Driver::Agent,
                    trigger: Trigger::Request,
                    rehearsal: false,
                    model: None,
                    lease: Some(self.own_lease(holder, now)),
                };
                let digester = loaded.digester();
                let begun = lifecycle::begin(loaded.agent, loaded.running_session, start, now)?;
                let session = begun.sessions.first().cloned();
                let session = session.ok_or(Error::SessionLost(id))?;
                let budget = self.ledger_budget(&begun.agent, None);
                let opened = lifecycle::open(
                    begun.agent.clone(),
                    session,
                    &loaded.memories,
                    &digester,
                    budget,
                    now,
                );
                let decision = begun.then(opened.decision.clone());
                let session = decision.sessions.first().cloned();
                let session = session.ok_or(Error::SessionLost(id))?;
                let view = SessionView::new(&self.name, session);
                Ok((Some(decision), (view, OpenedSession::from(opened))))
            })
            .await;
        match opened {
            Err(Error::Store(memoir_store::Error::SessionRunning)) => {
                let running = self.load(&Wanted::default()).await?.running_session;
                Err(running.map_or(Error::Contended, |id| StartRefusal::SessionOpen(id).into()))
            }
            other => other,
        }
    }

    /// The agent's own session, where one is open: its prompt anew, with the memories as they are now
    /// (SPEC 3.2). `None` where none is running that the agent drives.
    ///
    /// # Errors
    /// The store fails.
    pub async fn take_up_own(&self) -> Result<Option<(SessionView, OpenedSession)>> {
        self.close_if_lapsed().await?;
        let Some(id) = self.load(&Wanted::default()).await?.running_session else {
            return Ok(None);
        };
        let wanted = Wanted {
            memories: Selection::KeptCore,
            session: Some(id),
            ..Wanted::default()
        };
        let mut loaded = self.load(&wanted).await?;
        let session = loaded.take_session(id)?;
        if session.driver != Driver::Agent || session.state != State::Open {
            return Ok(None);
        }
        self.renew_own(&session, self.memoir.now()).await?;
        let budget = self.ledger_budget(&loaded.agent, None);
        let (prompt, ledger, gauge) =
            lifecycle::resume(&loaded.agent, &session, &loaded.memories, budget);
        let opened = OpenedSession {
            prompt,
            ledger,
            pre_session_tokens: gauge.pre_session_tokens,
            threshold: gauge.threshold.share(),
            removable_tokens: gauge.removable_tokens(),
            duplicates_removed: 0,
        };
        Ok(Some((SessionView::new(&self.name, session), opened)))
    }

    /// The open session of the agent's own; `None` where there is none.
    ///
    /// # Errors
    /// The store fails.
    pub async fn own_session(&self) -> Result<Option<SessionId>> {
        Ok(self.load(&Wanted::default()).await?.running_session)
    }

    /// The hold of an agent on a session of its own, from now on.
    fn own_lease(&self, holder: u64, now: Timestamp) -> Lease {
        let idle = i64::try_from(self.memoir.settings.idle.as_micros()).unwrap_or(i64::MAX);
        let spare = RENEWED_AFTER_SECONDS * 1_000_000;
        Lease {
            until: now.plus_microseconds(idle.saturating_add(spare)),
            holder,
        }
    }

    /// Prolongs the hold on a session that is about to be written. One that Memoir drives may have been
    /// renewed since it was read: what was read must not take that back.
    pub(super) fn prolong(&self, session: &mut Session, now: Timestamp) {
        let Some(lease) = session.lease else { return };
        let prolonged = match session.driver {
            Driver::Agent => self.own_lease(lease.holder, now),
            Driver::Model => Lease {
                until: lease.until.max(self.memoir.lease_until()),
                ..lease
            },
        };
        session.lease = Some(prolonged);
    }

    /// Notes that the agent is still there, not at each of many calls. Does nothing for a session that
    /// Memoir drives.
    pub(super) async fn renew_own(&self, session: &Session, now: Timestamp) -> Result<()> {
        let Some(lease) = session.lease.filter(|_| session.driver == Driver::Agent) else {
            return Ok(());
        };
        let renewed = self.own_lease(lease.holder, now);
        if renewed.until.seconds_since(lease.until) < RENEWED_AFTER_SECONDS {
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
