//! Short requests come before long work.
//!
//! Requests run on the threads that serve connections. Long work runs on the process's runtime for it
//! ([`memoir_app::run_long_work_on`]), whose threads have a lower priority: requests with a long body, and the requests
//! of a party that has used its share of the first threads while other parties are served.

use std::{
    future::poll_fn,
    pin::pin,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use tracing::Instrument;

use crate::{
    Service,
    limits::{Bucket, Party, RecentByKey},
};

/// The share of one processor that a party's requests take of the first threads, while other parties are served.
const SHARE: f64 = 0.1;
/// How much of its share a party can save up, in seconds.
const SAVED_UP: f64 = 0.1;
/// How long a party counts as served after its request began.
const SERVED: Duration = Duration::from_secs(1);

/// The time that each party used of the threads that serve connections.
#[derive(Default)]
pub(crate) struct Foreground(Mutex<Usage>);

#[derive(Default)]
struct Usage {
    parties: RecentByKey<Party, Bucket>,
    /// The party whose request began last.
    newest: Option<(Party, Instant)>,
    /// When a request began last whose party was not the one of the request before.
    changed_at: Option<Instant>,
}

/// What of its share a party has left at `now`, in seconds.
fn left(bucket: &Bucket, now: Instant) -> f64 {
    bucket.level(SHARE, SAVED_UP, now)
}

impl Foreground {
    /// Whether a request of the party that begins at `now` is to give way to others.
    fn gives_way(&self, party: Party, now: Instant) -> bool {
        let mut usage = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = usage.newest.replace((party, now));
        if before
            .is_some_and(|(other, at)| other != party && now.saturating_duration_since(at) < SERVED)
        {
            usage.changed_at = Some(now);
        }
        let changed_at = usage.changed_at;
        let is_shared = changed_at.is_some_and(|at| now.saturating_duration_since(at) < SERVED);
        let bucket = usage.parties.get(&party);
        is_shared && bucket.is_some_and(|bucket| left(bucket, now) <= 0.0)
    }

    /// Counts the time that a request of the party used.
    fn charge(&self, party: Party, used: Duration, now: Instant) {
        let mut usage = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let parties = &mut usage.parties;
        parties.look_over(|bucket| left(bucket, now) < SAVED_UP);
        let bucket = parties.entry(party).or_insert(Bucket::new(SAVED_UP, now));
        *bucket = Bucket::new(left(bucket, now) - used.as_secs_f64(), now);
    }

    /// Runs a request here and counts its time.
    async fn run<T>(&self, party: Party, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let mut used = Duration::ZERO;
        let done = poll_fn(|context| {
            let begun = Instant::now();
            let polled = work.as_mut().poll(context);
            used += begun.elapsed();
            polled
        })
        .await;
        self.charge(party, used, Instant::now());
        done
    }
}

/// Runs a request of the party where it delays no other.
pub(crate) async fn run<T: Send + 'static>(
    service: &Service,
    party: Party,
    is_long: bool,
    work: impl Future<Output = T> + Send + 'static,
) -> T {
    let Some(runtime) = memoir_app::long_work() else {
        return work.await;
    };
    let gives_way = service.foreground.gives_way(party, Instant::now());
    if !is_long && !gives_way {
        return service.foreground.run(party, work).await;
    }
    match runtime.spawn(work.in_current_span()).await {
        Ok(done) => done,
        // Into the request's own task, which responds for it.
        Err(failed) if failed.is_panic() => std::panic::resume_unwind(failed.into_panic()),
        // The process ends, and its runtimes with it: no response is sent any more.
        Err(_) => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use memoir_domain::TokenId;

    use super::*;

    fn party(of: u8) -> Party {
        Party::Token(TokenId::from_bytes([of; 16]))
    }

    #[test]
    fn spec_6_1_a_party_that_used_its_share_gives_way_while_others_are_served() {
        let foreground = Foreground::default();
        let begun = Instant::now();
        let at = |milliseconds| begun + Duration::from_millis(milliseconds);
        let (greedy, modest) = (party(1), party(2));
        assert!(!foreground.gives_way(greedy, begun));
        foreground.charge(greedy, Duration::from_millis(150), begun);
        // Alone it does not.
        assert!(!foreground.gives_way(greedy, at(1)));
        assert!(!foreground.gives_way(modest, at(2)));
        assert!(foreground.gives_way(greedy, at(3)));
        // The party with few requests never does.
        foreground.charge(modest, Duration::from_millis(5), at(4));
        assert!(!foreground.gives_way(modest, at(5)));
        // Its share returns with time: 50 ms at a tenth.
        foreground.gives_way(modest, at(499));
        assert!(foreground.gives_way(greedy, at(499)));
        foreground.gives_way(modest, at(501));
        assert!(!foreground.gives_way(greedy, at(502)));
    }

    #[test]
    fn spec_6_1_a_party_alone_never_gives_way() {
        let foreground = Foreground::default();
        let begun = Instant::now();
        assert!(!foreground.gives_way(party(2), begun));
        let later = begun + 2 * SERVED;
        foreground.charge(party(1), Duration::from_secs(9), later);
        assert!(!foreground.gives_way(party(1), later));
        assert!(!foreground.gives_way(party(1), later + SERVED / 2));
    }
}
