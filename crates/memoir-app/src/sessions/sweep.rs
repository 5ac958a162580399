//! Which agents of an account are due for a session (SPEC 3.1).

use memoir_domain::{AgentScope, schedule, session::Trigger};

use crate::{Account, AgentHandle, Error, codec};

impl Account {
    /// The agents that are due now, with the reason.
    ///
    /// # Errors
    /// The store fails.
    pub async fn due_agents(&self) -> Result<Vec<(AgentHandle, Trigger)>, Error> {
        let mut due = Vec::new();
        for row in self.memoir.store.agents(self.id).await? {
            if row.erased_at.is_some() {
                continue;
            }
            let agent = match codec::listed_agent(&row) {
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
                        key: None,
                    },
                    trigger,
                ));
            }
        }
        Ok(due)
    }
}
