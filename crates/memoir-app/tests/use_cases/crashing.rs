//! Killed at every write of a session and of a rollback: afterwards the database is as it was before that
//! write or after it, nothing acknowledged is lost, and the next start closes the session (SPEC 6.2).
//!
//! The test runs itself again as a child, which aborts at the n-th fault point of the store, for every n until there
//! are no more. Clock and random numbers are the same in each run, so that every state that a run leaves is also a
//! state of the undisturbed run, byte for byte.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use memoir_app::{Handling, ShredWish, sessions::RefineOptions};
use memoir_domain::{
    access::{AccessKind, AccessScope, AccessState},
    agent::Field,
    audit::{Actor, ActorKind},
    memory::Number,
    session::State,
};
use memoir_store::{AgentQuery, RecordFilter, Result, Selection, Store};
use memoir_store_sqlite::SqliteStore;
use memoir_testkit::{StoreWatch, Turn, WatchedStore, archival, message, replacing};
use memoir_vault::{KeyStore, MasterKey};
use serde_json::json;

use crate::installation::{
    TestAgent, complete, delete, draft, person, request_by, save_by, settings,
};

const CHILD: &str = "MEMOIR_TEST_CRASH_CHILD";
const DATABASE: &str = "MEMOIR_TEST_CRASH_DATABASE";
const KEYS: &str = "MEMOIR_TEST_CRASH_KEYS";

pub const MEMORIES: [&str; 12] = [
    "Marta prefers linen thread for the spine of every book.",
    "The workshop opens at nine, and Joaquín is always there first.",
    "I promised Marta to keep the ledger of orders in order.",
    "The cat sleeps on the paper that was delivered in the morning.",
    "The cat sleeps on the paper which was delivered in the morning.",
    "The old press came from Lisbon and needs oil every month.",
    "The old press came from Lisbon and needs oil every month.",
    "Lena brings the paper on Fridays, and stays for coffee.",
    "The spring fair is in the second week of May, near the river.",
    "Evan carried the boxes up to the attic, and hurt his back a little.",
    "Ruth asked for a blue cover with silver letters on the spine.",
    "The roof above the press leaks when the wind comes from the west.",
];
/// The number of the merged memory.
const MERGED: u64 = MEMORIES.len() as u64 + 1;

fn merge() -> Turn {
    let content = "The cat sleeps on the paper that was delivered in the morning.";
    Turn::call(
        "consolidate_memories",
        json!({"ids": [4, 5], "content": content}),
    )
}

fn rewrite() -> Turn {
    Turn::call(
        "update_memory",
        json!({"id": 2, "content": "The workshop opens at nine; Joaquín is always there first."}),
    )
}

fn protect() -> Turn {
    Turn::call("protect_memory", json!({"id": 3}))
}

async fn a_session(wren: &TestAgent) {
    wren.script([
        Turn::text("YES"),
        merge(),
        rewrite(),
        protect(),
        delete(8),
        complete(),
    ]);
    let driven = wren.drive().await;
    assert_eq!(driven.state, State::Completed);
}

async fn a_tripped_session(wren: &TestAgent) {
    wren.configure(&[(Field::RefinementThreshold, Some("0.9"))])
        .await;
    wren.script([
        Turn::text("YES"),
        rewrite(),
        protect(),
        merge(),
        delete(1),
        complete(),
    ]);
    let driven = wren.drive().await;
    assert_eq!(driven.state, State::RolledBack);
}

async fn undone_sessions(wren: &TestAgent) {
    a_session(wren).await;
    let first = wren.seen().session_page(None, 1).await.unwrap()[0].id;
    wren.clock.advance(Duration::from_secs(60));
    wren.script([Turn::text("YES"), delete(MERGED), complete()]);
    wren.drive().await;
    wren.clock.advance(Duration::from_secs(60));
    wren.roll_back(first, true).await;
    wren.handle(Number(7), Handling::Restore).await;
}

