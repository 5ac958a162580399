//! How often the file of the key store was changed, by any process: read without a lock, in one call of
//! the system.
//!
//! With a rollback journal SQLite counts each transaction that changed the file, in its header, before it
//! says that the transaction is done. So who finds the number unchanged has missed nothing that anybody
//! was told is done; who finds another one looks again, under the lock. With a write-ahead log, which
//! another program may have given the file, the number stands still: it says nothing then. It is believed as
//! much as SQLite itself believes it: who writes over the file from outside, in place, while it is in use,
//! deceives both.

use std::{fs::File, mem::ManuallyDrop, path::Path};

use crate::{Error, Result};

/// Where what is read stands in a SQLite file: two bytes that say how it is written and read, four that are
/// no matter here, and the number.
const OFFSET: u64 = 18;
/// Bytes that are read there.
const BYTES: usize = 10;
/// How a file says that it is written, and read, with a rollback journal.
const ROLLBACK_JOURNAL: [u8; 2] = [1, 1];

/// How often a file had been changed; `None` where it does not say.
#[derive(Debug, Clone, Copy)]
pub(super) struct Changes(Option<[u8; 4]>);

impl Changes {
    /// Whether nothing was changed between the two.
    pub(super) fn is_as(self, other: Self) -> bool {
        self.are_counted() && self.0 == other.0
    }

    /// Whether the file counts its changes.
    pub(super) fn are_counted(self) -> bool {
        self.0.is_some()
    }
}

/// Where the number is read.
pub(super) struct Counter {
    /// `None` for a key store in memory, which is changed by its owner alone. Never closed: on closing any
    /// descriptor of a file a process gives up all its locks on it, those of SQLite too.
    file: Option<ManuallyDrop<File>>,
}

impl Counter {
    pub(super) fn of(path: Option<&Path>) -> Result<Self> {
        let open = |path| File::open(path).map_err(|error| Error::file(path, &error));
        let file = path.map(open).transpose()?.map(ManuallyDrop::new);
        Ok(Self { file })
    }

    pub(super) fn read(&self) -> Result<Changes> {
        let Some(file) = &self.file else {
            return Ok(Changes(Some([0; 4])));
        };
        let mut header = [0; BYTES];
        let read = read_at(file, &mut header);
        read.map_err(|error| Error::Driver(format!("the key store cannot be read: {error}")))?;
        let [write, read, .., a, b, c, d] = header;
        let is_counted = [write, read] == ROLLBACK_JOURNAL;
        Ok(Changes(is_counted.then_some([a, b, c, d])))
    }

    /// What is read once a transaction is done that changed the file, where `changes` was read in it.
    pub(super) fn after(&self, Changes(number): Changes) -> Changes {
        let added = u32::from(self.file.is_some());
        Changes(number.map(|number| u32::from_be_bytes(number).wrapping_add(added).to_be_bytes()))
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
