//! The work between sessions: conversations from files, reflection, and an agent's own settings (SPEC 2.5 to 2.7).
#![cfg(unix)]

use std::{collections::BTreeSet, time::Duration};

use memoir_testkit::{ReceivedRequest, ScriptedServer, ServerStep, TestedObject, TestedText};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::{
    installation::{Installation, Ran, rows, wait_until},
    serving::Running,
};

fn notes(journal: &[&str], core: &[&str]) -> ServerStep {
    ServerStep::text(&json!({"journal": journal, "core": core}).to_string())
}

/// With an agent whose model is scripted.
fn installation(script: impl IntoIterator<Item = ServerStep>) -> (Installation, ScriptedServer) {
    let installation = Installation::new();
    let server = installation.scripted(script);
    installation.ok(&["agent", "create", "wren", "--model", "lab:small"]);
    (installation, server)
}

fn fixture(name: &str) -> String {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../memoir-transcripts/tests/fixtures"
    );
    format!("{folder}/{name}")
}

/// The question in a request.
fn question(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap();
    let mut messages = messages.iter();
    let user = messages.find(|message| message["role"] == "user").unwrap();
    user["content"].as_str().unwrap().to_owned()
}

/// The lines of a question that are messages.
fn messages_in(question: &str) -> Vec<String> {
    let (_, rest) = question.split_once("time | speaker | text\n\n").unwrap();
    let (lines, _) = rest.split_once("\n\n").unwrap();
    lines.lines().map(str::to_owned).collect()
}

#[test]
fn spec_2_6_every_form_is_read_once() {
    for [file, format] in rows(
        "
        chatgpt.json | chatgpt
        claude.json | claude
        claude_code.jsonl | claude-code
        messages.json | messages
        messages.jsonl | messages
        text.txt | text
        diary.txt | text",
    ) {
        let (installation, server) = installation([notes(&["Somebody spoke."], &[])]);
        let file = fixture(file);
        let ran = installation.run(&["absorb", "wren", &file, "--json"]);
        assert_eq!(ran.code, Some(0), "{file}: {ran:?}");
        let told: Value = serde_json::from_str(&ran.stdout).unwrap();
        let received = told["file"]["received"].as_u64().unwrap();
        assert!(received > 0, "{file}: {told}");
        assert_eq!(told["absorbed"]["messages"], received, "{file}");
        assert_eq!(told["absorbed"]["saved"], 1, "{file}");
        let lines = messages_in(&question(&server.requests()[0]));
        assert_eq!(lines.len() as u64, received, "{file}: {lines:?}");
        // The same file again, now with its format named: nothing is new, and no model is asked.
        let again = installation.json(&["absorb", "wren", &file, "--format", format]);
        assert_eq!(again["file"]["received"], 0, "{file}");
        assert_eq!(again["file"]["known"], received, "{file}");
        assert_eq!(again["absorbed"]["messages"], 0, "{file}");
        assert_eq!(server.requests().len(), 1);
        assert_eq!(installation.texts(), ["Somebody spoke."], "{file}");
    }
}

/// A program that goes on in a copy of a conversation keeps its messages and gives the copy another identifier.
#[test]
fn spec_2_6_a_conversation_that_was_forked_is_read_from_the_fork_on() {
    let (installation, _server) = installation([
        notes(&["Ines spoke."], &[]),
        notes(&["Ines spoke again."], &[]),
    ]);
    let line = |session: &str, id: u32| {
        json!({"type": "user", "parentUuid": null, "sessionId": session, "uuid": format!("u-{id}"),
            "timestamp": "2026-03-01T10:00:00.000Z",
            "message": {"role": "user", "content": format!("Message {id} about the parser.")}})
        .to_string()
            + "\n"
    };
    let all =
        |session: &str, count: u32| (1..=count).map(|id| line(session, id)).collect::<String>();
    let first = installation.write("first.jsonl", all("S1", 2));
    let fork = installation.write("fork.jsonl", all("S2", 3));
    let told = installation.json(&["absorb", "wren", &first]);
    assert_eq!(told["file"]["received"], 2, "{told}");
    let told = installation.json(&["absorb", "wren", &fork]);
    told["file"].has(json!({"received": 1, "known": 2}));
}

