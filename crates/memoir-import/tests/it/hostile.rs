//! Hostile or damaged files.

use std::{io, ops::ControlFlow};

use memoir_import::{Error, Import, ImportFormat, ImportLimits, Input, NoMemoryClass};
use serde_json::json;

use crate::{archive, folder, options, read, read_as, read_path, refused, stream, tags, try_read};

#[test]
fn a_bomb_of_nesting_costs_nothing_but_itself() {
    let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
    let objects = "{\"a\":".repeat(300_000) + "1" + &"}".repeat(300_000);
    let file = format!(
        "{{\"results\": [{{\"id\": \"1\", \"memory\": \"Before.\", \"hash\": {deep}}}, {{\"id\": \"2\", \"memory\": {objects}}}, {{\"id\": \"3\", \"memory\": \"After.\"}}]}}"
    );
    let found = read_as(ImportFormat::Mem0, &file);
    assert_eq!(found.texts(), ["Before.", "After."]);
    assert_eq!(found.passed(), [("invalid_field", 1)]);
    for format in ImportFormat::ALL {
        let _ = try_read(stream(&deep), Some(format), &options());
        let _ = try_read(stream(&objects), Some(format), &options());
    }
}

#[test]
fn what_wraps_itself_names_itself_or_begins_again_and_again_costs_no_more_than_its_size() {
    let wrapped = "{\"data\":".repeat(30_000) + "1" + &"}".repeat(30_000);
    assert!(try_read(stream(&wrapped), None, &options()).is_err());
    // Quadratic, these two would take hours, and gigabytes.
    let begun = "{\"type\"".repeat(400_000);
    let found = read_as(ImportFormat::McpMemory, &begun);
    assert_eq!(found.passed(), [("truncated", 16)]);
    let small = "{\"a\":1} ".repeat(300_000);
    assert!(read_as(ImportFormat::McpMemory, &small).texts().is_empty());
    let keys: String = (0..60_000).map(|key| format!("k{key}:1,")).collect();
    let page = format!("---\n{}: {{{keys}}}\n---\nShe rows.\n", "n".repeat(1 << 20));
    let found = read_as(ImportFormat::Markdown, &page);
    assert_eq!(found.texts(), ["She rows."]);
}

