//! Language models behind one trait: OpenAI-compatible servers, Anthropic, and the built-in refiner; and models of
//! embeddings behind another: servers, and the built-in one.
//!
//! Owns the wire formats, the keys, and the classification of failures. Does not own retrying,
//! budgets or the tool loop: those are the session's (SPEC 3.16).

mod anthropic;
mod arguments;
mod builtin_embedder;
mod call_ids;
mod careful;
mod context_sizes;
mod embeddings;
mod error;
mod http;
mod key;
mod message;
mod name;
mod openai;
mod provider;
mod providers;

use async_trait::async_trait;

pub use builtin_embedder::{BUILTIN_EMBEDDINGS, builtin_embeddings};
pub use embeddings::{Embedder, EmbedderPlace, EmbeddingModel, Embeddings, Purpose};
pub use error::{ErrorCode, ModelError, Outage};
pub use key::{ApiKey, BadKey};
pub use message::{
    AnswerSchema, Arguments, Finish, ModelMessage, ModelRequest, OfferedTool, Reply, TokenUsage,
    ToolCall,
};
pub use name::{KNOWN_PROVIDERS, ModelName, ModelNameError};
pub use provider::{
    KeySource, OutputLimitField, Provider, ProviderKind, ProviderSettings, SettingsError,
    SettingsProblem, is_loopback,
};
pub use providers::{ConnectError, Providers};

/// A language model that can hold a conversation and call tools.
#[async_trait]
pub trait Model: Send + Sync {
    /// `provider:name`, as configured.
    fn name(&self) -> &ModelName;

    /// How many tokens the model can read and write in one turn; `u32::MAX` when there is no limit, `None` if unknown.
    /// SPEC 3.7 cuts the ledger to it.
    fn context_tokens(&self) -> Option<u32> {
        None
    }

    /// The most tokens of one answer, if configured (SPEC 2.2).
    fn answer_tokens(&self) -> Option<u32> {
        None
    }

    /// Requests one turn. Makes one attempt: the caller retries.
    ///
    /// # Errors
    /// A [`ModelError`], which says whether another attempt may help and never holds words of the
    /// request.
    async fn complete(&self, request: &ModelRequest) -> Result<Reply, ModelError>;
}
