//! `memoir shred`: removes the text of memories from everywhere, permanently.

use memoir_app::{OwnAgent, ShredWish, Shredded, StoredTranscript};
use memoir_domain::{PrivateText, audit::Actor, memory::Number};

use super::handle;
use crate::{
    failure::{Failure, Outcome},
    installation::Installation,
    options::Global,
    output, parse,
    show::{self, counted, when},
    terminal,
};

/// Remove the text of memories from everywhere, permanently
///
/// For text that must not exist, such as a pasted key. It is removed from the memory, its history and the audit; time
/// and reason stay on the record, and the chain still verifies. It cannot be restored. Copies of it and summaries over
/// it are named; `--derived` shreds these too, and the session reports that rest on it. Earlier copies of the database
/// still contain the text, sealed.
#[derive(Debug, clap::Args)]
#[command(override_usage = "memoir shred [OPTIONS] [AGENT] <NUMBER>...")]
pub(crate) struct Arguments {
    #[command(flatten)]
    memories: handle::Arguments,
    /// The reason, for the audit; not the text itself
    #[arg(
        long,
        value_name = "TEXT",
        value_parser = parse::text(),
        default_value = "asked for on the command line"
    )]
    reason: PrivateText,
    /// Also shred its copies, the summaries that were written over it, and the session reports that rest on it
    #[arg(long)]
    derived: bool,
    /// Do not ask for each number to be typed
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let installation = Installation::existing(global).await?;
    let (agent, numbers) = installation
        .numbered(&arguments.memories.first, &arguments.memories.numbers)
        .await?;
    // A text is removed permanently at the agent's own request.
    let agent = installation.own(&agent).await?;
    let actor = installation.owner_or_actor(&agent).await?;
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for &number in &numbers {
        match shred(&agent, number, &arguments, &actor).await {
            Ok(shredded) => {
                if !global.json {
                    report(&shredded)?;
                }
                done.push(shredded);
            }
            Err(failure) if numbers.len() == 1 => return Err(failure),
            Err(failure) => failed.push((number, failure)),
        }
    }
    if global.json {
        output::several(numbers.len(), done)?;
    }
    Failure::of_several(numbers.len(), failed)
}

async fn shred(
    agent: &OwnAgent,
    number: Number,
    arguments: &Arguments,
    actor: &Actor,
) -> Result<Shredded, Failure> {
    if !arguments.yes {
        // The check comes before the user types a number for confirmation.
        agent.memories().check_shred(number, actor).await?;
        confirm(number)?;
    }
    let wish = ShredWish {
        number,
        reason: arguments.reason.expose(),
        derived: arguments.derived,
    };
    Ok(agent.memories().shred(wish, actor).await?)
}

fn report(shredded: &Shredded) -> Result<(), Failure> {
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
            "summaries and copies of it that still have their text: {summaries}; shred them too where they contain it"
        ));
    }
    shredded.transcript.iter().for_each(name_transcript);
    Ok(())
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
    let prompt =
        format!("This removes the text of {number} permanently. Type its number to continue:");
    let typed = parse::typed_line(&prompt, "the number")?;
    if parse::number(typed.trim()) == Ok(number) {
        return Ok(());
    }
    Err(Failure::new(format!(
        "nothing was shredded: the number {number} was not typed"
    ))
    .hint("type the memory's number, or give `--yes`"))
}
