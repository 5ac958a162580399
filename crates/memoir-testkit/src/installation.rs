//! An installation for tests: on any store, in memory, or in a folder in which it can be opened again.

#![expect(
    clippy::unwrap_used,
    reason = "a test that does not get what it needs ends here"
)]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use memoir_app::{Clock, InstallationSettings, Memoir, Models, Random, SessionLimits};
use memoir_domain::Timestamp;
use memoir_store::Store;
use memoir_store_sqlite::SqliteStore;
use memoir_vault::{KeyStore, MasterKey, MasterSource, unlock};
use tempfile::TempDir;

use crate::{SetModel, TestClock};

/// Six memories, none of them twice.
pub const SIX_MEMORIES: [&str; 6] = [
    "The old press came from Lisbon and needs oil every month.",
    "Lena brings the paper on Fridays, and stays for coffee.",
    "Marta prefers linen thread for the spine of every book.",
    "The workshop opens at nine, and Joaquín is always there first.",
    "I promised Marta to keep the ledger of orders in order.",
    "The cat sleeps on the paper that was delivered in the morning.",
];

/// An installation that is open. Clones share all of it.
#[derive(Clone)]
pub struct TestInstallation {
    /// What the test is about.
    pub memoir: Memoir,
    /// Where its rows lie.
    pub store: Arc<dyn Store>,
    /// The keys of its agents.
    pub keys: Arc<KeyStore>,
    /// The time, to it.
    pub clock: Arc<TestClock>,
    /// The model of every agent, unless [`TestInstallation::with_models`] gave others.
    pub model: SetModel,
    models: Arc<dyn Models>,
    settings: InstallationSettings,
    /// `None` for the machine's.
    random: Option<Arc<dyn Random>>,
}

/// The settings of an installation that retries immediately.
pub fn settings() -> InstallationSettings {
    InstallationSettings {
        limits: SessionLimits {
            first_wait: Duration::from_millis(1),
            ..SessionLimits::default()
        },
        ..InstallationSettings::default()
    }
}

/// Keys that lie in memory alone, under a master key of their own.
pub fn keys_in_memory() -> Arc<KeyStore> {
    let master = MasterKey::generate().unwrap();
    Arc::new(KeyStore::in_memory(&master).unwrap())
}

impl TestInstallation {
    /// On that store, with keys in memory, a stopped clock, a model that refuses every request, the default settings,
    /// and the machine's random numbers.
    pub fn on(store: Arc<dyn Store>) -> Self {
        Self::under(store, keys_in_memory())
    }

    /// As [`TestInstallation::on`], on an embedded store in memory.
    pub fn in_memory() -> Self {
        Self::on(Arc::new(SqliteStore::in_memory().unwrap()))
    }

    /// As [`TestInstallation::on`], with keys that there are.
    pub fn under(store: Arc<dyn Store>, keys: Arc<KeyStore>) -> Self {
        let (model, settings) = (SetModel::default(), InstallationSettings::default());
        let models: Arc<dyn Models> = Arc::new(model.clone());
        let clock = Arc::new(TestClock::default());
        let memoir = Memoir::new(
            store.clone(),
            keys.clone(),
            models.clone(),
            settings.clone(),
        );
        Self {
            memoir: memoir.with_clock(clock.clone()),
            store,
            keys,
            clock,
            model,
            models,
            settings,
            random: None,
        }
    }

    /// With another clock, which others may share.
    #[must_use]
    pub fn with_clock(self, clock: impl Into<Arc<TestClock>>) -> Self {
        let clock = clock.into();
        // Open parts keep the old clock, so the installation is opened again.
        Self { clock, ..self }.another_process()
    }

    /// With a model that others may share.
    #[must_use]
    pub fn with_model(self, model: SetModel) -> Self {
        let models = Arc::new(model.clone());
        Self { model, ..self }.with_models(models)
    }

    /// With other models than [`TestInstallation::model`].
    #[must_use]
    pub fn with_models(self, models: Arc<dyn Models>) -> Self {
        Self { models, ..self }.another_process()
    }

    /// With other settings.
    #[must_use]
    pub fn with_settings(self, settings: InstallationSettings) -> Self {
        Self { settings, ..self }.another_process()
    }

