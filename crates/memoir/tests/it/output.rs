//! Output, and its streams.

use std::io::{BufRead, BufReader};

use crate::installation::{Installation, Ran, script};
use memoir_testkit::{ServerStep, TestedText};
use serde_json::json;

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let installation = Installation::with_agent();
    let long = "x".repeat(100);
    installation.import((0..3_000).map(|number| format!("memory {number} {long}")));
    for line in [
        "ledger wren",
        "export wren",
        "audit list wren --json",
        "context wren",
    ] {
        let mut child = installation.start(line);
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        reader.read_line(&mut first).unwrap();
        drop(reader);
        let ended = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(0), "{line}: {stderr}");
        stderr.omits("panicked");
        stderr.omits("error");
    }
}

#[test]
fn no_colour_reaches_a_pipe_or_a_user_who_wants_none() {
    let installation = Installation::with_agent();
    installation.remember(&["a b c", "d e f", "g h i"]);
    let update = json!({"id": 1, "content": "a b d"});
    let _server = installation.scripted(script(&[("update_memory", update)]));
    let refine = ["refine", "wren", "--model", "lab:small", "--rehearse"];
    let ran = installation.run(&refine);
    assert!(
        !ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'),
        "{ran:?}"
    );

    let forced = Ran::of(installation.command(&["doctor"]).env("CLICOLOR_FORCE", "1"));
    forced.prints("\u{1b}[");
    let mut doctor = installation.command("doctor");
    let none = Ran::of(doctor.env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1"));
    none.stdout.omits("\u{1b}");
}

#[test]
fn a_rehearsal_in_colour_marks_the_words_that_differ() {
    let installation = Installation::with_agent();
    installation.remember(&["Wheat paste keeps four days", "d e f", "g h i"]);
    let update = json!({"id": 1, "content": "Wheat paste keeps five days"});
    let _server = installation.scripted(script(&[("update_memory", update)]));
    let mut refine = installation.command("refine wren --model lab:small --rehearse");
    let ran = Ran::of(refine.env("CLICOLOR_FORCE", "1"));
    ran.prints("mfour\u{1b}[0m");
    ran.prints("mfive\u{1b}[0m");
}

#[test]
fn words_of_a_model_cannot_drive_the_terminal() {
    let installation = Installation::with_agent();
    installation.remember(&["Right\u{202e}to left", "d e f"]);
    installation.ok(&["remember", "wren", "tag", "--tag", "a\u{2066}b"]);
    let ledger = installation.ok(&["ledger", "wren"]);
    ledger.tells("Right\\u{202e}to left");
    ledger.tells("a\\u{2066}b");
    assert!(!installation.ok(&["context", "wren"]).contains('\u{202e}'));
    // A program reads the export: its text is unchanged.
    assert!(installation.ok(&["export", "wren"]).contains('\u{202e}'));

    let no = ServerStep::text("NO \u{1b}[2J\u{1b}]0;title\u{7} \u{9b}31m");
    let _server = installation.scripted([no]);
    let ran = installation.run(&["refine", "wren", "--model", "lab:small"]);
    for sign in ["\u{1b}", "\u{7}", "\u{9b}"] {
        ran.stdout.omits(sign);
        ran.stderr.omits(sign);
    }
    ran.reports("\\u{1b}[2J");
    let refused = installation.refused(&["agent", "show", "\u{1b}[31mred"]);
    refused.tells("there is no agent `\\u{1b}[31mred`");
}
