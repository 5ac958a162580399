//! An example for each page of help: the most common use of the command.

use clap::Command;

const EXAMPLES: [&str; 80] = [
    "demo --full",
    "setup claude-code",
    "doctor",
    "config path",
    "config check",
    "config example",
    "agent create wren --model openai:gpt-5 --system-prompt-file wren.md",
    "agent list",
    "agent show wren",
    "agent set wren refinement_threshold 0.85",
    "agent pause wren",
    "agent resume wren",
    "agent history wren system_prompt",
    "agent undo wren system_prompt",
    "agent erase wren",
    "remember wren \"Marta prefers silk thread.\" --replaces 12",
    "recall wren \"what did Mia break?\"",
    "context wren --max-tokens 4000",
    "ledger wren --protected",
    "edit wren 12",
    "import wren memories.jsonl --dry-run",
    "export wren --format markdown -o pages",
    "absorb wren conversations.json",
    "reflect wren",
    "refine wren --rehearse",
    "apply last",
    "sweep",
    "sessions wren",
    "session last",
    "cancel last",
    "rollback last",
    "restore wren 17",
    "promote wren 17",
    "rewind wren --to 2026-05-03T14:00:00Z --dry-run",
    "protect wren 17",
    "unprotect wren 17",
    "discard wren 17",
    "shred wren 17",
    "history wren 17",
    "archive wren",
    "kept wren",
    "stats wren --plot core-size.svg",
    "audit list wren",
    "audit verify --all",
    "audit export wren --output wren.log.jsonl",
    "audit checkpoint > monday.note",
    "mcp --agent wren",
    "hook session-start --client claude-code",
    "project list",
    "project adopt shop-3f9a12",
    "ui",
    "serve",
    "token create --role agent --agent wren",
    "token list",
    "token revoke 0197f3c2-8a01-7c3e-b1d4-2f6f1f0c9a55",
    "user add petra",
    "user list",
    "user password petra",
    "user reset-second-factor petra",
    "user remove petra",
    "account create lab",
    "account list",
    "access ask wren --purpose \"the customer asks what is kept\"",
    "access list wren",
    "access answer 0197f3c2-8a01-7c3e-b1d4-2f6f1f0c9a55 yes",
    "access revoke 0197f3c2-8a01-7c3e-b1d4-2f6f1f0c9a55",
    "installation show",
    "installation close",
    "installation open",
    "key rotate",
    "key move",
    "backup memoir.backup",
    "backup verify memoir.backup",
    "migrate --dry-run",
    "move --to postgres://memoir@db.example/memoir",
    "embeddings install e5-small-q4.bin",
    "embeddings status",
    "embeddings remove",
    "completions bash > ~/.local/share/bash-completion/completions/memoir",
    "man ~/.local/share/man/man1",
];

/// Adds an example to each help page of the command.
pub(crate) fn with_examples(command: Command) -> Command {
    EXAMPLES.into_iter().fold(command, |command, example| {
        let names = example.split(' ').collect::<Vec<_>>();
        below(command, &names, example)
    })
}

