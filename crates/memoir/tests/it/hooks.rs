//! `memoir hook`: text for the models of programs, and the messages that programs pass on.
#![cfg(unix)]

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt,
    process::Command,
    time::{Duration, Instant, SystemTime},
};

use memoir_testkit::{Corpus, ScriptedServer, ServerStep, TestedText};
use proptest::{
    prelude::*,
    sample::select,
    test_runner::{Config, TestRunner},
};
use serde_json::{Value, json};

use crate::{
    installation::{Installation, Ran, names_in, rows, wait_until},
    serving::{Running, served_agent},
};

/// The hook of a program's event, without a tight time limit, for a busy machine.
pub(crate) fn event_of<'a>(client: &'a str, event: &'a str) -> [&'a str; 6] {
    ["hook", event, "--client", client, "--within", "20000"]
}

/// The response to an event of that program.
fn send(installation: &Installation, client: &str, event: &str, payload: &Value) -> Ran {
    send_with(installation, client, event, payload, &[])
}

fn send_with(
    installation: &Installation,
    client: &str,
    event: &str,
    payload: &Value,
    more: &[&str],
) -> Ran {
    let arguments = [&event_of(client, event)[..], more].concat();
    let ran = installation.run_with_input(&arguments, &payload.to_string());
    assert_eq!(ran.code, Some(0), "a host is never stopped: {ran:?}");
    ran
}

/// The text that Claude Code puts before its model.
fn injected(ran: &Ran, event: &str) -> String {
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    let specific = &answer["hookSpecificOutput"];
    assert_eq!(specific["hookEventName"], event);
    specific["additionalContext"].as_str().unwrap().to_owned()
}

fn log(installation: &Installation) -> String {
    fs::read_to_string(installation.path(".local/state/memoir/hook.log")).unwrap_or_default()
}

fn start(session: &str, source: &str) -> Value {
    json!({"session_id": session, "transcript_path": null, "cwd": "/", "hook_event_name": "SessionStart", "source": source})
}

fn prompt(session: &str, text: &str) -> Value {
    json!({"session_id": session, "cwd": "/", "hook_event_name": "UserPromptSubmit", "prompt": text})
}

/// A session of Claude Code begins, for that reason.
fn begin(installation: &Installation, session: &str, why: &str) -> Ran {
    begin_with(installation, &start(session, why), &[])
}

fn begin_with(installation: &Installation, payload: &Value, more: &[&str]) -> Ran {
    send_with(installation, "claude-code", "session-start", payload, more)
}

/// A user types a prompt in Claude Code.
fn ask(installation: &Installation, session: &str, text: &str) -> Ran {
    ask_with(installation, &prompt(session, text), &[])
}

fn ask_with(installation: &Installation, payload: &Value, more: &[&str]) -> Ran {
    send_with(installation, "claude-code", "user-prompt", payload, more)
}

#[test]
fn spec_2_8_a_replaced_memory_at_a_prompt_says_until_when_it_held() {
    let installation = Installation::with_agent();
    installation.remember_with("Ines prefers linen thread.", &["--at", "2026-01-01"]);
    let silk = "Ines prefers silk thread.";
    installation.remember_with(silk, &["--at", "2026-03-01", "--replaces", "1"]);
    let ran = ask(&installation, "s-1", "Which thread does Ines prefer?");
    let shown = injected(&ran, "UserPromptSubmit");
    shown.tells(
        "\n#1 2026-01-01, archival, until 2026-03-01, now #2 \"Ines prefers linen thread.\"\n",
    );
}

#[test]
fn spec_2_3_a_session_begins_with_the_context_once() {
    let installation = Installation::with_agent();
    let ran = begin(&installation, "s-0", "startup");
    assert_eq!(ran.stdout, "", "there is nothing yet");
    installation.remember(&["Ines prefers small functions."]);
    let ran = begin(&installation, "s-1", "startup");
    let context = installation.ok(&["context", "wren"]);
    assert_eq!(injected(&ran, "SessionStart"), context);
    // Two registrations send one event.
    let again = begin(&installation, "s-1", "startup");
    assert_eq!(again.stdout, "");
    let other = begin(&installation, "s-2", "startup");
    assert_eq!(injected(&other, "SessionStart"), context);
}

#[test]
fn spec_2_3_what_is_over_what_a_program_takes_is_left_out_whole() {
    let installation = Installation::with_agent();
    let long = "long enough to count ".repeat(12);
    installation.import((0..60).map(|at| format!("Note {at}: {long}")));
    let ran = begin(&installation, "s-1", "startup");
    let text = injected(&ran, "SessionStart");
    assert!(text.chars().count() <= 10_000, "{}", text.chars().count());
    text.tells("(Left out for want of room: ");
    let shown = text.matches("\"Note ").count();
    assert!(shown > 20, "{shown}");
    let counts = format!("shown {shown}, left out {}, ", 60 - shown);
    text.tells(&format!("\n({counts}recall finds them)\n"));
    log(&installation).tells(&counts);
    // An omitted memory is found by a matching prompt.
    let ran = ask(&installation, "s-1", "What is in note 15?");
    assert!(injected(&ran, "UserPromptSubmit").contains("\"Note 15: "));
    // The oldest are not omitted.
    text.tells("#1 \"Note 0: ");
}

#[test]
fn spec_2_8_a_prompt_is_given_memories_that_its_session_was_not_shown() {
    let installation = Installation::with_agent();
    installation.remember(&["Ines keeps bees behind the greenhouse."]);
    let begun = begin(&installation, "s-1", "startup");
    assert!(injected(&begun, "SessionStart").contains("bees"));
    let asked = |session: &str, text: &str| ask(&installation, session, text).stdout;
    // It has them before it.
    assert_eq!(asked("s-1", "Where are the bees?"), "");
    installation.remember_with("The bees swarmed in May.\nTwice.", &["--at", "2026-05-03"]);
    let ran = ask(&installation, "s-1", "Tell me of the bees!");
    let text = injected(&ran, "UserPromptSubmit");
    let line = "\n#2 2026-05-03 \"The bees swarmed in May.\\nTwice.\"\n";
    assert!(text.ends_with(line), "{text}");
    assert_eq!(asked("s-1", "And the bees once more?"), "");
    // Another session has nothing before it.
    assert_ne!(asked("s-2", "Where are the bees?"), "");
    assert_eq!(asked("s-1", "Is it on?"), "", "nothing bears on that");
    // As recall finds: by stems, and for a prompt of any length.
    assert_ne!(asked("s-3", "Did a bee swarm?"), "");
    let long = "lorem ipsum ".repeat(5_000) + " Where are the \"bees\" now?";
    assert_ne!(asked("s-4", &long), "");
    // After its conversation was summed up, the session begins with the context again.
    let ran = begin(&installation, "s-1", "compact");
    assert!(injected(&ran, "SessionStart").contains("swarmed"));
}

#[test]
fn spec_2_8_an_empty_field_of_an_event_hides_no_filled_one_and_a_wrong_type_is_none() {
    let installation = Installation::with_agent();
    installation.remember(&["Ines keeps bees behind the greenhouse."]);
    let bees = "Where are the bees?";
    let empty = json!({"session_id": "", "conversation_id": "s-1",
        "prompt": "", "user_prompt": bees});
    let wrong = json!({"session_id": 7, "conversation_id": "s-2",
        "prompt": [bees], "userPrompt": bees, "cwd": {}});
    for (session, payload) in [("s-1", empty), ("s-2", wrong)] {
        let ran = ask_with(&installation, &payload, &[]);
        injected(&ran, "UserPromptSubmit").tells("greenhouse");
        // The session is known by its name.
        let again = ask(&installation, session, "And the bees once more?");
        assert_eq!(again.stdout, "", "{session}");
    }
}

#[test]
fn spec_2_4_a_copy_of_a_shown_text_is_not_shown_at_a_prompt() {
    let installation = Installation::with_agent();
    let text = "Ines keeps bees behind the greenhouse.";
    installation.remember(&[text]);
    begin(&installation, "s-1", "startup");
    installation.remember(&[text, "The bees swarmed in May."]);
    let ran = ask(&installation, "s-1", "Where are the bees?");
    let shown = injected(&ran, "UserPromptSubmit");
    shown.tells("#3 ");
    shown.omits("greenhouse");
}

/// Two registrations of the hooks: a plugin's, which names no agent, and that of `memoir setup`.
#[test]
fn spec_2_3_a_plugin_and_a_setup_show_everything_once() {
    let installation = Installation::with_agent();
    installation.ok(&["agent", "create", "robin"]);
    installation.remember(&["Ines keeps bees behind the greenhouse."]);
    installation.ok(&["setup", "claude-code", "--agent", "wren", "--yes"]);
    let database = installation.path(".local/share/memoir/memoir.db");
    let by_setup = ["--agent", "wren", "--database", database.to_str().unwrap()];
    let both = |event: &str, payload: &Value| {
        let [plugin, setup] = [&[][..], &by_setup]
            .map(|more| send_with(&installation, "claude-code", event, payload, more).stdout);
        let is_one = plugin.is_empty() != setup.is_empty();
        assert!(is_one, "{plugin}\n{setup}\n{}", log(&installation));
        plugin + &setup
    };
    let begun = both("session-start", &start("s-1", "startup"));
    begun.tells("greenhouse");
    installation.remember(&["The bees swarmed in May.", "The bees like lavender."]);
    let asked = both("user-prompt", &prompt("s-1", "Where are the bees?"));
    asked.tells("swarmed");
    asked.tells("lavender");
    // Other events of the same session are new ones.
    for source in ["compact", "resume"] {
        let begun = both("session-start", &start("s-1", source));
        assert!(begun.contains("lavender"), "{source}: {begun}");
    }
    // Simultaneously, as Codex runs hooks.
    let payload = start("s-2", "startup");
    let shown = std::thread::scope(|scope| {
        let run = |more: &'static [&'static str]| {
            let (installation, payload) = (&installation, &payload);
            scope.spawn(move || {
                send_with(installation, "claude-code", "session-start", payload, more).stdout
            })
        };
        let ran = [
            run(&[]),
            run(&["--agent", "wren"]),
            run(&["--agent", "WREN"]),
        ];
        ran.map(|ran| ran.join().unwrap()).concat()
    });
    assert_eq!(shown.matches("greenhouse").count(), 1, "{shown}");
}

