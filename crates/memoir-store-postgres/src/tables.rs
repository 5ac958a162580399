//! Whole tables, for moving an installation.

use async_trait::async_trait;
use memoir_store::{
    Error, Reach, Result, Value as One,
    tables::{Cell, Cells, ColumnKind, TABLES, Table, Tables, cells, places},
};
use tokio_postgres::Row;

use crate::{
    APPLICATION, PostgresStore,
    pool::{Statement, met},
    value::{Value, all, list},
};

/// Where `memoir_migrations` marks an unfinished move into the database.
// Migrations count from 1, so that this is the number of none, and leaves `max(number)` as it is.
const MOVE: i64 = -1;

#[async_trait]
impl Tables for PostgresStore {
    async fn rows_after(
        &self,
        table: &'static Table,
        after: Option<Cells>,
        limit: u32,
    ) -> Result<Vec<Cells>> {
        let after = after.unwrap_or_default();
        let sql = table.select_after(after.len(), limit);
        let key = after.iter().enumerate();
        let key = key.map(|(at, cell)| one(table, at, cell));
        let key = key.map(|cell| cell.map(Value::One));
        let rows = self.by_key(sql, key.collect::<Result<_>>()?).await?;
        all(&rows, |row| cells(table, row, table.columns.len()))
    }

    async fn last_key(&self, table: &'static Table) -> Result<Option<Cells>> {
        let rows = self.by_key(table.select_last_key(), values![]).await?;
        Ok(all(&rows, |row| cells(table, row, table.key))?.pop())
    }

    async fn put_rows(&self, table: &'static Table, rows: Vec<Cells>) -> Result<()> {
        let columns = (0..table.columns.len()).map(|at| {
            let cells = rows.iter().map(|row| row.get(at).unwrap_or(&Cell::Null));
            let values = cells.map(|cell| one(table, at, cell));
            Ok(list(values.collect::<Result<Vec<_>>>()?))
        });
        let values: Vec<Value<'_>> = columns.collect::<Result<_>>()?;
        let (names, places) = (table.names(), places(values.len()));
        let sql = format!(
            "INSERT INTO {} ({names}) SELECT * FROM unnest({places})",
            table.name
        );
        let statement = met(&sql, rows.len(), values);
        self.connections.write(Reach::All, &[statement]).await?;
        Ok(())
    }
}

impl PostgresStore {
    /// Reads rows in the order of their key, along its index.
    ///
    /// The planner takes the policies to let few rows through, and would read all that are left, and sort them, for
    /// each of a million rows' thousands; and compile that each time.
    async fn by_key(&self, sql: String, values: Vec<Value<'_>>) -> Result<Vec<Row>> {
        let along = "SELECT set_config('enable_sort', 'off', true), set_config('jit', 'off', true)";
        let statements = [
            Statement::new(along, values![]),
            Statement::new(sql, values),
        ];
        let [_, rows] = self.connections.read_each(Reach::All, statements).await?;
        Ok(rows)
    }

    /// Whether a process of Memoir has another connection to the database, as far as this role is shown those of others.
    /// Before the store has made more than one connection itself.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn is_used_by_others(&self) -> Result<bool> {
        let sql = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() \
             AND application_name = $1 AND pid <> pg_backend_pid() LIMIT 1";
        let values = values![APPLICATION];
        let rows = self.connections.rows(Reach::All, sql, values).await?;
        Ok(!rows.is_empty())
    }

    /// Whether a move into the database was begun and has not come to its end.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn is_being_filled(&self) -> Result<bool> {
        let sql = "SELECT 1 FROM memoir_migrations WHERE number = $1";
        let values = values![MOVE];
        let rows = self.connections.rows(Reach::All, sql, values).await?;
        Ok(!rows.is_empty())
    }

    /// Marks the begin of a move into the database, and with `false` its end; in between the database cannot be opened.
    /// The end also updates the planner's statistics for the next readers.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn note_move(&self, begins: bool) -> Result<()> {
        let statements = if begins {
            let sql = "INSERT INTO memoir_migrations (number, name) VALUES ($1, 'a move') \
                 ON CONFLICT DO NOTHING RETURNING 1";
            vec![Statement::new(sql, values![MOVE])]
        } else {
            let tables: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
            let sql = "DELETE FROM memoir_migrations WHERE number = $1 RETURNING 1";
            vec![
                Statement::new(format!("ANALYZE {}", tables.join(", ")), values![]),
                Statement::new(sql, values![MOVE]),
            ]
        };
        self.connections.write(Reach::All, &statements).await?;
        Ok(())
    }
}

/// A cell as its column has it.
fn one<'cell>(table: &Table, at: usize, cell: &'cell Cell) -> Result<One<'cell>> {
    use ColumnKind::{Bytes, Flag, Integer, Json, Text};
    let (name, kind) = table.columns[at];
    Ok(match (kind, cell) {
        (Integer, Cell::Null) => One::Integer(None),
        (Integer, Cell::Integer(value)) => One::Integer(Some(*value)),
        (Flag, Cell::Integer(value)) => One::Flag(Some(*value != 0)),
        (Text, Cell::Null) => One::Text(None),
        (Text, Cell::Text(text)) => One::Text(Some(text)),
        (Json | Bytes, Cell::Null) => One::Bytes(None),
        (Json | Bytes, Cell::Bytes(bytes)) => One::Bytes(Some(bytes)),
        (Json | Bytes, Cell::Text(text)) => One::Bytes(Some(text.as_bytes())),
        _ => {
            let problem = format!("`{name}` is of another type");
            return Err(Error::inconsistent(table.name, problem));
        }
    })
}
