//! What Memoir asks of a database: rows, look-ups, one way of writing, and errors.
//!
//! A store keeps rows. It decides nothing and understands no text: whatever is an agent's words
//! reaches it as [`StoredText`], opaque bytes. Everything that changes an agent goes through
//! [`Store::commit`], in one transaction, under the version of the agent that the decision was made on.
//! Look-ups of something private take an [`AgentScope`](memoir_domain::AgentScope); the few that do not
//! are in [`Fleet`] and return no memory.

#[cfg(feature = "conformance")]
pub mod conformance;
mod deliveries;
mod error;
mod fleet;
mod load;
mod row;
mod traits;
mod transcripts;

pub use deliveries::{Deliveries, DeliveryRow, ReceiverDigest};
pub use error::{Error, Result};
pub use fleet::{
    FleetOrder, FleetPage, FleetRecord, FleetRow, FleetSession, FleetSlice, RecordPlace,
};
pub use load::{FleetLoad, HeldSessions};
pub use row::{
    AccessRow, AccountRow, AgentRow, AuditRow, BodyRow, Commit, LeafRow, MemoryRow, OpenAccess,
    ReplyRow, SessionRow, SignInRow, StoredText, TokenRow, UserRow, WaitingSession,
};
pub use traits::{
    Access, DueAgents, Faded, Finding, Fleet, MemoryPage, RecordFilter, Selection, Snapshot, Store,
    Wanted,
};
pub use transcripts::{MessageRow, TranscriptRow, Transcripts};
