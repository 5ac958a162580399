//! Failures that are Memoir's own: each is logged, always, under an identifier that the answer carries, so
//! that whoever runs the service finds what went wrong. No agent's words are in either.

use std::fmt;

use serde::{Serialize, Serializer};
use uuid::Uuid;

use crate::{Error, clock};

/// The target of the events that tell of such failures. Whatever is asked to be logged, these are.
pub const TARGET: &str = "memoir::fault";

/// Names one failure, in the log and in the answer; shown as `urn:uuid:…`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultId(Uuid);

impl FaultId {
    /// Logs a failure, and gives what it is named by; `None` for a refusal, and for what passes by itself. That the
    /// database cannot be reached passes too, but where it was looked for only the log says.
    pub fn of(error: &Error) -> Option<Self> {
        let code = error.code();
        let is_own = matches!(
            code,
            "internal" | "tampered" | "key_unavailable" | "disk_full" | "read_only"
        );
        (is_own || error.is_unreachable()).then(|| {
            let id = Self(clock::fault());
            tracing::error!(target: TARGET, fault = %id, code, %error, "not carried out");
            id
        })
    }

    /// Logs that a piece of work panicked or was broken off. What it says itself may be an agent's words, and
    /// is not logged; where it was is told on standard error.
    pub fn of_panic(what: &'static str) -> Self {
        let id = Self(clock::fault());
        tracing::error!(target: TARGET, fault = %id, what, "broke off");
        id
    }
}

impl Serialize for FaultId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for FaultId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.urn().fmt(formatter)
    }
}
