//! The `memoir` command: parses the arguments, calls a use case, prints its result.
//!
//! Owns the arguments, the configuration file, the location of the database and the text for people. Owns no rule: the
//! layers below apply the same rules to every interface.
//!
//! # Order of the modules
//!
//! A module imports from lower modules only; a test of `memoir-testkit` (`architecture.rs`) has the same list. From the
//! lowest to the highest:
//!
//! 1. Without imports of the rest: `allocator`, `options` (the options of every command), `spelling`, `times`,
//!    `interrupt`, `terminal`.
//! 2. Text for people: `show`, `failure`, `private_file`, `output` (stdout), `parse` (of arguments), `watch`
//!    (a running session).
//! 3. What the options name: `database`, `webhooks`, `config`, `embeddings` (the built-in model's file), `keys`, `tokens`,
//!    `telemetry`, `installation` (all of these opened), `remote` (a service in its place).
//! 4. The programs in which agents live: `transcripts`, `hook`, `setup`, `closing`.
//! 5. `help`; `commands`, one file each; `cli`, the tree of commands and their dispatch; and this file.

#[cfg(target_os = "linux")]
mod allocator;
mod cli;
mod closing;
mod commands;
mod config;
mod database;
mod embeddings;
mod failure;
mod help;
mod hook;
mod installation;
mod interrupt;
mod keys;
mod options;
mod output;
mod parse;
mod private_file;
mod remote;
mod setup;
mod show;
mod spelling;
mod telemetry;
mod terminal;
mod times;
mod tokens;
mod transcripts;
mod watch;
mod webhooks;

use std::{
    ffi::{OsStr, OsString},
    io::IsTerminal,
    process::ExitCode,
};

use clap::{Command, CommandFactory, FromArgMatches, error::ErrorKind};
use tracing_subscriber::{
    EnvFilter, Layer,
    filter::{FilterExt, filter_fn},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

use crate::{cli::Arguments, failure::Failure, telemetry::Traces};

fn main() -> ExitCode {
    // First, before any secret is read.
    forbid_core_dumps();
    hush_panics();
    let arguments = match typed(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(error) => return wrongly_typed(&error),
    };
    // Hooks come before the runtime and the log: a hook has a time limit of its own, and makes both itself.
    if let cli::Command::Hook(event) = &arguments.command {
        return hook::respond(&arguments.global, event);
    }
    #[cfg(target_os = "linux")]
    if let cli::Command::Serve(_) = arguments.command {
        allocator::set_for_service();
    }
    let is_json = arguments.global.json;
    let verbose = arguments.global.verbose;
    if arguments.global.quiet {
        terminal::be_quiet();
    }
    if arguments.global.no_pager {
        output::do_not_page();
    }
    // The runtime for long work ends with `main`, after the service.
    let serves = matches!(arguments.command, cli::Command::Serve(_));
    let (mut runtime, _long_work) = match serves {
        true => (serving_runtime(), long_work_runtime()),
        false => (tokio::runtime::Builder::new_current_thread(), None),
    };
    let ending = runtime
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start: {error}")))
        .and_then(|runtime| {
            // Traces come before the log, since they are one of its layers.
            let traces = match arguments.command.runs_sessions() {
                true => Traces::start(&arguments.global, runtime.handle()),
                false => None,
            };
            start_log(traces.as_ref(), verbose);
            let ending = runtime.block_on(cli::run(arguments));
            // The last spans are sent while the runtime exists, since sending them needs it.
            if let Some(traces) = traces {
                runtime.block_on(traces.finish());
            }
            // All that a command began has ended, or may be cut off: its idle threads are not waited for.
            if !serves {
                runtime.shutdown_background();
            }
            ending
        });
    match ending {
        // The reader of stdout stopped early, which is no failure.
        Ok(()) | Err(Failure::PipeClosed) => ExitCode::SUCCESS,
        Err(Failure::Refused) => ExitCode::FAILURE,
        // The shell's own status for a command that Ctrl-C has ended.
        Err(Failure::Interrupted) => ExitCode::from(130),
        Err(Failure::Shown(failure)) => {
            terminal::problem(&failure.to_string());
            if is_json {
                // Standard output holds the result only.
                terminal::problem(&failure.to_json().to_string());
            }
            ExitCode::FAILURE
        }
    }
}

/// Parses a command line, whose first word is the program. Help pages are built only where one of them is shown, since
/// that takes longer than parsing a command.
fn typed(words: impl Iterator<Item = OsString>) -> clap::error::Result<Arguments> {
    let words: Vec<OsString> = words.collect();
    let arguments = || without_empty_variables(Arguments::command());
    let typed = match arguments().try_get_matches_from(&words) {
        Err(error) if error.kind() != ErrorKind::DisplayVersion => {
            let command = help::reading_negatives(help::with_examples(
                commands::agent::with_settings(arguments()),
            ));
            let mut command = help::grouped(command);
            let typed = command.try_get_matches_from_mut(&words);
            typed.map_err(|error| help::with_closest(error, &command, &words))
        }
        typed => typed,
    };
    Arguments::from_arg_matches(&typed?)
}

/// An empty variable of an option counts as unset, as all others do. An empty value that was typed is wrong.
fn without_empty_variables(command: Command) -> Command {
    let is_empty = |name: &OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    let command = command.mut_args(|option| match option.get_env().is_some_and(is_empty) {
        true => option.env(None::<&str>),
        false => option,
    });
    command.mut_subcommands(without_empty_variables)
}

/// Prints help or a usage error. A hook that another version of Memoir registered does not stop its program.
fn wrongly_typed(error: &clap::Error) -> ExitCode {
    // An error of printing cannot be reported.
    let _ = error.print();
    // What is behind `--` is no option.
    let mut words = std::env::args_os().take_while(|word| word != "--");
    if error.exit_code() != 0 && words.any(|word| word == "--json") {
        let text = error.to_string();
        let problem = match error.kind() {
            ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                "a command is missing; `--help` lists them"
            }
            _ => text.split("\n\n").next().unwrap_or_default(),
        };
        let problem = problem.strip_prefix("error: ").unwrap_or(problem);
        if let Failure::Shown(failure) = Failure::new(problem).code("wrong_usage") {
            terminal::problem(&failure.to_json().to_string());
        }
    }
    match error.exit_code() {
        0 => ExitCode::SUCCESS,
        _ if is_hook() && !std::io::stdin().is_terminal() => ExitCode::SUCCESS,
        _ => ExitCode::from(2),
    }
}

