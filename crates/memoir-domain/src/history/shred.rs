//! Shredding: the permanent removal of the text of one memory from everywhere (SPEC 4.4).

use std::collections::BTreeSet;

use crate::{
    agent::Agent,
    change::{
        draft::{Decision, Draft, Redaction},
        manage::{self, ChangeRefusal},
        memories::AllMemories,
    },
    ids::SessionId,
    log::{
        audit::{Action, Actor, Change, Facts, MEMBERS, Record, RecordBody},
        effective::EffectiveRecords,
    },
    memory::{Memory, Number, origin::ActorKind},
    session::Session,
    text::private::PrivateText,
    time::Timestamp,
};

/// The memories to shred.
#[derive(Debug, Clone)]
pub struct ShredTargets<'a> {
    /// Their numbers: the requested one, and then those that are shredded with it.
    pub numbers: &'a [Number],
    /// All memories of the agent.
    pub memories: AllMemories,
    /// The rehearsals that edited one of the memories, which no record says.
    pub rehearsals: &'a BTreeSet<SessionId>,
}

/// Empties memories and every earlier record of them, and discards them; nothing returns them. Works for discarded
/// memories too, and for constitutional ones where `actor` is not the agent: the caller makes sure of the agent's
/// request or consent. All of them are emptied in one decision, so that none stays where another one is gone. Other
/// memories keep their texts: a copy of one of them and a summary over it are named by [`derived_from`].
///
/// The decision's change of a memory begins with the memory as it is, so that what is derived from its text can be
/// found and removed; the record of it, like the earlier ones, has no text. Of a journal entry that reports how a
/// session was completed, the agent's report goes with it, from the record and from the session. So does the report of
/// a rehearsal that edited one of the memories, which is in no entry.
///
/// `sessions` has all sessions of the agent, and `history` at least every record that changes the memories.
///
/// # Errors
/// A session is running, one of the memories was shredded before, one is constitutional and only the agent requests
/// it, or the agent was erased.
pub fn shred(
    agent: Agent,
    sessions: &[Session],
    targets: ShredTargets<'_>,
    history: &[Record],
    reason: &PrivateText,
    actor: &Actor,
    now: Timestamp,
) -> Result<Decision, ChangeRefusal> {
    let running = sessions.iter().find(|session| session.state.is_running());
    manage::check_idle(&agent, running.map(|session| session.id))?;
    let ShredTargets {
        numbers,
        mut memories,
        rehearsals,
    } = targets;
    let found = numbers.iter().filter_map(|number| memories.get(*number));
    let found: Vec<Memory> = found.cloned().collect();
    for memory in &found {
        check_wish(memory, actor)?;
    }
    let gone: BTreeSet<Number> = found.iter().map(|memory| memory.number).collect();
    let mut draft = Draft::for_agent(agent, now);
    for memory in &found {
        // Of the earlier records only: this decision's own are made without the text from the beginning.
        let own = BTreeSet::from([memory.number]);
        let reports = reports_of(&own, rehearsals, history);
        let redacted = redactions(&own, &reports, history).len() as u64;
        let (draft, memories) = (&mut draft, &mut memories);
        empty(draft, memories, memory, &gone, redacted, reason, actor);
    }
    let reports = reports_of(&gone, rehearsals, history);
    let mut decision = draft.finish();
    decision.redactions = redactions(&gone, &reports, history);
    let sessions = sessions.iter();
    let reported = sessions.filter(|one| reports.contains(&one.id) && one.summary.is_some());
    let without_report = |session: &Session| Session {
        summary: None,
        ..session.clone()
    };
    decision.sessions = reported.map(without_report).collect();
    Ok(decision)
}

/// Empties a memory, one of those that are `gone` after the decision, and records it.
fn empty(
    draft: &mut Draft,
    memories: &mut AllMemories,
    memory: &Memory,
    gone: &BTreeSet<Number>,
    redacted: u64,
    reason: &PrivateText,
    actor: &Actor,
) {
    let now = draft.now();
    let core_tokens_before = draft.core_tokens();
    // A summary that is emptied too is discarded by that, and its text must be in no record.
    let bare = memories
        .summary_left_bare(memory)
        .filter(|summary| !gone.contains(&summary.number))
        .cloned();
    let emptied = Memory {
        protected_seq: None,
        updated_at: now,
        discarded_at: memory.discarded_at.or(Some(now)),
        shredded_at: Some(now),
        // What remains is its number, its place and its dates, which an administrator may read. The size goes with
        // the text, from which it is computed.
        ..memory.without_text()
    };
    // The store is given the memory as it is, with its text, and the log another change: see `shred`.
    memories.alter(draft, memory, &emptied);
    // Earlier records no longer hold the text, so the change that replays begins without it.
    let mut recorded: Vec<Change> = Change::between(memory.without_text(), &emptied)
        .into_iter()
        .collect();
    if let Some(summary) = bare {
        recorded.extend(memories.alter(draft, &summary, &summary.discarded(now)));
    }
    let facts = Facts::default()
        .count("redacted", redacted)
        .count("tokens_before", memory.tokens())
        .count("core_tokens_before", core_tokens_before)
        .count("core_tokens_after", draft.core_tokens());
    let body = RecordBody {
        reason: Some(reason.clone()),
        ..recorded.into()
    };
    let action = Action::MemoryShredded;
    draft.record(actor, action, Some(memory.number), facts, body);
}

