//! Reflections and absorptions that are due.

use std::collections::HashMap;

use memoir_domain::{AccountId, AgentId, AgentScope, Timestamp};
use memoir_store::{AgentQuery, DueWork};

use super::{Absorbed, Reflected, reflect::ReflectionCause};
use crate::{
    core::{
        AgentHandle, Error, Memoir, Result,
        account_turns::AccountTurns,
        model_question::Stop,
        retry::{AGAIN_AFTER_SECONDS, PassedOver},
    },
    life::Life,
};

/// Something that is due for an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Job {
    /// It has journal entries to reflect on.
    Reflect(AgentScope),
    /// It has conversations to read.
    Absorb(AgentScope),
}

impl Job {
    /// The agent of the job.
    pub fn scope(self) -> AgentScope {
        match self {
            Self::Reflect(scope) | Self::Absorb(scope) => scope,
        }
    }
}

/// Finds due jobs, and skips failed ones for ten minutes.
#[derive(Debug, Default)]
pub struct LifeSchedule {
    passed_over: PassedOver<AgentId>,
    turns: AccountTurns,
}

impl LifeSchedule {
    /// The due jobs, at most `per_account` of each kind for each account. Accounts take turns: the one that has waited
    /// longest comes first, and each gets one before any gets a second.
    ///
    /// # Errors
    /// The store fails.
    pub async fn due(&mut self, memoir: &Memoir, per_account: u32) -> Result<Vec<Job>> {
        let now = memoir.now();
        let passed_over = self.passed_over.at(now, AGAIN_AFTER_SECONDS);
        // As many more as may have to be skipped.
        let limit =
            per_account.saturating_add(u32::try_from(passed_over.len()).unwrap_or(u32::MAX));
        let mut jobs = Vec::new();
        // Without a schedule, messages that were handed over are still read.
        if memoir.settings.schedule
            && let Some(slot) = memoir.settings.daily_slot.latest(now)
        {
            let work = DueWork::Reflection(slot);
            let due = memoir.store.due_work(work, None, limit).await?;
            jobs.extend(due.into_iter().map(Job::Reflect));
        }
        let work = DueWork::Messages(now);
        let due = memoir.store.due_work(work, None, limit).await?;
        jobs.extend(due.into_iter().map(Job::Absorb));
        jobs.retain(|job| !passed_over.contains(&job.scope().agent));
        Ok(self.in_turn(jobs))
    }

    fn in_turn(&self, jobs: Vec<Job>) -> Vec<Job> {
        let mut of_account: HashMap<AccountId, u64> = HashMap::new();
        let mut placed: Vec<((u64, u64), Job)> = jobs
            .into_iter()
            .map(|job| {
                let account = job.scope().account;
                let before = of_account.entry(account).or_default();
                let turn = self.turns.last(account);
                *before += 1;
                ((*before, turn), job)
            })
            .collect();
        placed.sort_by_key(|(place, _)| *place);
        placed.into_iter().map(|(_, job)| job).collect()
    }

    /// Notes that a job is being done: its account waits for its next turn.
    pub fn take_turn(&mut self, job: Job) {
        self.turns.note(job.scope().account);
    }

    /// Notes that nothing could be done for an agent, for want of a model for instance.
    pub fn pass_over(&mut self, job: Job, now: Timestamp) {
        self.passed_over.note(job.scope().agent, "", now);
    }
}

impl Memoir {
    /// Runs a due job, until `stop`. Returns whether anything was done; if not, the job is to be skipped for some time.
    ///
    /// # Errors
    /// The store fails, or no model can be used.
    pub async fn do_job(&self, job: Job, stop: impl Future<Output = ()> + Send) -> Result<bool> {
        let mut stop: Stop<'_> = Box::pin(stop);
        let mut agent = self.handle(job.scope());
        let loaded = agent.load(&AgentQuery::default()).await?;
        agent.name = loaded.agent.name;
        Ok(match agent.life().do_due(job, &mut stop).await? {
            // Reflected or not, it is not due before the next day.
            Some(JobOutcome::Reflected(_)) => true,
            Some(JobOutcome::Absorbed(absorbed)) => absorbed.failure.is_none(),
            // Another process was faster with a reflection; an agent that cannot be read is skipped.
            None => matches!(job, Job::Reflect(_)),
        })
    }
}

/// The outcome of a job.
#[derive(Debug, Clone, PartialEq)]
pub enum JobOutcome {
    /// The agent reflected on its journal.
    Reflected(Reflected),
    /// Conversations were read.
    Absorbed(Absorbed),
}

impl crate::core::Account {
    /// The due jobs of its agents, whether the schedule is on or not. Each comes with the agent.
    ///
    /// # Errors
    /// The store fails.
    pub async fn due_jobs(&self) -> Result<Vec<(AgentHandle, Job)>> {
        let (memoir, now) = (&self.memoir, self.memoir.now());
        let (account, all) = (Some(self.id), u32::MAX);
        let mut jobs = Vec::new();
        let work = DueWork::Messages(now);
        let transcripts = memoir.store.due_work(work, account, all).await?;
        jobs.extend(transcripts.into_iter().map(Job::Absorb));
        if let Some(slot) = memoir.settings.daily_slot.latest(now) {
            let work = DueWork::Reflection(slot);
            let reflections = memoir.store.due_work(work, account, all).await?;
            jobs.extend(reflections.into_iter().map(Job::Reflect));
        }
        let mut due = Vec::new();
        for job in jobs {
            let agent = self.agent(&job.scope().agent.to_string()).await?;
            due.push((agent, job));
        }
        Ok(due)
    }
}

impl Life<'_> {
    /// Runs a due job of this agent, until `stop`; `None` where it is no longer due, or the agent is not to be asked.
    ///
    /// # Errors
    /// The store fails, or no model can be used.
    pub async fn do_due(
        self,
        job: Job,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<Option<JobOutcome>> {
        let stop: &mut Stop<'_> = &mut (Box::pin(stop) as Stop<'_>);
        // A job names its agent; the handle of another agent must not do it here.
        if job.scope() != self.scope {
            return Ok(None);
        }
        match job {
            Job::Reflect(_) => match self.reflect_until(stop, ReflectionCause::Slot).await {
                Ok(reflected) => Ok(Some(JobOutcome::Reflected(reflected))),
                Err(Error::NotDue) => Ok(None),
                Err(error) => Err(error),
            },
            Job::Absorb(_) => Ok(self.absorb_if_due(stop).await?.map(JobOutcome::Absorbed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(account: u8, agent: u8) -> Job {
        Job::Absorb(AgentScope {
            account: AccountId::from_bytes([account; 16]),
            agent: AgentId::from_bytes([agent; 16]),
        })
    }

    #[test]
    fn no_account_waits_for_all_jobs_of_another() {
        let mut schedule = LifeSchedule::default();
        let due = || vec![job(1, 1), job(1, 2), job(2, 3), job(3, 4), job(3, 5)];
        let first = schedule.in_turn(due());
        assert_eq!(
            first,
            [job(1, 1), job(2, 3), job(3, 4), job(1, 2), job(3, 5)]
        );
        schedule.take_turn(job(1, 1));
        schedule.take_turn(job(3, 4));
        assert_eq!(
            schedule.in_turn(due())[..3],
            [job(2, 3), job(1, 1), job(3, 4)]
        );
    }
}
