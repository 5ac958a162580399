//! A clock that a test moves.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use memoir_app::Clock;
use memoir_domain::Timestamp;

/// How far each reading moves a ticking clock, in microseconds.
const TICK: i64 = 1_000;

/// When tests begin that do not care when: a Wednesday, at noon.
const BEGINNING: &str = "2026-03-04T12:00:00Z";

/// The time of day and the monotonic clock, both moved by the test alone, or by a millisecond with each reading of the
/// time of day.
pub struct TestClock {
    /// The time of day, in microseconds, before anything has passed.
    beginning: i64,
    /// Microseconds since then, never less than before.
    passed: AtomicI64,
    /// How many microseconds the time of day is behind the elapsed time.
    behind: AtomicI64,
    tick: i64,
    gives_way: bool,
}

impl Default for TestClock {
    /// Stopped at noon on 4 March 2026, a Wednesday, until it is moved.
    fn default() -> Self {
        Self::standing_at(BEGINNING)
    }
}

#[expect(clippy::unwrap_used, reason = "a test says which time it is")]
impl TestClock {
    /// Stopped at that time until it is moved.
    pub fn standing_at(time: &str) -> Self {
        Self::new(time, 0)
    }

    /// Begins at noon on 4 March 2026, a Wednesday, and ticks.
    pub fn ticking() -> Self {
        Self::new(BEGINNING, TICK)
    }

    fn new(time: &str, tick: i64) -> Self {
        let time: Timestamp = time.parse().unwrap();
        Self {
            beginning: time.microseconds(),
            passed: AtomicI64::new(0),
            behind: AtomicI64::new(0),
            tick,
            gives_way: false,
        }
    }

    /// The same, which gives way to the time of a database that several machines share, as a machine's clock does.
    #[must_use]
    pub fn giving_way(self) -> Self {
        Self {
            gives_way: true,
            ..self
        }
    }

    /// Lets time pass.
    pub fn advance(&self, by: Duration) {
        self.passed.fetch_add(microseconds(by), Ordering::SeqCst);
    }

    /// Lets time pass that the time of day does not show.
    pub fn pass(&self, by: Duration) {
        // The clock is set back first: a reader between the two calls reads an earlier time and never a later one.
        self.put_back(by);
        self.advance(by);
    }

    /// Sets the time of day forward, without any time passing.
    pub fn put_forward(&self, by: Duration) {
        self.behind.fetch_sub(microseconds(by), Ordering::SeqCst);
    }

    /// Sets the time of day back, without any time passing.
    pub fn put_back(&self, by: Duration) {
        self.behind.fetch_add(microseconds(by), Ordering::SeqCst);
    }

    /// Sets the time of day to so much before its unset value.
    pub fn set_back(&self, by: Duration) {
        self.behind.store(microseconds(by), Ordering::SeqCst);
    }
}

/// Of any time that a test waits for: more than 290,000 years would not fit.
fn microseconds(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

impl Clock for TestClock {
    #[expect(clippy::unwrap_used, reason = "no test goes to the end of time")]
    fn now(&self) -> Timestamp {
        // One atomic step reads and advances the clock, so that no two readers of a ticking clock get the same time.
        let passed = self.passed.fetch_add(self.tick, Ordering::SeqCst);
        let behind = self.behind.load(Ordering::SeqCst);
        Timestamp::from_microseconds(self.beginning + passed - behind).unwrap()
    }

    fn monotonic(&self) -> Duration {
        Duration::from_micros(self.passed.load(Ordering::SeqCst).unsigned_abs())
    }

    /// A test's time stays its own unless it says otherwise.
    fn gives_way(&self) -> bool {
        self.gives_way
    }
}
