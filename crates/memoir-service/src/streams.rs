//! Streams of server-sent events: their number, their format, and their end.
//!
//! A task of its own writes a stream into a queue of a few events: a client that accepts nothing delays only its own
//! task, and its connection is closed. A stop of the service ends all of them immediately.
//!
//! A stream ends with its token, its client or the service.

use std::{collections::HashMap, convert::Infallible, hash::Hash, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::header,
    response::{IntoResponse, Response},
};
use futures_util::stream::poll_fn;
use memoir_app::{Error, Quota, Quotas, SignedInUser};
use memoir_domain::AccountId;
use parking_lot::Mutex;
use serde::Serialize;
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};

use crate::{Problem, Service, caller::Caller, limits::Party};

/// Events that wait for the client.
// Few, since waiting events are outdated: a slow client gets the latest state when it reads again.
const QUEUE: usize = 4;
/// The interval of checks whether the token is valid.
// One look-up a stream; events in between have a check of their own (`begin`).
const ADMITTED_EVERY: Duration = Duration::from_secs(2);
/// When a client is to reconnect.
const RETRY: &str = "retry: 2000\n\n";
/// Keeps intermediaries from closing the connection as idle.
const BEAT: &str = ":\n\n";

#[derive(Default)]
pub(crate) struct Streams {
    open: Mutex<OpenStreams>,
    stopped: watch::Sender<bool>,
}

#[derive(Default)]
struct OpenStreams {
    parties: HashMap<Party, u64>,
    accounts: HashMap<AccountId, u64>,
}

impl Streams {
    /// Ends all of them, and those that are opened later.
    pub(crate) fn stop(&self) {
        self.stopped.send_replace(true);
    }

    fn enter(&self, (account, party): Place, quotas: &Quotas) -> Result<(), Error> {
        let mut open = self.open.lock();
        let used = |count: Option<&u64>| count.copied().unwrap_or_default();
        quotas.check(Quota::AgentStreams, used(open.parties.get(&party)), 1)?;
        quotas.check(Quota::AccountStreams, used(open.accounts.get(&account)), 1)?;
        *open.parties.entry(party).or_default() += 1;
        *open.accounts.entry(account).or_default() += 1;
        Ok(())
    }
}

/// Called once for each call of `enter`: a slot holds one of each.
fn leave_one<Who: Eq + Hash>(open: &mut HashMap<Who, u64>, who: Who) {
    if let Some(count) = open.get_mut(&who) {
        *count -= 1;
        if *count == 0 {
            open.remove(&who);
        }
    }
}

type Place = (AccountId, Party);

#[derive(Clone)]
pub(crate) enum Listener {
    Token(Caller),
    /// An administrator's browser, which holds a cookie instead.
    Browser(Arc<SignedInUser>),
}

impl Listener {
    fn place(&self) -> Place {
        match self {
            Self::Token(caller) => (caller.principal.account, caller.party()),
            Self::Browser(visitor) => (visitor.account.id(), Party::Token(visitor.token)),
        }
    }

    /// Whether the secret is still valid.
    async fn is_still_let_in(&self) -> bool {
        match self {
            Self::Token(caller) => caller.is_still_let_in().await,
            Self::Browser(visitor) => matches!(visitor.is_still_let_in().await, Ok(true)),
        }
    }
}

/// The right to have one more stream open.
pub(crate) struct StreamSlot {
    service: Service,
    place: Place,
}

impl StreamSlot {
    /// # Errors
    /// The agent, the administrator or the account has its maximum of open streams.
    pub(crate) fn take(service: &Service, listener: &Listener) -> Result<Self, Problem> {
        let place = listener.place();
        let quotas = &service.memoir.settings().quotas;
        service.streams.enter(place, quotas)?;
        let service = service.clone();
        Ok(Self { service, place })
    }
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        let ((account, party), mut open) = (self.place, self.service.streams.open.lock());
        leave_one(&mut open.parties, party);
        leave_one(&mut open.accounts, account);
    }
}

/// The end of a stream: the client has left, or its token is no longer valid.
pub(crate) struct StreamOver;

pub(crate) struct Sink {
    queue: mpsc::Sender<Bytes>,
    listener: Listener,
    admitted_at: Instant,
    sent_at: Instant,
    beat: Duration,
}

impl Sink {
    /// Sends an event, with the identifier that a reconnecting client names.
    pub(crate) async fn send_event(
        &mut self,
        event: &'static str,
        id: &str,
        data: &impl Serialize,
    ) -> Result<(), StreamOver> {
        self.check().await?;
        let data = serde_json::to_string(data).map_err(|_| StreamOver)?;
        self.send(format!("event: {event}\nid: {id}\ndata: {data}\n\n"))
            .await
    }

    /// Must be called before a new event: a token that was revoked before it must not receive it.
    pub(crate) async fn begin(&mut self) -> Result<(), StreamOver> {
        if !self.listener.is_still_let_in().await {
            return Err(StreamOver);
        }
        self.admitted_at = Instant::now();
        Ok(())
    }

    /// Must be called regularly while there are no events.
    pub(crate) async fn tick(&mut self) -> Result<(), StreamOver> {
        self.check().await?;
        if self.sent_at.elapsed() < self.beat {
            return Ok(());
        }
        // A comment of the protocol, which clients ignore.
        self.send(BEAT.to_owned()).await
    }

    async fn check(&mut self) -> Result<(), StreamOver> {
        if self.admitted_at.elapsed() < ADMITTED_EVERY {
            return Ok(());
        }
        self.begin().await
    }

    async fn send(&mut self, text: String) -> Result<(), StreamOver> {
        // Waits for the client. If it reads nothing, the connection times out, and this fails.
        self.queue.send(text.into()).await.map_err(|_| StreamOver)?;
        self.sent_at = Instant::now();
        Ok(())
    }
}

/// A stream of the events of `write`, until it is done, the client leaves, or the service stops.
pub(crate) fn stream<W, F>(slot: StreamSlot, listener: Listener, write: W) -> Response
where
    W: FnOnce(Sink) -> F,
    F: Future<Output = Result<(), StreamOver>> + Send + 'static,
{
    let (queue, mut events) = mpsc::channel(QUEUE);
    // The queue is empty.
    let _ = queue.try_send(Bytes::from_static(RETRY.as_bytes()));
    let now = Instant::now();
    let service = slot.service.clone();
    let written = write(Sink {
        queue: queue.clone(),
        listener,
        admitted_at: now,
        sent_at: now,
        beat: service.options.stream_beat,
    });
    tokio::spawn(async move {
        let mut stopped = service.streams.stopped.subscribe();
        tokio::select! {
            _ = written => {}
            // This detects that a client has left, also without events.
            () = queue.closed() => {}
            _ = stopped.wait_for(|stopped| *stopped) => {}
        }
        // At the end of the task and not of the response, which is over as soon as the client has its head.
        drop(slot);
    });
    let headers = [
        (header::CONTENT_TYPE.as_str(), "text/event-stream"),
        // Some proxies would wait for the end otherwise.
        ("x-accel-buffering", "no"),
    ];
    // It ends when its writer is dropped.
    let body = poll_fn(move |context| {
        let event = events.poll_recv(context);
        event.map(|event| event.map(Ok::<_, Infallible>))
    });
    (headers, Body::from_stream(body)).into_response()
}
