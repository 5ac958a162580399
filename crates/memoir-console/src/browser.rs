//! Browser sign-ins: the cookie of a browser in which an administrator signed in, and the check that a form was filled
//! in on a page of this console.
//!
//! A sign-in adds a row among the tokens that names the user. Its secret is in the cookie and is no token
//! (`token::browser_digest_of`), so that revoking, sealing and last use work as for tokens. It ends after twelve hours,
//! or after two without a request. A form is accepted if the browser reports this host as its origin and it holds the
//! form token of this browser's pages.
//!
//! The owner of an open installation has a cookie of the personal page's link instead (`OwnerLink`), and passes the
//! same checks of forms.

use std::{ops::Deref, sync::Arc};

use axum::{
    body::Body,
    extract::{FromRequestParts, RawPathParams, Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use maud::html;
use memoir_app::{
    AgentHandle, HalfSignedIn, OwnAgent, OwnerEntry, OwnerLink, OwnerSession, SignedInUser,
    TokenWithSecret,
};
use memoir_domain::TokenId;
use subtle::ConstantTimeEq;

use crate::{
    Console,
    answer::{PageFailure, PageResult, page, page_of, see_other},
    form::{self, SentForm},
    pages,
};

/// The duration of a sign-in without requests, in seconds.
const IDLE_SECONDS: i64 = 2 * 3_600;

/// The cookie over TLS, and the one on this machine, without TLS.
// Browsers accept a cookie with this prefix only together with `Secure`, over TLS, and from exactly this host.
const COOKIE: [&str; 2] = ["__Host-memoir", "memoir"];
/// The cookies of a browser between password and code, in the same two cases.
const PASSAGE: [&str; 2] = ["__Host-memoir-code", "memoir-code"];
/// How long it is kept and valid, in seconds.
// The application accepts it for this long (`PASSAGE_SECONDS` in `memoir-app/src/people/sign_in.rs`).
const PASSAGE_SECONDS: i64 = 5 * 60;

/// The signed-in administrator. Clones share it.
#[derive(Clone)]
pub(crate) struct Visitor(pub(crate) Arc<SignedInUser>);

/// The owner of an open installation. Clones share it.
#[derive(Clone)]
pub(crate) struct Owner(Arc<OwnerSession>);

/// The agent that the path of a page names to the signed-in administrator.
pub(crate) struct AgentInPath(AgentHandle);

/// The agent that the path of a page names to the owner.
pub(crate) struct OwnAgentInPath(OwnAgent);

/// What a handler of an admitted request takes, and how it is found.
macro_rules! extracted {
    ($($taken:ty => $target:ty, |$parts:ident| $found:expr;)+) => {$(
        impl<S: Sync> FromRequestParts<S> for $taken {
            type Rejection = PageFailure;

            async fn from_request_parts($parts: &mut Parts, _: &S) -> Result<Self, PageFailure> {
                $found
            }
        }

        impl Deref for $taken {
            type Target = $target;

            fn deref(&self) -> &$target {
                &self.0
            }
        }
    )+};
}

extracted! {
    Visitor => SignedInUser, |parts| attached(parts);
    Owner => OwnerSession, |parts| attached(parts);
    AgentInPath => AgentHandle, |parts| {
        let visitor: Visitor = attached(parts)?;
        Ok(Self(visitor.account.agent(&agent_name(parts).await?).await?))
    };
    OwnAgentInPath => OwnAgent, |parts| {
        let owner: Owner = attached(parts)?;
        Ok(Self(owner.agent(&agent_name(parts).await?).await?))
    };
}

/// What [`admit`] or [`admit_owner`] attached to a request.
pub(crate) fn attached<T: Clone + Send + Sync + 'static>(parts: &Parts) -> Result<T, PageFailure> {
    // Always found: these layers are around every page that takes one.
    parts.extensions.get().cloned().ok_or_else(failed)
}

async fn agent_name(parts: &mut Parts) -> Result<String, PageFailure> {
    let path = RawPathParams::from_request_parts(parts, &()).await;
    let path = path.map_err(|_| PageFailure::invalid("The address cannot be read."))?;
    let agent = path.iter().find(|(name, _)| *name == "agent");
    agent.map(|(_, agent)| agent.to_owned()).ok_or_else(failed)
}

fn failed() -> PageFailure {
    PageFailure::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "The service could not carry this out.",
    )
}

/// Admits signed-in users, and forms that were filled in on a page of this browser.
pub(crate) async fn admit(
    State(console): State<Console>,
    request: Request,
    next: Next,
) -> Response {
    let found = visitor(&console, request.headers()).await;
    check_visitor(&console, found, request, next).await
}

