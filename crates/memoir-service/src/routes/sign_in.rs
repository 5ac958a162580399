//! `/v1/sign-in`: an administrator's name and password, and a code where there is a second factor, for a token
//! that lasts some hours.
//!
//! The one request under `/v1` without a token. It counts attempts by address and name, checks at most two passwords at
//! a time, and responds to an unknown name as to a wrong password. It refuses pages of other sites, whose attempts
//! would lock users out of their own browser.

use std::{
    net::{IpAddr, Ipv6Addr, SocketAddr},
    time::{Duration, Instant},
};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use memoir_app::{
    DEFAULT_ACCOUNT, HalfSignedIn, Proof, SignIn, SignInSecret, TokenWithSecret, VerifiedUser,
};
use memoir_console::{Admission, TypedCredentials};
use memoir_domain::{PrivateText, Timestamp};
use memoir_vault::password::Password;
use serde::{Deserialize, Serialize};
use tokio::sync::SemaphorePermit;
use utoipa::ToSchema;

use super::guard;
use crate::{
    Problem, Service,
    extract::{self, Object},
    host::is_sent_to_loopback,
    limits,
    server::Peer,
};

/// How long the token lasts.
const HOURS: i64 = 12;
/// The largest body without a token.
const MOST_BYTES: usize = 16 << 10;
/// How long an attempt waits for its turn while others are checked.
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
    /// The code of the second factor, or one of the recovery codes; for administrators who have set one up.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = json!(null))]
    code: Option<PrivateText>,
}

/// A token of an administrator.
#[derive(Serialize, ToSchema)]
pub(crate) struct SignedIn {
    /// The secret.
    token: String,
    /// The end of its validity.
    expires_at: Option<Timestamp>,
}

/// Signs an administrator in: a token for twelve hours.
///
/// The only request of `/v1` that needs no token. Of an administrator with a second factor it takes a `code`
/// too, which `second_factor_needed` reports after a correct password; each code counts once. A minute has five failed attempts for each name and address,
/// two once the name has sixty from all addresses, and thirty for an address. Refused where the password would travel in the open.
#[utoipa::path(post, path = "/v1/sign-in", tag = "tokens", operation_id = "sign_in", security(()),
    request_body = Credentials,
    responses((status = 201, description = "The token", body = SignedIn)))]
pub(crate) async fn sign_in(State(service): State<Service>, request: Request) -> Response {
    let signed_in = attempt(&service, request).await;
    // No cache may keep the token.
    ([(header::CACHE_CONTROL, "no-store")], signed_in).into_response()
}

async fn attempt(service: &Service, request: Request) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    check_transport(service, &parts)?;
    // Before the body is read and the attempt counted: another site must not use up the visitor's own attempts.
    check_site(&parts.headers)?;
    guard::check_parameters(&parts)?;
    let time = service.options.request_time;
    let body = limits::body_within(MOST_BYTES, time, &parts.headers, body).await?;
    let Object(given): Object<Credentials> = extract::parse(&body)?;
    let typed = TypedCredentials {
        account: given.account.unwrap_or_default(),
        name: given.name,
        password: given.password,
    };
    let secret = SignInSecret::Token(given.code.as_ref());
    let made = match check(service, &parts, &typed, secret, HOURS * 3_600).await? {
        Admission::In(made) => made,
        Admission::CodeNeeded(_) => return Err(code_needed()),
    };
    let body = SignedIn {
        token: made.secret.expose().to_owned(),
        expires_at: made.view.expires_at,
    };
    Ok((StatusCode::CREATED, axum::Json(body)).into_response())
}

/// Signs in the user with the right password, for so many seconds, and counts the attempt, for all interfaces.
///
/// # Errors
/// There were too many attempts, others are being checked, or no user has that name and password.
pub(crate) async fn check(
    service: &Service,
    head: &Parts,
    typed: &TypedCredentials,
    secret: SignInSecret<'_>,
    seconds: i64,
) -> Result<Admission, Problem> {
    let account = account_of(typed);
    let attempt = SignInAttempt::begin(service, head, (account, &typed.name))?;
    let message = match secret {
        SignInSecret::Token(Some(_)) => WRONG_SOMEWHERE,
        SignInSecret::Token(None) | SignInSecret::Cookie => NO_SUCH_ADMINISTRATOR,
    };
    attempt.end(admission(service, typed, secret, seconds).await?, message)
}

/// The account of a sign-in: the default one where none was typed.
pub(crate) fn account_of(typed: &TypedCredentials) -> &str {
    match typed.account.as_str() {
        "" => DEFAULT_ACCOUNT,
        account => account,
    }
}

