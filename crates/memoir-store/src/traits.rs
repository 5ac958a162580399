//! The look-ups and the one way of writing.

use async_trait::async_trait;
use memoir_domain::{
    AccountId, AgentScope, SessionId, Timestamp,
    audit::Action,
    memory::{Number, Tally},
};

use crate::{
    AccountRow, AgentRow, AuditRow, Commit, DetailRow, LeafRow, MemoryRow, Result, SessionRow,
    StoredText,
};

/// Which memories of an agent are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Selection {
    /// None.
    #[default]
    None,
    /// Those of these numbers, discarded ones included; numbers that do not exist are passed over.
    Numbers(Vec<Number>),
    /// The kept core memories.
    KeptCore,
    /// The kept core memories, and the kept journal entries with an origin date after this one.
    Context {
        /// Exclusive.
        journal_after: Timestamp,
    },
    /// All kept ones.
    Kept,
    /// All, discarded ones included.
    All,
}

/// What one look at an agent is to bring, all of it of the same instant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// Memories, oldest origin date first, then by number.
    pub memories: Selection,
    /// One session.
    pub session: Option<SessionId>,
    /// The sum of what sessions begun since then removed: those rolled back or undone and rehearsals
    /// left out.
    pub eroded_since: Option<Timestamp>,
}

/// What one look brought.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The agent.
    pub agent: AgentRow,
    /// Its prompts.
    pub prompts: StoredText,
    /// The memories wanted.
    pub memories: Vec<MemoryRow>,
    /// The session wanted; `None` where the agent has none of that identifier.
    pub session: Option<SessionRow>,
    /// The agent's running session (queued, asking or open), whether wanted or not.
    pub running_session: Option<SessionId>,
    /// Tokens removed since `eroded_since`; 0 where it was not wanted.
    pub eroded_tokens: u64,
}

/// Which records of an agent's log are wanted, oldest first. Every part narrows the answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordFilter {
    /// The first sequence number; 0 means from the beginning.
    pub from_seq: u64,
    /// One session's.
    pub session: Option<SessionId>,
    /// Those of one action.
    pub action: Option<Action>,
    /// Those written at or after.
    pub since: Option<Timestamp>,
    /// The most to answer with, the last ones of those that match; `None` for all.
    pub last: Option<u32>,
}

/// Something that a store's own check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong, by table and number, never by words.
    pub problem: String,
    /// What to do about it.
    pub advice: String,
}

/// A database of agents' memories. Every method is one transaction: it sees, or leaves, all or nothing.
#[async_trait]
pub trait Store: Fleet {
    /// The agent of that identifier; `None` where the account has none.
    async fn snapshot(&self, scope: AgentScope, wanted: &Wanted) -> Result<Option<Snapshot>>;

    /// Those of the agent's memories that have these numbers, discarded ones included, in the order of
    /// the numbers; ones that do not exist are passed over.
    async fn memories(&self, scope: AgentScope, numbers: &[Number]) -> Result<Vec<MemoryRow>>;

    /// Kept core memories other than `except` that carry the rarest of the details `digests` that any
    /// other carries, by number, at most `limit` of them. Empty where none is carried elsewhere. Counts
    /// no further than `limit + 1` carriers of each; of equally rare details it takes the first.
    async fn carriers(
        &self,
        scope: AgentScope,
        digests: &[i64],
        except: Number,
        limit: u32,
    ) -> Result<Vec<MemoryRow>>;

    /// The agent's sessions, newest first, at most `limit` of them.
    async fn sessions(&self, scope: AgentScope, limit: u32) -> Result<Vec<SessionRow>>;

    /// The agent's log.
    async fn records(&self, scope: AgentScope, filter: &RecordFilter) -> Result<Vec<AuditRow>>;

    /// Which of the agent's memories carry which details, by digest and number.
    async fn details(&self, scope: AgentScope) -> Result<Vec<DetailRow>>;

    /// Counts the agent's memories anew from its rows.
    async fn recount(&self, scope: AgentScope) -> Result<Tally>;

    /// Prolongs the hold of `holder` on a running session. `false` where the session has ended or
    /// somebody else holds it. Leaves the agent's version as it is.
    async fn renew_lease(
        &self,
        scope: AgentScope,
        session: SessionId,
        holder: u64,
        until: Timestamp,
    ) -> Result<bool>;

    /// Writes one decision. When it returns, the change is on the disk.
    ///
    /// # Errors
    /// [`Error::Conflict`](crate::Error::Conflict) where the agent has another version than expected,
    /// a record's place in the log is taken, or a body to be replaced is of another version. Whatever the
    /// error, nothing was written.
    async fn commit(&self, commit: Commit) -> Result<()>;
}

/// Content-blind look-ups across agents: nothing here returns a memory or a prompt.
#[async_trait]
pub trait Fleet: Send + Sync {
    /// Makes an account.
    ///
    /// # Errors
    /// [`Error::NameTaken`](crate::Error::NameTaken).
    async fn create_account(&self, account: &AccountRow) -> Result<()>;

    /// All accounts, by name.
    async fn accounts(&self) -> Result<Vec<AccountRow>>;

    /// The account of that folded name.
    async fn account_named(&self, folded_name: &str) -> Result<Option<AccountRow>>;

    /// The account's agents, by name; the erased ones too.
    async fn agents(&self, account: AccountId) -> Result<Vec<AgentRow>>;

    /// The account's agent of that folded name; of those erased, the last one, where none is left.
    async fn agent_named(&self, account: AccountId, folded_name: &str) -> Result<Option<AgentRow>>;

    /// Which of the account's agents a session belongs to.
    async fn session_owner(
        &self,
        account: AccountId,
        session: SessionId,
    ) -> Result<Option<AgentScope>>;

    /// Running sessions whose lease lapsed before `now`, of all accounts.
    async fn lapsed_sessions(&self, now: Timestamp) -> Result<Vec<(AgentScope, SessionId)>>;

    /// The scope of every agent of every account, the erased ones too, by identifier.
    async fn scopes(&self) -> Result<Vec<AgentScope>>;

    /// The log over all heads from the entry at `from` on, in its order; the first one is at 0.
    async fn leaves(&self, from: u64) -> Result<Vec<LeafRow>>;

    /// Ends the log over all heads with an entry for every agent whose log has grown since its last one,
    /// by identifier; agents without a record are passed over. How long it is then.
    async fn append_leaves(&self, recorded_at: Timestamp) -> Result<u64>;

    /// The store's own check of itself; empty where all is well.
    async fn check(&self) -> Result<Vec<Finding>>;
}
