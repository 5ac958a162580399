//! Checkpoints of the log over the heads of all agents' logs (SPEC 4.2). One that is kept outside later proves that
//! nothing was cut off or rewritten since.
//!
//! Each checkpoint adds an entry to the log (`log_leaves`) for every agent whose chain grew: one per commit would make
//! all agents wait for each other. Data that is put back as a whole, such as yesterday's copy of the database, is
//! consistent; only a checkpoint that was kept outside shows it. Changes between the last checkpoint and such a copy
//! are not covered: the interval between checkpoints bounds that loss.

use memoir_domain::AgentScope;
use memoir_store::{LeafRow, Reach};
use memoir_vault::{
    chain::RecordHash,
    log::{self, Leaf, LogVerifier},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    core::{Account, Error, Memoir, Result, parallel::run_blocking},
    log::{AgentLog, Limits},
};

/// A signed checkpoint of the log over the heads of all agents' logs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Checkpoint)]
pub struct CheckpointView {
    /// The signed note (C2SP tlog-checkpoint): what to keep.
    pub checkpoint: String,
    /// The name of the log.
    pub origin: String,
    /// Entries in the log.
    pub size: u64,
    /// Verifies it; keep it too.
    // A key in the form of C2SP `signed-note`.
    pub public_key: String,
}

/// The result of checking a stored checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckpointGrowth {
    /// Whether the log is that of the checkpoint, grown or the same.
    pub grew: bool,
    /// Entries in the log.
    pub size: u64,
    /// The error; `None` where the log grew.
    pub problem: Option<String>,
}

impl Account {
    /// As [`Memoir::checkpoint`], but enters the heads of the account's agents only: no account writes for another one.
    /// Earlier entries are signed with it.
    ///
    /// # Errors
    /// The store or the key store fails.
    pub async fn checkpoint(&self) -> Result<CheckpointView> {
        self.memoir.checkpoint_of(Reach::Account(self.id)).await
    }
}

impl AgentLog<'_> {
    /// As [`Memoir::checkpoint`], but enters the head of this agent only.
    ///
    /// # Errors
    /// The store or the key store fails.
    pub async fn checkpoint(self) -> Result<CheckpointView> {
        self.memoir.checkpoint_of(Reach::Agent(self.scope)).await
    }
}

impl Memoir {
    /// Enters the head of every log that has grown since the last checkpoint, and signs the whole.
    ///
    /// # Errors
    /// The store or the key store fails.
    pub async fn checkpoint(&self) -> Result<CheckpointView> {
        self.checkpoint_of(Reach::All).await
    }

    async fn checkpoint_of(&self, of: Reach) -> Result<CheckpointView> {
        // All entries are loaded. The owner alone, on the command line, enters the heads of all logs.
        let caller = match of {
            Reach::All => None,
            Reach::Account(account) => Some(AgentScope::of_account(account)),
            Reach::Agent(scope) => Some(scope),
        };
        let limits = self.state::<Limits>();
        let _turn = match caller {
            Some(scope) => Some(limits.verifications.take(scope).await?),
            None => None,
        };
        let now = self.now();
        // The key is loaded first, so that no entries are added to the log where there is no key to sign it with.
        let key = self.keys.ask(move |keys| keys.log(now)).await?;
        // Before signing, and separately: entries that a crash leaves unsigned are signed by the next checkpoint.
        // Concurrent entries of another process are in this one too, since the log only grows.
        self.store.append_leaves(now, of).await?;
        let leaves = self.store.leaves(0).await?;
        let root = run_blocking(move || log::root(leaves.iter().map(leaf))).await?;
        Ok(CheckpointView {
            checkpoint: key.sign_checkpoint(root),
            origin: key.name().to_owned(),
            size: root.size,
            public_key: key.verifier().to_string(),
        })
    }

    /// Whether the log over all heads only grew since `note` was signed, by this installation's key or
    /// by the one given.
    ///
    /// # Errors
    /// `note` is no checkpoint of this log; the store or the key store fails.
    pub async fn check_growth(
        &self,
        note: &[u8],
        key: Option<&LogVerifier>,
    ) -> Result<CheckpointGrowth> {
        let own;
        let verifier = match key {
            Some(key) => key,
            None => {
                let now = self.now();
                own = self.keys.ask(move |keys| keys.log(now)).await?;
                own.verifier()
            }
        };
        let checkpoint = verifier.open_checkpoint(note).map_err(Error::Checkpoint)?;
        let leaves = self.store.leaves(0).await?;
        let size = leaves.len() as u64;
        // Whether the log grew is the question, so "it did not grow" is a result and no error.
        let grew = log::check_grew(&checkpoint, leaves.iter().map(leaf));
        Ok(CheckpointGrowth {
            grew: grew.is_ok(),
            size,
            problem: grew.err().map(|problem| problem.to_string()),
        })
    }
}

pub(super) fn leaf(row: &LeafRow) -> Leaf {
    Leaf {
        agent: row.agent,
        seq: row.seq,
        head: RecordHash(row.head),
        recorded_at: row.recorded_at,
    }
}
