//! The file: which files are databases of Memoir, and which users may read it.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use memoir_store::{
    Access, BodyRow, Error, Fleet, Portable, Reach, Store, StoredText, Transcripts,
};
use memoir_store_sqlite::SqliteStore;
use rusqlite::Connection;

use crate::common::*;

fn open(path: &Path) -> Error {
    match SqliteStore::open(path) {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => error,
    }
}

#[test]
fn a_file_that_is_no_database_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    for content in ["short", &"a long text that is no database\n".repeat(500)] {
        fs::write(&path, content).unwrap();
        let error = open(&path);
        assert!(matches!(error, Error::NotADatabase(_)), "{error:?}");
        assert!(error.to_string().contains("notes.txt"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
    }
}

#[tokio::test]
async fn spec_6_2_a_file_that_is_opened_alone_is_open_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memoir.db");
    // Idle, with a connection that has read before.
    let (other, _) = begin(&path).await;
    let refused = SqliteStore::open_alone(&path).err();
    assert!(matches!(refused, Some(Error::Busy)), "{refused:?}");
    other.accounts().await.unwrap();
    drop(other);
    let alone = SqliteStore::open_alone(&path).unwrap();
    let accounts = alone.accounts().await.unwrap();
    let raw = Connection::open(&path).unwrap();
    raw.busy_timeout(std::time::Duration::ZERO).unwrap();
    let read = raw.query_row("SELECT count(*) FROM accounts", [], |row| {
        row.get::<_, i64>(0)
    });
    assert!(read.is_err(), "it can be read: {read:?}");
    let written = raw.execute("DELETE FROM accounts", []);
    assert!(written.is_err(), "it can be written: {written:?}");
    drop(raw);
    drop(alone);
    let again = SqliteStore::open(&path).unwrap();
    assert_eq!(again.accounts().await.unwrap(), accounts);
}

#[test]
fn another_applications_database_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    for (name, sql) in [
        ("unmarked", "CREATE TABLE accounts (id INTEGER PRIMARY KEY)"),
        ("marked", "PRAGMA application_id = 77"),
        ("numbered", "PRAGMA user_version = 1"),
    ] {
        let path = folder.path().join(name);
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let before = fs::read(&path).unwrap();
        let error = open(&path);
        assert!(matches!(error, Error::NotADatabase(_)), "{name}: {error:?}");
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}

#[tokio::test]
async fn a_newer_format_is_left_to_a_newer_version() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memoir.db");
    drop(begin(&path).await);
    let raw = Connection::open(&path).unwrap();
    raw.pragma_update(None, "user_version", 99).unwrap();
    drop(raw);
    let error = open(&path);
    assert!(
        matches!(error, Error::Newer { found: 99, known } if known < 99),
        "{error:?}"
    );
}

#[test]
fn a_place_that_cannot_be_opened_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for path in [
        folder.path().to_owned(),
        folder.path().join("missing/memoir.db"),
    ] {
        let error = open(&path);
        assert!(
            matches!(&error, Error::Open { location, .. } if *location == path.display().to_string()),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn an_empty_file_and_an_odd_name_become_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file:x?mode=memory&ü %20.db");
    fs::write(&path, "").unwrap();
    let (store, agent) = begin(&path).await;
    drop(store);
    assert!(fs::metadata(&path).unwrap().len() > 4_096);
    assert_holds(&SqliteStore::open(&path).unwrap(), &agent).await;
}

#[tokio::test]
async fn only_the_owner_can_read_any_of_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = begin(&folder.path().join("memoir.db")).await;
    let mut files = 0;
    for entry in fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", entry.file_name());
        files += 1;
    }
    assert_eq!(files, 3, "the file, its log and the log's index");
    drop(store);
}

#[tokio::test]
async fn closing_leaves_one_file_that_holds_everything() {
    let (folder, path, store, agent) = begin_anew().await;
    let twin = store.clone();
    drop(store);
    assert_holds(&twin, &agent).await;
    drop(twin);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_holds(&SqliteStore::open(&path).unwrap(), &agent).await;
}