#[test]
fn spec_2_6_a_person_sees_what_was_taken_left_out_and_saved() {
    let (installation, _server) =
        installation([notes(&["Ines passed her exam."], &["Ines has a garden."])]);
    let ran = installation.run(&["absorb", "wren", &fixture("chatgpt.json")]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "read 6 messages, saved 2 memories\n"),
        "{ran:?}"
    );
    ran.stderr.begins("stored 6 new messages to be read\n");
    ran.reports("\n3 passed over: on a branch that was left\n");
    let ran = installation.run(&["absorb", "wren"]);
    assert_eq!(ran.stdout, "there is nothing new to read\n");
}

#[test]
fn spec_2_6_broken_parts_are_reported_and_the_rest_is_read() {
    let (installation, server) = installation([notes(&[], &[])]);
    let ran = installation.run(&["absorb", "wren", &fixture("chatgpt_hostile.json")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told = "\nconversation 2, line 2, byte 6: `mapping` is missing\n";
    assert_eq!(ran.stderr.matches(told).count(), 1, "{}", ran.stderr);
    assert_eq!(server.requests().len(), 1);
    let cut = "the archive cannot be read: it is cut off, or no archive";
    for (name, text, told) in [
        ("export.zip", "PK\u{3}\u{4}\u{14}", cut),
        ("wrong.json", "{\"a\": 1}", "error: the transcript"),
    ] {
        let file = installation.write(name, text);
        let refused = installation.refused(&["absorb", "wren", &file]);
        refused.tells(told);
    }
    let refused = installation.refused(&["absorb", "wren", "nowhere.json"]);
    refused.tells("nowhere.json");
    let wrong = installation.run(&["absorb", "wren", &fixture("text.txt"), "--format", "word"]);
    assert_eq!(wrong.code, Some(2));
    wrong.reports("claude-code");
    assert_eq!(server.requests().len(), 1, "no model was asked");
}

#[test]
fn spec_2_6_a_file_that_breaks_off_is_taken_up_to_there() {
    let (installation, _server) = installation([]);
    let whole = std::fs::read_to_string(fixture("messages.json")).unwrap();
    let cut = installation.write("cut.json", &whole[..whole.len() - 20]);
    let refused = installation.refused(&["absorb", "wren", &cut]);
    refused.tells("hint: the messages before that place were stored");
}

#[test]
fn spec_2_6_an_answer_that_cannot_be_used_saves_nothing_and_the_command_tries_again() {
    let nonsense = || ServerStep::text("How nice.");
    let (installation, _server) =
        installation([nonsense(), nonsense(), notes(&["Somebody spoke."], &[])]);
    let ran = installation.run(&["absorb", "wren", &fixture("text.txt")]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    ran.reports("not everything was read: there is no JSON object");
    ran.reports("the same command tries again");
    assert!(installation.texts().is_empty());
    let ran = installation.run(&["absorb", "wren", &fixture("text.txt")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(installation.texts(), ["Somebody spoke."]);
}

/// A session file of Claude Code: each row's identifier and text, with the session that it names. `also` are further
/// fields of every row.
fn session_file(session: &str, rows: &[(&str, &str)], also: &Value) -> String {
    let mut parent = Value::Null;
    let mut lines = Vec::new();
    for (place, (id, text)) in rows.iter().enumerate() {
        let kind = if place % 2 == 0 { "user" } else { "assistant" };
        let mut row = json!({"type": kind, "uuid": id, "parentUuid": parent, "sessionId": session,
            "timestamp": format!("2026-03-01T10:00:{place:02}.000Z"), "cwd": "/home/ines/parser",
            "message": {"role": kind, "content": text}});
        let fields = row.as_object_mut().unwrap();
        fields.extend(also.as_object().unwrap().clone());
        parent = json!(id);
        lines.push(row.to_string());
    }
    lines.join("\n") + "\n"
}

#[test]
fn spec_2_6_a_forked_session_brings_its_new_messages_alone() {
    let installation = Installation::with_agent();
    let stored = |file: &str| {
        let path = installation.write("fork.jsonl", file);
        let ran = installation.run(&["absorb", "wren", &path, "--later"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let numbers = ran.stderr.split(|letter: char| !letter.is_ascii_digit());
        let counts: Vec<u64> = numbers.filter_map(|number| number.parse().ok()).collect();
        (counts[0], counts.get(1).copied().unwrap_or_default())
    };
    let rows = [
        ("u1", "I moved to Porto."),
        ("u2", "Nice."),
        ("u3", "I sail on Sundays."),
    ];
    let with = |more: &[(&'static str, &'static str)]| [&rows[..], more].concat();
    let file = |session: &str, rows: &[(&str, &str)]| session_file(session, rows, &json!({}));
    assert_eq!(stored(&file("S1", &rows)), (3, 0));
    let forked = json!({"forkedFrom": {"sessionId": "S1", "messageUuid": "u3"}});
    let elsewhere = json!({"cwd": "/tmp/x", "gitBranch": "fork", "version": "2.9.0"});
    let parents = json!({"parentUuid": null, "logicalParentUuid": "u0"});
    let later = json!({"timestamp": "2026-03-02T08:00:00.000Z"});
    let summary = "{\"type\":\"summary\",\"summary\":\"Porto\",\"leafUuid\":\"u3\"}\n";
    let forks = [("a4", "Not on Fridays."), ("a5", "Nor in May.")];
    let turned = [rows[0], ("a9", "Why?"), ("b9", "For the sea.")];
    let edited = [rows[0], rows[1], ("u3", "I row on Sundays.")];
    let check = |what: &str, file: String, counts: (u64, u64)| {
        assert_eq!(stored(&file), counts, "{what}");
    };
    let more = file("S1", &with(&[("a1", "And on Mondays.")]));
    check("the same session, a row more", more, (1, 3));
    let more = file("S2", &with(&[("a2", "And on Tuesdays.")]));
    check("another session, a row more", more, (1, 3));
    check("another session, no row more", file("S3", &rows), (0, 3));
    let fork = session_file("S4", &with(&forks[..1]), &forked);
    check("a fork that names its origin", fork, (1, 3));
    let fork = session_file("S5", &with(&forks), &forked);
    check("a fork of a fork", fork, (1, 4));
    let moved = session_file("S6", &rows, &elsewhere);
    check("in another folder, by another version", moved, (0, 3));
    let other = session_file("S7", &rows, &parents);
    check("with other parents", other, (0, 3));
    let later = session_file("S8", &rows, &later);
    check("with the time of the fork", later, (0, 3));
    check("from an earlier row on", file("S9", &turned), (2, 1));
    let summed = format!("{summary}{}", file("S10", &rows));
    check("with a summary before it", summed, (0, 3));
    let both = file("S1", &rows) + &file("S11", &rows);
    check("both sessions in one file", both, (0, 3));
    let windows = file("S12", &rows).replace('\n', "\r\n");
    check("Windows line ends", windows, (0, 3));
    // What is said anew under a known identifier, or under one of its own, is a message of its own.
    check("an edited row", file("S13", &edited), (1, 2));
    let same = file("S14", &[("a14", rows[0].1)]);
    check("the same words in a row of their own", same, (1, 0));
}

/// Eight messages, of which a chunk holds one or two.
fn long_conversation() -> String {
    let messages = (0..8).map(|place| {
        let text = format!("mark{place} {}", "word ".repeat(8_000));
        json!({"id": format!("m{place}"), "at": null, "speaker": "Ann", "text": text})
    });
    json!({"messages": messages.collect::<Vec<_>>()}).to_string()
}

fn marks(received: &ReceivedRequest) -> BTreeSet<String> {
    let question = question(&received.body);
    // The notes of the earlier parts precede it.
    let (_, conversation) = question.split_once("## The conversation").unwrap();
    let words = conversation.split(['"', ' ']);
    words
        .filter(|word| word.starts_with("mark"))
        .map(str::to_owned)
        .collect()
}

/// A model that notes each message by its mark; the response to the third question is slow.
fn remembering() -> Vec<ServerStep> {
    let step = || {
        ServerStep::respond(|received| {
            let marks = marks(received);
            let marks: Vec<&str> = marks.iter().map(String::as_str).collect();
            notes(&marks, &[])
        })
    };
    let mut steps: Vec<ServerStep> = (0..12).map(|_| step()).collect();
    steps[2] = step().after(Duration::from_secs(600));
    steps
}

/// Absorbs until the third question is asked, then ends the process with `signal`, and absorbs again.
fn ended_in_the_middle(signal: Signal) -> (Installation, ScriptedServer, Ran) {
    let (installation, server) = installation(remembering());
    let file = installation.write("long.json", long_conversation());
    let child = installation.start(&["absorb", "wren", &file]);
    wait_until(|| server.requests().len() == 3);
    kill_process(Pid::from_child(&child), signal).unwrap();
    let ended = Ran::from_output(child.wait_with_output().unwrap());
    assert_ne!(ended.code, Some(0));
    let before = installation.texts().len();
    assert!(before > 0 && before < 8, "{before}");
    let again = installation.run(&["absorb", "wren", &file]);
    assert_eq!(again.code, Some(0), "{again:?}");
    let known = "stored 0 new messages to be read; 8 messages had been stored before";
    again.stderr.begins(known);
    let mut texts = installation.texts();
    texts.sort();
    let expected: Vec<String> = (0..8).map(|place| format!("mark{place}")).collect();
    assert_eq!(texts, expected, "each was noted once");
    (installation, server, ended)
}

#[test]
fn spec_2_6_a_process_that_is_killed_is_followed_by_one_that_goes_on() {
    let (installation, _server, ended) = ended_in_the_middle(Signal::KILL);
    assert_eq!(ended.code, None);
    installation.ok(&["audit", "verify", "wren"]);
}

#[test]
fn spec_2_6_an_interruption_says_that_it_goes_on() {
    let (_bench, _server, ended) = ended_in_the_middle(Signal::INT);
    ended.reports("interrupted: the read part is saved");
}

#[test]
fn spec_2_6_a_stopped_service_leaves_its_lease_to_the_next_one_immediately() {
    let (installation, server) = installation([
        notes(&["Too late."], &[]).after(Duration::from_secs(600)),
        notes(&["Somebody spoke."], &[]),
    ]);
    let token = installation.ok(&["token", "create", "--role", "agent", "--agent", "wren"]);
    let mut service = Running::start(&installation, &[]);
    let message = json!({"id": "m1", "at": null, "speaker": "Ann", "text": "Hello."});
    let body = json!({"messages": [message], "now": true}).to_string();
    let path = "/v1/agents/wren/transcripts";
    let taken = service.ask("POST", path, token.trim_end(), &body).unwrap();
    assert_eq!(taken.0, 202);
    wait_until(|| server.requests().len() == 1);
    service.stop();
    assert!(service.ended().success());
    let swept = installation.run(&["sweep"]);
    assert_eq!(swept.ok("sweep"), "wren: read 1 message, saved 1 memory\n");
    assert_eq!(installation.texts(), ["Somebody spoke."]);
}

#[test]
fn spec_2_5_reflect_says_what_stays() {
    let (installation, _server) = installation([
        ServerStep::text(r#"{"promote": [1]}"#),
        ServerStep::text(r#"{"promote": []}"#),
        ServerStep::text("All of them."),
        ServerStep::text("All."),
    ]);
    let ran = installation.run(&["reflect", "wren"]);
    let none = "there is no journal entry of the last week but what Memoir wrote itself\n";
    assert_eq!(ran.stdout, none);
    for text in ["Mira's daughter is called Ada.", "It rained."] {
        installation.remember_with(text, &["--kind", "journal"]);
    }
    let told = installation.ok("reflect wren");
    assert_eq!(told, "looked at 2 entries; core memories now: #1\n");
    assert_eq!(installation.core(), ["Mira's daughter is called Ada."]);
    let told = installation.ok("reflect wren");
    assert_eq!(told, "looked at 1 entry; none is to become a core memory\n");
    let ran = installation.run(&["reflect", "wren"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let told = "nothing was promoted: there is no JSON object with `promote` in it";
    ran.stderr.begins(told);
}

#[test]
fn spec_2_7_what_a_setting_was_is_listed_and_comes_back() {
    let installation = Installation::with_agent();
    let token = installation.ok(&["token", "create", "--role", "agent", "--agent", "wren"]);
    let none = installation.run(&["agent", "undo", "wren", "system_prompt"]);
    assert_eq!(none.stderr, "system_prompt was never changed\n");
    for text in ["I am Wren.", "I am Wren, who keeps a garden."] {
        installation.ok(&["agent", "set", "wren", "system_prompt", text]);
    }
    let list = ["agent", "history", "wren", "system_prompt"];
    let history = installation.ok(&list);
    let lines: Vec<&str> = history.lines().collect();
    assert_eq!(lines.len(), 2, "{history}");
    lines[0].tells("  I am Wren, who keeps a garden.");
    let undone = installation.ok(&["agent", "undo", "wren", "system_prompt"]);
    undone.omits("Wren");
    let items = installation.json(&list)["items"].clone();
    assert_eq!(items[0]["value"], "I am Wren.");
    // In an open installation the owner acts, and no administrator (SPEC 3.4).
    assert_eq!(items[0]["actor"]["kind"], "owner");
    for field in ["model", "nothing"] {
        installation.refused(&["agent", "history", "wren", field]);
    }
    // In a closed installation the texts need the agent's token, and restoring them does not show them.
    let password = installation.write("password", "correct horse battery\n");
    installation.ok(&["user", "add", "Ada", "--password-file", &password]);
    let refused = installation.refused(&list);
    refused.omits("Wren");
    let shown = installation.with_token(&token, &list);
    assert_eq!((shown.code, shown.stdout.lines().count()), (Some(0), 3));
    let undone = installation.ok(&["agent", "undo", "wren", "system_prompt"]);
    undone.omits("Wren");
}

#[test]
fn spec_2_6_a_sweep_reads_and_reflects_too() {
    let (installation, server) = installation([
        ServerStep::text("Later."),
        ServerStep::text("Later."),
        notes(&["Somebody spoke."], &[]),
    ]);
    let idle = installation.run(&["sweep"]);
    assert_eq!(idle.code, Some(0));
    assert_eq!(idle.stderr, "no agent is due\n");
    // It waits a quarter of an hour after a useless response.
    installation.run(&["absorb", "wren", &fixture("text.txt")]);
    assert_eq!(installation.run(&["sweep"]).stderr, "no agent is due\n");
    assert_eq!(server.requests().len(), 2);
}

/// Where input from a terminal is expected, a prompt is printed.
#[test]
#[cfg(target_os = "linux")]
fn a_terminal_shows_the_expected_input() {
    let installation = Installation::with_agent();
    let told = installation.path("told");
    // A terminal's other end is one itself, without input.
    let mut options = std::fs::OpenOptions::new();
    let terminal = options.read(true).write(true).open("/dev/ptmx").unwrap();
    let mut command = installation.command(&["absorb", "wren", "-", "--later"]);
    command.stdin(terminal).stdout(std::process::Stdio::null());
    let mut waiting = command
        .stderr(std::fs::File::create(&told).unwrap())
        .spawn()
        .unwrap();
    let has_prompt = || {
        let told = std::fs::read_to_string(&told).unwrap();
        told.contains("the conversation")
    };
    let is_told = std::panic::catch_unwind(|| wait_until(has_prompt));
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    assert!(is_told.is_ok());
}
