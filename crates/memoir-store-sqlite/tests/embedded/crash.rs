//! Killed at any instant: the old state or the new, and nothing acknowledged is lost (SPEC 6.2).

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::Stdio,
    time::Duration,
};

use memoir_domain::session::Driver;
use memoir_store::{
    Access, AccessRow, AgentRow, BodyRow, Commit, Document, Fleet, Portable, Reach, RecordFilter,
    SessionRow, Snapshot, Store, StoredText, TokenRow, UserRow, conformance::fixtures,
};
use memoir_store_sqlite::SqliteStore;

use crate::common::*;

/// The child's part, from a file that does not exist: an account, an agent that drives its own sessions, edits that
/// also shred texts, one of them large, an entry over all logs, and authentication. Reports each edit that was
/// acknowledged.
async fn play(path: &Path) {
    let store = SqliteStore::open(path).unwrap();
    say("opened");
    if store.accounts().await.unwrap().is_empty() {
        store.create_account(&account()).await.unwrap();
    }
    let mut row = match look(&store, &agent(1)).await {
        Some(found) => found.agent,
        None => agent(1),
    };
    while count(&row) < 4 {
        let commit = edit(&row, 1);
        let after = written(&commit.agent);
        store.commit(commit).await.unwrap();
        say(&format!("acknowledged {}", count(&after)));
        row = after;
    }
    if count(&row) == 4 {
        let commit = edit(&row, 400);
        store.commit(commit).await.unwrap();
    }
    say("acknowledged 404");
    let length = store.append_leaves(at(9), Reach::All).await;
    assert_eq!(length.unwrap(), 1);
    say("appended");
    play_access(&store).await;
}

/// A token, its use, a user, and a request that is answered and forgotten.
async fn play_access(store: &SqliteStore) {
    // Written once: over a row of the same version nothing is written.
    let put = store.token(&token(2).columns.digest).await.unwrap();
    if put.is_none() {
        store.put_token(&token(2)).await.unwrap();
    }
    say("put");
    store.note_uses(&[(token(2).id, at(5))]).await.unwrap();
    say("used");
    if !store.has_users().await.unwrap() {
        store.create_user(&user(), false, None).await.unwrap();
    }
    say("named");
    let found = store.user(account().id, user().id).await.unwrap();
    if found == Some(user()) {
        assert!(store.put_user(&renewed(), None).await.unwrap());
    }
    say("renewed");
    store.begin_reply(&reply()).await.unwrap();
    say("begun");
    let key = reply().key_digest;
    let ended = store.end_reply(account().id, &key, None, None, answer());
    ended.await.unwrap();
    say("answered");
    store.forget_replies(at(9)).await.unwrap();
    say("forgotten");
}

/// The user with another password.
fn renewed() -> UserRow {
    UserRow {
        document: document(2),
        ..user()
    }
}

fn answer() -> Document {
    document(1)
}

/// Of authentication, everything that was acknowledged to the child is stored, and nothing by half.
async fn assert_access_survived(path: &Path, said: &str) {
    let store = SqliteStore::open(path).unwrap();
    let has_said = |word: &str| said.lines().any(|line| line == word);
    match store.token(&token(2).columns.digest).await.unwrap() {
        Some(found) => {
            let used = TokenRow {
                last_used_at: Some(at(5)),
                ..token(2)
            };
            assert!(found == used || (found == token(2) && !has_said("used")));
        }
        None => assert!(!has_said("put")),
    }
    match store.user_named(account().id, "ada").await.unwrap() {
        Some(found) => {
            assert!(found == renewed() || (found == user() && !has_said("renewed")));
        }
        None => assert!(!has_said("named")),
    }
    if store.accounts().await.unwrap().is_empty() {
        return;
    }
    // Asking for a request enters it.
    let Some(found) = store.begin_reply(&reply()).await.unwrap() else {
        assert!(!has_said("begun") || has_said("answered"));
        return store.forget_replies(at(9)).await.unwrap();
    };
    assert!(!has_said("forgotten"));
    match found.answer {
        Some(found) => assert!(found == answer() && has_said("begun")),
        None => assert!(!has_said("answered")),
    }
}

/// The words of the first record at that version.
fn words(version: u64) -> StoredText {
    StoredText(format!("<words of version {version}>").into_bytes())
}

/// A document with the words of that version.
fn replacing(version: u64) -> Document {
    Document {
        sealed: words(version),
        ..document(version)
    }
}

/// Writes to every table: memories and what goes with them, a session, other prompts, and words in place
/// of those of the first record. The agent's version is then that of these words.
fn edit(row: &AgentRow, memories: u64) -> Commit {
    let mut commit = saving(row, memories, 700);
    let version = row.document.version + 1;
    commit.prompts = Some(words(version));
    if version == 1 {
        commit.records[0].body = words(1);
    } else {
        commit.bodies = vec![BodyRow {
            seq: 1,
            body_version: version,
            body: words(version),
        }];
    }
    commit.tokens = vec![TokenRow {
        agent: Some(row.scope.agent),
        last_used_at: Some(at(version as i64)),
        document: document(version),
        ..token(1)
    }];
    commit.access = vec![AccessRow {
        document: replacing(version),
        ..fixtures::request(8, row.scope.agent)
    }];
    let mut session = SessionRow {
        lease: None,
        document: document(count(&commit.agent)),
        ..fixtures::session(9, row.scope.agent)
    };
    session.columns.driver = Driver::Agent;
    commit.sessions = vec![session];
    commit
}

