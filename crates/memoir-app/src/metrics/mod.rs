//! The Prometheus metrics of an installation: ends of sessions, edits, trips of the breaker, refusals, model calls,
//! commits, and the queue.
//!
//! Labels are codes from short lists, and the names of models. None names an agent or an account, and none holds text
//! (SPEC 5.1). Events are counted where they are decided or written, once for all interfaces. The edits of a
//! rehearsal's copy are not counted; its model usage and its end are.
//!
//! Records and ends of sessions are counted where a decision is written (`Memoir::write`), tools where a call returns,
//! and model requests in a wrapper around every model (`models.rs`). The database is queried at most every five seconds
//! and for at most a hundredth of the time (`load.rs`). Each `Memoir` has its own counters, so that tests can compare
//! them exactly and a rehearsal's copy is not counted. At most a hundred models are distinguished. The service adds its
//! requests by route, and serves all of it at `/metrics`.
//!
//! The crate is `prometheus` and not the newer `prometheus-client`, which writes OpenMetrics only. There a counter's
//! `TYPE` line has another name than its samples, which `promtool` and other readers of the older format refuse. There
//! is no global recorder: counters are values.

mod commits;
mod load;
mod models;
#[macro_use]
mod table;

use std::collections::{BTreeMap, BTreeSet};

use memoir_domain::{
    Timestamp,
    audit::Action,
    context::CoreShare,
    session::{Driver, EndReason, FailureClass, State},
    tools::{RefusalCode, Tool, ToolResult},
};
use memoir_model::ModelName;
use parking_lot::Mutex;
use prometheus::{
    CounterVec, Gauge, GaugeVec, Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Registry, proto::MetricFamily,
};

pub(crate) use models::Watched;
pub use models::{ModelCallResult, ProviderResponse};
pub use table::{Metric, entered};

use crate::core::Memoir;

/// Most models that are distinguished; all others are counted as `other`. A caller that begins a session can name any,
/// and each takes some forty lines.
const MODELS: usize = 100;

/// From a tenth of a millisecond, for a commit to memory, to the duration with a full disk queue.
const COMMIT_SECONDS: [f64; 14] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
];
/// Those of the OpenTelemetry conventions for `gen_ai.client.operation.duration`.
const MODEL_SECONDS: [f64; 14] = [
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];
/// From a tenth of a millisecond, for a warm query, to an index of a hundred thousand memories.
const RECALL_SECONDS: [f64; 13] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5,
];
/// Up to the default limits of a session, and the half hour of an agent's lease.
const SESSION_SECONDS: [f64; 11] = [
    1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1_800.0, 3_600.0,
];

