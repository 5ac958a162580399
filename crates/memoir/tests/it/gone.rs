//! Permanent removal: the text of one memory, and a whole agent.

use std::fs;

use memoir_testkit::{TestedObject, TestedText};
use serde_json::json;

use crate::{
    installation::{Installation, Ran, files_in},
    serving::Running,
};

const SECRET: &str = "the pasted key is Kanarienvogel";

#[test]
fn spec_4_4_a_memory_is_shredded_when_its_number_is_typed() {
    let installation = Installation::with_agent();
    installation.remember(&["one", SECRET]);
    for input in ["2\n", "", "one\n", "1 2\n"] {
        let error = installation
            .run_with_input(&["shred", "wren", "1"], input)
            .error();
        error.begins("error: nothing was shredded: the number #1 was not typed\n");
    }
    assert_eq!(installation.texts(), ["one", SECRET]);
    let ran = installation.run_with_input(&["shred", "wren", "#2"], " #2 \n");
    let shredded = "shredded #2: its text is removed, also from 1 record\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), shredded));
    for line in [
        "ledger wren --all",
        "ledger wren --all --json",
        "history wren",
        "history wren 2 --json",
        "audit list wren --json",
        "export wren",
        "recall wren Kanarienvogel --json",
    ] {
        let shown = installation.ok(line);
        assert!(!shown.contains("Kanarienvogel"), "{line}: {shown}");
    }
    let history = installation.ok(&["history", "wren", "2"]);
    history.tells("shredded: its text is removed  owner (command line)");
    history.omits("\n  + ");
    installation.ok(&["audit", "verify", "wren"]);
    let again = installation.refused(&["shred", "wren", "2", "--yes"]);
    again.tells("#2 was shredded");
}

#[test]
fn shredding_takes_a_reason_and_needs_no_confirmation_with_yes() {
    let installation = Installation::with_agent();
    installation.remember(&["one", SECRET]);
    let shredded = installation.json(&["shred", "wren", "2", "--yes", "--reason", "a leaked key"]);
    shredded.has(json!({"number": 2, "redacted_records": 1}));
    let list = "audit list wren --action memory_shredded --json";
    let records = installation.run(list).lines();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0]["data"]["reason_text"], "a leaked key");
    let missing = installation.refused(&["shred", "wren", "17", "--yes"]);
    missing.tells("there is no memory #17");
    let long = "x".repeat(1_001);
    let refused = installation.refused(&["shred", "wren", "1", "--yes", "--reason", &long]);
    refused.tells("reason: is 1001 characters long, and the limit is 1000");
}

#[test]
fn spec_4_4_a_rewind_brings_no_shredded_words_back() {
    let installation = Installation::with_agent();
    installation.remember(&["one", SECRET]);
    installation.ok(&["shred", "wren", "2", "--yes"]);
    installation.ok(&["rewind", "wren", "--to", "2020-01-01"]);
    let history = installation.ok(&["history", "wren", "2"]);
    history.tells("shredded: its text is removed  owner");
    let restored = installation.run(&["restore", "wren", "2"]);
    assert_eq!(restored.code, Some(1), "{restored:?}");
}

/// An old copy of the key store restores destroyed keys, as an interrupted erasure does.
#[test]
fn spec_5_4_every_command_and_the_service_finish_an_erasing_and_doctor_names_it() {
    let installation = Installation::with_agent();
    installation.remember(&["one", SECRET]);
    let id = installation.json(&["agent", "show", "wren"])["id"].to_string();
    let id = id.trim_matches('"');
    let keys = installation.path(".local/share/memoir/memoir.db.keys");
    let old = fs::read(&keys).unwrap();
    installation.ok(&["agent", "erase", "wren", "--yes"]);
    let unfinished = format!("`wren` ({id}) is erased on the record, and its key is there");
    let finished = |ran: &Ran| {
        let note = "finished erasing 1 agent: the keys are destroyed";
        ran.stderr.contains(note)
    };
    for command in ["account list", "agent list", "audit verify --all", "sweep"] {
        fs::write(&keys, &old).unwrap();
        let doctor = installation.run(&["doctor"]);
        assert_eq!(doctor.code, Some(1), "{doctor:?}");
        doctor.prints(&unfinished);
        let ran = installation.run(command);
        assert!(ran.code == Some(0) && finished(&ran), "{command}: {ran:?}");
        let doctor = installation.ok(&["doctor"]);
        doctor.tells("nothing was left half-done");
        assert!(!finished(&installation.run(command)), "{command}");
    }
    fs::write(&keys, &old).unwrap();
    let serving = Running::start(&installation, &[]);
    let doctor = installation.ok(&["doctor"]);
    doctor.tells("nothing was left half-done");
    drop(serving);
}

