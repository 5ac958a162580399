//! What the scripted server does with one request.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::ReceivedRequest;

const JSON: (&str, &str) = ("content-type", "application/json");

/// What the server does with one request.
#[derive(Clone, derive_more::Debug)]
pub enum ServerStep {
    /// An answer of a well-behaved model, in the wire format of the requested path.
    Answer(ModelAnswer),
    /// Status 200 with this JSON, whatever the path.
    #[debug("Reply({_0})")]
    Reply(Value),
    /// Any status, headers and body.
    #[debug("Raw({status})")]
    Raw {
        /// HTTP status.
        status: u16,
        /// Headers besides `content-length` and `connection`, which the server adds.
        headers: Vec<(String, String)>,
        /// The body.
        body: Vec<u8>,
    },
    /// A complete head with status 200, half of a body, and the end of the connection.
    CutConnection,
    /// The end of the connection before any byte of a response.
    Hangup,
    /// The step, after a wait.
    Slow(Duration, Box<ServerStep>),
    /// The step that the function makes of the request.
    #[debug("Respond")]
    Respond(Arc<dyn Fn(&ReceivedRequest) -> ServerStep + Send + Sync>),
}

/// What a well-behaved model says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelAnswer {
    /// Its text; `None`: nothing but calls.
    pub text: Option<String>,
    /// Name and arguments of each tool call.
    pub calls: Vec<(String, Value)>,
    /// Tokens read and written; `None` reports no usage.
    pub usage: Option<(u64, u64)>,
}

impl ServerStep {
    /// The model says `text`.
    pub fn text(text: &str) -> Self {
        Self::answer(Some(text.to_owned()), Vec::new())
    }

    /// The model calls tools, with these arguments.
    pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let calls = calls
            .into_iter()
            .map(|(name, arguments)| (name.to_owned(), arguments))
            .collect();
        Self::answer(None, calls)
    }

    fn answer(text: Option<String>, calls: Vec<(String, Value)>) -> Self {
        let usage = Some((100, 10));
        Self::Answer(ModelAnswer { text, calls, usage })
    }

    /// The model calls one tool.
    pub fn call(name: &str, arguments: Value) -> Self {
        Self::calls([(name, arguments)])
    }

    /// A vector of each text that the request asks for, in OpenAI's form: `of` makes it of the text.
    pub fn embeddings(of: impl Fn(&str) -> Vec<f32> + Send + Sync + 'static) -> Self {
        Self::respond(move |received| {
            let input = received.body["input"].as_array();
            let texts = input.into_iter().flatten().filter_map(Value::as_str);
            let vectors: Vec<Value> = texts
                .enumerate()
                .map(|(index, text)| json!({"object": "embedding", "index": index, "embedding": of(text)}))
                .collect();
            let tokens = 10 * vectors.len();
            Self::Reply(json!({
                "object": "list",
                "data": vectors,
                "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
            }))
        })
    }

    /// An error of that status, in the shape that OpenAI and Anthropic share. The message quotes
    /// nothing; see [`ServerStep::with_body`] for one that does.
    pub fn status(status: u16) -> Self {
        let body = json!({"error": {"message": "scripted", "type": "scripted_error"}});
        Self::raw(status, JSON, body.to_string())
    }

    /// A web page, as proxies and login pages send it, with status 200.
    pub fn html() -> Self {
        let page = "<!DOCTYPE html><html><body>Sign in to continue</body></html>";
        Self::raw(200, ("content-type", "text/html; charset=utf-8"), page)
    }

    /// Status 200 with JSON that breaks off.
    pub fn malformed() -> Self {
        let half = r#"{"choices":[{"message":{"role":"assistant","content":"half"#;
        Self::raw(200, JSON, half)
    }

    /// A redirect to `location`.
    pub fn redirect(status: u16, location: &str) -> Self {
        Self::raw(status, ("location", location), "")
    }

    fn raw(status: u16, (name, value): (&str, &str), body: impl Into<Vec<u8>>) -> Self {
        Self::Raw {
            status,
            headers: vec![(name.to_owned(), value.to_owned())],
            body: body.into(),
        }
    }

    /// The step that `respond` makes of the request, for scripts that depend on it.
    pub fn respond(
        respond: impl Fn(&ReceivedRequest) -> ServerStep + Send + Sync + 'static,
    ) -> Self {
        Self::Respond(Arc::new(respond))
    }

    /// This step after `wait`.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        Self::Slow(wait, Box::new(self))
    }

    /// Adds a header to a [`ServerStep::Raw`].
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        let Self::Raw { headers, .. } = &mut self else {
            panic!("only a raw step takes a header")
        };
        headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds `retry-after` to a [`ServerStep::Raw`].
    #[must_use]
    pub fn retry_after(self, value: &str) -> Self {
        self.with_header("retry-after", value)
    }

    /// Replaces the body of a [`ServerStep::Raw`].
    #[must_use]
    pub fn with_body(mut self, new: impl Into<Vec<u8>>) -> Self {
        let Self::Raw { body, .. } = &mut self else {
            panic!("only a raw step takes a body")
        };
        *body = new.into();
        self
    }

    /// Replaces the usage of a [`ServerStep::Answer`]; `None` reports none.
    #[must_use]
    pub fn with_usage(mut self, new: Option<(u64, u64)>) -> Self {
        let Self::Answer(answer) = &mut self else {
            panic!("only an answer has a usage")
        };
        answer.usage = new;
        self
    }
}

impl ModelAnswer {
    /// A chat completion. `number` makes the ids of its calls.
    pub(crate) fn chat_completion(&self, number: usize) -> Value {
        let mut message = json!({"role": "assistant", "content": self.text});
        if !self.calls.is_empty() {
            let calls = self
                .calls
                .iter()
                .enumerate()
                .map(|(index, (name, arguments))| {
                    json!({
                        "id": format!("call_{number}_{index}"),
                        "type": "function",
                        // OpenAI's format has the arguments as a string that holds JSON.
                        "function": {"name": name, "arguments": arguments.to_string()},
                    })
                });
            message["tool_calls"] = calls.collect();
        }
        let finish = if self.calls.is_empty() {
            "stop"
        } else {
            "tool_calls"
        };
        let mut answer = json!({
            "id": format!("chatcmpl-{number}"),
            "object": "chat.completion",
            "model": "scripted",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        });
        if let Some((input, output)) = self.usage {
            answer["usage"] = json!({
                "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
            });
        }
        answer
    }

    /// A message of Anthropic's API.
    pub(crate) fn message(&self, number: usize) -> Value {
        let text = self
            .text
            .iter()
            .map(|text| json!({"type": "text", "text": text}));
        let calls = self.calls.iter().enumerate().map(|(index, (name, input))| {
            json!({
                "type": "tool_use", "id": format!("toolu_{number}_{index}"), "name": name,
                "input": input,
            })
        });
        let content: Vec<Value> = text.chain(calls).collect();
        let mut answer = json!({
            "id": format!("msg_{number}"), "type": "message", "role": "assistant",
            "model": "scripted", "content": content,
            "stop_reason": if self.calls.is_empty() { "end_turn" } else { "tool_use" },
        });
        if let Some((input, output)) = self.usage {
            answer["usage"] = json!({"input_tokens": input, "output_tokens": output});
        }
        answer
    }
}
