//! Accounts, administrators and agents with their tokens, as tests need them.

#![expect(
    clippy::unwrap_used,
    reason = "a test that does not get what it needs ends here"
)]

use memoir_app::{Account, AgentHandle, Memoir, Provision};
use memoir_domain::{agent::Field, audit::Actor};

use crate::TestInstallation;

/// An agent with its token.
pub struct Tenant {
    /// The agent, as an administrator reaches it.
    pub agent: AgentHandle,
    /// The secret of its token.
    pub token: String,
}

/// The settings of an agent of a scripted model without a loss guard: what may leave the prompt has tests of its own,
/// and elsewhere edits may write any text.
pub const SCRIPTED_AGENT: [(Field, Option<&str>); 2] = [
    (Field::Model, Some("scripted:model")),
    (Field::LossGuard, Some("off")),
];

/// The same of the built-in model.
pub const CAREFUL_AGENT: [(Field, Option<&str>); 2] = [
    (Field::Model, Some("builtin:careful")),
    (Field::LossGuard, Some("off")),
];

/// The administrator for the set-up of tests.
pub fn administrator() -> Actor {
    Actor::administrator("test")
}

/// The account of that name, made where there is none.
pub async fn account(memoir: &Memoir, name: &str) -> Account {
    if let Err(error) = memoir.account(name).await {
        assert_eq!(error.code(), "not_found");
        memoir.create_account(name, &Actor::owner()).await.unwrap();
    }
    memoir.account(name).await.unwrap()
}

/// The agent of that name, made with these settings where there is none; one that is there keeps its own.
pub async fn agent(
    account: &Account,
    name: &str,
    settings: &[(Field, Option<&str>)],
) -> AgentHandle {
    if let Err(error) = account.agent(name).await {
        assert_eq!(error.code(), "not_found");
        let owner = administrator();
        account.create_agent(name, settings, &owner).await.unwrap();
    }
    account.agent(name).await.unwrap()
}

/// The secret of a new administrator's token of that account.
pub async fn administrator_token(account: &Account) -> String {
    let made = account.create_token(None, &Actor::owner()).await.unwrap();
    made.secret.expose().to_owned()
}

/// As [`agent`], with a token.
pub async fn tenant(account: &Account, name: &str, settings: &[(Field, Option<&str>)]) -> Tenant {
    let agent = agent(account, name, settings).await;
    let owner = administrator();
    // `Provision::Any` makes a token even where the agent has memories already (SPEC 5.5).
    let made = agent
        .grants()
        .create_token(Provision::Any, None, &owner)
        .await;
    let token = made.unwrap().secret.expose().to_owned();
    Tenant { agent, token }
}

impl TestInstallation {
    /// The account of that name, made where there is none.
    pub async fn account(&self, name: &str) -> Account {
        account(&self.memoir, name).await
    }

    /// The secret of a new administrator's token of that account.
    pub async fn administrator_token(&self, account: &str) -> String {
        administrator_token(&self.account(account).await).await
    }

    /// An agent of that account with a token, made as [`SCRIPTED_AGENT`] where there is none.
    pub async fn tenant(&self, account: &str, name: &str) -> Tenant {
        tenant(&self.account(account).await, name, &SCRIPTED_AGENT).await
    }
}

/// A sentence of a customer with that number: the memories of the benchmarks, each another one and of about one length.
pub fn customer(number: usize) -> String {
    format!(
        "Customer {} of Marta Keller asked on {} March for {} sheets of laid paper and did not want the blue \
         ones, because the light in the reading room is really rather cold there.",
        number * 7 + 3,
        number % 28 + 1,
        number * 13 + 40
    )
}
