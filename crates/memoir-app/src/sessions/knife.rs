//! One call of a session's tool, the same for every door and driver: read, load, decide, commit
//! (SPEC 3.8, 3.18).

use std::collections::{BTreeMap, BTreeSet};

use memoir_domain::{
    SessionId, Timestamp,
    agent::Agent,
    audit::{Change, Record},
    breaker::Gauge,
    draft::Decision,
    knife::{self, CallOutcome, KnifeCall, KnifeRequest, ToolResult, Trip, View},
    lifecycle,
    memory::{Memory, Number, SharedMemory, by_number},
    rollback,
    session::{Driver, Session, State, Usage},
    survey::Survey,
    wording::{self, WordingId, WordingTexts},
};
use memoir_store::{AgentQuery, RecordFilter, Selection};
use memoir_vault::AgentKey;
use serde_json::Value;
use tracing::Instrument;

use super::{end::holds, recent::SessionNotes, rehearsal_copy::RehearsalCopy, rehearse::Rehearsal};
use crate::{
    AgentHandle, CONFLICT, Error, OwnAgent, Result, again, codec, memories::memory_query,
    opened::MemoryList, parallel, spans,
};

/// A look at these memories, on another thread where it would hold this one up.
pub(super) async fn look_at(memories: &MemoryList) -> Result<Survey> {
    let shared: Vec<SharedMemory> = memories.shared().collect();
    match Survey::is_short(memories) {
        // Another thread takes as long to wake and to get memory of its own.
        true => Ok(Survey::of(shared)),
        false => parallel::aside(move || Survey::of(shared)).await,
    }
}

/// A tool's answer, and where the session stands after it.
#[derive(Debug, Clone)]
pub(crate) struct Called {
    pub(crate) result: ToolResult,
    /// The breaker's view before and after; `None` where no session is open.
    pub(crate) gauges: Option<(Gauge, Gauge)>,
    /// Whether it worked on a rehearsal's copy.
    pub(crate) is_rehearsed: bool,
}

impl OwnAgent {
    /// Calls a tool of the session. A refusal is an ordinary answer. `None` for `arguments` stands for
    /// something that was no JSON.
    ///
    /// # Errors
    /// The store fails; never because of what was sent.
    pub async fn call_tool(
        &self,
        session: SessionId,
        tool: &str,
        arguments: Option<&Value>,
    ) -> Result<ToolResult> {
        Ok(self
            .call(session, &KnifeRequest::read(tool, arguments), None)
            .await?
            .result)
    }
}

impl AgentHandle {
    /// As [`OwnAgent::call_tool`]. What the session's model used so far, `usage`, is written in the same commit: who
    /// sees the session's end sees what it cost, and a crash cannot come between. `None` where nobody counts it.
    pub(crate) async fn call(
        &self,
        id: SessionId,
        request: &KnifeRequest,
        usage: Option<Usage>,
    ) -> Result<Called> {
        let span = spans::tool_call(self.scope, id, request.tool);
        let called = self.carry_out(id, request, usage);
        let called = called.instrument(span.clone()).await;
        let result = called.as_ref().ok().map(|called| &called.result);
        spans::tool_answered(&span, result);
        // What is done to a copy is not counted.
        if !called.as_ref().is_ok_and(|called| called.is_rehearsed) {
            self.memoir.metrics.called(request.tool, result);
        }
        // A call of a session that is over is none of its calls.
        if result.is_some_and(
            |result| matches!(result, ToolResult::Error { code, .. } if *code != "session_over"),
        ) {
            self.memoir.refusals.note(id);
        }
        called
    }

    async fn carry_out(
        &self,
        id: SessionId,
        request: &KnifeRequest,
        usage: Option<Usage>,
    ) -> Result<Called> {
        again(|| self.attempt_call(id, request, usage)).await
    }

    async fn attempt_call(
        &self,
        id: SessionId,
        request: &KnifeRequest,
        usage: Option<Usage>,
    ) -> Result<Called> {
        let mut notes = self.memoir.recent.take_notes(id);
        let called = self.attempt_noting(id, request, usage, &mut notes).await;
        let is_over = called.as_ref().is_ok_and(|called| {
            let refused = matches!(
                called.result,
                ToolResult::Error {
                    code: "session_over",
                    ..
                }
            );
            refused || called.result.ends_session()
        });
        if is_over {
            self.memoir.recent.drop_notes(id);
        } else {
            self.memoir.recent.put_notes(id, notes);
        }
        called
    }

