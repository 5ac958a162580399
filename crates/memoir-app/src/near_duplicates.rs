//! Near duplicates: pairs of active core memories that look alike, for a viewer that may read them. Nothing is done
//! with them.

use memoir_domain::{
    memory::Memory,
    near_duplicates::{self, Difference},
};
use memoir_store::Selection;
use serde::Serialize;

use crate::{OwnAgent, Result, ShownMemory, memories::memory_query};

/// Two active core memories that look alike.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NearDuplicateView {
    /// The one with the lower number.
    pub left: ShownMemory,
    /// The other one.
    pub right: ShownMemory,
    /// The share of all their words that both have, over 0, up to 1.
    pub similarity: f64,
    /// Whether the duplicate cleanup of a session joins them by itself (SPEC 3.4).
    pub exact: bool,
    /// What differs; none where they are exact duplicates.
    pub differences: Vec<Difference>,
    /// Differences beyond those named.
    pub more_differences: usize,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NearDuplicatesView {
    /// The pairs listed, exact duplicates first, then the most alike.
    pub items: Vec<NearDuplicateView>,
    /// Pairs that were found beyond those listed.
    pub more: u64,
    /// Whether all pairs were searched for; where not, there are more than `more`.
    pub is_complete: bool,
}

impl OwnAgent {
    /// Pairs of active core memories that look alike, at most `limit` of them, and what differs.
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
            .links_of(loaded.memories.iter().filter(is_found))
            .await?;
        let view = |number| {
            let memory = loaded
                .memories
                .iter()
                .find(|memory| memory.number == number);
            memory.map(|memory| ShownMemory::with_words(memory.clone(), &links))
        };
        // The pairs were found among the loaded memories, so `?` leaves none out.
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
