//! Putting an installation together: configuration, models, database, account.

use std::sync::Arc;

use memoir_app::{Account, AgentHandle, Memoir, Scratch};
use memoir_domain::{SessionId, audit::Actor};
use memoir_model::Providers;
use memoir_store::Store;
use memoir_store_sqlite::SqliteStore;
use memoir_vault::KeyStore;

use crate::{cli::Global, config::Config, database, failure::Failure, keys, terminal};

/// An installation, opened, and the account that the command is about.
pub(crate) struct Installation {
    pub(crate) memoir: Memoir,
    pub(crate) account: Account,
}

impl Installation {
    /// Opens what the arguments name.
    ///
    /// # Errors
    /// The configuration is wrong, the database cannot be opened, or there is no such account.
    pub(crate) async fn open(global: &Global) -> Result<Self, Failure> {
        let memoir = memoir(global)?;
        let account = memoir.account(&global.account).await?;
        Ok(Self { memoir, account })
    }

    /// As [`Installation::open`]; closes sessions whose worker died, for commands that show or run them.
    ///
    /// # Errors
    /// As [`Installation::open`].
    pub(crate) async fn open_for_sessions(global: &Global) -> Result<Self, Failure> {
        let installation = Self::open(global).await?;
        installation.memoir.finish_erasing().await?;
        let closed = installation.memoir.close_lapsed_sessions().await?;
        if closed > 0 {
            terminal::note(&format!(
                "closed {} left behind by a process that died; the edits stay",
                crate::show::counted(closed as u64, "session", "sessions")
            ));
        }
        Ok(installation)
    }

    /// The agent of that name.
    pub(crate) async fn agent(&self, name: &str) -> Result<AgentHandle, Failure> {
        Ok(self.account.agent(name).await?)
    }

    /// The session of that identifier, and its agent.
    pub(crate) async fn session(&self, id: &str) -> Result<(AgentHandle, SessionId), Failure> {
        Ok(self.account.session_agent(id).await?)
    }
}

/// The installation that the arguments name.
///
/// # Errors
/// The configuration is wrong, or the database cannot be opened.
pub(crate) fn memoir(global: &Global) -> Result<Memoir, Failure> {
    let config = Config::read(global.config.as_deref())?;
    database::prepare(global.database.as_deref())?;
    // The keys first: with the wrong ones nothing is written.
    let keys = keys::open(global, &config)?;
    on(database::open(global.database.as_deref())?, keys, config)
}

/// An installation on that store, with those keys.
///
/// # Errors
/// A provider's settings are wrong.
pub(crate) fn on(store: SqliteStore, keys: KeyStore, config: Config) -> Result<Memoir, Failure> {
    let origin = config.origin();
    let providers = Providers::new(config.providers)
        .map_err(|error| Failure::new(format!("{origin}: {error}")))?;
    let scratch: Scratch = Arc::new(|| Ok(Arc::new(SqliteStore::in_memory()?) as Arc<dyn Store>));
    Ok(Memoir::new(
        Arc::new(store),
        Arc::new(keys),
        scratch,
        Arc::new(providers),
        config.settings,
    ))
}

/// Whoever types commands.
pub(crate) fn administrator() -> Actor {
    Actor::administrator("command line")
}
