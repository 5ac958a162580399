//! `memoir setup`: registers an agent's tools with a program, and the hooks that put its memory before the model.
//!
//! It shows the difference of every file before it writes one. A record (`record.rs`) keeps the written and the
//! previous text, so that `--remove` restores every byte. From a file that was changed since, it removes only Memoir's
//! parts.

mod check;
mod clients;
mod json;
mod lasting;
mod lines;
mod record;

use std::{
    collections::BTreeSet,
    fs, io,
    io::IsTerminal,
    path::{Path, PathBuf},
};

use clap::ValueEnum;
use memoir_app::{Clock, Examination, Severity, SystemClock};
use reqwest::Url;
use serde_json::json;

use check::ProgramState;
use clients::{Edit, Folders, KnownFile, OwnedPart, Program, hooks_in};
use record::ProgramRecord;

use crate::{
    config::Config,
    database, embeddings,
    failure::{Failure, Outcome},
    hook::{
        AgentChoice, calls,
        written::{self, ProgramCall, WrittenCall},
    },
    installation::Installation,
    options::{Global, TOKEN, agent_in_environment},
    output, parse, private_file,
    remote::{self, Remote, ServiceAddress},
    show::{TextTable, diff::diff, examination},
    terminal::{self, BOLD, safe},
};

/// The name of the first agent, which is created where there is none.
const FIRST_AGENT: &str = "assistant";
/// The hint for a file that cannot be changed.
const CORRECT: &str = "nothing was changed; correct or move the file, and try again";

/// Give a program an agent's memory: its tools, and hooks that put it before the model
///
/// Without a program, it lists the programs found here, runs the command of each once, and reports whether it works and
/// since when the program has called. Every file's difference is shown before it is written; `--remove` restores every
/// byte.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The program
    program: Option<Program>,
    #[command(flatten)]
    whose: AgentChoice,
    /// The service that keeps the memory, in place of a database on this machine; the agent's token is taken from
    /// `MEMOIR_TOKEN` and stored in a file for its owner only
    #[arg(long, value_name = "URL", env = "MEMOIR_URL", hide_env_values = true)]
    url: Option<String>,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Put a copy of this program into your data directory, and let the program call that: for a Memoir that a package
    /// manager runs from its cache, or whose path holds its version
    #[arg(long, requires = "program", conflicts_with = "remove")]
    copy: bool,
    /// Undo the setup, whichever agent and service it was made for
    // Not in conflict with the address, which may still be in the environment.
    #[arg(long, requires = "program", conflicts_with = "per_project")]
    remove: bool,
}

/// The change of one file; `None` where the file is missing.
struct FileChange {
    path: PathBuf,
    before: Option<String>,
    after: Option<String>,
}

impl FileChange {
    fn is_one(&self) -> bool {
        self.before != self.after
    }

