//! `/mcp`: the Model Context Protocol over HTTP, for the agent whose token the request carries.

use axum::{
    Json, Router, body,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use memoir_app::SCOPE;
use serde_json::Value;

use crate::{
    Problem, Service,
    caller::{Caller, Turn},
    extract::accepted,
    host,
    oauth::RESOURCE_PATH,
    priority,
};

pub(super) fn routes(service: &Service) -> Router<Service> {
    let guard = middleware::from_fn_with_state(service.clone(), admit);
    Router::new()
        .route_service("/mcp", memoir_mcp::http_door())
        .route_layer(guard)
}

async fn admit(State(service): State<Service>, request: Request, next: Next) -> Response {
    let has_token = request.headers().contains_key(header::AUTHORIZATION);
    let answer = match admitted(&service, request).await {
        Ok((request, turn)) => priority::run(&service, turn, handled(request, next)).await,
        Err(problem) => challenged(&service, problem.into_response(), has_token),
    };
    // As under `/v1`.
    ([(header::CACHE_CONTROL, "no-store")], answer).into_response()
}

async fn handled(request: Request, next: Next) -> Response {
    match readable(request).await {
        Ok(request) => next.run(request).await,
        Err(refused) => (StatusCode::BAD_REQUEST, Json(refused)).into_response(),
    }
}

/// The request with its message mended (SPEC 2.1).
///
/// # Errors
/// The response of the protocol, where the body is no message.
async fn readable(request: Request) -> Result<Request, Value> {
    if request.method() != Method::POST {
        return Ok(request);
    }
    let (mut parts, body) = request.into_parts();
    // It is complete already, and within the limit of bodies.
    let body = body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    let message = memoir_mcp::read_body(&body)?;
    // What the client stated was the length of what it sent.
    parts
        .headers
        .insert(header::CONTENT_LENGTH, message.len().into());
    if takes_json(&parts.headers) {
        // Memoir responds with JSON alone, but the protocol's library wants clients to take streams of events, too.
        let both = HeaderValue::from_static("application/json, text/event-stream");
        parts.headers.insert(header::ACCEPT, both);
    }
    Ok(Request::from_parts(parts, message.into()))
}

/// Whether a client takes JSON, by what it says that it accepts; one that says nothing takes anything (RFC 9110, 12.5.1).
fn takes_json(headers: &HeaderMap) -> bool {
    // The last one is what Java's own client sends.
    let json = ["application/json", "application/*", "*/*", "*"];
    let accepted = accepted(headers);
    let is_json = |(kind, weight): &(String, u32)| *weight > 0 && json.contains(&kind.as_str());
    accepted.is_empty() || accepted.iter().any(is_json)
}

/// The response; to a request without a valid token, with the address for obtaining one (RFC 9728, 5.1).
fn challenged(service: &Service, mut answer: Response, has_token: bool) -> Response {
    if let (StatusCode::UNAUTHORIZED, Some(connecting)) = (answer.status(), &service.connecting) {
        // A request that has no token gets no error code (RFC 6750, 3.1).
        let error = match has_token {
            true => "error=\"invalid_token\", ",
            false => "",
        };
        let address = &connecting.address;
        let challenge = format!(
            "Bearer {error}scope=\"{SCOPE}\", resource_metadata=\"{address}{RESOURCE_PATH}\""
        );
        if let Ok(challenge) = HeaderValue::try_from(challenge) {
            answer
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, challenge);
        }
    }
    answer
}

/// The request with the agent that its token is for, and its turn.
async fn admitted(service: &Service, request: Request) -> Result<(Request, Turn), Problem> {
    let (mut parts, body) = request.into_parts();
    // Before the token is looked up: a page of another site must not learn whether one is valid.
    host::check(&parts, &service.options)?;
    let caller = Caller::of_mcp(service, &parts).await?;
    caller.count_request()?;
    let agent = caller.principal.agent.ok_or_else(|| {
        Problem::forbidden("this interface is for agents; an administrator's token acts for none")
    })?;
    let own = caller.reach_own(&agent.to_string()).await?;
    let (body, turn) = caller.take_turn(&parts.headers, body).await?;
    // The token may have been revoked while a slow body came.
    Caller::of_mcp(service, &parts).await?;
    parts.extensions.insert(own);
    Ok((Request::from_parts(parts, body.into()), turn))
}