/// The archive: replacing, a session, a promotion, an undo, and a shredding with derived texts.
async fn an_archive(wren: &TestAgent) {
    let (agent, me) = (&wren.agent, Actor::agent("wren"));
    let guard = [(Field::LossGuard, None)];
    agent.settings().configure(&guard, &me).await.unwrap();
    let newer = replacing("The spring fair is in June, near the mill.", &[9]);
    let archival = archival("The first press was sold.");
    save_by(agent, &[newer, archival], &person()).await;
    wren.clock.advance(Duration::from_secs(60));
    let shorter =
        json!({"id": 2, "content": "The workshop opens at nine, and Joaquín is there first."});
    wren.script([
        Turn::text("YES"),
        Turn::call("update_memory", shorter),
        Turn::call("delete_memory", json!({"ids": [11], "replaced_by": 13})),
        complete(),
    ]);
    let options = RefineOptions::default();
    let driven = wren.seen().refine(&options, &mut |_| {}).await.unwrap();
    assert_eq!((driven.archived, driven.summaries), (2, 1));
    wren.clock.advance(Duration::from_secs(60));
    let promoted = agent
        .memories()
        .handle(Number(9), Handling::Promote, &person())
        .await;
    promoted.unwrap();
    let wish = ShredWish {
        derived: true,
        ..ShredWish::of(Number(2), "a slip")
    };
    let shredded = agent.memories().shred(wish, &me).await.unwrap();
    // The summary, and the report of the session.
    assert_eq!(shredded.derived, [Number(15), Number(16)]);
    wren.roll_back(driven.id, false).await;
    let verified = agent.log().verify().await.unwrap();
    assert_eq!(verified.originals.unwrap().archived, 1);
}

/// A request that is granted, used and revoked, one that expires, and a token and a shredding with consent.
async fn an_access(wren: &TestAgent) {
    let (agent, me) = (&wren.agent, Actor::agent("wren"));
    let read = AccessKind::Read {
        scope: AccessScope::Core,
        minutes: 5,
    };
    let token = AccessKind::Token { expires_at: None };
    let shred = AccessKind::Shred {
        number: Number(4),
        derived: false,
    };
    let mut ids = Vec::new();
    for kind in [read, read, token, shred] {
        let request = request_by(agent, &draft(kind), &person()).await;
        let reason = Some("if it must be".into());
        let answered = agent
            .grants()
            .answer_access(request.id, true, reason, &me)
            .await;
        ids.push(answered.unwrap().id);
        wren.clock.advance(Duration::from_secs(60));
    }
    let mechanic = agent
        .views()
        .seen_by(memoir_app::Viewer::administrator(person()));
    let seen = mechanic.memory(Number(1)).await.unwrap();
    assert!(seen.words.is_some());
    let revoked = agent.grants().revoke_access(ids[0], &me).await.unwrap();
    assert_eq!(revoked.state, AccessState::Revoked);
    wren.clock.advance(Duration::from_secs(600));
    wren.memoir.expire_access().await.unwrap();
    wren.remember("The end of it.").await;
}

/// The content of a conversation, which is to be noted once.
const TOLD: &str = "Ann's sister is called Mira.";

async fn hand_over(wren: &TestAgent) {
    let messages = [("a", "Hello."), ("b", "My sister is called Mira.")];
    let messages = messages.map(|(id, text)| message(id, text));
    wren.hand_over(messages.to_vec(), true, ActorKind::Agent)
        .await;
}

async fn an_absorption(wren: &TestAgent) {
    hand_over(wren).await;
    let notes = json!({"journal": ["Ann came by."], "core": [TOLD]});
    wren.script([Turn::text(&notes.to_string())]);
    let mut pass = |_: &memoir_app::Absorbed| {};
    let reading = wren.agent.life().absorb(std::future::pending(), &mut pass);
    reading.await.unwrap();
}

/// The conversation is handed over and read again: its notes exist once, whenever the process was killed.
async fn absorbs_once(wren: &TestAgent) {
    an_absorption(wren).await;
    let transcript = wren.agent.life().transcript().await.unwrap();
    assert_eq!((transcript.pending, transcript.absorbed), (0, 2));
    let memories = wren.memories().await;
    let told = memories.iter().filter(|memory| memory["content"] == TOLD);
    assert_eq!(told.count(), 1, "it was noted another time, or never");
}

