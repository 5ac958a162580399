//! Limits: requests a second and concurrent requests of an agent, sign-in attempts of a client, and size and speed of a
//! body.

use std::{
    collections::HashMap,
    future::poll_fn,
    hash::Hash,
    net::IpAddr,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    body::{Body, Bytes, HttpBody},
    http::{HeaderMap, header},
};
use memoir_domain::{AgentScope, TokenId, agent};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{Problem, ServiceOptions};

/// A body that is too large is read and discarded up to so many times the limit: a client that is still sending would
/// otherwise miss the response.
const DRAINED_TIMES: usize = 4;

/// The party that requests and streams are counted for. Limits count by agent and not by token, since an agent creates
/// tokens for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Party {
    /// An agent, by whichever of its tokens.
    Agent(AgentScope),
    /// A token of an administrator, or an administrator's browser.
    Token(TokenId),
}

/// Concurrent requests of one party; further ones wait.
// More than programs that share an agent have; a flood of one agent queues behind its own requests.
pub(crate) const AT_ONCE: usize = 16;

/// The share of each party in the running requests, and in the long bodies in use, of which it has one.
#[derive(Default)]
pub(crate) struct Shares {
    pub(crate) requests: PartyShares,
    bodies: PartyShares,
}

#[derive(Default)]
pub(crate) struct PartyShares(Mutex<HashMap<Party, Arc<Semaphore>>>);

impl PartyShares {
    /// Whether a further request of the party waits.
    pub(crate) fn is_full(&self, party: Party) -> bool {
        let shares = self.0.lock();
        let share = shares.get(&party);
        share.is_some_and(|share| share.available_permits() == 0)
    }

    /// Waits until the party has fewer than `most`, and gives it one more.
    ///
    /// # Errors
    /// `busy` after that time.
    pub(crate) async fn take(
        &self,
        party: Party,
        most: usize,
        time: Duration,
    ) -> Result<OwnedSemaphorePermit, Problem> {
        let share = {
            let mut shares = self.0.lock();
            // An unused one equals a new one.
            if shares.len() >= REMEMBERED {
                shares.retain(|_, share| Arc::strong_count(share) > 1);
            }
            let share = shares.entry(party);
            share
                .or_insert_with(|| Arc::new(Semaphore::new(most)))
                .clone()
        };
        let taken = tokio::time::timeout(time, share.acquire_owned()).await;
        // The semaphore is never closed: only the wait fails.
        taken.ok().and_then(Result::ok).ok_or_else(|| {
            Problem::new(
                "busy",
                "earlier requests of the same agent are still being carried out; nothing of this one was",
            )
            .retry_after(1)
        })
    }
}

/// The memory of all bodies in flight, so that many connections take no more than a few. Short bodies have a part of
/// their own, which long ones cannot take.
pub(crate) struct BodyRoom {
    short: Arc<Semaphore>,
    long: Arc<Semaphore>,
}

/// The memory of one body, until its request is over.
#[derive(Default)]
pub(crate) struct HeldRoom {
    _permit: Option<OwnedSemaphorePermit>,
    /// The one long body of a party.
    _share: Option<OwnedSemaphorePermit>,
}

const ROOM_UNIT: usize = 1 << 10;
/// The largest short body, in bytes.
// All requests of refining: a session's calls continue while long imports fill the other part.
const SHORT_BODY: usize = 64 << 10;
/// Most bytes of all short bodies in flight.
const SHORT_ROOM: usize = 32 << 20;

impl BodyRoom {
    /// With room for `bytes` of long bodies, at least for one of the largest allowed size.
    pub(crate) fn new(options: &ServiceOptions) -> Self {
        let room = |bytes: usize| Arc::new(Semaphore::new(bytes / ROOM_UNIT + 1));
        Self {
            short: room(SHORT_ROOM),
            // At least one of the largest: in a smaller room such a body would wait forever.
            long: room(options.bodies_bytes.max(options.body_bytes)),
        }
    }

    /// Waits for room for a body of that length; without a stated length, for the longest.
    async fn take(
        &self,
        (shares, party): (&Shares, Party),
        options: &ServiceOptions,
        headers: &HeaderMap,
    ) -> Result<HeldRoom, Problem> {
        // A client may state less than it sends: hyper ends the body at that length, so that it cannot exceed its room.
        let length = stated_length(headers).unwrap_or(options.body_bytes);
        // Passed without room: `body_within` refuses it by the stated length before it stores a byte.
        if length > options.body_bytes {
            return Ok(HeldRoom::default());
        }
        // The party's own share first: while it waits it holds no shared room.
        let (share, room) = match length <= SHORT_BODY {
            true => (None, &self.short),
            false => {
                let share = shares.bodies.take(party, 1, options.request_time);
                (Some(share.await?), &self.long)
            }
        };
        // In whole units, rounded up, so that short bodies never exceed their count.
        let units = u32::try_from(length.div_ceil(ROOM_UNIT)).unwrap_or(u32::MAX);
        let taken = room.clone().acquire_many_owned(units);
        match tokio::time::timeout(options.request_time, taken).await {
            Ok(permit) => Ok(HeldRoom {
                _permit: permit.ok(),
                _share: share,
            }),
            Err(_) => Err(Problem::new(
                "busy",
                "too many long bodies of other requests are being read; nothing of this one was",
            )
            .retry_after(1)),
        }
    }
}