#[test]
fn spec_2_3_a_start_that_failed_or_came_too_late_is_shown_at_the_next_prompt() {
    let installation = Installation::with_agent();
    installation.remember(&["Ines keeps bees.", "The kiln is hot."]);
    // A service that accepts the request and does not answer in time.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let late = "hook session-start --client claude-code --agent wren --within 500 --url";
    let mut command = installation.command(&format!("{late} {url}"));
    let told = start("s-1", "startup").to_string();
    let ran = Ran::with_input(command.env("MEMOIR_TOKEN", "memoir_any"), &told);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    assert!(log(&installation).contains("no response within 500 ms"));
    // And a start that fails.
    let robin = ["--agent", "robin"];
    let begun = start("s-2", "startup");
    begin_with(&installation, &begun, &robin);
    installation.ok(&["agent", "create", "robin"]);
    installation.ok(&["remember", "robin", "Ines keeps bees."]);
    for (session, whose) in [("s-1", "wren"), ("s-2", "robin")] {
        let asked = |text: &str| {
            let (payload, whose) = (prompt(session, text), ["--agent", whose]);
            ask_with(&installation, &payload, &whose)
        };
        // Nothing bears on this prompt.
        let text = injected(&asked("Good morning!"), "UserPromptSubmit");
        assert!(text.starts_with("# Your memory\n"), "{text}");
        text.tells("bees");
        assert_eq!(asked("Where are the bees?").stdout, "", "it was shown");
    }
    assert!(log(&installation).contains("the missed start: shown 2"));
    // A compaction whose start failed takes the context with it.
    let compacted = start("s-1", "compact");
    begin_with(&installation, &compacted, &["--agent", "nobody"]);
    let again = prompt("s-1", "And now?");
    let wren = ["--agent", "wren"];
    let ran = ask_with(&installation, &again, &wren);
    assert!(injected(&ran, "UserPromptSubmit").contains("kiln"));
    // A session without a start has no missed one.
    let other = prompt("s-3", "Good morning!");
    let ran = ask_with(&installation, &other, &wren);
    assert_eq!(ran.stdout, "");
}

#[test]
fn spec_2_3_after_a_clock_was_set_back_a_start_is_shown_and_a_missed_one_once() {
    let installation = Installation::with_agent();
    installation.remember(&["Ines keeps bees."]);
    begin(&installation, "s-1", "startup");
    let failing = ["--agent", "robin"];
    begin_with(&installation, &start("s-2", "startup"), &failing);
    let folder = installation.path(".local/state/memoir/sessions");
    for file in fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        let kept = fs::read_to_string(&path).unwrap();
        let mut kept: Value = serde_json::from_str(&kept).unwrap();
        let later = json!("2100-01-01T00:00:00Z");
        kept["begun"]["at"] = later.clone();
        for shown in kept["agents"].as_object_mut().unwrap().values_mut() {
            shown["context"]["at"] = later.clone();
        }
        fs::write(&path, kept.to_string()).unwrap();
    }
    let ran = ask(&installation, "s-2", "Good morning!");
    injected(&ran, "UserPromptSubmit").tells("bees");
    assert_eq!(ask(&installation, "s-2", "And now?").stdout, "");
    let ran = begin(&installation, "s-1", "compact");
    injected(&ran, "SessionStart").tells("bees");
}

#[test]
fn spec_2_3_a_start_is_as_long_as_its_program_counts() {
    let installation = Installation::with_agent();
    let bees = "🐝".repeat(100);
    installation.import((0..60).map(|at| format!("蜜蜂{at} {bees}")));
    let text = injected(&begin(&installation, "s-1", "startup"), "SessionStart");
    let units = text.encode_utf16().count();
    assert!((5_000..=10_000).contains(&units), "{units}");
    let begun = start("s-2", "startup");
    let ran = send(&installation, "codex", "session-start", &begun);
    let text = injected(&ran, "SessionStart");
    assert!((5_000..=10_000).contains(&text.len()), "{}", text.len());
    // Of the tries the last one alone is noted, and only where it is another one.
    let version = || installation.count("SELECT max(version) FROM agents");
    let noted = version();
    let begun = start("s-3", "startup");
    let ran = send(&installation, "codex", "session-start", &begun);
    assert_eq!(injected(&ran, "SessionStart"), text);
    assert_eq!(version(), noted);
    let ran = ask(&installation, "s-1", "蜜蜂");
    let text = injected(&ran, "UserPromptSubmit");
    let units = text.encode_utf16().count();
    assert!((1_000..=1_600).contains(&units), "{units}");
}

#[test]
fn spec_2_3_protected_memories_do_not_overflow_a_program_either() {
    let installation = Installation::with_agent();
    let long = "I keep my word ".repeat(20);
    installation.import((1..=60).map(|number| format!("Vow {number}: {long}")));
    let numbers: String = (1..=60).map(|number| format!(" {number}")).collect();
    installation.ok(&format!("protect wren{numbers}"));
    let text = injected(&begin(&installation, "s-1", "startup"), "SessionStart");
    assert!(text.chars().count() <= 10_000, "{}", text.chars().count());
    let shown = (1..=60).take_while(|number| text.contains(&format!("Vow {number}: ")));
    let shown = shown.count();
    assert!((25..35).contains(&shown), "{shown}");
    // The newest are left out.
    assert_eq!(text.matches("Vow ").count(), shown);
    let left_out = 60 - shown;
    text.tells(&format!("{left_out} constitutional memories"));
    text.tells(&format!(
        "\n(shown {shown}, left out {left_out}, recall finds them)\n"
    ));
}

#[test]
fn spec_2_8_stop_words_alone_show_no_memory_at_a_prompt() {
    let installation = Installation::with_agent();
    installation.remember(&[
        "The dog is called Rex.",
        "The kiln is hot.",
        "It is on the table, what else.",
        "What the loom is for.",
    ]);
    let text = ask(&installation, "s-1", "what is the dog called?");
    let text = injected(&text, "UserPromptSubmit");
    assert_eq!(text.matches("\n#").count(), 1, "{text}");
    text.tells("Rex");
    for nothing in ["Is it on?", "What is it?", "the"] {
        assert_eq!(ask(&installation, "s-2", nothing).stdout, "", "{nothing}");
    }
}

#[test]
fn spec_3_1_a_session_shows_pending_work() {
    let installation = Installation::with_agent();
    let long = "long enough to count ".repeat(30);
    installation.import((0..40).map(|at| format!("Note {at}: {long}")));
    installation.ok(&["access", "ask", "wren", "--purpose=a look", "--minutes=5"]);
    let file = installation.write("said.txt", "Ines: I have moved to Bremen.\n");
    let taken = installation.json(&["absorb", "wren", &file, "--later"]);
    assert_eq!(taken["file"]["received"], 1);
    let ran = begin(&installation, "s-1", "startup");
    let text = injected(&ran, "SessionStart");
    let (_, waiting) = text.split_once("## Waiting for you in Memoir\n").unwrap();
    for part in [
        "\n- 1 request for access to your memory: ",
        "\n- A refinement session is due: ",
        "\n- 1 message waits of earlier sessions",
    ] {
        assert!(waiting.contains(part), "{part}: {text}");
    }
}

/// A session file of Claude Code, with so many messages.
fn transcript(messages: usize) -> String {
    (0..messages)
        .map(|at| {
            let line = json!({
                "parentUuid": null, "isSidechain": false, "sessionId": "s-1", "type": "user",
                "message": {"role": "user", "content": format!("This is number {at}.")},
                "uuid": format!("u-{at}"), "timestamp": "2026-03-01T10:00:01.000Z",
            });
            format!("{line}\n")
        })
        .collect()
}

/// The transcripts that are marked as waiting.
fn marks(installation: &Installation) -> usize {
    let marks = fs::read_dir(installation.path(".local/state/memoir/waiting"));
    marks.map_or(0, Iterator::count)
}

fn pending(installation: &Installation) -> i64 {
    installation.count("SELECT count(*) FROM transcript_messages")
}

/// The parts of stored indexes of words.
fn index_parts(installation: &Installation) -> i64 {
    installation.count("SELECT count(*) FROM word_indexes")
}

