//! The adapters against a scripted server over real HTTP on loopback.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod anthropic;
mod careful;
mod embeddings;
mod faults;
mod names;
mod openai;
mod provider;
mod providers;
mod real;

use std::collections::BTreeMap;
use std::sync::Arc;

use memoir_domain::PrivateText;
use memoir_model::{
    AnswerSchema, Model, ModelError, ModelMessage, ModelRequest, OfferedTool, ProviderKind,
    ProviderSettings, Providers, Reply,
};
use memoir_testkit::{ScriptedServer, ServerStep};
use serde_json::{Value, json};

/// Part of every prompt, and never of an error.
const WORDS: &str = "canary-vow";
/// The key, which must be in one header and nowhere else.
const KEY: &str = "sk-canary-key";

fn settings(kind: ProviderKind, base_url: String) -> ProviderSettings {
    ProviderSettings {
        kind: Some(kind),
        base_url: Some(base_url),
        key_env: Some("LAB_KEY".to_owned()),
        request_timeout_seconds: Some(5),
        context_tokens: Some(32_768),
        ..ProviderSettings::default()
    }
}

fn providers(settings: ProviderSettings) -> Providers {
    let settings = BTreeMap::from([("lab".to_owned(), settings)]);
    let environment = |variable: &str| (variable == "LAB_KEY").then(|| KEY.to_owned());
    Providers::with_environment(settings, environment).unwrap()
}

fn model(kind: ProviderKind, server: &ScriptedServer) -> Arc<dyn Model> {
    providers(settings(kind, server.base_url()))
        .connect(&"lab:small".parse().unwrap())
        .unwrap()
}

async fn ask(
    kind: ProviderKind,
    server: &ScriptedServer,
    request: &ModelRequest,
) -> Result<Reply, ModelError> {
    model(kind, server).complete(request).await
}

/// Checks that such an answer is refused for good, with that code.
async fn check_withheld(kind: ProviderKind, sent: Value, code: &str) {
    let server = ScriptedServer::start([ServerStep::Reply(sent)]);
    let asked = ask(kind, &server, &request(vec![user("Begin.")], vec![])).await;
    let error = asked.unwrap_err();
    assert!(
        !error.is_retryable() && error.is_about_request(),
        "{error:?}"
    );
    let told = error.advised();
    assert!(
        told.contains(&format!("(`{code}`)")) && told.contains("try another model"),
        "{told}"
    );
    assert!(!told.contains("cannot"), "{told}");
}

/// What is sent where the answer must be of a schema, and the schema.
async fn sent_with_schema(kind: ProviderKind) -> (Value, Value) {
    let server = ScriptedServer::start([ServerStep::text("{}")]);
    let schema =
        json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
    let mut request = request(vec![user("Which?")], vec![]);
    request.answer_schema = Some(AnswerSchema {
        name: "promotions",
        schema: schema.clone(),
    });
    ask(kind, &server, &request).await.unwrap();
    (server.requests().remove(0), schema)
}

fn request(messages: Vec<ModelMessage>, tools: Vec<OfferedTool>) -> ModelRequest {
    ModelRequest {
        system: PrivateText::new("You are Ada."),
        messages,
        tools,
        answer_schema: None,
        max_output_tokens: 500,
        reasoning_effort: None,
    }
}

fn user(text: &str) -> ModelMessage {
    ModelMessage::User(PrivateText::new(text))
}

fn result(call_id: &str, content: &str) -> ModelMessage {
    ModelMessage::ToolResult {
        call_id: call_id.to_owned(),
        content: PrivateText::new(content),
    }
}

fn delete_tool() -> OfferedTool {
    OfferedTool {
        name: "delete_memory".to_owned(),
        description: "Deletes one memory.".to_owned(),
        parameters: json!({
            "type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"],
            "additionalProperties": false,
        }),
    }
}
