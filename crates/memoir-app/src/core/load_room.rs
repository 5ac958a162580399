//! Room in memory for the rows of agents: every load acquires it, and waits while others fill it.
//!
//! A load is estimated before it is made: that of records and pages of sessions by the bytes of their bodies; that of
//! memories by their number and tokens when they were last read, as the longest characters. Once memories are read,
//! their bytes are known, and the rest of the room is released. A load holds its room until its memories are dropped;
//! one of records, until it is done with their rows. Short loads have room of their own, which long ones cannot take.
//! The long loads of one agent take at most half of the room, so that all others have the other half.
//!
//! A task with room does not wait for more: two such tasks could block each other. It takes what is free.

use std::{collections::HashMap, sync::Arc, time::Duration};

use memoir_domain::AgentScope;
use memoir_store::{
    AgentQuery, CountAndTokens, Counting, CountsMark, MemoryRow, RowCounts, Selection,
};
use parking_lot::Mutex;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task,
};

use crate::core::{Error, Result};

/// Bytes of one permit.
const UNIT: usize = 1 << 10;
/// A load of up to so many bytes is short.
// A dozen of the longest memories, or a context of twenty-five thousand tokens.
pub(crate) const SHORT_LOAD: usize = 1 << 20;
/// A load of up to so many bytes is read and opened at the priority of short requests.
// Two thousand memories of two sentences, which take some ten milliseconds.
pub(crate) const QUICK_LOAD: usize = 4 << 20;
/// Most bytes of all short loads together.
const SHORT_ROOM: usize = 32 << 20;
/// Most bytes of all long loads together.
// With the bodies of requests and the caches (`sessions/recent.rs` lists them), a service stays under 400 MB.
const LONG_ROOM: usize = 64 << 20;
/// Most bytes of the long loads of one agent. A larger load takes all of it.
const AGENT_ROOM: usize = LONG_ROOM / 2;
const WAIT: Duration = Duration::from_secs(20);
/// The size of a memory beside its text, as a row and opened.
const MEMORY_BYTES: u64 = 1_024;
/// The size of what a context is planned by, for each memory.
const MARK_BYTES: u64 = 192;
/// The most that a token of text takes: four characters of four bytes, sealed and opened.
const TOKEN_BYTES: u64 = 32;
/// The size of a record beside its body.
const RECORD_BYTES: u64 = 1_024;
/// A body of a record is in memory sealed, opened and as it is shown.
const BODY_TIMES: u64 = 3;
/// Most sealed bytes of a page of records or sessions; a longer one is a page of its own.
const PAGE_BYTES: u64 = 2 << 20;
const LONGEST_TOKENS: u64 = memoir_domain::memory::CONTENT_LIMIT as u64 / 4;
/// Agents whose size is remembered at least.
const REMEMBERED: usize = 10_000;
/// Commits of this process after which an agent's rows are counted again all the same: so its own faults are noticed.
const TRUSTED: u32 = 64;

struct KnownAgent {
    /// The counts of its rows when they were last read.
    counts: RowCounts,
    /// All of its journal when a context last read the recent part, and that part; `None` before.
    recent_journal: Option<(CountAndTokens, CountAndTokens)>,
    /// The mark of counts that matched its sealed document, and how often this process has written since.
    verified: Option<(CountsMark, u32)>,
    /// Its part of the room for long loads.
    room: Arc<Semaphore>,
}

impl KnownAgent {
    fn new(counts: RowCounts) -> Self {
        Self {
            counts,
            recent_journal: None,
            verified: None,
            room: Arc::new(Semaphore::new(AGENT_ROOM / UNIT)),
        }
    }

    /// The most journal that a context reads: what the last one read, and all that was added since.
    fn recent(&self) -> CountAndTokens {
        let now = self.counts.journal;
        let Some((then, recent)) = self.recent_journal else {
            return now;
        };
        let at_most = |now: u64, then: u64, recent: u64| now.min(recent + now.saturating_sub(then));
        CountAndTokens {
            count: at_most(now.count, then.count, recent.count),
            tokens: at_most(now.tokens, then.tokens, recent.tokens),
        }
    }
}

