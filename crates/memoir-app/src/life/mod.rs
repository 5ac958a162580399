//! The life of an agent between sessions: reflection on its journal, and notes of conversations (SPEC 2.5, 2.6).
//!
//! Reflection and absorption are questions, not sessions: one prompt, one JSON response (`answer.rs` of the domain
//! finds it however it is wrapped), one repair, and a decision.
//!
//! Messages wait in a table of their own, sealed one by one. A chunk's notes and the states of its messages are one
//! commit, which conflicts where one of them no longer waits: that alone prevents double notes. A lease on an agent's
//! messages, with a number that each further lease raises, only saves money: a reader that lost it stops before the
//! next chunk. It is released on a stop, and expires where a process died.
//!
//! Where no model is configured, the agent reads the messages itself, in its own program (`own.rs`). It is shown a
//! part, and returns its notes with the part's code, so that only shown messages count as read.
//!
//! Due agents are found as for sessions: `reflect_after` is on the agent's row, `due_at` beside its messages. A message
//! with changed text, size, time or identifier does not open, and then none of the agent's is read. One that was
//! wrongly marked as read is not detected.

mod absorb;
pub(crate) mod notices;
mod own;
mod reflect;
mod schedule;

use crate::core::agent_part;

pub use absorb::{
    Absorbed, HandedMessage, HandedOver, MESSAGES_LIMIT, TranscriptView, check_message_count,
};
pub use own::{NotedPart, UnreadPart};
pub use reflect::Reflected;
pub use schedule::{Job, JobOutcome, LifeSchedule};

agent_part! {
    /// What happens to one agent between sessions: conversations, reflection and due work.
    Life, life
}
