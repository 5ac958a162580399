//! Input that a user need not type: the only agent, whole identifiers, exact names.

use memoir_testkit::{TestedObject, TestedText};
use serde_json::{Value, json};

use crate::installation::{Installation, Ran, names_in};

#[test]
fn the_only_agent_and_the_one_of_the_environment_need_not_be_named() {
    let installation = Installation::with_agent();
    installation.remember(&["Ines keeps bees."]);
    assert!(installation.ok(&["context"]).contains("Ines keeps bees."));
    installation.ok(&["agent", "create", "robin"]);
    let refused = installation.refused(&["context"]);
    refused.tells("several agents, and none is named");
    let mut command = installation.command("context");
    let ran = Ran::of(command.env("MEMOIR_AGENT", "wren"));
    ran.prints("Ines keeps bees.");
}

#[test]
fn a_session_is_named_by_its_beginning_or_as_the_last_one() {
    let installation = Installation::with_agent();
    installation.remember(&["Ines keeps bees.", "ines keeps bees"]);
    installation.ok(&["refine", "wren", "--rehearse"]);
    let id = installation.last_session();
    for named in [&id[..13], "last", "LAST", id.as_str()] {
        let found = installation.json(&["session", named]);
        assert_eq!(found["id"], id.as_str(), "{named}");
    }
    for wrong in [&id[..3], "ffff"] {
        let refused = installation.refused(&["session", wrong]);
        refused.tells("hint: ");
    }
}

#[test]
fn the_last_session_is_that_of_one_agent() {
    let installation = Installation::with_agent();
    let texts = [
        "Ines keeps bees.",
        "ines keeps bees",
        "Marta waxes her thread.",
        "Paper comes on Thursdays.",
        "Folio the cat sleeps under the press.",
        "Joaquín takes his coffee black.",
    ];
    installation.remember(&texts);
    installation.ok("refine wren");
    let session = installation.last_session();
    installation.create("robin", &["--model=builtin:careful"]);
    for text in texts {
        installation.ok(&["remember", "robin", text]);
    }
    installation.ok("refine robin");
    for command in ["session", "rollback", "apply", "cancel"] {
        let refused = installation.refused(&[command, "last"]);
        refused.tells("several agents, and none is named");
        refused.tells("give an identifier of `memoir sessions AGENT`");
        refused.tells("set MEMOIR_AGENT");
    }
    let as_wren = |line: &str| {
        let mut command = installation.command(line);
        Ran::of(command.env("MEMOIR_AGENT", "wren"))
    };
    as_wren("session last").prints(&session);
    as_wren("rollback last").prints("undone for `wren`: ");
    let undone = |agent: &str| installation.items(&["sessions", agent])[0]["undone_at"].clone();
    assert!(undone("wren").is_string() && undone("robin").is_null());
    // Where the command has the agent, it is its last session.
    let records = installation.run("audit list wren --session last --json");
    assert_eq!(records.lines()[0]["session_id"], session.as_str());
}

#[test]
fn an_origin_date_in_the_future_is_noted() {
    let installation = Installation::with_agent();
    let saved = |at: &str| installation.run(&["remember", "wren", "Ines moves.", "--at", at]);
    saved("in 30 days").reports("its origin date lies in the future: ");
    saved("yesterday").stderr.omits("future");
}

#[test]
fn a_mistyped_name_gets_a_suggestion() {
    let refused = Installation::new().refused("remember wren 'Ines keeps bees.'");
    refused.tells("there is no agent `wren`");
    refused.tells("hint: `memoir agent create NAME`");
    let installation = Installation::with_agent();
    let near = installation.refused("context wern");
    near.tells("hint: did you mean `wren`?");
    let far = installation.refused("context 'quite different'");
    far.tells("hint: `memoir agent list`");
}

#[test]
fn a_mistyped_setting_and_an_unknown_provider_are_reported() {
    let installation = Installation::with_agent();
    let set =
        |field: &str, value: &str| installation.refused(&["agent", "set", "wren", field, value]);
    let told = set("refinment_threshold", "0.8");
    told.tells("hint: did you mean `refinement_threshold`?");
    let told = set("model", "opnai:gpt");
    told.tells("names a provider that there is not; known are ");
    for (model, problem) in [
        ("opnai:gpt", "provider that there is not"),
        ("builtin:bold", "there is only `builtin:careful`"),
    ] {
        set("model", model).tells(problem);
        let create = ["agent", "create", "robin", "--model", model];
        installation.refused(&create).tells(problem);
    }
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
    told.reports("no session can delete");
    let quiet = installation.run(&["-q", "unprotect", "wren", "1"]);
    assert_eq!(quiet.stderr, "");
    assert_eq!(quiet.stdout, "unprotected #1\n");
    let wrong = installation.run(&["discard", "wren", "9", "--quiet"]);
    assert!(wrong.stderr.starts_with("error: "), "{wrong:?}");
    let both = installation.run(&["-q", "-v", "context"]);
    assert_eq!(both.code, Some(2), "{both:?}");
}

