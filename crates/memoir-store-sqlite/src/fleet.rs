//! Look-ups across agents, none of which reads text of a memory.

use memoir_domain::{AccountId, AgentId, AgentScope, SessionId, Timestamp, time::AHEAD_DAYS};
use memoir_store::{AccountRow, AgentRow, DueQuery, FURTHEST_DAYS, LeafRow, WaitingSession};
use rusqlite::{CachedStatement, Connection, ToSql, params};

use crate::{
    agent::{all, first},
    decode::{self, Columns, DatabaseRow, SqliteRow, account_columns, agent_columns, leaf_columns},
    encode::count,
    error::{Result, inconsistent},
    reader::ReadTransaction,
};

/// All accounts, by name.
pub(crate) fn accounts(connection: &Connection) -> Result<Vec<AccountRow>> {
    all(
        connection,
        concat!(
            "SELECT ",
            account_columns!(),
            " FROM accounts ORDER BY folded_name"
        ),
        [],
        decode::account,
    )
}

/// The account of that folded name.
pub(crate) fn account_named(
    connection: &Connection,
    folded_name: &str,
) -> Result<Option<AccountRow>> {
    first(
        connection,
        concat!(
            "SELECT ",
            account_columns!(),
            " FROM accounts WHERE folded_name = ?1"
        ),
        [folded_name],
        decode::account,
    )
}

/// The account's agents, by name: of one name the living one, then the erased ones in their order.
pub(crate) fn agents(connection: &Connection, account: AccountId) -> Result<Vec<AgentRow>> {
    // Each half has an index of its own.
    all(
        connection,
        concat!(
            "SELECT ",
            agent_columns!(),
            // `id <> account_id` leaves out the account's own log, which is an agent by form
            // (`AgentScope::of_account`).
            " FROM agents WHERE account_id = ?1 AND erased_at IS NULL AND id <> ?1 UNION ALL SELECT ",
            agent_columns!(),
            " FROM agents WHERE account_id = ?1 AND erased_at IS NOT NULL \
             ORDER BY folded_name, erased_at, id"
        ),
        [account.as_bytes()],
        decode::agent,
    )
}

/// A range of the index of names, with and without a name that the page before ended with.
const AGENT_PAGE: &str = concat!(
    "SELECT ",
    agent_columns!(),
    " FROM agents WHERE account_id = ?1 AND folded_name >= ?2 AND folded_name IS NOT ?3 \
         AND erased_at IS NULL AND id <> ?1 ORDER BY folded_name LIMIT ?4"
);

