//! Tenants.

use memoir_domain::{AccountId, Timestamp, agent, audit::Actor, view};
use memoir_store::AccountRow;
use serde::Serialize;

use crate::core::{Account, Error, Memoir, Result};

/// The account that always exists.
pub const DEFAULT_ACCOUNT: &str = "default";

view! {
    /// An account as it is shown.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
    pub struct AccountView from row: AccountRow;
    /// Its identifier.
    pub id: AccountId = row.id,
    /// Its name as given.
    pub name: String = row.name,
    /// When it was made.
    pub created_at: Timestamp = row.created_at,
}

impl Memoir {
    /// Makes an account, whose log begins with that.
    ///
    /// # Errors
    /// The name is not allowed, or is taken; the store fails.
    pub async fn create_account(&self, name: &str, actor: &Actor) -> Result<AccountView> {
        let made = self.new_account(name).await?;
        // If this fails, the next record of the account begins the log (`load_log`). An error would say that the account
        // was not made.
        if let Err(error) = self.account_at(made.id).begin_log(actor).await {
            tracing::error!(account = %made.id, %error, "the log of a new account has not begun");
        }
        Ok(made)
    }

    async fn new_account(&self, name: &str) -> Result<AccountView> {
        let name = agent::parse_name(name)?;
        let row = AccountRow {
            id: self.ids().draw(AccountId::from_bytes)?,
            folded_name: agent::fold_name(&name),
            name,
            created_at: self.now(),
        };
        match self.store.create_account(&row).await {
            Err(memoir_store::Error::NameTaken) => Err(Error::NameTaken(row.name)),
            other => Ok(other.map(|()| AccountView::new(row))?),
        }
    }

    /// All accounts, by name.
    ///
    /// # Errors
    /// The store fails.
    pub async fn accounts(&self) -> Result<Vec<AccountView>> {
        // The look-up makes the default account on first use, so that a new installation lists it too.
        self.account(DEFAULT_ACCOUNT).await?;
        let rows = self.store.accounts().await?.into_iter();
        Ok(rows.map(AccountView::new).collect())
    }

    /// The account of that name, whatever the case. The default account is made on first use.
    ///
    /// # Errors
    /// [`Error::NoAccount`].
    pub async fn account(&self, name: &str) -> Result<Account> {
        let folded = agent::fold_name(name.trim());
        let mut row = self.store.account_named(&folded).await?;
        if row.is_none() && folded == DEFAULT_ACCOUNT {
            match self.new_account(DEFAULT_ACCOUNT).await {
                // Another process may have made it meanwhile.
                Ok(_) | Err(Error::NameTaken(_)) => row = self.store.account_named(&folded).await?,
                Err(error) => return Err(error),
            }
        }
        let row = row.ok_or_else(|| Error::NoAccount(name.to_owned()))?;
        Ok(Account {
            memoir: self.clone(),
            id: row.id,
            name: row.name,
        })
    }
}

impl Account {
    /// Its name as given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its identifier.
    pub fn id(&self) -> AccountId {
        self.id
    }
}
