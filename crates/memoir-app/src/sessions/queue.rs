//! Sessions that wait for a worker (SPEC 3.2, 3.18): begun by a caller that does not wait for them, or released by a
//! worker that had to stop.
//!
//! Such a session is a row in the state `queued` without a lease. A worker that has to stop releases its session. One
//! that was asking for consent asks again; an open one resumes with the remaining edits. A session that the agent
//! drives is leased to the agent, for half an hour from each call on.

use std::sync::Arc;

use memoir_domain::{
    AgentScope, SessionId,
    audit::Actor,
    draft::Decision,
    lifecycle::{self, SessionEnding},
    session::{EndReason, FailureClass, Lease, State, Trigger},
};
use memoir_model::{Model, ModelName};
use memoir_store::{AgentQuery, WaitingSession};

use super::{
    RefineOptions,
    begin::{as_it_stands, running},
    drive::{Drive, Hold, Observer, Progress},
    turns::Turns,
};
use crate::{
    core::{Error, Memoir, Result},
    sessions::Sessions,
    shown::SessionFacts,
};

/// A session that a worker acquired.
pub struct LeasedSession {
    hold: Hold,
    model: Arc<dyn Model>,
    state: State,
    rehearsal: bool,
}

impl Memoir {
    /// The sessions that wait for a worker, oldest first: at most `most` of each account and model.
    ///
    /// # Errors
    /// The store fails.
    pub async fn waiting_sessions(&self, most: u32) -> Result<Vec<WaitingSession>> {
        Ok(self.store.waiting_sessions(most).await?)
    }

    /// The turns of the accounts in this process.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn turns(&self) -> Result<Turns> {
        Ok(Turns::of_process(self.ids().holder()?))
    }

    /// The provider of a waiting session's model, and the limit of its simultaneous sessions; `None` for the limit
    /// where there is none.
    pub fn provider_limit(&self, session: &WaitingSession) -> Option<(String, usize)> {
        let model: ModelName = session.model.as_deref()?.parse().ok()?;
        let most = self.models.concurrency(model.provider())?;
        Some((model.provider().to_owned(), most))
    }

    /// Acquires a waiting session; `None` where another worker was faster, or it has ended. It ends here if the agent has
    /// been put out of service since; one of the schedule also if the schedule skips the agent.
    ///
    /// # Errors
    /// The store fails. A model that cannot be used ends the session as `failed` and is no error.
    pub async fn acquire(&self, scope: AgentScope, id: SessionId) -> Result<Option<LeasedSession>> {
        let mut agent = self.handle(scope);
        let loaded = agent.load(&AgentQuery::default()).await?.agent;
        agent.name = loaded.name;
        let settings = loaded.settings;
        let holder = self.ids().holder()?;
        // A waiting session is acquired only by its lease, which is written by a commit under the agent's version. Of
        // several processes that read the same row, one commits. The others get a conflict, read the row again, and
        // find the session leased, without having written anything or asked a model. A lost race costs a few look-ups.
        // After it the loser goes through the queue in its own order (`turns.rs`), so that the same processes do not
        // meet again at each session.
        let taken = agent
            .decide(&AgentQuery::of_session(id), |mut loaded, now| {
                let session = loaded.take_session(id)?;
                if lifecycle::is_withdrawn(&loaded.agent, &session) {
                    let ending = SessionEnding::Abandoned(EndReason::Cancelled);
                    let actor = Actor::system();
                    let decision = lifecycle::end(loaded.agent, session, ending, &actor, now);
                    return Ok((Some(decision), None));
                }
                let lease = Lease {
                    until: self.lease_until(),
                    holder,
                };
                // Judged in the decision that acquires it: of several workers with the same row one writes its lease,
                // and the others reload and find it leased.
                let Some(session) = lifecycle::acquire(session, lease) else {
                    return Ok((None, None));
                };
                let decision = Decision::of_sessions(loaded.agent, vec![session.clone()]);
                Ok((Some(decision), Some(session)))
            })
            .await?;
        let Some(session) = taken else {
            return Ok(None);
        };
        // A waiting session always has its model's name. An empty name would not parse, and the session would end as
        // failed, with a record.
        let name = session.model.as_deref().unwrap_or_default();
        let model = match name.parse::<ModelName>() {
            Ok(name) => self
                .connect(&name, &settings)
                .map_err(|error| (error.class(), Error::from(error))),
            Err(error) => Err((FailureClass::Unreachable, Error::from(error))),
        };
        match model {
            Ok(model) => Ok(Some(LeasedSession {
                hold: Hold::new(agent, &session, holder),
                model,
                state: session.state,
                rehearsal: session.rehearsal,
            })),
            Err((failure, error)) => {
                let ending = SessionEnding::Failed(failure, error.to_string());
                let (sessions, system) = (agent.sessions(), Actor::system());
                sessions
                    .end(id, ending, &system, Some(session.usage))
                    .await?;
                Ok(None)
            }
        }
    }
}

impl LeasedSession {
    /// The session.
    pub fn id(&self) -> SessionId {
        self.hold.id
    }

    /// Drives the session to its end. `observer` gets no text.
    ///
    /// # Errors
    /// The store fails, or another process closed the session.
    pub async fn drive(&self, observer: &mut Observer<'_>) -> Result<SessionFacts> {
        let (hold, model) = (&self.hold, &self.model);
        let observer = &mut |progress: &Progress| observer(&progress.wordless());
        let agent = &hold.agent;
        observer(&Progress::Begun {
            session: hold.id,
            agent: agent.name.clone(),
            model: model.name().to_string(),
            rehearsal: self.rehearsal,
        });
        let drive = Drive::new(hold, model.clone());
        let opened = match self.state {
            State::Open => {
                let loaded = agent.load(&as_it_stands(hold.id)).await?;
                let context = model.context_tokens();
                let (session, opened) = agent.sessions().resume(loaded, hold.id, context)?;
                running(session)?;
                Some(opened)
            }
            _ => None,
        };
        Box::pin(drive.run(opened, observer)).await
    }

    /// Releases the session for another worker. Its edits stay, and the next worker resumes with the remaining edits.
    ///
    /// # Errors
    /// The store fails.
    pub async fn release(&self) -> Result<()> {
        let hold = &self.hold;
        hold.agent
            .decide(&AgentQuery::of_session(hold.id), |mut loaded, _| {
                let mut session = loaded.take_session(hold.id)?;
                let (usage, driven) = hold.used();
                (session.usage, session.driven) = (usage, Some(driven));
                // Only while the lease is still this worker's: another one may have the session by now.
                let back = lifecycle::release(session, hold.holder);
                let written = |session| Decision::of_sessions(loaded.agent, vec![session]);
                Ok((back.map(written), ()))
            })
            .await
    }
}

impl Sessions<'_> {
    /// Queues a session for a worker.
    ///
    /// # Errors
    /// No session can be begun, or no model is set. [`Error::NotDue`] for one of the schedule that is no longer due. A
    /// model that cannot be used refuses a request; a session of the schedule fails on the record (SPEC 3.16).
    pub async fn enqueue(self, options: &RefineOptions) -> Result<SessionFacts> {
        let agent = self.load(&AgentQuery::default()).await?.agent;
        let model = self.model_name(&agent, options)?;
        if options.trigger == Trigger::Request {
            self.memoir.connect(&model, &agent.settings)?;
        }
        let queued = self.begin(None, options, &model).await?;
        Ok(SessionFacts::new(&self.name, &queued))
    }
}
