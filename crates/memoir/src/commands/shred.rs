//! `memoir shred`: removes the text of one memory from everywhere, permanently.

use std::io::{self, BufRead, IsTerminal};

use memoir_app::{ShredWish, StoredTranscript};
use memoir_domain::{PrivateText, memory::Number};

use crate::{
    failure::{Ending, Failure, Outcome},
    installation::Installation,
    options::Global,
    output, parse,
    show::{self, counted, when},
    terminal,
};

/// Remove the text of one memory from everywhere, permanently
///
/// For text that must not exist, such as a pasted key. It is removed from the memory, its history and the audit; time
/// and reason stay on the record, and the chain still verifies. It cannot be restored. Summaries over it are named;
/// `--derived` shreds these too, and the session reports that rest on it. Earlier copies of the database still contain
/// the text, sealed.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent
    agent: String,
    /// The memory's number
    #[arg(value_parser = parse::number)]
    number: Number,
    /// The reason, for the audit; not the text itself
    #[arg(
        long,
        value_name = "TEXT",
        value_parser = parse::text(),
        default_value = "asked for on the command line"
    )]
    reason: PrivateText,
    /// Also shred the summaries that were written over it, and the session reports that rest on it
    #[arg(long)]
    derived: bool,
    /// Do not ask for the number to be typed
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let installation = Installation::existing(global).await?;
    let agent = installation.agent(&arguments.agent).await?;
    // A text is removed permanently at the agent's own request.
    let agent = installation.own(&agent).await?;
    let actor = installation.owner_or_actor(&agent).await?;
    if !arguments.yes {
        // The check comes before the user types a number for confirmation.
        agent
            .memories()
            .check_shred(arguments.number, &actor)
            .await?;
        confirm(arguments.number)?;
    }
    let wish = ShredWish {
        number: arguments.number,
        reason: arguments.reason.expose(),
        derived: arguments.derived,
    };
    let shredded = agent.memories().shred(wish, &actor).await?;
    if global.json {
        output::json(&shredded)?;
    } else {
        output::print(&format!(
            "shredded {}: its text is removed, also from {}\n",
            shredded.memory.number,
            counted(shredded.redacted_records, "record", "records"),
        ))?;
        if !shredded.derived.is_empty() {
            let derived = show::numbers(&shredded.derived);
            output::print(&format!(
                "shredded with it, since they rest on it: {derived}\n"
            ))?;
        }
        if !shredded.summaries.is_empty() {
            let summaries = show::numbers(&shredded.summaries);
            terminal::note(&format!(
                "summaries that were written over it: {summaries}; shred them too where they contain it"
            ));
        }
        shredded.transcript.iter().for_each(name_transcript);
    }
    Ok(Ending::Done)
}

/// Names the conversations that may hold the shredded text.
pub(crate) fn name_transcript(stored: &StoredTranscript) {
    let until = stored.absorbed_until.map_or_else(String::new, |until| {
        format!(", those that were read until {}", when(until))
    });
    terminal::note(&format!(
        "{} of conversations may contain it and are stored sealed{until}",
        counted(stored.waiting + stored.absorbed, "message", "messages")
    ));
}

/// Reads the number as confirmation, from a terminal or a pipe.
fn confirm(number: Number) -> Result<(), Failure> {
    if io::stdin().is_terminal() {
        terminal::note(&format!(
            "This removes the text of {number} permanently. Type its number to continue:"
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
