//! Rows of SQLite, as what checks them reads them.

use memoir_store::{Error, Result, decode::ColumnValue};
use rusqlite::types::ValueRef;

pub(crate) use memoir_store::{
    access_columns, account_columns, agent_columns, archive_link_columns, context_mark_columns,
    decode::DatabaseRow,
    decode::{
        Columns, READERS, access_request, account, agent, archive_link, bearer, context_mark,
        fleet_record, leaf, memory, message, prompts, record, reply, row_counts, session, summary,
        token, user, vector, vector_model, waiting_session, word_index,
    },
    leaf_columns, memory_columns, message_columns, record_columns, reply_columns,
    row_count_columns, session_columns, summary_columns, token_columns, user_columns,
    vector_columns, word_index_columns, wordless_record_columns,
};

/// A row of a result.
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
