//! What the tests of Memoir share: a clock that they move, scripted models, in process and behind HTTP, agents with
//! their tokens, and a PostgreSQL of their own.
//!
//! For tests only. Records everything it is sent, prompts included, so that a test can compare exactly
//! what a model reads.
//!
//! `tests/architecture.rs` holds the direction of dependencies between the crates.

mod clock;
mod model;
mod models;
#[cfg(unix)]
mod postgres;
mod server;
mod step;
mod tenant;

pub use clock::TestClock;
pub use model::{ModelScript, Turn};
pub use models::SetModel;
#[cfg(unix)]
pub use postgres::{Postgres, next_migrations};
pub use server::{ReceivedRequest, ScriptedServer};
pub use step::{ModelAnswer, ServerStep};
pub use tenant::{Tenant, account, administrator, administrator_token, customer, tenant};
