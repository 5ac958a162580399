//! The one thread that writes.
//!
//! Callers queue what they want written. The thread takes what is queued, writes all of it in one
//! transaction, and answers everybody once that is on the disk: many callers share one wait for the
//! disk, and a single caller waits for nobody. Each change has a savepoint of its own, so that one that
//! is refused takes no other down with it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
};

use memoir_domain::{AgentScope, SessionId, Timestamp};
use memoir_store::{AccountRow, Commit, Error};
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::{
    commit,
    error::{Result, again},
    fault, open,
};

/// Jobs that may wait; whoever comes after them waits without holding a thread.
const QUEUE: usize = 1_024;
/// Most changes in one transaction.
const BATCH: usize = 256;
/// Rows from which on a commit gets a transaction to itself, and memory to do it in.
const BULK_ROWS: usize = 4_096;
/// Pages kept in memory during such a commit, in KiB.
const BULK_CACHE_KIB: i64 = 65_536;
/// Pages in the log from which on they are moved into the file when nobody waits.
const CHECKPOINT_PAGES: i64 = 1_000;
/// Pages in the log from which on they are moved even though somebody waits.
const CHECKPOINT_PAGES_BUSY: i64 = 8_000;

/// Something to write.
pub(crate) enum Change {
    Commit(Box<Commit>),
    Account(AccountRow),
    Lease {
        scope: AgentScope,
        session: SessionId,
        holder: u64,
        until: Timestamp,
    },
}

/// `true` where something was written.
type Answer = Result<bool, Error>;

type Waiting = (Change, oneshot::Sender<Answer>);

/// What is queued for the thread.
enum Job {
    Change(Box<Waiting>),
    /// Something to do with the connection that writes, between transactions.
    Visit(Box<dyn FnOnce(&Connection) + Send>),
}

/// The queue's end at the callers' side. Dropping it lets the thread finish what is queued, and waits.
pub(crate) struct Writer {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    transactions: Arc<AtomicU64>,
}

impl Writer {
    /// Starts the thread.
    pub(crate) fn start(connection: Connection) -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let transactions = Arc::new(AtomicU64::new(0));
        let desk = Desk {
            connection,
            transactions: Arc::clone(&transactions),
        };
        let thread = std::thread::Builder::new()
            .name("memoir-sqlite".to_owned())
            .spawn(move || desk.work(queue))?;
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
            transactions,
        })
    }

    /// Transactions that reached the disk.
    pub(crate) fn transactions(&self) -> u64 {
        self.transactions.load(Ordering::Relaxed)
    }

    /// Queues a change and waits until it is on the disk.
    pub(crate) async fn write(&self, change: Change) -> Answer {
        let (sender, answer) = oneshot::channel();
        self.queue(Job::Change(Box::new((change, sender)))).await?;
        answer.await.map_err(|_| Error::Closed)?
    }

    /// Does something with the connection that writes.
    pub(crate) async fn visit<T: Send + 'static>(
        &self,
        visit: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        let (sender, answer) = oneshot::channel();
        let job = Job::Visit(Box::new(move |connection| {
            // A caller who has gone needs no answer.
            let _ = sender.send(visit(connection));
        }));
        self.queue(job).await?;
        Ok(answer.await.map_err(|_| Error::Closed)??)
    }

    async fn queue(&self, job: Job) -> Result<(), Error> {
        let jobs = self.jobs.as_ref().ok_or(Error::Closed)?;
        jobs.send(job).await.map_err(|_| Error::Closed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs.take();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that writes the database has panicked");
        }
    }
}

/// The thread's own.
struct Desk {
    connection: Connection,
    transactions: Arc<AtomicU64>,
}

impl Desk {
    fn work(self, mut queue: mpsc::Receiver<Job>) {
        let mut jobs = Vec::new();
        let mut batch = Vec::new();
        while queue.blocking_recv_many(&mut jobs, BATCH) > 0 {
            for job in jobs.drain(..) {
                match job {
                    Job::Change(waiting) if is_bulk(&waiting.0) => {
                        self.answer(&mut batch);
                        batch.push(*waiting);
                        self.bulk(&mut batch);
                    }
                    Job::Change(waiting) => batch.push(*waiting),
                    Job::Visit(visit) => {
                        self.answer(&mut batch);
                        visit(&self.connection);
                    }
                }
            }
            self.answer(&mut batch);
            self.checkpoint(queue.is_empty());
        }
        eprintln!(
            "tx {} of mean {}ns",
            N.load(Ordering::Relaxed),
            T.load(Ordering::Relaxed) / N.load(Ordering::Relaxed).max(1)
        );
        T.store(0, Ordering::Relaxed);
        N.store(0, Ordering::Relaxed);
        // Closing the last connection moves the log into the file and removes it.
        if let Err((_, error)) = self.connection.close() {
            tracing::warn!(problem = %crate::error::message(&error), "the database did not close cleanly");
        }
    }

