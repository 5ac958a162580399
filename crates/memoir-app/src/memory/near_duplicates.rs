//! Near duplicates: pairs of similar active core memories, for a viewer that may read them. They are only shown.

use memoir_domain::{
    memory::Memory,
    near_duplicates::{self, Difference},
};
use memoir_store::Selection;
use serde::Serialize;

use crate::{
    core::Result,
    memory::memories::memory_query,
    shown::{OwnAgent, ShownMemory},
};

/// Two similar active core memories.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NearDuplicateView {
    /// The one with the lower number.
    pub left: ShownMemory,
    /// The other one.
    pub right: ShownMemory,
    /// The share of all their words that both have, above 0, up to 1.
    pub similarity: f64,
    /// Whether the duplicate cleanup of a session merges them (SPEC 3.4).
    pub exact: bool,
    /// The differences; empty for exact duplicates.
    pub differences: Vec<Difference>,
    /// Differences beyond those named.
    pub more_differences: usize,
}

/// The result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NearDuplicatesView {
    /// The pairs listed, exact duplicates first, then the most alike.
    pub items: Vec<NearDuplicateView>,
    /// Pairs that were found beyond those listed.
    pub more: u64,
    /// Whether the search was complete; otherwise there are more than `more`.
    pub is_complete: bool,
}

impl OwnAgent {
    /// Pairs of similar active core memories, at most `limit` of them, and their differences.
    ///
    /// # Errors
    /// The store fails.
    pub async fn near_duplicates(&self, limit: usize) -> Result<NearDuplicatesView> {
        let loaded = self.load(&memory_query(Selection::ActiveCore)).await?;
        let how = loaded.agent.settings.effective_duplicate_match();
        let found = near_duplicates::near_duplicates(&loaded.memories, how, limit);
        let is_found = |memory: &&Memory| {
            let mut pairs = found.pairs.iter();
            pairs.any(|pair| pair.left == memory.number || pair.right == memory.number)
        };
        let links = self
            .views()
            .links_of(loaded.memories.iter().filter(is_found))
            .await?;
        let view = |number| {
            let memory = loaded
                .memories
                .iter()
                .find(|memory| memory.number == number);
            memory.map(|memory| ShownMemory::with_words(memory.clone(), &links))
        };
        // The pairs were found among the loaded memories, so `?` omits none.
        let items = found.pairs.into_iter().filter_map(|pair| {
            Some(NearDuplicateView {
                left: view(pair.left)?,
                right: view(pair.right)?,
                similarity: pair.similarity,
                exact: pair.exact,
                differences: pair.differences,
                more_differences: pair.more_differences,
            })
        });
        Ok(NearDuplicatesView {
            items: items.collect(),
            more: found.more,
            is_complete: found.is_complete,
        })
    }
}
