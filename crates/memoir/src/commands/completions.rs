//! `memoir completions`: the completion script of a shell.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::{
    cli,
    failure::{Ending, Outcome},
    output,
};

/// Print a shell's script for the completion of commands
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut script = Vec::new();
    let mut command = cli::Arguments::command();
    clap_complete::generate(arguments.shell, &mut command, "memoir", &mut script);
    output::data(&script)?;
    Ok(Ending::Done)
}
