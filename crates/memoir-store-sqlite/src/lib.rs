//! The embedded store: one SQLite file; or one in memory, for tests.
//!
//! It owns the file's format and its migrations, the connection that writes and its thread, and the connections that
//! read. It checks that every row is one that Memoir writes, and removes shredded text from the whole file. It decides
//! nothing and understands no text: words arrive and leave as bytes.
//!
//! A change is acknowledged once it is on the disk (SPEC 6.2). Changes queued at the same time share one
//! transaction. Reading never waits for writing.
//!
//! There is one connection that writes, with `synchronous=FULL`; readers have connections of their own.
//! Memories and records lie beside each other by agent, so that an edit costs the same beside a hundred
//! memories or ten thousand. Prompts have a table of their own, written only when they change.
//!
//! Records are numbered without gaps per agent. Triggers refuse to change or delete them, except for a body that
//! shredding replaces. `scrub.rs` describes how replaced bodies leave the disk.

mod access;
mod agent;
mod check;
mod commit;
mod decode;
mod deliveries;
mod encode;
mod error;
mod fault;
mod fleet;
mod listing;
mod load;
mod migrate;
mod open;
mod opened_files;
mod reader;
mod records;
mod requests;
mod schema;
mod scrub;
mod summaries;
mod tables;
mod transcripts;
mod usage;
mod vectors;
mod word_index;
mod writer;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use memoir_domain::{
    AccessRequestId, AccountId, AgentId, AgentScope, SessionId, Timestamp, TokenId, UserId,
    memory::Number, session::State,
};
use memoir_store::{
    Access, AccessRow, AccountRow, AgentQuery, AgentRow, ArchiveLink, AuditRow, Commit, Commits,
    Deliveries, DeliveryRow, Document, DueQuery, Error, Finding, Fleet, FleetLoad, FleetPage,
    FleetRecord, FleetSlice, LeafRow, LogsOf, MemoryPage, MemoryRow, MessageRow, OpenAccess,
    ReceiverDigest, RecordFilter, RecordOrder, RecordPlace, ReplyRow, Result, Selection,
    SessionRow, Snapshot, Store, StoredUsage, SummaryRow, TokenRow, TranscriptRow, Transcripts,
    UserRow, VectorRow, Vectors, WaitingSession, WordIndexRow, WordIndexes, WorkMeter,
};
use rusqlite::Connection;

use crate::{
    opened_files::OpenedFiles,
    reader::Readers,
    writer::{BULK_ROWS, QueuedChange, WriteOutcome, Writer},
};

/// Records up to which they are read on the calling thread: at about 4 µs each, these block it no longer than a small
/// look-up and waking another thread would.
const FEW_RECORDS: usize = 32;
/// Memories up to which they are, each of which takes a look-up.
const FEW_MEMORIES: usize = 64;
/// Memories up to which their archive links are, each of which takes two look-ups.
const FEW_LINKS: usize = 32;

/// A store in one SQLite file. Clones share it; the last one to go waits for what is queued, moves the
/// log into the file and closes it.
#[derive(Clone, derive_more::Debug)]
#[debug("SqliteStore {{ .. }}")]
pub struct SqliteStore(Arc<OpenDatabase>);

/// Injected failures of a commit, as on a remote server.
#[cfg(feature = "fault-points")]
#[derive(Debug, Clone, Copy)]
pub enum CommitFault {
    /// Its response is lost, and it was not written.
    LostUnwritten,
    /// Its response is lost, and it was written.
    LostWritten,
    /// It is refused, since others keep the database locked.
    Busy,
}

/// The readers are dropped before the writer: the last connection to close tidies up, and only the
/// writer's can.
struct OpenDatabase {
    /// `None` for a database in memory, which has only the writer's connection.
    readers: Option<Arc<Readers>>,
    writer: Writer,
    /// Whether a write was refused since there was no room for it, and none was found since.
    is_full: AtomicBool,
    /// The pending failures of commits, the last one of the list first.
    #[cfg(feature = "fault-points")]
    commit_faults: std::sync::Mutex<Vec<CommitFault>>,
}

