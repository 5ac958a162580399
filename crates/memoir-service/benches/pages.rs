//! How long pages of a large installation take until they are read: a fleet of 10,000 agents at every filter and order,
//! the list of agents over REST, and the personal page beside 20,000 memories:
//! `cargo bench -p memoir-service --bench pages`.
//!
//! The service runs as `memoir serve` and `memoir ui` run it, with the database in a real folder, and the client shares
//! its process. The floor is the style of the pages, a file in the program, over the same connection in turns.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement prints, and stops where it fails"
)]

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use memoir_app::{Account, FleetQuery, Memoir, OwnerLink, Viewer, import, sessions::RefineOptions};
use memoir_domain::{
    Timestamp,
    agent::Field,
    audit::Actor,
    session::{Health, Mode},
};
use memoir_model::{ProviderSettings, Providers};
use memoir_service::ServiceOptions;
use memoir_store::Store;
use memoir_store_sqlite::SqliteStore;
use memoir_testkit::{DiskFolder, ScriptedServer, ServerStep, customer, input, settings};
use memoir_vault::{MasterSource, password::Password};
use serde_json::json;
use tokio::{net::TcpListener, task::JoinSet};

memoir_testkit::program_allocator!();

/// Agents of the fleet, and how many of them are made at a time.
const AGENTS: usize = 10_000;
const TOGETHER: usize = 64;
/// Memories of each agent of the fleet, and of the one on the personal page.
const FEW: usize = 4;
const MEMORIES: usize = 20_000;
/// Requests for each address, and for its floor.
const TURNS: usize = 15;
/// The orders of the fleet, by their words in the address.
const ORDERS: [&str; 8] = [
    "health", "name", "mass", "archived", "last", "next", "breaker", "access",
];
/// How long a page may take, in milliseconds.
const FLEET_LIMIT: u64 = 300;
const PERSONAL_LIMIT: u64 = 150;
const PASSWORD: &str = "correct horse battery";

/// The installation of that database. The model `refusing:small` is at that address.
fn open(path: &Path, refusing: &str) -> Memoir {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(path).unwrap());
    let source = MasterSource::File(path.with_extension("master-key"));
    let keys = memoir_vault::unlock(&source, &path.with_extension("keys"), false).unwrap();
    let refusing = ProviderSettings {
        base_url: Some(refusing.to_owned()),
        ..ProviderSettings::default()
    };
    let providers = BTreeMap::from([("refusing".to_owned(), refusing)]);
    let models = Providers::with_environment(providers, |_| None).unwrap();
    Memoir::new(store, Arc::new(keys), Arc::new(models), settings())
}

/// Serves it; the address.
async fn serve(memoir: Memoir, options: ServiceOptions) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let stop = std::future::pending();
    tokio::spawn(memoir_service::serve(memoir, options, listener, stop));
    address
}

/// Makes the agents of the fleet, of each health some.
async fn fill(account: &Account) {
    let next = Arc::new(AtomicUsize::new(0));
    let mut making = JoinSet::new();
    for _ in 0..TOGETHER {
        let (account, next) = (account.clone(), Arc::clone(&next));
        making.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= AGENTS {
                    return;
                }
                make(&account, number).await;
            }
        });
    }
    while let Some(made) = making.join_next().await {
        made.unwrap();
    }
}

/// Makes an agent with memories and a session: one in twenty over its budget, one whose session was rolled back, and
/// one whose session a worker of the service begins, and which fails.
async fn make(account: &Account, number: usize) {
    let name = format!("agent-{number:05}");
    let owner = Actor::administrator("bench");
    let settings: &[_] = match number % 20 {
        0 => &[(Field::CoreTokenBudget, Some("1000"))],
        1 => &[(Field::LossGuard, Some("off"))],
        2 => &[(Field::Model, Some("refusing:small"))],
        _ => &[],
    };
    account.create_agent(&name, settings, &owner).await.unwrap();
    let agent = account.agent(&name).await.unwrap();
    let times = if number.is_multiple_of(20) { 20 } else { 1 };
    let inputs = (0..FEW).map(|memory| input(&customer(number * FEW + memory).repeat(times)));
    let inputs: Vec<_> = inputs.collect();
    let me = Actor::agent(&name);
    agent.memories().save(&inputs, &me).await.unwrap();
    if number % 20 == 2 {
        let options = RefineOptions::default();
        agent.sessions().enqueue(&options).await.unwrap();
        return;
    }
    let agent = agent.views().seen_by(Viewer::Agent).as_agent().unwrap();
    let (session, _) = agent.open_own(Mode::Full).await.unwrap();
    let calls = match number % 20 {
        // The second one trips the breaker.
        1 => vec![
            ("delete_memory", json!({"id": 1})),
            ("delete_memory", json!({"id": 2})),
        ],
        _ => vec![("complete_refinement", json!({"summary": "In order."}))],
    };
    for (tool, arguments) in calls {
        let called = agent.call_tool(session.id, tool, Some(&arguments));
        called.await.unwrap();
    }
}

