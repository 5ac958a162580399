//! An agent outside of its sessions: absorption, reflection, its own prompts, adoption (SPEC 2.5 to 2.7, 4.1).
//! What an administrator or a client changes is not here, but in `change`.

pub mod absorption;
pub mod adopt;
pub mod authoring;
pub mod reflection;