pub(crate) struct LoadRoom {
    short: Arc<Semaphore>,
    long: Arc<Semaphore>,
    known: Mutex<HashMap<AgentScope, KnownAgent>>,
    holders: Holders,
}

/// The tasks with room, and how many parts of it.
type Holders = Arc<Mutex<HashMap<task::Id, usize>>>;

/// Room that a load holds. Dropping it releases the room.
pub(crate) struct HeldRoom {
    permits: Vec<OwnedSemaphorePermit>,
    holder: Option<(task::Id, Holders)>,
}

impl HeldRoom {
    fn new(permits: Vec<OwnedSemaphorePermit>, holders: &Holders) -> Self {
        let task = task::try_id();
        if let Some(task) = task {
            *holders.lock().entry(task).or_default() += 1;
        }
        Self {
            permits,
            holder: task.map(|task| (task, holders.clone())),
        }
    }
}

impl Drop for HeldRoom {
    fn drop(&mut self) {
        let Some((task, holders)) = &self.holder else {
            return;
        };
        let mut holders = holders.lock();
        if let Some(parts) = holders.get_mut(task) {
            *parts -= 1;
            if *parts == 0 {
                holders.remove(task);
            }
        }
    }
}

impl Default for LoadRoom {
    fn default() -> Self {
        Self {
            short: Arc::new(Semaphore::new(SHORT_ROOM / UNIT)),
            long: Arc::new(Semaphore::new(LONG_ROOM / UNIT)),
            known: Mutex::default(),
            holders: Arc::default(),
        }
    }
}

impl LoadRoom {
    pub(crate) fn note(&self, scope: AgentScope, counts: RowCounts) {
        let mut known = self.known.lock();
        if known.len() >= REMEMBERED {
            // Agents without room are forgotten.
            known.retain(|_, agent| Arc::strong_count(&agent.room) > 1);
        }
        known
            .entry(scope)
            .and_modify(|agent| agent.counts = counts)
            .or_insert_with(|| KnownAgent::new(counts));
    }

    /// The counts of an agent's rows when they were last read; `None` where this process has not read them.
    pub(crate) fn counts(&self, scope: AgentScope) -> Option<RowCounts> {
        self.known.lock().get(&scope).map(|agent| agent.counts)
    }

    /// Whether a read of the agent counts its rows, by the mark of the counts that were compared last.
    pub(crate) fn counting(&self, scope: AgentScope) -> Counting {
        let known = self.known.lock();
        let verified = known.get(&scope).and_then(|agent| agent.verified);
        verified.map_or(Counting::Always, |(mark, _)| Counting::Unless(mark))
    }

    /// Notes that the counts with that mark match the agent's sealed document.
    pub(crate) fn verified(&self, scope: AgentScope, mark: Option<CountsMark>) {
        if let Some(agent) = self.known.lock().get_mut(&scope) {
            agent.verified = mark.map(|mark| (mark, 0));
        }
    }

    /// Follows a commit of this process from one version of the agent's row to another one.
    pub(crate) fn follow(&self, scope: AgentScope, from: Option<u64>, to: Option<u64>) {
        let mut known = self.known.lock();
        let Some((verified, to)) = known
            .get_mut(&scope)
            .map(|agent| &mut agent.verified)
            .zip(to)
        else {
            return;
        };
        *verified = verified.and_then(|(mark, commits)| match mark.version {
            // A read came before this, and found it written.
            version if version == to => Some((mark, commits)),
            version if Some(version) == from && commits < TRUSTED => Some((
                CountsMark {
                    version: to,
                    ..mark
                },
                commits + 1,
            )),
            _ => None,
        });
    }

