//! The indexes of words that this process keeps between recalls (SPEC 2.8, 5.3).
//!
//! Each agent that is searched has an index of its own ([`RecallIndex`]) in memory, for one version of the agent; a
//! process begins with the stored one where that fits (`stored_index.rs`). The commits of this process update it.
//!
//! All indexes together, those that are being built included, stay under
//! [`crate::core::settings::RecallSettings::index_bytes`]: one that is larger than that by itself is wiped first, then
//! the least recently used one. The larger one stays while there is no other; the log names the setting.
//!
//! An index is read for as long as a search takes, on a thread of any priority. So the list's lock is never held while
//! one waits for the lock of an index: an agent's long search would keep all others waiting.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use memoir_domain::{AgentScope, audit::Change, draft::Decision, recall::RecallIndex};
use parking_lot::{Mutex, MutexGuard, RwLock};

use crate::{
    core::{
        AfterCommit, AgentHandle, CONFLICT, CommitListener, Result, parallel::ConcurrencyLimit,
    },
    metrics::Metrics,
};

pub(super) struct Indexed {
    pub(super) version: u64,
    pub(super) index: RecallIndex,
    /// How many vectors there were as it was last stored.
    pub(super) stored_vectors: usize,
    /// Whether other processes find it stored, or nearly as it is; or it is too small to be stored.
    pub(super) is_stored: bool,
}

impl Indexed {
    fn state(&self) -> IndexState {
        let index = &self.index;
        (self.version, index.bytes(), index.bytes_by_length())
    }
}

struct KeptIndex {
    indexed: Arc<RwLock<Indexed>>,
    version: u64,
    bytes: usize,
    /// The size that administrators are shown.
    shown_bytes: usize,
    /// When it was used, counted in uses.
    used: u64,
    /// Whether the log reports that it alone exceeds the limit.
    is_logged: bool,
}

/// An index's version, its size, and the size that administrators are shown.
type IndexState = (u64, usize, usize);

struct FollowedCommit {
    from: Option<u64>,
    to: u64,
    changes: Vec<Change>,
}

/// The commits on an agent since its memories are being read for an index.
type MissedCommits = Vec<FollowedCommit>;

/// Most changes that are kept while an index is built; after more, it is built anew.
const MISSED_CHANGES: usize = 4_096;

#[derive(Default)]
struct KeptIndexes {
    entries: HashMap<AgentScope, KeptIndex>,
    /// Indexes that are being built; `None` where too much was written meanwhile.
    building: HashMap<AgentScope, Option<MissedCommits>>,
    /// The bytes that are left free for them.
    expected: HashMap<AgentScope, usize>,
    uses: u64,
    /// Agents whose index was evicted, and its bytes, at most [`GAVE_WAY`]: rebuilding one counts as a wrong eviction.
    gave_way: HashMap<AgentScope, usize>,
}

// Forty bytes each; beyond the limit, some rebuilds are not counted.
const GAVE_WAY: usize = 10_000;

/// Indexes that are built at a time, each of another agent.
const BUILDERS: usize = 2;

pub(crate) struct Indexes {
    kept: Mutex<KeptIndexes>,
    /// The turns to build one.
    pub(super) builders: ConcurrencyLimit,
    /// The most that all of them take, in bytes.
    most: usize,
    /// Whether there is any: most processes never recall, and their commits need no further check.
    any: AtomicBool,
    metrics: Arc<Metrics>,
}

impl Indexes {
    pub(crate) fn new(most: usize, metrics: Arc<Metrics>) -> Self {
        Self {
            kept: Mutex::default(),
            builders: ConcurrencyLimit::new(BUILDERS),
            most,
            any: AtomicBool::new(false),
            metrics,
        }
    }

    /// The agent's index, which becomes the most recently used one.
    pub(super) fn get(&self, scope: AgentScope) -> Option<Arc<RwLock<Indexed>>> {
        let mut kept = self.kept.lock();
        kept.uses += 1;
        let uses = kept.uses;
        let entry = kept.entries.get_mut(&scope)?;
        entry.used = uses;
        Some(entry.indexed.clone())
    }

