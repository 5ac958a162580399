//! What every request under `/v1` goes through: the token, the rate, the time, and the idempotency key.

use std::time::Instant;

use axum::{
    extract::{Request, State},
    http::{Method, StatusCode},
    middleware::Next,
    response::{IntoResponse, Response},
};

use crate::{Problem, Service, caller::Caller, replies};

pub(super) async fn admit(
    State(service): State<Service>,
    request: Request,
    next: Next,
) -> Response {
    let time = service.options.request_time;
    match tokio::time::timeout(time, pass(&service, request, next)).await {
        Ok(Ok(response)) => response,
        Ok(Err(problem)) => problem.into_response(),
        Err(_) => Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "timeout",
            format!("the request took longer than {} seconds", time.as_secs()),
        )
        .into_response(),
    }
}

async fn pass(service: &Service, request: Request, next: Next) -> Result<Response, Problem> {
    let (mut parts, body) = request.into_parts();
    let caller = Caller::of(service, &parts).await?;
    if !service
        .limiter
        .admits(caller.principal.token, Instant::now())
    {
        let rate = service.options.requests_per_second;
        return Err(Problem::new(
            StatusCode::TOO_MANY_REQUESTS,
            "rate_limited",
            format!("this token makes more than {rate} requests a second"),
        )
        .retry_after(1));
    }
    parts.extensions.insert(caller.clone());
    let request = Request::from_parts(parts, body);
    if request.method() == Method::GET {
        return Ok(next.run(request).await);
    }
    replies::once(service, &caller, request, next).await
}