    pub(crate) fn note_recent_journal(&self, scope: AgentScope, recent: CountAndTokens) {
        if let Some(agent) = self.known.lock().get_mut(&scope) {
            agent.recent_journal = Some((agent.counts.journal, recent));
        }
    }

    /// The most journal that a context reads; `None` where this process has not read the agent's rows.
    pub(crate) fn recent_journal(&self, scope: AgentScope) -> Option<CountAndTokens> {
        self.known.lock().get(&scope).map(KnownAgent::recent)
    }

    /// The approximate bytes of the result of a query; `None` where this process has not read the agent's rows.
    pub(crate) fn weight(&self, scope: AgentScope, query: &AgentQuery) -> Option<usize> {
        let known = self.known.lock();
        let agent = known.get(&scope)?;
        Some(weight(&agent.counts, agent.recent(), query))
    }

    /// Waits for room for so many bytes of an agent. [`Error::NoRoom`] where none becomes free within [`WAIT`].
    pub(crate) async fn take(&self, scope: AgentScope, bytes: usize) -> Result<HeldRoom> {
        let is_holder = task::try_id().is_none_or(|task| self.holders.lock().contains_key(&task));
        let parts = self.parts(scope, bytes);
        let mut permits = Vec::with_capacity(parts.len());
        if is_holder {
            // Up to the first part that is full: none of the shared room without the agent's own part.
            let free = parts.into_iter();
            permits.extend(free.map_while(|(room, units)| room.try_acquire_many_owned(units).ok()));
            return Ok(HeldRoom::new(permits, &self.holders));
        }
        let taken = async {
            for (room, units) in parts {
                // The semaphores are never closed, so that this cannot fail.
                permits.extend(room.acquire_many_owned(units).await);
            }
            permits
        };
        let permits = tokio::time::timeout(WAIT, taken).await;
        let permits = permits.map_err(|_| Error::NoRoom)?;
        Ok(HeldRoom::new(permits, &self.holders))
    }

    /// The semaphores and permits of a load, in this order: the agent's part comes first, so that a load that waits for
    /// its own agent holds nothing of the shared room.
    fn parts(&self, scope: AgentScope, bytes: usize) -> Vec<(Arc<Semaphore>, u32)> {
        // The rooms are far smaller than `u32::MAX` units.
        let units = |most: usize| bytes.min(most).div_ceil(UNIT) as u32;
        if bytes <= SHORT_LOAD {
            return vec![(self.short.clone(), units(SHORT_ROOM))];
        }
        let unknown = || KnownAgent::new(RowCounts::default());
        let mut known = self.known.lock();
        let own = known.entry(scope).or_insert_with(unknown).room.clone();
        let units = units(AGENT_ROOM);
        vec![(own, units), (self.long.clone(), units)]
    }
}

/// Releases the room that these rows leave, now that their bytes are known.
pub(crate) fn fit(room: &mut Option<HeldRoom>, rows: &[MemoryRow]) {
    let sealed: usize = rows.iter().map(|row| row.body.0.len()).sum();
    let units = (rows.len() * MEMORY_BYTES as usize + 2 * sealed).div_ceil(UNIT);
    for permit in room.iter_mut().flat_map(|room| &mut room.permits) {
        let surplus = permit.num_permits().saturating_sub(units);
        drop(permit.split(surplus));
    }
}

