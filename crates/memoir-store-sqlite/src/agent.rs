//! Look-ups within one agent.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use memoir_domain::{
    AgentId, AgentScope, SessionId, Timestamp,
    context::ContextMark,
    memory::{Kind, Number},
};
use memoir_store::{
    AccessRow, AgentQuery, AgentRow, ArchiveLink, AuditRow, Commit, Commits, Counting, CountsMark,
    MemoryPage, MemoryRow, RecordFilter, Result, Selection, SessionRow, Snapshot, Store,
    StoredText, columns, select, select_row_counts,
};
use rusqlite::{Connection, OptionalExtension, Params, params};

use crate::{
    SqliteStore, commit,
    decode::{self, Columns, DatabaseRow, SqliteRow},
    encode::{self, count, optional_count},
    error::{self, inconsistent},
    reader::{ReadTransaction, Readers},
    records, requests, transcripts,
    writer::{BULK_ROWS, QueuedChange},
};

/// Records up to which they are read on the calling thread: at about 4 µs each, these block it no longer than a small
/// look-up and waking another thread would.
const FEW_RECORDS: usize = 32;
/// Memories up to which they are, each of which takes a look-up.
const FEW_MEMORIES: usize = 64;
/// Memories up to which their archive links are, each of which takes two look-ups.
const FEW_LINKS: usize = 32;

#[async_trait]
impl Store for SqliteStore {
    async fn snapshot(&self, scope: AgentScope, query: &AgentQuery) -> Result<Option<Snapshot>> {
        let query = query.clone();
        let is_short = match &query.memories {
            // The messages are counted one by one.
            _ if query.transcript => false,
            Selection::None => query.marks_after.is_none(),
            Selection::Numbers(numbers) => numbers.len() <= FEW_MEMORIES,
            _ => false,
        };
        let readers = self.0.readers.clone().filter(|_| !is_short);
        // Before the read: what others write in between makes the next mark another one.
        let others = self.0.writer.others();
        self.look_or_scan(is_short, move |connection| {
            snapshot(connection, readers.as_deref(), scope, &query, others)
        })
        .await
    }

    async fn memories(&self, scope: AgentScope, numbers: &[Number]) -> Result<Vec<MemoryRow>> {
        let numbers = numbers.to_vec();
        // Many would keep the connection that writes, and every change waiting for it.
        self.look_or_scan(numbers.len() <= FEW_MEMORIES, move |connection| {
            let _view = ReadTransaction::over(connection, numbers.len())?;
            let sql = select!(
                memory,
                "FROM memories WHERE agent_id = ?1 AND number = ?2 AND EXISTS \
                     (SELECT 1 FROM agents WHERE id = ?1 AND account_id = ?3 AND erased_at IS NULL)"
            );
            numbered(numbers.iter().map(|one| one.0), |number| {
                let values = params![scope.agent.as_bytes(), number, scope.account.as_bytes()];
                first(connection, sql, values, decode::memory)
            })
        })
        .await
    }

    async fn memory_page(&self, scope: AgentScope, page: &MemoryPage) -> Result<Vec<MemoryRow>> {
        let page = page.clone();
        self.scan_agent(scope, move |connection| page_of(connection, scope, &page))
            .await
    }

    async fn archive_links(
        &self,
        scope: AgentScope,
        numbers: &[Number],
    ) -> Result<Vec<ArchiveLink>> {
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        let numbers = numbers.to_vec();
        self.look_or_scan(numbers.len() <= FEW_LINKS, move |connection| {
            let _view = ReadTransaction::over(connection, numbers.len())?;
            let mut links = BTreeMap::new();
            // No row has a number that SQLite cannot hold.
            for one in numbers.iter().filter_map(|one| i64::try_from(one.0).ok()) {
                let values = params![scope.agent.as_bytes(), one, scope.account.as_bytes()];
                let found = all(connection, LINKS, values, decode::archive_link)?;
                links.extend(found.into_iter().map(|link| (link.number, link)));
            }
            Ok(links.into_values().collect())
        })
        .await
    }

    async fn session_page(
        &self,
        scope: AgentScope,
        before: Option<(Timestamp, SessionId)>,
        limit: u32,
    ) -> Result<Vec<SessionRow>> {
        self.scan_agent(scope, move |connection| {
            let (started_at, id) = encode::before(before, SessionId::as_bytes);
            let values = params![scope.agent.as_bytes(), started_at, id, limit];
            all(connection, SESSION_PAGE, values, decode::session)
        })
        .await
    }