impl SqliteStore {
    /// Opens the database at that path. Makes it where there is none, readable by its owner only; the
    /// folder must exist. Brings an older format up to the present one.
    ///
    /// # Errors
    /// [`Error::NotADatabase`] and [`Error::Newer`] for a file that is not changed then;
    /// [`Error::ReadOnly`] for one that cannot be written; [`Error::Open`].
    pub fn open(path: &Path) -> Result<Self> {
        let connection = open::writer(path)?;
        let readers = Readers::new(path.to_owned());
        Self::start(
            connection,
            Some(Arc::new(readers)),
            Some(OpenedFiles::of(path)),
        )
    }

    /// As [`SqliteStore::open`], for this process alone: until the store is dropped, no other one reads or writes the file.
    ///
    /// # Errors
    /// As there; [`Error::Busy`] while another one has the file open.
    pub fn open_alone(path: &Path) -> Result<Self> {
        // Without readers, which are connections of their own.
        Self::start(open::alone(path)?, None, Some(OpenedFiles::of(path)))
    }

    /// Whether the file at that path is certainly none of Memoir's, by its first bytes. Changes nothing,
    /// and puts nothing beside the file.
    pub fn is_foreign(path: &Path) -> bool {
        migrate::is_foreign(path)
    }

    /// Writes a copy of everything, as it is at one instant, into the file at `to`, which must be empty or missing.
    /// Others read and write meanwhile. Shredded text is not in the copy.
    ///
    /// # Errors
    /// [`Error::Open`]; [`Error::Full`]; a database in memory; those of the driver. A part of the copy may be at
    /// `to` then.
    pub async fn back_up(&self, to: &Path) -> Result<()> {
        let Some(readers) = self.0.readers.clone() else {
            return Err(Error::Driver("a database in memory has no copy".to_owned()));
        };
        let to = to.to_owned();
        let copy = move || open::copy(readers.path(), &to).map_err(Error::from);
        tokio::task::spawn_blocking(copy)
            .await
            .map_err(|_| Error::Closed)?
    }

    /// An empty database of its own that is never on a disk, for tests.
    ///
    /// # Errors
    /// [`Error::Driver`] where memory or threads run out.
    pub fn in_memory() -> Result<Self> {
        Self::start(open::in_memory()?, None, None)
    }

    fn start(
        connection: Connection,
        readers: Option<Arc<Readers>>,
        place: Option<OpenedFiles>,
    ) -> Result<Self> {
        let writer =
            Writer::start(connection, place).map_err(|error| Error::Driver(error.to_string()))?;
        Ok(Self(Arc::new(OpenDatabase {
            readers,
            writer,
            is_full: AtomicBool::new(false),
            #[cfg(feature = "fault-points")]
            commit_faults: std::sync::Mutex::default(),
        })))
    }

    /// Transactions that reached the disk since the store was opened: fewer than changes where several
    /// shared one.
    pub fn transactions(&self) -> u64 {
        self.0.writer.transactions()
    }

    /// Lets the file grow to that many pages and no further, as a full disk would.
    ///
    /// # Errors
    /// Those of the driver.
    #[cfg(feature = "fault-points")]
    pub async fn limit_pages(&self, pages: u32) -> Result<()> {
        let limit = move |connection: &Connection| {
            connection
                .pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
                .map_err(Into::into)
        };
        self.0.writer.visit(limit).await
    }

    /// Disturbs the commits that come next, the last one of the list first.
    #[cfg(feature = "fault-points")]
    pub fn disturb_commits(&self, faults: &[CommitFault]) {
        *self.commit_faults() = faults.to_vec();
    }

