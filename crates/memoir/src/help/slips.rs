//! Suggestions for a command line that cannot be parsed.

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

/// The error with the closest command to an unknown one whose help was requested.
pub(crate) fn with_closest(mut error: clap::Error, commands: &Command) -> clap::Error {
    let is_named = error.get(ContextKind::SuggestedSubcommand).is_some();
    // clap finds the closest command itself, except under `memoir help`.
    if error.kind() != ErrorKind::InvalidSubcommand || is_named {
        return error;
    }
    let typed: Vec<String> = std::env::args().collect();
    let words = typed.iter().skip_while(|word| *word != "help").skip(1);
    let mut command = commands;
    for word in words {
        match command.find_subcommand(word) {
            Some(below) => command = below,
            None => {
                let names = command.get_subcommands().map(Command::get_name);
                if let Some(close) = closest(word, names) {
                    let close = ContextValue::Strings(vec![close.to_owned()]);
                    error.insert(ContextKind::SuggestedSubcommand, close);
                }
                break;
            }
        }
    }
    error
}