    async fn session_sizes(
        &self,
        scope: AgentScope,
        before: Option<(Timestamp, SessionId)>,
        limit: u32,
    ) -> Result<Vec<u64>> {
        self.scan_agent(scope, move |connection| {
            let (started_at, id) = encode::before(before, SessionId::as_bytes);
            let values = params![scope.agent.as_bytes(), started_at, id, limit];
            all(connection, SESSION_SIZES, values, decode::session_size)
        })
        .await
    }

    async fn records(&self, scope: AgentScope, filter: &RecordFilter) -> Result<Vec<AuditRow>> {
        let filter = filter.clone();
        self.scan_agent(scope, move |connection| {
            let read = decode::record;
            records::of_agent(connection, scope, &filter, records::RECORDS, read)
        })
        .await
    }

    async fn record_sizes(&self, scope: AgentScope, filter: &RecordFilter) -> Result<Vec<u64>> {
        let filter = filter.clone();
        self.scan_agent(scope, move |connection| {
            let read = decode::record_size;
            records::of_agent(connection, scope, &filter, records::SIZES, read)
        })
        .await
    }

    async fn records_at(&self, scope: AgentScope, seqs: &[u64]) -> Result<Vec<AuditRow>> {
        let seqs = seqs.to_vec();
        self.look_or_scan(seqs.len() <= FEW_RECORDS, move |connection| {
            records::at(connection, scope, &seqs)
        })
        .await
    }

    async fn open_requests(&self, scope: AgentScope) -> Result<Vec<AccessRow>> {
        self.look(move |connection| requests::open_of(connection, scope))
            .await
    }

    async fn commit(&self, commit: Commit) -> Result<()> {
        #[cfg(feature = "fault-points")]
        let commit = self.disturb(commit).await?;
        let (rows, replaces_bodies) = (commit::rows(&commit), !commit.bodies.is_empty());
        let mut change = QueuedChange::new(rows, move |connection: &Connection| {
            commit::write(connection, &commit)
        });
        // An erased agent does not count: its key is destroyed after this, and text without a key need not leave the
        // disk before the response.
        change.outline.replaces_bodies = replaces_bodies;
        self.queue(change).await
    }

    async fn commit_all(&self, commits: Commits) -> Result<()> {
        self.write(BULK_ROWS, move |connection| {
            commit::write_all(connection, &commits)
        })
        .await
    }
}

/// The agent and the requested parts, all of the same instant. `readers` if a second connection may help with many
/// memories; `others` of [`crate::writer::Writer::others`] from before the read.
fn snapshot(
    connection: &Connection,
    readers: Option<&Readers>,
    scope: AgentScope,
    query: &AgentQuery,
    others: Option<u64>,
) -> error::Result<Option<Snapshot>> {
    let _view = ReadTransaction::new(connection)?;
    let Some(agent) = find_agent(connection, scope)? else {
        return Ok(None);
    };
    let agent_id = scope.agent.as_bytes();
    let version = agent.document.version;
    let counts_mark = others.map(|others| CountsMark { version, others });
    let memories = Memories {
        connection,
        readers,
        agent: scope.agent,
        version: agent.document.version,
    };
    let session = |id: SessionId| {
        let sql = select!(session, "FROM sessions WHERE id = ?1 AND agent_id = ?2");
        first(connection, sql, [id.as_bytes(), agent_id], decode::session)
    };
    let prompts = query.prompts.then(|| prompts(connection, scope));
    let transcript = query
        .transcript
        .then(|| transcripts::transcript(connection, scope));
    let open_requests = query
        .open_requests
        .then(|| requests::open_of(connection, scope));
    let marks = query
        .marks_after
        .map(|journal_after| memories.marks(journal_after));
    Ok(Some(Snapshot {
        agent,
        prompts: prompts.transpose()?,
        memories: memories.selected(scope, &query.memories)?,
        marks: marks.transpose()?.unwrap_or_default(),
        session: query.session.map(session).transpose()?.flatten(),
        running_session: first(
            connection,
            "SELECT id FROM sessions WHERE agent_id = ?1 AND state IN ('queued', 'asking', 'open')",
            [agent_id],
            |row| Columns::new(row, "sessions").id(),
        )?,
        open_requests: open_requests.transpose()?.unwrap_or_default(),
        transcript: transcript.transpose()?,
        // Counting reads an index entry of each memory.
        row_counts: match query.counting {
            Counting::Never => None,
            Counting::Unless(mark) if counts_mark == Some(mark) => None,
            Counting::Unless(_) | Counting::Always => Some(
                first(connection, ROW_COUNTS, [agent_id], decode::row_counts)?.unwrap_or_default(),
            ),
        },
        counts_mark,
    }))
}

