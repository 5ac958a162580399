//! `/v1/sign-in`: an administrator's name and password, and a code where there is a second factor, for a token
//! that lasts some hours.
//!
//! The one request under `/v1` without a token. It counts attempts by address and name, has at most two
//! passwords checked at a time, answers an unknown name as a wrong password, and takes nothing from a page of
//! another site, whose attempts would keep others out of their own browser.

use std::{
    net::{IpAddr, Ipv6Addr},
    time::Duration,
};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use memoir_app::{
    DEFAULT_ACCOUNT, HalfSignedIn, PasswordProof, Proof, Proven, SignIn, TokenWithSecret,
};
use memoir_domain::{PrivateText, Timestamp};
use memoir_vault::password::Password;
use serde::{Deserialize, Serialize};
use tokio::sync::SemaphorePermit;
use utoipa::ToSchema;

use super::guard;
use crate::{
    Problem, Service,
    extract::{self, Object},
    limits,
    server::{Peer, is_sent_to_loopback},
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
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
}

/// Signs an administrator in: a token for twelve hours.
///
/// The only request of `/v1` that needs no token. Of an administrator with a second factor it takes a `code`
/// too, which `second_factor_needed` reports after a correct password; each code counts once. A minute has five failed attempts for each name and address,
/// and thirty for an address. Refused where the password would travel in the open.
#[utoipa::path(post, path = "/v1/sign-in", tag = "tokens", operation_id = "sign_in", security(()),
    request_body = Credentials,
    responses((status = 201, description = "The token", body = SignedIn)))]
pub(crate) async fn sign_in(State(service): State<Service>, request: Request) -> Response {
    let signed_in = attempt(&service, request).await;
    let mut response = signed_in.unwrap_or_else(IntoResponse::into_response);
    // No cache may keep the token.
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
    // Before the body is read and the attempt counted: the visitor's own attempts are not another
    // site's to use up.
    check_site(&parts.headers)?;
    guard::check_parameters(&parts)?;
    let time = service.options.request_time;
    let body = limits::body_within(MOST_BYTES, time, &parts.headers, body).await?;
    let Object(given): Object<Credentials> = extract::parse(&body)?;
    let expires_at = service.memoir.now().plus_seconds(HOURS * 3_600);
    let typed = Typed {
        account: given.account.as_deref(),
        name: &given.name,
        password: &given.password,
        secret: SignInSecret::Token(given.code.as_ref()),
        expires_at,
    };
    let made = match check(service, &parts.headers, peer, &typed).await? {
        Admitted::In(made) => made,
        Admitted::CodeNeeded(_) => return Err(code_needed()),
    };
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
    pub(crate) secret: SignInSecret<'a>,
    pub(crate) expires_at: Timestamp,
}

/// What somebody signs in for.
#[derive(Clone, Copy)]
pub(crate) enum SignInSecret<'a> {
    /// A token of REST, with the code where one was sent.
    Token(Option<&'a PrivateText>),
    /// The cookie of a browser, which asks for the code on a page of its own.
    Cookie,
}

/// What signing in came to where it was not refused.
pub(crate) enum Admitted {
    In(TokenWithSecret),
    /// The password is right, and the code is to come.
    CodeNeeded(PasswordProof),
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
) -> Result<Admitted, Problem> {
    let account = typed.account.unwrap_or(DEFAULT_ACCOUNT);
    let attempt = SignInAttempt::begin(service, headers, peer, (account, typed.name))?;
    let message = match typed.secret {
        SignInSecret::Token(Some(_)) => WRONG_SOMEWHERE,
        SignInSecret::Token(None) | SignInSecret::Cookie => NOBODY,
    };
    attempt.end(admission(service, typed).await?, message)
}

/// As [`check`], for whoever knew the password a moment ago and gives the code.
///
/// # Errors
/// There were too many attempts, or the code is wrong.
pub(crate) async fn check_code(
    service: &Service,
    headers: &HeaderMap,
    peer: Option<IpAddr>,
    half: &HalfSignedIn,
    code: &PrivateText,
    expires_at: Timestamp,
) -> Result<TokenWithSecret, Problem> {
    let who = (half.account_name(), half.name.as_str());
    let attempt = SignInAttempt::begin(service, headers, peer, who)?;
    let memoir = &service.memoir;
    let came_to = memoir.sign_in_with_code(half, code, expires_at).await?;
    match attempt.end(came_to, WRONG_CODE)? {
        Admitted::In(made) => Ok(made),
        // Not reached: a code was given.
        Admitted::CodeNeeded(_) => Err(attempt.refused(WRONG_CODE)),
    }
}

