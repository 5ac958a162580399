//! The processor time that a task uses on its own thread and on others, the priority of threads, and writes that do not
//! wait.

use std::{
    cell::Cell,
    future::poll_fn,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

tokio::task_local! {
    /// What the task's work is added to.
    static METER: WorkMeter;
    /// Whether the task's writes wait for other processes.
    static MAY_WAIT: bool;
}

thread_local! {
    static IS_LOW_PRIORITY: Cell<bool> = const { Cell::new(false) };
}

/// Notes that this thread has a lower priority than others.
pub fn note_low_priority() {
    IS_LOW_PRIORITY.set(true);
}

/// Whether this thread has a lower priority than others. Such a thread does not hold what other threads wait for:
/// where it has to wait for a processor, they would wait with it.
pub fn is_low_priority() -> bool {
    IS_LOW_PRIORITY.get()
}

/// Runs work whose writes fail with [`Error::Busy`](crate::Error::Busy) at once where another process has an embedded
/// database locked, in place of waiting for it: what reading writes by the way must not delay it. Tasks that it spawns
/// wait as others do.
pub async fn without_waiting<T>(work: impl Future<Output = T>) -> T {
    MAY_WAIT.scope(false, work).await
}

/// Whether this task's writes may wait for other processes.
pub fn may_wait() -> bool {
    MAY_WAIT.try_with(|may_wait| *may_wait).unwrap_or(true)
}

/// The sum of the processor time of some work, whichever threads do its parts.
///
/// A party that keeps other threads busy delays the others as much as one that keeps its own busy: a store measures what
/// it does for a task on another thread.
#[derive(Debug, Clone, Default)]
pub struct WorkMeter(Arc<AtomicU64>);

impl WorkMeter {
    /// That of this task; a new one, which no caller reads, in a task without one.
    pub fn current() -> Self {
        METER.try_with(Self::clone).unwrap_or_default()
    }

    /// Runs work on this thread, and adds its time.
    pub fn measure<T>(&self, work: impl FnOnce() -> T) -> T {
        let begun = thread_time();
        let done = work();
        let used = thread_time().saturating_sub(begun).as_nanos();
        let used = u64::try_from(used).unwrap_or(u64::MAX);
        self.0.fetch_add(used, Ordering::Relaxed);
        done
    }

    /// Runs a task's work, and adds its time, and that of the work on other threads that is measured for it.
    pub async fn around<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(METER.scope(self.clone(), work));
        poll_fn(|context| self.measure(|| work.as_mut().poll(context))).await
    }

    /// The sum until now.
    pub fn used(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

/// The processor time of this thread since some moment.
// Not the time of a clock: of a thread that waits for a processor, it would count what others use.
#[cfg(unix)]
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// The time since the first call.
#[cfg(not(unix))]
fn thread_time() -> Duration {
    static BEGUN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    BEGUN.get_or_init(std::time::Instant::now).elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses the processor for so long.
    fn work_for(time: Duration) {
        let begun = thread_time();
        while thread_time() < begun + time {
            std::hint::black_box(0);
        }
    }

    #[tokio::test]
    async fn spec_6_1_the_work_of_a_task_counts_on_every_thread_and_its_waiting_does_not() {
        let piece = Duration::from_millis(5);
        let meter = WorkMeter::default();
        meter
            .around(async {
                work_for(piece);
                tokio::task::yield_now().await;
                work_for(piece);
                let here = WorkMeter::current();
                let elsewhere = std::thread::spawn(move || here.measure(|| work_for(piece)));
                elsewhere.join().unwrap();
            })
            .await;
        assert!(meter.used() >= 3 * piece, "{:?}", meter.used());
        let waiting = WorkMeter::default();
        waiting.around(tokio::time::sleep(10 * piece)).await;
        assert!(waiting.used() < 10 * piece, "{:?}", waiting.used());
    }
}
