//! `/v1/agents/{agent}/sessions` and `/v1/sessions`

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use memoir_app::{
    Error, ShownSession,
    sessions::{AppliedRehearsal, OpenedSession, RefineOptions, tool_definitions},
};
use memoir_domain::{SessionId, Timestamp, session::Mode};
use memoir_model::ModelName;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    Problem, Service,
    caller::Caller,
    extract::{Arguments, JsonBody, Nothing, Path, UrlQuery, read},
    page::{Page, PageParameters},
    replies, schemas,
    wire::OpenSession,
};

/// A session to begin.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewSession {
    /// `full` (the default) or `dedup_only`.
    #[serde(default, deserialize_with = "memoir_app::optional")]
    #[schema(value_type = Option<schemas::Mode>)]
    mode: Option<Mode>,
    /// `agent`: the agent runs the loop itself, and opening is its consent. `model`: Memoir calls the agent's model,
    /// after its consent; the session is queued.
    #[schema(value_type = schemas::Driver)]
    driver: memoir_domain::session::Driver,
    /// Whether it works on a copy; nothing changes until it is applied.
    // A blank one is refused: the session would change something.
    #[serde(default)]
    rehearsal: Option<bool>,
    /// Resumes the agent's own open session where there is one, of the `mode` and `rehearsal` that are given.
    #[serde(default, deserialize_with = "memoir_app::optional")]
    resume: Option<bool>,
    /// A model for this one session instead of the agent's own. For `driver: model`.
    #[serde(default, deserialize_with = "memoir_app::optional")]
    #[schema(max_length = 200, example = "builtin:careful")]
    model: Option<String>,
}

/// Begins a session.
#[utoipa::path(post, path = "/v1/agents/{agent}/sessions", tag = "sessions", operation_id = "begin_session",
    request_body = NewSession, params(schemas::AgentPath),
    responses(
        (status = 200, description = "The agent's own open session, resumed", body = OpenSession),
        (status = 201, description = "Open: the agent has the session tools", body = OpenSession),
        (status = 202, description = "Queued: Memoir requests the agent's consent and calls its model", body = ShownSession)))]
pub(crate) async fn begin(
    State(service): State<Service>,
    caller: Caller,
    Path(agent): Path<String>,
    JsonBody(new): JsonBody<NewSession>,
) -> Result<Response, Problem> {
    match new.driver {
        memoir_domain::session::Driver::Agent => open(&caller, &agent, &new).await,
        memoir_domain::session::Driver::Model => enqueue(&service, &caller, &agent, new).await,
    }
}

async fn open(caller: &Caller, agent: &str, new: &NewSession) -> Result<Response, Problem> {
    let own = caller.reach_own(agent).await?;
    if new.model.is_some() {
        return Err(Problem::invalid(
            "model: is for sessions with `driver: model`",
        ));
    }
    if new.resume == Some(true)
        && let Some((session, opened)) = own.take_up_own().await?
        // A caller that requests a rehearsal must not get another session, nor the reverse; nor one of another mode.
        && new.rehearsal.is_none_or(|rehearsal| rehearsal == session.rehearsal)
        && new.mode.is_none_or(|mode| mode == session.mode)
    {
        return Ok(opened_session(StatusCode::OK, session.into(), opened));
    }
    let mode = new.mode.unwrap_or_default();
    let (session, opened) = match new.rehearsal {
        Some(true) => own.rehearse_own(mode).await?,
        _ => own.open_own(mode).await?,
    };
    Ok(opened_session(StatusCode::CREATED, session.into(), opened))
}

fn opened_session(status: StatusCode, session: ShownSession, opened: OpenedSession) -> Response {
    let body = OpenSession {
        session,
        prompt: opened.prompt.text(),
        tools: tool_definitions(opened.mode, Some(opened.guard)),
    };
    replies::unstored((status, axum::Json(body)).into_response())
}

/// The response to a request that opened that session before; `None` unless the agent drives it and it is open.
pub(super) async fn opened_before(
    caller: &Caller,
    agent: &str,
    session: SessionId,
) -> Result<Option<Response>, Problem> {
    let Ok(own) = caller.reach(agent).await?.lens().as_agent() else {
        return Ok(None);
    };
    // Before it is resumed, which renews its lease.
    if own.sessions().own_session().await? != Some(session) {
        return Ok(None);
    }
    let resumed = own.take_up_own().await?;
    let resumed = resumed.filter(|(facts, _)| facts.id == session);
    Ok(resumed.map(|(facts, opened)| opened_session(StatusCode::CREATED, facts.into(), opened)))
}

async fn enqueue(
    service: &Service,
    caller: &Caller,
    agent: &str,
    new: NewSession,
) -> Result<Response, Problem> {
    let reached = caller.reach(agent).await?;
    if new.resume == Some(true) {
        return Err(Problem::invalid(
            "resume: is for sessions with `driver: agent`",
        ));
    }
    let options = RefineOptions {
        mode: new.mode.unwrap_or_default(),
        model: read("model", new.model.as_deref(), str::parse::<ModelName>)?,
        rehearsal: new.rehearsal.unwrap_or(false),
        started_by: Some(reached.actor.clone()),
        ..RefineOptions::default()
    };
    let session = ShownSession::from(reached.agent.sessions().enqueue(&options).await?);
    // After it is written, so that a worker that wakes finds it.
    service.queued.notify_one();
    Ok((StatusCode::ACCEPTED, axum::Json(session)).into_response())
}

