//! From a request to an open session (SPEC 3.1 to 3.5).

use std::sync::Arc;

use memoir_domain::{
    PrivateText, SessionId,
    agent::Agent,
    audit::Actor,
    context,
    ledger::LedgerRoom,
    lifecycle::{self, OpenedSession, Start, StartRefusal},
    memories::AllMemories,
    memory::tokens,
    origin::Side,
    prompt::{self, Prompt},
    session::{Driver, Lease, Mode, Session, Trigger, is_builtin},
};
use memoir_model::{Model, ModelName};
use memoir_store::{AgentQuery, Selection};

use super::recent::KnownMemories;
use crate::{
    core::{Error, Loaded, Result, quotas::Written, rehearsal::RehearsalCopy, tuned::RULES_ONLY},
    sessions::Sessions,
};

/// How a session that Memoir drives is to be.
#[derive(Debug, Clone, Default)]
pub struct RefineOptions {
    /// Its tools; a session of the schedule has those of the agent's setting.
    pub mode: Mode,
    /// A model for this one session instead of the agent's own.
    pub model: Option<ModelName>,
    /// Whether it works on a copy.
    pub rehearsal: bool,
    /// Why it is begun.
    pub trigger: Trigger,
    /// Who begins it; `None` means Memoir's own schedule.
    pub started_by: Option<Actor>,
}

impl RefineOptions {
    /// The tools of a session of `agent` that is begun for this reason.
    fn mode_for(&self, trigger: Trigger, agent: &Agent) -> Mode {
        match trigger {
            Trigger::Request => self.mode,
            Trigger::Weekly | Trigger::Budget => agent.settings.effective_refinement_mode(),
        }
    }
}

