//! A cache of which memories of an agent have the same text. With it a save names the memory that already has its text
//! (SPEC 2.4) without reading all of them.
//!
//! Per agent and process: a keyed hash of each active memory's text, in memory only (SPEC 5.3). It is built at the
//! agent's first save in this process, and updated by the commits of this process. After a write by another process,
//! which the agent's version shows, it is rebuilt. A hash only proposes; the texts are compared.

use std::{
    collections::{BTreeSet, HashMap, hash_map::RandomState},
    hash::BuildHasher,
    sync::Arc,
};

use memoir_domain::{
    AgentScope,
    audit::Change,
    draft::Decision,
    memory::{Memory, Number},
};
use memoir_text::same_text_key;
use parking_lot::{Mutex, MutexGuard};

use crate::core::{
    AfterCommit, AgentHandle, CommitListener, Result,
    cache::BoundedCache,
    parallel::{ConcurrencyLimit, Turn},
};

/// The most bytes that all agents' hashes take together.
const BYTES: usize = 32 << 20;
/// Agents whose memories are read for the cache at a time.
const READERS: usize = 2;
const MEMORY_BYTES: usize = 100;
/// What an agent takes by itself: most have few memories.
const AGENT_BYTES: usize = 500;
/// Memories whose text is compared with a new one of the same hash.
// The first is nearly always it, and an agent can save one text many thousand times.
const COMPARED: usize = 8;

/// The hashes of an agent's active memories.
#[derive(Default)]
struct AgentTexts {
    version: u64,
    by_hash: BTreeSet<(u64, Number)>,
    hashes: HashMap<Number, u64>,
}

/// The texts of an agent that are being read for the cache.
pub(crate) struct ReadTexts {
    keys: RandomState,
    texts: AgentTexts,
}

impl ReadTexts {
    pub(crate) fn add(&mut self, memory: &Memory) {
        let hash = hash(&self.keys, memory.content.expose());
        self.texts.set((memory.number, Some(hash)));
    }
}

/// A hash that is equal for the same text.
fn hash(keys: &RandomState, text: &str) -> u64 {
    keys.hash_one(same_text_key(text).as_bytes())
}

/// A change of a memory: the hash of its text, or none where it is no longer active.
type TextChange = (Number, Option<u64>);

/// What the cache has for a hash.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FoundTexts {
    /// The first active memories with that hash, [`COMPARED`] at most, by number.
    Numbers(Vec<Number>),
    /// The agent is cached at a later version than the caller's.
    Outdated,
    /// The agent is not cached.
    Unknown,
}

/// The hashes of all agents' active memories.
pub(crate) struct SameTexts {
    keys: RandomState,
    /// One reader of an agent's memories at a time.
    reading: ConcurrencyLimit,
    agents: Mutex<BoundedCache<AgentScope, AgentTexts, BYTES>>,
}

impl Default for SameTexts {
    fn default() -> Self {
        Self {
            keys: RandomState::new(),
            reading: ConcurrencyLimit::new(READERS),
            agents: Mutex::default(),
        }
    }
}

impl AgentTexts {
    fn set(&mut self, (number, hash): TextChange) {
        if let Some(before) = self.hashes.remove(&number) {
            self.by_hash.remove(&(before, number));
        }
        if let Some(hash) = hash {
            self.hashes.insert(number, hash);
            self.by_hash.insert((hash, number));
        }
    }
}

impl SameTexts {
    /// A hash that is equal for the same text.
    pub(crate) fn hash(&self, text: &str) -> u64 {
        hash(&self.keys, text)
    }

    /// The active memories whose text may be the one with that hash.
    pub(crate) fn find(&self, scope: AgentScope, version: u64, hash: u64) -> FoundTexts {
        let mut agents = self.agents.lock();
        let Some(known) = agents.take(scope) else {
            return FoundTexts::Unknown;
        };
        let found = match known.version.cmp(&version) {
            // Another process wrote since: the entry is dropped.
            std::cmp::Ordering::Less => return FoundTexts::Unknown,
            // This process wrote after the caller's read. Without the entry, many saves would each read all memories.
            std::cmp::Ordering::Greater => FoundTexts::Outdated,
            std::cmp::Ordering::Equal => {
                let numbers = (hash, Number(0))..=(hash, Number(u64::MAX));
                let found = known.by_hash.range(numbers).take(COMPARED);
                FoundTexts::Numbers(found.map(|(_, number)| *number).collect())
            }
        };
        self.keep(agents, scope, known);
        found
    }

