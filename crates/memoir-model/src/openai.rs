//! OpenAI's chat completions, as spoken by OpenAI, OpenRouter, Ollama, vLLM, llama.cpp and most others.
//!
//! Lenient in what it reads, since every server departs from the original in its own way, and strict in what it sends:
//! an assistant message is echoed as received, except for tool calls in a form that servers are known to refuse.

use async_trait::async_trait;
use memoir_domain::{PrivateJson, PrivateText};
use serde_json::{Map, Value, json};

use crate::arguments;
use crate::call_ids::CallIds;
use crate::error::{CONTENT_FILTER, REFUSAL};
use crate::http::{Endpoint, retryable};
use crate::message::{Finish, ModelMessage, ModelRequest, Reply, TokenUsage, ToolCall};
use crate::{Model, ModelError, ModelName, OutputLimitField, Provider};

#[derive(Debug)]
pub(crate) struct OpenAi {
    pub(crate) name: ModelName,
    pub(crate) endpoint: Endpoint,
    pub(crate) context_tokens: Option<u32>,
    pub(crate) output_limit_field: OutputLimitField,
    /// Whether the provider passes marks for the model's cache on. It caches nothing without them.
    pub(crate) takes_cache_marks: bool,
}

/// Whether a model is one of Anthropic's behind OpenRouter, which passes on marks for the cache in the parts of a
/// message.
pub(crate) fn takes_cache_marks(provider: &Provider, model: &str) -> bool {
    // By name or by host: an administrator may have configured it under another name.
    let is_openrouter = provider.name == "openrouter"
        || provider
            .base_url
            .as_ref()
            .and_then(|url| url.host_str())
            .is_some_and(|host| host == "openrouter.ai" || host.ends_with(".openrouter.ai"));
    is_openrouter && model.starts_with("anthropic/")
}

#[async_trait]
impl Model for OpenAi {
    fn name(&self) -> &ModelName {
        &self.name
    }

    fn context_tokens(&self) -> Option<u32> {
        self.context_tokens
    }

    async fn complete(&self, request: &ModelRequest) -> Result<Reply, ModelError> {
        let mut body = encode(request, self.name.model(), self.output_limit_field);
        if self.takes_cache_marks && !request.tools.is_empty() {
            mark_for_cache(&mut body);
        }
        let answer = self.endpoint.post_amended(&body, amended).await?;
        // Before the message, since its beginning may come beside the error.
        if let Some(error) = choice_error(&answer) {
            return Err(self.endpoint.embedded_failure(error, None));
        }
        decode(answer, &body, request.messages.len())
    }
}

fn encode(request: &ModelRequest, model: &str, limit: OutputLimitField) -> Value {
    let mut messages: Vec<Value> = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": request.system.expose()}));
    }
    for message in &request.messages {
        // After an answer that is not echoed. Templates of local models refuse two messages of a user in a row.
        if let (ModelMessage::User(text), Some(last)) = (message, messages.last_mut())
            && last["role"] == "user"
        {
            let before = last["content"].as_str().unwrap_or_default();
            last["content"] = format!("{before}\n\n{}", text.expose()).into();
            continue;
        }
        messages.push(match message {
            ModelMessage::User(text) => json!({"role": "user", "content": text.expose()}),
            ModelMessage::Assistant(raw) => raw.expose().clone(),
            ModelMessage::ToolResult {
                call_id, content, ..
            } => {
                json!({"role": "tool", "tool_call_id": call_id, "content": content.expose()})
            }
        });
    }
    let limit = match limit {
        OutputLimitField::MaxTokens => "max_tokens",
        OutputLimitField::MaxCompletionTokens => "max_completion_tokens",
    };
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert("messages".to_owned(), messages.into());
    body.insert(limit.to_owned(), request.max_output_tokens.into());
    // Sent although it is the default: an answer in pieces is not read.
    body.insert("stream".to_owned(), false.into());
    if let Some(effort) = request.reasoning_effort {
        // OpenRouter, Ollama and vLLM know it under the same name.
        body.insert("reasoning_effort".to_owned(), effort.as_str().into());
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({"type": "function", "function": {
                "name": tool.name, "description": tool.description, "parameters": tool.parameters,
            }})
        });
        body.insert("tools".to_owned(), tools.collect());
        body.insert("tool_choice".to_owned(), "auto".into());
    }
    if let Some(answer) = &request.answer_schema {
        let schema = json!({"name": answer.name, "strict": true, "schema": answer.schema});
        let format = json!({"type": "json_schema", "json_schema": schema});
        body.insert("response_format".to_owned(), format);
    }
    body.into()
}

