//! Connections, and transactions that are one round trip each.
//!
//! A transaction is sent whole, from `BEGIN` to `COMMIT`, without waiting in between. If later statements depend on the
//! effect of one, that statement itself fails without it (see [`met`]), and with it the whole transaction. No statement
//! is prepared under a name and nothing is set beyond the transaction, so that a pooler may assign each transaction
//! another connection, unless the URL says that there is none. Then repeated statements are prepared once for each
//! connection: to parse and plan one takes the database several times as long as to execute it. Most decisions are one
//! call of a function of the database, which keeps its plans by itself, and are a transaction without statements that
//! begin or end it.

use std::{
    borrow::Cow,
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use data_encoding::HEXLOWER;
use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime, TimeoutType,
    Timeouts,
};
use futures_util::future::join_all;
use memoir_store::{Error, Reach};
use tokio::sync::Mutex;
use tokio_postgres::{
    Client, Config, NoTls, Row,
    config::SslMode,
    types::{ToSql, Type},
};

use crate::{
    Configured,
    error::{self, OPENING, StatementFault},
    value::Value,
};

/// How long a caller waits for one of them.
// As long as a transaction may wait for a lock: while such transactions hold all connections, further callers get
// `Busy` at about the same time as they do.
const WAIT: Duration = Duration::from_secs(5);
/// How long making a connection may take.
const CONNECT: Duration = Duration::from_secs(2);

/// How long the results of a transaction may take: longer than any of its statements may.
const ANSWER: Duration = Duration::from_secs(120);
/// How long the database may be silent before it is probed, and again after each probe that succeeded.
// With the probe and a failing connection it stays within the five seconds after which a caller learns that the
// database does not respond (`docs/fleet.md`).
const SILENCE: Duration = Duration::from_secs(1);
/// How long a probe may take, from connecting to its result.
const PROBE: Duration = Duration::from_millis(1_500);

/// How long a transaction may wait for another one, a statement may run, and a transaction may stay open while idle, in
/// milliseconds: a blocked process does not block others from an agent for longer.
// The database keeps these, not this process: they also end what a process has begun that is
// stopped, or cut off without its connection being closed. A decision that is one statement has the first of them
// from `memoir_decide`, which can wait for nothing but a lock, and never for its process. Behind a pooler it has the
// second one from its role, since what a statement sets itself counts from the next one on.
const LIMITS: [(&str, u32); 3] = [
    ("lock_timeout", 5_000),
    ("statement_timeout", 60_000),
    ("idle_in_transaction_session_timeout", 30_000),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransactionPurpose {
    /// To see everything as it is at one instant.
    Look,
    /// The same, of rows whose keys are given.
    Find,
    Write,
    /// To write a decision, whose rows' keys are given.
    Decide,
}

impl TransactionPurpose {
    fn mode(self) -> &'static str {
        match self {
            // One snapshot for all statements, taken by the first of them. Being read-only, such a
            // transaction can never fail for what others write beside it.
            Self::Look | Self::Find => "REPEATABLE READ READ ONLY",
            // A statement that waited for a row reads it as the previous transaction left it and compares its condition
            // again, so that an incremented agent's version is an unmet condition. `REPEATABLE READ` would fail with a
            // serialization error, which does not name the unmet condition. Not declared `READ WRITE`: if an
            // administrator, or a guard against a full disk, has made read-only the default, it is refused.
            Self::Write | Self::Decide => "READ COMMITTED",
        }
    }
}

/// The rows that a transaction can read and write, as the settings by which the policies of the tables know it. They
/// enforce it for every statement.
fn settings(reach: Reach) -> String {
    let (account, agent) = reach.ids();
    let [account, agent] = [account, agent].map(|id| match id {
        Some(id) => HEXLOWER.encode(id),
        None => "*".to_owned(),
    });
    // Hexadecimal digits or an asterisk, so that nothing in it can end the text. `LOCAL`: behind a pooler the next
    // transaction on this connection may be another process's, and must not inherit a reach.
    format!("SET LOCAL memoir.account = '{account}'; SET LOCAL memoir.agent = '{agent}'")
}

