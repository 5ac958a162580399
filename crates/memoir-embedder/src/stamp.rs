//! The stamp beside a model's file: its SHA-256 was right. Without one, each process would read 72 MB before its first
//! question, for which the hook of a prompt lacks the time.
//!
//! A stamp names the SHA-256 and the size, inode and times of the file that had it. Where one of them is another now, all
//! of the file is checked again. This detects accidents. A user who can write the folder can write a stamp as well, and
//! so choose what recall finds; nothing else follows, since the file's lengths and indices are checked in any case.

use std::{
    fs::{self, File, Metadata, Permissions},
    io::Write,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use crate::file::{KnownFile, hex};

/// The stamp's path, beside the file.
pub fn stamp_path(file: &Path) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(".checked");
    path.into()
}

fn stamp(known: &KnownFile, file: &Metadata) -> String {
    let (size, inode) = (file.size(), file.ino());
    let (modified, changed) = (file.mtime(), file.ctime());
    let [modified_ns, changed_ns] = [file.mtime_nsec(), file.ctime_nsec()];
    format!(
        "{} {size} {inode} {modified}.{modified_ns:09} {changed}.{changed_ns:09}\n",
        hex(&known.sha256)
    )
}

/// Whether the open file is still one that was checked.
pub(crate) fn fits(file: &File, known: &[KnownFile], path: &Path) -> bool {
    let at = stamp_path(path);
    // No pipe, which would never end.
    let is_file = |found: Metadata| found.is_file() && found.len() < 256;
    if !at.symlink_metadata().is_ok_and(is_file) {
        return false;
    }
    let (Ok(found), Ok(file)) = (fs::read(at), file.metadata()) else {
        return false;
    };
    let mut known = known.iter().filter(|known| known.bytes == file.len());
    known.any(|known| stamp(known, &file).as_bytes() == found)
}

pub(crate) fn remove(path: &Path) {
    let _ = fs::remove_file(stamp_path(path));
}

/// Notes that the file had this SHA-256 while it was as `checked` says. Where that cannot be written, the next process
/// checks all of the file.
pub(crate) fn write(known: &KnownFile, checked: &Metadata, path: &Path) {
    // A new file, so that nothing is written through a link.
    let written = File::create_new(stamp_path(path));
    let _ = written.and_then(|mut file| {
        // Like the file's: every user of it reads this.
        file.set_permissions(Permissions::from_mode(0o644))?;
        file.write_all(stamp(known, checked).as_bytes())
    });
}
