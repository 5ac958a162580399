//! Reflections and absorptions that are due.

use std::collections::HashMap;

use memoir_domain::{AgentId, AgentScope, Timestamp};

use crate::{Error, Memoir, Result};

/// After how many seconds an agent is looked at again for which nothing could be done.
const AGAIN_AFTER_SECONDS: i64 = 600;

/// Something that is due for an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Job {
    /// It has journal entries to reflect on.
    Reflect(AgentScope),
    /// It has conversations to read.
    Absorb(AgentScope),
}

impl Job {
    /// Whose it is.
    pub fn scope(self) -> AgentScope {
        match self {
            Self::Reflect(scope) | Self::Absorb(scope) => scope,
        }
    }
}

/// Finds what is due, and passes over for a while what could not be done.
#[derive(Debug, Default)]
pub struct LifeSchedule {
    passed_over: HashMap<AgentId, Timestamp>,
}

impl LifeSchedule {
    /// What is due now, at most `per_account` of each kind for each account.
    ///
    /// # Errors
    /// The store fails.
    pub async fn due(&mut self, memoir: &Memoir, per_account: u32) -> Result<Vec<Job>> {
        let now = memoir.now();
        self.passed_over
            .retain(|_, since| (0..AGAIN_AFTER_SECONDS).contains(&now.seconds_since(*since)));
        let mut jobs = Vec::new();
        // Without a schedule, what was handed over is read all the same.
        if memoir.settings.schedule
            && let Some(slot) = memoir.settings.daily_slot.latest(now)
        {
            // As many more as may have to be passed over.
            let limit = per_account
                .saturating_add(u32::try_from(self.passed_over.len()).unwrap_or(u32::MAX));
            let due = memoir.store.due_reflections(None, slot, limit).await?;
            jobs.extend(due.into_iter().map(Job::Reflect));
        }
        let due = memoir.due_transcripts(per_account).await?;
        jobs.extend(due.into_iter().map(Job::Absorb));
        jobs.retain(|job| !self.passed_over.contains_key(&job.scope().agent));
        Ok(jobs)
    }

    /// Notes that nothing could be done for an agent, for want of a model for instance.
    pub fn pass_over(&mut self, job: Job, now: Timestamp) {
        self.passed_over.insert(job.scope().agent, now);
    }
}

impl Memoir {
    /// Does what is due. Whether anything was done; where not, the job is to be passed over for a while.
    ///
    /// # Errors
    /// The store fails, or no model can be used.
    pub async fn do_job(&self, job: Job) -> Result<bool> {
        let mut agent = self.handle(job.scope());
        agent.name = agent
            .load(&memoir_store::Wanted::default())
            .await?
            .agent
            .name;
        match job {
            Job::Reflect(_) => match agent.reflect_if_due().await {
                Ok(_) => Ok(true),
                // Somebody else was faster.
                Err(Error::NotDue) => Ok(true),
                Err(error) => Err(error),
            },
            Job::Absorb(_) => {
                let absorbed = agent.absorb_if_due().await?;
                Ok(absorbed.failure.is_none())
            }
        }
    }
}
