//! Nothing is shown with text where no viewer is named.

use memoir_app::{AgentHandle, ArchiveLinks, MemoryFacts, RecordFilter, ShownMemory};
use memoir_domain::{memory::Memory, recall::RecallQuery};

pub async fn read(agent: &AgentHandle, query: &RecallQuery) {
    let _ = agent.recall(query).await;
    let _ = agent.records(&RecordFilter::default()).await;
    let _ = agent.memories().recall(query).await;
    let _ = agent.views().recall(query).await;
    let _ = agent.views().records(&RecordFilter::default()).await;
    let _ = agent.log().records(&RecordFilter::default()).await;
}

pub fn with_words(memory: Memory) -> ShownMemory {
    ShownMemory::with_words(memory, &ArchiveLinks::default())
}

pub fn from_words(memory: Memory) -> ShownMemory {
    memory.into()
}

/// Without words there is one.
pub fn from_facts(memory: MemoryFacts) -> ShownMemory {
    memory.into()
}

fn main() {}
