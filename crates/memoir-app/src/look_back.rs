//! One point of an agent's history, and what going back to it would do: counts, dates and codes, never
//! words (SPEC 4.3, 5.1). Records are unsealed to find it; nothing of them is handed out but what lies in
//! the open.
//!
//! The console's slider shows this. Whoever presses the button there sends along which record was the newest
//! when it was shown, and asks `AgentHandle::as_seen`: it does what was shown, or nothing where something was
//! written since.
//!
//! Looking and rewinding both read the whole log, since which records are in force depends on all of it. A
//! process has two such pasts in memory at a time, and whoever comes third waits; the slider asks for one
//! place after the other.

use std::collections::BTreeMap;

use memoir_domain::{
    SessionId, Timestamp,
    audit::{Action, Actor, Record},
    memory::{Number, Tally},
    rewind::{self, Foresight, core_tokens_after},
    session::{Session, State},
};
use serde::Serialize;

use crate::{AgentHandle, Point, Result, again, rewind::Everything};

/// Most points of [`History::mass`].
pub const MASS_POINTS: u64 = 500;

/// One point of an agent's history.
#[derive(Debug, Clone, PartialEq)]
pub struct LookBack {
    /// The place in the log of the last record written by then; 0 before the first.
    pub seq: u64,
    /// That record; `None` before the first.
    pub record: Option<RecordMark>,
    /// What was counted of the memories then.
    pub then: Tally,
    /// What is counted of them now.
    pub now: Tally,
    /// What going back would do, were no session running.
    pub foresight: Foresight,
    /// The session that is running, which stands in the way.
    pub running: Option<SessionId>,
    /// The whole history around it.
    pub history: History,
}

/// What lies in the open of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordMark {
    /// When it was written.
    pub recorded_at: Timestamp,
    /// What was done.
    pub action: Action,
    /// By whom.
    pub actor: Actor,
    /// In which session.
    pub session_id: Option<SessionId>,
    /// The memory that it is about.
    pub memory: Option<Number>,
}

/// An agent's log at a glance.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// The place of the newest record; 0 where there is none.
    pub newest_seq: u64,
    /// The mass from before the first record to the newest, in at most [`MASS_POINTS`] points.
    pub mass: Vec<MassAt>,
    /// Every session that has records, the newest first.
    pub sessions: Vec<SessionSpan>,
}

/// The mass after a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MassAt {
    /// The record's place in the log; 0 before the first.
    pub seq: u64,
    /// The mass, in tokens.
    pub core_tokens: u64,
    /// The smallest since the point before.
    pub lowest_core_tokens: u64,
    /// The largest since the point before.
    pub highest_core_tokens: u64,
}

/// Where a session lies in the log. Others may have written records in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionSpan {
    /// The session.
    pub id: SessionId,
    /// When it was begun.
    pub started_at: Timestamp,
    /// How it stands.
    pub state: State,
    /// Whether it was a rehearsal, of which there is but one record.
    pub rehearsal: bool,
    /// Whether it was undone.
    pub is_undone: bool,
    /// The place of its first record.
    pub first_seq: u64,
    /// The place of its last record.
    pub last_seq: u64,
}

impl AgentHandle {
    /// One point of the agent's history, and what [`AgentHandle::rewind_to`] would do; `None` for the
    /// newest. Content-blind. Reads the whole log.
    ///
    /// # Errors
    /// The agent is erased; the store fails.
    pub async fn look_back(&self, point: Option<Point>, actor: &Actor) -> Result<LookBack> {
        let everything = again(|| self.everything()).await?;
        Ok(look(everything, point, actor, self.memoir.now()))
    }
}

fn look(everything: Everything, point: Option<Point>, actor: &Actor, now: Timestamp) -> LookBack {
    let Everything {
        agent,
        running_session,
        sessions,
        log,
        memories,
        ..
    } = everything;
    let newest_seq = log.last().map_or(0, |record| record.seq);
    let plan = point.unwrap_or(Point::Record(newest_seq)).plan(&log);
    let record = log.iter().rfind(|record| record.seq == plan.to_seq);
    let history = History {
        newest_seq,
        mass: mass(&log, newest_seq),
        sessions: spans(&log, &sessions),
    };
    LookBack {
        seq: plan.to_seq,
        record: record.map(mark),
        then: plan.tally(&log),
        now: agent.tally,
        foresight: rewind::foresee(agent, sessions, &log, &memories, &plan, actor, now),
        running: running_session,
        history,
    }
}

fn mark(record: &Record) -> RecordMark {
    RecordMark {
        recorded_at: record.recorded_at,
        action: record.action,
        actor: record.actor.clone(),
        session_id: record.session,
        memory: record.memory,
    }
}

/// The mass along the log: after every record, or where there are many, after as many stretches of them.
fn mass(log: &[Record], newest_seq: u64) -> Vec<MassAt> {
    let mut points = vec![MassAt {
        seq: 0,
        core_tokens: 0,
        lowest_core_tokens: 0,
        highest_core_tokens: 0,
    }];
    let stretch = newest_seq.div_ceil(MASS_POINTS - 1).max(1);
    let mut core_tokens = 0;
    for records in log.chunks(usize::try_from(stretch).unwrap_or(usize::MAX)) {
        let (mut lowest, mut highest) = (core_tokens, core_tokens);
        for after in records.iter().filter_map(core_tokens_after) {
            core_tokens = after;
            lowest = lowest.min(after);
            highest = highest.max(after);
        }
        points.push(MassAt {
            seq: records.last().map_or(newest_seq, |record| record.seq),
            core_tokens,
            lowest_core_tokens: lowest,
            highest_core_tokens: highest,
        });
    }
    points
}

/// Where the sessions lie in the log, the newest first.
fn spans(log: &[Record], sessions: &[Session]) -> Vec<SessionSpan> {
    let mut places: BTreeMap<SessionId, (u64, u64)> = BTreeMap::new();
    for record in log {
        if let Some(id) = record.session {
            let (_, last) = places.entry(id).or_insert((record.seq, record.seq));
            *last = record.seq;
        }
    }
    let mut spans: Vec<SessionSpan> = sessions
        .iter()
        .filter_map(|session| {
            let (first_seq, last_seq) = places.get(&session.id)?;
            Some(SessionSpan {
                id: session.id,
                started_at: session.started_at,
                state: session.state,
                rehearsal: session.rehearsal,
                is_undone: session.undone_at.is_some(),
                first_seq: *first_seq,
                last_seq: *last_seq,
            })
        })
        .collect();
    spans.sort_by_key(|span| std::cmp::Reverse(span.first_seq));
    spans
}
