//! Short requests come before long work.
//!
//! Requests run on the threads that serve connections. Long work runs on the process's runtime for it
//! ([`memoir_app::run_long_work_on`]), whose threads have a lower priority: requests with a long body, and, while other
//! parties are served, the requests of a party that has used its share of a processor. Reading and answering a request
//! takes the first threads in any case, and many requests that are refused at once would fill them: the connections of
//! such a party end with their response, and its next ones are long work from their first byte, where their first part
//! has a known token.

use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use memoir_app::WorkMeter;
use parking_lot::Mutex;

use crate::{
    Service,
    caller::Turn,
    limits::{Bucket, Party, RecentByKey},
};

/// The share of one processor that a party's requests take before they give way, while other parties are served.
const SHARE: f64 = 0.1;
/// What reading and answering a request takes, beside its work.
const HANDLING: Duration = Duration::from_micros(200);
/// What a new connection takes.
const CONNECTION: Duration = Duration::from_micros(300);
/// How much of its share a party can save up, in seconds.
const SAVED_UP: f64 = 0.1;
/// How much more a party can use than its share, in seconds: its work counts also where it gives way, so that a party
/// that never rests is never served first.
const MOST_OVERUSED: f64 = 0.5;
/// Headers of a request in which its token is looked for.
const MOST_HEADERS: usize = 64;
/// How long a party counts as served after its request began.
const SERVED: Duration = Duration::from_secs(1);

/// The processor time that each party's requests used, on all threads.
#[derive(Default)]
pub(crate) struct Foreground {
    usage: Mutex<Usage>,
    /// For hashes of tokens: with a random key, so that no client can choose a token with the hash of another.
    hashes: RandomState,
}

#[derive(Default)]
struct Usage {
    /// What of its share each party has left, in seconds.
    parties: RecentByKey<Party, Bucket>,
    /// The tokens of parties that gave way, by their hashes. They decide a priority, and never an access.
    tokens: RecentByKey<TokenHash, Party>,
    /// The party whose request began last.
    newest: Option<(Party, Instant)>,
    /// When a request began last whose party was not the one of the request before.
    changed_at: Option<Instant>,
}

/// The hash of the header that carries a token, in this process.
pub(crate) type TokenHash = u64;

impl Usage {
    /// Notes that a request of the party begins; whether others are served at the time.
    fn note(&mut self, party: Party, now: Instant) -> bool {
        let is_recent = |at: Instant| now.saturating_duration_since(at) < SERVED;
        let before = self.newest.replace((party, now));
        if before.is_some_and(|(other, at)| other != party && is_recent(at)) {
            self.changed_at = Some(now);
        }
        self.changed_at.is_some_and(is_recent)
    }
}

/// What a share has left at `now`, after `used` of it.
fn taken(share: &Bucket, used: Duration, now: Instant) -> Bucket {
    let left = share.level(SHARE, SAVED_UP, now) - used.as_secs_f64();
    Bucket::new(left.max(-MOST_OVERUSED), now)
}

/// A request. Its end is noted when this is dropped, also where its connection was closed.
struct Counted {
    foreground: Arc<Foreground>,
    party: Party,
    meter: WorkMeter,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.foreground
            .end(self.party, self.meter.used(), Instant::now());
    }
}

impl Foreground {
    pub(crate) fn hash(&self, header: Option<&HeaderValue>) -> TokenHash {
        self.hashes.hash_one(header.map(HeaderValue::as_bytes))
    }

    /// Whether a new connection, of which `head` came first, gives way to others. False without a known token.
    pub(crate) fn connection_gives_way(&self, head: &[u8], now: Instant) -> bool {
        let token = self.hashes.hash_one(token_in(head));
        let mut usage = self.usage.lock();
        let Some(&party) = usage.tokens.of.get(&token) else {
            return false;
        };
        let is_shared = usage.note(party, now);
        let Some(own) = usage.parties.of.get_mut(&party) else {
            return false;
        };
        let gives_way = is_shared && own.level(SHARE, SAVED_UP, now) <= 0.0;
        // Before its end: many connections can begin before the first request ends.
        *own = taken(own, CONNECTION, now);
        gives_way
    }

    /// Whether a request of the party that begins at `now` gives way to others.
    fn gives_way(&self, party: Party, token: TokenHash, now: Instant) -> bool {
        let mut usage = self.usage.lock();
        let is_shared = usage.note(party, now);
        let Usage {
            parties, tokens, ..
        } = &mut *usage;
        parties.look_over(|share| share.level(SHARE, SAVED_UP, now) < SAVED_UP);
        let own = parties.of.entry(party);
        let own = own.or_insert(Bucket::new(SAVED_UP, now));
        let gives_way = is_shared && own.level(SHARE, SAVED_UP, now) <= 0.0;
        if gives_way {
            tokens.look_over(|party| parties.of.contains_key(party));
            tokens.of.insert(token, party);
        }
        gives_way
    }

    /// Notes the end of a request of the party, and the time that it used.
    fn end(&self, party: Party, used: Duration, now: Instant) {
        if let Some(own) = self.usage.lock().parties.of.get_mut(&party) {
            *own = taken(own, used + HANDLING, now);
        }
    }

    /// Runs a request of which [`Foreground::gives_way`] was asked, and counts its time.
    fn count<T>(
        self: Arc<Self>,
        party: Party,
        work: impl Future<Output = T>,
    ) -> impl Future<Output = T> {
        // Made before the first poll: a request that is dropped without one has ended too.
        let counted = Counted {
            foreground: self,
            party,
            meter: WorkMeter::default(),
        };
        async move { counted.meter.around(work).await }
    }
}

