//! `memoir ledger`: the memories as a list.

use memoir_app::{AgentHandle, MemoryPage};

use crate::{
    cli::Global,
    failure::{Ending, Outcome},
    installation::Installation,
    show::{self, List, counted, thousands},
    terminal,
};

/// List the kept memories, oldest first
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent [default: `MEMOIR_AGENT`, or the only one that there is]
    agent: Option<String>,
    /// Discarded ones too
    #[arg(long)]
    all: bool,
    /// Constitutional ones only, or with `false` others only
    #[arg(long, value_name = "TRUE|FALSE", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    protected: Option<bool>,
    /// Journal entries only that have left the prompt, or with `false` what has not
    #[arg(long, value_name = "TRUE|FALSE", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    faded: Option<bool>,
}

impl Arguments {
    fn page(&self, agent: &AgentHandle) -> MemoryPage {
        MemoryPage {
            limit: u32::MAX,
            with_discarded: self.all,
            protected: self.protected,
            faded: self.faded.map(|is_faded| agent.faded(is_faded)),
            ..MemoryPage::default()
        }
    }
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let installation = Installation::open(global).await?;
    let agent = installation
        .agent_or_only(arguments.agent.as_deref())
        .await?;
    let lens = agent.seen_by(installation.viewer(&agent).await?);
    let mut memories = lens.memory_page(&arguments.page(&agent)).await?;
    memories.sort_by_key(|memory| (memory.created_at, memory.number));
    if global.json {
        terminal::json(&List::whole(memories))?;
        return Ok(Ending::Done);
    }
    if !memories.is_empty() {
        let now = installation.memoir.now();
        terminal::print(&show::memories::list(&memories, now))?;
    }
    let view = agent.show().await?;
    terminal::note(&format!(
        "{}, {} of {} tokens; {}, {} tokens; {} discarded",
        counted(view.counts.core_count, "core memory", "core memories"),
        thousands(view.counts.core_tokens),
        thousands(view.effective_core_token_budget),
        counted(
            view.counts.journal_count,
            "journal entry",
            "journal entries"
        ),
        thousands(view.counts.journal_tokens),
        thousands(view.counts.discarded_count)
    ));
    Ok(Ending::Done)
}
