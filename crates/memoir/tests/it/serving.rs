//! `memoir serve` as a process: beside the command line, stopped, and killed.
#![cfg(unix)]

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Command, ExitStatus, Stdio},
    sync::Mutex,
    time::{Duration, Instant},
};

use memoir_testkit::{SIX_MEMORIES, ServerStep, TestedObject, TestedText};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::installation::{Installation, Ran, wait_until, wait_within};

/// A running service.
pub(crate) struct Running {
    child: Child,
    pub(crate) address: String,
    /// The link by which the first administrator is created; null where there is none.
    pub(crate) first_link: Value,
    schedule: Value,
}

impl Running {
    pub(crate) fn start(installation: &Installation, arguments: &[&str]) -> Self {
        Self::start_logging(installation, arguments, Stdio::null(), None)
    }

    /// With standard error to `log`, at that level.
    pub(crate) fn start_logging(
        installation: &Installation,
        arguments: &[&str],
        log: impl Into<Stdio>,
        wanted: Option<&str>,
    ) -> Self {
        Self::begin(
            Self::command(installation, arguments)
                .envs(wanted.map(|wanted| ("MEMOIR_LOG", wanted)))
                .stderr(log),
        )
    }

    pub(crate) fn command(installation: &Installation, arguments: &[&str]) -> Command {
        let serve = ["serve", "--listen", "127.0.0.1:0", "--json"];
        installation.command(&[&serve, arguments].concat())
    }

    pub(crate) fn begin(command: &mut Command) -> Self {
        Self::try_begin(command).unwrap()
    }

    /// With standard error to the file `log`; `None` where it ends before it listens.
    pub(crate) fn try_start(installation: &Installation, arguments: &[&str]) -> Option<Self> {
        let log = std::fs::File::create(installation.path("log")).unwrap();
        Self::try_begin(Self::command(installation, arguments).stderr(log))
    }

    fn try_begin(command: &mut Command) -> Option<Self> {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let Ok(told) = serde_json::from_str::<Value>(&line) else {
            child.wait().unwrap();
            return None;
        };
        let address = told["listening"].as_str().unwrap().to_owned();
        Some(Self {
            child,
            address,
            first_link: told["first_administrator"].clone(),
            schedule: told["schedule"].clone(),
        })
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn stop(&self) {
        kill_process(self.pid(), Signal::TERM).unwrap();
    }

    pub(crate) fn ended(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    fn kill(mut self) {
        self.kill_now();
    }

    pub(crate) fn kill_now(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Its memory in use, in bytes.
    fn resident(&self) -> u64 {
        self.memory("VmRSS")
    }

    /// The system's value of its memory, in bytes.
    pub(crate) fn memory(&self, what: &str) -> u64 {
        let status = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(status).unwrap();
        let line = status.lines().find(|line| line.starts_with(what)).unwrap();
        let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kilobytes * 1_024
    }

    pub(crate) fn connect(&self) -> TcpStream {
        connect(&self.address).unwrap()
    }

    /// The status and the body of a response; `None` where the service ends.
    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        token: &str,
        body: &str,
    ) -> Option<(u16, Value)> {
        ask(&self.address, method, path, token, body)
    }

    pub(crate) fn get(&self, path: &str, token: &str) -> (u16, Value) {
        self.ask("GET", path, token, "").unwrap()
    }

    /// Calls a tool over the Model Context Protocol.
    pub(crate) fn call(&self, tool: &str, arguments: Value, token: &str) -> (u16, Value) {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}});
        let call = call.to_string();
        let mut stream = self.connect();
        let head = head("POST", "/mcp", token, call.len()).replace(
            "\r\n\r\n",
            "\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\r\n",
        );
        stream.write_all((head + &call).as_bytes()).unwrap();
        answer(&mut stream).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn connect(address: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    Ok(stream)
}

/// As [`Running::ask`], for any listener.
pub(crate) fn ask(
    address: &str,
    method: &str,
    path: &str,
    token: &str,
    body: &str,
) -> Option<(u16, Value)> {
    ask_once(address, method, path, token, "", body)
}

/// As [`ask`], with an idempotency key; empty for none.
pub(crate) fn ask_once(
    address: &str,
    method: &str,
    path: &str,
    token: &str,
    key: &str,
    body: &str,
) -> Option<(u16, Value)> {
    let mut stream = connect(address).ok()?;
    let mut head = head(method, path, token, body.len());
    if !key.is_empty() {
        let once = format!("\r\nidempotency-key: {key}\r\n\r\n");
        head = head.replace("\r\n\r\n", &once);
    }
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body.as_bytes()).ok()?;
    answer(&mut stream)
}

