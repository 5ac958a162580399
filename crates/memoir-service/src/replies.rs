//! Idempotency keys: a request that is repeated with the same key is carried out once, and its answer is
//! given again as it was. What is kept of the answer is sealed.
//!
//! A key is entered before its request is carried out. Where a process dies in between, the outcome is not
//! known, and the repetition is told so instead of being carried out twice.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use axum::{
    body::{Body, Bytes, to_bytes},
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode},
    middleware::Next,
    response::{IntoResponse, Response},
};
use memoir_app::{KeptReply, ReplyKey};
use memoir_domain::Timestamp;
use sha2::{Digest, Sha256};

use crate::{Problem, Service, caller::Caller};

/// Most characters of a key.
const LONGEST_KEY: usize = 255;

/// Requests with a key that this process carries out now.
#[derive(Debug, Default)]
pub(crate) struct InFlight(Mutex<HashSet<[u8; 32]>>);

/// Takes a request out of those in flight when it is over, however it ends.
struct Flight<'a>(&'a InFlight, [u8; 32]);

impl InFlight {
    fn begin(&self, key: [u8; 32]) -> Option<Flight<'_>> {
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // One that is not to be would be dropped at once, and take the other's place away.
        keys.insert(key).then(|| Flight(self, key))
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        let mut keys = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        keys.remove(&self.1);
    }
}

/// Carries a request out, once for each key.
pub(crate) async fn once(
    service: &Service,
    caller: &Caller,
    (request, body): (Request, Bytes),
    next: Next,
) -> Result<Response, Problem> {
    let Some(key) = key_of(caller, &request, &body)? else {
        return Ok(next.run(request).await);
    };
    // Before the store is asked: within a process, a repetition that comes too early is told to
    // wait instead of being told that nobody knows.
    let Some(_flight) = service.in_flight.begin(key.key_digest) else {
        return Err(busy());
    };
    match service.memoir.begin_reply(&key).await? {
        // Entered by this very call: from here on, whatever becomes of the process, nobody carries it out
        // again.
        KeptReply::New(came_at) => {
            let response = next.run(request).await;
            Ok(keep(service, &key, came_at, response).await)
        }
        KeptReply::Answer { status, body } => again(status, &body),
        KeptReply::OtherRequest => Err(Problem::new(
            "idempotency_mismatch",
            "this key was used for another request; give each request a key of its own",
        )),
        KeptReply::Unknown => Err(unknown()),
    }
}

fn busy() -> Problem {
    Problem::new(
        "idempotency_in_progress",
        "a request with this key is being carried out; ask again for its answer",
    )
    .retry_after(1)
}

fn unknown() -> Problem {
    Problem::new(
        "idempotency_unknown",
        "a request with this key was begun and its answer is not known; look what came of it, then use another key",
    )
}

/// The request's key, which is of the token that it comes with; `None` where it has none.
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
    // The token is in the key: two clients that count from 1 do not meet, and nobody gets the
    // answer of another one.
    let token = caller.principal.token;
    let method = request.method().as_str().as_bytes();
    let uri = request.uri();
    let (path, query) = (uri.path().as_bytes(), uri.query().unwrap_or_default());
    Ok(Some(ReplyKey {
        account: caller.principal.account,
        agent: caller.principal.agent,
        key_digest: digest([token.as_bytes().as_slice(), key]),
        request_digest: digest([method, path, query.as_bytes(), body]),
    }))
}

/// That an answer holds no words of memories. It is kept, though its request took words away: what was answered
/// meanwhile is not, since it may hold these.
#[derive(Debug, Clone, Copy)]
struct Wordless;

/// Marks the answer of what takes words away, which itself holds none.
pub(crate) fn wordless(mut response: Response) -> Response {
    response.extensions_mut().insert(Wordless);
    response
}

/// Keeps the answer of what was carried out. Whoever is told to come later, or once there is room, can:
/// nothing was done. Of an error of the service's own nobody knows how far it came: a repetition is told so.
async fn keep(
    service: &Service,
    key: &ReplyKey,
    came_at: Timestamp,
    response: Response,
) -> Response {
    let (parts, body) = response.into_parts();
    let is_wordless = parts.extensions.get::<Wordless>().is_some();
    let came_at = (!is_wordless).then_some(came_at);
    // An answer is in memory whole by now; streams take no key.
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let answer = match parts.status {
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::INSUFFICIENT_STORAGE => Some(None),
        status if status.is_server_error() => None,
        status => Some(Some((status.as_u16(), written(&parts.headers, &bytes)))),
    };
    if let Some(answer) = answer
        && let Err(error) = service.memoir.end_reply(key, came_at, answer).await
    {
        // It was carried out all the same, and whoever asked is told.
        tracing::error!(%error, "an answer was not kept");
    }
    Response::from_parts(parts, Body::from(bytes))
}

/// An answer as it is kept: the length of its head, its head, its body.
fn written(headers: &HeaderMap, body: &[u8]) -> Vec<u8> {
    let head: Vec<(&str, &str)> = headers
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
        .collect();
    let head = serde_json::to_vec(&head).unwrap_or_default();
    let length = u32::try_from(head.len()).unwrap_or_default();
    [&length.to_be_bytes(), head.as_slice(), body].concat()
}

/// An answer that was kept, as it was.
fn again(status: u16, kept: &[u8]) -> Result<Response, Problem> {
    let (head, body) = read(kept).ok_or_else(unknown)?;
    let status = StatusCode::from_u16(status).map_err(|_| unknown())?;
    let mut response = (status, Bytes::copy_from_slice(body)).into_response();
    let headers = response.headers_mut();
    // axum sets headers for the bytes; the first reply had only those that were kept.
    headers.clear();
    for (name, value) in head {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(&value)) {
            headers.append(name, value);
        }
    }
    headers.insert("idempotency-replayed", HeaderValue::from_static("true"));
    Ok(response)
}

/// The headers of an answer, by name.
type HeaderList = Vec<(String, String)>;

fn read(kept: &[u8]) -> Option<(HeaderList, &[u8])> {
    let (length, rest) = kept.split_first_chunk()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (head, body) = rest.split_at_checked(length)?;
    Some((serde_json::from_slice(head).ok()?, body))
}

fn digest<const N: usize>(parts: [&[u8]; N]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        // Lengths before the parts, so that a letter that moves from the path into the query is
        // another request.
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}
