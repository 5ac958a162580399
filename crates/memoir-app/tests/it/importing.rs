//! A file of an agent's memories, exported and imported.

use std::sync::Arc;

use memoir_app::{AgentHandle, MemoryInput, import};

use crate::installation::{OWNER, new_folder, own};

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
