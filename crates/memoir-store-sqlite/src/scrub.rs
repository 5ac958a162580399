//! Removes the shredded text of a log from the disk (SPEC 4.4).
//!
//! SQLite overwrites replaced or deleted data in place (`secure_delete`). That leaves two copies: the write-ahead log
//! has the earlier pages, and after rows were moved from one page to another, the first keeps a copy of them in its
//! unused part. So the file is rewritten, and the log is moved into it and truncated. A file that is too large is not
//! rewritten: a few such copies may remain, until rows or a manual `VACUUM` overwrite them.
//!
//! The decision that shreds records the scrub as pending in its own transaction, so that after a crash the next process
//! that opens the file does it.

use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};

use crate::{
    agent::{execute, exists},
    error::{QueryFault, Result, code, inconsistent, message},
    fault, open,
};

/// The largest file that is written anew. It takes as much memory, and a second or less.
const REWRITTEN_BYTES: i64 = 128 << 20;

/// Notes that there is something to scrub.
pub(crate) fn mark_pending(connection: &Connection) -> Result<()> {
    // One row for all pending scrubs: each scrub removes every shredded text from the disk.
    let note = "INSERT OR IGNORE INTO residues (id) VALUES (1)";
    let noted = execute(connection, note, ())?;
    // A foreign trigger on the table could swallow the row. Then the shredded text would stay on the disk unnoticed, so
    // the decision fails instead.
    if noted == 0 && !is_pending(connection)? {
        return Err(inconsistent("residues", "a row was not written"));
    }
    Ok(())
}

/// Whether a process that is gone left something to scrub.
pub(crate) fn is_pending(connection: &Connection) -> Result<bool> {
    exists(connection, "SELECT 1 FROM residues", ())
}

/// Removes shredded text from the disk; waits at most `time` at each step for other readers and writers. `false` if
/// they blocked it or it failed: nothing is lost, and it remains pending.
pub(crate) fn scrub(connection: &Connection, time: Duration) -> bool {
    let done = connection
        .busy_timeout(time)
        .map_err(QueryFault::from)
        .and_then(|()| attempt(connection, time));
    // Fails only for a connection that is not open.
    let _ = connection.busy_timeout(open::BUSY_TIMEOUT);
    match done {
        Ok(true) => return true,
        Ok(false) => tracing::warn!("readers keep shredded text on the disk"),
        Err(QueryFault::Sqlite(error)) if code(&error) == Some(ErrorCode::DatabaseBusy) => {
            tracing::warn!("another process keeps shredded text on the disk");
        }
        Err(QueryFault::Sqlite(error)) => tracing::warn!(
            problem = message(&error),
            "shredded text is still on the disk"
        ),
        Err(QueryFault::Store(error)) => {
            tracing::warn!(%error, "shredded text is still on the disk");
        }
    }
    false
}

fn attempt(connection: &Connection, time: Duration) -> Result<bool> {
    // Tested first, since it is cheap: what blocks this also blocks the last step.
    if !cut(connection, time)? {
        return Ok(false);
    }
    if bytes(connection)? <= REWRITTEN_BYTES {
        // The first cut has emptied the log, so that the copy which this writes is all that is in
        // it; the second one moves that into the file.
        connection.execute_batch("VACUUM")?;
        fault::point("scrub.rewritten");
        if !cut(connection, time)? {
            return Ok(false);
        }
    }
    fault::point("scrub.cut");
    // Last, and in a transaction of its own: a process that is killed before this line does the work once more, which
    // changes nothing.
    execute(connection, "DELETE FROM residues", ())?;
    fault::point("scrub.resolved");
    Ok(true)
}

/// Moves the log into the file and cuts it to nothing; `false` where readers held that up.
fn cut(connection: &Connection, time: Duration) -> Result<bool> {
    let started = Instant::now();
    loop {
        // A log that is only moved keeps its bytes until they are overwritten. Truncated, its blocks return to the file
        // system; their further use is beyond a program's control.
        let is_held_up = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| {
            row.get::<_, bool>(0)
        });
        match is_held_up {
            // SQLite waits for readers and writers, and not for a checkpoint of another process.
            Ok(true) if started.elapsed() < time => std::thread::sleep(Duration::from_millis(5)),
            is_held_up => return Ok(!is_held_up?),
        }
    }
}

fn bytes(connection: &Connection) -> Result<i64> {
    let number = |pragma| connection.query_row(pragma, [], |row| row.get::<_, i64>(0));
    Ok(number("PRAGMA page_count")? * number("PRAGMA page_size")?)
}
