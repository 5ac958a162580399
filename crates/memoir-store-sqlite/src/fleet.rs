//! Look-ups across agents, none of which reads text of a memory.

use async_trait::async_trait;
use memoir_domain::{
    AccessRequestId, AccountId, AgentId, AgentScope, SessionId, Timestamp, access::AccessState,
    session::State, time::AHEAD_DAYS,
};
use memoir_store::{
    AccountRow, AgentRow, CountAndTokens, DueQuery, Error, FURTHEST_DAYS, Finding, Fleet,
    FleetLoad, FleetPage, FleetRecord, FleetSlice, LeafRow, LogsOf, OpenAccess, RecordFilter,
    RecordOrder, RecordPlace, Result, StoredUsage, WaitingSession, columns, select,
};
use rusqlite::{CachedStatement, Connection, ToSql, params};

use crate::{
    SqliteStore,
    agent::{all, first},
    check,
    decode::{self, Columns, DatabaseRow, SqliteRow},
    encode::{count, one},
    error::{self, constraint, inconsistent},
    fault, listing, load,
    reader::ReadTransaction,
    records, requests, schema, scrub, usage,
    writer::{BULK_ROWS, WriteOutcome},
};

/// The agent and account of a row of that table, by the row's identifier.
macro_rules! owner_in {
    ($table:literal) => {
        concat!(
            "SELECT agents.id, agents.account_id FROM ",
            $table,
            " AS owned JOIN agents ON agents.id = owned.agent_id \
             WHERE owned.id = ?1 AND agents.account_id = ?2"
        )
    };
}

