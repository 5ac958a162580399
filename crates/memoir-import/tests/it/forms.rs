//! Files of one program each, with what they are known for.

use memoir_domain::memory::Kind;
use memoir_import::{DeletionReason, Error, ImportFormat, Input};
use rusqlite::Connection;
use serde_json::json;

use crate::{
    archive, folder, options, read, read_as, read_path, refused, stream, tags, time, try_read,
};

#[test]
fn mem0_is_read_in_all_its_lists() {
    let row = json!({"id": "8a1f", "memory": "Prefers tea.", "hash": "0c5", "created_at": "2026-03-01T10:00:00+00:00"});
    let payload = json!({"id": "8a1f", "payload": {"data": "Prefers tea.", "hash": "0c5", "created_at": "2026-03-01T10:00:00"}, "vector": [0.1, 0.2]});
    for (file, by) in [
        (json!([row]).to_string(), "memory, hash"),
        (
            json!({"results": [row], "relations": []}).to_string(),
            "results[].memory, hash",
        ),
        (
            json!({"count": 1, "memories": [row]}).to_string(),
            "memories[].memory, hash",
        ),
        (
            json!({"result": {"points": [payload]}, "status": "ok"}).to_string(),
            "points[].id, payload",
        ),
        (format!("{row}\n{row}"), "memory, hash"),
        (json!([payload]).to_string(), "id, payload"),
        (
            json!({"object": "results", "results": [row]}).to_string(),
            "results[].memory, hash",
        ),
        (
            json!({"memories": {"results": [row]}}).to_string(),
            "results[].memory, hash",
        ),
    ] {
        let found = read(&file);
        assert_eq!(
            (found.format, found.by.as_str()),
            (ImportFormat::Mem0, by),
            "{file}"
        );
        let memory = found.of("Prefers tea.");
        assert_eq!(memory.source.expose(), "mem0:8a1f");
        assert_eq!(memory.created_at, Some(time("2026-03-01T10:00:00Z")));
        assert_eq!(memory.kind, Some(Kind::Core));
    }
}

#[test]
fn payloads_of_mem0_on_lines_of_their_own_are_read() {
    // Their text has the name of a list.
    let payload = |text: &str| json!({"data": text, "hash": "0c5", "user_id": "kai"});
    let (tea, sails) = (payload("Prefers tea."), payload("Kai sails."));
    for (file, texts) in [
        (tea.to_string(), vec!["Prefers tea."]),
        (
            format!("{tea}\n{sails}\n"),
            vec!["Prefers tea.", "Kai sails."],
        ),
    ] {
        let found = read(&file);
        assert_eq!(found.format, ImportFormat::Mem0);
        assert_eq!((found.by.as_str(), found.texts()), ("data, hash", texts));
    }
}

#[test]
fn a_round_count_of_mem0_is_warned_of() {
    let rows = |count: usize| {
        let rows: Vec<_> = (0..count)
            .map(|id| json!({"id": id.to_string(), "memory": format!("Fact {id}."), "hash": "x"}))
            .collect();
        json!({"results": rows, "next": null}).to_string()
    };
    assert_eq!(read(&rows(20)).notices(), ["round_count"]);
    assert_eq!(read(&rows(100)).notices(), ["round_count"]);
    assert!(read(&rows(21)).notices().is_empty());
    let paged = rows(3).replace("null", "\"https://example.com/?page=2\"");
    assert_eq!(read(&paged).notices(), ["more_pages"]);
}

#[test]
fn an_expiration_date_of_mem0_hides_from_the_day_after_it() {
    let row = |day: &str| json!([{"id": "1", "memory": "Here till then.", "hash": "x", "expiration_date": day}]);
    let gone = |day: &str| read(&row(day).to_string()).memories[0].gone;
    assert_eq!(gone("2026-04-01"), None);
    let before = gone("2026-03-30").unwrap();
    assert_eq!(
        (before.why, before.at),
        (DeletionReason::Expired, Some(time("2026-03-31T00:00:00Z")))
    );
}

#[test]
fn the_history_of_mem0_brings_what_was_said_before_and_what_was_deleted() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("history.db");
    let database = Connection::open(&path).unwrap();
    database
        .execute_batch(
            "CREATE TABLE history(id TEXT, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT, created_at TEXT, updated_at TEXT, is_deleted INTEGER, actor_id TEXT, role TEXT);
             INSERT INTO history VALUES('a','m1',NULL,'Lives in Porto.','ADD','2026-01-01T00:00:00Z',NULL,0,NULL,NULL),
              ('b','m1','Lives in Porto.','Lives in Lisbon.','UPDATE','2026-01-01T00:00:00Z','2026-02-01T00:00:00Z',0,NULL,NULL),
              ('c','m2',NULL,'Has a cat.','ADD','2026-01-03T00:00:00Z',NULL,0,NULL,NULL),
              ('d','m2','Has a cat.',NULL,'DELETE','2026-01-03T00:00:00Z','2026-02-03T00:00:00Z',1,NULL,NULL);",
        )
        .unwrap();
    drop(database);
    let found = read_path(&path);
    assert_eq!(found.format, ImportFormat::Mem0);
    assert_eq!(
        found.texts(),
        ["Lives in Porto.", "Lives in Lisbon.", "Has a cat."]
    );
    let gone = |text: &str| found.of(text).gone.map(|gone| (gone.why, gone.at));
    assert_eq!(
        gone("Porto"),
        Some((
            DeletionReason::Superseded,
            Some(time("2026-02-01T00:00:00Z"))
        ))
    );
    assert_eq!(gone("Lisbon"), None);
    assert_eq!(
        gone("cat"),
        Some((DeletionReason::Deleted, Some(time("2026-02-03T00:00:00Z"))))
    );
    // From a stream, too.
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(read(&bytes).texts().len(), 3);
}

