//! No method of a lens or of an agent for itself takes another agent.

use memoir_app::{AgentHandle, AgentLens, OwnAgent};

pub async fn read_other(lens: AgentLens<'_>, own: &OwnAgent, other: &AgentHandle) {
    let _ = lens.memories(other.scope(), true).await;
    let _ = own.export(other.scope()).await;
}

fn main() {}
