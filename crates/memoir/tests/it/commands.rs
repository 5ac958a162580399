//! The happy path of each command that needs no session.

use memoir_testkit::{ScriptedServer, ServerStep, TestedObject, TestedText};
use serde_json::{Value, json};

#[cfg(target_os = "linux")]
use crate::installation::on_terminal;
use crate::installation::{Installation, Ran, names_in, rows};

#[test]
fn the_users_own_database_is_made_on_first_use_for_its_owner_only() {
    let installation = Installation::new();
    let list = installation.json(&["agent", "list"]);
    assert_eq!(list, json!({"items": [], "next_cursor": null}));
    // A command that only reads makes nothing.
    assert!(!installation.path(".local").exists());
    installation.ok(&["agent", "create", "wren"]);
    let folder = installation.path(".local/share/memoir");
    assert!(names_in(&folder).contains(&"memoir.db".to_owned()));
    #[cfg(unix)]
    for (path, mode) in [(folder.clone(), 0o700), (folder.join("memoir.db"), 0o600)] {
        use std::os::unix::fs::PermissionsExt;
        let found = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(found & 0o777, mode, "{}", path.display());
    }
}

/// SPEC 5.4, and the contract's fine print: `--json` prints the same object as REST.
#[test]
fn spec_5_4_an_erased_agent_is_printed_as_over_rest() {
    let installation = Installation::with_agent();
    installation.remember(&["Ines keeps bees."]);
    let id = installation.json("agent show wren")["id"].clone();
    let erased = installation.json("agent erase wren --yes");
    erased.has(json!({"id": id, "name": "wren", "core_count": 1, "journal_count": 0}));
    erased["originals"].has(json!({"total": 1, "in_prompt": 1, "archived": 0}));
    assert!(erased["erased_at"].is_string(), "{erased}");
}

#[test]
fn a_database_is_named_by_option_before_or_after_the_command_or_by_environment() {
    let installation = Installation::new();
    installation.ok(&["--database", "one.db", "agent", "create", "wren"]);
    installation.ok(&["agent", "show", "wren", "--database", "sqlite:one.db"]);
    let mut command = installation.command(&["agent", "show", "wren", "--json"]);
    let output = command.env("MEMOIR_DATABASE", "one.db").output().unwrap();
    assert!(output.status.success());
    assert!(!installation.path(".local").exists());
}

#[test]
fn spec_6_7_an_empty_variable_of_an_option_counts_as_unset() {
    let installation = Installation::with_agent();
    let run = |arguments: &[&str]| {
        let mut command = installation.command(arguments);
        for name in ["MEMOIR_DATABASE", "MEMOIR_CONFIG", "MEMOIR_URL"] {
            command.env(name, "");
        }
        Ran::of(&mut command)
    };
    run(&["agent", "show", "wren"]).ok("agent show");
    // A typed one may be an unset variable of a shell, and the user's own memory is not meant.
    let typed = run(&["agent", "show", "wren", "--database", ""]);
    assert_eq!(typed.code, Some(1), "{typed:?}");
    typed.stderr.tells("the database has no path");
}

#[test]
fn a_command_that_makes_nothing_leaves_no_files_of_a_mistyped_database() {
    let installation = Installation::new();
    let list = r#"[{"id": "1", "memory": "Tea.", "hash": "x"}]"#;
    installation.write("list.json", list);
    for command in [
        "agent list",
        "account list",
        "user list",
        "token list",
        "stats",
        "doctor",
        "installation show",
        "sweep",
        "audit verify --all",
        "agent show wren",
        "recall wren tea",
        "context wren",
        "ledger wren",
        "export wren",
        "remember wren 'Tea at four.'",
        "import wren list.json",
        "refine wren",
        "session last",
        "backup copy.db",
    ] {
        let ran = installation.run(&format!("--database wrong.db {command}"));
        assert_ne!(ran.code, Some(2), "{command}: {ran:?}");
        let files = names_in(&installation.path(""));
        assert_eq!(files.len(), 2, "{command}: {ran:?}");
    }
    let refused = installation.refused("--database wrong.db context wren");
    refused.tells("there is no agent `wren`");
}

