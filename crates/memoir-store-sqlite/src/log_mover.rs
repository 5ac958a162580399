//! The thread that moves the write-ahead log into the file while callers write.

use std::{
    path::Path,
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::JoinHandle,
};

use memoir_store::Error;
use parking_lot::Mutex;
use rusqlite::Connection;

use crate::{error::message, open};

/// Most rounds of a move: each moves what callers wrote during the one before it.
const ROUNDS: usize = 4;

/// A thread with a connection of its own.
pub(crate) struct LogMover {
    /// `None` only while it is dropped.
    requests: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Held while the log is moved. Of two checkpoints of a file SQLite refuses one.
    pub(crate) moving: Arc<Mutex<()>>,
}

impl LogMover {
    /// Opens the connection and starts the thread.
    ///
    /// # Errors
    /// As for a reader of the file; [`Error::Driver`] where threads run out.
    pub(crate) fn start(file: &Path) -> Result<Self, Error> {
        let connection = open::mover(file)?;
        let moving = Arc::<Mutex<()>>::default();
        // One request waits at most: a move takes all that is there.
        let (requests, asked) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("memoir-sqlite-log".to_owned())
            .spawn({
                let moving = Arc::clone(&moving);
                move || work(&connection, &asked, &moving)
            })
            .map_err(|error| Error::Driver(error.to_string()))?;
        Ok(Self {
            requests: Some(requests),
            thread: Some(thread),
            moving,
        })
    }

    /// Asks for a move; `false` if the thread has ended.
    pub(crate) fn ask(&self) -> bool {
        use std::sync::mpsc::TrySendError::Disconnected;
        let requests = self.requests.as_ref();
        requests.is_some_and(|requests| !matches!(requests.try_send(()), Err(Disconnected(()))))
    }
}

impl Drop for LogMover {
    fn drop(&mut self) {
        self.requests.take();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that moves the log of the database has panicked");
        }
    }
}

fn work(connection: &Connection, asked: &Receiver<()>, moving: &Mutex<()>) {
    while asked.recv().is_ok() {
        let _moving = moving.lock();
        // SQLite puts the file on the disk only with a round that moves all there is, and only after that does the log
        // begin anew.
        for _ in 0..ROUNDS {
            if move_log(connection).is_none_or(|log| log.left == 0) {
                break;
            }
        }
    }
}

/// The length of the write-ahead log, in pages.
pub(crate) struct LogPages {
    pub(crate) all: i64,
    /// Those that are not in the file yet.
    pub(crate) left: i64,
}

/// Moves the log into the file. Never waits for readers. Nothing is lost if it fails: the log remains, and is moved
/// the next time.
pub(crate) fn move_log(connection: &Connection) -> Option<LogPages> {
    // `PASSIVE` moves what no reader needs and leaves the rest: any other kind waits for
    // readers, with all writers behind it.
    checkpoint(connection, "PRAGMA wal_checkpoint(PASSIVE)")
}

/// Runs a checkpoint; `None` if it failed.
pub(crate) fn checkpoint(connection: &Connection, pragma: &str) -> Option<LogPages> {
    let found = connection.prepare_cached(pragma).and_then(|mut statement| {
        statement.query_row([], |row| {
            let all = row.get(1)?;
            let left = all - row.get::<_, i64>(2)?;
            Ok(LogPages { all, left })
        })
    });
    found
        .inspect_err(|error| {
            tracing::warn!(
                problem = message(error),
                "the log was not moved into the database"
            );
        })
        .ok()
}
