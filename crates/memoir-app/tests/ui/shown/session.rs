//! What a handle gives by itself of a session has no field for a word.

use memoir_app::{AgentHandle, sessions::LiveSession};
use memoir_domain::SessionId;

pub async fn read(agent: &AgentHandle, id: SessionId) -> memoir_app::Result<()> {
    let session = agent.views().session(id).await?;
    let _ = session.summary;
    let _ = session.reason;
    let _ = session.words;
    for session in agent.views().session_page(None, 10).await? {
        let _ = session.words;
    }
    let watched = agent.sessions().live_session(id).await?;
    let _ = watched.session.words;
    let _: LiveSession = watched;
    Ok(())
}

fn main() {}
