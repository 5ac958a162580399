//! A lens is made by `seen_by` alone.

use memoir_app::{AgentHandle, AgentLens, Viewer};

pub fn made(agent: &AgentHandle) -> AgentLens<'_> {
    AgentLens {
        agent,
        viewer: Viewer::Agent,
    }
}

fn main() {}
