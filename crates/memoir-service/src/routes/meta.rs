//! Requests outside of `/v1`: the description of the interface, and the health of the service.

use std::{sync::LazyLock, time::Duration};

use axum::{
    extract::{Request, State},
    http::{Method, StatusCode, header},
    response::{IntoResponse, Response},
};

use super::description::DOCUMENT;
use crate::{Problem, Service, console};

/// The description of the interface: OpenAPI 3.1.
#[utoipa::path(get, path = "/openapi.json", tag = "service", operation_id = "get_openapi", security(()),
    responses((status = 200, description = "This document", body = crate::schemas::AnyObject)))]
pub(super) async fn openapi() -> Response {
    static TEXT: LazyLock<String> = LazyLock::new(|| DOCUMENT.to_string());
    let json = [(header::CONTENT_TYPE, "application/json")];
    (json, TEXT.as_str()).into_response()
}

/// How long a readiness check may wait for the database.
const SILENCE: Duration = Duration::from_millis(1_500);

const SILENT: &str = "the database, or the key store, does not answer";

/// Whether the process is alive.
#[utoipa::path(get, path = "/healthz", tag = "service", operation_id = "get_health", security(()),
    responses((status = 200, description = "It does", body = String, content_type = "text/plain")))]
pub(super) async fn healthy() -> &'static str {
    "ok\n"
}

/// Whether requests can be carried out: whether the database and the key store answer, and the database takes what is
/// written. Where it had no room for something, a small write is tried.
#[utoipa::path(get, path = "/readyz", tag = "service", operation_id = "get_readiness", security(()),
    responses((status = 200, description = "They can", body = String, content_type = "text/plain"),
        (status = 503, description = "`not_ready`", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn ready(State(service): State<Service>) -> Response {
    // A database that is reachable but silent is of no use either.
    let why = match tokio::time::timeout(SILENCE, service.memoir.check_ready()).await {
        Ok(Ok(())) => return "ready\n".into_response(),
        Ok(Err(error)) => match error.code() {
            "read_only" => "the database is read-only",
            "disk_full" => "the database is full",
            _ => SILENT,
        },
        Err(_) => SILENT,
    };
    Problem::new("not_ready", why).into_response()
}

pub(super) async fn nothing(State(service): State<Service>, request: Request) -> Response {
    let (head, _) = request.into_parts();
    if let Some(page) = console::nothing(&service, &head, StatusCode::NOT_FOUND).await {
        return page;
    }
    let hint = match head.uri.path().ends_with('/') {
        true => "paths here have no slash at the end",
        false => "`/docs` lists what there is",
    };
    Problem::not_found("there is nothing at this path")
        .hint(hint)
        .into_response()
}

/// The response gets an `Allow` header where the router adds it.
pub(super) async fn wrong_method(State(service): State<Service>, request: Request) -> Response {
    let (head, _) = request.into_parts();
    if head.method == Method::OPTIONS {
        return StatusCode::NO_CONTENT.into_response();
    }
    if let Some(page) = console::nothing(&service, &head, StatusCode::METHOD_NOT_ALLOWED).await {
        return page;
    }
    Problem::new("method_not_allowed", "this path does not take that method")
        .hint("`/docs` lists what there is")
        .into_response()
}
