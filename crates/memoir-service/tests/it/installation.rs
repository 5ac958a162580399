//! A running service with two accounts and agents that have tokens and a past.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use memoir_app::{Account, AgentHandle, InstallationSettings, Models};
use memoir_domain::agent::Field;
use memoir_model::Providers;
use memoir_service::ServiceOptions;
pub use memoir_testkit::{HttpAnswer, administrator as owner, administrator_token};
use memoir_testkit::{Served, TestClock, TestInstallation, empty_store};
use serde_json::{Value, json};

use crate::service::service;

#[derive(derive_more::Deref)]
pub struct Installation {
    #[deref(forward)]
    served: Arc<Served>,
    pub account: Account,
    pub other: Account,
}

impl Installation {
    pub async fn open() -> Self {
        let models = Arc::new(Providers::new(BTreeMap::new()).unwrap());
        Self::with(models, InstallationSettings::default()).await
    }

    pub async fn with(models: Arc<dyn Models>, settings: InstallationSettings) -> Self {
        let installation = TestInstallation::on(empty_store().await)
            .with_clock(TestClock::ticking())
            .with_models(models)
            .with_settings(settings);
        let served = installation.serve(service(ServiceOptions::default())).await;
        Self {
            account: installation.account("default").await,
            other: installation.account("other").await,
            served: Arc::new(served),
        }
    }

    /// The holder of that token.
    pub fn caller(&self, token: &str) -> Caller {
        Caller {
            served: self.served.clone(),
            token: token.to_owned(),
        }
    }

    /// The holder of the token that was just made.
    pub fn made(&self, token: &Value) -> Caller {
        self.caller(token["token"].as_str().unwrap())
    }

    pub async fn administrator(&self) -> Caller {
        self.caller(&administrator_token(&self.account).await)
    }

    /// An agent of the account, and the holder of its token.
    pub async fn agent(&self, name: &str) -> (AgentHandle, Caller) {
        let (agent, token) = agent_of(&self.account, name).await;
        (agent, self.caller(&token))
    }

    /// As [`Installation::agent`], with these core memories.
    pub async fn agent_with(&self, name: &str, memories: &[&str]) -> (AgentHandle, Caller) {
        let (agent, own) = self.agent(name).await;
        for memory in memories {
            own.save(name, memory).await;
        }
        (agent, own)
    }

    /// As [`Installation::agent_with`]: these words twice, which differ in form alone, and three other memories.
    pub async fn agent_with_duplicate(&self, name: &str, words: &str) -> Caller {
        let other =
            "Nothing of this is said twice: the mill, the ferry, and the road to the coast.";
        let texts: [&str; 5] = [
            &format!("{words}."),
            &format!("{words}!"),
            other,
            &format!("{other} {other}"),
            &format!("So {other}"),
        ];
        self.agent_with(name, &texts).await.1
    }
}

/// The holder of a token.
#[derive(Clone)]
pub struct Caller {
    served: Arc<Served>,
    pub token: String,
}

impl Caller {
    pub async fn get(&self, path: &str) -> HttpAnswer {
        self.served.get(path, &self.token).await
    }

    pub async fn post(&self, path: &str, body: Value) -> HttpAnswer {
        self.served.post(path, &self.token, body).await
    }

    /// A POST request without a body.
    pub async fn act(&self, path: &str) -> HttpAnswer {
        self.post(path, Value::Null).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> HttpAnswer {
        self.send("PUT", path, body).await
    }

    pub async fn patch(&self, path: &str, body: &Value) -> HttpAnswer {
        self.send("PATCH", path, body).await
    }

    pub async fn delete(&self, path: &str) -> HttpAnswer {
        self.send("DELETE", path, &Value::Null).await
    }

    pub async fn send(&self, method: &str, path: &str, body: &Value) -> HttpAnswer {
        self.send_with(method, path, body, &[]).await
    }

    pub async fn send_with(
        &self,
        method: &str,
        path: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> HttpAnswer {
        let sent = self
            .served
            .send_with(method, path, &self.token, body, headers);
        sent.await
    }

    pub async fn shown(&self, path: &str) -> Value {
        self.served.shown(path, &self.token).await
    }

    /// The items of a list, page by page; the path has a query.
    pub async fn all(&self, path: &str) -> Vec<Value> {
        let (mut found, mut cursor) = (Vec::new(), String::new());
        loop {
            let mut page = self.shown(&format!("{path}{cursor}")).await;
            found.append(page["items"].as_array_mut().unwrap());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return found,
            }
        }
    }

    pub async fn created(&self, path: &str, body: Value) -> Value {
        self.served.created(path, &self.token, body).await
    }

    pub async fn acted(&self, path: &str) -> Value {
        self.served.acted(path, &self.token).await
    }

    pub async fn save(&self, agent: &str, content: &str) -> u64 {
        let body = json!({"content": content, "kind": "core"});
        let path = format!("/v1/agents/{agent}/memories");
        self.created(&path, body).await["number"].as_u64().unwrap()
    }

    pub async fn open_session(&self, agent: &str) -> String {
        self.served.open_session(agent, &self.token).await
    }

    pub async fn tool(&self, session: &str, tool: &str, arguments: Value) -> Value {
        let result = self.served.tool(session, &self.token, tool, arguments);
        result.await
    }

    /// Completes a session that the agent drives itself.
    pub async fn complete(&self, session: &str, summary: &str) -> Value {
        let summary = json!({"summary": summary});
        self.tool(session, "complete_refinement", summary).await
    }

    /// Waits until the session has ended.
    pub async fn ended(&self, session: &str) -> Value {
        for _ in 0..3_000 {
            let shown = self.shown(&format!("/v1/sessions/{session}")).await;
            if !shown["ended_at"].is_null() {
                return shown;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("session {session} does not end");
    }
}

/// The items of a page.
pub fn items(page: &Value) -> &[Value] {
    page["items"].as_array().unwrap()
}

/// The numbers of the memories on a page.
pub fn numbers(page: &Value) -> Vec<u64> {
    let numbers = items(page).iter().map(|item| item["number"].as_u64());
    numbers.map(Option::unwrap).collect()
}

/// The fault that a refusal names: that of an invalid argument.
#[track_caller]
pub fn fault(answer: &HttpAnswer) -> String {
    let problem = answer.refused(400, "invalid_argument");
    problem["detail"].as_str().unwrap().to_owned()
}

/// The rows of a table of cases: JSON, ` | `, and a text.
pub fn rows(table: &str) -> impl Iterator<Item = (Value, &str)> {
    table.trim().lines().map(|row| {
        let (json, text) = row.split_once(" | ").unwrap();
        (serde_json::from_str(json).unwrap(), text.trim())
    })
}

pub async fn agent_of(account: &Account, name: &str) -> (AgentHandle, String) {
    let settings = [(Field::Model, Some("builtin:careful"))];
    let tenant = memoir_testkit::tenant(account, name, &settings).await;
    (tenant.agent, tenant.token)
}
