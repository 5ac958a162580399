//! The programs that can be set up: the files of each, and Memoir's parts in them.

mod edits;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use clap::ValueEnum;
use etcetera::BaseStrategy;
use serde_json::Value;

use super::{json as members, json::JsonProblem, lines};
use crate::{
    database,
    failure::Failure,
    hook::{self, HookEvent, written::ProgramCall},
};

pub(super) const NAME: &str = "memoir";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Program {
    /// Claude Code
    ClaudeCode,
    /// Codex CLI
    Codex,
    /// Gemini CLI
    Gemini,
    /// Cursor
    Cursor,
    /// GitHub Copilot CLI
    Copilot,
    /// Visual Studio Code
    Vscode,
    /// Claude Desktop
    ClaudeDesktop,
    /// Goose
    Goose,
    /// Zed
    Zed,
    /// OpenCode
    Opencode,
}

impl ProgramCall {
    fn program(&self) -> String {
        self.program.display().to_string()
    }

    /// The server of tools. Its command names the program that starts it, as the hooks do.
    pub(super) fn mcp(&self, program: Program) -> Vec<String> {
        let words = ["mcp", "--client", &program.name()].map(str::to_owned);
        [&words, &self.arguments[..]].concat()
    }

    /// The command with the binary before its arguments.
    fn whole(&self, arguments: Vec<String>) -> Vec<String> {
        std::iter::once(self.program()).chain(arguments).collect()
    }

    /// The line for a shell, which ends with status 0 also where the binary is missing: a program would refuse its
    /// user's prompts otherwise.
    pub(super) fn hook(&self, event: HookEvent, client: hook::Client) -> String {
        let (program, event, client) = (self.program(), event.name(), client.name());
        let words = [&program, "hook", &event, "--client", &client];
        let words = words
            .into_iter()
            .chain(self.arguments.iter().map(String::as_str));
        let line = words.map(for_shell).collect::<Vec<_>>().join(" ");
        format!("{line}{ENDS_WELL}")
    }
}

/// The end of a hook's line, on systems whose shells support it.
const ENDS_WELL: &str = if cfg!(windows) { "" } else { " || true" };

fn for_shell(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@%+=,".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        // A quoted word cannot hold a quote, so the quoting ends before each quote and begins again after it.
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// The facts about a file from the record of a setup.
#[derive(Default)]
pub(super) struct KnownFile<'a> {
    /// The file before Memoir's parts; empty where there was none, `None` where that is not known.
    pub(super) before: Option<&'a str>,
    /// The commands of the hooks that were written into it; `None` where that is not known.
    pub(super) hooks: Option<&'a BTreeSet<String>>,
}

impl KnownFile<'_> {
    /// Whether setup wrote the hook: by the record, also where options were appended since. Without a record, by the
    /// form in which setup writes hooks.
    pub(super) fn is_own_hook(&self, hook: &Value) -> bool {
        let Some(command) = command_of(hook) else {
            return false;
        };
        let command = without_end(command);
        match self.hooks {
            Some(hooks) => hooks.iter().any(|own| {
                let more = command.strip_prefix(without_end(own));
                more.is_some_and(|more| {
                    (more.is_empty() || more.starts_with(' ')) && is_one_command(more)
                })
            }),
            None => is_in_form(command),
        }
    }

    /// Whether setup certainly wrote the hook: by the record, or without one, word for word in the form of setup. A
    /// hook that a person wrote mostly lacks a part of it.
    fn is_written_hook(&self, hook: &Value) -> bool {
        let is_as_written = || command_of(hook).is_some_and(is_as_written);
        self.is_own_hook(hook) && (self.hooks.is_some() || is_as_written())
    }
}

/// A hook's line without the end that makes it succeed.
fn without_end(line: &str) -> &str {
    line.strip_suffix(ENDS_WELL).unwrap_or(line)
}

/// Whether a line is one that [`ProgramCall::hook`] makes.
fn is_as_written(line: &str) -> bool {
    let words = words_of(without_end(line));
    let [_, hook, event, client, _, options @ ..] = &words[..] else {
        return false;
    };
    let is_event = HookEvent::from_str(event, false).is_ok();
    let has_form = hook == "hook" && is_event && client == "--client";
    line.ends_with(ENDS_WELL) && has_form && are_written_options(options)
}

