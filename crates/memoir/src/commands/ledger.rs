//! `memoir ledger`: the memories as a list.

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
    /// The agent
    agent: String,
    /// Discarded ones too
    #[arg(long)]
    all: bool,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let installation = Installation::open(global).await?;
    let agent = installation.agent(&arguments.agent).await?;
    let memories = agent.memories(arguments.all).await?;
    if global.json {
        terminal::json(&List::whole(memories))?;
        return Ok(Ending::Done);
    }
    if !memories.is_empty() {
        terminal::print(&show::memories::list(&memories))?;
    }
    let view = agent.show().await?;
    terminal::note(&format!(
        "{}, {} of {} tokens; {}; {} discarded",
        counted(view.tally.core_count, "core memory", "core memories"),
        thousands(view.tally.core_tokens),
        thousands(view.effective_core_token_budget),
        counted(view.tally.journal_count, "journal entry", "journal entries"),
        thousands(view.tally.discarded_count)
    ));
    Ok(Ending::Done)
}
