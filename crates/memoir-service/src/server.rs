//! Connections: accepting and serving them, and a stop that breaks none off.

use std::{
    convert::Infallible,
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::{Body, Bytes, HttpBody},
    extract::Request,
    http::request::Parts,
    response::{IntoResponse, Response},
};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::{GracefulShutdown, Watcher},
    service::TowerToHyperService,
};
use memoir_app::Memoir;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch},
    task::JoinSet,
};
use tower::ServiceExt;

use crate::{Problem, Service, ServiceOptions, priority::Foreground, routes, webhooks, workers};

/// Most bytes of a request's head.
// A question of a recall is in the head (`LONGEST_QUESTION` in `routes/memories.rs` depends on this).
const HEAD_BYTES: usize = 64 << 10;
/// Bytes of a connection's first request in which its token is looked for.
const PEEKED_BYTES: usize = 2 << 10;
/// Once the service stops: how long a client may accept no part of a response, and how long a request's head may still
/// take.
// A small part of `stop_time`, since a silent client takes time from sessions that are released.
const STOP_PATIENCE: Duration = Duration::from_secs(2);
/// How long a request's body may still take once the service stops.
const STOP_BODY_TIME: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

impl Peer {
    /// The address in the request's head; `None` where the request came over no connection.
    pub(crate) fn of(head: &Parts) -> Option<IpAddr> {
        head.extensions.get::<Self>().map(|peer| peer.0.ip())
    }
}

/// Serves until `stop` completes, and then ends in order: no new connections, running requests finish, running sessions
/// are released.
///
/// # Errors
/// The listener cannot be used.
pub async fn serve(
    memoir: Memoir,
    options: ServiceOptions,
    listener: TcpListener,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let address = listener.local_addr()?;
    let stop_time = options.stop_time;
    let service = Service::new(memoir, options, address);
    let (stopping, stopped) = watch::channel(false);
    let connections = GracefulShutdown::new();
    let (acceptor, mut finished) = ConnectionServer::new(&service, stopped.clone());
    let mut work = background_work(&service, &stopped);
    accept(&service, &listener, &acceptor, &connections, stop).await;
    // With the acceptor a sender of `running` is dropped: the remaining ones belong to connections and their requests.
    drop((listener, acceptor));
    // After the listener is closed: nothing that arrives later would find a worker.
    let _ = stopping.send(true);
    service.streams.stop();
    let finish = async {
        // A request continues after its client has left.
        // Both: a connection may end before its request, and the reverse.
        tokio::join!(connections.shutdown(), finished.recv());
        // A task that failed changes nothing here: the others are waited for all the same.
        while work.join_next().await.is_some() {}
        // Last, when no request can add another use.
        if let Err(error) = service.memoir.write_uses().await {
            tracing::error!(%error, "uses of tokens were not written");
        }
    };
    if tokio::time::timeout(stop_time, finish).await.is_err() {
        tracing::warn!("stopped with requests or sessions still running");
        // They go on until the process ends, as requests do.
        work.detach_all();
    }
    Ok(())
}

/// Sessions, the schedule, and what else a service does without a request. Beside the personal page, which is to change
/// nothing by itself, only indexes are opened.
fn background_work(service: &Service, stopped: &watch::Receiver<bool>) -> JoinSet<()> {
    let mut work = JoinSet::new();
    if let Some(link) = service.options.owner_link.clone() {
        let (memoir, mut stopped) = (service.memoir.clone(), stopped.clone());
        work.spawn(async move {
            // An index that was not opened is built by the first list or search, which reports why it cannot be.
            tokio::select! {
                _ = stopped.wait_for(|stopped| *stopped) => {}
                _ = link.open_indexes(&memoir) => {}
            }
        });
        return work;
    }
    work.spawn(workers::run(service.clone(), stopped.clone()));
    work.spawn(webhooks::run(service.clone(), stopped.clone()));
    work.spawn(workers::schedule(service.clone(), stopped.clone()));
    work.spawn(workers::live(service.clone(), stopped.clone()));
    work.spawn(workers::process_access_requests(
        service.clone(),
        stopped.clone(),
    ));
    work.spawn(workers::keep_up(service.clone(), stopped.clone()));
    work.spawn(workers::finish(service.clone(), stopped.clone()));
    work.spawn(workers::tidy(service.clone(), stopped.clone()));
    work
}

