//! What a governed edit, a prompt and an import cost, beside the same rows written by hand into raw
//! SQLite in the same run: `cargo bench -p memoir-app`.
//!
//! Both sides write through the same schema with `synchronous=FULL`, in turns, so that a machine whose
//! speed drifts slows both. Only the ratios count.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement prints, and stops where it fails"
)]

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use memoir_app::{InstallationSettings, Memoir, OwnAgent, Viewer, import};
use memoir_domain::{
    SessionId, agent::Field, audit::Actor, memory::Number, session::Mode, tools::ToolResult,
};
use memoir_store::Store;
use memoir_store_sqlite::SqliteStore;
use memoir_testkit::{DiskFolder, SetModel, customer, query};
use memoir_vault::{
    AgentKey, KeyStore, MasterKey, MasterSource, chain,
    seal::{Nonce, SealContext, SealedRow},
};
use rusqlite::{Connection, params};
use serde_json::json;

memoir_testkit::program_allocator!();

/// Agents with an open session at a time; each session has ten edits.
const AGENTS: usize = 64;
const EDITS: usize = 10;
/// Turns of governed and raw.
const ROUNDS: usize = 6;

struct Agent {
    handle: OwnAgent,
    session: SessionId,
}

fn person() -> Actor {
    Actor::administrator("bench")
}

fn open(path: &Path) -> Memoir {
    open_with_store(path).0
}

fn open_with_store(path: &Path) -> (Memoir, SqliteStore) {
    let embedded = SqliteStore::open(path).unwrap();
    let store: Arc<dyn Store> = Arc::new(embedded.clone());
    let source = MasterSource::File(path.with_extension("master-key"));
    let keys = memoir_vault::unlock(&source, &path.with_extension("keys"), false).unwrap();
    let settings = InstallationSettings {
        default_model: Some("bench:silent".parse().unwrap()),
        lease: Duration::from_secs(86_400),
        ..InstallationSettings::default()
    };
    let models = Arc::new(SetModel::default());
    let memoir = Memoir::new(store, Arc::new(keys), models, settings);
    (memoir, embedded)
}

/// The processor time of this process, over all threads; `None` where the system does not report it. The load of the
/// machine does not change it.
fn processor_time() -> Option<Duration> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?;
    let mut nanoseconds = 0;
    for task in tasks {
        let told = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        nanoseconds += told.split(' ').next()?.parse::<u64>().ok()?;
    }
    Some(Duration::from_nanos(nanoseconds))
}

/// Times something by the processor's time, and adds that to `total`.
async fn on_processor<T>(total: &mut Duration, work: impl Future<Output = T>) -> T {
    let before = processor_time().unwrap_or_default();
    let done = work.await;
    *total += processor_time().unwrap_or_default().saturating_sub(before);
    done
}

/// Believable memories of some 160 characters as JSON lines: two names, a number, a date, a negation.
fn customers(memories: usize) -> String {
    (0..memories)
        .map(|number| json!({"content": customer(number)}).to_string() + "\n")
        .collect()
}

/// An agent under `off`: one row changes with each edit, as in the rows by hand. `archived` measures the default guard.
async fn agent(memoir: &Memoir, name: &str, memories: usize) -> OwnAgent {
    agent_of(memoir, name, customers(memories), "off").await
}

/// An agent with memories, as JSON lines.
async fn agent_of(memoir: &Memoir, name: &str, lines: String, guard: &str) -> OwnAgent {
    let account = memoir.account("default").await.unwrap();
    account
        .create_agent(
            name,
            &[
                (Field::SystemPrompt, Some("I am Wren.")),
                (Field::LossGuard, Some(guard)),
            ],
            &person(),
        )
        .await
        .unwrap();
    let handle = account.agent(name).await.unwrap();
    let handle = handle.views().seen_by(Viewer::Agent).as_agent().unwrap();
    let read = import::read(lines.as_bytes(), None, memoir_domain::Timestamp::MAX);
    // The agent's own side (SPEC 3.4).
    let own = Actor::agent("wren");
    handle
        .memories()
        .import(read, false, &own, Arc::default())
        .await
        .unwrap();
    handle
}

