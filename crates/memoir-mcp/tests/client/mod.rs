//! An agent in memory, and clients of it.

use memoir_app::{OwnAgent, Viewer};
use memoir_domain::agent::Field;
use memoir_mcp::AgentTools;
use memoir_testkit::{TestClock, TestInstallation};
use rmcp::{
    ClientHandler, RoleClient, ServiceExt,
    model::CallToolRequestParams,
    service::{ClientLifecycleMode, RunningService, serve_client_with_lifecycle},
};
use serde_json::Value;

pub async fn agent() -> OwnAgent {
    agent_with(&[]).await
}

/// An agent without a loss guard: the core size alone limits its sessions.
#[allow(dead_code, reason = "not each suite needs it")]
pub async fn unguarded_agent() -> OwnAgent {
    agent_with(&[(Field::LossGuard, Some("off"))]).await
}

async fn agent_with(settings: &[(Field, Option<&str>)]) -> OwnAgent {
    let installation = TestInstallation::in_memory().with_clock(TestClock::ticking());
    let account = installation.account("default").await;
    let agent = memoir_testkit::agent(&account, "wren", settings).await;
    agent.views().seen_by(Viewer::Agent).as_agent().unwrap()
}

/// A client at the other end of a connection that begins as it did before protocol 2026-07-28.
pub async fn connected_to<H: ClientHandler>(
    agent: OwnAgent,
    client: H,
) -> RunningService<RoleClient, H> {
    let mode = ClientLifecycleMode::Initialize;
    connected_by(agent, client, mode).await
}

/// A client at the other end of a connection.
pub async fn connected_by<H: ClientHandler>(
    agent: OwnAgent,
    client: H,
    mode: ClientLifecycleMode,
) -> RunningService<RoleClient, H> {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    tokio::spawn(async move {
        let service = AgentTools::new(agent).serve(theirs).await.unwrap();
        service.waiting().await.unwrap();
    });
    serve_client_with_lifecycle(client, ours, mode)
        .await
        .unwrap()
}

pub async fn call<H: ClientHandler>(
    client: &RunningService<RoleClient, H>,
    tool: &'static str,
    arguments: Value,
) -> Value {
    let arguments = arguments.as_object().unwrap().clone();
    let request = CallToolRequestParams::new(tool).with_arguments(arguments);
    let result = client.call_tool(request).await.unwrap();
    result.structured_content.unwrap()
}
