//! Three nodes on one PostgreSQL, optionally behind a pooler, that are killed, paused and disconnected while agents
//! save and sessions run (SPEC 3.2, 6.2). `scripts/fleet-kills` sets `MEMOIR_FLEET_KILLS`, the number of faults, and
//! `MEMOIR_FLEET_SEED`, which selects their kinds and times.
#![cfg(unix)]

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use memoir_store_postgres::{MIGRATIONS, Migration, PostgresStore};
use memoir_testkit::{Postgres, ReceivedRequest, ScriptedServer, ServerStep, TestedText};
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::{
    installation::{Installation, Ran},
    postgres::skip,
    serving::{Running, ask, ask_once},
};

const NODES: usize = 3;
const AGENTS: usize = 9;
/// The lease, in seconds.
const LEASE: u64 = 5;
/// How long running work may take to end after the last fault: a lease, and the next search for lapsed ones, on a busy
/// machine.
const PATIENCE: Duration = Duration::from_secs(240);

/// The same numbers for the same seed.
struct Chance(u64);

impl Chance {
    /// Less than `below`.
    fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % below
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |given| given.parse().unwrap())
}

/// The script of every agent's model: consent, two edits, and the end; each after a moment in which a fault can happen.
fn model() -> ScriptedServer {
    let said = AtomicU64::new(0);
    ScriptedServer::always(ServerStep::Respond(Arc::new(
        move |received: &ReceivedRequest| {
            let said = said.fetch_add(1, Ordering::SeqCst);
            let messages = received.body["messages"].as_array().unwrap();
            let calls = messages
                .iter()
                .filter(|message| message["role"] == "tool")
                .count();
            let rewrite = |id: u64| {
                let content = format!("Lena comes on day {said} of her year, as always.");
                ServerStep::call("update_memory", json!({"id": id, "content": content}))
            };
            let step = match (received.body["tools"].is_array(), calls) {
                (false, _) => ServerStep::text("YES"),
                (true, 0) => rewrite(2),
                (true, 1) => rewrite(3),
                (true, _) => ServerStep::call("complete_refinement", json!({"summary": "Done."})),
            };
            step.after(Duration::from_millis(20 + said * 37 % 180))
        },
    )))
}

/// The nodes, and their environment.
struct Fleet {
    installation: Installation,
    server: Postgres,
    /// The database's URL for the nodes.
    url: String,
    nodes: Vec<RwLock<Running>>,
    /// The last known address of each node; a stopped one does not respond.
    addresses: Vec<Mutex<String>>,
    /// The paused node.
    held_up: Mutex<Option<usize>>,
    /// How often each of them was paused.
    holds: [AtomicU64; NODES],
}

impl Fleet {
    fn new(installation: Installation, server: Postgres, url: String) -> Self {
        let nodes: Vec<_> = (0..NODES)
            .map(|_| Self::start(&installation, &url))
            .collect();
        let addresses = nodes.iter().map(|node| Mutex::new(node.address.clone()));
        Self {
            addresses: addresses.collect(),
            nodes: nodes.into_iter().map(RwLock::new).collect(),
            held_up: Mutex::new(None),
            holds: Default::default(),
            installation,
            server,
            url,
        }
    }

    fn start(installation: &Installation, url: &str) -> Running {
        // A starting database makes a node's start fail, which is correct.
        let begun = Instant::now();
        loop {
            if let Some(node) = Running::try_start(installation, &["--database", url]) {
                return node;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "the node does not start: {}",
                std::fs::read_to_string(installation.path("log")).unwrap()
            );
            thread::sleep(Duration::from_millis(200));
        }
    }

    fn address(&self, node: usize) -> String {
        self.addresses[node].lock().unwrap().clone()
    }

    fn signal(&self, node: usize, signal: Signal) {
        // This process started it, and no other one waits for it.
        kill_process(self.nodes[node].read().unwrap().pid(), signal).unwrap();
    }

    fn kill(&self, node: usize) {
        self.nodes[node].write().unwrap().kill_now();
        self.start_again(node);
    }

    /// Starts a node in the place of one that has ended.
    fn start_again(&self, node: usize) {
        let started = Self::start(&self.installation, &self.url);
        *self.addresses[node].lock().unwrap() = started.address.clone();
        *self.nodes[node].write().unwrap() = started;
    }

