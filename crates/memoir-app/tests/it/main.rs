//! Whole stories through the use cases, on a real store, with scripted models.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    unreachable_pub,
    reason = "helpers of tests fail the test, and a child that is killed tells how far it came"
)]

mod crashing;
mod driving;
mod leases;
mod privacy;
mod rehearsing;
mod sending;
mod undoing;
mod world;
