//! Idempotency keys: a request that is repeated with the same key is executed once, and gets the same response. The
//! stored response is sealed.
//!
//! A request's change is written together with its mark (`memoir-app/src/core/replies.rs`). A repetition gets the stored
//! response. Without one, it is executed, or, once its change is made, gets a rebuilt response (`routes/repeated.rs`).
//! Nothing is stored of a request that changed nothing. A response is not stored where it shows a secret, or can be
//! rebuilt.

use std::collections::HashSet;

use axum::{
    body::{Body, Bytes, to_bytes},
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode},
    middleware::Next,
    response::{IntoResponse, Response},
};
use memoir_app::{Error, KeptReply, Random, ReplyKey, RequestAttempt, clock::SystemRandom};
use parking_lot::Mutex;

use crate::{
    Problem, Service, caller::Caller, limits::digest, requests::ProblemCode,
    routes::repeated::RepeatedRequest,
};

/// Most characters of a key.
const LONGEST_KEY: usize = 255;
/// More than the spaces behind a stored head.
const SPACES: u16 = 1_024;

/// Requests with a key that this process executes now.
#[derive(Debug, Default)]
pub(crate) struct InFlight(Mutex<HashSet<[u8; 32]>>);

/// Removes a request from those in flight when it is over, however it ends.
struct Flight<'a>(&'a InFlight, [u8; 32]);

impl InFlight {
    fn begin(&self, key: [u8; 32]) -> Option<Flight<'_>> {
        let mut keys = self.0.lock();
        // An unwanted one would be dropped immediately, and remove the other's entry.
        keys.insert(key).then(|| Flight(self, key))
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        let mut keys = self.0.0.lock();
        keys.remove(&self.1);
    }
}

/// Carries a request out, once for each key.
pub(crate) async fn once(
    service: &Service,
    caller: &Caller,
    (mut request, body): (Request, Bytes),
    next: Next,
) -> Result<Response, Problem> {
    let Some(key) = key_of(caller, &request, &body)? else {
        return Ok(next.run(request).await);
    };
    // Before the store is asked: within a process, a repetition that comes too early is not executed beside the first.
    let Some(_flight) = service.in_flight.begin(key.key_digest) else {
        return Err(busy());
    };
    let repeated = RepeatedRequest::of(&mut request).await;
    let attempt = match service.memoir.begin_reply(&key).await? {
        KeptReply::New(attempt) => attempt,
        KeptReply::Done { attempt, .. } if repeated.is_harmless() => attempt,
        kept => return known(caller, &repeated, kept).await,
    };
    let response = attempt.execute(next.run(request)).await;
    match keep(service, &key, &attempt, response).await {
        Kept::First(response) => Ok(response),
        // Another attempt, on another node, made the change meanwhile: its response is the one of the request.
        Kept::Overtaken => match service.memoir.begin_reply(&key).await? {
            KeptReply::New(_) => Err(busy()),
            kept => known(caller, &repeated, kept).await,
        },
    }
}

/// The response to a request that was made before.
async fn known(
    caller: &Caller,
    repeated: &RepeatedRequest,
    kept: KeptReply,
) -> Result<Response, Problem> {
    match kept {
        KeptReply::Response { status, body } => again(status, &body),
        // On the heap: every request has room for this state otherwise.
        KeptReply::Done { done, .. } => {
            let rebuilt = Box::pin(repeated.response(caller, &done));
            Ok(replayed(rebuilt.await?))
        }
        KeptReply::OtherRequest => Err(Problem::new(
            "idempotency_mismatch",
            "this key was used for another request; give each request a key of its own",
        )),
        KeptReply::New(_) => Err(busy()),
    }
}

fn busy() -> Problem {
    Problem::new(
        "idempotency_in_progress",
        "a request with this key is being carried out; ask again for its answer",
    )
    .retry_after(1)
}

fn unreadable() -> Problem {
    Error::Inconsistent("table `replies`: a response cannot be read".to_owned()).into()
}

/// The request's key, within the token of the request; `None` without one.
fn key_of(caller: &Caller, request: &Request, body: &[u8]) -> Result<Option<ReplyKey>, Problem> {
    let Some(key) = request.headers().get("idempotency-key") else {
        return Ok(None);
    };
    let key = key.as_bytes();
    if key.is_empty() || key.len() > LONGEST_KEY {
        return Err(Problem::invalid(format!(
            "Idempotency-Key: has {} characters; give 1 to {LONGEST_KEY}",
            key.len()
        )));
    }
    // The token is in the key: two clients that count from 1 do not collide, and none gets the response of another.
    let token = caller.principal.token;
    let method = request.method().as_str().as_bytes();
    let uri = request.uri();
    let (path, query) = (uri.path().as_bytes(), uri.query().unwrap_or_default());
    Ok(Some(ReplyKey {
        account: caller.principal.account,
        agent: caller.principal.agent,
        key_digest: digest(&[token.as_bytes().as_slice(), key]),
        request_digest: digest(&[method, path, query.as_bytes(), body]),
    }))
}