/// SPEC 2.4: what was deleted there comes as discarded. Versions of mem0 gave a deletion no time.
#[test]
fn spec_2_4_a_deletion_of_mem0_without_a_time_is_its_memory_s_last_event() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("history.db");
    let database = Connection::open(&path).unwrap();
    database
        .execute_batch(
            "CREATE TABLE history(id TEXT, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT, created_at DATETIME, updated_at DATETIME, is_deleted INTEGER);
             INSERT INTO history VALUES('a','m1',NULL,'Has a cat.','ADD','2026-01-03T00:00:00Z',NULL,0),
              ('b','m1','Has a cat.',NULL,'DELETE',NULL,NULL,1);",
        )
        .unwrap();
    drop(database);
    let found = read_path(&path);
    assert_eq!(found.texts(), ["Has a cat."]);
    let memory = found.of("cat");
    let gone = memory.gone.map(|gone| (gone.why, gone.at));
    assert_eq!(gone, Some((DeletionReason::Deleted, None)));
    assert_eq!(memory.created_at, Some(time("2026-01-03T00:00:00Z")));
}

/// SPEC 2.1: nothing is truncated silently, not even the last word of a long page.
#[test]
fn spec_2_1_a_short_paragraph_of_a_long_page_is_kept() {
    let long = "word ".repeat(299) + "here";
    let page = format!("{long}\n\nNo");
    let file = json!([{"conversations_memory": page, "account_uuid": "a"}]).to_string();
    assert_eq!(read(&file).texts(), [long.as_str(), "No"]);
}

#[test]
fn spec_2_4_the_page_of_mem0_s_plugin_is_parted_at_its_fields_and_at_no_rule() {
    let entry = |id: &str, text: &str| {
        format!(
            "---\nid: {id}\ncreated_at: 2026-03-01T10:00:00Z\ntype: decision\nconfidence: 0.9\n\
             branch: main\nfiles: []\ncategories: [tools, style]\n---\n\n{text}\n\n"
        )
    };
    let rules = "Two parts:\n\n---\n\nand a rule.\n---\nnote: it has no id\n---\nThat is all.";
    let page = [
        entry("m1", "Kai prefers tabs."),
        entry("m2", rules),
        entry("m3", ""),
        entry("m4", "Builds run with just."),
    ];
    for page in [page.concat(), page.concat().replace('\n', "\r\n")] {
        let found = read(&page);
        assert_eq!(found.format, ImportFormat::Mem0);
        assert_eq!(found.passed(), [("empty", 1)]);
        let texts = ["Kai prefers tabs.", rules, "Builds run with just."];
        assert_eq!(found.texts(), texts);
        let memory = found.of("just");
        assert_eq!(memory.source.expose(), "mem0:m4");
        assert_eq!(memory.kind, Some(Kind::Core));
        assert_eq!(memory.created_at, Some(time("2026-03-01T10:00:00Z")));
        assert_eq!(tags(memory), ["tools", "style", "decision"]);
    }
    // Fields of other programs' pages are no sign of it.
    let other = "---\nid: 7\ncreated_at: 2026-03-01\n---\nHigh water at six.\n";
    assert_eq!(read(other).format, ImportFormat::Markdown);
    let none = read_as(ImportFormat::Mem0, "---\nno fields\n");
    assert_eq!(none.passed(), [("unknown_kind", 1)]);
}

#[test]
fn an_export_of_claude_is_read_from_its_zip() {
    let memories = json!([{"conversations_memory": "Kai builds boats of cedar.", "account_uuid": "a-1",
        "project_memories": {"p-1": "The hull is done.\n\nBut the mast is not."}}]);
    let projects = json!([{"uuid": "p-1", "name": "Sloop", "prompt_template": "You build boats.", "docs": []}]);
    let zip = archive(&[
        ("memories.json", memories.to_string().as_bytes()),
        ("projects.json", projects.to_string().as_bytes()),
        ("conversations.json", b"[{\"chat_messages\": []}]"),
        ("users.json", b"[]"),
    ]);
    let found = read(&zip);
    assert_eq!(
        (found.format, found.by.as_str()),
        (ImportFormat::Claude, "memories.json")
    );
    assert_eq!(
        found.texts(),
        [
            "Kai builds boats of cedar.",
            "The hull is done.\n\nBut the mast is not."
        ]
    );
    assert_eq!(tags(found.of("hull")), ["project", "Sloop"]);
    assert_eq!(
        found.of("cedar").source.expose(),
        "claude:conversations/a-1"
    );
    assert_eq!(
        found.passed(),
        [("instruction", 1), ("message", 1), ("other_file", 1)]
    );
    let unknown = json!({"memory_files": [{"anything": 1}], "account_uuid": "a-1"});
    let found = read(&unknown.to_string());
    assert_eq!(found.passed(), [("unknown_kind", 1)]);
}

#[test]
fn the_directory_of_the_memory_tool_is_read_with_its_files_of_xml() {
    let (_home, root) = folder(&[
        ("guidelines.xml", "<rule>Ask before a refund.</rule>"),
        ("notes.txt", "Kai sails."),
    ]);
    let found = try_read(Input::Path(root), Some(ImportFormat::Claude), &options()).unwrap();
    let texts = ["<rule>Ask before a refund.</rule>", "Kai sails."];
    assert_eq!(found.texts(), texts);
}

