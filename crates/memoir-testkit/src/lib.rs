//! What the tests of Memoir share: scripted models, in process and behind HTTP.
//!
//! For tests only. Records everything it is sent, prompts included, so that a test can compare exactly
//! what a model reads.
//!
//! `tests/architecture.rs` holds the direction of dependencies between the crates.

mod model;
mod server;
mod step;

pub use model::{ModelScript, Turn};
pub use server::{Received, ScriptedServer};
pub use step::{Answer, Step};
