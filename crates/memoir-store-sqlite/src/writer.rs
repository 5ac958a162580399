//! The one connection that writes, and the thread that keeps it.
//!
//! Callers queue changes. The thread writes all queued changes in one transaction, and responds to all callers once
//! that is on the disk: many callers share one wait for the disk. A refused change does not fail the others. Mostly its
//! first statement is refused, and there is nothing to roll back. Otherwise all changes are written again, each with a
//! savepoint of its own, for which SQLite copies every page that changes share.
//!
//! A caller that finds the queue empty and the connection free writes on its own thread: waking two threads would take
//! as long as the disk does, and on a busy machine many times as long. It never waits for a lock there. On a slow disk
//! it notifies its runtime, which runs its other tasks on another thread. With a runtime of one thread, and for a caller
//! on a thread of lower priority, the thread here does the writing.
//!
//! A body that is replaced in a log is off the disk when its change is acknowledged (`scrub`). A reader that began
//! earlier may block that. The writer waits for it for a limited time, then responds nevertheless. It retries with
//! every check of the log's length, and when the file is next opened.

use std::{
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use memoir_store::Error;
use parking_lot::{Mutex, MutexGuard};
use rusqlite::{Connection, ErrorCode};
use tokio::{
    runtime::RuntimeFlavor,
    sync::{mpsc, oneshot, watch},
    task::coop,
};

use crate::{
    error::{QueryFault, Result, again, code, message},
    fault, open,
    opened_files::OpenedFiles,
    schema, scrub,
};

/// Jobs that may wait; callers beyond them wait without holding a thread.
// Four batches, so that the thread does not find it empty while others wait for a place.
const QUEUE: usize = 1_024;
const BATCH: usize = 256;
/// Rows up to which a caller writes on its own thread.
const SMALL_ROWS: usize = 256;
/// Disk latency up to which a caller writes on its own thread without notifying its runtime: as long as a runtime's
/// thread may be blocked.
const FAST_DISK: Duration = Duration::from_micros(500);
/// Rows from which on a commit gets a transaction to itself, and memory to do it in.
pub(crate) const BULK_ROWS: usize = 4_096;
/// Pages kept in memory during such a commit, in KiB.
const BULK_CACHE_KIB: i64 = 32_768;
/// Changes between two checks of the log's length.
const CHANGES_BETWEEN_LOOKS: usize = 16;
/// Pages in the log from which on an idle writer moves them into the file.
// SQLite's own default for its automatic checkpoint, at which 4 MB are moved. Under load eight times as much is let
// grow, so that moving is put off to a pause, but a log that never stops growing would make every reader slower.
const CHECKPOINT_PAGES: i64 = 1_000;
/// Pages in the log from which on they are moved even while callers wait.
const CHECKPOINT_PAGES_BUSY: i64 = 8_000;

/// From which time on it is logged that callers could not write.
const SLOW: Duration = Duration::from_millis(8);

/// How long others may block each step of removing a replaced body from the disk before the change is acknowledged
/// nevertheless.
// Longer than an ordinary read takes, and short enough for a person who waits for the response to a shredding.
const SCRUBBING: Duration = Duration::from_secs(2);

/// The effect of a write, and its result for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WriteOutcome<T = ()> {
    /// Whether anything is different afterwards: a transaction in which nothing is, is not put on the disk.
    pub(crate) is_written: bool,
    /// What the caller gets once it is on the disk.
    pub(crate) value: T,
}

impl WriteOutcome {
    /// A write without further results.
    pub(crate) const DONE: Self = Self {
        is_written: true,
        value: (),
    };
}

impl<T> WriteOutcome<T> {
    pub(crate) fn when(is_written: bool, value: T) -> Self {
        Self { is_written, value }
    }

    pub(crate) fn with(value: T) -> Self {
        Self::when(true, value)
    }

    pub(crate) fn unchanged(value: T) -> Self {
        Self::when(false, value)
    }
}

impl WriteOutcome<bool> {
    /// Whether any of these rows were written.
    pub(crate) fn any(rows: usize) -> Self {
        Self::when(rows > 0, rows > 0)
    }
}

/// What is known of a change before it is written.
pub(crate) struct Outline {
    /// Estimated number of rows; [`BULK_ROWS`] if unknown.
    rows: usize,
    /// Whether it removes text from a log, which must not stay on the disk.
    pub(crate) replaces_bodies: bool,
    /// Whether it waits for another process that has the lock.
    waits: bool,
    /// Whether the thread has begun it, or its caller no longer waits for it.
    is_claimed: Arc<AtomicBool>,
}

/// Something to write: about how much it is, and how.
pub(crate) struct QueuedChange<T, F> {
    pub(crate) outline: Outline,
    /// Done again where the transaction was lost by another change in it.
    write: F,
    brought: Option<T>,
    /// `None` while the caller's own thread writes it.
    answer: Option<oneshot::Sender<Result<T, Error>>>,
}

