//! Look-ups across agents, none of which reads text of a memory.

use memoir_domain::{AccountId, AgentId, AgentScope, SessionId, Timestamp};
use memoir_store::{AccountRow, AgentRow};
use rusqlite::{Connection, params};

use crate::{
    agent::{all, first},
    decode::{self, Columns, account_columns, agent_columns},
    error::Result,
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

/// The account's agents, by name.
pub(crate) fn agents(connection: &Connection, account: AccountId) -> Result<Vec<AgentRow>> {
    all(
        connection,
        concat!(
            "SELECT ",
            agent_columns!(),
            " FROM agents WHERE account_id = ?1 ORDER BY folded_name"
        ),
        [account.as_bytes()],
        decode::agent,
    )
}

/// The account's agent of that folded name.
pub(crate) fn agent_named(
    connection: &Connection,
    account: AccountId,
    folded_name: &str,
) -> Result<Option<AgentRow>> {
    first(
        connection,
        concat!(
            "SELECT ",
            agent_columns!(),
            " FROM agents WHERE account_id = ?1 AND folded_name = ?2"
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
        |row| {
            let mut columns = Columns::new(row, "sessions");
            let session = SessionId::from_bytes(columns.id()?);
            let agent = AgentId::from_bytes(columns.id()?);
            let account = AccountId::from_bytes(columns.id()?);
            Ok((AgentScope { account, agent }, session))
        },
    )
}
