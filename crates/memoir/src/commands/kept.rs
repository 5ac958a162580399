//! `memoir kept`: the locations of an agent's originals, in counts.

use crate::{failure::Outcome, installation::Installation, options::Global, output, show};

/// Count an agent's originals: saved, in the prompt, in the archive, by calendar quarter of saving
///
/// An original is a text as its author saved it. Quarters are those of UTC. Numbers only: no text is read.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent [default: `MEMOIR_AGENT`, or the only one]
    agent: Option<String>,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let (_, agent) = Installation::of_agent(global, arguments.agent.as_deref()).await?;
    let originals = agent.log().originals().await?;
    output::show(global.json, &originals, || {
        show::originals::table(&originals)
    })
}