impl<T, F: Fn(&Connection) -> Result<WriteOutcome<T>>> QueuedChange<T, F> {
    pub(crate) fn new(rows: usize, write: F) -> Self {
        let outline = Outline {
            rows,
            replaces_bodies: false,
            waits: memoir_store::may_wait(),
            is_claimed: Arc::default(),
        };
        Self {
            outline,
            write,
            brought: None,
            answer: None,
        }
    }
}

/// A change, whatever it brings.
trait AnyChange: Send {
    fn outline(&self) -> &Outline;

    /// Writes it, inside a transaction; whether anything is different afterwards.
    fn write(&mut self, connection: &Connection) -> Result<bool>;

    /// Sends the outcome to its caller.
    fn answer(&mut self, done: Result<(), Error>);
}

impl<T: Send, F: Fn(&Connection) -> Result<WriteOutcome<T>> + Send> AnyChange
    for QueuedChange<T, F>
{
    fn outline(&self) -> &Outline {
        &self.outline
    }

    fn write(&mut self, connection: &Connection) -> Result<bool> {
        let written = (self.write)(connection)?;
        self.brought = Some(written.value);
        Ok(written.is_written)
    }

    fn answer(&mut self, done: Result<(), Error>) {
        // Every write without an error has a result. It is only returned if the transaction reached the disk: a change
        // that was written and then lost with another one has a result too.
        let answer = done.and_then(|()| self.brought.take().ok_or(Error::Closed));
        if let Some(sender) = self.answer.take() {
            // A caller that has gone needs no result.
            let _ = sender.send(answer);
        }
    }
}

/// Whether a change left anything different.
type WriteResult = Result<bool, Error>;

struct WaitingChange {
    change: Box<dyn AnyChange>,
    _place: QueueSlot,
}

/// A job in the thread's queue.
enum WriterJob {
    Write(WaitingChange),
    /// Something to do between transactions.
    Visit(Box<dyn FnOnce(&mut WriterState) + Send>, QueueSlot),
    /// To move the log into the file. Has a place, so that callers leave the connection to the thread.
    Tidy(QueueSlot),
}

impl WriterJob {
    /// Whether it waits for other processes.
    fn waits(&self) -> bool {
        !matches!(self, Self::Write(request) if !request.change.outline().waits)
    }
}

/// What callers and the thread know of each other without a lock.
#[derive(Default)]
struct Load {
    /// Callers whose jobs are not done.
    waiting: AtomicUsize,
    /// Whether the thread waits for another process that has the lock.
    is_blocked: watch::Sender<bool>,
    /// Transactions that reached the disk.
    transactions: AtomicU64,
    /// How long the disk takes for one, in microseconds: an average in which each counts an eighth.
    disk_microseconds: AtomicU64,
    /// How many times the connection noticed commits of others.
    others: AtomicU64,
    /// Whether a transaction is open that has looked for commits of others as it began. Until its end there are no more.
    is_writing: AtomicBool,
}

/// A transaction is open while this exists.
struct OpenTransaction<'load>(&'load Load);

impl<'load> OpenTransaction<'load> {
    fn new(load: &'load Load) -> Self {
        load.is_writing.store(true, Ordering::Release);
        Self(load)
    }
}

impl Drop for OpenTransaction<'_> {
    fn drop(&mut self) {
        self.0.is_writing.store(false, Ordering::Release);
    }
}

/// A place in the queue, released when the job is done or its caller leaves.
struct QueueSlot(Arc<Load>);

