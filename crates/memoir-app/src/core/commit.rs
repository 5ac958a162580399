//! Writing decisions: the transaction, its outcome where the store's response is lost, and the modules that follow it.

use std::{
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

use memoir_domain::{
    AgentScope,
    audit::{Action, Change, Record},
    draft::Decision,
    memory::Number,
    session::Session,
};
use memoir_store::{AgentQuery, Commit, Error as StoreError};
use tracing::Instrument;

use super::{
    AgentHandle, Memoir, Result,
    codec::{self, Base, Writing},
    quotas,
    replies::RequestAttempt,
    spans,
};

/// How often a commit with a lost response is written again, at most.
const RESENT: usize = 4;
/// How long the outcome of such a commit is queried while the database does not respond: a restarted server accepts its
/// first connections within that.
const PATIENCE: Duration = Duration::from_secs(3);
/// The wait between two attempts at a database that does not respond.
const PAUSE: Duration = Duration::from_millis(200);

/// What to do once a decision is written; dropped where it is not.
pub(crate) type AfterCommit = Box<dyn FnOnce(&Committed<'_>) + Send>;

pub(crate) struct Committed<'a> {
    pub(crate) scope: AgentScope,
    /// What it was decided on.
    pub(crate) from: &'a Base,
    /// What the next decision may be made on.
    pub(crate) next: &'a Base,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Written,
    /// Another process wrote meanwhile; nothing was written.
    Conflict,
    Failed,
}

impl Outcome {
    /// Its name in metrics and spans.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Conflict => "conflict",
            Self::Failed => "failed",
        }
    }

    fn of(written: &memoir_store::Result<()>) -> Self {
        match written {
            Ok(()) => Self::Written,
            Err(StoreError::Conflict) => Self::Conflict,
            Err(_) => Self::Failed,
        }
    }
}

/// A module that follows what this process writes: a cache, a counter, or a task that is woken. The order of the
/// listeners is declared where an installation is made.
pub(crate) trait CommitListener: Send + Sync {
    /// Called before a decision is written; may add to its sessions. Returns what to do once it is written; `None`
    /// where there is nothing to do.
    fn prepare(
        self: Arc<Self>,
        _agent: &AgentHandle,
        _decision: &mut Decision,
    ) -> Option<AfterCommit> {
        None
    }

    /// A transaction ended. `took` is its duration; `None` where many decisions shared it.
    fn ended(&self, _outcome: Outcome, _counts: &CommitCounts, _took: Option<Duration>) {}

    /// Many decisions on one agent were written in one transaction, without [`CommitListener::prepare`].
    fn wrote_together(&self, _agent: &AgentHandle) {}

    /// Wipes what is cached of an agent. It was erased, also by another process, so that nothing of it may stay.
    fn forget_agent(&self, _scope: AgentScope) {}

    /// Wipes the texts that were last used before that time.
    fn forget_unused(&self, _since: Instant) {}

    /// A decision was refused because a session is open. May close that session, where its lease has lapsed.
    fn session_conflict<'a>(
        &'a self,
        _agent: &'a AgentHandle,
    ) -> Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>> {
        Box::pin(async { Ok(()) })
    }
}

/// The counters of a decision, once it is written.
#[derive(Default)]
pub(crate) struct CommitCounts {
    pub(crate) records: Vec<RecordCounts>,
    /// The sessions that end with it, without their texts.
    pub(crate) ended: Vec<Session>,
}

pub(crate) struct RecordCounts {
    pub(crate) action: Action,
    /// The tokens that an edit removed from the core memories.
    pub(crate) removed_tokens: u64,
    /// The memories that an edit moved to the archive.
    pub(crate) archived: u64,
    pub(crate) summaries: u64,
}

impl RecordCounts {
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

impl CommitCounts {
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
            .map(|session| Session {
                summary: None,
                reason: None,
                ..session.clone()
            })
            .collect();
        let records = decision.records.iter();
        Self {
            records: records.map(RecordCounts::of).collect(),
            ended,
        }
    }
}

impl Memoir {
    /// As [`codec::commit`], by this installation's source of random bytes and time zone.
    pub(crate) fn sealed_commit(
        &self,
        base: &Base,
        writing: impl Into<Writing>,
    ) -> Result<(Commit, Base)> {
        let time_zone = &self.settings.weekly_slot.time_zone;
        codec::commit(base, writing.into(), self.random.as_ref(), time_zone)
    }

    /// Writes a decision, with the mark of its request, and reports the transaction to the listeners.
    pub(crate) async fn write(&self, mut commit: Commit, counts: CommitCounts) -> Result<()> {
        let attempt = RequestAttempt::current(commit.agent.scope.account);
        if let Some(attempt) = &attempt {
            commit.reply = Some(attempt.mark(&commit)?);
        }
        let span = spans::commit(counts.records.len());
        let begun = Instant::now();
        let written = self.resolve_outcome(commit).instrument(span.clone()).await;
        if let (Some(attempt), Ok(())) = (attempt, &written) {
            attempt.note_written();
        }
        let outcome = self.report(&written, &counts, Some(begun.elapsed()));
        spans::committed(&span, outcome.as_str());
        Ok(written?)
    }

    pub(crate) fn report(
        &self,
        written: &memoir_store::Result<()>,
        counts: &CommitCounts,
        took: Option<Duration>,
    ) -> Outcome {
        let outcome = Outcome::of(written);
        for listener in self.listeners.iter() {
            listener.ended(outcome, counts, took);
        }
        outcome
    }

    /// Writes a commit, and resolves its outcome where the store's response is lost.
    async fn resolve_outcome(&self, commit: Commit) -> memoir_store::Result<()> {
        match self.store.commit(commit).await {
            // On the heap: it is rare.
            Err(StoreError::OutcomeUnknown(same)) => Box::pin(self.resolve_lost(same)).await,
            written => written,
        }
    }

