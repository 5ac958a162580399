//! Every reader detects a memory that was removed from the database; a hook at a session's start detects a core memory
//! (SPEC 3.12).
#![cfg(unix)]

use memoir_testkit::TestedText;
use serde_json::json;

use crate::{hooks::event_of, installation::Installation};

/// An agent of three memories, one of which was removed outside Memoir.
fn robbed() -> Installation {
    let installation = Installation::with_agent();
    installation.remember(&["one", "two", "three"]);
    remove_one(&installation);
    installation
}

fn remove_one(installation: &Installation) {
    let path = installation.path(".local/share/memoir/memoir.db");
    let raw = rusqlite::Connection::open(path).unwrap();
    let delete = "DELETE FROM memories WHERE number = 2";
    assert_eq!(raw.execute(delete, []).unwrap(), 1);
}

#[test]
fn spec_3_12_a_removed_memory_is_noticed_by_every_export() {
    let installation = robbed();
    for format in [
        "jsonl",
        "markdown --output pages",
        "okf --output okf",
        "archive --output wren.memoir",
    ] {
        let refused = installation.refused(&format!("export wren --format {format}"));
        refused.tells("modified outside Memoir");
    }
    for name in ["pages", "okf", "wren.memoir"] {
        let is_empty =
            std::fs::read_dir(installation.path(name)).map_or(true, |mut all| all.next().is_none());
        assert!(is_empty, "{name}");
    }
}

#[test]
fn spec_3_12_a_removed_memory_is_noticed_by_a_backup_which_is_written_all_the_same() {
    let installation = robbed();
    let copy = installation.path("copy.db");
    let copy_path = copy.to_str().unwrap();
    let ran = installation.run(&["backup", copy_path]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    ran.reports("modified outside Memoir");
    assert!(copy.exists(), "it may be all that is left");
    let ran = installation.run(&["backup", "verify", copy_path]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    ran.reports("does not fit");
}

#[test]
fn spec_3_12_a_removed_memory_is_reported_to_the_agent_at_a_sessions_start() {
    let installation = robbed();
    let start = json!({"session_id": "s-1", "cwd": "/", "hook_event_name": "SessionStart", "source": "startup"});
    let hook = event_of("claude-code", "session-start");
    let ran = installation.run_with_input(&hook, &start.to_string());
    assert_eq!(ran.code, Some(0), "a host is never stopped: {ran:?}");
    ran.prints("modified outside Memoir");
    let log = installation.path(".local/state/memoir/hook.log");
    let log = std::fs::read_to_string(log).unwrap();
    log.tells("modified outside Memoir");
}

#[test]
fn spec_3_12_a_removed_archival_memory_is_noticed_by_recall_and_not_by_a_sessions_start() {
    let installation = Installation::with_agent();
    installation.remember(&["Ines binds books."]);
    installation.remember_with("Old bills are in the loft.", &["--kind", "archival"]);
    remove_one(&installation);
    let start = json!({"session_id": "s-1", "cwd": "/", "hook_event_name": "SessionStart", "source": "startup"});
    let hook = event_of("claude-code", "session-start");
    let ran = installation.run_with_input(&hook, &start.to_string());
    ran.prints("Ines binds books.");
    installation
        .refused("recall wren books")
        .tells("modified outside Memoir");
}

#[test]
fn spec_3_12_a_removed_memory_is_a_problem_of_the_program_and_hides_no_other_finding() {
    let installation = Installation::with_agent();
    installation.remember(&["one", "two"]);
    installation.ok(&["setup", "claude-code", "--yes"]);
    let sound: Vec<String> = areas(&installation);
    remove_one(&installation);
    let setup = installation.run(&["setup"]);
    assert_eq!(setup.code, Some(1), "{setup:?}");
    let problem = "Claude Code does not reach its memory: integrity check failed";
    setup.prints(problem);
    assert_eq!(areas(&installation), sound);
}

/// The areas that `memoir doctor` examined.
fn areas(installation: &Installation) -> Vec<String> {
    let found = installation.findings().into_iter();
    let mut areas: Vec<String> = found
        .map(|one| one["area"].as_str().unwrap().to_owned())
        .collect();
    areas.sort_unstable();
    areas.dedup();
    areas
}

#[test]
fn spec_5_4_an_agent_is_erased_whatever_was_removed_from_the_database() {
    let installation = robbed();
    let erased = installation.ok(&["agent", "erase", "wren", "--yes"]);
    erased.tells("its key is destroyed");
}

#[test]
fn spec_2_7_a_program_whose_agent_renamed_itself_is_told_so() {
    let installation = Installation::with_agent();
    installation.ok(&["agent", "set", "wren", "name", "robin"]);
    let start = json!({"session_id": "s-1", "cwd": "/", "hook_event_name": "SessionStart"});
    let hook = "hook session-start --client claude-code --agent wren --within 20000";
    let told = installation
        .run_with_input(hook, &start.to_string())
        .ok(hook);
    told.tells("there is no agent `wren`");
    told.tells("`memoir setup PROGRAM --agent NAME`");
}

#[test]
fn spec_2_1_bytes_that_are_no_text_are_mended_on_the_command_line() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

    let installation = Installation::with_agent();
    let mut command = installation.command(&["remember", "wren"]);
    command.arg(OsStr::from_bytes(b"Ann lives in Z\xfcrich."));
    assert!(command.status().unwrap().success());
    assert_eq!(installation.texts(), ["Ann lives in Z\u{fffd}rich."]);
}

#[test]
fn spec_2_1_a_byte_order_mark_is_no_part_of_a_text() {
    let installation = Installation::with_agent();
    let ran = installation.run_with_input(&["remember", "wren", "-"], "\u{feff}Ann keeps bees.");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(installation.texts(), ["Ann keeps bees."]);
    installation.write("utf16.txt", [0xFF, 0xFE, b'A', 0]);
    let mut command = installation.command(&["remember", "wren", "-"]);
    command.stdin(std::fs::File::open(installation.path("utf16.txt")).unwrap());
    let refused = command.output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let told = String::from_utf8(refused.stderr).unwrap();
    told.tells("is in UTF-16");
}