impl QueueSlot {
    fn take(load: &Arc<Load>) -> Self {
        load.waiting.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(load))
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The callers' side. Dropping it lets the thread finish its queue, waits, and closes the connection.
pub(crate) struct Writer {
    /// `None` only while it is dropped.
    jobs: Option<mpsc::Sender<WriterJob>>,
    thread: Option<JoinHandle<()>>,
    state: Arc<Mutex<WriterState>>,
    load: Arc<Load>,
}

impl Writer {
    pub(crate) fn start(
        connection: Connection,
        place: Option<OpenedFiles>,
    ) -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let load = Arc::new(Load::default());
        let state = WriterState::new(connection, place, Arc::clone(&load));
        // A lock of threads, not of the runtime: it is held for one transaction at a
        // time and never across an `await`, and the thread, which is no task, waits for it too.
        let state = Arc::new(Mutex::new(state));
        let thread = std::thread::Builder::new()
            .name("memoir-sqlite".to_owned())
            .spawn({
                let state = Arc::clone(&state);
                move || work(&state, queue)
            })?;
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
            state,
            load,
        })
    }

    pub(crate) fn transactions(&self) -> u64 {
        self.load.transactions.load(Ordering::Relaxed)
    }

    /// A number that is another one once any other connection has committed, as far as is known now. `None` where it
    /// is not known at this moment.
    pub(crate) fn others(&self) -> Option<u64> {
        match self.state.try_lock() {
            Some(state) => state.look_for_others(state.at_rest()?).ok()?,
            None if self.load.is_writing.load(Ordering::Acquire) => {}
            None => return None,
        }
        Some(self.load.others.load(Ordering::Acquire))
    }

    /// Notes that another program wrote through this connection, as tests do.
    #[cfg(feature = "fault-points")]
    pub(crate) fn note_others(&self) {
        self.load.others.fetch_add(1, Ordering::AcqRel);
    }

    /// Writes a change; it is on the disk when this returns.
    pub(crate) async fn write<T, F>(&self, mut change: QueuedChange<T, F>) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Fn(&Connection) -> Result<WriteOutcome<T>> + Send + 'static,
    {
        // Writing on the caller's thread never waits, and a task that never waits must yield at times.
        coop::consume_budget().await;
        let waits = change.outline.waits;
        if !waits && self.is_blocked() {
            return Err(Error::Busy);
        }
        // If this returns `None`, nothing was written, and the change goes to the thread unchanged. It may have been
        // begun: `write` is an `Fn` that takes everything by reference, and can run as often as the transaction needs.
        if let Some(done) = self.write_at_once(&mut change) {
            done?;
            return change.brought.take().ok_or(Error::Closed);
        }
        let (sender, answer) = oneshot::channel();
        change.answer = Some(sender);
        let is_claimed = Arc::clone(&change.outline.is_claimed);
        let request = WaitingChange {
            change: Box::new(change),
            _place: QueueSlot::take(&self.load),
        };
        let answered = async {
            self.queue(WriterJob::Write(request)).await?;
            // Only a panic of the thread drops a sender without a result: on its way out it takes all queued jobs.
            answer.await.map_err(|_| Error::Closed)?
        };
        if waits {
            return answered.await;
        }
        // The thread may have begun to wait for the lock since the check above, with this change behind it.
        let mut answered = std::pin::pin!(answered);
        let mut blocked = self.load.is_blocked.subscribe();
        tokio::select! {
            answer = &mut answered => return answer,
            _ = blocked.wait_for(|is_blocked| *is_blocked) => {}
        }
        match claim(&is_claimed) {
            true => Err(Error::Busy),
            false => answered.await,
        }
    }

    /// Whether the thread waits for another process that has the lock.
    fn is_blocked(&self) -> bool {
        *self.load.is_blocked.borrow()
    }

    /// Does something with the connection that writes.
    pub(crate) async fn visit<T: Send + 'static>(
        &self,
        visit: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        self.visit_state(|state| visit(state.at_rest().ok_or(Error::Closed)?))
            .await
    }

    async fn visit_state<T: Send + 'static>(
        &self,
        visit: impl FnOnce(&mut WriterState) -> Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        let (sender, answer) = oneshot::channel();
        let visit = Box::new(move |state: &mut WriterState| {
            // A caller that has gone needs no result.
            let _ = sender.send(visit(state));
        });
        self.queue(WriterJob::Visit(visit, QueueSlot::take(&self.load)))
            .await?;
        Ok(answer.await.map_err(|_| Error::Closed)??)
    }

    /// Runs a pending scrub, unless another process has the lock. Returns whether nothing remains.
    pub(crate) async fn finish(&self) -> Result<bool, Error> {
        if self.is_blocked() {
            return Ok(false);
        }
        self.visit_state(WriterState::finish).await
    }

    /// Runs `visit` on the connection that writes if that is free this instant; else returns it. Its pages are the
    /// freshest: reading a few rows takes a fraction of what a reader needs, which must fetch all changes.
    pub(crate) fn visit_at_once<T, F: FnOnce(&Connection) -> T>(&self, visit: F) -> Result<T, F> {
        if memoir_store::is_low_priority() {
            return Err(visit);
        }
        let state = self.free_state();
        match state.as_ref().and_then(|state| state.at_rest()) {
            Some(connection) => Ok(visit(connection)),
            None => Err(visit),
        }
    }

    /// Writes on the caller's thread; `None` if the writer thread has to.
    fn write_at_once(&self, change: &mut dyn AnyChange) -> Option<WriteResult> {
        let disk = Duration::from_micros(self.load.disk_microseconds.load(Ordering::Relaxed));
        let is_held_up = disk > FAST_DISK;
        // Waiting for the disk blocks the other tasks of its thread: only allowed if other threads continue them. A
        // change that is large or shreds texts keeps the connection for long, and goes to the writer thread.
        let outline = change.outline();
        let is_large = outline.rows > SMALL_ROWS || outline.replaces_bodies;
        let is_for_the_thread = is_large || memoir_store::is_low_priority();
        if is_for_the_thread || (is_held_up && !has_other_threads()) {
            return None;
        }
        // `try_lock`, never `lock`: waiting for a lock on a runtime's thread blocks all tasks
        // of that thread, and with one thread perhaps the task that would release it.
        let mut state = self.free_state()?;
        let answer = match is_held_up {
            true => tokio::task::block_in_place(|| state.write_without_waiting(change))?,
            false => state.write_without_waiting(change)?,
        };
        // Only checked here. Moving the log takes many times as long as a commit, and would delay the response to the
        // caller of every sixteenth change.
        let is_log_long = state.is_look_due() && state.look(CHECKPOINT_PAGES);
        drop(state);
        if is_log_long && let Some(jobs) = &self.jobs {
            // A full queue comes to it by itself.
            let _ = jobs.try_send(WriterJob::Tidy(QueueSlot::take(&self.load)));
        }
        Some(answer)
    }

    /// The state, if no caller holds it or waits for it.
    fn free_state(&self) -> Option<MutexGuard<'_, WriterState>> {
        // Queued callers come first. `Relaxed` is enough: an overlooked caller is only passed, which is allowed. The
        // lock orders what is written.
        if self.load.waiting.load(Ordering::Relaxed) > 0 {
            return None;
        }
        // A transaction that a panic left open is rolled back as the next one begins.
        self.state.try_lock()
    }

    async fn queue(&self, job: WriterJob) -> Result<(), Error> {
        let jobs = self.jobs.as_ref().ok_or(Error::Closed)?;
        // Waits for room without a thread. A caller dropped here takes its job with it. The change of one dropped later
        // is written, without a receiver for its outcome.
        jobs.send(job).await.map_err(|_| Error::Closed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // The sender first: the thread ends once the queue is closed and empty, and joining it
        // before that would wait for ever.
        self.jobs.take();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that writes the database has panicked");
        }
        // After the thread, and after the readers, which the store drops before its writer: only
        // the last connection to a file can move the log into it and take it away.
        let connection = self.state.lock().connection.take();
        // Closing the last connection moves the log into the file and removes it.
        if let Some(connection) = connection
            && let Err((_, error)) = connection.close()
        {
            tracing::warn!(
                problem = message(&error),
                "the database did not close cleanly"
            );
        }
    }
}

