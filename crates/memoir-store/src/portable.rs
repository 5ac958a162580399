//! What all databases do by the same statements, and what each of them does with a statement.

use async_trait::async_trait;
use memoir_domain::{
    AccessRequestId, AccountId, AgentId, AgentScope, SessionId, Timestamp, UserId,
    session::LONGEST_LEASE_SECONDS,
};

use crate::{
    AccessRow, AccountRow, AgentRow, DeliveryRow, Document, Error, FURTHEST_DAYS, LeafRow,
    MemoryRow, OpenAccess, ReceiverDigest, ReplyRow, Result, SummaryRow, TokenRow, UserRow, Value,
    WordIndexRow, columns,
    decode::{self, Columns, RowReader},
    encode::{self, count},
    owner_in, select, values,
};

/// The agents whose rows are read or written, or whose logs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, derive_more::From)]
pub enum Reach {
    /// All agents.
    All,
    /// Those of one account.
    Account(AccountId),
    /// One agent.
    Agent(AgentScope),
}

impl Reach {
    /// The account and the agent; `None` where there is more than one.
    pub fn ids(&self) -> (Option<&[u8; 16]>, Option<&[u8; 16]>) {
        match self {
            Self::All => (None, None),
            Self::Account(account) => (Some(account.as_bytes()), None),
            Self::Agent(scope) => (Some(scope.account.as_bytes()), Some(scope.agent.as_bytes())),
        }
    }
}

/// What no other process changes until the statements of a transaction are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// The rows of that table.
    Table(&'static str),
    /// An agent: no decision on it is written.
    Agent {
        /// The agent.
        scope: AgentScope,
        /// The version that it must have; `None` for any.
        version: Option<i64>,
        /// Whether it must not be erased.
        must_live: bool,
    },
}

impl Held {
    /// The table that an error names.
    pub fn table(self) -> &'static str {
        match self {
            Self::Table(table) => table,
            Self::Agent { .. } => "agents",
        }
    }
}

/// How many rows a statement writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenRows {
    /// Any number.
    Any,
    /// None or one.
    OneAtMost,
    /// Exactly one.
    One,
}

/// One of the statements of a transaction.
#[derive(Debug, Clone)]
pub struct Change<'value> {
    /// The statement.
    pub sql: &'static str,
    /// Its values.
    pub values: Vec<Value<'value>>,
    /// How many rows it writes.
    pub rows: WrittenRows,
}

impl<'value> Change<'value> {
    fn new(rows: WrittenRows, sql: &'static str, values: impl Into<Vec<Value<'value>>>) -> Self {
        let values = values.into();
        Self { sql, values, rows }
    }

    /// One for each row, which it may write, with the agent as its first value and those of the row after it.
    fn of_rows<Row, const N: usize>(
        agent: &'value AgentId,
        sql: &'static str,
        rows: &'value [Row],
        values: impl Fn(&'value Row) -> Result<[Value<'value>; N]>,
    ) -> Result<Vec<Self>> {
        let change = |row: &'value Row| -> Result<Self> {
            let agent = [Value::from(agent.as_bytes())].into_iter();
            let values: Vec<_> = agent.chain(values(row)?).collect();
            Ok(Self::new(WrittenRows::OneAtMost, sql, values))
        };
        rows.iter().map(change).collect()
    }
}

/// A database that runs statements of the SQL that all databases know. The parameters of each, `$1` and so on, first
/// appear in the order of their numbers: some databases number them so.
#[async_trait]
pub trait Database: Send + Sync {
    /// The rows of a statement, any number.
    async fn rows<T: Send + 'static>(
        &self,
        reach: Reach,
        sql: &'static str,
        values: &[Value<'_>],
        read: RowReader<T>,
    ) -> Result<Vec<T>>;

    /// The first row of a statement that finds few rows by their keys.
    async fn row<T: Send + 'static>(
        &self,
        reach: Reach,
        sql: &'static str,
        values: &[Value<'_>],
        read: RowReader<T>,
    ) -> Result<Option<T>>;

