//! Returning an agent's memories to a point in time (SPEC 4.3).

use std::collections::BTreeMap;

use memoir_domain::{
    Timestamp,
    audit::Actor,
    rewind::{self, RewindPreview},
};
use memoir_store::Selection;
use serde::Serialize;

use crate::{AgentHandle, Error, Result, codec, memories::wanted};

/// Where a rewind goes back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// After the last record written then or earlier.
    Time(Timestamp),
    /// After the record at this place in the log; 0 for before the first.
    Record(u64),
}

/// What a rewind did, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rewound {
    /// The time returned to.
    pub to: Timestamp,
    /// The last record that is in force as it was; 0 where there was none yet.
    pub to_seq: u64,
    /// The record that tells of the rewind; `None` where nothing became different.
    pub seq: Option<u64>,
    /// What became different.
    #[serde(flatten)]
    pub changes: RewindPreview,
}

impl AgentHandle {
    /// Returns every memory to what it was at `to`, without showing any. Settings and prompts stay. To
    /// undo it, rewind to before it.
    ///
    /// # Errors
    /// A session is running; the store fails.
    pub async fn rewind(&self, to: Timestamp, actor: &Actor) -> Result<Rewound> {
        self.rewind_to(Point::Time(to), actor).await
    }

    /// As [`AgentHandle::rewind`], to the point after a record, 0 for before the first. The record before
    /// that of a rewind is the one that takes it back, whatever the clock said.
    ///
    /// # Errors
    /// As for [`AgentHandle::rewind`].
    pub async fn rewind_to(&self, to: Point, actor: &Actor) -> Result<Rewound> {
        self.close_if_lapsed().await?;
        for _ in 0..crate::ATTEMPTS {
            match self.attempt_rewind(to, actor, true).await {
                Err(Error::Store(memoir_store::Error::Conflict)) => {}
                done => return done,
            }
        }
        Err(Error::Contended)
    }

    /// What [`AgentHandle::rewind`] would do.
    ///
    /// # Errors
    /// As for [`AgentHandle::rewind`].
    pub async fn preview_rewind(&self, to: Point, actor: &Actor) -> Result<Rewound> {
        self.attempt_rewind(to, actor, false).await
    }

    async fn attempt_rewind(&self, to: Point, actor: &Actor, write: bool) -> Result<Rewound> {
        let now = self.memoir.now();
        let loaded = self.load(&wanted(Selection::All)).await?;
        let log = self.read_whole_log(&loaded).await?;
        let rows = self.memoir.store.sessions(self.scope, u32::MAX).await?;
        let key = Some(loaded.base.key());
        let sessions = rows
            .into_iter()
            .map(|row| Ok(codec::session(key, row)?.0))
            .collect::<Result<Vec<_>>>()?;
        let memories: BTreeMap<_, _> = loaded
            .memories
            .into_iter()
            .map(|memory| (memory.number, memory))
            .collect();
        let plan = match to {
            Point::Time(to) => rewind::plan_rewind(&log, to),
            Point::Record(seq) => rewind::plan_rewind_to_record(&log, seq),
        };
        let agent = loaded.agent;
        let changes = rewind::preview(&agent, &memories, &plan, now);
        let decision = rewind::rewind(agent, sessions, &log, &memories, &plan, actor, now)?;
        let seq = decision
            .as_ref()
            .and_then(|decision| decision.records.last())
            .map(|record| record.seq);
        if let Some(decision) = decision.filter(|_| write) {
            // Rests on the version that was loaded first: whoever wrote since makes this a conflict.
            let beside = codec::Beside::default();
            self.commit(&loaded.base, decision, beside).await?;
        }
        Ok(Rewound {
            to: plan.to,
            to_seq: plan.to_seq,
            seq: seq.filter(|_| write),
            changes,
        })
    }
}
