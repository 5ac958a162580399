//! `/v1/agents/{agent}/tokens`

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use memoir_app::Provision;
use memoir_domain::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    Problem,
    caller::Caller,
    extract::{JsonBody, Path},
    replies, schemas,
};

/// A token to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewToken {
    /// The end of its validity. Where it is left out, it is that of the agent's token that makes it, if that one ends;
    /// a later time than that is refused.
    // A blank one is refused: it would never expire.
    #[serde(default)]
    #[schema(example = "2027-03-04T12:00:00Z")]
    expires_at: Option<Timestamp>,
}

/// A token; its secret is shown only once.
#[derive(Serialize, ToSchema)]
pub(crate) struct MadeToken {
    /// The secret.
    token: String,
    #[schema(value_type = String, format = Uuid)]
    id: memoir_domain::TokenId,
    #[schema(required)]
    expires_at: Option<Timestamp>,
}

/// Makes a token for the agent. An administrator can while the agent is not in use; afterwards the agent
/// itself can, and an administrator once for each request of `kind: token` that the agent has granted it
/// within the last hour.
#[utoipa::path(post, path = "/v1/agents/{agent}/tokens", tag = "tokens", operation_id = "create_token",
    request_body = Option<NewToken>, params(schemas::AgentPath),
    responses((status = 201, description = "The token", body = MadeToken)))]
pub(crate) async fn create(
    caller: Caller,
    Path(agent): Path<String>,
    JsonBody(NewToken { expires_at }): JsonBody<NewToken>,
) -> Result<Response, Problem> {
    let reached = caller.reach(&agent).await?;
    let provision = match reached.is_own() {
        true => Provision::Own(caller.principal.token),
        false => Provision::First,
    };
    let made = reached
        .agent
        .grants()
        .create_token(provision, expires_at, &reached.actor)
        .await?;
    let body = MadeToken {
        token: made.secret.expose().to_owned(),
        id: made.view.id,
        expires_at: made.view.expires_at,
    };
    let response = (StatusCode::CREATED, axum::Json(body)).into_response();
    Ok(replies::unstored(response))
}
