//! The state of the database: agents, the queue, running sessions and their leases. It is queried on demand, with a
//! minimum interval.

use std::time::{Duration, Instant};

use memoir_domain::{Timestamp, session::Driver};
use memoir_store::FleetLoad;

use super::{Metrics, Table};
use crate::{
    core::{Memoir, spans::whole},
    sessions::own_lease_time,
};

/// How long a result of the database is used.
const FRESH: Duration = Duration::from_secs(5);
/// And at least so many times as long as the query took, so that queries take at most a hundredth of the database's
/// time.
const REST: u32 = 100;

impl Table {
    fn show_load(&self, load: &FleetLoad, now: Timestamp, lease_of: impl Fn(Driver) -> Duration) {
        self.agents.set(whole(load.agents));
        self.queued.set(whole(load.waiting));
        let waited = load.waiting_since.map_or(0.0, |since| between(since, now));
        self.queue_seconds.set(waited);
        for driver in Driver::ALL {
            let name = [driver.as_str()];
            let held = load.held.iter().find(|held| held.driver == driver);
            let sessions = held.map_or(0, |held| held.sessions);
            self.running.with_label_values(&name).set(whole(sessions));
            // Acquiring or renewing a lease sets it to its full length, so the missing part is its age.
            let age = held.map_or(0.0, |held| {
                lease_of(driver).as_secs_f64() - between(now, held.first_until)
            });
            self.lease_seconds
                .with_label_values(&name)
                .set(age.max(0.0));
        }
    }
}

impl Memoir {
    /// Queries the database, unless it was queried recently.
    pub(super) async fn refresh_load_gauges(&self) {
        let metrics = self.state::<Metrics>();
        // Of many concurrent callers, one queries the database and the others wait for its result.
        let mut fresh = metrics.load_read.lock().await;
        let now = self.now();
        // A clock that was set back must not keep a result for hours.
        if fresh.is_some_and(|(from, until)| (from..until).contains(&now)) {
            return;
        }
        let begun = Instant::now();
        let load = self.store.load().await;
        let counts = FRESH.max(begun.elapsed() * REST);
        // The time is noted even without a response, so that not every reader queries a database that is down.
        *fresh = Some((now, now.plus(counts)));
        // The other gauges keep their values: 0 agents would read as an emptied installation.
        metrics.table.database_up.set(i64::from(load.is_ok()));
        match load {
            Ok(load) => metrics.table.show_load(&load, now, |driver| match driver {
                Driver::Agent => own_lease_time(&self.settings),
                Driver::Model => self.settings.lease,
            }),
            Err(error) => tracing::warn!(%error, "the load cannot be read"),
        }
    }
}

/// Seconds from one time to another, negative where that is earlier.
fn between(from: Timestamp, to: Timestamp) -> f64 {
    (to.microseconds() - from.microseconds()) as f64 / 1e6
}
