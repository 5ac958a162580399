//! Whole tables, row by row, for moving an installation from one store to another.
//!
//! Rows are moved as stored: none is opened or changed.

use async_trait::async_trait;

use crate::{Error, Result, decode};

/// How a column is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// A number, a size, or a time in microseconds since 1970.
    Integer,
    /// Yes or no; 1 or 0 in a [`Cell`].
    Flag,
    /// Text that is searched or sorted by.
    Text,
    /// Text whose bytes are what a seal is bound to.
    Json,
    /// Anything else.
    Bytes,
}

/// A table, which every store has under the same names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// How many of the first columns are its key, by which rows are sorted.
    pub key: usize,
    /// Its columns, all of them.
    pub columns: &'static [(&'static str, ColumnKind)],
}

impl Table {
    /// The names of the columns, separated by commas.
    pub fn names(&self) -> String {
        names(self.columns)
    }

    /// The statement for rows by key, at most `limit`; after a key of so many values, `$1` and so on, if there are any.
    pub fn select_after(&self, values: usize, limit: u32) -> String {
        let (name, names, key) = (self.name, self.names(), self.key_names());
        let wanted = match values {
            0 => String::new(),
            values => format!("WHERE ({key}) > ({})", places(values)),
        };
        format!("SELECT {names} FROM {name} {wanted} ORDER BY {key} LIMIT {limit}")
    }

    /// The statement for the key of the last row.
    pub fn select_last_key(&self) -> String {
        let (name, key) = (self.name, self.key_names());
        let backwards = key.replace(',', " DESC,");
        format!("SELECT {key} FROM {name} ORDER BY {backwards} DESC LIMIT 1")
    }

    fn key_names(&self) -> String {
        names(&self.columns[..self.key])
    }
}

/// The places of so many values: `$1, $2` and so on.
pub fn places(count: usize) -> String {
    let places: Vec<String> = (1..=count).map(|at| format!("${at}")).collect();
    places.join(", ")
}

fn names(columns: &[(&str, ColumnKind)]) -> String {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

/// The content of a column. Text of either kind is [`Cell::Text`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Cell {
    Null,
    Integer(i64),
    Text(String),
    Bytes(Vec<u8>),
}

/// The cells of a row, in the order of its table's columns.
pub type Cells = Vec<Cell>;

/// Reads the first columns of a row, so many.
///
/// # Errors
/// [`Error::Inconsistent`] where one is of a type that none has, or is no UTF-8.
pub fn cells(table: &Table, row: &dyn decode::DatabaseRow, columns: usize) -> Result<Cells> {
    (0..columns)
        .map(|at| match row.value(at)? {
            decode::ColumnValue::Null => Ok(Cell::Null),
            decode::ColumnValue::Integer(value) => Ok(Cell::Integer(value)),
            decode::ColumnValue::Bytes(bytes) => Ok(Cell::Bytes(bytes.to_vec())),
            decode::ColumnValue::Text(bytes) => match String::from_utf8(bytes.to_vec()) {
                Ok(text) => Ok(Cell::Text(text)),
                Err(_) => Err(Error::inconsistent(table.name, "a text is no UTF-8")),
            },
            decode::ColumnValue::Other => {
                Err(Error::inconsistent(table.name, "a type that none has"))
            }
        })
        .collect()
}

/// A store whose tables can be read and filled as they are.
#[async_trait]
pub trait Tables: Send + Sync {
    /// Rows of the table by its key, those after that key, at most `limit`.
    async fn rows_after(
        &self,
        table: &'static Table,
        after: Option<Cells>,
        limit: u32,
    ) -> Result<Vec<Cells>>;

    /// The key of the table's last row; `None` where it is empty.
    async fn last_key(&self, table: &'static Table) -> Result<Option<Cells>>;

    /// Enters rows, all of them or none; those that they refer to are there. They are on the disk when this returns.
    async fn put_rows(&self, table: &'static Table, rows: Vec<Cells>) -> Result<()>;
}

macro_rules! tables {
    ($($table:ident($keys:literal): $($column:ident $kind:ident),+;)+) => {
        /// Every table that is moved, those first that others refer to. Ends of sessions are entered for receivers
        /// where there are any, so that these come after the sessions.
        pub const TABLES: &[Table] = &[$(Table {
            name: stringify!($table),
            key: $keys,
            columns: &[$((stringify!($column), ColumnKind::$kind)),+],
        }),+];
    };
}

tables! {
    accounts(1): id Bytes, name Text, folded_name Text, created_at Integer;
    agents(1): id Bytes, account_id Bytes, name Text, folded_name Text, erased_at Integer, next_seq Integer,
        head Bytes, weekly_after Integer, due_at Integer, reflect_after Integer, budget_share Integer,
        removable_tokens Integer, archived_share Integer, version Integer, open Json, sealed Bytes;
    agent_prompts(1): agent_id Bytes, body Bytes;
    memories(2): agent_id Bytes, number Integer, version Integer, kind Text, tokens Integer, constitutional Flag,
        created_at Integer, updated_at Integer, discarded_at Integer, shredded_at Integer, under Integer, archived_at Integer,
        archived_by Text, is_summary Flag, core_seq Integer, recorded_at Integer, body Bytes;
    memory_vectors(3): agent_id Bytes, number Integer, model Text, version Integer, body Bytes;
    sessions(1): id Bytes, agent_id Bytes, account_id Bytes, state Text, driver Text, model Text,
        started_at Integer, ended_at Integer, lease_until Integer, lease_holder Integer, version Integer,
        open Json, sealed Bytes;
    audit_records(2): agent_id Bytes, seq Integer, recorded_at Integer, actor_kind Text, actor_name Text,
        action Text, session_id Bytes, memory Integer, body_version Integer, body_commitment Bytes, hash Bytes,
        facts Json, body Bytes;
    log_leaves(1): position Integer, agent_id Bytes, seq Integer, head Bytes, recorded_at Integer;
    tokens(1): id Bytes, account_id Bytes, agent_id Bytes, digest Bytes, created_at Integer,
        last_used_at Integer, revoked_at Integer, version Integer, open Json, sealed Bytes;
    log_summaries(2): agent_id Bytes, last_seq Integer, hash Bytes, body Bytes;
    word_indexes(2): agent_id Bytes, part Integer, version Integer, last_seq Integer, hash Bytes, body Bytes;
    transcript_messages(2): agent_id Bytes, seq Integer, digest Bytes, tokens Integer, received_at Integer,
        counted_bytes Integer, state Text, body Bytes, words_until Integer;
    transcripts(1): agent_id Bytes, account_id Bytes, due_at Integer, claimed_until Integer, claims Integer,
        failures Integer;
    access_requests(1): id Bytes, agent_id Bytes, state Text, requested_at Integer, expires_at Integer,
        version Integer, open Json, sealed Bytes;
    users(1): id Bytes, account_id Bytes, folded_name Text, created_at Integer, removed_at Integer,
        version Integer, open Json, sealed Bytes;
    replies(2): account_id Bytes, key_digest Bytes, request_digest Bytes, recorded_at Integer, version Integer,
        open Json, sealed Bytes;
    receivers(1): digest Bytes, seen_at Integer, closed_at Integer;
    deliveries(2): receiver Bytes, session_id Bytes, attempt Integer, due_at Integer;
}