const ROW_COUNTS: &str = select_row_counts!();

/// The agent, where it is one of the account's.
pub(crate) fn find_agent(
    connection: &Connection,
    scope: AgentScope,
) -> error::Result<Option<AgentRow>> {
    first(
        connection,
        concat!(
            "SELECT ",
            columns!(agent),
            // The account is asked for everywhere, although the identifier alone would find the row: an identifier that
            // came from a caller of another account then finds nothing, instead of depending on a check further up.
            " FROM agents WHERE id = ?1 AND account_id = ?2"
        ),
        [scope.agent.as_bytes(), scope.account.as_bytes()],
        decode::agent,
    )
}

fn prompts(connection: &Connection, scope: AgentScope) -> error::Result<StoredText> {
    // Without the account: only called once the agent was found under it, in the same view.
    let sql = select!(prompts, "FROM agent_prompts WHERE agent_id = ?1");
    let found = first(connection, sql, [scope.agent.as_bytes()], decode::prompts)?;
    found.ok_or_else(|| inconsistent("agent_prompts", format!("row {} is missing", scope.agent)))
}

/// Whether the agent is one of the account's: asked before anything that knows the agent only.
pub(crate) fn is_theirs(connection: &Connection, scope: AgentScope) -> error::Result<bool> {
    let sql = "SELECT 1 FROM agents WHERE id = ?1 AND account_id = ?2";
    let values = [scope.agent.as_bytes(), scope.account.as_bytes()];
    exists(connection, sql, values)
}

pub(crate) fn bytes(scope: AgentScope) -> ([u8; 16], [u8; 16]) {
    (*scope.agent.as_bytes(), *scope.account.as_bytes())
}

/// The memories of an agent of that version, in a transaction that reads.
struct Memories<'a> {
    connection: &'a Connection,
    readers: Option<&'a Readers>,
    agent: AgentId,
    version: u64,
}

