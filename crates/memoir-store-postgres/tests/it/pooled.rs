//! Behind a pooler that assigns each transaction another connection.

use std::sync::Arc;

use memoir_store::{Error, Fleet, Store, conformance::STORIES};
use memoir_store_postgres::PostgresStore;

use crate::common::{self, account, decision};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_6_1_the_same_stories_are_true_behind_a_pooler_in_transaction_mode() {
    let (server, direct, pooled) = or_skip!(common::pooled("pooled"));
    for (name, story) in STORIES {
        println!("{name}");
        let url = server.database().unwrap();
        drop(common::migrated(&url).await);
        let store = PostgresStore::open(&url.replace(&direct, &pooled)).await;
        story(Arc::new(store.unwrap()) as Arc<dyn Store>).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_6_2_a_decision_ends_by_the_limit_of_the_roles_statements() {
    let (server, direct, pooled) = or_skip!(common::pooled("limited"));
    let url = server.database().unwrap();
    let query = |sql: &str| server.query(url.rsplit('/').next().unwrap(), sql).unwrap();
    let store = common::migrated(&url).await;
    assert!(!store.role().await.unwrap().limits_statements);
    store.create_account(&account()).await.unwrap();
    store.commit(decision(0)).await.unwrap();
    query(
        "ALTER ROLE memoir SET statement_timeout = '1s'; \
         CREATE FUNCTION lie_down() RETURNS trigger LANGUAGE plpgsql \
             AS 'BEGIN PERFORM pg_sleep(600); RETURN NULL; END'; \
         CREATE TRIGGER lie_down AFTER UPDATE ON agents EXECUTE FUNCTION lie_down()",
    );
    let store = PostgresStore::open(&url.replace(&direct, &pooled)).await;
    let store = store.unwrap();
    assert!(store.role().await.unwrap().limits_statements);
    let ended = store.commit(decision(1)).await;
    assert!(matches!(ended, Err(Error::Busy)), "{ended:?}");
    query("DROP TRIGGER lie_down ON agents");
    assert_eq!(query("SELECT version FROM agents"), "1");
    store.commit(decision(1)).await.unwrap();
}
