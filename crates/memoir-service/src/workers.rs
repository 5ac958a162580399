//! The workers that run queued sessions, the schedule, and periodic tasks.
//!
//! A worker leases a session of the queue and drives it with the loop that the command line uses. At most twice as many
//! sessions of an account wait as there are workers. Other tasks end expired access, and ask agents' models about new
//! requests.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use memoir_app::{
    Job, LifeSchedule, PassedOver, WaitingSession,
    sessions::{LeasedSession, Scheduled, Scheduler, Turns},
};
use memoir_domain::SessionId;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    task::JoinSet,
};

use crate::Service;

/// How often the queue is polled without a notification: other processes add sessions too.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// After how many seconds a session that could not be leased is retried.
const AGAIN_AFTER_SECONDS: i64 = 60;
/// The interval of taking the time from the database, writing uses of tokens, and closing sessions of dead workers.
// A third of a session's lease, so that an expired one is found soon.
const TIDY_EVERY: Duration = Duration::from_secs(10);

/// The interval of checks for due reflections and absorptions.
const LIVE_EVERY: Duration = Duration::from_secs(5);
/// The interval of ending expired access requests, and of asking agents' models about new ones.
const LET_IN_EVERY: Duration = Duration::from_secs(2);
/// The most concurrent rounds of questions, of up to four models each: only sixteen slow ones delay others.
const MOST_ROUNDS: usize = 4;

/// Runs queued sessions until stopped; then releases those that still run.
pub(crate) async fn run(service: Service, mut stop: watch::Receiver<bool>) {
    let mut workers = Workers::new(service.clone(), stop.clone());
    loop {
        workers.fill().await;
        tokio::select! {
            _ = stop.wait_for(|stopped| *stopped) => break,
            () = service.queued.notified() => {}
            Some(ended) = workers.running.join_next() => {
                note(ended);
                service.ended.notify_one();
            }
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
    // Each of them was stopped as well, and releases its session.
    while let Some(ended) = workers.running.join_next().await {
        note(ended);
    }
}

fn note(ended: Result<(), tokio::task::JoinError>) {
    if ended.is_err() {
        // Without the panic's message, which may hold an agent's text. The session is closed when its lease expires.
        tracing::error!("a worker broke off");
    }
}

/// The workers of this process, and the turns of accounts.
struct Workers {
    service: Service,
    stop: watch::Receiver<bool>,
    slots: Arc<Semaphore>,
    running: JoinSet<()>,
    turns: Turns,
    /// One for each provider with a limit.
    rooms: HashMap<String, Arc<Semaphore>>,
    /// Sessions that could not be leased: they block no other session.
    passed_over: PassedOver<SessionId>,
}

/// The resources of a session while it runs.
struct SessionSlot {
    _slot: OwnedSemaphorePermit,
    _room: Option<OwnedSemaphorePermit>,
}

impl Workers {
    fn new(service: Service, stop: watch::Receiver<bool>) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(service.options.concurrency)),
            stop,
            running: JoinSet::new(),
            // A lone process needs no number of its own.
            turns: service.memoir.turns().unwrap_or_default(),
            rooms: HashMap::new(),
            passed_over: PassedOver::default(),
            service,
        }
    }

    /// Leases as many sessions as there are slots.
    async fn fill(&mut self) {
        let free = self.slots.available_permits();
        if free == 0 || *self.stop.borrow() {
            return;
        }
        let passed_over = self
            .passed_over
            .at(self.service.memoir.now(), AGAIN_AFTER_SECONDS);
        // Plus those that are skipped below: they are mostly the oldest, and must not fill the result.
        let most = u32::try_from(self.turns.look(free) + passed_over.len()).unwrap_or(u32::MAX);
        let mut waiting = match self.service.memoir.waiting_sessions(most).await {
            Ok(waiting) => waiting,
            Err(error) => return tracing::error!(%error, "the queue cannot be read"),
        };
        waiting.retain(|session| !passed_over.contains(&session.id));
        // The slot comes first: a leased session must not wait for a slot.
        while let Ok(slot) = self.slots.clone().try_acquire_owned() {
            let Some(next) = self.turns.next(&waiting).cloned() else {
                return;
            };
            let Some(room) = self.room(&next) else {
                // Those of other providers must not wait for it, and none of this one comes before the oldest.
                let memoir = &self.service.memoir;
                let provider = |one: &_| memoir.provider_limit(one).map(|(name, _)| name);
                let full = provider(&next);
                waiting.retain(|one| provider(one) != full);
                continue;
            };
            waiting.retain(|session| session.id != next.id);
            let place = SessionSlot {
                _slot: slot,
                _room: room,
            };
            self.acquire(&next, place).await;
        }
    }

    /// A permit for the provider of the session's model, where that has a limit; `None` where it is full.
    fn room(&mut self, session: &WaitingSession) -> Option<Option<OwnedSemaphorePermit>> {
        let Some((provider, most)) = self.service.memoir.provider_limit(session) else {
            return Some(None);
        };
        let room = self.rooms.entry(provider);
        let room = room.or_insert_with(|| Arc::new(Semaphore::new(most)));
        room.clone().try_acquire_owned().ok().map(Some)
    }

    async fn acquire(&mut self, session: &WaitingSession, place: SessionSlot) {
        match self.service.memoir.acquire(session.scope, session.id).await {
            Ok(Some(taken)) => {
                // Only now: where another process leased the session first, the account had no turn.
                self.turns.note(session.scope.account);
                let stop = self.stop.clone();
                self.running.spawn(async move {
                    drive(taken, stop).await;
                    drop(place);
                });
            }
            // Another process leased the session, or it has ended. From here on this process uses an order of its own.
            Ok(None) => self.turns.note_late(),
            Err(error) => {
                tracing::error!(session = %session.id, %error, "a session was not resumed");
                let now = self.service.memoir.now();
                self.passed_over.note(session.id, error.code(), now);
            }
        }
    }
}

