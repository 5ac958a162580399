//! Unfinished work (SPEC 6.2), left by a process that died or was interrupted. It is found in the stored data, finished
//! where possible, and otherwise reported.
//!
//! | what | begun by | finished by |
//! |---|---|---|
//! | the key of an agent whose erasure is recorded | erasing | destroying it |
//! | a session whose lease lapsed | refining | closing it; its edits stay |
//! | a request for access that has expired | asking, granting | ending it, and notifying the agent |
//! | text on the disk that was removed from a log | shredding | writing the file anew |
//! | an installation with administrators that is not marked as closed | making the first one | marking it |
//! | an installation that is closed, and opened by its records | closing or opening it | recording that it is closed |
//! | words of conversations that are kept longer than seven days | absorbing | removing them |
//! | a master key beside its file, which the key store needs | rotating | putting it in its place |
//!
//! Leases of messages, deliveries and queued sessions expire by themselves.

use memoir_domain::AgentScope;
use memoir_store::AgentQuery;
use memoir_vault::KeyStore;

use crate::core::{Error, Memoir, Result};

/// The outcome.
#[derive(Debug, Default)]
pub struct Finished {
    /// Agents whose keys were destroyed.
    pub erased: u64,
    /// Sessions that were closed.
    pub sessions: u64,
    /// Requests for access that were ended.
    pub requests: u64,
    /// The unfinished work.
    pub left: Vec<Unfinished>,
}

/// Something that is half-done, and why.
#[derive(Debug)]
pub struct Unfinished {
    /// The work.
    pub what: String,
    /// Why it was not finished.
    pub why: Error,
}

impl Memoir {
    /// Finishes interrupted work. Failures are listed, and do not prevent the rest.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn finish(&self) -> Result<Finished> {
        let mut done = Finished::default();
        // The key store first: the next steps may need a key of it.
        if let Err(why) = self.keys.ask(KeyStore::finish_rotation).await {
            let what = "a rotation of the master key is not finished".to_owned();
            done.left.push(Unfinished { what, why });
        }
        if let Err(why) = self.finish_closing().await {
            let what = "that the installation is closed is not written down".to_owned();
            done.left.push(Unfinished { what, why });
        }
        self.finish_erasings(&mut done).await?;
        done.sessions = self.close_lapsed_sessions().await? as u64;
        done.requests = self.expire_access().await? as u64;
        if let Err(why) = self.forget_words().await {
            let what = "words of absorbed conversations are not removed".to_owned();
            done.left.push(Unfinished { what, why });
        }
        // A concurrent reader of the file is no failure: it is tried again.
        self.store.finish().await?;
        Ok(done)
    }

    async fn finish_erasings(&self, done: &mut Finished) -> Result<()> {
        let scopes = self.store.erased().await?;
        let present = match self.keys.present(scopes).await {
            Ok(present) => present,
            Err(why) => {
                let what = "erased agents were not held against the key store".to_owned();
                done.left.push(Unfinished { what, why });
                return Ok(());
            }
        };
        for scope in present {
            match self.finish_erasing(scope).await {
                Ok(()) => done.erased += 1,
                Err(why) => {
                    let agent = self.named_by_row(scope).await?;
                    let what = format!("the erasing of {agent} is not finished");
                    done.left.push(Unfinished { what, why });
                }
            }
        }
        Ok(())
    }

    /// An agent's name and identifier, for people.
    pub(crate) async fn named_by_row(&self, scope: AgentScope) -> Result<String> {
        let snapshot = self.store.snapshot(scope, &AgentQuery::default()).await?;
        let name = snapshot.map(|snapshot| snapshot.agent.columns.name);
        Ok(format!("`{}` ({})", name.unwrap_or_default(), scope.agent))
    }
}
