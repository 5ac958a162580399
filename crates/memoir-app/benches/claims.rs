//! How long four nodes of a fleet take to claim a thousand waiting sessions, each as a worker of the service does:
//! `cargo bench -p memoir-app --bench claims`.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement prints, and stops where it fails"
)]

use std::{collections::BTreeSet, sync::Arc, time::Instant};

use memoir_app::{InstallationSettings, Memoir, Models, sessions::RefineOptions};
use memoir_domain::{SessionId, audit::Actor};
use memoir_model::{ConnectError, Model, ModelName};
use memoir_store_postgres::PostgresStore;
use memoir_testkit::{ModelScript, Postgres, input};
use memoir_vault::{KeyStore, MasterKey};

memoir_testkit::program_allocator!();

const NODES: usize = 4;
const SESSIONS: usize = 1_000;
/// The workers of a node.
const WORKERS: usize = 8;

struct Silents;

impl Models for Silents {
    fn connect(&self, _: &ModelName) -> Result<Arc<dyn Model>, ConnectError> {
        Ok(Arc::new(ModelScript::new([])))
    }
}

#[tokio::main]
async fn main() {
    let Some(server) = Postgres::start("claims").unwrap() else {
        println!("skipped: PostgreSQL is not installed; `scripts/test` does that");
        return;
    };
    let url = server.database().unwrap();
    PostgresStore::at(&url).unwrap().migrate().await.unwrap();
    let master = MasterKey::generate().unwrap();
    let keys = Arc::new(KeyStore::in_memory(&master).unwrap());
    let mut nodes = Vec::new();
    for _ in 0..NODES {
        let store = Arc::new(PostgresStore::open(&url).await.unwrap());
        let settings = InstallationSettings {
            default_model: Some("bench:silent".parse().unwrap()),
            ..InstallationSettings::default()
        };
        let memoir = Memoir::new(store, keys.clone(), Arc::new(Silents), settings);
        memoir.keep_time().await.unwrap();
        nodes.push(memoir);
    }
    nodes[0].account("default").await.unwrap();
    let queueing = (0..WORKERS).map(|part| tokio::spawn(queue(nodes[0].clone(), part)));
    for queued in queueing.collect::<Vec<_>>() {
        queued.await.unwrap();
    }
    let begun = Instant::now();
    let claiming = nodes.iter().map(|node| tokio::spawn(claim(node.clone())));
    let (mut taken, mut late, mut shares) = (BTreeSet::new(), 0, Vec::new());
    for claimed in claiming.collect::<Vec<_>>() {
        let (own, lost) = claimed.await.unwrap();
        shares.push(own.len());
        late += lost;
        taken.extend(own);
    }
    let time = begun.elapsed();
    let all: usize = shares.iter().sum();
    assert_eq!((taken.len(), all), (SESSIONS, SESSIONS), "each once");
    println!(
        "{SESSIONS} sessions by {NODES} nodes: {:.1} s ({shares:?}); {late} times another one was faster",
        time.as_secs_f64()
    );
}

/// Makes one in so many agents, and queues a session of each.
async fn queue(memoir: Memoir, part: usize) {
    let account = memoir.account("default").await.unwrap();
    let author = Actor::administrator("bench");
    for number in (0..SESSIONS).filter(|number| number % WORKERS == part) {
        let name = format!("agent-{number}");
        account.create_agent(&name, &[], &author).await.unwrap();
        let agent = account.agent(&name).await.unwrap();
        let memory = input("The press came from Lisbon.");
        agent.memories().save(&[memory], &author).await.unwrap();
        let options = RefineOptions::default();
        agent.sessions().enqueue(&options).await.unwrap();
    }
}

/// Takes up what waits, as many at a time as there are workers, until nothing does; and how often another node was
/// faster.
async fn claim(memoir: Memoir) -> (Vec<SessionId>, u32) {
    let mut turns = memoir.turns().unwrap();
    let (mut taken, mut late) = (Vec::new(), 0);
    loop {
        let most = u32::try_from(turns.look(WORKERS)).unwrap();
        let mut waiting = memoir.waiting_sessions(most).await.unwrap();
        if waiting.is_empty() {
            return (taken, late);
        }
        let mut free = WORKERS;
        while let Some(next) = turns.next(&waiting).cloned().filter(|_| free > 0) {
            waiting.retain(|session| session.id != next.id);
            match memoir.acquire(next.scope, next.id).await.unwrap() {
                Some(session) => {
                    turns.note(next.scope.account);
                    taken.push(session.id());
                    free -= 1;
                }
                None => {
                    turns.note_late();
                    late += 1;
                }
            }
        }
    }
}
