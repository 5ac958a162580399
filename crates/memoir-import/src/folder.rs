//! A folder whose files are listed and opened without following a link on the way.
//!
//! A listed file may be replaced by a link before it is opened. The folder is held open, and each part of a name is
//! opened within the one before, where the system refuses links.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use crate::NoMemoryReason;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    Folder,
    Link,
    Other,
}

/// A named folder, which may be a link itself.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    #[cfg(unix)]
    held: std::os::fd::OwnedFd,
}

impl Folder {
    /// Its path, with no link on the way.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(unix)]
impl Folder {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let held = rustix::fs::open(&path, FOLDER, rustix::fs::Mode::empty())?;
        Ok(Self { path, held })
    }

    /// The entries of one of its folders, "" being itself: names, each with its kind, or why one has none.
    pub(crate) fn list(
        &self,
        folder: &str,
    ) -> io::Result<impl Iterator<Item = Result<(String, EntryKind), NoMemoryReason>>> {
        use rustix::fs::{AtFlags, Dir, FileType, statat};

        let held = self.within(folder)?;
        let entries = Dir::read_from(held.as_ref().unwrap_or(&self.held))?;
        Ok(entries.filter_map(move |entry| {
            let Ok(entry) = entry else {
                return Some(Err(NoMemoryReason::Unreadable));
            };
            let name = match entry.file_name().to_str() {
                Ok("." | "..") => return None,
                Ok(name) => name.to_owned(),
                Err(_) => return Some(Err(NoMemoryReason::NotText)),
            };
            let mut kind = entry.file_type();
            // Not every file system returns it with the name.
            if kind == FileType::Unknown {
                let held = held.as_ref().unwrap_or(&self.held);
                match statat(held, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(found) => kind = FileType::from_raw_mode(found.st_mode),
                    Err(_) => return Some(Err(NoMemoryReason::Unreadable)),
                }
            }
            let kind = match kind {
                FileType::RegularFile => EntryKind::File,
                FileType::Directory => EntryKind::Folder,
                FileType::Symlink => EntryKind::Link,
                _ => EntryKind::Other,
            };
            Some(Ok((name, kind)))
        }))
    }

    /// Opens one of its files, whose name has `/` between folders.
    pub(crate) fn file(&self, name: &str) -> io::Result<File> {
        use rustix::fs::{Mode, OFlags, openat};

        let (folder, name) = name.rsplit_once('/').unwrap_or(("", name));
        let held = self.within(folder)?;
        // Opening a pipe would wait for its writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let held = held.as_ref().unwrap_or(&self.held);
        let file = File::from(openat(held, name, flags, Mode::empty())?);
        if file.metadata()?.is_file() {
            Ok(file)
        } else {
            Err(io::ErrorKind::InvalidInput.into())
        }
    }

    /// One of its folders; `None` for itself.
    fn within(&self, folder: &str) -> io::Result<Option<std::os::fd::OwnedFd>> {
        use rustix::fs::{Mode, OFlags, openat};

        let mut held = None;
        for name in folder.split('/').filter(|name| !name.is_empty()) {
            let outer = held.as_ref().unwrap_or(&self.held);
            held = Some(openat(
                outer,
                name,
                FOLDER | OFlags::NOFOLLOW,
                Mode::empty(),
            )?);
        }
        Ok(held)
    }
}

#[cfg(unix)]
const FOLDER: rustix::fs::OFlags = rustix::fs::OFlags::RDONLY
    .union(rustix::fs::OFlags::DIRECTORY)
    .union(rustix::fs::OFlags::CLOEXEC);

#[cfg(not(unix))]
impl Folder {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        Ok(Self { path })
    }

    /// The entries of one of its folders, "" being itself: names, each with its kind, or why one has none.
    pub(crate) fn list(
        &self,
        folder: &str,
    ) -> io::Result<impl Iterator<Item = Result<(String, EntryKind), NoMemoryReason>>> {
        let entries = std::fs::read_dir(self.path.join(folder))?;
        Ok(entries.map(|entry| {
            let entry = entry.map_err(|_| NoMemoryReason::Unreadable)?;
            let kind = entry.file_type().map_err(|_| NoMemoryReason::Unreadable)?;
            let name = entry.file_name();
            let name = name.to_str().ok_or(NoMemoryReason::NotText)?.to_owned();
            let kind = if kind.is_symlink() {
                EntryKind::Link
            } else if kind.is_dir() {
                EntryKind::Folder
            } else if kind.is_file() {
                EntryKind::File
            } else {
                EntryKind::Other
            };
            Ok((name, kind))
        }))
    }

    /// Opens one of its files, whose name has `/` between folders. A link created after the check is followed here: the
    /// standard library has no way to refuse one.
    pub(crate) fn file(&self, name: &str) -> io::Result<File> {
        let path = self.path.join(name);
        if std::fs::symlink_metadata(&path)?.is_file() {
            File::open(path)
        } else {
            Err(io::ErrorKind::InvalidInput.into())
        }
    }
}
