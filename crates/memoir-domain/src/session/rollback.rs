//! Rolling a session back: all of it and nothing else (SPEC 3.13, 3.19, 4.3).
//!
//! Each record holds its memories before the change and the difference. Records are undone newest first, property by
//! property: a present value that differs from the one that the session set was set by another change, and stays.
//! [`plan_undo`] finds what conflicts with undoing an ended session; with `--cascade` these records are undone too.
//! Merged duplicates stay merged: restoring brings one back. A promotion is never undone in this way.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    agent::Agent,
    change::draft::{Decision, Draft},
    ids::SessionId,
    log::{
        audit::{Action, Actor, Change, Facts, Record, UNDONE},
        effective::EffectiveRecords,
    },
    memory::{Memory, NewMemory, Number, ReportKind, origin::ActorKind},
    session::{
        EndReason, Session, State, Stats, breaker::Gauge, session_entry, tools::session_gauge,
    },
    time::Timestamp,
};

/// The memories that `records` touch: those that they change, and the survivors of the duplicates that they discard.
pub fn touched<'a>(records: impl IntoIterator<Item = &'a Record>) -> BTreeSet<Number> {
    records.into_iter().flat_map(numbers).collect()
}

fn numbers(record: &Record) -> impl Iterator<Item = Number> {
    let changed = record.body.changes.iter().map(Change::number);
    changed.chain(record.memory)
}

/// Whether an administrator or the owner confirmed the present state by this record. It changes nothing, and takes
/// precedence over every later undo of earlier changes (SPEC 4.3).
pub fn is_confirmation(record: &Record) -> bool {
    let confirms = matches!(
        record.action,
        Action::MemoryRestored | Action::MemoryUnprotected | Action::MemoryEdited
    );
    confirms && record.actor.kind.is_in_charge() && record.body.changes.is_empty()
}

/// `memories` with the changes of the records undone, newest first. Changes by others in between stay. `memories` holds
/// the present state of each memory that `records` change and of each one under it. It may omit memories under those of
/// `not_left`, which were active until an edit that is not written.
fn without(
    records: &[&Record],
    memories: &BTreeMap<Number, Memory>,
    not_left: &BTreeSet<Number>,
    now: Timestamp,
) -> BTreeMap<Number, Memory> {
    let mut newest_first = records.to_vec();
    // By the place in the log and not by time: a clock can be set back.
    newest_first.sort_by_key(|record| std::cmp::Reverse(record.seq));
    let mut restored = memories.clone();
    for change in newest_first
        .iter()
        .flat_map(|record| record.body.changes.iter().rev())
    {
        if let Some(memory) = restored.get_mut(&change.number()) {
            change.undo(memory, now);
        }
    }
    // A summary that would return without a source is discarded (SPEC 3.19): it stays so, or it is now where the session
    // rewrote it under the guard `off`, but for one that was protected since (SPEC 3.12). One that is active keeps its
    // sources: of these, those that no record changes are not given.
    for number in bare_summaries(memories, &restored) {
        let present = memories.get(&number);
        let before = present.and_then(|memory| {
            let is_left = memory.is_summary || memory.is_constitutional();
            memory.discarded_at.or((!is_left).then_some(now))
        });
        if let Some(memory) = restored.get_mut(&number)
            && before.is_some()
            && !not_left.contains(&number)
        {
            memory.discarded_at = before;
        }
    }
    restored
}

/// The active summaries among `restored` without a source. `memories` holds the present states, `restored` the intended
/// ones. A shredded memory stays as it is and is no source (SPEC 4.4).
pub(crate) fn bare_summaries(
    memories: &BTreeMap<Number, Memory>,
    restored: &BTreeMap<Number, Memory>,
) -> Vec<Number> {
    let is_shredded = |number: &Number| {
        let now = memories.get(number);
        now.is_some_and(|memory| memory.shredded_at.is_some())
    };
    let under: BTreeSet<Number> = restored
        .values()
        .filter(|memory| memory.is_active_archival() && !is_shredded(&memory.number))
        .filter_map(Memory::under)
        .collect();
    let summaries = restored
        .values()
        .filter(|memory| memory.is_summary && memory.is_active());
    let summaries = summaries.map(|memory| memory.number);
    summaries.filter(|number| !under.contains(number)).collect()
}

