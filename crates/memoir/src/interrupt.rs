//! Ctrl-C, and being told to end by the system.

use std::task::Poll;

/// Runs `work` until it is done; `None` where somebody interrupts it first. The work is then dropped.
pub(crate) async fn unless_interrupted<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        // Where both happen at once, the work counts as done.
        biased;
        done = work => Some(done),
        () = interrupted() => None,
    }
}

/// As [`interrupted`], listening from now on and not only once it is waited for.
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

/// Comes back when somebody presses Ctrl-C or the system asks for an end. Never, where signals cannot
/// be listened to: then they end the process.
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