pub(crate) fn head(method: &str, path: &str, token: &str, length: usize) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {token}\r\ncontent-length: {length}\r\n\r\n"
    )
}

fn answer(stream: &mut TcpStream) -> Option<(u16, Value)> {
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let status = text.get(9..12)?.parse().ok()?;
    let (_, body) = text.split_once("\r\n\r\n")?;
    Some((status, serde_json::from_str(body).unwrap_or_default()))
}

pub(crate) fn token(installation: &Installation, arguments: &[&str]) -> String {
    let printed = installation.ok(&[&["token", "create"], arguments].concat());
    printed.trim_end().to_owned()
}

pub(crate) fn agents_token(installation: &Installation) -> String {
    token(installation, &["--role", "agent", "--agent", "wren"])
}

/// An installation with an agent that keeps one memory, the agent's token, and the service of the installation.
pub(crate) fn served_agent() -> (Installation, String, Running) {
    let installation = Installation::with_agent();
    let token = agents_token(&installation);
    let service = Running::start(&installation, &[]);
    installation.remember(&["Ines keeps bees."]);
    (installation, token, service)
}

pub(crate) const MEMORIES: &str = "/v1/agents/wren/memories";

#[test]
fn the_command_line_and_the_service_work_side_by_side() {
    let installation = Installation::with_agent();
    let service = Running::start(&installation, &[]);
    let token = agents_token(&installation);
    installation.ok(&["remember", "wren", "From the command line."]);
    let body = json!({"content": "Over the wire."}).to_string();
    let (status, saved) = service.ask("POST", MEMORIES, &token, &body).unwrap();
    assert_eq!((status, &saved["number"]), (201, &json!(2)));
    let (_, list) = service.get(MEMORIES, &token);
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
    let both = ["From the command line.", "Over the wire."];
    assert_eq!(installation.texts(), both);
    installation.ok(&["audit", "verify", "wren"]);
    // A newly created agent is there too.
    installation.ok(&["agent", "create", "kite"]);
    let kite = self::token(&installation, &["--role", "agent", "--agent", "kite"]);
    assert_eq!(service.get("/v1/agents/kite", &kite).0, 200);
}

#[test]
fn a_probe_says_by_its_status_whether_the_service_is_ready() {
    let installation = Installation::new();
    let service = Running::start(&installation, &[]);
    installation.ok(&["serve", "--probe", "--listen", &service.address]);
    // No process listens there.
    let refused = installation.refused(&["serve", "--probe", "--listen", "127.0.0.1:1"]);
    refused.tells("the service at 127.0.0.1:1 cannot be reached");
    refused.tells("hint: is it running? `memoir serve --listen 127.0.0.1:1` starts it");
    // A listener is not thereby ready.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = [0; 11];
        stream.read_exact(&mut asked).unwrap();
        assert_eq!(&asked, b"GET /readyz");
        let unready = b"HTTP/1.1 503 Service Unavailable\r\n\r\n";
        stream.write_all(unready).unwrap();
    });
    let refused = installation.refused(&["serve", "--probe", "--listen", &address]);
    refused.tells("returns 503");
    refused.tells("hint: `memoir doctor` examines");
    answering.join().unwrap();
}