/// Takes a change for one side: `false` where the other has it.
fn claim(is_claimed: &AtomicBool) -> bool {
    !is_claimed.swap(true, Ordering::Relaxed)
}

/// Whether the caller's runtime continues while this thread is blocked.
fn has_other_threads() -> bool {
    tokio::runtime::Handle::try_current()
        .is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread)
}

fn work(state: &Mutex<WriterState>, mut queue: mpsc::Receiver<WriterJob>) {
    let mut jobs = Vec::new();
    let mut batch = Vec::new();
    // Waits without the lock: while nothing is queued, callers write on their own threads.
    while queue.blocking_recv_many(&mut jobs, BATCH) > 0 {
        let mut tidying = None;
        let mut state = state.lock();
        // Changes queued while a caller had the connection share the wait for the disk, too.
        let others = std::iter::from_fn(|| queue.try_recv().ok());
        jobs.extend(others.take(BATCH.saturating_sub(jobs.len())));
        // What does not wait comes first, so that it does not wait with the others.
        jobs.sort_by_key(WriterJob::waits);
        for job in jobs.drain(..) {
            match job {
                WriterJob::Write(request) if !request.change.outline().waits => {
                    let outline = request.change.outline();
                    // Its caller may no longer wait for it.
                    if !claim(&outline.is_claimed) {
                        continue;
                    }
                    let is_large = outline.rows >= BULK_ROWS;
                    batch.push(request);
                    state.patience = Duration::ZERO;
                    match is_large {
                        true => state.bulk(&mut batch),
                        false => state.answer(&mut batch),
                    }
                    state.patience = open::BUSY_TIMEOUT;
                }
                // The earlier jobs get their results first, so that a long import does not delay small changes, and no
                // small one fails with the import.
                WriterJob::Write(request) if request.change.outline().rows >= BULK_ROWS => {
                    state.answer(&mut batch);
                    batch.push(request);
                    state.bulk(&mut batch);
                }
                WriterJob::Write(request) => batch.push(request),
                // A visit reads what was queued before it: a caller must find its own changes.
                WriterJob::Visit(visit, _place) => {
                    state.answer(&mut batch);
                    let started = Instant::now();
                    visit(&mut state);
                    note_slow("a visit", started, 0, 0);
                }
                // At the end of the round, after all responses. It keeps its place in the queue until then, so that no
                // caller takes the connection between the check that requested it and the work.
                WriterJob::Tidy(place) => tidying = Some(place),
            }
        }
        state.answer(&mut batch);
        let wanted = if queue.is_empty() {
            CHECKPOINT_PAGES
        } else {
            CHECKPOINT_PAGES_BUSY
        };
        if tidying.is_some() || (state.is_look_due() && state.look(wanted)) {
            let started = Instant::now();
            state.tidy();
            note_slow("moving the log", started, 0, 0);
        }
    }
}

/// Logs what kept the connection from callers for long.
fn note_slow(what: &'static str, started: Instant, changes: usize, rows: usize) {
    let took = started.elapsed();
    if took >= SLOW {
        tracing::debug!(?took, changes, rows, "{what} kept the writer");
    }
}

/// The connection that writes, and what belongs to it.
struct WriterState {
    /// `None` once the store is closed.
    connection: Option<Connection>,
    load: Arc<Load>,
    changes_since_look: usize,
    /// Whether a body that was replaced is still on the disk.
    owes_scrub: bool,
    /// How long a transaction waits for another process that has the lock.
    patience: Duration,
    looked: schema::CheckedSchema,
    /// SQLite's count of what other connections committed; `None` before the first look.
    data_version: Cell<Option<i64>>,
    /// `None` for a database in memory.
    place: Option<OpenedFiles>,
}

