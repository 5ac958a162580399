//! Quotas: the limits of one agent, and of one account, in an installation.
//!
//! One table holds every quota, [`Quotas::check`] is the one check, and a new quota is a line of the table and a call
//! of the check. Usage is computed from stored data: counts of the agent, sizes of the records of its log, sessions by
//! their start. A process caches it for [`REMEMBERED_SECONDS`] and adds its own writes; those of other processes count
//! after the next read.
//!
//! Quotas count by agent and by account, never by token, and hold for every interface.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
};

use memoir_domain::{
    AccountId, AgentId, AgentScope, Timestamp,
    access::{AccessState, CALLS},
    agent::Agent,
    audit::{Action, ActorKind},
    draft::Decision,
    session::{Driver, State, is_builtin},
};
use memoir_store::{
    Commit, CountAndTokens, MessageRow, RecordFilter, RecordOrder, RecordPlace, StoredUsage,
    TranscriptRow, Waiting,
};
use parking_lot::Mutex;

use crate::core::{AgentHandle, Error, Memoir, Result, codec, parallel::ConcurrencyLimit};

/// How long the usage of an account or an agent is cached.
const REMEMBERED_SECONDS: i64 = 600;
/// Most agents and accounts whose usage is cached.
const REMEMBERED: usize = 10_000;
pub(crate) const DAY_SECONDS: i64 = 24 * 60 * 60;
/// After how many seconds a client may retry after a daily quota is used up.
// The window slides over a day: something becomes free all the time.
const RETRY_SECONDS: u32 = 3_600;
/// From which share of a quota on `memoir doctor` warns, in percent.
pub(crate) const NEAR_PERCENT: u64 = 80;
/// Sessions and records that are read per query to count the calls of a model.
const PAGE: u32 = 200;
/// How long an agent is not asked again for a requested session after a refusal (SPEC 3.3).
const REFUSED_SECONDS: i64 = 24 * 60 * 60;

/// The records that follow calls of a model outside of sessions.
const LIFE_ACTIONS: [Action; 4] = [
    Action::ReflectionCompleted,
    Action::ReflectionFailed,
    Action::TranscriptAbsorbed,
    Action::TranscriptFailed,
];
/// The records of what the model was asked for, and its calls ([`CALLS`]).
const ACCESS_ACTIONS: [Action; 4] = [
    Action::AccessGranted,
    Action::AccessRefused,
    Action::AccessRevoked,
    Action::AccessExpired,
];
/// Most calls that one request for access can need in a day: its counts are those of all of its days. Questions are an
/// hour apart at least after the first ones, with two responses each.
const ASKED_A_DAY: u64 = 64;

fn follows_calls(action: Action) -> bool {
    action.is_session_end() || LIFE_ACTIONS.contains(&action) || ACCESS_ACTIONS.contains(&action)
}

macro_rules! quotas {
    ($($(#[$doc:meta])* $quota:ident = $key:literal, $default:expr, $code:literal, $what:literal;)*) => {
        /// What a quota limits.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Quota {
            $($(#[$doc])* #[doc = concat!("Limits the ", $what, ".")] $quota,)*
        }

        impl Quota {
            /// All of them, in the order of the table.
            pub const ALL: [Self; [$(Self::$quota),*].len()] = [$(Self::$quota),*];

            /// Its key in the section `[quotas]` of the configuration.
            pub fn key(self) -> &'static str {
                match self { $(Self::$quota => $key),* }
            }

            /// Its default; `None` for no limit.
            pub fn default(self) -> Option<u64> {
                match self { $(Self::$quota => $default),* }
            }

            /// The error code.
            pub fn code(self) -> &'static str {
                match self { $(Self::$quota => $code),* }
            }

            /// The counted unit, for messages.
            pub fn what(self) -> &'static str {
                match self { $(Self::$quota => $what),* }
            }
        }
    };
}