#[async_trait]
impl Fleet for SqliteStore {
    async fn create_account(&self, account: &AccountRow) -> Result<()> {
        let account = account.clone();
        self.write(1, move |connection| {
            let written = connection
        .prepare_cached(
            "INSERT INTO accounts (id, name, folded_name, created_at) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![
            account.id.as_bytes(),
            account.name,
            account.folded_name,
            account.created_at.microseconds(),
        ])
        .map_err(|error| constraint(error, "accounts", Error::NameTaken, Error::Conflict))?;
            one(written, "accounts")?;
            Ok(WriteOutcome::DONE)
        })
        .await
    }

    async fn accounts(&self) -> Result<Vec<AccountRow>> {
        self.scan(|connection| {
            all(
                connection,
                select!(account, "FROM accounts ORDER BY folded_name"),
                [],
                decode::account,
            )
        })
        .await
    }

    async fn account_named(&self, folded_name: &str) -> Result<Option<AccountRow>> {
        let folded_name = folded_name.to_owned();
        self.look(move |connection| {
            first(
                connection,
                select!(account, "FROM accounts WHERE folded_name = ?1"),
                [folded_name],
                decode::account,
            )
        })
        .await
    }

    async fn agents(&self, account: AccountId) -> Result<Vec<AgentRow>> {
        self.scan(move |connection| {
    // Each half has an index of its own.
    all(
        connection,
        concat!(
            "SELECT ",
            columns!(agent),
            // `id <> account_id` leaves out the account's own log, which is an agent by form
            // (`AgentScope::of_account`).
            " FROM agents WHERE account_id = ?1 AND erased_at IS NULL AND id <> ?1 UNION ALL SELECT ",
            columns!(agent),
            " FROM agents WHERE account_id = ?1 AND erased_at IS NOT NULL \
             ORDER BY folded_name, erased_at, id"
        ),
        [account.as_bytes()],
        decode::agent,
    )
})
            .await
    }

    async fn agent_page(
        &self,
        account: AccountId,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<AgentRow>> {
        let after = after.map(str::to_owned);
        self.scan(move |connection| {
            all(
                connection,
                AGENT_PAGE,
                params![
                    account.as_bytes(),
                    after.as_deref().unwrap_or_default(),
                    after,
                    limit
                ],
                decode::agent,
            )
        })
        .await
    }

    async fn fleet_page(&self, account: AccountId, page: &FleetPage) -> Result<FleetSlice> {
        let page = page.clone();
        self.scan(move |connection| listing::page(connection, account, &page))
            .await
    }

    async fn fleet_records(
        &self,
        account: AccountId,
        filter: &RecordFilter,
        order: RecordOrder,
        after: Option<RecordPlace>,
        limit: u32,
    ) -> Result<Vec<FleetRecord>> {
        let filter = filter.clone();
        self.scan(move |connection| {
            records::of_account(connection, account, &filter, (order, after, limit))
        })
        .await
    }

    async fn last_states(
        &self,
        account: AccountId,
        agents: &[AgentId],
    ) -> Result<Vec<(AgentId, State)>> {
        let is_one = agents.len() == 1;
        let agents = agents.to_vec();
        let query =
            move |connection: &Connection| listing::last_states(connection, account, &agents);
        if is_one {
            self.look(query).await
        } else {
            self.scan(query).await
        }
    }

    async fn waiting_sessions(&self, limit: u32) -> Result<Vec<WaitingSession>> {
        self.scan(move |connection| {
            let _view = ReadTransaction::new(connection)?;
            let mut waiting = Vec::new();
            // No account is as short as nothing, so that the first account comes first.
            let mut last = (Vec::new(), String::new());
            // The index skips from one account and model to the next. A queue of many thousand sessions of one account
            // costs no more than `limit` of them, and does not hide those of other accounts.
            while let Some(queue) = next_queue(connection, &last)? {
                waiting.extend(all(
                    connection,
                    QUEUE,
                    params![queue.0, queue.1, limit],
                    decode::waiting_session,
                )?);
                last = queue;
            }
            waiting.sort_by_key(|session| (session.started_at, session.id));
            Ok(waiting)
        })
        .await
    }

    async fn due_agents(&self, query: &DueQuery) -> Result<Vec<AgentScope>> {
        let query = query.clone();
        self.scan(move |connection| {
            let _view = ReadTransaction::new(connection)?;
            let mut by_slot = connection.prepare_cached(DUE_BY_SLOT)?;
            let mut by_time = connection.prepare_cached(DUE_BY_TIME)?;
            let mut ahead_by_slot = connection.prepare_cached(AHEAD_BY_SLOT)?;
            let mut ahead_by_time = connection.prepare_cached(AHEAD_BY_TIME)?;
            let now = query.now.microseconds();
            let ahead = query.now.plus_days(AHEAD_DAYS).microseconds();
            let furthest = query.now.plus_days(FURTHEST_DAYS).microseconds();
            let mut due = Vec::new();
            for account in accounts(connection, query.account)? {
                let mut found = match query.latest_slot {
                    Some(slot) => {
                        let mut found =
                            proposed(&mut by_slot, account, slot.microseconds(), &query)?;
                        found.extend(proposed(&mut ahead_by_slot, account, ahead, &query)?);
                        found
                    }
                    None => Vec::new(),
                };
                found.extend(proposed(&mut by_time, account, now, &query)?);
                found.extend(proposed(&mut ahead_by_time, account, furthest, &query)?);
                // By `weekly_after` first, those without one before all others: they are due by time,
                // whatever the slot. An agent may be found by up to four of the statements.
                found.sort_unstable();
                found.dedup();
                let most = usize::try_from(query.per_account).unwrap_or(usize::MAX);
                let scopes = found.into_iter().take(most);
                due.extend(scopes.map(|(_, agent)| AgentScope { account, agent }));
            }
            Ok(due)
        })
        .await
    }

    async fn agent_named(&self, account: AccountId, folded_name: &str) -> Result<Option<AgentRow>> {
        let folded_name = folded_name.to_owned();
        self.look(move |connection| {
    // Two statements of one view: between them the living agent could be erased and would then be
    // found twice, or not at all.
    let _view = ReadTransaction::new(connection)?;
    let living = first(
        connection,
        select!(agent, "FROM agents WHERE account_id = ?1 AND folded_name = ?2 AND erased_at IS NULL AND id <> ?1"),
        params![account.as_bytes(), folded_name],
        decode::agent,
    )?;
    if living.is_some() {
        return Ok(living);
    }
    first(
        connection,
        select!(agent, "FROM agents WHERE account_id = ?1 AND folded_name = ?2 AND erased_at IS NOT NULL \
             ORDER BY erased_at DESC, id DESC LIMIT 1"),
        params![account.as_bytes(), folded_name],
        decode::agent,
    )
})
            .await
    }

    async fn session_owner(
        &self,
        account: AccountId,
        session: SessionId,
    ) -> Result<Option<AgentScope>> {
        self.look(move |connection| {
            first(
                connection,
                owner_in!("sessions"),
                [session.as_bytes(), account.as_bytes()],
                scope,
            )
        })
        .await
    }

    async fn usage(
        &self,
        account: AccountId,
        agent: Option<AgentId>,
        since: Timestamp,
    ) -> Result<StoredUsage> {
        self.scan(move |connection| usage::usage(connection, account, agent, since))
            .await
    }

    async fn waiting_messages(&self, account: AccountId) -> Result<CountAndTokens> {
        self.scan(move |connection| usage::waiting(connection, account))
            .await
    }

    async fn load(&self) -> Result<FleetLoad> {
        self.scan(load::load).await
    }

    async fn access_owner(
        &self,
        account: AccountId,
        request: AccessRequestId,
    ) -> Result<Option<AgentScope>> {
        self.look(move |connection| {
            first(
                connection,
                owner_in!("access_requests"),
                [request.as_bytes(), account.as_bytes()],
                scope,
            )
        })
        .await
    }

    async fn open_access(&self) -> Result<Vec<OpenAccess>> {
        self.scan(|connection| {
            all(connection, requests::OPEN, [], |row| {
                let mut columns = Columns::new(row, "access_requests");
                Ok(OpenAccess {
                    id: AccessRequestId::from_bytes(columns.id()?),
                    scope: scope_of(&mut columns)?,
                    state: columns.word::<AccessState>()?,
                    expires_at: columns.time()?,
                })
            })
        })
        .await
    }

    async fn lapsed_sessions(&self, now: Timestamp) -> Result<Vec<(AgentScope, SessionId)>> {
        self.scan(move |connection| {
            all(
                connection,
                // A lease longer than the maximum was written before the clock was set back. It counts as expired;
                // otherwise no process could resume its session.
                "SELECT sessions.id, agents.id, agents.account_id \
         FROM sessions JOIN agents ON agents.id = sessions.agent_id \
         WHERE (lease_until < ?1 OR lease_until > ?2) AND state IN ('queued', 'asking', 'open') \
         ORDER BY lease_until, sessions.id",
                [now, now.plus_days(AHEAD_DAYS)].map(Timestamp::microseconds),
                scoped_session,
            )
        })
        .await
    }

    async fn scopes(&self) -> Result<Vec<AgentScope>> {
        self.scan(|connection| {
            all(
                connection,
                "SELECT id, account_id FROM agents ORDER BY id",
                [],
                scope,
            )
        })
        .await
    }

    async fn erased(&self) -> Result<Vec<AgentScope>> {
        self.scan(|connection| all(connection, ERASED, [], scope))
            .await
    }

    async fn finish(&self) -> Result<bool> {
        // Called with every command, and mostly nothing is pending: then it does not wait for what is queued.
        match self.look(scrub::is_pending).await? {
            true => self.0.writer.finish().await,
            false => Ok(true),
        }
    }

    async fn leaves(&self, from: u64) -> Result<Vec<LeafRow>> {
        self.scan(move |connection| {
            // No entry is at a place that SQLite cannot hold.
            let Ok(first) = count(from, "log_leaves", "position") else {
                return Ok(Vec::new());
            };
            let placed = all(
                connection,
                select!(
                    leaf,
                    "FROM log_leaves WHERE position >= ?1 ORDER BY position"
                ),
                [first],
                decode::leaf,
            )?;
            // Entries are known by their position in the result: a missing one must not move the others.
            (from..)
                .zip(placed)
                .map(|(expected, (position, leaf))| {
                    if position == expected {
                        Ok(leaf)
                    } else {
                        Err(inconsistent(
                            "log_leaves",
                            format!("row {expected} is missing"),
                        ))
                    }
                })
                .collect()
        })
        .await
    }

    async fn append_leaves(&self, recorded_at: Timestamp, of: LogsOf) -> Result<u64> {
        self.write(BULK_ROWS, move |connection| {
            let (account, agent) = match &of {
                LogsOf::Everybody => (None, None),
                LogsOf::Account(account) => (Some(account.as_bytes()), None),
                LogsOf::Agent(scope) => {
                    (Some(scope.account.as_bytes()), Some(scope.agent.as_bytes()))
                }
            };
            let appended = connection
                .prepare_cached(
                    // The position is computed inside of the one transaction that writes, so that no two callers get
                    // the same one and none is left out. An agent whose head is not the hash of its last record is
                    // skipped: an entry would certify an inconsistent log, and verifying must find that first.
                    "INSERT INTO log_leaves (position, agent_id, seq, head, recorded_at) \
             SELECT (SELECT coalesce(max(position), -1) FROM log_leaves) \
                     + row_number() OVER (ORDER BY id), \
                 id, next_seq - 1, head, ?1 \
             FROM agents \
             WHERE next_seq > 1 AND next_seq - 1 IS NOT (SELECT seq FROM log_leaves \
                 WHERE agent_id = agents.id ORDER BY position DESC LIMIT 1) \
                 AND head IS (SELECT hash FROM audit_records \
                     WHERE agent_id = agents.id AND seq = next_seq - 1) \
                 AND (?2 IS NULL OR account_id = ?2) AND (?3 IS NULL OR id = ?3)",
                )?
                .execute(params![recorded_at.microseconds(), account, agent])?;
            fault::point("leaves.appended");
            let length = connection
                .prepare_cached("SELECT coalesce(max(position), -1) + 1 FROM log_leaves")?
                .query_row([], |row| {
                    Ok(Columns::new(&SqliteRow(row), "log_leaves").count())
                })??;
            Ok(WriteOutcome::when(appended > 0, length))
        })
        .await
    }

    async fn check(&self) -> Result<Vec<Finding>> {
        self.scan(check::check).await
    }

    async fn check_form(&self) -> Result<Vec<Finding>> {
        self.scan(schema::findings).await
    }
}

