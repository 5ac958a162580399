//! One call of a session's tool, the same for every door and driver: read, load, decide, commit
//! (SPEC 3.8, 3.18).

use std::collections::BTreeMap;

use memoir_details::Reading;
use memoir_domain::{
    PrivateText, SessionId, Timestamp,
    agent::DetailGuard,
    breaker::{EROSION_DAYS, Gauge},
    knife::{self, Call, Outcome, Request, ToolResult, Trip, View},
    memory::{Memory, Number},
    rollback,
    session::{Session, State},
};
use memoir_store::{RecordFilter, Selection, Wanted};
use serde_json::Value;

use crate::{AgentHandle, Error, Loaded, Result, codec, memories::wanted};

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
        let mut loaded = self.load(&what_it_needs(id, request, now)).await?;
        let session = loaded.session.take().map(|(session, _)| session);
        let memories: BTreeMap<Number, Memory> = loaded
            .memories
            .drain(..)
            .map(|memory| (memory.number, memory))
            .collect();
        let reading = guarded_delete(&loaded, request, &memories)
            .map(|memory| Reading::of(memory.content.expose()));
        let elsewhere = self.carriers(&loaded, request, reading.as_ref()).await?;
        let view = View {
            agent: &loaded.agent,
            session: session.as_ref(),
            memories: &memories,
            eroded_tokens: loaded.eroded_tokens,
            erosion_floor: self.memoir.settings.erosion_floor,
            elsewhere: &elsewhere,
            reading: reading.as_ref(),
        };
        let open = session
            .as_ref()
            .filter(|session| session.state == State::Open);
        let before = open.map(|session| knife::session_gauge(&loaded.agent, session));
        let decision = match knife::decide(view, request, &self.as_actor(), now) {
            Outcome::Answer(result) => return Ok(unchanged(result, before)),
            Outcome::Search(call) => return Ok(unchanged(self.search(&call).await?, before)),
            Outcome::Commit(decision, result) => (*decision, result),
            Outcome::Tripped(trip) => self.roll_back_tripped(id, *trip).await?,
        };
        let (decision, result) = decision;
        let gauges = before.map(|before| (before, gauge_after(before, &decision, id)));
        self.commit(&loaded.row, decision, None).await?;
        Ok(Called { result, gauges })
    }

    /// For a delete under the detail guard: the other memories that carry its rarest detail.
    async fn carriers(
        &self,
        loaded: &Loaded,
        request: &Request,
        reading: Option<&Reading>,
    ) -> Result<Vec<PrivateText>> {
        let (Some(reading), [number]) = (reading, request.numbers()) else {
            return Ok(Vec::new());
        };
        let digester = loaded.digester();
        let digests: Vec<i64> = reading
            .details()
            .iter()
            .map(|detail| digester.detail(detail.key()))
            .collect();
        if digests.is_empty() {
            return Ok(Vec::new());
        }
        let rows = self
            .memoir
            .store
            .carriers(self.scope, &digests, *number, CARRIERS_READ)
            .await?;
        rows.into_iter()
            .map(|row| Ok(codec::memory(row)?.content))
            .collect()
    }

    async fn search(&self, call: &Call) -> Result<ToolResult> {
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
        let loaded = self.load(&wanted(Selection::KeptCore)).await?;
        Ok(knife::search(
            &loaded.memories,
            query.as_ref(),
            *since,
            *until,
        ))
    }

    /// The tripping call and the whole rollback as one decision (SPEC 3.13). It rests on the version of
    /// the agent that the call was decided on: the session's history cannot grow without a new one.
    async fn roll_back_tripped(
        &self,
        id: SessionId,
        trip: Trip,
    ) -> Result<(memoir_domain::draft::Decision, ToolResult)> {
        let (history, memories) = self.session_history(id).await?;
        Ok(trip.roll_back(&history, memories))
    }

    /// The session's records, and every memory that they touch as it stands now.
    pub(super) async fn session_history(
        &self,
        id: SessionId,
    ) -> Result<(Vec<memoir_domain::audit::Record>, BTreeMap<Number, Memory>)> {
        let filter = RecordFilter {
            session: Some(id),
            ..RecordFilter::default()
        };
        let mut history = self.load_records(&filter).await?;
        history.retain(|record| record.action.is_session_edit());
        let touched = rollback::touched(&history).into_iter().collect();
        let loaded = self.load(&wanted(Selection::Numbers(touched))).await?;
        Ok((
            history,
            loaded
                .memories
                .into_iter()
                .map(|memory| (memory.number, memory))
                .collect(),
        ))
    }
}

/// The memory that a delete under the detail guard names.
fn guarded_delete<'a>(
    loaded: &Loaded,
    request: &Request,
    memories: &'a BTreeMap<Number, Memory>,
) -> Option<&'a Memory> {
    let guarded = loaded.agent.settings.effective_detail_guard() != DetailGuard::Off;
    let memory = match &request.call {
        Ok(Call::Delete { number }) if guarded => memories.get(number),
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

fn gauge_after(before: Gauge, decision: &memoir_domain::draft::Decision, id: SessionId) -> Gauge {
    let session: Option<&Session> = decision.sessions.iter().find(|session| session.id == id);
    let after = session.map(|session| knife::session_gauge(&decision.agent, session));
    after.unwrap_or(before)
}
