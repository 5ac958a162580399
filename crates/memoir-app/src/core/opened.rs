//! A cache of opened memories, so that each row is opened once (SPEC 5.3).
//!
//! Nothing is returned from here alone: every read of a memory reads its row from the store. A cached memory replaces
//! opening it only where the row equals the opened one in every byte and column. A changed row is opened, or refused,
//! as without the cache. The agent's key is fetched before.
//!
//! A commit of this process immediately evicts what it changed, and the whole agent where it removed text. Where the
//! agent's version shows another process's write, everything is evicted that the read does not find unchanged. Text is
//! wiped when evicted, or when the last read that shares it is over. All agents together stay under [`OPENED_BYTES`]:
//! the least recently read agent is evicted first. What a search finds is not added: it is another part of the agent's
//! memories each time.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Instant,
};

use memoir_domain::{
    AgentScope,
    memory::{Memory, Number, SharedMemory},
};
use memoir_store::MemoryRow;
use memoir_vault::AgentKey;
use parking_lot::{Mutex, RwLock};

use crate::core::{Result, cache::BoundedCache, codec, load_room::HeldRoom, parallel};

/// Most bytes of all kept memories: about 1 KB for a memory of two sentences.
// Plain text for as long as it is used: enough for some dozens of agents with a thousand memories each, and a limit to
// what a dump of the process's memory reveals.
const OPENED_BYTES: usize = 32 << 20;

/// Memories as they were read, shared by several readers: their text is in memory once, and is wiped when the last of
/// these is dropped.
pub(crate) struct MemoryList {
    memories: Vec<SharedMemory>,
    /// Their share of the room for loads.
    _room: Option<HeldRoom>,
}

struct OpenedMemory {
    row: MemoryRow,
    memory: SharedMemory,
    /// The bytes of both, while they are kept.
    bytes: usize,
}

/// Up to so many bytes are wiped directly: starting a thread takes as long.
const WIPED_AT_ONCE: usize = 64 << 10;

impl OpenedMemory {
    /// A row's memory, and the bytes of both.
    fn open(key: &AgentKey, row: &MemoryRow) -> Result<(SharedMemory, usize)> {
        let memory = codec::memory(key, row)?.into_shared();
        let texts = row.body.0.len() + memory.content.expose().len();
        // Measured here, where several do it in parallel.
        let bytes = size_of::<Self>() + size_of::<Memory>() + texts;
        Ok((memory, bytes))
    }
}

impl MemoryList {
    pub(crate) fn by_number(memories: impl Iterator<Item = SharedMemory>) -> Self {
        let mut memories: Vec<SharedMemory> = memories.collect();
        memories.sort_unstable_by_key(|memory| memory.number);
        Self {
            memories,
            _room: None,
        }
    }

    /// In the requested order.
    pub(crate) fn iter(&self) -> MemoryIter<'_> {
        self.memories.iter().map(|memory| memory)
    }

    /// To be kept beyond this list.
    pub(crate) fn shared(&self) -> impl ExactSizeIterator<Item = SharedMemory> {
        self.memories.iter().cloned()
    }

    /// Copies, to be changed.
    pub(crate) fn copies(&self) -> impl Iterator<Item = Memory> {
        self.iter().cloned()
    }

    pub(crate) fn first(&self) -> Option<&Memory> {
        self.iter().next()
    }

    pub(crate) fn retain(&mut self, is_kept: impl Fn(&Memory) -> bool) {
        self.memories.retain(|memory| is_kept(memory));
    }
}

type MemoryIter<'a> =
    std::iter::Map<std::slice::Iter<'a, SharedMemory>, fn(&'a SharedMemory) -> &'a Memory>;

impl<'a> IntoIterator for &'a MemoryList {
    type Item = &'a Memory;
    type IntoIter = MemoryIter<'a>;

    fn into_iter(self) -> MemoryIter<'a> {
        self.iter()
    }
}

#[derive(Default)]
struct OfAgent {
    /// The version of the agent as this process last read or wrote it.
    version: u64,
    memories: HashMap<Number, OpenedMemory>,
    bytes: usize,
}

impl OfAgent {
    fn put(&mut self, opened: OpenedMemory) {
        self.bytes += opened.bytes;
        if let Some(before) = self.memories.insert(opened.row.number, opened) {
            self.bytes -= before.bytes;
        }
    }

    fn keep_only(&mut self, numbers: &HashSet<Number>) {
        self.memories.retain(|number, _| numbers.contains(number));
        self.bytes = self.memories.values().map(|kept| kept.bytes).sum();
    }

    fn take(&mut self, number: Number) {
        if let Some(kept) = self.memories.remove(&number) {
            self.bytes -= kept.bytes;
        }
    }
}

type SharedMemories = Arc<RwLock<OfAgent>>;

#[derive(Default)]
pub(crate) struct OpenedMemories(Mutex<BoundedCache<AgentScope, SharedMemories, OPENED_BYTES>>);

