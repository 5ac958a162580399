//! The schema: foreign changes of its tables, indexes and triggers are found before anything is written, and nothing is
//! acknowledged that was not written.

use std::path::Path;

use memoir_store::{Access, Error, Fleet, Portable, Store, StoredText};
use memoir_store_sqlite::SqliteStore;
use rusqlite::Connection;

use crate::common::*;

/// Changes of the schema, and the object that the error names.
const CHANGES: [(&str, &str); 10] = [
    (
        "trigger `audit_records_undeleted` is missing",
        "DROP TRIGGER audit_records_undeleted",
    ),
    (
        "index `agents_by_name` is missing",
        "DROP INDEX agents_by_name",
    ),
    ("table `residues` is missing", "DROP TABLE residues"),
    (
        "index `mine` is not Memoir's",
        "CREATE INDEX mine ON memories (body)",
    ),
    (
        "table `theirs` is not Memoir's",
        "CREATE TABLE theirs (words)",
    ),
    (
        "trigger `swallow` is not Memoir's",
        "CREATE TRIGGER swallow BEFORE INSERT ON audit_records BEGIN SELECT RAISE(IGNORE); END",
    ),
    (
        "index `replies_by_time` is another one than was made",
        "ALTER TABLE replies RENAME TO old; CREATE VIEW replies AS SELECT * FROM old",
    ),
    (
        "table `users` is another one than was made",
        "ALTER TABLE users ADD COLUMN more TEXT",
    ),
    (
        "trigger `sqlite_own` is not Memoir's",
        "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema VALUES ('trigger', 'sqlite_own', \
         'memories', 0, 'CREATE TRIGGER sqlite_own AFTER DELETE ON memories BEGIN SELECT 1; END')",
    ),
    (
        "trigger `users_undeleted` is another one than was made",
        "DROP TRIGGER users_undeleted; CREATE TRIGGER users_undeleted BEFORE DELETE ON users \
         BEGIN SELECT 1; END",
    ),
];

fn change(path: &Path, sql: &str) {
    let raw = Connection::open(path).unwrap();
    raw.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    raw.execute_batch(sql).unwrap();
}

fn told(error: &Error) -> String {
    assert!(
        matches!(error, Error::Inconsistent { table, .. } if *table == "sqlite_schema"),
        "{error:?}"
    );
    error.to_string()
}

#[tokio::test]
async fn spec_4_1_a_database_whose_form_was_changed_is_not_opened() {
    for (problem, sql) in CHANGES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memoir.db");
        drop(begin(&path).await);
        drop(SqliteStore::open(&path).unwrap());
        change(&path, sql);
        let error = SqliteStore::open(&path).unwrap_err();
        assert!(told(&error).contains(problem), "{sql}: {error}");
    }
}

/// The process runs meanwhile, so that only its own next check can find it.
#[tokio::test]
async fn spec_4_1_nothing_is_written_once_the_form_was_changed() {
    // Manual changes of the table of the schema are not noticed by processes that have read it, and do nothing to them.
    for (problem, sql) in CHANGES {
        if sql.starts_with("PRAGMA writable_schema") {
            continue;
        }
        let (_folder, path, store, agent) = begin_anew().await;
        assert_eq!(store.check_form().await.unwrap(), []);
        change(&path, sql);
        let error = store.commit(saving(&agent, 1, 10)).await.unwrap_err();
        assert!(told(&error).contains(problem), "{sql}: {error}");
        for findings in [store.check_form().await, store.check().await] {
            let findings = findings.unwrap();
            let is_named = findings.iter().any(|one| one.problem.contains(problem));
            assert!(is_named, "{sql}: {findings:?}");
        }
        let again = store.create_user(&user(), false, None).await.unwrap_err();
        told(&again);
    }
}

