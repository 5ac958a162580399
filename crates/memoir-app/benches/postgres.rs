//! What a governed edit costs on PostgreSQL, for one caller and for 32, beside `pgbench` writing rows of the same
//! sizes into the same tables of the same server, in the same run: `cargo bench -p memoir-app --bench postgres`.
//!
//! The server flushes each commit to the disk, and is on the same machine. `pgbench` sends a transaction's statements,
//! which it has prepared, without waiting for each one's answer, and computes nothing. Only the ratios count.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement prints, and stops where it fails"
)]

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use memoir_app::{InstallationSettings, Memoir, MemoryInput, OwnAgent, Viewer};
use memoir_domain::{SessionId, agent::Field, audit::Actor, session::Mode, tools::ToolResult};
use memoir_model::Providers;
use memoir_store_postgres::PostgresStore;
use memoir_testkit::{Postgres, customer, input};
use memoir_vault::{KeyStore, MasterKey};
use serde_json::json;

memoir_testkit::program_allocator!();

const AGENTS: usize = 32;
/// Memories of each agent.
const MEMORIES: usize = 100;
/// Edits of a session.
const EDITS: usize = 10;
/// Edits of all sessions of all agents: as many with one caller as with many, so that the first writing of each page
/// after a checkpoint, which PostgreSQL logs whole, weighs as little in both.
const ALL_EDITS: usize = 3_200;
/// How long `pgbench` writes, each of three times.
const SECONDS: &str = "2";

/// Rows of the lengths that an edit of the first agent wrote; each client of `pgbench` writes those of its own agent.
const TABLE: &str = "
CREATE TABLE raw AS
    SELECT row_number() OVER (ORDER BY agents.id) - 1 AS client, agents.id AS agent, sessions.id AS session
    FROM agents JOIN sessions ON sessions.agent_id = agents.id AND sessions.ended_at IS NULL;
CREATE UNIQUE INDEX raw_client ON raw (client);
CREATE TABLE sample AS
    SELECT agents.head, agents.open AS agent_open, agents.sealed AS agent_sealed,
        sessions.open AS session_open, sessions.sealed AS session_sealed, memories.body AS memory,
        record.facts, record.body AS record, record.hash
    FROM raw JOIN agents ON agents.id = raw.agent JOIN sessions ON sessions.id = raw.session
        JOIN memories ON memories.agent_id = agents.id AND memories.number = 1
        JOIN LATERAL (SELECT * FROM audit_records WHERE agent_id = agents.id AND memory = 1 AND session_id IS NOT NULL
            ORDER BY seq DESC LIMIT 1) AS record ON true
    WHERE raw.client = 0;
ANALYZE";

/// The same rows, of the same lengths.
const SCRIPT: &str = r"
\set number random(1, 100)
\startpipeline
BEGIN;
UPDATE agents SET version = version + 1, next_seq = next_seq + 1, head = sample.head, open = agent_open, sealed = agent_sealed FROM sample WHERE id = (SELECT agent FROM raw WHERE client = :client_id);
UPDATE memories SET updated_at = updated_at + 1, tokens = tokens + 0, body = sample.memory FROM sample WHERE agent_id = (SELECT agent FROM raw WHERE client = :client_id) AND number = :number;
UPDATE sessions SET version = version + 1, open = session_open, sealed = session_sealed FROM sample WHERE id = (SELECT session FROM raw WHERE client = :client_id);
INSERT INTO audit_records (agent_id, seq, recorded_at, actor_kind, actor_name, action, session_id, memory, body_version, body_commitment, hash, facts, body) SELECT id, 1000000 + next_seq, 1, 'agent', 'wren', 'update', raw.session, :number, 1, sample.hash, sample.hash, sample.facts, sample.record FROM agents JOIN raw ON raw.agent = agents.id AND raw.client = :client_id, sample;
COMMIT;
\endpipeline
";

/// A believable memory of some 160 characters: two names, a number, a date, a negation.
async fn agent(memoir: &Memoir, name: &str) -> OwnAgent {
    let account = memoir.account("default").await.unwrap();
    let settings = [
        (Field::Model, Some("builtin:careful")),
        (Field::LossGuard, Some("off")),
    ];
    let maker = Actor::administrator("bench");
    account.create_agent(name, &settings, &maker).await.unwrap();
    let handle = account.agent(name).await.unwrap();
    let handle = handle.views().seen_by(Viewer::Agent).as_agent().unwrap();
    let own = Actor::agent(name);
    for part in 0..2 {
        let half = MEMORIES / 2;
        let inputs: Vec<MemoryInput> = (part * half..(part + 1) * half)
            .map(|number| input(&customer(number)))
            .collect();
        handle.memories().save(&inputs, &own).await.unwrap();
    }
    handle
}