#[test]
fn the_address_is_printed_and_a_port_in_use_is_an_error_with_a_hint() {
    let installation = Installation::new();
    let service = Running::start(&installation, &[]);
    let ran = installation.run(&["serve", "--listen", &service.address]);
    let told = ran.error();
    told.tells(&service.address);
    told.tells("--listen");

    let mut child = installation.start(&["serve", "--listen", "127.0.0.1:0"]);
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    assert!(line.starts_with("listening on http://127.0.0.1:"), "{line}");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success());
    let told = String::from_utf8(ended.stderr).unwrap();
    told.tells("the schedule asks agents every Monday 04:00 UTC (next at ");
    told.tells("they reflect daily at 03:00");
    let wrong = installation.run(&["serve", "--listen", "nowhere"]);
    assert_eq!(wrong.code, Some(2));
}

#[test]
fn spec_3_1_a_service_says_when_it_asks_agents() {
    let installation = Installation::with_agent();
    let told = |configuration: &str| {
        installation.write("config.toml", configuration);
        let mut service = Running::start(&installation, &["--config", "config.toml"]);
        service.stop();
        assert!(service.ended().success());
        service.schedule.clone()
    };
    let berlin =
        told("[schedule]\nweekly = 'sun 2:30'\ndaily = '1:05'\ntime_zone = 'Europe/Berlin'\n");
    assert_eq!(berlin["daily"], json!("01:05"));
    berlin.has(json!({"enabled": true, "weekly": "Sunday 02:30", "time_zone": "Europe/Berlin"}));
    assert!(berlin["next"].is_string());
    told("[schedule]\nenabled = false\n").has(json!({"enabled": false}));
}

#[test]
fn spec_5_5_a_token_is_printed_once_and_revoked_immediately() {
    let installation = Installation::with_agent();
    let service = Running::start(&installation, &[]);
    let made = installation.run(&["token", "create", "--role", "agent", "--agent", "wren"]);
    assert_eq!((made.code, made.stdout.lines().count()), (Some(0), 1));
    let secret = made.stdout.trim_end();
    assert!(secret.starts_with("memoir_") && !made.stderr.contains(secret));
    assert_eq!(service.get("/v1/agents/wren", secret).0, 200);

    let made = installation.json("token create --role admin --expires-at 2999-01-01");
    let admin = made["token"].as_str().unwrap();
    assert_eq!(made["role"], "admin");
    assert_eq!(service.get("/v1/agents", admin).0, 200);

    let listed = installation.json(&["token", "list"]);
    let roles = installation.each(&["token", "list"], "role");
    assert_eq!(roles, ["agent", "admin"]);
    let shown = format!("{listed}{}", installation.ok(&["token", "list"]));
    assert!(!shown.contains(secret) && !shown.contains(admin));

    let id = listed["items"][0]["id"].as_str().unwrap();
    // The agent by its name, and the token by what revokes it.
    let table = installation.ok(&["token", "list"]);
    let line = table.lines().find(|line| line.starts_with(id)).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[1..3], ["agent", "wren"], "{table}");
    table.omits(listed["items"][0]["agent_id"].as_str().unwrap());
    let revoked = installation.ok(&["token", "revoke", id]);
    assert_eq!(revoked, format!("revoked {id}\n"));
    assert_eq!(service.get("/v1/agents/wren", secret).0, 401);
    assert_eq!(service.get("/v1/agents", admin).0, 200);
    assert!(installation.ok(&["token", "list"]).contains("revoked"));
    // A token in place of its identifier is not repeated.
    let refused = installation.run(&["token", "revoke", secret]).error();
    refused.tells("this is no identifier of a token");
    refused.tells("hint: `memoir token list` shows the identifiers");
    refused.omits(secret);
    let unknown = "00000000-0000-4000-8000-000000000000";
    let refused = installation.run(&["token", "revoke", unknown]).error();
    refused.tells("hint: `memoir token list` shows the tokens");
    installation.refused(&["token", "create", "--role", "admin", "--agent", "wren"]);
    let nameless = installation.run(&["token", "create", "--role", "agent"]);
    assert_eq!(nameless.code, Some(2));
    installation.refused("token create --role admin --expires-at 2001-01-01");
}

