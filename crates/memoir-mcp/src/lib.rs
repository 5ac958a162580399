//! The Model Context Protocol, over stdio and streamable HTTP: the interface of an agent that runs in a client
//! of that protocol. Bound to one agent.
//!
//! It parses a tool's arguments, calls a use case, and shows the result. The session tools are those of every other
//! interface.

mod access;
mod arguments;
mod hints;
mod life;
mod lines;
mod tools;

use std::sync::Arc;

use access::{Answered, AskedRequests, AskingWay};
pub use lines::{Received, read_body, read_messages};
use memoir_app::{Error, FaultId, OwnAgent, Result};
use memoir_domain::quote::quote_json;
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
        CustomResult, GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation,
        ListPromptsResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams, Prompt,
        PromptMessage, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
        Resource, ResourceContents, Role, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
    },
};
use serde_json::{Map, Value, json};
use tokio::{
    io::{AsyncRead, AsyncWrite, BufReader},
    sync::{Mutex, mpsc},
};

/// The instructions of the server for its clients.
const INSTRUCTIONS: &str = include_str!("instructions.md");
/// The field beside a text for its reader.
const BESIDE: [&str; 10] = [
    "access_requests",
    "refinement_due",
    "messages_waiting",
    "part",
    "waiting",
    "read",
    "saved",
    "replaced",
    "not_replaced",
    "too_large",
];
const PROMPT: &str = "memory";
const RESOURCE: &str = "memoir://context";

/// The tools of one agent.
#[derive(Clone)]
pub struct AgentTools(ToolsOf);

#[derive(Clone)]
enum ToolsOf {
    /// Of one, over a connection that lasts. Its calls run one after the other, so that those of one answer of a model
    /// keep their order: a runtime of one thread, as `memoir mcp` has, starts them in the order in which they came.
    One(Box<OwnAgent>, AskedRequests, Arc<Mutex<()>>),
    /// Of the one that each HTTP request carries, once its token was checked.
    Carried,
}

impl AgentTools {
    /// For that agent alone.
    pub fn new(agent: OwnAgent) -> Self {
        let asked = AskedRequests::default();
        Self(ToolsOf::One(Box::new(agent), asked, Arc::default()))
    }

    fn agent(&self, context: &RequestContext<RoleServer>) -> Result<OwnAgent, ErrorData> {
        match &self.0 {
            ToolsOf::One(agent, ..) => Ok(OwnAgent::clone(agent)),
            ToolsOf::Carried => context
                .extensions
                .get::<http::request::Parts>()
                .and_then(|parts| parts.extensions.get::<OwnAgent>())
                .cloned()
                .ok_or_else(|| ErrorData::invalid_request("the request carries no agent", None)),
        }
    }

    /// The context, and a word where there is none yet.
    async fn context(&self, context: &RequestContext<RoleServer>) -> Result<String, ErrorData> {
        let found = self.agent(context)?.context(None).await;
        let found = found.map_err(|error| {
            ErrorData::internal_error(error.public_message(), Some(error_result(&error)))
        })?;
        Ok(match found.text.expose() {
            "" => "Nothing is remembered yet.".to_owned(),
            text => text.to_owned(),
        })
    }

    fn asking_way(&self, context: &RequestContext<RoleServer>) -> AskingWay {
        let lasting = match &self.0 {
            ToolsOf::One(_, asked_requests, _) => Some(asked_requests),
            ToolsOf::Carried => None,
        };
        AskingWay::of(context, lasting)
    }

    async fn call(&self, agent: &OwnAgent, name: &str, arguments: &Value) -> Result<Value> {
        let _turn = match &self.0 {
            ToolsOf::One(_, _, turn) => Some(turn.lock().await),
            ToolsOf::Carried => None,
        };
        let mut result = tools::call(agent, name, arguments).await?;
        access::list(agent, name, &mut result).await;
        Ok(result)
    }
}

/// The result for the client. A refusal is an ordinary result, which states what to do instead. A model's texts in it
/// are quoted, so that no memory can pass for anything else (SPEC 3.6). In the context and in waiting messages each
/// line is quoted already, so these texts are unchanged.
fn complete(tool: &str, result: Result<Value>) -> CallToolResponse {
    let result = result.unwrap_or_else(|error| error_result(&error));
    let is_error = result["type"] == "error";
    let mut content = Vec::new();
    match result["text"].as_str() {
        Some(text) if [tools::CONTEXT, tools::READ].contains(&tool) => {
            content.push(ContentBlock::text(text));
            let beside: Map<String, Value> = BESIDE
                .into_iter()
                .filter(|name| !result[*name].is_null())
                .map(|name| (name.to_owned(), result[name].clone()))
                .collect();
            if !beside.is_empty() {
                content.push(ContentBlock::text(quote_json(&beside)));
            }
        }
        _ => content.push(ContentBlock::text(quote_json(&result))),
    }
    let mut answer = CallToolResult::structured(result);
    answer.content = content;
    answer.is_error = Some(is_error);
    answer.into()
}

