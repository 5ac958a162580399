//! Databases of other programs, read-only.
//!
//! The file may be hostile: nothing in its schema is trusted, no more than one row is read at a time, and a damaged
//! database ends the reading with an error.

use rusqlite::{
    Connection, OpenFlags, Params, Row, config::DbConfig, limits::Limit, types::ValueRef,
};

use crate::{
    Error, Halt, NoMemoryReason, ReadResult,
    date::{self, FoundDate},
    files::Files,
    out::Out,
};

/// Steps of SQLite's machine between two checks of its running time.
const STEPS: i32 = 1_000_000;
/// The limit of these checks.
// Together 2·10^10 steps, counted over all statements of a connection: some minutes for a schema that would run for
// ever.
const LOOKS: u64 = 20_000;

/// Opens a database read-only.
pub(crate) fn open(files: &Files, index: usize) -> Result<Connection, Error> {
    let broken = |_| Error::Database("it is damaged, or no SQLite database");
    let path = files
        .path(index)
        .ok_or(Error::Database("it is in an archive"))?;
    // No other thread has this connection, so that SQLite need not lock it.
    let mut flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if !files.is_one() {
        // SQLite opens it by its name, which a link may have replaced since the folder was listed.
        flags |= OpenFlags::SQLITE_OPEN_NOFOLLOW;
    }
    let mut database = Connection::open_with_flags(path, flags).map_err(broken)?;
    // The schema is untrusted, and SQLite runs functions in indices and generated columns, and a view where a table is
    // expected.
    let settings = [
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
    ];
    for (setting, value) in settings {
        database.set_db_config(setting, value).map_err(broken)?;
    }
    database
        // A cell comes as one piece, of any size in the file.
        .set_limit(Limit::SQLITE_LIMIT_LENGTH, 64 << 20)
        .map_err(broken)?;
    let mut looks = 0;
    database
        .progress_handler(
            STEPS,
            Some(move || {
                looks += 1;
                looks > LOOKS
            }),
        )
        .map_err(broken)?;
    // Sorting a table of any size takes no more memory than this; the rest goes to a file.
    database
        .pragma_update(None, "cache_size", -16_384)
        .map_err(broken)?;
    Ok(database)
}

/// The database that is read: the only file, or one with that table. Of several files, any other one is counted, and one
/// that is damaged or in an archive breaks the reading off there.
pub(crate) fn taken(
    table: &str,
    files: &Files,
    index: usize,
    out: &mut Out<'_>,
) -> Result<Option<Connection>, Error> {
    let opened = open(files, index).and_then(|database| {
        let is_taken = files.is_one() || tables(&database)?.iter().any(|name| name == table);
        Ok(is_taken.then_some(database))
    });
    if let Ok(None) = opened {
        out.pass(files.place(index), NoMemoryReason::OtherFile);
    }
    let reason = match files.path(index) {
        Some(_) => NoMemoryReason::Malformed,
        // The archive has nothing else: the error says that no database can be read in one.
        None if files.len() == 1 => return opened,
        None => NoMemoryReason::Unreadable,
    };
    if opened.is_err() && !files.is_one() {
        out.break_off(files.place(index), reason);
        return Ok(None);
    }
    opened
}

pub(crate) fn tables(database: &Connection) -> Result<Vec<String>, Error> {
    // A limit, since the names are all kept and one or two of them identify a format.
    let query = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name LIMIT 1000";
    names(database, query, [])
}

pub(crate) fn columns(database: &Connection, table: &str) -> Result<Vec<String>, Error> {
    // The table's name is a value here, not a part of the statement: it comes from the file.
    let query = "SELECT name FROM pragma_table_info(?1)";
    names(database, query, [table])
}

fn names(database: &Connection, query: &str, values: impl Params) -> Result<Vec<String>, Error> {
    let broken = |_| Error::Database("it is damaged");
    let mut statement = database.prepare(query).map_err(broken)?;
    let names = statement
        .query_map(values, |row| row.get::<_, String>(0))
        .map_err(broken)?;
    Ok(names.flatten().collect())
}

pub(crate) fn each<'a>(
    database: &Connection,
    query: &str,
    out: &mut Out<'a>,
    take: &mut dyn FnMut(&Row<'_>, &mut Out<'a>) -> ReadResult,
) -> ReadResult {
    let mut statement = database
        .prepare(query)
        .map_err(|_| Error::Database("it has not the tables and columns of this form"))?;
    let mut rows = statement
        .query([])
        .map_err(|_| Error::Database("it is damaged"))?;
    loop {
        match rows.next() {
            Ok(Some(row)) => take(row, out)?,
            Ok(None) => return Ok(()),
            Err(_) => return Err(Halt::Failed(Error::Database("it is damaged"))),
        }
    }
}

/// A column's text; `None` where it is none, or not UTF-8.
pub(crate) fn text(row: &Row<'_>, column: usize) -> Option<String> {
    match row.get_ref(column).ok()? {
        // SQLite checks the encoding of neither.
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            std::str::from_utf8(bytes).ok().map(str::to_owned)
        }
        ValueRef::Integer(number) => Some(number.to_string()),
        _ => None,
    }
}

pub(crate) fn number(row: &Row<'_>, column: usize) -> Option<i64> {
    row.get_ref(column).ok()?.as_i64().ok()
}

pub(crate) fn time(row: &Row<'_>, column: usize) -> FoundDate {
    match row.get_ref(column) {
        Ok(ValueRef::Text(bytes)) => date::of_text(&String::from_utf8_lossy(bytes)),
        #[expect(clippy::cast_precision_loss, reason = "a time needs no exact bits")]
        Ok(ValueRef::Integer(number)) => date::of_number(number as f64),
        Ok(ValueRef::Real(number)) => date::of_number(number),
        _ => FoundDate::default(),
    }
}