    fn ok(&self, arguments: &[&str]) -> String {
        let mut command = self.installation.command(arguments);
        Ran::of(command.env("MEMOIR_DATABASE", &self.url)).ok(arguments)
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.ok(&[arguments, &["--json"]].concat())).unwrap()
    }

    fn query(&self, sql: &str) -> String {
        let name = self.url.rsplit('/').next().unwrap();
        self.server.query(name, sql).unwrap()
    }

    /// Causes one fault in the fleet. A paused node stays paused while others are killed.
    fn disturb<'scope>(
        &'scope self,
        scope: &'scope thread::Scope<'scope, '_>,
        chance: &mut Chance,
    ) -> &'static str {
        let held_up = *self.held_up.lock().unwrap();
        let mut node = chance.below(NODES as u64) as usize;
        if held_up == Some(node) {
            node = (node + 1) % NODES;
        }
        match chance.below(10) {
            4..=5 if held_up.is_none() => {
                self.holds[node].fetch_add(1, Ordering::SeqCst);
                self.signal(node, Signal::STOP);
                *self.held_up.lock().unwrap() = Some(node);
                // Longer than its leases last.
                let pause = Duration::from_secs(LEASE + 1 + chance.below(3));
                scope.spawn(move || {
                    thread::sleep(pause);
                    self.signal(node, Signal::CONT);
                    *self.held_up.lock().unwrap() = None;
                });
                "held up"
            }
            0..=5 => {
                self.kill(node);
                "killed"
            }
            6 => match self.server.restart_pooler().unwrap() {
                Some(()) => "pooler killed",
                None => "no pooler",
            },
            7..=8 => {
                self.query(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                     WHERE datname = current_database() AND usename = 'memoir'",
                );
                "cut off"
            }
            _ => {
                self.server.restart().unwrap();
                "database restarted"
            }
        }
    }
}

/// The acknowledged requests of one agent, and the outcomes of the others.
#[derive(Default)]
struct Acknowledged {
    memories: BTreeSet<String>,
    sessions: BTreeSet<String>,
    /// The number of requests, each under a key of its own.
    keys: u64,
    /// Responses with a status that forbids a retry (500), with their codes.
    broken: Vec<String>,
    /// Requests that were retried without ever getting a final response.
    unresolved: Vec<String>,
    /// The longest wait for a response of a node that was not paused meanwhile.
    longest: Duration,
}

/// A request under a key, until its outcome is known.
struct KeyedRequest {
    path: String,
    key: String,
    body: String,
    /// The text that it saves; `None` where it begins a session.
    content: Option<String>,
}

impl Acknowledged {
    /// Sends it to a node; returns whether its outcome is known.
    fn ask(&mut self, fleet: &Fleet, node: usize, token: &str, request: &KeyedRequest) -> bool {
        let KeyedRequest {
            path, key, body, ..
        } = request;
        let holds = || fleet.holds[node].load(Ordering::SeqCst);
        let was_held_up = *fleet.held_up.lock().unwrap() == Some(node);
        let (before, begun) = (holds(), Instant::now());
        let answer = ask_once(&fleet.address(node), "POST", path, token, key, body);
        if !was_held_up && holds() == before {
            self.longest = self.longest.max(begun.elapsed());
        }
        let Some((status, answer)) = answer else {
            return false;
        };
        let code = answer["code"].as_str().unwrap_or_default();
        match (status, &request.content) {
            (500, _) => {
                self.broken.push(format!("{path}: {code}"));
                false
            }
            (502.., _) => false,
            (409, _) if code == "idempotency_in_progress" => false,
            (201, Some(content)) => {
                self.memories.insert(content.clone());
                true
            }
            (202, None) => {
                let id = answer["id"].as_str().unwrap();
                self.sessions.insert(id.to_owned());
                true
            }
            // Done before, in an attempt whose response was lost; or refused, since another session runs.
            (409, None) => {
                if code == "idempotency_done" {
                    let id = answer["session_id"].as_str().unwrap();
                    self.sessions.insert(id.to_owned());
                }
                true
            }
            other => panic!("{path}: {other:?} {answer}"),
        }
    }
}

