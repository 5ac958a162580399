//! `memoir history`: the history of memories.

use memoir_domain::memory::Number;

use crate::{
    failure::{Failure, Outcome},
    installation::Installation,
    options::Global,
    output, parse, show, terminal,
};

/// Show the history of an agent's memories: every text, merge, move and undo
///
/// Below each memory are those that it was merged from, as a tree. Changes of a text are shown line by line, in colour
/// word by word; later undone changes are marked.
#[derive(Debug, clap::Args)]
#[command(override_usage = "memoir history [OPTIONS] [AGENT] [NUMBER]...")]
pub(crate) struct Arguments {
    /// The agent; left out, it is `MEMOIR_AGENT`, or the only one
    #[arg(value_name = "AGENT")]
    first: Option<String>,
    /// These memories only, each with all its ancestors
    #[arg(value_name = "NUMBER", value_parser = parse::number)]
    numbers: Vec<Number>,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let installation = Installation::existing(global).await?;
    let (agent, numbers) = match &arguments.first {
        // A name alone means all its memories.
        Some(first) if !arguments.numbers.is_empty() || parse::number(first).is_ok() => {
            installation.numbered(first, &arguments.numbers).await?
        }
        name => (installation.agent_or_only(name.as_deref()).await?, vec![]),
    };
    let agent = installation.own(&agent).await?;
    if numbers.is_empty() {
        let history = agent.history(None).await?;
        if history.memories.is_empty() && !global.json {
            terminal::note("there is no memory yet");
            return Ok(());
        }
        return output::show(global.json, &history, || {
            show::history::tree(&history, None)
        });
    }
    let (mut found, mut failed) = (Vec::new(), Vec::new());
    for &number in &numbers {
        match agent.history(Some(number)).await {
            Ok(history) => found.push((number, history)),
            Err(error) if numbers.len() == 1 => return Err(error.into()),
            Err(error) => failed.push((number, error.into())),
        }
    }
    if global.json {
        let histories = found.into_iter().map(|(_, history)| history);
        output::several(numbers.len(), histories.collect())?;
    } else {
        let trees = found.iter();
        let trees = trees.map(|(number, history)| show::history::tree(history, Some(*number)));
        output::print(&show::joined(trees, "\n"))?;
    }
    Failure::of_several(numbers.len(), failed)
}