/// Only a body can, and only by counting its version up.
#[tokio::test]
async fn spec_4_2_records_and_leaves_can_neither_be_changed_nor_deleted() {
    let (_folder, path, store, agent) = begin_anew().await;
    store.append_leaves(at(1), Reach::All).await.unwrap();
    let raw = Connection::open(&path).unwrap();
    let columns = |table: &str| -> Vec<String> {
        raw.prepare(&format!("SELECT name FROM pragma_table_info('{table}')"))
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap()
    };
    let mut refused = vec![
        "DELETE FROM audit_records".to_owned(),
        "DELETE FROM log_leaves".to_owned(),
        "UPDATE audit_records SET body_version = body_version + 2".to_owned(),
        "UPDATE audit_records SET body = x'01', body_version = body_version - 1".to_owned(),
        "UPDATE audit_records SET body_version = body_version + 1, facts = '{}'".to_owned(),
    ];
    for table in ["audit_records", "log_leaves"] {
        for column in columns(table) {
            refused.push(format!("UPDATE {table} SET {column} = {column}"));
        }
    }
    assert_eq!(refused.len(), 5 + 13 + 5);
    for sql in refused {
        let error = raw.execute(&sql, []).unwrap_err().to_string();
        assert!(error.contains("are never"), "{sql}: {error}");
    }
    assert_holds(&store, &agent).await;
    let counted = "UPDATE audit_records SET body = x'01', body_version = body_version + 1";
    assert_eq!(raw.execute(counted, []).unwrap(), 1);
}

/// Only its use and its end can, and its end only once.
#[tokio::test]
async fn spec_5_5_whom_a_token_lets_in_cannot_be_changed() {
    let (_folder, path, store, agent) = begin_anew().await;
    store.put_token(&token(7)).await.unwrap();
    let raw = Connection::open(&path).unwrap();
    for column in ["id", "account_id", "agent_id", "digest", "created_at"] {
        let sql = format!("UPDATE tokens SET {column} = {column}");
        let error = raw.execute(&sql, []).unwrap_err().to_string();
        assert!(error.contains("are never"), "{sql}: {error}");
    }
    for sql in [
        "UPDATE tokens SET last_used_at = 5",
        "UPDATE tokens SET revoked_at = 6",
        "UPDATE tokens SET last_used_at = 7",
    ] {
        assert_eq!(raw.execute(sql, []).unwrap(), 1, "{sql}");
    }
    let sql = "UPDATE tokens SET revoked_at = NULL";
    let error = raw.execute(sql, []).unwrap_err().to_string();
    assert!(error.contains("are never"), "{error}");
    assert_holds(&store, &agent).await;
}