async fn with_session(handle: OwnAgent) -> Agent {
    let (session, _) = handle.open_own(Mode::Full).await.unwrap();
    let session = session.id;
    Agent { handle, session }
}

/// The edit: eight in ten shorten a text, two delete.
fn call(turn: usize) -> (&'static str, serde_json::Value) {
    let number = turn + 1;
    if turn % 5 == 4 {
        return ("delete_memory", json!({"id": number}));
    }
    let content = customer(turn).replace("really rather cold", "cold");
    ("update_memory", json!({"id": number, "content": content}))
}

/// Makes the edit, and returns its duration.
async fn edit(agent: &Agent, turn: usize) -> Duration {
    let (tool, arguments) = call(turn);
    let began = Instant::now();
    let answer = agent
        .handle
        .call_tool(agent.session, tool, Some(&arguments))
        .await
        .unwrap();
    let took = began.elapsed();
    assert!(
        matches!(
            answer,
            ToolResult::Updated { .. } | ToolResult::Deleted { .. }
        ),
        "{answer:?}"
    );
    took
}

fn percentiles(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort();
    (times[times.len() / 2], times[times.len() * 99 / 100])
}

/// The rows that one governed edit wrote, to be written again by hand.
struct Rows {
    agent_id: Vec<u8>,
    head: Vec<u8>,
    open: String,
    seal: Vec<u8>,
    session_id: Vec<u8>,
    session_open: String,
    session_body: Vec<u8>,
    version: i64,
    number: i64,
    tokens: i64,
    updated_at: i64,
    discarded_at: Option<i64>,
    body: Vec<u8>,
    record: Record,
}

struct Record {
    seq: i64,
    recorded_at: i64,
    actor_kind: String,
    actor_name: String,
    action: String,
    facts: String,
    body: Vec<u8>,
    body_commitment: Vec<u8>,
    hash: Vec<u8>,
}

fn raw(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    let pragmas = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON";
    connection.execute_batch(pragmas).unwrap();
    connection.set_prepared_statement_cache_capacity(64);
    connection
}

/// Reads from the governed database what an edit wrote.
fn rows(governed: &Connection, agent: &Agent, turn: usize) -> Rows {
    let agent_id = agent.handle.scope().agent.as_bytes().to_vec();
    let number = turn as i64 + 1;
    let record = governed
                .query_row(
                    "SELECT seq, recorded_at, actor_kind, actor_name, action, facts, body, body_commitment, hash FROM audit_records \
                     WHERE agent_id = ?1 AND memory = ?2 ORDER BY seq DESC LIMIT 1",
                    params![agent_id, number],
                    |row| {
                        Ok(Record {
                            seq: row.get(0)?,
                            recorded_at: row.get(1)?,
                            actor_kind: row.get(2)?,
                            actor_name: row.get(3)?,
                            action: row.get(4)?,
                            facts: row.get(5)?,
                            body: row.get(6)?,
                            body_commitment: row.get(7)?,
                            hash: row.get(8)?,
                        })
                    },
                )
                .unwrap();
    let memory = governed
                .query_row(
                    "SELECT tokens, updated_at, discarded_at, body, version FROM memories WHERE agent_id = ?1 AND number = ?2",
                    params![agent_id, number],
                    |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)),
                )
                .unwrap();
    let session_id = agent.session.as_bytes().to_vec();
    let blob = |sql: &str, id: &[u8]| -> Vec<u8> {
        governed
            .query_row(sql, params![id], |row| row.get(0))
            .unwrap()
    };
    let text = |sql: &str, id: &[u8]| -> String {
        governed
            .query_row(sql, params![id], |row| row.get(0))
            .unwrap()
    };
    Rows {
        head: blob("SELECT head FROM agents WHERE id = ?1", &agent_id),
        open: text("SELECT open FROM agents WHERE id = ?1", &agent_id),
        seal: blob("SELECT sealed FROM agents WHERE id = ?1", &agent_id),
        session_open: text("SELECT open FROM sessions WHERE id = ?1", &session_id),
        session_body: blob("SELECT sealed FROM sessions WHERE id = ?1", &session_id),
        session_id,
        version: memory.4,
        number,
        tokens: memory.0,
        updated_at: memory.1,
        discarded_at: memory.2,
        body: memory.3,
        record,
        agent_id,
    }
}

