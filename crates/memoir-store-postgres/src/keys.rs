//! The key store of several nodes: wrapped keys in a database, or a schema, of their own.
//!
//! Every change increments the generation beside the master key's fingerprint, in the same transaction, which locks the
//! row, so that changes are sequential. Each response has the generation. For half a second after a request, this
//! process relies on it: looking for a key costs nothing then, and one round trip after that, for any number of agents.
//! So no process uses a key for longer than half a second after another one destroyed it, and a process that cannot
//! reach the key store uses none at all from then on.
//!
//! Destroyed or replaced keys stay on the server's disk until its vacuum and its write-ahead log have moved on, wrapped
//! under the master key of their time.

use std::{
    future::Future,
    time::{Duration, Instant},
};

use memoir_domain::{AccountId, AgentId, AgentScope, Timestamp};
use memoir_store::Reach;
use memoir_vault::{
    Closing, Error, KeyId, KeyRows, Result,
    rows::{
        AgentKeyRow, Agents, Changes, ClosingRow, KeyStoreContents, LogRow, MasterRow,
        WrittenChange,
    },
};
use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Row, types::FromSql};

use crate::{
    DatabaseIdentity, configured,
    error::StatementFault,
    migrate::{self, KEY_MIGRATIONS, Migration},
    pool::{Connections, Statement, met},
    value::column,
};

/// The most connections of one process: one that is held up keeps no other thread from looking.
// Every process of a fleet holds as many. Used keys are cached in memory, so that requests are rare.
const CONNECTIONS: usize = 2;
/// How long the key store counts as unchanged: half of the second after which a destroyed key must be gone everywhere,
/// so that operations in progress have the other half to end.
const FRESH: Duration = Duration::from_millis(500);
/// How long a response about some agents may take: it blocks the caller's thread.
const ANSWER: Duration = Duration::from_secs(5);

/// Fails if a trigger or rule on the tables could keep a destroyed key, or swallow a new one.
// Triggers and rules are the two ways in which a table can act by itself. Asked in the transaction
// of each change, whose first statement it is.
const FORM: &str = "SELECT 1 / (NOT EXISTS (SELECT 1 FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid \
         WHERE relnamespace = current_schema()::regnamespace AND NOT tgisinternal) \
     AND NOT EXISTS (SELECT 1 FROM pg_rules WHERE schemaname = current_schema()))::int";
/// Increments the generation: under that master key, and from that generation, or from any if `None`. Returns the new
/// one; fails without a row.
const COUNT: &str = "WITH counted AS (UPDATE master SET generation = generation + 1 \
         WHERE key_id = coalesce($1, key_id) AND generation = coalesce($2, generation) RETURNING generation) \
     SELECT coalesce(max(generation), 0) / (count(*) = 1)::int FROM counted";

const AGENTS: &str =
    "SELECT account_id, agent_id, created_at, destroyed_at, wrapped FROM agent_keys";
const ADD_AGENT: &str = "INSERT INTO agent_keys (account_id, agent_id, created_at, destroyed_at, wrapped) \
     SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::int8[], $4::int8[], $5::bytea[]) ON CONFLICT DO NOTHING";
const ADD_LOG: &str = "INSERT INTO log_key (id, name, created_at, wrapped) VALUES (1, $1, $2, $3) \
     ON CONFLICT DO NOTHING";
const SET_CLOSING: &str = "INSERT INTO closing (id, is_closed, changed_at, wrapped) VALUES (1, $1, $2, $3) \
     ON CONFLICT (id) DO UPDATE SET is_closed = excluded.is_closed, changed_at = excluded.changed_at, \
         wrapped = excluded.wrapped";

/// The key store in a database of PostgreSQL. Its callers are threads that may block, and it has a thread of its own
/// for its connections. `Debug` prints only its location.
#[derive(derive_more::Debug)]
#[debug("PostgresKeys({})", self.connections.location())]
pub struct PostgresKeys {
    /// Taken when it is dropped.
    runtime: Option<Runtime>,
    connections: Connections,
    seen: Mutex<Option<SeenGeneration>>,
}

/// The latest known generation, and when the request that returned it was sent.
#[derive(Clone, Copy)]
struct SeenGeneration {
    generation: i64,
    asked_at: Instant,
}