#[test]
fn what_another_program_reads_is_not_paged() {
    let installation = Installation::with_agent();
    installation.import((0..200).map(|at| format!("Note {at}.")));
    let mut command = installation.command("context");
    Ran::of(command.env("MEMOIR_PAGER", "false")).prints("Note 199.");
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
    said.tells("a conversation in the format `messages`");
    said.tells("hint: `memoir absorb AGENT FILE`");
    let file = installation.write("b.pdf", b"%PDF-1.7\n");
    let absorb = installation.refused(&["absorb", "wren", &file, "--later"]);
    absorb.tells("it is a PDF document");
}

#[test]
fn a_failure_is_json_for_a_program_with_the_code_of_the_service() {
    let installation = Installation::with_agent();
    let ran = installation.run(&["discard", "wren", "7", "--json"]);
    assert_eq!(ran.code, Some(1));
    let told: Value = serde_json::from_str(ran.stderr.lines().last().unwrap()).unwrap();
    told.has(json!({"type": "error", "code": "not_found"}));
    assert!(told["hint"].is_string() && ran.stdout.is_empty());
    ran.stderr.begins("error: ");
}

#[test]
fn shells_complete_and_the_manual_has_a_page_for_each_command() {
    let installation = Installation::new();
    for shell in ["bash", "zsh", "fish"] {
        installation.ok(&["completions", shell]).tells("rollback");
    }
    installation.ok(&["man", installation.path("tmp").to_str().unwrap()]);
    let pages = names_in(&installation.path("tmp"));
    for page in ["memoir.1", "memoir-remember.1", "memoir-hook.1"] {
        assert!(pages.contains(&page.to_owned()), "{page}: {pages:?}");
    }
    let help = installation.ok("help remember");
    help.tells("Save one memory");
}

#[test]
fn times_are_typed_in_words_and_a_range_does_not_end_before_it_begins() {
    let installation = Installation::with_agent();
    installation.remember(&["Ines keeps bees."]);
    installation.remember_with("Ines sold a hive.", &["--at", "3 days ago"]);
    let found = |range: &[&str]| {
        let recall = [&["recall", "wren"], range].concat();
        installation.items(&recall).len()
    };
    assert_eq!(found(&["--since", "10 minutes ago"]), 1);
    assert!(found(&["--since", "last monday", "--until", "now"]) >= 1);
    assert_eq!(
        found(&["--since", "4 days ago", "--until", "2 days ago"]),
        1
    );
    assert_eq!(found(&["--since", "yesterday"]), 1);
    // Where midnight passes meanwhile, both were saved by then.
    for until in ["yesterday", "yesterday 23:59"] {
        assert!(found(&["--since", "4 days ago", "--until", until]) >= 1);
    }
    for command in ["recall", "stats", "audit list"] {
        let words: Vec<&str> = command.split(' ').chain(["wren"]).collect();
        let range = ["--since", "today", "--until", "yesterday"];
        let refused = installation.refused(&[&words[..], &range].concat());
        refused.tells("since: is later than `until`");
        installation.ok(&[&words[..], &["--since", "an hour ago"]].concat());
    }
    let ran = installation.run(&["recall", "wren", "--since", "soon"]);
    assert_eq!(ran.code, Some(2));
    ran.reports("`10 minutes ago`");
}

#[test]
fn spec_3_16_a_provider_on_this_machine_that_does_not_run_fails_at_once() {
    let installation = Installation::with_agent();
    installation.remember(&["Ines keeps bees.", "ines keeps bees"]);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    // Attempts with such waits would not end within this test.
    let config = format!(
        "[limits]\nfirst_wait_seconds = 80000\nlongest_wait_seconds = 80000\nminutes = 1440\n\
         [providers.lab]\nbase_url = \"http://{address}/v1\"\n"
    );
    installation.write(".config/memoir/config.toml", config);
    let ran = installation.run(&["refine", "wren", "--model", "lab:small"]);
    let told = format!("nothing listens on port {} of this machine", address.port());
    assert_eq!(ran.code, Some(1));
    let said = ran.stdout + &ran.stderr;
    said.tells(&told);
    said.tells("start the server");
}

#[test]
fn spec_4_2_the_user_of_an_open_installation_is_its_owner_in_every_record() {
    let installation = Installation::with_agent();
    installation.remember(&["Ines keeps bees.", "ines keeps bees"]);
    installation.ok(&["agent", "set", "wren", "refinement_threshold", "0.5"]);
    installation.ok(&["refine", "wren", "--model", "builtin:careful"]);
    installation.ok(&["rollback", "last"]);
    installation.ok(&["rewind", "wren", "--to-record", "2"]);
    let records = installation.ok(&["audit", "list", "wren", "--json"]);
    records.omits(r#""kind":"administrator""#);
    for action in ["agent_configured", "session_undone", "agent_rewound"] {
        let record = records.lines().find(|record| record.contains(action));
        let record: Value = serde_json::from_str(record.expect(action)).unwrap();
        assert_eq!(record["actor"]["kind"], "owner", "{record}");
    }
}