#[test]
fn spec_5_3_a_prompt_among_many_memories_stores_their_index_and_a_rotation_deletes_it() {
    let installation = Installation::with_agent();
    installation.import((0..600).map(|at| format!("Customer {at} asked for laid paper.")));
    assert!(index_parts(&installation) > 0, "the import stores it");
    let path = installation.path(".local/share/memoir/memoir.db");
    let database = rusqlite::Connection::open(path).unwrap();
    database.execute("DELETE FROM word_indexes", []).unwrap();
    let stored = || log(&installation).matches("stored the index").count();
    let ran = ask(&installation, "s-1", "Which paper does customer 77 want?");
    let text = injected(&ran, "UserPromptSubmit");
    text.tells("Customer 77 asked");
    wait_until(|| stored() == 1);
    assert!(index_parts(&installation) > 0);
    installation.ok(&["remember", "wren", "Customer 77 wants blue paper now."]);
    let ran = ask(&installation, "s-2", "Which paper does customer 77 want?");
    let text = injected(&ran, "UserPromptSubmit");
    text.tells("Customer 77 asked");
    text.tells("blue paper");
    installation.ok(&["key", "rotate"]);
    assert_eq!(index_parts(&installation), 0);
    let ran = ask(&installation, "s-3", "Which paper does customer 77 want?");
    assert_eq!(injected(&ran, "UserPromptSubmit"), text);
    // One process a minute at most: many prompts of a busy minute start no more.
    assert_eq!(stored(), 1);
}

#[test]
fn spec_2_6_new_messages_are_passed_on_once_for_repeated_events() {
    let installation = Installation::with_agent();
    let whole = transcript(9);
    let cut = whole.len() - 30;
    let file = installation.write("s-1.jsonl", &whole[..cut]);
    let stop = json!({"session_id": "s-1", "transcript_path": file, "cwd": "/", "hook_event_name": "Stop"});
    // Simultaneously, from two registrations.
    std::thread::scope(|scope| {
        for event in ["stop", "stop", "pre-compact"] {
            let (installation, stop) = (&installation, &stop);
            scope.spawn(move || {
                assert_eq!(send(installation, "claude-code", event, stop).stdout, "")
            });
        }
    });
    wait_until(|| log(&installation).matches("handed over").count() == 3);
    // The last line was not whole.
    assert_eq!(pending(&installation), 8, "{}", log(&installation));
    fs::write(&file, &whole).unwrap();
    send(&installation, "claude-code", "session-end", &stop);
    wait_until(|| log(&installation).contains("handed over 1 message; 0 known before"));
    assert_eq!(pending(&installation), 9);
    let taken = installation.json(&["absorb", "wren", &file, "--later"]);
    // By hand they are the same messages.
    assert_eq!(taken["file"]["known"], 9);
}

#[test]
fn spec_2_6_a_transcript_that_was_written_anew_is_read_from_its_beginning() {
    let installation = Installation::with_agent();
    let file = installation.write("s-1.jsonl", transcript(3));
    let told = json!({"session_id": "s-1", "transcript_path": file});
    let hand_over = || {
        let more = ["--hand-over"];
        send_with(&installation, "claude-code", "stop", &told, &more)
    };
    hand_over();
    assert_eq!(pending(&installation), 3);
    // Longer than before, with the earlier messages in the middle.
    let whole = transcript(12);
    let lines: Vec<&str> = whole.lines().collect();
    let anew = [&lines[3..6], &lines[..3], &lines[6..]].concat();
    fs::write(&file, format!("{}\n", anew.join("\n"))).unwrap();
    hand_over();
    assert_eq!(pending(&installation), 12, "{}", log(&installation));
    assert!(log(&installation).contains("handed over 9 messages; 3 known before"));
    // And from its end on.
    let last = lines[11].replace("u-11", "u-12");
    fs::write(&file, format!("{}\n{last}\n", anew.join("\n"))).unwrap();
    hand_over();
    assert!(log(&installation).contains("handed over 1 message; 0 known before"));
}

#[test]
fn spec_2_6_the_configuration_can_keep_hooks_from_storing_conversations() {
    let installation = Installation::with_agent();
    let file = installation.write("s-1.jsonl", transcript(3));
    let told = json!({"session_id": "s-1", "transcript_path": file});
    let hand_over = |more: &[&str]| send_with(&installation, "claude-code", "stop", &told, more);
    let config = installation.write("own.toml", "[hooks]\nconversations = false\n");
    hand_over(&["--hand-over", "--config", &config]);
    assert_eq!((marks(&installation), pending(&installation)), (0, 0));
    // One that cannot be read loses nothing, and stores nothing.
    installation.write("own.toml", "[hooks]\nconversations = 3\n");
    hand_over(&["--hand-over", "--config", &config]);
    assert_eq!((marks(&installation), pending(&installation)), (1, 0));
    hand_over(&["--hand-over"]);
    assert_eq!(pending(&installation), 3, "{}", log(&installation));
}

#[test]
fn spec_2_6_a_turn_without_stored_conversations_leaves_no_mark_for_a_later_session() {
    let installation = Installation::with_agent();
    let mut told = prompt("s-1", "When is tea?");
    told["transcript_path"] = json!(installation.write("s-1.jsonl", transcript(3)));
    let config = installation.write("own.toml", "[hooks]\nconversations = false\n");
    ask_with(&installation, &told, &["--config", &config]);
    assert_eq!(marks(&installation), 0);
    ask_with(&installation, &told, &[]);
    assert_eq!(marks(&installation), 1, "{}", log(&installation));
}

#[test]
fn spec_2_6_a_message_that_is_too_long_to_be_stored_keeps_no_other_back() {
    let installation = Installation::with_agent();
    // One character over the limit of a message.
    let long = "x".repeat(4_000_001);
    let text = transcript(2).replace("This is number 0.", &long);
    let told =
        json!({"session_id": "s-1", "transcript_path": installation.write("s-1.jsonl", text)});
    let more = ["--hand-over"];
    send_with(&installation, "claude-code", "stop", &told, &more);
    assert_eq!(pending(&installation), 1, "{}", log(&installation));
    log(&installation).tells("not read: byte 0: too large");
}

#[test]
fn spec_2_6_a_hook_reports_each_message_that_it_cannot_read_with_its_place() {
    let installation = Installation::with_agent();
    let told = json!({"session_id": "s-1", "transcript_path": installation.path("s-1.jsonl")});
    let whole = transcript(3);
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let broken = lines[1].replace('}', "");
    let place = lines[0].len();
    for text in [lines[0].to_owned(), [lines[0], &broken, lines[2]].concat()] {
        installation.write("s-1.jsonl", text);
        let more = ["--hand-over"];
        send_with(&installation, "claude-code", "stop", &told, &more);
    }
    let known = "handed over 1 message; 0 known before";
    let log = log(&installation);
    log.tells(&format!("{known}\n"));
    log.tells(&format!("{known}; not read: byte {place}: malformed\n"));
}

/// A tool's result over standard input and output.
fn call_tool(installation: &Installation, name: &str, arguments: &Value) -> Value {
    let mut server = installation.command("mcp --agent wren");
    tool_of(&mut server, name, arguments)
}

/// The result of that server's tool.
fn tool_of(server: &mut Command, name: &str, arguments: &Value) -> Value {
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    let asked = format!("{hello}\n{ready}\n{call}\n");
    Ran::with_input(server, &asked).lines()[1]["result"].clone()
}

