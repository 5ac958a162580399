//! The scenarios that every store must pass.

use std::sync::Arc;

use memoir_store::{
    Store,
    conformance::{STORIES, StoreStory},
};
use memoir_store_postgres::PostgresStore;

use crate::common;

async fn run(story: StoreStory) {
    let database = or_skip!(common::database());
    let store = common::migrated(&database.url).await;
    story(Arc::new(store) as Arc<dyn Store>).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_6_1_the_same_stories_are_true_where_statements_are_prepared() {
    for (name, story) in STORIES {
        println!("{name}");
        let database = or_skip!(common::database());
        drop(common::migrated(&database.url).await);
        let url = format!("{}?prepare=true", database.url);
        let store = PostgresStore::open(&url).await.unwrap();
        story(Arc::new(store) as Arc<dyn Store>).await;
    }
}

memoir_store::each_story!(run);
