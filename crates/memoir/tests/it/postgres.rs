//! An installation in PostgreSQL, by the real binary.
#![cfg(unix)]

use std::{
    io::{Read, Write},
    process::{Command, Stdio},
    sync::OnceLock,
    time::{Duration, Instant},
};

use memoir_testkit::{Postgres, TestedObject, TestedText};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::{
    installation::{Installation, Ran, rows, wait_until},
    readme::{shell, typed},
    serving::{Running, ask_once, can_open, head},
};

/// Prints, for the counting script, that a test was skipped.
#[expect(clippy::print_stdout, reason = "it is read from what tests print")]
pub(crate) fn skip() {
    println!("skipped: PostgreSQL is not installed; `scripts/test` does that");
}

/// The server of all tests here; `None`, with a message, where PostgreSQL is not installed.
fn server() -> Option<&'static Postgres> {
    static SERVER: OnceLock<Option<Postgres>> = OnceLock::new();
    let server = SERVER.get_or_init(|| Postgres::start("binary").unwrap());
    if server.is_none() {
        skip();
    }
    server.as_ref()
}

/// A home whose database is an empty one of PostgreSQL; `None`, with a message, where that is not installed.
fn installation() -> Option<(Installation, String)> {
    Some((Installation::new(), server()?.database().unwrap()))
}

/// Runs a command on the database.
fn run(installation: &Installation, url: &str, arguments: &[&str]) -> Ran {
    Ran::of(installation.command(arguments).env("MEMOIR_DATABASE", url))
}

fn ok(installation: &Installation, url: &str, arguments: &[&str]) -> String {
    run(installation, url, arguments).ok(arguments)
}

#[test]
fn spec_6_1_a_whole_session_runs_on_postgres() {
    let Some((installation, url)) = installation() else {
        return;
    };
    ok(&installation, &url, &["migrate"]);
    ok(&installation, &url, &["installation", "open"]);
    let create = ["agent", "create", "wren", "--model", "builtin:careful"];
    ok(&installation, &url, &create);
    let others = (1..=8).map(|day| format!("Ada comes for tea on day {day} of the month."));
    let duplicates = ["The kettle is blue.", "the kettle is blue"].map(str::to_owned);
    for text in duplicates.into_iter().chain(others) {
        ok(&installation, &url, &["remember", "wren", &text]);
    }
    let ended = ok(&installation, &url, &["refine", "wren"]);
    assert!(ended.starts_with("completed\n"), "{ended}");
    let ledger = ok(&installation, &url, &["ledger", "wren", "--json"]);
    let ledger: Value = serde_json::from_str(&ledger).unwrap();
    let core = ledger["items"].as_array().unwrap().iter();
    let core = core.filter(|memory| memory["kind"] == "core").count();
    assert_eq!(core, 9, "one of the duplicates is left");
    ok(&installation, &url, &["audit", "verify", "wren"]);
    ok(&installation, &url, &["doctor"]);
    let told = run(&installation, &url, &["backup", "copy.db"]);
    assert_eq!(told.code, Some(1), "{told:?}");
    told.reports("pg_dump");
}

#[test]
fn spec_5_5_an_installation_on_postgres_is_closed_unless_it_says_otherwise() {
    let Some((installation, url)) = installation() else {
        return;
    };
    ok(&installation, &url, &["migrate"]);
    ok(&installation, &url, &["agent", "create", "wren"]);
    ok(&installation, &url, &["remember", "wren", "Zwitscher"]);
    let ran = run(&installation, &url, &["ledger", "wren"]);
    ran.stdout.omits("Zwitscher");
}

