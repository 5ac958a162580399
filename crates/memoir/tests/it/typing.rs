//! Input that a user need not type: the only agent, whole identifiers, exact names.

use serde_json::Value;

use crate::installation::{Installation, Ran, names_in};

#[test]
fn the_only_agent_and_the_one_of_the_environment_need_not_be_named() {
    let installation = Installation::with_agent();
    installation.remember(&["Ines keeps bees."]);
    assert!(installation.ok(&["context"]).contains("Ines keeps bees."));
    installation.ok(&["agent", "create", "robin"]);
    let refused = installation.refused(&["context"]);
    assert!(
        refused.contains("several agents, and none is named"),
        "{refused}"
    );
    let ran = Ran::of(
        installation
            .command(&["context"])
            .env("MEMOIR_AGENT", "wren"),
    );
    assert!(ran.stdout.contains("Ines keeps bees."), "{ran:?}");
}

#[test]
fn a_session_is_named_by_its_beginning_or_as_the_last_one() {
    let installation = Installation::with_agent();
    installation.remember(&["Ines keeps bees.", "ines keeps bees"]);
    installation.ok(&["refine", "wren", "--rehearse"]);
    let id = installation.last_session();
    for named in [&id[..13], "last", "LAST", id.as_str()] {
        assert_eq!(
            installation.json(&["session", named])["id"],
            id.as_str(),
            "{named}"
        );
    }
    for wrong in [&id[..3], "ffff"] {
        let refused = installation.refused(&["session", wrong]);
        assert!(refused.contains("hint: "), "{refused}");
    }
}

#[test]
fn a_mistyped_name_gets_a_suggestion() {
    let installation = Installation::with_agent();
    assert!(
        installation
            .refused(&["context", "wern"])
            .contains("hint: did you mean `wren`?")
    );
    assert!(
        installation
            .refused(&["context", "quite different"])
            .contains("hint: `memoir agent list`")
    );
}

#[test]
fn a_mistyped_setting_and_an_unknown_provider_are_reported() {
    let installation = Installation::with_agent();
    let set =
        |field: &str, value: &str| installation.refused(&["agent", "set", "wren", field, value]);
    let told = set("refinment_threshold", "0.8");
    assert!(
        told.contains("hint: did you mean `refinement_threshold`?"),
        "{told}"
    );
    let told = set("model", "opnai:gpt");
    assert!(
        told.contains("names a provider that there is not; known are "),
        "{told}"
    );
    let create = ["agent", "create", "robin", "--model", "opnai:gpt"];
    assert!(
        installation
            .refused(&create)
            .contains("provider that there is not")
    );
    // A configured provider is known, and its key need not exist yet.
    installation.ok(&["agent", "set", "wren", "model", "openai:gpt"]);
    let config = "[providers.lab]\nbase_url = \"http://127.0.0.1:9\"\n";
    installation.write(".config/memoir/config.toml", config);
    installation.ok(&["agent", "set", "wren", "model", "lab:small"]);
}

#[test]
fn it_is_quiet_and_says_more_where_that_is_asked_for() {
    let installation = Installation::with_agent();
    installation.remember(&["Ines keeps bees."]);
    let told = installation.run(&["protect", "wren", "1"]);
    assert!(told.stderr.contains("no session can delete"), "{told:?}");
    let quiet = installation.run(&["-q", "unprotect", "wren", "1"]);
    assert_eq!(
        (quiet.stdout.as_str(), quiet.stderr.as_str()),
        ("unprotected #1\n", "")
    );
    let wrong = installation.run(&["discard", "wren", "9", "--quiet"]);
    assert!(wrong.stderr.starts_with("error: "), "{wrong:?}");
    let both = installation.run(&["-q", "-v", "context"]);
    assert_eq!(both.code, Some(2), "{both:?}");
}

#[test]
fn what_another_program_reads_is_not_paged() {
    let installation = Installation::with_agent();
    let lines: String = (0..200)
        .map(|at| format!("{{\"content\": \"Note {at}.\"}}\n"))
        .collect();
    let file = installation.write("notes.jsonl", lines);
    installation.ok(&["import", "wren", &file]);
    let ran = Ran::of(
        installation
            .command(&["context"])
            .env("MEMOIR_PAGER", "false"),
    );
    assert!(ran.stdout.contains("Note 199."), "{ran:?}");
}

#[test]
fn a_file_of_the_wrong_kind_is_named() {
    let installation = Installation::with_agent();
    let import = |name: &str, text: &[u8]| {
        let file = installation.write(name, text);
        installation.refused(&["import", "wren", &file])
    };
    assert!(import("a.pdf", b"%PDF-1.7\n").contains("it is a PDF document"));
    assert!(import("a.html", b"<!doctype html>").contains("it is a page of HTML"));
    let said = import(
        "said.json",
        br#"{"messages": [{"speaker": "Ines", "text": "Hello."}]}"#,
    );
    assert!(
        said.contains("a conversation in the format `messages`"),
        "{said}"
    );
    assert!(said.contains("hint: `memoir absorb AGENT FILE`"), "{said}");
    let file = installation.write("b.pdf", b"%PDF-1.7\n");
    let absorb = installation.refused(&["absorb", "wren", &file, "--later"]);
    assert!(absorb.contains("it is a PDF document"), "{absorb}");
}

#[test]
fn a_failure_is_json_for_a_program_with_the_code_of_the_service() {
    let installation = Installation::with_agent();
    let ran = installation.run(&["discard", "wren", "7", "--json"]);
    assert_eq!(ran.code, Some(1));
    let told: Value = serde_json::from_str(ran.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&told["type"], &told["code"]),
        (&"error".into(), &"not_found".into()),
        "{told}"
    );
    assert!(
        told["hint"].is_string() && ran.stdout.is_empty() && ran.stderr.starts_with("error: "),
        "{ran:?}"
    );
}

#[test]
fn shells_complete_and_the_manual_has_a_page_for_each_command() {
    let installation = Installation::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            installation
                .ok(&["completions", shell])
                .contains("rollback"),
            "{shell}"
        );
    }
    installation.ok(&["man", installation.path("tmp").to_str().unwrap()]);
    let pages = names_in(&installation.path("tmp"));
    for page in ["memoir.1", "memoir-remember.1", "memoir-hook.1"] {
        assert!(pages.contains(&page.to_owned()), "{page}: {pages:?}");
    }
    assert!(
        installation
            .ok(&["help", "remember"])
            .contains("Save one memory")
    );
}

#[test]
fn words_of_other_programs_lead_to_the_command_that_is_meant() {
    let installation = Installation::new();
    for (word, meant) in [
        ("list", "`memoir ledger`"),
        ("show", "`memoir history"),
        ("search", "`memoir recall`"),
        ("add", "`memoir remember`"),
        ("delete", "`memoir discard`"),
        ("forget", "`memoir shred`"),
        ("undo", "`memoir rollback last`"),
        ("status", "`memoir doctor`"),
        ("version", "`memoir --version`"),
    ] {
        let ran = installation.run(&[word]);
        assert_eq!(ran.code, Some(2), "{word}");
        assert!(ran.stderr.contains(meant), "{word}: {}", ran.stderr);
    }
}
