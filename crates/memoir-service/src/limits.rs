//! How many requests a second a token may make, and how large and how slow a body may be.

use std::{
    collections::HashMap,
    future::poll_fn,
    pin::Pin,
    sync::{Mutex, PoisonError},
    time::Instant,
};

use axum::{
    body::{Body, Bytes, HttpBody},
    http::{HeaderMap, StatusCode, header},
};
use memoir_domain::TokenId;

use crate::{Options, Problem};

/// Of a body that is too large so many times the limit are read and thrown away: a client that is still
/// sending would not see the answer otherwise.
const DRAINED_TIMES: usize = 4;

/// A request's body.
///
/// # Errors
/// It is too large, it comes too slowly, or it breaks off.
pub(crate) async fn whole_body(
    options: &Options,
    headers: &HeaderMap,
    mut body: Body,
) -> Result<Bytes, Problem> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let limit = options.body_bytes;
    let stated = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    let is_over = stated.is_some_and(|length| length > limit);
    let read = async {
        if !is_over && let Some(bytes) = read(&mut body, limit).await? {
            return Ok(bytes);
        }
        drain(&mut body, limit.saturating_mul(DRAINED_TIMES)).await;
        Err(too_large(limit))
    };
    match tokio::time::timeout(options.request_time, read).await {
        Ok(read) => read,
        Err(_) if is_over => Err(too_large(limit)),
        Err(_) => Err(Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "timeout",
            format!(
                "the body did not come within {} seconds",
                options.request_time.as_secs()
            ),
        )),
    }
}

/// All of it; `None` where it is over the limit.
async fn read(body: &mut Body, limit: usize) -> Result<Option<Bytes>, Problem> {
    let mut bytes = Vec::new();
    while let Some(piece) = next(body).await? {
        if bytes.len() + piece.len() > limit {
            return Ok(None);
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(Some(bytes.into()))
}

async fn drain(body: &mut Body, most: usize) {
    let mut drained = 0;
    while drained < most
        && let Ok(Some(piece)) = next(body).await
    {
        drained += piece.len();
    }
}

/// The next piece; `None` at the end.
async fn next(body: &mut Body) -> Result<Option<Bytes>, Problem> {
    match poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await {
        None => Ok(None),
        Some(Ok(frame)) => Ok(Some(frame.into_data().unwrap_or_default())),
        Some(Err(_)) => Err(Problem::invalid("the body could not be read to its end")),
    }
}

fn too_large(limit: usize) -> Problem {
    Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "body_too_large",
        format!("the body is over the limit of {limit} bytes; send it in parts"),
    )
}

/// Tokens that are remembered; past this, full buckets are forgotten.
const REMEMBERED: usize = 10_000;

/// A bucket for each token, which fills at the permitted rate up to two seconds' worth.
pub(crate) struct Limiter {
    rate: f64,
    buckets: Mutex<HashMap<TokenId, Bucket>>,
}

struct Bucket {
    level: f64,
    at: Instant,
}

impl Limiter {
    pub(crate) fn new(requests_per_second: u32) -> Self {
        Self {
            rate: f64::from(requests_per_second.max(1)),
            buckets: Mutex::default(),
        }
    }

    /// Whether the token may make a request at `now`.
    pub(crate) fn admits(&self, token: TokenId, now: Instant) -> bool {
        let most = self.rate * 2.0;
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() > REMEMBERED {
            let rate = self.rate;
            buckets.retain(|_, bucket| {
                bucket.level + now.duration_since(bucket.at).as_secs_f64() * rate < most
            });
        }
        let bucket = buckets.entry(token).or_insert(Bucket {
            level: most,
            at: now,
        });
        let gained = now.duration_since(bucket.at).as_secs_f64() * self.rate;
        bucket.level = (bucket.level + gained).min(most);
        bucket.at = now;
        let admits = bucket.level >= 1.0;
        if admits {
            bucket.level -= 1.0;
        }
        admits
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_token_has_its_own_rate() {
        let limiter = Limiter::new(10);
        let (one, other) = (TokenId::from_bytes([1; 16]), TokenId::from_bytes([2; 16]));
        let start = Instant::now();
        let admitted = (0..100).filter(|_| limiter.admits(one, start)).count();
        assert_eq!(admitted, 20);
        assert!(limiter.admits(other, start));
        let later = start + Duration::from_millis(500);
        let admitted = (0..100).filter(|_| limiter.admits(one, later)).count();
        assert_eq!(admitted, 5);
    }
}
