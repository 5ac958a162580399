//! How a session begins, is opened, and ends other than by its own tools (SPEC 3.1 to 3.5, 3.16).
//!
//! A session begins in the state `asking` under a lease, or `queued` where it waits for a worker. After the agent's
//! consent, [`open`] joins duplicates by their keyed digests, fixes the core size, the budget and the threshold that
//! count, and builds the prompt, all in one commit.
//!
//! A session in which nothing can be done is not started ([`nothing_to_refine`]). The schedule counts that as an
//! attempt without a session ([`pass_over`]), so that it is tried again with the next slot or once the memory has
//! grown.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    agent::{
        Agent, Attempt, LedgerPosition, LossGuard, Mode, Settings, has_placeholder,
        schedule::{self, SkipReason, Trigger},
    },
    change::{
        age_rule,
        draft::{Decision, Draft},
        memories::AllMemories,
    },
    ids::SessionId,
    log::audit::{Action, Actor, Facts, RecordBody},
    memory::{
        ArchivedBy, Memory, NewMemory, Number, ReportKind, duplicates, near_duplicates,
        origin::Side, tokens,
    },
    session::{
        Driver, EndReason, FailureClass, Lease, Session, State, Stats,
        breaker::Gauge,
        ledger::{self, Ledger, LedgerRoom},
        prompt::{self, Prompt},
        session_entry,
        tools::{SessionLimits, session_gauge, session_guard},
    },
    text::{Digester, DuplicateMatch, answer::Usage, private::PrivateText},
    time::Timestamp,
};

/// The parameters of a new session.
#[derive(Debug, Clone)]
pub struct Start {
    /// Its identifier.
    pub id: SessionId,
    /// Which tools it has.
    pub mode: Mode,
    /// Who runs the loop.
    pub driver: Driver,
    /// The reason.
    pub trigger: Trigger,
    /// Whether it works on a copy.
    pub rehearsal: bool,
    /// The model that runs it.
    pub model: Option<String>,
    /// Its lease; `None` leaves it in the queue for a worker.
    pub lease: Option<Lease>,
    /// The actor that begins it.
    pub started_by: Actor,
}

/// Why no session can be begun.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum StartRefusal {
    #[error("a session is running already: {0}")]
    SessionOpen(SessionId),
    /// Nothing could be done in it.
    #[error(transparent)]
    NothingToRefine(#[from] NothingToRefine),
    #[error("the agent is not active")]
    Inactive,
}

/// Why nothing could be done in a session (SPEC 3.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum NothingToRefine {
    #[error("there is nothing to refine: the agent has no core memories")]
    NoCoreMemories,
    #[error(
        "there is nothing to refine: every core memory is constitutional or has an immutable tag"
    )]
    AllProtected,
    #[error(
        "there is nothing to refine: only duplicates may leave, and no core memory has the text of another"
    )]
    NoDuplicates,
}

impl NothingToRefine {
    /// The wire name of the reason.
    pub const CODE: &'static str = "nothing_to_refine";
}

/// Why a session of that mode could do nothing; `None` where it could. `memories` hold at least the agent's active core
/// memories.
pub fn nothing_to_refine(
    agent: &Agent,
    mode: Mode,
    memories: &AllMemories,
    digester: &Digester,
) -> Option<NothingToRefine> {
    if memories.core().next().is_none() {
        return Some(NothingToRefine::NoCoreMemories);
    }
    let guard = agent.settings.effective_loss_guard();
    let tags = agent.settings.immutable_tag_set();
    let is_open = |memory: &Memory| !memory.is_constitutional() && !memory.tags.contains_any(&tags);
    if guard != LossGuard::Off && !memories.core().any(is_open) {
        return Some(NothingToRefine::AllProtected);
    }
    if guard != LossGuard::Refuse && mode != Mode::DedupOnly {
        return None;
    }
    let has_free = memories.free().any(is_open);
    let has_duplicates = || {
        let how = agent.settings.effective_duplicate_match();
        let candidates = duplicates::candidates(memories.core(), digester, how);
        !duplicates::plan(&candidates, &tags).is_empty()
    };
    (!has_free && !has_duplicates()).then_some(NothingToRefine::NoDuplicates)
}

