//! The console, as a browser without scripts meets it.

#![expect(
    clippy::unwrap_used,
    unreachable_pub,
    reason = "helpers of tests fail the test"
)]

mod document;
mod forms;
mod house;
mod pages;
mod signing_in;
