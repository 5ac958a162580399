//! The cost of a save without an index, with a warm index, and with an embedding server that makes vectors in the
//! background, each on a disk of its own, in turns: `cargo bench -p memoir-app --bench saves`.
//!
//! A save is measured from its call until it is on the disk. The floor is a transaction with one row of the same length
//! in raw SQLite on the same disk, with `synchronous=FULL`, in the same turns. The server listens on loopback in this
//! process and responds after some milliseconds, like a model on a processor.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement prints, and stops where it fails"
)]

use std::{
    collections::BTreeMap,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use memoir_app::{AgentHandle, InstallationSettings, Memoir, MemoryInput, Viewer};
use memoir_domain::audit::Actor;
use memoir_model::{ProviderSettings, Providers};
use memoir_store_sqlite::SqliteStore;
use memoir_testkit::{ScriptedServer, ServerStep, input, query};
use memoir_vault::{KeyStore, MasterKey};
use rusqlite::Connection;

memoir_testkit::program_allocator!();

/// Memories that each agent begins with.
const MEMORIES: usize = 10_000;
/// Saves in a turn, and turns.
const SAVES: usize = 100;
const TURNS: usize = 12;
/// How long the server takes for a request.
const MAKING: Duration = Duration::from_millis(5);

fn me() -> Actor {
    Actor::agent("wren")
}

fn text(number: usize) -> String {
    format!(
        "On the {number}th day the kiln number {} was hot and bricks of the lot {} were burnt in it",
        number * 7 % 1_000,
        number * 13 % 5_000
    )
}

fn direction(text: &str) -> Vec<f32> {
    let mut state = text.bytes().fold(7_u64, |state, byte| {
        state.wrapping_mul(31).wrapping_add(u64::from(byte))
    });
    let mut draw = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1_u32 << 23) as f32 - 1.0
    };
    (0..384).map(|_| draw()).collect()
}

/// An agent with [`MEMORIES`] memories, in an installation of its own.
struct MeasuredAgent {
    memoir: Memoir,
    agent: AgentHandle,
}

impl MeasuredAgent {
    async fn new(folder: &Path, server: Option<&ScriptedServer>) -> Self {
        let store = Arc::new(SqliteStore::open(&folder.join("memoir.db")).unwrap());
        let keys = KeyStore::in_memory(&MasterKey::generate().unwrap()).unwrap();
        let (mut settings, mut named) = (InstallationSettings::default(), BTreeMap::new());
        if let Some(server) = server {
            settings.recall.embeddings = Some("lab:small".parse().unwrap());
            let provider = ProviderSettings {
                base_url: Some(server.base_url()),
                ..ProviderSettings::default()
            };
            named.insert("lab".to_owned(), provider);
        }
        let providers = Providers::with_environment(named, |_| None).unwrap();
        let memoir = Memoir::new(store, Arc::new(keys), Arc::new(providers), settings);
        let account = memoir.account("default").await.unwrap();
        account.create_agent("wren", &[], &me()).await.unwrap();
        let agent = account.agent("wren").await.unwrap();
        for from in (0..MEMORIES).step_by(100) {
            let inputs: Vec<MemoryInput> = (from..from + 100).map(|at| input(&text(at))).collect();
            agent.memories().save(&inputs, &me()).await.unwrap();
        }
        Self { memoir, agent }
    }

    async fn ask(&self) {
        let query = query("which bricks were burnt", 10);
        let lens = self.agent.views().seen_by(Viewer::Agent);
        assert_eq!(lens.recall(&query).await.unwrap().len(), 10);
    }

    async fn save(&self, number: usize) -> Duration {
        let inputs = [input(&text(MEMORIES + number))];
        let begun = Instant::now();
        self.agent.memories().save(&inputs, &me()).await.unwrap();
        begun.elapsed()
    }
}

fn print(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    println!(
        "{what:<34} {:>9.1?} median, {:>9.1?} p99",
        times[times.len() / 2],
        times[times.len() * 99 / 100]
    );
}

#[tokio::main]
async fn main() {
    let folders = [(); 4].map(|()| tempfile::tempdir().unwrap());
    let server = ScriptedServer::always(ServerStep::Slow(
        MAKING,
        Box::new(ServerStep::embeddings(direction)),
    ));
    let bare = MeasuredAgent::new(folders[0].path(), None).await;
    let indexed = MeasuredAgent::new(folders[1].path(), None).await;
    let meant = MeasuredAgent::new(folders[2].path(), Some(&server)).await;
    let made = meant.agent.memories().make_vectors().await.unwrap();
    assert_eq!(made.made, MEMORIES as u64);
    let background = meant.memoir.clone();
    let background = tokio::spawn(async move { background.keep_making_vectors().await });
    let raw = Connection::open(folders[3].path().join("raw.db")).unwrap();
    raw.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE rows (body BLOB);",
    )
    .unwrap();
    let mut times: [Vec<Duration>; 4] = Default::default();
    for turn in 0..TURNS {
        indexed.ask().await;
        meant.ask().await;
        for at in 0..SAVES {
            let number = turn * SAVES + at;
            let begun = Instant::now();
            raw.execute("INSERT INTO rows VALUES (?1)", [text(number).as_bytes()])
                .unwrap();
            times[0].push(begun.elapsed());
            times[1].push(bare.save(number).await);
            times[2].push(indexed.save(number).await);
            times[3].push(meant.save(number).await);
        }
    }
    background.abort();
    let [floor, bare, warm, vectors] = &mut times;
    println!(
        "{} saves each, of agents with {MEMORIES} memories",
        TURNS * SAVES
    );
    print("one row in raw SQLite", floor);
    print("a save, no index", bare);
    print("… with the index warm", warm);
    print("… and vectors made behind it", vectors);
    println!("requests to the server: {}", server.received().len());
}