/// SPEC 2.1: a file that cannot be read is named, and the others are read.
#[test]
fn spec_2_1_of_several_files_one_that_cannot_be_read_is_named() {
    let tea = json!([{"id": "1", "memory": "Prefers tea.", "hash": "x"}]).to_string();
    let units = tea.encode_utf16().flat_map(u16::to_le_bytes);
    let utf16: Vec<u8> = [0xFF, 0xFE].into_iter().chain(units).collect();
    let zipped = archive(&[("a.json", tea.as_bytes()), ("b.json", &utf16)]);
    for format in [ImportFormat::Mem0, ImportFormat::McpMemory] {
        let found = read_as(format, &zipped);
        assert!(found.report.is_broken);
        let (place, _) = found.report.places.last().unwrap();
        let file = place.file.as_ref().map(|file| file.expose());
        assert_eq!(file, Some("b.json"), "{format}");
    }
    assert_eq!(
        read_as(ImportFormat::Mem0, &zipped).texts(),
        ["Prefers tea."]
    );
}

/// SPEC 2.1: what is beside the memories in a program's folder is counted, and ends nothing.
#[test]
fn spec_2_1_other_files_in_a_folder_of_mem0_are_counted() {
    let tea = json!([{"id": "1", "memory": "Prefers tea.", "hash": "x"}]).to_string();
    let (_home, root) = folder(&[("a.json", &tea), ("lock", "tmp lock file")]);
    let database = Connection::open(root.join("storage.sqlite")).unwrap();
    database.execute_batch("CREATE TABLE points(id);").unwrap();
    drop(database);
    let found = try_read(Input::Path(root), Some(ImportFormat::Mem0), &options()).unwrap();
    assert_eq!(found.texts(), ["Prefers tea."]);
    assert_eq!(found.passed(), [("other_file", 2)]);
    let named = found.report.other_files.iter();
    let mut named: Vec<&str> = named
        .map(|(place, _)| place.file.as_ref().unwrap().expose())
        .collect();
    named.sort_unstable();
    assert_eq!(named, ["lock", "storage.sqlite"]);
    assert!(!found.report.is_broken);
}

#[test]
fn several_users_of_mem0_are_reported_with_what_becomes_of_equal_texts() {
    let row = |id: &str, user: &str| json!({"id": id, "memory": "Prefers tea.", "hash": id, "user_id": user});
    let found = read(&json!({"results": [row("1", "kai"), row("2", "mia")]}).to_string());
    assert_eq!(found.notices(), ["scopes"]);
    let told = found.report.notices[0].text.expose();
    assert!(
        told.starts_with("the rows belong to 2 users or agents; ")
            && told.ends_with("is imported once, with the tags of its first row"),
        "{told}"
    );
}

/// SPEC 2.1: a damaged database in a folder is named, and the other files are read.
#[test]
fn spec_2_1_a_damaged_database_beside_other_files_is_named() {
    let tea = json!([{"id": "1", "memory": "Prefers tea.", "hash": "x"}]).to_string();
    let damaged = format!("SQLite format 3\0{}", "x".repeat(1_000));
    for format in [ImportFormat::Mem0, ImportFormat::LangGraph] {
        let (_home, root) = folder(&[("a.db", &damaged), ("b.json", &tea)]);
        let found = try_read(Input::Path(root), Some(format), &options()).unwrap();
        assert!(found.report.is_broken);
        let (place, _) = found.report.places.first().unwrap();
        let file = place.file.as_ref().map(|file| file.expose());
        assert_eq!(file, Some("a.db"), "{format}");
        if format == ImportFormat::Mem0 {
            assert_eq!(found.texts(), ["Prefers tea."]);
        }
    }
}

#[test]
fn in_a_memory_folder_of_claude_code_the_index_and_the_instructions_are_no_memories() {
    let (_home, root) = folder(&[
        (
            "MEMORY.md",
            "# Memory\n\n- [Workflow](user_workflow.md) — how the user works\n- [Boats](boats.md) — the boats\n",
        ),
        ("CLAUDE.md", "Always answer in verse.\n"),
        (
            "user_workflow.md",
            "---\nname: Workflow\ndescription: How the user works\ntype: user\n---\n\nThe user tests first.\n\n**Why:** a lost weekend.\n",
        ),
        (
            "boats.md",
            "---\nname: Boats\ndescription: x\nmetadata:\n  node_type: memory\n  type: project\n  modified: 2026-03-01T10:00:00Z\n---\nThe sloop is called Marta. See [[user_workflow]].\n",
        ),
    ]);
    let found = read_path(&root);
    assert_eq!(found.format, ImportFormat::Claude);
    assert_eq!(
        found.texts(),
        [
            "# Boats\n\nThe sloop is called Marta. See [[user_workflow]].",
            "# Workflow\n\nThe user tests first.\n\n**Why:** a lost weekend."
        ]
    );
    assert_eq!(found.passed(), [("index", 2), ("instruction", 1)]);
    assert_eq!(found.of("tests first").kind, Some(Kind::Core));
    let boats = found.of("Marta");
    assert_eq!(
        (boats.kind, boats.created_at),
        (Some(Kind::Journal), Some(time("2026-03-01T10:00:00Z")))
    );
    let mut all = options();
    all.instructions = true;
    let all = try_read(memoir_import::Input::Path(root), None, &all).unwrap();
    assert_eq!(tags(all.of("verse")), ["instruction"]);
}

