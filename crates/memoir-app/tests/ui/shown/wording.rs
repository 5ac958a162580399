//! What whoever may not read words is given of a wording has no field for one.

use memoir_app::{AgentHandle, LetGoFacts, WordingFacts, WordingQuery};

pub async fn read(agent: &AgentHandle, query: &WordingQuery) -> memoir_app::Result<()> {
    let _ = agent.wordings(query).await?;
    Ok(())
}

pub fn facts(wording: WordingFacts) {
    let _ = wording.content;
    let _ = wording.source;
    let _ = wording.words;
    for let_go in wording.let_go {
        let _: &LetGoFacts = &let_go;
        let _ = let_go.words;
    }
}

fn main() {}
