//! `memoir agent erase`

use memoir_domain::agent::fold_name;

use crate::{
    failure::{Failure, Outcome},
    installation::Installation,
    options::Global,
    output, parse,
    show::counted,
    terminal::{self, safe},
};

/// Destroy an agent's key, so that none of its texts can ever be read again
///
/// The memories, prompts and records stay in the database as bytes that cannot be opened, in every copy of it. The
/// chain of the agent's records stays and still verifies. Old copies of the key store restore the key: destroy them
/// too, and run `memoir key rotate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Its name or identifier
    #[arg(value_name = "NAME")]
    agent: String,
    /// Do not ask for the agent's name to be typed
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let (installation, agent) = Installation::of_agent(global, Some(&arguments.agent)).await?;
    if !arguments.yes {
        confirm(agent.name())?;
    }
    let erased = agent.log().erase(&installation.author()).await?;
    if global.json {
        return output::json(&erased);
    }
    let counts = erased.counts;
    let active = counts.core_count + counts.journal_count + counts.archival_count;
    output::print(&format!(
        "erased `{}`: its key is destroyed, and its {} can never be read again\n",
        safe(&erased.name),
        counted(active + counts.discarded_count, "memory", "memories"),
    ))?;
    terminal::note(
        "its records stay, and `memoir audit verify` still checks them; old copies of the key store bring the key back: \
         destroy them too, and run `memoir key rotate`",
    );
    Ok(())
}

/// Reads the name as confirmation, from a terminal or a pipe.
fn confirm(name: &str) -> Result<(), Failure> {
    let prompt = format!(
        "This destroys the key of `{}`. None of its texts can be read again. Type its name to continue:",
        safe(name)
    );
    let typed = parse::typed_line(&prompt, "the name")?;
    // Names ignore case (SPEC 2.2).
    if fold_name(typed.trim()) == fold_name(name) {
        return Ok(());
    }
    Err(Failure::new(format!(
        "nothing was erased: the name `{}` was not typed",
        safe(name)
    ))
    .hint("type the agent's name, or give `--yes`"))
}
