//! An archive: everything of one agent in one sealed file, which a passphrase opens on another
//! installation. What the bytes in it mean is the caller's.
//!
//! ```text
//! header   memoir-archive-v1\n, then big-endian u32: memory in KiB, passes, lanes; salt 16; nonce 19
//! check    tag 16, of an empty message
//! frame    u32: the highest bit marks the last frame, the others the length; sealed bytes; tag 16
//! frame    ...
//! ```
//!
//! The key is Argon2id (RFC 9106) of the passphrase under the header's salt and cost. The check and the frames, 64 KiB
//! each but the last one, are the messages of one STREAM (Hoang, Reyhanitabar, Rogaway and Vizár, 2015; by the crate
//! `aead-stream`) over XChaCha20-Poly1305: the nonce of each is the header's, its place as u32, and 1 for the last one,
//! else 0; its associated data is the whole header. So no frame can be changed, moved, left out or added. The check
//! distinguishes a wrong passphrase from a broken archive.
//!
//! The archive's length shows the length of the content, and its first bytes that it is an archive. An attacker with
//! the archive can guess passphrases, at the header's cost a guess: one made by [`Passphrase::generate`] cannot be
//! found that way, a short one chosen by a user may.
//!
//! `age` would do the same; it brings 78 other crates, and a second generation of the ciphers.

use std::io::{self, Write};

mod frames;
mod header;
mod passphrase;

pub use frames::{open, seal_at};
pub use header::Cost;
pub use passphrase::{InvalidPassphrase, Passphrase};

/// How every archive begins, those of other versions included.
const MAGIC_START: &[u8] = b"memoir-archive-v";

/// The result of an operation on an archive.
pub type Result<T, E = ArchiveError> = std::result::Result<T, E>;

/// Errors of an archive. Names nothing of its content.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ArchiveError {
    #[error("not an archive of Memoir")]
    NotAnArchive,
    #[error("the archive was made by a newer version of Memoir")]
    Newer,
    /// Its key costs nothing, or more than is spent on an untrusted file.
    #[error("the archive's key must not cost {0}; {limit} are allowed", limit = Cost::LIMIT)]
    Cost(Cost),
    /// The memory that its key costs is not available.
    #[error("not enough memory for the archive's key: {0}")]
    Memory(Cost),
    #[error(
        "the passphrase does not open the archive, or the beginning of the archive was changed"
    )]
    Passphrase,
    #[error("the archive is cut off: its end is missing")]
    CutOff,
    #[error("the archive was changed: a part of it is not what was sealed in that place")]
    Changed,
    #[error("extra data follows the end of the archive")]
    Trailing,
    /// There is no place for more than 256 TiB in one archive.
    #[error("too much for one archive")]
    TooLarge,
    #[error("the system gives no random bytes")]
    Random,
    #[error("cannot read or write the archive: {0}")]
    Io(#[from] io::Error),
}

/// Whether these are the first bytes of an archive, of any version; sixteen are enough.
pub fn is_archive(first_bytes: &[u8]) -> bool {
    first_bytes.starts_with(MAGIC_START)
}

/// Writes an archive that holds `plain`.
///
/// # Errors
/// [`ArchiveError::Memory`], [`ArchiveError::Random`], [`ArchiveError::TooLarge`], [`ArchiveError::Io`].
pub fn seal(passphrase: &Passphrase, writer: impl Write, plain: &[u8]) -> Result<()> {
    seal_at(passphrase, Cost::DEFAULT, writer, plain)
}
