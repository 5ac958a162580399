//! Look-ups and decisions of one agent.

use async_trait::async_trait;
use memoir_domain::{AgentScope, SessionId, Timestamp, memory::Number};
use memoir_store::{
    AccessRow, AgentQuery, ArchiveLink, AuditRow, Commit, Commits, Counting, Error, MemoryPage,
    MemoryRow, RecordFilter, RecordQuery, Result, Selection, SessionRow, Snapshot, Store, columns,
    decode::{self, Columns, RowReader},
    encode, select, select_row_counts,
};

use crate::{
    PostgresStore, commit,
    pool::Statement,
    transcripts,
    value::{self, Value, all, count, first},
};

pub(crate) const AGENT: &str = select!(agent, "FROM agents WHERE id = $1 AND account_id = $2");

/// The numbers that a column can hold; no row has another one.
fn numbers(all: impl Iterator<Item = u64>) -> Value<'static> {
    // A list as one value: the statement is the same text for any number of them, and is planned once.
    let numbers = all.filter_map(|number| i64::try_from(number).ok());
    Value::Integers(numbers.map(Some).collect())
}

/// Whether a memory may be in a context; `$3` is the date after which journal entries are.
macro_rules! in_context {
    () => {
        "discarded_at IS NULL AND (kind = 'core' OR kind = 'journal' AND created_at > $3)"
    };
}

const MARKS: &str = select!(
    context_mark,
    "FROM memories WHERE agent_id = $1 AND ",
    is_theirs!(),
    " AND ",
    in_context!(),
    " ORDER BY created_at, number"
);

/// The statement for a selection; `None` where none is wanted.
fn memories<'scope>(scope: &'scope AgentScope, selection: &Selection) -> Option<Statement<'scope>> {
    let mut values = scoped![scope];
    let condition = match selection {
        Selection::None => return None,
        Selection::Numbers(all) => {
            values.push(numbers(all.iter().map(|number| number.0)));
            "number = ANY ($3)"
        }
        Selection::ActiveCore => "kind = 'core' AND discarded_at IS NULL",
        Selection::Searchable => "kind IN ('core', 'archival') AND discarded_at IS NULL",
        Selection::Archive => "kind = 'archival' AND discarded_at IS NULL",
        Selection::Core => "kind = 'core'",
        Selection::Context { journal_after } => {
            values.extend(values![*journal_after]);
            in_context!()
        }
        Selection::Active => "discarded_at IS NULL",
        Selection::All => "true",
        Selection::Page(page) => {
            values.extend(page_values(page)?);
            PAGE
        }
    };
    let sql = select!(
        memory,
        "FROM memories WHERE agent_id = $1 AND ",
        is_theirs!(),
        " AND "
    );
    Some(Statement::new(format!("{sql}{condition}"), values).repeating())
}

/// Which memories are on a page, behind the agent and its account.
const PAGE: &str = "number > $3 AND ($4 IS NULL OR kind = $4) AND ($5 IS NULL OR created_at >= $5) \
     AND ($6 IS NULL OR created_at <= $6) AND ($7 OR discarded_at IS NULL) \
     AND ($8 IS NULL OR constitutional = $8) \
     AND ($9 IS NULL OR (kind = 'journal' AND created_at <= $9) = $10) \
     AND ($11 IS NULL OR kind = 'archival' AND under = $11) \
     ORDER BY number LIMIT $12";

/// The values of [`PAGE`]'s parameters; `None` if no row can have such a number.
fn page_values(page: &MemoryPage) -> Option<Vec<Value<'static>>> {
    // From the beginning on no row is passed over, even one of an impossible number.
    let after = match page.after {
        0 => i64::MIN,
        after => count(after, "memories", "number").ok()?,
    };
    let under = page.under.map(|under| count(under.0, "memories", "under"));
    Some(values![
        after,
        page.kind.map(|kind| kind.as_str()),
        page.since,
        page.until,
        page.with_discarded,
        page.protected,
        page.expired.map(|expired| expired.until),
        page.expired.is_some_and(|expired| expired.is_expired),
        under.transpose().ok()?,
        page.limit,
    ])
}

const ROW_COUNTS: &str = concat!(select_row_counts!(), " WHERE", is_theirs!());

macro_rules! session_page {
    ($columns:ident) => {
        select!(
            $columns,
            "FROM sessions WHERE agent_id = $1 AND ",
            is_theirs!(),
            " AND (started_at, id) < ($3, $4) ORDER BY started_at DESC, id DESC LIMIT $5"
        )
    };
}

