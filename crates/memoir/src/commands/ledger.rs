//! `memoir ledger`: the core memories, or all memories, as a list.

use memoir_app::{AgentHandle, MemoryPage};
use memoir_domain::memory::Kind;

use crate::{
    failure::Outcome,
    installation::Installation,
    options::Global,
    output,
    show::{self, List, counted, thousands},
    terminal,
};

/// List the core memories, oldest first, or all memories
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent [default: `MEMOIR_AGENT`, or the only one]
    agent: Option<String>,
    /// Journal entries, archival and discarded memories too
    #[arg(long)]
    all: bool,
    /// Constitutional ones only, or with `false` others only
    #[arg(long, value_name = "TRUE|FALSE", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    protected: Option<bool>,
    /// Only journal entries that have expired from the prompt, or with `false` all other memories
    #[arg(long, alias = "faded", value_name = "TRUE|FALSE", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    expired: Option<bool>,
}

impl Arguments {
    fn page(&self, agent: &AgentHandle) -> MemoryPage {
        MemoryPage {
            limit: u32::MAX,
            // Expired memories are journal entries.
            kind: (!self.all && self.expired.is_none()).then_some(Kind::Core),
            with_discarded: self.all,
            protected: self.protected,
            expired: self
                .expired
                .map(|has_expired| agent.views().expired(has_expired)),
            ..MemoryPage::default()
        }
    }
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let (installation, agent) = Installation::of_agent(global, arguments.agent.as_deref()).await?;
    let lens = agent.views().seen_by(installation.viewer(&agent).await?);
    let page = arguments.page(&agent);
    let (mut memories, _) = lens.memory_page(&page, |_| true).await?;
    memories.sort_by_key(|memory| (memory.created_at, memory.number));
    if global.json {
        return output::json(&List::whole(memories));
    }
    if !memories.is_empty() {
        output::print(&show::memories::list(&memories))?;
    }
    let view = agent.views().show().await?;
    let counts = &view.counts;
    terminal::note(&format!(
        "{}, {} of {} tokens; {}, {} tokens; {} archival, {} tokens; {} discarded",
        counted(counts.core_count, "core memory", "core memories"),
        thousands(counts.core_tokens),
        thousands(view.effective_core_token_budget),
        counted(counts.journal_count, "journal entry", "journal entries"),
        thousands(counts.journal_tokens),
        thousands(counts.archival_count),
        thousands(counts.archival_tokens),
        thousands(counts.discarded_count)
    ));
    Ok(())
}