    fn name(&self) -> &'static str {
        match (&self.before, &self.after) {
            (before, after) if before == after => "unchanged",
            (None, _) => "made",
            (_, None) => "removed",
            _ => "changed",
        }
    }

    /// Refuses a read-only file, since replacing it would ignore the user's intention, and a dangling link.
    fn check(&self) -> Result<(), Failure> {
        let found = fs::metadata(&self.path);
        let why = match found {
            Ok(found) if found.permissions().readonly() => "it is read-only",
            Err(_) if self.path.is_symlink() => "it is a link to a missing file",
            _ => return Ok(()),
        };
        let problem = format!("cannot change `{}`: {why}", self.path.display());
        Err(Failure::new(problem).hint(CORRECT))
    }

    fn write(&self) -> Result<(), Failure> {
        let problem = |error| Failure::file("write", &self.path, &error);
        match &self.after {
            Some(text) => private_file::write(&self.path, text.as_bytes()).map_err(problem),
            None => private_file::remove(&self.path).map(drop),
        }
    }
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let folders = Folders::find()?;
    if !arguments.remove
        && let Some(other) = other_in_path()
    {
        let advice = other.advice.unwrap_or_default();
        terminal::note(&format!("note: {}; {advice}", other.finding));
    }
    match arguments.program {
        None => overview(global, &folders),
        Some(program) if arguments.remove => {
            let record = ProgramRecord::read(program)?;
            let edits = edits_to_undo(program, &folders, &record)?;
            let changes = restored(&edits, &record)?;
            if !agreed(global, &arguments, &changes)? {
                return Err(Failure::Refused);
            }
            for change in to_write(&changes)? {
                change.write()?;
            }
            record.remove_folders();
            record.forget()?;
            calls::forget(&program.name());
            lasting::remove_unused_copy();
            report_removal(global, program, &changes, &arguments, &edits)
        }
        Some(program) => {
            let call = call(global, &arguments).await?;
            let mut record = ProgramRecord::read(program)?;
            let edits = program.edits(&folders, &call);
            let changes = added(&edits, &record)?;
            if let (Some(agent), None, false) = (&call.agent, &arguments.url, arguments.yes) {
                note_new_agent(global, agent).await?;
            }
            if !agreed(global, &arguments, &changes)? {
                return Err(Failure::Refused);
            }
            if arguments.copy {
                lasting::write_copy(&call.program)?;
            }
            // The database and the agent are created only after the user has agreed.
            let mut agent_id = None;
            if let Some(agent) = &call.agent {
                agent_id = make(global, &arguments, agent).await?;
            } else if arguments.url.is_none() {
                Installation::open(global).await?;
            }
            for change in to_write(&changes)? {
                let edit = edits.iter().find(|edit| edit.path == change.path);
                let parts = edit.map(|edit| &edit.parts[..]).unwrap_or_default();
                let known = record.known(&change.path);
                let cleaned = change.before.as_ref().map(|text| {
                    with_own_line_ends(&change.path, text, |text| removed(text, parts, &known))
                });
                let cleaned = cleaned.transpose()?;
                let is_gone = |text: &String| text.is_empty() && edit.is_some_and(Edit::is_own);
                let cleaned = cleaned.filter(|text| !is_gone(text));
                let hooks = parts.iter().filter_map(OwnedPart::hook_command);
                // The record first: the previous text is known even after a crash.
                record.note(change, cleaned, hooks.map(str::to_owned))?;
                change.write()?;
            }
            let place = database::place_or(global, arguments.url.as_deref())?;
            let is_changed = changes.iter().any(FileChange::is_one);
            if is_changed || record.call.as_ref().is_none_or(|known| known.call != call) {
                // The program's earlier calls do not show that its new command works.
                calls::forget(&program.name());
                let written = WrittenCall {
                    call: call.clone(),
                    place,
                    set_up_at: SystemClock.now(),
                    agent_id,
                    former_names: BTreeSet::new(),
                };
                record.note_call(written)?;
            }
            report(global, program, call.agent.as_deref(), &changes, &arguments)
        }
    }
}

fn report_removal(
    global: &Global,
    program: Program,
    changes: &[FileChange],
    arguments: &Arguments,
    edits: &[Edit],
) -> Outcome {
    let left = parts(edits);
    if !left.is_empty() {
        terminal::note(&format!(
            "note: these stay in its settings, since setup did not certainly write them: {}",
            left.join(", ")
        ));
    }
    if left.is_empty() || global.json {
        return report(global, program, None, changes, arguments);
    }
    let done = match changes.iter().any(FileChange::is_one) {
        true => "what setup wrote is removed from",
        false => "nothing was removed from",
    };
    output::print(&format!("{done} {}", program.title()))
}

/// The hooks and servers of Memoir's form or name in the program's files, by name, also those that setup did not write.
fn parts(edits: &[Edit]) -> Vec<String> {
    let mut found = Vec::new();
    for edit in edits {
        let text = fs::read_to_string(&edit.path).unwrap_or_default();
        let calls = |hook: &serde_json::Value| KnownFile::default().is_own_hook(hook);
        let place = safe(&edit.path.display().to_string()).into_owned();
        for part in &edit.parts {
            match part {
                OwnedPart::Hook(path, _) if json::find_hook(&text, path, calls).is_some() => {
                    let event = path.last().copied().unwrap_or_default();
                    found.push(format!("the hook of `{event}` in `{place}`"));
                }
                OwnedPart::Whole(_) if !hooks_in(&text).is_empty() => {
                    found.push(format!("the hooks in `{place}`"));
                }
                part if part.server(&text).is_some() => {
                    found.push(format!("the server `memoir` in `{place}`"));
                }
                _ => {}
            }
        }
    }
    found
}

