//! What is not of `/v1`: the description of the interface, its pages, and whether the service is well.

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};

use crate::{Problem, Service};

pub(super) fn routes(document: utoipa::openapi::OpenApi) -> Router<Service> {
    let text = document.to_json().unwrap_or_default();
    let json = [(header::CONTENT_TYPE, "application/json")];
    Router::new()
        .route("/openapi.json", get(move || async move { (json, text) }))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
}

/// Whether the database answers.
async fn ready(State(service): State<Service>) -> Response {
    match service.memoir.has_users().await {
        Ok(_) => "ready\n".into_response(),
        Err(_) => Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "not_ready",
            "the database does not answer",
        )
        .into_response(),
    }
}

pub(super) async fn nothing() -> Problem {
    Problem::not_found("there is nothing at this path").hint("`/docs` lists what there is")
}

pub(super) async fn wrong_method() -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "this path does not take that method",
    )
    .hint("`/docs` lists what there is")
}
