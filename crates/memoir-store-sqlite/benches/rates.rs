//! How fast the store is, beside the same rows written by hand: `cargo bench -p memoir-store-sqlite`.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement prints, and stops where it fails"
)]

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use memoir_domain::{
    AccountId, AgentId, AgentScope, SessionId, Timestamp,
    audit::{Action, ActorKind},
    memory::{Kind, Number},
};
use memoir_store::{
    AccountRow, AgentQuery, AgentRow, AuditRow, BodyRow, Commit, Document, Fleet, MemoryPage,
    MemoryRow, Portable, ReplyRow, Selection, SessionRow, Store, StoredText, conformance::fixtures,
};
use memoir_store_sqlite::SqliteStore;
use rusqlite::{Connection, params};

/// Memories of one import.
const IMPORTED: u64 = 100_000;
/// Edits of one caller.
const EDITS: u64 = 2_000;
/// Concurrent callers, and the edits of each.
const CALLERS: u64 = 64;
const EDITS_EACH: u64 = 200;

fn main() {
    let folder = tempfile::tempdir_in(
        std::env::var_os("CARGO_TARGET_TMPDIR")
            .map_or_else(|| std::env::current_dir().unwrap(), Into::into),
    )
    .unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    // Names of parts as arguments; all of them without.
    let names: Vec<String> = std::env::args()
        .filter(|name| !name.starts_with('-'))
        .skip(1)
        .collect();
    let wanted = |part: &str| names.is_empty() || names.iter().any(|name| name == part);
    if wanted("import") {
        runtime.block_on(import(&folder.path().join("import.db")));
    }
    if wanted("context") {
        runtime.block_on(context(&folder.path().join("context.db")));
    }
    if wanted("pages") {
        runtime.block_on(pages(&folder.path().join("pages.db")));
    }
    for _ in 0..3 {
        if wanted("edits") {
            by_hand(&folder.path().join("hand.db"), &runtime);
            runtime.block_on(edits(&folder.path().join("edits.db")));
        }
    }
    if wanted("together") {
        runtime.block_on(together(&folder.path().join("together.db")));
    }
    if wanted("bodies") {
        runtime.block_on(bodies(&folder.path().join("bodies.db")));
    }
}

fn at(microseconds: u64) -> Timestamp {
    Timestamp::from_microseconds(microseconds as i64).unwrap()
}

fn account() -> AccountRow {
    AccountRow {
        id: AccountId::from_bytes([0xA1; 16]),
        ..fixtures::account(1, "default")
    }
}

fn agent(number: u64) -> AgentRow {
    AgentRow {
        scope: AgentScope {
            account: account().id,
            agent: AgentId::from_bytes((u128::from(number) << 64 | 1).to_be_bytes()),
        },
        document: document(0),
        ..fixtures::agent(1, 1, &format!("agent {number}"))
    }
}

