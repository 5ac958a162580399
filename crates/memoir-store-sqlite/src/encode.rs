//! How values are written.

use memoir_domain::{Timestamp, memory::Number};
use memoir_store::Value;
pub(crate) use memoir_store::encode::*;
use rusqlite::{
    Params, ToSql, params_from_iter,
    types::{self, ToSqlOutput, ValueRef},
};

use crate::error::{Result, inconsistent};

pub(crate) fn number(value: Number, table: &'static str) -> Result<i64> {
    Ok(count(value.0, table, "number")?)
}

pub(crate) fn time(value: Option<Timestamp>) -> Option<i64> {
    value.map(Timestamp::microseconds)
}

/// A value as SQLite binds it, without copying it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound<'value>(pub(crate) Value<'value>);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let value = match self.0 {
            Value::Integer(value) => value.map(ValueRef::Integer),
            Value::Flag(flag) => flag.map(|flag| ValueRef::Integer(flag.into())),
            Value::Text(text) | Value::Json(text) => {
                text.map(|text| ValueRef::Text(text.as_bytes()))
            }
            // Always as a blob, whatever the bytes: the table is `STRICT`, and a reader that found text
            // would refuse the row.
            Value::Bytes(bytes) => bytes.map(ValueRef::Blob),
        };
        Ok(ToSqlOutput::Borrowed(value.unwrap_or(ValueRef::Null)))
    }
}

/// The values of a row of the agent, which is the first parameter.
pub(crate) fn of_agent<'value, const N: usize>(
    agent: &'value [u8; 16],
    row: [Value<'value>; N],
) -> impl Params + Clone {
    let values = [Value::from(agent)].into_iter().chain(row);
    params_from_iter(values.map(Bound))
}

/// Values that may go to another thread.
pub(crate) fn owned(values: &[Value<'_>]) -> impl Params + Clone + Send + use<> {
    params_from_iter(owned_values(values))
}

/// The same, to be bound as often as needed without a further copy.
pub(crate) fn owned_values(values: &[Value<'_>]) -> Vec<types::Value> {
    let values = values.iter().map(|value| match *value {
        Value::Integer(value) => types::Value::from(value),
        Value::Flag(flag) => flag.into(),
        Value::Text(text) | Value::Json(text) => text.map(str::to_owned).into(),
        Value::Bytes(bytes) => bytes.map(<[u8]>::to_vec).into(),
    });
    values.collect()
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
