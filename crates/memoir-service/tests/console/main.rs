//! The console, as a browser without scripts meets it.

#![expect(
    clippy::unwrap_used,
    unreachable_pub,
    reason = "helpers of tests fail the test"
)]

mod access;
mod agents;
mod assets;
mod document;
mod forms;
mod house;
mod live;
mod nothing;
mod pages;
mod rehearsals;
mod plots;
mod settings;
mod signing_in;
mod time_machine;