/// Queues the sessions of due agents until stopped.
pub(crate) async fn schedule(service: Service, mut stop: watch::Receiver<bool>) {
    if !service.memoir.settings().schedule {
        return;
    }
    // Twice as many as run concurrently, so that no worker waits for the schedule.
    let most_waiting = service.options.concurrency.saturating_mul(2);
    let most_waiting = u32::try_from(most_waiting).unwrap_or(u32::MAX);
    let mut scheduler = Scheduler::new(service.memoir.clone(), most_waiting);
    loop {
        let scheduled = tokio::select! {
            _ = stop.wait_for(|stopped| *stopped) => return,
            scheduled = scheduler.queue_due() => scheduled,
        };
        let Scheduled { queued, is_more } = scheduled.unwrap_or_else(|error| {
            tracing::error!(%error, "the schedule was not looked at");
            Scheduled::default()
        });
        if queued > 0 {
            service.queued.notify_one();
        }
        tokio::select! {
            _ = stop.wait_for(|stopped| *stopped) => return,
            // The end of a session wakes the schedule only where due agents may have found no room in the queue.
            () = service.ended.notified(), if is_more => {}
            () = tokio::time::sleep(service.options.schedule_every) => {}
        }
    }
}

async fn drive(session: LeasedSession, mut stop: watch::Receiver<bool>) {
    let mut observer = |_: &memoir_app::sessions::Progress| {};
    let driven = tokio::select! {
        driven = session.drive(&mut observer) => Some(driven),
        // This drops the session's future during a model call. A pending decision is written or not; written edits
        // stay, and the process that resumes the session calls the model again.
        _ = stop.wait_for(|stopped| *stopped) => None,
    };
    let id = session.id();
    match driven {
        Some(Ok(_)) => {}
        Some(Err(error)) => {
            tracing::error!(session = %id, %error, "a session was not driven to its end")
        }
        None => match session.release().await {
            Ok(()) => tracing::info!(session = %id, "released"),
            Err(error) => tracing::error!(session = %id, %error, "a session was not released"),
        },
    }
}

/// Ends expired access requests, and asks agents' models about waiting ones, until stopped. A model without a response
/// by then is asked again later.
pub(crate) async fn process_access_requests(service: Service, mut stop: watch::Receiver<bool>) {
    let mut rounds = JoinSet::new();
    loop {
        if let Err(error) = service.memoir.expire_access().await {
            tracing::error!(%error, "requests for access were not ended");
        }
        while let Some(ended) = rounds.try_join_next() {
            note_round(ended);
        }
        if rounds.len() < MOST_ROUNDS {
            // A request whose model is being asked is omitted from the next round.
            let memoir = service.memoir.clone();
            rounds.spawn(async move { memoir.ask_for_access().await.map(drop) });
        }
        tokio::select! {
            _ = stop.wait_for(|stopped| *stopped) => break,
            () = tokio::time::sleep(LET_IN_EVERY) => {}
        }
    }
    // Cancelled without waiting: a later response is lost, and the question is repeated once its lease expires.
    rounds.shutdown().await;
}