/// A signed-in browser, or a program.
struct Client {
    http: reqwest::Client,
    address: String,
    /// The header that authenticates it.
    header: (&'static str, String),
}

impl Client {
    fn new(address: &str, header: (&'static str, String)) -> Self {
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        Self {
            http: http.build().unwrap(),
            address: address.to_owned(),
            header,
        }
    }

    /// The browser of the administrator Ada.
    async fn sign_in(address: &str) -> Self {
        let mut client = Self::new(address, ("cookie", String::new()));
        let request = client.http.post(format!("{address}/sign-in"));
        let request = request
            .header("sec-fetch-site", "same-origin")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(format!("name=Ada&password={}", PASSWORD.replace(' ', "+")));
        let answer = request.send().await.unwrap();
        let cookie = answer.headers()["set-cookie"].to_str().unwrap();
        client.header.1 = cookie.split(';').next().unwrap().to_owned();
        client
    }

    /// The body at a path, and how long it took to have all of it.
    async fn get(&self, path: &str) -> (Duration, String) {
        let request = self.http.get(format!("{}{path}", self.address));
        let request = request.header(self.header.0, &self.header.1);
        let began = Instant::now();
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status().as_u16(), 200, "{path}");
        let body = answer.text().await.unwrap();
        (began.elapsed(), body)
    }

