//! One process of the simulated installation: it can be killed at any commit, lose the answer to one, or have a store
//! that writes something else than what was decided.

use async_trait::async_trait;
use memoir_domain::memory::{ArchivedBy, Kind};
use memoir_store::{Commit, Error, Result};
use memoir_testkit::{Dice, StoreWatch};
use parking_lot::Mutex;
use tokio::{sync::Notify, task::JoinSet};

use crate::beside::Act;

/// What happens at a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The process ends before it is written.
    KilledBefore,
    /// The process ends after it was written, before anything is acknowledged.
    KilledAfter,
    /// It is written, and its answer is lost.
    LostWritten,
    /// Its answer is lost, and it is not written.
    LostUnwritten,
    /// Others keep the database locked.
    Busy,
}

impl Fault {
    const ALL: [Self; 5] = [
        Self::KilledBefore,
        Self::KilledAfter,
        Self::LostWritten,
        Self::LostUnwritten,
        Self::Busy,
    ];

    pub(crate) fn any(dice: &mut Dice) -> Self {
        Self::ALL[dice.roll(Self::ALL.len() as u64) as usize]
    }
}

/// A rule that the store breaks: the invariants must notice each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Falsification {
    /// Of a decision that writes several memories, one row is not written.
    LoseRow,
    /// What a session moves to the archive is discarded.
    DiscardArchived,
    /// What is made constitutional is not.
    Unprotect,
    /// A memory has one token more than its text.
    Miscount,
    /// A record names another actor than the one that acted.
    ChangeRecord,
    /// A memory is one of the archive although it was saved as core.
    ArchiveSaved,
}

impl Falsification {
    /// Every one.
    pub const ALL: [Self; 6] = [
        Self::LoseRow,
        Self::DiscardArchived,
        Self::Unprotect,
        Self::Miscount,
        Self::ChangeRecord,
        Self::ArchiveSaved,
    ];

    fn apply(self, commit: &mut Commit) {
        match self {
            Self::LoseRow if commit.memories.len() > 1 => drop(commit.memories.pop()),
            Self::LoseRow => {}
            Self::DiscardArchived => {
                for row in &mut commit.memories {
                    if row.archived_by == Some(ArchivedBy::Session) {
                        row.discarded_at = Some(row.updated_at);
                    }
                }
            }
            Self::Unprotect => {
                for row in &mut commit.memories {
                    row.constitutional = false;
                }
            }
            Self::Miscount => {
                for row in commit.memories.iter_mut().take(1) {
                    row.tokens += 1;
                }
            }
            Self::ChangeRecord => {
                for record in commit.records.iter_mut().skip(1) {
                    "another".clone_into(&mut record.actor_name);
                }
            }
            Self::ArchiveSaved => {
                for row in &mut commit.memories {
                    if row.kind == Kind::Core && !row.is_summary && row.number.0.is_multiple_of(3) {
                        row.kind = Kind::Archival;
                        row.archived_at = Some(row.updated_at);
                        row.archived_by = Some(ArchivedBy::Saved);
                    }
                }
            }
        }
    }
}

#[derive(Default)]
struct Plan {
    /// The fault, and how many commits are before it.
    armed: Option<(u64, Fault)>,
    /// A fault of the commit that is being written.
    after: Option<Fault>,
    is_dead: bool,
}

/// A process.
pub(crate) struct Process {
    plan: Mutex<Plan>,
    /// What another process does before the next commit.
    beside: Mutex<Option<Act>>,
    ended: Notify,
    falsification: Option<Falsification>,
}

impl Process {
    pub(crate) fn new(falsification: Option<Falsification>) -> Self {
        Self {
            plan: Mutex::default(),
            beside: Mutex::default(),
            ended: Notify::new(),
            falsification,
        }
    }

    /// After so many commits, that fault.
    pub(crate) fn arm(&self, commits: u64, fault: Fault) {
        self.plan.lock().armed = Some((commits, fault));
    }

    /// Before the next commit, another process does that.
    pub(crate) fn interrupt(&self, beside: Act) {
        *self.beside.lock() = Some(beside);
    }

    /// Without any fault or interruption from now on.
    pub(crate) fn disarm(&self) {
        self.plan.lock().armed = None;
        *self.beside.lock() = None;
    }

    async fn meet(&self) {
        let beside = self.beside.lock().take();
        let Some(beside) = beside else { return };
        // On a stack of its own: the states of two use cases are larger than that of a test has room for. It ends with
        // the step.
        let mut task = JoinSet::new();
        task.spawn(beside);
        if let Some(Err(failed)) = task.join_next().await
            && failed.is_panic()
        {
            std::panic::resume_unwind(failed.into_panic());
        }
    }

    /// Returns once it was killed.
    pub(crate) async fn ended(&self) {
        self.ended.notified().await;
    }

    fn due(&self) -> Option<Fault> {
        let mut plan = self.plan.lock();
        match plan.armed {
            Some((0, fault)) => {
                plan.armed = None;
                Some(fault)
            }
            Some((left, fault)) => {
                plan.armed = Some((left - 1, fault));
                None
            }
            None => None,
        }
    }

    async fn kill(&self) {
        self.plan.lock().is_dead = true;
        self.ended.notify_one();
        self.alive().await;
    }
}

#[async_trait]
impl StoreWatch for Process {
    async fn begin(&self, commit: &mut Commit) -> Result<()> {
        self.alive().await;
        self.meet().await;
        match self.due() {
            Some(Fault::KilledBefore) => self.kill().await,
            Some(Fault::Busy) => return Err(Error::Busy),
            Some(Fault::LostUnwritten) => {
                return Err(Error::OutcomeUnknown(Box::new(commit.clone())));
            }
            after => self.plan.lock().after = after,
        }
        if let Some(falsification) = self.falsification {
            falsification.apply(commit);
        }
        Ok(())
    }

    fn is_answer_lost(&self) -> bool {
        self.plan.lock().after == Some(Fault::LostWritten)
    }

    async fn written(&self) -> Result<()> {
        let after = self.plan.lock().after.take();
        if after == Some(Fault::KilledAfter) {
            self.kill().await;
        }
        Ok(())
    }

    async fn begin_together(&self) -> Result<()> {
        self.alive().await;
        self.meet().await;
        match self.due() {
            Some(Fault::KilledBefore) => self.kill().await,
            // Their answer is not asked for again: one that is lost is that of a process that ended.
            Some(Fault::KilledAfter | Fault::LostWritten) => {
                self.plan.lock().after = Some(Fault::KilledAfter);
            }
            Some(Fault::Busy | Fault::LostUnwritten) => return Err(Error::Busy),
            None => {}
        }
        Ok(())
    }

    async fn written_together(&self) -> Result<()> {
        self.written().await
    }

    async fn alive(&self) {
        // What a killed process still had under way never goes on.
        let is_dead = self.plan.lock().is_dead;
        if is_dead {
            std::future::pending::<()>().await;
        }
    }
}
