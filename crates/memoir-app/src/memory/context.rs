//! The text for the agent's runtime (SPEC 2.3).

use std::collections::BTreeSet;

use memoir_domain::{
    PrivateText,
    agent::Agent,
    context::{self, ArchiveNote, ContextMark, ContextPlan, ContextText},
    memory::{Kind, Number},
};
use memoir_store::{MemoryRow, Selection};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    core::{CONFLICT, Result, again, opened::MemoryList},
    memory::{Memories, memories::memory_query},
    shown::{OwnAgent, views::RefinementDue},
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
    /// The numbers of the memories that were omitted for lack of room.
    #[schema(value_type = Vec<u64>)]
    pub left_out: BTreeSet<Number>,
}

impl OwnAgent {
    /// The active core memories and the last week's journal, as far as they fit into the room of the agent's settings,
    /// and into `max_tokens` where given.
    ///
    /// # Errors
    /// The store fails.
    pub async fn context(&self, max_tokens: Option<u64>) -> Result<ContextView> {
        again(|| self.attempt_context(max_tokens)).await
    }

    async fn attempt_context(&self, max_tokens: Option<u64>) -> Result<ContextView> {
        let now = self.memoir.now();
        let journal_after = context::journal_since(now);
        let bounds = |agent: &Agent| context::Bounds::of(&agent.settings, max_tokens);
        let whole = memory_query(Selection::Context { journal_after });
        // In one read where all of it is a short load, as nearly always.
        if self.is_short(&whole).await? {
            let loaded = self.load(&whole).await?;
            let archive = self
                .memories()
                .archive_note(&loaded.agent, &loaded.memories)
                .await?;
            let context = context::build(&loaded.memories, now, bounds(&loaded.agent), &archive);
            return Ok(self.context_view(&loaded.agent, context));
        }
        let query = memory_query(Selection::ContextMarks { journal_after });
        let room = self.room_for(&query).await?;
        let mut snapshot = self.snapshot(&query).await?;
        let rows = std::mem::take(&mut snapshot.memories);
        let loaded = self.read(snapshot, None).await?;
        let marks = |kind| {
            let of_kind = rows.iter().filter(move |row| row.kind == kind);
            of_kind
                .filter(move |row| kind == Kind::Core || context::is_recent_at(row.created_at, now))
                .map(mark)
        };
        let bounds = bounds(&loaded.agent);
        let mut plan = ContextPlan::new(marks(Kind::Core), marks(Kind::Journal), bounds);
        let summaries: Vec<Number> = rows
            .iter()
            .filter(|row| row.is_summary)
            .map(|row| row.number)
            .collect();
        drop((rows, room));
        let archive = self
            .memories()
            .archive_note_of(&loaded.agent, summaries)
            .await?;
        loop {
            let wanted = plan.wanted();
            if wanted.is_empty() {
                break;
            }
            let count = wanted.len();
            let texts = self.load(&memory_query(Selection::Numbers(wanted))).await?;
            if texts.base.version() != loaded.base.version()
                || texts.memories.iter().count() != count
            {
                return Err(CONFLICT);
            }
            texts
                .memories
                .iter()
                .for_each(|memory| plan.give(memory, &archive));
        }
        Ok(self.context_view(&loaded.agent, plan.finish(&archive)))
    }

    fn context_view(&self, agent: &Agent, context: ContextText) -> ContextView {
        ContextView {
            text: context.text,
            core_tokens: context.core_tokens,
            journal_tokens: context.journal_tokens,
            left_out: context.left_out,
            refinement_due: self.memoir.refinement_due(agent),
        }
    }
}

fn mark(row: &MemoryRow) -> ContextMark {
    ContextMark {
        number: row.number,
        tokens: row.tokens,
        constitutional: row.constitutional,
        created_at: row.created_at,
        core_seq: row.core_seq,
    }
}

impl Memories<'_> {
    /// The note about the archive in a context of these memories.
    pub(crate) async fn archive_note(
        self,
        agent: &Agent,
        memories: &MemoryList,
    ) -> Result<ArchiveNote> {
        let summaries = memories.iter().filter(|memory| memory.is_summary);
        let summaries = summaries.map(|memory| memory.number).collect();
        self.archive_note_of(agent, summaries).await
    }

    /// As [`Memories::archive_note`], of a context with these summaries.
    async fn archive_note_of(self, agent: &Agent, summaries: Vec<Number>) -> Result<ArchiveNote> {
        let links = self
            .views()
            .links_around(summaries.iter().copied().collect())
            .await?;
        let sources = summaries.into_iter();
        Ok(ArchiveNote {
            memories: agent.tally.archival_count,
            sources: sources
                .map(|number| (number, links.sources(number).len()))
                .collect(),
        })
    }
}
