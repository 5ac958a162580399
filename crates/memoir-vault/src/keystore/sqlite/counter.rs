//! How often the file of the key store was changed, by any process: read without a lock, in one call of the system.
//!
//! With a rollback journal SQLite counts each transaction that changed the file, in its header, before it reports the
//! transaction as done. A reader that finds the number unchanged has therefore missed no finished transaction; one that
//! finds another number reads again, under the lock. With a write-ahead log, which another program may have given the
//! file, the number does not change and means nothing. It is trusted as far as SQLite itself trusts it: overwriting the
//! file in place from outside while it is in use deceives both.

use std::{
    fs::File,
    mem::ManuallyDrop,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use crate::{Error, Result, rows::Changes};

/// Places in a SQLite file: two bytes that say how it is written and read, four that do not matter here, and the
/// number.
const OFFSET: u64 = 18;
/// Bytes that are read there.
const BYTES: usize = 10;
/// How a file says that it is written, and read, with a rollback journal.
const ROLLBACK_JOURNAL: [u8; 2] = [1, 1];

/// Where the number is read.
pub(super) enum Counter {
    /// Never closed: on closing any descriptor of a file a process loses all its locks on it, those of SQLite too.
    File(ManuallyDrop<File>),
    /// That of a key store in memory, which is changed by its owner alone.
    Own(AtomicU64),
}

impl Counter {
    pub(super) fn of(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else {
            return Ok(Self::Own(AtomicU64::new(0)));
        };
        let file = File::open(path).map_err(|error| Error::file(path, &error))?;
        Ok(Self::File(ManuallyDrop::new(file)))
    }

    /// `None` where the file does not count its changes, or nothing was ever written to it.
    pub(super) fn read(&self) -> Result<Changes> {
        let file = match self {
            Self::File(file) => file,
            Self::Own(number) => return Ok(Some(number.load(Ordering::Acquire))),
        };
        let mut header = [0; BYTES];
        match read_at(file, &mut header) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read
                .map_err(|error| Error::Driver(format!("the key store cannot be read: {error}")))?,
        }
        let [write, read, .., a, b, c, d] = header;
        let is_counted = [write, read] == ROLLBACK_JOURNAL;
        Ok(is_counted.then_some(u32::from_be_bytes([a, b, c, d]).into()))
    }

    /// The number after a transaction that changed the file, if `changes` was read in it.
    pub(super) fn count(&self, changes: Changes) -> Changes {
        match self {
            // The counter in the header has 32 bits and wraps; the same number again takes four thousand million
            // changes between two checks.
            Self::File(_) => changes.map(|number| u64::from((number as u32).wrapping_add(1))),
            Self::Own(number) => Some(number.fetch_add(1, Ordering::AcqRel) + 1),
        }
    }
}

#[cfg(unix)]
fn read_at(file: &File, header: &mut [u8]) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, header, OFFSET)
}

#[cfg(windows)]
fn read_at(file: &File, header: &mut [u8]) -> std::io::Result<()> {
    match std::os::windows::fs::FileExt::seek_read(file, header, OFFSET)? {
        BYTES => Ok(()),
        _ => Err(std::io::ErrorKind::UnexpectedEof.into()),
    }
}