/// As long as those of agents and sessions are.
fn document(version: u64) -> Document {
    Document {
        version,
        open: format!(r#"{{"text":"{}"}}"#, "x".repeat(1_200)),
        sealed: StoredText(vec![1; 43]),
    }
}

fn memory(number: u64) -> MemoryRow {
    MemoryRow {
        body: StoredText(vec![number as u8; 250]),
        tokens: 50,
        created_at: at(number),
        updated_at: at(number),
        recorded_at: at(number),
        ..fixtures::memory(number)
    }
}

fn hash(seq: u64) -> [u8; 32] {
    let mut hash = [2; 32];
    hash[..8].copy_from_slice(&seq.to_be_bytes());
    hash
}

fn record(seq: u64, number: u64) -> AuditRow {
    AuditRow {
        seq,
        recorded_at: at(seq),
        actor_kind: ActorKind::Agent,
        actor_name: "agent".to_owned(),
        memory: Some(Number(number)),
        facts: r#"{"tokens":50}"#.to_owned(),
        body: StoredText(vec![seq as u8; 350]),
        hash: hash(seq),
        ..fixtures::record(Action::MemorySaved)
    }
}

fn session(agent: AgentId) -> SessionRow {
    SessionRow {
        id: SessionId::from_bytes(*agent.as_bytes()),
        document: document(1),
        ..fixtures::session(1, agent)
    }
}

fn importing(agent: &AgentRow, count: u64) -> Commit {
    let mut agent = agent.clone();
    let first = agent.columns.next_seq;
    let (numbers, seqs) = (first..first + count, first..first + count);
    agent.columns.next_seq += count;
    agent.columns.head = hash(agent.columns.next_seq - 1);
    let version = Some(agent.document.version).filter(|version| *version > 0);
    Commit {
        prompts: version.is_none().then(|| StoredText(vec![1; 2_000])),
        memories: numbers.clone().map(memory).collect(),
        records: seqs
            .zip(numbers)
            .map(|(seq, number)| record(seq, number))
            .collect(),
        ..Commit::new(version, agent)
    }
}

async fn new_agent(store: &SqliteStore, number: u64, memories: u64) -> AgentRow {
    let commit = importing(&agent(number), memories);
    let mut row = commit.agent.clone();
    store.commit(commit).await.unwrap();
    row.document.version = 1;
    row
}

/// A store in that file with the account and nothing else.
async fn new_store(path: &Path) -> SqliteStore {
    let _ = std::fs::remove_file(path);
    let store = SqliteStore::open(path).unwrap();
    store.create_account(&account()).await.unwrap();
    store
}

async fn import(path: &Path) {
    let store = new_store(path).await;
    for number in 1..=2 {
        let commit = importing(&agent(number), IMPORTED);
        let started = Instant::now();
        store.commit(commit).await.unwrap();
        let took = started.elapsed();
        println!(
            "import, agent {number}: {IMPORTED} memories in {took:.2?}, {:.0} memories/s; database {} MB; {} MB resident",
            IMPORTED as f64 / took.as_secs_f64(),
            path.metadata().unwrap().len() >> 20,
            resident_mb()
        );
    }
    let started = Instant::now();
    drop(store);
    println!("close: {:.2?}", started.elapsed());
    let started = Instant::now();
    let store = SqliteStore::open(path).unwrap();
    println!(
        "open: {:.2?}; {} MB resident",
        started.elapsed(),
        resident_mb()
    );
    let started = Instant::now();
    assert_eq!(store.check().await.unwrap(), []);
    println!("check: {:.2?}", started.elapsed());
}

fn resident_mb() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4 / 1_024
}

async fn context(path: &Path) {
    let store = new_store(path).await;
    let row = new_agent(&store, 1, 1_000).await;
    let journal_after = at(0);
    let wanted = AgentQuery::of_memories(Selection::Context { journal_after });
    let one = with_session(&row, 500);
    let every: Vec<u64> = (1..=1_000).collect();
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..500 {
        for (place, wanted, count) in [(0, &wanted, 1_000), (1, &one, 1)] {
            let found = timed(&mut times[place], store.snapshot(row.scope, wanted)).await;
            assert_eq!(found.unwrap().unwrap().memories.len(), count);
        }
        for (place, seqs) in [(2, &every[490..498]), (3, &every[..])] {
            let found = timed(&mut times[place], store.records_at(row.scope, seqs)).await;
            assert_eq!(found.unwrap().len(), seqs.len());
        }
    }
    print_spreads(
        [
            "context of 1,000",
            "one memory",
            "8 records by their places",
            "1,000 records by their places",
        ],
        times,
    );
}

/// The agent with one of its memories and its session.
fn with_session(row: &AgentRow, memory: u64) -> AgentQuery {
    AgentQuery {
        memories: Selection::Numbers(vec![Number(memory)]),
        ..AgentQuery::of_session(session(row.scope.agent).id)
    }
}

