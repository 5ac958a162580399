//! What an administrator may see of an agent: counts, sizes, dates, flags, never words (SPEC 5.1). And
//! pages of long lists, with words or without.

use memoir_domain::{
    SessionId, Timestamp,
    context::journal_since,
    memory::{Kind, Memory, Number},
    wording::Origin,
};
use memoir_store::{AgentQuery, Faded, MemoryPage, RecordFilter};
use memoir_vault::AgentKey;
use serde::Serialize;

use crate::{AgentHandle, Error, MemoryView, RecordQuery, RecordView, Result, SessionView, codec};

/// With whose eyes something is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eyes {
    /// The agent's own: words too.
    Agent,
    /// An administrator's: no words.
    Administrator,
}

/// A memory as an administrator sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are those of the wire")]
pub struct BlindMemoryView {
    pub number: Number,
    pub kind: Kind,
    pub tokens: u64,
    pub constitutional: bool,
    pub origin: Origin,
    /// How many wordings it stands for.
    pub wordings: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub fades_at: Option<Timestamp>,
    pub discarded_at: Option<Timestamp>,
    pub shredded_at: Option<Timestamp>,
}

impl From<&Memory> for BlindMemoryView {
    fn from(memory: &Memory) -> Self {
        Self {
            number: memory.number,
            kind: memory.kind,
            tokens: memory.tokens(),
            constitutional: memory.is_constitutional(),
            origin: memory.origin(),
            wordings: memory.wordings.len() as u64,
            created_at: memory.created_at,
            updated_at: memory.updated_at,
            fades_at: memory.fades_at(),
            discarded_at: memory.discarded_at,
            shredded_at: memory.shredded_at,
        }
    }
}

impl AgentHandle {
    /// One memory, discarded or not.
    ///
    /// # Errors
    /// There is none of that number; the store fails.
    pub async fn memory(&self, number: Number) -> Result<MemoryView> {
        let rows = self.memoir.store.memories(self.scope, &[number]).await?;
        match (rows.into_iter().next(), self.present_key().await?) {
            (Some(row), Some(key)) => Ok(codec::memory(&key, row)?.into()),
            // Perhaps the agent is gone.
            _ => {
                self.check_present().await?;
                Err(Error::NoMemory(number))
            }
        }
    }

    /// As [`AgentHandle::memory`], without words.
    ///
    /// # Errors
    /// As [`AgentHandle::memory`].
    pub async fn blind_memory(&self, number: Number) -> Result<BlindMemoryView> {
        let key = self.check_present().await?;
        let rows = self.memoir.store.memories(self.scope, &[number]).await?;
        let row = rows.into_iter().next().ok_or(Error::NoMemory(number))?;
        Ok(BlindMemoryView::from(&codec::memory(&key, row)?))
    }

    /// What has left the prompt by now, or what has not.
    pub fn faded(&self, is_faded: bool) -> Faded {
        Faded {
            until: journal_since(self.memoir.now()),
            is_faded,
        }
    }

    /// One page of memories, by number.
    ///
    /// # Errors
    /// The store fails.
    pub async fn memory_page(&self, page: &MemoryPage) -> Result<Vec<MemoryView>> {
        let key = self.check_present().await?;
        let rows = self.memoir.store.memory_page(self.scope, page).await?;
        crate::parallel::map(rows, |row| codec::memory(&key, row).map(MemoryView::from))
            .into_iter()
            .collect()
    }

    /// As [`AgentHandle::memory_page`], without words.
    ///
    /// # Errors
    /// The store fails.
    pub async fn blind_memory_page(&self, page: &MemoryPage) -> Result<Vec<BlindMemoryView>> {
        let key = self.check_present().await?;
        let rows = self.memoir.store.memory_page(self.scope, page).await?;
        let blind = |row| Ok(BlindMemoryView::from(&codec::memory(&key, row)?));
        crate::parallel::map(rows, blind).into_iter().collect()
    }

    /// One page of sessions, newest first: those begun before that one.
    ///
    /// # Errors
    /// The store fails.
    pub async fn session_page(
        &self,
        before: Option<(Timestamp, SessionId)>,
        limit: u32,
        eyes: Eyes,
    ) -> Result<Vec<SessionView>> {
        let key = self.check_present().await?;
        let store = &self.memoir.store;
        let rows = store.session_page(self.scope, before, limit).await?;
        let key = (eyes == Eyes::Agent).then_some(key);
        rows.into_iter()
            .map(|row| {
                let (session, _) = codec::session(key.as_ref(), row)?;
                Ok(SessionView::new(&self.name, session))
            })
            .collect()
    }

    /// The session as an administrator sees it.
    ///
    /// # Errors
    /// The agent has none of that identifier; the store fails.
    pub async fn blind_session(&self, id: SessionId) -> Result<SessionView> {
        self.check_present().await?;
        let wanted = AgentQuery {
            session: Some(id),
            ..AgentQuery::default()
        };
        let snapshot = self.memoir.store.snapshot(self.scope, &wanted).await?;
        let row = snapshot.and_then(|snapshot| snapshot.session);
        let row = row.ok_or_else(|| Error::NoSession(id.to_string()))?;
        let (session, _) = codec::session(None, row)?;
        Ok(SessionView::new(&self.name, session))
    }

    /// One page of the log, oldest first: from the record at `from_seq` on.
    ///
    /// # Errors
    /// The store fails.
    pub async fn record_page(
        &self,
        query: &RecordQuery,
        from_seq: u64,
        limit: u32,
        eyes: Eyes,
    ) -> Result<Vec<RecordView>> {
        let filter = RecordFilter {
            from_seq,
            session: query.session,
            actions: query.actions.clone(),
            memory: query.memory,
            actor: query.actor,
            actor_name: query.actor_name.clone(),
            until: query.until,
            since: query.since,
            first: Some(limit),
            ..RecordFilter::default()
        };
        self.record_views(&filter, eyes).await
    }

    /// The key of an agent that was not erased.
    async fn check_present(&self) -> Result<AgentKey> {
        let store = &self.memoir.store;
        let snapshot = store.snapshot(self.scope, &AgentQuery::default()).await?;
        let snapshot = snapshot.ok_or_else(|| Error::NoAgent(self.name.clone()))?;
        self.key_of(&snapshot.agent).await
    }
}
