//! Sealing: an agent's words, encrypted with its key and bound to their place (SPEC 5.3).
//!
//! Sealed data open only at the same account, agent, table, row and version, and beside the same open columns: a row
//! that was changed, exchanged with another one or replaced by an older version does not open. The exception is an old
//! row that is restored whole, with its version number and its open columns; only the chain can show that.
//!
//! The open columns of a row are the unsealed ones: a document as stored in its column, byte for byte, or a flag, a
//! date or a count that a store must understand. The caller encodes these, so that no two rows that differ in them give
//! the same bytes. They are passed with the text; empty if there are none.
//!
//! The sealed length shows the length of a text ([`OVERHEAD_BYTES`] more), to the byte. It is not padded: the number of
//! tokens is unsealed beside it (SPEC 5.1), and padding to less than that would hide nothing.

use std::sync::Arc;

use memoir_domain::{
    AccessRequestId, AgentScope, SessionId, TokenId, UserId, memory::Number, text::wiped::Wiped,
};
use zeroize::Zeroizing;

use crate::{
    cipher::{Cipher, NONCE_BYTES, SealedText, TAG_BYTES, Unopenable},
    secret::Secret,
};

pub use crate::cipher::{OVERHEAD_BYTES, VERSION};

/// The key of one agent. Clones share it; the last one to go wipes it. `Debug` prints its type's name only.
#[derive(Clone, derive_more::Debug)]
#[debug("AgentKey")]
pub struct AgentKey(Arc<DerivedKeys>);

/// What comes from an agent's key, worked out once.
struct DerivedKeys {
    scope: AgentScope,
    texts: Cipher,
    digests: Secret,
}

/// A row that holds a sealed text. The names are those of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, derive_more::Display)]
pub enum SealedRow {
    /// The agent's own row: its state.
    #[display("table `agents`")]
    Agent,
    /// The agent's prompts.
    #[display("table `agent_prompts`")]
    Prompts,
    /// A memory.
    #[display("table `memories`, memory {_0}")]
    Memory(Number),
    /// A session.
    #[display("table `sessions`, session {_0}")]
    Session(SessionId),
    /// A record of the audit, by its place in the log.
    #[display("table `audit_records`, record {_0}")]
    Record(u64),
    /// The response to a request, by the first half of its key's digest.
    #[display("table `replies`, a reply")]
    Reply([u8; 16]),
    /// A token.
    #[display("table `tokens`, token {_0}")]
    Token(TokenId),
    /// A user.
    #[display("table `users`, user {_0}")]
    User(UserId),
    /// A request for access.
    #[display("table `access_requests`, request {_0}")]
    AccessRequest(AccessRequestId),
    /// A message of a conversation, by the first half of its identifier's digest.
    #[display("table `transcript_messages`, a message")]
    Message([u8; 16]),
    /// A summary of a stretch of the log, by the place of its last record.
    #[display("table `log_summaries`, up to record {_0}")]
    Summary(u64),
    /// The vector of a memory.
    #[display("table `memory_vectors`, memory {_0}")]
    Vector(Number),
    /// A part of the index of the agent's words, by its place from 0.
    #[display("table `word_indexes`, part {_0}")]
    WordIndex(u64),
    /// No row: data that a browser keeps while a user goes through several pages.
    #[display("no table, what the browser of user {_0} holds")]
    PasswordProof(UserId),
    /// No row: the identifier of a client that registered itself.
    #[display("no table, the identifier of a client")]
    Client,
}

/// The place of a sealed text, within its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, derive_more::Display)]
#[display("{}, version {}", self.row, self.version)]
pub struct SealContext {
    /// The row.
    pub row: SealedRow,
    /// Which version of the row; grows with every change of its text.
    pub version: u64,
}

/// Twenty-four random bytes that are used once: sealing takes them away.
#[derive(derive_more::Debug)]
#[debug("Nonce")]
pub struct Nonce([u8; NONCE_BYTES]);

/// A sealed text with what shows, without the agent's key, that it is the text of these sealed bytes: ChaCha20 under
/// `key`, from its block 1 on and with four zero bytes and the last eight of the nonce, gives the sealed bytes again.
/// The key opens this one text. `Debug` prints the type's name only.
#[derive(derive_more::Debug)]
#[debug("Opening")]
pub struct Opening {
    /// The text.
    pub text: Wiped<u8>,
    /// The nonce, as the sealed bytes have it.
    pub nonce: [u8; NONCE_BYTES],
    /// The key of this text.
    pub key: Zeroizing<[u8; 32]>,
    /// The tag, as the sealed bytes have it.
    pub tag: [u8; TAG_BYTES],
}

/// Why a sealed text does not open. Names its place, never its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum OpenError {
    #[error("{0}: the sealed text is cut off")]
    Short(SealContext),
    #[error("{place}: the sealed text has the unknown form {found}")]
    UnknownForm { place: SealContext, found: u8 },
    /// Changed, put here from another place or version, beside other open columns than it was sealed with,
    /// or sealed with another key.
    #[error(
        "{0}: the row is not authentic: its sealed text or an open column was changed, it was moved here, or sealed with another key"
    )]
    NotAuthentic(SealContext),
}

