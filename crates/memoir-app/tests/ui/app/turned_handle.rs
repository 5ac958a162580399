//! A handle cannot be turned to another agent.

use memoir_app::AgentHandle;

pub fn turn(handle: &mut AgentHandle, other: &AgentHandle) {
    handle.scope = other.scope();
}

fn main() {}
