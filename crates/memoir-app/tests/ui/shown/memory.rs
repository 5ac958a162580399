//! What a handle gives by itself of a memory has no field for a word.

use memoir_app::{AgentHandle, MemoryFacts, MemoryPage};

pub async fn read(agent: &AgentHandle, page: &MemoryPage) -> memoir_app::Result<()> {
    for memory in agent.views().memory_page(page).await? {
        let _ = memory.content;
        let _ = memory.tags;
        let _ = memory.source;
        let _ = memory.words;
    }
    Ok(())
}

pub fn expected(memory: &MemoryFacts) -> &str {
    memory.content()
}

fn main() {}
