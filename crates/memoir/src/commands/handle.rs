//! `memoir protect`, `unprotect`, `discard`, `promote` and `restore`: operations on memories by their numbers, without
//! showing their text.

use memoir_app::{Handling, ShownMemory};
use memoir_domain::memory::{Kind, Number};

use crate::{
    failure::{Failure, Outcome},
    installation::Installation,
    options::Global,
    output, parse, show, terminal,
};

/// Memories of an agent
#[derive(Debug, clap::Args)]
// A command with more arguments has a group of this name itself.
#[group(skip)]
pub(crate) struct Arguments {
    /// The agent; left out, it is `MEMOIR_AGENT`, or the only one
    // The first number where it is left out: no name of an agent can be distinguished from a number by the parser.
    #[arg(value_name = "AGENT")]
    pub(super) first: String,
    /// The memories' numbers
    #[arg(value_name = "NUMBER", value_parser = parse::number)]
    pub(super) numbers: Vec<Number>,
}

pub(crate) async fn run(global: &Global, arguments: Arguments, handling: Handling) -> Outcome {
    let installation = Installation::existing(global).await?;
    let (agent, numbers) = installation
        .numbered(&arguments.first, &arguments.numbers)
        .await?;
    let author = match handling {
        // The agent itself can, with its token (SPEC 2.4); the others are acts of an administrator.
        Handling::Promote => installation.owner_or_actor(&agent).await?,
        Handling::Discard | Handling::Protect | Handling::Unprotect | Handling::Restore => {
            installation.author()
        }
    };
    let (mut done, mut unchanged, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for &number in &numbers {
        let before = agent.memories().answered(&[number], &author).await;
        // Each is a step of its own, as over REST: a refusal stops none of the others.
        match agent.memories().handle(number, handling, &author).await {
            Ok(memory) => {
                let before = before.iter().flatten().next().map(state);
                if before == Some(state(&memory)) {
                    unchanged.push(number);
                }
                done.push(memory);
            }
            Err(error) if numbers.len() == 1 => return Err(error.into()),
            Err(error) => failed.push((number, error.into())),
        }
    }
    if global.json {
        output::several(numbers.len(), done)?;
    } else if !done.is_empty() {
        report(&done, &unchanged, handling)?;
    }
    Failure::of_several(numbers.len(), failed)
}

/// What these operations change of a memory.
fn state(memory: &ShownMemory) -> (Kind, bool, bool) {
    let is_discarded = memory.discarded_at.is_some();
    (memory.kind, memory.constitutional, is_discarded)
}

/// `unchanged`: the numbers of those that were in that state before.
fn report(done: &[ShownMemory], unchanged: &[Number], handling: Handling) -> Result<(), Failure> {
    let numbers = done.iter().map(|memory| memory.number);
    let changed: Vec<Number> = numbers
        .filter(|number| !unchanged.contains(number))
        .collect();
    let (verb, already, note) = match handling {
        Handling::Protect => (
            "protected",
            "protected already",
            Some("no session can delete, merge or archive it"),
        ),
        Handling::Unprotect => (
            "unprotected",
            "not protected",
            Some("sessions may delete, merge and archive it again"),
        ),
        Handling::Discard => (
            "discarded",
            "discarded already",
            Some("it is stored for ever, and in no prompt; `memoir restore` brings it back"),
        ),
        Handling::Promote => (
            "promoted",
            "core already",
            Some("it is in the prompt again"),
        ),
        Handling::Restore => ("restored", "active already", None),
    };
    if !changed.is_empty() {
        output::print(&format!("{verb} {}", show::numbers(&changed)))?;
    }
    if let Some(note) = note.filter(|_| changed.len() == 1) {
        terminal::note(note);
    }
    if !unchanged.is_empty() {
        let unchanged = show::numbers(unchanged);
        output::print(&format!("{already}, and not changed: {unchanged}"))?;
    }
    let (still, archived): (&str, Vec<Number>) = match handling {
        // A discarded memory that replaced others does not restore them (SPEC 2.4).
        Handling::Discard => {
            let sources = done.iter().flat_map(|memory| &memory.sources);
            ("still ", sources.copied().collect())
        }
        Handling::Restore => {
            let archival = done.iter().filter(|memory| memory.kind == Kind::Archival);
            ("", archival.map(|memory| memory.number).collect())
        }
        Handling::Protect | Handling::Unprotect | Handling::Promote => return Ok(()),
    };
    if !archived.is_empty() {
        terminal::note(&format!(
            "{still}in the archive: {}; `memoir promote` brings them back into the prompt",
            show::numbers(&archived)
        ));
    }
    Ok(())
}
