//! The look-ups and the one way of writing.

use std::collections::BTreeSet;

use async_trait::async_trait;
use memoir_domain::{
    AccountId, AgentId, AgentScope, SessionId, Timestamp, TokenId,
    audit::{Action, ActorKind},
    context::ContextMark,
    memory::Number,
    session::State,
};

use crate::{
    AccessRow, AccountRow, AgentRow, ArchiveLink, AuditRow, Commit, Commits, CountAndTokens,
    CountsMark, FleetLoad, FleetPage, FleetRecord, FleetSlice, MemoryRow, Portable, Reach,
    RecordOrder, RecordPlace, Result, RowCounts, SessionRow, StoredText, TokenRow, TranscriptRow,
    UserRow, WaitingSession,
};

/// Which memories of an agent are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Selection {
    /// None.
    #[default]
    None,
    /// Those of these numbers, discarded ones included; numbers that do not exist are passed over.
    Numbers(Vec<Number>),
    /// The active core memories.
    ActiveCore,
    /// All core memories, discarded ones included.
    Core,
    /// The active core and the active archival memories.
    Searchable,
    /// The active archival memories.
    Archive,
    /// What may be in the prompt: the active core memories, and the active journal entries with an origin date after
    /// this one.
    Context {
        /// Exclusive.
        journal_after: Timestamp,
    },
    /// All active ones: those that are not discarded.
    Active,
    /// All, discarded ones included.
    All,
    /// Those of one page.
    Page(MemoryPage),
}

/// The parts of an agent that one read returns, all of the same instant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentQuery {
    /// Memories, oldest origin date first, then by number.
    pub memories: Selection,
    /// What of [`Selection::Context`] is known without the texts, for journal entries with an origin date after this
    /// one. In the order of the memories.
    pub marks_after: Option<Timestamp>,
    /// One session.
    pub session: Option<SessionId>,
    /// The agent's prompts, for callers that show, use or set them.
    pub prompts: bool,
    /// The access requests that are not over, oldest first.
    pub open_requests: bool,
    /// The state of the messages that were handed to it.
    pub transcript: bool,
    /// Whether the rows of all its memories are counted.
    pub counting: Counting,
}

/// Whether a read counts the rows of all memories of the agent. Counting takes time for each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Counting {
    /// They are counted.
    #[default]
    Always,
    /// They need not be counted where this mark fits. It is a mark of counts that were right
    /// ([`Snapshot::counts_mark`]), with the version that this process's commits have brought the agent to since.
    Unless(CountsMark),
    /// They are not counted.
    Never,
}

impl AgentQuery {
    /// The agent with those memories.
    pub fn of_memories(memories: Selection) -> Self {
        Self {
            memories,
            ..Self::default()
        }
    }

    /// The agent with that session.
    pub fn of_session(id: SessionId) -> Self {
        Self {
            session: Some(id),
            ..Self::default()
        }
    }

    /// The same with the agent's prompts.
    #[must_use]
    pub fn with_prompts(self) -> Self {
        Self {
            prompts: true,
            ..self
        }
    }

    /// The same with the state of the agent's messages.
    #[must_use]
    pub fn with_transcript(self) -> Self {
        Self {
            transcript: true,
            ..self
        }
    }
}

/// The result of one read.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The agent.
    pub agent: AgentRow,
    /// Its prompts; `None` where they were not wanted.
    pub prompts: Option<StoredText>,
    /// The memories wanted.
    pub memories: Vec<MemoryRow>,
    /// The marks wanted.
    pub marks: Vec<ContextMark>,
    /// The session wanted; `None` where the agent has none of that identifier.
    pub session: Option<SessionRow>,
    /// The agent's running session (queued, asking or open), whether wanted or not.
    pub running_session: Option<SessionId>,
    /// The open requests for access; none where they were not wanted.
    pub open_requests: Vec<AccessRow>,
    /// The state of its messages; `None` where it was not wanted.
    pub transcript: Option<TranscriptRow>,
    /// What the rows of all its memories come to, whichever were wanted. `None` for [`Counting::Never`], and where the
    /// mark of [`Counting::Unless`] fits: then only this process has written since they were counted.
    pub row_counts: Option<RowCounts>,
    /// By what a later read recognizes that only this process has written since; `None` where the store cannot know.
    pub counts_mark: Option<CountsMark>,
}

