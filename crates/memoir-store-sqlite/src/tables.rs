//! Whole tables, for moving an installation.

use async_trait::async_trait;
use memoir_store::{
    Result,
    tables::{Cell, Cells, Table, Tables, cells, places},
};
use rusqlite::{Connection, ToSql, params_from_iter, types::ToSqlOutput};

use crate::{
    SqliteStore,
    decode::SqliteRow,
    encode, error,
    writer::{BULK_ROWS, WriteOutcome},
};

/// A cell as SQLite binds it.
struct Bound<'cell>(&'cell Cell);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self.0 {
            Cell::Null => rusqlite::types::Null.to_sql(),
            Cell::Integer(value) => value.to_sql(),
            Cell::Text(text) => text.to_sql(),
            Cell::Bytes(bytes) => bytes.to_sql(),
        }
    }
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
                let written = statement.execute(params_from_iter(row.iter().map(Bound)))?;
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
    let mut rows = statement.query(params_from_iter(values.iter().map(Bound)))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(cells(table, &SqliteRow(row), columns)?);
    }
    Ok(found)
}
