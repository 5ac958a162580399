//! How values are given to statements, and how rows are read.

use bytes::BytesMut;
use memoir_domain::Timestamp;
pub(crate) use memoir_store::encode::{count, optional_count};
use memoir_store::{
    Error, Result,
    decode::{ColumnValue, DatabaseRow},
};
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

/// A value of a statement: its type goes with it, so that nothing is asked of the database before it is sent.
#[derive(Debug)]
pub(crate) enum Value<'value> {
    Integer(Option<i64>),
    Text(Option<&'value str>),
    Bytes(Option<&'value [u8]>),
    Flag(Option<bool>),
    Integers(Vec<Option<i64>>),
    Texts(Vec<Option<&'value str>>),
    /// No list of them.
    NoTexts,
    ByteLists(Vec<Option<&'value [u8]>>),
    Flags(Vec<bool>),
}

impl Value<'_> {
    /// What PostgreSQL calls its type.
    pub(crate) fn kind(&self) -> Type {
        match self {
            Self::Integer(_) => Type::INT8,
            Self::Text(_) => Type::TEXT,
            Self::Bytes(_) => Type::BYTEA,
            Self::Flag(_) => Type::BOOL,
            Self::Integers(_) => Type::INT8_ARRAY,
            Self::Texts(_) | Self::NoTexts => Type::TEXT_ARRAY,
            Self::ByteLists(_) => Type::BYTEA_ARRAY,
            Self::Flags(_) => Type::BOOL_ARRAY,
        }
    }
}

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Integer(value) => value.to_sql(kind, out),
            Self::Text(value) => value.to_sql(kind, out),
            Self::Bytes(value) => value.to_sql(kind, out),
            Self::Flag(value) => value.to_sql(kind, out),
            Self::Integers(value) => value.to_sql(kind, out),
            Self::Texts(value) => value.to_sql(kind, out),
            Self::NoTexts => Ok(IsNull::Yes),
            Self::ByteLists(value) => value.to_sql(kind, out),
            Self::Flags(value) => value.to_sql(kind, out),
        }
    }

    fn accepts(_kind: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

macro_rules! values_from {
    ($($kind:ty => |$value:ident| $made:expr;)*) => {
        $(impl<'value> From<$kind> for Value<'value> {
            fn from($value: $kind) -> Self {
                $made
            }
        })*
    };
}

values_from! {
    i64 => |value| Self::Integer(Some(value));
    u32 => |value| Self::Integer(Some(value.into()));
    Option<i64> => |value| Self::Integer(value);
    Timestamp => |value| Self::Integer(Some(value.microseconds()));
    Option<Timestamp> => |value| Self::Integer(value.map(Timestamp::microseconds));
    bool => |value| Self::Flag(Some(value));
    Option<bool> => |value| Self::Flag(value);
    &'value str => |value| Self::Text(Some(value));
    Option<&'value str> => |value| Self::Text(value);
    &'value [u8] => |value| Self::Bytes(Some(value));
    &'value [u8; 16] => |value| Self::Bytes(Some(value));
    &'value [u8; 32] => |value| Self::Bytes(Some(value));
    Option<&'value [u8; 16]> => |value| Self::Bytes(value.map(|value| &value[..]));
    Option<&'value [u8]> => |value| Self::Bytes(value);
}

/// The values of a statement, in order.
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        vec![$($crate::value::Value::from($value)),*]
    };
}

/// The agent and its account, and the values behind them: those of most statements.
macro_rules! scoped {
    ($scope:expr $(, $value:expr)* $(,)?) => {
        values![$scope.agent.as_bytes(), $scope.account.as_bytes() $(, $value)*]
    };
}

/// That the agent `$1` is one of the account `$2`: asked with everything that knows the agent only.
macro_rules! is_theirs {
    () => {
        " EXISTS (SELECT 1 FROM agents WHERE agents.id = $1 AND agents.account_id = $2) "
    };
}

/// The same, and that it is not erased.
macro_rules! lives {
    () => {
        " EXISTS (SELECT 1 FROM agents \
             WHERE agents.id = $1 AND agents.account_id = $2 AND erased_at IS NULL) "
    };
}

/// A list of values for the rows of a statement: one column of all of them.
pub(crate) fn column<'row, R: 'row, V>(rows: &'row [R], value: impl Fn(&'row R) -> V) -> Value<'row>
where
    Value<'row>: From<V>,
{
    list(rows.iter().map(|row| Value::from(value(row))))
}