    #[cfg(feature = "fault-points")]
    fn commit_faults(&self) -> std::sync::MutexGuard<'_, Vec<CommitFault>> {
        let faults = self.0.commit_faults.lock();
        faults.unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Injects a failure into a commit, if a test requested it; else returns the commit.
    #[cfg(feature = "fault-points")]
    async fn disturb(&self, commit: Commit) -> Result<Commit> {
        let fault = self.commit_faults().pop();
        match fault {
            None => return Ok(commit),
            Some(CommitFault::Busy) => return Err(Error::Busy),
            Some(CommitFault::LostUnwritten) => {}
            Some(CommitFault::LostWritten) => {
                let same = commit.clone();
                self.write(commit::rows(&commit), move |connection| {
                    commit::write(connection, &same)
                })
                .await?;
            }
        }
        Err(Error::OutcomeUnknown(Box::new(commit)))
    }

    /// Runs statements on the connection that writes, as a process between Memoir and its tables would.
    ///
    /// # Errors
    /// Those of the driver.
    #[cfg(feature = "fault-points")]
    pub async fn put_between(&self, sql: &'static str) -> Result<()> {
        let put = |connection: &Connection| Ok(connection.execute_batch(sql)?);
        self.0.writer.visit(put).await
    }

    /// Writes about so many rows; what is written is on the disk when this returns.
    async fn write<T: Send + 'static>(
        &self,
        rows: usize,
        write: impl Fn(&Connection) -> error::Result<WriteOutcome<T>> + Send + 'static,
    ) -> Result<T> {
        self.queue(QueuedChange::new(rows, write)).await
    }

    /// Writes a change, and remembers where there was no room for it.
    async fn queue<T: Send + 'static>(
        &self,
        change: QueuedChange<
            T,
            impl Fn(&Connection) -> error::Result<WriteOutcome<T>> + Send + 'static,
        >,
    ) -> Result<T> {
        let written = self.0.writer.write(change).await;
        if matches!(written, Err(Error::Full)) {
            self.0.is_full.store(true, Ordering::Relaxed);
        }
        written
    }

    /// Writes a user, and the audit record if that changed anything. Returns whether it did.
    async fn write_user(
        &self,
        user: &UserRow,
        commit: Option<Commit>,
        write: impl Fn(&Connection, &UserRow) -> error::Result<WriteOutcome<bool>> + Send + 'static,
    ) -> Result<bool> {
        let user = user.clone();
        self.write(1, move |connection| {
            let written = write(connection, &user)?;
            if let Some(commit) = commit.as_ref().filter(|_| written.is_written) {
                commit::write(connection, commit)?;
            }
            Ok(written)
        })
        .await
    }

    /// A few rows by their keys: read on the calling thread, faster than another thread could start.
    async fn look<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> error::Result<T> + Send + 'static,
    ) -> Result<T> {
        // A task that reads and never waits must yield at times.
        tokio::task::coop::consume_budget().await;
        // The writer's connection has its own changes in its cache. It is only used while it is free, so that no reader
        // waits for a commit here.
        match self.0.writer.visit_at_once(query) {
            Ok(answer) => Ok(answer?),
            Err(query) => match &self.0.readers {
                Some(readers) => Ok(readers.read(query)?),
                None => self.0.writer.visit(query).await,
            },
        }
    }

    /// Any number of rows: read on a thread that may be kept busy.
    async fn scan<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> error::Result<T> + Send + 'static,
    ) -> Result<T> {
        let Some(readers) = &self.0.readers else {
            return self.look(query).await;
        };
        let readers = Arc::clone(readers);
        let meter = WorkMeter::current();
        let read = move || meter.measure(|| readers.read(query).map_err(Error::from));
        tokio::task::spawn_blocking(read)
            .await
            .map_err(|_| Error::Closed)?
    }
}

#[async_trait]
impl Fleet for SqliteStore {
    async fn create_account(&self, account: &AccountRow) -> Result<()> {
        let account = account.clone();
        self.write(1, move |connection| {
            commit::create_account(connection, &account)
        })
        .await
    }

    async fn accounts(&self) -> Result<Vec<AccountRow>> {
        self.scan(fleet::accounts).await
    }