impl WriterState {
    fn new(connection: Connection, place: Option<OpenedFiles>, load: Arc<Load>) -> Self {
        Self {
            connection: Some(connection),
            load,
            changes_since_look: 0,
            owes_scrub: false,
            patience: open::BUSY_TIMEOUT,
            looked: schema::CheckedSchema::default(),
            place,
            data_version: Cell::new(None),
        }
    }

    /// Writes the batch and responds to all of its callers.
    fn answer(&mut self, batch: &mut Vec<WaitingChange>) {
        if batch.is_empty() {
            return;
        }
        let mut changes: Vec<&mut dyn AnyChange> = Vec::with_capacity(batch.len());
        for request in &mut *batch {
            changes.push(&mut *request.change);
        }
        let mut written = self.transaction(&mut changes, Parting::None);
        // Only if a change failed after it had written something. Mostly the first statement of a change is refused (an
        // agent's version), and then the transaction continues without it.
        if matches!(written, Err(LostTransaction::Change(_))) && changes.len() > 1 {
            written = self.transaction(&mut changes, Parting::Savepoints);
        }
        match written {
            Ok(answers) => {
                for (mut request, answer) in batch.drain(..).zip(answers) {
                    request.change.answer(answer.map(drop));
                }
            }
            // One of them, too large for the disk perhaps, lost it for all: each gets its own.
            // Reached where even savepoints could not keep them apart: some errors of SQLite, as a
            // full disk, end the whole transaction. Each of those alone has itself to blame, and
            // the recursion ends, since a batch of one comes to the arm below.
            Err(LostTransaction::Change(_)) if batch.len() > 1 => {
                for request in batch.drain(..) {
                    self.answer(&mut vec![request]);
                }
            }
            Err(LostTransaction::Change(fault) | LostTransaction::Whole(fault)) => {
                let error = Error::from(fault);
                // The first one gets the error itself and the others a partial copy: an error of SQLite holds its
                // source, which cannot be copied.
                for request in &mut batch[1..] {
                    request.change.answer(Err(again(&error)));
                }
                batch[0].change.answer(Err(error));
                batch.clear();
            }
        }
    }

    /// Like [`WriterState::answer`], with more memory for pages while it lasts.
    fn bulk(&mut self, batch: &mut Vec<WaitingChange>) {
        self.cache(BULK_CACHE_KIB);
        self.answer(batch);
        self.cache(open::WRITER_CACHE_KIB);
        if let Some(connection) = &self.connection {
            // What is kept costs memory only.
            let _ = connection.release_memory();
        }
        self.changes_since_look = CHANGES_BETWEEN_LOOKS;
    }

    /// Writes one change; `None` where another process has the lock, and one would have to wait.
    fn write_without_waiting(&mut self, change: &mut dyn AnyChange) -> Option<WriteResult> {
        // SQLite would sleep in the call, on a runtime's thread, while another process has the lock. So it fails
        // immediately, and the writer thread, which may sleep, waits.
        self.patience = Duration::ZERO;
        let result = self.transaction(&mut [change], Parting::None);
        self.patience = open::BUSY_TIMEOUT;
        match result {
            Err(LostTransaction::Whole(QueryFault::Sqlite(error)))
                // It can only be the beginning that was refused so: from `BEGIN IMMEDIATE` on the lock is ours, and in
                // this journal mode a commit needs no other one. So nothing was written, and the thread may write it.
                if code(&error) == Some(ErrorCode::DatabaseBusy) =>
            {
                None
            }
            Err(LostTransaction::Change(fault) | LostTransaction::Whole(fault)) => {
                Some(Err(fault.into()))
            }
            Ok(answers) => answers.into_iter().next(),
        }
    }

    /// Begins a transaction that writes, and tells callers while another process blocks it.
    fn begin(&self, connection: &Connection) -> Result<()> {
        end_abandoned(connection)?;
        connection.busy_timeout(Duration::ZERO)?;
        let mut begun = run(connection, "BEGIN IMMEDIATE");
        connection.busy_timeout(self.patience)?;
        if !self.patience.is_zero()
            && matches!(&begun, Err(QueryFault::Sqlite(error)) if code(error) == Some(ErrorCode::DatabaseBusy))
        {
            self.load.is_blocked.send_replace(true);
            begun = run(connection, "BEGIN IMMEDIATE");
            self.load.is_blocked.send_replace(false);
        }
        // For everything but transactions: a checkpoint, a visit.
        connection.busy_timeout(open::BUSY_TIMEOUT)?;
        begun?;
        fault::point("batch.begun");
        Ok(())
    }

    /// Notes where other connections have committed since the last look.
    fn look_for_others(&self, connection: &Connection) -> Result<()> {
        let mut statement = connection.prepare_cached("PRAGMA data_version")?;
        let version: i64 = statement.query_row([], |row| row.get(0))?;
        if self.data_version.replace(Some(version)) != Some(version) {
            self.load.others.fetch_add(1, Ordering::AcqRel);
        }
        Ok(())
    }

