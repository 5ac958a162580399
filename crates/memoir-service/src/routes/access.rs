//! `/v1/agents/{agent}/access-requests` and `/v1/access-requests`: requesting access of an agent, and its
//! answer (SPEC 5.2, 5.5).

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use memoir_app::{AgentHandle, ShownAccessRequest};
use memoir_domain::{
    AccessRequestId, PrivateText, Timestamp,
    access::{AccessDraft, AccessKind, AccessScope},
};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    Problem,
    caller::{Caller, Reached},
    extract::{JsonBody, Nothing, Path, UrlQuery, read},
    page::{Page, PageParameters},
    replies, schemas,
};

/// A request to an agent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewAccessRequest {
    /// `read` (the default): to read for some minutes. `token`: to create one more token of the agent.
    #[serde(default, deserialize_with = "memoir_app::optional")]
    #[schema(value_type = Option<schemas::AskedKind>)]
    kind: Option<RequestedKind>,
    /// Why, for the agent to judge: 1 to 2,000 characters.
    #[schema(value_type = String, min_length = 1, max_length = 2_000, example = "to see why the last session was rolled back")]
    purpose: PrivateText,
    /// To read: `core` (the active core memories), `all` (memories of all kinds, records and prompts), or `session` (what
    /// a session changed, archived texts included). `session:` and an identifier names it too.
    #[serde(default, deserialize_with = "memoir_app::optional")]
    #[schema(
        pattern = "^(core|all|session(:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?)$",
        example = "core"
    )]
    scope: Option<String>,
    /// With the scope `session`: the session; the last one that was opened where it is left out.
    #[serde(default, deserialize_with = "memoir_app::optional")]
    #[schema(value_type = Option<String>, format = Uuid)]
    session_id: Option<String>,
    /// To read: for how many minutes from the agent's answer on, 1 to 60.
    #[serde(default, deserialize_with = "memoir_app::optional")]
    #[schema(minimum = 1, maximum = 60, example = 30)]
    minutes: Option<u32>,
    /// A token: the end of its validity; none where it is left out.
    // A blank one is refused: it would never expire.
    #[serde(default)]
    expires_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RequestedKind {
    #[default]
    Read,
    Token,
    Embeddings,
}

impl NewAccessRequest {
    /// With the session as a part of its scope.
    async fn with_session(mut self, agent: &AgentHandle) -> Result<Self, Problem> {
        let is_read = matches!(self.kind, None | Some(RequestedKind::Read));
        let is_session = is_read && self.scope.as_deref().map(str::trim) == Some("session");
        let id = match (is_session, self.session_id.take()) {
            (false, None) => return Ok(self),
            (false, Some(_)) => {
                return Err(Problem::invalid("session_id: is for reading a `session`"));
            }
            (true, Some(id)) => id,
            (true, None) => last_opened(agent).await?,
        };
        self.scope = Some(format!("session:{id}"));
        Ok(self)
    }

    /// Whether it requests sending the agent's text to the embeddings server, and nothing else.
    fn asks_to_embed(&self) -> bool {
        let is_bare = self.scope.is_none() && self.minutes.is_none() && self.expires_at.is_none();
        is_bare && matches!(self.kind, Some(RequestedKind::Embeddings))
    }

    fn read(self) -> Result<AccessDraft, Problem> {
        let scope = |text: &str| {
            let scope = text.parse::<AccessScope>();
            scope
                .map_err(|_| "must be `core`, `all`, or `session:` and the identifier of a session")
        };
        let scope = read("scope", self.scope.as_deref(), scope)?;
        let kind = match (self.kind.unwrap_or_default(), scope, self.minutes) {
            (RequestedKind::Read, Some(scope), Some(minutes)) if self.expires_at.is_none() => {
                AccessKind::Read { scope, minutes }
            }
            (RequestedKind::Read, None, _) => return Err(Problem::invalid("scope: is missing")),
            (RequestedKind::Read, _, None) => return Err(Problem::invalid("minutes: is missing")),
            (RequestedKind::Read, ..) => {
                return Err(Problem::invalid(
                    "expires_at: is for `kind: token`; give `minutes`",
                ));
            }
            (RequestedKind::Token, None, None) => AccessKind::Token {
                expires_at: self.expires_at,
            },
            (RequestedKind::Token | RequestedKind::Embeddings, ..) => {
                return Err(Problem::invalid("scope and minutes: are for `kind: read`"));
            }
        };
        Ok(AccessDraft {
            kind,
            purpose: self.purpose,
        })
    }
}

/// The agent's last session that was opened and is no rehearsal: the others changed nothing.
async fn last_opened(agent: &AgentHandle) -> Result<String, Problem> {
    let mut before = None;
    loop {
        let page = agent.views().session_page(before, 50).await?;
        let mut sessions = page.iter().filter(|session| !session.rehearsal);
        if let Some(opened) = sessions.find(|session| session.pre_session_tokens.is_some()) {
            return Ok(opened.id.to_string());
        }
        let none = || Problem::not_found("no session of the agent was opened yet");
        let last = page.last().ok_or_else(none)?;
        before = Some((last.started_at, last.id));
    }
}