#[derive(Clone)]
struct ConnectionServer {
    router: Router,
    head_time: Duration,
    answer_time: Duration,
    foreground: Arc<Foreground>,
    /// Held by every request while it runs.
    running: mpsc::Sender<()>,
    stopped: watch::Receiver<bool>,
}

impl ConnectionServer {
    /// Returns it with a receiver that ends once it is dropped and all requests are over.
    fn new(service: &Service, stopped: watch::Receiver<bool>) -> (Self, mpsc::Receiver<()>) {
        let (running, finished) = mpsc::channel(1);
        let acceptor = Self {
            router: routes::router(service),
            head_time: service.options.head_time,
            answer_time: service.options.answer_time(),
            foreground: service.foreground.clone(),
            running,
            stopped,
        };
        (acceptor, finished)
    }

    /// Responds to a request in a task of its own: a client that leaves or times out leaves nothing half done, and a
    /// panic becomes a response.
    async fn answer(self, request: Request) -> Result<Response, Infallible> {
        let Self {
            router, running, ..
        } = self;
        // A commit that is cancelled with its client would leave the caller's state behind the written one. A task of
        // its own is not cancelled.
        let work = tokio::spawn(async move {
            let answer = router.oneshot(request).await;
            drop(running);
            answer
        });
        Ok(match tokio::time::timeout(self.answer_time, work).await {
            Ok(Ok(Ok(response))) => response,
            // Without the panic's message, which may hold an agent's text.
            Ok(Err(_)) => Problem::broken("a request").into_response(),
            Err(_) => slow().into_response(),
        })
    }

    /// Serves a connection to its end, once its first byte arrives: until then it has no buffers, so that thousands of
    /// silent ones take little. `_room` is held until then.
    async fn serve(
        mut self,
        stream: TcpStream,
        peer: Peer,
        watcher: Watcher,
        _room: OwnedSemaphorePermit,
    ) {
        // Responses are written in one piece; delaying them would only add latency.
        let _ = stream.set_nodelay(true);
        // Peeks at the first byte: a readable stream may still be empty.
        let mut first = [0];
        let spoken = tokio::time::timeout(self.head_time, stream.peek(&mut first));
        let is_spoken_to = tokio::select! {
            spoken = spoken => spoken.is_ok(),
            _ = self.stopped.wait_for(|stopped| *stopped) => false,
        };
        if !is_spoken_to {
            return;
        }
        // Boxed, for the room of the waiting task.
        let gives_way = Box::pin(self.gives_way(&stream)).await;
        let served = self.connection((stream, peer), watcher, gives_way);
        match gives_way {
            true => memoir_app::run_long(served).await,
            false => served.await,
        }
    }

    /// Whether the connection gives way to those of other parties, by what has come of its first request.
    async fn gives_way(&self, stream: &TcpStream) -> bool {
        let mut head = [0; PEEKED_BYTES];
        let length = stream.peek(&mut head).await.unwrap_or_default();
        let head = &head[..length];
        self.foreground.connection_gives_way(head, Instant::now())
    }