#[derive(Debug)]
pub(crate) struct Statement<'value> {
    pub(crate) sql: Cow<'static, str>,
    pub(crate) values: Vec<Value<'value>>,
    /// Whether it is repeated in the same text, and may be prepared: there are few of them.
    repeats: bool,
}

impl<'value> Statement<'value> {
    pub(crate) fn new(sql: impl Into<Cow<'static, str>>, values: Vec<Value<'value>>) -> Self {
        let sql = sql.into();
        Self {
            repeats: matches!(sql, Cow::Borrowed(_)),
            sql,
            values,
        }
    }

    /// The same for a statement that is built anew each time and is repeated nevertheless.
    #[must_use]
    pub(crate) fn repeating(self) -> Self {
        Self {
            repeats: true,
            ..self
        }
    }

    fn kinds(&self) -> Vec<Type> {
        self.values.iter().map(Value::kind).collect()
    }
}

/// The statement, which writes and returns rows, made to fail unless it writes exactly so many.
pub(crate) fn met<'value>(sql: &str, rows: usize, values: Vec<Value<'value>>) -> Statement<'value> {
    let sql = format!(
        // Plain SQL cannot fail on a condition. A division by zero is an error with a code of its own, and no other
        // statement of this crate can divide by 0, so that code and place identify the unmet condition.
        "WITH written AS ({sql} RETURNING 1) SELECT 1 / (count(*) = {rows})::int FROM written"
    );
    let statement = Statement::new(sql, values);
    match rows {
        // Any other number makes another text of it.
        1 => statement.repeating(),
        _ => statement,
    }
}

/// The results of a transaction's statements, in their order.
pub(crate) type Answers = Vec<Vec<Row>>;

/// Probes a database, on a connection of its own: one whose process is stopped, or whose network is cut off, keeps
/// connections open and does not respond on them.
struct Probe {
    config: Config,
    /// When the database last responded. Locked during a probe, so that a process has at most one connection for it.
    answered_at: Mutex<Option<Instant>>,
}

impl Probe {
    /// Whether the database responds. Concurrent callers share one probe's result.
    fn is_answered(&self) -> Pin<Box<dyn Future<Output = bool> + Send + '_>> {
        Box::pin(self.is_answered_in_time())
    }

    async fn is_answered_in_time(&self) -> bool {
        let asked_at = Instant::now();
        // A caller that waits behind others for longer than a probe takes waits for a database that is silent.
        let asked = tokio::time::timeout(PROBE, async {
            let mut answered_at = self.answered_at.lock().await;
            if answered_at.is_some_and(|at| at >= asked_at) {
                return true;
            }
            let is_answered = self.ask().await.is_ok();
            if is_answered {
                *answered_at = Some(Instant::now());
            }
            is_answered
        });
        asked.await.unwrap_or(false)
    }

    async fn ask(&self) -> Result<(), tokio_postgres::Error> {
        let asked = match self.config.get_ssl_mode() {
            SslMode::Disable => {
                let (client, connection) = self.config.connect(NoTls).await?;
                ask_alone(&client, connection).await
            }
            _ => {
                let (client, connection) = self.config.connect(crate::tls::connector()).await?;
                ask_alone(&client, connection).await
            }
        };
        match asked {
            // A refusal is a response too.
            Err(error) if error.as_db_error().is_none() => Err(error),
            _ => Ok(()),
        }
    }
}

/// Asks for nothing over a connection that is closed afterwards.
async fn ask_alone(
    client: &Client,
    connection: impl Future<Output = Result<(), tokio_postgres::Error>>,
) -> Result<(), tokio_postgres::Error> {
    tokio::select! {
        biased;
        asked = client.batch_execute("SELECT 1") => asked,
        ended = connection => ended,
    }
}

/// A bounded number of connections to one database.
#[derive(derive_more::Debug)]
#[debug("Connections({})", self.location)]
pub(crate) struct Connections {
    pool: Pool,
    probe: Arc<Probe>,
    /// Where the database is, without what opens it.
    location: String,
    /// Whether statements are prepared: each connection leads to the same server process for as long as it lasts.
    prepares: bool,
    /// Whether the server had no room for something, and has not found any since.
    is_full: Arc<AtomicBool>,
}

