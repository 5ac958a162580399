//! Imports from other programs, and exports.

use std::path::{Path, PathBuf};

use memoir_testkit::{ServerStep, TestedObject, TestedText};
use serde_json::{Value, json};

use crate::installation::{Installation, files_in};

/// A list in mem0's format: one is expired, one junk, one a duplicate.
fn mem0() -> Value {
    json!({"results": [
        {"id": "8a1f", "memory": "Prefers tea to coffee.", "hash": "0c5", "created_at": "2026-03-01T03:00:00-07:00",
         "updated_at": null, "user_id": "kai", "metadata": {"category": "food"}},
        {"id": "8a20", "memory": "Parks in bay four this week.", "created_at": "2026-01-05T08:00:00",
         "expiration_date": "2026-01-09", "user_id": "kai", "categories": ["car", "work"]},
        {"id": "8a21", "memory": " ", "user_id": "kai"},
        {"id": "8a22", "memory": "Prefers tea to coffee.", "created_at": "2026-03-02T03:00:00Z", "user_id": "kai"},
        {"id": "8a23", "memory": "", "text": "Lives in Lisbon.", "created_at": 1772359200000_i64, "user_id": "kai"},
    ]})
}

#[test]
fn spec_2_1_tags_that_find_no_place_beside_the_users_are_counted() {
    let installation = Installation::with_agent();
    let file = installation.write("mem0.json", mem0().to_string());
    // "Prefers tea" has two tags and "Parks in bay four" three; one tag of each fits beside the 15.
    let mut arguments = vec!["import", "wren", &file];
    let own: Vec<String> = (0..15).map(|at| format!("own{at}")).collect();
    for tag in &own {
        arguments.extend(["--tag", tag]);
    }
    let told = installation.json(&arguments);
    assert_eq!(told["tags_left_out"], 3, "{told}");
    for memory in installation.items(&["ledger", "wren", "--all"]) {
        assert_eq!(memory["tags"].as_array().unwrap().len(), 16, "{memory}");
    }
}

#[test]
fn spec_3_4_a_text_with_a_word_of_relative_time_is_another_one_on_another_day() {
    let installation = Installation::with_agent();
    let entry = |id: &str, text: &str, day: &str| json!({"id": id, "memory": text, "created_at": format!("{day}T10:00:00Z")});
    let list = json!([
        entry("a", "Ada painted the gate yesterday.", "2026-03-01"),
        entry("b", "Ada painted the gate yesterday.", "2026-03-02"),
        entry("c", "Ada painted the gate yesterday.", "2026-03-02"),
        entry("d", "Ada likes tea.", "2026-03-01"),
        entry("e", "Ada likes tea.", "2026-03-02"),
    ]);
    let file = installation.write("mem0.json", list.to_string());
    let told = installation.json(&["import", "wren", &file, "--to", "core"]);
    told.has(json!({"kept": 3, "doubles": 2}));
    let told = installation.json(&["import", "wren", &file, "--to", "core"]);
    told.has(json!({"kept": 0, "known": 5}));
    // A third day's is new, and one without a day is known.
    let list = json!([
        entry("f", "Ada painted the gate yesterday.", "2026-03-05"),
        {"id": "g", "memory": "Ada painted the gate yesterday."},
    ]);
    let file = installation.write("more.json", list.to_string());
    let told = installation.json(&["import", "wren", &file, "--to", "core"]);
    told.has(json!({"kept": 1, "known": 1}));
}

