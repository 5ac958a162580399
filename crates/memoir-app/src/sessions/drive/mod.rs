//! Driving a model through a session: asking for consent, giving it the tools, enforcing the limits, and ending the
//! session (SPEC 3.3, 3.16).
//!
//! `machine.rs` decides the next step, without store, clock or network; this module carries it out.

pub(crate) mod machine;
mod progress;
mod span;
mod typed;

use std::{sync::Arc, time::Duration};

use memoir_domain::{
    PrivateText, SessionId,
    agent::Agent,
    audit::Actor,
    lifecycle::SessionEnding,
    session::{Driven, EndReason, Session, Usage},
    tools::{RefusalCode, ToolRequest},
};
use memoir_model::{Arguments, Model, ToolCall};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Instant;

use self::machine::{Machine, SessionEffect, SessionEvent};
use super::{OpenedSession, RefineOptions, calls::ToolOutcome};
use crate::{
    core::{AgentHandle, Error, Result, spans},
    sessions::{Sessions, Unwritten},
    shown::SessionFacts,
};

pub use progress::{Measure, Progress};

/// Progress callback.
pub type Observer<'a> = dyn FnMut(&Progress) + Send + 'a;

impl Sessions<'_> {
    /// Runs one whole session with the agent's model, now. `observer` gets all text.
    pub(crate) async fn refine(
        self,
        options: &RefineOptions,
        observer: &mut Observer<'_>,
    ) -> Result<SessionFacts> {
        let model = self.model(options).await?;
        let holder = self.memoir.ids().holder()?;
        let begun = self.begin(Some(holder), options, model.name()).await?;
        let id = begun.id;
        observer(&Progress::Begun {
            session: id,
            agent: self.name.clone(),
            model: model.name().to_string(),
            rehearsal: options.rehearsal,
        });
        let hold = Hold::new(self.0.clone(), &begun, holder);
        // Boxed: a whole session is the largest of all futures, and lies on the stack of the polling task.
        let session = Box::pin(Drive::new(&hold, model).run(None, observer)).await?;
        observer(&Progress::Ended {
            session: Box::new(session.clone()),
        });
        Ok(session)
    }
}

/// This worker's lease on a running session.
pub(crate) struct Hold {
    pub(crate) agent: AgentHandle,
    pub(crate) id: SessionId,
    pub(crate) holder: u64,
    /// The usage and the turns of the session so far, those of earlier workers included.
    used: Mutex<(Usage, u32)>,
    /// How long earlier workers had it.
    earlier: Duration,
    acquired: Instant,
}

impl Hold {
    /// On a session that `holder` has just leased. All limits hold for the whole session, so that what earlier workers
    /// used of them counts.
    pub(crate) fn new(agent: AgentHandle, session: &Session, holder: u64) -> Self {
        let earlier = session.driven.unwrap_or_default();
        Self {
            agent,
            id: session.id,
            holder,
            used: Mutex::new((session.usage, earlier.turns)),
            earlier: Duration::from_millis(earlier.milliseconds),
            acquired: Instant::now(),
        }
    }

    /// What the session has used of its limits so far.
    pub(crate) fn used(&self) -> (Usage, Driven) {
        let (usage, turns) = *self.used.lock();
        let milliseconds = u64::try_from(self.time().as_millis()).unwrap_or(u64::MAX);
        let driven = Driven {
            turns,
            milliseconds,
        };
        (usage, driven)
    }

    /// How long workers have had the session.
    fn time(&self) -> Duration {
        self.earlier.saturating_add(self.acquired.elapsed())
    }

    fn note(&self, used: Usage, turns: u32) {
        let (before, _) = std::mem::replace(&mut *self.used.lock(), (used, turns));
        if used != before {
            let unwritten = self.agent.memoir.state::<Unwritten>();
            unwritten.note_usage(self.id, used);
        }
    }

    /// Renews the lease; returns whether the session is still this worker's.
    async fn renew(&self) -> Result<bool> {
        let memoir = &self.agent.memoir;
        let until = memoir.lease_until();
        Ok(memoir
            .store
            .renew_lease(self.agent.scope, self.id, self.holder, until)
            .await?)
    }

