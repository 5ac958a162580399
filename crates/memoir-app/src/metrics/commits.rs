//! Commits: their durations, and the counters of their decisions.

use std::time::Duration;

use memoir_domain::{
    audit::Action,
    session::{Session, State},
};

use super::{Metrics, Table, limit_of, tool_of};
use crate::core::{CommitCounts, CommitListener, commit::Outcome};

impl CommitListener for Metrics {
    fn ended(&self, outcome: Outcome, counts: &CommitCounts, took: Option<Duration>) {
        let table = &self.table;
        table.commits.with_label_values(&[outcome.as_str()]).inc();
        if outcome != Outcome::Written {
            // Not timed: a conflict is found before anything is written, and would make a slow disk look fast.
            return;
        }
        table.written(counts);
        if let Some(took) = took {
            table.commit_seconds.observe(took.as_secs_f64());
        }
    }
}

impl Table {
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
        for session in &counts.ended {
            self.session_ended(session);
        }
    }

    fn session_ended(&self, session: &Session) {
        let (end, driver) = (session.state.as_str(), session.driver.as_str());
        let rehearsal = if session.rehearsal { "true" } else { "false" };
        self.sessions_ended
            .with_label_values(&[end, driver, rehearsal])
            .inc();
        let took = session.ended_at.map(|at| at.since(session.started_at));
        self.session_seconds
            .with_label_values(&[end, driver])
            .observe(took.unwrap_or_default().as_secs_f64());
        let reason = session
            .end_reason
            .filter(|_| session.state != State::Completed);
        let Some(reason) = reason else { return };
        self.end_reasons.with_label_values(&[reason.as_str()]).inc();
        if let Some(failure) = session.failure {
            self.session_failures
                .with_label_values(&[failure.as_str()])
                .inc();
        }
        if let Some(limit) = limit_of(reason).filter(|_| !session.rehearsal) {
            self.breaker_trips.with_label_values(&[limit]).inc();
        }
    }
}