#[test]
fn nothing_is_done_on_a_database_that_waits_for_migrations() {
    let Some((installation, url)) = installation() else {
        return;
    };
    for arguments in [
        &["agent", "list"][..],
        &["serve", "--listen", "127.0.0.1:0"],
    ] {
        let ran = run(&installation, &url, arguments);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        ran.reports("migrations are pending: 0001_initial");
        ran.reports("`memoir migrate`");
    }
    let planned = ok(&installation, &url, &["migrate", "--dry-run"]);
    planned.tells("CREATE TABLE accounts (");
    assert_eq!(run(&installation, &url, &["agent", "list"]).code, Some(1));
    let run_now = ok(&installation, &url, &["migrate", "--json"]);
    let run_now: Value = serde_json::from_str(&run_now).unwrap();
    let all = ["0001_initial", "0002_word_indexes", "0003_transcript_sums"];
    assert_eq!(run_now, json!({ "migrated": all }));
    let again = ok(&installation, &url, &["migrate", "--json"]);
    again.tells("[]");
    ok(&installation, &url, &["agent", "list"]);
}

#[test]
fn a_database_that_cannot_be_reached_is_one_clear_error() {
    let installation = Installation::new();
    let url = "postgres://wren:Zwitscher@127.0.0.1:1/nest";
    let ran = run(&installation, url, &["agent", "list"]);
    assert_eq!(ran.code, Some(1));
    ran.stderr
        .tells("cannot open the database `postgres://127.0.0.1:1/nest`");
    ran.stderr.omits("Zwitscher");
}

/// Sends a signal to every process of a server.
fn signal(server: &Postgres, signal: Signal) {
    let main = std::fs::read_to_string(server.folder().join("data/postmaster.pid")).unwrap();
    let main = main.lines().next().unwrap().to_owned();
    let others = std::fs::read_to_string(format!("/proc/{main}/task/{main}/children")).unwrap();
    for process in std::iter::once(&*main).chain(others.split_whitespace()) {
        let process = Pid::from_raw(process.parse().unwrap()).unwrap();
        kill_process(process, signal).unwrap();
    }
}

#[test]
fn spec_6_2_a_service_whose_database_is_silent_is_not_ready_until_it_answers() {
    let Some(server) = Postgres::start("silent").unwrap() else {
        return skip();
    };
    let (installation, url) = (Installation::new(), server.database().unwrap());
    let service = Running::start(&installation, &["--migrate", "--database", &url]);
    assert_eq!(service.get("/readyz", "").0, 200);
    signal(&server, Signal::STOP);
    let silent = service.get("/readyz", "");
    let alive = service.get("/healthz", "").0;
    signal(&server, Signal::CONT);
    assert_eq!(silent.0, 503);
    assert_eq!(silent.1["code"], "not_ready", "{silent:?}");
    assert_eq!(alive, 200);
    assert_eq!(service.get("/readyz", "").0, 200);
}

/// Reads, and saves under that key, against a silent database: the documented response comes within five seconds.
/// Returns both codes.
fn ask_silent(service: &Running, token: &str, key: &str) -> [String; 2] {
    const PATH: &str = "/v1/agents/wren/memories";
    let body = r#"{"content": "One."}"#;
    ["GET", "POST"].map(|method| {
        let body = if method == "POST" { body } else { "" };
        let begun = Instant::now();
        let answer = ask_once(&service.address, method, PATH, token, key, body);
        let (status, answer) = answer.unwrap();
        assert_eq!(status, 503, "{method}: {answer}");
        let waited = begun.elapsed();
        // Twice as long, since a busy machine adds to it.
        assert!(waited < Duration::from_secs(10), "{method}: {waited:?}");
        answer["code"].as_str().unwrap().to_owned()
    })
}

/// Saves under keys that were used while the database was silent, twice each: one memory each.
fn resolve_keys(service: &Running, token: &str, keys: &[&str]) {
    const PATH: &str = "/v1/agents/wren/memories";
    for (at, key) in keys.iter().enumerate() {
        for _ in 0..2 {
            let body = r#"{"content": "One."}"#;
            let answer = ask_once(&service.address, "POST", PATH, token, key, body);
            let (status, answer) = answer.unwrap();
            let saved = (201, &json!(at + 1));
            assert_eq!((status, &answer["number"]), saved, "{answer}");
        }
    }
    let (_, list) = service.get(PATH, token);
    assert_eq!(list["items"].as_array().unwrap().len(), keys.len());
}

