//! A home that no other test shares, and the binary run in it.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::OnceLock,
    time::{Duration, Instant},
};

pub(crate) use memoir_testkit::rows;
use memoir_testkit::{ScriptedServer, ServerStep};
use serde_json::{Value, json};

/// A user's home, empty at first.
pub(crate) struct Installation {
    home: tempfile::TempDir,
}

/// The files of a home that is made once, by many processes, and of which each test gets a copy.
pub(crate) struct MadeOnce(OnceLock<BTreeMap<PathBuf, Vec<u8>>>);

impl MadeOnce {
    pub(crate) const fn new() -> Self {
        Self(OnceLock::new())
    }

    pub(crate) fn copy(&self, make: impl FnOnce() -> Installation) -> Installation {
        Installation::of_files(self.0.get_or_init(|| make().files()))
    }
}

/// What is typed behind `memoir`: its words, or a line in which quotes hold the words of one together.
pub(crate) trait Typed {
    fn words(&self) -> Vec<String>;
}

impl Typed for str {
    fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        // What is in quotes and what is outside of them take turns.
        for (place, part) in self.split('\'').enumerate() {
            match place % 2 {
                1 => words.push(part.to_owned()),
                _ => words.extend(part.split_whitespace().map(str::to_owned)),
            }
        }
        words
    }
}

impl Typed for String {
    fn words(&self) -> Vec<String> {
        self.as_str().words()
    }
}

impl<W: AsRef<str>> Typed for [W] {
    fn words(&self) -> Vec<String> {
        self.iter().map(|word| word.as_ref().to_owned()).collect()
    }
}

impl<W: AsRef<str>, const N: usize> Typed for [W; N] {
    fn words(&self) -> Vec<String> {
        self.as_slice().words()
    }
}

