//! The messages to and from a model, whatever the provider's wire format.
//!
//! Everything that may hold an agent's words is a [`PrivateText`] or [`PrivateJson`], so that formatting a request or a
//! reply shows lengths only (SPEC 5.1). Names and ids of tool calls are plain text, and their formatting too shows
//! lengths only: a model may write anything there.

use memoir_domain::{PrivateJson, PrivateText, agent::ReasoningEffort};
use serde_json::Value;

/// One turn asked of a model: the conversation so far and the tools it may call.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The system prompt; empty means that none is sent.
    pub system: PrivateText,
    /// The conversation, oldest first. Starts with a [`ModelMessage::User`], and every tool call of an
    /// assistant message is answered by a [`ModelMessage::ToolResult`] right after it.
    pub messages: Vec<ModelMessage>,
    /// The tools on offer; empty means a plain conversation.
    pub tools: Vec<OfferedTool>,
    /// The format that the answer must have; `None` for free text. Not together with tools. A provider without support
    /// rejects the request, or ignores it: the answer must be checked nevertheless.
    pub answer_schema: Option<AnswerSchema>,
    /// Upper bound of what the model may write in this turn, in its own tokens.
    pub max_output_tokens: u32,
    /// How much it is to think first; `None` leaves that to the provider. A provider that does not know
    /// such a thing rejects the request, or passes it over.
    pub reasoning_effort: Option<ReasoningEffort>,
}

/// One entry of a conversation.
#[derive(Clone, PartialEq, derive_more::Debug)]
pub enum ModelMessage {
    /// What Memoir says to the model.
    User(PrivateText),
    /// What the model said before, in the raw form of its provider, so that it is echoed verbatim: signed thinking and
    /// thought signatures are refused by their providers when a byte is changed. The message object as received, but
    /// for tool calls without a usable id, which were given one.
    Assistant(PrivateJson),
    /// The result of one tool call.
    ToolResult {
        /// The [`ToolCall::id`] of its call.
        #[debug("[{} characters]", call_id.chars().count())]
        call_id: String,
        /// The result, as the model is to read it.
        content: PrivateText,
    },
}

/// The format of an answer that must be JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerSchema {
    /// Its name, `[A-Za-z0-9_-]{1,64}`.
    pub name: &'static str,
    /// JSON schema of the answer: an object schema in which every property is required and no other is
    /// allowed, as strict providers want it.
    pub schema: Value,
}

/// A tool on offer to the model.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct OfferedTool {
    /// Name as called by the model, `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// When and how to use it, in plain words.
    pub description: String,
    /// JSON schema of the arguments: an object schema.
    pub parameters: Value,
}

/// A model's answer to one [`ModelRequest`].
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// To be added to the conversation as [`ModelMessage::Assistant`].
    pub message: PrivateJson,
    /// Its text besides tool calls; may be empty.
    pub text: PrivateText,
    /// The tools it calls, in its order. The ids are not empty and distinct within the reply.
    pub tool_calls: Vec<ToolCall>,
    /// What the turn used.
    pub usage: TokenUsage,
    /// Why it stopped.
    pub finish: Finish,
}

/// One call of a tool.
#[derive(Clone, PartialEq, derive_more::Debug)]
pub struct ToolCall {
    /// Joins the call and its [`ModelMessage::ToolResult`]. Some servers make it of the name.
    #[debug("[{} characters]", id.chars().count())]
    pub id: String,
    /// Name as the model wrote it, which may be no tool on offer.
    #[debug("[{} characters]", name.chars().count())]
    pub name: String,
    /// The arguments for the tool.
    pub arguments: Arguments,
}

/// Arguments of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    /// A JSON object. No arguments at all is the empty object.
    Json(PrivateJson),
    /// Text that is no JSON object, kept so that the tool can refuse it with a clear message.
    Malformed(PrivateText),
}

/// Tokens of one turn, counted in the model's own tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenUsage {
    /// Tokens read, those served from the provider's cache included.
    pub input_tokens: u64,
    /// Tokens written, hidden reasoning included.
    pub output_tokens: u64,
    /// `false`: the provider sent no usage, and these are estimated at characters / 4.
    pub measured: bool,
}

impl TokenUsage {
    /// As the provider counted them.
    pub const fn counted(input_tokens: u64, output_tokens: u64) -> Self {
        Self {
            input_tokens,
            output_tokens,
            measured: true,
        }
    }

    /// Characters / 4, of the request as sent and of the message as received, where the provider does not say. Their
    /// JSON counts too, since tool definitions and calls are read and written as such.
    pub(crate) fn estimated(request: &Value, message: &Value) -> Self {
        let tokens = |value: &Value| (value.to_string().chars().count() as u64).div_ceil(4);
        Self {
            input_tokens: tokens(request),
            output_tokens: tokens(message),
            measured: false,
        }
    }
}

/// Why a model stopped writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// It had finished its answer.
    Stop,
    /// It waits for the results of its tool calls.
    ToolCalls,
    /// It reached [`ModelRequest::max_output_tokens`] or the end of its context.
    Length,
    /// Anything else, such as a content filter or a refusal.
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_5_1_names_and_ids_that_a_model_wrote_are_not_formatted() {
        const CANARY: &str = "Kanarienvogel";
        let call = ToolCall {
            id: format!("functions.{CANARY}:0"),
            name: CANARY.to_owned(),
            arguments: Arguments::Malformed(CANARY.into()),
        };
        assert_eq!(
            format!("{call:?}"),
            "ToolCall { id: [25 characters], name: [13 characters], \
             arguments: Malformed(PrivateText(13 characters)) }"
        );
        let result = ModelMessage::ToolResult {
            call_id: call.id,
            content: CANARY.into(),
        };
        assert_eq!(
            format!("{result:?}"),
            "ToolResult { call_id: [25 characters], content: PrivateText(13 characters) }"
        );
    }
}