/// Saves and begins sessions for an agent, through changing nodes, until stopped. A request with an unknown outcome is
/// repeated under its key.
fn live(fleet: &Fleet, agent: usize, token: &str, is_over: &AtomicBool) -> Acknowledged {
    let mut chance = Chance(agent as u64);
    let mut acknowledged = Acknowledged::default();
    let mut open: Vec<KeyedRequest> = Vec::new();
    let of = |what: &str| format!("/v1/agents/agent-{agent}/{what}");
    let mut try_all = |open: &mut Vec<KeyedRequest>, acknowledged: &mut Acknowledged| {
        open.retain(|request| {
            let node = chance.below(NODES as u64) as usize;
            !acknowledged.ask(fleet, node, token, request)
        });
        thread::sleep(Duration::from_millis(200));
    };
    for at in 0.. {
        if is_over.load(Ordering::SeqCst) {
            break;
        }
        let content = format!("Note {at} of agent {agent}.");
        open.push(KeyedRequest {
            path: of("memories"),
            key: format!("note-{agent}-{at}"),
            body: json!({"content": content, "kind": "core"}).to_string(),
            content: Some(content),
        });
        open.push(KeyedRequest {
            path: of("sessions"),
            key: format!("session-{agent}-{at}"),
            body: json!({"driver": "model"}).to_string(),
            content: None,
        });
        acknowledged.keys += 2;
        try_all(&mut open, &mut acknowledged);
    }
    // No more faults from here on.
    let begun = Instant::now();
    while !open.is_empty() && begun.elapsed() < PATIENCE {
        try_all(&mut open, &mut acknowledged);
    }
    let unresolved = open.into_iter().map(|request| request.key);
    acknowledged.unresolved.extend(unresolved);
    acknowledged
}

/// Waits until no session runs.
fn ended(fleet: &Fleet) {
    let begun = Instant::now();
    loop {
        let running = fleet
            .query("SELECT count(*) FROM sessions WHERE state IN ('queued', 'asking', 'open')");
        if running == "0" {
            return;
        }
        if begun.elapsed() > PATIENCE {
            let states = fleet.query("SELECT state, count(*) FROM sessions GROUP BY state");
            let log = std::fs::read_to_string(fleet.installation.path("log")).unwrap();
            panic!("{running} sessions do not end: {states}; the log: {log}");
        }
        thread::sleep(Duration::from_millis(500));
    }
}

#[test]
fn spec_6_2_a_fleet_that_is_killed_held_up_and_cut_off_ends_every_session_once_and_loses_nothing() {
    let Some(mut server) = Postgres::start("fleet").unwrap() else {
        return skip();
    };
    let (kills, seed) = (
        number("MEMOIR_FLEET_KILLS", 100),
        number("MEMOIR_FLEET_SEED", 16),
    );
    println!("{kills} kills, seed {seed}");
    let pooled = server.pool().unwrap();
    let direct = server.database().unwrap();
    let url = match &pooled {
        Some((own, pooler)) => direct.replace(own, pooler),
        None => direct.clone(),
    };
    let (installation, model) = (Installation::new(), model());
    installation.write(
        ".config/memoir/config.toml",
        format!(
            "lease_seconds = {LEASE}\n[schedule]\nenabled = false\n\
             [limits]\nattempts = 3\nfirst_wait_seconds = 0.1\n\
             [providers.lab]\nbase_url = \"{}\"\n",
            model.base_url()
        ),
    );
    let mut migrate = installation.command(&["migrate", "--database", &direct]);
    Ran::of(migrate.env("MEMOIR_LOG", "error")).ok("migrate");
    let fleet = Fleet::new(installation, server, url);
    fleet.ok(&["installation", "open"]);
    let mut tokens = Vec::new();
    for agent in 0..AGENTS {
        let name = format!("agent-{agent}");
        let options = ["--model=lab:small", "--loss-guard=off"];
        fleet.ok(&[&["agent", "create", &name][..], &options].concat());
        let made = fleet.ok(&["token", "create", "--role", "agent", "--agent", &name]);
        let token = made.trim_end().to_owned();
        for number in 1..=6 {
            let body =
                json!({"content": format!("Lena comes on day {number} of her year, as always.")});
            let path = format!("/v1/agents/{name}/memories");
            let saved = ask(&fleet.address(0), "POST", &path, &token, &body.to_string());
            assert_eq!(saved.unwrap().0, 201);
        }
        tokens.push(token);
    }

    let is_over = AtomicBool::new(false);
    let told = Mutex::new(BTreeMap::<&str, u64>::new());
    let acknowledged: Vec<Acknowledged> = thread::scope(|scope| {
        let agents = tokens.iter().enumerate();
        let agents = agents.map(|(agent, token)| {
            let (fleet, is_over) = (&fleet, &is_over);
            scope.spawn(move || live(fleet, agent, token, is_over))
        });
        let agents: Vec<_> = agents.collect();
        let mut chance = Chance(seed);
        for _ in 0..kills {
            thread::sleep(Duration::from_millis(200 + chance.below(1_200)));
            let what = fleet.disturb(scope, &mut chance);
            *told.lock().unwrap().entry(what).or_default() += 1;
        }
        is_over.store(true, Ordering::SeqCst);
        agents
            .into_iter()
            .map(|agent| agent.join().unwrap())
            .collect()
    });
    ended(&fleet);

    let verified = fleet.json(&["audit", "verify", "--all"]);
    assert_eq!(verified["valid"], true, "{verified}");
    let mut ends = BTreeMap::<String, u64>::new();
    for (agent, acknowledged) in acknowledged.iter().enumerate() {
        let name = format!("agent-{agent}");
        let ledger = fleet.json(&["ledger", &name]);
        let mut kept: BTreeMap<&str, u64> = BTreeMap::new();
        for memory in ledger["items"].as_array().unwrap() {
            *kept.entry(memory["content"].as_str().unwrap()).or_default() += 1;
        }
        for content in &acknowledged.memories {
            let times = kept.get(&**content).copied();
            assert_eq!(times, Some(1), "{name}: acknowledged, and not there once");
        }
        let sessions = fleet.query(&format!(
            "SELECT string_agg(encode(sessions.id, 'hex') || ' ' || state || ' ' || (ended_at IS NOT NULL), ',') \
             FROM sessions JOIN agents ON agents.id = agent_id WHERE name = '{name}'"
        ));
        let mut known = BTreeSet::new();
        for session in sessions.split(',').filter(|session| !session.is_empty()) {
            let parts: Vec<&str> = session.split(' ').collect();
            assert_eq!(parts[2], "true", "{session}");
            *ends.entry(parts[1].to_owned()).or_default() += 1;
            known.insert(parts[0].to_owned());
        }
        for session in &acknowledged.sessions {
            let is_known = known.contains(&session.replace('-', ""));
            assert!(is_known, "{name} lost a session");
        }
        assert!(!acknowledged.memories.is_empty() && !acknowledged.sessions.is_empty());
    }
    assert!(ends.contains_key("completed"), "{ends:?}");
    let memories: usize = acknowledged.iter().map(|one| one.memories.len()).sum();
    let keys: u64 = acknowledged.iter().map(|one| one.keys).sum();
    let longest = acknowledged.iter().map(|one| one.longest).max();
    let of_all = |list: fn(&Acknowledged) -> &[String]| -> Vec<String> {
        acknowledged.iter().flat_map(list).cloned().collect()
    };
    let (broken, unresolved) = (of_all(|one| &one.broken), of_all(|one| &one.unresolved));
    println!(
        "{:?}; {memories} memories acknowledged, sessions {ends:?}",
        told.into_inner().unwrap()
    );
    println!(
        "{keys} keys: {} unresolved, {} answered with 500, the longest wait {longest:?}",
        unresolved.len(),
        broken.len()
    );
    assert!(broken.is_empty(), "{broken:?}");
    assert!(unresolved.is_empty(), "{unresolved:?}");
}

