//! A lens cannot be given other eyes.

use memoir_app::{AgentLens, Viewer};

pub fn turned(lens: &mut AgentLens<'_>) {
    lens.viewer = Viewer::Agent;
}

fn main() {}
