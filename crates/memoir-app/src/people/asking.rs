//! Asking an agent's model for consent to an access request (SPEC 5.2). An agent whose model Memoir does not call
//! responds through its own client.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use memoir_domain::{
    AccessRequestId, PrivateText, Timestamp,
    access::{AccessKind, AccessRefusal, AccessRequest, AccessState, QuestionClaim, REASON_LIMIT},
    agent::Agent,
    audit::Actor,
    context,
    draft::Decision,
    manage::ChangeRefusal,
    memory::Memory,
    prompt::{self, Prompt},
    session::Usage,
};
use memoir_model::{Finish, Model, ModelName};
use memoir_store::{AgentQuery, Selection};
use parking_lot::Mutex;
use tokio::task::JoinSet;

use crate::{
    core::{
        Error, Loaded, Memoir, Result, again, codec,
        model_question::{ModelCall, ModelFailure},
        tuned::RULES_ONLY,
    },
    people::Grants,
    sessions::{bounded, room},
};

/// The time for a model's response, including retries of the provider and a second question.
// A lease lasts a minute longer, so that the decision can be written before another process may ask.
const ANSWER_TIME: Duration = Duration::from_secs(QuestionClaim::SECONDS as u64 - 60);
/// How long a request to an agent without a usable model, or whose model's quota is used up, is not read again.
// Such an agent may be given a model meanwhile; each read checks it.
const LOOKED_AT_AGAIN: Duration = Duration::from_secs(180);
/// Models that are asked in parallel.
const AT_ONCE: usize = 4;
/// The characters of a reason that is too long which are kept: with room for the mark behind them.
const KEPT_REASON: usize = REASON_LIMIT - 50;

/// The outcome of asking an agent's model.
#[derive(Debug, Clone, PartialEq)]
pub enum AskOutcome {
    /// It decided, or the request had ended before.
    Answered,
    /// The agent has no model, or one that only follows rules. Its client decides.
    NotByModel,
    /// It is being asked already, about this or another request, or was asked recently. A later call asks it.
    AskedAlready,
    /// It gave no answer, or its decision could not be carried out, for now. Holds the reason, without text of the
    /// agent.
    Failed(String),
}

/// When which requests are read again, by the monotonic clock: an earlier attempt is useless.
#[derive(Debug, Default)]
pub(crate) struct AskingWaits(Mutex<HashMap<AccessRequestId, Duration>>);

impl AskingWaits {
    fn is_over(&self, id: AccessRequestId, now: Duration) -> bool {
        self.0.lock().get(&id).is_none_or(|next| *next <= now)
    }

    fn wait(&self, id: AccessRequestId, until: Duration) {
        self.0.lock().insert(id, until);
    }
}

/// Whether a model is to be asked about a request.
enum QuestionTurn {
    /// Yes, by this process alone.
    Claimed(QuestionClaim),
    NotBefore(Timestamp),
    /// The agent is being asked about another one.
    Held,
    /// Not now: no model speaks for the agent, or a quota of its calls is used up.
    NotAsked(AskOutcome),
    /// It no longer waits.
    Over,
}

