//! The only source of time and randomness from the machine.

use std::{
    sync::{
        Arc, LazyLock,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use memoir_domain::Timestamp;

/// The time of day.
pub trait Clock: Send + Sync {
    /// Now, in whole microseconds.
    fn now(&self) -> Timestamp;

    /// Time since some beginning in this process. It cannot be set, and it never goes back.
    fn monotonic(&self) -> Duration;

    /// Whether a shared database's time replaces it. One that is set by hand stays.
    fn gives_way(&self) -> bool {
        true
    }
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the clock that the others go through"
    )]
    fn now(&self) -> Timestamp {
        // A `Timestamp` holds the years 1 to 9999 only.
        Timestamp::from_jiff(jiff::Timestamp::now()).unwrap_or(Timestamp::MAX)
    }

    fn monotonic(&self) -> Duration {
        static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);
        BEGINNING.elapsed()
    }
}

/// The last known time of a database that several machines share; until then the process's own. Between readings the
/// monotonic clock counts on, so that a delayed process is behind at most and closes no session too early.
pub(crate) struct SharedClock {
    own: Arc<dyn Clock>,
    /// The database's time when the monotonic clock began, in microseconds; [`UNKNOWN`] until read.
    beginning: AtomicI64,
}

const UNKNOWN: i64 = i64::MIN;

impl SharedClock {
    pub(crate) fn new(own: Arc<dyn Clock>) -> Self {
        Self {
            own,
            beginning: AtomicI64::new(UNKNOWN),
        }
    }

    /// Takes the database's `time`, read some time after `asked_at` by the monotonic clock. A slow response is inexact,
    /// so it counts only where there is no earlier one.
    pub(crate) fn sync(&self, time: Timestamp, asked_at: Duration) {
        // The time may be off by half of it, which is little beside the seconds of a lease.
        const LONGEST: Duration = Duration::from_secs(2);
        if !self.own.gives_way() {
            return;
        }
        let took = self.own.monotonic().saturating_sub(asked_at);
        let is_known = self.beginning.load(Ordering::Acquire) != UNKNOWN;
        if is_known && took > LONGEST {
            return;
        }
        // As if the database had been read in the middle of the wait, which is off by at most half of it.
        let beginning = time.microseconds() - microseconds(asked_at + took / 2);
        // A time that goes back a little is accepted: leases and grants tolerate seconds, and a clock that only runs
        // ahead would never return to the database's.
        self.beginning.store(beginning, Ordering::Release);
    }

    pub(crate) fn now(&self) -> Timestamp {
        let beginning = self.beginning.load(Ordering::Acquire);
        if beginning == UNKNOWN {
            return self.own.now();
        }
        let now = beginning.saturating_add(microseconds(self.own.monotonic()));
        Timestamp::from_microseconds(now).unwrap_or(Timestamp::MAX)
    }

    pub(crate) fn monotonic(&self) -> Duration {
        self.own.monotonic()
    }
}

fn microseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// Random bytes.
pub trait Random: Send + Sync {
    /// Fills `bytes`.
    ///
    /// # Errors
    /// The system's source is not available.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), crate::core::Error>;
}

/// The operating system's source.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), crate::core::Error> {
        getrandom::fill(bytes).map_err(|_| crate::core::Error::Random)
    }
}

/// The identifier of a failure. Where the system gives no random bytes, all have the same one.
pub(crate) fn fault() -> uuid::Uuid {
    let mut random = [0; 16];
    if SystemRandom.fill(&mut random).is_err() {
        return uuid::Uuid::nil();
    }
    uuid::Builder::from_random_bytes(random).into_uuid()
}

/// Makes identifiers: UUIDs of version 7, in the order of time.
pub(crate) struct Ids<'a> {
    pub(crate) random: &'a dyn Random,
    pub(crate) now: Timestamp,
}

impl Ids<'_> {
    /// A new one, of the type that is made of its bytes.
    pub(crate) fn draw<Id>(&self, of: fn([u8; 16]) -> Id) -> Result<Id, crate::core::Error> {
        let mut random = [0; 10];
        self.random.fill(&mut random)?;
        let milliseconds = u64::try_from(self.now.microseconds() / 1_000).unwrap_or(0);
        let id = uuid::Builder::from_unix_timestamp_millis(milliseconds, &random).into_uuid();
        Ok(of(id.into_bytes()))
    }

    /// A worker's mark on a session, 1 to 2^63 - 1.
    pub(crate) fn holder(&self) -> Result<u64, crate::core::Error> {
        let mut bytes = [0; 8];
        self.random.fill(&mut bytes)?;
        // Databases store signed numbers.
        Ok((u64::from_be_bytes(bytes) >> 1).max(1))
    }
}
