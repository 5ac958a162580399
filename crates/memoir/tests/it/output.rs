//! Output, and its streams.

use std::io::{BufRead, BufReader, Read};

use crate::installation::{Installation, Ran, script};
use memoir_testkit::TestedText;
use serde_json::json;

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let installation = Installation::with_agent();
    let lines: Vec<String> = (0..3_000)
        .map(|number| {
            json!({"content": format!("memory {number} {}", "x".repeat(100))}).to_string()
        })
        .collect();
    let file = installation.write("many.jsonl", lines.join("\n"));
    installation.ok(&["import", "wren", &file]);
    for arguments in [
        &["ledger", "wren"][..],
        &["export", "wren"],
        &["audit", "list", "wren", "--json"],
        &["context", "wren"],
    ] {
        let mut child = installation.start(arguments);
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        reader.read_line(&mut first).unwrap();
        drop(reader);
        let mut stderr = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut stderr)
            .unwrap();
        assert_eq!(
            child.wait().unwrap().code(),
            Some(0),
            "{arguments:?}: {stderr}"
        );
        assert!(
            !stderr.contains("panicked") && !stderr.contains("error"),
            "{arguments:?}: {stderr}"
        );
    }
}

#[test]
fn no_colour_reaches_a_pipe_or_a_user_who_wants_none() {
    let installation = Installation::with_agent();
    installation.remember(&["a b c", "d e f", "g h i"]);
    let _server = installation.scripted(script(&[(
        "update_memory",
        json!({"id": 1, "content": "a b d"}),
    )]));
    let refine = ["refine", "wren", "--model", "lab:small", "--rehearse"];
    let ran = installation.run(&refine);
    assert!(
        !ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'),
        "{ran:?}"
    );

    let forced = Ran::of(installation.command(&["doctor"]).env("CLICOLOR_FORCE", "1"));
    forced.prints("\u{1b}[");
    let none = Ran::of(
        installation
            .command(&["doctor"])
            .env("CLICOLOR_FORCE", "1")
            .env("NO_COLOR", "1"),
    );
    assert!(!none.stdout.contains('\u{1b}'), "{none:?}");
}

#[test]
fn a_rehearsal_in_colour_marks_the_words_that_differ() {
    let installation = Installation::with_agent();
    installation.remember(&["Wheat paste keeps four days", "d e f", "g h i"]);
    let _server = installation.scripted(script(&[(
        "update_memory",
        json!({"id": 1, "content": "Wheat paste keeps five days"}),
    )]));
    let ran = Ran::of(
        installation
            .command(&["refine", "wren", "--model", "lab:small", "--rehearse"])
            .env("CLICOLOR_FORCE", "1"),
    );
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

    let _server = installation.scripted([memoir_testkit::ServerStep::text(
        "NO \u{1b}[2J\u{1b}]0;title\u{7} \u{9b}31m",
    )]);
    let ran = installation.run(&["refine", "wren", "--model", "lab:small"]);
    for stream in [&ran.stdout, &ran.stderr] {
        assert!(
            !stream.contains(['\u{1b}', '\u{7}', '\u{9b}']),
            "{stream:?}"
        );
    }
    ran.reports("\\u{1b}[2J");
    let refused = installation.refused(&["agent", "show", "\u{1b}[31mred"]);
    refused.tells("there is no agent `\\u{1b}[31mred`");
}

#[test]
fn wrong_usage_is_status_2_and_help_is_status_0() {
    let installation = Installation::new();
    for arguments in [
        &[][..],
        &["forget"],
        &["remember"],
        &["remember", "wren", "x", "--kind", "dream"],
        &["remember", "wren", "x", "--at", "someday"],
        &["recall", "wren", "x", "--limit", "201"],
        &["recall", "wren", "x", "--limit", "0"],
        &["refine", "wren", "--mode", "half"],
        &["restore", "wren", "many"],
        &["audit", "list", "wren", "--action", "dream"],
        &["agent", "set", "wren", "model"],
        &["agent", "set", "wren", "model", "a:b", "--default"],
        &["import", "wren", "file", "--format", "csv"],
    ] {
        let ran = installation.run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert_eq!(ran.stdout, "", "{arguments:?}");
    }
    for arguments in [&["--help"][..], &["refine", "--help"], &["--version"]] {
        assert_eq!(installation.run(arguments).code, Some(0), "{arguments:?}");
    }
}