/// The agent's key is the same in each run: made in the undisturbed one, and found by the others.
fn keys(path: &Path) -> Arc<KeyStore> {
    let master = MasterKey::from_text(&"6".repeat(64), "test").unwrap();
    Arc::new(KeyStore::open(path, &master).unwrap())
}

async fn run(scenario: &str, store: Arc<dyn Store>, keys: Arc<KeyStore>) -> TestAgent {
    let wren = TestAgent::under(store, keys, &MEMORIES, settings()).await;
    match scenario {
        "session" => a_session(&wren).await,
        "tripped" => a_tripped_session(&wren).await,
        "undone" => undone_sessions(&wren).await,
        "access" => an_access(&wren).await,
        "absorption" => an_absorption(&wren).await,
        "archive" => an_archive(&wren).await,
        other => panic!("no scenario {other}"),
    }
    wren
}

/// The database's contents of the one agent, byte for byte, without leases, which are renewed by the real clock.
async fn whole(store: &dyn Store) -> String {
    let mut text = String::new();
    let Some(account) = store.account_named("default").await.unwrap() else {
        return text;
    };
    let Some(agent) = store.agent_named(account.id, "wren").await.unwrap() else {
        return text;
    };
    let wanted = AgentQuery {
        memories: Selection::All,
        prompts: true,
        ..AgentQuery::default()
    };
    let snapshot = store.snapshot(agent.scope, &wanted).await.unwrap().unwrap();
    let seal = &snapshot.agent.document.sealed.0;
    write!(
        text,
        "{:?} {seal:?} {:?}",
        snapshot.agent,
        snapshot.prompts.unwrap().0
    )
    .unwrap();
    for memory in &snapshot.memories {
        write!(text, "{memory:?} {:?}", memory.body.0).unwrap();
    }
    for mut session in store.session_page(agent.scope, None, 100).await.unwrap() {
        session.lease = session.lease.map(|lease| memoir_domain::session::Lease {
            until: session.columns.started_at,
            ..lease
        });
        write!(text, "{session:?} {:?}", session.document.sealed.0).unwrap();
    }
    for request in store.access_page(agent.scope, None, 100).await.unwrap() {
        write!(text, "{request:?} {:?}", request.document.sealed.0).unwrap();
    }
    for record in store
        .records(agent.scope, &RecordFilter::default())
        .await
        .unwrap()
    {
        write!(text, "{record:?} {:?}", record.body.0).unwrap();
    }
    text
}

/// Records the contents of the database after every commit.
struct States {
    inner: SqliteStore,
    states: Mutex<Vec<String>>,
}

#[async_trait]
impl StoreWatch for States {
    async fn written(&self) -> Result<()> {
        let state = whole(&self.inner).await;
        self.states.lock().unwrap().push(state);
        // For the parent: this many commits were acknowledged.
        println!("acknowledged {}", self.states.lock().unwrap().len());
        std::io::stdout().flush().unwrap();
        Ok(())
    }
}

/// That store, and the states that it passes through.
fn watched(inner: SqliteStore) -> (Arc<States>, Arc<dyn Store>) {
    let states = Arc::new(States {
        inner: inner.clone(),
        states: Mutex::default(),
    });
    let store = WatchedStore::new(Arc::new(inner), states.clone());
    (states, Arc::new(store))
}

/// The child: runs one scenario until it is killed. Does nothing as a test of its own.
#[tokio::test]
async fn crash_child() {
    let Ok(scenario) = std::env::var(CHILD) else {
        return;
    };
    let inner = SqliteStore::open(Path::new(&std::env::var(DATABASE).unwrap())).unwrap();
    let keys = keys(Path::new(&std::env::var(KEYS).unwrap()));
    run(&scenario, watched(inner).1, keys).await;
    println!("ran to the end");
}

/// Runs the child up to its `n`-th fault point. Returns how many commits it acknowledged, and whether it ran to the
/// end.
fn child(scenario: &str, database: &Path, keys: &Path, n: usize) -> (usize, bool) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "crashing::crash_child",
            "--exact",
            "--nocapture",
            "--test-threads=1",
        ])
        .envs([
            (CHILD, scenario),
            ("MEMOIR_FAULT", &format!("any:{n}")),
            ("RUST_BACKTRACE", "0"),
        ])
        .env(DATABASE, database)
        .env(KEYS, keys)
        .stderr(Stdio::null())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let acknowledged = printed
        .lines()
        .filter(|line| line.contains("acknowledged "))
        .count();
    (acknowledged, printed.contains("ran to the end"))
}

