//! Shredded text is nowhere on the disk (SPEC 4.4).

use std::{
    collections::BTreeSet,
    path::Path,
    time::{Duration, Instant},
};

use memoir_store::{
    AgentRow, BodyRow, Commit, Fleet, MemoryRow, RecordFilter, Store, StoredText,
    conformance::fixtures,
};
use memoir_store_sqlite::SqliteStore;
use rusqlite::Connection;

use crate::common::*;

/// Bytes that are nowhere else, and as many more as it takes to be of that length.
fn canary(name: &str, bytes: usize) -> StoredText {
    let mut words = format!("<<canary {name}>>").into_bytes();
    words.resize(words.len().max(bytes), b'.');
    StoredText(words)
}

/// The bytes by which a canary is known.
fn trace(name: &str) -> Vec<u8> {
    canary(name, 0).0
}

/// Saves memories that are canaries, and a record of each with another one.
async fn save_canaries(store: &SqliteStore, agent: &mut AgentRow, count: u64, bytes: usize) {
    let mut commit = saving(agent, count, bytes);
    for memory in &mut commit.memories {
        memory.body = canary(&format!("memory {}", memory.number), bytes);
    }
    for record in &mut commit.records {
        record.body = canary(&format!("record {}", record.seq), bytes);
    }
    write(store, agent, commit).await;
}

async fn write(store: &SqliteStore, agent: &mut AgentRow, commit: Commit) {
    let after = written(&commit.agent);
    store.commit(commit).await.unwrap();
    *agent = after;
}

/// Takes the words out of a memory and out of the record of the same number.
fn shredding(agent: &AgentRow, number: u64) -> Commit {
    let mut commit = saving(agent, 0, 0);
    commit.memories = vec![MemoryRow {
        body: canary("that stays", 0),
        tokens: 0,
        discarded_at: Some(at(50)),
        shredded_at: Some(at(50)),
        ..fixtures::memory(number)
    }];
    commit.bodies = vec![BodyRow {
        seq: number,
        body_version: 2,
        body: canary("that stays", 0),
    }];
    commit
}

/// Shreds them, after which they are nowhere.
async fn shred(path: &Path, store: &SqliteStore, agent: &mut AgentRow, number: u64) {
    let commit = shredding(agent, number);
    write(store, agent, commit).await;
    assert!(!is_on_disk(path, &trace(&format!("memory #{number}"))));
    assert!(!is_on_disk(path, &trace(&format!("record {number}"))));
}

#[tokio::test]
async fn spec_4_4_what_was_shredded_is_in_no_file() {
    let folder = tempfile::tempdir().unwrap();
    // Within a page, about one, and over several.
    for bytes in [30, 700, 4_000, 30_000] {
        let path = folder.path().join(format!("{bytes}.db"));
        let (store, mut agent) = begin(&path).await;
        save_canaries(&store, &mut agent, 40, bytes).await;
        assert!(is_on_disk(&path, &trace("memory #20")));
        assert!(is_on_disk(&path, &trace("record 20")));
        for number in [20, 3, 40] {
            shred(&path, &store, &mut agent, number).await;
        }
        assert!(is_on_disk(&path, &trace("memory #21")));
        assert!(is_on_disk(&path, &trace("record 21")));
        assert_holds(&store, &agent).await;
        let all = RecordFilter::default();
        let records = store.records(agent.scope, &all).await.unwrap();
        assert_eq!(records[19].body, canary("that stays", 0));
        assert_eq!(records[19].body_version, 2);
    }
}

/// A reader of an earlier state keeps the log. The writer waits for it for a limited time, and cuts the log once it
/// can.
#[tokio::test]
async fn spec_4_4_a_reader_holds_the_cut_up_and_not_the_change() {
    let (_folder, path, store, mut agent) = begin_anew().await;
    save_canaries(&store, &mut agent, 5, 700).await;
    let reader = Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let rows = |reader: &Connection| -> i64 {
        let sql = "SELECT count(*) FROM memories WHERE shredded_at IS NULL";
        reader.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    assert_eq!(rows(&reader), 6);

    let started = Instant::now();
    let commit = shredding(&agent, 3);
    write(&store, &mut agent, commit).await;
    let waited = started.elapsed();
    assert!(waited > Duration::from_secs(1), "{waited:?}");
    assert!(waited < Duration::from_secs(60), "{waited:?}");
    assert_eq!(rows(&reader), 6);
    assert!(is_on_disk(&path, &trace("memory #3")));
    assert_eq!(look(&store, &agent).await.unwrap().agent, agent);
    let findings = store.check().await.unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].problem.contains("`residues`"), "{findings:?}");

    reader.execute_batch("COMMIT").unwrap();
    // Nothing is shredded again, and the log is cut nevertheless. The text is gone from the disk before the row that
    // keeps the rest of the work pending is.
    let started = Instant::now();
    let is_owed = || -> bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM residues)";
        reader.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    while is_owed() {
        assert!(started.elapsed() < Duration::from_secs(60));
        save(&store, &mut agent, 1, 10).await.unwrap();
    }
    assert!(!is_on_disk(&path, &trace("memory #3")));
    assert!(!is_on_disk(&path, &trace("record 3")));
    assert_holds(&store, &agent).await;
}

/// A reader that comes and goes is waited for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_4_4_readers_at_work_do_not_keep_words_on_the_disk() {
    let (_folder, path, store, mut agent) = begin_anew().await;
    save_canaries(&store, &mut agent, 200, 700).await;
    let reading = tokio::spawn({
        let (store, agent) = (store.clone(), agent.clone());
        async move {
            loop {
                let found = look(&store, &agent).await.unwrap();
                assert_eq!(found.memories.len(), 201);
            }
        }
    });
    for number in 2..=20 {
        shred(&path, &store, &mut agent, number).await;
    }
    reading.abort();
    assert_holds(&store, &agent).await;
}

