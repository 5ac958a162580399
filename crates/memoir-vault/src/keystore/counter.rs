//! How often the file of the key store was changed, by any process: read without a lock, in one call of
//! the system.
//!
//! With a rollback journal SQLite counts each transaction that changed the file, in its header, before it
//! says that the transaction is done. So who finds the number unchanged has missed nothing that anybody
//! was told is done; who finds another one looks again, under the lock.

use std::{fs::File, mem::ManuallyDrop, path::Path};

use crate::{Error, Result};

/// Where the number stands in a SQLite file.
const OFFSET: u64 = 24;

/// How often a file had been changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Changes([u8; 4]);

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
        let mut number = [0; 4];
        if let Some(file) = &self.file {
            let read = read_at(file, &mut number);
            read.map_err(|error| Error::Driver(format!("the key store cannot be read: {error}")))?;
        }
        Ok(Changes(number))
    }

    /// What is read once a transaction is done that changed the file, where `changes` was read in it.
    pub(super) fn after(&self, Changes(number): Changes) -> Changes {
        let added = u32::from(self.file.is_some());
        Changes(u32::from_be_bytes(number).wrapping_add(added).to_be_bytes())
    }
}

#[cfg(unix)]
fn read_at(file: &File, number: &mut [u8]) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, number, OFFSET)
}

#[cfg(windows)]
fn read_at(file: &File, number: &mut [u8]) -> std::io::Result<()> {
    match std::os::windows::fs::FileExt::seek_read(file, number, OFFSET)? {
        4 => Ok(()),
        _ => Err(std::io::ErrorKind::UnexpectedEof.into()),
    }
}
