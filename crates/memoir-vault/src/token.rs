//! Tokens, which authenticate to an interface of the service. The secret is shown once and not stored; only its digest
//! is (SPEC 5.5).

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::{Result, secret::randomize};

/// What every token begins with, so that scanners for leaked secrets know it.
const PREFIX: &str = "memoir_";
/// Prefix of the secret of a user who signed in with a browser: it is no token, nor the reverse.
const BROWSER_PREFIX: &str = "signed-in_";
const RANDOM_BYTES: usize = 32;
/// A longer text is refused unread.
// The longest secret, of a connection, has under 80 characters. A client's text must not be hashed at any length.
const LONGEST_BYTES: usize = 128;

/// A token's secret. Wiped when dropped; `Debug` prints its type's name only.
#[derive(derive_more::Debug)]
#[debug("TokenSecret")]
pub struct TokenSecret(Zeroizing<String>);

impl TokenSecret {
    /// A new one of 256 random bits.
    ///
    /// # Errors
    /// [`Error::Random`](crate::Error::Random).
    pub fn generate() -> Result<Self> {
        Self::beginning_with(PREFIX)
    }

    /// As [`TokenSecret::generate`], for the cookie of a user who signs in with a browser.
    ///
    /// # Errors
    /// [`Error::Random`](crate::Error::Random).
    pub fn generate_for_browser() -> Result<Self> {
        Self::beginning_with(BROWSER_PREFIX)
    }

    fn beginning_with(prefix: &str) -> Result<Self> {
        let mut bytes = Zeroizing::new([0; RANDOM_BYTES]);
        randomize(bytes.as_mut_slice())?;
        Ok(Self::of(prefix, bytes.as_slice()))
    }

    fn of(prefix: &str, bytes: &[u8]) -> Self {
        // Room for all of it from the start, so that growing leaves no copy behind.
        let mut text = Zeroizing::new(String::with_capacity(LONGEST_BYTES));
        text.push_str(prefix);
        URL_SAFE_NO_PAD.encode_string(bytes, &mut text);
        Self(text)
    }

    /// As [`TokenSecret::generate`], for the link by which the first administrator is made.
    ///
    /// # Errors
    /// [`Error::Random`](crate::Error::Random).
    pub fn generate_for_link() -> Result<Self> {
        Self::beginning_with("")
    }

    /// Whether that is the secret, in a time that does not depend on how much of it is right.
    pub fn is(&self, presented: &str) -> bool {
        // Digests are compared and not the texts, so that both sides have the same length whatever is presented.
        let presented: [u8; 32] = Sha256::digest(presented.as_bytes()).into();
        self.digest().ct_eq(&presented).into()
    }

    /// The secret, to be shown to its holder.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Its stored digest.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.0.as_bytes()).into()
    }
}

/// The digest of a presented secret; `None` for what cannot be a token. With 256 random bits a token cannot be guessed
/// from its digest, and the time of a look-up by digest reveals nothing.
pub fn digest_of(presented: &str) -> Option<[u8; 32]> {
    digest_where(presented, PREFIX)
}

/// As [`digest_of`], of what a browser presents.
pub fn browser_digest_of(presented: &str) -> Option<[u8; 32]> {
    digest_where(presented, BROWSER_PREFIX)
}

fn digest_where(presented: &str, prefix: &str) -> Option<[u8; 32]> {
    // The prefix is no secret; that a text without it is refused faster reveals nothing.
    let may_be = presented.starts_with(prefix) && presented.len() <= LONGEST_BYTES;
    may_be.then(|| Sha256::digest(presented.as_bytes()).into())
}

/// The secrets that an OAuth client holds of its connection to an agent. Each is of one connection, and has one use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionPart {
    /// Exchanged once for the other two.
    Code,
    /// Authenticates to the agent's interface, for some minutes.
    Access,
    /// Exchanged once for the next two.
    Refresh,
}

