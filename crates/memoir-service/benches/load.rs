//! The load of 64 connections over real HTTP, compared with the limits of the same disk, the same rows and the same
//! server in the same run: `cargo bench -p memoir-service --bench load`.
//!
//! The service runs in a process of its own (this program, called with `serve`), as `memoir serve` runs it, with the
//! database in a real folder. The client shares the machine with it, so it is a lean one: one thread, handwritten
//! requests, responses read no further than needed. Rounds of each measurement and its floor alternate; only the ratios
//! count.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement prints, and stops where it fails"
)]

use std::{
    future::Future,
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use memoir_app::{Account, InstallationSettings, Memoir, Models, Provision, import};
use memoir_domain::{agent::Field, audit::Actor};
use memoir_model::{ConnectError, Model, ModelName};
use memoir_service::ServiceOptions;
use memoir_store::Store;
use memoir_store_sqlite::SqliteStore;
use memoir_testkit::{DiskFolder, customer};
use memoir_vault::MasterSource;
use rusqlite::{Connection, params, params_from_iter, types::Value};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    runtime::Runtime,
};

memoir_testkit::program_allocator!();

/// Agents, each with a connection of its own.
const AGENTS: usize = 64;
/// Memories that each begins with.
const MEMORIES: usize = 100;
/// Memories that each saves in a round.
const SAVES: usize = 100;
/// Sessions of an agent in a round, and edits in each: as many as a session allows.
const SESSIONS: usize = 4;
const EDITS: usize = 10;
/// Turns of reading and of its floor in a round, and how long each takes.
const TURNS: usize = 3;
const TURN: Duration = Duration::from_millis(400);
const ROUNDS: usize = 6;
/// Memories of the agent that is verified, each with a record.
const LONG: usize = 50_000;
/// Memories of the agent whose past is read, each with a record.
const PAST: usize = 100_000;
/// Reads of the past, at as many points.
const LOOKS: usize = 20;
/// Concurrent requests for that.
const ASKING: usize = 12;
/// Concurrent bodies, and the size of each.
const BODIES: usize = 60;
const BODY: usize = 16 << 20;

/// What `memoir serve` sets for its allocators (docs/environment.md).
const ALLOCATORS: [(&str, &str); 4] = [
    ("MIMALLOC_PURGE_DELAY", "0"),
    ("MIMALLOC_PAGE_FULL_RETAIN", "0"),
    ("MIMALLOC_GENERIC_COLLECT", "200"),
    ("MALLOC_ARENA_MAX", "2"),
];

struct NoModels;

impl Models for NoModels {
    fn connect(&self, _: &ModelName) -> Result<Arc<dyn Model>, ConnectError> {
        unreachable!("the agents drive their sessions themselves")
    }
}

fn open(path: &Path) -> Memoir {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(path).unwrap());
    let source = MasterSource::File(path.with_extension("master-key"));
    let keys = memoir_vault::unlock(&source, &path.with_extension("keys"), false).unwrap();
    Memoir::new(
        store,
        Arc::new(keys),
        Arc::new(NoModels),
        InstallationSettings::default(),
    )
}

/// An agent with its token.
struct Agent {
    name: String,
    id: Vec<u8>,
    token: String,
}

/// Makes an agent with so many memories.
async fn make(account: &Account, name: String, memories: usize) -> Agent {
    let owner = Actor::administrator("bench");
    // Under `off` one row changes with each edit, as in the rows by hand.
    let guard = [(Field::LossGuard, Some("off"))];
    account.create_agent(&name, &guard, &owner).await.unwrap();
    let handle = account.agent(&name).await.unwrap();
    let lines: String = (0..memories)
        .map(|number| json!({"content": customer(number)}).to_string() + "\n")
        .collect();
    let read = import::read(lines.as_bytes(), None, memoir_domain::Timestamp::MAX);
    let imported = handle
        .memories()
        .import(read, false, &owner, Arc::default());
    imported.await.unwrap();
    let token = handle.grants().create_token(Provision::Any, None, &owner);
    Agent {
        token: token.await.unwrap().secret.expose().to_owned(),
        id: handle.scope().agent.as_bytes().to_vec(),
        name,
    }
}

