//! What a handle and an account give by themselves of an agent has no field for its own prompts.

use memoir_app::{Account, AgentHandle};

pub async fn read(account: &Account, agent: &AgentHandle) -> memoir_app::Result<()> {
    let _ = agent.views().show().await?.words;
    for agent in account.agents().await? {
        let _ = agent.words;
    }
    Ok(())
}

fn main() {}
