//! Look-ups across agents, none of which reads text of a memory.

use memoir_domain::{AccountId, AgentId, AgentScope, SessionId, Timestamp};
use memoir_store::{AccountRow, AgentRow, LeafRow};
use rusqlite::{Connection, Row, params};

use crate::{
    agent::{all, first},
    decode::{self, Columns, account_columns, agent_columns, leaf_columns},
    encode::count,
    error::{Result, inconsistent},
    reader::View,
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
            " FROM agents WHERE account_id = ?1 AND erased_at IS NULL UNION ALL SELECT ",
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
         AND erased_at IS NULL ORDER BY folded_name LIMIT ?4"
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
    let _view = View::new(connection)?;
    let living = first(
        connection,
        concat!(
            "SELECT ",
            agent_columns!(),
            " FROM agents WHERE account_id = ?1 AND folded_name = ?2 AND erased_at IS NULL"
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

/// Running sessions whose lease lapsed before `now`, the longest lapsed first.
pub(crate) fn lapsed_sessions(
    connection: &Connection,
    now: Timestamp,
) -> Result<Vec<(AgentScope, SessionId)>> {
    all(
        connection,
        "SELECT sessions.id, agents.id, agents.account_id \
         FROM sessions JOIN agents ON agents.id = sessions.agent_id \
         WHERE lease_until < ?1 AND state IN ('queued', 'asking', 'open') \
         ORDER BY lease_until, sessions.id",
        [now.microseconds()],
        scoped_session,
    )
}

/// The sessions come first, in the order of their index, so that no more are read than are wanted.
const WAITING_SESSIONS: &str = "SELECT sessions.id, agents.id, agents.account_id \
     FROM sessions CROSS JOIN agents ON agents.id = sessions.agent_id \
     WHERE driver = 'model' AND lease_until IS NULL AND state IN ('queued', 'asking', 'open') \
     ORDER BY started_at, sessions.id LIMIT ?1";

/// Sessions that Memoir drives and nobody holds, oldest first.
pub(crate) fn waiting_sessions(
    connection: &Connection,
    limit: u32,
) -> Result<Vec<(AgentScope, SessionId)>> {
    all(connection, WAITING_SESSIONS, [limit], scoped_session)
}

/// Reads a session's identifier, its agent's and its account's.
fn scoped_session(row: &Row<'_>) -> Result<(AgentScope, SessionId)> {
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
        |row| {
            let mut columns = Columns::new(row, "agents");
            let agent = AgentId::from_bytes(columns.id()?);
            let account = AccountId::from_bytes(columns.id()?);
            Ok(AgentScope { account, agent })
        },
    )
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
    // Entries are told by where they stand in the answer: one that is missing must not move the others.
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
                WAITING_SESSIONS,
                &[
                    "SCAN sessions USING INDEX sessions_waiting",
                    "SEARCH agents USING PRIMARY KEY (id=?)",
                ],
            ),
        ] {
            assert_eq!(crate::agent::plan(&connection, sql), expected);
        }
    }
}
