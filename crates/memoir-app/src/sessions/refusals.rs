//! Refused calls that are not written yet. A refusal changes nothing and costs no write of its own: it is counted here,
//! and written with the next write of its session, at the latest its end. A crash loses the unwritten ones.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use memoir_domain::{SessionId, session::Session};

/// Most sessions with unwritten refusals: those that another process ended are never requested again.
const LIMIT: usize = 4_096;

/// The number of unwritten refused calls by session.
#[derive(Clone, Default)]
pub(crate) struct Refusals(Arc<Mutex<HashMap<SessionId, u32>>>);

impl Refusals {
    fn waiting(&self) -> MutexGuard<'_, HashMap<SessionId, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call of the session was refused.
    pub(crate) fn note(&self, session: SessionId) {
        let mut waiting = self.waiting();
        if waiting.len() >= LIMIT && !waiting.contains_key(&session) {
            // Which of these sessions ended elsewhere is unknown. No decision depends on the counts, so all of them may
            // be dropped.
            waiting.clear();
        }
        let count = waiting.entry(session).or_default();
        *count = count.saturating_add(1);
    }

    /// The unwritten ones of the session.
    pub(crate) fn of(&self, session: SessionId) -> u32 {
        self.waiting().get(&session).copied().unwrap_or(0)
    }

    /// Adds the unwritten counts to `sessions`, which are about to be written.
    pub(crate) fn count_into(&self, sessions: &mut [Session]) -> CountedRefusals {
        let mut waiting = self.waiting();
        let mut counted = Vec::new();
        for session in sessions {
            if let Some(count) = waiting.remove(&session.id) {
                session.refused_calls = session.refused_calls.saturating_add(count);
                counted.push((session.id, count));
            }
        }
        CountedRefusals(counted)
    }

    /// They were not written after all.
    pub(crate) fn restore(&self, counted: CountedRefusals) {
        let mut waiting = self.waiting();
        for (session, count) in counted.0 {
            let waits = waiting.entry(session).or_default();
            *waits = waits.saturating_add(count);
        }
    }
}

/// The counts added to sessions that are being written.
pub(crate) struct CountedRefusals(Vec<(SessionId, u32)>);
