//! Converts SQLite's errors to those of a store.
//!
//! Messages of SQLite name tables and columns, never values; messages of rusqlite that could hold a
//! value are not passed on.

use memoir_store::Error;
use rusqlite::{ErrorCode, ffi};

/// What stops a query: SQLite, or something that the store itself found.
#[derive(Debug, derive_more::From)]
pub(crate) enum QueryFault {
    Sqlite(rusqlite::Error),
    Store(Error),
}

pub(crate) type Result<T, E = QueryFault> = std::result::Result<T, E>;

impl From<QueryFault> for Error {
    fn from(fault: QueryFault) -> Self {
        match fault {
            QueryFault::Store(error) => error,
            QueryFault::Sqlite(error) => driver(&error),
        }
    }
}

/// A row that cannot be right.
pub(crate) fn inconsistent(table: &'static str, problem: impl Into<String>) -> QueryFault {
    Error::inconsistent(table, problem).into()
}

/// Gives a broken constraint its meaning for the table written. What a unique index refuses differs; another row with
/// the same primary key is always a conflict.
pub(crate) fn constraint(error: rusqlite::Error, table: &'static str, unique: Error) -> QueryFault {
    match error.sqlite_extended_error_code() {
        Some(ffi::SQLITE_CONSTRAINT_UNIQUE) => unique.into(),
        Some(ffi::SQLITE_CONSTRAINT_PRIMARYKEY) => Error::Conflict.into(),
        Some(ffi::SQLITE_CONSTRAINT_FOREIGNKEY) => {
            inconsistent(table, "a row refers to another one that does not exist")
        }
        _ => error.into(),
    }
}

/// SQLite's own word for what happened.
pub(crate) fn message(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(error, Some(message)) => {
            format!("{message} (SQLite code {})", error.extended_code)
        }
        rusqlite::Error::SqliteFailure(error, None) => error.to_string(),
        // A query of this crate that is wrong; SQL has no values in it.
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        _ => "an unexpected result of the driver".to_owned(),
    }
}

pub(crate) fn code(error: &rusqlite::Error) -> Option<ErrorCode> {
    error.sqlite_error_code()
}

fn driver(error: &rusqlite::Error) -> Error {
    match code(error) {
        Some(ErrorCode::ReadOnly) => Error::ReadOnly,
        Some(ErrorCode::DiskFull) => Error::Full,
        Some(ErrorCode::DatabaseCorrupt) => Error::Damaged(message(error)),
        // `Busy` is another process with the lock; `Locked` can only be this very connection, in
        // the middle of a statement on the same table.
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy,
        _ => Error::Driver(message(error)),
    }
}

/// The same error once more, for each caller of a transaction that failed as a whole.
pub(crate) fn again(error: &Error) -> Error {
    match error {
        Error::ReadOnly => Error::ReadOnly,
        Error::Damaged(problem) => Error::Damaged(problem.clone()),
        Error::Full => Error::Full,
        Error::Busy => Error::Busy,
        Error::Replaced(path) => Error::Replaced(path.clone()),
        Error::Driver(message) => Error::Driver(message.clone()),
        // Its variant describes the caller's own change, which is wrong for the others in the transaction.
        other => Error::Driver(format!("the transaction was lost: {other}")),
    }
}
