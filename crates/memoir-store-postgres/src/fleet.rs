//! Look-ups across agents, none of which reads text of a memory.

use async_trait::async_trait;
use memoir_domain::{
    AccountId, AgentId, AgentScope, Timestamp,
    session::{Driver, State},
    time::AHEAD_DAYS,
};
use memoir_store::{
    APPEND_LEAVES, AccountRow, AgentRow, COUNT_LEAVES, CountAndTokens, DueQuery, Error,
    FURTHEST_DAYS, Finding, Fleet, FleetLoad, FleetOrder, FleetPage, FleetRecord, FleetRow,
    FleetSession, FleetSlice, HeldSessions, Reach, RecordFilter, RecordOrder, RecordPlace,
    RecordQuery, Result, SESSIONS_AT_ONCE, SessionRow, StoredUsage, WaitingSession,
    decode::{self, Columns, DatabaseRow},
    select,
};

use crate::{
    PostgresStore,
    agent::CONTAINS,
    check,
    pool::{Statement, met},
    value::{self, Value, all, column, first, sought},
};

/// The rank of an agent's health, as `Health::from_row` decides it.
const HEALTH: &str = "least(CASE (SELECT state FROM sessions WHERE agent_id = agents.id \
         ORDER BY started_at DESC, sessions.id DESC LIMIT 1) WHEN 'failed' THEN 0 WHEN 'rolled_back' THEN 2 ELSE 3 END, \
     CASE WHEN budget_share > 1000000 THEN 1 ELSE 3 END)::int8";

/// Sessions that have not ended.
macro_rules! running {
    () => {
        "state IN ('queued', 'asking', 'open')"
    };
}

fn counted(row: &dyn DatabaseRow) -> Result<u64> {
    Columns::new(row, "agents").count()
}

#[async_trait]
impl Fleet for PostgresStore {
    async fn time(&self) -> Result<Option<Timestamp>> {
        // `clock_timestamp` and not `now()`, which is the time at which the transaction began.
        let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8";
        let time = |row: &dyn DatabaseRow| Columns::new(row, "time").time();
        self.first(Reach::All, sql, values![], time).await
    }

    async fn create_account(&self, account: &AccountRow) -> Result<()> {
        let values = values![
            account.id.as_bytes(),
            &*account.name,
            &*account.folded_name,
            account.created_at
        ];
        let sql =
            "INSERT INTO accounts (id, name, folded_name, created_at) VALUES ($1, $2, $3, $4)";
        let statements = [met(sql, 1, values)];
        match self.connections.write(account.id, &statements).await {
            Err(fault) if fault.broken() == Some("accounts_by_name") => Err(Error::NameTaken),
            Err(fault) if fault.is_taken() => Err(Error::Conflict),
            written => written.map(drop).map_err(Error::from),
        }
    }

