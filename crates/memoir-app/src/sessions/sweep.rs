//! The due sessions of all agents of an account (SPEC 3.1).

use memoir_domain::{AgentScope, schedule, session::Trigger};

use super::{RefineOptions, drive::Observer};
use crate::{Account, AgentHandle, Error, SessionView, codec};

/// What became of one due agent.
#[derive(Debug)]
pub struct Swept {
    /// The agent's name.
    pub agent: String,
    /// Why it was due.
    pub trigger: Trigger,
    /// Its session, or why none came about.
    pub outcome: Result<SessionView, Error>,
}

impl Account {
    /// The agents that are due now, with the reason.
    ///
    /// # Errors
    /// The store fails.
    pub async fn due_agents(&self) -> Result<Vec<(AgentHandle, Trigger)>, Error> {
        let mut due = Vec::new();
        for row in self.memoir.store.agents(self.id).await? {
            let agent = match codec::agent(&row) {
                Ok(agent) => agent,
                Err(error) => {
                    // `memoir doctor` finds it; the others are due all the same.
                    tracing::error!(agent = %row.scope.agent, %error, "an agent was passed over");
                    continue;
                }
            };
            let scope = AgentScope {
                account: self.id,
                agent: agent.id,
            };
            if let Some(trigger) =
                schedule::due(&agent, &self.memoir.settings.weekly_slot, self.memoir.now())
            {
                due.push((
                    AgentHandle {
                        memoir: self.memoir.clone(),
                        scope,
                        name: agent.name,
                    },
                    trigger,
                ));
            }
        }
        Ok(due)
    }

    /// Closes sessions whose worker died, then runs every due session, one after the other. One that
    /// cannot be run does not keep the others from running.
    ///
    /// # Errors
    /// The store fails before the first session.
    pub async fn sweep(&self, observer: &mut Observer<'_>) -> Result<Vec<Swept>, Error> {
        self.memoir.close_lapsed_sessions().await?;
        let mut swept = Vec::new();
        for (agent, trigger) in self.due_agents().await? {
            let options = RefineOptions {
                trigger: Some(trigger),
                ..RefineOptions::default()
            };
            let outcome = agent
                .refine(&options, observer)
                .await
                .map(|driven| driven.session);
            swept.push(Swept {
                agent: agent.name,
                trigger,
                outcome,
            });
        }
        Ok(swept)
    }
}
