//! Interruption by Ctrl-C or a termination signal of the system.

use std::task::Poll;

/// Runs `work` until it is done; `None` where it is interrupted first. The work is then dropped.
pub(crate) async fn unless_interrupted<T>(work: impl Future<Output = T>) -> Option<T> {
    // Before the work's first step, which may be long.
    let interruption = listening().await;
    tokio::select! {
        // Where both happen together, the work counts as done.
        biased;
        done = work => Some(done),
        () = interruption => None,
    }
}

/// As [`interrupted`], but it listens from the call on and not only from the first poll.
pub(crate) async fn listening() -> impl Future<Output = ()> {
    let mut interruption = Box::pin(interrupted());
    // Polling once registers the handler, so that a signal does not end the process from now on.
    let is_over =
        std::future::poll_fn(|context| Poll::Ready(interruption.as_mut().poll(context).is_ready()))
            .await;
    async move {
        if !is_over {
            interruption.await;
        }
    }
}

/// Returns when the user presses Ctrl-C or the system requests termination. It never returns where signals cannot be
/// handled: then they end the process.
pub(crate) async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminated) = signal(SignalKind::terminate()) {
            tokio::select! {
                Ok(()) = tokio::signal::ctrl_c() => return,
                Some(()) = terminated.recv() => return,
                else => {}
            }
        }
    }
    #[cfg(not(unix))]
    if tokio::signal::ctrl_c().await.is_ok() {
        return;
    }
    std::future::pending().await
}
