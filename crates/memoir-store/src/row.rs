//! Rows as every store keeps them, under the same names in each.

use std::{
    fmt,
    sync::{Arc, atomic::AtomicU64},
};

use memoir_domain::{
    AccessRequestId, AccountId, AgentId, AgentScope, SessionId, Timestamp, TokenId, UserId,
    access::AccessState,
    audit::{Action, ActorKind},
    memory::{ArchivedBy, Kind, Number},
    schedule::NextDue,
    session::{Driver, Lease, State},
};
use serde::{Deserialize, Serialize};

use crate::{Error, MessageOutcome, Result, Waiting};

/// An agent's words as stored: a version byte, then the encoding of that version.
#[derive(Clone, PartialEq, Eq, Default, derive_more::Debug)]
#[debug("StoredText({} bytes)", self.0.len())]
pub struct StoredText(pub Vec<u8>);

/// A sealed document, kept byte for byte, which only a holder of the key understands. A store reads none of it. It
/// searches, sorts and counts by a few columns, which repeat facts of the document (SPEC 5.3).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Document {
    /// What its seal is bound to beside its place; a document in place of another one has a later version.
    pub version: u64,
    /// The unsealed part: a JSON object by field name.
    pub open: String,
    /// What may not, sealed for its place, its version and these very bytes of `open`.
    pub sealed: StoredText,
}

/// A tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountRow {
    /// Its identifier.
    pub id: AccountId,
    /// Its name as given.
    pub name: String,
    /// Its name as compared; unique.
    pub folded_name: String,
    /// When it was made.
    pub created_at: Timestamp,
}

/// An agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRow {
    /// Its account and identifier.
    pub scope: AgentScope,
    /// The columns by which it is found and sorted.
    pub columns: AgentColumns,
    /// All of it but its prompts. Its version grows by one with every commit, from 1.
    pub document: Document,
}

/// By what an agent is found and sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentColumns {
    /// Its name as given.
    pub name: String,
    /// Its name as compared; unique in the account.
    pub folded_name: String,
    /// When it was erased.
    pub erased_at: Option<Timestamp>,
    /// The sequence number of the next audit record.
    pub next_seq: u64,
    /// The hash of the last record of its log; that of an empty log where there is none.
    pub head: [u8; 32],
    /// What the schedule has in view for it.
    pub prospect: NextDue,
    /// Its ranks in lists that are sorted by these.
    pub ranks: FleetRanks,
}

/// By what lists of agents are sorted, worked out as the agent is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FleetRanks {
    /// The core size as a share of the budget, in millionths.
    pub budget_share: u64,
    /// How many tokens a session that begins now could remove.
    pub removable_tokens: u64,
    /// Archived originals as a share of all originals, in millionths.
    pub archived_share: u64,
}

/// A memory of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryRow {
    /// Its number.
    pub number: Number,
    /// The agent's version under which the row was written.
    pub version: u64,
    /// Its kind.
    pub kind: Kind,
    /// Text, tags, source, and data about the originals whose place it took.
    pub body: StoredText,
    /// Its size in tokens.
    pub tokens: u64,
    /// Whether it is constitutional.
    pub constitutional: bool,
    /// Its origin date.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it was discarded.
    pub discarded_at: Option<Timestamp>,
    /// When it was shredded.
    pub shredded_at: Option<Timestamp>,
    /// The memory that took its place.
    pub under: Option<Number>,
    /// When it became archival; set exactly where its kind is archival.
    pub archived_at: Option<Timestamp>,
    /// What made it archival; set where `archived_at` is.
    pub archived_by: Option<ArchivedBy>,
    /// Whether it is a summary; only a core memory is.
    pub is_summary: bool,
    /// The place of the record that first made it core.
    pub core_seq: Option<u64>,
    /// When it was first saved.
    pub recorded_at: Timestamp,
}

impl MemoryRow {
    /// What of its columns does not agree; `None` where nothing is wrong.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        let is_archival = self.kind == Kind::Archival;
        if self.shredded_at.is_some() && self.discarded_at.is_none() {
            return Some("has a `shredded_at` and no `discarded_at`");
        }
        if self.archived_at.is_some() != is_archival || self.archived_by.is_some() != is_archival {
            return Some("has a `kind`, `archived_at` and `archived_by` that do not agree");
        }
        if self.is_summary && self.kind != Kind::Core {
            return Some("has an `is_summary` and a `kind` other than core");
        }
        None
    }
}

/// A memory's place in the archive, without words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of MemoryRow")]
pub struct ArchiveLink {
    pub number: Number,
    pub under: Option<Number>,
    /// `None` of a discarded memory.
    pub kind: Option<Kind>,
}

