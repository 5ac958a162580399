//! One call of a session's tool, the same for every interface and driver: read, load, decide, commit (SPEC 3.8, 3.18).
//!
//! An edit is decided on all memories of the agent. They are those of the session's opening, or the first edit of this
//! process loads them. They are updated in memory by each write, and used while the agent's version shows that no other
//! process wrote.

use std::collections::BTreeMap;

use memoir_domain::{
    SessionId, Timestamp,
    agent::Agent,
    audit::{Action, Change, Record},
    breaker::Gauge,
    draft::Decision,
    lifecycle,
    memories::AllMemories,
    memory::{Memory, Number, by_number},
    rollback,
    session::{Driver, Session, State, Usage},
    tools::{
        self, CallOutcome, MemorySearch, RefusalCode, ToolCall, ToolRequest, ToolResult, Trip, View,
    },
};
use memoir_store::{AgentQuery, RecordFilter, Selection};
use serde_json::Value;
use tracing::Instrument;

use super::{end::holds, recent::KnownMemories};
use crate::{
    core::{
        CONFLICT, Error, Result, again, codec,
        rehearsal::{Rehearsal, RehearsalCopy},
        spans,
    },
    metrics::Metrics,
    sessions::{Recent, Sessions, Unwritten},
    shown::OwnAgent,
};

/// A tool's result, and the state of the session after it.
#[derive(Debug, Clone)]
pub(crate) struct ToolOutcome {
    pub(crate) result: ToolResult,
    /// The figures of the breaker before and after; `None` where no session is open.
    pub(crate) gauges: Option<(Gauge, Gauge)>,
    /// Whether it worked on a rehearsal's copy.
    pub(crate) is_rehearsed: bool,
}

impl OwnAgent {
    /// Calls a tool of the session. A refusal is an ordinary result, also in a session that Memoir drives: to the agent
    /// that one has no tools (SPEC 3.18). `None` for `arguments` means that they were not JSON.
    ///
    /// # Errors
    /// The store fails; never because of invalid input.
    pub async fn call_tool(
        &self,
        session: SessionId,
        tool: &str,
        arguments: Option<&Value>,
    ) -> Result<ToolResult> {
        let request = ToolRequest::read(tool, arguments);
        let called = self.sessions().call(session, &request, None, None).await?;
        Ok(called.result)
    }
}

