//! Thirty-two secret bytes.

use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::{Error, Result};

/// The salt of every derivation: sets the keys of Memoir apart from all others made of the same bytes.
const SALT: &[u8] = b"memoir/vault/v1";

/// Fills with random bytes. In place, since an array that is returned may leave a copy that nothing wipes.
pub(crate) fn randomize(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes).map_err(|_| Error::Random)
}

/// A key. It is on the heap, so that moving it leaves no copies behind, and is wiped when dropped.
#[derive(derive_more::Debug)]
#[debug("Secret")]
pub(crate) struct Secret(Box<Zeroizing<[u8; 32]>>);

impl Secret {
    pub(crate) fn zeroed() -> Self {
        Self(Box::new(Zeroizing::new([0; 32])))
    }

    pub(crate) fn random() -> Result<Self> {
        let mut secret = Self::zeroed();
        randomize(secret.expose_mut())?;
        Ok(secret)
    }

    /// `None` where `bytes` are not 32.
    pub(crate) fn copied(bytes: &[u8]) -> Option<Self> {
        let mut secret = Self::zeroed();
        (bytes.len() == 32).then(|| {
            secret.0.copy_from_slice(bytes);
            secret
        })
    }

    pub(crate) fn expose(&self) -> &[u8; 32] {
        &self.0
    }

    pub(crate) fn expose_mut(&mut self) -> &mut [u8; 32] {
        &mut self.0
    }

    /// HKDF-SHA256 with this as input key. `info` must be unambiguous: one label, then parts of fixed lengths.
    pub(crate) fn derive(&self, info: &[&[u8]]) -> Self {
        let mut derived = Self::zeroed();
        self.derive_into(info, derived.expose_mut());
        derived
    }

    /// As [`Secret::derive`], into at most 32 bytes.
    pub(crate) fn derive_into(&self, info: &[&[u8]], output: &mut [u8]) {
        #[expect(
            clippy::expect_used,
            reason = "HKDF-SHA256 expands up to 8,160 bytes (RFC 5869, 2.3) and no caller asks for more than 32"
        )]
        Hkdf::<Sha256>::new(Some(SALT), self.expose())
            // The parts are put behind each other without their lengths, hence the demand on `info` above.
            .expand_multi_info(info, output)
            .expect("no more than 8,160 bytes");
    }
}
