//! Watching sessions from outside: streams of events, and webhooks.
#![expect(
    clippy::unwrap_used,
    unreachable_pub,
    reason = "helpers of tests fail the test"
)]

#[path = "../service/events.rs"]
mod events;
mod installation;
mod live;
mod receiver;
#[path = "../service/mod.rs"]
mod service;
mod webhooks;
