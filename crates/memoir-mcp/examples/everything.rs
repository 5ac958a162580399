//! The server that the official test suite of the Model Context Protocol requires, on the transport of `memoir serve`:
//! with its own tools, prompts and resources. `tests/integrations/conformance.py` uses it, and prints what is left out
//! and why; no distributed binary contains it.
//!
//! Listens on a free port of this machine, prints it, and runs until it is stopped.
#![expect(
    deprecated,
    reason = "logging goes with a later version of the protocol; the suite still asks for it"
)]

use std::{io::Write, time::Duration};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams,
        CompleteResult, GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
        LoggingLevel, LoggingMessageNotificationParam, PaginatedRequestParams,
        ProgressNotificationParam, ReadResourceRequestParams, ReadResourceResponse,
        ReadResourceResult, ServerCapabilities, ServerConfig, SetLevelRequestParams,
        SubscribeRequestParams, UnsubscribeRequestParams,
    },
    service::RequestContext,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

type McpResult<T> = Result<T, ErrorData>;

/// A picture of one red pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A sound of no length.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
/// Between two notifications, as the suite wants it.
const A_WHILE: Duration = Duration::from_millis(50);

#[derive(Clone)]
struct Everything;

/// What the protocol has as JSON.
fn from_json<T: DeserializeOwned>(value: Value) -> McpResult<T> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn image() -> Value {
    json!({"type": "image", "data": PNG, "mimeType": "image/png"})
}

fn embedded(uri: &str, media_type: &str, text: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": uri, "mimeType": media_type, "text": text}})
}

fn tools() -> Value {
    let plain = [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_tool_with_logging",
        "test_tool_with_progress",
        "test_error_handling",
    ];
    let mut tools: Vec<Value> = plain
        .iter()
        .map(|name| json!({"name": name, "description": name, "inputSchema": {"type": "object"}}))
        .collect();
    tools.push(json!({
        "name": "json_schema_2020_12_tool",
        "description": "Tool with JSON Schema 2020-12 features",
        "inputSchema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {"address": {"type": "object", "properties": {
                "street": {"type": "string"}, "city": {"type": "string"},
            }}},
            "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
            "additionalProperties": false,
        },
    }));
    json!({"tools": tools})
}

async fn log(context: &RequestContext<RoleServer>, message: &str) -> McpResult<()> {
    let said = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(message));
    let sent = context.peer.notify_logging_message(said).await;
    sent.map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

