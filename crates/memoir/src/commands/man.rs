//! `memoir man`: the manual's pages, one a command.

use std::path::PathBuf;

use clap::Command;
use serde_json::json;

use crate::{
    commands::agent::with_settings,
    failure::{Failure, Outcome},
    help::with_examples,
    options::Global,
    output, terminal,
};

/// Write the pages of the manual into a folder, one a command
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The folder, which must exist
    folder: PathBuf,
}

/// `command` is the whole command line.
pub(crate) async fn run(global: &Global, arguments: Arguments, command: Command) -> Outcome {
    let folder = &arguments.folder;
    if !folder.is_dir() {
        let problem = format!("there is no folder `{}`", folder.display());
        return Err(Failure::new(problem).hint("make it first"));
    }
    clap_mangen::generate_to(with_examples(with_settings(command)), folder)
        .map_err(|error| Failure::file("write the pages into", folder, &error))?;
    if global.json {
        return output::json(&json!({"folder": folder.display().to_string()}));
    }
    terminal::note(&format!("wrote the pages into `{}`", folder.display()));
    Ok(())
}
