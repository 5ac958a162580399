//! `memoir protect`, `memoir unprotect`, `memoir discard` and `memoir restore`: what is done with one
//! memory, by its number, without seeing a word of it.

use memoir_app::Handling;
use memoir_domain::memory::Number;

use crate::{
    cli::Global,
    commands::parse,
    failure::{Ending, Outcome},
    installation::Installation,
    terminal,
};

/// One memory of an agent
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent
    agent: String,
    /// The memory's number
    #[arg(value_parser = parse::number)]
    number: Number,
}

pub(crate) async fn run(global: &Global, arguments: Arguments, handling: Handling) -> Outcome {
    let installation = Installation::open(global).await?;
    let agent = installation.agent(&arguments.agent).await?;
    let number = arguments.number;
    let memory = agent
        .handle(number, handling, &installation.author())
        .await?;
    if global.json {
        terminal::json(&memory)?;
        return Ok(Ending::Done);
    }
    let (done, note) = match handling {
        Handling::Protect => ("protected", Some("no session can delete or merge it")),
        Handling::Unprotect => (
            "unprotected",
            Some("sessions may delete and merge it again"),
        ),
        Handling::Discard => (
            "discarded",
            Some("it is kept for ever, and in no prompt; `memoir restore` brings it back"),
        ),
        Handling::Restore => ("restored", None),
    };
    let said_by = match memory.number == number {
        true => String::new(),
        false => format!(
            " as {}, since {number} stands for other wordings too",
            memory.number
        ),
    };
    terminal::print(&format!("{done} {number}{said_by}"))?;
    if let Some(note) = note {
        terminal::note(note);
    }
    Ok(Ending::Done)
}
