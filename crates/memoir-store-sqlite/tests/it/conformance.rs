//! The scenarios that every store must pass, on a file and in memory.

use std::sync::Arc;

use memoir_store::{Store, conformance::STORIES};
use memoir_store_sqlite::SqliteStore;

async fn run(name: &str) {
    let (_, story) = STORIES
        .iter()
        .find(|(known, _)| *known == name)
        .expect("a story of that name");
    let folder = tempfile::tempdir().unwrap();
    let file = SqliteStore::open(&folder.path().join("memoir.db")).unwrap();
    story(Arc::new(file) as Arc<dyn Store>).await;
    let memory = SqliteStore::in_memory().unwrap();
    story(Arc::new(memory) as Arc<dyn Store>).await;
}

macro_rules! story {
    ($name:ident) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            run(stringify!($name)).await;
        }
    };
}

memoir_store::each_story!(story);
