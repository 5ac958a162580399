//! No method of a handle or a lens takes another agent.

use memoir_app::{AgentHandle, AgentLens};

pub async fn read_other(handle: &AgentHandle, lens: AgentLens<'_>, other: &AgentHandle) {
    let _ = lens.memories(other.scope(), true).await;
    let _ = handle.export(other.scope()).await;
}

fn main() {}
