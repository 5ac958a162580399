//! The command line.

use clap::{Parser, Subcommand};

use crate::{commands, hook, options::Global, setup};

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
                  programs that you have a memory.\n\nSESSION is a session's identifier, its beginning, or `last`."
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
    /// Restore one discarded memory
    ///
    /// It returns to where it was: the prompt, the journal or the archive. An archival memory that is not discarded
    /// comes back into the prompt with `memoir promote`. A discarded summary returns only with the undo of what
    /// discarded it.
    Restore(commands::handle::OneArguments),
    /// Move archival memories back into the prompt
    ///
    /// At any time and without limit. Text, origin, tags and date stay as they are.
    Promote(commands::handle::Arguments),
    /// Make core memories constitutional: no session can delete, merge or archive them
    Protect(commands::handle::Arguments),
    /// Remove the constitutional flag from core memories
    Unprotect(commands::handle::Arguments),
    /// Discard memories: they leave prompt, search and counts, and `memoir restore` brings each back
    Discard(commands::handle::Arguments),
    Edit(commands::edit::Arguments),
    Rewind(commands::rewind::Arguments),
    Shred(commands::shred::Arguments),
    History(commands::history::Arguments),
    Doubles(commands::doubles::Arguments),
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
    Serve(commands::serve::Arguments),
    Migrate(commands::migrate::Arguments),
    Move(commands::move_to::Arguments),
    #[command(subcommand)]
    Key(commands::key::Command),
    Backup(commands::backup::Arguments),
    Doctor(commands::doctor::Arguments),
    Completions(commands::completions::Arguments),
    Man(commands::man::Arguments),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

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

    #[test]
    fn the_arguments_are_free_of_contradictions() {
        super::Arguments::command().debug_assert();
    }
}
