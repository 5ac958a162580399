//! `/v1/agents/{agent}/audit` and `/v1/audit`

use axum::{
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use memoir_app::{CheckpointView, RecordFilter, RecordOrder, RecordPlace, ShownRecord};
use memoir_domain::{
    Timestamp,
    audit::{Action, ActorKind},
    memory::Invalid,
};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::{
    Problem,
    caller::Caller,
    extract::{Path, UrlQuery, number_of, prefers_text, read},
    page::{Page, PageParameters},
    schemas,
    wire::Verified,
};

/// The filter of the records.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RecordsFilter {
    /// Those of one session.
    #[param(value_type = Option<String>, format = Uuid)]
    session: Option<String>,
    /// Those of one action, or of several, separated by commas.
    #[param(value_type = Option<String>, example = "memory_saved,memory_discarded")]
    action: Option<String>,
    /// Those of one role.
    #[param(inline, value_type = Option<schemas::ActorKind>)]
    actor: Option<String>,
    /// Those of an actor whose name holds this text, letters from A to Z in either case.
    actor_name: Option<String>,
    /// Those about one memory.
    #[param(value_type = Option<u64>, minimum = 1)]
    memory: Option<String>,
    /// Those written at this time or after.
    #[param(value_type = Option<String>, format = DateTime)]
    since: Option<String>,
    /// Those written at this time or before; a date alone means the whole of that day.
    #[param(value_type = Option<String>, format = DateTime)]
    until: Option<String>,
}

impl RecordsFilter {
    fn read(self) -> Result<RecordFilter, Problem> {
        let memory = number_of("memory", self.memory.as_deref())?;
        let query = RecordFilter {
            session: read("session", self.session.as_deref(), str::parse)?,
            actions: read("action", self.action.as_deref(), actions)?.unwrap_or_default(),
            memory,
            actor: read("actor", self.actor.as_deref(), role)?,
            actor_name: self.actor_name,
            since: read("since", self.since.as_deref(), str::parse)?,
            until: read("until", self.until.as_deref(), Timestamp::parse_until)?,
            ..RecordFilter::default()
        };
        Invalid::check_range(query.since, query.until)
            .map_err(|invalid| Problem::invalid(invalid.to_string()))?;
        Ok(query)
    }
}

fn actions(names: &str) -> Result<Vec<Action>, &'static str> {
    let action = |name: &str| Action::from_name(name.trim());
    let known: Option<Vec<Action>> = names.split(',').map(action).collect();
    known.ok_or("names no action, or several of which one is none; `/openapi.json` lists them")
}

fn role(name: &str) -> Result<ActorKind, &'static str> {
    ActorKind::from_name(name).ok_or("must be `administrator`, `agent`, `system` or `owner`")
}

/// The agent's audit, oldest first. Of an agent that was erased, the records are left, without text.
#[utoipa::path(get, path = "/v1/agents/{agent}/audit", tag = "audit", operation_id = "list_records",
    params(schemas::AgentPath, PageParameters, RecordsFilter),
    responses((status = 200, description = "One page", body = Page<ShownRecord>)))]
pub(crate) async fn list(
    caller: Caller,
    Path(agent): Path<String>,
    UrlQuery(parameters): UrlQuery<PageParameters>,
    UrlQuery(filter): UrlQuery<RecordsFilter>,
) -> Result<Response, Problem> {
    let reached = caller.reach(&agent).await?;
    let query = filter.read()?;
    let limit = parameters.limit()?;
    let last: u64 = parameters.after()?.unwrap_or(0);
    // A client can put any text into a cursor: places beyond any log are limited to the store's range.
    let from_seq = last.min(i64::MAX as u64 - 1) + 1;
    let lens = reached.lens();
    let (records, has_more) = lens.record_page(&query, from_seq, limit).await?;
    let page = Page::cut(records, has_more, |record| record.seq);
    Ok(axum::Json(page).into_response())
}

/// The audit of all the account's agents, those that were erased included: oldest first, by time, and always
/// without text.
#[utoipa::path(get, path = "/v1/audit", tag = "audit", operation_id = "list_account_records",
    params(PageParameters, RecordsFilter),
    responses((status = 200, description = "One page", body = Page<ShownRecord>)))]
pub(crate) async fn list_all(
    caller: Caller,
    UrlQuery(parameters): UrlQuery<PageParameters>,
    UrlQuery(filter): UrlQuery<RecordsFilter>,
) -> Result<Response, Problem> {
    let (account, _) = caller.administrator()?;
    let query = filter.read()?;
    let limit = parameters.limit()?;
    let after: Option<RecordPlace> = parameters.after()?;
    let order = RecordOrder::OldestFirst;
    let records = account.record_page(&query, order, after, limit + 1).await?;
    let page = Page::of(records, limit, |(place, _)| *place);
    let page = page.map(|(_, record)| ShownRecord::from(record));
    Ok(axum::Json(page).into_response())
}

/// Recomputes the agent's chain, replays it against what is stored, and names the first record that does
/// not fit.
#[utoipa::path(get, path = "/v1/agents/{agent}/audit/verify", tag = "audit", operation_id = "verify_records",
    params(schemas::AgentPath),
    responses((status = 200, description = "The outcome", body = Verified)))]
pub(crate) async fn verify(caller: Caller, Path(agent): Path<String>) -> Result<Response, Problem> {
    let reached = caller.reach(&agent).await?;
    let verified = Verified::new(reached.agent.log().verify().await?);
    Ok(axum::Json(verified).into_response())
}

/// Signs the state of the logs of all agents. The present ends of the logs of those whom the token reaches are
/// entered first: of the account's agents, or of the one agent. With `Accept: text/plain`, the note alone.
#[utoipa::path(get, path = "/v1/audit/checkpoint", tag = "audit", operation_id = "take_checkpoint",
    responses((status = 200, description = "The checkpoint", content((CheckpointView = "application/json"), (String = "text/plain")))))]
pub(crate) async fn checkpoint(caller: Caller, headers: HeaderMap) -> Result<Response, Problem> {
    let signed = caller.checkpoint().await?;
    if prefers_text(&headers) {
        let kind = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
        return Ok((kind, signed.checkpoint).into_response());
    }
    Ok(axum::Json(signed).into_response())
}