/// The copies of a memory, and the texts that were written over its text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Derived {
    /// The summaries, and under the guard `off` the merged texts, active or discarded, that were ever written over it,
    /// directly or over another of them; and the copies of it and of them that a cleanup joined with it or them.
    pub summaries: BTreeSet<Number>,
    /// The journal entries with the reports of the sessions that edited it or one of these.
    pub reports: BTreeSet<Number>,
}

/// All copies of the memory, and all texts that were ever written over its text, from the cleanups, the agent's edits
/// and the session ends (SPEC 4.4). `records` is the whole log, in its order.
pub fn derived_from(number: Number, records: &[Record]) -> Derived {
    let effective = EffectiveRecords::of(records);
    let is_joining = |record: &&Record| {
        record.action == Action::MemoryDeduplicated && effective.is_effective(record.seq)
    };
    let joinings: Vec<&Record> = records.iter().filter(is_joining).collect();
    let mut over = with_copies(number, &joinings);
    over.extend(imported_summaries(&over, records));
    let mut derived = Derived {
        summaries: over.clone(),
        ..Derived::default()
    };
    let mut sessions: BTreeSet<SessionId> = BTreeSet::new();
    for record in records {
        if record.action == Action::MemoryRefinementComplete {
            let is_concerned = record.session.is_some_and(|id| sessions.contains(&id));
            derived
                .reports
                .extend(record.memory.filter(|_| is_concerned));
            continue;
        }
        let members: Vec<Number> = record.facts.places_of(MEMBERS).map(Number).collect();
        if !record.action.is_capped_edit() || !members.iter().any(|member| over.contains(member)) {
            continue;
        }
        sessions.extend(record.session);
        // An edit that keeps or rewrites a memory names it among its members; a new text has a number of its own.
        if let Some(text) = record.memory.filter(|number| !members.contains(number)) {
            let texts = with_copies(text, &joinings);
            over.extend(&texts);
            derived.summaries.extend(texts);
        }
    }
    derived.summaries.remove(&number);
    derived
}

/// The summaries that came with an import over one of these texts, which no session wrote here. Since then the text may
/// have been promoted, and the summary rewritten or discarded.
fn imported_summaries(over: &BTreeSet<Number>, records: &[Record]) -> BTreeSet<Number> {
    let changes = records.iter().flat_map(|record| &record.body.changes);
    let created = changes.filter(|change| change.before().is_none());
    let (summaries, others): (Vec<&Memory>, Vec<&Memory>) = created
        .map(Change::earliest)
        .partition(|memory| memory.is_summary);
    let sources = others.into_iter();
    let sources = sources.filter(|memory| over.contains(&memory.number));
    let above: BTreeSet<Number> = sources.filter_map(Memory::under).collect();
    let summaries = summaries.into_iter().map(|summary| summary.number);
    summaries.filter(|number| above.contains(number)).collect()
}

/// A memory, and the copies that cleanups joined with it. A cleanup discards a copy with its text, and an undo or a
/// rewind restores it.
fn with_copies(number: Number, joinings: &[&Record]) -> BTreeSet<Number> {
    let mut copies = BTreeSet::from([number]);
    // From the last one on: a copy may be the one that stayed of earlier copies.
    for record in joinings.iter().rev() {
        if record.memory.is_some_and(|stayed| copies.contains(&stayed)) {
            let discarded = record.facts.places_of("discarded");
            let joined = discarded.chain(record.facts.places_of("archived"));
            copies.extend(joined.map(Number));
        }
    }
    copies
}

/// Whether the memory still has a text, and `actor` may request to shred it: that of a constitutional one goes only
/// where an administrator, or the owner, and the agent both request it (SPEC 4.4).
///
/// # Errors
/// It was shredded before; it is constitutional, and only the agent requests it.
pub fn check_wish(memory: &Memory, actor: &Actor) -> Result<(), ChangeRefusal> {
    manage::check_readable(memory)?;
    if memory.is_constitutional() && actor.kind == ActorKind::Agent {
        return Err(ChangeRefusal::ConstitutionalWish(memory.number));
    }
    Ok(())
}

/// The records with a text of these memories or sessions, without it; the others are not copied.
fn redactions(
    gone: &BTreeSet<Number>,
    reports: &BTreeSet<SessionId>,
    history: &[Record],
) -> Vec<Redaction> {
    let is_gone = |change: &Change| gone.contains(&change.number());
    let redaction = |record: &Record| {
        let has_report = record.session.is_some_and(|id| reports.contains(&id));
        if !has_report && !record.body.changes.iter().any(is_gone) {
            return None;
        }
        let mut body = record.body.clone();
        for change in body.changes.iter_mut().filter(|change| is_gone(change)) {
            *change = change.without_text();
        }
        if has_report {
            body.summary = body.summary.map(|_| PrivateText::default());
        }
        let seq = record.seq;
        (body != record.body).then_some(Redaction { seq, body })
    };
    history.iter().filter_map(redaction).collect()
}

/// The sessions whose reports go with the memories: those whose journal entry, which quotes the report, is one of them,
/// and the rehearsals that edited one.
fn reports_of(
    gone: &BTreeSet<Number>,
    rehearsals: &BTreeSet<SessionId>,
    history: &[Record],
) -> BTreeSet<SessionId> {
    let quotes_report = |record: &&Record| {
        let entry = record.memory.as_ref();
        record.action == Action::MemoryRefinementComplete
            && entry.is_some_and(|number| gone.contains(number))
    };
    let quoted = history.iter().filter(quotes_report);
    quoted
        .filter_map(|record| record.session)
        .chain(rehearsals.iter().copied())
        .collect()
}
