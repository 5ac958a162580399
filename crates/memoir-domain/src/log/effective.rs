//! Which records of a log are effective: which ones were undone, and which a rewind reinstated (SPEC 4.3).
//!
//! A rollback or an undo reverses records. A rewind reverses all records after a point, reversals included. So a rewind
//! to before an undo undoes the undo.
//!
//! Its memory use is small: a single effective record takes none, and each stretch of reversed records takes one entry,
//! as does each stretch of one session's edits. So a log of any length can be followed record by record, and the
//! relevant part ([`EffectEvent`]) can be kept by itself.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    ids::SessionId,
    log::audit::{Action, Record, TO_SEQ, UNDONE},
    time::Timestamp,
};

/// The part of a record that decides which records are effective, and which sessions are undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectEvent {
    /// The record's place in the log.
    pub seq: u64,
    /// Its session.
    pub session: Option<SessionId>,
    /// What it does.
    pub kind: EffectKind,
}

/// The effect of a record on which records are effective.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EffectKind {
    /// It is an edit of its session.
    Edit,
    /// It rolls its session back, and reverses these records.
    RolledBack(Vec<u64>),
    /// It undoes its session, and reverses these records.
    Undone(Timestamp, Vec<u64>),
    /// It rewinds to after the record at this place.
    Rewound(Timestamp, u64),
}

impl EffectEvent {
    /// The event of a record; `None` where it reverses nothing and is no edit, as most.
    pub fn of(record: &Record) -> Option<Self> {
        let named = || record.facts.places_of(UNDONE).collect();
        let kind = match record.action {
            Action::AgentRewound => {
                // Without the fact it reverses nothing; verifying then finds that the memories differ.
                let to_seq = record.facts.count_of(TO_SEQ).unwrap_or(record.seq);
                EffectKind::Rewound(record.recorded_at, to_seq)
            }
            Action::MemoryRefinementRollback => EffectKind::RolledBack(named()),
            Action::SessionUndone => EffectKind::Undone(record.recorded_at, named()),
            action if action.is_session_edit() => EffectKind::Edit,
            _ => return None,
        };
        Some(Self {
            seq: record.seq,
            session: record.session,
            kind,
        })
    }
}

/// The places in the log of the effective records, after the records given so far.
///
/// A rollback and an undo reverse the records that they name. A rewind reverses all records since its point, and
/// reinstates the records that these had reversed: an undone session, or everything that an earlier rewind reversed.
/// The three are themselves effective until they are reversed in turn.
///
/// The records may begin anywhere in the log, without gaps: earlier records do not change which of the given ones are
/// effective. Which sessions are undone does depend on them, and needs the whole log.
#[derive(Debug, Clone, Default)]
pub struct EffectiveRecords {
    /// The places of the first and the last record given.
    span: Option<(u64, u64)>,
    /// The places of the reversed records.
    undone: Stretches,
    /// The records that reversed others, oldest first.
    takings: Vec<Taking>,
    sessions: Sessions,
}

/// A record that reversed others.
#[derive(Debug, Clone)]
struct Taking {
    seq: u64,
    what: Undone,
}

#[derive(Debug, Clone)]
enum Undone {
    Named(Stretches),
    /// All after this place.
    Since(u64),
}

impl EffectiveRecords {
    /// From these records, oldest first.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut effective = Self::default();
        for record in records {
            effective.apply(record);
        }
        effective
    }

    /// Adds the next record.
    pub fn apply(&mut self, record: &Record) {
        if let Some(event) = EffectEvent::of(record) {
            self.apply_event(&event);
        }
        self.extend_to(record.seq);
    }

    /// Adds all records up to this place that have no event of their own.
    pub fn extend_to(&mut self, seq: u64) {
        let (first, last) = self.span.unwrap_or((seq, seq));
        self.span = Some((first, last.max(seq)));
    }

    /// Adds the record of an event. Earlier records without events need not be added one by one.
    pub fn apply_event(&mut self, event: &EffectEvent) {
        match &event.kind {
            EffectKind::Edit => self.sessions.note_edit(event),
            EffectKind::RolledBack(named) => {
                self.sessions.rolled_back.extend(event.session);
                self.undo(event.seq, named);
            }
            EffectKind::Undone(at, named) => {
                self.sessions.note_undo(event, *at, named);
                self.undo(event.seq, named);
            }
            EffectKind::Rewound(at, to_seq) => self.rewind(event.seq, *to_seq, *at),
        }
        self.extend_to(event.seq);
    }

    fn undo(&mut self, seq: u64, named: &[u64]) {
        let mut stretches = Stretches::default();
        // A record reverses only earlier ones; one that was tampered with may name any.
        for &place in named.iter().filter(|place| **place < seq) {
            stretches.add(place, place);
        }
        self.undone.extend(&stretches);
        let what = Undone::Named(stretches);
        self.takings.push(Taking { seq, what });
    }

    fn rewind(&mut self, seq: u64, to_seq: u64, now: Timestamp) {
        // Recomputed from the reversals before the point: later reversals are cancelled, earlier ones remain valid.
        let mut after = self.undone_at(to_seq);
        if to_seq.saturating_add(1) < seq {
            after.add(to_seq + 1, seq - 1);
        }
        self.sessions.note_rewind(&self.undone, &after, now);
        self.undone = after;
        let what = Undone::Since(to_seq);
        self.takings.push(Taking { seq, what });
    }

    /// The records that were reversed right after the record at that place.
    fn undone_at(&self, seq: u64) -> Stretches {
        let mut undone = Stretches::default();
        let mut end = seq;
        for taking in self.takings.iter().rev() {
            // Backwards from the point: a rewind on the way leads further back, and undoes all reversals after its own
            // point.
            if taking.seq > end {
                continue;
            }
            match &taking.what {
                Undone::Named(named) => undone.extend(named),
                // Between the two points, everything is reversed as at the first.
                Undone::Since(to_seq) => {
                    if to_seq.saturating_add(1) < taking.seq {
                        undone.add(to_seq + 1, taking.seq - 1);
                    }
                    end = *to_seq;
                }
            }
        }
        undone
    }

    /// Whether the record at that place is effective.
    pub fn is_effective(&self, seq: u64) -> bool {
        let is_given = self
            .span
            .is_some_and(|(first, last)| first <= seq && seq <= last);
        is_given && !self.undone.hold_all(seq, seq)
    }

    /// The sessions that are undone, and since when: named by an effective undo, or left by a rewind without an
    /// effective edit. A session that was rolled back while it ran is not undone.
    pub fn undone(&self) -> &BTreeMap<SessionId, Timestamp> {
        &self.sessions.undone
    }
}