impl Connections {
    pub(crate) fn new(configured: Configured, most: usize) -> Result<Self, Error> {
        let Configured {
            mut config,
            location,
            prepares,
        } = configured;
        if prepares {
            // Settings of the connection need not be repeated in each transaction. Rows are found by their keys,
            // whatever these are, so that the plan is made once.
            let limits = LIMITS.map(|(name, limit)| format!(" -c {name}={limit}"));
            let given = config.get_options().unwrap_or_default();
            let plans = "-c plan_cache_mode=force_generic_plan";
            let options = format!("{given}{} {plans}", limits.concat());
            config.options(&options);
        }
        // No question is sent before each use, which would be a round trip: a connection that is
        // gone shows by the first statement, and reading is tried once more with another one.
        let probe = Arc::new(Probe {
            config: config.clone(),
            answered_at: Mutex::default(),
        });
        let recycling_method = RecyclingMethod::Fast;
        let settings = ManagerConfig { recycling_method };
        let manager = match config.get_ssl_mode() {
            SslMode::Disable => Manager::from_config(config, NoTls, settings),
            _ => Manager::from_config(config, crate::tls::connector(), settings),
        };
        let pool = Pool::builder(manager)
            .max_size(most)
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|problem| Error::Driver(problem.to_string()))?;
        Ok(Self {
            pool,
            probe,
            location,
            prepares,
            is_full: Arc::default(),
        })
    }

    pub(crate) fn location(&self) -> &str {
        &self.location
    }

    /// A connection for one caller until it is released.
    ///
    /// # Errors
    /// [`Error::Busy`] where none came free in time; [`Error::Unreachable`] where none can be made.
    pub(crate) async fn take(&self) -> Result<PooledConnection, Error> {
        self.take_within(WAIT).await
    }

    /// The same without waiting for others; `None` where all are taken.
    pub(crate) async fn take_free(&self) -> Result<Option<PooledConnection>, Error> {
        match self.take_within(Duration::ZERO).await {
            Err(Error::Busy) => Ok(None),
            taken => taken.map(Some),
        }
    }

    async fn take_within(&self, wait: Duration) -> Result<PooledConnection, Error> {
        // A connection that comes free late leaves no time to make another one in its place.
        let most = wait.max(CONNECT);
        let taken = tokio::time::timeout(most, self.pool.timeout_get(&timeouts(wait))).await;
        let Ok(taken) = taken else {
            return Err(self.unreachable(SILENT.to_owned()));
        };
        match taken {
            Ok(object) => Ok(PooledConnection {
                object: Some(object),
                prepares: self.prepares,
                is_full: Arc::clone(&self.is_full),
                probe: Arc::clone(&self.probe),
                longest: ANSWER,
            }),
            Err(PoolError::Timeout(TimeoutType::Wait)) => Err(Error::Busy),
            Err(PoolError::Timeout(_)) => Err(self.unreachable(SILENT.to_owned())),
            Err(PoolError::Backend(problem)) => Err(self.unreachable(error::connection(&problem))),
            Err(PoolError::Closed) => Err(Error::Closed),
            Err(problem) => Err(Error::Driver(problem.to_string())),
        }
    }

    /// Reads, all of it as it is at one instant.
    ///
    /// # Errors
    /// Those of the database. A connection that broke is tried once more with another one.
    pub(crate) async fn read(
        &self,
        reach: impl Into<Reach>,
        statements: &[Statement<'_>],
    ) -> Result<Answers, Error> {
        self.look(reach.into(), TransactionPurpose::Look, statements)
            .await
    }

    /// Reads by these statements, as [`Connections::read`] does: the rows of each.
    pub(crate) async fn read_each<const N: usize>(
        &self,
        reach: impl Into<Reach>,
        statements: [Statement<'_>; N],
    ) -> Result<[Vec<Row>; N], Error> {
        let answers = self.read(reach, &statements).await?;
        answers
            .try_into()
            .map_err(|_| Error::Driver("answers are missing".to_owned()))
    }

    /// Checks that the database responds and accepts writes.
    ///
    /// # Errors
    /// As for [`Connections::read`]; [`Error::ReadOnly`]; [`Error::Full`], after it had no room for a write.
    pub(crate) async fn check_writable(&self) -> Result<(), Error> {
        if self.is_full.load(Ordering::Relaxed) {
            // An update without a change rewrites the row, and so writes the server's log.
            let write = "UPDATE accounts SET created_at = created_at \
                 WHERE id = (SELECT id FROM accounts ORDER BY id LIMIT 1)";
            let write = Statement::new(write, Vec::new());
            self.write(Reach::All, &[write]).await?;
            self.is_full.store(false, Ordering::Relaxed);
        }
        // Writes nothing. A server that follows another, or was made to take nothing, says so of any transaction.
        let sql =
            "SELECT current_setting('transaction_read_only') = 'on', EXISTS (SELECT FROM users)";
        let look = Statement::new(sql, Vec::new());
        let answers = self
            .look(Reach::All, TransactionPurpose::Write, &[look])
            .await?;
        let row = answers.first().and_then(|rows| rows.first());
        match row.is_some_and(|row| row.try_get(0).is_ok_and(|is_on: bool| is_on)) {
            true => Err(Error::ReadOnly),
            false => Ok(()),
        }
    }

    async fn look(
        &self,
        reach: Reach,
        purpose: TransactionPurpose,
        statements: &[Statement<'_>],
    ) -> Result<Answers, Error> {
        match self.transaction(reach, purpose, statements).await {
            // Reading changes nothing, so that it may be done twice. Writing is never repeated
            // here: whether the first attempt was written is for the caller to find out.
            Err(StatementFault::Lost(problem)) if problem != SILENT => {}
            answered => return answered.map_err(|fault| self.unread(fault)),
        }
        let answered = self.transaction(reach, purpose, statements).await;
        answered.map_err(|fault| self.unread(fault))
    }

    /// The error of a failed read: nothing was to be written.
    fn unread(&self, fault: StatementFault) -> Error {
        match fault {
            StatementFault::Lost(problem) => self.unreachable(problem),
            fault => fault.into(),
        }
    }

    /// That the server was not asked for anything, or for nothing that changes something.
    pub(crate) fn unreachable(&self, problem: String) -> Error {
        Error::Unreachable {
            location: self.location.clone(),
            problem,
        }
    }

    /// That it must not be used as it is.
    pub(crate) fn unusable(&self, problem: impl Into<String>) -> Error {
        Error::Open {
            location: self.location.clone(),
            problem: problem.into(),
        }
    }

    pub(crate) async fn rows(
        &self,
        reach: impl Into<Reach>,
        sql: impl Into<Cow<'static, str>>,
        values: Vec<Value<'_>>,
    ) -> Result<Vec<Row>, Error> {
        let [rows] = self.read_each(reach, [Statement::new(sql, values)]).await?;
        Ok(rows)
    }

    /// Reads rows whose keys are given by one statement.
    pub(crate) async fn find(
        &self,
        reach: impl Into<Reach>,
        sql: &'static str,
        values: Vec<Value<'_>>,
    ) -> Result<Vec<Row>, Error> {
        let statements = [Statement::new(sql, values)];
        let found = self.look(reach.into(), TransactionPurpose::Find, &statements);
        Ok(found.await?.pop().unwrap_or_default())
    }

    /// Writes all of it or nothing; each statement reads what others had written when it began. On the disk once this
    /// returns.
    ///
    /// # Errors
    /// [`StatementFault::Refused`] with the statement's place; [`StatementFault::Lost`] if the outcome is unknown.
    pub(crate) async fn write(
        &self,
        reach: impl Into<Reach>,
        statements: &[Statement<'_>],
    ) -> Result<Answers, StatementFault> {
        self.transaction(reach.into(), TransactionPurpose::Write, statements)
            .await
    }

    /// As [`Connections::write`], in tables without policies. There each statement would write by itself if the one that
    /// begins the transaction were refused: they are sent once it has begun.
    pub(crate) async fn write_once_begun(
        &self,
        statements: &[Statement<'_>],
    ) -> Result<Answers, StatementFault> {
        let mut connection = self.take().await?;
        let opening = connection.opening(Reach::All, TransactionPurpose::Write);
        connection.send(Some(&opening), &[], None).await?;
        let answers = connection.send(None, statements, Some("COMMIT")).await?;
        connection.restore();
        Ok(answers)
    }

    async fn transaction(
        &self,
        reach: Reach,
        purpose: TransactionPurpose,
        statements: &[Statement<'_>],
    ) -> Result<Answers, StatementFault> {
        let mut connection = self.take().await?;
        let opening = connection.opening(reach, purpose);
        // Without a response, this line returns and drops the connection, which closes: the database rolls back what it
        // has not committed by then.
        let answers = connection
            .send(Some(&opening), statements, Some("COMMIT"))
            .await?;
        connection.restore();
        Ok(answers)
    }
}

/// How long a caller waits for others, and for the server.
fn timeouts(wait: Duration) -> Timeouts {
    Timeouts {
        wait: Some(wait),
        create: Some(CONNECT),
        recycle: Some(CONNECT),
    }
}

/// The problem of a database that keeps its connections open and does not respond on them.
const SILENT: &str = "it does not answer";

/// The database's response; lost if it takes longer than `longest`, or if it is silent and a probe fails too.
async fn answered<T>(
    probe: &Probe,
    longest: Duration,
    answer: impl Future<Output = Result<T, StatementFault>>,
) -> Result<T, StatementFault> {
    let silent = async {
        loop {
            tokio::time::sleep(SILENCE).await;
            if !probe.is_answered().await {
                return;
            }
        }
    };
    let lost = || Err(StatementFault::Lost(SILENT.to_owned()));
    tokio::select! {
        biased;
        answer = answer => answer,
        () = silent => lost(),
        // A statement that runs for longer than the server lets any.
        () = tokio::time::sleep(longest) => lost(),
    }
}

/// A connection that is closed, and its transaction rolled back, unless it is released. After an interruption or with
/// an unknown outcome, it leaves no open transaction for the next caller.
pub(crate) struct PooledConnection {
    object: Option<Object>,
    prepares: bool,
    is_full: Arc<AtomicBool>,
    probe: Arc<Probe>,
    /// How long the results of what is sent may take.
    longest: Duration,
}

impl PooledConnection {
    /// Waits for results however long they take: the caller sets no limit of time for its statements in the database
    /// either. A database that is silent is noticed nevertheless.
    pub(crate) fn wait_without_limit(&mut self) {
        self.longest = Duration::MAX;
    }

    pub(crate) fn opening(&self, reach: Reach, purpose: TransactionPurpose) -> String {
        let mut opening = format!("BEGIN ISOLATION LEVEL {}", purpose.mode());
        if !self.prepares {
            // Behind a pooler, settings of a connection do not follow it from one server process to the next.
            opening.extend(LIMITS.map(|(name, limit)| format!("; SET LOCAL {name} = {limit}")));
        } else if matches!(
            purpose,
            TransactionPurpose::Look | TransactionPurpose::Write
        ) {
            // The number of rows depends on the parameters.
            opening.push_str("; SET LOCAL plan_cache_mode = auto");
        }
        opening + "; " + &settings(reach)
    }

    /// Sends the statement that begins a transaction, statements, and the one that ends it, and waits for all results.
    /// A failed transaction that was to be ended is rolled back.
    ///
    /// # Errors
    /// The first one, with its place; [`StatementFault::Lost`] where the database is silent.
    pub(crate) async fn send(
        &mut self,
        opening: Option<&str>,
        statements: &[Statement<'_>],
        closing: Option<&str>,
    ) -> Result<Answers, StatementFault> {
        let (probe, longest) = (Arc::clone(&self.probe), self.longest);
        // Without its type: the futures around it are nested about as deeply as the compiler takes them.
        let sent: SentFuture<'_> = Box::pin(self.send_all(opening, statements, closing));
        answered(&probe, longest, sent).await
    }

    async fn send_all(
        &mut self,
        opening: Option<&str>,
        statements: &[Statement<'_>],
        closing: Option<&str>,
    ) -> Result<Answers, StatementFault> {
        let Some(object) = &self.object else {
            return Err(Error::Closed.into());
        };
        let client: &Client = object;
        // Before the rest of the transaction, since preparing waits for a result. If the connection breaks here,
        // nothing was sent and yet the outcome counts as unknown: a decision is then written once more, which is right.
        let prepared = self.prepared(object, statements).await?;
        let first = usize::from(opening.is_some());
        let steps = opening.into_iter().map(|sql| simple(client, sql));
        let pairs = statements.iter().zip(prepared);
        let steps =
            steps.chain(pairs.map(|(statement, prepared)| ask(client, statement, prepared)));
        let steps = steps.chain(closing.into_iter().map(|sql| simple(client, sql)));
        // They are sent in this order, as each of them is first polled for its result. If the statement that begins the
        // transaction is refused, each later one runs by itself, and still writes nothing: it has no reach, and one
        // that would set its own reads that of the transaction first.
        let mut answers = Vec::with_capacity(statements.len());
        let mut fault = None;
        // All results are awaited, also behind a failed one: a result that is left in the connection would be taken for
        // that of the next statement.
        for (at, answer) in join_all(steps).await.into_iter().enumerate() {
            match answer {
                Ok(rows) => answers.push(rows),
                Err(error) => {
                    // What comes after is refused because of the first one.
                    let place = at.checked_sub(first).unwrap_or(OPENING);
                    fault.get_or_insert_with(|| StatementFault::of(place, &error));
                }
            }
        }
        if let Some(fault) = fault {
            if fault.is_full() {
                self.is_full.store(true, Ordering::Relaxed);
            }
            // `COMMIT` of a transaction in which a statement failed rolls it back, and was sent: the connection is
            // clean. Without a closing statement, or with an unknown outcome, it is not released, and closes.
            if closing.is_some() && matches!(fault, StatementFault::Refused(..)) {
                self.restore();
            }
            return Err(fault);
        }
        answers.drain(..first);
        answers.truncate(statements.len());
        Ok(answers)
    }

    /// Those that this connection has prepared, which it does the first time; `None` for each other one. Nothing of the
    /// transaction is sent before.
    async fn prepared(
        &self,
        object: &Object,
        statements: &[Statement<'_>],
    ) -> Result<Vec<Option<tokio_postgres::Statement>>, StatementFault> {
        let mut prepared = Vec::with_capacity(statements.len());
        for (at, statement) in statements.iter().enumerate() {
            prepared.push(match self.prepares && statement.repeats {
                true => {
                    let kinds = statement.kinds();
                    let found = object.prepare_typed_cached(&statement.sql, &kinds).await;
                    Some(found.map_err(|error| StatementFault::of(at, &error))?)
                }
                false => None,
            });
        }
        Ok(prepared)
    }

    pub(crate) fn restore(&mut self) {
        drop(self.object.take());
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        if let Some(object) = self.object.take() {
            // Taken out of the pool, which makes room for another one.
            drop(Object::take(object));
        }
    }
}

type SentFuture<'sent> =
    Pin<Box<dyn Future<Output = Result<Answers, StatementFault>> + Send + 'sent>>;

type StatementFuture<'step> =
    Pin<Box<dyn Future<Output = Result<Vec<Row>, tokio_postgres::Error>> + Send + 'step>>;

fn simple<'step>(client: &'step Client, sql: &'step str) -> StatementFuture<'step> {
    Box::pin(async move { client.batch_execute(sql).await.map(|()| Vec::new()) })
}

fn ask<'step>(
    client: &'step Client,
    statement: &'step Statement<'_>,
    prepared: Option<tokio_postgres::Statement>,
) -> StatementFuture<'step> {
    Box::pin(async move {
        let values = statement.values.iter();
        let values = values.map(|value| value as &(dyn ToSql + Sync));
        match prepared {
            Some(prepared) => client.query(&prepared, &values.collect::<Vec<_>>()).await,
            None => {
                let typed: Vec<_> = values.zip(statement.kinds()).collect();
                client.query_typed(&statement.sql, &typed).await
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn spec_6_1_a_statement_without_a_limit_is_waited_for() {
        let probe = Probe {
            config: Config::new(),
            answered_at: Mutex::default(),
        };
        let slow = || async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            Ok::<(), StatementFault>(())
        };
        let lost = answered(&probe, Duration::from_millis(20), slow()).await;
        assert!(matches!(lost, Err(StatementFault::Lost(_))), "{lost:?}");
        answered(&probe, Duration::MAX, slow()).await.unwrap();
    }
}