/// The agents of an installation on this machine that programs are set up with by name.
pub(crate) fn agents(place: &str) -> Vec<String> {
    written::all()
        .into_iter()
        .filter(|(_, written)| written.place == place)
        .filter_map(|(_, written)| written.call.agent)
        .collect()
}

/// The agent, and the command line of Memoir. A project's agent is not known yet.
async fn call(global: &Global, arguments: &Arguments) -> Result<ProgramCall, Failure> {
    let program = lasting::program(arguments.copy)?;
    let mut words = Vec::new();
    let whose = &arguments.whose;
    let agent = match whose.per_project {
        true => None,
        false => Some(agent_name(global, arguments).await?),
    };
    match &agent {
        Some(agent) => words.extend(["--agent".to_owned(), agent.clone()]),
        None => words.push("--per-project".to_owned()),
    }
    if let Some(prefix) = &whose.prefix {
        words.extend(["--prefix".to_owned(), prefix.clone()]);
    }
    if let Some(url) = &arguments.url {
        if let Some(warning) = remote::warning_of(url) {
            terminal::note(&warning);
        }
        words.extend(["--url".to_owned(), url.clone()]);
    } else {
        // Always, since the environment of a folder may name another one (`hook/written.rs`).
        words.extend([
            "--database".to_owned(),
            database_word(global.database.as_deref())?,
        ]);
        if global.account != memoir_app::DEFAULT_ACCOUNT {
            words.extend(["--account".to_owned(), global.account.clone()]);
        }
        if let Some(config) = &global.config {
            words.extend(["--config".to_owned(), absolute(config)?]);
        }
    }
    Ok(ProgramCall {
        program,
        arguments: words,
        agent,
    })
}

/// The database for a program's settings.
///
/// # Errors
/// It cannot be named there.
fn database_word(url: Option<&str>) -> Result<String, Failure> {
    let Some(url) = database::postgres(url) else {
        // The path is absolute, since a program starts Memoir in any folder.
        return absolute(&database::path(url)?);
    };
    let is_open = Url::parse(url).is_ok_and(|url| {
        url.password().is_none() && url.query_pairs().all(|(name, _)| name != "password")
    });
    match is_open {
        true => Ok(url.to_owned()),
        // Its differences would be shown, and the file may be read by others.
        false => Err(Failure::new(
            "nothing was changed: the address of the database has a password, and a program's settings are no place for it",
        )
        .hint("let a service open the database (`memoir serve`), and give its address with `--url`")),
    }
}

fn absolute(path: &Path) -> Result<String, Failure> {
    let absolute =
        std::path::absolute(path).map_err(|error| Failure::file("find", path, &error))?;
    Ok(absolute.display().to_string())
}

/// The named agent; else the only one, or the first one, which is created later.
async fn agent_name(global: &Global, arguments: &Arguments) -> Result<String, Failure> {
    let named = arguments.whose.agent.clone().or_else(agent_in_environment);
    if let Some(name) = named {
        return Ok(name);
    }
    if arguments.url.is_some() {
        return Err(Failure::new("no agent is named").hint("name it with `--agent NAME`"));
    }
    let installation = Installation::existing(global).await?;
    if installation.account.agent_page(None, 1).await?.is_empty() {
        return Ok(FIRST_AGENT.to_owned());
    }
    Ok(installation.agent_or_only(None).await?.name().to_owned())
}

/// Reports, before the user is asked, that an agent will be created beside others, and the name that was probably meant.
async fn note_new_agent(global: &Global, name: &str) -> Result<(), Failure> {
    let installation = Installation::existing(global).await?;
    let is_first = installation.account.agent_page(None, 1).await?.is_empty();
    if let (Err(Failure::Shown(missing)), false) = (installation.agent(name).await, is_first) {
        let missing = safe(&missing.one_line()).into_owned();
        terminal::note(&format!("note: a new agent will be created: {missing}"));
    }
    Ok(())
}

