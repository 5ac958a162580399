//! An account's agents as a list that is sorted and searched.

use memoir_domain::{AccountId, AgentId, AgentScope};
use memoir_store::{FleetOrder, FleetPage, FleetRow, FleetSession, FleetSlice, SessionRow};
use rusqlite::{Connection, ToSql};

use crate::{
    agent::{all, find_agent, first},
    decode::{self, Columns, SqliteRow, session_columns},
    encode::count,
    error::{Result, inconsistent},
    reader::ReadTransaction,
};

/// The agents that are listed. The second parameter is the text that a name is to hold.
const LISTED: &str = "account_id = ?1 AND erased_at IS NULL AND id <> ?1 AND (?2 IS NULL OR instr(folded_name, ?2) > 0)";

/// One page of the account's agents. The list is sorted by identifiers alone, and only the agents of the
/// page are read.
pub(crate) fn page(
    connection: &Connection,
    account: AccountId,
    page: &FleetPage,
) -> Result<FleetSlice> {
    let _view = ReadTransaction::new(connection)?;
    let text = page.text.as_deref();
    let total = connection
        .prepare_cached(&format!("SELECT count(*) FROM agents WHERE {LISTED}"))?
        .query_row(rusqlite::params![account.as_bytes(), text], |row| {
            Ok(Columns::new(&SqliteRow(row), "agents").count())
        })??;
    let agents = ranked(connection, account, page)?
        .into_iter()
        .map(|agent| row(connection, AgentScope { account, agent }))
        .collect::<Result<_>>()?;
    Ok(FleetSlice { total, agents })
}

/// The agents of the page by their rank.
fn ranked(connection: &Connection, account: AccountId, page: &FleetPage) -> Result<Vec<AgentId>> {
    // No list has as many agents as SQLite cannot count.
    let Ok(offset) = count(page.offset, "agents", "id") else {
        return Ok(Vec::new());
    };
    let (now, slot) = (
        page.now.microseconds(),
        page.latest_slot.map(|at| at.microseconds()),
    );
    let text = page.text.as_deref();
    let mut values: Vec<&dyn ToSql> = vec![account.as_bytes(), &text, &page.limit, &offset];
    // Only literals of this code are put into the text of the statement; a caller's values are bound.
    let rank = match page.order {
        FleetOrder::Name => "NULL",
        FleetOrder::Share => "budget_share",
        FleetOrder::LastSession => {
            "(SELECT max(started_at) FROM sessions WHERE agent_id = agents.id)"
        }
        FleetOrder::Outcome => {
            "(SELECT state FROM sessions WHERE agent_id = agents.id \
                 ORDER BY started_at DESC, sessions.id DESC LIMIT 1)"
        }
        FleetOrder::Next => {
            values.extend([&now as &dyn ToSql, &slot]);
            "CASE WHEN due_at <= ?5 OR weekly_after < ?6 THEN 0 \
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
            "SELECT id FROM agents WHERE {LISTED} \
             ORDER BY {rank} {rank_turn}, folded_name {name_turn} LIMIT ?3 OFFSET ?4"
        ),
        values.as_slice(),
        |row| Ok(AgentId::from_bytes(Columns::new(row, "agents").id()?)),
    )
}

fn row(connection: &Connection, scope: AgentScope) -> Result<FleetRow> {
    let agent = find_agent(connection, scope)?
        .ok_or_else(|| inconsistent("agents", format!("row {} is missing", scope.agent)))?;
    Ok(FleetRow {
        agent,
        last_session: last_session(connection, scope)?.map(without_words),
        open_requests: connection
            .prepare_cached(
                "SELECT count(*) FROM access_requests \
                 WHERE agent_id = ?1 AND state IN ('asked', 'granted')",
            )?
            .query_row([scope.agent.as_bytes()], |row| {
                Ok(Columns::new(&SqliteRow(row), "access_requests").count())
            })??,
    })
}

fn last_session(connection: &Connection, scope: AgentScope) -> Result<Option<SessionRow>> {
    first(
        connection,
        concat!(
            "SELECT ",
            session_columns!(),
            " FROM sessions WHERE agent_id = ?1 ORDER BY started_at DESC, id DESC LIMIT 1"
        ),
        [scope.agent.as_bytes()],
        decode::session,
    )
}

/// Without its words.
fn without_words(row: SessionRow) -> FleetSession {
    FleetSession {
        id: row.id,
        columns: row.columns,
        version: row.document.version,
        open: row.document.open,
    }
}
