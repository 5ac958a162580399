//! Rows and pages that no version of Memoir writes: an error that says where, never a panic.

use std::{
    fs,
    io::{Seek, SeekFrom, Write},
    path::Path,
    time::Duration,
};

use memoir_domain::memory::Number;
use memoir_store::{
    Access, AgentQuery, AgentRow, CountAndTokens, Counting, Error, Finding, Fleet, Portable, Reach,
    RecordFilter, RowCounts, Selection, Store, TokenRow,
    conformance::fixtures::{AGREEING, DISAGREEING},
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
    store.create_user(&user(), false, None).await.unwrap();
    store.begin_reply(&reply()).await.unwrap();
    let key = reply().key_digest;
    let ended = store.end_reply(account().id, &key, None, None, document(1));
    ended.await.unwrap();
}

/// After that change, reading and checking name the table, the row and the column.
async fn assert_named(table: &str, row: &str, column: &str, change: &str) {
    let (_folder, path, store, agent) = begin_anew().await;
    store.append_leaves(at(1), Reach::All).await.unwrap();
    let_in(&store, &agent).await;
    intrude(&path, change);
    let wanted = AgentQuery::of_memories(Selection::All).with_prompts();
    let looked = store.snapshot(agent.scope, &wanted).await.map(drop);
    let read = store.records(agent.scope, &RecordFilter::default()).await;
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
        *found == table && problem.contains(row) && problem.contains(column),
        "{change}: {error}"
    );
    assert!(!store.check().await.unwrap().is_empty(), "{change}");
}

#[tokio::test]
async fn a_row_that_cannot_be_is_named_by_its_number() {
    /// No time of a version of Memoir.
    const LATE: &str = "9223372036854775807";
    let (every, theirs) = ("", " WHERE agent_id NOT NULL");
    for (table, row, rows, changes) in [
        (
            "memories",
            "row 1",
            every,
            &[
                "kind = 'dream'",
                "tokens = -1",
                "constitutional = 2",
                "created_at = LATE",
                "discarded_at = -LATE",
                "shredded_at = 5",
                "version = -1",
                "under = -1",
                "kind = 'archival'",
                "archived_at = 5",
                "archived_at = LATE",
                "archived_by = 'saved'",
                "archived_by = 'dream', kind = 'archival', archived_at = 5",
                "is_summary = 2",
                "is_summary = 1, kind = 'journal'",
                "core_seq = -1",
                "recorded_at = LATE",
            ][..],
        ),
        (
            "agents",
            "01010101-",
            every,
            &[
                "version = -1",
                "head = x'00'",
                "name = CAST(x'ff' AS TEXT)",
                "erased_at = LATE",
                "budget_share = -1",
                "open = CAST(x'ff' AS TEXT)",
            ],
        ),
        ("log_leaves", "row 0", every, &["seq = -1", "head = x'00'"]),
        (
            "audit_records",
            "row 1",
            every,
            &[
                "body_version = -1",
                "body_commitment = x'00'",
                "hash = x'00'",
                "action = 'memory_forgotten'",
                "actor_kind = 'ghost'",
                "session_id = x'01'",
            ],
        ),
        (
            "tokens",
            "bbbbbbbb-",
            theirs,
            &[
                "digest = x'00'",
                "agent_id = x'00'",
                "revoked_at = LATE",
                "open = CAST(x'ff' AS TEXT)",
            ],
        ),
        (
            "users",
            "03030303-",
            every,
            &[
                "open = CAST(x'ff' AS TEXT)",
                "created_at = LATE",
                "version = -1",
            ],
        ),
        (
            "replies",
            "row 0404",
            every,
            &[
                "version = NULL",
                "open = NULL",
                "sealed = NULL",
                "request_digest = x'00'",
            ],
        ),
    ] {
        for change in changes {
            let column = change.split(' ').next().unwrap();
            let change = format!("UPDATE {table} SET {change}{rows}").replace("LATE", LATE);
            assert_named(table, row, column, &change).await;
        }
    }
    let without = "DELETE FROM agent_prompts";
    assert_named("agent_prompts", "01010101-", "missing", without).await;
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
        let found = found.unwrap().unwrap();
        assert_eq!(found.row_counts, Some(expected), "{change}");
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

/// Rows are counted once, until the agent has another version or another process has written anything.
#[tokio::test]
async fn spec_3_12_rows_are_counted_again_once_others_have_written() {
    let (_folder, path, store, mut agent) = begin_anew().await;
    save(&store, &mut agent, 2, 10).await.unwrap();
    let scope = agent.scope;
    let look = async |counting| {
        let query = AgentQuery {
            counting,
            ..AgentQuery::default()
        };
        // There is no mark while the writer is busy with something else than a transaction.
        for _ in 0..1_000 {
            let found = store.snapshot(scope, &query).await.unwrap().unwrap();
            if found.counts_mark.is_some() {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("the writer is never free");
    };
    let first = look(Counting::Always).await;
    let count = first.row_counts.unwrap().core.count;
    assert_eq!(look(Counting::Never).await.row_counts, None);
    let mark = first.counts_mark.unwrap();
    let again = look(Counting::Unless(mark)).await;
    assert_eq!((again.row_counts, again.counts_mark), (None, Some(mark)));
    // What this store writes of others than memories is no change by others.
    memoir_store::Fleet::forget_word_indexes(&store)
        .await
        .unwrap();
    assert_eq!(look(Counting::Unless(mark)).await.row_counts, None);
    intrude(&path, "DELETE FROM memories WHERE number = 2");
    let after = look(Counting::Unless(mark)).await;
    assert_eq!(after.row_counts.unwrap().core.count, count - 1);
    let after = after.counts_mark.unwrap();
    assert_ne!(after, mark);
    // Of another version they are counted too.
    save(&store, &mut agent, 3, 10).await.unwrap();
    assert!(look(Counting::Unless(after)).await.row_counts.is_some());
}

#[tokio::test]
async fn of_many_findings_of_one_kind_the_first_twenty_are_named() {
    let (_folder, path, store, _) = begin_anew().await;
    let rest =
        "next_seq, head, budget_share, removable_tokens, archived_share, version, open, sealed";
    let agents = format!(
        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 25) \
         INSERT INTO agents (id, account_id, name, folded_name, {rest}) \
             SELECT CAST(printf('%016d', n) AS BLOB), account_id, name || n, folded_name || n, {rest} \
             FROM agents, numbers; \
         INSERT OR IGNORE INTO agent_prompts (agent_id, body) SELECT id, x'01' FROM agents"
    );
    intrude(&path, &agents);
    let findings = store.check().await.unwrap();
    let is_log = |found: &&Finding| found.problem.contains("its next one would be 2");
    assert_eq!(findings.iter().filter(is_log).count(), 20, "{findings:#?}");
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
    for wrong in DISAGREEING.into_iter().chain(["is_summary = 2"]) {
        let sql = format!("UPDATE memories SET {wrong}");
        assert!(raw.execute_batch(&sql).is_err(), "{wrong}");
    }
    let right = format!("UPDATE memories SET {AGREEING}");
    raw.execute_batch(&right).unwrap();
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
        store.append_leaves(at(1), Reach::All).await.unwrap();
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
                let wanted = AgentQuery::of_memories(Selection::Active);
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
