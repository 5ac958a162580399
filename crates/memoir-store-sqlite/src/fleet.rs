//! Look-ups across agents, none of which reads text of a memory.

use async_trait::async_trait;
use memoir_domain::{
    AccessRequestId, AccountId, AgentId, AgentScope, SessionId, Timestamp,
    session::{LONGEST_LEASE_SECONDS, State},
    time::AHEAD_DAYS,
};
use memoir_store::{
    AccountRow, AgentRow, CountAndTokens, DueQuery, Error, FURTHEST_DAYS, Finding, Fleet,
    FleetLoad, FleetPage, FleetRecord, FleetSlice, LeafRow, LogsOf, OpenAccess, RecordFilter,
    RecordOrder, RecordPlace, Result, StoredUsage, WaitingSession, columns, owner_in, select,
};
use rusqlite::{CachedStatement, Connection, ToSql, params};

use crate::{
    SqliteStore,
    agent::{all, execute, first},
    check,
    decode::{self, Columns, DatabaseRow, SqliteRow},
    encode::{count, one},
    error::{self, constraint},
    fault, listing, load,
    reader::ReadTransaction,
    records, requests, schema, scrub, usage,
    writer::{BULK_ROWS, WriteOutcome},
};

#[async_trait]
impl Fleet for SqliteStore {
    async fn create_account(&self, account: &AccountRow) -> Result<()> {
        let account = account.clone();
        self.write(1, move |connection| {
            let sql =
                "INSERT INTO accounts (id, name, folded_name, created_at) VALUES (?1, ?2, ?3, ?4)";
            let written = connection.prepare_cached(sql)?.execute(params![
                account.id.as_bytes(),
                account.name,
                account.folded_name,
                account.created_at.microseconds(),
            ]);
            let refused = |error| constraint(error, "accounts", Error::NameTaken);
            one(written.map_err(refused)?, "accounts")?;
            Ok(WriteOutcome::DONE)
        })
        .await
    }

    async fn accounts(&self) -> Result<Vec<AccountRow>> {
        let sql = select!(account, "FROM accounts ORDER BY folded_name");
        self.all(sql, (), decode::account).await
    }

    async fn account_named(&self, folded_name: &str) -> Result<Option<AccountRow>> {
        let sql = select!(account, "FROM accounts WHERE folded_name = ?1");
        self.first(sql, [folded_name.to_owned()], decode::account)
            .await
    }

    async fn agents(&self, account: AccountId) -> Result<Vec<AgentRow>> {
        // Each half has an index of its own.
        let sql = select!(
            agent,
            // `id <> account_id` leaves out the account's own log, which is an agent by form
            // (`AgentScope::of_account`).
            "FROM agents WHERE account_id = ?1 AND erased_at IS NULL AND id <> ?1 UNION ALL SELECT ",
            columns!(agent),
            " FROM agents WHERE account_id = ?1 AND erased_at IS NOT NULL \
             ORDER BY folded_name, erased_at, id"
        );
        self.all(sql, [*account.as_bytes()], decode::agent).await
    }

