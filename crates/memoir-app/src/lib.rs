//! The use cases of Memoir: load what a decision needs, let the domain decide, commit.
//!
//! Every interface calls these functions and nothing below them. No rule of refinement is decided here, no SQL is
//! written here, and no provider is named here.
//!
//! A use case writes a decision under the agent version that it was based on. If another process was faster, the store
//! returns `Conflict`, and the use case loads and decides again. This also fences sessions: closing a session increases
//! the agent's version. A worker that has lost its lease then decides anew, finds the session closed, and changes
//! nothing.
//!
//! Everything of one agent is reached through an [`AgentHandle`], none of whose methods names another agent. It comes
//! from an [`Account`], from a token of the agent, or with due work, and cannot be built outside of this crate.
//! Compile-fail tests check this (`tests/scoped.rs`).

mod access;
mod access_requests;
mod account_log;
mod account_turns;
mod accounts;
mod agents;
mod archive;
mod asking;
mod audit;
mod authoring;
mod checkpoint;
pub mod clock;
mod closing;
mod codec;
mod connections;
mod context;
mod doctor;
mod erase;
mod error;
mod fault;
mod finish;
mod fleet;
mod history;
pub mod import;
mod in_use;
mod keys;
mod life;
mod load_room;
mod look_back;
mod memories;
mod metrics;
mod model_question;
mod near_duplicates;
mod notices;
mod opened;
mod parallel;
mod quotas;
mod recall;
mod replacing;
mod replies;
mod retry;
mod rewind;
mod same_text;
pub mod sessions;
mod settings;
mod shown;
mod shred;
mod sign_in;
mod spans;
mod stats;
mod take_over;
mod together;
mod tuned;
mod users;
mod vectors;
mod verify;
mod views;

use std::{future::ready, sync::Arc};

use memoir_domain::{
    AccountId, AgentId, AgentScope, SessionId, Timestamp,
    agent::{self, Agent},
    audit::{Actor, Change},
    draft::Decision,
    memory::Number,
    session::Session,
    text::Digester,
};
use memoir_model::{ConnectError, Embedder, Model, ModelName, Providers};
use memoir_store::{
    AgentQuery, AgentRow, CountAndTokens, MemoryRow, RowCounts, Selection, Snapshot, Store,
};
use memoir_vault::{AgentKey, KeyStore};

use load_room::HeldRoom;
use opened::MemoryList;

pub use access::{Principal, Provision, Role, SignedInUser, TokenView, TokenWithSecret};
pub use accounts::{AccountView, DEFAULT_ACCOUNT};
pub use agents::check_settings;
pub use asking::AskOutcome;
pub use authoring::{OwnSetting, SettingVersion};
pub use checkpoint::{CheckpointGrowth, CheckpointView};
pub use clock::{Clock, Random, SystemClock};
pub use connections::{
    ACCESS_SECONDS, ADDRESSES_LIMIT, ClientAddress, CodeProof, Connecting, ConnectionView,
    ConnectionWish, GrantRefusal, Granted, NAME_LIMIT, OAuthClient, SCOPE,
};
pub use context::ContextView;
pub use doctor::{Examination, Severity};
pub use erase::Erased;
pub use error::{Error, Result};
pub use fault::{FaultId, TARGET as FAULTS};
pub use finish::{Finished, Unfinished};
pub use fleet::{FleetQuery, FleetView, LastSessionView, ListedAgent};
pub use life::{
    AbsorbProgress, Absorbed, HandedMessage, HandedOver, Job, JobOutcome, LifeSchedule, NotedPart,
    Reflected, TranscriptView, UnreadPart,
};
pub use look_back::{LogHistory, LookBack, MASS_POINTS, MassAt, RecordMark, SessionSpan};
pub use memoir_store::{
    Faded, FleetOrder, MemoryPage, ReceiverDigest, RecordFilter, RecordPlace, WaitingSession,
};
pub use memories::{Handling, MemoryInput, Saved};
pub use metrics::entered as entered_metric;
pub use near_duplicates::{NearDuplicateView, NearDuplicatesView};
pub use notices::{EndNotice, Retry};
pub use quotas::{Quota, QuotaReached, Quotas};
pub use recall::{RecallPage, ShownMatch, ShownTerm};
pub use replies::{KeptReply, ReplyKey, RequestAttempt, RequestOutcome};
pub use retry::PassedOver;
pub use rewind::{Point, Rewound};
pub use settings::{InstallationSettings, Price, RecallSettings, SessionLimits};
pub use shown::{
    AccessRequestFacts, AccessRequestWords, AgentFacts, AgentLens, AgentWords, ArchiveLinks,
    Explanation, MemoryCounts, MemoryFacts, MemoryWords, OriginalCounts, OwnAgent, RecordFacts,
    RecordWords, SessionFacts, SessionWords, ShownAccessRequest, ShownAgent, ShownMemory,
    ShownRecord, ShownSession, Viewer, schemas,
};
pub use shred::{ShredWish, Shredded, StoredTranscript};
pub use sign_in::{
    HalfSignedIn, PasswordProof, Proof, Proven, RecoveryCodes, SecondFactorOffer, SignIn,
    SignInView,
};
pub use spans::TARGET as SPANS;
pub use stats::{
    AgentStats, MassHistory, OriginalsView, QuarterOfOriginals, Return, SessionCounts, SessionMark,
};
pub use take_over::{ForeignMemory, ForeignPart, ImportUndone, TakeOver, TakenOver};
pub use users::{UserView, check_new_password};
pub use vectors::{AgentEmbedding, VectorsMade};
pub use verify::{Misfit, Verification};
pub use views::{RefinementDue, ScheduleView};

