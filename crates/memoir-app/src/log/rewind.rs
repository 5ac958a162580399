//! Returning an agent's memories to a point in time (SPEC 4.3).

use std::collections::BTreeMap;

use memoir_domain::{
    Timestamp,
    agent::Agent,
    audit::{Action, Actor, Record},
    draft::Decision,
    memory::{Invalid, Memory, Number, by_number},
    rewind::{self, RewindPlan, RewindPreview},
    session::Session,
};
use memoir_store::Selection;
use serde::Serialize;

use crate::{
    core::{Result, codec, load_room::HeldRoom, parallel::Turn},
    log::{AgentLog, Limits},
};

/// The target of a rewind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, derive_more::From)]
pub enum Point {
    /// After the last record written then or earlier.
    #[from]
    Time(Timestamp),
    /// After the record at this place in the log; 0 for before the first.
    Record(u64),
}

/// The result of a rewind, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rewound {
    /// The time returned to.
    pub to: Timestamp,
    /// The last record whose state is restored; 0 where there was none yet.
    pub to_seq: u64,
    /// The record of the rewind; `None` where nothing changed.
    pub seq: Option<u64>,
    /// The changes.
    #[serde(flatten)]
    pub changes: RewindPreview,
}

impl AgentLog<'_> {
    /// Returns every memory to its state at `to`, without showing any. Settings and prompts stay. To undo it, rewind to
    /// the record before that of the rewind, whatever the clock said.
    ///
    /// # Errors
    /// A session is running; there is no such record; the store fails.
    pub async fn rewind(self, to: impl Into<Point>, actor: &Actor) -> Result<Rewound> {
        let to = to.into();
        self.decide_again(|| self.attempt_rewind(to, actor, false))
            .await
    }

    /// The effect of [`AgentLog::rewind`]. A session whose lease has lapsed is closed for it.
    ///
    /// # Errors
    /// As for [`AgentLog::rewind`].
    pub async fn preview_rewind(self, to: Point, actor: &Actor) -> Result<Rewound> {
        self.decide_again(|| self.attempt_rewind(to, actor, true))
            .await
    }

    /// `dry_run` decides, and writes nothing.
    async fn attempt_rewind(self, to: Point, actor: &Actor, dry_run: bool) -> Result<Rewound> {
        let now = self.memoir.now();
        let past = self.everything().await?;
        let (log, memories) = (&past.log, &past.memories);
        let last = log.last().map_or(0, |record| record.seq);
        if let Point::Record(seq) = to
            && seq > last
        {
            let problem = format!("is {seq}, and the last record of the agent is {last}");
            return Err(Invalid::new("to_record", problem).into());
        }
        let plan = to.plan(log);
        // Computed by one function for both, so that the preview and the result agree.
        let changes = rewind::preview(&past.agent, memories, &plan, now);
        let (agent, sessions) = (past.agent, past.sessions);
        let decision = rewind::rewind(agent, sessions, log, memories, &plan, actor, now)?;
        let decision = decision.filter(|_| !dry_run);
        // Of one that changes nothing there is nothing to undo, whether or not it is on the record.
        let differs =
            |decision: &&Decision| !decision.changes.is_empty() || !decision.sessions.is_empty();
        let last = decision.as_ref().filter(differs).and_then(|decision| {
            let mut records = decision.records.iter();
            records.find(|record| record.action == Action::AgentRewound)
        });
        let seq = last.map(|record| record.seq);
        if let Some(decision) = decision {
            // Based on the version that was loaded first: a write since then makes this a conflict.
            self.commit(&past.base, decision).await?;
        }
        Ok(Rewound {
            to: plan.to,
            to_seq: plan.to_seq,
            seq,
            changes,
        })
    }

    /// The right to have a long past of the agent in memory, once few enough others have one.
    pub(crate) async fn past_turn(self) -> Result<Turn> {
        let limits = self.memoir.state::<Limits>();
        limits.whole_pasts.take(self.scope).await
    }

    /// The whole past of the agent, which a rewind needs, once few enough others are in memory.
    ///
    /// # Errors
    /// [`memoir_store::Error::Conflict`] where another process wrote meanwhile.
    pub(crate) async fn everything(self) -> Result<AgentPast> {
        // Held until all of it is dropped. It bounds the memory that users of a console can make a process take.
        let turn = self.past_turn().await?;
        let room = self.room_for_past().await?;
        let loaded = self.load_memories(Selection::All).await?;
        // The whole log and no summary: the decision is written, and is based on the contents of the chain.
        let log = self.read_whole_log(&loaded).await?;
        let store = &self.memoir.store;
        let rows = store.session_page(self.scope, None, u32::MAX).await?;
        let (sessions, _) = codec::sessions(Some(loaded.base.key()), rows)?;
        Ok(AgentPast {
            memories: by_number(loaded.memories.copies()),
            base: loaded.base,
            agent: loaded.agent,
            sessions,
            log,
            _held: (room, turn),
        })
    }
}

