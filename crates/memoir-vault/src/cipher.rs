//! XChaCha20-Poly1305 and the form that its output is kept in: a version byte, 24 bytes of nonce, the
//! ciphertext, 16 bytes of tag.
//!
//! Nonces are random. At 192 bits, two of them meet with a probability of 2^-97 after 2^48 sealings
//! under one key.

use std::fmt;

use chacha20poly1305::{
    XChaCha20Poly1305,
    aead::{AeadInOut, KeyInit},
};
use zeroize::Zeroizing;

use crate::secret::Secret;

/// The first byte of everything that is sealed in this form. Zero is plain text in the stores.
pub const VERSION: u8 = 1;
/// Bytes of a nonce.
pub(crate) const NONCE_BYTES: usize = 24;
/// Bytes of a tag.
const TAG_BYTES: usize = 16;
/// What sealing adds, in bytes.
pub const OVERHEAD_BYTES: usize = 1 + NONCE_BYTES + TAG_BYTES;

/// A key, ready for use. Wiped when dropped.
pub(crate) struct Cipher(XChaCha20Poly1305);

/// Why sealed bytes do not open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unopenable {
    /// Shorter than an empty text would be.
    Short,
    /// Of a form that this version does not know.
    Version(u8),
    /// Changed, sealed for another place, or under another key.
    NotAuthentic,
}

impl Cipher {
    pub(crate) fn new(key: &Secret) -> Self {
        Self(XChaCha20Poly1305::new(key.expose().into()))
    }

    pub(crate) fn seal(&self, nonce: &[u8; NONCE_BYTES], place: &[u8], plain: &[u8]) -> Vec<u8> {
        let mut sealed = Vec::with_capacity(plain.len() + OVERHEAD_BYTES);
        sealed.push(VERSION);
        sealed.extend_from_slice(nonce);
        sealed.extend_from_slice(plain);
        let body = &mut sealed[1 + NONCE_BYTES..];
        #[expect(
            clippy::expect_used,
            reason = "fails above 256 GiB only, which do not fit into memory"
        )]
        let tag = self
            .0
            .encrypt_inout_detached(nonce.into(), place, body.into())
            .expect("less than 256 GiB");
        sealed.extend_from_slice(&tag);
        sealed
    }

    pub(crate) fn open(
        &self,
        place: &[u8],
        sealed: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, Unopenable> {
        let (&version, rest) = sealed.split_first().ok_or(Unopenable::Short)?;
        // The version byte is not authenticated by itself: another one is refused here, and agents'
        // texts have it in `place` besides.
        if version != VERSION {
            return Err(Unopenable::Version(version));
        }
        let (nonce, rest) = rest
            .split_first_chunk::<NONCE_BYTES>()
            .ok_or(Unopenable::Short)?;
        let (body, tag) = rest
            .split_last_chunk::<TAG_BYTES>()
            .ok_or(Unopenable::Short)?;
        // Decrypted in place in memory that is wiped: what is not authentic never leaves it.
        let mut plain = Zeroizing::new(body.to_vec());
        self.0
            .decrypt_inout_detached(nonce.into(), place, plain.as_mut_slice().into(), tag.into())
            .map_err(|_| Unopenable::NotAuthentic)?;
        Ok(plain)
    }
}

impl fmt::Debug for Cipher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Cipher")
    }
}
