//! One agent: reading it in the domain's types, and deciding on what was read.

use std::{future::ready, sync::Arc};

use memoir_domain::{
    AccountId, AgentId, AgentScope, SessionId, Timestamp,
    agent::{self, Agent},
    audit::Actor,
    lifecycle::{self, NothingToRefine},
    memories::AllMemories,
    memory::{Kind, Memory, Number},
    session::{Mode, Session},
    text::Digester,
};
use memoir_store::{
    AgentQuery, AgentRow, ArchiveLink, CountAndTokens, Counting, MemoryPage, MemoryRow,
    RecordFilter, RowCounts, Selection, SessionRow, Snapshot, TranscriptRow,
};
use memoir_vault::AgentKey;

use super::{
    Error, Memoir, Result, again, codec,
    load_room::{self, HeldRoom},
    opened::MemoryList,
    parallel,
    rehearsal::Rehearsal,
    replies,
};

/// One tenant.
#[derive(Clone)]
pub struct Account {
    pub(crate) memoir: Memoir,
    pub(crate) id: AccountId,
    pub(crate) name: String,
}

/// One agent of one account. Everything private is reached through one of these, and none of its
/// methods can name another agent; nor can a handle be turned to another one (SPEC 5.6):
///
/// ```compile_fail,E0616
/// fn turn(handle: &mut memoir_app::AgentHandle, other: &memoir_app::AgentHandle) {
///     handle.scope = other.scope();
/// }
/// ```
#[derive(Clone)]
pub struct AgentHandle {
    pub(crate) memoir: Memoir,
    pub(crate) scope: AgentScope,
    pub(crate) name: String,
    /// The agent's key, where this handle's request has read it from the key store.
    pub(crate) key: Option<AgentKey>,
    /// What must hold at every read of the agent, where the decision is based on what a user was shown.
    pub(crate) condition: Option<Condition>,
    /// Whether its memory rows are not counted and compared. It must be possible to erase an agent whatever was removed
    /// from the database, and a program that starts need not wait for the archive to be counted.
    pub(crate) counts_no_rows: bool,
    /// Whether the memories that this handle reads are kept opened for the next read.
    pub(crate) keeps_opened: bool,
}

pub(crate) type AgentCondition = dyn Fn(&Memoir, &Agent) -> bool + Send + Sync;

/// Whether a memory is as a caller expects it, given what the archive links it with.
pub(crate) type MemoryCondition = dyn Fn(&Memory, Vec<ArchiveLink>) -> bool + Send + Sync;

/// What must hold at the moment of a change; otherwise [`Error::Changed`].
#[derive(Clone)]
pub(crate) enum Condition {
    /// No record is newer than the one of this place.
    NewestRecord(u64),
    Agent(Arc<AgentCondition>),
    Memory(Number, Arc<MemoryCondition>),
}

/// Defines what a module offers of one agent: a type over its handle, and the handle's method that returns it.
macro_rules! agent_part {
    ($(#[$doc:meta])* $part:ident, $method:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, derive_more::Deref)]
        pub struct $part<'a>(#[deref(forward)] &'a $crate::core::AgentHandle);

        impl $crate::core::AgentHandle {
            $(#[$doc])*
            pub fn $method(&self) -> $part<'_> {
                $part(self)
            }
        }
    };
}
pub(crate) use agent_part;

/// The result of one read of an agent, in the domain's types.
pub(crate) struct Loaded {
    pub(crate) base: codec::Base,
    pub(crate) agent: Agent,
    pub(crate) memories: MemoryList,
    pub(crate) session: Option<(Session, Option<Rehearsal>)>,
    pub(crate) running_session: Option<SessionId>,
    /// The state of the agent's messages; empty where it was not wanted.
    pub(crate) transcript: TranscriptRow,
}

/// The sealed sessions of a page, newest first.
pub(crate) struct SessionRows {
    pub(crate) rows: Vec<SessionRow>,
    pub(crate) has_more: bool,
    pub(crate) room: Option<HeldRoom>,
}

impl SessionRows {
    /// Where the next page begins.
    pub(crate) fn last(&self) -> Option<(Timestamp, SessionId)> {
        let last = self.rows.last();
        last.map(|row| (row.columns.started_at, row.id))
    }
}

