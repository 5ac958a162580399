//! Whether an agent is in use (SPEC 5.5): from then on only the agent decides about its tokens, since the holder of one
//! can read all of its text.
//!
//! Text of an agent is stored in these tables. Each is checked here or depends on one that is:
//!
//! | table | what shows here that it holds text |
//! |---|---|
//! | `memories`, `memory_vectors`, `word_indexes` | a number that was given, discarded or shredded since or not |
//! | `sessions` | a session, which needs memories |
//! | `agent_prompts`, `audit_records`, `log_summaries`, `access_requests` | a record by the agent |
//! | `transcript_messages` | a message that an administrator did not hand over, or whose sender is no longer readable |
//! | `replies` | the use of a token |
//!
//! `spec_5_5_text_in_any_table_makes_an_agent_in_use` fails for a table without a test case.

use memoir_domain::audit::{Action, ActorKind};
use memoir_store::AgentQuery;

use crate::{
    core::{Loaded, Result, codec},
    people::{Grants, access::HeldToken},
};

/// Most memories and records of an agent that may be unused; one with more is in use.
// More than administrators set and Memoir reports before an agent is put to use, and few enough to open together.
const MOST_RECORDS: u64 = 1_000;
/// Most tokens of messages that are opened to find who handed them over; an agent with more is in use.
const MOST_MESSAGE_TOKENS: u64 = 1_000_000;

impl Grants<'_> {
    /// Whether a token of the agent was ever used or is valid, or any text of the agent exists that is not an
    /// administrator's. Memories of every author count, but for the entries in which Memoir reports settings to the
    /// agent. Uses in another process count once that has written them.
    pub(crate) async fn is_in_use(self, loaded: &Loaded) -> Result<bool> {
        // Before anything is read: an agent in use may have a million records.
        if loaded.newest_seq() > MOST_RECORDS {
            return Ok(true);
        }
        let store = &self.memoir.store;
        Ok(self.has_used_token().await?
            || self.has_record_of_use(loaded).await?
            || !store.session_sizes(self.scope, None, 1).await?.is_empty()
            || self.has_message(loaded).await?)
    }

    async fn has_used_token(self) -> Result<bool> {
        let now = self.memoir.now();
        for row in self.memoir.store.agent_tokens(self.scope).await? {
            let token = HeldToken::read(&row)?;
            if token.counts(now) || self.memoir.was_used(&token) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the agent acted, or was given a memory by another actor than Memoir.
    async fn has_record_of_use(self, loaded: &Loaded) -> Result<bool> {
        let (mut entries, mut from_seq) = (0, Some(1));
        while let Some(first) = from_seq {
            let page = self.log().page_from(first, u32::MAX).await?;
            let last = page.rows.last().filter(|_| page.has_more);
            from_seq = last.map(|row| row.seq + 1);
            // Opened, so that write access to the database cannot attribute an agent's acts to others.
            for record in codec::records(Some(loaded.base.key()), page.rows)? {
                match record.actor.kind {
                    ActorKind::Agent => return Ok(true),
                    ActorKind::System if record.action == Action::MemorySaved => entries += 1,
                    _ => {}
                }
            }
        }
        // Numbers are never reused, so a memory that was discarded or shredded still counts.
        Ok(loaded.agent.next_number.0 - 1 != entries)
    }

    /// Whether messages wait that an administrator did not hand over. Those that were already sent to the agent's model
    /// count in any case.
    async fn has_message(self, loaded: &Loaded) -> Result<bool> {
        let store = &self.memoir.store;
        let query = AgentQuery::default().with_transcript();
        let read = self.load(&query).await?;
        let row = read.transcript;
        // Rows that do not fit the agent's own counts were modified outside Memoir.
        if row.absorbed > 0 || row.failed > 0 || row.counts != read.agent.messages {
            return Ok(true);
        }
        let waiting = store
            .pending_messages(self.scope, MOST_MESSAGE_TOKENS)
            .await?;
        if (waiting.len() as u64) < row.pending {
            return Ok(true);
        }
        for message in &waiting {
            let message = codec::open_message(loaded.base.key(), message)?;
            if message.handed_over_by != ActorKind::Administrator {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
