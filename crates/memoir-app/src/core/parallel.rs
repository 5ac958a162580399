//! Using all processors for a long list of small, independent pieces of work, keeping few large ones in memory at a
//! time, and doing long work where it delays no short one.

use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use memoir_domain::AgentScope;
use parking_lot::Mutex;
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinHandle,
};
use tracing::Instrument;

use crate::core::{Error, Result};

/// Large work of which a process does little in parallel, and one piece for each agent. Others wait, and the many calls
/// of one agent are one in the queue of all.
#[derive(Debug, Clone)]
pub(crate) struct ConcurrencyLimit {
    all: Arc<Semaphore>,
    agents: Arc<Mutex<HashMap<AgentScope, Arc<Semaphore>>>>,
}

/// The right to do a piece of large work. Dropping it releases the right.
pub(crate) struct Turn {
    _own: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl ConcurrencyLimit {
    pub(crate) fn new(at_once: usize) -> Self {
        Self {
            all: Arc::new(Semaphore::new(at_once)),
            agents: Arc::default(),
        }
    }

    pub(crate) async fn take(&self, scope: AgentScope) -> Result<Turn> {
        // The semaphores are never closed, so that acquiring a permit cannot fail.
        let closed = |_| Error::Contended;
        let own = self.of(scope).acquire_owned().await.map_err(closed)?;
        let of_all = self.all.clone().acquire_owned().await.map_err(closed)?;
        Ok(Turn {
            _own: own,
            _of_all: of_all,
        })
    }

    fn of(&self, scope: AgentScope) -> Arc<Semaphore> {
        let mut agents = self.agents.lock();
        // A semaphore that no caller has is as a new one.
        agents.retain(|_, own| Arc::strong_count(own) > 1);
        let own = agents.entry(scope);
        own.or_insert_with(|| Arc::new(Semaphore::new(1))).clone()
    }
}

/// How often the pulse of the threads for long work beats, and after how long without a beat they count as starved.
const BEAT: Duration = Duration::from_millis(250);
const STARVED: Duration = Duration::from_secs(1);

static LONG_WORK: OnceLock<(Handle, Pulse)> = OnceLock::new();

/// When a thread of the priority of long work last ran: a thread of the lowest one waits for minutes while threads of a
/// normal one, of any program, use all processors.
struct Pulse {
    began: Instant,
    /// Milliseconds after `began`. No lock: the thread that beats could be interrupted while it holds one.
    last: Arc<AtomicU64>,
}

impl Pulse {
    /// A pulse that beats on a thread of the priority that the threads of `runtime` have.
    fn on(runtime: &Handle) -> Self {
        let (began, last) = (Instant::now(), Arc::<AtomicU64>::default());
        let beats = last.clone();
        let beating = move || {
            loop {
                beats.store(millis(began.elapsed()), Relaxed);
                std::thread::sleep(BEAT);
            }
        };
        // A new thread has the priority of the one that starts it. Without one, all work is done at the normal priority.
        runtime.spawn(async { drop(std::thread::Builder::new().spawn(beating)) });
        Self { began, last }
    }

    fn is_starved(&self, now: Instant) -> bool {
        let now = millis(now.saturating_duration_since(self.began));
        now.saturating_sub(self.last.load(Relaxed)) > millis(STARVED)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Sets the runtime that long work of this process runs on, so that it does not delay short requests: its threads have
/// a lower priority. Only the first call has an effect; without one, long work runs on the runtime of its caller.
pub fn run_long_work_on(runtime: Handle) {
    LONG_WORK.get_or_init(|| {
        let pulse = Pulse::on(&runtime);
        (runtime, pulse)
    });
}

/// The runtime for long work; `None` where this process has none of its own, and while its threads get no processor:
/// what begins then is done at the normal priority.
pub(crate) fn long_work() -> Option<&'static Handle> {
    let (runtime, pulse) = LONG_WORK.get()?;
    (!pulse.is_starved(Instant::now())).then_some(runtime)
}

/// Runs work on the runtime for long work; a panic continues in the caller's task, which responds for it.
pub async fn run_long<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let elsewhere = long_work().filter(|runtime| runtime.id() != Handle::current().id());
    let Some(runtime) = elsewhere else {
        return work.await;
    };
    match runtime.spawn(work.in_current_span()).await {
        Ok(done) => done,
        Err(failed) if failed.is_panic() => std::panic::resume_unwind(failed.into_panic()),
        // The process ends, and its runtimes with it: no response is sent any more.
        Err(_) => std::future::pending().await,
    }
}

/// Runs slow work on a thread where it does not block others, and at the priority of long work.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    match long_work() {
        Some(runtime) => ended(runtime.spawn_blocking(work)).await,
        None => run_beside(work).await,
    }
}

