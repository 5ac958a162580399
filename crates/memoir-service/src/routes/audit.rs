//! `/v1/agents/{agent}/audit` and `/v1/audit`

use axum::{
    extract::State,
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use memoir_app::RecordQuery;
use memoir_domain::{SessionId, Timestamp, audit::Action};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    Problem, Service,
    caller::Caller,
    extract::{Path, Query},
    page::{Page, Wanted},
    wire::{Record, Verified},
};

/// Which records.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Filter {
    /// At most so many items, 1 to 200; 50 where it is left out.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
    /// Those of one session.
    #[param(value_type = Option<String>, format = Uuid)]
    session: Option<SessionId>,
    /// Those of one action, such as `memory_saved`.
    #[param(value_type = Option<String>)]
    action: Option<Action>,
    /// Those written at this time or after.
    #[param(value_type = Option<String>, format = DateTime)]
    since: Option<Timestamp>,
}

/// The agent's audit, oldest first.
#[utoipa::path(get, path = "/v1/agents/{agent}/audit", tag = "audit",
    params(("agent" = String, Path, description = "Its name or identifier"), Filter),
    responses((status = 200, body = Page<Record>), (status = "4XX", body = Problem)))]
pub(crate) async fn list(
    caller: Caller,
    Path(agent): Path<String>,
    Query(filter): Query<Filter>,
) -> Result<Response, Problem> {
    let reached = caller.reach(&agent).await?;
    let wanted = Wanted {
        limit: filter.limit,
        cursor: filter.cursor,
    };
    let limit = wanted.limit()?;
    let from_seq: u64 = wanted
        .after()?
        .map_or(0, |last: u64| last.saturating_add(1));
    let query = RecordQuery {
        session: filter.session,
        action: filter.action,
        since: filter.since,
        last: None,
    };
    let records = reached
        .agent
        .record_page(&query, from_seq, limit + 1, reached.eyes)
        .await?;
    let page = Page::of(records, limit, |record| record.seq, Record::from);
    Ok(axum::Json(page).into_response())
}

/// Recomputes the agent's chain, replays it against what is stored, and names the first record that does
/// not fit.
#[utoipa::path(get, path = "/v1/agents/{agent}/audit/verify", tag = "audit",
    params(("agent" = String, Path, description = "Its name or identifier")),
    responses((status = 200, body = Verified), (status = "4XX", body = Problem)))]
pub(crate) async fn verify(caller: Caller, Path(agent): Path<String>) -> Result<Response, Problem> {
    let reached = caller.reach(&agent).await?;
    let verified = Verified::from(reached.agent.verify().await?);
    Ok(axum::Json(verified).into_response())
}

/// A signed checkpoint of the log over the heads of all agents' logs.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Checkpoint {
    /// The signed note (C2SP tlog-checkpoint): what to keep.
    checkpoint: String,
    origin: String,
    size: u64,
    /// Verifies it; keep it too.
    public_key: String,
}

/// Signs what the logs of all agents come to now. With `Accept: text/plain`, the note alone.
#[utoipa::path(get, path = "/v1/audit/checkpoint", tag = "audit",
    responses((status = 200, content((Checkpoint = "application/json"), (String = "text/plain"))),
        (status = "4XX", body = Problem)))]
pub(crate) async fn checkpoint(
    State(service): State<Service>,
    _: Caller,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let signed = service.memoir.checkpoint().await?;
    let accepted = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok());
    if accepted.is_some_and(|accepted| accepted.trim_start().starts_with("text/plain")) {
        let kind = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
        return Ok((kind, signed.checkpoint).into_response());
    }
    Ok(axum::Json(Checkpoint {
        checkpoint: signed.checkpoint,
        origin: signed.origin,
        size: signed.size,
        public_key: signed.public_key,
    })
    .into_response())
}