/// Every state that the undisturbed run passes through, with its place; the empty database is the first.
async fn allowed(scenario: &str, path: &Path) -> BTreeMap<String, usize> {
    let (states, store) = watched(SqliteStore::in_memory().unwrap());
    run(scenario, store, keys(path)).await;
    let states = std::mem::take(&mut *states.states.lock().unwrap());
    std::iter::once(String::new())
        .chain(states)
        .enumerate()
        .map(|(place, state)| (state, place))
        .collect()
}

/// The findings and actions of the next start.
async fn start_again(scenario: &str, database: &Path, path: &Path) {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(database).unwrap());
    assert_eq!(store.check().await.unwrap(), []);
    let Some(account) = store.account_named("default").await.unwrap() else {
        return;
    };
    if store
        .agent_named(account.id, "wren")
        .await
        .unwrap()
        .is_none()
    {
        return;
    }
    let wren = TestAgent::again(store, keys(path)).await;
    wren.clock.advance(Duration::from_secs(3_600));
    wren.memoir.close_lapsed_sessions().await.unwrap();
    if scenario == "absorption" {
        absorbs_once(&wren).await;
    }
    for session in wren.seen().session_page(None, 10).await.unwrap() {
        assert!(!session.state.is_running(), "a session stayed open");
        // Its end and its cost are one commit (SPEC 3.16).
        let by_its_model = [State::Completed, State::RolledBack];
        assert!(
            session.usage.calls > 0 || !by_its_model.contains(&session.state),
            "a session ended without what it cost"
        );
    }
    if !wren.kept().await.is_empty() {
        let (driven, _) = wren.refine([complete()]).await;
        assert_eq!(driven.state, State::Completed);
    }
    wren.clock.advance(Duration::from_secs(8 * 86_400));
    wren.memoir.expire_access().await.unwrap();
    let lens = wren.seen();
    let requests = lens.access_requests(None, 10);
    for request in requests.await.unwrap() {
        assert!(!request.state.is_open(), "a request stayed open");
    }
    wren.check().await;
    let verified = wren.memoir.verify_all().await.unwrap();
    assert!(
        verified.iter().all(|agent| agent.valid),
        "the log does not fit: {verified:?}"
    );
}

async fn survives(scenario: &str) {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys");
    let allowed = allowed(scenario, &keys).await;
    let mut crashes = 0;
    for n in 1..10_000 {
        let database: PathBuf = folder.path().join(format!("{n}.db"));
        let (acknowledged, finished) = child(scenario, &database, &keys, n);
        if finished {
            break;
        }
        crashes += 1;
        let found = whole(&SqliteStore::open(&database).unwrap()).await;
        let place = allowed.get(&found).copied();
        let place = place.unwrap_or_else(|| {
            panic!("{scenario}, killed at {n}: a state that no run passes through")
        });
        assert!(
            place >= acknowledged,
            "{scenario}, killed at {n}: {acknowledged} were acknowledged, {place} are there"
        );
        assert!(
            place <= acknowledged + 1,
            "{scenario}, killed at {n}: more than one commit ahead"
        );
        start_again(scenario, &database, &keys).await;
    }
    assert!(
        crashes > 50,
        "only {crashes} crashes: the fault points are not there"
    );
}

#[tokio::test]
async fn spec_6_2_killed_at_every_write_of_a_session() {
    survives("session").await;
}

#[tokio::test]
async fn spec_6_2_killed_at_every_write_of_a_rollback() {
    survives("tripped").await;
}

#[tokio::test]
async fn spec_6_2_killed_at_every_write_of_an_undo() {
    survives("undone").await;
}

#[tokio::test]
async fn spec_6_2_killed_at_every_write_of_an_access() {
    survives("access").await;
}

#[tokio::test]
async fn spec_6_2_killed_at_every_write_of_the_archive() {
    survives("archive").await;
}

#[tokio::test]
async fn spec_2_6_killed_at_every_write_of_an_absorption() {
    survives("absorption").await;
}
