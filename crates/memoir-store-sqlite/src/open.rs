//! Connections: how the file is made, recognised and set up.

use std::{
    fs, io,
    path::Path,
    time::{Duration, Instant},
};

use memoir_store::Error;
use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};

use crate::{
    error::{QueryFault, Result, code, message},
    migrate, schema, scrub,
};

/// How long to wait for another process that holds the lock.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Prepared statements that a connection keeps; more than this crate has.
// A statement that falls out of the cache would be understood and planned again with each use,
// which takes longer than most of them run.
const STATEMENTS: usize = 96;
/// Pages that the writer keeps in memory, in KiB.
pub(crate) const WRITER_CACHE_KIB: i64 = 4_096;
/// Pages that a reader keeps in memory, in KiB: the upper ones of each table. The system has the others in memory too.
const READER_CACHE_KIB: i64 = 512;
/// What the log of the database is cut back to once its contents are in the file.
const LOG_BYTES: i64 = 16 << 20;

/// Opens, or makes, the file and brings it up to the present format.
pub(crate) fn writer(path: &Path) -> Result<Connection> {
    let location = path.display().to_string();
    // SQLite would create the file with the permissions that the umask allows. `create_new` creates it first, so that
    // of two processes neither truncates the other's file.
    create(path)?;
    let mut connection = connect(path)?;
    named(&location, writer_setup(&mut connection, &location))?;
    // Does not wait for other connections; if blocked, the scrub remains pending.
    if named(&location, scrub::is_pending(&connection))? {
        scrub::scrub(&connection, Duration::ZERO);
    }
    Ok(connection)
}

/// As [`writer`], and alone: while the connection is open, no other one can read or write the file.
///
/// # Errors
/// [`Error::Busy`] where another one, of this process or another, is open.
pub(crate) fn alone(path: &Path) -> Result<Connection> {
    // As every connection begins: the file is made, recognised and brought up to the present format.
    drop(writer(path)?);
    let mut connection = connect(path)?;
    // Before anything is read: only then is the whole file locked, and not the log beside it.
    connection.pragma_update_and_check(None, "locking_mode", "EXCLUSIVE", |_| Ok(()))?;
    let location = path.display().to_string();
    named(&location, writer_setup(&mut connection, &location))?;
    Ok(connection)
}

/// A database of its own that never reaches a disk.
pub(crate) fn in_memory() -> Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    common(&connection)?;
    overwriting(&connection)?;
    // No journal mode and no lock: no other process can have this connection.
    migrate::migrate(&mut connection, "in memory")?;
    Ok(connection)
}

/// One more connection to a file that [`writer`] has opened; it cannot write.
pub(crate) fn reader(path: &Path) -> Result<Connection> {
    let connection = connect(path)?;
    common(&connection)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    Ok(connection)
}

/// Writes the whole file as of one instant into the one at `to`, which must be empty or missing.
pub(crate) fn copy(path: &Path, to: &Path) -> Result<()> {
    let connection = connect(path)?;
    common(&connection)?;
    let absolute = std::path::absolute(to).map_err(|error| cannot_open(to, &error.to_string()))?;
    let absolute = absolute
        .to_str()
        .ok_or_else(|| cannot_open(to, "its name is not UTF-8"))?;
    // Not a copy of the file: that would lack the log, could be torn by a writer, and would hold unused pages and
    // remains of rows, including shredded texts.
    connection.execute("VACUUM INTO ?1", [absolute])?;
    Ok(())
}

/// Makes an empty file that only its owner can read; SQLite gives its log the same permissions. An
/// empty file is a database to which nothing was written yet.
fn create(path: &Path) -> Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        // `StorageFull` would be misread as a failed change: nothing was opened yet.
        Err(error) => Err(cannot_open(path, &error.to_string())),
    }
}

fn connect(path: &Path) -> Result<Connection> {
    // Absolute, so that no name is taken for a URI.
    let absolute =
        std::path::absolute(path).map_err(|error| cannot_open(path, &error.to_string()))?;
    // Without `CREATE`, so that a missing file is an error and not an empty memory. Readers also open it for writing:
    // reading a write-ahead log locks pages of the index beside it. Without SQLite's own locks, since the holder of our
    // lock alone uses a connection.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(absolute, flags)
        .map_err(|error| cannot_open(path, &message(&error)))
}

fn cannot_open(path: &Path, problem: &str) -> QueryFault {
    QueryFault::Store(Error::Open {
        location: path.display().to_string(),
        problem: problem.to_owned(),
    })
}

fn writer_setup(connection: &mut Connection, location: &str) -> Result<()> {
    common(connection)?;
    // Checked before anything is written, so that another application's database remains unchanged.
    match migrate::format(connection)? {
        migrate::FileFormat::Foreign => return Err(Error::NotADatabase(location.to_owned()).into()),
        _ if connection.is_readonly("main")? => return Err(Error::ReadOnly.into()),
        _ => {}
    }
    overwriting(connection)?;
    // Before `synchronous`: what that setting means depends on the journal mode.
    write_ahead(connection)?;
    // With `NORMAL`, SQLite's advice for this mode, the last commits are lost with the power,
    // although they were acknowledged (SPEC 6.2).
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES)?;
    // The writer moves the log into the file itself, after it has answered its callers.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    migrate::migrate(connection, location)?;
    // Also after migrating: a foreign trigger in an older file would otherwise act on the first transaction.
    schema::check(connection, &mut schema::CheckedSchema::default())
}

fn common(connection: &Connection) -> Result<()> {
    // First, so that nothing that follows fails where another process has the lock.
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // A statement is planned once. Otherwise SQLite would plan it anew for each value of a `LIMIT`.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // A setting of each connection, not of the file, and its default depends on how SQLite was built.
    connection.pragma_update(None, "foreign_keys", true)?;
    // What savepoints and sorting need stays in memory: faster, and nothing more reaches the disk.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // The schema of a file from elsewhere must not be able to run anything.
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(())
}

/// Overwrites what is replaced or deleted, so that it cannot be found in the file (SPEC 4.4).
fn overwriting(connection: &Connection) -> Result<()> {
    // Not `FAST`, which leaves what stood on pages that came free altogether.
    connection.pragma_update(None, "secure_delete", true)?;
    Ok(())
}

/// Turns the write-ahead log on. SQLite does not wait for others here, so this does.
fn write_ahead(connection: &Connection) -> Result<()> {
    let started = Instant::now();
    loop {
        let answer = connection.query_row("PRAGMA journal_mode = WAL", [], |row| {
            row.get::<_, String>(0)
        });
        match answer {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(_) => {
                return Err(Error::Driver(
                    "the file system does not allow a write-ahead log; keep the database on a local disk"
                        .to_owned(),
                )
                .into());
            }
            Err(error)
                if code(&error) == Some(ErrorCode::DatabaseBusy)
                    && started.elapsed() < BUSY_TIMEOUT =>
            {
                // Blocked only while other processes open a new file: later the mode is in its header.
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Gives what SQLite says of a file while it is opened the file's name.
fn named<T>(location: &str, result: Result<T>) -> Result<T> {
    result.map_err(|fault| match fault {
        QueryFault::Sqlite(error) => match code(&error) {
            Some(ErrorCode::NotADatabase) => Error::NotADatabase(location.to_owned()).into(),
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => Error::Open {
                location: location.to_owned(),
                problem: message(&error),
            }
            .into(),
            _ => QueryFault::Sqlite(error),
        },
        store => store,
    })
}