/// A range of the index of names, with and without a name that the page before ended with.
const AGENT_PAGE: &str = select!(
    agent,
    "FROM agents WHERE account_id = ?1 AND folded_name >= ?2 AND folded_name IS NOT ?3 \
         AND erased_at IS NULL AND id <> ?1 ORDER BY folded_name LIMIT ?4"
);

/// The first model, after the one given, for which a session of the account waits.
const NEXT_MODEL: &str = "SELECT account_id, COALESCE(model, '') FROM sessions \
     WHERE driver = 'model' AND lease_until IS NULL AND state IN ('queued', 'asking', 'open') \
         AND account_id = ?1 AND COALESCE(model, '') > ?2 \
     ORDER BY COALESCE(model, '') LIMIT 1";

/// The first account, after the one given, of which a session waits, and its first model.
const NEXT_ACCOUNT: &str = "SELECT account_id, COALESCE(model, '') FROM sessions \
     WHERE driver = 'model' AND lease_until IS NULL AND state IN ('queued', 'asking', 'open') \
         AND account_id > ?1 \
     ORDER BY account_id, COALESCE(model, '') LIMIT 1";

/// The sessions come first, in the order of their index, so that no more are read than are wanted.
const QUEUE: &str = "SELECT sessions.id, agents.id, agents.account_id, model, started_at \
     FROM sessions CROSS JOIN agents ON agents.id = sessions.agent_id \
     WHERE driver = 'model' AND lease_until IS NULL AND state IN ('queued', 'asking', 'open') \
         AND sessions.account_id = ?1 AND COALESCE(model, '') = ?2 \
     ORDER BY started_at, sessions.id LIMIT ?3";

