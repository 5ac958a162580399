//! How both stores write values whose types their databases do not have.

use crate::{Error, Result};

/// A count, a size or a number: the integers of databases are signed.
///
/// # Errors
/// [`Error::Inconsistent`].
pub fn count(value: u64, table: &'static str, column: &str) -> Result<i64> {
    i64::try_from(value)
        .map_err(|_| Error::inconsistent(table, format!("`{column}` is over {}", i64::MAX)))
}

/// A count that need not be there.
///
/// # Errors
/// As for [`count`].
pub fn optional_count(
    value: Option<u64>,
    table: &'static str,
    column: &str,
) -> Result<Option<i64>> {
    value.map(|value| count(value, table, column)).transpose()
}