/// Requests access of an agent: to read its text for a while, to make a token of it, or to send its text to the
/// configured server of embeddings, until that is revoked. The agent answers through its model or its own client; a grant
/// is for the token that asked, and for no other.
#[utoipa::path(post, path = "/v1/agents/{agent}/access-requests", tag = "access", operation_id = "request_access",
    request_body = NewAccessRequest, params(schemas::AgentPath),
    responses((status = 201, description = "The request, which waits for the agent's answer", body = ShownAccessRequest)))]
pub(crate) async fn ask(
    caller: Caller,
    Path(agent): Path<String>,
    JsonBody(new): JsonBody<NewAccessRequest>,
) -> Result<Response, Problem> {
    let reached = caller.reach_managed(&agent).await?;
    let (agent, actor) = (&reached.agent, &reached.actor);
    let new = new.with_session(agent).await?;
    let request = match new.asks_to_embed() {
        true => {
            let grants = agent.grants();
            grants.request_embeddings(&new.purpose, actor).await?
        }
        false => agent.grants().request_access(&new.read()?, actor).await?,
    };
    let shown = ShownAccessRequest::from(request);
    Ok((StatusCode::CREATED, axum::Json(shown)).into_response())
}

/// The agent's access requests and grants, newest first.
#[utoipa::path(get, path = "/v1/agents/{agent}/access-requests", tag = "access", operation_id = "list_access_requests",
    params(schemas::AgentPath, PageParameters),
    responses((status = 200, description = "One page", body = Page<ShownAccessRequest>)))]
pub(crate) async fn list(
    caller: Caller,
    Path(agent): Path<String>,
    UrlQuery(parameters): UrlQuery<PageParameters>,
) -> Result<Response, Problem> {
    let reached = caller.reach(&agent).await?;
    let limit = parameters.limit()?;
    let before: Option<(Timestamp, AccessRequestId)> = parameters.after()?;
    // One more than is shown says whether there is a next page.
    let requests = reached.lens().access_requests(before, limit + 1).await?;
    let place = |request: &ShownAccessRequest| (request.requested_at, request.id);
    let page = Page::of(requests, limit, place);
    Ok(axum::Json(page).into_response())
}

/// One access request, and its outcome.
#[utoipa::path(get, path = "/v1/access-requests/{id}", tag = "access", operation_id = "get_access_request",
    params(("id" = String, Path, description = "The request", format = Uuid)),
    responses((status = 200, description = "The request", body = ShownAccessRequest)))]
pub(crate) async fn show(caller: Caller, Path(id): Path<String>) -> Result<Response, Problem> {
    let (reached, id) = caller.reach_access(&id).await?;
    Ok(axum::Json(reached.lens().access_request(id).await?).into_response())
}

/// An agent's answer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AccessAnswer {
    /// Whether the agent grants the request. A request without an answer is refused.
    granted: bool,
    /// The reason, for the requester: up to 300 characters, and no sentence of a memory.
    #[serde(default, deserialize_with = "memoir_app::optional")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 300, example = "you may see what the session did")]
    reason: Option<PrivateText>,
}

/// The agent's answer. Granting a request to shred a memory shreds it.
#[utoipa::path(post, path = "/v1/access-requests/{id}/answer", tag = "access", operation_id = "answer_access_request",
    request_body = AccessAnswer, params(("id" = String, Path, description = "The request", format = Uuid)),
    responses((status = 200, description = "The request", body = ShownAccessRequest)))]
pub(crate) async fn answer(
    caller: Caller,
    Path(id): Path<String>,
    JsonBody(AccessAnswer { granted, reason }): JsonBody<AccessAnswer>,
) -> Result<Response, Problem> {
    let (Reached { agent, actor, .. }, id) = caller.reach_access(&id).await?;
    let grants = agent.grants();
    let request = grants.answer_access(id, granted, reason, &actor).await?;
    Ok(replies::wordless(axum::Json(request).into_response()))
}

/// Revokes a request, answered or not: its grant ends immediately.
#[utoipa::path(post, path = "/v1/access-requests/{id}/revoke", tag = "access", operation_id = "revoke_access_request",
    params(("id" = String, Path, description = "The request", format = Uuid)),
    responses((status = 200, description = "The request", body = ShownAccessRequest)))]
pub(crate) async fn revoke(
    caller: Caller,
    Path(id): Path<String>,
    JsonBody(Nothing {}): JsonBody<Nothing>,
) -> Result<Response, Problem> {
    let (reached, id) = caller.reach_access(&id).await?;
    let Reached { agent, actor, .. } = &reached;
    // Read before the change: once that is made, no failing read may say otherwise. The agent's answer is shown by the
    // caller's rights, whichever caller revokes the request.
    let words = reached.lens().access_request(id).await?.words;
    let facts = agent.grants().revoke_access(id, actor).await?;
    Ok(axum::Json(ShownAccessRequest { facts, words }).into_response())
}