    fn put(&self, scope: AgentScope, indexed: &Arc<RwLock<Indexed>>) {
        let (version, bytes, shown_bytes) = read(indexed, Indexed::state);
        let mut kept = self.kept.lock();
        kept.uses += 1;
        let entry = KeptIndex {
            indexed: indexed.clone(),
            version,
            bytes,
            shown_bytes,
            used: kept.uses,
            is_logged: false,
        };
        let replaced = kept.entries.insert(scope, entry);
        kept.expected.remove(&scope);
        if kept.gave_way.remove(&scope).is_some() {
            self.metrics.table.index_rebuilds.inc();
        }
        self.make_room(kept, 1);
        drop(replaced);
    }

    /// Evicts those that are too large by themselves, then the least recently used ones, until the rest and what is
    /// expected fit or `least` are left.
    fn make_room(&self, mut kept: MutexGuard<'_, KeptIndexes>, least: usize) {
        let expected: usize = kept.expected.values().sum();
        let mut evicted = Vec::new();
        while kept.bytes() + expected > self.most && kept.entries.len() > least {
            let first = |entry: &KeptIndex| (entry.bytes <= self.most, entry.used);
            let oldest = kept.entries.iter().min_by_key(|(_, entry)| first(entry));
            let oldest = oldest.map(|(scope, _)| *scope);
            let gone = oldest.and_then(|scope| kept.entries.remove_entry(&scope));
            let Some((scope, entry)) = gone else { break };
            if kept.gave_way.len() < GAVE_WAY {
                kept.gave_way.insert(scope, entry.bytes);
            }
            evicted.push(entry);
            self.metrics.table.index_evictions.inc();
        }
        for (scope, entry) in &mut kept.entries {
            if entry.bytes > self.most && !entry.is_logged {
                entry.is_logged = true;
                tracing::warn!(
                    agent = %scope.agent,
                    // Administrators read logs too (SPEC 5.1).
                    takes_mb = entry.shown_bytes.div_ceil(1 << 20),
                    index_mb = self.most >> 20,
                    "an agent's index for recall is larger than all of them may be: it is kept while there is no other; \
                     set `[recall] index_mb` to more; `takes_mb` is estimated from the length of each memory"
                );
            }
        }
        let shown_bytes = kept.entries.values().map(|entry| entry.shown_bytes);
        let table = &self.metrics.table;
        table.indexes.set(kept.entries.len() as i64);
        table.index_bytes.set(shown_bytes.sum::<usize>() as i64);
        drop(kept);
        // Wiping megabytes takes milliseconds, in which others need the list. Before the caller goes on: what it builds
        // takes this room.
        drop(evicted);
    }

    /// Notes how large the agent's has become.
    pub(super) fn measure(&self, scope: AgentScope) {
        let Some(indexed) = self.kept.lock().indexed(scope) else {
            return;
        };
        let state = read(&indexed, Indexed::state);
        self.note(scope, &indexed, Some(state));
    }

    /// Notes the version and the size of the agent's index, if it is still this one; with `None` it is wiped.
    fn note(&self, scope: AgentScope, indexed: &Arc<RwLock<Indexed>>, state: Option<IndexState>) {
        let mut kept = self.kept.lock();
        let entry = kept.entries.get_mut(&scope);
        let Some(entry) = entry.filter(|entry| Arc::ptr_eq(&entry.indexed, indexed)) else {
            return;
        };
        let wiped = match state {
            Some((version, bytes, shown_bytes)) => {
                // Of two commits at one time the later one may come first.
                entry.version = entry.version.max(version);
                (entry.bytes, entry.shown_bytes) = (bytes, shown_bytes);
                None
            }
            None => kept.entries.remove(&scope),
        };
        self.make_room(kept, 1);
        drop(wiped);
    }

    pub(crate) fn forget(&self, scope: AgentScope) {
        let mut kept = self.kept.lock();
        // An erased agent's identifier must not stay either.
        kept.gave_way.remove(&scope);
        if let Some(missed) = kept.building.get_mut(&scope) {
            *missed = None;
        }
        let wiped = kept.entries.remove(&scope);
        self.make_room(kept, 1);
        drop(wiped);
    }

    /// Wipes the agent's index if it is still of that version.
    pub(super) fn forget_version(&self, scope: AgentScope, version: u64) {
        let mut kept = self.kept.lock();
        let is_it = |entry: &KeptIndex| entry.version == version;
        if kept.entries.get(&scope).is_some_and(is_it) {
            let wiped = kept.entries.remove(&scope);
            self.make_room(kept, 1);
            drop(wiped);
        }
    }