    async fn attempt_noting(
        &self,
        id: SessionId,
        request: &KnifeRequest,
        usage: Option<Usage>,
        notes: &mut SessionNotes,
    ) -> Result<Called> {
        let now = self.memoir.now();
        // What may rest on this: a decision that will be committed, and nothing else. Its version
        // is the proof; a refusal, a search or an answer without a commit has none, and is made on
        // the store.
        let known = self.known_state(id, request).await?;
        if let Some(state) = known.filter(|state| !has_lapsed(state, now)) {
            let state = state.with_usage(usage);
            let (outcome, before) = self.decide_call(&state, request, notes, now).await?;
            // Only what is written can rest on what this process knows: the commit fails where somebody
            // else wrote since. Any other answer takes a look at the store.
            // A trip is left out with the rest: it needs the session's history, which is read from
            // the store anyway.
            if let CallOutcome::Commit(decision, result) = outcome {
                match self
                    .write_call(state, *decision, result, before, id, notes)
                    .await
                {
                    // Nothing was written. The call is decided once more below, on the store, and
                    // only a second loss counts as an attempt of `again`.
                    Err(Error::Store(memoir_store::Error::Conflict)) => {}
                    written => return written,
                }
            }
        }
        // From here on the state is read from the store and not from what this process remembers, so any answer may be
        // given.
        let mut state = self.fresh_state(id, request).await?;
        // The agent comes too late: the session is closed on the record first, so that the refusal which follows says
        // what the log says.
        if has_lapsed(&state, now) {
            Box::pin(self.close_if_lapsed()).await?;
            state = self.fresh_state(id, request).await?;
        }
        let state = state.with_usage(usage);
        let (outcome, before) = self.decide_call(&state, request, notes, now).await?;
        match outcome {
            CallOutcome::Answer(result) => {
                note_refusal(notes, request, &result);
                // A refusal commits nothing, and so does not prolong the lease, although the agent is still there.
                self.stay(&state, now).await?;
                Ok(unchanged(&state, result, before))
            }
            CallOutcome::Survey => Err(Error::Inconsistent(
                "a call was decided on all memories and still asks for them".to_owned(),
            )),
            CallOutcome::Search(call) => {
                self.stay(&state, now).await?;
                let result = Box::pin(self.search(&state, &call)).await?;
                Ok(unchanged(&state, result, before))
            }
            CallOutcome::Commit(decision, result) => {
                self.write_call(state, *decision, result, before, id, notes)
                    .await
            }
            CallOutcome::Tripped(trip) => {
                let rolled_back = self.roll_back_tripped(&state, id, *trip);
                let (decision, result) = Box::pin(rolled_back).await?;
                self.write_call(state, decision, result, before, id, notes)
                    .await
            }
        }
    }

    /// What a call is decided on, as this process left it after the session's last call; `None` where it
    /// does not know, or where the call does not change a memory.
    async fn known_state(
        &self,
        id: SessionId,
        request: &KnifeRequest,
    ) -> Result<Option<Box<CallState>>> {
        if request.numbers().is_empty() {
            return Ok(None);
        }
        // Taken out and not looked at: where the call is cut off in the middle, nothing is known
        // any more, and the next one asks the store.
        let Some(known) = self.memoir.recent.take(self.scope, id) else {
            return Ok(None);
        };
        let (store, opened) = (&self.memoir.store, &self.memoir.opened);
        // The known state was left by a commit, so it has a version.
        let version = known.base.version().unwrap_or_default();
        let numbers = request.numbers();
        let memories = match opened.at(self.scope, version, numbers) {
            Some(memories) => memories,
            None => {
                let rows = store.memories(self.scope, numbers).await?;
                opened.open(known.base.key(), version, rows)?
            }
        };
        Ok(Some(Box::new(CallState {
            memories: by_number(memories.copies()),
            base: known.base,
            agent: known.agent,
            session: Some(known.session),
            is_known: true,
            // Nothing is known of those.
            rehearsed: None,
        })))
    }

