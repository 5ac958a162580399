//! How a session begins, is opened, and ends other than by its own tools (SPEC 3.1 to 3.4, 3.16).
//!
//! A session begins in the state `asking` under a lease, or `queued` where it waits for a worker. After the
//! agent's YES, [`open`] puts exact doubles together by their keyed digests, fixes the mass and the threshold
//! that count, and builds the prompt, all in one commit.
//!
//! An agent of which nothing can go ([`nothing_can_go`]: the breaker leaves less than the smallest memory
//! that could, and there are no exact doubles) is not asked by the schedule. The look counts as an attempt
//! without a session ([`pass_over`]), so that it is looked at again with the next slot or once it has grown,
//! and the row needs no column for it.

use std::{borrow::Cow, collections::BTreeMap};

use crate::{
    PrivateText, SessionId, Timestamp,
    agent::{Agent, Attempt, LedgerPosition},
    audit::{Action, Actor, Facts, RecordBody},
    breaker::{Gauge, TokenAllowance},
    draft::{Decision, Draft},
    duplicates,
    ledger::{self, Ledger, LedgerRoom},
    memory::{Memory, NewMemory, Number, tokens},
    near_doubles,
    prompt::{self, Prompt},
    schedule,
    session::{Driver, EndReason, Lease, Mode, Session, State, Stats, Trigger, Usage},
    session_entry,
    text::Digester,
    wording,
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
    /// Who begins it.
    pub started_by: Actor,
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
    /// The schedule does not ask it: a session could take nothing away.
    #[error(transparent)]
    NothingCanGo(#[from] NothingCanGo),
}

/// Why the schedule does not ask an agent: the breaker leaves less than the smallest memory that may be
/// deleted or merged, so that taking any away undoes everything. It reads as why, with what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "no memory can be taken away: {allowance}, and the smallest memory that could go has {smallest_tokens} tokens. \
     No session is needed before there are more memories; a lower `refinement_threshold` would leave more room"
)]
pub struct NothingCanGo {
    /// What the breaker leaves.
    pub allowance: TokenAllowance,
    /// The smallest core memory that is neither constitutional nor immutable, in tokens.
    pub smallest_tokens: u64,
}

impl NothingCanGo {
    /// The wire name of the reason.
    pub const CODE: &'static str = "nothing_can_go";

    /// `gauge` is that of a session that begins now, `smallest_tokens` the size of the smallest memory that may
    /// go; `None` where one may go.
    fn judge(gauge: &Gauge, smallest_tokens: Option<u64>) -> Option<Self> {
        let allowance = gauge.allowance();
        smallest_tokens
            .filter(|smallest| *smallest > allowance.tokens)
            .map(|smallest_tokens| Self {
                allowance,
                smallest_tokens,
            })
    }
}

/// Why the schedule does not ask the agent, where it does not: nothing can be taken away, and there are no
/// exact doubles that code would put together. `memories` are all its kept core memories. A session that
/// somebody starts by hand begins all the same, since it may unite and protect; it tells this.
pub fn nothing_can_go<'a>(
    agent: &Agent,
    memories: impl IntoIterator<Item = &'a Memory>,
    digester: &Digester,
) -> Option<NothingCanGo> {
    let kept: Vec<&Memory> = memories
        .into_iter()
        .filter(|memory| memory.is_kept_core())
        .collect();
    let tags = agent.settings.immutable_tag_set();
    let smallest = ledger::smallest_unprotected(kept.iter().copied(), &tags);
    // First what is cheap: a digest of every text is made only where nothing else could go.
    let found = NothingCanGo::judge(&fresh_gauge(agent), smallest)?;
    let how = agent.settings.effective_duplicate_match();
    let candidates = duplicates::candidates(kept, digester, how);
    duplicates::plan(&candidates, &tags)
        .is_empty()
        .then_some(found)
}

/// Notes that the schedule looked at an agent and did not ask it. As after any attempt, it looks again when
/// the next slot comes, or when the memory has grown (SPEC 3.1).
pub fn pass_over(mut agent: Agent, now: Timestamp) -> Decision {
    agent.last_attempt = Some(Attempt {
        at: now,
        core_tokens: agent.tally.core_tokens,
        // Looking at the agent was the attempt, and it did not fail, so no retry is due.
        failures: 0,
        retry_at: None,
    });
    Decision::of_sessions(agent, Vec::new())
}

