//! Checks a program's setup: the command is run once, as the program runs it, and the state folder has the times of the
//! program's calls.

use std::{
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use memoir_app::{Examination, Severity};

use super::{
    clients::{
        Folders, OwnedPart, Program, command_of, command_of_server, has_only_options, hooks_in,
        is_named, words_of,
    },
    json as members,
    lasting::Passing,
    lines, parts,
    record::ProgramRecord,
    restored,
};
use crate::{
    database,
    failure::Failure,
    hook::{
        HookEvent,
        calls::{self, ProgramCalls},
        probe::{self, ProbeReport},
        written::ProgramCall,
    },
    options::{AGENT, Global, TOKEN},
    output,
    show::moment,
};

/// The time limit of all commands of a program together, which mostly respond within milliseconds.
const LONGEST: Duration = Duration::from_secs(10);
/// Most bytes that are read of its output.
const ANSWER_BYTES: u64 = 64 << 10;

pub(super) struct ProgramState {
    /// Whether its files hold Memoir's parts; `None` where they cannot be read.
    pub(super) is_set_up: Option<bool>,
    /// Whether it works, with a hint where it does not; `None` where it is not set up.
    pub(super) examination: Option<Examination>,
}

impl ProgramState {
    /// The cell of the table; the finding below it has the rest.
    pub(super) fn summary(&self) -> &'static str {
        let severity = self.examination.as_ref().map(|found| found.severity);
        match (self.is_set_up, severity) {
            (None, _) => "settings that cannot be read",
            (_, Some(Severity::Problem)) => "does not work: see below",
            (_, Some(Severity::Warning)) => "see below",
            (_, Some(Severity::Ok)) => "works",
            (_, None) => "nothing of Memoir",
        }
    }
}

const AREA: &str = "programs";

pub(super) fn state(global: &Global, program: Program, folders: &Folders) -> ProgramState {
    let edits = program.present_edits(folders);
    let (record, changes) = match ProgramRecord::read(program)
        .and_then(|record| Ok((restored(&edits, &record)?, record)))
    {
        Ok((changes, record)) => (record, changes),
        Err(failure) => {
            return ProgramState {
                is_set_up: None,
                examination: Some(failure.into_finding(AREA)),
            };
        }
    };
    let is_set_up = changes.iter().any(super::FileChange::is_one) || !parts(&edits).is_empty();
    let finding = match (is_set_up, &record.call) {
        (true, _) => Some(examined(global, program, folders, &record)),
        // It was set up, and its files were replaced since.
        (false, Some(_)) => Some(warning(
            "was set up, but Memoir is missing in its settings now",
            format!(
                "`memoir setup {0}` sets it up again; `memoir setup {0} --remove` forgets it",
                program.name()
            ),
        )),
        (false, None) => None,
    };
    ProgramState {
        is_set_up: Some(is_set_up),
        examination: finding.map(|found| Examination {
            finding: format!("{} {}", program.title(), found.finding),
            ..found
        }),
    }
}

/// A warning, whose finding is the end of a sentence that begins with the program.
fn warning(finding: impl Into<String>, advice: String) -> Examination {
    Examination::advised(Severity::Warning, AREA, finding, advice)
}

/// The commands in the program's files.
struct Configured {
    /// Its server of tools; `None` where it has none of Memoir.
    server: Option<ProgramCall>,
    /// The variables that the program's settings give to the server of tools.
    environment: Vec<(String, String)>,
    /// The program of another server that has Memoir's name.
    foreign: Option<String>,
    /// The lines of its hooks for a shell.
    hooks: Vec<String>,
    /// The first event whose hook is missing.
    lacks: Option<String>,
    /// The file and the setting by which all hooks are switched off.
    switched_off: Option<(PathBuf, String)>,
}

impl Configured {
    fn commands(&self) -> Vec<Vec<String>> {
        let server = self.server.iter().map(|call| {
            let program = call.program.display().to_string();
            [&[program], &call.arguments[..]].concat()
        });
        server
            .chain(self.hooks.iter().map(|hook| words_of(hook)))
            .collect()
    }
}

