//! A cache of open sessions from this process's own last commit in each, so that the next one needs fewer look-ups. No
//! result comes from it alone: a commit based on it fails if another process wrote meanwhile, and everything but a
//! commit is decided again on the store's state.
//!
//! So an edit needs no look-up before its commit where this process opened the session, or made its previous edit.

use std::time::Instant;

use memoir_domain::{
    AgentScope, PrivateText, SessionId,
    agent::Agent,
    draft::Decision,
    memories::AllMemories,
    session::{Driver, Session, State},
};
use parking_lot::Mutex;

use crate::core::{cache::BoundedCache, codec::Base};

/// Most sessions that are known at a time; each holds an agent without its memories and prompts.
// Some kilobytes each. The next call of an evicted one reads the store.
const SESSIONS: usize = 1_024;
/// Most bytes of the memories of all open sessions together: those of 45,000 memories of two sentences. Those of a larger
/// agent are read again for each call.
// A service stays under 400 MB, of which loads take 96, bodies of requests 96, indexes 64, and opened memories and the
// digests of texts 32 each.
const MEMORIES_BYTES: usize = 32 << 20;

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

/// The open session of a decision; `None` where there is none, or where it is a rehearsal, whose calls are decided on
/// its copy.
fn session_in(decision: &Decision) -> Option<&Session> {
    let is_open = |session: &&Session| session.state == State::Open && !session.rehearsal;
    decision.sessions.iter().find(is_open)
}

/// The agent of a decision and its open session, as [`session_in`] finds it.
pub(crate) fn open_in(decision: &Decision) -> Option<(Agent, Session)> {
    let session = session_in(decision)?;
    Some((decision.agent.clone(), session.clone()))
}

/// All memories of an agent, for its open session.
pub(crate) struct KnownMemories {
    pub(crate) driver: Driver,
    /// The version that they are of: that of the agent's memories, or of its row for those on a rehearsal's copy.
    pub(crate) version: u64,
    pub(crate) memories: AllMemories,
    /// The agent's system prompt: a summary may use the names in it.
    pub(crate) system_prompt: Option<PrivateText>,
}

impl KnownMemories {
    /// Those of a session that a decision opens, once it is written; `None` where they are not cached.
    pub(crate) fn of_opening(opening: &Decision, memories: AllMemories) -> Option<Self> {
        let agent = &opening.agent;
        session_in(opening).map(|session| Self {
            driver: session.driver,
            version: agent.next_seq,
            memories,
            system_prompt: agent.settings.system_prompt.clone(),
        })
    }

    /// Whether they are of this version.
    pub(crate) fn is_of(&self, version: Option<u64>) -> bool {
        Some(self.version) == version
    }
}

#[derive(Default)]
pub(crate) struct Recent {
    known: Mutex<BoundedCache<AgentScope, KnownSession, SESSIONS>>,
    /// Of one session of each agent.
    memories: Mutex<BoundedCache<AgentScope, (SessionId, KnownMemories), MEMORIES_BYTES>>,
}

impl Recent {
    /// Takes the session out of the cache for a call by that driver: of two simultaneous calls only one may use it. That
    /// of another driver stays, since the call is refused.
    pub(crate) fn take(
        &self,
        scope: AgentScope,
        session: SessionId,
        driver: Driver,
    ) -> Option<KnownSession> {
        let mut cached = self.known.lock();
        let is_its_own = |known: &KnownSession| known.session.driver == driver;
        let is_taken = cached.peek(scope).is_some_and(is_its_own);
        let known = is_taken.then(|| cached.take(scope)).flatten();
        drop(cached);
        // That of another session of this agent is useless: an agent has one at a time, and that one is over.
        known.filter(|known| known.session.id == session)
    }

    pub(crate) fn put(&self, scope: AgentScope, session: KnownSession) {
        let gone = self.known.lock().put(scope, 1, session);
        drop(gone);
    }