/// A use case's refusal, in the form of a tool's. An internal failure has the identifier under which it is logged.
fn error_result(error: &Error) -> Value {
    let mut result =
        json!({"type": "error", "code": error.code(), "error": error.public_message()});
    if let Some(hint) = hints::hint(error.code()) {
        result["hint"] = hint.into();
    }
    if let Some(fault) = FaultId::of(error) {
        result["instance"] = Value::String(fault.to_string());
    }
    result
}

impl ServerHandler for AgentTools {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools();
        let capabilities = capabilities.enable_prompts().enable_resources().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("memoir", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS.trim())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all().to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::all().iter().find(|tool| tool.name == name).cloned()
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        lines::answer(&request)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let agent = self.agent(&context)?;
        // Here, since a session refuses an unknown name with a result, and a client expects an error of the protocol.
        if !tools::is_one(&request.name) {
            return Err(ErrorData::invalid_params("there is no such tool", None));
        }
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        if request.name == access::TOOL {
            let said = access::said(request.input_responses.as_ref());
            let way = self.asking_way(&context);
            return Ok(match access::answer(&agent, &arguments, said, &way).await {
                Ok(Answered::AskFirst(question)) => question.into(),
                Ok(Answered::Result(result)) => complete(access::TOOL, Ok(result)),
                Err(error) => complete(access::TOOL, Err(error)),
            });
        }
        let result = self.call(&agent, &request.name, &arguments).await;
        // After the call and concurrently: no result waits for a person.
        if let AskingWay::Asking(peer, asked_requests) = self.asking_way(&context) {
            asked_requests.begin(agent, *peer);
        }
        Ok(complete(&request.name, result))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompt = Prompt::new(PROMPT, Some("Your long-term memory"), None);
        Ok(ListPromptsResult::with_all_items(vec![prompt]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name != PROMPT {
            return Err(ErrorData::invalid_params("there is no such prompt", None));
        }
        let text = self.context(&context).await?;
        let message = PromptMessage::new_text(Role::User, text);
        Ok(GetPromptResult::new(vec![message]).into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resource = Resource::new(RESOURCE, "context")
            .with_description("Your long-term memory")
            .with_mime_type("text/plain");
        Ok(ListResourcesResult::with_all_items(vec![resource]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if request.uri != RESOURCE {
            return Err(ErrorData::resource_not_found(
                "there is no such resource",
                None,
            ));
        }
        let text = self.context(&context).await?;
        let contents = ResourceContents::text(text, RESOURCE);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }
}

/// Serves the agent over two ends, such as standard input and output, until the client leaves: a message a line. One that
/// is too long or unreadable gets an error.
///
/// # Errors
/// The client does not begin as the protocol says, or the connection breaks.
pub async fn serve_lines(
    agent: OwnAgent,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), String> {
    /// Responses that wait to be written.
    const WAITING: usize = 16;
    let (passed, taken) = tokio::io::duplex(64 << 10);
    let (given, sent) = tokio::io::duplex(64 << 10);
    let (refusals, answers) = mpsc::channel(WAITING);
    // Ends with the input, or when the lines are not taken any more.
    let passing = tokio::spawn(lines::pass(BufReader::new(input), passed, refusals));
    let writing = tokio::spawn(lines::write(BufReader::new(sent), answers, output));
    let served = match AgentTools::new(agent).serve((taken, given)).await {
        Ok(service) => service.waiting().await.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    // It may still wait for a line that never comes.
    passing.abort();
    // Both inputs of the writer have ended: what is queued is written first.
    drop(writing.await);
    served.map(drop)
}

/// The protocol over HTTP, as a service for requests that carry an [`OwnAgent`] among their extensions.
pub type HttpDoor = StreamableHttpService<AgentTools, NeverSessionManager>;

/// Serves each request for the agent that it carries: the caller that mounts this checks the token first and puts the
/// agent there.
pub fn http_door() -> HttpDoor {
    over_http(|| AgentTools(ToolsOf::Carried))
}

/// The protocol over HTTP as Memoir speaks it. No request depends on an earlier one.
pub fn over_http<H: ServerHandler>(
    handler: impl Fn() -> H + Send + Sync + 'static,
) -> StreamableHttpService<H, NeverSessionManager> {
    // The caller that mounts this knows by which names it is called, and has checked them.
    let config = StreamableHttpServerConfig::default()
        // No state between requests, so that any process of the service can serve any of them.
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .disable_allowed_hosts();
    StreamableHttpService::new(move || Ok(handler()), Default::default(), config)
}