    async fn account_named(&self, folded_name: &str) -> Result<Option<AccountRow>> {
        let folded_name = folded_name.to_owned();
        self.look(move |connection| fleet::account_named(connection, &folded_name))
            .await
    }

    async fn agents(&self, account: AccountId) -> Result<Vec<AgentRow>> {
        self.scan(move |connection| fleet::agents(connection, account))
            .await
    }

    async fn agent_page(
        &self,
        account: AccountId,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<AgentRow>> {
        let after = after.map(str::to_owned);
        self.scan(move |connection| fleet::agent_page(connection, account, after.as_deref(), limit))
            .await
    }

    async fn fleet_page(&self, account: AccountId, page: &FleetPage) -> Result<FleetSlice> {
        let page = page.clone();
        self.scan(move |connection| listing::page(connection, account, &page))
            .await
    }

    async fn fleet_records(
        &self,
        account: AccountId,
        filter: &RecordFilter,
        order: RecordOrder,
        after: Option<RecordPlace>,
        limit: u32,
    ) -> Result<Vec<FleetRecord>> {
        let filter = filter.clone();
        self.scan(move |connection| {
            records::of_account(connection, account, &filter, (order, after, limit))
        })
        .await
    }

    async fn last_states(
        &self,
        account: AccountId,
        agents: &[AgentId],
    ) -> Result<Vec<(AgentId, State)>> {
        let is_one = agents.len() == 1;
        let agents = agents.to_vec();
        let query =
            move |connection: &Connection| listing::last_states(connection, account, &agents);
        if is_one {
            self.look(query).await
        } else {
            self.scan(query).await
        }
    }

    async fn waiting_sessions(&self, limit: u32) -> Result<Vec<WaitingSession>> {
        self.scan(move |connection| fleet::waiting_sessions(connection, limit))
            .await
    }

    async fn due_agents(&self, query: &DueQuery) -> Result<Vec<AgentScope>> {
        let query = query.clone();
        self.scan(move |connection| fleet::due_agents(connection, &query))
            .await
    }

    async fn agent_named(&self, account: AccountId, folded_name: &str) -> Result<Option<AgentRow>> {
        let folded_name = folded_name.to_owned();
        self.look(move |connection| fleet::agent_named(connection, account, &folded_name))
            .await
    }

    async fn session_owner(
        &self,
        account: AccountId,
        session: SessionId,
    ) -> Result<Option<AgentScope>> {
        self.look(move |connection| fleet::session_owner(connection, account, session))
            .await
    }

    async fn usage(
        &self,
        account: AccountId,
        agent: Option<AgentId>,
        since: Timestamp,
    ) -> Result<StoredUsage> {
        self.scan(move |connection| usage::usage(connection, account, agent, since))
            .await
    }

    async fn load(&self) -> Result<FleetLoad> {
        self.scan(load::load).await
    }

    async fn access_owner(
        &self,
        account: AccountId,
        request: AccessRequestId,
    ) -> Result<Option<AgentScope>> {
        self.look(move |connection| requests::owner(connection, account, request))
            .await
    }

    async fn open_access(&self) -> Result<Vec<OpenAccess>> {
        self.scan(requests::open).await
    }

    async fn lapsed_sessions(&self, now: Timestamp) -> Result<Vec<(AgentScope, SessionId)>> {
        self.scan(move |connection| fleet::lapsed_sessions(connection, now))
            .await
    }

    async fn scopes(&self) -> Result<Vec<AgentScope>> {
        self.scan(fleet::scopes).await
    }

    async fn erased(&self) -> Result<Vec<AgentScope>> {
        self.scan(fleet::erased).await
    }

    async fn finish(&self) -> Result<bool> {
        self.0.writer.finish().await
    }

    async fn leaves(&self, from: u64) -> Result<Vec<LeafRow>> {
        self.scan(move |connection| fleet::leaves(connection, from))
            .await
    }

    async fn append_leaves(&self, recorded_at: Timestamp, of: LogsOf) -> Result<u64> {
        self.write(BULK_ROWS, move |connection| {
            commit::append_leaves(connection, recorded_at, of)
        })
        .await
    }

    async fn check(&self) -> Result<Vec<Finding>> {
        self.scan(check::check).await
    }

    async fn check_form(&self) -> Result<Vec<Finding>> {
        self.scan(schema::findings).await
    }
}

#[async_trait]
impl Access for SqliteStore {
    async fn put_token(&self, token: &TokenRow) -> Result<()> {
        let token = token.clone();
        self.write(1, move |connection| access::put_token(connection, &token))
            .await
    }

