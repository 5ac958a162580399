//! How values are written.

use memoir_domain::{Timestamp, memory::Number};
use memoir_store::StoredText;
use rusqlite::{
    ToSql,
    types::{ToSqlOutput, ValueRef},
};

use crate::error::{Result, inconsistent};

/// A count, a size or a number: SQLite's integers are signed.
pub(crate) fn count(value: u64, table: &'static str, column: &str) -> Result<i64> {
    i64::try_from(value)
        .map_err(|_| inconsistent(table, format!("`{column}` is over {}", i64::MAX)))
}

/// A count that need not be there.
pub(crate) fn optional_count(
    value: Option<u64>,
    table: &'static str,
    column: &str,
) -> Result<Option<i64>> {
    value.map(|value| count(value, table, column)).transpose()
}

/// The number of a memory.
pub(crate) fn number(value: Number, table: &'static str) -> Result<i64> {
    count(value.0, table, "number")
}

/// A time that may be absent.
pub(crate) fn time(value: Option<Timestamp>) -> Option<i64> {
    value.map(Timestamp::microseconds)
}

/// Stored text, bound without copying it.
pub(crate) struct BoundText<'text>(pub(crate) &'text StoredText);

impl ToSql for BoundText<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        // Always as a blob, whatever the bytes: the table is `STRICT`, and a reader that found text
        // would refuse the row.
        Ok(ToSqlOutput::Borrowed(ValueRef::Blob(&self.0.0)))
    }
}

/// Checks that a statement wrote the one row that it was to write, and that nothing swallowed it.
pub(crate) fn one(written: usize, table: &'static str) -> Result<()> {
    if written == 1 {
        return Ok(());
    }
    Err(inconsistent(
        table,
        format!("{written} rows were written in place of one"),
    ))
}
