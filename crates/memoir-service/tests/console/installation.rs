//! A service in memory, agents with a past, and a browser.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use memoir_app::{
    Account, AgentHandle, Handling, InstallationSettings, MemoryInput, OwnAgent, RecordFacts,
    RecordFilter, Viewer,
};
use memoir_domain::{AccessRequestId, agent::Field, audit::Actor, memory::Number};
use memoir_model::{ProviderSettings, Providers};
use memoir_service::ServiceOptions;
use memoir_store::{Commit, Store};
pub use memoir_testkit::administrator as owner;
use memoir_testkit::{
    HttpAnswer, Served, StoreWatch, TestClock, TestInstallation, WatchedStore, empty_store, input,
    tagged,
};
use memoir_vault::password::Password;
use reqwest::{Client, Method, RequestBuilder, redirect};

use crate::{
    document::{Document, ReadDocument},
    service::service,
};

/// In all of an agent's text.
pub const CANARY: &str = "kanarienvogel";
/// Of every administrator.
pub const PASSWORD: &str = "correct horse battery";

/// Whether the disk is full: then nothing is written.
#[derive(Default)]
pub struct FullDisk(pub AtomicBool);

#[async_trait::async_trait]
impl StoreWatch for FullDisk {
    async fn begin(&self, _commit: &mut Commit) -> memoir_store::Result<()> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(memoir_store::Error::Full),
            false => Ok(()),
        }
    }
}

#[derive(derive_more::Deref)]
pub struct Installation {
    #[deref]
    served: Served,
    pub account: Account,
}

impl Installation {
    pub async fn open() -> Self {
        Self::with(ServiceOptions::default()).await
    }

    pub async fn with(options: ServiceOptions) -> Self {
        let settings = InstallationSettings::default();
        Self::with_settings(options, settings, BTreeMap::new()).await
    }

    /// With further providers of models.
    pub async fn with_settings(
        options: ServiceOptions,
        settings: InstallationSettings,
        providers: BTreeMap<String, ProviderSettings>,
    ) -> Self {
        Self::with_store(empty_store().await, options, settings, providers).await
    }

    /// On a store whose disk is full once that is set.
    pub async fn on_disk(disk: &Arc<FullDisk>) -> Self {
        let watch: Arc<dyn StoreWatch> = disk.clone();
        let store = Arc::new(WatchedStore::new(empty_store().await, watch));
        let settings = InstallationSettings::default();
        Self::with_store(store, ServiceOptions::default(), settings, BTreeMap::new()).await
    }

    async fn with_store(
        store: Arc<dyn Store>,
        options: ServiceOptions,
        mut settings: InstallationSettings,
        mut providers: BTreeMap<String, ProviderSettings>,
    ) -> Self {
        // The address has no listener, and no agent has consented.
        let elsewhere = ProviderSettings {
            base_url: Some("http://0.0.0.0:9/v1".to_owned()),
            ..ProviderSettings::default()
        };
        providers.insert("lab".to_owned(), elsewhere);
        settings.recall.embeddings = Some("lab:small".parse().unwrap());
        let providers = Providers::with_environment(providers, |_| None).unwrap();
        let installation = TestInstallation::on(store)
            .with_clock(TestClock::ticking())
            .with_models(Arc::new(providers))
            .with_settings(settings);
        Self {
            account: installation.account("default").await,
            served: installation.serve(service(options)).await,
        }
    }

    /// Another account, which is made on first use.
    pub async fn other(&self) -> Account {
        memoir_testkit::account(&self.memoir, "other").await
    }

    /// The address of another service on the same store, beside this one.
    pub async fn serve_beside(&self, options: ServiceOptions) -> String {
        self.serve(service(options)).await.address
    }

    /// Another service on the same store, as after a restart.
    pub async fn serve_again(&mut self) {
        // Uses are written every few seconds, and when a service stops.
        self.memoir.write_uses().await.unwrap();
        self.served = self.serve(service(ServiceOptions::default())).await;
    }

    pub async fn administrator(&self, name: &str) {
        let password = Password::from_text(PASSWORD).unwrap();
        let (account, owner) = (&self.account, Actor::owner());
        account.create_user(name, password, &owner).await.unwrap();
    }

