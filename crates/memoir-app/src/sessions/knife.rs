//! One call of a session's tool, the same for every door and driver: read, load, decide, commit
//! (SPEC 3.8, 3.18).

use std::collections::BTreeMap;

use memoir_details::Reading;
use memoir_domain::{
    PrivateText, SessionId, Timestamp,
    agent::{Agent, DetailGuard},
    audit::Record,
    breaker::{EROSION_DAYS, Gauge},
    draft::Decision,
    knife::{self, Call, Outcome, Request, ToolResult, Trip, View},
    lifecycle,
    memory::{Memory, Number},
    rollback,
    session::{Driver, Session, State},
};
use memoir_store::{RecordFilter, Selection, Wanted};
use serde_json::Value;
use tracing::Instrument;

use super::{recent::Known, rehearse::Rehearsal, slate::Slate};
use crate::{AgentHandle, Error, Result, codec, memories::wanted, spans};

/// Most other memories that are read to find what a delete would lose.
const CARRIERS_READ: u32 = 32;

/// A tool's answer, and where the session stands after it.
#[derive(Debug, Clone)]
pub(crate) struct Called {
    pub(crate) result: ToolResult,
    /// The breaker's view before and after; `None` where no session is open.
    pub(crate) gauges: Option<(Gauge, Gauge)>,
}

