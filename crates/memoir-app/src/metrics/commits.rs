//! Commits: their durations, and the counters of their decisions.

use std::time::Duration;

use memoir_domain::audit::Action;

use super::{Metrics, limit_of, tool_of};
use crate::core::{
    CommitCounts, CommitListener,
    commit::{EndedSession, Outcome},
};

impl CommitListener for Metrics {
    fn ended(&self, outcome: Outcome, counts: &CommitCounts, took: Option<Duration>) {
        self.commits.with_label_values(&[outcome.as_str()]).inc();
        if outcome != Outcome::Written {
            // Not timed: a conflict is found before anything is written, and would make a slow disk look fast.
            return;
        }
        self.written(counts);
        if let Some(took) = took {
            self.commit_seconds.observe(took.as_secs_f64());
        }
    }
}

impl Metrics {
    fn written(&self, counts: &CommitCounts) {
        for record in &counts.records {
            let action = record.action;
            self.records.with_label_values(&[action.as_str()]).inc();
            if let Some(tool) = tool_of(action) {
                self.edits.with_label_values(&[tool.as_str()]).inc();
                self.removed_tokens
                    .with_label_values(&[tool.as_str()])
                    .inc_by(record.removed_tokens);
            }
            self.session_archived.inc_by(record.archived);
            self.session_summaries.inc_by(record.summaries);
            match action {
                Action::MemoryReplaced => self.memories_replaced.inc(),
                Action::MemoryPromoted => self.memories_promoted.inc(),
                _ => {}
            }
        }
        for ended in &counts.ended {
            self.session_ended(ended);
        }
    }

    fn session_ended(&self, ended: &EndedSession) {
        let rehearsal = if ended.rehearsal { "true" } else { "false" };
        self.sessions_ended
            .with_label_values(&[ended.end, ended.driver, rehearsal])
            .inc();
        self.session_seconds
            .with_label_values(&[ended.end, ended.driver])
            .observe(ended.seconds);
        let Some(reason) = ended.reason else { return };
        self.end_reasons.with_label_values(&[reason.as_str()]).inc();
        if let Some(failure) = ended.failure {
            self.session_failures
                .with_label_values(&[failure.as_str()])
                .inc();
        }
        if let Some(limit) = limit_of(reason).filter(|_| !ended.rehearsal) {
            self.breaker_trips.with_label_values(&[limit]).inc();
        }
    }
}
