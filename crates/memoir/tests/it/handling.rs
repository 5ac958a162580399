//! `memoir protect`, `unprotect` and `discard`, limits and marks, and `memoir edit`.

use memoir_testkit::{TestedObject, TestedText};
use serde_json::{Value, json};

#[cfg(unix)]
use crate::installation::names_in;
use crate::installation::{Installation, Ran, rows};

#[test]
fn spec_3_10_a_memory_is_protected_and_discarded_by_its_number() {
    let installation = Installation::new();
    installation.ok(&["agent", "create", "wren"]);
    installation.ok(&["remember", "wren", "I like rain."]);
    let protected = installation.ok("protect wren 1");
    protected.begins("protected #1");
    let protected = installation.json(&["ledger", "wren", "--protected"]);
    assert_eq!(protected["items"][0]["constitutional"], true);
    let others = installation.items(&["ledger", "wren", "--protected=false"]);
    assert_eq!(others.len(), 0);
    let refused = installation.run(&["discard", "wren", "1"]);
    assert_eq!(refused.code, Some(1));
    installation.ok(&["unprotect", "wren", "1"]);
    installation.ok(&["discard", "wren", "1"]);
    assert!(!installation.ok(&["context", "wren"]).contains("rain"));
    installation.ok(&["restore", "wren", "1"]);
    let actions = "memory_protected,memory_unprotected,memory_discarded";
    let list = format!("audit list wren --action {actions} --memory 1 --json");
    assert_eq!(installation.ok(&list).lines().count(), 3);
}

#[test]
fn several_memories_are_handled_at_once_and_each_failure_is_named() {
    let installation = Installation::with_agent();
    installation.remember(&["One.", "Two.", "Three."]);
    // The only agent need not be named.
    let protected = installation.ok("protect 1 2");
    protected.begins("protected #1 #2");
    let ran = installation.run(&["discard", "wren", "1", "9", "3", "3"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), "discarded #3\n"));
    ran.reports("error: 2 of 3 memories failed");
    ran.reports("\n#1: ");
    ran.reports("\n#9: there is no memory #9");
    let ran = installation.run("unprotect 9 2 --json");
    assert_eq!(ran.code, Some(1));
    let done = ran.lines()[0]["items"].clone();
    assert_eq!(done.as_array().unwrap().len(), 1);
    assert_eq!(done[0]["number"], 2);
    let told: Value = serde_json::from_str(ran.stderr.lines().last().unwrap()).unwrap();
    let failed = json!([{"number": 9, "code": "not_found", "error": "there is no memory #9"}]);
    assert_eq!(told["failed"], failed);
    installation.ok("discard 2");
    let restored = installation.ok("restore 2 3");
    restored.begins("restored #2 #3");
    let history = installation.ok(&["history", "2", "3"]);
    history.tells("Two.");
    history.tells("Three.");
    let histories = installation.items(&["history", "wren", "2", "3"]);
    assert_eq!(histories.len(), 2);
    installation.ok(&["unprotect", "1"]);
    let shredded = installation.run_with_input(&["shred", "wren", "1", "3"], "1\n2\n");
    assert_eq!(shredded.code, Some(1));
    assert!(shredded.stdout.starts_with("shredded #1:"), "{shredded:?}");
    shredded.reports("#3: nothing was shredded");
    assert_eq!(installation.core(), ["Two.", "Three."]);
    // A number is not taken for the only agent where there are several; an agent with the name of a number is meant.
    installation.ok(&["agent", "create", "2"]);
    let refused = installation.refused(&["discard", "3"]);
    refused.tells("several agents");
    let refused = installation.refused(&["discard", "2", "3"]);
    refused.tells("there is no memory #3");
}

#[test]
fn an_operation_that_changes_nothing_says_so() {
    let installation = Installation::with_agent();
    installation.remember(&["One.", "Two."]);
    for [line, told] in rows(
        "
        restore 1 | active already, and not changed: #1
        unprotect 2 | not protected, and not changed: #2
        protect 1 | protected #1
        protect 1 | protected already, and not changed: #1
        discard 2 | discarded #2
        discard 2 | discarded already, and not changed: #2",
    ) {
        assert_eq!(installation.ok(line), format!("{told}\n"), "{line}");
    }
    // What was changed is distinguished from what was not.
    let both = installation.ok("restore 1 2");
    assert_eq!(both, "restored #2\nactive already, and not changed: #1\n");
    let archival = "remember wren Three. --kind archival";
    installation.ok(archival);
    let ran = installation.run("restore 3");
    ran.reports("in the archive: #3; `memoir promote`");
    ran.prints("active already");
}

