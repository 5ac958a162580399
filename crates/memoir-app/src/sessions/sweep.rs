//! Which agents are due for a session, and the schedule that queues their sessions (SPEC 3.1).
//!
//! The store proposes agents by the columns of their rows; the domain opens and judges each before anything is begun.
//!
//! The store seeks by account in indexes of two times that the domain computes with every decision
//! (`schedule::prospect`), and never reads agents that are not due. A result is a proposal: the domain judges again
//! (`schedule::due`) in the decision that queues the session. So exactly one of several processes begins it, and a
//! tampered row begins nothing. An agent that cannot be asked (no model is set, an unreadable row) is reported once and
//! skipped for ten minutes. A sweep that finds no agent writes nothing.

use std::collections::{BTreeSet, HashMap};

use memoir_domain::{
    AccountId, AgentId, AgentScope, Timestamp, lifecycle::StartRefusal, session::Trigger,
};
use memoir_store::{AgentQuery, DueQuery};

use super::RefineOptions;
use crate::core::{
    Account, AgentHandle, Error, Memoir, Result,
    retry::{AGAIN_AFTER_SECONDS, PassedOver},
};

impl Account {
    /// The agents that are due now, by name, with the reason. One that cannot be read is skipped.
    ///
    /// # Errors
    /// The store fails.
    pub async fn due_agents(&self) -> Result<Vec<(AgentHandle, Trigger)>> {
        let (memoir, all) = (&self.memoir, u32::MAX);
        let proposed = memoir.proposed(memoir.now(), Some(self.id), all, BTreeSet::new());
        let proposed = proposed.await?;
        let mut due = Vec::with_capacity(proposed.len());
        for scope in proposed {
            match self.memoir.judged(scope).await {
                Ok(judged) => due.extend(judged),
                Err(error) => {
                    // `memoir doctor` finds it; the others are due in any case.
                    tracing::error!(agent = %scope.agent, %error, "an agent was skipped");
                }
            }
        }
        due.sort_by_cached_key(|(agent, _)| memoir_domain::agent::fold_name(&agent.name));
        Ok(due)
    }

    /// The number of agents that were already due at `then` according to their rows, and have been since.
    pub(crate) async fn count_due_since(&self, then: Timestamp) -> Result<usize> {
        let (memoir, all) = (&self.memoir, u32::MAX);
        let due = memoir.proposed(then, Some(self.id), all, BTreeSet::new());
        Ok(due.await?.len())
    }
}

impl Memoir {
    /// The agents that the store proposes as due at that time.
    async fn proposed(
        &self,
        now: Timestamp,
        account: Option<AccountId>,
        per_account: u32,
        except: BTreeSet<AgentId>,
    ) -> Result<Vec<AgentScope>> {
        let query = DueQuery {
            account,
            latest_slot: self.settings.weekly_slot.latest(now),
            now,
            per_account,
            except,
        };
        Ok(self.store.due_agents(&query).await?)
    }

    /// The agent with the reason why it is due; `None` where it is not.
    async fn judged(&self, scope: AgentScope) -> Result<Option<(AgentHandle, Trigger)>> {
        let mut agent = self.handle(scope);
        let loaded = agent.load(&AgentQuery::default()).await?;
        agent.name.clone_from(&loaded.agent.name);
        let due = self.refinement_due(&loaded.agent);
        Ok(due.map(|due| (agent, due.reason)))
    }
}

/// The outcome of a sweep of the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scheduled {
    /// Sessions that were queued.
    pub queued: usize,
    /// Whether due agents of some account remain for lack of room.
    pub is_more: bool,
}

/// Queues the sessions of due agents. Any number of these may work on one database: of one agent's session exactly one
/// is begun.
pub struct Scheduler {
    memoir: Memoir,
    most_waiting: u32,
    /// Agents that are due and cannot be asked.
    passed_over: PassedOver<AgentId>,
}

impl Scheduler {
    /// With at most so many waiting sessions per account, so that a thousand due agents do not fill the queue. At least
    /// 1.
    pub fn new(memoir: Memoir, most_waiting: u32) -> Self {
        Self {
            memoir,
            most_waiting: most_waiting.max(1),
            passed_over: PassedOver::default(),
        }
    }

    /// Queues the sessions that are due now, as far as there is room. Writes nothing where none is due. An agent that
    /// cannot be asked, such as one without a model, is skipped for some minutes.
    ///
    /// # Errors
    /// The store fails.
    pub async fn queue_due(&mut self) -> Result<Scheduled> {
        let now = self.memoir.now();
        let except = self.passed_over.at(now, AGAIN_AFTER_SECONDS);
        let except = except.into_iter().collect();
        let proposed = self.memoir.proposed(now, None, self.most_waiting, except);
        let proposed = proposed.await?;
        if proposed.is_empty() {
            return Ok(Scheduled::default());
        }
        // The queue is read only where an agent is due: most sweeps find none, and cost one query. The waiting sessions of
        // each account are counted no further than needed.
        let mut waiting: HashMap<AccountId, u32> = HashMap::new();
        for session in self.memoir.waiting_sessions(self.most_waiting).await? {
            *waiting.entry(session.scope.account).or_default() += 1;
        }
        let mut scheduled = Scheduled::default();
        let mut proposed_of: HashMap<AccountId, u32> = HashMap::new();
        for scope in proposed {
            let proposed = proposed_of.entry(scope.account).or_default();
            *proposed += 1;
            // The full number was returned: there may be others.
            scheduled.is_more |= *proposed == self.most_waiting;
            let waiting = waiting.entry(scope.account).or_default();
            if *waiting >= self.most_waiting {
                scheduled.is_more = true;
            } else if self.queue(scope, now).await {
                *waiting += 1;
                scheduled.queued += 1;
            }
        }
        Ok(scheduled)
    }

    /// Whether the agent's session was queued.
    async fn queue(&mut self, scope: AgentScope, now: Timestamp) -> bool {
        let error = match self.try_queue(scope).await {
            Ok(()) => {
                self.passed_over.forget(scope.agent);
                return true;
            }
            // Another process was faster.
            Err(Error::Start(StartRefusal::SessionOpen(_))) => return false,
            Err(error) => error,
        };
        if self.passed_over.note(scope.agent, error.code(), now) {
            let agent = scope.agent;
            match error {
                // A condition for being due is missing.
                Error::NoModel | Error::NotDue | Error::Start(_) => {
                    tracing::debug!(%agent, %error, "an agent was skipped");
                }
                error => tracing::error!(%agent, %error, "an agent was skipped"),
            }
        }
        false
    }

    async fn try_queue(&self, scope: AgentScope) -> Result<()> {
        // The store's proposal is based on columns of an unopened row; here it is opened, and the domain decides
        // whether and why.
        let judged = self.memoir.judged(scope).await?;
        let (agent, trigger) = judged.ok_or(Error::NotDue)?;
        let options = RefineOptions {
            trigger,
            ..RefineOptions::default()
        };
        agent.sessions().enqueue(&options).await.map(drop)
    }
}