    async fn bearer(&self, digest: &[u8; 32]) -> Result<Option<(TokenRow, Option<String>)>> {
        let digest = *digest;
        self.look(move |connection| access::bearer(connection, &digest))
            .await
    }

    async fn tokens(&self, account: AccountId) -> Result<Vec<TokenRow>> {
        self.scan(move |connection| access::tokens(connection, account))
            .await
    }

    async fn agent_tokens(&self, scope: AgentScope) -> Result<Vec<TokenRow>> {
        self.scan(move |connection| access::agent_tokens(connection, scope))
            .await
    }

    async fn note_uses(&self, uses: &[(TokenId, Timestamp)]) -> Result<()> {
        if uses.is_empty() {
            return Ok(());
        }
        let (rows, uses) = (uses.len(), uses.to_vec());
        self.write(rows, move |connection| access::note_uses(connection, &uses))
            .await
            .map(drop)
    }

    async fn create_user(&self, user: &UserRow, commit: Option<Commit>) -> Result<()> {
        self.write_user(user, commit, |connection, user| {
            access::create_user(connection, user, false)
        })
        .await
        .map(drop)
    }

    async fn create_first_user(&self, user: &UserRow, commit: Option<Commit>) -> Result<bool> {
        self.write_user(user, commit, |connection, user| {
            access::create_user(connection, user, true)
        })
        .await
    }

    async fn put_user(&self, user: &UserRow, commit: Option<Commit>) -> Result<bool> {
        self.write_user(user, commit, access::put_user).await
    }

    async fn users(&self, account: AccountId) -> Result<Vec<UserRow>> {
        self.scan(move |connection| access::users(connection, account))
            .await
    }

    async fn user_named(&self, account: AccountId, folded_name: &str) -> Result<Option<UserRow>> {
        let folded_name = folded_name.to_owned();
        self.look(move |connection| access::user_named(connection, account, &folded_name))
            .await
    }

    async fn user(&self, account: AccountId, id: UserId) -> Result<Option<UserRow>> {
        self.look(move |connection| access::user(connection, account, id))
            .await
    }

    async fn has_users(&self) -> Result<bool> {
        self.look(access::has_users).await
    }

    async fn check_ready(&self) -> Result<()> {
        if self.0.is_full.load(Ordering::Relaxed) {
            // In a transaction of its own, which takes no other down where there is no room.
            self.write(BULK_ROWS, access::find_room).await?;
            self.0.is_full.store(false, Ordering::Relaxed);
        }
        // What cannot be written is not opened, and the file's permissions are not asked for again once it is.
        self.has_users().await.map(drop)
    }

    async fn begin_reply(&self, reply: &ReplyRow) -> Result<Option<ReplyRow>> {
        let reply = reply.clone();
        self.write(1, move |connection| access::begin_reply(connection, &reply))
            .await
    }

    async fn end_reply(
        &self,
        account: AccountId,
        key_digest: &[u8; 32],
        came_at: Option<Timestamp>,
        expected: Option<&str>,
        answer: Document,
    ) -> Result<bool> {
        let (key_digest, expected) = (*key_digest, expected.map(str::to_owned));
        let end = move |connection: &Connection| {
            let expected = expected.as_deref();
            access::end_reply(connection, account, &key_digest, came_at, expected, &answer)
        };
        self.write(1, end).await
    }