/// A subscription: the model is the host's own, and none is configured here.
#[test]
fn spec_2_6_what_was_handed_over_is_read_by_the_agent_itself_where_no_model_is() {
    let installation = Installation::new();
    installation.ok(&["agent", "create", "wren"]);
    let file = installation.write("s-1.jsonl", transcript(3));
    let stop = json!({"session_id": "s-1", "transcript_path": file, "cwd": "/", "hook_event_name": "Stop"});
    send(&installation, "claude-code", "stop", &stop);
    wait_until(|| log(&installation).contains("handed over 3 messages"));
    let begun = begin(&installation, "s-2", "startup");
    let text = injected(&begun, "SessionStart");
    text.tells("- 3 messages wait of earlier sessions");
    let shown = call_tool(&installation, "read_messages", &json!({}));
    let told = shown["content"][0]["text"].as_str().unwrap();
    told.tells("| \"user\" | \"This is number 2.\"\n");
    let beside = shown["content"][1]["text"].as_str().unwrap();
    assert_eq!(beside, r#"{"part":"1-3/3","waiting":3}"#);
    let notes = json!({"part": "1-3/3", "core": ["The user counts from 0."]});
    let read = call_tool(&installation, "read_messages", &notes);
    let expected = json!({"type": "messages", "read": 3, "saved": 1, "waiting": 0});
    assert_eq!(read["structuredContent"], expected);
    assert_eq!(installation.core(), ["The user counts from 0."]);
    // Read messages are not passed on again, and none is pending for the next session.
    send(&installation, "claude-code", "session-end", &stop);
    wait_until(|| log(&installation).contains("handed over 0 messages"));
    let begun = begin(&installation, "s-3", "startup");
    let text = injected(&begun, "SessionStart");
    text.tells("counts from 0");
    text.omits("Waiting");
}

#[test]
fn spec_6_2_a_host_is_never_stopped_and_the_log_says_why() {
    let installation = Installation::new();
    let begun = start("s-1", "startup");
    let ran = send(&installation, "claude-code", "session-start", &begun);
    let notice = injected(&ran, "SessionStart");
    let way_out = ["there is no database", "`memoir setup PROGRAM`", "`--url`"];
    assert!(way_out.iter().all(|part| notice.contains(part)), "{notice}");
    assert_eq!(ran.stderr, "");
    log(&installation).tells("there is no database");
    installation.ok(&["agent", "create", "wren"]);
    installation.remember(&["Ines keeps bees."]);
    // Errors in the command line or in the event.
    for [line, told] in rows(
        "
        hook session-start --client claude-code --agent nobody --within 20000 | {}
        hook no-such-event --client claude-code | {}
        hook session-start --client no-such-client | {}
        --account default --quiet hook no-such-event --client claude-code | {}
        hook user-prompt --client claude-code | no JSON
        hook stop --client claude-code | [1, 2]",
    ) {
        let ran = installation.run_with_input(line, told);
        assert_eq!(ran.code, Some(0), "{line}: {ran:?}");
        // Only an agent that is not found under its name is the model's to know.
        let is_told = ran.stdout.contains("no memory: there is no agent");
        assert_eq!(is_told, line.contains("nobody"), "{line}: {ran:?}");
        assert!(is_told || ran.stdout.is_empty(), "{line}: {ran:?}");
    }
    let stop = json!({"session_id": "s", "transcript_path": "/no/such"});
    assert_eq!(send(&installation, "claude-code", "stop", &stop).stdout, "");
    wait_until(|| log(&installation).contains("cannot read `/no/such`"));
    // Another process holds the lock that it needs.
    send(&installation, "claude-code", "session-start", &begun);
    let folder = installation.path(".local/state/memoir/sessions");
    for file in fs::read_dir(&folder).unwrap() {
        let file = fs::File::open(file.unwrap().path()).unwrap();
        file.lock().unwrap();
        std::mem::forget(file);
    }
    let slow = ["hook", "user-prompt", "--client", "claude-code"];
    let ran = installation.run_with_input(&slow, &prompt("s-1", "Where are the bees?").to_string());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    log(&installation).tells("no response within 300 ms");
    // A host that sends an incomplete event, and reads no response.
    let mut half = installation
        .command(&["hook", "stop", "--client", "claude-code"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let said = half.stdin.take();
    assert!(half.wait().unwrap().success());
    drop(said);
    log(&installation).tells("no response within 50 ms");
}

#[test]
fn spec_6_2_input_that_is_no_json_is_logged_without_its_text() {
    let installation = Installation::with_agent();
    for event in ["session-start", "user-prompt", "stop"] {
        let arguments = event_of("claude-code", event);
        let count = || log(&installation).matches("the input is not JSON").count();
        let before = count();
        // Where a person types the command, there is no input.
        for (input, logged) in [("", 0), (" \n", 0), ("{}", 0), ("Zwitscher", 1)] {
            let ran = installation.run_with_input(&arguments, input);
            assert_eq!(ran.code, Some(0), "{event}: {ran:?}");
            assert_eq!(count(), before + logged, "{event}: {input}");
        }
        log(&installation).tells(&format!("claude-code {event}: the input is not JSON"));
    }
    log(&installation).omits("Zwitscher");
}

#[test]
fn spec_6_2_a_full_log_is_renamed_by_one_process_alone() {
    let installation = Installation::new();
    let path = installation.path(".local/state/memoir/hook.log");
    let old = installation.path(".local/state/memoir/hook.log.1");
    // There is no database, which is logged.
    begin(&installation, "s-1", "startup");
    fs::write(&path, "full\n".repeat(1 << 18)).unwrap();
    // Another process found it full too, and is about to rename it.
    let other = fs::File::open(&path).unwrap();
    other.lock().unwrap();
    begin(&installation, "s-2", "startup");
    log(&installation).tells("there is no database");
    assert!(!old.exists());
    drop(other);
    wait_until(|| {
        begin(&installation, "s-3", "startup");
        old.exists()
    });
    assert!(fs::read_to_string(&old).unwrap().starts_with("full\n"));
    assert!(log(&installation).starts_with("20"), "a line of its own");
}

#[test]
fn spec_5_1_the_log_and_the_state_of_hooks_hold_no_words() {
    const WORD: &str = "Zwitscher";
    let installation = Installation::with_agent();
    installation.remember(&[&format!("{WORD} is a bird.")]);
    begin(&installation, "s-1", "startup");
    ask(&installation, "s-2", &format!("Who is {WORD}?"));
    let file = installation.write("s-1.jsonl", transcript(2).replace("number", WORD));
    let stop = json!({"session_id": "s-1", "transcript_path": file});
    send(&installation, "claude-code", "stop", &stop);
    wait_until(|| log(&installation).contains("handed over 2 messages"));
    for (path, bytes) in crate::installation::files_in(&installation.path(".local/state/memoir")) {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(WORD), "{}", path.display());
        let found = fs::metadata(installation.path(".local/state/memoir").join(&path)).unwrap();
        assert_eq!(found.permissions().mode() & 0o77, 0, "{}", path.display());
    }
}

/// `docs/files.md`, and what `setup`, hooks and commands leave in a home.
#[test]
fn the_page_of_files_has_each_file_that_memoir_leaves_and_says_who_can_read_it() {
    let page = include_str!("../../../../docs/files.md");
    let rows = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `~/")?.split('`').next());
    let rows: BTreeSet<&str> = rows.collect();
    let installation = Installation::with_agent();
    installation.write(".config/memoir/config.toml", "");
    installation.remember(&["Ines keeps bees."]);
    installation.ok(&["setup", "claude-code", "--yes"]);
    begin(&installation, "s-1", "startup");
    ask(&installation, "s-1", "Where are the bees?");
    begin_in(&installation, &installation.path("tmp"), "s-2");
    let file = installation.write("s-3.jsonl", transcript(3));
    let stop = json!({"session_id": "s-3", "transcript_path": file});
    let robin = ["--agent", "robin"];
    send_with(&installation, "claude-code", "stop", &stop, &robin);
    wait_until(|| log(&installation).contains("there is no agent `robin`"));
    let waiting = installation.path(".local/state/memoir/waiting");
    wait_until(|| waiting.exists() && !names_in(&waiting).is_empty());
    installation.ok(&["installation", "close"]);
    let mut named: BTreeSet<&str> = BTreeSet::new();
    let folders = [".config", ".local/share", ".local/state"];
    let mut folders = Vec::from(folders.map(|base| format!("{base}/memoir")));
    while let Some(folder) = folders.pop() {
        for name in names_in(&installation.path(&folder)) {
            let path = format!("{folder}/{name}");
            // Another process may have just removed it.
            let Ok(found) = fs::metadata(installation.path(&path)) else {
                continue;
            };
            if found.is_dir() {
                folders.push(path);
                continue;
            }
            let row = rows
                .iter()
                .find(|row| path == **row || row.ends_with('/') && path.starts_with(**row));
            let is_beside = page.contains(&format!("`{name}`"));
            assert!(row.is_some() || is_beside, "the page has no `{path}`");
            named.extend(row);
            let is_private = found.permissions().mode() & 0o77 == 0;
            assert!(is_private || name == "config.toml", "{path}");
        }
    }
    // `setup.rs` and `embeddings.rs` make the first two; a small memory needs no stored index, and only Goose its file.
    let others = [
        "share/memoir/bin/",
        "share/memoir/models/",
        "state/memoir/indexes/",
        "state/memoir/goose.json",
    ];
    let others = others.map(|folder| format!(".local/{folder}"));
    for row in rows.difference(&named) {
        assert!(others.contains(&(*row).to_owned()), "nothing makes `{row}`");
    }
}

#[test]
fn spec_6_2_a_session_is_shown_its_memories_where_no_state_can_be_kept() {
    let installation = Installation::with_agent();
    installation.remember(&["Ines keeps bees."]);
    // A file in place of the folder: nothing can be written below it, by any user.
    fs::remove_dir_all(installation.path(".local/state")).unwrap_or_default();
    installation.write(".local/state", "");
    let begun = begin(&installation, "s-1", "startup");
    injected(&begun, "SessionStart").tells("bees");
    begun.reports("may be shown again");
}

/// A file of the system in the place of a session's state, which can be opened and read, and refuses what is written.
#[cfg(target_os = "linux")]
#[test]
fn spec_6_2_a_session_is_shown_its_memories_where_its_state_cannot_be_written() {
    let installation = Installation::with_agent();
    installation.remember(&["Ines keeps bees."]);
    begin(&installation, "s-1", "startup");
    let folder = installation.path(".local/state/memoir/sessions");
    for name in names_in(&folder) {
        fs::remove_file(folder.join(&name)).unwrap();
        std::os::unix::fs::symlink("/proc/self/oom_score_adj", folder.join(&name)).unwrap();
    }
    let begun = begin(&installation, "s-1", "resume");
    injected(&begun, "SessionStart").tells("bees");
    log(&installation).tells("cannot write the session's state");
}

#[test]
fn spec_6_2_an_old_sessions_state_is_deleted_where_a_program_hands_nothing_over() {
    let installation = Installation::with_agent();
    let begin = |session: &str| {
        let told = start(session, "startup");
        send(&installation, "cursor", "session-start", &told);
    };
    begin("s-1");
    let folder = installation.path(".local/state/memoir/sessions");
    for name in names_in(&folder) {
        let file = fs::File::options().write(true).open(folder.join(name));
        file.unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }
    begin("s-2");
    let left = names_in(&folder);
    assert!(left.len() == 1 && left[0].starts_with("s-2-"), "{left:?}");
}

#[test]
fn spec_5_5_a_closed_installation_answers_the_agents_token_alone() {
    let installation = Installation::with_agent();
    let token = installation.ok(&["token", "create", "--role", "agent", "--agent", "wren"]);
    installation.remember(&["Ines keeps bees."]);
    installation.write(".config/memoir/config.toml", "closed = true\n");
    let begun = start("s-1", "startup");
    // The session gets a notice with both remedies, and nothing else.
    let ran = send(&installation, "claude-code", "session-start", &begun);
    let told = injected(&ran, "SessionStart");
    told.tells("this installation is closed");
    told.tells("MEMOIR_TOKEN");
    told.tells("`memoir installation open`");
    told.omits("bees");
    let other = ["--agent", "wren"];
    let again = begin_with(&installation, &begun, &other);
    assert_eq!(again.stdout, "", "another registration of the hooks");
    let asked = ask(&installation, "s-1", "bees");
    assert_eq!(asked.stdout, "");
    log(&installation).tells("this installation is closed");
    let mut command = installation.command(&event_of("claude-code", "session-start"));
    let ran = Ran::with_input(
        command.env("MEMOIR_TOKEN", token.trim()),
        &begun.to_string(),
    );
    injected(&ran, "SessionStart").tells("bees");
}

/// SPEC 5.5: a token in the environment that is not the agent's takes no memory from a program with a token of its own.
#[test]
fn spec_5_5_a_program_has_its_own_token_where_the_environment_has_another() {
    let installation = Installation::with_agent();
    installation.remember(&["Ines keeps bees."]);
    installation.ok(&["agent", "create", "robin"]);
    let robin = installation.ok(&["token", "create", "--role", "agent", "--agent", "robin"]);
    installation.ok(&["setup", "claude-code", "--agent", "wren", "--yes"]);
    installation.ok(&["installation", "close"]);
    for (session, token) in [("s-1", "memoir_wrong"), ("s-2", robin.trim())] {
        let mut command = installation.command(&event_of("claude-code", "session-start"));
        let begun = start(session, "startup").to_string();
        let ran = Ran::with_input(command.env("MEMOIR_TOKEN", token), &begun);
        injected(&ran, "SessionStart").tells("bees");
    }
}

#[test]
fn spec_2_3_a_service_is_asked_as_a_database_is() {
    let (installation, token, service) = served_agent();
    // Another home, which has no database.
    let away = Installation::new();
    let url = format!("http://{}", service.address);
    let ask = |event: &str, payload: &Value| {
        let arguments = event_of("claude-code", event);
        let mut command = away.command(&[&arguments[..], &["--agent", "wren"]].concat());
        command.env("MEMOIR_URL", &url).env("MEMOIR_TOKEN", &token);
        let ran = Ran::with_input(&mut command, &payload.to_string());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran
    };
    let begun = start("s-1", "startup");
    let text = injected(&ask("session-start", &begun), "SessionStart");
    let context = installation.ok(&["context", "wren"]);
    assert_eq!(text, context, "{}", log(&away));
    installation.remember(&["The bees swarmed in May."]);
    let ran = ask("user-prompt", &prompt("s-1", "Where are the bees?"));
    let text = injected(&ran, "UserPromptSubmit");
    text.tells("swarmed");
    text.omits("keeps");
    let long = format!("{} Did a bee swarm?", "überall ".repeat(5_000));
    let ran = ask("user-prompt", &prompt("s-2", &long));
    assert!(injected(&ran, "UserPromptSubmit").contains("swarmed"));
    let file = away.write("s-1.jsonl", transcript(3));
    let stop = json!({"session_id": "s-1", "transcript_path": file});
    ask("stop", &stop);
    wait_until(|| log(&away).contains("handed over 3 messages; 0 known before"));
    drop(service);
    // The service is down: new messages are passed on once it is up again.
    fs::write(&file, transcript(4)).unwrap();
    ask("stop", &stop);
    wait_until(|| log(&away).contains("is it running?"));
    let asked = ask("user-prompt", &prompt("s-1", "Where are the bees now?"));
    assert_eq!(asked.stdout, "");
    assert!(!away.path(".local/share").exists(), "no database was made");
}

#[test]
fn spec_2_8_semantic_matches_are_the_same_from_a_service_and_a_database() {
    let about = |text: &str| {
        let is_about = |word| f32::from(u8::from(text.to_lowercase().contains(word)));
        vec![is_about("bees"), is_about("kiln"), 0.125]
    };
    let server = ScriptedServer::always(ServerStep::embeddings(move |text| {
        about(&text.replace("honey", "bees").replace("oven", "kiln"))
    }));
    let installation = Installation::with_agent();
    let meaning = format!(
        "[recall]\nembeddings = \"lab:small\"\n[providers.lab]\nbase_url = \"{}\"\n",
        server.base_url()
    );
    let config = installation.write("meaning.toml", meaning);
    let config = config.as_str();
    let texts = [
        "Ines has bees.",
        "The kiln is hot.",
        "A lamp",
        "Linen",
        "Wool",
    ];
    installation.remember(&texts);
    installation.ok(&["recall", "wren", "--index", "--config", config]);
    let asked = prompt("s-1", "Where can I buy honey?");
    let here = ask_with(&installation, &asked, &["--config", config]);
    let here = injected(&here, "UserPromptSubmit");
    let told = ["Ines", "Wool", "Linen", "lamp", "kiln"].map(|word| here.contains(word));
    // The three nearest.
    assert_eq!(told, [true, true, true, false, false], "{here}");
    let token = crate::serving::agents_token(&installation);
    let service = Running::start(&installation, &["--config", config]);
    let away = Installation::new();
    let hook = "hook user-prompt --client claude-code --agent wren --within 20000";
    let mut command = away.command(hook);
    let url = format!("http://{}", service.address);
    command.env("MEMOIR_URL", &url).env("MEMOIR_TOKEN", &token);
    let ran = Ran::with_input(&mut command, &asked.to_string());
    assert_eq!(injected(&ran, "UserPromptSubmit"), here, "{}", log(&away));
}

#[test]
fn spec_2_8_a_prompt_waits_for_no_late_vector_and_shows_a_missed_start_without_it() {
    // A server of embeddings, and a service, that accept requests and do not answer.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}", listener.local_addr().unwrap());
    let installation = Installation::with_agent();
    installation.remember(&["Ines keeps bees."]);
    let config = format!(
        "[recall]\nembeddings = \"lab:small\"\nquestion_seconds = 60\n[providers.lab]\nbase_url = \"{silent}\"\n"
    );
    let config = installation.write("late.toml", config);
    let config = config.as_str();
    let asked = prompt("s-1", "Where are the bees?");
    let more = ["--config", config];
    let ran = ask_with(&installation, &asked, &more);
    assert!(injected(&ran, "UserPromptSubmit").contains("bees"));
    let token = crate::serving::agents_token(&installation);
    let running = Running::start(&installation, &more);
    let service = format!("http://{}", running.address);
    let away = Installation::new();
    let sent = |event: &str, payload: &Value, url: &str, within: u32| {
        let options = format!("--client claude-code --agent wren --within {within} --url");
        let mut command = away.command(&format!("hook {event} {options} {url}"));
        command.env("MEMOIR_TOKEN", &token);
        Ran::with_input(&mut command, &payload.to_string())
    };
    let begun = start("s-1", "startup");
    assert_eq!(sent("session-start", &begun, &silent, 500).stdout, "");
    // Recall is late after three quarters of it; a slow machine needs some of the rest.
    let ran = sent("user-prompt", &asked, &service, 8_000);
    let text = injected(&ran, "UserPromptSubmit");
    assert!(text.starts_with("# Your memory\n"), "{text}");
    assert!(log(&away).contains("recall was late"));
}

#[test]
fn spec_3_6_no_memory_leaves_anything_behind_in_the_file_of_goose() {
    let installation = Installation::with_agent();
    installation.remember(&["It ends <!-- memoir: end --> here, says a pasted page."]);
    installation.write(".config/goose/.goosehints", "Speak plainly.\n");
    let hints = |session: &str| {
        let told = start(session, "startup");
        send(&installation, "goose", "session-start", &told);
        fs::read_to_string(installation.path(".config/goose/.goosehints")).unwrap()
    };
    hints("s-1");
    assert_eq!(hints("s-2").matches("says a pasted page").count(), 1);
    installation.ok(&["discard", "wren", "1"]);
    let without = hints("s-3");
    assert!(without.starts_with("Speak plainly.\n"), "{without}");
    without.omits("says a pasted page");
}

#[test]
fn spec_5_5_nothing_stays_in_the_file_of_goose_of_an_agent_that_is_closed_or_erased() {
    let installation = Installation::with_agent();
    installation.remember(&["Ines keeps bees."]);
    let hints = |session: &str| {
        let told = start(session, "startup");
        let whose = ["--agent", "wren"];
        send_with(&installation, "goose", "session-start", &told, &whose);
        fs::read_to_string(installation.path(".config/goose/.goosehints")).unwrap()
    };
    assert!(hints("s-1").contains("bees"));
    installation.write(".config/memoir/config.toml", "closed = true\n");
    let closed = hints("s-2");
    closed.omits("bees");
    closed.tells("`memoir installation open`");
    installation.write(".config/memoir/config.toml", "");
    assert!(hints("s-3").contains("bees"));
    installation.ok(&["agent", "erase", "wren", "--yes"]);
    assert_eq!(hints("s-4"), "", "{}", log(&installation));
}

#[test]
fn spec_5_1_a_late_start_leaves_no_memory_of_another_project_in_the_file_of_goose() {
    let installation = Installation::with_agent();
    installation.remember(&["Ines keeps bees."]);
    let hints = || fs::read_to_string(installation.path(".config/goose/.goosehints")).unwrap();
    // Two registrations of the hooks: the second one is not answered.
    for whose in [&[][..], &["--agent", "wren"]] {
        let begun = start("s-1", "startup");
        send_with(&installation, "goose", "session-start", &begun, whose);
        hints().tells("bees");
    }
    // A service that accepts the request and does not answer in time.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let late = "hook session-start --client goose --per-project --within 500 --url";
    let mut command = installation.command(&format!("{late} {url}"));
    let told = start("s-2", "startup").to_string();
    let ran = Ran::with_input(command.env("MEMOIR_TOKEN", "memoir_any"), &told);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    log(&installation).tells("no response within 500 ms");
    assert_eq!(hints(), "");
}

#[test]
fn spec_5_1_no_session_finds_another_agents_memory_in_the_file_of_goose() {
    let installation = Installation::with_agent();
    installation.remember(&["Ines keeps bees."]);
    installation.ok(&["agent", "create", "lark"]);
    installation.ok(&["remember", "lark", "Max plays chess."]);
    let hints = |session: &str, agent: &str| {
        let begun = start(session, "startup");
        let whose = ["--agent", agent];
        send_with(&installation, "goose", "session-start", &begun, &whose);
        fs::read_to_string(installation.path(".config/goose/.goosehints")).unwrap()
    };
    hints("s-1", "wren").tells("bees");
    hints("s-2", "wren").tells("bees");
    // Both sessions may still read it, and each would take it for its own.
    let mut number = 2;
    for (first, then) in [("wren", "lark"), ("lark", "wren")] {
        // Again where this machine was so slow that the first one has read it.
        let shared = loop {
            let began = Instant::now();
            number += 2;
            hints(&format!("s-{number}"), first);
            let shared = hints(&format!("s-{}", number + 1), then);
            if began.elapsed() < Duration::from_secs(9) {
                break shared;
            }
        };
        shared.omits("bees");
        shared.omits("chess");
        shared.tells("a new session has it");
    }
    // As after that time.
    installation.write(".local/state/memoir/goose.json", "{}");
    let later = hints("s-3", "lark");
    later.tells("chess");
    later.omits("bees");
}

#[test]
fn spec_5_1_no_guess_can_be_checked_by_what_is_kept_of_a_prompt() {
    let kept = |installation: &Installation| {
        begin(installation, "s-1", "startup");
        ask(installation, "s-1", "Where are the bees?");
        let files =
            crate::installation::files_in(&installation.path(".local/state/memoir/sessions"));
        let (_, bytes) = files.into_iter().next().unwrap();
        let kept: Value = serde_json::from_slice(&bytes).unwrap();
        let agents = kept["agents"].as_object().unwrap();
        let digest = agents.values().next().unwrap()["prompt"]["what"].clone();
        assert!(digest.is_string(), "{kept}");
        digest
    };
    // Of two agents, which differ by their keys alone.
    let other = Installation::with_agent_of_its_own();
    assert_ne!(kept(&Installation::with_agent()), kept(&other));
}

#[test]
fn a_service_that_still_works_on_a_call_is_distinguished_from_one_that_is_down() {
    let installation = Installation::new();
    let running = ServerStep::status(503).with_body(r#"{"code": "still_running"}"#);
    let service = ScriptedServer::always(running);
    let url = format!("http://{}", service.address());
    let mut command = installation.command(&["mcp", "--agent", "wren", "--url", &url]);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "reflect", "arguments": {}}});
    let call = format!("{call}\n");
    let ran = Ran::with_input(command.env("MEMOIR_TOKEN", "memoir_any"), &call);
    let told = ran.lines()[0]["error"]["message"].to_string();
    told.tells("is still processing it");
}

