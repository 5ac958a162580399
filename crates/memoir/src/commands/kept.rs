//! `memoir kept`: how much of what was ever said is still said, and what sessions let go.

use memoir_app::{KeptView, ShownWording, WordingQuery};
use serde::Serialize;

use crate::{
    cli::Global,
    failure::{Ending, Outcome},
    installation::Installation,
    show::{self, List},
    terminal,
};

/// Show how much of what an agent ever saved is still said, and which words its sessions let go
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent [default: `MEMOIR_AGENT`, or the only one that there is]
    agent: Option<String>,
}

/// What is shown to programs.
#[derive(Serialize)]
struct KeptOutput {
    kept: KeptView,
    #[serde(flatten)]
    let_go: List<ShownWording>,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let installation = Installation::open(global).await?;
    let agent = installation
        .agent_or_only(arguments.agent.as_deref())
        .await?;
    let lens = agent.seen_by(installation.viewer(&agent).await?);
    let let_go = lens.wordings(&WordingQuery::LET_GO).await?;
    let kept = agent.kept().await?;
    if global.json {
        let let_go = List::whole(let_go);
        terminal::json(&KeptOutput { kept, let_go })?;
        return Ok(Ending::Done);
    }
    terminal::print(&show::kept::line(&kept))?;
    if !let_go.is_empty() {
        terminal::print(&format!("\n{}", show::kept::list(&let_go)))?;
        terminal::note("`memoir restore AGENT NUMBER` brings one back");
    }
    Ok(Ending::Done)
}