/// The agent's sessions, newest first.
#[utoipa::path(get, path = "/v1/agents/{agent}/sessions", tag = "sessions", operation_id = "list_sessions",
    params(schemas::AgentPath, PageParameters),
    responses((status = 200, description = "One page", body = Page<ShownSession>)))]
pub(crate) async fn list(
    caller: Caller,
    Path(agent): Path<String>,
    UrlQuery(parameters): UrlQuery<PageParameters>,
) -> Result<Response, Problem> {
    let reached = caller.reach(&agent).await?;
    let limit = parameters.limit()?;
    let before: Option<(Timestamp, SessionId)> = parameters.after()?;
    let sessions = reached.lens().session_page(before, limit + 1).await?;
    let page = Page::of(sessions, limit, |session| (session.started_at, session.id));
    Ok(axum::Json(page).into_response())
}

/// One session.
#[utoipa::path(get, path = "/v1/sessions/{id}", tag = "sessions", operation_id = "get_session",
    params(("id" = String, Path, description = "The session", format = Uuid)),
    responses((status = 200, description = "The session", body = ShownSession)))]
pub(crate) async fn show(caller: Caller, Path(id): Path<String>) -> Result<Response, Problem> {
    let (reached, id) = caller.reach_session(&id).await?;
    Ok(axum::Json(reached.lens().session(id).await?).into_response())
}

/// Calls a tool of an open session. A refusal is an ordinary result.
#[utoipa::path(post, path = "/v1/sessions/{id}/tools/{tool}", tag = "sessions", operation_id = "call_tool",
    request_body = Option<schemas::ToolArguments>,
    params(("id" = String, Path, description = "The session", format = Uuid), ("tool" = schemas::ToolName, Path, description = "The tool")),
    responses((status = 200, description = "The tool's result, refusals included", body = schemas::ToolResult)))]
pub(crate) async fn call_tool(
    caller: Caller,
    Path((id, tool)): Path<(String, String)>,
    Arguments(arguments): Arguments,
) -> Result<Response, Problem> {
    let (reached, id) = caller.reach_session(&id).await?;
    let own = reached.lens().as_agent()?;
    let result = own.call_tool(id, &tool, Some(arguments.expose())).await?;
    Ok(axum::Json(result).into_response())
}

/// Applies a rehearsal in one step: its edits are made again through all checks, and those that hold are applied.
#[utoipa::path(post, path = "/v1/sessions/{id}/apply", tag = "sessions", operation_id = "apply_rehearsal",
    params(("id" = String, Path, description = "The rehearsal", format = Uuid)),
    responses((status = 200, description = "The session that applied it", body = AppliedRehearsal)))]
pub(crate) async fn apply(
    caller: Caller,
    Path(id): Path<String>,
    JsonBody(Nothing {}): JsonBody<Nothing>,
) -> Result<Response, Problem> {
    let (reached, id) = caller.reach_session(&id).await?;
    let sessions = reached.agent.sessions();
    let applied = sessions.apply_rehearsal(id, &reached.actor).await?;
    Ok(axum::Json(applied).into_response())
}

/// How to undo.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RollBack {
    /// Later changes of the same memories too.
    #[serde(default, deserialize_with = "memoir_app::optional")]
    #[schema(example = false)]
    cascade: Option<bool>,
}

/// Undoes a session: an administrator any, the agent its last one.
#[utoipa::path(post, path = "/v1/sessions/{id}/rollback", tag = "time machine", operation_id = "roll_back_session",
    request_body = Option<RollBack>, params(("id" = String, Path, description = "The session", format = Uuid)),
    responses((status = 200, description = "The session", body = ShownSession)))]
pub(crate) async fn roll_back(
    caller: Caller,
    Path(id): Path<String>,
    JsonBody(RollBack { cascade }): JsonBody<RollBack>,
) -> Result<Response, Problem> {
    let (reached, id) = caller.reach_session(&id).await?;
    let cascade = cascade.unwrap_or(false);
    let (agent, actor) = (&reached.agent, &reached.actor);
    let session = match reached.is_own() {
        true => agent.sessions().roll_back_last(id, cascade, actor).await?,
        false => agent.sessions().roll_back(id, cascade, actor).await?,
    };
    Ok(axum::Json(session).into_response())
}

/// Cancels a running session; its edits stay.
#[utoipa::path(post, path = "/v1/sessions/{id}/cancel", tag = "sessions", operation_id = "cancel_session",
    params(("id" = String, Path, description = "The session", format = Uuid)),
    responses((status = 200, description = "The session", body = ShownSession)))]
pub(crate) async fn cancel(
    caller: Caller,
    Path(id): Path<String>,
    JsonBody(Nothing {}): JsonBody<Nothing>,
) -> Result<Response, Problem> {
    let (reached, id) = caller.reach_session(&id).await?;
    let session = match reached.agent.sessions().cancel(id, &reached.actor).await {
        // The same code as elsewhere, with a text for a caller that wanted it to end.
        Err(Error::SessionLost(id)) => {
            return Err(Problem::new(
                "session_over",
                format!("session {id} is over"),
            ));
        }
        other => other?,
    };
    Ok(axum::Json(session).into_response())
}
