//! The scenarios that every place for wrapped keys must pass, and the places that are refused.

use memoir_store_postgres::{PostgresKeys, PostgresStore};
use memoir_vault::{
    Error, KeyStore, MasterKey, MasterSource,
    conformance::{KeyStoreStory, STORIES},
    rows::KeyRows,
    unlock_rows,
};

use crate::common::{self, scope};

fn now() -> memoir_domain::Timestamp {
    memoir_domain::Timestamp::from_microseconds(1).unwrap()
}

/// A key store of its own, empty; `None`, and said so, where PostgreSQL is not installed.
fn key_database() -> Option<common::TestDatabase> {
    let database = common::database()?;
    PostgresKeys::at(&database.url, None)
        .unwrap()
        .migrate()
        .unwrap();
    Some(database)
}

fn run(story: KeyStoreStory) {
    let database = or_skip!(key_database());
    story(&|| Box::new(PostgresKeys::open(&database.url, None).unwrap()) as Box<dyn KeyRows>);
}

memoir_vault::each_key_story!(run);

#[test]
fn the_same_stories_are_true_of_keys_behind_a_pooler() {
    let (server, direct, pooled) = or_skip!(common::pooled("pooled-keys"));
    for (name, story) in STORIES {
        println!("{name}");
        let url = server.database().unwrap();
        PostgresKeys::at(&url, None).unwrap().migrate().unwrap();
        let url = url.replace(&direct, &pooled);
        story(&|| Box::new(PostgresKeys::open(&url, None).unwrap()) as Box<dyn KeyRows>);
    }
}

#[test]
fn a_key_store_that_waits_for_migrations_is_not_opened() {
    let database = or_skip!(common::database());
    let refused = PostgresKeys::open(&database.url, None).unwrap_err();
    assert!(
        refused
            .to_string()
            .ends_with("migrations are pending: keys_0001_initial"),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_5_4_keys_do_not_lie_where_the_data_lie() {
    let database = or_skip!(common::database());
    let data = common::migrated(&database.url)
        .await
        .identity()
        .await
        .unwrap();
    let refused = |url: &str| PostgresKeys::at(url, Some(&data)).unwrap_err().to_string();
    let same = refused(&database.url);
    assert!(
        same.contains("it lies in the same schema as the data"),
        "{same}"
    );
    // The same role reads the other schema too.
    database.query("CREATE SCHEMA keys AUTHORIZATION memoir");
    let beside = format!("{}?options=-csearch_path%3Dkeys", database.url);
    let same = refused(&beside);
    assert!(
        same.contains("in the same database as the data, with the same role"),
        "{same}"
    );
    // A schema of a role of its own will do, and so will another database.
    let role = format!("keeper_{}", database.name());
    database.query(&format!(
        "CREATE ROLE {role} LOGIN; CREATE SCHEMA {role} AUTHORIZATION {role}"
    ));
    let own = PostgresKeys::at(&database.server.url(&role, database.name()), Some(&data)).unwrap();
    own.migrate().unwrap();
    let apart = common::database().unwrap();
    drop(PostgresKeys::at(&apart.url, Some(&data)).unwrap());
    // The role of the data has no access to the keys.
    let seen = database.query_as_memoir(&format!("SELECT count(*) FROM {role}.agent_keys"));
    assert!(seen.unwrap_err().to_string().contains("permission denied"));
    drop(PostgresStore::open(&database.url).await.unwrap());
}

fn unlocked(database: &common::TestDatabase) -> (KeyStore, MasterSource) {
    let master = MasterSource::Given(MasterKey::generate().unwrap());
    let rows = PostgresKeys::open(&database.url, None).unwrap();
    (unlock_rows(&master, Box::new(rows), false).unwrap(), master)
}

/// A trigger would keep what is destroyed, or swallow what is made.
#[test]
fn spec_5_4_a_key_store_with_a_trigger_is_not_changed() {
    let database = or_skip!(key_database());
    let (store, _) = unlocked(&database);
    let made = store.create(scope(), now()).unwrap();
    database.query(
        "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; \
         CREATE TRIGGER swallow BEFORE UPDATE ON agent_keys FOR EACH ROW EXECUTE FUNCTION swallow()",
    );
    let refused = store.destroy(scope(), now()).unwrap_err();
    assert!(matches!(refused, Error::Inconsistent { .. }), "{refused}");
    database.query("DROP TRIGGER swallow ON agent_keys");
    let found = store.key(scope()).unwrap().unwrap();
    assert_eq!(found.digest_key(), made.digest_key());
}

/// A standby that took over without the last change counts fewer of them.
#[test]
fn spec_5_4_a_key_store_that_counts_fewer_changes_is_asked_no_more_often() {
    let database = or_skip!(key_database());
    let (store, _) = unlocked(&database);
    store.create(scope(), now()).unwrap();
    database.query("UPDATE master SET generation = generation - 1");
    let begun = std::time::Instant::now();
    while store.cached(scope()).unwrap().is_some() {
        assert!(begun.elapsed().as_secs() < 10, "it is used for ever");
    }
    // Several times, since a look-up is relied on for half a second only.
    let is_relied_on = (0..10).any(|_| {
        store.key(scope()).unwrap().unwrap();
        store.cached(scope()).unwrap().is_some()
    });
    assert!(is_relied_on);
}

#[test]
fn spec_5_4_a_process_that_cannot_reach_the_key_store_uses_no_key() {
    let database = or_skip!(key_database());
    let (store, _) = unlocked(&database);
    store.create(scope(), now()).unwrap();
    let query = |sql: &str| database.server.query("postgres", sql).unwrap();
    let name = database.name();
    query(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false"));
    query(&format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
    ));
    let begun = std::time::Instant::now();
    while store.cached(scope()).unwrap().is_some() {
        assert!(begun.elapsed().as_secs() < 10, "it is used for ever");
    }
    assert!(store.key(scope()).is_err());
    query(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true"));
    assert!(store.key(scope()).unwrap().is_some());
}
