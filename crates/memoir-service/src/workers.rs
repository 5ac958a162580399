//! The workers that run queued sessions, and what is done from time to time.

use std::{collections::HashMap, sync::Arc, time::Duration};

use memoir_app::sessions::TakenUp;
use memoir_domain::SessionId;
use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
    time::Instant,
};

use crate::Service;

/// How often the queue is looked at where nobody says that something was queued: other processes may.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// After how long a session that could not be taken up is tried again.
const AGAIN_AFTER: Duration = Duration::from_secs(60);
/// How often uses of tokens are written, and sessions whose worker died are closed.
const TIDY_EVERY: Duration = Duration::from_secs(10);

/// Runs queued sessions until told to stop; then hands back those that still run.
pub(crate) async fn run(service: Service, mut stop: watch::Receiver<bool>) {
    let slots = Arc::new(Semaphore::new(service.options.concurrency));
    let mut running = JoinSet::new();
    let mut passed_over = HashMap::new();
    loop {
        fill(&service, &slots, &mut running, &mut passed_over, &stop).await;
        tokio::select! {
            _ = stop.wait_for(|stopped| *stopped) => break,
            () = service.queued.notified() => {}
            Some(ended) = running.join_next() => note(ended),
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
    while let Some(ended) = running.join_next().await {
        note(ended);
    }
}

fn note(ended: Result<(), tokio::task::JoinError>) {
    if ended.is_err() {
        // Not what it says: that may be an agent's words. The session is closed when its lease lapses.
        tracing::error!("a worker broke off");
    }
}

/// Those that could not be taken up, and when: they keep no other session waiting.
type PassedOver = HashMap<SessionId, Instant>;

/// Takes up as many sessions as there are slots.
async fn fill(
    service: &Service,
    slots: &Arc<Semaphore>,
    running: &mut JoinSet<()>,
    passed_over: &mut PassedOver,
    stop: &watch::Receiver<bool>,
) {
    let free = slots.available_permits();
    if free == 0 || *stop.borrow() {
        return;
    }
    passed_over.retain(|_, since| since.elapsed() < AGAIN_AFTER);
    let most = u32::try_from(free + passed_over.len()).unwrap_or(u32::MAX);
    let waiting = match service.memoir.waiting_sessions(most).await {
        Ok(waiting) => waiting,
        Err(error) => return tracing::error!(%error, "the queue cannot be read"),
    };
    for (scope, id) in waiting {
        if passed_over.contains_key(&id) {
            continue;
        }
        let Ok(slot) = slots.clone().try_acquire_owned() else {
            return;
        };
        match service.memoir.take_up(scope, id).await {
            Ok(Some(session)) => {
                let stop = stop.clone();
                running.spawn(async move {
                    drive(session, stop).await;
                    drop(slot);
                });
            }
            Ok(None) => {}
            Err(error) => {
                tracing::error!(session = %id, %error, "a session was not taken up");
                passed_over.insert(id, Instant::now());
            }
        }
    }
}

async fn drive(session: TakenUp, mut stop: watch::Receiver<bool>) {
    let mut observer = |_: &memoir_app::sessions::Progress| {};
    let driven = tokio::select! {
        driven = session.drive(&mut observer) => Some(driven),
        _ = stop.wait_for(|stopped| *stopped) => None,
    };
    let id = session.id();
    match driven {
        Some(Ok(_)) => {}
        Some(Err(error)) => {
            tracing::error!(session = %id, %error, "a session was not driven to its end")
        }
        None => match session.hand_back().await {
            Ok(()) => tracing::info!(session = %id, "handed back"),
            Err(error) => tracing::error!(session = %id, %error, "a session was not handed back"),
        },
    }
}

/// What is done from time to time until told to stop, and once more then.
pub(crate) async fn tidy(service: Service, mut stop: watch::Receiver<bool>) {
    loop {
        let is_over = tokio::select! {
            _ = stop.wait_for(|stopped| *stopped) => true,
            () = tokio::time::sleep(TIDY_EVERY) => false,
        };
        if let Err(error) = service.memoir.write_uses().await {
            tracing::error!(%error, "uses of tokens were not written");
        }
        if let Err(error) = service.memoir.close_lapsed_sessions().await {
            tracing::error!(%error, "sessions left behind were not closed");
        }
        if let Err(error) = service.memoir.forget_replies().await {
            tracing::error!(%error, "old answers were not forgotten");
        }
        if is_over {
            return;
        }
    }
}