/// As [`check`], for a user who gave the password before, with the code.
///
/// # Errors
/// There were too many attempts, or the code is wrong.
pub(crate) async fn check_code(
    service: &Service,
    head: &Parts,
    half: &HalfSignedIn,
    code: &PrivateText,
    expires_at: Timestamp,
) -> Result<TokenWithSecret, Problem> {
    let who = (half.account_name(), half.name.as_str());
    let attempt = SignInAttempt::begin(service, head, who)?;
    let memoir = &service.memoir;
    let came_to = memoir.sign_in_with_code(half, code, expires_at).await?;
    match attempt.end(came_to, WRONG_CODE)? {
        Admission::In(made) => Ok(made),
        // Not reached: a code was given.
        Admission::CodeNeeded(_) => Err(attempt.refused(WRONG_CODE)),
    }
}

/// Checks the password of a signed-in user, and the code where there is a second factor. Counts the attempt together
/// with sign-ins.
///
/// # Errors
/// There were too many attempts, others are being checked, or the proof is wrong.
pub(crate) async fn prove(
    service: &Service,
    head: &Parts,
    visitor: &memoir_app::SignedInUser,
    (password, code): (&PrivateText, &PrivateText),
) -> Result<VerifiedUser, Problem> {
    let account = visitor.account_name().await?;
    let who = (account.as_str(), visitor.user.name.as_str());
    let attempt = SignInAttempt::begin(service, head, who)?;
    let proof = match Password::from_text(password.expose()) {
        Ok(password) => {
            let _turn = turn(service).await?;
            visitor.prove(password, code).await?
        }
        Err(_) => Proof::Wrong,
    };
    match proof {
        Proof::Right(proven) => {
            attempt.forgive();
            Ok(*proven)
        }
        Proof::Wait { seconds } => Err(too_many_codes(seconds)),
        Proof::Wrong => Err(attempt.refused("the password or the code is wrong")),
    }
}

/// One attempt to sign in, which is counted.
pub(crate) struct SignInAttempt<'a> {
    service: &'a Service,
    who: (&'a str, &'a str),
    address: IpAddr,
}

impl<'a> SignInAttempt<'a> {
    fn begin(service: &'a Service, head: &Parts, who: (&'a str, &'a str)) -> Result<Self, Problem> {
        let address = address(service, head);
        if service.attempts.admits(who, address, Instant::now()) {
            return Ok(Self {
                service,
                who,
                address,
            });
        }
        tracing::debug!(%address, "sign-ins of one name or address come too often");
        Err(Problem::new(
            "rate_limited",
            "there were too many attempts to sign in; wait a minute",
        )
        .retry_after(60))
    }

    /// Only a complete sign-in resets the count: a right password alone must not hide how often codes were guessed.
    fn end(&self, came_to: SignIn, message: &str) -> Result<Admission, Problem> {
        match came_to {
            SignIn::In(made) => {
                self.forgive();
                tracing::info!(token = %made.view.id, "an administrator signed in");
                Ok(Admission::In(made))
            }
            SignIn::CodeNeeded(passage) => Ok(Admission::CodeNeeded(passage)),
            SignIn::Wait { seconds } => {
                let address = self.address;
                tracing::warn!(%address, "codes of one administrator were wrong too often");
                Err(too_many_codes(seconds))
            }
            SignIn::Refused => Err(self.refused(message)),
        }
    }

    /// It succeeded, and is removed from the count.
    fn forgive(&self) {
        self.service.attempts.forgive(self.who, self.address);
    }

    fn refused(&self, message: &str) -> Problem {
        tracing::warn!(address = %self.address, "a sign-in was refused");
        Problem::new("unauthorized", message)
    }
}

/// Waits for a turn to check a password: each check takes some tens of megabytes.
pub(crate) async fn turn(service: &Service) -> Result<SemaphorePermit<'_>, Problem> {
    let turn = tokio::time::timeout(MOST_WAIT, service.hashing.acquire()).await;
    turn.map_err(|_| busy())?.map_err(|_| busy())
}

async fn admission(
    service: &Service,
    typed: &TypedCredentials,
    secret: SignInSecret<'_>,
    seconds: i64,
) -> Result<SignIn, Problem> {
    // No password has such a length. The quick refusal reveals only the allowed lengths, which are no secret.
    let Ok(password) = Password::from_text(typed.password.expose()) else {
        return Ok(SignIn::Refused);
    };
    let _turn = turn(service).await?;
    let memoir = &service.memoir;
    let (account, name) = (Some(account_of(typed)), typed.name.as_str());
    let ends = memoir.now().plus_seconds(seconds);
    let made = memoir.sign_in(account, name, password, secret, ends);
    Ok(made.await?)
}