#[test]
fn spec_6_2_a_request_to_a_silent_database_is_answered_in_time_and_its_key_resolved() {
    let Some(server) = Postgres::start("outage").unwrap() else {
        return skip();
    };
    let (installation, url) = (Installation::new(), server.database().unwrap());
    ok(&installation, &url, &["migrate"]);
    ok(&installation, &url, &["agent", "create", "wren"]);
    let made = ["token", "create", "--role", "agent", "--agent", "wren"];
    let token = ok(&installation, &url, &made);
    let token = token.trim();
    let service = Running::start(&installation, &["--database", &url]);
    assert_eq!(service.get("/v1/agents/wren/memories", token).0, 200);
    signal(&server, Signal::STOP);
    let silent = ask_silent(&service, token, "silent");
    signal(&server, Signal::CONT);
    assert_eq!(silent, ["busy", "busy"]);
    // A stopped server that is started again.
    server.restart().unwrap();
    resolve_keys(&service, token, &["silent", "after"]);
}

#[test]
fn spec_6_2_a_service_whose_database_follows_another_is_not_ready_until_it_is_promoted() {
    let Some(server) = Postgres::start("follower").unwrap() else {
        return skip();
    };
    let (installation, url) = (Installation::new(), server.database().unwrap());
    let service = Running::start(&installation, &["--migrate", "--database", &url]);
    assert_eq!(service.get("/readyz", "").0, 200);
    let create = &["token", "create", "--role", "admin"];
    let token = ok(&installation, &url, create);
    std::fs::write(server.folder().join("data/standby.signal"), "").unwrap();
    server.restart().unwrap();
    let following = service.get("/readyz", "");
    assert_eq!(following.0, 503);
    assert_eq!(following.1["detail"], "the database is read-only");
    let ran = run(&installation, &url, create);
    ran.reports("the database is read-only");
    assert_eq!(service.get("/v1/agents", token.trim()).0, 200);
    let wren = r#"{"name": "wren"}"#;
    let refused = service.ask("POST", "/v1/agents", token.trim(), wren);
    let refused = refused.unwrap();
    assert_eq!(refused.0, 503);
    assert_eq!(refused.1["code"], "read_only", "{refused:?}");
    server.query("postgres", "SELECT pg_promote()").unwrap();
    assert_eq!(service.get("/readyz", "").0, 200);
    ok(&installation, &url, create);
}

#[test]
fn spec_6_2_a_service_whose_database_is_full_is_not_ready_until_there_is_room() {
    let Some(server) = server() else {
        return skip();
    };
    let (installation, url) = (Installation::new(), server.database().unwrap());
    let service = Running::start(&installation, &["--migrate", "--database", &url]);
    let token = ok(&installation, &url, &["token", "create", "--role", "admin"]);
    let name = url.rsplit('/').next().unwrap();
    // As a server with a full disk responds.
    let full = "CREATE FUNCTION full_up() RETURNS trigger LANGUAGE plpgsql \
             AS $$ BEGIN RAISE 'no space left' USING ERRCODE = 'disk_full'; END $$; \
         CREATE TRIGGER full_up BEFORE UPDATE ON accounts EXECUTE FUNCTION full_up(); \
         CREATE TRIGGER full_up BEFORE INSERT ON agents EXECUTE FUNCTION full_up()";
    server.query(name, full).unwrap();
    let wren = r#"{"name": "wren"}"#;
    let create = || service.ask("POST", "/v1/agents", token.trim(), wren);
    let refused = create().unwrap();
    assert_eq!(refused.0, 507);
    assert_eq!(refused.1["code"], "disk_full", "{refused:?}");
    for _ in 0..2 {
        let ready = service.get("/readyz", "");
        assert_eq!(ready.0, 503);
        assert_eq!(ready.1["detail"], "the database is full", "{ready:?}");
    }
    let room = "DROP TRIGGER full_up ON accounts; DROP TRIGGER full_up ON agents";
    server.query(name, room).unwrap();
    assert_eq!(service.get("/readyz", "").0, 200);
    assert_eq!(create().unwrap().0, 201);
}

