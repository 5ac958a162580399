//! The facts of a wording, and of what was let go of it, have no field for a word, and a handle gives none with words.

use memoir_app::{AgentHandle, LetGoFacts, WordingFacts, WordingQuery};

pub async fn read(agent: &AgentHandle, query: &WordingQuery) -> memoir_app::Result<()> {
    let _ = agent.wordings(query).await?;
    Ok(())
}

pub fn facts(wording: WordingFacts, let_go: LetGoFacts) {
    let _ = wording.content;
    let _ = wording.source;
    let _ = wording.words;
    let _ = wording.let_go;
    let _ = let_go.words;
}

fn main() {}