    /// A browser without a sign-in.
    pub fn browser(&self) -> Browser {
        let client = Client::builder().redirect(redirect::Policy::none());
        Browser {
            client: client.build().unwrap(),
            address: self.address.clone(),
            cookie: String::new(),
        }
    }

    /// A browser with which Ada has signed in.
    pub async fn ada(&self) -> Browser {
        if !self.memoir.has_users().await.unwrap() {
            self.administrator("Ada").await;
        }
        let mut browser = self.browser();
        let answer = browser.sign_in("Ada", PASSWORD).await;
        assert_eq!(answer.status, 303, "{}", answer.text);
        browser
    }

    /// A browser with which another administrator has signed in.
    pub async fn another(&self, name: &str) -> Browser {
        self.administrator(name).await;
        let mut browser = self.browser();
        browser.sign_in(name, PASSWORD).await;
        browser
    }

    /// The agent Wren of the account that it serves.
    pub async fn wren(&self, memories: &[&str]) -> OwnAgent {
        self.agent(&self.account, "Wren", memories).await
    }

    /// An agent with these core memories, each with the canary in every place that takes words.
    pub async fn agent(&self, account: &Account, name: &str, memories: &[&str]) -> OwnAgent {
        let prompt = format!("I am {name}, {CANARY}.");
        let settings = [
            (Field::Model, Some("builtin:careful")),
            (Field::SystemPrompt, Some(prompt.as_str())),
        ];
        let agent = memoir_testkit::agent(account, name, &settings).await;
        let agent = agent.views().seen_by(Viewer::Agent).as_agent().unwrap();
        let inputs: Vec<MemoryInput> = memories
            .iter()
            .map(|text| MemoryInput {
                source: Some(CANARY.into()),
                ..tagged(&format!("{text}, says the {CANARY}"), &[CANARY])
            })
            .collect();
        save(&agent, &inputs).await;
        agent
    }

    /// So many agents without memories: `agent 00` and the next ones.
    pub async fn make_agents(&self, count: u32) {
        for number in 0..count {
            memoir_testkit::agent(&self.account, &format!("agent {number:02}"), &[]).await;
        }
    }

    /// Wren over its budget of 1,000 tokens, with nine memories of about 300 tokens of which two are the same.
    pub async fn agent_over_budget(&self) -> OwnAgent {
        let texts = [
            "One",
            "One",
            "Two and three",
            "We promised each other to come back in spring",
            "Ivo taught me how to read the tide tables",
            "The harbour lies to the west of the old town",
            "The ferry leaves at noon",
            "The lighthouse keeper is Mara and she likes tea",
            "The bread is baked before dawn",
        ];
        let long = " and the lamps were lit by the water".repeat(33);
        let texts = texts.map(|text| format!("{text}{long}"));
        let texts = texts.each_ref().map(String::as_str);
        let agent = self.wren(&texts).await;
        let settings = [
            (Field::CoreTokenBudget, Some("1000")),
            (Field::RefinementThreshold, Some("0.4")),
            // On a busy machine the service would begin a session of its own in the middle of the test.
            (Field::RefinementSchedule, Some("off")),
        ];
        let configured = agent.settings().configure(&settings, &owner()).await;
        configured.unwrap();
        agent
    }
}

/// Saves memories of the agent itself.
pub async fn save(agent: &AgentHandle, memories: &[MemoryInput]) {
    let author = Actor::agent(agent.name());
    agent.memories().save(memories, &author).await.unwrap();
}

/// As [`save`], of one text.
pub async fn remember(agent: &AgentHandle, text: &str) {
    save(agent, &[input(text)]).await;
}

/// Acts on a memory as an administrator.
pub async fn handle(agent: &AgentHandle, number: Number, handling: Handling) {
    let handled = agent.memories().handle(number, handling, &owner()).await;
    handled.unwrap();
}

/// The agent's consent.
pub async fn grant(agent: &AgentHandle, request: AccessRequestId) {
    let own = Actor::agent(agent.name());
    let granted = agent.grants().answer_access(request, true, None, &own);
    granted.await.unwrap();
}

/// So many records from the newest on.
pub async fn newest_records(agent: &AgentHandle, most: u32) -> Vec<RecordFacts> {
    let all = RecordFilter::default();
    let found = agent.views().search_records(&all, None, most).await;
    found.unwrap()
}

