//! A closed installation: commands show an agent's texts with its token only (SPEC 5.5).

use memoir_testkit::TestedText;
use serde_json::{Value, json};

use crate::installation::{Installation, Ran, script};

const WORD: &str = "Zwitscher";

/// With an agent that has memories, two sessions and prompts of its own, and its token. Still open.
fn installation() -> (Installation, String) {
    let installation = Installation::with_agent();
    let token = installation.ok(&["token", "create", "--role", "agent", "--agent", "wren"]);
    for at in 0..6 {
        let text = format!("Note {at} says {WORD} and some more words, so that it is long enough.");
        installation.ok(&["remember", "wren", &text, "--tag", WORD, "--source", WORD]);
    }
    let mut steps = script(&[
        (
            "update_memory",
            json!({"id": 1, "content": format!("{WORD} stays, and so do the words that make it long enough.")}),
        ),
        ("delete_memory", json!({"id": 6})),
    ]);
    steps.pop();
    let summary = json!({"summary": format!("{WORD} was put in order.")});
    steps.push(memoir_testkit::ServerStep::call(
        "complete_refinement",
        summary,
    ));
    steps.push(memoir_testkit::ServerStep::text(&format!("No. {WORD}!")));
    let server = installation.scripted(steps);
    installation.ok(&["agent", "set", "wren", "model", "lab:small"]);
    installation.ok(&["refine", "wren"]);
    installation.ok(&["refine", "wren"]);
    drop(server);
    let archived = format!("An old note says {WORD}.");
    installation.ok(&["remember", "wren", &archived, "--kind", "archival"]);
    (installation, token.trim_end().to_owned())
}

fn close(installation: &Installation) {
    let password = installation.write("password", "correct horse battery\n");
    installation.ok(&["user", "add", "Ada", "--password-file", &password]);
}

fn first_session(installation: &Installation) -> String {
    let sessions = installation.json(&["sessions", "wren"]);
    sessions["items"][1]["id"].as_str().unwrap().to_owned()
}

/// A command shows the agent's texts with its token only: without it the command is refused, or shows no text.
fn shown_to_the_agent_only(arguments: &[&str], is_refused: bool) {
    let (installation, token) = installation();
    let session = first_session(&installation);
    let arguments: Vec<&str> = arguments
        .iter()
        .map(|argument| {
            if *argument == "SESSION" {
                &session
            } else {
                *argument
            }
        })
        .collect();
    let open = installation.ok(&arguments);
    assert!(open.contains(WORD), "on a machine of one's own: {open}");
    close(&installation);
    let admin = installation.ok(&["token", "create", "--role", "admin"]);
    installation.ok(&["agent", "create", "kite"]);
    let kite = installation.ok(&["token", "create", "--role", "agent", "--agent", "kite"]);
    let others = [String::new(), admin, kite];
    for other in &others {
        let ran = installation.with_token(other.trim_end(), &arguments);
        assert!(!format!("{ran:?}").contains(WORD), "{arguments:?}: {ran:?}");
        if is_refused {
            assert!(ran.error().contains("MEMOIR_TOKEN"));
        } else {
            assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
            assert!(!ran.stdout.is_empty());
        }
    }
    let wrong = installation.with_token("memoir_wrong", &arguments).error();
    wrong.tells("is invalid");
    let own = installation.with_token(&token, &arguments);
    assert_eq!((own.code, own.stdout), (Some(0), open), "{arguments:?}");
}

/// SPEC 5.5: a configuration closes an installation, and opens none.
#[test]
fn spec_5_5_a_configuration_does_not_open_what_is_closed() {
    let (installation, _) = installation();
    close(&installation);
    let other = installation.write("open.toml", "closed = false\n");
    for arguments in [
        &["--config", &other, "ledger", "wren"][..],
        &["--config", &other, "context", "wren"],
    ] {
        let ran = installation.run(arguments);
        assert!(!format!("{ran:?}").contains(WORD), "{ran:?}");
        assert_eq!(ran.code, Some(1), "{ran:?}");
        ran.reports("`closed` can only be true");
    }
}

