//! Conversations that wait to be read.

use async_trait::async_trait;
use memoir_domain::{AccountId, AgentScope, Timestamp};
use memoir_store::{
    DueWork, FURTHEST_DAYS, MessageOutcome, MessageRow, Result, TranscriptRow, Transcripts,
    Waiting, select,
};
use rusqlite::{Connection, params};

use crate::{
    SqliteStore,
    agent::{all, execute, exists, first},
    decode::{self, Columns, SqliteRow},
    encode::{self, of_agent},
    error, fault,
    fleet::accounts,
};

#[async_trait]
impl Transcripts for SqliteStore {
    async fn known_messages(
        &self,
        scope: AgentScope,
        digests: &[[u8; 32]],
    ) -> Result<Vec<[u8; 32]>> {
        let digests = digests.to_vec();
        self.scan(move |connection| {
            let mut had = connection.prepare_cached(
                "SELECT 1 FROM transcript_messages JOIN agents ON agents.id = agent_id \
         WHERE agent_id = ?1 AND account_id = ?2 AND digest = ?3",
            )?;
            let (agent, account) = (scope.agent.as_bytes(), scope.account.as_bytes());
            let mut known = Vec::new();
            for digest in digests {
                if had.exists(params![agent, account, digest])? {
                    known.push(digest);
                }
            }
            Ok(known)
        })
        .await
    }

    async fn pending_messages(&self, scope: AgentScope, tokens: u64) -> Result<Vec<MessageRow>> {
        self.scan(move |connection| {
            let sql =
                "SELECT 1 FROM agents WHERE id = ?1 AND account_id = ?2 AND erased_at IS NULL";
            let values = [scope.agent.as_bytes(), scope.account.as_bytes()];
            if !exists(connection, sql, values)? {
                return Ok(Vec::new());
            }
            let mut statement = connection.prepare_cached(PENDING)?;
            let mut rows = statement.query([scope.agent.as_bytes()])?;
            let mut messages: Vec<MessageRow> = Vec::new();
            let mut used = 0_u64;
            while let Some(row) = rows.next()? {
                let message = decode::message(&SqliteRow(row))?;
                // Returns at least one message, however long: one above the limit would otherwise block all later ones.
                used = used.saturating_add(message.tokens);
                if used > tokens && !messages.is_empty() {
                    break;
                }
                messages.push(message);
            }
            Ok(messages)
        })
        .await
    }

    async fn transcript(&self, scope: AgentScope) -> Result<TranscriptRow> {
        self.scan(move |connection| transcript(connection, scope))
            .await
    }

    async fn forget_words(&self, now: Timestamp) -> Result<()> {
        // Called with every command.
        let due = "SELECT 1 FROM transcript_messages WHERE words_until <= ?1";
        self.write_in_parts(due, FORGET_WORDS, now, "transcript.forgotten")
            .await
    }

    async fn due_work(
        &self,
        work: DueWork,
        account: Option<AccountId>,
        per_account: u32,
    ) -> Result<Vec<AgentScope>> {
        let (sql, until) = match work {
            DueWork::Messages(now) => (DUE_TRANSCRIPTS, now),
            DueWork::Reflection(slot) => (DUE_REFLECTIONS, slot),
        };
        self.scan(move |connection| {
            let bounds = [until, until.plus_days(FURTHEST_DAYS)];
            let [until, furthest] = bounds.map(Timestamp::microseconds);
            let mut scopes = Vec::new();
            for account in accounts(connection, account)? {
                let bounds = params![account.as_bytes(), until, furthest, per_account];
                scopes.extend(all(connection, sql, bounds, |row| {
                    let agent = Columns::new(row, "agents").id()?;
                    Ok(AgentScope { account, agent })
                })?);
            }
            Ok(scopes)
        })
        .await
    }
}

/// Lets messages wait, as a part of a decision on the agent.
pub(crate) fn write_waiting(
    connection: &Connection,
    scope: AgentScope,
    waiting: &Waiting,
    due_at: Timestamp,
) -> error::Result<()> {
    let agent = scope.agent.as_bytes();
    match waiting {
        Waiting::New(messages) => {
            enter(connection, agent, messages)?;
            fault::point("transcript.messages");
            // A lease that is held continues with the new messages; a wait after failures ends.
            execute(
                connection,
                "INSERT INTO transcripts (agent_id, account_id, due_at, claims, failures) \
                 VALUES (?1, ?2, ?3, 0, 0) \
                 ON CONFLICT (agent_id) DO UPDATE SET due_at = excluded.due_at, failures = 0 \
                 WHERE claimed_until IS NULL OR transcripts.due_at IS NULL",
                params![agent, scope.account.as_bytes(), due_at.microseconds()],
            )?;
            fault::point("transcript.due");
        }
        Waiting::Again { which, count, .. } => {
            if execute(connection, which.statement(), [agent])? as u64 != *count {
                // Words were forgotten since they were counted.
                return Err(memoir_store::Error::Conflict.into());
            }
            execute(
                connection,
                "UPDATE transcripts SET due_at = min(coalesce(due_at, ?2), ?2), failures = 0 \
                 WHERE agent_id = ?1 AND claimed_until IS NULL",
                params![agent, due_at.microseconds()],
            )?;
            fault::point("transcript.revived");
        }
    }
    Ok(())
}

