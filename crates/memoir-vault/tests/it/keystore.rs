//! The key store: made once, kept closed, destroyed for good.

use std::fs;

use memoir_domain::{AgentScope, Timestamp};
use memoir_vault::{
    Closing, Error, KeyId, KeyRows, KeyStore, MasterKey, MasterSource, SqliteKeys,
    rows::{AgentKeyRow, Agents, Changes, ClosingRow, KeyStoreContents, LogRow, WrittenChange},
    seal::{SealContext, SealedRow},
    unlock, unlock_rows,
};
use rusqlite::Connection;

use crate::{Vault, nonce, now, scope};

const AT: SealContext = SealContext {
    row: SealedRow::Record(1),
    version: 1,
};

/// The wrapped key as stored in the file.
fn wrapped(vault: &Vault, agent: u8) -> Vec<u8> {
    Connection::open(vault.path())
        .unwrap()
        .query_row(
            "SELECT wrapped FROM agent_keys WHERE agent_id = ?1",
            [[agent; 16]],
            |row| row.get(0),
        )
        .unwrap()
}

/// Whether any sixteen bytes in a row of `needle` are anywhere in the folder's files.
fn lies_around(vault: &Vault, needle: &[u8]) -> bool {
    fs::read_dir(vault.folder.path()).unwrap().any(|entry| {
        let content = fs::read(entry.unwrap().path()).unwrap();
        let parts: std::collections::HashSet<&[u8]> = needle.windows(16).collect();
        content.windows(16).any(|window| parts.contains(window))
    })
}

#[test]
fn spec_5_3_a_key_is_made_once_and_found_again() {
    let vault = Vault::new();
    assert!(vault.store.key(scope(1, 2)).unwrap().is_none());
    let key = vault.key(1, 2);
    assert_eq!(key.scope(), scope(1, 2));
    let sealed = key.seal(&AT, b"", b"a vow", nonce());
    for store in [&vault.store, &vault.again()] {
        let again = store.create(scope(1, 2), now()).unwrap();
        assert_eq!(&*again.open(&AT, b"", &sealed).unwrap(), b"a vow");
        let again = store.key(scope(1, 2)).unwrap().unwrap();
        assert_eq!(&*again.open(&AT, b"", &sealed).unwrap(), b"a vow");
        // An agent is looked up in its account only.
        assert!(store.key(scope(2, 2)).unwrap().is_none());
    }
}

#[cfg(unix)]
#[test]
fn spec_5_4_the_key_store_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let vault = Vault::new();
    let mode = fs::metadata(vault.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    fs::set_permissions(vault.path(), fs::Permissions::from_mode(0o640)).unwrap();
    let error = KeyStore::open(&vault.path(), &vault.master).unwrap_err();
    assert!(
        matches!(error, Error::Exposed { mode: 0o640, .. }),
        "{error}"
    );
}

#[test]
fn spec_5_3_the_key_store_opens_under_its_master_key_only() {
    let vault = Vault::new();
    let other = MasterKey::generate().unwrap();
    let before = fs::read(vault.path()).unwrap();
    let error = KeyStore::open(&vault.path(), &other).unwrap_err();
    assert!(
        matches!(&error, Error::WrongMasterKey { wanted, held, .. }
            if *wanted == vault.master.key_id() && *held == other.key_id()),
        "{error}"
    );
    assert_eq!(fs::read(vault.path()).unwrap(), before);
}

#[test]
fn spec_5_3_a_fingerprint_alone_does_not_make_a_master_key_fit() {
    let vault = Vault::new();
    let other = MasterKey::generate().unwrap();
    Connection::open(vault.path())
        .unwrap()
        .execute("UPDATE master SET key_id = ?1", [other.key_id().as_bytes()])
        .unwrap();
    let error = KeyStore::open(&vault.path(), &other).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the key store is inconsistent: table `master`, proof: not wrapped for this place"
    );
}