/// Creates a missing agent; behind a service, checks its token and stores it. Returns the agent's identifier.
async fn make(
    global: &Global,
    arguments: &Arguments,
    agent: &str,
) -> Result<Option<String>, Failure> {
    let Some(url) = &arguments.url else {
        let installation = Installation::open(global).await?;
        let agent = installation.agent_or_new(agent).await?;
        // The token is created now, so that the program keeps its memory when the installation is closed (SPEC 5.5).
        installation.program_token(&agent).await?;
        return Ok(Some(agent.scope().agent.to_string()));
    };
    let given = std::env::var(TOKEN).unwrap_or_default();
    // A person has agreed to the address, also to one of the environment.
    let remote = if given.is_empty() {
        let (url, is_typed) = (url.clone(), true);
        Remote::open(&ServiceAddress { url, is_typed }, Some(agent))?
    } else {
        // Before a stored one, which it replaces: that one may have ended.
        Remote::with_token(url, agent, given.clone())?
    };
    // The request checks the token now, since later its failure would only be in the log of the hooks.
    let found: serde_json::Value = remote.get("", &[]).await?;
    if !given.is_empty() {
        remote::store_token(url, agent, &given)?;
        let (url, agent) = (safe(url), safe(agent));
        terminal::note(&format!("stored the token of `{agent}` at `{url}`"));
    }
    Ok(found["id"].as_str().map(str::to_owned))
}

fn added(edits: &[Edit], record: &ProgramRecord) -> Result<Vec<FileChange>, Failure> {
    edits
        .iter()
        .filter_map(|edit| {
            let known = record.known(&edit.path);
            let changed = |text: &str| {
                edit.parts
                    .iter()
                    .try_fold(text.to_owned(), |text, part| part.added(&text, &known))
            };
            match change(&edit.path, changed) {
                // A file that only the hooks write is not created here.
                Ok(change) if change.before.is_none() && change.after.as_deref() == Some("") => {
                    None
                }
                made => Some(made),
            }
        })
        .collect()
}

/// The program's present files, and those of the record in other folders, which a variable of the environment named.
///
/// # Errors
/// The record has a file that this version does not write.
fn edits_to_undo(
    program: Program,
    folders: &Folders,
    record: &ProgramRecord,
) -> Result<Vec<Edit>, Failure> {
    let mut all = program.present_edits(folders);
    for path in record.paths() {
        if all.iter().any(|edit| edit.path == *path) {
            continue;
        }
        // The environment chooses the folder, and the file's name is the same in each.
        let mut edits = program.present_edits(folders).into_iter();
        let same = edits.find(|edit| edit.path.file_name() == path.file_name());
        let Edit { parts, .. } = same.ok_or_else(|| {
            let path = path.display();
            Failure::new(format!("this version cannot restore `{path}`"))
                .hint("nothing was changed; undo the setup with the version that wrote that file")
        })?;
        let path = path.clone();
        all.push(Edit { path, parts });
    }
    Ok(all)
}

/// The files as before the setup, or where they were changed since, without Memoir's parts.
fn restored(edits: &[Edit], record: &ProgramRecord) -> Result<Vec<FileChange>, Failure> {
    edits
        .iter()
        .map(|edit| {
            let path = &edit.path;
            let known = record.known(path);
            let mut change = change(path, |text| removed(text, &edit.parts, &known))?;
            let is_empty = |text: &str| matches!(text.trim(), "" | "{}");
            let is_link = path.is_symlink();
            match record.before(path, change.before.as_deref()) {
                // The user put it in the place of the file, so that only Memoir's parts leave its target.
                Some(None) if is_link => {}
                Some(before) => change.after = before,
                None if change.before.is_none() => change.after = None,
                // A file that was created here, and is empty now, is removed.
                None if !is_link
                    && (record.has_made(path) || edit.is_own())
                    && change.after.as_deref().is_some_and(is_empty) =>
                {
                    change.after = None;
                }
                None => {}
            }
            Ok(change)
        })
        .collect()
}

fn removed(
    text: &str,
    parts: &[OwnedPart],
    known: &KnownFile<'_>,
) -> Result<String, json::JsonProblem> {
    // Parts are removed from the last one on, since a part comes after the ones that it needs.
    let mut parts = parts.iter().rev();
    parts.try_fold(text.to_owned(), |text, part| part.removed(&text, known))
}

