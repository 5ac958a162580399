//! The connections that only read. They never wait for the writer, nor it for them.

use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rusqlite::Connection;

use crate::{error::Result, open};

/// Idle connections that are kept open.
// Each keeps up to 2 MB of pages and its files open. Where more read at once, each of them opens a
// connection and closes it again.
const IDLE: usize = 4;

/// Connections to one file, made when they are wanted.
pub(crate) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            idle: Mutex::new(Vec::new()),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads on the calling thread.
    pub(crate) fn read<T>(&self, query: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        // A statement of its own, so that the lock is released before anything is opened or read.
        let idle = self.idle.lock().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => open::reader(&self.path)?,
        };
        let result = query(&connection);
        // A query that failed is no reason to close the connection: whatever it left is either gone
        // or shows as a transaction that is still open.
        let mut idle = self.idle.lock();
        // One that is still in a transaction would keep old pages for ever.
        if idle.len() < IDLE && connection.is_autocommit() {
            idle.push(connection);
        }
        result
    }
}

/// A transaction that reads: everything in it is of the same instant.
pub(crate) struct ReadTransaction<'connection>(&'connection Connection);

impl<'connection> ReadTransaction<'connection> {
    /// Begins; the instant is that of the first query.
    pub(crate) fn new(connection: &'connection Connection) -> Result<Self> {
        connection.prepare_cached("BEGIN DEFERRED")?.execute([])?;
        Ok(Self(connection))
    }

    /// As [`ReadTransaction::new`], for so many statements; `None` for one, which is of one instant by itself.
    pub(crate) fn over(
        connection: &'connection Connection,
        statements: usize,
    ) -> Result<Option<Self>> {
        (statements != 1).then(|| Self::new(connection)).transpose()
    }
}

impl Drop for ReadTransaction<'_> {
    fn drop(&mut self) {
        // Where this fails, `Readers::read` does not keep the connection.
        let _ = self
            .0
            .prepare_cached("COMMIT")
            .and_then(|mut statement| statement.execute([]));
    }
}