impl Grants<'_> {
    /// The model that decides access requests for the agent; `None` where its own client does.
    ///
    /// # Errors
    /// The agent is gone; the store fails.
    pub async fn answering_model(self) -> Result<Option<String>> {
        let loaded = self.load(&AgentQuery::default()).await?;
        let name = self.memoir.speaking_model(&loaded.agent)?;
        Ok(name.map(|name| name.to_string()))
    }

    /// Asks the agent's model about a waiting request now, and writes its decision. Of several processes one asks.
    ///
    /// # Errors
    /// The agent has no such request; the store fails. A model that cannot be asked is no error.
    pub async fn ask_for_access(self, id: AccessRequestId) -> Result<AskOutcome> {
        let outcome = self.ask_in_turn(id).await?;
        Ok(outcome.unwrap_or(AskOutcome::Answered))
    }

    /// Asks the agent's model under a lease; its usage is added to `usage`.
    async fn ask_claimed(self, id: AccessRequestId, usage: &mut Usage) -> Result<AskOutcome> {
        let query = AgentQuery::default();
        let (loaded, request, _) = again(|| self.load_access(id, &query)).await?;
        let me = Actor::agent(loaded.agent.name.clone());
        if request.state != AccessState::Asked {
            return Ok(AskOutcome::Answered);
        }
        let Some(name) = self.memoir.speaking_model(&loaded.agent)? else {
            return Ok(AskOutcome::NotByModel);
        };
        // Before the model is asked: its consent could not be carried out, and would be lost.
        let shreds = matches!(request.kind, AccessKind::Shred { .. });
        if shreds && loaded.running_session.is_some() {
            let problem = "nothing can be shredded while a session is running";
            return Ok(AskOutcome::Failed(problem.to_owned()));
        }
        let model = match self.memoir.connect(&name, &loaded.agent.settings) {
            Ok(model) => model,
            Err(error) => return Ok(AskOutcome::Failed(error.to_string())),
        };
        let prompt = self.access_prompt(id, model.context_tokens()).await?;
        let Some(prompt) = prompt else {
            return Ok(AskOutcome::Failed("it was changed meanwhile".to_owned()));
        };
        let answer = match self.ask(model.as_ref(), prompt, usage).await {
            Ok(answer) => answer,
            Err(problem) => return Ok(AskOutcome::Failed(problem)),
        };
        let is_granted = prompt::is_consent(answer.expose());
        let mut reason = reason(&answer);
        // Before it is cut, which may leave most of a sentence. Omitted and not refused: the model has answered, and
        // will not rephrase its reason.
        if let Some(given) = &reason
            && self.repeats_memory(given).await?
        {
            reason = None;
        }
        let reason = reason.map(|reason| bounded(reason, REASON_LIMIT, KEPT_REASON));
        let answered = self
            .answer_access_for(id, is_granted, reason, *usage, &me)
            .await;
        match answered {
            Ok(_) => Ok(AskOutcome::Answered),
            // Its client was faster, or it was revoked.
            Err(Error::Access(AccessRefusal::NotWaiting(_))) => Ok(AskOutcome::Answered),
            Err(error @ Error::Change(ChangeRefusal::SessionRunning(_))) => {
                Ok(AskOutcome::Failed(error.to_string()))
            }
            Err(error) => Err(error),
        }
    }

    /// The prompt of the model: the memories are cut to fit its context. `None` where the request no longer waits.
    async fn access_prompt(
        self,
        id: AccessRequestId,
        context_tokens: Option<u32>,
    ) -> Result<Option<Prompt>> {
        let now = self.memoir.now();
        let wanted_context = AgentQuery::of_memories(Selection::Context {
            journal_after: context::journal_since(now),
        })
        .with_prompts();
        // Loaded again: the model determines which memories fit, and the request may have ended.
        let (loaded, request, _) = again(|| self.load_access(id, &wanted_context)).await?;
        let memory: Option<Memory> = match request.kind {
            AccessKind::Shred { number, .. } => {
                let found = self.load_memories(Selection::Numbers(vec![number])).await?;
                found.memories.copies().next()
            }
            _ => None,
        };
        let own = [
            &loaded.agent.settings.system_prompt,
            &memory.as_ref().map(|memory| memory.content.clone()),
        ];
        let room = room(self.sessions().context_of(context_tokens), own);
        let bounds = context::Bounds::of(&loaded.agent.settings, Some(room));
        let context = self.memories().built_context(&loaded, now, bounds).await?;
        let prompt = prompt::access(&loaded.agent, &context, &request, memory.as_ref());
        Ok((request.state == AccessState::Asked).then_some(prompt))
    }

    /// The model's response; its usage is added to `usage`, also after a failure.
    async fn ask(
        self,
        model: &dyn Model,
        prompt: Prompt,
        usage: &mut Usage,
    ) -> Result<PrivateText, String> {
        let limits = self.memoir.settings.limits;
        let mut call = ModelCall::new(model, prompt, limits, ANSWER_TIME);
        // A cut-off response is not a refusal (SPEC 3.16), so the model is asked once more.
        let mut problem = String::new();
        for _ in 0..2 {
            let answered = call.answer().await;
            let reply = answered.map_err(ModelFailure::into_problem)?;
            let counted = reply.usage;
            usage.add_response(counted.input_tokens, counted.output_tokens);
            if reply.finish != Finish::Length {
                return Ok(reply.text);
            }
            // A model that reasons first may have used all of it before the first word of the answer.
            let cut = call.give_more_room(&reply);
            problem = format!("{cut}; {}", cut.hint());
        }
        Err(problem)
    }
}