impl Sessions<'_> {
    pub(crate) async fn model(self, options: &RefineOptions) -> Result<Arc<dyn Model>> {
        let agent = self.load(&AgentQuery::default()).await?.agent;
        let name = self.model_name(&agent, options)?;
        Ok(self.memoir.connect(&name, &agent.settings)?)
    }

    /// The name of the model that a session of `agent` is to be driven by.
    pub(super) fn model_name(self, agent: &Agent, options: &RefineOptions) -> Result<ModelName> {
        match &options.model {
            Some(name) => Ok(name.clone()),
            None => {
                let own = self.memoir.effective_model(&agent.settings);
                Ok(own.ok_or(Error::NoModel)?.parse()?)
            }
        }
    }

    /// Begins a session that waits for the agent's consent, for the holder of its lease; `None` for a worker that is to
    /// acquire it. A running session whose lease has lapsed is closed first.
    pub(super) async fn begin(
        self,
        holder: Option<u64>,
        options: &RefineOptions,
        model: &ModelName,
    ) -> Result<Session> {
        // Drawn before the decision, which may be made several times: each attempt is about the same session.
        let id = self.memoir.ids().draw(SessionId::from_bytes)?;
        // Before the session is begun, and in a decision of its own. If the schedule proposes an agent with nothing to
        // refine, no model is called, and the attempt counts, so that it is not proposed again immediately.
        Box::pin(self.check_not_empty(options, model)).await?;
        let is_requested = options.trigger == Trigger::Request;
        Box::pin(self.check_driven_session(is_requested)).await?;
        let until = self.memoir.lease_until();
        let lease = holder.map(|holder| Lease { until, holder });
        if lease.is_some() {
            // The request for consent reads the memories again.
            self.memoir.opened.expect(self.scope);
        }
        let query = AgentQuery::of_memories(Selection::ActiveCore);
        let begun = self.decide(&query, |loaded, now| {
            let trigger = self.trigger(options, &loaded)?;
            let start = Start {
                id,
                mode: options.mode_for(trigger, &loaded.agent),
                driver: Driver::Model,
                trigger,
                rehearsal: options.rehearsal,
                model: Some(model.to_string()),
                lease,
                started_by: options.started_by.clone().unwrap_or_else(Actor::system),
            };
            let nothing = loaded.nothing_to_refine(possible_mode(start.mode, model));
            let running = loaded.running_session;
            let decision = lifecycle::begin(loaded.agent, running, start, nothing, now)?;
            let session = decision.sessions.first().cloned();
            Ok((Some(decision), session.ok_or(Error::SessionLost(id))?))
        });
        let session = self.begun(begun.await).await?;
        let mut begun = Written::default();
        begun.usage.driven_sessions = 1;
        self.memoir.usages.add(self.scope, &begun);
        Ok(session)
    }

    /// The outcome of beginning a session. If the store refused it: which one is open, if it still is.
    pub(super) async fn begun<T>(self, begun: Result<T>) -> Result<T> {
        match begun {
            // The snapshot had no session, and the version was current: only a row that no decision has written can
            // conflict. The index of running sessions refuses a second one in any case.
            Err(Error::Store(memoir_store::Error::SessionRunning)) => {
                let running = self.load(&AgentQuery::default()).await?.running_session;
                Err(running.map_or(Error::Contended, |id| StartRefusal::SessionOpen(id).into()))
            }
            begun => begun,
        }
    }

    /// Why a session is begun now. One of the schedule is judged again: since this worker read it, another one may have
    /// run it, and the agent refused.
    pub(super) fn trigger(self, options: &RefineOptions, loaded: &Loaded) -> Result<Trigger> {
        if options.trigger == Trigger::Request {
            return Ok(Trigger::Request);
        }
        if let Some(id) = loaded.running_session {
            return Err(StartRefusal::SessionOpen(id).into());
        }
        let due = self.memoir.refinement_due(&loaded.agent);
        due.map(|due| due.reason).ok_or(Error::NotDue)
    }

    /// Prevents the schedule from asking an agent with nothing to refine, and records that as an attempt.
    pub(super) async fn check_not_empty(
        self,
        options: &RefineOptions,
        model: &ModelName,
    ) -> Result<()> {
        if options.trigger == Trigger::Request {
            return Ok(());
        }
        let query = AgentQuery::of_memories(Selection::ActiveCore);
        let found = self
            .decide(&query, |loaded, now| {
                let trigger = self.trigger(options, &loaded)?;
                let mode = options.mode_for(trigger, &loaded.agent);
                let found = loaded.nothing_to_refine(possible_mode(mode, model));
                let decision = found.map(|_| {
                    // No record shows that the installation has another default model, which may be able to do more.
                    let for_any_model = loaded.nothing_to_refine(mode).is_some();
                    lifecycle::pass_over(loaded.agent, for_any_model, now)
                });
                Ok((decision, found))
            })
            .await?;
        found.map_or(Ok(()), |found| Err(StartRefusal::from(found).into()))
    }

    /// The request for consent before a session (SPEC 3.3). The memories are cut to fit the model's context: otherwise
    /// an agent that outgrew it could never be asked. With the agent as it is asked.
    pub(crate) async fn consent_prompt(
        self,
        id: SessionId,
        context_tokens: Option<u32>,
    ) -> Result<(Prompt, Agent)> {
        let now = self.memoir.now();
        let query = AgentQuery {
            memories: Selection::Context {
                journal_after: context::journal_since(now),
            },
            ..AgentQuery::of_session(id).with_prompts()
        };
        let mut loaded = self.load(&query).await?;
        let session = loaded.take_session(id)?;
        let room = room(
            self.context_of(context_tokens),
            [&loaded.agent.settings.system_prompt],
        );
        let mut bounds = context::Bounds::of(&loaded.agent.settings, Some(room));
        if session.model.as_deref().is_some_and(is_builtin) {
            // `builtin:careful` consents exactly where it finds duplicates. With texts of an administrator among them,
            // its consent would reveal whether one of these equals one of the agent's (SPEC 5.1).
            bounds.shows_copies = true;
            loaded
                .memories
                .retain(|memory| memory.side() == Side::Agent);
        }
        let context = self.memories().built_context(&loaded, now, bounds).await?;
        let prompt = prompt::consent(&loaded.agent, &session, &context);
        Ok((prompt, loaded.agent))
    }

    /// Opens the session: merges duplicates, fixes core size, budget and threshold, and builds the prompt. What is
    /// laxer than `agreed` does not count: the agent did not consent to it (SPEC 3.3).
    pub(crate) async fn open(
        self,
        id: SessionId,
        context_tokens: Option<u32>,
        agreed: Option<&Agent>,
    ) -> Result<OpenedSession> {
        // Its calls are decided on these reads.
        self.memoir.opened.expect(self.scope);
        let query = as_it_stands(id);
        let opened = self.decide(&query, |mut loaded, now| {
            let session = running(loaded.take_session(id)?)?;
            let digester = loaded.digester();
            let room = self.ledger_room(&loaded.agent, context_tokens, session.model.as_deref());
            let opening = lifecycle::open(
                loaded.agent.clone(),
                session,
                AllMemories::new(loaded.memories.shared()),
                &digester,
                room,
                agreed,
                now,
            );
            let known = KnownMemories::of_opening(&opening.decision, opening.memories);
            let writing = RehearsalCopy::opening(loaded.agent, opening.decision);
            Ok((Some(writing), (opening.opened, known)))
        });
        let (opened, known) = opened.await?;
        self.keep_opened(id, known);
        Ok(opened)
    }

    /// An open session, with what a worker needs to resume: the memories as they are now, or as in a rehearsal's copy.
    pub(super) fn resume(
        self,
        mut loaded: Loaded,
        id: SessionId,
        context_tokens: Option<u32>,
    ) -> Result<(Session, OpenedSession)> {
        let rehearsal = loaded.session.as_mut().and_then(|(_, kept)| kept.take());
        let session = loaded.take_session(id)?;
        let room = self.ledger_room(&loaded.agent, context_tokens, session.model.as_deref());
        let (agent, memories) = match rehearsal.and_then(|kept| kept.copy) {
            Some(copy) => {
                let memories = copy.lay_over_all(&loaded.memories);
                (copy.agent(loaded.agent), memories)
            }
            None => (loaded.agent, loaded.memories),
        };
        let memories = AllMemories::new(memories.shared());
        // From the oldest row on: the agent's position is the beginning of the next session's ledger, and this one's is
        // not stored.
        let opened = lifecycle::resume(&agent, &session, &memories, None, room);
        Ok((session, opened))
    }

    /// The tokens available to the ledger, and the notes that it must include.
    pub(super) fn ledger_room(
        self,
        agent: &Agent,
        context_tokens: Option<u32>,
        model: Option<&str>,
    ) -> LedgerRoom {
        let own = [
            &agent.settings.system_prompt,
            &agent.settings.refinement_prompt,
        ];
        LedgerRoom {
            tokens: room(self.context_of(context_tokens), own),
            near_duplicates: true,
            leaves_out_administrators: model.is_some_and(is_builtin),
        }
    }

    /// The size of a model's context in tokens: the model's own figure, or else the installation's default.
    pub(crate) fn context_of(self, stated: Option<u32>) -> u32 {
        stated.unwrap_or(self.memoir.settings.context_tokens)
    }
}

