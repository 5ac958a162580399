//! How the state of open sessions follows the commits of this process.

use std::{pin::Pin, sync::Arc, time::Instant};

use memoir_domain::{AgentScope, draft::Decision};

use super::{
    Recent, Unwritten,
    recent::{KnownSession, open_in},
};
use crate::core::{AfterCommit, AgentHandle, CommitListener, Result};

impl CommitListener for Unwritten {
    fn prepare(
        self: Arc<Self>,
        _agent: &AgentHandle,
        decision: &mut Decision,
    ) -> Option<AfterCommit> {
        // Taken before the rows are made, so that of two simultaneous decisions only one counts them. Where the
        // decision is not written, they are restored when this is dropped; also where the outcome is not known, or
        // the commit is cancelled while the store still writes it: counting twice is acceptable, since no decision uses
        // the count.
        let counted = self.count_into(&mut decision.sessions)?;
        Some(Box::new(move |_| counted.keep()))
    }
}

impl CommitListener for Recent {
    fn prepare(
        self: Arc<Self>,
        _agent: &AgentHandle,
        decision: &mut Decision,
    ) -> Option<AfterCommit> {
        let open = open_in(decision);
        Some(Box::new(move |committed| {
            // With its resulting base: a call based on this writes under exactly that version, and is refused if
            // another process wrote since.
            match open {
                Some((agent, session)) => {
                    let known = KnownSession::new(committed.next.clone(), agent, session);
                    self.put(committed.scope, known);
                }
                // The session ended, or another change made what was read in it outdated. A call in progress has it,
                // and puts it back.
                None => self.forget_memories(committed.scope),
            }
        }))
    }

    fn forget_agent(&self, scope: AgentScope) {
        self.forget(scope);
    }

    fn forget_unused(&self, since: Instant) {
        Self::forget_unused(self, since);
    }
}

/// Closes an open session whose lease has lapsed, where it conflicts with a decision.
pub(super) struct LapsedSessions;

impl CommitListener for LapsedSessions {
    fn session_conflict<'a>(
        &'a self,
        agent: &'a AgentHandle,
    ) -> Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>> {
        Box::pin(async move { agent.sessions().close_if_lapsed().await.map(|_| ()) })
    }
}