/// Keeps a new memory that an administrator confirmed to be active (SPEC 4.3).
fn keep_confirmed_active(
    history: &[Record],
    memories: &BTreeMap<Number, Memory>,
    restored: &mut BTreeMap<Number, Memory>,
) {
    let restorations = history
        .iter()
        .filter(|record| record.action == Action::MemoryRestored && is_confirmation(record));
    for number in restorations.filter_map(|record| record.memory) {
        let is_active = memories.get(&number).is_some_and(Memory::is_active);
        if let Some(memory) = restored.get_mut(&number).filter(|_| is_active) {
            memory.discarded_at = None;
        }
    }
}

/// Turns `memories` into `restored`, except for shredded ones, which stay so (SPEC 4.4).
pub(crate) fn restore(
    draft: &mut Draft,
    memories: &BTreeMap<Number, Memory>,
    restored: &BTreeMap<Number, Memory>,
) -> Vec<Change> {
    debug_assert!(restored.keys().all(|number| memories.contains_key(number)));
    memories
        .iter()
        // Their records have no text any more: undone, they would become empty memories.
        .filter(|(_, memory)| memory.shredded_at.is_none())
        .filter_map(|(number, memory)| draft.alter(memory.clone(), restored.get(number)?))
        .collect()
}

/// A session that was rolled back while it ran.
pub(crate) struct EndedByRollback {
    pub(crate) decision: Decision,
    pub(crate) entry: String,
    pub(crate) stats: Stats,
}

/// Rolls back the session of `draft`, which may already hold the edit that tripped the breaker. `history` holds the
/// session's edits and the confirmations since ([`is_confirmation`]).
pub(crate) fn end_session(
    mut draft: Draft,
    history: &[Record],
    mut memories: BTreeMap<Number, Memory>,
    gauge: &Gauge,
    limit: EndReason,
    actor: &Actor,
) -> EndedByRollback {
    let active = draft.changes().iter().filter_map(Change::before);
    let active = active.filter(|memory| memory.is_active());
    let active: BTreeSet<Number> = active.map(|memory| memory.number).collect();
    // Of each memory that the history touches, those under it are given.
    let not_left = &active - &touched(history);
    // The edit that tripped the breaker is in the draft alone, and is undone with the rest.
    for change in draft.changes() {
        // The store has the state before the tripping edit; the undo begins with the state after it.
        memories.insert(change.number(), change.after());
    }
    let drafted = draft.records().to_vec();
    let own = draft.session().map(|session| session.id);
    let own: BTreeSet<SessionId> = own.into_iter().collect();
    let edits = history.iter().chain(&drafted);
    let edits: Vec<&Record> = edits.filter(|record| is_edit_of(record, &own)).collect();
    debug_assert!(
        // Without the core memory of a consolidation: the edit may not change it.
        edits
            .iter()
            .flat_map(|record| &record.body.changes)
            .all(|change| memories.contains_key(&change.number())),
        "a memory that is not given would stay as the session left it"
    );
    // Property by property, and not to the state before: others may save and protect while a session runs.
    let mut restored = without(&edits, &memories, &not_left, draft.now());
    keep_confirmed_active(history, &memories, &mut restored);
    let mut changes = restore(&mut draft, &memories, &restored);
    let core_tokens = draft.core_tokens();
    let stats = draft.session().map(|session| session.stats);
    let stats = stats.unwrap_or_default();
    // After the memories are restored: the entry states the new core size.
    let entry = session_entry::undone(gauge, limit, stats, core_tokens);
    let (number, created) = draft.create(NewMemory::report(ReportKind::Session, entry.clone()));
    changes.push(created);
    let now = draft.now();
    // As after a completion, so that the schedule does not begin another session immediately (SPEC 3.15).
    draft.note_refinement();
    if let Some(mut session) = draft.session().cloned() {
        session.end(State::RolledBack, Some(limit), now);
        session.post_session_tokens = session.pre_session_tokens.map(|_| core_tokens);
        session.threshold = session.threshold.map(|_| gauge.threshold);
        draft.put_session(session);
    }
    let facts = draft
        .session()
        .map(|session| measured(gauge, core_tokens, session))
        .unwrap_or_default()
        .code("limit", limit.as_str())
        .places(UNDONE, edits.iter().map(|record| record.seq));
    let action = Action::MemoryRefinementRollback;
    draft.record(actor, action, Some(number), facts, changes);
    EndedByRollback {
        decision: draft.finish(),
        entry,
        stats,
    }
}

