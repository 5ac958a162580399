//! The headers of every page, and the pages that report failures.

use axum::{
    extract::{Request, State},
    http::{HeaderName, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Redirect, Response},
};
use maud::{Markup, html};
use memoir_app::{Error, FaultId, SignedInUser};

use crate::{
    Console,
    field::with_code,
    pages::own,
    parts::{self, ConsoleSection, FramedPage},
    words,
};

/// No outside host, nothing inline; forms stay on this host, and no page may frame this one.
// `data:` is for the blank icon in each head, without which browsers would ask for one.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
     img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

const HEADERS: [(HeaderName, &str); 7] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // Some browsers do not know `frame-ancestors`. A page of another site that frames this one could steal clicks.
    (header::X_FRAME_OPTIONS, "DENY"),
    // Not `no-referrer`: browsers would send forms without their origin then.
    (header::REFERRER_POLICY, "same-origin"),
    // A page may show memories under a grant, or a secret that is shown once. The browser must keep no copy of them.
    (header::CACHE_CONTROL, "no-store"),
    // A page of another site that opens this one in a window must not be able to steer that window.
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    // No page needs these, so a script that got into a page cannot ask the user for them.
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=(), payment=()",
    ),
];

/// Makes every page in its time zone, below a report of what was just done, and sends it with its headers.
pub(crate) async fn guard_page(
    State(console): State<Console>,
    request: Request,
    next: Next,
) -> Response {
    let query = request.uri().query().map(str::to_owned);
    let made = parts::with_notice_of(query.as_deref(), next.run(request));
    with_headers(words::in_zone_of(console.memoir(), made).await)
}

/// Added to a response: the origin to which its form leads. Browsers check that against the policy too.
#[derive(Debug, Clone)]
pub(crate) struct FormTarget(pub(crate) String);

pub(crate) fn with_headers(mut response: Response) -> Response {
    // Existing headers stay: of two values of one header the browser would choose.
    for (name, value) in HEADERS {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    if let Some(FormTarget(origin)) = response.extensions_mut().remove() {
        // Browsers check the redirect after a form against `form-action`, too.
        let policy = POLICY.replace(
            "form-action 'self'",
            &format!("form-action 'self' {origin}"),
        );
        // An origin that no header can hold leaves the stricter policy in place, and the browser refuses to go on.
        if let Ok(policy) = HeaderValue::try_from(policy) {
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_SECURITY_POLICY, policy);
        }
    }
    response
}

pub(crate) fn page(markup: Markup) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
    (kind, markup.into_string()).into_response()
}

/// Redirects to another page, after a form was carried out.
pub(crate) fn see_other(path: &str) -> Response {
    // The status 303 makes the browser go on with `GET`, so that reloading the page does not send the form again.
    Redirect::to(path).into_response()
}

/// A page about an act that was not carried out.
pub(crate) fn page_of(status: StatusCode, answer: Response) -> Response {
    (status, answer).into_response()
}

/// The first page of the console, to which every failure of its pages links.
const FLEET: (&str, &str) = ("/", "Back to the fleet");

/// Why a request was not carried out. It is attached to its response until that gets the frame of the signed-in user.
#[derive(Debug, Clone)]
pub(crate) struct PageFailure {
    status: StatusCode,
    message: String,
}

pub(crate) type PageResult = Result<Response, PageFailure>;

impl PageFailure {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
        }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// As a page in the frame of a signed-in user, with links onwards.
    pub(crate) fn framed(&self, visitor: &SignedInUser, path: &str) -> Response {
        let place = match path {
            "/audit" => ConsoleSection::Audit,
            "/activity" => ConsoleSection::Activity,
            _ => ConsoleSection::Fleet,
        };
        let heading = heading(self.status);
        let content = self.content(heading, self.way_back(path), FLEET);
        let shown = FramedPage::new(visitor, heading, place).show(content);
        page_of(self.status, shown)
    }

    /// As a page for the owner of an open installation, with links onwards.
    pub(crate) fn framed_for_owner(&self, path: &str) -> Response {
        let heading = heading(self.status);
        let way_back = own::way_back(path).filter(|_| !self.is_gone());
        let markup = parts::bare(heading, self.content(heading, way_back, own::HOME));
        page_of(self.status, page(markup))
    }

    fn is_gone(&self) -> bool {
        matches!(self.status, StatusCode::NOT_FOUND | StatusCode::GONE)
    }

    /// The page that the user most likely came from, and its label; `None` where that does not exist either.
    fn way_back(&self, path: &str) -> Option<(String, &'static str)> {
        let is_gone = self.is_gone();
        let mut parts = path.split('/').skip(1);
        // Three parts are needed: an agent's own page leads back to the fleet, to which every failure page links.
        match (parts.next()?, parts.next()?, parts.next()?) {
            _ if is_gone => None,
            ("agents", agent, _) => Some((format!("/agents/{agent}"), "Back to the agent")),
            ("sessions", session, _) => {
                Some((format!("/sessions/{session}"), "Back to the session"))
            }
            _ => None,
        }
    }

    fn content(
        &self,
        heading: &str,
        way_back: Option<(String, &str)>,
        (home, text_home): (&str, &str),
    ) -> Markup {
        html! {
            h1 { (heading) }
            p { (with_code(&self.message)) }
            @if let Some((path, text)) = way_back { p { a href=(path) { (text) } } }
            p { a href=(home) { (text_home) } }
        }
    }
}

impl From<Error> for PageFailure {
    fn from(error: Error) -> Self {
        let status = status_of(error.code());
        // Only internal failures have a fault identifier, by which the operator finds the failure in the log.
        let fault = FaultId::of(&error);
        let message = words::message(&error);
        let message = match fault {
            Some(fault) => format!("{message} Its log has more, under `{fault}`."),
            None => message,
        };
        Self::new(status, message)
    }
}

impl IntoResponse for PageFailure {
    fn into_response(self) -> Response {
        let heading = heading(self.status);
        // The way back depends on the path of the request, which is not known here.
        let markup = parts::bare(heading, self.content(heading, None, FLEET));
        let mut response = page_of(self.status, page(markup));
        // Attached to the response, since only the layer above knows the signed-in user for the frame.
        response.extensions_mut().insert(self);
        response
    }
}

/// The response of a handler that ends before its page: of a failure, another page or a redirect.
pub(crate) struct EarlyResponse(pub(crate) Response);

pub(crate) type EarlyResult = Result<Response, EarlyResponse>;

impl<E: Into<PageFailure>> From<E> for EarlyResponse {
    fn from(failure: E) -> Self {
        Self(failure.into().into_response())
    }
}

impl IntoResponse for EarlyResponse {
    fn into_response(self) -> Response {
        self.0
    }
}

fn heading(status: StatusCode) -> &'static str {
    match status.as_u16() {
        400 | 413 => "That could not be read",
        403 => "Not allowed",
        404 | 405 | 410 => "Not there",
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
        "busy" | "contended" | "read_only" | "outcome_unknown" => StatusCode::SERVICE_UNAVAILABLE,
        "disk_full" | "storage_quota" => StatusCode::INSUFFICIENT_STORAGE,
        "daily_quota" | "rate_limited" => StatusCode::TOO_MANY_REQUESTS,
        "internal" | "tampered" | "key_unavailable" => StatusCode::INTERNAL_SERVER_ERROR,
        // Every other code says that the request contradicts the present state.
        _ => StatusCode::CONFLICT,
    }
}