    async fn forget_replies(&self, before: Timestamp) -> Result<()> {
        let forget = move |connection: &Connection| access::forget_replies(connection, before);
        self.write(BULK_ROWS, forget).await.map(drop)
    }
}

#[async_trait]
impl Deliveries for SqliteStore {
    async fn register_receivers(
        &self,
        receivers: &[ReceiverDigest],
        now: Timestamp,
        forget_before: Timestamp,
        reopen: bool,
    ) -> Result<()> {
        let receivers = receivers.to_vec();
        let register = move |connection: &Connection| {
            deliveries::register(connection, &receivers, now, forget_before, reopen)
        };
        self.write(BULK_ROWS, register).await
    }

    async fn claim_deliveries(
        &self,
        receiver: &ReceiverDigest,
        now: Timestamp,
        times: (Timestamp, Timestamp),
        limit: u32,
    ) -> Result<Vec<DeliveryRow>> {
        let receiver = *receiver;
        // Called all the time, and mostly there is nothing to write.
        let is_any_due = self
            .look(move |connection| deliveries::is_any_due(connection, &receiver, now, times.1))
            .await?;
        if !is_any_due {
            return Ok(Vec::new());
        }
        let claim = move |connection: &Connection| {
            deliveries::claim(connection, &receiver, now, times, limit)
        };
        self.write(limit as usize, claim).await
    }

    async fn settle_delivery(
        &self,
        receiver: &ReceiverDigest,
        delivery: &DeliveryRow,
        again_at: Option<Timestamp>,
    ) -> Result<bool> {
        let (receiver, delivery) = (*receiver, *delivery);
        let resolve = move |connection: &Connection| {
            deliveries::resolve(connection, &receiver, &delivery, again_at)
        };
        self.write(1, resolve).await
    }

    async fn close_receiver(&self, receiver: &ReceiverDigest, now: Timestamp) -> Result<()> {
        let receiver = *receiver;
        self.write(BULK_ROWS, move |connection| {
            deliveries::close(connection, &receiver, now)
        })
        .await
    }
}

#[async_trait]
impl Transcripts for SqliteStore {
    async fn known_messages(
        &self,
        scope: AgentScope,
        digests: &[[u8; 32]],
    ) -> Result<Vec<[u8; 32]>> {
        let digests = digests.to_vec();
        self.scan(move |connection| transcripts::known(connection, scope, &digests))
            .await
    }

    async fn hurry_messages(&self, scope: AgentScope, due_at: Timestamp) -> Result<()> {
        let hurry = move |connection: &Connection| transcripts::hurry(connection, scope, due_at);
        self.write(1, hurry).await.map(drop)
    }

    async fn pending_messages(&self, scope: AgentScope, tokens: u64) -> Result<Vec<MessageRow>> {
        self.scan(move |connection| transcripts::pending(connection, scope, tokens))
            .await
    }

    async fn transcript(&self, scope: AgentScope) -> Result<TranscriptRow> {
        self.scan(move |connection| transcripts::transcript(connection, scope))
            .await
    }

    async fn claim_transcript(
        &self,
        scope: AgentScope,
        now: Option<Timestamp>,
        until: Timestamp,
    ) -> Result<Option<u64>> {
        self.write(1, move |connection| {
            transcripts::claim(connection, scope, now, until)
        })
        .await
    }

    async fn extend_transcript(
        &self,
        scope: AgentScope,
        claim: u64,
        until: Timestamp,
    ) -> Result<bool> {
        self.write(1, move |connection| {
            transcripts::extend(connection, scope, claim, until)
        })
        .await
    }

    async fn settle_transcript(
        &self,
        scope: AgentScope,
        claim: u64,
        due_at: Timestamp,
        failures: u32,
    ) -> Result<()> {
        let resolve = move |connection: &Connection| {
            transcripts::resolve(connection, scope, claim, due_at, failures)
        };
        self.write(1, resolve).await.map(drop)
    }