    /// Waits for `work`, renewing the lease; `None` where it was lost meanwhile.
    async fn during<T>(&self, work: impl Future<Output = T>) -> Result<Option<T>> {
        // A third, so that one renewal may be lost and the next one still comes in time. The first tick is immediate:
        // an old lease is renewed before the call.
        let lease = self.agent.memoir.settings.lease;
        let (mut beat, mut renewed_at) = (tokio::time::interval(lease / 3), Instant::now());
        tokio::pin!(work);
        loop {
            tokio::select! {
                // A finished result is taken before the beat is polled: a model's response is never discarded for a
                // lease that expired in the same moment. The commit then finds out whether the session is still ours.
                biased;
                done = &mut work => return Ok(Some(done)),
                _ = beat.tick() => match self.renew().await {
                    Ok(true) => renewed_at = Instant::now(),
                    Ok(false) => return Ok(None),
                    // A store that fails for as long as a lease lasts ends the run. The session stays as it is until its
                    // lease lapses, and is then closed with its edits.
                    Err(error) if renewed_at.elapsed() >= lease => return Err(error),
                    Err(error) => {
                        tracing::warn!(session = %self.id, %error, "a lease was not renewed; it is tried again");
                    }
                }
            }
        }
    }
}

/// One run of the loop.
pub(crate) struct Drive<'a> {
    hold: &'a Hold,
    model: Arc<dyn Model>,
    machine: Machine,
    /// The agent when it was asked; `None` before.
    agreed: Option<Agent>,
}

impl<'a> Drive<'a> {
    pub(crate) fn new(hold: &'a Hold, model: Arc<dyn Model>) -> Self {
        let settings = &hold.agent.memoir.settings;
        let price = settings.prices.get(model.name()).copied();
        let mut limits = settings.limits;
        limits.answer_tokens = model.answer_tokens().unwrap_or(limits.answer_tokens);
        let (used, driven) = hold.used();
        let machine = Machine::new(limits, price, model.context_tokens(), used, driven.turns);
        Self {
            hold,
            model,
            machine,
            agreed: None,
        }
    }

    /// Drives the session to its end: from the request for consent on, or where it is open already from there on.
    pub(crate) async fn run(
        mut self,
        opened: Option<OpenedSession>,
        observer: &mut Observer<'_>,
    ) -> Result<SessionFacts> {
        let span = spans::session(self.hold.agent.scope, self.hold.id, self.model.name());
        let driving = async {
            let event = match opened {
                Some(opened) => tools_given(opened, observer),
                None => {
                    let context = self.model.context_tokens();
                    let sessions = self.hold.agent.sessions();
                    let (consent, asked) = sessions.consent_prompt(self.hold.id, context).await?;
                    self.agreed = Some(asked);
                    SessionEvent::Begun { consent }
                }
            };
            self.follow(event, observer).await
        };
        span::of_session(span, driving).await
    }

    async fn follow(
        &mut self,
        mut event: SessionEvent,
        observer: &mut Observer<'_>,
    ) -> Result<SessionFacts> {
        loop {
            let effects = self.machine.handle(event, self.hold.time());
            // The use is noted at each step: an interrupted worker releases the session with the use so far.
            self.hold.note(self.machine.usage, self.machine.turns);
            let mut next = None;
            for effect in effects {
                match effect {
                    SessionEffect::Note(progress) => observer(&progress),
                    SessionEffect::Act(action) => next = Some(action),
                }
            }
            // The machine asks for exactly one action at a time until the session has ended.
            let Some(action) = next else {
                return Err(Error::SessionLost(self.hold.id));
            };
            match self.act(action, observer).await? {
                Next::Event(happened) => event = happened,
                Next::Ended(session) => return Ok(*session),
            }
        }
    }

