//! How both stores write values whose types their databases do not have.

use memoir_domain::Timestamp;

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

/// Where a page, the newest first, begins: rows before that time and identifier; without them, before the largest
/// number that a column can hold, which is no row's time.
pub fn before<Id>(
    place: Option<(Timestamp, Id)>,
    bytes: impl FnOnce(&Id) -> &[u8; 16],
) -> (i64, [u8; 16]) {
    // With the smallest identifier: beside the latest time that can be, none is before it.
    place.map_or((i64::MAX, [0; 16]), |(time, id)| {
        (time.microseconds(), *bytes(&id))
    })
}