async fn report(context: &RequestContext<RoleServer>, progress: f64) -> McpResult<()> {
    let Some(token) = context.meta.get_progress_token() else {
        return Ok(());
    };
    let how_far = ProgressNotificationParam::new(token, progress).with_total(100.0);
    let sent = context.peer.notify_progress(how_far).await;
    sent.map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

impl ServerHandler for Everything {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_completions()
            .enable_logging()
            .build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("everything", "1"))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> McpResult<ListToolsResult> {
        from_json(tools())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> McpResult<CallToolResponse> {
        let content = match request.name.as_ref() {
            "test_simple_text" => vec![text("This is a simple text response for testing.")],
            "test_image_content" => vec![image()],
            "test_audio_content" => {
                vec![json!({"type": "audio", "data": WAV, "mimeType": "audio/wav"})]
            }
            "test_embedded_resource" => vec![embedded(
                "test://embedded-resource",
                "text/plain",
                "This is an embedded resource content.",
            )],
            "test_multiple_content_types" => vec![
                text("Multiple content types test:"),
                image(),
                embedded(
                    "test://mixed-content-resource",
                    "application/json",
                    r#"{"test":"data","value":123}"#,
                ),
            ],
            "test_tool_with_logging" => {
                log(&context, "Tool execution started").await?;
                tokio::time::sleep(A_WHILE).await;
                log(&context, "Tool processing data").await?;
                tokio::time::sleep(A_WHILE).await;
                log(&context, "Tool execution completed").await?;
                vec![text("Done.")]
            }
            "test_tool_with_progress" => {
                for progress in [0.0, 50.0, 100.0] {
                    report(&context, progress).await?;
                    tokio::time::sleep(A_WHILE).await;
                }
                vec![text("Done.")]
            }
            "test_error_handling" => {
                let content = vec![text("This tool intentionally returns an error for testing")];
                let result: CallToolResult =
                    from_json(json!({"content": content, "isError": true}))?;
                return Ok(result.into());
            }
            _ => return Err(ErrorData::invalid_params("there is no such tool", None)),
        };
        let result: CallToolResult = from_json(json!({"content": content}))?;
        Ok(result.into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> McpResult<ListPromptsResult> {
        let argument = |name| json!({"name": name, "description": name, "required": true});
        from_json(json!({"prompts": [
            {"name": "test_simple_prompt", "description": "Without arguments"},
            {"name": "test_prompt_with_arguments", "description": "With two",
                "arguments": [argument("arg1"), argument("arg2")]},
            {"name": "test_prompt_with_embedded_resource", "description": "With a resource",
                "arguments": [argument("resourceUri")]},
            {"name": "test_prompt_with_image", "description": "With a picture"},
        ]}))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> McpResult<GetPromptResponse> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let argument = |name: &str| arguments[name].as_str().unwrap_or_default();
        let contents = match request.name.as_str() {
            "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
            "test_prompt_with_arguments" => vec![text(&format!(
                "Prompt with arguments: arg1='{}', arg2='{}'",
                argument("arg1"),
                argument("arg2")
            ))],
            "test_prompt_with_embedded_resource" => vec![
                embedded(
                    argument("resourceUri"),
                    "text/plain",
                    "Embedded resource content for testing.",
                ),
                text("Please process the embedded resource above."),
            ],
            "test_prompt_with_image" => vec![image(), text("Please analyze the image above.")],
            _ => return Err(ErrorData::invalid_params("there is no such prompt", None)),
        };
        let message = |content| json!({"role": "user", "content": content});
        let messages: Vec<Value> = contents.into_iter().map(message).collect();
        let result: GetPromptResult = from_json(json!({"messages": messages}))?;
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> McpResult<ListResourcesResult> {
        from_json(json!({"resources": [
            {"uri": "test://static-text", "name": "text", "description": "A text", "mimeType": "text/plain"},
            {"uri": "test://static-binary", "name": "picture", "description": "A picture", "mimeType": "image/png"},
            {"uri": "test://watched-resource", "name": "watched", "description": "A text", "mimeType": "text/plain"},
        ]}))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> McpResult<ListResourceTemplatesResult> {
        from_json(json!({"resourceTemplates": [
            {"uriTemplate": "test://template/{id}/data", "name": "data", "mimeType": "application/json"},
        ]}))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> McpResult<ReadResourceResponse> {
        let uri = request.uri.as_str();
        let id = uri
            .strip_prefix("test://template/")
            .and_then(|rest| rest.strip_suffix("/data"));
        let (media_type, field, content) = match (uri, id) {
            ("test://static-text", _) => (
                "text/plain",
                "text",
                "This is the content of the static text resource.".to_owned(),
            ),
            ("test://watched-resource", _) => ("text/plain", "text", "Watched.".to_owned()),
            ("test://static-binary", _) => ("image/png", "blob", PNG.to_owned()),
            (_, Some(id)) => (
                "application/json",
                "text",
                json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")})
                    .to_string(),
            ),
            _ => {
                return Err(ErrorData::resource_not_found(
                    "there is no such resource",
                    None,
                ));
            }
        };
        let contents = json!({"uri": uri, "mimeType": media_type, field: content});
        let result: ReadResourceResult = from_json(json!({"contents": [contents]}))?;
        Ok(result.into())
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> McpResult<()> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> McpResult<()> {
        Ok(())
    }

    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> McpResult<()> {
        Ok(())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> McpResult<CompleteResult> {
        from_json(
            json!({"completion": {"values": ["paris", "park", "party"], "total": 3, "hasMore": false}}),
        )
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stdout(), "{}", listener.local_addr()?)?;
    let app = axum::Router::new().route_service("/mcp", memoir_mcp::over_http(|| Everything));
    axum::serve(listener, app).await
}
