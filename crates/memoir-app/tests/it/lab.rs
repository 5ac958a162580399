//! An installation on files, which can be closed, copied and tampered with: database and key store in a
//! folder, a clock that stands until it is moved, and real random numbers.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use memoir_app::{Memoir, MemoryInput, OwnAgent};
use memoir_domain::{Timestamp, agent::Field, memory::Kind};
use memoir_store::Store;
use memoir_store_sqlite::SqliteStore;
use memoir_testkit::{SetModel, TestClock};
use memoir_vault::{KeyStore, MasterKey};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::world::{World, own, person, settings};

pub struct Lab {
    dir: TempDir,
    pub clock: Arc<TestClock>,
    pub keys: Arc<KeyStore>,
    model: SetModel,
}

pub fn database_in(dir: &Path) -> PathBuf {
    dir.join("memoir.db")
}

pub fn keys_in(dir: &Path) -> PathBuf {
    dir.join("memoir.keys")
}

/// With the machine's random numbers, on the database at `path`.
pub fn memoir_on(
    store: Arc<dyn Store>,
    keys: Arc<KeyStore>,
    clock: Arc<TestClock>,
    model: SetModel,
) -> Memoir {
    Memoir::new(store, keys, Arc::new(model), settings()).with_clock(clock)
}

impl Lab {
    pub fn new() -> Self {
        let master = MasterKey::generate().unwrap();
        let dir = TempDir::new().unwrap();
        let keys = Arc::new(KeyStore::open(&keys_in(dir.path()), &master).unwrap());
        Self {
            dir,
            clock: Arc::new(TestClock::standing_at("2026-03-04T12:00:00Z")),
            keys,
            model: SetModel::default(),
        }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn database(&self) -> PathBuf {
        database_in(self.path())
    }

    pub fn tick(&self) {
        self.clock.advance(Duration::from_secs(60));
    }

    pub fn now(&self) -> Timestamp {
        memoir_app::Clock::now(self.clock.as_ref())
    }

    /// Memoir on the database at `path`, with this installation's keys.
    pub fn memoir_at(&self, path: &Path) -> Memoir {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(path).unwrap());
        memoir_on(
            store,
            self.keys.clone(),
            self.clock.clone(),
            self.model.clone(),
        )
    }

    /// Opens the installation, and makes the agent where there is none.
    pub async fn world(&self) -> World {
        self.world_of("wren").await
    }

    /// As [`Lab::world`], for another agent.
    pub async fn world_of(&self, name: &str) -> World {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&self.database()).unwrap());
        let memoir = memoir_on(
            store.clone(),
            self.keys.clone(),
            self.clock.clone(),
            self.model.clone(),
        );
        let agent = agent_of(&memoir, name).await;
        World {
            memoir,
            store,
            keys: self.keys.clone(),
            clock: self.clock.clone(),
            model: self.model.clone(),
            agent,
        }
    }

    /// A copy of the closed database.
    pub fn copy_to(&self, to: &Path) {
        let log = self.path().join("memoir.db-wal");
        assert!(
            !log.exists(),
            "the database is to be closed before it is copied"
        );
        fs::copy(self.database(), to).unwrap();
    }
}

/// The agent of that name in the account `default`, which is made where there is none.
pub async fn agent_of(memoir: &Memoir, name: &str) -> OwnAgent {
    let account = memoir.account("default").await.unwrap();
    if account.agent(name).await.is_err() {
        let model = [
            (Field::Model, Some("scripted:model")),
            (Field::LossGuard, Some("off")),
        ];
        account.create_agent(name, &model, &person()).await.unwrap();
    }
    own(&account.agent(name).await.unwrap())
}

/// A memory with everything that one can be given.
pub fn input(content: &str) -> MemoryInput {
    MemoryInput {
        content: content.into(),
        ..MemoryInput::default()
    }
}

pub fn journal(content: &str) -> MemoryInput {
    MemoryInput {
        kind: Some(Kind::Journal),
        ..input(content)
    }
}

/// Whoever types commands on a machine of their own.
pub static OWNER: std::sync::LazyLock<memoir_domain::audit::Actor> =
    std::sync::LazyLock::new(memoir_domain::audit::Actor::owner);

/// Opens the database as somebody would who is not Memoir: nothing is checked, and no trigger fires.
pub fn intrude(path: &Path, tamper: impl FnOnce(&Connection)) {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;")
        .unwrap();
    let triggers: Vec<(String, String)> = connection
        .prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    for (name, _) in &triggers {
        connection
            .execute_batch(&format!("DROP TRIGGER {name}"))
            .unwrap();
    }
    tamper(&connection);
    for (_, sql) in &triggers {
        connection.execute_batch(sql).unwrap();
    }
}