/// Runs a request where it delays no other party, and holds its turn until it has ended.
pub(crate) async fn run<R: IntoResponse>(
    service: &Service,
    turn: Turn,
    work: impl Future<Output = R> + Send + 'static,
) -> Response {
    let foreground = service.foreground.clone();
    let gives_way = foreground.gives_way(turn.party, turn.token, Instant::now());
    // Boxed: a request's state is large, and would be in this one twice.
    let counted = foreground.count(turn.party, async move { work.await.into_response() });
    let counted = Box::pin(counted);
    if !gives_way && !turn.is_long {
        return counted.await;
    }
    let mut response = memoir_app::run_long(counted).await;
    if gives_way {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
    response
}

/// The header of a request's head that carries the token; `None` where the head is not complete.
fn token_in(head: &[u8]) -> Option<&[u8]> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let is_complete = request.parse(head).ok()?.is_complete();
    let mut headers = is_complete.then_some(request.headers)?.iter();
    let name = header::AUTHORIZATION.as_str();
    let found = headers.find(|header| header.name.eq_ignore_ascii_case(name));
    found.map(|header| header.value)
}

#[cfg(test)]
mod tests {
    use memoir_domain::TokenId;

    use super::*;

    fn greedy() -> Party {
        Party::Token(TokenId::from_bytes([1; 16]))
    }

    fn modest() -> Party {
        Party::Token(TokenId::from_bytes([2; 16]))
    }

    impl Foreground {
        /// Begins a request with a token of the party's own; whether it gives way.
        fn begin(&self, party: Party, now: Instant) -> bool {
            let token = HeaderValue::from_str(&format!("{party:?}")).unwrap();
            self.gives_way(party, self.hash(Some(&token)), now)
        }

        /// The greedy party uses so much of the first threads, beside a request of the other.
        fn used(milliseconds: u64, now: Instant) -> Self {
            let foreground = Self::default();
            assert!(!foreground.begin(greedy(), now));
            foreground.end(greedy(), Duration::from_millis(milliseconds), now);
            assert!(!foreground.begin(modest(), now));
            foreground
        }
    }

    #[test]
    fn spec_6_1_a_party_that_used_its_share_gives_way_while_others_are_served() {
        let begun = Instant::now();
        let at = |milliseconds| begun + Duration::from_millis(milliseconds);
        let foreground = Foreground::used(150, begun);
        assert!(foreground.begin(greedy(), at(3)));
        // The party with few requests never does.
        foreground.end(modest(), Duration::from_millis(5), at(4));
        assert!(!foreground.begin(modest(), at(5)));
        // Its share returns with time: 50 ms, and the handling of a request, at a tenth.
        foreground.begin(modest(), at(501));
        assert!(foreground.begin(greedy(), at(501)));
        foreground.begin(modest(), at(503));
        assert!(!foreground.begin(greedy(), at(503)));
        // Alone it never does.
        foreground.end(greedy(), Duration::from_secs(9), at(504));
        assert!(!foreground.begin(greedy(), at(1_600)));
    }

    #[tokio::test]
    async fn spec_6_1_a_request_that_is_dropped_counts() {
        let now = Instant::now();
        let foreground = Arc::new(Foreground::used(99, now));
        for gives_way in [false, true] {
            assert_eq!(foreground.begin(greedy(), now), gives_way);
            foreground.begin(modest(), now);
            // Many: its share grows meanwhile.
            for _ in 0..50 {
                let work = std::future::pending::<()>();
                drop(foreground.clone().count(greedy(), work));
            }
        }
    }

    #[test]
    fn spec_6_1_new_connections_of_a_party_that_used_its_share_give_way() {
        let begun = Instant::now();
        let at = |milliseconds| begun + Duration::from_millis(milliseconds);
        let foreground = Foreground::used(150, begun);
        let gives_way = |party: Party, now| {
            let head = format!("GET / HTTP/1.1\r\nAUTHORIZATION: {party:?} \r\n\r\n");
            foreground.connection_gives_way(head.as_bytes(), now)
        };
        // Its token is known once one of its requests gave way.
        assert!(!gives_way(greedy(), begun));
        assert!(foreground.begin(greedy(), begun));
        assert!(gives_way(greedy(), begun));
        assert!(!gives_way(modest(), begun));
        // Requests of others are noticed also where its own are connections that give way.
        foreground.begin(modest(), at(400));
        assert!(gives_way(greedy(), at(401)));
        // 10 ms of its share have returned: as many connections are served at once as that is enough for.
        foreground.begin(modest(), at(603));
        let served = (0..100).take_while(|_| !gives_way(greedy(), at(603)));
        assert_eq!(served.count(), 32);
        // Alone it does not give way.
        assert!(!gives_way(greedy(), at(1_700)));
    }

    #[test]
    fn spec_6_1_the_token_of_a_head_is_read_where_it_is_complete() {
        let head = "GET / HTTP/1.1\r\nAuthorization: Bearer a \r\nHost: m\r\n\r\n";
        assert_eq!(token_in(head.as_bytes()), Some(&b"Bearer a"[..]));
        for length in 0..head.len() {
            assert_eq!(token_in(&head.as_bytes()[..length]), None);
        }
    }
}
