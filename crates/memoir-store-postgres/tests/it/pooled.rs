//! Behind a pooler that hands each transaction to another connection.

use std::sync::Arc;

use memoir_store::{Store, conformance::STORIES};
use memoir_store_postgres::PostgresStore;

use crate::common;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_6_1_the_same_stories_are_true_behind_a_pooler_in_transaction_mode() {
    let Some((server, direct, pooled)) = common::pooled("pooled") else {
        return;
    };
    for (name, story) in STORIES {
        println!("{name}");
        let url = server.database().unwrap();
        drop(common::migrated(&url).await);
        let store = PostgresStore::open(&url.replace(&direct, &pooled)).await;
        story(Arc::new(store.unwrap()) as Arc<dyn Store>).await;
    }
}