/// The number and size of an agent's memory rows, as its sealed document says.
fn recorded_counts(agent: &Agent) -> RowCounts {
    let tally = agent.tally;
    let part = |count, tokens| CountAndTokens { count, tokens };
    RowCounts {
        core: part(tally.core_count, tally.core_tokens),
        journal: part(tally.journal_count, tally.journal_tokens),
        archival: part(tally.archival_count, tally.archival_tokens),
        discarded: tally.discarded_count,
        shredded: tally.shredded_count,
    }
}

/// Checks that the number and size of an agent's memory rows match its sealed document (SPEC 3.12): a row that was
/// removed outside Memoir is detected at the next read.
pub(crate) fn check_counts(agent: &Agent, rows: &RowCounts) -> Result<()> {
    let counted = recorded_counts(agent);
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

/// Checks that the agent's messages are those that its sealed document counts (SPEC 2.6, 3.12), as [`check_counts`] does
/// for its memories.
pub(crate) fn check_messages(agent: &Agent, row: &TranscriptRow) -> Result<()> {
    let (found, counted) = (row.counts, agent.messages);
    if found == counted {
        return Ok(());
    }
    Err(Error::Tampered(format!(
        "table `transcript_messages`: modified outside Memoir (waiting: {} rows of {} tokens where {} of {} are \
         recorded; read: {} where {} are; failed: {} where {} are); a backup has the rows",
        found.pending,
        found.pending_tokens,
        counted.pending,
        counted.pending_tokens,
        found.absorbed,
        counted.absorbed,
        found.failed,
        counted.failed,
    )))
}

/// Checks that messages which wait have a time from which they are read: without one the schedule passes them over.
pub(crate) fn check_due(row: &TranscriptRow) -> Result<()> {
    if row.pending == 0 || row.due_at.is_some() {
        return Ok(());
    }
    Err(Error::Tampered(format!(
        "table `transcripts`: modified outside Memoir ({} messages wait, and nothing says from when on they are read); \
         absorbing on request reads them",
        row.pending
    )))
}

impl AgentHandle {
    pub(crate) fn new(memoir: Memoir, scope: AgentScope, name: String) -> Self {
        Self {
            memoir,
            scope,
            name,
            key: None,
            condition: None,
            counts_no_rows: false,
            keeps_opened: true,
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

    pub(crate) fn under(&self, condition: Option<Condition>) -> Self {
        Self {
            condition,
            ..self.clone()
        }
    }

    /// The same agent, whose memory rows are not counted at reads.
    pub(crate) fn uncounted(self) -> Self {
        Self {
            counts_no_rows: true,
            ..self
        }
    }

    /// A digest of a text under the agent's key, by which a caller recognizes the text: without the key no guess can be
    /// checked against it.
    ///
    /// # Errors
    /// The agent is gone; the store fails.
    pub async fn digest(&self, text: &str) -> Result<u64> {
        // It shows no memory, so that their rows need not be counted.
        let uncounted = self.clone().uncounted();
        let loaded = uncounted.load(&AgentQuery::default()).await?;
        Ok(loaded.digester().known_again(text))
    }

    /// The agent as an actor.
    pub fn as_actor(&self) -> Actor {
        Actor::agent(self.name.clone())
    }

    /// Reads the agent, once there is room for it.
    pub(crate) async fn load(&self, query: &AgentQuery) -> Result<Loaded> {
        let room = self.room_for(query).await?;
        let mut query = self.counting(query.clone());
        // The condition is on its settings, some of which are prompts.
        query.prompts |= matches!(self.condition, Some(Condition::Agent(_)));
        self.read(self.snapshot(&query).await?, room).await
    }

    pub(crate) async fn load_memories(&self, memories: Selection) -> Result<Loaded> {
        self.load(&AgentQuery::of_memories(memories)).await
    }

    /// The query, which counts the agent's rows where that is necessary.
    pub(crate) fn counting(&self, query: AgentQuery) -> AgentQuery {
        let counting = match self.counts_no_rows {
            true => Counting::Never,
            false => self.memoir.room.counting(self.scope),
        };
        AgentQuery { counting, ..query }
    }

    /// Checks all core memories, by their sizes, as [`check_counts`] does, where this handle counts no rows.
    pub(crate) fn check_core(
        &self,
        agent: &Agent,
        tokens: impl Iterator<Item = u64>,
    ) -> Result<()> {
        if !self.counts_no_rows {
            return Ok(());
        }
        let one = |tokens| CountAndTokens { count: 1, tokens };
        let found = RowCounts {
            core: tokens.map(one).sum(),
            ..recorded_counts(agent)
        };
        check_counts(agent, &found)
    }

    /// Waits for room for the result of a query; `None` where it includes no memories.
    pub(crate) async fn room_for(&self, query: &AgentQuery) -> Result<Option<HeldRoom>> {
        // Outside of a task there is only one caller, as on the command line.
        let has_rows = query.memories != Selection::None || query.marks_after.is_some();
        if !has_rows || tokio::task::try_id().is_none() {
            return Ok(None);
        }
        let bytes = self.size_of(query).await?;
        Ok(Some(self.memoir.room.take(self.scope, bytes).await?))
    }

    pub(crate) async fn is_short(&self, query: &AgentQuery) -> Result<bool> {
        Ok(self.size_of(query).await? <= load_room::SHORT_LOAD)
    }

    /// Does work that reads the result of a query: at a lower priority where that takes long.
    pub(crate) async fn by_size<T: Send + 'static>(
        &self,
        query: &AgentQuery,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        match self.size_of(query).await? <= load_room::QUICK_LOAD {
            true => work.await,
            false => parallel::run_long(replies::for_this_request(work)).await,
        }
    }

    async fn size_of(&self, query: &AgentQuery) -> Result<usize> {
        // Reading the counts makes the weight known.
        self.known_counts().await?;
        Ok(self.memoir.room.weight(self.scope, query).unwrap_or(0))
    }

    /// The number and size of the agent's memory rows when they were last read.
    pub(crate) async fn known_counts(&self) -> Result<RowCounts> {
        let (room, store) = (&self.memoir.room, &self.memoir.store);
        if let Some(counts) = room.counts(self.scope) {
            return Ok(counts);
        }
        // Rarely: every read notes the counts.
        let found = store.snapshot(self.scope, &AgentQuery::default()).await?;
        let counts = found.and_then(|found| found.row_counts);
        let counts = counts.unwrap_or_default();
        room.note(self.scope, counts);
        Ok(counts)
    }

    pub(crate) async fn room_for_records(&self, filter: &RecordFilter) -> Result<Option<HeldRoom>> {
        // One record is short beside what finding its size would cost.
        let is_one = filter.first.or(filter.last).is_some_and(|most| most <= 1);
        if is_one || tokio::task::try_id().is_none() {
            return Ok(None);
        }
        let sizes = self.memoir.store.record_sizes(self.scope, filter).await?;
        self.room_for_sizes(&sizes).await
    }

    /// Waits for room for records or sessions of these sealed sizes.
    pub(crate) async fn room_for_sizes(&self, sizes: &[u64]) -> Result<Option<HeldRoom>> {
        if tokio::task::try_id().is_none() {
            return Ok(None);
        }
        let bytes = load_room::record_bytes(sizes);
        Ok(Some(self.memoir.room.take(self.scope, bytes).await?))
    }

    /// One page of at most `most` sealed sessions begun before that one, newest first.
    pub(crate) async fn sessions_before(
        &self,
        before: Option<(Timestamp, SessionId)>,
        most: u32,
    ) -> Result<SessionRows> {
        let store = &self.memoir.store;
        let wanted = most.saturating_add(1);
        let sizes = store.session_sizes(self.scope, before, wanted).await?;
        let count = load_room::fitting(&sizes, most);
        let is_cut = sizes.len() > count as usize;
        let room = self.room_for_sizes(&sizes[..count as usize]).await?;
        // One more where all fit: a session that began since moves the oldest to the next page.
        let limit = if is_cut { count } else { wanted };
        let mut rows = store.session_page(self.scope, before, limit).await?;
        let has_more = is_cut || rows.len() > most as usize;
        rows.truncate(most as usize);
        Ok(SessionRows {
            rows,
            has_more,
            room,
        })
    }

    /// The sessions begun before that one, newest first, at most `most`, as `open` reads them page by page.
    pub(crate) async fn open_sessions<T>(
        &self,
        mut before: Option<(Timestamp, SessionId)>,
        most: u32,
        open: impl Fn(SessionRow) -> Result<T>,
    ) -> Result<Vec<T>> {
        /// Each page reads the sizes of as many.
        const AT_ONCE: u32 = 1_000;
        let (mut opened, mut left) = (Vec::new(), most);
        loop {
            let page = self.sessions_before(before, left.min(AT_ONCE)).await?;
            before = page.last().or(before);
            left = left.saturating_sub(u32::try_from(page.rows.len()).unwrap_or(u32::MAX));
            for row in page.rows {
                opened.push(open(row)?);
            }
            if left == 0 || !page.has_more {
                return Ok(opened);
            }
        }
    }

    pub(crate) async fn rows_with_room(
        &self,
        page: &MemoryPage,
    ) -> Result<(Vec<MemoryRow>, Option<HeldRoom>)> {
        let query = AgentQuery::of_memories(Selection::Page(page.clone()));
        let mut room = self.room_for(&query).await?;
        let rows = self.memoir.store.memory_page(self.scope, page).await?;
        load_room::fit(&mut room, &rows);
        Ok((rows, room))
    }

    /// Reads the agent from the store, sealed as stored.
    pub(crate) async fn snapshot(&self, query: &AgentQuery) -> Result<Snapshot> {
        let snapshot = self.memoir.store.snapshot(self.scope, query).await?;
        let snapshot = snapshot.ok_or_else(|| Error::NoAgent(self.name.clone()))?;
        if let Some(counts) = snapshot.row_counts {
            self.memoir.room.note(self.scope, counts);
        }
        if let Some(recent) = recent_journal(query, &snapshot) {
            self.memoir.room.note_recent_journal(self.scope, recent);
        }
        Ok(snapshot)
    }

    pub(crate) async fn read(&self, snapshot: Snapshot, room: Option<HeldRoom>) -> Result<Loaded> {
        // Before anything is opened: of an agent without a key nothing is returned, not even from this process's cache.
        let key = self.key_of(&snapshot.agent).await?;
        let session = snapshot.session;
        // Before its memories: where neither opens, the error names the agent's own row.
        let (agent, base) = codec::agent(&key, &snapshot.agent, snapshot.prompts.as_ref())?;
        let opened = self.open_rows(&key, agent.next_seq, snapshot.memories, room);
        let memories = opened.await?;
        match snapshot.row_counts {
            Some(counts) => {
                check_counts(&agent, &counts)?;
                self.memoir.room.verified(self.scope, snapshot.counts_mark);
            }
            // Only this process has written since they were compared, or this handle counts none.
            None => self.memoir.room.note(self.scope, recorded_counts(&agent)),
        }
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
            transcript: snapshot.transcript.unwrap_or_default(),
            base,
        })
    }

    /// Opens memories; many of them on another thread, so that the threads for requests do not block.
    pub(crate) async fn open_rows(
        &self,
        key: &AgentKey,
        version: u64,
        rows: Vec<MemoryRow>,
        mut room: Option<HeldRoom>,
    ) -> Result<MemoryList> {
        load_room::fit(&mut room, &rows);
        let sealed: usize = rows.iter().map(|row| row.body.0.len()).sum();
        let is_kept = self.keeps_opened;
        if 2 * sealed <= load_room::QUICK_LOAD {
            return self.memoir.opened.open(key, version, rows, room, is_kept);
        }
        let (opened, key) = (self.memoir.opened.clone(), key.clone());
        parallel::run_blocking(move || opened.open(&key, version, rows, room, is_kept)).await?
    }

    /// Whether the state that was read meets the condition. A memory that was not read or not found is not judged: the
    /// change that follows detects this itself.
    pub(crate) async fn is_met(&self, agent: &Agent, memories: &MemoryList) -> Result<bool> {
        Ok(match &self.condition {
            None => true,
            // Every change that a viewer could have been shown is a record, so the place of the next one shows whether
            // there was any. The row is opened by now: a `next_seq` that was decreased by hand would not open.
            Some(Condition::NewestRecord(seq)) => seq.saturating_add(1) == agent.next_seq,
            Some(Condition::Agent(is_expected)) => is_expected(&self.memoir, agent),
            Some(Condition::Memory(number, is_expected)) => {
                match memories.iter().find(|memory| memory.number == *number) {
                    Some(memory) => {
                        let around = std::iter::once(memory.number).chain(memory.under());
                        let around: Vec<Number> = around.collect();
                        let links = self.memoir.store.archive_links(self.scope, &around).await?;
                        is_expected(memory, links)
                    }
                    None => true,
                }
            }
        })
    }

    /// The key of an agent whose row was read. It is [`Error::Erased`] or [`Error::NoKey`] without one.
    pub(crate) async fn key_of(&self, row: &AgentRow) -> Result<AgentKey> {
        match self.present_key().await? {
            // An `erased_at` is not believed while the key exists: the row may be changed, or the erasing interrupted.
            Some(key) if row.columns.erased_at.is_none() => Ok(key),
            _ => Err(self.without_key(row).await?),
        }
    }

    pub(crate) async fn present_key(&self) -> Result<Option<AgentKey>> {
        match &self.key {
            Some(key) => Ok(Some(key.clone())),
            None => self.memoir.keys.of(self.scope).await,
        }
    }

    pub(crate) async fn without_key(&self, row: &AgentRow) -> Result<Error> {
        // Another process may have erased it: this process's caches are dropped immediately.
        self.memoir.forget_agent(self.scope);
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

    /// The agent's key; `None` where it was erased. [`Error::NoKey`] where it has none otherwise.
    pub(crate) async fn key(&self) -> Result<Option<AgentKey>> {
        let snapshot = self.snapshot(&AgentQuery::default()).await?;
        match self.key_of(&snapshot.agent).await {
            Ok(key) => Ok(Some(key)),
            Err(Error::Erased { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Loads, decides and commits; repeats where the agent changed meanwhile. A decision of `None` writes nothing.
    pub(crate) async fn decide<T, W: Into<codec::Writing>>(
        &self,
        query: &AgentQuery,
        decide: impl Fn(Loaded, Timestamp) -> Result<(Option<W>, T)>,
    ) -> Result<T> {
        self.decide_reading(query, |loaded, now| ready(decide(loaded, now)))
            .await
    }

    /// As [`AgentHandle::decide`], where the decision needs further reads.
    pub(crate) async fn decide_reading<T, W, Decided>(
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
    pub(crate) async fn decide_again<T, Attempt: Future<Output = Result<T>>>(
        &self,
        attempt: impl Fn() -> Attempt,
    ) -> Result<T> {
        match again(&attempt).await {
            Err(refused) if refused.code() == "session_open" => {}
            done => return done,
        }
        for listener in self.memoir.listeners.iter() {
            listener.session_conflict(self).await?;
        }
        // Whether it was closed here or not: one of several blocked callers closes it, and the others then succeed.
        again(&attempt).await
    }

    pub(crate) async fn attempt<T, W, Decided>(
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
        let mut writing: codec::Writing = writing.into();
        let mut sessions = writing.decision.sessions.iter();
        // The state of a rehearsal is written with its session each time.
        if let Some((id, kept)) = rehearsed
            && let Some(session) = sessions.find(|session| session.id == id)
        {
            let kept = || kept.kept_with(session);
            writing.rehearsals.entry(id).or_insert_with(kept);
        }
        self.commit(&base, writing).await?;
        Ok(answer)
    }
}

impl Loaded {
    pub(crate) fn digester(&self) -> Digester {
        self.base.digester()
    }

    pub(crate) fn newest_seq(&self) -> u64 {
        self.agent.next_seq.saturating_sub(1)
    }

    /// Why nothing could be done in a session of that mode; the active core memories were read.
    pub(crate) fn nothing_to_refine(&self, mode: Mode) -> Option<NothingToRefine> {
        let memories = AllMemories::new(self.memories.shared());
        lifecycle::nothing_to_refine(&self.agent, mode, &memories, &self.digester())
    }

    pub(crate) fn take_session(&mut self, id: SessionId) -> Result<Session> {
        let session = self.session.take().map(|(session, _)| session);
        session.ok_or_else(|| Error::NoSession(id.to_string()))
    }
}

/// The part of the journal that a context reads, in what it read; `None` for any other query.
fn recent_journal(query: &AgentQuery, snapshot: &Snapshot) -> Option<CountAndTokens> {
    let is_context = matches!(query.memories, Selection::Context { .. });
    if !is_context && query.marks_after.is_none() {
        return None;
    }
    let rows = snapshot.memories.iter().map(|row| (row.kind, row.tokens));
    let marks = snapshot.marks.iter().map(|row| (row.kind, row.tokens));
    let journal = rows.chain(marks).filter(|(kind, _)| *kind == Kind::Journal);
    let one = |(_, tokens)| CountAndTokens { count: 1, tokens };
    Some(journal.map(one).sum())
}