    async fn forget_words(&self, now: Timestamp) -> Result<()> {
        let forget = move |connection: &Connection| transcripts::forget_words(connection, now);
        self.write(BULK_ROWS, forget).await
    }

    async fn due_transcripts(
        &self,
        account: Option<AccountId>,
        now: Timestamp,
        per_account: u32,
    ) -> Result<Vec<AgentScope>> {
        self.scan(move |connection| {
            transcripts::due_transcripts(connection, account, now, per_account)
        })
        .await
    }

    async fn due_reflections(
        &self,
        account: Option<AccountId>,
        slot: Timestamp,
        per_account: u32,
    ) -> Result<Vec<AgentScope>> {
        self.scan(move |connection| {
            transcripts::due_reflections(connection, account, slot, per_account)
        })
        .await
    }
}

#[async_trait]
impl Vectors for SqliteStore {
    async fn vectors(
        &self,
        scope: AgentScope,
        model: &str,
        of: Option<&[Number]>,
    ) -> Result<Vec<VectorRow>> {
        let (model, of) = (model.to_owned(), of.map(<[Number]>::to_vec));
        self.scan(move |connection| vectors::of_model(connection, scope, &model, of.as_deref()))
            .await
    }

    async fn vector_models(&self, scope: AgentScope) -> Result<Vec<(String, u64)>> {
        self.scan(move |connection| vectors::models(connection, scope))
            .await
    }

    async fn without_vector(
        &self,
        scope: AgentScope,
        model: &str,
        after: u64,
        limit: u32,
    ) -> Result<Vec<MemoryRow>> {
        let model = model.to_owned();
        self.scan(move |connection| vectors::lacking(connection, scope, &model, after, limit))
            .await
    }

    async fn keep_vectors(&self, scope: AgentScope, vectors: Vec<VectorRow>) -> Result<u64> {
        let rows = vectors.len();
        self.write(rows, move |connection| {
            vectors::keep(connection, scope, &vectors)
        })
        .await
    }

    async fn forget_vectors(&self, scope: AgentScope, except: Option<&str>) -> Result<()> {
        let except = except.map(str::to_owned);
        let forget = move |connection: &Connection| {
            vectors::forget_models(connection, scope, except.as_deref())
        };
        self.write(BULK_ROWS, forget).await
    }
}

#[async_trait]
impl WordIndexes for SqliteStore {
    async fn word_index(&self, scope: AgentScope, limit: Option<u32>) -> Result<Vec<WordIndexRow>> {
        self.scan(move |connection| word_index::parts(connection, scope, limit))
            .await
    }

    async fn keep_word_index(
        &self,
        scope: AgentScope,
        expected_version: u64,
        parts: Vec<WordIndexRow>,
    ) -> Result<bool> {
        let keep = move |connection: &Connection| {
            word_index::keep(connection, scope, expected_version, &parts)
        };
        // Its parts are large, so that it gets a transaction to itself.
        self.write(BULK_ROWS, keep).await
    }