/// How many rows there are, and the sum of their tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CountAndTokens {
    /// How many rows.
    pub count: u64,
    /// The sum of their tokens.
    pub tokens: u64,
}

impl std::iter::Sum for CountAndTokens {
    fn sum<Parts: Iterator<Item = Self>>(parts: Parts) -> Self {
        parts.fold(Self::default(), |sum, part| Self {
            // Columns are not sealed, so that a stored size may be any number.
            count: sum.count.saturating_add(part.count),
            tokens: sum.tokens.saturating_add(part.tokens),
        })
    }
}

/// The totals of an agent's memories, by their columns. A row of an unknown kind is in no count until it is discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowCounts {
    /// The active core memories.
    pub core: CountAndTokens,
    /// The active journal entries.
    pub journal: CountAndTokens,
    /// The active archival memories.
    pub archival: CountAndTokens,
    /// The discarded memories that are not shredded, of all kinds.
    pub discarded: u64,
    /// The shredded memories, of all kinds.
    pub shredded: u64,
}

/// The state in which an agent's memory rows were counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountsMark {
    /// The version of the agent's row.
    pub version: u64,
    /// How many times the store had noticed that others write to its database.
    pub others: u64,
}

impl RowCounts {
    /// The active memories of all kinds.
    pub fn active(&self) -> CountAndTokens {
        [self.core, self.journal, self.archival].into_iter().sum()
    }
}

/// A session of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Its identifier.
    pub id: SessionId,
    /// Whose it is.
    pub agent: AgentId,
    /// The columns by which it is found and sorted.
    pub columns: SessionColumns,
    /// Its lease; renewed without the key.
    pub lease: Option<Lease>,
    /// The session; its words and the result of a rehearsal are sealed. Its version is the agent's under which it was
    /// written.
    pub document: Document,
}

/// By what a session is found and sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the fields are those of memoir_domain::session::Session"
)]
pub struct SessionColumns {
    pub state: State,
    pub driver: Driver,
    pub model: Option<String>,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

/// A session that waits for a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingSession {
    /// Whose it is.
    pub scope: AgentScope,
    /// Its identifier.
    pub id: SessionId,
    /// The model that is to run it, as `provider:name`.
    pub model: Option<String>,
    /// When it was begun.
    pub started_at: Timestamp,
}

/// A record of one agent's log; with `()` as its body, without the agent's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow<Body = StoredText> {
    /// Its place in the log, from 1, without gaps.
    pub seq: u64,
    /// When it was written.
    pub recorded_at: Timestamp,
    /// In what role it was done.
    pub actor_kind: ActorKind,
    /// The actor's name.
    pub actor_name: String,
    /// The action.
    pub action: Action,
    /// The session.
    pub session: Option<SessionId>,
    /// The memory.
    pub memory: Option<Number>,
    /// Counts, codes and identifiers, as a JSON object.
    pub facts: String,
    /// The agent's words.
    pub body: Body,
    /// Which body this is: 1 as the record was written, and one more with each that took its place.
    pub body_version: u64,
    /// The hash of the body as the record was written.
    pub body_commitment: [u8; 32],
    /// The hash of the record and of all before it.
    pub hash: [u8; 32],
    /// The hash of the record before it, from that record's row; `None` where there is none. Not written.
    pub previous_hash: Option<[u8; 32]>,
}

/// Another body for a record that is there (SPEC 4.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyRow {
    /// The record's place in the log.
    pub seq: u64,
    /// One more than that of the body that it replaces.
    pub body_version: u64,
    /// The body.
    pub body: StoredText,
}

/// An entry of the log over the heads of all agents' logs (SPEC 4.2). Only ever added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeafRow {
    /// Whose log.
    pub agent: AgentId,
    /// The place of its last record at the time.
    pub seq: u64,
    /// That record's hash.
    pub head: [u8; 32],
    /// When the entry was made.
    pub recorded_at: Timestamp,
}

/// The summary of a stretch of one agent's log, so that a view of the past need not read it. It repeats facts of the
/// records, can be made again from them, and is deleted when bodies of records are replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryRow {
    /// The place of the last record that it is of.
    pub last_seq: u64,
    /// That record's hash.
    pub hash: [u8; 32],
    /// The summary.
    pub body: StoredText,
}

/// A token: its holder acts as the account's administrator, or as one agent (SPEC 5.5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// Its identifier.
    pub id: TokenId,
    /// The tenant.
    pub account: AccountId,
    /// The agent; `None` for an administrator.
    pub agent: Option<AgentId>,
    /// When it was last used; written in batches, without the key.
    pub last_used_at: Option<Timestamp>,
    /// The columns by which it is found.
    pub columns: TokenColumns,
    /// Its rights and their end.
    pub document: Document,
}

