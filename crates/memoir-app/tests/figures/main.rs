//! The memory of an agent after months of refinement: hostile and honest models over the real loop, on a real store,
//! with scripted models. The tables are in `docs/hostile-models.md`; a test fails where the page has other figures.
//! After an intended change: `ARCHIVE=overwrite cargo test -p memoir-app --test figures`.
//!
//! `FIGURES=full` plays every character with both agents under every guard; it takes minutes.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    unreachable_pub,
    reason = "helpers of tests fail the test, and a figure is printed"
)]

mod agents;
mod careful;
mod characters;
mod honest;

#[path = "../use_cases/installation.rs"]
#[expect(dead_code, reason = "shared with the other tests of this crate")]
mod installation;
mod page;
mod turning;
mod years;