#[test]
fn other_files_are_recognised_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let master = MasterKey::generate().unwrap();
    let made = |name: &str, sql: &str| {
        let path = folder.path().join(name);
        KeyStore::open(&path, &master).unwrap();
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        path
    };
    let newer = made("newer.db", "PRAGMA user_version = 99");
    let foreign = made("foreign.db", "PRAGMA application_id = 0x4D454D52");
    let unmarked = made(
        "unmarked.db",
        "PRAGMA application_id = 0; PRAGMA user_version = 0",
    );
    let text = folder.path().join("text");
    fs::write(&text, "this is a text that is longer than the header of a database, which has 100 bytes. Is it? It is.").unwrap();
    #[cfg(unix)]
    fs::set_permissions(&text, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    for path in [newer, foreign, unmarked, text] {
        let before = fs::read(&path).unwrap();
        let error = KeyStore::open(&path, &master).unwrap_err();
        let is_newer = path.ends_with("newer.db");
        let expected = if is_newer {
            matches!(
                error,
                Error::Newer {
                    found: 99,
                    known: 2
                }
            )
        } else {
            matches!(error, Error::NotAKeyStore(_))
        };
        assert!(expected, "{error}");
        assert_eq!(fs::read(&path).unwrap(), before);
    }
    let nowhere = folder.path().join("none/keys.db");
    assert!(matches!(
        KeyStore::open(&nowhere, &master),
        Err(Error::File { .. })
    ));
    let missing = folder.path().join("none.db");
    assert!(matches!(
        unlock(&MasterSource::Given(master), &missing, true),
        Err(Error::Missing(_))
    ));
}

#[test]
fn spec_5_3_wrapped_keys_cannot_be_exchanged_or_changed() {
    let vault = Vault::new();
    vault.key(1, 2);
    vault.key(1, 3);
    let connection = Connection::open(vault.path()).unwrap();
    let put = |wrapped: &[u8]| {
        connection
            .execute(
                "UPDATE agent_keys SET wrapped = ?1 WHERE agent_id = ?2",
                (wrapped, [2; 16]),
            )
            .unwrap();
        vault.again().key(scope(1, 2))
    };
    let (own, other) = (wrapped(&vault, 2), wrapped(&vault, 3));
    let fails = |answer: memoir_vault::Result<_>| {
        let error = answer.map(drop).unwrap_err().to_string();
        assert_eq!(
            error,
            format!(
                "the key store is inconsistent: table `agent_keys`, agent {}: not wrapped for this place",
                scope(1, 2).agent
            )
        );
    };
    fails(put(&other).map(drop));
    for position in 0..own.len() {
        let mut changed = own.clone();
        changed[position] ^= 0x10;
        fails(put(&changed).map(drop));
    }
    assert!(put(&own).unwrap().is_some());
}

#[test]
fn spec_5_4_a_destroyed_key_is_gone_from_the_file_and_from_memory() {
    let vault = Vault::new();
    let (key, other) = (vault.key(1, 2), vault.key(1, 3));
    let (wrapped, kept) = (wrapped(&vault, 2), wrapped(&vault, 3));
    assert!(lies_around(&vault, &wrapped));
    let elsewhere = vault.again();
    assert!(elsewhere.key(scope(1, 2)).unwrap().is_some());

    assert!(vault.store.destroy(scope(1, 2), now()).unwrap());

    assert!(!lies_around(&vault, &wrapped));
    assert!(lies_around(&vault, &kept));
    for store in [&vault.store, &elsewhere, &vault.again()] {
        assert!(store.key(scope(1, 2)).unwrap().is_none());
        assert_eq!(store.destroyed_at(scope(1, 2)).unwrap(), Some(now()));
        assert_eq!(
            store.key(scope(1, 3)).unwrap().unwrap().digest_key(),
            other.digest_key()
        );
        // It gets no other key, and is not destroyed twice.
        assert!(matches!(
            store.create(scope(1, 2), now()),
            Err(Error::Destroyed)
        ));
        assert!(!store.destroy(scope(1, 2), now()).unwrap());
    }
    assert!(!vault.store.destroy(scope(1, 9), now()).unwrap());
    assert_eq!(vault.store.destroyed_at(scope(1, 9)).unwrap(), None);
    // A caller with the key in memory can finish its operation.
    key.seal(&AT, b"", b"the last words", nonce());
}

#[test]
fn spec_5_4_destroying_leaves_no_bytes_whatever_the_size_of_the_store() {
    let vault = Vault::new();
    for agent in 0..80 {
        vault.key(7, agent);
    }
    let all: Vec<Vec<u8>> = (0..80).map(|agent| wrapped(&vault, agent)).collect();
    for agent in (0..80).step_by(3) {
        assert!(vault.store.destroy(scope(7, agent), now()).unwrap());
    }
    let content = fs::read(vault.path()).unwrap();
    let windows: std::collections::HashSet<&[u8]> = content.windows(16).collect();
    for (agent, wrapped) in all.iter().enumerate() {
        let is_there = wrapped.windows(16).any(|part| windows.contains(part));
        assert_eq!(is_there, agent % 3 != 0, "agent {agent}");
    }
}

