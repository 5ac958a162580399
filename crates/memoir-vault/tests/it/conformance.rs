//! The scenarios that every place for wrapped keys must pass, in a file.

use memoir_vault::{SqliteKeys, conformance::KeyStoreStory, rows::KeyRows};

fn run(story: KeyStoreStory) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.db");
    story(&|| Box::new(SqliteKeys::open(&path, true).unwrap()) as Box<dyn KeyRows>);
}

memoir_vault::each_key_story!(run);