    /// With another source of random numbers.
    #[must_use]
    pub fn with_random(self, random: Arc<dyn Random>) -> Self {
        let random = Some(random);
        Self { random, ..self }.another_process()
    }

    /// The same installation to a process that knows nothing yet of what this one remembers.
    #[must_use]
    pub fn another_process(&self) -> Self {
        let (store, keys) = (self.store.clone(), self.keys.clone());
        let memoir = Memoir::new(store, keys, self.models.clone(), self.settings.clone());
        let mut memoir = memoir.with_clock(self.clock.clone());
        if let Some(random) = &self.random {
            memoir = memoir.with_random(random.clone());
        }
        Self {
            memoir,
            ..self.clone()
        }
    }
}

/// An installation in a temporary folder: each time it is opened, the embedded store is opened anew, and is closed
/// after its last use.
pub struct InstallationFolder {
    folder: TempDir,
    /// The keys, which stay open.
    pub keys: Arc<KeyStore>,
    /// The time, for all that open it.
    pub clock: Arc<TestClock>,
    /// The model of every agent.
    pub model: SetModel,
    settings: InstallationSettings,
}

impl Default for InstallationFolder {
    fn default() -> Self {
        Self::new()
    }
}

impl InstallationFolder {
    /// With no more than keys in it.
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        Self {
            keys: keys_in(folder.path()),
            folder,
            clock: Arc::default(),
            model: SetModel::default(),
            settings: InstallationSettings::default(),
        }
    }

    /// With another clock.
    #[must_use]
    pub fn with_clock(self, clock: TestClock) -> Self {
        let clock = Arc::new(clock);
        Self { clock, ..self }
    }

    /// With other settings.
    #[must_use]
    pub fn with_settings(self, settings: InstallationSettings) -> Self {
        Self { settings, ..self }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The file of its database.
    pub fn database(&self) -> PathBuf {
        self.path().join("memoir.db")
    }

    /// The file of its keys.
    pub fn key_file(&self) -> PathBuf {
        key_file(self.path())
    }

    /// The file of its master key.
    pub fn master_key_file(&self) -> PathBuf {
        master_key_file(self.path())
    }

    /// Now, by its clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Lets a minute pass.
    pub fn pass_a_minute(&self) {
        self.clock.advance(Duration::from_secs(60));
    }

    /// Opens it.
    pub fn open(&self) -> TestInstallation {
        self.open_at(&self.database())
    }

    /// Opens it with another database, such as a copy.
    pub fn open_at(&self, database: &Path) -> TestInstallation {
        self.open_store(Arc::new(SqliteStore::open(database).unwrap()))
    }

    /// Opens it with a store that the test holds too.
    pub fn open_store(&self, store: Arc<dyn Store>) -> TestInstallation {
        self.open_under(store, self.keys.clone())
    }

    /// Opens it as another process does, keys and all.
    pub fn open_elsewhere(&self) -> TestInstallation {
        let store = Arc::new(SqliteStore::open(&self.database()).unwrap());
        // The keys are read from their files again, as another process would read them.
        self.open_under(store, keys_in(self.path()))
    }

    fn open_under(&self, store: Arc<dyn Store>, keys: Arc<KeyStore>) -> TestInstallation {
        TestInstallation::under(store, keys)
            .with_clock(self.clock.clone())
            .with_model(self.model.clone())
            .with_settings(self.settings.clone())
    }

    /// Copies the database, which must not be open.
    pub fn copy_to(&self, to: &Path) {
        // SQLite removes the write-ahead log when the last connection closes.
        let log = self.database().with_extension("db-wal");
        assert!(
            !log.exists(),
            "the database is to be closed before it is copied"
        );
        fs::copy(self.database(), to).unwrap();
    }
}

fn key_file(folder: &Path) -> PathBuf {
    folder.join("memoir.keys")
}

fn master_key_file(folder: &Path) -> PathBuf {
    folder.join("memoir.master-key")
}

/// The keys of that folder, which are made where there are none.
fn keys_in(folder: &Path) -> Arc<KeyStore> {
    let master = MasterSource::File(master_key_file(folder));
    Arc::new(unlock(&master, &key_file(folder), false).unwrap())
}