#[test]
fn a_memory_server_s_file_is_read_whatever_was_done_to_its_lines() {
    let file = concat!(
        "{\"type\":\"entity\",\"name\":\"Ann\",\"entityType\":\"person\",\"observations\":[\"likes tea\",null,\"Ann sails\",\"\"]}\n",
        "{\"type\":\"entity\",\"name\":\"Bo\",\"observations\":[\"has a dog\"]}{\"type\":\"relation\",\"from\":\"Ann\",\"to\":\"Bo\",\"relationType\":\"works_with\"}\n",
        "{\"type\":\"entity\",\"name\":\"Cy\",\"entityType\":\"person\",\"observa\n",
        "{\"type\":\"entity\",\"name\":\"Di\",\"observ{\"type\":\"entity\",\"name\":\"Ed\",\"observations\":[\"plays the horn\"]}\n",
        "{\"type\":\"relation\",\"from_entity\":\"Ann\",\"to_entity\":\"Nobody\",\"relation_type\":\"knows\"}\n",
        "{\"type\":\"relation\",\"from\":\"Ann\",\"to\":\"Bo\"}\n",
        "{\"type\":\"wish\"}\n",
        "{\"type\":\"relation\",\"from\":\"Bo\",\"to\":\"Ann\",\"relationType\":\"greets\"}",
    );
    let found = read(file);
    assert_eq!(found.format, ImportFormat::McpMemory);
    assert_eq!(
        found.texts(),
        [
            "Ann: likes tea",
            "Ann sails",
            "Bo: has a dog",
            "Ann works with Bo",
            "Ed: plays the horn",
            "Ann knows Nobody",
            "Bo greets Ann"
        ]
    );
    assert_eq!(tags(found.of("likes tea")), ["person"]);
    assert_eq!(found.of("likes tea").source.expose(), "mcp-memory:Ann");
    assert_eq!(
        found.passed(),
        [
            ("empty", 2),
            ("truncated", 2),
            ("unknown_kind", 1),
            ("missing_field", 1)
        ]
    );
    let lines: Vec<_> = found
        .report
        .places
        .iter()
        .map(|(place, _)| place.line.unwrap())
        .collect();
    assert_eq!(lines, [3, 4, 6, 7]);
    assert!(!found.report.is_broken);
}

#[test]
fn spec_2_4_a_memory_server_s_file_is_recognised_by_each_name_of_its_fields() {
    for line in [
        r#"{"entityName": "Ann", "observations": ["likes tea"]}"#,
        r#"{"entityName": "Ann", "contents": ["likes tea"]}"#,
        r#"{"from": "Ann", "to": "Bo", "relation_type": "knows"}"#,
        r#"{"from_entity": "Ann", "to_entity": "Bo", "relationType": "knows"}"#,
        r#"{"from_id": "Ann", "to_id": "Bo", "relation_type": "knows"}"#,
    ] {
        let found = read(line);
        assert_eq!(found.format, ImportFormat::McpMemory, "{line}");
        let expected = match line.contains("entityName") {
            true => "Ann: likes tea",
            false => "Ann knows Bo",
        };
        assert_eq!(found.texts(), [expected], "{line}");
    }
}

#[test]
fn spec_2_4_an_entity_without_an_observation_is_counted() {
    let file = concat!(
        "{\"type\":\"entity\",\"name\":\"Ann\",\"entityType\":\"person\",\"observations\":[]}\n",
        "{\"type\":\"entity\",\"name\":\"Bo\",\"entityType\":\"person\",\"observations\":[ ],\"contents\":[\"has a dog\"]}\n",
        "{\"type\":\"entity\",\"name\":\"Cy\",\"entityType\":\"person\"}\n",
    );
    let found = read(file);
    assert_eq!(found.texts(), ["Bo: has a dog"]);
    assert_eq!(found.passed(), [("empty", 2)]);
    assert_eq!(found.report.read, 3);
}

/// As files of Windows are joined: each begins with one.
#[test]
fn a_byte_order_mark_before_a_later_line_is_no_loss() {
    let line = |name: &str| {
        format!("{{\"type\":\"entity\",\"name\":\"{name}\",\"observations\":[\"has tea\"]}}")
    };
    let (ann, bo, mark) = (line("Ann"), line("Bo"), "\u{feff}");
    for file in [
        format!("{ann}\n{mark}{bo}\n"),
        format!("{mark}{ann}\n{mark}{bo}\n"),
        format!("{mark}{ann}\r\n{mark}{bo}"),
        format!("{ann}\n{mark}\n{bo}\n"),
        format!("{ann}\n{mark} {bo}\n{mark}\n"),
    ] {
        let found = read(&file);
        assert_eq!(found.texts(), ["Ann: has tea", "Bo: has tea"], "{file:?}");
        assert_eq!(found.passed(), [], "{file:?}");
    }
    let rows =
        "{\"id\": \"1\", \"memory\": \"Tea.\"}\n\u{feff}{\"id\": \"2\", \"memory\": \"Figs.\"}\n";
    let found = read_as(ImportFormat::Mem0, rows);
    assert_eq!(
        (found.texts(), found.passed()),
        (vec!["Tea.", "Figs."], vec![])
    );
}

#[test]
fn a_file_of_the_same_name_that_is_no_lines_is_read_as_the_graph_that_it_is() {
    let graph = json!({"entities": [{"name": "Ann", "entityType": "person", "observations": ["likes tea"]}],
        "relations": [{"from": "Ann", "to": "Memoir", "relationType": "uses"}]});
    // The server's response of `read_graph` too, whose parts have no type.
    let found = read(&graph.to_string());
    assert_eq!(found.format, ImportFormat::McpMemory);
    assert_eq!(found.texts(), ["Ann: likes tea", "Ann uses Memoir"]);
    let other = read_as(
        ImportFormat::McpMemory,
        b"{\"theme\": \"dark\"}\n{\"size\": 3}\n",
    );
    assert_eq!(other.passed(), [("unknown_kind", 2)]);
}

