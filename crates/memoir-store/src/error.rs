//! Errors of a store. No message holds an agent's words.

use crate::Commit;

/// A store's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    /// The agent changed since the version that the decision was made on: load and decide again.
    #[error("the agent changed meanwhile")]
    Conflict,
    /// Another agent or user of the account, or another account, has the name already.
    #[error("the name is taken")]
    NameTaken,
    /// The request that makes the change has made it already, in another attempt under its idempotency key.
    #[error(
        "the request was executed meanwhile, in another attempt with the same key; nothing was changed"
    )]
    Repeated,
    #[error("another session of the agent is running")]
    SessionRunning,
    #[error(
        "the database was written by a newer version of Memoir (format {found}; this one knows up to {known})"
    )]
    Newer { found: i64, known: i64 },
    #[error("`{0}` is not a database of Memoir")]
    NotADatabase(String),
    #[error("cannot open the database `{location}`: {problem}")]
    Open { location: String, problem: String },
    /// The server of the database cannot be reached, or does not respond. Nothing was changed.
    #[error("cannot open the database `{location}`: {problem}")]
    Unreachable { location: String, problem: String },
    #[error("the database is read-only; nothing was changed")]
    ReadOnly,
    /// The file is not whole: a part of it was cut off or overwritten by something other than the database.
    #[error("the database's file is damaged ({0}); nothing was changed")]
    Damaged(String),
    #[error("the disk is full; nothing was changed")]
    Full,
    #[error("the database is locked by another process; nothing was changed")]
    Busy,
    /// The file was removed or exchanged while it was open: writes would be lost.
    #[error(
        "the database `{0}`, or the log beside it, was moved or replaced while it was in use; nothing was changed; put it back, or start again"
    )]
    Replaced(String),
    /// A row that no version of Memoir writes.
    #[error("the database is inconsistent: table `{table}`, {problem}")]
    Inconsistent {
        table: &'static str,
        /// Which row and what is wrong with it, by number.
        problem: String,
    },
    /// The response to a commit was lost: the commit may be written, be written later, or fail. To learn the outcome,
    /// the caller writes the very same commit again: it is written now, or there is a conflict, and then the record at
    /// its place in the log, or else the row of its session, shows whose it is. Of decisions that were written together
    /// it is the last one, which is not to be written alone: instead, another commit on their first version.
    #[error("the response of the database was lost: whether the change was written is not known")]
    OutcomeUnknown(Box<Commit>),
    /// The connection broke while something other than a decision was written: it may be written or not.
    #[error(
        "the connection to the database broke: whether the change was written is not known ({0})"
    )]
    Lost(String),
    /// The source of decisions that belong together stopped before the last one.
    #[error("the decisions to be written together are incomplete; nothing was changed")]
    Unfinished,
    #[error("the store is closed")]
    Closed,
    /// Anything else that the driver reports.
    #[error("the database failed: {0}")]
    Driver(String),
}

impl Error {
    /// A row that no version of Memoir writes.
    pub fn inconsistent(table: &'static str, problem: impl Into<String>) -> Self {
        Self::Inconsistent {
            table,
            problem: problem.into(),
        }
    }
}
