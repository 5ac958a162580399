//! A server for all tests of this process, and a database for each.

use std::sync::OnceLock;

use memoir_domain::{AccountId, AgentId, AgentScope, audit::Action};
pub(crate) use memoir_store::conformance::fixtures::memory;
use memoir_store::{
    AccountRow, AgentRow, AuditRow, Commit, Fleet, ReplyRow, UserRow, conformance::fixtures,
};
use memoir_store_postgres::PostgresStore;
use memoir_testkit::Postgres;

/// What is there; otherwise the test ends here, which was said.
macro_rules! or_skip {
    ($found:expr) => {
        match $found {
            Some(found) => found,
            None => return,
        }
    };
}

/// A database of a test's own.
pub(crate) struct TestDatabase {
    pub(crate) server: &'static Postgres,
    pub(crate) url: String,
}

impl TestDatabase {
    /// The database's name.
    pub(crate) fn name(&self) -> &str {
        self.url.rsplit('/').next().unwrap()
    }

    /// What a statement answers the superuser.
    pub(crate) fn query(&self, sql: &str) -> String {
        self.server.query(self.name(), sql).unwrap()
    }

    /// What a statement answers the role that Memoir has; what the server says against it.
    pub(crate) fn query_as_memoir(&self, sql: &str) -> std::io::Result<String> {
        self.server.query_as("memoir", self.name(), sql)
    }
}

/// An empty database; `None`, and said so, where PostgreSQL is not installed.
pub(crate) fn database() -> Option<TestDatabase> {
    static SERVER: OnceLock<Option<Postgres>> = OnceLock::new();
    let server = SERVER
        .get_or_init(|| Postgres::start("postgres").unwrap())
        .as_ref();
    let Some(server) = server else {
        println!("skipped: PostgreSQL is not installed; `scripts/test` does that");
        return None;
    };
    let url = server.database().unwrap();
    Some(TestDatabase { server, url })
}

/// A server of a test's own behind a pooler, with the parts of its addresses that lead to it directly and through the
/// pooler; `None`, and said so, where either is not installed.
pub(crate) fn pooled(name: &str) -> Option<(Postgres, String, String)> {
    let Some(mut server) = Postgres::start(name).unwrap() else {
        println!("skipped: PostgreSQL is not installed; `scripts/test` does that");
        return None;
    };
    let Some((direct, pooled)) = server.pool().unwrap() else {
        println!("skipped: PgBouncer is not installed; `scripts/test` does that");
        return None;
    };
    Some((server, direct, pooled))
}

/// The store there, with all its tables.
pub(crate) async fn migrated(url: &str) -> PostgresStore {
    PostgresStore::at(url).unwrap().migrate().await.unwrap();
    PostgresStore::open(url).await.unwrap()
}

/// An empty database, and a store there with the account; `None` as for [`database`].
pub(crate) async fn begin() -> Option<(TestDatabase, PostgresStore)> {
    let database = database()?;
    let store = migrated(&database.url).await;
    store.create_account(&account()).await.unwrap();
    Some((database, store))
}

pub(crate) fn scope() -> AgentScope {
    AgentScope {
        account: AccountId::from_bytes([0xA1; 16]),
        agent: AgentId::from_bytes([0xB1; 16]),
    }
}

pub(crate) fn account() -> AccountRow {
    AccountRow {
        id: scope().account,
        ..fixtures::account(1, "own")
    }
}

pub(crate) fn user() -> UserRow {
    UserRow {
        account: account().id,
        ..fixtures::user(1, 1, "ada")
    }
}

pub(crate) fn reply() -> ReplyRow {
    ReplyRow {
        account: account().id,
        ..fixtures::reply(1, 1)
    }
}

/// A decision on the agent of that version that leaves one record; the first one makes the agent.
pub(crate) fn decision(version: u64) -> Commit {
    let seq = version + 1;
    let hash = [u8::try_from(seq).unwrap(); 32];
    let mut agent = AgentRow {
        scope: scope(),
        ..fixtures::agent(1, 1, "agent")
    };
    agent.columns.next_seq = seq + 1;
    agent.columns.head = hash;
    Commit {
        prompts: (version == 0).then(|| fixtures::text("prompts")),
        records: vec![AuditRow {
            seq,
            hash,
            ..fixtures::record(Action::MemorySaved)
        }],
        ..Commit::new((version > 0).then_some(version), agent)
    }
}
