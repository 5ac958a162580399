//! The command line: the tree of commands, and their dispatch.

use clap::{CommandFactory, Parser, Subcommand};
use memoir_app::Handling;

use crate::{
    commands::{self, handle},
    failure::{Ending, Outcome},
    hook,
    options::Global,
    setup,
};

/// In a release, with the commit that it was built from.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), env!("MEMOIR_COMMIT"));

/// Long-term memory for LLM agents that can be refined but not destroyed
#[derive(Debug, Parser)]
#[command(
    name = "memoir",
    version = VERSION,
    propagate_version = true
)]
#[command(
    after_help = "Start with `memoir demo`: it needs no configuration, no network and no model. `memoir setup` gives the \
                  programs that you have a memory.\n\nSESSION is a session's identifier, its beginning, or `last`. TIME is a date, a time, or words \
                  such as `yesterday`, `last monday`, `10 minutes ago`."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(commands::demo::Arguments),
    #[command(subcommand)]
    Account(commands::account::Command),
    #[command(subcommand)]
    Agent(commands::agent::Command),
    Remember(commands::remember::Arguments),
    Recall(commands::recall::Arguments),
    Context(commands::context::Arguments),
    Ledger(commands::ledger::Arguments),
    Refine(commands::refine::Arguments),
    Apply(commands::apply::Arguments),
    Sweep(commands::sweep::Arguments),
    Sessions(commands::sessions::Arguments),
    Session(commands::session::Arguments),
    Cancel(commands::cancel::Arguments),
    Rollback(commands::rollback::Arguments),
    /// Restore discarded memories
    ///
    /// Each returns to where it was: the prompt, the journal or the archive. An archival memory that is not discarded
    /// comes back into the prompt with `memoir promote`. A discarded summary returns only with the undo of what
    /// discarded it.
    #[command(override_usage = "memoir restore [OPTIONS] [AGENT] <NUMBER>...")]
    Restore(handle::Arguments),
    /// Move archival memories back into the prompt
    ///
    /// At any time and without limit. Text, origin, tags and date stay as they are.
    #[command(override_usage = "memoir promote [OPTIONS] [AGENT] <NUMBER>...")]
    Promote(handle::Arguments),
    /// Make core memories constitutional: no session can delete, merge or archive them
    #[command(override_usage = "memoir protect [OPTIONS] [AGENT] <NUMBER>...")]
    Protect(handle::Arguments),
    /// Remove the constitutional flag from core memories
    #[command(override_usage = "memoir unprotect [OPTIONS] [AGENT] <NUMBER>...")]
    Unprotect(handle::Arguments),
    /// Discard memories: they leave prompt, search and counts, and `memoir restore` brings each back
    #[command(override_usage = "memoir discard [OPTIONS] [AGENT] <NUMBER>...")]
    Discard(handle::Arguments),
    Edit(commands::edit::Arguments),
    Rewind(commands::rewind::Arguments),
    Shred(commands::shred::Arguments),
    History(commands::history::Arguments),
    #[command(name = "doubles")]
    NearDuplicates(commands::near_duplicates::Arguments),
    Archive(commands::archive::Arguments),
    Kept(commands::kept::Arguments),
    Stats(commands::stats::Arguments),
    Reflect(commands::reflect::Arguments),
    Absorb(commands::absorb::Arguments),
    Import(commands::import::Arguments),
    Export(commands::export::Arguments),
    #[command(subcommand)]
    Audit(commands::audit::Command),
    #[command(subcommand)]
    Access(commands::access::Command),
    #[command(subcommand)]
    Token(commands::token::Command),
    #[command(subcommand)]
    User(commands::user::Command),
    #[command(subcommand)]
    Installation(commands::installation::Command),
    Mcp(commands::mcp::Arguments),
    Hook(hook::Arguments),
    #[command(subcommand)]
    Project(commands::project::Command),
    Setup(setup::Arguments),
    Ui(commands::ui::Arguments),
    Serve(commands::serve::Arguments),
    Migrate(commands::migrate::Arguments),
    Move(commands::move_to::Arguments),
    #[command(subcommand)]
    Key(commands::key::Command),
    Backup(commands::backup::Arguments),
    Config(commands::config::Arguments),
    Doctor(commands::doctor::Arguments),
    #[command(subcommand)]
    Embeddings(commands::embeddings::Command),
    Completions(commands::completions::Arguments),
    Man(commands::man::Arguments),
}

impl Command {
    /// Whether the command runs sessions, which traces cover.
    pub(crate) fn runs_sessions(&self) -> bool {
        matches!(
            self,
            Self::Serve(_) | Self::Mcp(_) | Self::Refine(_) | Self::Sweep(_)
        )
    }
}

