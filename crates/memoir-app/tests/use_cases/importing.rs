//! A file of an agent's memories, exported and imported.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use memoir_app::{AgentHandle, Handling, MemoryInput, import};
use memoir_domain::{
    Timestamp,
    agent::Field,
    audit::ActorKind,
    memory::{Kind, Number},
    origin::SavedBy,
    session::Mode,
};
use memoir_testkit::{input, journal};
use serde_json::json;

use crate::installation::{OWNER, TestAgent, new_folder, own};

const SUMMARY: &str = r#"{"content": "Tea days", "number": 3, "is_summary": true}"#;
const SOURCE: &str = r#"{"content": "Tea on Monday", "number": 1, "kind": "archival", "under": 3, "origin": "external"}"#;

#[tokio::test]
async fn what_is_exported_is_imported_as_it_was_and_an_import_is_undone_as_a_whole() {
    // On a file: undoing an import reads while it writes, and a store in memory has one connection.
    let folder = new_folder();
    let memoir = folder.open().memoir;
    let account = memoir.account("default").await.unwrap();
    let export = async |agent: &AgentHandle| own(agent).export().await.unwrap();
    let lines = [
        r#"{"content": "Before", "number": 40}"#,
        SOURCE,
        SUMMARY,
        r#"{"content": "Rui studies law", "number": 7, "replaces": [8]}"#,
        r#"{"content": "Rui studies medicine", "number": 8}"#,
    ];
    let mut exported = Vec::new();
    let mut text = lines.join("\n");
    for name in ["wren", "lark"] {
        account.create_agent(name, &[], &OWNER).await.unwrap();
        let agent = account.agent(name).await.unwrap();
        let read = import::read(text.as_bytes(), None, memoir.now());
        assert_eq!(read.bad, []);
        let preview = agent.memories().preview_import(&read).await.unwrap();
        let memories = agent.memories();
        let imported = memories.import(read, false, &OWNER, Arc::default()).await;
        let imported = imported.unwrap();
        assert_eq!(imported, preview);
        assert_eq!((imported.imported, imported.core.core_tokens), (5, 8));
        let lines = export(&agent).await;
        let written: Vec<String> = lines
            .iter()
            .map(|line| serde_json::to_string(line).unwrap())
            .collect();
        text = written.join("\n");
        exported.push(lines);
        assert!(agent.log().verify().await.unwrap().valid);
    }
    let shape = |lines: &[MemoryInput]| -> Vec<(String, bool, bool, usize)> {
        let shown = lines.iter().map(|line| {
            let text = line.content.expose().to_owned();
            (
                text,
                line.is_summary,
                line.under.is_some(),
                line.replaces.len(),
            )
        });
        let mut shown: Vec<_> = shown.collect();
        shown.sort();
        shown
    };
    assert_eq!(shape(&exported[0]), shape(&exported[1]));
    assert!(shape(&exported[0]).contains(&("Tea days".to_owned(), true, false, 0)));
    let agent = account.agent("wren").await.unwrap();
    let undone = agent.memories().undo_import(&OWNER, false).await.unwrap();
    assert_eq!(undone.discarded, 5);
    assert!(agent.log().verify().await.unwrap().valid);
    assert!(export(&agent).await.is_empty());
}