/// Records that the schedule checked an agent and did not ask it. As after any attempt, the next check follows with the
/// next slot, or once the memory has grown (SPEC 3.1). With `for_any_model` it is skipped until something is recorded.
pub fn pass_over(mut agent: Agent, for_any_model: bool, now: Timestamp) -> Decision {
    agent.last_attempt = Some(Attempt {
        at: now,
        core_tokens: agent.tally.core_tokens,
        // This counts as an attempt that did not fail, so no retry is due.
        failures: 0,
        retry_at: None,
    });
    agent.nothing_to_refine_seq = for_any_model.then_some(agent.next_seq);
    Decision::of_sessions(agent, Vec::new())
}

/// Begins a session that waits for the agent's consent, or for a worker that asks it. A rehearsal leaves the schedule as it is.
///
/// `nothing` is the result of [`nothing_to_refine`].
///
/// # Errors
/// See [`StartRefusal`].
pub fn begin(
    mut agent: Agent,
    running: Option<SessionId>,
    start: Start,
    nothing: Option<NothingToRefine>,
    now: Timestamp,
) -> Result<Decision, StartRefusal> {
    if agent.settings.inactive || agent.erased_at.is_some() {
        return Err(StartRefusal::Inactive);
    }
    if let Some(id) = running {
        return Err(StartRefusal::SessionOpen(id));
    }
    if let Some(nothing) = nothing {
        return Err(nothing.into());
    }
    // The attempt is recorded at the beginning, not at the end: a crash must not leave an agent that is asked every
    // minute.
    if !start.rehearsal {
        // A scheduled session adds to the failure count only where it retries the previous one.
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
        // The core size and the threshold are fixed when the session is opened (SPEC 3.5); until then memories may
        // change.
        pre_session_tokens: None,
        post_session_tokens: None,
        threshold: None,
        edits: 0,
        removed_tokens: 0,
        archived: 0,
        archived_under_summaries: 0,
        summaries: 0,
        core_token_budget: None,
        asked_within_budget: false,
        loss_guard: None,
        immutable_tags: None,
        duplicate_match: None,
        stats: Stats::default(),
        refused_calls: 0,
        summary: None,
        end_reason: None,
        failure: None,
        reason: None,
        started_at: now,
        started_by: Some(start.started_by),
        first_seq: None,
        ended_at: None,
        undone_at: None,
        usage: Usage::default(),
        driven: None,
        lease: start.lease,
    };
    // No record is written here: the session's first record names who began it (`Draft::tell_beginning`).
    Ok(Draft::for_session(agent, session, now).finish())
}

/// Whether a queued session must not run: the agent is out of service, or the schedule, which queued it, now skips it.
pub fn is_withdrawn(agent: &Agent, session: &Session) -> bool {
    let skipped = schedule::left_alone(agent);
    // Only a queued session is withdrawn. An open one goes on after its worker stopped, since the agent has consented.
    session.state == State::Queued
        && match session.trigger {
            Trigger::Request => skipped == Some(SkipReason::Inactive),
            Trigger::Weekly | Trigger::Budget => skipped.is_some(),
        }
}

/// Leases a session to a worker: one from the queue, or one that was released while it ran. `None` where it has a lease
/// or has ended.
pub fn acquire(session: Session, lease: Lease) -> Option<Session> {
    if session.lease.is_some() || !session.state.is_running() {
        return None;
    }
    let state = match session.state {
        // An open one stays open: the agent has consented, and is not asked a second time.
        State::Queued => State::Asking,
        other => other,
    };
    Some(Session {
        state,
        lease: Some(lease),
        ..session
    })
}

