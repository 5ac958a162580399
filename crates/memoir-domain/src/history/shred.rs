//! Shredding: the permanent removal of the text of one memory from everywhere (SPEC 4.4).

use std::collections::BTreeSet;

use crate::{
    agent::Agent,
    change::{
        draft::{Decision, Draft, Redaction},
        manage::{self, ChangeRefusal},
    },
    ids::SessionId,
    log::audit::{Action, Actor, Change, Facts, MEMBERS, Record, RecordBody},
    memory::{Memory, Number, origin::ActorKind},
    session::Session,
    text::private::PrivateText,
    time::Timestamp,
};

/// The memory to shred.
#[derive(Debug, Clone, Copy)]
pub struct ShredTarget<'a> {
    /// The memory.
    pub memory: &'a Memory,
    /// The summary that loses its last source by it, and is discarded; `None` where there is none.
    pub bare_summary: Option<&'a Memory>,
}

/// Empties a memory and every earlier record of it, and discards it; nothing returns it. Works for discarded memories
/// too, and for constitutional ones where `actor` is not the agent: the caller makes sure of the agent's request or
/// consent. Other memories keep their texts: a summary over it is named by [`derived_from`].
///
/// The decision's change begins with the memory as it is, so that what is derived from its text can be found and
/// removed; the record of it, like the earlier ones, has no text. Of a journal entry that reports how a session was
/// completed, the agent's report goes with it, from the record and from the session.
///
/// `sessions` has all sessions of the agent, and `history` at least every record that changes the memory.
///
/// # Errors
/// A session is running, the memory was shredded before, it is constitutional and only the agent requests it, or
/// the agent was erased.
pub fn shred(
    agent: Agent,
    sessions: &[Session],
    target: &ShredTarget<'_>,
    history: &[Record],
    reason: PrivateText,
    actor: &Actor,
    now: Timestamp,
) -> Result<Decision, ChangeRefusal> {
    let running = sessions.iter().find(|session| session.state.is_running());
    manage::check_idle(&agent, running.map(|session| session.id))?;
    let memory = target.memory;
    check_wish(memory, actor)?;
    let core_tokens_before = agent.tally.core_tokens;
    let mut draft = Draft::for_agent(agent, now);
    let emptied = Memory {
        protected_seq: None,
        updated_at: now,
        discarded_at: memory.discarded_at.or(Some(now)),
        shredded_at: Some(now),
        // What remains is its number, its place and its dates, which an administrator may read. The size goes with
        // the text, from which it is computed.
        ..memory.without_text()
    };
    // The store is given the memory as it is, with its text, and the log another change: see above.
    draft.alter(memory.clone(), &emptied);
    // Earlier records no longer hold the text, so the change that replays begins without it.
    let mut recorded: Vec<Change> = Change::between(memory.without_text(), &emptied)
        .into_iter()
        .collect();
    let bare = target.bare_summary;
    recorded.extend(bare.and_then(|summary| draft.discard(summary)));
    // Before this decision's own record is written: that one is made without the text from the beginning.
    let redactions = redactions(memory.number, history);
    let facts = Facts::default()
        .count("redacted", redactions.len() as u64)
        .count("tokens_before", memory.tokens())
        .count("core_tokens_before", core_tokens_before)
        .count("core_tokens_after", draft.core_tokens());
    draft.redact(redactions);
    draft.put_other_sessions(without_report(memory.number, history, sessions));
    let body = RecordBody {
        reason: Some(reason),
        ..recorded.into()
    };
    draft.record(
        actor,
        Action::MemoryShredded,
        Some(memory.number),
        facts,
        body,
    );
    Ok(draft.finish())
}

/// The texts that were written over the text of a memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Derived {
    /// The summaries, and under the guard `off` the merged texts, active or discarded, that were ever written over it,
    /// directly or over another of them.
    pub summaries: BTreeSet<Number>,
    /// The journal entries with the reports of the sessions that edited it or one of these summaries.
    pub reports: BTreeSet<Number>,
}

/// All texts that were ever written over the text of the memory, from the agent's edits and session ends in the order
/// of the log (SPEC 4.4).
pub fn derived_from<'a>(number: Number, records: impl IntoIterator<Item = &'a Record>) -> Derived {
    let mut derived = Derived::default();
    let mut over = BTreeSet::from([number]);
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
            over.insert(text);
            derived.summaries.insert(text);
        }
    }
    derived
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

fn redactions(number: Number, history: &[Record]) -> Vec<Redaction> {
    history
        .iter()
        .map(|record| (record, without_text_of(number, record)))
        .filter(|(record, body)| record.body != *body)
        .map(|(record, body)| Redaction {
            seq: record.seq,
            body,
        })
        .collect()
}

fn without_text_of(number: Number, record: &Record) -> RecordBody {
    let mut body = record.body.clone();
    for change in &mut body.changes {
        if change.number() == number {
            *change = change.without_text();
        }
    }
    if quotes_report(record, number) {
        body.summary = body.summary.map(|_| PrivateText::default());
    }
    body
}

/// Whether the memory is the journal entry of a session's completion, which quotes the report.
fn quotes_report(record: &Record, number: Number) -> bool {
    record.action == Action::MemoryRefinementComplete && record.memory == Some(number)
}

/// The session whose report the memory quotes, without it.
fn without_report(number: Number, history: &[Record], sessions: &[Session]) -> Vec<Session> {
    let quoted = history
        .iter()
        .find(|record| quotes_report(record, number))
        .and_then(|record| record.session);
    sessions
        .iter()
        .filter(|session| Some(session.id) == quoted && session.summary.is_some())
        .map(|session| Session {
            summary: None,
            ..session.clone()
        })
        .collect()
}