    async fn forget_word_indexes(&self) -> Result<()> {
        self.write(BULK_ROWS, word_index::forget_all).await
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn snapshot(&self, scope: AgentScope, query: &AgentQuery) -> Result<Option<Snapshot>> {
        let query = query.clone();
        let is_short = match &query.memories {
            Selection::None => query.marks_after.is_none(),
            Selection::Numbers(numbers) => numbers.len() <= FEW_MEMORIES,
            _ => false,
        };
        let readers = self.0.readers.clone().filter(|_| !is_short);
        let read = move |connection: &Connection| {
            agent::snapshot(connection, readers.as_deref(), scope, &query)
        };
        if is_short {
            self.look(read).await
        } else {
            self.scan(read).await
        }
    }

    async fn memories(&self, scope: AgentScope, numbers: &[Number]) -> Result<Vec<MemoryRow>> {
        let numbers = numbers.to_vec();
        self.look(move |connection| agent::numbered_memories(connection, scope, &numbers))
            .await
    }

    async fn memory_page(&self, scope: AgentScope, page: &MemoryPage) -> Result<Vec<MemoryRow>> {
        let page = page.clone();
        self.scan(move |connection| agent::memory_page(connection, scope, &page))
            .await
    }

    async fn archive_links(
        &self,
        scope: AgentScope,
        numbers: &[Number],
    ) -> Result<Vec<ArchiveLink>> {
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        let is_short = numbers.len() <= FEW_LINKS;
        let numbers = numbers.to_vec();
        let query =
            move |connection: &Connection| agent::archive_links(connection, scope, &numbers);
        if is_short {
            self.look(query).await
        } else {
            self.scan(query).await
        }
    }

    async fn session_page(
        &self,
        scope: AgentScope,
        before: Option<(Timestamp, SessionId)>,
        limit: u32,
    ) -> Result<Vec<SessionRow>> {
        self.scan(move |connection| agent::session_page(connection, scope, before, limit))
            .await
    }

    async fn records(&self, scope: AgentScope, filter: &RecordFilter) -> Result<Vec<AuditRow>> {
        let filter = filter.clone();
        self.scan(move |connection| records::of_agent(connection, scope, &filter))
            .await
    }

    async fn records_at(&self, scope: AgentScope, seqs: &[u64]) -> Result<Vec<AuditRow>> {
        let is_short = seqs.len() <= FEW_RECORDS;
        let seqs = seqs.to_vec();
        let query = move |connection: &Connection| records::at(connection, scope, &seqs);
        if is_short {
            self.look(query).await
        } else {
            self.scan(query).await
        }
    }

    async fn summaries(
        &self,
        scope: AgentScope,
        after: u64,
        limit: u32,
    ) -> Result<Vec<SummaryRow>> {
        self.scan(move |connection| summaries::after(connection, scope, after, limit))
            .await
    }

    async fn keep_summaries(
        &self,
        scope: AgentScope,
        expected_version: u64,
        summaries: Vec<SummaryRow>,
    ) -> Result<bool> {
        let rows = summaries.len();
        let keep = move |connection: &Connection| {
            summaries::keep(connection, scope, expected_version, &summaries)
        };
        self.write(rows, keep).await
    }

    async fn access_request(
        &self,
        scope: AgentScope,
        id: AccessRequestId,
    ) -> Result<Option<AccessRow>> {
        self.look(move |connection| requests::request(connection, scope, id))
            .await
    }

    async fn access_page(
        &self,
        scope: AgentScope,
        before: Option<(Timestamp, AccessRequestId)>,
        limit: u32,
    ) -> Result<Vec<AccessRow>> {
        self.scan(move |connection| requests::page(connection, scope, before, limit))
            .await
    }

    async fn open_requests(&self, scope: AgentScope) -> Result<Vec<AccessRow>> {
        self.look(move |connection| requests::open_of(connection, scope))
            .await
    }

    async fn renew_lease(
        &self,
        scope: AgentScope,
        session: SessionId,
        holder: u64,
        until: Timestamp,
    ) -> Result<bool> {
        let renew = move |connection: &Connection| {
            commit::renew_lease(connection, scope, session, holder, until)
        };
        self.write(1, renew).await
    }

    async fn commit(&self, commit: Commit) -> Result<()> {
        #[cfg(feature = "fault-points")]
        let commit = self.disturb(commit).await?;
        let (rows, replaces_bodies) = (commit::rows(&commit), !commit.bodies.is_empty());
        let mut change = QueuedChange::new(rows, move |connection: &Connection| {
            commit::write(connection, &commit)
        });
        // An erased agent does not count: its key is destroyed after this, and text without a key need not leave the
        // disk before the response.
        change.replaces_bodies = replaces_bodies;
        self.queue(change).await
    }

    async fn commit_all(&self, commits: Commits) -> Result<()> {
        self.write(BULK_ROWS, move |connection| {
            commit::write_all(connection, &commits)
        })
        .await
    }
}
