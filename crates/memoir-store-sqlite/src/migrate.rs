//! The format of the database and how an older one is brought up to it.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::Read,
    ops::Range,
    path::Path,
};

use memoir_store::Error;
use rusqlite::Connection;

use crate::{error::Result, fault, reader::ReadTransaction};

/// `MEMR`: what a file of Memoir says of itself in its header.
// Stored at byte 68, where SQLite's file format has it; `file` and other programs read it there.
const APPLICATION_ID: i64 = 0x4D45_4D52;

/// Every step from an empty file to the present format. Append-only: a released step does not change.
const MIGRATIONS: [&str; 2] = [
    include_str!("../migrations/0001_initial.sql"),
    include_str!("../migrations/0002_word_indexes.sql"),
];

/// What a file turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FileFormat {
    /// Nothing was written to it yet.
    Empty,
    /// A database of Memoir that this version knows, after that many steps.
    Known(usize),
    /// A database of Memoir that this version does not know.
    Newer(i64),
    /// Another application's database.
    Foreign,
}

/// Reads what the file says of itself, changing nothing, and all of the same instant: another process
/// may be making the database.
pub(crate) fn format(connection: &Connection) -> Result<FileFormat> {
    // Inside of a migration a transaction is open already, and SQLite knows no second one in it.
    let _view = match connection.is_autocommit() {
        true => Some(ReadTransaction::new(connection)?),
        false => None,
    };
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    if application == APPLICATION_ID {
        return Ok(match usize::try_from(version) {
            // The identifier is written in the transaction of the first step. A file with it and version 0 was edited
            // by hand, and is migrated like an empty one.
            Ok(steps) if steps <= MIGRATIONS.len() => FileFormat::Known(steps),
            _ => FileFormat::Newer(version),
        });
    }
    let objects = number("SELECT count(*) FROM sqlite_schema")?;
    // All three: a database of another application mostly has neither number, but tables.
    if application == 0 && version == 0 && objects == 0 {
        Ok(FileFormat::Empty)
    } else {
        Ok(FileFormat::Foreign)
    }
}

/// Whether the file's first bytes name another application. `false` for a file that is empty or unreadable, or whose
/// beginning may still be in the log beside it.
pub(crate) fn is_foreign(path: &Path) -> bool {
    /// How a file of SQLite begins.
    const MAGIC: &[u8; 16] = b"SQLite format 3\0";
    /// The place of the page size.
    const PAGE_BYTES: Range<usize> = 16..18;
    /// The place of the application's number.
    const APPLICATION: Range<usize> = 68..72;
    let mut header = Vec::with_capacity(APPLICATION.end);
    let read = File::open(path)
        .and_then(|file| file.take(APPLICATION.end as u64).read_to_end(&mut header));
    if read.is_err() || header.is_empty() {
        return false;
    }
    let number = |range: Range<usize>| {
        let bytes = header.get(range)?.iter();
        Some(bytes.fold(0, |number: i64, byte| number << 8 | i64::from(*byte)))
    };
    let (true, Some(application), Some(page_bytes)) = (
        header.starts_with(MAGIC),
        number(APPLICATION),
        number(PAGE_BYTES),
    ) else {
        // Not an SQLite database, which must not count as an empty one.
        return true;
    };
    // A database of Memoir says so with its first tables, which are more than one page.
    let length = |path: &OsStr| fs::metadata(path).map_or(0, |found| found.len());
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    match application {
        APPLICATION_ID => false,
        0 => length(path.as_os_str()) > page_bytes as u64 && length(&log) == 0,
        _ => true,
    }
}

/// Takes the steps that are missing, all in one transaction: a process killed in the middle leaves the
/// file as it was. Does not touch a file that is not Memoir's.
///
/// # Errors
/// [`Error::Newer`], [`Error::NotADatabase`].
pub(crate) fn migrate(connection: &mut Connection, location: &str) -> Result<()> {
    let steps = |connection: &Connection| -> Result<usize> {
        match format(connection)? {
            FileFormat::Empty => Ok(0),
            FileFormat::Known(steps) => Ok(steps),
            FileFormat::Newer(found) => Err(Error::Newer {
                found,
                known: MIGRATIONS.len() as i64,
            }
            .into()),
            FileFormat::Foreign => Err(Error::NotADatabase(location.to_owned()).into()),
        }
    };
    // First without the lock: opening a current database is the usual case, and must not wait for a writer.
    if steps(connection)? == MIGRATIONS.len() {
        return Ok(());
    }
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    fault::point("migrate.begun");
    // Checked again under the lock: another process may have migrated it meanwhile.
    for migration in &MIGRATIONS[steps(&transaction)?..] {
        transaction.execute_batch(migration)?;
        fault::point("migrate.step");
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", MIGRATIONS.len() as i64)?;
    fault::point("migrate.before_commit");
    transaction.commit()?;
    fault::point("migrate.committed");
    Ok(())
}

/// Makes everything that the migrations make in an empty database, and says nothing in its header.
pub(crate) fn make(connection: &Connection) -> Result<()> {
    for migration in MIGRATIONS {
        connection.execute_batch(migration)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A database of every table, column and index must say what each is for.
    #[test]
    fn every_line_of_a_migration_is_explained() {
        for migration in MIGRATIONS {
            let mut explained = false;
            for line in migration.lines().map(str::trim) {
                let declares = line.starts_with("CREATE")
                    || line.split(' ').nth(1).is_some_and(|word| {
                        ["BLOB", "INTEGER", "TEXT", "REAL"].contains(&word.trim_end_matches(','))
                    });
                assert!(explained || !declares, "{line}");
                explained = line.starts_with("--");
            }
        }
    }

    #[test]
    fn another_applications_file_is_known_by_its_first_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let of = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            is_foreign(&path)
        };
        assert!(!is_foreign(&folder.path().join("missing")));
        assert!(!of(b""));
        assert!(of(b"x") && of(b"SQLite format 3\0") && of(&[b'x'; 9_000]));
        fs::remove_file(&path).unwrap();

        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch("PRAGMA user_version = 0; VACUUM")
            .unwrap();
        assert!(!is_foreign(&path), "nothing was written to it yet");
        connection
            .execute_batch("CREATE TABLE theirs (column); PRAGMA journal_mode = WAL")
            .unwrap();
        assert!(is_foreign(&path));
        connection
            .execute_batch("CREATE TABLE more (column)")
            .unwrap();
        assert!(!is_foreign(&path), "its beginning may be in the log");
        drop(connection);
        fs::remove_file(&path).unwrap();

        let mut connection = Connection::open(&path).unwrap();
        migrate(&mut connection, "").unwrap();
        assert!(!is_foreign(&path));
        connection
            .pragma_update(None, "application_id", 17)
            .unwrap();
        assert!(is_foreign(&path));
    }

    #[test]
    fn every_table_is_strict_and_clustered_but_for_those_of_long_rows() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, "").unwrap();
        let found: Vec<(String, bool)> = connection
            .prepare("SELECT name, strict FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite_%' AND NOT (strict AND wr) ORDER BY name")
            .unwrap()
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        // A document that is written with every edit has room in one page where the table has rowids; a part of an
        // index is longer than any page.
        let long = ["agents", "sessions", "word_indexes"].map(|name| (name.to_owned(), true));
        assert_eq!(found, long);
        assert_eq!(
            format(&connection).unwrap(),
            FileFormat::Known(MIGRATIONS.len())
        );
    }
}