impl<W: AsRef<str>> Typed for Vec<W> {
    fn words(&self) -> Vec<String> {
        self.as_slice().words()
    }
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
        fs::create_dir(home.path().join("tmp")).unwrap();
        Self { home }
    }

    /// With the agent `wren`, whose model needs no network. All of these have the same keys and identifiers.
    pub(crate) fn with_agent() -> Self {
        static MADE: MadeOnce = MadeOnce::new();
        MADE.copy(Self::with_agent_of_its_own)
    }

    /// As [`Installation::with_agent`], made now, with keys and identifiers of its own.
    pub(crate) fn with_agent_of_its_own() -> Self {
        let installation = Self::new();
        // The archive is tested by itself; elsewhere its limits must not restrict scripted edits.
        installation.create("wren", &["--model=builtin:careful", "--loss-guard=off"]);
        installation
    }

    /// Another home with the same files.
    pub(crate) fn copied(&self) -> Self {
        Self::of_files(&self.files())
    }

    /// With these files, each for its owner only.
    fn of_files(files: &BTreeMap<PathBuf, Vec<u8>>) -> Self {
        let (mut folder, mut file) = (fs::DirBuilder::new(), fs::OpenOptions::new());
        folder.recursive(true);
        file.create_new(true).write(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
            folder.mode(0o700);
            file.mode(0o600);
        }
        let installation = Self::new();
        for (name, bytes) in files {
            let path = installation.home.path().join(name);
            folder.create(path.parent().unwrap()).unwrap();
            file.open(path).unwrap().write_all(bytes).unwrap();
        }
        installation
    }

    /// All files of the home, by their paths in it.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let home = self.home.path();
        let files = files_in(home).into_iter();
        files
            .map(|(path, bytes)| (path.strip_prefix(home).unwrap().to_owned(), bytes))
            .collect()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The binary, in this home and without the tester's environment.
    pub(crate) fn command(&self, arguments: &(impl Typed + ?Sized)) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_memoir"));
        command
            .args(arguments.words())
            .env_clear()
            .env("HOME", self.home.path())
            .env("TMPDIR", self.path("tmp"))
            .current_dir(self.home.path())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &(impl Typed + ?Sized)) -> Ran {
        Ran::of(&mut self.command(arguments))
    }

    /// As the agent or administrator with that token.
    pub(crate) fn with_token(&self, token: &str, arguments: &(impl Typed + ?Sized)) -> Ran {
        let mut command = self.command(arguments);
        Ran::of(command.env("MEMOIR_TOKEN", token.trim_end()))
    }

    /// Starts the binary without waiting for its end.
    pub(crate) fn start(&self, arguments: &(impl Typed + ?Sized)) -> Child {
        let mut command = self.command(arguments);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    pub(crate) fn run_with_input(&self, arguments: &(impl Typed + ?Sized), input: &str) -> Ran {
        Ran::with_input(&mut self.command(arguments), input)
    }

    /// Runs a command that must succeed, and returns its stdout.
    pub(crate) fn ok(&self, arguments: &(impl Typed + ?Sized)) -> String {
        self.run(arguments).ok(arguments)
    }

    /// The one JSON document that a command prints.
    pub(crate) fn json(&self, arguments: &(impl Typed + ?Sized)) -> Value {
        let mut words = arguments.words();
        words.push("--json".to_owned());
        let stdout = self.ok(&words);
        serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{words:?}: {error}: {stdout}"))
    }

    /// Runs a command that must be refused with status 1, a message and nothing on stdout.
    pub(crate) fn refused(&self, arguments: &(impl Typed + ?Sized)) -> String {
        let (ran, words) = (self.run(arguments), arguments.words());
        let is_refused = (ran.code, ran.stdout.as_str()) == (Some(1), "");
        let is_named = ran.stderr.starts_with("error: ");
        assert!(is_refused && is_named, "{words:?}: {ran:?}");
        ran.stderr
    }

    /// The items of the list that a command prints.
    pub(crate) fn items(&self, arguments: &(impl Typed + ?Sized)) -> Vec<Value> {
        self.json(arguments)["items"].as_array().unwrap().clone()
    }

    /// A field of each of those items.
    pub(crate) fn each(&self, arguments: &(impl Typed + ?Sized), field: &str) -> Vec<String> {
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

    /// Saves many memories by one process, as an import of lines.
    pub(crate) fn import(&self, texts: impl IntoIterator<Item = String>) {
        let lines = texts.into_iter();
        let lines = lines.map(|text| format!("{}\n", json!({"content": text})));
        let file = self.write("many.jsonl", lines.collect::<String>());
        self.ok(&["import", "wren", &file]);
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

    /// The number that a query of the user's own database gives.
    pub(crate) fn count(&self, query: &str) -> i64 {
        let path = self.path(".local/share/memoir/memoir.db");
        let database = rusqlite::Connection::open(path).unwrap();
        database.query_row(query, [], |row| row.get(0)).unwrap()
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
    /// Its stdout, where the command succeeded.
    #[track_caller]
    pub(crate) fn ok(self, arguments: &(impl Typed + ?Sized)) -> String {
        assert_eq!(self.code, Some(0), "{:?}: {self:?}", arguments.words());
        self.stdout
    }

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
            let bytes = fs::read(&path).unwrap();
            files.insert(path, bytes);
        }
    }
    files
}

/// The names in a folder.
pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// Runs a command on a terminal of its own, and returns all that the terminal shows. `typed` is an answer, and the
/// question after which it is typed.
#[cfg(target_os = "linux")]
pub(crate) fn on_terminal(mut command: Command, mut typed: Option<(&str, &str)>) -> String {
    use std::io::Read;

    use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};

    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let controller = openpt(flags).unwrap();
    unlockpt(&controller).unwrap();
    let peer = ioctl_tiocgptpeer(&controller, flags).unwrap();
    let side = || Stdio::from(peer.try_clone().unwrap());
    command.stdin(side()).stdout(side()).stderr(side());
    let mut child = command.spawn().unwrap();
    // Only the child has that side now: reading ends with it.
    drop((command, peer));
    let mut terminal = fs::File::from(controller);
    let (mut shown, mut part) = (Vec::new(), [0; 4_096]);
    while let Ok(count @ 1..) = terminal.read(&mut part) {
        shown.extend_from_slice(&part[..count]);
        if let Some((question, answer)) = typed
            && String::from_utf8_lossy(&shown).contains(question)
        {
            terminal.write_all(answer.as_bytes()).unwrap();
            typed = None;
        }
    }
    child.wait().unwrap();
    String::from_utf8(shown).unwrap()
}

/// Waits for a condition that another process fulfils.
pub(crate) fn wait_until(done: impl FnMut() -> bool) {
    wait_within(Duration::from_secs(60), done);
}

/// As [`wait_until`], for what may take longer.
pub(crate) fn wait_within(most: Duration, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(
            begun.elapsed() < most,
            "it did not come about within {most:?}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}
