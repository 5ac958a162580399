//! Memories in and out.

use memoir_testkit::{TestedObject, TestedText};
use serde_json::json;

use crate::installation::{Installation, names_in, rows};

const GOOD: &str = concat!(
    "{\"content\": \"I am Wren.\", \"constitutional\": true, \"created_at\": \"2025-01-01T00:00:00Z\"}\n",
    "\n",
    "{\"content\": \"Two\\nlines — ¿sí?\", \"tags\": [\"a\", \"b\"], \"created_at\": \"2025-01-02T00:00:00Z\"}\r\n",
    "{\"content\": \"A day.\", \"kind\": \"journal\", \"created_at\": \"2025-01-03T00:00:00Z\"}",
);

#[test]
fn what_is_exported_imports_to_the_same_memories() {
    let installation = Installation::with_agent();
    let file = installation.write("in.jsonl", GOOD);
    let told = installation.ok(&["import", "wren", &file]);
    // SPEC 2.4: an import is undone by one command, whatever its format.
    let undone_by = "`memoir import wren --undo` undoes it";
    assert_eq!(told, format!("imported 3 memories; {undone_by}\n"));
    let ran = installation.run("export wren");
    let (lines, exported) = (ran.lines(), ran.stdout);
    installation.ok("agent create robin");
    let ran = installation.run_with_input(&["import", "robin", "-", "--json"], &exported);
    let imported = &ran.lines()[0];
    imported.has(json!({"imported": 3, "skipped": 0}));
    assert_eq!(installation.ok(&["export", "robin"]), exported);
    assert_eq!(lines[0]["constitutional"], true);
    assert_eq!(lines[1]["content"], "Two\nlines — ¿sí?");
    assert_eq!(lines[2]["kind"], "journal");
}

#[test]
fn an_export_notes_how_many_discarded_memories_are_not_in_it() {
    let installation = Installation::with_agent();
    installation.remember(&["one", "two"]);
    assert_eq!(installation.run("export wren").stderr, "");
    installation.ok("discard wren 2");
    for line in [
        "export wren",
        "export wren --output lines.jsonl",
        "export wren --format markdown --output pages",
    ] {
        let ran = installation.run(line);
        ran.reports("1 discarded memory is not in it; `--format archive` exports all");
        assert_eq!(ran.code, Some(0), "{line}: {ran:?}");
    }
}

#[test]
fn no_export_replaces_a_file_without_being_told_to() {
    let installation = Installation::with_agent();
    installation.remember(&["I am Wren."]);
    let file = installation.write("there.jsonl", "what was there before");
    for command in [
        "export wren",
        "export wren --format archive",
        "audit export wren",
    ] {
        let line = format!("{command} --output {file}");
        let refused = installation.refused(&line);
        refused.tells("there.jsonl` is there already; nothing was written");
        refused.tells("hint: give the name of a new file, or `--force` to replace it");
        let before = std::fs::read(&file).unwrap();
        assert_eq!(before, b"what was there before", "{command}");
        installation.ok(&format!("{line} --force"));
        assert_ne!(std::fs::read(&file).unwrap(), before, "{command}");
        std::fs::write(&file, before).unwrap();
        // Neither stdout nor a device is replaced.
        if !command.contains("archive") {
            let shown = installation.ok(&format!("{command} --output -"));
            shown.tells("I am Wren.");
            #[cfg(unix)]
            installation.ok(&format!("{command} --output /dev/null"));
        }
    }
}

