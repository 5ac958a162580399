//! Sealing: an agent's words, closed with its key and bound to the place where they stand (SPEC 5.3).
//!
//! What is sealed opens at the same account, agent, table, row and version only: a row that was changed,
//! exchanged with another one or put back in the place of a newer version does not open. The exception
//! is a row that is put back together with its version number; only the chain can tell that.
//!
//! The length of a text shows in the length of what is sealed ([`OVERHEAD_BYTES`] more), to the byte. It
//! is not padded: the number of tokens stands open beside it (SPEC 5.1), and padding to less than that
//! would hide nothing.

use std::{fmt, sync::Arc};

use memoir_domain::{AgentScope, SessionId, memory::Number};
use zeroize::Zeroizing;

use crate::{
    cipher::{Broken, Cipher, NONCE_BYTES},
    secret::Secret,
};

pub use crate::cipher::{OVERHEAD_BYTES, VERSION};

/// The key of one agent. Clones share it; the last one to go wipes it. `Debug` prints its type's name
/// only.
#[derive(Clone)]
pub struct AgentKey(Arc<Keys>);

/// What comes from an agent's key, worked out once.
struct Keys {
    scope: AgentScope,
    texts: Cipher,
    digests: Secret,
}

/// A row that holds a sealed text. The names are those of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Row {
    /// The agent's own row: its prompts.
    Agent,
    /// A memory.
    Memory(Number),
    /// A session.
    Session(SessionId),
    /// A record of the audit, by its place in the log.
    Record(u64),
}

/// Where a sealed text stands, within its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// The row.
    pub row: Row,
    /// Which version of the row; grows with every change of its text.
    pub version: u64,
}

/// Twenty-four random bytes that are used once: sealing takes them away.
pub struct Nonce([u8; NONCE_BYTES]);

/// Why a sealed text does not open. Names its place, never its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Too short to be a sealed text.
    #[error("{0}: the sealed text is cut off")]
    Short(Place),
    /// Sealed in a form that this version does not know.
    #[error("{place}: the sealed text has the unknown form {found}")]
    UnknownForm {
        /// Where it stands.
        place: Place,
        /// Its first byte.
        found: u8,
    },
    /// Changed, put here from another place or version, or sealed with another key.
    #[error("{0}: the sealed text is not authentic: changed, moved here, or of another key")]
    NotAuthentic(Place),
}

impl AgentKey {
    pub(crate) fn new(scope: AgentScope, secret: &Secret) -> Self {
        let derive = |purpose: &[u8]| {
            secret.derive(&[purpose, scope.account.as_bytes(), scope.agent.as_bytes()])
        };
        Self(Arc::new(Keys {
            scope,
            texts: Cipher::new(&derive(b"agent/texts/")),
            digests: derive(b"agent/digests/"),
        }))
    }

    /// Whose key it is.
    pub fn scope(&self) -> AgentScope {
        self.0.scope
    }

    /// The key of the agent's digests: those of duplicates and of details.
    pub fn digest_key(&self) -> &[u8; 32] {
        self.0.digests.expose()
    }

    /// `plain`, closed for that place: [`OVERHEAD_BYTES`] longer, beginning with [`VERSION`].
    pub fn seal(&self, place: &Place, plain: &[u8], nonce: Nonce) -> Vec<u8> {
        self.0.texts.seal(&nonce.0, &self.associated(place), plain)
    }

    /// What was sealed for that place.
    ///
    /// # Errors
    /// As said at [`OpenError`].
    pub fn open(&self, place: &Place, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, OpenError> {
        self.0
            .texts
            .open(&self.associated(place), sealed)
            .map_err(|broken| match broken {
                Broken::Short => OpenError::Short(*place),
                Broken::Version(found) => OpenError::UnknownForm {
                    place: *place,
                    found,
                },
                Broken::NotAuthentic => OpenError::NotAuthentic(*place),
            })
    }

    /// The form, account, agent, table, row and version, each of a fixed length: two places never have
    /// the same bytes.
    fn associated(&self, place: &Place) -> [u8; 58] {
        let mut bytes = [0; 58];
        bytes[0] = VERSION;
        bytes[1..17].copy_from_slice(self.0.scope.account.as_bytes());
        bytes[17..33].copy_from_slice(self.0.scope.agent.as_bytes());
        let (table, row) = place.row.code();
        bytes[33] = table;
        bytes[34..50].copy_from_slice(&row);
        bytes[50..].copy_from_slice(&place.version.to_be_bytes());
        bytes
    }
}

impl fmt::Debug for AgentKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("AgentKey")
    }
}

impl Nonce {
    /// From bytes of a cryptographic source, fresh for each sealing.
    pub fn from_random(random: [u8; 24]) -> Self {
        Self(random)
    }
}

impl fmt::Debug for Nonce {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Nonce")
    }
}

impl Row {
    /// The table's number, given once and for ever, and the row's key in 16 bytes.
    fn code(self) -> (u8, [u8; 16]) {
        let number = |number: u64| u128::from(number).to_be_bytes();
        match self {
            Self::Agent => (1, number(0)),
            Self::Memory(Number(memory)) => (2, number(memory)),
            Self::Session(session) => (3, *session.as_bytes()),
            Self::Record(seq) => (4, number(seq)),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row {
            Row::Agent => formatter.write_str("table `agents`"),
            Row::Memory(number) => write!(formatter, "table `memories`, memory {number}"),
            Row::Session(session) => write!(formatter, "table `sessions`, session {session}"),
            Row::Record(seq) => write!(formatter, "table `audit_records`, record {seq}"),
        }?;
        write!(formatter, ", version {}", self.version)
    }
}
