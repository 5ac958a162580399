//! Rows as every store keeps them, under the same names in each.

use std::{
    fmt,
    sync::{Arc, atomic::AtomicU64},
};

use memoir_domain::{
    AccessRequestId, AccountId, AgentId, AgentScope, SessionId, Timestamp, TokenId, UserId,
    absorption::MessageState,
    access::{AccessKind, AccessState},
    audit::{Action, ActorKind},
    memory::{Kind, Number, Tally},
    session::{Driver, EndReason, Lease, Mode, State, Stats, Trigger, Usage},
};

/// An agent's words on their way to the disk: a version byte, then what that version makes of them.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct StoredText(pub Vec<u8>);

impl fmt::Debug for StoredText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "StoredText({} bytes)", self.0.len())
    }
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
#[derive(Debug, Clone, PartialEq)]
pub struct AgentRow {
    /// Its account and identifier.
    pub scope: AgentScope,
    /// Grows by one with every commit, from 1.
    pub version: u64,
    /// Its name as given.
    pub name: String,
    /// Its name as compared; unique in the account.
    pub folded_name: String,
    /// The settings that are no text, as a JSON object.
    pub settings: String,
    /// Words that sessions let go by the day on which they did, as a JSON object; `{}` where none did.
    pub lost_by_day: String,
    /// The agent's version under which its prompts were last written.
    pub prompts_version: u64,
    /// Whether the schedule leaves it alone.
    pub paused: bool,
    /// Whether it is out of service.
    pub inactive: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// What is counted of its memories.
    pub tally: Tally,
    /// The number of the next memory.
    pub next_number: Number,
    /// The sequence number of the next audit record.
    pub next_seq: u64,
    /// When a session last completed or was rolled back.
    pub last_refinement_at: Option<Timestamp>,
    /// When a session was last begun.
    pub last_attempt_at: Option<Timestamp>,
    /// The mass at that attempt's end; set where `last_attempt_at` is.
    pub last_attempt_tokens: Option<u64>,
    /// Scheduled sessions that failed one after the other without an edit, that attempt included.
    pub attempt_failures: u64,
    /// When the last of them is tried again; `None` where it is not.
    pub retry_at: Option<Timestamp>,
    /// The installation's weekly slot after this time makes it due; `None` where the schedule leaves it
    /// alone, or it has a slot of its own.
    pub weekly_after: Option<Timestamp>,
    /// From this time on it is due whatever the weekly slot: for budget pressure, in a slot of its own, or
    /// for another attempt. `None` where there is nothing of the kind.
    pub due_at: Option<Timestamp>,
    /// When a reflection was last begun.
    pub last_reflection_at: Option<Timestamp>,
    /// When the first journal entry came that no reflection has seen yet.
    pub unreflected_since: Option<Timestamp>,
    /// A daily slot after this time brings a reflection; `None` where the schedule leaves it alone.
    pub reflect_after: Option<Timestamp>,
    /// Origin date of the last row that the last ledger listed.
    pub ledger_created_at: Option<Timestamp>,
    /// Its number; set where `ledger_created_at` is.
    pub ledger_number: Option<Number>,
    /// When it was erased.
    pub erased_at: Option<Timestamp>,
    /// The hash of the last record of its log; that of an empty log where there is none.
    pub head: [u8; 32],
    /// What shows that the row is as it was written, for whoever has the agent's key.
    pub seal: StoredText,
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
    /// Text, tags, source, and what is known of the wordings that it stands for.
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
    /// When its words were taken out.
    pub shredded_at: Option<Timestamp>,
}

/// A session of one agent.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    missing_docs,
    reason = "the fields are those of memoir_domain::session::Session"
)]
pub struct SessionRow {
    pub id: SessionId,
    pub agent: AgentId,
    /// The agent's version under which the row was written; renewing a lease leaves it.
    pub version: u64,
    pub state: State,
    pub mode: Mode,
    pub driver: Driver,
    pub trigger: Trigger,
    pub rehearsal: bool,
    pub model: Option<String>,
    pub pre_session_tokens: Option<u64>,
    pub post_session_tokens: Option<u64>,
    pub threshold: Option<f64>,
    pub edits: u32,
    pub removed_tokens: u64,
    pub lost_words: u64,
    pub stats: Stats,
    pub refused_calls: u32,
    pub end_reason: Option<EndReason>,
    /// Summary, reason, and what a rehearsal came to.
    pub body: StoredText,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub undone_at: Option<Timestamp>,
    pub usage: Usage,
    pub lease: Option<Lease>,
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

/// A record of one agent's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// Its place in the log, from 1, without gaps.
    pub seq: u64,
    /// When it was written.
    pub recorded_at: Timestamp,
    /// In what role it was done.
    pub actor_kind: ActorKind,
    /// Who did it.
    pub actor_name: String,
    /// What was done.
    pub action: Action,
    /// The session.
    pub session: Option<SessionId>,
    /// The memory.
    pub memory: Option<Number>,
    /// Counts, codes and identifiers, as a JSON object.
    pub facts: String,
    /// The agent's words.
    pub body: StoredText,
    /// Which body this is: 1 as the record was written, and one more with each that took its place.
    pub body_version: u64,
    /// The hash of the body as the record was written.
    pub body_commitment: [u8; 32],
    /// The hash of the record and of all before it.
    pub hash: [u8; 32],
    /// The hash of the record before it, from that record's row; `None` where there is none. Not
    /// written.
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

/// A token: who holds the secret acts as the account's administrator, or as one agent (SPEC 5.5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// Its identifier.
    pub id: TokenId,
    /// The tenant.
    pub account: AccountId,
    /// The agent; `None` for an administrator.
    pub agent: Option<AgentId>,
    /// What an administrator signed in for; `None` where it was made otherwise.
    pub sign_in: Option<SignInRow>,
    /// The SHA-256 of the secret; unique. The secret is kept nowhere.
    pub digest: [u8; 32],
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it opens nothing; `None` for never.
    pub expires_at: Option<Timestamp>,
    /// When it was last used; written in batches.
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// What shows that the row, but for its last use, is as it was written.
    pub seal: StoredText,
}