quotas! {
    /// Memories of an agent, discarded ones included.
    AgentMemories = "agent_memories", Some(500_000), "storage_quota", "memories of this agent";
    AgentCharacters = "agent_characters", Some(64_000_000), "storage_quota", "characters of this agent's memories";
    AgentWaiting = "agent_waiting_characters", Some(64_000_000), "storage_quota", "characters of conversations of this agent that wait to be read or could not be";
    AgentBytesADay = "agent_bytes_a_day", Some(128 << 20), "daily_quota", "bytes that this agent saves in 24 hours";
    AgentHandedBytesADay = "agent_handed_over_bytes_a_day", Some(128 << 20), "daily_quota", "bytes of conversations that this agent hands over in 24 hours";
    AgentTokens = "agent_tokens", Some(100), "token_quota", "tokens of this agent that are valid or were made in the last 24 hours";
    AgentStreams = "agent_streams", Some(32), "rate_limited", "open streams of events of this agent";
    AgentSessionsADay = "agent_sessions_a_day", Some(100), "daily_quota", "sessions of this agent that Memoir drives in 24 hours";
    AgentCallsADay = "agent_model_calls_a_day", Some(2_000), "daily_quota", "calls of this agent's model in 24 hours";
    AgentCostADay = "agent_cost_cents_a_day", None, "daily_quota", "hundredths of the prices' currency for this agent's sessions in 24 hours";
    /// Memories of an account's agents, discarded ones included.
    AccountMemories = "account_memories", Some(10_000_000), "storage_quota", "memories of this account";
    AccountBytesADay = "account_bytes_a_day", Some(8 << 30), "daily_quota", "bytes that this account's agents save in 24 hours";
    AccountWaiting = "account_waiting_characters", Some(6_400_000_000), "storage_quota", "characters of conversations of this account that wait to be read";
    AccountTokens = "account_tokens", Some(50_000), "token_quota", "tokens of this account's agents that are valid or were made in the last 24 hours";
    AccountStreams = "account_streams", Some(2_000), "rate_limited", "open streams of events of this account";
    AccountSessionsADay = "account_sessions_a_day", Some(20_000), "daily_quota", "sessions of this account that Memoir drives in 24 hours";
    AccountCallsADay = "account_model_calls_a_day", Some(400_000), "daily_quota", "calls of the models of this account's agents in 24 hours";
    AccountCostADay = "account_cost_cents_a_day", None, "daily_quota", "hundredths of the prices' currency for the sessions of this account's agents in 24 hours";
}

impl Quota {
    /// After how many seconds a client may try again; `None` where time alone frees nothing.
    pub fn retry_after(self) -> Option<u32> {
        match self.code() {
            "daily_quota" => Some(RETRY_SECONDS),
            "rate_limited" => Some(5),
            _ => None,
        }
    }
}

/// The characters that a message counts as besides its text: its row takes as much room.
const MESSAGE_CHARACTERS: u64 = 400;

fn characters(messages: CountAndTokens) -> u64 {
    // The columns are not sealed: a size that was modified outside Memoir is as good as the largest.
    let texts = messages.tokens.saturating_mul(4);
    texts.saturating_add(messages.count.saturating_mul(MESSAGE_CHARACTERS))
}

/// The characters of conversations that wait to be read or could not be, with the rows of those whose words are kept.
fn waiting(transcript: &TranscriptRow) -> u64 {
    characters(CountAndTokens {
        count: transcript.pending + transcript.failed + transcript.kept,
        // The words of what failed stay, and can be read on request.
        tokens: transcript
            .pending_tokens
            .saturating_add(transcript.failed_tokens),
    })
}

/// The limit of each quota.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quotas([Option<u64>; Quota::ALL.len()]);

impl Default for Quotas {
    fn default() -> Self {
        Self(Quota::ALL.map(Quota::default))
    }
}

/// A quota that is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, derive_more::Display)]
#[display(
    "the quota of {limit} {} is reached: {used} are used, and the request needs {more} more; nothing was changed \
     (`[quotas] {}` in the configuration of the installation)", quota.what(), quota.key()
)]
pub struct QuotaReached {
    /// The quota.
    pub quota: Quota,
    /// The usage.
    pub used: u64,
    /// The additional request.
    pub more: u64,
    /// The limit.
    pub limit: u64,
}

impl Quotas {
    /// The limit of one; `None` for no limit.
    pub fn limit(&self, quota: Quota) -> Option<u64> {
        self.0[quota as usize]
    }

    /// Sets the limit of one; `None` for no limit.
    pub fn set(&mut self, quota: Quota, limit: Option<u64>) {
        self.0[quota as usize] = limit;
    }

    /// Makes sure that `more` beside what is `used` stays within a quota.
    ///
    /// # Errors
    /// [`Error::Quota`].
    pub fn check(&self, quota: Quota, used: u64, more: u64) -> Result<()> {
        match self.limit(quota) {
            Some(limit) if used.saturating_add(more) > limit => Err(Error::Quota(QuotaReached {
                quota,
                used,
                more,
                limit,
            })),
            _ => Ok(()),
        }
    }
}

