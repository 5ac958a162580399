//! The stories that every store must pass.

use std::sync::Arc;

use memoir_store::{Store, conformance::STORIES};

use crate::common;

async fn tell(name: &str) {
    let (_, story) = STORIES
        .iter()
        .find(|(known, _)| *known == name)
        .expect("a story of that name");
    let Some(database) = common::database() else {
        return;
    };
    let store = common::migrated(&database.url).await;
    story(Arc::new(store) as Arc<dyn Store>).await;
}

macro_rules! story {
    ($name:ident) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            tell(stringify!($name)).await;
        }
    };
}

memoir_store::each_story!(story);
