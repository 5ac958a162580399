//! XChaCha20-Poly1305 and the form that its output is kept in: a version byte, 24 bytes of nonce, the
//! ciphertext, 16 bytes of tag.
//!
//! Nonces are random. At 192 bits, two of them meet with a probability of 2^-97 after 2^48 sealings under one key.
//!
//! XChaCha20-Poly1305 is ChaCha20-Poly1305 under a key of its own for each nonce (draft-irtf-cfrg-xchacha-03, 2.3). That
//! key is made here; the cipher is `ring`'s, which takes a fraction of the time of portable code for a row.

use chacha20::{R20, hchacha};
use memoir_domain::text::wiped::Wiped;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use zeroize::Zeroizing;

use crate::secret::Secret;

/// The first byte of everything that is sealed in this form. Zero is plain text in the stores.
pub const VERSION: u8 = 1;
pub(crate) const NONCE_BYTES: usize = 24;
pub(crate) const TAG_BYTES: usize = 16;
/// What sealing adds, in bytes.
pub const OVERHEAD_BYTES: usize = 1 + NONCE_BYTES + TAG_BYTES;

/// A key, ready for use. Wiped when dropped.
#[derive(derive_more::Debug)]
#[debug("Cipher")]
pub(crate) struct Cipher(Secret);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unopenable {
    /// Shorter than an empty text would be.
    Short,
    /// Of a form that this version does not know.
    Version(u8),
    /// Changed, sealed for another place, or under another key.
    NotAuthentic,
}

/// The parts of a sealed text of this version.
pub(crate) struct SealedText<'a> {
    nonce: &'a [u8; NONCE_BYTES],
    /// As long as the text.
    pub(crate) body: &'a [u8],
    tag: &'a [u8; TAG_BYTES],
}

impl<'a> SealedText<'a> {
    pub(crate) fn of(sealed: &'a [u8]) -> Result<Self, Unopenable> {
        let (&version, rest) = sealed.split_first().ok_or(Unopenable::Short)?;
        // The version byte is not authenticated by itself: another one is refused here, and agents'
        // texts have it in `place` besides.
        if version != VERSION {
            return Err(Unopenable::Version(version));
        }
        let (nonce, rest) = rest.split_first_chunk().ok_or(Unopenable::Short)?;
        let (body, tag) = rest.split_last_chunk().ok_or(Unopenable::Short)?;
        Ok(Self { nonce, body, tag })
    }
}

impl Cipher {
    pub(crate) fn new(key: Secret) -> Self {
        Self(key)
    }

    pub(crate) fn seal(&self, nonce: &[u8; NONCE_BYTES], place: &[u8], plain: &[u8]) -> Vec<u8> {
        let mut sealed = Vec::with_capacity(plain.len() + OVERHEAD_BYTES);
        sealed.push(VERSION);
        sealed.extend_from_slice(nonce);
        sealed.extend_from_slice(plain);
        let (key, nonce) = self.of_one_text(nonce);
        let body = &mut sealed[1 + NONCE_BYTES..];
        #[expect(
            clippy::expect_used,
            reason = "fails above 256 GiB only, which do not fit into memory"
        )]
        let tag = key
            .seal_in_place_separate_tag(nonce, Aad::from(place), body)
            .expect("less than 256 GiB");
        sealed.extend_from_slice(tag.as_ref());
        sealed
    }

    pub(crate) fn open(&self, place: &[u8], sealed: &[u8]) -> Result<Wiped<u8>, Unopenable> {
        let sealed = SealedText::of(sealed)?;
        // Decrypted in place in memory that is wiped: unauthenticated data never leave it.
        let mut text = Wiped::from(sealed.body.to_vec());
        self.open_in_place(place, &sealed, text.as_mut_slice())?;
        Ok(text)
    }

    /// Decrypts a copy of the body, in memory that the caller wipes. Where it does not open, that holds nothing of use.
    pub(crate) fn open_in_place(
        &self,
        place: &[u8],
        sealed: &SealedText<'_>,
        text: &mut [u8],
    ) -> Result<(), Unopenable> {
        let (key, nonce) = self.of_one_text(sealed.nonce);
        let tag = (*sealed.tag).into();
        key.open_in_place_separate_tag(nonce, Aad::from(place), tag, text, 0..)
            .map_err(|_| Unopenable::NotAuthentic)?;
        Ok(())
    }

    /// The key of the one text that is sealed under that nonce. It opens nothing else: nonces are drawn at random, and
    /// neither this cipher's key nor that of another text follows from it.
    pub(crate) fn key_of_one_text(&self, nonce: &[u8; NONCE_BYTES]) -> Zeroizing<[u8; 32]> {
        // Twenty-four bytes are sixteen and eight.
        let mut first = [0; 16];
        first.copy_from_slice(&nonce[..16]);
        // The working memory of the function below stays on the stack until the next call overwrites it: no caller can
        // wipe it, here or behind the crate's own XChaCha20.
        Zeroizing::new(<[u8; 32]>::from(hchacha::<R20>(
            self.0.expose().into(),
            &first.into(),
        )))
    }

    /// [`Cipher::key_of_one_text`] for `ring`, which does not wipe its copy, and the rest of the nonce.
    fn of_one_text(&self, nonce: &[u8; NONCE_BYTES]) -> (LessSafeKey, Nonce) {
        let mut rest = [0; NONCE_LEN];
        rest[4..].copy_from_slice(&nonce[16..]);
        let key = self.key_of_one_text(nonce);
        #[expect(clippy::expect_used, reason = "fails for another length only")]
        let key = UnboundKey::new(&CHACHA20_POLY1305, key.as_slice()).expect("32 bytes");
        (LessSafeKey::new(key), Nonce::assume_unique_for_key(rest))
    }
}

#[cfg(test)]
mod tests {
    use chacha20poly1305::{
        KeyInit, XChaCha20Poly1305,
        aead::{Aead, Payload},
    };
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The vectors of the draft are held for that crate (`tests/it/vectors.rs`).
        #[test]
        fn spec_5_3_what_is_sealed_is_xchacha20_poly1305(
            key: [u8; 32],
            nonce: [u8; 24],
            place in prop::collection::vec(any::<u8>(), 0..1_500),
            plain in prop::collection::vec(any::<u8>(), 0..1_500),
            changed: prop::sample::Index,
        ) {
            let cipher = Cipher::new(Secret::copied(&key).unwrap());
            let other = XChaCha20Poly1305::new(&key.into());
            let payload = Payload { msg: &plain, aad: &place };
            let expected = other.encrypt(&nonce.into(), payload).unwrap();
            let sealed = cipher.seal(&nonce, &place, &plain);
            prop_assert_eq!(&sealed, &[&[VERSION], nonce.as_slice(), &expected].concat());
            let opened = cipher.open(&place, &sealed);
            prop_assert_eq!(opened.as_deref(), Ok(&*plain));
            let mut broken = sealed;
            let at = changed.index(broken.len());
            broken[at] ^= 1;
            prop_assert!(cipher.open(&place, &broken).is_err());
        }
    }
}
