//! The common steps of every request under `/v1`: the token, the rate, the body, and the idempotency key.

use axum::{
    body::{Body, HttpBody},
    extract::{MatchedPath, Request, State},
    http::{header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::description;
use crate::{Problem, Service, caller::Caller, extract, priority, replies};

pub(super) async fn admit(
    State(service): State<Service>,
    request: Request,
    next: Next,
) -> Response {
    let passed = pass(&service, request, next).await;
    // A caller's own data must not be stored on any other disk.
    ([(header::CACHE_CONTROL, "no-store")], passed).into_response()
}

async fn pass(service: &Service, request: Request, next: Next) -> Result<Response, Problem> {
    let (mut parts, body) = request.into_parts();
    let caller = Caller::of(service, &parts).await?;
    // After the token, whose rate it is, and before the body, which costs most.
    caller.count_request()?;
    check_parameters(&parts)?;
    let waits = service.shares.requests.is_full(caller.party()) || !body.is_end_stream();
    let (body, turn) = caller.take_turn(&parts.headers, body).await?;
    if waits || !parts.method.is_safe() {
        // The token may have been revoked behind earlier requests or a slow body, and a change can be another token.
        Caller::of(service, &parts).await?;
    }
    parts.extensions.insert(caller.clone());
    let request = Request::from_parts(parts, Body::from(body.clone()));
    let own = service.clone();
    let handled = async move {
        // A repeated read is harmless, and its response is not stored.
        if request.method().is_safe() {
            return Ok(next.run(request).await);
        }
        replies::once(&own, &caller, (request, body), next).await
    };
    Ok(priority::run(service, turn, handled).await)
}

/// Refuses query parameters that the request does not have: a misspelt filter would otherwise return too much.
pub(super) fn check_parameters(parts: &Parts) -> Result<(), Problem> {
    let (Some(query), Some(path)) = (parts.uri.query(), parts.extensions.get::<MatchedPath>())
    else {
        return Ok(());
    };
    let known = description::parameters(path.as_str(), parts.method.as_str());
    let pairs: Vec<(String, String)> = serde_urlencoded::from_str(query)
        .map_err(|_| Problem::invalid("the query is not UTF-8"))?;
    for (name, _) in pairs {
        if !known.contains(&name) {
            let name = extract::name(&name);
            let known = match known {
                [] => "there are none".to_owned(),
                known => format!("there are {}", known.join(", ")),
            };
            return Err(Problem::invalid(format!(
                "{name}: is no parameter of this request; {known}"
            )));
        }
    }
    Ok(())
}