impl Sessions<'_> {
    /// As [`OwnAgent::call_tool`]. `usage`, the session's model usage so far, is written in the same commit, so that a
    /// crash cannot separate the session's end from its cost. `None` where the agent calls, and not the session's loop.
    /// `context_tokens` is the model's own figure of its context.
    pub(crate) async fn call(
        self,
        id: SessionId,
        request: &ToolRequest,
        usage: Option<Usage>,
        context_tokens: Option<u32>,
    ) -> Result<ToolOutcome> {
        let span = spans::tool_call(self.scope, id, request.tool);
        let called = again(|| self.attempt_call(id, request, usage, context_tokens));
        let called = called.instrument(span.clone()).await;
        let result = called.as_ref().ok().map(|called| &called.result);
        spans::tool_answered(&span, result);
        // Edits of a copy are not counted.
        if !called.as_ref().is_ok_and(|called| called.is_rehearsed) {
            self.memoir.state::<Metrics>().called(request.tool, result);
        }
        // A call of an ended session is none of its calls.
        let refused = result.and_then(ToolResult::refusal);
        if refused.is_some_and(|code| code != RefusalCode::SessionOver) {
            self.memoir.state::<Unwritten>().note_refusal(id);
        }
        called
    }

    async fn attempt_call(
        self,
        id: SessionId,
        request: &ToolRequest,
        usage: Option<Usage>,
        context_tokens: Option<u32>,
    ) -> Result<ToolOutcome> {
        let recent = self.memoir.state::<Recent>();
        let mut memories = recent.take_memories(self.scope, id, driver_of(usage));
        let called = self.attempt_known(id, request, usage, context_tokens, &mut memories);
        let called = called.await;
        let is_over = called.as_ref().is_ok_and(|called| {
            called.result.refusal() == Some(RefusalCode::SessionOver)
                || called.result.ends_session()
        });
        if let Some(known) = memories.filter(|_| !is_over) {
            recent.put_memories(self.scope, id, known);
        }
        called
    }

    /// Keeps what the opening of a session has read, for its first edit. Nothing with `None`.
    pub(super) fn keep_opened(self, id: SessionId, known: Option<KnownMemories>) {
        if let Some(known) = known {
            let recent = self.memoir.state::<Recent>();
            recent.put_memories(self.scope, id, known);
        }
    }

    /// `memories` are those that are cached for the session, before the call and after it.
    async fn attempt_known(
        self,
        id: SessionId,
        request: &ToolRequest,
        usage: Option<Usage>,
        context_tokens: Option<u32>,
        memories: &mut Option<KnownMemories>,
    ) -> Result<ToolOutcome> {
        let now = self.memoir.now();
        // Only a decision that will be committed may be based on this. Its version is the proof; a refusal, a search or
        // a result without a commit has none, and is decided on the store's state.
        let known = self.known_state(id, request, usage, memories.as_ref());
        if let Some(state) = known.filter(|state| !has_lapsed(state, now)) {
            let state = state.with_usage(usage);
            let (outcome, before) = self.decide_call(&state, request, memories.as_ref(), now);
            // Only a write can be based on the cache: the commit fails where another process wrote since. A trip is
            // left out: it needs the session's history, which is read from the store anyway.
            if let CallOutcome::Commit(decision, result) = outcome {
                match self
                    .write_call(state, request, *decision, result, before, memories)
                    .await
                {
                    // Nothing was written. The call is decided once more below, on the store's state, and only a second
                    // conflict counts as an attempt of `again`.
                    Err(Error::Store(memoir_store::Error::Conflict)) => {}
                    written => return written,
                }
            }
        }
        // From here on the state comes from the store and not from the cache, so any result may be returned.
        let mut state = self.fresh_state(id).await?;
        // The agent comes too late: the session is closed on the record first, so that the refusal matches the log.
        if has_lapsed(&state, now) {
            Box::pin(self.close_if_lapsed()).await?;
            state = self.fresh_state(id).await?;
        }
        let state = state.with_usage(usage);
        if names_memories(request) && state.is_open() {
            self.load_known(&state, memories).await?;
        }
        let (outcome, before) = self.decide_call(&state, request, memories.as_ref(), now);
        match outcome {
            CallOutcome::Answer(result) => {
                // A refusal commits nothing, and so does not renew the lease, although the agent is still active.
                self.renew_own_lease(&state, now).await?;
                Ok(unchanged(&state, result, before))
            }
            CallOutcome::Search(search) => {
                self.renew_own_lease(&state, now).await?;
                let result = Box::pin(self.search(&state, &search, context_tokens)).await?;
                Ok(unchanged(&state, result, before))
            }
            CallOutcome::Commit(decision, result) => {
                self.write_call(state, request, *decision, result, before, memories)
                    .await
            }
            CallOutcome::Tripped(trip) => {
                let rolled_back = self.roll_back_tripped(&state, id, *trip);
                let (decision, result) = Box::pin(rolled_back).await?;
                self.write_call(state, request, decision, result, before, memories)
                    .await
            }
        }
    }

    /// The cached state after the session's last call in this process; `None` where there is none, or where the call
    /// does not change a memory.
    fn known_state(
        self,
        id: SessionId,
        request: &ToolRequest,
        usage: Option<Usage>,
        memories: Option<&KnownMemories>,
    ) -> Option<Box<CallState>> {
        if !names_memories(request) {
            return None;
        }
        // Removed: if the call is interrupted, the cache is empty, and the next one reads the store.
        let recent = self.memoir.state::<Recent>();
        let known = recent.take(self.scope, id, driver_of(usage))?;
        memories.filter(|memories| memories.is_of(known.base.memories_version()))?;
        Some(Box::new(CallState {
            base: known.base,
            agent: known.agent,
            session: Some(known.session),
            // Rehearsals are not cached.
            rehearsed: None,
        }))
    }

    async fn fresh_state(self, id: SessionId) -> Result<Box<CallState>> {
        let loaded = self.load(&AgentQuery::of_session(id)).await?;
        let (session, rehearsal) = loaded.session.unzip();
        let state = Box::new(CallState {
            base: loaded.base,
            agent: loaded.agent,
            session,
            rehearsed: None,
        });
        match rehearsal.flatten().and_then(|kept| kept.copy) {
            Some(copy) => Ok(state.on_copy(copy)),
            // Without its copy a rehearsal would be a session like any other.
            None if state.session.as_ref().is_some_and(needs_copy) => Err(Error::Inconsistent(
                format!("table `sessions`, session {id}: is a rehearsal without its copy"),
            )),
            None => Ok(state),
        }
    }

    /// Loads all memories for the call, unless they are cached for the version of the state. It is a conflict where
    /// another process wrote since.
    async fn load_known(self, state: &CallState, known: &mut Option<KnownMemories>) -> Result<()> {
        let version = state.memories_version(&state.base);
        if known.as_ref().is_some_and(|known| known.is_of(version)) {
            return Ok(());
        }
        let loaded = self
            .load(&AgentQuery::of_memories(Selection::All).with_prompts())
            .await?;
        // The edit is decided on one version of the agent, and must not be decided on memories of another one.
        let version = version.filter(|_| version == state.memories_version(&loaded.base));
        let version = version.ok_or(CONFLICT)?;
        let driver = state.session.as_ref().map(|session| session.driver);
        let memories = match state.copy() {
            Some(copy) => copy.lay_over_all(&loaded.memories),
            None => loaded.memories,
        };
        *known = driver.map(|driver| KnownMemories {
            driver,
            version,
            memories: AllMemories::new(memories.shared()),
            system_prompt: loaded.agent.settings.system_prompt,
        });
        Ok(())
    }

    /// The outcome of the call, and the figures of the breaker before it.
    fn decide_call(
        self,
        state: &CallState,
        request: &ToolRequest,
        memories: Option<&KnownMemories>,
        now: Timestamp,
    ) -> (CallOutcome, Option<Gauge>) {
        let none = AllMemories::default();
        let known = memories.filter(|known| known.is_of(state.memories_version(&state.base)));
        let view = View {
            agent: &state.agent,
            system_prompt: known.and_then(|known| known.system_prompt.as_ref()),
            session: state.session.as_ref(),
            // Calls that name no memory are decided without them.
            memories: known.map_or(&none, |known| &known.memories),
        };
        let outcome = tools::decide(view, request, &self.as_actor(), now);
        let open = state.session.as_ref().filter(|_| state.is_open());
        let before = open.map(|session| tools::session_gauge(&state.agent, Some(session)));
        (outcome, before)
    }

    async fn write_call(
        self,
        state: Box<CallState>,
        request: &ToolRequest,
        mut decision: Decision,
        result: ToolResult,
        before: Option<Gauge>,
        memories: &mut Option<KnownMemories>,
    ) -> Result<ToolOutcome> {
        // Only cached memories have to be updated.
        let changes = match memories {
            Some(_) => decision.changes.clone(),
            None => Vec::new(),
        };
        let version = state.memories_version(&state.base);
        if let Some(rehearsed) = state.rehearsed {
            let call = request.call.as_ref().ok();
            let written = self.write_rehearsed(&state.base, *rehearsed, decision, call);
            let (next, after) = Box::pin(written).await?;
            follow(memories, version, next, &changes);
            let gauges = before.zip(Some(after));
            return Ok(ToolOutcome {
                result,
                gauges,
                is_rehearsed: true,
            });
        }
        let after = decision.sessions.first_mut().map(|session| {
            // In the same commit, so that renewing the lease needs no second write.
            self.prolong(session, self.memoir.now());
            tools::session_gauge(&decision.agent, Some(&*session))
        });
        let next = self.commit(&state.base, decision).await?;
        follow(memories, version, next.memories_version(), &changes);
        Ok(ToolOutcome {
            result,
            gauges: before.zip(after.or(before)),
            is_rehearsed: false,
        })
    }

    /// Writes a decision on a rehearsal's copy, and the breaker's figures after it. The agent itself stays as it is.
    async fn write_rehearsed(
        self,
        base: &codec::Base,
        (mut copy, agent): (RehearsalCopy, Agent),
        decision: Decision,
        call: Option<&ToolCall>,
    ) -> Result<(Option<u64>, Gauge)> {
        let now = self.memoir.now();
        match call {
            Some(call) => copy.note_call(call, &decision),
            None => copy.note(&decision),
        }
        let session = decision.sessions.into_iter().next();
        // Each call of a session writes its session.
        let mut session = session.ok_or(CONFLICT)?;
        let id = session.id;
        let gauge = tools::session_gauge(&decision.agent, Some(&session));
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
        let writing = codec::Writing::rehearsed(decision, id, rehearsal);
        let next = self.commit(base, writing).await?;
        Ok((next.version(), gauge))
    }

    /// Renews the lease of an agent that drives the session itself.
    async fn renew_own_lease(self, state: &CallState, now: Timestamp) -> Result<()> {
        match &state.session {
            Some(session) if session.state.is_running() => self.renew_own(session, now).await,
            _ => Ok(()),
        }
    }

    async fn search(
        self,
        state: &CallState,
        search: &MemorySearch,
        context_tokens: Option<u32>,
    ) -> Result<ToolResult> {
        /// Four searches fit into the third of the context that the prompt leaves.
        const CONTEXT_SHARE: u64 = 12;
        let loaded = self.load_memories(Selection::Searchable).await?;
        let memories = match state.copy() {
            Some(copy) => copy.lay_over_all(&loaded.memories),
            None => loaded.memories,
        };
        let memories = AllMemories::new(memories.shared());
        let room = u64::from(self.context_of(context_tokens)) / CONTEXT_SHARE;
        Ok(tools::search(&memories, search, room))
    }

    /// The tripping call and the whole rollback as one decision (SPEC 3.13). It is based on the same version of the
    /// agent as the call: the session's history cannot grow without a new one.
    async fn roll_back_tripped(
        self,
        state: &CallState,
        id: SessionId,
        trip: Trip,
    ) -> Result<(Decision, ToolResult)> {
        if let Some(copy) = state.copy() {
            let touched = rollback::touched(&copy.history).into_iter().collect();
            let mut memories = self.with_sources(touched).await?;
            copy.lay_over(&mut memories);
            return Ok(trip.roll_back(&copy.history, memories));
        }
        let (history, memories) = self.session_history(id).await?;
        Ok(trip.roll_back(&history, memories))
    }

    /// The session's edits, and the current state of every memory that they touch: all that the session did, as its
    /// sealed row counts it. After them come an administrator's confirmations since, which a rollback respects (SPEC
    /// 4.3). An error where records of it are missing, or there are others.
    pub(super) async fn session_history(
        self,
        id: SessionId,
    ) -> Result<(Vec<Record>, BTreeMap<Number, Memory>)> {
        again(|| self.attempt_history(id)).await
    }

    async fn attempt_history(
        self,
        id: SessionId,
    ) -> Result<(Vec<Record>, BTreeMap<Number, Memory>)> {
        // The count is read before and after the records. Only if both are equal was the session unchanged meanwhile;
        // the commit detects a later change by the version.
        let before = self.edits_of(id).await?;
        let mut history = self.edit_records(id).await?;
        let confirmations = self.confirmations_since(history.first()).await?;
        history.extend(confirmations);
        let touched = rollback::touched(&history).into_iter().collect();
        let memories = self.with_sources(touched).await?;
        let edits = self.edits_of(id).await?;
        if before != edits {
            // The two reads are of different states.
            return Err(CONFLICT);
        }
        let is_capped = |record: &&Record| record.action.is_capped_edit();
        // The session's row is sealed and the index of records by session is not: a record removed from the session by
        // its column would let a rollback miss an edit.
        if history.iter().filter(is_capped).count() != edits as usize {
            return Err(Error::Inconsistent(format!(
                "table `audit_records`: the edits of session {id} are not those that it counts"
            )));
        }
        Ok((history, memories))
    }

    /// The memories of these numbers and those under one of them, for deciding an undo, which keeps a summary without a
    /// source discarded (SPEC 3.19).
    pub(crate) async fn with_sources(
        self,
        numbers: Vec<Number>,
    ) -> Result<BTreeMap<Number, Memory>> {
        let store = &self.memoir.store;
        let links = store.archive_links(self.scope, &numbers).await?;
        let mut all = numbers;
        all.extend(links.iter().map(|link| link.number));
        all.sort_unstable();
        all.dedup();
        let loaded = self.load_memories(Selection::Numbers(all)).await?;
        Ok(by_number(loaded.memories.copies()))
    }

    /// An administrator's acts since `first` that changed nothing.
    async fn confirmations_since(self, first: Option<&Record>) -> Result<Vec<Record>> {
        let Some(first) = first else {
            return Ok(Vec::new());
        };
        let filter = RecordFilter {
            actions: vec![Action::MemoryRestored],
            ..RecordFilter::from_record(first.seq)
        };
        let mut acts = self.log().load_records(&filter).await?;
        acts.retain(rollback::is_confirmation);
        Ok(acts)
    }

    async fn edit_records(self, id: SessionId) -> Result<Vec<Record>> {
        let filter = RecordFilter::of_session(id);
        let mut history = self.log().load_records(&filter).await?;
        history.retain(|record| record.action.is_session_edit());
        Ok(history)
    }

    async fn edits_of(self, id: SessionId) -> Result<u32> {
        let mut loaded = self.load(&AgentQuery::of_session(id)).await?;
        Ok(loaded.take_session(id)?.edits)
    }
}

