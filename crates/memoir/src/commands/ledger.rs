//! `memoir ledger`: the memories as a list.

use memoir_app::{Eyes, MemoryPage};
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
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let installation = Installation::open(global).await?;
    let agent = installation.agent(&arguments.agent).await?;
    match installation.eyes(&agent).await? {
        Eyes::Agent => {
            let memories = agent.memories(arguments.all).await?;
            tell(global, memories, show::memories::list)?;
        }
        Eyes::Administrator => {
            let page = MemoryPage {
                limit: u32::MAX,
                with_discarded: arguments.all,
                ..MemoryPage::default()
            };
            let mechanic = installation.mechanic(&agent).await?;
            let memories = mechanic.memory_page(&page).await?;
            tell(global, memories, show::memories::seen)?;
        }
    }
    if global.json {
        return Ok(Ending::Done);
    }
    let view = agent.show_to_administrator().await?;
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