impl PostgresKeys {
    /// The key store that the URL names, which must be apart from the data. Reads nothing in it yet.
    ///
    /// # Errors
    /// [`Error::Unreachable`]; [`Error::Unusable`] for an invalid URL, for a database that could lose data, and for the
    /// schema of the data, or their role.
    pub fn at(url: &str, data: Option<&DatabaseIdentity>) -> Result<Self> {
        let store = |error: memoir_store::Error| error_of("the key store", error);
        let configured = configured(url).map_err(store)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("memoir-keys")
            .enable_all()
            .build()
            .map_err(|problem| Error::Driver(problem.to_string()))?;
        let connections = Connections::new(configured, CONNECTIONS).map_err(store)?;
        let keys = Self {
            runtime: Some(runtime),
            connections,
            seen: Mutex::default(),
        };
        // Also for a key store: a server that acknowledges before it writes could lose a key that
        // has already sealed something.
        keys.wait(crate::look_over(&keys.connections))?;
        if let Some(data) = data {
            keys.check_apart(data)?;
        }
        Ok(keys)
    }

    /// Opens the key store that the URL names.
    ///
    /// # Errors
    /// As for [`PostgresKeys::at`]; [`Error::Unusable`] where it waits for migrations: these are named.
    pub fn open(url: &str, data: Option<&DatabaseIdentity>) -> Result<Self> {
        let keys = Self::at(url, data)?;
        let pending = keys.pending()?;
        if !pending.is_empty() {
            let names: Vec<_> = pending.iter().map(|one| one.name).collect();
            return Err(keys.unusable(format!("migrations are pending: {}", names.join(", "))));
        }
        Ok(keys)
    }

