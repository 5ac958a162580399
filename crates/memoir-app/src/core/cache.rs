//! A cache with a size limit, for the caches of all modules.

use std::{collections::HashMap, hash::Hash, time::Instant};

/// A cache up to a weight of `LIMIT`. The least recently put entry is evicted, so a session in use stays.
pub(crate) struct BoundedCache<K, V, const LIMIT: usize> {
    weight: usize,
    kept: HashMap<K, Entry<V>>,
    turn: u64,
}

struct Entry<V> {
    turn: u64,
    put_at: Instant,
    weight: usize,
    value: V,
}

impl<K, V, const LIMIT: usize> Default for BoundedCache<K, V, LIMIT> {
    fn default() -> Self {
        Self {
            weight: 0,
            kept: HashMap::new(),
            turn: 0,
        }
    }
}

impl<K: Hash + Eq + Copy, V, const LIMIT: usize> BoundedCache<K, V, LIMIT> {
    #[cfg(test)]
    pub(crate) fn weight(&self) -> usize {
        self.weight
    }

    pub(crate) fn has(&self, key: K) -> bool {
        self.kept.contains_key(&key)
    }

    /// The value of that key, which stays.
    pub(crate) fn peek(&self, key: K) -> Option<&V> {
        self.kept.get(&key).map(|entry| &entry.value)
    }

    pub(crate) fn take(&mut self, key: K) -> Option<V> {
        self.take_weighed(key).map(|(_, value)| value)
    }

    fn take_weighed(&mut self, key: K) -> Option<(usize, V)> {
        let Entry { weight, value, .. } = self.kept.remove(&key)?;
        self.weight -= weight;
        Some((weight, value))
    }

    /// Returns the entries that were put before that time, to be dropped as those of [`BoundedCache::put`].
    #[must_use = "is dropped once nothing is locked any more"]
    pub(crate) fn take_put_before(&mut self, time: Instant) -> Vec<V> {
        let gone = self.kept.extract_if(|_, entry| entry.put_at < time);
        let gone: Vec<Entry<V>> = gone.map(|(_, entry)| entry).collect();
        self.weight -= gone.iter().map(|entry| entry.weight).sum::<usize>();
        gone.into_iter().map(|entry| entry.value).collect()
    }

    /// Returns the evicted entries with their size: wiping and freeing them is slow, and must not block the lock.
    #[must_use = "is dropped once nothing is locked any more"]
    pub(crate) fn put(&mut self, key: K, weight: usize, value: V) -> Vec<(usize, V)> {
        let mut gone = Vec::from_iter(self.take_weighed(key));
        while self.weight + weight > LIMIT {
            // All entries are searched, rather than kept in order, because this happens only at the limit.
            let oldest = self.kept.iter().min_by_key(|(_, entry)| entry.turn);
            // A value that is larger than the limit is kept, but alone.
            let Some(oldest) = oldest.map(|(key, _)| *key) else {
                break;
            };
            gone.extend(self.take_weighed(oldest));
        }
        self.turn += 1;
        self.weight += weight;
        let entry = Entry {
            turn: self.turn,
            put_at: Instant::now(),
            weight,
            value,
        };
        self.kept.insert(key, entry);
        gone
    }
}

impl<K: Hash + Eq + Copy, V: Clone, const LIMIT: usize> BoundedCache<K, V, LIMIT> {
    /// A copy of the value of that key, which stays.
    pub(crate) fn get(&self, key: K) -> Option<V> {
        self.peek(key).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_there_longest_ago_gives_way() {
        let mut kept = BoundedCache::<_, _, 10>::default();
        for key in 0..10 {
            assert!(kept.put(key, 1, key).is_empty());
        }
        // A session that is used is the youngest again.
        let first = kept.take(0).unwrap();
        assert!(kept.put(0, 1, first).is_empty());
        assert_eq!(kept.put(10, 2, 10), [(1, 1), (1, 2)]);
        assert_eq!((kept.take(1), kept.take(2)), (None, None));
        assert_eq!((kept.take(0), kept.take(3)), (Some(0), Some(3)));
        // A value that is larger than the limit is kept alone, until the next one comes.
        assert_eq!(kept.put(11, 50, 11).len(), 7);
        assert_eq!((kept.kept.len(), kept.weight), (1, 50));
        assert_eq!(kept.put(12, 1, 12), [(50, 11)]);
        assert_eq!((kept.take(11), kept.weight), (None, 1));
        assert_eq!((kept.take(12), kept.weight), (Some(12), 0));
    }

    #[test]
    fn what_was_not_put_again_since_a_time_is_taken_out() {
        let mut kept = BoundedCache::<_, _, 10>::default();
        assert!(kept.put(1, 4, 1).is_empty());
        let between = Instant::now();
        assert!(kept.put(2, 3, 2).is_empty());
        assert_eq!(kept.take_put_before(between), [1]);
        assert_eq!((kept.take(1), kept.weight), (None, 3));
        assert_eq!(kept.take_put_before(between), [0; 0]);
    }
}
