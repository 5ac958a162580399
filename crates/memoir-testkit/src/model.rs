//! A model in process that follows a script, for tests that want no HTTP.

use std::collections::VecDeque;

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use memoir_domain::{PrivateJson, PrivateText, session::FailureClass};
use memoir_model::{
    Arguments, Finish, Model, ModelError, ModelName, ModelRequest, Reply, TokenUsage, ToolCall,
};
use serde_json::{Value, json};

/// What the model does with one request.
#[derive(Clone, derive_more::Debug)]
pub enum Turn {
    /// It responds.
    Reply(Reply),
    /// It fails.
    Error(ModelError),
    /// It never responds: not even once tokio's clock has run on, as a paused one does while nothing but another thread
    /// is at work.
    Never,
    /// The turn, after a wait of tokio's clock, which a test may have paused.
    Slow(Duration, Box<Turn>),
    /// The turn that the function makes of the request.
    #[debug("Respond")]
    Respond(Arc<dyn Fn(&ModelRequest) -> Turn + Send + Sync>),
}

impl Turn {
    /// It says `text`.
    pub fn text(text: &str) -> Self {
        Self::reply(text, Vec::new())
    }

    /// It calls tools, with these arguments. The ids are `call_0`, `call_1` and so on.
    pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let calls = calls.into_iter().map(|(name, arguments)| {
            (
                name.to_owned(),
                Arguments::Json(PrivateJson::new(arguments)),
            )
        });
        Self::reply("", calls.collect())
    }

    /// It calls one tool.
    pub fn call(name: &str, arguments: Value) -> Self {
        Self::calls([(name, arguments)])
    }

    /// It calls one tool with a text that is no JSON object.
    pub fn malformed_call(name: &str, arguments: &str) -> Self {
        let arguments = Arguments::Malformed(PrivateText::new(arguments));
        Self::reply("", vec![(name.to_owned(), arguments)])
    }

    /// It says `text` and calls tools.
    pub fn reply(text: &str, calls: Vec<(String, Arguments)>) -> Self {
        let finish = if calls.is_empty() {
            Finish::Stop
        } else {
            Finish::ToolCalls
        };
        let tool_calls: Vec<ToolCall> = calls
            .into_iter()
            .enumerate()
            .map(|(index, (name, arguments))| ToolCall {
                id: format!("call_{index}"),
                name,
                arguments,
            })
            .collect();
        let raw_calls = tool_calls.iter().map(|call| {
            let arguments = match &call.arguments {
                Arguments::Json(object) => object.expose().to_string(),
                Arguments::Malformed(text) => text.expose().to_owned(),
            };
            json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
        });
        let mut raw = json!({"role": "assistant", "content": text});
        if !tool_calls.is_empty() {
            raw["tool_calls"] = raw_calls.collect();
        }
        Self::Reply(Reply {
            message: PrivateJson::new(raw),
            text: PrivateText::new(text),
            tool_calls,
            // Tests that are about usage set it by `with_usage`.
            usage: TokenUsage::counted(100, 10),
            finish,
        })
    }

    /// The provider refuses the request with that status, and says no more.
    pub fn rejected(status: u16, class: FailureClass) -> Self {
        Self::Error(ModelError::Rejected {
            status,
            code: None,
            class,
            hint: None,
        })
    }

    /// The turn that `respond` makes of the request.
    pub fn respond(respond: impl Fn(&ModelRequest) -> Turn + Send + Sync + 'static) -> Self {
        Self::Respond(Arc::new(respond))
    }

    /// The same answer, cut off at the output limit by a provider that counts no tokens.
    #[must_use]
    pub fn cut(self) -> Self {
        match self {
            Self::Reply(reply) => Self::Reply(Reply {
                finish: Finish::Length,
                usage: TokenUsage {
                    measured: false,
                    ..reply.usage
                },
                ..reply
            }),
            other => other,
        }
    }

    /// This turn after `wait`.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        Self::Slow(wait, Box::new(self))
    }

    /// Replaces the usage of a [`Turn::Reply`].
    #[must_use]
    pub fn with_usage(mut self, input_tokens: u64, output_tokens: u64) -> Self {
        let Self::Reply(reply) = &mut self else {
            panic!("only a reply has a usage")
        };
        reply.usage = TokenUsage::counted(input_tokens, output_tokens);
        self
    }
}

/// A model that takes one [`Turn`] of its script for each request and remembers the requests. Past
/// the end of the script it answers [`ModelError::BadAnswer`] for good, with `script_exhausted`.
#[derive(Debug)]
pub struct ModelScript {
    name: ModelName,
    context_tokens: Option<u32>,
    script: Mutex<VecDeque<Turn>>,
    otherwise: Option<Turn>,
    requests: Mutex<Vec<ModelRequest>>,
}

impl ModelScript {
    /// A model with the name `scripted:model`.
    pub fn new(script: impl IntoIterator<Item = Turn>) -> Self {
        Self::build(script.into_iter().collect(), None)
    }

    /// As [`ModelScript::new`], treating every request alike.
    pub fn always(turn: Turn) -> Self {
        Self::build(VecDeque::new(), Some(turn))
    }

    #[expect(clippy::expect_used, reason = "a constant")]
    fn build(script: VecDeque<Turn>, otherwise: Option<Turn>) -> Self {
        Self {
            name: "scripted:model"
                .parse()
                .expect("the constant is a model's name"),
            context_tokens: None,
            script: Mutex::new(script),
            otherwise,
            requests: Mutex::new(Vec::new()),
        }
    }

    /// Gives it another name.
    #[must_use]
    pub fn with_name(mut self, name: ModelName) -> Self {
        self.name = name;
        self
    }

    /// Gives it a context window, in tokens.
    #[must_use]
    pub fn with_context_tokens(mut self, context_tokens: u32) -> Self {
        self.context_tokens = Some(context_tokens);
        self
    }

    /// Appends to the script.
    pub fn push(&self, turn: Turn) {
        self.script.lock().push_back(turn);
    }

    /// How many turns of the script were not used.
    pub fn turns_left(&self) -> usize {
        self.script.lock().len()
    }

    /// Everything asked so far, in order.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().clone()
    }
}

#[async_trait]
impl Model for ModelScript {
    fn name(&self) -> &ModelName {
        &self.name
    }

    fn context_tokens(&self) -> Option<u32> {
        self.context_tokens
    }

    async fn complete(&self, request: &ModelRequest) -> Result<Reply, ModelError> {
        // The request is noted before its turn is taken, so that a request that is never answered is known too.
        self.requests.lock().push(request.clone());
        let next = self.script.lock().pop_front();
        let mut turn = next
            .or_else(|| self.otherwise.clone())
            .unwrap_or_else(exhausted);
        loop {
            turn = match turn {
                Turn::Reply(reply) => return Ok(reply),
                Turn::Error(error) => return Err(error),
                Turn::Never => std::future::pending().await,
                Turn::Slow(wait, turn) => {
                    tokio::time::sleep(wait).await;
                    *turn
                }
                Turn::Respond(respond) => respond(request),
            };
        }
    }
}

fn exhausted() -> Turn {
    let what = "script_exhausted".to_owned();
    Turn::Error(ModelError::BadAnswer {
        what,
        retryable: false,
        hint: None,
    })
}
