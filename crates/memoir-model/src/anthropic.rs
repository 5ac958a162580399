//! Anthropic's messages API.
//!
//! Content blocks are echoed as received, signed thinking included. The API wants the roles to alternate and all
//! results of one turn's calls in one user message, so neighbours of the same role are joined here.

use async_trait::async_trait;
use memoir_domain::{PrivateJson, PrivateText, agent::ReasoningEffort};
use serde_json::{Value, json};

use crate::arguments;
use crate::call_ids::CallIds;
use crate::error::REFUSAL;
use crate::http::{Endpoint, retryable};
use crate::message::{Finish, ModelMessage, ModelRequest, Reply, TokenUsage, ToolCall};
use crate::{Arguments, Model, ModelError, ModelName};

/// Sent as `anthropic-version`.
pub(crate) const VERSION: &str = "2023-06-01";

#[derive(Debug)]
pub(crate) struct Anthropic {
    pub(crate) name: ModelName,
    pub(crate) endpoint: Endpoint,
    pub(crate) context_tokens: Option<u32>,
}

#[async_trait]
impl Model for Anthropic {
    fn name(&self) -> &ModelName {
        &self.name
    }

    fn context_tokens(&self) -> Option<u32> {
        self.context_tokens
    }

    async fn complete(&self, request: &ModelRequest) -> Result<Reply, ModelError> {
        let body = encode(request, self.name.model());
        let answer = self.endpoint.post(&body).await?;
        decode(answer, &body, request.messages.len())
    }
}

fn encode(request: &ModelRequest, model: &str) -> Value {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in &request.messages {
        let (role, blocks) = match message {
            ModelMessage::User(text) => {
                ("user", vec![json!({"type": "text", "text": text.expose()})])
            }
            ModelMessage::Assistant(raw) => {
                let blocks = raw.expose().get("content").and_then(Value::as_array);
                ("assistant", blocks.cloned().unwrap_or_default())
            }
            ModelMessage::ToolResult {
                call_id, content, ..
            } => (
                "user",
                vec![json!({
                    "type": "tool_result", "tool_use_id": call_id, "content": content.expose(),
                })],
            ),
        };
        match messages.last_mut() {
            // A message without blocks is refused; one that said nothing is left out.
            _ if blocks.is_empty() => {}
            Some((last, joined)) if *last == role => joined.extend(blocks),
            _ => messages.push((role, blocks)),
        }
    }
    // With tools a conversation has many turns. The prompt and the conversation so far are then read from the cache
    // instead of being paid for in full at each of them.
    if !request.tools.is_empty()
        && let Some((_, blocks)) = messages.last_mut()
        && let Some(block) = blocks.last_mut()
    {
        mark_for_cache(block);
    }
    let messages: Vec<Value> = messages
        .into_iter()
        .map(|(role, blocks)| json!({"role": role, "content": blocks}))
        .collect();
    let mut body = json!({
        "model": model,
        "max_tokens": request.max_output_tokens,
        "messages": messages,
    });
    if !request.system.is_empty() {
        let mut block = json!({"type": "text", "text": request.system.expose()});
        if !request.tools.is_empty() {
            mark_for_cache(&mut block);
        }
        body["system"] = json!([block]);
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "name": tool.name, "description": tool.description,
                "input_schema": tool.parameters,
            })
        });
        body["tools"] = tools.collect();
        body["tool_choice"] = json!({"type": "auto"});
    }
    if let Some(answer) = &request.answer_schema {
        let format = json!({"type": "json_schema", "schema": answer.schema});
        body["output_config"]["format"] = format;
    }
    if let Some(effort) = request.reasoning_effort.and_then(effort) {
        body["output_config"]["effort"] = effort.into();
    }
    body
}

/// The nearest that the API knows. Unasked it does not think, so that nothing has to say so.
fn effort(effort: ReasoningEffort) -> Option<&'static str> {
    match effort {
        ReasoningEffort::None => None,
        ReasoningEffort::Minimal => Some(ReasoningEffort::Low.as_str()),
        other => Some(other.as_str()),
    }
}

