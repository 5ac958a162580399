//! A home that no other test shares, and the binary run in it.

use std::{
    collections::BTreeMap,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use memoir_testkit::{ScriptedServer, ServerStep};
use serde_json::{Value, json};

/// A user's home, empty at first.
pub(crate) struct Installation {
    home: tempfile::TempDir,
}

/// The result of one run of the binary.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Installation {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("tmp")).unwrap();
        Self { home }
    }

    /// With the agent `wren`, whose model needs no network.
    pub(crate) fn with_agent() -> Self {
        let installation = Self::new();
        // The archive is tested by itself; elsewhere its limits must not restrict scripted edits.
        installation.create(
            "wren",
            &["--model", "builtin:careful", "--loss-guard", "off"],
        );
        installation
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The binary, in this home and without the tester's environment.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_memoir"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.home.path())
            .env("TMPDIR", self.path("tmp"))
            .current_dir(self.home.path())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(&mut self.command(arguments))
    }

    /// As the agent or administrator with that token.
    pub(crate) fn with_token(&self, token: &str, arguments: &[&str]) -> Ran {
        let mut command = self.command(arguments);
        Ran::of(command.env("MEMOIR_TOKEN", token.trim_end()))
    }

    /// Starts the binary without waiting for its end.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> Ran {
        Ran::with_input(&mut self.command(arguments), input)
    }

    /// Runs a command that must succeed, and returns its stdout.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        ran.stdout
    }

    /// The one JSON document that a command prints.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let stdout = self.ok(&[arguments, &["--json"]].concat());
        serde_json::from_str(&stdout)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {stdout}"))
    }

    /// Runs a command that must be refused with status 1, a message and nothing on stdout.
    pub(crate) fn refused(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(1), ""),
            "{arguments:?}: {ran:?}"
        );
        assert!(ran.stderr.starts_with("error: "), "{arguments:?}: {ran:?}");
        ran.stderr
    }

    /// The items of the list that a command prints.
    pub(crate) fn items(&self, arguments: &[&str]) -> Vec<Value> {
        self.json(arguments)["items"].as_array().unwrap().clone()
    }

    /// A field of each of those items.
    pub(crate) fn each(&self, arguments: &[&str], field: &str) -> Vec<String> {
        let items = self.items(arguments).into_iter();
        items
            .map(|item| item[field].as_str().unwrap().to_owned())
            .collect()
    }

    /// What `memoir doctor` finds, whatever its status.
    pub(crate) fn findings(&self) -> Vec<Value> {
        let ran = self.run(&["doctor", "--json"]);
        let found: Value = serde_json::from_str(&ran.stdout).unwrap();
        found["items"].as_array().unwrap().clone()
    }

    /// Makes an agent with these options.
    pub(crate) fn create(&self, name: &str, options: &[&str]) {
        self.ok(&[&["agent", "create", name], options].concat());
    }

    pub(crate) fn remember(&self, texts: &[&str]) {
        for text in texts {
            self.remember_with(text, &[]);
        }
    }

    /// Saves a memory with these options.
    pub(crate) fn remember_with(&self, text: &str, options: &[&str]) {
        self.ok(&[&["remember", "wren", text], options].concat());
    }

    /// The active memories' texts, oldest first.
    pub(crate) fn texts(&self) -> Vec<String> {
        let all = self.items(&["ledger", "wren", "--all"]);
        all.iter()
            .filter(|memory| memory["discarded_at"].is_null())
            .map(|memory| memory["content"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The core memories' texts, oldest first.
    pub(crate) fn core(&self) -> Vec<String> {
        self.each(&["ledger", "wren"], "content")
    }

    /// The last session's identifier.
    pub(crate) fn last_session(&self) -> String {
        let sessions = self.json(&["sessions", "wren"]);
        sessions["items"][0]["id"].as_str().unwrap().to_owned()
    }

    /// Makes `lab:small` a model that follows the script.
    pub(crate) fn scripted(&self, script: impl IntoIterator<Item = ServerStep>) -> ScriptedServer {
        let server = ScriptedServer::start(script);
        let config = format!(
            "[limits]\nattempts = 2\nfirst_wait_seconds = 0.01\n[providers.lab]\nbase_url = \"{}\"\n",
            server.base_url()
        );
        self.write(".config/memoir/config.toml", config);
        server
    }
}

/// An answer that comes after every test's end.
pub(crate) fn late_answer() -> ServerStep {
    ServerStep::Slow(Duration::from_secs(60), Box::new(ServerStep::text("YES")))
}

/// The model consents, makes these calls, and completes.
pub(crate) fn script(calls: &[(&str, Value)]) -> Vec<ServerStep> {
    let mut script = vec![ServerStep::text("YES")];
    script.extend(
        calls
            .iter()
            .map(|(tool, arguments)| ServerStep::call(tool, arguments.clone())),
    );
    script.push(ServerStep::call(
        "complete_refinement",
        json!({"summary": "Done."}),
    ));
    script
}

impl Ran {
    pub(crate) fn of(command: &mut Command) -> Self {
        Self::from_output(command.output().unwrap())
    }

    /// For a process that may end without reading its input.
    pub(crate) fn with_input(command: &mut Command, input: &str) -> Self {
        Self::with_bytes(command, input.as_bytes())
    }

    /// As [`Ran::with_input`], for what may be no text.
    pub(crate) fn with_bytes(command: &mut Command, input: &[u8]) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let written = child.stdin.take().unwrap().write_all(input);
        let ran = Self::from_output(child.wait_with_output().unwrap());
        assert!(written.is_ok() || ran.code != Some(0), "{ran:?}");
        ran
    }

    /// Asserts that it was refused with one error and a hint.
    pub(crate) fn error(self) -> String {
        let is_refused = (self.code, self.stdout.as_str()) == (Some(1), "");
        let is_clear = self.stderr.starts_with("error: ")
            && self.stderr.matches("error: ").count() == 1
            && self.stderr.matches("\n\nhint: ").count() == 1;
        assert!(is_refused && is_clear, "{self:?}");
        self.stderr
    }

    /// Asserts that stdout contains a part.
    #[track_caller]
    pub(crate) fn prints(&self, part: &str) {
        assert!(self.stdout.contains(part), "{part}: {self:?}");
    }

    /// Asserts that stderr contains a part.
    #[track_caller]
    pub(crate) fn reports(&self, part: &str) {
        assert!(self.stderr.contains(part), "{part}: {self:?}");
    }

    pub(crate) fn from_output(output: std::process::Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Stdout as JSON lines.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let lines = self.stdout.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// All files below a folder, with their bytes.
pub(crate) fn files_in(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for name in names_in(folder) {
        let path = folder.join(name);
        if path.is_dir() {
            files.extend(files_in(&path));
        } else {
            let bytes = std::fs::read(&path).unwrap();
            files.insert(path, bytes);
        }
    }
    files
}

/// The names in a folder.
pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// Waits for a condition that another process fulfils.
pub(crate) fn wait_until(mut done: impl FnMut() -> bool) {
    for _ in 0..500 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("it did not come about within 10 s");
}