/// The attempts at a decision while other writers are faster.
// Each loss means that another decision on the same agent was written, so there was progress. So many in a row occur
// only where dozens write to one agent simultaneously; the caller then gets `Contended` instead of no response.
const ATTEMPTS: usize = 32;

/// Loads, decides and commits, or reads a consistent state. Repeats everything, from the loading on, if the attempt
/// returns [`memoir_store::Error::Conflict`] because another process wrote meanwhile.
///
/// # Errors
/// Those of the attempt; [`Error::Contended`] where other processes were faster each time.
async fn again<T, Attempt: Future<Output = Result<T>>>(attempt: impl Fn() -> Attempt) -> Result<T> {
    for _ in 0..ATTEMPTS {
        match attempt().await {
            Err(Error::Store(memoir_store::Error::Conflict)) => {}
            done => return done,
        }
    }
    Err(Error::Contended)
}

/// A concurrent write, for [`again`].
const CONFLICT: Error = Error::Store(memoir_store::Error::Conflict);

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

    /// How many sessions with models of that provider a process may run simultaneously, at least 1; `None` for
    /// any number.
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
    store: Arc<dyn Store>,
    keys: keys::InstallationKeys,
    models: Arc<dyn Models>,
    clock: Arc<clock::SharedClock>,
    random: Arc<dyn Random>,
    settings: Arc<InstallationSettings>,
    /// A cache of which memories have the same text.
    same_texts: Arc<same_text::SameTexts>,
    recent: Arc<sessions::Recent>,
    opened: Arc<opened::OpenedMemories>,
    indexes: Arc<recall::Indexes>,
    vectors: Arc<vectors::VectorUpkeep>,
    refusals: sessions::Refusals,
    uses: access::Uses,
    failures: account_log::Failures,
    grants_in_use: access_requests::GrantsInUse,
    asking_waits: asking::AskingWaits,
    changes: sessions::AgentChanges,
    metrics: Arc<metrics::Metrics>,
    room: Arc<load_room::LoadRoom>,
    usages: Arc<quotas::Usages>,
    whole_pasts: parallel::ConcurrencyLimit,
    verifications: parallel::ConcurrencyLimit,
}

impl Memoir {
    /// On `store`, with the agents' keys in `keys`, and with the machine's clock and random numbers.
    pub fn new(
        store: Arc<dyn Store>,
        keys: Arc<KeyStore>,
        models: Arc<dyn Models>,
        settings: InstallationSettings,
    ) -> Self {
        let (settings, metrics) = (Arc::new(settings), Arc::<metrics::Metrics>::default());
        let watched = metrics::Watched {
            models,
            metrics: metrics.clone(),
            settings: settings.clone(),
        };
        let indexes = recall::Indexes::new(settings.recall.index_bytes, metrics.clone());
        Self {
            store,
            opened: Arc::default(),
            indexes: Arc::new(indexes),
            vectors: Arc::default(),
            keys: keys::InstallationKeys(keys),
            models: Arc::new(watched),
            clock: Arc::new(clock::SharedClock::new(Arc::new(clock::SystemClock))),
            random: Arc::new(clock::SystemRandom),
            settings,
            recent: Arc::default(),
            same_texts: Arc::default(),
            refusals: sessions::Refusals::default(),
            uses: access::Uses::default(),
            failures: account_log::Failures::default(),
            grants_in_use: access_requests::GrantsInUse::default(),
            asking_waits: asking::AskingWaits::default(),
            changes: sessions::AgentChanges::default(),
            metrics,
            room: Arc::default(),
            usages: Arc::default(),
            whole_pasts: parallel::ConcurrencyLimit::new(rewind::AT_ONCE),
            verifications: parallel::ConcurrencyLimit::new(verify::AT_ONCE),
        }
    }