/// Root may write anything: the child gives up that right before it opens the file.
#[cfg(unix)]
#[test]
fn what_cannot_be_written_is_said_to_be_read_only() {
    use std::os::unix::process::CommandExt;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memoir.db");
    tokio::runtime::Runtime::new()
        .unwrap()
        .block_on(async { drop(begin(&path).await) });
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let is_root = fs::metadata("/proc/self")
        .is_ok_and(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata) == 0);
    // The binary may be in a folder that other users cannot access: a copy can be run by any user. Another process
    // makes it, since a file that this one had open to write may still be open in a child that another test starts, and
    // such a file is not run ("text file busy").
    let public = tempfile::tempdir().unwrap();
    fs::set_permissions(public.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = public.path().join("test");
    let copied = std::process::Command::new("cp")
        .arg(std::env::current_exe().unwrap())
        .arg(&copy)
        .status()
        .unwrap();
    assert!(copied.success(), "{copied}");
    for (path, expected) in [(path, "ReadOnly"), (folder.path().join("new.db"), "Open")] {
        let model = child("file::part_says_why_it_cannot_open", &path);
        let mut command = std::process::Command::new(&copy);
        command
            .args(model.get_args())
            .env("MEMOIR_TEST_DATABASE", &path);
        if is_root {
            command.uid(65_534).gid(65_534);
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains(&format!("said {expected}")), "{said}");
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
#[ignore = "played by a child process"]
fn part_says_why_it_cannot_open() {
    println!("said {:?}", open(&told_path()));
}

#[tokio::test]
async fn errors_of_the_driver_hold_no_words() {
    let (_folder, path, store, mut agent) = begin_anew().await;
    let raw = Connection::open(&path).unwrap();
    raw.execute_batch("DROP TABLE audit_records").unwrap();
    agent.document.open = "SECRET".to_owned();
    agent.document.sealed.0 = b"SECRET".to_vec();
    let mut commit = saving(&agent, 1, 10);
    commit.prompts = Some(StoredText(b"SECRET".to_vec()));
    commit.bodies = vec![BodyRow {
        seq: 1,
        body_version: 2,
        body: StoredText(b"SECRET".to_vec()),
    }];
    let error = store.commit(commit).await.unwrap_err();
    assert!(matches!(error, Error::Inconsistent { .. }), "{error:?}");
    assert!(!format!("{error:?} {error}").contains("SECRET"));
    assert!(!store.check().await.unwrap().is_empty());
}

/// A write to a file that was removed or replaced is not acknowledged.
#[cfg(unix)]
#[tokio::test]
async fn spec_6_2_nothing_is_acknowledged_once_a_file_was_taken_away() {
    for taken in ["memoir.db", "memoir.db-wal"] {
        let (folder, path, store, mut agent) = begin_anew().await;
        let (file, moved) = (folder.path().join(taken), folder.path().join("moved"));
        std::fs::rename(&file, &moved).unwrap();
        for another in [false, true] {
            if another {
                std::fs::copy(&moved, &file).unwrap();
            }
            let error = store.commit(saving(&agent, 1, 10)).await.unwrap_err();
            assert!(matches!(error, Error::Replaced(_)), "{taken}: {error:?}");
            let error = store.create_user(&user(), false, None).await.unwrap_err();
            assert!(matches!(error, Error::Replaced(_)), "{taken}: {error:?}");
        }
        std::fs::rename(&moved, &file).unwrap();
        save(&store, &mut agent, 1, 10).await.unwrap();
        drop(store);
        let store = SqliteStore::open(&path).unwrap();
        assert_holds(&store, &agent).await;
    }
}

#[tokio::test]
async fn spec_6_1_a_backlog_of_what_is_to_be_forgotten_is_forgotten_to_its_end() {
    let (_folder, path, store, _) = begin_anew().await;
    let raw = Connection::open(&path).unwrap();
    let numbers = "WITH RECURSIVE numbers (n) AS \
         (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2500)";
    let digest = "CAST(printf('%032d', n) AS BLOB)";
    let backlog = format!(
        "{numbers} INSERT INTO replies (account_id, key_digest, request_digest, recorded_at) \
             SELECT accounts.id, {digest}, {digest}, n * 1000000 FROM accounts, numbers; \
         {numbers} INSERT INTO transcript_messages \
                 (agent_id, seq, digest, tokens, received_at, counted_bytes, state, body, words_until) \
             SELECT agents.id, n, {digest}, 1, 1, 0, 'absorbed', x'01', n * 1000000 FROM agents, numbers"
    );
    raw.execute_batch(&backlog).unwrap();
    let count = |sql: &str| {
        let count = raw.query_row(sql, [], |row| row.get::<_, i64>(0));
        count.unwrap()
    };
    store.forget_replies(at(2_001)).await.unwrap();
    assert_eq!(count("SELECT count(*) FROM replies"), 500);
    store.forget_words(at(2_000)).await.unwrap();
    let words = "SELECT count(*) FROM transcript_messages WHERE body <> x''";
    assert_eq!(count(words), 500);
}
