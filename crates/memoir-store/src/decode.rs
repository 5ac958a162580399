//! Reads rows and checks everything: a row that no version of Memoir writes is an error that names its table, its
//! number and the column, never its words: [`Error::Inconsistent`].
//!
//! The columns of each row are beside the function that reads them, in the same order, for the statements of all
//! stores.

use data_encoding::HEXLOWER;
use memoir_domain::{
    AgentId, AgentScope, SessionId, Timestamp, absorption::MessageState, context::ContextMark,
    memory::Number, schedule::NextDue, session::Lease,
};
use serde::{Deserialize, de::value::StrDeserializer};

use crate::{
    AccessColumns, AccessRow, AccountRow, AgentColumns, AgentRow, ArchiveLink, AuditRow,
    CountAndTokens, DeliveryRow, Document, Error, FleetRanks, FleetRecord, LeafRow, MemoryRow,
    MessageRow, OpenAccess, ReplyRow, Result, RowCounts, SessionColumns, SessionRow, StoredText,
    SummaryRow, TokenColumns, TokenRow, TranscriptRow, UserColumns, UserRow, VectorRow,
    WaitingSession, WordIndexRow,
};

/// A value of a row, as the database has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ColumnValue<'row> {
    Null,
    /// A number, a time in microseconds since 1970, or 0 or 1.
    Integer(i64),
    /// What should be UTF-8.
    Text(&'row [u8]),
    Bytes(&'row [u8]),
    /// Of a type that no column has.
    Other,
}

/// A row of a database's result.
pub trait DatabaseRow {
    /// The value of the column at that place.
    ///
    /// # Errors
    /// [`Error::Driver`] where there is no such column.
    fn value(&self, at: usize) -> Result<ColumnValue<'_>>;

    /// The name of the column at that place.
    fn name(&self, at: usize) -> Option<&str>;
}

/// The columns that the function of that name in [`crate::decode`] reads: `columns!(agent)`.
#[macro_export]
macro_rules! columns {
    (account) => {
        "id, name, folded_name, created_at"
    };
    (agent) => {
        "id, account_id, name, folded_name, erased_at, next_seq, head, weekly_after, due_at, \
         reflect_after, budget_share, removable_tokens, archived_share, version, open, sealed"
    };
    (prompts) => {
        "agent_id, body"
    };
    (memory) => {
        "number, version, kind, tokens, constitutional, created_at, updated_at, discarded_at, \
         shredded_at, under, archived_at, archived_by, is_summary, core_seq, recorded_at, body"
    };
    (context_mark) => {
        "number, kind, tokens, constitutional, is_summary, created_at, recorded_at"
    };
    (archive_link) => {
        "number, under, kind, discarded_at IS NOT NULL AS is_discarded"
    };
    // The agent comes before them.
    (row_counts) => {
        "core_count, core_tokens, journal_count, journal_tokens, archival_count, archival_tokens, \
         discarded_count - shredded_count AS discarded_count, shredded_count"
    };
    // Of `memory_vectors` joined with the memories.
    (vector) => {
        "memory_vectors.number, memory_vectors.version, memory_vectors.model, memory_vectors.body"
    };
    // Of `sessions` under its own name; the last one is whether the account is that of the agent.
    (session) => {
        "id, agent_id, state, driver, model, started_at, ended_at, lease_until, lease_holder, \
         version, open, sealed, sessions.account_id IS NOT DISTINCT FROM \
             (SELECT agents.account_id FROM agents WHERE agents.id = sessions.agent_id)"
    };
    // Of `audit_records` under its own name.
    (record) => {
        concat!($crate::columns!(wordless_record), ", audit_records.body")
    };
    // Those of a record without its words. The hash before a record's own is that of the record before it, wherever
    // that is in the result.
    (wordless_record) => {
        // With the table's name: another table of a join may get a column of the same name in a later version.
        "audit_records.seq, audit_records.recorded_at, audit_records.actor_kind, audit_records.actor_name, \
         audit_records.action, audit_records.session_id, audit_records.memory, audit_records.body_version, \
         audit_records.body_commitment, audit_records.hash, (SELECT before.hash FROM audit_records AS before \
             WHERE before.agent_id = audit_records.agent_id \
                 AND before.seq = audit_records.seq - 1) AS previous_hash, \
         audit_records.facts"
    };
    // Every database knows the type, and SQLite measures a body without reading it.
    (record_size) => {
        "CAST(length(audit_records.body) AS bigint)"
    };
    (session_size) => {
        "CAST(length(sessions.sealed) AS bigint)"
    };
    (leaf) => {
        "position, agent_id, seq, head, recorded_at"
    };
    (summary) => {
        "last_seq, hash, body"
    };
    (word_index) => {
        "part, version, last_seq, hash, body"
    };
    (transcript) => {
        "agent_id, account_id, due_at, claimed_until, claims, failures"
    };
    (receiver) => {
        "digest, seen_at, closed_at"
    };
    (delivery) => {
        "receiver, session_id, attempt, due_at"
    };
    (message) => {
        "seq, digest, tokens, received_at, counted_bytes, state, body"
    };
    (token) => {
        "id, account_id, agent_id, last_used_at, digest, created_at, revoked_at, version, open, sealed"
    };
    (user) => {
        "id, account_id, folded_name, created_at, removed_at, version, open, sealed"
    };
    (access_request) => {
        "id, agent_id, state, requested_at, expires_at, version, open, sealed"
    };
    (reply) => {
        "key_digest, account_id, request_digest, recorded_at, version, open, sealed"
    };
}

/// A statement that reads these columns: `select!(agent, "FROM agents WHERE id = $1")`.
#[macro_export]
macro_rules! select {
    ($row:ident, $($rest:expr),+ $(,)?) => {
        concat!("SELECT ", $crate::columns!($row), " ", $($rest),+)
    };
}

/// The statement for the counts of all memories of the agent `$1`.
// An index for each kind in turn, rather than groups of one: no row's kind is compared with that of the row before it.
#[macro_export]
macro_rules! select_row_counts {
    () => {
        concat!(
            "SELECT $1 AS agent_id, ",
            $crate::columns!(row_counts),
            " FROM ",
            $crate::select_row_counts!("core"),
            ", ",
            $crate::select_row_counts!("journal"),
            ", ",
            $crate::select_row_counts!("archival"),
            ", (SELECT count(*) AS discarded_count, count(shredded_at) AS shredded_count FROM memories \
                 WHERE agent_id = $1 AND discarded_at IS NOT NULL) AS gone"
        )
    };
    ($kind:literal) => {
        concat!(
            "(SELECT count(*) AS ",
            $kind,
            "_count, CAST(coalesce(sum(tokens), 0) AS bigint) AS ",
            $kind,
            "_tokens FROM memories WHERE agent_id = $1 AND kind = '",
            $kind,
            "' AND discarded_at IS NULL) AS ",
            $kind
        )
    };
}

/// The statement for the agent and account of a row of that table, by the row's identifier and the account.
#[macro_export]
macro_rules! owner_in {
    ($table:literal) => {
        concat!(
            "SELECT agents.id, agents.account_id FROM ",
            $table,
            " AS owned JOIN agents ON agents.id = owned.agent_id \
             WHERE owned.id = $1 AND agents.account_id = $2"
        )
    };
}

/// Reads a row as ordinary queries do.
pub type RowReader<T = ()> = fn(&dyn DatabaseRow) -> Result<T>;

macro_rules! readers {
    ($($table:literal: $row:ident,)+) => {
        &[$(($table, columns!($row), |row| $row(row).map(drop)),)+]
    };
}

/// Every table, which of its columns are read, and what reads them: for a store's check of itself.
pub const READERS: &[(&str, &str, RowReader)] = readers! {
    "accounts": account,
    "agents": agent,
    "agent_prompts": prompts,
    "memories": memory,
    "memory_vectors": vector,
    "sessions": session,
    "audit_records": record,
    "log_leaves": leaf,
    "tokens": token,
    "log_summaries": summary,
    "word_indexes": word_index,
    "transcript_messages": message,
    "transcripts": transcript,
    "access_requests": access_request,
    "users": user,
    "replies": reply,
    "receivers": receiver,
    "deliveries": delivery,
};

/// Readers of rows whose fields are read one after the other: each with its table, and how each field is read.
macro_rules! rows {
    ($($(#[$doc:meta])* $name:ident of $table:literal: $row:ident { $($field:ident $read:ident),+ $(,)? })+) => {
        $($(#[$doc])*
        pub fn $name(row: &dyn DatabaseRow) -> Result<$row> {
            let mut columns = Columns::new(row, $table);
            Ok($row { $($field: columns.$read()?),+ })
        })+
    };
}

/// Parts of rows whose fields are read one after the other: how each field is read.
macro_rules! parts {
    ($($name:ident: $part:ident { $($field:ident $read:ident),+ $(,)? })+) => {
        impl Columns<'_> {
            $(fn $name(&mut self) -> Result<$part> {
                Ok($part { $($field: self.$read()?),+ })
            })+
        }
    };
}

/// Readers of single values, and of several in a row: each with its table, and how each value is read.
macro_rules! read_values {
    ($($(#[$doc:meta])* $name:ident of $table:literal: $kind:ty = $read:tt;)+) => {
        $($(#[$doc])*
        pub fn $name(row: &dyn DatabaseRow) -> Result<$kind> {
            let mut columns = Columns::new(row, $table);
            Ok(read_values!(@ columns $read))
        })+
    };
    (@ $columns:ident ($($read:ident),+)) => {
        ($($columns.$read()?),+)
    };
    (@ $columns:ident $read:ident) => {
        $columns.$read()?
    };
}

parts! {
    agent_columns: AgentColumns {
        name text, folded_name text, erased_at optional_time, next_seq count, head bytes, prospect next_due,
        ranks fleet_ranks,
    }
    next_due: NextDue { weekly_after optional_time, due_at optional_time, reflect_after optional_time }
    fleet_ranks: FleetRanks { budget_share count, removable_tokens count, archived_share count }
    session_columns: SessionColumns {
        state word, driver word, model optional_text, started_at time, ended_at optional_time,
    }
    leaf_row: LeafRow { agent id, seq count, head bytes, recorded_at time }
    token_row: TokenRow {
        id id, account id, agent optional_id, last_used_at optional_time, columns token_columns, document document,
    }
    token_columns: TokenColumns { digest bytes, created_at time, revoked_at optional_time }
    user_columns: UserColumns { folded_name text, created_at time, removed_at optional_time }
    access_columns: AccessColumns { state word, requested_at time, expires_at time }
}

read_values! {
    /// Reads an agent's identifier and its account's.
    scope of "agents": AgentScope = scope;
    /// Reads the rank of a health, and how many agents have it.
    agents_of_health of "agents": (u64, u64) = (count, count);
    /// Reads a model, and how many vectors there are of it.
    vector_model of "memory_vectors": (String, u64) = (text, count);
    /// Reads how many sessions there are, and the earliest of a time of theirs.
    session_counts of "sessions": (u64, Option<Timestamp>) = (count, optional_time);
    /// Reads `columns!(record_size)`.
    record_size of "audit_records": u64 = count;
    /// Reads `columns!(session_size)`.
    session_size of "sessions": u64 = count;
    /// Reads `columns!(leaf)`; the entry's place comes before it.
    leaf of "log_leaves": (u64, LeafRow) = (count, leaf_row);
    /// Reads how many messages there are, and their tokens.
    message_counts of "transcript_messages": CountAndTokens = count_and_tokens;
    /// Reads a state of messages, how many are in it, and their tokens.
    messages_in_state of "transcript_messages": (MessageState, CountAndTokens) = (word, count_and_tokens);
    /// Reads of how many messages words are kept, their tokens, and until when the last ones are.
    kept_words of "transcript_messages": (CountAndTokens, Option<Timestamp>) = (count_and_tokens, optional_time);
    /// Reads `columns!(token)`.
    token of "tokens": TokenRow = token_row;
    /// Reads `columns!(token)` and the name of an agent.
    bearer of "tokens": (TokenRow, Option<String>) = (token_row, optional_text);
    /// Reads `columns!(receiver)`.
    receiver of "receivers": ([u8; 32], Timestamp, Option<Timestamp>) = (bytes, time, optional_time);
    /// Reads `columns!(delivery)`.
    delivery of "deliveries": ([u8; 32], SessionId, u32, Timestamp) = (bytes, id, small_count, time);
}

rows! {
    /// Reads `columns!(account)`.
    account of "accounts": AccountRow { id id, name text, folded_name text, created_at time }
    /// Reads `columns!(agent)`.
    agent of "agents": AgentRow { scope scope, columns agent_columns, document document }
    /// Reads `columns!(user)`.
    user of "users": UserRow { id id, account id, columns user_columns, document document }
    /// Reads `columns!(access_request)`.
    access_request of "access_requests": AccessRow { id id, agent id, columns access_columns, document document }
    /// Reads `columns!(reply)`.
    reply of "replies": ReplyRow {
        key_digest bytes, account id, request_digest bytes, recorded_at time, answer optional_document,
    }
    /// Reads `columns!(context_mark)`.
    context_mark of "memories": ContextMark {
        number number, kind word, tokens count, constitutional flag, is_summary flag, created_at time, recorded_at time,
    }
    /// Reads `columns!(vector)`.
    vector of "memory_vectors": VectorRow { number number, version count, model text, body stored_text }
    /// Reads a session's identifier, its agent's and its account's, its model and its start.
    waiting_session of "sessions": WaitingSession { id id, scope scope, model optional_text, started_at time }
    /// Reads `columns!(summary)`.
    summary of "log_summaries": SummaryRow { last_seq count, hash bytes, body stored_text }
    /// Reads `columns!(word_index)`.
    word_index of "word_indexes": WordIndexRow { part count, version count, last_seq count, hash bytes, body stored_text }
    /// Reads `columns!(message)`.
    message of "transcript_messages": MessageRow {
        seq count, digest bytes, tokens count, received_at time, counted_bytes count, state word, body stored_text,
    }
    /// Reads a delivery's session, its agent's and its account's identifier, and its attempt.
    claimed_delivery of "deliveries": DeliveryRow { session id, scope scope, attempt small_count }
    /// Reads an open request's identifier, its agent's and its account's, its state and its end.
    open_access of "access_requests": OpenAccess { id id, scope scope, state word, expires_at time }
}

/// Reads `columns!(prompts)`.
pub fn prompts(row: &dyn DatabaseRow) -> Result<StoredText> {
    let mut columns = Columns::new(row, "agent_prompts");
    columns.id::<AgentId>()?;
    columns.stored_text()
}

/// Reads `columns!(memory)`.
pub fn memory(row: &dyn DatabaseRow) -> Result<MemoryRow> {
    let mut columns = Columns::new(row, "memories");
    let memory = MemoryRow {
        number: columns.number()?,
        version: columns.count()?,
        kind: columns.word()?,
        tokens: columns.count()?,
        constitutional: columns.flag()?,
        created_at: columns.time()?,
        updated_at: columns.time()?,
        discarded_at: columns.optional_time()?,
        shredded_at: columns.optional_time()?,
        under: columns.optional_count()?.map(Number),
        archived_at: columns.optional_time()?,
        archived_by: columns.optional_word()?,
        is_summary: columns.flag()?,
        core_seq: columns.optional_count()?,
        recorded_at: columns.time()?,
        body: columns.stored_text()?,
    };
    // `Commit::check` holds every commit to the same rules.
    match memory.problem() {
        Some(problem) => Err(columns.wrong(problem)),
        None => Ok(memory),
    }
}

/// Reads `columns!(archive_link)`.
pub fn archive_link(row: &dyn DatabaseRow) -> Result<ArchiveLink> {
    let mut columns = Columns::new(row, "memories");
    let number = columns.number()?;
    let under = columns.optional_count()?.map(Number);
    let (kind, is_discarded) = (columns.word()?, columns.flag()?);
    Ok(ArchiveLink {
        number,
        under,
        kind: (!is_discarded).then_some(kind),
    })
}

/// Reads the agent, then `columns!(row_counts)`.
pub fn row_counts(row: &dyn DatabaseRow) -> Result<RowCounts> {
    let mut columns = Columns::new(row, "memories");
    columns.id::<AgentId>()?;
    Ok(RowCounts {
        core: columns.count_and_tokens()?,
        journal: columns.count_and_tokens()?,
        archival: columns.count_and_tokens()?,
        discarded: columns.count()?,
        shredded: columns.count()?,
    })
}

/// Reads `columns!(session)`.
pub fn session(row: &dyn DatabaseRow) -> Result<SessionRow> {
    let mut columns = Columns::new(row, "sessions");
    let (id, agent) = (columns.id()?, columns.id()?);
    let session = columns.session_columns()?;
    let until = columns.optional_time()?;
    let holder = columns.optional_integer()?;
    let lease = match (until, holder) {
        (Some(until), Some(holder)) => Some(Lease {
            until,
            // The 64 bits as they were drawn, whatever sign the database gave them.
            holder: holder.cast_unsigned(),
        }),
        (None, None) => None,
        _ => return Err(columns.wrong("has one of `lease_until` and `lease_holder` only")),
    };
    let document = columns.document()?;
    // A session is found by the account in its own row, without its agent. With a wrong account there, another tenant
    // would see it.
    if !columns.flag()? {
        return Err(columns.wrong("has another account than the table `agents` says of its agent"));
    }
    Ok(SessionRow {
        id,
        agent,
        columns: session,
        lease,
        document,
    })
}

/// Reads a session's identifier, its agent's and its account's.
pub fn scoped_session(row: &dyn DatabaseRow) -> Result<(AgentScope, SessionId)> {
    let mut columns = Columns::new(row, "sessions");
    let session = columns.id()?;
    Ok((columns.scope()?, session))
}

/// Reads `columns!(record)`.
pub fn record(row: &dyn DatabaseRow) -> Result<AuditRow> {
    let mut columns = Columns::new(row, "audit_records");
    record_with(&mut columns, |columns| columns.stored_text())
}

fn record_with<Body>(
    columns: &mut Columns<'_>,
    body: impl FnOnce(&mut Columns<'_>) -> Result<Body>,
) -> Result<AuditRow<Body>> {
    Ok(AuditRow {
        seq: columns.count()?,
        recorded_at: columns.time()?,
        actor_kind: columns.word()?,
        actor_name: columns.text()?,
        action: columns.word()?,
        session: columns.optional_id()?,
        memory: columns.optional_count()?.map(Number),
        body_version: columns.count()?,
        body_commitment: columns.bytes()?,
        hash: columns.bytes()?,
        previous_hash: columns.optional_bytes()?,
        facts: columns.text()?,
        body: body(columns)?,
    })
}

/// Reads a record of an account's list: the agent and its name, then `columns!(wordless_record)`.
pub fn fleet_record(row: &dyn DatabaseRow) -> Result<FleetRecord> {
    let mut columns = Columns::new(row, "audit_records");
    Ok(FleetRecord {
        agent: columns.id()?,
        agent_name: columns.text()?,
        record: record_with(&mut columns, |_| Ok(()))?,
    })
}

/// The entries of the log over all heads from the one at `from` on, where each has its place.
///
/// # Errors
/// [`Error::Inconsistent`] where one is missing.
pub fn leaves_from(from: u64, placed: Vec<(u64, LeafRow)>) -> Result<Vec<LeafRow>> {
    // Entries are known by their position in the result: a missing one must not move the others.
    let in_place = |(expected, (position, leaf)): (u64, (u64, LeafRow))| {
        if position == expected {
            return Ok(leaf);
        }
        let problem = format!("row {expected} is missing");
        Err(Error::inconsistent("log_leaves", problem))
    };
    (from..).zip(placed).map(in_place).collect()
}

/// Reads from when on waiting messages are due, and how many attempts at them failed.
pub fn message_schedule(row: &dyn DatabaseRow) -> Result<TranscriptRow> {
    let mut columns = Columns::new(row, "transcripts");
    Ok(TranscriptRow {
        due_at: columns.optional_time()?,
        failures: columns.small_count()?,
        ..TranscriptRow::default()
    })
}

fn transcript(row: &dyn DatabaseRow) -> Result<()> {
    let mut columns = Columns::new(row, "transcripts");
    columns.scope()?;
    columns.optional_time()?;
    columns.optional_time()?;
    columns.count()?;
    columns.small_count().map(drop)
}

/// The columns of one row, read from left to right; the first one is the row's key.
pub struct Columns<'row> {
    row: &'row dyn DatabaseRow,
    table: &'static str,
    next: usize,
}

impl<'row> Columns<'row> {
    /// Of a row of that table.
    pub fn new(row: &'row dyn DatabaseRow, table: &'static str) -> Self {
        Self {
            row,
            table,
            next: 0,
        }
    }

    /// That the row is not as any version of Memoir writes it.
    fn wrong(&self, problem: &str) -> Error {
        let key = match self.row.value(0) {
            Ok(ColumnValue::Integer(number)) => format!("row {number}"),
            Ok(ColumnValue::Bytes(bytes)) => match (bytes.try_into(), bytes.len()) {
                // The row may be of any table: all identifiers are written in the form of `AgentId`.
                (Ok(bytes), _) => format!("row {}", AgentId::from_bytes(bytes)),
                (Err(_), 32) => format!("row {}", HEXLOWER.encode(bytes)),
                _ => "a row without an identifier".to_owned(),
            },
            // The value itself is not shown: a text in this place may hold private words.
            _ => "a row without a key".to_owned(),
        };
        Error::inconsistent(self.table, format!("{key} {problem}"))
    }

    /// That the column last read is not as any version of Memoir writes it.
    fn unexpected(&self, problem: &str) -> Error {
        let at = self.next - 1;
        match self.row.name(at) {
            Some(name) => self.wrong(&format!("has a `{name}` that {problem}")),
            None => self.wrong(&format!("has no column {at}")),
        }
    }

    fn value(&mut self) -> Result<ColumnValue<'row>> {
        let value = self.row.value(self.next)?;
        self.next += 1;
        Ok(value)
    }

    fn required<T>(&self, value: Option<T>) -> Result<T> {
        value.ok_or_else(|| self.unexpected("is missing"))
    }

    /// An integer or nothing.
    pub fn optional_integer(&mut self) -> Result<Option<i64>> {
        match self.value()? {
            ColumnValue::Integer(value) => Ok(Some(value)),
            ColumnValue::Null => Ok(None),
            _ => Err(self.unexpected("is no integer")),
        }
    }

    /// A count or nothing.
    pub fn optional_count(&mut self) -> Result<Option<u64>> {
        match self.optional_integer()? {
            Some(value) => u64::try_from(value)
                .map(Some)
                .map_err(|_| self.unexpected("is negative")),
            None => Ok(None),
        }
    }

    /// A count.
    pub fn count(&mut self) -> Result<u64> {
        let value = self.optional_count()?;
        self.required(value)
    }

    /// The number of a memory.
    fn number(&mut self) -> Result<Number> {
        self.count().map(Number)
    }

    /// A count of 32 bits.
    pub fn small_count(&mut self) -> Result<u32> {
        let value = self.count()?;
        u32::try_from(value).map_err(|_| self.unexpected("is too large"))
    }

    /// A count of rows, and the sum of their tokens.
    pub fn count_and_tokens(&mut self) -> Result<CountAndTokens> {
        Ok(CountAndTokens {
            count: self.count()?,
            tokens: self.count()?,
        })
    }

    /// Yes or no.
    pub fn flag(&mut self) -> Result<bool> {
        match self.value()? {
            ColumnValue::Integer(0) => Ok(false),
            ColumnValue::Integer(1) => Ok(true),
            _ => Err(self.unexpected("is neither 0 nor 1")),
        }
    }

    /// A time or nothing.
    pub fn optional_time(&mut self) -> Result<Option<Timestamp>> {
        match self.optional_integer()? {
            Some(value) => Timestamp::from_microseconds(value)
                .map(Some)
                .ok_or_else(|| self.unexpected("lies outside of the years 1 to 9999")),
            None => Ok(None),
        }
    }

    /// A time.
    pub fn time(&mut self) -> Result<Timestamp> {
        let value = self.optional_time()?;
        self.required(value)
    }

    fn optional_str(&mut self) -> Result<Option<&'row str>> {
        match self.value()? {
            ColumnValue::Text(bytes) => std::str::from_utf8(bytes)
                .map(Some)
                .map_err(|_| self.unexpected("is not UTF-8")),
            ColumnValue::Null => Ok(None),
            _ => Err(self.unexpected("is no text")),
        }
    }

    fn optional_text(&mut self) -> Result<Option<String>> {
        Ok(self.optional_str()?.map(str::to_owned))
    }

    /// A text.
    pub fn text(&mut self) -> Result<String> {
        let value = self.optional_text()?;
        self.required(value)
    }

    /// One of the wire names of `T`, or nothing.
    fn optional_word<T: Deserialize<'row>>(&mut self) -> Result<Option<T>> {
        let Some(name) = self.optional_str()? else {
            return Ok(None);
        };
        T::deserialize(StrDeserializer::<serde::de::value::Error>::new(name))
            .map(Some)
            .map_err(|_| self.unexpected("is no known name"))
    }

    /// One of the wire names of `T`.
    pub fn word<T: Deserialize<'row>>(&mut self) -> Result<T> {
        let value = self.optional_word()?;
        self.required(value)
    }

    fn optional_blob(&mut self) -> Result<Option<&'row [u8]>> {
        match self.value()? {
            ColumnValue::Bytes(bytes) => Ok(Some(bytes)),
            ColumnValue::Null => Ok(None),
            _ => Err(self.unexpected("is no blob")),
        }
    }

    fn optional_bytes<const LENGTH: usize>(&mut self) -> Result<Option<[u8; LENGTH]>> {
        match self.optional_blob()? {
            Some(bytes) => bytes
                .try_into()
                .map(Some)
                .map_err(|_| self.unexpected(&format!("is not of {LENGTH} bytes"))),
            None => Ok(None),
        }
    }

    /// That many bytes.
    pub fn bytes<const LENGTH: usize>(&mut self) -> Result<[u8; LENGTH]> {
        let value = self.optional_bytes()?;
        self.required(value)
    }

    fn optional_id<Id: From<[u8; 16]>>(&mut self) -> Result<Option<Id>> {
        Ok(self.optional_bytes::<16>()?.map(Id::from))
    }

    /// An identifier.
    pub fn id<Id: From<[u8; 16]>>(&mut self) -> Result<Id> {
        self.bytes::<16>().map(Id::from)
    }

    /// An agent's identifier and its account's.
    pub fn scope(&mut self) -> Result<AgentScope> {
        let (agent, account) = (self.id()?, self.id()?);
        Ok(AgentScope { account, agent })
    }

    /// Stored text.
    pub fn stored_text(&mut self) -> Result<StoredText> {
        let value = self.optional_blob()?;
        self.required(value).map(|bytes| StoredText(bytes.to_vec()))
    }

    /// A document: `version, open, sealed`.
    pub fn document(&mut self) -> Result<Document> {
        let document = self.optional_document()?;
        self.required(document)
    }

    /// A document, or nothing in all three of its columns.
    fn optional_document(&mut self) -> Result<Option<Document>> {
        let (version, open, sealed) = (
            self.optional_count()?,
            self.optional_text()?,
            self.optional_blob()?,
        );
        match (version, open, sealed) {
            (Some(version), Some(open), Some(sealed)) => Ok(Some(Document {
                version,
                open,
                sealed: StoredText(sealed.to_vec()),
            })),
            (None, None, None) => Ok(None),
            _ => Err(self.wrong("has not all of `version`, `open` and `sealed`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::TABLES;

    #[test]
    fn the_rows_of_every_table_have_a_reader() {
        let names = |names: &mut dyn Iterator<Item = &'static str>| {
            let mut names: Vec<_> = names.collect();
            names.sort_unstable();
            names
        };
        assert_eq!(
            names(&mut READERS.iter().map(|(table, ..)| *table)),
            names(&mut TABLES.iter().map(|table| table.name))
        );
    }
}
