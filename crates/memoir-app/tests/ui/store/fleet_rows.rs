//! The rows that look-ups across agents give hold no memory and no prompt.

use memoir_domain::AccountId;
use memoir_store::{AgentRow, Fleet, Result};

pub async fn read_all(fleet: &dyn Fleet, account: AccountId) -> Result<()> {
    for agent in fleet.agents(account).await? {
        let AgentRow { prompts, .. } = agent;
        let AgentRow { memories, .. } = agent;
    }
    Ok(())
}

fn main() {}
