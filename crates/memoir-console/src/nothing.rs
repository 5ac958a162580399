//! The page for unknown addresses in a browser: a page of the console, with links to the others.

use std::sync::Arc;

use axum::{
    http::{HeaderMap, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};

use crate::{
    Host,
    answer::{PageFailure, with_headers},
    browser, words,
};

/// Whether the client wants a page: browsers say so, programs do not.
pub fn wants_page(headers: &HeaderMap) -> bool {
    let mut sent = headers.get_all(header::ACCEPT).into_iter();
    sent.any(|accept| {
        accept
            .to_str()
            .is_ok_and(|kinds| kinds.contains("text/html"))
    })
}

/// The page for a request with this head to an unknown address, with that status.
pub async fn nothing(host: Arc<dyn Host>, head: &Parts, status: StatusCode) -> Response {
    let message = match status {
        StatusCode::METHOD_NOT_ALLOWED => {
            "This address is for forms and cannot be opened by itself. Nothing was changed."
        }
        _ => "There is no page at this address.",
    };
    let failure = PageFailure::new(status, message);
    if host.owner_link().is_some() {
        return with_headers(failure.framed_for_owner("/"));
    }
    // Clients that cannot be authenticated get the page without the frame.
    let visitor = browser::visitor(&host, &head.headers).await.ok().flatten();
    let page = match visitor.filter(|visitor| host.admits(visitor.token)) {
        Some(visitor) => {
            let framed = async { failure.framed(&visitor, head.uri.path()) };
            words::in_zone_of(host.memoir(), framed).await
        }
        None => failure.into_response(),
    };
    // The router's layer sets the headers of its own responses, which this one does not pass.
    with_headers(page)
}