pub(crate) fn measured(gauge: &Gauge, post_session_tokens: u64, session: &Session) -> Facts {
    Facts::default()
        .count("pre_session_tokens", gauge.pre_session_tokens)
        .count("core_tokens_before", gauge.core_tokens)
        .count("post_session_tokens", post_session_tokens)
        .count("tokens_removed", gauge.removed_tokens)
        .share("threshold", gauge.threshold.share())
        .outcome(session)
}

/// Rolls a running session back on request.
pub fn roll_back_running(
    agent: Agent,
    session: Session,
    history: &[Record],
    memories: BTreeMap<Number, Memory>,
    actor: &Actor,
    now: Timestamp,
) -> Decision {
    let gauge = session_gauge(&agent, Some(&session));
    let draft = Draft::for_session(agent, session, now);
    let reason = EndReason::RolledBackOnRequest;
    end_session(draft, history, memories, &gauge, reason, actor).decision
}

view! {
    /// A later change that conflicts with an undo (SPEC 4.3).
    #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
    pub struct Obstacle from record: &Record;
    /// The record's place in the agent's log.
    pub seq: u64 = record.seq,
    /// When it was made.
    pub recorded_at: Timestamp = record.recorded_at,
    /// What was done.
    pub action: Action = record.action,
    /// The actor's role.
    #[serde(skip)]
    pub actor: ActorKind = record.actor.kind,
    /// The session that it belongs to.
    pub session_id: Option<SessionId> = record.session,
    /// The memories in question.
    pub memories: Vec<Number> = touched([record]).into_iter().collect(),
}

/// The plan for undoing an ended session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoPlan {
    /// The records to undo, by sequence number: the session's own and the conflicting ones.
    pub records: BTreeSet<u64>,
    /// Their sessions, the requested one included.
    pub sessions: BTreeSet<SessionId>,
    /// The conflicting changes.
    pub obstacles: Vec<Obstacle>,
    /// The rewinds since by an administrator or the owner, which no agent's undo changes, with the session's memories.
    pub rewinds: Vec<Obstacle>,
}

impl UndoPlan {
    /// Whether `actor` may carry it out with all conflicting changes. An agent never undoes an act of an administrator
    /// or the owner, such as a protection, nor changes the memories that they returned to a point in time (SPEC 4.3).
    pub fn is_allowed_to(&self, actor: ActorKind) -> bool {
        let is_theirs = |obstacle: &Obstacle| {
            obstacle.actor.is_in_charge() && !obstacle.action.is_session_edit()
        };
        let has_theirs = !self.rewinds.is_empty() || self.obstacles.iter().any(is_theirs);
        actor != ActorKind::Agent || !has_theirs
    }
}

/// Plans the undo of `session` from `log`: the agent's records from the session's first edit on,
/// oldest first. A later session that touched one of the same memories counts as a whole.
pub fn plan_undo(session: SessionId, log: &[Record]) -> UndoPlan {
    let effective = EffectiveRecords::of(log);
    let live: Vec<&Record> = log
        .iter()
        // A record that was undone already cannot conflict.
        .filter(|record| can_be_undone(record) && effective.is_effective(record.seq))
        .collect();
    let mut sessions = BTreeSet::from([session]);
    // Every round adds sessions or ends. Most need one more: the first finds all whose changes follow each other.
    let mut known = 0;
    let mut chosen = Vec::new();
    while known < sessions.len() {
        known = sessions.len();
        chosen = choose(&live, &mut sessions);
    }
    let own = BTreeSet::from([session]);
    let others = chosen.iter().filter(|record| !is_edit_of(record, &own));
    let edits = chosen.iter().filter(|record| is_edit_of(record, &own));
    let edited = touched(edits.copied());
    // A rewind is of all memories, also of those that were as it wants them (SPEC 4.3).
    let rewind = |record: &Record| Obstacle {
        memories: edited.iter().copied().collect(),
        ..Obstacle::new(record)
    };
    let first = chosen.first().map_or(u64::MAX, |record| record.seq);
    let since = log.iter().filter(|record| record.seq > first);
    let rewinds = since
        .filter(|record| record.action == Action::AgentRewound && record.actor.kind.is_in_charge());
    UndoPlan {
        records: chosen.iter().map(|record| record.seq).collect(),
        sessions,
        obstacles: others.map(|record| Obstacle::new(record)).collect(),
        rewinds: rewinds.map(rewind).collect(),
    }
}

