//! `memoir completions`: the completion script of a shell.

use clap::Command;
use clap_complete::Shell;

use crate::{failure::Outcome, options::Global, output};

/// Print a shell's script for the completion of commands
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The shell
    shell: Shell,
}

/// `command` is the whole command line.
pub(crate) async fn run(_: &Global, arguments: Arguments, mut command: Command) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "memoir", &mut script);
    output::data(&script)
}