/// Runs slow work on another thread, at the priority of its caller.
pub(crate) async fn run_beside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    ended(tokio::task::spawn_blocking(work)).await
}

async fn ended<T>(running: JoinHandle<T>) -> Result<T> {
    match running.await {
        Ok(done) => Ok(done),
        // A panic is a fault of this program and must be reported as one, whichever thread it occurred on.
        Err(failed) if failed.is_panic() => std::panic::resume_unwind(failed.into_panic()),
        // The task was cancelled, which happens only while the process ends.
        Err(_) => Err(Error::Contended),
    }
}

/// Drops a value that is slow to wipe and free on its own thread; immediately where none can be started.
pub(crate) fn drop_in_background<T: Send + 'static>(value: T) {
    let dropping = std::thread::Builder::new().spawn(move || drop(value));
    // A thread that could not be started has dropped what it was given.
    drop(dropping);
}

/// Below this many items threads cost more than they save.
// Opening a row takes three microseconds or more, and starting a thread some tens.
const WORTHWHILE: usize = 128;

/// Maps `items` in their order, on several threads where there are many.
pub(crate) fn map<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    map_from(WORTHWHILE, items, work)
}

/// As [`map`], on several threads where there are `least` items or more.
pub(crate) fn map_from<T: Send, R: Send>(
    least: usize,
    items: Vec<T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    // Asking for the number of processors reads files, which takes longer than a short list.
    let is_long = items.len() >= least;
    let threads = if is_long {
        std::thread::available_parallelism().map_or(1, usize::from)
    } else {
        1
    };
    if threads < 2 {
        return items.into_iter().map(work).collect();
    }
    let length = items.len();
    let share = length.div_ceil(threads);
    let mut shares: Vec<Vec<T>> = Vec::with_capacity(threads);
    let mut items = items.into_iter();
    for _ in 0..threads {
        shares.push(items.by_ref().take(share).collect());
    }
    let work = &work;
    std::thread::scope(|scope| {
        let workers: Vec<_> = shares
            .into_iter()
            .map(|share| scope.spawn(move || share.into_iter().map(work).collect::<Vec<R>>()))
            .collect();
        let mut all = Vec::with_capacity(length);
        for worker in workers {
            match worker.join() {
                Ok(mut results) => all.append(&mut results),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_6_1_long_work_is_starved_a_second_after_its_last_beat() {
        let (began, last) = (Instant::now(), Arc::new(AtomicU64::new(5_000)));
        let pulse = Pulse { began, last };
        let at = |milliseconds| began + Duration::from_millis(milliseconds);
        assert!(!pulse.is_starved(at(4_000)));
        assert!(!pulse.is_starved(at(6_000)));
        assert!(pulse.is_starved(at(6_001)));
        pulse.last.store(6_001, Relaxed);
        assert!(!pulse.is_starved(at(6_001)));
    }

    #[tokio::test]
    async fn spec_6_1_long_work_beats_while_it_gets_a_processor() {
        let pulse = Pulse::on(&Handle::current());
        while pulse.last.load(Relaxed) == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(!pulse.is_starved(Instant::now()));
    }

    #[test]
    fn the_order_is_active() {
        for length in [0, 1, 127, 128, 1_001] {
            let items: Vec<usize> = (0..length).collect();
            assert_eq!(map(items.clone(), |item| item), items);
        }
    }
}
