//! Sessions: refining, rehearsing, applying, sweeping, undoing.

use std::time::Duration;

use memoir_testkit::{ScriptedServer, ServerStep, TestedObject, TestedText};
use serde_json::{Value, json};

use crate::installation::{Installation, MadeOnce, Ran, late_answer, script, wait_until};

const TEXTS: [&str; 6] = [
    "The kettle is in the kitchen, on the left of the window.",
    "The kettle is in the kitchen, on the right of the door.",
    "Marta waxes her linen thread twice.",
    "Paper comes on Thursdays at the back gate.",
    "Folio the cat sleeps under the press.",
    "Joaquín takes his coffee black.",
];

/// With an agent that has these memories.
fn with_texts() -> Installation {
    static MADE: MadeOnce = MadeOnce::new();
    MADE.copy(|| {
        let installation = Installation::with_agent();
        installation.remember(&TEXTS);
        installation
    })
}

/// A call that shortens one of them.
fn waxing() -> (&'static str, Value) {
    let shorter = "Marta waxes her thread twice.";
    ("update_memory", json!({"id": 3, "content": shorter}))
}

#[test]
fn a_person_watching_sees_each_step_and_stdout_holds_the_outcome() {
    let installation = with_texts();
    let _server = installation.scripted(script(&[
        ("search_memories", json!({"query": "kettle"})),
        waxing(),
        ("delete_memory", json!({"id": 99})),
        ("protect_memory", json!({"id": 6})),
    ]));
    let ran = installation.run(&["refine", "wren", "--model", "lab:small"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for told in [
        "wren: session ",
        " with lab:small",
        "asked ",
        "agreed\n",
        "cleaned   0 duplicates",
        "opened    6 memories, 66 tokens",
        "limit     if more than 16 tokens go, everything is undone (50 of 66 tokens must be left)",
        "searched\n",
        "edit 1    rewrote #3: 66 → 65 tokens",
        "15 to the breaker",
        "refused   delete_memory: not_found",
        "flag      protected #6\n",
        "completed 1 updated, 1 protected",
    ] {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
    assert!(ran.stdout.starts_with("completed\n"), "{}", ran.stdout);
    ran.prints("66 → 65 (at least 75% must be left)");
}

#[test]
fn spec_3_1_a_model_of_rules_is_not_asked_where_there_are_no_duplicates() {
    let installation = with_texts();
    let careful = ["refine", "wren", "--model", "builtin:careful"];
    let refused = installation.refused(&careful);
    refused.tells("only duplicates may leave");
    // Its "no" is not the agent's: nothing that counts as a refusal is left behind.
    let sessions = installation.json(&["sessions", "wren"]);
    assert_eq!(sessions["items"], json!([]));
    // Up to case and white space it is another's text.
    installation.remember(&["folio the  cat sleeps under the press."]);
    let printed = installation.ok(&careful);
    assert!(printed.starts_with("completed\n"), "{printed}");
}

#[test]
fn with_json_progress_and_the_session_are_lines() {
    let installation = Installation::with_agent();
    installation.remember(&["twice", "Twice!"]);
    let ran = installation.run(&["refine", "wren", "--json", "--mode", "dedup_only"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines = ran.lines();
    let (session, events) = lines.split_last().unwrap();
    let names = events.iter().map(|event| &event["event"]).take(4);
    assert!(
        names.eq(["begun", "asked", "agreed", "opened"]),
        "{events:?}"
    );
    assert_eq!(events[0]["agent"], "wren");
    assert_eq!(session["state"], "completed");
    assert_eq!(session["mode"], "dedup_only");
    assert_eq!(session["id"], events[0]["session"]);
    assert_eq!(ran.stderr, "");
}

#[test]
fn an_agent_that_declines_is_no_failure() {
    let installation = with_texts();
    let _server = installation.scripted([ServerStep::text("No, thank you. Leave me as I am.")]);
    let ran = installation.run(&["refine", "wren", "--model", "lab:small"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("declined\n"), "{}", ran.stdout);
    ran.reports("declined  “No, thank you. Leave me as I am.”");
}

#[test]
fn spec_3_3_an_empty_answer_is_shown_as_none() {
    let installation = with_texts();
    let _server = installation.scripted([ServerStep::text(""), ServerStep::text(" \n")]);
    let ran = installation.run(&["refine", "wren", "--model", "lab:small"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let told = "error: the session ended as `declined`: no_answer\n\nhint: nothing was changed; the model's answers were empty";
    ran.reports(told);
}

#[test]
fn a_tripped_breaker_ends_in_failure_and_takes_everything_back() {
    let installation = with_texts();
    let before = installation.core();
    let _server = installation.scripted(script(&[
        ("delete_memory", json!({"id": 1})),
        ("delete_memory", json!({"id": 2})),
    ]));
    let ran = installation.run(&["refine", "wren", "--model", "lab:small"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.starts_with("rolled back\n"), "{}", ran.stdout);
    ran.reports("tripped   the breaker; everything was undone, back to 66 tokens");
    ran.reports("\nerror: the session ended as `rolled back`");
    // Of so few memories almost any edit is too much; the output explains that with a hint.
    for told in [
        "This memory has 66 tokens only",
        "Save more",
        "`memoir discard wren NUMBER`",
    ] {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
    assert_eq!(installation.core(), before);
}

#[test]
fn a_rehearsal_changes_nothing_shows_the_difference_and_can_be_applied_once() {
    let installation = with_texts();
    let before = installation.texts();
    let _server = installation.scripted(script(&[
        waxing(),
        ("consolidate_memories", json!({"ids": [1, 2], "content": "The kettle is in the kitchen, on the left of the window, or on the right of the door."})),
    ]));
    let ran = installation.run(&["refine", "wren", "--model", "lab:small", "--rehearse"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for told in [
        "#3 would be rewritten\n- Marta waxes her linen thread twice.\n+ Marta waxes her thread twice.\n",
        "#1 would be discarded\n- The kettle is in the kitchen, on the left of the window.\n",
        "#7 would be new\n+ The kettle is in the kitchen, on the left of the window, or on the right of the door.\n",
    ] {
        assert!(ran.stdout.contains(told), "{told}: {}", ran.stdout);
    }
    assert_eq!(installation.texts(), before);
    let rehearsal = installation.last_session();
    ran.reports(&format!("`memoir apply {rehearsal}`"));

    let applied = installation.json(&["apply", &rehearsal]);
    applied.has(json!({"state": "completed", "edits": 2}));
    assert_eq!(installation.core().len(), 5);
    let again = installation.refused(&["apply", &rehearsal]);
    again.tells("it was applied as session");
    again.omits("rehearse again");
}

#[test]
fn spec_3_17_a_rehearsal_without_edits_is_not_offered_for_applying() {
    let installation = with_texts();
    installation.ok(&["remember", "wren", TEXTS[0]]);
    let _server = installation.scripted([script(&[]), script(&[])].concat());
    let ran = installation.run("refine wren --model lab:small --rehearse");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.prints("would be discarded");
    ran.reports("there is nothing to apply, since the rehearsal has no edits");
    ran.reports("the duplicate cleanup of the next session changes ");
    ran.stderr.omits("memoir apply");
    installation.refused(&["apply", &installation.last_session()]);
    assert_eq!(installation.core().len(), TEXTS.len() + 1);
    installation.ok("refine wren --model lab:small");
    assert_eq!(installation.core().len(), TEXTS.len());
}

#[test]
fn spec_3_19_undoing_a_session_without_edits_lists_no_undone_records() {
    let installation = with_texts();
    let _server = installation.scripted([script(&[]), script(&[waxing()])].concat());
    for has_edits in [false, true] {
        installation.ok("refine wren --model lab:small");
        let undone = installation.ok(&["rollback", &installation.last_session()]);
        assert_eq!(undone.contains("records undone:"), has_edits, "{undone}");
    }
}

#[test]
fn spec_4_3_an_undo_of_a_session_without_edits_names_the_last_one_with_edits() {
    let installation = with_texts();
    let _server = installation.scripted([script(&[waxing()]), script(&[])].concat());
    installation.ok("refine wren --model lab:small");
    let edited = installation.last_session();
    installation.ok("refine wren --model lab:small");
    let bare = installation.last_session();
    let ran = installation.run("rollback last");
    ran.prints(&format!(
        "nothing was undone for `wren`: session {bare} made no edits"
    ));
    let other = format!("`memoir rollback {edited}` undoes the last session with edits");
    ran.reports(&other);
    // The act of an administrator is a record even so.
    let last = installation.run("audit list wren --last 1 --json").lines();
    assert_eq!(last[0]["action"], "session_undone");
    let again = installation.refused("rollback last");
    again.tells("it was undone already");
    again.tells(&format!("hint: {other}"));
    installation
        .ok(&["rollback", &edited])
        .begins("undone for `wren`: 1 updated");
}

#[test]
fn spec_4_3_a_session_that_was_never_opened_has_nothing_to_undo() {
    let installation = with_texts();
    // No process listens there.
    let config = "[providers.lab]\nbase_url = \"http://127.0.0.1:1/v1\"\n";
    installation.write(".config/memoir/config.toml", config);
    let ran = installation.run("refine wren --model lab:small");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let records = installation.run("audit list wren --json").stdout;
    let refused = installation.refused("rollback last");
    refused.tells("cannot be undone: it was never opened, and changed nothing");
    let after = installation.run("audit list wren --json").stdout;
    assert_eq!(after, records);
}

#[test]
fn a_rehearsal_of_which_no_edit_holds_any_more_is_not_applied() {
    let installation = with_texts();
    let step = || script(&[("delete_memory", json!({"id": 3}))]);
    let _server = installation.scripted([step(), step()].concat());
    let rehearsed = installation.run("refine wren --model lab:small --rehearse --json");
    let lines = rehearsed.lines();
    let rehearsal = lines.last().unwrap();
    assert_eq!(rehearsal["changes"][0]["number"], 3);
    installation.ok(&["refine", "wren", "--model", "lab:small"]);
    let refused = installation.refused(&["apply", rehearsal["id"].as_str().unwrap()]);
    refused.tells("none of its edits holds any more; rehearse again");
}

#[test]
fn a_rollback_gives_everything_back_and_is_refused_while_later_changes_stand_in_the_way() {
    let installation = with_texts();
    let before = installation.core();
    let update = |content: &str| script(&[("update_memory", json!({"id": 3, "content": content}))]);
    let first = update("Marta waxes her thread twice.");
    let second = update("Marta waxes thread twice.");
    let _server = installation.scripted([first, second].concat());
    installation.ok(&["refine", "wren", "--model", "lab:small"]);
    let first = installation.last_session();
    installation.ok(&["refine", "wren", "--model", "lab:small"]);
    let second = installation.last_session();

    let refused = installation.refused(&["rollback", &first]);
    for told in [
        "conflicts with later changes",
        "rewritten",
        "#3",
        &second[..13],
        "hint: `--cascade`",
    ] {
        refused.tells(told);
    }
    assert_eq!(installation.core()[2], "Marta waxes thread twice.");

    let undone = installation.ok(&["rollback", &first, "--cascade"]);
    undone.begins("undone for `wren`: 1 updated");
    assert_eq!(installation.core(), before);
    let again = installation.refused(&["rollback", &first]);
    again.tells("it was undone already");
    for session in installation.items(&["sessions", "wren"]) {
        assert!(session["undone_at"].is_string(), "{session}");
    }
}

#[test]
fn a_session_is_shown_with_its_timeline_and_its_texts_only_when_asked_for() {
    let installation = with_texts();
    let _server = installation.scripted(script(&[waxing()]));
    installation.ok(&["refine", "wren", "--model", "lab:small"]);
    let session = installation.last_session();
    let shown = installation.ok(&["session", &session]);
    shown.tells("rewritten          #3      66 → 65 tokens");
    shown.omits("Marta");
    let shown = installation.ok(&["session", &session, "--text"]);
    shown.tells("- Marta waxes her linen thread twice.\n+ Marta waxes her thread twice.\n");
    let shown = installation.json(&["session", &session]);
    assert_eq!(shown["id"], session.as_str());
}

/// A worker checks and renews its lease every third of five seconds.
fn with_short_lease(installation: &Installation, server: &ScriptedServer) {
    let config = format!(
        "lease_seconds = 5\n[providers.lab]\nbase_url = \"{}\"\n",
        server.base_url()
    );
    installation.write(".config/memoir/config.toml", config);
}

/// Two due agents: `robin`, whose model follows the script, and after it `wren`, whose model removes a duplicate.
fn make_two_due(installation: &Installation) {
    // So many that one of them could be removed: the agent is asked.
    let texts = "more than one, token each, all of them, different, in words, In words";
    for (agent, model) in [("robin", "lab:small"), ("wren", "builtin:careful")] {
        let options = ["--refinement-trigger-tokens", "1", "--model", model];
        installation.create(agent, &options);
        for text in texts.split(", ") {
            installation.ok(&["remember", agent, text]);
        }
    }
}

#[test]
fn a_sweep_runs_what_is_due_and_fails_when_one_fails() {
    let installation = Installation::new();
    let _server = installation.scripted([ServerStep::html(), ServerStep::html()]);
    make_two_due(&installation);
    // Only duplicates may leave, and there are none: the agent is not asked, and that is no failure.
    installation.create("kite", &["--refinement-trigger-tokens", "1"]);
    installation.ok(&["agent", "set", "kite", "model", "lab:small"]);
    installation.ok(&["agent", "set", "kite", "loss_guard", "refuse"]);
    installation.ok(&["remember", "kite", "more than one token"]);
    let ran = installation.run(&["sweep"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    lines[0].begins("robin: failed: the answer is not one of a model");
    assert!(lines[1].starts_with("wren: completed"), "{}", ran.stdout);
    let told = "kite: not asked: there is nothing to refine: only duplicates may leave";
    ran.reports(told);
    let again = installation.run(&["sweep"]);
    assert_eq!((again.code, again.stdout.as_str()), (Some(0), ""));
    again.reports("no agent is due");
}

/// Runs a sweep in which the first agent's model responds after a minute, and calls `interrupt` during that.
#[cfg(unix)]
fn slow_sweep(interrupt: impl FnOnce(&Installation, &std::process::Child)) -> Ran {
    let installation = Installation::new();
    let server = installation.scripted([late_answer()]);
    with_short_lease(&installation, &server);
    make_two_due(&installation);
    let sweep = installation.start(&["sweep"]);
    wait_until(|| !server.received().is_empty());
    interrupt(&installation, &sweep);
    Ran::from_output(sweep.wait_with_output().unwrap())
}

#[cfg(unix)]
#[test]
fn a_session_cancelled_elsewhere_does_not_end_a_sweep() {
    let ran = slow_sweep(|installation, _| {
        let sessions = installation.json(&["sessions", "robin"]);
        let session = sessions["items"][0]["id"].as_str().unwrap();
        installation.json(&["cancel", session]);
    });
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!((ran.code, lines.len()), (Some(1), 2), "{ran:?}");
    assert!(lines[0].starts_with("robin: abandoned"), "{ran:?}");
    assert!(lines[1].starts_with("wren: completed"), "{ran:?}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_sweep_with_the_session_that_it_cancels() {
    let ran = slow_sweep(|_, sweep| {
        let interrupt = ["-INT".to_owned(), sweep.id().to_string()];
        let sent = std::process::Command::new("kill").args(interrupt).status();
        assert!(sent.unwrap().success());
    });
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!((ran.code, lines.len()), (Some(130), 1), "{ran:?}");
    assert!(lines[0].starts_with("robin: abandoned"), "{ran:?}");
}

#[test]
fn a_session_of_a_process_that_died_is_closed_when_its_lease_lapses() {
    let installation = with_texts();
    let server = installation.scripted([late_answer()]);
    with_short_lease(&installation, &server);
    let mut child = installation.start("refine wren --model lab:small");
    wait_until(|| !server.received().is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    let open = installation.refused(&["refine", "wren"]);
    open.tells("a session is running already");
    open.tells("hint: ");
    let held =
        "SELECT count(*) FROM sessions WHERE lease_until >= unixepoch('now', 'subsec') * 1000000";
    wait_until(|| installation.count(held) == 0);
    let ran = installation.run(&["sessions", "wren", "--json"]);
    ran.reports("closed 1 session of a process");
    let sessions: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(sessions["items"][0]["state"], "abandoned");
    assert_eq!(sessions["items"][0]["end_reason"], "lease_expired");
}

#[cfg(unix)]
#[test]
fn ctrl_c_cancels_the_session_and_shows_its_outcome() {
    let installation = with_texts();
    let server = installation.scripted([late_answer()]);
    let child = installation.start(&["refine", "wren", "--model", "lab:small"]);
    wait_until(|| !server.received().is_empty());
    let interrupt = ["-INT".to_owned(), child.id().to_string()];
    let sent = std::process::Command::new("kill").args(interrupt).status();
    assert!(sent.unwrap().success());
    let ran = Ran::from_output(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.starts_with("abandoned\n"), "{ran:?}");
    ran.reports("the session ended as `abandoned`: cancelled");
    let sessions = installation.items("sessions wren");
    assert_eq!(sessions[0]["end_reason"], "cancelled");
}

#[test]
fn a_cancelled_session_ends_for_its_worker_and_its_edits_stay() {
    let installation = with_texts();
    let (tool, update) = waxing();
    let server = installation.scripted([
        ServerStep::text("YES"),
        ServerStep::call(tool, update),
        ServerStep::Slow(Duration::from_secs(60), Box::new(ServerStep::text("Hm."))),
    ]);
    with_short_lease(&installation, &server);
    let worker = installation.start(&["refine", "wren", "--model", "lab:small"]);
    wait_until(|| server.received().len() == 3);
    let session = installation.last_session();

    let cancelled = installation.json(&["cancel", &session]);
    cancelled.has(json!({"id": session, "state": "abandoned", "edits": 1}));
    let sessions = installation.items("sessions wren");
    assert_eq!(sessions[0]["end_reason"], "cancelled");
    assert_eq!(installation.core()[2], "Marta waxes her thread twice.");

    let again = installation.refused(&["cancel", &session]);
    let ended = "of `wren` cannot be cancelled: it has ended as `abandoned`";
    let told = format!("error: session {session} {ended}\n");
    assert!(again.starts_with(&told), "{again}");
    again.tells(&format!("hint: `memoir session {session}`"));
    let ran = Ran::from_output(worker.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.starts_with("abandoned\n"), "{ran:?}");
}

#[test]
fn a_session_cancelled_for_a_person_is_shown_as_sessions_are() {
    let installation = with_texts();
    // For the session of the model of rules, which removes duplicates only.
    installation.remember(&["Joaquín takes his coffee Black."]);
    let server = installation.scripted([late_answer()]);
    let mut worker = installation.start(&["refine", "wren", "--model", "lab:small"]);
    wait_until(|| !server.received().is_empty());
    worker.kill().unwrap();
    worker.wait().unwrap();
    let session = installation.last_session();
    let shown = installation.ok(&["cancel", &session]);
    shown.begins(&format!("abandoned\n  session   {session}\n"));
    installation.ok(&["refine", "wren"]);
}

/// SPEC 4.1: the initiator of a session is shown with it, and in its first record too.
#[test]
fn spec_4_1_who_began_a_session_is_shown_by_every_command() {
    let installation = Installation::with_agent();
    installation.remember(&["twice", "Twice.", "once"]);
    installation.ok(&["refine", "wren"]);
    let owner = json!({"kind": "owner", "name": "command line"});
    let sessions = installation.json(&["sessions", "wren"]);
    assert_eq!(sessions["items"][0]["started_by"], owner);
    let id = sessions["items"][0]["id"].as_str().unwrap();
    assert_eq!(installation.json(&["session", id])["started_by"], owner);
    let shown = installation.ok(&["session", id]);
    shown.tells("by owner (command line)");
    let list = ["audit", "list", "wren", "--session", id];
    let records = installation.run(&[&list[..], &["--json"]].concat()).lines();
    assert_eq!(records[0]["data"]["started_by"], owner);
    let told = |record: &Value| record["data"].get("started_by").is_some();
    assert_eq!(records.iter().filter(|record| told(record)).count(), 1);
    let listed = installation.ok(&list);
    listed.tells("begun by: owner (command line)");
}

#[test]
fn a_rehearsal_that_cannot_be_applied_is_refused_with_a_reason() {
    let installation = Installation::with_agent();
    installation.remember(&["Ann likes tea.", "Ann likes Tea."]);
    installation.ok(&["refine", "wren"]);
    let refused = installation.refused(&["apply", "last"]);
    refused.tells("it is no rehearsal");
    let _server = installation.scripted([ServerStep::text("NO, not now.")]);
    installation.ok(&["refine", "wren", "--model", "lab:small", "--rehearse"]);
    let refused = installation.refused(&["apply", "last"]);
    refused.tells("it was not completed");
}