/// The most bytes of the memories of `query`, of an agent with `counts` rows and so much journal in its context: as rows
/// and opened.
fn weight(counts: &RowCounts, recent_journal: CountAndTokens, query: &AgentQuery) -> usize {
    let RowCounts {
        core,
        journal: _,
        archival,
        discarded,
        shredded,
    } = *counts;
    let sum = |parts: [CountAndTokens; 2]| parts.into_iter().sum();
    let active = counts.active();
    // The sizes of discarded memories are not counted: they are taken as average.
    let average = active.tokens.checked_div(active.count);
    let average = average.unwrap_or(LONGEST_TOKENS);
    let discarded = CountAndTokens {
        count: discarded + shredded,
        tokens: discarded * average,
    };
    let everything: CountAndTokens = sum([active, discarded]);
    let some = |count: u64| {
        let count = count.min(everything.count);
        CountAndTokens {
            count,
            tokens: (count * LONGEST_TOKENS).min(everything.tokens),
        }
    };
    let wanted = match &query.memories {
        Selection::None => CountAndTokens::default(),
        Selection::Numbers(numbers) => some(numbers.len() as u64),
        Selection::Page(page) => some(u64::from(page.limit)),
        Selection::ActiveCore => core,
        Selection::Core => sum([core, discarded]),
        Selection::Searchable => sum([core, archival]),
        Selection::Archive => archival,
        Selection::Context { .. } => sum([core, recent_journal]),
        Selection::Active => active,
        Selection::All => everything,
    };
    let marks = match query.marks_after {
        Some(_) => core.count + recent_journal.count,
        None => 0,
    };
    bytes(wanted).saturating_add(usize::try_from(marks * MARK_BYTES).unwrap_or(usize::MAX))
}

