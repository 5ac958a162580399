//! Group commit: decisions that wait for a connection share a transaction.
//!
//! Ending a transaction takes the database about half as long as writing a decision. While all connections are in use,
//! decisions queue up, and the first caller to get a connection takes a share of them along.
//!
//! Only decisions of one statement are written so, each of another agent, in the order of the agents, so that two such
//! transactions cannot deadlock. If one is refused, the transaction fails without effect, and each decision is written
//! by itself, with the outcome that it would have had alone. If the response to the transaction is lost, the outcome of
//! all of them is unknown.

use std::{
    collections::{BTreeMap, VecDeque, btree_map::Entry},
    sync::Arc,
};

use futures_util::future::join_all;
use memoir_domain::AgentId;
use memoir_store::{Commit, Error, Result};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::{
    CONNECTIONS, commit,
    error::StatementFault,
    pool::{Connections, PooledConnection},
};

/// Most decisions in one transaction.
// Each locks its agent until all are written, which takes some milliseconds for so many.
const MOST: usize = 16;
/// Among how many transactions those that wait are divided.
// Not among all connections: that decisions are written singly while others wait is to be avoided, and readers wait for
// a connection too.
const SHARES: usize = CONNECTIONS / 2;

/// A decision whose caller waits for the outcome.
struct QueuedDecision {
    ticket: u64,
    commit: Commit,
    answer: oneshot::Sender<Result<()>>,
}

impl QueuedDecision {
    /// Writes it by itself, and sends the outcome to its caller.
    async fn write(self, connections: &Connections) {
        let written = match connections.take().await {
            Ok(connection) => commit::write(connection, self.commit).await,
            Err(error) => Err(error),
        };
        respond(self.answer, written);
    }
}

/// The decisions that wait for a connection, in the order in which they came.
#[derive(Default)]
struct DecisionQueue {
    /// How many ever came.
    tickets: u64,
    waiting: VecDeque<QueuedDecision>,
}

impl DecisionQueue {
    fn put(&mut self, commit: Commit) -> (u64, oneshot::Receiver<Result<()>>) {
        let (answer, answered) = oneshot::channel();
        self.tickets += 1;
        let ticket = self.tickets;
        self.waiting.push_back(QueuedDecision {
            ticket,
            commit,
            answer,
        });
        (ticket, answered)
    }

    /// Whether the decision still waited, and does no more.
    fn withdraw(&mut self, ticket: u64) -> bool {
        let place = self.waiting.iter().position(|one| one.ticket == ticket);
        place.and_then(|place| self.waiting.remove(place)).is_some()
    }

    /// What one transaction writes, in the order of the agents.
    fn share(&mut self) -> Vec<QueuedDecision> {
        // Decisions of callers that have gone are not written.
        self.waiting.retain(|one| !one.answer.is_closed());
        let most = self.waiting.len().div_ceil(SHARES).min(MOST);
        let mut share: BTreeMap<AgentId, QueuedDecision> = BTreeMap::new();
        let mut later = VecDeque::new();
        while share.len() < most
            && let Some(one) = self.waiting.pop_front()
        {
            match share.entry(one.commit.agent.scope.agent) {
                Entry::Vacant(place) => {
                    place.insert(one);
                }
                // Of two decisions on one version of an agent the first is written, and the second gets a conflict.
                Entry::Occupied(_) => later.push_back(one),
            }
        }
        later.append(&mut self.waiting);
        self.waiting = later;
        share.into_values().collect()
    }
}

/// Writes decisions, alone or beside others.
#[derive(Default)]
pub(crate) struct GroupCommit(Mutex<DecisionQueue>);

impl GroupCommit {
    /// Writes one decision.
    ///
    /// # Errors
    /// As for [`Store::commit`](memoir_store::Store::commit).
    pub(crate) async fn write(&self, connections: &Arc<Connections>, commit: Commit) -> Result<()> {
        // Waiting callers come first.
        let is_empty = self.0.lock().waiting.is_empty();
        if is_empty && let Some(connection) = connections.take_free().await? {
            return commit::write(connection, commit).await;
        }
        if !commit::is_one_statement(&commit) {
            return commit::write(connections.take().await?, commit).await;
        }
        let (ticket, mut answer) = self.0.lock().put(commit);
        loop {
            let taken = tokio::select! {
                biased;
                answer = &mut answer => return outcome_of(answer),
                taken = connections.take() => taken,
            };
            match taken {
                Ok(mut connection) => {
                    let share = self.0.lock().share();
                    if share.is_empty() {
                        connection.restore();
                        return outcome_of(answer.await);
                    }
                    // By a task of its own: a caller that leaves must not end the work that others wait for.
                    tokio::spawn(write_share(Arc::clone(connections), connection, share));
                }
                Err(error) if self.0.lock().withdraw(ticket) => return Err(error),
                Err(_) => return outcome_of(answer.await),
            }
        }
    }
}

fn respond(caller: oneshot::Sender<Result<()>>, answer: Result<()>) {
    // A caller that has gone needs no outcome.
    let _ = caller.send(answer);
}

/// What the task that wrote a decision said of it.
fn outcome_of(answer: Result<Result<()>, oneshot::error::RecvError>) -> Result<()> {
    // Only the end of the runtime, and with it of the caller, drops the task without an outcome.
    answer.unwrap_or(Err(Error::Closed))
}

/// Writes decisions in one transaction, and sends their outcomes to their callers.
async fn write_share(
    connections: Arc<Connections>,
    mut connection: PooledConnection,
    share: Vec<QueuedDecision>,
) {
    let commits: Vec<&Commit> = share.iter().map(|one| &one.commit).collect();
    match commit::send_all(&mut connection, &commits).await {
        Ok(()) => {
            connection.restore();
            for one in share {
                commit::count_progress(&one.commit);
                respond(one.answer, Ok(()));
            }
        }
        Err(StatementFault::Lost(_)) => {
            // As of one alone, which is dropped with its connection.
            for one in share {
                respond(one.answer, Err(Error::OutcomeUnknown(Box::new(one.commit))));
            }
        }
        Err(_) => {
            connection.restore();
            join_all(share.into_iter().map(|one| one.write(&connections))).await;
        }
    }
}