    async fn fresh_state(&self, id: SessionId, request: &KnifeRequest) -> Result<Box<CallState>> {
        let loaded = self.load(&what_it_needs(id, request)).await?;
        let memories = by_number(loaded.memories.copies());
        let (session, rehearsal) = loaded.session.unzip();
        let state = Box::new(CallState {
            base: loaded.base,
            agent: loaded.agent,
            memories,
            session,
            is_known: false,
            rehearsed: None,
        });
        match rehearsal.flatten().and_then(Rehearsal::into_copy) {
            Some(copy) => Ok(state.on_copy(copy)),
            // Without its copy a rehearsal would be a session like any other.
            None if state.session.as_ref().is_some_and(needs_copy) => Err(Error::Inconsistent(
                format!("table `sessions`, session {id}: is a rehearsal without its copy"),
            )),
            None => Ok(state),
        }
    }

    /// What becomes of the call, and the breaker's view before it.
    async fn decide_call(
        &self,
        state: &CallState,
        request: &KnifeRequest,
        notes: &mut SessionNotes,
        now: Timestamp,
    ) -> Result<(CallOutcome, Option<Gauge>)> {
        let digester = state.base.digester();
        let texts = self.call_texts(state, request).await?;
        let decide = |notes: &SessionNotes| {
            let version = state.base.version();
            let survey = notes.survey.as_ref();
            let survey = survey
                .filter(|(of, _)| Some(*of) == version)
                .map(|(_, survey)| survey);
            let view = View {
                agent: &state.agent,
                session: state.session.as_ref(),
                memories: &state.memories,
                texts: &texts,
                survey,
                limits: self.memoir.settings.loss_limits,
                digester: &digester,
                refusals: &notes.refusals,
                is_confirmed: false,
            };
            knife::decide(view, request, &self.as_actor(), now)
        };
        let mut outcome = decide(notes);
        if matches!(outcome, CallOutcome::Survey) {
            // A look at all memories costs a few milliseconds for a thousand: only a call that
            // needs one asks for it, and later ones of the session go on with it.
            notes.survey = Some(Box::pin(self.survey(state)).await?);
            outcome = decide(notes);
        }
        let open = state
            .session
            .as_ref()
            .filter(|session| session.state == State::Open);
        let before = open.map(|session| knife::session_gauge(&state.agent, session));
        Ok((outcome, before))
    }

    /// Writes a call's decision.
    async fn write_call(
        &self,
        state: Box<CallState>,
        mut decision: Decision,
        result: ToolResult,
        before: Option<Gauge>,
        id: SessionId,
        notes: &mut SessionNotes,
    ) -> Result<Called> {
        // Only a look at all memories has to follow them.
        let changes = match notes.survey {
            Some(_) => decision.changes.clone(),
            None => Vec::new(),
        };
        if let Some(rehearsed) = state.rehearsed {
            let written = self.write_rehearsed(&state.base, *rehearsed, decision, id);
            let (version, after) = Box::pin(written).await?;
            follow(notes, &state.base, version, &changes);
            let gauges = before.zip(Some(after));
            return Ok(Called {
                result,
                gauges,
                is_rehearsed: true,
            });
        }
        let mut sessions = decision.sessions.iter_mut();
        let after = sessions.find(|session| session.id == id).map(|session| {
            // In the same commit: no second write is needed to tell that whoever drives the session
            // is still there.
            self.prolong(session, self.memoir.now());
            knife::session_gauge(&decision.agent, session)
        });
        let written = self.commit(&state.base, decision, codec::WrittenBeside::default());
        let base = written.await?;
        follow(notes, &state.base, base.version(), &changes);
        Ok(Called {
            result,
            gauges: before.zip(after.or(before)),
            is_rehearsed: false,
        })
    }

