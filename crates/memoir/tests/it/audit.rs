//! Verification of logs, and checkpoints outside the installation.

use std::{fs, path::PathBuf};

use memoir_testkit::{TestedObject, TestedText};
use serde_json::{Value, json};

use crate::installation::{Installation, MadeOnce};

const DATABASE: &str = ".local/share/memoir/memoir.db";

fn with_a_log() -> Installation {
    static MADE: MadeOnce = MadeOnce::new();
    MADE.copy(|| logged(Installation::with_agent()))
}

/// With a session of `wren`, and a second agent.
fn logged(installation: Installation) -> Installation {
    installation.remember(&["twice", "twice", "Twice!", "once"]);
    installation.ok(&["refine", "wren"]);
    installation.ok(&["agent", "create", "robin"]);
    installation
}

/// Writes a checkpoint to a file, and returns the file and the public key.
fn checkpoint(installation: &Installation, name: &str) -> (String, String) {
    let ran = installation.run(&["audit", "checkpoint"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let key = ran.stderr.lines().last().unwrap().to_owned();
    (installation.write(name, ran.stdout), key)
}

/// Flips one bit of a sealed text in the file itself.
pub(crate) fn flip(installation: &Installation, query: &str) {
    let path: PathBuf = installation.path(DATABASE);
    let connection = rusqlite::Connection::open(&path).unwrap();
    let body: Vec<u8> = connection.query_row(query, [], |row| row.get(0)).unwrap();
    connection.close().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let places: Vec<usize> = bytes
        .windows(body.len())
        .enumerate()
        .filter_map(|(place, window)| (window == body).then_some(place))
        .collect();
    assert_eq!(places.len(), 1, "sealed words stand in one place");
    bytes[places[0] + body.len() / 2] ^= 1;
    fs::write(&path, bytes).unwrap();
}

#[test]
fn spec_4_2_one_agent_or_all_are_verified() {
    let installation = with_a_log();
    let records = installation.run("audit list wren --json").lines();
    let last = records.last().unwrap();
    assert_eq!(
        installation.ok(&["audit", "verify", "wren"]),
        format!(
            "valid   wren: {} records, head {}\n        3 originals: 3 in the prompt, 0 in the archive, 0 lost\n",
            last["seq"],
            last["hash"].as_str().unwrap()
        )
    );
    let one = installation.json(&["audit", "verify", "WREN"]);
    one.has(json!({"valid": true, "records": last["seq"], "head": last["hash"]}));
    assert_eq!(one.get("first_bad"), None);

    installation.ok(&["account", "create", "lab"]);
    installation.ok(&["agent", "create", "wren", "--account", "lab"]);
    let all = installation.ok(&["audit", "verify", "--all"]);
    assert_eq!(all.matches("valid   ").count(), 4, "{all}");
    all.tells("valid   account lab: 1 record, ");
    // Two agents with the same name are distinguished.
    assert_eq!(all.matches("valid   wren (").count(), 2, "{all}");
    let all = installation.json(&["audit", "verify", "--all"]);
    assert_eq!(all["valid"], true);
    assert_eq!(all["agents"].as_array().unwrap().len(), 4);
    assert_eq!(all.get("checkpoint"), None);
}

#[test]
fn records_hold_the_hash_of_the_one_before() {
    let installation = with_a_log();
    let records = installation.run("audit list wren --json").lines();
    assert!(records.len() > 5);
    for pair in records.windows(2) {
        assert_eq!(pair[0]["hash"], pair[1]["previous_hash"]);
        assert_eq!(pair[1]["hash"].as_str().unwrap().len(), 64);
    }
}

#[test]
fn the_only_agent_need_not_be_named_to_be_verified() {
    let installation = Installation::with_agent();
    let printed = installation.ok(&["audit", "verify"]);
    assert!(printed.starts_with("valid   wren: "), "{printed}");
    installation.ok(&["agent", "create", "finch"]);
    let refused = installation.refused(&["audit", "verify"]);
    refused.tells("there are several agents");
}

#[test]
fn spec_4_2_a_flipped_bit_of_a_record_is_found_and_named() {
    let installation = with_a_log();
    let record = "SELECT body FROM audit_records WHERE seq = 3";
    flip(&installation, record);
    for line in ["audit verify wren", "audit verify --all"] {
        let ran = installation.run(line);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        ran.prints("invalid wren: the chain holds for ");
        ran.prints("\n        record 3: ");
        assert!(ran.stderr.starts_with("error: "), "{ran:?}");
        ran.reports("\n\nhint: ");
    }
    let ran = installation.run(&["audit", "verify", "wren", "--json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let verified: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (&verified["valid"], &verified["first_bad"]["seq"]),
        (&json!(false), &json!(3))
    );
    // The other agent is unaffected.
    installation.ok(&["audit", "verify", "robin"]);
}

#[test]
fn spec_4_2_a_flipped_bit_of_a_memory_is_found_and_named() {
    let installation = with_a_log();
    flip(&installation, "SELECT body FROM memories WHERE number = 4");
    let ran = installation.run(&["audit", "verify", "wren"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.starts_with("invalid wren: "), "{ran:?}");
    ran.prints("`memories`");
    let error = installation.run(&["ledger", "wren"]).error();
    error.tells("`memoir audit verify --all`");
}

#[test]
fn a_checkpoint_is_a_signed_note_and_nothing_else_on_stdout() {
    let installation = with_a_log();
    let ran = installation.run(&["audit", "checkpoint"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines: Vec<&str> = ran.stdout.split('\n').collect();
    let [origin, size, root, "", signature, ""] = lines[..] else {
        panic!("{ran:?}")
    };
    assert!(origin.starts_with("memoir/"), "{origin}");
    assert_eq!((size, root.len()), ("2", 44));
    signature.begins(&format!("— {origin} "));

    let signed = installation.json(&["audit", "checkpoint"]);
    assert_eq!(signed["checkpoint"], ran.stdout, "nothing grew meanwhile");
    assert_eq!(signed["origin"], origin);
    assert_eq!(signed["size"], 2);
    let key = signed["public_key"].as_str().unwrap();
    assert!(ran.stderr.ends_with(&format!("{key}\n")), "{ran:?}");
}

#[test]
fn spec_4_2_a_kept_checkpoint_shows_that_logs_only_grew() {
    let installation = with_a_log();
    let (note, key) = checkpoint(&installation, "kept/checkpoint.txt");
    installation.remember(&["more"]);
    installation.ok(&["audit", "checkpoint"]);

    let text = installation.ok(&["audit", "verify", "--checkpoint", &note]);
    assert_eq!(text.matches("valid   ").count(), 3, "{text}");
    let grew = "valid   the log over all heads (3 entries) only grew since the checkpoint\n";
    assert!(text.ends_with(grew), "{text}");
    for options in ["wren", "--all", &format!("--public-key {key}")] {
        let line = format!("audit verify --checkpoint {note} {options}");
        let verified = installation.json(&line);
        assert_eq!(verified["valid"], true, "{options}");
        assert_eq!(verified["checkpoint"]["grew"], true, "{options}");
    }
    let (piped, note) = (
        "audit verify --checkpoint -",
        fs::read_to_string(&note).unwrap(),
    );
    installation.run_with_input(piped, &note).ok(piped);
}

#[test]
fn spec_4_2_a_database_put_back_from_before_the_checkpoint_is_found() {
    let installation = with_a_log();
    let before = fs::read(installation.path(DATABASE)).unwrap();
    installation.remember(&["more"]);
    let (note, _) = checkpoint(&installation, "note");
    fs::write(installation.path(DATABASE), before).unwrap();
    // The old state is valid by itself.
    installation.ok(&["audit", "verify", "--all"]);
    let ran = installation.run(&["audit", "verify", "--checkpoint", &note]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    ran.prints("invalid the log was cut off: ");
    ran.stderr
        .begins("error: the log is not the one of the checkpoint\n");
    let ran = installation.run(&["audit", "verify", "--checkpoint", &note, "--json"]);
    let verified: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (
            ran.code,
            &verified["valid"],
            &verified["checkpoint"]["grew"]
        ),
        (Some(1), &json!(false), &json!(false))
    );
}

#[test]
fn a_checkpoint_of_another_installation_or_rubbish_is_refused() {
    let other = logged(Installation::with_agent_of_its_own());
    let installation = with_a_log();
    let (foreign, foreign_key) = checkpoint(&other, "note");
    let (own, _) = checkpoint(&installation, "note");
    let signed = fs::read_to_string(&own).unwrap();
    let changed = installation.write("changed", signed.replacen("\n2\n", "\n1\n", 1));
    let empty = installation.write("empty", "");
    let rubbish = installation.write("rubbish", [0xff; 2_000]);
    let key = format!("--public-key {foreign_key}");
    for (note, key, told) in [
        (&foreign, "", "not signed by `memoir/"),
        (&changed, "", "the note was changed"),
        (&empty, "", "not a signed note"),
        (&rubbish, "", "not a signed note"),
        (&own, key.as_str(), "not signed by `memoir/"),
    ] {
        let line = format!("audit verify --checkpoint {note} {key}");
        let error = installation.run(&line).error();
        error.begins("error: the checkpoint cannot be used: ");
        error.tells(told);
    }
    // The note is valid under the other one's key, but signs another log.
    let line = format!("audit verify --checkpoint {foreign} {key}");
    let ran = installation.run(&line);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    ran.prints("invalid ");
    let missing = installation.refused(&["audit", "verify", "--checkpoint", "nowhere"]);
    missing.tells("cannot read `nowhere`");
}