#[test]
fn spec_5_5_users_are_added_with_a_password_from_outside_the_arguments() {
    let installation = Installation::new();
    let file = installation.write("password", "correct horse battery\n");
    let ran = installation.run(&["user", "add", "Ada", "--password-file", &file]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "added Ada\n"));
    ran.reports("the first administrator closes the installation");
    let ran = installation.run_with_input(&["user", "add", "Grace"], "correct horse battery\n");
    assert_eq!(ran.stdout, "added Grace\n");
    ran.stderr.omits("closes the installation");
    let mut command = installation.command("user add Lin --json");
    let ran = Ran::of(command.env("MEMOIR_PASSWORD", "correct horse battery"));
    let lin = &ran.lines()[0];
    assert_eq!(lin["name"], "Lin");
    assert!(!lin.to_string().contains("argon2"));
    let taken = installation.refused(&["user", "add", "ADA", "--password-file", &file]);
    taken.tells("taken");
    let short = installation.write("short", "short\n");
    let told = installation.refused(&["user", "add", "Kim", "--password-file", &short]);
    assert!(told.contains("12") && !told.contains("short"), "{told}");
}

#[test]
fn spec_6_2_a_stop_answers_what_is_running_and_takes_no_more() {
    let installation = Installation::with_agent();
    let token = agents_token(&installation);
    let mut service = Running::start(&installation, &[]);
    let body = json!({"content": "What was on its way."}).to_string();
    let mut upload = service.connect();
    let head = head("POST", MEMORIES, &token, body.len());
    upload.write_all(head.as_bytes()).unwrap();
    upload.write_all(&body.as_bytes()[..10]).unwrap();
    let mut idle = service.connect();
    assert_eq!(service.get("/v1/agents/wren", &token).0, 200);

    service.stop();
    wait_until(|| TcpStream::connect(&service.address).is_err());
    upload.write_all(&body.as_bytes()[10..]).unwrap();
    let (status, _) = answer(&mut upload).unwrap();
    assert_eq!(status, 201);
    let mut rest = Vec::new();
    let _ = idle.read_to_end(&mut rest);
    let begun = Instant::now();
    assert!(service.ended().success());
    // Far less than the time that a stop has.
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(installation.texts(), ["What was on its way."]);
    let listed = installation.json(&["token", "list"]);
    // Written at the end.
    assert_ne!(listed["items"][0]["last_used_at"], json!(null));
}

#[test]
fn spec_5_1_no_log_holds_words_however_much_is_asked_for() {
    const WORD: &str = "Zwitscher";
    let installation = Installation::with_agent();
    let token = agents_token(&installation);
    installation.ok(&["remember", "wren", WORD, "--tag", WORD]);
    let log = std::fs::File::create(installation.path("log")).unwrap();
    let everything = "trace,rmcp=trace,rmcp::service=trace,hyper=trace";
    let service = Running::start_logging(&installation, &[], log, Some(everything));
    let (status, said) = service.call("recall_memories", json!({"query": WORD}), &token);
    assert!(status == 200 && said.to_string().contains(WORD), "{said}");
    let search = format!("{MEMORIES}?q={WORD}");
    assert_eq!(service.get(&search, &token).0, 200);
    assert_eq!(service.ask("POST", MEMORIES, &token, WORD).unwrap().0, 400);
    let file = installation.write("password", "correct horse battery\n");
    installation.ok(&["user", "add", "Ada", "--password-file", &file]);
    let sign_in = |body: &str| service.ask("POST", "/v1/sign-in", "", body).unwrap();
    let right = json!({"name": "Ada", "password": "correct horse battery"}).to_string();
    let (status, signed_in) = sign_in(&right);
    assert_eq!(status, 201);
    assert_eq!(sign_in(&right.replace("Ada", "Bo")).0, 401);
    assert_eq!(sign_in(&right.replace("name", "horse")).0, 400);
    assert_eq!(sign_in(&right.replace('}', "")).0, 400);
    drop(service);
    let logged = std::fs::read_to_string(installation.path("log")).unwrap();
    logged.tells("an administrator signed in");
    let secret = signed_in["token"].as_str().unwrap();
    for private in [WORD, token.as_str(), secret, "horse"] {
        logged.omits(private);
    }
}