/// What sealing adds to each body, in bytes.
const SEAL: usize = memoir_vault::seal::OVERHEAD_BYTES;

/// `sealed` writes the rows as they are; else as they would be without seals, hashes and versions.
fn write_by_hand(connection: &Connection, rows: &Rows, sealed: bool) {
    let run = |sql: &str, values: &[&dyn rusqlite::ToSql]| {
        let mut statement = connection.prepare_cached(sql).unwrap();
        statement.execute(values).unwrap();
    };
    let body = |body: &[u8]| body[if sealed { 0 } else { SEAL }..].to_vec();
    run(
        "UPDATE agents SET version = version + 1, removable_tokens = removable_tokens - 3, \
             next_seq = next_seq + 1, open = ?2 WHERE id = ?1",
        params![rows.agent_id, rows.open],
    );
    if sealed {
        run(
            "UPDATE agents SET head = ?2, sealed = ?3 WHERE id = ?1",
            params![rows.agent_id, rows.head, rows.seal],
        );
    }
    run(
        "UPDATE memories SET tokens = ?3, updated_at = ?4, discarded_at = ?5, body = ?6 WHERE agent_id = ?1 AND number = ?2",
        params![
            rows.agent_id,
            rows.number,
            rows.tokens,
            rows.updated_at,
            rows.discarded_at,
            body(&rows.body)
        ],
    );
    run(
        "UPDATE sessions SET version = ?2, open = ?3, sealed = ?4 WHERE id = ?1",
        params![
            rows.session_id,
            rows.version,
            rows.session_open,
            body(&rows.session_body)
        ],
    );
    let record = &rows.record;
    run(
        "INSERT INTO audit_records (agent_id, seq, recorded_at, actor_kind, actor_name, action, session_id, memory, \
             facts, body, body_version, body_commitment, hash) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 1, ?11, ?12)",
        params![
            rows.agent_id,
            record.seq,
            record.recorded_at,
            record.actor_kind,
            record.actor_name,
            record.action,
            rows.session_id,
            rows.number,
            record.facts,
            body(&record.body),
            record.body_commitment,
            record.hash
        ],
    );
}

/// What an edit does with keys, on bytes of the same lengths: it opens the memory, seals four rows, and
/// chains the record.
fn vault_work(key: &AgentKey, rows: &Rows) -> Duration {
    let place = SealContext {
        row: SealedRow::Memory(Number(1)),
        version: 1,
    };
    // As long as the open columns of an agent's row, the longest ones.
    let columns = [b'0'; 400];
    let seal = |body: &[u8]| {
        let mut nonce = [0; 24];
        getrandom::fill(&mut nonce).unwrap();
        key.seal(
            &place,
            &columns,
            &body[..body.len() - SEAL],
            Nonce::from_random(nonce),
        )
    };
    let sealed = seal(&rows.body);
    let scope = key.scope();
    let began = Instant::now();
    key.open(&place, &columns, &sealed).unwrap();
    seal(&rows.body);
    seal(&rows.seal);
    seal(&rows.session_body);
    let body = chain::body_commitment(&seal(&rows.record.body));
    let record = chain::ChainRecord {
        seq: 1,
        recorded_at: memoir_domain::Timestamp::MAX,
        actor_kind: &rows.record.actor_kind,
        actor_name: &rows.record.actor_name,
        action: &rows.record.action,
        session: None,
        memory: Some(Number(1)),
        facts: rows.record.facts.as_bytes(),
        body,
    };
    std::hint::black_box(record.hash(scope, &chain::genesis(scope)));
    began.elapsed()
}

