//! Connections: taking them, serving them, and stopping without breaking any off.

use std::{
    convert::Infallible,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::Request,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use memoir_app::Memoir;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch},
    time::Sleep,
};
use tower::ServiceExt;

use crate::{Options, Problem, Service, routes, workers};

/// Most bytes of a request's head.
const HEAD_BYTES: usize = 64 << 10;

/// Serves until `stop` is done, and then ends in order: no new connections, running requests finish,
/// running sessions are handed back.
///
/// # Errors
/// The listener cannot be used.
pub async fn serve(
    memoir: Memoir,
    options: Options,
    listener: TcpListener,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let stop_time = options.stop_time;
    let service = Service::new(memoir, options);
    let (stopping, stopped) = watch::channel(false);
    let work = tokio::spawn(workers::run(service.clone(), stopped.clone()));
    let connections = GracefulShutdown::new();
    let (door, mut finished) = Door::new(&service);
    let tidying = tokio::spawn(workers::tidy(service.clone(), stopped));
    accept(&service, &listener, &door, &connections, stop).await;
    drop((listener, door));
    let _ = stopping.send(true);
    let finish = async {
        // A request goes on where its client went away.
        tokio::join!(connections.shutdown(), finished.recv());
        let _ = work.await;
        let _ = tidying.await;
        if let Err(error) = service.memoir.write_uses().await {
            tracing::error!(%error, "uses of tokens were not written");
        }
    };
    if tokio::time::timeout(stop_time, finish).await.is_err() {
        tracing::warn!("stopped with requests or sessions still running");
    }
    Ok(())
}

/// What serves connections.
#[derive(Clone)]
struct Door {
    router: Router,
    head_time: Duration,
    answer_time: Duration,
    /// Held by every request while it runs.
    running: mpsc::Sender<()>,
}

impl Door {
    /// And what comes to its end once the door is gone and all requests are over.
    fn new(service: &Service) -> (Self, mpsc::Receiver<()>) {
        let (running, finished) = mpsc::channel(1);
        let door = Self {
            router: routes::router(service),
            head_time: service.options.head_time,
            // A body may take as long as what is done with it.
            answer_time: service.options.request_time * 2,
            running,
        };
        (door, finished)
    }

    /// Answers a request. What it does is a task of its own: a client that goes away, or that was told to
    /// wait no longer, leaves nothing half done; and a panic is an answer too.
    async fn answer(self, request: Request) -> Result<Response, Infallible> {
        let Self {
            router, running, ..
        } = self;
        let work = tokio::spawn(async move {
            let answer = router.oneshot(request).await;
            drop(running);
            answer
        });
        Ok(match tokio::time::timeout(self.answer_time, work).await {
            Ok(Ok(Ok(response))) => response,
            Ok(Err(error)) => {
                // Not what it says: that may be an agent's words.
                tracing::error!(panicked = error.is_panic(), "a request broke off");
                broken().into_response()
            }
            Err(_) => slow().into_response(),
        })
    }

    fn serve(self, stream: TcpStream, permit: OwnedSemaphorePermit, all: &GracefulShutdown) {
        let _ = stream.set_nodelay(true);
        let head_time = self.head_time;
        let stream = Patient::new(stream, self.answer_time);
        let service = tower::service_fn(move |request: hyper::Request<Incoming>| {
            self.clone().answer(request.map(Body::new))
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(head_time)
            .max_buf_size(HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
        let watched = all.watch(connection);
        tokio::spawn(async move {
            // A client that goes away is no error of the service.
            let _ = watched.await;
            drop(permit);
        });
    }
}

fn broken() -> Problem {
    Problem::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "internal",
        "the service could not carry this out",
    )
}

fn slow() -> Problem {
    Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "timeout",
        "the request is still being carried out; ask again with its Idempotency-Key for the answer",
    )
    .retry_after(5)
}

async fn accept(
    service: &Service,
    listener: &TcpListener,
    door: &Door,
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
            Ok((stream, permit)) => door.clone().serve(stream, permit, connections),
            Err(error) => {
                // Too many open files, most likely: others close in a moment.
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
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let permit = room.clone().acquire_owned().await;
    let permit = permit.map_err(|_| io::Error::other("the service is closed"))?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, permit))
}

/// A connection that is given up where its client takes nothing of an answer for too long.
struct Patient {
    stream: TcpStream,
    patience: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    fn new(stream: TcpStream, patience: Duration) -> Self {
        Self {
            stream,
            patience,
            waiting: None,
        }
    }

    /// `written` as it is, unless nothing was for too long.
    fn unless_stalled<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let patience = self.patience;
        let waiting = self
            .waiting
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        waiting
            .as_mut()
            .poll(context)
            .map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Patient {
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

#[cfg(test)]
mod tests {
    use axum::{body::to_bytes, routing::get};

    use super::*;

    fn door(router: Router) -> (Door, mpsc::Receiver<()>) {
        let (running, finished) = mpsc::channel(1);
        let door = Door {
            router,
            head_time: Duration::from_secs(1),
            answer_time: Duration::from_millis(200),
            running,
        };
        (door, finished)
    }

    #[tokio::test]
    async fn a_panic_is_a_problem_that_says_nothing() {
        async fn panics() -> &'static str {
            let words = "Kanarienvögel";
            // What a panic says may be an agent's words.
            &words["Kanarienv".len() + 1..]
        }
        let (door, _finished) = door(Router::new().route("/", get(panics)));
        let Ok(response) = door.answer(Request::default()).await;
        assert_eq!(response.status(), 500);
        let body = to_bytes(response.into_body(), 10_000).await.unwrap();
        let problem: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(problem["code"], "internal");
        assert!(!problem.to_string().contains("Kanarien"));
    }

    #[tokio::test]
    async fn what_takes_too_long_is_finished_all_the_same() {
        let (done, mut is_done) = mpsc::channel::<()>(1);
        let slow = get(async move || {
            tokio::time::sleep(Duration::from_millis(400)).await;
            let _ = done.send(()).await;
        });
        let (door, mut finished) = door(Router::new().route("/", slow));
        let Ok(response) = door.answer(Request::default()).await;
        assert_eq!(response.status(), 503);
        assert!(response.headers().contains_key("retry-after"));
        // A stop waits for it.
        assert_eq!(finished.recv().await, None);
        assert!(is_done.try_recv().is_ok());
    }
}
