//! The service under clients that repeat themselves, lie, dawdle, break off and pry.
#![expect(
    clippy::unwrap_used,
    unreachable_pub,
    reason = "helpers of tests fail the test"
)]

mod canary;
mod client;
mod installation;
mod keys;
#[path = "../service/log.rs"]
mod log;
mod queue;
mod raw;
#[path = "../service/mod.rs"]
mod service;
mod sign_in;