/// An account, by its bytes, and a model.
type Queue = (Vec<u8>, String);

/// The queue after that one.
fn next_queue(connection: &Connection, last: &Queue) -> error::Result<Option<Queue>> {
    let read = |row: &dyn DatabaseRow| {
        let mut columns = Columns::new(row, "sessions");
        Ok((columns.stored_text()?.0, columns.text()?))
    };
    let next = first(connection, NEXT_MODEL, params![last.0, last.1], read)?;
    match next {
        Some(next) => Ok(Some(next)),
        None => first(connection, NEXT_ACCOUNT, params![last.0], read),
    }
}

/// Agents whose last attempt lies before the slot, the one attempted longest ago first.
const DUE_BY_SLOT: &str = "SELECT id, weekly_after FROM agents \
     WHERE account_id = ?1 AND weekly_after < ?2 AND NOT EXISTS ( \
         SELECT 1 FROM sessions WHERE agent_id = agents.id AND state IN ('queued', 'asking', 'open')) \
     ORDER BY weekly_after, id";

/// Agents whose last attempt lies ahead.
const AHEAD_BY_SLOT: &str = "SELECT id, weekly_after FROM agents \
     WHERE account_id = ?1 AND weekly_after > ?2 AND NOT EXISTS ( \
         SELECT 1 FROM sessions WHERE agent_id = agents.id AND state IN ('queued', 'asking', 'open')) \
     ORDER BY weekly_after, id";

/// Agents that are due from some time on, whatever the weekly slot: the one that has been due longest first.
const DUE_BY_TIME: &str = "SELECT id, weekly_after FROM agents \
     WHERE account_id = ?1 AND due_at <= ?2 AND NOT EXISTS ( \
         SELECT 1 FROM sessions WHERE agent_id = agents.id AND state IN ('queued', 'asking', 'open')) \
     ORDER BY due_at, id";

/// Agents that are due only at a time that lies too far ahead.
const AHEAD_BY_TIME: &str = "SELECT id, weekly_after FROM agents \
     WHERE account_id = ?1 AND due_at > ?2 AND NOT EXISTS ( \
         SELECT 1 FROM sessions WHERE agent_id = agents.id AND state IN ('queued', 'asking', 'open')) \
     ORDER BY due_at, id";

