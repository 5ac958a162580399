//! The settings of an installation, with their defaults.

use std::{collections::BTreeMap, time::Duration};

use memoir_domain::{
    schedule::{DailySlot, WeeklySlot},
    session::Usage,
};
use memoir_model::{EmbeddingModel, ModelError, ModelName};
use serde::Deserialize;

use crate::core::{quotas::Quotas, retry::doubled};

/// The settings of an installation.
#[derive(Debug, Clone, PartialEq)]
pub struct InstallationSettings {
    /// The model of agents that set none.
    pub default_model: Option<ModelName>,
    /// Whether several machines share the store: then the installation is closed from the beginning, until an
    /// administrator opens it (SPEC 5.5).
    pub is_shared: bool,
    /// Whether the service queues sessions of agents that are due.
    pub schedule: bool,
    /// When agents are due each week.
    pub weekly_slot: WeeklySlot,
    /// When agents reflect each day.
    pub daily_slot: DailySlot,
    /// The limits of a session that Memoir drives.
    pub limits: SessionLimits,
    /// Recall.
    pub recall: RecallSettings,
    /// The quotas of agents and accounts.
    pub quotas: Quotas,
    /// The prices of models, by `provider:name`.
    pub prices: BTreeMap<ModelName, Price>,
    /// The context size of models without a known one, in tokens.
    pub context_tokens: u32,
    /// How long a worker's lease on a session lasts unless renewed.
    pub lease: Duration,
    /// How long an agent may make no call in a session that it opened itself.
    pub idle: Duration,
}

impl Default for InstallationSettings {
    fn default() -> Self {
        Self {
            default_model: None,
            is_shared: false,
            schedule: true,
            weekly_slot: WeeklySlot::default(),
            daily_slot: DailySlot::default(),
            limits: SessionLimits::default(),
            recall: RecallSettings::default(),
            quotas: Quotas::default(),
            prices: BTreeMap::new(),
            // Small: a ledger that is too short leaves rows for the next session, one that is too long is refused by
            // the provider.
            context_tokens: 32_000,
            // Renewed after a third of it, so that a slow renewal loses nothing; an agent whose worker died waits once.
            lease: Duration::from_secs(30),
            idle: Duration::from_secs(30 * 60),
        }
    }
}

/// The settings of recall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecallSettings {
    /// The most memory of all word indexes together, in bytes; vectors count too.
    pub index_bytes: usize,
    /// The fewest active memories of an agent whose index is stored for other processes.
    pub stored_from: u64,
    /// The embedding model for finding memories by meaning too; `None`: by words alone.
    pub embeddings: Option<ModelName>,
    /// The prefix of each query for that model, without a line break; `None`: the one of its model card.
    pub before_questions: Option<String>,
    /// The prefix of each memory, without a line break; `None`: the one of its model card.
    pub before_memories: Option<String>,
    /// How long a recall waits for the vector of its query.
    pub question_time: Duration,
}

impl Default for RecallSettings {
    fn default() -> Self {
        Self {
            // The words of some hundred and ninety thousand memories, or of eighty thousand with vectors of 384
            // dimensions (docs/recall.md).
            index_bytes: 64 << 20,
            // To index fewer takes no longer than to read the stored index.
            stored_from: 500,
            embeddings: None,
            before_questions: None,
            before_memories: None,
            question_time: Duration::from_secs(2),
        }
    }
}

impl RecallSettings {
    /// The model that makes vectors; `None`: memories are found by words alone.
    pub(crate) fn embedding_model(&self) -> Option<EmbeddingModel> {
        let mut made = EmbeddingModel::of(self.embeddings.clone()?);
        if let Some(before) = &self.before_questions {
            made.before_questions.clone_from(before);
        }
        if let Some(before) = &self.before_memories {
            made.before_memories.clone_from(before);
        }
        Some(made)
    }
}

/// The limits after which a session is abandoned (SPEC 3.16), and the retries of a failing provider.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SessionLimits {
    /// Responses of the model once the session is open. All limits are counted for the whole session, also where another
    /// process resumes it.
    pub turns: u32,
    /// Time from the request for consent on. A wait for another process does not count.
    pub time: Duration,
    /// Tokens sent and received.
    pub tokens: u64,
    /// In the currency of the prices; applies only to models with a price.
    pub cost: Option<f64>,
    /// The output limit of one response, in tokens.
    pub answer_tokens: u32,
    /// Attempts at one call of the model, the first included.
    pub attempts: u32,
    /// The wait after the first failed attempt; each further attempt waits twice as long.
    pub first_wait: Duration,
    /// The longest wait, unless the provider requests a longer one.
    pub longest_wait: Duration,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            turns: 40,
            time: Duration::from_secs(15 * 60),
            tokens: 200_000,
            cost: None,
            answer_tokens: 4_096,
            // With these waits half a minute in all.
            attempts: 6,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(60),
        }
    }
}

impl SessionLimits {
    /// The wait for the next attempt after so many failed ones, the last of which failed with `error`: growing, and
    /// never shorter than the provider's request. `None` where no further one is made.
    pub(crate) fn wait_after(&self, failures: u32, error: &ModelError) -> Option<Duration> {
        if !error.is_retryable() || failures >= self.attempts {
            return None;
        }
        let growing = doubled(self.first_wait, failures, self.longest_wait);
        // The provider's wait is not cut to the longest wait: an earlier request is refused again.
        Some(error.retry_after().unwrap_or(Duration::ZERO).max(growing))
    }
}

/// The price of a model, per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Tokens sent.
    pub input_per_million: f64,
    /// Tokens received.
    pub output_per_million: f64,
}

impl Price {
    /// The cost of `usage`.
    pub fn cost(&self, usage: &Usage) -> f64 {
        (usage.input_tokens as f64 * self.input_per_million
            + usage.output_tokens as f64 * self.output_per_million)
            / 1_000_000.0
    }
}