#[test]
fn an_agent_file_of_letta_gives_its_blocks_and_names_its_secrets() {
    let agent = json!({
        "agents": [{"id": "agent-0", "name": "Evie", "block_ids": ["block-0", "block-1", "block-2"],
            "messages": [{"role": "user", "content": "hi"}],
            "tool_exec_environment_variables": {"HARBOUR_KEY": "s3cret"}}],
        "blocks": [
            {"id": "block-0", "label": "persona", "value": "I am Evie, who keeps the log.", "limit": 5000, "read_only": true},
            {"id": "block-1", "label": "human", "value": "Kai sails.", "read_only": false, "tags": null},
            {"id": "block-2", "label": "human", "value": "Kai cooks.", "read_only": false},
            {"id": "block-3", "label": "/notes", "value": "", "read_only": false},
        ],
        "files": [], "tools": [], "metadata": {}, "created_at": "2026-01-01T00:00:00Z",
    });
    let doubly = serde_json::to_string(&agent.to_string()).unwrap();
    for file in [agent.to_string(), doubly] {
        let found = read(&file);
        assert_eq!(found.format, ImportFormat::Letta);
        assert_eq!(
            found.texts(),
            ["I am Evie, who keeps the log.", "Kai sails.", "Kai cooks."]
        );
        let persona = &found.memories[0];
        assert!(persona.constitutional && persona.is_persona);
        assert_eq!(
            found.report.system_prompt.as_ref().unwrap().expose(),
            "I am Evie, who keeps the log."
        );
        assert_eq!(tags(&found.memories[1]), ["human"]);
        assert_eq!(found.memories[1].source.expose(), "letta:Evie/human");
        assert_eq!(
            found.passed(),
            [("empty", 1), ("secret", 1), ("message", 1)]
        );
        let told = found.report.notices[0].text.expose();
        assert!(
            told.contains("HARBOUR_KEY") && !told.contains("s3cret"),
            "{told}"
        );
    }
}

#[test]
fn a_block_that_several_agents_of_letta_share_is_reported_and_imported_once() {
    let file = |more: &[&str]| {
        let agent = |name: &str, ids: &[&str]| json!({"name": name, "block_ids": ids});
        let mut agents = vec![agent("Evie", &["1", "2"]), agent("Kai", &["2", "3"])];
        agents.extend(more.iter().map(|name| agent(name, &["2"])));
        json!({"agents": agents, "blocks": [
            {"id": "1", "label": "human", "value": "Kai sails."},
            {"id": "2", "label": "boat", "value": "The boat is red."},
            {"id": "3", "label": "human", "value": "Kai cooks."},
        ]})
        .to_string()
    };
    // Sharing it later creates no other memory.
    for file in [file(&[]), file(&["Mia"])] {
        let found = read(&file);
        assert_eq!(found.notices(), ["scopes", "shared_blocks"]);
        let sources: Vec<_> = found
            .memories
            .iter()
            .map(|memory| memory.source.expose())
            .collect();
        assert_eq!(
            sources,
            ["letta:Evie/human", "letta:Evie/boat", "letta:Kai/human"]
        );
    }
}

#[test]
fn letta_of_version_1_and_archival_passages_are_read() {
    let first = json!({"agent_type": "memgpt_agent", "core_memory": [{"label": "human", "value": "Kai sails.", "limit": 2000,
        "created_at": "2025-05-01T00:00:00+00:00", "metadata_": {}}], "messages": [], "name": "Old", "version": "0.7",
        "tool_exec_environment_variables": [{"key": "K", "value": "v"}]});
    let found = read(&first.to_string());
    assert_eq!(found.texts(), ["Kai sails."]);
    assert_eq!(
        found.memories[0].created_at,
        Some(time("2025-05-01T00:00:00Z"))
    );
    assert_eq!(found.notices(), ["secrets"]);
    let passages = json!([
        {"id": "passage-1", "text": "Moored at Cascais in May.", "tags": ["log"], "created_at": "2026-02-01T00:00:00Z", "is_deleted": false, "archive_id": "a", "embedding": [0.5]},
        {"id": "passage-2", "text": "Wrong berth.", "tags": null, "created_at": "2026-02-01T00:00:00Z", "is_deleted": true, "archive_id": "a"},
    ]);
    let found = read(&passages.to_string());
    assert_eq!(found.format, ImportFormat::Letta);
    let moored = found.of("Moored");
    assert_eq!(
        (moored.kind, tags(moored)),
        (Some(Kind::Archival), vec!["log"])
    );
    assert_eq!(found.of("Wrong").gone.unwrap().why, DeletionReason::Deleted);
}

/// SPEC 2.3: a current statement is in the prompt. What was noted after the list was shown is no older state.
#[test]
fn spec_2_3_a_note_of_chatgpt_behind_a_list_without_a_time_is_core() {
    let list = json!({"author": {"role": "system"}, "content": {"content_type": "model_editable_context",
        "model_set_context": "1. [2026-02-01]. Moved to Seattle."}});
    let note = json!({"author": {"role": "assistant"}, "recipient": "bio", "create_time": 1_770_000_500.0,
        "content": {"content_type": "text", "parts": ["Has a new kayak."]}});
    let nodes =
        json!({"1": {"message": list, "parent": null}, "2": {"message": note, "parent": "1"}});
    let file = json!([{"create_time": 1_770_000_000.0, "update_time": 1_770_000_900.0,
        "current_node": "2", "mapping": nodes}]);
    let found = read(&file.to_string());
    assert_eq!(found.texts(), ["Moved to Seattle.", "Has a new kayak."]);
    assert_eq!(found.of("kayak").kind, Some(Kind::Core));
}