    async fn act(
        &mut self,
        action: machine::SessionAction,
        observer: &mut Observer<'_>,
    ) -> Result<Next> {
        use machine::SessionAction;
        let (agent, id) = (&self.hold.agent, self.hold.id);
        let usage = self.machine.usage;
        let ended = match action {
            SessionAction::Call(request) => {
                let time = agent.memoir.settings.limits.time;
                let limit = time.saturating_sub(self.hold.time());
                // The rest of the session's time limits the call, whatever the provider's client allows.
                let call = tokio::time::timeout(limit, self.model.complete(&request));
                return Ok(match self.hold.during(call).await? {
                    None => self.lost().await?,
                    Some(Err(_)) => SessionEvent::DeadlinePassed.into(),
                    Some(Ok(Ok(reply))) => SessionEvent::Replied {
                        request,
                        reply: Box::new(reply),
                    }
                    .into(),
                    Some(Ok(Err(error))) => SessionEvent::CallFailed { request, error }.into(),
                });
            }
            SessionAction::Wait(wait, request) => {
                return Ok(match self.hold.during(tokio::time::sleep(wait)).await? {
                    None => self.lost().await?,
                    Some(()) => SessionEvent::Waited { request }.into(),
                });
            }
            SessionAction::Open => {
                let (sessions, context) = (agent.sessions(), self.model.context_tokens());
                let opened = sessions.open(id, context, self.agreed.as_ref());
                return Ok(tools_given(opened.await?, observer).into());
            }
            SessionAction::RunTool(call) => return self.run_tool(&call, observer).await,
            SessionAction::End(ending) => {
                let actor = match ending {
                    SessionEnding::Declined(_) => agent.as_actor(),
                    SessionEnding::Abandoned(_) | SessionEnding::Failed(..) => Actor::system(),
                };
                let sessions = agent.sessions();
                sessions.end(id, ending, &actor, Some(usage)).await?
            }
            SessionAction::Finish => agent.views().session(id).await?,
        };
        Ok(Next::Ended(Box::new(ended)))
    }

    async fn run_tool(&mut self, call: &ToolCall, observer: &mut Observer<'_>) -> Result<Next> {
        let arguments: Option<&Value> = match &call.arguments {
            Arguments::Json(json) => Some(json.expose()),
            Arguments::Malformed(_) => None,
        };
        let request = ToolRequest::read(&call.name, arguments);
        let (sessions, usage) = (self.hold.agent.sessions(), self.machine.usage);
        let context = self.model.context_tokens();
        // No lease check is needed: closing the session increases the agent's version, which fences the commit.
        let called = sessions.call(self.hold.id, &request, Some(usage), context);
        let called = called.await?;
        observer(&Progress::called(&request, &called));
        let ToolOutcome { result, .. } = called;
        if result.refusal() == Some(RefusalCode::SessionOver) {
            return self.lost().await;
        }
        Ok(SessionEvent::ToolAnswered {
            ended: result.ends_session(),
            content: result.for_model(),
        }
        .into())
    }

    /// Another process ended the session: its outcome is in the store.
    async fn lost(&self) -> Result<Next> {
        let session = self.hold.agent.views().session(self.hold.id).await?;
        // Another worker drives the session now, and will report its end.
        if session.state.is_running() {
            return Err(Error::SessionLost(self.hold.id));
        }
        Ok(Next::Ended(Box::new(session)))
    }
}

/// That the session tools are given.
fn tools_given(opened: OpenedSession, observer: &mut Observer<'_>) -> SessionEvent {
    observer(&Progress::opened(&opened));
    SessionEvent::Opened {
        prompt: opened.prompt,
        tools: super::tool_definitions(opened.mode, Some(opened.guard)),
    }
}

/// The outcome of an action.
#[derive(derive_more::From)]
enum Next {
    #[from]
    Event(SessionEvent),
    Ended(Box<SessionFacts>),
}

pub(crate) fn within(limit: Duration, at: Duration) -> Result<(), EndReason> {
    if at < limit {
        Ok(())
    } else {
        Err(EndReason::TimeLimit)
    }
}

/// The message to a model that stopped without completing. `typed` is the tool that it called in its text.
pub(crate) fn reminder(typed: Option<&str>) -> PrivateText {
    match typed {
        Some(tool) => include_str!("reminder_typed.md")
            .trim()
            .replace("{tool}", tool)
            .into(),
        None => include_str!("reminder.md").trim().into(),
    }
}