/// As [`admit`], for the repeated requests of an open page's script: they do not prolong the sign-in.
pub(crate) async fn admit_script(
    State(console): State<Console>,
    request: Request,
    next: Next,
) -> Response {
    let found = recognized(&console, request.headers()).await;
    check_visitor(&console, found, request, next).await
}

async fn check_visitor(
    console: &Console,
    found: Result<Option<SignedInUser>, PageFailure>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let passed = match found {
        Ok(Some(visitor)) => {
            let visitor = Visitor(Arc::new(visitor));
            parts.extensions.insert(visitor.clone());
            let (token, form_token) = (visitor.token, &visitor.form_token);
            let taken = take_form(console, token, form_token, &mut parts, body).await;
            match taken {
                // The user may have been signed out while a slow form came.
                Ok(()) if !parts.method.is_safe() => {
                    let found = recognized(console, &parts.headers).await;
                    found.map(|found| found.is_some())
                }
                taken => taken.map(|()| true),
            }
        }
        Ok(None) => Ok(false),
        Err(failure) => Err(failure),
    };
    // The visitor is set before any check, so that a refusal gets the visitor's frame too.
    let visitor = parts.extensions.get::<Visitor>().cloned();
    let answer = match passed {
        // `take_form` has read the body and put the form into the request's extensions.
        Ok(true) => next.run(Request::from_parts(parts, Body::empty())).await,
        Ok(false) if comes_from_elsewhere(&parts) => once_more(&parts),
        Ok(false) => see_other(&sign_in_path(&parts)),
        Err(failure) => failure.into_response(),
    };
    framed(answer, visitor, &path)
}

/// Admits the owner of an open installation, by the cookie of the link and nothing else (SPEC 6.6), and forms that were
/// filled in on a page of this browser.
pub(crate) async fn admit_owner(
    State(console): State<Console>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let owner = match owner(&console, &parts).await {
        Ok(owner) => owner,
        Err(refusal) => return *refusal,
    };
    parts.extensions.insert(owner.clone());
    let passed = take_form(&console, owner.token, &owner.form_token, &mut parts, body).await;
    let path = parts.uri.path().to_owned();
    let mut answer = match passed {
        Ok(()) => next.run(Request::from_parts(parts, Body::empty())).await,
        Err(failure) => failure.into_response(),
    };
    match answer.extensions_mut().remove::<PageFailure>() {
        Some(failure) => failure.framed_for_owner(&path),
        None => answer,
    }
}

/// The owner who makes the request with this head; else the page that says why it shows nothing.
async fn owner(console: &Console, head: &Parts) -> Result<Owner, Box<Response>> {
    let refused = |markup| Box::new(page_of(StatusCode::FORBIDDEN, page(markup)));
    // Without this check a page of another site could read this one, under a name that leads to this machine.
    if console.check_transport(head).is_err() {
        return Err(refused(pages::own::elsewhere()));
    }
    let Some(link) = console.owner_link() else {
        return Err(refused(pages::own::without_link()));
    };
    let name = link.cookie_name();
    let presented = cookie(&head.headers, &name);
    match link.enter(console.memoir(), presented).await {
        Ok(OwnerEntry::In(owner)) => Ok(Owner(owner)),
        Ok(OwnerEntry::WithoutLink) => Err(refused(pages::own::without_link())),
        Ok(OwnerEntry::Closed) => Err(refused(pages::own::closed())),
        Err(error) => Err(Box::new(PageFailure::from(error).framed_for_owner("/"))),
    }
}

/// Gives the browser that opened the link its cookie.
pub(crate) fn set_owner_cookie(
    console: &Console,
    link: &OwnerLink,
) -> Result<HeaderValue, PageFailure> {
    // Without `Max-Age` the browser deletes the cookie when it closes.
    cookie_of(console, &link.cookie_name(), Some(link.cookie()), "")
}

/// Whether a page of another site led here to connect a program. Browsers then send no cookie, also of a signed-in
/// user.
fn comes_from_elsewhere(parts: &Parts) -> bool {
    let site = parts.headers.get("sec-fetch-site");
    let is_foreign = site.is_some_and(|site| site == "cross-site" || site == "same-site");
    // Only `GET` is repeated: a form that another site sent must not be carried out through a page of this host.
    parts.method == Method::GET && parts.uri.path() == pages::connect::PATH && is_foreign
}

