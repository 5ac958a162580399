//! The chain of an agent's audit records: each record's hash covers the one before it (SPEC 4.2).
//!
//! The hash covers what an administrator may read, and a commitment to the text: the SHA-256 of the *sealed* bytes.
//! These hold a random nonce and an authenticated ciphertext, so that a text cannot be guessed and compared. Rotating
//! the master key or destroying the agent's key leaves them unchanged, so that the chain still verifies. The commitment
//! is in the record's row, so that shredding can remove the text (SPEC 4.4) and the chain still verifies.
//!
//! A chain alone does not show that records were cut off its end, or that all of it was hashed anew: for that its head
//! must be stored elsewhere, in the log of all heads ([`crate::log`]).
//!
//! When a memory is shredded, the records that held its words get other bodies, and the record of the shredding holds
//! the commitments of these.

use std::str::FromStr;

use memoir_domain::{AgentScope, SessionId, Timestamp, memory::Number};
use sha2::{Digest, Sha256};

use crate::text::{hex, read_hex};

/// What every hash of a record begins with. The next form of the encoding gets another one.
const RECORD_LABEL: &[u8] = b"memoir/chain/record/v1";
/// What the hash before the first record begins with.
const GENESIS_LABEL: &[u8] = b"memoir/chain/genesis/v1";

/// The hash of a record and of all records before it. `Display` and `FromStr` use hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, derive_more::Display, derive_more::Debug)]
#[debug("{self}")]
#[display("{}", hex(&self.0).as_str())]
pub struct RecordHash(pub [u8; 32]);

/// The SHA-256 of a record's sealed text. `Display` uses hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, derive_more::Display, derive_more::Debug)]
#[debug("{self}")]
#[display("{}", hex(&self.0).as_str())]
pub struct BodyCommitment(pub [u8; 32]);

/// A text that is no hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a hash: expected 64 hexadecimal digits")]
pub struct InvalidHash;

/// What the hash of a record covers, as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainRecord<'a> {
    /// Its place in the chain, from 1, without gaps.
    pub seq: u64,
    /// When it was written.
    pub recorded_at: Timestamp,
    /// The wire name of the actor's role.
    pub actor_kind: &'a str,
    /// The actor.
    pub actor_name: &'a str,
    /// The wire name of the action.
    pub action: &'a str,
    /// The session that it belongs to.
    pub session: Option<SessionId>,
    /// The memory that it is about.
    pub memory: Option<Number>,
    /// Its facts, in the bytes that are stored.
    pub facts: &'a [u8],
    /// The commitment to its text as it was first sealed.
    pub body: BodyCommitment,
}

/// A record as it is read back, with what must fit it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link<'a> {
    /// The record.
    pub record: ChainRecord<'a>,
    /// The hash that is stored with it.
    pub hash: RecordHash,
    /// Its sealed text.
    pub body: ChainBody<'a>,
}

/// The sealed text of a record, and its expected state.
///
/// A text that was shredded is replaced; the facts of the later record that says so hold the [`body_commitment`] of the
/// new one. As these are hashed, no other text can replace the new one, nor can the old one be restored; of several for
/// one text the last one counts. A chain with such records is verified in two passes: with [`ChainBody::Unchecked`] to
/// collect these commitments, which are trusted once all hashes fit, and then with the texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainBody<'a> {
    /// As it was first sealed.
    Original(&'a [u8]),
    /// In the place of one that was shredded; a later record of the chain commits to it.
    Replaced(&'a [u8], BodyCommitment),
    /// Not checked.
    Unchecked,
}

/// The end of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainHead {
    /// The last record's place; 0 where there is none.
    pub seq: u64,
    /// The last record's hash; that of [`genesis`] where there is none.
    pub hash: RecordHash,
}

/// The first record that does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("record {seq}: {problem}")]
pub struct FirstBad {
    /// The place in the chain.
    pub seq: u64,
    /// The fault there.
    pub problem: ChainProblem,
}

/// The faults of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ChainProblem {
    #[error("missing; record {found} is in its place")]
    Missing { found: u64 },
    #[error("it was changed: its hash does not fit")]
    Hash,
    #[error("its sealed text was changed")]
    Body,
    #[error(
        "the log ends elsewhere than the agent's row says: records were cut off, or the row was put back"
    )]
    Head,
}

/// The commitment to a sealed text.
pub fn body_commitment(sealed_body: &[u8]) -> BodyCommitment {
    BodyCommitment(Sha256::digest(sealed_body).into())
}

