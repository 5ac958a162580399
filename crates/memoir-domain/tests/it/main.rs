//! The rules of SPEC sections 2 to 4 as a caller of the domain meets them: a small world in memory applies its
//! decisions as a store does.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod access;
mod adopt;
mod age_rule;
mod all_memories;
mod archive;
mod attack;
mod authoring;
mod breaker;
mod changes;
mod checks;
mod context;
mod duplicates;
mod edits;
mod ends;
mod history;
mod keeping;
mod labels;
mod life;
mod manage;
mod mend;
mod probes;
mod prompt;
mod properties;
mod recall;
mod replay;
mod rewind;
mod schedule;
mod settings;
mod shred;
mod time_machine;
mod traces;
mod undo;
mod values;
mod world;
