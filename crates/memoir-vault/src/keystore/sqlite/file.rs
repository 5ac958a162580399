//! The file of the key store: how it is made, recognised and set up.

use std::{
    fs::{self, File},
    io,
    path::Path,
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::{
    Error, Result,
    master::{check_owned, sync_folder_of},
};

/// `MEMK`: what a key store of Memoir says of itself in its header.
const APPLICATION_ID: i64 = 0x4D45_4D4B;
/// Every step from an empty file to the present format. Append-only: a released step does not change.
const MIGRATIONS: [&str; 2] = [
    include_str!("../../../migrations/0001_initial.sql"),
    include_str!("../../../migrations/0002_closing.sql"),
];
/// The mode of a journal that is deleted after each change: with a write-ahead log, destroyed keys would
/// lie in the log until it is reset.
const ROLLBACK_JOURNAL: &str = "delete";
/// The only mode but `off` of a database that has no file.
const MEMORY_JOURNAL: &str = "memory";
/// How long to wait for another process that holds the lock.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Makes an empty file that only its owner can read, unless there is a file. An empty one is a key store
/// to which nothing was written yet.
pub(super) fn create(path: &Path) -> Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => sync_folder_of(path).map_err(|error| Error::file(path, &error)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(Error::file(path, &error)),
    }
}

/// Opens the file, and whether it is a key store already: an empty one becomes one by [`make`], or counts as missing.
pub(super) fn open(path: &Path, may_make: bool) -> Result<(Connection, bool)> {
    let missing = || Error::Missing(path.display().to_string());
    match File::open(path) {
        Ok(file) => check_owned(path, &file)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(missing()),
        Err(error) => return Err(Error::file(path, &error)),
    }
    let mut connection = connect(path)?;
    let steps = recognise(&connection, path)?;
    // A process that was killed while it made the file leaves an empty one; a caller that needs keys treats it as
    // missing.
    if steps == 0 && !may_make {
        return Err(missing());
    }
    set_up(&connection, ROLLBACK_JOURNAL)?;
    if (1..MIGRATIONS.len()).contains(&steps) {
        make(&mut connection, path, |_| Ok(()))?;
    }
    Ok((connection, steps > 0))
}

/// A future key store without a file, which no other process can reach.
pub(super) fn open_in_memory() -> Result<Connection> {
    let connection = Connection::open_in_memory()?;
    set_up(&connection, MEMORY_JOURNAL)?;
    Ok(connection)
}

/// Identifies the file at a path: the same file has the same numbers while a process has it open. `None` without a
/// file, and always the same if the system has no such numbers.
pub(super) fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::metadata(path).ok()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some((metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        Some((0, 0))
    }
}

fn connect(path: &Path) -> Result<Connection> {
    // Absolute, so that no name is taken for a URI.
    let absolute = std::path::absolute(path).map_err(|error| Error::file(path, &error))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(absolute, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

/// How many steps the file has taken; none if it is empty. Reads only.
pub(super) fn recognise(connection: &Connection, path: &Path) -> Result<usize> {
    let foreign = || Error::NotAKeyStore(path.display().to_string());
    let numbers = "SELECT (SELECT application_id FROM pragma_application_id), \
         (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)";
    let numbers = connection.query_row(numbers, [], |row| {
        Ok((
            row.get::<_, i64>(0)?,
            row.get::<_, i64>(1)?,
            row.get::<_, i64>(2)?,
        ))
    });
    match numbers {
        Ok((APPLICATION_ID, version, _)) => match usize::try_from(version) {
            Ok(steps) if (1..=MIGRATIONS.len()).contains(&steps) => Ok(steps),
            _ => Err(Error::Newer {
                found: version,
                known: MIGRATIONS.len() as i64,
            }),
        },
        Ok((0, 0, 0)) => Ok(0),
        Ok(_) => Err(foreign()),
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) => {
            Err(foreign())
        }
        Err(error) => Err(error.into()),
    }
}

fn set_up(connection: &Connection, journal: &str) -> Result<()> {
    let journal_mode = format!("PRAGMA journal_mode = {journal}");
    let mode: String = connection.query_row(&journal_mode, [], |row| row.get(0))?;
    // Deleted or replaced data are overwritten with zeros. The result is checked: only here would an SQLite that was
    // built without this show it.
    let secure: i64 = connection.query_row("PRAGMA secure_delete = ON", [], |row| row.get(0))?;
    if mode != journal || secure != 1 {
        return Err(Error::Driver(
            "SQLite does not overwrite what is deleted".to_owned(),
        ));
    }
    // Without `EXTRA` a power cut just after a commit can undo it: the key would be lost that has
    // already sealed something.
    connection.pragma_update(None, "synchronous", "EXTRA")?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // Readers can continue until a change is about to be committed, however large it is.
    connection.pragma_update(None, "cache_spill", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    // The schema of a file from elsewhere must not be able to run anything.
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(())
}

/// Restores the rollback journal of a file that another program has given a write-ahead log, unless another process has
/// it open.
pub(super) fn give_up_log(connection: &Connection) -> Result<()> {
    // What the file says is only known to who reads it.
    connection.query_row("PRAGMA schema_version", [], |_| Ok(()))?;
    let journal_mode = format!("PRAGMA journal_mode = {ROLLBACK_JOURNAL}");
    match connection.query_row(&journal_mode, [], |_| Ok(())) {
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) => {
            Ok(())
        }
        given_up => Ok(given_up?),
    }
}

/// Makes everything that the migrations make in an empty database, and says nothing in its header.
pub(super) fn make_tables(connection: &Connection) -> Result<()> {
    for migration in MIGRATIONS {
        connection.execute_batch(migration)?;
    }
    Ok(())
}

/// Migrates the file to the present format. If it is empty, `enter` gives its content, in the same transaction.
pub(super) fn make(
    connection: &mut Connection,
    path: &Path,
    enter: impl FnOnce(&Connection) -> Result<()>,
) -> Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Checked again under the lock: another process may have done it meanwhile.
    let taken = recognise(&transaction, path)?;
    for migration in &MIGRATIONS[taken..] {
        transaction.execute_batch(migration)?;
    }
    if taken == 0 {
        enter(&transaction)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", MIGRATIONS.len() as i64)?;
    Ok(transaction.commit()?)
}
