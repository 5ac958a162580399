//! Conversations that wait to be read.
//!
//! Messages are entered with a commit, which locks the agent, and so does the end of a lease. The numbers of messages
//! have no gaps, and a lease that ends concurrently overlooks none.

use async_trait::async_trait;
use memoir_domain::{AccountId, AgentScope, Timestamp};
use memoir_store::{
    DueWork, FURTHEST_DAYS, MessageRow, Reach, Result, TranscriptRow, Transcripts, columns,
    decode::{self, Columns},
    select,
};
use tokio_postgres::Row;

use crate::{
    PostgresStore,
    pool::Statement,
    value::{Value, all, first},
};

/// The state of the agent's messages: three statements, which [`read_state`] reads.
pub(crate) fn state(scope: &AgentScope) -> [Statement<'_>; 3] {
    let agent = scope.agent.as_bytes();
    [
        Statement::new(
            // Of the agent, since messages count also where nothing says when they are read.
            "SELECT transcripts.due_at, coalesce(transcripts.failures, 0) FROM agents LEFT JOIN transcripts \
                 ON transcripts.agent_id = agents.id AND transcripts.account_id = agents.account_id \
             WHERE agents.id = $1 AND agents.account_id = $2",
            scoped![scope],
        ),
        Statement::new(
            "SELECT state, count(*), coalesce(sum(tokens), 0)::bigint FROM transcript_messages \
             WHERE agent_id = $1 GROUP BY state",
            values![agent],
        ),
        Statement::new(
            "SELECT count(*), coalesce(sum(tokens), 0)::bigint, max(words_until) \
             FROM transcript_messages WHERE agent_id = $1 AND words_until IS NOT NULL",
            values![agent],
        ),
    ]
}

pub(crate) fn read_state([schedule, counts, kept]: [&[Row]; 3]) -> Result<TranscriptRow> {
    let Some(transcript) = first(schedule, decode::message_schedule)? else {
        return Ok(TranscriptRow::default());
    };
    let counts = all(counts, decode::messages_in_state)?;
    Ok(transcript.with(counts, first(kept, decode::kept_words)?))
}

#[async_trait]
impl Transcripts for PostgresStore {
    async fn known_messages(
        &self,
        scope: AgentScope,
        digests: &[[u8; 32]],
    ) -> Result<Vec<[u8; 32]>> {
        let digests = digests.iter().map(|digest| Some(&digest[..]));
        let values = scoped![scope, Value::ByteLists(digests.collect())];
        let sql = concat!(
            "SELECT digest FROM transcript_messages WHERE agent_id = $1 AND digest = ANY ($3) AND",
            is_theirs!()
        );
        self.all(scope, sql, values, |row| {
            Columns::new(row, "transcript_messages").bytes()
        })
        .await
    }

    async fn pending_messages(&self, scope: AgentScope, tokens: u64) -> Result<Vec<MessageRow>> {
        let values = scoped![scope, i64::try_from(tokens).unwrap_or(i64::MAX)];
        // The first message is returned however long it is: it would otherwise block all later ones.
        let sql = select!(
            message,
            "FROM (SELECT ",
            columns!(message),
            ", sum(tokens) OVER (ORDER BY seq) AS used, row_number() OVER (ORDER BY seq) AS place \
                 FROM transcript_messages WHERE agent_id = $1 AND state = 'pending') AS waiting \
             WHERE (used <= $3 OR place = 1) AND",
            lives!(),
            "ORDER BY seq"
        );
        self.all(scope, sql, values, decode::message).await
    }

    async fn transcript(&self, scope: AgentScope) -> Result<TranscriptRow> {
        let answers = self.connections.read_each(scope, state(&scope)).await?;
        read_state(answers.each_ref().map(Vec::as_slice))
    }

    async fn forget_words(&self, now: Timestamp) -> Result<()> {
        let sql = "WITH old AS MATERIALIZED (SELECT agent_id, seq FROM transcript_messages WHERE words_until <= $1 \
                 ORDER BY words_until LIMIT $2 FOR UPDATE SKIP LOCKED) \
             UPDATE transcript_messages SET body = '', words_until = NULL FROM old \
             WHERE transcript_messages.agent_id = old.agent_id AND transcript_messages.seq = old.seq RETURNING 1";
        self.write_in_parts(sql, Some(now)).await
    }

    /// Two ranges of an index of each account.
    async fn due_work(
        &self,
        work: DueWork,
        account: Option<AccountId>,
        per_account: u32,
    ) -> Result<Vec<AgentScope>> {
        let (due, compared, until) = match work {
            DueWork::Messages(now) => (
                "SELECT agent_id AS id, due_at AS since FROM transcripts WHERE account_id = accounts.id AND due_at",
                "<=",
                now,
            ),
            DueWork::Reflection(slot) => (
                "SELECT id, reflect_after AS since FROM agents WHERE account_id = accounts.id AND reflect_after",
                "<",
                slot,
            ),
        };
        let sql = format!(
            "SELECT due.id, accounts.id FROM accounts CROSS JOIN LATERAL ( \
                 ({due} {compared} $2 ORDER BY since, id LIMIT $4) UNION ALL \
                 ({due} > $3 ORDER BY since, id LIMIT $4) ORDER BY since, id LIMIT $4) AS due \
             WHERE $1 IS NULL OR accounts.id = $1 ORDER BY accounts.id, since, due.id"
        );
        let values = values![
            account.as_ref().map(|account| account.as_bytes()),
            until,
            until.plus_days(FURTHEST_DAYS),
            per_account,
        ];
        self.all(Reach::All, sql, values, decode::scope).await
    }
}

impl PostgresStore {
    /// Writes by one statement while the agent is locked; the rows that it returned. Its own condition reports a wrong
    /// account.
    pub(crate) async fn write_holding(
        &self,
        scope: AgentScope,
        sql: &'static str,
        values: Vec<Value<'_>>,
    ) -> Result<Vec<Row>> {
        let hold = "SELECT id FROM agents WHERE id = $1 AND account_id = $2 FOR NO KEY UPDATE";
        let statements = [
            Statement::new(hold, scoped![scope]),
            Statement::new(sql, values),
        ];
        let mut answers = self.connections.write(scope, &statements).await?;
        Ok(answers.pop().unwrap_or_default())
    }
}
