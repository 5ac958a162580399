//! Connections that break.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::{Duration, Instant},
};

use memoir_domain::Timestamp;
use memoir_store::{Access, AgentQuery, Commits, Error, Fleet, Portable, Store, StoredText};
use memoir_store_postgres::{PostgresKeys, PostgresStore};
use memoir_vault::{Error as KeyError, MasterKey, MasterSource, unlock_rows};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
};

use crate::common::{self, TestDatabase, account, decision, scope, user};

/// Where a connection breaks once it carries a decision: nowhere, before what commits it reaches the server, or once
/// the server has answered that.
pub(crate) const NOWHERE: u8 = 0;
pub(crate) const BEFORE: u8 = 1;
pub(crate) const AFTER: u8 = 2;
/// What begins a transaction is refused, as by a pooler that has no server for it just then, and what is behind it
/// is carried.
const REFUSING: u8 = 3;
/// As `AFTER`, which PgBouncer reports before the connection breaks.
const TOLD: u8 = 4;
/// Connections stay open, new ones are taken, and nothing is carried.
const SILENT: u8 = 5;

/// What commits a decision, and what answers it once that is done: one statement alone, or the end of several.
const COMMITS: &[(&[u8], &[u8])] = &[(b"memoir_decide", b"SELECT 1"), (b"COMMIT", b"COMMIT")];

/// A proxy between a store and its database.
pub(crate) struct Between {
    folder: PathBuf,
    pub(crate) url: String,
    pub(crate) breaks: Arc<AtomicU8>,
}

impl Between {
    fn new(database: &TestDatabase) -> Self {
        Self::breaking(database, COMMITS)
    }

    /// One that breaks where several statements are committed only.
    pub(crate) fn of_several(database: &TestDatabase) -> Self {
        Self::breaking(database, &COMMITS[1..])
    }

    fn breaking(
        database: &TestDatabase,
        commits: &'static [(&'static [u8], &'static [u8])],
    ) -> Self {
        let (name, server) = (database.name(), database.server.folder());
        let folder = format!("memoir-between-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        let listener = UnixListener::bind(folder.join(".s.PGSQL.5432")).unwrap();
        let (to, breaks) = (
            server.join(".s.PGSQL.5432"),
            Arc::new(AtomicU8::new(NOWHERE)),
        );
        let host = folder.display().to_string().replace('/', "%2F");
        let between = Self {
            url: format!("postgres://memoir@{host}/{name}"),
            folder,
            breaks: Arc::clone(&breaks),
        };
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = UnixStream::connect(&to).await.unwrap();
                tokio::spawn(carry(client, server, Arc::clone(&breaks), commits));
            }
        });
        between
    }
}