/// Releases a worker's session to other workers. `None` where the worker does not hold the lease.
pub fn release(session: Session, holder: u64) -> Option<Session> {
    // A worker that lost the lease must not release it for the new holder.
    let holds = session.lease.is_some_and(|lease| lease.holder == holder);
    (holds && session.state.is_running()).then(|| {
        let state = match session.state {
            // The agent's answer had not arrived and is stored nowhere, so the agent is asked again.
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

/// An open session as the process or agent that resumes it reads it: with present memories and measures, and the
/// remaining edits. Its ledger begins at `position`, or at the oldest row.
pub fn resume(
    agent: &Agent,
    session: &Session,
    memories: &AllMemories,
    position: Option<LedgerPosition>,
    room: LedgerRoom,
) -> OpenedSession {
    let limits = SessionLimits::of(agent, session);
    let ledger = list(agent, &limits, memories, position, room);
    let gauge = session_gauge(agent, Some(session));
    let prompt = prompt::session(agent, session, &limits, &gauge, &ledger);
    OpenedSession {
        prompt,
        mode: session.mode,
        guard: limits.guard,
        ledger,
        gauge,
        duplicates_removed: 0,
    }
}

/// A session that is open.
#[derive(Debug, Clone)]
pub struct OpenedSession {
    /// The prompt for the model.
    pub prompt: Prompt,
    /// Its tools.
    pub mode: Mode,
    /// The loss guard that holds now, by which the tools work.
    pub guard: LossGuard,
    /// The ledger within it.
    pub ledger: Ledger,
    /// The breaker's input, now.
    pub gauge: Gauge,
    /// Duplicates that code joined.
    pub duplicates_removed: usize,
}

/// How a session is opened.
#[derive(Debug, Clone)]
pub struct SessionOpening {
    /// What to write.
    pub decision: Decision,
    /// The open session.
    pub opened: OpenedSession,
    /// All memories after the cleanup.
    pub memories: AllMemories,
}

/// Merges duplicates, fixes core size, budget and threshold, and builds the prompt (SPEC 3.4, 3.5). `memories` are all
/// of the agent, `room` is the room for the ledger. `agreed` is the agent when it was asked, `None` where it
/// was not. What is laxer since does not count; nor does what is laxer than the guard and the duplicate match of
/// `session`, where it has them.
pub fn open(
    agent: Agent,
    mut session: Session,
    mut memories: AllMemories,
    digester: &Digester,
    room: LedgerRoom,
    agreed: Option<&Agent>,
    now: Timestamp,
) -> SessionOpening {
    session.state = State::Open;
    let position = agent.ledger_position;
    let mut draft = Draft::for_session(agent, session.clone(), now);
    // Before the core size is fixed: merging by code counts neither against the agent nor as room for its edits.
    let how = draft.agent().settings.effective_duplicate_match();
    let asked = agreed.map(|agreed| &agreed.settings);
    let agreed_match = asked.map(Settings::effective_duplicate_match);
    let agreed_match = agreed_match.or(session.duplicate_match);
    let how = agreed_match.map_or(how, |agreed| agreed.min(how));
    let mut tags = draft.agent().settings.immutable_tag_set();
    tags.extend(asked.into_iter().flat_map(Settings::immutable_tag_set));
    let duplicates_removed = clean_duplicates(&mut draft, &mut memories, digester, how, &tags);
    // Stored with the session, so that a laxer setting counts from the next one on only (SPEC 2.7, 3.14).
    let settings = asked.unwrap_or(&draft.agent().settings);
    // As the cleanup left it: its record is then the session's first one, and names who began it.
    let mut session = draft.session().cloned().unwrap_or(session);
    session.pre_session_tokens = Some(draft.core_tokens());
    session.threshold = Some(settings.effective_refinement_threshold());
    session.threshold = Some(session_gauge(draft.agent(), Some(&session)).threshold);
    session.core_token_budget = Some(settings.effective_core_token_budget());
    session.asked_within_budget |= agreed.is_some_and(|agreed| agreed.over_budget() == 0);
    session.immutable_tags = Some(settings.effective_immutable_tags());
    let guard = session_guard(draft.agent(), session.loss_guard);
    session.loss_guard = Some(guard.max(settings.effective_loss_guard()));
    session.duplicate_match = session.rehearsal.then_some(how);
    let opened = OpenedSession {
        duplicates_removed,
        ..resume(draft.agent(), &session, &memories, position, room)
    };
    draft.put_session(session);
    let mut decision = draft.finish();
    decision.agent.find_immutable(memories.core());
    decision.agent.ledger_position = opened.ledger.next_position;
    SessionOpening {
        decision,
        opened,
        memories,
    }
}

/// The ledger, with near duplicates where they are wanted. Both together keep to the room, with what the agent's own
/// style repeats.
fn list(
    agent: &Agent,
    limits: &SessionLimits,
    memories: &AllMemories,
    position: Option<LedgerPosition>,
    room: LedgerRoom,
) -> Ledger {
    let mut listed: Vec<&Memory> = memories.core().collect();
    // Where code refines, its treatment of an administrator's text would reveal which of the agent's texts it equals
    // (SPEC 3.4, 5.1).
    if room.leaves_out_administrators {
        listed.retain(|memory| memory.side() == Side::Agent);
    }
    let how = agent.settings.effective_duplicate_match();
    // Administrators read how many tokens a session sent: a pair with a text of theirs would reveal a similar one (SPEC
    // 5.1).
    let agents = listed.iter().copied();
    let agents = agents.filter(|memory| memory.side() == Side::Agent);
    let pairs = (room.near_duplicates && agent.settings.effective_near_duplicates())
        .then(|| near_duplicates::ledger_lines(agents, how))
        .flatten();
    let taken = pairs.as_ref().map_or(0, |lines| tokens(lines.expose()));
    let tags = &limits.immutable_tags;
    let stays = Stays::of(limits, memories);
    // Pairs first, rows with the remaining room: there are few pairs, and they name what to check.
    let style = agent.settings.refinement_prompt.as_ref();
    let style = style.map_or("", PrivateText::expose);
    let repeats = |name: &str| u64::from(has_placeholder(style, name));
    let identity = repeats("system_prompt") * tokens(&prompt::identity(agent));
    let budget = room.tokens.saturating_sub(taken + identity) / (1 + repeats("core_memories"));
    Ledger {
        near_duplicates: pairs,
        may_leave: stays.may_leave,
        has_free: stays.has_free,
        has_summaries: memories
            .core()
            .any(|memory| memory.is_summary && limits.may_move(memory)),
        ..ledger::build(listed, tags, &stays.numbers, position, budget)
    }
}

/// What the age rule and the guard leave to a session, as its prompt states it.
struct Stays {
    /// The memories that cannot leave by a single delete.
    numbers: BTreeSet<Number>,
    /// How many may leave, tried one after the other from the newest.
    may_leave: usize,
    /// Whether there is one that is free to leave.
    has_free: bool,
}

impl Stays {
    fn of(limits: &SessionLimits, memories: &AllMemories) -> Self {
        if limits.guard != LossGuard::Archive {
            return Self {
                numbers: BTreeSet::new(),
                may_leave: 0,
                // Only where the prompt states it: it takes a hash of each text.
                has_free: limits.depends_on_copies()
                    && memories.free().any(|memory| limits.may_move(memory)),
            };
        }
        let free = memories.free().filter(|memory| limits.may_move(memory));
        let free: BTreeSet<Number> = free.map(|memory| memory.number).collect();
        let ages = memories.age_rows(&BTreeSet::new());
        let held = memories.held_by_copies(limits.age_share());
        let may_go = |place: usize| {
            let number = ages.numbers.get(place);
            let number = number.filter(|number| !held.contains(*number));
            let memory = number.and_then(|number| memories.get(*number));
            memory.is_some_and(|memory| limits.may_move(memory))
        };
        let outlook = age_rule::outlook(&ages.rows, limits.age_share(), may_go);
        let stuck = outlook.stuck.iter();
        let stuck = stuck.filter_map(|place| ages.numbers.get(*place));
        Self {
            numbers: stuck
                .chain(&held)
                .copied()
                .filter(|number| !free.contains(number))
                .collect(),
            may_leave: outlook.may_leave,
            has_free: !free.is_empty(),
        }
    }
}

/// Merges duplicates (SPEC 3.4). Returns the number of removed memories.
fn clean_duplicates(
    draft: &mut Draft,
    memories: &mut AllMemories,
    digester: &Digester,
    how: DuplicateMatch,
    immutable_tags: &BTreeSet<String>,
) -> usize {
    let candidates = duplicates::candidates(memories.core(), digester, how);
    let plan = duplicates::plan(&candidates, immutable_tags);
    drop(candidates);
    let now = draft.now();
    let mut removed = 0;
    for group in plan {
        let survivor = group.survivor.number;
        let mut changes = Vec::new();
        let left = group.discarded.iter().map(|number| (*number, false));
        let left: BTreeMap<Number, bool> = left
            .chain(group.archived.iter().map(|number| (*number, true)))
            .collect();
        for (&number, &is_archived) in &left {
            let Some(before) = memories.get(number).cloned() else {
                continue;
            };
            let after = match is_archived {
                true => before.archived(Some(survivor), ArchivedBy::Duplicate, now),
                false => before.discarded(now),
            };
            changes.extend(memories.alter(draft, &before, &after));
            // Sources of a discarded copy come under the one that stays.
            if !is_archived {
                changes.extend(memories.move_sources(draft, number, Some(survivor)));
            }
        }
        if let Some(before) = memories.get(survivor).cloned() {
            let mut after = group.survivor;
            // A new `updated_at` alone would count as a change, and be written.
            if after != before {
                after.updated_at = now;
            }
            changes.extend(memories.alter(draft, &before, &after));
        }
        removed += left.len();
        let facts = Facts::default()
            .numbers("discarded", group.discarded)
            .numbers("archived", group.archived);
        // Code removes the duplicates, whichever actor opened the session.
        let (system, action) = (Actor::system(), Action::MemoryDeduplicated);
        draft.record(&system, action, Some(survivor), facts, changes);
    }
    removed
}

/// Records the end of a rehearsal (SPEC 3.16). `session` is the rehearsal as it ended on the copy; the agent itself
/// does not change.
pub fn end_rehearsal(
    agent: Agent,
    mut session: Session,
    actor: &Actor,
    now: Timestamp,
) -> Decision {
    // On the copy it ended earlier; others may have written records since.
    session.ended_at = Some(now);
    let action = end_action(session.state);
    let mut facts = Facts::default()
        .code("session", "rehearsal")
        .count("edits", session.edits)
        .count("tokens_removed", session.removed_tokens)
        .outcome(&session);
    if let Some(why) = session.end_reason {
        facts = facts.code("reason", why.as_str());
    }
    facts = facts.failure(session.failure);
    let body = RecordBody {
        summary: session.summary.clone(),
        reason: session.reason.clone(),
        ..RecordBody::default()
    };
    let mut draft = Draft::for_session(agent, session, now);
    draft.record(actor, action, None, facts, body);
    draft.finish()
}

fn end_action(state: State) -> Action {
    // No session ends in a running state.
    let action = state.end_action();
    action.unwrap_or(Action::MemoryRefinementAbandoned)
}

/// How a session ends other than by its own tools.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionEnding {
    /// The agent did not consent, and answered this (SPEC 3.3).
    Declined(PrivateText),
    /// It stopped without completing, or reached a limit; its edits stay.
    Abandoned(EndReason),
    /// Its provider failed permanently; its edits stay. The message must hold no agent's text.
    Failed(FailureClass, String),
}

/// Ends a running session so.
pub fn end(
    mut agent: Agent,
    mut session: Session,
    ending: SessionEnding,
    actor: &Actor,
    now: Timestamp,
) -> Decision {
    let (state, why, reason) = match ending {
        SessionEnding::Declined(words) => {
            let why = match prompt::is_empty(words.expose()) {
                true => EndReason::NoAnswer,
                false => EndReason::Refused,
            };
            let words = Some(words).filter(|words| !words.expose().trim().is_empty());
            (State::Declined, why, words)
        }
        SessionEnding::Abandoned(why) => (State::Abandoned, why, None),
        SessionEnding::Failed(failure, message) => {
            session.failure = Some(failure);
            (State::Failed, EndReason::Provider, Some(message.into()))
        }
    };
    let action = end_action(state);
    // Before the journal entry is drafted, which is no part of the core size in any case.
    session.post_session_tokens = session.pre_session_tokens.map(|_| agent.tally.core_tokens);
    session.end(state, Some(why), now);
    let agents = agent.settings.effective_refinement_threshold();
    session.threshold = session.threshold.map(|fixed| fixed.stricter(agents));
    session.reason.clone_from(&reason);
    if !session.rehearsal {
        agent.note_attempt_end();
        // Only failures without an edit: with edits the attempt has had its effect, and the next slot suffices.
        let is_tried_again =
            state == State::Failed && session.trigger != Trigger::Request && session.edits == 0;
        if is_tried_again {
            agent.note_failure(now);
        }
    }
    let facts = Facts::default()
        .code("reason", why.as_str())
        .failure(session.failure)
        .count("edits", session.edits)
        .count("tokens_removed", session.removed_tokens)
        .outcome(&session);
    let entry = session_entry::left_behind(&session, why, agent.tally.core_tokens);
    let mut draft = Draft::for_session(agent, session, now);
    let (number, created) = entry
        .map(|entry| draft.create(NewMemory::report(ReportKind::Session, entry)))
        .unzip();
    let body = RecordBody {
        changes: created.into_iter().collect(),
        reason,
        ..RecordBody::default()
    };
    draft.record(actor, action, number, facts, body);
    draft.finish()
}