/// Marks a response without text of memories. It is stored, though its request removed text: other responses in between
/// are not, since they may hold it.
#[derive(Debug, Clone, Copy)]
struct Wordless;

/// Marks the response to a removal of text, which itself holds none.
pub(crate) fn wordless(mut response: Response) -> Response {
    response.extensions_mut().insert(Wordless);
    response
}

/// Marks a response that is not stored: it shows a secret, which is shown once, or is rebuilt from the changed data,
/// since no quota counts the room that it would take.
#[derive(Debug, Clone, Copy)]
struct Unstored;

/// Marks the response to a change as one that is not stored.
pub(crate) fn unstored(mut response: Response) -> Response {
    response.extensions_mut().insert(Unstored);
    response
}

/// The outcome of storing a response.
enum Kept {
    /// It is the response of the request, whether it is stored or not.
    First(Response),
    /// Another attempt made the change.
    Overtaken,
}

/// Stores the response to an executed request that changed something. Failures of the service, lack of room, an
/// unreachable database and secrets are not stored: a repetition finds the change.
async fn keep(
    service: &Service,
    key: &ReplyKey,
    attempt: &RequestAttempt,
    response: Response,
) -> Kept {
    let code = response.extensions().get::<ProblemCode>();
    if code.is_some_and(|ProblemCode(code)| *code == "idempotency_in_progress") {
        return Kept::Overtaken;
    }
    let (memoir, status) = (&service.memoir, response.status());
    let is_failure = status.is_server_error();
    // A quota that is used up refuses like any other rule.
    let is_outcome = !is_failure || status == StatusCode::INSUFFICIENT_STORAGE;
    if is_outcome && !attempt.has_changed() {
        // No quota counts the rows, and a repetition that is executed harms nothing.
        match memoir.drop_reply(key, attempt).await {
            Ok(true) => {}
            // This refusal may follow from the change that the other one made.
            Ok(false) => return Kept::Overtaken,
            Err(error) => {
                tracing::warn!(%error, "the row of a request that changed nothing stays for now");
            }
        }
        return Kept::First(response);
    }
    if is_failure || response.extensions().get::<Unstored>().is_some() {
        return Kept::First(response);
    }
    let (parts, body) = response.into_parts();
    let is_wordless = parts.extensions.get::<Wordless>().is_some();
    // A response is in memory whole by now; streams take no key.
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let written = written(&parts.headers, &bytes);
    let response = (parts.status.as_u16(), written.as_slice());
    match memoir.end_reply(key, attempt, is_wordless, response).await {
        Ok(false) => return Kept::Overtaken,
        Ok(true) => {}
        // It was executed all the same, and its caller gets the response.
        Err(error) => tracing::error!(%error, "a response was not kept"),
    }
    Kept::First(Response::from_parts(parts, Body::from(bytes)))
}

/// A response in its stored form: the length of its head, its head, its body. The head ends in spaces of a random
/// number: the length of the sealed row would show whether the response names a memory of the same text (SPEC 5.3).
fn written(headers: &HeaderMap, body: &[u8]) -> Vec<u8> {
    let head: Vec<(&str, &str)> = headers
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
        .collect();
    let mut head = serde_json::to_vec(&head).unwrap_or_default();
    let mut random = [0; 2];
    // Without random bytes nothing is sealed either, and the response is not stored.
    let _ = SystemRandom.fill(&mut random);
    let spaces = u16::from_be_bytes(random) % SPACES;
    head.resize(head.len() + usize::from(spaces), b' ');
    let length = u32::try_from(head.len()).unwrap_or_default();
    [&length.to_be_bytes(), head.as_slice(), body].concat()
}

/// A stored response, unchanged.
fn again(status: u16, kept: &[u8]) -> Result<Response, Problem> {
    let (head, body) = read(kept).ok_or_else(unreadable)?;
    let status = StatusCode::from_u16(status).map_err(|_| unreadable())?;
    let mut response = (status, Bytes::copy_from_slice(body)).into_response();
    let headers = response.headers_mut();
    // axum sets headers for the bytes; the first response had only the stored ones.
    headers.clear();
    for (name, value) in head {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(&value)) {
            headers.append(name, value);
        }
    }
    Ok(replayed(response))
}

/// Marks the response to a request that was not executed again.
fn replayed(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert("idempotency-replayed", HeaderValue::from_static("true"));
    response
}

type HeaderList = Vec<(String, String)>;

fn read(kept: &[u8]) -> Option<(HeaderList, &[u8])> {
    let (length, rest) = kept.split_first_chunk()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (head, body) = rest.split_at_checked(length)?;
    Some((serde_json::from_slice(head).ok()?, body))
}