/// A request of a client of several nodes: sent to one node, and after a failure once more to the next one. Returns
/// whether it was repeated, and the response.
fn ask_twice(fleet: &Fleet, node: usize, request: [&str; 5]) -> (bool, Option<(u16, Value)>) {
    let [method, path, token, key, body] = request;
    let ask = |node| ask_once(&fleet.address(node), method, path, token, key, body);
    match ask(node) {
        Some((status, answer)) if status < 500 => (false, Some((status, answer))),
        _ => (true, ask((node + 1) % NODES)),
    }
}

/// Saves and reads for an agent, and begins a session now and then, until stopped. Returns the saved texts, and the
/// number of repeated requests. Panics where a repeated one fails.
fn lean(
    fleet: &Fleet,
    agent: usize,
    token: &str,
    done: &AtomicU64,
    is_over: &AtomicBool,
) -> (Vec<String>, u64) {
    let (mut saved, mut again) = (Vec::new(), 0);
    let path = format!("/v1/agents/agent-{agent}/memories");
    let sessions = format!("/v1/agents/agent-{agent}/sessions");
    for at in 0.. {
        if is_over.load(Ordering::SeqCst) {
            break;
        }
        let content = format!("Note {at} of agent {agent}.");
        let body = json!({"content": content, "kind": "core"}).to_string();
        let key = format!("note-{at}-{agent}");
        let mut requests = vec![
            (["POST", &path, token, &key, &body], &[201][..]),
            (["GET", &path, token, "", ""], &[200]),
        ];
        let session = json!({"driver": "model"}).to_string();
        if at % 8 == 7 {
            requests.push((["POST", &sessions, token, "", &session], &[202, 409]));
        }
        for (request, expected) in requests {
            let (is_again, answer) = ask_twice(fleet, (at + agent) % NODES, request);
            again += u64::from(is_again);
            let (status, answer) = answer.unwrap_or_default();
            assert!(
                expected.contains(&status),
                "{} {}: {status} {answer}",
                request[0],
                request[1]
            );
        }
        saved.push(content);
        done.fetch_add(1, Ordering::SeqCst);
    }
    (saved, again)
}

