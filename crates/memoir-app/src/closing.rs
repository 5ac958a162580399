//! Whether the installation is closed: whether an agent's words are shown on its machine to the agent only
//! (SPEC 5.5).
//!
//! It says so in the key store, sealed, from its first administrator with a name on. Where the key store says
//! nothing, an installation that ever had one is closed, and one whose store several machines share: neither whoever empties a table of the database nor an
//! older key store opens it. It is changed by [`Account::set_closed`](crate::Account::set_closed), on the record.

use crate::{Memoir, Result};

impl Memoir {
    /// Whether agents' words are shown to the agents only.
    ///
    /// # Errors
    /// The store or the key store fails; somebody without the master key wrote into the latter.
    pub async fn is_closed(&self) -> Result<bool> {
        // The key store alone is asked where it says anything: it is sealed, and the database can be
        // written by others.
        match self.keys.closing().await? {
            Some(closing) => Ok(closing.is_closed),
            None => Ok(self.settings.is_shared || self.ever_had_users().await?),
        }
    }

    /// Whether there ever was an administrator with a name, whoever is left of them.
    ///
    /// # Errors
    /// As for [`Memoir::is_closed`].
    pub async fn ever_had_users(&self) -> Result<bool> {
        // Rows of users can be deleted from the database; the key store, and the log of the account, still
        // tell of them.
        Ok(self.keys.closing().await?.is_some()
            || self.has_users().await?
            || self.logs_tell_of_users().await?)
    }
}
