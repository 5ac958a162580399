//! An agent in an installation of its own, and helpers for tests.

use std::{
    future::pending,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use memoir_app::{
    Absorbed, AccessRequestFacts, AgentHandle, AgentLens, Error, HandedMessage, HandedOver,
    Handling, InstallationSettings, Memoir, MemoryFacts, MemoryInput, OwnAgent, Random,
    RecordFilter, Saved, SessionFacts, ShownAgent, ShownMemory, ShownSession, ShredWish, Shredded,
    Viewer,
    sessions::{AppliedRehearsal, Progress, RefineOptions},
};
use memoir_domain::{
    AccessRequestId, SessionId,
    access::{AccessDraft, AccessKind, AccessScope},
    agent::Field,
    audit::{Actor, ActorKind},
    manage::Assignment,
    memory::{Kind, Number},
    session::State,
};
use memoir_store::Store;
use memoir_store_sqlite::SqliteStore;
use memoir_testkit::{
    InstallationFolder, ModelScript, SCRIPTED_AGENT, StoreWatch, TestClock, TestInstallation, Turn,
    input, keys_in_memory,
};
pub use memoir_testkit::{administrator as person, settings};
use memoir_vault::KeyStore;
use serde_json::{Value, json};

pub const MEMORIES: [&str; 6] = memoir_testkit::SIX_MEMORIES;

/// A user who types commands on their own machine.
pub static OWNER: LazyLock<Actor> = LazyLock::new(Actor::owner);

/// Counts instead of drawing random numbers, so that runs can be repeated and identifiers ascend.
struct Counter(AtomicU64);

impl Random for Counter {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), Error> {
        // By two, since a worker's mark leaves out the last bit.
        let count = self.0.fetch_add(2, Ordering::SeqCst).to_be_bytes();
        for (byte, counted) in bytes.iter_mut().zip(count.iter().cycle()) {
            *byte = *counted;
        }
        Ok(())
    }
}

/// The agent Wren, and the installation that it lives in.
#[derive(derive_more::Deref)]
pub struct TestAgent {
    #[deref]
    pub installation: TestInstallation,
    pub agent: OwnAgent,
}

/// Counts the calls of a store.
#[derive(Default)]
pub struct CountedCalls(AtomicUsize);

impl CountedCalls {
    /// Those since it was last asked.
    pub fn take(&self) -> usize {
        self.0.swap(0, Ordering::Relaxed)
    }
}

impl StoreWatch for CountedCalls {
    fn reach(&self) -> memoir_store::Result<()> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// An installation on files, which can be closed, copied and tampered with.
pub fn new_folder() -> InstallationFolder {
    InstallationFolder::new().with_settings(settings())
}

/// The agent for itself.
pub fn own(agent: &AgentHandle) -> OwnAgent {
    lens(agent).as_agent().unwrap()
}

/// The agent as its own viewer.
pub fn lens(agent: &AgentHandle) -> AgentLens<'_> {
    agent.views().seen_by(Viewer::Agent)
}

/// The agent of that name in the account `default`; made if missing.
pub async fn agent_of(memoir: &Memoir, name: &str) -> OwnAgent {
    let account = memoir.account("default").await.unwrap();
    own(&memoir_testkit::agent(&account, name, &SCRIPTED_AGENT).await)
}

/// An installation that is the same in each run.
fn repeatable(
    store: Arc<dyn Store>,
    keys: Arc<KeyStore>,
    settings: InstallationSettings,
) -> TestInstallation {
    TestInstallation::under(store, keys)
        .with_clock(TestClock::default().giving_way())
        .with_settings(settings)
        .with_random(Arc::new(Counter(AtomicU64::new(0))))
}