/// The state that a call is decided on. Boxed: some kilobytes, of which every future on the way would hold a copy.
struct CallState {
    base: codec::Base,
    agent: Agent,
    session: Option<Session>,
    /// In a rehearsal: its state so far, and the agent outside. Everything else is then as on the copy.
    rehearsed: Option<Box<(RehearsalCopy, Agent)>>,
}

impl CallState {
    /// With the usage of the session's model so far. A session is open to its driver alone: to the loop, which counts the
    /// usage, or to the agent (SPEC 3.18).
    fn with_usage(mut self: Box<Self>, usage: Option<Usage>) -> Box<Self> {
        let driver = driver_of(usage);
        let is_its_own = |session: &Session| session.driver == driver;
        self.session = self.session.take().filter(is_its_own);
        if let (Some(session), Some(usage)) = (&mut self.session, usage) {
            session.usage = usage;
        }
        self
    }

    fn copy(&self) -> Option<&RehearsalCopy> {
        self.rehearsed.as_ref().map(|rehearsed| &rehearsed.0)
    }

    /// The version of the memories that calls on this base are decided on. An edit of a copy writes no record, so that
    /// only the version of the agent's row shows it.
    fn memories_version(&self, base: &codec::Base) -> Option<u64> {
        match self.rehearsed {
            Some(_) => base.version(),
            None => base.memories_version(),
        }
    }

