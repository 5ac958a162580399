//! A network between a process and PostgreSQL that fails at any message: nothing acknowledged is lost, nothing is saved
//! twice, and the log fits (SPEC 6.2).
//!
//! A proxy counts the messages of the protocol in both directions. At the n-th one it cuts the connection, delays the
//! message, or carries it twice. The suite takes every 97th message, from another one on in each run;
//! `MEMOIR_TEST_EVERY_FAULT=1` takes each.
#![cfg(unix)]

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use memoir_app::{Error, Memoir};
use memoir_domain::{agent::Field, audit::Actor, session::Mode};
use memoir_store_postgres::PostgresStore;
use memoir_testkit::{Postgres, TestClock, TestInstallation, input, keys_in_memory};
use serde_json::json;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{UnixListener, UnixStream},
};

use crate::installation::{TestAgent, own, person, settings};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Cut,
    Delay,
    Double,
}

/// What happens to which message, of all that were counted so far.
#[derive(Debug)]
struct Script {
    fault: Fault,
    at: usize,
    counted: AtomicUsize,
}

/// Is between a process and its database.
struct Proxy {
    folder: PathBuf,
    script: Arc<Script>,
}

impl Proxy {
    fn new(server: &Path, fault: Fault, at: usize) -> Self {
        let name = format!("memoir-network-{}-{fault:?}-{at}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let listener = UnixListener::bind(folder.join(".s.PGSQL.5432")).unwrap();
        let script = Arc::new(Script {
            fault,
            at,
            counted: AtomicUsize::new(0),
        });
        let (to, own) = (server.join(".s.PGSQL.5432"), script.clone());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = UnixStream::connect(&to).await.unwrap();
                tokio::spawn(carry(client, server, own.clone()));
            }
        });
        Self { folder, script }
    }

    fn url(&self, database: &str) -> String {
        let folder = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://memoir@{folder}/{database}")
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // On failure an empty folder and a socket remain.
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

/// Until either direction ends: then both connections do.
async fn carry(client: UnixStream, server: UnixStream, script: Arc<Script>) {
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        // The first message of a client has no kind.
        _ = relay(from_client, to_server, 0, &script) => {}
        _ = relay(from_server, to_client, 1, &script) => {}
    }
}

async fn relay(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut kind_length: usize,
    script: &Script,
) -> std::io::Result<()> {
    loop {
        let mut message = vec![0; kind_length + 4];
        from.read_exact(&mut message).await?;
        let length = message[kind_length..].try_into().map(u32::from_be_bytes);
        message.resize(kind_length + length.unwrap() as usize, 0);
        from.read_exact(&mut message[kind_length + 4..]).await?;
        let is_it = script.counted.fetch_add(1, Ordering::SeqCst) + 1 == script.at;
        match script.fault {
            Fault::Cut if is_it => return Ok(()),
            Fault::Delay if is_it => tokio::time::sleep(Duration::from_millis(50)).await,
            Fault::Double if is_it => to.write_all(&message).await?,
            Fault::Cut | Fault::Delay | Fault::Double => {}
        }
        to.write_all(&message).await?;
        kind_length = 1;
    }
}

/// What was tried, with a result each: what was acknowledged counts.
async fn acts(memoir: &Memoir, name: &str) -> Vec<(&'static str, Result<(), Error>)> {
    let (me, mut done) = (Actor::agent(name), Vec::new());
    let agent = async { memoir.account("default").await?.agent(name).await };
    let Ok(agent) = agent.await else {
        return done;
    };
    let memories = agent.memories();
    for text in ["Ann sews.", "Bo bakes."] {
        let saved = memories.save(&[input(text)], &me).await;
        done.push((text, saved.map(drop)));
    }
    let own = own(&agent);
    if let Ok((session, _)) = own.open_own(Mode::Full).await {
        let call = json!({"ids": [1], "replaced_by": 2});
        let call = own.call_tool(session.id, "delete_memory", Some(&call));
        call.await.ok();
        let end = json!({"summary": "Removed a copy."});
        let end = own.call_tool(session.id, "complete_refinement", Some(&end));
        end.await.ok();
    }
    let set = [(Field::CoreTokenBudget, Some("2000"))];
    let configured = agent.settings().configure(&set, &person()).await;
    done.push(("budget", configured.map(drop)));
    let saved = memories.save(&[input("Cleo dyes wool.")], &me).await;
    done.push(("Cleo dyes wool.", saved.map(drop)));
    done
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_6_2_whatever_message_to_the_database_fails_what_was_acknowledged_is_there_once() {
    let Some(server) = Postgres::start("network").unwrap() else {
        println!("skipped: PostgreSQL is not installed; `scripts/test` does that");
        return;
    };
    let step = match std::env::var_os("MEMOIR_TEST_EVERY_FAULT") {
        Some(_) => 1,
        None => 97,
    };
    let first = std::process::id() as usize % step + 1;
    let url = server.database().unwrap();
    let database = url.rsplit('/').next().unwrap();
    PostgresStore::at(&url).unwrap().migrate().await.unwrap();
    let straight = Arc::new(PostgresStore::open(&url).await.unwrap());
    let keys = keys_in_memory();
    let installation = TestInstallation::under(straight, keys.clone()).with_settings(settings());
    let texts = ["Tea at four.", "tea at four."];
    let mut faults = 0;
    for fault in [Fault::Cut, Fault::Delay, Fault::Double] {
        for at in (first..).step_by(step) {
            let name = format!("{fault:?} {at}");
            let direct = TestAgent::named(&name, &installation).await;
            for text in texts {
                direct.remember(text).await;
            }
            let proxy = Proxy::new(server.folder(), fault, at);
            let what = format!("{fault:?} at {at}");
            let done = match PostgresStore::open(&proxy.url(database)).await {
                Ok(store) => {
                    let process = TestInstallation::under(Arc::new(store), keys.clone())
                        .with_clock(TestClock::default().giving_way())
                        .with_settings(settings());
                    acts(&process.memoir, &name).await
                }
                Err(_) => Vec::new(),
            };
            if proxy.script.counted.load(Ordering::SeqCst) < at {
                break;
            }
            faults += 1;
            let verified = direct.agent.log().verify().await.unwrap();
            assert!(verified.valid, "{what}: {:?}", verified.first_bad);
            let seen = direct.seen().memories(true).await.unwrap();
            let count = |text: &str| {
                seen.iter()
                    .filter(|memory| memory.content() == text)
                    .count()
            };
            for text in texts {
                assert_eq!(count(text), 1, "{what}: {text}");
            }
            for (text, outcome) in &done {
                let is_delay = fault == Fault::Delay;
                assert!(!is_delay || outcome.is_ok(), "{what}: {text}: {outcome:?}");
                if text != &"budget" {
                    let least = usize::from(outcome.is_ok());
                    assert!(
                        (least..=1).contains(&count(text)),
                        "{what}: {text}: {outcome:?}"
                    );
                }
            }
        }
    }
    assert!(faults > 10, "{faults} faults");
}