    /// Writes a few rows by one statement; whether there were any. They are on the disk when this returns.
    async fn change(&self, reach: Reach, sql: &'static str, values: &[Value<'_>]) -> Result<bool>;

    /// Writes one row by a statement that returns it, while no decision on the agent is written; `None` if there is none.
    /// It is on the disk when this returns.
    async fn change_held<T: Send + 'static>(
        &self,
        scope: AgentScope,
        sql: &'static str,
        values: &[Value<'_>],
        read: RowReader<T>,
    ) -> Result<Option<T>>;

    /// Writes by these statements in their order, all of it or nothing. `false`, and nothing is written, where what is to
    /// be held is not there, or of another version. They are on the disk when this returns.
    ///
    /// # Errors
    /// [`Error::Inconsistent`](crate::Error::Inconsistent) where one does not write the row that it must write.
    async fn change_all(&self, held: Held, changes: Vec<Change<'_>>) -> Result<bool>;
}

/// A page of an account's agents: a range of the index of names, with and without a name that the page before ended with.
pub const AGENT_PAGE: &str = select!(
    agent,
    "FROM agents WHERE account_id = $1 AND folded_name >= $2 AND folded_name IS DISTINCT FROM $3 \
         AND erased_at IS NULL AND id <> $1 ORDER BY folded_name LIMIT $4"
);

/// Ends the log over all heads with entries made at `$1`: of all logs, or those of an account, or of an agent.
// The position is computed from the last one: no two may run at a time. An agent whose head is not the hash of its last
// record is skipped: an entry would certify an inconsistent log, and verifying must find that first.
pub const APPEND_LEAVES: &str = "INSERT INTO log_leaves (position, agent_id, seq, head, recorded_at) \
     SELECT (SELECT coalesce(max(position), -1) FROM log_leaves) + row_number() OVER (ORDER BY agents.id), \
         agents.id, agents.next_seq - 1, agents.head, $1 \
     FROM agents \
     WHERE agents.next_seq > 1 AND agents.next_seq - 1 IS DISTINCT FROM (SELECT leaf.seq FROM log_leaves AS leaf \
         WHERE leaf.agent_id = agents.id ORDER BY leaf.position DESC LIMIT 1) \
         AND agents.head = (SELECT record.hash FROM audit_records AS record \
             WHERE record.agent_id = agents.id AND record.seq = agents.next_seq - 1) \
         AND ($2 IS NULL OR agents.account_id = $2) AND ($3 IS NULL OR agents.id = $3)";

/// How many entries it has.
pub const COUNT_LEAVES: &str = "SELECT coalesce(max(position), -1) + 1 FROM log_leaves";

/// The tokens of an agent.
pub const AGENT_TOKENS: &str = select!(
    token,
    "FROM tokens WHERE agent_id = $1 AND account_id = $2 ORDER BY created_at, id"
);

/// A page of an agent's requests for access.
pub const ACCESS_PAGE: &str = select!(
    access_request,
    "FROM access_requests WHERE agent_id = $1 AND (requested_at, id) < ($2, $3) \
         AND EXISTS (SELECT 1 FROM agents WHERE agents.id = $1 AND agents.account_id = $4) \
         ORDER BY requested_at DESC, id DESC LIMIT $5"
);

/// The open requests for access of all accounts, the requests first, in the order of their index.
pub const OPEN_ACCESS: &str = "SELECT access_requests.id, agents.id, agents.account_id, access_requests.state, \
         access_requests.expires_at \
     FROM access_requests CROSS JOIN agents \
     WHERE agents.id = access_requests.agent_id AND access_requests.state IN ('asked', 'granted') \
         AND agents.erased_at IS NULL \
     ORDER BY access_requests.expires_at, access_requests.id";

