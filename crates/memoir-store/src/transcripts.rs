//! Conversations that wait to be read by the agents that they were handed to (SPEC 2.6).

use async_trait::async_trait;
use memoir_domain::{
    AccountId, AgentScope, Timestamp, absorption::MessageState, agent::MessageCounts,
};

use crate::{CountAndTokens, Result, StoredText};

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRow {
    /// Its place among the agent's messages, from 1. Given by the store when it is written.
    pub seq: u64,
    /// The digest, under the agent's key, by which it is known; unique within the agent.
    pub digest: [u8; 32],
    /// Its size in tokens.
    pub tokens: u64,
    /// When it was handed over.
    pub received_at: Timestamp,
    /// The bytes that it takes of the agent's day: those of its text where the agent itself handed it over, and 0
    /// otherwise.
    pub counted_bytes: u64,
    /// Its state.
    pub state: MessageState,
    /// Author, text and time; empty once the words are deleted.
    pub body: StoredText,
}

/// The outcome of a waiting message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageOutcome {
    /// Its place among the agent's messages.
    pub seq: u64,
    /// Its size in tokens; not written.
    pub tokens: u64,
    /// Its state.
    pub state: MessageState,
    /// For an absorbed one until when its words are kept; `None` if its words are deleted now, and for every other
    /// state.
    pub words_until: Option<Timestamp>,
}

/// Messages that a decision lets wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waiting {
    /// New ones, which go to the end in their order. One whose digest the agent has had before is a conflict. A wait
    /// after failures ends.
    New(Vec<MessageRow>),
    /// Earlier ones, once more.
    Again {
        /// Which.
        which: Reviving,
        /// How many there are; any other number is a conflict.
        count: u64,
        /// Their tokens; not written.
        tokens: u64,
    },
}

impl Waiting {
    /// How many messages there are, and their tokens.
    pub fn size(&self) -> CountAndTokens {
        match self {
            Self::New(rows) => CountAndTokens {
                count: rows.len() as u64,
                tokens: rows.iter().map(|row| row.tokens).sum(),
            },
            &Self::Again { count, tokens, .. } => CountAndTokens { count, tokens },
        }
    }
}

/// Which messages are to wait again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reviving {
    /// Those that failed permanently.
    Failed,
    /// Those that were absorbed and whose words are kept.
    Absorbed,
}

impl Reviving {
    /// The statement that lets those of the agent `$1` wait.
    pub fn statement(self) -> &'static str {
        match self {
            Self::Failed => {
                "UPDATE transcript_messages SET state = 'pending' WHERE agent_id = $1 AND state = 'failed'"
            }
            Self::Absorbed => {
                "UPDATE transcript_messages SET state = 'pending', words_until = NULL \
                 WHERE agent_id = $1 AND state = 'absorbed' AND words_until IS NOT NULL"
            }
        }
    }
}

/// What agents may have to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DueWork {
    /// To read messages that are due at this time. Not those of erased agents.
    Messages(Timestamp),
    /// To reflect, where `reflect_after` is before this slot.
    Reflection(Timestamp),
}

/// Counts of an agent's messages by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, derive_more::Deref)]
pub struct TranscriptRow {
    /// From when on the messages that wait are to be read; `None` where none waits.
    pub due_at: Option<Timestamp>,
    /// Attempts at the next chunk that came to nothing.
    pub failures: u32,
    /// The counts that are held with the agent.
    #[deref]
    pub counts: MessageCounts,
    /// Tokens of the messages that failed permanently.
    pub failed_tokens: u64,
    /// Absorbed messages whose words are kept.
    pub kept: u64,
    /// Tokens of these.
    pub kept_tokens: u64,
    /// Until when the last words of these are kept; `None` where none are.
    pub kept_until: Option<Timestamp>,
}

impl TranscriptRow {
    /// The same with how many messages are in each state, and with those whose words are kept, and until when.
    #[must_use]
    pub fn with(
        mut self,
        counts: Vec<(MessageState, CountAndTokens)>,
        kept: Option<(CountAndTokens, Option<Timestamp>)>,
    ) -> Self {
        let held = &mut self.counts;
        for (state, CountAndTokens { count, tokens }) in counts {
            match state {
                MessageState::Pending => (held.pending, held.pending_tokens) = (count, tokens),
                MessageState::Absorbed => held.absorbed = count,
                MessageState::Failed => (held.failed, self.failed_tokens) = (count, tokens),
            }
        }
        let (words, until) = kept.unwrap_or_default();
        (self.kept, self.kept_tokens, self.kept_until) = (words.count, words.tokens, until);
        self
    }
}

/// Messages that wait to be read. They are read in the order in which they came. They are entered with a decision
/// ([`Commit::waiting`](crate::Commit::waiting)), and what a message became is written with the decision that follows
/// from it ([`Commit::messages`](crate::Commit::messages)).
#[async_trait]
pub trait Transcripts: Send + Sync {
    /// Those of the digests under which the agent has had a message.
    async fn known_messages(
        &self,
        scope: AgentScope,
        digests: &[[u8; 32]],
    ) -> Result<Vec<[u8; 32]>>;

    /// The first of the messages that wait, as many as fit into `tokens`, and at least one.
    async fn pending_messages(&self, scope: AgentScope, tokens: u64) -> Result<Vec<MessageRow>>;

    /// The state of the agent's messages.
    async fn transcript(&self, scope: AgentScope) -> Result<TranscriptRow>;

    /// Removes the words of absorbed messages that are kept until `now` or an earlier time, of all agents (SPEC 2.6).
    async fn forget_words(&self, now: Timestamp) -> Result<()>;

    /// Agents that have that to do, of all accounts or of one, those longest due first, at most `per_account` of each.
    /// Times further ahead than [`FURTHEST_DAYS`](crate::FURTHEST_DAYS) count as due. The rows are not checked: this
    /// only proposes.
    async fn due_work(
        &self,
        work: DueWork,
        account: Option<AccountId>,
        per_account: u32,
    ) -> Result<Vec<AgentScope>>;
}
