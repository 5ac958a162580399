//! Rows and pages that no version of Memoir writes: an error that says where, never a panic.

use std::path::Path;

use std::{
    fs,
    io::{Seek, SeekFrom, Write},
};

use memoir_domain::memory::Number;
use memoir_store::{
    Access, AgentQuery, AgentRow, CountAndTokens, Error, Fleet, LogsOf, RecordFilter, RowCounts,
    Selection, Store, TokenRow,
};
use memoir_store_sqlite::SqliteStore;
use rusqlite::Connection;

use crate::common::*;

/// Changes the file as a foreign process would: without checks and triggers, and with the schema unchanged.
fn intrude(path: &Path, change: &str) {
    let raw = Connection::open(path).unwrap();
    raw.execute_batch("PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF")
        .unwrap();
    let triggers: Vec<(String, String)> = raw
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let dropped = triggers
        .iter()
        .map(|(name, _)| format!("DROP TRIGGER {name};"));
    raw.execute_batch(&dropped.collect::<String>()).unwrap();
    raw.execute_batch(change).unwrap();
    for (_, sql) in triggers {
        raw.execute_batch(&sql).unwrap();
    }
}

/// A token of each sort, a user, and a request that was answered.
async fn let_in(store: &SqliteStore, agent: &AgentRow) {
    let theirs = TokenRow {
        agent: Some(agent.scope.agent),
        ..token(0xBB)
    };
    store.put_token(&theirs).await.unwrap();
    store.put_token(&token(0xCC)).await.unwrap();
    store.create_user(&user(), None).await.unwrap();
    store.begin_reply(&reply()).await.unwrap();
    let key = reply().key_digest;
    let ended = store.end_reply(account().id, &key, None, None, document(1));
    ended.await.unwrap();
}

