//! Whole stories through the use cases, on a real store, with scripted models.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    unreachable_pub,
    reason = "helpers of tests fail the test, and a killed child reports how far it came"
)]

mod access;
mod access_requests;
mod account_log;
mod ahead;
mod archiving;
mod authoring;
mod carrying;
mod connecting;
mod context;
mod counting;
mod crashing;
mod documents;
mod driving;
mod embedding;
mod erasing;
mod importing;
mod in_use;
mod installation;
mod key_files;
mod leases;
mod life;
mod lost_answers;
mod network;
mod own;
mod privacy;
mod probing;
mod queue;
mod quotas;
mod reaching;
mod recalling;
mod rehearsing;
mod rehearsing_alone;
mod repeating;
mod replacing;
mod round_trips;
mod schedule;
mod sealing;
mod sending;
mod stats;
mod stored_index;
mod story;
mod tampering;
mod time_machine;
mod tuned;
mod undoing;
mod users;
mod verifying;
