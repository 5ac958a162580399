//! The costs of recall: queries, and their word indexes.

use std::time::Duration;

use prometheus::{Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, Opts, Registry};

use super::{Metrics, entered};

/// From a tenth of a millisecond, for a warm query, to an index of a hundred thousand memories.
const SECONDS: [f64; 13] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5,
];

pub(super) struct Recall {
    question_seconds: Histogram,
    build_seconds: Histogram,
    built_memories: IntCounter,
    evictions: IntCounter,
    rebuilds: IntCounter,
    stored: IntCounterVec,
    indexes: IntGauge,
    bytes: IntGauge,
}

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
    const ALL: [Self; 3] = [Self::Read, Self::Outdated, Self::Unreadable];

    fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Outdated => "outdated",
            Self::Unreadable => "unreadable",
        }
    }
}

impl Recall {
    pub(super) fn in_registry(registry: &Registry) -> Self {
        let histogram = |name, help| {
            let options = HistogramOpts::new(name, help).buckets(SECONDS.to_vec());
            entered(registry, Histogram::with_opts(options))
        };
        let total = |name, help| entered(registry, IntCounter::new(name, help));
        let gauge = |name, help| entered(registry, IntGauge::new(name, help));
        let stored = entered(
            registry,
            IntCounterVec::new(
                Opts::new(
                    "memoir_recall_stored_indexes_total",
                    "Indexes that were looked for in the database before building one, by outcome.",
                ),
                &["outcome"],
            ),
        );
        for outcome in StoredIndex::ALL {
            // Each is served from the beginning, as 0.
            let _ = stored.with_label_values(&[outcome.name()]);
        }
        Self {
            question_seconds: histogram(
                "memoir_recall_duration_seconds",
                "Time until a question was answered by an index, building it where there was none included.",
            ),
            build_seconds: histogram(
                "memoir_recall_index_build_duration_seconds",
                "Time that building an index of an agent's words took, once the texts were opened.",
            ),
            built_memories: total(
                "memoir_recall_indexed_memories_total",
                "Memories that indexes were built of.",
            ),
            evictions: total(
                "memoir_recall_index_evictions_total",
                "Indexes that gave way to others, since all together are under a limit.",
            ),
            rebuilds: total(
                "memoir_recall_index_rebuilds_total",
                "Indexes that were built again after they had given way to others.",
            ),
            stored,
            indexes: gauge(
                "memoir_recall_indexes",
                "Agents whose words this process keeps an index of.",
            ),
            bytes: gauge(
                "memoir_recall_index_bytes",
                "Memory that the indexes take, about.",
            ),
        }
    }
}

impl Metrics {
    /// A query was executed.
    pub(crate) fn recalled(&self, time: Duration) {
        self.recall.question_seconds.observe(time.as_secs_f64());
    }

    pub(crate) fn index_built(&self, memories: usize, time: Duration) {
        self.recall.build_seconds.observe(time.as_secs_f64());
        self.recall.built_memories.inc_by(memories as u64);
    }

    pub(crate) fn stored_index(&self, outcome: StoredIndex) {
        let stored = &self.recall.stored;
        stored.with_label_values(&[outcome.name()]).inc();
    }

    /// One was evicted.
    pub(crate) fn index_left(&self) {
        self.recall.evictions.inc();
    }

    pub(crate) fn index_built_again(&self) {
        self.recall.rebuilds.inc();
    }

    /// The number and the bytes of the kept ones.
    pub(crate) fn indexes_are(&self, count: usize, bytes: usize) {
        self.recall.indexes.set(count as i64);
        self.recall.bytes.set(bytes as i64);
    }
}
