//! An agent in memory, and clients of it.

use std::sync::Arc;

use memoir_app::{InstallationSettings, Memoir, Models, OwnAgent, Viewer};
use memoir_domain::audit::Actor;
use memoir_mcp::AgentTools;
use memoir_model::{ConnectError, Model, ModelName};
use memoir_store::Store;
use memoir_store_sqlite::SqliteStore;
use memoir_vault::{KeyStore, MasterKey};
use rmcp::{
    ClientHandler, RoleClient, ServiceExt,
    model::CallToolRequestParams,
    service::{ClientLifecycleMode, RunningService, serve_client_with_lifecycle},
};
use serde_json::Value;

struct NoModels;

impl Models for NoModels {
    fn connect(&self, _: &ModelName) -> Result<Arc<dyn Model>, ConnectError> {
        unreachable!("the agent drives its own sessions")
    }
}

pub async fn agent() -> OwnAgent {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().unwrap());
    let keys = KeyStore::in_memory(&MasterKey::generate().unwrap()).unwrap();
    let memoir = Memoir::new(
        store,
        Arc::new(keys),
        Arc::new(NoModels),
        InstallationSettings::default(),
    );
    let account = memoir.account("default").await.unwrap();
    let person = Actor::administrator("test");
    let off = [(memoir_domain::agent::Field::LossGuard, Some("off"))];
    account.create_agent("wren", &off, &person).await.unwrap();
    let agent = account.agent("wren").await.unwrap();
    agent.seen_by(Viewer::Agent).as_agent().unwrap()
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
