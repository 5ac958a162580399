//! An agent for itself is given by its lens alone.

use memoir_app::{AgentHandle, OwnAgent};

pub fn made(agent: AgentHandle) -> OwnAgent {
    OwnAgent(agent)
}

fn main() {}
