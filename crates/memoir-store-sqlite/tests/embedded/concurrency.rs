//! Several writers of one file, and readers that wait for none of them.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use memoir_store::{Access, AgentQuery, Error, Fleet, Portable, ReplyRow, Store, without_waiting};
use memoir_store_sqlite::SqliteStore;
use rusqlite::Connection;

use crate::common::*;

/// Another process that holds the lock.
pub(crate) struct Gate(Connection);

impl Gate {
    pub(crate) fn close(path: &Path) -> Self {
        let raw = Connection::open(path).unwrap();
        raw.execute_batch("BEGIN IMMEDIATE").unwrap();
        Self(raw)
    }

    /// Opens the gate once all have had time to reach it.
    pub(crate) async fn open_when_waiting(self) {
        tokio::time::sleep(Duration::from_millis(100)).await;
        self.0.execute_batch("ROLLBACK").unwrap();
    }
}

/// Waits until so many tasks run, on a machine however busy.
async fn all_begin(begun: &AtomicUsize, count: usize) {
    while begun.load(Ordering::SeqCst) < count {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_at_once_share_a_transaction() {
    let (_folder, path, store, first) = begin_anew().await;
    let mut agents = vec![first];
    for number in 2..=64 {
        let mut agent = agent(number);
        save(&store, &mut agent, 1, 100).await.unwrap();
        agents.push(agent);
    }
    let before = store.transactions();
    let gate = Gate::close(&path);
    let begun = Arc::new(AtomicUsize::new(0));
    let mut tasks = Vec::new();
    for mut agent in agents {
        let (store, begun) = (store.clone(), Arc::clone(&begun));
        tasks.push(tokio::spawn(async move {
            begun.fetch_add(1, Ordering::SeqCst);
            save(&store, &mut agent, 1, 100).await.unwrap();
            agent
        }));
    }
    all_begin(&begun, 64).await;
    gate.open_when_waiting().await;
    for task in tasks {
        let agent = task.await.unwrap();
        assert_eq!(look(&store, &agent).await.unwrap().agent, agent);
    }
    let shared = store.transactions() - before;
    assert!(shared <= 3, "64 changes took {shared} transactions");
}

/// Requests, users and tokens are changes like any other: one that is refused or finds its key used
/// takes no other down.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_that_has_to_do_with_coming_in_shares_transactions() {
    let (_folder, path, store, agent) = begin_anew().await;
    store.create_user(&user(), false, None).await.unwrap();
    let before = store.transactions();
    let gate = Gate::close(&path);
    let begun = Arc::new(AtomicUsize::new(0));
    let mut tasks = Vec::new();
    for number in 10..42_u8 {
        let (store, mut agent) = (store.clone(), agent.clone());
        let begun = Arc::clone(&begun);
        tasks.push(tokio::spawn(async move {
            begun.fetch_add(1, Ordering::SeqCst);
            match number % 4 {
                0 => store.put_token(&token(number)).await.unwrap(),
                1 => {
                    let taken = store.create_user(&user(), false, None).await;
                    assert!(matches!(taken, Err(Error::NameTaken)), "{taken:?}");
                }
                2 => {
                    let key_digest = [number & !4; 32];
                    let row = ReplyRow {
                        key_digest,
                        ..reply()
                    };
                    return store.begin_reply(&row).await.unwrap().is_none();
                }
                _ => return save(&store, &mut agent, 1, 10).await.is_ok(),
            }
            false
        }));
    }
    all_begin(&begun, 32).await;
    gate.open_when_waiting().await;
    let mut done = 0;
    for task in tasks {
        done += u32::from(task.await.unwrap());
    }
    // Of the requests one of each two with the same key, and one commit.
    assert_eq!(done, 4 + 1);
    assert_eq!(store.tokens(account().id).await.unwrap().len(), 8);
    let shared = store.transactions() - before;
    assert!(shared <= 3, "they took {shared} transactions");
    assert_eq!(store.check().await.unwrap(), []);
}

#[tokio::test]
async fn a_single_caller_does_not_wait() {
    let (_folder, _path, store, mut agent) = begin_anew().await;
    let before = store.transactions();
    let started = std::time::Instant::now();
    for _ in 0..100 {
        save(&store, &mut agent, 1, 100).await.unwrap();
    }
    assert_eq!(store.transactions() - before, 100);
    // Generous: what it would notice is a timer.
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn readers_do_not_wait_for_a_writer() {
    let (_folder, path, store, agent) = begin_anew().await;
    let gate = Gate::close(&path);
    let writer = tokio::spawn({
        let (store, mut agent) = (store.clone(), agent.clone());
        async move { save(&store, &mut agent, 1, 100).await }
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    let started = std::time::Instant::now();
    for _ in 0..20 {
        assert_holds(&store, &agent).await;
        let found = store.snapshot(agent.scope, &AgentQuery::default()).await;
        assert_eq!(found.unwrap().unwrap().agent, agent);
    }
    assert!(started.elapsed() < Duration::from_secs(5));
    assert!(!writer.is_finished());
    gate.open_when_waiting().await;
    writer.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_wait_is_refused_beside_one_that_waits() {
    let (_folder, path, store, agent) = begin_anew().await;
    let gate = Gate::close(&path);
    let waiting = tokio::spawn({
        let (store, mut agent) = (store.clone(), agent.clone());
        async move { save(&store, &mut agent, 1, 100).await }
    });
    for round in 0..20 {
        let mut late = agent.clone();
        let refused = without_waiting(save(&store, &mut late, 1, 100)).await;
        assert!(matches!(refused, Err(Error::Busy)), "{refused:?}");
        let refused = without_waiting(store.note_uses(&[(token(1).id, at(9))])).await;
        assert!(matches!(refused, Err(Error::Busy)), "{refused:?}");
        // A large one goes to the thread.
        let refused = without_waiting(store.keep_word_index(agent.scope, 1, Vec::new())).await;
        assert!(matches!(refused, Err(Error::Busy)), "{refused:?}");
        // Now before and now after the other one waits for the lock.
        tokio::time::sleep(Duration::from_millis(round % 3)).await;
    }
    assert!(!waiting.is_finished());
    gate.open_when_waiting().await;
    waiting.await.unwrap().unwrap();
    let mut found = look(&store, &agent).await.unwrap().agent;
    without_waiting(save(&store, &mut found, 1, 100))
        .await
        .unwrap();
    assert_holds(&store, &found).await;
}

/// Many memories are read by two connections, and yet of one instant.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_read_beside_a_writer_is_of_one_instant() {
    let (_folder, _path, store, mut agent) = begin_anew().await;
    save(&store, &mut agent, 2_000, 10).await.unwrap();
    let writer = tokio::spawn({
        let (store, mut agent) = (store.clone(), agent.clone());
        async move {
            for _ in 0..500 {
                save(&store, &mut agent, 1, 10).await.unwrap();
            }
            agent
        }
    });
    let mut seen = 0;
    while !writer.is_finished() {
        let found = look(&store, &agent).await.unwrap();
        assert_eq!(found.memories.len() as u64, count(&found.agent));
        seen += u32::from(found.memories.len() > 2_001);
    }
    assert!(seen > 0);
    assert_holds(&store, &writer.await.unwrap()).await;
}

#[tokio::test]
async fn a_lock_that_is_held_too_long_is_said_to_be() {
    let (_folder, path, store, mut agent) = begin_anew().await;
    let gate = Gate::close(&path);
    let error = save(&store, &mut agent, 1, 100).await.unwrap_err();
    assert!(matches!(error, Error::Busy), "{error:?}");
    gate.open_when_waiting().await;
    save(&store, &mut agent, 1, 100).await.unwrap();
    assert_holds(&store, &agent).await;
}

#[tokio::test]
async fn a_caller_that_disconnects_harms_no_other() {
    let (_folder, path, store, agent) = begin_anew().await;
    let gate = Gate::close(&path);
    let mut leaving = agent.clone();
    let left = tokio::time::timeout(
        Duration::from_millis(30),
        save(&store, &mut leaving, 1, 100),
    );
    assert!(left.await.is_err());
    gate.open_when_waiting().await;
    // The queued change is written nevertheless.
    let mut found = look(&store, &agent).await.unwrap().agent;
    while found.document.version == agent.document.version {
        tokio::time::sleep(Duration::from_millis(10)).await;
        found = look(&store, &agent).await.unwrap().agent;
    }
    save(&store, &mut found, 1, 100).await.unwrap();
    assert_holds(&store, &found).await;
}

/// Saves to that agent until it has so many memories, beginning anew wherever another was faster.
async fn contend(store: &SqliteStore, number: u8, wanted: u64) -> u64 {
    let mut mine = 0;
    loop {
        let mut row = look(store, &agent(number)).await.unwrap().agent;
        if count(&row) >= wanted {
            return mine;
        }
        match save(store, &mut row, 1, 200).await {
            Ok(()) => mine += 1,
            Err(Error::Conflict) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stores_and_another_process_share_one_file() {
    let (_folder, path, first, _) = begin_anew().await;
    for number in 2..=3 {
        let mut agent = agent(number);
        save(&first, &mut agent, 1, 100).await.unwrap();
    }
    let second = SqliteStore::open(&path).unwrap();
    let mut child = child("concurrency::part_contends", &path).spawn().unwrap();
    // All three write to agent 1; each of the stores also to one of its own.
    let tasks = [(first.clone(), 2), (second.clone(), 3)].map(|(store, own)| {
        tokio::spawn(async move {
            let mine = contend(&store, own, 100).await;
            assert_eq!(mine, 99);
            contend(&store, 1, 300).await
        })
    });
    for task in tasks {
        task.await.unwrap();
    }
    assert!(child.wait().unwrap().success());
    for store in [&first, &second] {
        for number in 1..=3 {
            let row = look(store, &agent(number)).await.unwrap().agent;
            assert_eq!(count(&row), if number == 1 { 300 } else { 100 });
            assert_eq!(row.document.version, count(&row));
        }
        assert_eq!(store.check().await.unwrap(), []);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "played by a child process"]
async fn part_contends() {
    let store = SqliteStore::open(&told_path()).unwrap();
    contend(&store, 1, 300).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_may_make_the_same_file_at_once() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..10 {
        let path = folder.path().join(format!("{round}.db"));
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let path = path.clone();
                std::thread::spawn(move || SqliteStore::open(&path).map(drop))
            })
            .collect();
        for thread in threads {
            thread.join().unwrap().unwrap();
        }
        let (store, agent) = begin(&path).await;
        assert_holds(&store, &agent).await;
    }
}