fn mark_for_cache(block: &mut Value) {
    // Thinking cannot carry the mark; text, calls and results can.
    let kind = block.get("type").and_then(Value::as_str);
    if matches!(kind, Some("text" | "tool_use" | "tool_result")) {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
}

/// `turn` as in [`CallIds::new`].
fn decode(mut answer: Value, body: &Value, turn: usize) -> Result<Reply, ModelError> {
    let Some(Value::Array(mut blocks)) = answer.get_mut("content").map(Value::take) else {
        return Err(retryable("it has no content"));
    };
    let text: String = blocks.iter().filter_map(text_of).collect();
    // Blank texts are sent, but refused when they come back.
    blocks.retain(|block| text_of(block).is_none_or(|text| !text.trim().is_empty()));
    let mut ids = CallIds::new(turn);
    let calls = blocks.iter_mut();
    let calls = calls.filter(|block| kind(block) == Some("tool_use"));
    let tool_calls: Vec<ToolCall> = calls.map(|block| take_call(block, &mut ids)).collect();
    let stop_reason = answer.get("stop_reason").and_then(Value::as_str);
    if stop_reason == Some(REFUSAL) && text.trim().is_empty() && tool_calls.is_empty() {
        return Err(ModelError::withheld(200, REFUSAL));
    }
    let message = json!({"role": "assistant", "content": blocks});
    Ok(Reply {
        usage: usage(&answer).unwrap_or_else(|| TokenUsage::estimated(body, &message)),
        finish: match stop_reason {
            Some("end_turn" | "stop_sequence") | None if tool_calls.is_empty() => Finish::Stop,
            Some("tool_use" | "end_turn" | "stop_sequence") | None => Finish::ToolCalls,
            Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
            Some(_) => Finish::Other,
        },
        message: PrivateJson::new(message),
        text: PrivateText::new(text),
        tool_calls,
    })
}

fn kind(block: &Value) -> Option<&str> {
    block.get("type")?.as_str()
}

/// The text of a block of text; `None` for another one.
fn text_of(block: &Value) -> Option<&str> {
    let is_text = kind(block) == Some("text");
    is_text.then_some(block)?.get("text")?.as_str()
}

/// Reads a call and gives it an id, and an object as input, where it has none.
fn take_call(block: &mut Value, ids: &mut CallIds) -> ToolCall {
    let id = ids.claim(block.get("id").and_then(Value::as_str));
    // Written back, since the result must name the identifier in the echo.
    block["id"] = id.as_str().into();
    let name = block.get("name").and_then(Value::as_str);
    let name = name.unwrap_or_default().to_owned();
    let arguments = arguments::read(block.get("input").unwrap_or(&Value::Null));
    // The API refuses the whole conversation for a call whose input is no object.
    if !block.get("input").is_some_and(Value::is_object) {
        block["input"] = match &arguments {
            Arguments::Json(object) => object.expose().clone(),
            Arguments::Malformed(_) => json!({}),
        };
    }
    ToolCall {
        id,
        name,
        arguments,
    }
}

/// Tokens written to and read from the cache were read by the model too.
fn usage(answer: &Value) -> Option<TokenUsage> {
    let usage = answer.get("usage")?;
    let cached = |field| usage.get(field).and_then(Value::as_u64).unwrap_or(0);
    let input_tokens = usage
        .get("input_tokens")?
        .as_u64()?
        .saturating_add(cached("cache_creation_input_tokens"))
        .saturating_add(cached("cache_read_input_tokens"));
    let output_tokens = usage.get("output_tokens")?.as_u64()?;
    // A prompt of no tokens is none: what was used is then estimated.
    (input_tokens > 0).then_some(TokenUsage::counted(input_tokens, output_tokens))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arguments::tests::{any_json, holds_for_reply};

    proptest! {
        #[test]
        fn spec_6_3_whatever_is_sent_is_an_error_or_a_sound_reply(content in any_json(), rest in any_json()) {
            let answer = json!({"content": content, "stop_reason": rest, "usage": rest});
            if let Ok(reply) = decode(answer, &json!({}), 1) {
                holds_for_reply(&reply);
                for block in reply.message.expose()["content"].as_array().into_iter().flatten() {
                    prop_assert!(kind(block) != Some("tool_use") || block["input"].is_object());
                }
            }
        }
    }
}
