//! How long it takes to find the agents that are due among a million:
//! `cargo bench -p memoir-store-postgres --bench due`.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement prints, and stops where it fails"
)]

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use memoir_domain::Timestamp;
use memoir_store::{DueQuery, Fleet};
use memoir_store_postgres::PostgresStore;
use memoir_testkit::Postgres;

const ACCOUNTS: u32 = 1_000;
const AGENTS: u32 = 1_000_000;
/// Half of them since a slot, half of them by pressure.
const DUE: u32 = 100;
/// The latest slot, and now; in microseconds.
const SLOT: i64 = 1_000_000_000_000_000;
const NOW: i64 = SLOT + 3_600_000_000;

fn main() {
    let Some(server) = Postgres::start("bench").unwrap() else {
        println!("skipped: PostgreSQL is not installed; `scripts/test` does that");
        return;
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(due(&server));
}

async fn database(server: &Postgres) -> (String, String) {
    let url = server.database().unwrap();
    PostgresStore::at(&url).unwrap().migrate().await.unwrap();
    let name = url.rsplit('/').next().unwrap().to_owned();
    (url, name)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// Agents of all accounts in turn, numbered from 1; what differs between them are expressions of `n`.
fn agents(count: u32, weekly: &str, due: &str) -> String {
    format!(
        "INSERT INTO accounts SELECT decode(lpad(to_hex(n), 32, '0'), 'hex'), 'a' || n, 'a' || n, 0 \
             FROM generate_series(1, {ACCOUNTS}) AS n; \
         INSERT INTO agents SELECT decode(lpad(to_hex(n), 32, '0'), 'hex'), \
             decode(lpad(to_hex(n % {ACCOUNTS} + 1), 32, '0'), 'hex'), 'n' || n, 'n' || n, NULL, 1, \
             decode(repeat('00', 32), 'hex'), {weekly}, {due}, NULL, 0, 0, 0, 1, '{{}}', '' \
             FROM generate_series(1, {count}) AS n; \
         INSERT INTO agent_prompts SELECT id, '' FROM agents; ANALYZE"
    )
}

async fn due(server: &Postgres) {
    let (url, name) = database(server).await;
    let later = NOW + 86_400_000_000;
    let half = DUE / 2;
    let filled = agents(
        AGENTS,
        &format!("CASE WHEN n <= {half} THEN {SLOT} - 1 ELSE {SLOT} + 1 END"),
        &format!(
            "CASE WHEN n > {half} AND n <= {DUE} THEN {NOW} WHEN n % 100 = 0 THEN {later} END"
        ),
    );
    server.query(&name, &filled).unwrap();
    let store = PostgresStore::open(&url).await.unwrap();
    let wanted = DueQuery {
        account: None,
        latest_slot: Timestamp::from_microseconds(SLOT),
        now: Timestamp::from_microseconds(NOW).unwrap(),
        per_account: 8,
        except: BTreeSet::new(),
    };
    let mut times = Vec::new();
    for _ in 0..101 {
        let begun = Instant::now();
        let due = store.due_agents(&wanted).await.unwrap();
        assert_eq!(due.len(), DUE as usize);
        times.push(begun.elapsed());
    }
    let first = times[0];
    times.sort_unstable();
    println!(
        "{DUE} due of {AGENTS} agents in {ACCOUNTS} accounts: {:.1} ms, the first time {:.1} ms",
        milliseconds(times[times.len() / 2]),
        milliseconds(first)
    );
}