fn note_round(ended: Result<memoir_app::Result<()>, tokio::task::JoinError>) {
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::error!(%error, "models were not asked for access"),
        Err(_) => tracing::error!("asking models for access broke off"),
    }
}

/// Does the upkeep beside the requests ([`memoir_app::Memoir::keep_up`]), until stopped.
pub(crate) async fn keep_up(service: Service, mut stop: watch::Receiver<bool>) {
    tokio::select! {
        _ = stop.wait_for(|stopped| *stopped) => {}
        () = service.memoir.keep_up() => {}
    }
}

/// Finishes work that other processes left half-done, until stopped. The binary has done so before it began to serve.
pub(crate) async fn finish(service: Service, mut stop: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            _ = stop.wait_for(|stopped| *stopped) => return,
            () = tokio::time::sleep(service.options.finish_every) => {}
        }
        match service.memoir.finish().await {
            Ok(finished) => {
                for left in finished.left {
                    tracing::error!(error = %left.why, "{}", left.what);
                }
            }
            Err(error) => tracing::error!(%error, "what was left half-done was not looked for"),
        }
    }
}

/// Runs periodic tasks until stopped, and once more then.
pub(crate) async fn tidy(service: Service, mut stop: watch::Receiver<bool>) {
    loop {
        let is_over = tokio::select! {
            _ = stop.wait_for(|stopped| *stopped) => true,
            () = tokio::time::sleep(TIDY_EVERY) => false,
        };
        // The time comes first: it decides below which sessions were abandoned.
        if let Err(error) = service.memoir.keep_time().await {
            tracing::error!(%error, "the database does not return the time");
        }
        if let Err(error) = service.memoir.write_uses().await {
            tracing::error!(%error, "uses of tokens were not written");
        }
        if let Err(error) = service.memoir.close_lapsed_sessions().await {
            tracing::error!(%error, "sessions left behind were not closed");
        }
        if let Err(error) = service.memoir.forget_replies().await {
            tracing::error!(%error, "old answers were not forgotten");
        }
        if let Err(error) = service.memoir.forget_words().await {
            tracing::error!(%error, "words of absorbed conversations were not removed");
        }
        // After one more round, which writes what the last seconds added.
        if is_over {
            return;
        }
    }
}

/// Runs due reflections and absorptions until stopped. Each then stops before its next model call, and another process
/// can immediately resume it.
pub(crate) async fn live(service: Service, mut stop: watch::Receiver<bool>) {
    /// For each account, so that a busy one does not delay the others.
    const PER_ACCOUNT: u32 = 2;
    let slots = Arc::new(Semaphore::new(service.options.concurrency));
    let mut schedule = LifeSchedule::default();
    let mut running: JoinSet<(Job, bool)> = JoinSet::new();
    let mut at_work: HashSet<Job> = HashSet::new();
    loop {
        let due = match schedule.due(&service.memoir, PER_ACCOUNT).await {
            Ok(due) => due,
            Err(error) => {
                tracing::error!(%error, "what is due cannot be read");
                Vec::new()
            }
        };
        for job in due {
            // Running work is due until it is done.
            if at_work.contains(&job) {
                continue;
            }
            let Ok(slot) = slots.clone().try_acquire_owned() else {
                break;
            };
            at_work.insert(job);
            schedule.take_turn(job);
            let memoir = service.memoir.clone();
            let mut stop = stop.clone();
            running.spawn(async move {
                let stopped = async {
                    let _ = stop.wait_for(|stopped| *stopped).await;
                };
                let done = memoir.do_job(job, stopped).await;
                drop(slot);
                let is_done = done.unwrap_or_else(|error| {
                    tracing::warn!(agent = %job.scope().agent, %error, "an agent was passed over");
                    false
                });
                (job, is_done)
            });
        }
        tokio::select! {
            _ = stop.wait_for(|stopped| *stopped) => break,
            () = service.life.notified() => {}
            Some(ended) = running.join_next() => {
                if let Ok((job, is_done)) = ended {
                    at_work.remove(&job);
                    if !is_done {
                        schedule.pass_over(job, service.memoir.now());
                    }
                } else {
                    tracing::error!("a worker broke off");
                    // The panic hides which job it was. Forgetting all is safe: of two with one job, one commits.
                    at_work.clear();
                }
            }
            () = tokio::time::sleep(LIVE_EVERY) => {}
        }
    }
    // Each notices the stop by itself, before its next question.
    while running.join_next().await.is_some() {}
}
