//! A running service in memory, with two accounts and agents that have tokens and a past.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use memoir_app::{Account, AgentHandle, InstallationSettings, Memoir, Models, Provision};
use memoir_domain::{agent::Field, audit::Actor};
use memoir_model::Providers;
use memoir_service::ServiceOptions;
use memoir_store::Store;
use memoir_testkit::TestClock;
use memoir_vault::{KeyStore, MasterKey};
use reqwest::{Client, Method, StatusCode, header::HeaderMap};
use serde_json::{Value, json};
use tokio::net::TcpListener;

pub struct Installation {
    pub memoir: Memoir,
    pub clock: Arc<TestClock>,
    pub account: Account,
    pub other: Account,
    client: Client,
    address: String,
}

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpAnswer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl HttpAnswer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    pub fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    /// Its body where it has that status.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.json()
    }

    /// A problem of that status and code.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) -> Value {
        assert_eq!(
            (self.status.as_u16(), self.code().as_str()),
            (status, code),
            "{}",
            self.text
        );
        assert_eq!(self.header("content-type"), "application/problem+json");
        assert_eq!(self.json()["type"], format!("/docs/errors/{code}"));
        self.json()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }
}

pub fn owner() -> Actor {
    Actor::administrator("test")
}

impl Installation {
    pub async fn open() -> Self {
        let models = Arc::new(Providers::new(BTreeMap::new()).unwrap());
        Self::with(models, InstallationSettings::default()).await
    }

    pub async fn with(models: Arc<dyn Models>, settings: InstallationSettings) -> Self {
        // Not used, but the client asks for one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let store: Arc<dyn Store> = crate::store::empty().await;
        let keys = KeyStore::in_memory(&MasterKey::generate().unwrap()).unwrap();
        let clock = Arc::new(TestClock::ticking_from("2026-03-04T12:00:00Z"));
        let memoir = Memoir::new(store, Arc::new(keys), models, settings).with_clock(clock.clone());
        let account = memoir.account("default").await.unwrap();
        memoir
            .create_account("other", &memoir_domain::audit::Actor::owner())
            .await
            .unwrap();
        let other = memoir.account("other").await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let served = memoir.clone();
        tokio::spawn(async move {
            memoir_service::serve(
                served,
                ServiceOptions::default(),
                listener,
                std::future::pending(),
            )
            .await
        });
        Self {
            memoir,
            clock,
            account,
            other,
            client: Client::new(),
            address,
        }
    }

    /// Sends a request with a body of any kind; none for null.
    pub async fn send(&self, method: &str, path: &str, token: &str, body: &Value) -> HttpAnswer {
        self.send_with(method, path, token, body, &[]).await
    }

    pub async fn send_with(
        &self,
        method: &str,
        path: &str,
        token: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> HttpAnswer {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let url = format!("{}{path}", self.address);
        let mut request = self.client.request(method, url);
        if !token.is_empty() {
            request = request.bearer_auth(token);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if !body.is_null() {
            request = request.json(body);
        }
        let response = request.send().await.unwrap();
        HttpAnswer {
            status: response.status(),
            headers: response.headers().clone(),
            text: response.text().await.unwrap(),
        }
    }

    pub async fn get(&self, path: &str, token: &str) -> HttpAnswer {
        self.send("GET", path, token, &Value::Null).await
    }

    pub async fn post(&self, path: &str, token: &str, body: Value) -> HttpAnswer {
        self.send("POST", path, token, &body).await
    }

    pub async fn administrator(&self) -> String {
        administrator_of(&self.account).await
    }

    /// An agent of the account, with a token.
    pub async fn agent(&self, name: &str) -> (AgentHandle, String) {
        agent_of(&self.account, name).await
    }

    /// An agent with these core memories.
    pub async fn agent_with(&self, name: &str, memories: &[&str]) -> (AgentHandle, String) {
        let (agent, token) = self.agent(name).await;
        for memory in memories {
            self.save(name, &token, memory).await;
        }
        (agent, token)
    }

    pub async fn save(&self, agent: &str, token: &str, content: &str) -> u64 {
        let body = json!({"content": content, "kind": "core"});
        let saved = self
            .post(&format!("/v1/agents/{agent}/memories"), token, body)
            .await;
        saved.expect(201)["number"].as_u64().unwrap()
    }

    /// Opens a session of the agent's own.
    pub async fn open_session(&self, agent: &str, token: &str) -> String {
        let path = format!("/v1/agents/{agent}/sessions");
        let opened = self.post(&path, token, json!({"driver": "agent"})).await;
        opened.expect(201)["id"].as_str().unwrap().to_owned()
    }

    pub async fn tool(&self, session: &str, token: &str, tool: &str, arguments: Value) -> Value {
        let path = format!("/v1/sessions/{session}/tools/{tool}");
        self.post(&path, token, arguments).await.expect(200)
    }

    /// Waits until the session has ended.
    pub async fn ended(&self, session: &str, token: &str) -> Value {
        for _ in 0..500 {
            let shown = self
                .get(&format!("/v1/sessions/{session}"), token)
                .await
                .expect(200);
            if !shown["ended_at"].is_null() {
                return shown;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("session {session} does not end");
    }
}

pub async fn administrator_of(account: &Account) -> String {
    let made = account
        .create_token(None, &memoir_domain::audit::Actor::owner())
        .await
        .unwrap();
    made.secret.expose().to_owned()
}

pub async fn agent_of(account: &Account, name: &str) -> (AgentHandle, String) {
    let model = [
        (Field::Model, Some("builtin:careful")),
        (Field::LossGuard, Some("off")),
    ];
    account.create_agent(name, &model, &owner()).await.unwrap();
    let agent = account.agent(name).await.unwrap();
    let made = agent
        .create_token(Provision::Any, None, &owner())
        .await
        .unwrap();
    (agent, made.secret.expose().to_owned())
}
