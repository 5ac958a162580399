//! Rows of SQLite, as what checks them reads them.

use memoir_store::{Error, Result};
use rusqlite::types::ValueRef;

pub(crate) use memoir_store::decode::*;

pub(crate) struct SqliteRow<'row, 'statement>(pub(crate) &'row rusqlite::Row<'statement>);

impl DatabaseRow for SqliteRow<'_, '_> {
    fn value(&self, at: usize) -> Result<ColumnValue<'_>> {
        match self.0.get_ref(at) {
            Ok(ValueRef::Null) => Ok(ColumnValue::Null),
            Ok(ValueRef::Integer(value)) => Ok(ColumnValue::Integer(value)),
            Ok(ValueRef::Text(bytes)) => Ok(ColumnValue::Text(bytes)),
            Ok(ValueRef::Blob(bytes)) => Ok(ColumnValue::Bytes(bytes)),
            Ok(ValueRef::Real(_)) => Ok(ColumnValue::Other),
            Err(_) => Err(Error::Driver(format!("a result has no column {at}"))),
        }
    }

    fn name(&self, at: usize) -> Option<&str> {
        self.0.as_ref().column_name(at).ok()
    }
}