/// The tokens for memories: two thirds of the model's context without the rest of the prompt, which includes the
/// agent's `own` texts. The last third is for the conversation.
pub(crate) fn room<const N: usize>(context_tokens: u32, own: [&Option<PrivateText>; N]) -> u64 {
    /// The fixed rules, the status, the closing instruction and the tools' schemas, rounded up.
    const FIXED_TOKENS: u64 = 2_500;
    let own = own.into_iter().flatten();
    let own: u64 = own.map(|text| tokens(text.expose())).sum();
    // Saturating: a context that is smaller than the rules leaves no room for memories, and whole rows are left out.
    (u64::from(context_tokens) * 2 / 3).saturating_sub(FIXED_TOKENS + own)
}

/// A session, with all that its prompt is built of: to open it, to resume it, or to apply its result.
pub(super) fn as_it_stands(id: SessionId) -> AgentQuery {
    AgentQuery {
        session: Some(id),
        ..AgentQuery::of_memories(Selection::All).with_prompts()
    }
}

/// The mode in which a model can do anything. A model that only follows rules removes duplicates, and would refuse a
/// session without any: that refusal would count as the agent's own, and keep a session from it that can do more.
fn possible_mode(mode: Mode, model: &ModelName) -> Mode {
    match model.provider() == RULES_ONLY {
        true => Mode::DedupOnly,
        false => mode,
    }
}

/// The session, if it has not ended.
pub(super) fn running(session: Session) -> Result<Session> {
    if session.state.is_running() {
        Ok(session)
    } else {
        Err(Error::SessionLost(session.id))
    }
}
