//! A question whose answer is JSON: asked with the provider's schema where it has such a thing, again where
//! the provider fails, and once more where the answer cannot be read.

use std::pin::Pin;

use memoir_domain::{answer::Unreadable, prompt::Prompt};
use memoir_model::{AnswerSchema, Finish, Model, ModelError, ModelMessage, ModelRequest, Reply};
use tokio::time::Instant;

use crate::{Memoir, settings::MORE_ROOM};

/// What a model is asked.
pub(super) struct ModelQuestion {
    pub(super) prompt: Prompt,
    pub(super) schema: AnswerSchema,
}

/// Comes to its end when whoever asks has to stop. It is not looked at again after that.
pub(super) type Stop<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum NotAnswered {
    /// What was said cannot be used, not even after it was asked for once more.
    Unreadable(Unreadable),
    /// The provider refuses what it is asked, and would refuse it again.
    Refused(String),
    /// The provider failed for good, or the time is over.
    Model(String),
    /// Whoever asked has to stop.
    Stopped,
}

impl Memoir {
    /// Asks, and reads the answer with `read`; until `stop`.
    pub(super) async fn question<T>(
        &self,
        model: &dyn Model,
        question: ModelQuestion,
        read: impl Fn(&str) -> Result<T, Unreadable>,
        stop: &mut Stop<'_>,
    ) -> Result<T, NotAnswered> {
        tokio::select! {
            // Who has to stop does not ask at all.
            biased;
            () = stop => Err(NotAnswered::Stopped),
            answer = self.asked_twice(model, question, read) => answer,
        }
    }

    async fn asked_twice<T>(
        &self,
        model: &dyn Model,
        question: ModelQuestion,
        read: impl Fn(&str) -> Result<T, Unreadable>,
    ) -> Result<T, NotAnswered> {
        let mut request = ModelRequest {
            system: question.prompt.system,
            messages: vec![ModelMessage::User(question.prompt.user)],
            tools: Vec::new(),
            answer_schema: Some(question.schema),
            max_output_tokens: model
                .answer_tokens()
                .unwrap_or(self.settings.limits.answer_tokens),
            reasoning_effort: None,
        };
        // One deadline for both questions and all waits: the claim of whoever asks lasts no longer.
        let deadline = Instant::now() + self.settings.limits.time;
        let reply = self.answered(model, &mut request, deadline).await?;
        let unreadable = match read(reply.text.expose()) {
            Ok(answer) => return Ok(answer),
            Err(unreadable) => unreadable,
        };
        if reply.finish == Finish::Length {
            // It was cut off: what it says is not echoed, and it gets more room.
            request.max_output_tokens = request.max_output_tokens.saturating_mul(MORE_ROOM);
        } else if !reply.text.expose().trim().is_empty() {
            // An empty answer is not echoed: some providers refuse empty messages.
            request
                .messages
                .push(ModelMessage::Assistant(reply.message));
        }
        let repair = format!(
            "That cannot be used: {}. Nothing was changed. Answer once more, with the JSON object alone.",
            unreadable.problem
        );
        request.messages.push(ModelMessage::User(repair.into()));
        let reply = self.answered(model, &mut request, deadline).await?;
        read(reply.text.expose()).map_err(NotAnswered::Unreadable)
    }

    /// One answer, after as many attempts and waits as a session's calls get (SPEC 3.16).
    async fn answered(
        &self,
        model: &dyn Model,
        request: &mut ModelRequest,
        deadline: Instant,
    ) -> Result<Reply, NotAnswered> {
        let limits = self.settings.limits;
        let mut failures = 0;
        loop {
            let error = match tokio::time::timeout_at(deadline, model.complete(request)).await {
                Ok(Ok(reply)) => return Ok(reply),
                Ok(Err(error)) => error,
                Err(_) => return Err(NotAnswered::Model("the model took too long".to_owned())),
            };
            // At most once, and no attempt: without a schema the same question is another one.
            if is_about_schema(&error) && request.answer_schema.take().is_some() {
                continue;
            }
            failures += 1;
            if error.is_about_request() {
                return Err(NotAnswered::Refused(error.to_string()));
            }
            // A wait beyond the deadline would end as "too long", and hide what the provider said.
            let wait = limits.wait_after(failures, &error);
            match wait.filter(|wait| Instant::now() + *wait < deadline) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return Err(NotAnswered::Model(error.to_string())),
            }
        }
    }
}

/// Whether it may be the schema that the provider does not know.
fn is_about_schema(error: &ModelError) -> bool {
    matches!(
        error,
        ModelError::Rejected {
            status: 400 | 404 | 422 | 501,
            ..
        }
    )
}
