//! The owner of an open installation, in a browser (SPEC 6.6).
//!
//! A process that shows the personal page makes one link. The link's secret is exchanged for a cookie. Both are in the
//! memory of that process alone and end with it. [`OwnerLink::enter`] is the only check of that cookie, and repeats the
//! check that the installation is open (SPEC 5.5) for each request.

use std::sync::Arc;

use memoir_domain::{Timestamp, TokenId, audit::Actor};
use memoir_vault::token::{self, TokenSecret};

use crate::{
    core::{Account, Memoir, Result},
    shown::{OwnAgent, Viewer},
};

/// The most indexes that are opened before they are used.
const INDEXES: usize = 4;

/// The link to the personal page, and the cookie of the browsers that opened it. `Debug` prints its type's name only.
#[derive(derive_more::Debug)]
#[debug("OwnerLink")]
pub struct OwnerLink {
    id: TokenId,
    link: TokenSecret,
    cookie: TokenSecret,
    /// The name of the account whose agents are shown.
    account: String,
}

/// The owner of an open installation, with a browser that opened the link.
pub struct OwnerSession {
    /// The account whose agents are shown.
    pub account: Account,
    /// The identifier of the link, by which requests are counted.
    pub token: TokenId,
    /// The token in the forms of the personal page.
    pub form_token: String,
}

/// The result of a request to the personal page.
pub enum OwnerEntry {
    /// The browser opened the link.
    In(Arc<OwnerSession>),
    /// The browser did not open the link.
    WithoutLink,
    /// The installation is closed: only an agent itself reads its text.
    Closed,
}

impl OwnerLink {
    /// A new link to the agents of the account of that name.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn generate(memoir: &Memoir, account: &str) -> Result<Self> {
        Ok(Self {
            id: memoir.ids().draw(TokenId::from_bytes)?,
            link: TokenSecret::generate_for_link()?,
            cookie: TokenSecret::generate_for_browser()?,
            account: account.to_owned(),
        })
    }

    /// The secret of the link, for its address.
    pub fn secret(&self) -> &str {
        self.link.expose()
    }

    /// Whether that is the secret of the link, in a time that does not depend on how much of it is right.
    pub fn opens(&self, presented: &str) -> bool {
        self.link.is(presented)
    }

    /// The name of the cookie. Browsers send the cookies of one machine to all of its ports, so each link has its own.
    pub fn cookie_name(&self) -> String {
        format!("memoir-owner-{}", self.id)
    }

    /// The value of the cookie.
    pub fn cookie(&self) -> &str {
        self.cookie.expose()
    }

    /// Opens the indexes of the account's agents with the most original memories, since the first list or search of each
    /// would wait for its own. Writes nothing. An agent whose index cannot be opened is passed over: its first list
    /// reports why.
    ///
    /// # Errors
    /// There is no such account; the store fails.
    pub async fn open_indexes(&self, memoir: &Memoir) -> Result<()> {
        let account = memoir.account(&self.account).await?;
        let mut agents = account.agents().await?;
        agents.sort_by_key(|agent| std::cmp::Reverse(agent.counts.originals.total));
        for agent in agents.iter().take(INDEXES) {
            if let Ok(agent) = account.agent(&agent.id.to_string()).await
                && let Err(error) = agent.memories().open_index().await
            {
                tracing::debug!(agent = %agent.scope().agent, %error, "an index was not opened");
            }
        }
        Ok(())
    }

    /// Admits the browser that presents this value of the cookie; `None` for a browser without the cookie.
    ///
    /// # Errors
    /// There is no such account; the store or the key store fails.
    pub async fn enter(&self, memoir: &Memoir, presented: Option<&str>) -> Result<OwnerEntry> {
        // The cookie first: without the link not even the state of the installation is shown.
        if !presented.is_some_and(|presented| self.cookie.is(presented)) {
            return Ok(OwnerEntry::WithoutLink);
        }
        if memoir.is_closed().await? {
            return Ok(OwnerEntry::Closed);
        }
        Ok(OwnerEntry::In(Arc::new(OwnerSession {
            account: memoir.account(&self.account).await?,
            token: self.id,
            form_token: token::form_token(self.cookie.expose()),
        })))
    }
}

impl OwnerSession {
    /// The owner as an actor.
    pub fn actor(&self) -> Actor {
        Actor::owner_in_browser()
    }

    /// Now.
    pub fn now(&self) -> Timestamp {
        self.account.memoir.now()
    }

    /// The agent of that identifier or name, with its text.
    ///
    /// # Errors
    /// [`crate::Error::NoAgent`]; the store fails.
    pub async fn agent(&self, name: &str) -> Result<OwnAgent> {
        let agent = self.account.agent(name).await?;
        agent.views().seen_by(Viewer::Agent).as_agent()
    }
}