fn say(word: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{word}").unwrap();
    out.flush().unwrap();
}

/// The file has one of the states that the child went through, and none before the last acknowledged one.
async fn assert_survived(path: &Path, acknowledged: u64, states: &[u64]) {
    let store = SqliteStore::open(path).unwrap();
    assert_eq!(store.check().await.unwrap(), []);
    let memories = match look(&store, &agent(1)).await {
        None => 0,
        Some(found) => {
            let memories = found.memories.len() as u64;
            assert_eq!(count(&found.agent), memories);
            let sessions = store.session_page(found.agent.scope, None, 9).await;
            assert_eq!(sessions.unwrap()[0].document, document(memories));
            assert_replaced(path, &store, &found).await;
            memories
        }
    };
    let last = states.iter().position(|state| *state == acknowledged);
    let next = states.get(last.map_or(0, |last| last + 1));
    assert!(
        memories == acknowledged || next == Some(&memories),
        "{memories} after {acknowledged}"
    );
}

/// Prompts and the words of the first record are those of the agent's version, and the file and its log
/// have none of those that were replaced.
async fn assert_replaced(path: &Path, store: &SqliteStore, found: &Snapshot) {
    let version = found.agent.document.version;
    let filter = RecordFilter::default();
    let records = store.records(found.agent.scope, &filter).await.unwrap();
    assert_eq!(records[0].body_version, version);
    assert_eq!(records[0].body, words(version));
    assert_eq!(found.prompts, Some(words(version)));
    let requests = store.open_requests(found.agent.scope).await.unwrap();
    assert_eq!(requests[0].document, replacing(version));
    let token = store.token(&token(1).columns.digest).await.unwrap();
    assert_eq!(token.unwrap().last_used_at, Some(at(version as i64)));
    for old in 1..version {
        assert!(!is_on_disk(path, &words(old).0), "{old} of {version}");
    }
    let leaves = store.leaves(0).await.unwrap();
    assert!(leaves.len() <= 1);
    for leaf in leaves {
        assert_eq!((leaf.seq, leaf.head), (404, found.agent.columns.head));
    }
}

fn last_acknowledged(said: &str) -> u64 {
    said.lines()
        .filter_map(|line| line.strip_prefix("acknowledged ")?.parse().ok())
        .next_back()
        .unwrap_or(0)
}

#[tokio::test]
async fn spec_6_2_killed_at_every_point_it_is_the_old_state_or_the_new() {
    let states = [0, 1, 2, 3, 4, 404];
    let mut kills = 0;
    loop {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memoir.db");
        let output = child("crash::part_plays", &path)
            .env("MEMOIR_FAULT", format!("any:{}", kills + 1))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert_survived(&path, last_acknowledged(&said), &states).await;
        assert_access_survived(&path, &said).await;
        if output.status.success() {
            assert_eq!(last_acknowledged(&said), 404);
            assert!(said.contains("forgotten"));
            break;
        }
        kills += 1;
        // Started again it goes on from there.
        let output = child("crash::part_plays", &path).output().unwrap();
        assert!(output.status.success(), "after kill {kills}");
        assert_survived(&path, 404, &states).await;
    }
    // 5 while the file is made, 3 for the account, 14 for each of five edits, 3 more for each that took
    // words out of the log, 4 for the entry over all logs, and 4 for each of seven changes that have to
    // do with coming in.
    assert_eq!(kills, 5 + 3 + 5 * 14 + 4 * 3 + 4 + 7 * 4);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "played by a child process"]
async fn part_plays() {
    play(&told_path()).await;
}

/// Not at a point of ours but at any instruction.
#[tokio::test]
async fn spec_6_2_killed_at_random_nothing_acknowledged_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memoir.db");
    drop(begin(&path).await);
    for round in 0..12_u64 {
        let mut child = child("crash::part_saves_for_ever", &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Once it is at work, a little later each time.
        let begun = lines.find(|line| {
            line.as_ref()
                .is_ok_and(|line| line.contains("acknowledged"))
        });
        assert!(begun.is_some(), "the child never began");
        tokio::time::sleep(Duration::from_micros(3_700 * round)).await;
        child.kill().unwrap();
        child.wait().unwrap();
        let rest: Vec<String> = lines.map_while(Result::ok).collect();
        let acknowledged = last_acknowledged(&rest.join("\n"));
        let store = SqliteStore::open(&path).unwrap();
        let row = look(&store, &agent(1)).await.unwrap().agent;
        let kept = count(&row);
        assert!(
            kept >= acknowledged && kept <= acknowledged.max(1) + 10_000,
            "{kept} of {acknowledged}"
        );
        assert_holds(&store, &row).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "played by a child process"]
async fn part_saves_for_ever() {
    let store = SqliteStore::open(&told_path()).unwrap();
    let mut row = look(&store, &agent(1)).await.unwrap().agent;
    loop {
        save(&store, &mut row, 3, 500).await.unwrap();
        say(&format!("acknowledged {}", count(&row)));
    }
}
