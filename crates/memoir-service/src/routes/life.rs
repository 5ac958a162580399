//! `/v1/agents/{agent}/transcripts` and `/reflections`: conversations for the agent's model to read, and its review of
//! its own journal (SPEC 2.5, 2.6).

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use memoir_app::{
    HandedMessage, HandedOver, MESSAGES_LIMIT, Reflected, TranscriptView, check_message_count,
};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    Problem,
    caller::Caller,
    extract::{Bounded, JsonBody, Nothing, Path},
    schemas,
};

/// A conversation, or a part of one.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Transcript {
    #[schema(value_type = Vec<HandedMessage>, max_items = 10_000)]
    messages: Bounded<HandedMessage, MESSAGES_LIMIT>,
    /// Whether it is to be read immediately instead of six hours after the last addition.
    #[serde(default, deserialize_with = "memoir_app::optional_or_default")]
    now: bool,
}

/// Delivers a conversation, for the agent's model to read six hours after the last addition. Messages that the agent
/// had before are ignored.
#[utoipa::path(post, path = "/v1/agents/{agent}/transcripts", tag = "memories", operation_id = "hand_over_transcript",
    request_body = Transcript,
    params(schemas::AgentPath),
    responses((status = 202, description = "The messages wait to be read", body = HandedOver)))]
pub(crate) async fn hand_over(
    caller: Caller,
    Path(agent): Path<String>,
    JsonBody(Transcript { messages, now }): JsonBody<Transcript>,
) -> Result<Response, Problem> {
    let reached = caller.reach(&agent).await?;
    check_message_count(messages.given)?;
    let life = reached.agent.life();
    let handed = life.hand_over(messages.items, now, reached.actor.kind);
    let handed = handed.await?;
    // Also where these wait for hours: earlier messages may be due.
    caller.wake_life();
    Ok((StatusCode::ACCEPTED, axum::Json(handed)).into_response())
}

/// The state of the agent's conversations.
#[utoipa::path(get, path = "/v1/agents/{agent}/transcripts", tag = "memories", operation_id = "get_transcripts",
    params(schemas::AgentPath),
    responses((status = 200, description = "Counts", body = TranscriptView)))]
pub(crate) async fn status(caller: Caller, Path(agent): Path<String>) -> Result<Response, Problem> {
    let reached = caller.reach(&agent).await?;
    let status = reached.agent.life().transcript().await?;
    Ok(axum::Json(status).into_response())
}

/// Shows the agent's model its journal of the last week now. It names the entries that become core memories, and what
/// they replace.
#[utoipa::path(post, path = "/v1/agents/{agent}/reflections", tag = "memories", operation_id = "reflect",
    params(schemas::AgentPath),
    responses((status = 200, description = "The outcome", body = Reflected)))]
pub(crate) async fn reflect(
    caller: Caller,
    Path(agent): Path<String>,
    JsonBody(Nothing {}): JsonBody<Nothing>,
) -> Result<Response, Problem> {
    let reached = caller.reach(&agent).await?;
    let reflection = reached.agent.life().reflect().await?;
    Ok(axum::Json(reflection).into_response())
}
