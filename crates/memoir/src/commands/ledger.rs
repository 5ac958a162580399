//! `memoir ledger`: the memories as a list.

use memoir_app::{AgentHandle, Eyes, MemoryPage};
use serde::Serialize;

use crate::{
    cli::Global,
    failure::{Ending, Failure, Outcome},
    installation::Installation,
    show::{self, List, counted, thousands},
    terminal,
};

/// List the kept memories, oldest first
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent
    agent: String,
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
    let agent = installation.agent(&arguments.agent).await?;
    let now = installation.memoir.now();
    match installation.eyes(&agent).await? {
        Eyes::Agent => {
            let mut memories = agent.memory_page(&arguments.page(&agent)).await?;
            memories.sort_by_key(|memory| (memory.created_at, memory.number));
            tell(global, memories, |shown| show::memories::list(shown, now))?;
        }
        Eyes::Administrator => {
            let mechanic = installation.mechanic(&agent).await?;
            let memories = mechanic.memory_page(&arguments.page(&agent)).await?;
            tell(global, memories, |shown| show::memories::seen(shown, now))?;
        }
    }
    if global.json {
        return Ok(Ending::Done);
    }
    let view = agent.show_to_administrator().await?;
    terminal::note(&format!(
        "{}, {} of {} tokens; {}, {} tokens; {} discarded",
        counted(view.tally.core_count, "core memory", "core memories"),
        thousands(view.tally.core_tokens),
        thousands(view.effective_core_token_budget),
        counted(view.tally.journal_count, "journal entry", "journal entries"),
        thousands(view.tally.journal_tokens),
        thousands(view.tally.discarded_count)
    ));
    Ok(Ending::Done)
}

fn tell<T: Serialize>(
    global: &Global,
    memories: Vec<T>,
    list: impl Fn(&[T]) -> String,
) -> Result<(), Failure> {
    if global.json {
        return terminal::json(&List::whole(memories));
    }
    if memories.is_empty() {
        return Ok(());
    }
    terminal::print(&list(&memories))
}