impl AgentHandle {
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
            .call(session, &Request::read(tool, arguments))
            .await?
            .result)
    }

    pub(crate) async fn call(&self, id: SessionId, request: &Request) -> Result<Called> {
        let span = spans::tool_call(self.scope, id, request.tool);
        let called = self.carry_out(id, request).instrument(span.clone()).await;
        let result = called.as_ref().ok().map(|called| &called.result);
        spans::tool_answered(&span, result);
        self.memoir.metrics.called(request.tool, result);
        // A call of a session that is over is none of its calls.
        if result.is_some_and(
            |result| matches!(result, ToolResult::Error { code, .. } if *code != "session_over"),
        ) {
            self.memoir.refusals.note(id);
        }
        called
    }

    async fn carry_out(&self, id: SessionId, request: &Request) -> Result<Called> {
        for _ in 0..crate::ATTEMPTS {
            match self.attempt_call(id, request).await {
                Err(Error::Store(memoir_store::Error::Conflict)) => {}
                done => return done,
            }
        }
        Err(Error::Contended)
    }

    async fn attempt_call(&self, id: SessionId, request: &Request) -> Result<Called> {
        let now = self.memoir.now();
        let known = self.known_desk(id, request).await?;
        if let Some(desk) = known.filter(|desk| !has_lapsed(desk, now)) {
            let (outcome, before) = self.decide_call(&desk, request, now).await?;
            // Only what is written can rest on what this process knows: the commit fails where somebody
            // else wrote since. Any other answer takes a look at the store.
            if let Outcome::Commit(decision, result) = outcome {
                match self.write_call(desk, *decision, result, before, id).await {
                    Err(Error::Store(memoir_store::Error::Conflict)) => {}
                    written => return written,
                }
            }
        }
        let mut desk = self.fresh_desk(id, request, now).await?;
        if has_lapsed(&desk, now) {
            self.close_if_lapsed().await?;
            desk = self.fresh_desk(id, request, now).await?;
        }
        let (outcome, before) = self.decide_call(&desk, request, now).await?;
        match outcome {
            Outcome::Answer(result) => {
                self.stay(&desk, now).await?;
                Ok(unchanged(result, before))
            }
            Outcome::Search(call) => {
                self.stay(&desk, now).await?;
                Ok(unchanged(self.search(&desk, &call).await?, before))
            }
            Outcome::Commit(decision, result) => {
                self.write_call(desk, *decision, result, before, id).await
            }
            Outcome::Tripped(trip) => {
                let (decision, result) = self.roll_back_tripped(&desk, id, *trip).await?;
                self.write_call(desk, decision, result, before, id).await
            }
        }
    }

    /// What a call is decided on, as this process left it after the session's last call; `None` where it
    /// does not know, or where the call does not change a memory.
    async fn known_desk(&self, id: SessionId, request: &Request) -> Result<Option<Desk>> {
        if request.numbers().is_empty() {
            return Ok(None);
        }
        let Some(known) = self.memoir.recent.take(self.scope, id) else {
            return Ok(None);
        };
        let rows = self
            .memoir
            .store
            .memories(self.scope, request.numbers())
            .await?;
        let key = known.base.key();
        Ok(Some(Desk {
            memories: rows
                .into_iter()
                .map(|row| codec::memory(key, row))
                .map(numbered)
                .collect::<Result<_>>()?,
            base: known.base,
            agent: known.agent,
            session: Some(known.session),
            eroded_tokens: known.eroded_tokens,
            // Nothing is known of those.
            rehearsed: None,
        }))
    }

    async fn fresh_desk(&self, id: SessionId, request: &Request, now: Timestamp) -> Result<Desk> {
        let loaded = self.load(&what_it_needs(id, request, now)).await?;
        let (session, rehearsal) = loaded.session.unzip();
        let memories = loaded.memories.into_iter();
        let desk = Desk {
            base: loaded.base,
            agent: loaded.agent,
            memories: memories.map(|memory| (memory.number, memory)).collect(),
            // The store counts no rehearsal.
            eroded_tokens: loaded.eroded_tokens + session.as_ref().map_or(0, rehearsed_away),
            session,
            rehearsed: None,
        };
        match rehearsal.flatten().and_then(Rehearsal::into_slate) {
            Some(slate) => Ok(desk.on_copy(slate)),
            // Without its copy a rehearsal would be a session like any other.
            None if desk.session.as_ref().is_some_and(needs_copy) => Err(Error::Inconsistent(
                format!("table `sessions`, session {id}: is a rehearsal without its copy"),
            )),
            None => Ok(desk),
        }
    }

    /// What becomes of the call, and the breaker's view before it.
    async fn decide_call(
        &self,
        desk: &Desk,
        request: &Request,
        now: Timestamp,
    ) -> Result<(Outcome, Option<Gauge>)> {
        let reading =
            guarded_delete(desk, request).map(|memory| Reading::of(memory.content.expose()));
        let elsewhere = self.carriers(desk, request, reading.as_ref()).await?;
        let view = View {
            agent: &desk.agent,
            session: desk.session.as_ref(),
            memories: &desk.memories,
            eroded_tokens: desk.eroded_tokens,
            erosion_floor: self.memoir.settings.erosion_floor,
            elsewhere: &elsewhere,
            reading: reading.as_ref(),
        };
        let open = desk
            .session
            .as_ref()
            .filter(|session| session.state == State::Open);
        let before = open.map(|session| knife::session_gauge(&desk.agent, session));
        Ok((knife::decide(view, request, &self.as_actor(), now), before))
    }

    /// Writes a call's decision, and keeps what the next call of an open session is decided on.
    async fn write_call(
        &self,
        desk: Desk,
        mut decision: Decision,
        result: ToolResult,
        before: Option<Gauge>,
        id: SessionId,
    ) -> Result<Called> {
        if let Some(rehearsed) = desk.rehearsed {
            let written = self.write_rehearsed(&desk.base, rehearsed, decision, id);
            let after = written.await?;
            let gauges = before.zip(Some(after));
            return Ok(Called { result, gauges });
        }
        // What the next call is decided on has them too.
        let settled = self.memoir.refusals.settle(&mut decision.sessions);
        let session = decision
            .sessions
            .iter_mut()
            .find(|session| session.id == id);
        let session = session.map(|session| {
            self.prolong(session, self.memoir.now());
            session.clone()
        });
        let agent = decision.agent.clone();
        let after = session
            .as_ref()
            .map(|session| knife::session_gauge(&agent, session));
        let written = self.commit(&desk.base, decision, codec::Beside::default());
        let base = match written.await {
            Ok(base) => base,
            Err(error) => {
                self.memoir.refusals.give_back(settled);
                return Err(error);
            }
        };
        if let Some(session) = session.filter(|session| session.state == State::Open) {
            let removed = desk
                .session
                .map_or(0, |earlier| session.removed_tokens - earlier.removed_tokens);
            let known = Known {
                base,
                agent,
                session,
                eroded_tokens: desk.eroded_tokens + removed,
            };
            self.memoir.recent.put(self.scope, known);
        }
        Ok(Called {
            result,
            gauges: before.zip(after.or(before)),
        })
    }

    /// Writes down what was decided on the copy of an agent that rehearses by itself, and the breaker's view
    /// after it. The agent itself stays as it is.
    async fn write_rehearsed(
        &self,
        base: &codec::Base,
        (mut slate, agent): (Slate, Agent),
        decision: Decision,
        id: SessionId,
    ) -> Result<Gauge> {
        let now = self.memoir.now();
        slate.note(&decision);
        let mut sessions = decision.sessions.into_iter();
        let session = sessions.find(|session| session.id == id);
        let mut session = session.ok_or(Error::SessionLost(id))?;
        let gauge = knife::session_gauge(&decision.agent, &session);
        let (decision, rehearsal) = if session.state.is_running() {
            self.prolong(&mut session, now);
            let decision = Decision::of_sessions(agent, vec![session]);
            (decision, Rehearsal::running(slate))
        } else {
            session.lease = None;
            let actor = self.as_actor();
            let decision = lifecycle::end_rehearsal(agent, session, &actor, now);
            (decision, Rehearsal::ended(&slate))
        };
        let beside = codec::Beside::rehearsed(id, rehearsal);
        self.commit(base, decision, beside).await?;
        Ok(gauge)
    }

    /// Notes that the agent which drives the session itself is still there.
    async fn stay(&self, desk: &Desk, now: Timestamp) -> Result<()> {
        match &desk.session {
            Some(session) if session.state.is_running() => self.renew_own(session, now).await,
            _ => Ok(()),
        }
    }

    /// For a delete under the detail guard: the other memories that carry its rarest detail.
    async fn carriers(
        &self,
        desk: &Desk,
        request: &Request,
        reading: Option<&Reading>,
    ) -> Result<Vec<PrivateText>> {
        let (Some(reading), [number]) = (reading, request.numbers()) else {
            return Ok(Vec::new());
        };
        let digester = desk.base.digester();
        let digests: Vec<i64> = reading
            .details()
            .iter()
            .map(|detail| digester.detail(detail.key()))
            .collect();
        if digests.is_empty() {
            return Ok(Vec::new());
        }
        let slate = desk.rehearsed.as_ref().map(|(slate, _)| slate);
        // What the rehearsal touched is found and does not count: there must be room for it.
        let touched = slate.map_or(0, |slate| slate.touched().count());
        let most = CARRIERS_READ.saturating_add(u32::try_from(touched).unwrap_or(u32::MAX));
        let store = &self.memoir.store;
        let rows = store
            .carriers(self.scope, &digests, *number, most)
            .await?
            .into_iter()
            .filter(|row| slate.is_none_or(|slate| slate.is_untouched(row.number)));
        let mut carriers = rows
            .map(|row| Ok(codec::memory(desk.base.key(), row)?.content))
            .collect::<Result<Vec<PrivateText>>>()?;
        let others = slate.into_iter().flat_map(Slate::touched);
        let others = others.filter(|memory| memory.is_kept_core() && memory.number != *number);
        carriers.extend(others.map(|memory| memory.content.clone()));
        Ok(carriers)
    }

    async fn search(&self, desk: &Desk, call: &Call) -> Result<ToolResult> {
        let Call::Search {
            query,
            since,
            until,
        } = call
        else {
            return Err(Error::Inconsistent(
                "a search was decided for another tool".to_owned(),
            ));
        };
        let mut memories = self.load(&wanted(Selection::KeptCore)).await?.memories;
        if let Some((slate, _)) = &desk.rehearsed {
            memories = slate.lay_over_all(memories);
        }
        Ok(knife::search(&memories, query.as_ref(), *since, *until))
    }

    /// The tripping call and the whole rollback as one decision (SPEC 3.13). It rests on the version of
    /// the agent that the call was decided on: the session's history cannot grow without a new one.
    async fn roll_back_tripped(
        &self,
        desk: &Desk,
        id: SessionId,
        trip: Trip,
    ) -> Result<(Decision, ToolResult)> {
        if let Some((slate, _)) = &desk.rehearsed {
            let touched = rollback::touched(slate.history()).into_iter().collect();
            let loaded = self.load(&wanted(Selection::Numbers(touched))).await?;
            let memories = loaded.memories.into_iter();
            let mut memories = memories.map(|memory| (memory.number, memory)).collect();
            slate.lay_over(&mut memories);
            return Ok(trip.roll_back(slate.history(), memories));
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
        // What is read one after the other may be of two moments.
        for _ in 0..crate::ATTEMPTS {
            let before = self.edits_of(id).await?;
            let history = self.edit_records(id).await?;
            let touched = rollback::touched(&history).into_iter().collect();
            let loaded = self.load(&wanted(Selection::Numbers(touched))).await?;
            let edits = self.edits_of(id).await?;
            if before != edits {
                continue;
            }
            let is_capped = |record: &&Record| record.action.is_capped_edit();
            if history.iter().filter(is_capped).count() != edits as usize {
                return Err(Error::Inconsistent(format!(
                    "table `audit_records`: the edits of session {id} are not those that it counts"
                )));
            }
            let memories = loaded.memories.into_iter();
            let memories = memories.map(|memory| (memory.number, memory)).collect();
            return Ok((history, memories));
        }
        Err(Error::Contended)
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
        let wanted = Wanted {
            session: Some(id),
            ..Wanted::default()
        };
        Ok(self.load(&wanted).await?.take_session(id)?.edits)
    }
}