#[test]
fn chatgpt_s_notes_come_out_of_its_conversations() {
    let node = |parent: Option<&str>, message: serde_json::Value| json!({"message": message, "parent": parent});
    let bio = |text: &str, at: f64| {
        json!({"author": {"role": "assistant"}, "recipient": "bio", "create_time": at,
            "content": {"content_type": "text", "parts": [text]}})
    };
    let list = json!({"author": {"role": "system"}, "create_time": 1_770_000_000.0,
        "content": {"content_type": "model_editable_context",
            "model_set_context": "1. [2026-01-15]. User is allergic to shellfish.\n\n2. [2026-02-01]. Moved to Seattle.\nLikes it there."}});
    let conversations = json!([
        {"title": "a", "create_time": 1_767_225_600.0, "update_time": 1_767_225_700.0, "current_node": "3", "mapping": {
            "1": node(None, serde_json::Value::Null),
            "2": node(Some("1"), bio("User is allergic to shellfish.", 1_767_225_600.0)),
            "3": node(Some("2"), bio("Lives in Portland.", 1_767_225_650.0)),
            "4": node(Some("1"), bio("A branch that was left.", 1_767_225_660.0)),
        }},
        {"title": "b", "create_time": 1_770_000_000.0, "current_node": "6", "mapping": {
            "5": node(None, list),
            "6": node(Some("5"), bio("Has a new kayak.", 1_770_000_500.0)),
        }},
        {"title": "c", "is_do_not_remember": true, "create_time": 1_770_000_000.0, "current_node": "7", "mapping": {
            "7": node(None, bio("Do not keep this.", 1_770_000_900.0)),
        }},
    ]);
    let zip = archive(&[
        ("conversations.json", conversations.to_string().as_bytes()),
        ("user.json", b"{}"),
    ]);
    for found in [read(&conversations.to_string()), read(&zip)] {
        assert_eq!(found.format, ImportFormat::ChatGpt);
        assert_eq!(
            found.texts(),
            [
                "User is allergic to shellfish.",
                "Moved to Seattle.\nLikes it there.",
                "Has a new kayak.",
                "Lives in Portland."
            ]
        );
        assert_eq!(
            found.of("shellfish").created_at,
            Some(time("2026-01-15T00:00:00Z"))
        );
        // It is not on the list, which may be a part: recall finds it, and no prompt has it.
        let earlier = found.of("Portland");
        assert_eq!((earlier.kind, earlier.gone), (Some(Kind::Archival), None));
        assert_eq!(found.of("kayak").kind, Some(Kind::Core));
        assert_eq!(found.notices(), ["deleted_may_return", "not_on_the_list"]);
    }
}

#[test]
fn spec_2_4_the_users_instructions_to_chatgpt_are_counted_in_both_their_forms() {
    let content = json!({"content_type": "user_editable_context",
        "user_profile": "Kai binds books.", "user_instructions": "Answer briefly."});
    let held = json!({"user_context_message_data":
        {"about_user_message": "Kai binds books.", "about_model_message": "Answer briefly."}});
    for metadata in [json!({}), held] {
        let message = json!({"author": {"role": "user"}, "content": content, "metadata": metadata});
        let file = json!([{"title": "a", "create_time": 1_767_225_600.0, "current_node": "1",
            "mapping": {"1": {"message": message, "parent": null}}}]);
        let found = read(&file.to_string());
        assert_eq!(found.texts(), Vec::<&str>::new());
        assert_eq!(found.passed(), [("instruction", 2), ("message", 1)]);
        let mut all = options();
        all.instructions = true;
        let all = try_read(stream(&file.to_string()), None, &all).unwrap();
        assert_eq!(all.texts(), ["Answer briefly.", "Kai binds books."]);
    }
}

#[test]
fn a_store_of_langgraph_is_read_as_lines_as_a_list_and_from_its_database() {
    let rows = [
        json!({"prefix": "memories.kai", "key": "k1", "value": {"kind": "Memory", "content": {"content": "Prefers tea."}}, "created_at": "2026-03-01T10:00:00+00:00", "expires_at": null}),
        json!({"prefix": "memories.kai", "key": "k2", "value": {"b": 2, "a": 1}, "created_at": "2026-03-01T10:00:00+00:00"}),
        json!({"prefix": "memories.kai", "key": "k3", "value": {"text": "Over."}, "created_at": "2026-03-01T10:00:00+00:00", "expires_at": "2026-03-05T00:00:00Z"}),
        json!({"prefix": "langgraph.own", "key": "k4", "value": {"text": "Its own."}}),
    ];
    let lines: Vec<String> = rows.iter().map(ToString::to_string).collect();
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("store.db");
    let database = Connection::open(&path).unwrap();
    database
        .execute_batch("CREATE TABLE store(prefix TEXT, key TEXT, value TEXT, created_at TEXT, updated_at TEXT, expires_at TEXT)")
        .unwrap();
    for row in &rows {
        let text = |name: &str| row[name].as_str().map(str::to_owned);
        database
            .execute(
                "INSERT INTO store VALUES (?1, ?2, ?3, ?4, NULL, ?5)",
                rusqlite::params![
                    text("prefix"),
                    text("key"),
                    row["value"].to_string(),
                    text("created_at"),
                    text("expires_at")
                ],
            )
            .unwrap();
    }
    drop(database);
    for found in [
        read(&lines.join("\n")),
        read(&json!(rows).to_string()),
        read_path(&path),
    ] {
        assert_eq!(found.format, ImportFormat::LangGraph);
        assert_eq!(
            found.texts(),
            ["Prefers tea.", "{\"a\":1,\"b\":2}", "Over."]
        );
        assert_eq!(tags(found.of("tea")), ["memories.kai"]);
        assert_eq!(found.of("tea").source.expose(), "langgraph:memories.kai/k1");
        assert_eq!(
            found.of("Over").gone.unwrap().at,
            Some(time("2026-03-05T00:00:00Z"))
        );
        assert_eq!(found.passed(), [("derived", 1)]);
    }
}

