//! A service on files that can be stopped and started again, with a clock that can be put forward.

use std::{path::Path, sync::Arc, time::Duration};

use memoir_app::{Account, InstallationSettings, Memoir};
use memoir_service::ServiceOptions;
use memoir_store::Store;
use memoir_store_sqlite::SqliteStore;
use memoir_testkit::{SetModel, TestClock, Turn};
pub use memoir_testkit::{Tenant, administrator as owner};
use memoir_vault::MasterSource;
use reqwest::{Client, Response};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

/// In everything that is an agent's words.
pub const CANARY: &str = "canary-9b1e";

/// An installation that services can be started on.
pub struct Installation {
    dir: TempDir,
    clock: Arc<TestClock>,
    model: SetModel,
    pub memoir: Memoir,
    pub client: Client,
}

/// A service that runs.
pub struct Running {
    pub address: String,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

impl Installation {
    pub fn new() -> Self {
        // Not used, but the client asks for one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let dir = TempDir::new().unwrap();
        let clock = Arc::new(TestClock::ticking_from("2026-03-04T12:00:00Z"));
        let model = SetModel::default();
        let memoir = memoir_in(dir.path(), &model, &clock);
        Self {
            dir,
            clock,
            model,
            memoir,
            client: Client::new(),
        }
    }

    /// Another process, as far as the database can tell.
    pub fn elsewhere(&self) -> Memoir {
        memoir_in(self.dir.path(), &self.model, &self.clock)
    }

    pub async fn serve(&self, options: ServiceOptions) -> Running {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = self.elsewhere();
        let served = tokio::spawn(async move {
            let stop = async {
                let _ = stopped.await;
            };
            memoir_service::serve(serving, options, listener, stop)
                .await
                .unwrap();
        });
        Running {
            address,
            stop,
            served,
        }
    }

    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    pub fn script(&self, turns: impl IntoIterator<Item = Turn>) {
        self.model.script(turns);
    }

    pub async fn account(&self, name: &str) -> Account {
        memoir_testkit::account(&self.memoir, name).await
    }

    pub async fn administrator(&self) -> String {
        memoir_testkit::administrator_token(&self.memoir, "default").await
    }

    pub async fn tenant(&self, account: &str, name: &str) -> Tenant {
        memoir_testkit::tenant(&self.memoir, account, name).await
    }

    /// An agent with six core memories of 100 tokens and more each.
    pub async fn refiner(&self, account: &str, name: &str) -> Tenant {
        let tenant = self.tenant(account, name).await;
        let inputs: Vec<memoir_app::MemoryInput> = (1..=6)
            .map(|number| memoir_app::MemoryInput {
                content: format!("{CANARY} {number} {}", "sings ".repeat(66)).into(),
                ..memoir_app::MemoryInput::default()
            })
            .collect();
        tenant.agent.save(&inputs, &owner()).await.unwrap();
        tenant
    }

    /// Runs a session of the agent to its end, in a process without a service.
    pub async fn run_session(&self, tenant: &Tenant) -> String {
        let memoir = self.elsewhere();
        let principal = memoir.authenticate(&tenant.token).await.unwrap().unwrap();
        let account = memoir.account_of(&principal);
        let agent = account.agent(tenant.agent.name()).await.unwrap();
        let own = agent.seen_by(memoir_app::Viewer::Agent).as_agent().unwrap();
        let (session, _) = own
            .open_own(memoir_domain::session::Mode::Full)
            .await
            .unwrap();
        agent.cancel(session.id, &owner()).await.unwrap();
        session.id.to_string()
    }

    /// The attempts of the deliveries that are to be made.
    pub fn attempts(&self) -> Vec<u32> {
        self.numbers("SELECT attempt FROM deliveries")
    }

    /// How many receivers are registered.
    pub fn receivers(&self) -> usize {
        self.numbers("SELECT 1 FROM receivers").len()
    }

    /// How many of them asked for no more.
    pub fn closed_receivers(&self) -> usize {
        self.numbers("SELECT 1 FROM receivers WHERE closed_at IS NOT NULL")
            .len()
    }

    /// Changes the database past the store.
    pub fn execute(&self, sql: &str) {
        let database = rusqlite::Connection::open(self.dir.path().join("m.db")).unwrap();
        database.execute(sql, []).unwrap();
    }

    fn numbers(&self, sql: &str) -> Vec<u32> {
        let database = rusqlite::Connection::open(self.dir.path().join("m.db")).unwrap();
        let mut statement = database.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    }
}

fn memoir_in(dir: &Path, model: &SetModel, clock: &Arc<TestClock>) -> Memoir {
    let path = dir.join("m.db");
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&path).unwrap());
    let source = MasterSource::File(path.with_extension("master-key"));
    let keys = memoir_vault::unlock(&source, &path.with_extension("keys"), false).unwrap();
    let models = Arc::new(model.clone());
    // Time is moved by days here: no session is to come of that.
    let settings = InstallationSettings {
        schedule: false,
        ..InstallationSettings::default()
    };
    Memoir::new(store, Arc::new(keys), models, settings).with_clock(clock.clone())
}

impl Running {
    pub async fn get(&self, installation: &Installation, path: &str, token: &str) -> Response {
        let request = installation.client.get(format!("{}{path}", self.address));
        request.bearer_auth(token).send().await.unwrap()
    }

    pub async fn json(&self, installation: &Installation, path: &str, token: &str) -> Value {
        self.get(installation, path, token)
            .await
            .json()
            .await
            .unwrap()
    }

    pub async fn post(
        &self,
        installation: &Installation,
        path: &str,
        token: &str,
        body: Value,
    ) -> Value {
        let request = installation.client.post(format!("{}{path}", self.address));
        let answer = request.bearer_auth(token).json(&body).send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        answer.json().await.unwrap()
    }

    /// Opens a session of the agent's own.
    pub async fn open(&self, installation: &Installation, agent: &str, token: &str) -> String {
        let path = format!("/v1/agents/{agent}/sessions");
        let opened = self.post(installation, &path, token, json!({"driver": "agent"}));
        opened.await["id"].as_str().unwrap().to_owned()
    }

    pub async fn tool(
        &self,
        installation: &Installation,
        at: (&str, &str),
        tool: &str,
        with: Value,
    ) -> Value {
        let (session, token) = at;
        let path = format!("/v1/sessions/{session}/tools/{tool}");
        self.post(installation, &path, token, with).await
    }

    /// Stops it; every test that ends with this shows that nothing holds the stop up.
    pub async fn stop(self) {
        let _ = self.stop.send(());
        let stopped = tokio::time::timeout(Duration::from_secs(60), self.served);
        stopped.await.unwrap().unwrap();
    }
}
