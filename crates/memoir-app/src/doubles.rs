//! Pairs of memories that look alike, for whoever may read them. Nothing is done with them.

use memoir_domain::near_doubles::{self, Difference};
use memoir_store::Selection;
use serde::Serialize;

use crate::{OwnAgent, Result, ShownMemory, memories::memory_query};

/// Two kept core memories that look alike.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NearDoubleView {
    /// The one with the lower number.
    pub left: ShownMemory,
    /// The other one.
    pub right: ShownMemory,
    /// The share of all their words that both have, over 0, up to 1.
    pub similarity: f64,
    /// Whether a session's clean-up puts them together by itself (SPEC 3.4).
    pub exact: bool,
    /// What differs; none where they are exact doubles.
    pub differences: Vec<Difference>,
    /// Differences beyond those named.
    pub more_differences: usize,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NearDoublesView {
    /// The pairs listed, exact doubles first, then the most alike.
    pub items: Vec<NearDoubleView>,
    /// Pairs that were found beyond those listed.
    pub more: u64,
    /// Whether all pairs were looked for; where not, there are more than `more`.
    pub is_complete: bool,
}

impl OwnAgent {
    /// Pairs of kept core memories that look alike, at most `limit` of them, and what differs.
    ///
    /// # Errors
    /// The store fails.
    pub async fn near_doubles(&self, limit: usize) -> Result<NearDoublesView> {
        let loaded = self.load(&memory_query(Selection::KeptCore)).await?;
        let how = loaded.agent.settings.effective_duplicate_match();
        let found = near_doubles::near_doubles(&loaded.memories, how, limit);
        let view = |number| {
            let memory = loaded
                .memories
                .iter()
                .find(|memory| memory.number == number);
            memory.cloned().map(ShownMemory::with_words)
        };
        // The pairs were found among the loaded memories, so `?` leaves none out.
        let items = found.pairs.into_iter().filter_map(|pair| {
            Some(NearDoubleView {
                left: view(pair.left)?,
                right: view(pair.right)?,
                similarity: pair.similarity,
                exact: pair.exact,
                differences: pair.differences,
                more_differences: pair.more_differences,
            })
        });
        Ok(NearDoublesView {
            items: items.collect(),
            more: found.more,
            is_complete: found.is_complete,
        })
    }
}
