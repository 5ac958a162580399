//! What recall costs: questions, and the indexes of words that a process keeps for them.

use std::time::Duration;

use prometheus::{Histogram, HistogramOpts, IntCounter, IntGauge, Registry};

use super::{Metrics, entered, seconds};

/// From a tenth of a millisecond, which a warm question takes, to an index of a hundred thousand memories.
const SECONDS: [f64; 13] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5,
];

pub(super) struct Recall {
    question_seconds: Histogram,
    build_seconds: Histogram,
    built_memories: IntCounter,
    evictions: IntCounter,
    rebuilds: IntCounter,
    indexes: IntGauge,
    bytes: IntGauge,
}

/// An index that was built.
pub(crate) struct IndexBuild {
    /// Of how many memories.
    pub(crate) memories: usize,
    /// How long it took, without reading and opening the texts.
    pub(crate) time: Duration,
}

impl Recall {
    pub(super) fn in_registry(registry: &Registry) -> Self {
        let histogram = |name, help| {
            let options = HistogramOpts::new(name, help).buckets(SECONDS.to_vec());
            entered(registry, Histogram::with_opts(options))
        };
        Self {
            question_seconds: histogram(
                "memoir_recall_duration_seconds",
                "Time until a question was answered by an index, building it where there was none included.",
            ),
            build_seconds: histogram(
                "memoir_recall_index_build_duration_seconds",
                "Time that building an index of an agent's words took, once the texts were opened.",
            ),
            built_memories: entered(
                registry,
                IntCounter::new(
                    "memoir_recall_indexed_memories_total",
                    "Memories that indexes were built of.",
                ),
            ),
            evictions: entered(
                registry,
                IntCounter::new(
                    "memoir_recall_index_evictions_total",
                    "Indexes that gave way to others, since all together are under a limit.",
                ),
            ),
            rebuilds: entered(
                registry,
                IntCounter::new(
                    "memoir_recall_index_rebuilds_total",
                    "Indexes that were built again after they had given way to others.",
                ),
            ),
            indexes: entered(
                registry,
                IntGauge::new(
                    "memoir_recall_indexes",
                    "Agents whose words this process keeps an index of.",
                ),
            ),
            bytes: entered(
                registry,
                IntGauge::new(
                    "memoir_recall_index_bytes",
                    "Memory that the indexes take, about.",
                ),
            ),
        }
    }
}

impl Metrics {
    /// A question was answered.
    pub(crate) fn recalled(&self, time: Duration) {
        self.recall.question_seconds.observe(seconds(time));
    }

    /// An index was built.
    pub(crate) fn index_built(&self, built: &IndexBuild) {
        self.recall.build_seconds.observe(seconds(built.time));
        self.recall.built_memories.inc_by(built.memories as u64);
    }

    /// One gave way to others.
    pub(crate) fn index_left(&self) {
        self.recall.evictions.inc();
    }

    /// One that had given way was built again.
    pub(crate) fn index_built_again(&self) {
        self.recall.rebuilds.inc();
    }

    /// So many are kept, of so many bytes.
    pub(crate) fn indexes_are(&self, count: usize, bytes: usize) {
        self.recall.indexes.set(count as i64);
        self.recall.bytes.set(bytes as i64);
    }
}
