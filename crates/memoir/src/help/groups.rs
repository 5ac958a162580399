//! The commands in groups, as the first page of help lists them.

use std::fmt::Write;

use clap::Command;

use crate::show::wrap;

/// Each command in one group, in the order in which a user meets them.
const GROUPS: [(&str, &str); 7] = [
    ("First", "demo setup doctor config help"),
    (
        "Remembering",
        "agent remember recall context ledger edit import export absorb reflect embeddings",
    ),
    ("Refining", "refine apply sweep sessions session cancel"),
    (
        "Undoing and protecting",
        "rollback rewind restore promote protect unprotect discard shred",
    ),
    ("Inspecting", "ui archive kept history stats audit"),
    (
        "Interfaces",
        "mcp hook project serve token user account access installation",
    ),
    ("Upkeep", "key backup migrate move completions man"),
];

pub(crate) fn grouped(mut command: Command) -> Command {
    // `build` adds the command `help`.
    command.build();
    let mut list = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(list, "{title}:");
        for name in names.split(' ') {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(list, "  {name:<12} {}", wrapped(&about));
        }
        list.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{{all-args}}{{after-help}}"
    );
    // They are listed already.
    let command = command.mut_subcommands(|subcommand| subcommand.hide(true));
    command
        .override_usage("memoir [OPTIONS] <COMMAND>")
        .help_template(template)
}

/// Wraps the text on as many lines as it needs beside the names.
fn wrapped(about: &str) -> String {
    // With the indentation, within 80 columns.
    const ROOM: usize = 64;
    // The indentation is that of a name of twelve columns and three blanks around it.
    const BESIDE: &str = "\n               ";
    wrap(about, ROOM).join(BESIDE)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut command = crate::cli::Arguments::command();
        command.build();
        let there: BTreeSet<&str> = command.get_subcommands().map(Command::get_name).collect();
        let named = GROUPS.iter().flat_map(|(_, names)| names.split(' '));
        let named: Vec<&str> = named.collect();
        assert_eq!(named.iter().copied().collect::<BTreeSet<_>>(), there);
        assert_eq!(named.len(), there.len(), "none is there twice");
    }
}