pub(crate) async fn run(arguments: Arguments) -> Outcome {
    let Arguments { global, command } = arguments;
    match command {
        Command::Demo(arguments) => commands::demo::run(&global, arguments).await,
        Command::Account(command) => commands::account::run(&global, command).await,
        Command::Agent(command) => commands::agent::run(&global, command).await,
        Command::Remember(arguments) => commands::remember::run(&global, arguments).await,
        Command::Recall(arguments) => commands::recall::run(&global, arguments).await,
        Command::Context(arguments) => commands::context::run(&global, arguments).await,
        Command::Ledger(arguments) => commands::ledger::run(&global, arguments).await,
        Command::Refine(arguments) => commands::refine::run(&global, arguments).await,
        Command::Apply(arguments) => commands::apply::run(&global, arguments).await,
        Command::Sweep(arguments) => commands::sweep::run(&global, arguments).await,
        Command::Sessions(arguments) => commands::sessions::run(&global, arguments).await,
        Command::Session(arguments) => commands::session::run(&global, arguments).await,
        Command::Cancel(arguments) => commands::cancel::run(&global, arguments).await,
        Command::Rollback(arguments) => commands::rollback::run(&global, arguments).await,
        Command::Restore(arguments) => handle::run(&global, arguments, Handling::Restore).await,
        Command::Promote(arguments) => handle::run(&global, arguments, Handling::Promote).await,
        Command::Protect(arguments) => handle::run(&global, arguments, Handling::Protect).await,
        Command::Unprotect(arguments) => handle::run(&global, arguments, Handling::Unprotect).await,
        Command::Discard(arguments) => handle::run(&global, arguments, Handling::Discard).await,
        Command::Edit(arguments) => commands::edit::run(&global, arguments).await,
        Command::Rewind(arguments) => commands::rewind::run(&global, arguments).await,
        Command::Shred(arguments) => commands::shred::run(&global, arguments).await,
        Command::History(arguments) => commands::history::run(&global, arguments).await,
        Command::NearDuplicates(arguments) => {
            commands::near_duplicates::run(&global, arguments).await
        }
        Command::Archive(arguments) => commands::archive::run(&global, arguments).await,
        Command::Kept(arguments) => commands::kept::run(&global, arguments).await,
        Command::Stats(arguments) => commands::stats::run(&global, arguments).await,
        Command::Reflect(arguments) => commands::reflect::run(&global, arguments).await,
        Command::Absorb(arguments) => commands::absorb::run(&global, arguments).await,
        Command::Import(arguments) => commands::import::run(&global, arguments).await,
        Command::Export(arguments) => commands::export::run(&global, arguments).await,
        Command::Audit(command) => commands::audit::run(&global, command).await,
        Command::Access(command) => commands::access::run(&global, command).await,
        Command::Token(command) => commands::token::run(&global, command).await,
        Command::User(command) => commands::user::run(&global, command).await,
        Command::Installation(command) => commands::installation::run(&global, command).await,
        Command::Migrate(arguments) => commands::migrate::run(&global, arguments).await,
        Command::Move(arguments) => commands::move_to::run(&global, arguments).await,
        Command::Ui(arguments) => commands::ui::run(&global, arguments).await,
        Command::Serve(arguments) => commands::serve::run(&global, arguments).await,
        Command::Hook(arguments) => {
            // It has a thread and a limit of its own, and does not get here.
            hook::run(global, arguments);
            Ok(Ending::Done)
        }
        Command::Project(command) => commands::project::run(&global, command).await,
        Command::Setup(arguments) => setup::run(&global, arguments).await,
        Command::Mcp(arguments) => commands::mcp::run(&global, arguments).await,
        Command::Key(command) => commands::key::run(&global, command).await,
        Command::Backup(arguments) => commands::backup::run(&global, arguments).await,
        Command::Config(arguments) => commands::config::run(&global, &arguments),
        Command::Doctor(arguments) => commands::doctor::run(&global, arguments).await,
        Command::Embeddings(command) => commands::embeddings::run(&global, command),
        Command::Completions(arguments) => {
            commands::completions::run(&arguments, Arguments::command())
        }
        Command::Man(arguments) => commands::man::run(&global, &arguments, Arguments::command()),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn spec_5_1_no_words_of_what_was_typed_are_formatted() {
        use clap::Parser;
        const CANARY: &str = "Kanarienvogel";
        for line in [
            &[
                "remember", "wren", CANARY, "--tag", CANARY, "--source", CANARY,
            ][..],
            &["recall", "wren", CANARY, "--tag", CANARY],
            &["agent", "set", "wren", "system_prompt", CANARY],
            &["shred", "wren", "1", "--reason", CANARY],
            &["access", "ask", "wren", "--purpose", CANARY],
            &["access", "answer", "1", "no", "--reason", CANARY],
        ] {
            let typed = std::iter::once(&"memoir").chain(line);
            let arguments = super::Arguments::try_parse_from(typed).unwrap();
            assert!(!format!("{arguments:?}").contains(CANARY), "{line:?}");
        }
    }
}