/// Pages of an account of ten thousand agents, and of an agent of as many memories; and requests that
/// are entered, answered and looked up.
async fn pages(path: &Path) {
    let store = new_store(path).await;
    let row = new_agent(&store, 0, 10_000).await;
    for number in 1..10_000 {
        new_agent(&store, number, 0).await;
    }
    let mut times = [const { Vec::new() }; 6];
    for round in 0..200_u64 {
        let name = format!("agent {}", round * 40);
        let found = store.agent_page(account().id, Some(&name), 50);
        let found = timed(&mut times[0], found).await;
        assert_eq!(found.unwrap().len(), 50);

        let page = MemoryPage {
            after: round * 40,
            limit: 50,
            kind: Some(Kind::Core),
            ..MemoryPage::default()
        };
        let found = timed(&mut times[1], store.memory_page(row.scope, &page)).await;
        assert_eq!(found.unwrap().len(), 50);

        let found = timed(&mut times[2], store.waiting_sessions(50)).await;
        assert_eq!(found.unwrap(), []);

        let reply = ReplyRow {
            account: account().id,
            key_digest: hash(round),
            request_digest: hash(0),
            recorded_at: at(round),
            answer: None,
        };
        let answered = async {
            assert_eq!(store.begin_reply(&reply).await.unwrap(), None);
            let answer = Document {
                version: 1,
                open: r#"{"status":200}"#.to_owned(),
                sealed: StoredText(vec![1; 500]),
            };
            let ended = store.end_reply(reply.account, &reply.key_digest, None, None, answer);
            assert!(ended.await.unwrap());
        };
        timed(&mut times[3], answered).await;

        let found = timed(&mut times[4], store.token(&hash(round))).await;
        assert_eq!(found.unwrap(), None);

        let wanted = AgentQuery::default();
        let found = timed(&mut times[5], store.snapshot(row.scope, &wanted)).await;
        assert_eq!(
            found.unwrap().unwrap().row_counts.unwrap().core.count,
            10_000
        );
    }
    print_spreads(
        [
            "50 of 10,000 agents",
            "50 of 10,000 memories",
            "waiting sessions",
            "a request entered and answered",
            "a token",
            "an agent and what its 10,000 rows come to",
        ],
        times,
    );
}

/// The outcome of the work; notes how long it took.
async fn timed<T>(times: &mut Vec<Duration>, work: impl Future<Output = T>) -> T {
    let started = Instant::now();
    let done = work.await;
    times.push(started.elapsed());
    done
}

fn print_spreads<const N: usize>(names: [&str; N], mut times: [Vec<Duration>; N]) {
    for (name, times) in names.iter().zip(&mut times) {
        println!("{name}: {}", spread(times));
    }
}

fn spread(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    format!(
        "median {:.1?}, 99th of 100 {:.1?}, longest {:.1?}",
        at(0.5),
        at(0.99),
        at(1.0)
    )
}

/// One governed edit: a memory, the session, and the record.
fn editing(agent: &AgentRow, round: u64) -> Commit {
    let mut agent = agent.clone();
    let number = 1 + round % 500;
    let seq = agent.columns.next_seq;
    agent.columns.next_seq += 1;
    agent.columns.head = hash(seq);
    Commit {
        memories: vec![MemoryRow {
            updated_at: at(round),
            ..memory(number)
        }],
        sessions: vec![SessionRow {
            document: document(round),
            ..session(agent.scope.agent)
        }],
        records: vec![record(seq, number)],
        ..Commit::new(Some(agent.document.version), agent)
    }
}

async fn edits(path: &Path) {
    let store = new_store(path).await;
    let mut row = new_agent(&store, 1, 1_000).await;
    let mut times = Vec::new();
    let mut reads = Vec::new();
    let started = Instant::now();
    for round in 0..EDITS {
        let began = Instant::now();
        let wanted = with_session(&row, 1 + round % 500);
        let snapshot = store.snapshot(row.scope, &wanted).await.unwrap().unwrap();
        let chosen = [1 + round % 500, 501 + round % 500];
        store.records_at(row.scope, &chosen).await.unwrap();
        reads.push(began.elapsed());
        let commit = editing(&snapshot.agent, round);
        store.commit(commit).await.unwrap();
        times.push(began.elapsed());
        row.document.version += 1;
    }
    let all = started.elapsed();
    println!(
        "store: {:.0} edits/s, {}; of it reading {}; {} MB resident",
        EDITS as f64 / all.as_secs_f64(),
        spread(&mut times),
        spread(&mut reads),
        resident_mb()
    );
}