/// SPEC 5.5: write access to the database does not open a closed installation; nor does an older key store.
#[test]
fn spec_5_5_emptying_the_users_opens_nothing() {
    let (installation, token) = installation();
    let file = installation.path(".local/share/memoir/memoir.db");
    let keys = installation.path(".local/share/memoir/memoir.db.keys");
    let before = std::fs::read(&keys).unwrap();
    close(&installation);
    let refused = |installation: &Installation| {
        let ran = installation.run(&["context", "wren"]);
        assert!(!format!("{ran:?}").contains(WORD), "{ran:?}");
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let told = "this installation is closed";
        ran.reports(told);
    };
    // The key store from before the first administrator does not close it; the administrator does.
    let after = std::fs::read(&keys).unwrap();
    std::fs::write(&keys, before).unwrap();
    refused(&installation);
    std::fs::write(&keys, after).unwrap();
    let database = rusqlite::Connection::open(&file).unwrap();
    database.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    let triggers: Vec<(String, String)> = database
        .prepare(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'users'",
        )
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    for (name, _) in &triggers {
        database
            .execute_batch(&format!("DROP TRIGGER {name}"))
            .unwrap();
    }
    database.execute("DELETE FROM users", []).unwrap();
    for (_, sql) in &triggers {
        database.execute_batch(sql).unwrap();
    }
    drop(database);
    refused(&installation);
    assert_eq!(
        installation.with_token(&token, &["context", "wren"]).code,
        Some(0)
    );
}

#[test]
fn spec_5_5_recall_is_for_the_agent() {
    shown_to_the_agent_only(&["recall", "wren", "Note"], true);
}

#[test]
fn spec_5_5_context_is_for_the_agent() {
    shown_to_the_agent_only(&["context", "wren"], true);
}

#[test]
fn spec_5_5_history_is_for_the_agent() {
    shown_to_the_agent_only(&["history", "wren"], true);
    shown_to_the_agent_only(&["history", "wren", "--json"], true);
}

#[test]
fn spec_5_5_export_is_for_the_agent() {
    shown_to_the_agent_only(&["export", "wren"], true);
    shown_to_the_agent_only(&["audit", "export", "wren"], true);
}

#[test]
fn spec_5_5_a_ledger_without_words_is_numbers_and_flags() {
    shown_to_the_agent_only(&["ledger", "wren", "--all"], false);
    shown_to_the_agent_only(&["ledger", "wren", "--json"], false);
}

#[test]
fn spec_5_5_the_archive_without_words_is_numbers_dates_and_links() {
    shown_to_the_agent_only(&["archive", "wren"], false);
    shown_to_the_agent_only(&["archive", "wren", "--json"], false);
    let (installation, _) = installation();
    close(&installation);
    let kept = installation.ok(&["kept", "wren"]);
    assert!(kept.contains("in the archive") && !kept.contains(WORD));
}

#[test]
fn spec_5_5_sessions_without_words_are_states_and_counts() {
    shown_to_the_agent_only(&["sessions", "wren", "--json"], false);
    shown_to_the_agent_only(&["session", "SESSION"], false);
    shown_to_the_agent_only(&["session", "SESSION", "--json"], false);
    shown_to_the_agent_only(&["session", "SESSION", "--text"], true);
}

#[test]
fn spec_5_5_an_audit_without_words_is_actions_and_counts() {
    shown_to_the_agent_only(&["audit", "list", "wren", "--json"], false);
}

#[test]
fn spec_5_5_what_is_changed_on_the_host_shows_no_words() {
    let (installation, _) = installation();
    close(&installation);
    let session = first_session(&installation);
    let server = installation.scripted(vec![memoir_testkit::ServerStep::text(&format!(
        "No. {WORD}!"
    ))]);
    for arguments in [
        &["refine", "wren"][..],
        &["agent", "show", "wren", "--json"],
        &[
            "agent",
            "set",
            "wren",
            "core_token_budget",
            "1900",
            "--json",
        ],
        &["rollback", &session, "--json"],
        &["restore", "wren", "6", "--json"],
        &["agent", "list", "--json"],
        &["audit", "verify", "wren", "--json"],
        &["doctor"],
    ] {
        let ran = installation.run(arguments);
        assert!(!format!("{ran:?}").contains(WORD), "{arguments:?}: {ran:?}");
    }
    drop(server);
    let server = installation.scripted(vec![memoir_testkit::ServerStep::text(&format!(
        "No. {WORD}!"
    ))]);
    // Another agent: the first one has refused, and is not asked again today.
    installation.ok(&["agent", "create", "robin"]);
    installation.ok(&["agent", "set", "robin", "model", "lab:small"]);
    installation.ok(&["remember", "robin", "The kiln is fired on Thursdays."]);
    let ran = installation.run(&["refine", "robin", "--json"]);
    ran.stdout.omits(WORD);
    ran.prints("declined");
    drop(server);
}

