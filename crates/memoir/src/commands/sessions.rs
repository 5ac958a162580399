//! `memoir sessions`: an agent's sessions and how they ended.

use crate::{
    failure::{Ending, Outcome},
    installation::Installation,
    options::Global,
    output, parse,
    show::{self, List},
    terminal,
};

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
    if global.json {
        output::json(&List::whole(sessions))?;
    } else if sessions.is_empty() {
        terminal::note("there was no session yet");
    } else {
        output::print(&show::session::list(&sessions))?;
    }
    Ok(Ending::Done)
}
