//! Files and folders for their owner only; files are replaced atomically.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
};

pub(crate) use memoir_vault::folder_of;
use serde::{Serialize, de::DeserializeOwned};

use crate::failure::Failure;

/// Writes a file in one step, with the permissions of the file that it replaces, or else for its owner only.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = &behind_links(path);
    let folder = folder_of(path);
    make_private_folder(folder)?;
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

/// Replaces a file of JSON, for its owner only, without waiting for the disk: a power cut may empty it.
pub(crate) fn write_unsynced(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(value)?;
    let folder = folder_of(path);
    make_private_folder(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&text)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Writes a file of JSON as [`write()`] does; `text` is what serialising the value gave.
pub(crate) fn write_json(path: &Path, text: serde_json::Result<Vec<u8>>) -> Result<(), Failure> {
    let text = text.map_err(|error| Failure::new(format!("cannot write JSON: {error}")))?;
    write(path, &text).map_err(|error| Failure::file("write", path, &error))
}

/// The value in a file of JSON, or its default where there is no file.
///
/// # Errors
/// The file cannot be read; it holds another value, where `problem` ends the sentence about it.
pub(crate) fn read_json<T: Default + DeserializeOwned>(
    path: &Path,
    problem: &str,
    hint: &str,
) -> Result<T, Failure> {
    let read = existing(fs::read(path)).map_err(|error| Failure::file("read", path, &error));
    let Some(text) = read? else {
        return Ok(T::default());
    };
    // The parser's message is omitted, since it may quote the file.
    let refused = |_| Failure::new(format!("`{}` {problem}", path.display())).hint(hint);
    serde_json::from_slice(&text).map_err(refused)
}

/// Creates a new file, for its owner only.
///
/// # Errors
/// It is there already, or cannot be created.
pub(crate) fn create_new(path: &Path) -> io::Result<fs::File> {
    new_for_owner().create_new(true).write(true).open(path)
}

/// Options by which a file that is created is its owner's only.
pub(crate) fn new_for_owner() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Removes a file. Returns whether it was there.
pub(crate) fn remove(path: &Path) -> Result<bool, Failure> {
    let problem = |error| Failure::file("remove", path, &error);
    Ok(existing(fs::remove_file(path)).map_err(problem)?.is_some())
}

/// What was done with a file or a folder; `None` where it is missing.
pub(crate) fn existing<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        done => done.map(Some),
    }
}

/// Waits for the lock beside a file, and holds it until the result is dropped.
pub(crate) fn lock_beside(path: &Path) -> io::Result<fs::File> {
    make_private_folder(folder_of(path))?;
    let mut options = new_for_owner();
    options.create(true).truncate(false).write(true);
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
        path = folder_of(&path).join(target);
    }
    path
}

pub(crate) fn make_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
