//! The archive: memories that leave the prompt, their display, and their return.

use memoir_testkit::{TestedObject, TestedText};
use serde_json::{Value, json};

use crate::installation::{Installation, MadeOnce, script};

/// An agent with the default loss guard and the smallest budget.
fn installation() -> Installation {
    let installation = Installation::new();
    let options = ["--model=builtin:careful", "--core-token-budget=1000"];
    installation.create("wren", &options);
    installation
}

/// A text of a hundred tokens that begins with these words.
fn long(words: &str) -> String {
    format!("{words} {}", "and so on ".repeat(40))
        .chars()
        .take(399)
        .collect::<String>()
        + "."
}

/// With twelve memories of a hundred tokens: over the budget.
fn over_the_budget() -> Installation {
    static MADE: MadeOnce = MadeOnce::new();
    MADE.copy(|| {
        let installation = installation();
        let words = "The kiln is fired, Paper comes, Marta sewed, Marta glued, The cat slept, Tea was served, \
                     The press was oiled, Books were sold, The roof leaked, Bread was baked, The bell rang, Snow fell";
        for words in words.split(", ") {
            installation.remember(&[&long(words)]);
        }
        installation
    })
}

fn numbers(listed: &Value) -> Vec<u64> {
    let items = listed["items"].as_array().unwrap().iter();
    items.map(|one| one["number"].as_u64().unwrap()).collect()
}

#[test]
fn spec_2_4_a_memory_that_replaces_another_one_moves_it_to_the_archive() {
    let installation = installation();
    installation.remember(&["Marta prefers linen thread.", "Marta binds on Mondays."]);
    installation.ok(&["protect", "wren", "2"]);
    let ran = installation
        .run("remember wren 'Marta prefers silk thread now.' --replaces 1 --replaces #2,9");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "3\n"), "{ran:?}");
    for note in [
        "replaced, now in the archive: #1\n",
        "not replaced: #2 (constitutional: it is constitutional)\n",
        "not replaced: #9 (not_found: there is no active memory of that number)\n",
    ] {
        assert!(ran.stderr.contains(note), "{note}: {}", ran.stderr);
    }
    let context = installation.ok(&["context", "wren"]);
    context.tells("silk");
    context.omits("linen");
    let archive = installation.ok(&["archive", "wren"]);
    let lines = archive
        .lines()
        .map(|line| line.split_whitespace().collect());
    let lines: Vec<Vec<&str>> = lines.collect();
    assert_eq!(lines[0].join(" "), "number date under now origin text");
    assert_eq!((lines[1][0], lines[1][2], lines[1][3]), ("#1", "#3", "#3"));
    archive.tells("Marta prefers linen thread.");
    let shown = installation.json(&["archive", "wren"]);
    let old = &shown["items"][0];
    old.has(json!({"kind": "archival", "under": 3, "now": 3}));
    assert!(old["archived_at"].is_string(), "{old}");
    assert_eq!(installation.items(&["ledger", "wren", "--all"]).len(), 3);
    assert_eq!(numbers(&installation.json(&["ledger", "wren"])), [2, 3]);
}

#[test]
fn spec_2_8_recall_marks_what_was_replaced() {
    let installation = installation();
    installation.remember_with("Marta prefers linen thread.", &["--at", "2026-01-01"]);
    let silk = "Marta prefers silk thread.";
    installation.remember_with(silk, &["--at", "2026-03-01", "--replaces", "1"]);
    let found = installation.json(&["recall", "wren", "Which thread does Marta prefer?"]);
    assert_eq!(numbers(&found), [2, 1]);
    let old = &found["items"][1];
    old.has(json!({"kind": "archival", "now": 2, "until": "2026-03-01T00:00:00Z"}));
    let table = installation.ok(&["recall", "wren", "Which thread does Marta prefer?"]);
    table.tells("until 2026-03-01, now #2");
    // One text alone is the query where no agent has that name.
    assert_eq!(numbers(&installation.json(&["recall", "silk"])), [2]);
    let archival = installation.json(&["recall", "wren", "--kind", "archival"]);
    assert_eq!(numbers(&archival), [1]);
}

