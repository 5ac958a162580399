//! A server for all tests of this process, and a database for each.

use std::sync::OnceLock;

use memoir_domain::{
    AccountId, AgentId, AgentScope, Timestamp, UserId,
    audit::{Action, ActorKind},
    memory::{Kind, Number},
    schedule::NextDue,
};
use memoir_store::{
    AccountRow, AgentColumns, AgentRow, AuditRow, Commit, Document, FleetRanks, MemoryRow,
    ReplyRow, StoredText, UserColumns, UserRow,
};
use memoir_store_postgres::PostgresStore;
use memoir_testkit::Postgres;

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

pub(crate) fn scope() -> AgentScope {
    AgentScope {
        account: AccountId::from_bytes([0xA1; 16]),
        agent: AgentId::from_bytes([0xB1; 16]),
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_microseconds(seconds * 1_000_000).unwrap()
}

pub(crate) fn account() -> AccountRow {
    AccountRow {
        id: scope().account,
        name: "own".to_owned(),
        folded_name: "own".to_owned(),
        created_at: at(0),
    }
}

pub(crate) fn user() -> UserRow {
    UserRow {
        id: UserId::from_bytes([3; 16]),
        account: account().id,
        columns: UserColumns {
            folded_name: "ada".to_owned(),
            created_at: account().created_at,
            removed_at: None,
        },
        document: Document {
            version: 1,
            open: "{}".to_owned(),
            sealed: StoredText(vec![1]),
        },
    }
}

/// An active core memory of ten tokens.
pub(crate) fn reply() -> ReplyRow {
    ReplyRow {
        account: account().id,
        key_digest: [1; 32],
        request_digest: [2; 32],
        recorded_at: account().created_at,
        answer: None,
    }
}

pub(crate) fn memory(number: u64) -> MemoryRow {
    MemoryRow {
        number: Number(number),
        version: 1,
        kind: Kind::Core,
        body: StoredText(vec![1]),
        tokens: 10,
        constitutional: false,
        created_at: at(1),
        updated_at: at(1),
        discarded_at: None,
        shredded_at: None,
        under: None,
        archived_at: None,
        archived_by: None,
        is_summary: false,
        core_seq: None,
        recorded_at: at(1),
    }
}

/// A decision on the agent of that version that leaves one record; the first one makes the agent.
pub(crate) fn decision(version: u64) -> Commit {
    let seq = version + 1;
    let hash = [u8::try_from(seq).unwrap(); 32];
    let text = || StoredText(vec![1, 2, 3]);
    Commit {
        expected_version: (version > 0).then_some(version),
        agent: AgentRow {
            scope: scope(),
            columns: AgentColumns {
                name: "agent".to_owned(),
                folded_name: "agent".to_owned(),
                erased_at: None,
                next_seq: seq + 1,
                head: hash,
                prospect: NextDue::default(),
                ranks: FleetRanks::default(),
            },
            document: Document {
                version: 0,
                open: "{}".to_owned(),
                sealed: text(),
            },
        },
        prompts: (version == 0).then(text),
        memories: Vec::new(),
        sessions: Vec::new(),
        bodies: Vec::new(),
        tokens: Vec::new(),
        access: Vec::new(),
        messages: Vec::new(),
        waiting: None,
        records: vec![AuditRow {
            seq,
            recorded_at: at(1),
            actor_kind: ActorKind::System,
            actor_name: "test".to_owned(),
            action: Action::MemorySaved,
            session: None,
            memory: None,
            facts: "{}".to_owned(),
            body: text(),
            body_version: 1,
            body_commitment: [9; 32],
            hash,
            previous_hash: None,
        }],
        reply: None,
        progress: None,
    }
}
