//! Compares the schema of the key store (its tables) with the one that the migrations make. With write access to the
//! file, a trigger could be added that keeps a destroyed key, or that swallows a new one.

use std::{collections::BTreeSet, sync::OnceLock};

use rusqlite::Connection;

use super::file;
use crate::{Result, keystore::inconsistent};

/// Kind, name, table and text of a table, index, trigger or view.
type KeySchemaObject = (String, String, String, Option<String>);

/// Which form a connection has last found to be right: SQLite's own number of it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CheckedKeySchema(Option<i64>);

/// Checks that the schema is the one that the migrations make, unless it is unchanged since the last check. Inside a
/// transaction, so that it cannot change.
pub(super) fn check(connection: &Connection, looked: &mut CheckedKeySchema) -> Result<()> {
    let number = connection
        .prepare_cached("PRAGMA schema_version")?
        .query_row([], |row| row.get(0))?;
    if looked.0 == Some(number) {
        return Ok(());
    }
    let (expected, found) = (expected()?, objects(connection)?);
    if let Some((kind, name, ..)) = expected.symmetric_difference(&found).next() {
        let problem = format!(
            "{kind} `{name}` is missing, is another one than was made, or is not Memoir's: modified outside Memoir"
        );
        return Err(inconsistent("sqlite_schema", problem));
    }
    *looked = CheckedKeySchema(Some(number));
    Ok(())
}

fn objects(connection: &Connection) -> Result<BTreeSet<KeySchemaObject>> {
    Ok(connection
        .prepare("SELECT type, name, tbl_name, sql FROM main.sqlite_schema")?
        .query_map([], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?
        .collect::<rusqlite::Result<_>>()?)
}

/// What the migrations make.
fn expected() -> Result<&'static BTreeSet<KeySchemaObject>> {
    static EXPECTED: OnceLock<BTreeSet<KeySchemaObject>> = OnceLock::new();
    if let Some(expected) = EXPECTED.get() {
        return Ok(expected);
    }
    let scratch = Connection::open_in_memory()?;
    file::make_tables(&scratch)?;
    let made = objects(&scratch)?;
    Ok(EXPECTED.get_or_init(|| made))
}
