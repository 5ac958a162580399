//! What the tests of the file and of crashes share: one agent, and a way of starting this very test
//! again as another process.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use memoir_domain::{
    AccountId, AgentId, AgentScope, TokenId, UserId, audit::Action, memory::Number,
};
pub(crate) use memoir_store::conformance::fixtures::at;
use memoir_store::{
    AccountRow, AgentQuery, AgentRow, AuditRow, Commit, Document, Error, Fleet, MemoryRow,
    ReplyRow, Selection, Snapshot, Store, StoredText, TokenRow, UserRow, conformance::fixtures,
};
use memoir_store_sqlite::SqliteStore;
use tempfile::TempDir;

pub(crate) fn account() -> AccountRow {
    AccountRow {
        id: AccountId::from_bytes([0xA1; 16]),
        ..fixtures::account(1, "default")
    }
}

pub(crate) fn agent(number: u8) -> AgentRow {
    AgentRow {
        scope: AgentScope {
            account: account().id,
            agent: AgentId::from_bytes([number; 16]),
        },
        document: document(0),
        ..fixtures::agent(1, 1, &format!("agent {number}"))
    }
}

/// How many memories the agent has: each of them has one record, and no other thing has any.
pub(crate) fn count(agent: &AgentRow) -> u64 {
    agent.columns.next_seq - 1
}

/// The agent as it is once it was written.
pub(crate) fn written(agent: &AgentRow) -> AgentRow {
    let mut agent = agent.clone();
    agent.document.version += 1;
    agent
}

/// A token of the account's administrator.
pub(crate) fn token(number: u8) -> TokenRow {
    TokenRow {
        id: TokenId::from_bytes([number; 16]),
        account: account().id,
        document: document(1),
        ..fixtures::token(1, number.into())
    }
}

/// A document; no store reads it.
pub(crate) fn document(version: u64) -> Document {
    Document {
        version,
        open: format!("{{\"number\":{version}}}"),
        sealed: StoredText(vec![1]),
    }
}

pub(crate) fn user() -> UserRow {
    UserRow {
        id: UserId::from_bytes([3; 16]),
        account: account().id,
        document: document(1),
        ..fixtures::user(1, 1, "ada")
    }
}

/// A request whose outcome is unknown.
pub(crate) fn reply() -> ReplyRow {
    ReplyRow {
        account: account().id,
        key_digest: [4; 32],
        ..fixtures::reply(1, 4)
    }
}

/// What the tests take for the hash of the record at that place.
pub(crate) fn hash(seq: u64) -> [u8; 32] {
    let mut hash = [0xF0; 32];
    hash[..8].copy_from_slice(&seq.to_be_bytes());
    hash
}

/// Adds `count` memories of `bytes` bytes each, with a record for each.
pub(crate) fn saving(agent: &AgentRow, count: u64, bytes: usize) -> Commit {
    let version = Some(agent.document.version).filter(|version| *version > 0);
    let mut commit = Commit::new(version, agent.clone());
    commit.prompts = version.is_none().then(|| StoredText(vec![1]));
    for _ in 0..count {
        let number = Number(commit.agent.columns.next_seq);
        commit.memories.push(MemoryRow {
            version: agent.document.version + 1,
            body: StoredText(vec![7; bytes]),
            ..fixtures::memory(number.0)
        });
        commit.records.push(AuditRow {
            seq: number.0,
            memory: Some(number),
            body: StoredText(vec![8; bytes]),
            hash: hash(number.0),
            ..fixtures::record(Action::MemorySaved)
        });
        commit.agent.columns.head = hash(commit.agent.columns.next_seq);
        commit.agent.columns.next_seq += 1;
    }
    commit
}

/// Commits, and keeps the agent up with it.
pub(crate) async fn save(
    store: &SqliteStore,
    agent: &mut AgentRow,
    count: u64,
    bytes: usize,
) -> Result<(), Error> {
    let commit = saving(agent, count, bytes);
    let after = written(&commit.agent);
    store.commit(commit).await?;
    *agent = after;
    Ok(())
}

/// As [`begin`], in a folder of its own: the folder, the file, the store and the agent.
pub(crate) async fn begin_anew() -> (TempDir, PathBuf, SqliteStore, AgentRow) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memoir.db");
    let (store, agent) = begin(&path).await;
    (folder, path, store, agent)
}

/// A new store in that file with the account and an agent of one memory.
pub(crate) async fn begin(path: &Path) -> (SqliteStore, AgentRow) {
    let store = SqliteStore::open(path).unwrap();
    store.create_account(&account()).await.unwrap();
    let mut agent = agent(1);
    save(&store, &mut agent, 1, 100).await.unwrap();
    (store, agent)
}

/// Everything that is kept of the agent.
pub(crate) async fn look(store: &SqliteStore, agent: &AgentRow) -> Option<Snapshot> {
    let wanted = AgentQuery::of_memories(Selection::All).with_prompts();
    store.snapshot(agent.scope, &wanted).await.unwrap()
}

/// The store holds the agent unchanged, and is consistent.
pub(crate) async fn assert_holds(store: &SqliteStore, agent: &AgentRow) {
    let found = look(store, agent).await.unwrap();
    assert_eq!(&found.agent, agent);
    assert_eq!(found.memories.len() as u64, count(agent));
    assert_eq!(store.check().await.unwrap(), []);
}

/// This test binary once more, to play the part of that name with that database.
pub(crate) fn child(part: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let alone = ["--ignored", "--nocapture", "--test-threads=1"];
    command
        .args(["--exact", part])
        .args(alone)
        .env("MEMOIR_TEST_DATABASE", path)
        .stderr(Stdio::null());
    command
}

/// The database that the parent process passed to a child.
pub(crate) fn told_path() -> PathBuf {
    std::env::var_os("MEMOIR_TEST_DATABASE")
        .expect("this part is played by a child process")
        .into()
}

/// Whether the file of the database, or its write-ahead log, has these bytes anywhere.
pub(crate) fn is_on_disk(path: &Path, bytes: &[u8]) -> bool {
    on_disk(path)
        .iter()
        .any(|content| content.windows(bytes.len()).any(|window| window == bytes))
}

/// What is in the file of the database and in its write-ahead log.
pub(crate) fn on_disk(path: &Path) -> [Vec<u8>; 2] {
    ["", "-wal"].map(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        std::fs::read(name).unwrap_or_default()
    })
}