/// The settings with which programs run no hook at all.
const SWITCHES: [(&[&str], bool); 2] = [
    (&["disableAllHooks"], true),
    (&["hooksConfig", "enabled"], false),
];

fn examined(
    global: &Global,
    program: Program,
    folders: &Folders,
    record: &ProgramRecord,
) -> Examination {
    let again = format!("`memoir setup {}`", program.name());
    let configured = configured(program, folders, record);
    let commands = configured.commands();
    if commands.is_empty() {
        return unknown(configured.foreign, &again);
    }
    let programs = || {
        commands
            .iter()
            .filter_map(|words| words.first())
            .map(Path::new)
    };
    // A shell finds a path in the user's home.
    let is_gone = |program: &&Path| found(program).is_none() && !program.starts_with("~");
    if let Some(gone) = programs().find(is_gone) {
        let path = gone.display();
        return Examination::advised(
            Severity::Problem,
            AREA,
            format!("calls `{path}`, which is gone: its sessions have no memory"),
            format!("install Memoir there again, or let it call this one: {again}"),
        );
    }
    let report = match run(program, &configured) {
        Ok(report) => report,
        Err(failure) => {
            let problem = failure.into_finding(AREA);
            let anew = || Some(format!("{again} writes it anew"));
            return Examination {
                finding: format!("does not reach its memory: {}", problem.finding),
                advice: problem.advice.or_else(anew),
                ..problem
            };
        }
    };
    let mut passing = programs().filter_map(|path| Some((path, Passing::of(path)?)));
    if let Some((path, passing)) = passing.next() {
        let path = path.display();
        return warning(
            format!("calls `{path}`, which {}", passing.why()),
            format!("install Memoir for good and call its {again}, or give `--copy` with it"),
        );
    }
    let memory = match &report.agent {
        Some(agent) => format!("the memory of `{agent}`"),
        None => "a memory for each project".to_owned(),
    };
    let place = report.place.unwrap_or_default();
    let is_here = commands.iter().flatten().all(|word| word != "--url");
    let own = database::place(global).unwrap_or_default();
    if is_here && place != own {
        return warning(
            format!("works with {memory} in `{place}`, and this command opens `{own}`"),
            format!(
                "`memoir {} …` opens that one; {again} sets the program up with this one",
                database::options_of(&place)
            ),
        );
    }
    if let Some(other) = configured.foreign {
        return warning(
            format!("works with {memory}, but its server `memoir` is another program's: `{other}`"),
            format!(
                "give that server another name; {again} registers Memoir's own in its place, and its `--remove` puts \
                 that one back"
            ),
        );
    }
    if let Some(event) = configured.lacks {
        return warning(
            format!("works with {memory}, but has no hook of Memoir for `{event}`"),
            format!("{again} writes it anew"),
        );
    }
    if let Some((file, setting)) = configured.switched_off {
        let file = file.display();
        return warning(
            format!("works with {memory}, but runs no hook: `{setting}` is set in `{file}`"),
            format!(
                "take `{setting}` out of the file, and call {again}; without hooks a session begins without memory"
            ),
        );
    }
    called(program, record, &memory)
}

/// The finding for a program without a command that can be run; `again` sets it up.
fn unknown(foreign: Option<String>, again: &str) -> Examination {
    let text = match foreign {
        Some(other) => {
            format!("has a server `memoir` of another program, that setup did not write: `{other}`")
        }
        None => "has something of Memoir that setup did not write, and that cannot be run here"
            .to_owned(),
    };
    warning(text, format!("{again} writes it anew"))
}

/// The finding for a program whose memory is reached: whether it calls.
fn called(program: Program, record: &ProgramRecord, memory: &str) -> Examination {
    let ProgramCalls { hooks, tools, .. } = calls::read(&program.name());
    let since = record.call.as_ref().map_or_else(String::new, |written| {
        format!(" since it was set up on {}", moment(written.set_up_at))
    });
    let last = |times: calls::CallTimes| {
        format!("since {}, last {}", moment(times.first), moment(times.last))
    };
    let (severity, text) = match (hooks, tools) {
        (Some(hooks), _) => (
            Severity::Ok,
            format!("its hooks have called {}", last(hooks)),
        ),
        (None, Some(tools)) if !program.has_hooks() => (
            Severity::Ok,
            format!("its client has called {}", last(tools)),
        ),
        (None, Some(tools)) => (
            Severity::Warning,
            format!(
                "its client has called {}, but it has called none of its hooks{since}",
                last(tools)
            ),
        ),
        (None, None) => (Severity::Warning, format!("it has not called{since}")),
    };
    Examination {
        area: AREA,
        severity,
        finding: format!("works with {memory}; {text}"),
        advice: (severity != Severity::Ok).then(|| program.left_to_do().to_owned()),
    }
}

