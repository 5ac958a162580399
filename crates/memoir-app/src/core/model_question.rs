//! Asking a model outside of a session, with the retries of a session (SPEC 3.16). For a JSON response it uses the
//! provider's schema where available, and asks once more after an unreadable response.

use std::{pin::Pin, time::Duration};

use memoir_domain::{answer::Unreadable, prompt::Prompt};
use memoir_model::{AnswerSchema, Finish, Model, ModelError, ModelMessage, ModelRequest, Reply};
use tokio::time::Instant;

use crate::core::{
    Memoir,
    cut_off::{CutOff, fitting},
    settings::SessionLimits,
};

/// A request to a model for a JSON object.
pub(crate) struct ModelQuestion {
    pub(crate) prompt: Prompt,
    pub(crate) schema: AnswerSchema,
}

/// Completes when the caller has to stop. It is not polled again after that.
pub(crate) type Stop<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Why a model gave no response; without the agent's text.
#[derive(Debug)]
pub(crate) enum ModelFailure {
    /// The provider refuses the request, and would refuse it again.
    Refused(String),
    /// The provider refuses every request: the key, the account or the address is wrong.
    Denied(String),
    /// The provider is out of reach or overloaded, or the time is over.
    Failed(String),
}

impl ModelFailure {
    /// The problem and what to do about it, for people.
    pub(crate) fn into_problem(self) -> String {
        match self {
            Self::Refused(problem) | Self::Denied(problem) | Self::Failed(problem) => problem,
        }
    }
}

#[derive(Debug, derive_more::From)]
pub(crate) enum NotAnswered {
    /// The response was unusable, twice.
    Unreadable(Unreadable),
    #[from]
    Model(ModelFailure),
    Stopped,
}

/// A request to one model, with a deadline.
pub(crate) struct ModelCall<'a> {
    model: &'a dyn Model,
    limits: SessionLimits,
    request: ModelRequest,
    /// One for all attempts, waits and questions: a caller with a lease is done before it expires.
    deadline: Instant,
}

impl<'a> ModelCall<'a> {
    /// Within `time` or the time of a session, whichever is shorter.
    pub(crate) fn new(
        model: &'a dyn Model,
        prompt: Prompt,
        limits: SessionLimits,
        time: Duration,
    ) -> Self {
        let wanted = model.answer_tokens().unwrap_or(limits.answer_tokens);
        let mut request = ModelRequest {
            system: prompt.system,
            messages: vec![ModelMessage::User(prompt.user)],
            tools: Vec::new(),
            answer_schema: None,
            max_output_tokens: wanted,
            reasoning_effort: None,
        };
        request.max_output_tokens = fitting(&request, wanted, model.context_tokens());
        Self {
            model,
            limits,
            request,
            deadline: Instant::now() + time.min(limits.time),
        }
    }

    /// For the next response, after that one was cut off, as far as more room can be had. Returns at what it was cut off.
    pub(crate) fn give_more_room(&mut self, reply: &Reply) -> CutOff {
        let context = self.model.context_tokens();
        let room = &mut self.request.max_output_tokens;
        let cut = CutOff::of(reply, *room, context);
        *room = cut.more_room(reply, *room, context).unwrap_or(*room);
        cut
    }

    /// One response, after as many attempts and waits as a session's calls get (SPEC 3.16).
    pub(crate) async fn answer(&mut self) -> Result<Reply, ModelFailure> {
        let mut failures = 0;
        loop {
            let completion = self.model.complete(&self.request);
            let error = match tokio::time::timeout_at(self.deadline, completion).await {
                Ok(Ok(reply)) => return Ok(reply),
                Ok(Err(error)) => error,
                Err(_) => {
                    return Err(ModelFailure::Failed(
                        "the model took too long to answer".to_owned(),
                    ));
                }
            };
            // The same question without a schema is another question, so this counts as no attempt. `take` ensures that
            // it happens once at most.
            if is_about_schema(&error) && self.request.answer_schema.take().is_some() {
                continue;
            }
            failures += 1;
            if error.is_about_request() {
                return Err(ModelFailure::Refused(error.advised()));
            }
            if !error.is_retryable() {
                return Err(ModelFailure::Denied(error.advised()));
            }
            if error.is_not_running() {
                return Err(ModelFailure::Failed(error.advised()));
            }
            // A wait beyond the deadline would end as "took too long", and hide the provider's error.
            let wait = self.limits.wait_after(failures, &error);
            match wait.filter(|wait| Instant::now() + *wait < self.deadline) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return Err(ModelFailure::Failed(error.advised())),
            }
        }
    }
}

impl Memoir {
    /// Asks, and parses the response with `read`; until `stop`.
    pub(crate) async fn question<T>(
        &self,
        model: &dyn Model,
        question: ModelQuestion,
        read: impl Fn(&str) -> Result<T, Unreadable>,
        stop: &mut Stop<'_>,
    ) -> Result<T, NotAnswered> {
        let limits = self.settings.limits;
        let mut call = ModelCall::new(model, question.prompt, limits, limits.time);
        call.request.answer_schema = Some(question.schema);
        tokio::select! {
            // `stop` is polled first (`biased`), so that a caller that has to stop asks no model.
            biased;
            () = stop => Err(NotAnswered::Stopped),
            answer = ask_twice(call, read) => answer,
        }
    }
}

async fn ask_twice<T>(
    mut call: ModelCall<'_>,
    read: impl Fn(&str) -> Result<T, Unreadable>,
) -> Result<T, NotAnswered> {
    let reply = call.answer().await?;
    let unreadable = match read(reply.text.expose()) {
        Ok(answer) => return Ok(answer),
        Err(unreadable) => unreadable,
    };
    // A cut-off response is not sent back to the model. Neither is an empty one, since some providers refuse those.
    if reply.finish == Finish::Length {
        call.give_more_room(&reply);
    } else if !reply.text.expose().trim().is_empty() {
        let said = ModelMessage::Assistant(reply.message);
        call.request.messages.push(said);
    }
    let repair = format!(
        "That cannot be used: {}. Nothing was changed. Answer once more, with the JSON object alone.",
        unreadable.problem
    );
    let repair = ModelMessage::User(repair.into());
    call.request.messages.push(repair);
    let reply = call.answer().await?;
    read(reply.text.expose()).map_err(|unreadable| {
        if reply.finish != Finish::Length {
            return NotAnswered::Unreadable(unreadable);
        }
        let cut = call.give_more_room(&reply);
        NotAnswered::Unreadable(Unreadable {
            problem: format!("{cut}; {}", cut.hint()),
            ..unreadable
        })
    })
}

/// Whether the error may mean that the provider does not support the schema.
fn is_about_schema(error: &ModelError) -> bool {
    matches!(
        error,
        ModelError::Rejected {
            status: 400 | 404 | 422 | 501,
            ..
        }
    )
}