/// A trait of these methods, and its implementation for every database.
macro_rules! for_every_database {
    ($(
        $(#[$doc:meta])*
        async fn $name:ident(&$this:ident $(, $value:ident: $kind:ty)*) -> $answer:ty { $($body:tt)* }
    )*) => {
        /// What every store does by the same statements.
        #[async_trait]
        pub trait Portable: Send + Sync {
            $($(#[$doc])* async fn $name(&self $(, $value: $kind)*) -> $answer;)*
        }

        #[async_trait]
        impl<D: Database> Portable for D {
            $(async fn $name(&$this $(, $value: $kind)*) -> $answer { $($body)* })*
        }
    };
}

for_every_database! {
    /// All accounts, by name.
    async fn accounts(&self) -> Result<Vec<AccountRow>> {
        let sql = select!(account, "FROM accounts ORDER BY folded_name");
        self.rows(Reach::All, sql, &[], decode::account).await
    }

    /// The account of that folded name.
    async fn account_named(&self, folded_name: &str) -> Result<Option<AccountRow>> {
        let sql = select!(account, "FROM accounts WHERE folded_name = $1");
        self.row(Reach::All, sql, &values![folded_name], decode::account).await
    }

    /// The account's agents, by name, including the erased ones. Here and in every list and look-up by name, the
    /// account's own log ([`AgentScope::of_account`]) is no agent.
    async fn agents(&self, account: AccountId) -> Result<Vec<AgentRow>> {
        // Each half has an index of its own.
        let sql = select!(
            agent,
            // `id <> account_id` leaves out the account's own log, which is an agent by form
            // (`AgentScope::of_account`).
            "FROM agents WHERE account_id = $1 AND erased_at IS NULL AND id <> $1 UNION ALL SELECT ",
            columns!(agent),
            " FROM agents WHERE account_id = $1 AND erased_at IS NOT NULL \
             ORDER BY folded_name, erased_at NULLS FIRST, id"
        );
        self.rows(account.into(), sql, &values![account.as_bytes()], decode::agent).await
    }

    /// One page of the account's agents that are not erased: those whose folded name comes after, by folded name.
    async fn agent_page(&self, account: AccountId, after: Option<&str>, limit: u32) -> Result<Vec<AgentRow>> {
        let values = values![account.as_bytes(), after.unwrap_or_default(), after, limit];
        self.rows(account.into(), AGENT_PAGE, &values, decode::agent).await
    }

    /// Which of the account's agents a session belongs to.
    async fn session_owner(&self, account: AccountId, session: SessionId) -> Result<Option<AgentScope>> {
        let values = values![session.as_bytes(), account.as_bytes()];
        self.row(account.into(), owner_in!("sessions"), &values, decode::scope).await
    }

    /// Which of the account's agents a request for access is made to.
    async fn access_owner(&self, account: AccountId, request: AccessRequestId) -> Result<Option<AgentScope>> {
        let values = values![request.as_bytes(), account.as_bytes()];
        self.row(account.into(), owner_in!("access_requests"), &values, decode::scope).await
    }

    /// Requests for access of all accounts that are asked or granted, those first that end first; without
    /// those of erased agents.
    async fn open_access(&self) -> Result<Vec<OpenAccess>> {
        self.rows(Reach::All, OPEN_ACCESS, &[], decode::open_access).await
    }

    /// Running sessions of all accounts whose lease expired before `now`, or is longer than the maximum.
    async fn lapsed_sessions(&self, now: Timestamp) -> Result<Vec<(AgentScope, SessionId)>> {
        // A lease longer than the maximum was written before the clock was set back. It counts as expired; otherwise no
        // process could resume its session.
        let sql = "SELECT lapsed.id, agents.id, agents.account_id FROM (SELECT id, agent_id, lease_until FROM sessions \
                 WHERE (lease_until < $1 OR lease_until > $2) AND state IN ('queued', 'asking', 'open')) AS lapsed \
             JOIN agents ON agents.id = lapsed.agent_id ORDER BY lapsed.lease_until, lapsed.id";
        let values = values![now, now.plus_seconds(LONGEST_LEASE_SECONDS)];
        self.rows(Reach::All, sql, &values, decode::scoped_session).await
    }

    /// The scope of every agent of every account, the erased ones too, and of every account's own log, by identifier.
    async fn scopes(&self) -> Result<Vec<AgentScope>> {
        let sql = "SELECT id, account_id FROM agents ORDER BY id";
        self.rows(Reach::All, sql, &[], decode::scope).await
    }

    /// The log over all heads from the entry at `from` on, in its order; the first one is at 0.
    async fn leaves(&self, from: u64) -> Result<Vec<LeafRow>> {
        // No entry is at a place that a column cannot hold.
        let Ok(first) = count(from, "log_leaves", "position") else {
            return Ok(Vec::new());
        };
        let sql = select!(leaf, "FROM log_leaves WHERE position >= $1 ORDER BY position");
        let placed = self.rows(Reach::All, sql, &values![first], decode::leaf).await?;
        decode::leaves_from(from, placed)
    }

    /// The entries of one agent in the log over all heads, in its order. Its cost does not depend on the others.
    async fn leaves_of(&self, agent: AgentId) -> Result<Vec<LeafRow>> {
        let sql = select!(leaf, "FROM log_leaves WHERE agent_id = $1 ORDER BY position");
        let placed = self.rows(Reach::All, sql, &values![agent.as_bytes()], decode::leaf).await?;
        Ok(placed.into_iter().map(|(_, leaf)| leaf).collect())
    }

    /// The token of that digest, in any state, and the name of its agent.
    async fn bearer(&self, digest: &[u8; 32]) -> Result<Option<(TokenRow, Option<String>)>> {
        let sql = select!(
            token,
            ", (SELECT name FROM agents WHERE agents.id = tokens.agent_id) FROM tokens WHERE digest = $1"
        );
        // Its account is not known before it is found.
        self.row(Reach::All, sql, &values![digest], decode::bearer).await
    }

    /// The token of that digest, in any state.
    async fn token(&self, digest: &[u8; 32]) -> Result<Option<TokenRow>> {
        Ok(self.bearer(digest).await?.map(|(token, _)| token))
    }

    /// The account's tokens, oldest first.
    async fn tokens(&self, account: AccountId) -> Result<Vec<TokenRow>> {
        let sql = select!(token, "FROM tokens WHERE account_id = $1 ORDER BY created_at, id");
        self.rows(account.into(), sql, &values![account.as_bytes()], decode::token).await
    }

    /// The agent's tokens, oldest first.
    async fn agent_tokens(&self, scope: AgentScope) -> Result<Vec<TokenRow>> {
        let values = values![scope.agent.as_bytes(), scope.account.as_bytes()];
        self.rows(scope.into(), AGENT_TOKENS, &values, decode::token).await
    }

    /// The account's users that are not removed, oldest first.
    async fn users(&self, account: AccountId) -> Result<Vec<UserRow>> {
        let sql = select!(user, "FROM users WHERE account_id = $1 AND removed_at IS NULL ORDER BY created_at, id");
        self.rows(account.into(), sql, &values![account.as_bytes()], decode::user).await
    }

    /// The account's user of that folded name that is not removed.
    async fn user_named(&self, account: AccountId, folded_name: &str) -> Result<Option<UserRow>> {
        let sql = select!(user, "FROM users WHERE account_id = $1 AND folded_name = $2 AND removed_at IS NULL");
        let values = values![account.as_bytes(), folded_name];
        self.row(account.into(), sql, &values, decode::user).await
    }

    /// The account's user of that identifier, removed or not.
    async fn user(&self, account: AccountId, id: UserId) -> Result<Option<UserRow>> {
        let sql = select!(user, "FROM users WHERE id = $1 AND account_id = $2");
        let values = values![id.as_bytes(), account.as_bytes()];
        self.row(account.into(), sql, &values, decode::user).await
    }

    /// Whether any account has a user, removed or not: once there was one, one always remains.
    async fn has_users(&self) -> Result<bool> {
        let found = self.row(Reach::All, "SELECT 1 FROM users LIMIT 1", &[], |_| Ok(())).await?;
        Ok(found.is_some())
    }

    /// Enters a request whose outcome is not known yet; the document of the given row is ignored. If the key was used
    /// before, returns the existing row and writes nothing. Of concurrent callers exactly one enters it. Repeating it
    /// does no harm.
    async fn begin_reply(&self, reply: &ReplyRow) -> Result<Option<ReplyRow>> {
        let enter = "INSERT INTO replies (account_id, key_digest, request_digest, recorded_at) \
             SELECT id, $1, $2, $3 FROM accounts WHERE id = $4 \
             ON CONFLICT (account_id, key_digest) DO NOTHING";
        let look = select!(reply, "FROM replies WHERE account_id = $1 AND key_digest = $2");
        let account = reply.account.as_bytes();
        let row = values![&reply.key_digest, &reply.request_digest, reply.recorded_at, account];
        let key = values![account, &reply.key_digest];
        // One that was neither entered nor found would be executed with every repetition.
        let mut problem = Error::inconsistent("replies", "a row was not written");
        // Three times: a row can be removed between the two, and a connection can break.
        for _ in 0..3 {
            match self.change(reply.account.into(), enter, &row).await {
                Ok(true) => return Ok(None),
                Ok(false) => {}
                // It may have been entered. Entering a request again is harmless.
                Err(lost @ Error::Lost(_)) => problem = lost,
                Err(error) => return Err(error),
            }
            let found = self.row(reply.account.into(), look, &key, decode::reply).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Err(problem)
    }

    /// Enters the response to a request, if the open part of its row's document is `expected` (`None`: it has no
    /// document). Returns whether it was entered. It is not if the sealed part of the account's responses was removed
    /// since the request came at `came_at`; `None` skips that check.
    async fn end_reply(
        &self,
        account: AccountId,
        key_digest: &[u8; 32],
        came_at: Option<Timestamp>,
        expected: Option<&str>,
        answer: Document
    ) -> Result<bool> {
        let sql = "UPDATE replies SET version = $1, open = $2, sealed = $3 \
             WHERE account_id = $4 AND key_digest = $5 AND recorded_at = coalesce($6, recorded_at) \
                 AND open IS NOT DISTINCT FROM $7";
        let [open, sealed] = encode::parts(Some(&answer));
        let values = values![
            count(answer.version, "replies", "version")?,
            open,
            sealed,
            account.as_bytes(),
            key_digest,
            came_at,
            Value::Json(expected),
        ];
        self.change(account.into(), sql, &values).await
    }

    /// Removes the row of a request, if the open part of its document is `expected` (`None`: it has no document). Returns
    /// whether it did.
    async fn drop_reply(&self, account: AccountId, key_digest: &[u8; 32], expected: Option<&str>) -> Result<bool> {
        let sql = "DELETE FROM replies \
             WHERE account_id = $1 AND key_digest = $2 AND open IS NOT DISTINCT FROM $3";
        let values = values![account.as_bytes(), key_digest, Value::Json(expected)];
        self.change(account.into(), sql, &values).await
    }

    /// The agent's request for access of that identifier.
    async fn access_request(&self, scope: AgentScope, id: AccessRequestId) -> Result<Option<AccessRow>> {
        let sql = select!(
            access_request,
            "FROM access_requests WHERE id = $1 AND agent_id = $2 \
             AND EXISTS (SELECT 1 FROM agents WHERE agents.id = $2 AND agents.account_id = $3)"
        );
        let values = values![id.as_bytes(), scope.agent.as_bytes(), scope.account.as_bytes()];
        self.row(scope.into(), sql, &values, decode::access_request).await
    }

    /// The agent's requests for access made before that one (by time, then identifier; `None` from the
    /// newest on), newest first, at most `limit` of them.
    async fn access_page(
        &self,
        scope: AgentScope,
        before: Option<(Timestamp, AccessRequestId)>,
        limit: u32
    ) -> Result<Vec<AccessRow>> {
        let (requested_at, id) = encode::before(before, AccessRequestId::as_bytes);
        let AgentScope { agent, account } = scope;
        let values = values![agent.as_bytes(), requested_at, &id, account.as_bytes(), limit];
        self.rows(scope.into(), ACCESS_PAGE, &values, decode::access_request).await
    }

    /// Renews the lease of `holder` on a running session. `false` if the session has ended or another process holds the
    /// lease. Does not change the agent's version.
    async fn renew_lease(&self, scope: AgentScope, session: SessionId, holder: u64, until: Timestamp) -> Result<bool> {
        // Needs neither the agent's version nor its key: a lease is renewed many times during a model call, and must
        // neither wait for concurrent decisions on the agent nor conflict with them. The document and its seal remain
        // unchanged.
        let sql = "UPDATE sessions SET lease_until = $1 \
             WHERE id = $2 AND agent_id = $3 AND lease_holder = $4 AND state IN ('queued', 'asking', 'open') \
                 AND EXISTS (SELECT 1 FROM agents WHERE agents.id = $3 AND agents.account_id = $5)";
        let AgentScope { agent, account } = scope;
        let holder = holder.cast_signed();
        let values = values![until, session.as_bytes(), agent.as_bytes(), holder, account.as_bytes()];
        self.change(scope.into(), sql, &values).await
    }

    /// Lets the messages that wait without a lease be due no later than at `due_at`.
    async fn hurry_messages(&self, scope: AgentScope, due_at: Timestamp) -> Result<()> {
        let sql = "UPDATE transcripts SET due_at = $1 WHERE agent_id = $2 AND account_id = $3 \
             AND due_at > $1 AND claimed_until IS NULL";
        let values = values![due_at, scope.agent.as_bytes(), scope.account.as_bytes()];
        self.change(scope.into(), sql, &values).await.map(drop)
    }

    /// Renews the lease of waiting messages until then. `false` if another process has leased them since.
    async fn extend_transcript(&self, scope: AgentScope, claim: u64, until: Timestamp) -> Result<bool> {
        // Needs no lock on the agent: the lease's number alone shows whether it is still ours.
        let sql = "UPDATE transcripts SET claimed_until = $1, due_at = $1 \
             WHERE agent_id = $2 AND account_id = $3 AND claimed_until IS NOT NULL AND claims = $4";
        let claim = count(claim, "transcripts", "claims")?;
        let values = values![until, scope.agent.as_bytes(), scope.account.as_bytes(), claim];
        self.change(scope.into(), sql, &values).await
    }

    /// Leases the waiting messages until `until`, if they are due at `now`. Without `now`, they need not be due, and an
    /// earlier lease ends. Returns the lease's number, unique for the agent; `None` if they are not due, another
    /// process was faster, or none waits.
    async fn claim_transcript(&self, scope: AgentScope, now: Option<Timestamp>, until: Timestamp) -> Result<Option<u64>> {
        // Of two concurrent callers one finds `due_at` moved to the end of the lease. If the process dies, the messages
        // are due again then without a cleanup. The count is the lease's number, which distinguishes a late end of an
        // earlier lease.
        let sql = "UPDATE transcripts SET claimed_until = $1, due_at = $1, claims = claims + 1 \
             WHERE agent_id = $2 AND account_id = $3 AND (due_at <= coalesce($4, due_at) OR due_at > $5) \
             RETURNING claims";
        let furthest = now.map(|now| now.plus_days(FURTHEST_DAYS));
        let values = values![until, scope.agent.as_bytes(), scope.account.as_bytes(), now, furthest];
        self.change_held(scope, sql, &values, |row| Columns::new(row, "transcripts").count()).await
    }

    /// Ends a lease: the remaining messages are due at that time, after so many failed attempts. Changes nothing if
    /// another process has leased the messages since.
    async fn resolve_transcript(&self, scope: AgentScope, claim: u64, due_at: Timestamp, failures: u32) -> Result<()> {
        // Later messages left `due_at` to the holder of the lease: one that is entered concurrently is either found here
        // or finds the lease ended.
        let sql = "UPDATE transcripts SET claimed_until = NULL, failures = $1, \
                 due_at = CASE WHEN EXISTS (SELECT 1 FROM transcript_messages \
                     WHERE agent_id = $2 AND state = 'pending') THEN $3 END \
             WHERE agent_id = $2 AND account_id = $4 AND claimed_until IS NOT NULL AND claims = $5 RETURNING claims";
        let claim = count(claim, "transcripts", "claims")?;
        let AgentScope { agent, account } = scope;
        let values = values![failures, agent.as_bytes(), due_at, account.as_bytes(), claim];
        self.change_held(scope, sql, &values, |_| Ok(())).await.map(drop)
    }

    /// Of how many memories each model has made a vector, by the model's name.
    async fn vector_models(&self, scope: AgentScope) -> Result<Vec<(String, u64)>> {
        let sql = "SELECT model, count(*) FROM memory_vectors WHERE agent_id = $1 AND EXISTS (SELECT 1 FROM agents \
                 WHERE agents.id = $1 AND agents.account_id = $2 AND agents.erased_at IS NULL) \
             GROUP BY model ORDER BY model";
        let values = values![scope.agent.as_bytes(), scope.account.as_bytes()];
        self.rows(scope.into(), sql, &values, decode::vector_model).await
    }

    /// The agent's active memories with higher numbers than that one of which the model has made no vector, by number,
    /// at most `limit` of them. None of an agent that was erased.
    async fn without_vector(&self, scope: AgentScope, model: &str, after: u64, limit: u32) -> Result<Vec<MemoryRow>> {
        let Ok(after) = count(after, "memories", "number") else {
            return Ok(Vec::new());
        };
        let sql = select!(
            memory,
            "FROM memories WHERE agent_id = $1 AND number > $2 AND discarded_at IS NULL AND EXISTS (SELECT 1 \
                 FROM agents WHERE agents.id = $1 AND agents.account_id = $3 AND agents.erased_at IS NULL) \
             AND NOT EXISTS (SELECT 1 FROM memory_vectors AS made WHERE made.agent_id = memories.agent_id \
                 AND made.number = memories.number AND made.model = $4 AND made.version = memories.version) \
             ORDER BY number LIMIT $5"
        );
        let AgentScope { agent, account } = scope;
        let values = values![agent.as_bytes(), after, account.as_bytes(), model, limit];
        self.rows(scope.into(), sql, &values, decode::memory).await
    }

    /// The parts of the index of the agent's words in their order, at most `limit` of the first ones; `None` for all.
    /// None of an agent that was erased.
    async fn word_index(&self, scope: AgentScope, limit: Option<u32>) -> Result<Vec<WordIndexRow>> {
        let sql = select!(
            word_index,
            "FROM word_indexes WHERE agent_id = $1 AND EXISTS (SELECT 1 FROM agents \
                 WHERE agents.id = $1 AND agents.account_id = $2 AND agents.erased_at IS NULL) \
             ORDER BY part LIMIT $3"
        );
        let limit = limit.map_or(i64::MAX, i64::from);
        let values = values![scope.agent.as_bytes(), scope.account.as_bytes(), limit];
        self.rows(scope.into(), sql, &values, decode::word_index).await
    }

    /// Keeps an index in place of the present one, where the agent is of that version still; whether it is kept.
    /// Without parts, the present one is deleted.
    async fn keep_word_index(
        &self,
        scope: AgentScope,
        expected_version: u64,
        parts: Vec<WordIndexRow>
    ) -> Result<bool> {
        let keep = concat!(
            "INSERT INTO word_indexes (agent_id, ",
            columns!(word_index),
            ") VALUES ($1, $2, $3, $4, $5, $6)"
        );
        let forget = "DELETE FROM word_indexes WHERE agent_id = $1";
        let mut changes = vec![Change::new(WrittenRows::Any, forget, values![scope.agent.as_bytes()])];
        changes.extend(Change::of_rows(&scope.agent, keep, &parts, encode::word_index)?);
        // An index with words that are being shredded must not be kept.
        let version = Some(count(expected_version, "agents", "version")?);
        self.change_all(Held::Agent { scope, version, must_live: true }, changes).await
    }

    /// The summaries kept of the agent's log that end after the record at `after`, in their order, at most
    /// `limit` of them.
    async fn summaries(&self, scope: AgentScope, after: u64, limit: u32) -> Result<Vec<SummaryRow>> {
        // No record has a number that a column cannot hold.
        let Ok(after) = count(after, "log_summaries", "last_seq") else {
            return Ok(Vec::new());
        };
        // From the beginning on no row is passed over, and one of a place that no record has is found.
        let after = if after == 0 { i64::MIN } else { after };
        let sql = select!(
            summary,
            "FROM log_summaries WHERE agent_id = $1 AND last_seq > $2 \
             AND EXISTS (SELECT 1 FROM agents WHERE agents.id = $1 AND agents.account_id = $3) \
             ORDER BY last_seq LIMIT $4"
        );
        let AgentScope { agent, account } = scope;
        let values = values![agent.as_bytes(), after, account.as_bytes(), limit];
        self.rows(scope.into(), sql, &values, decode::summary).await
    }

    /// Keeps summaries of the agent's log where the agent is of that version still; whether they are kept. Those
    /// of places that have one already are passed over.
    async fn keep_summaries(
        &self,
        scope: AgentScope,
        expected_version: u64,
        summaries: Vec<SummaryRow>
    ) -> Result<bool> {
        // Two concurrent processes make the same summary.
        let keep = "INSERT INTO log_summaries (agent_id, last_seq, hash, body) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (agent_id, last_seq) DO NOTHING";
        let changes = Change::of_rows(&scope.agent, keep, &summaries, encode::summary)?;
        // A summary of text that is being shredded must not be kept.
        let version = Some(count(expected_version, "agents", "version")?);
        self.change_all(Held::Agent { scope, version, must_live: false }, changes).await
    }

    /// Deletes the vectors of the agent's memories by every model but that one.
    async fn forget_vectors(&self, scope: AgentScope, except: Option<&str>) -> Result<()> {
        // The stored index holds vectors too.
        let index = "DELETE FROM word_indexes WHERE agent_id = $1 \
             AND EXISTS (SELECT 1 FROM memory_vectors WHERE agent_id = $1 AND model IS DISTINCT FROM $2)";
        let vectors = "DELETE FROM memory_vectors WHERE agent_id = $1 AND model IS DISTINCT FROM $2";
        let values = values![scope.agent.as_bytes(), except];
        let changes = [index, vectors].map(|sql| Change::new(WrittenRows::Any, sql, values));
        let held = Held::Agent { scope, version: None, must_live: false };
        self.change_all(held, changes.into()).await.map(drop)
    }

    /// Registers receivers, or records that they are still wanted at `now`. With `reopen`, closed ones are opened
    /// again. Receivers without a registration since `forget_before` are deleted, with their pending notifications.
    async fn register_receivers(
        &self,
        receivers: &[ReceiverDigest],
        now: Timestamp,
        forget_before: Timestamp,
        reopen: bool
    ) -> Result<()> {
        let enter = "INSERT INTO receivers (digest, seen_at) VALUES ($1, $2) \
             ON CONFLICT (digest) DO UPDATE SET seen_at = excluded.seen_at, \
                 closed_at = CASE WHEN $3 THEN NULL ELSE receivers.closed_at END";
        let entered = receivers
            .iter()
            .map(|receiver| Change::new(WrittenRows::One, enter, values![receiver, now, reopen]));
        let mut changes: Vec<_> = entered.collect();
        // Deliveries before receivers, since they refer to them.
        let deliveries = "DELETE FROM deliveries \
             WHERE receiver IN (SELECT digest FROM receivers WHERE seen_at < $1)";
        let forgotten = "DELETE FROM receivers WHERE seen_at < $1";
        let forget = |sql| Change::new(WrittenRows::Any, sql, values![forget_before]);
        changes.extend([deliveries, forgotten].map(forget));
        // Nothing is entered for a receiver while it is being forgotten.
        self.change_all(Held::Table("receivers"), changes).await.map(drop)
    }

    /// Closes a receiver: it gets no notifications, and none are entered for it, until it is registered with `reopen`.
    async fn close_receiver(&self, receiver: &ReceiverDigest, now: Timestamp) -> Result<()> {
        let close = "UPDATE receivers SET closed_at = $1 WHERE digest = $2";
        let forget = "DELETE FROM deliveries WHERE receiver = $1";
        let changes = vec![
            Change::new(WrittenRows::OneAtMost, close, values![now, receiver]),
            Change::new(WrittenRows::Any, forget, values![receiver]),
        ];
        self.change_all(Held::Table("receivers"), changes).await.map(drop)
    }

    /// Ends a delivery (`None`), or makes it due again at that time. `false`, without a write, if it was leased again
    /// since, or is gone.
    async fn resolve_delivery(
        &self,
        receiver: &ReceiverDigest,
        delivery: &DeliveryRow,
        again_at: Option<Timestamp>
    ) -> Result<bool> {
        let again = "UPDATE deliveries SET due_at = $1 WHERE receiver = $2 AND session_id = $3 AND attempt = $4";
        let end = "DELETE FROM deliveries WHERE receiver = $1 AND session_id = $2 AND attempt = $3";
        let key = values![receiver, delivery.session.as_bytes(), delivery.attempt];
        let [receiver, session, attempt] = key;
        match again_at {
            Some(at) => self.change(Reach::All, again, &[at.into(), receiver, session, attempt]).await,
            None => self.change(Reach::All, end, &key).await,
        }
    }
}
