//! `/v1/sign-in`: an administrator's name and password for a token that lasts some hours.

use std::{
    net::{IpAddr, Ipv6Addr},
    time::Duration,
};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use memoir_app::{DEFAULT_ACCOUNT, NewToken};
use memoir_domain::{PrivateText, Timestamp};
use memoir_vault::password::Password;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::guard;
use crate::{
    Problem, Service,
    extract::{self, Object},
    limits,
    server::Peer,
};

/// How long the token lasts.
const HOURS: i64 = 12;
/// Nobody who has no token sends more.
const MOST_BYTES: usize = 16 << 10;
/// How long an attempt waits for its turn where others are being checked.
const MOST_WAIT: Duration = Duration::from_secs(5);

/// An administrator's name and password.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Credentials {
    /// The account; `default` where it is left out.
    #[serde(default)]
    #[schema(example = "default")]
    account: Option<String>,
    /// The name, whatever the case.
    #[schema(example = "Ada")]
    name: String,
    /// The password.
    #[schema(value_type = String, example = "correct horse battery")]
    password: PrivateText,
}

/// A token of an administrator.
#[derive(Serialize, ToSchema)]
pub(crate) struct SignedIn {
    /// What opens the door.
    token: String,
    /// From then on it opens nothing.
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
}

/// Signs an administrator in: a token for twelve hours.
///
/// The only request of `/v1` that needs no token. A minute has five failed attempts for each name and address,
/// and thirty for an address. Refused where the password would travel in the open.
#[utoipa::path(post, path = "/v1/sign-in", tag = "tokens", operation_id = "sign_in", security(()),
    request_body = Credentials,
    responses((status = 201, description = "The token", body = SignedIn)))]
pub(crate) async fn sign_in(State(service): State<Service>, request: Request) -> Response {
    let signed_in = attempt(&service, request).await;
    let mut response = signed_in.unwrap_or_else(IntoResponse::into_response);
    let no_store = HeaderValue::from_static("no-store");
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, no_store);
    response
}

async fn attempt(service: &Service, request: Request) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let peer = parts.extensions.get::<Peer>().map(|peer| peer.0.ip());
    check_transport(service, &parts.headers, peer)?;
    guard::check_parameters(&parts)?;
    let time = service.options.request_time;
    let body = limits::body_within(MOST_BYTES, time, &parts.headers, body).await?;
    let Object(given): Object<Credentials> = extract::parse(&body)?;
    let expires_at = service.memoir.now().plus_seconds(HOURS * 3_600);
    let typed = Typed {
        account: given.account.as_deref(),
        name: &given.name,
        password: &given.password,
        secret: Secret::Token,
        expires_at,
    };
    let made = check(service, &parts.headers, peer, &typed).await?;
    let body = SignedIn {
        token: made.secret.expose().to_owned(),
        expires_at: made.view.expires_at,
    };
    Ok((StatusCode::CREATED, axum::Json(body)).into_response())
}

/// What somebody typed, by whichever door, and what it is typed for.
pub(crate) struct Typed<'a> {
    /// The account; `None` for the default one.
    pub(crate) account: Option<&'a str>,
    pub(crate) name: &'a str,
    pub(crate) password: &'a PrivateText,
    pub(crate) secret: Secret,
    pub(crate) expires_at: Timestamp,
}

/// What somebody signs in for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Secret {
    /// A token of REST.
    Token,
    /// The cookie of a browser.
    Cookie,
}

/// Signs in whoever knows the password, and counts the attempt, whichever door it comes by.
///
/// # Errors
/// There were too many attempts, others are being checked, or there is nobody of that name and password.
pub(crate) async fn check(
    service: &Service,
    headers: &HeaderMap,
    peer: Option<IpAddr>,
    typed: &Typed<'_>,
) -> Result<NewToken, Problem> {
    let address = address(service, headers, peer);
    let who = (typed.account.unwrap_or(DEFAULT_ACCOUNT), typed.name);
    if !service.attempts.admits(who, address) {
        tracing::debug!(%address, "sign-ins of one name or address come too often");
        return Err(Problem::new(
            StatusCode::TOO_MANY_REQUESTS,
            "rate_limited",
            "there were too many attempts to sign in; wait a minute",
        )
        .retry_after(60));
    }
    match token(service, typed).await? {
        Some(made) => {
            service.attempts.forgive(who, address);
            tracing::info!(token = %made.view.id, "an administrator signed in");
            Ok(made)
        }
        None => {
            tracing::warn!(%address, "a sign-in was refused");
            Err(refused())
        }
    }
}

async fn token(service: &Service, typed: &Typed<'_>) -> Result<Option<NewToken>, Problem> {
    // No password is so short or so long: it is none of anybody.
    let Ok(password) = Password::from_text(typed.password.expose()) else {
        return Ok(None);
    };
    // Each takes some tens of megabytes while it runs.
    let turn = tokio::time::timeout(MOST_WAIT, service.hashing.acquire()).await;
    let _turn = turn.map_err(|_| busy())?;
    let memoir = &service.memoir;
    let (account, name, ends) = (typed.account, typed.name, typed.expires_at);
    Ok(match typed.secret {
        Secret::Token => memoir.sign_in(account, name, password, ends).await?,
        Secret::Cookie => {
            let made = memoir.sign_in_with_browser(account, name, password, ends);
            made.await?
        }
    })
}

/// The same whatever was wrong.
fn refused() -> Problem {
    Problem::new(
        StatusCode::UNAUTHORIZED,
        "unauthorized",
        "there is no administrator of that name and password",
    )
}

fn busy() -> Problem {
    Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "busy",
        "too many others sign in at once; nothing was changed",
    )
    .retry_after(5)
}

/// Passwords travel over this machine only, or sealed. Behind a proxy its word is needed, also where it runs
/// on this machine: a request without it may have come to the proxy in the open.
pub(crate) fn check_transport(
    service: &Service,
    headers: &HeaderMap,
    peer: Option<IpAddr>,
) -> Result<(), Problem> {
    let told = headers.get_all("x-forwarded-proto");
    // A proxy that adds to what a client sent, instead of putting its own word there, leaves both.
    let is_sealed = told
        .iter()
        .all(|proto| proto.as_bytes().eq_ignore_ascii_case(b"https"));
    let is_told = told.iter().next().is_some();
    let is_safe = if service.options.behind_proxy {
        is_told && is_sealed
    } else {
        // A proxy that nobody declared may say that the password came to it in the open.
        let is_near = peer.is_some_and(|peer| peer.to_canonical().is_loopback());
        service.is_local && is_near && is_sealed
    };
    if is_safe {
        return Ok(());
    }
    let hint = if service.options.behind_proxy {
        "use HTTPS; the proxy says so with `X-Forwarded-Proto: https`"
    } else {
        "put a proxy with TLS in front of the service and start it with `--behind-proxy`, or let it listen on 127.0.0.1"
    };
    Err(Problem::new(
        StatusCode::FORBIDDEN,
        "insecure_transport",
        "a password would travel in the open",
    )
    .hint(hint))
}

/// Where the attempt comes from: what the proxy says last, since all before that is the client's word.
fn address(service: &Service, headers: &HeaderMap, peer: Option<IpAddr>) -> IpAddr {
    let forwarded = headers.get_all("x-forwarded-for").into_iter().next_back();
    let last = forwarded
        .filter(|_| service.options.behind_proxy)
        .and_then(|value| value.to_str().ok()?.rsplit(',').next()?.trim().parse().ok());
    let address = last.or(peer).unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED));
    match address.to_canonical() {
        // Whoever has one address of version 6 has 2^64.
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)))
        }
        address => address,
    }
}
