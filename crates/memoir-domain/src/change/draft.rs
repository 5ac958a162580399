//! How a decision is built: every change of a memory passes through [`Draft`], which keeps the counts, the numbers and
//! the log consistent.
//!
//! A [`Decision`] holds the intended state of the agent, its sessions, the memories' changes and the log's records.
//! Only [`Draft`] makes one that changes a memory. The core size is stored in the agent's row, not summed on demand;
//! `memoir doctor` compares it with the sum.

use crate::{
    access::AccessRequest,
    agent::Agent,
    log::audit::{Action, Actor, CORE_TOKENS, Change, Facts, Record, RecordBody, STARTED_BY},
    memory::{Memory, NewMemory, Number},
    session::Session,
    time::Timestamp,
};

/// The writes of a use case, in one transaction.
// Made here only: changes without their records, or counts that do not follow the changes, cannot be constructed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Decision {
    /// The agent's new state, counts included.
    pub agent: Agent,
    /// The new states of the sessions concerned.
    pub sessions: Vec<Session>,
    /// The memories' changes, in order; a memory can be changed more than once.
    pub changes: Vec<Change>,
    /// The log's new records, in order.
    pub records: Vec<Record>,
    /// Records of the log whose text is removed (SPEC 4.4). A `memory_shredded` record among `records` names each of
    /// them.
    pub redactions: Vec<Redaction>,
    /// The new states of the access requests concerned.
    pub access: Vec<AccessRequest>,
}

/// A record of the log after its text was removed. Its open facts stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redaction {
    /// The record's place in the log.
    pub seq: u64,
    /// Its new body.
    pub body: RecordBody,
}

/// A decision under construction. The agent's numbers and counts change only by its methods.
#[derive(Debug, Clone)]
pub struct Draft {
    /// Without the session of the draft, which changes until the end.
    decision: Decision,
    session: Option<Session>,
    now: Timestamp,
}

impl Draft {
    /// Begins with the state of the agent at `now`. Its records belong to no session until `put_session`.
    pub fn for_agent(agent: Agent, now: Timestamp) -> Self {
        Self {
            decision: Decision::of_sessions(agent, Vec::new()),
            session: None,
            now,
        }
    }

    /// As [`Draft::for_agent`], with a session that is written and that its records belong to.
    pub fn for_session(agent: Agent, session: Session, now: Timestamp) -> Self {
        Self {
            session: Some(session),
            ..Self::for_agent(agent, now)
        }
    }

    /// The agent with everything drafted so far.
    pub fn agent(&self) -> &Agent {
        &self.decision.agent
    }

    /// The session with everything drafted so far; `None` where the records belong to none.
    pub fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// The core size after everything drafted so far, in tokens.
    pub fn core_tokens(&self) -> u64 {
        self.decision.agent.tally.core_tokens
    }

    /// Writes that state of the session. Later records belong to it.
    pub(crate) fn put_session(&mut self, session: Session) {
        self.session = Some(session);
    }

    pub(crate) fn put_access(&mut self, requests: Vec<AccessRequest>) {
        self.decision.access = requests;
    }

    /// Records on the agent that a session ended with a result, for its schedule (SPEC 3.1).
    pub(crate) fn note_refinement(&mut self) {
        self.decision.agent.last_refinement_at = Some(self.now);
        self.decision.agent.note_attempt_end();
    }

    /// Records on the agent that an undo made its core this much larger: what returned is no growth, by which the
    /// schedule would begin another session immediately (SPEC 3.1, 3.15).
    pub(crate) fn note_return(&mut self, returned: u64) {
        let agent = &mut self.decision.agent;
        agent.last_refinement_at = Some(self.now);
        if let Some(attempt) = &mut agent.last_attempt {
            attempt.core_tokens = attempt.core_tokens.saturating_add(returned);
        }
    }

    /// The time of the decision.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Adds a memory under the next number. The next record must name it.
    pub fn create(&mut self, memory: NewMemory) -> (Number, Change) {
        self.add(memory, None)
    }

    /// As [`Draft::create`], for a memory that is discarded from the beginning, since a time of its own.
    pub fn create_discarded(&mut self, memory: NewMemory, at: Timestamp) -> (Number, Change) {
        self.add(memory, Some(at))
    }

    fn add(&mut self, memory: NewMemory, discarded_at: Option<Timestamp>) -> (Number, Change) {
        let agent = &mut self.decision.agent;
        let number = agent.next_number;
        agent.next_number = Number(number.0 + 1);
        let memory = Memory {
            discarded_at,
            // `next_seq` is the number of the record that is drafted next, which holds the text.
            ..memory.into_memory(number, agent.next_seq, self.now)
        };
        agent.tally.add(&memory);
        agent.note_memory(&memory, self.now);
        // The first one since the last reflection: later ones do not make it wait longer.
        if memory.is_active() && memory.is_to_be_reflected_on() {
            agent.unreflected_since.get_or_insert(self.now);
        }
        let change = Change::Created(memory);
        self.decision.changes.push(change.clone());
        (number, change)
    }

