//! `memoir shred`: takes the words of one memory out of everything, for good.

use std::io::{self, BufRead, IsTerminal};

use memoir_app::ShredWish;
use memoir_domain::{PrivateText, memory::Number};

use crate::{
    cli::Global,
    commands::parse,
    failure::{Ending, Failure, Outcome},
    installation::Installation,
    show::{self, counted},
    terminal,
};

/// Take the words of one memory out of everything, for good
///
/// For text that must not exist, such as a pasted key. The memory, its earlier wordings and what the audit
/// holds of it lose their words; when and why stays, and the chain still verifies. Nothing brings them
/// back. Kept memories that still say a sentence of it are named; `--derived` shreds these too.
/// Copies of the database made before still hold the words, sealed.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent
    agent: String,
    /// The memory's number
    #[arg(value_parser = parse::number)]
    number: Number,
    /// Why, for the audit; not the words themselves
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "asked for on the command line"
    )]
    reason: PrivateText,
    /// Also shred the kept memories that still say a sentence of it
    #[arg(long)]
    derived: bool,
    /// Do not ask for the number to be typed
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let installation = Installation::open(global).await?;
    let agent = installation.agent(&arguments.agent).await?;
    // Words are taken away for good at the agent's wish.
    let agent = installation.own(&agent).await?;
    let actor = installation.owner_or_actor(&agent).await?;
    if !arguments.yes {
        // The check comes before the user types a number for confirmation.
        agent.check_shred(arguments.number, &actor).await?;
        confirm(arguments.number)?;
    }
    let wish = ShredWish {
        number: arguments.number,
        reason: arguments.reason.expose(),
        derived: arguments.derived,
    };
    let shredded = agent.shred(wish, &actor).await?;
    if global.json {
        terminal::json(&shredded)?;
    } else {
        terminal::print(&format!(
            "shredded {}: its words are gone, and taken out of {}\n",
            shredded.memory.number,
            counted(shredded.redacted_records, "record", "records"),
        ))?;
        if !shredded.derived.is_empty() {
            let derived = show::numbers(&shredded.derived);
            terminal::print(&format!(
                "shredded with it, since they said a sentence of it: {derived}\n"
            ))?;
        }
        if !shredded.still_said_by.is_empty() {
            let saying = show::numbers(&shredded.still_said_by);
            terminal::note(&format!(
                "these memories still say a sentence of it: {saying}; shred them too where they need it"
            ));
        }
    }
    Ok(Ending::Done)
}

/// Has the number typed, from a terminal or a pipe.
fn confirm(number: Number) -> Result<(), Failure> {
    if io::stdin().is_terminal() {
        terminal::note(&format!(
            "This takes the words of {number} away for good. Type its number to go on:"
        ));
    }
    let mut typed = String::new();
    io::stdin()
        .lock()
        .read_line(&mut typed)
        .map_err(|error| Failure::new(format!("cannot read the number: {error}")))?;
    if parse::number(typed.trim()) == Ok(number) {
        return Ok(());
    }
    Err(Failure::new(format!(
        "nothing was shredded: the number {number} was not typed"
    ))
    .hint("type the memory's number, or give `--yes`"))
}
