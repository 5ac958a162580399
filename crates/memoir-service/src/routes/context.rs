//! `/v1/agents/{agent}/context`

use axum::{
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use memoir_app::{ContextRequest, ContextView};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::{
    Problem,
    caller::Caller,
    extract::{Path, UrlQuery, flag, prefers_text, read},
    schemas,
};

/// How much of it, and whether it is explained.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Size {
    /// The bound of the whole. Whole entries are omitted to meet it: journal entries first, then core memories,
    /// constitutional ones never. The agent's `context_journal_tokens` and `context_core_tokens` hold as well.
    #[param(value_type = Option<u64>, example = 4000)]
    max_tokens: Option<String>,
    /// Whether `max_tokens` is a client's limit, beyond which constitutional memories are omitted too, the newest first.
    #[param(value_type = Option<bool>)]
    hard: Option<String>,
    /// Whether the response explains what each part costs, and what is omitted and why.
    #[param(value_type = Option<bool>)]
    explain: Option<String>,
}

/// The text that the agent's runtime places after the system prompt. With `Accept: text/plain`, the text
/// alone.
#[utoipa::path(get, path = "/v1/agents/{agent}/context", tag = "memories", operation_id = "get_context",
    params(schemas::AgentPath, Size),
    responses((status = 200, description = "The text", content((ContextView = "application/json"), (String = "text/plain")))))]
pub(crate) async fn show(
    caller: Caller,
    Path(agent): Path<String>,
    UrlQuery(size): UrlQuery<Size>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let own = caller.reach_own(&agent).await?;
    let whole = |text: &str| {
        let tokens = text.parse::<u64>();
        tokens.map_err(|_| "must be a whole number of tokens")
    };
    let max_tokens = read("max_tokens", size.max_tokens.as_deref(), whole)?;
    let request = ContextRequest {
        max_tokens,
        is_hard: flag("hard", size.hard.as_deref())?.unwrap_or(false),
        explain: flag("explain", size.explain.as_deref())?.unwrap_or(false),
    };
    let context = own.requested_context(&request).await?;
    Ok(if prefers_text(&headers) {
        let kind = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
        (kind, context.text.into_exposed()).into_response()
    } else {
        axum::Json(context).into_response()
    })
}
