//! The files of the connection that writes. Data written into a removed file are lost once this process has ended, so
//! that they must not be acknowledged.

use std::{
    fs,
    path::{Path, PathBuf},
};

use memoir_store::Error;

use crate::error::Result;

/// Identifies the file at a path: the same file has the same numbers while a process has it open.
type FileNumbers = (u64, u64);

/// The database and the log beside it, as they were when they were opened.
pub(crate) struct OpenedFiles {
    path: PathBuf,
    identity: Option<FileNumbers>,
    log: PathBuf,
    /// `None` until the log is there.
    log_identity: Option<FileNumbers>,
}

impl OpenedFiles {
    /// Of the database at that path, which is open.
    pub(crate) fn of(path: &Path) -> Self {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let log = PathBuf::from(log);
        Self {
            path: path.to_owned(),
            identity: identity(path),
            log_identity: identity(&log),
            log,
        }
    }

    /// Makes sure that both are where they were. Inside a transaction, in which the log is there. Takes two
    /// microseconds.
    pub(crate) fn check(&mut self) -> Result<()> {
        let log = identity(&self.log);
        // Without a log now either, numbers that no file has are kept: then this and every later check fails, which is
        // right inside of a transaction, where SQLite has made the log.
        let expected = *self.log_identity.get_or_insert(log.unwrap_or_default());
        // Both must be where they were. Replacing the file alone by a backup leaves a log that does not belong to it;
        // removing the log alone removes the commits in it.
        if identity(&self.path) == self.identity && log == Some(expected) {
            return Ok(());
        }
        Err(Error::Replaced(self.path.display().to_string()).into())
    }
}

/// `None` where there is none, and always the same where the system has no such numbers.
fn identity(path: &Path) -> Option<FileNumbers> {
    numbers(path).or_else(|| {
        let metadata = fs::metadata(path).ok()?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            Some((metadata.dev(), metadata.ino()))
        }
        #[cfg(not(unix))]
        {
            let _ = metadata;
            Some((0, 0))
        }
    })
}

/// The numbers alone. After a request for a file's times, Linux would record each later change of them exactly, and
/// every commit would write them to the disk and wait.
#[cfg(target_os = "linux")]
fn numbers(path: &Path) -> Option<FileNumbers> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, makedev, statx};
    let found = statx(CWD, path, AtFlags::empty(), StatxFlags::INO).ok()?;
    let device = makedev(found.stx_dev_major, found.stx_dev_minor);
    Some((device, found.stx_ino))
}

/// `None` where there is no way to ask for them alone.
#[cfg(not(target_os = "linux"))]
fn numbers(_: &Path) -> Option<FileNumbers> {
    None
}