    /// The connection, in no transaction: in one that a panic left open, a reader would find uncommitted changes.
    /// `None` if it is closed, or cannot leave the transaction.
    fn at_rest(&self) -> Option<&Connection> {
        let connection = self.connection.as_ref();
        connection.filter(|connection| end_abandoned(connection).is_ok())
    }

    /// One transaction for all the changes. A loss means that nothing was written.
    fn transaction(
        &mut self,
        changes: &mut [&mut dyn AnyChange],
        parting: Parting,
    ) -> Result<Vec<WriteResult>, LostTransaction> {
        let Some(connection) = &self.connection else {
            return Err(LostTransaction::Whole(Error::Closed.into()));
        };
        self.changes_since_look += changes.len();
        let started = Instant::now();
        let begun = self.begin(connection);
        let begun = begun.and_then(|()| self.look_for_others(connection));
        let open = begun.is_ok().then(|| OpenTransaction::new(&self.load));
        let (looked, place) = (&mut self.looked, &mut self.place);
        let result = begun
            // After `BEGIN IMMEDIATE` and before any row: the lock keeps others from changing the schema or the file
            // between this check and the end of the transaction.
            .and_then(|()| schema::check(connection, looked))
            .and_then(|()| place.as_mut().map_or(Ok(()), OpenedFiles::check))
            .map_err(LostTransaction::Whole)
            .and_then(|()| write_all(connection, changes, parting).map_err(LostTransaction::Change))
            .and_then(|answers| {
                self.end(connection, &answers)
                    .map_err(LostTransaction::Whole)?;
                Ok(answers)
            });
        drop(open);
        // Some errors end the transaction by themselves; the others do not. Without this the next `BEGIN` would fail,
        // and an idle writer would keep the file locked for every other process.
        if result.is_err() && !connection.is_autocommit() {
            run(connection, "ROLLBACK").map_err(LostTransaction::Whole)?;
        }
        let has_replaced = |answers: &Vec<WriteResult>| {
            let mut answered = changes.iter().zip(answers);
            answered.any(|(change, answer)| change.outline().replaces_bodies && answer.is_ok())
        };
        if result.as_ref().is_ok_and(has_replaced) {
            // After the commit, since a checkpoint cannot move uncommitted pages, and before any response: SPEC 4.4
            // promises that shredded text is gone. The response does not depend on it; the row in `residues` keeps the
            // rest pending.
            self.scrub(SCRUBBING);
        }
        let rows: usize = changes.iter().map(|change| change.outline().rows).sum();
        note_slow("a transaction", started, changes.len(), rows);
        result
    }

    /// Puts the transaction on the disk, where there is anything to put there.
    fn end(&self, connection: &Connection, answers: &[WriteResult]) -> Result<()> {
        fault::point("batch.before_commit");
        if !answers.iter().any(|answer| matches!(answer, Ok(true))) {
            // Every change was refused or changed nothing. A rollback spares the wait for the disk.
            return run(connection, "ROLLBACK");
        }
        let began = Instant::now();
        run(connection, "COMMIT")?;
        fault::point("batch.committed");
        let took = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        // Only the holder of the state writes this.
        let disk = &self.load.disk_microseconds;
        let before = disk.load(Ordering::Relaxed);
        // Old values lose their weight within a few dozen commits: after one slow moment of the disk, later changes do
        // not all go to the thread.
        disk.store(before - before / 8 + took / 8, Ordering::Relaxed);
        self.load.transactions.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn cache(&self, kib: i64) {
        let Some(connection) = &self.connection else {
            return;
        };
        if let Err(error) = connection.pragma_update(None, "cache_size", -kib) {
            // Costs memory or time, and no row.
            tracing::warn!(problem = message(&error), "the page cache kept its size");
        }
    }

    fn is_look_due(&self) -> bool {
        self.changes_since_look >= CHANGES_BETWEEN_LOOKS
    }

    /// Whether the log has so many pages that are not in the file yet, or there is something to scrub.
    fn look(&mut self, pages: i64) -> bool {
        // `NOOP` reports the lengths and moves nothing.
        let found = self.checkpoint("PRAGMA wal_checkpoint(NOOP)");
        let is_long = self.owes_scrub || found.is_some_and(|found| found >= pages);
        if !is_long {
            self.changes_since_look = 0;
        }
        is_long
    }

    /// Moves the log into the file. Never waits for readers. Nothing is lost if it fails: the log remains, and is moved
    /// the next time.
    fn tidy(&mut self) {
        self.changes_since_look = 0;
        if self.owes_scrub {
            // Scrubbing ends with a checkpoint of its own, so that one of both is enough.
            self.scrub(Duration::ZERO);
        } else {
            // `PASSIVE` moves what no reader needs and leaves the rest: any other kind waits for
            // readers, with all writers behind it.
            self.checkpoint("PRAGMA wal_checkpoint(PASSIVE)");
        }
    }

    /// Removes replaced bodies from the disk. If that is blocked for longer than `time`, the next check retries it.
    fn scrub(&mut self, time: Duration) {
        if let Some(connection) = &self.connection {
            self.owes_scrub = !scrub::scrub(connection, time);
        }
    }

    /// Runs a scrub that any process left pending, if nothing blocks it. Returns whether nothing remains.
    fn finish(&mut self) -> Result<bool> {
        let connection = self.connection.as_ref().ok_or(Error::Closed)?;
        self.owes_scrub = scrub::is_pending(connection)?;
        if self.owes_scrub {
            self.scrub(Duration::ZERO);
        }
        Ok(!self.owes_scrub)
    }

    /// Pages in the log, less those that are in the file already.
    fn checkpoint(&self, pragma: &str) -> Option<i64> {
        let found = self
            .connection
            .as_ref()?
            .prepare_cached(pragma)
            .and_then(|mut statement| {
                statement.query_row([], |row| Ok(row.get::<_, i64>(1)? - row.get::<_, i64>(2)?))
            });
        match found {
            Ok(pages) => Some(pages),
            Err(error) => {
                tracing::warn!(
                    problem = message(&error),
                    "the log was not moved into the database"
                );
                None
            }
        }
    }
}

enum LostTransaction {
    /// By one of its changes.
    Change(QueryFault),
    /// By beginning or ending it: no change is at fault.
    Whole(QueryFault),
}

/// Ends a transaction that a panic interrupted.
fn end_abandoned(connection: &Connection) -> Result<()> {
    match connection.is_autocommit() {
        true => Ok(()),
        false => run(connection, "ROLLBACK"),
    }
}

fn run(connection: &Connection, sql: &str) -> Result<()> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}