/// The same of values.
pub(crate) fn list<'value>(values: impl IntoIterator<Item = Value<'value>>) -> Value<'value> {
    let mut column = None;
    for value in values {
        match (value, &mut column) {
            (Value::Integer(one), Some(Value::Integers(all))) => all.push(one),
            (Value::Text(one), Some(Value::Texts(all))) => all.push(one),
            (Value::Bytes(one), Some(Value::ByteLists(all))) => all.push(one),
            (Value::Flag(Some(one)), Some(Value::Flags(all))) => all.push(one),
            (Value::Integer(one), _) => column = Some(Value::Integers(vec![one])),
            (Value::Text(one), _) => column = Some(Value::Texts(vec![one])),
            (Value::Bytes(one), _) => column = Some(Value::ByteLists(vec![one])),
            (Value::Flag(one), _) => column = Some(Value::Flags(one.into_iter().collect())),
            (list, _) => return list,
        }
    }
    // No rows, no type: no statement is made of none, so that any type would do.
    column.unwrap_or(Value::Integers(Vec::new()))
}

pub(crate) fn counts<R>(
    rows: &[R],
    table: &'static str,
    name: &str,
    value: impl Fn(&R) -> u64,
) -> Result<Value<'static>> {
    optional_counts(rows, table, name, |row| Some(value(row)))
}

/// Counts of all rows, which some of them need not have.
pub(crate) fn optional_counts<R>(
    rows: &[R],
    table: &'static str,
    name: &str,
    value: impl Fn(&R) -> Option<u64>,
) -> Result<Value<'static>> {
    let values = rows.iter().map(value);
    let counts = values.map(|value| optional_count(value, table, name));
    Ok(Value::Integers(counts.collect::<Result<_>>()?))
}

/// A search value, if a column may hold it at all: text of PostgreSQL has no NUL.
pub(crate) fn sought(text: &str) -> &str {
    match text.contains('\0') {
        // No name holds a control character.
        true => "\u{1}",
        false => text,
    }
}

pub(crate) struct PostgresRow<'row>(pub(crate) &'row tokio_postgres::Row);

impl DatabaseRow for PostgresRow<'_> {
    fn value(&self, at: usize) -> Result<ColumnValue<'_>> {
        let fault = |_| Error::Driver(format!("a result has no column {at} of a known type"));
        let Some(column) = self.0.columns().get(at) else {
            return Err(Error::Driver(format!("a result has no column {at}")));
        };
        let found = match *column.type_() {
            Type::BYTEA => {
                let bytes: Option<&[u8]> = self.0.try_get(at).map_err(fault)?;
                // JSON is kept as bytes, since they are what a seal is bound to.
                match column.name() {
                    "open" | "facts" => bytes.map(ColumnValue::Text),
                    _ => bytes.map(ColumnValue::Bytes),
                }
            }
            Type::INT8 => {
                let value: Option<i64> = self.0.try_get(at).map_err(fault)?;
                value.map(ColumnValue::Integer)
            }
            Type::BOOL => {
                let value: Option<bool> = self.0.try_get(at).map_err(fault)?;
                value.map(|value| ColumnValue::Integer(value.into()))
            }
            Type::TEXT => {
                let value: Option<&str> = self.0.try_get(at).map_err(fault)?;
                value.map(|value| ColumnValue::Text(value.as_bytes()))
            }
            _ => Some(ColumnValue::Other),
        };
        Ok(found.unwrap_or(ColumnValue::Null))
    }

    fn name(&self, at: usize) -> Option<&str> {
        self.0.columns().get(at).map(tokio_postgres::Column::name)
    }
}

pub(crate) fn all<T>(
    rows: &[tokio_postgres::Row],
    read: impl Fn(&dyn DatabaseRow) -> Result<T>,
) -> Result<Vec<T>> {
    rows.iter().map(|row| read(&PostgresRow(row))).collect()
}

pub(crate) fn first<T>(
    rows: &[tokio_postgres::Row],
    read: impl FnOnce(&dyn DatabaseRow) -> Result<T>,
) -> Result<Option<T>> {
    rows.first().map(|row| read(&PostgresRow(row))).transpose()
}
