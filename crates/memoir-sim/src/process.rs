//! One process of the simulated installation: it can be killed at any commit, lose the answer to one or get it late, be
//! cut off from the store, or have a store that writes something else than what was decided.

use async_trait::async_trait;
use memoir_domain::memory::{ArchivedBy, Kind};
use memoir_store::{Commit, Error, Result};
use memoir_testkit::{Dice, StoreWatch};
use parking_lot::Mutex;
use tokio::{sync::Notify, task::JoinSet};

use crate::beside::Act;

/// The most calls that a cut lasts.
const LONGEST_CUT: u64 = 5;

/// The attempts at an act that is refused as `busy`: one more than a cut can refuse.
pub(crate) const ATTEMPTS: u64 = LONGEST_CUT + 1;

/// What happens at a commit, or to calls of the store.
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
    /// So many calls do not reach the store, reads and commits alike.
    Cut(u64),
}

impl Fault {
    const AT_COMMITS: [Self; 5] = [
        Self::KilledBefore,
        Self::KilledAfter,
        Self::LostWritten,
        Self::LostUnwritten,
        Self::Busy,
    ];

    /// One at a commit.
    pub(crate) fn any(dice: &mut Dice) -> Self {
        Self::AT_COMMITS[dice.roll(Self::AT_COMMITS.len() as u64) as usize]
    }

    /// A cut of any length.
    pub(crate) fn cut(dice: &mut Dice) -> Self {
        Self::Cut(dice.roll(LONGEST_CUT) + 1)
    }
}

/// When another process acts during the next commit.
///
/// The response to a read that comes late needs no moment of its own: what is decided on it is decided on a former
/// state, as where another process acts before the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// After the decision, before it is written.
    BeforeCommit,
    /// After it was written, before its late response.
    BeforeResponse,
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
    /// The fault, and how many commits are before it; before a cut, how many calls.
    armed: Option<(u64, Fault)>,
    /// A fault of the commit that is being written.
    after: Option<Fault>,
    /// Whether a call did not reach the store.
    is_cut: bool,
    is_dead: bool,
}

/// A process.
pub(crate) struct Process {
    plan: Mutex<Plan>,
    /// What another process does during the next commit.
    beside: Mutex<Option<(Moment, Act)>>,
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

    /// After so many commits, that fault; a cut after so many calls.
    pub(crate) fn arm(&self, before: u64, fault: Fault) {
        self.plan.lock().armed = Some((before, fault));
    }

    /// At that moment of the next commit, another process does that.
    pub(crate) fn interrupt(&self, moment: Moment, beside: Act) {
        *self.beside.lock() = Some((moment, beside));
    }

    /// Without any fault or interruption from now on. Returns whether it was cut off from the store.
    pub(crate) fn disarm(&self) -> bool {
        *self.beside.lock() = None;
        let mut plan = self.plan.lock();
        plan.armed = None;
        std::mem::take(&mut plan.is_cut)
    }

    async fn meet(&self, now: Moment) {
        let beside = self.beside.lock().take_if(|(moment, _)| *moment == now);
        let Some((_, beside)) = beside else { return };
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
            // It is counted by calls.
            Some((_, Fault::Cut(_))) | None => None,
            Some((0, fault)) => {
                plan.armed = None;
                Some(fault)
            }
            Some((left, fault)) => {
                plan.armed = Some((left - 1, fault));
                None
            }
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
    fn reach(&self) -> Result<()> {
        let mut plan = self.plan.lock();
        let Some((before, Fault::Cut(calls))) = plan.armed else {
            return Ok(());
        };
        if let Some(before) = before.checked_sub(1) {
            plan.armed = Some((before, Fault::Cut(calls)));
            return Ok(());
        }
        let left = calls.checked_sub(1).filter(|left| *left > 0);
        plan.armed = left.map(|left| (0, Fault::Cut(left)));
        plan.is_cut = true;
        // As a server that is down, or behind a network that is.
        Err(Error::Unreachable {
            location: "simulated".to_owned(),
            problem: "it is cut off".to_owned(),
        })
    }

    async fn begin(&self, commit: &mut Commit) -> Result<()> {
        self.alive().await;
        self.meet(Moment::BeforeCommit).await;
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
        self.meet(Moment::BeforeResponse).await;
        let after = self.plan.lock().after.take();
        if after == Some(Fault::KilledAfter) {
            self.kill().await;
        }
        Ok(())
    }

    async fn begin_together(&self) -> Result<()> {
        self.alive().await;
        self.meet(Moment::BeforeCommit).await;
        match self.due() {
            Some(Fault::KilledBefore) => self.kill().await,
            // Their answer is not asked for again: one that is lost is that of a process that ended.
            Some(Fault::KilledAfter | Fault::LostWritten) => {
                self.plan.lock().after = Some(Fault::KilledAfter);
            }
            Some(Fault::Busy | Fault::LostUnwritten) => return Err(Error::Busy),
            Some(Fault::Cut(_)) | None => {}
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