#[test]
fn spec_2_4_promoting_brings_memories_back_into_the_prompt() {
    let installation = installation();
    installation.remember(&["Marta prefers linen thread."]);
    installation.ok(&["remember", "Silk thread now.", "--replaces", "1"]);
    installation.remember_with("Old bills are in the loft.", &["--kind", "archival"]);
    let promoted = installation.ok("promote wren 1 #3");
    assert_eq!(promoted, "promoted #1 #3\n");
    assert_eq!(numbers(&installation.json(&["archive", "wren"])), [0; 0]);
    assert_eq!(numbers(&installation.json(&["ledger", "wren"])), [1, 2, 3]);
    let core = installation.refused(&["promote", "wren", "2"]);
    assert!(core.contains("#2 is not in the archive") && core.contains("memoir archive AGENT"));
    installation.ok(&["discard", "wren", "3"]);
    let discarded = installation.refused(&["promote", "wren", "3"]);
    discarded.tells("memory #3 is discarded");
    discarded.tells("hint: `memoir restore AGENT NUMBER`");
    let ran = installation.run(&["archive", "wren"]);
    assert_eq!(ran.stderr, "the archive is empty\n");
    let memory = installation.json(&["protect", "wren", "1"]);
    assert_eq!(memory["constitutional"], true);
    let several = installation.json(&["protect", "wren", "1", "2"]);
    assert_eq!(numbers(&several), [1, 2]);
}

#[test]
fn spec_3_12_kept_counts_originals_and_verifying_proves_that_none_is_lost() {
    let installation = installation();
    installation.remember(&["Marta prefers linen thread.", "Tea is served at five."]);
    installation.ok(&["remember", "Silk thread now.", "--replaces", "1"]);
    let kept = installation.ok(&["kept", "wren"]);
    kept.begins("3 originals: 2 in the prompt, 1 in the archive\n\nsaved in");
    let shown = installation.json(&["kept", "wren"]);
    shown.has(json!({"originals": {"total": 3, "in_prompt": 2, "archived": 1}}));
    let quarters = shown["originals_by_quarter"].as_array().unwrap();
    let quarter = quarters.last().unwrap();
    let year = quarter["quarter"].as_str().unwrap();
    assert!(year.len() == 7 && year.contains("-Q"), "{year}");
    quarter.has(json!({"saved": 3, "in_prompt": 2, "archived": 1}));
    let verified = installation.ok(&["audit", "verify", "wren"]);
    verified.tells("\n        3 originals: 2 in the prompt, 1 in the archive, 0 lost\n");
    let verified = installation.json(&["audit", "verify", "wren"]);
    assert_eq!(
        verified["originals"],
        json!({"total": 3, "in_prompt": 2, "archived": 1, "removed_off": 0, "lost": 0})
    );
}