    /// With another clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Arc::new(clock::SharedClock::new(clock));
        self
    }

    /// With another source of random numbers.
    #[must_use]
    pub fn with_random(mut self, random: Arc<dyn Random>) -> Self {
        self.random = random;
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

    /// The models that the settings name, and the one that needs no network, as choices for users: `provider:name`
    /// each.
    pub fn named_models(&self) -> Vec<String> {
        let settings = &self.settings;
        let named = settings.default_model.iter().chain(settings.prices.keys());
        let mut names: Vec<String> = named.map(ToString::to_string).collect();
        names.push("builtin:careful".to_owned());
        names.sort();
        names.dedup();
        names
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
    /// The agent's key, where this handle's request has read it from the key store.
    key: Option<AgentKey>,
    /// What must hold at every read of the agent, where the decision is based on what a user was shown.
    condition: Option<Condition>,
}

/// What must hold at the moment of a change; otherwise [`Error::Changed`].
#[derive(Clone)]
enum Condition {
    /// No record is newer than the one of this place.
    NewestRecord(u64),
    /// A condition on the agent as an administrator without a grant reads it.
    Agent(Arc<dyn Fn(&AgentFacts) -> bool + Send + Sync>),
    /// A condition on the memory of that number as an administrator without a grant reads it.
    Memory(Number, Arc<dyn Fn(&MemoryFacts) -> bool + Send + Sync>),
}

/// The result of one read of an agent, in the domain's types.
struct Loaded {
    base: codec::Base,
    agent: Agent,
    memories: MemoryList,
    session: Option<(Session, Option<sessions::Rehearsal>)>,
    running_session: Option<SessionId>,
}

/// Checks that the number and size of an agent's memory rows match its sealed document (SPEC 3.12): a row that was
/// removed outside Memoir is detected at every read.
fn check_counts(agent: &Agent, rows: &RowCounts) -> Result<()> {
    let tally = agent.tally;
    let counted = RowCounts {
        core: CountAndTokens {
            count: tally.core_count,
            tokens: tally.core_tokens,
        },
        journal: CountAndTokens {
            count: tally.journal_count,
            tokens: tally.journal_tokens,
        },
        archival: CountAndTokens {
            count: tally.archival_count,
            tokens: tally.archival_tokens,
        },
        discarded: tally.discarded_count,
        shredded: tally.shredded_count,
    };
    if *rows == counted {
        return Ok(());
    }
    let kinds = [
        ("core", rows.core, counted.core),
        ("journal", rows.journal, counted.journal),
        ("archival", rows.archival, counted.archival),
    ];
    let problems: Vec<String> = kinds
        .into_iter()
        .filter(|(_, found, counted)| found != counted)
        .map(|(kind, found, counted)| {
            format!(
                "{kind}: {} rows of {} tokens where {} of {} are recorded",
                found.count, found.tokens, counted.count, counted.tokens
            )
        })
        .collect();
    let problems = match problems.is_empty() {
        true => "discarded or shredded rows are missing or too many".to_owned(),
        false => problems.join("; "),
    };
    Err(Error::Tampered(format!(
        "table `memories`: modified outside Memoir ({problems}); the verification of the audit log names the memory"
    )))
}

impl AgentHandle {
    fn new(memoir: Memoir, scope: AgentScope, name: String) -> Self {
        Self {
            memoir,
            scope,
            name,
            key: None,
            condition: None,
        }
    }

    /// The agent's name when it was looked up.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The time by its installation's clock.
    pub fn now(&self) -> Timestamp {
        self.memoir.now()
    }

    /// The agent's account and identifier.
    pub fn scope(&self) -> AgentScope {
        self.scope
    }

    /// Whether [`Account::agent`] finds this agent under `name`; no other agent has that name then.
    pub fn answers_to(&self, name: &str) -> bool {
        match name.parse::<AgentId>() {
            Ok(id) => id == self.scope.agent,
            Err(_) => agent::fold_name(name.trim()) == agent::fold_name(&self.name),
        }
    }

    /// The same agent for a caller to whom it was shown when the record at `newest_seq` was the newest. Everything done
    /// with this handle is [`Error::Changed`] where another was written since, so it acts on what was shown.
    #[must_use]
    pub fn as_seen(&self, newest_seq: u64) -> Self {
        self.under(Some(Condition::NewestRecord(newest_seq)))
    }

    /// Runs `attempt` with the agent as of its newest record, and again from the beginning if anything is written
    /// before its end. So its decision matches its first read.
    ///
    /// # Errors
    /// Those of the attempt, but for [`Error::Changed`]; [`Error::Contended`] where others were faster each time.
    pub async fn at_newest<T, Attempt: Future<Output = Result<T>>>(
        &self,
        attempt: impl Fn(Self) -> Attempt,
    ) -> Result<T> {
        again(|| async {
            let newest = self
                .search_records(&RecordFilter::default(), None, 1)
                .await?;
            let newest_seq = newest.first().map_or(0, |record| record.seq);
            match attempt(self.as_seen(newest_seq)).await {
                Err(Error::Changed) => Err(CONFLICT),
                done => done,
            }
        })
        .await
    }

    /// The same agent for a caller that changes it only in the expected state: otherwise everything done with this
    /// handle is [`Error::Changed`]. The condition reads the agent as an administrator without a grant does.
    #[must_use]
    pub fn where_agent(
        &self,
        is_expected: impl Fn(&AgentFacts) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.under(Some(Condition::Agent(Arc::new(is_expected))))
    }

    /// As [`AgentHandle::where_agent`], for one memory: reading it is [`Error::Changed`] where it is not as expected.
    #[must_use]
    pub fn where_memory(
        &self,
        number: Number,
        is_expected: impl Fn(&MemoryFacts) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.under(Some(Condition::Memory(number, Arc::new(is_expected))))
    }

    fn under(&self, condition: Option<Condition>) -> Self {
        Self {
            condition,
            ..self.clone()
        }
    }

    /// A digest of a text under the agent's key, by which a caller recognizes the text: without the key no guess can be
    /// checked against it.
    ///
    /// # Errors
    /// The agent is gone; the store fails.
    pub async fn digest(&self, text: &str) -> Result<u64> {
        let loaded = self.load(&AgentQuery::default()).await?;
        Ok(loaded.digester().known_again(text))
    }

    /// The agent as an actor.
    pub fn as_actor(&self) -> Actor {
        Actor::agent(self.name.clone())
    }

    /// Reads the agent, once there is room for it.
    ///
    /// # Errors
    /// [`Error::NoRoom`]; those of [`AgentHandle::snapshot`] and [`AgentHandle::read`].
    async fn load(&self, query: &AgentQuery) -> Result<Loaded> {
        let room = self.room_for(query).await?;
        let snapshot = match self.condition {
            // The condition is on its settings, some of which are prompts.
            Some(Condition::Agent(_)) => self.snapshot(&query.clone().with_prompts()).await?,
            _ => self.snapshot(query).await?,
        };
        self.read(snapshot, room).await
    }

    /// Waits for room for the result of a query; `None` where it includes no memories.
    ///
    /// # Errors
    /// [`Error::NoRoom`]; the store fails.
    async fn room_for(&self, query: &AgentQuery) -> Result<Option<HeldRoom>> {
        // Outside of a task there is only one caller, as on the command line.
        if query.memories == Selection::None || tokio::task::try_id().is_none() {
            return Ok(None);
        }
        let bytes = load_room::weight(&self.known_counts().await?, query);
        Ok(Some(self.memoir.room.take(self.scope, bytes).await?))
    }

    /// Whether the result of a query is a short load.
    ///
    /// # Errors
    /// The store fails.
    async fn is_short(&self, query: &AgentQuery) -> Result<bool> {
        let counts = self.known_counts().await?;
        Ok(load_room::weight(&counts, query) <= load_room::SHORT_LOAD)
    }

    /// The number and size of the agent's memory rows when they were last read.
    ///
    /// # Errors
    /// The store fails.
    async fn known_counts(&self) -> Result<RowCounts> {
        let (room, store) = (&self.memoir.room, &self.memoir.store);
        if let Some(counts) = room.counts(self.scope) {
            return Ok(counts);
        }
        // Rarely: every read notes the counts.
        let found = store.snapshot(self.scope, &AgentQuery::default()).await?;
        let counts = found.map_or_else(RowCounts::default, |found| found.row_counts);
        room.note(self.scope, counts);
        Ok(counts)
    }

    /// Waits for room for so many rows of memories or records.
    ///
    /// # Errors
    /// As for [`AgentHandle::room_for`].
    async fn room_for_rows(&self, limit: u32) -> Result<Option<HeldRoom>> {
        let page = MemoryPage {
            limit,
            ..MemoryPage::default()
        };
        let memories = Selection::Page(page);
        let query = AgentQuery {
            memories,
            ..AgentQuery::default()
        };
        self.room_for(&query).await
    }

    /// Reads the agent from the store, sealed as stored.
    ///
    /// # Errors
    /// [`Error::NoAgent`]; the store fails.
    async fn snapshot(&self, query: &AgentQuery) -> Result<Snapshot> {
        let snapshot = self.memoir.store.snapshot(self.scope, query).await?;
        let snapshot = snapshot.ok_or_else(|| Error::NoAgent(self.name.clone()))?;
        self.memoir.room.note(self.scope, snapshot.row_counts);
        Ok(snapshot)
    }

    /// Opens a snapshot into the domain's types.
    async fn read(&self, snapshot: Snapshot, room: Option<HeldRoom>) -> Result<Loaded> {
        // Before anything is opened: of an agent without a key nothing is returned, not even from this process's cache.
        let key = self.key_of(&snapshot.agent).await?;
        let version = snapshot.agent.document.version;
        let memories = self.open_rows(&key, version, snapshot.memories, room).await;
        let session = snapshot.session;
        let (agent, base) = codec::agent(&key, &snapshot.agent, snapshot.prompts.as_ref())?;
        // A failure to open the memories is returned only now: where the agent's own row does not open either, the
        // error must name that row.
        let memories = memories?;
        check_counts(&agent, &snapshot.row_counts)?;
        if !self.is_met(&agent, &memories).await? {
            return Err(Error::Changed);
        }
        Ok(Loaded {
            agent,
            memories,
            session: session
                .map(|row| codec::session(Some(&key), row))
                .transpose()?,
            running_session: snapshot.running_session,
            base,
        })
    }

    /// Opens memories; many of them on another thread, so that the threads for requests do not block.
    async fn open_rows(
        &self,
        key: &AgentKey,
        version: u64,
        rows: Vec<MemoryRow>,
        room: Option<HeldRoom>,
    ) -> Result<MemoryList> {
        let sealed: usize = rows.iter().map(|row| row.body.0.len()).sum();
        if sealed <= load_room::SHORT_LOAD {
            return self.memoir.opened.open(key, version, rows, room);
        }
        let (opened, key) = (self.memoir.opened.clone(), key.clone());
        parallel::run_blocking(move || opened.open(&key, version, rows, room)).await?
    }

    /// Whether the state that was read meets the condition. A memory that was not read or not found is not judged: the
    /// change that follows detects this itself.
    async fn is_met(&self, agent: &Agent, memories: &MemoryList) -> Result<bool> {
        Ok(match &self.condition {
            None => true,
            // Every change that a viewer could have been shown is a record, so the place of the next one shows whether
            // there was any. The row is opened by now: a `next_seq` that was decreased by hand would not open.
            Some(Condition::NewestRecord(seq)) => seq.saturating_add(1) == agent.next_seq,
            Some(Condition::Agent(is_expected)) => is_expected(&self.memoir.agent_facts(agent)),
            Some(Condition::Memory(number, is_expected)) => {
                match memories.iter().find(|memory| memory.number == *number) {
                    Some(memory) => {
                        let links = self.links_of(std::iter::once(memory)).await?;
                        is_expected(&MemoryFacts::new(memory, &links))
                    }
                    None => true,
                }
            }
        })
    }

    /// The key of an agent whose row was read.
    ///
    /// # Errors
    /// [`Error::Erased`]; [`Error::NoKey`].
    async fn key_of(&self, row: &AgentRow) -> Result<AgentKey> {
        match self.present_key().await? {
            // An `erased_at` is not believed while the key exists: the row may have been changed, or the erasing
            // interrupted.
            Some(key) if row.columns.erased_at.is_none() => Ok(key),
            _ => Err(self.without_key(row).await?),
        }
    }

    /// The agent's key; `None` where it has none.
    async fn present_key(&self) -> Result<Option<AgentKey>> {
        match &self.key {
            Some(key) => Ok(Some(key.clone())),
            None => self.memoir.keys.of(self.scope).await,
        }
    }

    /// Why there is no key for an agent whose row was read.
    async fn without_key(&self, row: &AgentRow) -> Result<Error> {
        // Another process may have erased it: this process's opened memories are dropped immediately.
        self.memoir.opened.forget(self.scope);
        let name = match self.scope.is_of_account() {
            true => self.name.clone(),
            false => row.columns.name.clone(),
        };
        let destroyed_at = self.memoir.keys.destroyed_at(self.scope).await?;
        Ok(match destroyed_at.or(row.columns.erased_at) {
            Some(at) => Error::Erased { name, at },
            None => Error::NoKey(name),
        })
    }

    /// The agent's key; `None` where it was erased.
    ///
    /// # Errors
    /// [`Error::NoKey`] where it has none without having been erased.
    async fn key(&self) -> Result<Option<AgentKey>> {
        let snapshot = self.snapshot(&AgentQuery::default()).await?;
        match self.key_of(&snapshot.agent).await {
            Ok(key) => Ok(Some(key)),
            Err(Error::Erased { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes a decision that was made on `base`, and returns the base of the next one.
    async fn commit(
        &self,
        base: &codec::Base,
        mut decision: Decision,
        beside: codec::WrittenBeside,
    ) -> Result<codec::Base> {
        let refusals = &self.memoir.refusals;
        // Taken before the rows are made, so that of two simultaneous decisions only one counts them.
        let counted = refusals.count_into(&mut decision.sessions);
        let written = Box::pin(self.write(base, decision, beside)).await;
        if written.is_err() {
            // Also where the outcome is not known: counting twice is acceptable, since no decision uses the count.
            refusals.restore(counted);
        }
        written
    }

    async fn write(
        &self,
        base: &codec::Base,
        decision: Decision,
        beside: codec::WrittenBeside,
    ) -> Result<codec::Base> {
        let random = self.memoir.random.as_ref();
        let counted = metrics::Counted::of(&decision);
        let new = quotas::new_memories(&decision);
        // Making rows consumes the decision: what is needed after the write is kept here.
        let indexes = &self.memoir.indexes;
        // Changes hold text: they are copied only for an existing index.
        let followed = indexes.has(self.scope).then(|| decision.changes.clone());
        // Numbers only: the cached others stay, and these are opened from their rows at the next use.
        let changed: Vec<Number> = decision.changes.iter().map(Change::number).collect();
        let takes_words = !decision.redactions.is_empty();
        let ended = decision
            .sessions
            .iter()
            .filter(|one| !one.state.is_running());
        let ended: Vec<SessionId> = ended.map(|session| session.id).collect();
        let embeds = self.memoir.settings.recall.embeddings.is_some();
        // A new consent is effective immediately, and for all memories of the agent.
        let first = changed.iter().map(|number| number.0).min();
        let written_behind = match decision.access.is_empty() {
            true => first.map(|first| first.saturating_sub(1)),
            false => Some(0),
        };
        let same_texts = self
            .memoir
            .same_texts
            .changes(self.scope, &decision.changes);
        let open = sessions::open_in(&decision);
        let (commit, next) =
            codec::commit(base, decision, beside, random, self.memoir.time_zone())?;
        // Sealing takes a key from memory. The check comes as late as possible: data under a key whose file is gone is
        // lost with the process.
        self.memoir.keys.check_there()?;
        let used = quotas::written(new, &commit);
        self.memoir.write(commit, counted).await?;
        self.memoir.usages.add(self.scope, used);
        // Only now: the caches are of the decision's version, and move to the next one only once that is written. They
        // are dropped where text was removed: they may hold it.
        match next.version() {
            Some(version) if !takes_words => {
                let opened = &self.memoir.opened;
                opened.follow(self.scope, base.version(), version, &changed);
            }
            _ => self.memoir.opened.forget(self.scope),
        }
        // After the write, with its resulting base: a call based on this writes under exactly that version, and is
        // refused if another process wrote since.
        if let Some((agent, session)) = open {
            let known = sessions::KnownSession::new(next.clone(), agent, session);
            self.memoir.recent.put(self.scope, known);
        }
        // However it ended: the data read in it is wiped.
        for session in ended {
            self.memoir.recent.drop_notes(session);
        }
        if let Some(changes) = same_texts {
            let (from, to) = (base.version(), next.version());
            self.memoir.same_texts.follow(self.scope, from, to, changes);
        }
        if let (Some(changes), Some(version)) = (followed, next.version()) {
            indexes.follow(self.scope, base.version(), version, &changes);
        }
        if let Some(after) = written_behind.filter(|_| embeds) {
            self.memoir.vectors.enqueue(self.scope, after);
        }
        // Last: a task that it wakes reads what was written, and finds this process's caches up to date.
        self.memoir.changes.notify(self.scope);
        Ok(next)
    }

    /// Loads, decides and commits; repeats where the agent changed meanwhile. A decision of `None` writes nothing.
    async fn decide<T, W: Into<codec::Writing>>(
        &self,
        query: &AgentQuery,
        decide: impl Fn(Loaded, Timestamp) -> Result<(Option<W>, T)>,
    ) -> Result<T> {
        self.decide_reading(query, |loaded, now| ready(decide(loaded, now)))
            .await
    }

    /// As [`AgentHandle::decide`], where the decision needs further reads.
    async fn decide_reading<T, W, Decided>(
        &self,
        query: &AgentQuery,
        // Not `AsyncFn`: for a borrowing one the compiler cannot prove that its future is `Send`.
        decide: impl Fn(Loaded, Timestamp) -> Decided,
    ) -> Result<T>
    where
        W: Into<codec::Writing>,
        Decided: Future<Output = Result<(Option<W>, T)>>,
    {
        self.decide_again(|| self.attempt(query, &decide)).await
    }

    /// As [`again`]; and once more after closing a conflicting session whose lease has lapsed.
    async fn decide_again<T, Attempt: Future<Output = Result<T>>>(
        &self,
        attempt: impl Fn() -> Attempt,
    ) -> Result<T> {
        match again(&attempt).await {
            Err(refused) if refused.is_session_open() => {}
            done => return done,
        }
        Box::pin(self.close_if_lapsed()).await?;
        // Whether it was closed here or not: one of several blocked callers closes it, and the others then succeed as
        // well.
        again(&attempt).await
    }

    /// One attempt at a decision.
    async fn attempt<T, W, Decided>(
        &self,
        query: &AgentQuery,
        decide: impl Fn(Loaded, Timestamp) -> Decided,
    ) -> Result<T>
    where
        W: Into<codec::Writing>,
        Decided: Future<Output = Result<(Option<W>, T)>>,
    {
        let loaded = self.load(query).await?;
        // `decide` consumes the rest; the base has to outlive it, as it holds the version of the decision.
        let base = loaded.base.clone();
        let rehearsed = loaded.session.as_ref();
        let rehearsed = rehearsed.and_then(|(session, kept)| Some((session.id, kept.clone()?)));
        // The time is taken after the load, anew for each attempt: a repeated decision must not be dated before those
        // that it follows.
        let (writing, answer) = decide(loaded, self.memoir.now()).await?;
        let Some(writing) = writing else {
            return Ok(answer);
        };
        let codec::Writing {
            decision,
            mut beside,
        } = writing.into();
        // The state of a rehearsal is written with its session each time.
        if let Some((id, kept)) = rehearsed
            && let Some(session) = decision.sessions.iter().find(|session| session.id == id)
        {
            let kept = || kept.kept_with(session);
            beside.rehearsals.entry(id).or_insert_with(kept);
        }
        self.commit(&base, decision, beside).await?;
        Ok(answer)
    }
}

impl Loaded {
    fn digester(&self) -> Digester {
        self.base.digester()
    }

    /// The place of the newest record; 0 where there is none.
    fn newest_seq(&self) -> u64 {
        self.agent.next_seq.saturating_sub(1)
    }

    /// Takes the requested session.
    fn take_session(&mut self, id: SessionId) -> Result<Session> {
        self.session
            .take()
            .map(|(session, _)| session)
            .ok_or_else(|| Error::NoSession(id.to_string()))
    }
}
