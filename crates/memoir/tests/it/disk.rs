//! A disk that fails below SQLite, at each write, sync and read of a session, a rollback, a shredding, a rotation of
//! keys, a creation and a move: nothing that was acknowledged is lost, nothing is done by half, and the log fits
//! (SPEC 6.2).
//!
//! A library before the C library (`tests/disk/fault.c`) lets the n-th write fail, finds no room from then on, writes
//! half of it and ends the process, or lets the n-th sync or read fail. The suite takes every sync and every eleventh
//! write and read, from another one on in each run; `MEMOIR_TEST_EVERY_FAULT=1` takes each.
#![cfg(target_os = "linux")]

use std::{fs, path::PathBuf, process::Command, sync::LazyLock};

use serde_json::{Value, json};

use crate::installation::{Installation, Ran};

static LIBRARY: LazyLock<(tempfile::TempDir, PathBuf)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("fault.so");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/disk/fault.c"))
        .arg("-ldl")
        .status();
    assert!(
        built.unwrap().success(),
        "it needs a C compiler, as SQLite does"
    );
    (folder, library)
});

/// The shredded memory.
const SECRET: &str = "5";

/// Where an installation moves. The library counts by the name of the folder what is in it, its copy of the keys too.
const TARGET: &str = "memoir.db.there/m.db";

fn installation() -> Installation {
    let installation = Installation::new();
    installation.ok(&["agent", "create", "wren", "--model", "builtin:careful"]);
    installation.remember(&[
        "Tea at four.",
        "tea at four.",
        "The kiln is hot.",
        "The KILN is hot.",
        "Marta sews.",
        "Paper comes.",
    ]);
    installation
}

/// Every memory with its text, where it is, and whether it is active. Reports hold identifiers and times.
fn state(installation: &Installation) -> Vec<Value> {
    state_at(installation, &[])
}

/// As [`state`], with these options.
fn state_at(installation: &Installation, options: &[&str]) -> Vec<Value> {
    let ledger = installation.json(&[&["ledger", "wren", "--all"], options].concat());
    let items = ledger["items"].as_array().unwrap().iter();
    items
        .map(|memory| {
            let [number, kind, text] = ["number", "kind", "content"].map(|part| &memory[part]);
            let text = Some(text).filter(|_| kind != "journal");
            let is_active = memory["discarded_at"].is_null();
            json!([number, kind, text, is_active])
        })
        .collect()
}

/// The sealed texts of the shredded memory, in its row and in its record.
fn sealed(installation: &Installation) -> Vec<Vec<u8>> {
    let database = installation.path(".local/share/memoir/memoir.db");
    let connection = rusqlite::Connection::open(database).unwrap();
    let bodies = ["memories WHERE number", "audit_records WHERE memory"].map(|rows| {
        let query = format!("SELECT body FROM {rows} = {SECRET}");
        connection.query_row(&query, [], |row| row.get(0)).unwrap()
    });
    bodies.into()
}

fn is_on_the_disk(installation: &Installation, sealed: &[Vec<u8>]) -> bool {
    let files = fs::read_dir(installation.path(".local/share/memoir")).unwrap();
    let files = files.map(|file| fs::read(file.unwrap().path()).unwrap());
    let mut files = files.collect::<Vec<_>>().into_iter();
    files.any(|file| {
        let has = |sealed: &Vec<u8>| file.windows(sealed.len()).any(|part| part == sealed);
        sealed.iter().any(has)
    })
}

/// Lets a command fail at each write, sync and read, and checks what it leaves.
fn each_fault(start: &Installation, arguments: &[&str], check: impl Fn(&Installation, &Ran, &str)) {
    let every = std::env::var_os("MEMOIR_TEST_EVERY_FAULT").is_some();
    for kind in ["write", "full", "cut", "sync", "read"] {
        let (first, step) = match every || kind == "sync" {
            true => (1, 1),
            false => (u64::from(std::process::id()) % 11 + 1, 11),
        };
        let mut runs = 0;
        for at in (first..).step_by(step) {
            let installation = start.copied();
            let counted = installation.path("counted");
            let mut command = installation.command(arguments);
            command
                .env("LD_PRELOAD", &LIBRARY.1)
                .env("DISK_FAULT", format!("{kind}:{at}"))
                .env("DISK_LOG", &counted);
            let ran = Ran::of(&mut command);
            if fs::metadata(&counted).map_or(0, |counted| counted.len()) < at {
                break;
            }
            runs += 1;
            let what = format!("{arguments:?}, {kind} {at}: {ran:?}");
            match ran.code {
                Some(0 | 1) => assert_ne!(kind, "cut", "{what}"),
                None => assert_eq!(kind, "cut", "{what}"),
                _ => panic!("{what}"),
            }
            assert!(
                !ran.stderr.contains("panicked") && !ran.stderr.contains("internal"),
                "{what}"
            );
            // The next process has a disk that works, and finishes what was begun.
            check(&installation, &ran, &what);
            installation.ok(&["doctor"]);
        }
        assert!(runs > 0, "{arguments:?}: {kind}");
    }
}