metric_table! {
    /// The metrics, but for those of requests.
    pub(crate) struct Table {
        sessions_ended: IntCounterVec = "memoir_sessions_ended_total",
            "Refinement sessions that ended, by end, driver (agent or model) and whether they worked on a copy."
                by ["end", "driver", "rehearsal"];
        session_seconds: HistogramVec = "memoir_session_duration_seconds",
            "Time from a session's beginning to its end." by ["end", "driver"] in SESSION_SECONDS;
        end_reasons: IntCounterVec = "memoir_session_end_reasons_total",
            "Sessions that ended other than completed, by reason." by ["reason"];
        session_failures: IntCounterVec = "memoir_session_failures_total",
            "Sessions that failed because their model gave no usable response, by class." by ["failure"];
        breaker_trips: IntCounterVec = "memoir_breaker_trips_total",
            "Sessions that the breaker rolled back, by the limit that they crossed." by ["limit"];
        edits: IntCounterVec = "memoir_session_edits_total",
            "Successful edits and protections of sessions, by tool; those rolled back later included." by ["tool"];
        removed_tokens: IntCounterVec = "memoir_session_removed_tokens_total",
            "Tokens that edits of sessions took out of the core memories, by tool; those rolled back later included."
                by ["tool"];
        session_archived: IntCounter = "memoir_session_archived_total",
            "Memories that edits of sessions moved to the archive; those rolled back later included.";
        session_summaries: IntCounter = "memoir_session_summaries_total",
            "Summaries that edits of sessions wrote; those rolled back later included.";
        memories_replaced: IntCounter = "memoir_memories_replaced_total",
            "Memories that new ones replaced.";
        memories_promoted: IntCounter = "memoir_memories_promoted_total",
            "Archival and journal memories that became core.";
        records: IntCounterVec = "memoir_audit_records_total",
            "Records written to agents' logs, by action." by ["action"];
        tool_calls: IntCounterVec = "memoir_tool_calls_total",
            "Calls of a session's tools, by tool and result (done, refused, rolled_back, failed)."
                by ["tool", "result"];
        refusals: IntCounterVec = "memoir_refusals_total",
            "Calls of a session's tools that were refused, by code." by ["code"];
        model_calls: IntCounterVec = "memoir_model_calls_total",
            "Requests to models, by result: answered, or why not." by ["provider", "model", "result"];
        model_seconds: HistogramVec = "memoir_model_call_duration_seconds",
            "Time that requests to models took, answered or not." by ["provider", "model"] in MODEL_SECONDS;
        model_tokens: IntCounterVec = "memoir_model_tokens_total",
            "Tokens of answered requests to models, as the provider counts them or else estimated."
                by ["provider", "model", "type"];
        model_cost: CounterVec = "memoir_model_cost_total",
            "What answered requests cost, in the currency of the configured prices; models without a price are left out."
                by ["provider", "model"];
        commits: IntCounterVec = "memoir_commits_total",
            "Decisions brought to the store, by result: written, conflict (decided anew), failed." by ["result"];
        commit_seconds: Histogram = "memoir_commit_duration_seconds",
            "Time until a decision was on the disk." in COMMIT_SECONDS;
        agents: IntGauge = "memoir_agents",
            "Agents that are not erased.";
        queued: IntGauge = "memoir_queue_sessions",
            "Sessions that wait for a worker.";
        queue_seconds: Gauge = "memoir_queue_oldest_seconds",
            "Time since the session that waits longest was begun; 0 where none waits.";
        running: IntGaugeVec = "memoir_sessions_running",
            "Running sessions under a lease, by driver (agent or model)." by ["driver"];
        lease_seconds: GaugeVec = "memoir_lease_age_seconds",
            "Time since the lease of a running session that was not renewed for longest was taken or renewed; 0 where none runs."
                by ["driver"];
        database_up: IntGauge = "memoir_database_up",
            "Whether the database answered when it was last asked for the numbers of agents, queue and leases.";
        context_memories: IntCounterVec = "memoir_context_core_memories_total",
            "Core memories of agents whose contexts were made, counted at each context, by the calendar quarter (UTC) in which they were recorded."
                by ["quarter"];
        context_shown: IntCounterVec = "memoir_context_core_shown_total",
            "Those of them that the contexts showed; the share is how much of its memory an agent acts on."
                by ["quarter"];
        recall_seconds: Histogram = "memoir_recall_duration_seconds",
            "Time until a question was answered by an index, building it where there was none included." in RECALL_SECONDS;
        index_build_seconds: Histogram = "memoir_recall_index_build_duration_seconds",
            "Time that building an index of an agent's words took, once the texts were opened." in RECALL_SECONDS;
        indexed_memories: IntCounter = "memoir_recall_indexed_memories_total",
            "Memories that indexes were built of.";
        index_evictions: IntCounter = "memoir_recall_index_evictions_total",
            "Indexes that gave way to others, since all together are under a limit.";
        index_rebuilds: IntCounter = "memoir_recall_index_rebuilds_total",
            "Indexes that were built again after they had given way to others.";
        indexes: IntGauge = "memoir_recall_indexes",
            "Agents whose words this process keeps an index of.";
        index_bytes: IntGauge = "memoir_recall_index_bytes",
            "Memory that the indexes take, about.";
        stored_indexes: IntCounterVec = "memoir_recall_stored_indexes_total",
            "Indexes that were looked for in the database before building one, by outcome." by ["outcome"];
    }
}

pub(crate) struct Metrics {
    registry: Registry,
    pub(crate) table: Table,
    /// The time of the last reading of the database's load by the installation's clock, and its expiry.
    load_read: tokio::sync::Mutex<Option<(Timestamp, Timestamp)>>,
    /// The models that are distinguished.
    models: Mutex<BTreeSet<String>>,
    /// The last response of each provider that is distinguished.
    responses: Mutex<BTreeMap<String, models::LastResponse>>,
}

impl Default for Metrics {
    fn default() -> Self {
        let registry = Registry::new();
        let table = Table::in_registry(&registry);
        table.begin_at_nothing();
        Self {
            registry,
            table,
            load_read: tokio::sync::Mutex::default(),
            models: Mutex::default(),
            responses: Mutex::default(),
        }
    }
}