/// A database with one agent with so many memories.
async fn prepare_long(path: &Path, memories: usize) -> Agent {
    let account = open(path).account("default").await.unwrap();
    make(&account, "long".to_owned(), memories).await
}

/// A database with [`AGENTS`] agents, and a copy of it to be written by hand.
async fn prepare(path: &Path, copy: &Path) -> Vec<Agent> {
    let account = open(path).account("default").await.unwrap();
    let mut agents = Vec::new();
    for number in 0..AGENTS {
        agents.push(make(&account, format!("agent-{number}"), MEMORIES).await);
    }
    drop(account);
    let connection = Connection::open(path).unwrap();
    connection
        .execute("VACUUM INTO ?1", params![copy.to_str().unwrap()])
        .unwrap();
    agents
}

/// The service, until its standard input is closed.
fn serve(path: &Path) {
    Runtime::new().unwrap().block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("{}", listener.local_addr().unwrap());
        let (stop, stopped) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            let _ = std::io::stdin().lock().read_line(&mut String::new());
            let _ = stop.send(());
        });
        let stopped = async {
            let _ = stopped.await;
        };
        let options = ServiceOptions::default();
        let served = memoir_service::serve(open(path), options, listener, stopped);
        served.await.unwrap();
    });
}

/// Reads the past of an agent of [`PAST`] records, in a process that does nothing else.
fn look_back(path: &Path) {
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let memoir = open(path);
        let account = memoir.account("default").await.unwrap();
        let agent = account.agent("long").await.unwrap();
        let rest = memory_of("self", "VmHWM:");
        let began = Instant::now();
        let seen = agent.log().look_back(None).await.unwrap();
        let (first, newest) = (began.elapsed(), seen.seq);
        println!(
            "the first look back, {newest} records {first:>9.0?}; {:.1} MB at its highest, {rest:.1} at rest",
            memory_of("self", "VmHWM:")
        );
    });
    runtime.block_on(async {
        std::fs::write("/proc/self/clear_refs", "5").unwrap();
        let memoir = open(path);
        let account = memoir.account("default").await.unwrap();
        let agent = account.agent("long").await.unwrap();
        let newest = agent.log().look_back(None).await.unwrap().seq;
        let (mut times, mut floors) = (Vec::new(), Vec::new());
        for number in 0..LOOKS as u64 {
            let point = memoir_app::Point::Record(newest * number / LOOKS as u64);
            let began = Instant::now();
            agent.log().look_back(Some(point)).await.unwrap();
            times.push(began.elapsed());
            let began = Instant::now();
            read_by_hand(path);
            floors.push(began.elapsed());
        }
        let ((look, slow), (floor, _)) = (percentiles(&times), percentiles(&floors));
        println!(
            "further looks, at {LOOKS} points          {look:>9.1?} median, {slow:.1?} slowest (under 100 ms); {:.1} MB at its highest (under 50 over rest)",
            memory_of("self", "VmHWM:")
        );
        println!("  the rows of one read by hand     {floor:>9.1?}");
    });
}

/// Loads the rows of a read of the past into memory.
fn read_by_hand(path: &Path) {
    let connection = Connection::open(path).unwrap();
    let mut read = 0;
    for sql in [
        "SELECT body FROM log_summaries ORDER BY last_seq",
        "SELECT body FROM audit_records ORDER BY seq LIMIT 512",
        "SELECT body FROM audit_records ORDER BY seq DESC LIMIT 512",
    ] {
        let mut statement = connection.prepare(sql).unwrap();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let body: Vec<u8> = row.get(0).unwrap();
            read += std::hint::black_box(body).len();
        }
    }
    assert!(read > 0);
}

/// A line of the system's report on a process, in MB of 1,000,000 bytes.
fn memory_of(process: &str, line: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let found = status.lines().find_map(|found| found.strip_prefix(line));
    let kib = found.unwrap().trim_matches(|it: char| !it.is_ascii_digit());
    kib.parse::<f64>().unwrap() * 1024.0 / 1e6
}

