//! What a handle gives by itself of a request for access has no field for what the agent said to it.

use memoir_app::{AccessRequestFacts, AgentHandle};

pub async fn read(agent: &AgentHandle) -> memoir_app::Result<()> {
    for request in agent.open_access().await? {
        let _ = request.reason;
        let _ = request.still_said_by;
        let _ = request.words;
    }
    Ok(())
}

pub async fn list(agent: &AgentHandle) -> memoir_app::Result<()> {
    let _ = agent.access_requests(None, 10).await?;
    Ok(())
}

pub fn expected(request: AccessRequestFacts) {
    let _ = request.words.reason;
}

fn main() {}
