//! Migrates a database to the present format: files that run in their order, each once and in a transaction of its own.
//!
//! A migration changes at most one existing table, so that it cannot deadlock with transactions that use several of
//! them. It only adds, so that the previous version of Memoir continues to work beside the migrating one: a function
//! with more effects gets another name, and the previous one remains.

use std::time::Duration;

use memoir_store::{Error, Reach, Result};

use crate::{
    error::StatementFault,
    pool::{Connections, Statement, TransactionPurpose},
};

/// A migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migration {
    /// Its place, from 1 without gaps.
    pub number: i64,
    /// Its name.
    pub name: &'static str,
    /// Its statements.
    pub sql: &'static str,
}

/// Those of the data, in their order. Append only.
pub const MIGRATIONS: &[Migration] = &[
    Migration {
        number: 1,
        name: "0001_initial",
        sql: include_str!("../migrations/0001_initial.sql"),
    },
    Migration {
        number: 2,
        name: "0002_word_indexes",
        sql: include_str!("../migrations/0002_word_indexes.sql"),
    },
    Migration {
        number: 3,
        name: "0003_transcript_sums",
        sql: include_str!("../migrations/0003_transcript_sums.sql"),
    },
];

/// Those of a key store, in their order. Append only.
pub const KEY_MIGRATIONS: &[Migration] = &[Migration {
    number: 1,
    name: "keys_0001_initial",
    sql: include_str!("../key-migrations/0001_initial.sql"),
}];

/// Attempts at one migration while others use the tables, or while the server is slow.
// Each attempt waits up to the lock's limit of five seconds: after about half a minute the migration fails.
const ATTEMPTS: u32 = 5;
const BETWEEN: Duration = Duration::from_secs(1);

/// The table of migrations. Roles other than its owner, whatever the database grants them on new tables, read it and
/// change the marks of a move alone, which have negative numbers: a service that removed a migration from it would make
/// it run twice.
const MADE: &str = "CREATE TABLE IF NOT EXISTS memoir_migrations ( \
     number bigint NOT NULL PRIMARY KEY, name text COLLATE \"C\" NOT NULL, \
     applied_at timestamptz NOT NULL DEFAULT now()); \
     DO $$ BEGIN IF NOT EXISTS (SELECT 1 FROM pg_policy WHERE polrelid = 'memoir_migrations'::regclass) THEN \
         ALTER TABLE memoir_migrations ENABLE ROW LEVEL SECURITY; \
         CREATE POLICY all_are_read ON memoir_migrations FOR SELECT USING (true); \
         CREATE POLICY moves_are_marked ON memoir_migrations USING (number < 0) WITH CHECK (number < 0); \
     END IF; END $$";

/// Those that are still to be run.
pub(crate) async fn pending(
    connections: &Connections,
    migrations: &'static [Migration],
) -> Result<&'static [Migration]> {
    // In another schema on the search path it belongs to another application.
    let is_there = "SELECT 1 FROM pg_class WHERE relname = 'memoir_migrations' \
         AND relnamespace = current_schema()::regnamespace";
    let found = connections.rows(Reach::All, is_there, values![]).await?;
    if found.is_empty() {
        return Ok(migrations);
    }
    let last = "SELECT coalesce(max(number), 0) FROM memoir_migrations";
    let rows = connections.rows(Reach::All, last, values![]).await?;
    let last: Option<i64> = rows.first().and_then(|row| row.try_get(0).ok());
    let done = last.map_or(0, |last| usize::try_from(last).unwrap_or(0));
    // Additions of a newer version do no harm.
    Ok(migrations.get(done..).unwrap_or_default())
}

/// Runs the pending ones.
///
/// # Errors
/// Those of the database; the ones before the failed one remain.
pub(crate) async fn run(
    connections: &Connections,
    migrations: &'static [Migration],
) -> Result<Vec<&'static str>> {
    let mut done = Vec::new();
    for migration in pending(connections, migrations).await? {
        let mut attempt = 1;
        // No lock over all migrations: of two processes that run the same one, the second waits at the table's name or
        // at the number's key, fails there, and finds it done.
        while let Err(fault) = run_one(connections, migration).await {
            let error = Error::from(fault);
            match pending(connections, migrations).await {
                // Another process has run it, or this one did and lost the response.
                Ok(still) if still.iter().all(|one| one != migration) => break,
                Ok(_) => {}
                Err(problem) if passes(&problem) => {}
                Err(problem) => return Err(problem),
            }
            if !passes(&error) || attempt == ATTEMPTS {
                return Err(error);
            }
            attempt += 1;
            tokio::time::sleep(BETWEEN).await;
        }
        done.push(migration.name);
    }
    Ok(done)
}

/// Whether the same migration may succeed a moment later: others use the tables, or the server's disk is slow at this
/// moment. A database that cannot be reached at all is known before the first migration.
fn passes(error: &Error) -> bool {
    matches!(error, Error::Busy | Error::Unreachable { .. })
}

async fn run_one(connections: &Connections, migration: &Migration) -> Result<(), StatementFault> {
    let mut connection = connections.take().await?;
    // Building an index of a large table is slow.
    connection.wait_without_limit();
    // The files have several statements each, and come without values.
    let opening = connection.opening(Reach::All, TransactionPurpose::Write);
    // The statements and the row that says that they were run are one transaction, which PostgreSQL
    // keeps for changes of tables too: a process that dies leaves the format before.
    let opening = opening + "; SET LOCAL statement_timeout = 0; " + MADE + "; " + migration.sql;
    // A server that does not understand one of the statements refuses them all, with the `BEGIN` before them. Then this
    // one runs by itself, and must not enter what was not run: there is no reach.
    let enter = Statement::new(
        "INSERT INTO memoir_migrations (number, name) SELECT $1, $2 \
         WHERE current_setting('memoir.account', true) <> ''",
        values![migration.number, migration.name],
    );
    connection
        .send(Some(&opening), &[enter], Some("COMMIT"))
        .await?;
    connection.restore();
    Ok(())
}