    fn is_open(&self) -> bool {
        let state = self.session.as_ref().map(|session| session.state);
        state == Some(State::Open)
    }

    fn on_copy(mut self: Box<Self>, copy: RehearsalCopy) -> Box<Self> {
        let agent = copy.agent(self.agent.clone());
        let outside = std::mem::replace(&mut self.agent, agent);
        self.rehearsed = Some(Box::new((copy, outside)));
        self
    }
}

/// The driver that calls, by the usage that the session's loop counts.
fn driver_of(usage: Option<Usage>) -> Driver {
    usage.map_or(Driver::Agent, |_| Driver::Model)
}

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

/// Updates the cached memories with a write on the version `from`.
fn follow(
    cached: &mut Option<KnownMemories>,
    from: Option<u64>,
    written: Option<u64>,
    changes: &[Change],
) {
    let known = cached.take();
    let known = known.filter(|known| known.is_of(from));
    *cached = known.zip(written).map(|(mut known, version)| {
        known.memories.follow(changes);
        known.version = version;
        known
    });
}

/// Whether the call names memories, and is decided on them.
fn names_memories(request: &ToolRequest) -> bool {
    let call = request.call.as_ref();
    call.is_ok_and(|call| !call.numbers().is_empty())
}

fn unchanged(state: &CallState, result: ToolResult, gauge: Option<Gauge>) -> ToolOutcome {
    ToolOutcome {
        result,
        is_rehearsed: state.rehearsed.is_some(),
        gauges: gauge.map(|gauge| (gauge, gauge)),
    }
}