#[tokio::test]
async fn a_row_that_cannot_be_is_named_by_its_number() {
    for (table, row, change) in [
        ("memories", "row 1", "UPDATE memories SET kind = 'dream'"),
        ("memories", "row 1", "UPDATE memories SET tokens = -1"),
        (
            "memories",
            "row 1",
            "UPDATE memories SET constitutional = 2",
        ),
        (
            "memories",
            "row 1",
            "UPDATE memories SET created_at = 9223372036854775807",
        ),
        (
            "memories",
            "row 1",
            "UPDATE memories SET discarded_at = -9223372036854775807",
        ),
        ("agents", "01010101-", "UPDATE agents SET version = -1"),
        ("agents", "01010101-", "UPDATE agents SET head = x'00'"),
        (
            "agents",
            "01010101-",
            "UPDATE agents SET name = CAST(x'ff' AS TEXT)",
        ),
        ("memories", "row 1", "UPDATE memories SET shredded_at = 5"),
        ("memories", "row 1", "UPDATE memories SET version = -1"),
        ("memories", "row 1", "UPDATE memories SET under = -1"),
        ("memories", "row 1", "UPDATE memories SET kind = 'archival'"),
        ("memories", "row 1", "UPDATE memories SET archived_at = 5"),
        (
            "memories",
            "row 1",
            "UPDATE memories SET archived_at = 9223372036854775807",
        ),
        (
            "memories",
            "row 1",
            "UPDATE memories SET archived_by = 'saved'",
        ),
        (
            "memories",
            "row 1",
            "UPDATE memories SET archived_by = 'dream', kind = 'archival', archived_at = 5",
        ),
        ("memories", "row 1", "UPDATE memories SET is_summary = 2"),
        (
            "memories",
            "row 1",
            "UPDATE memories SET is_summary = 1, kind = 'journal'",
        ),
        ("memories", "row 1", "UPDATE memories SET core_seq = -1"),
        (
            "memories",
            "row 1",
            "UPDATE memories SET recorded_at = 9223372036854775807",
        ),
        (
            "agents",
            "01010101-",
            "UPDATE agents SET erased_at = 9223372036854775807",
        ),
        ("agents", "01010101-", "UPDATE agents SET budget_share = -1"),
        (
            "agents",
            "01010101-",
            "UPDATE agents SET open = CAST(x'ff' AS TEXT)",
        ),
        ("agent_prompts", "01010101-", "DELETE FROM agent_prompts"),
        ("log_leaves", "row 0", "UPDATE log_leaves SET seq = -1"),
        ("log_leaves", "row 0", "UPDATE log_leaves SET head = x'00'"),
        (
            "audit_records",
            "row 1",
            "UPDATE audit_records SET body_version = -1",
        ),
        (
            "audit_records",
            "row 1",
            "UPDATE audit_records SET body_commitment = x'00'",
        ),
        (
            "audit_records",
            "row 1",
            "UPDATE audit_records SET hash = x'00'",
        ),
        (
            "audit_records",
            "row 1",
            "UPDATE audit_records SET action = 'memory_forgotten'",
        ),
        (
            "audit_records",
            "row 1",
            "UPDATE audit_records SET actor_kind = 'ghost'",
        ),
        (
            "audit_records",
            "row 1",
            "UPDATE audit_records SET session_id = x'01'",
        ),
        (
            "tokens",
            "bbbbbbbb-",
            "UPDATE tokens SET digest = x'00' WHERE agent_id NOT NULL",
        ),
        (
            "tokens",
            "bbbbbbbb-",
            "UPDATE tokens SET agent_id = x'00' WHERE agent_id NOT NULL",
        ),
        (
            "tokens",
            "bbbbbbbb-",
            "UPDATE tokens SET revoked_at = 9223372036854775807 WHERE agent_id NOT NULL",
        ),
        (
            "users",
            "03030303-",
            "UPDATE users SET open = CAST(x'ff' AS TEXT)",
        ),
        (
            "users",
            "03030303-",
            "UPDATE users SET created_at = 9223372036854775807",
        ),
        ("users", "03030303-", "UPDATE users SET version = -1"),
        (
            "tokens",
            "bbbbbbbb-",
            "UPDATE tokens SET open = CAST(x'ff' AS TEXT) WHERE agent_id NOT NULL",
        ),
        ("replies", "row 0404", "UPDATE replies SET version = NULL"),
        ("replies", "row 0404", "UPDATE replies SET open = NULL"),
        ("replies", "row 0404", "UPDATE replies SET sealed = NULL"),
        (
            "replies",
            "row 0404",
            "UPDATE replies SET request_digest = x'00'",
        ),
    ] {
        let (_folder, path, store, agent) = begin_anew().await;
        store.append_leaves(at(1), LogsOf::Everybody).await.unwrap();
        let_in(&store, &agent).await;
        intrude(&path, change);
        let wanted = AgentQuery {
            memories: Selection::All,
            prompts: true,
            ..AgentQuery::default()
        };
        let looked = store.snapshot(agent.scope, &wanted).await.map(drop);
        let read = store
            .records(agent.scope, &RecordFilter::default())
            .await
            .map(drop);
        let leaves = store.leaves(0).await.map(drop);
        let tokens = store.tokens(account().id).await.map(drop);
        let user = store.user_named(account().id, "ada").await.map(drop);
        let reply = store.begin_reply(&reply()).await.map(drop);
        let known = tokens.and(user).and(reply);
        let error = looked.and(read).and(leaves).and(known).unwrap_err();
        let Error::Inconsistent {
            table: found,
            problem,
        } = &error
        else {
            panic!("{change}: {error:?}");
        };
        assert!(
            *found == table && problem.contains(row),
            "{change}: {error}"
        );
        let column = change.split(' ').nth(3).unwrap_or("missing");
        assert!(problem.contains(column), "{change}: {error}");
        assert!(!store.check().await.unwrap().is_empty(), "{change}");
    }
}

