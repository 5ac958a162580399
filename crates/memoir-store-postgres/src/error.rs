//! Converts PostgreSQL's errors to those of a store.
//!
//! The database's message and code are passed on; its details, which hold values of rows, are not.

use memoir_store::{Error, tables::TABLES};
use tokio_postgres::error::{DbError, Severity, SqlState};

/// The place of what begins a transaction, before the first of its statements.
pub(crate) const OPENING: usize = usize::MAX;

/// What stopped the statements of a transaction.
#[derive(Debug, derive_more::From)]
pub(crate) enum StatementFault {
    /// Nothing reached the database, or the store itself found something.
    #[from]
    Store(Error),
    /// The database refused the statement at that place: nothing was written.
    Refused(usize, Box<DbError>),
    /// The connection broke: the outcome of the transaction is unknown.
    Lost(String),
}

impl StatementFault {
    /// What the driver reports for the statement at that place.
    pub(crate) fn of(at: usize, error: &tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            // A connection that is ended by the database's administrator may have been ended after the commit. Class 08
            // of the standard's codes is about a connection, such as a pooler's own to the server.
            Some(refusal) if !is_end(refusal) && !is_of(&["08"], refusal.code()) => {
                Self::Refused(at, Box::new(refusal.clone()))
            }
            Some(refusal) => Self::Lost(message(refusal)),
            // No response of the database: the connection broke, or the response was invalid. Whether a commit that was
            // sent was carried out is unknown.
            None => Self::Lost(connection(error)),
        }
    }

    /// The constraint or index that a row would have broken.
    pub(crate) fn broken(&self) -> Option<&str> {
        match self {
            Self::Refused(_, refusal) => refusal.constraint(),
            _ => None,
        }
    }

    /// The table whose row was refused, or was not as a function of the database expects it.
    pub(crate) fn table(&self) -> Option<&str> {
        match self {
            Self::Refused(_, refusal) => refusal.table(),
            _ => None,
        }
    }

    /// Whether a row was to have a key that another one has.
    pub(crate) fn is_taken(&self) -> bool {
        matches!(self, Self::Refused(_, refusal) if *refusal.code() == SqlState::UNIQUE_VIOLATION)
    }

    /// Whether concurrent writes conflict with a transaction that must not read them.
    pub(crate) fn is_serialization(&self) -> bool {
        matches!(self, Self::Refused(_, refusal) if *refusal.code() == SqlState::T_R_SERIALIZATION_FAILURE)
    }

    /// Whether there was no room for it.
    pub(crate) fn is_full(&self) -> bool {
        matches!(self, Self::Refused(_, refusal) if *refusal.code() == SqlState::DISK_FULL)
    }

    /// Whether the statement at that place failed, on which all later ones depend.
    pub(crate) fn is_unmet(&self, place: usize) -> bool {
        matches!(self, Self::Refused(at, refusal)
            if *at == place && *refusal.code() == SqlState::DIVISION_BY_ZERO)
    }
}

impl From<StatementFault> for Error {
    fn from(fault: StatementFault) -> Self {
        match fault {
            StatementFault::Store(error) => error,
            StatementFault::Refused(_, refusal) => refused(&refusal),
            StatementFault::Lost(problem) => Self::Lost(problem),
        }
    }
}

/// The codes, or their classes, with which a server refuses what it may do the next time: others write the same rows
/// (40001, 40P01) or lock them (55P03), it lacks resources (53), an administrator or a limit of time stopped it, or it
/// starts or ends (57), or its system failed (58).
const RETRYABLE: [&str; 6] = ["40001", "40P01", "53", "55P03", "57", "58"];

fn refused(refusal: &DbError) -> Error {
    let code = refusal.code();
    if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        Error::ReadOnly
    } else if *code == SqlState::DISK_FULL {
        Error::Full
    } else if is_of(&RETRYABLE, code) {
        Error::Busy
    } else if *code == SqlState::FOREIGN_KEY_VIOLATION {
        let table = TABLES
            .iter()
            .find(|table| refusal.table() == Some(table.name));
        Error::inconsistent(
            table.map_or("of the database", |table| table.name),
            "a row refers to another one that does not exist",
        )
    } else {
        Error::Driver(message(refusal))
    }
}

/// Whether a code is one of these, or of one of these classes, its first two characters.
fn is_of(codes: &[&str], code: &SqlState) -> bool {
    codes.iter().any(|one| code.code().starts_with(one))
}

fn is_end(refusal: &DbError) -> bool {
    match refusal.parsed_severity() {
        Some(severity) => matches!(severity, Severity::Fatal | Severity::Panic),
        // PgBouncer also reports by an error that the server's connection broke. It has only the word that the server
        // may write in another language.
        None => matches!(refusal.severity(), "FATAL" | "PANIC"),
    }
}

fn message(refusal: &DbError) -> String {
    format!(
        "{} (PostgreSQL code {})",
        // The message and not its detail: a detail of a broken constraint holds the values of the row.
        refusal.message(),
        refusal.code().code()
    )
}

/// The fault of a connection, without the data that were sent over it.
pub(crate) fn connection(error: &tokio_postgres::Error) -> String {
    if let Some(refusal) = error.as_db_error() {
        return message(refusal);
    }
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