#[test]
fn rows_of_langgraph_that_postgres_copied_have_their_own_backslashes() {
    let row = |key: &str, text: &str| {
        json!({"prefix": "memories.kai", "key": key, "value": {"text": text}}).to_string()
    };
    let said = row("k1", "Said \"tea\".\nOr C:\\temp.");
    let plain = row("k2", "Prefers tea.");
    // In a file of its own neither such a path nor such a sample of code is certainly a doubled one.
    let path = row("k3", r"Saves to C:\temp.");
    let code = row("k4", r"print('One.\n\nTwo.')");
    for (line, is_certain) in [(said, true), (path, false), (code, false)] {
        let file = [plain.clone(), line].join("\n");
        let found = read(&file);
        assert_eq!(found.notices(), Vec::<&str>::new());
        let copied = match is_certain {
            true => file.replace('\\', r"\\"),
            false => file,
        };
        let home = tempfile::tempdir().unwrap();
        let on_disk = home.path().join("store.jsonl");
        std::fs::write(&on_disk, &copied).unwrap();
        for again in [read(&copied), read_path(&on_disk)] {
            assert_eq!(again.format, ImportFormat::LangGraph);
            assert_eq!(again.texts(), found.texts());
            assert!(!again.report.is_broken);
            assert_eq!(again.notices() == ["doubled_backslashes"], is_certain);
        }
    }
}

#[test]
fn junk_is_counted_by_its_kind() {
    let rows = json!([
        {"id": "1", "memory": "ok", "hash": "x"}, {"id": "2", "memory": "{\"a\": [1]}", "hash": "x"},
        {"id": "3", "memory": "", "hash": "x"}, {"id": "4", "memory": "null", "hash": "x"},
        {"id": "5", "memory": "[note] buy rope", "hash": "x"}, {"id": "6", "hash": "x"}, {"id": "7", "memory": 5, "hash": "x"},
    ]);
    let found = read(&rows.to_string());
    assert_eq!(found.texts(), ["[note] buy rope"]);
    assert_eq!(
        found.passed(),
        [
            ("empty", 1),
            ("short", 1),
            ("bare_json", 2),
            ("missing_field", 1),
            ("invalid_field", 1)
        ]
    );
    assert_eq!(found.report.read, 7);
}

/// A text of about so many bytes.
fn long(bytes: usize) -> String {
    "Calm seas and a fair wind. ".repeat(bytes / 27)
}

