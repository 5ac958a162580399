//! The console, as a browser without scripts meets it.

#![expect(
    clippy::unwrap_used,
    unreachable_pub,
    reason = "helpers of tests fail the test"
)]

mod access;
mod account;
mod activity;
mod agents;
mod archive;
mod assets;
mod connect;
mod document;
#[path = "../service/events.rs"]
mod events;
mod first;
mod forms;
mod installation;
mod live;
#[path = "../service/log.rs"]
mod log;
mod nothing;
mod own;
mod own_acts;
mod pages;
mod plots;
mod rehearsals;
mod second_factor;
#[path = "../service/mod.rs"]
mod service;
mod settings;
mod signing_in;
mod standing;
mod time_machine;