/// A session that writes one summary and moves one memory alone.
pub(crate) fn summarised() -> Installation {
    static MADE: MadeOnce = MadeOnce::new();
    MADE.copy(|| {
        let installation = over_the_budget();
        let summary = json!({"ids": [3, 4], "content": "Marta sewed and glued."});
        let _server = installation.scripted(script(&[
            ("consolidate_memories", summary),
            ("delete_memory", json!({"ids": [5]})),
        ]));
        let ran = installation.run(&["refine", "wren", "--model", "lab:small"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.reports("consolidated #3 #4 #13");
        ran.reports("(2 archived)");
        installation
    })
}

#[test]
fn spec_2_8_what_a_session_changed_in_context_and_recall_is_for_the_agent_and_the_owner() {
    let installation = summarised();
    let session = installation.last_session();
    let measured = ["recall", "wren", "--eval", "--sessions"];
    let listed = installation.json(&measured);
    let one = &listed["items"][0];
    one.has(json!({"session": session, "state": "completed", "probes": 12}));
    assert_eq!(one["in_context"], json!({"before": 12, "after": 9}));
    assert_eq!(one["recalled"], json!({"before": 12, "after": 12}));
    assert_eq!(one["left_context"], json!([3, 4, 5]));
    assert_eq!(one["no_longer_recalled"], json!([]));
    let told = installation.ok(&measured);
    for part in ["12 → 9", "12 → 12", "no longer in the context: #3 #4 #5\n"] {
        told.tells(part);
    }
    assert!(!format!("{told}{listed}").contains("Marta"), "{told}");
    let without_file = installation.refused(&["recall", "wren", "--eval"]);
    without_file.tells("--eval FILE");
    let as_file = installation.refused(&["recall", "--eval", "wren", "--sessions"]);
    as_file.tells("name the agent before `--eval`");
    let alone = installation.run(&["recall", "wren", "--sessions"]);
    assert_eq!(alone.code, Some(2), "{alone:?}");

    let token = installation.ok(&["token", "create", "--role", "agent", "--agent", "wren"]);
    let password = installation.write("password", "correct horse battery\n");
    installation.ok(&["user", "add", "Ada", "--password-file", &password]);
    let administrator = installation.ok(&["token", "create", "--role", "admin"]);
    let ran_with = |token: &str| installation.with_token(token, &measured);
    for other in ["", administrator.as_str()] {
        let ran = ran_with(other);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
        ran.reports("MEMOIR_TOKEN");
    }
    let own = ran_with(&token);
    assert_eq!((own.code, own.stdout), (Some(0), told));
}

#[test]
fn spec_3_9_a_session_over_the_budget_writes_a_summary_over_its_sources() {
    let installation = summarised();
    let session = installation.last_session();
    let shown = installation.json(&["session", &session]);
    shown.has(json!({"archived": 3, "summaries": 1, "state": "completed"}));
    let text = installation.ok(&["session", &session, "--text"]);
    text.tells("archived  2 memories under 1 summary, 1 alone");
    text.tells("to the archive: #5");
    text.tells("+ Marta sewed and glued.");
    let sessions = installation.ok(&["sessions", "wren"]);
    sessions.tells("archived");
    sessions.tells("summaries");
    let archive = installation.items(&["archive", "wren"]);
    let links = archive
        .iter()
        .map(|memory| [&memory["number"], &memory["now"]]);
    let links = json!(links.collect::<Vec<_>>());
    assert_eq!(links, json!([[3, 13], [4, 13], [5, null]]));
    let ledger = installation.ok(&["ledger", "wren"]);
    ledger.tells("summary of 2");
    let context = installation.ok(&["context", "wren"]);
    context.tells("(summary of 2)");
    context.tells("in your archive");
    let verified = installation.ok(&["audit", "verify", "wren"]);
    verified.tells("12 originals: 9 in the prompt, 3 in the archive, 0 lost");
    // The undo returns all of it.
    installation.ok(&["rollback", &session]);
    let all: Vec<u64> = (1..=12).collect();
    assert_eq!(numbers(&installation.json(&["ledger", "wren"])), all);
    let verified = installation.ok(&["audit", "verify", "wren"]);
    verified.tells("12 originals: 12 in the prompt, 0 in the archive, 0 lost");
}

#[test]
fn spec_4_4_shredding_names_the_summaries_over_a_text_and_shreds_them_where_that_is_requested() {
    let installation = summarised();
    let ran = installation.run(&["shred", "wren", "3", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.reports("summaries and copies of it that still have their text: #13");
    let told = installation.ok(&["shred", "wren", "4", "--yes", "--derived"]);
    told.tells("shredded with it, since they rest on it: #13");
    let all = installation.ok(&["ledger", "wren", "--all"]);
    all.omits("Marta");
    installation.ok(&["audit", "verify", "wren"]);
}

#[test]
fn spec_3_17_a_rehearsal_shows_how_many_of_its_edits_hold() {
    let installation = over_the_budget();
    let server = installation.scripted(script(&[
        ("delete_memory", json!({"id": 5})),
        ("delete_memory", json!({"id": 6})),
    ]));
    let ran = installation.run(&["refine", "wren", "--model", "lab:small", "--rehearse"]);
    drop(server);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.prints("#5 would move to the archive");
    ran.reports("all 2 of its edits can still be applied");
    assert_eq!(numbers(&installation.json(&["archive", "wren"])), [0; 0]);
    installation.ok(&["protect", "wren", "6"]);
    let session = installation.last_session();
    let ran = installation.run(&["apply", &session]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.reports("not applied: delete_memory #6 (constitutional)");
    assert_eq!(numbers(&installation.json(&["archive", "wren"])), [5]);
}

#[test]
fn spec_3_5_a_session_in_which_nothing_can_be_done_is_not_started_and_says_why() {
    let installation = installation();
    let refused =
        |arguments: &[&str]| installation.refused(&[&["refine", "wren"], arguments].concat());
    let empty = refused(&[]);
    empty.tells("the agent has no core memories");
    empty.tells("memoir remember");
    installation.remember(&["Tea is served at five.", "The kiln is hot."]);
    let no_duplicates = refused(&["--mode", "dedup_only"]);
    no_duplicates.tells("no core memory has the text of another");
    installation.ok(&["agent", "set", "wren", "loss_guard", "refuse"]);
    assert!(refused(&[]).contains("only duplicates may leave"));
    installation.ok(&["agent", "set", "wren", "loss_guard", "archive"]);
    installation.ok(&["protect", "wren", "1", "2"]);
    let protected = refused(&[]);
    protected.tells("every core memory is constitutional");
    protected.tells("unprotect");
    let code = installation.run(&["refine", "wren", "--json"]);
    code.reports("\"code\":\"nothing_to_refine\"");
}

#[test]
fn spec_2_4_an_import_goes_to_the_archive_and_reports_the_budget() {
    let installation = installation();
    let lines = (1..=12).map(|at| json!({"content": long(&format!("Fact {at}"))}).to_string());
    let lines: Vec<String> = lines.collect();
    let file = installation.write("facts.jsonl", lines.join("\n"));
    let tried = installation.run(&["import", "wren", &file, "--dry-run"]);
    tried.reports("core would be 1,200 of 1,000 tokens: 200 over the budget");
    let told = installation.json(&["import", "wren", &file]);
    told.has(json!({"imported": 12, "core_tokens": 1200, "over_budget": 200}));
    installation.ok(&["import", "wren", "--undo"]);
    let ran = installation.run(&["import", "wren", &file, "--to", "archival"]);
    let imported = "imported 12 memories; `memoir import wren --undo` undoes it\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), imported));
    ran.stderr.omits("over the budget");
    assert_eq!(numbers(&installation.json(&["archive", "wren"])).len(), 12);
    assert_eq!(numbers(&installation.json(&["ledger", "wren"])), [0; 0]);
}

#[test]
fn spec_2_4_an_export_carries_the_archive_into_another_agent() {
    let installation = summarised();
    let file = installation.path("wren.jsonl").display().to_string();
    installation.ok(&["export", "wren", "-o", &file]);
    installation.ok(&["agent", "create", "robin"]);
    installation.ok(&["import", "robin", &file]);
    let of = |agent: &str| {
        let all = installation.items(&["archive", agent]).into_iter();
        let links = all.map(|memory| (memory["content"].clone(), memory["now"].is_null()));
        links.collect::<Vec<_>>()
    };
    assert_eq!(of("robin"), of("wren"));
    installation.ok(&["ledger", "robin"]).tells("summary of 2");
    let verified = installation.ok(&["audit", "verify", "robin"]);
    verified.tells("3 in the archive, 0 lost");
}

#[test]
fn spec_4_4_a_summary_that_came_with_an_import_is_named_at_shredding() {
    let installation = Installation::with_agent();
    let lines = [
        json!({"number": 1, "content": "Ada keeps bees.", "kind": "archival", "under": 3}),
        json!({"number": 2, "content": "Bo paints boats.", "kind": "archival", "under": 3}),
        json!({"number": 3, "content": "Ada: bees. Bo: boats.", "is_summary": true}),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let file = installation.write("memories.jsonl", lines);
    installation.ok(&["import", "wren", &file]);
    let numbered = installation.items(&["ledger", "wren", "--all"]);
    let of = |content: &str| {
        let memory = numbered.iter().find(|memory| memory["content"] == content);
        memory.unwrap()["number"].to_string()
    };
    let bees = of("Ada keeps bees.");
    installation.ok(&["shred", "wren", &bees, "--yes", "--derived"]);
    let left = installation.ok(&["export", "wren"]);
    left.omits("Ada");
    left.tells("Bo paints boats.");
}