/// What the breaker looks at in a session that begins now.
pub fn fresh_gauge(agent: &Agent) -> Gauge {
    Gauge {
        pre_session_tokens: agent.tally.core_tokens,
        core_tokens: agent.tally.core_tokens,
        removed_tokens: 0,
        threshold: agent.settings.effective_refinement_threshold(),
    }
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
    // The count on the agent's row is enough to refuse, so no memory is read.
    if agent.tally.core_count == 0 {
        return Err(StartRefusal::NothingToRefine);
    }
    // The attempt is noted as the session begins, and not as it ends: a process that dies in it
    // must not leave an agent that is asked again every minute.
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
        // The mass and the threshold are fixed when the session is opened (SPEC 3.5); until then memories may come and
        // go.
        pre_session_tokens: None,
        post_session_tokens: None,
        threshold: None,
        edits: 0,
        removed_tokens: 0,
        lost_words: 0,
        loss_guard: None,
        immutable_tags: None,
        stats: Stats::default(),
        refused_calls: 0,
        summary: None,
        end_reason: None,
        reason: None,
        started_at: now,
        started_by: Some(start.started_by),
        first_seq: None,
        ended_at: None,
        undone_at: None,
        usage: Usage::default(),
        lease: start.lease,
    };
    // No record is written here: the session's first record tells who began it (`Draft::tell_beginning`).
    Ok(Draft::new(agent, Some(session), now).finish())
}

