//! The audit log of an agent: reading, verifying and summing it up, checkpoints, archives, rewinding and erasing.
//!
//! Owns what is proved from records. Records are made by the domain, and written by the core.

pub(crate) mod archive;
pub(crate) mod audit;
pub(crate) mod checkpoint;
pub(crate) mod doctor;
pub(crate) mod erase;
pub(crate) mod export;
pub(crate) mod finish;
pub(crate) mod fleet;
pub(crate) mod history;
pub(crate) mod look_back;
pub(crate) mod probe;
pub(crate) mod rewind;
pub(crate) mod stats;
pub(crate) mod verify;
pub(crate) mod verify_run;

use std::sync::Arc;

use crate::core::{ModuleStates, agent_part, parallel::ConcurrencyLimit};

/// The large work of this module that a process does at a time.
pub(crate) struct Limits {
    /// Replays of a whole log, for a rewind or a look back, and logs since a session, for its undo.
    pub(crate) whole_pasts: ConcurrencyLimit,
    /// Verifications, and checkpoints by requests, which load the whole log over all heads.
    pub(crate) verifications: ConcurrencyLimit,
}

pub(crate) fn enter(states: ModuleStates) -> ModuleStates {
    let limits = Limits {
        whole_pasts: ConcurrencyLimit::new(rewind::AT_ONCE),
        verifications: ConcurrencyLimit::new(verify::AT_ONCE),
    };
    states
        .with(Arc::new(limits))
        .with(Arc::<verify_run::VerificationRuns>::default())
}

agent_part! {
    /// The audit log of one agent.
    AgentLog, log
}
