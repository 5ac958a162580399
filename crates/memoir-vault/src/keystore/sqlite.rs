//! The key store in a SQLite file of its own.
//!
//! It has a rollback journal and `secure_delete`. If another program gave the file a write-ahead log, the count of
//! changes means nothing and destroyed keys would remain: then keys are read each time and nothing is destroyed until
//! the log is closed. If another file was put in its place, nothing is read. Waiting for another process can take up to
//! ten seconds.

mod counter;
mod file;
mod schema;

use std::{
    fmt,
    path::{Path, PathBuf},
};

use memoir_domain::{AccountId, AgentId, AgentScope, Timestamp};
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use self::counter::Counter;
use super::{
    Closing, inconsistent,
    rows::{
        AgentKeyRow, Agents, Changes, ClosingRow, KeyRows, KeyStoreContents, LogRow, MasterRow,
        WrittenChange,
    },
};
use crate::{Error, KeyId, Result};

/// The file's name if there is no file.
const NO_PATH: &str = "in memory";

/// A key store in a file, or in memory. `Debug` prints where it is only.
#[derive(derive_more::Debug)]
#[debug("SqliteKeys({})", self.name())]
pub struct SqliteKeys {
    /// `None` for one in memory.
    path: Option<PathBuf>,
    /// Which file it was when it was opened.
    identity: Option<(u64, u64)>,
    counter: Counter,
    state: Mutex<OpenFile>,
}

struct OpenFile {
    connection: Connection,
    /// Whether the file is a key store already, and not empty.
    is_made: bool,
    looked: schema::CheckedKeySchema,
}

impl SqliteKeys {
    /// The file at `path`, which is made where there is none and it `may_make` it.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Exposed`], [`Error::NotAKeyStore`], [`Error::Newer`], [`Error::Inconsistent`],
    /// [`Error::File`]; those of the driver.
    pub fn open(path: &Path, may_make: bool) -> Result<Self> {
        if may_make {
            file::create(path)?;
        }
        let (connection, is_made) = file::open(path, may_make)?;
        Self::start(connection, Some(path), is_made)
    }

    /// One without a file.
    ///
    /// # Errors
    /// Those of the driver.
    pub fn in_memory() -> Result<Self> {
        Self::start(file::open_in_memory()?, None, false)
    }

    fn start(mut connection: Connection, path: Option<&Path>, is_made: bool) -> Result<Self> {
        let mut looked = schema::CheckedKeySchema::default();
        if is_made {
            let transaction = connection.transaction()?;
            schema::check(&transaction, &mut looked)?;
        }
        Ok(Self {
            path: path.map(Path::to_owned),
            identity: path.and_then(file::identity),
            counter: Counter::of(path)?,
            state: Mutex::new(OpenFile {
                connection,
                is_made,
                looked,
            }),
        })
    }

    fn place(&self) -> &Path {
        self.path.as_deref().unwrap_or(Path::new(NO_PATH))
    }

    /// Another file in the place of the open one is the one in which other processes destroy keys. Without a file, none
    /// can.
    fn check_place(&self) -> Result<()> {
        match self.path.as_deref().and_then(file::identity) {
            Some(found) if Some(found) != self.identity => Err(Error::Replaced(self.name())),
            _ => Ok(()),
        }
    }

    /// Changes the file in a transaction that waits for its turn to write before it reads, where the master key is
    /// the one expected, or any is.
    fn change<T>(
        &self,
        under: Option<KeyId>,
        work: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<(T, WrittenChange)> {
        let state = &mut *self.state.lock();
        // Outside of a transaction, where the mode of the journal can be changed.
        if self.counter.read()?.is_none() {
            file::give_up_log(&state.connection)?;
        }
        // The lock to write before anything is read: the data could otherwise be outdated when the change is written.
        let behavior = TransactionBehavior::Immediate;
        let transaction = state.connection.transaction_with_behavior(behavior)?;
        self.check_there()?;
        // No process can give it a log before the transaction ends.
        let before = self.counter.read()?;
        if before.is_none() {
            return Err(Error::Logged(self.name()));
        }
        schema::check(&transaction, &mut state.looked)?;
        if let Some(under) = under
            // Under the lock, and so in one step with the change: a key that is wrapped under a
            // master key of which a rotation has just disposed would never open again.
            && master(&transaction)?.key_id != under
        {
            return Err(Error::Overtaken);
        }
        let done = work(&transaction)?;
        transaction.commit()?;
        // Worked out and not read: another process may have changed the file after our commit, and
        // its change must not pass for ours.
        let after = self.counter.count(before);
        Ok((done, WrittenChange { before, after }))
    }
}

impl KeyRows for SqliteKeys {
    fn name(&self) -> String {
        self.place().display().to_string()
    }

    fn check_there(&self) -> Result<()> {
        match self.path.as_deref().and_then(file::identity) == self.identity {
            true => Ok(()),
            false => Err(Error::Replaced(self.name())),
        }
    }

