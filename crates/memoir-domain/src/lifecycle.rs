//! How a session begins, is opened, and ends other than by its own tools (SPEC 3.1 to 3.4, 3.16).

use std::collections::BTreeMap;

use crate::{
    PrivateText, SessionId, Timestamp,
    agent::{Agent, Attempt, LedgerPosition},
    audit::{Action, Actor, Body, Facts},
    breaker::Gauge,
    draft::{Decision, Draft},
    duplicates::{self, Candidate},
    ledger::{self, Ledger, LedgerRoom},
    memory::{Memory, tokens},
    near_doubles,
    prompt::{self, Prompt},
    schedule,
    session::{Driver, EndReason, Lease, Mode, Session, State, Stats, Trigger, Usage},
    text::Digester,
};

/// What a new session is to be.
#[derive(Debug, Clone)]
pub struct Start {
    /// Its identifier.
    pub id: SessionId,
    /// Which tools it has.
    pub mode: Mode,
    /// Who runs the loop.
    pub driver: Driver,
    /// Why it is begun.
    pub trigger: Trigger,
    /// Whether it works on a copy.
    pub rehearsal: bool,
    /// The model that runs it.
    pub model: Option<String>,
    /// Who holds it; `None` leaves it in the queue for a worker.
    pub lease: Option<Lease>,
}

/// Why no session can be begun.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartRefusal {
    /// One is running.
    #[error("a session is running already: {0}")]
    SessionOpen(SessionId),
    /// There are no core memories.
    #[error("there is nothing to refine: the agent has no core memories")]
    NothingToRefine,
    /// It is out of service.
    #[error("the agent is not active")]
    Inactive,
}

/// Begins a session that waits for the agent's consent, or for a worker that asks it. A rehearsal leaves the schedule as it is.
///
/// # Errors
/// See [`StartRefusal`].
pub fn begin(
    mut agent: Agent,
    running: Option<SessionId>,
    start: Start,
    now: Timestamp,
) -> Result<Decision, StartRefusal> {
    if agent.settings.inactive || agent.erased_at.is_some() {
        return Err(StartRefusal::Inactive);
    }
    if let Some(id) = running {
        return Err(StartRefusal::SessionOpen(id));
    }
    if agent.tally.core_count == 0 {
        return Err(StartRefusal::NothingToRefine);
    }
    if !start.rehearsal {
        // A scheduled session goes on counting what failed before it only where it is another attempt at it.
        let failed = agent
            .last_attempt
            .filter(|last| start.trigger != Trigger::Request && last.retry_at.is_some());
        agent.last_attempt = Some(Attempt {
            at: now,
            core_tokens: agent.tally.core_tokens,
            failures: failed.map_or(0, |last| last.failures),
            retry_at: None,
        });
    }
    let session = Session {
        id: start.id,
        state: if start.lease.is_some() {
            State::Asking
        } else {
            State::Queued
        },
        mode: start.mode,
        driver: start.driver,
        trigger: start.trigger,
        rehearsal: start.rehearsal,
        model: start.model,
        pre_session_tokens: None,
        post_session_tokens: None,
        threshold: None,
        edits: 0,
        removed_tokens: 0,
        stats: Stats::default(),
        summary: None,
        end_reason: None,
        reason: None,
        started_at: now,
        ended_at: None,
        undone_at: None,
        usage: Usage::default(),
        lease: start.lease,
    };
    Ok(Draft::new(agent, Some(session), now).finish())
}

/// Whether a session that the schedule queued is not to be run after all: the schedule is to leave the
/// agent alone since.
pub fn is_withdrawn(agent: &Agent, session: &Session) -> bool {
    session.state == State::Queued
        && session.trigger != Trigger::Request
        && schedule::left_alone(agent).is_some()
}

/// A worker takes up a session that nobody holds: one from the queue, or one that was handed back while
/// it ran. `None` where somebody holds it, or it has ended.
pub fn take_up(session: Session, lease: Lease) -> Option<Session> {
    if session.lease.is_some() || !session.state.is_running() {
        return None;
    }
    let state = match session.state {
        State::Queued => State::Asking,
        other => other,
    };
    Some(Session {
        state,
        lease: Some(lease),
        ..session
    })
}