    /// Waits until no other task reads the agent's memories for this cache.
    pub(crate) async fn reading(&self, scope: AgentScope) -> Result<Turn> {
        self.reading.take(scope).await
    }

    /// For the texts of an agent at that version, none of which is read yet.
    pub(crate) fn none_read(&self, version: u64) -> ReadTexts {
        ReadTexts {
            keys: self.keys.clone(),
            texts: AgentTexts {
                version,
                ..AgentTexts::default()
            },
        }
    }

    /// Notes all of the agent's active memories.
    pub(crate) fn put(&self, scope: AgentScope, read: ReadTexts) {
        self.keep(self.agents.lock(), scope, read.texts);
    }

    /// The text changes of these changes; `None` where the agent is not cached.
    fn changes(&self, scope: AgentScope, changes: &[Change]) -> Option<Vec<TextChange>> {
        if !self.agents.lock().has(scope) {
            return None;
        }
        let followed = changes.iter().map(|change| {
            let after = change.after();
            let hash = after.is_active().then(|| self.hash(after.content.expose()));
            (change.number(), hash)
        });
        Some(followed.collect())
    }

    /// Follows a commit of this process, made on one version of the agent.
    fn follow(
        &self,
        scope: AgentScope,
        from: Option<u64>,
        to: Option<u64>,
        changes: Vec<TextChange>,
    ) {
        let mut agents = self.agents.lock();
        let Some(mut known) = agents.take(scope) else {
            return;
        };
        // Of another version something was missed: the next save reads the memories.
        if let (true, Some(to)) = (Some(known.version) == from, to) {
            changes.into_iter().for_each(|change| known.set(change));
            known.version = to;
            self.keep(agents, scope, known);
        }
    }

    fn keep(
        &self,
        mut agents: MutexGuard<'_, BoundedCache<AgentScope, AgentTexts, BYTES>>,
        scope: AgentScope,
        known: AgentTexts,
    ) {
        let weight = AGENT_BYTES + known.hashes.len() * MEMORY_BYTES;
        let gone = agents.put(scope, weight, known);
        drop(agents);
        drop(gone);
    }
}

impl CommitListener for SameTexts {
    fn prepare(
        self: Arc<Self>,
        agent: &AgentHandle,
        decision: &mut Decision,
    ) -> Option<AfterCommit> {
        let changes = self.changes(agent.scope, &decision.changes)?;
        Some(Box::new(move |committed| {
            let (from, to) = (
                committed.from.memories_version(),
                committed.next.memories_version(),
            );
            self.follow(committed.scope, from, to, changes);
        }))
    }

    fn forget_agent(&self, scope: AgentScope) {
        drop(self.agents.lock().take(scope));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::scope;

    #[test]
    fn spec_6_1_a_text_that_was_saved_often_is_compared_with_few_memories() {
        let texts = SameTexts::default();
        let mut read = texts.none_read(5);
        for number in (1..=1_000).rev() {
            read.texts.set((Number(number), Some(7)));
        }
        texts.put(scope(1), read);
        let first = (1..=COMPARED as u64).map(Number).collect();
        assert_eq!(texts.find(scope(1), 5, 7), FoundTexts::Numbers(first));
    }

    #[test]
    fn spec_6_1_texts_that_no_memory_has_any_more_take_no_room() {
        let texts = SameTexts::default();
        texts.put(scope(1), texts.none_read(5));
        assert_eq!(texts.agents.lock().weight(), AGENT_BYTES);
        for (version, hash) in [(5, Some(1)), (6, Some(2)), (7, None)] {
            let changes = vec![(Number(1), hash)];
            texts.follow(scope(1), Some(version), Some(version + 1), changes);
        }
        let known = texts.agents.lock().take(scope(1)).unwrap();
        assert!(known.by_hash.is_empty() && known.hashes.is_empty());
    }
}
