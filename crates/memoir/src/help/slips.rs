//! Suggestions for a command line that cannot be parsed.

use std::ffi::OsString;

use clap::{
    Command,
    error::{ContextKind, ContextValue, ErrorKind},
};

use crate::spelling::closest;

/// The command whose options accept values that look like an option, such as `-1`. The parser of the value then reports
/// what is wrong with it.
pub(crate) fn reading_negatives(command: Command) -> Command {
    command
        .mut_args(|argument| {
            let is_option = !argument.is_positional() && argument.get_action().takes_values();
            argument.allow_negative_numbers(is_option)
        })
        .mut_subcommands(reading_negatives)
}

/// The commands that are meant by a word of other programs; `None` for any other word.
fn meant(typed: &str) -> Option<&'static str> {
    Some(match typed {
        "list" | "ls" => {
            "`memoir ledger` lists an agent's memories, and `memoir agent list` the agents"
        }
        "show" | "get" => {
            "`memoir history AGENT NUMBER` shows a memory, `memoir session SESSION` a session, and `memoir agent show NAME` an agent"
        }
        "search" | "find" | "query" => "`memoir recall` finds memories",
        "add" | "save" | "store" => "`memoir remember` saves a memory",
        "delete" | "remove" | "rm" | "forget" => {
            "`memoir discard` removes a memory from prompt and search, and `memoir restore` brings it back; `memoir shred` removes its text for ever"
        }
        "undo" => {
            "`memoir rollback last` undoes the last session, `memoir restore` brings a discarded memory back, and `memoir rewind` returns to a moment"
        }
        "status" => {
            "`memoir doctor` checks the installation, and `memoir stats` shows an agent's core size"
        }
        "rename" => "`memoir agent set NAME name NEW` renames an agent",
        "version" => "`memoir --version` prints the version",
        _ => return None,
    })
}

/// Whether the word stands where a command of the first level does, after options at most, or after `help`.
fn is_first(typed: &str, commands: &Command, words: &[OsString]) -> bool {
    let mut before = words.iter().skip(1).take_while(|word| *word != typed);
    before.all(|word| word == "help" || commands.find_subcommand(word).is_none())
}

/// The error of a command line with the closest command to an unknown one whose help was requested.
pub(crate) fn with_closest(
    mut error: clap::Error,
    commands: &Command,
    words: &[OsString],
) -> clap::Error {
    if let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand)
        && let Some(meant) = meant(typed)
        // No command of any level has this name.
        && (typed == "rename" || is_first(typed, commands, words))
    {
        error.remove(ContextKind::SuggestedSubcommand);
        let meant = ContextValue::StyledStrs(vec![meant.into()]);
        error.insert(ContextKind::Suggested, meant);
        return error;
    }
    let is_named = error.get(ContextKind::SuggestedSubcommand).is_some();
    // clap finds the closest command itself, except under `memoir help`.
    if error.kind() != ErrorKind::InvalidSubcommand || is_named {
        return error;
    }
    let words = words.iter().skip_while(|word| *word != "help").skip(1);
    let mut command = commands;
    for word in words {
        match command.find_subcommand(word) {
            Some(below) => command = below,
            None => {
                let names = command.get_subcommands().map(Command::get_name);
                if let Some(close) = closest(&word.to_string_lossy(), names) {
                    let close = ContextValue::Strings(vec![close.to_owned()]);
                    error.insert(ContextKind::SuggestedSubcommand, close);
                }
                break;
            }
        }
    }
    error
}
