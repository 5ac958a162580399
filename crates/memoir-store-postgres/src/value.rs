//! How values are given to statements, and how rows are read.

use bytes::BytesMut;
pub(crate) use memoir_store::encode::count;
use memoir_store::{
    Error, Result, Value as One,
    decode::{ColumnValue, DatabaseRow},
};
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

/// A value of a statement, or a list of them: its type goes with it, so that nothing is asked of the database before it
/// is sent.
#[derive(Debug)]
pub(crate) enum Value<'value> {
    One(One<'value>),
    Integers(Vec<Option<i64>>),
    Texts(Vec<Option<&'value str>>),
    ByteLists(Vec<Option<&'value [u8]>>),
    Flags(Vec<bool>),
}

impl Value<'_> {
    /// What PostgreSQL calls its type.
    pub(crate) fn kind(&self) -> Type {
        match self {
            Self::One(One::Integer(_)) => Type::INT8,
            Self::One(One::Text(_)) => Type::TEXT,
            // JSON is kept as bytes, since they are what a seal is bound to.
            Self::One(One::Json(_) | One::Bytes(_)) => Type::BYTEA,
            Self::One(One::Flag(_)) => Type::BOOL,
            Self::Integers(_) => Type::INT8_ARRAY,
            Self::Texts(_) => Type::TEXT_ARRAY,
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
            Self::One(One::Integer(value)) => value.to_sql(kind, out),
            Self::One(One::Text(value)) => value.to_sql(kind, out),
            Self::One(One::Json(value)) => value.map(str::as_bytes).to_sql(kind, out),
            Self::One(One::Bytes(value)) => value.to_sql(kind, out),
            Self::One(One::Flag(value)) => value.to_sql(kind, out),
            Self::Integers(value) => value.to_sql(kind, out),
            Self::Texts(value) => value.to_sql(kind, out),
            Self::ByteLists(value) => value.to_sql(kind, out),
            Self::Flags(value) => value.to_sql(kind, out),
        }
    }

    fn accepts(_kind: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// What a statement can be given.
pub(crate) trait IntoValue<'value> {
    fn into_value(self) -> Value<'value>;
}

impl<'value> IntoValue<'value> for Value<'value> {
    fn into_value(self) -> Self {
        self
    }
}

impl<'value, V> IntoValue<'value> for V
where
    One<'value>: From<V>,
{
    fn into_value(self) -> Value<'value> {
        Value::One(self.into())
    }
}

/// The values of a statement, in order.
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        vec![$($crate::value::IntoValue::into_value($value)),*]
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

/// The columns of all rows, each a list of values.
pub(crate) fn columns<'row, R, const N: usize>(
    rows: &'row [R],
    values: impl Fn(&'row R) -> Result<[One<'row>; N]>,
) -> Result<[Value<'row>; N]> {
    let rows = rows.iter().map(values).collect::<Result<Vec<_>>>()?;
    Ok(std::array::from_fn(|at| {
        list(rows.iter().map(|row| row[at]))
    }))
}

/// The values of a column.
pub(crate) fn list<'value>(values: impl IntoIterator<Item = One<'value>>) -> Value<'value> {
    let mut column = None;
    for value in values {
        match (value, &mut column) {
            (One::Integer(one), Some(Value::Integers(all))) => all.push(one),
            (One::Text(one), Some(Value::Texts(all))) => all.push(one),
            (One::Json(one), Some(Value::ByteLists(all))) => all.push(one.map(str::as_bytes)),
            (One::Bytes(one), Some(Value::ByteLists(all))) => all.push(one),
            (One::Flag(one), Some(Value::Flags(all))) => all.extend(one),
            (One::Integer(one), _) => column = Some(Value::Integers(vec![one])),
            (One::Text(one), _) => column = Some(Value::Texts(vec![one])),
            (One::Json(one), _) => column = Some(Value::ByteLists(vec![one.map(str::as_bytes)])),
            (One::Bytes(one), _) => column = Some(Value::ByteLists(vec![one])),
            (One::Flag(one), _) => column = Some(Value::Flags(one.into_iter().collect())),
        }
    }
    // No rows, no type: no statement is made of none, so that any type would do.
    column.unwrap_or(Value::Integers(Vec::new()))
}

/// A column of all rows.
pub(crate) fn column<'row, R, V>(rows: &'row [R], value: impl Fn(&'row R) -> V) -> Value<'row>
where
    One<'row>: From<V>,
{
    list(rows.iter().map(|row| value(row).into()))
}

/// A search value, if a column may hold it at all: text of PostgreSQL has no NUL.
pub(crate) fn sought(text: &str) -> &str {
    match text.contains('\0') {
        // No name holds a control character.
        true => "\u{1}",
        false => text,
    }
}

/// Values that any database may be given.
pub(crate) fn given<'value>(values: &[One<'value>]) -> Vec<Value<'value>> {
    let values = values.iter().map(|value| match *value {
        One::Text(text) => One::Text(text.map(sought)),
        other => other,
    });
    values.map(Value::One).collect()
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