type Whose = (AccountId, Option<AgentId>);

/// What was read of accounts or agents, with the time of each.
struct Remembered<K, V>(Mutex<HashMap<K, (V, Timestamp)>>);

impl<K: Eq + Hash, V: Clone> Remembered<K, V> {
    /// What is known of one; `None` where it was not read lately. A clock that was set back makes it unknown.
    fn get(&self, whose: &K, now: Timestamp) -> Option<V> {
        let all = self.0.lock();
        let (known, read_at) = all.get(whose)?;
        let age = now.microseconds() - read_at.microseconds();
        let is_recent = (0..REMEMBERED_SECONDS * 1_000_000).contains(&age);
        is_recent.then(|| known.clone())
    }

    fn put(&self, whose: K, known: V, read_at: Timestamp) {
        let mut all = self.0.lock();
        if all.len() >= REMEMBERED {
            // All of it is read again where it is needed.
            all.clear();
        }
        all.insert(whose, (known, read_at));
    }

    fn change(&self, whose: &K, change: impl FnOnce(&mut V)) {
        if let Some((known, _)) = self.0.lock().get_mut(whose) {
            change(known);
        }
    }
}

/// The use of models by the agents of an account; `None` for one whose model was called since.
type ModelUses = HashMap<AgentId, Option<ModelUse>>;

/// This process's cache of the usage of agents and accounts.
pub(crate) struct Usages {
    stored: Remembered<Whose, StoredUsage>,
    models: Remembered<AccountId, ModelUses>,
    /// One reader of an account's use of models at a time.
    reading: ConcurrencyLimit,
}

/// Accounts whose use of models is read at a time.
const READERS: usize = 2;

impl Default for Usages {
    fn default() -> Self {
        Self {
            stored: Remembered(Mutex::default()),
            models: Remembered(Mutex::default()),
            reading: ConcurrencyLimit::new(READERS),
        }
    }
}

impl Usages {
    fn put_model(&self, scope: AgentScope, used: Option<ModelUse>) {
        self.models.change(&scope.account, |uses| {
            uses.insert(scope.agent, used);
        });
    }