/// The model's text beside its decision, without control characters that no text may have. `None` where there is none.
fn reason(answer: &PrivateText) -> Option<PrivateText> {
    let said: String = prompt::reason_of(answer.expose())
        .chars()
        .map(|character| match character {
            '\n' | '\t' => character,
            _ if character.is_control() => ' ',
            _ => character,
        })
        .collect();
    let said = said.trim();
    (!said.is_empty()).then(|| said.into())
}

impl Memoir {
    /// The model that can decide for an agent, where it has one.
    pub(crate) fn speaking_model(&self, agent: &Agent) -> Result<Option<ModelName>> {
        let Some(name) = self.effective_model(&agent.settings) else {
            return Ok(None);
        };
        let name: ModelName = name.parse()?;
        Ok((name.provider() != RULES_ONLY).then_some(name))
    }

    /// Asks the models of agents with waiting requests, a few in parallel; returns how many decided. Of several
    /// processes one asks, and an agent is asked one thing at a time, so that a refusal counts for the next one. After
    /// a failure a later call asks again.
    ///
    /// # Errors
    /// The store fails.
    pub async fn ask_for_access(&self) -> Result<usize> {
        let mut waiting = self.store.open_access().await?;
        waiting.retain(|open| open.state == AccessState::Asked);
        let ids: HashSet<AccessRequestId> = waiting.iter().map(|open| open.id).collect();
        let waits = self.state::<AskingWaits>();
        waits.0.lock().retain(|id, _| ids.contains(id));
        let mut answered = 0;
        let mut asking = JoinSet::new();
        for open in waiting {
            if !waits.is_over(open.id, self.clock.monotonic()) {
                continue;
            }
            // Waits for any one to end, and not for all: a hanging model occupies one place for that time.
            if asking.len() >= AT_ONCE {
                answered += usize::from(asking.join_next().await.is_some_and(is_answered));
            }
            let agent = self.handle(open.scope);
            asking.spawn(async move {
                let outcome = agent.grants().ask_in_turn(open.id).await;
                match &outcome {
                    Ok(Some(AskOutcome::Failed(problem))) => {
                        tracing::warn!(agent = %open.scope.agent, request = %open.id, problem, "a model was not asked for access");
                    }
                    Err(error) => {
                        tracing::error!(agent = %open.scope.agent, request = %open.id, %error, "a model was not asked for access");
                    }
                    Ok(_) => {}
                }
                matches!(outcome, Ok(Some(AskOutcome::Answered)))
            });
        }
        while let Some(joined) = asking.join_next().await {
            answered += usize::from(is_answered(joined));
        }
        Ok(answered)
    }
}

