//! A cache of open sessions from this process's own last commit in each, so that the next one needs fewer look-ups. No
//! result comes from it alone: a commit based on it fails if another process wrote meanwhile, and everything but a
//! commit is decided again on the store's state.
//!
//! So an edit needs no look-up before its commit where this process made the session's previous edit.

use memoir_domain::{
    AgentScope, PrivateText, SessionId,
    agent::Agent,
    draft::Decision,
    memories::AllMemories,
    session::{Session, State},
};
use parking_lot::Mutex;

use crate::core::{cache::BoundedCache, codec::Base};

/// Most sessions that are known at a time; each holds an agent without its memories and prompts.
// Some kilobytes each. The next call of an evicted one reads the store.
const SESSIONS: usize = 1_024;
/// Bytes of the memories of all open sessions together. Those of a larger agent are kept alone.
const MEMORIES_BYTES: usize = 200 << 20;

/// An agent and its open session after a commit of this process.
pub(crate) struct KnownSession {
    pub(crate) base: Base,
    /// Without its prompts.
    pub(crate) agent: Agent,
    pub(crate) session: Session,
}

impl KnownSession {
    /// The state for the next call of `session`, after the commit that returned `base`.
    pub(crate) fn new(mut base: Base, mut agent: Agent, session: Session) -> Self {
        base.forget_prompts(&mut agent);
        Self {
            base,
            agent,
            session,
        }
    }
}

/// The agent of a decision and its open session; `None` where there is none, or where it is a rehearsal, whose calls
/// are decided on its copy.
pub(crate) fn open_in(decision: &Decision) -> Option<(Agent, Session)> {
    let is_open = |session: &&Session| session.state == State::Open && !session.rehearsal;
    let session = decision.sessions.iter().find(is_open)?;
    Some((decision.agent.clone(), session.clone()))
}

/// All memories of an agent, for its open session.
pub(crate) struct KnownMemories {
    /// The version of the agent that they are of.
    pub(crate) version: u64,
    pub(crate) memories: AllMemories,
    /// The agent's system prompt: a summary may use the names in it.
    pub(crate) system_prompt: Option<PrivateText>,
}

/// The cache of this process for an open session.
#[derive(Default)]
pub(crate) struct SessionNotes {
    pub(crate) memories: Option<KnownMemories>,
}

impl SessionNotes {
    /// The memories, where they are cached for this version of the agent.
    pub(crate) fn memories_at(&self, version: Option<u64>) -> Option<&KnownMemories> {
        let known = self.memories.as_ref();
        known.filter(|known| Some(known.version) == version)
    }

    /// Their approximate size in bytes.
    fn weight(&self) -> usize {
        let known = self.memories.as_ref();
        size_of::<Self>() + known.map_or(0, |known| known.memories.bytes())
    }
}

/// The cached sessions.
pub(crate) struct Recent {
    known: Mutex<BoundedCache<AgentScope, KnownSession>>,
    notes: Mutex<BoundedCache<SessionId, SessionNotes>>,
}

impl Default for Recent {
    fn default() -> Self {
        Self {
            known: Mutex::new(BoundedCache::new(SESSIONS)),
            notes: Mutex::new(BoundedCache::new(MEMORIES_BYTES)),
        }
    }
}

impl Recent {
    /// Takes the session out of the cache: of two simultaneous calls only one may use it.
    pub(crate) fn take(&self, scope: AgentScope, session: SessionId) -> Option<KnownSession> {
        let known = self.known.lock().take(scope);
        // That of another session of this agent is useless: an agent has one at a time, and that one is over.
        known.filter(|known| known.session.id == session)
    }

    pub(crate) fn put(&self, scope: AgentScope, session: KnownSession) {
        let gone = self.known.lock().put(scope, 1, session);
        drop(gone);
    }

    /// The notes of a session; of two simultaneous calls the later one begins new ones.
    pub(crate) fn take_notes(&self, session: SessionId) -> SessionNotes {
        self.notes.lock().take(session).unwrap_or_default()
    }

    pub(crate) fn put_notes(&self, session: SessionId, kept: SessionNotes) {
        // An empty entry must not evict that of another session.
        if kept.memories.is_some() {
            let gone = self.notes.lock().put(session, kept.weight(), kept);
            drop(gone);
        }
    }

    /// Forgets the cache of an ended session.
    pub(crate) fn drop_notes(&self, session: SessionId) {
        let gone = self.notes.lock().take(session);
        drop(gone);
    }
}
