//! The store for several nodes: one PostgreSQL database, from version 14 on, that any number of processes share.
//!
//! It behaves as the embedded store does, which the same scenarios test. It needs no extension and no superuser, and
//! works behind a pooler that assigns each transaction another connection: nothing is prepared, set, locked or listened
//! to beyond a transaction, unless the URL says that there is no pooler (`prepare=true`).
//!
//! Each method is one transaction and, as far as it can, one round trip (`pool.rs`). A decision is written under its
//! agent's version: the statement that increments it locks the agent until the transaction ends. Decisions on one agent
//! are therefore sequential, and those on different agents concurrent. While all connections are in use, several share
//! a transaction (`group_commit.rs`). A decision over many rows (the first user, the last one, the log over all heads)
//! locks their table first.
//!
//! Every transaction names the rows that it reaches, and policies of the tables enforce it (`migrations`). Replaced
//! data leave the disk with PostgreSQL's vacuum, and once its write-ahead log has been recycled. With access to the
//! disk before that, the replaced data can be found, sealed.

#[macro_use]
mod value;
mod access;
mod agent;
mod check;
mod commit;
mod deliveries;
mod error;
mod fleet;
mod group_commit;
mod keys;
mod migrate;
mod pool;
mod tables;
mod tls;
mod transcripts;
mod vectors;

use std::{borrow::Cow, net::IpAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use memoir_domain::{AgentScope, Timestamp};
use memoir_store::{Change, Database, Error, Held, Reach, Result, WrittenRows, decode::RowReader};
use tokio_postgres::{
    Config,
    config::{Host, SslMode},
};

use crate::{
    group_commit::GroupCommit,
    pool::{Connections, Statement, met},
    value::{Value, all, first},
};
pub use crate::{
    keys::PostgresKeys,
    migrate::{KEY_MIGRATIONS, MIGRATIONS, Migration},
};

/// The oldest version of PostgreSQL that will do, as it numbers them.
const OLDEST: i64 = 140_000;

/// The most connections of one process to the data; those to its keys come to that.
const CONNECTIONS: usize = 8;

/// Time without a response after which a connection counts as broken.
const UNANSWERED: Duration = Duration::from_secs(10);

/// A store in a database of PostgreSQL. Clones share its connections.
#[derive(Clone, derive_more::Debug)]
#[debug("PostgresStore {{ .. }}")]
pub struct PostgresStore {
    connections: Arc<Connections>,
    group_commit: Arc<GroupCommit>,
}

impl PostgresStore {
    /// The database that the URL names, as `postgres://user:password@host:port/database`. Nothing is asked of it yet.
    /// Connections to another machine are secret unless the URL says `sslmode=disable`; those to this one never are.
    ///
    /// # Errors
    /// [`Error::Open`] for a URL that is none.
    pub fn at(url: &str) -> Result<Self> {
        let connections = Connections::new(configured(url)?, CONNECTIONS)?;
        Ok(Self {
            connections: Arc::new(connections),
            group_commit: Arc::default(),
        })
    }

    /// Opens the database that the URL names.
    ///
    /// # Errors
    /// [`Error::Unreachable`]; [`Error::Open`] if it would lose or change data, or has pending migrations, which are
    /// named.
    pub async fn open(url: &str) -> Result<Self> {
        let store = Self::at(url)?;
        let pending = store.pending().await?;
        if !pending.is_empty() {
            let names: Vec<_> = pending.iter().map(|one| one.name).collect();
            let problem = format!("migrations are pending: {}", names.join(", "));
            return Err(store.connections.unusable(problem));
        }
        // Half of a move may have an agent without its log, or the reverse, which would look like damage.
        if store.is_being_filled().await? {
            let problem = "a move into it has not come to its end; give `memoir move` once more";
            return Err(store.connections.unusable(problem));
        }
        Ok(store)
    }

    /// The migrations that the database waits for.
    ///
    /// # Errors
    /// As for [`PostgresStore::open`].
    pub async fn pending(&self) -> Result<&'static [Migration]> {
        look_over(&self.connections).await?;
        migrate::pending(&self.connections, MIGRATIONS).await
    }

    /// Runs the pending migrations, each in a transaction of its own. Returns their names.
    ///
    /// # Errors
    /// [`Error::Busy`] if others lock the tables for too long; those of the database. Finished migrations remain.
    pub async fn migrate(&self) -> Result<Vec<&'static str>> {
        self.migrate_to(MIGRATIONS).await
    }

    /// As [`PostgresStore::migrate`], to the format of a version that has these.
    ///
    /// # Errors
    /// As for [`PostgresStore::migrate`].
    pub async fn migrate_to(&self, migrations: &'static [Migration]) -> Result<Vec<&'static str>> {
        look_over(&self.connections).await?;
        migrate::run(&self.connections, migrations).await
    }

    /// Where the database is, without what opens it.
    pub fn location(&self) -> &str {
        self.connections.location()
    }

    /// Where the data lie, and as whom they are asked for.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn identity(&self) -> Result<DatabaseIdentity> {
        DatabaseIdentity::of(&self.connections).await
    }

    /// What the role that is connected could do to the walls between accounts, and whether its statements are limited.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn role(&self) -> Result<DatabaseRole> {
        let sql = "SELECT current_user::text, rolsuper OR rolbypassrls, \
                 EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = current_schema()::regnamespace \
                     AND relkind = 'r' AND pg_has_role(relowner, 'USAGE')) \
                 OR has_schema_privilege(current_schema(), 'CREATE'), \
                 (SELECT reset_val <> '0' FROM pg_settings WHERE name = 'statement_timeout') \
             FROM pg_roles WHERE rolname = current_user";
        let rows = self.connections.rows(Reach::All, sql, values![]).await?;
        let unread = || Error::Driver("the database does not say who is connected".to_owned());
        let row = rows.first().ok_or_else(unread)?;
        let flag = |at| row.try_get(at).map_err(|_| unread());
        Ok(DatabaseRole {
            name: row.try_get(0).map_err(|_| unread())?,
            passes_walls: flag(1)?,
            owns_tables: flag(2)?,
            limits_statements: flag(3)?,
        })
    }

    async fn all<T>(
        &self,
        reach: impl Into<Reach>,
        sql: impl Into<Cow<'static, str>>,
        values: Vec<Value<'_>>,
        read: RowReader<T>,
    ) -> Result<Vec<T>> {
        all(&self.connections.rows(reach, sql, values).await?, read)
    }

    async fn first<T>(
        &self,
        reach: impl Into<Reach>,
        sql: &'static str,
        values: Vec<Value<'_>>,
        read: RowReader<T>,
    ) -> Result<Option<T>> {
        first(&self.connections.rows(reach, sql, values).await?, read)
    }

    /// Writes by a statement over a backlog, as often as it finds rows: all at once could take longer than a statement
    /// may. It is given a time, if it needs one, and the most rows to write, and returns one for each. Rows that another
    /// transaction has locked wait for the next time, so that it never waits and cannot deadlock.
    async fn write_in_parts(&self, sql: &'static str, until: Option<Timestamp>) -> Result<()> {
        const PART: u32 = 1_000;
        loop {
            let statement = Statement::new(sql, values![until, PART]);
            let answers = self.connections.write(Reach::All, &[statement]).await?;
            if answers.iter().map(Vec::len).sum::<usize>() < PART as usize {
                return Ok(());
            }
        }
    }
}