fn change(
    path: &Path,
    changed: impl Fn(&str) -> Result<String, json::JsonProblem>,
) -> Result<FileChange, Failure> {
    let before = text_of(path)?;
    let text = before.as_deref().unwrap_or_default();
    let after = with_own_line_ends(path, text, changed)?;
    Ok(FileChange {
        path: path.to_owned(),
        before,
        after: Some(after),
    })
}

/// The text of a file; `None` where it is missing.
fn text_of(path: &Path) -> Result<Option<String>, Failure> {
    private_file::existing(fs::read_to_string(path))
        .map_err(|error| Failure::file("read", path, &error))
}

/// The changes to write, after the user has agreed.
///
/// # Errors
/// Another program has written one of the files since its difference was made, and would lose what it wrote.
fn to_write(changes: &[FileChange]) -> Result<Vec<&FileChange>, Failure> {
    let changes: Vec<_> = changes.iter().filter(|change| change.is_one()).collect();
    for FileChange { path, before, .. } in &changes {
        if text_of(path)? != *before {
            let failure = Failure::new(format!("`{}` was changed meanwhile", path.display()));
            return Err(failure.hint("no file of the program was written; call the command again"));
        }
    }
    Ok(changes)
}

/// A file's text after a change, with its own line ends.
fn with_own_line_ends(
    path: &Path,
    text: &str,
    changed: impl Fn(&str) -> Result<String, json::JsonProblem>,
) -> Result<String, Failure> {
    // A file with Windows line ends only keeps them.
    let is_windows =
        text.contains('\n') && text.matches('\n').count() == text.matches("\r\n").count();
    let after = match is_windows {
        true => changed(&text.replace("\r\n", "\n")).map(|after| after.replace('\n', "\r\n")),
        false => changed(text),
    };
    after.map_err(|problem| {
        let problem = format!("cannot change `{}`: {problem}", path.display());
        Failure::new(problem).hint(CORRECT)
    })
}

/// Shows the differences, and asks the user, where all of them can be written.
fn agreed(global: &Global, arguments: &Arguments, changes: &[FileChange]) -> Result<bool, Failure> {
    let changes: Vec<&FileChange> = changes.iter().filter(|change| change.is_one()).collect();
    for change in &changes {
        change.check()?;
    }
    if !global.json {
        for change in &changes {
            let path = change.path.display().to_string();
            output::print(&format!("{BOLD}{}{BOLD:#}", safe(&path)))?;
            let text = diff(change.before.as_deref(), change.after.as_deref());
            output::print(&format!("{}\n", only_near_changes(&text)))?;
        }
    }
    if arguments.yes || changes.is_empty() {
        return Ok(true);
    }
    if !io::stdin().is_terminal() {
        let problem = "nothing was changed: there is no terminal for your consent";
        return Err(Failure::new(problem).hint("check the differences, and give `--yes`"));
    }
    parse::is_agreed("Write this?")
}

/// The lines that differ, and three around each.
fn only_near_changes(text: &str) -> String {
    // As many as `diff -u` shows.
    const AROUND: usize = 3;
    let lines: Vec<&str> = text.lines().collect();
    let differs = |line: &&str| {
        // The escape sequence of the colour comes before the sign.
        let plain = anstream::adapter::strip_str(line).to_string();
        plain.starts_with(['+', '-'])
    };
    let near = |at: usize| {
        let from = at.saturating_sub(AROUND);
        let to = (at + AROUND + 1).min(lines.len());
        lines[from..to].iter().any(differs)
    };
    let mut shown = String::new();
    let mut is_gap = false;
    for (at, line) in lines.iter().enumerate() {
        if near(at) {
            is_gap = false;
            shown.push_str(line);
            shown.push('\n');
        } else if !is_gap {
            is_gap = true;
            shown.push_str("  …\n");
        }
    }
    shown
}

