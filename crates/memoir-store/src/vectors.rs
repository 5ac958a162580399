//! Vectors of memories, for search by meaning (SPEC 2.8).

use async_trait::async_trait;
use memoir_domain::{AgentScope, memory::Number};

use crate::{Result, StoredText};

/// The vector that a model made of one memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorRow {
    /// The memory.
    pub number: Number,
    /// The version of the memory's row that it was made of.
    pub version: u64,
    /// The model, as `provider:model`, and the prefix of each text.
    pub model: String,
    /// The vector.
    pub body: StoredText,
}

/// Vectors of active memories of every kind, each of one version of a memory's row.
/// [`Store::commit`](crate::Store::commit) deletes those of every memory that it writes, and all those of an erased
/// agent. They can be made again, and do not change the agent's version.
#[async_trait]
pub trait Vectors: Send + Sync {
    /// Those that a model made of these of the agent's active memories as they are, in no order.
    async fn vectors(
        &self,
        scope: AgentScope,
        model: &str,
        of: &[Number],
    ) -> Result<Vec<VectorRow>>;

    /// Keeps vectors, in place of what the same model made of the same memory. Passed over are those of memories
    /// that were discarded since, or have another version. How many are kept.
    async fn keep_vectors(&self, scope: AgentScope, vectors: Vec<VectorRow>) -> Result<u64>;
}