impl Memories<'_> {
    fn selected(&self, scope: AgentScope, selection: &Selection) -> error::Result<Vec<MemoryRow>> {
        let connection = self.connection;
        let mut memories = match selection {
            Selection::None => return Ok(Vec::new()),
            Selection::ActiveCore => self.active_of(&ACTIVE_CORE)?,
            Selection::Searchable => self.active_of(&SEARCHABLE)?,
            Selection::Archive => self.active_of(&ARCHIVE)?,
            // One look-up for each rather than one statement with a list: the text of the statement is the same for any
            // number of them, so that it is planned once, and their number has no limit.
            Selection::Numbers(numbers) => numbered(numbers.iter().map(|one| one.0), |number| {
                let sql = select!(memory, "FROM memories WHERE agent_id = ?1 AND number = ?2");
                let values = params![self.agent.as_bytes(), number];
                first(connection, sql, values, decode::memory)
            })?,
            Selection::Context { journal_after } => {
                self.context(ACTIVE_AFTER, *journal_after, decode::memory)?
            }
            // Nearly all rows are wanted: read in the order of the table, and sorted here.
            Selection::Active => self.in_halves(self.newest()?, ACTIVE)?,
            Selection::Core => self.in_halves(self.newest()?, CORE)?,
            Selection::All => self.in_halves(self.newest()?, ALL)?,
            Selection::Page(page) => page_of(connection, scope, page)?,
        };
        // The order that callers see is made in one place, so that it is the same for every selection
        // and in both stores.
        memories.sort_by_key(|memory| (memory.created_at, memory.number));
        Ok(memories)
    }

    fn active_of(&self, wanted: &ActiveOf) -> error::Result<Vec<MemoryRow>> {
        let newest = self.newest()?;
        if self.are_most(newest, wanted.is_one)? {
            return self.in_halves(newest, wanted.in_order);
        }
        let mut memories = Vec::new();
        for kind in wanted.kinds {
            memories.extend(self.active_after(ACTIVE_AFTER, *kind, i64::MIN, decode::memory)?);
        }
        Ok(memories)
    }

    /// What may be in the prompt, by one of the two statements below.
    fn context<Row>(
        &self,
        sql: &str,
        journal_after: Timestamp,
        read: fn(&dyn DatabaseRow) -> memoir_store::Result<Row>,
    ) -> error::Result<Vec<Row>> {
        let mut rows = self.active_after(sql, Kind::Core, i64::MIN, read)?;
        let journal_after = journal_after.microseconds();
        rows.extend(self.active_after(sql, Kind::Journal, journal_after, read)?);
        Ok(rows)
    }

    /// Without texts, the oldest origin date first.
    fn marks(&self, journal_after: Timestamp) -> error::Result<Vec<ContextMark>> {
        let mut marks = self.context(MARKS_AFTER, journal_after, decode::context_mark)?;
        marks.sort_by_key(|mark| (mark.created_at, mark.number));
        Ok(marks)
    }

    fn active_after<Row>(
        &self,
        sql: &str,
        kind: Kind,
        after: i64,
        read: fn(&dyn DatabaseRow) -> memoir_store::Result<Row>,
    ) -> error::Result<Vec<Row>> {
        let values = params![self.agent.as_bytes(), kind.as_str(), after];
        all(self.connection, sql, values, read)
    }

    /// The rows of one of the statements below. Where there are many, another thread reads the second half of them at
    /// the same time.
    fn in_halves(&self, newest: i64, sql: &str) -> error::Result<Vec<MemoryRow>> {
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

    fn newest(&self) -> error::Result<i64> {
        let mut newest = self
            .connection
            .prepare_cached("SELECT coalesce(max(number), 0) FROM memories WHERE agent_id = ?1")?;
        // Numbers begin with 1 and have no gaps.
        Ok(newest.query_row([self.agent.as_bytes()], |row| row.get(0))?)
    }

    /// Whether a statement finds about half or more of many memories. Which way is taken changes nothing but the time
    /// that it takes.
    fn are_most(&self, newest: i64, is_one: &str) -> error::Result<bool> {
        if newest <= FEW_ROWS {
            return Ok(false);
        }
        let mut is_one = self.connection.prepare_cached(is_one)?;
        let mut found = 0;
        for step in 1..=SAMPLED {
            let number = newest / SAMPLED * step;
            found += i64::from(is_one.exists(params![self.agent.as_bytes(), number])?);
        }
        Ok(found >= SAMPLED / 2)
    }
}

/// The active memories of one kind with an origin date after a time.
macro_rules! active_after {
    ($columns:expr) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM memories WHERE agent_id = ?1 AND kind = ?2 AND created_at > ?3 \
                 AND discarded_at IS NULL ORDER BY created_at, number"
        )
    };
}

const ACTIVE_AFTER: &str = active_after!(columns!(memory));
// All of it is in the index.
const MARKS_AFTER: &str = active_after!(columns!(context_mark));

/// Memories in the order of the table, from one number to another. If most rows are needed, the caller sorts them: by
/// an index each row would be looked up by itself, which takes as long as the rest of reading it.
macro_rules! in_order_of_the_table {
    ($condition:literal) => {
        select!(
            memory,
            "FROM memories WHERE agent_id = ?1 AND number BETWEEN ?2 AND ?3",
            $condition,
            " ORDER BY number"
        )
    };
}

const ALL: &str = in_order_of_the_table!("");
const ACTIVE: &str = in_order_of_the_table!(" AND discarded_at IS NULL");
const CORE: &str = in_order_of_the_table!(" AND kind = 'core'");

struct ActiveOf {
    kinds: &'static [Kind],
    in_order: &'static str,
    is_one: &'static str,
}

macro_rules! active_of {
    ($kinds:expr, $condition:literal) => {
        ActiveOf {
            kinds: &$kinds,
            in_order: in_order_of_the_table!($condition),
            is_one: concat!(
                "SELECT 1 FROM memories WHERE agent_id = ?1 AND number = ?2",
                $condition
            ),
        }
    };
}

const ACTIVE_CORE: ActiveOf =
    active_of!([Kind::Core], " AND kind = 'core' AND discarded_at IS NULL");
const SEARCHABLE: ActiveOf = active_of!(
    [Kind::Core, Kind::Archival],
    " AND kind IN ('core', 'archival') AND discarded_at IS NULL"
);
const ARCHIVE: ActiveOf = active_of!(
    [Kind::Archival],
    " AND kind = 'archival' AND discarded_at IS NULL"
);

/// Rows up to which it makes no difference worth a check, or a thread.
const FEW_ROWS: i64 = 1_000;
/// Rows that are sampled, from the first to the last in equal steps.
const SAMPLED: i64 = 64;

