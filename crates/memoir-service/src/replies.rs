//! Idempotency keys: a request that is repeated with the same key is carried out once, and its answer is
//! given again. What is kept of the answer is sealed.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use axum::{
    body::{Body, Bytes, to_bytes},
    extract::Request,
    http::{HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use memoir_app::{KeptReply, ReplyKey};
use sha2::{Digest, Sha256};

use crate::{Problem, Service, caller::Caller};

/// Most characters of a key.
const LONGEST_KEY: usize = 255;
/// Larger answers are not kept: a repetition is told so.
const MOST_BYTES: usize = 4 << 20;

/// Requests with a key that this process carries out now.
#[derive(Debug, Default)]
pub(crate) struct InFlight(Mutex<HashSet<[u8; 32]>>);

/// Takes a request out of those in flight when it is over, however it ends.
struct Flight<'a>(&'a InFlight, [u8; 32]);

impl InFlight {
    fn begin(&self, key: [u8; 32]) -> Option<Flight<'_>> {
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        keys.insert(key).then_some(Flight(self, key))
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
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let Some(key) = request.headers().get("idempotency-key") else {
        return Ok(next.run(request).await);
    };
    let key = key.as_bytes();
    if key.is_empty() || key.len() > LONGEST_KEY {
        return Err(Problem::invalid(format!(
            "Idempotency-Key: has {} characters; give 1 to {LONGEST_KEY}",
            key.len()
        )));
    }
    let key_digest = digest([caller.principal.token.as_bytes().as_slice(), key]);
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, service.options.body_bytes)
        .await
        .map_err(|_| {
            Problem::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "body_too_large",
                format!(
                    "the body is over the limit of {} bytes",
                    service.options.body_bytes
                ),
            )
        })?;
    let method = parts.method.as_str().as_bytes();
    let path = parts.uri.path().as_bytes();
    let request_digest = digest([method, path, &body]);
    let reply = ReplyKey {
        account: caller.principal.account,
        agent: caller.principal.agent,
        key_digest,
        request_digest,
    };
    let busy = || {
        Problem::new(
            StatusCode::CONFLICT,
            "idempotency_in_progress",
            "a request with this key is being carried out; ask again for its answer",
        )
        .retry_after(1)
    };
    let Some(_flight) = service.in_flight.begin(key_digest) else {
        return Err(busy());
    };
    match service.memoir.begin_reply(&reply).await? {
        None => {}
        Some(KeptReply::OtherRequest) => {
            return Err(Problem::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "idempotency_mismatch",
                "this key was used for another request; give each request a key of its own",
            ));
        }
        Some(KeptReply::Unknown) => {
            return Err(Problem::new(
                StatusCode::CONFLICT,
                "idempotency_unknown",
                "a request with this key was begun and its answer is not known; look what came of it, then use another key",
            ));
        }
        Some(KeptReply::Answer { status, body }) => return Ok(again(status, body)),
    }
    let request = Request::from_parts(parts, Body::from(body));
    let response = next.run(request).await;
    keep(service, &reply, response).await
}

/// Keeps the answer of what was carried out; a problem of the service's own is not one, and the request
/// can be made again.
async fn keep(service: &Service, key: &ReplyKey, response: Response) -> Result<Response, Problem> {
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let is_final = !parts.status.is_server_error() && bytes.len() <= MOST_BYTES;
    let answer = is_final.then(|| (parts.status.as_u16(), bytes.to_vec()));
    service.memoir.end_reply(key, answer).await?;
    Ok(Response::from_parts(parts, Body::from(bytes)))
}

fn again(status: u16, body: Vec<u8>) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let kind = if status.is_success() {
        "application/json"
    } else {
        "application/problem+json"
    };
    let mut response = (status, Bytes::from(body)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert("idempotency-replayed", HeaderValue::from_static("true"));
    response
}

fn digest<const N: usize>(parts: [&[u8]; N]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}