#[tokio::test]
async fn a_form_that_is_right_again_is_written_to_again() {
    let (_folder, path, store, mut agent) = begin_anew().await;
    change(&path, "CREATE TABLE theirs (words)");
    store.commit(saving(&agent, 1, 10)).await.unwrap_err();
    change(&path, "DROP TABLE theirs");
    save(&store, &mut agent, 1, 10).await.unwrap();
    // Counts for the planner are no part of the form.
    change(&path, "ANALYZE");
    save(&store, &mut agent, 1, 10).await.unwrap();
    drop(store);
    let store = SqliteStore::open(&path).unwrap();
    assert_holds(&store, &agent).await;
}

/// A version that is newer, and has said so, may have added something; it takes nothing away.
#[tokio::test]
async fn spec_4_1_what_a_newer_version_added_on_the_record_is_passed_over() {
    let (_folder, path, store, mut agent) = begin_anew().await;
    change(
        &path,
        "CREATE TABLE newer (words); PRAGMA user_version = 99",
    );
    save(&store, &mut agent, 1, 10).await.unwrap();
    assert_eq!(store.check_form().await.unwrap(), []);
    change(&path, "DROP TRIGGER audit_records_undeleted");
    let error = store.commit(saving(&agent, 1, 10)).await.unwrap_err();
    assert!(told(&error).contains("`audit_records_undeleted` is missing"));
}

/// A trigger between Memoir and a table swallows each row by itself.
#[tokio::test]
async fn spec_4_1_a_change_is_not_acknowledged_where_a_row_of_it_was_not_written() {
    for (table, sql) in [
        (
            "audit_records",
            "CREATE TEMP TRIGGER own BEFORE INSERT ON main.audit_records BEGIN SELECT RAISE(IGNORE); END",
        ),
        (
            "memories",
            "CREATE TEMP TRIGGER own BEFORE INSERT ON main.memories BEGIN SELECT RAISE(IGNORE); END",
        ),
        (
            "agent_prompts",
            "CREATE TEMP TRIGGER own BEFORE UPDATE ON main.agent_prompts BEGIN SELECT RAISE(IGNORE); END",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (store, mut agent) = begin(&folder.path().join("memoir.db")).await;
        store.put_between(sql).await.unwrap();
        let mut commit = saving(&agent, 1, 10);
        commit.prompts = Some(StoredText(b"others".to_vec()));
        let error = store.commit(commit).await.unwrap_err();
        assert!(
            matches!(error, Error::Inconsistent { table: found, .. } if found == table),
            "{error:?}"
        );
        store.put_between("DROP TRIGGER temp.own").await.unwrap();
        assert_holds(&store, &agent).await;
        save(&store, &mut agent, 1, 10).await.unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = begin(&folder.path().join("memoir.db")).await;
    for sql in [
        "CREATE TEMP TRIGGER own BEFORE INSERT ON main.users BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TEMP TRIGGER two BEFORE INSERT ON main.replies BEGIN SELECT RAISE(IGNORE); END",
    ] {
        store.put_between(sql).await.unwrap();
    }
    store.create_user(&user(), false, None).await.unwrap_err();
    store.begin_reply(&reply()).await.unwrap_err();
}

#[test]
fn every_table_and_column_is_moved_with_an_installation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memoir.db");
    drop(SqliteStore::open(&path).unwrap());
    let connection = Connection::open(&path).unwrap();
    let listed = |sql: &str| -> Vec<(String, String, i64)> {
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        rows.unwrap().map(Result::unwrap).collect()
    };
    let mut there = listed(
        "SELECT tables.name, columns.name, columns.pk FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns \
         WHERE tables.type = 'table' AND tables.name NOT IN ('residues') AND tables.name NOT LIKE 'sqlite_%'",
    );
    let mut moved: Vec<_> = memoir_store::tables::TABLES
        .iter()
        .flat_map(|table| {
            table.columns.iter().enumerate().map(|(at, (column, _))| {
                let place = if at < table.key { at as i64 + 1 } else { 0 };
                (table.name.to_owned(), (*column).to_owned(), place)
            })
        })
        .collect();
    there.sort_unstable();
    moved.sort_unstable();
    assert_eq!(moved, there);
}
