//! An agent's life between its sessions: what it keeps of its journal, and what it notes of conversations
//! (SPEC 2.5, 2.6).
//!
//! Reflection and absorption are questions, not sessions: one prompt, one answer that is JSON (`answer.rs` of
//! the domain finds it however it is wrapped), one repair, and a decision.
//!
//! Messages wait in a table of their own, sealed one by one. A chunk's notes and the states of its messages
//! are one commit, which is a conflict where one of them waits no longer: that alone keeps a message from
//! being noted twice. A claim on an agent's messages, with a number that each further claim raises, only
//! saves money: whoever has lost it stops before the next chunk. It is let go of on a stop, and lapses where
//! a process died.
//!
//! Where no model is configured, the agent reads what waits itself, in whatever program it lives (`own.rs`): a part
//! is shown, and what it notes of it comes back with the part's code, so that nothing counts as read that was not
//! shown.
//!
//! What agents are due is found as for sessions: `reflect_after` stands on the agent's row, `due_at` beside
//! its messages. A message whose words, size, time or identifier were changed does not open, and then none of
//! the agent's is read; one that was marked as read by somebody else is never missed.

mod absorb;
mod own;
mod reflect;
mod schedule;

pub use absorb::{AbsorbProgress, Absorbed, HandedMessage, HandedOver, TranscriptView};
pub use own::{NotedPart, UnreadPart};
pub use reflect::Reflected;
pub use schedule::{Job, JobOutcome, LifeSchedule};

/// The provider whose models follow rules and understand no words.
pub(crate) const RULES_ONLY: &str = "builtin";
