//! The rules of Memoir, as pure functions on plain data.
//!
//! Without input or output, clock, randomness or created identifiers: the caller passes the time and the identifiers,
//! and receives a decision to carry out. Every rule of a refinement session is implemented here once, for all
//! interfaces.
//!
//! The modules are grouped, from low to high: `text`, `memory`, `agent`, `log`, `change`, `access`, `recall`,
//! `session`, `history`, `life`. A group uses lower ones only, except that a [`Decision`](draft::Decision) holds a
//! session and access requests. `ids` and `time` are below all groups, `labels` is above them.
//!
//! Other crates use the modules by their short paths at the root; within this crate the paths are the full ones.

#[macro_use]
mod wire_names;

pub mod ids;
pub mod time;

pub mod access;
pub mod agent;
mod change;
pub mod history;
pub mod labels;
mod life;
mod log;
pub mod memory;
mod parallel;
pub mod recall;
pub mod session;
pub mod text;

pub use access::account;
pub use agent::{context, schedule};
pub use change::{age_rule, draft, import, manage, memories, replace};
pub use history::{replay, rewind, shred, summary};
pub use life::{absorption, adopt, authoring, reflection};
pub use log::{audit, core_size, effective};
pub use memory::{duplicates, mark, near_duplicates, origin};
pub use session::{breaker, ledger, lifecycle, prompt, rollback, session_entry, tools};
pub use text::{answer, mend, private, quote};

pub use ids::{AccessRequestId, AccountId, AgentId, AgentScope, SessionId, TokenId, UserId};
pub use text::private::{PrivateJson, PrivateText};
pub use time::Timestamp;