#[test]
fn spec_6_2_a_thousand_requests_that_wait_for_the_database_take_little_memory() {
    const REQUESTS: usize = 1_000;
    let Some(server) = Postgres::start("crowded").unwrap() else {
        return skip();
    };
    if !can_open(4_000) {
        return;
    }
    let (installation, url) = (Installation::new(), server.database().unwrap());
    ok(&installation, &url, &["migrate"]);
    let token = ok(&installation, &url, &["token", "create", "--role", "admin"]);
    let begun = Instant::now();
    let service = Running::start(&installation, &["--database", &url]);
    assert_eq!(service.get("/readyz", "").0, 200);
    let ready = begun.elapsed();
    let request = head("GET", "/v1/agents", token.trim(), 0);
    signal(&server, Signal::STOP);
    let mut waiting = Vec::with_capacity(REQUESTS);
    for _ in 0..REQUESTS {
        let mut stream = service.connect();
        stream.write_all(request.as_bytes()).unwrap();
        waiting.push(stream);
    }
    // The service takes fewer at a time, so that the others are seen by nothing that could be waited for.
    std::thread::sleep(Duration::from_millis(500));
    signal(&server, Signal::CONT);
    let mut carried_out = 0;
    for mut stream in waiting {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        match answer.starts_with("HTTP/1.1 200 ") {
            true => carried_out += 1,
            // A request that waited too long for its turn gets a retry response.
            false => assert!(
                answer.starts_with("HTTP/1.1 503 ") && answer.contains("\"busy\""),
                "{answer}"
            ),
        }
    }
    assert_eq!(service.get("/v1/agents", token.trim()).0, 200);
    // Without the program's own pages, of which a build for tests has more.
    let most = (service.memory("VmHWM") - service.memory("RssFile")) / 1_000_000;
    println!(
        "ready after {ready:?}; {most} MB at most with {REQUESTS} open requests, {carried_out} of them carried out"
    );
    assert!(most <= 80, "{most} MB");
}

/// Two machines, as far as their files go, on one database and one key store.
struct Fleet {
    server: &'static Postgres,
    homes: [Installation; 2],
    data: String,
    keys: String,
}

const MASTER_KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const OTHER_KEY: &str = "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

impl Fleet {
    /// With empty tables. `None`, with a message, where PostgreSQL is not installed.
    fn new() -> Option<Self> {
        let server = server()?;
        let [data, keys] = [(), ()].map(|()| server.database().unwrap());
        let homes = [Installation::new(), Installation::new()];
        let fleet = Self {
            server,
            homes,
            data,
            keys,
        };
        let run = fleet.ok(0, &["migrate", "--json"]);
        let run: Value = serde_json::from_str(&run).unwrap();
        let all = [
            "0001_initial",
            "0002_word_indexes",
            "0003_transcript_sums",
            "keys_0001_initial",
        ];
        assert_eq!(run, json!({ "migrated": all }));
        Some(fleet)
    }

    fn on_it<'command>(&self, command: &'command mut Command) -> &'command mut Command {
        command
            .env("MEMOIR_DATABASE", &self.data)
            .env("MEMOIR_KEYS_URL", &self.keys)
            .env("MEMOIR_MASTER_KEY", MASTER_KEY)
    }

    /// Runs a command with these variables beside the fleet's own.
    fn run(&self, home: usize, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
        let mut command = self.homes[home].command(arguments);
        Ran::of(self.on_it(&mut command).envs(variables.iter().copied()))
    }

    fn ok(&self, home: usize, arguments: &[&str]) -> String {
        self.run(home, arguments, &[]).ok(arguments)
    }

    fn serve(&self, home: usize) -> Running {
        Running::begin(
            self.on_it(&mut Running::command(&self.homes[home], &[]))
                .stderr(Stdio::null()),
        )
    }

    /// The superuser's result of a statement in the key store.
    fn query_keys(&self, sql: &str) -> String {
        let name = self.keys.rsplit('/').next().unwrap();
        self.server.query(name, sql).unwrap()
    }

    /// An agent with a memory: a token of its own.
    fn agent(&self, name: &str, text: &str) -> String {
        self.ok(0, &["agent", "create", name]);
        let token = self.ok(0, &["token", "create", "--role", "agent", "--agent", name]);
        self.ok(0, &["remember", name, text]);
        token.trim_end().to_owned()
    }
}