/// By what a token is found and sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenColumns {
    /// The SHA-256 of the secret; unique. The secret is kept nowhere.
    pub digest: [u8; 32],
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// An administrator of an account, with a name and a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserRow {
    /// Its identifier.
    pub id: UserId,
    /// The tenant.
    pub account: AccountId,
    /// The columns by which it is found.
    pub columns: UserColumns,
    /// Identity and credentials. Its version is how often it was written, from 1 on.
    pub document: Document,
}

/// By what a user is found and sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserColumns {
    /// The name as compared; unique in the account.
    pub folded_name: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was removed; `None` while it may sign in.
    pub removed_at: Option<Timestamp>,
}

/// An access request and its outcome (SPEC 5.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessRow {
    /// Its identifier.
    pub id: AccessRequestId,
    /// The agent that must answer.
    pub agent: AgentId,
    /// The columns by which it is found and sorted.
    pub columns: AccessColumns,
    /// The request; its words are sealed. Its version is the agent's under which it was written.
    pub document: Document,
}

/// By what a request for access is found and sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the fields are those of memoir_domain::access::AccessRequest"
)]
pub struct AccessColumns {
    pub state: AccessState,
    pub requested_at: Timestamp,
    pub expires_at: Timestamp,
}

/// An open request, as a query across agents returns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenAccess {
    /// Whose agent is asked.
    pub scope: AgentScope,
    /// Its identifier.
    pub id: AccessRequestId,
    /// Whether it waits for an answer, or can be used.
    pub state: AccessState,
    /// Until when.
    pub expires_at: Timestamp,
}

/// The response to a request with an idempotency key, for its repetition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyRow {
    /// The tenant.
    pub account: AccountId,
    /// The SHA-256 of the token's identifier and the key; unique in the account.
    pub key_digest: [u8; 32],
    /// A keyed digest of method, path and body.
    pub request_digest: [u8; 32],
    /// When the request came.
    pub recorded_at: Timestamp,
    /// Its outcome so far: that it made a change ([`ReplyMark`]), or its response. `None` before either.
    pub answer: Option<Document>,
}

/// That a request with an idempotency key made the change that is written with it (SPEC 6.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyMark {
    /// The row's document from then on.
    pub document: Document,
    /// The open part of the row's document before; `None` where it has no document. With another one, or without the
    /// row, the whole decision is refused.
    pub expected: Option<String>,
    /// The key of the request's row, which is of the account of the agent that is changed.
    pub key_digest: [u8; 32],
}

/// Decisions on one agent, each on top of the one before, as they come; they are written together. `None`
/// says that this was the last one: where the list ends without it, nothing is written.
#[derive(derive_more::Debug)]
#[debug("Commits")]
pub struct Commits(parking_lot::Mutex<Box<dyn Iterator<Item = Option<Commit>> + Send>>);

impl Commits {
    /// Those that `commits` gives. A store may wait there, on a thread of its own.
    pub fn new(commits: impl Iterator<Item = Option<Commit>> + Send + 'static) -> Self {
        Self(parking_lot::Mutex::new(Box::new(commits)))
    }

    /// The next one: `Some(None)` after the last one, `None` where the list ends before.
    pub fn next(&self) -> Option<Option<Commit>> {
        self.0.lock().next()
    }
}

/// What one decision writes: all of it or none, in the order of the fields.
#[derive(Debug, Clone)]
pub struct Commit {
    /// The version of the agent that the decision was made on; `None` makes the agent. The store writes
    /// the agent under the next version.
    pub expected_version: Option<u64>,
    /// The agent as it is afterwards; its own version is passed over.
    pub agent: AgentRow,
    /// The prompts, where they changed.
    pub prompts: Option<StoredText>,
    /// Memories, new or in place of the row of the same number.
    pub memories: Vec<MemoryRow>,
    /// Sessions, new or in place of the row of the same identifier.
    pub sessions: Vec<SessionRow>,
    /// Bodies in place of those of earlier records. The replaced ones are off the disk, out of any write-ahead log too,
    /// when the commit returns, or soon after if other readers block that.
    pub bodies: Vec<BodyRow>,
    /// Tokens of the agent, or in an account's own log those of its administrators, new or in place of the row of the same identifier, as
    /// [`Access::put_token`](crate::Access::put_token) writes them.
    pub tokens: Vec<TokenRow>,
    /// Access requests, new or in place of the open row of the same identifier. When they were made does not change.
    pub access: Vec<AccessRow>,
    /// The outcomes of waiting messages, by their places (see [`Transcripts`](crate::Transcripts)). One that waits no
    /// more is a conflict.
    pub messages: Vec<MessageOutcome>,
    /// Messages that wait from now on, after these outcomes, and from when on those that wait are to be read.
    pub waiting: Option<(Waiting, Timestamp)>,
    /// Records, at the end of the log.
    pub records: Vec<AuditRow>,
    /// The request that makes the change, where it has an idempotency key.
    pub reply: Option<Box<ReplyMark>>,
    /// Counted up with each memory written, for showing progress. The commit may still fail.
    pub progress: Option<Arc<AtomicU64>>,
}