    async fn fleet_page(&self, account: AccountId, page: &FleetPage) -> Result<FleetSlice> {
        // No list has more agents than an `i64` can count.
        let offset = i64::try_from(page.offset).unwrap_or(i64::MAX);
        let text = Some(page.text.as_str()).filter(|text| !text.is_empty());
        let rank = match page.order {
            FleetOrder::Name => "NULL::int8",
            FleetOrder::Share => "budget_share",
            FleetOrder::LastSession => {
                "(SELECT max(started_at) FROM sessions WHERE agent_id = agents.id)"
            }
            FleetOrder::Health => HEALTH,
            FleetOrder::Next => {
                "CASE WHEN due_at <= $3 OR weekly_after < $4 THEN 0 \
                     WHEN due_at IS NULL AND weekly_after IS NULL THEN 2 ELSE 1 END"
            }
            FleetOrder::Breaker => "removable_tokens",
            FleetOrder::Archived => "archived_share",
            FleetOrder::Access => OPEN_REQUESTS,
        };
        let (rank_turn, name_turn) = match (page.descending, page.order) {
            (true, FleetOrder::Name) => ("ASC NULLS FIRST", "DESC"),
            // Where PostgreSQL puts nulls by itself is the other way round than in SQLite; said in
            // both directions, so that both stores list alike.
            (true, _) => ("DESC NULLS LAST", "ASC"),
            (false, _) => ("ASC NULLS FIRST", "ASC"),
        };
        let values = || {
            values![
                account.as_bytes(),
                text.map(sought),
                page.now,
                page.latest_slot,
                page.limit,
                offset,
                page.health.map(|health| i64::from(health.rank())),
                page.sessions_since,
            ]
        };
        // Each of them knows all values, whether it needs them or not.
        let listed = "account_id = $1 AND erased_at IS NULL AND id <> $1 \
             AND ($2 IS NULL OR strpos(folded_name, $2) > 0) \
             AND coalesce($3, $4, $5, $6, $7, $8) IS NOT NULL";
        let ranked = format!(
            "FROM agents WHERE {listed} AND ($7 IS NULL OR {HEALTH} = $7) ORDER BY {rank} {rank_turn}, folded_name {name_turn} \
             LIMIT $5 OFFSET $6"
        );
        let agents = select!(agent, ", ");
        let columns = select!(session, "FROM sessions");
        let sessions = select!(
            session,
            "FROM sessions WHERE sessions.id IN (SELECT (SELECT last.id FROM sessions AS last \
                 WHERE last.agent_id = page.id ORDER BY last.started_at DESC, last.id DESC LIMIT 1)"
        );
        let statements = [
            format!("SELECT {HEALTH}, count(*) FROM agents WHERE {listed} GROUP BY 1"),
            format!("{agents}{OPEN_REQUESTS} AS open_requests {ranked}"),
            format!("{sessions} FROM (SELECT id {ranked}) AS page)"),
            format!(
                "{columns} WHERE sessions.id IN (SELECT recent.id FROM (SELECT id {ranked}) AS page \
                 CROSS JOIN LATERAL (SELECT past.id FROM sessions AS past \
                     WHERE past.agent_id = page.id AND past.started_at >= $8 \
                     ORDER BY past.started_at DESC, past.id DESC LIMIT {SESSIONS_AT_ONCE}) AS recent) \
                 ORDER BY sessions.started_at, sessions.id"
            ),
        ];
        let statements = statements.map(|sql| Statement::new(sql, values()));
        let [counts, agents, sessions, recent] =
            self.connections.read_each(account, statements).await?;
        let sessions = all(&sessions, decode::session)?;
        let recent = all(&recent, decode::session)?;
        let row = |row: &tokio_postgres::Row| {
            let agent = decode::agent(&crate::value::PostgresRow(row))?;
            let own = |session: &&SessionRow| session.agent == agent.scope.agent;
            let last_session = sessions.iter().find(own).cloned();
            let sessions = recent.iter().filter(own).cloned();
            let sessions = sessions.map(FleetSession::from).collect();
            let open: i64 = row
                .try_get("open_requests")
                .map_err(|_| Error::Driver("an answer has no count".to_owned()))?;
            Ok(FleetRow {
                agent,
                last_session: last_session.map(FleetSession::from),
                sessions,
                open_requests: open.unsigned_abs(),
            })
        };
        let counts = all(&counts, decode::agents_of_health)?;
        let agents = agents.iter().map(row).collect::<Result<_>>()?;
        Ok(FleetSlice::new(page, counts, agents))
    }

    async fn fleet_records(
        &self,
        account: AccountId,
        filter: &RecordFilter,
        order: RecordOrder,
        after: Option<RecordPlace>,
        limit: u32,
    ) -> Result<Vec<FleetRecord>> {
        let order = (order, after.as_ref(), limit);
        let query = RecordQuery::of_account(&account, filter, order, "JOIN", CONTAINS);
        let values = value::given(&query.values);
        self.all(account, query.sql, values, decode::fleet_record)
            .await
    }

    async fn last_states(
        &self,
        account: AccountId,
        agents: &[AgentId],
    ) -> Result<Vec<(AgentId, State)>> {
        // An empty list has no type that a statement accepts.
        if agents.is_empty() {
            return Ok(Vec::new());
        }
        let sql = "SELECT agents.id, last.state FROM agents CROSS JOIN LATERAL \
             (SELECT state FROM sessions WHERE agent_id = agents.id ORDER BY started_at DESC, id DESC LIMIT 1) AS last \
             WHERE agents.account_id = $1 AND agents.id = ANY ($2)";
        let values = values![account.as_bytes(), column(agents, |agent| agent.as_bytes())];
        self.all(account, sql, values, |row| {
            let mut columns = Columns::new(row, "sessions");
            Ok((columns.id()?, columns.word()?))
        })
        .await
    }

    async fn agent_named(&self, account: AccountId, folded_name: &str) -> Result<Option<AgentRow>> {
        let sql = select!(
            agent,
            "FROM agents WHERE account_id = $1 AND folded_name = $2 AND id <> $1 \
                 ORDER BY erased_at DESC NULLS FIRST, id DESC LIMIT 1"
        );
        let values = values![account.as_bytes(), sought(folded_name)];
        self.first(account, sql, values, decode::agent).await
    }