    pub(crate) fn add(&self, scope: AgentScope, written: &Written) {
        for agent in [Some(scope.agent), None] {
            self.stored.change(&(scope.account, agent), |usage| {
                usage.add(written.usage);
                let waiting = &mut usage.waiting;
                waiting.count = waiting.count.saturating_sub(written.read.count);
                waiting.tokens = waiting.tokens.saturating_sub(written.read.tokens);
            });
        }
        if written.asks_model {
            self.put_model(scope, None);
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ModelUse {
    sessions: u64,
    calls: u64,
    /// In the currency of the prices.
    cost: f64,
    refused_at: Option<Timestamp>,
}

impl Memoir {
    /// The calls of models by an account's agents in the last day, and their cost. What other processes use counts after
    /// the next read.
    async fn account_model_use(&self, account: AccountId) -> Result<(u64, f64)> {
        let usages = &self.usages;
        let _reading = usages.reading.take(AgentScope::of_account(account)).await?;
        let now = self.now();
        let by_agent = match usages.models.get(&account, now) {
            Some(known) => known,
            None => {
                let askers = self.agents_with_model_use(account, now).await?;
                let by_agent: ModelUses = askers.into_iter().map(|agent| (agent, None)).collect();
                usages.models.put(account, by_agent.clone(), now);
                by_agent
            }
        };
        let (mut calls, mut cost) = (0, 0.0);
        for (agent, known) in by_agent {
            let scope = AgentScope { account, agent };
            let read = match known {
                Some(used) => Ok(used),
                None => self.handle(scope).model_use().await,
            };
            let used = match read {
                Err(Error::Store(error)) => return Err(error.into()),
                // Another agent's damaged rows must not stop this one: they are a finding of that one.
                read => read.unwrap_or_default(),
            };
            if known.is_none() {
                usages.put_model(scope, Some(used));
            }
            calls += used.calls;
            cost += used.cost;
        }
        Ok((calls, cost))
    }

    async fn agents_with_model_use(
        &self,
        account: AccountId,
        now: Timestamp,
    ) -> Result<HashSet<AgentId>> {
        let filter = RecordFilter {
            actions: Action::ALL
                .into_iter()
                .filter(|action| follows_calls(*action))
                .collect(),
            since: Some(now.plus_seconds(-DAY_SECONDS)),
            ..RecordFilter::default()
        };
        let mut agents = HashSet::new();
        let mut after = None;
        loop {
            let order = RecordOrder::OldestFirst;
            let found = self
                .store
                .fleet_records(account, &filter, order, after, PAGE);
            let found = found.await?;
            after = found.last().map(|last| RecordPlace {
                recorded_at: last.record.recorded_at,
                agent: last.agent,
                seq: last.record.seq,
            });
            agents.extend(found.iter().map(|record| record.agent));
            if found.len() < PAGE as usize {
                return Ok(agents);
            }
        }
    }

    async fn usage_of(&self, whose: Whose) -> Result<StoredUsage> {
        let now = self.now();
        if let Some(usage) = self.usages.stored.get(&whose, now) {
            return Ok(usage);
        }
        let since = now.plus_seconds(-DAY_SECONDS);
        let usage = self.store.usage(whose.0, whose.1, since).await?;
        self.usages.stored.put(whose, usage, now);
        Ok(usage)
    }

    /// The messages of an account that wait. Where its usage is not cached, these alone are read: a process of a hook
    /// would otherwise count everything that the account has, for each conversation that it hands over.
    async fn waiting_of(&self, account: AccountId) -> Result<CountAndTokens> {
        match self.usages.stored.get(&(account, None), self.now()) {
            Some(usage) => Ok(usage.waiting),
            None => Ok(self.store.waiting_messages(account).await?),
        }
    }

    /// The usage of each stored quota by an account.
    pub(crate) async fn account_uses(&self, account: AccountId) -> Result<Vec<(Quota, u64)>> {
        let usage = self.usage_of((account, None)).await?;
        let (calls, cost) = self.account_model_use(account).await?;
        Ok(vec![
            (
                Quota::AccountTokens,
                self.token_uses(account, self.now()).await?,
            ),
            (Quota::AccountCallsADay, calls),
            (Quota::AccountCostADay, cents(cost)),
            (Quota::AccountMemories, usage.memories),
            (Quota::AccountBytesADay, usage.log_bytes),
            (Quota::AccountWaiting, characters(usage.waiting)),
            (Quota::AccountSessionsADay, usage.driven_sessions),
        ])
    }
}

pub(crate) fn new_memories(decision: &Decision) -> u64 {
    let changes = decision.changes.iter();
    changes.filter(|change| change.before().is_none()).count() as u64
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Written {
    pub(crate) usage: StoredUsage,
    /// The messages that wait no more.
    pub(crate) read: CountAndTokens,
    pub(crate) asks_model: bool,
}

impl Written {
    pub(crate) fn add(&mut self, other: &Self) {
        self.usage.add(other.usage);
        self.read = [self.read, other.read].into_iter().sum();
        self.asks_model |= other.asks_model;
    }
}

/// The usage that a commit changes, with so many new memories.
pub(crate) fn written(memories: u64, commit: &Commit) -> Written {
    let records = commit.records.iter();
    let own = records.filter(|record| record.actor_kind == ActorKind::Agent);
    let bodies = own.map(|record| record.body.0.len() as u64);
    let waiting = commit.waiting.as_ref().map(|(waiting, _)| waiting);
    let handed = match waiting {
        Some(Waiting::New(rows)) => rows.iter().map(|row| row.counted_bytes).sum(),
        Some(Waiting::Again { .. }) | None => 0,
    };
    let read = commit.messages.iter();
    let asks = commit.records.iter();
    Written {
        usage: StoredUsage {
            memories,
            log_bytes: bodies.sum(),
            handed_bytes: handed,
            waiting: waiting.map(Waiting::size).unwrap_or_default(),
            driven_sessions: 0,
        },
        read: CountAndTokens {
            count: read.len() as u64,
            tokens: read.map(|message| message.tokens).sum(),
        },
        // Of a request for access, its row alone has the calls that gave no answer.
        asks_model: !commit.sessions.is_empty()
            || !commit.access.is_empty()
            || asks.into_iter().any(|record| follows_calls(record.action)),
    }
}

/// Characters of an agent's active memories, at most three too many for each.
fn characters_of(agent: &Agent) -> u64 {
    let tally = agent.tally;
    (tally.core_tokens + tally.journal_tokens + tally.archival_tokens) * 4
}

impl AgentHandle {
    /// Makes sure that so many more memories of so many bytes stay within the quotas; where the agent itself writes
    /// them, within its daily ones too.
    pub(crate) async fn check_growth(
        &self,
        agent: &Agent,
        (memories, bytes): (u64, u64),
        writer: ActorKind,
    ) -> Result<()> {
        let (memoir, scope) = (&self.memoir, self.scope);
        let quotas = &memoir.settings.quotas;
        if memories > 0 {
            let account = memoir.usage_of((scope.account, None)).await?;
            quotas.check(Quota::AgentMemories, agent.tally.with_text(), memories)?;
            quotas.check(Quota::AgentCharacters, characters_of(agent), bytes)?;
            quotas.check(Quota::AccountMemories, account.memories, memories)?;
        }
        match writer {
            ActorKind::Agent => self.check_daily_quota(bytes).await,
            _ => Ok(()),
        }
    }

    /// Makes sure that the agent itself may write so many more bytes to its log today. It reads no row of the agent, so
    /// it can be called before any other read.
    ///
    /// # Errors
    /// [`Error::Quota`]; the store fails.
    pub async fn check_daily_quota(&self, bytes: u64) -> Result<()> {
        let (memoir, scope) = (&self.memoir, self.scope);
        let quotas = &memoir.settings.quotas;
        let own = memoir.usage_of((scope.account, Some(scope.agent))).await?;
        quotas.check(Quota::AgentBytesADay, own.log_bytes, bytes)?;
        let account = memoir.usage_of((scope.account, None)).await?;
        quotas.check(Quota::AccountBytesADay, account.log_bytes, bytes)
    }

    /// Makes sure that one more driven session may be requested. [`Error::RefusedLately`] is for every caller.
    pub(crate) async fn check_driven_session(&self, is_requested: bool) -> Result<()> {
        let quotas = &self.memoir.settings.quotas;
        let used = self.check_model_use().await?;
        quotas.check(Quota::AgentSessionsADay, used.sessions, 1)?;
        let account = self.memoir.usage_of((self.scope.account, None)).await?;
        quotas.check(Quota::AccountSessionsADay, account.driven_sessions, 1)?;
        // The schedule waits for its own next slot, which may come earlier.
        if is_requested && let Some(at) = used.refused_at {
            let until = at.plus_seconds(REFUSED_SECONDS);
            let left = until.microseconds() - self.memoir.now().microseconds();
            // A refusal in the future was noted by a clock that was set back since, and is ignored.
            if (1..=REFUSED_SECONDS * 1_000_000).contains(&left) {
                // Of a day: it fits.
                let seconds = ((left + 999_999) / 1_000_000) as u32;
                return Err(Error::RefusedLately { at, until, seconds });
            }
        }
        Ok(())
    }

    pub(crate) async fn check_model_use(&self) -> Result<ModelUse> {
        let quotas = &self.memoir.settings.quotas;
        let used = self.model_use().await?;
        quotas.check(Quota::AgentCallsADay, used.calls, 1)?;
        quotas.check(Quota::AgentCostADay, cents(used.cost), 1)?;
        let of_account = [Quota::AccountCallsADay, Quota::AccountCostADay];
        if of_account.map(|quota| quotas.limit(quota)) != [None, None] {
            self.memoir.usages.put_model(self.scope, Some(used));
            let (calls, cost) = self.memoir.account_model_use(self.scope.account).await?;
            quotas.check(Quota::AccountCallsADay, calls, 1)?;
            quotas.check(Quota::AccountCostADay, cents(cost), 1)?;
        }
        Ok(used)
    }

    /// The usage of the agent's model in the last day: by sessions and requests for access, and at least one call for
    /// each reflection and each part of a conversation.
    async fn model_use(&self) -> Result<ModelUse> {
        let store = &self.memoir.store;
        let since = self.memoir.now().plus_seconds(-DAY_SECONDS);
        let mut used = ModelUse::default();
        let mut before = None;
        loop {
            let page = self.sessions_before(before, PAGE).await?;
            let (count, has_more) = (page.rows.len(), page.has_more);
            before = page.last();
            let rows = page.rows.into_iter();
            let mut recent = rows.take_while(|row| row.columns.started_at > since);
            let counted = recent.try_fold(0, |counted, row| {
                let (session, _) = codec::session(None, row)?;
                if session.driver == Driver::Model {
                    self.count_session(&mut used, &session);
                }
                Ok::<usize, Error>(counted + 1)
            })?;
            // The quota itself limits the number of reads.
            if !has_more || counted < count {
                break;
            }
        }
        for row in store.open_requests(self.scope).await? {
            let request = codec::listed_access_request(&row)?;
            let asked = request.question.filter(|asked| asked.until > since);
            // An answer's record has the calls before it.
            if let (AccessState::Asked, Some(asked)) = (request.state, asked) {
                let calls = asked.usage.calls.min(ASKED_A_DAY);
                used.calls = used.calls.saturating_add(calls);
            }
        }
        let mut filter = RecordFilter {
            since: Some(since),
            first: Some(PAGE),
            ..RecordFilter::of_actions([LIFE_ACTIONS, ACCESS_ACTIONS].concat())
        };
        loop {
            let _room = self.room_for_records(&filter).await?;
            let rows = store.records(self.scope, &filter).await?;
            for row in &rows {
                let calls = match LIFE_ACTIONS.contains(&row.action) {
                    true => 1,
                    false => codec::facts(row)?
                        .count_of(CALLS)
                        .map_or(0, |calls| calls.min(ASKED_A_DAY)),
                };
                used.calls = used.calls.saturating_add(calls);
            }
            match rows.last() {
                Some(last) if rows.len() == PAGE as usize => filter.from_seq = last.seq + 1,
                _ => return Ok(used),
            }
        }
    }

    fn count_session(&self, used: &mut ModelUse, session: &memoir_domain::session::Session) {
        used.sessions += 1;
        used.calls += session.usage.calls;
        let name = session.model.as_deref().and_then(|name| name.parse().ok());
        let price = name.and_then(|name| self.memoir.settings.prices.get(&name));
        used.cost += price.map_or(0.0, |price| price.cost(&session.usage));
        // A model that only follows rules has no limits and no costs.
        let is_asked = !session.model.as_deref().is_some_and(is_builtin);
        if session.state == State::Declined && is_asked {
            used.refused_at = used.refused_at.max(session.ended_at);
        }
    }

    /// Makes sure that so many more messages of conversations may wait beside those that do; and those that the agent
    /// itself hands over, within its day.
    pub(crate) async fn check_waiting(
        &self,
        present: &TranscriptRow,
        new: &[MessageRow],
    ) -> Result<()> {
        let (memoir, scope) = (&self.memoir, self.scope);
        let quotas = &memoir.settings.quotas;
        let more = characters(CountAndTokens {
            count: new.len() as u64,
            tokens: new.iter().map(|row| row.tokens).sum(),
        });
        quotas.check(Quota::AgentWaiting, waiting(present), more)?;
        let bytes = new.iter().map(|row| row.counted_bytes).sum();
        if bytes > 0 {
            let own = memoir.usage_of((scope.account, Some(scope.agent))).await?;
            quotas.check(Quota::AgentHandedBytesADay, own.handed_bytes, bytes)?;
        }
        if quotas.limit(Quota::AccountWaiting).is_none() {
            return Ok(());
        }
        let account = memoir.waiting_of(scope.account).await?;
        quotas.check(Quota::AccountWaiting, characters(account), more)
    }

    /// The usage of each stored quota by the agent, which has used so many tokens of its day.
    pub(crate) async fn quota_uses(&self, tokens: u64) -> Result<Vec<(Quota, u64)>> {
        let (memoir, scope) = (&self.memoir, self.scope);
        let query = memoir_store::AgentQuery::default().with_transcript();
        let loaded = self.load(&query).await?;
        let agent = loaded.agent;
        let own = memoir.usage_of((scope.account, Some(scope.agent))).await?;
        let model = self.model_use().await?;
        Ok(vec![
            (Quota::AgentMemories, agent.tally.with_text()),
            (Quota::AgentCharacters, characters_of(&agent)),
            (Quota::AgentWaiting, waiting(&loaded.transcript)),
            (Quota::AgentBytesADay, own.log_bytes),
            (Quota::AgentHandedBytesADay, own.handed_bytes),
            (Quota::AgentTokens, tokens),
            (Quota::AgentSessionsADay, model.sessions),
            (Quota::AgentCallsADay, model.calls),
            (Quota::AgentCostADay, cents(model.cost)),
        ])
    }
}

/// In whole hundredths, rounded up.
fn cents(cost: f64) -> u64 {
    // A cost is never negative, and one beyond `u64` is as good as the largest.
    (cost * 100.0).ceil() as u64
}