#[test]
fn concurrent_password_guesses_do_not_exhaust_the_machines_memory() {
    const CONCURRENT: usize = 64;
    let installation = Installation::new();
    let file = installation.write("password", "correct horse battery\n");
    installation.ok(&["user", "add", "Ada", "--password-file", &file]);
    let service = Running::start(&installation, &[]);
    let guess = |number: usize| {
        let name = match number.is_multiple_of(2) {
            true => "Ada".to_owned(),
            false => format!("name {number}"),
        };
        let body = json!({"name": name, "password": "correct horse batterx"}).to_string();
        service.ask("POST", "/v1/sign-in", "", &body).unwrap().0
    };
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let guesses = (0..CONCURRENT).map(|number| scope.spawn(move || guess(number)));
        let guesses: Vec<_> = guesses.collect();
        let ended = guesses.into_iter().map(|guess| guess.join().unwrap());
        ended.collect()
    });
    let of = |status: u16| statuses.iter().filter(|other| **other == status).count();
    // As many as an address may try in a minute are checked, and at most five of them are Ada's. On a busy machine,
    // some get a retry response instead of waiting for their turn.
    assert_eq!(of(401) + of(429) + of(503), CONCURRENT, "{statuses:?}");
    assert!((1..=30).contains(&of(401)), "{statuses:?}");
    let peak = service.memory("VmHWM") >> 20;
    assert!(peak < 256, "{peak} MiB");
}

/// A session that made one edit and waits for its model.
fn waiting_session(installation: &Installation, service: &Running, token: &str) -> String {
    let body = json!({"driver": "model"}).to_string();
    let path = "/v1/agents/wren/sessions";
    let (status, session) = service.ask("POST", path, token, &body).unwrap();
    assert_eq!((status, &session["state"]), (202, &json!("queued")));
    let id = session["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/sessions/{id}");
    wait_until(|| service.get(&path, token).1["edits"] == 1);
    assert_eq!(installation.core().len(), 5);
    id
}

fn slow_script() -> Vec<ServerStep> {
    vec![
        ServerStep::text("YES"),
        ServerStep::call("delete_memory", json!({"id": 6})),
        ServerStep::text("never").after(Duration::from_secs(20)),
    ]
}

#[test]
fn spec_3_2_a_session_is_handed_back_by_a_stop_and_goes_on_after_it() {
    let installation = Installation::with_agent();
    installation.remember(&SIX_MEMORIES);
    let token = agents_token(&installation);
    let model = installation.scripted(slow_script());
    installation.ok(&["agent", "set", "wren", "model", "lab:small"]);
    let mut service = Running::start(&installation, &[]);
    let id = waiting_session(&installation, &service, &token);
    service.stop();
    let begun = Instant::now();
    assert!(service.ended().success());
    // No model keeps it from stopping.
    assert!(begun.elapsed() < Duration::from_secs(10));
    let session = installation.json(&["session", &id]);
    session.has(json!({"state": "open", "edits": 1}));
    drop(model);

    let model = installation.scripted([
        ServerStep::call("protect_memory", json!({"id": 1})),
        ServerStep::call("complete_refinement", json!({"summary": "Done."})),
    ]);
    let service = Running::start(&installation, &[]);
    let path = format!("/v1/sessions/{id}");
    wait_until(|| service.get(&path, &token).1["state"] == "completed");
    let (_, session) = service.get(&path, &token);
    session.has(json!({"edits": 1}));
    assert_eq!(session["stats"]["deleted"], 1);
    assert_eq!(model.steps_left(), 0);
    installation.ok(&["audit", "verify", "wren"]);
}