#[test]
fn issue_2_rotation_wraps_all_keys_anew_and_changes_none() {
    let vault = Vault::new();
    let keys: Vec<_> = (0..40).map(|agent| vault.key(1, agent)).collect();
    let log = vault.store.log(now()).unwrap();
    let vkey = log.verifier().to_string();
    vault.store.destroy(scope(1, 39), now()).unwrap();
    let sealed = keys[5].seal(&AT, b"", b"a vow", nonce());
    let old: Vec<Vec<u8>> = (0..39).map(|agent| wrapped(&vault, agent)).collect();

    let reader = vault.again();
    let cached = reader.key(scope(1, 5)).unwrap().unwrap();
    let new = MasterKey::generate().unwrap();
    assert_eq!(vault.store.rotate(&new).unwrap(), 40);
    assert_eq!(vault.store.rotate(&new).unwrap(), 0);
    assert_eq!(vault.store.key_id(), new.key_id());

    // Nothing that the old master key opens is left.
    let content = fs::read(vault.path()).unwrap();
    let windows: std::collections::HashSet<&[u8]> = content.windows(16).collect();
    assert!(
        !old.iter()
            .any(|wrapped| wrapped.windows(16).any(|part| windows.contains(part)))
    );

    // The rotating process continues; opening with the old key fails, and with the new one finds all.
    assert!(matches!(
        KeyStore::open(&vault.path(), &vault.master),
        Err(Error::WrongMasterKey { .. })
    ));
    let fresh = KeyStore::open(&vault.path(), &new).unwrap();
    for store in [&vault.store, &fresh] {
        for key in &keys[..39] {
            let again = store.key(key.scope()).unwrap().unwrap();
            assert_eq!(again.digest_key(), key.digest_key());
        }
        assert!(store.key(scope(1, 39)).unwrap().is_none());
        assert_eq!(
            &*store
                .key(scope(1, 5))
                .unwrap()
                .unwrap()
                .open(&AT, b"", &sealed)
                .unwrap(),
            b"a vow"
        );
        let again = store.log(now()).unwrap();
        assert_eq!(again.verifier().to_string(), vkey);
    }

    // A process that has the old one goes on with what it has in memory, and learns of destroyed keys.
    assert_eq!(&*cached.open(&AT, b"", &sealed).unwrap(), b"a vow");
    assert!(reader.key(scope(1, 5)).unwrap().is_some());
    let stale = |answer: memoir_vault::Result<()>| {
        assert!(matches!(answer, Err(Error::WrongMasterKey { .. })));
    };
    stale(reader.key(scope(1, 6)).map(drop));
    stale(reader.create(scope(1, 50), now()).map(drop));
    stale(reader.log(now()).map(drop));
    stale(reader.rotate(&MasterKey::generate().unwrap()).map(drop));
    fresh.destroy(scope(1, 5), now()).unwrap();
    assert!(reader.key(scope(1, 5)).unwrap().is_none());
    // Until it is given the new one.
    assert_eq!(reader.rotate(&new).unwrap(), 0);
    assert!(reader.key(scope(1, 6)).unwrap().is_some());
    reader.create(scope(1, 50), now()).unwrap();
}

#[test]
fn issue_2_a_process_with_a_key_file_follows_a_rotation_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (
        folder.path().join("master.key"),
        folder.path().join("keys.db"),
    );
    let source = MasterSource::File(path.clone());
    let server = unlock(&source, &store, false).unwrap();
    let command = unlock(&source, &store, true).unwrap();
    command.create(scope(1, 2), now()).unwrap();
    command.rotate_key_file(&path).unwrap();
    assert!(server.key(scope(1, 2)).unwrap().is_some());
    command.rotate_key_file(&path).unwrap();
    server.create(scope(1, 3), now()).unwrap();
    // Both rotate, one after the other.
    command.rotate_key_file(&path).unwrap();
    server.rotate_key_file(&path).unwrap();
    assert!(command.key(scope(1, 3)).unwrap().is_some());
    assert_eq!(server.key_id(), command.key_id());
}

