//! The Model Context Protocol, over stdio: the door of an agent that lives in a client of that protocol.
//! Bound to one agent.
//!
//! A door like the others: it parses a tool's arguments, calls a use case, and shows what came of it. The
//! knife's tools are the ones of every other door.

mod arguments;
mod tools;

use memoir_app::{AgentHandle, Error};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
};
use serde_json::{Value, json};

/// What a client is told about the whole.
const INSTRUCTIONS: &str = include_str!("instructions.md");

/// The tools of one agent.
#[derive(Clone)]
pub struct Door {
    agent: AgentHandle,
}

impl Door {
    /// For that agent alone.
    pub fn new(agent: AgentHandle) -> Self {
        Self { agent }
    }

    async fn call(&self, name: &str, arguments: &Value) -> Value {
        match tools::call(&self.agent, name, arguments).await {
            Ok(result) => result,
            Err(error) => error_result(&error),
        }
    }
}

/// A use case's refusal, in the form of a tool's.
fn error_result(error: &Error) -> Value {
    let mut result = json!({"type": "error", "code": error.code(), "error": error.to_string()});
    if let Some(hint) = error.hint() {
        result["hint"] = Value::String(hint);
    }
    result
}

impl ServerHandler for Door {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("memoir", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS.trim())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::all().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let result = self.call(&request.name, &arguments).await;
        // A refusal is an ordinary answer, which tells the model what to do instead.
        Ok(CallToolResult::structured(result).into())
    }
}

/// Serves the agent over standard input and output until the client leaves.
///
/// # Errors
/// The client does not begin as the protocol says, or the connection breaks.
pub async fn serve_stdio(agent: AgentHandle) -> Result<(), String> {
    let service = Door::new(agent)
        .serve(rmcp::transport::stdio())
        .await
        .map_err(|error| error.to_string())?;
    service
        .waiting()
        .await
        .map(drop)
        .map_err(|error| error.to_string())
}
