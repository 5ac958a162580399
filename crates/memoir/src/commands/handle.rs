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
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for &number in &numbers {
        // Each is a step of its own, as over REST: a refusal stops none of the others.
        match agent.memories().handle(number, handling, &author).await {
            Ok(memory) => done.push(memory),
            Err(error) if numbers.len() == 1 => return Err(error.into()),
            Err(error) => failed.push((number, error.into())),
        }
    }
    if global.json {
        output::several(numbers.len(), done)?;
    } else if !done.is_empty() {
        report(&done, handling)?;
    }
    Failure::of_several(numbers.len(), failed)
}

fn report(done: &[ShownMemory], handling: Handling) -> Result<(), Failure> {
    let numbers: Vec<Number> = done.iter().map(|memory| memory.number).collect();
    let (verb, note) = match handling {
        Handling::Protect => (
            "protected",
            Some("no session can delete, merge or archive it"),
        ),
        Handling::Unprotect => (
            "unprotected",
            Some("sessions may delete, merge and archive it again"),
        ),
        Handling::Discard => (
            "discarded",
            Some("it is stored for ever, and in no prompt; `memoir restore` brings it back"),
        ),
        Handling::Promote => ("promoted", Some("it is in the prompt again")),
        Handling::Restore => ("restored", None),
    };
    output::print(&format!("{verb} {}", show::numbers(&numbers)))?;
    if let Some(note) = note.filter(|_| numbers.len() == 1) {
        terminal::note(note);
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
