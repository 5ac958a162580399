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
mod tables;
mod transcripts;
mod usage;
mod vectors;
mod writer;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use memoir_domain::{AgentScope, Timestamp};
use memoir_store::{
    Change, Commit, Database, Error, Held, Reach, Result, UserRow, Value, WorkMeter, WrittenRows,
    decode::RowReader,
};
use rusqlite::{Connection, Params, params_from_iter};

use crate::{
    opened_files::OpenedFiles,
    reader::{ReadTransaction, Readers},
    writer::{QueuedChange, WriteOutcome, Writer},
};

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

/// The readers are dropped before the writer: the last connection to close tidies up, and only the writer's can.
struct OpenDatabase {
    /// `None` for a database in memory, which has only the writer's connection.
    readers: Option<Arc<Readers>>,
    writer: Writer,
    /// Whether a write was refused since there was no room for it, and none was found since.
    is_full: AtomicBool,
    /// The pending failures of commits, the last one of the list first.
    #[cfg(feature = "fault-points")]
    commit_faults: parking_lot::Mutex<Vec<CommitFault>>,
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
        let readers = Arc::new(Readers::new(path.to_owned()));
        Self::start(connection, Some(readers), Some(OpenedFiles::of(path)))
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
            commit_faults: parking_lot::Mutex::default(),
        })))
    }

    /// Transactions that reached the disk since the store was opened: fewer than changes where several shared one.
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
        *self.0.commit_faults.lock() = faults.to_vec();
    }

    /// Injects a failure into a commit, if a test requested it; else returns the commit.
    #[cfg(feature = "fault-points")]
    async fn disturb(&self, commit: Commit) -> Result<Commit> {
        let fault = self.0.commit_faults.lock().pop();
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
        let put = self.0.writer.visit(put).await;
        self.0.writer.note_others();
        put
    }

    /// Writes about so many rows; what is written is on the disk when this returns.
    async fn write<T: Send + 'static>(
        &self,
        rows: usize,
        write: impl Fn(&Connection) -> error::Result<WriteOutcome<T>> + Send + 'static,
    ) -> Result<T> {
        self.queue(QueuedChange::new(rows, write)).await
    }

    /// Writes by one statement, about so many rows; whether it changed any.
    async fn execute(
        &self,
        rows: usize,
        sql: &'static str,
        values: impl Params + Clone + Send + 'static,
        point: &'static str,
    ) -> Result<bool> {
        self.write(rows, move |connection| {
            let changed = agent::execute(connection, sql, values.clone())?;
            fault::point(point);
            Ok(WriteOutcome::any(changed))
        })
        .await
    }

    /// Writes by one statement for one part after the other, while rows are due at that time: mostly none is, and other
    /// writers wait for each part.
    async fn write_in_parts(
        &self,
        due: &'static str,
        sql: &'static str,
        at: Timestamp,
        point: &'static str,
    ) -> Result<()> {
        let at = [at.microseconds()];
        loop {
            let are_due = self.look(move |connection| agent::exists(connection, due, at));
            if !are_due.await? {
                return Ok(());
            }
            self.execute(writer::BULK_ROWS, sql, at, point).await?;
        }
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

    /// Any number of rows of an agent, all of the same instant; none where it is not one of the account's.
    async fn scan_agent<T: Send + 'static>(
        &self,
        scope: AgentScope,
        query: impl FnOnce(&Connection) -> error::Result<Vec<T>> + Send + 'static,
    ) -> Result<Vec<T>> {
        self.scan(move |connection| {
            let _view = ReadTransaction::new(connection)?;
            match agent::is_theirs(connection, scope)? {
                true => query(connection),
                false => Ok(Vec::new()),
            }
        })
        .await
    }

    /// As [`SqliteStore::look`] where there are few rows, otherwise as [`SqliteStore::scan`].
    async fn look_or_scan<T: Send + 'static>(
        &self,
        are_few: bool,
        query: impl FnOnce(&Connection) -> error::Result<T> + Send + 'static,
    ) -> Result<T> {
        match are_few {
            true => self.look(query).await,
            false => self.scan(query).await,
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
impl Database for SqliteStore {
    async fn rows<T: Send + 'static>(
        &self,
        _: Reach,
        sql: &'static str,
        values: &[Value<'_>],
        read: RowReader<T>,
    ) -> Result<Vec<T>> {
        let values = encode::owned(values);
        self.scan(move |connection| agent::all(connection, sql, values, read))
            .await
    }

    async fn row<T: Send + 'static>(
        &self,
        _: Reach,
        sql: &'static str,
        values: &[Value<'_>],
        read: RowReader<T>,
    ) -> Result<Option<T>> {
        let values = encode::owned(values);
        self.look(move |connection| agent::first(connection, sql, values, read))
            .await
    }

    async fn change(&self, _: Reach, sql: &'static str, values: &[Value<'_>]) -> Result<bool> {
        self.execute(1, sql, encode::owned(values), "row.changed")
            .await
    }

    async fn change_held<T: Send + 'static>(
        &self,
        _: AgentScope,
        sql: &'static str,
        values: &[Value<'_>],
        read: RowReader<T>,
    ) -> Result<Option<T>> {
        let values = encode::owned(values);
        // Only one transaction writes at a time.
        self.write(1, move |connection| {
            let row = agent::first(connection, sql, values.clone(), read)?;
            fault::point("row.changed");
            Ok(WriteOutcome::when(row.is_some(), row))
        })
        .await
    }

    async fn change_all(&self, held: Held, changes: Vec<Change<'_>>) -> Result<bool> {
        // Parts of an index are large.
        let owned = |change: Change<'_>| {
            let values = encode::owned_values(&change.values);
            (change.sql, values, change.rows)
        };
        let changes: Vec<_> = changes.into_iter().map(owned).collect();
        let rows = match changes.iter().any(|change| change.2 == WrittenRows::Any) {
            true => writer::BULK_ROWS,
            false => changes.len(),
        };
        // Only one transaction writes at a time.
        self.write(rows, move |connection| {
            if let Held::Agent {
                scope,
                version,
                must_live,
            } = held
            {
                let sql = "SELECT 1 FROM agents WHERE id = ?1 AND account_id = ?2 \
                     AND version = coalesce(?3, version) AND (NOT ?4 OR erased_at IS NULL)";
                let (agent, account) = agent::bytes(scope);
                if !agent::exists(connection, sql, (agent, account, version, must_live))? {
                    return Ok(WriteOutcome::unchanged(false));
                }
            }
            let mut written = 0;
            for (sql, values, expected) in &changes {
                let rows = agent::execute(connection, sql, params_from_iter(values))?;
                if *expected == WrittenRows::One {
                    encode::one(rows, held.table())?;
                }
                fault::point("row.changed");
                written += rows;
            }
            Ok(WriteOutcome::when(written > 0, true))
        })
        .await
    }
}