    /// Measures addresses and their floor in turns, and prints the slowest of them.
    async fn print(&self, what: &str, paths: &[String], floor: &str, limit: u64) {
        let mut slowest = (Duration::ZERO, Duration::ZERO, 0, "");
        let mut floors = Vec::new();
        for path in paths {
            let (mut times, mut bytes) = (Vec::new(), 0);
            for _ in 0..TURNS {
                let (time, body) = self.get(path).await;
                bytes = body.len();
                times.push(time);
                floors.push(self.get(floor).await.0);
            }
            times.sort();
            let measured = (times[TURNS / 2], times[TURNS - 1], bytes, path.as_str());
            slowest = slowest.max(measured);
        }
        floors.sort();
        let (median, most, bytes, path) = slowest;
        let floor = floors[floors.len() / 2];
        println!(
            "{what:<34} {median:>8.1?} median, {most:.1?} slowest, {:.1} kB (under {limit} ms); \
             {path}, the slowest of {}",
            bytes as f64 / 1e3,
            paths.len()
        );
        println!(
            "  the pages' style                 {floor:>8.1?} median; ratio {:.1}",
            median.as_secs_f64() / floor.as_secs_f64()
        );
    }
}

/// The path of the style that a page loads.
fn style(page: &str) -> String {
    let from = &page[page.find("/assets/console.").unwrap()..];
    from[..from.find('"').unwrap()].to_owned()
}

async fn print_fleet(folder: &DiskFolder) {
    let server = ScriptedServer::always(ServerStep::status(401));
    let path = folder.path("fleet.db");
    let memoir = open(&path, &server.base_url());
    let account = memoir.account("default").await.unwrap();
    let began = Instant::now();
    fill(&account).await;
    println!("made {AGENTS} agents in {:.0?}", began.elapsed());
    let password = Password::from_text(PASSWORD).unwrap();
    let owner = Actor::owner();
    account.create_user("Ada", password, &owner).await.unwrap();
    let token = account.create_token(None, &owner).await.unwrap();
    drop((account, memoir));

    let memoir = open(&path, &server.base_url());
    let account = memoir.account("default").await.unwrap();
    let address = serve(memoir, ServiceOptions::default()).await;
    let failing = (AGENTS / 20) as u64;
    let counts = loop {
        let counts = account.fleet(&FleetQuery::default()).await.unwrap();
        if counts.by_health[Health::Failed.rank() as usize] == failing {
            break counts.by_health;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    let browser = Client::sign_in(&address).await;
    let (first, page) = browser.get("/").await;
    println!("the fleet's first page, cold       {first:>8.1?}");
    let style = style(&page);
    let filters = Health::ALL.map(|health| format!("health={}&", health.as_str()));
    for filter in [String::new()].iter().chain(&filters) {
        let orders = ORDERS.iter().flat_map(|order| {
            ["", "&turn=yes"].map(|turn| format!("/?{filter}sort={order}{turn}"))
        });
        let orders: Vec<_> = orders.collect();
        let what = match filter.as_str() {
            "" => "the fleet, all".to_owned(),
            filter => format!("the fleet, {}", filter.trim_end_matches('&')),
        };
        browser.print(&what, &orders, &style, FLEET_LIMIT).await;
    }
    let searched = ["/?q=77", "/?q=77&sort=mass", "/?page=200"].map(str::to_owned);
    browser
        .print(
            "… searched, and its last page",
            &searched,
            &style,
            FLEET_LIMIT,
        )
        .await;
    let bearer = format!("Bearer {}", token.secret.expose());
    let program = Client::new(&address, ("authorization", bearer));
    let listed = ["/v1/agents".to_owned()];
    program
        .print("the agents over REST", &listed, &style, FLEET_LIMIT)
        .await;
}

async fn print_personal(folder: &DiskFolder) {
    let path = folder.path("personal.db");
    let memoir = open(&path, "http://127.0.0.1:9");
    let owner = Actor::owner();
    let account = memoir.account("default").await.unwrap();
    account.create_agent("wren", &[], &owner).await.unwrap();
    let agent = account.agent("wren").await.unwrap();
    let lines: String = (0..MEMORIES)
        .map(|number| json!({"content": customer(number)}).to_string() + "\n")
        .collect();
    let read = import::read(lines.as_bytes(), None, Timestamp::MAX);
    let imported = agent.memories().import(read, false, &owner, Arc::default());
    imported.await.unwrap();
    let home = format!("/memory/{}", agent.scope().agent);
    drop((agent, account, memoir));

    let memoir = open(&path, "http://127.0.0.1:9");
    let link = OwnerLink::generate(&memoir, "default").unwrap();
    let cookie = format!("{}={}", link.cookie_name(), link.cookie());
    let options = ServiceOptions {
        owner_link: Some(Arc::new(link)),
        ..ServiceOptions::default()
    };
    let address = serve(memoir, options).await;
    let browser = Client::new(&address, ("cookie", cookie));
    // About what a browser takes from the printed link to its first request.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (first, page) = browser.get(&home).await;
    let (search, _) = browser.get(&format!("{home}?q=customer")).await;
    println!(
        "the personal page, {MEMORIES} memories, a second after the start: list {first:.1?}, then search {search:.1?}"
    );
    let style = style(&page);
    let at = |query: &[&str]| -> Vec<String> {
        query.iter().map(|query| format!("{home}{query}")).collect()
    };
    for (what, paths) in [
        (
            "the personal page, lists",
            at(&[
                "",
                "?kind=core",
                "?protected=no",
                "?origin=import",
                "?since=2026-01-01",
                "?tag=none",
                "?discarded=yes",
            ]),
        ),
        (
            "the personal page, searches",
            at(&[
                "?q=c",
                "?q=light+in+the+reading+room",
                "?q=customer+70003",
                "?q=blue&order=newest",
                "?q=paper&kind=core&protected=no",
            ]),
        ),
    ] {
        browser.print(what, &paths, &style, PERSONAL_LIMIT).await;
    }
}

#[tokio::main]
async fn main() {
    // Not used, but the client asks for one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = DiskFolder::default();
    print_personal(&folder).await;
    print_fleet(&folder).await;
}
