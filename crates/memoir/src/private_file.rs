//! Files for their owner only, replaced atomically.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
};

use crate::database;

/// Writes a file in one step, with the permissions of the file that it replaces, or else for its owner only.
///
/// # Errors
/// Its folder cannot be created, or the file cannot be written.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = &behind_links(path);
    let folder = database::folder_of(path);
    database::make_private_folder(folder)?;
    // A temporary file is its owner's only from the beginning.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    // The old file's permissions are kept, since others may be meant to read it.
    if let Ok(found) = fs::metadata(path) {
        file.as_file().set_permissions(found.permissions())?;
    }
    file.as_file().sync_all()?;
    // Its folder is not synced: a power cut may restore the old file, complete.
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Waits for the lock beside a file, and holds it until the result is dropped.
///
/// # Errors
/// The folder or the lock's file cannot be created.
pub(crate) fn lock_beside(path: &Path) -> io::Result<fs::File> {
    database::make_private_folder(database::folder_of(path))?;
    let mut options = fs::OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path.with_extension("lock"))?;
    file.lock()?;
    Ok(file)
}

/// The file to write for `path`: the final target of its links, even a missing one, so that the links remain.
pub(crate) fn behind_links(path: &Path) -> PathBuf {
    /// As many links as Linux follows, one after the other.
    const LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        if let Ok(file) = fs::canonicalize(&path) {
            return file;
        }
        let Ok(target) = fs::read_link(&path) else {
            break;
        };
        // A relative target starts at the link's folder.
        path = database::folder_of(&path).join(target);
    }
    path
}
