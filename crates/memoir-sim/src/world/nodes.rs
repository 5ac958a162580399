//! The processes of a simulated installation: several at once over the same rows, each with caches of its own.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use memoir_app::{Error, Memoir, OwnAgent};
use memoir_domain::AgentId;
use memoir_store::Store;
use memoir_store_sqlite::SqliteStore;
use memoir_testkit::{Dice, TestInstallation, WatchedStore, keys_in_memory, settings};
use memoir_vault::{KeyStore, MasterKey, MasterSource};
use tempfile::TempDir;

use super::{World, keys::KeyPlace};
use crate::{Falsification, StoreKind, Violation, process::Process, resident::own, view::ensure};

/// A process, and its use cases.
pub(super) struct Node {
    pub(super) process: Arc<Process>,
    keys: Arc<KeyStore>,
    pub(super) memoir: Memoir,
}

/// Where rows and keys lie.
pub(super) enum Storage {
    /// In stores that all processes share.
    Shared(Arc<dyn Store>, Arc<KeyStore>),
    /// In places that each process opens for itself.
    Apart {
        /// It has the master key, the keys that are in a file, and the rows that are in no other store.
        folder: TempDir,
        /// The rows in PostgreSQL, whose connections all processes share.
        store: Option<Arc<dyn Store>>,
        keys: KeyPlace,
        /// How often the keys have moved.
        moves: u64,
    },
}

#[expect(
    clippy::unwrap_used,
    reason = "an installation that cannot be opened ends the run"
)]
impl Storage {
    pub(super) async fn new(kind: StoreKind) -> Self {
        let store = match kind {
            StoreKind::Memory => {
                let store = Arc::new(SqliteStore::in_memory().unwrap());
                return Self::Shared(store, keys_in_memory());
            }
            StoreKind::Sqlite => None,
            #[cfg(unix)]
            StoreKind::Postgres => Some(memoir_testkit::postgres_store().await),
            #[cfg(not(unix))]
            StoreKind::Postgres => panic!("PostgreSQL is started on Unix only"),
        };
        let folder = tempfile::tempdir().unwrap();
        let keys = KeyPlace::File(key_store(folder.path(), 0));
        Self::Apart {
            folder,
            store,
            keys,
            moves: 0,
        }
    }

    /// Rows and keys, as one more process opens them.
    pub(super) fn open(&self) -> (Arc<dyn Store>, Arc<KeyStore>) {
        match self {
            Self::Shared(store, keys) => (store.clone(), keys.clone()),
            Self::Apart {
                folder,
                store,
                keys,
                ..
            } => {
                let folder = folder.path();
                let master = key_file(folder);
                // Rows were sealed under a master key that is there: new keys could open nothing in them.
                let must_exist = master.exists();
                let keys = keys.unlock(&MasterSource::File(master), must_exist);
                let store: Arc<dyn Store> = match store {
                    Some(store) => store.clone(),
                    None => Arc::new(SqliteStore::open(&folder.join("memoir.db")).unwrap()),
                };
                (store, Arc::new(keys.unwrap()))
            }
        }
    }
}

pub(super) fn key_file(folder: &Path) -> PathBuf {
    folder.join("master.key")
}

/// The file of the keys once they have moved so many times, where they are in one.
pub(super) fn key_store(folder: &Path, moves: u64) -> PathBuf {
    folder.join(format!("{moves}.keys"))
}

impl World {
    /// One more process, whose store may break a rule.
    pub(super) fn process(&self, falsification: Option<Falsification>) -> Node {
        let process = Arc::new(Process::new(falsification));
        let (store, keys) = self.storage.open();
        let store = WatchedStore::new(store, process.clone());
        let memoir = TestInstallation::under(Arc::new(store), keys.clone())
            .with_clock(self.clock.clone())
            .with_model(self.model.clone())
            .with_settings(settings())
            .with_random(self.random.clone())
            .memoir;
        Node {
            process,
            keys,
            memoir,
        }
    }

    /// So many processes in place of those that there are.
    pub(super) async fn start(&mut self, count: u64) -> Result<(), Error> {
        let nodes = (0..count).map(|_| self.process(self.options.falsification));
        self.nodes = nodes.collect();
        self.connect().await
    }

    /// A new process in place of the one that serves now.
    pub(super) async fn restart(&mut self) -> Result<(), Error> {
        self.report.kills += 1;
        self.nodes[self.here] = self.process(self.options.falsification);
        self.connect().await
    }

    /// Another master key, made by the process that serves now. The others go on with it, and the one before opens
    /// nothing any more (SPEC 5.3).
    pub(super) fn rotate_keys(&mut self) -> Result<(), Violation> {
        let broken = |error: memoir_vault::Error| Violation::new("5.3", error.to_string());
        let keys = &self.node().keys;
        let before = keys.key_id();
        let (after, wrapped) = match &self.storage {
            Storage::Shared(..) => {
                let new = MasterKey::generate().map_err(broken)?;
                (new.key_id(), keys.rotate(&new).map_err(broken)?)
            }
            Storage::Apart {
                folder,
                keys: place,
                ..
            } => {
                let master = key_file(folder.path());
                let old = MasterKey::load(&master).map_err(broken)?;
                let rotated = keys.rotate_key_file(&master).map_err(broken)?;
                let opened = old.map(|old| place.unlock(&MasterSource::Given(old), true));
                let is_refused = matches!(opened, Some(Err(_)));
                ensure!(is_refused, "5.3", "the master key before opens the keys");
                rotated
            }
        };
        ensure!(
            wrapped > 0 && after != before && keys.key_id() == after,
            "5.3",
            "{wrapped} keys were wrapped anew"
        );
        *self.report.acts.entry("rotate keys").or_default() += 1;
        Ok(())
    }

    /// The process that serves now.
    pub(super) fn node(&self) -> &Node {
        &self.nodes[self.here]
    }

    pub(super) fn any_node(&self, dice: &mut Dice) -> usize {
        dice.roll(self.nodes.len() as u64) as usize
    }

    /// That process serves from now on. It knows nothing of what the others did but what the store has.
    pub(super) fn go_to(&mut self, node: usize) {
        self.here = node;
        for resident in &mut self.residents {
            let by_node = &resident.by_node;
            resident.agent = by_node[node].clone();
            resident.elsewhere = by_node[(node + 1) % by_node.len()].clone();
        }
    }

    /// Reaches every agent anew by every process.
    pub(super) async fn connect(&mut self) -> Result<(), Error> {
        for who in 0..self.residents.len() {
            let resident = &self.residents[who];
            let id = resident.agent.scope().agent;
            self.residents[who].by_node = self.reach(resident.account, id).await?;
        }
        self.go_to(self.here);
        Ok(())
    }

    /// An agent by every process, whether or not it is erased.
    pub(super) async fn reach(&self, account: &str, id: AgentId) -> Result<Vec<OwnAgent>, Error> {
        let mut handles = Vec::new();
        for node in &self.nodes {
            let account = node.memoir.account(account).await?;
            handles.push(own(&account.agent(&id.to_string()).await?)?);
        }
        Ok(handles)
    }
}