/// The commands in the program's files, also where setup did not write them.
fn configured(program: Program, folders: &Folders, record: &ProgramRecord) -> Configured {
    let written = record.call.as_ref().map(|written| written.call.clone());
    let edits = program.edits(folders, written.as_ref().unwrap_or(&ProgramCall::default()));
    let mut server = None;
    let (mut hooks, mut lacks) = (Vec::new(), None);
    let mut switched_off = None;
    for edit in &edits {
        let text = std::fs::read_to_string(&edit.path).unwrap_or_default();
        let switch = SWITCHES.iter().find(|(path, off)| {
            let set = members::get(&text, path).ok().flatten();
            set == Some((*off).into())
        });
        let setting = switch.map(|(path, off)| format!("{}: {off}", path.join(".")));
        switched_off = switched_off.or(setting.map(|setting| (edit.path.clone(), setting)));
        let known = record.known(&edit.path);
        for part in &edit.parts {
            server = server.or(part.server(&text));
            match part {
                OwnedPart::Hook(path, _) => {
                    let own = members::find_hook(&text, path, |hook| known.is_own_hook(hook));
                    match own.as_ref().and_then(command_of) {
                        Some(hook) => hooks.push(hook.to_owned()),
                        None => lacks = lacks.or(path.last().map(|event| (*event).to_owned())),
                    }
                }
                OwnedPart::Whole(whole) => {
                    let own = hooks_in(&text);
                    // A plugin that is no list of hooks has none.
                    let has_hooks = whole.contains(" hook ");
                    if own.is_empty() && (has_hooks || text.trim().is_empty()) {
                        lacks = lacks.or(Some("SessionStart".to_owned()));
                    }
                    hooks.extend(own);
                }
                OwnedPart::True(table, key) => {
                    let table_now = lines::table_value(&text, table);
                    if table_now.is_some_and(|now| now[*key] == false) {
                        let setting = format!("{table}.{key} = false");
                        switched_off = switched_off.or(Some((edit.path.clone(), setting)));
                    }
                }
                _ => {}
            }
        }
    }
    let environment = server.as_ref().map(environment).unwrap_or_default();
    let of_server = server.as_ref().and_then(command_of_server);
    // Another program's server may have the same name, and is not started.
    let is_own = of_server
        .as_ref()
        .is_some_and(|(path, words)| is_memoir(path.as_ref(), words, written.as_ref()));
    let (server, foreign) = match of_server {
        Some((path, words)) if is_own => {
            let call = ProgramCall {
                program: path.into(),
                // Without `mcp` and the program's name, which are put before them again.
                arguments: own_arguments(words, &program.name()),
                agent: written.and_then(|call| call.agent),
            };
            (Some(call), None)
        }
        Some((path, _)) => (None, Some(path)),
        None => (written, None),
    };
    // OpenCode's plugin, which is no JSON, was written with the call. Without any hook of Memoir none is missing.
    if hooks.is_empty() {
        if lacks.is_none()
            && let (Some(call), Some(client)) = (&server, program.hook_client())
        {
            hooks.push(call.hook(HookEvent::SessionStart, client));
        }
        lacks = lacks.filter(|_| server.is_some());
    }
    Configured {
        server,
        environment,
        foreign,
        hooks,
        lacks,
        switched_off,
    }
}

