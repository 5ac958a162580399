//! Commits: their durations, and the counters of their decisions.

use std::time::{Duration, Instant};

use memoir_domain::{
    audit::{Action, Record},
    draft::Decision,
    session::{Session, State},
};
use memoir_store::{Commit, Error};
use tracing::Instrument;

use super::{Metrics, driver_name, limit_of, seconds, tool_of};
use crate::{Memoir, RequestAttempt, Result, spans};

/// How often a commit with a lost response is written again, at most.
const RESENT: usize = 4;
/// How long the outcome of such a commit is queried while the database does not respond: a restarted server accepts its
/// first connections within that.
const PATIENCE: Duration = Duration::from_secs(3);
/// The wait between two attempts at a database that does not respond.
const PAUSE: Duration = Duration::from_millis(200);

/// The counters of a decision, once it is written.
#[derive(Default)]
pub(crate) struct Counted {
    records: Vec<CountedRecord>,
    ended: Vec<EndedSession>,
}

/// The counters of a record.
struct CountedRecord {
    action: Action,
    /// The tokens that an edit removed from the core memories.
    removed_tokens: u64,
    /// The memories that an edit moved to the archive.
    archived: u64,
    /// The summaries that an edit wrote.
    summaries: u64,
}

impl CountedRecord {
    fn of(record: &Record) -> Self {
        let (action, facts) = (record.action, &record.facts);
        // Records of other actions may have facts of the same names.
        let is_edit = action.is_session_edit();
        let count = |name| facts.count_of(name).filter(|_| is_edit).unwrap_or(0);
        Self {
            action,
            removed_tokens: count("tokens_removed"),
            archived: match is_edit {
                true => facts.places_of("archived").count() as u64,
                false => 0,
            },
            summaries: count("summaries"),
        }
    }
}

/// A session that ends with the decision.
struct EndedSession {
    end: &'static str,
    driver: &'static str,
    rehearsal: bool,
    reason: Option<memoir_domain::session::EndReason>,
    seconds: f64,
}

impl Counted {
    /// Adds another one that is written with it.
    pub(crate) fn add(&mut self, other: Self) {
        self.records.extend(other.records);
        self.ended.extend(other.ended);
    }

    /// Of a decision that is about to be written.
    pub(crate) fn of(decision: &Decision) -> Self {
        let ended = decision
            .records
            .iter()
            .filter(|record| record.action.is_session_end())
            .filter_map(|record| {
                let is_it = |session: &&Session| Some(session.id) == record.session;
                decision.sessions.iter().find(is_it)
            })
            .filter(|session| !session.state.is_running())
            .map(EndedSession::of)
            .collect();
        let records = decision.records.iter();
        Self {
            records: records.map(CountedRecord::of).collect(),
            ended,
        }
    }
}

impl EndedSession {
    fn of(session: &Session) -> Self {
        let microseconds = session.ended_at.map_or(0, |ended_at| {
            ended_at.microseconds() - session.started_at.microseconds()
        });
        Self {
            end: session.state.as_str(),
            driver: driver_name(session.driver),
            rehearsal: session.rehearsal,
            reason: session
                .end_reason
                .filter(|_| session.state != State::Completed),
            // The clock may have been set back while the session ran.
            seconds: microseconds.max(0) as f64 / 1e6,
        }
    }
}

impl Memoir {
    /// Writes a decision, with the mark of its request, and counts it once it is written.
    pub(crate) async fn write(&self, mut commit: Commit, counted: Counted) -> Result<()> {
        let attempt = RequestAttempt::current(commit.agent.scope.account);
        if let Some(attempt) = &attempt {
            commit.reply = Some(attempt.mark(&commit)?);
        }
        let span = spans::commit(counted.records.len());
        let begun = Instant::now();
        let written = self.resolve_outcome(commit).instrument(span.clone()).await;
        if let (Some(attempt), Ok(())) = (attempt, &written) {
            attempt.note_written();
        }
        let result = self.count_written(&written, &counted);
        spans::committed(&span, result);
        // Only written commits are timed: a conflict is found before anything is written, and would make a slow disk
        // look fast.
        if written.is_ok() {
            self.metrics
                .commit_seconds
                .observe(seconds(begun.elapsed()));
        }
        Ok(written?)
    }