/// Which records of an agent's log to return, oldest first. Every part narrows the result.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordFilter {
    /// The first sequence number; 0 means from the beginning.
    pub from_seq: u64,
    /// One session's.
    pub session: Option<SessionId>,
    /// Those of one of these actions; of any where there is none.
    pub actions: Vec<Action>,
    /// Those about one memory.
    pub memory: Option<Number>,
    /// Those of one role.
    pub actor: Option<ActorKind>,
    /// Those of an actor whose name holds this text, letters from A to Z in either case.
    pub actor_name: Option<String>,
    /// Those written at or after.
    pub since: Option<Timestamp>,
    /// Those written at or before.
    pub until: Option<Timestamp>,
    /// Those at earlier places in the log only.
    pub before_seq: Option<u64>,
    /// At most so many, the last ones of those that match; `None` for all.
    pub last: Option<u32>,
    /// At most so many, the first ones of those that match; `None` for all. Not together with `last`.
    pub first: Option<u32>,
}

impl RecordFilter {
    /// All of one session.
    pub fn of_session(id: SessionId) -> Self {
        Self {
            session: Some(id),
            ..Self::default()
        }
    }

    /// All of these actions.
    pub fn of_actions(actions: impl Into<Vec<Action>>) -> Self {
        Self {
            actions: actions.into(),
            ..Self::default()
        }
    }

    /// All from this sequence number on.
    pub fn from_record(seq: u64) -> Self {
        Self {
            from_seq: seq,
            ..Self::default()
        }
    }
}

/// How many days ahead a due time can be: a week of a weekly slot, and a day by which a time may be ahead itself. A
/// later one was written before the clock was set back, and is proposed as due, so that it is checked again.
pub const FURTHEST_DAYS: i64 = 9;

/// Which agents are wanted as due (SPEC 3.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueQuery {
    /// Those of one account; `None` for all accounts.
    pub account: Option<AccountId>,
    /// The latest weekly slot: due are those whose `weekly_after` is earlier, or lies ahead of now by more than
    /// [`AHEAD_DAYS`](memoir_domain::time::AHEAD_DAYS). `None` where there was none.
    pub latest_slot: Option<Timestamp>,
    /// Due are those whose `due_at` is not later.
    pub now: Timestamp,
    /// The most of each account.
    pub per_account: u32,
    /// Agents to be passed over.
    pub except: BTreeSet<AgentId>,
}

/// What an account or an agent uses, by columns and lengths alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoredUsage {
    /// Memories, discarded ones included, shredded ones not.
    pub memories: u64,
    /// Bytes of the sealed bodies of records that agents themselves wrote in the time asked for: what administrators,
    /// owners and Memoir write takes nothing from an agent.
    pub log_bytes: u64,
    /// Bytes of messages that agents themselves handed over in the time asked for.
    pub handed_bytes: u64,
    /// Messages that wait to be read, and their tokens.
    pub waiting: CountAndTokens,
    /// Sessions that Memoir drives, begun in the time asked for.
    pub driven_sessions: u64,
}

impl StoredUsage {
    /// Adds further usage.
    pub fn add(&mut self, other: Self) {
        self.memories += other.memories;
        self.log_bytes += other.log_bytes;
        self.handed_bytes += other.handed_bytes;
        self.waiting = [self.waiting, other.waiting].into_iter().sum();
        self.driven_sessions += other.driven_sessions;
    }
}

/// Something that a store's own check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong, by table and number, never by words.
    pub problem: String,
    /// What to do about it.
    pub advice: String,
}

