//! What every use case stands on: the installation, reading one agent, deciding, and committing.
//!
//! Owns the path load → decide → commit, the form of stored rows, the keys, the clock, limits and errors. It imports no
//! other module of this crate. A module keeps its own state in [`ModuleStates`], and follows commits as a
//! [`CommitListener`].

pub(crate) mod account_turns;
pub(crate) mod accounts;
mod agent;
pub(crate) mod cache;
pub mod clock;
pub(crate) mod codec;
pub(crate) mod commit;
pub(crate) mod cut_off;
pub(crate) mod error;
pub(crate) mod fault;
mod installation;
pub(crate) mod keys;
pub(crate) mod load_room;
pub(crate) mod model_question;
pub(crate) mod opened;
pub(crate) mod parallel;
pub(crate) mod quotas;
pub(crate) mod rehearsal;
pub(crate) mod replies;
pub(crate) mod retry;
pub(crate) mod settings;
pub(crate) mod spans;
mod state;
pub(crate) mod together;
pub(crate) mod tuned;

use std::time::Duration;

pub use agent::{Account, AgentHandle};
pub(crate) use agent::{Condition, Loaded, agent_part, check_counts, check_due, check_messages};
pub(crate) use commit::{AfterCommit, CommitCounts, CommitListener};
pub(crate) use error::{Error, Result};
pub use installation::{Memoir, Models};
pub(crate) use state::ModuleStates;

/// The attempts at a decision while other writers are faster.
// Each loss means that another decision on the same agent was written, so there was progress. So many in a row occur
// only where dozens write to one agent simultaneously; the caller then gets `Contended` instead of no response.
pub(crate) const ATTEMPTS: usize = 32;

/// The attempts that follow each other at once.
const QUICK_ATTEMPTS: usize = 8;
/// The longest wait before an attempt, as a power of two of milliseconds.
const LONGEST_WAIT_BITS: usize = 7;

/// Loads, decides and commits, or reads a consistent state. Repeats everything, from the loading on, if the attempt
/// returns [`memoir_store::Error::Conflict`] because another process wrote meanwhile. In the end it is
/// [`Error::Contended`].
pub(crate) async fn again<T, Attempt: Future<Output = Result<T>>>(
    attempt: impl Fn() -> Attempt,
) -> Result<T> {
    for lost in 0..ATTEMPTS {
        match attempt().await {
            Err(Error::Store(memoir_store::Error::Conflict)) => {}
            done => return done,
        }
        // A long attempt beside a steady stream of short ones would otherwise lose each time.
        if let Some(waits) = lost.checked_sub(QUICK_ATTEMPTS) {
            tokio::time::sleep(Duration::from_millis(1 << waits.min(LONGEST_WAIT_BITS))).await;
        }
    }
    Err(Error::Contended)
}

/// A concurrent write, for [`again`].
pub(crate) const CONFLICT: Error = Error::Store(memoir_store::Error::Conflict);
