//! The tables of a later version, and a role that owns none of them.

use std::sync::Arc;

use memoir_store::{Fleet, Store, conformance::STORIES};
use memoir_store_postgres::{MIGRATIONS, Migration, PostgresStore};
use memoir_testkit::Postgres;

use crate::common;

const OWNER: &str = "memoir_owner";

/// Makes the database `next`: its tables are another role's, which lets `memoir` read and write what is in them, and
/// those of the next version.
async fn make(server: &Postgres) {
    server
        .query("postgres", &format!("CREATE ROLE {OWNER} LOGIN"))
        .unwrap();
    server
        .query("postgres", &format!("CREATE DATABASE next OWNER {OWNER}"))
        .unwrap();
    let rights = format!(
        "GRANT CREATE ON SCHEMA public TO {OWNER}; REVOKE CREATE ON SCHEMA public FROM PUBLIC; \
         ALTER DEFAULT PRIVILEGES FOR ROLE {OWNER} IN SCHEMA public \
             GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO memoir"
    );
    server.query("next", &rights).unwrap();
    let owner = PostgresStore::at(&server.url(OWNER, "next")).unwrap();
    owner.migrate().await.unwrap();
    let tables = memoir_store::tables::TABLES.iter().map(|table| table.name);
    let all = memoir_testkit::next_migrations(MIGRATIONS, tables, |number, name, sql| Migration {
        number,
        name,
        sql,
    });
    let run = owner.migrate_to(all).await.unwrap();
    assert_eq!(run.len() + MIGRATIONS.len(), all.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_6_1_the_same_stories_are_true_on_the_next_versions_tables_for_a_role_that_owns_nothing()
 {
    let Some(server) = Postgres::start("next").unwrap() else {
        return println!("skipped: PostgreSQL is not installed; `scripts/test` does that");
    };
    make(&server).await;
    // The connection that made it may still be open, and then it is no model yet.
    let end = "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE datname = 'next'";
    server.query("postgres", end).unwrap();
    let mut untrue = Vec::new();
    for (at, (name, story)) in STORIES.iter().enumerate() {
        let copy = format!("CREATE DATABASE copy_{at} TEMPLATE next");
        server.query("postgres", &copy).unwrap();
        let url = server.url("memoir", &format!("copy_{at}"));
        let store = PostgresStore::open(&url).await.unwrap();
        assert_eq!(store.pending().await.unwrap(), []);
        assert_eq!(store.check_form().await.unwrap(), []);
        assert_eq!(store.role().await.unwrap().danger(), None);
        let told = tokio::spawn(story(Arc::new(store) as Arc<dyn Store>)).await;
        if told.is_err() {
            untrue.push(*name);
        }
    }
    assert!(untrue.is_empty(), "{untrue:?}");
}

#[tokio::test]
async fn spec_5_6_a_role_that_could_take_the_walls_down_is_told_of() {
    let database = or_skip!(common::database());
    let store = common::migrated(&database.url).await;
    let told = store.role().await.unwrap();
    assert!(
        told.danger().unwrap().contains("owns the tables"),
        "{told:?}"
    );
    let superuser = PostgresStore::open(&database.server.url("postgres", database.name())).await;
    let told = superuser.unwrap().role().await.unwrap();
    assert!(
        told.danger().unwrap().contains("bypasses the policies"),
        "{told:?}"
    );
}

#[tokio::test]
async fn spec_5_6_the_role_of_the_service_cannot_change_the_table_of_migrations() {
    let Some(server) = Postgres::start("migrations").unwrap() else {
        return println!("skipped: PostgreSQL is not installed; `scripts/test` does that");
    };
    make(&server).await;
    let change = |sql: &str| server.query_as("memoir", "next", sql);
    let all = "SELECT string_agg(number || name, ',' ORDER BY number) FROM memoir_migrations";
    let before = change(all).unwrap();
    // The policies let no row be found, or refuse the new one.
    let _ = change("DELETE FROM memoir_migrations");
    let _ = change("UPDATE memoir_migrations SET number = number + 1");
    for sql in [
        "TRUNCATE memoir_migrations",
        "INSERT INTO memoir_migrations (number, name) VALUES (99, 'x')",
        "ALTER TABLE memoir_migrations DISABLE ROW LEVEL SECURITY",
    ] {
        assert!(change(sql).is_err(), "{sql}");
    }
    assert_eq!(change(all).unwrap(), before);
    // A move into the database is marked there.
    let store = PostgresStore::open(&server.url("memoir", "next")).await;
    let store = store.unwrap();
    for begins in [true, false] {
        store.note_move(begins).await.unwrap();
        assert_eq!(change(all).unwrap() == before, !begins);
    }
}
