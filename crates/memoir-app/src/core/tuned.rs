//! An agent's model with the agent's settings for its requests (SPEC 2.2).

use std::sync::Arc;

use async_trait::async_trait;
use memoir_domain::agent::{self, ReasoningEffort};
use memoir_model::{ConnectError, Model, ModelError, ModelName, ModelRequest, Reply};

use crate::core::Memoir;

/// The provider whose models follow rules and do not understand text.
pub(crate) const RULES_ONLY: &str = "builtin";

struct ConfiguredModel {
    model: Arc<dyn Model>,
    reasoning_effort: Option<ReasoningEffort>,
    answer_tokens: Option<u32>,
}

#[async_trait]
impl Model for ConfiguredModel {
    fn name(&self) -> &ModelName {
        self.model.name()
    }

    fn context_tokens(&self) -> Option<u32> {
        self.model.context_tokens()
    }

    fn answer_tokens(&self) -> Option<u32> {
        self.answer_tokens
    }

    async fn complete(&self, request: &ModelRequest) -> Result<Reply, ModelError> {
        // A copy of the conversation is cheap beside the time of the model.
        let request = ModelRequest {
            reasoning_effort: self.reasoning_effort,
            ..request.clone()
        };
        self.model.complete(&request).await
    }
}

impl Memoir {
    pub(crate) fn connect(
        &self,
        name: &ModelName,
        settings: &agent::Settings,
    ) -> Result<Arc<dyn Model>, ConnectError> {
        let model = self.models.connect(name)?;
        let (reasoning_effort, answer_tokens) = (settings.reasoning_effort, settings.answer_tokens);
        if reasoning_effort.is_none() && answer_tokens.is_none() {
            return Ok(model);
        }
        Ok(Arc::new(ConfiguredModel {
            model,
            reasoning_effort,
            answer_tokens,
        }))
    }
}