/// Who signed in for a token, and with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignInRow {
    /// The administrator, one of the account.
    pub user: UserId,
    /// Of which generation of the administrator's sign-ins it is; those of earlier ones are over.
    pub generation: u64,
    /// Whether it is the cookie of a browser.
    pub by_browser: bool,
}

/// An administrator of an account, with a name and a password.
#[derive(Clone, PartialEq, Eq)]
pub struct UserRow {
    /// Its identifier.
    pub id: UserId,
    /// The tenant.
    pub account: AccountId,
    /// The name as given.
    pub name: String,
    /// The name as compared; unique in the account.
    pub folded_name: String,
    /// How often the row was written, from 1 on.
    pub version: u64,
    /// Which sign-ins count: those of this generation.
    pub generation: u64,
    /// The password's hash, with its parameters and salt, as a PHC string; empty once it is removed.
    pub password_hash: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was removed; `None` while it may sign in.
    pub removed_at: Option<Timestamp>,
    /// What shows that the row is as it was written, with the second factor in it.
    pub seal: StoredText,
}

impl fmt::Debug for UserRow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "UserRow({})", self.id)
    }
}

/// A request to be let in by an agent, and what became of it (SPEC 5.2).
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the fields are those of memoir_domain::access::AccessRequest"
)]
pub struct AccessRow {
    pub id: AccessRequestId,
    pub agent: AgentId,
    /// The agent's version under which the row was written.
    pub version: u64,
    pub kind: AccessKind,
    pub state: AccessState,
    pub asked_by_kind: ActorKind,
    pub asked_by_name: String,
    pub requested_at: Timestamp,
    pub expires_at: Timestamp,
    pub answered_at: Option<Timestamp>,
    pub answered_seq: Option<u64>,
    pub ended_at: Option<Timestamp>,
    pub reads: u64,
    pub memories_read: u64,
    pub tokens_read: u64,
    /// Purpose and reason.
    pub body: StoredText,
}

/// A request that is open, as whoever looks across agents sees it.
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

/// What a request with an idempotency key was answered, for whoever repeats it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyRow {
    /// The tenant.
    pub account: AccountId,
    /// The SHA-256 of the token's identifier and the key; unique in the account.
    pub key_digest: [u8; 32],
    /// The SHA-256 of method, path and body.
    pub request_digest: [u8; 32],
    /// When the request came.
    pub recorded_at: Timestamp,
    /// Status and sealed body of the answer; `None` while it is not known.
    pub answer: Option<(u16, StoredText)>,
}

/// What one decision writes: all of it or none, in the order of the fields.
#[derive(Debug, Clone)]
pub struct Commit {
    /// The version of the agent that the decision was made on; `None` makes the agent. The store writes
    /// the agent under the next version.
    pub expected_version: Option<u64>,
    /// The agent as it is afterwards; its own `version` is passed over.
    pub agent: AgentRow,
    /// The prompts, where they changed; then the agent's `prompts_version` is the version written.
    pub prompts: Option<StoredText>,
    /// Memories, new or in place of the row of the same number.
    pub memories: Vec<MemoryRow>,
    /// Sessions, new or in place of the row of the same identifier.
    pub sessions: Vec<SessionRow>,
    /// Bodies in place of those of earlier records. What they replace is off the disk, out of any
    /// write-ahead log too, when the commit returns; where others who read hold that up, soon after.
    pub bodies: Vec<BodyRow>,
    /// Tokens of the agent, new or in place of the row of the same identifier, as
    /// [`Access::put_token`](crate::Access::put_token) writes them.
    pub tokens: Vec<TokenRow>,
    /// Requests for access, new or in place of the row of the same identifier, which is open. Who asks
    /// for what stays as it is.
    pub access: Vec<AccessRow>,
    /// What became of messages that waited to be read, by their places (see
    /// [`Transcripts`](crate::Transcripts)). One that waits no longer is a conflict.
    pub messages: Vec<(u64, MessageState)>,
    /// Records, at the end of the log.
    pub records: Vec<AuditRow>,
    /// Counted up with each memory written, for showing progress. The commit may still fail.
    pub progress: Option<Arc<AtomicU64>>,
}
