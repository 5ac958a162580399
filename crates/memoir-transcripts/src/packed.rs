//! Files that are compressed as a whole, as programs keep long sessions: gzip and Zstandard.

use std::{
    io::{self, BufRead, BufReader, Cursor, Read},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

const GZIP: &[u8] = b"\x1F\x8B";
const ZSTD: &[u8] = b"\x28\xB5\x2F\xFD";
/// How many times its size a file may inflate to, from [`FREE_BYTES`] on.
// Natural texts inflate far less: more is an attack.
const INFLATION: u64 = 200;
const FREE_BYTES: u64 = 64 << 20;

/// A stream of bytes.
pub type ByteStream = Box<dyn Read + Send>;

/// Whether a stream is compressed as a whole, and its text; any other stream is returned as it is.
///
/// # Errors
/// Its first bytes cannot be read. Broken compression, and a text that is far longer than the stream, are errors of
/// the returned stream, of the kinds `InvalidData` and `FileTooLarge`.
pub fn unpacked(mut stream: ByteStream) -> io::Result<(bool, ByteStream)> {
    let mut head = Vec::new();
    stream.by_ref().take(4).read_to_end(&mut head)?;
    let (is_gzip, is_zstd) = (head.starts_with(GZIP), head.starts_with(ZSTD));
    let whole = Cursor::new(head).chain(stream);
    if !is_gzip && !is_zstd {
        return Ok((false, Box::new(whole)));
    }
    let taken = Arc::new(AtomicU64::new(0));
    let counted = BufReader::new(Counted {
        stream: whole,
        taken: Arc::clone(&taken),
    });
    let text: ByteStream = match is_gzip {
        true => Box::new(MultiGzDecoder::new(counted)),
        false => Box::new(Frames::Between(counted)),
    };
    let bounded = Bounded {
        text,
        given: 0,
        taken,
    };
    Ok((true, Box::new(bounded)))
}

/// Counts the bytes that were taken from a stream.
struct Counted<R> {
    stream: R,
    taken: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        self.taken.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Ends a text that is far longer than its stream.
struct Bounded {
    text: ByteStream,
    given: u64,
    taken: Arc<AtomicU64>,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.text.read(buffer)?;
        self.given += read as u64;
        let taken = self.taken.load(Ordering::Relaxed);
        if self.given > FREE_BYTES.max(taken.saturating_mul(INFLATION)) {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(read)
    }
}

/// The frames of Zstandard, of which a file may have several, one behind the other.
enum Frames<R: Read> {
    Between(R),
    Within(Box<StreamingDecoder<R, FrameDecoder>>),
    End,
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            *self = match std::mem::replace(self, Self::End) {
                Self::End => return Ok(0),
                Self::Between(mut stream) => match stream.fill_buf()? {
                    [] => return Ok(0),
                    _ => Self::Within(Box::new(
                        StreamingDecoder::new(stream).map_err(|_| broken())?,
                    )),
                },
                Self::Within(mut frame) => match frame.read(buffer).map_err(|_| broken())? {
                    0 => Self::Between(frame.into_inner()),
                    read => {
                        *self = Self::Within(frame);
                        return Ok(read);
                    }
                },
            };
        }
    }
}

/// In place of the library's own messages, which name positions inside of the compressed stream.
fn broken() -> io::Error {
    io::ErrorKind::InvalidData.into()
}