    /// Changes `before` into `after`; `None` where they are the same.
    pub fn alter(&mut self, before: Memory, after: &Memory) -> Option<Change> {
        // Subtracted and added even where only the text changes: the tally depends on it, and must equal a recount.
        let agent = &mut self.decision.agent;
        agent.tally.remove(&before);
        agent.tally.add(after);
        agent.note_memory(after, self.now);
        let change = Change::between(before, after)?;
        self.decision.changes.push(change.clone());
        Some(change)
    }

    /// Discards it; `None` where it is discarded already at that time.
    pub(crate) fn discard(&mut self, memory: &Memory) -> Option<Change> {
        self.alter(memory.clone(), &memory.discarded(self.now))
    }

    /// Writes one record under the next sequence number.
    pub fn record(
        &mut self,
        actor: &Actor,
        action: Action,
        memory: Option<Number>,
        facts: Facts,
        body: impl Into<RecordBody>,
    ) {
        let body = body.into();
        // A model named for one session instead of the agent's own is audited (SPEC 3.1).
        let facts = match &self.session {
            Some(session) if action.is_session_end() => facts.model(session),
            _ => facts,
        };
        // Readers without access need the core size long after, also when the text was shredded.
        let facts = if body.changes.is_empty() {
            facts
        } else {
            // So every change of a record is drafted before the record.
            facts.count(CORE_TOKENS, self.decision.agent.tally.core_tokens)
        };
        let seq = self.decision.agent.next_seq;
        self.decision.agent.next_seq += 1;
        if action == Action::AgentConfigured {
            self.decision.agent.settings_seq = Some(seq);
        }
        let facts = self.tell_beginning(action, seq, facts);
        self.decision.records.push(Record {
            seq,
            recorded_at: self.now,
            actor: actor.clone(),
            action,
            session: self.session.as_ref().map(|session| session.id),
            memory,
            facts,
            body,
        });
    }

    /// Writes a record of these changes, which is about one memory.
    pub(crate) fn record_of(
        &mut self,
        actor: &Actor,
        action: Action,
        number: Number,
        changes: Vec<Change>,
    ) {
        self.record(actor, action, Some(number), Facts::default(), changes);
    }

    /// The facts of the record at that place, with who began the session where it is the session's first one. A
    /// rehearsal has the record of its end only: what is drafted on its copy is not written.
    fn tell_beginning(&mut self, action: Action, seq: u64, facts: Facts) -> Facts {
        let Some(session) = &mut self.session else {
            return facts;
        };
        let is_first = match session.rehearsal {
            true => action.is_session_end(),
            false => session.first_seq.is_none(),
        };
        let Some(actor) = session.started_by.as_ref().filter(|_| is_first) else {
            return facts;
        };
        if !session.rehearsal {
            session.first_seq = Some(seq);
        }
        facts.actor(STARTED_BY, actor)
    }

    /// The records drafted so far.
    pub fn records(&self) -> &[Record] {
        &self.decision.records
    }

    /// The memories' changes drafted so far.
    pub fn changes(&self) -> &[Change] {
        &self.decision.changes
    }

    /// Returns the writes.
    pub fn finish(mut self) -> Decision {
        self.decision.sessions.splice(0..0, self.session);
        self.decision
    }
}

impl Decision {
    /// A decision that writes the agent and its sessions, and adds no record.
    pub fn of_sessions(agent: Agent, sessions: Vec<Session>) -> Self {
        Self {
            agent,
            sessions,
            changes: Vec::new(),
            records: Vec::new(),
            redactions: Vec::new(),
            access: Vec::new(),
        }
    }

    /// A decision that writes the agent and one record, which is about no single memory and has no text.
    pub(crate) fn of_record(
        agent: Agent,
        actor: &Actor,
        action: Action,
        facts: Facts,
        now: Timestamp,
    ) -> Self {
        let mut draft = Draft::for_agent(agent, now);
        draft.record(actor, action, None, facts, Vec::new());
        draft.finish()
    }

    /// A decision that writes the agent and one of its access requests, and adds no record.
    pub fn of_access(agent: Agent, request: AccessRequest) -> Self {
        Self {
            access: vec![request],
            ..Self::of_sessions(agent, Vec::new())
        }
    }

    /// This decision and then `next`, which builds on it, as one.
    #[must_use]
    pub fn then(mut self, next: Self) -> Self {
        // A row is written once a decision: the later state of a session or request counts.
        // Changes and records are a history, and stay in full.
        let renewed = |session: &Session| next.sessions.iter().any(|other| other.id == session.id);
        self.sessions.retain(|session| !renewed(session));
        self.sessions.extend(next.sessions);
        self.changes.extend(next.changes);
        self.records.extend(next.records);
        self.redactions.extend(next.redactions);
        let renewed =
            |request: &AccessRequest| next.access.iter().any(|other| other.id == request.id);
        self.access.retain(|request| !renewed(request));
        self.access.extend(next.access);
        self.agent = next.agent;
        self
    }
}
