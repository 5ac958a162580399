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

    /// Adds the unwritten counts to `sessions`, which are about to be written; `None` where there are none.
    pub(crate) fn count_into(&self, sessions: &mut [Session]) -> Option<CountedRefusals> {
        let mut waiting = self.waiting();
        let mut counts = Vec::new();
        for session in sessions {
            if let Some(count) = waiting.remove(&session.id) {
                session.refused_calls = session.refused_calls.saturating_add(count);
                counts.push((session.id, count));
            }
        }
        // Released before the result is made, whose dropping takes it again.
        drop(waiting);
        if counts.is_empty() {
            return None;
        }
        let refusals = self.clone();
        Some(CountedRefusals { refusals, counts })
    }
}

/// The counts added to sessions that are being written. They are restored when this is dropped, unless they are kept.
pub(crate) struct CountedRefusals {
    refusals: Refusals,
    counts: Vec<(SessionId, u32)>,
}

impl CountedRefusals {
    /// They were written.
    pub(crate) fn keep(mut self) {
        self.counts.clear();
    }
}

impl Drop for CountedRefusals {
    fn drop(&mut self) {
        if self.counts.is_empty() {
            return;
        }
        let mut waiting = self.refusals.waiting();
        for (session, count) in self.counts.drain(..) {
            let waits = waiting.entry(session).or_default();
            *waits = waits.saturating_add(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_are_not_written_are_restored_and_nothing_to_count_does_not_block() {
        let refusals = Refusals::default();
        assert!(refusals.count_into(&mut []).is_none());
        let id = SessionId::from_bytes([1; 16]);
        refusals.note(id);
        drop(CountedRefusals {
            refusals: refusals.clone(),
            counts: vec![(id, 2)],
        });
        assert_eq!(refusals.of(id), 3);
        let written = CountedRefusals {
            refusals: refusals.clone(),
            counts: vec![(id, 4)],
        };
        written.keep();
        assert_eq!(refusals.of(id), 3);
    }
}
