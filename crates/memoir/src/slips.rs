//! What somebody meant who typed a line that cannot be read: said beside what is wrong with it.

use clap::{
    Command,
    error::{ContextKind, ContextValue, ErrorKind},
};

use crate::installation::closest;

/// The command whose options take what looks like another option, such as `-1`: what is wrong with it is then told
/// by who reads the value.
pub(crate) fn reading_negatives(command: Command) -> Command {
    command
        .mut_args(|argument| {
            let is_option = !argument.is_positional() && argument.get_action().takes_values();
            argument.allow_negative_numbers(is_option)
        })
        .mut_subcommands(reading_negatives)
}

/// The error with the command that is closest to one whose help was asked for, and that there is not.
pub(crate) fn with_closest(mut error: clap::Error, commands: &Command) -> clap::Error {
    let is_named = error.get(ContextKind::SuggestedSubcommand).is_some();
    // clap looks for the closest command itself, except under `memoir help`.
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
