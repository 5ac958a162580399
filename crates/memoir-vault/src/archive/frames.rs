//! The frames of an archive, one after the other.

use std::io::{self, Read, Write};

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

/// Writes an archive that holds `plain`, whose key is derived at that cost: [`Cost::DEFAULT`] but in tests.
///
/// # Errors
/// [`ArchiveError::Cost`], [`ArchiveError::Memory`], [`ArchiveError::Random`], [`ArchiveError::TooLarge`],
/// [`ArchiveError::Io`].
pub fn seal_at(
    passphrase: &Passphrase,
    cost: Cost,
    mut writer: impl Write,
    plain: &[u8],
) -> Result<()> {
    let header = ArchiveHeader::new(cost)?;
    let key = header.key(passphrase)?;
    let nonce = header.nonce().into();
    let mut stream = Box::new(Encryptor::new(key.expose().into(), nonce));
    let header = header.encode();
    let mut check = Vec::new();
    stream
        .encrypt_next_in_place(&header, &mut check)
        .map_err(|_| ArchiveError::TooLarge)?;
    writer.write_all(&header)?;
    writer.write_all(&check)?;
    let mut frame = empty_frame();
    let mut rest = plain;
    // A full frame after which nothing follows is the last one.
    while rest.len() > FRAME_BYTES {
        let (part, after) = rest.split_at(FRAME_BYTES);
        frame.extend_from_slice(part);
        stream
            .encrypt_next_in_place(&header, &mut *frame)
            .map_err(|_| ArchiveError::TooLarge)?;
        put(&mut writer, part.len() as u32, &mut frame)?;
        rest = after;
    }
    frame.extend_from_slice(rest);
    // No frame is longer than `FRAME_BYTES`, so that the length never reaches the bit of the mark. The mark needs no
    // seal of its own: which frame is the last one is in the nonce, and a wrong length opens nothing.
    let mark = LAST | rest.len() as u32;
    stream
        .encrypt_last_in_place(&header, &mut *frame)
        .map_err(|_| ArchiveError::TooLarge)?;
    put(&mut writer, mark, &mut frame)?;
    Ok(writer.flush()?)
}

/// Writes the frame, which is sealed now, and empties it.
fn put(writer: &mut impl Write, mark: u32, frame: &mut Vec<u8>) -> Result<()> {
    writer.write_all(&mark.to_be_bytes())?;
    writer.write_all(frame)?;
    frame.clear();
    Ok(())
}

/// The content of the archive, once all of it has been verified. Needs memory for up to three times its size.
///
/// # Errors
/// As said at [`ArchiveError`].
pub fn open(passphrase: &Passphrase, mut reader: impl Read) -> Result<Zeroizing<Vec<u8>>> {
    let header = ArchiveHeader::read(&mut reader)?;
    let mut check = vec![0; TAG_BYTES];
    read_exact(&mut reader, &mut check)?;
    let key = header.key(passphrase)?;
    let nonce = header.nonce().into();
    let mut stream = Box::new(Decryptor::new(key.expose().into(), nonce));
    let header = header.encode();
    stream
        .decrypt_next_in_place(&header, &mut check)
        .map_err(|_| ArchiveError::Passphrase)?;
    let mut plain = Zeroizing::new(Vec::new());
    let mut frame = empty_frame();
    loop {
        let mut mark = [0; 4];
        read_exact(&mut reader, &mut mark)?;
        let mark = u32::from_be_bytes(mark);
        let (is_last, length) = (mark & LAST != 0, (mark & !LAST) as usize);
        // Before the buffer grows: four bytes of a hostile file must not ask for two gigabytes. One
        // text has one form, too: only the last frame may be short.
        if length > FRAME_BYTES || (length < FRAME_BYTES && !is_last) {
            return Err(ArchiveError::Changed);
        }
        frame.resize(length + TAG_BYTES, 0);
        read_exact(&mut reader, &mut frame)?;
        if is_last {
            stream
                .decrypt_last_in_place(&header, &mut *frame)
                .map_err(|_| ArchiveError::Changed)?;
            append(&mut plain, &frame);
            break;
        }
        stream
            .decrypt_next_in_place(&header, &mut *frame)
            .map_err(|_| ArchiveError::Changed)?;
        append(&mut plain, &frame);
    }
    match reader.take(1).read_to_end(&mut Vec::with_capacity(1))? {
        0 => Ok(plain),
        _ => Err(ArchiveError::Trailing),
    }
}

/// Grows in a way that wipes the memory that becomes too small.
fn append(plain: &mut Zeroizing<Vec<u8>>, part: &[u8]) {
    let needed = plain.len() + part.len();
    if needed > plain.capacity() {
        let mut larger = Zeroizing::new(Vec::with_capacity(needed.max(2 * plain.capacity())));
        larger.extend_from_slice(plain);
        *plain = larger;
    }
    plain.extend_from_slice(part);
}

/// Room for a whole sealed frame, so that growing leaves no copy of a text behind.
fn empty_frame() -> Zeroizing<Vec<u8>> {
    Zeroizing::new(Vec::with_capacity(FRAME_BYTES + TAG_BYTES))
}

fn read_exact(mut reader: impl Read, bytes: &mut [u8]) -> Result<()> {
    reader
        .read_exact(bytes)
        .map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => ArchiveError::CutOff,
            _ => error.into(),
        })
}