/// The same for a wrong name and a wrong password.
const NO_SUCH_ADMINISTRATOR: &str = "there is no administrator of that name and password";
/// The same for any wrong part, where a code was sent.
const WRONG_SOMEWHERE: &str =
    "there is no administrator of that name and password, or the code is wrong";
/// For a wrong code alone, after the right password.
const WRONG_CODE: &str =
    "the code is wrong, is over, or was used before; wait for the next one, or use a recovery code";

fn code_needed() -> Problem {
    Problem::new(
        "second_factor_needed",
        "the password is right, and this administrator has a second factor: a code is needed too",
    )
    .hint("send the code that the device shows, or a recovery code, as `code`")
}

fn too_many_codes(seconds: u32) -> Problem {
    let minutes = seconds.div_ceil(60);
    Problem::new(
        "rate_limited",
        format!("too many codes were wrong; the next one counts in {minutes} min"),
    )
    .hint("a recovery code counts immediately; if these attempts were not yours, another person knows the password: change it")
    .retry_after(seconds)
}

fn busy() -> Problem {
    Problem::new(
        "busy",
        "too many others are signing in; nothing was changed",
    )
    .retry_after(5)
}

/// Checks that no page of another site makes a browser sign in. It cannot read the response, but some dozens of failed
/// attempts lock out users there. Programs send no site.
fn check_site(headers: &HeaderMap) -> Result<(), Problem> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let is_foreign = match text("sec-fetch-site") {
        // `none`: the user typed the address, or opened it from a bookmark.
        Some(site) => !matches!(site, "same-origin" | "none"),
        // Older browsers, and those without TLS.
        None => text("origin").is_some_and(|origin| {
            let sent_by = origin.split_once("://").map(|(_, authority)| authority);
            sent_by.is_none() || sent_by != text("host")
        }),
    };
    if is_foreign {
        return Err(Problem::forbidden(
            "a page of another site must not sign a user in",
        ));
    }
    Ok(())
}

/// Passwords travel over this machine only, or encrypted. A proxy must confirm that, also on this machine: a request
/// without its header may have come to the proxy unencrypted.
pub(crate) fn check_transport(service: &Service, head: &Parts) -> Result<(), Problem> {
    let protocols = head.headers.get_all("x-forwarded-proto");
    // A proxy that appends to the client's header, instead of replacing it, leaves both values.
    let is_sealed = protocols
        .iter()
        .all(|proto| proto.as_bytes().eq_ignore_ascii_case(b"https"));
    let is_given = protocols.iter().next().is_some();
    let is_safe = if service.options.behind_proxy {
        is_given && is_sealed
    } else {
        // An undeclared proxy may report that the password came to it unencrypted.
        let is_near = Peer::of(head).is_some_and(|peer| peer.to_canonical().is_loopback());
        service.is_local && is_near && is_sealed
    };
    if is_safe && (service.options.behind_proxy || is_sent_to_loopback(&head.headers)) {
        return Ok(());
    }
    if is_safe {
        return Err(Problem::forbidden(
            "passwords are not taken under a name that another site can let point to this machine",
        )
        .hint("go to 127.0.0.1 or localhost, at the same port"));
    }
    let hint = if service.options.behind_proxy {
        "use HTTPS; the proxy says so with `X-Forwarded-Proto: https`"
    } else {
        "put a proxy with TLS in front of the service and start it with `--behind-proxy`, or let it listen on 127.0.0.1"
    };
    Err(Problem::new("insecure_transport", "a password would travel in the open").hint(hint))
}

/// An address as proxies write it: alone, with a port, or in brackets or quotation marks.
fn forwarded_address(text: &str) -> Option<IpAddr> {
    let text = text.trim().trim_matches('"');
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    let with_port = || text.parse().ok().map(|found: SocketAddr| found.ip());
    bare.parse().ok().or_else(with_port)
}

/// The address of the attempt: the last one of the proxy, since the client controls all before that.
pub(crate) fn address(service: &Service, head: &Parts) -> IpAddr {
    let forwarded = head.headers.get_all("x-forwarded-for");
    let forwarded = forwarded.into_iter().next_back();
    let last = forwarded
        .filter(|_| service.options.behind_proxy)
        .and_then(|value| forwarded_address(value.to_str().ok()?.rsplit(',').next()?));
    // Attempts without an address share one count.
    let address = last.or(Peer::of(head));
    let address = address.unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED));
    match address.to_canonical() {
        // A client with one address of version 6 has 2^64.
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)))
        }
        address => address,
    }
}