fn stated_length(headers: &HeaderMap) -> Option<usize> {
    let length = headers.get(header::CONTENT_LENGTH)?;
    length.to_str().ok()?.parse().ok()
}

/// Whether the body of a request is long, or does not state its length.
pub(crate) fn is_long(headers: &HeaderMap, body: &Body) -> bool {
    !body.is_end_stream() && stated_length(headers).is_none_or(|length| length > SHORT_BODY)
}

/// A request's body, and its room among those of all requests: to be held while the request runs.
///
/// # Errors
/// It is too large or too slow, it breaks off, or there was no room for it in time.
pub(crate) async fn whole_body(
    room: &BodyRoom,
    whose: (&Shares, Party),
    options: &ServiceOptions,
    headers: &HeaderMap,
    body: Body,
) -> Result<(Bytes, HeldRoom), Problem> {
    if body.is_end_stream() {
        return Ok((Bytes::new(), HeldRoom::default()));
    }
    let held = room.take(whose, options, headers).await?;
    let bytes = body_within(options.body_bytes, options.request_time, headers, body).await?;
    Ok((bytes, held))
}

/// As [`whole_body`], with limits of its own.
pub(crate) async fn body_within(
    limit: usize,
    time: Duration,
    headers: &HeaderMap,
    mut body: Body,
) -> Result<Bytes, Problem> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let stated = stated_length(headers);
    let is_over = stated.is_some_and(|length| length > limit);
    let read = async {
        if !is_over && let Some(bytes) = read(&mut body, limit).await? {
            return Ok(bytes);
        }
        drain(&mut body, limit.saturating_mul(DRAINED_TIMES)).await;
        Err(too_large(limit))
    };
    match tokio::time::timeout(time, read).await {
        Ok(read) => read,
        Err(_) if is_over => Err(too_large(limit)),
        Err(_) => Err(Problem::new(
            "body_too_slow",
            format!("the body did not come within {} seconds", time.as_secs()),
        )),
    }
}

