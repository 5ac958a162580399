//! The contents of a key store, and the requirements on any place for it.
//!
//! All secrets come and go wrapped: no implementation has access to a key. A change has a condition and is one step
//! that is done or not done. Of two processes that make the same key concurrently, or rotate while another one makes a
//! key, one fails and retries. The scenarios in `conformance` test every implementation for this.

use std::fmt;

use memoir_domain::{AgentScope, Timestamp};

use crate::{Closing, Error, KeyId, Result};

/// A number that differs after each change, by any process. `None` if it is unknown: then nothing counts as unchanged.
pub type Changes = Option<u64>;

/// The agents whose keys are to be read.
#[derive(Debug, Clone, Copy)]
pub enum Agents<'scopes> {
    /// All, the destroyed ones too.
    All,
    /// These, where they have or had a key.
    These(&'scopes [AgentScope]),
}

/// The contents of a key store at one instant.
#[derive(Debug, Clone, Default)]
pub struct KeyStoreContents {
    /// Distinguishes this instant from others.
    pub changes: Changes,
    /// `None` in an empty key store.
    pub master: Option<MasterRow>,
    /// The keys of the agents that were asked for, in no order.
    pub agents: Vec<AgentKeyRow>,
    /// The key that signs the log; `None` while there is none.
    pub log: Option<LogRow>,
    /// Whether the installation is closed; `None` if this was never set.
    pub closing: Option<ClosingRow>,
}

/// The master key that wraps everything else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MasterRow {
    /// Its fingerprint.
    pub key_id: KeyId,
    /// Random bytes, wrapped: open under the right master key only.
    pub proof: Vec<u8>,
}

/// The key of one agent, or its tombstone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentKeyRow {
    /// Whose it is.
    pub scope: AgentScope,
    /// When it was made.
    pub created_at: Timestamp,
    /// The wrapped key, or when it was destroyed.
    pub key: std::result::Result<Vec<u8>, Timestamp>,
}

/// The key that signs checkpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRow {
    /// The log's name.
    pub name: String,
    /// When the key was made.
    pub created_at: Timestamp,
    /// The wrapped seed.
    pub wrapped: Vec<u8>,
}

/// Whether the installation is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosingRow {
    /// As it was set, and not yet checked.
    pub closing: Closing,
    /// Random bytes, wrapped: open for these values only.
    pub wrapped: Vec<u8>,
}

/// A change that is on the disk.
#[derive(Debug, Clone, Copy)]
pub struct WrittenChange {
    /// As it was before this change, of which it is the only one since.
    pub before: Changes,
    /// As it was after it.
    pub after: Changes,
}

/// A place for wrapped keys. Several processes may use it concurrently. What is written is on the disk when a method
/// returns; what is destroyed or replaced is gone for every later reader.
///
/// Every method may wait for other processes, for some seconds, but [`KeyRows::name`], [`KeyRows::changes`] and
/// [`KeyRows::check_there`].
pub trait KeyRows: Send + Sync {
    /// Where it is, for people.
    fn name(&self) -> String;

    /// Checks that this place is the one that other processes use too. Data sealed under a key that is stored elsewhere
    /// cannot be read once this process has ended.
    ///
    /// # Errors
    /// [`Error::Replaced`].
    fn check_there(&self) -> Result<()>;

    /// How often it was changed, as of less than a second ago: of anything that was destroyed earlier, this says so.
    ///
    /// # Errors
    /// [`Error::Replaced`]; those of the place.
    fn changes(&self) -> Result<Changes>;

    /// The contents at one instant.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] for rows that no version of Memoir writes; those of the place.
    fn read(&self, agents: Agents<'_>) -> Result<KeyStoreContents>;

    /// Fills an empty place; does nothing if it is not empty.
    ///
    /// # Errors
    /// Those of the place.
    fn fill(&self, contents: &KeyStoreContents) -> Result<()>;

    /// Adds an agent's key that is wrapped under the master key `under`.
    ///
    /// # Errors
    /// [`Error::Overtaken`] where the agent has or had a key, or another master key is needed by now; those of the
    /// place.
    fn add_agent(&self, under: KeyId, row: &AgentKeyRow) -> Result<WrittenChange>;

    /// Adds the key of the log, wrapped under the master key `under`.
    ///
    /// # Errors
    /// [`Error::Overtaken`] where there is one, or another master key is needed by now; those of the place.
    fn add_log(&self, under: KeyId, row: &LogRow) -> Result<()>;

    /// Sets whether the installation is closed.
    ///
    /// # Errors
    /// [`Error::Overtaken`] if another master key is needed than `under`; those of the place.
    fn set_closing(&self, under: KeyId, row: &ClosingRow) -> Result<()>;

    /// Destroys an agent's key; whether it was there. When is remembered.
    ///
    /// # Errors
    /// Those of the place.
    fn destroy(&self, scope: AgentScope, now: Timestamp) -> Result<bool>;

    /// Replaces all wrapped keys by those of `contents`, wrapped under its master key.
    ///
    /// # Errors
    /// [`Error::Overtaken`] if anything was changed since [`KeyStoreContents::changes`]; those of the place. Nothing
    /// was changed then.
    fn rewrap(&self, contents: &KeyStoreContents) -> Result<()>;
}

impl fmt::Debug for dyn KeyRows {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "KeyRows({})", self.name())
    }
}

impl KeyStoreContents {
    pub(super) fn agent(&self, scope: AgentScope) -> Option<&AgentKeyRow> {
        self.agents.iter().find(|row| row.scope == scope)
    }

    /// The master key that wraps all of it. [`Error::Missing`] if the place is empty.
    pub(super) fn needed(&self, store: &dyn KeyRows) -> Result<&MasterRow> {
        self.master
            .as_ref()
            .ok_or_else(|| Error::Missing(store.name()))
    }
}
