//! The scenarios that every store must pass, on a file and in memory.

use std::sync::Arc;

use memoir_store::{Store, conformance::StoreStory};
use memoir_store_sqlite::SqliteStore;

async fn run(story: StoreStory) {
    let folder = tempfile::tempdir().unwrap();
    let file = SqliteStore::open(&folder.path().join("memoir.db")).unwrap();
    story(Arc::new(file) as Arc<dyn Store>).await;
    let memory = SqliteStore::in_memory().unwrap();
    story(Arc::new(memory) as Arc<dyn Store>).await;
}

memoir_store::each_story!(run);
