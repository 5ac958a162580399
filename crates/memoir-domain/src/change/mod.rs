//! Changes of an agent and its memories, with their records: saves, replacements, settings, imports (SPEC 2.2, 2.4).
//! The edits of a session are not here, but in `session`; only the rules that they share with saves are.

pub mod age_rule;
pub mod draft;
pub mod import;
pub mod manage;
pub mod memories;
pub mod replace;
