//! An installation in PostgreSQL, by the real binary.
#![cfg(unix)]

use std::sync::OnceLock;

use memoir_testkit::Postgres;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::{
    bench::{Bench, Ran},
    serving::Running,
};

/// Says, for whoever counts, that a test did nothing.
#[expect(clippy::print_stdout, reason = "it is read from what tests print")]
pub(crate) fn skip() {
    println!("skipped: PostgreSQL is not installed; `scripts/test` does that");
}

/// A home whose database is an empty one of PostgreSQL; `None`, and said so, where that is not installed.
fn bench() -> Option<(Bench, String)> {
    static SERVER: OnceLock<Option<Postgres>> = OnceLock::new();
    let server = SERVER
        .get_or_init(|| Postgres::start("binary").unwrap())
        .as_ref();
    let Some(server) = server else {
        skip();
        return None;
    };
    Some((Bench::new(), server.database().unwrap()))
}

/// Runs a command on the database.
fn run(bench: &Bench, url: &str, arguments: &[&str]) -> Ran {
    Ran::of(bench.command(arguments).env("MEMOIR_DATABASE", url))
}

fn ok(bench: &Bench, url: &str, arguments: &[&str]) -> String {
    let ran = run(bench, url, arguments);
    assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
    ran.stdout
}

#[test]
fn spec_6_1_a_whole_session_runs_on_postgres() {
    let Some((bench, url)) = bench() else {
        return;
    };
    ok(&bench, &url, &["migrate"]);
    ok(&bench, &url, &["installation", "open"]);
    ok(
        &bench,
        &url,
        &["agent", "create", "wren", "--model", "builtin:careful"],
    );
    let others = (1..=8).map(|day| format!("Ada comes for tea on day {day} of the month."));
    let doubles = ["The kettle is blue.", "the kettle is blue"].map(str::to_owned);
    for text in doubles.into_iter().chain(others) {
        ok(&bench, &url, &["remember", "wren", &text]);
    }
    let ended = ok(&bench, &url, &["refine", "wren"]);
    assert!(ended.starts_with("completed\n"), "{ended}");
    let ledger = ok(&bench, &url, &["ledger", "wren", "--json"]);
    let ledger: serde_json::Value = serde_json::from_str(&ledger).unwrap();
    let core = ledger["items"].as_array().unwrap().iter();
    let core = core.filter(|memory| memory["kind"] == "core").count();
    assert_eq!(core, 9, "one of the doubles is left");
    ok(&bench, &url, &["audit", "verify", "wren"]);
    ok(&bench, &url, &["doctor"]);
    let told = run(&bench, &url, &["backup", "copy.db"]);
    assert_eq!(told.code, Some(1), "{told:?}");
    assert!(told.stderr.contains("pg_dump"), "{told:?}");
}

#[test]
fn spec_5_5_an_installation_on_postgres_is_closed_unless_it_says_otherwise() {
    let Some((bench, url)) = bench() else {
        return;
    };
    ok(&bench, &url, &["migrate"]);
    ok(&bench, &url, &["agent", "create", "wren"]);
    ok(&bench, &url, &["remember", "wren", "Zwitscher"]);
    let ran = run(&bench, &url, &["ledger", "wren"]);
    assert!(!ran.stdout.contains("Zwitscher"), "{ran:?}");
}

#[test]
fn nothing_is_done_on_a_database_that_waits_for_migrations() {
    let Some((bench, url)) = bench() else {
        return;
    };
    for arguments in [
        &["agent", "list"][..],
        &["serve", "--listen", "127.0.0.1:0"],
    ] {
        let ran = run(&bench, &url, arguments);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(
            ran.stderr.contains("migrations are pending: 0001_initial"),
            "{ran:?}"
        );
        assert!(ran.stderr.contains("`memoir migrate`"), "{ran:?}");
    }
    let planned = ok(&bench, &url, &["migrate", "--dry-run"]);
    assert!(planned.contains("CREATE TABLE accounts ("), "{planned}");
    assert_eq!(run(&bench, &url, &["agent", "list"]).code, Some(1));
    let run_now = ok(&bench, &url, &["migrate", "--json"]);
    let run_now: serde_json::Value = serde_json::from_str(&run_now).unwrap();
    assert_eq!(run_now, json!({ "migrated": ["0001_initial"] }));
    let again = ok(&bench, &url, &["migrate", "--json"]);
    assert!(again.contains("[]"), "{again}");
    ok(&bench, &url, &["agent", "list"]);
}

#[test]
fn a_database_that_cannot_be_reached_is_one_clear_error() {
    let bench = Bench::new();
    let url = "postgres://wren:Zwitscher@127.0.0.1:1/nest";
    let ran = run(&bench, url, &["agent", "list"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr
            .contains("cannot open the database `postgres://127.0.0.1:1/nest`"),
        "{ran:?}"
    );
    assert!(!ran.stderr.contains("Zwitscher"), "{ran:?}");
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
    let (bench, url) = (Bench::new(), server.database().unwrap());
    let service = Running::start(&bench, &["--migrate", "--database", &url]);
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
