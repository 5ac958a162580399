//! Access requests on the command line: in an open and in a closed installation.

use memoir_testkit::{TestedObject, TestedText};
use serde_json::{Value, json};

use crate::installation::{Installation, Ran};

const WORD: &str = "Zwitscher";
const PURPOSE: &str = "to see why sessions end early";

/// A closed installation with an agent that has a memory: its token, and two administrators'.
fn closed() -> (Installation, [String; 3]) {
    let installation = Installation::with_agent();
    installation.remember(&[&format!("{WORD} was heard at dawn.")]);
    let agent = ["token", "create", "--role", "agent", "--agent", "wren"];
    let admin = ["token", "create", "--role", "admin"];
    let tokens =
        [&agent[..], &admin, &admin].map(|made| installation.ok(made).trim_end().to_owned());
    installation.write(".config/memoir/config.toml", "closed = true\n");
    (installation, tokens)
}

fn json_of(ran: &Ran) -> Value {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

fn ask(installation: &Installation, token: &str, more: &[&str]) -> Value {
    let start = ["access", "ask", "wren", "--purpose", PURPOSE, "--json"];
    json_of(&installation.with_token(token, &[&start, more].concat()))
}

/// The commands that show texts under a grant, and whether each did.
fn shows(installation: &Installation, token: &str) -> [bool; 2] {
    [&["ledger", "wren"][..], &["recall", "wren", "heard"]].map(|arguments| {
        let ran = installation.with_token(token, arguments);
        format!("{ran:?}").contains(WORD)
    })
}

#[test]
fn in_an_open_installation_a_request_is_asked_answered_and_revoked() {
    let installation = Installation::with_agent();
    installation.remember(&["Ada keeps bees."]);
    let ask = format!("access ask wren --purpose '{PURPOSE}' --minutes 5");
    let asked = installation.run(&ask);
    assert_eq!(asked.code, Some(0), "{asked:?}");
    let id = asked.stdout.strip_prefix("waiting ").unwrap().trim_end();
    asked
        .stderr
        .begins("it waits for the agent's answer until ");
    let list = installation.ok(&["access", "list", "wren"]);
    for part in [id, "asked", "command line", "core memories, 5 min", PURPOSE] {
        list.tells(part);
    }
    let answered = installation.run(&["access", "answer", id, "yes", "--reason", "Look."]);
    assert_eq!(answered.stdout, format!("granted {id}\n"));
    answered.reports("the agent's reason: Look.\n");
    let revoked = installation.ok(&["access", "revoke", id]);
    assert_eq!(revoked, format!("revoked {id}\n"));
    let error = installation.refused(&["access", "answer", id, "no"]);
    error.tells("the request is revoked");
    let requests = installation.json(&["access", "list", "wren"]);
    requests["items"][0].has(json!({"id": id, "state": "revoked"}));
    installation.ok(&["audit", "verify", "wren"]).tells("wren");
}

#[test]
fn an_unknown_request_is_named_with_the_command_that_lists_them() {
    let installation = Installation::with_agent();
    let unknown = "access answer 019a0000-0000-7000-8000-000000000000 yes";
    let error = installation.refused(unknown);
    error.tells("memoir access list AGENT");
    assert_eq!(installation.items("access list wren").len(), 0);
}

#[test]
fn spec_5_2_in_a_closed_installation_texts_are_shown_under_a_grant() {
    let (installation, [agent, ada, ben]) = closed();
    assert_eq!(shows(&installation, &ada), [false; 2]);
    let request = ask(&installation, &ada, &["--minutes", "5"]);
    assert_eq!(request["state"], "asked");
    let id = request["id"].as_str().unwrap();
    let yes = ["access", "answer", id, "yes"];
    for other in ["", &ada, &ben] {
        let error = installation.with_token(other, &yes).error();
        error.tells("only `wren` itself can answer");
    }
    assert_eq!(shows(&installation, &ada), [false; 2]);
    let answered = installation.with_token(&agent, &yes);
    assert_eq!(answered.stdout, format!("granted {id}\n"));
    assert_eq!(shows(&installation, &ada), [true; 2]);
    for other in ["", &ben] {
        assert_eq!(shows(&installation, other), [false; 2]);
    }
    let listed = installation.with_token(&ben, &["access", "list", "wren", "--json"]);
    let listed = json_of(&listed);
    listed["items"][0].has(json!({"reads": 2, "memories_read": 2}));
    let revoked = installation.with_token(&agent, &["access", "revoke", id]);
    assert_eq!(revoked.stdout, format!("revoked {id}\n"));
    assert_eq!(shows(&installation, &ada), [false; 2]);
    // An agent cannot request access.
    let own = ["access", "ask", "wren", "--purpose", PURPOSE];
    let refused = installation.with_token(&agent, &own);
    let told = "error: only an administrator asks an agent for access\n";
    assert_eq!((refused.code, refused.stderr.as_str()), (Some(1), told));
}

#[test]
fn spec_5_2_the_hint_of_a_refused_undo_reads_nothing_under_a_grant() {
    let (installation, [agent, ada, _]) = closed();
    installation.write(".config/memoir/config.toml", "");
    installation.remember(&[
        "Ines keeps bees.",
        "ines keeps bees",
        "Marta waxes her thread.",
        "Paper comes on Thursdays.",
        "Folio the cat sleeps under the press.",
    ]);
    installation.ok("refine wren");
    let session = installation.last_session();
    installation.ok(&["rollback", &session]);
    installation.write(".config/memoir/config.toml", "closed = true\n");
    let request = ask(&installation, &ada, &["--scope", "all", "--minutes", "5"]);
    let id = request["id"].as_str().unwrap();
    installation.with_token(&agent, &["access", "answer", id, "yes"]);
    let reads = || {
        let listed = installation.with_token(&agent, &["access", "list", "wren", "--json"]);
        json_of(&listed)["items"][0]["reads"].clone()
    };
    let refused = installation.with_token(&ada, &["rollback", &session]);
    assert_eq!(refused.code, Some(1));
    refused.reports("it was undone already");
    assert_eq!(reads(), 0);
    // The reports of the sessions are read here.
    let shown = installation.with_token(&ada, &["sessions", "wren", "--json"]);
    assert_eq!((shown.code, reads()), (Some(0), json!(1)), "{shown:?}");
}

#[test]
fn spec_5_5_a_token_that_was_asked_for_is_made_once() {
    let (installation, [agent, ada, ben]) = closed();
    let make = ["token", "create", "--role", "agent", "--agent", "wren"];
    let error = installation.with_token(&ada, &make).error();
    error.tells("memoir access ask AGENT");
    let request = ask(&installation, &ada, &["--token"]);
    let id = request["id"].as_str().unwrap();
    assert_eq!(request["kind"], "token");
    installation.with_token(&agent, &["access", "answer", id, "yes"]);
    assert_eq!(installation.with_token(&ben, &make).code, Some(1));
    let made = installation.with_token(&ada, &make);
    assert_eq!(made.code, Some(0), "{made:?}");
    let context = installation.with_token(made.stdout.trim_end(), &["context", "wren"]);
    assert!(context.stdout.contains(WORD));
    assert_eq!(installation.with_token(&ada, &make).code, Some(1));
}

#[test]
fn spec_4_4_a_shredding_that_was_asked_for_is_done_with_the_answer() {
    let (installation, [agent, ada, _]) = closed();
    let request = ask(&installation, &ada, &["--shred", "1"]);
    let id = request["id"].as_str().unwrap();
    let answered = installation.with_token(&agent, &["access", "answer", id, "yes"]);
    assert_eq!(answered.stdout, format!("done {id}\n"));
    let ledger = installation.with_token(&agent, &["ledger", "wren", "--all"]);
    ledger.stdout.omits(WORD);
}