    async fn waiting_sessions(&self, limit: u32) -> Result<Vec<WaitingSession>> {
        let sql = concat!(
            "SELECT id, agent_id, account_id, model, started_at FROM ( \
                 SELECT id, agent_id, account_id, model, started_at, row_number() OVER ( \
                     PARTITION BY account_id, coalesce(model, '') ORDER BY started_at, id) AS place \
             FROM sessions WHERE driver = 'model' AND lease_until IS NULL AND ",
            running!(),
            ") AS waiting WHERE place <= $1 ORDER BY started_at, id"
        );
        self.all(Reach::All, sql, values![limit], decode::waiting_session)
            .await
    }

    async fn due_agents(&self, query: &DueQuery) -> Result<Vec<AgentScope>> {
        // A `weekly_after` further ahead was written before the clock was set back. It is proposed as due, and the
        // process that leases it decides by the agent itself.
        let ahead = query.now.plus_days(AHEAD_DAYS);
        let except = query.except.iter().map(|agent| Some(&agent.as_bytes()[..]));
        let values = values![
            query.account.as_ref().map(|account| account.as_bytes()),
            query.latest_slot,
            query.latest_slot.map(|_| ahead),
            query.now,
            query.now.plus_days(FURTHEST_DAYS),
            query.per_account,
            Value::ByteLists(except.collect()),
        ];
        // Each is a range of an index, in its order, so that no more are read than are wanted.
        let range = |condition: &str, order: &str| {
            format!(
                "(SELECT id, weekly_after FROM agents WHERE account_id = accounts.id AND {condition} \
                     AND id <> ALL ($7) AND NOT EXISTS (SELECT 1 FROM sessions \
                         WHERE agent_id = agents.id AND {}) ORDER BY {order}, id LIMIT $6)",
                running!()
            )
        };
        let sql = format!(
            "SELECT accounts.id, due.id, due.weekly_after FROM accounts CROSS JOIN LATERAL ( \
                 {} UNION {} UNION {} UNION {}) AS due WHERE $1 IS NULL OR accounts.id = $1",
            range("weekly_after < $2", "weekly_after"),
            range("weekly_after > $3", "weekly_after"),
            range("due_at <= $4", "due_at"),
            range("due_at > $5", "due_at"),
        );
        let read = self.all(Reach::All, sql, values, |row| {
            let mut columns = Columns::new(row, "agents");
            let (account, agent): (AccountId, AgentId) = (columns.id()?, columns.id()?);
            Ok((account, columns.optional_integer()?, agent))
        });
        let mut found = read.await?;
        found.sort_unstable();
        let most = usize::try_from(query.per_account).unwrap_or(usize::MAX);
        let of_account = found.chunk_by(|one, other| one.0 == other.0);
        let due = of_account.flat_map(|agents| agents.iter().take(most));
        Ok(due
            .map(|&(account, _, agent)| AgentScope { account, agent })
            .collect())
    }

    async fn usage(
        &self,
        account: AccountId,
        agent: Option<AgentId>,
        since: Timestamp,
    ) -> Result<StoredUsage> {
        let agent = agent.as_ref().map(|agent| agent.as_bytes());
        macro_rules! of_agents {
            ($sum:literal, $table:literal, $condition:literal $(, $since:expr)?) => {{
                let sql = concat!(
                    "SELECT ",
                    $sum,
                    " FROM ",
                    $table,
                    " JOIN agents ON agents.id = ",
                    $table,
                    ".agent_id WHERE agents.account_id = $1 AND ($2 IS NULL OR agents.id = $2) AND ",
                    $condition
                );
                Statement::new(sql, values![account.as_bytes(), agent $(, $since)?])
            }};
        }
        // Each of them is one row.
        let statements = [
            // Apart, so that each is counted by an index alone. A shredded memory is discarded.
            of_agents!("count(*)", "memories", "memories.discarded_at IS NULL"),
            of_agents!(
                "count(*)",
                "memories",
                "memories.discarded_at IS NOT NULL AND memories.shredded_at IS NULL"
            ),
            of_agents!(
                "coalesce(sum(octet_length(audit_records.body)), 0)::bigint",
                "audit_records",
                "audit_records.recorded_at > $3 AND audit_records.actor_kind = 'agent'",
                since
            ),
            of_agents!(
                "count(*)",
                "sessions",
                "sessions.started_at > $3 AND sessions.driver = 'model'",
                since
            ),
            of_agents!(
                "coalesce(sum(transcript_messages.counted_bytes), 0)::bigint",
                "transcript_messages",
                "transcript_messages.received_at > $3 AND transcript_messages.counted_bytes > 0",
                since
            ),
            of_agents!(
                "count(*), coalesce(sum(transcript_messages.tokens), 0)::bigint",
                "transcript_messages",
                "transcript_messages.state = 'pending'"
            ),
        ];
        let [active, discarded, log_bytes, driven, handed, waiting] =
            self.connections.read_each(account, statements).await?;
        let [active, discarded] = [active, discarded].map(|counts| first(&counts, counted));
        Ok(StoredUsage {
            memories: active?.unwrap_or_default() + discarded?.unwrap_or_default(),
            log_bytes: first(&log_bytes, counted)?.unwrap_or_default(),
            handed_bytes: first(&handed, counted)?.unwrap_or_default(),
            waiting: first(&waiting, decode::message_counts)?.unwrap_or_default(),
            driven_sessions: first(&driven, counted)?.unwrap_or_default(),
        })
    }

