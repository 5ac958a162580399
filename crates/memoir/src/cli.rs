//! The command line: the tree of commands, and their dispatch.

use clap::{CommandFactory, Parser, Subcommand};
use memoir_app::Handling;

use crate::{commands, failure::Outcome, options::Global};

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
                  programs that you have a memory.\n\nSESSION is a session's identifier, its beginning, or `last`: the \
                  last one of MEMOIR_AGENT, or of the only agent. TIME is a date, a time, or words such as \
                  `yesterday`, `last monday`, `10 minutes ago`."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Defines the commands, each by its arguments in the module that runs it, and their dispatch. What stands behind the
/// arguments is passed to the module too.
macro_rules! commands {
    ($($(#[$meta:meta])* $command:ident($module:ident::$arguments:ident $(, $with:expr)?),)+) => {
        /// The commands.
        #[derive(Debug, Subcommand)]
        pub(crate) enum Command {
            $($(#[$meta])* $command(commands::$module::$arguments),)+
        }

        pub(crate) async fn run(arguments: Arguments) -> Outcome {
            let Arguments { global, command } = arguments;
            match command {
                $(Command::$command(typed) => commands::$module::run(&global, typed $(, $with)?).await,)+
            }
        }
    };
}

commands! {
    Demo(demo::Arguments),
    #[command(subcommand)]
    Account(account::Command),
    #[command(subcommand)]
    Agent(agent::Command),
    Remember(remember::Arguments),
    Recall(recall::Arguments),
    Context(context::Arguments),
    Ledger(ledger::Arguments),
    Refine(refine::Arguments),
    Apply(apply::Arguments),
    Sweep(sweep::Arguments),
    Sessions(sessions::Arguments),
    Session(session::Arguments),
    Cancel(cancel::Arguments),
    Rollback(rollback::Arguments),
    /// Restore discarded memories
    ///
    /// Each returns to where it was: the prompt, the journal or the archive. An archival memory that is not discarded
    /// comes back into the prompt with `memoir promote`. A discarded summary returns only with the undo of what
    /// discarded it.
    #[command(override_usage = "memoir restore [OPTIONS] [AGENT] <NUMBER>...")]
    Restore(handle::Arguments, Handling::Restore),
    /// Move archival memories back into the prompt
    ///
    /// At any time and without limit. Text, origin, tags and date stay as they are.
    #[command(override_usage = "memoir promote [OPTIONS] [AGENT] <NUMBER>...")]
    Promote(handle::Arguments, Handling::Promote),
    /// Make core memories constitutional: no session can delete, merge or archive them
    #[command(override_usage = "memoir protect [OPTIONS] [AGENT] <NUMBER>...")]
    Protect(handle::Arguments, Handling::Protect),
    /// Remove the constitutional flag from core memories
    #[command(override_usage = "memoir unprotect [OPTIONS] [AGENT] <NUMBER>...")]
    Unprotect(handle::Arguments, Handling::Unprotect),
    /// Discard memories: they leave prompt, search and counts, and `memoir restore` brings each back
    #[command(override_usage = "memoir discard [OPTIONS] [AGENT] <NUMBER>...")]
    Discard(handle::Arguments, Handling::Discard),
    Edit(edit::Arguments),
    Rewind(rewind::Arguments),
    Shred(shred::Arguments),
    History(history::Arguments),
    Archive(archive::Arguments),
    Kept(kept::Arguments),
    Stats(stats::Arguments),
    Reflect(reflect::Arguments),
    Absorb(absorb::Arguments),
    Import(import::Arguments),
    Export(export::Arguments),
    #[command(subcommand)]
    Audit(audit::Command),
    #[command(subcommand)]
    Access(access::Command),
    #[command(subcommand)]
    Token(token::Command),
    #[command(subcommand)]
    User(user::Command),
    #[command(subcommand)]
    Installation(installation::Command),
    Mcp(mcp::Arguments),
    Hook(hook::Arguments),
    #[command(subcommand)]
    Project(project::Command),
    Setup(setup::Arguments),
    Ui(ui::Arguments),
    Serve(serve::Arguments),
    Migrate(migrate::Arguments),
    Move(move_to::Arguments),
    #[command(subcommand)]
    Key(key::Command),
    Backup(backup::Arguments),
    Config(config::Arguments),
    Doctor(doctor::Arguments),
    #[command(subcommand)]
    Embeddings(embeddings::Command),
    Completions(completions::Arguments, Arguments::command()),
    Man(man::Arguments, Arguments::command()),
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
            &["--database", CANARY, "move", "--to", CANARY],
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
