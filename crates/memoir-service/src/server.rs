//! Connections: taking them, serving them, and stopping without breaking any off.

use std::{io, sync::Arc, time::Duration};

use axum::{Router, extract::Request};
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use memoir_app::Memoir;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, watch},
};
use tower::ServiceExt;

use crate::{Options, Service, routes, workers};

/// How long a client may take to send the head of a request, and how long a connection may be idle.
const HEAD_TIME: Duration = Duration::from_secs(60);

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
    let is_local = listener.local_addr()?.ip().is_loopback();
    let stop_time = options.stop_time;
    let service = Service::new(memoir, options, is_local);
    let (stopping, stopped) = watch::channel(false);
    let work = tokio::spawn(workers::run(service.clone(), stopped.clone()));
    let tidying = tokio::spawn(workers::tidy(service.clone(), stopped));
    let connections = GracefulShutdown::new();
    accept(&service, &listener, &connections, stop).await;
    drop(listener);
    let _ = stopping.send(true);
    let finish = async {
        connections.shutdown().await;
        let _ = work.await;
        let _ = tidying.await;
    };
    if tokio::time::timeout(stop_time, finish).await.is_err() {
        tracing::warn!("stopped with requests or sessions still running");
    }
    Ok(())
}

async fn accept(
    service: &Service,
    listener: &TcpListener,
    connections: &GracefulShutdown,
    stop: impl Future<Output = ()>,
) {
    let router = routes::router(service);
    let room = Arc::new(Semaphore::new(service.options.connections));
    tokio::pin!(stop);
    loop {
        let taken = tokio::select! {
            () = &mut stop => return,
            taken = take(listener, &room) => taken,
        };
        match taken {
            Ok((stream, permit)) => connect(stream, permit, &router, connections),
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

fn connect(
    stream: TcpStream,
    permit: OwnedSemaphorePermit,
    router: &Router,
    connections: &GracefulShutdown,
) {
    let _ = stream.set_nodelay(true);
    let service = router.clone();
    let service = tower::service_fn(move |request: Request<Incoming>| {
        service.clone().oneshot(request.map(axum::body::Body::new))
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(64 << 10)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    let watched = connections.watch(connection);
    tokio::spawn(async move {
        // A client that goes away is no error of the service.
        let _ = watched.await;
        drop(permit);
    });
}
