//! Look-ups within one agent.

use memoir_domain::{
    AgentScope, SessionId, Timestamp,
    memory::{Kind, Number},
};
use memoir_store::{
    AgentQuery, AgentRow, MemoryPage, MemoryRow, Selection, SessionRow, Snapshot, StoredText,
};
use rusqlite::{Connection, OptionalExtension, Params, params};

use crate::{
    decode::{
        self, Columns, DatabaseRow, SqliteRow, agent_columns, memory_columns, session_columns,
    },
    encode::{self, count, number},
    error::{Result, inconsistent},
    reader::ReadTransaction,
    requests,
};

/// The agent and what is wanted of it, all of the same instant.
pub(crate) fn snapshot(
    connection: &Connection,
    scope: AgentScope,
    wanted: &AgentQuery,
) -> Result<Option<Snapshot>> {
    let _view = ReadTransaction::new(connection)?;
    let Some(agent) = find_agent(connection, scope)? else {
        return Ok(None);
    };
    Ok(Some(Snapshot {
        agent,
        prompts: match wanted.prompts {
            true => Some(prompts(connection, scope)?),
            false => None,
        },
        memories: memories(connection, scope, &wanted.memories)?,
        session: match wanted.session {
            Some(id) => session(connection, scope, id)?,
            None => None,
        },
        running_session: running_session(connection, scope)?,
        open_requests: match wanted.open_requests {
            true => requests::open_of(connection, scope)?,
            false => Vec::new(),
        },
    }))
}

/// The agent, where it is one of the account's.
pub(crate) fn find_agent(connection: &Connection, scope: AgentScope) -> Result<Option<AgentRow>> {
    first(
        connection,
        concat!(
            "SELECT ",
            agent_columns!(),
            // The account is asked for everywhere, although the identifier alone would find the
            // row: an identifier that came from a caller of another account then finds nothing,
            // instead of depending on a check further up.
            " FROM agents WHERE id = ?1 AND account_id = ?2"
        ),
        [scope.agent.as_bytes(), scope.account.as_bytes()],
        decode::agent,
    )
}

fn prompts(connection: &Connection, scope: AgentScope) -> Result<StoredText> {
    // Without the account: only called once the agent was found under it, in the same view.
    let found = first(
        connection,
        "SELECT agent_id, body FROM agent_prompts WHERE agent_id = ?1",
        [scope.agent.as_bytes()],
        decode::prompts,
    )?;
    found.ok_or_else(|| inconsistent("agent_prompts", format!("row {} is missing", scope.agent)))
}

/// Whether the agent is one of the account's: asked before anything that knows the agent only.
pub(crate) fn exists(connection: &Connection, scope: AgentScope) -> Result<bool> {
    Ok(connection
        .prepare_cached("SELECT 1 FROM agents WHERE id = ?1 AND account_id = ?2")?
        .exists([scope.agent.as_bytes(), scope.account.as_bytes()])?)
}

fn memories(
    connection: &Connection,
    scope: AgentScope,
    selection: &Selection,
) -> Result<Vec<MemoryRow>> {
    let agent = scope.agent.as_bytes();
    let kept_after = |kind: Kind, after: i64| {
        all(
            connection,
            concat!(
                "SELECT ",
                memory_columns!(),
                " FROM memories WHERE agent_id = ?1 AND kind = ?2 AND created_at > ?3 \
                     AND discarded_at IS NULL ORDER BY created_at, number"
            ),
            params![agent, kind.as_str(), after],
            decode::memory,
        )
    };
    let mut memories = match selection {
        Selection::None => return Ok(Vec::new()),
        Selection::KeptCore if are_most_kept_core(connection, agent)? => {
            all(connection, MOST_KEPT_CORE, [agent], decode::memory)?
        }
        Selection::KeptCore => return kept_after(Kind::Core, i64::MIN),
        // One look-up for each rather than one statement with a list: the text of the statement
        // stays the same for any number of them, so that it is planned once, and there is no limit
        // to how many there are.
        Selection::Numbers(numbers) => numbered(numbers, |number| {
            first(
                connection,
                concat!(
                    "SELECT ",
                    memory_columns!(),
                    " FROM memories WHERE agent_id = ?1 AND number = ?2"
                ),
                params![agent, number],
                decode::memory,
            )
        })?,
        Selection::Context { journal_after } => {
            let mut memories = kept_after(Kind::Core, i64::MIN)?;
            memories.extend(kept_after(Kind::Journal, journal_after.microseconds())?);
            memories
        }
        // Nearly all rows are wanted: read in the order of the table, and sorted here.
        Selection::Kept => all(
            connection,
            concat!(
                "SELECT ",
                memory_columns!(),
                " FROM memories WHERE agent_id = ?1 AND discarded_at IS NULL ORDER BY number"
            ),
            [agent],
            decode::memory,
        )?,
        Selection::Core => all(
            connection,
            concat!(
                "SELECT ",
                memory_columns!(),
                " FROM memories WHERE agent_id = ?1 AND kind = 'core' ORDER BY number"
            ),
            [agent],
            decode::memory,
        )?,
        Selection::All => all(
            connection,
            concat!(
                "SELECT ",
                memory_columns!(),
                " FROM memories WHERE agent_id = ?1 ORDER BY number"
            ),
            [agent],
            decode::memory,
        )?,
        Selection::Page(page) => page_of(connection, scope, page)?,
    };
    // The order that callers see is made in one place, so that it is the same for every selection
    // and in both stores.
    memories.sort_by_key(|memory| (memory.created_at, memory.number));
    Ok(memories)
}