    /// The versions of the agents whose indexes are kept, but for those that are too large to be stored.
    pub(super) fn versions(&self) -> HashMap<AgentScope, u64> {
        let kept = self.kept.lock();
        let fitting = kept.entries.iter();
        fitting
            .filter(|(_, entry)| entry.bytes <= self.most)
            .map(|(scope, entry)| (*scope, entry.version))
            .collect()
    }

    /// Whether the agent has one, or will have.
    fn has(&self, scope: AgentScope) -> bool {
        if !self.any.load(Ordering::Acquire) {
            return false;
        }
        let kept = self.kept.lock();
        kept.entries.contains_key(&scope) || kept.building.contains_key(&scope)
    }

    /// Begins to keep what this process commits on the agent, until the index is built.
    pub(super) fn begin(&self, scope: AgentScope) -> IndexBuilding<'_> {
        self.any.store(true, Ordering::Release);
        self.kept.lock().building.insert(scope, Some(Vec::new()));
        IndexBuilding {
            indexes: self,
            scope,
        }
    }

    /// Updates the agent's index with changes that this process wrote on one version of the agent, and which made
    /// another one.
    fn follow(&self, scope: AgentScope, from: Option<u64>, to: u64, changes: &[Change]) {
        let mut kept = self.kept.lock();
        if let Some(missed) = kept.building.get_mut(&scope) {
            let changed = missed.iter().flatten().map(|commit| commit.changes.len());
            match changed.sum::<usize>() + changes.len() > MISSED_CHANGES {
                true => *missed = None,
                false => missed.iter_mut().for_each(|missed| {
                    missed.push(FollowedCommit {
                        from,
                        to,
                        changes: changes.to_vec(),
                    });
                }),
            }
        }
        let Some(indexed) = kept.indexed(scope) else {
            return;
        };
        drop(kept);
        let mut writing = indexed.write();
        // An index of another version than the decision's has missed something, and is dropped. Its version stays: by it,
        // a caller that still has the index finds that it is outdated.
        let follows = Some(writing.version) == from && writing.index.follow(changes);
        if follows {
            writing.version = to;
        }
        let state = follows.then(|| writing.state());
        drop(writing);
        self.note(scope, &indexed, state);
    }
}

/// An index that is being built. Dropping it ends the keeping of what is committed.
pub(super) struct IndexBuilding<'a> {
    indexes: &'a Indexes,
    scope: AgentScope,
}

impl IndexBuilding<'_> {
    /// Makes room for the index before it takes any: as much as it took when it was evicted, or else so many bytes.
    pub(super) fn reserve(&self, about: usize) {
        let mut kept = self.indexes.kept.lock();
        let bytes = kept.gave_way.get(&self.scope).copied().unwrap_or(about);
        // One that is too large by itself leaves before the others, which then stay.
        if bytes <= self.indexes.most {
            kept.expected.insert(self.scope, bytes);
            self.indexes.make_room(kept, 0);
        }
    }

    /// Keeps the index, which was built from pages read since the agent was at its version, with what this process has
    /// committed meanwhile. A page may already contain a commit: following it again changes nothing.
    ///
    /// # Errors
    /// [`CONFLICT`]: too much was written meanwhile, text was shredded, or another process wrote in between.
    pub(super) fn finish(&self, indexed: &Arc<RwLock<Indexed>>) -> Result<()> {
        let mut writing = indexed.write();
        loop {
            let missed = {
                let mut kept = self.indexes.kept.lock();
                let missed = kept.building.get_mut(&self.scope);
                let missed = missed.and_then(Option::as_mut).ok_or(CONFLICT)?;
                std::mem::take(missed)
            };
            if missed.is_empty() {
                break;
            }
            for commit in missed {
                // A commit before the agent was read is in the pages.
                if commit.to <= writing.version {
                    continue;
                }
                let follows = commit.from == Some(writing.version);
                if !follows || !writing.index.follow(&commit.changes) {
                    return Err(CONFLICT);
                }
                writing.version = commit.to;
            }
        }
        drop(writing);
        self.indexes.put(self.scope, indexed);
        Ok(())
    }
}

impl Drop for IndexBuilding<'_> {
    fn drop(&mut self) {
        let mut kept = self.indexes.kept.lock();
        kept.building.remove(&self.scope);
        kept.expected.remove(&self.scope);
    }
}