/// The changes of a later version's `memoir migrate`, as the owner of the tables.
fn migrate(owner: &str) {
    let tables = memoir_store::tables::TABLES.iter().map(|table| table.name);
    let all = memoir_testkit::next_migrations(MIGRATIONS, tables, |number, name, sql| Migration {
        number,
        name,
        sql,
    });
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let run = runtime.block_on(async { PostgresStore::at(owner).unwrap().migrate_to(all).await });
    assert_eq!(run.unwrap().len() + MIGRATIONS.len(), all.len());
}

#[test]
fn spec_6_2_a_fleet_is_brought_to_the_next_version_node_by_node_and_loses_no_request_asked_once_more()
 {
    const AGENTS: usize = 4;
    let Some(server) = Postgres::start("rolling").unwrap() else {
        return skip();
    };
    server
        .follow(include_str!("../../../../docs/fleet.md"))
        .unwrap();
    let (installation, url) = (Installation::new(), server.url("memoir", "memoir"));
    let owner = server.url("memoir_owner", "memoir");
    let pending = installation.run(&["serve", "--database", &url, "--migrate"]);
    assert_eq!(pending.code, Some(1), "it cannot make tables: {pending:?}");
    let migrated = installation.run(&["migrate", "--database", &owner]);
    assert_eq!(migrated.code, Some(0), "{migrated:?}");
    let fleet = Fleet::new(installation, server, url);
    let doctor = fleet.ok(&["doctor"]);
    doctor.tells("the role `memoir` owns nothing");
    doctor.omits("statement_timeout");
    fleet.query("ALTER ROLE memoir RESET statement_timeout");
    let doctor = fleet.ok(&["doctor"]);
    doctor.tells("statement_timeout");
    fleet.ok(&["installation", "open"]);
    let tokens = (0..AGENTS).map(|agent| {
        let name = format!("agent-{agent}");
        fleet.ok(&["agent", "create", &name, "--model", "builtin:careful"]);
        let made = fleet.ok(&["token", "create", "--role", "agent", "--agent", &name]);
        made.trim_end().to_owned()
    });
    let tokens: Vec<String> = tokens.collect();

    let (done, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    // Until so many more were saved without a failure.
    let meanwhile = |more: u64| {
        let (from, begun) = (done.load(Ordering::SeqCst), Instant::now());
        while done.load(Ordering::SeqCst) < from + more {
            assert!(begun.elapsed() < PATIENCE, "nothing is saved any more");
            thread::sleep(Duration::from_millis(20));
        }
    };
    let saved: Vec<(Vec<String>, u64)> = thread::scope(|scope| {
        let agents = tokens.iter().enumerate().map(|(agent, token)| {
            let (fleet, done, is_over) = (&fleet, &done, &is_over);
            scope.spawn(move || lean(fleet, agent, token, done, is_over))
        });
        let agents: Vec<_> = agents.collect();
        let upgraded = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            meanwhile(20);
            migrate(&owner);
            meanwhile(20);
            for (node, place) in fleet.nodes.iter().enumerate() {
                place.read().unwrap().stop();
                assert!(
                    place.write().unwrap().ended().success(),
                    "it ends by itself"
                );
                fleet.start_again(node);
                meanwhile(20);
            }
        }));
        is_over.store(true, Ordering::SeqCst);
        let saved = agents.into_iter().map(|agent| agent.join().unwrap());
        let saved = saved.collect();
        upgraded.unwrap();
        saved
    });
    ended(&fleet);
    let verified = fleet.json(&["audit", "verify", "--all"]);
    assert_eq!(verified["valid"], true, "{verified}");
    let (mut memories, mut again) = (0, 0);
    for (agent, (saved, asked_again)) in saved.iter().enumerate() {
        let ledger = fleet.json(&["ledger", &format!("agent-{agent}")]);
        let kept = ledger["items"].as_array().unwrap().iter();
        let kept: Vec<&str> = kept
            .filter(|memory| memory["kind"] == "core")
            .map(|memory| memory["content"].as_str().unwrap())
            .collect();
        assert_eq!(kept, *saved, "each once, in their order");
        memories += saved.len();
        again += asked_again;
    }
    println!(
        "{memories} memories acknowledged while three nodes were exchanged, {again} requests asked once more"
    );
}
