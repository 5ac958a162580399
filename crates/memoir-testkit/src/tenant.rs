//! Accounts, administrators and agents with their tokens, as the tests of the service need them.

#![expect(
    clippy::unwrap_used,
    reason = "a test that does not get what it needs ends here"
)]

use memoir_app::{Account, AgentHandle, Memoir, Provision};
use memoir_domain::{agent::Field, audit::Actor};

/// An agent with its token.
pub struct Tenant {
    /// The agent, as an administrator reaches it.
    pub agent: AgentHandle,
    /// The secret of its token.
    pub token: String,
}

/// The administrator who sets up what a test needs.
pub fn administrator() -> Actor {
    Actor::administrator("test")
}

/// The account of that name, made where there is none.
///
/// # Panics
/// The store fails.
pub async fn account(memoir: &Memoir, name: &str) -> Account {
    if let Err(error) = memoir.account(name).await {
        assert_eq!(error.code(), "not_found");
        memoir.create_account(name, &Actor::owner()).await.unwrap();
    }
    memoir.account(name).await.unwrap()
}

/// The secret of a new administrator's token of that account.
///
/// # Panics
/// The store fails.
pub async fn administrator_token(memoir: &Memoir, name: &str) -> String {
    let account = account(memoir, name).await;
    let made = account.create_token(None, &Actor::owner()).await.unwrap();
    made.secret.expose().to_owned()
}

/// A new agent of that account, of the scripted model and with nothing that guards against loss, and its token.
///
/// # Panics
/// The name is taken; the store fails.
pub async fn tenant(memoir: &Memoir, account: &str, name: &str) -> Tenant {
    let account = self::account(memoir, account).await;
    let owner = administrator();
    let settings = [
        (Field::Model, Some("scripted:model")),
        (Field::LossGuard, Some("off")),
    ];
    account.create_agent(name, &settings, &owner).await.unwrap();
    let agent = account.agent(name).await.unwrap();
    let made = agent.create_token(Provision::Any, None, &owner).await;
    let token = made.unwrap().secret.expose().to_owned();
    Tenant { agent, token }
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
