//! The frames of an archive, one after the other.

use std::{
    io::{self, Read, Write},
    mem,
};

use aead_stream::{DecryptorBE32, EncryptorBE32};
use chacha20poly1305::XChaCha20Poly1305;
use zeroize::Zeroizing;

use super::{ArchiveError, Cost, Passphrase, Result, header::ArchiveHeader};

/// Bytes of text in each frame but the last one, which may have fewer.
const FRAME_BYTES: usize = 64 << 10;
const TAG_BYTES: usize = 16;
/// The bit in front of a frame's length that marks the last one.
const LAST: u32 = 1 << 31;

type Encryptor = EncryptorBE32<XChaCha20Poly1305>;
type Decryptor = DecryptorBE32<XChaCha20Poly1305>;

/// Seals the data that are written to it. Without [`ArchiveWriter::finish`], the archive cannot be opened.
#[derive(derive_more::Debug)]
#[debug("Writer")]
#[must_use = "an archive without its end does not open"]
pub struct ArchiveWriter<W: Write> {
    inner: W,
    /// Associated data of every frame.
    header: Vec<u8>,
    /// `None` once writing has failed.
    stream: Option<Box<Encryptor>>,
    /// The text of the next frame.
    frame: Zeroizing<Vec<u8>>,
}

/// Opens an archive part by part. Each part is the one that was sealed in its place; but that the archive is complete
/// is only known at its end. Do not act on any part before that.
#[derive(derive_more::Debug)]
#[debug("Reader")]
pub struct ArchiveReader<R> {
    inner: R,
    /// Associated data of every frame.
    header: Vec<u8>,
    stream: Stream,
    /// The text of the present frame, and how much of it was read by means of [`Read`].
    frame: Zeroizing<Vec<u8>>,
    read: usize,
}

/// Where a reader is.
enum Stream {
    Going(Box<Decryptor>),
    Ended,
    Failed,
}

impl<W: Write> ArchiveWriter<W> {
    /// Begins an archive; the key is derived here. `cost` is [`Cost::DEFAULT`] but in tests.
    ///
    /// # Errors
    /// [`ArchiveError::Cost`], [`ArchiveError::Memory`], [`ArchiveError::Random`], [`ArchiveError::Io`].
    pub fn new(passphrase: &Passphrase, cost: Cost, mut inner: W) -> Result<Self> {
        let header = ArchiveHeader::new(cost)?;
        let key = header.key(passphrase)?;
        let nonce = header.nonce().into();
        let mut stream = Box::new(Encryptor::new(key.expose().into(), nonce));
        let header = header.encode();
        let mut check = Vec::new();
        stream
            .encrypt_next_in_place(&header, &mut check)
            .map_err(|_| ArchiveError::TooLarge)?;
        inner.write_all(&header)?;
        inner.write_all(&check)?;
        Ok(Self {
            inner,
            header,
            stream: Some(stream),
            frame: empty_frame(),
        })
    }

    /// Writes the end and returns the writer. The caller must flush it to the disk.
    ///
    /// # Errors
    /// [`ArchiveError::Io`], also where writing has failed before; [`ArchiveError::TooLarge`].
    pub fn finish(mut self) -> Result<W> {
        let stream = self.stream.take().ok_or_else(failed_before)?;
        // No frame is longer than `FRAME_BYTES`, so that the length never reaches the bit of the
        // mark. The mark needs no seal of its own: which frame is the last one is in the nonce, and
        // a wrong length opens nothing.
        let mark = LAST | self.frame.len() as u32;
        stream
            .encrypt_last_in_place(&self.header, &mut *self.frame)
            .map_err(|_| ArchiveError::TooLarge)?;
        self.put(mark)?;
        self.inner.flush()?;
        Ok(self.inner)
    }

    /// A frame after which more will follow.
    fn put_full_frame(&mut self) -> Result<()> {
        // Restored only on success: after a failed write it is unknown what has arrived, and no frame may follow.
        let mut stream = self.stream.take().ok_or_else(failed_before)?;
        let mark = self.frame.len() as u32;
        stream
            .encrypt_next_in_place(&self.header, &mut *self.frame)
            .map_err(|_| ArchiveError::TooLarge)?;
        self.put(mark)?;
        self.stream = Some(stream);
        Ok(())
    }

    /// Writes the frame, which is sealed now.
    fn put(&mut self, mark: u32) -> Result<()> {
        self.inner.write_all(&mark.to_be_bytes())?;
        self.inner.write_all(&self.frame)?;
        self.frame.clear();
        Ok(())
    }
}

impl<W: Write> Write for ArchiveWriter<W> {
    /// Keeps a frame until it is known whether it is the last one.
    fn write(&mut self, plain: &[u8]) -> io::Result<usize> {
        if plain.is_empty() {
            return Ok(0);
        }
        if self.frame.len() >= FRAME_BYTES {
            self.put_full_frame()?;
        }
        let taken = plain.len().min(FRAME_BYTES - self.frame.len());
        self.frame.extend_from_slice(&plain[..taken]);
        Ok(taken)
    }

