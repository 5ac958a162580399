//! A cache of open sessions from this process's own last commit in each, so that the next one needs fewer look-ups. No
//! result comes from it alone: a commit based on it fails if another process wrote meanwhile, and everything but a
//! commit is decided again on the store's state.
//!
//! So an edit needs no look-up before its commit where this process made the session's previous edit.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
};

use memoir_domain::{
    AgentScope, PrivateText, SessionId,
    agent::Agent,
    draft::Decision,
    memories::AllMemories,
    session::{Session, State},
};

use crate::codec::Base;

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

/// A cache with a size limit. The least recently put entry is evicted, so a session in use stays.
pub(crate) struct BoundedCache<K, V> {
    limit: usize,
    weight: usize,
    /// With the turn in which each was put, and its size.
    kept: HashMap<K, (u64, usize, V)>,
    turn: u64,
}

impl<K: Hash + Eq + Copy, V> BoundedCache<K, V> {
    /// Up to that weight.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            weight: 0,
            kept: HashMap::new(),
            turn: 0,
        }
    }

    /// Whether the key has an entry.
    pub(crate) fn has(&self, key: K) -> bool {
        self.kept.contains_key(&key)
    }

    pub(crate) fn take(&mut self, key: K) -> Option<V> {
        self.take_weighed(key).map(|(_, value)| value)
    }

    fn take_weighed(&mut self, key: K) -> Option<(usize, V)> {
        let (_, weight, value) = self.kept.remove(&key)?;
        self.weight -= weight;
        Some((weight, value))
    }

    /// Returns the evicted entries with their size: wiping and freeing them is slow, and must not block the lock around
    /// this.
    #[must_use = "is dropped once nothing is locked any more"]
    pub(crate) fn put(&mut self, key: K, weight: usize, value: V) -> Vec<(usize, V)> {
        let mut gone = Vec::from_iter(self.take_weighed(key));
        while self.weight + weight > self.limit {
            // All entries are searched, rather than kept in order, because this happens only at the limit.
            let oldest = self.kept.iter().min_by_key(|(_, (turn, ..))| *turn);
            // A value that is larger than the limit is kept, but alone.
            let Some(oldest) = oldest.map(|(key, _)| *key) else {
                break;
            };
            gone.extend(self.take_weighed(oldest));
        }
        self.turn += 1;
        self.weight += weight;
        self.kept.insert(key, (self.turn, weight, value));
        gone
    }
}

impl<K: Hash + Eq + Copy, V: Clone> BoundedCache<K, V> {
    /// The value of that key, which stays.
    pub(crate) fn get(&self, key: K) -> Option<V> {
        self.kept.get(&key).map(|(_, _, value)| value.clone())
    }

    /// The total size.
    #[cfg(test)]
    pub(crate) fn weight(&self) -> usize {
        self.weight
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
        let known = lock(&self.known).take(scope);
        // That of another session of this agent is useless: an agent has one at a time, and that one is over.
        known.filter(|known| known.session.id == session)
    }

    pub(crate) fn put(&self, scope: AgentScope, session: KnownSession) {
        let gone = lock(&self.known).put(scope, 1, session);
        drop(gone);
    }

    /// The notes of a session; of two simultaneous calls the later one begins new ones.
    pub(crate) fn take_notes(&self, session: SessionId) -> SessionNotes {
        lock(&self.notes).take(session).unwrap_or_default()
    }

    pub(crate) fn put_notes(&self, session: SessionId, kept: SessionNotes) {
        // An empty entry must not evict that of another session.
        if kept.memories.is_some() {
            let gone = lock(&self.notes).put(session, kept.weight(), kept);
            drop(gone);
        }
    }

    /// Forgets the cache of an ended session.
    pub(crate) fn drop_notes(&self, session: SessionId) {
        let gone = lock(&self.notes).take(session);
        drop(gone);
    }
}

fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic leaves nothing harmful here: the cache is used for commits only, and the store checks each of them.
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_there_longest_ago_gives_way() {
        let mut kept = BoundedCache::new(10);
        for key in 0..10 {
            assert!(kept.put(key, 1, key).is_empty());
        }
        // A session that is used is the youngest again.
        let first = kept.take(0).unwrap();
        assert!(kept.put(0, 1, first).is_empty());
        assert_eq!(kept.put(10, 2, 10), [(1, 1), (1, 2)]);
        assert_eq!((kept.take(1), kept.take(2)), (None, None));
        assert_eq!((kept.take(0), kept.take(3)), (Some(0), Some(3)));
        // A value that is larger than the limit is kept alone, until the next one comes.
        assert_eq!(kept.put(11, 50, 11).len(), 7);
        assert_eq!((kept.kept.len(), kept.weight), (1, 50));
        assert_eq!(kept.put(12, 1, 12), [(50, 11)]);
        assert_eq!((kept.take(11), kept.weight), (None, 1));
        assert_eq!((kept.take(12), kept.weight), (Some(12), 0));
    }
}
