//! The agents' keys, for code that must not wait on a file.

use std::sync::Arc;

use memoir_domain::{AgentScope, Timestamp};
use memoir_vault::{AgentKey, KeyStore};

use crate::core::{Result, parallel::run_beside};

#[derive(Debug, Clone)]
pub(crate) struct InstallationKeys(pub(crate) Arc<KeyStore>);

impl InstallationKeys {
    /// The agent's key; `None` where it has none.
    pub(crate) async fn of(&self, scope: AgentScope) -> Result<Option<AgentKey>> {
        match self.0.cached(scope)? {
            // From memory, after checking for changes of the key store by any process: no thread waits.
            Some(key) => Ok(Some(key)),
            None => self.ask(move |keys| keys.key(scope)).await,
        }
    }

    /// The key of a new agent. It is on the disk when this returns.
    pub(crate) async fn create(&self, scope: AgentScope, now: Timestamp) -> Result<AgentKey> {
        self.ask(move |keys| keys.create(scope, now)).await
    }

    /// Makes sure that the key store is in its place, before data sealed under a key of it is acknowledged. Takes a
    /// microsecond.
    pub(crate) fn check_there(&self) -> Result<()> {
        Ok(self.0.check_there()?)
    }

    /// Those of the agents whose keys exist.
    pub(crate) async fn present(&self, scopes: Vec<AgentScope>) -> Result<Vec<AgentScope>> {
        if scopes.is_empty() {
            return Ok(scopes);
        }
        self.ask(move |keys| keys.present(&scopes)).await
    }

    pub(crate) async fn destroyed_at(&self, scope: AgentScope) -> Result<Option<Timestamp>> {
        self.ask(move |keys| keys.destroyed_at(scope)).await
    }

    /// Runs on a thread that may block: another process may lock the file.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&KeyStore) -> memoir_vault::Result<T> + Send + 'static,
    ) -> Result<T> {
        let keys = self.0.clone();
        Ok(run_beside(move || work(&keys)).await??)
    }
}