/// A browser without scripts that follows nothing by itself.
#[derive(Clone)]
pub struct Browser {
    client: Client,
    pub address: String,
    /// As it is sent.
    pub cookie: String,
}

impl Browser {
    fn asking(&self, method: Method, path: &str, headers: &[(&str, &str)]) -> RequestBuilder {
        let url = format!("{}{path}", self.address);
        let request = self.client.request(method, url);
        let request = request.header("cookie", &self.cookie);
        headers.iter().fold(request, |request, (name, value)| {
            request.header(*name, *value)
        })
    }

    pub async fn get(&self, path: &str) -> HttpAnswer {
        HttpAnswer::of(self.open(path, &[]).await).await
    }

    /// An answer that may come bit by bit.
    pub async fn open(&self, path: &str, headers: &[(&str, &str)]) -> reqwest::Response {
        let request = self.asking(Method::GET, path, headers);
        request.send().await.unwrap()
    }

    /// A request with these headers.
    pub async fn request(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
    ) -> HttpAnswer {
        let request = self.asking(method, path, headers);
        HttpAnswer::of(request.send().await.unwrap()).await
    }

    /// A page that must be there.
    pub async fn page(&self, path: &str) -> Document {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        answer.document()
    }

    /// The proof of a page's forms that they are this browser's.
    pub async fn form_token(&self, path: &str) -> String {
        let page = self.page(path).await;
        page.hidden("form_token").unwrap().to_owned()
    }

    /// Sends a form as a browser does from a page of the console.
    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> HttpAnswer {
        let own = [("sec-fetch-site", "same-origin")];
        self.send(path, fields, &own).await
    }

    pub async fn send(
        &self,
        path: &str,
        fields: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> HttpAnswer {
        let request = self.asking(Method::POST, path, headers);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let fields: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("{name}={}", encoded(value)))
            .collect();
        HttpAnswer::of(request.body(fields.join("&")).send().await.unwrap()).await
    }

    /// Presses a button or sends a form that the page at `page` has, with what it holds.
    pub async fn press(&self, page: &str, path: &str, fields: &[(&str, &str)]) -> HttpAnswer {
        let document = self.page(page).await;
        assert!(
            document.forms().iter().any(|form| form == path),
            "{page} has no form for {path}"
        );
        let token = document.hidden("form_token").unwrap();
        let mut sent = vec![("form_token", token)];
        sent.extend_from_slice(fields);
        self.post(path, &sent).await
    }

    /// As [`Browser::press`], where it is done: where the browser is sent.
    pub async fn pressed(&self, page: &str, path: &str, fields: &[(&str, &str)]) -> String {
        let answer = self.press(page, path, fields).await;
        answer.leads_to().to_owned()
    }

    /// Fills in a form of a page as it stands there, but for these fields, and sends it. A box is ticked by
    /// `yes`, and not sent where it is blank.
    pub async fn fill_in(&self, page: &str, path: &str, fields: &[(&str, &str)]) -> HttpAnswer {
        let document = self.page(page).await;
        self.send_filled_in(&document, path, fields).await
    }

    /// As [`Browser::fill_in`], on a page that was loaded before.
    pub async fn send_filled_in(
        &self,
        document: &Document,
        path: &str,
        fields: &[(&str, &str)],
    ) -> HttpAnswer {
        let mut sent: Vec<(&str, &str)> = document
            .filled_in(path)
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .filter(|(name, _)| !fields.iter().any(|(known, _)| known == name))
            .collect();
        sent.extend(fields.iter().filter(|(_, value)| !value.is_empty()));
        self.post(path, &sent).await
    }

    pub async fn sign_in(&mut self, name: &str, password: &str) -> HttpAnswer {
        let fields = [("name", name), ("password", password)];
        let answer = self.post("/sign-in", &fields).await;
        let set = answer.header("set-cookie");
        self.cookie = set.split(';').next().unwrap().to_owned();
        answer
    }
}

/// A value as browsers write it in the body of a form.
fn encoded(value: &str) -> String {
    let byte = |byte: u8| match byte {
        b' ' => "+".to_owned(),
        byte if byte.is_ascii_alphanumeric() || b"*-._".contains(&byte) => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    value.bytes().map(byte).collect()
}