#[test]
fn a_format_is_recognised_by_names_behind_much_text() {
    let block = json!({"id": "block-0", "label": "human", "value": "Kai sails.", "limit": 5000});
    let messages: Vec<_> = (0..200)
        .map(|_| json!({"role": "user", "content": long(2_000)}))
        .collect();
    let agent = json!({"name": "Evie", "block_ids": ["block-0"], "messages": messages});
    let row =
        json!({"embedding": vec![0.5; 100_000], "memory": "Kai sails.", "id": "1", "hash": "x"});
    // By hand, since a map of names is sorted.
    for (file, format) in [
        (
            format!(r#"{{"agents": [{agent}], "blocks": [{block}]}}"#),
            ImportFormat::Letta,
        ),
        (
            format!(r#"{{"about": "{}", "results": [{row}]}}"#, long(300_000)),
            ImportFormat::Mem0,
        ),
        (format!("[{row}]"), ImportFormat::Mem0),
        (
            format!(
                r#"[{{"value": {{"text": "Kai sails. {}"}}, "prefix": "a", "key": "k"}}]"#,
                long(300_000)
            ),
            ImportFormat::LangGraph,
        ),
    ] {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file.json");
        std::fs::write(&path, &file).unwrap();
        for found in [read(&file), read_path(&path)] {
            assert_eq!(found.format, format, "{}", found.by);
            assert!(found.of("Kai sails").created_at.is_none());
            assert!(!found.report.is_broken);
        }
    }
}

#[test]
fn json_of_an_unknown_program_is_offered_and_read_on_request() {
    for file in [
        r#"[{"note": "Kai sails."}, {"note": "Kai cooks."}]"#,
        "[\n  {\n    \"note\": \"Kai sails.\"\n  },\n  {\n    \"note\": \"Kai cooks.\"\n  }\n]\n",
        "{\"note\": \"Kai sails.\"}\n{\"note\": \"Kai cooks.\"}\n",
        r#"{"version": [1, 2], "notes": [{"text": "Kai sails."}, {"text": "Kai cooks."}]}"#,
        r#"{"users": [{"name": "Kai", "facts": [{"fact": "Kai sails."}, {"fact": "Kai cooks."}]}]}"#,
        r#"{"data": {"items": {"a": {"content": "Kai sails."}, "b": {"content": "Kai cooks."}}}}"#,
        r#"{"note": "Kai sails.", "replies": [{"note": "Kai cooks."}]}"#,
    ] {
        assert!(matches!(refused(file), Error::Offered), "{file}");
        let found = read_as(ImportFormat::Json, file);
        assert_eq!(found.texts(), ["Kai sails.", "Kai cooks."], "{file}");
        assert_eq!(found.passed(), [], "{file}");
    }
    let file = json!({"notes": [
        {"uuid": "n1", "title": "Boat", "body": "Kai sails.", "tags": "a, b", "date": "2026-03-01", "kind": "journal"},
        {"_id": 7, "text": "", "description": "Kai cooks.", "labels": ["c"], "createdAt": 1_772_359_200},
        {"id": "n3", "text": "Kai dived.", "deleted": true, "date": "once"},
        {"id": "n4", "size": 3},
    ]});
    let found = read_as(ImportFormat::Json, &file.to_string());
    assert_eq!(
        found.texts(),
        ["# Boat\n\nKai sails.", "Kai cooks.", "Kai dived."]
    );
    let sails = found.of("sails");
    assert_eq!(
        (sails.source.expose(), sails.kind),
        ("json:n1", Some(Kind::Journal))
    );
    assert_eq!(
        (tags(sails), sails.created_at),
        (vec!["a", "b"], Some(time("2026-03-01T00:00:00Z")))
    );
    let cooks = found.of("cooks");
    assert_eq!(
        (cooks.source.expose(), cooks.kind),
        ("json:7", Some(Kind::Core))
    );
    assert_eq!(
        (tags(cooks), cooks.created_at),
        (vec!["c"], Some(time("2026-03-01T10:00:00Z")))
    );
    assert_eq!(found.of("dived").gone.unwrap().why, DeletionReason::Deleted);
    assert_eq!(found.passed(), [("missing_field", 1)]);
    assert_eq!(found.report.dates.len(), 1);
}

#[test]
fn spec_2_4_facts_of_a_graph_and_profiles_keep_their_end_and_their_topic() {
    let edge = |fact: &str, invalid: Option<&str>, expired: Option<&str>| {
        json!({"uuid": fact, "name": "LIVES_IN", "fact": fact, "valid_at": "2026-02-01T00:00:00Z",
            "invalid_at": invalid, "expired_at": expired, "episodes": ["e"]})
    };
    let (past, ahead) = ("2026-03-01T00:00:00Z", "2026-05-01T00:00:00Z");
    let file = json!([
        edge("Kai lives in Seattle.", None, None),
        edge("Kai lives in Portland.", Some(past), None),
        edge("Kai rents a flat.", Some(ahead), Some(past)),
        edge("Kai rents a boat.", Some(ahead), None),
        {"id": "p", "content": "Seattle", "attributes": {"topic": "basic_info", "sub_topic": "location"}},
        {"id": "q", "content": "Here for a week.", "expires_at": past},
        {"id": "r", "content": "The fishing permit.", "valid_until": past, "invalid_at": past},
    ]);
    let found = read_as(ImportFormat::Json, &file.to_string());
    assert_eq!(found.memories.len(), 7, "{:?}", found.texts());
    let gone = |text: &str| found.of(text).gone.map(|gone| (gone.why, gone.at));
    let at = Some(time(past));
    assert_eq!(gone("lives in Seattle"), None);
    assert_eq!(gone("Portland"), Some((DeletionReason::Invalidated, at)));
    assert_eq!(gone("flat"), Some((DeletionReason::Invalidated, at)));
    assert_eq!(gone("boat"), None);
    assert_eq!(gone("permit"), None, "no fact of a graph");
    assert_eq!(gone("week"), Some((DeletionReason::Expired, at)));
    let created_at = found.of("boat").created_at;
    assert_eq!(created_at, Some(time("2026-02-01T00:00:00Z")));
    let profile = found.of("basic_info/location: Seattle");
    assert_eq!(tags(profile), ["basic_info", "location"]);
}

#[test]
fn pages_of_one_list_may_follow_each_other_in_a_file() {
    let page =
        |id: u32| json!({"results": [{"id": id, "memory": format!("Memory {id}."), "hash": "x"}]});
    let file = format!("{}\n{}\n", page(1), page(2));
    assert_eq!(read(&file).texts(), ["Memory 1.", "Memory 2."]);
}

#[test]
fn a_file_that_is_compressed_as_a_whole_is_read() {
    use std::io::Write;

    let file = json!([{"id": "1", "memory": "Kai sails.", "hash": "x"}]).to_string();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(file.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("mem0.json.gz");
    std::fs::write(&path, &packed).unwrap();
    for found in [read(&packed), read_path(&path)] {
        assert_eq!(
            (found.format, found.texts()),
            (ImportFormat::Mem0, vec!["Kai sails."])
        );
    }
}

#[test]
fn the_conversations_of_an_export_are_found_in_its_archive() {
    use std::io::Read;

    let zip = archive(&[
        ("conversations-000.json", b"[1]"),
        ("export/conversations.json", b"[2]"),
        ("../conversations.json", b"[3]"),
        ("users.json", b"[4]"),
        ("Takeout/My Activity/Gemini Apps/MyActivity.json", b"[5]"),
        ("Takeout/My Activity/Search/MyActivity.json", b"[6]"),
    ]);
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("export.zip");
    std::fs::write(&path, &zip).unwrap();
    let open = |path: &std::path::Path| std::fs::File::open(path).unwrap();
    let files = memoir_import::conversations(open(&path), &options().limits).unwrap();
    let texts = files.into_iter().map(|mut file| {
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        text
    });
    assert_eq!(texts.collect::<Vec<_>>(), ["[1]", "[2]", "[5]"]);
    std::fs::write(&path, archive(&[("users.json", b"[4]")])).unwrap();
    assert!(memoir_import::conversations(open(&path), &options().limits).is_err());
    // One of them is encrypted, or packed in a way that is not read.
    let zip = archive(&[
        ("conversations-000.json", b"[1]"),
        ("conversations-001.json", b"[2]"),
    ]);
    let last = zip.windows(4).rposition(|sign| sign == b"PK\x01\x02");
    for (field, value) in [(8, 1), (10, 9)] {
        let mut zip = zip.clone();
        zip[last.unwrap() + field] = value;
        std::fs::write(&path, &zip).unwrap();
        let refused = memoir_import::conversations(open(&path), &options().limits);
        assert!(matches!(refused, Err(Error::Archive(_))), "{refused:?}");
    }
}