/// The edits of `sessions` and later changes of the same memories. Another session with such a change is added: it is
/// then undone as a whole.
fn choose<'a>(live: &[&'a Record], sessions: &mut BTreeSet<SessionId>) -> Vec<&'a Record> {
    let mut earlier = BTreeSet::new();
    let mut chosen = Vec::new();
    for &record in live {
        if !is_edit_of(record, sessions) {
            if !numbers(record).any(|number| earlier.contains(&number)) {
                continue;
            }
            // Half of a session must not stay: its merges may rest on the undone part.
            let further = record.session.filter(|_| record.action.is_session_edit());
            sessions.extend(further);
        }
        earlier.extend(numbers(record));
        chosen.push(record);
    }
    chosen
}

fn is_edit_of(record: &Record, sessions: &BTreeSet<SessionId>) -> bool {
    record.action.is_session_edit() && record.session.is_some_and(|id| sessions.contains(&id))
}

/// Whether a record's changes can be undone. Not those of a record that itself undoes others, since their changes are
/// not effective either. Shredding is permanent (SPEC 4.4).
fn can_be_undone(record: &Record) -> bool {
    let is_final = record.action.undoes() || record.action == Action::MemoryShredded;
    // A promotion stays (SPEC 3.19): it neither conflicts nor is it undone.
    let is_promotion = record.action == Action::MemoryPromoted;
    !is_final && !is_promotion && (!record.body.changes.is_empty() || is_confirmation(record))
}

/// Undoes ended sessions as planned. `log` holds the records of the plan, `memories` the present state of each memory
/// that they touch, and `sessions` the sessions of the plan, the requested one first.
pub fn undo(
    agent: Agent,
    sessions: Vec<Session>,
    plan: &UndoPlan,
    log: &[Record],
    memories: &BTreeMap<Number, Memory>,
    actor: &Actor,
    now: Timestamp,
) -> Decision {
    let mut sessions = sessions.into_iter().map(|session| Session {
        undone_at: Some(now),
        ..session
    });
    let mut draft = match sessions.next() {
        Some(session) => Draft::for_session(agent, session, now),
        None => Draft::for_agent(agent, now),
    };
    let is_planned = |record: &&Record| plan.records.contains(&record.seq);
    let records: Vec<&Record> = log.iter().filter(is_planned).collect();
    let core_tokens_before = draft.core_tokens();
    let restored = without(&records, memories, &BTreeSet::new(), now);
    let mut changes = restore(&mut draft, memories, &restored);
    let core_tokens = draft.core_tokens();
    draft.note_return(core_tokens.saturating_sub(core_tokens_before));
    let undone = draft.session();
    let entry = format!(
        "Your refinement session of {} was undone ({}; {core_tokens_before} → {core_tokens} tokens).{}",
        undone.map_or(now, |session| session.started_at).date(),
        undone.map(|session| session.stats).unwrap_or_default(),
        if plan.obstacles.is_empty() {
            ""
        } else {
            " Later changes of the same memories were undone with it."
        }
    );
    let (number, created) = draft.create(NewMemory::report(ReportKind::Session, entry));
    changes.push(created);
    let facts = Facts::default()
        .count("core_tokens_before", core_tokens_before)
        .count("core_tokens_after", core_tokens)
        .count("sessions", plan.sessions.len() as u64)
        .places(UNDONE, plan.records.iter().copied());
    draft.record(actor, Action::SessionUndone, Some(number), facts, changes);
    let mut decision = draft.finish();
    decision.sessions.extend(sessions);
    decision
}