#[test]
fn a_forced_export_to_a_file_replaces_it_whole_and_is_for_its_owner_only() {
    let installation = Installation::with_agent();
    let file = installation.write("in.jsonl", GOOD);
    installation.ok(&["import", "wren", &file]);
    let out = installation.write("out/memories.jsonl", "what was there before");
    let ran = installation.run(&["export", "wren", "--output", &out, "--force"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    ran.reports("wrote 3 memories");
    let exported = installation.ok("export wren");
    let written = || std::fs::read_to_string(&out).unwrap();
    assert_eq!(written(), exported);
    assert_eq!(names_in(&installation.path("out")), ["memories.jsonl"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let found = std::fs::metadata(&out).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, 0o600);
        // Writing through a link changes its target, and the link stays.
        let link = installation.path("link.jsonl");
        std::os::unix::fs::symlink(&out, &link).unwrap();
        std::fs::write(&out, "old").unwrap();
        installation.ok(&format!("export wren --force --output {}", link.display()));
        assert!(link.is_symlink());
        // A second link is followed too.
        let second = installation.path("second.jsonl");
        std::os::unix::fs::symlink("link.jsonl", &second).unwrap();
        let second_line = format!("export wren --force --output {}", second.display());
        installation.ok(&second_line);
        assert!(link.is_symlink() && second.is_symlink());
        assert_eq!(written(), exported);
        // Nothing is made where a link leads to a missing file, whatever the format.
        std::fs::remove_file(&out).unwrap();
        for name in ["link.jsonl", "second.jsonl"] {
            let refused = installation.refused(&["audit", "export", "wren", "--output", name]);
            refused.tells("a link to a missing file");
            for format in ["jsonl", "archive", "markdown", "okf"] {
                let line = format!("export wren --format {format} --output {name}");
                installation.refused(&line).tells(name);
                assert!(!std::path::Path::new(&out).exists(), "{format}");
                assert!(link.is_symlink() && second.is_symlink());
            }
        }
    }
    let refused = installation.refused(&["export", "wren", "--output", "no/such/folder.jsonl"]);
    refused.tells("cannot write `no/such/folder.jsonl`");
}

#[test]
fn a_file_with_bad_lines_imports_nothing_and_names_the_first_twenty() {
    let installation = Installation::with_agent();
    let mut text = GOOD.to_owned();
    for _ in 0..25 {
        text.push_str("\n{\"content\": 5}");
    }
    let file = installation.write("bad.jsonl", text);
    let refused = installation.refused(&["import", "wren", &file]);
    refused.begins("error: nothing was imported: 25 of 28 lines cannot be read\n");
    refused.tells("\nline 5: ");
    refused.tells("\nline 24: ");
    refused.tells("\nand 5 more\n");
    refused.tells("hint: correct them, or import the rest with `--skip-bad`");
    refused.omits("\nline 25: ");
    assert_eq!(installation.texts(), Vec::<String>::new());

    let ran = installation.run(&["import", "wren", &file, "--skip-bad"]);
    let skipped = "imported 3 memories, skipped 25 lines; `memoir import wren --undo` undoes it\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), skipped));
    ran.reports("line 5: ");
    ran.reports("and 5 more");
    assert_eq!(installation.texts().len(), 3);
}

#[test]
fn a_bad_line_is_reported_without_its_text() {
    let installation = Installation::with_agent();
    for [line, told] in rows(
        r#"
        {"content": "secret words", "colour": 1} | unknown
        {"content": "secret words" | is not valid JSON
        {"content": ""} | content: is empty
        {"content": "secret words", "kind": "secret"} | wrong type
        {"content": "secret words", "created_at": "then"} | wrong type"#,
    ) {
        let file = installation.write("bad.jsonl", line);
        let refused = installation.refused(&["import", "wren", &file]);
        refused.tells("line 1: ");
        refused.tells(told);
        refused.omits("secret");
    }
    let long = format!("{{\"content\": \"{}\"}}", "x".repeat(10_001));
    let file = installation.write("bad.jsonl", long);
    let refused = installation.refused(&["import", "wren", &file]);
    refused.tells("10001 characters long, and the limit is 10000");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let installation = Installation::with_agent();
    let refused = installation.refused(&["import", "wren", "nowhere.jsonl"]);
    refused.tells("cannot read `nowhere.jsonl`");
    let refused = installation.refused(&["import", "wren", "tmp"]);
    refused.tells("cannot read `tmp`");
    let empty = installation.write("empty.jsonl", "");
    let told = installation.ok(&["import", "wren", &empty]);
    assert_eq!(told, "imported 0 memories\n");
}