/// Whether these are the options that setup writes: whose memory it is, where that is, and nothing else.
fn are_written_options(words: &[String]) -> bool {
    let has = |names: [&str; 2]| words.iter().any(|word| names.contains(&&**word));
    has(["--agent", "--per-project"]) && has(["--database", "--url"]) && has_only_options(words)
}

/// Whether the options among these words are those with which programs call Memoir.
pub(super) fn has_only_options(words: &[String]) -> bool {
    const OPTIONS: &str = "client agent per-project prefix url database account config";
    let is_known = |name: &str| OPTIONS.split(' ').any(|option| option == name);
    let mut named = words.iter().filter_map(|word| word.strip_prefix("--"));
    named.all(|word| is_known(word.split('=').next().unwrap_or_default()))
}

/// The words of a line of one command (see [`is_one_command`]).
pub(super) fn words_of(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' | '"' if quote.is_none_or(|quote| quote == letter) => {
                quote = quote.is_none().then_some(letter);
                word.get_or_insert_default();
            }
            '\\' if quote.is_none() && !cfg!(windows) => {
                word.get_or_insert_default().extend(letters.next());
            }
            letter if letter.is_whitespace() && quote.is_none() => words.extend(word.take()),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// The hooks that call Memoir in a file of JSON that is Memoir's own.