    /// Writes down what was decided on a rehearsal's copy, and the breaker's view after it. The agent itself
    /// stays as it is.
    async fn write_rehearsed(
        &self,
        base: &codec::Base,
        (mut copy, agent): (RehearsalCopy, Agent),
        decision: Decision,
        id: SessionId,
    ) -> Result<(Option<u64>, Gauge)> {
        let now = self.memoir.now();
        copy.note(&decision);
        let mut sessions = decision.sessions.into_iter();
        let session = sessions.find(|session| session.id == id);
        let mut session = session.ok_or(Error::SessionLost(id))?;
        let gauge = knife::session_gauge(&decision.agent, &session);
        let (decision, rehearsal) = if session.state.is_running() {
            self.prolong(&mut session, now);
            let decision = Decision::of_sessions(agent, vec![session]);
            (decision, Rehearsal::running(copy))
        } else {
            session.lease = None;
            let actor = self.as_actor();
            let decision = lifecycle::end_rehearsal(agent, session, &actor, now);
            (decision, Rehearsal::ended(&copy))
        };
        let beside = codec::WrittenBeside::rehearsed(id, rehearsal);
        let next = self.commit(base, decision, beside).await?;
        Ok((next.version(), gauge))
    }

    /// Notes that the agent which drives the session itself is still there.
    async fn stay(&self, state: &CallState, now: Timestamp) -> Result<()> {
        match &state.session {
            Some(session) if session.state.is_running() => self.renew_own(session, now).await,
            _ => Ok(()),
        }
    }

    /// A look at all memories as the call sees them, and the version of the agent that it is of.
    ///
    /// # Errors
    /// A conflict, where somebody else wrote since the call's own look.
    async fn survey(&self, state: &CallState) -> Result<(u64, Survey)> {
        let loaded = self.load(&memory_query(Selection::Core)).await?;
        let Some(version) = loaded
            .base
            .version()
            .filter(|_| loaded.base.version() == state.base.version())
        else {
            // The edit was decided on one version of the memories, and must not be measured against another one.
            return Err(CONFLICT);
        };
        let memories = match state.copy() {
            Some(copy) => copy.lay_over_all(&loaded.memories),
            None => loaded.memories,
        };
        Ok((version, look_at(&memories).await?))
    }

    /// The texts that a call is measured by. Not read from the log are those that the memories still say word for word,
    /// and those that this process has had before, where the call rests on what it knows.
    async fn call_texts(&self, state: &CallState, request: &KnifeRequest) -> Result<WordingTexts> {
        if !request.tool.is_some_and(knife::Tool::is_edit) {
            return Ok(WordingTexts::new());
        }
        let (scope, key) = (self.scope, state.base.key());
        let version = state.base.version().unwrap_or_default();
        let numbers = request.numbers().iter();
        let members = numbers.filter_map(|one| state.memories.get(one));
        let members: Vec<&Memory> = members.collect();
        let ids: BTreeSet<WordingId> = members
            .iter()
            .flat_map(|one| wording::places(one))
            .collect();
        let mut texts = match (state.copy(), state.is_known) {
            // On a copy, texts that its own merges made stand in no log yet.
            (Some(copy), _) => wording::texts_in(copy.history()),
            (None, true) => self.memoir.opened.texts(scope, version, &ids),
            (None, false) => WordingTexts::new(),
        };
        for member in members {
            texts.append(&mut wording::texts_said_by(member));
        }
        texts.append(&mut self.texts_in_log(key, &ids, &texts).await?);
        // What a memory says now it may no longer say after the call, and the next call is measured by it too. Records
        // are never changed but by shredding, which makes this process forget its texts, and of which another process's
        // shows by the version: so a text that was read once may be used again.
        if state.rehearsed.is_none() {
            self.memoir.opened.keep_texts(scope, version, &texts);
        }
        // A text that is missing must not count as one that says nothing: measured without it, a
        // loss of what it says would pass.
        complete(texts, &ids)
    }