#[async_trait]
impl Database for PostgresStore {
    async fn rows<T: Send + 'static>(
        &self,
        reach: Reach,
        sql: &'static str,
        values: &[memoir_store::Value<'_>],
        read: RowReader<T>,
    ) -> Result<Vec<T>> {
        self.all(reach, sql, value::given(values), read).await
    }

    async fn row<T: Send + 'static>(
        &self,
        reach: Reach,
        sql: &'static str,
        values: &[memoir_store::Value<'_>],
        read: RowReader<T>,
    ) -> Result<Option<T>> {
        self.first(reach, sql, value::given(values), read).await
    }

    async fn change(
        &self,
        reach: Reach,
        sql: &'static str,
        values: &[memoir_store::Value<'_>],
    ) -> Result<bool> {
        let sql = format!("{sql} RETURNING 1");
        let statement = Statement::new(sql, value::given(values)).repeating();
        let answers = self.connections.write(reach, &[statement]).await?;
        Ok(answers.first().is_some_and(|rows| !rows.is_empty()))
    }

    async fn change_held<T: Send + 'static>(
        &self,
        scope: AgentScope,
        sql: &'static str,
        values: &[memoir_store::Value<'_>],
        read: RowReader<T>,
    ) -> Result<Option<T>> {
        let rows = self.write_holding(scope, sql, value::given(values)).await?;
        first(&rows, read)
    }

    async fn change_all(&self, held: Held, changes: Vec<Change<'_>>) -> Result<bool> {
        let (reach, hold) = match &held {
            Held::Table(table) => {
                let lock = format!("LOCK TABLE {table} IN EXCLUSIVE MODE");
                (Reach::All, Statement::new(lock, values![]))
            }
            Held::Agent {
                scope,
                version,
                must_live,
            } => {
                // Divides by nothing where it is not so, as `met` does. `FOR NO KEY UPDATE` is the lock that an update of
                // the row takes, and lets rows be written that only refer to it.
                let sql = "SELECT 1 / count(*) FROM (SELECT 1 FROM agents WHERE id = $1 AND account_id = $2 \
                     AND version = coalesce($3, version) AND (NOT $4 OR erased_at IS NULL) FOR NO KEY UPDATE) AS held";
                let values = scoped![scope, *version, *must_live];
                ((*scope).into(), Statement::new(sql, values))
            }
        };
        let mut statements = vec![hold];
        statements.extend(changes.iter().map(|change| {
            let values = value::given(&change.values);
            match change.rows {
                WrittenRows::One => met(change.sql, 1, values),
                _ => Statement::new(change.sql, values),
            }
        }));
        match self.connections.write(reach, &statements).await {
            Err(fault) if fault.is_unmet(0) => Ok(false),
            Err(fault) if (1..statements.len()).any(|at| fault.is_unmet(at)) => {
                Err(Error::inconsistent(held.table(), "a row was not written"))
            }
            written => written.map(|_| true).map_err(Error::from),
        }
    }
}

/// The name under which connections are shown to the server.
const APPLICATION: &str = "memoir";

/// What a URL says.
struct Configured {
    config: Config,
    /// Where that is, as it may be shown.
    location: String,
    /// Whether statements are prepared on each connection.
    prepares: bool,
}

/// The parts of a URL. Connections to another machine are encrypted unless it has `sslmode=disable`; those to this one
/// never are. Statements are prepared with `prepare=true`: there is no pooler in front of the server.
fn configured(url: &str) -> Result<Configured> {
    let (url, prepares) = without_prepare(url);
    // The error names neither the URL nor its fault: it may hold a password.
    let mut config: Config = url.parse().map_err(|_| Error::Open {
        location: "postgres:".to_owned(),
        problem: "the URL is not one of PostgreSQL".to_owned(),
    })?;
    let location = location(&config);
    // Remote connections are encrypted unless the URL disables it. An address goes before a name, whatever the name is.
    // The driver's default, `prefer`, would let an attacker between both claim that the server has no TLS.
    let is_here = config.get_hosts().iter().all(is_local)
        && config.get_hostaddrs().iter().all(IpAddr::is_loopback);
    if is_here {
        config.ssl_mode(SslMode::Disable);
    } else if config.get_ssl_mode() != SslMode::Disable {
        config.ssl_mode(SslMode::Require);
    }
    config
        .application_name(APPLICATION)
        .connect_timeout(Duration::from_secs(2))
        .keepalives_idle(UNANSWERED)
        // Without these a connection that leads nowhere shows after the system's own limits, which
        // are a quarter of an hour and more.
        .tcp_user_timeout(UNANSWERED);
    Ok(Configured {
        config,
        location,
        prepares,
    })
}

/// The URL without `prepare`, which the driver does not know, and its value.
fn without_prepare(url: &str) -> (String, bool) {
    const PREPARE: &str = "prepare=true";
    let Some((head, parameters)) = url.split_once('?') else {
        return (url.to_owned(), false);
    };
    let all: Vec<&str> = parameters.split('&').collect();
    let others: Vec<&str> = all.iter().copied().filter(|one| *one != PREPARE).collect();
    let is_there = others.len() < all.len();
    match others.is_empty() {
        true => (head.to_owned(), is_there),
        false => (format!("{head}?{}", others.join("&")), is_there),
    }
}

/// A role of the database, its power over the policies that separate accounts, and whether its statements are limited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseRole {
    /// Its name.
    pub name: String,
    /// Whether row-level security does not apply to it: it is a superuser, or has `BYPASSRLS`.
    pub passes_walls: bool,
    /// Whether it owns tables there or may make some: then it can also take their walls down.
    pub owns_tables: bool,
    /// Whether a single statement is ended once it has run for too long.
    pub limits_statements: bool,
}

