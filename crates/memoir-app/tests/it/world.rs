//! An installation for one test: an embedded store, a clock that stands until it is moved, and a model
//! that follows a script.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use memoir_app::{
    AgentHandle, AgentLens, Error, InstallationSettings, Memoir, MemoryInput, OwnAgent, Random,
    RecordFilter, SessionFacts, SessionLimits, ShownSession, Viewer,
    sessions::{Progress, RefineOptions},
};
use memoir_domain::{agent::Field, audit::Actor, memory::Kind, session::State};
use memoir_store::Store;
use memoir_store_sqlite::SqliteStore;
use memoir_testkit::{ModelScript, SetModel, TestClock, Turn};
use memoir_vault::{KeyStore, MasterKey};
use serde_json::json;

/// Counts instead of drawing, so that runs can be repeated.
struct Counter(AtomicU64);

impl Random for Counter {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), Error> {
        for byte in bytes {
            *byte = self.0.fetch_add(1, Ordering::SeqCst) as u8;
        }
        Ok(())
    }
}

pub struct World {
    pub memoir: Memoir,
    pub store: Arc<dyn Store>,
    pub keys: Arc<KeyStore>,
    pub clock: Arc<TestClock>,
    pub model: SetModel,
    pub agent: OwnAgent,
}

type Unmade = (
    Memoir,
    Arc<dyn Store>,
    Arc<KeyStore>,
    Arc<TestClock>,
    SetModel,
);

/// A key store that lives in memory only.
pub fn keys() -> Arc<KeyStore> {
    let master = MasterKey::generate().unwrap();
    Arc::new(KeyStore::in_memory(&master).unwrap())
}

pub fn person() -> Actor {
    Actor::administrator("test")
}

pub fn settings() -> InstallationSettings {
    InstallationSettings {
        limits: SessionLimits {
            first_wait: Duration::from_millis(1),
            ..SessionLimits::default()
        },
        ..InstallationSettings::default()
    }
}

/// The agent for itself.
pub fn own(agent: &AgentHandle) -> OwnAgent {
    agent.seen_by(Viewer::Agent).as_agent().unwrap()
}

impl World {
    pub async fn new(memories: &[&str]) -> Self {
        Self::with(memories, settings()).await
    }

