//! An installation of Memoir: what all its agents share.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use memoir_domain::{AgentScope, Timestamp};
use memoir_model::{ConnectError, Embedder, Model, ModelName, Providers};
use memoir_store::Store;
use memoir_vault::AgentKey;

use super::{
    CommitListener, ModuleStates, Result,
    clock::{Clock, Ids, Random, SharedClock},
    codec::Sealer,
    keys::InstallationKeys,
    load_room::LoadRoom,
    opened::OpenedMemories,
    quotas::Usages,
    settings::InstallationSettings,
};

/// How long texts stay in a cache of this process without being used.
const UNUSED: Duration = Duration::from_mins(10);

/// Models by name.
pub trait Models: Send + Sync {
    /// The model of that name.
    ///
    /// # Errors
    /// No such provider, or its key or address cannot be used.
    fn connect(&self, name: &ModelName) -> Result<Arc<dyn Model>, ConnectError>;

    /// The embedding model of that name.
    ///
    /// # Errors
    /// As [`Models::connect`]; the provider makes none.
    fn embedder(&self, name: &ModelName) -> Result<Arc<dyn Embedder>, ConnectError> {
        let model = name.clone();
        Err(ConnectError::NoEmbeddings { model })
    }

    /// How many sessions with models of that provider a process may run at a time, at least 1; `None` for any number.
    fn concurrency(&self, _provider: &str) -> Option<usize> {
        None
    }

    /// The names of the available providers, as choices for users.
    fn providers(&self) -> Vec<String> {
        Vec::new()
    }
}

impl Models for Providers {
    fn connect(&self, name: &ModelName) -> Result<Arc<dyn Model>, ConnectError> {
        Providers::connect(self, name)
    }

    fn embedder(&self, name: &ModelName) -> Result<Arc<dyn Embedder>, ConnectError> {
        self.connect_embedder(name)
    }

    fn concurrency(&self, provider: &str) -> Option<usize> {
        self.get(provider)?.concurrency
    }

    fn providers(&self) -> Vec<String> {
        self.iter().map(|provider| provider.name.clone()).collect()
    }
}

/// An installation of Memoir: its store, and what it needs from the outside world.
#[derive(Clone)]
pub struct Memoir {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) keys: InstallationKeys,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) clock: Arc<SharedClock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) settings: Arc<InstallationSettings>,
    pub(crate) opened: Arc<OpenedMemories>,
    pub(crate) room: Arc<LoadRoom>,
    pub(crate) usages: Arc<Usages>,
    pub(crate) states: ModuleStates,
    /// In the order in which they follow a commit.
    pub(crate) listeners: Arc<[Arc<dyn CommitListener>]>,
}

impl Memoir {
    /// Wipes what this process has cached of an agent, with its texts (SPEC 5.4).
    pub(crate) fn forget_agent(&self, scope: AgentScope) {
        self.opened.forget(scope);
        for listener in self.listeners.iter() {
            listener.forget_agent(scope);
        }
    }

    /// Wipes cached texts that this process has not used for ten minutes, until dropped: of a session that another
    /// process ended, or an agent that another one erased, this one has no notice.
    pub(crate) async fn forget_unused_texts(&self) {
        loop {
            tokio::time::sleep(UNUSED / 10).await;
            let Some(since) = Instant::now().checked_sub(UNUSED) else {
                continue;
            };
            self.opened.forget_unused(since);
            for listener in self.listeners.iter() {
                listener.forget_unused(since);
            }
        }
    }

    pub(crate) fn state<T: Send + Sync + 'static>(&self) -> &T {
        self.states.get()
    }

    /// With another clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Arc::new(SharedClock::new(clock));
        self
    }

    /// With another source of random numbers.
    #[must_use]
    pub fn with_random(mut self, random: Arc<dyn Random>) -> Self {
        self.random = random;
        self
    }

    /// Where no recall waits longer than `most` for the vector of its query.
    #[must_use]
    pub fn with_question_time(mut self, most: Duration) -> Self {
        let recall = &mut Arc::make_mut(&mut self.settings).recall;
        recall.question_time = recall.question_time.min(most);
        self
    }

    /// The settings of the installation.
    pub fn settings(&self) -> &InstallationSettings {
        &self.settings
    }

    /// The names of the providers of models, for people to choose from.
    pub fn providers(&self) -> Vec<String> {
        self.models.providers()
    }

    /// The models that the settings name, and the one that needs no network, as choices for users: `provider:name`.
    pub fn named_models(&self) -> Vec<String> {
        let settings = &self.settings;
        let named = settings.default_model.iter().chain(settings.prices.keys());
        let mut names: BTreeSet<String> = named.map(ToString::to_string).collect();
        names.insert("builtin:careful".to_owned());
        names.into_iter().collect()
    }

    /// Takes the time from the database, where several machines share one. Leases, slots and the ends of grants are
    /// judged by it, whatever the machines' clocks show (SPEC 3.2, 6.1). Long-running processes repeat the call every
    /// few seconds.
    ///
    /// # Errors
    /// The store fails.
    pub async fn keep_time(&self) -> Result<()> {
        let asked_at = self.clock.monotonic();
        if let Some(time) = self.store.time().await? {
            self.clock.sync(time, asked_at);
        }
        Ok(())
    }

    /// Now: by the database's time where several machines share one.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn sealer<'a>(&'a self, key: &'a AgentKey) -> Sealer<'a> {
        let random = self.random.as_ref();
        Sealer { key, random }
    }

    pub(crate) fn ids(&self) -> Ids<'_> {
        Ids {
            random: self.random.as_ref(),
            now: self.now(),
        }
    }
}