impl Table {
    /// Enters every label that is known beforehand: a rate misses the first increase of a new label.
    fn begin_at_nothing(&self) {
        let ends = State::ALL.into_iter().filter(|state| !state.is_running());
        for end in ends.map(State::as_str) {
            for driver in Driver::ALL.map(Driver::as_str) {
                for rehearsal in ["false", "true"] {
                    self.sessions_ended
                        .with_label_values(&[end, driver, rehearsal]);
                }
            }
        }
        let enter = |counter: &IntCounterVec, labels: &[&str]| {
            for label in labels {
                counter.with_label_values(&[label]);
            }
        };
        let failures = FailureClass::ALL.map(FailureClass::as_str);
        enter(&self.session_failures, &failures);
        enter(&self.breaker_trips, &["mass", "removed"]);
        enter(&self.edits, &EDITS.map(Tool::as_str));
        enter(&self.removed_tokens, &EDITS.map(Tool::as_str));
        enter(&self.refusals, &RefusalCode::ALL.map(RefusalCode::as_str));
        enter(&self.commits, &["written", "conflict", "failed"]);
        enter(&self.stored_indexes, &["read", "outdated", "unreadable"]);
    }
}

impl Metrics {
    /// Counts a tool's call. `None` for a tool that does not exist, and for a result where there is none.
    pub(crate) fn called(&self, tool: Option<Tool>, result: Option<&ToolResult>) {
        let table = &self.table;
        let kind = match result {
            None => "failed",
            Some(ToolResult::Error { code, .. }) => {
                table.refusals.with_label_values(&[code.as_str()]).inc();
                "refused"
            }
            Some(ToolResult::RefinementRolledBack { .. }) => "rolled_back",
            Some(_) => "done",
        };
        let tool = tool.map_or("unknown", Tool::as_str);
        table.tool_calls.with_label_values(&[tool, kind]).inc();
    }

    /// Counts the core memories of a quarter, and how many of them a context shows.
    pub(crate) fn shown_in_context(&self, quarter: &str, share: &CoreShare) {
        let counted = [
            (&self.table.context_memories, share.memories),
            (&self.table.context_shown, share.shown),
        ];
        for (counter, count) in counted {
            counter.with_label_values(&[quarter]).inc_by(count);
        }
    }

    fn model_labels<'a>(&self, name: &'a ModelName) -> [&'a str; 2] {
        let mut models = self.models.lock();
        if models.contains(name.as_str()) {
            return [name.provider(), name.model()];
        }
        if models.len() >= MODELS {
            // Earlier models keep their lines: a line that ends would read as a model that is not used.
            return ["other", "other"];
        }
        models.insert(name.as_str().to_owned());
        [name.provider(), name.model()]
    }
}

impl Memoir {
    /// All metrics, with the current load, under their served names.
    pub async fn metrics(&self) -> Vec<MetricFamily> {
        self.refresh_load_gauges().await;
        self.state::<Metrics>().registry.gather()
    }
}

/// The tools that change memories.
const EDITS: [Tool; 4] = [Tool::Consolidate, Tool::Update, Tool::Delete, Tool::Protect];

/// The tool that writes a record of that action.
fn tool_of(action: Action) -> Option<Tool> {
    Some(match action {
        Action::MemoryRefinementConsolidate => Tool::Consolidate,
        Action::MemoryRefinementUpdate => Tool::Update,
        Action::MemoryRefinementDelete => Tool::Delete,
        Action::MemoryRefinementProtect => Tool::Protect,
        _ => return None,
    })
}

/// The limit of the breaker that a session crossed; `None` where it ended for another reason.
fn limit_of(reason: EndReason) -> Option<&'static str> {
    match reason {
        EndReason::BreakerCoreSize => Some("mass"),
        EndReason::BreakerRemoved => Some("removed"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_beyond_the_limit_are_counted_together() {
        let metrics = Metrics::default();
        let names: Vec<ModelName> = (0..MODELS + 5)
            .map(|number| format!("lab:model-{number}").parse().unwrap())
            .collect();
        for name in &names {
            metrics.model_labels(name);
        }
        assert_eq!(metrics.model_labels(&names[0]), ["lab", "model-0"]);
        assert_eq!(metrics.model_labels(&names[MODELS]), ["other", "other"]);
    }
}