impl Finding {
    /// The advice where rows are damaged or missing.
    pub const RESTORE: &'static str =
        "stop Memoir, keep a copy of the database, and restore the last backup";
    /// The advice where records are missing.
    pub const COMPARE: &'static str =
        "compare it with a checkpoint kept outside and with the last backup: records are missing";
    /// The advice where a log was altered.
    pub const ALTERED: &'static str =
        "compare it with a checkpoint kept outside and with the last backup: it was altered";

    /// One with that advice.
    pub fn new(problem: String, advice: &str) -> Self {
        let advice = advice.to_owned();
        Self { problem, advice }
    }
}

/// A database of agents' memories. Every method is one transaction: it reads or writes all or nothing.
#[async_trait]
pub trait Store:
    Portable + Fleet + Access + crate::Deliveries + crate::Transcripts + crate::Vectors
{
    /// The agent of that identifier; `None` where the account has none.
    async fn snapshot(&self, scope: AgentScope, query: &AgentQuery) -> Result<Option<Snapshot>>;

    /// Those of the agent's memories that have these numbers, discarded ones included, in the order of
    /// the numbers; ones that do not exist are passed over. None of an agent that was erased.
    async fn memories(&self, scope: AgentScope, numbers: &[Number]) -> Result<Vec<MemoryRow>>;

    /// One page of the agent's memories, by number.
    async fn memory_page(&self, scope: AgentScope, page: &MemoryPage) -> Result<Vec<MemoryRow>>;

    /// How the archive hangs together: the memories of these numbers, discarded ones included, and the active archival
    /// memories under one of them. By number, each once; numbers that do not exist are passed over. None of an agent
    /// that was erased.
    async fn archive_links(
        &self,
        scope: AgentScope,
        numbers: &[Number],
    ) -> Result<Vec<ArchiveLink>>;

    /// The agent's sessions begun before that one (by time, then identifier; `None` from the newest on),
    /// newest first, at most `limit` of them.
    async fn session_page(
        &self,
        scope: AgentScope,
        before: Option<(Timestamp, SessionId)>,
        limit: u32,
    ) -> Result<Vec<SessionRow>>;

    /// The bytes of the sealed parts of these sessions, in their order.
    async fn session_sizes(
        &self,
        scope: AgentScope,
        before: Option<(Timestamp, SessionId)>,
        limit: u32,
    ) -> Result<Vec<u64>>;

    /// The agent's log.
    async fn records(&self, scope: AgentScope, filter: &RecordFilter) -> Result<Vec<AuditRow>>;

    /// The bytes of the sealed bodies of these records, in their order.
    async fn record_sizes(&self, scope: AgentScope, filter: &RecordFilter) -> Result<Vec<u64>>;

    /// The records at these places of the agent's log, in the order of the log and each once; places where there is
    /// none are passed over. Costs a step or two of an index for each of them, however long the log is.
    async fn records_at(&self, scope: AgentScope, seqs: &[u64]) -> Result<Vec<AuditRow>>;

    /// The agent's requests for access that are asked or granted, oldest first.
    async fn open_requests(&self, scope: AgentScope) -> Result<Vec<AccessRow>>;

    /// Writes one decision. When it returns, the change is on the disk. If it replaces bodies of records, or erases the
    /// agent, it deletes the summaries of its log. It also deletes the sealed part of all responses to the account's
    /// requests, even of requests in execution, since each could hold this agent's text. Their open part stays, so that
    /// no change is made again. Deletes the vectors of the memories that it writes, and all those of an erased agent.
    /// Deletes the index of the agent's words where it removes some ([`Commit::deletions`]).
    ///
    /// # Errors
    /// [`Error::Conflict`](crate::Error::Conflict) if the agent has another version than expected, a record's place in
    /// the log is taken, or a body to be replaced is of another version. [`Error::Repeated`](crate::Error::Repeated) if
    /// the request's row is not as its mark expects. [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown) if the
    /// store cannot know. With any other error, nothing was written.
    async fn commit(&self, commit: Commit) -> Result<()>;

    /// Writes decisions on one agent in order, all of them or none. When it returns, they are on the disk. No other
    /// process writes meanwhile. No decision may replace bodies of records.
    ///
    /// # Errors
    /// As for [`Store::commit`], with the last decision where the store cannot know;
    /// [`Error::Unfinished`](crate::Error::Unfinished) where the list ends before its last one.
    async fn commit_all(&self, commits: Commits) -> Result<()>;
}

