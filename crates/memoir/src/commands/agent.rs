//! `memoir agent`: creates, lists, shows and configures agents.

mod create;
mod erase;
mod history;
mod list;
mod set;
mod show;

pub(crate) use self::set::with_settings;
use crate::{failure::Outcome, options::Global};

/// Most bytes of a file with a prompt: four for each character of the longest one.
const PROMPT_BYTES: u64 = 4 * memoir_domain::agent::SYSTEM_PROMPT_LIMIT as u64 + 4_096;

/// Agents, each with a memory of its own
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Create(Box<create::Arguments>),
    /// List the agents of the account
    List,
    /// Show an agent's settings and counts
    Show {
        /// Its name or identifier
        #[arg(value_name = "NAME")]
        agent: String,
    },
    Set(set::Arguments),
    /// Take an agent off the schedule; sessions can still be started by hand
    Pause {
        /// Its name or identifier
        #[arg(value_name = "NAME")]
        agent: String,
    },
    /// Put an agent back on the schedule
    Resume {
        /// Its name or identifier
        #[arg(value_name = "NAME")]
        agent: String,
    },
    /// List the earlier values of a setting that the agent sets itself, newest first
    History(history::Arguments),
    /// Undo the last change of a setting that the agent sets itself
    ///
    /// Doing so again undoes that.
    Undo(history::Arguments),
    Erase(erase::Arguments),
}

pub(crate) async fn run(global: &Global, command: Command) -> Outcome {
    match command {
        Command::Create(arguments) => create::run(global, *arguments).await,
        Command::List => list::run(global).await,
        Command::Show { agent } => show::run(global, &agent).await,
        Command::Set(arguments) => set::run(global, arguments).await,
        Command::Pause { agent } => set::pause(global, &agent, true).await,
        Command::History(arguments) => history::list(global, arguments).await,
        Command::Undo(arguments) => history::undo(global, arguments).await,
        Command::Erase(arguments) => erase::run(global, arguments).await,
        Command::Resume { agent } => set::pause(global, &agent, false).await,
    }
}