    /// The texts of all that these memories stand for, and of what they were protected at: each from the
    /// record of the log in which it stands.
    ///
    /// # Errors
    /// A record is missing, or is not as it was written.
    pub(crate) async fn texts<'a>(
        &self,
        key: &AgentKey,
        memories: impl Iterator<Item = &'a Memory>,
    ) -> Result<WordingTexts> {
        let ids: BTreeSet<WordingId> = memories.flat_map(wording::places).collect();
        self.texts_at(key, &ids).await
    }

    /// The texts that stand at these places of the log.
    ///
    /// # Errors
    /// As for [`AgentHandle::texts`].
    pub(crate) async fn texts_at(
        &self,
        key: &AgentKey,
        ids: &BTreeSet<WordingId>,
    ) -> Result<WordingTexts> {
        let texts = self.texts_in_log(key, ids, &WordingTexts::new()).await?;
        complete(texts, ids)
    }

    /// The texts at these places of the log that are not at hand.
    async fn texts_in_log(
        &self,
        key: &AgentKey,
        ids: &BTreeSet<WordingId>,
        at_hand: &WordingTexts,
    ) -> Result<WordingTexts> {
        let mut texts = WordingTexts::new();
        let missing = || ids.iter().filter(|id| !at_hand.contains_key(id));
        let mut seqs: Vec<u64> = missing().map(|id| id.seq).collect();
        seqs.dedup();
        if !seqs.is_empty() {
            for row in self.memoir.store.records_at(self.scope, &seqs).await? {
                let record = codec::record(Some(key), row)?;
                for id in missing().filter(|id| id.seq == record.seq) {
                    texts.extend(wording::text_in(&record, id.number).map(|text| (*id, text)));
                }
            }
        }
        Ok(texts)
    }

    async fn search(&self, state: &CallState, call: &KnifeCall) -> Result<ToolResult> {
        let KnifeCall::Search {
            query,
            since,
            until,
        } = call
        else {
            return Err(Error::Inconsistent(
                "a search was decided for another tool".to_owned(),
            ));
        };
        let loaded = self.load(&memory_query(Selection::KeptCore)).await?;
        let (query, since, until) = (query.as_ref(), *since, *until);
        Ok(match state.copy() {
            Some(copy) => knife::search(&copy.lay_over_all(&loaded.memories), query, since, until),
            None => knife::search(&loaded.memories, query, since, until),
        })
    }

    /// The tripping call and the whole rollback as one decision (SPEC 3.13). It rests on the version of
    /// the agent that the call was decided on: the session's history cannot grow without a new one.
    async fn roll_back_tripped(
        &self,
        state: &CallState,
        id: SessionId,
        trip: Trip,
    ) -> Result<(Decision, ToolResult)> {
        if let Some(copy) = state.copy() {
            let touched = rollback::touched(copy.history()).into_iter().collect();
            let loaded = self
                .load(&memory_query(Selection::Numbers(touched)))
                .await?;
            let mut memories = by_number(loaded.memories.copies());
            copy.lay_over(&mut memories);
            return Ok(trip.roll_back(copy.history(), memories));
        }
        let (history, memories) = self.session_history(id).await?;
        Ok(trip.roll_back(&history, memories))
    }

    /// The session's edits, and every memory that they touch as it stands now: all that the session did,
    /// as its sealed row counts it.
    ///
    /// # Errors
    /// Records of the session are missing, or there are others.
    pub(super) async fn session_history(
        &self,
        id: SessionId,
    ) -> Result<(Vec<Record>, BTreeMap<Number, Memory>)> {
        again(|| self.attempt_history(id)).await
    }

    async fn attempt_history(
        &self,
        id: SessionId,
    ) -> Result<(Vec<Record>, BTreeMap<Number, Memory>)> {
        // The count is read before and after the records. Only where both are the same did the
        // session stand still meanwhile; the commit would notice a later change by the version.
        let before = self.edits_of(id).await?;
        let history = self.edit_records(id).await?;
        let touched = rollback::touched(&history).into_iter().collect();
        let loaded = self
            .load(&memory_query(Selection::Numbers(touched)))
            .await?;
        let edits = self.edits_of(id).await?;
        if before != edits {
            // What is read one after the other was of two moments.
            return Err(CONFLICT);
        }
        let is_capped = |record: &&Record| record.action.is_capped_edit();
        // The session's row is sealed and the index of records by session is not: whoever takes a
        // record out of the session by its column would have a rollback leave an edit in force.
        if history.iter().filter(is_capped).count() != edits as usize {
            return Err(Error::Inconsistent(format!(
                "table `audit_records`: the edits of session {id} are not those that it counts"
            )));
        }
        Ok((history, by_number(loaded.memories.copies())))
    }

    async fn edit_records(&self, id: SessionId) -> Result<Vec<Record>> {
        let filter = RecordFilter {
            session: Some(id),
            ..RecordFilter::default()
        };
        let mut history = self.load_records(&filter).await?;
        history.retain(|record| record.action.is_session_edit());
        Ok(history)
    }

    async fn edits_of(&self, id: SessionId) -> Result<u32> {
        let wanted = AgentQuery {
            session: Some(id),
            ..AgentQuery::default()
        };
        Ok(self.load(&wanted).await?.take_session(id)?.edits)
    }
}