/// Repeats the request until the agent's memories are no longer shown, and prints how long that took.
#[expect(clippy::print_stdout, reason = "it is read from what tests print")]
fn gone(service: &Running, agent: &str, token: &str) {
    let path = format!("/v1/agents/{agent}/memories");
    let begun = Instant::now();
    wait_until(|| service.get(&path, token).0 != 200);
    println!("{agent} was gone after {:?}", begun.elapsed());
}

#[test]
fn spec_5_4_what_one_machine_erases_no_other_one_reads() {
    let Some(fleet) = Fleet::new() else {
        return;
    };
    let wren = fleet.agent("wren", "Zwitscher");
    let robin = fleet.agent("robin", "Tschilp");
    let service = fleet.serve(1);
    assert_eq!(service.get("/readyz", "").0, 200);
    for (agent, token, text) in [("wren", &wren, "Zwitscher"), ("robin", &robin, "Tschilp")] {
        let (status, found) = service.get(&format!("/v1/agents/{agent}/memories"), token);
        assert_eq!(status, 200, "{found}");
        assert_eq!(found["items"][0]["content"], text);
    }
    fleet.ok(0, &["agent", "erase", "wren", "--yes"]);
    gone(&service, "wren", &wren);
    // The key alone, with nothing of it in the database of the data.
    assert_eq!(service.get("/v1/agents/robin/memories", &robin).0, 200);
    fleet.query_keys(
        "BEGIN; UPDATE agent_keys SET wrapped = NULL, destroyed_at = 1 WHERE wrapped IS NOT NULL; \
         UPDATE master SET generation = generation + 1; COMMIT",
    );
    gone(&service, "robin", &robin);
    let told = format!("{:?}", service.get("/v1/agents/robin/memories", &robin));
    told.omits("Tschilp");
}

#[test]
fn spec_5_3_a_machine_with_another_master_key_does_not_start() {
    let Some(fleet) = Fleet::new() else {
        return;
    };
    fleet.agent("wren", "Zwitscher");
    let before = fleet.query_keys("SELECT * FROM master");
    for arguments in [
        &["agent", "list"][..],
        &["serve", "--listen", "127.0.0.1:0"],
    ] {
        let other = [("MEMOIR_MASTER_KEY", OTHER_KEY)];
        let told = fleet.run(1, arguments, &other).error();
        told.tells("the wrong master key: the key store `postgres://");
    }
    // Nor does one without any key: it creates none.
    let mut command = fleet.homes[1].command(&["agent", "list"]);
    let told = Ran::of(fleet.on_it(&mut command).env_remove("MEMOIR_MASTER_KEY")).error();
    told.tells("the master key is lost");
    assert_eq!(fleet.query_keys("SELECT * FROM master"), before);
}

#[test]
fn spec_5_4_a_rotated_master_key_is_needed_everywhere() {
    let Some(fleet) = Fleet::new() else {
        return;
    };
    let wren = fleet.agent("wren", "Zwitscher");
    let robin = fleet.agent("robin", "Tschilp");
    let service = fleet.serve(1);
    assert_eq!(service.get("/v1/agents/wren/memories", &wren).0, 200);
    let next = [("MEMOIR_NEW_MASTER_KEY", OTHER_KEY)];
    fleet.run(0, &["key", "rotate"], &next).ok("key rotate");
    let told = fleet.run(0, &["agent", "list"], &[]).error();
    told.tells("the wrong master key");
    // A running process keeps its used keys, and cannot open the others.
    assert_eq!(service.get("/v1/agents/wren/memories", &wren).0, 200);
    let (_, told) = service.get("/v1/agents/robin/memories", &robin);
    assert_eq!(told["code"], "key_unavailable", "{told}");
    let doctor = fleet.run(1, &["doctor"], &[("MEMOIR_MASTER_KEY", OTHER_KEY)]);
    doctor.prints("opens the key store in `postgres://");
}