/// The rows of these numbers, each once and in their order. No row has a number that SQLite cannot hold.
pub(crate) fn numbered<Row>(
    numbers: impl Iterator<Item = u64>,
    read: impl Fn(i64) -> error::Result<Option<Row>>,
) -> error::Result<Vec<Row>> {
    let held = numbers.filter_map(|number| i64::try_from(number).ok());
    let distinct: BTreeSet<i64> = held.collect();
    let rows = distinct.into_iter().map(read);
    rows.filter_map(Result::transpose).collect()
}

macro_rules! links {
    ($table:literal, $condition:literal) => {
        select!(
            archive_link,
            "FROM ",
            $table,
            " WHERE agent_id = ?1 AND ",
            $condition,
            " AND EXISTS \
                 (SELECT 1 FROM agents WHERE id = ?1 AND account_id = ?3 AND erased_at IS NULL)"
        )
    };
}

/// A memory, and those under it.
const LINKS: &str = concat!(
    links!("memories", "number = ?2"),
    " UNION ALL ",
    // Without the name of the index, SQLite takes an agent to have few memories, and reads all of them.
    links!(
        "memories INDEXED BY memories_under",
        "under = ?2 AND kind = 'archival' AND discarded_at IS NULL"
    )
);

/// One page of memories that meet a condition, with any further filters.
macro_rules! memory_page {
    ($table:literal, $condition:literal) => {
        select!(
            memory,
            "FROM ",
            $table,
            " WHERE agent_id = ?1 AND number > ?2 AND (?3 IS NULL OR kind = ?3) \
                 AND (?4 IS NULL OR created_at >= ?4) AND (?5 IS NULL OR created_at <= ?5) \
                 AND (?6 OR discarded_at IS NULL) AND (?8 IS NULL OR constitutional = ?8) \
                 AND (?9 IS NULL OR (kind = 'journal' AND created_at <= ?9) = ?10) AND ",
            $condition,
            " ORDER BY number LIMIT ?7"
        )
    };
}

/// One statement for all filters, which keeps to the order of the table: any other index would have all
/// that match sorted for each page.
const MEMORY_PAGE: &str = memory_page!(
    "memories",
    "(?11 IS NULL OR kind = 'archival' AND under = ?11)"
);
/// Where only active memories under one are wanted, an index has them in the same order, and no others.
const MEMORY_PAGE_UNDER: &str = memory_page!(
    "memories INDEXED BY memories_under",
    "kind = 'archival' AND under = ?11 AND discarded_at IS NULL"
);

/// As [`memory_page`], of an agent that is known to be the account's.
fn page_of(
    connection: &Connection,
    scope: AgentScope,
    page: &MemoryPage,
) -> error::Result<Vec<MemoryRow>> {
    // No row has a number that SQLite cannot hold.
    let Ok(after) = count(page.after, "memories", "number") else {
        return Ok(Vec::new());
    };
    // From the beginning on no row is passed over, and one of a number that Memoir never gives is found.
    let after = if after == 0 { i64::MIN } else { after };
    let under = page.under.map(|under| under.0);
    let Ok(under) = optional_count(under, "memories", "under") else {
        return Ok(Vec::new());
    };
    let sql = match under {
        Some(_) if !page.with_discarded => MEMORY_PAGE_UNDER,
        _ => MEMORY_PAGE,
    };
    all(
        connection,
        sql,
        params![
            scope.agent.as_bytes(),
            after,
            page.kind.map(|kind| kind.as_str()),
            encode::time(page.since),
            encode::time(page.until),
            page.with_discarded,
            page.limit,
            page.protected,
            encode::time(page.expired.map(|expired| expired.until)),
            page.expired.is_some_and(|expired| expired.is_expired),
            under,
        ],
        decode::memory,
    )
}

macro_rules! session_page {
    ($columns:ident) => {
        select!(
            $columns,
            "FROM sessions WHERE agent_id = ?1 AND (started_at, id) < (?2, ?3) \
                 ORDER BY started_at DESC, id DESC LIMIT ?4"
        )
    };
}

const SESSION_PAGE: &str = session_page!(session);
const SESSION_SIZES: &str = session_page!(session_size);

pub(crate) fn exists(
    connection: &Connection,
    sql: &str,
    values: impl Params,
) -> error::Result<bool> {
    Ok(connection.prepare_cached(sql)?.exists(values)?)
}

