//! What is the agent's alone is not to be had from a handle, nor from a lens, but from the agent for itself.

use memoir_app::{AgentHandle, AgentLens};
use memoir_domain::{SessionId, agent::Field, session::Mode};
use memoir_vault::archive::Passphrase;

pub async fn by_handle(agent: &AgentHandle, session: SessionId, passphrase: Passphrase) {
    let _ = agent.context(None).await;
    let _ = agent.near_duplicates(1).await;
    let _ = agent.history(None).await;
    let _ = agent.export().await;
    let _ = agent.archive(passphrase).await;
    let _ = agent.own_setting(Field::SystemPrompt).await;
    let _ = agent.setting_history(Field::SystemPrompt).await;
    let _ = agent.read_part().await;
    let _ = agent.open_own(Mode::Full).await;
    let _ = agent.rehearse_own(Mode::Full).await;
    let _ = agent.take_up_own().await;
    let _ = agent.call_tool(session, "list_memories", None).await;
}

pub async fn by_part(agent: &AgentHandle, session: SessionId, passphrase: Passphrase) {
    let _ = agent.memories().context(None).await;
    let _ = agent.memories().near_duplicates(1).await;
    let _ = agent.memories().export().await;
    let _ = agent.log().history(None).await;
    let _ = agent.log().archive(passphrase).await;
    let _ = agent.settings().own_setting(Field::SystemPrompt).await;
    let _ = agent.settings().setting_history(Field::SystemPrompt).await;
    let _ = agent.life().read_part().await;
    let _ = agent.sessions().open_own(Mode::Full).await;
    let _ = agent.sessions().call_tool(session, "list_memories", None).await;
}

pub async fn by_lens(lens: &AgentLens<'_>) {
    let _ = lens.context(None).await;
    let _ = lens.export().await;
}

fn main() {}