#[test]
fn spec_5_4_a_key_store_that_lies_with_the_data_is_refused() {
    let Some((installation, url)) = installation() else {
        return;
    };
    ok(&installation, &url, &["migrate"]);
    let file = format!("[keys]\nurl = \"{url}\"\n");
    installation.write(".config/memoir/config.toml", file);
    for arguments in [&["migrate"][..], &["agent", "list"]] {
        let told = run(&installation, &url, arguments).error();
        told.tells("in the same schema as the data");
    }
}

#[test]
fn spec_5_4_keys_are_copied_from_their_file_into_a_database_once() {
    let Some(fleet) = Fleet::new() else {
        return;
    };
    let on_file = |arguments: &[&str]| {
        let mut command = fleet.homes[0].command(arguments);
        let command = fleet.on_it(&mut command).env_remove("MEMOIR_KEYS_URL");
        Ran::of(command).ok(arguments)
    };
    on_file(&["agent", "create", "wren"]);
    let token = on_file(&["token", "create", "--role", "agent", "--agent", "wren"]);
    on_file(&["remember", "wren", "Zwitscher"]);
    // An empty key store is none beside data that were sealed before.
    let told = fleet.run(0, &["agent", "list"], &[]).error();
    told.tells("does not exist");
    let moved = fleet.ok(0, &["key", "move"]);
    moved.begins("1 key was copied to `postgres://");
    let own = [("MEMOIR_TOKEN", token.trim_end())];
    let shown = fleet.run(1, &["ledger", "wren"], &own);
    shown.prints("Zwitscher");
    let again = fleet.run(0, &["key", "move"], &[]).error();
    again.tells("it holds keys already");
}

#[test]
fn spec_5_4_a_move_leaves_no_copy_of_a_key_store_that_is_in_a_database() {
    let Some(fleet) = Fleet::new() else {
        return;
    };
    let wren = fleet.agent("wren", "Zwitscher");
    let target = fleet.homes[0].path("moved.db");
    let target = target.to_str().unwrap();
    // A file of keys there, which it does not need, is left as it is.
    let other = fleet.homes[0].write("moved.db.keys", "the keys of another installation");
    fleet.ok(0, &["move", "--to", target]);
    let left = std::fs::read_to_string(&other).unwrap();
    assert_eq!(left, "the keys of another installation");
    std::fs::remove_file(other).unwrap();
    let on_target = |arguments: &[&str]| {
        let arguments = [&["--database", target], arguments].concat();
        fleet.run(0, &arguments, &[("MEMOIR_TOKEN", wren.as_str())])
    };
    let shown = on_target(&["ledger", "wren"]);
    shown.prints("Zwitscher");
    // What is erased in the target has no key anywhere.
    on_target(&["agent", "erase", "wren", "--yes"]).ok("agent erase");
    let keys = fleet.query_keys("SELECT count(*) FROM agent_keys WHERE destroyed_at IS NOT NULL");
    assert_eq!(keys.trim(), "1");
}

#[test]
fn spec_6_2_a_service_whose_key_store_is_silent_is_not_ready_until_it_answers() {
    let (Some(data), Some(keys)) = (server(), Postgres::start("silent-keys").unwrap()) else {
        return skip();
    };
    let fleet = Fleet {
        server: data,
        homes: [Installation::new(), Installation::new()],
        data: data.database().unwrap(),
        keys: keys.database().unwrap(),
    };
    fleet.ok(0, &["migrate"]);
    fleet.ok(0, &["agent", "create", "wren"]);
    let made = ["token", "create", "--role", "agent", "--agent", "wren"];
    let token = fleet.ok(0, &made).trim().to_owned();
    let service = fleet.serve(1);
    assert_eq!(service.get("/readyz", "").0, 200);
    signal(&keys, Signal::STOP);
    // It may rely on a check of half a second ago.
    wait_until(|| service.get("/readyz", "").0 != 200);
    let codes = ask_silent(&service, &token, "silent");
    signal(&keys, Signal::CONT);
    assert_eq!(codes, ["busy", "busy"]);
    wait_until(|| service.get("/readyz", "").0 == 200);
    resolve_keys(&service, &token, &["silent"]);
}