/// Which of an agent's memories to return on one page, the lowest number first. Every part narrows the result.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemoryPage {
    /// Numbers above this one only; 0 from the beginning.
    pub after: u64,
    /// At most so many.
    pub limit: u32,
    /// One kind.
    pub kind: Option<memoir_domain::memory::Kind>,
    /// Origin dates at this time or after.
    pub since: Option<Timestamp>,
    /// Origin dates at this time or before.
    pub until: Option<Timestamp>,
    /// Discarded ones too.
    pub with_discarded: bool,
    /// Only constitutional ones, or only others.
    pub protected: Option<bool>,
    /// Only journal entries that have left the prompt, or only all other memories.
    pub expired: Option<Expiry>,
    /// Only archival memories under that one.
    pub under: Option<Number>,
}

/// Journal entries that have left the prompt (SPEC 1), or all other memories: archival ones too, which are never in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expiry {
    /// Journal entries of an origin date at this time or before have left it.
    pub until: Timestamp,
    /// Whether these are wanted, or all others.
    pub is_expired: bool,
}

/// Tokens, users and stored responses: content-blind, of one account each.
#[async_trait]
pub trait Access: Send + Sync {
    /// Makes a token, or writes it in place of the row of the same identifier and of an earlier version: then only
    /// its end and its document are written, and its last use where that is later than the one noted.
    ///
    /// # Errors
    /// [`Error::Conflict`](crate::Error::Conflict) if a row of this version or a later one exists, any other part of it
    /// would change, or a revoked one would be valid again; [`Error::Inconsistent`](crate::Error::Inconsistent) if
    /// another token has its digest, or its account has no such agent.
    async fn put_token(&self, token: &TokenRow) -> Result<()>;

    /// Notes when tokens were last used; earlier times than those noted are passed over, and so are
    /// tokens that do not exist.
    async fn note_uses(&self, uses: &[(TokenId, Timestamp)]) -> Result<()>;

    /// Makes a user, together with `commit`, which is written with it or not at all; whether it was made. With
    /// `only_first`, it is made only where no account has a user: of callers at the same time exactly one makes one.
    ///
    /// # Errors
    /// [`Error::NameTaken`](crate::Error::NameTaken); those of [`Store::commit`] for `commit`.
    async fn create_user(
        &self,
        user: &UserRow,
        only_first: bool,
        commit: Option<Commit>,
    ) -> Result<bool>;

    /// Writes a user in place of the version before it, together with `commit`. Removes a user only if another one
    /// remains, in any account. Returns whether it was written.
    ///
    /// # Errors
    /// [`Error::Conflict`](crate::Error::Conflict) where another version is there, or none, and as for
    /// [`Store::commit`] for `commit`.
    async fn put_user(&self, user: &UserRow, commit: Option<Commit>) -> Result<bool>;

    /// Checks that the database responds and accepts writes: a server may become a read-only replica (SPEC 6.2).
    ///
    /// # Errors
    /// It does not; [`Error::ReadOnly`](crate::Error::ReadOnly); [`Error::Full`](crate::Error::Full) from the first
    /// write that finds no room until a test write succeeds.
    async fn check_ready(&self) -> Result<()>;

    /// Forgets requests that came before.
    async fn forget_replies(&self, before: Timestamp) -> Result<()>;
}

