//! Counts of running sessions that are not written yet: refused calls, and the usage of model calls. Neither changes a
//! memory or costs a write of its own: they are counted here, shown with the session, and written with its next write,
//! at the latest its end. A crash loses the unwritten ones.

use std::{collections::HashMap, sync::Arc};

use memoir_domain::{
    SessionId,
    session::{Session, Usage},
};
use parking_lot::Mutex;

/// Most sessions with unwritten counts: those that another process ended are never requested again.
const LIMIT: usize = 4_096;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct UnwrittenCounts {
    /// Refused calls since the last write.
    refused_calls: u32,
    /// The usage of all model calls so far, the written ones included; nothing where no call was counted here.
    usage: Usage,
}

impl UnwrittenCounts {
    /// Adds them to the session as written.
    pub(super) fn add_to(self, session: &mut Session) {
        session.refused_calls = session.refused_calls.saturating_add(self.refused_calls);
        session.usage = later(session.usage, self.usage);
    }
}

/// The usage after more calls.
fn later(one: Usage, other: Usage) -> Usage {
    if other.calls > one.calls { other } else { one }
}

#[derive(Clone, Default)]
pub(crate) struct Unwritten(Arc<Mutex<HashMap<SessionId, UnwrittenCounts>>>);

impl Unwritten {
    fn note(&self, session: SessionId, note: impl FnOnce(&mut UnwrittenCounts)) {
        let mut waiting = self.0.lock();
        if waiting.len() >= LIMIT && !waiting.contains_key(&session) {
            // Which of these sessions ended elsewhere is unknown. No decision uses the counts, so all may be dropped.
            waiting.clear();
        }
        note(waiting.entry(session).or_default());
    }

    pub(crate) fn note_refusal(&self, session: SessionId) {
        self.note(session, |counts| {
            counts.refused_calls = counts.refused_calls.saturating_add(1);
        });
    }

    /// The usage of the session's model calls so far.
    pub(crate) fn note_usage(&self, session: SessionId, usage: Usage) {
        self.note(session, |counts| counts.usage = later(counts.usage, usage));
    }

    pub(crate) fn of(&self, session: SessionId) -> UnwrittenCounts {
        self.0.lock().get(&session).copied().unwrap_or_default()
    }

    /// The session with its unwritten counts. What another process wrote last of an ended session stands.
    pub(crate) fn added_to(&self, mut session: Session) -> Session {
        if session.state.is_running() {
            self.of(session.id).add_to(&mut session);
        }
        session
    }

    /// Adds the unwritten counts to `sessions`, which are about to be written; `None` where there are none.
    pub(crate) fn count_into(&self, sessions: &mut [Session]) -> Option<CountedWrites> {
        let mut waiting = self.0.lock();
        let mut counted = Vec::new();
        for session in sessions {
            if let Some(counts) = waiting.remove(&session.id) {
                counts.add_to(session);
                counted.push((session.id, counts));
            }
        }
        // Released before the result is made, whose dropping takes it again.
        drop(waiting);
        if counted.is_empty() {
            return None;
        }
        let unwritten = self.clone();
        Some(CountedWrites { unwritten, counted })
    }
}

/// The counts added to sessions that are being written. They are restored when this is dropped, unless they are kept.
pub(crate) struct CountedWrites {
    unwritten: Unwritten,
    counted: Vec<(SessionId, UnwrittenCounts)>,
}

impl CountedWrites {
    pub(crate) fn keep(mut self) {
        self.counted.clear();
    }
}

impl Drop for CountedWrites {
    fn drop(&mut self) {
        if self.counted.is_empty() {
            return;
        }
        let mut waiting = self.unwritten.0.lock();
        for (session, counts) in self.counted.drain(..) {
            let waits = waiting.entry(session).or_default();
            waits.refused_calls = waits.refused_calls.saturating_add(counts.refused_calls);
            waits.usage = later(waits.usage, counts.usage);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_are_not_written_are_restored_and_nothing_to_count_does_not_block() {
        let unwritten = Unwritten::default();
        assert!(unwritten.count_into(&mut []).is_none());
        let id = SessionId::from_bytes([1; 16]);
        let usage = |calls| Usage {
            calls,
            ..Usage::default()
        };
        let counts = |refused_calls, calls| UnwrittenCounts {
            refused_calls,
            usage: usage(calls),
        };
        unwritten.note_refusal(id);
        unwritten.note_usage(id, usage(3));
        drop(CountedWrites {
            unwritten: unwritten.clone(),
            counted: vec![(id, counts(2, 2))],
        });
        assert_eq!(unwritten.of(id), counts(3, 3));
        let written = CountedWrites {
            unwritten: unwritten.clone(),
            counted: vec![(id, counts(4, 9))],
        };
        written.keep();
        assert_eq!(unwritten.of(id), counts(3, 3));
    }
}