/// The page whose SQL and commands these tests follow.
const PAGE: &str = include_str!("../../../../docs/fleet.md");

/// A server with the roles and databases of the documentation, and an installation in them.
struct Documented {
    server: Postgres,
    home: Installation,
}

impl Documented {
    /// Without any tables. `None`, with a message, where PostgreSQL is not installed.
    fn new(name: &str) -> Option<Self> {
        let Some(server) = Postgres::start(name).unwrap() else {
            skip();
            return None;
        };
        server.follow(PAGE).unwrap();
        let home = Installation::new();
        Some(Self { server, home })
    }

    /// Runs a command as the service does.
    fn run(&self, arguments: &[&str], token: &str) -> Ran {
        let keys = self.server.url("memoir_keys", "memoir_keys");
        let mut command = self.home.command(arguments);
        command
            .env("MEMOIR_DATABASE", self.server.url("memoir", "memoir"))
            .env("MEMOIR_KEYS_URL", keys)
            .env("MEMOIR_MASTER_KEY", MASTER_KEY)
            .env("MEMOIR_TOKEN", token);
        Ran::of(&mut command)
    }

    fn ok(&self, arguments: &[&str]) -> String {
        self.run(arguments, "").ok(arguments)
    }

    /// An agent with a memory: a token of its own.
    fn agent(&self, name: &str, text: &str) -> String {
        self.ok(&["agent", "create", name]);
        let token = self.ok(&["token", "create", "--role", "agent", "--agent", name]);
        self.ok(&["remember", name, text]);
        token.trim_end().to_owned()
    }

    /// Types lines of the page in one shell, with this server in place of the page's.
    fn typed(&self, lines: &[String]) -> Ran {
        let mut lines = lines.join("\n");
        for [role, database] in rows(
            "
            memoir_owner:OWNERS@db.example | memoir
            memoir:SERVICES@db.example | memoir
            memoir_backup:BACKUPS@db.example | memoir
            memoir_keys_owner:KEYS-OWNERS@keys.example | memoir_keys
            memoir_keys:KEYS-SERVICES@keys.example | memoir_keys",
        ) {
            let own = self.server.url(role.split(':').next().unwrap(), database);
            lines = lines.replace(&format!("postgres://{role}/{database}"), &own);
        }
        let key = format!("MEMOIR_MASTER_KEY={MASTER_KEY}");
        // The service runs until it is stopped.
        let line = format!("set -e\n{lines}").replace("MEMOIR_MASTER_KEY=…", &key);
        let line = line.replace("memoir serve", SERVED);
        // A client of PostgreSQL that fits the server, where there is one.
        let programs = self.server.client("pg_dump", "");
        let programs = std::path::Path::new(programs.get_program()).parent();
        let programs = programs.unwrap_or(std::path::Path::new("")).display();
        let mut command = shell(&self.home, &format!("PATH={programs}:$PATH\n{line}"));
        Ran::of(&mut command)
    }
}

/// A service that listens, is stopped, and ends well.
const SERVED: &str = "{ memoir serve --listen 127.0.0.1:0 >told & \
    until grep -q http told; do kill -0 $! || exit 1; sleep 0.05; done; kill $!; wait $!; }";

