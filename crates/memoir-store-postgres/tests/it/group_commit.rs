//! Decisions that share a transaction because all connections are taken.

use std::sync::atomic::Ordering;

use memoir_domain::AgentId;
use memoir_store::{Commit, Error, Fleet, Result, Store};
use memoir_store_postgres::PostgresStore;
use tokio::task::JoinHandle;

use crate::{
    common::{self, TestDatabase, account, decision},
    lost::{AFTER, BEFORE, Between, NOWHERE},
};

/// As many as a process has connections.
const HELD: u8 = 8;
/// Decisions that come while all connections are taken.
const WAITING: u8 = 20;

/// How often it is tried that all connections are taken while decisions come, which depends on how busy the machine is.
const ATTEMPTS: usize = 5;

/// A decision on the agent of that number, which has that version.
fn decision_of(agent: u8, version: u64) -> Commit {
    let mut decision = decision(version);
    decision.agent.scope.agent = AgentId::from_bytes([agent; 16]);
    decision.agent.columns.name = agent.to_string();
    decision.agent.columns.folded_name = agent.to_string();
    decision
}

/// The outcomes of decisions on locked agents, for which all connections wait, and of others behind them. `meanwhile`
/// runs before they come.
async fn behind_held(
    database: &TestDatabase,
    store: &PostgresStore,
    waiting: Vec<Commit>,
    meanwhile: impl FnOnce(),
) -> Vec<Result<()>> {
    let mut psql = database.server.client("psql", "postgres");
    // For less time than a transaction waits for a lock or a connection.
    let hold = "BEGIN; SELECT count(*) FROM (SELECT 1 FROM agents WHERE name::int <= 8 FOR UPDATE) AS held; \
         SELECT pg_sleep(2)";
    let mut holder = psql
        .args([database.name(), "-qc", hold])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let sleeping = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' \
         AND datname = current_database()";
    for _ in 0..1_000 {
        if database.query(sleeping) == "1" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    meanwhile();
    let write = |commit: Commit| -> JoinHandle<Result<()>> {
        let store = store.clone();
        tokio::spawn(async move { store.commit(commit).await })
    };
    let held = (1..=HELD).map(|agent| decision_of(agent, 1));
    let all: Vec<_> = held.chain(waiting).map(write).collect();
    let mut answers = Vec::new();
    for one in all {
        answers.push(one.await.unwrap());
    }
    holder.wait().unwrap();
    answers
}

/// Decisions on the agents that are not locked.
fn waiting() -> Vec<Commit> {
    let agents = HELD + 1..=HELD + WAITING;
    agents.map(|agent| decision_of(agent, 1)).collect()
}

async fn opened(database: &TestDatabase, parameters: &str) -> PostgresStore {
    drop(common::migrated(&database.url).await);
    let url = format!("{}{parameters}", database.url);
    let store = PostgresStore::open(&url).await.unwrap();
    store.create_account(&account()).await.unwrap();
    for agent in 1..=HELD + WAITING {
        store.commit(decision_of(agent, 0)).await.unwrap();
    }
    store
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_6_2_decisions_that_wait_for_a_connection_share_a_transaction() {
    for parameters in ["", "?prepare=true"] {
        let mut transactions = WAITING;
        for _ in 0..ATTEMPTS {
            let database = or_skip!(common::database());
            let store = opened(&database, parameters).await;
            for answer in behind_held(&database, &store, waiting(), || {}).await {
                answer.unwrap();
            }
            let written = database.query("SELECT count(*) FROM audit_records WHERE seq = 2");
            assert_eq!(written, (HELD + WAITING).to_string());
            let distinct = "SELECT count(DISTINCT audit_records.xmin::text) FROM audit_records \
                 JOIN agents ON agents.id = agent_id WHERE seq = 2 AND name::int > 8";
            transactions = database.query(distinct).parse().unwrap();
            if transactions < WAITING {
                break;
            }
        }
        assert!(transactions < WAITING, "{transactions}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_6_2_one_that_is_refused_takes_no_other_of_its_transaction_down() {
    let database = or_skip!(common::database());
    let store = opened(&database, "").await;
    let mut waiting = Vec::new();
    for agent in HELD + 1..=HELD + WAITING {
        // One on a missing version, and one agent that two decide on.
        let version = if agent == HELD + 2 { 7 } else { 1 };
        waiting.push(decision_of(agent, version));
        if agent == HELD + 3 {
            waiting.push(decision_of(agent, version));
        }
    }
    let answers = behind_held(&database, &store, waiting, || {}).await;
    let answers = &answers[usize::from(HELD)..];
    let refused: Vec<_> = answers.iter().filter(|answer| answer.is_err()).collect();
    assert!(answers[1].is_err(), "no such version");
    assert_eq!(
        answers[2].is_err(),
        answers[3].is_ok(),
        "exactly one of two"
    );
    assert_eq!(refused.len(), 2);
    for answer in refused {
        assert!(matches!(answer, Err(Error::Conflict)), "{answer:?}");
    }
    let written = database.query("SELECT count(*) FROM audit_records WHERE seq = 2");
    assert_eq!(written, (HELD + WAITING - 1).to_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_6_2_a_lost_answer_to_a_shared_transaction_is_guessed_for_none() {
    for (breaks, was_written) in [(BEFORE, false), (AFTER, true)] {
        let mut lost = 0;
        for _ in 0..ATTEMPTS {
            let database = or_skip!(common::database());
            lost = lost_together(&database, breaks, was_written).await;
            if lost > 1 {
                break;
            }
        }
        assert!(lost > 1, "shared by several");
    }
}

/// How many decisions were in the transaction whose response was lost.
async fn lost_together(database: &TestDatabase, breaks: u8, was_written: bool) -> usize {
    drop(opened(database, "").await);
    let between = Between::of_several(database);
    let store = PostgresStore::open(&between.url).await.unwrap();
    let cut = || between.breaks.store(breaks, Ordering::SeqCst);
    let answers = behind_held(database, &store, waiting(), cut).await;
    between.breaks.store(NOWHERE, Ordering::SeqCst);
    let unknown = answers.into_iter().filter_map(|answer| match answer {
        Err(Error::OutcomeUnknown(commit)) => Some(*commit),
        written => {
            written.unwrap();
            None
        }
    });
    let unknown: Vec<Commit> = unknown.collect();
    let lost = unknown.len();
    for commit in unknown {
        // The very same again shows the outcome of the first.
        let again = store.commit(commit).await;
        let is_conflict = matches!(again, Err(Error::Conflict));
        assert_eq!(is_conflict, was_written, "{again:?}");
    }
    let written = database.query("SELECT count(*) FROM audit_records WHERE seq = 2");
    assert_eq!(written, (HELD + WAITING).to_string());
    lost
}
