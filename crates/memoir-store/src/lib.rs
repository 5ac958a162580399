//! Memoir's requirements on a database: rows, look-ups, one way of writing, and errors.
//!
//! A store keeps rows. It decides nothing and understands no text: an agent's words reach it as [`StoredText`], opaque
//! bytes. Every change of an agent goes through [`Store::commit`], in one transaction, under the version of the agent
//! that the decision was made on. Look-ups of private data take an [`AgentScope`](memoir_domain::AgentScope); the few
//! that do not are in [`Fleet`] and [`Portable`], and return no memory.
//!
//! [`Store::commit`] is the one method that changes an agent's memories and its log. Leases, tokens, users, stored
//! responses, notifications of webhooks, messages that wait to be read, vectors of memories and indexes of words have
//! methods of their own.
//!
//! The trait [`Portable`] has what all databases do by the same statements: a [`Database`] has its methods.
//!
//! The trait [`Fleet`] has the look-ups across agents: names, counts, times, states, scopes, the log over all heads. It
//! has no method that returns a memory, a prompt or a record's words; `fleet_records` lists an account's records by
//! time, without them. Compile-fail tests of `memoir-app` check that (`tests/scoped.rs`).
//!
//! `conformance` (a feature) has scenarios that any store must pass.

pub mod check;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod decode;
mod deliveries;
pub mod encode;
mod error;
mod fleet;
mod load;
mod portable;
mod records;
mod row;
pub mod tables;
mod traits;
mod transcripts;
mod value;
mod vectors;
mod word_index;
mod work;

pub use deliveries::{Deliveries, DeliveryRow, ReceiverDigest};
pub use error::{Error, Result};
pub use fleet::{
    FleetOrder, FleetPage, FleetQuery, FleetRecord, FleetRow, FleetSession, FleetSlice,
    RecordOrder, RecordPlace, SESSIONS_AT_ONCE,
};
pub use load::{FleetLoad, HeldSessions};
pub use portable::{
    ACCESS_PAGE, AGENT_PAGE, AGENT_TOKENS, APPEND_LEAVES, COUNT_LEAVES, Change, Database, Held,
    OPEN_ACCESS, Portable, Reach, WrittenRows,
};
pub use records::RecordQuery;
pub use row::{
    AccessColumns, AccessRow, AccountRow, AgentColumns, AgentRow, ArchiveLink, AuditRow, BodyRow,
    Commit, Commits, CountAndTokens, CountsMark, Document, FleetRanks, LeafRow, MemoryRow,
    OpenAccess, ReplyMark, ReplyRow, RowCounts, SessionColumns, SessionRow, StoredText, SummaryRow,
    TokenColumns, TokenRow, UserColumns, UserRow, WaitingSession,
};
pub use traits::{
    Access, AgentQuery, Counting, DueQuery, Expiry, FURTHEST_DAYS, Finding, Fleet, MemoryPage,
    RecordFilter, Selection, Snapshot, Store, StoredUsage,
};
pub use transcripts::{
    DueWork, MessageOutcome, MessageRow, Reviving, TranscriptRow, Transcripts, Waiting,
};
pub use value::Value;
pub use vectors::{VectorRow, Vectors};
pub use word_index::WordIndexRow;
pub use work::{WorkMeter, is_low_priority, may_wait, note_low_priority, without_waiting};