#[test]
fn spec_5_4_a_backup_of_postgres_is_restored_and_brings_no_destroyed_key_back() {
    let (Some(here), Some(there)) = (Documented::new("backed-up"), Documented::new("restored"))
    else {
        return;
    };
    // The page, typed from top to bottom: a block that it gets in addition is not passed over.
    let page = typed(PAGE);
    let [migration @ .., dump, dump_keys, restore, verify] = &page[..] else {
        panic!("{page:?}");
    };
    let (owners, service) = migration.split_at(4);
    assert_eq!(service.len(), 5, "{page:?}");
    let ok = |of: &Documented, lines: &[String]| of.typed(lines).ok(lines);
    ok(&here, owners).tells("CREATE TABLE accounts (");
    ok(&here, service).tells("the role `memoir` owns nothing");
    let wren = here.agent("wren", "Zwitscher");
    let robin = here.agent("robin", "Tschilp");
    let checkpoint = here.ok(&["audit", "checkpoint"]);
    there.home.write("NOTE", checkpoint);
    // A role under the row policies cannot make an empty copy.
    let mut dump_as_owner = here.server.client("pg_dump", "memoir_owner");
    assert!(
        !dump_as_owner
            .arg("memoir")
            .output()
            .unwrap()
            .status
            .success()
    );

    let begun = Instant::now();
    ok(&here, std::slice::from_ref(dump));
    // Between the two copies one agent is erased and another one is created.
    here.ok(&["agent", "erase", "robin", "--yes"]);
    here.agent("kite", "Kreisch");
    ok(&here, std::slice::from_ref(dump_keys));
    let copied = begun.elapsed();
    for name in ["memoir.dump", "memoir_keys.dump"] {
        std::fs::copy(here.home.path(name), there.home.path(name)).unwrap();
    }

    let begun = Instant::now();
    // The key store "in the same way".
    let keys_owner = "memoir_keys_owner:KEYS-OWNERS@keys";
    let restore_keys = restore
        .replace("memoir_owner:OWNERS@db", keys_owner)
        .replace("/memoir memoir.dump", "/memoir_keys memoir_keys.dump");
    ok(&there, &[restore_keys]);
    ok(&there, std::slice::from_ref(restore));
    // As the service, whose environment is in the lines before its last two.
    let verify = verify.replace("--checkpoint NOTE", "--checkpoint NOTE --json");
    let verified = there.typed(&[&service[..3], &[verify]].concat());
    println!(
        "copied in {copied:?}, restored and verified in {:?}",
        begun.elapsed()
    );
    // Each log is valid; of the agent that was erased after the copy, no record reports that.
    let verified: Value = serde_json::from_str(&verified.stdout).unwrap();
    assert_eq!(verified["checkpoint"]["grew"], true, "{verified}");
    verified["agents"][0].has(json!({"agent": "wren", "valid": true}));
    let why = "the agent's key was destroyed, and no record shows it: \
               the database is from before the erasure, or records were cut off";
    let misfits = json!([{"seq": null, "problem": why}]);
    verified["agents"][1].has(json!({"agent": "robin", "valid": false, "misfits": misfits}));
    // Nor does that suppress the other findings.
    let doctor = there.run(&["doctor"], "").stdout;
    doctor.tells(&format!("{why}: robin\n"));
    assert!(
        !doctor.lines().any(|line| line.starts_with("problem")),
        "{doctor}"
    );
    doctor.tells("the role `memoir` owns nothing");
    let shown = there.run(&["ledger", "wren"], &wren);
    shown.prints("Zwitscher");
    let gone = there.run(&["ledger", "robin"], &robin);
    assert_eq!(gone.code, Some(1), "{gone:?}");
    assert!(!format!("{gone:?}").contains("Tschilp"), "{gone:?}");
    // It runs as a service does.
    there.agent("kite", "Kreisch");
    let owned = "SELECT count(*) FROM pg_tables WHERE tableowner = 'memoir'";
    assert_eq!(there.server.query("memoir", owned).unwrap(), "0");
    for table in memoir_store::tables::TABLES {
        let bare = format!("SELECT count(*) FROM {}", table.name);
        let bare = there.server.query_as("memoir", "memoir", &bare).unwrap();
        assert_eq!(bare, "0", "{} is walled off again", table.name);
    }
}