/// What a call is decided on. Boxed where it is handed on: some kilobytes, which every future on the way would hold a
/// copy of.
struct CallState {
    base: codec::Base,
    agent: Agent,
    session: Option<Session>,
    memories: BTreeMap<Number, Memory>,
    /// Whether it rests on what this process knows of the session, and can only be written.
    is_known: bool,
    /// In a rehearsal: what it has done so far, and the agent as it is outside. All the rest is then as it is
    /// on the copy.
    rehearsed: Option<Box<(RehearsalCopy, Agent)>>,
}

impl CallState {
    /// With what the session's model used so far.
    fn with_usage(mut self: Box<Self>, usage: Option<Usage>) -> Box<Self> {
        if let (Some(session), Some(usage)) = (&mut self.session, usage) {
            session.usage = usage;
        }
        self
    }

    /// The copy that a rehearsal works on.
    fn copy(&self) -> Option<&RehearsalCopy> {
        self.rehearsed.as_ref().map(|rehearsed| &rehearsed.0)
    }

    /// The same on a rehearsal's copy.
    fn on_copy(mut self: Box<Self>, copy: RehearsalCopy) -> Box<Self> {
        copy.lay_over(&mut self.memories);
        let agent = copy.agent(self.agent.clone());
        let outside = std::mem::replace(&mut self.agent, agent);
        self.rehearsed = Some(Box::new((copy, outside)));
        self
    }
}

/// These texts, where all are there that were asked for.
///
/// # Errors
/// One is missing.
fn complete(texts: WordingTexts, ids: &BTreeSet<WordingId>) -> Result<WordingTexts> {
    match ids.iter().find(|id| !texts.contains_key(id)) {
        None => Ok(texts),
        Some(id) => Err(Error::Inconsistent(format!(
            "table `audit_records`, record {}: does not tell of memory {}, which stands for what was said there",
            id.seq, id.number
        ))),
    }
}

/// Whether the session works on a copy.
fn needs_copy(session: &Session) -> bool {
    session.rehearsal && session.state == State::Open
}

/// Whether the agent that drives the session itself has been away for too long (SPEC 3.16).
fn has_lapsed(state: &CallState, now: Timestamp) -> bool {
    state.session.as_ref().is_some_and(|session| {
        let lapsed = session.lease.is_some_and(|lease| !holds(lease, now));
        session.driver == Driver::Agent && session.state.is_running() && lapsed
    })
}

/// Counts a refused edit against the memories that it named, so that the answers can say when to leave
/// one.
fn note_refusal(notes: &mut SessionNotes, request: &KnifeRequest, result: &ToolResult) {
    let is_edit = request.tool.is_some_and(knife::Tool::is_edit);
    if is_edit && matches!(result, ToolResult::Error { .. }) {
        for number in request.numbers() {
            *notes.refusals.entry(*number).or_default() += 1;
        }
    }
}

/// Keeps the look at all memories in step with what was written on `base`.
fn follow(notes: &mut SessionNotes, base: &codec::Base, written: Option<u64>, changes: &[Change]) {
    let survey = notes.survey.take();
    let survey = survey.filter(|(of, _)| Some(*of) == base.version());
    notes.survey = survey.zip(written).map(|((_, mut survey), version)| {
        survey.follow(changes);
        (version, survey)
    });
}

fn what_it_needs(id: SessionId, request: &KnifeRequest) -> AgentQuery {
    AgentQuery {
        memories: match request.numbers() {
            [] => Selection::None,
            numbers => Selection::Numbers(numbers.to_vec()),
        },
        session: Some(id),
        ..AgentQuery::default()
    }
}

fn unchanged(state: &CallState, result: ToolResult, gauge: Option<Gauge>) -> Called {
    Called {
        result,
        is_rehearsed: state.rehearsed.is_some(),
        gauges: gauge.map(|gauge| (gauge, gauge)),
    }
}
