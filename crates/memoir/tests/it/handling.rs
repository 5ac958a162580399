//! `memoir protect`, `unprotect` and `discard`, what is bounded and marked, and what is said after a trial
//! with a tiny memory.

use serde_json::json;

use crate::installation::{Installation, Ran, script};

#[test]
fn spec_3_10_a_memory_is_protected_and_discarded_by_its_number() {
    let installation = Installation::new();
    installation.ok(&["agent", "create", "wren"]);
    installation.ok(&["remember", "wren", "I like rain."]);
    assert!(
        installation
            .ok(&["protect", "wren", "1"])
            .starts_with("protected #1")
    );
    let protected = installation.json(&["ledger", "wren", "--protected"]);
    assert_eq!(protected["items"][0]["constitutional"], true);
    let others = installation.json(&["ledger", "wren", "--protected=false"]);
    assert_eq!(others["items"].as_array().unwrap().len(), 0);
    let refused = installation.run(&["discard", "wren", "1"]);
    assert_eq!(refused.code, Some(1));
    installation.ok(&["unprotect", "wren", "1"]);
    installation.ok(&["discard", "wren", "1"]);
    assert!(!installation.ok(&["context", "wren"]).contains("rain"));
    installation.ok(&["restore", "wren", "1"]);
    let actions = "memory_protected,memory_unprotected,memory_discarded";
    let done = installation.ok(&[
        "audit", "list", "wren", "--action", actions, "--memory", "1", "--json",
    ]);
    assert_eq!(done.lines().count(), 3);
}

#[test]
fn spec_3_14_what_was_let_go_is_listed_and_brought_back_by_its_number() {
    let installation = Installation::with_agent();
    installation.remember(&[
        "Mira bakes on Fridays. She sings then.",
        "The old press came from Lisbon.",
        &"Of the hives behind the installation seven have honey in them. ".repeat(20),
    ]);
    assert_eq!(
        installation.ok(&["kept", "wren"]),
        "carries 3 of 3 wordings; 0 let go: 100.0% of all words is still said, 0 words let go, 0 of them in the last 365 days\n"
    );
    let _server = installation.scripted(script(&[
        (
            "update_memory",
            json!({"id": 1, "content": "Mira bakes on Fridays."}),
        ),
        ("delete_memory", json!({"id": 2})),
    ]));
    installation.ok(&["refine", "wren", "--model", "lab:small"]);
    let kept = installation.ok(&["kept", "wren"]);
    for told in [
        "carries 1 of 3 wordings; 2 let go: 94.7%",
        &installation.last_session(),
        "She, sings, then\n",
        "old, press, came, from, Lisbon (deleted)\n",
    ] {
        assert!(kept.contains(told), "{told}: {kept}");
    }
    let verified = installation.ok(&["audit", "verify", "wren"]);
    assert!(
        verified.contains("carries 1 of 3 wordings; 2 let go\n"),
        "{verified}"
    );
    // Programs get the objects of `/v1`.
    let shown = installation.json(&["kept", "wren"]);
    assert_eq!(shown["kept"]["carried"], 1);
    assert_eq!(
        shown["items"][0]["content"],
        "Mira bakes on Fridays. She sings then."
    );
    assert_eq!(
        shown["items"][1]["let_go"][0]["words"],
        json!(["old", "press", "came", "from", "Lisbon"])
    );

    assert_eq!(installation.ok(&["restore", "wren", "1"]), "restored #1\n");
    assert_eq!(installation.ok(&["restore", "wren", "2"]), "restored #2\n");
    let refused = installation.refused(&["restore", "wren", "3"]);
    assert!(
        refused.contains("sessions let no word of it go"),
        "{refused}"
    );
    let kept = installation.ok(&["kept", "wren"]);
    assert!(
        kept.starts_with("carries 3 of 3 wordings; 0 let go: 100.0%"),
        "{kept}"
    );
    assert!(
        installation
            .ok(&["context", "wren"])
            .contains("She sings then.")
    );
    installation.ok(&["audit", "verify", "wren"]);
}

#[test]
fn spec_2_2_a_setting_shows_its_default_and_a_placeholder_is_warned_of() {
    let installation = Installation::new();
    installation.ok(&[
        "agent",
        "create",
        "wren",
        "--refinement-schedule",
        "Thu 3:30",
    ]);
    let shown = installation.ok(&["agent", "show", "wren"]);
    for told in [
        "Thu 03:30",
        "8000 (default)",
        "all of them (default)",
        "You are wren. (default)",
    ] {
        assert!(shown.contains(told), "{told}: {shown}");
    }
    assert!(shown.contains("never: it has no core memories"), "{shown}");
    let set = installation.run(&["agent", "set", "wren", "system_prompt", "You are %{name}."]);
    assert_eq!(set.code, Some(0));
    assert!(
        set.stderr
            .contains("warning: system_prompt: `%{name}` is a placeholder"),
        "{}",
        set.stderr
    );
}

