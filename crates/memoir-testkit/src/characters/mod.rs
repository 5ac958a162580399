//! Characters that try to destroy a memory by the tools of a session.

mod cast;
mod mind;

pub use cast::Character;
pub use mind::{Mind, Row, Score};