/// Repeats the same request from a page of this host.
fn once_more(parts: &Parts) -> Response {
    // The path as received, which names no host, so that the browser stays on this host.
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    go_on("Connect a program", path)
}

/// A page of this host that leads to another one by itself.
pub(crate) fn go_on(title: &str, path: &str) -> Response {
    let markup = html! {
        h1 { (title) }
        p { a href=(path) { "Go on" } }
    };
    let shown = page(crate::parts::bare(title, markup));
    // A page with `Refresh` counts as a page of this host. After a redirect the browser would still count the request
    // as coming from the other site, and send no cookie.
    pages::access_request::refreshing(shown, Some(0), path)
}

/// Puts a failure into the frame of the signed-in user; returns every other response unchanged.
fn framed(mut answer: Response, visitor: Option<Visitor>, path: &str) -> Response {
    let failure = answer.extensions_mut().remove::<PageFailure>();
    match failure.zip(visitor) {
        Some((failure, visitor)) => failure.framed(&visitor, path),
        None => answer,
    }
}

/// Counts a request of an admitted browser, and adds its form to the request.
async fn take_form(
    console: &Console,
    token: TokenId,
    form_token: &str,
    parts: &mut Parts,
    body: Body,
) -> Result<(), PageFailure> {
    // By token, and after it was found: requests without one are counted at sign-in.
    if !console.admits(token) {
        return Err(PageFailure::new(
            StatusCode::TOO_MANY_REQUESTS,
            "This browser makes too many requests; wait a second.",
        ));
    }
    let mut filled_in = SentForm::default();
    // `GET` and `HEAD` change nothing, so a link on any page may lead to them.
    if !parts.method.is_safe() {
        check_origin(&parts.headers)?;
        filled_in = SentForm::read(body, form::MOST_BYTES).await?;
        // Besides the origin: it shows that the present user filled in the form, not a previous one.
        let given = filled_in.field(form::TOKEN).as_bytes();
        // The comparison takes constant time, so that response times do not reveal how much of a guess is right.
        if !bool::from(given.ct_eq(form_token.as_bytes())) {
            return Err(foreign());
        }
    }
    parts.extensions.insert(filled_in);
    Ok(())
}

/// As [`visitor`], without counting as a use.
async fn recognized(
    console: &Console,
    headers: &HeaderMap,
) -> Result<Option<SignedInUser>, PageFailure> {
    let Some(secret) = cookie(headers, cookie_name(console, COOKIE)) else {
        return Ok(None);
    };
    let memoir = console.memoir();
    Ok(memoir.recognize_browser(secret, IDLE_SECONDS).await?)
}

/// The user of the cookie.
pub(crate) async fn visitor(
    console: &Console,
    headers: &HeaderMap,
) -> Result<Option<SignedInUser>, PageFailure> {
    match cookie(headers, cookie_name(console, COOKIE)) {
        Some(secret) => visitor_by(console, secret).await,
        None => Ok(None),
    }
}

/// The user of the secret.
pub(crate) async fn visitor_by(
    console: &Console,
    secret: &str,
) -> Result<Option<SignedInUser>, PageFailure> {
    let memoir = console.memoir();
    Ok(memoir.enter_with_browser(secret, IDLE_SECONDS).await?)
}

/// The path to sign in, and to return from.
fn sign_in_path(parts: &Parts) -> String {
    // A form is lost, and a read must not carry out what it was for.
    if !parts.method.is_safe() {
        return "/sign-in?done=start-over".to_owned();
    }
    let wanted = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    // Without `next`, signing in leads to `/`.
    let wanted = if wanted == "/" { "" } else { wanted };
    form::address("/sign-in", &[("next", wanted)])
}

/// A path of this console; the fleet for everything else.
pub(crate) fn own_path(wanted: &str) -> &str {
    let is_own = wanted.starts_with('/')
        // Two slashes, or a backslash that browsers read as one, begin the name of another host.
        && !wanted.starts_with("//")
        // Browsers remove tabs and line breaks from an address: `/`, a tab and `/` would become two slashes.
        && wanted
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_own { wanted } else { "/" }
}