impl TestAgent {
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
        Self::under(store, keys_in_memory(), memories, settings).await
    }

    pub async fn under(
        store: Arc<dyn Store>,
        keys: Arc<KeyStore>,
        memories: &[&str],
        settings: InstallationSettings,
    ) -> Self {
        let mut assignments = SCRIPTED_AGENT.to_vec();
        let prompt = "I am Wren, who lives with a bookbinder's family.";
        assignments.push((Field::SystemPrompt, Some(prompt)));
        let installation = repeatable(store, keys, settings);
        let account = installation.account("default").await;
        let agent = own(&memoir_testkit::agent(&account, "wren", &assignments).await);
        let wren = Self {
            installation,
            agent,
        };
        for memory in memories {
            wren.clock.advance(Duration::from_secs(60));
            wren.remember(memory).await;
        }
        wren
    }

    /// On a store with an existing agent.
    pub async fn again(store: Arc<dyn Store>, keys: Arc<KeyStore>) -> Self {
        Self::of(&repeatable(store, keys, settings())).await
    }

    /// In an existing installation; made if missing.
    pub async fn of(installation: &TestInstallation) -> Self {
        Self::named("wren", installation).await
    }

    /// As [`TestAgent::of`], for another agent.
    pub async fn named(name: &str, installation: &TestInstallation) -> Self {
        Self {
            agent: agent_of(&installation.memoir, name).await,
            installation: installation.clone(),
        }
    }

    /// An agent with so many memories of some length.
    pub async fn with_notes(count: usize) -> Self {
        let notes =
            (0..count).map(|at| format!("Note {at:02}: {}", "words of some length ".repeat(4)));
        let notes: Vec<String> = notes.collect();
        let notes: Vec<&str> = notes.iter().map(String::as_str).collect();
        Self::new(&notes).await
    }

    pub async fn remember(&self, content: &str) -> u64 {
        self.save(&[input(content)]).await[0].memory.number.0
    }

    /// The agent as its own viewer.
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

    /// Runs a session by the script that is set.
    pub async fn drive(&self) -> ShownSession {
        let seen = self.seen();
        let options = RefineOptions::default();
        seen.refine(&options, &mut |_| {}).await.unwrap()
    }

    pub async fn configure(&self, settings: &[Assignment<'_>]) -> ShownAgent {
        configure_by(&self.agent, settings, &person()).await
    }

    pub async fn save(&self, memories: &[MemoryInput]) -> Vec<Saved> {
        save_by(&self.agent, memories, &person()).await
    }

    pub async fn handle(&self, number: Number, handling: Handling) -> ShownMemory {
        handle_by(&self.agent, number, handling, &person()).await
    }

    pub async fn roll_back(&self, session: SessionId, cascade: bool) -> ShownSession {
        self.try_roll_back(session, cascade).await.unwrap()
    }

    pub async fn try_roll_back(
        &self,
        session: SessionId,
        cascade: bool,
    ) -> Result<ShownSession, Error> {
        let (sessions, actor) = (self.agent.sessions(), person());
        sessions.roll_back(session, cascade, &actor).await
    }

    pub async fn apply(&self, rehearsal: SessionId) -> AppliedRehearsal {
        self.try_apply(rehearsal).await.unwrap()
    }

    pub async fn try_apply(&self, rehearsal: SessionId) -> Result<AppliedRehearsal, Error> {
        let (sessions, actor) = (self.agent.sessions(), person());
        sessions.apply_rehearsal(rehearsal, &actor).await
    }

    pub async fn hand_over(
        &self,
        messages: Vec<HandedMessage>,
        now: bool,
        role: ActorKind,
    ) -> HandedOver {
        let handed = self.agent.life().hand_over(messages, now, role).await;
        handed.unwrap()
    }

    /// Lets the model read all that waits.
    pub async fn absorb(&self) -> Absorbed {
        let life = self.agent.life();
        life.absorb(pending(), &mut |_| {}).await.unwrap()
    }

    /// A memory, without its text.
    pub async fn facts(&self, number: u64) -> MemoryFacts {
        let views = self.agent.views();
        views.memory(Number(number)).await.unwrap()
    }

    /// Every memory as JSON, the journal entries of Memoir's own left out.
    pub async fn memories(&self) -> Vec<Value> {
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

    /// Checks the counts against the rows.
    pub async fn check(&self) {
        assert_eq!(self.store.check().await.unwrap(), []);
    }
}

pub async fn configure_by(
    agent: &AgentHandle,
    settings: &[Assignment<'_>],
    actor: &Actor,
) -> ShownAgent {
    let configured = agent.settings().configure(settings, actor);
    configured.await.unwrap()
}

pub async fn save_by(agent: &AgentHandle, memories: &[MemoryInput], actor: &Actor) -> Vec<Saved> {
    agent.memories().save(memories, actor).await.unwrap()
}

pub async fn handle_by(
    agent: &AgentHandle,
    number: Number,
    handling: Handling,
    actor: &Actor,
) -> ShownMemory {
    let handled = agent.memories().handle(number, handling, actor);
    handled.await.unwrap()
}

pub async fn shred_by(agent: &AgentHandle, wish: ShredWish<'_>, actor: &Actor) -> Shredded {
    agent.memories().shred(wish, actor).await.unwrap()
}

/// A request of an administrator's.
pub fn draft(kind: AccessKind) -> AccessDraft {
    AccessDraft {
        kind,
        purpose: "to see why the sessions end early".into(),
    }
}

pub fn reading(scope: AccessScope, minutes: u32) -> AccessDraft {
    draft(AccessKind::Read { scope, minutes })
}

pub fn shredding(number: u64, derived: bool) -> AccessDraft {
    let number = Number(number);
    draft(AccessKind::Shred { number, derived })
}

pub async fn request_by(
    agent: &AgentHandle,
    draft: &AccessDraft,
    actor: &Actor,
) -> AccessRequestFacts {
    let asked = agent.grants().request_access(draft, actor);
    asked.await.unwrap()
}

pub async fn revoke_by(
    agent: &AgentHandle,
    request: AccessRequestId,
    actor: &Actor,
) -> AccessRequestFacts {
    let revoked = agent.grants().revoke_access(request, actor);
    revoked.await.unwrap()
}

pub async fn enqueue(agent: &AgentHandle, options: &RefineOptions) -> SessionFacts {
    agent.sessions().enqueue(options).await.unwrap()
}

pub async fn cancel_by(agent: &AgentHandle, session: SessionId, actor: &Actor) -> SessionFacts {
    agent.sessions().cancel(session, actor).await.unwrap()
}

/// What the agent's own call of a tool answers.
pub async fn call(agent: &OwnAgent, session: SessionId, tool: &str, arguments: Value) -> Value {
    let answer = agent.call_tool(session, tool, Some(&arguments)).await;
    serde_json::to_value(answer.unwrap()).unwrap()
}

/// Makes twelve deletions in a session that may edit all, of which the last two are too many.
pub async fn check_cap(agent: &OwnAgent, session: SessionId) {
    let mut codes = Vec::new();
    for number in 1..=12 {
        let answer = call(agent, session, "delete_memory", json!({"id": number})).await;
        codes.push(answer["code"].as_str().unwrap_or("done").to_owned());
    }
    assert_eq!(codes[..10], ["done"; 10]);
    assert_eq!(codes[10..], ["edit_cap"; 2]);
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

/// Checks how a session ended, and why.
#[track_caller]
pub fn assert_ended(session: &SessionFacts, state: State, reason: &'static str) {
    let found = (session.state, session.end_reason);
    assert_eq!(found, (state, Some(reason)), "{session:?}");
}

/// A session that is only rehearsed.
pub fn rehearsal() -> RefineOptions {
    RefineOptions {
        rehearsal: true,
        ..RefineOptions::default()
    }
}

/// Runs every due session of the account, and returns their number.
pub async fn sweep(account: &memoir_app::Account) -> usize {
    let due = account.due_agents().await.unwrap();
    let count = due.len();
    for (agent, trigger) in due {
        let options = RefineOptions {
            trigger,
            ..RefineOptions::default()
        };
        lens(&agent).refine(&options, &mut |_| {}).await.unwrap();
    }
    count
}