#[test]
fn all_settings_are_listed_with_their_defaults() {
    let installation = Installation::with_agent();
    installation.ok(&["agent", "set", "wren", "core_token_budget", "6000"]);
    let listed = installation.ok(&["agent", "set", "wren"]);
    let help = installation.ok(&["agent", "set", "--help"]);
    let shown = installation.json(&["agent", "show", "wren"]);
    let mut defaults = 0;
    for field in memoir_domain::agent::Field::ALL {
        let name = format!("\n  {}", field.as_str());
        assert!(format!("\n{listed}").contains(&name), "{name}: {listed}");
        help.tells(&name);
        // SPEC 2.2: where it is unset, its default is shown, and said to be one.
        let effective = &shown[format!("effective_{}", field.as_str())];
        if field.is_text() || effective.is_null() || !shown[field.as_str()].is_null() {
            continue;
        }
        let default = match effective {
            Value::String(text) => text.clone(),
            Value::Array(tags) => {
                let tags: Vec<&str> = tags.iter().filter_map(Value::as_str).collect();
                tags.join(", ")
            }
            other => other.to_string(),
        };
        defaults += 1;
        listed.tells(&format!("  {} {default} (default)\n", field.as_str()));
    }
    assert!(defaults >= 9, "{defaults}");
    listed.tells("core_token_budget 6000\n");
    listed.tells("refinement_threshold 0.75 (default)\n");
    // What help says of a default is so.
    for (name, default) in [
        ("effective_refinement_threshold", "[default: 0.75]"),
        ("effective_context_journal_tokens", "[default: 8000]"),
    ] {
        let value = shown[name].to_string();
        assert_eq!(format!("[default: {value}]"), default);
        help.tells(default);
    }
}

#[test]
fn spec_2_2_a_setting_shows_its_default_and_a_placeholder_is_warned_of() {
    let installation = Installation::new();
    installation.create("wren", &["--refinement-schedule", "Thu 3:30"]);
    let shown = installation.ok(&["agent", "show", "wren"]);
    for told in
        "Thu 03:30, 8000 (default), all of them (default), You are wren. (default)".split(", ")
    {
        shown.tells(told);
    }
    shown.tells("never: there is nothing to refine");
    let set = installation.run(&["agent", "set", "wren", "system_prompt", "You are %{name}."]);
    assert_eq!(set.code, Some(0));
    set.reports("warning: system_prompt: `%{name}` is a placeholder");
}

#[test]
fn spec_2_4_a_weak_origin_is_shown_and_looked_for() {
    let installation = Installation::new();
    installation.ok(&["agent", "create", "wren"]);
    installation.remember_with("The kiln is hot.", &["--origin", "external"]);
    installation.ok(&["remember", "wren", "The kiln is old."]);
    for shown in [
        installation.ok(&["ledger", "wren"]),
        installation.ok(&["recall", "wren", "kiln"]),
    ] {
        let quoted = shown.lines().find(|line| line.contains("hot"));
        assert!(quoted.unwrap().contains(" external "), "{shown}");
        let own = shown.lines().find(|line| line.contains("old"));
        assert!(!own.unwrap().contains("administrator"), "{shown}");
    }
    let context = installation.ok(&["context", "wren"]);
    context.tells("\n(origin external from here on)\n#1 \"The kiln is hot.\"\n");
    let found = installation.items(&["recall", "wren", "kiln", "--origin", "external"]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["number"], 1);
    let refused = installation.run(&["recall", "wren", "kiln", "--origin", "heaven"]);
    assert_eq!(refused.code, Some(2));
}

#[test]
fn spec_2_3_an_expired_entry_is_marked() {
    let installation = Installation::new();
    installation.ok(&["agent", "create", "wren"]);
    installation.remember_with("Long ago.", &["--kind", "journal", "--at", "2020-01-01"]);
    let ledger = installation.ok(&["ledger", "wren", "--all"]);
    ledger.tells("expired");
    let expired = installation.json(&["ledger", "wren", "--expired"]);
    assert_eq!(expired["items"][0]["content"], "Long ago.");
    let others = installation.items(&["ledger", "wren", "--expired=false"]);
    assert_eq!(others.len(), 0);
}

/// An editor that notes the file's state, and applies the rest of its line to it.
#[cfg(unix)]
fn editor(installation: &Installation, rest: &str) -> String {
    let script = format!(
        "#!/bin/sh\nstat -c '%a %n' \"$1\" \"$(dirname \"$1\")\" > \"$HOME/found\"\ncat \"$1\" >> \"$HOME/found\"\n{rest}\n"
    );
    let path = installation.write("an editor.sh", script);
    format!("sh '{path}'")
}