impl ConnectionPart {
    /// What such a secret begins with: it is no token of any other kind.
    fn prefix(self) -> &'static str {
        match self {
            Self::Code => "memoir-code_",
            Self::Access => "memoir-access_",
            Self::Refresh => "memoir-refresh_",
        }
    }
}

/// Random bytes by which a connection is found.
const HANDLE_BYTES: usize = 16;

/// The common prefix of all secrets of one connection, by which it is found. It grants nothing: with it and no valid
/// secret, a client can only end the connection. Wiped when dropped.
pub struct ConnectionHandle(Zeroizing<[u8; HANDLE_BYTES]>);

impl ConnectionHandle {
    /// A new one of 128 random bits.
    ///
    /// # Errors
    /// [`Error::Random`](crate::Error::Random).
    pub fn generate() -> Result<Self> {
        let mut bytes = Zeroizing::new([0; HANDLE_BYTES]);
        randomize(bytes.as_mut_slice())?;
        Ok(Self(bytes))
    }

    /// Its stored digest.
    pub fn digest(&self) -> [u8; 32] {
        let mut hasher = Sha256::new();
        // Set apart from the digests of tokens, which lie in the same column.
        hasher.update(b"memoir connection\0");
        hasher.update(self.0.as_slice());
        hasher.finalize().into()
    }

    /// A new secret of the connection, of 256 random bits.
    ///
    /// # Errors
    /// [`Error::Random`](crate::Error::Random).
    pub fn secret(&self, part: ConnectionPart) -> Result<TokenSecret> {
        let mut bytes = Zeroizing::new([0; HANDLE_BYTES + RANDOM_BYTES]);
        let (handle, random) = bytes.split_at_mut(HANDLE_BYTES);
        handle.copy_from_slice(self.0.as_slice());
        randomize(random)?;
        Ok(TokenSecret::of(part.prefix(), bytes.as_slice()))
    }
}

/// A presented secret of a connection.
pub struct PresentedPart {
    /// Of which connection it says to be.
    pub handle: ConnectionHandle,
    /// The SHA-256 of all of it.
    pub digest: [u8; 32],
}

impl PresentedPart {
    /// The parts of a presented secret; `None` for an invalid one.
    pub fn read(part: ConnectionPart, presented: &str) -> Option<Self> {
        let letters = presented.strip_prefix(part.prefix())?;
        if presented.len() > LONGEST_BYTES {
            return None;
        }
        let bytes = Zeroizing::new(URL_SAFE_NO_PAD.decode(letters).ok()?);
        let (handle, random) = bytes.split_first_chunk::<HANDLE_BYTES>()?;
        // The digest is of the text as presented and not of its bytes, so that a second way of
        // writing the same bytes is another secret.
        (random.len() == RANDOM_BYTES).then(|| Self {
            handle: ConnectionHandle(Zeroizing::new(*handle)),
            digest: Sha256::digest(presented.as_bytes()).into(),
        })
    }
}

/// The stored digest of a client's identifier: some are long.
pub fn digest_of_client(id: &str) -> [u8; 32] {
    Sha256::digest(id.as_bytes()).into()
}

/// Whether the verifier is that of a challenge of the method S256 (RFC 7636): 43 to 128 unreserved characters, whose
/// SHA-256 it is.
pub fn fits_challenge(verifier: &str, challenge: &str) -> bool {
    let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let may_be = (43..=128).contains(&verifier.len()) && verifier.bytes().all(is_unreserved);
    // An ordinary comparison will do: the challenge came unencrypted with the first request, and is compared with a
    // hash of the presented value.
    may_be && URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes())) == challenge
}

/// The token in forms for a browser, so that no other site can submit them. It cannot be made without the browser's
/// secret, and reveals nothing of that secret.
pub fn form_token(browser_secret: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(b"memoir form\0");
    hasher.update(browser_secret.as_bytes());
    URL_SAFE_NO_PAD.encode(hasher.finalize())
}