fn report(
    global: &Global,
    program: Program,
    agent: Option<&str>,
    changes: &[FileChange],
    arguments: &Arguments,
) -> Outcome {
    // The program calls its hooks, or its server where it has none.
    let known = calls::read(&program.name());
    let called = match program.has_hooks() {
        true => known.hooks,
        false => known.tools,
    };
    let left_to_do = (!arguments.remove && called.is_none()).then(|| program.left_to_do());
    if global.json {
        let files = changes
            .iter()
            .map(|change| json!({"path": change.path, "change": change.name()}));
        return output::json(&json!({
            "program": program.name(),
            "agent": agent,
            "files": files.collect::<Vec<_>>(),
            "left_to_do": left_to_do,
        }));
    }
    let title = program.title();
    let is_changed = changes.iter().any(FileChange::is_one);
    if !arguments.remove
        && let Some(limits) = program.limits()
    {
        terminal::note(&format!("note: {limits}"));
    }
    let begins = match program.asks_for_trust() {
        true => "once its hooks are trusted",
        false => "from its next session on",
    };
    output::print(&match (arguments.remove, is_changed, agent) {
        (true, true, _) => format!("{title} is as it was before"),
        (true, false, _) => format!("{title} has nothing of Memoir"),
        (false, true, Some(agent)) => {
            format!("{title} has the memory of `{}` {begins}", safe(agent))
        }
        (false, true, None) => format!("{title} has a memory for each project {begins}"),
        (false, false, _) => format!("{title} is set up already; its files are unchanged"),
    })?;
    if let Some(left) = left_to_do {
        output::print(&format!("left to do: {left}"))?;
    }
    if !arguments.remove && is_changed {
        let config = Config::read(global.config.as_deref())?;
        if config.recall.embeddings.is_none() && embeddings::lacks_file(&config) {
            terminal::note(&format!("note: {}", embeddings::SUGGESTION));
        }
    }
    Ok(())
}

/// The programs on this machine, and whether the setup of each works.
fn overview(global: &Global, folders: &Folders) -> Outcome {
    let found: Vec<(Program, bool, ProgramState)> = Program::value_variants()
        .iter()
        .map(|program| {
            let is_here = program.folder(folders).is_dir();
            (*program, is_here, check::state(global, *program, folders))
        })
        .collect();
    let is_sound = found.iter().all(|(_, _, state)| {
        let examination = state.examination.as_ref();
        examination.is_none_or(|examination| examination.severity != Severity::Problem)
    });
    let outcome = Failure::refused_unless(is_sound);
    if global.json {
        let items = found.iter().map(|(program, is_here, state)| {
            let examination = state.examination.as_ref();
            json!({
                "program": program.name(),
                "found": is_here,
                "set_up": state.is_set_up == Some(true),
                "works": examination.map(|examination| examination.severity == Severity::Ok),
                "finding": examination.map(|examination| &examination.finding),
                "advice": examination.and_then(|examination| examination.advice.as_ref()),
            })
        });
        output::json(&json!({"items": items.collect::<Vec<_>>()}))?;
        return outcome;
    }
    let mut table = TextTable::new(["program", "found here", "memory", "set it up with"]);
    for (program, is_here, state) in &found {
        table.row([
            program.title().to_owned(),
            if *is_here { "yes" } else { "no" }.to_owned(),
            state.summary().to_owned(),
            format!("memoir setup {}", program.name()),
        ]);
    }
    output::print(&table.to_string())?;
    let examined = found
        .iter()
        .filter_map(|(_, _, state)| state.examination.as_ref());
    let lines: Vec<String> = examined.map(examination::line).collect();
    if !lines.is_empty() {
        output::print(&format!("\n{}", lines.concat()))?;
    }
    outcome
}

/// The findings on the programs that are set up here, for `memoir doctor`.
pub(crate) fn examine(global: &Global) -> Result<Vec<Examination>, Failure> {
    let folders = Folders::find()?;
    let states = Program::value_variants()
        .iter()
        .map(|program| check::state(global, *program, &folders));
    let mut found: Vec<Examination> = states.filter_map(|state| state.examination).collect();
    found.extend(other_in_path());
    Ok(found)
}

/// That a shell starts another program by Memoir's name.
fn other_in_path() -> Option<Examination> {
    let path = lasting::other_in_path()?;
    let finding = format!(
        "`memoir` starts `{}` in a shell: another program, or another copy of Memoir, which comes first on the PATH",
        safe(&path.display().to_string())
    );
    let advice = "call this one by its whole path, or put its folder first on the PATH";
    let warning = Examination::advised(Severity::Warning, "programs", finding, advice);
    Some(warning)
}