fn enter(connection: &Connection, agent: &[u8; 16], messages: &[MessageRow]) -> error::Result<()> {
    let mut insert = connection.prepare_cached(
        // Each message is entered only once, since rows of absorbed ones remain without their words: only the keyed
        // digest is left (SPEC 2.6).
        "INSERT INTO transcript_messages (agent_id, seq, digest, tokens, received_at, counted_bytes, state, body) \
         VALUES (?1, 1 + coalesce((SELECT max(seq) FROM transcript_messages WHERE agent_id = ?1), 0), \
             ?4, ?2, ?5, ?3, 'pending', ?6) \
         ON CONFLICT (agent_id, digest) DO NOTHING",
    )?;
    for message in messages {
        if insert.execute(of_agent(agent, encode::message(message)?))? == 0 {
            return Err(memoir_store::Error::Conflict.into());
        }
    }
    Ok(())
}

/// A walk through the index of those that wait.
const PENDING: &str = select!(
    message,
    "FROM transcript_messages INDEXED BY transcript_messages_pending \
     WHERE agent_id = ?1 AND state = 'pending' ORDER BY seq"
);

/// How many messages an agent has in each state, and their tokens.
const STATES: &str = "SELECT state, count(*), coalesce(sum(tokens), 0) \
     FROM transcript_messages INDEXED BY transcript_messages_sums WHERE agent_id = ?1 GROUP BY state";

/// How many of its absorbed messages keep their words, their tokens, and until when the last of them does.
const KEPT: &str = "SELECT count(words_until), coalesce(sum(iif(words_until IS NULL, 0, tokens)), 0), max(words_until) \
     FROM transcript_messages INDEXED BY transcript_messages_sums WHERE agent_id = ?1";

/// The state of the agent's messages.
pub(crate) fn transcript(
    connection: &Connection,
    scope: AgentScope,
) -> error::Result<TranscriptRow> {
    let row = first(
        connection,
        // Of the agent, since messages count also where nothing says when they are read.
        "SELECT transcripts.due_at, coalesce(transcripts.failures, 0) FROM agents \
         LEFT JOIN transcripts ON transcripts.agent_id = agents.id AND transcripts.account_id = agents.account_id \
         WHERE agents.id = ?1 AND agents.account_id = ?2",
        [scope.agent.as_bytes(), scope.account.as_bytes()],
        decode::message_schedule,
    )?;
    let Some(transcript) = row else {
        return Ok(TranscriptRow::default());
    };
    let agent = [scope.agent.as_bytes()];
    let counts = all(connection, STATES, agent, decode::messages_in_state)?;
    let kept = first(connection, KEPT, agent, decode::kept_words)?;
    Ok(transcript.with(counts, kept))
}

/// A part of a range of an index: other writers wait for each part.
const FORGET_WORDS: &str = "UPDATE transcript_messages SET body = x'', words_until = NULL \
     WHERE (agent_id, seq) IN \
         (SELECT agent_id, seq FROM transcript_messages WHERE words_until <= ?1 LIMIT 1000)";

/// Writes the outcomes of messages. The words of absorbed ones are deleted, or kept until a time.
pub(crate) fn write_states(
    connection: &Connection,
    agent: &[u8; 16],
    messages: &[MessageOutcome],
) -> error::Result<()> {
    let mut statement = connection.prepare_cached(
        // `state = 'pending'` in the condition is what makes absorbing exactly once: the memories
        // of the same decision are saved only where every message was still waiting.
        "UPDATE transcript_messages SET state = ?3, words_until = ?4, \
             body = CASE WHEN ?3 = 'absorbed' AND ?4 IS NULL THEN x'' ELSE body END \
         WHERE agent_id = ?1 AND seq = ?2 AND state = 'pending'",
    )?;
    for message in messages {
        if statement.execute(of_agent(agent, encode::outcome(message)?))? == 0 {
            // Another process has read it meanwhile: nothing of this may be saved twice.
            return Err(memoir_store::Error::Conflict.into());
        }
    }
    Ok(())
}

/// A range of an index of what is due.
const DUE_TRANSCRIPTS: &str = "SELECT agent_id, due_at FROM transcripts \
     WHERE account_id = ?1 AND due_at <= ?2 \
     UNION ALL \
     SELECT agent_id, due_at FROM transcripts WHERE account_id = ?1 AND due_at > ?3 \
     ORDER BY due_at, agent_id LIMIT ?4";

/// A range of an index of what is due.
const DUE_REFLECTIONS: &str = "SELECT id, reflect_after FROM agents \
     WHERE account_id = ?1 AND reflect_after < ?2 \
     UNION ALL \
     SELECT id, reflect_after FROM agents WHERE account_id = ?1 AND reflect_after > ?3 \
     ORDER BY reflect_after, id LIMIT ?4";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::searches;

    #[test]
    fn what_is_due_and_what_waits_is_found_by_an_index() {
        let range = |index: &str| {
            let search = |side| format!("SEARCH {index}{side}?)");
            [search('<'), search('>')]
        };
        let due = "transcripts USING COVERING INDEX transcripts_due (account_id=? AND due_at";
        assert_eq!(searches(DUE_TRANSCRIPTS), range(due));
        let reflections =
            "agents USING COVERING INDEX agents_by_reflection (account_id=? AND reflect_after";
        assert_eq!(searches(DUE_REFLECTIONS), range(reflections));
        assert_eq!(
            searches(FORGET_WORDS),
            [
                "SEARCH transcript_messages USING PRIMARY KEY (agent_id=? AND seq=?)",
                "SEARCH transcript_messages USING COVERING INDEX transcript_messages_kept (words_until<?)",
            ]
        );
        for (sql, index) in [
            (
                STATES,
                "COVERING INDEX transcript_messages_sums (agent_id=?)",
            ),
            (KEPT, "COVERING INDEX transcript_messages_sums (agent_id=?)"),
            (PENDING, "INDEX transcript_messages_pending (agent_id=?)"),
        ] {
            let expected = format!("SEARCH transcript_messages USING {index}");
            assert_eq!(searches(sql), [expected]);
        }
    }
}
