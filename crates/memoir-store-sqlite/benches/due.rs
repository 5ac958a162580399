//! How long it takes to find the agents that are due, beside a scan of all agents:
//! `cargo bench -p memoir-store-sqlite --bench due`.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement prints, and stops where it fails"
)]

use std::{
    collections::BTreeSet,
    path::Path,
    time::{Duration, Instant},
};

use memoir_domain::Timestamp;
use memoir_store::{DueQuery, Fleet};
use memoir_store_sqlite::SqliteStore;
use rusqlite::{Connection, params};

const ACCOUNTS: i64 = 1_000;
const AGENTS: i64 = 1_000_000;
/// Half of them since a slot, half of them by pressure.
const DUE: i64 = 100;
/// The latest slot, and now; in microseconds.
const SLOT: i64 = 1_000_000_000_000_000;
const NOW: i64 = SLOT + 3_600_000_000;

fn main() {
    let folder = tempfile::tempdir_in(
        std::env::var_os("CARGO_TARGET_TMPDIR")
            .map_or_else(|| std::env::current_dir().unwrap(), Into::into),
    )
    .unwrap();
    let path = folder.path().join("due.db");
    drop(SqliteStore::open(&path).unwrap());
    fill(&path);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = SqliteStore::open(&path).unwrap();
    let wanted = DueQuery {
        account: None,
        latest_slot: Timestamp::from_microseconds(SLOT),
        now: Timestamp::from_microseconds(NOW).unwrap(),
        per_account: 8,
        except: BTreeSet::new(),
    };
    let look = || {
        let begun = Instant::now();
        let due = runtime.block_on(store.due_agents(&wanted)).unwrap();
        assert_eq!(due.len() as i64, DUE);
        begun.elapsed()
    };
    let first = look();
    let median = median((0..101).map(|_| look()));
    println!(
        "{DUE} due of {AGENTS} agents in {ACCOUNTS} accounts: {:.1} ms, the first time {:.1} ms",
        milliseconds(median),
        milliseconds(first)
    );
    let scan = scan(&path);
    println!(
        "a scan of all agents, without an index: {:.0} ms, {:.0} times as long",
        milliseconds(scan),
        scan.as_secs_f64() / median.as_secs_f64()
    );
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.collect();
    times.sort_unstable();
    times[times.len() / 2]
}

/// Fills the tables by hand: agents of all accounts in turn, in the order in which they were made. Of
/// each hundred, one is to be under pressure tomorrow.
fn fill(path: &Path) {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch("PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; BEGIN")
        .unwrap();
    connection
        .execute(
            "WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ?1) \
             INSERT INTO accounts (id, name, folded_name, created_at) \
             SELECT unhex(printf('%032x', n)), 'account-' || n, 'account-' || n, 0 FROM numbers",
            [ACCOUNTS],
        )
        .unwrap();
    connection
        .execute(
            "WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ?1) \
             INSERT INTO agents (id, account_id, name, folded_name, next_seq, head, weekly_after, \
                 due_at, budget_share, removable_tokens, archived_share, version, open, sealed) \
             SELECT unhex(printf('%032x', n)), unhex(printf('%032x', n % ?2)), 'agent-' || n, \
                 'agent-' || n, 101, zeroblob(32), ?3 + n, \
                 CASE WHEN n % 100 = 7 THEN ?4 + 86400000000 END, 0, 0, 0, 1, \
                 printf('{\"text\":\"%.*c\"}', 1200, 'x'), zeroblob(43) \
             FROM numbers",
            params![AGENTS, ACCOUNTS, SLOT, NOW],
        )
        .unwrap();
    // Spread over accounts and agents.
    let stride = AGENTS / DUE + 1;
    for number in 0..DUE {
        let agent = number * stride % AGENTS;
        let column = if number % 2 == 0 {
            "weekly_after"
        } else {
            "due_at"
        };
        connection
            .execute(
                &format!("UPDATE agents SET {column} = ?2 WHERE id = unhex(printf('%032x', ?1))"),
                [agent, SLOT - 1],
            )
            .unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
}

/// What would have to be read if there were no index.
fn scan(path: &Path) -> Duration {
    let connection = Connection::open(path).unwrap();
    let look = || {
        let begun = Instant::now();
        let due: i64 = connection
            .query_row(
                "SELECT count(*) FROM agents NOT INDEXED WHERE weekly_after < ?1 OR due_at <= ?2",
                [SLOT, NOW],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(due, DUE);
        begun.elapsed()
    };
    median((0..5).map(|_| look()))
}
