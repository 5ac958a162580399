//! `memoir sessions`: an agent's sessions and how they ended.

use crate::{failure::Outcome, installation::Installation, options::Global, output, parse, show};

/// List an agent's sessions, newest first
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent [default: `MEMOIR_AGENT`, or the only one]
    agent: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = parse::whole_number::<u32>(1..))]
    limit: u32,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let (installation, agent) = Installation::of_agent(global, arguments.agent.as_deref()).await?;
    let lens = agent.views().seen_by(installation.viewer(&agent).await?);
    let sessions = lens.session_page(None, arguments.limit).await?;
    let none = "there was no session yet";
    output::list(global.json, sessions, none, show::session::list)
}