    /// Writes the batch and answers everybody in it.
    fn answer(&self, batch: &mut Vec<Waiting>) {
        if batch.is_empty() {
            return;
        }
        let began = std::time::Instant::now();
        let r = self.transaction(batch);
        T.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        N.fetch_add(1, Ordering::Relaxed);
        match r {
            Ok(answers) => {
                for ((_, sender), answer) in batch.drain(..).zip(answers) {
                    // A caller who has gone needs no answer.
                    let _ = sender.send(answer);
                }
            }
            Err(fault) => {
                let error = Error::from(fault);
                let (_, first) = batch.swap_remove(0);
                for (_, sender) in batch.drain(..) {
                    let _ = sender.send(Err(again(&error)));
                }
                let _ = first.send(Err(error));
            }
        }
    }

    /// One transaction for the whole batch. An error means that nothing of it was written.
    fn transaction(&self, batch: &[Waiting]) -> Result<Vec<Answer>> {
        self.run("BEGIN IMMEDIATE")?;
        fault::point("batch.begun");
        let result = self.changes(batch).and_then(|answers| {
            let written = answers.iter().any(|answer| matches!(answer, Ok(true)));
            fault::point("batch.before_commit");
            self.run(if written { "COMMIT" } else { "ROLLBACK" })?;
            if written {
                self.transactions.fetch_add(1, Ordering::Relaxed);
            }
            fault::point("batch.committed");
            Ok(answers)
        });
        // Some errors end the transaction by themselves; the others leave it to be ended.
        if result.is_err() && !self.connection.is_autocommit() {
            self.run("ROLLBACK")?;
        }
        result
    }

    /// Every change of the batch; an error means that the transaction is lost.
    fn changes(&self, batch: &[Waiting]) -> Result<Vec<Answer>> {
        if let [(change, _)] = batch {
            // Alone: the transaction is its savepoint.
            return match self.apply(change) {
                Ok(written) => Ok(vec![Ok(written)]),
                Err(fault) => Err(fault),
            };
        }
        let mut answers = Vec::with_capacity(batch.len());
        for (change, _) in batch {
            self.run("SAVEPOINT change")?;
            match self.apply(change) {
                Ok(written) => {
                    self.run("RELEASE change")?;
                    answers.push(Ok(written));
                }
                Err(fault) if self.connection.is_autocommit() => return Err(fault),
                Err(fault) => {
                    self.run("ROLLBACK TO change")?;
                    self.run("RELEASE change")?;
                    answers.push(Err(fault.into()));
                }
            }
        }
        Ok(answers)
    }

    fn apply(&self, change: &Change) -> Result<bool> {
        match change {
            Change::Commit(commit) => commit::write(&self.connection, commit).map(|()| true),
            Change::Account(account) => {
                commit::create_account(&self.connection, account).map(|()| true)
            }
            Change::Lease {
                scope,
                session,
                holder,
                until,
            } => commit::renew_lease(&self.connection, *scope, *session, *holder, *until),
        }
    }

    fn run(&self, sql: &str) -> Result<()> {
        self.connection.prepare_cached(sql)?.execute([])?;
        Ok(())
    }

    /// Like [`Desk::answer`], with more memory for pages while it lasts.
    fn bulk(&self, batch: &mut Vec<Waiting>) {
        self.cache(BULK_CACHE_KIB);
        self.answer(batch);
        self.cache(open::WRITER_CACHE_KIB);
        let _ = self.connection.release_memory();
    }

    fn cache(&self, kib: i64) {
        if let Err(error) = self.connection.pragma_update(None, "cache_size", -kib) {
            tracing::warn!(problem = %crate::error::message(&error), "the page cache kept its size");
        }
    }

    /// Moves the log into the file once it is long, after everybody has their answer. Never waits for
    /// readers. Nothing is lost where it fails: the log stays and is moved the next time.
    fn checkpoint(&self, idle: bool) {
        let wanted = if idle {
            CHECKPOINT_PAGES
        } else {
            CHECKPOINT_PAGES_BUSY
        };
        let run = |mode: &str| -> Result<i64, rusqlite::Error> {
            self.connection
                .prepare_cached(mode)?
                .query_row([], |row| Ok(row.get::<_, i64>(1)? - row.get::<_, i64>(2)?))
        };
        let result = run("PRAGMA wal_checkpoint(NOOP)").and_then(|pages| {
            if pages >= wanted {
                run("PRAGMA wal_checkpoint(PASSIVE)")
            } else {
                Ok(pages)
            }
        });
        if let Err(error) = result {
            tracing::warn!(problem = %crate::error::message(&error), "the log was not moved into the database");
        }
    }
}

fn is_bulk(change: &Change) -> bool {
    match change {
        Change::Commit(commit) => {
            commit.memories.len()
                + commit.records.len()
                + commit.details_added.len()
                + commit.details_removed.len()
                >= BULK_ROWS
        }
        Change::Account(_) | Change::Lease { .. } => false,
    }
}

static T: AtomicU64 = AtomicU64::new(0);
static N: AtomicU64 = AtomicU64::new(0);
