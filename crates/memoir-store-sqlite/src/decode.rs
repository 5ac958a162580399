//! Rows of SQLite, as what checks them reads them.

use memoir_store::{Error, Result, decode::Value};
use rusqlite::types::ValueRef;

pub(crate) use memoir_store::{
    access_columns, account_columns, agent_columns,
    decode::Row,
    decode::{
        Columns, access_request, account, agent, bearer, fleet_record, leaf, memory, prompts,
        record, reply, session, token, user, vector, vector_model, waiting_session,
    },
    leaf_columns, memory_columns, record_columns, reply_columns, session_columns, token_columns,
    user_columns, vector_columns,
};

/// A row of an answer.
pub(crate) struct SqliteRow<'row, 'statement>(pub(crate) &'row rusqlite::Row<'statement>);

impl Row for SqliteRow<'_, '_> {
    fn value(&self, at: usize) -> Result<Value<'_>> {
        match self.0.get_ref(at) {
            Ok(ValueRef::Null) => Ok(Value::Null),
            Ok(ValueRef::Integer(value)) => Ok(Value::Integer(value)),
            Ok(ValueRef::Text(bytes)) => Ok(Value::Text(bytes)),
            Ok(ValueRef::Blob(bytes)) => Ok(Value::Bytes(bytes)),
            Ok(ValueRef::Real(_)) => Ok(Value::Other),
            Err(_) => Err(Error::Driver(format!("an answer has no column {at}"))),
        }
    }

    fn name(&self, at: usize) -> Option<&str> {
        self.0.as_ref().column_name(at).ok()
    }
}