/// The same request in the form that a server's complaint, in lower case, asks for: with reasoning in each of the model's
/// messages, which DeepSeek's wants, or without the fields that it sent and refuses to read again. `None` where the
/// complaint is about something else.
fn amended(body: &Value, complaint: &str) -> Option<Value> {
    let is_refused = REFUSED.iter().any(|words| complaint.contains(words));
    let mut body = body.clone();
    let mut is_changed = false;
    for message in body.get_mut("messages")?.as_array_mut()? {
        let Some(message) = message.as_object_mut() else {
            continue;
        };
        if message.get("role")? != "assistant" {
            continue;
        }
        let before = message.len();
        if is_refused {
            message.retain(|field, _| {
                ECHOED.contains(&field.as_str()) || !complaint.contains(field.as_str())
            });
        } else if complaint.contains(REASONING) && message.get(REASONING).is_none_or(Value::is_null)
        {
            message.remove(REASONING);
            message.insert(REASONING.to_owned(), "".into());
            is_changed = true;
        }
        is_changed |= message.len() != before;
    }
    is_changed.then_some(body)
}

/// The field of a message's reasoning.
const REASONING: &str = "reasoning_content";
/// What a conversation is made of.
const ECHOED: [&str; 3] = ["role", "content", "tool_calls"];
/// How servers say that they do not take a field, in lower case.
const REFUSED: [&str; 8] = [
    "not permitted",
    "not allowed",
    "not supported",
    "unsupported",
    "unexpected",
    "unknown",
    "unrecognized",
    "should not",
];

/// Marks the constant part of a conversation with tools: the system prompt, and the user's last message, which in a
/// session is the ledger. It is then read from the cache instead of being paid for in full at each turn. Results of
/// tools are unchanged: of those only the text form is documented.
fn mark_for_cache(body: &mut Value) {
    let Some(Value::Array(messages)) = body.get_mut("messages") else {
        return;
    };
    let mut mark = |role: &str| {
        let said_by = |message: &&mut Value| message.get("role") == Some(&json!(role));
        let last = messages.iter_mut().rev().find(said_by);
        if let Some(content) = last.and_then(|message| message.get_mut("content"))
            && content.is_string()
        {
            let text = content.take();
            *content =
                json!([{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]);
        }
    };
    mark("system");
    mark("user");
}

/// The error that OpenRouter puts into a choice when the model behind it broke off.
fn choice_error(answer: &Value) -> Option<&Value> {
    answer
        .pointer("/choices/0/error")
        .filter(|error| !error.is_null())
}

/// `turn` as in [`CallIds::new`].
fn decode(mut answer: Value, body: &Value, turn: usize) -> Result<Reply, ModelError> {
    let Some(choice) = answer.pointer_mut("/choices/0") else {
        return Err(retryable("there is no choice in it"));
    };
    let finish = choice.get("finish_reason").and_then(Value::as_str);
    let finish = finish.map(str::to_owned);
    if let Some(reason) = &finish
        && BROKEN_OFF.iter().any(|begin| reason.starts_with(begin))
    {
        return Err(retryable("it was broken off"));
    }
    let Some(Value::Object(mut message)) = choice.get_mut("message").map(Value::take) else {
        return Err(retryable("its choice has no message"));
    };
    let text = text(message.get("content"));
    let tool_calls = take_calls(&mut message, turn);
    if text.trim().is_empty() && tool_calls.is_empty() {
        // Gemini adds what was filtered: `content_filter: RECITATION`.
        let is_filtered = |reason: &str| reason.starts_with(CONTENT_FILTER);
        if finish.as_deref().is_some_and(is_filtered) {
            return Err(ModelError::withheld(200, CONTENT_FILTER));
        }
        if refuses(&message) {
            return Err(ModelError::withheld(200, REFUSAL));
        }
    }
    // Both are refused when they come back: a message without role, and one that neither says nor calls anything.
    message.entry("role").or_insert_with(|| "assistant".into());
    if tool_calls.is_empty() && message.get("content").is_none_or(Value::is_null) {
        message.insert("content".to_owned(), "".into());
    }
    let message = Value::Object(message);
    Ok(Reply {
        usage: usage(&answer).unwrap_or_else(|| TokenUsage::estimated(body, &message)),
        finish: finished(finish.as_deref(), !tool_calls.is_empty()),
        message: PrivateJson::new(message),
        text: PrivateText::new(text),
        tool_calls,
    })
}

/// How a reason begins with which a server, and not the model, ends an answer: of Mistral and OpenRouter, vLLM, DeepSeek,
/// and Gemini, whose model wrote a call that cannot be read.
const BROKEN_OFF: [&str; 4] = [
    "error",
    "abort",
    "insufficient_system_resource",
    "function_call_filter",
];

/// Whether a message without a text holds a refusal: in a field of its own, or as a part of the content.
fn refuses(message: &Map<String, Value>) -> bool {
    let is_refusal = |part: &Value| part.get("type").is_some_and(|kind| kind == REFUSAL);
    let parts = message.get("content").and_then(Value::as_array);
    let said = message.get(REFUSAL).and_then(Value::as_str);
    said.is_some_and(|said| !said.trim().is_empty())
        || parts.is_some_and(|parts| parts.iter().any(is_refusal))
}

/// A text, nothing, or a list of parts of which the texts count. Parts of another kind, such as reasoning, are no answer,
/// whatever they hold.
fn text(content: Option<&Value>) -> String {
    let said = |part: &Value| {
        let kind = part.get("type").unwrap_or(&Value::Null);
        (kind.is_null() || kind == "text" || kind == "output_text")
            .then(|| part.get("text")?.as_str().map(str::to_owned))
            .flatten()
    };
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| part.as_str().map(str::to_owned).or_else(|| said(part)))
            .collect(),
        _ => String::new(),
    }
}