#[test]
fn spec_6_2_nothing_acknowledged_is_lost_by_a_kill_and_the_session_is_closed() {
    let installation = Installation::with_agent();
    installation.remember(&SIX_MEMORIES);
    installation.ok(&["agent", "create", "kite"]);
    let token = agents_token(&installation);
    let kite = self::token(&installation, &["--role", "agent", "--agent", "kite"]);
    let _model = installation.scripted(slow_script());
    installation.ok(&["agent", "set", "wren", "model", "lab:small"]);
    let config = std::fs::read_to_string(installation.path(".config/memoir/config.toml")).unwrap();
    let config = format!("lease_seconds = 5\n{config}");
    installation.write(".config/memoir/config.toml", config);
    let service = Running::start(&installation, &[]);
    let id = waiting_session(&installation, &service, &token);

    let address = service.address.clone();
    let acknowledged = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for saver in 0..4 {
            let (address, kite, acknowledged) = (&address, &kite, &acknowledged);
            scope.spawn(move || {
                for at in 0.. {
                    let content = format!("Note {at} of {saver}.");
                    let body = json!({"content": content, "kind": "core"}).to_string();
                    let saved = ask(address, "POST", "/v1/agents/kite/memories", kite, &body);
                    let Some((201, _)) = saved else { break };
                    acknowledged.lock().unwrap().push(content);
                }
            });
        }
        wait_until(|| acknowledged.lock().unwrap().len() > 20);
        service.kill();
    });
    let acknowledged = acknowledged.into_inner().unwrap();

    let kept = installation.each(&["ledger", "kite"], "content");
    for content in &acknowledged {
        assert!(kept.contains(content));
    }
    let service = Running::start(&installation, &[]);
    let path = format!("/v1/sessions/{id}");
    let state = || service.get(&path, &token).1["state"].clone();
    wait_within(Duration::from_secs(120), || state() == "abandoned");
    assert_eq!(installation.core().len(), 5, "its edit stays");
    for agent in ["wren", "kite"] {
        installation.ok(&["audit", "verify", agent]);
    }
}

/// The next request that arrives within two minutes, read up to the end of its head.
fn next_request(listener: &TcpListener) -> (TcpStream, String) {
    listener.set_nonblocking(true).unwrap();
    let mut accepted = None;
    wait_within(Duration::from_secs(120), || {
        accepted = listener.accept().ok();
        accepted.is_some()
    });
    let (mut stream, _) = accepted.unwrap();
    stream.set_nonblocking(false).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    (stream, String::from_utf8(head).unwrap())
}