impl CommitListener for Indexes {
    fn prepare(
        self: Arc<Self>,
        agent: &AgentHandle,
        decision: &mut Decision,
    ) -> Option<AfterCommit> {
        // Changes hold text: they are copied only for an existing index.
        let changes = self.has(agent.scope).then(|| decision.changes.clone())?;
        Some(Box::new(move |committed| {
            if let Some(version) = committed.next.memories_version() {
                let from = committed.from.memories_version();
                self.follow(committed.scope, from, version, &changes);
            }
        }))
    }

    fn forget_agent(&self, scope: AgentScope) {
        self.forget(scope);
    }
}

impl KeptIndexes {
    /// The agent's index. That is no use of it.
    fn indexed(&self, scope: AgentScope) -> Option<Arc<RwLock<Indexed>>> {
        self.entries.get(&scope).map(|entry| entry.indexed.clone())
    }

    fn bytes(&self) -> usize {
        self.entries.values().map(|entry| entry.bytes).sum()
    }
}

pub(super) fn read<T>(indexed: &RwLock<Indexed>, look: impl FnOnce(&Indexed) -> T) -> T {
    look(&indexed.read())
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Seek as _};

    use super::*;
    use crate::tests::{memoir, scope};

    /// Keeps an index without memories, of that version of the agent.
    fn kept(indexes: &Indexes, agent: u8, version: u64) -> Arc<RwLock<Indexed>> {
        let indexed = Arc::new(RwLock::new(Indexed {
            version,
            index: RecallIndex::default(),
            stored_vectors: 0,
            is_stored: false,
        }));
        indexes.begin(scope(agent)).finish(&indexed).unwrap();
        indexed
    }

    #[test]
    fn spec_5_3_room_is_made_for_an_index_before_it_is_built() {
        let memoir = memoir();
        let indexes: &Indexes = memoir.state();
        let keep = |agent: u8, megabytes: usize| {
            let indexed = kept(indexes, agent, 5);
            let bytes = megabytes << 20;
            indexes.note(scope(agent), &indexed, Some((5, bytes, bytes)));
        };
        let has = |agent: u8| indexes.get(scope(agent)).is_some();
        keep(1, 40);
        let building = indexes.begin(scope(2));
        building.reserve(30 << 20);
        assert!(!has(1), "of 64 MB for all");
        // One that is kept meanwhile does not leave at once.
        keep(3, 40);
        assert!(has(3));
        drop(building);
        keep(4, 10);
        assert!(has(3) && has(4));
        // As much as it took before.
        let building = indexes.begin(scope(1));
        building.reserve(1);
        assert!(!has(3) && has(4));
        // For one that would be too large by itself no other leaves.
        let building = indexes.begin(scope(5));
        building.reserve(65 << 20);
        assert!(has(4));
    }

    #[test]
    fn spec_5_1_the_log_states_the_size_of_an_index_by_the_length_of_its_memories() {
        let memoir = memoir();
        let indexes: &Indexes = memoir.state();
        let indexed = kept(indexes, 1, 5);
        let file = Arc::new(tempfile::tempfile().unwrap());
        let log = tracing_subscriber::fmt().with_ansi(false);
        let log = log.with_writer(file.clone()).finish();
        tracing::subscriber::with_default(log, || {
            indexes.note(scope(1), &indexed, Some((5, 90 << 20, 70 << 20)));
        });
        let mut logged = String::new();
        file.as_ref().rewind().unwrap();
        file.as_ref().read_to_string(&mut logged).unwrap();
        let sizes = logged.split_whitespace();
        let sizes = sizes.filter_map(|word| word.strip_prefix("takes_mb="));
        assert_eq!(sizes.collect::<Vec<_>>(), ["70"], "{logged}");
    }

    #[test]
    fn spec_2_8_an_index_that_missed_a_commit_is_never_of_its_version() {
        let memoir = memoir();
        let indexes: &Indexes = memoir.state();
        let held = kept(indexes, 1, 5);
        indexes.follow(scope(1), Some(5), 6, &[]);
        assert_eq!(held.read().version, 6);
        // Another process wrote version 7. A caller may still have the index, and will compare its version.
        indexes.follow(scope(1), Some(7), 8, &[]);
        assert!(indexes.get(scope(1)).is_none());
        assert_eq!(held.read().version, 6);
    }
}
