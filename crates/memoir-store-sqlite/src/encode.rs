//! How values are written.

use memoir_domain::{Timestamp, memory::Number};
use memoir_store::StoredText;
pub(crate) use memoir_store::encode::{before, count, optional_count};
use rusqlite::{
    ToSql,
    types::{ToSqlOutput, ValueRef},
};

use crate::error::{Result, inconsistent};

pub(crate) fn number(value: Number, table: &'static str) -> Result<i64> {
    Ok(count(value.0, table, "number")?)
}

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
