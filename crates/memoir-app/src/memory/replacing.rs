//! The data for replacing memories of an agent (SPEC 2.4): all its memories, and how many were replaced recently.

use memoir_domain::{
    audit::Action,
    manage::Saving,
    memories::AllMemories,
    replace::{Replacing, WEEK_DAYS, WEEK_LIMIT},
};
use memoir_store::{AgentQuery, RecordFilter, Selection};

use crate::{
    core::{Result, opened::MemoryList},
    memory::Memories,
};

/// The query for saving these: all memories where one of them replaces others.
pub(crate) fn query_to_save(savings: &[Saving]) -> AgentQuery {
    query_to_replace(savings.iter().any(|saving| !saving.replaces.is_empty()))
}

/// The query for a save that replaces memories, or none.
pub(crate) fn query_to_replace(replaces: bool) -> AgentQuery {
    AgentQuery::of_memories(match replaces {
        true => Selection::All,
        false => Selection::None,
    })
}

/// For a save that replaces nothing: of these memories alone.
pub(crate) fn without_replacing(memories: &MemoryList) -> Replacing {
    Replacing::new(AllMemories::new(memories.shared()), 0)
}

impl Memories<'_> {
    /// The data for replacing memories. `memories` are all of the agent's, discarded ones included, loaded before this
    /// is called: a replacement that is written in between makes the decision a conflict.
    pub(crate) async fn replacing(self, memories: &MemoryList) -> Result<Replacing> {
        let filter = RecordFilter {
            since: Some(self.memoir.now().plus_days(-WEEK_DAYS)),
            // Beyond the limit the count is irrelevant.
            last: Some(WEEK_LIMIT),
            ..RecordFilter::of_actions([Action::MemoryReplaced])
        };
        let replaced = self.memoir.store.record_sizes(self.scope, &filter).await?;
        Ok(Replacing::new(
            AllMemories::new(memories.shared()),
            u32::try_from(replaced.len()).unwrap_or(u32::MAX),
        ))
    }

    /// As [`Memories::replacing`], for savings that may replace none, after loading [`query_to_save`].
    pub(crate) async fn replacing_for(
        self,
        savings: &[Saving],
        memories: &MemoryList,
    ) -> Result<Replacing> {
        match query_to_save(savings).memories {
            Selection::All => self.replacing(memories).await,
            _ => Ok(without_replacing(memories)),
        }
    }
}