/// The service in a process of its own.
struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    fn start(path: &Path) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .envs(ALLOCATORS)
            .arg("serve")
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = process.stdout.as_mut().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        Self {
            address: line.trim().parse().unwrap(),
            process,
        }
    }

    /// A line of the system's report on the process, in MB of 1,000,000 bytes.
    fn memory(&self, line: &str) -> f64 {
        memory_of(&self.process.id().to_string(), line)
    }

    /// Time on the processors so far, in seconds.
    fn processor(&self) -> f64 {
        let stat = format!("/proc/{}/stat", self.process.id());
        let stat = std::fs::read_to_string(stat).unwrap();
        let fields = stat.rsplit_once(") ").unwrap().1;
        let ticks = fields.split(' ').skip(11).take(2);
        ticks
            .map(|ticks| ticks.parse::<f64>().unwrap())
            .sum::<f64>()
            / 100.0
    }

    fn stop(mut self) {
        drop(self.process.stdin.take());
        assert!(self.process.wait().unwrap().success());
    }
}

/// One connection, kept alive.
struct Client {
    stream: TcpStream,
    token: String,
    name: String,
    session: String,
    buffer: Vec<u8>,
}

impl Client {
    /// So many connections of one agent.
    async fn several(server: &Server, agent: &Agent, count: usize) -> Vec<Self> {
        let mut clients = Vec::new();
        for _ in 0..count {
            clients.push(Self::connect(server, agent).await);
        }
        clients
    }

    async fn connect(server: &Server, agent: &Agent) -> Self {
        let stream = TcpStream::connect(server.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream,
            token: agent.token.clone(),
            name: agent.name.clone(),
            session: String::new(),
            buffer: Vec::with_capacity(64 << 10),
        }
    }