/// What a call is decided on.
struct Desk {
    base: codec::Base,
    agent: Agent,
    session: Option<Session>,
    memories: BTreeMap<Number, Memory>,
    eroded_tokens: u64,
    /// Where the agent rehearses by itself: what it has done so far, and the agent as it is outside. All
    /// the rest is then as it is on the copy.
    rehearsed: Option<(Slate, Agent)>,
}

impl Desk {
    /// The same on the copy of an agent that rehearses by itself.
    fn on_copy(mut self, slate: Slate) -> Self {
        slate.lay_over(&mut self.memories);
        let agent = slate.agent(self.agent.clone());
        let outside = std::mem::replace(&mut self.agent, agent);
        self.rehearsed = Some((slate, outside));
        self
    }
}

/// Whether the agent rehearses by itself. Where Memoir drives, the copy is a store of its own.
fn needs_copy(session: &Session) -> bool {
    session.rehearsal && session.driver == Driver::Agent && session.state == State::Open
}

/// What a rehearsal has removed on its copy so far.
fn rehearsed_away(session: &Session) -> u64 {
    match session.rehearsal {
        true => session.removed_tokens,
        false => 0,
    }
}

/// Whether the agent that drives the session itself has been away for too long (SPEC 3.16).
fn has_lapsed(desk: &Desk, now: Timestamp) -> bool {
    desk.session.as_ref().is_some_and(|session| {
        let lapsed = session.lease.is_some_and(|lease| lease.until <= now);
        session.driver == Driver::Agent && session.state.is_running() && lapsed
    })
}

fn numbered(memory: Result<Memory>) -> Result<(Number, Memory)> {
    memory.map(|memory| (memory.number, memory))
}

/// The memory that a delete under the detail guard names.
fn guarded_delete<'a>(desk: &'a Desk, request: &Request) -> Option<&'a Memory> {
    let guarded = desk.agent.settings.effective_detail_guard() != DetailGuard::Off;
    let memory = match &request.call {
        Ok(Call::Delete { number }) if guarded => desk.memories.get(number),
        _ => None,
    };
    memory.filter(|memory| memory.is_kept_core())
}

fn what_it_needs(id: SessionId, request: &Request, now: Timestamp) -> Wanted {
    let is_edit = request.tool.is_some_and(knife::Tool::is_edit);
    Wanted {
        memories: match request.numbers() {
            [] => Selection::None,
            numbers => Selection::Numbers(numbers.to_vec()),
        },
        session: Some(id),
        eroded_since: is_edit.then(|| now.plus_days(-EROSION_DAYS)),
    }
}

fn unchanged(result: ToolResult, gauge: Option<Gauge>) -> Called {
    Called {
        result,
        gauges: gauge.map(|gauge| (gauge, gauge)),
    }
}
