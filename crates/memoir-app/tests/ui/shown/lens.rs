//! A lens is made by `seen_by` alone, and cannot be given other eyes.

use memoir_app::{AgentHandle, AgentLens, Viewer};

pub fn made(agent: &AgentHandle) -> AgentLens<'_> {
    AgentLens {
        agent,
        viewer: Viewer::Agent,
    }
}

pub fn turned(lens: &mut AgentLens<'_>) {
    lens.viewer = Viewer::Agent;
}

fn main() {}
