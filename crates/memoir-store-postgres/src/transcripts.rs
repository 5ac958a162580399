//! Conversations that wait to be read.
//!
//! Messages are entered with a commit, which locks the agent, and so does the end of a lease. The numbers of messages
//! have no gaps, and a lease that ends concurrently overlooks none.

use async_trait::async_trait;
use memoir_domain::{AccountId, AgentScope, Timestamp, absorption::MessageState};
use memoir_store::{
    FURTHEST_DAYS, MessageRow, Result, TranscriptRow, Transcripts, columns,
    decode::{self, Columns},
    select,
};

use tokio_postgres::Row;

use crate::{
    PostgresStore,
    fleet::scope,
    pool::{Reach, Statement},
    value::{Value, all, count, first, scoped},
};

const HOLD: &str = "SELECT id FROM agents WHERE id = $1 AND account_id = $2 FOR NO KEY UPDATE";

/// The state of the agent's messages: three statements, which [`read_state`] reads.
pub(crate) fn state(scope: &AgentScope) -> [Statement<'_>; 3] {
    let agent = scope.agent.as_bytes();
    [
        Statement::new(
            // Of the agent, since messages count also where nothing says when they are read.
            "SELECT transcripts.due_at, coalesce(transcripts.failures, 0) FROM agents LEFT JOIN transcripts \
                 ON transcripts.agent_id = agents.id AND transcripts.account_id = agents.account_id \
             WHERE agents.id = $1 AND agents.account_id = $2",
            scoped(scope),
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

/// Reads the answers of [`state`].
pub(crate) fn read_state<'rows>(
    answers: &mut impl Iterator<Item = &'rows [Row]>,
) -> Result<TranscriptRow> {
    let mut next = || answers.next().unwrap_or_default();
    let (transcript, counts, kept) = (next(), next(), next());
    let transcript = first(transcript, |row| {
        let mut columns = Columns::new(row, "transcripts");
        Ok(TranscriptRow {
            due_at: columns.optional_time()?,
            failures: columns.small_count()?,
            ..TranscriptRow::default()
        })
    })?;
    let Some(mut transcript) = transcript else {
        return Ok(TranscriptRow::default());
    };
    let counts = all(counts, |row| {
        let mut columns = Columns::new(row, "transcript_messages");
        Ok((
            columns.word::<MessageState>()?,
            columns.count()?,
            columns.count()?,
        ))
    })?;
    for (state, count, tokens) in counts {
        transcript.enter(state, count, tokens);
    }
    let kept = first(kept, |row| {
        let mut columns = Columns::new(row, "transcript_messages");
        Ok((columns.count()?, columns.count()?, columns.optional_time()?))
    })?;
    (
        transcript.kept,
        transcript.kept_tokens,
        transcript.kept_until,
    ) = kept.unwrap_or_default();
    Ok(transcript)
}

#[async_trait]
impl Transcripts for PostgresStore {
    async fn known_messages(
        &self,
        scope: AgentScope,
        digests: &[[u8; 32]],
    ) -> Result<Vec<[u8; 32]>> {
        let mut values = scoped(&scope);
        values.push(Value::ByteLists(
            digests.iter().map(|digest| Some(&digest[..])).collect(),
        ));
        let sql = "SELECT digest FROM transcript_messages \
             WHERE agent_id = $1 AND digest = ANY ($3) AND EXISTS (SELECT 1 FROM agents \
                 WHERE agents.id = $1 AND account_id = $2)";
        all(&self.rows(Reach::Agent(scope), sql, values).await?, |row| {
            Columns::new(row, "transcript_messages").bytes()
        })
    }

    async fn hurry_messages(&self, scope: AgentScope, due_at: Timestamp) -> Result<()> {
        let mut values = scoped(&scope);
        values.push(due_at.into());
        let sql = "UPDATE transcripts SET due_at = $3 WHERE agent_id = $1 AND account_id = $2 \
                 AND due_at > $3 AND claimed_until IS NULL RETURNING 1";
        self.writes(Reach::Agent(scope), sql, values)
            .await
            .map(drop)
    }

    async fn pending_messages(&self, scope: AgentScope, tokens: u64) -> Result<Vec<MessageRow>> {
        let mut values = scoped(&scope);
        values.push(i64::try_from(tokens).unwrap_or(i64::MAX).into());
        // The first message is returned however long it is: it would otherwise block all later ones.
        let sql = select!(
            message,
            "FROM (SELECT ",
            columns!(message),
            ", sum(tokens) OVER (ORDER BY seq) AS used, row_number() OVER (ORDER BY seq) AS place \
                 FROM transcript_messages WHERE agent_id = $1 AND state = 'pending') AS waiting \
             WHERE (used <= $3 OR place = 1) AND EXISTS (SELECT 1 FROM agents \
                 WHERE agents.id = $1 AND account_id = $2 AND erased_at IS NULL) ORDER BY seq"
        );
        all(
            &self.rows(Reach::Agent(scope), sql, values).await?,
            decode::message,
        )
    }

    async fn transcript(&self, scope: AgentScope) -> Result<TranscriptRow> {
        let answers = self.read(Reach::Agent(scope), &state(&scope)).await?;
        read_state(&mut answers.iter().map(Vec::as_slice))
    }

    async fn claim_transcript(
        &self,
        scope: AgentScope,
        now: Option<Timestamp>,
        until: Timestamp,
    ) -> Result<Option<u64>> {
        let mut values = scoped(&scope);
        let furthest = now.map(|now| now.plus_days(FURTHEST_DAYS));
        values.extend(values![now, until, furthest]);
        // Of two concurrent claimants the second waits for the row, and finds `due_at` moved. If the process dies, the
        // messages are due again at the end of the lease without a cleanup.
        let sql = "UPDATE transcripts SET claimed_until = $4, due_at = $4, claims = claims + 1 \
             WHERE agent_id = $1 AND account_id = $2 \
                 AND (due_at <= coalesce($3, due_at) OR due_at > $5) RETURNING claims";
        let statements = [
            Statement::new(HOLD, scoped(&scope)),
            Statement::new(sql, values),
        ];
        let answers = self.write(Reach::Agent(scope), &statements).await?;
        let claims = answers.last().map(Vec::as_slice).unwrap_or_default();
        first(claims, |row| Columns::new(row, "transcripts").count())
    }

    async fn extend_transcript(
        &self,
        scope: AgentScope,
        claim: u64,
        until: Timestamp,
    ) -> Result<bool> {
        let mut values = scoped(&scope);
        values.extend(values![until, count(claim, "transcripts", "claims")?]);
        // Needs no lock on the agent: the lease's number alone shows whether it is still ours.
        let sql = "UPDATE transcripts SET claimed_until = $3, due_at = $3 \
             WHERE agent_id = $1 AND account_id = $2 AND claimed_until IS NOT NULL AND claims = $4 \
             RETURNING 1";
        self.writes(Reach::Agent(scope), sql, values).await
    }

    async fn resolve_transcript(
        &self,
        scope: AgentScope,
        claim: u64,
        due_at: Timestamp,
        failures: u32,
    ) -> Result<()> {
        let mut values = scoped(&scope);
        values.extend(values![
            due_at,
            failures,
            count(claim, "transcripts", "claims")?
        ]);
        // With the agent locked: a message that is entered concurrently is either found here or finds the lease ended.
        let sql = "UPDATE transcripts SET claimed_until = NULL, failures = $4, \
                 due_at = CASE WHEN EXISTS (SELECT 1 FROM transcript_messages \
                     WHERE agent_id = $1 AND state = 'pending') THEN $3 END \
             WHERE agent_id = $1 AND account_id = $2 AND claimed_until IS NOT NULL AND claims = $5";
        let statements = [
            Statement::new(HOLD, scoped(&scope)),
            Statement::new(sql, values),
        ];
        self.write(Reach::Agent(scope), &statements).await?;
        Ok(())
    }

    async fn forget_words(&self, now: Timestamp) -> Result<()> {
        let sql =
            "UPDATE transcript_messages SET body = '', words_until = NULL WHERE words_until <= $1";
        self.writes(Reach::Fleet, sql, values![now]).await.map(drop)
    }

    async fn due_transcripts(
        &self,
        account: Option<AccountId>,
        now: Timestamp,
        per_account: u32,
    ) -> Result<Vec<AgentScope>> {
        let due = "SELECT agent_id AS id, due_at AS since FROM transcripts WHERE account_id = accounts.id AND due_at";
        self.due(due, "<=", account, now, per_account).await
    }

    async fn due_reflections(
        &self,
        account: Option<AccountId>,
        slot: Timestamp,
        per_account: u32,
    ) -> Result<Vec<AgentScope>> {
        let due = "SELECT id, reflect_after AS since FROM agents WHERE account_id = accounts.id AND reflect_after";
        self.due(due, "<", account, slot, per_account).await
    }
}

impl PostgresStore {
    /// Two ranges of an index of each account.
    async fn due(
        &self,
        due: &str,
        compared: &str,
        account: Option<AccountId>,
        until: Timestamp,
        per_account: u32,
    ) -> Result<Vec<AgentScope>> {
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
        all(&self.rows(Reach::Fleet, sql, values).await?, scope)
    }
}
