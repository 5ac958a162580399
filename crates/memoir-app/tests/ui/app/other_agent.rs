//! No method of a handle takes another agent.

use memoir_app::AgentHandle;

pub async fn read_other(handle: &AgentHandle, other: &AgentHandle) {
    let _ = handle.memories(other.scope(), true).await;
    let _ = handle.export(other.scope()).await;
}

fn main() {}
