//! Internal failures: each is always logged, under an identifier that the response contains, so that the administrator
//! finds the cause. Neither holds an agent's text.

use serde::Serialize;
use uuid::Uuid;

use crate::core::{Error, clock};

/// The target of the events of such failures. They are logged under every log filter.
pub const TARGET: &str = "memoir::fault";

/// Identifies one failure, in the log and in the response; shown as `urn:uuid:…`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, derive_more::Display, Serialize)]
#[display("{}", _0.urn())]
pub struct FaultId(#[serde(with = "uuid::serde::urn")] Uuid);

impl FaultId {
    /// Logs a failure, and returns its identifier; `None` for a refusal, and for a transient failure. An unreachable
    /// database is transient too, but only the log has its address.
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

    /// Logs that a task panicked or was cancelled. Its message may hold an agent's text and is not logged; its place is
    /// printed to standard error.
    pub fn of_panic(what: &'static str) -> Self {
        let id = Self(clock::fault());
        tracing::error!(target: TARGET, fault = %id, what, "broke off");
        id
    }
}
