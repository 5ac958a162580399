//! A closed installation: commands show an agent's texts with its token only (SPEC 5.5).

use memoir_testkit::{ServerStep, TestedObject, TestedText, tamper};
use serde_json::{Value, json};

use crate::installation::{Installation, MadeOnce, Ran, rows, script};

const WORD: &str = "Zwitscher";

/// With an agent that has memories, two sessions and prompts of its own, and its token. Still open.
fn installation() -> (Installation, String) {
    static MADE: MadeOnce = MadeOnce::new();
    let installation = MADE.copy(made);
    let token = std::fs::read_to_string(installation.path("token")).unwrap();
    (installation, token.trim_end().to_owned())
}

fn made() -> Installation {
    let installation = Installation::with_agent();
    let token = installation.ok("token create --role agent --agent wren");
    installation.write("token", token);
    for at in 0..6 {
        let text = format!("Note {at} says {WORD} and some more words, so that it is long enough.");
        installation.ok(&["remember", "wren", &text, "--tag", WORD, "--source", WORD]);
    }
    let content = format!("{WORD} stays, and so do the words that make it long enough.");
    let mut steps = script(&[
        ("update_memory", json!({"id": 1, "content": content})),
        ("delete_memory", json!({"id": 6})),
    ]);
    steps.pop();
    let summary = json!({"summary": format!("{WORD} was put in order.")});
    steps.push(ServerStep::call("complete_refinement", summary));
    steps.push(ServerStep::text(&format!("No. {WORD}!")));
    let server = installation.scripted(steps);
    installation.ok(&["agent", "set", "wren", "model", "lab:small"]);
    installation.ok(&["refine", "wren"]);
    installation.ok(&["refine", "wren"]);
    drop(server);
    let archived = format!("An old note says {WORD}.");
    installation.ok(&["remember", "wren", &archived, "--kind", "archival"]);
    installation
}

fn close(installation: &Installation) {
    let password = installation.write("password", "correct horse battery\n");
    installation.ok(&["user", "add", "Ada", "--password-file", &password]);
}

fn first_session(installation: &Installation) -> String {
    let sessions = installation.json(&["sessions", "wren"]);
    sessions["items"][1]["id"].as_str().unwrap().to_owned()
}

/// Without the agent's token a command that shows texts is refused, or shows the rest alone.
#[test]
fn spec_5_5_what_shows_texts_is_for_the_agent() {
    let (installation, token) = installation();
    let session = first_session(&installation);
    let lines = rows(
        "
        recall wren Note | refused
        context wren | refused
        history wren | refused
        history wren --json | refused
        export wren | refused
        audit export wren | refused
        session SESSION --text | refused
        ledger wren --all | shown
        ledger wren --json | shown
        archive wren | shown
        archive wren --json | shown
        sessions wren --json | shown
        session SESSION | shown
        session SESSION --json | shown
        audit list wren --json | shown",
    );
    // A session's times are said from the present, which goes on.
    let timeless = |shown: String| -> Vec<String> {
        let lines = shown.lines().map(str::to_owned);
        lines
            .filter(|line| !line.contains(" ago") && !line.contains("just now"))
            .collect()
    };
    let lines = lines.map(|[line, without]| (line.replace("SESSION", &session), without));
    let lines: Vec<(String, &str, Vec<String>)> = lines
        .map(|(line, without)| {
            let open = installation.ok(&line);
            assert!(open.contains(WORD), "on a machine of one's own: {open}");
            (line, without, timeless(open))
        })
        .collect();
    close(&installation);
    let admin = installation.ok("token create --role admin");
    installation.ok("agent create kite");
    let kite = installation.ok("token create --role agent --agent kite");
    for (line, without, open) in lines {
        for other in ["", &admin, &kite] {
            let ran = installation.with_token(other, &line);
            format!("{ran:?}").omits(WORD);
            match without {
                "refused" if other.is_empty() => ran
                    .error()
                    .tells("hint: give the agent's token in MEMOIR_TOKEN, or"),
                "refused" => {
                    let error = ran.error();
                    error.tells("hint: the token in MEMOIR_TOKEN is of another agent or of an administrator");
                    error.tells("give the agent's own, or, as the owner of this machine");
                }
                _ => assert_ne!(ran.ok(&line), ""),
            }
        }
        let wrong = installation.with_token("memoir_wrong", &line).error();
        wrong.tells("is invalid");
        let own = installation.with_token(&token, &line);
        assert_eq!(timeless(own.ok(&line)), open);
    }
    let kept = installation.ok("kept wren");
    kept.tells("in the archive");
    kept.omits(WORD);
}

