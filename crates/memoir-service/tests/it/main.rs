//! The service over real HTTP.
#![expect(
    clippy::unwrap_used,
    unreachable_pub,
    reason = "helpers of tests fail the test"
)]

mod access;
mod agents;
mod cursors;
mod documented;
mod finishing;
mod installation;
mod life;
mod matrix;
mod memories;
mod metrics;
mod schedule;
#[path = "../service/mod.rs"]
mod service;
mod sessions;
mod settings;
mod tokens;
mod traces;
