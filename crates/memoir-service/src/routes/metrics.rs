//! `/metrics`: the counts, in the text format of Prometheus.
//!
//! They include all accounts. From this machine they are open, as Prometheus expects; from elsewhere and through
//! proxies they are for administrators of the account `default`, since those of other accounts are tenants. Behind a
//! declared proxy they are so for every request: one without the proxy's headers may have come through it too.

use axum::{
    extract::{Request, State},
    http::{header, request::Parts},
    response::{IntoResponse, Response},
};
use memoir_app::{DEFAULT_ACCOUNT, Error};
use prometheus::{TEXT_FORMAT, TextEncoder};

use crate::{Problem, Service, caller::Caller, host::is_sent_to_loopback, server::Peer};

/// The headers that proxies add to a request.
const FORWARDED: [&str; 5] = [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-proto",
    "x-real-ip",
];

/// The counts since the process began, for Prometheus.
///
/// Numbers of all accounts together, with codes and names of models; no names of agents, and no text. From this machine
/// no token is needed. From elsewhere, or behind a proxy, it is for administrators of the account `default`, who run
/// the installation, since the numbers include all of its accounts.
#[utoipa::path(get, path = "/metrics", tag = "service", operation_id = "get_metrics", security((), ("token" = [])),
    responses((status = 200, description = "The numbers", body = String, content_type = "text/plain"),
        (status = 401, description = "`unauthorized`", body = Problem, content_type = "application/problem+json"),
        (status = 403, description = "`forbidden`", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn show(
    State(service): State<Service>,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, _) = request.into_parts();
    if service.options.behind_proxy || !is_of_this_machine(&parts) {
        check(&service, &parts).await?;
    }
    let mut families = service.requests.families();
    families.extend(service.memoir.metrics().await);
    let text = TextEncoder::new().encode_to_string(&families);
    let text = text.map_err(|error| Error::Inconsistent(format!("the metrics: {error}")))?;
    let headers = [
        (header::CONTENT_TYPE, TEXT_FORMAT),
        (header::CACHE_CONTROL, "no-store"),
    ];
    Ok((headers, text).into_response())
}

/// Whether the request comes from this machine, and neither through a proxy on it nor from another site's page in a
/// browser on it.
fn is_of_this_machine(parts: &Parts) -> bool {
    let has = |name: &&str| parts.headers.contains_key(*name);
    Peer::of(parts).is_some_and(|peer| peer.to_canonical().is_loopback())
        && is_sent_to_loopback(&parts.headers)
        && !FORWARDED.iter().any(has)
}

/// Refuses clients that do not run the installation.
async fn check(service: &Service, parts: &Parts) -> Result<(), Problem> {
    let caller = Caller::of(service, parts).await?;
    caller.count_request()?;
    caller.administrator()?;
    let own = service.memoir.account(DEFAULT_ACCOUNT).await?;
    if caller.principal.account == own.id() {
        return Ok(());
    }
    Err(Problem::forbidden(format!(
        "the numbers are of all accounts: they are for an administrator of the account `{DEFAULT_ACCOUNT}`"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_a_loopback_address_without_a_proxy() {
        let here = "127.0.0.1:8750";
        for (peer, host, header, expected) in [
            (Some("127.0.0.1:1"), here, None, true),
            (Some("127.0.0.1:1"), "LocalHost:8750", None, true),
            (Some("127.0.0.1:1"), "localhost", None, true),
            (Some("[::1]:1"), "[::1]:8750", None, true),
            (Some("[::ffff:127.0.0.1]:1"), here, None, true),
            (Some("127.0.0.1:1"), here, Some("X-Forwarded-For"), false),
            (Some("127.0.0.1:1"), "evil.example:8750", None, false),
            (Some("127.0.0.1:1"), "localhost.evil.example", None, false),
            (Some("127.0.0.1:1"), "", None, false),
            (Some("10.0.0.7:1"), here, None, false),
            (Some("[fe80::1]:1"), here, None, false),
            (None, here, None, false),
        ] {
            let mut request = axum::http::Request::builder().header(header::HOST, host);
            if let Some(peer) = peer {
                request = request.extension(Peer(peer.parse().unwrap()));
            }
            if let Some(name) = header {
                request = request.header(name, "10.0.0.7");
            }
            let (parts, ()) = request.body(()).unwrap().into_parts();
            let found = is_of_this_machine(&parts);
            assert_eq!(found, expected, "{peer:?} {host:?} {header:?}");
        }
    }
}
