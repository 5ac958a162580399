//! Errors of keys. No message holds a key or an agent's words.

use std::path::Path;

use crate::KeyId;

/// The vault's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong with the master key or the key store.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error(
        "{location} holds no master key: expected 64 hexadecimal digits, or 32 bytes in base64"
    )]
    NotAMasterKey {
        /// The file or the variable.
        location: String,
    },
    #[error("`{path}` can be used by others than its owner (mode {mode:03o})")]
    Exposed {
        path: String,
        /// Its permissions, the lowest nine bits.
        mode: u32,
    },
    #[error(
        "the master key is lost: the key store `{store}` needs key {wanted}, and `{path}` does not exist"
    )]
    MasterKeyLost {
        path: String,
        store: String,
        wanted: KeyId,
    },
    #[error(
        "the wrong master key: the key store `{store}` needs key {wanted}, this is key {held}; nothing was changed"
    )]
    WrongMasterKey {
        store: String,
        wanted: KeyId,
        held: KeyId,
    },
    #[error("the key file `{path}` cannot be replaced: {problem}; nothing was changed")]
    Irreplaceable {
        path: String,
        /// The system's word for it.
        problem: String,
    },
    #[error(
        "the keys are wrapped anew, but the new master key is still in `{staged}`; keep that file: the next start uses it, and tries again to move it to `{path}`"
    )]
    Unresolved {
        /// The key file, which holds the old key.
        path: String,
        /// Where the new key is.
        staged: String,
    },
    #[error("the key store `{0}` does not exist")]
    Missing(String),
    /// The server of the key store cannot be reached, or does not respond.
    #[error("cannot use the key store `{store}`: {problem}")]
    Unreachable {
        /// Its location, without credentials.
        store: String,
        /// The driver's word for it.
        problem: String,
    },
    /// The location of the key store cannot be used.
    #[error("cannot use the key store `{store}`: {problem}")]
    Unusable {
        /// Its location, without credentials.
        store: String,
        problem: String,
    },
    #[error("`{0}` is not a key store of Memoir")]
    NotAKeyStore(String),
    #[error(
        "the key store was written by a newer version of Memoir (format {found}; this one knows up to {known})"
    )]
    Newer { found: i64, known: i64 },
    #[error(
        "the key store `{0}` was moved or replaced while it was in use; nothing was changed; start again"
    )]
    Replaced(String),
    #[error(
        "the key store `{0}` was given a write-ahead log by another program, in which destroyed keys would stay; nothing was changed; end that program, or the others that have the key store open"
    )]
    Logged(String),
    /// The agent's key was destroyed; it gets no other one.
    #[error("the agent's key was destroyed")]
    Destroyed,
    /// A row that no version of Memoir writes, or that was wrapped for another place.
    #[error("the key store is inconsistent: table `{table}`, {problem}")]
    Inconsistent {
        table: &'static str,
        /// Which row, and its fault.
        problem: String,
    },
    #[error("the key store is read-only; nothing was changed")]
    ReadOnly,
    #[error("the disk is full; nothing was changed")]
    Full,
    /// Another process changed the key store, so that the precondition of a change is not met.
    #[error("the key store was changed by another process meanwhile; nothing was changed")]
    Overtaken,
    #[error("the key store is locked by another process; nothing was changed")]
    Busy,
    #[error("cannot use `{path}`: {problem}")]
    File {
        path: String,
        /// The system's word for it.
        problem: String,
    },
    #[error("the system gives no random bytes")]
    Random,
    /// Anything else that the driver reports.
    #[error("the key store failed: {0}")]
    Driver(String),
}

impl Error {
    pub(crate) fn file(path: &Path, problem: &std::io::Error) -> Self {
        if is_full(problem) {
            return Self::Full;
        }
        Self::File {
            path: path.display().to_string(),
            problem: word(problem),
        }
    }

    pub(crate) fn irreplaceable(path: &Path, problem: &std::io::Error) -> Self {
        match Self::file(path, problem) {
            Self::File { path, problem } => Self::Irreplaceable { path, problem },
            full => full,
        }
    }
}

/// Whether there is no room, for all users or for this one.
fn is_full(problem: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(
        problem.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    )
}

/// The system's message. An error of a temporary file names that file, which the user does not know.
fn word(problem: &std::io::Error) -> String {
    match problem.get_ref().and_then(std::error::Error::source) {
        Some(inner) => inner.to_string(),
        None => problem.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Error as Io, ErrorKind};

    use super::*;

    /// The remedy is to free some space, and not to check permissions.
    #[test]
    fn spec_6_2_a_full_disk_and_a_read_only_file_are_different_errors() {
        let path = Path::new("a/key");
        for (kind, is_full) in [
            (ErrorKind::StorageFull, true),
            (ErrorKind::QuotaExceeded, true),
            (ErrorKind::PermissionDenied, false),
            (ErrorKind::NotFound, false),
        ] {
            let inner = Io::from(kind);
            // As a temporary file reports it.
            let of_temporary = Io::new(kind, "no room for a temporary file");
            for problem in [inner, of_temporary] {
                let errors = [
                    Error::file(path, &problem),
                    Error::irreplaceable(path, &problem),
                ];
                for error in errors {
                    assert_eq!(matches!(error, Error::Full), is_full, "{error}");
                }
            }
        }
    }
}