    fn changes(&self) -> Result<Changes> {
        self.check_place()?;
        self.counter.read()
    }

    fn read(&self, agents: Agents<'_>) -> Result<KeyStoreContents> {
        let state = &mut *self.state.lock();
        self.check_place()?;
        let transaction = state.connection.transaction()?;
        if !state.is_made {
            if file::recognise(&transaction, self.place())? == 0 {
                return Ok(KeyStoreContents::default());
            }
            schema::check(&transaction, &mut state.looked)?;
            state.is_made = true;
        }
        Ok(KeyStoreContents {
            master: Some(master(&transaction)?),
            agents: match agents {
                Agents::All => all_agents(&transaction)?,
                Agents::These(scopes) => {
                    let found = scopes.iter().map(|scope| agent(&transaction, *scope));
                    found.filter_map(Result::transpose).collect::<Result<_>>()?
                }
            },
            log: log(&transaction)?,
            closing: closing(&transaction)?,
            // The transaction has read: no process changes the file before it ends.
            changes: self.counter.read()?,
        })
    }

    fn fill(&self, contents: &KeyStoreContents) -> Result<()> {
        let state = &mut *self.state.lock();
        file::make(&mut state.connection, self.place(), |fresh| {
            for row in &contents.agents {
                write_agent(fresh, row)?;
            }
            write_single_rows(fresh, contents)
        })
    }

    fn add_agent(&self, under: KeyId, row: &AgentKeyRow) -> Result<WrittenChange> {
        let ((), written) = self.change(Some(under), |connection| {
            if agent(connection, row.scope)?.is_some() {
                return Err(Error::Overtaken);
            }
            write_agent(connection, row)
        })?;
        Ok(written)
    }

    fn add_log(&self, under: KeyId, row: &LogRow) -> Result<()> {
        let added = self.change(Some(under), |connection| {
            if log(connection)?.is_some() {
                return Err(Error::Overtaken);
            }
            write_log(connection, row)
        });
        added.map(drop)
    }

    fn set_closing(&self, under: KeyId, row: &ClosingRow) -> Result<()> {
        let set = self.change(Some(under), |connection| {
            // `secure_delete` overwrites the old data; the two statements are one transaction.
            connection.execute("DELETE FROM closing", [])?;
            write_closing(connection, row)
        });
        set.map(drop)
    }

    fn destroy(&self, scope: AgentScope, now: Timestamp) -> Result<bool> {
        let (was_there, _) = self.change(None, |connection| {
            let destroyed = connection.execute(
                "UPDATE agent_keys SET wrapped = NULL, destroyed_at = ?3 \
                 WHERE account_id = ?1 AND agent_id = ?2 AND wrapped IS NOT NULL",
                params![
                    scope.account.as_bytes(),
                    scope.agent.as_bytes(),
                    now.microseconds()
                ],
            )?;
            // Read again, since a trigger could have swallowed the change, and a successful erasure promises that the
            // agent's data cannot be read any more.
            if agent(connection, scope)?.is_some_and(|row| row.key.is_ok()) {
                let problem = format!("agent {}: the key was not taken away", scope.agent);
                return Err(inconsistent("agent_keys", problem));
            }
            Ok(destroyed > 0)
        })?;
        Ok(was_there)
    }

