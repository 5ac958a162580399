//! Connections that break.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use memoir_store::{AgentQuery, Error, Fleet, Store, StoredText};
use memoir_store_postgres::PostgresStore;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
};

use crate::common::{self, account, decision, scope};

/// Where a connection breaks once it carries a decision: nowhere, before what commits it reaches the server, or once
/// the server has answered that.
const NOWHERE: u8 = 0;
const BEFORE: u8 = 1;
const AFTER: u8 = 2;

/// What commits a decision, and what answers it once that is done: one statement alone, or the end of several.
const COMMITS: [(&[u8], &[u8]); 2] = [(b"memoir_decide", b"SELECT 1"), (b"COMMIT", b"COMMIT")];

/// Stands between a store and its database.
struct Between {
    folder: PathBuf,
    breaks: Arc<AtomicU8>,
}

impl Between {
    fn new(server: &Path) -> Self {
        let folder = std::env::temp_dir().join(format!("memoir-between-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let listener = UnixListener::bind(folder.join(".s.PGSQL.5432")).unwrap();
        let (to, breaks) = (
            server.join(".s.PGSQL.5432"),
            Arc::new(AtomicU8::new(NOWHERE)),
        );
        let between = Self {
            folder,
            breaks: Arc::clone(&breaks),
        };
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = UnixStream::connect(&to).await.unwrap();
                tokio::spawn(carry(client, server, Arc::clone(&breaks)));
            }
        });
        between
    }

    fn url(&self, database: &str) -> String {
        let folder = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://memoir@{folder}/{database}")
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

/// Carries what is said either way, until it breaks.
async fn carry(mut client: UnixStream, mut server: UnixStream, breaks: Arc<AtomicU8>) {
    let (mut asked, mut answered) = (vec![0; 65_536], vec![0; 65_536]);
    let mut awaited = None;
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let bytes = &asked[..read.unwrap_or(0)];
                if bytes.is_empty() {
                    return;
                }
                // The end of several statements goes with them, so that it is looked for first.
                let committed = COMMITS.iter().rev().find(|(asked, _)| holds(bytes, asked));
                if committed.is_some() && breaks.load(Ordering::SeqCst) == BEFORE {
                    breaks.store(NOWHERE, Ordering::SeqCst);
                    return;
                }
                if breaks.load(Ordering::SeqCst) == AFTER {
                    awaited = awaited.or(committed.map(|(_, answer)| *answer));
                }
                server.write_all(bytes).await.unwrap();
            }
            read = server.read(&mut answered) => {
                let bytes = &answered[..read.unwrap_or(0)];
                if awaited.is_some_and(|answer| holds(bytes, answer)) {
                    breaks.store(NOWHERE, Ordering::SeqCst);
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
    let Some(database) = common::database() else {
        return;
    };
    let straight = common::migrated(&database.url).await;
    straight.create_account(&account()).await.unwrap();
    straight.commit(decision(0)).await.unwrap();
    let between = Between::new(database.server.folder());
    let store = PostgresStore::open(&between.url(database.name()))
        .await
        .unwrap();
    let version = || async {
        let found = straight.snapshot(scope(), &AgentQuery::default()).await;
        found.unwrap().unwrap().agent.document.version
    };
    let ways = [
        (BEFORE, false, false),
        (AFTER, true, false),
        (BEFORE, false, true),
        (AFTER, true, true),
    ];
    for (breaks, was_written, is_of_several) in ways {
        let before = version().await;
        let mut decided = decision(before);
        decided.prompts = is_of_several.then(|| StoredText(vec![4]));
        between.breaks.store(breaks, Ordering::SeqCst);
        let Err(Error::OutcomeUnknown(same)) = store.commit(decided).await else {
            panic!("nobody can know what became of it");
        };
        assert_eq!(version().await, before + u64::from(was_written));
        // The very same again, over another connection, tells.
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
async fn connections_that_are_ended_are_made_again() {
    let Some(database) = common::database() else {
        return;
    };
    let store = common::migrated(&database.url).await;
    store.create_account(&account()).await.unwrap();
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

#[tokio::test]
async fn spec_6_2_whoever_waits_for_a_lock_is_told_that_the_database_is_busy() {
    for parameters in ["", "?prepare=true"] {
        let Some(database) = common::database() else {
            return;
        };
        drop(common::migrated(&database.url).await);
        let url = format!("{}{parameters}", database.url);
        let store = PostgresStore::open(&url).await.unwrap();
        store.create_account(&account()).await.unwrap();
        store.commit(decision(0)).await.unwrap();
        // For longer than anybody waits.
        let mut psql = database.server.client("psql", "postgres");
        let lock = "BEGIN; LOCK TABLE audit_records; SELECT pg_sleep(120)";
        let mut holder = psql.args([database.name(), "-qc", lock]).spawn().unwrap();
        let held =
            "SELECT count(*) FROM pg_locks WHERE relation = 'audit_records'::regclass AND granted";
        for _ in 0..1_000 {
            if database.query(held) != "0" {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        let refused = store.commit(decision(1)).await;
        assert!(matches!(refused, Err(Error::Busy)), "{refused:?}");
        holder.kill().unwrap();
        holder.wait().unwrap();
        let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(120)' AND pid <> pg_backend_pid()";
        database.query(end);
        store.commit(decision(1)).await.unwrap();
    }
}
