//! The scenarios that every place for wrapped keys must pass, in a file.

use memoir_vault::{SqliteKeys, conformance::STORIES, rows::KeyRows};

fn run(name: &str) {
    let (_, story) = STORIES.iter().find(|(known, _)| *known == name).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.db");
    story(&|| Box::new(SqliteKeys::open(&path, true).unwrap()) as Box<dyn KeyRows>);
}

macro_rules! story {
    ($name:ident) => {
        #[test]
        fn $name() {
            run(stringify!($name));
        }
    };
}

memoir_vault::each_key_story!(story);
