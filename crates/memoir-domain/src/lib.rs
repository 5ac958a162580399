//! The rules of Memoir, as pure functions on plain data.
//!
//! Without input or output, clock, randomness or created identifiers: the caller passes the time and the identifiers,
//! and receives a decision to carry out. Every rule of a refinement session is implemented here once, for all
//! interfaces.

#[macro_use]
mod wire_names;

pub mod absorption;
pub mod access;
pub mod account;
pub mod adopt;
pub mod age_rule;
pub mod agent;
pub mod answer;
pub mod audit;
pub mod authoring;
pub mod breaker;
pub mod context;
pub mod draft;
pub mod duplicates;
pub mod history;
pub mod ids;
pub mod import;
pub mod in_force;
pub mod labels;
pub mod ledger;
pub mod lifecycle;
pub mod manage;
pub mod mark;
pub mod mass;
pub mod memories;
pub mod memory;
pub mod mend;
pub mod near_duplicates;
pub mod origin;
pub mod private;
pub mod prompt;
pub mod quote;
pub mod recall;
pub mod reflection;
pub mod replace;
pub mod replay;
pub mod rewind;
pub mod rollback;

pub mod schedule;
pub mod session;
pub mod session_entry;
pub mod shred;
pub mod summary;
pub mod text;
pub mod time;
pub mod tools;

pub use ids::{AccessRequestId, AccountId, AgentId, AgentScope, SessionId, TokenId, UserId};
pub use private::{PrivateJson, PrivateText};
pub use time::Timestamp;
