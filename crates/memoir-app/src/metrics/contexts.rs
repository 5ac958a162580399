//! How much of their core memories agents act on, by the contexts that are made.

use memoir_domain::context::CoreShare;
use prometheus::{IntCounterVec, Opts, Registry};

use super::{Metrics, entered};

pub(super) struct Contexts {
    memories: IntCounterVec,
    shown: IntCounterVec,
}

impl Contexts {
    pub(super) fn in_registry(registry: &Registry) -> Self {
        let counter = |name, help| {
            entered(
                registry,
                IntCounterVec::new(Opts::new(name, help), &["quarter"]),
            )
        };
        Self {
            memories: counter(
                "memoir_context_core_memories_total",
                "Core memories of agents whose contexts were made, counted at each context, by the calendar quarter (UTC) in which they were recorded.",
            ),
            shown: counter(
                "memoir_context_core_shown_total",
                "Those of them that the contexts showed; the share is how much of its memory an agent acts on.",
            ),
        }
    }
}

impl Metrics {
    /// Counts the core memories of a quarter, and how many of them a context shows.
    pub(crate) fn shown_in_context(&self, quarter: &str, share: &CoreShare) {
        let counters = &self.contexts;
        let counted = [
            (&counters.memories, share.memories),
            (&counters.shown, share.shown),
        ];
        for (counter, count) in counted {
            counter.with_label_values(&[quarter]).inc_by(count);
        }
    }
}
