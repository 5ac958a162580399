//! An agent alone is no scope: its account belongs to it.

use memoir_domain::{AgentId, AgentScope};

pub fn scope_of(agent: AgentId) -> AgentScope {
    AgentScope { agent }
}

fn main() {}