impl OpenedMemories {
    /// Opens the memories of these rows, in their order, read at the agent's `version`. They hold `room`. Without
    /// `keeps`, only those are cached that were before.
    pub(crate) fn open(
        &self,
        key: &AgentKey,
        version: u64,
        rows: Vec<MemoryRow>,
        room: Option<HeldRoom>,
        keeps: bool,
    ) -> Result<MemoryList> {
        let list = |memories| MemoryList {
            memories,
            _room: room,
        };
        let bytes: usize = rows.iter().map(|row| row.body.0.len()).sum();
        let scope = key.scope();
        // Memories that would evict most others are opened each time.
        let is_kept = !rows.is_empty() && bytes <= OPENED_BYTES / 4;
        let Some(shared) = is_kept.then(|| self.of(scope)).flatten() else {
            let open = |row| Ok(codec::memory(key, &row)?.into_shared());
            let opened = parallel::map(rows, open);
            return Ok(list(opened.into_iter().collect::<Result<_>>()?));
        };
        let opened = {
            let own = shared.read();
            // The rows stay where they are until they are kept: each has some hundred bytes.
            let rows: Vec<&MemoryRow> = rows.iter().collect();
            parallel::map(rows, |row| match own.memories.get(&row.number) {
                // All columns and all sealed bytes. The sealed bytes hold a nonce, so equal rows are one row that was
                // written once. Comparing version and number alone would accept a row put in its place.
                Some(kept) if kept.row == *row => Ok((kept.memory.clone(), None)),
                _ => OpenedMemory::open(key, row).map(|(memory, bytes)| (memory, Some(bytes))),
            })
        };
        let mut own = shared.write();
        if own.version != version {
            let same = opened.iter().flatten();
            let same = same.filter(|(_, new)| new.is_none());
            // Under the write lock: between the two locks another read of this process may have put memories of a later
            // version here, a few of which are then merely opened again.
            own.keep_only(&same.map(|(memory, _)| memory.number).collect());
            own.version = version;
        }
        let mut memories = Vec::with_capacity(opened.len());
        let new = opened.iter().flatten();
        let new = new.filter(|(_, new)| keeps && new.is_some());
        own.memories.reserve(new.count());
        // To its end also where a row cannot be opened: the others are kept.
        let mut failed = None;
        for (row, memory) in rows.into_iter().zip(opened) {
            match memory {
                Ok((memory, new)) => {
                    if let Some(bytes) = new.filter(|_| keeps) {
                        let memory = memory.clone();
                        own.put(OpenedMemory { row, memory, bytes });
                    }
                    memories.push(memory);
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        // A cache that alone would take all of the room is emptied.
        if own.bytes > OPENED_BYTES {
            own.keep_only(&HashSet::new());
        }
        let bytes = own.bytes;
        drop(own);
        self.weigh(scope, shared, bytes);
        match failed {
            Some(error) => Err(error),
            None => Ok(list(memories)),
        }
    }

    /// Notes that more than one read of the agent will come, so that the first one is kept already.
    pub(crate) fn expect(&self, scope: AgentScope) {
        let _ = self.of(scope);
    }

    /// Follows a commit of this process, made on one version of the agent: `changed` will be opened again.
    pub(crate) fn follow(&self, scope: AgentScope, from: Option<u64>, to: u64, changed: &[Number]) {
        let Some(shared) = self.0.lock().get(scope) else {
            return;
        };
        let mut own = shared.write();
        for number in changed {
            // Not replaced by the new state: that gets its row only when it is read.
            own.take(*number);
        }
        // After a missed version, the next read of the rows finds out what changed.
        if Some(own.version) == from {
            own.version = to;
        }
    }

    pub(crate) fn forget(&self, scope: AgentScope) {
        let gone = self.0.lock().take(scope);
        // Outside of the lock, and before returning: callers may rely on removed text being wiped.
        drop(gone);
    }

    /// Wipes the cached memories of agents that were last read before that time.
    pub(crate) fn forget_unused(&self, since: Instant) {
        let gone = self.0.lock().take_put_before(since);
        drop(gone);
    }

    /// The cached memories of the agent; `None` at the first read of it. A process that reads once keeps nothing: that
    /// would only make it slower.
    fn of(&self, scope: AgentScope) -> Option<SharedMemories> {
        let mut kept = self.0.lock();
        let known = kept.get(scope);
        if known.is_none() {
            // An empty entry evicts nothing.
            drop(kept.put(scope, 0, SharedMemories::default()));
        }
        known
    }

    /// Updates the size of the agent's cache; nothing where it was forgotten meanwhile.
    fn weigh(&self, scope: AgentScope, shared: SharedMemories, bytes: usize) {
        let mut kept = self.0.lock();
        let known = kept.get(scope);
        // The agent was forgotten in the meantime, perhaps because it was erased: its memories must not come back.
        if !known.is_some_and(|known| Arc::ptr_eq(&known, &shared)) {
            return;
        }
        let mut gone = kept.put(scope, bytes, shared.clone());
        drop(kept);
        // `put` also returns what it replaced under the same key. That is `shared` itself, which stays.
        gone.retain(|(_, other)| !Arc::ptr_eq(other, &shared));
        // The caller that evicted others' memories need not wait until thousands of them are wiped.
        match gone.iter().map(|(bytes, _)| bytes).sum::<usize>() {
            ..=WIPED_AT_ONCE => drop(gone),
            _ => parallel::drop_in_background(gone),
        }
    }
}

#[cfg(test)]
mod tests {
    use memoir_domain::{
        Timestamp,
        audit::ActorKind,
        memory::{Kind, NewMemory},
        origin::SavedBy,
    };

    use std::collections::BTreeSet;

    use super::*;
    use crate::{core::clock::SystemRandom, tests::key};

    fn row(key: &AgentKey, number: u64, version: u64, content: &str) -> MemoryRow {
        let random = &SystemRandom;
        let memory = NewMemory::new(Kind::Core, content.into(), SavedBy::of(ActorKind::Agent));
        let memory = memory.into_memory(Number(number), number, Timestamp::MAX);
        codec::memory_row(&codec::Sealer { key, random }, version, memory).unwrap()
    }

    /// The numbers of the agent's cached memories, and their size.
    fn kept(opened: &OpenedMemories, key: &AgentKey) -> (BTreeSet<u64>, usize) {
        let shared = opened.0.lock().get(key.scope()).unwrap_or_default();
        let own = shared.write();
        let weight = opened.0.lock().weight();
        assert!(weight >= own.bytes);
        (
            own.memories.keys().map(|number| number.0).collect(),
            own.bytes,
        )
    }

    #[test]
    fn spec_5_3_words_leave_memory_with_what_was_changed_and_by_whomever() {
        let (opened, key) = (OpenedMemories::default(), key(2));
        let rows: Vec<MemoryRow> = (1..=3).map(|at| row(&key, at, 5, "She rows.")).collect();
        opened.open(&key, 5, rows.clone(), None, true).unwrap();
        assert_eq!(kept(&opened, &key), (BTreeSet::new(), 0), "the first look");
        opened.open(&key, 5, rows.clone(), None, true).unwrap();
        let (all, bytes) = kept(&opened, &key);
        assert_eq!(all, BTreeSet::from([1, 2, 3]));
        // A commit of this process.
        opened.follow(key.scope(), Some(5), 6, &[Number(2)]);
        assert_eq!(kept(&opened, &key), (BTreeSet::from([1, 3]), bytes / 3 * 2));
        opened
            .open(&key, 6, vec![row(&key, 2, 6, "She rows.")], None, true)
            .unwrap();
        assert_eq!(kept(&opened, &key), (all.clone(), bytes));
        // A commit of another process, of unknown contents.
        let (one, other) = (rows[..1].to_vec(), rows[1..2].to_vec());
        opened.open(&key, 7, one.clone(), None, true).unwrap();
        assert_eq!(kept(&opened, &key).0, BTreeSet::from([1]));
        // A commit of this process on a version that was not read.
        opened.follow(key.scope(), Some(8), 9, &[Number(3)]);
        opened.open(&key, 9, other.clone(), None, true).unwrap();
        assert_eq!(kept(&opened, &key).0, BTreeSet::from([2]));
        // A read that keeps nothing evicts all the same what it does not find unchanged.
        opened.open(&key, 9, rows, None, false).unwrap();
        assert_eq!(kept(&opened, &key).0, BTreeSet::from([2]));
        opened.open(&key, 10, one, None, false).unwrap();
        assert_eq!(kept(&opened, &key), (BTreeSet::new(), 0));
        opened.open(&key, 10, other, None, true).unwrap();
        assert_eq!(kept(&opened, &key).0, BTreeSet::from([2]));
        opened.forget(key.scope());
        assert_eq!(kept(&opened, &key), (BTreeSet::new(), 0));
        // A memory that alone would take most of the room is not kept, read in one part or several.
        let long = "She rows. ".repeat(900);
        let part = OPENED_BYTES / 4 / long.len();
        let rows = |from: usize, count: usize| {
            let numbers = from as u64..(from + count) as u64;
            let rows = numbers.map(|number| row(&key, number, 9, long.trim()));
            rows.collect::<Vec<_>>()
        };
        opened.open(&key, 9, rows(1, part + 1), None, true).unwrap();
        assert_eq!(kept(&opened, &key), (BTreeSet::new(), 0));
        for at in 0..8 {
            opened
                .open(&key, 9, rows(1 + at * part / 2, part / 2), None, true)
                .unwrap();
            assert!(kept(&opened, &key).1 <= OPENED_BYTES);
        }
    }
}
