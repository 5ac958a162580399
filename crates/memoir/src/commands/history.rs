//! `memoir history`: the history of memories.

use memoir_domain::memory::Number;

use crate::{
    failure::{Ending, Outcome},
    installation::Installation,
    options::Global,
    output, parse, show, terminal,
};

/// Show the history of an agent's memories: every text, merge, move and undo
///
/// Below each memory are those that it was merged from, as a tree. Changes of a text are shown line by line, in colour
/// word by word; later undone changes are marked.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent
    agent: String,
    /// One memory, with all its ancestors
    #[arg(value_parser = parse::number)]
    number: Option<Number>,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let installation = Installation::existing(global).await?;
    let agent = installation.agent(&arguments.agent).await?;
    let agent = installation.own(&agent).await?;
    let history = agent.history(arguments.number).await?;
    if global.json {
        output::json(&history)?;
    } else if history.memories.is_empty() {
        terminal::note("there is no memory yet");
    } else {
        output::print(&show::history::tree(&history, arguments.number))?;
    }
    Ok(Ending::Done)
}
