//! Look-ups across agents, none of which reads text of a memory.

use async_trait::async_trait;
use memoir_domain::{AccountId, AgentId, AgentScope, Timestamp, session::State, time::AHEAD_DAYS};
use memoir_store::{
    APPEND_LEAVES, AccountRow, AgentRow, COUNT_LEAVES, CountAndTokens, Database, DueQuery, Error,
    FURTHEST_DAYS, Finding, Fleet, FleetLoad, FleetPage, FleetRecord, FleetSlice, Reach,
    RecordFilter, RecordOrder, RecordPlace, Result, StoredUsage, WaitingSession, select, values,
};
use rusqlite::{CachedStatement, Connection, ToSql, params};

use crate::{
    SqliteStore,
    agent::{all, execute, first},
    check,
    decode::{self, Columns, DatabaseRow, SqliteRow},
    encode::one,
    error::{self, constraint},
    fault, listing, load,
    reader::ReadTransaction,
    records, schema, scrub, usage,
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
        let (sql, values) = (usage::WAITING_OF_ACCOUNT, values![account.as_bytes()]);
        let waiting = self.rows(account.into(), sql, &values, decode::message_counts);
        Ok(waiting.await?.pop().unwrap_or_default())
    }

    async fn load(&self) -> Result<FleetLoad> {
        self.scan(load::load).await
    }

    async fn erased(&self) -> Result<Vec<AgentScope>> {
        self.rows(Reach::All, ERASED, &[], decode::scope).await
    }

    async fn forget_word_indexes(&self) -> Result<()> {
        let sql = "DELETE FROM word_indexes";
        let forgotten = self.execute(BULK_ROWS, sql, (), "word_indexes.forgotten");
        forgotten.await.map(drop)
    }

    async fn finish(&self) -> Result<bool> {
        // Called with every command, and mostly nothing is pending: then it does not wait for what is queued.
        match self.look(scrub::is_pending).await? {
            true => self.0.writer.finish().await,
            false => Ok(true),
        }
    }

    async fn append_leaves(&self, recorded_at: Timestamp, of: Reach) -> Result<u64> {
        self.write(BULK_ROWS, move |connection| {
            let (account, agent) = of.ids();
            // Inside of the one transaction that writes, so that no two callers get the same position.
            let values = params![recorded_at.microseconds(), account, agent];
            let appended = execute(connection, APPEND_LEAVES, values)?;
            fault::point("leaves.appended");
            let length = first(connection, COUNT_LEAVES, (), |row| {
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
        assert_eq!(plan(memoir_store::AGENT_PAGE), [by_name]);
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