#[test]
fn spec_6_2_a_notification_of_a_killed_service_is_sent_again() {
    let installation = Installation::with_agent();
    installation.remember(&SIX_MEMORIES);
    installation.remember(&[&SIX_MEMORIES[0].to_uppercase()]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    installation.write(
        ".config/memoir/config.toml",
        format!("[[webhooks]]\nurl = \"{url}\"\nsecret_env = \"HOOK\"\nallow_private = true\n"),
    );
    let begin = || {
        let mut command = Running::command(&installation, &[]);
        command.env("HOOK", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        Running::begin(command.stderr(Stdio::null()))
    };
    let service = begin();
    installation.ok(&["refine", "wren", "--model", "builtin:careful"]);
    let id = |head: &str| {
        let mut lines = head.lines();
        let id = lines.find_map(|line| line.strip_prefix("webhook-id: "));
        id.map(str::to_owned).unwrap()
    };
    let (unanswered, first) = next_request(&listener);
    service.kill();
    drop(unanswered);
    let _service = begin();
    let (mut stream, again) = next_request(&listener);
    assert_eq!(id(&again), id(&first));
    stream
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        .unwrap();
    // An accepted notification is not sent again.
    wait_until(|| installation.count("SELECT count(*) FROM deliveries") == 0);
    assert!(listener.accept().is_err());
}

/// Whether a process may open so many files, and raises its limit; prints a message where it may not.
#[expect(clippy::print_stderr, reason = "it is for the tester")]
pub(crate) fn can_open(files: u64) -> bool {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nofile).maximum;
    let all = Rlimit {
        current: maximum,
        maximum,
    };
    let _ = setrlimit(Resource::Nofile, all);
    let can = maximum.is_none_or(|most| most >= files);
    if !can {
        eprintln!("no room for so many connections: the limit of open files is {maximum:?}");
    }
    can
}

#[cfg(target_os = "linux")]
#[test]
fn a_service_returns_free_memory_to_the_system_unless_its_environment_says_otherwise() {
    let installation = Installation::with_agent();
    let mut command = Running::command(&installation, &[]);
    let service = Running::begin(command.env("MIMALLOC_GENERIC_COLLECT", "9000"));
    let environment = std::fs::read(format!("/proc/{}/environ", service.child.id())).unwrap();
    let set = environment.split(|byte| *byte == 0);
    let is_of_allocator =
        |one: &&[u8]| one.starts_with(b"MIMALLOC_") || one.starts_with(b"MALLOC_");
    let mut set: Vec<&[u8]> = set.filter(is_of_allocator).collect();
    set.sort_unstable();
    let settings: [&[u8]; 4] = [
        b"MALLOC_ARENA_MAX=2",
        b"MIMALLOC_GENERIC_COLLECT=9000",
        b"MIMALLOC_PAGE_FULL_RETAIN=0",
        b"MIMALLOC_PURGE_DELAY=0",
    ];
    assert_eq!(set, settings);
    assert_eq!(service.get("/healthz", "").0, 200);
    service.kill();
}

#[test]
fn ten_thousand_idle_connections_take_little_memory_and_block_no_client() {
    const CONNECTIONS: usize = 10_000;
    if !can_open(12_000) {
        return;
    }
    let installation = Installation::with_agent();
    let token = agents_token(&installation);
    let service = Running::start(&installation, &[]);
    let before = service.resident();
    let request = head("GET", "/v1/agents/wren", &token, 0).replace("connection: close\r\n", "");
    let mut held: Vec<TcpStream> = (0..CONNECTIONS).map(|_| service.connect()).collect();
    // The requests accepted last are answered last.
    assert_eq!(service.get("/v1/agents/wren", &token).0, 200);
    let silent = service.resident();
    for (at, stream) in held.iter_mut().enumerate() {
        // Half of them have sent a request before, and half an incomplete one.
        let length = if at % 2 == 0 { request.len() } else { 30 };
        stream.write_all(&request.as_bytes()[..length]).unwrap();
    }
    let mut slowest = Duration::ZERO;
    for _ in 0..200 {
        let begun = Instant::now();
        assert_eq!(service.get("/v1/agents/wren", &token).0, 200);
        slowest = slowest.max(begun.elapsed());
    }
    let with = service.resident();
    let megabytes = |bytes: u64| bytes / 1_000_000;
    println!(
        "{} MB before, {} MB with {CONNECTIONS} silent connections, {} MB once each had said something; the slowest of 200 other requests took {slowest:?}",
        megabytes(before),
        megabytes(silent),
        megabytes(with)
    );
    // A silent connection needs no memory but its own.
    assert!(silent < before + 50_000_000, "{} MB", megabytes(silent));
    // Each that sent data holds two buffers of hyper's, of 8 to 16 KB, which it does not release.
    assert!(with < 330_000_000, "{} MB", megabytes(with));
}