impl DatabaseRole {
    /// What makes it unsafe for a service; `None` if it cannot change the policies.
    pub fn danger(&self) -> Option<String> {
        let danger = match (self.passes_walls, self.owns_tables) {
            (true, _) => "bypasses the policies between accounts (row-level security)",
            (_, true) => {
                "owns the tables, or may make some, and could remove the policies between accounts"
            }
            _ => return None,
        };
        Some(format!("the role `{}` {danger}", self.name))
    }
}

/// A location, and the role that is used there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseIdentity {
    /// When the server was started, which distinguishes it from others.
    server: String,
    database: String,
    schema: String,
    role: String,
}

impl DatabaseIdentity {
    async fn of(connections: &Connections) -> Result<Self> {
        let sql = "SELECT pg_postmaster_start_time()::text, current_database()::text, \
                 coalesce(current_schema(), '')::text, current_user::text";
        let rows = connections.rows(Reach::All, sql, values![]).await?;
        let text = |at| {
            let found = rows.first().and_then(|row| row.try_get(at).ok());
            found.ok_or_else(|| Error::Driver("the database does not say where it is".to_owned()))
        };
        Ok(Self {
            server: text(0)?,
            database: text(1)?,
            schema: text(2)?,
            role: text(3)?,
        })
    }
}