pub(crate) fn bytes(memories: CountAndTokens) -> usize {
    let bytes = memories.count * MEMORY_BYTES + memories.tokens * TOKEN_BYTES;
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// How many of records or sessions of these sealed sizes are on a page of at most `most`.
pub(crate) fn fitting(sizes: &[u64], most: u32) -> u32 {
    let (mut bytes, mut count) = (0_u64, 0);
    for size in sizes.iter().take(most as usize) {
        bytes += size;
        if count > 0 && bytes > PAGE_BYTES {
            break;
        }
        count += 1;
    }
    count
}

/// The approximate bytes of records or sessions of these sealed sizes.
pub(crate) fn record_bytes(sizes: &[u64]) -> usize {
    let bodies = sizes.iter().map(|size| RECORD_BYTES + size * BODY_TIMES);
    usize::try_from(bodies.sum::<u64>()).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::scope;

    /// Runs calls in a task of their own.
    async fn apart<T: Send + 'static>(
        work: impl Future<Output = T> + Send + 'static,
    ) -> task::JoinHandle<T> {
        let work = tokio::spawn(work);
        // It runs until it waits.
        for _ in 0..10 {
            task::yield_now().await;
        }
        work
    }

    async fn hold(room: &Arc<LoadRoom>, agent: u8, bytes: usize) -> task::JoinHandle<HeldRoom> {
        let room = room.clone();
        apart(async move { room.take(scope(agent), bytes).await.unwrap() }).await
    }

    #[tokio::test]
    async fn spec_6_1_the_long_loads_of_one_agent_leave_half_of_the_room_to_others() {
        let room = Arc::new(LoadRoom::default());
        let first = hold(&room, 2, AGENT_ROOM).await.await.unwrap();
        let waits = hold(&room, 2, AGENT_ROOM).await;
        assert!(!waits.is_finished());
        // Other agents, and short loads, are not blocked by it.
        let other = hold(&room, 3, usize::MAX).await.await.unwrap();
        let short = hold(&room, 2, SHORT_LOAD).await.await.unwrap();
        drop(other);
        assert!(!waits.is_finished());
        drop(first);
        waits.await.unwrap();
        drop(short);
        assert_eq!(room.long.available_permits(), LONG_ROOM / UNIT);
        assert_eq!(room.short.available_permits(), SHORT_ROOM / UNIT);
        assert!(room.holders.lock().is_empty());
    }

    #[tokio::test]
    async fn spec_6_1_a_task_that_holds_room_waits_for_no_more() {
        let room = Arc::new(LoadRoom::default());
        let both = room.clone();
        let nested = apart(async move {
            let first = both.take(scope(2), AGENT_ROOM).await.unwrap();
            let second = both.take(scope(2), AGENT_ROOM).await.unwrap();
            assert_eq!(both.long.available_permits(), AGENT_ROOM / UNIT);
            (first, second)
        })
        .await;
        assert!(nested.is_finished());
        drop(nested.await.unwrap());
        assert_eq!(room.long.available_permits(), LONG_ROOM / UNIT);
    }

    #[tokio::test(start_paused = true)]
    async fn spec_6_1_a_load_that_finds_no_room_is_refused_in_time() {
        let room = Arc::new(LoadRoom::default());
        let _held = hold(&room, 2, AGENT_ROOM).await.await.unwrap();
        let waiting = room.clone();
        let refused = tokio::spawn(async move { waiting.take(scope(2), AGENT_ROOM).await });
        let refused = refused.await.unwrap().err().unwrap();
        assert_eq!(refused.code(), "busy");
    }

    #[test]
    fn spec_6_1_a_page_of_records_is_cut_by_bytes() {
        let half = PAGE_BYTES / 2;
        assert_eq!(fitting(&[], 9), 0);
        assert_eq!(fitting(&[1; 9], 8), 8);
        assert_eq!(fitting(&[half, half, 1], 9), 2);
        // A record is on a page however long it is.
        assert_eq!(fitting(&[PAGE_BYTES + 1, 1], 9), 1);
    }

    #[tokio::test]
    async fn spec_6_1_a_load_keeps_the_room_of_what_it_has_read() {
        let room = Arc::new(LoadRoom::default());
        let held = hold(&room, 2, AGENT_ROOM).await.await.unwrap();
        let mut held = Some(held);
        fit(&mut held, &[]);
        assert_eq!(room.long.available_permits(), LONG_ROOM / UNIT);
        hold(&room, 2, AGENT_ROOM).await.await.unwrap();
    }

    #[test]
    fn a_context_is_weighed_by_the_journal_that_it_reads() {
        let part = |count, tokens| CountAndTokens { count, tokens };
        let mut agent = KnownAgent::new(RowCounts {
            journal: part(12_000, 96_000),
            ..RowCounts::default()
        });
        // Not known yet: it may be all of it.
        assert_eq!(agent.recent(), part(12_000, 96_000));
        agent.recent_journal = Some((agent.counts.journal, part(20, 160)));
        agent.counts.journal = part(12_010, 96_080);
        assert_eq!(agent.recent(), part(30, 240));
        agent.counts.journal = part(10, 80);
        assert_eq!(agent.recent(), part(10, 80));
    }

    #[test]
    fn a_load_is_weighed_by_what_it_selects() {
        let part = |count, tokens| CountAndTokens { count, tokens };
        let counts = RowCounts {
            core: part(10, 1_000),
            journal: part(100, 20_000),
            archival: part(1_000, 300_000),
            discarded: 5,
            shredded: 0,
        };
        let of = |memories| {
            weight(
                &counts,
                part(30, 6_000),
                &AgentQuery {
                    memories,
                    ..AgentQuery::default()
                },
            )
        };
        assert_eq!(of(Selection::None), 0);
        assert_eq!(of(Selection::ActiveCore), 10 * 1_024 + 1_000 * 32);
        let active = of(Selection::Active);
        assert_eq!(active, 1_110 * 1_024 + 321_000 * 32);
        assert!(of(Selection::All) > active);
        let marks = AgentQuery {
            marks_after: Some(memoir_domain::Timestamp::MAX),
            ..AgentQuery::default()
        };
        assert_eq!(weight(&counts, part(30, 6_000), &marks), 40 * 192);
        let context = of(Selection::Context {
            journal_after: memoir_domain::Timestamp::MIN,
        });
        assert_eq!(context, 40 * 1_024 + 7_000 * 32);
        let numbers = |count| {
            of(Selection::Numbers(
                (1..=count).map(memoir_domain::memory::Number).collect(),
            ))
        };
        assert_eq!(numbers(10), 10 * (1_024 + 2_500 * 32));
        assert!(numbers(100_000) <= of(Selection::All));
    }
}
