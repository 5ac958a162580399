//! What every page is sent with, and the pages that tell what went wrong.

use axum::{
    extract::Request,
    http::{HeaderName, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Redirect, Response},
};
use maud::{Markup, html};
use memoir_app::Error;

use crate::parts;

/// No outside host, nothing inline; forms go nowhere else, and nobody frames a page.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
     img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// Headers of every page.
const HEADERS: [(HeaderName, &str); 7] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    // Not `no-referrer`: browsers would send forms without their origin then.
    (header::REFERRER_POLICY, "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=(), payment=()",
    ),
];

/// Sends every page with its headers.
pub(crate) async fn guard_page(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    for (name, value) in HEADERS {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response
}

/// A page.
pub(crate) fn page(markup: Markup) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
    (kind, markup.into_string()).into_response()
}

/// To another page, after a form was carried out.
pub(crate) fn see_other(path: &str) -> Response {
    Redirect::to(path).into_response()
}

/// Why a request was not carried out.
#[derive(Debug)]
pub(crate) struct Failure {
    status: StatusCode,
    message: String,
}

/// What a request comes to.
pub(crate) type Answer = Result<Response, Failure>;

impl Failure {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
        }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = status_of(error.code());
        if status == StatusCode::INTERNAL_SERVER_ERROR {
            // What went wrong inside is for the log.
            tracing::error!(%error, "a page could not be shown");
            return Self::new(status, "The service could not carry this out.");
        }
        // The message of an error is a sentence without its capital and its full stop.
        let text = error.to_string();
        let mut letters = text.chars();
        let message = match letters.next() {
            Some(first) => format!("{}{}.", first.to_uppercase(), letters.as_str()),
            None => text,
        };
        Self::new(status, message)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let heading = heading(self.status);
        let markup = parts::bare(
            heading,
            html! {
                h1 { (heading) }
                p { (self.message) }
                p { a href="/" { "Back to the fleet" } }
            },
        );
        (self.status, page(markup)).into_response()
    }
}

fn heading(status: StatusCode) -> &'static str {
    match status.as_u16() {
        400 | 413 => "That could not be read",
        403 => "Not allowed",
        404 | 410 => "Not there",
        429 => "Too many requests",
        409 | 412 => "Not done",
        503 => "Busy",
        _ => "Something went wrong",
    }
}

fn status_of(code: &str) -> StatusCode {
    match code {
        "not_found" => StatusCode::NOT_FOUND,
        "erased" => StatusCode::GONE,
        "invalid_argument" | "too_long" => StatusCode::BAD_REQUEST,
        "busy" | "contended" => StatusCode::SERVICE_UNAVAILABLE,
        "disk_full" => StatusCode::INSUFFICIENT_STORAGE,
        "internal" | "tampered" | "key_unavailable" => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::CONFLICT,
    }
}