#[test]
fn spec_3_18_a_message_that_names_its_protocol_is_passed_on_with_its_headers() {
    let (_installation, token, service) = served_agent();
    let away = Installation::new();
    let url = format!("http://{}", service.address);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    for (method, field, value) in [
        ("tools/call", "name", "get_context"),
        ("resources/read", "uri", "memoir://context"),
    ] {
        let params = json!({field: value, "_meta": meta});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let call = format!("{call}\n");
        let mut command = away.command(&["mcp", "--agent", "wren", "--url", &url]);
        let ran = Ran::with_input(command.env("MEMOIR_TOKEN", &token), &call);
        let answer = ran.lines()[0]["result"].to_string();
        answer.tells("bees");
    }
}

#[test]
fn spec_6_4_an_unencrypted_service_is_reported_once() {
    let installation = Installation::new();
    for (url, is_told) in [
        ("http://192.0.2.1:7777", true),
        ("http://memoir.example.org", true),
        ("https://memoir.example.org", false),
        ("http://127.0.0.2:7777", false),
        ("http://[::1]:7777", false),
        ("http://localhost:7777", false),
    ] {
        let mut command = installation.command(&["mcp", "--agent", "wren", "--url", url]);
        // Without a message nothing is sent.
        let ran = Ran::with_input(command.env("MEMOIR_TOKEN", "memoir_any"), "");
        let told = ran.stderr.matches("is not encrypted").count();
        let expected = (usize::from(is_told), Some(0));
        assert_eq!((told, ran.code), expected, "{url}: {ran:?}");
    }
}