    fn rewrap(&self, contents: &KeyStoreContents) -> Result<()> {
        let rewrapped = self.change(None, |connection| {
            // An unknown number (`None`) never gets this far: `change` has refused it.
            if self.counter.read()? != contents.changes {
                return Err(Error::Overtaken);
            }
            let mut update = connection.prepare(
                "UPDATE agent_keys SET wrapped = ?3 WHERE account_id = ?1 AND agent_id = ?2",
            )?;
            for row in &contents.agents {
                if let Ok(wrapped) = &row.key {
                    let (account, agent) = (row.scope.account, row.scope.agent);
                    let written =
                        update.execute(params![account.as_bytes(), agent.as_bytes(), wrapped])?;
                    one(written, "agent_keys")?;
                }
            }
            connection
                .execute_batch("DELETE FROM log_key; DELETE FROM closing; DELETE FROM master")?;
            write_single_rows(connection, contents)
        });
        rewrapped.map(drop)
    }
}

fn master(connection: &Connection) -> Result<MasterRow> {
    let row = connection
        .prepare_cached("SELECT key_id, proof FROM master")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (key_id, proof) = row.ok_or_else(|| inconsistent("master", "no row".to_owned()))?;
    let key_id = KeyId::from_bytes(key_id);
    Ok(MasterRow { key_id, proof })
}

/// The columns of [`agent_row`].
const AGENTS: &str =
    "SELECT account_id, agent_id, created_at, destroyed_at, wrapped FROM agent_keys";

fn agent(connection: &Connection, scope: AgentScope) -> Result<Option<AgentKeyRow>> {
    connection
        .prepare_cached(&format!("{AGENTS} WHERE account_id = ?1 AND agent_id = ?2"))?
        .query_row(
            params![scope.account.as_bytes(), scope.agent.as_bytes()],
            |row| Ok(agent_row(row)),
        )
        .optional()?
        .transpose()
}

fn all_agents(connection: &Connection) -> Result<Vec<AgentKeyRow>> {
    connection
        .prepare(AGENTS)?
        .query_and_then([], agent_row)?
        .collect()
}

fn agent_row(row: &rusqlite::Row<'_>) -> Result<AgentKeyRow> {
    let scope = AgentScope {
        account: AccountId::from_bytes(row.get(0)?),
        agent: AgentId::from_bytes(row.get(1)?),
    };
    let name = format_args!("agent {}", scope.agent);
    let time = |microseconds| time(microseconds, "agent_keys", name);
    Ok(AgentKeyRow {
        scope,
        created_at: time(row.get(2)?)?,
        key: match row.get(4)? {
            Some(wrapped) => Ok(wrapped),
            None => Err(time(row.get(3)?)?),
        },
    })
}

fn log(connection: &Connection) -> Result<Option<LogRow>> {
    let row: Option<(_, i64, _)> = connection
        .prepare_cached("SELECT name, created_at, wrapped FROM log_key")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let read = |(name, created_at, wrapped)| {
        Ok(LogRow {
            created_at: time(created_at, "log_key", format_args!("log {name}"))?,
            name,
            wrapped,
        })
    };
    row.map(read).transpose()
}

fn closing(connection: &Connection) -> Result<Option<ClosingRow>> {
    let row: Option<(_, i64, _)> = connection
        .prepare_cached("SELECT is_closed, changed_at, wrapped FROM closing")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let read = |(is_closed, changed_at, wrapped)| {
        let closing = Closing {
            is_closed,
            changed_at: time(changed_at, "closing", format_args!("its row"))?,
        };
        Ok(ClosingRow { closing, wrapped })
    };
    row.map(read).transpose()
}

/// A time in a row of that table, which errors call so.
fn time(microseconds: i64, table: &'static str, row: fmt::Arguments<'_>) -> Result<Timestamp> {
    Timestamp::from_microseconds(microseconds)
        .ok_or_else(|| inconsistent(table, format!("{row}: no time")))
}

/// Writes the rows of which there is one at most, as far as there are any.
fn write_single_rows(connection: &Connection, contents: &KeyStoreContents) -> Result<()> {
    if let Some(row) = &contents.master {
        let sql = "INSERT INTO master (id, key_id, proof) VALUES (1, ?1, ?2)";
        let values = params![row.key_id.as_bytes(), row.proof];
        one(connection.execute(sql, values)?, "master")?;
    }
    if let Some(row) = &contents.log {
        write_log(connection, row)?;
    }
    if let Some(row) = &contents.closing {
        write_closing(connection, row)?;
    }
    Ok(())
}

fn write_agent(connection: &Connection, row: &AgentKeyRow) -> Result<()> {
    let written = connection
        .prepare_cached(
            "INSERT INTO agent_keys (account_id, agent_id, created_at, destroyed_at, wrapped) \
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            row.scope.account.as_bytes(),
            row.scope.agent.as_bytes(),
            row.created_at.microseconds(),
            row.key.as_ref().err().map(|time| time.microseconds()),
            row.key.as_ref().ok()
        ])?;
    one(written, "agent_keys")
}

fn write_log(connection: &Connection, row: &LogRow) -> Result<()> {
    let sql = "INSERT INTO log_key (id, name, created_at, wrapped) VALUES (1, ?1, ?2, ?3)";
    let values = params![row.name, row.created_at.microseconds(), row.wrapped];
    one(connection.execute(sql, values)?, "log_key")
}

fn write_closing(connection: &Connection, row: &ClosingRow) -> Result<()> {
    let sql = "INSERT INTO closing (id, is_closed, changed_at, wrapped) VALUES (1, ?1, ?2, ?3)";
    let changed_at = row.closing.changed_at.microseconds();
    let values = params![row.closing.is_closed, changed_at, row.wrapped];
    one(connection.execute(sql, values)?, "closing")
}

/// Makes sure that a statement wrote the one row that it was to write.
fn one(written: usize, table: &'static str) -> Result<()> {
    if written == 1 {
        return Ok(());
    }
    Err(inconsistent(
        table,
        format!("{written} rows were written in place of one"),
    ))
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        match error.sqlite_error_code() {
            Some(ErrorCode::ReadOnly) => Self::ReadOnly,
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            // The statement's text is left out: only what the driver says of it.
            _ => match error {
                rusqlite::Error::SqliteFailure(code, message) => {
                    Self::Driver(message.unwrap_or_else(|| code.to_string()))
                }
                other => Self::Driver(other.to_string()),
            },
        }
    }
}