    /// The migrations that it waits for.
    ///
    /// # Errors
    /// Those of the database.
    pub fn pending(&self) -> Result<&'static [Migration]> {
        self.wait(migrate::pending(&self.connections, KEY_MIGRATIONS))
    }

    /// Runs the pending migrations. Returns their names.
    ///
    /// # Errors
    /// Those of the database. Finished migrations remain.
    pub fn migrate(&self) -> Result<Vec<&'static str>> {
        self.wait(migrate::run(&self.connections, KEY_MIGRATIONS))
    }

    /// Access to the data or their copies must not include the keys.
    fn check_apart(&self, data: &DatabaseIdentity) -> Result<()> {
        let own = self.wait(DatabaseIdentity::of(&self.connections))?;
        if (&own.server, &own.database) != (&data.server, &data.database) {
            return Ok(());
        }
        let shared = match () {
            () if own.schema == data.schema => "in the same schema as the data",
            () if own.role == data.role => "in the same database as the data, with the same role",
            () => return Ok(()),
        };
        Err(self.unusable(format!(
            "it lies {shared}: access to the data would include the keys; give it a database of its own, or a schema \
             with a role of its own"
        )))
    }

    fn unusable(&self, problem: String) -> Error {
        Error::Unusable {
            store: self.connections.location().to_owned(),
            problem,
        }
    }

    /// Blocks, on whatever thread this is.
    fn wait<T: Send, E: Into<StatementFault> + Send>(
        &self,
        work: impl Future<Output = Result<T, E>> + Send,
    ) -> Result<T> {
        let Some(runtime) = &self.runtime else {
            return Err(Error::Driver("the key store is closed".to_owned()));
        };
        // A thread that drives tasks of another runtime must not wait for one itself. A thread for each request costs
        // some ten microseconds beside a round trip, and works on any thread of the caller.
        let done = std::thread::scope(|threads| threads.spawn(|| runtime.block_on(work)).join());
        match done {
            Ok(done) => {
                done.map_err(|fault| error_of(self.connections.location(), fault.into().into()))
            }
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// Records the response to a request that was sent then.
    fn see(&self, generation: i64, asked_at: Instant) {
        let mut seen = self.seen.lock();
        // Of two responses that cross, the older one is ignored. The time counts from the request and not from the
        // response: the generation may have been read at any moment in between, the earliest of which must count.
        let is_newer = |seen: SeenGeneration| {
            // A standby that took over without the last changes counts fewer of them. It is believed once the response
            // before it is outdated; otherwise each look-up would be a request until it had counted as many.
            let is_outdated = asked_at.saturating_duration_since(seen.asked_at) >= FRESH;
            is_outdated || (generation, asked_at) > (seen.generation, seen.asked_at)
        };
        if seen.is_none_or(is_newer) {
            *seen = Some(SeenGeneration {
                generation,
                asked_at,
            });
        }
    }

    /// Writes all of it, or nothing if a statement's condition is unmet. Returns the new generation.
    fn change(
        &self,
        under: Option<KeyId>,
        seen: Changes,
        statements: Vec<Statement<'_>>,
    ) -> Result<i64> {
        // Before the transaction begins, for the same reason.
        let asked_at = Instant::now();
        let under = under.as_ref().map(|id| &id.as_bytes()[..]);
        let seen = seen.map(|number| i64::try_from(number).unwrap_or(i64::MAX));
        let mut all = vec![
            Statement::new(FORM, values![]),
            Statement::new(COUNT, values![under, seen]),
        ];
        all.extend(statements);
        let written = self.wait(async {
            match self.connections.write_once_begun(&all).await {
                Err(fault) if fault.is_unmet(0) => Ok(Err(inconsistent(
                    "master",
                    "a trigger or a rule in its schema was added outside Memoir",
                ))),
                // Not distinguished: another master key, another generation, or an existing row all mean that the
                // caller's read is out of date.
                Err(fault) if (1..all.len()).any(|at| fault.is_unmet(at)) => {
                    Ok(Err(Error::Overtaken))
                }
                answers => answers.map(Ok),
            }
        })?;
        let counted = written?;
        let counted = counted.get(1).and_then(|rows| rows.first());
        let counted = counted.ok_or_else(|| inconsistent("master", "it answers nothing"))?;
        let generation = get(counted, 0, "master")?;
        self.see(generation, asked_at);
        Ok(generation)
    }
}

impl Drop for PostgresKeys {
    fn drop(&mut self) {
        // Without waiting: it may be dropped where nothing may be waited for.
        if let Some(runtime) = self.runtime.take() {
            // Connections that are cut off so roll back uncommitted changes.
            runtime.shutdown_background();
        }
    }
}

impl KeyRows for PostgresKeys {
    fn name(&self) -> String {
        self.connections.location().to_owned()
    }

    // A database has no file that could be exchanged under it: every question goes to the server that the URL names.
    fn check_there(&self) -> Result<()> {
        Ok(())
    }

    fn changes(&self) -> Result<Changes> {
        // `None` makes the caller read, and reading fails if the key store cannot be reached: a value is never used for
        // longer than `FRESH`.
        let seen = self
            .seen
            .lock()
            .filter(|seen| seen.asked_at.elapsed() < FRESH);
        Ok(seen.and_then(|seen| u64::try_from(seen.generation).ok()))
    }

    fn read(&self, agents: Agents<'_>) -> Result<KeyStoreContents> {
        let asked_at = Instant::now();
        let whole = [
            "SELECT key_id, proof, generation FROM master",
            "SELECT name, created_at, wrapped FROM log_key",
            "SELECT is_closed, changed_at, wrapped FROM closing",
        ];
        let mut statements = Vec::from(whole.map(|sql| Statement::new(sql, values![])));
        match agents {
            Agents::All => statements.push(Statement::new(AGENTS, values![])),
            Agents::These([]) => {}
            Agents::These(scopes) => statements.push(Statement::new(
                format!(
                    "{AGENTS} JOIN unnest($1::bytea[], $2::bytea[]) AS wanted (account, agent) \
                     ON account_id = account AND agent_id = agent"
                ),
                vec![
                    column(scopes, |scope| scope.account.as_bytes()),
                    column(scopes, |scope| scope.agent.as_bytes()),
                ],
            )),
        }
        let answers = self.wait(async {
            let reading = self.connections.read(Reach::All, &statements);
            match agents {
                // A rotation and a copy read every key, which may take as long as a transaction.
                Agents::All => reading.await,
                Agents::These(_) => match tokio::time::timeout(ANSWER, reading).await {
                    Ok(answers) => answers,
                    Err(_) => Err(self
                        .connections
                        .unreachable("it does not answer".to_owned())),
                },
            }
        })?;
        let rows = |at: usize| answers.get(at).into_iter().flatten();
        let Some(master) = rows(0).next() else {
            // Existing empty tables: `fill` makes a key store of them. A key store that was emptied is
            // indistinguishable; `unlock` refuses it for a database that was sealed before (`must_exist`).
            return Ok(KeyStoreContents::default());
        };
        let generation: i64 = get(master, 2, "master")?;
        self.see(generation, asked_at);
        Ok(KeyStoreContents {
            changes: u64::try_from(generation).ok(),
            master: Some(MasterRow {
                key_id: KeyId::from_bytes(bytes(master, 0, "master")?),
                proof: get(master, 1, "master")?,
            }),
            log: rows(1).next().map(log_row).transpose()?,
            closing: rows(2).next().map(closing_row).transpose()?,
            agents: rows(3).map(agent_row).collect::<Result<_>>()?,
        })
    }

    fn fill(&self, contents: &KeyStoreContents) -> Result<()> {
        let Some(master) = &contents.master else {
            return Ok(());
        };
        let enter = "INSERT INTO master (id, key_id, proof, generation) VALUES (1, $1, $2, 1) ON CONFLICT DO NOTHING";
        let values = values![&master.key_id.as_bytes()[..], &master.proof[..]];
        let mut statements = vec![met(enter, 1, values)];
        if !contents.agents.is_empty() {
            statements.push(add_agents(&contents.agents));
        }
        statements.extend(contents.log.as_ref().map(add_log));
        statements.extend(contents.closing.as_ref().map(set_closing));
        self.wait(async {
            match self.connections.write_once_begun(&statements).await {
                // Another process filled it at the same time, and its content remains. Opening it next finds which
                // master key it needs.
                Err(fault) if fault.is_unmet(0) => Ok(()),
                filled => filled.map(drop),
            }
        })
    }

    fn add_agent(&self, under: KeyId, row: &AgentKeyRow) -> Result<WrittenChange> {
        let add = add_agents(std::slice::from_ref(row));
        let generation = self.change(Some(under), None, vec![add])?;
        let after = u64::try_from(generation).ok();
        // By `COUNT` in the same transaction, which locks the row: no other change lies between the two.
        let before = after.map(|after| after.saturating_sub(1));
        Ok(WrittenChange { before, after })
    }

    fn add_log(&self, under: KeyId, row: &LogRow) -> Result<()> {
        self.change(Some(under), None, vec![add_log(row)]).map(drop)
    }

    fn set_closing(&self, under: KeyId, row: &ClosingRow) -> Result<()> {
        self.change(Some(under), None, vec![set_closing(row)])
            .map(drop)
    }

    fn destroy(&self, scope: AgentScope, now: Timestamp) -> Result<bool> {
        // `wrapped IS NOT NULL` keeps the time of the first destruction, and shows whether it was this one.
        let destroy = met(
            "UPDATE agent_keys SET wrapped = NULL, destroyed_at = $3 \
             WHERE account_id = $1 AND agent_id = $2 AND wrapped IS NOT NULL",
            1,
            values![scope.account.as_bytes(), scope.agent.as_bytes(), now],
        );
        // Under any master key: a key need not be opened to be destroyed, and a concurrent rotation must not delay it.
        match self.change(None, None, vec![destroy]) {
            // There is none that could be destroyed.
            Err(Error::Overtaken) => Ok(false),
            changed => changed.map(|_| true),
        }
    }

    fn rewrap(&self, contents: &KeyStoreContents) -> Result<()> {
        let (Some(master), Some(_)) = (&contents.master, contents.changes) else {
            return Err(Error::Overtaken);
        };
        let values = values![&master.key_id.as_bytes()[..], &master.proof[..]];
        let mut statements = vec![met("UPDATE master SET key_id = $1, proof = $2", 1, values)];
        let there = contents.agents.iter().filter(|row| row.key.is_ok());
        let there: Vec<_> = there.collect();
        if !there.is_empty() {
            statements.push(met(
                "UPDATE agent_keys SET wrapped = anew.wrapped \
                 FROM unnest($1::bytea[], $2::bytea[], $3::bytea[]) AS anew (account, agent, wrapped) \
                 WHERE account_id = account AND agent_id = agent AND agent_keys.wrapped IS NOT NULL",
                // The generation has said already that nothing was destroyed since; the count says
                // the same of the rows themselves.
                there.len(),
                vec![
                    column(&there, |row| row.scope.account.as_bytes()),
                    column(&there, |row| row.scope.agent.as_bytes()),
                    column(&there, |row| row.key.as_deref().ok()),
                ],
            ));
        }
        let rewrap_log = "UPDATE log_key SET wrapped = $1";
        let log = contents.log.as_ref();
        statements.extend(log.map(|row| met(rewrap_log, 1, values![&row.wrapped[..]])));
        statements.extend(contents.closing.as_ref().map(set_closing));
        self.change(None, contents.changes, statements).map(drop)
    }
}

fn add_agents(rows: &[AgentKeyRow]) -> Statement<'_> {
    let values = vec![
        column(rows, |row| row.scope.account.as_bytes()),
        column(rows, |row| row.scope.agent.as_bytes()),
        column(rows, |row| row.created_at),
        column(rows, |row| row.key.as_ref().err().copied()),
        column(rows, |row| row.key.as_deref().ok()),
    ];
    met(ADD_AGENT, rows.len(), values)
}