/// How the archive hangs together around some memories. The first half finds what the second one may find too.
const ARCHIVE_LINKS: &str = select!(
    archive_link,
    "FROM memories WHERE agent_id = $1 AND number = ANY ($3) AND",
    lives!(),
    "UNION SELECT ",
    columns!(archive_link),
    " FROM memories WHERE agent_id = $1 AND under = ANY ($3) AND kind = 'archival' AND discarded_at IS NULL AND",
    lives!(),
    "ORDER BY number"
);

const OPEN_REQUESTS: &str = select!(
    access_request,
    "FROM access_requests WHERE agent_id = $1 AND ",
    is_theirs!(),
    " AND state IN ('asked', 'granted') ORDER BY requested_at, id"
);

#[async_trait]
impl Store for PostgresStore {
    async fn snapshot(&self, scope: AgentScope, query: &AgentQuery) -> Result<Option<Snapshot>> {
        // All statements are sent together, before it is known whether the account has the agent. The policy of a table
        // with an agent column only passes the agent's rows, of any account; statements on such a table check the
        // account themselves. The other results are dropped below, unread, if the account lacks the agent.
        let agent = scope.agent.as_bytes();
        let mut statements = vec![
            Statement::new(AGENT, scoped![scope]),
            Statement::new(
                "SELECT id FROM sessions \
                 WHERE agent_id = $1 AND state IN ('queued', 'asking', 'open')",
                values![agent],
            ),
        ];
        let is_counted = query.counting != Counting::Never;
        if is_counted {
            statements.push(Statement::new(ROW_COUNTS, scoped![scope]));
        }
        if query.prompts {
            let sql = select!(
                prompts,
                "FROM agent_prompts WHERE agent_id = $1 AND ",
                is_theirs!()
            );
            statements.push(Statement::new(sql, scoped![scope]));
        }
        if let Some(session) = &query.session {
            statements.push(Statement::new(
                select!(session, "FROM sessions WHERE id = $1 AND agent_id = $2"),
                values![session.as_bytes(), agent],
            ));
        }
        if query.open_requests {
            statements.push(Statement::new(OPEN_REQUESTS, scoped![scope]));
        }
        if let Some(journal_after) = query.marks_after {
            statements.push(Statement::new(MARKS, scoped![scope, journal_after]));
        }
        if query.transcript {
            statements.extend(transcripts::state(&scope));
        }
        statements.extend(memories(&scope, &query.memories));
        let answers = self.connections.read(scope, &statements).await?;
        let mut answers = answers.iter();
        // The rows of the next statement; none where that was not sent.
        let mut next = |is_sent: bool| match is_sent {
            true => answers.next().map(Vec::as_slice).unwrap_or_default(),
            false => &[],
        };
        let Some(agent) = first(next(true), decode::agent)? else {
            return Ok(None);
        };
        let running_session = first(next(true), |row| Columns::new(row, "sessions").id())?;
        let row_counts = next(is_counted);
        let prompts = first(next(query.prompts), decode::prompts)?;
        if query.prompts && prompts.is_none() {
            let problem = format!("row {} is missing", scope.agent);
            return Err(Error::inconsistent("agent_prompts", problem));
        }
        let session = first(next(query.session.is_some()), decode::session)?;
        let open_requests = all(next(query.open_requests), decode::access_request)?;
        let marks = all(next(query.marks_after.is_some()), decode::context_mark)?;
        let state = [(); 3].map(|()| next(query.transcript));
        let transcript = query.transcript.then(|| transcripts::read_state(state));
        let transcript = transcript.transpose()?;
        let mut memories = all(next(true), decode::memory)?;
        memories.sort_by_key(|memory| (memory.created_at, memory.number));
        // Last, so that an impossible row is reported by its number.
        let row_counts = match is_counted {
            true => Some(first(row_counts, decode::row_counts)?.unwrap_or_default()),
            false => None,
        };
        Ok(Some(Snapshot {
            agent,
            prompts,
            memories,
            marks,
            session,
            running_session,
            open_requests,
            transcript,
            row_counts,
            // Other nodes write too.
            counts_mark: None,
        }))
    }