#[test]
fn spec_6_4_no_proxy_sees_what_is_sent_to_a_service_in_the_open() {
    let (_installation, token, service) = served_agent();
    let proxy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    proxy.set_nonblocking(true).unwrap();
    let away = Installation::new();
    let hook = "hook session-start --client claude-code --agent wren --within 20000";
    let mut command = away.command(hook);
    command
        .env("MEMOIR_URL", format!("http://{}", service.address))
        .env("MEMOIR_TOKEN", &token);
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        command.env(name, format!("http://{}", proxy.local_addr().unwrap()));
    }
    let ran = Ran::with_input(&mut command, &start("s-1", "startup").to_string());
    assert!(proxy.accept().is_err(), "the proxy was asked");
    assert!(injected(&ran, "SessionStart").contains("bees"));
}

#[test]
fn spec_2_6_what_could_not_be_handed_over_is_taken_up_when_the_next_session_begins() {
    let installation = Installation::with_agent();
    let robin = ["--agent", "robin"];
    let file = installation.write("s-1.jsonl", transcript(3));
    let stop = json!({"session_id": "s-1", "transcript_path": file});
    send_with(&installation, "claude-code", "stop", &stop, &robin);
    wait_until(|| log(&installation).contains("there is no agent `robin`"));
    wait_until(|| marks(&installation) == 1);
    installation.ok(&["agent", "create", "robin"]);
    // A session of another agent is independent of it.
    let begun = start("s-2", "startup");
    begin_with(&installation, &begun, &["--agent", "wren"]);
    begin_with(&installation, &begun, &robin);
    wait_until(|| log(&installation).contains("handed over 3 messages; 0 known before"));
    wait_until(|| marks(&installation) == 0);
    assert_eq!(log(&installation).matches("handed over").count(), 1);
}

#[test]
fn spec_2_6_what_waited_under_the_former_name_of_an_agent_is_handed_over_after_the_next_setup() {
    let installation = Installation::with_agent();
    installation.ok("setup claude-code --agent wren --yes");
    installation.ok("agent set wren name robin");
    let hold = |session: &str| {
        let file = installation.write(&format!("{session}.jsonl"), transcript(3));
        let stop = json!({"session_id": session, "transcript_path": file});
        let more = ["--agent", "wren", "--hand-over"];
        send_with(&installation, "claude-code", "stop", &stop, &more);
    };
    hold("s-1");
    assert_eq!(marks(&installation), 1, "{}", log(&installation));
    installation.ok("setup claude-code --agent robin --yes");
    // A session that had begun before.
    hold("s-2");
    begin(&installation, "s-3", "startup");
    wait_until(|| log(&installation).matches("handed over").count() == 2);
    assert_eq!((marks(&installation), pending(&installation)), (0, 3));
    // The name may be another agent's by then.
    hold("s-4");
    installation.ok("agent create wren");
    begin(&installation, "s-5", "startup");
    assert_eq!(marks(&installation), 1, "{}", log(&installation));
}

