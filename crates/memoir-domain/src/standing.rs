//! Which records of a log are in force: what was taken back, and what a rewind gave back (SPEC 4.3).
//!
//! A rollback or an undo takes records back; a rewind takes back all that came after a point, what these had
//! taken back included. So undoing an undo is rewinding to before it.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    SessionId, Timestamp,
    audit::{Action, Record, TAKEN_BACK, TO_SEQ},
};

/// The places in the log of the records in force after the records given so far, oldest first.
///
/// A rollback and an undo take back the records that they name. A rewind takes back all records since
/// the point that it goes back to, and with them whatever these had taken back is in force again: a
/// session that was undone, or all that an earlier rewind took back. The three themselves are in force
/// until they are taken back in turn.
///
/// The records may begin anywhere in the log, as long as they have no gaps: which ones of the part given
/// are in force does not depend on what came before. Which sessions are undone does, and needs the
/// whole log.
#[derive(Debug, Clone, Default)]
pub struct RecordsInForce {
    in_force: BTreeSet<u64>,
    steps: Vec<Step>,
    sessions: Sessions,
}

/// What one record changed about which records are in force.
#[derive(Debug, Clone, Default)]
struct Step {
    seq: u64,
    taken_back: Vec<u64>,
    given_back: Vec<u64>,
}

/// What tells whether a session is undone.
#[derive(Debug, Clone, Default)]
struct Sessions {
    edits: BTreeMap<u64, SessionId>,
    undos: BTreeMap<u64, SessionId>,
    rolled_back: BTreeSet<SessionId>,
    undone: BTreeMap<SessionId, Timestamp>,
}

impl RecordsInForce {
    /// Of these records, oldest first.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut standing = Self::default();
        for record in records {
            standing.apply(record);
        }
        standing
    }

    /// Adds the next record.
    pub fn apply(&mut self, record: &Record) {
        let mut step = match record.action {
            Action::AgentRewound => self.rewind(record),
            Action::MemoryRefinementRollback => self.take_back(record),
            Action::SessionUndone => {
                self.sessions.note_undo(record);
                self.take_back(record)
            }
            _ => Step::default(),
        };
        self.sessions.note_edit_and_end(record);
        step.seq = record.seq;
        step.given_back.push(record.seq);
        self.in_force.insert(record.seq);
        self.steps.push(step);
    }

    fn take_back(&mut self, record: &Record) -> Step {
        let named = record.facts.places_of(TAKEN_BACK);
        Step {
            taken_back: named.filter(|seq| self.in_force.remove(seq)).collect(),
            ..Step::default()
        }
    }

    fn rewind(&mut self, record: &Record) -> Step {
        let before = self.in_force.clone();
        let to_seq = record.facts.count_of(TO_SEQ).unwrap_or(record.seq);
        let since = self.steps.partition_point(|step| step.seq <= to_seq);
        // Newest first: a record can be taken back, given back and taken back again.
        for step in self.steps[since..].iter().rev() {
            for seq in &step.given_back {
                self.in_force.remove(seq);
            }
            self.in_force.extend(&step.taken_back);
        }
        self.sessions
            .note_rewind(&before, &self.in_force, record.recorded_at);
        Step {
            seq: record.seq,
            taken_back: before.difference(&self.in_force).copied().collect(),
            given_back: self.in_force.difference(&before).copied().collect(),
        }
    }

    /// Whether the record at that place is in force.
    pub fn is_in_force(&self, seq: u64) -> bool {
        self.in_force.contains(&seq)
    }

    /// The places of all records in force.
    pub fn in_force(&self) -> &BTreeSet<u64> {
        &self.in_force
    }

    /// The sessions that are undone, and since when: those that an undo in force names, and those of
    /// whose edits a rewind left none in force. A session that was rolled back while it ran is not
    /// undone.
    pub fn undone(&self) -> &BTreeMap<SessionId, Timestamp> {
        &self.sessions.undone
    }
}

impl Sessions {
    fn note_edit_and_end(&mut self, record: &Record) {
        let Some(session) = record.session else {
            return;
        };
        if record.action.is_session_edit() {
            self.edits.insert(record.seq, session);
        } else if record.action == Action::MemoryRefinementRollback {
            self.rolled_back.insert(session);
        }
    }

    fn note_undo(&mut self, record: &Record) {
        let named = record.facts.places_of(TAKEN_BACK);
        let with_it = named.filter_map(|seq| self.edits.get(&seq).copied());
        for session in with_it.chain(record.session) {
            self.undone.insert(session, record.recorded_at);
        }
        if let Some(session) = record.session {
            self.undos.insert(record.seq, session);
        }
    }

    /// A session whose standing stays what it was keeps its date.
    fn note_rewind(&mut self, before: &BTreeSet<u64>, after: &BTreeSet<u64>, now: Timestamp) {
        let (was, is) = (self.without_edits(before), self.without_edits(after));
        for session in was.difference(&is) {
            self.undone.remove(session);
        }
        for session in is.difference(&was) {
            self.undone.insert(*session, now);
        }
    }

    /// The sessions with an undo in force, or with edits of which none is.
    fn without_edits(&self, in_force: &BTreeSet<u64>) -> BTreeSet<SessionId> {
        let of = |records: &BTreeMap<u64, SessionId>| -> BTreeSet<SessionId> {
            let standing = records.iter().filter(|(seq, _)| in_force.contains(seq));
            standing.map(|(_, session)| *session).collect()
        };
        let (with_edits, with_undo) = (of(&self.edits), of(&self.undos));
        let bare = |session: &&SessionId| {
            !with_edits.contains(session) && !self.rolled_back.contains(session)
        };
        let edited: BTreeSet<SessionId> = self.edits.values().copied().collect();
        edited
            .iter()
            .filter(bare)
            .copied()
            .chain(with_undo)
            .collect()
    }
}