/// Reads no further than it has to: agents to be passed over cost a step each.
fn proposed(
    statement: &mut CachedStatement<'_>,
    account: AccountId,
    bound: i64,
    query: &DueQuery,
) -> error::Result<Vec<(Option<i64>, AgentId)>> {
    let bounds: [&dyn ToSql; 2] = [account.as_bytes(), &bound];
    let mut rows = statement.query(bounds)?;
    let mut found = Vec::new();
    while found.len() < usize::try_from(query.per_account).unwrap_or(usize::MAX) {
        let Some(row) = rows.next()? else {
            break;
        };
        let line = SqliteRow(row);
        let mut columns = Columns::new(&line, "agents");
        let agent = AgentId::from_bytes(columns.id()?);
        if !query.except.contains(&agent) {
            found.push((columns.optional_integer()?, agent));
        }
    }
    Ok(found)
}

/// Reads a session's identifier, its agent's and its account's.
fn scoped_session(row: &dyn DatabaseRow) -> Result<(AgentScope, SessionId)> {
    let mut columns = Columns::new(row, "sessions");
    let session = SessionId::from_bytes(columns.id()?);
    Ok((scope_of(&mut columns)?, session))
}

/// Those that are erased by what their rows say.
const ERASED: &str = "SELECT id, account_id FROM agents INDEXED BY agents_living \
     WHERE erased_at IS NOT NULL ORDER BY id";

fn scope(row: &dyn DatabaseRow) -> Result<AgentScope> {
    scope_of(&mut Columns::new(row, "agents"))
}

/// An agent's identifier and its account's, which come next.
fn scope_of(columns: &mut Columns<'_>) -> Result<AgentScope> {
    let agent = AgentId::from_bytes(columns.id()?);
    let account = AccountId::from_bytes(columns.id()?);
    Ok(AgentScope { account, agent })
}

/// That account, or all of them by identifier.
pub(crate) fn accounts(
    connection: &Connection,
    of: Option<AccountId>,
) -> error::Result<Vec<AccountId>> {
    if let Some(account) = of {
        return Ok(vec![account]);
    }
    all(
        connection,
        "SELECT id FROM accounts ORDER BY id",
        [],
        |row| Ok(AccountId::from_bytes(Columns::new(row, "accounts").id()?)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open;

    #[test]
    fn pages_read_no_more_than_they_bring() {
        let connection = open::in_memory().unwrap();
        for (sql, expected) in [
            (
                AGENT_PAGE,
                &["SEARCH agents USING INDEX agents_by_name (account_id=? AND folded_name>?)"][..],
            ),
            (
                ERASED,
                &[
                    "SEARCH agents USING INDEX agents_living (erased_at>?)",
                    "USE TEMP B-TREE FOR ORDER BY",
                ],
            ),
            (
                NEXT_MODEL,
                &["SEARCH sessions USING INDEX sessions_waiting (account_id=? AND <expr>>?)"],
            ),
            (
                NEXT_ACCOUNT,
                &["SEARCH sessions USING INDEX sessions_waiting (account_id>?)"],
            ),
            (
                QUEUE,
                &[
                    "SEARCH sessions USING INDEX sessions_waiting (account_id=? AND <expr>=?)",
                    "SEARCH agents USING INDEX sqlite_autoindex_agents_1 (id=?)",
                ],
            ),
            (
                DUE_BY_SLOT,
                &[
                    "SEARCH agents USING COVERING INDEX agents_by_slot (account_id=? AND weekly_after<?)",
                    "CORRELATED SCALAR SUBQUERY 1",
                    "SEARCH sessions USING INDEX sessions_running (agent_id=?)",
                ],
            ),
            (
                AHEAD_BY_SLOT,
                &[
                    "SEARCH agents USING COVERING INDEX agents_by_slot (account_id=? AND weekly_after>?)",
                    "CORRELATED SCALAR SUBQUERY 1",
                    "SEARCH sessions USING INDEX sessions_running (agent_id=?)",
                ],
            ),
            (
                AHEAD_BY_TIME,
                &[
                    "SEARCH agents USING INDEX agents_by_due_time (account_id=? AND due_at>?)",
                    "CORRELATED SCALAR SUBQUERY 1",
                    "SEARCH sessions USING INDEX sessions_running (agent_id=?)",
                ],
            ),
            (
                DUE_BY_TIME,
                &[
                    "SEARCH agents USING INDEX agents_by_due_time (account_id=? AND due_at<?)",
                    "CORRELATED SCALAR SUBQUERY 1",
                    "SEARCH sessions USING INDEX sessions_running (agent_id=?)",
                ],
            ),
        ] {
            assert_eq!(crate::agent::plan(&connection, sql), expected);
        }
    }
}