impl Grants<'_> {
    /// Asks the agent's model about a request on this process's turn; `None` where it no longer waits for a decision.
    async fn ask_in_turn(self, id: AccessRequestId) -> Result<Option<AskOutcome>> {
        let claim = match self.claim_question(id).await? {
            QuestionTurn::Claimed(claim) => claim,
            QuestionTurn::NotBefore(time) => {
                self.wait_until(id, time);
                return Ok(Some(AskOutcome::AskedAlready));
            }
            QuestionTurn::NotAsked(outcome) => {
                // In the memory of this process only: nothing is written for an agent whose model is not asked.
                let until = self.memoir.clock.monotonic() + LOOKED_AT_AGAIN;
                self.memoir.state::<AskingWaits>().wait(id, until);
                return Ok(Some(outcome));
            }
            QuestionTurn::Held => return Ok(Some(AskOutcome::AskedAlready)),
            QuestionTurn::Over => return Ok(None),
        };
        let mut usage = claim.usage;
        let outcome = self.ask_claimed(id, &mut usage).await;
        // If this is not reached, the lease expires by itself.
        if !matches!(outcome, Ok(AskOutcome::Answered)) {
            self.end_question(id, claim, usage).await?;
        }
        outcome.map(Some)
    }

    fn wait_until(self, id: AccessRequestId, time: Timestamp) {
        let until = self.memoir.clock.monotonic() + time.since(self.memoir.now());
        self.memoir.state::<AskingWaits>().wait(id, until);
    }

    /// Acquires the lease for asking the agent's model, under the agent's version: of several processes one does.
    async fn claim_question(self, id: AccessRequestId) -> Result<QuestionTurn> {
        again(|| async {
            let (loaded, mut request, now) = self.load_access(id, &AgentQuery::default()).await?;
            if request.state != AccessState::Asked {
                return Ok(QuestionTurn::Over);
            }
            // Before the lease, which is written: an agent without a model would cause a write every few minutes.
            if self.memoir.speaking_model(&loaded.agent)?.is_none() {
                return Ok(QuestionTurn::NotAsked(AskOutcome::NotByModel));
            }
            let open = self.memoir.store.open_requests(self.scope).await?;
            let open = open.iter().map(codec::listed_access_request);
            let open: Vec<AccessRequest> = open.collect::<Result<_>>()?;
            let claim = match request.claim_question(&open, now) {
                Ok(claim) => claim,
                // When the question of another request ends is unknown: this one is checked with the next ones.
                Err(time) => {
                    let own = request.question.map(QuestionClaim::again_at);
                    return Ok(match own == Some(time) {
                        true => QuestionTurn::NotBefore(time),
                        false => QuestionTurn::Held,
                    });
                }
            };
            match self.check_model_use().await {
                Err(Error::Quota(reached)) => {
                    let outcome = AskOutcome::Failed(reached.to_string());
                    return Ok(QuestionTurn::NotAsked(outcome));
                }
                checked => checked?,
            };
            request.question = Some(claim);
            self.write_question(loaded, request).await?;
            Ok(QuestionTurn::Claimed(claim))
        })
        .await
    }

    /// Releases a lease without an outcome, if it is still this one: others need not wait for it.
    async fn end_question(
        self,
        id: AccessRequestId,
        claim: QuestionClaim,
        usage: Usage,
    ) -> Result<()> {
        again(|| async {
            let (loaded, mut request, now) = self.load_access(id, &AgentQuery::default()).await?;
            if request.state != AccessState::Asked || request.question != Some(claim) {
                return Ok(());
            }
            let ended = QuestionClaim {
                until: now,
                usage,
                ..claim
            };
            request.question = Some(ended);
            self.write_question(loaded, request).await?;
            self.wait_until(id, ended.again_at());
            Ok(())
        })
        .await
    }

    async fn write_question(self, loaded: Loaded, request: AccessRequest) -> Result<()> {
        let decision = Decision::of_access(loaded.agent, request);
        self.commit(&loaded.base, decision).await.map(drop)
    }
}

/// A task that was cancelled with the process has not decided.
fn is_answered(joined: Result<bool, tokio::task::JoinError>) -> bool {
    joined.unwrap_or(false)
}
