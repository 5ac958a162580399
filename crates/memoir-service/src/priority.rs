//! Short requests come before long work.
//!
//! Requests run on the threads that serve connections. Long work runs on the process's runtime for it
//! ([`memoir_app::run_long_work_on`]), whose threads have a lower priority: requests with a long body, and, while other
//! parties are served, the requests of a party that has used its share of the first threads or has requests there.

use std::time::{Duration, Instant};

use memoir_app::WorkMeter;
use parking_lot::Mutex;

use crate::{
    Service,
    limits::{Bucket, Party, RecentByKey},
};

/// The share of one processor that a party's requests take of the first threads, while other parties are served.
const SHARE: f64 = 0.1;
/// How much of its share a party can save up, in seconds.
const SAVED_UP: f64 = 0.1;
/// Requests that a party with less than half of [`SAVED_UP`] has on the first threads at one time, while other parties
/// are served: how long they take is only known when they have ended.
const AT_ONCE: u32 = 2;
/// How long a party counts as served after its request began.
const SERVED: Duration = Duration::from_secs(1);

/// The processor time that each party's requests used at the normal priority, on all threads.
#[derive(Default)]
pub(crate) struct Foreground(Mutex<Usage>);

#[derive(Default)]
struct Usage {
    parties: RecentByKey<Party, PartyUsage>,
    /// The party whose request began last.
    newest: Option<(Party, Instant)>,
    /// When a request began last whose party was not the one of the request before.
    changed_at: Option<Instant>,
}

/// What a party has of the first threads.
struct PartyUsage {
    share: Bucket,
    /// Its requests under way.
    requests: u32,
}

impl PartyUsage {
    /// What of its share it has left at `now`, in seconds.
    fn left(&self, now: Instant) -> f64 {
        self.share.level(SHARE, SAVED_UP, now)
    }
}

/// A request on the first threads. Its end is noted when this is dropped, also where its connection was closed.
struct Counted<'a> {
    foreground: &'a Foreground,
    party: Party,
    meter: WorkMeter,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.foreground
            .end(self.party, self.meter.used(), Instant::now());
    }
}

impl Foreground {
    /// Whether a request of the party that begins at `now` is to give way to others. If not, it counts as under way
    /// until [`Foreground::end`].
    fn begin(&self, party: Party, now: Instant) -> bool {
        let mut usage = self.0.lock();
        let before = usage.newest.replace((party, now));
        if before
            .is_some_and(|(other, at)| other != party && now.saturating_duration_since(at) < SERVED)
        {
            usage.changed_at = Some(now);
        }
        let changed_at = usage.changed_at;
        let is_shared = changed_at.is_some_and(|at| now.saturating_duration_since(at) < SERVED);
        let parties = &mut usage.parties;
        parties.look_over(|party| party.requests > 0 || party.left(now) < SAVED_UP);
        let own = parties.of.entry(party).or_insert(PartyUsage {
            share: Bucket::new(SAVED_UP, now),
            requests: 0,
        });
        let left = own.left(now);
        let is_short_of_it = left < SAVED_UP / 2.0 && own.requests >= AT_ONCE;
        if is_shared && (left <= 0.0 || is_short_of_it) {
            return true;
        }
        own.requests += 1;
        false
    }

    /// Notes the end of a request of the party that did not give way, and the time that it used.
    fn end(&self, party: Party, used: Duration, now: Instant) {
        if let Some(own) = self.0.lock().parties.of.get_mut(&party) {
            own.requests = own.requests.saturating_sub(1);
            own.share = Bucket::new(own.left(now) - used.as_secs_f64(), now);
        }
    }

    /// Runs a request that does not give way, and counts its time.
    async fn run<T>(&self, party: Party, work: impl Future<Output = T>) -> T {
        let counted = Counted {
            foreground: self,
            party,
            meter: WorkMeter::default(),
        };
        counted.meter.around(work).await
    }
}

/// Runs a request of the party where it delays no other.
pub(crate) async fn run<T: Send + 'static>(
    service: &Service,
    party: Party,
    is_long: bool,
    work: impl Future<Output = T> + Send + 'static,
) -> T {
    if !is_long && !service.foreground.begin(party, Instant::now()) {
        return service.foreground.run(party, work).await;
    }
    memoir_app::run_long(work).await
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
        let gives_way = |party, now| {
            let gives_way = foreground.begin(party, now);
            if !gives_way {
                foreground.end(party, Duration::ZERO, now);
            }
            gives_way
        };
        assert!(!foreground.begin(greedy, begun));
        foreground.end(greedy, Duration::from_millis(150), begun);
        // Alone it does not.
        assert!(!gives_way(greedy, at(1)));
        assert!(!foreground.begin(modest, at(2)));
        assert!(gives_way(greedy, at(3)));
        // The party with few requests never does.
        foreground.end(modest, Duration::from_millis(5), at(4));
        assert!(!gives_way(modest, at(5)));
        // Its share returns with time: 50 ms at a tenth.
        gives_way(modest, at(499));
        assert!(gives_way(greedy, at(499)));
        gives_way(modest, at(501));
        assert!(!gives_way(greedy, at(502)));
    }

    #[test]
    fn spec_6_1_a_party_has_few_requests_on_the_first_threads_while_others_are_served() {
        let foreground = Foreground::default();
        let now = Instant::now();
        let (greedy, modest) = (party(1), party(2));
        // Alone it has any number, and so has a party that used little.
        for party in [greedy, modest, greedy, modest, greedy, modest] {
            assert!(!foreground.begin(party, now));
        }
        foreground.end(greedy, Duration::from_millis(60), now);
        assert!(foreground.begin(greedy, now));
        assert!(!foreground.begin(modest, now));
        foreground.end(greedy, Duration::ZERO, now);
        assert!(!foreground.begin(greedy, now));
    }

    #[tokio::test]
    async fn spec_6_1_a_request_that_is_dropped_is_no_longer_under_way() {
        let foreground = Foreground::default();
        let (greedy, modest) = (party(1), party(2));
        let now = Instant::now();
        foreground.begin(greedy, now);
        foreground.end(greedy, Duration::from_millis(60), now);
        for _ in 0..AT_ONCE {
            let work = foreground.run(greedy, std::future::pending::<()>());
            let ended = tokio::time::timeout(Duration::ZERO, work).await;
            assert!(ended.is_err());
        }
        assert!(!foreground.begin(modest, now));
        assert!(!foreground.begin(greedy, now));
    }

    #[test]
    fn spec_6_1_a_party_alone_never_gives_way() {
        let foreground = Foreground::default();
        let begun = Instant::now();
        assert!(!foreground.begin(party(2), begun));
        let later = begun + 2 * SERVED;
        assert!(!foreground.begin(party(1), later));
        foreground.end(party(1), Duration::from_secs(9), later);
        assert!(!foreground.begin(party(1), later));
        assert!(!foreground.begin(party(1), later + SERVED / 2));
    }
}
