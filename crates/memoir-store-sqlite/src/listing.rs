//! An account's agents as a list that is sorted and searched.

use memoir_domain::{AccountId, AgentId, AgentScope, Timestamp, session::State};
use memoir_store::{
    FleetOrder, FleetPage, FleetRow, FleetSession, FleetSlice, SESSIONS_AT_ONCE, select,
};
use rusqlite::{Connection, ToSql};

use crate::{
    agent::{all, find_agent, first},
    decode::{self, Columns},
    encode::count,
    error::{Result, inconsistent},
    reader::ReadTransaction,
};

/// The agents that are listed. The second parameter is the text that a name is to hold.
const LISTED: &str = "account_id = ?1 AND erased_at IS NULL AND id <> ?1 AND (?2 IS NULL OR instr(folded_name, ?2) > 0)";

/// The rank of an agent's health, as `Health::from_row` decides it.
const HEALTH: &str = "min(CASE (SELECT state FROM sessions WHERE agent_id = agents.id \
         ORDER BY started_at DESC, sessions.id DESC LIMIT 1) WHEN 'failed' THEN 0 WHEN 'rolled_back' THEN 2 ELSE 3 END, \
     CASE WHEN budget_share > 1000000 THEN 1 ELSE 3 END)";

/// One page of the account's agents. The list is sorted by identifiers alone, and only the agents of the page are read.
pub(crate) fn page(
    connection: &Connection,
    account: AccountId,
    page: &FleetPage,
) -> Result<FleetSlice> {
    let _view = ReadTransaction::new(connection)?;
    let text = Some(page.text.as_str()).filter(|text| !text.is_empty());
    let counts = all(
        connection,
        &format!("SELECT {HEALTH}, count(*) FROM agents WHERE {LISTED} GROUP BY 1"),
        rusqlite::params![account.as_bytes(), text],
        decode::agents_of_health,
    )?;
    let agents = ranked(connection, account, page)?.into_iter();
    let scopes = agents.map(|agent| AgentScope { account, agent });
    let rows = scopes.map(|scope| row(connection, scope, page.sessions_since));
    Ok(FleetSlice::new(page, counts, rows.collect::<Result<_>>()?))
}

fn ranked(connection: &Connection, account: AccountId, page: &FleetPage) -> Result<Vec<AgentId>> {
    // No list has as many agents as SQLite cannot count.
    let Ok(offset) = count(page.offset, "agents", "id") else {
        return Ok(Vec::new());
    };
    let now = page.now.microseconds();
    let slot = page.latest_slot.map(Timestamp::microseconds);
    let text = Some(page.text.as_str()).filter(|text| !text.is_empty());
    let health = page.health.map(|health| health.rank());
    let mut values: Vec<&dyn ToSql> =
        vec![account.as_bytes(), &text, &page.limit, &offset, &health];
    // Only literals of this code are put into the text of the statement; a caller's values are bound.
    let rank = match page.order {
        FleetOrder::Name => "NULL",
        FleetOrder::Share => "budget_share",
        FleetOrder::LastSession => {
            "(SELECT max(started_at) FROM sessions WHERE agent_id = agents.id)"
        }
        FleetOrder::Health => HEALTH,
        FleetOrder::Next => {
            values.extend([&now as &dyn ToSql, &slot]);
            "CASE WHEN due_at <= ?6 OR weekly_after < ?7 THEN 0 \
                 WHEN due_at IS NULL AND weekly_after IS NULL THEN 2 ELSE 1 END"
        }
        FleetOrder::Breaker => "removable_tokens",
        FleetOrder::Archived => "archived_share",
        FleetOrder::Access => {
            "(SELECT count(*) FROM access_requests WHERE agent_id = agents.id \
                 AND state IN ('asked', 'granted'))"
        }
    };
    let (rank_turn, name_turn) = match (page.descending, page.order) {
        (true, FleetOrder::Name) => ("", "DESC"),
        (true, _) => ("DESC", ""),
        (false, _) => ("", ""),
    };
    all(
        connection,
        &format!(
            "SELECT id FROM agents WHERE {LISTED} AND (?5 IS NULL OR {HEALTH} = ?5) \
             ORDER BY {rank} {rank_turn}, folded_name {name_turn} LIMIT ?3 OFFSET ?4"
        ),
        values.as_slice(),
        |row| Columns::new(row, "agents").id(),
    )
}

fn row(connection: &Connection, scope: AgentScope, since: Timestamp) -> Result<FleetRow> {
    let agent = find_agent(connection, scope)?
        .ok_or_else(|| inconsistent("agents", format!("row {} is missing", scope.agent)))?;
    let id = [scope.agent.as_bytes()];
    let last = select!(
        session,
        "FROM sessions WHERE agent_id = ?1 ORDER BY started_at DESC, id DESC LIMIT 1"
    );
    let last_session = first(connection, last, id, decode::session)?;
    let sessions = sessions(connection, scope, since)?;
    let open = "SELECT count(*) FROM access_requests \
         WHERE agent_id = ?1 AND state IN ('asked', 'granted')";
    let open_requests = first(connection, open, id, |row| {
        Columns::new(row, "access_requests").count()
    })?;
    Ok(FleetRow {
        agent,
        last_session: last_session.map(FleetSession::from),
        sessions,
        open_requests: open_requests.unwrap_or_default(),
    })
}

/// The last sessions of an agent that were begun since, oldest first.
fn sessions(
    connection: &Connection,
    scope: AgentScope,
    since: Timestamp,
) -> Result<Vec<FleetSession>> {
    let sql = select!(
        session,
        "FROM sessions WHERE agent_id = ?1 AND started_at >= ?2 ORDER BY started_at DESC, id DESC LIMIT ?3"
    );
    let (agent, since) = (scope.agent.as_bytes(), since.microseconds());
    let values = rusqlite::params![agent, since, SESSIONS_AT_ONCE];
    let rows = all(connection, sql, values, decode::session)?;
    Ok(rows.into_iter().rev().map(FleetSession::from).collect())
}

/// The state of the session begun last of each of these agents, without those that had none.
pub(crate) fn last_states(
    connection: &Connection,
    account: AccountId,
    agents: &[AgentId],
) -> Result<Vec<(AgentId, State)>> {
    let _view = ReadTransaction::new(connection)?;
    let state = |agent: &AgentId| {
        let found = first(
            connection,
            "SELECT state FROM sessions WHERE agent_id = ?1 \
             AND EXISTS (SELECT 1 FROM agents WHERE id = ?1 AND account_id = ?2) \
             ORDER BY started_at DESC, id DESC LIMIT 1",
            [agent.as_bytes(), account.as_bytes()],
            |row| Columns::new(row, "sessions").word(),
        );
        found.map(|state| Some((*agent, state?))).transpose()
    };
    agents.iter().filter_map(state).collect()
}
