//! The host names of the service. A page of another site can make a browser call this machine under a name of that site
//! (DNS rebinding): such a request is refused before its token is checked.

use std::net::IpAddr;

use axum::http::{HeaderMap, Uri, header, request::Parts, uri::Authority};

use crate::{Problem, ServiceOptions};

/// Refuses a request for a host that is not this one, or from a page of another.
///
/// A host is this one where it is an address or `localhost`, or is named in the options; behind a proxy it is any host
/// that the proxy forwards. A page must be of this host, or of this machine.
pub(crate) fn check(parts: &Parts, options: &ServiceOptions) -> Result<(), Problem> {
    // A request in absolute form names its host there, and `Host` does not count (RFC 9112, 3.2.2).
    let host = parts.uri.authority().map(name_of);
    let host = host.or_else(|| host_in(&parts.headers));
    let host = host.ok_or_else(|| Problem::invalid("the request names no host"))?;
    let is_address = host.parse::<IpAddr>().is_ok();
    let hosts = &options.hosts;
    let is_named = |name: &str| hosts.iter().any(|host| host.eq_ignore_ascii_case(name));
    if !(options.behind_proxy || is_address || is_local(&host) || is_named(&host)) {
        return Err(Problem::forbidden(
            "this service is not called by the name in `Host`; `memoir serve --host NAME` adds one",
        ));
    }
    // No page in a browser: those send it with every request that could change something.
    let Some(origin) = parts.headers.get(header::ORIGIN) else {
        return Ok(());
    };
    let page = origin.to_str().ok();
    let page = page.and_then(|origin| origin.parse::<Uri>().ok());
    match page.and_then(|origin| origin.authority().map(name_of)) {
        Some(page) if page.eq_ignore_ascii_case(&host) || is_local(&page) || is_named(&page) => {
            Ok(())
        }
        _ => Err(Problem::forbidden(
            "the page that asks, in `Origin`, is none of this service",
        )),
    }
}

/// Whether a request is sent to a loopback address, or to `localhost`. A page of another site whose name resolves to
/// this machine (DNS rebinding) sends its own name.
pub(crate) fn is_sent_to_loopback(headers: &HeaderMap) -> bool {
    host_in(headers).is_some_and(|host| is_local(&host))
}

fn host_in(headers: &HeaderMap) -> Option<String> {
    let host = headers.get(header::HOST)?.to_str().ok()?;
    Some(name_of(&host.parse().ok()?))
}

/// Without its port, and an address of version 6 without its brackets.
fn name_of(authority: &Authority) -> String {
    authority.host().trim_matches(['[', ']']).to_owned()
}

fn is_local(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use axum::http::Request;
    use memoir_testkit::rows;

    use super::*;

    #[test]
    fn only_pages_and_names_of_its_own_are_answered() {
        let named = ServiceOptions {
            hosts: vec!["memoir.lan".to_owned()],
            ..ServiceOptions::default()
        };
        let proxied = ServiceOptions {
            behind_proxy: true,
            ..ServiceOptions::default()
        };
        let plain = ServiceOptions::default();
        let cases = rows(
            "plain | localhost:8750 | - | true
            plain | 127.0.0.1:8750 | http://localhost:6274 | true
            plain | [::1]:8750 | - | true
            plain | 192.168.1.4:8750 | http://192.168.1.4:8750 | true
            plain | 192.168.1.4:8750 | http://192.168.1.5:8750 | false
            plain | evil.example.com | - | false
            plain | localhost.evil.example.com | - | false
            plain | localhost | http://evil.example.com | false
            plain | localhost | null | false
            plain | memoir.lan | - | false
            named | Memoir.lan:8750 | https://memoir.lan | true
            named | evil.example.com | - | false
            proxied | memoir.example.org | https://memoir.example.org | true
            proxied | memoir.example.org | https://evil.example.com | false",
        );
        for [options, host, origin, is_answered] in cases {
            let options = match options {
                "named" => &named,
                "proxied" => &proxied,
                _ => &plain,
            };
            let mut request = Request::builder().uri("/mcp").header(header::HOST, host);
            if origin != "-" {
                request = request.header(header::ORIGIN, origin);
            }
            let (parts, ()) = request.body(()).unwrap().into_parts();
            let found = check(&parts, options).is_ok();
            assert_eq!(found.to_string(), is_answered, "{host} {origin}");
        }
    }
}