    async fn memories(&self, scope: AgentScope, asked_for: &[Number]) -> Result<Vec<MemoryRow>> {
        let values = scoped![scope, numbers(asked_for.iter().map(|number| number.0))];
        let sql = select!(
            memory,
            "FROM memories WHERE agent_id = $1 AND number = ANY ($3) AND",
            lives!(),
            "ORDER BY number"
        );
        let rows = self.connections.find(scope, sql, values);
        all(&rows.await?, decode::memory)
    }

    async fn memory_page(&self, scope: AgentScope, page: &MemoryPage) -> Result<Vec<MemoryRow>> {
        let selection = Selection::Page(page.clone());
        let Some(statement) = memories(&scope, &selection) else {
            return Ok(Vec::new());
        };
        let [rows] = self.connections.read_each(scope, [statement]).await?;
        all(&rows, decode::memory)
    }

    async fn archive_links(
        &self,
        scope: AgentScope,
        asked_for: &[Number],
    ) -> Result<Vec<ArchiveLink>> {
        if asked_for.is_empty() {
            return Ok(Vec::new());
        }
        let values = scoped![scope, numbers(asked_for.iter().map(|number| number.0))];
        let rows = self.connections.find(scope, ARCHIVE_LINKS, values);
        all(&rows.await?, decode::archive_link)
    }

    async fn session_page(
        &self,
        scope: AgentScope,
        before: Option<(Timestamp, SessionId)>,
        limit: u32,
    ) -> Result<Vec<SessionRow>> {
        let (started_at, id) = encode::before(before, SessionId::as_bytes);
        let values = scoped![scope, started_at, &id, limit];
        let sql = session_page!(session);
        self.all(scope, sql, values, decode::session).await
    }

    async fn session_sizes(
        &self,
        scope: AgentScope,
        before: Option<(Timestamp, SessionId)>,
        limit: u32,
    ) -> Result<Vec<u64>> {
        let (started_at, id) = encode::before(before, SessionId::as_bytes);
        let values = scoped![scope, started_at, &id, limit];
        let sql = session_page!(session_size);
        self.all(scope, sql, values, decode::session_size).await
    }

    async fn records(&self, scope: AgentScope, filter: &RecordFilter) -> Result<Vec<AuditRow>> {
        let select = select!(record, "FROM audit_records");
        self.narrowed(scope, filter, select, decode::record).await
    }

    async fn record_sizes(&self, scope: AgentScope, filter: &RecordFilter) -> Result<Vec<u64>> {
        let select = select!(record_size, "FROM audit_records");
        self.narrowed(scope, filter, select, decode::record_size)
            .await
    }

    async fn records_at(&self, scope: AgentScope, seqs: &[u64]) -> Result<Vec<AuditRow>> {
        let values = scoped![scope, numbers(seqs.iter().copied())];
        let sql = select!(
            record,
            "FROM audit_records WHERE agent_id = $1 AND ",
            is_theirs!(),
            " AND seq = ANY ($3) ORDER BY seq"
        );
        let rows = self.connections.find(scope, sql, values);
        all(&rows.await?, decode::record)
    }

    async fn open_requests(&self, scope: AgentScope) -> Result<Vec<AccessRow>> {
        let values = scoped![scope];
        self.all(scope, OPEN_REQUESTS, values, decode::access_request)
            .await
    }

    async fn commit(&self, commit: Commit) -> Result<()> {
        self.group_commit.write(&self.connections, commit).await
    }

    async fn commit_all(&self, commits: Commits) -> Result<()> {
        commit::write_all(&self.connections, commits).await
    }
}

impl PostgresStore {
    /// What is selected of the records that match, oldest first.
    async fn narrowed<T>(
        &self,
        scope: AgentScope,
        filter: &RecordFilter,
        select: &str,
        read: RowReader<T>,
    ) -> Result<Vec<T>> {
        // No record has a number that a column cannot hold.
        let Ok(from) = count(filter.from_seq, "audit_records", "seq") else {
            return Ok(Vec::new());
        };
        let query = RecordQuery::of_agent((&scope, false), filter, select, from, CONTAINS);
        let values = value::given(&query.values);
        let mut records = self.all(scope, query.sql, values, read).await?;
        if filter.last.is_some() {
            records.reverse();
        }
        Ok(records)
    }
}

/// Whether an actor's name holds a text.
pub(crate) const CONTAINS: &str =
    "strpos(lower(audit_records.actor_name), lower(? COLLATE \"C\")) > 0";
