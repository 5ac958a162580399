//! Retrying: the waits, and what is skipped meanwhile.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
    time::Duration,
};

use memoir_domain::Timestamp;

/// After how many seconds a failed agent is tried again.
pub(crate) const AGAIN_AFTER_SECONDS: i64 = 600;

/// The wait after so many failed attempts: `first`, doubled with each further one, and none longer than `longest`.
pub(crate) fn doubled(first: Duration, failures: u32, longest: Duration) -> Duration {
    // A shift by 32 or more overflows; after 16 doublings every wait has reached `longest`.
    let doublings = failures.saturating_sub(1).min(16);
    first.saturating_mul(1 << doublings).min(longest)
}

/// Failed items that are skipped for some time.
#[derive(Debug)]
pub struct PassedOver<Key>(HashMap<Key, PassedOverProblem>);

#[derive(Debug)]
struct PassedOverProblem {
    since: Timestamp,
    code: &'static str,
}

impl<Key> Default for PassedOver<Key> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<Key: Copy + Eq + Hash> PassedOver<Key> {
    /// Notes that it could not be done now, and why. Returns whether that is new: it was not noted before, or for
    /// another reason.
    pub fn note(&mut self, what: Key, code: &'static str, now: Timestamp) -> bool {
        let before = self.0.insert(what, PassedOverProblem { since: now, code });
        before.is_none_or(|before| before.code != code)
    }

    /// It was done.
    pub fn forget(&mut self, what: Key) {
        self.0.remove(&what);
    }

    /// The items to skip at `now`, each for so many seconds.
    pub fn at(&mut self, now: Timestamp, seconds: i64) -> HashSet<Key> {
        /// Long after each was retried, so that a recurring problem is reported again.
        const FORGOTTEN_AFTER_SECONDS: i64 = 86_400;
        // From 0: a clock that was set back must not skip one until it has caught up.
        let age = |noted: &PassedOverProblem| now.seconds_since(noted.since);
        self.0
            .retain(|_, noted| (0..FORGOTTEN_AFTER_SECONDS).contains(&age(noted)));
        let left = self.0.iter().filter(|(_, noted)| age(noted) < seconds);
        left.map(|(what, _)| *what).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let wait = |failures| doubled(Duration::from_secs(10), failures, Duration::from_secs(100));
        let waits = [0, 1, 2, 3, 4, 5, u32::MAX].map(|failures| wait(failures).as_secs());
        assert_eq!(waits, [10, 10, 20, 40, 80, 100, 100]);
    }

    #[test]
    fn what_is_passed_over_is_tried_again_and_the_same_reason_is_no_news() {
        let left = |passed_over: &mut PassedOver<i32>, now| passed_over.at(now, 600);
        let start = Timestamp::MIN;
        let mut passed_over = PassedOver::default();
        assert!(passed_over.note(1, "no_model", start));
        assert!(passed_over.note(2, "no_model", start));
        passed_over.forget(2);
        assert_eq!(
            left(&mut passed_over, start.plus_seconds(599)),
            HashSet::from([1])
        );
        assert!(left(&mut passed_over, start.plus_seconds(600)).is_empty());
        let later = start.plus_seconds(600);
        assert!(!passed_over.note(1, "no_model", later));
        assert!(passed_over.note(1, "not_due", later));
        // A clock that was set back.
        assert!(left(&mut passed_over, start).is_empty());
        assert!(passed_over.note(1, "not_due", start));
        assert!(left(&mut passed_over, start.plus_days(1)).is_empty());
        assert!(passed_over.note(1, "not_due", start.plus_days(1)));
    }
}