impl Drop for Between {
    fn drop(&mut self) {
        // What is left behind is an empty folder and a socket.
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

fn holds(bytes: &[u8], words: &[u8]) -> bool {
    bytes.windows(words.len()).any(|found| found == words)
}

/// The length of what begins a transaction, where the bytes begin with that: one message, its kind before its length.
fn opening(bytes: &[u8]) -> Option<usize> {
    let rest = bytes.strip_prefix(b"Q")?;
    let length = u32::from_be_bytes(*rest.first_chunk()?) as usize;
    let sql = rest.get(4..length)?;
    sql.starts_with(b"BEGIN").then_some(1 + length)
}

/// An error of the code `58000`, and that no transaction is open.
const REFUSAL: &[u8] = b"E\0\0\0\x20SERROR\0VERROR\0C58000\0Mnone\0\0Z\0\0\0\x05I";

/// What PgBouncer says where its connection to the server breaks.
const FAREWELL: &[u8] = b"E\0\0\0\x29SFATAL\0C08P01\0Mserver conn crashed?\0\0";

/// Carries what is said either way, until it breaks.
async fn carry(
    mut client: UnixStream,
    mut server: UnixStream,
    breaks: Arc<AtomicU8>,
    commits: &[(&[u8], &[u8])],
) {
    let (mut asked, mut answered) = (vec![0; 65_536], vec![0; 65_536]);
    let mut awaited = None;
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                while breaks.load(Ordering::SeqCst) == SILENT {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                let mut bytes = &asked[..read.unwrap_or(0)];
                if bytes.is_empty() {
                    return;
                }
                if breaks.load(Ordering::SeqCst) == REFUSING && let Some(length) = opening(bytes) {
                    client.write_all(REFUSAL).await.unwrap();
                    bytes = &bytes[length..];
                }
                // The end of several statements goes with them, so that it is looked for first.
                let committed = commits.iter().rev().find(|(asked, _)| holds(bytes, asked));
                if committed.is_some() && breaks.load(Ordering::SeqCst) == BEFORE {
                    breaks.store(NOWHERE, Ordering::SeqCst);
                    return;
                }
                if matches!(breaks.load(Ordering::SeqCst), AFTER | TOLD) {
                    awaited = awaited.or(committed.map(|(_, answer)| *answer));
                }
                server.write_all(bytes).await.unwrap();
            }
            read = server.read(&mut answered) => {
                let bytes = &answered[..read.unwrap_or(0)];
                if awaited.is_some_and(|answer| holds(bytes, answer)) {
                    if breaks.swap(NOWHERE, Ordering::SeqCst) == TOLD {
                        client.write_all(FAREWELL).await.unwrap();
                    }
                    return;
                }
                if bytes.is_empty() || awaited.is_none() && client.write_all(bytes).await.is_err() {
                    return;
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_6_2_a_lost_answer_to_a_commit_is_never_guessed() {
    let (database, straight) = or_skip!(common::begin().await);
    straight.commit(decision(0)).await.unwrap();
    let between = Between::new(&database);
    let store = PostgresStore::open(&between.url).await.unwrap();
    let version = || async {
        let found = straight.snapshot(scope(), &AgentQuery::default()).await;
        found.unwrap().unwrap().agent.document.version
    };
    let ways = [
        (BEFORE, false, false),
        (AFTER, true, false),
        (BEFORE, false, true),
        (AFTER, true, true),
        (TOLD, true, false),
        (TOLD, true, true),
    ];
    for (breaks, was_written, is_of_several) in ways {
        let before = version().await;
        let mut decided = decision(before);
        decided.prompts = is_of_several.then(|| StoredText(vec![4]));
        between.breaks.store(breaks, Ordering::SeqCst);
        let Err(Error::OutcomeUnknown(same)) = store.commit(decided).await else {
            panic!("the outcome is unknown");
        };
        assert_eq!(version().await, before + u64::from(was_written));
        // The very same again, over another connection, shows the outcome.
        let again = store.commit(*same).await;
        assert_eq!(
            matches!(again, Err(Error::Conflict)),
            was_written,
            "{again:?}"
        );
        assert_eq!(version().await, before + 1);
        let records = straight.records_at(scope(), &[before + 1]).await.unwrap();
        assert_eq!(records[0].hash, decision(before).records[0].hash);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_6_2_a_lost_answer_to_decisions_that_are_written_together_is_told_as_unknown() {
    let (database, straight) = or_skip!(common::begin().await);
    straight.commit(decision(0)).await.unwrap();
    for (breaks, version) in [(BEFORE, "1"), (AFTER, "2")] {
        let between = Between::new(&database);
        let store = PostgresStore::open(&between.url).await.unwrap();
        let name = database.name().to_owned();
        let (server, asked) = (database.server, Arc::clone(&between.breaks));
        let mut decisions = Some(decision(1)).into_iter();
        let commits = Commits::new(std::iter::from_fn(move || {
            let one = decisions.next();
            // The connection breaks at the end of the transaction, and not before: once the decision was answered.
            let open = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                 AND state = 'idle in transaction' AND query LIKE '%memoir_decide%'";
            let is_answered = || server.query(&name, open).unwrap() == "1";
            if one.is_none() && (0..1_000).any(|_| is_answered()) {
                asked.store(breaks, Ordering::SeqCst);
            }
            Some(one)
        }));
        let unknown = store.commit_all(commits).await;
        assert!(
            matches!(unknown, Err(Error::OutcomeUnknown(_))),
            "{unknown:?}"
        );
        assert_eq!(database.query("SELECT version FROM agents"), version);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_6_2_of_decisions_whose_connection_breaks_before_their_end_nothing_is_written() {
    let (database, straight) = or_skip!(common::begin().await);
    straight.commit(decision(0)).await.unwrap();
    let between = Between::new(&database);
    let store = PostgresStore::open(&between.url).await.unwrap();
    let commits = || Commits::new([Some(decision(1)), Some(decision(2)), None].into_iter());
    between.breaks.store(BEFORE, Ordering::SeqCst);
    let refused = store.commit_all(commits()).await;
    assert!(
        matches!(refused, Err(Error::Unreachable { .. })),
        "{refused:?}"
    );
    assert_eq!(database.query("SELECT version FROM agents"), "1");
    // That the connection broke may be noticed at its next use.
    let mut written = store.commit_all(commits()).await;
    if matches!(written, Err(Error::Unreachable { .. })) {
        written = store.commit_all(commits()).await;
    }
    written.unwrap();
    assert_eq!(database.query("SELECT version FROM agents"), "3");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_6_2_of_a_decision_whose_transaction_is_not_begun_nothing_is_written() {
    for parameters in ["", "?prepare=true"] {
        let (database, straight) = or_skip!(common::begin().await);
        straight.commit(decision(0)).await.unwrap();
        let between = Between::new(&database);
        let url = format!("{}{parameters}", between.url);
        let store = PostgresStore::open(&url).await.unwrap();
        between.breaks.store(REFUSING, Ordering::SeqCst);
        let mut of_several = decision(1);
        of_several.prompts = Some(StoredText(vec![4]));
        let mut does_not_hold = decision(1);
        does_not_hold.agent.columns.head = [0; 32];
        let all = [Some(decision(1)), Some(decision(2)), None];
        let rows = "SELECT version, (SELECT count(*) FROM audit_records) FROM agents";
        for refused in [
            store.commit(of_several).await,
            store.commit(does_not_hold).await,
            store
                .create_user(&user(), false, Some(decision(1)))
                .await
                .map(drop),
            store.commit_all(Commits::new(all.into_iter())).await,
        ] {
            assert!(matches!(refused, Err(Error::Busy)), "{refused:?}");
            assert_eq!(database.query(rows), "1|1");
        }
        between.breaks.store(NOWHERE, Ordering::SeqCst);
        store.commit(decision(1)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_5_4_of_a_change_of_keys_whose_transaction_is_not_begun_nothing_is_written() {
    let database = or_skip!(common::database());
    let straight = PostgresKeys::at(&database.url, None).unwrap();
    straight.migrate().unwrap();
    let between = Between::new(&database);
    let master = MasterSource::Given(MasterKey::generate().unwrap());
    let rows = PostgresKeys::open(&between.url, None).unwrap();
    let keys = unlock_rows(&master, Box::new(rows), false).unwrap();
    let now = Timestamp::from_microseconds(1).unwrap();
    keys.create(scope(), now).unwrap();
    between.breaks.store(REFUSING, Ordering::SeqCst);
    let refused = keys.destroy(scope(), now).unwrap_err();
    assert!(matches!(refused, KeyError::Busy), "{refused:?}");
    assert_eq!(database.query("SELECT count(wrapped) FROM agent_keys"), "1");
    between.breaks.store(NOWHERE, Ordering::SeqCst);
    assert!(keys.destroy(scope(), now).unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_are_ended_are_made_again() {
    let (database, store) = or_skip!(common::begin().await);
    for version in 0..5 {
        store.commit(decision(version)).await.unwrap();
        let ended = database.query(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
             WHERE datname = current_database() AND usename = 'memoir'",
        );
        assert_ne!(ended, "0");
        assert_eq!(store.accounts().await.unwrap(), [account()]);
    }
}

/// Locks the table of records for so many seconds; the client that holds the lock.
async fn locked(database: &TestDatabase, seconds: u32) -> std::process::Child {
    let mut psql = database.server.client("psql", "postgres");
    let lock = format!("BEGIN; LOCK TABLE audit_records; SELECT pg_sleep({seconds})");
    let holder = psql.args([database.name(), "-qc", &lock]).spawn().unwrap();
    let held =
        "SELECT count(*) FROM pg_locks WHERE relation = 'audit_records'::regclass AND granted";
    for _ in 0..1_000 {
        if database.query(held) != "0" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    holder
}

#[tokio::test]
async fn spec_6_2_a_writer_that_waits_too_long_for_a_lock_is_refused_as_busy() {
    for parameters in ["", "?prepare=true"] {
        let database = or_skip!(common::database());
        drop(common::migrated(&database.url).await);
        let url = format!("{}{parameters}", database.url);
        let store = PostgresStore::open(&url).await.unwrap();
        store.create_account(&account()).await.unwrap();
        store.commit(decision(0)).await.unwrap();
        // For longer than a transaction waits.
        let mut holder = locked(&database, 120).await;
        let refused = store.commit(decision(1)).await;
        assert!(matches!(refused, Err(Error::Busy)), "{refused:?}");
        holder.kill().unwrap();
        holder.wait().unwrap();
        let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(120)' AND pid <> pg_backend_pid()";
        database.query(end);
        store.commit(decision(1)).await.unwrap();
    }
}

/// Twice the time within which a caller hears that the database does not answer, where it was sent no decision
/// (`docs/fleet.md`): a busy machine adds to it.
const LONGEST: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_6_2_a_database_that_is_silent_is_unreachable_within_five_seconds() {
    let (database, straight) = or_skip!(common::begin().await);
    straight.commit(decision(0)).await.unwrap();
    let between = Between::new(&database);
    let store = PostgresStore::open(&between.url).await.unwrap();
    let say = |breaks| between.breaks.store(breaks, Ordering::SeqCst);
    // More callers than connections, on connections that were used and on those that are to be made.
    for _ in 0..2 {
        say(SILENT);
        let begun = Instant::now();
        let reads: Vec<_> = (0..20)
            .map(|_| {
                let store = store.clone();
                tokio::spawn(async move { (store.accounts().await, begun.elapsed()) })
            })
            .collect();
        for read in reads {
            let (read, time) = read.await.unwrap();
            assert!(
                matches!(read, Err(Error::Unreachable { .. } | Error::Busy)),
                "{read:?}"
            );
            assert!(time < LONGEST, "{time:?}");
        }
        say(NOWHERE);
        assert_eq!(store.accounts().await.unwrap(), [account()]);
    }
    say(SILENT);
    let begun = Instant::now();
    let entered = store.begin_reply(&common::reply()).await;
    assert!(
        matches!(entered, Err(Error::Unreachable { .. })),
        "{entered:?}"
    );
    assert!(begun.elapsed() < LONGEST, "{:?}", begun.elapsed());
    say(NOWHERE);
    // It may have been sent, and be entered now; it is not executed.
    let entered = store.begin_reply(&common::reply()).await.unwrap();
    assert!(entered.is_none_or(|row| row.answer.is_none()));
    // One that was sent is not guessed.
    say(SILENT);
    let begun = Instant::now();
    let Err(Error::OutcomeUnknown(same)) = store.commit(decision(1)).await else {
        panic!("the outcome is unknown");
    };
    assert!(begun.elapsed() < LONGEST, "{:?}", begun.elapsed());
    say(NOWHERE);
    store.commit(*same).await.ok();
    assert_eq!(database.query("SELECT version FROM agents"), "2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_slow_is_waited_for() {
    let database = or_skip!(common::database());
    drop(common::migrated(&database.url).await);
    let store = PostgresStore::open(&database.url).await.unwrap();
    store.create_account(&account()).await.unwrap();
    store.commit(decision(0)).await.unwrap();
    // For longer than a silence that is asked about, and less than a lock is waited for.
    let mut holder = locked(&database, 4).await;
    let begun = Instant::now();
    store.commit(decision(1)).await.unwrap();
    assert!(
        begun.elapsed() > Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
    holder.wait().unwrap();
}