/// Checks that the database keeps data unchanged.
async fn look_over(connections: &Connections) -> Result<()> {
    let sql = "SELECT current_setting('server_version_num')::int8, current_setting('server_encoding'), \
             current_setting('synchronous_commit'), rolsuper OR rolbypassrls \
         FROM pg_roles WHERE rolname = current_user";
    let rows = connections.rows(Reach::All, sql, values![]).await?;
    let Some(row) = rows.first() else {
        return Err(connections.unusable("it does not say who is connected"));
    };
    let driver = |problem: tokio_postgres::Error| connections.unusable(problem.to_string());
    let version: i64 = row.try_get(0).map_err(driver)?;
    let encoding: &str = row.try_get(1).map_err(driver)?;
    let commits: &str = row.try_get(2).map_err(driver)?;
    let passes_walls: bool = row.try_get(3).map_err(driver)?;
    if version < OLDEST {
        let problem = format!(
            "it is PostgreSQL {}; version 14 is the oldest that will do",
            version / 10_000
        );
        return Err(connections.unusable(problem));
    }
    if encoding != "UTF8" {
        let problem = format!("its encoding is {encoding}; make one with `ENCODING 'UTF8'`");
        return Err(connections.unusable(problem));
    }
    // SPEC 6.2: nothing acknowledged is lost. `local` will do, since it waits for this server's disk.
    if commits == "off" {
        let problem = "`synchronous_commit` is off: what it has acknowledged it could lose";
        return Err(connections.unusable(problem));
    }
    if passes_walls {
        tracing::warn!(
            "the role that is connected to the database passes by row-level security; give Memoir one that \
             is no superuser"
        );
    }
    Ok(())
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => matches!(&**name, "localhost" | "127.0.0.1" | "::1"),
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// The hosts and the database, as they may be shown.
fn location(config: &Config) -> String {
    let ports = config.get_ports();
    let hosts = config
        .get_hosts()
        .iter()
        .enumerate()
        .map(|(at, host)| match host {
            Host::Tcp(name) => match ports.get(at).or(ports.first()) {
                Some(port) => format!("{name}:{port}"),
                None => name.clone(),
            },
            #[cfg(unix)]
            Host::Unix(folder) => folder.display().to_string(),
        });
    let hosts: Vec<_> = hosts.collect();
    format!(
        "postgres://{}/{}",
        hosts.join(","),
        config.get_dbname().unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_to_another_machine_are_secret_unless_the_url_says_disable() {
        let open = [
            "postgres://a:b@localhost/c",
            "postgres://a:b@127.0.0.1/c?sslmode=require",
            "postgres://a:b@localhost/c?hostaddr=127.0.0.1",
            "postgres://a:b@elsewhere/c?sslmode=disable",
        ];
        let secret = [
            "postgres://a:b@elsewhere/c",
            "postgres://a:b@localhost,elsewhere/c",
            "postgres://a:b@elsewhere/c?sslmode=prefer",
            "postgres://a:sslmode=disable@elsewhere/c",
            "postgres://a:b@localhost/c?hostaddr=192.0.2.1",
            "postgres:///c?user=a&hostaddr=192.0.2.1",
        ];
        let open = open.map(|url| (url, SslMode::Disable)).into_iter();
        for (url, expected) in open.chain(secret.map(|url| (url, SslMode::Require))) {
            let config = configured(url).unwrap().config;
            assert_eq!(config.get_ssl_mode(), expected, "{url}");
        }
    }
}
