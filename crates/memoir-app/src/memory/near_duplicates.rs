//! Near duplicates: pairs of similar active core memories, for a viewer that may read them. They are only shown.

use memoir_domain::{
    memory::Memory,
    near_duplicates::{self, NearDuplicate, NearDuplicates},
};
use memoir_store::Selection;

use crate::{
    core::Result,
    shown::{OwnAgent, ShownMemory},
};

impl OwnAgent {
    /// Pairs of similar active core memories, at most `limit` of them, and their differences.
    ///
    /// # Errors
    /// The store fails.
    pub async fn near_duplicates(&self, limit: usize) -> Result<NearDuplicates<ShownMemory>> {
        let loaded = self.load_memories(Selection::ActiveCore).await?;
        let how = loaded.agent.settings.effective_duplicate_match();
        let found = near_duplicates::near_duplicates(&loaded.memories, how, limit);
        let is_found = |memory: &&Memory| {
            let mut pairs = found.items.iter();
            pairs.any(|pair| pair.left == memory.number || pair.right == memory.number)
        };
        let paired = loaded.memories.iter().filter(is_found);
        let links = self.views().links_of(paired).await?;
        let view = |number| {
            let mut memories = loaded.memories.iter();
            let memory = memories.find(|memory| memory.number == number);
            memory.map(|memory| ShownMemory::with_words(memory.clone(), &links))
        };
        // The pairs were found among the loaded memories, so `?` omits none.
        let pairs = found.items.into_iter().filter_map(|pair| {
            Some(NearDuplicate {
                left: view(pair.left)?,
                right: view(pair.right)?,
                similarity: pair.similarity,
                exact: pair.exact,
                differences: pair.differences,
                more_differences: pair.more_differences,
            })
        });
        Ok(NearDuplicates {
            items: pairs.collect(),
            more: found.more,
            is_complete: found.is_complete,
        })
    }
}
