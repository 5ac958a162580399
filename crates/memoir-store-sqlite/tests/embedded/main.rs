//! The embedded store from outside.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests fail the test"
)]

mod common;
mod concurrency;
mod conformance;
mod crash;
mod damage;
mod file;
mod form;
mod full;
mod leaves;
mod shredding;
