//! Files for their owner only, which are there whole or as they were.

use std::{fs, io, io::Write, path::Path};

use crate::database;

/// Writes a file in one step, with the rights of the one in its place, or else for its owner only.
///
/// # Errors
/// Its folder cannot be made, or it cannot be written.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // What a link points to is written, and the link stays.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = database::folder_of(path);
    database::make_private_folder(folder)?;
    // A temporary file is its owner's only from the beginning.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    // Otherwise writing a file would close it to others who may read it.
    if let Ok(found) = fs::metadata(path) {
        file.as_file().set_permissions(found.permissions())?;
    }
    file.as_file().sync_all()?;
    // Its folder is not synced: after a power cut the old file may stand there again, whole.
    file.persist(path).map(drop).map_err(|error| error.error)
}