/// Whether a session that the schedule queued is not to be run after all: the schedule is to leave the
/// agent alone since.
pub fn is_withdrawn(agent: &Agent, session: &Session) -> bool {
    // Only a queued session is withdrawn. One that was open when its worker stopped goes on, since the agent has
    // consented to it.
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
        // One that was open stays so: the agent has consented, and is not asked a second time.
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
    // Whoever lost it to another worker must not take it out of that one's hands.
    let holds = session.lease.is_some_and(|lease| lease.holder == holder);
    (holds && session.state.is_running()).then(|| {
        let state = match session.state {
            // The agent's answer had not come, and is stored nowhere, so the agent is asked again.
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
pub fn resume<'a>(
    agent: &Agent,
    session: &Session,
    memories: impl IntoIterator<Item = &'a Memory>,
    room: LedgerRoom,
) -> (Prompt, Ledger, Gauge) {
    let kept = memories.into_iter().filter(|memory| memory.is_kept_core());
    // From the oldest row on: the agent's position is where the next session's ledger begins, and where this
    // one's began is not kept.
    let ledger = list(agent, kept.collect(), None, room);
    let gauge = crate::knife::session_gauge(agent, session);
    let prompt = prompt::session(agent, session.into(), &gauge, &ledger);
    (prompt, ledger, gauge)
}

/// A session whose knife is handed over.
#[derive(Debug, Clone)]
pub struct SessionOpening {
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
    /// That nothing can be taken away in it, for whoever started it.
    pub nothing_can_go: Option<NothingCanGo>,
}

/// Puts doubles together, fixes the mass and the threshold, and builds the prompt (SPEC 3.4, 3.5).
/// `memories` are all kept core memories, `room` what the ledger may take and is to tell.
pub fn open<'a>(
    agent: Agent,
    mut session: Session,
    memories: impl IntoIterator<Item = &'a Memory>,
    digester: &Digester,
    room: LedgerRoom,
    now: Timestamp,
) -> SessionOpening {
    session.state = State::Open;
    let position = agent.ledger_position;
    let mut draft = Draft::new(agent, Some(session.clone()), now);
    let mut kept: BTreeMap<_, Cow<'_, Memory>> = memories
        .into_iter()
        .filter(|memory| memory.is_kept_core())
        .map(|memory| (memory.number, Cow::Borrowed(memory)))
        .collect();
    // Before the mass is fixed: what code puts together counts neither against the agent nor as
    // room for its edits.
    let duplicates_removed = clean_duplicates(&mut draft, &mut kept, digester);
    // After the clean-up: a memory that was put away must not stand in the list.
    let kept = kept.values().map(AsRef::as_ref).collect();
    let ledger = list(&draft.agent, kept, position, room);
    draft.agent.ledger_position = ledger.next_position;
    let gauge = fresh_gauge(&draft.agent);
    // As the clean-up left it: its record is then the session's first one, and tells who began it.
    let mut session = draft.session.take().unwrap_or(session);
    session.pre_session_tokens = Some(gauge.pre_session_tokens);
    session.threshold = Some(gauge.threshold);
    // Kept with the session, so that a laxer setting counts from the next one on only (SPEC 2.7,
    // 3.14).
    session.loss_guard = Some(draft.agent.settings.effective_loss_guard());
    session.immutable_tags = Some(draft.agent.settings.effective_immutable_tags());
    let prompt = prompt::session(&draft.agent, (&session).into(), &gauge, &ledger);
    draft.session = Some(session);
    SessionOpening {
        decision: draft.finish(),
        prompt,
        nothing_can_go: NothingCanGo::judge(&gauge, ledger.smallest_unprotected),
        ledger,
        gauge,
        duplicates_removed,
    }
}

/// The ledger, with the pairs that look alike where they are wanted. Both together keep to the room.
fn list(
    agent: &Agent,
    mut kept: Vec<&Memory>,
    position: Option<LedgerPosition>,
    room: LedgerRoom,
) -> Ledger {
    // Where code refines, its treatment of an administrator's text would tell which of the agent's texts it equals
    // (SPEC 3.4, 5.1).
    if room.leaves_out_administrators {
        kept.retain(|memory| !memory.is_added_by_administrator());
    }
    let how = agent.settings.effective_duplicate_match();
    let pairs = room
        .near_doubles
        .then(|| near_doubles::ledger_lines(kept.iter().copied(), how))
        .flatten();
    let taken = pairs.as_ref().map_or(0, |lines| tokens(lines.expose()));
    let tags = agent.settings.immutable_tag_set();
    // Pairs first, rows with what is left: there are few of them, and they say where to look.
    let budget = room.tokens.saturating_sub(taken);
    Ledger {
        near_doubles: pairs,
        ..ledger::build(kept, &tags, position, budget)
    }
}

fn clean_duplicates(
    draft: &mut Draft,
    kept: &mut BTreeMap<Number, Cow<'_, Memory>>,
    digester: &Digester,
) -> usize {
    let how = draft.agent.settings.effective_duplicate_match();
    let immutable_tags = draft.agent.settings.immutable_tag_set();
    let all = kept.values().map(AsRef::as_ref);
    let candidates = duplicates::candidates(all, digester, how);
    let plan = duplicates::plan(&candidates, &immutable_tags);
    let now = draft.now();
    let mut removed = 0;
    for group in plan {
        let mut changes = Vec::new();
        let mut wordings = Vec::new();
        for number in &group.discarded {
            if let Some(before) = kept.remove(number).map(Cow::into_owned) {
                // Copied: a discarded double keeps its own list, and a restore brings back from there what it stood
                // for.
                wordings.extend(before.wordings.iter().cloned());
                let after = Memory {
                    discarded_at: Some(now),
                    ..before.clone()
                };
                changes.extend(draft.alter(before, &after));
            }
        }
        if let Some(survivor) = kept.get_mut(&group.survivor).map(Cow::to_mut) {
            let before = survivor.clone();
            survivor.created_at = group.created_at;
            survivor.tags.clone_from(&group.tags);
            // Whoever is kept stands for what the others stood for, which is said word for word.
            survivor.wordings = wording::union(before.wordings.iter().chain(&wordings));
            // A new `updated_at` alone would count as a change, and be written.
            if *survivor != before {
                survivor.updated_at = now;
            }
            changes.extend(draft.alter(before, survivor));
        }
        removed += group.discarded.len();
        let facts = Facts::default().numbers("discarded", group.discarded);
        let body = RecordBody {
            changes,
            ..RecordBody::default()
        };
        draft.record(
            // Code removes the duplicates, whoever opened the session.
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
    let body = RecordBody {
        summary: session.summary.clone(),
        reason: session.reason.clone(),
        ..RecordBody::default()
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
    // Before the journal entry is drafted; a journal entry is no part of the mass in any case.
    session.post_session_tokens = session.pre_session_tokens.map(|_| agent.tally.core_tokens);
    session.end(state, Some(why), now);
    session.reason.clone_from(&reason);
    if !session.rehearsal {
        agent.note_attempt_end();
        // Only what failed without an edit: with edits the attempt has had its effect, and the next
        // slot will do.
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
    let entry = session_entry::left_behind(&session, why, agent.tally.core_tokens);
    let mut draft = Draft::new(agent, Some(session), now);
    let (number, created) = entry
        .map(|entry| draft.create(NewMemory::journal(entry)))
        .unzip();
    let body = RecordBody {
        changes: created.into_iter().collect(),
        reason,
        ..RecordBody::default()
    };
    draft.record(actor.clone(), action, number, facts, body);
    draft.finish()
}
