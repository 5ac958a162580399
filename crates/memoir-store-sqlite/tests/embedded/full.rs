//! Disks that are full or fail: the old state stays, and so does the writer (SPEC 6.2).

use std::process::{Command, Stdio};

use memoir_store::{Access, Error, Fleet};
use memoir_store_sqlite::SqliteStore;

use crate::common::*;

#[tokio::test]
async fn a_full_disk_leaves_the_old_state_and_a_writer() {
    let (_folder, path, store, mut agent) = begin_anew().await;
    store.limit_pages(60).await.unwrap();
    // On the caller's thread, on the writer's, and as a bulk of its own.
    for count in [100, 1_000, 3_000] {
        let error = save(&store, &mut agent, count, 3_000).await.unwrap_err();
        assert!(matches!(error, Error::Full), "{error:?}");
        assert_holds(&store, &agent).await;
    }
    save(&store, &mut agent, 2, 500).await.unwrap();
    assert_holds(&store, &agent).await;
    store.limit_pages(1_000_000).await.unwrap();
    save(&store, &mut agent, 3_000, 3_000).await.unwrap();
    assert_holds(&store, &agent).await;
    drop(store);
    assert_holds(&SqliteStore::open(&path).unwrap(), &agent).await;
}

#[tokio::test]
async fn spec_6_2_a_store_that_was_full_is_not_ready_until_there_is_room() {
    let (_folder, _path, store, mut agent) = begin_anew().await;
    store.limit_pages(200).await.unwrap();
    store.check_ready().await.unwrap();
    // Nothing of what does not fit is left, so that there is room again.
    save(&store, &mut agent, 300, 3_000).await.unwrap_err();
    store.check_ready().await.unwrap();
    // Until the file is full.
    while save(&store, &mut agent, 1, 3_000).await.is_ok() {}
    for _ in 0..2 {
        let error = store.check_ready().await.unwrap_err();
        assert!(matches!(error, Error::Full), "{error:?}");
    }
    store.limit_pages(1_000).await.unwrap();
    store.check_ready().await.unwrap();
    // The test write left nothing behind.
    assert_holds(&store, &agent).await;
    save(&store, &mut agent, 1, 3_000).await.unwrap();
    store.check_ready().await.unwrap();
}

#[tokio::test]
async fn one_that_does_not_fit_takes_no_other_down() {
    let (_folder, path, store, first) = begin_anew().await;
    let mut agents = vec![first];
    for number in 2..=16 {
        let mut agent = agent(number);
        save(&store, &mut agent, 1, 100).await.unwrap();
        agents.push(agent);
    }
    store.limit_pages(300).await.unwrap();
    let gate = crate::concurrency::Gate::close(&path);
    let mut tasks = Vec::new();
    for (number, mut agent) in agents.into_iter().enumerate() {
        let store = store.clone();
        tasks.push(tokio::spawn(async move {
            let count = if number == 7 { 300 } else { 2 };
            let result = save(&store, &mut agent, count, 2_000).await;
            (number, agent, result)
        }));
    }
    gate.open_when_waiting().await;
    for task in tasks {
        let (number, agent, result) = task.await.unwrap();
        match result {
            Ok(()) => assert_ne!(number, 7),
            Err(Error::Full) => assert_eq!(number, 7),
            Err(error) => panic!("{number}: {error}"),
        }
        assert_holds(&store, &agent).await;
    }
}

/// The system refuses to let any file grow beyond a megabyte, in the middle of a commit.
#[cfg(unix)]
#[tokio::test]
async fn a_write_that_fails_in_the_middle_leaves_the_old_state() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memoir.db");
    let child = child("full::part_writes_until_it_fails", &path);
    // `ulimit` counts in blocks of 512 or 1,024 bytes; without the signal the write itself fails.
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 1024; exec \"$@\"", "sh"])
        .arg(child.get_program())
        .args(child.get_args())
        .env("MEMOIR_TEST_DATABASE", &path)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    let acknowledged: u64 = said
        .lines()
        .find_map(|line| line.split_once("acknowledged ")?.1.parse().ok())
        .expect("the child says how far it came");
    let store = SqliteStore::open(&path).unwrap();
    let mut agent = look(&store, &agent(1)).await.unwrap().agent;
    assert_eq!(count(&agent), acknowledged);
    assert_holds(&store, &agent).await;
    save(&store, &mut agent, 100, 3_000).await.unwrap();
    assert_holds(&store, &agent).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "played by a child process"]
async fn part_writes_until_it_fails() {
    let (store, mut agent) = begin(&told_path()).await;
    let mut failures = 0;
    // The log is moved into the file and begun anew, so that it goes on for a while.
    for round in 0..2_000 {
        match save(&store, &mut agent, 10, 3_000).await {
            Ok(()) => {}
            Err(Error::Full | Error::Driver(_)) => failures += 1,
            Err(error) => panic!("{error}"),
        }
        if failures > 3 {
            break;
        }
        assert!(round < 1_999, "the limit was never reached");
    }
    let found = look(&store, &agent).await.unwrap();
    assert_eq!(found.agent, agent);
    assert_eq!(store.check().await.unwrap(), []);
    println!("\nacknowledged {}", count(&agent));
}