/// What sealing and chaining add to an edit: the work on the keys, and the longer rows, written by hand
/// with and without them, in turns.
async fn vault(folder: &DiskFolder) {
    let (mut governed, mut sealed, mut plain, mut work) = (vec![], vec![], vec![], vec![]);
    let keys = KeyStore::in_memory(&MasterKey::generate().unwrap()).unwrap();
    for round in 0..ROUNDS {
        let (agents, path, copy, _) = prepare(folder, 200 + round, 100).await;
        let bare = copy.with_extension("bare");
        std::fs::copy(&copy, &bare).unwrap();
        let written = Connection::open(&path).unwrap();
        let (with, without) = (raw(&copy), raw(&bare));
        for turn in 0..EDITS {
            for agent in &agents {
                governed.push(edit(agent, turn).await);
            }
            for agent in &agents {
                let rows = rows(&written, agent, turn);
                let key = keys.create(agent.handle.scope(), memoir_domain::Timestamp::MAX);
                work.push(vault_work(&key.unwrap(), &rows));
                for (connection, is_sealed, times) in
                    [(&with, true, &mut sealed), (&without, false, &mut plain)]
                {
                    let began = Instant::now();
                    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
                    write_by_hand(connection, &rows, is_sealed);
                    connection.execute_batch("COMMIT").unwrap();
                    times.push(began.elapsed());
                }
            }
        }
    }
    let median = |times| percentiles(times).0.as_secs_f64();
    let (edit, sealed, plain, work) = (
        median(governed),
        median(sealed),
        median(plain),
        median(work),
    );
    let added = work + (sealed - plain).max(0.0);
    println!(
        "sealing and chaining, an edit      {:>9.1?} of work on keys",
        Duration::from_secs_f64(work)
    );
    println!(
        "  longer rows, by hand             {:>9.1?} beside {:.1?}",
        Duration::from_secs_f64(sealed),
        Duration::from_secs_f64(plain)
    );
    println!(
        "  a governed edit                  {:>9.1?}, {:.2} times what it would take without (at most 1.25)",
        Duration::from_secs_f64(edit),
        edit / (edit - added)
    );
}

/// A database with [`AGENTS`] agents and an open session for each, and a copy of it.
async fn prepare(
    folder: &DiskFolder,
    round: usize,
    memories: usize,
) -> (Vec<Agent>, PathBuf, PathBuf, SqliteStore) {
    let (path, copy) = (
        folder.path(&format!("{round}-{memories}.db")),
        folder.path(&format!("{round}-{memories}-raw.db")),
    );
    let (memoir, store) = open_with_store(&path);
    let mut agents = Vec::new();
    for number in 0..AGENTS {
        agents.push(with_session(agent(&memoir, &format!("agent {number}"), memories).await).await);
    }
    let connection = Connection::open(&path).unwrap();
    connection
        .execute("VACUUM INTO ?1", params![copy.to_str().unwrap()])
        .unwrap();
    (agents, path, copy, store)
}