/// The hash before an agent's first record.
pub fn genesis(scope: AgentScope) -> RecordHash {
    let mut encoder = Encoder::new(GENESIS_LABEL);
    encoder.scope(scope);
    encoder.finish()
}

impl ChainRecord<'_> {
    /// Its hash, where `previous` is that of the record before it, or [`genesis`].
    pub fn hash(&self, scope: AgentScope, previous: &RecordHash) -> RecordHash {
        let mut encoder = Encoder::new(RECORD_LABEL);
        // The scope is in every record, not only in the first: a record that is moved to another agent's log never
        // fits, whatever precedes it.
        encoder.bytes(&previous.0);
        encoder.scope(scope);
        encoder.bytes(&self.seq.to_be_bytes());
        encoder.bytes(&self.recorded_at.microseconds().to_be_bytes());
        encoder.bytes(self.actor_kind.as_bytes());
        encoder.bytes(self.actor_name.as_bytes());
        encoder.bytes(self.action.as_bytes());
        encoder.option(self.session.as_ref().map(SessionId::as_bytes));
        encoder.option(self.memory.map(|memory| memory.0.to_be_bytes()).as_ref());
        encoder.bytes(self.facts);
        // The commitment and not the version of the body: shredding counts the version up, and must
        // leave the hash as it is.
        encoder.bytes(&self.body.0);
        encoder.finish()
    }
}

impl ChainHead {
    /// That of a chain without records.
    pub fn empty(scope: AgentScope) -> Self {
        Self {
            seq: 0,
            hash: genesis(scope),
        }
    }

    /// The head after one more record, whose hash is computed and not compared.
    pub fn then(self, scope: AgentScope, record: &ChainRecord<'_>) -> Self {
        Self {
            seq: record.seq,
            hash: record.hash(scope, &self.hash),
        }
    }

    /// The head after one more record as it was read back.
    ///
    /// # Errors
    /// The first of [`ChainProblem`] that applies.
    pub fn check(self, scope: AgentScope, link: &Link<'_>) -> Result<Self, FirstBad> {
        let seq = self.seq + 1;
        let bad = |problem| Err(FirstBad { seq, problem });
        if link.record.seq != seq {
            return bad(ChainProblem::Missing {
                found: link.record.seq,
            });
        }
        let next = self.then(scope, &link.record);
        // Compared in variable time: hashes of a log are no secret, and the callers that verify may read them.
        if next.hash != link.hash {
            return bad(ChainProblem::Hash);
        }
        let fits = match link.body {
            ChainBody::Original(sealed) => body_commitment(sealed) == link.record.body,
            ChainBody::Replaced(sealed, commitment) => body_commitment(sealed) == commitment,
            ChainBody::Unchecked => true,
        };
        if fits {
            Ok(next)
        } else {
            bad(ChainProblem::Body)
        }
    }

    /// Compares the end of a chain that is in order by itself with the one that is known from elsewhere.
    ///
    /// # Errors
    /// [`ChainProblem::Head`], at the first record that only one of them has; where both end at the same place, there.
    pub fn check_end(self, expected: Self) -> Result<(), FirstBad> {
        if self == expected {
            return Ok(());
        }
        let seq = match self.seq.min(expected.seq) {
            shared if self.seq == expected.seq => shared,
            shared => shared + 1,
        };
        let problem = ChainProblem::Head;
        Err(FirstBad { seq, problem })
    }
}

/// Feeds a hash so that no two different inputs give the same bytes: every part has its length before
/// it, and an absent one differs from an empty one.
struct Encoder(Sha256);

impl Encoder {
    fn new(label: &[u8]) -> Self {
        let mut encoder = Self(Sha256::new());
        encoder.bytes(label);
        encoder
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
    }

    fn option<const N: usize>(&mut self, bytes: Option<&[u8; N]>) {
        match bytes {
            None => self.0.update([0]),
            Some(bytes) => {
                self.0.update([1]);
                self.bytes(bytes);
            }
        }
    }

    fn scope(&mut self, scope: AgentScope) {
        self.bytes(scope.account.as_bytes());
        self.bytes(scope.agent.as_bytes());
    }

    fn finish(self) -> RecordHash {
        RecordHash(self.0.finalize().into())
    }
}

impl FromStr for RecordHash {
    type Err = InvalidHash;

    fn from_str(text: &str) -> Result<Self, InvalidHash> {
        let mut bytes = [0; 32];
        let is_hash = read_hex(text.as_bytes(), &mut bytes);
        is_hash.then_some(Self(bytes)).ok_or(InvalidHash)
    }
}
