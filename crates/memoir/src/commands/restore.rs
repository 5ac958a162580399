//! `memoir restore`: gives one discarded memory back.

use memoir_app::Eyes;
use memoir_domain::memory::Number;

use crate::{
    cli::Global,
    commands::parse,
    failure::{Ending, Outcome},
    installation::{Installation, administrator},
    terminal,
};

/// Give one discarded memory back
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent
    agent: String,
    /// The memory's number
    #[arg(value_parser = parse::number)]
    number: Number,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let installation = Installation::open(global).await?;
    let agent = installation.agent(&arguments.agent).await?;
    let memory = agent.restore(arguments.number, &administrator()).await?;
    if global.json {
        match installation.eyes(&agent).await? {
            Eyes::Agent => terminal::json(&memory)?,
            Eyes::Administrator => terminal::json(&agent.blind_memory(memory.number).await?)?,
        }
    } else {
        terminal::print(&format!("restored {}", memory.number))?;
    }
    Ok(Ending::Done)
}
