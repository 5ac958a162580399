//! Many decisions on one agent, written in one transaction, each as soon as it is made. So data larger than memory is
//! still written whole or not at all.

use std::sync::{Arc, atomic::AtomicU64};

use memoir_domain::{agent::Agent, draft::Decision};
use memoir_store::{Commit, Commits, Error as StoreError};
use tokio::sync::mpsc;

use crate::core::{
    AgentHandle, CommitCounts, Error, Loaded, Memoir, Result, codec,
    quotas::{self, Written},
};

/// Decisions that wait for the store.
// One is written while the next is sealed; more would only be held in memory.
const WAITING: usize = 2;

/// Takes decisions to be written, each made on the agent after the previous one.
pub(crate) struct BulkCommit<'a> {
    memoir: &'a Memoir,
    sender: mpsc::Sender<Option<Commit>>,
    base: codec::Base,
    counts: CommitCounts,
    used: Written,
    /// The agent with everything decided so far.
    pub(crate) agent: Agent,
}

impl BulkCommit<'_> {
    /// Seals a decision and passes it to the store, which counts its memories in `progress` as it writes them. Where
    /// the store takes no more, its own error counts.
    pub(crate) async fn add(
        &mut self,
        decision: Decision,
        progress: Option<Arc<AtomicU64>>,
    ) -> Result<()> {
        self.counts.add(CommitCounts::of(&decision));
        self.agent = decision.agent.clone();
        let new = quotas::new_memories(&decision);
        let (mut commit, next) = self.memoir.sealed_commit(&self.base, decision)?;
        self.base = next;
        commit.progress = progress;
        self.used.add(&quotas::written(new, &commit));
        let sent = self.sender.send(Some(commit)).await;
        sent.map_err(|_| Error::Store(StoreError::Unfinished))
    }
}

impl AgentHandle {
    /// Writes the decisions that `decide` adds, all or none; and none where it returns `false` or an error.
    /// [`StoreError::Conflict`] where the agent changed meanwhile.
    pub(crate) async fn write_together<T>(
        &self,
        loaded: Loaded,
        decide: impl AsyncFnOnce(&mut BulkCommit<'_>) -> Result<(bool, T)>,
    ) -> Result<T> {
        let (sender, mut decided) = mpsc::channel(WAITING);
        let commits = Commits::new(std::iter::from_fn(move || decided.blocking_recv()));
        let (base, agent) = (loaded.base.clone(), loaded.agent.clone());
        let mut together = BulkCommit {
            memoir: &self.memoir,
            sender,
            base: loaded.base,
            counts: CommitCounts::default(),
            used: Written::default(),
            agent: loaded.agent,
        };
        // It owns the sender and drops it at its end: the store, which waits for the next decision,
        // would wait for ever otherwise.
        let deciding = async move {
            let decided = decide(&mut together).await;
            if matches!(decided, Ok((true, _))) {
                // Where the store takes no more, it returns the reason.
                let _ = together.sender.send(None).await;
            }
            (decided, together.counts, together.used)
        };
        self.memoir.keys.check_there()?;
        let (written, (decided, counts, used)) =
            tokio::join!(self.memoir.store.commit_all(commits), deciding);
        // If `decide` failed or declined, the store's error for a list without an end mark counts for nothing.
        let answer = match decided {
            // `add` found the store gone: the store's own error has the reason.
            Err(Error::Store(StoreError::Unfinished)) => Err(None),
            Err(error) => return Err(error),
            Ok((false, answer)) => return Ok(answer),
            Ok((true, answer)) => Ok(answer),
        };
        let written = match written {
            Err(StoreError::OutcomeUnknown(last)) => {
                let unchanged = Decision::of_sessions(agent, Vec::new());
                let (fence, _) = self.memoir.sealed_commit(&base, unchanged)?;
                Box::pin(self.memoir.resolve_together(last, fence)).await
            }
            written => written,
        };
        self.memoir.report(&written, &counts, None);
        written?;
        self.memoir.usages.add(self.scope, &used);
        // This process's caches are of the version before, and are dropped at the next read, which finds another one.
        for listener in self.memoir.listeners.iter() {
            listener.wrote_together(self);
        }
        // `None` is never reached here: where `add` found the store gone, `written?` has returned its error.
        answer.map_err(|none: Option<Error>| none.unwrap_or(Error::Contended))
    }
}