    async fn agent_page(
        &self,
        account: AccountId,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<AgentRow>> {
        let after = after.map(str::to_owned);
        let from = after.clone().unwrap_or_default();
        let values = (*account.as_bytes(), from, after, limit);
        self.all(AGENT_PAGE, values, decode::agent).await
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
        let agents = agents.to_vec();
        self.look_or_scan(agents.len() == 1, move |connection| {
            listing::last_states(connection, account, &agents)
        })
        .await
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
                let values = params![queue.0, queue.1, limit];
                waiting.extend(all(connection, QUEUE, values, decode::waiting_session)?);
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
                let mut found = Vec::new();
                if let Some(slot) = query.latest_slot {
                    let slot = slot.microseconds();
                    found.extend(proposed(&mut by_slot, account, slot, &query)?);
                    found.extend(proposed(&mut ahead_by_slot, account, ahead, &query)?);
                }
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
            let values = params![account.as_bytes(), folded_name];
            match first(connection, LIVING_NAMED, values, decode::agent)? {
                Some(living) => Ok(Some(living)),
                None => first(connection, ERASED_NAMED, values, decode::agent),
            }
        })
        .await
    }

    async fn session_owner(
        &self,
        account: AccountId,
        session: SessionId,
    ) -> Result<Option<AgentScope>> {
        let values = [*session.as_bytes(), *account.as_bytes()];
        self.first(owner_in!("sessions"), values, decode::scope)
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
        let account = [*account.as_bytes()];
        let waiting = self.all(usage::WAITING_OF_ACCOUNT, account, decode::message_counts);
        Ok(waiting.await?.pop().unwrap_or_default())
    }

    async fn load(&self) -> Result<FleetLoad> {
        self.scan(load::load).await
    }

    async fn access_owner(
        &self,
        account: AccountId,
        request: AccessRequestId,
    ) -> Result<Option<AgentScope>> {
        let values = [*request.as_bytes(), *account.as_bytes()];
        self.first(owner_in!("access_requests"), values, decode::scope)
            .await
    }

    async fn open_access(&self) -> Result<Vec<OpenAccess>> {
        self.all(requests::OPEN, (), decode::open_access).await
    }

    async fn lapsed_sessions(&self, now: Timestamp) -> Result<Vec<(AgentScope, SessionId)>> {
        // A lease longer than the maximum was written before the clock was set back. It counts as expired; otherwise no
        // process could resume its session.
        let sql = "SELECT sessions.id, agents.id, agents.account_id \
             FROM sessions JOIN agents ON agents.id = sessions.agent_id \
             WHERE (lease_until < ?1 OR lease_until > ?2) \
                 AND state IN ('queued', 'asking', 'open') \
             ORDER BY lease_until, sessions.id";
        let values = [now, now.plus_seconds(LONGEST_LEASE_SECONDS)].map(Timestamp::microseconds);
        self.all(sql, values, decode::scoped_session).await
    }

    async fn scopes(&self) -> Result<Vec<AgentScope>> {
        let sql = "SELECT id, account_id FROM agents ORDER BY id";
        self.all(sql, (), decode::scope).await
    }

    async fn erased(&self) -> Result<Vec<AgentScope>> {
        self.all(ERASED, (), decode::scope).await
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
            let sql = select!(
                leaf,
                "FROM log_leaves WHERE position >= ?1 ORDER BY position"
            );
            let placed = all(connection, sql, [first], decode::leaf)?;
            Ok(decode::leaves_from(from, placed)?)
        })
        .await
    }

    async fn leaves_of(&self, agent: AgentId) -> Result<Vec<LeafRow>> {
        let sql = select!(
            leaf,
            "FROM log_leaves WHERE agent_id = ?1 ORDER BY position"
        );
        let placed = self.all(sql, [*agent.as_bytes()], decode::leaf).await?;
        Ok(placed.into_iter().map(|(_, leaf)| leaf).collect())
    }

    async fn append_leaves(&self, recorded_at: Timestamp, of: LogsOf) -> Result<u64> {
        self.write(BULK_ROWS, move |connection| {
            let (account, agent) = match &of {
                LogsOf::All => (None, None),
                LogsOf::Account(account) => (Some(account.as_bytes()), None),
                LogsOf::Agent(scope) => {
                    (Some(scope.account.as_bytes()), Some(scope.agent.as_bytes()))
                }
            };
            let appended = execute(
                connection,
                // The position is computed inside of the one transaction that writes, so that no two callers get the
                // same one and none is left out. An agent whose head is not the hash of its last record is skipped: an
                // entry would certify an inconsistent log, and verifying must find that first.
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
                params![recorded_at.microseconds(), account, agent],
            )?;
            fault::point("leaves.appended");
            let length = "SELECT coalesce(max(position), -1) + 1 FROM log_leaves";
            let length = first(connection, length, (), |row| {
                Columns::new(row, "log_leaves").count()
            })?;
            Ok(WriteOutcome::when(appended > 0, length.unwrap_or_default()))
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

const LIVING_NAMED: &str = select!(
    agent,
    "FROM agents WHERE account_id = ?1 AND folded_name = ?2 AND erased_at IS NULL AND id <> ?1"
);

const ERASED_NAMED: &str = select!(
    agent,
    "FROM agents WHERE account_id = ?1 AND folded_name = ?2 AND erased_at IS NOT NULL \
         ORDER BY erased_at DESC, id DESC LIMIT 1"
);

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

/// Agents without a running session, in the order of a column whose value is on one side of a bound.
macro_rules! proposed {
    ($column:literal, $side:literal) => {
        concat!(
            "SELECT id, weekly_after FROM agents WHERE account_id = ?1 AND ",
            $column,
            $side,
            " ?2 AND NOT EXISTS (SELECT 1 FROM sessions \
                 WHERE agent_id = agents.id AND state IN ('queued', 'asking', 'open')) ORDER BY ",
            $column,
            ", id"
        )
    };
}

/// Agents whose last attempt lies before the slot, the one attempted longest ago first.
const DUE_BY_SLOT: &str = proposed!("weekly_after", "<");
/// Agents whose last attempt lies ahead.
const AHEAD_BY_SLOT: &str = proposed!("weekly_after", ">");
/// Agents that are due from some time on, whatever the weekly slot: the one that has been due longest first.
const DUE_BY_TIME: &str = proposed!("due_at", "<=");
/// Agents that are due only at a time that lies too far ahead.
const AHEAD_BY_TIME: &str = proposed!("due_at", ">");

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
        let Some(row) = rows.next()? else { break };
        let line = SqliteRow(row);
        let mut columns = Columns::new(&line, "agents");
        let agent: AgentId = columns.id()?;
        if !query.except.contains(&agent) {
            found.push((columns.optional_integer()?, agent));
        }
    }
    Ok(found)
}

/// Those that are erased by what their rows say.
const ERASED: &str = "SELECT id, account_id FROM agents INDEXED BY agents_living \
     WHERE erased_at IS NOT NULL ORDER BY id";

/// That account, or all of them by identifier.
pub(crate) fn accounts(
    connection: &Connection,
    of: Option<AccountId>,
) -> error::Result<Vec<AccountId>> {
    if let Some(account) = of {
        return Ok(vec![account]);
    }
    let sql = "SELECT id FROM accounts ORDER BY id";
    all(connection, sql, (), |row| {
        Columns::new(row, "accounts").id()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::plan;

    #[test]
    fn pages_read_no_more_than_they_bring() {
        let by_name = "SEARCH agents USING INDEX agents_by_name (account_id=? AND folded_name>?)";
        assert_eq!(plan(AGENT_PAGE), [by_name]);
        let erased = "SEARCH agents USING INDEX agents_living (erased_at>?)";
        assert_eq!(plan(ERASED), [erased, "USE TEMP B-TREE FOR ORDER BY"]);
        let waiting = "SEARCH sessions USING INDEX sessions_waiting (account_id";
        assert_eq!(plan(NEXT_MODEL), [format!("{waiting}=? AND <expr>>?)")]);
        assert_eq!(plan(NEXT_ACCOUNT), [format!("{waiting}>?)")]);
        let queue = format!("{waiting}=? AND <expr>=?)");
        let agent = "SEARCH agents USING INDEX sqlite_autoindex_agents_1 (id=?)";
        assert_eq!(plan(QUEUE), [&*queue, agent]);
        let by_slot = "COVERING INDEX agents_by_slot (account_id=? AND weekly_after";
        let by_time = "INDEX agents_by_due_time (account_id=? AND due_at";
        for (sql, index, side) in [
            (DUE_BY_SLOT, by_slot, '<'),
            (AHEAD_BY_SLOT, by_slot, '>'),
            (DUE_BY_TIME, by_time, '<'),
            (AHEAD_BY_TIME, by_time, '>'),
        ] {
            let proposed = format!("SEARCH agents USING {index}{side}?)");
            let running = "SEARCH sessions USING INDEX sessions_running (agent_id=?)";
            let expected = [&*proposed, "CORRELATED SCALAR SUBQUERY 1", running];
            assert_eq!(plan(sql), expected);
        }
    }
}
