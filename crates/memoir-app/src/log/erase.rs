//! Erasing an agent (SPEC 5.4).

use memoir_domain::{
    AgentId, AgentScope, Timestamp,
    agent::Agent,
    audit::Actor,
    draft::Decision,
    lifecycle::{self, SessionEnding},
    manage,
    session::EndReason,
    view,
};
use memoir_store::AgentQuery;
use memoir_vault::{KeyStore, MasterKey};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    core::{AgentHandle, Error, Memoir, Result, again, codec},
    log::AgentLog,
    shown::MemoryCounts,
};

view! {
    /// The remains of an erased agent: counts of unreadable data.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    #[schema(as = ErasedAgent)]
    #[expect(missing_docs, reason = "the names are those of the wire")]
    pub struct Erased from agent: &Agent, at: Timestamp;
    #[schema(value_type = String, format = Uuid)]
    pub id: AgentId = agent.id,
    /// Its name, which is free again.
    pub name: String = agent.name.clone(),
    pub erased_at: Timestamp = at,
    #[serde(flatten)]
    #[schema(inline)]
    pub counts: MemoryCounts = MemoryCounts::new(agent.tally),
}

impl AgentLog<'_> {
    /// Destroys the agent's key: none of its text can be read again, not even from copies of the database. Its chain of
    /// records stays and still verifies.
    ///
    /// The record comes first and the key after it. If the process dies in between, another call finishes it, and so
    /// does [`Memoir::finish`]. Where the key is destroyed and a restored database lacks the record, it is written again.
    ///
    /// # Errors
    /// A session is running; it was erased before; [`Error::Changed`]; the store or the key store fails.
    /// [`Error::KeyRemains`] once the record is written.
    pub async fn erase(self, actor: &Actor) -> Result<Erased> {
        let handle = AgentHandle {
            counts_no_rows: true,
            ..(*self).clone()
        };
        let recorded = handle
            .decide(&AgentQuery::default().with_prompts(), |loaded, now| {
                let erased = Erased::new(&loaded.agent, now);
                let decision = manage::erase(loaded.agent, loaded.running_session, actor, now)?;
                Ok((Some(decision), erased))
            })
            .await;
        let erased = match recorded {
            Ok(erased) => erased,
            // An earlier attempt wrote the record and died before the key was destroyed, or the record is forged.
            Err(Error::Erased { name, at }) => {
                let keys = self.memoir.keys.present(vec![self.scope]).await?;
                // Whatever the row says.
                if keys.is_empty() {
                    let recorded = again(|| self.record_again(actor)).await?;
                    return recorded.ok_or(Error::Erased { name, at });
                }
                // The row may be forged: then the key stays.
                self.check_erased_row().await?;
                // The seal of the row cannot be opened.
                let snapshot = self.snapshot(&AgentQuery::default()).await?;
                let agent = codec::listed_agent(&snapshot.agent)?;
                Erased {
                    name,
                    ..Erased::new(&agent, at)
                }
            }
            Err(error) => return Err(error),
        };
        let (scope, at) = (self.scope, erased.erased_at);
        let destroying = self.memoir.keys.ask(move |keys| keys.destroy(scope, at));
        let destroyed = destroying.await.map(drop);
        // This process's caches are dropped whether or not the key could be destroyed: nothing may be read from them.
        self.memoir.forget_agent(self.scope);
        match destroyed {
            Ok(()) => Ok(erased),
            // The record is written and the key still exists. This has an error of its own: the agent is unusable, but
            // its text could be read. `Memoir::finish` tries again.
            Err(why) => Err(Error::KeyRemains {
                name: erased.name,
                why: Box::new(why),
            }),
        }
    }

    /// Records the erasure of an agent whose key is destroyed, in a database that was restored from before it; `None`
    /// where its row has it.
    async fn record_again(self, actor: &Actor) -> Result<Option<Erased>> {
        let mut snapshot = self.snapshot(&AgentQuery::default()).await?;
        if let Some(running) = snapshot.running_session {
            snapshot = self.snapshot(&AgentQuery::of_session(running)).await?;
        }
        let row = snapshot.agent;
        if row.columns.erased_at.is_some() {
            return Ok(None);
        }
        let now = self.memoir.now();
        // No key opens the agent's rows any more: this one makes the form of a seal, and is dropped.
        let key = KeyStore::in_memory(&MasterKey::generate()?)?.create(self.scope, now)?;
        let (agent, base) = codec::unopened_agent(&key, &row)?;
        let erased = Erased::new(&agent, now);
        // A session that ran in the backup ends here, since none can be closed afterwards (SPEC 6.2).
        let running = snapshot.session;
        let ended = match running.filter(|row| row.columns.state.is_running()) {
            Some(row) => {
                let (session, _) = codec::session(None, row)?;
                let ending = SessionEnding::Abandoned(EndReason::Cancelled);
                lifecycle::end(agent, session, ending, actor, now)
            }
            None => Decision::of_sessions(agent, Vec::new()),
        };
        let erasing = manage::erase(ended.agent.clone(), None, actor, now)?;
        self.commit(&base, ended.then(erasing)).await?;
        Ok(Some(erased))
    }

    /// Checks that Memoir wrote the row that marks the agent as erased, where that can still be verified.
    async fn check_erased_row(self) -> Result<()> {
        let query = AgentQuery::default().with_prompts();
        let snapshot = self.snapshot(&query).await?;
        match self.memoir.keys.of(self.scope).await? {
            Some(key) => codec::agent(&key, &snapshot.agent, snapshot.prompts.as_ref()).map(drop),
            None => Ok(()),
        }
    }
}

impl Memoir {
    /// The agents whose rows mark them as erased, and whose keys exist.
    pub(crate) async fn half_erased(&self) -> Result<Vec<AgentScope>> {
        self.keys.present(self.store.erased().await?).await
    }

    /// Destroys the key, where it exists, of an agent whose row marks it as erased.
    pub(crate) async fn finish_erasing(&self, scope: AgentScope) -> Result<()> {
        match self.handle(scope).log().erase(&Actor::system()).await {
            Ok(_) | Err(Error::Erased { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
