//! `/v1/agents/{agent}/audit` and `/v1/audit`

use axum::{
    extract::State,
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use memoir_app::{Eyes, RecordQuery};
use memoir_domain::audit::Action;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    Problem, Service,
    caller::Caller,
    extract::{Path, Query, prefers_text, read, time},
    page::{Page, Wanted},
    schemas,
    wire::{Record, Verified},
};

/// Which records.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Filter {
    /// At most so many items, 1 to 200; 50 where it is left out.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 200, example = 50)]
    limit: Option<String>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
    /// Those of one session.
    #[param(value_type = Option<String>, format = Uuid)]
    session: Option<String>,
    /// Those of one action.
    #[param(inline, value_type = Option<schemas::Action>)]
    action: Option<String>,
    /// Those written at this time or after.
    #[param(value_type = Option<String>, format = DateTime)]
    since: Option<String>,
}

/// The agent's audit, oldest first. Of an agent that was erased, the records are left, without words.
#[utoipa::path(get, path = "/v1/agents/{agent}/audit", tag = "audit", operation_id = "list_records",
    params(("agent" = String, Path, description = "Its name or identifier", example = "wren"), Filter),
    responses((status = 200, description = "One page", body = Page<Record>)))]
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
    let last: u64 = wanted.after()?.unwrap_or(0);
    let from_seq = last.min(i64::MAX as u64 - 1) + 1;
    let action = |name: &str| Action::from_name(name).ok_or("is no action; `/docs` lists them");
    let query = RecordQuery {
        session: read("session", filter.session.as_deref(), str::parse)?,
        action: read("action", filter.action.as_deref(), action)?,
        since: time("since", filter.since.as_deref())?,
        last: None,
    };
    let records = match reached.eyes {
        Eyes::Agent => {
            let agent = &reached.agent;
            agent
                .record_page(&query, from_seq, limit + 1, Eyes::Agent)
                .await?
        }
        Eyes::Administrator => {
            reached
                .mechanic()
                .record_page(&query, from_seq, limit + 1)
                .await?
        }
    };
    let page = Page::of(records, limit, |record| record.seq, Record::from);
    Ok(axum::Json(page).into_response())
}

/// Recomputes the agent's chain, replays it against what is stored, and names the first record that does
/// not fit.
#[utoipa::path(get, path = "/v1/agents/{agent}/audit/verify", tag = "audit", operation_id = "verify_records",
    params(("agent" = String, Path, description = "Its name or identifier", example = "wren")),
    responses((status = 200, description = "What came of it", body = Verified)))]
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
#[utoipa::path(get, path = "/v1/audit/checkpoint", tag = "audit", operation_id = "take_checkpoint",
    responses((status = 200, description = "The checkpoint", content((Checkpoint = "application/json"), (String = "text/plain")))))]
pub(crate) async fn checkpoint(
    State(service): State<Service>,
    _: Caller,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let signed = service.memoir.checkpoint().await?;
    if prefers_text(&headers) {
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