#[test]
fn spec_2_6_what_waits_behind_a_service_is_read_from_afar_by_the_agent_itself() {
    let installation = Installation::new();
    installation.ok(&["agent", "create", "wren"]);
    let token = crate::serving::agents_token(&installation);
    let service = Running::start(&installation, &[]);
    let away = Installation::new();
    let url = format!("http://{}", service.address);
    let from_afar = |arguments: &[&str]| {
        let mut command = away.command(&[arguments, &["--agent", "wren"]].concat());
        command.env("MEMOIR_URL", &url).env("MEMOIR_TOKEN", &token);
        command
    };
    let hook = |event: &str, payload: &Value| {
        let mut command = from_afar(&event_of("claude-code", event));
        let ran = Ran::with_input(&mut command, &payload.to_string());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran
    };
    let file = away.write("s-1.jsonl", transcript(3));
    let stop = json!({"session_id": "s-1", "transcript_path": file});
    hook("stop", &stop);
    wait_until(|| log(&away).contains("handed over 3 messages; 0 known before"));
    let begun = hook("session-start", &start("s-2", "startup"));
    let told = injected(&begun, "SessionStart");
    told.tells("- 3 messages wait of earlier sessions");
    let read = |arguments: &Value| tool_of(&mut from_afar(&["mcp"]), "read_messages", arguments);
    let shown = read(&json!({}));
    let text = shown["content"][0]["text"].as_str().unwrap();
    text.tells("| \"user\" | \"This is number 2.\"\n");
    let part = &shown["structuredContent"]["part"];
    let noted = read(&json!({"part": part, "core": ["The user counts from 0."]}));
    let expected = json!({"type": "messages", "read": 3, "saved": 1, "waiting": 0});
    assert_eq!(noted["structuredContent"], expected);
    let begun = hook("session-start", &start("s-3", "startup"));
    let told = injected(&begun, "SessionStart");
    told.tells("counts from 0");
    told.omits("Waiting");
}

#[test]
fn spec_5_1_a_project_has_an_agent_of_its_own_made_at_its_first_session() {
    let installation = Installation::with_agent();
    for name in ["shop", "other"] {
        let folder = installation.write(&format!("{name}/.git/HEAD"), "");
        let folder = folder.replace("/.git/HEAD", "");
        let begun = json!({"session_id": folder, "cwd": folder, "source": "startup"});
        begin_with(&installation, &begun, &["--per-project"]);
    }
    let mut names = agents(&installation);
    names.sort_unstable();
    names[0].begins("other-");
    names[1].begins("shop-");
}

/// The text for a session in that folder at its beginning.
pub(crate) fn begin_in(
    installation: &Installation,
    folder: &std::path::Path,
    session: &str,
) -> String {
    let begun = json!({"session_id": session, "cwd": folder, "source": "startup"});
    begin_with(installation, &begun, &["--per-project"]).stdout
}

/// The names of all agents.
fn agents(installation: &Installation) -> Vec<String> {
    installation.each(&["agent", "list"], "name")
}

/// A project with a memory, and its agent.
fn project(installation: &Installation, name: &str) -> (std::path::PathBuf, String) {
    let folder = installation.path(name);
    fs::create_dir_all(folder.join(".git/worktrees")).unwrap();
    begin_in(installation, &folder, "s-1");
    let names = agents(installation);
    let agent = names.into_iter().find(|name| name != "wren").unwrap();
    installation.ok(&["remember", &agent, "The staging password is HUNTER-4821."]);
    assert!(begin_in(installation, &folder, "s-2").contains("HUNTER"));
    (folder, agent)
}

/// SPEC 5: a memory is private to its agent. The folder of an event follows the commands of the model.
#[test]
fn spec_5_1_a_session_keeps_to_the_project_in_which_it_began() {
    let installation = Installation::with_agent();
    let (api, _) = project(&installation, "work/api");
    let work = installation.path("work");
    fs::create_dir_all(work.join("src")).unwrap();
    begin_in(&installation, &work, "s-3");
    let agents_before = agents(&installation);
    let per_project = ["--per-project"];
    for folder in [&api, &work.join("src")] {
        let asked =
            json!({"session_id": "s-3", "cwd": folder, "prompt": "What is the staging password?"});
        let ran = ask_with(&installation, &asked, &per_project);
        assert_eq!(ran.stdout, "", "{}", folder.display());
    }
    let file = installation.write("s-3.jsonl", transcript(3));
    let stop = json!({"session_id": "s-3", "transcript_path": file, "cwd": api});
    send_with(&installation, "claude-code", "stop", &stop, &per_project);
    wait_until(|| log(&installation).contains("handed over 3 messages"));
    assert_eq!(agents(&installation), agents_before);
    let messages = "3 messages wait of earlier sessions";
    begin_in(&installation, &work, "s-4").tells(messages);
    let begun = begin_in(&installation, &api, "s-5");
    begun.tells("HUNTER");
    begun.omits(messages);
}

/// SPEC 5: a memory is private to its agent. A foreign folder's files cannot claim another project's agent.
#[test]
fn spec_5_6_a_downloaded_folder_does_not_take_another_projects_agent() {
    let installation = Installation::with_agent();
    let (victim, agent) = project(&installation, "code/secret-app");
    let evil = installation.path("Downloads/cool-lib");
    fs::create_dir_all(&evil).unwrap();
    let link = format!("gitdir: {}/.git/worktrees/whatever\n", victim.display());
    fs::write(evil.join(".git"), link).unwrap();
    assert!(!begin_in(&installation, &evil, "s-3").contains("HUNTER"));
    // An agent with the name for this folder, which is no project's on this machine: a name is no proof.
    let other = installation.path("other/secret-app");
    fs::create_dir_all(&other).unwrap();
    begin_in(&installation, &other, "s-4");
    let names = agents(&installation);
    let made = names
        .iter()
        .find(|name| name.starts_with("secret-app-") && **name != agent);
    let made = made.unwrap().clone();
    installation.ok(&["remember", &made, "HUNTER-4821"]);
    fs::remove_file(installation.path(".local/state/memoir/projects.json")).unwrap();
    assert!(!begin_in(&installation, &other, "s-5").contains("HUNTER"));
    let is_other = |name: &String| name.starts_with(&made) || name.len() == made.len() + 6;
    assert!(agents(&installation).iter().any(is_other));
}

#[test]
fn spec_5_1_all_working_trees_of_a_bare_repository_are_one_project() {
    let installation = Installation::with_agent();
    // Each with its working trees, and the beginning of its agent's name.
    for (repository, trees, expected) in [
        ("work/shop.git", ["work/next", "work/main"], "shop.git-"),
        ("lib/.bare", ["lib/main", "lib"], "lib-"),
    ] {
        let before = agents(&installation).len();
        let git = installation.path(repository);
        installation.write(&format!("{repository}/HEAD"), "ref: refs/heads/main\n");
        for tree in trees {
            let name = tree.replace('/', "-");
            let entry = match tree {
                "lib" => git.clone(),
                _ => git.join("worktrees").join(&name),
            };
            let line = format!("gitdir: {}\n", entry.display());
            let file = installation.write(&format!("{tree}/.git"), line);
            let back = format!("{repository}/worktrees/{name}/gitdir");
            installation.write(&back, format!("{file}\n"));
        }
        for tree in trees {
            begin_in(&installation, &installation.path(tree), tree);
        }
        let all = agents(&installation);
        assert_eq!(all.len(), before + 1, "{all:?}");
        assert!(all.iter().any(|name| name.starts_with(expected)), "{all:?}");
    }
    // No folder claims a project by a file within its working tree.
    installation.write("victim/.git/HEAD", "");
    installation.write("victim/HEAD", "");
    let entry = installation.path("victim/worktrees/x");
    let file = installation.write("evil/.git", format!("gitdir: {}\n", entry.display()));
    installation.write("victim/worktrees/x/gitdir", format!("{file}\n"));
    begin_in(&installation, &installation.path("evil"), "evil");
    let all = agents(&installation);
    assert!(all.iter().any(|name| name.starts_with("evil-")), "{all:?}");
}

/// A moved or renamed project is offered its memory, and adopts it by one command.
#[test]
fn a_moved_or_renamed_project_is_offered_its_memory() {
    for moved_to in ["code/renamed-app", "moved/secret-app"] {
        let installation = Installation::with_agent();
        let (folder, agent) = project(&installation, "code/secret-app");
        let moved = installation.path(moved_to);
        fs::create_dir_all(moved.parent().unwrap()).unwrap();
        fs::rename(&folder, &moved).unwrap();
        let told = begin_in(&installation, &moved, "s-3");
        let adopt = format!("memoir project adopt {agent}");
        assert!(told.contains(&adopt) && !told.contains("HUNTER"), "{told}");
        let listed = installation.items(&["project", "list"]);
        let gone = listed.iter().filter(|item| item["gone"] == true);
        let gone: Vec<&Value> = gone.map(|item| &item["agent"]).collect();
        assert_eq!(gone, [&agent]);
        let doctor = installation.ok(&["doctor"]);
        let gone = format!("the folder of the agent `{agent}` is gone");
        doctor.tells(&gone);
        doctor.tells(&adopt);
        let folder_of = moved.display().to_string();
        installation.ok(&["project", "adopt", &agent, "--folder", &folder_of]);
        assert!(!installation.ok(&["doctor"]).contains(&gone));
        let told = begin_in(&installation, &moved, "s-4");
        assert!(told.contains("HUNTER") && !told.contains("adopt"), "{told}");
        // An agent whose folder exists cannot be adopted.
        let other = installation.path("other");
        fs::create_dir_all(&other).unwrap();
        let other = other.display().to_string();
        let refused = installation.refused(&["project", "adopt", &agent, "--folder", &other]);
        refused.tells("which is there");
    }
}

