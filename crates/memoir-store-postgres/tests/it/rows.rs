//! Statements that write rows of several accounts beside other transactions.

use std::{process::Child, time::Duration};

use memoir_store::{Access, Fleet, Store, TokenRow, Transcripts, conformance::fixtures};

use crate::common::{self, TestDatabase, account, decision};

fn token(number: u128) -> TokenRow {
    TokenRow {
        account: account().id,
        ..fixtures::token(1, number)
    }
}

/// Waits until the count that the statement returns is 1.
async fn until_one(database: &TestDatabase, sql: &str) {
    for _ in 0..1_000 {
        if database.query(sql) == "1" {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Waits until a transaction waits for the first of two hundred tokens, and checks that it has locked none of the others.
async fn until_first_is_awaited(database: &TestDatabase) {
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
         AND usename = 'memoir' AND datname = current_database()";
    until_one(database, waiting).await;
    let free = "SELECT count(*) FROM (SELECT 1 FROM tokens FOR UPDATE SKIP LOCKED) AS free";
    assert_eq!(database.query(free), "199");
}

/// A client that holds the rows which the statement locks, for less time than a transaction waits for a lock.
async fn held(database: &TestDatabase, locking: &str) -> Child {
    let mut psql = database.server.client("psql", "postgres");
    // Rolled back before it ends: the server frees the rows of a client that is gone only some time later.
    let hold =
        format!("BEGIN; SELECT count(*) FROM ({locking}) AS held; SELECT pg_sleep(4); ROLLBACK");
    let holder = psql
        .args([database.name(), "-qc", &hold])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let sleeping = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' \
         AND datname = current_database()";
    until_one(database, sleeping).await;
    holder
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_6_1_uses_of_tokens_are_noted_in_the_order_of_the_tokens() {
    let (database, store) = or_skip!(common::begin().await);
    for number in 1..=200 {
        store.put_token(&token(number)).await.unwrap();
    }
    let mut holder = held(
        &database,
        "SELECT 1 FROM tokens ORDER BY id LIMIT 1 FOR UPDATE",
    )
    .await;
    let uses: Vec<_> = (1..=200)
        .rev()
        .map(|number| (token(number).id, fixtures::at(1_000)))
        .collect();
    let noting = store.clone();
    let noting = tokio::spawn(async move { noting.note_uses(&uses).await });
    until_first_is_awaited(&database).await;
    holder.wait().unwrap();
    noting.await.unwrap().unwrap();
    let noted = "SELECT count(*) FROM tokens WHERE last_used_at IS NOT NULL";
    assert_eq!(database.query(noted), "200");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_6_1_a_decision_locks_its_tokens_in_the_order_of_their_uses() {
    let (database, store) = or_skip!(common::begin().await);
    store.commit(decision(0)).await.unwrap();
    let tokens = || {
        (1..=200).map(|number| TokenRow {
            agent: Some(common::scope().agent),
            ..token(number)
        })
    };
    for token in tokens() {
        store.put_token(&token).await.unwrap();
    }
    let first = "SELECT 1 FROM tokens ORDER BY id LIMIT 1 FOR UPDATE";
    let mut holder = held(&database, first).await;
    let mut later = decision(1);
    later.tokens = tokens().rev().collect();
    for token in &mut later.tokens {
        token.document.version += 1;
    }
    let deciding = store.clone();
    let deciding = tokio::spawn(async move { deciding.commit(later).await });
    until_first_is_awaited(&database).await;
    holder.wait().unwrap();
    deciding.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_6_1_a_backlog_of_what_is_to_be_forgotten_is_forgotten_in_parts() {
    let (database, store) = or_skip!(common::begin().await);
    store.commit(decision(0)).await.unwrap();
    database.query(
        "INSERT INTO replies (account_id, key_digest, request_digest, recorded_at) \
             SELECT accounts.id, sha256(n::text::bytea), sha256(n::text::bytea), n * 1000000 \
             FROM accounts, generate_series(1::bigint, 2500) AS n",
    );
    database.query(
        "INSERT INTO transcript_messages (agent_id, seq, digest, tokens, received_at, counted_bytes, state, body, \
                 words_until) \
             SELECT agents.id, n, sha256(n::text::bytea), 1, 1, 0, 'absorbed', '\\x01'::bytea, n * 1000000 \
             FROM agents, generate_series(1::bigint, 2500) AS n",
    );
    database.query(
        "INSERT INTO word_indexes (agent_id, part, version, last_seq, hash, body) \
             SELECT agents.id, n, 1, 1, sha256('1'::bytea), '\\x01'::bytea \
             FROM agents, generate_series(0::bigint, 2499) AS n",
    );
    // No statement writes more than a thousand rows.
    database.query(
        "CREATE FUNCTION few() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             IF (SELECT count(*) FROM gone) > 1000 THEN RAISE EXCEPTION 'too many rows'; END IF; \
             RETURN NULL; END $$",
    );
    for (event, table) in [
        ("DELETE", "replies"),
        ("UPDATE", "transcript_messages"),
        ("DELETE", "word_indexes"),
    ] {
        let trigger = format!(
            "CREATE TRIGGER few AFTER {event} ON {table} REFERENCING OLD TABLE AS gone \
                 FOR EACH STATEMENT EXECUTE FUNCTION few()"
        );
        database.query(&trigger);
    }
    let replies = || database.query("SELECT count(*) FROM replies");
    let words = || database.query("SELECT count(*) FROM transcript_messages WHERE body <> ''");
    // One that another transaction has locked stays for the next time.
    let locking = "SELECT 1 FROM replies ORDER BY recorded_at LIMIT 1 FOR UPDATE";
    let mut holder = held(&database, locking).await;
    store.forget_replies(fixtures::at(2_001)).await.unwrap();
    assert_eq!(replies(), "501");
    holder.wait().unwrap();
    store.forget_replies(fixtures::at(2_001)).await.unwrap();
    assert_eq!(replies(), "500");
    store.forget_words(fixtures::at(2_000)).await.unwrap();
    assert_eq!(words(), "500");
    store.forget_word_indexes().await.unwrap();
    assert_eq!(database.query("SELECT count(*) FROM word_indexes"), "0");
}