/// The names of all canaries in the file and its write-ahead log.
fn canaries(path: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for content in on_disk(path) {
        let content = String::from_utf8_lossy(&content);
        for part in content.split("<<canary ").skip(1) {
            names.extend(part.split_once(">>").map(|(name, _)| name.to_owned()));
        }
    }
    names
}

/// Writes new memories of all sizes, with their records. The numbers of the memories.
async fn save_of_all_sizes(
    store: &SqliteStore,
    agent: &mut AgentRow,
    which: usize,
    mut dice: impl FnMut(usize) -> usize,
) -> Vec<u64> {
    const SIZES: [usize; 5] = [60, 200, 500, 1_200, 5_000];
    let mut commit = saving(agent, 1 + dice(3) as u64, 10);
    for (memory, record) in commit.memories.iter_mut().zip(&mut commit.records) {
        let name = format!("of {which} {}", memory.number);
        memory.body = canary(&format!("memory {name}"), SIZES[dice(5)]);
        record.body = canary(&format!("record {name}"), SIZES[dice(5)]);
    }
    let numbers = commit.memories.iter().map(|memory| memory.number.0);
    let numbers = numbers.collect();
    write(store, agent, commit).await;
    numbers
}

/// Rows move from page to page as others are added, grow and shrink; where they once were, nothing of
/// them may stay.
#[tokio::test]
async fn spec_4_4_rows_that_were_moved_leave_nothing_behind() {
    let (_folder, path, store, first) = begin_anew().await;
    let mut agents = vec![first];
    for number in 2..=4 {
        let mut agent = agent(number);
        save(&store, &mut agent, 1, 10).await.unwrap();
        agents.push(agent);
    }
    // The same throws every time.
    let mut state = 1_u64;
    let mut dice = |sides: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % sides
    };
    let mut kept = vec![Vec::new(); agents.len()];
    let mut gone = BTreeSet::new();
    for round in 0..500 {
        let which = dice(agents.len());
        let agent = &mut agents[which];
        kept[which].extend(save_of_all_sizes(&store, agent, which, &mut dice).await);
        if round > 100 && dice(3) > 0 && !kept[which].is_empty() {
            let at = dice(kept[which].len());
            let number = kept[which].swap_remove(at);
            let commit = shredding(agent, number);
            write(&store, agent, commit).await;
            gone.insert(format!("memory of {which} #{number}"));
            gone.insert(format!("record of {which} #{number}"));
        }
        if round % 20 == 0 {
            let left: Vec<String> = canaries(&path).intersection(&gone).cloned().collect();
            assert_eq!(left, [""; 0], "of {}", gone.len());
        }
    }
    assert!(gone.len() > 400);
    let there = canaries(&path);
    for (which, numbers) in kept.iter().enumerate() {
        for number in numbers {
            assert!(there.contains(&format!("memory of {which} #{number}")));
        }
    }
}

/// What is replaced or deleted without being shredded is overwritten as well; the write-ahead log goes
/// when the store is closed.
#[tokio::test]
async fn spec_4_4_what_is_replaced_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    for bytes in [30, 700, 4_000, 30_000] {
        let path = folder.path().join(format!("{bytes}.db"));
        let (store, mut agent) = begin(&path).await;
        let mut commit = saving(&agent, 0, 0);
        commit.prompts = Some(canary("prompts", bytes));
        write(&store, &mut agent, commit).await;
        save_canaries(&store, &mut agent, 5, bytes).await;
        drop(store);
        assert!(canaries(&path).contains("prompts"));
        assert!(canaries(&path).contains("memory #3"));

        let store = SqliteStore::open(&path).unwrap();
        let mut commit = saving(&agent, 0, 0);
        commit.prompts = Some(canary("other prompts", 0));
        commit.memories = vec![MemoryRow {
            body: canary("other words", 0),
            ..fixtures::memory(3)
        }];
        write(&store, &mut agent, commit).await;
        assert_holds(&store, &agent).await;
        drop(store);
        let left = canaries(&path);
        assert!(left.contains("other prompts") && left.contains("other words"));
        assert!(
            !left.contains("prompts") && !left.contains("memory #3"),
            "{left:?}"
        );
        assert!(left.contains("memory #4"));
    }
}

/// A process that is killed before the words are off the disk leaves that to the next one.
#[tokio::test]
async fn spec_4_4_what_a_killed_process_left_is_taken_off_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    for point in ["batch.committed", "scrub.rewritten", "scrub.cut"] {
        let path = folder.path().join(point);
        let (store, mut agent) = begin(&path).await;
        save_canaries(&store, &mut agent, 5, 700).await;
        drop(store);
        let output = child("shredding::part_shreds", &path)
            .env("MEMOIR_FAULT", format!("{point}:1"))
            .output()
            .unwrap();
        assert!(!output.status.success());
        let store = SqliteStore::open(&path).unwrap();
        let left = canaries(&path);
        assert!(
            !left.contains("memory #3") && !left.contains("record 3"),
            "{point}"
        );
        assert!(left.contains("memory #4"));
        assert_eq!(store.check().await.unwrap(), []);
        let found = look(&store, &agent).await.unwrap();
        let mut shredded = found.memories;
        shredded.retain(|row| row.shredded_at.is_some());
        assert_eq!(shredded.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "played by a child process"]
async fn part_shreds() {
    let store = SqliteStore::open(&told_path()).unwrap();
    let agent = look(&store, &agent(1)).await.unwrap().agent;
    store.commit(shredding(&agent, 3)).await.unwrap();
}