    /// The memories for a session's call by that driver; of two simultaneous calls the later one reads its own. Those of
    /// another driver stay, since the call is refused (SPEC 3.18).
    pub(crate) fn take_memories(
        &self,
        scope: AgentScope,
        session: SessionId,
        driver: Driver,
    ) -> Option<KnownMemories> {
        let mut cached = self.memories.lock();
        cached.peek(scope).filter(|kept| kept.1.driver == driver)?;
        let (known, memories) = cached.take(scope)?;
        drop(cached);
        (known == session).then_some(memories)
    }

    pub(crate) fn put_memories(&self, scope: AgentScope, session: SessionId, known: KnownMemories) {
        let bytes = size_of::<KnownMemories>() + known.memories.bytes();
        if bytes <= MEMORIES_BYTES {
            let gone = self.memories.lock().put(scope, bytes, (session, known));
            drop(gone);
        }
    }

    pub(crate) fn forget_memories(&self, scope: AgentScope) {
        let gone = self.memories.lock().take(scope);
        drop(gone);
    }

    /// Wipes what is cached of an agent.
    pub(crate) fn forget(&self, scope: AgentScope) {
        self.forget_memories(scope);
        drop(self.known.lock().take(scope));
    }

    /// Wipes the sessions without a call of this process since that time.
    pub(crate) fn forget_unused(&self, since: Instant) {
        let gone = self.memories.lock().take_put_before(since);
        drop((gone, self.known.lock().take_put_before(since)));
    }
}

#[cfg(test)]
mod tests {
    use memoir_domain::{
        Timestamp,
        audit::ActorKind,
        memory::{Kind, NewMemory, Number},
        origin::SavedBy,
    };

    use super::*;
    use crate::tests::scope;

    fn known() -> KnownMemories {
        KnownMemories {
            driver: Driver::Model,
            version: 1,
            memories: AllMemories::default(),
            system_prompt: None,
        }
    }

    /// What a call of the session's loop finds.
    fn taken(recent: &Recent, agent: u8, session: SessionId) -> Option<KnownMemories> {
        recent.take_memories(scope(agent), session, Driver::Model)
    }

    #[test]
    fn spec_6_1_memories_of_an_agent_over_the_limit_are_not_kept() {
        let recent = Recent::default();
        let (other, large) = (
            SessionId::from_bytes([1; 16]),
            SessionId::from_bytes([2; 16]),
        );
        recent.put_memories(scope(1), other, known());
        let long = "x".repeat(MEMORIES_BYTES).as_str().into();
        let memory = NewMemory::new(Kind::Journal, long, SavedBy::of(ActorKind::Agent));
        let memory = memory.into_memory(Number(1), 1, Timestamp::MAX);
        let memories = AllMemories::new([memory.into_shared()]);
        let of_large = KnownMemories {
            memories,
            ..known()
        };
        recent.put_memories(scope(2), large, of_large);
        assert!(taken(&recent, 2, large).is_none());
        assert!(taken(&recent, 1, other).is_some());
    }

    #[test]
    fn spec_3_18_a_refused_call_of_another_driver_leaves_a_sessions_memories() {
        let recent = Recent::default();
        let session = SessionId::from_bytes([1; 16]);
        recent.put_memories(scope(1), session, known());
        for (driver, is_found) in [(Driver::Agent, false), (Driver::Model, true)] {
            let found = recent.take_memories(scope(1), session, driver);
            assert_eq!(found.is_some(), is_found);
        }
    }

    /// A session that another process ended leaves its memories here.
    #[test]
    fn spec_5_4_memories_of_a_session_are_wiped_with_its_agent_the_next_session_or_unused() {
        let recent = Recent::default();
        let session = |id| SessionId::from_bytes([id; 16]);
        recent.put_memories(scope(1), session(1), known());
        assert!(taken(&recent, 1, session(2)).is_none());
        assert!(taken(&recent, 1, session(1)).is_none());
        for agent in 1..=3 {
            recent.put_memories(scope(agent), session(agent), known());
        }
        recent.forget(scope(1));
        assert!(taken(&recent, 1, session(1)).is_none());
        let before = Instant::now();
        let used = taken(&recent, 3, session(3)).unwrap();
        recent.put_memories(scope(3), session(3), used);
        recent.forget_unused(before);
        assert!(taken(&recent, 2, session(2)).is_none());
        assert!(taken(&recent, 3, session(3)).is_some());
    }
}
