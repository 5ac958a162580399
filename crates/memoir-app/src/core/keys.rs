//! The agents' keys, for code that must not wait on a file.

use std::sync::Arc;

use memoir_domain::{AgentScope, Timestamp};
use memoir_vault::{AgentKey, Closing, KeyStore};

use crate::core::{Error, Result};

#[derive(Debug, Clone)]
pub(crate) struct InstallationKeys(pub(crate) Arc<KeyStore>);

impl InstallationKeys {
    /// The agent's key; `None` where it has none.
    pub(crate) async fn of(&self, scope: AgentScope) -> Result<Option<AgentKey>> {
        match self.0.cached(scope)? {
            // From memory, after checking for changes of the key store by any process: no thread waits.
            Some(key) => Ok(Some(key)),
            None => self.wait(move |keys| keys.key(scope)).await,
        }
    }

    /// The key of a new agent. It is on the disk when this returns.
    pub(crate) async fn create(&self, scope: AgentScope, now: Timestamp) -> Result<AgentKey> {
        self.wait(move |keys| keys.create(scope, now)).await
    }

    /// Destroys the agent's key; returns whether it existed.
    pub(crate) async fn destroy(&self, scope: AgentScope, now: Timestamp) -> Result<bool> {
        self.wait(move |keys| keys.destroy(scope, now)).await
    }

    /// Makes sure that the key store is in its place, before data sealed under a key of it is acknowledged. Takes a
    /// microsecond.
    pub(crate) fn check_there(&self) -> Result<()> {
        Ok(self.0.check_there()?)
    }

    /// Makes sure that the key store responds.
    pub(crate) async fn check_answers(&self) -> Result<()> {
        self.wait(KeyStore::check_answers).await
    }

    /// Those of the agents whose keys exist.
    pub(crate) async fn present(&self, scopes: Vec<AgentScope>) -> Result<Vec<AgentScope>> {
        if scopes.is_empty() {
            return Ok(scopes);
        }
        self.wait(move |keys| keys.present(&scopes)).await
    }

    /// All agents whose keys exist, and the accounts' own logs among them.
    pub(crate) async fn all(&self) -> Result<Vec<AgentScope>> {
        self.wait(KeyStore::agents).await
    }

    /// Finishes a rotation of the master key that was interrupted.
    pub(crate) async fn finish_rotation(&self) -> Result<()> {
        self.wait(KeyStore::finish_rotation).await
    }

    /// Whether a rotation of the master key was interrupted and is unfinished.
    pub(crate) async fn is_rotation_unfinished(&self) -> Result<bool> {
        self.wait(KeyStore::is_rotation_unfinished).await
    }

    /// Whether the installation is closed; `None` while neither was set.
    pub(crate) async fn closing(&self) -> Result<Option<Closing>> {
        self.wait(KeyStore::closing).await
    }

    /// Closes the installation, or opens it. It is on the disk when this returns.
    pub(crate) async fn set_closing(&self, closing: Closing) -> Result<()> {
        self.wait(move |keys| keys.set_closing(closing)).await
    }

    /// When the agent's key was destroyed.
    pub(crate) async fn destroyed_at(&self, scope: AgentScope) -> Result<Option<Timestamp>> {
        self.wait(move |keys| keys.destroyed_at(scope)).await
    }

    /// The key that signs the log over all heads, and the name of that log.
    pub(crate) async fn log(&self, now: Timestamp) -> Result<memoir_vault::log::LogKey> {
        self.wait(move |keys| keys.log(now)).await
    }

    /// Runs on a thread that may block: another process may lock the file.
    async fn wait<T: Send + 'static>(
        &self,
        work: impl FnOnce(&KeyStore) -> memoir_vault::Result<T> + Send + 'static,
    ) -> Result<T> {
        let keys = self.0.clone();
        match tokio::task::spawn_blocking(move || work(&keys)).await {
            Ok(done) => Ok(done?),
            // A panic in there is a fault of this program, and must not look like a failure of the key store.
            Err(panic) if panic.is_panic() => std::panic::resume_unwind(panic.into_panic()),
            Err(_) => Err(Error::Inconsistent(
                "the key store was asked while the process was ending".to_owned(),
            )),
        }
    }
}