#[tokio::test]
async fn spec_3_4_what_a_cleanup_left_for_an_imported_copy_returns_when_that_is_undone() {
    for (how, copies) in [
        ("exact", ["Ines keeps bees", "Rui studies law"]),
        // The cleanup moves such copies to the archive.
        ("ignore_case", ["INES KEEPS BEES", "RUI STUDIES LAW"]),
    ] {
        // On a file, as above.
        let folder = new_folder();
        let memoir = folder.open().memoir;
        let account = memoir.account("default").await.unwrap();
        let settings = [(Field::DuplicateMatch, Some(how))];
        let created = account.create_agent("wren", &settings, &OWNER).await;
        created.unwrap();
        let agent = account.agent("wren").await.unwrap();
        let inputs = ["Ines keeps bees", "Rui studies law"].map(input);
        agent.memories().save(&inputs, &OWNER).await.unwrap();
        // The first stays, since it is constitutional; the second leaves, since it was recorded later.
        let lines = [
            json!({"content": copies[0], "constitutional": true}),
            json!({"content": copies[1]}),
        ];
        let text = lines.map(|line| line.to_string()).join("\n");
        let read = import::read(text.as_bytes(), None, memoir.now());
        let memories = agent.memories();
        let imported = memories.import(read, false, &OWNER, Arc::default()).await;
        imported.unwrap();
        // The cleanup before the session's ledger.
        let wren = own(&agent);
        let (session, _) = wren.open_own(Mode::Full).await.unwrap();
        let report = json!({"summary": "Removed a duplicate."});
        let ended = wren.call_tool(session.id, "complete_refinement", Some(&report));
        ended.await.unwrap();
        let core = async || {
            let lines = wren.export().await.unwrap();
            let core = lines.iter().filter(|line| line.kind == Some(Kind::Core));
            let shown = core.map(|line| (line.content.expose().to_owned(), line.constitutional));
            let mut shown = Vec::from_iter(shown);
            shown.sort();
            shown
        };
        let (ines, rui) = ("Ines keeps bees".to_owned(), "Rui studies law".to_owned());
        let stays = copies[0].to_owned();
        assert_eq!(core().await, [(stays, true), (rui.clone(), false)]);
        agent.memories().undo_import(&OWNER, false).await.unwrap();
        assert_eq!(core().await, [(ines, false), (rui, false)], "{how}");
        assert!(agent.log().verify().await.unwrap().valid);
    }
}

#[tokio::test]
async fn spec_6_2_an_import_that_is_stopped_writes_nothing() {
    let folder = new_folder();
    let memoir = folder.open().memoir;
    let account = memoir.account("default").await.unwrap();
    account.create_agent("wren", &[], &OWNER).await.unwrap();
    let agent = account.agent("wren").await.unwrap();
    let before = agent.log().verify().await.unwrap();
    for is_stopped in [true, false] {
        let progress = Arc::new(import::ImportProgress::default());
        progress.is_stopped.store(is_stopped, Ordering::Relaxed);
        let memories = agent.memories();
        let importing = memories.import(of(&[SOURCE, SUMMARY]), false, &OWNER, progress);
        let imported = importing.await.unwrap().imported;
        assert_eq!(imported, if is_stopped { 0 } else { 2 });
        let after = agent.log().verify().await.unwrap();
        assert_eq!(after.head == before.head, is_stopped);
    }
}

fn now() -> Timestamp {
    "2026-11-03T10:00:00Z".parse().unwrap()
}

fn of(lines: &[&str]) -> import::Read {
    import::read(lines.join("\n").as_bytes(), None, now())
}

