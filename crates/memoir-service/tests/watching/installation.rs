//! An installation on files that services can be started on and stopped.

use memoir_app::{InstallationSettings, MemoryInput, Viewer};
use memoir_domain::{agent::Field, session::Mode};
use memoir_service::ServiceOptions;
use memoir_testkit::{InstallationFolder, Served, TestClock, TestInstallation, input};
pub use memoir_testkit::{Tenant, administrator as owner};

use crate::service::service;

/// In everything that is an agent's words.
pub const CANARY: &str = "canary-9b1e";

/// An installation, and a process of it without a service.
#[derive(derive_more::Deref)]
pub struct Installation {
    folder: InstallationFolder,
    #[deref]
    opened: TestInstallation,
}

impl Installation {
    pub fn new() -> Self {
        // Time is moved by days here: no session is to come of that.
        let settings = InstallationSettings {
            schedule: false,
            ..InstallationSettings::default()
        };
        let folder = InstallationFolder::new()
            .with_clock(TestClock::ticking())
            .with_settings(settings);
        Self {
            opened: folder.open(),
            folder,
        }
    }

    /// Serves it in another process.
    pub async fn serve(&self, options: ServiceOptions) -> Served {
        self.folder.open_elsewhere().serve(service(options)).await
    }

    pub async fn administrator(&self) -> String {
        self.administrator_token("default").await
    }

    /// An agent with six core memories of 100 tokens and more each.
    pub async fn refiner(&self, account: &str, name: &str) -> Tenant {
        let account = self.account(account).await;
        let settings = [(Field::Model, Some("scripted:model"))];
        let tenant = memoir_testkit::tenant(&account, name, &settings).await;
        let inputs: Vec<MemoryInput> = (1..=6)
            .map(|number| input(&format!("{CANARY} {number} {}", "sings ".repeat(66))))
            .collect();
        let saved = tenant.agent.memories().save(&inputs, &owner()).await;
        saved.unwrap();
        tenant
    }

    /// Runs a session of the agent to its end, in a process without a service.
    pub async fn run_session(&self, tenant: &Tenant) -> String {
        let memoir = self.folder.open_elsewhere().memoir;
        let principal = memoir.authenticate(&tenant.token).await.unwrap().unwrap();
        let account = memoir.account_of(&principal);
        let agent = account.agent(tenant.agent.name()).await.unwrap();
        let own = agent.views().seen_by(Viewer::Agent).as_agent().unwrap();
        let (session, _) = own.open_own(Mode::Full).await.unwrap();
        agent.sessions().cancel(session.id, &owner()).await.unwrap();
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
        let database = rusqlite::Connection::open(self.folder.database()).unwrap();
        database.execute(sql, []).unwrap();
    }

    fn numbers(&self, sql: &str) -> Vec<u32> {
        let database = rusqlite::Connection::open(self.folder.database()).unwrap();
        let mut statement = database.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    }
}