    async fn waiting_messages(&self, account: AccountId) -> Result<CountAndTokens> {
        let sql = "SELECT count(*), coalesce(sum(transcript_messages.tokens), 0)::bigint FROM transcript_messages \
             JOIN agents ON agents.id = transcript_messages.agent_id \
             WHERE agents.account_id = $1 AND transcript_messages.state = 'pending'";
        let values = values![account.as_bytes()];
        let waiting = self.first(account, sql, values, decode::message_counts);
        Ok(waiting.await?.unwrap_or_default())
    }

    async fn load(&self) -> Result<FleetLoad> {
        let waiting = concat!(
            "SELECT count(*), min(started_at) FROM sessions \
             WHERE driver = 'model' AND lease_until IS NULL AND ",
            running!()
        );
        let held = concat!(
            "SELECT count(*), min(lease_until), driver FROM sessions WHERE lease_until IS NOT NULL AND ",
            running!(),
            " GROUP BY driver ORDER BY driver"
        );
        let statements = [
            "SELECT count(*) - (SELECT count(*) FROM accounts JOIN agents ON agents.id = accounts.id) \
                 FROM agents WHERE erased_at IS NULL",
            waiting,
            held,
        ];
        let statements = statements.map(|sql| Statement::new(sql, values![]));
        let [agents, waiting, held] = self.connections.read_each(Reach::All, statements).await?;
        let (waiting, waiting_since) = first(&waiting, decode::session_counts)?.unwrap_or_default();
        let held = all(&held, |row| {
            let mut columns = Columns::new(row, "sessions");
            let (sessions, first_until) = (columns.count()?, columns.time()?);
            let driver = columns.word::<Driver>()?;
            Ok(HeldSessions {
                driver,
                sessions,
                first_until,
            })
        })?;
        Ok(FleetLoad {
            agents: first(&agents, counted)?.unwrap_or_default(),
            waiting,
            waiting_since,
            held,
        })
    }

    async fn erased(&self) -> Result<Vec<AgentScope>> {
        let sql = "SELECT id, account_id FROM agents WHERE erased_at IS NOT NULL ORDER BY id";
        self.all(Reach::All, sql, values![], decode::scope).await
    }

    async fn forget_word_indexes(&self) -> Result<()> {
        // A locked row is being deleted or replaced by the transaction that has the lock.
        let sql = "WITH old AS MATERIALIZED (SELECT agent_id, part FROM word_indexes WHERE $1 IS NULL LIMIT $2 \
                 FOR UPDATE SKIP LOCKED) \
             DELETE FROM word_indexes USING old \
             WHERE word_indexes.agent_id = old.agent_id AND word_indexes.part = old.part RETURNING 1";
        self.write_in_parts(sql, None).await
    }

    // Replaced data leave the disk by the server's vacuum and its log's recycling, which no client begins or ends.
    async fn finish(&self) -> Result<bool> {
        Ok(true)
    }

    async fn append_leaves(&self, recorded_at: Timestamp, of: Reach) -> Result<u64> {
        let (account, agent) = of.ids();
        // Two concurrent transactions would both read the last position.
        let lock = "LOCK TABLE log_leaves IN SHARE ROW EXCLUSIVE MODE";
        let statements = [
            // One after the other: each begins where the one before it has ended.
            Statement::new(lock, values![]),
            Statement::new(APPEND_LEAVES, values![recorded_at, account, agent]),
            Statement::new(COUNT_LEAVES, values![]),
        ];
        let answers = self.connections.write(of, &statements).await?;
        let length = answers.last().map(|rows| first(rows, counted));
        Ok(length.transpose()?.flatten().unwrap_or_default())
    }

    async fn check(&self) -> Result<Vec<Finding>> {
        check::check(&self.connections).await
    }

    async fn check_form(&self) -> Result<Vec<Finding>> {
        check::form(&self.connections).await
    }
}

const OPEN_REQUESTS: &str = "(SELECT count(*) FROM access_requests WHERE agent_id = agents.id \
     AND access_requests.state IN ('asked', 'granted'))";