/// The totals show that a row is missing or exchanged, without reading any row.
#[tokio::test]
async fn rows_that_others_changed_are_counted_as_they_are() {
    let of = |count, tokens| CountAndTokens { count, tokens };
    let core = |count, tokens| RowCounts {
        core: of(count, tokens),
        ..RowCounts::default()
    };
    for (change, expected) in [
        ("UPDATE memories SET version = 9", core(3, 30)),
        ("DELETE FROM memories WHERE number = 2", core(2, 20)),
        (
            "UPDATE memories SET tokens = 11 WHERE number = 2",
            core(3, 31),
        ),
        (
            "UPDATE memories SET kind = 'archival', archived_at = 1, archived_by = 'saved' WHERE number = 2",
            RowCounts {
                archival: of(1, 10),
                ..core(2, 20)
            },
        ),
        (
            "UPDATE memories SET kind = 'dream' WHERE number = 2",
            core(2, 20),
        ),
        (
            "UPDATE memories SET discarded_at = 1 WHERE number = 2",
            RowCounts {
                discarded: 1,
                ..core(2, 20)
            },
        ),
    ] {
        let (_folder, path, store, mut agent) = begin_anew().await;
        save(&store, &mut agent, 2, 10).await.unwrap();
        intrude(&path, change);
        let found = store.snapshot(agent.scope, &AgentQuery::default()).await;
        assert_eq!(found.unwrap().unwrap().row_counts, expected, "{change}");
    }
    // Negative tokens are reported by table and agent.
    let (_folder, path, store, agent) = begin_anew().await;
    intrude(&path, "UPDATE memories SET tokens = -1");
    let found = store.snapshot(agent.scope, &AgentQuery::default()).await;
    let Err(Error::Inconsistent { table, problem }) = found else {
        panic!("{found:?}");
    };
    assert_eq!(table, "memories");
    assert!(problem.contains("row 01010101-"), "{problem}");
    assert!(problem.contains("`core_tokens`"), "{problem}");
}

#[tokio::test]
async fn links_that_cannot_be_are_named_by_their_number() {
    for change in [
        "UPDATE memories SET under = -1",
        "UPDATE memories SET kind = 'dream'",
    ] {
        let (_folder, path, store, agent) = begin_anew().await;
        intrude(&path, change);
        let found = store.archive_links(agent.scope, &[Number(1)]).await;
        let Err(Error::Inconsistent { table, problem }) = found else {
            panic!("{found:?}");
        };
        let column = change.split(' ').nth(3).unwrap();
        assert_eq!(table, "memories");
        assert!(
            problem.contains("row 1") && problem.contains(column),
            "{problem}"
        );
    }
}

/// The table itself holds the same rules as every commit.
#[tokio::test]
async fn columns_that_do_not_agree_are_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memoir.db");
    drop(begin(&path).await);
    let raw = Connection::open(&path).unwrap();
    for wrong in [
        "kind = 'archival'",
        "archived_at = 1",
        "archived_at = 1, archived_by = 'saved'",
        "kind = 'archival', archived_at = 1",
        "kind = 'archival', archived_by = 'saved'",
        "is_summary = 2",
        "is_summary = 1, kind = 'journal'",
        "shredded_at = 1",
    ] {
        let sql = format!("UPDATE memories SET {wrong}");
        assert!(raw.execute_batch(&sql).is_err(), "{wrong}");
    }
    let right = "UPDATE memories SET kind = 'archival', archived_at = 1, archived_by = 'saved'";
    raw.execute_batch(right).unwrap();
}

#[tokio::test]
async fn the_check_reads_the_rows_of_every_table() {
    // Into each table that nothing above has read, a row as no version of Memoir writes it.
    for (table, problem, row) in [
        ("agent_prompts", "`agent_id`", "x'00', x''"),
        (
            "memory_vectors",
            "`version`",
            "zeroblob(16), 1, 'a:b', -1, x''",
        ),
        ("log_summaries", "`hash`", "zeroblob(16), 1, x'00', x''"),
        (
            "word_indexes",
            "`part`",
            "zeroblob(16), -1, 1, 1, zeroblob(32), x''",
        ),
        (
            "transcript_messages",
            "`state`",
            "zeroblob(16), 1, zeroblob(32), 1, 0, 0, 'dreamt', x'', NULL",
        ),
        (
            "transcripts",
            "`failures`",
            "zeroblob(16), zeroblob(16), NULL, NULL, 0, -1",
        ),
        (
            "access_requests",
            "`expires_at`",
            "zeroblob(16), zeroblob(16), 'asked', 0, 9223372036854775807, 1, '{}', x''",
        ),
        (
            "receivers",
            "`seen_at`",
            "zeroblob(32), 9223372036854775807, NULL",
        ),
        (
            "deliveries",
            "`attempt`",
            "zeroblob(32), zeroblob(16), -1, 0",
        ),
    ] {
        let (_folder, path, store, _) = begin_anew().await;
        intrude(&path, &format!("INSERT INTO {table} VALUES ({row})"));
        let findings = store.check().await.unwrap();
        let expected = format!("table `{table}`, ");
        let is_it = |found: &str| found.contains(&expected) && found.contains(problem);
        assert!(
            findings.iter().any(|finding| is_it(&finding.problem)),
            "{table}: {findings:#?}"
        );
    }
}

