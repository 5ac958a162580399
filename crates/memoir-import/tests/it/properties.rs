//! Any bytes are read in every format without a panic, within the limits.

use memoir_import::{ImportFormat, ImportLimits};
use proptest::prelude::*;

use crate::{archive, options, stream, try_read};

/// The components of such files.
fn json_like() -> impl Strategy<Value = String> {
    let joined = r#"{ } [ ] , : " \ null 1e9 true "id": "memory": "payload": "results":[ "type":"entity" "name":"A"
        "observations":[ "text": "agents":[ "blocks":[ "label":"persona" "value": "mapping":{ "message":{
        "recipient":"bio" "prefix":"a" "key":"k" "created_at": "\ud83d é "conversations_memory":
        "expiration_date":"2026-01-01""#;
    let mut pieces: Vec<&str> = joined.split_whitespace().collect();
    pieces.extend(["\n", " ", "\"x y z\""]);
    let pieces = prop::sample::select(pieces);
    prop::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
}

fn small() -> memoir_import::ImportOptions {
    let mut options = options();
    options.limits = ImportLimits {
        entry_bytes: 400,
        memory_characters: 60,
        page_characters: 30,
        ..ImportLimits::default()
    };
    options
}

proptest! {
    #[test]
    fn any_text_is_read_in_every_form(text in json_like()) {
        for format in ImportFormat::ALL {
            if let Ok(found) = try_read(stream(&text), Some(format), &small()) {
                let parts = found.report.given;
                prop_assert!(parts <= text.len() as u64);
            }
        }
        let _ = try_read(stream(&text), None, &small());
    }

    #[test]
    fn any_bytes_are_read_in_every_form(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for format in ImportFormat::ALL {
            let _ = try_read(stream(&bytes), Some(format), &small());
        }
        let zipped = archive(&[("a.md", &bytes), ("memories.json", &bytes)]);
        let _ = try_read(stream(&zipped), None, &small());
    }

    #[test]
    fn any_page_is_read(page in "(---\n(title|tags|type|created): [a-z,\\[\\]{}\"']{0,12}\n---\n)?([#\\-\\[\\]§ a-zB\n`é]|But |\\[\\[x\\]\\]){0,120}") {
        for format in [ImportFormat::Markdown, ImportFormat::Claude, ImportFormat::Letta] {
            let _ = try_read(stream(&page), Some(format), &small());
        }
    }
}
