//! Short requests come before long work.
//!
//! Requests run on the threads that serve connections. Long work runs on the process's runtime for it
//! ([`memoir_app::run_long_work_on`]), whose threads have a lower priority: requests with a long body, and, while other
//! parties are served, the requests of a party that has used its share of the first threads or has requests there. Those
//! are also spread over time: reading and answering a request takes the first threads in any case, and many requests that
//! are refused at once would fill them.

use std::time::{Duration, Instant};

use memoir_app::WorkMeter;
use parking_lot::Mutex;

use crate::{
    Service,
    limits::{Bucket, Party, RecentByKey},
};

/// The share of one processor that a party's requests take of the first threads, while other parties are served.
const SHARE: f64 = 0.1;
/// What reading and answering a request takes of the first threads, beside its work.
const HANDLING: Duration = Duration::from_micros(200);
/// How much of its share a party can save up, in seconds.
const SAVED_UP: f64 = 0.1;
/// Requests that a party with less than half of [`SAVED_UP`] has on the first threads at one time, while other parties
/// are served: how long they take is only known when they have ended.
const AT_ONCE: u32 = 2;
/// Requests a second that give way, of a party; later ones wait their turn.
const PACE: f64 = 200.0;
/// How many of them a party can save up.
const PACE_SAVED_UP: f64 = 20.0;
/// The longest wait for a turn.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
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
    /// The requests that may give way now; below 0 are those that wait.
    pace: Bucket,
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
    /// How long a request of the party that begins at `now` is to wait before it gives way to others. `None` for one that
    /// does not give way: it counts as under way until [`Foreground::end`].
    fn begin(&self, party: Party, now: Instant) -> Option<Duration> {
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
            pace: Bucket::new(PACE_SAVED_UP, now),
        });
        let left = own.left(now);
        let is_short_of_it = left < SAVED_UP / 2.0 && own.requests >= AT_ONCE;
        if is_shared && (left <= 0.0 || is_short_of_it) {
            let turns = own.pace.level(PACE, PACE_SAVED_UP, now) - 1.0;
            own.pace = Bucket::new(turns.max(-PACE * LONGEST_PAUSE.as_secs_f64()), now);
            let pause = Duration::from_secs_f64((-turns / PACE).max(0.0));
            return Some(pause.min(LONGEST_PAUSE));
        }
        own.requests += 1;
        None
    }

    /// Notes the end of a request of the party that did not give way, and the time that it used.
    fn end(&self, party: Party, used: Duration, now: Instant) {
        if let Some(own) = self.0.lock().parties.of.get_mut(&party) {
            own.requests = own.requests.saturating_sub(1);
            own.share = Bucket::new(own.left(now) - (used + HANDLING).as_secs_f64(), now);
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
    if !is_long {
        match service.foreground.begin(party, Instant::now()) {
            None => return service.foreground.run(party, work).await,
            Some(pause) => tokio::time::sleep(pause).await,
        }
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
            let gives_way = foreground.begin(party, now).is_some();
            if !gives_way {
                foreground.end(party, Duration::ZERO, now);
            }
            gives_way
        };
        assert_eq!(foreground.begin(greedy, begun), None);
        foreground.end(greedy, Duration::from_millis(150), begun);
        // Alone it does not.
        assert!(!gives_way(greedy, at(1)));
        assert_eq!(foreground.begin(modest, at(2)), None);
        assert!(gives_way(greedy, at(3)));
        // The party with few requests never does.
        foreground.end(modest, Duration::from_millis(5), at(4));
        assert!(!gives_way(modest, at(5)));
        // Its share returns with time: 50 ms, and the handling of two requests, at a tenth.
        gives_way(modest, at(502));
        assert!(gives_way(greedy, at(503)));
        gives_way(modest, at(504));
        assert!(!gives_way(greedy, at(505)));
    }

    #[test]
    fn spec_6_1_a_party_has_few_requests_on_the_first_threads_while_others_are_served() {
        let foreground = Foreground::default();
        let now = Instant::now();
        let (greedy, modest) = (party(1), party(2));
        // Alone it has any number, and so has a party that used little.
        for party in [greedy, modest, greedy, modest, greedy, modest] {
            assert_eq!(foreground.begin(party, now), None);
        }
        foreground.end(greedy, Duration::from_millis(60), now);
        assert!(foreground.begin(greedy, now).is_some());
        assert_eq!(foreground.begin(modest, now), None);
        foreground.end(greedy, Duration::ZERO, now);
        assert_eq!(foreground.begin(greedy, now), None);
    }

    #[test]
    fn spec_6_1_requests_that_give_way_are_spread_over_time() {
        let foreground = Foreground::default();
        let (greedy, modest) = (party(1), party(2));
        let now = Instant::now();
        foreground.begin(greedy, now);
        foreground.end(greedy, Duration::from_millis(150), now);
        foreground.begin(modest, now);
        let pauses = |count: usize, now| -> Vec<u128> {
            let pauses = (0..count).map(|_| foreground.begin(greedy, now).unwrap());
            pauses.map(|pause| pause.as_millis()).collect()
        };
        assert_eq!(pauses(20, now), [0; 20]);
        assert_eq!(pauses(3, now), [5, 10, 15]);
        // After 100 ms there are seventeen more, while others are served.
        let later = now + Duration::from_millis(100);
        foreground.begin(modest, later);
        assert_eq!(pauses(17, later), [0; 17]);
        // None waits for longer than a second, however many come.
        assert_eq!(pauses(1_000, later).last(), Some(&1_000));
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
        assert_eq!(foreground.begin(modest, now), None);
        assert_eq!(foreground.begin(greedy, now), None);
    }

    #[test]
    fn spec_6_1_a_party_alone_never_gives_way() {
        let foreground = Foreground::default();
        let begun = Instant::now();
        assert_eq!(foreground.begin(party(2), begun), None);
        let later = begun + 2 * SERVED;
        assert_eq!(foreground.begin(party(1), later), None);
        foreground.end(party(1), Duration::from_secs(9), later);
        assert_eq!(foreground.begin(party(1), later), None);
        assert_eq!(foreground.begin(party(1), later + SERVED / 2), None);
    }
}