/// Checks that a page of this host sent a form. Browsers report the origin, and pages cannot change it.
///
/// # Errors
/// It came from another site, or its origin is unknown.
pub(crate) fn check_origin(headers: &HeaderMap) -> Result<(), PageFailure> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let is_own = match text("sec-fetch-site") {
        // `same-site` is not enough: another host of the domain may have another owner. `none`, for typed addresses,
        // sends no forms.
        Some(site) => site == "same-origin",
        // Older browsers, and those without TLS.
        None => {
            // By the host alone: behind a proxy that ends TLS, the scheme seen here is not the browser's.
            let origin = text("origin").and_then(|origin| Some(origin.split_once("://")?.1));
            // Without this check a request that has neither header would pass, since two missing values are equal.
            origin.is_some() && origin == text("host")
        }
    };
    if is_own { Ok(()) } else { Err(foreign()) }
}

/// Checks that no page of another site made the request. Browsers that do not report the origin send no cookie with
/// requests of other sites.
///
/// # Errors
/// It comes from another site.
pub(crate) fn check_site(headers: &HeaderMap) -> Result<(), PageFailure> {
    match headers.get("sec-fetch-site") {
        Some(site) if site != "same-origin" => Err(PageFailure::new(
            StatusCode::FORBIDDEN,
            "Only a page of this console may ask for that.",
        )),
        _ => Ok(()),
    }
}

fn foreign() -> PageFailure {
    PageFailure::new(
        StatusCode::FORBIDDEN,
        "This form was not filled in on a page of this console, or another user signed in since. \
         Nothing was changed; load the page again.",
    )
}

fn cookie_name(console: &Console, [sealed, open]: [&'static str; 2]) -> &'static str {
    if console.is_sealed() { sealed } else { open }
}

/// The value of a cookie that the browser sends.
fn cookie<'head>(headers: &'head HeaderMap, name: &str) -> Option<&'head str> {
    let sent = headers.get_all(header::COOKIE).into_iter();
    // A header that is not visible ASCII holds no cookie that this console has set.
    let pairs = sent.filter_map(|value| value.to_str().ok());
    let mut pairs = pairs.flat_map(|pairs| pairs.split(';'));
    pairs.find_map(|pair| {
        let (known, value) = pair.trim().split_once('=')?;
        (known == name).then_some(value)
    })
}

/// The user who gave the password just before, by the cookie for that.
pub(crate) async fn half_signed_in(
    console: &Console,
    headers: &HeaderMap,
) -> Result<Option<HalfSignedIn>, PageFailure> {
    let Some(presented) = cookie(headers, cookie_name(console, PASSAGE)) else {
        return Ok(None);
    };
    Ok(console.memoir().half_signed_in(presented).await?)
}

/// Signs the browser in, and redirects it.
pub(crate) fn enter(console: &Console, made: &TokenWithSecret, path: &str) -> PageResult {
    let cookie = set_cookie(console, Some(made.secret.expose()))?;
    Ok(([(header::SET_COOKIE, cookie)], see_other(path)).into_response())
}

/// Sets the cookie; with `None` the browser deletes it.
pub(crate) fn set_cookie(
    console: &Console,
    secret: Option<&str>,
) -> Result<HeaderValue, PageFailure> {
    // Without `Max-Age` the browser deletes the cookie when it closes; the store has the duration of the sign-in.
    let over = if secret.is_none() { "; Max-Age=0" } else { "" };
    cookie_of(console, cookie_name(console, COOKIE), secret, over)
}

/// As [`set_cookie`], for the proof that a browser keeps until the code is given.
pub(crate) fn set_passage(
    console: &Console,
    passage: Option<&str>,
) -> Result<HeaderValue, PageFailure> {
    let seconds = passage.map_or(0, |_| PASSAGE_SECONDS);
    let age = format!("; Max-Age={seconds}");
    cookie_of(console, cookie_name(console, PASSAGE), passage, &age)
}

fn cookie_of(
    console: &Console,
    name: &str,
    value: Option<&str>,
    age: &str,
) -> Result<HeaderValue, PageFailure> {
    let secure = if console.is_sealed() { "; Secure" } else { "" };
    let value = value.unwrap_or_default();
    // `HttpOnly`, so that no injected script can read it; `Strict`, so that no link of another site sends it.
    // The prefix `__Host-` demands `Path=/` and no `Domain`.
    let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{age}");
    // This cannot fail: secrets are base64, which is valid in every header.
    let mut value = HeaderValue::try_from(text).map_err(|_| failed())?;
    // Keeps it out of the output of HTTP libraries.
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_by_its_whole_name() {
        let mut headers = HeaderMap::new();
        let sent = HeaderValue::from_static("xmemoir=1; memoir=2; memoir2=3");
        headers.insert(header::COOKIE, sent);
        assert_eq!(cookie(&headers, "memoir"), Some("2"));
        assert_eq!(cookie(&headers, "other"), None);
    }
}
