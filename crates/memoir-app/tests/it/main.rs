//! Whole stories through the use cases, on a real store, with scripted models.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    unreachable_pub,
    reason = "helpers of tests fail the test, and a child that is killed tells how far it came"
)]

mod access;
mod carrying;
mod crashing;
mod driving;
mod erasing;
mod key_files;
mod lab;
mod leases;
mod own;
mod privacy;
mod queue;
mod rehearsing;
mod sealing;
mod sending;
mod story;
mod tampering;
mod time_machine;
mod undoing;
mod world;
