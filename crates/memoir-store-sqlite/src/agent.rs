//! Look-ups within one agent.

use memoir_domain::{
    AgentId, AgentScope, SessionId, Timestamp,
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
    reader::{ReadTransaction, Readers},
    requests,
};

/// The agent and what is wanted of it, all of the same instant. `readers` for whom a second connection may help with
/// many memories.
pub(crate) fn snapshot(
    connection: &Connection,
    readers: Option<&Readers>,
    scope: AgentScope,
    query: &AgentQuery,
) -> Result<Option<Snapshot>> {
    let _view = ReadTransaction::new(connection)?;
    let Some(agent) = find_agent(connection, scope)? else {
        return Ok(None);
    };
    let memories = Memories {
        connection,
        readers,
        agent: scope.agent,
        version: agent.document.version,
    };
    Ok(Some(Snapshot {
        agent,
        prompts: match query.prompts {
            true => Some(prompts(connection, scope)?),
            false => None,
        },
        memories: memories.selected(scope, &query.memories)?,
        session: match query.session {
            Some(id) => session(connection, scope, id)?,
            None => None,
        },
        running_session: running_session(connection, scope)?,
        open_requests: match query.open_requests {
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

/// The memories of an agent of that version, in a transaction that reads.
struct Memories<'a> {
    connection: &'a Connection,
    readers: Option<&'a Readers>,
    agent: AgentId,
    version: u64,
}

impl Memories<'_> {
    fn selected(&self, scope: AgentScope, selection: &Selection) -> Result<Vec<MemoryRow>> {
        let connection = self.connection;
        let mut memories = match selection {
            Selection::None => return Ok(Vec::new()),
            Selection::KeptCore => match self.newest()? {
                newest if self.are_most_kept_core(newest)? => self.in_halves(newest, KEPT_CORE)?,
                _ => return self.kept_after(Kind::Core, i64::MIN),
            },
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
                    params![self.agent.as_bytes(), number],
                    decode::memory,
                )
            })?,
            Selection::Context { journal_after } => {
                let mut memories = self.kept_after(Kind::Core, i64::MIN)?;
                memories.extend(self.kept_after(Kind::Journal, journal_after.microseconds())?);
                memories
            }
            // Nearly all rows are wanted: read in the order of the table, and sorted here.
            Selection::Kept => self.in_halves(self.newest()?, KEPT)?,
            Selection::Core => self.in_halves(self.newest()?, CORE)?,
            Selection::All => self.in_halves(self.newest()?, ALL)?,
            Selection::Page(page) => page_of(connection, scope, page)?,
        };
        // The order that callers see is made in one place, so that it is the same for every selection
        // and in both stores.
        memories.sort_by_key(|memory| (memory.created_at, memory.number));
        Ok(memories)
    }

    fn kept_after(&self, kind: Kind, after: i64) -> Result<Vec<MemoryRow>> {
        all(
            self.connection,
            concat!(
                "SELECT ",
                memory_columns!(),
                " FROM memories WHERE agent_id = ?1 AND kind = ?2 AND created_at > ?3 \
                     AND discarded_at IS NULL ORDER BY created_at, number"
            ),
            params![self.agent.as_bytes(), kind.as_str(), after],
            decode::memory,
        )
    }

    /// The rows of one of the statements below. Where there are many, another thread reads the second half of them at
    /// the same time.
    fn in_halves(&self, newest: i64, sql: &str) -> Result<Vec<MemoryRow>> {
        let (agent, version) = (self.agent, self.version);
        let part = move |connection: &Connection, from: i64, to: i64| {
            let values = params![agent.as_bytes(), from, to];
            all(connection, sql, values, decode::memory)
        };
        let half = newest / 2;
        let (Some(readers), true) = (self.readers, newest > FEW_ROWS) else {
            // Not from the first number on: one that Memoir never gives is found, too.
            return part(self.connection, i64::MIN, i64::MAX);
        };
        let (first, second) = std::thread::scope(|threads| {
            let second = threads.spawn(move || {
                readers.read(|connection| {
                    let _view = ReadTransaction::new(connection)?;
                    // Whatever is written of an agent moves its version: where that is the same, this view of its
                    // memories is that of the other connection, whenever it began.
                    let found: Option<i64> = connection
                        .prepare_cached("SELECT version FROM agents WHERE id = ?1")?
                        .query_row([agent.as_bytes()], |row| row.get(0))
                        .optional()?;
                    let is_same = found == i64::try_from(version).ok();
                    let rows = is_same.then(|| part(connection, half + 1, i64::MAX));
                    rows.transpose()
                })
            });
            let first = part(self.connection, i64::MIN, half);
            match second.join() {
                Ok(second) => (first, second),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        });
        let (mut memories, second) = (first?, second?);
        memories.extend(match second {
            Some(rows) => rows,
            None => part(self.connection, half + 1, i64::MAX)?,
        });
        Ok(memories)
    }

    fn newest(&self) -> Result<i64> {
        let mut newest = self
            .connection
            .prepare_cached("SELECT coalesce(max(number), 0) FROM memories WHERE agent_id = ?1")?;
        // Numbers begin with 1 and have no gaps.
        Ok(newest.query_row([self.agent.as_bytes()], |row| row.get(0))?)
    }

    /// Whether about half or more of many memories are kept core ones. Which way is taken changes nothing but the time
    /// that it takes.
    fn are_most_kept_core(&self, newest: i64) -> Result<bool> {
        if newest <= FEW_ROWS {
            return Ok(false);
        }
        let mut is_kept_core = self.connection.prepare_cached(
            "SELECT 1 FROM memories WHERE agent_id = ?1 AND number = ?2 AND kind = 'core' AND discarded_at IS NULL",
        )?;
        let mut kept = 0;
        for step in 1..=SAMPLED {
            let number = newest / SAMPLED * step;
            kept += i64::from(is_kept_core.exists(params![self.agent.as_bytes(), number])?);
        }
        Ok(kept >= SAMPLED / 2)
    }
}

/// Memories in the order of the table, from one number to another. Where most rows are wanted, the caller sorts
/// them: by an index each row would be looked up by itself, which takes as long as all else that reading it does.
macro_rules! in_order_of_the_table {
    ($condition:literal) => {
        concat!(
            "SELECT ",
            memory_columns!(),
            " FROM memories WHERE agent_id = ?1 AND number BETWEEN ?2 AND ?3",
            $condition,
            " ORDER BY number"
        )
    };
}

const ALL: &str = in_order_of_the_table!("");
const KEPT: &str = in_order_of_the_table!(" AND discarded_at IS NULL");
const CORE: &str = in_order_of_the_table!(" AND kind = 'core'");
const KEPT_CORE: &str = in_order_of_the_table!(" AND kind = 'core' AND discarded_at IS NULL");

/// Rows up to which it makes no difference worth a look, or a thread.
const FEW_ROWS: i64 = 1_000;
/// Rows that are looked at, from the first to the last in equal steps.
const SAMPLED: i64 = 64;

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
    let mut distinct = numbers.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let mut memories = Vec::with_capacity(distinct.len());
    for one in distinct {
        // No row has a number that SQLite cannot hold.
        if let Ok(one) = number(one, "memories") {
            memories.extend(read(one)?);
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
                KEPT_CORE,
                &["SEARCH memories USING PRIMARY KEY (agent_id=? AND number>? AND number<?)"][..],
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