#[test]
fn spec_2_4_a_weak_origin_is_shown_and_looked_for() {
    let installation = Installation::new();
    installation.ok(&["agent", "create", "wren"]);
    installation.ok(&[
        "remember",
        "wren",
        "The kiln is hot.",
        "--origin",
        "external",
    ]);
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
    assert!(
        context.contains("- (origin external) The kiln is hot."),
        "{context}"
    );
    let found = installation.json(&["recall", "wren", "kiln", "--origin", "external"]);
    assert_eq!(found["items"].as_array().unwrap().len(), 1);
    assert_eq!(found["items"][0]["number"], 1);
    let refused = installation.run(&["recall", "wren", "kiln", "--origin", "heaven"]);
    assert_eq!(refused.code, Some(2));
}

#[test]
fn spec_2_3_a_faded_entry_is_marked() {
    let installation = Installation::new();
    installation.ok(&["agent", "create", "wren"]);
    installation.ok(&[
        "remember",
        "wren",
        "Long ago.",
        "--kind",
        "journal",
        "--at",
        "2020-01-01",
    ]);
    let ledger = installation.ok(&["ledger", "wren"]);
    assert!(ledger.contains("faded"), "{ledger}");
    assert_eq!(
        installation.json(&["ledger", "wren", "--faded=false"])["items"]
            .as_array()
            .unwrap()
            .len(),
        0
    );
}

/// An editor that notes how it finds the file, and does the rest of its line to it.
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
    assert_eq!(
        (same.code, same.stdout.as_str()),
        (Some(0), "nothing was changed\n")
    );
    let found = std::fs::read_to_string(installation.path("found")).unwrap();
    let lines: Vec<&str> = found.lines().collect();
    assert!(
        lines[0].starts_with("600 ") && lines[1].starts_with("700 "),
        "{found}"
    );
    assert_eq!(lines[2], "Mira lives in Bremen.");
    let edited = edit(
        "echo 'Mira lives in Kiel.' > \"$1\"; echo left > \"$1~\"",
        "1",
    );
    assert_eq!(
        (edited.code, edited.stdout.as_str()),
        (Some(0), "edited #1\n")
    );
    assert_eq!(installation.core(), ["Mira lives in Kiel.", "A vow."]);
    let told = "The owner of this machine gave my memory #1 another text.";
    assert!(installation.texts().contains(&told.to_owned()));
    let verified = installation.ok(&["audit", "verify", "wren"]);
    assert!(verified.contains("carries 2 of 2 wordings"), "{verified}");
    // What fails changes nothing, and leaves nothing behind.
    assert!(
        edit("echo other > \"$1\"; exit 3", "1")
            .stderr
            .contains("the editor failed")
    );
    assert!(
        edit("echo > \"$1\"", "1")
            .stderr
            .contains("the text is empty")
    );
    // Nor does a terminal that is closed, or a key that ends programs: both are of the shell and its parent alike.
    for signal in ["HUP", "QUIT", "INT", "TERM"] {
        let mut command = installation.command(&["edit", "wren", "1"]);
        command.env("EDITOR", format!("kill -{signal} $PPID; false"));
        let told = Ran::of(&mut command).stderr;
        assert!(told.contains("the editor failed"), "{signal}: {told}");
    }
    installation.ok(&["protect", "wren", "2"]);
    let refused = edit("echo no > \"$1\"", "2").stderr;
    assert!(refused.contains("#2 is constitutional"), "{refused}");
    let none = installation.run(&["edit", "wren", "1"]).error();
    assert!(none.contains("no editor is named"), "{none}");
    assert_eq!(installation.core(), ["Mira lives in Kiel.", "A vow."]);
    let left = crate::installation::names_in(&installation.path(".local/state/memoir"));
    assert!(
        left.iter().all(|name| !name.starts_with("edit-")),
        "{left:?}"
    );
    // On a shared installation nobody edits what is an agent's.
    installation.write(".config/memoir/config.toml", "closed = true\n");
    let shared = edit("echo no > \"$1\"", "1").error();
    assert!(shared.contains("this installation is shared"), "{shared}");
}
