//! The options of every command, and the variables of the environment that name the agent and hold its token.

use std::path::PathBuf;

use clap::Args;
use memoir_app::DEFAULT_ACCOUNT;

use crate::terminal::word;

pub(crate) const TOKEN: &str = "MEMOIR_TOKEN";
/// The variable that names the agent for commands without one.
pub(crate) const AGENT: &str = "MEMOIR_AGENT";

pub(crate) fn agent_in_environment() -> Option<String> {
    std::env::var(AGENT).ok().filter(|name| !name.is_empty())
}

/// What a suggested command needs behind it where it is about that account; empty for the default one.
pub(crate) fn account_option(account: &str) -> String {
    match account == DEFAULT_ACCOUNT {
        true => String::new(),
        false => format!(" --account {}", word(account)),
    }
}

/// What every command takes, before or after its name.
#[derive(derive_more::Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// The database: `sqlite:PATH`, a path or `postgres://USER@HOST/DATABASE` [default: a file in your data
    /// directory, made on first use]
    // `--help` would otherwise show the variable's value, and a URL may hold a password.
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "MEMOIR_DATABASE",
        hide_env_values = true
    )]
    #[debug(skip)]
    pub(crate) database: Option<String>,

    /// The account that the command is about
    #[arg(long, global = true, value_name = "NAME", default_value = DEFAULT_ACCOUNT)]
    pub(crate) account: String,

    /// Print JSON to stdout: one document, or one a line for streams; a failure's is the last line of stderr
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Print no notes and no progress
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Log operations to stderr; twice: with all details. `MEMOIR_LOG` is more exact
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Print long output directly; otherwise `MEMOIR_PAGER`, `PAGER` or `less` shows output longer than the terminal
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,

    /// The configuration file [default: `memoir/config.toml` in your configuration directory]
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "MEMOIR_CONFIG",
        hide_env_values = true
    )]
    pub(crate) config: Option<PathBuf>,
}