/// Governed and by hand in turns of an edit for each agent: what the disk does meanwhile slows both.
async fn one_by_one(folder: &DiskFolder) {
    let (mut governed, mut by_hand, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let (mut governed_work, mut work_by_hand) = (Duration::ZERO, Duration::ZERO);
    for round in 0..ROUNDS {
        let (agents, path, copy, _) = prepare(folder, round, 100).await;
        let (written, connection) = (Connection::open(&path).unwrap(), raw(&copy));
        for turn in 0..EDITS {
            let mut times = Vec::new();
            let edits = async {
                for agent in &agents {
                    times.push(edit(agent, turn).await);
                }
            };
            on_processor(&mut governed_work, edits).await;
            let all: Vec<Rows> = agents
                .iter()
                .map(|agent| rows(&written, agent, turn))
                .collect();
            let mut raw_times = Vec::new();
            let writing = async {
                for rows in &all {
                    let began = Instant::now();
                    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
                    write_by_hand(&connection, rows, true);
                    connection.execute_batch("COMMIT").unwrap();
                    raw_times.push(began.elapsed());
                }
            };
            on_processor(&mut work_by_hand, writing).await;
            ratios.push(
                percentiles(times.clone()).0.as_secs_f64()
                    / percentiles(raw_times.clone()).0.as_secs_f64(),
            );
            governed.extend(times);
            by_hand.extend(raw_times);
        }
    }
    ratios.sort_by(f64::total_cmp);
    let edits = u32::try_from(governed.len()).unwrap();
    let ((median, p99), (raw_median, raw_p99)) = (percentiles(governed), percentiles(by_hand));
    println!("one governed edit, one caller      {median:>9.1?} median, {p99:>9.1?} p99");
    println!("  the same rows by hand            {raw_median:>9.1?} median, {raw_p99:>9.1?} p99");
    println!(
        "  ratio                            {:.2} of medians, {:.2} median of {} turns (at most 1.4)",
        median.as_secs_f64() / raw_median.as_secs_f64(),
        ratios[ratios.len() / 2],
        ratios.len(),
    );
    let (work, raw_work) = (governed_work / edits, work_by_hand / edits);
    println!(
        "  processor time                   {work:>9.1?} and {raw_work:.1?}: {:.1?} more (at most 60 µs)",
        work.saturating_sub(raw_work),
    );
}

async fn together(folder: &DiskFolder) {
    let (mut governed, mut by_hand, mut shared) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let (agents, path, copy, store) = prepare(folder, 100 + round, 100).await;
        let agents: Vec<Arc<Agent>> = agents.into_iter().map(Arc::new).collect();
        let transactions = store.transactions();
        let began = Instant::now();
        let callers: Vec<_> = agents
            .iter()
            .cloned()
            .map(|agent| {
                tokio::spawn(async move {
                    for turn in 0..EDITS {
                        edit(&agent, turn).await;
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.await.unwrap();
        }
        governed.push((AGENTS * EDITS) as f64 / began.elapsed().as_secs_f64());
        shared.push((AGENTS * EDITS) as f64 / (store.transactions() - transactions) as f64);
        let connection = raw(&copy);
        let agents: Vec<Agent> = agents
            .iter()
            .map(|agent| Agent {
                handle: agent.handle.clone(),
                session: agent.session,
            })
            .collect();
        let written = Connection::open(&path).unwrap();
        let rows: Vec<Rows> = (0..EDITS)
            .flat_map(|turn| agents.iter().map(move |agent| (agent, turn)))
            .map(|(agent, turn)| rows(&written, agent, turn))
            .collect();
        let began = Instant::now();
        for batch in rows.chunks(AGENTS) {
            connection.execute_batch("BEGIN IMMEDIATE").unwrap();
            batch
                .iter()
                .for_each(|rows| write_by_hand(&connection, rows, true));
            connection.execute_batch("COMMIT").unwrap();
        }
        by_hand.push(rows.len() as f64 / began.elapsed().as_secs_f64());
    }
    for figures in [&mut governed, &mut by_hand, &mut shared] {
        figures.sort_by(f64::total_cmp);
    }
    let (governed, by_hand) = (governed[ROUNDS / 2], by_hand[ROUNDS / 2]);
    println!(
        "governed edits, {AGENTS} callers         {governed:>9.0} a second (median of {ROUNDS} rounds)"
    );
    println!("  the same rows by hand, batches   {by_hand:>9.0} a second");
    println!(
        "  ratio                            {:.2} (at least 0.75), {:.1} edits in a transaction",
        governed / by_hand,
        shared[ROUNDS / 2],
    );
}

/// One pair of sessions after the other: the memories of open sessions are kept up to a limit, which twelve large ones
/// at a time would exceed.
async fn growth(folder: &DiskFolder) {
    let path = folder.path("growth.db");
    let memoir = open(&path);
    let (mut small_times, mut large_times) = (Vec::new(), Vec::new());
    for number in 0..12 {
        let small = with_session(agent(&memoir, &format!("small {number}"), 100).await).await;
        let large = with_session(agent(&memoir, &format!("large {number}"), 10_000).await).await;
        for turn in 0..EDITS {
            small_times.push(edit(&small, turn).await);
            large_times.push(edit(&large, turn).await);
        }
    }
    let ((small, _), (large, _)) = (percentiles(small_times), percentiles(large_times));
    println!("an edit beside 100 memories        {small:>9.1?} median");
    println!("an edit beside 10,000 memories     {large:>9.1?} median");
    println!(
        "  ratio                            {:.2} (at most 1.2)",
        large.as_secs_f64() / small.as_secs_f64()
    );
}

/// Edits under the default guard beside 10,000 memories, all of which the opening of the session has read: each computes
/// how much of every age stays. Then what it takes to verify that no original is lost.
async fn archived(folder: &DiskFolder) {
    const MEMORIES: usize = 10_000;
    const AGENTS: usize = 5;
    let memoir = open(&folder.path("archived.db"));
    let (mut first, mut later, mut verified) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..AGENTS {
        let handle = agent_of(
            &memoir,
            &format!("wren {number}"),
            customers(MEMORIES),
            "archive",
        )
        .await;
        let agent = with_session(handle).await;
        for turn in 0..EDITS {
            // The newest: of them most may leave.
            let arguments = json!({"ids": [MEMORIES - turn]});
            let began = Instant::now();
            let answer = agent
                .handle
                .call_tool(agent.session, "delete_memory", Some(&arguments))
                .await
                .unwrap();
            let took = began.elapsed();
            assert!(matches!(answer, ToolResult::Deleted { .. }), "{answer:?}");
            match turn {
                0 => first.push(took),
                _ => later.push(took),
            }
        }
        let lines = (0..MEMORIES).map(|number| {
            let kind = ["archival", "core", "core", "core"][number % 4];
            json!({"content": customer(number), "kind": kind}).to_string() + "\n"
        });
        let handle = agent_of(
            &memoir,
            &format!("archivist {number}"),
            lines.collect(),
            "archive",
        )
        .await;
        let began = Instant::now();
        let verification = handle.log().verify().await.unwrap();
        verified.push(began.elapsed());
        let originals = verification.originals.unwrap();
        let found = (verification.valid, originals.archived, originals.lost);
        assert_eq!(found, (true, MEMORIES as u64 / 4, 0));
    }
    let median = |times| percentiles(times).0;
    println!(
        "a first edit beside 10,000         {:>9.1?} median (under 300 ms)",
        median(first)
    );
    println!(
        "  a later edit                     {:>9.1?} median (under 2 ms)",
        median(later)
    );
    println!(
        "verifying 10,000, a quarter archival {:>7.1?} median (under 150 ms)",
        median(verified)
    );
}

/// Sessions that the agents open themselves beside many memories, and the undoing of sessions of ten edits.
async fn sessions(folder: &DiskFolder) {
    const AGENTS: usize = 12;
    let memoir = open(&folder.path("sessions.db"));
    let (mut opened, mut undone, mut undone_beside_many) = (Vec::new(), Vec::new(), Vec::new());
    for (memories, times) in [(100, &mut undone), (10_000, &mut undone_beside_many)] {
        // All of them first: what their memories left in the log is moved into the file meanwhile.
        let mut handles = Vec::new();
        for number in 0..AGENTS {
            handles.push(agent(&memoir, &format!("{memories} {number}"), memories).await);
        }
        for handle in handles {
            let began = Instant::now();
            let (session, shown) = handle.open_own(Mode::Full).await.unwrap();
            let took = began.elapsed();
            std::hint::black_box(shown);
            if memories > 100 {
                opened.push(took);
            }
            let session = session.id;
            let agent = Agent { handle, session };
            for turn in 0..EDITS {
                edit(&agent, turn).await;
            }
            let summary = json!({"summary": "Shortened some texts."});
            let complete = agent
                .handle
                .call_tool(session, "complete_refinement", Some(&summary));
            complete.await.unwrap();
            let began = Instant::now();
            let actor = person();
            let undo = agent.handle.sessions().roll_back(session, false, &actor);
            undo.await.unwrap();
            times.push(began.elapsed());
        }
    }
    let [opened, undone, beside_many] =
        [opened, undone, undone_beside_many].map(|times| percentiles(times).0);
    println!("opening a session beside 10,000    {opened:>9.1?} median of {AGENTS} (under 30 ms)");
    println!("undoing a session of ten edits     {undone:>9.1?} median of {AGENTS} (under 2 ms)");
    println!("  the same beside 10,000           {beside_many:>9.1?}");
}

async fn context(folder: &DiskFolder) {
    let memoir = open(&folder.path("context.db"));
    let handle = agent(&memoir, "wren", 1_000).await;
    let mut times = Vec::new();
    for _ in 0..200 {
        let began = Instant::now();
        let context = handle.context(None).await.unwrap();
        times.push(began.elapsed());
        assert!(context.core_tokens > 30_000);
    }
    let (median, p99) = percentiles(times);
    println!(
        "context of 1,000 memories          {median:>9.1?} median, {p99:>9.1?} p99 (under 5 ms)"
    );
}

async fn recall(folder: &DiskFolder) {
    let memoir = open(&folder.path("recall.db"));
    let handle = agent(&memoir, "wren", 10_000).await;
    let (mut times, mut first) = (Vec::new(), None);
    for round in 0..400 {
        let query = query(&format!("Keller {} sheets", round % 28 + 1), 20);
        let began = Instant::now();
        let found = handle
            .views()
            .seen_by(Viewer::Agent)
            .recall(&query)
            .await
            .unwrap();
        let time = began.elapsed();
        // The first one opens every text, and builds the index of their words.
        match first {
            None => first = Some(time),
            Some(_) => times.push(time),
        }
        assert!(!found.is_empty());
    }
    let (median, p99) = percentiles(times);
    println!(
        "recall in 10,000 memories          {median:>9.1?} median, {p99:>9.1?} p99 (under 1 ms, 3 ms); the first {:.1?}",
        first.unwrap_or_default()
    );
}

async fn bulk(folder: &DiskFolder) {
    const MEMORIES: usize = 100_000;
    let lines: String = (0..MEMORIES)
        .map(|number| json!({"content": customer(number)}).to_string() + "\n")
        .collect();
    let mut rates = Vec::new();
    for round in 0..3 {
        let memoir = open(&folder.path(&format!("bulk-{round}.db")));
        let handle = agent(&memoir, "wren", 1).await;
        let began = Instant::now();
        let read = import::read(lines.as_bytes(), None, memoir_domain::Timestamp::MAX);
        let count = handle
            .memories()
            .import(read, false, &person(), Arc::default())
            .await
            .unwrap();
        assert_eq!(count.imported, MEMORIES);
        rates.push(MEMORIES as f64 / began.elapsed().as_secs_f64());
    }
    rates.sort_by(f64::total_cmp);
    println!(
        "import of 100,000, each audited    {:>9.0} a second, median of 3 (at least 20,000)",
        rates[1]
    );
}

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|other| other == name);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let folder = DiskFolder::default();
        if is_wanted("one") {
            one_by_one(&folder).await;
        }
        if is_wanted("together") {
            together(&folder).await;
        }
        if is_wanted("growth") {
            growth(&folder).await;
        }
        if is_wanted("archived") {
            archived(&folder).await;
        }
        if is_wanted("sessions") {
            sessions(&folder).await;
        }
        if is_wanted("context") {
            context(&folder).await;
        }
        if is_wanted("recall") {
            recall(&folder).await;
        }
        if is_wanted("vault") {
            vault(&folder).await;
        }
        if is_wanted("import") {
            bulk(&folder).await;
        }
    });
    // What still runs in the background is not waited for.
    runtime.shutdown_background();
}