/// Whether the command is `hook`, also behind options of every command.
fn is_hook() -> bool {
    let mut words = std::env::args_os().skip(1);
    let is_option = |word: &OsString| word.as_encoded_bytes().starts_with(b"-");
    while let Some(word) = words.next() {
        match word.to_str() {
            // The next word is the value.
            Some("--database" | "--account" | "--config") => drop(words.next()),
            _ if is_option(&word) => {}
            name => return name == Some("hook"),
        }
    }
    false
}

/// A core dump would hold the process's memory: keys and an agent's texts (SPEC 5.1).
#[cfg(unix)]
fn forbid_core_dumps() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // Lowering a limit is always allowed.
    let _ = setrlimit(Resource::Core, none);
}

#[cfg(not(unix))]
fn forbid_core_dumps() {}

/// The threads that serve connections, at least.
// With one thread for each processor, a request that uses one for some milliseconds would delay all others until it
// ends. With more, they share the processor.
const SERVING_THREADS: usize = 4;

fn serving_runtime() -> tokio::runtime::Builder {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(processors.max(SERVING_THREADS));
    runtime
}

/// Threads of the runtime for long work that block: each may hold a large load in memory.
const LONG_WORK_THREADS: usize = 4;

/// The runtime for the service's long work; `None` where none can be started: such work then runs beside all other.
fn long_work_runtime() -> Option<tokio::runtime::Runtime> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_name("long-work")
        .max_blocking_threads(LONG_WORK_THREADS)
        .on_thread_start(lower_priority)
        .enable_all()
        .build();
    let runtime = runtime.ok()?;
    memoir_app::run_long_work_on(runtime.handle().clone());
    Some(runtime)
}

/// Lets this thread, and those that it starts, run hardly at all while another one wants the processor, of any process.
// Niceness is not enough: a thread of low priority that runs is not interrupted by one that wakes, but at the next tick of
// the kernel's clock, after 4 ms or more. One of this policy is interrupted at once.
#[cfg(target_os = "linux")]
fn lower_priority() {
    use thread_priority::{
        NormalThreadSchedulePolicy::Idle, ThreadPriority, ThreadSchedulePolicy,
        set_thread_priority_and_policy, thread_native_id, thread_schedule_policy,
    };
    let idle = ThreadSchedulePolicy::Normal(Idle);
    // Without it, long work is done all the same. The policy is set before the niceness, which may be refused.
    let _ = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, idle);
    if thread_schedule_policy() == Ok(idle) {
        memoir_app::note_low_priority();
    }
}

/// Elsewhere the call concerns the whole process.
#[cfg(not(target_os = "linux"))]
fn lower_priority() {}

/// A panic's message may contain an agent's texts; its place is enough to find it (SPEC 5.1).
fn hush_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        let place = place.unwrap_or_else(|| "an unknown place".to_owned());
        terminal::problem(&format!(
            "internal error at {place}: this is a fault of Memoir's"
        ));
    }));
}

/// Logs go to stderr, at the level of `MEMOIR_LOG`, `RUST_LOG` or `-v`; without those, errors alone. Failures of
/// Memoir's own are always logged. Other crates' routine events, and spans, which are for traces, never are.
fn start_log(traces: Option<&Traces>, verbose: u8) {
    let wanted = ["MEMOIR_LOG", "RUST_LOG"]
        .into_iter()
        .find(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    let level = match verbose {
        0 => "error",
        1 => "memoir=info",
        _ => "memoir=debug",
    };
    let wanted = wanted.map_or_else(|| EnvFilter::new(level), EnvFilter::from_env);
    let wanted = wanted.or(filter_fn(|metadata| {
        metadata.target() == memoir_app::FAULTS
    }));
    let log = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_filter(wanted.and(filter_fn(|metadata| {
            metadata.is_event() && memoir_service::may_be_logged(metadata)
        })));
    tracing_subscriber::registry()
        .with(log)
        .with(traces.map(Traces::layer))
        .init();
}