    /// Writes the very same commit again: it can be written only once, since it moves the agent's version. If that is
    /// refused, the record at its place in the log, or else the row of its session, shows whether the first attempt was
    /// written.
    async fn resolve_lost(&self, same: Box<Commit>) -> memoir_store::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let mut refusal = None;
        // Not by `again`: nothing is loaded and decided anew, and after a conflict the writer must be identified.
        let mut resent = 0;
        while resent == 0 || resent < RESENT && Instant::now() < deadline {
            match self.store.commit(Commit::clone(&same)).await {
                Err(StoreError::OutcomeUnknown(_)) => resent += 1,
                Err(StoreError::Unreachable { .. }) if Instant::now() < deadline => {
                    tokio::time::sleep(PAUSE).await;
                }
                Ok(()) => return Ok(()),
                Err(error) => {
                    refusal = Some(error);
                    break;
                }
            }
        }
        let found = match (same.records.last(), same.sessions.last()) {
            // The database did not respond so far.
            _ if matches!(refusal, Some(StoreError::Unreachable { .. })) => Ok(None),
            (Some(_), _) => self.is_recorded(&same).await,
            // Decided again, a session that was begun or acquired would be refused because of itself. No two seals are
            // equal, so that the same document is this commit's own. Another one shows nothing: it may be of any age.
            (None, Some(session)) => {
                let query = AgentQuery::of_session(session.id);
                let found = self.store.snapshot(same.agent.scope, &query).await;
                found.map(|found| {
                    let row = found?.session?;
                    (row.document == session.document).then_some(true)
                })
            }
            // Any other commit without a record changes nothing that an agent remembers: deciding it again is harmless.
            (None, None) => Ok(None),
        };
        match (found, refusal) {
            (Ok(Some(true)), _) => Ok(()),
            // The store finds these once no other transaction locks the agent, not even the first attempt's: that one
            // can no longer succeed.
            (
                Ok(_),
                Some(
                    error @ (StoreError::Conflict
                    | StoreError::NameTaken
                    | StoreError::SessionRunning
                    | StoreError::Repeated),
                ),
            ) => Err(error),
            // Another's record has the place.
            (Ok(Some(false)), _) => Err(StoreError::Conflict),
            // Any other error shows only that the last attempt wrote nothing.
            (Ok(None) | Err(_), _) => Err(StoreError::OutcomeUnknown(same)),
        }
    }

    /// Resolves the outcome of decisions that were written together, of which `last` is the last one, where the store's
    /// response is lost. They are gone, and cannot be written again. `fence` writes the agent as it was before them, on
    /// the same version: the store writes either them or this one. [`StoreError::Conflict`]: nothing of them was
    /// written, nor will be.
    pub(crate) async fn resolve_together(
        &self,
        last: Box<Commit>,
        fence: Commit,
    ) -> memoir_store::Result<()> {
        match self.resolve_lost(Box::new(fence)).await {
            Ok(()) => Err(StoreError::Conflict),
            // The agent has another version: by them, or by another process.
            Err(StoreError::Conflict) => match self.is_recorded(&last).await {
                Ok(Some(true)) => Ok(()),
                Ok(_) => Err(StoreError::Conflict),
                Err(_) => Err(StoreError::OutcomeUnknown(last)),
            },
            Err(_) => Err(StoreError::OutcomeUnknown(last)),
        }
    }

    /// Whether the place of a commit's newest record has that record, or another one; `None` where it has none.
    async fn is_recorded(&self, commit: &Commit) -> memoir_store::Result<Option<bool>> {
        let Some(newest) = commit.records.last() else {
            return Ok(None);
        };
        let place = [newest.seq];
        let found = self.store.records_at(commit.agent.scope, &place).await?;
        Ok(found.first().map(|record| record.hash == newest.hash))
    }
}

impl AgentHandle {
    /// Writes a decision that was made on `base`, and returns the base of the next one.
    pub(crate) async fn commit(&self, base: &Base, writing: impl Into<Writing>) -> Result<Base> {
        let mut writing = writing.into();
        let memoir = &self.memoir;
        let listeners = memoir.listeners.iter();
        let after: Vec<AfterCommit> = listeners
            .filter_map(|listener| listener.clone().prepare(self, &mut writing.decision))
            .collect();
        let decision = &writing.decision;
        let counts = CommitCounts::of(decision);
        let new = quotas::new_memories(decision);
        // Making rows consumes the decision: what is needed after the write is kept here. Numbers only: the cached
        // others stay, and these are opened from their rows at the next use.
        let changed: Vec<Number> = decision.changes.iter().map(Change::number).collect();
        let takes_words = !decision.redactions.is_empty();
        let (commit, next) = memoir.sealed_commit(base, writing)?;
        // Sealing takes a key from memory. The check comes as late as possible: data under a key whose file is gone is
        // lost with the process.
        memoir.keys.check_there()?;
        let used = quotas::written(new, &commit);
        Box::pin(memoir.write(commit, counts)).await?;
        memoir.usages.add(self.scope, &used);
        memoir
            .room
            .follow(self.scope, base.version(), next.version());
        // Only now: the caches are of the decision's version, and move to the next one only once that is written. They
        // are dropped where text was removed: they may hold it.
        let opened = &memoir.opened;
        match next.memories_version() {
            Some(version) if !takes_words => {
                opened.follow(self.scope, base.memories_version(), version, &changed);
            }
            _ => opened.forget(self.scope),
        }
        let committed = Committed {
            scope: self.scope,
            from: base,
            next: &next,
        };
        for follow in after {
            follow(&committed);
        }
        Ok(next)
    }
}