#[test]
fn spec_5_5_what_takes_words_away_or_speaks_for_the_agent_needs_its_token() {
    let (installation, token) = installation();
    close(&installation);
    let archive = [
        "export",
        "wren",
        "--format",
        "archive",
        "--output",
        "a.archive",
    ];
    for arguments in [
        &["shred", "wren", "2", "--yes"][..],
        &["mcp", "--agent", "wren"],
        &archive,
        &["token", "create", "--role", "agent", "--agent", "wren"],
    ] {
        let ran = installation.run(arguments);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(1), ""),
            "{arguments:?}: {ran:?}"
        );
    }
    assert!(!installation.path("a.archive").exists());
    let made = installation.with_token(
        &token,
        &["token", "create", "--role", "agent", "--agent", "wren"],
    );
    assert_eq!(
        (made.code, made.stdout.lines().count()),
        (Some(0), 1),
        "{made:?}"
    );
    let shredded = installation.with_token(&token, &["shred", "wren", "2", "--yes"]);
    assert_eq!(shredded.code, Some(0), "{shredded:?}");
}

#[test]
fn spec_5_5_the_configuration_closes_a_machine_without_administrators() {
    let (installation, token) = installation();
    let access = |installation: &Installation| -> String {
        // The agent's model is not configured here, which is a finding too.
        let findings = installation.findings();
        let access = findings.iter().find(|finding| finding["area"] == "access");
        access.unwrap()["finding"].as_str().unwrap().to_owned()
    };
    assert!(access(&installation).starts_with("open"));
    installation.write(".config/memoir/config.toml", "closed = true\n");
    assert!(access(&installation).starts_with("closed"));
    installation.refused(&["context", "wren"]);
    assert_eq!(
        installation.with_token(&token, &["context", "wren"]).code,
        Some(0)
    );
    assert!(
        installation.ok(&["demo"]).contains("completed"),
        "it shows no agent's texts"
    );
}

#[test]
fn spec_5_5_a_use_of_the_token_on_the_host_is_noted() {
    let (installation, token) = installation();
    close(&installation);
    installation.with_token(&token, &["context", "wren"]);
    let tokens = installation.json(&["token", "list"]);
    assert_ne!(tokens["items"][0]["last_used_at"], Value::Null);
}

/// SPEC 5.5: opened with an administrator's password, or with the master key; either is on the record.
#[test]
fn spec_5_5_opening_takes_a_password_or_the_master_key_and_is_on_the_record() {
    let (installation, _) = installation();
    close(&installation);
    installation.refused(&["context", "wren"]);
    let wrong = installation.write("wrong", "another horse battery\n");
    let right = installation.path("password").display().to_string();
    let open = |password: &str| -> Ran {
        let file = ["--password-file", password];
        let command = ["installation", "open", "--user", "Ada"];
        installation.run(&[&command[..], &file].concat())
    };
    assert!(open(&wrong).error().contains("no administrator"));
    installation.refused(&["context", "wren"]);
    assert!(open(&right).stdout.starts_with("open"));
    assert!(installation.ok(&["context", "wren"]).contains(WORD));
    installation.ok(&["installation", "close"]).begins("closed");
    installation.refused(&["context", "wren"]);
    installation.ok(&["installation", "open"]).begins("open");
    assert_eq!(
        installation.json(&["installation", "show"])["closed"],
        false
    );
    let log = installation
        .run(&["audit", "list", "--own", "--json"])
        .lines();
    let told: Vec<(&str, &str)> = log
        .iter()
        .map(|record| {
            let text = |value: &'static str| record.pointer(value).unwrap().as_str().unwrap();
            (text("/action"), text("/actor/name"))
        })
        .filter(|(action, _)| action.starts_with("installation_"))
        .collect();
    assert_eq!(
        told,
        [
            ("installation_closed", "memoir"),
            ("installation_opened", "user Ada"),
            ("installation_closed", "command line"),
            ("installation_opened", "command line"),
        ]
    );
    installation
        .ok(&["audit", "list", "--own"])
        .tells("administrator added");
    let verified = installation.ok(&["audit", "verify", "--all"]);
    verified.tells("valid   account default: ");
}