pub(crate) struct AgentPast {
    pub(crate) base: codec::Base,
    pub(crate) agent: Agent,
    pub(crate) sessions: Vec<Session>,
    /// Oldest first.
    pub(crate) log: Vec<Record>,
    pub(crate) memories: BTreeMap<Number, Memory>,
    /// Released with the rest.
    _held: (Option<HeldRoom>, Turn),
}

/// Agents whose whole past a process has in memory at a time. One of 100,000 records takes two hundred megabytes, and
/// moving a slider requests it again and again.
pub(crate) const AT_ONCE: usize = 2;

impl Point {
    pub(crate) fn plan(self, log: &[Record]) -> RewindPlan {
        match self {
            Self::Time(to) => rewind::plan_rewind(log, to),
            Self::Record(seq) => rewind::plan_rewind_to_record(log, seq),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{pin::pin, time::Duration};

    use tokio::time::timeout;

    use super::*;
    use crate::{
        core::AgentHandle,
        tests::{memoir, scope},
    };

    #[tokio::test]
    async fn two_whole_pasts_are_in_memory_at_a_time() {
        let memoir = memoir();
        let account = memoir.account("default").await.unwrap();
        let actor = Actor::administrator("test");
        let agent = async |name: &str| {
            account.create_agent(name, &[], &actor).await.unwrap();
            account.agent(name).await.unwrap()
        };
        let (wren, robin) = (agent("wren").await, agent("robin").await);
        let (tern, kite) = (agent("tern").await, agent("kite").await);
        let turn = async |of: &AgentHandle| timeout(Duration::ZERO, of.log().past_turn()).await;
        let one = wren.log().everything().await.unwrap();
        let other = robin.log().everything().await.unwrap();
        let (own, third) = (wren.log().look_back(None), tern.log().look_back(None));
        let mut waiting = pin!(async { tokio::try_join!(own, third) });
        // Polled once, both are in the queue: the next turns are their own.
        assert!(timeout(Duration::ZERO, waiting.as_mut()).await.is_err());
        drop(one);
        assert!(turn(&wren).await.is_err(), "two of one agent were read");
        assert!(turn(&kite).await.is_err(), "a third one was read");
        waiting.await.unwrap();
        drop(other);
        assert!(turn(&kite).await.is_ok());
    }

    #[tokio::test]
    async fn spec_4_2_few_agents_are_verified_at_a_time() {
        let memoir = memoir();
        let account = memoir.account("default").await.unwrap();
        let actor = Actor::administrator("test");
        account.create_agent("wren", &[], &actor).await.unwrap();
        let agent = account.agent("wren").await.unwrap();
        let limits = memoir.state::<Limits>();
        let turn = async |agent| limits.verifications.take(scope(agent)).await.unwrap();
        let held = (turn(1).await, turn(2).await);
        let mut verified = pin!(agent.log().verify_with(None, None));
        let mut signed = pin!(account.checkpoint());
        // Polled once, both are in the queue: the next two turns are their own, and no third caller gets one.
        assert!(timeout(Duration::ZERO, verified.as_mut()).await.is_err());
        assert!(timeout(Duration::ZERO, signed.as_mut()).await.is_err());
        drop(held);
        assert!(timeout(Duration::ZERO, turn(3)).await.is_err());
        assert!(verified.await.unwrap().valid);
        signed.await.unwrap();
    }
}
