//! `/v1/agents/{agent}/transcripts` and `/reflections`: conversations for the agent's model to read, and its review of
//! its own journal (SPEC 2.5, 2.6).

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use memoir_app::{HandedMessage, HandedOver, Reflected, TranscriptView};
use memoir_domain::{PrivateText, Timestamp, memory::Number};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    Problem,
    caller::Caller,
    extract::{JsonBody, Path},
    schemas,
};

/// One message of a conversation.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Message {
    /// Its identifier: the agent reads a message of the same identifier, author and text once.
    #[schema(value_type = String, min_length = 1, max_length = 10_000, example = "m-17")]
    id: PrivateText,
    /// When it was sent.
    #[serde(default, deserialize_with = "memoir_app::optional")]
    #[schema(value_type = Option<String>, format = DateTime)]
    at: Option<Timestamp>,
    /// Its author.
    #[schema(value_type = String, min_length = 1, max_length = 200, example = "Ann")]
    speaker: PrivateText,
    /// Its text.
    #[schema(value_type = String, min_length = 1, max_length = 4_000_000)]
    text: PrivateText,
}

/// A conversation, or a part of one.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Transcript {
    #[schema(max_items = 10_000)]
    messages: Vec<Message>,
    /// Whether it is to be read immediately instead of six hours after the last addition.
    #[serde(default, deserialize_with = "memoir_app::optional_or_default")]
    now: bool,
}

/// The outcome for the messages.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Received {
    /// New ones, which wait to be read.
    received: u64,
    /// Ones that the agent had before.
    known: u64,
}

/// The state of an agent's conversations.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ConversationStatus {
    /// Messages that wait to be read.
    pending: u64,
    /// Messages that were read.
    absorbed: u64,
    /// Messages that failed permanently after several attempts.
    failed: u64,
    /// From when on those that wait are read; null where none waits.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    due_at: Option<Timestamp>,
}

/// The outcome of a reflection.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Reflection {
    /// Journal entries that the agent read.
    considered: usize,
    /// The numbers of those that are core memories now.
    #[schema(value_type = Vec<u64>)]
    promoted: Vec<Number>,
    /// The numbers of the core memories that these replaced.
    #[schema(value_type = Vec<u64>)]
    replaced: Vec<Number>,
    /// How many were named to be replaced and stay where they are; the record has the reasons.
    not_replaced: u64,
    /// Why nothing was promoted, where something went wrong; null where nothing did.
    #[schema(required)]
    failure: Option<String>,
}

impl From<HandedOver> for Received {
    fn from(HandedOver { received, known }: HandedOver) -> Self {
        Self { received, known }
    }
}

impl From<TranscriptView> for ConversationStatus {
    fn from(view: TranscriptView) -> Self {
        Self {
            pending: view.pending,
            absorbed: view.absorbed,
            failed: view.failed,
            due_at: view.due_at,
        }
    }
}

impl From<Reflected> for Reflection {
    fn from(reflected: Reflected) -> Self {
        Self {
            considered: reflected.considered,
            promoted: reflected.promoted,
            replaced: reflected.replaced,
            not_replaced: reflected.not_replaced,
            failure: reflected.failure,
        }
    }
}

/// Delivers a conversation, for the agent's model to read six hours after the last addition. Messages that the agent
/// had before are ignored.
#[utoipa::path(post, path = "/v1/agents/{agent}/transcripts", tag = "memories", operation_id = "hand_over_transcript",
    request_body = Transcript,
    params(schemas::AgentPath),
    responses((status = 202, description = "The messages wait to be read", body = Received)))]
pub(crate) async fn hand_over(
    caller: Caller,
    Path(agent): Path<String>,
    JsonBody(Transcript { messages, now }): JsonBody<Transcript>,
) -> Result<Response, Problem> {
    let reached = caller.reach(&agent).await?;
    let messages = messages.into_iter().map(|message| HandedMessage {
        id: message.id,
        at: message.at,
        speaker: message.speaker,
        text: message.text,
    });
    let handed = reached
        .agent
        .life()
        .hand_over(messages.collect(), now, reached.actor.kind)
        .await?;
    // Also where these wait for hours: earlier messages may be due.
    caller.wake_life();
    Ok((StatusCode::ACCEPTED, axum::Json(Received::from(handed))).into_response())
}

/// The state of the agent's conversations.
#[utoipa::path(get, path = "/v1/agents/{agent}/transcripts", tag = "memories", operation_id = "get_transcripts",
    params(schemas::AgentPath),
    responses((status = 200, description = "Counts", body = ConversationStatus)))]
pub(crate) async fn status(caller: Caller, Path(agent): Path<String>) -> Result<Response, Problem> {
    let reached = caller.reach(&agent).await?;
    let status = ConversationStatus::from(reached.agent.life().transcript().await?);
    Ok(axum::Json(status).into_response())
}

/// Shows the agent's model its journal of the last week now. It names the entries that become core memories, and what
/// they replace.
#[utoipa::path(post, path = "/v1/agents/{agent}/reflections", tag = "memories", operation_id = "reflect",
    params(schemas::AgentPath),
    responses((status = 200, description = "The outcome", body = Reflection)))]
pub(crate) async fn reflect(
    caller: Caller,
    Path(agent): Path<String>,
) -> Result<Response, Problem> {
    let reached = caller.reach(&agent).await?;
    let reflection = Reflection::from(reached.agent.life().reflect().await?);
    Ok(axum::Json(reflection).into_response())
}
