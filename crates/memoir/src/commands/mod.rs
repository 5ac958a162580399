//! The commands, one a file: read the arguments, call the use case, print.

pub(crate) mod absorb;
pub(crate) mod access;
pub(crate) mod account;
pub(crate) mod agent;
pub(crate) mod apply;
pub(crate) mod archive;
pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod cancel;
pub(crate) mod completions;
pub(crate) mod context;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod doubles;
pub(crate) mod edit;
pub(crate) mod export;
pub(crate) mod handle;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod installation;
pub(crate) mod kept;
pub(crate) mod key;
pub(crate) mod ledger;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod migrate;
pub(crate) mod move_to;
mod passphrase;
pub(crate) mod project;
pub(crate) mod recall;
pub(crate) mod refine;
pub(crate) mod reflect;
pub(crate) mod remember;
pub(crate) mod rewind;
pub(crate) mod rollback;
pub(crate) mod serve;
pub(crate) mod session;
pub(crate) mod sessions;
pub(crate) mod shred;
pub(crate) mod stats;
pub(crate) mod sweep;
pub(crate) mod token;
pub(crate) mod user;

use memoir_app::Handling;

use crate::{
    cli::{Arguments, Command},
    failure::Outcome,
    hook, setup,
};

/// Runs the command.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    let Arguments { global, command } = arguments;
    match command {
        Command::Demo(arguments) => demo::run(&global, arguments).await,
        Command::Account(command) => account::run(&global, command).await,
        Command::Agent(command) => agent::run(&global, command).await,
        Command::Remember(arguments) => remember::run(&global, arguments).await,
        Command::Recall(arguments) => recall::run(&global, arguments).await,
        Command::Context(arguments) => context::run(&global, arguments).await,
        Command::Ledger(arguments) => ledger::run(&global, arguments).await,
        Command::Refine(arguments) => refine::run(&global, arguments).await,
        Command::Apply(arguments) => apply::run(&global, arguments).await,
        Command::Sweep(arguments) => sweep::run(&global, arguments).await,
        Command::Sessions(arguments) => sessions::run(&global, arguments).await,
        Command::Session(arguments) => session::run(&global, arguments).await,
        Command::Cancel(arguments) => cancel::run(&global, arguments).await,
        Command::Rollback(arguments) => rollback::run(&global, arguments).await,
        Command::Restore(arguments) => handle::run_one(&global, arguments, Handling::Restore).await,
        Command::Promote(arguments) => handle::run(&global, arguments, Handling::Promote).await,
        Command::Protect(arguments) => handle::run(&global, arguments, Handling::Protect).await,
        Command::Unprotect(arguments) => handle::run(&global, arguments, Handling::Unprotect).await,
        Command::Discard(arguments) => handle::run(&global, arguments, Handling::Discard).await,
        Command::Edit(arguments) => edit::run(&global, arguments).await,
        Command::Rewind(arguments) => rewind::run(&global, arguments).await,
        Command::Shred(arguments) => shred::run(&global, arguments).await,
        Command::History(arguments) => history::run(&global, arguments).await,
        Command::Doubles(arguments) => doubles::run(&global, arguments).await,
        Command::Archive(arguments) => archive::run(&global, arguments).await,
        Command::Kept(arguments) => kept::run(&global, arguments).await,
        Command::Stats(arguments) => stats::run(&global, arguments).await,
        Command::Reflect(arguments) => reflect::run(&global, arguments).await,
        Command::Absorb(arguments) => absorb::run(&global, arguments).await,
        Command::Import(arguments) => import::run(&global, arguments).await,
        Command::Export(arguments) => export::run(&global, arguments).await,
        Command::Audit(command) => audit::run(&global, command).await,
        Command::Access(command) => access::run(&global, command).await,
        Command::Token(command) => token::run(&global, command).await,
        Command::User(command) => user::run(&global, command).await,
        Command::Installation(command) => installation::run(&global, command).await,
        Command::Migrate(arguments) => migrate::run(&global, arguments).await,
        Command::Move(arguments) => move_to::run(&global, arguments).await,
        Command::Serve(arguments) => serve::run(&global, arguments).await,
        Command::Hook(arguments) => {
            // It has a thread and a limit of its own, and does not get here.
            hook::run(global, arguments);
            Ok(crate::failure::Ending::Done)
        }
        Command::Project(command) => project::run(&global, command).await,
        Command::Setup(arguments) => setup::run(&global, arguments).await,
        Command::Mcp(arguments) => mcp::run(&global, arguments).await,
        Command::Key(command) => key::run(&global, command).await,
        Command::Backup(arguments) => backup::run(&global, arguments).await,
        Command::Doctor(arguments) => doctor::run(&global, arguments).await,
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
    }
}