#[cfg(unix)]
#[test]
fn spec_3_12_the_owner_edits_a_memory_in_an_editor() {
    let installation = Installation::with_agent();
    installation.remember(&["Mira lives in Bremen.", "A vow."]);
    let edit = |rest: &str, number: &str| {
        let mut command = installation.command(&["edit", "wren", number]);
        command.env("EDITOR", editor(&installation, rest));
        Ran::of(&mut command)
    };
    let same = edit("", "1");
    assert_eq!(same.ok("edit"), "nothing was changed\n");
    let found = std::fs::read_to_string(installation.path("found")).unwrap();
    let lines: Vec<&str> = found.lines().collect();
    lines[0].begins("600 ");
    lines[1].begins("700 ");
    assert_eq!(lines[2], "Mira lives in Bremen.");
    let kiel = "echo 'Mira lives in Kiel.' > \"$1\"; echo left > \"$1~\"";
    let edited = edit(kiel, "1");
    edited.reports("in the archive under it: #1");
    assert_eq!(edited.ok("edit"), "edited #1: it is #3 now\n");
    // The origin date stays, and with it the place among the others.
    let mut core = installation.core();
    core.sort();
    assert_eq!(core, ["A vow.", "Mira lives in Kiel."]);
    let archive = installation.json(&["archive", "wren"]);
    let old = &archive["items"][0];
    old.has(json!({"number": 1, "content": "Mira lives in Bremen.", "under": 3, "now": 3}));
    let verified = installation.ok(&["audit", "verify", "wren"]);
    verified.tells("3 originals: 2 in the prompt, 1 in the archive, 0 lost\n");
    // A failure changes nothing, and leaves no file where nothing was typed.
    edit("exit 3", "3").reports("the editor failed");
    edit("echo > \"$1\"", "3").reports("the text is empty");
    // Nor does a closed terminal, or a key that ends programs: these signals reach the shell and its parent alike.
    for signal in ["HUP", "QUIT", "INT", "TERM"] {
        let mut command = installation.command(&["edit", "wren", "3"]);
        command.env("EDITOR", format!("kill -{signal} $PPID; false"));
        let told = Ran::of(&mut command).stderr;
        assert!(told.contains("the editor failed"), "{signal}: {told}");
    }
    installation.ok(&["protect", "wren", "2"]);
    let refused = edit("echo no > \"$1\"", "2").stderr;
    refused.tells("#2 is constitutional");
    let none = installation.run(&["edit", "wren", "3"]).error();
    none.tells("no editor is named");
    let archival = edit("echo no > \"$1\"", "1").stderr;
    archival.tells("#1 is not a core memory");
    let mut core = installation.core();
    core.sort();
    assert_eq!(core, ["A vow.", "Mira lives in Kiel."]);
    let left = names_in(&installation.path(".local/state/memoir"));
    let is_text = |name: &String| name.starts_with("edit-") || name.starts_with("unsaved-");
    assert!(!left.iter().any(is_text), "{left:?}");
    let token = installation.ok("token create --role agent --agent wren");
    // In a closed installation only an agent changes its own texts.
    installation.write(".config/memoir/config.toml", "closed = true\n");
    let closed = edit("echo no > \"$1\"", "3").error();
    closed.tells("this installation is closed");
    // The refusal names both ways out (SPEC 5.5).
    closed.tells("with the agent's token in MEMOIR_TOKEN, use `memoir remember --replaces`, or,");
    closed.tells("memoir installation open");
    // With that token nothing is said of another agent.
    let own = installation.with_token(&token, "edit wren 3");
    assert_eq!(own.error(), closed);
}

#[cfg(unix)]
#[test]
fn an_edited_text_that_is_not_saved_is_kept_for_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let program = env!("CARGO_BIN_EXE_memoir");
    let discard = format!("'{program}' discard wren 1 > \"$HOME/told\" 2>&1");
    let meanwhile = format!("{discard} && echo Kiel. > \"$1\"");
    let long = "e".repeat(10_001);
    for (rest, typed, problem) in [
        (
            "echo Kiel. > \"$1\"; exit 3",
            "Kiel.\n",
            "the editor failed",
        ),
        (
            "echo Kiel. > \"$1\"; kill -INT $PPID; exit 1",
            "Kiel.\n",
            "the editor failed",
        ),
        (
            "printf '%10001s' e > \"$1\"; sed -i 's/ /e/g' \"$1\"",
            long.as_str(),
            "10001",
        ),
        ("printf '\\377' > \"$1\"", "\u{FFFD}", "is not UTF-8"),
        (meanwhile.as_str(), "Kiel.\n", "error: "),
    ] {
        let installation = Installation::with_agent();
        installation.remember(&["Mira lives in Bremen."]);
        let mut command = installation.command("edit wren 1");
        command.env("EDITOR", editor(&installation, rest));
        let told = Ran::of(&mut command).error();
        told.tells(problem);
        told.tells("unsealed and for you alone; remove it after use");
        let (_, path) = told.split_once("is kept in `").unwrap();
        let (path, _) = path.split_once('`').unwrap();
        let kept = std::fs::read(path).unwrap();
        assert_eq!(String::from_utf8_lossy(&kept), typed, "{rest}");
        let mode = std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let left = names_in(&installation.path(".local/state/memoir"));
        assert!(!left.iter().any(|name| name.starts_with("edit-")));
        told.omits("Kiel");
    }
}