/// Places in the log, as stretches without a gap between two places: first and last of each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Stretches(BTreeMap<u64, u64>);

impl Stretches {
    fn add(&mut self, first: u64, last: u64) {
        let (mut first, mut last) = (first, last);
        // Those that overlap or touch it become one with it.
        while let Some((&start, &end)) = self.0.range(..=last.saturating_add(1)).next_back() {
            if end.saturating_add(1) < first {
                break;
            }
            first = first.min(start);
            last = last.max(end);
            self.0.remove(&start);
        }
        self.0.insert(first, last);
    }

    fn extend(&mut self, other: &Self) {
        for (&first, &last) in &other.0 {
            self.add(first, last);
        }
    }

    fn hold_all(&self, first: u64, last: u64) -> bool {
        let before = self.0.range(..=first).next_back();
        before.is_some_and(|(_, end)| last <= *end)
    }
}

/// Decides whether a session is undone.
#[derive(Debug, Clone, Default)]
struct Sessions {
    /// Stretches of one session's edits, by their first place: the last one, and the session.
    edits: BTreeMap<u64, (u64, SessionId)>,
    undos: BTreeMap<u64, SessionId>,
    rolled_back: BTreeSet<SessionId>,
    undone: BTreeMap<SessionId, Timestamp>,
}

impl Sessions {
    fn note_edit(&mut self, event: &EffectEvent) {
        let Some(session) = event.session else { return };
        let stretch = self.edits.last_entry();
        // Edits of one session mostly follow each other, and are one entry then.
        if let Some(mut stretch) = stretch
            && *stretch.get() == (event.seq.saturating_sub(1), session)
        {
            stretch.get_mut().0 = event.seq;
            return;
        }
        self.edits.insert(event.seq, (event.seq, session));
    }

    fn edit_at(&self, seq: u64) -> Option<SessionId> {
        let (_, (last, session)) = self.edits.range(..=seq).next_back()?;
        (seq <= *last).then_some(*session)
    }

    fn note_undo(&mut self, event: &EffectEvent, at: Timestamp, named: &[u64]) {
        let with_it = named.iter().filter_map(|seq| self.edit_at(*seq));
        let sessions: Vec<SessionId> = with_it.chain(event.session).collect();
        for session in sessions {
            self.undone.insert(session, at);
        }
        if let Some(session) = event.session {
            self.undos.insert(event.seq, session);
        }
    }

    /// A session whose state does not change keeps its date.
    fn note_rewind(&mut self, before: &Stretches, after: &Stretches, now: Timestamp) {
        let (was, is) = (self.without_edits(before), self.without_edits(after));
        for session in was.difference(&is) {
            self.undone.remove(session);
        }
        for session in is.difference(&was) {
            self.undone.insert(*session, now);
        }
    }

    /// The sessions with an effective undo, or with edits of which none is effective.
    fn without_edits(&self, undone: &Stretches) -> BTreeSet<SessionId> {
        // A stretch is effective where any of its records is.
        let stands = |first: u64, last: u64| !undone.hold_all(first, last);
        let with_edits: BTreeSet<SessionId> = self
            .edits
            .iter()
            .filter(|(first, (last, _))| stands(**first, *last))
            .map(|(_, (_, session))| *session)
            .collect();
        let with_undo = self.undos.iter().filter(|(seq, _)| stands(**seq, **seq));
        let bare = |session: &SessionId| {
            !with_edits.contains(session) && !self.rolled_back.contains(session)
        };
        let edited = self.edits.values().map(|(_, session)| *session);
        edited
            .filter(bare)
            .chain(with_undo.map(|(_, session)| *session))
            .collect()
    }
}