#[test]
fn spec_6_1_commands_that_read_wait_for_no_other_process() {
    let installation = Installation::with_agent();
    installation.remember(&["Tea at four.", "Tea at four.", "Lena likes figs."]);
    installation.ok(&["refine", "wren"]);
    let _server = installation.scripted([ServerStep::text(r#"{"journal": [], "core": []}"#)]);
    installation.ok(&["agent", "set", "wren", "model", "lab:small"]);
    let talk = installation.write("talk.txt", "Ann: It rains.\n");
    installation.ok(&["absorb", "wren", &talk]);
    let path = installation.path(".local/share/memoir/memoir.db");
    let other = rusqlite::Connection::open(path).unwrap();
    // Words that are to be removed, which any command does by the way.
    let due = "UPDATE transcript_messages SET words_until = 1 WHERE words_until IS NOT NULL";
    assert_eq!(other.execute(due, []).unwrap(), 1);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    for command in [
        "recall wren tea",
        "ledger wren",
        "context wren",
        "context wren --max-tokens 500",
        "history wren",
        "agent list",
        "agent show wren",
        "sessions wren",
        "session last",
        "export wren",
        "stats",
        "audit list wren",
        "audit verify wren",
        "account list",
        "token list",
        "access list wren",
        "doctor",
    ] {
        installation.ok(command);
    }
    other.execute_batch("ROLLBACK").unwrap();
    installation.remember(&["Snow."]);
}

#[test]
fn accounts_share_nothing() {
    let installation = Installation::with_agent();
    let made = installation.ok(&["account", "create", "lab"]);
    assert_eq!(made, "created the account `lab`\n");
    installation.ok(&["--account", "lab", "agent", "create", "wren"]);
    installation.ok(&["remember", "wren", "mine", "--account", "LAB"]);
    assert_eq!(installation.texts(), Vec::<String>::new());
    let accounts = installation.each(&["account", "list"], "name");
    assert_eq!(accounts, ["default", "lab"]);
}

#[test]
fn an_agent_is_made_shown_set_paused_and_resumed() {
    let installation = Installation::new();
    installation.write("prompt.md", "You are Wren.\n");
    let made = installation.run(
        "agent create wren --system-prompt-file prompt.md --refinement-threshold 0.9 \
         --core-token-budget 2000 --immutable-tags 'vow, voice'",
    );
    assert_eq!(made.code, Some(0));
    assert!(made.stdout.starts_with("created the agent `wren` ("));
    made.reports("no model yet");

    let agent = installation.json(&["agent", "show", "WREN"]);
    assert_eq!(agent["system_prompt"], "You are Wren.");
    assert_eq!(agent["effective_refinement_threshold"], 0.9);
    assert_eq!(agent["immutable_tags"], json!(["vow", "voice"]));
    assert_eq!(agent["refinement_trigger_tokens"], json!(null));
    assert_eq!(agent["effective_refinement_trigger_tokens"], 2000);

    for [command, printed] in rows(
        "
        set wren refinement_threshold 0.8 | refinement_threshold is 0.8
        set wren refinement_threshold null | refinement_threshold is the default
        set wren core_token_budget --default | core_token_budget is the default
        set wren reflection_prompt --file prompt.md | reflection_prompt is 13 characters
        set wren name Wrenna | name is Wrenna
        pause wrenna | `Wrenna` is paused",
    ) {
        let told = installation.ok(&format!("agent {command}"));
        assert_eq!(told, format!("{printed}\n"));
    }
    let paused = installation.json(&["agent", "show", "wrenna"]);
    assert_eq!(paused["next_refinement_at"], json!(null));
    installation.ok(&["agent", "list"]).tells("paused");
    let resumed = installation.ok(&["agent", "resume", "wrenna"]);
    assert_eq!(resumed, "`Wrenna` is on the schedule\n");
    let shown = installation.ok(&["agent", "show", "wrenna"]);
    shown.tells("13 characters");
    shown.omits("You are");
}

#[test]
fn remembering_prints_the_number_and_json_the_memory() {
    let installation = Installation::with_agent();
    assert_eq!(installation.ok(&["remember", "wren", "first"]), "1\n");
    let saved = installation.run_with_input(&["remember", "wren", "-"], " from stdin \n");
    assert_eq!(saved.stdout, "2\n");
    let saved = installation
        .json("remember wren '-5 degrees' --kind journal --tag a --tag b --at 2026-03-01");
    assert_eq!(saved["number"], 3);
    assert_eq!(saved["content"], "-5 degrees");
    assert_eq!(saved["tags"], json!(["a", "b"]));
    assert_eq!(saved["created_at"], "2026-03-01T00:00:00Z");
    assert_eq!(saved["fades_at"], "2026-03-08T00:00:00Z");
    assert_eq!(installation.texts(), ["-5 degrees", "first", "from stdin"]);
    let vow = installation.json(&["remember", "wren", "a vow", "--constitutional"]);
    assert_eq!(vow["constitutional"], true);
    // Only a core memory can be constitutional.
    let refused = installation.refused("remember wren 'a day' --kind journal --constitutional");
    refused.tells("core memories only");
    // The only agent need not be named.
    assert_eq!(installation.ok(&["remember", "fifth"]), "5\n");
}

#[test]
fn saving_over_the_budget_reports_that_a_session_is_due() {
    let installation = Installation::new();
    let trigger = ["--refinement-trigger-tokens", "1"];
    installation.ok(&[&["agent", "create", "wren"][..], &trigger].concat());
    let ran = installation.run(&["remember", "wren", "more than one token"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "1\n"));
    ran.reports("`memoir refine wren --model PROVIDER:NAME`");
}

#[test]
fn spec_2_8_a_text_that_names_no_one_is_noted_beside_its_number() {
    let installation = Installation::with_agent();
    let ran = installation.run(&["remember", "wren", "She moved there"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "1\n"));
    let notes: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(notes.len(), 1, "{}", ran.stderr);
    assert!(notes[0].contains("who \"She\" is"), "{}", ran.stderr);
    let ran = installation.run(&["remember", "wren", "Rosa moved to Bremen"]);
    assert_eq!(ran.stderr, "");
}

#[test]
fn spec_2_8_found_memories_have_dates_to_the_minute_where_two_of_one_day_differ() {
    let installation = Installation::with_agent();
    for (at, text) in [
        ("2026-03-01T09:00:00Z", "The kiln is cold"),
        ("2026-03-02T09:00:00Z", "The kiln is warm"),
        ("2026-03-02T17:30:00Z", "The kiln is hot"),
    ] {
        installation.ok(&["remember", "wren", text, "--at", at]);
    }
    let found = installation.ok(&["recall", "wren", "kiln"]);
    for part in ["2026-03-01  ", "2026-03-02 09:00", "2026-03-02 17:30"] {
        found.tells(part);
    }
    found.omits("2026-03-01 09");
}

#[test]
fn spec_2_8_recall_explains_and_is_measured_on_questions_of_a_file() {
    let installation = Installation::with_agent();
    for text in ["Mia broke her wrist", "Rosa keeps bees", "The kiln is hot"] {
        installation.ok(&["remember", "wren", text]);
    }
    let told = installation.ok(&["recall", "wren", "Who broke a wrist?", "--explain"]);
    assert!(told.contains("1. #1") && told.contains("wrist"), "{told}");
    let found = installation.json(&["recall", "wren", "Who broke a wrist?", "--explain"]);
    assert_eq!(found["items"][0]["match"]["rank"], 1);
    let file = installation.path("questions.jsonl");
    let questions = "{\"query\": \"Who broke a wrist?\", \"numbers\": [1]}\n\n\
        {\"query\": \"kiln\", \"numbers\": [3, 2]}\n{\"query\": \"silk\", \"numbers\": [2]}\n";
    std::fs::write(&file, questions).unwrap();
    let path = file.to_str().unwrap();
    let told = installation.ok(&["recall", "wren", "--eval", path]);
    told.begins("3 questions\n");
    let one = installation.write("one.jsonl", r#"{"query": "kiln", "numbers": [3]}"#);
    let told = installation.ok(&["recall", "wren", "--eval", &one]);
    assert!(told.starts_with("1 question\n"), "{told}");
    let sizes = ["--first", "1,2", "--tokens", "30,1000"];
    let arguments = [&["recall", "wren", "--eval", path], &sizes[..]].concat();
    let measured = installation.json(&arguments);
    let rows = measured["sizes"].as_array().unwrap();
    let row = |at: usize| {
        let row = &rows[at];
        let share = |name: &str| (row[name].as_f64().unwrap() * 3.0).round() as u64;
        let place = row["place"].as_str().unwrap();
        (place, row["size"].as_u64(), share("any"), share("all"))
    };
    let found: Vec<_> = (0..rows.len()).map(row).collect();
    assert_eq!(
        found,
        [
            ("recalled", Some(1), 2, 1),
            ("recalled", Some(2), 2, 1),
            // Too few for the headings.
            ("context", Some(30), 0, 0),
            ("context", Some(1_000), 3, 3),
            ("context", None, 3, 3),
            ("start", None, 3, 3),
            ("start_and_prompt", None, 3, 3),
        ]
    );
    let context = installation.json(&["context", "wren"]);
    let size = context["text"].as_str().unwrap().chars().count();
    assert_eq!(rows[4]["tokens"], size.div_ceil(4));
    let refused = installation.run(&["recall", "wren", "kiln", "--first", "3"]);
    assert_eq!(refused.code, Some(2));
    std::fs::write(&file, "{\"query\": \"a secret\", \"numbers\": []}\n").unwrap();
    let refused = installation.refused(&["recall", "wren", "--eval", path]);
    refused.tells("line 1");
    std::fs::write(&file, "{\"query\": \"a secret\"}\n").unwrap();
    let ran = installation.run(&["recall", "wren", "--eval", path]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("line 1") && !ran.stderr.contains("secret"));
    let both = installation.run(&["recall", "wren", "kiln", "--eval", path]);
    assert_eq!(both.code, Some(2));
}

/// The scripted model's vector of a text: about bees, about a kiln, about neither.
fn about(text: &str) -> Vec<f32> {
    let has = |words: [&str; 2]| f32::from(u8::from(words.iter().any(|word| text.contains(word))));
    vec![has(["bees", "honey"]), has(["kiln", "oven"]), 0.125]
}

#[test]
fn spec_2_8_with_embeddings_recall_finds_by_meaning_and_says_where_it_did_not() {
    let installation = Installation::with_agent();
    let empty = installation.run(&["recall", "wren", "honey"]);
    empty.reports("there is no memory yet; `memoir remember wren TEXT` saves one");
    installation.remember(&["Rosa keeps bees", "The kiln is hot"]);
    let server = ScriptedServer::always(ServerStep::embeddings(about));
    let meaning = format!(
        "[recall]\nembeddings = \"lab:small\"\n[providers.lab]\nbase_url = \"{}\"\n",
        server.base_url()
    );
    let configuration = installation.write("meaning.toml", meaning);
    let run =
        |arguments: &[&str]| installation.run(&[&["--config", &configuration], arguments].concat());
    let recall = |more: &[&str]| run(&[&["recall", "wren", "honey"], more].concat());
    let told = recall(&[]);
    told.reports("nothing found");
    told.reports("`memoir recall AGENT --index`");
    let made = run(&["recall", "wren", "--index"]);
    assert_eq!(made.ok("recall wren --index"), "2 vectors made\n");
    let told = recall(&["--explain"]);
    told.prints("Rosa");
    assert!(told.stderr.is_empty(), "{told:?}");
    let found: Value = serde_json::from_str(&recall(&["--explain", "--json"]).stdout).unwrap();
    assert_eq!(found["meaning"], "merged");
    assert_eq!(found["items"][0]["match"]["terms"][0]["found"], "meaning");
    let doctor = run(&["doctor"]).stdout;
    doctor.tells("go to `lab:small` at http://127.0.0.1");
    drop(server);
    let told = recall(&[]);
    told.reports("found by words alone");
    assert_eq!(told.code, Some(0));
    let found: Value = serde_json::from_str(&recall(&["--json"]).stdout).unwrap();
    assert_eq!(found["meaning"], "unavailable");
    let made = run(&["recall", "wren", "--index"]);
    assert_eq!(made.code, Some(0), "none is missing");
    let doctor = run(&["doctor"]).stdout;
    doctor.tells("now nothing is: nothing listens on port ");
    // Switched off, the response does not mention it.
    assert!(installation.json(&["recall", "wren", "kiln"])["meaning"].is_null());
}

#[test]
fn recall_finds_by_words_time_kind_and_tag() {
    let installation = Installation::with_agent();
    installation.remember_with("linen thread", &["--at", "2026-01-01", "--tag", "bench"]);
    installation.remember_with(
        "thread of linen",
        &["--at", "2026-02-01", "--kind", "journal"],
    );
    let found = |arguments: &[&str]| -> Vec<String> {
        let items = installation.items(&[&["recall", "wren"], arguments].concat());
        let number = |memory: &Value| memory["number"].to_string();
        items.iter().map(number).collect()
    };
    assert_eq!(found(&["linen thread"]), ["1", "2"]);
    assert_eq!(found(&["\"thread of\""]), ["2"]);
    assert_eq!(found(&["linen", "--until", "2026-01-01"]), ["1"]);
    assert_eq!(found(&["linen", "--since", "2026-01-02"]), ["2"]);
    assert_eq!(found(&["linen", "--kind", "core"]), ["1"]);
    assert_eq!(found(&["--tag", "BENCH"]), ["1"]);
    assert_eq!(found(&["linen", "--limit", "1"]).len(), 1);
    assert_eq!(found(&["%"]), Vec::<String>::new());
    let table = installation.ok(&["recall", "wren", "linen"]);
    assert!(table.starts_with("number"), "{table}");
}

#[test]
fn context_is_the_prompts_text_and_nothing_else() {
    let installation = Installation::with_agent();
    let empty = installation.run("context wren");
    let told = "no memory is in the prompt; `memoir remember wren TEXT` saves one\n";
    assert_eq!((empty.stdout.as_str(), empty.stderr.as_str()), ("", told));
    assert_eq!(installation.run("context wren --json").stderr, "");
    installation.remember(&["I am Wren."]);
    installation.ok(&["remember", "wren", "A quiet day.", "--kind", "journal"]);
    let text = installation.ok(&["context", "wren"]);
    assert!(text.starts_with("# Your memory\n"), "{text}");
    text.tells("\n#1 \"I am Wren.\"\n");
    let context = installation.json(&["context", "wren"]);
    assert_eq!(context["text"], text);
    assert_eq!(context["refinement_due"], json!(null));
    let short = installation.ok(&["context", "wren", "--max-tokens", "1"]);
    short.omits("I am Wren.");
}

#[test]
fn spec_2_3_a_context_that_shows_nothing_says_why_and_by_which_bound_it_would() {
    let installation = Installation::with_agent();
    for at in 1..=3 {
        let text = format!(
            "The kiln of Marta's workshop is fired on day {at} of each month. {}",
            "x".repeat(60)
        );
        installation.remember(&[text.as_str()]);
    }
    let ran = installation.run("context wren --max-tokens 100");
    ran.prints("Left out for want of room: 3 core memories.");
    ran.stdout.omits("kiln");
    ran.reports("note: nothing is shown: 3 memories left out (`max_tokens`: alone takes more than a fourth); `--max-tokens ");
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
    // The bound that it names shows all of them, without a note.
    let named = ran.stderr.split("--max-tokens ").nth(1).unwrap();
    let enough = named.split('`').next().unwrap();
    let shown = installation.run(&["context", "wren", "--max-tokens", enough]);
    assert_eq!(
        (shown.stdout.matches("kiln").count(), shown.stderr.as_str()),
        (3, "")
    );
    // Where a setting leaves them out, no bound of the whole is named.
    installation.ok("agent set wren context_core_tokens 1");
    let ran = installation.run("context wren --max-tokens 10000");
    ran.reports(
        "(`context_core_tokens`: alone takes more than a fourth); `--explain` lists each\n",
    );
    let json = installation.run("context wren --max-tokens 100 --json");
    assert_eq!(json.stderr, "");
}

#[test]
fn spec_2_3_the_share_that_the_last_context_showed_is_counted_and_explained() {
    let installation = Installation::with_agent();
    installation.import((1..=40).map(|at| format!("{at} {}", "linen ".repeat(20))));
    let share = || installation.json(&["stats", "wren"])["context"].clone();
    assert_eq!(share()["shown"], 40);
    assert_eq!(share()["max_tokens"], json!(null));
    let shown = installation.json(&["context", "wren", "--max-tokens", "600", "--explain"]);
    let left_out = shown["left_out"].as_array().unwrap().len();
    assert!((20..35).contains(&left_out), "{shown}");
    let omitted = shown["explained"]["omitted"].as_array().unwrap();
    assert_eq!(omitted.len(), left_out);
    omitted[0].has(json!({"rule": "core", "bound": "max_tokens"}));
    let parts = shown["explained"]["parts"].as_array().unwrap().iter();
    let characters = parts.map(|part| part["characters"].as_u64().unwrap());
    let text = shown["text"].as_str().unwrap();
    assert_eq!(characters.sum::<u64>(), text.chars().count() as u64);
    // An explained one is read by no model.
    assert_eq!(share()["shown"], 40);
    // Nor is one that a terminal shows.
    #[cfg(target_os = "linux")]
    {
        let command = installation.command("--no-pager context wren --max-tokens 600");
        on_terminal(command, None).tells("Left out for want of room");
        assert_eq!(share()["shown"], 40);
    }
    installation.ok(&["context", "wren", "--max-tokens", "600"]);
    // From another process, and without text.
    assert_eq!(share()["shown"], 40 - left_out);
    assert_eq!(share()["max_tokens"], 600);
    let quarter = &share()["by_quarter"][0];
    assert_eq!(
        (&quarter["core_memories"], &quarter["shown"]),
        (&json!(40), &share()["shown"])
    );
    let stats = installation.ok(&["stats", "wren"]);
    stats.tells(&format!(
        "shows {} of 40 core memories within 600 tokens",
        40 - left_out
    ));
    let doctor = installation.ok(&["doctor"]);
    doctor.tells("warning  context");
    doctor.tells("hint: raise the agent's");
    let table = installation.ok(&["context", "wren", "--max-tokens", "600", "--explain"]);
    assert!(table.starts_with("part "), "{table}");
    table.tells("neither among the oldest");
    table.omits("linen");
}

#[test]
fn the_ledger_lists_core_memories_or_all() {
    let installation = Installation::with_agent();
    installation.remember(&["twice", "twice", "once"]);
    installation.ok(&["refine", "wren"]);
    assert_eq!(installation.core(), ["twice", "once"]);
    let all = installation.ok(&["ledger", "wren", "--all"]);
    all.tells("discarded");
    let ran = installation.run(&["ledger", "wren"]);
    ran.reports("2 core memories, 3 of 5,000 tokens");
}

#[test]
fn a_joined_duplicate_is_restored_once() {
    let installation = Installation::with_agent();
    installation.remember(&["twice", "twice"]);
    installation.ok(&["refine", "wren"]);
    assert_eq!(installation.ok(&["restore", "wren", "#2"]), "restored #2\n");
    assert_eq!(installation.core(), ["twice", "twice"]);
    // Requested again, it is on the record and changes nothing (SPEC 4.3).
    let again = installation.ok(&["restore", "wren", "2"]);
    assert_eq!(again, "active already, and not changed: #2\n");
    assert_eq!(installation.core(), ["twice", "twice"]);
    let restored = "audit list wren --action memory_restored --json";
    assert_eq!(installation.ok(restored).lines().count(), 2);
}

#[test]
fn the_audit_is_listed_by_session_action_time_and_count() {
    let installation = Installation::with_agent();
    installation.remember(&["twice", "twice"]);
    installation.ok(&["refine", "wren"]);
    let session = installation.last_session();
    let list = |arguments: &[&str]| -> Vec<String> {
        let ran = installation.run(&[&["audit", "list", "wren", "--json"], arguments].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let lines = ran.lines();
        lines
            .iter()
            .map(|record| record["action"].as_str().unwrap().to_owned())
            .collect()
    };
    let all = [
        "agent_configured",
        "memory_saved",
        "memory_saved",
        "memory_deduplicated",
        "memory_refinement_complete",
    ];
    assert_eq!(list(&[]), all);
    assert_eq!(list(&["--session", &session]), all[3..]);
    assert_eq!(list(&["--action", "memory_saved"]).len(), 2);
    assert_eq!(list(&["--action", "duplicates joined,saved"]).len(), 3);
    assert_eq!(list(&["--last", "1"]), all[4..]);
    assert_eq!(list(&["--since", "2999-01-01"]), Vec::<String>::new());
    let table = installation.ok(&["audit", "list", "wren"]);
    table.tells("owner (command line)");
    table.tells("discarded: #2");
}

#[test]
fn doctor_calls_each_model_where_that_is_asked_for() {
    let installation = Installation::with_agent();
    let server = installation.scripted([ServerStep::text("OK"), ServerStep::html()]);
    installation.ok(&["agent", "create", "robin", "--model", "lab:small"]);
    assert!(!installation.ok(&["doctor"]).contains("answered"));
    assert!(
        server.requests().is_empty(),
        "without the word it calls none"
    );
    let called = installation.ok(&["doctor", "--call"]);
    called.tells("`lab:small` answered in ");
    assert_eq!(server.requests().len(), 1, "rules are not asked");
    let failed = installation.run(&["doctor", "--call"]);
    assert_eq!(failed.code, Some(1));
    failed.prints("`lab:small` was called: ");
}

#[test]
fn doctor_is_content_with_a_sound_installation_and_warns_of_agents_without_a_model() {
    let installation = Installation::with_agent();
    let sound = installation.items(&["doctor"]);
    assert!(sound.iter().all(|finding| finding["severity"] == "ok"));
    let areas = sound.iter().map(|finding| finding["area"].as_str());
    let areas = areas.map(Option::unwrap).collect::<Vec<_>>();
    // The last one says that recall is by words, with the command that gives it a meaning.
    assert_eq!(
        areas.join(" "),
        "paths paths paths paths configuration key database access database model schedule clock \
         counts context quotas unfinished administrators embeddings"
    );
    installation.ok(&["agent", "create", "robin"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let open = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(installation.path(".local/share/memoir/memoir.db"), open).unwrap();
        let text = installation.ok(&["doctor"]);
        text.tells("warning  database");
        text.tells("`chmod 600 ");
    }
    let text = installation.ok(&["doctor"]);
    text.tells("warning  model");
    text.tells("hint: set `model`");
}