#[test]
fn issue_2_a_rotation_that_fails_changes_nothing() {
    let vault = Vault::new();
    vault.key(1, 2);
    vault.key(1, 3);
    let connection = Connection::open(vault.path()).unwrap();
    let other = wrapped(&vault, 2);
    connection
        .execute(
            "UPDATE agent_keys SET wrapped = ?1 WHERE agent_id = ?2",
            (other, [3; 16]),
        )
        .unwrap();
    let before = fs::read(vault.path()).unwrap();
    let new = MasterKey::generate().unwrap();
    let error = vault.store.rotate(&new).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Inconsistent {
                table: "agent_keys",
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(fs::read(vault.path()).unwrap(), before);
    assert_eq!(vault.store.key_id(), vault.master.key_id());
    assert!(vault.store.key(scope(1, 2)).unwrap().is_some());
}

#[cfg(unix)]
#[test]
fn a_key_is_never_written_to_a_file_that_was_taken_away() {
    let vault = Vault::new();
    vault.key(1, 2);
    let moved = vault.folder.path().join("moved.db");
    fs::rename(vault.path(), &moved).unwrap();
    for _ in 0..2 {
        assert!(matches!(
            vault.store.create(scope(1, 3), now()),
            Err(Error::Replaced(_))
        ));
        if vault.path().exists() {
            assert!(vault.store.key(scope(1, 2)).is_err());
        } else {
            // Without a file, no process can destroy anything.
            assert!(vault.store.key(scope(1, 2)).unwrap().is_some());
        }
        fs::copy(&moved, vault.path()).unwrap();
    }
    fs::rename(&moved, vault.path()).unwrap();
    vault.key(1, 3);
}

/// The file that was open is still there, with the key: but it is not the one that others destroy it in.
#[cfg(unix)]
#[test]
fn spec_5_4_a_key_that_was_destroyed_in_a_backup_put_in_place_is_not_used() {
    let vault = Vault::new();
    let at = scope(1, 2);
    vault.key(1, 2);
    assert!(vault.store.cached(at).unwrap().is_some());
    let backup = vault.folder.path().join("backup.db");
    fs::copy(vault.path(), &backup).unwrap();
    fs::rename(&backup, vault.path()).unwrap();
    assert!(vault.again().destroy(at, now()).unwrap());
    assert!(matches!(vault.store.cached(at), Err(Error::Replaced(_))));
    assert!(matches!(vault.store.key(at), Err(Error::Replaced(_))));
    assert!(matches!(
        vault.store.destroyed_at(at),
        Err(Error::Replaced(_))
    ));
    assert!(vault.again().key(at).unwrap().is_none());
}

/// Some programs that copy databases give them a write-ahead log: the number of changes in the header does not change
/// then, and destroyed keys remain in the log.
#[test]
fn spec_5_4_with_a_write_ahead_log_nothing_is_destroyed_and_no_destroyed_key_used() {
    let vault = Vault::new();
    let at = scope(1, 2);
    vault.key(1, 2);
    let elsewhere = vault.again();
    let other = Connection::open(vault.path()).unwrap();
    let mode = "PRAGMA journal_mode = wal";
    let mode: String = other.query_row(mode, [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    for store in [&vault.store, &elsewhere] {
        assert!(store.key(at).unwrap().is_some());
        // What is in memory is not rested on.
        assert!(store.cached(at).unwrap().is_none());
    }
    assert!(elsewhere.destroy(at, now()).is_err());
    assert!(elsewhere.create(scope(1, 3), now()).is_err());
    // By hand, past all checks.
    other
        .execute("UPDATE agent_keys SET wrapped = NULL, destroyed_at = 1", [])
        .unwrap();
    for store in [&vault.store, &elsewhere] {
        assert!(store.cached(at).unwrap().is_none());
        assert!(store.key(at).unwrap().is_none());
    }
    drop(other);
}

#[test]
fn an_unused_write_ahead_log_is_deleted() {
    let vault = Vault::new();
    let at = scope(1, 2);
    vault.key(1, 2);
    let other = Connection::open(vault.path()).unwrap();
    let _: String = other
        .query_row("PRAGMA journal_mode = wal", [], |row| row.get(0))
        .unwrap();
    drop(other);
    assert!(vault.store.destroy(at, now()).unwrap());
    vault.key(1, 3);
    assert!(vault.store.cached(scope(1, 3)).unwrap().is_some());
    assert!(!vault.folder.path().join("keys.db-wal").exists());
}

#[test]
fn spec_4_2_an_installation_has_one_log_under_a_name_of_its_own() {
    let vault = Vault::new();
    let vkey = |store: &KeyStore| store.log(now()).unwrap().verifier().to_string();
    let first = vkey(&vault.store);
    assert_eq!(vkey(&vault.again()), first);
    assert_eq!(vkey(&vault.store), first);
    let name = vault.store.log(now()).unwrap().name().to_owned();
    let digits = name.strip_prefix("memoir/").unwrap();
    assert_eq!(digits.len(), 16);
    assert!(
        digits
            .bytes()
            .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    );
    let other = Vault::new();
    assert_ne!(other.store.log(now()).unwrap().name(), name);
    // The name is bound to the key: it cannot be exchanged.
    Connection::open(vault.path())
        .unwrap()
        .execute("UPDATE log_key SET name = 'memoir/other'", [])
        .unwrap();
    assert_eq!(
        vault.store.log(now()).unwrap_err().to_string(),
        "the key store is inconsistent: table `log_key`, log memoir/other: not wrapped for this place"
    );
}

#[test]
fn a_cached_key_is_one_that_nothing_must_be_waited_for() {
    let vault = Vault::new();
    let at = scope(1, 2);
    assert!(vault.store.cached(at).unwrap().is_none());
    let made = vault.key(1, 2);
    let same = |store: &KeyStore| {
        let cached = store.cached(at).unwrap();
        cached.map(|key| key.digest_key() == made.digest_key())
    };
    assert_eq!(same(&vault.store), Some(true));
    // Not before it was looked for.
    let elsewhere = vault.again();
    assert_eq!(same(&elsewhere), None);
    elsewhere.key(at).unwrap().unwrap();
    assert_eq!(same(&elsewhere), Some(true));
    // Own changes leave it, those of others do not, until it was looked for again.
    vault.key(1, 3);
    assert_eq!(same(&vault.store), Some(true));
    assert_eq!(same(&elsewhere), None);
    elsewhere.key(at).unwrap().unwrap();
    assert_eq!(same(&elsewhere), Some(true));
    // What another process has begun and not done counts for nothing, and is not waited for.
    let writer = Connection::open(vault.path()).unwrap();
    writer.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let started = std::time::Instant::now();
    writer
        .execute("UPDATE agent_keys SET wrapped = NULL, destroyed_at = 1", [])
        .unwrap();
    assert_eq!(same(&vault.store), Some(true));
    assert!(started.elapsed() < std::time::Duration::from_secs(2));
    writer.execute_batch("ROLLBACK").unwrap();
    assert_eq!(same(&vault.store), Some(true));
    // Destroyed, here or elsewhere.
    vault.store.destroy(at, now()).unwrap();
    assert_eq!(same(&vault.store), None);
    assert_eq!(same(&elsewhere), None);
    assert!(elsewhere.key(at).unwrap().is_none());
    assert_eq!(same(&elsewhere), None);
}

#[test]
fn a_cached_key_is_not_waited_for_while_another_thread_has_the_store() {
    let vault = Vault::new();
    let at = scope(1, 2);
    vault.key(1, 2);
    // Makes the file another one than it was when the key was found.
    vault.again().create(scope(1, 3), now()).unwrap();
    let writer = Connection::open(vault.path()).unwrap();
    writer.execute_batch("BEGIN EXCLUSIVE").unwrap();
    std::thread::scope(|threads| {
        // Waits for the writer with the store locked.
        let waiting = threads.spawn(|| vault.store.key(at).map(|key| key.is_some()));
        let started = std::time::Instant::now();
        while started.elapsed() < std::time::Duration::from_millis(300) {
            assert!(vault.store.cached(at).unwrap().is_none());
        }
        assert!(!waiting.is_finished());
        writer.execute_batch("ROLLBACK").unwrap();
        assert!(waiting.join().unwrap().unwrap());
    });
    assert!(vault.store.cached(at).unwrap().is_some());
}

#[test]
fn a_key_store_in_memory_does_all_that_one_in_a_file_does() {
    let master = MasterKey::generate().unwrap();
    let store = KeyStore::in_memory(&master).unwrap();
    assert_eq!(store.key_id(), master.key_id());
    assert_eq!(format!("{store:?}"), "KeyStore { path: \"in memory\", .. }");
    let key = store.create(scope(1, 2), now()).unwrap();
    let sealed = key.seal(&AT, b"", b"a vow", nonce());
    let log = store.log(now()).unwrap().verifier().to_string();
    let next = MasterKey::generate().unwrap();
    assert_eq!(store.rotate(&next).unwrap(), 2);
    let again = store.key(scope(1, 2)).unwrap().unwrap();
    assert_eq!(&*again.open(&AT, b"", &sealed).unwrap(), b"a vow");
    assert!(store.cached(scope(1, 2)).unwrap().is_some());
    assert_eq!(store.log(now()).unwrap().verifier().to_string(), log);
    assert!(store.destroy(scope(1, 2), now()).unwrap());
    assert_eq!(store.destroyed_at(scope(1, 2)).unwrap(), Some(now()));
    assert!(matches!(
        store.create(scope(1, 2), now()),
        Err(Error::Destroyed)
    ));
    // Nothing is shared between two of them.
    let other = KeyStore::in_memory(&master).unwrap();
    assert!(other.key(scope(1, 2)).unwrap().is_none());
}

/// A trigger would keep what is destroyed, or swallow what is made.
#[test]
fn spec_5_4_a_key_store_whose_form_was_changed_is_not_used() {
    for sql in [
        "CREATE TABLE kept (wrapped); CREATE TRIGGER keep BEFORE UPDATE ON agent_keys \
         BEGIN INSERT INTO kept VALUES (old.wrapped); END",
        "CREATE TRIGGER swallow BEFORE INSERT ON agent_keys BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TRIGGER swallow BEFORE UPDATE ON agent_keys BEGIN SELECT RAISE(IGNORE); END",
        "CREATE INDEX mine ON agent_keys (wrapped)",
    ] {
        let vault = Vault::new();
        vault.key(1, 1);
        let raw = Connection::open(vault.path()).unwrap();
        raw.execute_batch(sql).unwrap();
        // A process that has it open already finds it before it changes anything.
        for refused in [
            vault.store.destroy(scope(1, 1), now()).map(drop),
            vault.store.create(scope(1, 2), now()).map(drop),
            vault
                .store
                .rotate(&MasterKey::generate().unwrap())
                .map(drop),
            KeyStore::open(&vault.path(), &vault.master).map(drop),
        ] {
            let error = refused.unwrap_err();
            assert!(
                matches!(&error, Error::Inconsistent { table, .. } if *table == "sqlite_schema"),
                "{sql}: {error:?}"
            );
        }
        let kept: Option<Vec<u8>> = raw
            .query_row("SELECT wrapped FROM agent_keys", [], |row| row.get(0))
            .unwrap();
        assert!(kept.is_some(), "{sql}");
    }
}

#[test]
fn spec_5_5_that_an_installation_is_closed_is_bound_to_the_master_key() {
    let mut vault = Vault::new();
    assert_eq!(vault.store.closing().unwrap(), None);
    let closed = Closing {
        is_closed: true,
        changed_at: now(),
    };
    vault.store.set_closing(closed).unwrap();
    assert_eq!(vault.again().closing().unwrap(), Some(closed));
    // Rotating leaves it as it is.
    let new = MasterKey::generate().unwrap();
    vault.store.rotate(&new).unwrap();
    vault.master = new;
    assert_eq!(vault.again().closing().unwrap(), Some(closed));
    // With write access to the file but no master key, no change goes unnoticed.
    for changed in [
        "UPDATE closing SET is_closed = 0",
        "UPDATE closing SET is_closed = 1, changed_at = changed_at + 1",
        "UPDATE closing SET changed_at = changed_at - 1, wrapped = (SELECT proof FROM master)",
    ] {
        Connection::open(vault.path())
            .unwrap()
            .execute_batch(changed)
            .unwrap();
        let error = vault.again().closing().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the key store is inconsistent: table `closing`, its row: not wrapped for this place"
        );
    }
    let opened = Closing {
        is_closed: false,
        changed_at: now(),
    };
    vault.again().set_closing(opened).unwrap();
    assert_eq!(vault.again().closing().unwrap(), Some(opened));
}

/// A place that reads the key of one agent at a time only, with what another process does before it is filled.
struct OtherRows<F> {
    rows: SqliteKeys,
    before_fill: F,
}

impl<F: Fn(&SqliteKeys) + Send + Sync> KeyRows for OtherRows<F> {
    fn name(&self) -> String {
        self.rows.name()
    }

    fn check_there(&self) -> memoir_vault::Result<()> {
        self.rows.check_there()
    }

    fn changes(&self) -> memoir_vault::Result<Changes> {
        self.rows.changes()
    }

    fn read(&self, agents: Agents<'_>) -> memoir_vault::Result<KeyStoreContents> {
        match agents {
            Agents::These([_, _, ..]) => Err(Error::Busy),
            _ => self.rows.read(agents),
        }
    }

    fn fill(&self, contents: &KeyStoreContents) -> memoir_vault::Result<()> {
        (self.before_fill)(&self.rows);
        self.rows.fill(contents)
    }

    fn add_agent(&self, under: KeyId, row: &AgentKeyRow) -> memoir_vault::Result<WrittenChange> {
        self.rows.add_agent(under, row)
    }

    fn add_log(&self, under: KeyId, row: &LogRow) -> memoir_vault::Result<()> {
        self.rows.add_log(under, row)
    }

    fn set_closing(&self, under: KeyId, row: &ClosingRow) -> memoir_vault::Result<()> {
        self.rows.set_closing(under, row)
    }

    fn destroy(&self, scope: AgentScope, now: Timestamp) -> memoir_vault::Result<bool> {
        self.rows.destroy(scope, now)
    }

    fn rewrap(&self, contents: &KeyStoreContents) -> memoir_vault::Result<()> {
        self.rows.rewrap(contents)
    }
}

#[test]
fn spec_5_4_keys_that_another_process_copied_first_do_not_pass_for_ones_own() {
    let (own, other) = (Vault::new(), Vault::new());
    own.key(1, 2);
    let faster = SqliteKeys::open(&other.path(), false).unwrap();
    let faster = faster.read(Agents::All).unwrap();
    let place = OtherRows {
        rows: SqliteKeys::in_memory().unwrap(),
        before_fill: |rows: &SqliteKeys| rows.fill(&faster).unwrap(),
    };
    let refused = own.store.copy_to(&place).unwrap_err();
    assert!(matches!(refused, Error::Unusable { .. }), "{refused}");
}

#[test]
fn spec_5_3_a_key_that_is_made_or_destroyed_during_a_copy_is_noticed() {
    let own = Vault::new();
    let destroyed = own.key(1, 2).scope();
    let other = own.again();
    let make = |_: &SqliteKeys| drop(other.create(scope(1, 3), now()).unwrap());
    let destroy = |_: &SqliteKeys| assert!(other.destroy(destroyed, now()).unwrap());
    let both: [&(dyn Fn(&SqliteKeys) + Send + Sync); 2] = [&make, &destroy];
    for before_fill in both {
        let rows = SqliteKeys::in_memory().unwrap();
        let refused = own.store.copy_to(&OtherRows { rows, before_fill });
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("while it was filled"), "{refused}");
    }
    let rows = SqliteKeys::in_memory().unwrap();
    assert_eq!(own.store.copy_to(&rows).unwrap(), 1);
}

#[test]
fn spec_5_4_a_key_is_found_where_other_keys_in_memory_cannot_be_read_again() {
    let vault = Vault::new();
    let [destroyed, asked, other] = [1, 2, 3].map(|agent| vault.key(1, agent).scope());
    let rows = OtherRows {
        rows: SqliteKeys::open(&vault.path(), false).unwrap(),
        before_fill: |_: &SqliteKeys| {},
    };
    let master = MasterSource::Given(vault.master);
    let reader = unlock_rows(&master, Box::new(rows), true).unwrap();
    for scope in [destroyed, asked, other] {
        assert!(reader.key(scope).unwrap().is_some());
    }
    vault.store.destroy(destroyed, now()).unwrap();
    assert!(reader.key(asked).unwrap().is_some());
    // The others are not in memory any more, and are read when they are needed.
    assert!(reader.cached(other).unwrap().is_none());
    assert!(reader.key(destroyed).unwrap().is_none());
    assert!(reader.key(other).unwrap().is_some());
}