/// A worker that has to stop leaves its session to another one. `None` where it does not hold it.
pub fn hand_back(session: Session, holder: u64) -> Option<Session> {
    let holds = session.lease.is_some_and(|lease| lease.holder == holder);
    (holds && session.state.is_running()).then(|| {
        let state = match session.state {
            State::Asking => State::Queued,
            other => other,
        };
        Session {
            state,
            lease: None,
            ..session
        }
    })
}

/// The prompt of a session that is open already, for whoever goes on with it: with the memories and the
/// measures as they are now, and the edits that are left.
pub fn resume(
    agent: &Agent,
    session: &Session,
    memories: &[Memory],
    room: LedgerRoom,
) -> (Prompt, Ledger, Gauge) {
    let kept = memories.iter().filter(|memory| memory.is_kept_core());
    // The ledger that it began with: where the next one would begin is of no use here.
    let ledger = list(agent, kept.collect(), None, room);
    let gauge = crate::knife::session_gauge(agent, session);
    let prompt = prompt::session(agent, session.mode, &gauge, &ledger);
    (prompt, ledger, gauge)
}

/// A session whose knife is handed over.
#[derive(Debug, Clone)]
pub struct Opened {
    /// What to write.
    pub decision: Decision,
    /// What the model is told.
    pub prompt: Prompt,
    /// What of it is the ledger.
    pub ledger: Ledger,
    /// What the breaker looks at, before any edit.
    pub gauge: Gauge,
    /// Doubles that were discarded.
    pub duplicates_removed: usize,
}

/// Puts doubles together, fixes the mass and the threshold, and builds the prompt (SPEC 3.4, 3.5).
/// `memories` are all kept core memories, `room` what the ledger may take and is to tell.
pub fn open(
    agent: Agent,
    mut session: Session,
    memories: &[Memory],
    digester: &Digester,
    room: LedgerRoom,
    now: Timestamp,
) -> Opened {
    session.state = State::Open;
    let mode = session.mode;
    let position = agent.ledger_position;
    let mut draft = Draft::new(agent, Some(session), now);
    let mut kept: BTreeMap<_, Memory> = memories
        .iter()
        .filter(|memory| memory.is_kept_core())
        .map(|memory| (memory.number, memory.clone()))
        .collect();
    let duplicates_removed = clean_duplicates(&mut draft, &mut kept, digester);
    let ledger = list(&draft.agent, kept.values().collect(), position, room);
    draft.agent.ledger_position = ledger.next_position;
    let gauge = Gauge {
        pre_session_tokens: draft.agent.tally.core_tokens,
        core_tokens: draft.agent.tally.core_tokens,
        removed_tokens: 0,
        threshold: draft.agent.settings.effective_refinement_threshold(),
    };
    if let Some(session) = &mut draft.session {
        session.pre_session_tokens = Some(gauge.pre_session_tokens);
        session.threshold = Some(gauge.threshold);
    }
    let prompt = prompt::session(&draft.agent, mode, &gauge, &ledger);
    Opened {
        decision: draft.finish(),
        prompt,
        ledger,
        gauge,
        duplicates_removed,
    }
}

/// The ledger, with the pairs that look alike where they are wanted. Both together keep to the room.
fn list(
    agent: &Agent,
    kept: Vec<&Memory>,
    position: Option<LedgerPosition>,
    room: LedgerRoom,
) -> Ledger {
    let how = agent.settings.effective_duplicate_match();
    let pairs = room
        .near_doubles
        .then(|| near_doubles::ledger_lines(kept.iter().copied(), how))
        .flatten();
    let taken = pairs.as_ref().map_or(0, |lines| tokens(lines.expose()));
    let tags = agent.settings.immutable_tag_set();
    let budget = room.tokens.saturating_sub(taken);
    Ledger {
        near_doubles: pairs,
        ..ledger::build(kept, &tags, position, budget)
    }
}

