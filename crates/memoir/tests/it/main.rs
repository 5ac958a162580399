//! Whole transcripts: the real binary, in a home of its own.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod access;
mod archives;
mod audit;
mod backup;
mod bench;
mod closed;
mod commands;
mod configuration;
mod demo;
mod doubles;
mod failures;
mod faults;
mod files;
mod fixtures;
mod fleet;
mod following;
mod gone;
mod handling;
mod history;
mod hooks;
mod keys;
mod living;
mod moving;
mod output;
mod plugins;
mod postgres;
mod rewind;
mod serving;
mod sessions;
mod setup;
mod stats;
mod typed;
mod typing;
mod users;
mod watching;
