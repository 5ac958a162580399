//! The text for the agent's runtime (SPEC 2.3).

use std::collections::BTreeSet;

use memoir_domain::{
    PrivateText,
    agent::Agent,
    context::{self, ArchiveNote},
    memory::Number,
};
use memoir_store::Selection;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    AgentHandle, OwnAgent, RefinementDue, Result, memories::memory_query, opened::MemoryList,
};

/// The text for the agent's prompt.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = Context)]
pub struct ContextView {
    /// Empty where there are no memories.
    #[schema(value_type = String)]
    pub text: PrivateText,
    /// The size of the core memories in it.
    pub core_tokens: u64,
    /// The size of the journal in it.
    pub journal_tokens: u64,
    /// Whether a session is due now, and why.
    #[schema(required)]
    pub refinement_due: Option<RefinementDue>,
    /// The numbers of what is left out for want of room.
    #[schema(value_type = Vec<u64>)]
    pub left_out: BTreeSet<Number>,
}

impl OwnAgent {
    /// The active core memories and the last week's journal, as far as the agent's settings give them room, and
    /// in at most `max_tokens` where given.
    ///
    /// # Errors
    /// The store fails.
    pub async fn context(&self, max_tokens: Option<u64>) -> Result<ContextView> {
        let now = self.memoir.now();
        let selection = Selection::Context {
            journal_after: context::journal_since(now),
        };
        let loaded = self.load(&memory_query(selection)).await?;
        let bounds = context::Bounds::of(&loaded.agent.settings, max_tokens);
        let archive = self.archive_note(&loaded.agent, &loaded.memories).await?;
        let context = context::build(&loaded.memories, now, bounds, &archive);
        Ok(ContextView {
            text: context.text,
            core_tokens: context.core_tokens,
            journal_tokens: context.journal_tokens,
            left_out: context.left_out,
            refinement_due: self.memoir.refinement_due(&loaded.agent),
        })
    }
}

impl AgentHandle {
    /// What a context of these memories states of the archive.
    pub(crate) async fn archive_note(
        &self,
        agent: &Agent,
        memories: &MemoryList,
    ) -> Result<ArchiveNote> {
        let summaries = || memories.iter().filter(|memory| memory.is_summary);
        let links = self.links_of(summaries()).await?;
        let sources = summaries().map(|memory| (memory.number, links.sources(memory.number).len()));
        Ok(ArchiveNote {
            memories: agent.tally.archival_count,
            sources: sources.collect(),
        })
    }
}