fn clean_duplicates(
    draft: &mut Draft,
    kept: &mut BTreeMap<crate::memory::Number, Memory>,
    digester: &Digester,
) -> usize {
    let how = draft.agent.settings.effective_duplicate_match();
    let immutable_tags = draft.agent.settings.immutable_tag_set();
    let candidates: Vec<Candidate<'_>> = kept
        .values()
        .map(|memory| Candidate {
            memory,
            digest: digester.duplicate(memory.content.expose(), how),
        })
        .collect();
    let plan = duplicates::plan(&candidates, &immutable_tags);
    let now = draft.now();
    let mut removed = 0;
    for group in plan {
        let mut changes = Vec::new();
        if let Some(before) = kept.get(&group.survivor).cloned() {
            let mut after = Memory {
                created_at: group.created_at,
                tags: group.tags,
                ..before.clone()
            };
            if after != before {
                after.updated_at = now;
            }
            changes.extend(draft.alter(before, &after));
            kept.insert(group.survivor, after);
        }
        for number in &group.discarded {
            if let Some(before) = kept.remove(number) {
                let after = Memory {
                    discarded_at: Some(now),
                    ..before.clone()
                };
                changes.extend(draft.alter(before, &after));
            }
        }
        removed += group.discarded.len();
        let facts = Facts::default().numbers("discarded", group.discarded);
        let body = Body {
            changes,
            ..Body::default()
        };
        draft.record(
            Actor::system(),
            Action::MemoryDeduplicated,
            Some(group.survivor),
            facts,
            body,
        );
    }
    removed
}

/// The agent did not consent. `words` is its answer.
pub fn decline(
    agent: Agent,
    session: Session,
    words: PrivateText,
    actor: &Actor,
    now: Timestamp,
) -> Decision {
    end(
        agent,
        session,
        State::Declined,
        EndReason::Refused,
        Some(words),
        actor,
        now,
    )
}

/// It stopped without completing, or a limit was reached; its edits stay.
pub fn abandon(
    agent: Agent,
    session: Session,
    why: EndReason,
    actor: &Actor,
    now: Timestamp,
) -> Decision {
    end(agent, session, State::Abandoned, why, None, actor, now)
}

/// The provider failed for good; its edits stay. `message` must hold nobody's words.
pub fn fail(agent: Agent, session: Session, message: String, now: Timestamp) -> Decision {
    end(
        agent,
        session,
        State::Failed,
        EndReason::Provider,
        Some(message.into()),
        &Actor::system(),
        now,
    )
}

/// Puts on the record how a rehearsal ended (SPEC 3.16). `session` is the rehearsal as it ended on the
/// copy; the agent itself is left as it is.
pub fn end_rehearsal(
    agent: Agent,
    mut session: Session,
    actor: &Actor,
    now: Timestamp,
) -> Decision {
    // On the copy it ended a moment ago; others may have written something since.
    session.ended_at = Some(now);
    let action = match session.state {
        State::Completed => Action::MemoryRefinementComplete,
        State::RolledBack => Action::MemoryRefinementRollback,
        State::Declined => Action::MemoryRefinementDeclined,
        State::Failed => Action::MemoryRefinementFailed,
        _ => Action::MemoryRefinementAbandoned,
    };
    let mut facts = Facts::default()
        .code("session", "rehearsal")
        .count("edits", session.edits)
        .count("tokens_removed", session.removed_tokens)
        .stats(session.stats);
    if let Some(why) = session.end_reason {
        facts = facts.code("reason", why.as_str());
    }
    let body = Body {
        summary: session.summary.clone(),
        reason: session.reason.clone(),
        ..Body::default()
    };
    let mut draft = Draft::new(agent, Some(session), now);
    draft.record(actor.clone(), action, None, facts, body);
    draft.finish()
}

fn end(
    mut agent: Agent,
    mut session: Session,
    state: State,
    why: EndReason,
    reason: Option<PrivateText>,
    actor: &Actor,
    now: Timestamp,
) -> Decision {
    let action = match state {
        State::Declined => Action::MemoryRefinementDeclined,
        State::Failed => Action::MemoryRefinementFailed,
        _ => Action::MemoryRefinementAbandoned,
    };
    session.post_session_tokens = session.pre_session_tokens.map(|_| agent.tally.core_tokens);
    session.end(state, Some(why), now);
    session.reason.clone_from(&reason);
    if !session.rehearsal {
        agent.note_attempt_end();
        let is_tried_again =
            state == State::Failed && session.trigger != Trigger::Request && session.edits == 0;
        if is_tried_again {
            agent.note_failure(now);
        }
    }
    let facts = Facts::default()
        .code("reason", why.as_str())
        .count("edits", session.edits)
        .count("tokens_removed", session.removed_tokens)
        .stats(session.stats);
    let mut draft = Draft::new(agent, Some(session), now);
    draft.record(
        actor.clone(),
        action,
        None,
        facts,
        Body {
            reason,
            ..Body::default()
        },
    );
    draft.finish()
}
