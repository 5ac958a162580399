//! A running service with two accounts and agents that have tokens and a past.

use std::{collections::BTreeMap, ops::Deref, sync::Arc, time::Duration};

use memoir_app::{Account, AgentHandle, InstallationSettings, Models};
use memoir_domain::agent::Field;
use memoir_model::Providers;
use memoir_service::ServiceOptions;
pub use memoir_testkit::{HttpAnswer, administrator as owner, administrator_token};
use memoir_testkit::{Served, TestClock, TestInstallation, empty_store};
use serde_json::{Value, json};

use crate::service::service;

pub struct Installation {
    served: Served,
    pub account: Account,
    pub other: Account,
}

impl Deref for Installation {
    type Target = Served;

    fn deref(&self) -> &Served {
        &self.served
    }
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
        Self {
            account: installation.account("default").await,
            other: installation.account("other").await,
            served: installation.serve(service(ServiceOptions::default())).await,
        }
    }

    pub async fn administrator(&self) -> String {
        administrator_token(&self.account).await
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

    /// Waits until the session has ended.
    pub async fn ended(&self, session: &str, token: &str) -> Value {
        for _ in 0..500 {
            let shown = self.shown(&format!("/v1/sessions/{session}"), token).await;
            if !shown["ended_at"].is_null() {
                return shown;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("session {session} does not end");
    }
}

pub async fn agent_of(account: &Account, name: &str) -> (AgentHandle, String) {
    let settings = [(Field::Model, Some("builtin:careful"))];
    let tenant = memoir_testkit::tenant(account, name, &settings).await;
    (tenant.agent, tenant.token)
}