#[tokio::test]
async fn the_check_finds_what_does_not_agree() {
    for (words, change) in [
        ("3 records", "DELETE FROM audit_records WHERE seq = 2"),
        ("next one would be 9", "UPDATE agents SET next_seq = 9"),
        ("`accounts`", "DELETE FROM accounts"),
        ("row 01010101-", "DELETE FROM agent_prompts"),
        (
            "the head of 01010101-",
            "UPDATE agents SET head = zeroblob(32)",
        ),
        (
            "of its record 4",
            "UPDATE audit_records SET hash = zeroblob(32) WHERE seq = 4",
        ),
        (
            "row 0 has another hash for record 4",
            "UPDATE log_leaves SET head = zeroblob(32)",
        ),
        (
            "row 0 is about",
            "UPDATE log_leaves SET agent_id = zeroblob(16)",
        ),
        (
            "1 entries, from 7 to 7",
            "UPDATE log_leaves SET position = 7",
        ),
        (
            "row bbbbbbbb-bbbb-bbbb-bbbb-bbbbbbbbbbbb is of 01010101-",
            "INSERT INTO accounts VALUES (zeroblob(16), 'b', 'b', 0); \
             UPDATE tokens SET account_id = zeroblob(16) WHERE agent_id NOT NULL",
        ),
        ("`users`", "UPDATE users SET account_id = zeroblob(16)"),
        ("`replies`", "UPDATE replies SET account_id = zeroblob(16)"),
    ] {
        let (_folder, path, store, mut agent) = begin_anew().await;
        save(&store, &mut agent, 3, 10).await.unwrap();
        store.append_leaves(at(1), LogsOf::Everybody).await.unwrap();
        let_in(&store, &agent).await;
        assert_holds(&store, &agent).await;
        intrude(&path, change);
        let findings = store.check().await.unwrap();
        assert!(
            findings
                .iter()
                .any(|finding| finding.problem.contains(words)),
            "{change}: {findings:#?}"
        );
        assert!(findings.iter().all(|finding| !finding.advice.is_empty()));
    }
}

/// Every page of the file in turn is overwritten with rubbish.
#[tokio::test]
async fn a_damaged_page_is_never_a_panic() {
    let (folder, path, store, mut agent) = begin_anew().await;
    save(&store, &mut agent, 40, 1_500).await.unwrap();
    drop(store);
    let good = fs::read(&path).unwrap();
    let copy = folder.path().join("copy.db");
    for page in 0..good.len() / 4_096 {
        fs::write(&copy, &good).unwrap();
        let mut file = fs::OpenOptions::new().write(true).open(&copy).unwrap();
        file.seek(SeekFrom::Start(page as u64 * 4_096)).unwrap();
        file.write_all(&[0xA5; 4_096]).unwrap();
        drop(file);
        match SqliteStore::open(&copy) {
            Err(error) => assert!(
                matches!(
                    error,
                    Error::NotADatabase(_) | Error::Damaged(_) | Error::Driver(_)
                ),
                "page {page}: {error:?}"
            ),
            Ok(store) => {
                let findings = store.check().await.unwrap();
                assert!(!findings.is_empty(), "page {page} went unnoticed");
                // Whatever these answer, they answer.
                let wanted = AgentQuery {
                    memories: Selection::Active,
                    ..AgentQuery::default()
                };
                let _ = store.snapshot(agent.scope, &wanted).await;
                let _ = store.records(agent.scope, &RecordFilter::default()).await;
                let _ = save(&store, &mut agent.clone(), 1, 10).await;
            }
        }
        for suffix in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(folder.path().join(format!("copy.db{suffix}")));
        }
    }
}