    pub async fn with(memories: &[&str], settings: InstallationSettings) -> Self {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().unwrap());
        Self::on(store, memories, settings).await
    }

    pub async fn on(
        store: Arc<dyn Store>,
        memories: &[&str],
        settings: InstallationSettings,
    ) -> Self {
        Self::under(store, keys(), memories, settings).await
    }

    pub async fn under(
        store: Arc<dyn Store>,
        keys: Arc<KeyStore>,
        memories: &[&str],
        settings: InstallationSettings,
    ) -> Self {
        let world = Self::unmade(store, keys, settings);
        let account = world.0.account("default").await.unwrap();
        let assignments = [
            (Field::Model, Some("scripted:model")),
            // What may be let go is tested in `carrying`; elsewhere edits may say what they like.
            (Field::LossGuard, Some("off")),
            (
                Field::SystemPrompt,
                Some("I am Wren, who lives with a bookbinder's family."),
            ),
        ];
        account
            .create_agent("wren", &assignments, &person())
            .await
            .unwrap();
        let world = Self::found(world).await;
        for memory in memories {
            world.clock.advance(Duration::from_secs(60));
            world.remember(memory).await;
        }
        world
    }

    /// On a store that holds the agent already.
    pub async fn again(store: Arc<dyn Store>, keys: Arc<KeyStore>) -> Self {
        Self::found(Self::unmade(store, keys, settings())).await
    }

    async fn found((memoir, store, keys, clock, model): Unmade) -> Self {
        let agent = memoir
            .account("default")
            .await
            .unwrap()
            .agent("Wren")
            .await
            .unwrap();
        Self {
            agent: own(&agent),
            memoir,
            store,
            keys,
            clock,
            model,
        }
    }

    fn unmade(
        store: Arc<dyn Store>,
        keys: Arc<KeyStore>,
        settings: InstallationSettings,
    ) -> Unmade {
        let clock = Arc::new(TestClock::standing_at("2026-03-04T12:00:00Z").giving_way());
        let model = SetModel::default();
        let memoir = Memoir::new(
            store.clone(),
            keys.clone(),
            Arc::new(model.clone()),
            settings,
        )
        .with_clock(clock.clone())
        .with_random(Arc::new(Counter(AtomicU64::new(0))));
        (memoir, store, keys, clock, model)
    }

    pub async fn remember(&self, content: &str) -> u64 {
        let input = MemoryInput {
            content: content.into(),
            ..MemoryInput::default()
        };
        self.agent.save(&[input], &person()).await.unwrap()[0]
            .memory
            .number
            .0
    }

    /// The agent as it sees itself.
    pub fn seen(&self) -> AgentLens<'_> {
        self.agent.lens()
    }

    pub fn script(&self, turns: impl IntoIterator<Item = Turn>) -> Arc<ModelScript> {
        self.model.script(turns)
    }

    /// Runs a session in which the model agrees and then takes `turns`.
    pub async fn refine(
        &self,
        turns: impl IntoIterator<Item = Turn>,
    ) -> (ShownSession, Vec<Progress>) {
        self.refine_with(&RefineOptions::default(), turns).await
    }

    pub async fn refine_with(
        &self,
        options: &RefineOptions,
        turns: impl IntoIterator<Item = Turn>,
    ) -> (ShownSession, Vec<Progress>) {
        self.script(std::iter::once(Turn::text("YES")).chain(turns));
        let mut seen = Vec::new();
        let session = self
            .seen()
            .refine(options, &mut |progress| seen.push(progress.clone()))
            .await
            .unwrap();
        (session, seen)
    }

    /// Every memory as JSON, the journal entries of Memoir's own left out.
    pub async fn memories(&self) -> Vec<serde_json::Value> {
        let memories = self.seen().memories(true).await.unwrap();
        memories
            .into_iter()
            .filter(|memory| memory.kind == Kind::Core)
            .map(|memory| serde_json::to_value(memory).unwrap())
            .collect()
    }

    /// The numbers of the kept core memories.
    pub async fn kept(&self) -> Vec<u64> {
        let memories = self.seen().memories(false).await.unwrap();
        memories
            .iter()
            .filter(|memory| memory.kind == Kind::Core)
            .map(|memory| memory.number.0)
            .collect()
    }

    pub async fn journal(&self) -> Vec<String> {
        let memories = self.seen().memories(false).await.unwrap();
        let journal = memories
            .into_iter()
            .filter(|memory| memory.kind == Kind::Journal);
        journal.map(|memory| memory.content().to_owned()).collect()
    }

    pub async fn actions(&self) -> Vec<String> {
        let records = self.seen().records(&RecordFilter::default()).await.unwrap();
        records
            .iter()
            .map(|record| record.action.as_str().to_owned())
            .collect()
    }

    /// That what is counted is what is there.
    pub async fn check(&self) {
        assert_eq!(self.store.check().await.unwrap(), []);
    }
}

pub fn complete() -> Turn {
    Turn::call(
        "complete_refinement",
        json!({"summary": "Put doubles together."}),
    )
}

pub fn delete(number: u64) -> Turn {
    Turn::call("delete_memory", json!({"id": number}))
}

pub fn state(session: &SessionFacts) -> State {
    session.state
}

/// Runs every due session of the account, and tells how many there were.
pub async fn sweep(account: &memoir_app::Account) -> usize {
    let due = account.due_agents().await.unwrap();
    let count = due.len();
    for (agent, trigger) in due {
        let options = RefineOptions {
            trigger: Some(trigger),
            ..RefineOptions::default()
        };
        agent
            .seen_by(memoir_app::Viewer::Agent)
            .refine(&options, &mut |_| {})
            .await
            .unwrap();
    }
    count
}