fn add_log(row: &LogRow) -> Statement<'_> {
    let values = values![&*row.name, row.created_at, &row.wrapped[..]];
    met(ADD_LOG, 1, values)
}

fn set_closing(row: &ClosingRow) -> Statement<'_> {
    let Closing {
        is_closed,
        changed_at,
    } = row.closing;
    let values = values![is_closed, changed_at, &row.wrapped[..]];
    met(SET_CLOSING, 1, values)
}

fn agent_row(row: &Row) -> Result<AgentKeyRow> {
    const TABLE: &str = "agent_keys";
    Ok(AgentKeyRow {
        scope: AgentScope {
            account: AccountId::from_bytes(bytes(row, 0, TABLE)?),
            agent: AgentId::from_bytes(bytes(row, 1, TABLE)?),
        },
        created_at: time(row, 2, TABLE)?,
        key: match get(row, 4, TABLE)? {
            Some(wrapped) => Ok(wrapped),
            None => Err(time(row, 3, TABLE)?),
        },
    })
}

fn log_row(row: &Row) -> Result<LogRow> {
    Ok(LogRow {
        name: get(row, 0, "log_key")?,
        created_at: time(row, 1, "log_key")?,
        wrapped: get(row, 2, "log_key")?,
    })
}

fn closing_row(row: &Row) -> Result<ClosingRow> {
    let closing = Closing {
        is_closed: get(row, 0, "closing")?,
        changed_at: time(row, 1, "closing")?,
    };
    let wrapped = get(row, 2, "closing")?;
    Ok(ClosingRow { closing, wrapped })
}