/// What keeps a change that is refused from those beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parting {
    /// Nothing: one that is refused after it wrote something loses the transaction.
    None,
    /// A savepoint for each.
    Savepoints,
}

/// Writes every change; an error means that the transaction is lost.
fn write_all(
    connection: &Connection,
    changes: &mut [&mut dyn AnyChange],
    parting: Parting,
) -> Result<Vec<WriteResult>> {
    if let [change] = changes {
        // Alone: the transaction is its savepoint.
        return Ok(vec![Ok(change.write(connection)?)]);
    }
    let mut answers = Vec::with_capacity(changes.len());
    for change in changes {
        let answer = match parting {
            Parting::None => write_unparted(connection, *change)?,
            Parting::Savepoints => write_parted(connection, *change)?,
        };
        answers.push(answer);
    }
    Ok(answers)
}

fn write_unparted(connection: &Connection, change: &mut dyn AnyChange) -> Result<WriteResult> {
    let before = connection.total_changes();
    match change.write(connection) {
        Ok(written) => Ok(Ok(written)),
        Err(fault) if connection.is_autocommit() || connection.total_changes() != before => {
            Err(fault)
        }
        Err(fault) => Ok(Err(fault.into())),
    }
}

fn write_parted(connection: &Connection, change: &mut dyn AnyChange) -> Result<WriteResult> {
    run(connection, "SAVEPOINT change")?;
    match change.write(connection) {
        Ok(written) => {
            run(connection, "RELEASE change")?;
            Ok(Ok(written))
        }
        Err(fault) if connection.is_autocommit() => Err(fault),
        Err(fault) => {
            run(connection, "ROLLBACK TO change")?;
            run(connection, "RELEASE change")?;
            Ok(Err(fault.into()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer() -> Arc<Writer> {
        Arc::new(Writer::start(open::in_memory().unwrap(), None).unwrap())
    }

    /// Writes something, and returns the name of the thread that wrote it.
    async fn write(writer: Arc<Writer>, meanwhile: impl Fn() + Send + 'static) -> String {
        let write = move |connection: &Connection| {
            meanwhile();
            connection.execute("INSERT OR REPLACE INTO residues (id) VALUES (1)", [])?;
            let thread = std::thread::current();
            Ok(WriteOutcome::with(
                thread.name().unwrap_or_default().to_owned(),
            ))
        };
        writer.write(QueuedChange::new(1, write)).await.unwrap()
    }

    #[tokio::test]
    async fn spec_6_2_no_reader_sees_what_a_panic_kept_from_being_committed() {
        let writer = writer();
        let panics = |connection: &Connection| -> Result<WriteOutcome<()>> {
            connection.execute("INSERT INTO residues (id) VALUES (1)", [])?;
            std::panic::resume_unwind(Box::new("in the middle of a change"))
        };
        let own = Arc::clone(&writer);
        let change = async move { own.write(QueuedChange::new(1, panics)).await };
        assert!(tokio::spawn(change).await.is_err(), "on own thread");
        let rows = |connection: &Connection| {
            let count = "SELECT count(*) FROM residues";
            connection.query_row(count, [], |row| row.get::<_, i64>(0))
        };
        let seen = writer.visit_at_once(rows).ok();
        assert_eq!(seen.and_then(Result::ok), Some(0));
    }

    fn slow_disk(writer: &Writer) {
        let slow = FAST_DISK.as_micros() as u64 * 100;
        writer.load.disk_microseconds.store(slow, Ordering::Relaxed);
    }

    #[tokio::test]
    #[expect(
        clippy::await_holding_lock,
        reason = "acts as a caller on another thread who has the connection"
    )]
    async fn callers_that_wait_for_the_connection_share_a_transaction() {
        let writer = writer();
        let held = writer.state.lock();
        let mut tasks = Vec::new();
        for _ in 0..20 {
            tasks.push(tokio::spawn(write(Arc::clone(&writer), || {})));
            // The thread has the first of them and waits for the connection before the others come.
            while tasks.len() == 1
                && (writer.load.waiting.load(Ordering::Relaxed) == 0
                    || writer.jobs.as_ref().unwrap().capacity() < QUEUE)
            {
                tokio::task::yield_now().await;
            }
        }
        while writer.load.waiting.load(Ordering::Relaxed) < 20 {
            tokio::task::yield_now().await;
        }
        tokio::task::yield_now().await;
        drop(held);
        for task in tasks {
            assert_eq!(task.await.unwrap(), "memoir-sqlite");
        }
        assert_eq!(writer.transactions(), 1);
    }

    #[tokio::test]
    #[expect(
        clippy::await_holding_lock,
        reason = "acts as the thread, which waits for another process"
    )]
    async fn a_change_that_does_not_wait_is_refused_or_written_and_never_both() {
        let writer = writer();
        let held = writer.state.lock();
        let change = tokio::spawn(memoir_store::without_waiting({
            let writer = Arc::clone(&writer);
            async move {
                writer
                    .write(QueuedChange::new(1, writes_or_refuses(1, true)))
                    .await
            }
        }));
        while writer.load.waiting.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
        writer.load.is_blocked.send_replace(true);
        assert!(matches!(change.await.unwrap(), Err(Error::Busy)));
        writer.load.is_blocked.send_replace(false);
        drop(held);
        let rows = |connection: &Connection| {
            let count = "SELECT count(*) FROM accounts";
            Ok(connection.query_row(count, [], |row| row.get::<_, i64>(0))?)
        };
        assert_eq!(writer.visit(rows).await.unwrap(), 0);
    }

    /// Writes each number that is not negative, and refuses a negative one before or after it wrote something.
    fn writes_or_refuses(
        number: i64,
        is_before: bool,
    ) -> impl Fn(&Connection) -> Result<WriteOutcome<i64>> {
        move |connection: &Connection| {
            let refused = || Err(Error::Conflict.into());
            if number < 0 && is_before {
                return refused();
            }
            connection.execute(
                "INSERT INTO accounts (id, name, folded_name, created_at) VALUES (?1, '', ?2, 0)",
                rusqlite::params![number.to_be_bytes().repeat(2), number.to_string()],
            )?;
            match number < 0 {
                true => refused(),
                false => Ok(WriteOutcome::with(number)),
            }
        }
    }

    #[test]
    fn one_that_is_refused_takes_no_other_down_with_it() {
        for is_before in [true, false] {
            let connection = open::in_memory().unwrap();
            let mut state = WriterState::new(connection, None, Arc::default());
            let (mut batch, mut answers) = (Vec::new(), Vec::new());
            for number in [1, -2, 3, -4, 5] {
                let mut change = QueuedChange::new(1, writes_or_refuses(number, is_before));
                let (sender, answer) = oneshot::channel();
                change.answer = Some(sender);
                answers.push((number, answer));
                batch.push(WaitingChange {
                    change: Box::new(change),
                    _place: QueueSlot::take(&state.load),
                });
            }
            state.answer(&mut batch);
            for (number, mut answer) in answers {
                match answer.try_recv().unwrap() {
                    Ok(written) => assert_eq!(written, number),
                    Err(error) => assert!(number < 0 && matches!(error, Error::Conflict)),
                }
            }
            let connection = state.connection.as_ref().unwrap();
            let written: Vec<String> = connection
                .prepare("SELECT folded_name FROM accounts ORDER BY id")
                .unwrap()
                .query_map([], |row| row.get(0))
                .unwrap()
                .collect::<rusqlite::Result<_>>()
                .unwrap();
            assert_eq!(written, ["1", "3", "5"], "refused before: {is_before}");
            assert_eq!(state.load.transactions.load(Ordering::Relaxed), 1);
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_caller_whom_a_slow_disk_holds_up_holds_up_no_other() {
        let writer = writer();
        slow_disk(&writer);
        let (other, waited) = std::sync::mpsc::channel();
        let waited = Mutex::new(waited);
        let wait = move || {
            let other = waited.lock();
            other.recv_timeout(Duration::from_secs(60)).unwrap();
        };
        let task = tokio::spawn({
            let writer = Arc::clone(&writer);
            async move {
                // Of the runtime's only thread, which is held up from here on.
                tokio::spawn(async move { other.send(()) });
                write(writer, wait).await
            }
        });
        assert_ne!(task.await.unwrap(), "memoir-sqlite");
    }

    #[tokio::test]
    async fn a_runtime_of_one_thread_is_not_held_up_by_a_slow_disk() {
        let writer = writer();
        assert_ne!(write(Arc::clone(&writer), || {}).await, "memoir-sqlite");
        slow_disk(&writer);
        assert_eq!(write(writer, || {}).await, "memoir-sqlite");
    }
}