/// Adds the example to the command that the first of these words name.
fn below(command: Command, words: &[&str], example: &str) -> Command {
    match words.split_first() {
        Some((name, rest)) if command.find_subcommand(name).is_some() => {
            command.mut_subcommand(name, |command| below(command, rest, example))
        }
        _ => {
            let own = command.get_after_help();
            let own = own.map_or_else(String::new, |text| format!("{text}\n"));
            command.after_help(format!("{own}Example: memoir {example}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::cli::Arguments;

    /// The words of a line, split as in a shell that knows double quotes only.
    fn words(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        for (place, part) in line.split('"').enumerate() {
            match place % 2 {
                0 => words.extend(part.split_whitespace().map(str::to_owned)),
                _ => words.push(part.to_owned()),
            }
        }
        words
    }

    /// The command lines that a text names: spans of code, and lines of a page's blocks.
    fn named(text: &str, is_page: bool) -> Vec<String> {
        let mut found = Vec::new();
        let mut prose = String::new();
        let mut block = None;
        for line in text.lines() {
            let line = line.trim_start().trim_start_matches("/// ");
            let line = line.trim_start_matches("//! ");
            match (line.strip_prefix("```"), block) {
                (Some(_), Some(_)) => block = None,
                (Some(language), None) if is_page => block = Some(matches!(language, "" | "sh")),
                (_, Some(is_shell)) => {
                    let line = line.trim_start_matches("$ ");
                    found
                        .extend((is_shell && line.starts_with("memoir ")).then(|| line.to_owned()));
                }
                // A text in the code goes on in its next line.
                _ => prose = prose + line.trim_end_matches('\\') + if is_page { "\n" } else { " " },
            }
        }
        let spans = prose.split('`').filter(|span| span.starts_with("memoir "));
        found.extend(spans.map(|span| span.replace("\\\"", "\"")));
        found
    }

    /// What is wrong with a command line in which capitals, `{}` and `…` stand in the place of values. Arguments may be
    /// missing.
    fn fault(line: &str) -> Option<String> {
        use clap::error::{ContextKind, ContextValue, ErrorKind};
        let ends = ["#", " > ", " < ", " | ", " &", "; "];
        let end = ends.iter().filter_map(|end| line.find(end)).min();
        let line = line[..end.unwrap_or(line.len())].replace(['[', ']'], "");
        let error = Arguments::try_parse_from(words(&line)).err()?;
        let is_value = |text: &String| {
            text.chars().any(|letter| letter.is_lowercase()) && !text.contains(['{', '…'])
        };
        let wrong = match error.kind() {
            ErrorKind::InvalidSubcommand => error.get(ContextKind::InvalidSubcommand),
            _ => error.get(ContextKind::InvalidValue),
        };
        match (error.kind(), wrong) {
            (_, Some(ContextValue::String(text))) if !is_value(text) => None,
            (
                ErrorKind::InvalidSubcommand
                | ErrorKind::UnknownArgument
                | ErrorKind::ArgumentConflict
                | ErrorKind::InvalidValue
                | ErrorKind::ValueValidation
                | ErrorKind::TooManyValues,
                _,
            ) => Some(format!("{line}: {error}")),
            _ => None,
        }
    }

    #[test]
    fn every_command_that_a_page_or_a_message_names_can_be_typed() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut folders = ["", "docs", "clients", "packaging", "integrations", "crates"]
            .map(|name| root.join(name))
            .to_vec();
        let (mut count, mut faults) = (0, Vec::new());
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let is = |ending: &str| path.extension().is_some_and(|found| found == ending);
                let is_left_out = ["target", "tests", "node_modules", "fixtures"];
                let name = path.file_name().unwrap_or_default();
                if path.is_dir() && folder != root && is_left_out.iter().all(|one| *one != name) {
                    folders.push(path.clone());
                } else if is("md") || is("rs") && !path.ends_with("help/slips.rs") {
                    let text = std::fs::read_to_string(&path).unwrap();
                    let lines = named(&text, is("md"));
                    count += lines.len();
                    let wrong = lines.iter().filter_map(|line| fault(line));
                    faults.extend(wrong.map(|fault| format!("{}: {fault}", path.display())));
                }
            }
        }
        assert!(count > 500, "{count}");
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    fn without_example(command: &Command, path: &str, missing: &mut Vec<String>) {
        for below in command
            .get_subcommands()
            .filter(|below| below.get_name() != "help")
        {
            let path = format!("{path} {}", below.get_name());
            if below.get_after_help().is_none() && !below.has_subcommands() {
                missing.push(path.clone());
            }
            without_example(below, &path, missing);
        }
    }

    #[test]
    fn every_command_has_an_example_that_can_be_typed() {
        let mut missing = Vec::new();
        without_example(&with_examples(Arguments::command()), "memoir", &mut missing);
        assert_eq!(missing, Vec::<String>::new());
        for example in EXAMPLES {
            let line = example.split_once(" > ").map_or(example, |(line, _)| line);
            let typed = ["memoir".to_owned()].into_iter().chain(words(line));
            let typed = Arguments::try_parse_from(typed);
            assert!(typed.is_ok(), "{example}: {:?}", typed.err());
        }
    }
}