    /// Writes a commit, and resolves its outcome where the store's response is lost.
    async fn resolve_outcome(&self, commit: Commit) -> memoir_store::Result<()> {
        match self.store.commit(commit).await {
            // On the heap: it is rare.
            Err(Error::OutcomeUnknown(same)) => Box::pin(self.resolve_lost(same)).await,
            written => written,
        }
    }

    /// Writes the very same commit again: it can be written only once, since it moves the agent's version. If that is
    /// refused, the record at its place in the log shows whether the first attempt was written.
    async fn resolve_lost(&self, same: Box<Commit>) -> memoir_store::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let mut refusal = None;
        // Not by `again`: nothing is loaded and decided anew, and after a conflict the writer must be identified.
        let mut resent = 0;
        while resent == 0 || resent < RESENT && Instant::now() < deadline {
            match self.store.commit(Commit::clone(&same)).await {
                Err(Error::OutcomeUnknown(_)) => resent += 1,
                Err(Error::Unreachable { .. }) if Instant::now() < deadline => {
                    tokio::time::sleep(PAUSE).await;
                }
                Ok(()) => return Ok(()),
                Err(error) => {
                    refusal = Some(error);
                    break;
                }
            }
        }
        let found = match same.records.last() {
            // The database did not respond so far.
            Some(_) if matches!(refusal, Some(Error::Unreachable { .. })) => Ok(None),
            Some(newest) => {
                let place = [newest.seq];
                let records = self.store.records_at(same.agent.scope, &place).await;
                records.map(|found| found.first().map(|record| record.hash == newest.hash))
            }
            // A commit without a record changes nothing that an agent remembers: deciding it again is harmless.
            None => Ok(None),
        };
        match (found, refusal) {
            (Ok(Some(true)), _) => Ok(()),
            // The store finds these once no other transaction locks the agent, not even the first attempt's: that one
            // can no longer succeed.
            (
                Ok(_),
                Some(
                    error @ (Error::Conflict
                    | Error::NameTaken
                    | Error::SessionRunning
                    | Error::Repeated),
                ),
            ) => Err(error),
            // Another's record has the place.
            (Ok(Some(false)), _) => Err(Error::Conflict),
            // Any other error shows only that the last attempt wrote nothing.
            (Ok(None) | Err(_), _) => Err(Error::OutcomeUnknown(same)),
        }
    }

    /// Counts a transaction, and its contents if written. Returns its label.
    pub(crate) fn count_written(
        &self,
        written: &memoir_store::Result<()>,
        counted: &Counted,
    ) -> &'static str {
        let result = match written {
            Ok(()) => "written",
            Err(Error::Conflict) => "conflict",
            Err(_) => "failed",
        };
        self.metrics.commits.with_label_values(&[result]).inc();
        if written.is_ok() {
            self.metrics.written(counted);
        }
        result
    }
}

impl Metrics {
    fn written(&self, counted: &Counted) {
        for record in &counted.records {
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
        for ended in &counted.ended {
            self.ended(ended);
        }
    }

    fn ended(&self, ended: &EndedSession) {
        let rehearsal = if ended.rehearsal { "true" } else { "false" };
        self.sessions_ended
            .with_label_values(&[ended.end, ended.driver, rehearsal])
            .inc();
        self.session_seconds
            .with_label_values(&[ended.end, ended.driver])
            .observe(ended.seconds);
        let Some(reason) = ended.reason else { return };
        self.end_reasons.with_label_values(&[reason.as_str()]).inc();
        if let Some(limit) = limit_of(reason).filter(|_| !ended.rehearsal) {
            self.breaker_trips.with_label_values(&[limit]).inc();
        }
    }
}