#[test]
fn an_empty_list_of_a_program_is_recognised() {
    let found = read(br#"{"results": []}"#);
    assert!(found.texts().is_empty());
    assert!(found.passed().is_empty());
}

#[test]
fn a_bomb_of_compression_is_stopped() {
    let mut bomb = b"[{\"conversations_memory\": \"".to_vec();
    bomb.resize(bomb.len() + (80 << 20), b'a');
    bomb.extend(b"\"}]");
    let zip = archive(&[("memories.json", &bomb)]);
    assert!(zip.len() < 1 << 20);
    let found = read(&zip);
    assert!(
        found.texts().is_empty() && found.report.is_broken,
        "{:?}",
        found.report
    );
    assert_eq!(found.passed(), [("too_large", 1)]);
}

#[test]
fn names_that_lead_out_and_links_of_an_archive_are_not_followed() {
    let memories = json!([{"conversations_memory": "Kai sails.", "account_uuid": "a"}]).to_string();
    let zip = archive(&[
        ("memories.json", memories.as_bytes()),
        ("../../memories.json", memories.as_bytes()),
        ("/etc/memories.json", memories.as_bytes()),
        ("C:\\memories.json", memories.as_bytes()),
        ("a/memories.json", b"->/etc/passwd"),
    ]);
    let found = read(&zip);
    assert_eq!(found.texts(), ["Kai sails."]);
    assert_eq!(found.passed(), [("link", 1), ("outside_path", 3)]);
}

#[test]
fn an_archive_that_is_not_whole_is_refused_or_read_in_part_and_never_worse() {
    let memories = json!([{"conversations_memory": "Kai sails.", "account_uuid": "a"}]).to_string();
    let zip = archive(&[("memories.json", memories.as_bytes())]);
    for end in 4..zip.len() {
        let _ = try_read(stream(&zip[..end]), None, &options());
    }
    for at in 0..zip.len() {
        let mut broken = zip.clone();
        broken[at] ^= 0xFF;
        let _ = try_read(stream(&broken), None, &options());
    }
}

#[cfg(unix)]
#[test]
fn symbolic_links_of_a_folder_are_reported_and_not_followed() {
    let (home, root) = folder(&[("note.md", "Kai sails.")]);
    let secret = home.path().join("secret.md");
    std::fs::write(&secret, "A secret.").unwrap();
    std::os::unix::fs::symlink(&secret, root.join("linked.md")).unwrap();
    std::os::unix::fs::symlink(&root, root.join("loop")).unwrap();
    let found = read_path(&root);
    assert_eq!(found.memories.len(), 1);
    assert_eq!(found.passed(), [("link", 2)]);
}

#[cfg(unix)]
#[test]
fn a_link_that_is_put_in_after_the_look_is_not_followed() {
    use std::os::unix::fs::symlink;

    let (home, root) = folder(&[
        ("note.md", "Kai sails."),
        ("log/day.md", "Kai cooks."),
        ("plain.md", "Kai sings."),
    ]);
    let outside = home.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("day.md"), "A secret.").unwrap();
    let limits = ImportLimits::default();
    let import = Import::open(Input::Path(root.clone()), None, &limits).unwrap();
    std::fs::remove_file(root.join("note.md")).unwrap();
    symlink(outside.join("day.md"), root.join("note.md")).unwrap();
    std::fs::remove_dir_all(root.join("log")).unwrap();
    symlink(&outside, root.join("log")).unwrap();
    let mut texts = Vec::new();
    let report = import
        .read(&options(), &mut |memory| {
            texts.push(memory.content.expose().to_owned());
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert!(texts[0].contains("Kai sings."));
    assert_eq!(report.count(NoMemoryClass::NotUnderstood), 2);
}

#[cfg(unix)]
#[test]
fn a_database_behind_a_link_that_is_put_in_after_the_look_is_not_opened() {
    let (home, root) = folder(&[("log/history.db", "")]);
    let outside = home.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    for folder in [&outside, &root.join("log")] {
        let database = rusqlite::Connection::open(folder.join("history.db")).unwrap();
        database
            .execute_batch(
                "CREATE TABLE history(memory_id, old_memory, new_memory, event, created_at, updated_at, is_deleted);
                 INSERT INTO history VALUES('1', NULL, 'A secret.', 'ADD', '2026-01-01', NULL, 0);",
            )
            .unwrap();
    }
    let limits = ImportLimits::default();
    let open = || Import::open(Input::Path(root.clone()), Some(ImportFormat::Mem0), &limits);
    let read = |import: Import| import.read(&options(), &mut |_| ControlFlow::Continue(()));
    assert_eq!(read(open().unwrap()).unwrap().given, 1);
    let import = open().unwrap();
    std::fs::remove_dir_all(root.join("log")).unwrap();
    std::os::unix::fs::symlink(&outside, root.join("log")).unwrap();
    assert!(!read(import).is_ok_and(|report| report.given > 0));
}

#[test]
fn a_part_behind_a_broken_one_is_reported_with_its_position() {
    let chatgpt = |content: &str| {
        format!(
            r#"[{{"current_node": "1", "mapping": {{"1": {{"message": {{"author": {{"role": "assistant"}}, "recipient": "bio",
                "content": {{"content_type": "text", "parts": {content}}}}}}}}}}}]"#
        )
    };
    let files = [
        (
            ImportFormat::Letta,
            r#"{"agents": [], "blocks": [{"label": "human", "value": "Kai sails."} # {"label": "human", "value": "Kai cooks."}]}"#.to_owned(),
        ),
        (
            ImportFormat::Letta,
            r#"{"agents": [{"name": "Evie", "memory_blocks": [{"label": "human", "value": "Kai sails."}, #]}], "blocks": []}"#.to_owned(),
        ),
        (
            ImportFormat::Letta,
            r#"{"blocks": [{"label": "human", "value": "Kai sails."}], "agents": [{"name": "Evie"} # {"name": "Kai"}]}"#.to_owned(),
        ),
        (
            ImportFormat::Claude,
            r#"[{"project_memories": {"1": "Kai sails.", # "2": "Kai cooks."}}]"#.to_owned(),
        ),
        (
            ImportFormat::Claude,
            r#"[{"conversations_memory": "Kai sails.", "project_memories": #[]}]"#.replace('#', ""),
        ),
        (ImportFormat::ChatGpt, chatgpt(r#"["Kai sails.", # "Kai cooks."]"#)),
    ];
    for (format, file) in files {
        let found = read_as(format, &file);
        assert_eq!(found.texts(), ["Kai sails."], "{file}");
        let places = &found.report.places;
        assert_eq!(places.len(), 1, "{file}: {places:?}");
        let at = file.find('#').or(file.find("[]}")).unwrap();
        assert_eq!(places[0].0.byte, Some(at as u64), "{file}");
    }
}

#[test]
fn a_bracket_of_another_kind_closes_no_list() {
    let file = r#"{"agents": [], "blocks": [}, "core_memory": [{"label": "human", "value": "Kai sails."}]}"#;
    let found = read_as(ImportFormat::Letta, file);
    assert_eq!(found.texts(), ["Kai sails."]);
    assert_eq!(found.passed(), [("malformed", 1)]);
}

#[test]
fn the_notes_of_all_conversations_together_are_held_to_a_limit() {
    let node = |n: usize| {
        json!({"current_node": "1", "mapping": {"1": {"message": {"author": {"role": "user"}, "content": {},
            "metadata": {"user_context_message_data": {"about_user_message": format!("{n} {}", "sails ".repeat(50))}}}}}})
    };
    let file = json!((0..40).map(node).collect::<Vec<_>>()).to_string();
    let read = |entry_bytes: usize| {
        let mut options = options();
        options.instructions = true;
        options.limits.entry_bytes = entry_bytes;
        let format = Some(ImportFormat::ChatGpt);
        try_read(stream(&file), format, &options).unwrap()
    };
    let found = read(1_000);
    let passed: std::collections::BTreeMap<_, _> = found.passed().into_iter().collect();
    assert!((1..=13).contains(&found.memories.len()));
    assert_eq!(found.memories.len() as u64 + passed["too_many"], 40);
    assert_eq!(read(16 << 20).memories.len(), 40);
}

#[test]
fn personas_without_end_are_offered_as_far_as_a_prompt_holds() {
    let block = |n: usize| json!({"label": "persona", "value": format!("I am number {n} of {}", "many ".repeat(300))});
    let blocks: Vec<_> = (0..3_000).map(block).collect();
    let file = json!({"agents": [], "blocks": blocks}).to_string();
    let found = read(&file);
    let prompt = found.report.system_prompt.as_ref().unwrap();
    assert!((90_000..=100_000).contains(&prompt.expose().chars().count()));
    assert_eq!(found.notices(), ["personas"]);
    // A text outside the prompt is a memory like any other, and is imported where the prompt is set.
    for memory in &found.memories {
        let is_offered = prompt.expose().contains(memory.content.expose());
        assert_eq!(memory.is_persona, is_offered);
    }
    assert_eq!(found.memories.len(), 3_000);
}

#[test]
fn a_line_of_ten_megabytes_is_split_and_one_over_the_limit_is_passed_over() {
    let long = "word ".repeat(2 << 20);
    let file = json!([{"id": "1", "memory": long, "hash": "x"}]).to_string();
    let found = read(&file);
    assert!(found.memories.len() > 1_000);
    assert_eq!(found.report.split, 1);
    let words: usize = found
        .texts()
        .iter()
        .map(|text| text.matches("word").count())
        .sum();
    assert_eq!(words, 2 << 20);
    let mut small = options();
    small.limits = ImportLimits {
        entry_bytes: 1_000,
        ..ImportLimits::default()
    };
    let file = format!(
        "[{{\"id\": \"1\", \"memory\": \"{}\"}}, {{\"id\": \"2\", \"memory\": \"Short.\"}}]",
        "x".repeat(2_000)
    );
    let found = try_read(stream(&file), Some(ImportFormat::Mem0), &small).unwrap();
    assert_eq!(
        (found.texts(), found.passed()),
        (vec!["Short."], vec![("too_large", 1)])
    );
}

#[test]
fn spec_2_1_bytes_that_are_no_text_are_mended_and_a_file_that_is_none_is_reported() {
    let mut file =
        b"[{\"id\": \"1\", \"memory\": \"bad \xFF\"}, {\"id\": \"2\", \"memory\": \"Good.\"}]"
            .to_vec();
    let found = read_as(ImportFormat::Mem0, &file);
    let texts = ["bad \u{FFFD}", "Good."];
    assert_eq!(found.texts(), texts);
    assert_eq!(found.passed(), []);
    file.splice(0..0, [0xEF, 0xBB, 0xBF]);
    assert_eq!(read_as(ImportFormat::Mem0, &file).texts(), texts);
    let wide: Vec<u8> = "[]".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let wide = [vec![0xFF, 0xFE], wide].concat();
    assert!(matches!(refused(&wide), Error::Utf16));
}

#[test]
fn spec_2_1_neither_a_mark_nor_an_object_around_hides_a_form() {
    let entity = r#"{"name": "Ann", "entityType": "person", "observations": ["likes tea"]}"#;
    let passage = r#"[{"id": "p1", "archive_id": "a1", "text": "Ann: likes tea"}]"#;
    let block = r#"{"id": "b1", "label": "human", "value": "Ann: likes tea"}"#;
    for (format, file) in [
        (ImportFormat::McpMemory, format!("[\n{entity}\n]")),
        (
            ImportFormat::McpMemory,
            format!("{{\n\"entities\": [\n{entity}\n]\n}}"),
        ),
        (
            ImportFormat::McpMemory,
            format!("{{\"data\": {{\n\"entities\": [{entity}]}}}}"),
        ),
        (
            ImportFormat::McpMemory,
            format!("{{\"result\": {{\n\"entities\": [{entity}]}}}}"),
        ),
        (ImportFormat::Letta, passage.to_owned()),
        (ImportFormat::Letta, format!("{{\"data\": {passage}}}")),
        (
            ImportFormat::Letta,
            format!("\n{{\"agents\": [], \"blocks\": [{block}]}}"),
        ),
    ] {
        for mark in ["", "\u{FEFF}"] {
            let found = read(&format!("{mark}{file}"));
            assert_eq!(found.format, format, "{file}");
            assert_eq!(found.texts(), ["Ann: likes tea"], "{mark:?} {file}");
            assert_eq!(found.passed(), [], "{mark:?} {file}");
        }
    }
    let (_home, root) = folder(&[
        (
            "memories.json",
            r#"[{"project_memories": {"p1": "Builds boats."}}]"#,
        ),
        (
            "projects.json",
            "\u{FEFF}[{\"uuid\": \"p1\", \"name\": \"Boats\"}]",
        ),
    ]);
    assert_eq!(tags(read_path(&root).of("boats")), ["project", "Boats"]);
}

#[test]
fn spec_2_1_a_page_is_read_in_the_encoding_that_it_has() {
    let (_home, root) = folder(&[("good.md", "Kai sails.")]);
    let utf16 = |mark: &[u8], unit: fn(u16) -> [u8; 2]| {
        let text = "---\ntitle: Zoë\n---\nRows on Sundays.";
        let units = text.encode_utf16().flat_map(unit);
        mark.iter().copied().chain(units).collect::<Vec<u8>>()
    };
    for (name, bytes) in [
        ("a.md", utf16(b"\xFF\xFE", u16::to_le_bytes)),
        ("b.md", utf16(b"\xFE\xFF", u16::to_be_bytes)),
        ("c.md", b"---\ntitle: Zo\xEB\n---\nLikes caf\xE9s.".to_vec()),
        ("d.md", b"\x93Gr\xFC\xDFe\x94 \x96 5 \x80".to_vec()),
        ("e.md", b"\xEF\xBB\xBFMarked.".to_vec()),
        ("f.md", "Été à Zürich \u{1F600}".as_bytes().to_vec()),
        ("g.md", b"\xC3\x89t\xC3\xA9 cut \xC3".to_vec()),
        ("h.md", b"\x89PNG\0".to_vec()),
    ] {
        let path = root.join(name);
        std::fs::write(&path, bytes).unwrap();
        // Alone it is read as among others.
        let alone = try_read(memoir_import::Input::Path(path), None, &options());
        let is_text = alone.is_ok_and(|found| found.report.given == 1);
        assert_eq!(is_text, name != "h.md", "{name}");
    }
    let found = read_path(&root);
    assert_eq!(
        found.texts(),
        [
            "# Zoë\n\nRows on Sundays.",
            "# Zoë\n\nRows on Sundays.",
            "# Zoë\n\nLikes cafés.",
            "# d\n\n“Grüße” – 5 €",
            "# e\n\nMarked.",
            "# f\n\nÉté à Zürich \u{1F600}",
            "# g\n\nÉté cut \u{FFFD}",
            "# good\n\nKai sails."
        ]
    );
    assert_eq!(found.passed(), [("not_text", 1)]);
    let notices: Vec<_> = found.report.notices.iter().collect();
    let notices: Vec<_> = notices.iter().map(|notice| notice.text.expose()).collect();
    assert_eq!(
        notices,
        [
            "a.md: not UTF-8; read as UTF-16",
            "b.md: not UTF-8; read as UTF-16",
            "c.md: not UTF-8; read as Windows-1252",
            "d.md: not UTF-8; read as Windows-1252",
            "g.md: not UTF-8; read as UTF-8 with replaced invalid parts",
        ]
    );
}

#[test]
fn spec_2_1_notices_beyond_the_first_twenty_are_counted() {
    let (_home, root) = folder(&[]);
    for number in 0..25 {
        std::fs::write(root.join(format!("{number:02}.md")), b"Likes caf\xE9s.").unwrap();
    }
    let found = read_path(&root);
    let notices = found.report.notices.iter();
    let notices: Vec<_> = notices.map(|notice| notice.text.expose()).collect();
    assert_eq!(notices.len(), 21);
    assert_eq!(notices[19], "19.md: not UTF-8; read as Windows-1252");
    assert_eq!(notices[20], "and 5 more of the same kind");
}

#[test]
fn control_characters_do_not_come_along() {
    let file = json!([{"id": "1\u{1b}", "memory": "a\u{0}b\u{1b}[31m\r\nc\u{85}", "hash": "x", "categories": ["a\u{7}"]}]);
    let found = read(&file.to_string());
    assert_eq!(found.texts(), ["a\u{FFFD}b\u{FFFD}[31m\nc"]);
    assert!(
        found.memories[0]
            .source
            .expose()
            .starts_with("mem0:sha256-")
    );
    assert_eq!(found.report.tags_left_out, 1);
}

#[test]
fn a_list_that_is_cut_off_gives_what_came_before_and_says_so() {
    let whole = json!({"results": [{"id": "1", "memory": "First.", "hash": "x"}, {"id": "2", "memory": "Second.", "hash": "x"}]}).to_string();
    let found = read(&whole.as_bytes()[..whole.len() - 12]);
    assert_eq!(found.texts(), ["First."]);
    assert!(found.report.is_broken);
    assert_eq!(found.passed(), [("truncated", 1)]);
}

#[test]
fn a_failing_reader_is_reported() {
    struct Failing(u32);
    impl io::Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            match self.0 {
                1 => b"[{\"id\": \"1\", \"memory\": \"First.\", \"hash\": \"x\"}, "
                    .as_slice()
                    .read(buffer),
                _ => Err(io::ErrorKind::ConnectionReset.into()),
            }
        }
    }
    let input = Input::Stream(Box::new(Failing(0)));
    assert!(matches!(
        try_read(input, None, &options()),
        Err(Error::Read(io::ErrorKind::ConnectionReset))
    ));
}