/// All of it; `None` where it is over the limit.
async fn read(body: &mut Body, limit: usize) -> Result<Option<Bytes>, Problem> {
    let mut bytes = Vec::new();
    while let Some(piece) = next(body).await? {
        // Before it is stored: at no time is more than the limit in memory.
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

pub(crate) fn too_large(limit: usize) -> Problem {
    Problem::new(
        "body_too_large",
        format!("the body is over the limit of {limit} bytes; send it in parts"),
    )
}

/// The entries that are always kept; beyond this, expired ones are removed.
const REMEMBERED: usize = 10_000;

pub(crate) struct RecentByKey<K, V> {
    pub(crate) of: HashMap<K, V>,
    /// The size at which expired ones are removed next: seldom enough to cost each caller little.
    look_over_at: usize,
}

impl<K, V> Default for RecentByKey<K, V> {
    fn default() -> Self {
        Self {
            of: HashMap::new(),
            look_over_at: REMEMBERED,
        }
    }
}

impl<K: Eq + Hash, V> RecentByKey<K, V> {
    /// Removes expired entries, where there are many.
    pub(crate) fn look_over(&mut self, counts: impl Fn(&V) -> bool) {
        // Next at twice the remaining size: each pass walks over all, and must not come with every request of a crowd.
        if self.of.len() >= self.look_over_at {
            self.of.retain(|_, value| counts(value));
            self.look_over_at = REMEMBERED.max(self.of.len() * 2);
        }
    }
}

/// A bucket for each party or address without a token, which fills at the permitted rate and holds two seconds' worth.
pub(crate) struct Limiter<Who = Party> {
    rate: f64,
    buckets: Mutex<RecentByKey<Who, Bucket>>,
}

/// Requests a second from one address without a token: many clients of one host share it.
pub(crate) const STRANGERS_PER_SECOND: u32 = 20;

/// What a party may still use of something that fills up again with time: below zero where it used more.
pub(crate) struct Bucket {
    level: f64,
    at: Instant,
}

impl Bucket {
    /// Filled up to `level` at `now`.
    pub(crate) fn new(level: f64, now: Instant) -> Self {
        Self { level, at: now }
    }

    /// Its level at `now`, filled at `rate` a second up to `most`.
    pub(crate) fn level(&self, rate: f64, most: f64, now: Instant) -> f64 {
        let gained = now.saturating_duration_since(self.at).as_secs_f64() * rate;
        (self.level + gained).min(most)
    }
}

impl<Who: Eq + Hash> Limiter<Who> {
    pub(crate) fn new(requests_per_second: u32) -> Self {
        Self {
            // At 0 no request would be possible, and the bucket would never fill.
            rate: f64::from(requests_per_second.max(1)),
            buckets: Mutex::default(),
        }
    }

    /// Whether the token or the address may make a request at `now`.
    pub(crate) fn admits(&self, who: Who, now: Instant) -> bool {
        let most = self.rate * 2.0;
        let mut buckets = self.buckets.lock();
        let rate = self.rate;
        buckets.look_over(|bucket| bucket.level(rate, most, now) < most);
        // A new one is full, and one that would be full by now is removed: both are the same.
        let bucket = buckets.of.entry(who).or_insert(Bucket::new(most, now));
        let level = bucket.level(rate, most, now);
        let admits = level >= 1.0;
        *bucket = Bucket::new(if admits { level - 1.0 } else { level }, now);
        admits
    }
}

#[derive(Default)]
pub(crate) struct Attempts(Mutex<RecentByKey<[u8; 32], Vec<Instant>>>);

/// The time over which attempts are counted.
const ATTEMPTS_TIME: Duration = Duration::from_secs(60);
/// Most attempts from one address, whatever the names.
// Many users share the address of an office; five times the limit of a name.
const MOST_OF_AN_ADDRESS: usize = 30;
/// Most attempts with one name from one address.
const MOST_FROM_ONE: usize = 5;
/// Attempts with one name, from all addresses, from which on each address has [`FROM_ONE_GUARDED`].
const MOST_OF_A_NAME: usize = 60;
/// Most attempts with such a name from one address.
// Enough for a password and the code of a second factor: no number of addresses may lock the user out.
const FROM_ONE_GUARDED: usize = 2;

impl Attempts {
    /// Counts an attempt at `now`; whether it may be made.
    pub(crate) fn admits(&self, who: (&str, &str), address: IpAddr, now: Instant) -> bool {
        let [of_name, from_one] = keys_of(who, address);
        // Digests throughout: a key of one size, and no typed names in memory, among them passwords in the wrong field.
        let of_address = digest(&["address", &address.to_string()]);
        let mut all = self.0.lock();
        all.look_over(|times| times.iter().any(|at| now - *at < ATTEMPTS_TIME));
        let mut count = |key, most| {
            let times = all.of.entry(key).or_default();
            times.retain(|at| now - *at < ATTEMPTS_TIME);
            let admits = times.len() < most;
            if admits {
                times.push(now);
            }
            admits
        };
        // In this order: a client over a limit of its own adds no further names, and takes nothing from others. An
        // attempt that the second limit refuses has counted in the first: repeated attempts with one name use up the
        // address.
        if !count(of_address, MOST_OF_AN_ADDRESS) || !count(from_one, MOST_FROM_ONE) {
            return false;
        }
        count(of_name, MOST_OF_A_NAME)
            || all.of.get(&from_one).map_or(0, Vec::len) <= FROM_ONE_GUARDED
    }

    /// Removes the attempts of a user with the right password from there.
    pub(crate) fn forgive(&self, who: (&str, &str), address: IpAddr) {
        let [_, from_one] = keys_of(who, address);
        let mut all = self.0.lock();
        // Not those of the name or the address: other clients' attempts are among them.
        all.of.remove(&from_one);
    }
}

/// The keys of a name from anywhere, and from that address: of one size, however long the given names are.
fn keys_of((account, name): (&str, &str), address: IpAddr) -> [[u8; 32]; 2] {
    // As the names are compared where they are looked up.
    let [account, name] = [account, name].map(|text| agent::fold_name(text.trim()));
    [
        digest(&["name", &account, &name]),
        digest(&["name", &account, &name, &address.to_string()]),
    ]
}

pub(crate) fn digest<T: AsRef<[u8]>>(parts: &[T]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        let part = part.as_ref();
        // Lengths before the parts, so that a letter that moves from one into the next is another text.
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::*;

    #[tokio::test]
    async fn all_bodies_in_flight_share_one_room_and_short_ones_have_their_own() {
        let options = ServiceOptions {
            body_bytes: 1 << 20,
            bodies_bytes: 1 << 20,
            request_time: Duration::from_millis(50),
            ..ServiceOptions::default()
        };
        let room = BodyRoom::new(&options);
        let shares = Shares::default();
        let next = std::sync::atomic::AtomicU8::new(0);
        let take = async |length: Option<usize>| {
            // Each of another party: one party has one long body at a time.
            let token = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let party = Party::Token(TokenId::from_bytes([token; 16]));
            let bytes = vec![b'x'; length.unwrap_or(1_000)];
            let mut headers = HeaderMap::new();
            if let Some(length) = length {
                headers.insert(header::CONTENT_LENGTH, length.into());
            }
            whole_body(&room, (&shares, party), &options, &headers, bytes.into()).await
        };
        let held = take(Some(600_000)).await.unwrap();
        // One without a stated length may be the longest.
        for length in [Some(600_000), None] {
            let refused = take(length).await.err().unwrap();
            let (status, ..) = refused.into_parts();
            assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{length:?}");
        }
        take(Some(1_000)).await.unwrap();
        take(Some(400_000)).await.unwrap();
        let (status, ..) = take(Some(2_000_000)).await.err().unwrap().into_parts();
        assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
        drop(held);
        take(None).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn spec_6_1_a_party_has_one_long_body_and_few_requests_under_way() {
        let shares = Shares::default();
        let [one, other] = [1, 2].map(|token| Party::Token(TokenId::from_bytes([token; 16])));
        let time = Duration::from_secs(30);
        let mut held = Vec::new();
        for _ in 0..AT_ONCE {
            assert!(!shares.requests.is_full(one));
            held.push(shares.requests.take(one, AT_ONCE, time).await.unwrap());
        }
        assert!(shares.requests.is_full(one));
        let refused = shares.requests.take(one, AT_ONCE, time).await.unwrap_err();
        assert_eq!(refused.into_parts().0, StatusCode::SERVICE_UNAVAILABLE);
        drop(shares.requests.take(other, AT_ONCE, time).await.unwrap());
        held.pop();
        drop(shares.requests.take(one, AT_ONCE, time).await.unwrap());
        let long = shares.bodies.take(one, 1, time).await.unwrap();
        assert!(shares.bodies.take(one, 1, time).await.is_err());
        drop(shares.bodies.take(other, 1, time).await.unwrap());
        drop(long);
        drop(shares.bodies.take(one, 1, time).await.unwrap());
    }

    #[test]
    fn attempts_are_counted_by_name_and_address() {
        let attempts = Attempts::default();
        let [here, there] = [1, 2].map(|last| IpAddr::from([10, 0, 0, last]));
        let start = Instant::now();
        let at =
            |who, from, seconds| attempts.admits(who, from, start + Duration::from_secs(seconds));
        for _ in 0..5 {
            assert!(at(("", "Ada"), here, 0));
        }
        assert!(!at(("", " ADA"), here, 1));
        assert!(at(("", "Ada"), there, 1) && at(("", "Grace"), here, 1));
        assert!(!at(("", "Ada"), here, 59));
        assert!(at(("", "Ada"), here, 60));
        let names: Vec<String> = (0..100).map(|number| number.to_string()).collect();
        let many = names
            .iter()
            .filter(|name| at(("", name.as_str()), there, 100));
        assert_eq!(many.count(), 30);
    }

    #[test]
    fn spec_5_5_no_number_of_addresses_locks_an_administrator_out() {
        let attempts = Attempts::default();
        let now = Instant::now();
        let from = |last| IpAddr::from([10, 0, 0, last]);
        let admitted = (0..10).filter(|_| attempts.admits(("", "Ada"), from(1), now));
        assert_eq!(admitted.count(), 5);
        assert!(attempts.admits(("", "Ada"), from(2), now));
        attempts.forgive(("", "ada "), from(1));
        assert!(attempts.admits(("", "Ada"), from(1), now));
        let guesses = (3..100).flat_map(|last| [last; 5]);
        let admitted: Vec<u8> = guesses
            .filter(|last| attempts.admits(("", "Ada"), from(*last), now))
            .collect();
        // Sixty in all with the seven before; then two for each address.
        let guarded: Vec<u8> = (14..100).flat_map(|last| [last; 2]).collect();
        assert_eq!((admitted[52], &admitted[53..]), (13, guarded.as_slice()));
        let own = from(200);
        assert!(attempts.admits(("", "Ada"), own, now));
        assert!(attempts.admits(("", "Ada"), own, now));
        assert!(!attempts.admits(("", "Ada"), own, now));
        attempts.forgive(("", "Ada"), own);
        assert!(attempts.admits(("", "Ada"), own, now));
    }

    #[test]
    fn a_party_has_its_own_rate() {
        let limiter = Limiter::new(10);
        let [one, other] = [1, 2].map(|token| Party::Token(TokenId::from_bytes([token; 16])));
        let start = Instant::now();
        let admitted = (0..100).filter(|_| limiter.admits(one, start)).count();
        assert_eq!(admitted, 20);
        assert!(limiter.admits(other, start));
        let later = start + Duration::from_millis(500);
        let admitted = (0..100).filter(|_| limiter.admits(one, later)).count();
        assert_eq!(admitted, 5);
    }
}