/// SPEC 5.5: a configuration closes an installation, and opens none.
#[test]
fn spec_5_5_a_configuration_does_not_open_what_is_closed() {
    let (installation, _) = installation();
    close(&installation);
    let other = installation.write("open.toml", "closed = false\n");
    for command in ["ledger", "context"] {
        let ran = installation.run(&["--config", &other, command, "wren"]);
        format!("{ran:?}").omits(WORD);
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
    tamper(&file, "DELETE FROM users");
    refused(&installation);
    installation
        .with_token(&token, "context wren")
        .ok("context");
}

#[test]
fn spec_5_5_what_is_changed_on_the_host_shows_no_words() {
    let (installation, _) = installation();
    close(&installation);
    let session = first_session(&installation);
    let no = || [ServerStep::text(&format!("No. {WORD}!"))];
    let server = installation.scripted(no());
    for line in [
        "refine wren",
        "agent show wren --json",
        "agent set wren core_token_budget 1900 --json",
        "rollback SESSION --json",
        "restore wren 6 --json",
        "agent list --json",
        "audit verify wren --json",
        "doctor",
    ] {
        let ran = installation.run(&line.replace("SESSION", &session));
        format!("{ran:?}").omits(WORD);
    }
    drop(server);
    let server = installation.scripted(no());
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
    let (shred, make) = (
        "shred wren 2 --yes",
        "token create --role agent --agent wren",
    );
    let archive = "export wren --format archive --output a.archive";
    for line in [shred, "mcp --agent wren", archive, make] {
        let ran = installation.run(line);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{line}");
    }
    assert!(!installation.path("a.archive").exists());
    let made = installation.with_token(&token, make).ok(make);
    assert_eq!(made.lines().count(), 1, "{made}");
    installation.with_token(&token, shred).ok(shred);
}

/// SPEC 2.4, 3.12: only the owner edits pages. In a closed installation an import is an administrator's, whose texts
/// replace none of the agent's.
#[test]
fn spec_2_4_a_page_replaces_no_memory_of_a_closed_installation() {
    let (installation, token) = installation();
    let folder = installation.path("pages");
    let name = folder.to_str().unwrap();
    installation.ok(&["export", "wren", "--format", "markdown", "--output", name]);
    close(&installation);
    let pages = std::fs::read_dir(folder.join("core")).unwrap();
    let page = pages.map(|page| page.unwrap().path()).next().unwrap();
    let text = std::fs::read_to_string(&page).unwrap();
    std::fs::write(&page, text.replace(WORD, "Gesang")).unwrap();
    let export = || installation.with_token(&token, "export wren").ok("export");
    let before = export();
    let apply = ["import", "wren", name, "--apply"];
    let refused = installation.with_token(&token, &apply);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    refused.reports("this installation is closed: a page replaces no memory");
    refused.reports("memoir remember --replaces");
    refused.reports("memoir installation open");
    assert_eq!(export(), before);
    // A new page is an import as any other.
    std::fs::write(&page, text).unwrap();
    let new = "---\ntags: [boats]\n---\nThe mast came.";
    std::fs::write(folder.join("core/new.md"), new).unwrap();
    let applied = installation.with_token(&token, &apply);
    assert_eq!(applied.code, Some(0), "{applied:?}");
    assert_ne!(export(), before);
}

#[test]
fn spec_5_5_a_token_that_ends_makes_none_that_ends_later() {
    let (installation, token) = installation();
    close(&installation);
    let ending = "token create --role agent --agent wren --json --expires-at 2999-01-01";
    let printed = installation.with_token(&token, ending).ok(ending);
    let ending: Value = serde_json::from_str(&printed).unwrap();
    let maker = ending["token"].as_str().unwrap();
    let make = "token create --role agent --agent wren --json";
    let printed = installation.with_token(maker, make).ok(make);
    let made: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(made["expires_at"], ending["expires_at"]);
    let later = "token create --role agent --agent wren --expires-at 2999-01-02";
    let ran = installation.with_token(maker, later);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
}

#[test]
fn spec_2_4_what_is_saved_and_promoted_with_the_agents_token_is_by_the_agent() {
    let (installation, token) = installation();
    close(&installation);
    let own = |line: &str| -> Value {
        let printed = installation.with_token(&token, line).ok(line);
        serde_json::from_str(&printed).unwrap()
    };
    let blind = installation.json("remember wren 'The mill is sold.'");
    blind.has(json!({"origin": "administrator", "content": null}));
    let saved = own("remember wren 'The mill is sold.' --json");
    saved.has(json!({
        "origin": "agent", "content": "The mill is sold.", "same_as": blind["number"],
    }));
    // Its text is of its own side, which an administrator's text does not replace.
    let kept = installation.json("remember wren 'Note 1 is over.' --replaces 2");
    kept.has(json!({"replaced": [], "not_replaced": [{"number": 2, "reason": "side"}]}));
    let replaced = own("remember wren 'Note 1 is over now.' --replaces 2 --json");
    replaced.has(json!({"replaced": [2], "not_replaced": []}));
    own("promote wren 2 --json").has(json!({"number": 2, "kind": "core"}));
    let records = installation.run("audit list wren --action memory_promoted --json");
    assert_eq!(records.lines()[0]["actor"]["kind"], "agent");
    // The flag is an administrator's.
    let vow = "remember wren 'A vow.' --constitutional";
    let refused = installation.with_token(&token, vow).error();
    refused.tells("protect_memory");
    installation.ok(vow);
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
    // The command changes what is stored, and not the configuration.
    for line in ["installation show", "installation open"] {
        let ran = installation.run(line);
        ran.reports("the configuration closes it");
        ran.ok(line).begins("closed");
    }
    installation.refused(&["context", "wren"]);
    installation
        .with_token(&token, "context wren")
        .ok("context");
    // It shows no agent's texts.
    installation.ok("demo").tells("completed");
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
        let line = format!("installation open --user Ada --password-file {password}");
        installation.run(&line)
    };
    assert!(open(&wrong).error().contains("no administrator"));
    installation.refused(&["context", "wren"]);
    assert!(open(&right).stdout.starts_with("open"));
    assert!(installation.ok(&["context", "wren"]).contains(WORD));
    installation.ok(&["installation", "close"]).begins("closed");
    installation.refused(&["context", "wren"]);
    installation.ok(&["installation", "open"]).begins("open");
    let shown = installation.json("installation show");
    assert_eq!(shown["closed"], false);
    let log = installation.run("audit list --own --json").lines();
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
