//! Archives in the ZIP format: their list of files, and each file as a stream.
//!
//! Nothing is unpacked to a disk. The number of files is limited before their list is read, and the inflated size of all
//! files of an archive together.

use std::{
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom},
};

use zip::{
    CompressionMethod, ZipArchive,
    read::{Config, ZipReadOptions},
    unstable::read::ZipIterable,
};

use crate::{Error, ImportLimits, NoMemoryReason};

/// Inflating up to here is harmless, however small the archive.
// The ratio alone would refuse small archives of much repetition, such as exports are.
const FREE_BYTES: u64 = 64 << 20;

#[derive(Debug)]
pub(crate) struct Archive {
    zip: ZipArchive<BufReader<File>>,
    names: Vec<String>,
    /// Bytes that may still be inflated.
    left: u64,
}

impl Archive {
    /// Reads the list of files.
    pub(crate) fn open(mut file: File, limits: &ImportLimits) -> Result<Self, Error> {
        let length = file.seek(SeekFrom::End(0))?;
        let mut reader = BufReader::new(file);
        let damaged = |_| Error::Archive("it is cut off, or no archive");
        let listed = ZipIterable::try_new(&mut reader, Config::default()).map_err(damaged)?;
        // Before the list is read: an entry takes more memory than it has bytes.
        if listed.len() > limits.files {
            return Err(Error::Archive("it holds too many files"));
        }
        let zip = ZipArchive::new(reader).map_err(damaged)?;
        // Not by the list's own code pages: programs write UTF-8 without its mark.
        let names = zip.file_names_raw();
        let names = names.map(|name| String::from_utf8_lossy(name).into_owned());
        Ok(Self {
            names: names.collect(),
            zip,
            // One limit for all files, since a bomb may be spread over many of them. Bytes that are read twice, for the
            // beginning and then the whole, count twice.
            left: limits
                .inflated_bytes
                .min(FREE_BYTES.max(length.saturating_mul(limits.inflation))),
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// The name of a file, as the archive has it.
    pub(crate) fn name(&self, index: usize) -> &str {
        self.names.get(index).map_or("", String::as_str)
    }

    /// Why a file is not read; `None` where it may be.
    pub(crate) fn refusal(&self, index: usize) -> Option<NoMemoryReason> {
        use CompressionMethod::{Deflated, Stored};
        let Ok(entry) = self.zip.by_index_data(index) else {
            return Some(NoMemoryReason::Unreadable);
        };
        // In an archive a link is a small file that holds a path: read as a page, the path would become a memory.
        if entry.is_symlink() {
            Some(NoMemoryReason::Link)
        } else if entry.encrypted() || !matches!(entry.compression(), Stored | Deflated) {
            Some(NoMemoryReason::Unreadable)
        } else if leads_out(self.name(index)) {
            Some(NoMemoryReason::OutsidePath)
        } else {
            None
        }
    }

    /// A file's bytes as a stream.
    pub(crate) fn reader(&mut self, index: usize) -> io::Result<impl Read + '_> {
        // What is read is used also where the end of a file was damaged, and is reported then.
        let options = ZipReadOptions::new().ignore_crc32(true);
        Ok(BoundedReader {
            inner: self.zip.by_index_with_options(index, options)?,
            left: &mut self.left,
        })
    }
}

/// Counts the bytes of an archive's files.
struct BoundedReader<'a, R> {
    inner: R,
    left: &'a mut u64,
}

impl<R: Read> Read for BoundedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        match self.left.checked_sub(count as u64) {
            Some(left) => *self.left = left,
            None => {
                // All later files must fail with their first byte, too: the remaining bytes would let some of each
                // through.
                *self.left = 0;
                return Err(io::ErrorKind::FileTooLarge.into());
            }
        }
        Ok(count)
    }
}

/// Whether a name would lead out of the archive's folder.
fn leads_out(name: &str) -> bool {
    // Nothing is unpacked, so that such a name is harmless here. It is still refused: it would become the source of a
    // memory, and only a hostile archive has one.
    let is_absolute = name.starts_with(['/', '\\']) || name.get(1..2) == Some(":");
    is_absolute || name.contains('\0') || name.split(['/', '\\']).any(|part| part == "..")
}