    /// Passes on opened text; less than a frame stays here until more comes, or the end.
    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<R: Read> ArchiveReader<R> {
    /// Reads the beginning; the key is derived here.
    ///
    /// # Errors
    /// [`ArchiveError::NotAnArchive`], [`ArchiveError::Newer`], [`ArchiveError::Cost`] before anything is
    /// spent on the key; [`ArchiveError::Memory`], [`ArchiveError::Passphrase`], [`ArchiveError::CutOff`],
    /// [`ArchiveError::Io`].
    pub fn new(passphrase: &Passphrase, mut inner: R) -> Result<Self> {
        let header = ArchiveHeader::read(&mut inner)?;
        let mut check = vec![0; TAG_BYTES];
        read_exact(&mut inner, &mut check)?;
        let key = header.key(passphrase)?;
        let nonce = header.nonce().into();
        let mut stream = Box::new(Decryptor::new(key.expose().into(), nonce));
        let header = header.encode();
        stream
            .decrypt_next_in_place(&header, &mut check)
            .map_err(|_| ArchiveError::Passphrase)?;
        Ok(Self {
            inner,
            header,
            stream: Stream::Going(stream),
            frame: empty_frame(),
            read: 0,
        })
    }

    /// The text of the next frame, once it is found to be right; `None` at the end.
    pub(super) fn next_part(&mut self) -> Result<Option<&[u8]>> {
        self.frame.clear();
        self.read = 0;
        // Not restored if anything fails: no later call may take an error for the end.
        let stream = match mem::replace(&mut self.stream, Stream::Failed) {
            Stream::Going(stream) => stream,
            Stream::Failed => return Err(failed_before()),
            Stream::Ended => {
                self.stream = Stream::Ended;
                return Ok(None);
            }
        };
        let opened = self.open_frame(stream);
        if opened.is_err() {
            self.frame.clear();
        }
        self.stream = opened?;
        Ok(Some(&self.frame))
    }

    /// Opens the next frame in place.
    fn open_frame(&mut self, mut stream: Box<Decryptor>) -> Result<Stream> {
        let mut mark = [0; 4];
        read_exact(&mut self.inner, &mut mark)?;
        let mark = u32::from_be_bytes(mark);
        let (is_last, length) = (mark & LAST != 0, (mark & !LAST) as usize);
        // Before the buffer grows: four bytes of a hostile file must not ask for two gigabytes. One
        // text has one form, too: only the last frame may be short.
        if length > FRAME_BYTES || (length < FRAME_BYTES && !is_last) {
            return Err(ArchiveError::Changed);
        }
        self.frame.resize(length + TAG_BYTES, 0);
        read_exact(&mut self.inner, &mut self.frame)?;
        let (header, frame) = (&self.header, &mut *self.frame);
        if is_last {
            let opened = stream.decrypt_last_in_place(header, frame);
            opened.map_err(|_| ArchiveError::Changed)?;
            self.check_end()?;
            Ok(Stream::Ended)
        } else {
            let opened = stream.decrypt_next_in_place(header, frame);
            opened.map_err(|_| ArchiveError::Changed)?;
            Ok(Stream::Going(stream))
        }
    }

    /// Refuses bytes after the last frame.
    fn check_end(&mut self) -> Result<()> {
        let found = self
            .inner
            .by_ref()
            .take(1)
            .read_to_end(&mut Vec::with_capacity(1))?;
        if found == 0 {
            Ok(())
        } else {
            Err(ArchiveError::Trailing)
        }
    }
}

impl<R: Read> Read for ArchiveReader<R> {
    /// Fails with an [`ArchiveError`] within the [`io::Error`], which `ArchiveError::from` extracts.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.read == self.frame.len() {
            if self.next_part()?.is_none() {
                return Ok(0);
            }
        }
        let rest = &self.frame[self.read..];
        let taken = rest.len().min(buffer.len());
        buffer[..taken].copy_from_slice(&rest[..taken]);
        self.read += taken;
        Ok(taken)
    }
}

/// Room for a whole sealed frame, so that growing leaves no copy of a text behind.
fn empty_frame() -> Zeroizing<Vec<u8>> {
    Zeroizing::new(Vec::with_capacity(FRAME_BYTES + TAG_BYTES))
}

fn failed_before() -> ArchiveError {
    ArchiveError::Io(io::Error::other("it failed before"))
}

fn read_exact(mut reader: impl Read, bytes: &mut [u8]) -> Result<()> {
    reader
        .read_exact(bytes)
        .map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => ArchiveError::CutOff,
            _ => error.into(),
        })
}
