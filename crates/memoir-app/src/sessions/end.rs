//! The ends that no tool causes, and the lease (SPEC 3.2, 3.16).

use std::future::ready;

use memoir_domain::{
    SessionId, Timestamp,
    agent::Agent,
    audit::Actor,
    draft::Decision,
    lifecycle::{self, SessionEnding},
    session::{Driver, EndReason, LONGEST_LEASE_SECONDS, Lease, Session, Usage},
};
use memoir_store::AgentQuery;

use super::{Unwritten, begin::running};
use crate::{
    core::{AgentHandle, Error, Loaded, Memoir, Result, again, replies},
    sessions::Sessions,
    shown::SessionFacts,
};

impl Memoir {
    /// The expiry of a lease that is acquired or renewed now.
    pub(crate) fn lease_until(&self) -> Timestamp {
        self.now().plus(self.settings.lease)
    }

    /// Closes every session, of all accounts, whose worker died. A failure is left for `memoir doctor` to find, and
    /// does not prevent closing the others.
    ///
    /// # Errors
    /// The store fails.
    pub async fn close_lapsed_sessions(&self) -> Result<usize> {
        let lapsed = self.store.lapsed_sessions(self.now()).await?;
        let mut closed = 0;
        for (scope, _) in lapsed {
            // Without a name: closing needs none, and the agent's row has it.
            let agent = AgentHandle::new(self.clone(), scope, String::new());
            match agent.sessions().close_if_lapsed().await {
                Ok(done) => closed += usize::from(done),
                Err(error) => {
                    tracing::error!(agent = %scope.agent, %error, "a session left behind was not closed");
                }
            }
        }
        Ok(closed)
    }
}

impl Sessions<'_> {
    /// Closes the agent's running session where its lease has lapsed; the edits stay. Returns whether it did.
    pub(crate) async fn close_if_lapsed(self) -> Result<bool> {
        // The request that finds such a session has another purpose.
        replies::for_no_request(self.close_lapsed()).await
    }

    async fn close_lapsed(self) -> Result<bool> {
        let Some(id) = self.load(&AgentQuery::default()).await?.running_session else {
            return Ok(false);
        };
        let query = AgentQuery::of_session(id);
        let session = self.load(&query).await?.take_session(id)?;
        let now = self.memoir.now();
        let lease = session.lease.filter(|lease| lease.until > now);
        // A clock that was set back is no idleness: the agent's time begins anew.
        if session.driver == Driver::Agent && lease.is_some_and(|lease| !holds(lease, now)) {
            self.renew_own(&session, now).await?;
            return Ok(false);
        }
        let close = |loaded, now| {
            let decision = ended(loaded, id, now, |agent, session| {
                // A session without a lease is not dead: it waits for a worker.
                let has_lapsed = session.lease.is_some_and(|lease| !holds(lease, now));
                if !session.state.is_running() || !has_lapsed {
                    return Ok(None);
                }
                let why = match session.driver {
                    Driver::Agent => EndReason::Idle,
                    Driver::Model => EndReason::LeaseExpired,
                };
                let (ending, actor) = (SessionEnding::Abandoned(why), Actor::system());
                Ok(Some(lifecycle::end(agent, session, ending, &actor, now)))
            })?;
            let is_closed = decision.is_some();
            Ok((decision, is_closed))
        };
        // Not by `decide`, which calls this.
        again(|| self.attempt(&query, |loaded, now| ready(close(loaded, now)))).await
    }

    /// Cancels a running session; its edits stay.
    ///
    /// # Errors
    /// It has ended.
    pub async fn cancel(self, id: SessionId, actor: &Actor) -> Result<SessionFacts> {
        let ending = SessionEnding::Abandoned(EndReason::Cancelled);
        self.end(id, ending, actor, None).await
    }

    /// Ends a running session so. `usage` is its model's; `None` for a caller from outside, which does not know it.
    pub(crate) async fn end(
        self,
        id: SessionId,
        ending: SessionEnding,
        actor: &Actor,
        usage: Option<Usage>,
    ) -> Result<SessionFacts> {
        self.decide(&AgentQuery::of_session(id), |loaded, now| {
            let decision = ended(loaded, id, now, |agent, session| {
                let session = Session {
                    // Otherwise the last one written remains.
                    usage: usage.unwrap_or(session.usage),
                    ..running(session)?
                };
                let ending = ending.clone();
                Ok(Some(lifecycle::end(agent, session, ending, actor, now)))
            })?;
            let decision = decision.ok_or(Error::SessionLost(id))?;
            let view = decision.sessions.first().cloned().map(|mut session| {
                // As it is written: the commit adds them too.
                self.memoir.state::<Unwritten>().of(id).add_to(&mut session);
                SessionFacts::new(&self.name, &session)
            });
            Ok((Some(decision), view))
        })
        .await?
        .ok_or(Error::SessionLost(id))
    }
}

/// The end of a session; `decide` gets what it works on. A rehearsal's end is measured on its copy, and the agent
/// itself stays as it is. `None` where it does not end.
fn ended(
    mut loaded: Loaded,
    id: SessionId,
    now: Timestamp,
    decide: impl Fn(Agent, Session) -> Result<Option<Decision>>,
) -> Result<Option<Decision>> {
    let rehearsal = loaded.session.as_mut().and_then(|(_, kept)| kept.take());
    let session = loaded.take_session(id)?;
    if !session.rehearsal {
        return decide(loaded.agent, session);
    }
    let outside = loaded.agent;
    let copy = match rehearsal.and_then(|kept| kept.copy) {
        Some(copy) => copy.agent(outside.clone()),
        // It has not begun.
        None => outside.clone(),
    };
    let Some(decision) = decide(copy, session)? else {
        return Ok(None);
    };
    // Only the session and the actor are taken from the end that was decided on the copy: its changes and records are
    // about the copy, and are never written.
    let actor = decision.records.last().map(|record| record.actor.clone());
    let session = decision.sessions.into_iter().next();
    let session = Session {
        lease: None,
        ..session.ok_or(Error::SessionLost(id))?
    };
    let actor = actor.unwrap_or_else(Actor::system);
    let decision = lifecycle::end_rehearsal(outside, session, &actor, now);
    Ok(Some(decision))
}

/// Whether the lease is still valid.
pub(super) fn holds(lease: Lease, now: Timestamp) -> bool {
    lease.until > now && lease.until.seconds_since(now) <= LONGEST_LEASE_SECONDS
}
