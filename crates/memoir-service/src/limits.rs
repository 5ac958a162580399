//! How many requests a second a token may make.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Instant,
};

use memoir_domain::TokenId;

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