/// Reads the calls and mends them in place where a server would refuse them when they come back.
fn take_calls(message: &mut Map<String, Value>, turn: usize) -> Vec<ToolCall> {
    // llama.cpp and some others want nothing rather than an empty list.
    if message
        .get("tool_calls")
        .is_some_and(|calls| calls.is_null() || calls == &json!([]))
    {
        message.remove("tool_calls");
    }
    let Some(Value::Array(calls)) = message.get_mut("tool_calls") else {
        return Vec::new();
    };
    let mut ids = CallIds::new(turn);
    let calls = calls.iter_mut();
    calls.filter_map(|call| take_call(call, &mut ids)).collect()
}

/// `None` if it is no object.
fn take_call(call: &mut Value, ids: &mut CallIds) -> Option<ToolCall> {
    let call = call.as_object_mut()?;
    let id = ids.claim(call.get("id").and_then(Value::as_str));
    call.insert("id".to_owned(), id.as_str().into());
    call.entry("type").or_insert_with(|| "function".into());
    // A call without a function has no name: the loop treats it as one of a tool that does not exist.
    let (name, arguments) = take_function(call.get_mut("function").unwrap_or(&mut Value::Null));
    Some(ToolCall {
        id,
        name,
        arguments,
    })
}

/// Name and arguments. Arguments that are no text of a JSON object become one in place: vLLM,
/// Ollama and llama.cpp refuse the whole conversation for them otherwise.
fn take_function(function: &mut Value) -> (String, crate::Arguments) {
    let name = function.get("name").and_then(Value::as_str);
    let name = name.unwrap_or_default().to_owned();
    let sent = function.get("arguments").unwrap_or(&Value::Null);
    let arguments = arguments::read(sent);
    let usable = sent.as_str().is_some_and(arguments::is_object_text);
    if let (false, Some(function)) = (usable, function.as_object_mut()) {
        function.insert(
            "arguments".to_owned(),
            arguments::as_text(&arguments).into(),
        );
    }
    (name, arguments)
}

fn finished(reason: Option<&str>, calls: bool) -> Finish {
    match reason {
        // The second one is Mistral's, for the end of the context.
        Some("length" | "model_length") => Finish::Length,
        // Several servers say `stop` beside tool calls, or nothing at all.
        Some("stop" | "tool_calls" | "eos") | None if calls => Finish::ToolCalls,
        Some("stop" | "eos") | None => Finish::Stop,
        _ => Finish::Other,
    }
}

/// `None` without usable numbers. A prompt of no tokens is not one: some servers send zeros.
fn usage(answer: &Value) -> Option<TokenUsage> {
    let usage = answer.get("usage")?;
    let input_tokens = usage.get("prompt_tokens")?.as_u64();
    let input_tokens = input_tokens.filter(|tokens| *tokens > 0)?;
    let output_tokens = usage.get("completion_tokens")?.as_u64()?;
    // Gemini and Grok count hidden reasoning in the sum alone.
    let total = usage.get("total_tokens").and_then(Value::as_u64);
    let output_tokens = output_tokens.max(total.unwrap_or(0).saturating_sub(input_tokens));
    Some(TokenUsage::counted(input_tokens, output_tokens))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arguments::tests::{any_json, holds_for_reply};

    proptest! {
        #[test]
        fn spec_6_3_whatever_is_sent_is_an_error_or_a_sound_reply(calls in any_json(), content in any_json(), rest in any_json()) {
            let message = json!({"content": content, "tool_calls": calls});
            let answer = json!({"choices": [{"message": message, "finish_reason": rest}], "usage": rest});
            if let Ok(reply) = decode(answer, &json!({}), 1) {
                holds_for_reply(&reply);
                // Servers refuse a conversation in which arguments are not the text of an object.
                for call in reply.message.expose()["tool_calls"].as_array().into_iter().flatten() {
                    if let Some(function) = call.get("function").filter(|function| function.is_object()) {
                        prop_assert!(function["arguments"].as_str().is_some_and(arguments::is_object_text));
                    }
                }
            }
        }
    }
}
