//! Whether the installation is closed: whether only an agent itself reads its text on its machine (SPEC 5.5).
//!
//! The key store holds this, sealed, from the first administrator with a name on. Without an entry, an installation is
//! closed if it ever had one, or if several machines share its store: neither an emptied table of the database nor an
//! older key store opens it. It is changed by [`Account::set_closed`](crate::core::Account::set_closed), with a record.

use memoir_vault::KeyStore;

use crate::core::{Memoir, Result};

impl Memoir {
    /// Whether only the agents read their text.
    ///
    /// # Errors
    /// The store or the key store fails; the latter was written without the master key.
    pub async fn is_closed(&self) -> Result<bool> {
        // An entry in the key store decides alone: it is sealed, and the database can be modified from outside.
        match self.keys.ask(KeyStore::closing).await? {
            Some(closing) => Ok(closing.is_closed),
            None => Ok(self.settings.is_shared || self.ever_had_users().await?),
        }
    }

    /// Whether there ever was an administrator with a name, present or removed.
    ///
    /// # Errors
    /// As for [`Memoir::is_closed`].
    pub async fn ever_had_users(&self) -> Result<bool> {
        // Rows of users can be deleted from the database; the key store, and the log of the account, still show them.
        Ok(self.keys.ask(KeyStore::closing).await?.is_some()
            || self.has_users().await?
            || self.logs_tell_of_users().await?)
    }
}