/// SPEC 2.4: an interface takes a memory in the form of a line, without what relates it to other lines.
#[test]
fn spec_2_4_what_only_a_file_can_say_of_a_memory_is_refused_elsewhere() {
    let check = |line: &str| {
        let input: MemoryInput = serde_json::from_str(line).unwrap();
        input.check(SavedBy::of(ActorKind::Agent), now())
    };
    for (field, line) in [
        ("number", r#"{"content": "Tea", "number": 3}"#),
        ("is_summary", r#"{"content": "Tea", "is_summary": true}"#),
        ("under", r#"{"content": "Tea", "under": 3}"#),
        (
            "archived_at",
            r#"{"content": "Tea", "archived_at": "2026-01-01T00:00:00Z"}"#,
        ),
    ] {
        assert_eq!(check(line).unwrap_err().field, field);
        assert_eq!(
            of(&[line]).bad.len(),
            usize::from(field == "under" || field == "archived_at")
        );
    }
    let nothing = r#"{"content": "Tea", "tags": null, "constitutional": null, "replaces": null}"#;
    assert!(check(nothing).is_ok());
    assert!(serde_json::from_str::<MemoryInput>(r#"{"content": "Tea", "colour": 1}"#).is_err());
}

#[test]
fn a_bad_line_is_named_by_its_field() {
    let lines = [
        (r#"{"content": "a", "tags": {"a": 1}}"#, "`tags`"),
        (r#"{"content": "a", "created_at": 5}"#, "`created_at`"),
        (r#"{"content": "a", "created_at": "soon"}"#, "`created_at`"),
        (r#"{"content": "a", "replaces": [1, "x"]}"#, "`replaces`"),
        (r#"{"content": 5}"#, "`content`"),
        (
            r#"{"secret words": 1, "content": "a"}"#,
            "missing or unknown",
        ),
        (r#"{"tags": []}"#, "missing or unknown"),
        (r#"{"content": "a", "content": "b"}"#, "has `content` twice"),
        (
            r#"{"tags": [], "content": "a", "tags": ["secret"]}"#,
            "has `tags` twice",
        ),
        (r#"{"content": "a",}"#, "not valid JSON"),
        (r#"{"content": "a"},,"#, "not valid JSON"),
        (r#"{"content": "a"} {}"#, "not valid JSON"),
    ];
    for (line, wanted) in lines {
        let read = of(&[line]);
        let [(1, problem)] = &read.bad[..] else {
            panic!("{line}: {:?}", read.bad)
        };
        assert!(
            problem.contains(wanted) && !problem.contains("secret"),
            "{problem}"
        );
    }
}

/// Of the files of every system.
#[test]
fn a_line_that_was_cut_out_of_a_list_or_begins_a_joined_file_is_read() {
    for end in [",", ", ", ",\t", ",\r"] {
        let line = format!(r#"{{"content": "Tea days"}}{end}"#);
        let cut = of(&[&line, r#"{"content": "Tea on Monday"}"#]);
        assert_eq!((cut.bad.len(), cut.len()), (0, 2), "{end:?}");
    }
    let joined = "\u{feff}{\"content\": \"a\"}\r\n\u{feff}{\"content\": \"b\"}";
    let joined = of(&[joined]);
    assert_eq!((joined.bad.len(), joined.len()), (0, 2));
}

#[tokio::test]
async fn spec_4_3_an_undone_import_brings_back_what_it_replaced_and_nothing_discarded_since() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    let [tea, rain, bees] = ["Tea", "Rain", "Bees"].map(journal);
    let entries = [tea, rain, bees, input("Ines keeps bees")];
    let saved = wren.agent.memories().save(&entries, &OWNER).await;
    assert_eq!(saved.unwrap().len(), 4);
    let core = wren.seen().memory(Number(4)).await.unwrap();
    let edits = ["Coffee", "Snow", "Wasps", "Ines keeps hens"].map(input);
    let edits = (1..).map(|number| Some(Number(number))).zip(edits);
    let edited = wren.agent.memories().take_edits(edits.collect(), &OWNER);
    edited.await.unwrap();
    assert_eq!(wren.facts(4).await.under, Some(Number(8)));
    // By their times these come before the import.
    wren.clock.put_back(Duration::from_secs(3_600));
    wren.handle(Number(2), Handling::Restore).await;
    wren.handle(Number(2), Handling::Discard).await;
    wren.handle(Number(3), Handling::Discard).await;
    let undone = wren.agent.memories().undo_import(&OWNER, false).await;
    assert_eq!(undone.unwrap().discarded, 4);
    let mut active = Vec::new();
    for number in 1..=8 {
        let discarded_at = wren.facts(number).await.discarded_at;
        active.extend(discarded_at.is_none().then_some(number));
    }
    assert_eq!(active, [1, 4], "1 was discarded by the import alone");
    assert_eq!(wren.seen().memory(Number(4)).await.unwrap(), core);
}
