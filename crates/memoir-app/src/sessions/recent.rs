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

impl KnownMemories {
    /// Whether they are of this version of the agent.
    pub(crate) fn is_of(&self, version: Option<u64>) -> bool {
        Some(self.version) == version
    }
}

/// The cached sessions.
pub(crate) struct Recent {
    known: Mutex<BoundedCache<AgentScope, KnownSession>>,
    memories: Mutex<BoundedCache<SessionId, KnownMemories>>,
}

impl Default for Recent {
    fn default() -> Self {
        Self {
            known: Mutex::new(BoundedCache::new(SESSIONS)),
            memories: Mutex::new(BoundedCache::new(MEMORIES_BYTES)),
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

    /// The memories for a session's call; of two simultaneous calls the later one reads its own.
    pub(crate) fn take_memories(&self, session: SessionId) -> Option<KnownMemories> {
        self.memories.lock().take(session)
    }

    pub(crate) fn put_memories(&self, session: SessionId, known: KnownMemories) {
        let bytes = size_of::<KnownMemories>() + known.memories.bytes();
        let gone = self.memories.lock().put(session, bytes, known);
        drop(gone);
    }

    /// Forgets the memories of an ended session.
    pub(crate) fn drop_memories(&self, session: SessionId) {
        let gone = self.memories.lock().take(session);
        drop(gone);
    }
}