impl Unopenable {
    fn at(self, place: &SealContext) -> OpenError {
        match self {
            Self::Short => OpenError::Short(*place),
            Self::Version(found) => OpenError::UnknownForm {
                place: *place,
                found,
            },
            Self::NotAuthentic => OpenError::NotAuthentic(*place),
        }
    }
}

impl AgentKey {
    pub(crate) fn new(scope: AgentScope, secret: &Secret) -> Self {
        // The scope goes into the keys and once more into what each text is bound to. The secret is
        // the agent's own already; by this a wrapped key that was put into another agent's row
        // would open nothing even if it could be unwrapped there.
        let derive = |purpose: &[u8]| {
            secret.derive(&[purpose, scope.account.as_bytes(), scope.agent.as_bytes()])
        };
        Self(Arc::new(DerivedKeys {
            scope,
            texts: Cipher::new(derive(b"agent/texts/")),
            // A key of its own for digests: a leaked digest key, or a weakness of the public digests, reveals nothing
            // of the key that seals the texts.
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

    /// `plain`, closed for that place and for the row's open `columns`, as the caller encodes them:
    /// [`OVERHEAD_BYTES`] longer, beginning with [`VERSION`]. The columns are not part of it.
    pub fn seal(&self, place: &SealContext, columns: &[u8], plain: &[u8], nonce: Nonce) -> Vec<u8> {
        let associated = self.associated(place, columns);
        self.0.texts.seal(&nonce.0, &associated, plain)
    }

    /// The text that was sealed for that place and beside those open `columns`.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(
        &self,
        place: &SealContext,
        columns: &[u8],
        sealed: &[u8],
    ) -> Result<Wiped<u8>, OpenError> {
        let opened = self.0.texts.open(&self.associated(place, columns), sealed);
        opened.map_err(|broken| broken.at(place))
    }

    /// As [`AgentKey::open`], into the beginning of memory that the caller wipes.
    ///
    /// # Errors
    /// See [`OpenError`]; a text that is longer than `plain` is not authentic. `plain` then holds nothing of use.
    pub fn open_into(
        &self,
        place: &SealContext,
        columns: &[u8],
        sealed: &[u8],
        plain: &mut [u8],
    ) -> Result<(), OpenError> {
        let sealed = SealedText::of(sealed).map_err(|broken| broken.at(place))?;
        let text = plain.get_mut(..sealed.body.len());
        let text = text.ok_or(OpenError::NotAuthentic(*place))?;
        text.copy_from_slice(sealed.body);
        let associated = self.associated(place, columns);
        let opened = self.0.texts.open_in_place(&associated, &sealed, text);
        opened.map_err(|broken| broken.at(place))
    }

    /// As [`AgentKey::open`], with what shows a reader without this key that the text is the sealed one.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn opening(
        &self,
        place: &SealContext,
        columns: &[u8],
        sealed: &[u8],
    ) -> Result<Opening, OpenError> {
        let text = self.open(place, columns, sealed)?;
        let short = OpenError::Short(*place);
        // It opened, so that both are there.
        let rest = sealed.get(1..).ok_or(short)?;
        let nonce = *rest.first_chunk().ok_or(short)?;
        let tag = *rest.last_chunk().ok_or(short)?;
        let key = self.0.texts.key_of_one_text(&nonce);
        Ok(Opening {
            text,
            nonce,
            key,
            tag,
        })
    }

    /// The form, account, agent, table, row and version, 58 bytes in all and each of a fixed length; then
    /// the columns. So two places, or two columns of one place, never have the same bytes.
    fn associated(&self, place: &SealContext, columns: &[u8]) -> Vec<u8> {
        let (table, row) = place.row.code();
        [
            [VERSION].as_slice(),
            self.0.scope.account.as_bytes(),
            self.0.scope.agent.as_bytes(),
            &[table],
            &row,
            &place.version.to_be_bytes(),
            columns,
        ]
        .concat()
    }
}

impl Nonce {
    /// From bytes of a cryptographic source, fresh for each sealing.
    pub fn from_random(random: [u8; 24]) -> Self {
        Self(random)
    }
}

impl SealedRow {
    /// The table's number, given once and for ever, and the row's key in 16 bytes.
    fn code(self) -> (u8, [u8; 16]) {
        // Numbers in the same 16 bytes as identifiers, so that every part of the associated data
        // has its length by its place.
        let number = |number: u64| u128::from(number).to_be_bytes();
        match self {
            Self::Agent => (1, number(0)),
            Self::Memory(Number(memory)) => (2, number(memory)),
            Self::Session(session) => (3, *session.as_bytes()),
            Self::Record(seq) => (4, number(seq)),
            Self::Prompts => (5, number(0)),
            Self::Reply(key) => (6, key),
            Self::Token(token) => (7, *token.as_bytes()),
            Self::User(user) => (8, *user.as_bytes()),
            Self::AccessRequest(request) => (9, *request.as_bytes()),
            Self::Message(digest) => (10, digest),
            Self::PasswordProof(user) => (11, *user.as_bytes()),
            Self::Summary(seq) => (12, number(seq)),
            Self::Vector(Number(memory)) => (13, number(memory)),
            Self::Client => (14, number(0)),
            Self::WordIndex(part) => (15, number(part)),
        }
    }
}
