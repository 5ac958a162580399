//! The type of an access request, as a handle, its maker and its revoker get it, has no field for
//! the text that the agent added to it.

use memoir_app::{AccessRequestFacts, AgentHandle};
use memoir_domain::{AccessRequestId, access::AccessDraft, audit::Actor};

pub async fn read(agent: &AgentHandle) -> memoir_app::Result<()> {
    for request in agent.grants().open_access().await? {
        let _ = request.reason;
        let _ = request.summaries;
        let _ = request.words;
    }
    Ok(())
}

pub async fn list(agent: &AgentHandle, id: AccessRequestId) -> memoir_app::Result<()> {
    let _ = agent.access_requests(None, 10).await?;
    let _ = agent.access_request(id).await?;
    Ok(())
}

pub async fn change(
    agent: &AgentHandle,
    draft: &AccessDraft,
    by: &Actor,
) -> memoir_app::Result<()> {
    let request = agent.grants().request_access(draft, by).await?;
    let _ = request.words;
    let ended = agent.grants().revoke_access(request.id, by).await?;
    let _ = ended.words;
    Ok(())
}

pub fn expected(request: AccessRequestFacts) {
    let _ = request.words.reason;
}

fn main() {}