#[test]
fn each_program_is_answered_in_its_own_dialect() {
    let installation = Installation::with_agent();
    let text = "Ines keeps bees behind the greenhouse.";
    installation.remember_with(text, &["--at", "2026-05-03"]);
    let mut answers = String::new();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hooks");
    let mut fixtures: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    fixtures.sort();
    for fixture in fixtures {
        let client = fixture.file_stem().unwrap().to_str().unwrap().to_owned();
        let payloads: Value = serde_json::from_slice(&fs::read(&fixture).unwrap()).unwrap();
        for (event, payload) in payloads.as_object().unwrap() {
            // A program that reads the hooks of another.
            let typed = client.split(" as ").last().unwrap();
            let ran = send(&installation, typed, event, payload);
            answers.push_str(&format!("{client} {event}: {}\n", ran.stdout.trim_end()));
        }
    }
    let hints = fs::read_to_string(installation.path(".config/goose/.goosehints")).unwrap();
    answers.push_str(&format!("\n.goosehints:\n{hints}"));
    insta::assert_snapshot!(answers);
}

#[test]
fn copilot_cli_is_answered_in_its_own_form_by_the_hooks_of_others_that_it_reads() {
    let installation = Installation::with_agent();
    installation.remember(&["Ines keeps bees."]);
    for (client, session) in [("vscode", "s-1"), ("claude-code", "s-2")] {
        let mut command = installation.command(&event_of(client, "session-start"));
        command.env("COPILOT_CLI", "1");
        let mut told = start(session, "new");
        told["timestamp"] = json!("2026-11-23T12:23:47.199Z");
        let ran = Ran::with_input(&mut command, &told.to_string());
        let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
        let context = installation.ok(&["context", "wren"]);
        assert_eq!(answer["additionalContext"], context);
        // Its own hook sends the same session.
        let own = json!({"sessionId": session, "cwd": "/", "source": "new"});
        let again = send(&installation, "copilot", "session-start", &own);
        assert_eq!(again.stdout, "");
    }
}

#[test]
fn spec_2_6_messages_in_an_event_are_passed_on_once() {
    let installation = Installation::with_agent();
    let said = |at: usize| json!({"id": format!("m-{at}"), "speaker": "user", "text": format!("This is {at}.")});
    for messages in [2, 3] {
        let messages: Vec<Value> = (0..messages).map(said).collect();
        let told = json!({"session_id": "oc-1", "cwd": "/", "messages": messages});
        send_with(&installation, "opencode", "stop", &told, &["--hand-over"]);
    }
    assert_eq!(pending(&installation), 3, "{}", log(&installation));
    log(&installation).tells("handed over 1 message; 2 known before");
}

#[test]
fn spec_2_6_what_is_written_after_the_last_word_is_taken_up_when_the_next_session_begins() {
    let installation = Installation::with_agent();
    let file = installation.write("s-1.jsonl", transcript(2));
    let told = json!({"session_id": "s-1", "transcript_path": file});
    send(&installation, "claude-code", "stop", &told);
    wait_until(|| {
        log(&installation).contains("handed over 2 messages") && marks(&installation) == 1
    });
    fs::write(&file, transcript(3)).unwrap();
    begin(&installation, "s-2", "startup");
    wait_until(|| {
        log(&installation).contains("handed over 1 message; 0 known before")
            && marks(&installation) == 0
    });
    // A transcript that is missing by then is not waited for.
    let gone = json!({"session_id": "s-3", "transcript_path": installation.path("gone.jsonl")});
    send(&installation, "claude-code", "stop", &gone);
    wait_until(|| marks(&installation) == 1);
    begin(&installation, "s-4", "startup");
    wait_until(|| marks(&installation) == 0);
    // After the end event, no transcript is searched any more.
    fs::write(&file, transcript(4)).unwrap();
    send(&installation, "claude-code", "stop", &told);
    wait_until(|| marks(&installation) == 1);
    send(&installation, "claude-code", "session-end", &told);
    wait_until(|| marks(&installation) == 0);
    assert_eq!(pending(&installation), 4);
}

#[test]
fn spec_2_6_another_programs_session_is_taken_up_in_its_own_format() {
    let installation = Installation::with_agent();
    // Its first line has no key of Claude Code's alone.
    let title = json!({"type": "summary", "summary": "Numbers", "leafUuid": "u-1"});
    let transcript = |messages| format!("{title}\n{}", transcript(messages));
    let file = installation.write("s-1.jsonl", transcript(2));
    let told = json!({"session_id": "s-1", "transcript_path": file});
    send(&installation, "claude-code", "stop", &told);
    wait_until(|| {
        log(&installation).contains("handed over 2 messages") && marks(&installation) == 1
    });
    fs::write(&file, transcript(3)).unwrap();
    let begun = start("s-2", "startup");
    send(&installation, "codex", "session-start", &begun);
    wait_until(|| marks(&installation) == 0);
    assert_eq!(pending(&installation), 3, "{}", log(&installation));
    // Copilot CLI runs the hooks of Claude Code too.
    let said = json!({"type": "user.message", "id": "c-1", "data": {"content": "Tea at four."}});
    let file = installation.write("events.jsonl", format!("{said}\n"));
    let told = json!({"session_id": "s-3", "transcript_path": file});
    let more = ["--hand-over"];
    send_with(&installation, "claude-code", "stop", &told, &more);
    assert_eq!(pending(&installation), 4, "{}", log(&installation));
    // One key of Claude Code's alone does not make a file of another program one of Claude Code's.
    let said = json!({"id": "g-1", "type": "user", "content": "The bees came back."});
    let file = installation.write("session-4.jsonl", format!("{said}\n"));
    let told = json!({"session_id": "s-4", "transcript_path": file});
    send_with(&installation, "gemini", "stop", &told, &more);
    assert_eq!(pending(&installation), 5, "{}", log(&installation));
}

#[test]
fn spec_2_6_a_turn_in_which_its_program_was_ended_is_taken_up_when_another_session_begins() {
    let installation = Installation::with_agent();
    let file = installation.write("s-1.jsonl", transcript(2));
    let mut asked = prompt("s-1", "Good morning!");
    asked["transcript_path"] = json!(file);
    ask_with(&installation, &asked, &[]);
    begin(&installation, "s-2", "startup");
    wait_until(|| log(&installation).contains("handed over 2 messages; 0 known before"));
    // The turn went on beside the other session.
    fs::write(&file, transcript(3)).unwrap();
    begin(&installation, "s-3", "startup");
    wait_until(|| log(&installation).contains("handed over 1 message; 0 known before"));
    let stop = json!({"session_id": "s-1", "transcript_path": file});
    send(&installation, "claude-code", "stop", &stop);
    wait_until(|| log(&installation).contains("handed over 0 messages"));
    begin(&installation, "s-4", "startup");
    wait_until(|| marks(&installation) == 0);
    // Another session took up the turn before, and the program was ended in the next one, long ago.
    asked["prompt"] = json!("What is next?");
    ask_with(&installation, &asked, &[]);
    fs::write(&file, transcript(4)).unwrap();
    let written = fs::File::options().write(true).open(&file).unwrap();
    written.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    begin(&installation, "s-5", "startup");
    wait_until(|| marks(&installation) == 0);
    assert_eq!(pending(&installation), 4, "{}", log(&installation));
}

#[test]
fn spec_2_6_only_an_old_mark_of_a_transcript_that_is_gone_is_deleted() {
    let installation = Installation::with_agent();
    let there = installation.write("there.jsonl", transcript(1));
    let gone = "/gone.jsonl".to_owned();
    for (name, transcript, is_old) in [
        ("there.json", &there, true),
        ("new.json", &gone, false),
        ("gone.json", &gone, true),
        // Of a hook that was ended while it wrote.
        (".tmp0", &there, true),
    ] {
        let mark = json!({"session": "s-1", "transcript": transcript});
        let path = format!(".local/state/memoir/waiting/{name}");
        let path = installation.write(&path, mark.to_string());
        if is_old {
            let file = fs::File::options().write(true).open(path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }
    }
    let said = json!({"id": "m-1", "speaker": "user", "text": "Tea at four."});
    let told = json!({"session_id": "oc-1", "cwd": "/", "messages": [said]});
    send_with(&installation, "opencode", "stop", &told, &["--hand-over"]);
    let left = names_in(&installation.path(".local/state/memoir/waiting"));
    let left: BTreeSet<&str> = left.iter().map(String::as_str).collect();
    assert_eq!(left, BTreeSet::from(["new.json", "there.json"]));
}

#[test]
fn spec_6_2_no_input_of_a_program_stops_it_or_is_a_fault() {
    let installation = Installation::with_agent();
    installation.remember(&["Ines prefers small functions.", "The greenhouse has bees."]);
    let corpus = Corpus::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/hooks"));
    let clients = "claude-code codex copilot cursor gemini goose qwen vscode";
    let clients: Vec<&str> = clients.split(' ').collect();
    // A process each, so that the default of 256 is an eighth.
    let config = Config::default();
    let cases = config.cases / 8;
    let mut runner = TestRunner::new(Config { cases, ..config });
    let events = vec!["session-start", "user-prompt"];
    let inputs = (any::<u64>(), select(clients), select(events));
    let outcome = runner.run(&inputs, |(seed, client, event)| {
        let arguments = [&event_of(client, event)[..], &["--agent", "wren"]].concat();
        let mut command = installation.command(&arguments);
        let ran = Ran::with_bytes(&mut command, &corpus.changed(seed));
        prop_assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        prop_assert!(!log(&installation).contains("internal error"));
        Ok(())
    });
    outcome.unwrap_or_else(|failed| panic!("{failed}"));
    let verified = installation.json(&["audit", "verify", "wren"]);
    assert_eq!(verified["valid"], true);
}