#[test]
fn a_list_of_mem0_moves_in_with_its_history_and_a_second_time_adds_nothing() {
    let installation = Installation::with_agent();
    let file = installation.write("mem0.json", mem0().to_string());
    let told = installation.json(&["import", "wren", &file, "--dry-run"]);
    assert_eq!(told["format"], "mem0");
    assert_eq!((&told["imported"], &told["kept"]), (&json!(0), &json!(2)));
    assert_eq!(installation.texts(), Vec::<String>::new());

    let told = installation.json(&["import", "wren", &file]);
    told.has(
        json!({"imported": 3, "read": 5, "kept": 2, "discarded": 1, "doubles": 1, "known": 0}),
    );
    assert_eq!(told["junk"], json!({"empty": 1}));
    let live = ["Prefers tea to coffee.", "Lives in Lisbon."];
    assert_eq!(installation.texts(), live);
    let all = installation.items(&["ledger", "wren", "--all"]);
    let of = |text: &str| all.iter().find(|one| one["content"] == text).unwrap();
    let tea = of("Prefers tea to coffee.");
    assert_eq!(tea["origin"], "import");
    assert_eq!(tea["source"], "mem0:8a1f");
    assert_eq!(tea["tags"], json!(["food", "user:kai"]));
    assert_eq!(tea["created_at"], "2026-03-01T10:00:00Z");
    assert_eq!(of("Lives in Lisbon.")["created_at"], "2026-03-01T10:00:00Z");
    // It is still shown on its last day.
    let parked = of("Parks in bay four this week.");
    assert_eq!(parked["discarded_at"], "2026-01-10T00:00:00Z");
    assert_eq!(parked["created_at"], "2026-01-05T08:00:00Z");

    let before = installation.ok(&["audit", "list", "wren"]);
    let again = installation.json(&["import", "wren", &file]);
    again.has(json!({"imported": 0, "known": 4}));
    assert_eq!(installation.ok(&["audit", "list", "wren"]), before);
    installation.ok(&["audit", "verify", "wren"]);
}

#[test]
fn spec_2_4_an_import_is_one_record_and_is_undone_to_the_byte() {
    let installation = Installation::with_agent();
    installation.remember(&["I am Wren.", "I keep bees."]);
    let before = installation.ok(&["export", "wren"]);
    let context = installation.ok(&["context", "wren"]);
    let file = installation.write("mem0.json", mem0().to_string());
    installation.ok(&["import", "wren", &file]);
    let records = installation.ok("audit list wren --action memories_imported --json");
    let [record] = records.lines().collect::<Vec<_>>()[..] else {
        panic!("{records}")
    };
    let record: Value = serde_json::from_str(record).unwrap();
    assert_eq!(record["data"]["memories"], 2);
    assert_eq!(record["data"]["format"], "mem0");
    assert_ne!(installation.ok(&["export", "wren"]), before);

    let told = installation.ok(&["import", "wren", "--undo", "--dry-run"]);
    told.tells("2 memories would be discarded");
    let told = installation.ok(&["import", "wren", "--undo"]);
    told.tells("2 memories discarded");
    assert_eq!(installation.ok(&["export", "wren"]), before);
    assert_eq!(installation.ok(&["context", "wren"]), context);
    installation.ok(&["audit", "verify", "wren"]);
    let refused = installation.refused(&["import", "wren", "--undo"]);
    refused.tells("no import");
    // After an undo the import can be repeated.
    let again = installation.json(&["import", "wren", &file]);
    again.has(json!({"imported": 3, "known": 0}));
}

#[test]
fn spec_2_4_an_import_whose_memories_were_merged_with_others_is_not_undone_in_part() {
    let installation = Installation::with_agent();
    installation.remember(&[
        "Prefers TEA to coffee.",
        "Walks to the harbour every morning before the others are awake.",
        "Has a brother in Porto who builds boats of cedar wood.",
    ]);
    let others = installation.core().len();
    let file = installation.write("mem0.json", mem0().to_string());
    installation.ok(&["import", "wren", &file]);
    // The imported one comes under that of the agent, in the archive.
    installation.ok(&["agent", "set", "wren", "loss_guard", "archive"]);
    let merge = json!({"ids": [1, 4], "content": "Prefers TEA to coffee."});
    let _server = installation.scripted([
        ServerStep::text("YES"),
        ServerStep::call("consolidate_memories", merge),
        ServerStep::call("complete_refinement", json!({"summary": "One double."})),
    ]);
    installation.ok(&["refine", "wren", "--model", "lab:small"]);
    let before = installation.ok(&["export", "wren"]);
    let refused = installation.refused(&["import", "wren", "--undo"]);
    refused.tells("memoir rollback");
    assert_eq!(installation.ok(&["export", "wren"]), before);
    // Nor does a session's work make it new.
    let again = installation.json(&["import", "wren", &file]);
    assert_eq!(again["imported"], 0, "{again}");
    installation.ok(&["rollback", &installation.last_session()]);
    installation.ok(&["import", "wren", "--undo"]);
    assert_eq!(installation.core().len(), others);
}

