//! The tests of the store on PostgreSQL, on a server that they start themselves.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "tests fail by panicking, and say what they skip"
)]

#[macro_use]
mod common;
mod conformance;
mod form;
mod group_commit;
mod keys;
mod lost;
mod next;
mod pooled;
mod rows;
mod walls;
