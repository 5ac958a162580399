//! Whole tables, for moving an installation.

use async_trait::async_trait;
use memoir_store::{
    Result, Value,
    tables::{Cell, Cells, Table, Tables, cells, places},
};
use rusqlite::{Connection, params_from_iter};

use crate::{
    SqliteStore,
    decode::SqliteRow,
    encode::{self, Bound},
    error,
    writer::{BULK_ROWS, WriteOutcome},
};

/// A cell as SQLite binds it.
fn bound(cell: &Cell) -> Bound<'_> {
    Bound(match cell {
        Cell::Null => Value::Integer(None),
        Cell::Integer(value) => Value::Integer(Some(*value)),
        Cell::Text(text) => Value::Text(Some(text)),
        Cell::Bytes(bytes) => Value::Bytes(Some(bytes)),
    })
}

#[async_trait]
impl Tables for SqliteStore {
    async fn rows_after(
        &self,
        table: &'static Table,
        after: Option<Cells>,
        limit: u32,
    ) -> Result<Vec<Cells>> {
        self.scan(move |connection| {
            let after = after.unwrap_or_default();
            let sql = table.select_after(after.len(), limit);
            read(connection, table, &sql, &after, table.columns.len())
        })
        .await
    }

    async fn last_key(&self, table: &'static Table) -> Result<Option<Cells>> {
        self.scan(move |connection| {
            let sql = table.select_last_key();
            Ok(read(connection, table, &sql, &[], table.key)?.pop())
        })
        .await
    }

    async fn put_rows(&self, table: &'static Table, rows: Vec<Cells>) -> Result<()> {
        // With a transaction to itself, so that no other change is lost with it.
        self.write(BULK_ROWS, move |connection| {
            let (names, places) = (table.names(), places(table.columns.len()));
            // Names of tables and columns come from `memoir_store::tables`, all of them static. A plain insertion,
            // since an existing row must never be overwritten.
            let sql = format!("INSERT INTO {} ({names}) VALUES ({places})", table.name);
            let mut statement = connection.prepare_cached(&sql)?;
            for row in &rows {
                let written = statement.execute(params_from_iter(row.iter().map(bound)))?;
                encode::one(written, table.name)?;
            }
            Ok(WriteOutcome::DONE)
        })
        .await
    }
}

fn read(
    connection: &Connection,
    table: &Table,
    sql: &str,
    values: &[Cell],
    columns: usize,
) -> error::Result<Vec<Cells>> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(params_from_iter(values.iter().map(bound)))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(cells(table, &SqliteRow(row), columns)?);
    }
    Ok(found)
}
