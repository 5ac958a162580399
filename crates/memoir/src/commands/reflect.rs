//! `memoir reflect`: promotes journal entries of the last week to core.

use crate::{
    failure::{Failure, Outcome},
    installation::Installation,
    options::Global,
    output,
    show::{counted, joined},
    terminal,
};

/// Let the agent's model name the journal entries of the last week that become core memories
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent [default: `MEMOIR_AGENT`, or the only one]
    agent: Option<String>,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let (_, agent) = Installation::of_agent(global, arguments.agent.as_deref()).await?;
    terminal::progress("the model reads the journal");
    let reflected = agent.life().reflect().await?;
    let outcome = Failure::refused_unless(reflected.failure.is_none());
    if global.json {
        output::json(&reflected)?;
        return outcome;
    }
    if let Some(failure) = &reflected.failure {
        terminal::note(&format!(
            "nothing was promoted: {failure}; that is on the agent's record"
        ));
        return outcome;
    }
    let considered = counted(reflected.considered as u64, "entry", "entries");
    output::print(
        &match (reflected.considered, reflected.promoted.as_slice()) {
            (0, _) => {
                "there is no journal entry of the last week but what Memoir wrote itself".to_owned()
            }
            (_, []) => format!("looked at {considered}; none is to become a core memory"),
            (_, promoted) => format!(
                "looked at {considered}; core memories now: {}",
                joined(promoted, ", ")
            ),
        },
    )?;
    outcome
}