#[test]
fn spec_5_4_an_agent_is_erased_when_its_name_is_typed_in_any_case() {
    let installation = Installation::with_agent();
    installation.remember(&["one", SECRET, "One"]);
    installation.ok(&["refine", "wren"]);
    let session = installation.last_session();
    let before = installation.texts();
    for input in ["robin\n", "", "\n", "wren robin\n"] {
        let error = installation
            .run_with_input(&["agent", "erase", "wren"], input)
            .error();
        error.begins("error: nothing was erased: the name `wren` was not typed\n");
    }
    let closed = installation.run(&["agent", "erase", "wren"]).error();
    closed.tells("hint: type the agent's name, or give `--yes`");
    assert_eq!(installation.texts(), before);

    let ran = installation.run_with_input(&["agent", "erase", "wren"], "  WREN \n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout
        .begins("erased `wren`: its key is destroyed, and its ");
    ran.reports("`memoir key rotate`");

    installation.write("in.jsonl", "{\"content\": \"x\"}");
    for line in [
        "agent show wren",
        "agent set wren paused true",
        "agent pause wren",
        "agent resume wren",
        "agent erase wren --yes",
        "remember wren more",
        "recall wren one",
        "context wren",
        "ledger wren",
        "ledger wren --all",
        "refine wren --model builtin:careful",
        "apply SESSION",
        "session SESSION",
        "cancel SESSION",
        "rollback SESSION",
        "restore wren 1",
        "rewind wren --to 2026-01-01",
        "shred wren 1 --yes",
        "history wren",
        "history wren 1",
        "import wren in.jsonl",
        "export wren",
        "export wren --format archive --output x",
    ] {
        let line = line.replace("SESSION", &session);
        let error = installation.run(&line).error();
        error.begins("error: the agent `wren` was erased on ");
        error.tells("hint: `memoir audit verify NAME` still checks its log");
    }
    assert!(!installation.path("x").exists());
    // The list of actions and times remains.
    let listed = installation.ok(&["audit", "list", "wren", "--json"]);
    listed.tells("agent_erased");
    listed.omits("Kanarienvogel");
    let verified = installation.ok(&["audit", "verify", "wren"]);
    assert!(verified.starts_with("valid   wren: "), "{verified}");
    verified.tells("so that only the chain can be checked");
    assert_eq!(installation.json(&["agent", "list"])["items"], json!([]));
    assert_eq!(installation.run(&["doctor"]).code, Some(0));
    assert_eq!(installation.run(&["sweep"]).code, Some(0));
    assert!(
        files_in(&installation.path(".local"))
            .values()
            .all(|bytes| !bytes.windows(13).any(|part| part == b"Kanarienvogel")),
        "words stand in a file"
    );

    installation.ok(&["agent", "create", "Wren", "--model", "builtin:careful"]);
    assert_eq!(installation.ok(&["remember", "wren", "a new life"]), "1\n");
    assert_eq!(installation.texts(), ["a new life"]);
    let all = installation.ok(&["audit", "verify", "--all"]);
    assert_eq!(all.matches("valid").count(), 2);
}

#[test]
fn spec_5_4_an_erasure_counts_the_destroyed_memories_of_every_kind() {
    let installation = Installation::with_agent();
    installation.remember(&["one", "two"]);
    installation.remember_with("A quiet day.", &["--kind", "journal"]);
    installation.remember_with("Old bills are in the loft.", &["--kind", "archival"]);
    installation.ok(&["discard", "wren", "2"]);
    let all = installation.items(&["ledger", "wren", "--all"]).len();
    assert!(all >= 4, "{all}");
    let erased = installation.ok(&["agent", "erase", "wren", "--yes"]);
    erased.tells(&format!(" its {all} memories can never be read again"));
}

#[test]
fn an_agent_is_erased_without_confirmation_with_yes() {
    let installation = Installation::with_agent();
    installation.remember(&["one", "two"]);
    let erased = installation.json(&["agent", "erase", "wren", "--yes"]);
    erased.has(json!({"name": "wren", "core_count": 2}));
    let verified = installation.json(&["audit", "verify", "wren"]);
    verified.has(json!({"valid": true, "erased_at": erased["erased_at"]}));
}
