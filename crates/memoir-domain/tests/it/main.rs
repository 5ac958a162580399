//! The rules of SPEC sections 3 and 4 as whoever calls the domain meets them: a small world in memory
//! applies its decisions as a store does.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod access;
mod adopt;
mod attack;
mod authoring;
mod breaker;
mod carried;
mod checks;
mod duplicates;
mod edits;
mod ends;
mod history;
mod honest;
mod keeping;
mod labels;
mod life;
mod manage;
mod prompt;
mod properties;
mod recall;
mod replay;
mod rewind;
mod schedule;
mod shred;
mod survey;
mod tightening;
mod time_machine;
mod undo;
mod world;