/// Content-blind look-ups across agents: nothing here returns a memory or a prompt.
#[async_trait]
pub trait Fleet: Send + Sync {
    /// The time of the database, which all that share it go by; `None` where it has no other than that of the process.
    async fn time(&self) -> Result<Option<Timestamp>> {
        Ok(None)
    }

    /// Makes an account.
    ///
    /// # Errors
    /// [`Error::NameTaken`](crate::Error::NameTaken).
    async fn create_account(&self, account: &AccountRow) -> Result<()>;

    /// One page of the account's agents that are not erased, sorted and searched. Costs a walk through the
    /// account's agents, and a few look-ups for each one of the page.
    async fn fleet_page(&self, account: AccountId, page: &FleetPage) -> Result<FleetSlice>;

    /// Records of all the account's agents, erased ones included, without words: by time, agent and place, or the other
    /// way round. Those that follow `after` in that order, at most `limit`. Filters by place or by count are ignored.
    async fn fleet_records(
        &self,
        account: AccountId,
        filter: &RecordFilter,
        order: RecordOrder,
        after: Option<RecordPlace>,
        limit: u32,
    ) -> Result<Vec<FleetRecord>>;

    /// The state of the session begun last of each of these agents of the account, rehearsals included. An agent
    /// without sessions is left out.
    async fn last_states(
        &self,
        account: AccountId,
        agents: &[AgentId],
    ) -> Result<Vec<(AgentId, State)>>;

    /// The account's agent of that folded name; of those erased, the last one, where none is left.
    async fn agent_named(&self, account: AccountId, folded_name: &str) -> Result<Option<AgentRow>>;

    /// Sessions that Memoir drives and no process leases, of all accounts, oldest first: those in the queue, and those
    /// released while they ran. At most the `limit` oldest of each account and model.
    async fn waiting_sessions(&self, limit: u32) -> Result<Vec<WaitingSession>>;

    /// Agents that are due by what their rows say, those longest due for a weekly slot first, and without
    /// those that have a running session. Times further ahead than [`FURTHEST_DAYS`] count as due. The rows are not checked: this only proposes. Costs a few steps
    /// of an index for each account and each agent found, however many agents there are.
    async fn due_agents(&self, query: &DueQuery) -> Result<Vec<AgentScope>>;

    /// The usage of an account, or of one of its agents: what is stored, and what was written and begun after `since`.
    /// Costs a walk through the logs from their ends back to `since`.
    async fn usage(
        &self,
        account: AccountId,
        agent: Option<AgentId>,
        since: Timestamp,
    ) -> Result<StoredUsage>;

    /// The messages of an account's agents that wait to be read, as in [`StoredUsage::waiting`]. Costs a step of an
    /// index for each agent, and a walk through those that wait.
    async fn waiting_messages(&self, account: AccountId) -> Result<CountAndTokens>;

    /// What the fleet is doing now. Costs a walk through an index of the agents and one through the running
    /// sessions; reads no agent.
    async fn load(&self) -> Result<FleetLoad>;

    /// The scope of every agent that is erased by what its row says, by identifier. The rows are not checked.
    async fn erased(&self) -> Result<Vec<AgentScope>>;

    /// Deletes the indexes of the words of all agents.
    async fn forget_word_indexes(&self) -> Result<()>;

    /// Finishes work that others have blocked so far, without waiting for them. Returns whether nothing remains.
    async fn finish(&self) -> Result<bool>;

    /// Ends the log over all heads with an entry for every agent in reach whose log has grown since its last one, by identifier.
    /// Agents without a record, and those whose head is not the hash of their last record, are skipped. Returns the new
    /// length.
    async fn append_leaves(&self, recorded_at: Timestamp, of: Reach) -> Result<u64>;

    /// The store's own check of itself; empty where all is well.
    async fn check(&self) -> Result<Vec<Finding>>;

    /// The part of [`Fleet::check`] that compares the store's tables, and its triggers and other active objects, with
    /// those that Memoir makes. Its cost does not depend on the amount of data.
    async fn check_form(&self) -> Result<Vec<Finding>>;
}