/// Ten edits in a session of the agent's own: how long each took.
async fn edits(agent: OwnAgent, session: SessionId, round: usize) -> Vec<Duration> {
    let mut times = Vec::with_capacity(EDITS);
    for at in 0..EDITS {
        let edit = round * EDITS + at;
        let number = edit % MEMORIES;
        // Shorter, and the next time around as it was.
        let content = match (edit / MEMORIES).is_multiple_of(2) {
            true => customer(number).replace("really rather cold", "cold"),
            false => customer(number),
        };
        let arguments = json!({"id": number + 1, "content": content});
        let begun = Instant::now();
        let answer = agent.call_tool(session, "update_memory", Some(&arguments));
        let answer = answer.await.unwrap();
        times.push(begun.elapsed());
        assert!(matches!(answer, ToolResult::Updated { .. }), "{answer:?}");
    }
    times
}

/// Governed edits a second of that many simultaneous callers, each on an agent of its own.
async fn governed(
    agents: &[OwnAgent],
    round: usize,
    is_last: bool,
    times: &mut Vec<Duration>,
) -> f64 {
    let mut open = Vec::new();
    for agent in agents {
        let (session, _) = agent.open_own(Mode::Full).await.unwrap();
        open.push((agent.clone(), session.id));
    }
    let begun = Instant::now();
    let running = open
        .iter()
        .map(|(agent, session)| tokio::spawn(edits(agent.clone(), *session, round)));
    for ran in running.collect::<Vec<_>>() {
        times.extend(ran.await.unwrap());
    }
    let rate = (agents.len() * EDITS) as f64 / begun.elapsed().as_secs_f64();
    // The last sessions stay open for what is written by hand.
    if !is_last {
        for (agent, session) in open {
            agent
                .sessions()
                .cancel(session, &Actor::agent("wren"))
                .await
                .unwrap();
        }
    }
    rate
}

/// Transactions a second of that many clients of `pgbench`.
fn raw(server: &Postgres, database: &str, clients: usize) -> f64 {
    let script = server.folder().join("edit.sql");
    std::fs::write(&script, SCRIPT).unwrap();
    let clients = clients.to_string();
    let mut command = server.client("pgbench", "postgres");
    command.args([
        "-n", "-M", "prepared", "-T", SECONDS, "-c", &clients, "-j", "2",
    ]);
    let ran = command
        .arg("-f")
        .arg(&script)
        .arg(database)
        .output()
        .unwrap();
    let printed = String::from_utf8(ran.stdout).unwrap();
    let rate = printed
        .lines()
        .find_map(|line| line.strip_prefix("tps = ")?.split(' ').next());
    let said = String::from_utf8_lossy(&ran.stderr);
    rate.unwrap_or_else(|| panic!("{printed}{said}"))
        .parse()
        .unwrap()
}

fn percentile(times: &mut [Duration], share: usize) -> f64 {
    times.sort();
    times[(times.len() * share / 100).min(times.len() - 1)].as_secs_f64() * 1e3
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

async fn installation(server: &Postgres, parameters: &str) -> (String, Memoir) {
    let url = server.database().unwrap();
    PostgresStore::at(&url).unwrap().migrate().await.unwrap();
    let address = format!("{url}{parameters}");
    let store = Arc::new(PostgresStore::open(&address).await.unwrap());
    let keys = KeyStore::in_memory(&MasterKey::generate().unwrap()).unwrap();
    let models = Providers::new(BTreeMap::new()).unwrap();
    let memoir = Memoir::new(
        store,
        Arc::new(keys),
        Arc::new(models),
        InstallationSettings::default(),
    );
    memoir.keep_time().await.unwrap();
    (url, memoir)
}

async fn measure(server: &Postgres, callers: usize, parameters: &str) {
    let (url, memoir) = installation(server, parameters).await;
    let database = url.rsplit('/').next().unwrap().to_owned();
    let mut agents = Vec::new();
    for number in 0..callers {
        agents.push(agent(&memoir, &format!("agent-{number}")).await);
    }
    let (mut times, mut rates, mut floors) = (Vec::new(), Vec::new(), Vec::new());
    let rounds = ALL_EDITS / callers / EDITS;
    for round in 0..rounds {
        rates.push(governed(&agents, round, round + 1 == rounds, &mut times).await);
    }
    server.query(&database, TABLE).unwrap();
    for _ in 0..3 {
        floors.push(raw(server, &database, callers));
    }
    let (rate, floor) = (median(rates), median(floors));
    println!(
        "{callers} callers{parameters}: {rate:.0} governed edits a second, {floor:.0} transactions of pgbench: {:.2}; \
         an edit took {:.2} ms (p50), {:.2} ms (p99)",
        rate / floor,
        percentile(&mut times, 50),
        percentile(&mut times, 99),
    );
}

#[tokio::main]
async fn main() {
    let Some(server) = Postgres::start("edits").unwrap() else {
        println!("skipped: PostgreSQL is not installed; `scripts/test` does that");
        return;
    };
    // Tests do without.
    server
        .query("postgres", "ALTER SYSTEM SET fsync = on")
        .unwrap();
    server.query("postgres", "SELECT pg_reload_conf()").unwrap();
    for parameters in ["", "?prepare=true"] {
        for callers in [1, AGENTS] {
            measure(&server, callers, parameters).await;
        }
    }
}