#[test]
fn a_database_that_is_damaged_or_lies_is_refused() {
    let mut file = b"SQLite format 3\0".to_vec();
    file.resize(5_000, 0x5A);
    assert!(matches!(refused(&file), Error::Database(_)));
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("view.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    database
        .execute_batch("CREATE TABLE t(x); CREATE VIEW history AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS memory_id, x AS new_memory, 'ADD' AS event, x AS created_at, x AS updated_at, 0 AS is_deleted, x AS old_memory FROM n;")
        .unwrap();
    drop(database);
    let refused = try_read(Input::Path(path), Some(ImportFormat::Mem0), &options());
    assert!(matches!(refused, Err(Error::Database(_))), "{refused:?}");
}

#[test]
fn a_database_in_an_archive_is_reported_and_the_other_files_are_read() {
    let mut database = b"SQLite format 3\0".to_vec();
    database.resize(5_000, 0);
    let list = br#"[{"id": "1", "memory": "Kai sails.", "hash": "x"}]"#;
    let store = br#"[{"prefix": "a", "key": "k", "value": {"text": "Kai sails."}}]"#;
    for (format, list) in [
        (ImportFormat::Mem0, &list[..]),
        (ImportFormat::LangGraph, store),
    ] {
        let zip = archive(&[("history.db", &database), ("list.json", list)]);
        let found = read_as(format, &zip);
        assert_eq!(found.texts(), ["Kai sails."]);
        assert_eq!(found.passed(), [("unreadable", 1)]);
        assert!(
            found.report.is_broken,
            "as for an unreadable file of a folder"
        );
        // Where there is nothing else, the error says why.
        let alone = archive(&[("history.db", &database)]);
        let refused = try_read(stream(&alone), Some(format), &options()).unwrap_err();
        assert!(
            refused.to_string().ends_with("it is in an archive"),
            "{refused}"
        );
    }
}

#[test]
fn what_is_no_form_is_said_to_be_none() {
    const JSON: &str = "JSON, without the fields of any form that is known";
    for (file, kind) in [
        (&b""[..], "empty"),
        (b"hello", "plain text"),
        (b"{}", JSON),
        (b"{\"a\": 1}", JSON),
        (b"[1, 2]", JSON),
        (b"\x7FELF", "a program"),
        (b"%PDF-1.7", "a PDF document"),
    ] {
        let wanted = format!("unknown format of memories; it is {kind}");
        assert_eq!(refused(file).to_string(), wanted, "{file:?}");
    }
    let said = br#"{"messages": [{"speaker": "Ines", "text": "Hello."}]}"#;
    assert!(matches!(refused(said), Error::Conversation(_)));
}
