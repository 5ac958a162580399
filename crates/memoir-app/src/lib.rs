//! The use cases of Memoir: load what a decision needs, let the domain decide, commit.
//!
//! Every door (command line, and those to come) calls these functions and nothing below them. No rule
//! of refining is decided here, no SQL is written here, and no provider is named here.

mod accounts;
mod agents;
pub mod audit;
pub mod clock;
mod codec;
mod context;
mod doctor;
mod error;
pub mod import;
mod memories;
mod parallel;
pub mod sessions;
mod settings;
mod views;

use std::sync::Arc;

use memoir_domain::{
    AccountId, AgentScope, SessionId, Timestamp, agent::Agent, audit::Actor, draft::Decision,
    memory::Memory, session::Session, text::Digester,
};
use memoir_model::{ConnectError, Model, ModelName, Providers};
use memoir_store::{Store, Wanted};

pub use accounts::{AccountView, DEFAULT_ACCOUNT};
pub use agents::AgentView;
pub use audit::{RecordQuery, RecordView};
pub use clock::{Clock, Random};
pub use context::ContextView;
pub use doctor::{Examination, Severity};
pub use error::{Error, Result};
pub use memories::{MemoryInput, Saved};
pub use settings::{Limits, Price, Settings};
pub use views::{MemoryView, RefinementDue, SessionView};

/// How often a decision is made anew after another writer was faster.
const ATTEMPTS: usize = 32;

/// Models by name.
pub trait Models: Send + Sync {
    /// The model of that name.
    ///
    /// # Errors
    /// No such provider, or its key or address cannot be used.
    fn connect(&self, name: &ModelName) -> Result<Arc<dyn Model>, ConnectError>;
}

impl Models for Providers {
    fn connect(&self, name: &ModelName) -> Result<Arc<dyn Model>, ConnectError> {
        Providers::connect(self, name)
    }
}

/// Makes an empty store that lives in memory only, for rehearsals.
pub type Scratch = Arc<dyn Fn() -> memoir_store::Result<Arc<dyn Store>> + Send + Sync>;

/// An installation of Memoir: its store, and what it needs from the outside world.
#[derive(Clone)]
pub struct Memoir {
    store: Arc<dyn Store>,
    scratch: Scratch,
    models: Arc<dyn Models>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    settings: Arc<Settings>,
    recent: Arc<sessions::Recent>,
}

impl Memoir {
    /// On `store`, with the machine's clock and random numbers.
    pub fn new(
        store: Arc<dyn Store>,
        scratch: Scratch,
        models: Arc<dyn Models>,
        settings: Settings,
    ) -> Self {
        Self {
            store,
            scratch,
            models,
            clock: Arc::new(clock::SystemClock),
            random: Arc::new(clock::SystemRandom),
            settings: Arc::new(settings),
            recent: Arc::default(),
        }
    }

    /// With another clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// With another source of random numbers.
    #[must_use]
    pub fn with_random(mut self, random: Arc<dyn Random>) -> Self {
        self.random = random;
        self
    }

    /// The settings of the installation.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Now.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn ids(&self) -> clock::Ids<'_> {
        clock::Ids {
            random: self.random.as_ref(),
            now: self.now(),
        }
    }
}

/// One tenant.
#[derive(Clone)]
pub struct Account {
    memoir: Memoir,
    id: AccountId,
    name: String,
}

/// One agent of one account. Everything private is reached through one of these, and none of its
/// methods can name another agent.
#[derive(Clone)]
pub struct AgentHandle {
    memoir: Memoir,
    scope: AgentScope,
    name: String,
}

/// What one look at an agent brought, in the domain's types.
struct Loaded {
    base: codec::Base,
    agent: Agent,
    memories: Vec<Memory>,
    session: Option<(Session, Option<sessions::Rehearsal>)>,
    running_session: Option<SessionId>,
    eroded_tokens: u64,
}

impl AgentHandle {
    /// The agent's name when it was looked up.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The agent's account and identifier.
    pub fn scope(&self) -> AgentScope {
        self.scope
    }

    /// The agent as an actor.
    fn as_actor(&self) -> Actor {
        Actor::agent(self.name.clone())
    }

    async fn load(&self, wanted: &Wanted) -> Result<Loaded> {
        let snapshot = self.memoir.store.snapshot(self.scope, wanted).await?;
        let snapshot = snapshot.ok_or_else(|| Error::NoAgent(self.name.clone()))?;
        Ok(Loaded {
            agent: codec::agent(&snapshot.agent)?,
            base: codec::Base::of(snapshot.agent),
            memories: snapshot
                .memories
                .into_iter()
                .map(codec::memory)
                .collect::<Result<_>>()?,
            session: snapshot.session.map(codec::session).transpose()?,
            running_session: snapshot.running_session,
            eroded_tokens: snapshot.eroded_tokens,
        })
    }

    /// Writes a decision that was made on `base`.
    async fn commit(
        &self,
        base: &codec::Base,
        decision: Decision,
        rehearsal: Option<sessions::Rehearsal>,
    ) -> memoir_store::Result<(), Error> {
        let commit = codec::commit(base, decision, rehearsal)?;
        Ok(self.memoir.store.commit(commit).await?)
    }

    /// Loads, decides and commits; and again where the agent changed meanwhile. A decision of `None`
    /// writes nothing.
    async fn decide<T>(
        &self,
        wanted: &Wanted,
        mut decide: impl FnMut(Loaded, Timestamp) -> Result<(Option<Decision>, T)>,
    ) -> Result<T> {
        for _ in 0..ATTEMPTS {
            let loaded = self.load(wanted).await?;
            let base = loaded.base.clone();
            let (decision, answer) = decide(loaded, self.memoir.now())?;
            let Some(decision) = decision else {
                return Ok(answer);
            };
            match self.commit(&base, decision, None).await {
                Err(Error::Store(memoir_store::Error::Conflict)) => {}
                written => return written.map(|()| answer),
            }
        }
        Err(Error::Contended)
    }
}

impl Loaded {
    fn digester(&self) -> Digester {
        self.base.digester()
    }

    /// The session that was asked for.
    fn take_session(&mut self, id: SessionId) -> Result<Session> {
        self.session
            .take()
            .map(|(session, _)| session)
            .ok_or_else(|| Error::NoSession(id.to_string()))
    }
}