pub(crate) fn execute(
    connection: &Connection,
    sql: &str,
    values: impl Params,
) -> error::Result<usize> {
    Ok(connection.prepare_cached(sql)?.execute(values)?)
}

pub(crate) fn first<T>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    read: impl FnOnce(&dyn DatabaseRow) -> memoir_store::Result<T>,
) -> error::Result<Option<T>> {
    let found = connection
        .prepare_cached(sql)?
        .query_row(values, |row| Ok(read(&SqliteRow(row))))
        .optional()?;
    Ok(found.transpose()?)
}

pub(crate) fn all<T>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    read: impl Fn(&dyn DatabaseRow) -> memoir_store::Result<T>,
) -> error::Result<Vec<T>> {
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
pub(crate) fn plan(sql: &str) -> Vec<String> {
    let connection = crate::open::in_memory().unwrap();
    let explained = format!("EXPLAIN QUERY PLAN {sql}");
    let mut statement = connection.prepare(&explained).unwrap();
    let mut rows = statement.raw_query();
    let mut steps = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        steps.push(row.get("detail").unwrap());
    }
    steps
}

/// How SQLite looks for the rows of a statement.
#[cfg(test)]
pub(crate) fn searches(sql: &str) -> Vec<String> {
    let mut steps = plan(sql);
    steps.retain(|step| step.starts_with("SEARCH") || step.starts_with("SCAN"));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_found_by_its_key() {
        assert_eq!(
            plan(crate::records::RECORD_AT),
            [
                "SEARCH audit_records USING PRIMARY KEY (agent_id=? AND seq=?)",
                "SEARCH agents EXISTS USING INDEX sqlite_autoindex_agents_1 (id=?)",
                "CORRELATED SCALAR SUBQUERY 1",
                "SEARCH before USING PRIMARY KEY (agent_id=? AND seq=?)",
            ]
        );
    }

    #[test]
    fn a_memorys_records_are_found_without_reading_the_log() {
        let conditions = " WHERE agent_id = ?1 AND seq >= ?2 AND memory = ?3 ORDER BY seq";
        let sql = [records::RECORDS, records::BY_MEMORY, conditions].concat();
        let index = "audit_records_by_memory (agent_id=? AND memory=? AND seq>?)";
        assert_eq!(
            searches(&sql)[0],
            format!("SEARCH audit_records USING INDEX {index}")
        );
    }

    const IN_ORDER: [&str; 1] =
        ["SEARCH memories USING PRIMARY KEY (agent_id=? AND number>? AND number<?)"];

    #[test]
    fn rows_are_counted_without_reading_any() {
        let mut searches = plan(ROW_COUNTS);
        searches.retain(|step| step.starts_with("SEARCH"));
        let of_a_kind =
            "SEARCH memories USING COVERING INDEX memories_active (agent_id=? AND kind=?)";
        assert_eq!(
            searches,
            [
                of_a_kind,
                of_a_kind,
                of_a_kind,
                "SEARCH memories USING COVERING INDEX memories_discarded (agent_id=? AND discarded_at>?)",
            ]
        );
        let steps = plan(LINKS);
        let under = "SEARCH memories USING INDEX memories_under (agent_id=? AND under=?)";
        let own = "SEARCH memories USING PRIMARY KEY (agent_id=? AND number=?)";
        for step in [own, under] {
            assert!(steps.iter().any(|found| found == step), "{steps:?}");
        }
    }

    #[test]
    fn pages_are_ranges_in_the_order_of_an_index() {
        for in_order in [ACTIVE_CORE, SEARCHABLE, ARCHIVE].map(|of| of.in_order) {
            assert_eq!(plan(in_order), IN_ORDER);
        }
        let by_key = "SEARCH memories USING PRIMARY KEY (agent_id=? AND number>?)";
        assert_eq!(plan(MEMORY_PAGE), [by_key]);
        let under =
            "SEARCH memories USING INDEX memories_under (agent_id=? AND under=? AND number>?)";
        assert_eq!(plan(MEMORY_PAGE_UNDER), [under]);
        let by_start =
            "SEARCH sessions USING INDEX sessions_by_start (agent_id=? AND (started_at,id)<(?,?))";
        let agent = "SEARCH agents USING INDEX sqlite_autoindex_agents_1 (id=?)";
        assert_eq!(
            plan(SESSION_PAGE),
            [by_start, "CORRELATED SCALAR SUBQUERY 1", agent]
        );
    }
}