    /// The connection after its first byte. It is created outside the waiting task, whose future would otherwise
    /// reserve room for each of its parts, on thousands of connections. One that gives way has a single request, so that
    /// the next one is judged anew.
    fn connection(
        self,
        (stream, peer): (TcpStream, Peer),
        watcher: Watcher,
        gives_way: bool,
    ) -> Wait {
        let head_time = self.head_time;
        let stream = WriteTimeoutStream::new(stream, self.answer_time, self.stopped.clone());
        let is_answering = stream.is_answering.clone();
        let service = tower::service_fn(move |request: hyper::Request<Incoming>| {
            let mut request = request.map(|body| {
                Body::new(DeadlineBody {
                    body,
                    time: Some(self.answer_time),
                    stopped: self.stopped.clone(),
                    waiting: None,
                })
            });
            request.extensions_mut().insert(peer);
            let answer = self.clone().answer(request);
            let is_answering = is_answering.clone();
            // Set before the response begins: the next read of the connection must not count as a slow head.
            is_answering.store(true, Ordering::Release);
            async move {
                let answer = answer.await;
                is_answering.store(false, Ordering::Release);
                answer
            }
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .keep_alive(!gives_way)
            .header_read_timeout(head_time)
            .max_buf_size(HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
        let served = watcher.watch(connection);
        Box::pin(async move {
            // A client that leaves is no error of the service.
            let _ = served.await;
        })
    }
}

fn slow() -> Problem {
    Problem::new(
        "still_running",
        "the request is still being carried out; ask again with its Idempotency-Key for the answer",
    )
    .retry_after(5)
}

async fn accept(
    service: &Service,
    listener: &TcpListener,
    acceptor: &ConnectionServer,
    connections: &GracefulShutdown,
    stop: impl Future<Output = ()>,
) {
    let room = Arc::new(Semaphore::new(service.options.connections));
    tokio::pin!(stop);
    loop {
        let taken = tokio::select! {
            () = &mut stop => return,
            taken = take(listener, &room) => taken,
        };
        match taken {
            Ok(((stream, peer), permit)) => {
                let watcher = connections.watcher();
                tokio::spawn(acceptor.clone().serve(stream, peer, watcher, permit));
            }
            Err(error) => {
                // Too many open files, most likely: others close soon.
                tracing::warn!(%error, "a connection was not taken");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// Waits for room first, so that further clients wait in the system's queue.
async fn take(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> io::Result<((TcpStream, Peer), OwnedSemaphorePermit)> {
    let permit = room.clone().acquire_owned().await;
    let permit = permit.map_err(|_| io::Error::other("the service is closed"))?;
    let (stream, peer) = listener.accept().await?;
    Ok(((stream, Peer(peer)), permit))
}

type Wait = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Completes this long after the service was asked to stop.
async fn so_long_after(mut stopped: watch::Receiver<bool>, time: Duration) {
    if stopped.wait_for(|stopped| *stopped).await.is_err() {
        // The sender is gone, so no stop can follow.
        std::future::pending::<()>().await;
    }
    tokio::time::sleep(time).await;
}

/// Completes after `time`, or `in_a_hurry` after the service was asked to stop.
fn until_late(stopped: &watch::Receiver<bool>, time: Duration, in_a_hurry: Duration) -> Wait {
    let in_a_hurry = so_long_after(stopped.clone(), in_a_hurry);
    Box::pin(async move {
        let _ = tokio::time::timeout(time, in_a_hurry).await;
    })
}

/// A connection that is closed when its client accepts no part of a response for too long, or leaves a request
/// incomplete while the service stops.
struct WriteTimeoutStream {
    stream: TcpStream,
    patience: Duration,
    /// Once the service stops, its time limits are short.
    stopped: watch::Receiver<bool>,
    /// Whether a complete request, or one without its body, waits for its response: its client is silent.
    is_answering: Arc<AtomicBool>,
    waiting: Option<Wait>,
    listening: Option<Wait>,
}

impl WriteTimeoutStream {
    fn new(stream: TcpStream, patience: Duration, stopped: watch::Receiver<bool>) -> Self {
        Self {
            stream,
            patience,
            stopped,
            is_answering: Arc::default(),
            waiting: None,
            listening: None,
        }
    }

    /// `written` unchanged, unless no part was accepted for too long.
    fn unless_stalled<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            self.listening = None;
            return written;
        }
        let (stopped, patience) = (&self.stopped, self.patience);
        let late = || until_late(stopped, patience, STOP_PATIENCE);
        timed_out(self.waiting.get_or_insert_with(late), context)
    }
}

fn timed_out<T>(waiting: &mut Wait, context: &mut Context<'_>) -> Poll<io::Result<T>> {
    let over = waiting.as_mut().poll(context);
    over.map(|()| Err(io::ErrorKind::TimedOut.into()))
}

impl AsyncRead for WriteTimeoutStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        // A client that waits for its response is silent, and must not be disconnected for that.
        if self.is_answering.load(Ordering::Acquire) {
            self.listening = None;
            return read;
        }
        if read.is_ready() {
            // Sent piece by piece, a head takes no longer.
            return read;
        }
        let Self {
            stopped, listening, ..
        } = &mut *self;
        let listening = listening
            .get_or_insert_with(|| Box::pin(so_long_after(stopped.clone(), STOP_PATIENCE)));
        timed_out(listening, context)
    }
}

impl AsyncWrite for WriteTimeoutStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.unless_stalled(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.unless_stalled(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The body of a request, which breaks off where it is late: a handler that waits for it would wait for ever.
struct DeadlineBody {
    body: Incoming,
    /// How long it may take; `None` once it broke off. Handlers with a limit of their own have a shorter one.
    time: Option<Duration>,
    stopped: watch::Receiver<bool>,
    waiting: Option<Wait>,
}

impl HttpBody for DeadlineBody {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        let Self {
            body,
            time,
            stopped,
            waiting,
        } = &mut *self;
        let Some(limit) = *time else {
            return Poll::Ready(None);
        };
        if let Poll::Ready(frame) = Pin::new(body).poll_frame(context) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let late = || until_late(stopped, limit, STOP_BODY_TIME);
        let over: Poll<io::Result<_>> = timed_out(waiting.get_or_insert_with(late), context);
        *time = over.is_pending().then_some(limit);
        over.map(|over| Some(over.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.time.is_none() || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use axum::{body::to_bytes, http::StatusCode, routing::get};

    use super::*;

    fn acceptor(router: Router) -> (ConnectionServer, mpsc::Receiver<()>) {
        let (running, finished) = mpsc::channel(1);
        let acceptor = ConnectionServer {
            router,
            head_time: Duration::from_secs(1),
            answer_time: Duration::from_millis(200),
            foreground: Arc::default(),
            running,
            stopped: watch::channel(false).1,
        };
        (acceptor, finished)
    }

    #[tokio::test]
    async fn a_panic_is_a_problem_that_says_nothing() {
        async fn panics() -> &'static str {
            let words = "Kanarienvögel";
            // A panic's message may hold an agent's text.
            &words["Kanarienv".len() + 1..]
        }
        let (acceptor, _finished) = acceptor(Router::new().route("/", get(panics)));
        let Ok(response) = acceptor.answer(Request::default()).await;
        assert_eq!(response.status(), 500);
        let body = to_bytes(response.into_body(), 10_000).await.unwrap();
        let problem: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(problem["code"], "internal");
        assert!(!problem.to_string().contains("Kanarien"));
    }

    fn room() -> OwnedSemaphorePermit {
        Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap()
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_holds_up_no_stop() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        // More than the system's buffers between the two hold.
        let long = get(async || vec![0_u8; 64 << 20]);
        let (mut acceptor, _finished) = acceptor(Router::new().route("/", long));
        let (stopping, stopped) = watch::channel(false);
        acceptor.stopped = stopped;
        acceptor.answer_time = Duration::from_secs(3_600);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(address).await.unwrap();
        let (stream, peer) = listener.accept().await.unwrap();
        let connections = GracefulShutdown::new();
        tokio::spawn(acceptor.serve(stream, Peer(peer), connections.watcher(), room()));
        let request = b"GET / HTTP/1.1\r\nhost: m\r\n\r\n";
        client.write_all(request).await.unwrap();
        // The response has begun.
        client.read_u8().await.unwrap();
        stopping.send(true).unwrap();
        let stopped = tokio::time::timeout(Duration::from_secs(60), connections.shutdown());
        assert!(stopped.await.is_ok());
    }

    /// A connection on which a client sends `said`; how it ends where the service then stops, and the response.
    async fn stopped_after(router: Router, said: &[u8]) -> (bool, String) {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let (mut acceptor, _finished) = acceptor(router);
        let (stopping, stopped) = watch::channel(false);
        acceptor.stopped = stopped;
        acceptor.answer_time = Duration::from_secs(3_600);
        acceptor.head_time = Duration::from_secs(3_600);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(address).await.unwrap();
        let (stream, peer) = listener.accept().await.unwrap();
        let connections = GracefulShutdown::new();
        let serving =
            tokio::spawn(acceptor.serve(stream, Peer(peer), connections.watcher(), room()));
        client.write_all(said).await.unwrap();
        // The sent part is read.
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(!serving.is_finished());
        stopping.send(true).unwrap();
        let stopped = tokio::time::timeout(Duration::from_secs(60), connections.shutdown());
        let has_ended = stopped.await.is_ok();
        let mut answer = Vec::new();
        let _ = client.read_to_end(&mut answer).await;
        (has_ended, String::from_utf8(answer).unwrap())
    }

    #[tokio::test]
    async fn a_request_half_said_holds_up_no_stop() {
        let all = async |mut body: Body| {
            let mut found = Vec::new();
            for _ in 0..3 {
                let next = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context));
                found.push(next.await.map(|frame| frame.is_ok()));
            }
            // A body that broke off has ended, for a handler that reads on.
            assert_eq!(found, [Some(true), Some(false), None]);
            StatusCode::BAD_REQUEST
        };
        let router = || Router::new().route("/", axum::routing::post(all));
        let half_a_head = b"POST / HTTP/1.1\r\nhos";
        let stopped = stopped_after(router(), half_a_head).await;
        assert_eq!(stopped, (true, String::new()));
        let half_a_body = b"POST / HTTP/1.1\r\nhost: m\r\ncontent-length: 9\r\n\r\nhalf";
        let (has_ended, answer) = stopped_after(router(), half_a_body).await;
        assert!(has_ended);
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    }

    #[tokio::test]
    async fn a_client_that_waits_for_its_answer_gets_it_while_the_service_stops() {
        // Longer than any silent client has then.
        let slow = get(async || {
            tokio::time::sleep(STOP_PATIENCE * 2).await;
            "done"
        });
        let request = b"GET / HTTP/1.1\r\nhost: m\r\n\r\n";
        let (has_ended, answer) = stopped_after(Router::new().route("/", slow), request).await;
        assert!(has_ended);
        assert!(answer.ends_with("done"), "{answer}");
    }

    #[tokio::test]
    async fn what_takes_too_long_is_finished_all_the_same() {
        let (done, mut is_done) = mpsc::channel::<()>(1);
        // It is full until the response is there.
        done.try_send(()).unwrap();
        let slow = get(async move || {
            let _ = done.send(()).await;
        });
        let (acceptor, mut finished) = acceptor(Router::new().route("/", slow));
        let Ok(response) = acceptor.answer(Request::default()).await;
        assert_eq!(response.status(), 503);
        assert!(response.headers().contains_key("retry-after"));
        let body = to_bytes(response.into_body(), 10_000).await.unwrap();
        let problem: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(problem["code"], "still_running");
        is_done.recv().await.unwrap();
        // A stop waits for it.
        assert_eq!(finished.recv().await, None);
        assert!(is_done.try_recv().is_ok());
    }
}
