//! `/v1/agents/{agent}/context`

use axum::{
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::{
    Problem,
    caller::Caller,
    extract::{Path, Query},
    wire::Context,
};

/// How much of it.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Size {
    /// Whole entries are left out to fit: the oldest journal entries first, core memories last,
    /// constitutional ones never.
    max_tokens: Option<u64>,
}

/// The text that the agent's runtime puts after the system prompt. With `Accept: text/plain`, the text
/// alone.
#[utoipa::path(get, path = "/v1/agents/{agent}/context", tag = "memories",
    params(("agent" = String, Path, description = "Its name or identifier"), Size),
    responses((status = 200, content((Context = "application/json"), (String = "text/plain"))),
        (status = "4XX", body = Problem)))]
pub(crate) async fn show(
    caller: Caller,
    Path(agent): Path<String>,
    Query(size): Query<Size>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let reached = caller.reach_own(&agent).await?;
    let context = Context::from(reached.agent.context(size.max_tokens).await?);
    let accepted = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok());
    let plain = accepted.is_some_and(|accepted| accepted.trim_start().starts_with("text/plain"));
    Ok(if plain {
        let kind = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
        (kind, context.text.into_exposed()).into_response()
    } else {
        axum::Json(context).into_response()
    })
}