/// Where most rows are wanted: read in the order of the table, and sorted by the caller. By the index each row would be
/// looked up by itself, which takes as long as all else that reading it does.
const MOST_KEPT_CORE: &str = concat!(
    "SELECT ",
    memory_columns!(),
    " FROM memories WHERE agent_id = ?1 AND kind = 'core' AND discarded_at IS NULL ORDER BY number"
);

/// Rows up to which it makes no difference worth a look.
const FEW_ROWS: i64 = 1_000;
/// Rows that are looked at, from the first to the last in equal steps.
const SAMPLED: i64 = 64;

/// Whether about half or more of many memories are kept core ones. Which way is taken changes nothing but the time
/// that it takes.
fn are_most_kept_core(connection: &Connection, agent: &[u8; 16]) -> Result<bool> {
    let mut newest = connection
        .prepare_cached("SELECT coalesce(max(number), 0) FROM memories WHERE agent_id = ?1")?;
    // Numbers begin with 1 and have no gaps.
    let newest: i64 = newest.query_row([agent], |row| row.get(0))?;
    if newest <= FEW_ROWS {
        return Ok(false);
    }
    let mut is_kept_core = connection.prepare_cached(
        "SELECT 1 FROM memories WHERE agent_id = ?1 AND number = ?2 AND kind = 'core' AND discarded_at IS NULL",
    )?;
    let mut kept = 0;
    for step in 1..=SAMPLED {
        kept += i64::from(is_kept_core.exists(params![agent, newest / SAMPLED * step])?);
    }
    Ok(kept >= SAMPLED / 2)
}

/// Memories by their numbers, of an agent that is the account's and not erased.
pub(crate) fn numbered_memories(
    connection: &Connection,
    scope: AgentScope,
    numbers: &[Number],
) -> Result<Vec<MemoryRow>> {
    // One statement is a view by itself.
    let _view = match numbers {
        [_] => None,
        _ => Some(ReadTransaction::new(connection)?),
    };
    numbered(numbers, |number| {
        first(
            connection,
            concat!(
                "SELECT ",
                memory_columns!(),
                " FROM memories WHERE agent_id = ?1 AND number = ?2 AND EXISTS \
                     (SELECT 1 FROM agents WHERE id = ?1 AND account_id = ?3 AND erased_at IS NULL)"
            ),
            params![scope.agent.as_bytes(), number, scope.account.as_bytes()],
            decode::memory,
        )
    })
}

fn numbered(
    numbers: &[Number],
    read: impl Fn(i64) -> Result<Option<MemoryRow>>,
) -> Result<Vec<MemoryRow>> {
    let mut wanted = numbers.to_vec();
    wanted.sort_unstable();
    wanted.dedup();
    let mut memories = Vec::with_capacity(wanted.len());
    for wanted in wanted {
        // No row has a number that SQLite cannot hold.
        if let Ok(wanted) = number(wanted, "memories") {
            memories.extend(read(wanted)?);
        }
    }
    Ok(memories)
}

fn session(
    connection: &Connection,
    scope: AgentScope,
    session: SessionId,
) -> Result<Option<SessionRow>> {
    first(
        connection,
        concat!(
            "SELECT ",
            session_columns!(),
            " FROM sessions WHERE id = ?1 AND agent_id = ?2"
        ),
        [session.as_bytes(), scope.agent.as_bytes()],
        decode::session,
    )
}

fn running_session(connection: &Connection, scope: AgentScope) -> Result<Option<SessionId>> {
    first(
        connection,
        "SELECT id FROM sessions WHERE agent_id = ?1 AND state IN ('queued', 'asking', 'open')",
        [scope.agent.as_bytes()],
        |row| Ok(SessionId::from_bytes(Columns::new(row, "sessions").id()?)),
    )
}

/// One statement for all filters, which keeps to the order of the table: any other index would have all
/// that match sorted for each page.
const MEMORY_PAGE: &str = concat!(
    "SELECT ",
    memory_columns!(),
    " FROM memories WHERE agent_id = ?1 AND number > ?2 AND (?3 IS NULL OR kind = ?3) \
         AND (?4 IS NULL OR created_at >= ?4) AND (?5 IS NULL OR created_at <= ?5) \
         AND (?6 OR discarded_at IS NULL) AND (?8 IS NULL OR constitutional = ?8) \
         AND (?9 IS NULL OR (kind = 'journal' AND created_at <= ?9) = ?10) \
         ORDER BY number LIMIT ?7"
);