/// One page of the account's agents that are not erased, by name.
pub(crate) fn agent_page(
    connection: &Connection,
    account: AccountId,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<AgentRow>> {
    all(
        connection,
        AGENT_PAGE,
        params![account.as_bytes(), after.unwrap_or_default(), after, limit],
        decode::agent,
    )
}

/// The account's agent of that folded name; where there is none left, the one erased last.
pub(crate) fn agent_named(
    connection: &Connection,
    account: AccountId,
    folded_name: &str,
) -> Result<Option<AgentRow>> {
    // Two statements of one view: between them the living agent could be erased and would then be
    // found twice, or not at all.
    let _view = ReadTransaction::new(connection)?;
    let living = first(
        connection,
        concat!(
            "SELECT ",
            agent_columns!(),
            " FROM agents WHERE account_id = ?1 AND folded_name = ?2 AND erased_at IS NULL AND id <> ?1"
        ),
        params![account.as_bytes(), folded_name],
        decode::agent,
    )?;
    if living.is_some() {
        return Ok(living);
    }
    first(
        connection,
        concat!(
            "SELECT ",
            agent_columns!(),
            " FROM agents WHERE account_id = ?1 AND folded_name = ?2 AND erased_at IS NOT NULL \
             ORDER BY erased_at DESC, id DESC LIMIT 1"
        ),
        params![account.as_bytes(), folded_name],
        decode::agent,
    )
}

/// Which of the account's agents a session belongs to.
pub(crate) fn session_owner(
    connection: &Connection,
    account: AccountId,
    session: SessionId,
) -> Result<Option<AgentScope>> {
    first(
        connection,
        "SELECT agents.id FROM sessions JOIN agents ON agents.id = sessions.agent_id \
         WHERE sessions.id = ?1 AND agents.account_id = ?2",
        [session.as_bytes(), account.as_bytes()],
        |row| {
            let agent = AgentId::from_bytes(Columns::new(row, "agents").id()?);
            Ok(AgentScope { account, agent })
        },
    )
}

/// Running sessions whose lease expired before `now`, the longest expired first, or is longer than the maximum.
pub(crate) fn lapsed_sessions(
    connection: &Connection,
    now: Timestamp,
) -> Result<Vec<(AgentScope, SessionId)>> {
    all(
        connection,
        // A lease longer than the maximum was written before the clock was set back. It counts as expired; otherwise no
        // process could resume its session.
        "SELECT sessions.id, agents.id, agents.account_id \
         FROM sessions JOIN agents ON agents.id = sessions.agent_id \
         WHERE (lease_until < ?1 OR lease_until > ?2) AND state IN ('queued', 'asking', 'open') \
         ORDER BY lease_until, sessions.id",
        [now, now.plus_days(AHEAD_DAYS)].map(Timestamp::microseconds),
        scoped_session,
    )
}

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

/// Sessions that Memoir drives and no process leases, oldest first, at most `limit` of each account and model.
pub(crate) fn waiting_sessions(connection: &Connection, limit: u32) -> Result<Vec<WaitingSession>> {
    let _view = ReadTransaction::new(connection)?;
    let mut waiting = Vec::new();
    // No account is as short as nothing, so that the first account comes first.
    let mut last = (Vec::new(), String::new());
    // The index skips from one account and model to the next. A queue of many thousand sessions of one account costs no
    // more than `limit` of them, and does not hide those of other accounts.
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
}

/// An account, by its bytes, and a model.
type Queue = (Vec<u8>, String);

/// The queue after that one.
fn next_queue(connection: &Connection, last: &Queue) -> Result<Option<Queue>> {
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

/// Agents that are due by what their rows say, account by account.
pub(crate) fn due_agents(connection: &Connection, query: &DueQuery) -> Result<Vec<AgentScope>> {
    let _view = ReadTransaction::new(connection)?;
    let accounts = match query.account {
        Some(account) => vec![account],
        None => all(
            connection,
            "SELECT id FROM accounts ORDER BY id",
            [],
            |row| Ok(AccountId::from_bytes(Columns::new(row, "accounts").id()?)),
        )?,
    };
    let mut by_slot = connection.prepare_cached(DUE_BY_SLOT)?;
    let mut by_time = connection.prepare_cached(DUE_BY_TIME)?;
    let mut ahead_by_slot = connection.prepare_cached(AHEAD_BY_SLOT)?;
    let mut ahead_by_time = connection.prepare_cached(AHEAD_BY_TIME)?;
    let now = query.now.microseconds();
    let ahead = query.now.plus_days(AHEAD_DAYS).microseconds();
    let furthest = query.now.plus_days(FURTHEST_DAYS).microseconds();
    let mut due = Vec::new();
    for account in accounts {
        let mut found = match query.latest_slot {
            Some(slot) => {
                let mut found = proposed(&mut by_slot, account, slot.microseconds(), query)?;
                found.extend(proposed(&mut ahead_by_slot, account, ahead, query)?);
                found
            }
            None => Vec::new(),
        };
        found.extend(proposed(&mut by_time, account, now, query)?);
        found.extend(proposed(&mut ahead_by_time, account, furthest, query)?);
        // By `weekly_after` first, those without one before all others: they are due by time,
        // whatever the slot. An agent may be found by up to four of the statements.
        found.sort_unstable();
        found.dedup();
        let most = usize::try_from(query.per_account).unwrap_or(usize::MAX);
        let scopes = found.into_iter().take(most);
        due.extend(scopes.map(|(_, agent)| AgentScope { account, agent }));
    }
    Ok(due)
}

/// Reads no further than it has to: agents to be passed over cost a step each.
fn proposed(
    statement: &mut CachedStatement<'_>,
    account: AccountId,
    bound: i64,
    query: &DueQuery,
) -> Result<Vec<(Option<i64>, AgentId)>> {
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
fn scoped_session(row: &dyn DatabaseRow) -> memoir_store::Result<(AgentScope, SessionId)> {
    let mut columns = Columns::new(row, "sessions");
    let session = SessionId::from_bytes(columns.id()?);
    let agent = AgentId::from_bytes(columns.id()?);
    let account = AccountId::from_bytes(columns.id()?);
    Ok((AgentScope { account, agent }, session))
}

/// The scope of every agent, by identifier.
pub(crate) fn scopes(connection: &Connection) -> Result<Vec<AgentScope>> {
    all(
        connection,
        "SELECT id, account_id FROM agents ORDER BY id",
        [],
        scope,
    )
}

/// Those that are erased by what their rows say.
const ERASED: &str = "SELECT id, account_id FROM agents INDEXED BY agents_living \
     WHERE erased_at IS NOT NULL ORDER BY id";

/// The scope of every agent that is erased by what its row says, by identifier.
pub(crate) fn erased(connection: &Connection) -> Result<Vec<AgentScope>> {
    all(connection, ERASED, [], scope)
}

fn scope(row: &dyn DatabaseRow) -> memoir_store::Result<AgentScope> {
    let mut columns = Columns::new(row, "agents");
    let agent = AgentId::from_bytes(columns.id()?);
    let account = AccountId::from_bytes(columns.id()?);
    Ok(AgentScope { account, agent })
}

/// The log over all heads from the entry at `from` on.
pub(crate) fn leaves(connection: &Connection, from: u64) -> Result<Vec<LeafRow>> {
    // No entry is at a place that SQLite cannot hold.
    let Ok(first) = count(from, "log_leaves", "position") else {
        return Ok(Vec::new());
    };
    let placed = all(
        connection,
        concat!(
            "SELECT ",
            leaf_columns!(),
            " FROM log_leaves WHERE position >= ?1 ORDER BY position"
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