/// `is_whole` says that the command is done whole or not at all.
fn check(start: &Installation, arguments: &[&str], is_whole: bool) {
    let (before, secret) = (state(start), sealed(start));
    let undisturbed = start.copied();
    undisturbed.ok(arguments);
    let after = state(&undisturbed);
    let is_shredding = arguments[0] == "shred";
    each_fault(start, arguments, |installation, ran, what| {
        let verified = installation.json(&["audit", "verify", "wren"]);
        assert_eq!(verified["originals"]["lost"], 0, "{what}: {verified}");
        let found = state(installation);
        assert!(ran.code != Some(0) || found == after, "{what}: {found:?}");
        assert!(
            !is_whole || found == before || found == after,
            "{what}: {found:?}"
        );
        if is_shredding && found == after {
            assert!(!is_on_the_disk(installation, &secret), "{what}");
        }
        if is_whole && found == before {
            installation.ok(arguments);
        }
    });
}

#[test]
fn spec_6_2_a_session_on_a_failing_disk_loses_nothing() {
    check(&installation(), &["refine", "wren"], false);
}

#[test]
fn spec_6_2_a_rollback_on_a_failing_disk_is_done_whole_or_not_at_all() {
    let installation = installation();
    installation.ok(&["refine", "wren"]);
    check(&installation, &["rollback", "last"], true);
}

#[test]
fn spec_4_4_a_shredding_on_a_failing_disk_is_done_whole_or_not_at_all() {
    check(&installation(), &["shred", "wren", SECRET, "--yes"], true);
}

#[test]
fn spec_5_3_a_rotation_on_a_failing_disk_keeps_every_key() {
    check(&installation(), &["key", "rotate"], true);
}

/// The keys are made before the database, and the master key before them.
#[test]
fn spec_5_3_a_creation_on_a_failing_disk_leaves_keys_that_fit_and_can_be_repeated() {
    let arguments = ["agent", "create", "wren", "--model", "builtin:careful"];
    each_fault(
        &Installation::new(),
        &arguments,
        |installation, ran, what| {
            let is_made = installation.each(&["agent", "list"], "name") == ["wren"];
            assert!(is_made || ran.code != Some(0), "{what}");
            if !is_made {
                installation.ok(&arguments);
            }
            installation.remember(&["Tea at four."]);
            installation.ok(&["key", "rotate"]);
            assert_eq!(installation.core(), ["Tea at four."], "{what}");
        },
    );
}

/// It copies the keys and the master key, and all rows.
#[test]
fn spec_6_2_a_move_on_a_failing_disk_is_resumed_and_leaves_the_source_as_it_was() {
    let start = installation();
    // A folder that is not empty, since copies of an installation have no others.
    start.write("memoir.db.there/note", "");
    let arguments = ["move", "--to", TARGET];
    let there = ["--database", TARGET];
    let before = state(&start);
    each_fault(&start, &arguments, |installation, ran, what| {
        assert_eq!(state(installation), before, "{what}");
        let is_complete = installation.path(TARGET).exists();
        assert!(is_complete || ran.code != Some(0), "{what}");
        if !is_complete {
            installation.ok(&arguments);
        }
        assert_eq!(state_at(installation, &there), before, "{what}");
        let verified = [&["audit", "verify", "wren"][..], &there].concat();
        let verified = installation.json(&verified);
        assert_eq!(verified["originals"]["lost"], 0, "{what}: {verified}");
        // Its keys are its own: a rotation here changes none there.
        installation.ok(&["key", "rotate"]);
        assert_eq!(state_at(installation, &there), before, "{what}");
    });
}