impl Commit {
    /// A decision that writes the agent alone, where it was made on that version of it.
    pub fn new(expected_version: Option<u64>, agent: AgentRow) -> Self {
        Self {
            expected_version,
            agent,
            prompts: None,
            memories: Vec::new(),
            sessions: Vec::new(),
            bodies: Vec::new(),
            tokens: Vec::new(),
            access: Vec::new(),
            messages: Vec::new(),
            waiting: None,
            records: Vec::new(),
            reply: None,
            progress: None,
        }
    }

    /// The statements that delete what may hold words of the agent `$1` that are in no memory afterwards: it shreds a
    /// memory, replaces bodies of records, or erases the agent, whose unread messages nothing can decrypt then.
    pub fn deletions(&self) -> Vec<&'static str> {
        let is_erased = self.agent.columns.erased_at.is_some();
        let is_replaced = is_erased || !self.bodies.is_empty();
        let mut deletions = Vec::new();
        if is_replaced {
            // A summary may hold the text of a replaced body.
            deletions.push("DELETE FROM log_summaries WHERE agent_id = $1");
        }
        if is_erased {
            deletions.extend([
                "DELETE FROM transcript_messages WHERE agent_id = $1",
                "DELETE FROM transcripts WHERE agent_id = $1",
                "DELETE FROM memory_vectors WHERE agent_id = $1",
            ]);
        }
        if is_replaced || self.memories.iter().any(|row| row.shredded_at.is_some()) {
            deletions.push("DELETE FROM word_indexes WHERE agent_id = $1");
        }
        deletions
    }

    /// Checks the agent against the rows that go with it. A store calls it once it knows that the decision was made on
    /// the present version of the agent: otherwise it is a conflict.
    ///
    /// # Errors
    /// [`Error::Inconsistent`]: rows of another agent, records that do not end where the agent says, an agent that
    /// would be made without prompts, a memory without a number, or one whose columns do not agree: shredded and not
    /// discarded, archival without a time and a cause or the other way round, or a summary that is not core.
    pub fn check(&self) -> Result<()> {
        let scope = self.agent.scope;
        if self.expected_version.is_none() && self.prompts.is_none() {
            let problem = format!("{} would be made without any", scope.agent);
            return Err(Error::inconsistent("agent_prompts", problem));
        }
        self.check_records()?;
        let about = |table, row: &dyn fmt::Display, problem: &str| {
            Err(Error::inconsistent(table, format!("{row} {problem}")))
        };
        // Those in an account's own log are of no agent.
        let owner = Some(scope.agent).filter(|_| !scope.is_of_account());
        let is_theirs = |token: &&TokenRow| (token.account, token.agent) == (scope.account, owner);
        if let Some(token) = self.tokens.iter().find(|token| !is_theirs(token)) {
            return about("tokens", &token.id, "belongs to another agent");
        }
        if let Some(request) = self.access.iter().find(|row| row.agent != scope.agent) {
            return about("access_requests", &request.id, "is made to another agent");
        }
        for memory in &self.memories {
            if memory.number.0 == 0 {
                return about("memories", &memory.number, "has no number");
            }
            if let Some(problem) = memory.problem() {
                return about("memories", &memory.number, problem);
            }
        }
        if let Some(session) = self.sessions.iter().find(|row| row.agent != scope.agent) {
            return about("sessions", &session.id, "belongs to another agent");
        }
        Ok(())
    }

    fn check_records(&self) -> Result<()> {
        let columns = &self.agent.columns;
        let first = columns.next_seq.checked_sub(self.records.len() as u64);
        let in_order = first.is_some_and(|first| {
            (first..)
                .zip(&self.records)
                .all(|(seq, record)| record.seq == seq)
        });
        // Sequence numbers begin at 1.
        if first.is_none_or(|first| first == 0) || !in_order {
            return Err(Error::inconsistent(
                "audit_records",
                "the records do not end where the agent's `next_seq` begins",
            ));
        }
        match self.records.last() {
            Some(last) if last.hash != columns.head => Err(Error::inconsistent(
                "agents",
                "`head` is not the hash of the last record",
            )),
            _ => Ok(()),
        }
    }
}