pub(super) fn hooks_in(text: &str) -> Vec<String> {
    let mut hooks = Vec::new();
    let mut values: Vec<Value> = serde_json::from_str(text).into_iter().collect();
    while let Some(value) = values.pop() {
        match value {
            Value::String(line) if is_in_form(without_end(&line)) => hooks.push(line),
            Value::Array(items) => values.extend(items),
            Value::Object(members) => values.extend(members.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
    hooks
}

/// The program of a server's entry and its words; `None` where the entry starts none.
pub(super) fn command_of_server(server: &Value) -> Option<(String, Vec<String>)> {
    let words = |name: &str| {
        let list = server[name].as_array()?;
        let words = list.iter().map(|word| word.as_str().map(str::to_owned));
        words.collect::<Option<Vec<String>>>()
    };
    // OpenCode has the whole command in one list.
    let mut command = match server["command"].as_str() {
        Some(program) => [vec![program.to_owned()], words("args").unwrap_or_default()].concat(),
        None => words("command")?,
    }
    .into_iter();
    Some((command.next()?, command.collect()))
}

pub(super) fn command_of(hook: &Value) -> Option<&str> {
    hook["command"].as_str()
}

/// Whether a line has the form in which setup writes hooks: one command, of a program `memoir`, with nothing before or
/// after it.
fn is_in_form(command: &str) -> bool {
    let words = words_of(command);
    let [program, hook, options @ ..] = &words[..] else {
        return false;
    };
    hook == "hook"
        && options.iter().any(|word| word == "--client")
        && is_named(Path::new(program))
        && is_one_command(command)
}

pub(super) fn is_named(program: &Path) -> bool {
    program.file_stem().is_some_and(|name| name == NAME)
}

/// Whether a shell parses only words in it.
fn is_one_command(words: &str) -> bool {
    // A quoted part is one word. A quote within it ends the quoting before it and begins it again after it.
    let outside = words.split('\'').step_by(2);
    !outside
        .collect::<String>()
        .contains(|letter: char| "|&;<>()$`\n".contains(letter))
}

pub(super) struct Edit {
    pub(super) path: PathBuf,
    pub(super) parts: Vec<OwnedPart>,
}

impl Edit {
    /// A file of Memoir's own, with that JSON.
    fn own(path: PathBuf, content: &Value) -> Self {
        let parts = vec![OwnedPart::Whole(format!("{content:#}\n"))];
        Self { path, parts }
    }

    /// Whether only Memoir writes into the file.
    pub(super) fn is_own(&self) -> bool {
        let is_own = |part: &OwnedPart| matches!(part, OwnedPart::Whole(_) | OwnedPart::Hints);
        self.parts.iter().all(is_own)
    }
}

/// One part of a file that is Memoir's.
pub(super) enum OwnedPart {
    /// A member of objects of JSON.
    Member(Vec<&'static str>, Value),
    /// An element of a list of JSON: the command of a hook.
    Hook(Vec<&'static str>, Value),
    /// A required member that is not Memoir's own.
    Needed(Vec<&'static str>, Value),
    /// A table of TOML.
    Table(String, String),
    /// A key of a table of TOML that must be true.
    True(&'static str, &'static str),
    /// An entry of a mapping of YAML.
    Entry(&'static str, Vec<String>),
    Whole(String),
    /// The text that the hooks write into it.
    Hints,
}

impl OwnedPart {
    pub(super) fn added(&self, text: &str, known: &KnownFile<'_>) -> Result<String, JsonProblem> {
        match self {
            Self::Member(path, value) => members::set(text, path, value),
            Self::Needed(path, value) => match members::get(text, path)? {
                Some(_) => Ok(text.to_owned()),
                None => members::set(text, path, value),
            },
            Self::Hook(path, value) => {
                members::put_hook(text, path, value, |hook| known.is_own_hook(hook))
            }
            Self::Table(name, body) => lines::set_table(text, name, body),
            Self::True(table, key) => lines::set_true(text, table, key),
            Self::Entry(mapping, body) => lines::set_entry(text, mapping, body),
            Self::Whole(whole) => Ok(whole.clone()),
            Self::Hints => Ok(text.to_owned()),
        }
    }

    /// The entry of Memoir's name in a program's list of servers of tools; `None` for another part, or where there is
    /// none.
    pub(super) fn server(&self, text: &str) -> Option<Value> {
        match self {
            Self::Member(path, _) => members::get(text, path).ok().flatten(),
            Self::Table(name, _) => lines::table_value(text, name),
            Self::Entry(mapping, _) => {
                let body = lines::entry_body(text, mapping)?;
                Some(lines::entry_value(&body))
            }
            _ => None,
        }
    }

    /// Whether a server or a whole file is certainly of setup, where no record says so.
    fn is_written(&self, text: &str) -> bool {
        if let Self::Whole(whole) = self {
            // Only its texts differ: the command line, and a version.
            let form = |text: &str| {
                let outside = text.split('"').step_by(2).collect::<String>();
                outside.replace(|letter: char| letter == ',' || letter.is_whitespace(), "")
            };
            return text.contains(NAME) && form(text) == form(whole);
        }
        let command = self.server(text).as_ref().and_then(command_of_server);
        command.is_some_and(|(program, words)| {
            let options = words.strip_prefix(&["mcp".to_owned(), "--client".to_owned()]);
            let options = options.and_then(<[String]>::split_first);
            is_named(Path::new(&program))
                && options.is_some_and(|(_, options)| are_written_options(options))
        })
    }

    /// The file without the part. Foreign parts stay, and the part's previous value is restored. Enclosing objects stay
    /// too, if they existed before; without a record, empty ones go, and only what is certainly of setup.
    pub(super) fn removed(&self, text: &str, known: &KnownFile<'_>) -> Result<String, JsonProblem> {
        if members::is_blank(text) {
            return Ok(text.to_owned());
        }
        let before = known.before;
        let stood = before.unwrap_or_default();
        match self {
            Self::Member(..) | Self::Table(..) | Self::Entry(..) | Self::Whole(_)
                if before.is_none() && !self.is_written(text) =>
            {
                match self {
                    Self::Member(path, _) => drop(members::get(text, path)?),
                    Self::Table(..) => lines::check_toml(text)?,
                    _ => {}
                }
                Ok(text.to_owned())
            }
            Self::Member(path, _) => match members::get(stood, path)? {
                Some(value) if members::get(text, path)?.is_some() => {
                    members::set(text, path, &value)
                }
                _ => members::remove(text, path, kept(path, before)),
            },
            Self::Hook(path, _) => {
                let is_own = |hook: &Value| known.is_written_hook(hook);
                let by_form = |hook: &Value| KnownFile::default().is_own_hook(hook);
                // A hook that the user wrote in this form, and that setup replaced.
                if let Some(replaced) = members::find_hook(stood, path, by_form)
                    && members::find_hook(text, path, is_own).is_some()
                    && members::find_hook(text, path, |hook| *hook == replaced).is_none()
                {
                    return members::put_hook(text, path, &replaced, is_own);
                }
                // Only a list that was empty before stays when it is emptied.
                let was_empty = members::get(stood, path)?
                    .is_some_and(|list| list.as_array().is_some_and(Vec::is_empty));
                let kept = match before {
                    None => 0,
                    Some(_) if was_empty => path.len(),
                    Some(_) => kept(path, before).min(path.len() - 1),
                };
                members::take_hooks(text, path, kept, is_own)
            }
            Self::Table(name, _) => match lines::table_body(stood, name) {
                Some(body) => lines::set_table(text, name, body),
                None => lines::remove_table(text, name),
            },
            Self::Entry(mapping, _) => match lines::entry_body(stood, mapping) {
                Some(body) => lines::set_entry(text, mapping, &body),
                None => Ok(lines::split_entry(text, mapping).0),
            },
            Self::Needed(path, _) => {
                let was_there = before.is_none() || members::get(stood, path)?.is_some();
                let whole = members::get(text, &[])?;
                let is_last = whole.is_some_and(|whole| {
                    whole.as_object().is_some_and(|members| members.len() == 1)
                });
                // It was added for the parts beside it, and is removed with the last of them.
                match is_last && !was_there {
                    true => members::remove(text, path, 0),
                    false => Ok(text.to_owned()),
                }
            }
            // Other hooks may depend on this key by now.
            Self::True(..) => Ok(text.to_owned()),
            Self::Whole(_) => Ok(stood.to_owned()),
            Self::Hints => Ok(hook::without_hints(text)),
        }
    }

    /// The command of the hook; `None` where a shell does not read it from a list.
    pub(super) fn hook_command(&self) -> Option<&str> {
        match self {
            Self::Hook(_, value) => command_of(value.pointer("/hooks/0").unwrap_or(value)),
            _ => None,
        }
    }
}

/// How many names of the path existed before.
fn kept(path: &[&'static str], before: Option<&str>) -> usize {
    let was_there = |depth: &usize| {
        before.is_some_and(|before| matches!(members::get(before, &path[..*depth]), Ok(Some(_))))
    };
    match before {
        Some(_) => (1..path.len() + 1).take_while(was_there).count(),
        None => path.len(),
    }
}

pub(super) struct Folders {
    home: PathBuf,
    config: PathBuf,
}

impl Folders {
    pub(super) fn find() -> Result<Self, Failure> {
        let home = database::user_folder(|base| base.home_dir().to_owned());
        let config = database::user_folder(BaseStrategy::config_dir);
        Ok(Self {
            home: home.map_err(Failure::new)?,
            config: config.map_err(Failure::new)?,
        })
    }

    /// The folder that a variable names, or else one in the user's home; absolute, as the record needs it.
    fn named(&self, variable: &str, default: &str) -> PathBuf {
        let named = std::env::var_os(variable).filter(|folder| !folder.is_empty());
        let named = named.map(|folder| std::path::absolute(&folder).unwrap_or(folder.into()));
        named.unwrap_or_else(|| self.home.join(default))
    }

    /// The settings folder of desktop applications.
    fn application(&self, name: &str) -> PathBuf {
        match cfg!(target_os = "macos") {
            true => self.home.join("Library/Application Support").join(name),
            false => self.config.join(name),
        }
    }
}

impl Program {
    /// The name on the command line.
    pub(super) fn name(self) -> String {
        self.to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex CLI",
            Self::Gemini => "Gemini CLI",
            Self::Cursor => "Cursor",
            Self::Copilot => "Copilot CLI",
            Self::Vscode => "VS Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Goose => "Goose",
            Self::Zed => "Zed",
            Self::Opencode => "OpenCode",
        }
    }

    /// The limitation of a program that offers its tools only.
    pub(super) fn limits(self) -> Option<&'static str> {
        match self {
            Self::ClaudeDesktop | Self::Zed => Some(
                "it has no hooks: its model has the tools, and reads its memory where it decides to",
            ),
            Self::Cursor | Self::Vscode => Some(
                "the context is there from the beginning of a session; nothing can be put beside a prompt",
            ),
            Self::Goose => Some(
                "it reads no hook's output: the context is written into `.goosehints`, which it reads when a session begins",
            ),
            _ => None,
        }
    }

    /// The client of its hooks; `None` where it has none.
    pub(super) fn hook_client(self) -> Option<hook::Client> {
        hook::Client::from_str(&self.name(), false).ok()
    }

    pub(super) fn has_hooks(self) -> bool {
        self.hook_client().is_some()
    }

    /// Whether it runs no hook before the person has trusted it there.
    pub(super) fn asks_for_trust(self) -> bool {
        self == Self::Codex
    }

    /// What the person has to do before the program calls: after a setup, and where it works when it is run here, but
    /// does not call.
    pub(super) fn left_to_do(self) -> &'static str {
        match self {
            Self::Codex => {
                "start `codex`, type `/hooks` there and trust those of Memoir; before that it runs none of them, and \
                 `codex exec`, which cannot ask, leaves them out without a word"
            }
            Self::ClaudeCode | Self::Gemini => {
                "begin a new session, and trust its folder when asked; `/hooks` and `/mcp` there list what it calls"
            }
            Self::Cursor | Self::Vscode | Self::ClaudeDesktop | Self::Zed => {
                "end the program, start it again and begin a session; its settings list the server `memoir`, which may \
                 have to be switched on"
            }
            Self::Copilot | Self::Goose | Self::Opencode => {
                "end the program, start it again and begin a session"
            }
        }
    }

    /// The folder that shows that the program is installed.
    pub(super) fn folder(self, folders: &Folders) -> PathBuf {
        match self {
            Self::ClaudeCode => folders.named("CLAUDE_CONFIG_DIR", ".claude"),
            Self::Codex => folders.named("CODEX_HOME", ".codex"),
            Self::Gemini => folders.home.join(".gemini"),
            Self::Cursor => folders.home.join(".cursor"),
            Self::Copilot => folders.named("COPILOT_HOME", ".copilot"),
            Self::Vscode => folders.application("Code"),
            Self::ClaudeDesktop => folders.application("Claude"),
            Self::Goose => folders.config.join("goose"),
            Self::Zed => folders.config.join("zed"),
            Self::Opencode => folders.config.join("opencode"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_5_5_only_lines_word_for_word_of_setup_are_certainly_its_own() {
        let call = |program: &str, options: &[&str]| ProgramCall {
            program: program.into(),
            arguments: options.iter().map(|word| (*word).to_owned()).collect(),
            agent: None,
        };
        let written = ["--agent", "wren", "--database", "/home/a b/it's.db"];
        for (program, options) in [
            ("/usr/bin/memoir", &written[..]),
            ("/home/a b/memoir", &written),
            ("memoir", &["--per-project", "--url", "http://127.0.0.1:1"]),
        ] {
            let line = call(program, options).hook(HookEvent::Stop, hook::Client::ClaudeCode);
            assert!(is_as_written(&line), "{line}");
            assert_eq!(words_of(&line)[0], program);
            assert_eq!(words_of(without_end(&line))[5..], *options);
        }
        for line in [
            "memoir hook stop --client claude-code --agent robin",
            "memoir hook stop --client claude-code --agent robin || true",
            "memoir hook stop --client claude-code --agent robin --database m.db --quiet || true",
            "notes hook stop --client claude-code --agent robin --database m.db || true",
            "memoir hook dream --client claude-code --agent robin --database m.db || true",
            "echo memoir hook stop --client x --agent robin --database m.db || true",
        ] {
            let own = KnownFile::default().is_written_hook(&serde_json::json!({"command": line}));
            assert!(!own, "{line}");
        }
        let words = words_of(r#""/a b/memoir" hook 'x y'"#);
        assert_eq!(words, ["/a b/memoir", "hook", "x y"]);
    }
}
