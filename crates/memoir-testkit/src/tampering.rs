//! Changes of a database that only an intruder could make.

#![expect(
    clippy::unwrap_used,
    reason = "a test that does not get what it needs ends here"
)]

use std::path::Path;

use rusqlite::Connection;

/// Opens the database like an intruder: nothing is checked, and no trigger fires.
pub fn intrude(path: &Path, tamper: impl FnOnce(&Connection)) {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;")
        .unwrap();
    let triggers: Vec<(String, String)> = connection
        .prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    for (name, _) in &triggers {
        connection
            .execute_batch(&format!("DROP TRIGGER {name}"))
            .unwrap();
    }
    tamper(&connection);
    for (_, sql) in &triggers {
        connection.execute_batch(sql).unwrap();
    }
}

/// The same, by statements.
pub fn tamper(path: &Path, statements: &str) {
    intrude(path, |connection| {
        connection.execute_batch(statements).unwrap()
    });
}