/// One page of the agent's memories, by number.
pub(crate) fn memory_page(
    connection: &Connection,
    scope: AgentScope,
    page: &MemoryPage,
) -> Result<Vec<MemoryRow>> {
    let _view = ReadTransaction::new(connection)?;
    match exists(connection, scope)? {
        true => page_of(connection, scope, page),
        false => Ok(Vec::new()),
    }
}

/// As [`memory_page`], of an agent that is known to be the account's.
fn page_of(
    connection: &Connection,
    scope: AgentScope,
    page: &MemoryPage,
) -> Result<Vec<MemoryRow>> {
    // No row has a number that SQLite cannot hold.
    let Ok(after) = count(page.after, "memories", "number") else {
        return Ok(Vec::new());
    };
    // From the beginning on no row is passed over, and one of a number that Memoir never gives is found.
    let after = if after == 0 { i64::MIN } else { after };
    all(
        connection,
        MEMORY_PAGE,
        params![
            scope.agent.as_bytes(),
            after,
            page.kind.map(|kind| kind.as_str()),
            encode::time(page.since),
            encode::time(page.until),
            page.with_discarded,
            page.limit,
            page.protected,
            encode::time(page.faded.map(|faded| faded.until)),
            page.faded.is_some_and(|faded| faded.is_faded),
        ],
        decode::memory,
    )
}

const SESSION_PAGE: &str = concat!(
    "SELECT ",
    session_columns!(),
    " FROM sessions WHERE agent_id = ?1 AND (started_at, id) < (?2, ?3) \
         ORDER BY started_at DESC, id DESC LIMIT ?4"
);

/// The agent's sessions begun before that one, newest first.
pub(crate) fn session_page(
    connection: &Connection,
    scope: AgentScope,
    before: Option<(Timestamp, SessionId)>,
    limit: u32,
) -> Result<Vec<SessionRow>> {
    // No session begins as late as the largest number that SQLite can hold.
    let (started_at, id) = match &before {
        Some((started_at, id)) => (started_at.microseconds(), id.as_bytes()),
        // With the smallest identifier: beside the latest time that can be, no identifier is before
        // it.
        None => (i64::MAX, &[0; 16]),
    };
    let _view = ReadTransaction::new(connection)?;
    if !exists(connection, scope)? {
        return Ok(Vec::new());
    }
    all(
        connection,
        SESSION_PAGE,
        params![scope.agent.as_bytes(), started_at, id, limit],
        decode::session,
    )
}

/// The first row of an answer.
pub(crate) fn first<T>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    read: impl FnOnce(&dyn DatabaseRow) -> memoir_store::Result<T>,
) -> Result<Option<T>> {
    let found = connection
        .prepare_cached(sql)?
        .query_row(values, |row| Ok(read(&SqliteRow(row))))
        .optional()?;
    Ok(found.transpose()?)
}

/// All rows of an answer.
pub(crate) fn all<T>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    read: impl Fn(&dyn DatabaseRow) -> memoir_store::Result<T>,
) -> Result<Vec<T>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    let mut answer = Vec::new();
    while let Some(row) = rows.next()? {
        answer.push(read(&SqliteRow(row))?);
    }
    Ok(answer)
}

/// How SQLite goes about a statement.
#[cfg(test)]
pub(crate) fn plan(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection
        .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
        .unwrap();
    let mut rows = statement.raw_query();
    let mut steps = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        steps.push(row.get("detail").unwrap());
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open;

    #[test]
    fn a_record_is_found_by_its_key() {
        let connection = open::in_memory().unwrap();
        assert_eq!(
            plan(&connection, crate::records::RECORD_AT),
            [
                "SEARCH audit_records USING PRIMARY KEY (agent_id=? AND seq=?)",
                "SEARCH agents EXISTS USING INDEX sqlite_autoindex_agents_1 (id=?)",
                "CORRELATED SCALAR SUBQUERY 1",
                "SEARCH before USING PRIMARY KEY (agent_id=? AND seq=?)",
            ]
        );
    }

    #[test]
    fn pages_are_ranges_in_the_order_of_an_index() {
        let connection = open::in_memory().unwrap();
        for (sql, expected) in [
            (
                MOST_KEPT_CORE,
                &["SEARCH memories USING PRIMARY KEY (agent_id=?)"][..],
            ),
            (
                MEMORY_PAGE,
                &["SEARCH memories USING PRIMARY KEY (agent_id=? AND number>?)"][..],
            ),
            (
                SESSION_PAGE,
                &[
                    "SEARCH sessions USING INDEX sessions_by_start (agent_id=? AND (started_at,id)<(?,?))",
                    "CORRELATED SCALAR SUBQUERY 1",
                    "SEARCH agents USING INDEX sqlite_autoindex_agents_1 (id=?)",
                ],
            ),
        ] {
            assert_eq!(plan(&connection, sql), expected);
        }
    }
}
