//! Archives in the ZIP format: their list of files, and each file as a stream.
//!
//! Only the features that exports use are supported: stored or deflated files, with or without the 64-bit extension.
//! Nothing is unpacked to a disk. The inflated size of all files of an archive together is limited.

use std::{
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom},
};

use flate2::read::DeflateDecoder;

use crate::{Error, ImportLimits, NoMemoryReason};

/// The end of the list, with the longest comment behind it.
// 22 is the end record without its comment, and a comment's length has 16 bits (PKWARE APPNOTE 4.3.16).
const END_BYTES: u64 = 22 + 65_535;
/// Inflating up to here is harmless, however small the archive.
// The ratio alone would refuse small archives of much repetition, such as exports are.
const FREE_BYTES: u64 = 64 << 20;
/// The most bytes of a list of files.
// The list is read in whole. 200,000 entries of 46 bytes fit, each with a name of a thousand characters.
const LIST_BYTES: u64 = 256 << 20;

/// An archive.
#[derive(Debug)]
pub(crate) struct Archive {
    file: File,
    entries: Vec<ZipEntry>,
    /// Bytes that may still be inflated.
    left: u64,
}

#[derive(Debug)]
struct ZipEntry {
    name: String,
    method: u16,
    compressed: u64,
    header_at: u64,
    is_link: bool,
    is_encrypted: bool,
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at.checked_add(2)?)?;
    // All numbers of an archive are little-endian, whatever the machine is.
    Some(u16::from_le_bytes(bytes.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u64::from(u32::from_le_bytes(bytes.try_into().ok()?)))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

impl Archive {
    /// Reads the list of files.
    pub(crate) fn open(mut file: File, limits: &ImportLimits) -> Result<Self, Error> {
        let length = file.seek(SeekFrom::End(0))?;
        let (at, size) = list_place(&mut file, length)?;
        // Before anything is reserved: both numbers come from the file.
        if size > LIST_BYTES || at.checked_add(size).is_none_or(|end| end > length) {
            return Err(Error::Archive("its list of files lies outside of it"));
        }
        let list = read_at(&mut file, at, size)?;
        let entries = entries(&list, limits.files)?;
        Ok(Self {
            file,
            entries,
            // One limit for all files, since a bomb may be spread over many of them. Bytes that are read twice, for the
            // beginning and then the whole, count twice.
            left: limits
                .inflated_bytes
                .min(FREE_BYTES.max(length.saturating_mul(limits.inflation))),
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The name of a file, as the archive has it.
    pub(crate) fn name(&self, index: usize) -> &str {
        self.entries.get(index).map_or("", |entry| &entry.name)
    }

    /// Why a file is not read; `None` where it may be.
    pub(crate) fn refusal(&self, index: usize) -> Option<NoMemoryReason> {
        let entry = self.entries.get(index)?;
        // In an archive a link is a small file that holds a path: read as a page, the path would become a memory.
        if entry.is_link {
            Some(NoMemoryReason::Link)
        } else if entry.is_encrypted || !matches!(entry.method, 0 | 8) {
            Some(NoMemoryReason::Unreadable)
        } else if leads_out(&entry.name) {
            Some(NoMemoryReason::OutsidePath)
        } else {
            None
        }
    }

    /// A file's bytes as a stream.
    pub(crate) fn reader(&mut self, index: usize) -> io::Result<impl Read + '_> {
        let entry = self.entries.get(index).ok_or(io::ErrorKind::NotFound)?;
        let header = read_at(&mut self.file, entry.header_at, 30).map_err(|_| wrong())?;
        // The lengths of name and extra field are read from the file's own header: those of the list can differ.
        let is_header = header.starts_with(b"PK\x03\x04");
        let (Some(name), Some(extra), true) = (u16_at(&header, 26), u16_at(&header, 28), is_header)
        else {
            return Err(wrong());
        };
        // Cannot overflow: the header has just been read here, so that its end lies inside of the file.
        let begin = entry.header_at + 30 + u64::from(name) + u64::from(extra);
        self.file.seek(SeekFrom::Start(begin))?;
        // By the list's size, not by that of the header, where a program that writes to a stream leaves 0.
        let packed = BufReader::new((&mut self.file).take(entry.compressed));
        let inflated: Box<dyn Read + '_> = match entry.method {
            8 => Box::new(DeflateDecoder::new(packed)),
            _ => Box::new(packed),
        };
        Ok(BoundedReader {
            inner: inflated,
            left: &mut self.left,
        })
    }
}

fn wrong() -> io::Error {
    io::ErrorKind::InvalidData.into()
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

fn read_at(file: &mut File, at: u64, size: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(at))?;
    file.take(size).read_to_end(&mut bytes)?;
    // `take` ends early without an error where the file is shorter.
    if bytes.len() as u64 == size {
        Ok(bytes)
    } else {
        Err(Error::Archive("it is cut off"))
    }
}

/// The offset and the size of the list of files.
fn list_place(file: &mut File, length: u64) -> Result<(u64, u64), Error> {
    let tail_at = length.saturating_sub(END_BYTES);
    let tail = read_at(file, tail_at, length - tail_at)?;
    let end = tail
        .windows(4)
        // The last one, since the bytes of a file can look like it. A comment that holds them misleads this: such an
        // archive has no files, or is refused.
        .rposition(|bytes| bytes == b"PK\x05\x06")
        .ok_or(Error::Archive("it is cut off, or no archive"))?;
    let cut = Error::Archive("its end is cut off");
    let (Some(size), Some(at)) = (u32_at(&tail, end + 12), u32_at(&tail, end + 16)) else {
        return Err(cut);
    };
    // The largest value of 32 bits refers to the 64-bit end record (APPNOTE 4.4.23, 4.4.24).
    let is_large = size == 0xFFFF_FFFF || at == 0xFFFF_FFFF;
    if !is_large {
        return Ok((at, size));
    }
    // The locator, 20 bytes, is right before the end record and has the offset of the 64-bit one (APPNOTE 4.3.15).
    let locator = end
        .checked_sub(20)
        .filter(|at| tail[*at..].starts_with(b"PK\x06\x07"))
        .and_then(|at| u64_at(&tail, at + 8))
        .ok_or(cut)?;
    let record = read_at(file, locator, 56)?;
    match (u64_at(&record, 40), u64_at(&record, 48)) {
        (Some(size), Some(at)) if record.starts_with(b"PK\x06\x06") => Ok((at, size)),
        _ => Err(Error::Archive("its end is cut off")),
    }
}

fn entries(list: &[u8], most: usize) -> Result<Vec<ZipEntry>, Error> {
    let mut entries = Vec::new();
    let mut rest = list;
    while rest.starts_with(b"PK\x01\x02") {
        if entries.len() >= most {
            return Err(Error::Archive("it holds too many files"));
        }
        let (entry, length) = entry(rest).ok_or(Error::Archive("its list of files is cut off"))?;
        entries.push(entry);
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(entries)
}

fn entry(bytes: &[u8]) -> Option<(ZipEntry, usize)> {
    // The numbers below are the offsets of a central directory header (APPNOTE 4.3.12).
    let made_by = u16_at(bytes, 4)? >> 8;
    let flags = u16_at(bytes, 8)?;
    let name_length = usize::from(u16_at(bytes, 28)?);
    let extra_length = usize::from(u16_at(bytes, 30)?);
    let comment_length = usize::from(u16_at(bytes, 32)?);
    let attributes = u32_at(bytes, 38)?;
    let name = bytes.get(46..46 + name_length)?;
    let extra = bytes.get(46 + name_length..46 + name_length + extra_length)?;
    let (compressed, header_at) = large(
        extra,
        u32_at(bytes, 24)?,
        u32_at(bytes, 20)?,
        u32_at(bytes, 42)?,
    )?;
    // Only where Unix made it do the upper 16 bits hold a mode; 0o12 of it is a symbolic link.
    const UNIX: u16 = 3;
    let entry = ZipEntry {
        name: String::from_utf8_lossy(name).into_owned(),
        method: u16_at(bytes, 10)?,
        compressed,
        header_at,
        is_link: made_by == UNIX && (attributes >> 16) & 0o170_000 == 0o120_000,
        is_encrypted: flags & 1 == 1,
    };
    Some((entry, 46 + name_length + extra_length + comment_length))
}

/// The compressed size and the offset, which are in the 64-bit extension where they are too large.
fn large(mut extra: &[u8], inflated: u64, compressed: u64, at: u64) -> Option<(u64, u64)> {
    const TOO_LARGE: u64 = 0xFFFF_FFFF;
    while let (Some(id), Some(size)) = (u16_at(extra, 0), u16_at(extra, 2)) {
        let data = extra.get(4..4 + usize::from(size))?;
        // The 64-bit extension holds only those of the numbers that are too large, in this order (APPNOTE 4.5.3). The
        // inflated size is not used, but precedes the others.
        if id == 1 {
            let mut place = 0;
            let mut next = |value: u64| -> Option<u64> {
                if value != TOO_LARGE {
                    return Some(value);
                }
                place += 8;
                u64_at(data, place - 8)
            };
            next(inflated)?;
            return Some((next(compressed)?, next(at)?));
        }
        extra = extra.get(4 + usize::from(size)..)?;
    }
    Some((compressed, at))
}

/// Whether a name would lead out of the archive's folder.
fn leads_out(name: &str) -> bool {
    // Nothing is unpacked, so that such a name is harmless here. It is still refused: it would become the source of a
    // memory, and only a hostile archive has one.
    let is_absolute = name.starts_with(['/', '\\']) || name.get(1..2) == Some(":");
    is_absolute || name.contains('\0') || name.split(['/', '\\']).any(|part| part == "..")
}
