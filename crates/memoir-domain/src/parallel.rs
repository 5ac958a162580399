//! Work of a decision in several threads.

use std::thread;

/// Begins a work in a thread of its own, and returns what waits for it: where the machine has no thread left, that does
/// the work.
pub(crate) fn begin<'scope, T: Send + 'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    work: impl Fn() -> T + Copy + Send + 'scope,
) -> impl FnOnce() -> T {
    let working = thread::Builder::new().spawn_scoped(scope, work);
    move || match working.map(thread::ScopedJoinHandle::join) {
        Ok(Ok(done)) => done,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(_) => work(),
    }
}
