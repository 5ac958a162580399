//! The responses to typing errors, and every page of help, at 80 columns.

use std::fmt::Write;

use memoir_testkit::TestedText;
use serde_json::{Value, json};

use crate::installation::{Installation, Ran};

/// The names under `Commands:` of a page of help, or in the groups of the first one.
fn commands(help: &str) -> Vec<String> {
    let first = help.split_once("\nFirst:\n");
    let (_, list) = first
        .or_else(|| help.split_once("Commands:\n"))
        .unwrap_or_default();
    list.lines()
        .take_while(|line| *line != "Options:" && (first.is_some() || line.starts_with("  ")))
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

fn pages(installation: &Installation, path: &str, pages: &mut String) {
    let line = format!("{path}--help");
    let help = Ran::of(installation.command(&line).env("COLUMNS", "80")).ok(&line);
    writeln!(pages, "$ memoir {line}\n{help}").unwrap();
    for name in commands(&help) {
        self::pages(installation, &format!("{path}{name} "), pages);
    }
}

#[test]
fn every_page_of_help_fits_80_columns() {
    let installation = Installation::new();
    let mut all = String::new();
    pages(&installation, "", &mut all);
    assert!(all.matches("$ memoir ").count() > 50);
    for line in all.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    insta::assert_snapshot!(all);
}

/// More than seventy typing errors.
const WRONG: [&str; 76] = [
    "remeber wren text",
    "remember",
    "remember wren",
    "remember nobody text",
    "remember wern text",
    "remember wren ''",
    "remember wren '   '",
    "remember wren text --kind cor",
    "remember wren text --at someday",
    "remember wren text --at 2026-13-01",
    "remember wren text --tag ''",
    "remember wren text --origin mine",
    "remember wren text --database /nowhere/at/all.db",
    "remember wren text --database postgres://localhost/x",
    "remember wren text --database mysql://localhost/x",
    "remember wren text --account lab",
    "remember wren text --config none.toml",
    "recall wren --limit 0",
    "recall wren --limit 201",
    "recall wren --limit ten",
    "recall wren --limit -1",
    "sessions wren --limit 0",
    "recall wren --since soon",
    "recall wren --since today --until yesterday",
    "recall wren bees --kind diary",
    "context nobody",
    "context wren --max-tokens many",
    "context wren --max-tokens -1",
    "help agnt",
    "help agent creat",
    "help quite-different",
    "ledger wren --al",
    "agent create",
    "agent create wren",
    "agent create WREN",
    "agent create ''",
    "agent create x --refinement-threshold 2",
    "agent create x --refinement-threshold most",
    "agent create x --core-token-budget -5",
    "agent create x --loss-guard sometimes",
    "agent create x --refinement-schedule daily",
    "agent set wren modle x:y",
    "agent set wren model gpt",
    "agent set wren refinement_threshold 0",
    "agent set wren paused perhaps",
    "agent show nobody",
    "agent erase nobody --yes",
    "refine nobody",
    "refine wren",
    "refine wren --model nowhere:small",
    "refine wren --mode gentle",
    "session 123",
    "session last",
    "session 00000000-0000-0000-0000-000000000000",
    "rollback last",
    "apply last",
    "restore wren 99",
    "restore wren first",
    "discard wren 99",
    "shred wren 99",
    "shred wren first",
    "rewind wren --to someday",
    "rewind wren",
    "protect",
    "protect wren",
    "protect wren one",
    "absorb wren /no/such/file",
    "absorb wren --later",
    "import wren /no/such/file",
    "import wren notes.pdf",
    "export wren --format word",
    "token create --role king",
    "serve --listen everywhere",
    "serve --listen 8750",
    "serve --concurrency 0",
    "hook session-start --client emacs",
];

#[test]
fn typing_errors_are_reported() {
    let installation = Installation::with_agent();
    installation.write("notes.pdf", "%PDF-1.7\n\u{1}binary");
    let home = installation.path("").canonicalize().unwrap();
    let home = home.to_str().unwrap();
    let mut all = String::new();
    for line in WRONG {
        let ran = Ran::of(installation.command(line).env("COLUMNS", "80"));
        assert_eq!(ran.stdout, "", "{line}");
        assert!(!ran.stderr.trim().is_empty(), "{line}");
        let told = ran.stderr.replace(home, "HOME");
        let (told, code) = (told.trim_end(), ran.code.unwrap());
        writeln!(all, "$ memoir {line}\n{told}\n[{code}]\n").unwrap();
    }
    insta::assert_snapshot!(all);
}

#[test]
fn wrong_usage_is_status_2_and_help_is_status_0() {
    let installation = Installation::new();
    for line in [
        "",
        "forget",
        "agent set wren model",
        "agent set wren model a:b --default",
        "access ask wren",
        "access ask wren --purpose why --scope journal",
        "access ask wren --purpose why --scope session:1",
        "access ask wren --purpose why --minutes 0",
        "access ask wren --purpose why --minutes 61",
        "access ask wren --purpose why --token --minutes 5",
        "access ask wren --purpose why --expires-at 2030-01-01",
        "access ask wren --purpose why --shred 0",
        "audit list wren --action dream",
        "audit verify wren --all",
        "audit verify wren --public-key x+00000000+AA==",
        "audit verify --checkpoint note --public-key x",
        "audit checkpoint wren",
        "import wren file --format csv",
        "rewind wren --to 2026-02-30",
        "rewind wren --to=",
    ] {
        let ran = installation.run(line);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{line}");
    }
    for line in ["--help", "refine --help", "--version"] {
        installation.ok(line);
    }
}

#[test]
fn words_of_other_programs_lead_to_the_command_that_is_meant() {
    let installation = Installation::new();
    for (word, meant) in [
        ("list", "`memoir ledger`"),
        ("show", "memoir history"),
        ("search", "`memoir recall`"),
        ("add", "`memoir remember`"),
        ("delete", "`memoir discard`"),
        ("forget", "`memoir shred`"),
        ("undo", "`memoir rollback last`"),
        ("status", "`memoir doctor`"),
        ("version", "`memoir --version`"),
    ] {
        for line in [word, &format!("--json {word}"), &format!("help {word}")] {
            installation.run(line).reports(meant);
        }
    }
    // Below a command the word is not one of the first level.
    let ran = installation.run("agent search");
    ran.stderr.omits("memoir recall");
    let ran = installation.run("agent rename wren robin");
    ran.reports("`memoir agent set NAME name NEW`");
    ran.stderr.omits("erase");
}

#[test]
fn what_goes_to_stderr_or_into_files_is_json_for_a_program_too() {
    let installation = Installation::new();
    for line in [
        "--json forget",
        "remember --json",
        "sessions --limit 0 --json",
    ] {
        let ran = installation.run(line);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{line}");
        let last = ran.stderr.lines().last().unwrap();
        let failure: Value = serde_json::from_str(last).unwrap();
        assert_eq!(failure["type"], "error", "{line}");
        assert_eq!(failure["code"], "wrong_usage", "{line}");
        let first = ran.stderr.lines().next().unwrap();
        let error = failure["error"].as_str().unwrap();
        assert!(first.ends_with(error.lines().next().unwrap()), "{ran:?}");
    }
    for line in ["--json", "--json agent", "agent --json"] {
        let ran = installation.run(line);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{line}");
        let last = ran.stderr.lines().last().unwrap();
        let failure: Value = serde_json::from_str(last).unwrap();
        let error = "a command is missing; `--help` lists them";
        assert_eq!(failure["error"], error, "{line}");
    }
    // An option behind `--` is none.
    let ran = installation.run("forget -- --json");
    assert_eq!(ran.code, Some(2));
    ran.stderr.omits("wrong_usage");
    let told = installation.json("man tmp");
    assert_eq!(told, json!({"folder": "tmp"}));
}