/// Whether a server's command is Memoir's: setup wrote it, its words are Memoir's own, or it starts this binary.
fn is_memoir(path: &Path, words: &[String], written: Option<&ProgramCall>) -> bool {
    let Some(("mcp", options)) = words.split_first().map(|(first, rest)| (&**first, rest)) else {
        return false;
    };
    // One that only Memoir has: setup always names the client, and a person the agent.
    let is_in_form = is_named(path)
        && options
            .iter()
            .any(|word| ["--client", "--agent", "--per-project"].contains(&&**word))
        && has_only_options(options);
    let is_this = || {
        let own = std::env::current_exe().and_then(|own| own.canonicalize());
        let path = found(path).and_then(|path| path.canonicalize().ok());
        own.is_ok_and(|own| path == Some(own))
    };
    is_in_form || written.is_some_and(|call| call.program == path) || is_this()
}

/// The variables of a server's entry; OpenCode has another name for them.
fn environment(server: &serde_json::Value) -> Vec<(String, String)> {
    let entries = ["env", "environment"].map(|name| server[name].as_object());
    let entries = entries.into_iter().flatten().flatten();
    entries
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect()
}

/// The words behind `mcp --client NAME`.
fn own_arguments(words: Vec<String>, client: &str) -> Vec<String> {
    let words = words.into_iter();
    let words = words.skip_while(|word| word == "mcp");
    let mut words: Vec<String> = words.collect();
    if words.len() > 1 && words[0] == "--client" && words[1] == client {
        words.drain(..2);
    }
    words
}

/// The file of a program: at its path, or by its name in `PATH`; `None` where it is missing.
fn found(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return program.is_file().then(|| program.to_owned());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

/// Runs every hook and the server of tools, each once, and returns the last report.
fn run(program: Program, configured: &Configured) -> Result<ProbeReport, Failure> {
    let began = Instant::now();
    let mut last = Err(Failure::new("nothing is configured"));
    for hook in &configured.hooks {
        last = Ok(report(&mut output::shell(hook), &[], "its hook", began)?);
    }
    if let Some(call) = &configured.server {
        let mut server = Command::new(&call.program);
        server.args(call.mcp(program));
        let what = "its server of tools";
        last = Ok(report(&mut server, &configured.environment, what, began)?);
    }
    last
}

/// The variables that choose a memory or identify a caller: those of this shell are not the program's.
const CHOOSING: [&str; 5] = [
    TOKEN,
    AGENT,
    "MEMOIR_URL",
    "MEMOIR_DATABASE",
    "MEMOIR_CONFIG",
];

/// Runs one command with these variables, and reads its report. `began` is when the program's first one was started.
fn report(
    command: &mut Command,
    environment: &[(String, String)],
    what: &str,
    began: Instant,
) -> Result<ProbeReport, Failure> {
    for name in CHOOSING {
        command.env_remove(name);
    }
    let child = command
        .envs(environment.iter().cloned())
        .env(probe::VARIABLE, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child =
        child.map_err(|error| Failure::new(format!("{what} does not start: {error}")))?;
    let printed = piece(child.stdout.take());
    let problems = piece(child.stderr.take());
    if !ends_in_time(&mut child, began) {
        let most = LONGEST.as_secs();
        return Err(Failure::new(format!("{what} does not end within {most} s")));
    }
    let [printed, problems] = [printed, problems].map(|piece| piece.join().unwrap_or_default());
    let line = printed.lines().next().unwrap_or_default();
    let Ok(report) = serde_json::from_str::<ProbeReport>(line) else {
        let problem = problems.lines().find(|line| !line.trim().is_empty());
        return Err(Failure::new(match problem {
            Some(problem) => format!("{what} does not respond: {problem}"),
            None => format!("{what} does not answer"),
        }));
    };
    match report.problem {
        Some(text) => Err(Failure::new(text).with_hint(report.hint)),
        None => Ok(report),
    }
}

/// Reads a process's output, in a thread, so that the process is never blocked by a full pipe.
fn piece(stream: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(stream) = stream {
            // Unreadable output is missing from the report, which is then invalid.
            let _ = stream.take(ANSWER_BYTES).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Whether it ends by itself; [`LONGEST`] after `began` it is killed.
fn ends_in_time(child: &mut Child, began: Instant) -> bool {
    loop {
        match child.try_wait() {
            Ok(Some(_)) => return true,
            Ok(None) if began.elapsed() < LONGEST => thread::sleep(Duration::from_millis(5)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
        }
    }
}