fn get<'row, T: FromSql<'row>>(row: &'row Row, at: usize, table: &'static str) -> Result<T> {
    row.try_get(at)
        .map_err(|_| inconsistent(table, &format!("column {at} is none that Memoir writes")))
}

fn bytes<const N: usize>(row: &Row, at: usize, table: &'static str) -> Result<[u8; N]> {
    let bytes: &[u8] = get(row, at, table)?;
    bytes
        .try_into()
        .map_err(|_| inconsistent(table, &format!("column {at} has {} bytes", bytes.len())))
}

fn time(row: &Row, at: usize, table: &'static str) -> Result<Timestamp> {
    Timestamp::from_microseconds(get(row, at, table)?)
        .ok_or_else(|| inconsistent(table, &format!("column {at} is no time")))
}

fn inconsistent(table: &'static str, problem: &str) -> Error {
    Error::Inconsistent {
        table,
        problem: problem.to_owned(),
    }
}

fn error_of(store: &str, error: memoir_store::Error) -> Error {
    use memoir_store::Error as Stored;
    match error {
        Stored::Busy => Error::Busy,
        Stored::ReadOnly => Error::ReadOnly,
        Stored::Full => Error::Full,
        Stored::Open { problem, .. } => Error::Unusable {
            store: store.to_owned(),
            problem,
        },
        // A change whose response was lost is repeated by its caller, or left: a key without an agent opens nothing.
        Stored::Unreachable { problem, .. } | Stored::Lost(problem) => Error::Unreachable {
            store: store.to_owned(),
            problem,
        },
        Stored::Driver(problem) => Error::Driver(problem),
        other => Error::Driver(other.to_string()),
    }
}
