//! A whole agent in one sealed file, for another installation.
//!
//! The file holds memories, settings, sessions and the whole log, under a passphrase. Its consistency is checked before
//! it is written and before it is imported.
//!
//! It is the agent as plain data (`adopt::ArchivedAgent`), sealed in chunks (Argon2id, XChaCha20-Poly1305); all its
//! records are replayed to check it. The new installation gives agent and sessions new identifiers, and seals
//! everything under a new key. It chains the records anew, and adds one with the last hash of the old chain.

use std::collections::BTreeMap;

use memoir_domain::{AgentId, SessionId, adopt::ArchivedAgent, audit::Actor};
use memoir_store::{AgentQuery, Selection};
use memoir_vault::archive::Passphrase;
use serde::{Deserialize, Serialize};

use crate::{
    core::{
        Account, Error, Result,
        codec::{self, Rehearsals, Writing},
        parallel::run_blocking,
    },
    shown::{OwnAgent, ShownAgent},
};

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
// An archive of a later version may have unknown fields; without this they would be dropped silently.
#[serde(deny_unknown_fields)]
struct ArchiveContents {
    version: u32,
    traveller: ArchivedAgent,
    rehearsals: Rehearsals,
}

impl OwnAgent {
    /// The agent as a sealed archive.
    ///
    /// # Errors
    /// A session is running; the stored data does not match the log; the store fails.
    pub async fn archive(&self, passphrase: Passphrase) -> Result<Vec<u8>> {
        let contents = self.decide_again(|| async {
            let _room = self.log().room_for_past().await?;
            let loaded = self
                .load(&AgentQuery::of_memories(Selection::All).with_prompts())
                .await?;
            let rows = self.log().log_from(1, &loaded).await?;
            let store = &self.memoir.store;
            let sessions = store.session_page(self.scope, None, u32::MAX).await?;
            let key = Some(loaded.base.key());
            let head = rows.last().map_or([0; 32], |row| row.hash);
            let records = codec::records(key, rows)?;
            let (sessions, rehearsals) = codec::sessions(key, sessions)?;
            let contents = ArchiveContents {
                version: VERSION,
                traveller: ArchivedAgent {
                    memories: loaded.memories.copies().collect(),
                    agent: loaded.agent,
                    sessions,
                    records,
                    head,
                },
                rehearsals,
            };
            // Before it is sealed: a later check could not repair an inconsistency.
            contents.traveller.check()?;
            Ok(contents)
        });
        let contents = contents.await?;
        run_blocking(move || contents.seal(&passphrase)).await?
    }
}

impl ArchiveContents {
    fn seal(&self, passphrase: &Passphrase) -> Result<Vec<u8>> {
        let plain = serde_json::to_vec(self).map(zeroize::Zeroizing::new);
        let plain = plain
            .map_err(|_| Error::Inconsistent("an agent cannot be written as JSON".to_owned()))?;
        let mut sealed = Vec::with_capacity(plain.len() + 1_024);
        memoir_vault::archive::seal(passphrase, &mut sealed, &plain)?;
        Ok(sealed)
    }

    fn open(passphrase: &Passphrase, sealed: &[u8]) -> Result<Self> {
        #[derive(Deserialize)]
        struct ArchiveVersion {
            version: u32,
        }
        let plain = memoir_vault::archive::open(passphrase, sealed)?;
        // The parser's own message may quote the contents.
        let unreadable =
            |_| Error::Inconsistent("the archive's contents cannot be read".to_owned());
        // Read separately and first: contents of a later format would fail as unreadable, without the hint that a newer
        // Memoir reads them.
        let found: ArchiveVersion = serde_json::from_slice(&plain).map_err(unreadable)?;
        if found.version != VERSION {
            return Err(Error::ArchiveVersion(found.version));
        }
        serde_json::from_slice(&plain).map_err(unreadable)
    }
}

impl Account {
    /// Imports an agent from an archive, as a new agent of this account under `name`, or under its former name.
    ///
    /// # Errors
    /// The passphrase does not open it, or it was changed; it is inconsistent; the name is taken.
    pub async fn adopt(
        &self,
        sealed: Vec<u8>,
        passphrase: Passphrase,
        name: Option<&str>,
        actor: &Actor,
    ) -> Result<ShownAgent> {
        let ArchiveContents {
            traveller,
            rehearsals,
            ..
        } = run_blocking(move || ArchiveContents::open(&passphrase, &sealed)).await??;
        let ids = self.memoir.ids();
        // Sessions get new identifiers: the same archive may be imported twice, or into the installation of its origin.
        let renamed = traveller
            .sessions
            .iter()
            .map(|session| Ok((session.id, ids.draw(SessionId::from_bytes)?)))
            .collect::<Result<BTreeMap<SessionId, SessionId>>>()?;
        let name = name.unwrap_or(&traveller.agent.name).to_owned();
        let id = ids.draw(AgentId::from_bytes)?;
        let decision = traveller.adopt(id, &name, &renamed, actor, self.memoir.now())?;
        let agent = decision.agent.clone();
        let rehearsals = rehearsals
            .into_iter()
            .map(|(id, rehearsal)| {
                let renamed_to = renamed.get(&id).copied().unwrap_or(id);
                (renamed_to, rehearsal.renamed(&renamed))
            })
            .collect();
        let begun_last = decision.sessions.iter();
        let begun_last = begun_last.max_by_key(|session| (session.started_at, session.id));
        let last = begun_last.map(|session| session.state);
        let writing = Writing {
            rehearsals,
            ..decision.into()
        };
        self.make(writing).await?;
        Ok(ShownAgent::answered(&self.memoir, &agent, last, actor))
    }
}