/// The rows of the same edit in one transaction on a plain connection.
fn by_hand(path: &Path, runtime: &tokio::runtime::Runtime) {
    runtime.block_on(async {
        let store = new_store(path).await;
        let row = new_agent(&store, 1, 1_000).await;
        let begun = Commit {
            sessions: vec![session(row.scope.agent)],
            ..Commit::new(Some(1), row)
        };
        store.commit(begun).await.unwrap();
    });
    let connection = Connection::open(path).unwrap();
    let pragmas = "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON";
    connection.execute_batch(pragmas).unwrap();
    let mut times = Vec::new();
    let started = Instant::now();
    let row = agent(1);
    let id = row.scope.agent.as_bytes();
    for round in 0..EDITS {
        let began = Instant::now();
        let number = (1 + round % 500) as i64;
        let run = |sql: &str, values: &[&dyn rusqlite::ToSql]| {
            let mut statement = connection.prepare_cached(sql).unwrap();
            statement.execute(values).unwrap();
        };
        run("BEGIN IMMEDIATE", &[]);
        run(
            "UPDATE agents SET version = version + 1, open = ?2, next_seq = ?3, head = ?4 \
             WHERE id = ?1",
            &[
                id,
                &document(1).open,
                &(1_002 + round as i64),
                &hash(1_001 + round),
            ],
        );
        run(
            "UPDATE memories SET body = ?3, updated_at = ?4 WHERE agent_id = ?1 AND number = ?2",
            &[id, &number, &memory(number as u64).body.0, &(round as i64)],
        );
        run(
            "UPDATE sessions SET version = version + 1, open = ?2 WHERE id = ?1",
            &[id, &document(1).open],
        );
        let record = record(1_001 + round, number as u64);
        run(
            "INSERT INTO audit_records (agent_id, seq, recorded_at, actor_kind, actor_name, \
                 action, memory, body_version, body_commitment, hash, facts, body) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            params![
                id,
                record.seq as i64,
                record.recorded_at.microseconds(),
                "agent",
                record.actor_name,
                record.action.as_str(),
                number,
                1,
                record.body_commitment,
                record.hash,
                record.facts,
                record.body.0
            ],
        );
        run("COMMIT", &[]);
        times.push(began.elapsed());
    }
    println!(
        "by hand: {:.0} edits/s, {}",
        EDITS as f64 / started.elapsed().as_secs_f64(),
        spread(&mut times)
    );
}

async fn together(path: &Path) {
    let store = Arc::new(new_store(path).await);
    let mut rows = Vec::new();
    for number in 0..CALLERS {
        rows.push(new_agent(&store, number, 500).await);
    }
    let before = store.transactions();
    let started = Instant::now();
    let mut tasks = Vec::new();
    for mut row in rows {
        let store = Arc::clone(&store);
        tasks.push(tokio::spawn(async move {
            for round in 0..EDITS_EACH {
                let commit = editing(&row, round);
                row = commit.agent.clone();
                store.commit(commit).await.unwrap();
                row.document.version += 1;
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let took = started.elapsed().as_secs_f64();
    let edits = CALLERS * EDITS_EACH;
    println!(
        "{CALLERS} callers: {:.0} edits/s, {:.1} to a transaction",
        edits as f64 / took,
        edits as f64 / (store.transactions() - before) as f64
    );
}

/// Shredded bodies of a log, each of them off the disk before it is acknowledged.
async fn bodies(path: &Path) {
    for memories in [1_000, 10_000, 50_000] {
        let store = new_store(path).await;
        let mut row = new_agent(&store, 1, memories).await;
        let mut times = Vec::new();
        for round in 0..20 {
            let mut commit = editing(&row, round);
            commit.bodies = vec![BodyRow {
                seq: round + 1,
                body_version: 2,
                body: StoredText(vec![1; 40]),
            }];
            row = commit.agent.clone();
            timed(&mut times, store.commit(commit)).await.unwrap();
            row.document.version += 1;
        }
        println!(
            "a body of {memories} ({} MB): {}",
            path.metadata().unwrap().len() >> 20,
            spread(&mut times)
        );
    }
}