/// That somebody who is signed in gave the password just now, and the code where there is a second factor.
/// Counts the attempt together with those to sign in.
///
/// # Errors
/// There were too many attempts, others are being checked, or something is wrong.
pub(crate) async fn prove(
    service: &Service,
    headers: &HeaderMap,
    peer: Option<IpAddr>,
    visitor: &memoir_app::SignedInUser,
    (password, code): (&PrivateText, &PrivateText),
) -> Result<Proven, Problem> {
    let account = visitor.account_name().await?;
    let who = (account.as_str(), visitor.user.name.as_str());
    let attempt = SignInAttempt::begin(service, headers, peer, who)?;
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
    fn begin(
        service: &'a Service,
        headers: &HeaderMap,
        peer: Option<IpAddr>,
        who: (&'a str, &'a str),
    ) -> Result<Self, Problem> {
        let address = address(service, headers, peer);
        if service.attempts.admits(who, address) {
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

    /// Only who is in has given all that was needed: a right password alone is no reason to forget how often
    /// codes were guessed.
    fn end(&self, came_to: SignIn, message: &str) -> Result<Admitted, Problem> {
        match came_to {
            SignIn::In(made) => {
                self.forgive();
                tracing::info!(token = %made.view.id, "an administrator signed in");
                Ok(Admitted::In(made))
            }
            SignIn::CodeNeeded(passage) => Ok(Admitted::CodeNeeded(passage)),
            SignIn::Wait { seconds } => {
                let address = self.address;
                tracing::warn!(%address, "codes of one administrator were wrong too often");
                Err(too_many_codes(seconds))
            }
            SignIn::Refused => Err(self.refused(message)),
        }
    }

    /// It was right, and is not to be counted.
    fn forgive(&self) {
        self.service.attempts.forgive(self.who, self.address);
    }

    fn refused(&self, message: &str) -> Problem {
        tracing::warn!(address = %self.address, "a sign-in was refused");
        Problem::new("unauthorized", message)
    }
}

/// Waits for a turn to work on a password: each takes some tens of megabytes meanwhile.
///
/// # Errors
/// Too many others do.
pub(crate) async fn turn(service: &Service) -> Result<SemaphorePermit<'_>, Problem> {
    let turn = tokio::time::timeout(MOST_WAIT, service.hashing.acquire()).await;
    turn.map_err(|_| busy())?.map_err(|_| busy())
}

async fn admission(service: &Service, typed: &Typed<'_>) -> Result<SignIn, Problem> {
    // No password is so short or so long: it is none of anybody.
    // Refused at once, and faster than a wrong password: that tells how long passwords must be,
    // which is no secret.
    let Ok(password) = Password::from_text(typed.password.expose()) else {
        return Ok(SignIn::Refused);
    };
    let _turn = turn(service).await?;
    let memoir = &service.memoir;
    let (account, name, ends) = (typed.account, typed.name, typed.expires_at);
    Ok(match typed.secret {
        SignInSecret::Token(code) => memoir.sign_in(account, name, password, code, ends).await?,
        SignInSecret::Cookie => {
            let made = memoir.sign_in_with_browser(account, name, password, ends);
            made.await?
        }
    })
}

/// The same whatever was wrong.
const NOBODY: &str = "there is no administrator of that name and password";
/// The same whatever was wrong, where a code came along.
const WRONG_SOMEWHERE: &str =
    "there is no administrator of that name and password, or the code is wrong";
/// Of a code by itself, for whoever knew the password.
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
    .hint("a recovery code counts at once; if these attempts were not yours, another person knows the password: change it")
    .retry_after(seconds)
}

fn busy() -> Problem {
    Problem::new(
        "busy",
        "too many others sign in at once; nothing was changed",
    )
    .retry_after(5)
}

/// That no page of another site makes a browser try. It would not see the answer, but failed attempts by
/// dozens are enough to keep out whoever is to sign in from there. Programs say nothing of a site.
fn check_site(headers: &HeaderMap) -> Result<(), Problem> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let is_foreign = match text("sec-fetch-site") {
        // `none`: a person has typed the address, or opened it from a bookmark.
        Some(site) => !matches!(site, "same-origin" | "none"),
        // Older browsers, and those that come without TLS.
        None => text("origin").is_some_and(|origin| {
            let sent_by = origin.split_once("://").map(|(_, authority)| authority);
            sent_by.is_none() || sent_by != text("host")
        }),
    };
    if is_foreign {
        return Err(Problem::forbidden(
            "a page of another site must not sign anybody in",
        ));
    }
    Ok(())
}

/// Passwords travel over this machine only, or sealed. Behind a proxy its word is needed, also where it runs
/// on this machine: a request without it may have come to the proxy in the open.
pub(crate) fn check_transport(
    service: &Service,
    headers: &HeaderMap,
    peer: Option<IpAddr>,
) -> Result<(), Problem> {
    let protocols = headers.get_all("x-forwarded-proto");
    // A proxy that adds to what a client sent, instead of putting its own word there, leaves both.
    let is_sealed = protocols
        .iter()
        .all(|proto| proto.as_bytes().eq_ignore_ascii_case(b"https"));
    let is_given = protocols.iter().next().is_some();
    let is_safe = if service.options.behind_proxy {
        is_given && is_sealed
    } else {
        // A proxy that nobody declared may say that the password came to it in the open.
        let is_near = peer.is_some_and(|peer| peer.to_canonical().is_loopback());
        service.is_local && is_near && is_sealed
    };
    if is_safe && (service.options.behind_proxy || is_sent_to_loopback(headers)) {
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

/// Where the attempt comes from: what the proxy says last, since all before that is the client's word.
pub(crate) fn address(service: &Service, headers: &HeaderMap, peer: Option<IpAddr>) -> IpAddr {
    let forwarded = headers.get_all("x-forwarded-for").into_iter().next_back();
    let last = forwarded
        .filter(|_| service.options.behind_proxy)
        .and_then(|value| value.to_str().ok()?.rsplit(',').next()?.trim().parse().ok());
    // Attempts whose address is not known share one count.
    let address = last.or(peer).unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED));
    match address.to_canonical() {
        // Whoever has one address of version 6 has 2^64.
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)))
        }
        address => address,
    }
}