#[test]
fn spec_2_4_what_a_session_rewrote_under_off_is_not_imported_again() {
    let installation = Installation::with_agent();
    let file = installation.write("mem0.json", mem0().to_string());
    installation.ok(&["import", "wren", &file]);
    let rewrite = |content: &str| {
        let arguments = json!({"id": 1, "content": content});
        ServerStep::call("update_memory", arguments)
    };
    let _server = installation.scripted([
        ServerStep::text("YES"),
        rewrite("Prefers mint to coffee."),
        rewrite("Prefers milk to coffee."),
        ServerStep::call("complete_refinement", json!({"summary": "Two drinks."})),
    ]);
    installation.ok(&["refine", "wren", "--model", "lab:small"]);
    let core = installation.core();
    assert!(
        core.contains(&"Prefers milk to coffee.".to_owned()),
        "{core:?}"
    );
    let again = installation.json(&["import", "wren", &file]);
    assert_eq!(again["imported"], 0, "{again}");
    assert_eq!(installation.core(), core);
}

#[test]
fn a_file_that_is_cut_off_is_imported_in_part_only_where_that_is_asked_for() {
    let installation = Installation::with_agent();
    let whole = mem0().to_string();
    let file = installation.write("mem0.json", &whole[..whole.len() - 90]);
    let ran = installation.run(&["import", "wren", &file]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    ran.reports("nothing was imported");
    assert_eq!(installation.texts(), Vec::<String>::new());
    let told = installation.json(&["import", "wren", &file, "--skip-bad"]);
    told.has(json!({"complete": false, "kept": 1}));
    assert_eq!(installation.texts(), ["Prefers tea to coffee."]);
}

#[test]
fn a_list_comes_from_stdin_too_and_lines_of_json_are_undone_as_well() {
    let installation = Installation::with_agent();
    let ran = installation.run_with_input(&["import", "wren", "-"], &mem0().to_string());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.reports("looks like mem0: results[].memory");
    ran.prints("imported 3 memories");
    let lines = "{\"content\": \"One line.\"}\n{\"content\": \"Another line.\"}\n";
    let ran = installation.run_with_input(&["import", "wren", "-"], lines);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(installation.texts().len(), 4);
    installation.ok(&["import", "wren", "--undo"]);
    assert_eq!(installation.texts().len(), 2);
    installation.ok(&["import", "wren", "--undo"]);
    assert_eq!(installation.texts(), Vec::<String>::new());
}

#[test]
fn only_what_is_live_comes_where_that_is_asked_for() {
    let installation = Installation::with_agent();
    let file = installation.write("mem0.json", mem0().to_string());
    let options = "--live-only --kind journal --tag old";
    let told = installation.json(&format!("import wren {file} {options}"));
    told.has(json!({"discarded": 0, "gone_left_out": 1}));
    for memory in installation.items(&["ledger", "wren", "--all"]) {
        assert_eq!(memory["kind"], "journal");
        assert_eq!(memory["tags"][0], "old");
    }
}

/// Memories whose texts look like the structure of a page.
const ODD: [&str; 5] = [
    "Kai is allergic to shellfish.",
    "---\ntitle: not a title\n---\n# Neither a heading",
    "- [note] #not a tag [[nor a link]]",
    "{\"bare\": \"JSON\"}",
    "Two\n\nparagraphs — ¿sí?\n\n## And a heading\n\nBut one memory.",
];

fn with_odd_memories() -> Installation {
    let installation = Installation::with_agent();
    for text in ODD {
        installation.remember_with(text, &["--tag", "a, b", "--tag", "\"c\": d"]);
    }
    let of_that_day = ["--kind", "journal", "--at", "2026-03-01"];
    installation.remember_with("A day at sea.", &of_that_day);
    installation
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    files_in(folder).into_keys().collect()
}

/// The parts of each memory that are exported with it.
fn essence(installation: &Installation, agent: &str) -> Vec<Value> {
    let exported = installation.run(&["export", agent]).lines();
    let essence = |line: &Value| {
        let parts = ["content", "kind", "tags", "created_at"];
        json!(parts.map(|part| &line[part]))
    };
    let mut all: Vec<Value> = exported.iter().map(essence).collect();
    all.sort_by_key(Value::to_string);
    all
}

#[test]
fn pages_and_the_open_knowledge_format_go_out_and_come_in_the_same() {
    let installation = with_odd_memories();
    for (format, count) in [("markdown", 6), ("okf", 7)] {
        let folder = installation.path(format);
        let name = folder.to_str().unwrap();
        installation.ok(&["export", "wren", "--format", format, "--output", name]);
        assert_eq!(pages(&folder).len(), count);
        #[cfg(unix)]
        {
            let found = std::fs::metadata(&folder).unwrap().permissions();
            let mode = std::os::unix::fs::PermissionsExt::mode(&found) & 0o777;
            assert_eq!(mode, 0o700, "{format}: others of the machine can read it");
        }
        let agent = format!("from-{format}");
        installation.ok(&["agent", "create", &agent]);
        let told = installation.json(&["import", &agent, name]);
        told.has(json!({"format": "markdown", "kept": 6}));
        let there = essence(&installation, &agent);
        assert_eq!(there, essence(&installation, "wren"));
        let again = format!("export wren --format {format} --output {name}");
        installation.refused(&again).tells("is not empty");
    }
    let refused = installation.refused(&["export", "wren", "--format", "okf"]);
    refused.tells("--output FOLDER");
}

#[test]
fn spec_2_4_a_text_in_the_prompt_and_in_the_archive_comes_back_as_both() {
    let installation = Installation::with_agent();
    let vow = "I keep my word to Marta";
    installation.ok(&["remember", "wren", &format!("{vow}."), "--constitutional"]);
    installation.ok(&["remember", "wren", vow, "--kind", "archival"]);
    installation.ok(&["remember", "wren", "🍈"]);
    for format in ["markdown", "okf"] {
        installation.ok(&["export", "wren", "--format", format, "--output", format]);
        let other = format!("robin-{format}");
        installation.ok(&["agent", "create", &other]);
        let taken = installation.ok(&["import", &other, format, "--apply"]);
        taken.tells("imported 3");
        let context = installation.ok(&["context", &other]);
        assert!(context.contains(vow) && context.contains("🍈"), "{context}");
        // A second time nothing is new.
        let again = installation.ok(&["import", &other, format, "--apply"]);
        again.omits("imported 3");
    }
}

#[test]
fn of_a_folder_that_comes_back_only_what_changed_is_taken_over_and_shown_first() {
    let installation = with_odd_memories();
    installation.ok(&["remember", "wren", "I keep my word.", "--constitutional"]);
    // Pages are read with other line breaks, and with single blanks in tags.
    installation.remember_with("Of a file\r\nof Windows.", &["--tag", "two  blanks"]);
    let folder = installation.path("out");
    let name = folder.to_str().unwrap();
    installation.ok(&["export", "wren", "--format", "markdown", "--output", name]);
    let before = installation.ok(&["export", "wren"]);
    assert_eq!(
        installation.ok(&["import", "wren", name]),
        "nothing was changed\n"
    );

    let all = pages(&folder);
    let page = all
        .iter()
        .find(|path| path.to_str().unwrap().contains("shellfish"))
        .unwrap();
    let text = std::fs::read_to_string(page).unwrap();
    std::fs::write(page, text.replace("shellfish", "mussels")).unwrap();
    std::fs::write(
        folder.join("journal/new.md"),
        "---\ntags: [boats]\n---\nThe mast came.",
    )
    .unwrap();
    let shown = installation.ok(&["import", "wren", name]);
    shown.tells("- Kai is allergic to shellfish.");
    shown.tells("+ Kai is allergic to mussels.");
    shown.tells("2 changes; `--apply` imports them");
    assert_eq!(installation.ok(&["export", "wren"]), before);

    let told = installation.json(&["import", "wren", name, "--apply"]);
    told.has(json!({"unchanged": 7, "applied": true}));
    let list = installation
        .run(&["audit", "list", "wren", "--json"])
        .lines();
    let record = list.iter().find(|one| one["action"] == "memories_imported");
    assert_eq!(record.unwrap()["data"]["memories"], 2);
    let texts = installation.texts();
    assert!(texts.contains(&"Kai is allergic to mussels.".to_owned()));
    // The old text is in the archive, under the new one.
    let archive = installation.json(&["archive", "wren"]);
    archive["items"][0].has(json!({"content": "Kai is allergic to shellfish."}));
    assert_eq!(texts.len(), 10);
    installation.ok(&["import", "wren", "--undo"]);
    assert_eq!(installation.ok(&["export", "wren"]), before);
    installation.ok(&["audit", "verify", "wren"]);

    // A page does not edit a constitutional memory, and then nothing else is imported either.
    let page = all
        .iter()
        .find(|path| path.to_str().unwrap().contains("my-word"))
        .unwrap();
    let text = std::fs::read_to_string(page).unwrap();
    std::fs::write(page, text.replace("I keep my word.", "I break my word.")).unwrap();
    let ran = installation.run(&["import", "wren", name, "--apply"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    ran.reports("cannot be replaced");
    assert_eq!(installation.ok(&["export", "wren"]), before);
}

/// SPEC 2.1: nothing of a folder of pages is left out or truncated in silence, and an edit keeps the date.
#[test]
fn spec_2_1_a_page_that_comes_back_spoiled_is_named() {
    let installation = Installation::with_agent();
    let line =
        r#"{"content": "Kai sails.", "kind": "core", "created_at": "2026-03-01T10:00:00.123456Z"}"#;
    let file = installation.write("in.jsonl", line);
    installation.ok(&["import", "wren", &file]);
    let folder = installation.path("out");
    let name = folder.to_str().unwrap();
    installation.ok(&["export", "wren", "--format", "markdown", "--output", name]);
    let page = pages(&folder).remove(0);
    let text = std::fs::read_to_string(&page).unwrap();

    let long = text.replace("Kai sails.", &"Kai sails. ".repeat(1_000));
    std::fs::write(&page, long).unwrap();
    for arguments in [
        &["import", "wren", name][..],
        &["import", "wren", name, "--apply"],
    ] {
        let refused = installation.refused(arguments);
        refused.tells("the page of #1 is over the limit of 10,000 characters");
    }
    std::fs::write(&page, &text).unwrap();
    std::fs::write(folder.join("core/copy.md"), text.replace("Kai", "Mina")).unwrap();
    let refused = installation.refused(&["import", "wren", name, "--apply"]);
    refused.tells("#1 has two pages; nothing was imported");
    std::fs::remove_file(folder.join("core/copy.md")).unwrap();

    let undated = text.lines().filter(|line| !line.starts_with("created:"));
    let undated = undated.collect::<Vec<_>>().join("\n");
    std::fs::write(&page, undated.replace("sails", "rows")).unwrap();
    std::fs::write(folder.join("core/blank.md"), "---\ntags: [a]\n---\n").unwrap();
    std::fs::write(folder.join("core/binary.md"), b"a\0b").unwrap();
    let ran = installation.run(&["import", "wren", name, "--apply"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.reports("1 page without a text: left out");
    ran.reports("1 page not understood:");
    ran.reports("core/binary.md");
    let lines = installation.run(&["export", "wren"]).lines();
    let new = lines.iter().find(|line| line["content"] == "Kai rows.");
    assert_eq!(new.unwrap()["created_at"], "2026-03-01T10:00:00.123456Z");
}

#[test]
fn a_persona_is_a_memory_or_a_system_prompt_where_that_is_asked_for() {
    let installation = Installation::with_agent();
    let file = json!({
        "agents": [{"name": "Evie", "block_ids": ["b0", "b1"], "messages": [], "tool_exec_environment_variables": {"HARBOUR_KEY": "s3cret"}}],
        "blocks": [
            {"id": "b0", "label": "persona", "value": "I am Evie.", "read_only": true},
            {"id": "b1", "label": "human", "value": "Kai sails.", "read_only": false},
        ],
    });
    let file = installation.write("evie.af", file.to_string());
    let ran = installation.run(&["import", "wren", &file]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.reports("HARBOUR_KEY");
    ran.reports("--system-prompt");
    ran.stderr.omits("s3cret");
    let mut core = installation.items(&["ledger", "wren"]).into_iter();
    let persona = core.find(|memory| memory["content"] == "I am Evie.");
    assert_eq!(persona.unwrap()["constitutional"], true);
    installation.ok(&["import", "wren", "--undo"]);
    assert_eq!(installation.texts(), Vec::<String>::new());

    installation.ok(&["import", "wren", &file, "--system-prompt"]);
    assert_eq!(installation.core(), ["Kai sails."]);
    let shown = installation.json("agent show wren");
    assert_eq!(shown["system_prompt"], "I am Evie.");
}

#[test]
fn spec_3_12_a_page_takes_no_original_away() {
    let installation = Installation::with_agent();
    installation.remember(&["Marta prefers linen thread."]);
    installation.remember_with("Marta prefers silk thread.", &["--replaces", "1"]);
    let folder = installation.path("out");
    let name = folder.to_str().unwrap();
    installation.ok(&["export", "wren", "--format", "markdown", "--output", name]);
    let before = installation.ok(&["export", "wren"]);
    // An archival memory gets another text, and a core one the kind of a journal entry.
    for (words, from, to) in [
        ("linen", "linen thread", "cotton thread"),
        ("silk", "kind: core", "kind: journal"),
    ] {
        let holds = |page: &&PathBuf| std::fs::read_to_string(page).unwrap().contains(words);
        let page = pages(&folder).iter().find(holds).unwrap().clone();
        let text = std::fs::read_to_string(&page).unwrap();
        text.tells(from);
        std::fs::write(&page, text.replace(from, to)).unwrap();
        let ran = installation.run(&["import", "wren", name, "--apply"]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let told = "cannot be replaced by its page";
        ran.reports(told);
        std::fs::write(&page, text).unwrap();
    }
    assert_eq!(installation.ok(&["export", "wren"]), before);
}

/// SPEC 1: only core memories are constitutional; a protected page of another kind is imported all the same.
#[test]
fn spec_1_a_protected_page_is_not_refused_for_its_kind() {
    let installation = Installation::with_agent();
    let vow = "---\nconstitutional: true\n---\nI keep my word.";
    installation.write("vault/vow.md", vow);
    installation.write("memfs/system/boats.md", "The sloop is called Marta.");
    let tides = "---\nread_only: true\n---\nHigh water at six.";
    installation.write("memfs/reference/tides.md", tides);
    for (folder, count) in [("vault", 1), ("memfs", 2)] {
        let path = installation.path(folder);
        let told = installation.json(&["import", "wren", path.to_str().unwrap()]);
        told.has(json!({"kept": count}));
    }
    let lines = installation.run(&["export", "wren"]).lines();
    let of = |text: &str| {
        let holds = |line: &&Value| line["content"].as_str().unwrap().contains(text);
        let line = lines.iter().find(holds).unwrap();
        (line["kind"].clone(), line["constitutional"] == true)
    };
    assert_eq!(of("my word"), (json!("core"), true));
    assert_eq!(of("High water"), (json!("journal"), false));
}

#[test]
fn a_folder_of_pages_is_journal_by_default() {
    let installation = Installation::with_agent();
    let boats = "---\ntags: [keep]\ncreated: 2026-03-01\n---\nThe sloop is called Marta.";
    installation.write("vault/boats.md", boats);
    let tides = "---\ncreated: 2026-03-02\n---\nHigh water at six.";
    installation.write("vault/tides.md", tides);
    let folder = installation.path("vault");
    let folder = folder.to_str().unwrap();
    installation.ok(&["import", "wren", folder]);
    assert_eq!(installation.core(), Vec::<String>::new());
    installation.ok(&["import", "wren", "--undo"]);
    installation.ok(&["import", "wren", folder, "--core-tag", "keep"]);
    let sloop = "# boats\n\nThe sloop is called Marta.";
    assert_eq!(installation.core(), [sloop]);
}

#[test]
fn spec_5_1_an_administrators_import_is_compared_with_administrators_imports_alone() {
    let installation = Installation::with_agent();
    installation.remember(&["Prefers tea to coffee.", "Lives in Lisbon."]);
    installation.write(".config/memoir/config.toml", "closed = true\n");
    let file = installation.write("mem0.json", mem0().to_string());
    // The agent has two of the texts, and the output does not reveal that.
    let tried = installation.json(&["import", "wren", &file, "--dry-run"]);
    assert_eq!((&tried["kept"], &tried["known"]), (&json!(2), &json!(0)));
    let told = installation.json(&["import", "wren", &file]);
    assert_eq!((&told["kept"], &told["known"]), (&json!(2), &json!(0)));
    let again = installation.json(&["import", "wren", &file]);
    again.has(json!({"imported": 0, "known": 4}));
    // Nor are the agent's texts written to a folder, or shown in a comparison.
    let refused = installation.refused("export wren --format markdown --output out");
    refused.tells("closed");
}

#[test]
fn what_has_no_meaning_for_a_form_is_refused_and_imports_nothing() {
    let installation = Installation::with_agent();
    let lines = installation.write("in.jsonl", "{\"content\": \"One line.\"}\n");
    for option in ["--live-only", "--tag=a", "--apply", "--system-prompt"] {
        let refused = installation.refused(&["import", "wren", &lines, option]);
        refused.tells(option.trim_end_matches("=a"));
        refused.tells("nothing was imported");
    }
    let told = installation.ok(&["import", "wren", &lines, "--dry-run"]);
    assert_eq!(told, "would import 1 memory\n");
    assert_eq!(installation.texts(), Vec::<String>::new());
    let unknown = installation.write("words.txt", "{\"theme\": \"dark\"}");
    let told = installation.json(&["import", "wren", &unknown, "--format", "letta"]);
    assert_eq!(told["not_understood"], json!({"unknown_kind": 1}));
    assert!(!told.to_string().contains("dark"), "{told}");
}

#[test]
fn spec_2_4_a_preview_names_the_lines_for_which_nothing_would_be_imported() {
    let installation = Installation::with_agent();
    installation.remember(&["Tea at four."]);
    let large = format!("{{\"content\": \"{}\"}}\n", "word ".repeat(1_900));
    let large = large.repeat(3);
    let text = format!("{large}{{\"content\": 3}}\n{{\"text\": \"Another.\"}}\n");
    let lines = installation.write("in.jsonl", text);
    let preview = ["import", "wren", &lines, "--dry-run"];
    let told = installation.json(&preview);
    told.has(json!({"would_import": 0, "bad": 2, "core_tokens": 3, "over_budget": 0}));
    let bad = told["bad_lines"].as_array().unwrap().iter();
    let bad: Vec<&Value> = bad.map(|line| &line["line"]).collect();
    assert_eq!(bad, [4, 5]);
    let ran = installation.run(&preview);
    assert_eq!(
        ran.stdout,
        "would import 0 memories; 2 lines cannot be read\n"
    );
    ran.reports("without `--skip-bad`");
    ran.reports("line 4: ");
    assert!(!ran.stderr.contains("over the budget"), "{ran:?}");
    let rest = [&preview[..], &["--skip-bad"]].concat();
    installation
        .json(&rest)
        .has(json!({"would_import": 3, "bad": 2}));
    installation.run(&rest).reports("over the budget");
    // A list of another program that is cut off.
    let cut = "[{\"id\": \"1\", \"memory\": \"Likes tea.\"}, {\"id\": \"2\", \"mem";
    let cut = installation.write("mem0.json", cut);
    let told = installation.ok(&["import", "wren", &cut, "--dry-run"]);
    told.tells("would import nothing without `--skip-bad`");
    let ran = installation.run(&["import", "wren", &cut]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    ran.reports("nothing was imported");
    assert_eq!(installation.texts(), ["Tea at four."]);
}
