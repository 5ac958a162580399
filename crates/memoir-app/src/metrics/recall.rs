//! The costs of recall: queries, and their word indexes.

use std::time::Duration;

use super::Metrics;

/// The outcome of looking for an index that another process stored.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StoredIndex {
    /// It was read, in place of building one.
    Read,
    /// There is none, or too much was written since.
    Outdated,
    /// It is not as Memoir wrote it, or another version of Memoir wrote it.
    Unreadable,
}

impl StoredIndex {
    pub(super) const ALL: [Self; 3] = [Self::Read, Self::Outdated, Self::Unreadable];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Outdated => "outdated",
            Self::Unreadable => "unreadable",
        }
    }
}

impl Metrics {
    /// A query was executed.
    pub(crate) fn recalled(&self, time: Duration) {
        self.table.recall_seconds.observe(time.as_secs_f64());
    }

    pub(crate) fn index_built(&self, memories: usize, time: Duration) {
        self.table.index_build_seconds.observe(time.as_secs_f64());
        self.table.indexed_memories.inc_by(memories as u64);
    }

    pub(crate) fn stored_index(&self, outcome: StoredIndex) {
        let counter = &self.table.stored_indexes;
        counter.with_label_values(&[outcome.name()]).inc();
    }

    /// One was evicted.
    pub(crate) fn index_left(&self) {
        self.table.index_evictions.inc();
    }

    pub(crate) fn index_built_again(&self) {
        self.table.index_rebuilds.inc();
    }

    /// The number of the kept ones, and their bytes by the length of the memories.
    pub(crate) fn indexes_are(&self, count: usize, bytes: usize) {
        self.table.indexes.set(count as i64);
        self.table.index_bytes.set(bytes as i64);
    }
}
