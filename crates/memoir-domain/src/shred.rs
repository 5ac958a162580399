//! Taking the words of one memory out of everything, for good (SPEC 4.4).

use crate::{
    PrivateText, Timestamp,
    agent::Agent,
    audit::{Action, Actor, ActorKind, Change, Facts, Record, RecordBody},
    draft::{Decision, Draft, Redaction},
    manage::{self, ChangeRefusal},
    memory::{Memory, Number},
    session::Session,
};

/// What is to be shredded.
#[derive(Debug, Clone, Copy)]
pub struct ShredTarget<'a> {
    /// The memory.
    pub memory: &'a Memory,
    /// All other memories that stand for a wording of it, or did when they were discarded.
    pub standing_for_it: &'a [Memory],
}

/// Empties a memory and every earlier record of it, and discards it; nothing gives it back. Works for
/// discarded memories too, and for constitutional ones where `actor` is somebody else than the agent: whoever
/// calls it makes sure of the agent's wish or consent.
/// Other memories keep theirs, also those that were merged from this one or into it: where these hold the
/// same words they are to be shredded, too.
///
/// The decision's change begins with the memory as it is, so that whatever is derived from its words can
/// be found and removed; the record of it, like the earlier ones, has no words. Of a journal entry that
/// tells how a session was completed, the agent's summary goes with it, from the record and from the
/// session.
///
/// `sessions` holds all sessions of the agent, and `history` at least every record that touches the memory or
/// one of those that stand for it.
///
/// # Errors
/// A session is running, the memory was shredded before, it is constitutional and the agent alone wishes it, or
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
    let ShredTarget {
        memory,
        standing_for_it,
    } = *target;
    check_wish(memory, actor)?;
    let core_tokens_before = agent.tally.core_tokens;
    let mut draft = Draft::new(agent, None, now);
    let emptied = Memory {
        protected_seq: None,
        wordings: Vec::new(),
        updated_at: now,
        discarded_at: memory.discarded_at.or(Some(now)),
        shredded_at: Some(now),
        // What stays is its number, its kind and its dates, which an administrator may see. The
        // size goes with the words, as it is worked out from them.
        ..memory.without_words()
    };
    // The store is given the memory as it lies, words and all, and the log another change: see above.
    draft.alter(memory.clone(), &emptied);
    // Earlier records no longer hold the words, so the change that replays begins without them.
    let mut recorded: Vec<Change> = Change::between(memory.without_words(), &emptied)
        .into_iter()
        .collect();
    // Nobody stands any more for words that are not to exist.
    for other in standing_for_it {
        let wordings = other
            .wordings
            .iter()
            .filter(|wording| wording.number != memory.number);
        let after = Memory {
            wordings: wordings.cloned().collect(),
            ..other.clone()
        };
        recorded.extend(
            draft
                .alter(other.clone(), &after)
                .map(|change| change.without_wordings_of(memory.number)),
        );
    }
    // Before this decision's own record is written: that one is made without the words from the
    // beginning.
    draft.redactions = redactions(memory.number, history);
    draft.other_sessions = without_summary(memory.number, history, sessions);
    let facts = Facts::default()
        .count("redacted", draft.redactions.len() as u64)
        .count("tokens_before", memory.tokens())
        .count("core_tokens_before", core_tokens_before)
        .count("core_tokens_after", draft.agent.tally.core_tokens);
    let body = RecordBody {
        changes: recorded,
        reason: Some(reason),
        ..RecordBody::default()
    };
    draft.record(
        actor.clone(),
        Action::MemoryShredded,
        Some(memory.number),
        facts,
        body,
    );
    Ok(draft.finish())
}

/// Whether the memory still has words, and `actor` may wish them gone: those of a constitutional one go only
/// where an administrator, or the owner of the machine, and the agent both wish it (SPEC 4.4).
///
/// # Errors
/// It was shredded before; it is constitutional, and the agent alone wishes it.
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
        .filter(|record| concerns(record, number))
        .map(|record| (record, without_words_of(number, record)))
        .filter(|(record, body)| record.body != *body)
        .map(|(record, body)| Redaction {
            seq: record.seq,
            body,
        })
        .collect()
}

fn concerns(record: &Record, number: Number) -> bool {
    let stands_for = |memory: &Memory| {
        memory
            .wordings
            .iter()
            .any(|wording| wording.number == number)
    };
    let concerns = |change: &Change| {
        change.number() == number
            || change.before().is_some_and(stands_for)
            || stands_for(&change.after())
    };
    record.memory == Some(number)
        || record.body.changes.iter().any(concerns)
        || record.body.lost.iter().any(|lost| lost.number == number)
}

fn without_words_of(number: Number, record: &Record) -> RecordBody {
    let mut body = record.body.clone();
    for change in &mut body.changes {
        if change.number() == number {
            *change = change.without_words();
        } else {
            *change = change.without_wordings_of(number);
        }
    }
    // What edits let go of it is quoted in their records, in sentences of its author.
    body.lost.retain(|lost| lost.number != number);
    if quotes_summary(record, number) {
        body.summary = body.summary.map(|_| PrivateText::default());
    }
    body
}

/// Whether the memory is the journal entry of a session's completion, which quotes the summary.
fn quotes_summary(record: &Record, number: Number) -> bool {
    record.action == Action::MemoryRefinementComplete && record.memory == Some(number)
}

/// The session whose summary the memory quotes, without it.
fn without_summary(number: Number, history: &[Record], sessions: &[Session]) -> Vec<Session> {
    let quoted = history
        .iter()
        .find(|record| quotes_summary(record, number))
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