    /// Sends a request, waits for the whole response, and returns the body. Anything but success ends the measurement.
    async fn call(&mut self, method: &str, path: &str, body: &str) -> &[u8] {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        );
        self.stream.write_all(request.as_bytes()).await.unwrap();
        self.buffer.clear();
        loop {
            let read = self.stream.read_buf(&mut self.buffer).await.unwrap();
            assert!(read > 0, "the service closed the connection");
            if let Some((head, length)) = head(&self.buffer)
                && self.buffer.len() >= head + length
            {
                assert!(
                    self.buffer.starts_with(b"HTTP/1.1 2"),
                    "{}",
                    String::from_utf8_lossy(&self.buffer)
                );
                return &self.buffer[head..];
            }
        }
    }

    /// Sends a body of that size, and waits for any response.
    async fn send(&mut self, body: &[u8]) {
        let head = format!(
            "POST /v1/agents/{}/memories HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.name,
            self.token,
            body.len()
        );
        self.stream.write_all(head.as_bytes()).await.unwrap();
        // A refusal arrives before the whole body was sent.
        let (mut reading, mut writing) = self.stream.split();
        let mut answer = [0; 1024];
        tokio::select! {
            Err(_) = writing.write_all(body) => {}
            read = reading.read(&mut answer) => drop(read),
        }
    }

    async fn save(&mut self, number: usize) {
        let path = format!("/v1/agents/{}/memories", self.name);
        let body = json!({"content": customer(number)}).to_string();
        self.call("POST", &path, &body).await;
    }

    async fn read(&mut self, number: usize) {
        let path = format!("/v1/agents/{}/memories/{number}", self.name);
        self.call("GET", &path, "").await;
    }

    async fn begin(&mut self) {
        let path = format!("/v1/agents/{}/sessions", self.name);
        let opened = self.call("POST", &path, r#"{"driver":"agent"}"#).await;
        let opened: serde_json::Value = serde_json::from_slice(opened).unwrap();
        self.session = opened["id"].as_str().unwrap().to_owned();
    }

    /// Tightens the text of a memory.
    async fn edit(&mut self, number: usize) {
        let path = format!("/v1/sessions/{}/tools/update_memory", self.session);
        let content = customer(number - 1).replace("really rather", "rather");
        let body = json!({"id": number, "content": content}).to_string();
        let answer = self.call("POST", &path, &body).await;
        let answer = std::str::from_utf8(answer).unwrap();
        assert!(answer.contains(r#""type":"updated""#), "{answer}");
    }

    async fn complete(&mut self) {
        let path = format!("/v1/sessions/{}/tools/complete_refinement", self.session);
        self.call("POST", &path, r#"{"summary":"Tighter."}"#).await;
    }
}

/// Where the body of a response begins, and its length; `None` where the head is incomplete.
fn head(buffer: &[u8]) -> Option<(usize, usize)> {
    let end = buffer.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&buffer[..end]).unwrap();
    let length = text.split_once("content-length: ").unwrap().1;
    let length = length.split_once('\r').unwrap().0;
    Some((end, length.parse().unwrap()))
}

/// Runs work of all clients concurrently, on this one thread.
async fn together<F, T>(clients: &mut Vec<Client>, work: impl Fn(usize, Client) -> F) -> Vec<T>
where
    F: Future<Output = (Client, T)> + 'static,
    T: 'static,
{
    let tasks: Vec<_> = clients
        .drain(..)
        .enumerate()
        .map(|(index, client)| tokio::task::spawn_local(work(index, client)))
        .collect();
    let mut all = Vec::with_capacity(AGENTS);
    for task in tasks {
        let (client, done) = task.await.unwrap();
        clients.push(client);
        all.push(done);
    }
    all
}

/// The number of responses a second.
async fn for_a_turn(clients: &mut Vec<Client>, is_constant: bool) -> f64 {
    let began = Instant::now();
    let counts = together(clients, move |_, mut client| async move {
        let mut count = 0;
        while began.elapsed() < TURN {
            if is_constant {
                client.call("GET", "/healthz", "").await;
            } else {
                client.read(count % MEMORIES + 1).await;
            }
            count += 1;
        }
        (client, count)
    })
    .await;
    counts.iter().sum::<usize>() as f64 / began.elapsed().as_secs_f64()
}

async fn saves(clients: &mut Vec<Client>) -> (f64, Vec<Duration>) {
    let began = Instant::now();
    let times = together(clients, |_, mut client| async move {
        let mut times = Vec::with_capacity(SAVES);
        for number in MEMORIES..MEMORIES + SAVES {
            let began = Instant::now();
            client.save(number).await;
            times.push(began.elapsed());
        }
        (client, times)
    })
    .await;
    let rate = (AGENTS * SAVES) as f64 / began.elapsed().as_secs_f64();
    (rate, times.concat())
}

/// Tool calls at a fixed rate. Each is due at a time of its own, from which its duration is counted: a call that waits
/// for the previous one is a slow call.
async fn edits(clients: &mut Vec<Client>, rate: f64) -> Vec<Duration> {
    let mut times = Vec::new();
    for session in 0..SESSIONS {
        together(clients, |_, mut client| async move {
            client.begin().await;
            (client, ())
        })
        .await;
        let began = Instant::now() + Duration::from_millis(5);
        let taken = together(clients, move |index, mut client| async move {
            let mut times = Vec::with_capacity(EDITS);
            for edit in 0..EDITS {
                let place = (edit * AGENTS + index) as f64;
                let due = began + Duration::from_secs_f64(place / rate);
                tokio::time::sleep_until(due.into()).await;
                client.edit(session * EDITS + edit + 1).await;
                times.push(due.elapsed());
            }
            (client, times)
        })
        .await;
        times.extend(taken.concat());
        together(clients, |_, mut client| async move {
            client.complete().await;
            (client, ())
        })
        .await;
    }
    times
}

/// What one governed save wrote, to be written again by hand: statements with their values.
type Rows = [(String, Vec<Value>); 3];

/// The values of the statement below, in its order.
const AGENT: &str = "SELECT agents.id, memories.version, memories.tokens, open, seq, hash, sealed FROM agents \
         JOIN memories ON memories.agent_id = agents.id \
         JOIN audit_records ON audit_records.agent_id = agents.id AND memory = number \
         WHERE agents.id = ?1 AND number = ?2";
const UPDATE: &str = "UPDATE agents SET version = ?2, removable_tokens = removable_tokens + ?3, open = ?4, \
         next_seq = ?5 + 1, head = ?6, sealed = ?7 WHERE id = ?1";

/// Reads what the save of that number wrote.
fn rows(governed: &Connection, agent: &Agent, number: usize) -> Rows {
    let number = i64::try_from(number).unwrap();
    let read = |sql: &str| -> Vec<Value> {
        let mut statement = governed.prepare_cached(sql).unwrap();
        let columns = statement.column_count();
        let values: rusqlite::Result<_> = statement.query_row(params![agent.id, number], |row| {
            (0..columns).map(|column| row.get(column)).collect()
        });
        values.unwrap()
    };
    let copied = |table: &str, column: &str| {
        let sql = format!("SELECT * FROM {table} WHERE agent_id = ?1 AND {column} = ?2");
        let values = read(&sql);
        let places = vec!["?"; values.len()].join(", ");
        (format!("INSERT INTO {table} VALUES ({places})"), values)
    };
    [
        (UPDATE.to_owned(), read(AGENT)),
        copied("memories", "number"),
        copied("audit_records", "memory"),
    ]
}

fn write_by_hand(connection: &Connection, rows: &Rows) {
    for (sql, values) in rows {
        let mut statement = connection.prepare_cached(sql).unwrap();
        let written = statement.execute(params_from_iter(values));
        assert_eq!(written.unwrap(), 1);
    }
}

fn raw(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    for (pragma, value) in [
        ("journal_mode", "WAL"),
        ("synchronous", "FULL"),
        ("foreign_keys", "ON"),
    ] {
        connection.pragma_update(None, pragma, value).unwrap();
    }
    connection.set_prepared_statement_cache_capacity(64);
    connection
}

/// The same rows in batches of one save for each agent: saves a second, and the duration of each batch.
fn by_hand(path: &Path, copy: &Path, agents: &[Agent]) -> (f64, Vec<Duration>) {
    let governed = Connection::open(path).unwrap();
    let all: Vec<Rows> = (MEMORIES..MEMORIES + SAVES)
        .flat_map(|number| agents.iter().map(move |agent| (agent, number + 1)))
        .map(|(agent, number)| rows(&governed, agent, number))
        .collect();
    drop(governed);
    let connection = raw(copy);
    let began = Instant::now();
    let times = all.chunks(AGENTS).map(|batch| {
        let began = Instant::now();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        batch
            .iter()
            .for_each(|rows| write_by_hand(&connection, rows));
        connection.execute_batch("COMMIT").unwrap();
        began.elapsed()
    });
    let times = times.collect();
    (all.len() as f64 / began.elapsed().as_secs_f64(), times)
}

/// The results of the rounds.
#[derive(Default)]
struct Measured {
    reads: Vec<f64>,
    constants: Vec<f64>,
    read_ratios: Vec<f64>,
    /// Time on the processors for each, in seconds.
    read_costs: Vec<f64>,
    constant_costs: Vec<f64>,
    saves: Vec<f64>,
    raw: Vec<f64>,
    save_ratios: Vec<f64>,
    save_costs: Vec<f64>,
    save_times: Vec<Duration>,
    batch_times: Vec<Duration>,
    edit_rates: Vec<f64>,
    edit_times: Vec<Duration>,
    highest_memory: Vec<f64>,
    last_memory: Vec<f64>,
}

impl Measured {
    /// Reads and their floor, alternating.
    async fn read(&mut self, server: &Server, clients: &mut Vec<Client>) {
        for turn in 0..2 * TURNS {
            // The second one finds the machine as the first one left it.
            let is_constant = matches!(turn % 4, 0 | 3);
            let began = server.processor();
            let rate = for_a_turn(clients, is_constant).await;
            let cost = (server.processor() - began) / (rate * TURN.as_secs_f64());
            let (rates, costs) = match is_constant {
                true => (&mut self.constants, &mut self.constant_costs),
                false => (&mut self.reads, &mut self.read_costs),
            };
            rates.push(rate);
            costs.push(cost);
            if turn % 2 == 1
                && let (Some(read), Some(constant)) = (self.reads.last(), self.constants.last())
            {
                self.read_ratios.push(read / constant);
            }
        }
    }

    async fn write(
        &mut self,
        server: &Server,
        clients: &mut Vec<Client>,
        by_hand: impl FnOnce() -> (f64, Vec<Duration>),
    ) {
        let began = server.processor();
        let (rate, times) = saves(clients).await;
        let cost = (server.processor() - began) / (AGENTS * SAVES) as f64;
        let (raw, batches) = by_hand();
        self.saves.push(rate);
        self.raw.push(raw);
        self.save_ratios.push(rate / raw);
        self.save_costs.push(cost);
        self.save_times.extend(times);
        self.batch_times.extend(batches);
        self.edit_rates.push(rate / 2.0);
        self.edit_times.extend(edits(clients, rate / 2.0).await);
    }

    async fn round(&mut self, folder: &DiskFolder, round: usize, wanted: &impl Fn(&str) -> bool) {
        let (path, copy) = (
            folder.path(&format!("{round}.db")),
            folder.path(&format!("{round}-raw.db")),
        );
        let agents = prepare(&path, &copy).await;
        let server = Server::start(&path);
        let mut clients = Vec::new();
        for agent in &agents {
            clients.push(Client::connect(&server, agent).await);
        }
        if wanted("reads") {
            self.read(&server, &mut clients).await;
        }
        if wanted("writes") {
            let by_hand = || by_hand(&path, &copy, &agents);
            self.write(&server, &mut clients, by_hand).await;
        }
        self.highest_memory.push(server.memory("VmHWM:"));
        self.last_memory.push(server.memory("VmRSS:"));
        drop(clients);
        server.stop();
    }

    fn print_writes(&self) {
        let (save, save_p99) = percentiles(&self.save_times);
        let (batch, batch_p99) = percentiles(&self.batch_times);
        let (edit, edit_p99) = percentiles(&self.edit_times);
        let (saves, raw) = (median(&self.saves), median(&self.raw));
        println!(
            "saves, {AGENTS} connections            {saves:>9.0} a second (median of {ROUNDS} rounds); {save:.1?} median, {save_p99:.1?} p99"
        );
        println!(
            "  the same rows by hand, batches   {raw:>9.0} a second; a batch {batch:.1?} median, {batch_p99:.1?} p99"
        );
        println!(
            "  ratio                            {:.2} of medians, {:.2} median of {ROUNDS} rounds (at least 0.5)",
            saves / raw,
            median(&self.save_ratios)
        );
        println!(
            "  the service's processor time     {:>9.1?} a save",
            Duration::from_secs_f64(median(&self.save_costs))
        );
        println!(
            "tool calls at half that load       {:>9.0} a second; {edit:.1?} median, {edit_p99:.1?} p99 of {} (under {:.1?})",
            median(&self.edit_rates),
            self.edit_times.len(),
            (batch_p99 * 3).max(Duration::from_millis(10))
        );
    }

    fn print_reads(&self) {
        let (reads, constants) = (median(&self.reads), median(&self.constants));
        println!(
            "reads of one memory                {reads:>9.0} a second (median of {} turns)",
            self.reads.len()
        );
        println!("  a constant of the same server    {constants:>9.0} a second");
        println!(
            "  ratio                            {:.2} of medians, {:.2} median of turns (at least 0.33)",
            reads / constants,
            median(&self.read_ratios),
        );
        println!(
            "  the service's processor time     {:>9.1?} a read, {:.1?} a constant",
            Duration::from_secs_f64(median(&self.read_costs)),
            Duration::from_secs_f64(median(&self.constant_costs)),
        );
    }

    fn print_memory(&self) {
        let highest = self.highest_memory.iter().copied().fold(0.0, f64::max);
        println!(
            "memory of the service              {highest:>9.1} MB at its highest, {:.1} in the end (under 80)",
            median(&self.last_memory)
        );
    }
}

/// The peak memory of the service, in MB: at rest, for a verification of [`LONG`] records, for [`ASKING`] concurrent
/// ones, and for [`BODIES`] large bodies; each in a process of its own.
async fn print_peaks(folder: &DiskFolder) {
    let path = folder.path("long.db");
    let agent = prepare_long(&path, LONG).await;
    let verify = "/v1/agents/long/audit/verify";
    let server = Server::start(&path);
    let mut client = Client::connect(&server, &agent).await;
    client.read(1).await;
    let rest = server.memory("VmHWM:");
    let began = Instant::now();
    client.call("GET", verify, "").await;
    let (took, one) = (began.elapsed(), server.memory("VmHWM:"));
    server.stop();
    let server = Server::start(&path);
    let mut clients = Client::several(&server, &agent, ASKING).await;
    together(&mut clients, |_, mut client| async move {
        client.call("GET", verify, "").await;
        (client, ())
    })
    .await;
    let twelve = server.memory("VmHWM:");
    drop(clients);
    server.stop();
    let server = Server::start(&path);
    let mut clients = Client::several(&server, &agent, BODIES).await;
    let body = format!(r#"{{"content":"{}"}}"#, "a".repeat(BODY - 16));
    let body: Arc<[u8]> = body.into_bytes().into();
    together(&mut clients, |_, mut client| {
        let body = Arc::clone(&body);
        async move {
            client.send(&body).await;
            (client, ())
        }
    })
    .await;
    let bodies = server.memory("VmHWM:");
    drop(clients);
    server.stop();
    let allowed = 30.0 + (2 * LONG * 150) as f64 / 1e6;
    println!("memory of the service at rest      {rest:>9.1} MB");
    println!(
        "  verifying {LONG} records            {one:>9.1} MB at its highest ({allowed:.0} allowed); {took:.1?}"
    );
    println!("  the same, {ASKING} together            {twelve:>9.1} MB");
    println!("  {BODIES} bodies of 16 MB together     {bodies:>9.1} MB");
}

/// The cost of a read of the past, in a process of its own.
async fn print_looks(folder: &DiskFolder) {
    let path = folder.path("past.db");
    prepare_long(&path, PAST).await;
    let looking = Command::new(std::env::current_exe().unwrap())
        .envs(ALLOCATORS)
        .arg("look")
        .arg(&path)
        .status();
    assert!(looking.unwrap().success());
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn percentiles(times: &[Duration]) -> (Duration, Duration) {
    let mut times = times.to_vec();
    times.sort();
    (times[times.len() / 2], times[times.len() * 99 / 100])
}

fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap();
    load.split(' ').next().unwrap().to_owned()
}

fn main() {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match arguments.as_slice() {
        [serving, path] if serving == "serve" => return serve(Path::new(path)),
        [looking, path] if looking == "look" => return look_back(Path::new(path)),
        _ => {}
    }
    let names = arguments.iter().filter_map(|argument| argument.to_str());
    let names: Vec<_> = names.filter(|name| !name.starts_with('-')).collect();
    let is_wanted = |name: &str| names.is_empty() || names.contains(&name);
    let load_before = load();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut measured = Measured::default();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let folder = DiskFolder::default();
        if is_wanted("peaks") {
            print_peaks(&folder).await;
        }
        if is_wanted("looks") {
            print_looks(&folder).await;
        }
        let is_of_load = is_wanted("reads") || is_wanted("writes");
        let rounds = if is_of_load { ROUNDS } else { 0 };
        for number in 0..rounds {
            measured.round(&folder, number, &is_wanted).await;
        }
    });
    if is_wanted("writes") {
        measured.print_writes();
    }
    if is_wanted("reads") {
        measured.print_reads();
    }
    if !measured.highest_memory.is_empty() {
        measured.print_memory();
    }
    println!(
        "load of the machine                {load_before:>9} before, {} after",
        load()
    );
}
