//! An agent's life between its sessions: what it keeps of its journal, and what it notes of conversations
//! (SPEC 2.5, 2.6).

mod absorb;
mod question;
mod reflect;
mod schedule;

pub use absorb::{AbsorbProgress, Absorbed, HandedMessage, HandedOver, TranscriptView};
pub use reflect::Reflected;
pub use schedule::{Job, LifeSchedule, Lived};

/// The provider whose models follow rules and understand no words.
pub(crate) const RULES_ONLY: &str = "builtin";
